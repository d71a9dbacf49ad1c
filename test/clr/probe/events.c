/*
 * What the library takes for an event: the profiler's own slots, each with a clock in front and behind. And the feed
 * that can be turned off, so that events cost what an empty profiler's cost.
 */
#include "probe.h"
#include "../../../tools/profiler/callbacks.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEPT = 1 << 16 };
enum event {
    JIT,
    CACHED,
    REJIT,
    DYNAMIC,
    UNLOAD,
    DYNAMIC_UNLOAD,
    MODULE,
    MODULE_UNLOAD,
    CREATED,
    DESTROYED,
    ASSIGNED,
    EVENTS
};

/* ORDER event */
static const char *const names[EVENTS] = { "JITCompilationFinished",
                                           "JITCachedFunctionSearchFinished",
                                           "ReJITCompilationFinished",
                                           "DynamicMethodJITCompilationFinished",
                                           "FunctionUnloadStarted",
                                           "DynamicMethodUnloaded",
                                           "ModuleLoadFinished",
                                           "ModuleUnloadFinished",
                                           "ThreadCreated",
                                           "ThreadDestroyed",
                                           "ThreadAssignedToOSThread" };

typedef ICorProfilerCallback11 Self;

static ICorProfilerCallback11Vtbl inner;
static uint32_t *times[EVENTS];
static _Atomic uint32_t counts[EVENTS];
static _Atomic bool is_off;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void note(enum event event, uint64_t begun)
{
    const uint64_t took = now_ns() - begun;
    const uint32_t n = atomic_fetch_add(&counts[event], 1);
    if (n < KEPT)
        times[event][n] = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
}

#define TIMED(slot, event, parameters, arguments)                                                                      \
    static HRESULT STDMETHODCALLTYPE timed_##slot parameters                                                           \
    {                                                                                                                  \
        if (atomic_load_explicit(&is_off, memory_order_relaxed))                                                       \
            return S_OK;                                                                                               \
        const uint64_t begun = now_ns();                                                                               \
        const HRESULT hr = inner.slot arguments;                                                                       \
        note(event, begun);                                                                                            \
        return hr;                                                                                                     \
    }

TIMED(JITCompilationFinished, JIT, (Self * self, FunctionID function, HRESULT status, BOOL may_block),
      (self, function, status, may_block))
TIMED(JITCachedFunctionSearchFinished, CACHED, (Self * self, FunctionID function, COR_PRF_JIT_CACHE result),
      (self, function, result))
TIMED(ReJITCompilationFinished, REJIT,
      (Self * self, FunctionID function, ReJITID rejit, HRESULT status, BOOL may_block),
      (self, function, rejit, status, may_block))
TIMED(DynamicMethodJITCompilationFinished, DYNAMIC, (Self * self, FunctionID function, HRESULT status, BOOL may_block),
      (self, function, status, may_block))
TIMED(FunctionUnloadStarted, UNLOAD, (Self * self, FunctionID function), (self, function))
TIMED(DynamicMethodUnloaded, DYNAMIC_UNLOAD, (Self * self, FunctionID function), (self, function))
TIMED(ModuleLoadFinished, MODULE, (Self * self, ModuleID module, HRESULT status), (self, module, status))
TIMED(ModuleUnloadFinished, MODULE_UNLOAD, (Self * self, ModuleID module, HRESULT status), (self, module, status))
TIMED(ThreadCreated, CREATED, (Self * self, ThreadID thread), (self, thread))
TIMED(ThreadDestroyed, DESTROYED, (Self * self, ThreadID thread), (self, thread))
TIMED(ThreadAssignedToOSThread, ASSIGNED, (Self * self, ThreadID thread, DWORD os_id), (self, thread, os_id))

void time_events(ICorProfilerCallback11Vtbl *table)
{
    inner = *table;
    for (unsigned i = 0; i < EVENTS; i++)
        if (!(times[i] = malloc(KEPT * sizeof *times[i])))
            return;
    table->JITCompilationFinished = timed_JITCompilationFinished;
    table->JITCachedFunctionSearchFinished = timed_JITCachedFunctionSearchFinished;
    table->ReJITCompilationFinished = timed_ReJITCompilationFinished;
    table->DynamicMethodJITCompilationFinished = timed_DynamicMethodJITCompilationFinished;
    table->FunctionUnloadStarted = timed_FunctionUnloadStarted;
    table->DynamicMethodUnloaded = timed_DynamicMethodUnloaded;
    table->ModuleLoadFinished = timed_ModuleLoadFinished;
    table->ModuleUnloadFinished = timed_ModuleUnloadFinished;
    table->ThreadCreated = timed_ThreadCreated;
    table->ThreadDestroyed = timed_ThreadDestroyed;
    table->ThreadAssignedToOSThread = timed_ThreadAssignedToOSThread;
}

static int by_value(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void print_event_times(void)
{
    for (unsigned i = 0; i < EVENTS; i++) {
        const uint32_t all = atomic_load(&counts[i]), n = all < KEPT ? all : KEPT;
        double sum = 0;
        if (n == 0)
            continue;
        qsort(times[i], n, sizeof *times[i], by_value);
        for (uint32_t k = 0; k < n; k++)
            sum += times[i][k];
        fprintf(report, "event: %-36s %7u, ns: median %u, 9 of 10 under %u, mean %.0f\n", names[i], all,
                times[i][n / 2], times[i][n - 1 - n / 10], sum / n);
    }
}

EXPORT void clrtest_feed(int on);
EXPORT void clrtest_feed(int on)
{
    atomic_store(&is_off, !on);
}
