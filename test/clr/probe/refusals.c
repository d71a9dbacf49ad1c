/*
 * The ladder of checks, as far as it can be climbed from a thread inside a platform invoke, and a native thread that
 * stops the runtime and walks everybody. What would end the process (a ThreadID that is none, a null callback) is left
 * to the simulation.
 */
#include "machine.h"
#include "probe.h"
#include "../../../tools/profiler/callbacks.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum { THREADS_MAX = 256 };

/* ---- rows ---- */

static BYTE zeros[CONTEXT_BYTES], ones[CONTEXT_BYTES];

static const struct row {
    ULONG32 flags;
    BYTE *seed;
    ULONG32 seed_size;
} rows[] = {
    { 0, NULL, 0 },
    { 1, NULL, 0 },
    { 2, NULL, 0 },
    { 3, NULL, 0 },
    { 4, NULL, 0 },
    { 8, NULL, 0 },
    { 0x10, NULL, 0 },
    { 0x100, NULL, 0 },
    { 0x80000000u, NULL, 0 },
    { 0xffffffffu, NULL, 0 },
    { 0, NULL, 0x4d0 },
    { 1, NULL, 0xffffffffu },
    { 0, zeros, CONTEXT_BYTES },
    { 1, zeros, CONTEXT_BYTES },
    { 1, ones, CONTEXT_BYTES },
    { 1, zeros, 0 },
    { 1, zeros, 1 },
    { 1, zeros, 0x4cf },
};

static void compare_rows(ThreadID thread)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        compare(AT_REFUSAL, thread, rows[i].flags, rows[i].seed, rows[i].seed_size);
}

/* ---- answers of the callback ---- */

struct obedience {
    HRESULT answer;
    uint32_t at;
    uint32_t count;
    HRESULT nested;
    bool nests;
    bool ours;
};

static HRESULT STDMETHODCALLTYPE count_one(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame, ULONG32 size,
                                           BYTE context[], void *arg)
{
    (void)function, (void)ip, (void)frame, (void)size, (void)context;
    ++*(uint32_t *)arg;
    return S_OK;
}

static HRESULT ask(bool ours, StackSnapshotCallback *callback, void *arg)
{
    if (ours)
        return sw_clr_snapshot(fed, SW_FLAVOUR_CORECLR_UNIX, 0, callback, 0, arg, NULL, 0);
    return info->lpVtbl->DoStackSnapshot(info, 0, callback, 0, arg, NULL, 0);
}

static HRESULT STDMETHODCALLTYPE answer(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame, ULONG32 size,
                                        BYTE context[], void *arg)
{
    struct obedience *o = arg;
    uint32_t inner = 0;
    (void)function, (void)ip, (void)frame, (void)size, (void)context;
    if (o->nests && o->count == 0)
        o->nested = ask(o->ours, count_one, &inner);
    o->nested += (HRESULT)inner;
    return o->count++ == o->at ? o->answer : S_OK;
}

static void compare_answers(HRESULT given, uint32_t at, bool nests)
{
    struct obedience both[2];
    HRESULT hr[2];
    for (unsigned ours = 0; ours < 2; ours++) {
        both[ours] = (struct obedience){ given, at, 0, S_OK, nests, ours };
        hr[ours] = ask(ours, answer, &both[ours]);
    }
    const bool equal = hr[0] == hr[1] && both[0].count == both[1].count && both[0].nested == both[1].nested;
    count(AT_REFUSAL, equal);
    if (!equal && may_report_difference(AT_REFUSAL))
        fprintf(report,
                "difference: callback answers %#x at %u: hr %#x and %#x, %u and %u callbacks, nested %#x and %#x\n",
                (unsigned)given, at, (unsigned)hr[0], (unsigned)hr[1], both[0].count, both[1].count,
                (unsigned)both[0].nested, (unsigned)both[1].nested);
}

static void compare_obedience(void)
{
    static const HRESULT answers[] = { S_OK, S_FALSE, 2, E_FAIL, E_ABORT, CORPROF_E_STACKSNAPSHOT_ABORTED, 0x7fffffff };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        for (uint32_t at = 0; at < 3; at++)
            compare_answers(answers[i], at, false);
    compare_answers(S_OK, 0, true);
}

/* ---- other threads ---- */

static void each_thread(void (*what)(ThreadID thread))
{
    ICorProfilerThreadEnum *threads = NULL;
    ThreadID ids[THREADS_MAX];
    ULONG got = 0;
    if (info->lpVtbl->EnumThreads(info, &threads) != S_OK)
        return;
    if (SUCCEEDED(threads->lpVtbl->Next(threads, THREADS_MAX, ids, &got)))
        for (ULONG i = 0; i < got; i++)
            what(ids[i]);
    threads->lpVtbl->Release(threads);
}

static void compare_other(ThreadID thread)
{
    ThreadID self = 0;
    if (info->lpVtbl->GetCurrentThreadID(info, &self) != S_OK || self != thread)
        compare_rows(thread);
}

static void *from_native_thread(void *arg)
{
    (void)arg;
    compare_rows(0);
    each_thread(compare_other);
    return NULL;
}

void compare_refusals(void)
{
    ThreadID self = 0;
    pthread_t thread;
    memset(ones, 0xff, sizeof ones);
    compare_rows(0);
    if (info->lpVtbl->GetCurrentThreadID(info, &self) == S_OK)
        compare_rows(self);
    compare_obedience();
    if (pthread_create(&thread, NULL, from_native_thread, NULL) == 0)
        pthread_join(thread, NULL);
}

/* ---- the whole runtime, stopped ---- */

static pthread_t suspender;
static atomic_bool suspending;
static unsigned pause_ms;

static void compare_suspended(ThreadID thread)
{
    compare(AT_SUSPENDED, thread, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, NULL, 0);
    compare(AT_SUSPENDED, thread, COR_PRF_SNAPSHOT_DEFAULT, NULL, 0);
}

static void *suspend_again_and_again(void *arg)
{
    const struct timespec pause = { pause_ms / 1000, (long)(pause_ms % 1000) * 1000000 };
    (void)arg;
    while (atomic_load(&suspending)) {
        nanosleep(&pause, NULL);
        if (info->lpVtbl->SuspendRuntime(info) != S_OK)
            continue;
        sw_clr_set_runtime(fed, SW_RUNTIME_SUSPENDED, 0);
        each_thread(compare_suspended);
        sw_clr_set_runtime(fed, 0, SW_RUNTIME_SUSPENDED);
        (void)info->lpVtbl->ResumeRuntime(info);
    }
    return NULL;
}

void start_suspender(unsigned milliseconds)
{
    pause_ms = milliseconds;
    atomic_store(&suspending, true);
    if (pthread_create(&suspender, NULL, suspend_again_and_again, NULL) != 0)
        atomic_store(&suspending, false);
}

void stop_suspender(void)
{
    if (atomic_exchange(&suspending, false))
        pthread_join(suspender, NULL);
}
