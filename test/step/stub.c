/* Packets: "$text#sum", each acknowledged by "+". See stub.h. Knows nothing of machines. */
#include "stub.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool stub_connect(struct stub *stub, const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof address.sun_path)
        return false;
    memcpy(address.sun_path, path, strlen(path) + 1);
    stub->begin = stub->end = 0;
    stub->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (stub->socket < 0)
        return false;
    if (connect(stub->socket, (const struct sockaddr *)&address, sizeof address) == 0)
        return true;
    stub_close(stub);
    return false;
}

void stub_close(struct stub *stub)
{
    if (stub->socket >= 0)
        (void)close(stub->socket);
    stub->socket = -1;
}

static bool is_over(const struct stub *stub)
{
    return stub->over && *stub->over;
}

static bool send_all(struct stub *stub, const char *text, size_t size)
{
    while (size > 0) {
        const ssize_t sent = send(stub->socket, text, size, MSG_NOSIGNAL);
        if (sent < 0 && (errno != EINTR || is_over(stub)))
            return false;
        if (sent > 0) {
            text += sent;
            size -= (size_t)sent;
        }
    }
    return true;
}

static bool next_byte(struct stub *stub, uint8_t *byte)
{
    while (stub->begin == stub->end) {
        const ssize_t got = recv(stub->socket, stub->in, sizeof stub->in, 0);
        if (got == 0 || (got < 0 && (errno != EINTR || is_over(stub))))
            return false;
        stub->begin = 0;
        stub->end = got > 0 ? (size_t)got : 0;
    }
    *byte = stub->in[stub->begin++];
    return true;
}

bool stub_send(struct stub *stub, const char *command)
{
    char packet[256];
    uint8_t sum = 0;
    for (const char *c = command; *c; c++)
        sum = (uint8_t)(sum + (uint8_t)*c);
    const int size = snprintf(packet, sizeof packet, "$%s#%02x", command, sum);
    uint8_t taken;
    return size > 0 && (size_t)size < sizeof packet && send_all(stub, packet, (size_t)size) &&
           next_byte(stub, &taken) && taken == '+';
}

/* What stands between $ and #. A '}' says that the next byte is changed. The sum is not looked at: a socket loses
 * nothing. */
bool stub_receive(struct stub *stub)
{
    uint8_t byte, sum;
    stub->size = 0;
    do
        if (!next_byte(stub, &byte))
            return false;
    while (byte != '$');
    while (next_byte(stub, &byte) && byte != '#') {
        if (byte == '}' && next_byte(stub, &byte))
            byte ^= 0x20;
        if (stub->size < sizeof stub->answer - 1)
            stub->answer[stub->size++] = (char)byte;
    }
    stub->answer[stub->size] = 0;
    return next_byte(stub, &sum) && next_byte(stub, &sum) && send_all(stub, "+", 1);
}

bool stub_ask(struct stub *stub, const char *command)
{
    return stub_send(stub, command) && stub_receive(stub);
}

bool stub_do(struct stub *stub, const char *command)
{
    return stub_ask(stub, command) && strcmp(stub->answer, "OK") == 0;
}

bool stub_wait(const struct stub *stub, int milliseconds)
{
    struct pollfd one = { stub->socket, POLLIN, 0 };
    return stub->begin != stub->end || poll(&one, 1, milliseconds) > 0;
}

static unsigned digit(char c)
{
    return c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

bool stub_words(const char *digits, uint64_t *words, size_t count)
{
    for (size_t w = 0; w < count; w++) {
        words[w] = 0;
        for (unsigned byte = 0; byte < 8; byte++, digits += 2) {
            const unsigned high = digit(digits[0]), low = high < 16 ? digit(digits[1]) : 16;
            if (low > 15)
                return false;
            words[w] |= (uint64_t)(high << 4 | low) << (8 * byte);
        }
    }
    return true;
}
