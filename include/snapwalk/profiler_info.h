/*
 * An engine behind the COM interface of the .NET profiling API: code written against corprof.h calls it unchanged.
 *
 *     ICorProfilerInfo2 *info;
 *     sw_profiler_info_create(sw_sim_engine(sim), NULL, NULL, &info);
 *     profiler->lpVtbl->Initialize(profiler, (IUnknown *)info);           // the profiler under test
 *     info->lpVtbl->DoStackSnapshot(info, 0, on_frame, 0, NULL, NULL, 0); // ... or the test
 *     sw_profiler_info_destroy(info);
 *
 * What is served, and with what answers besides S_OK; every other slot of ICorProfilerInfo15 answers E_NOTIMPL and
 * touches nothing. The CLR's rule that some calls need a managed thread inside a callback is not held to.
 *
 *   QueryInterface      IUnknown and ICorProfilerInfo to ICorProfilerInfo15: always the same pointer. E_POINTER (null
 *                       out), E_NOINTERFACE (*out is set to null; also for a null IID).
 *   AddRef, Release     1, always: the object lives until sw_profiler_info_destroy.
 *   DoStackSnapshot     sw_snapshot.
 *   GetFunctionFromIP   sw_function_from_ip. GetFunctionFromIP2 too, with ReJITID 0 (optional, untouched on failure).
 *   GetFunctionFromIP3  As 2, but answers for hidden managed code, too (SW_RANGE_HIDDEN), as the seed check does.
 *   GetCodeInfo         The region that GetCodeInfo2 gives first; outs optional. E_INVALIDARG (id 0), E_UNEXPECTED
 *                       (4 GiB or more), CORPROF_E_FUNCTION_NOT_COMPILED (no managed code of that id is known).
 *   GetCodeInfo2        Every managed range of that id, rising, but the one that begins at the address `id` first
 *                       (ReadyToRun methods of registered images included). *pcCodeInfos: how many there are, may be
 *                       null. E_INVALIDARG (id 0, or a null array of a size not 0), CORPROF_E_FUNCTION_NOT_COMPILED.
 *   GetThreadInfo       The OS id, out optional. E_INVALIDARG: 0, unknown, or SW_THREAD_GC_SPECIAL.
 *   GetCurrentThreadID  Out optional. CORPROF_E_NOT_MANAGED_THREAD: the caller is not in the table, or GC special.
 *   EnumThreads         An ICorProfilerThreadEnum over the threads of this moment, in the order of adding, without
 *                       unstarted and GC special ones. E_INVALIDARG (null out), E_OUTOFMEMORY. It is the caller's: born
 *                       with one reference, freed by the last Release, to the allocator of the object it came from
 *                       (which it may outlive). Next, Skip, Reset, GetCount (what remains) and Clone (from the first)
 *                       answer as in the CLR.
 *   GetEventMask, SetEventMask, GetEventMask2, SetEventMask2
 *                       The engine's event_mask, read and written; the high half is kept and has no effect.
 *                       E_INVALIDARG (null out). No flag is immutable here.
 *
 * Source  clr-contract.md section 8; corprof-abi.md sections 2, 7.1; coreclr vm/proftoeeinterfaceimpl.cpp, same names.
 */
#ifndef SNAPWALK_PROFILER_INFO_H
#define SNAPWALK_PROFILER_INFO_H

#include <snapwalk/snapshot.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Makes the object.
 *
 * engine   Borrowed until the object is destroyed; calls change its event_mask, refusal and state.
 * scratch  Working memory of DoStackSnapshot, borrowed likewise; NULL to have it got from `alloc`.
 * alloc    Copied; NULL for malloc and free.
 * info     Receives the object, usable as each interface up to ICorProfilerInfo15 (QueryInterface, or a cast).
 *
 * Returns  SW_OK; SW_E_ARGUMENT (engine, its walker or its threads null, info null, half an allocator); SW_E_NO_MEMORY.
 * Memory   About 100 bytes, and SW_SCRATCH_BYTES where scratch is null. EnumThreads and Clone allocate, no other call.
 * Threads  Any. On the object: one DoStackSnapshot or SetEventMask at a time, as on the engine; others any number.
 * Signals  Not safe. On the object: DoStackSnapshot as sw_snapshot; GetFunctionFromIP*, GetCodeInfo*, GetEventMask* and
 *          GetThreadInfo safe; GetCurrentThreadID when the suspender is; EnumThreads and the enumerators not.
 */
SW_NODISCARD enum sw_status sw_profiler_info_create(struct sw_engine *engine, struct sw_scratch *scratch,
                                                    const struct sw_alloc *alloc, ICorProfilerInfo2 **info);

/*
 * Gives back an object made by sw_profiler_info_create, whatever its users hold. NULL is allowed.
 *
 * Threads  Nobody may be inside. Signals  Not safe.
 */
void sw_profiler_info_destroy(ICorProfilerInfo2 *info);

#ifdef __cplusplus
}
#endif

#endif
