/*
 * ICorProfilerInfo by subject: hooks of entering and leaving functions, and mappers of their ids. They are kept in the
 * tube for who raises them.
 *
 * Source: the documentation of SetEnterLeaveFunctionHooks to 3WithInfo and GetFunctionEnter3Info; dotnet/runtime
 * src/coreclr/vm/eetoprofinterfaceimpl.cpp (newer hooks beat older ones).
 */
#include "info.h"

#define SLOW_HOOKS (COR_PRF_ENABLE_FUNCTION_ARGS | COR_PRF_ENABLE_FUNCTION_RETVAL | COR_PRF_ENABLE_FRAME_INFO)

/* One at least; older ones than there are change nothing. */
static HRESULT set_hooks(struct sw_tube *tube, unsigned version, UINT_PTR enter, UINT_PTR leave, UINT_PTR tailcall)
{
    if (!enter && !leave && !tailcall)
        return E_INVALIDARG;
    if (version < tube->hook_version && version < 3)
        return S_OK;
    tube->hook_version = version;
    tube->enter_hook = enter;
    tube->leave_hook = leave;
    tube->tailcall_hook = tailcall;
    return S_OK;
}

static bool wants_slow(const struct sw_tube *tube)
{
    return (atomic_load(&tube->mask_low) & SLOW_HOOKS) != 0;
}

HRESULT STDMETHODCALLTYPE sw_info_SetEnterLeaveFunctionHooks(ICorProfilerInfo15 *This, FunctionEnter *enter,
                                                             FunctionLeave *leave, FunctionTailcall *tailcall)
{
    return set_hooks(sw_info_tube(This), 1, (UINT_PTR)enter, (UINT_PTR)leave, (UINT_PTR)tailcall);
}

HRESULT STDMETHODCALLTYPE sw_info_SetEnterLeaveFunctionHooks2(ICorProfilerInfo15 *This, FunctionEnter2 *enter,
                                                              FunctionLeave2 *leave, FunctionTailcall2 *tailcall)
{
    return set_hooks(sw_info_tube(This), 2, (UINT_PTR)enter, (UINT_PTR)leave, (UINT_PTR)tailcall);
}

/* Those without information and those with it exclude each other, by the event mask. */
HRESULT STDMETHODCALLTYPE sw_info_SetEnterLeaveFunctionHooks3(ICorProfilerInfo15 *This, FunctionEnter3 *enter,
                                                              FunctionLeave3 *leave, FunctionTailcall3 *tailcall)
{
    struct sw_tube *tube = sw_info_tube(This);
    if ((enter || leave || tailcall) && wants_slow(tube))
        return CORPROF_E_INCONSISTENT_WITH_FLAGS;
    return set_hooks(tube, 3, (UINT_PTR)enter, (UINT_PTR)leave, (UINT_PTR)tailcall);
}

HRESULT STDMETHODCALLTYPE sw_info_SetEnterLeaveFunctionHooks3WithInfo(ICorProfilerInfo15 *This,
                                                                      FunctionEnter3WithInfo *enter,
                                                                      FunctionLeave3WithInfo *leave,
                                                                      FunctionTailcall3WithInfo *tailcall)
{
    struct sw_tube *tube = sw_info_tube(This);
    if ((enter || leave || tailcall) && !wants_slow(tube))
        return CORPROF_E_INCONSISTENT_WITH_FLAGS;
    return set_hooks(tube, 4, (UINT_PTR)enter, (UINT_PTR)leave, (UINT_PTR)tailcall);
}

HRESULT STDMETHODCALLTYPE sw_info_SetFunctionIDMapper(ICorProfilerInfo15 *This, FunctionIDMapper *mapper)
{
    sw_info_tube(This)->mapper = mapper;
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_SetFunctionIDMapper2(ICorProfilerInfo15 *This, FunctionIDMapper2 *mapper, void *data)
{
    struct sw_tube *tube = sw_info_tube(This);
    tube->mapper_data = data;
    tube->mapper2 = mapper;
    return S_OK;
}

/* ---- in a hook with information: eltInfo is the frame's frameInfo ---- */

static bool has(const struct sw_tube *tube, DWORD flag)
{
    return (atomic_load(&tube->mask_low) & flag) != 0;
}

static HRESULT give_frame(const struct sw_tube *tube, COR_PRF_ELT_INFO elt, COR_PRF_FRAME_INFO *frame)
{
    if (!has(tube, COR_PRF_ENABLE_FRAME_INFO))
        return S_OK;
    if (!frame)
        return E_INVALIDARG;
    *frame = elt;
    return S_OK;
}

/* The tube's functions have no arguments. */
static HRESULT give_arguments(ULONG *size, COR_PRF_FUNCTION_ARGUMENT_INFO *arguments)
{
    if (!size || (*size != 0 && !arguments))
        return E_INVALIDARG;
    if (*size < sizeof *arguments) {
        *size = sizeof *arguments;
        return SW_E_INSUFFICIENT_BUFFER;
    }
    arguments->numRanges = arguments->totalArgumentSize = 0;
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_GetFunctionEnter3Info(ICorProfilerInfo15 *This, FunctionID id, COR_PRF_ELT_INFO elt,
                                                        COR_PRF_FRAME_INFO *frame, ULONG *size,
                                                        COR_PRF_FUNCTION_ARGUMENT_INFO *arguments)
{
    const struct sw_tube *tube = sw_info_tube(This);
    if (tube->hook_version != 4 || !wants_slow(tube))
        return CORPROF_E_INCONSISTENT_WITH_FLAGS;
    if (!sw_tube_function_of(tube, id) || elt == 0)
        return E_INVALIDARG;
    const HRESULT hr = give_frame(tube, elt, frame);
    return hr == S_OK && has(tube, COR_PRF_ENABLE_FUNCTION_ARGS) ? give_arguments(size, arguments) : hr;
}

/* Nor do they return anything. */
HRESULT STDMETHODCALLTYPE sw_info_GetFunctionLeave3Info(ICorProfilerInfo15 *This, FunctionID id, COR_PRF_ELT_INFO elt,
                                                        COR_PRF_FRAME_INFO *frame,
                                                        COR_PRF_FUNCTION_ARGUMENT_RANGE *value)
{
    const struct sw_tube *tube = sw_info_tube(This);
    const bool wants_value = has(tube, COR_PRF_ENABLE_FUNCTION_RETVAL);
    if (tube->hook_version != 4 || !wants_slow(tube))
        return CORPROF_E_INCONSISTENT_WITH_FLAGS;
    if (!sw_tube_function_of(tube, id) || elt == 0 || !frame || (wants_value && !value))
        return E_INVALIDARG;
    if (wants_value)
        *value = (COR_PRF_FUNCTION_ARGUMENT_RANGE){ 0, 0 };
    return give_frame(tube, elt, frame);
}

HRESULT STDMETHODCALLTYPE sw_info_GetFunctionTailcall3Info(ICorProfilerInfo15 *This, FunctionID id,
                                                           COR_PRF_ELT_INFO elt, COR_PRF_FRAME_INFO *frame)
{
    const struct sw_tube *tube = sw_info_tube(This);
    if (tube->hook_version != 4 || !wants_slow(tube))
        return CORPROF_E_INCONSISTENT_WITH_FLAGS;
    if (!sw_tube_function_of(tube, id) || elt == 0 || !frame)
        return E_INVALIDARG;
    *frame = elt;
    return S_OK;
}
