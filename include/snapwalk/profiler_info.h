/*
 * An engine as a COM object of the .NET profiling API. Code written for corprof.h calls it unchanged.
 *
 *     ICorProfilerInfo2 *info;
 *     sw_profiler_info_create(sw_sim_engine(sim), NULL, NULL, &info);
 *     profiler->lpVtbl->Initialize(profiler, (IUnknown *)info);           // the profiler under test
 *     info->lpVtbl->DoStackSnapshot(info, 0, on_frame, 0, NULL, NULL, 0); // ... or the test
 *     sw_profiler_info_destroy(info);
 *
 * These slots are implemented, with these answers besides S_OK. Every other slot of ICorProfilerInfo15 returns
 * E_NOTIMPL and changes nothing. In the CLR some calls need a managed thread inside a callback; here they do not.
 *
 *   QueryInterface      IUnknown, and ICorProfilerInfo to ICorProfilerInfo15: always the same pointer. E_POINTER (null
 *                       out); E_NOINTERFACE (*out is set to null; also for a null IID).
 *   AddRef, Release     Always 1: the object lives until sw_profiler_info_destroy.
 *   DoStackSnapshot     As sw_snapshot. CORPROF_E_STACKSNAPSHOT_UNSAFE also: no working memory is left.
 *   GetFunctionFromIP   As sw_function_from_ip. So does GetFunctionFromIP2, with ReJITID 0 (optional, unchanged on
 *                       failure).
 *   GetFunctionFromIP3  As GetFunctionFromIP2, and also finds hidden managed code (SW_RANGE_HIDDEN), as the seed check
 *                       does.
 *   GetCodeInfo         The first region of GetCodeInfo2. Outs are optional. E_INVALIDARG (id 0); E_UNEXPECTED (4 GiB
 *                       or more); CORPROF_E_FUNCTION_NOT_COMPILED (no managed code with that id is known).
 *   GetCodeInfo2        Every managed range with that id, by ascending address, except that a range that begins at the
 *                       address `id` comes first. ReadyToRun methods of registered images are included. *pcCodeInfos:
 *                       how many there are; may be null. E_INVALIDARG (id 0, or a null array with a size);
 *                       CORPROF_E_FUNCTION_NOT_COMPILED.
 *   GetThreadInfo       The OS id; out is optional. E_INVALIDARG: id 0, an unknown thread, or SW_THREAD_GC_SPECIAL.
 *   GetCurrentThreadID  Out is optional. CORPROF_E_NOT_MANAGED_THREAD: the caller is not in the table, or
 *                       SW_THREAD_GC_SPECIAL.
 *   EnumThreads         An ICorProfilerThreadEnum over the threads of this moment, in the order in which they were
 *                       added, without SW_THREAD_UNSTARTED and SW_THREAD_GC_SPECIAL. E_INVALIDARG (null out);
 *                       E_OUTOFMEMORY. The caller owns the enumerator: it begins with one reference, and the last
 *                       Release frees it with the allocator of this object, which it may outlive. Next, Skip, Reset,
 *                       GetCount (how many remain) and Clone (from the first) answer as in the CLR.
 *   GetEventMask, SetEventMask, GetEventMask2, SetEventMask2
 *                       Read and write the engine's event_mask. The high half is stored and has no effect. E_INVALIDARG
 *                       (null out). No flag is immutable here.
 *
 * Source  clr-contract.md section 8; corprof-abi.md sections 2, 7.1; coreclr vm/proftoeeinterfaceimpl.cpp, same names.
 */
#ifndef SNAPWALK_PROFILER_INFO_H
#define SNAPWALK_PROFILER_INFO_H

#include <snapwalk/snapshot.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many calls of DoStackSnapshot one object serves at the same time, where it has its own working memory. */
#define SW_PROFILER_INFO_CALLS 8

/*
 * Makes the object.
 *
 * engine   Borrowed until the object is destroyed. Calls change its event_mask, refusal, stop and state.
 * scratch  The working memory of DoStackSnapshot, borrowed as long; then one call at a time is served, and another one,
 *          by another thread or from a callback, gets CORPROF_E_STACKSNAPSHOT_UNSAFE. NULL: working memory of
 *          SW_PROFILER_INFO_CALLS calls is allocated.
 * alloc    Copied. NULL means malloc and free.
 * info     Receives the object. It is every interface up to ICorProfilerInfo15 (QueryInterface, or a cast).
 *
 * Returns  SW_OK; SW_E_ARGUMENT (engine, its walker or its threads null, info null, half an allocator); SW_E_NO_MEMORY.
 * Memory   About 200 bytes, plus SW_PROFILER_INFO_CALLS times SW_SCRATCH_BYTES if scratch is null, of which only what
 *          walks use is touched. Of the object's calls only EnumThreads and Clone allocate.
 * Threads  Any, in calls on the object too. Two walks of one thread at a time are answered as in the CLR: the second
 *          one is CORPROF_E_STACKSNAPSHOT_UNSAFE.
 * Signals  Not safe. Calls on the object: DoStackSnapshot as sw_snapshot. GetFunctionFromIP*, GetCodeInfo*,
 *          GetEventMask* and GetThreadInfo are safe. GetCurrentThreadID is safe if the suspender is. EnumThreads and
 *          the enumerators are not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_profiler_info_create(struct sw_engine *engine, struct sw_scratch *scratch,
                                                           const struct sw_alloc *alloc, ICorProfilerInfo2 **info);

/*
 * Frees an object made by sw_profiler_info_create, even if users still have references. NULL is allowed.
 *
 * Threads  No other call may be using the object. Signals  Not safe.
 */
SW_API void sw_profiler_info_destroy(ICorProfilerInfo2 *info);

#ifdef __cplusplus
}
#endif

#endif
