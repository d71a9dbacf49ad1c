/*
 * A profiler that starts with few events and asks for stacks later: a function that managed code calls
 * (ConfigureSampling) adds COR_PRF_ENABLE_STACK_SNAPSHOT and threads to the event mask, and samples from then on.
 * SAMPLER_OUT as in sampler.c.
 *
 * Source: metadata-abi.md rows 10.1.6, 10.1.7 (a profiler that does so; threads are known by their callbacks).
 */
#include "com.h"
#include "tally.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { PERIOD_NS = 2000000, THREADS_MAX = 64 };

static ICorProfilerInfo10 *info;
static pthread_t sampler;
static _Atomic bool sampling, stopped;

/* Known threads; 0: the place is free. A walk holds the lock, so that ThreadDestroyed waits for it (D23). */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ThreadID threads[THREADS_MAX];

static void replace(ThreadID from, ThreadID to)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < THREADS_MAX; i++)
        if (threads[i] == from) {
            threads[i] = to;
            break;
        }
    pthread_mutex_unlock(&lock);
}

static HRESULT STDMETHODCALLTYPE count_frame(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame,
                                             ULONG32 context_size, BYTE context[], void *client_data)
{
    unsigned *frames = client_data;
    (void)ip, (void)frame, (void)context_size, (void)context;
    *frames += function != 0;
    return S_OK;
}

static void sample(void)
{
    char text[32];
    if (FAILED(info->lpVtbl->SuspendRuntime(info)))
        return;
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        unsigned frames = 0;
        if (!threads[i] || FAILED(info->lpVtbl->DoStackSnapshot(info, threads[i], count_frame, COR_PRF_SNAPSHOT_DEFAULT,
                                                                &frames, NULL, 0)))
            continue;
        snprintf(text, sizeof text, "%u frames", frames);
        tally_add(text);
    }
    info->lpVtbl->ResumeRuntime(info);
}

static void *run(void *arg)
{
    const struct timespec pause = { 0, PERIOD_NS };
    (void)arg;
    info->lpVtbl->InitializeCurrentThread(info);
    for (; !atomic_load(&stopped); nanosleep(&pause, NULL)) {
        pthread_mutex_lock(&lock);
        sample();
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* What managed code calls by a P/Invoke when its user wants stacks. */
EXPORT void ConfigureSampling(void *unused);
EXPORT void ConfigureSampling(void *unused)
{
    DWORD low = 0, high = 0;
    (void)unused;
    if (info->lpVtbl->GetEventMask2(info, &low, &high) != S_OK)
        return;
    low |= COR_PRF_MONITOR_THREADS | COR_PRF_ENABLE_STACK_SNAPSHOT;
    if (info->lpVtbl->SetEventMask2(info, low, high) != S_OK)
        return;
    atomic_store(&sampling, pthread_create(&sampler, NULL, run, NULL) == 0);
}

static HRESULT STDMETHODCALLTYPE thread_assigned(ICorProfilerCallback11 *self, ThreadID thread, DWORD os_id)
{
    (void)self, (void)os_id;
    replace(0, thread);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE thread_destroyed(ICorProfilerCallback11 *self, ThreadID thread)
{
    (void)self;
    replace(thread, 0);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE initialize(ICorProfilerCallback11 *self, IUnknown *given)
{
    void *found = NULL;
    (void)self;
    if (given->lpVtbl->QueryInterface(given, &IID_ICorProfilerInfo10, &found) != S_OK)
        return E_FAIL;
    info = found;
    return info->lpVtbl->SetEventMask2(info, COR_PRF_MONITOR_MODULE_LOADS, 0);
}

static HRESULT STDMETHODCALLTYPE shut_down(ICorProfilerCallback11 *self)
{
    (void)self;
    atomic_store(&stopped, true);
    if (atomic_load(&sampling))
        pthread_join(sampler, NULL);
    tally_write("SAMPLER_OUT");
    info->lpVtbl->Release(info);
    return S_OK;
}

static ICorProfilerCallback11Vtbl table = { COM_SLOTS, .Initialize = initialize,
                                            .ThreadAssignedToOSThread = thread_assigned,
                                            .ThreadDestroyed = thread_destroyed, .Shutdown = shut_down };
static ICorProfilerCallback11 profiler = { &table };
