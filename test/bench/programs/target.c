/*
 * A process to look at from outside: target THREADS DEPTH. Each thread waits at the leaf of a stack of the bench's
 * functions. Prints "ready ADDRESS", that of the first function, and stays until its input ends.
 */
#include "../stacks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct stacks stacks;
static unsigned threads;
static _Atomic unsigned arrived;

static void wait_here(void *arg)
{
    (void)arg;
    arrived++;
    for (;;)
        pause();
}

static void *wait_deep(void *arg)
{
    stack_call(&stacks, 0, wait_here, arg);
    return NULL;
}

/* The first thread says when all are where they belong, and ends the process when its input ends. */
static void lead(void *arg)
{
    char byte;
    (void)arg;
    while (arrived + 1 < threads)
        usleep(1000);
    usleep(100000);
    printf("ready %llx\n", (unsigned long long)(uintptr_t)codes[1].functions);
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    exit(0);
}

int main(int argc, char **argv)
{
    must(argc == 3, "target THREADS DEPTH");
    threads = (unsigned)atoi(argv[1]);
    const struct scene scene = { &codes[1], (unsigned)atoi(argv[2]), 16, IN_ORDER };
    stacks_make(&stacks, &scene);
    for (unsigned i = 1; i < threads; i++) {
        pthread_t thread;
        must(pthread_create(&thread, NULL, wait_deep, NULL) == 0, "pthread_create");
    }
    stack_call(&stacks, 0, lead, NULL);
    return 0;
}
