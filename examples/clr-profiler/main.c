/*
 * A sampling profiler for .NET on Linux. A timer interrupts each thread wherever it is, and the thread walks itself in
 * the signal handler. When the program ends, the profiler prints the methods that were on the stacks most often.
 *
 *     CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER={846F5F1C-F9AE-4B07-969E-05C26BC060D8} \
 *     CORECLR_PROFILER_PATH=.../libsnapwalk-profiler.so dotnet program.dll
 *
 *     SNAPWALK_HZ    samples per second and thread (default 100)
 *     SNAPWALK_OUT   where the report goes (default: standard error)
 *     SNAPWALK_TOP   how many methods it shows (default 20)
 *
 * A program that wants parts of itself not sampled calls snapwalk_profiler_sample (by P/Invoke, or dlsym).
 */
#include "callbacks.h"
#include "names.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <snapwalk/self.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { METHODS = 1 << 16, STACK_MAX = 512, REFRESH_NS = 20000000 };

/* Methods by FunctionID. Signal handlers fill it: a slot is taken once and never freed. */
static struct method {
    _Atomic FunctionID id;
    _Atomic uint64_t self;  /* samples in it, or in unmanaged code that it called */
    _Atomic uint64_t total; /* samples with it anywhere on the stack */
} methods[METHODS];
static _Atomic uint64_t samples, incomplete, unmanaged;

/* The managed methods of one stack, each once. */
struct stack {
    FunctionID ids[STACK_MAX];
    unsigned count;
};

static ICorProfilerInfo3 *info;
static long period_ns;
static __thread timer_t timer;
static __thread bool is_sampled; /* has a timer */
static __thread bool is_paused;
static __thread struct stack stack; /* not on the interrupted stack, which may be nearly full */

/* ---- in the handler ---- */

static struct method *method_of(FunctionID id)
{
    for (size_t i = 0, at = id * UINT64_C(0x9e3779b97f4a7c15) >> 48; i < METHODS; i++, at = (at + 1) % METHODS) {
        FunctionID there = 0;
        if (atomic_load(&methods[at].id) == id || atomic_compare_exchange_strong(&methods[at].id, &there, id) ||
            there == id)
            return &methods[at];
    }
    return NULL;
}

static bool is_noted(const struct stack *noted, FunctionID id)
{
    for (unsigned i = noted->count; i-- > 0;)
        if (noted->ids[i] == id)
            return true;
    return false;
}

static bool keep(void *arg, const struct sw_frame *frame)
{
    struct stack *noted = arg;
    FunctionID id;
    if (frame->code.kind != SW_KIND_JIT && frame->code.kind != SW_KIND_NGEN)
        return true;
    if (sw_clr_function_from_ip(fed, SW_FLAVOUR_DOCUMENTED, frame->lookup, &id) == S_OK && !is_noted(noted, id) &&
        noted->count < STACK_MAX)
        noted->ids[noted->count++] = id;
    return true;
}

static void count(const struct stack *noted)
{
    for (unsigned i = 0; i < noted->count; i++) {
        struct method *method = method_of(noted->ids[i]);
        if (!method)
            continue;
        atomic_fetch_add(&method->total, 1);
        if (i == 0)
            atomic_fetch_add(&method->self, 1);
    }
}

/* One signal at a time: however long a walk takes, the thread runs for one period before the next. */
static void arm(void)
{
    const struct itimerspec when = { { 0, 0 }, { period_ns / 1000000000, period_ns % 1000000000 } };
    (void)timer_settime(timer, 0, &when,
                        NULL); /* fails only where the timer is gone: then nothing is sampled any more */
}

static void on_tick(int signal, siginfo_t *about, void *context)
{
    const int before = errno;
    (void)signal, (void)about;
    if (!is_sampled || is_paused)
        return;
    stack.count = 0;
    const enum sw_stop stop = sw_clr_walk(fed, context, keep, &stack);
    atomic_fetch_add(&samples, 1);
    atomic_fetch_add(&incomplete, stop != SW_STOP_ROOT && stop != SW_STOP_ROOT_ZERO && stop != SW_STOP_ROOT_BASE);
    atomic_fetch_add(&unmanaged, stack.count == 0);
    count(&stack);
    arm();
    errno = before;
}

/* ---- threads ---- */

/* From now on the calling thread is sampled, or is not (0). At first it is. */
EXPORT void snapwalk_profiler_sample(int on);
EXPORT void snapwalk_profiler_sample(int on)
{
    const bool resumes = on && is_paused;
    is_paused = !on;
    if (resumes && is_sampled)
        arm();
}

static HRESULT STDMETHODCALLTYPE thread_assigned(ICorProfilerCallback11 *self, ThreadID thread, DWORD os_id)
{
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF };
    const HRESULT hr = feed_thread_assigned(self, thread, os_id);
    event.sigev_notify_thread_id = (int)os_id;
    if (os_id == sw_self_thread() && !is_sampled && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) {
        is_sampled = true;
        stack.count = 0; /* touched here, so that no handler touches it first */
        arm();
    }
    return hr;
}

static HRESULT STDMETHODCALLTYPE thread_destroyed(ICorProfilerCallback11 *self, ThreadID thread)
{
    if (is_sampled)
        timer_delete(timer);
    is_sampled = false;
    return feed_thread_destroyed(self, thread);
}

/* Libraries that native code loads cause no event. */
static void *refresh(void *arg)
{
    const struct timespec pause = { 0, REFRESH_NS };
    (void)arg;
    for (;; nanosleep(&pause, NULL))
        sw_clr_refresh(fed);
    return NULL;
}

/* ---- the report ---- */

static int by_total(const void *a, const void *b)
{
    const struct method *x = a, *y = b;
    return (y->total > x->total) - (y->total < x->total);
}

static void print(FILE *to)
{
    const char *most = getenv("SNAPWALK_TOP");
    const int top = most ? (int)strtol(most, NULL, 10) : 20;
    struct sw_clr_counts counts;
    char name[256], about[SW_CLR_ABOUT_BYTES];
    sw_clr_get_counts(fed, &counts);
    (void)sw_clr_about(fed, about, sizeof about);
    fprintf(to,
            "snapwalk: %llu samples, %llu incomplete, %llu without managed code; %llu methods known\nsnapwalk: %s\n",
            (unsigned long long)samples, (unsigned long long)incomplete, (unsigned long long)unmanaged,
            (unsigned long long)counts.functions, about);
    qsort(methods, METHODS, sizeof methods[0], by_total);
    fprintf(to, "   total    self\n");
    for (int i = 0; i < top && i < METHODS && methods[i].total; i++) {
        function_name(info, methods[i].id, name, sizeof name);
        fprintf(to, "%8llu%8llu  %s\n", (unsigned long long)methods[i].total, (unsigned long long)methods[i].self,
                name);
    }
}

/* ---- life ---- */

static HRESULT STDMETHODCALLTYPE initialize(ICorProfilerCallback11 *self, IUnknown *given)
{
    const struct sigaction action = { .sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART };
    const char *hertz = getenv("SNAPWALK_HZ");
    ICorProfilerInfo5 *events;
    pthread_t refresher;
    DWORD low, high;
    void *found = NULL;
    (void)self;
    if (given->lpVtbl->QueryInterface(given, &IID_ICorProfilerInfo5, &found) != S_OK)
        return E_FAIL;
    events = found;
    info = found;
    sw_clr_get_events(&low, &high);
    const long wanted = hertz ? strtol(hertz, NULL, 10) : 0;
    period_ns = 1000000000L / (wanted > 0 && wanted <= 1000000 ? wanted : 100);
    if (events->lpVtbl->SetEventMask2(events, low, high) != S_OK || sw_clr_create(NULL, given, &fed) != SW_OK ||
        sigaction(SIGPROF, &action, NULL) != 0 || pthread_create(&refresher, NULL, refresh, NULL) != 0)
        return E_FAIL;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE shutdown(ICorProfilerCallback11 *self)
{
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    const char *path = getenv("SNAPWALK_OUT");
    FILE *to = path ? fopen(path, "w") : stderr;
    (void)self;
    (void)sigaction(SIGPROF, &ignore, NULL);
    if (to)
        print(to);
    if (to && path)
        fclose(to);
    return S_OK;
}

EVERY_CALLBACK(IGNORE, ICorProfilerCallback11)

static ICorProfilerCallback11Vtbl table = {
    EVERY_CALLBACK(IGNORED, ICorProfilerCallback11) COM_SLOTS FEED_SLOTS.Initialize = initialize,
    .Shutdown = shutdown,
    .ThreadAssignedToOSThread = thread_assigned,
    .ThreadDestroyed = thread_destroyed,
};
ICorProfilerCallback11 profiler = { &table };
