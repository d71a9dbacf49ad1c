/*
 * A receiver that takes connections and never answers: prints its port, and ends with its standard input. What is sent
 * it leaves where it is.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof at;
    const int door = socket(AF_INET, SOCK_STREAM, 0);
    char end;
    if (bind(door, (struct sockaddr *)&at, size) != 0 || listen(door, 100) != 0 ||
        getsockname(door, (struct sockaddr *)&at, &size) != 0)
        return 1;
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    return read(STDIN_FILENO, &end, 1) != 0;
}
