/*
 * Who traces. A thread of the target that has been seized and stays in the kernel can be let go in one way only: its
 * tracer ends. So the tracer is of its own. Knows threads; refuses to know what it is asked to do.
 *
 * Were it a thread of this process, the kernel would send this process SIGCHLD for each stop of each thread of the
 * target, and a waitpid(-1) of the program that we are part of would be told of them, and would take reports that are
 * for us. So it is a process that shares memory and open files, with signal handlers of its own. Its end is not told by
 * a signal, nor to a wait without __WALL or __WCLONE. It has the thread storage of a thread of ours that sleeps until
 * it ends: the C library takes both for one. When this process ends, in whatever way, so does it.
 *
 * Where only own children may be traced (Yama) that process may trace none of them, and the tracer is a thread.
 *
 * Source: ptrace(2), PTRACE_DETACH (requires a stopped tracee); clone(2), prctl(2), PR_SET_PDEATHSIG; Linux
 * kernel/ptrace.c, exit_ptrace; kernel/signal.c, do_notify_parent_cldstop; Documentation/admin-guide/LSM/Yama.rst.
 */
#include "target/linux/tracer.h"

#include "target/linux/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STACK_BYTES = 256 << 10, PROCESS_STACK_BYTES = 192 << 10, ROUNDS_MOST = 2000, RELIEF_NS = 10000000 };

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0 && errno == EINTR)
        continue;
}

static void serve(struct sw_tracer *tracer)
{
    sem_post(&tracer->done);
    for (;;) {
        wait_for(&tracer->asked);
        if (tracer->is_ending)
            return;
        tracer->is_calling = true;
        tracer->call(tracer->arg);
        tracer->is_calling = false;
        sem_post(&tracer->done);
    }
}

/* ------------------------------------------------------------------ the process */

/* Between two instructions of the tracer's. */
static void reap_in_handler(int number, siginfo_t *info, void *context)
{
    const int error = errno;
    const struct sw_tracer *tracer = info->si_value.sival_ptr;
    (void)number;
    (void)context;
    if (info->si_code == SI_TIMER && tracer->reap)
        tracer->reap(tracer->of, !tracer->is_calling);
    errno = error;
}

/* The one signal that is not blocked. */
static bool start_clock(struct sw_tracer *tracer)
{
    const struct sigaction action = { .sa_sigaction = reap_in_handler, .sa_flags = SA_SIGINFO | SA_RESTART };
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM, .sigev_value.sival_ptr = tracer };
    const struct itimerspec often = { { 0, RELIEF_NS }, { 0, RELIEF_NS } };
    sigset_t set;
    int timer; /* as the kernel has it: functions for timers are in another library of old systems */
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    return sigaction(SIGALRM, &action, NULL) == 0 && syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) == 0 &&
           syscall(SYS_timer_settime, timer, 0, &often, NULL) == 0 && sigprocmask(SIG_UNBLOCK, &set, NULL) == 0;
}

static int live_as_process(void *arg)
{
    struct sw_tracer *tracer = arg;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != tracer->owner || !start_clock(tracer))
        return 1;
    (void)prctl(PR_SET_NAME, SW_TRACER_NAME);
    tracer->is_process = true;
    serve(tracer);
    return 0;
}

/* Whether a process of ours may trace what we may. With Yama others than descendants only by who is privileged. */
static bool may_be_process(void)
{
    struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct data[2] = { { 0 } };
    char scope = '0';
    const int file = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return true;
    const bool is_read = read(file, &scope, 1) == 1;
    close(file);
    return (is_read && scope == '0') ||
           (syscall(SYS_capget, &header, data) == 0 && (data[0].effective >> CAP_SYS_PTRACE & 1) != 0);
}

/*
 * Sleeps until it has ended; nothing may set errno meanwhile, which is the process's as well. Without CLONE_UNTRACED a
 * debugger of this program would trace it, and hold it.
 *
 * Returns  False: there was none.
 */
static bool run_process(struct sw_tracer *tracer, char *stack_end)
{
    enum { SHARED = CLONE_VM | CLONE_FILES | CLONE_UNTRACED };
    const int pid = may_be_process() ? clone(live_as_process, stack_end, SHARED, tracer) : -1;
    if (pid > 0)
        (void)syscall(SYS_wait4, pid, NULL, __WALL, NULL);
    return tracer->is_process;
}

/* ------------------------------------------------------------------ the thread */

static void *live(void *arg)
{
    struct sw_tracer *tracer = arg;
    _Alignas(16) char stack[PROCESS_STACK_BYTES];
    tracer->tid = (int)syscall(SYS_gettid);
    if (!run_process(tracer, stack + sizeof stack)) {
        serve(tracer);
    } else if (!tracer->is_ending) {
        tracer->is_lost = true;
        sem_post(&tracer->done);
    }
    return NULL;
}

/* Signals are for the threads of the program. */
static int start_without_signals(struct sw_tracer *tracer, const pthread_attr_t *attributes)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&tracer->thread, attributes, live, tracer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static enum sw_status start(struct sw_tracer *tracer)
{
    pthread_attr_t attributes;
    sem_init(&tracer->asked, 0, 0);
    sem_init(&tracer->done, 0, 0);
    tracer->is_ending = tracer->is_process = tracer->is_calling = false;
    tracer->is_lost = false;
    tracer->owner = getpid();
    if (pthread_attr_init(&attributes) != 0)
        return SW_E_NO_MEMORY;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    const int error = start_without_signals(tracer, &attributes);
    pthread_attr_destroy(&attributes);
    if (error)
        tracer->owner = 0;
    else
        wait_for(&tracer->done);
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

enum sw_status sw_tracer_call(struct sw_tracer *tracer, void (*call)(void *arg), void *arg,
                              void (*reap)(void *of, bool is_idle), void *of)
{
    const enum sw_status status = sw_tracer_lives(tracer) ? SW_OK : start(tracer);
    if (status != SW_OK)
        return status;
    tracer->call = call;
    tracer->arg = arg;
    tracer->of = of;
    tracer->reap = reap;
    sem_post(&tracer->asked);
    while (!is_done(tracer))
        if (!tracer->is_process)
            reap(of, false);
    if (!tracer->is_lost)
        return SW_OK;
    sw_tracer_end(tracer);
    return SW_E_OS;
}

/*
 * A process has been waited for when the thread beside it ends. A thread is joined a little before the kernel lets go
 * of what it traces: it is gone when that has been done.
 */
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
