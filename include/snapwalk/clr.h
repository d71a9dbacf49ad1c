/*
 * The CLR in this process: a code map, images and a thread table that follow the CLR's profiling events, and
 * DoStackSnapshot over them, answered by this library. Linux: .NET 10 on x64 and ARM64, .NET 9 and 8 on x64. Windows:
 * .NET 10, 9 and 8 on x64.
 *
 *     sw_clr_create(NULL, info, &clr);                        // in ICorProfilerCallback::Initialize
 *     sw_clr_get_events(&low, &high);                             // add them to the profiler's event mask
 *     sw_clr_function_compiled(clr, function, 0);             // ... in JITCompilationFinished, and so on below
 *     sw_clr_snapshot(clr, flavour, 0, on_frame, 0, me, NULL, 0);
 *
 * Complete uses: tools/profiler, examples/clr-overlay and, on Windows, examples/windows/clr_sampler.c.
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
 * Starts to follow the runtime with the profiling interface `info`.
 *
 * alloc    Copied. NULL means malloc and free.
 * info     ICorProfilerInfo3 or later. Versions 9 and 10 are used if they exist. Borrowed; the object lives as long as
 *          the runtime.
 * clr      Receives the object. The caller owns it and frees it with sw_clr_destroy.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_UNSUPPORTED (no such interface); SW_E_NO_MEMORY; SW_E_OS.
 * Threads  Any. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_clr_create(const struct sw_alloc *alloc, IUnknown *info, struct sw_clr **clr);

/* Frees the object. NULL is allowed. Threads  No other call may be using it. Signals  Not safe. */
SW_API void sw_clr_destroy(struct sw_clr *clr);

/*
 * The events that the CLR must report, as for SetEventMask2: the low half and the high half. None of them slows
 * generated code.
 *
 * Memory   None. Threads  Any. Signals  Safe.
 */
SW_API void sw_clr_get_events(DWORD *low, DWORD *high);

/*
 * The events. Call each function from the ICorProfilerCallback method beside it, with that method's arguments. After an
 * error (the CLR does not describe the method, no memory) the code stays unknown, and walks use analysis there. Errors
 * are counted (sw_clr_get_counts).
 *
 *   sw_clr_function_compiled   JITCompilationFinished, JITCachedFunctionSearchFinished (rejit 0);
 *                              ReJITCompilationFinished
 *   sw_clr_dynamic_compiled    DynamicMethodJITCompilationFinished
 *   sw_clr_function_unloaded   FunctionUnloadStarted, DynamicMethodUnloaded
 *   sw_clr_module_loaded       ModuleLoadFinished (also: a native library was loaded)
 *   sw_clr_module_unloaded     ModuleUnloadFinished
 *   sw_clr_thread_created      ThreadCreated
 *   sw_clr_thread_assigned     ThreadAssignedToOSThread
 *   sw_clr_thread_destroyed    ThreadDestroyed: waits for walks of that thread, so that none sees it freed
 *   sw_clr_attached            ProfilerAttachComplete: asks for everything that existed before
 *
 * Memory   From the allocator.
 * Threads  Any number; they take turns. Must not be called from a StackSnapshotCallback.
 * Signals  Not safe.
 */
SW_API void sw_clr_function_compiled(struct sw_clr *clr, FunctionID function, ReJITID rejit);
SW_API void sw_clr_dynamic_compiled(struct sw_clr *clr, FunctionID function);
SW_API void sw_clr_function_unloaded(struct sw_clr *clr, FunctionID function);
SW_API void sw_clr_module_loaded(struct sw_clr *clr, ModuleID module);
SW_API void sw_clr_module_unloaded(struct sw_clr *clr, ModuleID module);
SW_API void sw_clr_thread_created(struct sw_clr *clr, ThreadID thread);
SW_API void sw_clr_thread_assigned(struct sw_clr *clr, ThreadID thread, DWORD os_id);
SW_API void sw_clr_thread_destroyed(struct sw_clr *clr, ThreadID thread);
SW_API void sw_clr_attached(struct sw_clr *clr);

/*
 * Updates what has no event: libraries that native code loaded, and code that was unloaded with its module. Call it
 * some ten times per second, from a thread of the profiler. Cheap if nothing has changed.
 *
 * Memory, Threads, Signals  As the events.
 */
SW_API void sw_clr_refresh(struct sw_clr *clr);

/*
 * Whether the CLR still has to report precompiled methods (COR_PRF_MONITOR_CACHE_SEARCHES in the low half of the mask).
 * It does until the library has found the CLR's own table of them: in .NET 10 at once, before that by the first ones,
 * or never, if it does not know the structures. The event may be taken out of the mask then, by SetEventMask2. A
 * program that starts has thousands of these events. Frames and methods are the same without them.
 *
 * Returns  true: it does, or clr is null. Memory  None. Threads  Any. Signals  Safe.
 */
SW_API bool sw_clr_needs_searches(const struct sw_clr *clr);

/*
 * Sets and clears SW_RUNTIME_* bits, for flavour coreclr-unix. Use it for SUSPENDED if you call SuspendRuntime and
 * ResumeRuntime. The library asks the runtime itself whether it has started and which events are enabled.
 *
 * Threads  Any. Signals  Safe.
 */
SW_API void sw_clr_set_runtime(struct sw_clr *clr, uint32_t set, uint32_t clear);

/*
 * Limits the frames of later walks: max_frames of struct sw_walker, for sw_clr_walk too. 0, as at first: no limit in
 * the coreclr flavours, which is what the CLR has; else 10,000.
 *
 * both_ends  What the limit cuts off snapshots is the middle: SW_ENGINE_BOTH_ENDS. sw_clr_walk keeps the leaf end.
 *
 * Memory   None. Threads  Any. Signals  Safe.
 */
SW_API void sw_clr_set_frame_limit(struct sw_clr *clr, uint32_t max_frames, bool both_ends);

/*
 * Limits the memory of the caches that walks share. They begin with 0.7 MB and grow with the code that is walked, by
 * doubling, in the events and in sw_clr_refresh; while one grows its successor stands beside it, and that counts. Below
 * what they have by now: they stay as they are. Caches that may not grow drop what is oldest: walks are slower, and
 * answer the same.
 *
 * bytes    0, as at first: SW_CLR_MEMORY_DEFAULT, of which 14 MB are used in the end.
 *
 * Memory   None. Beside the caches there are, at any limit: what is known of the code, some 100 bytes for each piece;
 *          the pool of sw_clr_snapshot, a megabyte of address space for each of its 8 to 64 parts, of which what walks
 *          touch is used; and 8 bytes for each precompiled method.
 * Threads  Any. Signals  Safe.
 */
enum { SW_CLR_MEMORY_DEFAULT = 20 << 20 };
SW_API void sw_clr_set_memory_limit(struct sw_clr *clr, uint64_t bytes);

/*
 * DoStackSnapshot: sw_snapshot with an engine and working memory from a pool of 8 to 64 parts, so that threads and
 * signal handlers may call it at the same time. What was answered several times about a stack of the caller's that is
 * still the same is answered again without a walk (x64, flavours of the CLR).
 *
 * flavour  SW_FLAVOUR_CORECLR_UNIX answers as the CLR does. SW_FLAVOUR_DOCUMENTED walks other threads too, without a
 *          stop of the runtime.
 * thread, callback, info_flags, client_data, context, context_size  As in DoStackSnapshot.
 *
 * Returns  As sw_snapshot. Also CORPROF_E_STACKSNAPSHOT_UNSAFE: the whole pool is in use, or a walk of the same thread
 *          is going on.
 * Memory   Allocates nothing. Threads  Any number. Signals  Safe for thread 0.
 */
SW_API SW_NODISCARD HRESULT sw_clr_snapshot(struct sw_clr *clr, enum sw_flavour flavour, ThreadID thread,
                                            StackSnapshotCallback *callback, ULONG32 info_flags, void *client_data,
                                            BYTE context[], ULONG32 context_size);

/*
 * Finds the seed that DoStackSnapshot asks for: the registers of the first managed frame in a walk of the calling
 * thread.
 *
 * start    The registers of the thread: from the context of its signal handler, or from sw_self_capture.
 * context  Receives a Win32 CONTEXT of `size` bytes (SW_CONTEXT_X64_BYTES, on ARM64 SW_CONTEXT_ARM64_BYTES, or more).
 *
 * Returns  As sw_walk_find_seed; SW_E_BUSY (the whole pool is in use); SW_E_TRUNCATED (size too small).
 * Memory   Allocates nothing. Threads  Any number. Signals  Safe.
 */
SW_API SW_NODISCARD enum sw_status sw_clr_find_seed(struct sw_clr *clr, const struct sw_regs *start, BYTE context[],
                                                    ULONG32 size);

/*
 * GetFunctionFromIP, as sw_function_from_ip. Of a precompiled method that the runtime has not prepared, for which the
 * runtime's own function ends the process, it answers E_FAIL; so it does for those that no event has announced where
 * the runtime's table of prepared methods was not found.
 *
 * Memory   Allocates nothing. Threads  Any. Signals  Safe.
 */
SW_API SW_NODISCARD HRESULT sw_clr_function_from_ip(struct sw_clr *clr, enum sw_flavour flavour, uint64_t ip,
                                                    FunctionID *function);

/*
 * Finds the name of native code in this process, as sw_images_name does, by the images that the events keep: whoever
 * has a set of its own beside them has each file's tables twice.
 *
 * address  Of a frame: its lookup.
 *
 * Returns  As sw_images_name. Memory  The symbols of a file, at the first request for one.
 * Threads  Any number; they and the events take turns. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_clr_native_name(struct sw_clr *clr, uint64_t address, char *name, size_t size,
                                                      uint64_t *start);

/*
 * Walks the calling thread from the context of its signal handler: every frame, managed and native, leaf first. Some of
 * the runtime's assembly code replaces return addresses, or the stack pointer itself. So if the walk is cut, or seems
 * to end, below managed code that the runtime has noted, it continues from there. The source of that frame is SEED.
 * Signals to threads of a CLR can end the process, whoever handles them: sw_clr_widen_signal_stack is against that.
 *
 * ucontext  The third argument of the handler.
 * sink      As in sw_walk_all: if it returns false, the walk ends.
 *
 * Returns  Why the walk ended. SW_STOP_BAD_START also for null pointers, and if the whole pool is in use.
 * Memory   Allocates nothing. The walk and the sink have a stack of 64 KiB: the thread's, where the caller stands on
 *          that with as much room left; otherwise one from the pool, and less than 512 bytes of the caller's stack are
 *          used, because that may be the rest of an alternate signal stack.
 * Threads  Any number. Signals  Safe.
 */
SW_API SW_NODISCARD enum sw_stop sw_clr_walk(struct sw_clr *clr, const void *ucontext,
                                             bool (*sink)(void *arg, const struct sw_frame *frame), void *arg);

/*
 * The same walk, of which only the pcs are reported: the first was being executed, the others are return addresses, but
 * for code that a signal interrupted further out. Several times as fast where the stack was met before, since each part
 * of the pool remembers what it walked last. What the addresses are can be asked later (sw_clr_find_range), outside of
 * the handler, as long as the code is there: in the events of an unloading at the latest.
 *
 * pcs      Receives up to `most` pcs, leaf first.
 * stop     Receives why the walk ended. SW_STOP_NONE: it did not end; `pcs` is full. May be null.
 *
 * Returns  How many pcs were stored; 0 and SW_STOP_BAD_START also for null pointers, and if the whole pool is in use.
 * Memory, Threads, Signals  As sw_clr_walk.
 */
SW_API SW_NODISCARD size_t sw_clr_addresses(struct sw_clr *clr, const void *ucontext, uint64_t *pcs, size_t most,
                                            enum sw_stop *stop);

/*
 * Finds the managed code at an address: kind JIT and the FunctionID as id; or NGEN, whose FunctionID is
 * sw_clr_function_from_ip's.
 *
 * address  Of a frame: its lookup, that is of a return address the byte in front of it.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (native code, or none); SW_E_ARGUMENT.
 * Memory   Allocates nothing. Threads  Any. Signals  Safe.
 */
SW_API SW_NODISCARD enum sw_status sw_clr_find_range(struct sw_clr *clr, uint64_t address, struct sw_range *range);

/*
 * Makes room for other handlers on the alternate signal stack that CoreCLR gave the calling thread. Whoever signals
 * threads of a CLR needs it: the runtime's handler of SIGSEGV stands on that stack, 12 KiB of it at most, and a signal
 * that comes then ends the process where the kernel finds no room for its frame, which on processors with AVX-512 has
 * 3 KiB. No flag of sigaction changes that. Call it when a thread is assigned (ICorProfilerCallback::
 * ThreadAssignedToOSThread comes on the thread), and for threads that are older, in the handler.
 *
 * ucontext  Null outside of handlers. Else the handler's third argument, a ucontext_t: the thread has the new stack
 *           when the handler returns.
 *
 * Returns  SW_OK: there is room, by this call or from before; SW_E_NOT_FOUND: the thread has no alternate stack;
 *          SW_E_BUSY: it stands on it, or stood when it was interrupted (so SA_ONSTACK is not for the handler that
 *          calls); SW_E_UNSUPPORTED: somebody else made it, which is seen by its lowest page, in the CLR's not
 *          accessible; nothing is changed then; SW_E_OS: no memory. Windows: SW_OK, there are no signals.
 * Memory   32 KiB or more of addresses, of which the kernel provides what is used. At the end of the thread it is
 *          unmapped, and the runtime gets the one before back, to unmap that; a C library without
 *          __cxa_thread_atexit_impl (musl) leaves both to the runtime. What a handler made stays mapped for good, and
 *          so does the one before: a handler further out may go back to it.
 * Threads  Any. Signals  Safe.
 * Source   docs/facts/clr-frames-by-version.md section 7.
 */
SW_API enum sw_status sw_clr_widen_signal_stack(void *ucontext);

/* How many threads at once may have a stack of struct sw_clr_signal_stacks. */
enum { SW_CLR_SIGNAL_STACKS = 1024 };

struct sw_clr_signal_stacks;

/* A place: where it belongs; the stack that is lent, null: none was made yet; the runtime's, for which it stands. */
struct sw_clr_signal_stack {
    struct sw_clr_signal_stacks *of;
    void *wider, *before;
    size_t before_bytes;
};

/*
 * Signal stacks that threads have one after the other. The caller's, all zero at first, and there for as long as a
 * thread may end: static. The fields are the library's.
 *
 * taken  A bit for each place that a thread has.
 */
struct sw_clr_signal_stacks {
    uint64_t taken[SW_CLR_SIGNAL_STACKS / 64];
    struct sw_clr_signal_stack each[SW_CLR_SIGNAL_STACKS];
};

/*
 * Does outside of handlers what sw_clr_widen_signal_stack does, for programs that begin and end many threads: a stack
 * serves another thread when its own has ended, three system calls fewer a thread. Where no place is free it is
 * sw_clr_widen_signal_stack.
 *
 * stacks   Not null.
 *
 * Returns  As sw_clr_widen_signal_stack.
 * Memory   32 KiB or more of addresses a stack; those of the lowest 64 places stay mapped.
 * Threads  Any number. Signals  Not safe.
 */
SW_API enum sw_status sw_clr_lend_signal_stack(struct sw_clr_signal_stacks *stacks);

/*
 * One line for people: which runtime this is, whether the library knows its structures, and if not, what that costs and
 * what to do about it. For a log, once, after sw_clr_create and when counts.layout has changed.
 *
 * text     Receives a NUL-terminated string, cut at size - 1 bytes. size: SW_CLR_ABOUT_BYTES is always enough; not 0.
 *
 * Returns  Whether the structures are known. Memory  Allocates nothing. Threads  Any. Signals  Safe.
 */
enum { SW_CLR_ABOUT_BYTES = 256 };
SW_API bool sw_clr_about(const struct sw_clr *clr, char *text, size_t size);

/* What the library knows of the runtime, and what failed. */
struct sw_clr_counts {
    uint64_t functions;    /* ranges of JIT code and precompiled methods in the code map */
    uint64_t images;       /* refreshes of the images */
    uint64_t threads;      /* in the table */
    uint64_t failures;     /* events that failed */
    uint64_t cache_bytes;  /* of the caches */
    uint64_t leases;       /* how many walks can go on at once: 8 more than threads, at most 64 */
    enum sw_status layout; /* SW_OK: the runtime's description of its threads is understood */
};

/*
 * Reads the counters. Threads  Any. Signals  Safe.
 */
SW_API void sw_clr_get_counts(const struct sw_clr *clr, struct sw_clr_counts *counts);

#ifdef __cplusplus
}
#endif

#endif
