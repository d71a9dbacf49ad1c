/*
 * The contract: ICorProfilerInfo2::DoStackSnapshot and related functions, answered by this library's engine.
 */
#ifndef SNAPWALK_SNAPSHOT_H
#define SNAPWALK_SNAPSHOT_H

#include <snapwalk/corprof.h>
#include <snapwalk/suspend.h>
#include <snapwalk/thread.h>
#include <snapwalk/walk.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Whose answers an engine gives where the documentation and the real CLR differ (clr-contract.md section 9).
 * ORDER sw_flavour: ladder.c.
 */
enum sw_flavour { SW_FLAVOUR_DOCUMENTED = 0, SW_FLAVOUR_CORECLR_WINDOWS, SW_FLAVOUR_CORECLR_UNIX, SW_FLAVOUR_COUNT };

/* The state of the runtime, for the checks of the contract (clr-contract.md section 1). */
#define SW_RUNTIME_STARTED    1u  /* the runtime has started */
#define SW_RUNTIME_HEAP_READY 2u  /* the GC heap is fully initialised */
#define SW_RUNTIME_DETACHING  4u  /* this profiler is being detached */
#define SW_RUNTIME_SUSPENDING 8u  /* a runtime suspension is in progress */
#define SW_RUNTIME_SUSPENDED  16u /* the profiler has suspended the runtime (SuspendRuntime) */
#define SW_RUNTIME_READY      (SW_RUNTIME_STARTED | SW_RUNTIME_HEAP_READY)

/* Options beyond the contract. */
#define SW_ENGINE_EVERY_NATIVE_FRAME 1u  /* documented flavour: a callback per native frame, not per run */
#define SW_ENGINE_NO_AUTO_SEED       2u  /* documented flavour: without a seed, do not search for a managed frame */
#define SW_ENGINE_OWN_PROCESS        4u  /* the target is this process: stacks are loaded directly; see loadable */
#define SW_ENGINE_BOTH_ENDS          8u  /* walker->max_frames is a limit for callbacks, and keeps both ends */
#define SW_ENGINE_NATIVE_DISPATCH    16u /* the runtime's native code dispatches exceptions, as in .NET 8 and before */
#define SW_ENGINE_WINDOWS_CODE       32u /* x64: rsi and rdi are nonvolatile, too; flavour coreclr-windows has it set */

/* Rules of conduct that a call may break. They are reported, never enforced. ORDER sw_conduct: src/common/names.c. */
enum sw_conduct {
    SW_CONDUCT_MANAGED_SUSPENDER = 0, /* a thread that has run managed code suspended another (D22) */
    SW_CONDUCT_NO_FIRST_WALK,         /* a thread was suspended before a first walk that reported a frame (D25, D26) */
    SW_CONDUCT_NESTED_WALK,           /* a thread was walked from inside a walk of it, by the thread that makes that */
    SW_CONDUCT_STALE_FRAME,           /* a frameInfo was used after its callback (C3) */
    SW_CONDUCT_COUNT
};

/*
 * Explains the last answer that was not S_OK. A nearest seed is given for CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX only.
 */
struct sw_refusal {
    HRESULT hr;            /* the answer */
    const char *reason;    /* the check that gave it, or the stop reason: a static string for people; null at first */
    uint64_t address;      /* the pc that is not in managed code, or where the walk was cut; 0: neither applies */
    enum sw_kind kind;     /* the kind of code at `address` */
    enum sw_stop stop;     /* why the walk ended, if there was a walk */
    bool has_nearest_seed; /* nearest_seed is the first managed frame that a walk from the refused seed reaches */
    struct sw_regs nearest_seed;
};

/*
 * What one call answered. For engines with several callers: on_answer gets it from the thread that called.
 *
 * thread   The target; the caller's own ThreadID for 0, or 0 if the caller is not in the table.
 * stop     Why the walk ended. NONE: there was no walk.
 * callbacks  How many there were.  left_out  How many were not made in the middle (SW_ENGINE_BOTH_ENDS).
 * refusal  Null after S_OK. It lives until on_answer returns.
 */
struct sw_answer {
    ThreadID thread;
    HRESULT hr;
    enum sw_stop stop;
    uint32_t callbacks;
    uint32_t left_out;
    const struct sw_refusal *refusal;
};

/* How many calls of one engine may go on at the same time; those nested in callbacks count. */
#define SW_ENGINE_CALLS 64
/* Words of an engine's private memory. */
#define SW_ENGINE_STATE (SW_ENGINE_CALLS + 32)

/*
 * An engine: one runtime, as the contract sees it. The user fills it. All pointers are borrowed. The rest must be zero.
 * Any number of threads may call it; what a call finds out is the call's own.
 *
 * walker      Describes the target. During a walk the stack bounds of the walked thread replace the walker's.
 * threads     The thread table.
 * suspender   Stops threads. May be null: then the engine cannot stop a thread, and knows no current thread.
 * inspector   Asked for mode, flags and transition records of the target, instead of the table. May be null.
 * options     SW_ENGINE_*.
 * runtime     SW_RUNTIME_*.
 * event_mask  Walks are allowed only if COR_PRF_ENABLE_STACK_SNAPSHOT is set.
 * context_size  The size in bytes of the CONTEXT that callbacks receive: 1232, 1504, 3104 or 3232 (x64), 912 or 992
 *             (ARM64). 0: the flavour's: 3232 and 992 for coreclr-unix, the Win32 sizes 1232 and 912 for the others.
 * on_conduct  Called when a rule of conduct is broken, by the thread that broke it. May be null.
 * on_answer   Called at the end of every call, by the thread that called, when the target has been let go. Calls that
 *             are refused with E_INVALIDARG because a part is null are not told. May be null.
 * refusal     That of the call that was answered last with anything but S_OK.
 * stop        Why the walk ended in the call that was answered last, after S_OK too: a clean root is never confused
 *             with a cut. Read both only while no other thread calls; of calls that are answered at the same moment one
 *             is kept. Engines with several callers use on_answer.
 * state       Private. Zero at first.
 * loadable    With SW_ENGINE_OWN_PROCESS: how far the part [from, end) of a stack may be loaded from directly. Asked
 *             while the target stands. Null: up to end. sw_self_loadable is one, which on Windows leaves guard pages.
 * reserved    For members of later versions: 0, or calls are E_INVALIDARG.
 *
 * runtime and event_mask may be changed, by atomic stores, while calls go on. The rest may not.
 */
struct sw_engine {
    const struct sw_walker *walker;
    struct sw_threads *threads;
    const struct sw_suspender *suspender;
    const struct sw_inspector *inspector;
    enum sw_flavour flavour;
    uint32_t options;
    uint32_t runtime;
    DWORD event_mask;
    ULONG32 context_size;
    void (*on_conduct)(void *arg, enum sw_conduct rule, ThreadID thread);
    void *conduct_arg;
    void (*on_answer)(void *arg, const struct sw_answer *answer);
    void *answer_arg;
    struct sw_refusal refusal;
    enum sw_stop stop;
    uint64_t state[SW_ENGINE_STATE];
    uint64_t (*loadable)(void *arg, uint64_t from, uint64_t end);
    void *loadable_arg;
    uint64_t reserved[6];
};

/*
 * The name of a rule of conduct, for messages: "managed-suspender".
 *
 * Returns  A constant string; "?" out of range. Memory  Static. Threads  Any. Signals  Safe.
 */
SW_API const char *sw_conduct_name(enum sw_conduct rule);

/*
 * The name of an HRESULT that the profiling interface or metadata answers: "CORPROF_E_STACKSNAPSHOT_UNSAFE"; and the
 * HRESULT of a name. What to do about each: docs/refusals.md.
 *
 * hr       Of sw_hresult_named: unchanged if there is no such name.
 *
 * Returns  A constant string, "?" for any other value. Whether there is such a name.
 * Memory   Static. Threads  Any. Signals  Safe.
 */
SW_API const char *sw_hresult_name(HRESULT hr);
SW_API bool sw_hresult_named(const char *name, HRESULT *hr);

/*
 * Reports the stack of one thread, leaf first, main last. A managed frame is one callback. A run of native frames is
 * one callback with funcId 0.
 *
 * engine      Only refusal, stop and state are written.
 * scratch     The working memory of this call. A call from a callback of this one needs another.
 * thread      A ThreadID in the table. 0: the calling thread.
 * callback, info_flags, client_data, context, context_size  As in DoStackSnapshot. The callback must return: until then
 *             the target stays stopped and locked. context may be null. Otherwise it is a Win32 CONTEXT of the walker's
 *             machine, of any size that includes the registers.
 *
 * Returns     S_OK: the walk reached the end, or the target is not a managed thread (no callback).
 *             CORPROF_E_PROFILER_DETACHING.
 *             CORPROF_E_INCONSISTENT_WITH_FLAGS: event_mask does not enable snapshots.
 *             E_INVALIDARG: an unknown bit in info_flags; null engine, scratch, callback, walker or threads; a context
 *             too small for the registers; an engine->context_size that the machine does not have; anything in
 *             reserved members; a scratch that is too small (struct sw_walker, scratch_bytes).
 *             CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD: the thread is not in the table, or its OS thread is gone (in
 *             coreclr-unix E_NOTIMPL, or E_FAIL while the runtime is suspended: what the CLR answers of ended threads).
 *             CORPROF_E_STACKSNAPSHOT_UNSAFE: the runtime has not started; the target cannot be stopped or looked at
 *             now; it is being walked, by another thread or by the call whose callback makes this one (in the
 *             documented flavour its walk of itself is in no other thread's way: it is stopped with it); the scratch
 *             is in use by another call of this engine; SW_ENGINE_CALLS calls of this engine are going on.
 *             CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX: the seed is not in JIT or NGEN code; engine->refusal says more.
 *             CORPROF_E_STACKSNAPSHOT_ABORTED: the callback returned anything but S_OK.
 *             E_NOTIMPL: flavour coreclr-unix, another thread (one that has ended too), and the runtime is not
 *             suspended.
 *             E_FAIL: there is nothing to start from, or the walk was cut (see Cuts). Frames already reported stay so.
 *             E_UNEXPECTED: as E_FAIL, if stack memory under a managed frame is unreadable (coreclr flavours). If that
 *             is the seed's, there is no callback.
 * Cuts        A walk that is cut in a managed frame fails, also where that frame begins at the stack's end. In the
 *             coreclr flavours a managed frame whose return address is 0 or leads to no code is not cut there: what it
 *             returns to is a run. A walk that is cut in a native run continues from the next transition record above
 *             it. If there is no such record, the thread's records prove that no managed frame is left, and the answer
 *             is S_OK. In the documented flavour a thread without any records proves nothing, so the answer is E_FAIL.
 *             The frame limit, walker->max_frames, is always E_FAIL; 0 is 10,000 in the documented flavour and no limit
 *             in the others. So is a stack that leads in circles: 256 frames of signals that lie no higher than the
 *             frame before. With SW_ENGINE_BOTH_ENDS the limit cuts out the middle, and is no failure: as many
 *             callbacks are made, half of them of frames at the root; the stack is walked twice.
 * Contexts    In the documented flavour a CONTEXT has pc, sp and the nonvolatile integer registers, as far as they are
 *             known, and its ContextFlags say so. In the others it is the seed's, where that is used, with those
 *             registers set from frame to frame, or zeros; ContextFlags are the seed's, those of a transition record
 *             (context_flags), or 0.
 * Deviations  Where the real CLR reads memory that may not be there (removed or bogus ThreadID, null callback, short
 *             context, the seed's stack on Unix), all flavours give the answers above. On Windows the CLR ends the
 *             process for the id of an ended thread, faults or reports nothing with S_OK for a bogus one, answers a
 *             null callback with E_UNEXPECTED, and takes a short context for a whole one. In the coreclr flavours
 *             padding behind a method of the JIT is the method's, as in the CLR, up to 39 bytes.
 *             A short context is refused only where the flavour looks at the seed.
 *             A thread without an OS id, for which the CLR ends the process, is INVALID_TGT_THREAD. In the coreclr
 *             flavours a thread of mode UNKNOWN is cooperative if its top is managed or stub code, or if no transition
 *             record leads to a managed frame; otherwise it is preemptive. In the documented flavour handlers, and
 *             frames that an exception has unwound, are not folded. The others know of unwound frames by an inspector
 *             only.
 * Memory      Allocates nothing. Uses less than 4 KiB of stack, without callbacks. The CONTEXT of callbacks is in
 *             scratch, which is as long as the walker says.
 * Threads     Any number, each with its own scratch. One walk of a target at a time: the table keeps that, for all
 *             engines that share it. From a callback other threads may be walked, with another scratch.
 * Signals     Safe for thread 0 if the walker's memory and the suspender are.
 * Source      ICorProfilerInfo2::DoStackSnapshot; clr-contract.md; clr-windows-observed.md; contract-documented.md.
 */
SW_API SW_NODISCARD HRESULT sw_snapshot(struct sw_engine *engine, struct sw_scratch *scratch, ThreadID thread,
                                        StackSnapshotCallback *callback, ULONG32 info_flags, void *client_data,
                                        BYTE context[], ULONG32 context_size);

/*
 * The record behind the frameInfo of a callback. The first 40 bytes are the CLR's; the rest is this library's.
 *
 * known   The registers that are known in the callback's CONTEXT, by the numbers of regs.h. The others are 0 there.
 * source, trust, exact  As in struct sw_frame.
 * flags   SW_RANGE_* of the frame's code.
 * hidden  How many managed frames were passed over since the previous callback.
 */
struct sw_frame_info {
    USHORT size;    /* of the CLR's part, in bytes */
    USHORT version; /* 1 */
    FunctionID function;
    UINT_PTR ip;
    void *extra_arg; /* null in a snapshot */
    void *this_arg;  /* null in a snapshot */
    uint64_t known;
    uint8_t source;
    uint8_t trust;
    bool exact;
    uint16_t flags;
    uint32_t hidden;
};

/*
 * Reads a frameInfo. Call it only during the callback that received the frameInfo.
 *
 * info     Receives a copy.
 *
 * Returns  S_OK; E_INVALIDARG: null, or a frameInfo whose callback is over, which is also reported as
 *          SW_CONDUCT_STALE_FRAME. In the documented flavour frames 16 apart share a value. In a callback whose own
 *          nested call is over the frameInfo is still good.
 * Memory   Allocates nothing. Threads  The thread that runs the callback. Signals  Safe.
 * Source   COR_PRF_FRAME_INFO, contract-documented.md C3; corprof-abi.md section 4.
 */
SW_API SW_NODISCARD HRESULT sw_frame_info_read(struct sw_engine *engine, COR_PRF_FRAME_INFO frame_info,
                                               struct sw_frame_info *info);

/*
 * Finds the managed function at an address.
 *
 * function    Receives its id. Unchanged on failure, except that the documented flavour sets it to 0 on E_FAIL, as the
 *             documentation says (D19). May be null.
 *
 * Returns     S_OK; E_FAIL: not managed code or, in the coreclr flavours, code that the CLR does not report (IL stub,
 *             dynamic method); a precompiled method that is not registered and of which engine->inspector knows no id,
 *             since the runtime has not prepared it.
 *             CORPROF_E_NOT_YET_AVAILABLE: the heap is not ready (coreclr flavours). E_INVALIDARG: engine or its walker
 *             null.
 * Memory      Allocates nothing. Threads  Any. Signals  Safe.
 * Source      ICorProfilerInfo::GetFunctionFromIP; clr-contract.md section 8.
 */
SW_API SW_NODISCARD HRESULT sw_function_from_ip(const struct sw_engine *engine, uint64_t ip, FunctionID *function);

#ifdef __cplusplus
}
#endif

#endif
