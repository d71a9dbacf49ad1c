/*
 * DoStackSnapshot as the vendor calls it: the CLR's answer or, where the CLR leaves a running thread out, a walk of it.
 * Knows when each flavour is asked. Refuses to know how stacks are walked.
 *
 * Source: clr-contract.md sections 1 and 4; clr-observed.md section 1 (bad flags are refused before the thread and the
 * callback are looked at).
 */
#include "overlay.h"

/* Not a flag of COR_PRF_SNAPSHOT_INFO. */
#define UNKNOWN_FLAG 0x80000000u

/*
 * What the runtime would answer to any call of DoStackSnapshot: S_OK once it has started. Only the runtime knows, so it
 * is asked, with flags that it refuses right after the checks in question.
 */
HRESULT sw_overlay_early_answer(struct sw_overlay_face *face)
{
    struct sw_overlay *overlay = face->overlay;
    ICorProfilerInfo5 *info = overlay->info;
    if (atomic_load_explicit(&overlay->started, memory_order_relaxed))
        return S_OK;
    const HRESULT hr = info->lpVtbl->DoStackSnapshot(info, 0, NULL, UNKNOWN_FLAG, NULL, NULL, 0);
    if (hr != E_INVALIDARG && hr != CORPROF_E_INCONSISTENT_WITH_FLAGS)
        return hr;
    atomic_store_explicit(&overlay->started, true, memory_order_relaxed);
    return S_OK;
}

/* The CLR's answer: on Unix E_NOTIMPL for a thread that runs. */
static HRESULT clr_answer(struct sw_overlay *overlay, ThreadID thread, StackSnapshotCallback *callback,
                          ULONG32 info_flags, void *client_data, BYTE context[], ULONG32 context_size)
{
    ICorProfilerInfo5 *info = overlay->info;
    if (!overlay->described)
        return info->lpVtbl->DoStackSnapshot(info, thread, callback, info_flags, client_data, context, context_size);
    return sw_clr_snapshot(overlay->clr, SW_OVERLAY_FLAVOUR, thread, callback, info_flags, client_data, context,
                           context_size);
}

/* The vendor's callback, and how often it was called. */
struct sink {
    struct sw_clr *clr;
    StackSnapshotCallback *callback;
    void *client_data;
    ULONG32 seen;
    ULONG32 passed;
};

static HRESULT STDMETHODCALLTYPE on_any_frame(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame, ULONG32 size,
                                              BYTE context[], void *client_data)
{
    struct sink *sink = client_data;
    sink->passed++;
    return sink->callback(function, ip, frame, size, context, sink->client_data);
}

/* IL stubs and dynamic methods. A return address may be right after the last byte of its method. */
static bool is_hidden(const struct sink *sink, UINT_PTR ip, const struct sw_frame_info *info)
{
    const uint64_t pc = info->exact ? ip : ip - 1;
    return sw_clr_function_from_ip(sink->clr, SW_OVERLAY_FLAVOUR, pc, NULL) == E_FAIL;
}

/* Leaves out frames that the CLR does not report. */
static HRESULT STDMETHODCALLTYPE on_documented_frame(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame,
                                                     ULONG32 size, BYTE context[], void *client_data)
{
    struct sink *sink = client_data;
    const bool is_leaf = sink->seen++ == 0;
    if (function == 0 ? is_leaf : is_hidden(sink, ip, (const struct sw_frame_info *)frame))
        return S_OK;
    return on_any_frame(function, ip, frame, size, context, sink);
}

/*
 * Whether the CLR has left out a running thread that a walk can show: on Unix any other one; on Windows one that stands
 * in its helpers and stubs, if the profiler has no seed for it.
 */
static bool is_left_out(const struct sw_overlay *overlay, ThreadID thread, const BYTE *seed, HRESULT answer)
{
    ICorProfilerInfo5 *info = overlay->info;
    ThreadID self = 0;
    if (SW_OVERLAY_FLAVOUR == SW_FLAVOUR_CORECLR_UNIX)
        return answer == E_NOTIMPL;
    if (answer != CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX && answer != CORPROF_E_STACKSNAPSHOT_UNSAFE)
        return false;
    return thread != 0 && !seed && !atomic_load(&overlay->suspended) &&
           (info->lpVtbl->GetCurrentThreadID(info, &self) != S_OK || self != thread);
}

/*
 * Another thread, which runs. First the CLR's answer on Windows: there it stops the thread and reports what it would
 * report under SuspendRuntime, but refuses a thread in its helpers and stubs. The documented flavour walks those too. A
 * thread without managed frames is E_FAIL, as in the CLR.
 */
static HRESULT walk_running(struct sink *sink, ThreadID thread, ULONG32 info_flags, BYTE context[],
                            ULONG32 context_size)
{
    HRESULT hr = sw_clr_snapshot(sink->clr, SW_FLAVOUR_CORECLR_WINDOWS, thread, on_any_frame, info_flags, sink, context,
                                 context_size);
    if (SUCCEEDED(hr) || sink->passed > 0)
        return hr;
    hr = sw_clr_snapshot(sink->clr, SW_FLAVOUR_DOCUMENTED, thread, on_documented_frame, info_flags, sink, context,
                         context_size);
    return hr == S_OK && sink->passed == 0 ? E_FAIL : hr;
}

HRESULT sw_overlay_snapshot(struct sw_overlay_face *face, ThreadID thread, StackSnapshotCallback *callback,
                            ULONG32 info_flags, void *client_data, BYTE context[], ULONG32 context_size)
{
    struct sw_overlay *overlay = face->overlay;
    const HRESULT early = sw_overlay_early_answer(face);
    if (early != S_OK)
        return early;
    if ((overlay->mask.vendor_low & COR_PRF_ENABLE_STACK_SNAPSHOT) == 0)
        return CORPROF_E_INCONSISTENT_WITH_FLAGS;
    const HRESULT hr = clr_answer(overlay, thread, callback, info_flags, client_data, context, context_size);
    if (!is_left_out(overlay, thread, context, hr))
        return hr;
    struct sink sink = { .clr = overlay->clr, .callback = callback, .client_data = client_data };
    return walk_running(&sink, thread, info_flags, context, context_size);
}
