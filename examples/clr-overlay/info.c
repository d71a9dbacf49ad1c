/*
 * The methods of the runtime's ICorProfilerInfo that the overlay answers or watches: stacks, functions by address,
 * event masks, suspension. Knows what each must report to the library. Refuses to know how stacks are walked
 * (snapshot.c) and masks are combined (mask.c). Every other method is a plain forward.
 */
#include "overlay.h"

typedef ICorProfilerInfo15 Self;

static const ICorProfilerInfo15Vtbl *const runtime = &sw_forward_slots.info;

static struct sw_overlay_face *face_of(Self *self)
{
    return (struct sw_overlay_face *)self;
}

static struct sw_overlay *overlay_of(Self *self)
{
    return face_of(self)->overlay;
}

static HRESULT STDMETHODCALLTYPE query_interface(Self *self, REFIID riid, void **object)
{
    return sw_overlay_query(face_of(self), riid, object);
}

/* ---- stacks ---- */

static HRESULT STDMETHODCALLTYPE do_stack_snapshot(Self *self, ThreadID thread, StackSnapshotCallback *callback,
                                                   ULONG32 info_flags, void *client_data, BYTE context[],
                                                   ULONG32 context_size)
{
    if (!overlay_of(self)->clr)
        return runtime->DoStackSnapshot(self, thread, callback, info_flags, client_data, context, context_size);
    return sw_overlay_snapshot(face_of(self), thread, callback, info_flags, client_data, context, context_size);
}

static HRESULT STDMETHODCALLTYPE get_function_from_ip(Self *self, LPCBYTE ip, FunctionID *function)
{
    const struct sw_overlay *overlay = overlay_of(self);
    if (!overlay->clr || !overlay->described || sw_overlay_early_answer(face_of(self)) != S_OK)
        return runtime->GetFunctionFromIP(self, ip, function);
    return sw_clr_function_from_ip(overlay->clr, SW_OVERLAY_FLAVOUR, (uint64_t)(uintptr_t)ip, function);
}

/* ---- event masks ---- */

static HRESULT STDMETHODCALLTYPE get_event_mask(Self *self, DWORD *low)
{
    DWORD high = 0;
    const HRESULT hr = runtime->GetEventMask(self, low);
    if (hr == S_OK && low)
        sw_overlay_mask_own(&overlay_of(self)->mask, low, &high);
    return hr;
}

static HRESULT STDMETHODCALLTYPE get_event_mask2(Self *self, DWORD *low, DWORD *high)
{
    const HRESULT hr = runtime->GetEventMask2(self, low, high);
    if (hr == S_OK && low && high)
        sw_overlay_mask_own(&overlay_of(self)->mask, low, high);
    return hr;
}

/* SetEventMask clears the high half, in the CLR too. */
static HRESULT STDMETHODCALLTYPE set_event_mask(Self *self, DWORD low)
{
    return overlay_of(self)->clr ? sw_overlay_mask_set(overlay_of(self), low, 0) : runtime->SetEventMask(self, low);
}

static HRESULT STDMETHODCALLTYPE set_event_mask2(Self *self, DWORD low, DWORD high)
{
    return overlay_of(self)->clr ? sw_overlay_mask_set(overlay_of(self), low, high)
                                 : runtime->SetEventMask2(self, low, high);
}

/* ---- the runtime as a whole ---- */

static void report_suspended(struct sw_overlay *overlay, bool suspended)
{
    atomic_store(&overlay->suspended, suspended);
    if (overlay->clr)
        sw_clr_set_runtime(overlay->clr, suspended ? SW_RUNTIME_SUSPENDED : 0, suspended ? 0 : SW_RUNTIME_SUSPENDED);
}

static HRESULT STDMETHODCALLTYPE suspend_runtime(Self *self)
{
    const HRESULT hr = runtime->SuspendRuntime(self);
    if (SUCCEEDED(hr))
        report_suspended(overlay_of(self), true);
    return hr;
}

/* Reported before the call: once threads run, no walk may take them for stopped. */
static HRESULT STDMETHODCALLTYPE resume_runtime(Self *self)
{
    const bool was_suspended = atomic_load(&overlay_of(self)->suspended);
    report_suspended(overlay_of(self), false);
    const HRESULT hr = runtime->ResumeRuntime(self);
    if (FAILED(hr) && was_suspended)
        report_suspended(overlay_of(self), true);
    return hr;
}

static HRESULT STDMETHODCALLTYPE request_detach(Self *self, DWORD milliseconds)
{
    const HRESULT hr = runtime->RequestProfilerDetach(self, milliseconds);
    if (SUCCEEDED(hr) && overlay_of(self)->clr)
        sw_clr_set_runtime(overlay_of(self)->clr, SW_RUNTIME_DETACHING, 0);
    return hr;
}

void sw_overlay_info_slots(ICorProfilerInfo15Vtbl *slots)
{
    slots->QueryInterface = query_interface;
    slots->DoStackSnapshot = do_stack_snapshot;
    slots->GetFunctionFromIP = get_function_from_ip;
    slots->GetEventMask = get_event_mask;
    slots->GetEventMask2 = get_event_mask2;
    slots->SetEventMask = set_event_mask;
    slots->SetEventMask2 = set_event_mask2;
    slots->SuspendRuntime = suspend_runtime;
    slots->ResumeRuntime = resume_runtime;
    slots->RequestProfilerDetach = request_detach;
}
