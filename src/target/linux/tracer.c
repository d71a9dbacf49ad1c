/*
 * The thread that traces. A thread of the target that has been seized and stays in the kernel can be let go in one way
 * only: its tracer ends. So the tracer is a thread of its own. Knows threads; refuses to know what it is asked to do.
 *
 * Source: ptrace(2), PTRACE_DETACH (requires a stopped tracee); Linux kernel/ptrace.c, exit_ptrace.
 */
#include "target/linux/tracer.h"

#include "target/linux/os.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STACK_BYTES = 256 << 10, ROUNDS_MOST = 2000, RELIEF_NS = 10000000 };

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0 && errno == EINTR)
        continue;
}

static void *serve(void *arg)
{
    struct sw_tracer *tracer = arg;
    tracer->tid = (int)syscall(SYS_gettid);
    for (;;) {
        wait_for(&tracer->asked);
        if (tracer->is_ending)
            return NULL;
        tracer->call(tracer->arg);
        sem_post(&tracer->done);
    }
}

/* Signals are for the threads of the program. */
static int start_without_signals(struct sw_tracer *tracer, const pthread_attr_t *attributes)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&tracer->thread, attributes, serve, tracer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static enum sw_status start(struct sw_tracer *tracer)
{
    pthread_attr_t attributes;
    sem_init(&tracer->asked, 0, 0);
    sem_init(&tracer->done, 0, 0);
    tracer->is_ending = false;
    if (pthread_attr_init(&attributes) != 0)
        return SW_E_NO_MEMORY;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    const int error = start_without_signals(tracer, &attributes);
    pthread_attr_destroy(&attributes);
    tracer->owner = error ? 0 : getpid();
    return error ? SW_E_NO_MEMORY : SW_OK;
}

bool sw_tracer_lives(const struct sw_tracer *tracer)
{
    return tracer->owner == getpid();
}

/* False: not within some milliseconds of the calendar's clock, which is the one that a semaphore knows. */
static bool is_done(struct sw_tracer *tracer)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += RELIEF_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return sem_timedwait(&tracer->done, &until) == 0;
}

enum sw_status sw_tracer_call(struct sw_tracer *tracer, void (*call)(void *arg), void (*relieve)(void *arg), void *arg)
{
    const enum sw_status status = sw_tracer_lives(tracer) ? SW_OK : start(tracer);
    if (status != SW_OK)
        return status;
    tracer->call = call;
    tracer->arg = arg;
    sem_post(&tracer->asked);
    while (!is_done(tracer))
        relieve(arg);
    return SW_OK;
}

/* A thread is joined a little before the kernel lets go of what it traces: it is gone when that has been done. */
void sw_tracer_end(struct sw_tracer *tracer)
{
    if (!sw_tracer_lives(tracer))
        return;
    tracer->is_ending = true;
    sem_post(&tracer->asked);
    pthread_join(tracer->thread, NULL);
    for (unsigned round = 0; round < ROUNDS_MOST && syscall(SYS_tgkill, tracer->owner, tracer->tid, 0) == 0; round++)
        sw_os_wait(NULL, round);
    sem_destroy(&tracer->asked);
    sem_destroy(&tracer->done);
    tracer->owner = 0;
}
