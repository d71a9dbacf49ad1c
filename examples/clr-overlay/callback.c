/*
 * The callbacks that the library must see, on their way from the runtime to the vendor. Knows which event is which call
 * of sw_clr. Refuses to know what the vendor does. Every other callback is a plain forward.
 *
 * The library learns of a new thing first, so that the vendor can walk through it in the callback, and of the end of a
 * thing last. The vendor is called through sw_forward_slots, which leaves out what the vendor did not ask for.
 */
#include "overlay.h"

typedef ICorProfilerCallback11 Self;

static const ICorProfilerCallback11Vtbl *const vendor = &sw_forward_slots.callback;

static struct sw_overlay_face *face_of(Self *self)
{
    return (struct sw_overlay_face *)self;
}

static struct sw_clr *clr_of(Self *self)
{
    return face_of(self)->overlay->clr;
}

static bool is_skipped(Self *self, size_t slot)
{
    return atomic_load_explicit(&face_of(self)->com.skip[slot], memory_order_relaxed) != 0;
}

#define IS_SKIPPED(self, name) is_skipped(self, offsetof(ICorProfilerCallback11Vtbl, name) / sizeof(void *))

/* ---- IUnknown ---- */

static HRESULT STDMETHODCALLTYPE query_interface(Self *self, REFIID riid, void **object)
{
    return sw_overlay_query(face_of(self), riid, object);
}

static ULONG STDMETHODCALLTYPE add_ref(Self *self)
{
    sw_overlay_refer(face_of(self));
    return vendor->AddRef(self);
}

static ULONG STDMETHODCALLTYPE release(Self *self)
{
    const ULONG left = vendor->Release(self);
    sw_overlay_unrefer(face_of(self));
    return left;
}

/* ---- beginning ---- */

static HRESULT after_initialize(Self *self, HRESULT hr)
{
    if (FAILED(hr) && clr_of(self))
        sw_overlay_end(face_of(self)->overlay);
    return hr;
}

static HRESULT STDMETHODCALLTYPE initialize(Self *self, IUnknown *info)
{
    return after_initialize(self, vendor->Initialize(self, sw_overlay_begin(face_of(self)->overlay, info, false)));
}

static HRESULT STDMETHODCALLTYPE initialize_for_attach(Self *self, IUnknown *info, void *data, UINT size)
{
    IUnknown *face = sw_overlay_begin(face_of(self)->overlay, info, true);
    return after_initialize(self, vendor->InitializeForAttach(self, face, data, size));
}

static HRESULT STDMETHODCALLTYPE attach_complete(Self *self)
{
    if (clr_of(self))
        sw_clr_attached(clr_of(self));
    return vendor->ProfilerAttachComplete(self);
}

/* ---- code ---- */

static HRESULT STDMETHODCALLTYPE jit_finished(Self *self, FunctionID function, HRESULT status, BOOL safe)
{
    if (clr_of(self) && SUCCEEDED(status))
        sw_clr_function_compiled(clr_of(self), function, 0);
    return vendor->JITCompilationFinished(self, function, status, safe);
}

static HRESULT STDMETHODCALLTYPE rejit_finished(Self *self, FunctionID function, ReJITID rejit, HRESULT status,
                                                BOOL safe)
{
    if (clr_of(self) && SUCCEEDED(status))
        sw_clr_function_compiled(clr_of(self), function, rejit);
    return vendor->ReJITCompilationFinished(self, function, rejit, status, safe);
}

static HRESULT STDMETHODCALLTYPE dynamic_finished(Self *self, FunctionID function, HRESULT status, BOOL safe)
{
    if (clr_of(self) && SUCCEEDED(status))
        sw_clr_dynamic_compiled(clr_of(self), function);
    return vendor->DynamicMethodJITCompilationFinished(self, function, status, safe);
}

static HRESULT STDMETHODCALLTYPE search_finished(Self *self, FunctionID function, COR_PRF_JIT_CACHE result)
{
    if (clr_of(self) && result == COR_PRF_CACHED_FUNCTION_FOUND)
        sw_clr_function_compiled(clr_of(self), function, 0);
    return vendor->JITCachedFunctionSearchFinished(self, function, result);
}

/* These two ask. If the vendor did not want to be asked, the answer is the one that changes nothing. */
static HRESULT STDMETHODCALLTYPE search_started(Self *self, FunctionID function, BOOL *use)
{
    if (use && IS_SKIPPED(self, JITCachedFunctionSearchStarted))
        *use = TRUE;
    return vendor->JITCachedFunctionSearchStarted(self, function, use);
}

static HRESULT STDMETHODCALLTYPE jit_inlining(Self *self, FunctionID caller, FunctionID callee, BOOL *allow)
{
    if (allow && IS_SKIPPED(self, JITInlining))
        *allow = TRUE;
    return vendor->JITInlining(self, caller, callee, allow);
}

static HRESULT STDMETHODCALLTYPE function_unload_started(Self *self, FunctionID function)
{
    const HRESULT hr = vendor->FunctionUnloadStarted(self, function);
    if (clr_of(self))
        sw_clr_function_unloaded(clr_of(self), function);
    return hr;
}

static HRESULT STDMETHODCALLTYPE dynamic_unloaded(Self *self, FunctionID function)
{
    const HRESULT hr = vendor->DynamicMethodUnloaded(self, function);
    if (clr_of(self))
        sw_clr_function_unloaded(clr_of(self), function);
    return hr;
}

/* ---- modules and threads ---- */

static HRESULT STDMETHODCALLTYPE module_loaded(Self *self, ModuleID module, HRESULT status)
{
    if (clr_of(self) && SUCCEEDED(status))
        sw_clr_module_loaded(clr_of(self), module);
    return vendor->ModuleLoadFinished(self, module, status);
}

static HRESULT STDMETHODCALLTYPE module_unloaded(Self *self, ModuleID module, HRESULT status)
{
    const HRESULT hr = vendor->ModuleUnloadFinished(self, module, status);
    if (clr_of(self))
        sw_clr_module_unloaded(clr_of(self), module);
    return hr;
}

static HRESULT STDMETHODCALLTYPE thread_created(Self *self, ThreadID thread)
{
    if (clr_of(self))
        sw_clr_thread_created(clr_of(self), thread);
    return vendor->ThreadCreated(self, thread);
}

static HRESULT STDMETHODCALLTYPE thread_assigned(Self *self, ThreadID thread, DWORD os_id)
{
    if (clr_of(self))
        sw_clr_thread_assigned(clr_of(self), thread, os_id);
    return vendor->ThreadAssignedToOSThread(self, thread, os_id);
}

/* The vendor first: it may walk the thread until the callback returns. */
static HRESULT STDMETHODCALLTYPE thread_destroyed(Self *self, ThreadID thread)
{
    const HRESULT hr = vendor->ThreadDestroyed(self, thread);
    if (clr_of(self))
        sw_clr_thread_destroyed(clr_of(self), thread);
    return hr;
}

void sw_overlay_callback_slots(ICorProfilerCallback11Vtbl *slots)
{
    slots->QueryInterface = query_interface;
    slots->AddRef = add_ref;
    slots->Release = release;
    slots->Initialize = initialize;
    slots->InitializeForAttach = initialize_for_attach;
    slots->ProfilerAttachComplete = attach_complete;
    slots->JITCompilationFinished = jit_finished;
    slots->ReJITCompilationFinished = rejit_finished;
    slots->DynamicMethodJITCompilationFinished = dynamic_finished;
    slots->JITCachedFunctionSearchStarted = search_started;
    slots->JITCachedFunctionSearchFinished = search_finished;
    slots->JITInlining = jit_inlining;
    slots->FunctionUnloadStarted = function_unload_started;
    slots->DynamicMethodUnloaded = dynamic_unloaded;
    slots->ModuleLoadFinished = module_loaded;
    slots->ModuleUnloadFinished = module_unloaded;
    slots->ThreadCreated = thread_created;
    slots->ThreadAssignedToOSThread = thread_assigned;
    slots->ThreadDestroyed = thread_destroyed;
}
