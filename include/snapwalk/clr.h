/*
 * The runtime that this process runs in: a code map, images and a thread table that the CLR's own profiling events keep
 * up to date, and DoStackSnapshot over them, answered by this library. Linux.
 *
 *     sw_clr_create(NULL, info, &clr);                        // in ICorProfilerCallback::Initialize
 *     sw_clr_get_events(&low, &high);                             // or'ed into the profiler's own event mask
 *     sw_clr_function_compiled(clr, function, 0);             // ... in JITCompilationFinished, and so on below
 *     sw_clr_snapshot(clr, flavour, 0, on_frame, 0, me, NULL, 0);
 *
 * examples/clr-profiler and examples/clr-overlay show all of it.
 */
#ifndef SNAPWALK_CLR_H
#define SNAPWALK_CLR_H

#include <snapwalk/alloc.h>
#include <snapwalk/snapshot.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_clr;

/*
 * Begins to follow the runtime whose profiling interface is `info`.
 *
 * alloc    Copied; NULL for malloc and free.
 * info     Any version from ICorProfilerInfo3 on is enough, 9 and 10 are used where they are there. Borrowed: its object
 *          lives as long as the runtime.
 * clr      Receives it; the caller owns it and gives it back with sw_clr_destroy.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_UNSUPPORTED (no such interface; another machine than x64); SW_E_NO_MEMORY;
 *          SW_E_OS.
 * Threads  Any. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_clr_create(const struct sw_alloc *alloc, IUnknown *info, struct sw_clr **clr);

/* Gives it back. NULL is allowed. Threads  Nobody may be inside. Signals  Not safe. */
void sw_clr_destroy(struct sw_clr *clr);

/*
 * The events to ask the CLR for, as of SetEventMask2: the low half and the high one. None of them slows generated code.
 *
 * Memory   None. Threads  Any. Signals  Safe.
 */
void sw_clr_get_events(DWORD *low, DWORD *high);

/*
 * What the events say. Each is to be called from the ICorProfilerCallback method named beside it, which it takes the
 * arguments from; errors (a method that cannot be asked for, no memory) leave the code unknown, so that walks go on by
 * analysis, and are counted (sw_clr_counts).
 *
 *   sw_clr_function_compiled   JITCompilationFinished, JITCachedFunctionSearchFinished (rejit 0); ReJITCompilationFinished
 *   sw_clr_dynamic_compiled    DynamicMethodJITCompilationFinished
 *   sw_clr_function_unloaded   FunctionUnloadStarted, DynamicMethodUnloaded
 *   sw_clr_module_loaded       ModuleLoadFinished (also: a native library was loaded)
 *   sw_clr_module_unloaded     ModuleUnloadFinished
 *   sw_clr_thread_created      ThreadCreated
 *   sw_clr_thread_assigned     ThreadAssignedToOSThread
 *   sw_clr_thread_destroyed    ThreadDestroyed: waits for walks of that thread, so that they never see it freed
 *   sw_clr_attached            ProfilerAttachComplete: asks for everything that was there before
 *
 * Memory   From the allocator. Threads  Any number; they take turns. Must not be called from a StackSnapshotCallback.
 * Signals  Not safe.
 */
void sw_clr_function_compiled(struct sw_clr *clr, FunctionID function, ReJITID rejit);
void sw_clr_dynamic_compiled(struct sw_clr *clr, FunctionID function);
void sw_clr_function_unloaded(struct sw_clr *clr, FunctionID function);
void sw_clr_module_loaded(struct sw_clr *clr, ModuleID module);
void sw_clr_module_unloaded(struct sw_clr *clr, ModuleID module);
void sw_clr_thread_created(struct sw_clr *clr, ThreadID thread);
void sw_clr_thread_assigned(struct sw_clr *clr, ThreadID thread, DWORD os_id);
void sw_clr_thread_destroyed(struct sw_clr *clr, ThreadID thread);
void sw_clr_attached(struct sw_clr *clr);

/*
 * Looks after what comes without an event: libraries that native code has loaded, code that went with its module. To be
 * called some ten times a second by a thread of the profiler's own; cheap when nothing has changed.
 *
 * Memory, Threads, Signals  As the events.
 */
void sw_clr_refresh(struct sw_clr *clr);

/*
 * Tells of the runtime as a whole, for flavour coreclr-unix: SW_RUNTIME_* bits to set and to clear. SUSPENDED is for who
 * calls SuspendRuntime and ResumeRuntime. That the runtime has started, and the events that are enabled, it is asked.
 *
 * Threads  Any. Signals  Safe.
 */
void sw_clr_set_runtime(struct sw_clr *clr, uint32_t set, uint32_t clear);

/*
 * DoStackSnapshot: sw_snapshot with an engine and working memory out of a fixed supply, so that threads and signal
 * handlers may call it at the same time.
 *
 * flavour  SW_FLAVOUR_CORECLR_UNIX answers as the CLR does; SW_FLAVOUR_DOCUMENTED walks other threads too, without
 *          stopping the runtime.
 * thread, callback, info_flags, client_data, context, context_size  As DoStackSnapshot.
 *
 * Returns  As sw_snapshot; CORPROF_E_STACKSNAPSHOT_UNSAFE also when all of the supply (64) is in use, and when a walk of
 *          the same thread is going on.
 * Memory   Allocates nothing. Threads  Any number. Signals  Safe for thread 0.
 */
SW_NODISCARD HRESULT sw_clr_snapshot(struct sw_clr *clr, enum sw_flavour flavour, ThreadID thread,
                                     StackSnapshotCallback *callback, ULONG32 info_flags, void *client_data,
                                     BYTE context[], ULONG32 context_size);

/*
 * The seed that DoStackSnapshot asks for: the registers of the first managed frame that a walk of the calling thread
 * comes to.
 *
 * start    Where it stands: from its signal handler's context, or sw_self_capture.
 * context  Receives a Win32 CONTEXT of `size` bytes (SW_CONTEXT_X64_BYTES or more).
 *
 * Returns  As sw_walk_find_seed, and SW_E_BUSY when all of the supply is in use; SW_E_TRUNCATED (size too small).
 * Memory   Allocates nothing. Threads  Any number. Signals  Safe.
 */
SW_NODISCARD enum sw_status sw_clr_find_seed(struct sw_clr *clr, const struct sw_regs *start, BYTE context[],
                                             ULONG32 size);

/*
 * GetFunctionFromIP, as sw_function_from_ip.
 *
 * Memory   Allocates nothing. Threads  Any. Signals  Safe.
 */
SW_NODISCARD HRESULT sw_clr_function_from_ip(struct sw_clr *clr, enum sw_flavour flavour, uint64_t ip,
                                             FunctionID *function);

/*
 * A walk of the calling thread from the context of its signal handler: every frame, managed and native, leaf first. Where
 * it is cut, or seems to end, below managed code that the runtime has noted, it goes on from there (that frame's source is
 * SEED): some of the runtime's assembly replaces return addresses, or the stack pointer itself.
 *
 * ucontext  The handler's third argument.
 * sink      As in sw_walk_all; ends the walk when it answers false.
 *
 * Returns  Why it ended; SW_STOP_BAD_START also for null pointers and when all of the supply is in use.
 * Memory   Allocates nothing. Takes less than 512 bytes of the caller's stack: walk and sink run on one of 64 KiB out of the
 *          supply, because the caller may be on what is left of an alternate signal stack. Threads  Any number.
 * Signals  Safe.
 */
SW_NODISCARD enum sw_stop sw_clr_walk(struct sw_clr *clr, const void *ucontext,
                                      bool (*sink)(void *arg, const struct sw_frame *frame), void *arg);

/* What it knows, and what it could not do. */
struct sw_clr_counts {
    uint64_t functions;     /* ranges of JIT code and precompiled methods in the code map */
    uint64_t images;        /* refreshes of the images */
    uint64_t threads;       /* in the table */
    uint64_t failures;      /* events that could not be followed */
    enum sw_status layout;  /* SW_OK: the runtime's own description of its threads is understood */
};

/*
 * Threads  Any. Signals  Safe.
 */
void sw_clr_get_counts(const struct sw_clr *clr, struct sw_clr_counts *counts);

#ifdef __cplusplus
}
#endif

#endif
