/*
 * Knows signals, and nothing of profiles. Up to .NET 9 the runtime ends a program on SIGTERM as if it had returned from
 * Main; .NET 10's own handler gives the signal its default action and sends it again (seen with strace, 10.0.12).
 * What the handler calls is in signal-safety(7).
 */
#include "signals.h"
#include "sample.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };
enum { COUNT = sizeof numbers / sizeof numbers[0] };

static atomic_int asked;
static _Atomic bool watching;
static pid_t own;
static struct sigaction before[COUNT]; /* what was there when ours came */

void signals_end(int number)
{
    for (size_t i = 0; i < COUNT; i++)
        if (numbers[i] == number)
            (void)sigaction(number, &before[i], NULL);
    (void)kill(getpid(), number); /* in its own handler it comes when that returns */
}

/* A child of fork or vfork has nobody who would write: it ends as it would have. So does who is asked twice. */
static void on_end(int number)
{
    const int problem = errno;
    int none = 0;
    if (atomic_load(&watching) && getpid() == own && atomic_compare_exchange_strong(&asked, &none, number))
        sample_wake();
    else
        signals_end(number);
    errno = problem;
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

void signals_watch(const void *silent, bool is_starting)
{
    const struct sigaction action = { .sa_handler = on_end, .sa_flags = SA_RESTART };
    struct sigaction old;
    own = getpid();
    atomic_store(&asked, 0);
    atomic_store(&watching, true);
    for (size_t i = 0; i < COUNT; i++) {
        if (sigaction(numbers[i], NULL, &old) != 0 || is_ours(&old))
            continue;
        const bool is_default = !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL;
        if (!is_default && !(silent && is_runtimes(&old, silent, is_starting)))
            continue;
        before[i] = old;
        (void)sigaction(numbers[i], &action, NULL);
    }
}

void signals_leave(void)
{
    struct sigaction now;
    atomic_store(&watching, false);
    for (size_t i = 0; i < COUNT; i++)
        if (sigaction(numbers[i], NULL, &now) == 0 && is_ours(&now))
            (void)sigaction(numbers[i], &before[i], NULL);
}

int signals_asked(void)
{
    return atomic_load(&asked);
}
