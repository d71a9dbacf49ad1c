/* A small profiler: it counts the frames of whoever calls CountFrames, with the names left out. */
#include "com.h"

static ICorProfilerInfo3 *info;
static unsigned managed, native;

static HRESULT STDMETHODCALLTYPE count(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame, ULONG32 context_size,
                                       BYTE context[], void *client_data)
{
    if (function)
        managed++;
    else
        native++;
    return S_OK;
}

/* Managed code calls it by a P/Invoke. */
EXPORT void CountFrames(void *unused);
EXPORT void CountFrames(void *unused)
{
    managed = native = 0;
    info->lpVtbl->DoStackSnapshot(info, 0, count, COR_PRF_SNAPSHOT_DEFAULT, NULL, NULL, 0);
}

/* What the test asks for. */
EXPORT unsigned ManagedFrames(void);
EXPORT unsigned ManagedFrames(void)
{
    return managed;
}

static HRESULT STDMETHODCALLTYPE initialize(ICorProfilerCallback11 *self, IUnknown *given)
{
    void *found = NULL;
    if (given->lpVtbl->QueryInterface(given, &IID_ICorProfilerInfo3, &found) != S_OK)
        return E_FAIL;
    info = found;
    return info->lpVtbl->SetEventMask(info, COR_PRF_ENABLE_STACK_SNAPSHOT);
}

static HRESULT STDMETHODCALLTYPE shut_down(ICorProfilerCallback11 *self)
{
    info->lpVtbl->Release(info);
    return S_OK;
}

static ICorProfilerCallback11Vtbl table = { COM_SLOTS, .Initialize = initialize, .Shutdown = shut_down };
static ICorProfilerCallback11 profiler = { &table };
