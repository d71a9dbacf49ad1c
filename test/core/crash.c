/*
 * A program to make cores of: main waits in calls of its own, a second thread sits at the end of a recursion, a third
 * writes to nowhere inside a signal handler and ends the process. With an argument it says "ready" and waits instead.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
#define STAYS __asm__ volatile("" ::: "memory") /* no tail call: the frame stays */

static volatile int *volatile nowhere;
static atomic_int ready;
static int waits;

static void sit(void)
{
    atomic_fetch_add(&ready, 1);
    for (;;)
        pause();
}

APART void dive(int depth)
{
    char room[100];
    memset(room, depth, sizeof room);
    __asm__ volatile("" ::"r"(room) : "memory");
    if (depth == 0)
        sit();
    else
        dive(depth - 1);
    STAYS;
}

APART void fault_here(void)
{
    if (waits) {
        printf("ready\n");
        fflush(stdout);
        sit();
    }
    *nowhere = 1;
    STAYS;
}

APART void on_signal(int number)
{
    (void)number;
    fault_here();
    STAYS;
}

APART void signal_here(void)
{
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    STAYS;
}

APART void *diver(void *arg)
{
    dive(5);
    STAYS;
    return arg;
}

/* Whether each other thread waits for something, by its state in /proc. */
static int others_sit(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int running = 0;
    for (struct dirent *task; tasks && (task = readdir(tasks)) != NULL;) {
        char path[300], text[300] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
        FILE *file = atoi(task->d_name) == gettid() ? NULL : fopen(path, "r");
        if (file && fgets(text, sizeof text, file))
            running += strstr(text, ") S ") == NULL;
        if (file)
            fclose(file);
    }
    if (tasks)
        closedir(tasks);
    return !running;
}

APART void *crasher(void *arg)
{
    while (atomic_load(&ready) < 1 || !others_sit())
        usleep(1000);
    signal_here();
    STAYS;
    return arg;
}

APART void wait_for(pthread_t thread)
{
    pthread_join(thread, NULL);
    STAYS;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    (void)argv;
    waits = argc > 1;
    pthread_create(&threads[0], NULL, diver, NULL);
    pthread_create(&threads[1], NULL, crasher, NULL);
    wait_for(threads[0]);
    return 0;
}
