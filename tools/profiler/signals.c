/*
 * Knows signals, and nothing of profiles. Up to .NET 9 the runtime ends a program on SIGTERM as if it had returned from
 * Main; .NET 10's own handler gives the signal its default action and sends it again, as all do for SIGINT and SIGQUIT
 * (seen with strace: 8.0.31, 9.0.20, 10.0.12).
 * However the runtime crashes, at last it gives a fatal signal its default action back: SIGABRT before it calls abort,
 * or that of the fault, which comes again. So its call of sigaction is where a crash is noticed: what it prints and its
 * crash dump lie before that, its handlers stay as they are, and a program that has its own goes there first.
 * What handlers call is in signal-safety(7).
 */
#include "signals.h"
#include "clock.h"
#include "imports.h"
#include "sample.h"
#include "threads.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* A thread that a signal has met may hold what the writer needs: it is held only for so long. */
enum { STEP_MS = 5, SIGNAL_MS = 1000, CRASH_MS = 10000, LAST_MS = 100 };

/* Since which version the runtime's own handler tells profilers nothing. */
static const struct {
    int number;
    unsigned silent_since;
} ends[] = { { SIGTERM, 10 }, { SIGINT, 0 }, { SIGQUIT, 0 }, { SIGHUP, 0 } };
enum { COUNT = sizeof ends / sizeof ends[0] };

static atomic_int asked;
static _Atomic bool watching;
static atomic_uint begun, written;
static pid_t own;
static struct sigaction before[COUNT]; /* what was there when ours came */
static pthread_t writer;
static _Atomic bool served;

/* ---- waiting ---- */

void signals_serve(bool on)
{
    writer = pthread_self();
    atomic_store(&served, on);
}

unsigned signals_ends(void)
{
    return atomic_load(&begun);
}

void signals_written(unsigned count)
{
    atomic_store(&written, count);
}

/* A child of fork or vfork has nobody who would write. */
static bool has_writer(void)
{
    return atomic_load(&watching) && getpid() == own && atomic_load(&served);
}

static bool is_writer(void)
{
    return pthread_equal(writer, pthread_self());
}

static bool is_written(unsigned count)
{
    return (int)(atomic_load(&written) - count) >= 0;
}

/* Its answer: it had to wait. */
static bool await(unsigned count, int limit_ms)
{
    int waited_ms = 0;
    for (; waited_ms < limit_ms && !is_written(count) && atomic_load(&served); waited_ms += STEP_MS)
        (void)poll(NULL, 0, STEP_MS);
    return waited_ms > 0;
}

/* Without this another thread's return from Main would end the program before the crash does. */
void signals_await_end(void)
{
    if (await(atomic_load(&begun), CRASH_MS))
        (void)poll(NULL, 0, LAST_MS);
}

static unsigned tell(void)
{
    const unsigned count = atomic_fetch_add(&begun, 1) + 1;
    sample_wake();
    return count;
}

/* ---- signals ---- */

void signals_end(int number)
{
    for (size_t i = 0; i < COUNT; i++)
        if (ends[i].number == number)
            (void)sigaction(number, &before[i], NULL);
    (void)kill(getpid(), number); /* in its own handler it comes when that returns */
}

/*
 * A child of fork or vfork ends as it would have. So does who is asked twice. The thread that the signal has met is
 * held, so that it does nothing more: the writer ends the process.
 */
static void on_end(int number)
{
    const int problem = errno;
    int none = 0;
    if (has_writer() && atomic_compare_exchange_strong(&asked, &none, number)) {
        (void)tell();
        for (int ms = 0; !is_writer() && ms < SIGNAL_MS && atomic_load(&watching); ms += STEP_MS)
            (void)poll(NULL, 0, STEP_MS);
    } else {
        signals_end(number);
    }
    errno = problem;
}

static bool is_default(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL;
}

static bool is_ours(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == on_end;
}

/*
 * Whether the handler is the runtime's own. A program handles signals by System.Native, another library; but where all
 * is one file, handlers in it are the runtime's only before the program runs.
 */
static bool is_runtimes(const struct sigaction *action, const void *runtime, bool is_starting)
{
    static const char name[] = "/libcoreclr.so";
    Dl_info its, ours;
    if (!(action->sa_flags & SA_SIGINFO) || !dladdr((void *)(uintptr_t)action->sa_sigaction, &its) ||
        !dladdr(runtime, &ours) || its.dli_fbase != ours.dli_fbase)
        return false;
    const size_t length = strlen(its.dli_fname), end = sizeof name - 1;
    return is_starting || (length >= end && !strcmp(its.dli_fname + length - end, name));
}

/* ---- crashes ---- */

static bool is_fatal(int number)
{
    return number == SIGABRT || number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE;
}

/* .NET 8 resets one signal after the other before it aborts, which is one crash. A signal from outside it survives. */
static void hold_crash(void)
{
    static _Atomic uint64_t thread, held_ns;
    const uint64_t self = threads_self();
    if (atomic_load(&thread) == self && clock_ns(CLOCK_MONOTONIC) - atomic_load(&held_ns) < LAST_MS * UINT64_C(1000000))
        return;
    (void)await(tell(), CRASH_MS);
    atomic_store(&held_ns, clock_ns(CLOCK_MONOTONIC));
    atomic_store(&thread, self);
}

/* The runtime's sigaction. Also in a handler, on a signal stack. */
static int on_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    const int problem = errno;
    if (action && is_fatal(number) && action->sa_handler == SIG_DFL && has_writer() && !is_writer())
        hold_crash();
    errno = problem;
    return sigaction(number, action, old);
}

/* Once: it stays, and does nothing while nobody watches. */
static void watch_crashes(const void *runtime)
{
    static bool replaced;
    replaced = replaced || imports_replace(runtime, "sigaction", (void (*)(void))on_sigaction);
}

/* ---- from outside ---- */

void signals_watch(const void *runtime, unsigned version, bool is_starting)
{
    const struct sigaction action = { .sa_handler = on_end, .sa_flags = SA_RESTART };
    struct sigaction old;
    own = getpid();
    atomic_store(&asked, 0);
    atomic_store(&written, atomic_load(&begun));
    atomic_store(&watching, true);
    for (size_t i = 0; i < COUNT; i++) {
        if (sigaction(ends[i].number, NULL, &old) != 0 || is_ours(&old))
            continue;
        if (!is_default(&old) && (version < ends[i].silent_since || !is_runtimes(&old, runtime, is_starting)))
            continue;
        before[i] = old;
        (void)sigaction(ends[i].number, &action, NULL);
    }
    watch_crashes(runtime);
}

void signals_leave(void)
{
    struct sigaction now;
    atomic_store(&watching, false);
    for (size_t i = 0; i < COUNT; i++)
        if (sigaction(ends[i].number, NULL, &now) == 0 && is_ours(&now))
            (void)sigaction(ends[i].number, &before[i], NULL);
}

int signals_asked(void)
{
    return atomic_load(&asked);
}
