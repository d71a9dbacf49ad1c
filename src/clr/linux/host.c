/*
 * Linux for src/clr: glibc's and musl's loader, a mutex, clocks. Refuses to know the runtime.
 */
#include "base/hot.h"
#include "clr/linux/host_state.h"

#include <snapwalk/context.h>
#include <snapwalk/self.h>

#include <link.h>
#include <sched.h>
#include <time.h>
#include <ucontext.h>

enum sw_status sw_clr_host_create(const struct sw_alloc *alloc, struct sw_clr_host **host)
{
    struct sw_clr_host *made = alloc->get(alloc->arg, sizeof *made);
    if (!made)
        return SW_E_NO_MEMORY;
    made->alloc = *alloc;
    if (pthread_mutex_init(&made->lock, NULL) != 0) {
        alloc->put(alloc->arg, made, sizeof *made);
        return SW_E_OS;
    }
    *host = made;
    return SW_OK;
}

void sw_clr_host_destroy(struct sw_clr_host *host)
{
    if (!host)
        return;
    const struct sw_alloc to = host->alloc;
    pthread_mutex_destroy(&host->lock);
    to.put(to.arg, host, sizeof *host);
}

void sw_clr_host_lock(struct sw_clr_host *host)
{
    pthread_mutex_lock(&host->lock);
}

void sw_clr_host_unlock(struct sw_clr_host *host)
{
    pthread_mutex_unlock(&host->lock);
}

/* The counters are the same for every object, so the first one is enough. */
static int first_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct sw_clr_loads *loads = arg;
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        *loads = (struct sw_clr_loads){ info->dlpi_adds, info->dlpi_subs };
    return 1;
}

struct sw_clr_loads sw_clr_host_loads(const struct sw_clr_host *host)
{
    struct sw_clr_loads now = { 0, 0 };
    (void)host;
    dl_iterate_phdr(first_object, &now);
    return now;
}

enum sw_clr_system sw_clr_host_system(void)
{
    return SW_CLR_UNIX;
}

/*
 * The OS id of the calling thread without a system call; a walk used to make several. The clock id of a thread's
 * processor time contains it. Signal safe: both libcs only read their own record of the thread.
 *
 * Source: pthread_getcpuclockid(3); linux/posix-timers.h, MAKE_THREAD_CPUCLOCK.
 */
SW_HOT static uint64_t self_by_clock(void *arg)
{
    enum { KIND_BITS = 3 };
    clockid_t clock;
    (void)arg;
    return pthread_getcpuclockid(pthread_self(), &clock) == 0 ? (uint32_t) ~(clock >> KIND_BITS) : sw_self_thread();
}

struct sw_suspender sw_clr_host_suspender(struct sw_self_suspender *suspender)
{
    struct sw_suspender functions = sw_self_get_suspender(suspender);
    if (self_by_clock(NULL) == sw_self_thread())
        functions.current = self_by_clock;
    return functions;
}

uint64_t sw_clr_host_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void sw_clr_host_yield(void)
{
    sched_yield();
}

SW_HOT enum sw_status sw_clr_host_registers(enum sw_machine machine, const void *context, struct sw_regs *regs)
{
    return sw_context_load(SW_CONTEXT_UCONTEXT, machine, context, sizeof(ucontext_t), regs);
}
