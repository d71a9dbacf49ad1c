/* A thread that traces: what a thread traces with ptrace(2) is let go by the kernel when the thread ends. */
#ifndef SW_TARGET_LINUX_TRACER_H
#define SW_TARGET_LINUX_TRACER_H

#include <snapwalk/status.h>

#include <pthread.h>
#include <semaphore.h>

/* All 0: there is no thread yet. owner: the process whose thread it is, since a fork does not copy it. */
struct sw_tracer {
    int owner;
    int tid;
    bool is_ending;
    pthread_t thread;
    sem_t asked, done;
    void (*call)(void *arg);
    void *arg;
};

/* Whether there is a thread, and it is this process's. */
bool sw_tracer_lives(const struct sw_tracer *tracer);

/*
 * Has the thread make a call, and waits until it has. The first call starts the thread. relieve: is called by the waiting
 * thread, with the same argument, every few milliseconds.
 *
 * Returns  SW_OK; SW_E_NO_MEMORY: there is no thread to be had, and no call was made.
 */
enum sw_status sw_tracer_call(struct sw_tracer *tracer, void (*call)(void *arg), void (*relieve)(void *arg), void *arg);

/* Ends the thread, if there is one. Nothing is traced by it any more when this returns. */
void sw_tracer_end(struct sw_tracer *tracer);

#endif
