/*
 * A sampler as many are: a thread made in Initialize suspends the runtime every few milliseconds, enumerates its
 * threads, walks each, and resolves names in the callback, while everything stands. At the end it writes how often each
 * stack was seen, to the file that SAMPLER_OUT names.
 *
 * Source: metadata-abi.md rows 10.3.4, 10.5.2, 10.5.3 (what such profilers call, in which order).
 */
#include "com.h"
#include "names.h"
#include "tally.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { PERIOD_NS = 2000000 };

static ICorProfilerInfo10 *info;
static pthread_t sampler;
static _Atomic bool compiled, stopped;

struct stack {
    char text[TALLY_TEXT];
    unsigned frames;
};

static void append(struct stack *stack, const char *name)
{
    const size_t used = strlen(stack->text);
    snprintf(stack->text + used, sizeof stack->text - used, "%s%s", stack->frames++ ? " < " : "", name);
}

static HRESULT STDMETHODCALLTYPE keep_frame(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame,
                                            ULONG32 context_size, BYTE context[], void *client_data)
{
    char name[2 * NAME_UNITS] = "[native]";
    ModuleID module = 0;
    mdMethodDef token = 0;
    (void)ip, (void)context_size, (void)context;
    if (function) {
        snprintf(name, sizeof name, "?");
        if (info->lpVtbl->GetFunctionInfo2(info, function, frame, NULL, &module, &token, 0, NULL, NULL) == S_OK)
            (void)method_name((ICorProfilerInfo *)info, module, token, name, sizeof name);
    }
    append(client_data, name);
    return S_OK;
}

static void walk(ThreadID thread)
{
    struct stack stack = { .frames = 0 };
    const HRESULT hr =
        info->lpVtbl->DoStackSnapshot(info, thread, keep_frame, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, &stack, NULL, 0);
    if (SUCCEEDED(hr) && stack.frames)
        tally_add(stack.text);
}

static void sample(void)
{
    ICorProfilerThreadEnum *threads = NULL;
    ThreadID thread;
    if (FAILED(info->lpVtbl->SuspendRuntime(info)))
        return;
    if (info->lpVtbl->EnumThreads(info, &threads) == S_OK) {
        while (threads->lpVtbl->Next(threads, 1, &thread, NULL) == S_OK)
            walk(thread);
        threads->lpVtbl->Release(threads);
    }
    info->lpVtbl->ResumeRuntime(info);
}

/* Nothing is sampled before the first method is compiled. */
static void *run(void *arg)
{
    const struct timespec pause = { 0, PERIOD_NS };
    (void)arg;
    info->lpVtbl->InitializeCurrentThread(info);
    for (; !atomic_load(&stopped); nanosleep(&pause, NULL))
        if (atomic_load(&compiled))
            sample();
    return NULL;
}

static HRESULT STDMETHODCALLTYPE initialize(ICorProfilerCallback11 *self, IUnknown *given)
{
    void *found = NULL;
    (void)self;
    if (given->lpVtbl->QueryInterface(given, &IID_ICorProfilerInfo10, &found) != S_OK)
        return E_FAIL;
    info = found;
    if (info->lpVtbl->SetEventMask2(info, COR_PRF_ENABLE_STACK_SNAPSHOT | COR_PRF_MONITOR_JIT_COMPILATION, 0) != S_OK)
        return E_FAIL;
    return pthread_create(&sampler, NULL, run, NULL) == 0 ? S_OK : E_FAIL;
}

static HRESULT STDMETHODCALLTYPE jit_finished(ICorProfilerCallback11 *self, FunctionID function, HRESULT status,
                                              BOOL may_block)
{
    (void)self, (void)function, (void)status, (void)may_block;
    atomic_store(&compiled, true);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE shut_down(ICorProfilerCallback11 *self)
{
    (void)self;
    atomic_store(&stopped, true);
    pthread_join(sampler, NULL);
    tally_write("SAMPLER_OUT");
    info->lpVtbl->Release(info);
    return S_OK;
}

static ICorProfilerCallback11Vtbl table = { COM_SLOTS, .Initialize = initialize, .JITCompilationFinished = jit_finished,
                                            .Shutdown = shut_down };
static ICorProfilerCallback11 profiler = { &table };
