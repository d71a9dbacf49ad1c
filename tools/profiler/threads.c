/*
 * A table by the kernel's id. Timers are made by system calls: glibc's timer_create refuses the clock of another
 * thread. Source: diagnostics-ipc.md section 7.
 */
#include "threads.h"
#include "sample.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { BUCKETS = 256, THREADS_MAX = 32768 };

/* No kernel's clock ticks more than 1,000 times a second; gVisor, whose timers wait for no tick, says 1 ns. */
enum { TICK_LEAST_NS = 500000 };

/* The value of our signals: a mark that is in no address, the purpose, microseconds. */
enum { MARK = 0x5357, MARK_SHIFT = 48, PURPOSE_SHIFT = 44 };
static const uint64_t microseconds_max = (UINT64_C(1) << PURPOSE_SHIFT) - 1;

struct thread {
    struct thread *next;
    pid_t tid;
    int timer;                         /* -1: none */
    bool seen, excluded, named, fresh; /* named: by the runtime; fresh: the name was read since the last look */
    uint64_t visited_ns;
    enum { ALIVE, ENDED, SWEPT_ONCE } state;
    char name[THREAD_NAME];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct thread *buckets[BUCKETS];
static size_t count;
static struct thread_rate rate;
static _Atomic uint64_t passed_over_ns;
static int used_signal;
static uint64_t handlers_return;

/* ---- signals ---- */

static bool is_free(int number)
{
    struct sigaction old;
    return sigaction(number, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) &&
           (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN);
}

/* The C library gives the kernel one for all its handlers. Source: rt_sigaction(2), asm/signal.h. */
static uint64_t find_return(int number)
{
    struct {
        uint64_t handler, flags, restorer, mask;
    } action = { 0 };
    return syscall(SYS_rt_sigaction, number, NULL, &action, sizeof action.mask) == 0 ? action.restorer : 0;
}

int threads_signal(void (*handler)(int, siginfo_t *, void *))
{
    const struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
    /* One that nobody minds: where it is still pending when the process becomes another program, it ends that not. */
    if (!used_signal && is_free(SIGURG))
        used_signal = SIGURG;
    /* The lowest real-time signals are the runtime's and glibc's. */
    for (int number = SIGRTMAX; !used_signal && number > SIGRTMIN + 1; number--)
        if (is_free(number))
            used_signal = number;
    if (!used_signal || sigaction(used_signal, &action, NULL) != 0)
        return 0;
    handlers_return = find_return(used_signal);
    return used_signal;
}

uint64_t threads_handlers_return(void)
{
    return handlers_return;
}

static void *value_of(enum signal_purpose purpose, uint64_t ns)
{
    const uint64_t us = ns / 1000 < microseconds_max ? ns / 1000 : microseconds_max;
    return (void *)(uintptr_t)((uint64_t)MARK << MARK_SHIFT | (uint64_t)purpose << PURPOSE_SHIFT | us);
}

/* Of a period's ticks one, by the time stamp counter, whose lowest digits nobody foresees: no memory is waited for. */
static bool is_chosen(void)
{
    const uint64_t mixed = __builtin_ia32_rdtsc() * UINT64_C(0x9e3779b97f4a7c15);
    return ((mixed ^ mixed >> 32) & UINT32_MAX) * rate.period_us >> 32 < rate.tick_us;
}

__attribute__((hot)) enum signal_purpose threads_purpose(const siginfo_t *about, uint64_t *ns)
{
    const uint64_t value = (uintptr_t)about->si_value.sival_ptr;
    const unsigned purpose = value >> PURPOSE_SHIFT & 15;
    if ((about->si_code != SI_TIMER && about->si_code != SI_QUEUE) || value >> MARK_SHIFT != MARK || purpose == 0 ||
        purpose >= SIGNAL_PURPOSES)
        return 0;
    /* Several periods of a timer may have ended since it was looked at. */
    const uint64_t times = about->si_code == SI_TIMER && about->si_overrun > 0 ? 1 + (uint64_t)about->si_overrun : 1;
    *ns = (value & microseconds_max) * 1000 * times;
    if (purpose != SIGNAL_TICK)
        return (enum signal_purpose)purpose;
    if (!rate.tick_us || is_chosen())
        return SIGNAL_CPU;
    atomic_fetch_add_explicit(&passed_over_ns, *ns, memory_order_relaxed);
    return 0;
}

uint64_t threads_passed_over(void)
{
    return atomic_exchange(&passed_over_ns, 0);
}

/*
 * Once. A thread that is gone needs no signal. The kernel counts timers as signals that are queued; a container may
 * refuse either. Source: timer_create(2), seccomp(2).
 */
static void say_refused(const char *what, const char *instead, int problem)
{
    static _Atomic bool said;
    const bool refused = problem == EPERM || problem == EACCES || problem == ENOSYS;
    if ((!refused && problem != EAGAIN) || atomic_exchange(&said, true))
        return;
    if (refused)
        fprintf(stderr, "snapwalk-profiler: threads are not sampled: %s: %s (by a seccomp filter?)%s\n", what,
                strerror(problem), instead);
    else
        fprintf(stderr,
                "snapwalk-profiler: some threads are not sampled: the user's limit of queued signals and timers "
                "is reached (ulimit -i)\n");
}

bool threads_send(pid_t tid, enum signal_purpose purpose, uint64_t ns)
{
    const int number = purpose ? used_signal : 0;
    siginfo_t about = { .si_signo = number, .si_code = SI_QUEUE };
    about.si_pid = getpid();
    about.si_uid = getuid();
    about.si_value.sival_ptr = value_of(purpose, ns);
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, number, &about) == 0)
        return true;
    say_refused("rt_tgsigqueueinfo", "", errno);
    return false;
}

/* ---- timers ---- */

struct thread_rate threads_rate(uint64_t period_ns, uint64_t tick_ns)
{
    if (tick_ns < TICK_LEAST_NS)
        return (struct thread_rate){ .interval_ns = period_ns };
    return (struct thread_rate){ .interval_ns = period_ns ? 1000 : 0,
                                 .tick_us = period_ns > tick_ns ? tick_ns / 1000 : 0,
                                 .period_us = period_ns / 1000 };
}

static const char without_timers[] = "; SNAPWALK_MODE=wall needs no timers";

static void set_timer(const struct thread *thread)
{
    const struct timespec interval = { (time_t)(rate.interval_ns / 1000000000), (long)(rate.interval_ns % 1000000000) };
    const struct itimerspec when = { interval, interval };
    if (thread->timer >= 0 && syscall(SYS_timer_settime, thread->timer, 0, &when, NULL) != 0)
        say_refused("timer_settime", without_timers, errno);
}

static void give_timer(struct thread *thread)
{
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = used_signal };
    int timer;
    if (!rate.interval_ns || thread->timer >= 0 || thread->excluded || thread->state != ALIVE)
        return;
    event.sigev_value.sival_ptr = value_of(SIGNAL_TICK, rate.interval_ns);
    event.sigev_notify_thread_id = thread->tid;
    if (syscall(SYS_timer_create, (clockid_t)(~(unsigned)thread->tid << 3 | 6), &event, &timer) != 0) {
        say_refused("timer_create", without_timers, errno);
        return;
    }
    thread->timer = timer;
    set_timer(thread);
}

static void take_timer(struct thread *thread)
{
    if (thread->timer >= 0)
        (void)syscall(SYS_timer_delete, thread->timer);
    thread->timer = -1;
}

/* ---- the table; the lock is held ---- */

static struct thread *find(pid_t tid)
{
    struct thread *thread = buckets[(unsigned)tid % BUCKETS];
    while (thread && thread->tid != tid)
        thread = thread->next;
    return thread;
}

static struct thread *find_or_add(pid_t tid)
{
    struct thread *thread = find(tid);
    if (thread || count == THREADS_MAX || !(thread = calloc(1, sizeof *thread)))
        return thread;
    thread->tid = tid;
    thread->timer = -1;
    thread->next = buckets[(unsigned)tid % BUCKETS];
    buckets[(unsigned)tid % BUCKETS] = thread;
    count++;
    return thread;
}

static void read_name(struct thread *thread)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)thread->tid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? 0 : read(file, thread->name, THREAD_NAME - 1);
    if (length > 0)
        thread->name[length - 1] = 0; /* the newline */
    thread->fresh = true;
    if (file >= 0)
        close(file);
}

static void begin(pid_t tid)
{
    struct thread *thread = find_or_add(tid);
    if (!thread)
        return;
    if (thread->state != ALIVE) { /* the number is used again */
        take_timer(thread);
        thread->named = thread->fresh = false;
    }
    thread->state = ALIVE;
    thread->seen = true;
    give_timer(thread);
}

static void forget(struct thread *thread)
{
    struct thread **at = &buckets[(unsigned)thread->tid % BUCKETS];
    while (*at != thread)
        at = &(*at)->next;
    *at = thread->next;
    free(thread);
    count--;
}

/* Whether anybody may ask for its name. */
static bool end(struct thread *thread)
{
    const bool sampled = sample_was_taken((uint64_t)thread->tid);
    if (!thread->named && sampled)
        read_name(thread);
    take_timer(thread);
    if (thread->state == ALIVE)
        thread->state = ENDED;
    return sampled;
}

static void for_each(void (*act)(struct thread *thread))
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct thread *thread = buckets[i]; thread; thread = thread->next)
            act(thread);
}

/* ---- from outside ---- */

void threads_begin(pid_t tid)
{
    pthread_mutex_lock(&lock);
    begin(tid);
    pthread_mutex_unlock(&lock);
}

void threads_end(pid_t tid)
{
    pthread_mutex_lock(&lock);
    struct thread *thread = find(tid);
    if (thread && !end(thread))
        forget(thread);
    pthread_mutex_unlock(&lock);
}

/* The clock of a thread's processor time has its id. Source: linux/posix-timers.h, MAKE_THREAD_CPUCLOCK. */
__attribute__((hot)) uint64_t threads_self(void)
{
    clockid_t clock;
    return pthread_getcpuclockid(pthread_self(), &clock) == 0 ? (uint32_t) ~(clock >> 3)
                                                              : (uint64_t)syscall(SYS_gettid);
}

void threads_exclude(void)
{
    pthread_mutex_lock(&lock);
    struct thread *thread = find_or_add((pid_t)syscall(SYS_gettid));
    if (thread) {
        thread->excluded = true;
        take_timer(thread);
    }
    pthread_mutex_unlock(&lock);
}

static void apply_period(struct thread *thread)
{
    take_timer(thread);
    give_timer(thread);
}

/* That of the clocks which change with each tick. Source: clock_getres(2), CLOCK_MONOTONIC_COARSE. */
static uint64_t tick(void)
{
    struct timespec length;
    return clock_getres(CLOCK_MONOTONIC_COARSE, &length) == 0 && length.tv_sec == 0 ? (uint64_t)length.tv_nsec : 0;
}

void threads_set_period(uint64_t period_ns)
{
    pthread_mutex_lock(&lock);
    rate = threads_rate(period_ns, tick());
    for_each(apply_period);
    pthread_mutex_unlock(&lock);
}

void threads_pause(bool paused)
{
    const struct itimerspec never = { 0 };
    pthread_mutex_lock(&lock);
    const struct thread *thread = find((pid_t)syscall(SYS_gettid));
    if (thread && thread->timer >= 0 && paused)
        (void)syscall(SYS_timer_settime, thread->timer, 0, &never, NULL);
    else if (thread)
        set_timer(thread);
    pthread_mutex_unlock(&lock);
}

static void forget_seen(struct thread *thread)
{
    thread->seen = thread->fresh = false;
}

static void end_unseen(struct thread *thread)
{
    if (!thread->seen && thread->state == ALIVE)
        (void)end(thread);
}

void threads_look(void)
{
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks)
        return;
    pthread_mutex_lock(&lock);
    for_each(forget_seen);
    for (const struct dirent *task; (task = readdir(tasks));) {
        const pid_t tid = (pid_t)strtol(task->d_name, NULL, 10);
        struct thread *thread = tid > 0 ? find(tid) : NULL;
        if (tid > 0 && !thread)
            begin(tid);
        else if (thread)
            thread->seen = true;
    }
    for_each(end_unseen);
    pthread_mutex_unlock(&lock);
    closedir(tasks);
}

void threads_sweep(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct thread **at = &buckets[i]; *at;) {
            struct thread *thread = *at;
            if (thread->state == SWEPT_ONCE) {
                *at = thread->next;
                free(thread);
                count--;
                continue;
            }
            if (thread->state == ENDED)
                thread->state = SWEPT_ONCE;
            at = &thread->next;
        }
    pthread_mutex_unlock(&lock);
}

void threads_name(pid_t tid, const char *name)
{
    pthread_mutex_lock(&lock);
    struct thread *thread = find_or_add(tid);
    if (thread) {
        snprintf(thread->name, THREAD_NAME, "%s", name);
        thread->named = true;
    }
    pthread_mutex_unlock(&lock);
}

void threads_get_name(pid_t tid, char name[THREAD_NAME])
{
    name[0] = 0;
    pthread_mutex_lock(&lock);
    struct thread *thread = find(tid);
    if (thread && !thread->named && !thread->fresh && thread->state == ALIVE)
        read_name(thread);
    if (thread)
        memcpy(name, thread->name, THREAD_NAME);
    pthread_mutex_unlock(&lock);
}

size_t threads_visit(struct thread_visit visits[], size_t room, size_t *cursor, uint64_t now_ns)
{
    size_t found = 0, number = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct thread *thread = buckets[i]; thread; thread = thread->next) {
            if (thread->excluded || thread->state != ALIVE || number++ < *cursor || found == room)
                continue;
            visits[found++] = (struct thread_visit){ thread->tid, thread->visited_ns };
            thread->visited_ns = now_ns;
        }
    *cursor = *cursor + found < number ? *cursor + found : 0;
    pthread_mutex_unlock(&lock);
    return found;
}
