/*
 * restless exec: becomes the same program anew each few milliseconds, with a thread beside the main one. restless fork:
 * has children all the time, which end at once. restless die: ends after some milliseconds. restless vfork: its child
 * stops it, so that it stands where the system call returns to vfork. restless alone: the main thread ends, the other
 * goes on.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nap(long microseconds)
{
    const struct timespec time = { 0, microseconds * 1000 };
    nanosleep(&time, NULL);
}

static void *beside(void *arg)
{
    for (;;)
        pause();
    return arg;
}

__attribute__((noinline)) static int came_back(void)
{
    const pid_t child = vfork();
    if (child == 0) {
        kill(getppid(), SIGSTOP);
        _exit(0);
    }
    return child > 0;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 2 || pthread_create(&thread, NULL, beside, NULL) != 0)
        return 2;
    if (argc == 2) {
        puts("ready");
        fflush(stdout);
    }
    if (strcmp(argv[1], "alone") == 0)
        pthread_exit(NULL);
    if (strcmp(argv[1], "vfork") == 0)
        return !came_back();
    if (strcmp(argv[1], "die") == 0)
        nap(20000);
    while (strcmp(argv[1], "fork") == 0) {
        const pid_t child = fork();
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
    }
    if (strcmp(argv[1], "exec") == 0) {
        nap(2000);
        execl("/proc/self/exe", argv[0], "exec", "again", (char *)NULL);
    }
    return 0;
}
