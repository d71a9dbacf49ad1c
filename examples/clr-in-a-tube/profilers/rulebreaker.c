/*
 * Breaks the rule of conduct that RULE names ("stale-frame"), once, and nothing else: what a lint has to find. Some
 * rules are broken where managed code calls BreakRule by a P/Invoke, some on a thread of the profiler's own that
 * BreakRule starts, some in callbacks.
 *
 * Source: contract-documented.md (C3, C4, D4, D22 to D26); clr-contract.md section 8.
 */
#include "com.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static ICorProfilerInfo10 *info;
static const char *rule = "";
static ThreadID first_thread; /* the first that was created */
static _Atomic bool walking, destroyed;

static bool breaks(const char *name)
{
    return strcmp(rule, name) == 0;
}

static void nap(long ms)
{
    const struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };
    nanosleep(&pause, NULL);
}

/* ---- callbacks of walks ---- */

/* What is kept of the first managed frame, against the rules. */
static struct {
    FunctionID function;
    COR_PRF_FRAME_INFO frame;
    const BYTE *context;
} kept;

static HRESULT STDMETHODCALLTYPE keep(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame, ULONG32 context_size,
                                      BYTE context[], void *client_data)
{
    if (!function || kept.function)
        return S_OK;
    kept.function = function;
    kept.frame = frame;
    kept.context = context;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE pass(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame, ULONG32 context_size,
                                      BYTE context[], void *client_data)
{
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE walk_again(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame,
                                            ULONG32 context_size, BYTE context[], void *client_data)
{
    info->lpVtbl->DoStackSnapshot(info, 0, pass, COR_PRF_SNAPSHOT_DEFAULT, NULL, NULL, 0);
    return S_OK;
}

/* The walk goes on until after ThreadDestroyed has returned: a while longer, for nobody tells. */
static HRESULT STDMETHODCALLTYPE wait_for_end(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame,
                                              ULONG32 context_size, BYTE context[], void *client_data)
{
    atomic_store(&walking, true);
    while (!atomic_load(&destroyed))
        nap(1);
    nap(500);
    return S_OK;
}

static void walk(ThreadID thread, StackSnapshotCallback *callback)
{
    info->lpVtbl->DoStackSnapshot(info, thread, callback, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, NULL, NULL, 0);
}

/* ---- on a thread that runs managed code ---- */

static void use_stale_frame(void)
{
    walk(0, keep);
    info->lpVtbl->GetFunctionInfo2(info, kept.function, kept.frame, NULL, NULL, NULL, 0, NULL, NULL);
}

static void use_stale_context(void)
{
    walk(0, keep);
    if (kept.context)
        (void)*(const volatile BYTE *)kept.context;
}

static void walk_other(void)
{
    walk(first_thread, pass);
}

static void walk_in_walk(void)
{
    walk(0, walk_again);
}

static void walk_self(void)
{
    walk(0, pass);
}

static void call_unserved(void)
{
    COR_PRF_STATIC_TYPE type;
    info->lpVtbl->GetStaticFieldInfo(info, 0, 0, &type);
}

static void use_unknown_id(void)
{
    ThreadID thread = 0x1234;
    DWORD os_id;
    info->lpVtbl->GetThreadInfo(info, thread, &os_id);
}

/* ---- on a thread of our own ---- */

static void leak(void)
{
    ICorProfilerThreadEnum *threads;
    info->lpVtbl->EnumThreads(info, &threads);
}

static void suspend_for_good(void)
{
    info->lpVtbl->SuspendRuntime(info);
}

static void suspend_and_walk(void)
{
    info->lpVtbl->SuspendRuntime(info);
    walk_other();
    info->lpVtbl->ResumeRuntime(info);
}

static void walk_until_end(void)
{
    info->lpVtbl->InitializeCurrentThread(info);
    walk(first_thread, wait_for_end);
}

/* The annotations are there in a test, and nowhere else. */
static void annotate(const char *function)
{
    void (*found)(const char *) = (void (*)(const char *))dlsym(RTLD_DEFAULT, function);
    if (found)
        found("rulebreaker's lock");
}

static void collect_with_lock(void)
{
    annotate("sw_tube_lock_taken");
    info->lpVtbl->ForceGC(info);
    annotate("sw_tube_lock_released");
}

/* ---- the table ---- */

/* AND_ON: BreakRule returns when the walk is in its callback. */
enum place { ON_MANAGED_THREAD, ON_OWN_THREAD, ON_OWN_THREAD_AND_ON };

static const struct {
    const char *rule;
    enum place place;
    void (*break_it)(void);
} ways[] = {
    /* clang-format off */
    { "stale-frame",       ON_MANAGED_THREAD,    use_stale_frame },
    { "stale-context",     ON_MANAGED_THREAD,    use_stale_context },
    { "managed-suspender", ON_MANAGED_THREAD,    walk_other },
    { "running-target",    ON_OWN_THREAD,        walk_other },
    { "nested-walk",       ON_MANAGED_THREAD,    walk_in_walk },
    { "no-event-mask",     ON_MANAGED_THREAD,    walk_self },
    { "unknown-method",    ON_OWN_THREAD,        call_unserved },
    { "unknown-id",        ON_OWN_THREAD,        use_unknown_id },
    { "leaked-reference",  ON_OWN_THREAD,        leak },
    { "left-suspended",    ON_OWN_THREAD,        suspend_for_good },
    { "no-first-walk",     ON_OWN_THREAD,        suspend_and_walk },
    { "lock-held",         ON_OWN_THREAD,        collect_with_lock },
    { "destroyed-in-walk", ON_OWN_THREAD_AND_ON, walk_until_end },
    /* clang-format on */
};

static void *run_way(void *way)
{
    ways[(size_t)way].break_it();
    return NULL;
}

EXPORT void BreakRule(void *unused);
EXPORT void BreakRule(void *unused)
{
    pthread_t thread;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (!breaks(ways[i].rule))
            continue;
        if (ways[i].place == ON_MANAGED_THREAD)
            ways[i].break_it();
        else if (pthread_create(&thread, NULL, run_way, (void *)i) != 0)
            return;
        else if (ways[i].place == ON_OWN_THREAD)
            pthread_join(thread, NULL);
        else
            while (!atomic_load(&walking))
                nap(1);
    }
}

/* ---- callbacks ---- */

static HRESULT STDMETHODCALLTYPE collection_started(ICorProfilerCallback11 *self, int count, BOOL collected[],
                                                    COR_PRF_GC_REASON reason)
{
    if (breaks("forbidden-call"))
        info->lpVtbl->ForceGC(info);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE thread_created(ICorProfilerCallback11 *self, ThreadID thread)
{
    if (!first_thread)
        first_thread = thread;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE thread_destroyed(ICorProfilerCallback11 *self, ThreadID thread)
{
    if (thread == first_thread)
        atomic_store(&destroyed, true);
    return S_OK;
}

/* The mask of the runtime's thread is left changed. */
static HRESULT STDMETHODCALLTYPE jit_started(ICorProfilerCallback11 *self, FunctionID function, BOOL may_block)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    if (breaks("bad-signal-state"))
        pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE initialize(ICorProfilerCallback11 *self, IUnknown *given)
{
    const DWORD events = COR_PRF_MONITOR_THREADS | COR_PRF_MONITOR_JIT_COMPILATION | COR_PRF_MONITOR_GC;
    void *found = NULL;
    rule = getenv("RULE") ? getenv("RULE") : "";
    if (given->lpVtbl->QueryInterface(given, &IID_ICorProfilerInfo10, &found) != S_OK)
        return E_FAIL;
    info = found;
    return info->lpVtbl->SetEventMask2(info, breaks("no-event-mask") ? events : events | COR_PRF_ENABLE_STACK_SNAPSHOT,
                                       0);
}

/* A while after Shutdown has returned, twice: who waits for the second call knows that the first is done. */
static void *call_late(void *arg)
{
    DWORD low, high;
    nap(300);
    for (int i = 0; i < 2; i++)
        info->lpVtbl->GetEventMask2(info, &low, &high);
    return NULL;
}

static HRESULT STDMETHODCALLTYPE shut_down(ICorProfilerCallback11 *self)
{
    pthread_t thread;
    if (breaks("late-call") && pthread_create(&thread, NULL, call_late, NULL) == 0)
        pthread_detach(thread);
    return S_OK;
}

/* The runtime lets go of the profiler. */
static ULONG STDMETHODCALLTYPE release(ICorProfilerCallback11 *self)
{
    DWORD low, high;
    if (breaks("late-call-in-release"))
        info->lpVtbl->GetEventMask2(info, &low, &high);
    return 1;
}

static ICorProfilerCallback11Vtbl table = { COM_SLOTS,
                                            .Initialize = initialize,
                                            .Shutdown = shut_down,
                                            .Release = release,
                                            .ThreadCreated = thread_created,
                                            .ThreadDestroyed = thread_destroyed,
                                            .JITCompilationStarted = jit_started,
                                            .GarbageCollectionStarted = collection_started };
static ICorProfilerCallback11 profiler = { &table };
