/*
 * A profiler that is attached to a running program, and detaches when it has seen enough: its client data say after how
 * many compilations. Its reference count is real; when the last reference goes, it writes what it saw to the file that
 * ATTACHER_OUT names.
 *
 * Source: metadata-abi.md sections 10.0 and 10.5 (attach, detach, the count that has to reach 0).
 */
#include "com.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static ICorProfilerInfo3 *info;
static _Atomic ULONG references = 1; /* the factory's */
static _Atomic unsigned compiled;
static unsigned enough;
static bool attached, detached;

static ULONG STDMETHODCALLTYPE refer(ICorProfilerCallback11 *self)
{
    (void)self;
    return atomic_fetch_add(&references, 1) + 1;
}

static void say_goodbye(void)
{
    const char *path = getenv("ATTACHER_OUT");
    FILE *to = path ? fopen(path, "we") : stderr;
    if (!to)
        return;
    fprintf(to, "%s, %u compilations, %s\n", attached ? "attached" : "not attached", atomic_load(&compiled),
            detached ? "detached" : "not detached");
    if (path)
        fclose(to);
}

static ULONG STDMETHODCALLTYPE release(ICorProfilerCallback11 *self)
{
    const ULONG left = atomic_fetch_sub(&references, 1) - 1;
    (void)self;
    if (left == 1) /* the factory's */
        say_goodbye();
    return left;
}

static HRESULT STDMETHODCALLTYPE query(ICorProfilerCallback11 *self, REFIID riid, void **object)
{
    const HRESULT hr = profiler_query(self, riid, object);
    if (hr == S_OK)
        (void)refer(self);
    return hr;
}

/* A profiler that is there from the start has nothing to do. */
static HRESULT STDMETHODCALLTYPE initialize(ICorProfilerCallback11 *self, IUnknown *given)
{
    (void)self, (void)given;
    return CORPROF_E_PROFILER_CANCEL_ACTIVATION;
}

static HRESULT STDMETHODCALLTYPE initialize_for_attach(ICorProfilerCallback11 *self, IUnknown *given, void *data,
                                                       UINT size)
{
    char text[16] = "";
    void *found = NULL;
    (void)self;
    if (given->lpVtbl->QueryInterface(given, &IID_ICorProfilerInfo3, &found) != S_OK)
        return E_FAIL;
    info = found;
    if (data)
        memcpy(text, data, size < sizeof text ? size : sizeof text - 1);
    enough = (unsigned)strtoul(text, NULL, 10);
    return enough ? info->lpVtbl->SetEventMask(info, COR_PRF_MONITOR_JIT_COMPILATION) : E_INVALIDARG;
}

static HRESULT STDMETHODCALLTYPE attach_complete(ICorProfilerCallback11 *self)
{
    (void)self;
    attached = true;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE jit_finished(ICorProfilerCallback11 *self, FunctionID function, HRESULT status,
                                              BOOL may_block)
{
    (void)self, (void)function, (void)status, (void)may_block;
    if (atomic_fetch_add(&compiled, 1) + 1 == enough)
        return info->lpVtbl->RequestProfilerDetach(info, 100);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE detach_succeeded(ICorProfilerCallback11 *self)
{
    (void)self;
    detached = true;
    info->lpVtbl->Release(info);
    return S_OK;
}

static ICorProfilerCallback11Vtbl table = { COM_SLOTS,
                                            .QueryInterface = query,
                                            .AddRef = refer,
                                            .Release = release,
                                            .Initialize = initialize,
                                            .InitializeForAttach = initialize_for_attach,
                                            .ProfilerAttachComplete = attach_complete,
                                            .JITCompilationFinished = jit_finished,
                                            .ProfilerDetachSucceeded = detach_succeeded };
static ICorProfilerCallback11 profiler = { &table };
