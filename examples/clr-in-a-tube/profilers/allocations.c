/*
 * A profiler of allocations: ObjectAllocated walks the thread that allocates, without a seed and without stopping
 * anything. At the end it writes how often each type was allocated on each stack, to the file that ALLOCATIONS_OUT
 * names.
 *
 * Source: contract-documented.md D2, D16 (a synchronous walk).
 */
#include "com.h"
#include "names.h"
#include "tally.h"

static ICorProfilerInfo3 *info;

/* The type first, then the frames that are managed. */
static HRESULT STDMETHODCALLTYPE keep_frame(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame,
                                            ULONG32 context_size, BYTE context[], void *client_data)
{
    char name[2 * NAME_UNITS] = "?", *text = client_data;
    ModuleID module = 0;
    mdMethodDef token = 0;
    (void)ip, (void)frame, (void)context_size, (void)context;
    if (!function)
        return S_OK;
    if (info->lpVtbl->GetFunctionInfo(info, function, NULL, &module, &token) == S_OK)
        (void)method_name((ICorProfilerInfo *)info, module, token, name, sizeof name);
    snprintf(text + strlen(text), TALLY_TEXT - strlen(text), " < %s", name);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE object_allocated(ICorProfilerCallback11 *self, ObjectID object, ClassID class_id)
{
    char text[TALLY_TEXT] = "?";
    (void)self, (void)object;
    (void)class_name((ICorProfilerInfo *)info, class_id, text, sizeof text);
    if (SUCCEEDED(info->lpVtbl->DoStackSnapshot(info, 0, keep_frame, COR_PRF_SNAPSHOT_DEFAULT, text, NULL, 0)))
        tally_add(text);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE initialize(ICorProfilerCallback11 *self, IUnknown *given)
{
    const DWORD events =
        COR_PRF_ENABLE_STACK_SNAPSHOT | COR_PRF_ENABLE_OBJECT_ALLOCATED | COR_PRF_MONITOR_OBJECT_ALLOCATED;
    void *found = NULL;
    (void)self;
    if (given->lpVtbl->QueryInterface(given, &IID_ICorProfilerInfo3, &found) != S_OK)
        return E_FAIL;
    info = found;
    return info->lpVtbl->SetEventMask(info, events);
}

static HRESULT STDMETHODCALLTYPE shut_down(ICorProfilerCallback11 *self)
{
    (void)self;
    tally_write("ALLOCATIONS_OUT");
    info->lpVtbl->Release(info);
    return S_OK;
}

static ICorProfilerCallback11Vtbl table = { COM_SLOTS, .Initialize = initialize, .ObjectAllocated = object_allocated,
                                            .Shutdown = shut_down };
static ICorProfilerCallback11 profiler = { &table };
