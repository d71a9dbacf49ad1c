/*
 * Who traces: what it traces with ptrace(2) is let go by the kernel when it ends. A process that has this one's memory
 * and open files; or a thread, where no such process may trace.
 */
#ifndef SW_TARGET_LINUX_TRACER_H
#define SW_TARGET_LINUX_TRACER_H

#include <snapwalk/status.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

/*
 * All 0: there is none yet. owner: the process whose thread it is, since a fork does not copy it. tid: the thread's
 * (not is_process). is_calling: a call is being made. is_lost: somebody has killed the process.
 */
struct sw_tracer {
    int owner;
    int tid;
    bool is_ending;
    bool is_process;
    bool is_calling;
    _Atomic bool is_lost;
    pthread_t thread;
    sem_t asked, done;
    void (*call)(void *arg);
    void *arg;
    void (*reap)(void *of, bool is_idle);
    void *of;
};

/* What a tracer that is a process is called in proc(5), not as the program that it is of. */
#define SW_TRACER_NAME "snapwalk-tracer"

/* Whether there is one, and it is this process's. */
bool sw_tracer_lives(const struct sw_tracer *tracer);

/*
 * Has the tracer make a call, and waits until it has. The first call starts it. reap: is called every few milliseconds
 * by who can wait for what is traced. That is the tracer itself in a signal's handler, also when no call is made
 * (is_idle); or a thread of this process beside the call.
 *
 * Returns  SW_OK; SW_E_NO_MEMORY: there is no thread to be had, and no call was made; SW_E_OS: the tracer was killed,
 *          and everything was let go.
 */
enum sw_status sw_tracer_call(struct sw_tracer *tracer, void (*call)(void *arg), void *arg,
                              void (*reap)(void *of, bool is_idle), void *of);

/* Ends it, if there is one. Nothing is traced by it any more when this returns. */
void sw_tracer_end(struct sw_tracer *tracer);

#endif
