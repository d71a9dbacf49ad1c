/* C: calls through the C library and pointers, recursion, a signal handler, threads that wait each in another place. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_barrier_t all_are_there;

static void wait_there(void)
{
    char byte;
    pthread_barrier_wait(&all_are_there);
    while (read(0, &byte, 1) != 0)
        continue;
}

static int compare(const void *a, const void *b)
{
    wait_there();
    return *(const int *)a - *(const int *)b;
}

static void *sort(void *arg)
{
    int numbers[] = { 2, 1 };
    qsort(numbers, 2, sizeof numbers[0], compare);
    return arg;
}

static int deeper(int depth)
{
    volatile char room[64] = { 0 };
    if (depth == 0)
        wait_there();
    else
        room[0] = (char)deeper(depth - 1);
    return room[0] + 1;
}

static void *recurse(void *arg)
{
    deeper(40);
    return arg;
}

static void on_signal(int number)
{
    (void)number;
    wait_there();
}

static void *interrupted(void *arg)
{
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    return arg;
}

int main(void)
{
    void *(*const bodies[])(void *) = { sort, recurse, interrupted };
    pthread_t thread;
    pthread_barrier_init(&all_are_there, NULL, 4);
    for (int i = 0; i < 3; i++)
        pthread_create(&thread, NULL, bodies[i], NULL);
    pthread_barrier_wait(&all_are_there);
    puts("ready");
    fflush(stdout);
    pthread_join(thread, NULL);
    return 0;
}
