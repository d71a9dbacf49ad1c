/*
 * The contract: ICorProfilerInfo2::DoStackSnapshot and its neighbours, answered by this engine.
 */
#ifndef SNAPWALK_SNAPSHOT_H
#define SNAPWALK_SNAPSHOT_H

#include <snapwalk/corprof.h>
#include <snapwalk/thread.h>
#include <snapwalk/walk.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whose answers are given where documentation and the real CLR differ (clr-contract.md section 9). */
enum sw_flavour { SW_FLAVOUR_DOCUMENTED = 0, SW_FLAVOUR_CORECLR_WINDOWS, SW_FLAVOUR_CORECLR_UNIX, SW_FLAVOUR_COUNT };

/* State of the runtime that the contract's checks ask for (clr-contract.md section 1). */
#define SW_RUNTIME_STARTED     1u  /* set when the runtime has started */
#define SW_RUNTIME_HEAP_READY  2u  /* the GC heap is fully initialised */
#define SW_RUNTIME_DETACHING   4u  /* this profiler is being detached */
#define SW_RUNTIME_SUSPENDING  8u  /* a runtime suspension is in progress */
#define SW_RUNTIME_SUSPENDED   16u /* the profiler holds the runtime suspended (SuspendRuntime) */
#define SW_RUNTIME_READY       (SW_RUNTIME_STARTED | SW_RUNTIME_HEAP_READY)

/* Choices beyond the contract. */
#define SW_ENGINE_EVERY_NATIVE_FRAME 1u /* one callback per native frame instead of one per run (documented flavour) */
#define SW_ENGINE_NO_AUTO_SEED       2u /* documented flavour: do not look for the first managed frame when unseeded */
#define SW_ENGINE_OWN_PROCESS        4u /* the target is this process: a stack is loaded directly from sp up to its end */

/* Rules of conduct that a call broke; reported, never enforced. ORDER sw_conduct: src/names.c. */
enum sw_conduct {
    SW_CONDUCT_MANAGED_SUSPENDER = 0, /* a thread that ran managed code suspended another (D22) */
    SW_CONDUCT_NO_FIRST_WALK,         /* suspended a thread before a first walk that reported a frame (D25, D26) */
    SW_CONDUCT_NESTED_WALK,           /* DoStackSnapshot inside a StackSnapshotCallback */
    SW_CONDUCT_STALE_FRAME,           /* frameInfo used after its callback (C3) */
    SW_CONDUCT_COUNT
};

/*
 * What the last answer that was not S_OK was about. The seed is named for CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX only.
 */
struct sw_refusal {
    HRESULT hr;             /* the last answer of this engine that was not S_OK */
    const char *reason;     /* the check that gave it, or the stop reason; a static string for people, null at first */
    uint64_t address;       /* the pc that is not managed code, or where the walk was cut; 0 when it is about neither */
    enum sw_kind kind;      /* what is there */
    enum sw_stop stop;      /* why the walk ended, when it was walked */
    bool has_nearest_seed;  /* nearest_seed is the first managed frame that a walk from there reaches */
    struct sw_regs nearest_seed;
};

/*
 * An engine: one runtime, as the contract sees it. Filled by its user, all pointers borrowed; zero everything else.
 *
 * walker      The target; its stack bounds are replaced by the thread's while a thread is walked.
 * threads     The thread table.
 * suspender   How threads are stopped. May be null: then only the current thread of nobody can be walked.
 * inspector   Asked for mode, flags and transition records of the target instead of the table; may be null.
 * flavour, options (SW_ENGINE_*), runtime (SW_RUNTIME_*)
 * event_mask  COR_PRF_ENABLE_STACK_SNAPSHOT must be set for a walk to be allowed.
 * context_size  Size of the CONTEXT handed to callbacks: 0 for the machine's Win32 size (1232 or 912), else 1232,
 *             3104, 3232 (x64), 912, 992 (ARM64).
 * on_conduct  Told of broken rules of conduct; may be null.
 * refusal     Filled at every answer but S_OK.
 * stop        Why the last walk ended, after S_OK too: a clean root is never confused with a cut.
 * state       Private; zero at first.
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
    struct sw_refusal refusal;
    enum sw_stop stop;
    uint64_t state[8];
};

/*
 * The name of a rule of conduct, for messages: "managed-suspender".
 *
 * Returns  A constant string; "?" out of range. Memory  Static. Threads  Any. Signals  Safe.
 */
const char *sw_conduct_name(enum sw_conduct rule);

/*
 * Reports the stack of one thread, leaf first, main last: a managed frame is one callback, a run of native frames is
 * one callback with funcId 0.
 *
 * engine      Read, but for refusal, stop and state.
 * scratch     Working memory of this call.
 * thread      A ThreadID of the table; 0 for the calling thread.
 * callback, info_flags, client_data, context, context_size  As DoStackSnapshot. context may be null; it is a Win32
 *             CONTEXT of the walker's machine, of any size not below the part that holds the registers.
 *
 * Returns     S_OK: walked to the end, or the target is no managed thread (no callback).
 *             CORPROF_E_PROFILER_DETACHING, CORPROF_E_INCONSISTENT_WITH_FLAGS (snapshots not enabled in event_mask).
 *             E_INVALIDARG: an unknown bit in info_flags; null engine, scratch, callback, walker or threads; a
 *             context too small to hold the registers; a context_size of the engine that the machine does not have.
 *             CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD: the table does not hold the thread, or its OS thread is gone.
 *             CORPROF_E_STACKSNAPSHOT_UNSAFE: runtime not started; target cannot be stopped or looked at now; this
 *             engine is inside another call (a nested one, from a StackSnapshotCallback).
 *             CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX: the seed is not in JIT or NGEN code (engine->refusal says more).
 *             CORPROF_E_STACKSNAPSHOT_ABORTED: the callback answered anything but S_OK.
 *             E_NOTIMPL: another thread in flavour coreclr-unix while the runtime is not suspended.
 *             E_FAIL: nothing to start from, or cut before the end (below); what was reported stays reported.
 *             E_UNEXPECTED: as E_FAIL, stack memory unreadable under a managed frame (coreclr flavours).
 * Cuts        A walk that is cut in a managed frame fails. Cut in a native run it goes on from the next transition
 *             record above; where there is none, the thread's records show that no managed frame is left and it is S_OK.
 *             In the documented flavour a thread without any records cannot show that, so there it is E_FAIL. The frame
 *             limit always is E_FAIL.
 * Deviations  Where the real CLR reads what is not there (dead ThreadID, null callback, short context) the answers
 *             above are given in all flavours. A short context is refused only where the flavour looks at the seed.
 *             A thread without an OS id, at which the CLR ends the process, is INVALID_TGT_THREAD. Mode UNKNOWN in the
 *             coreclr flavours is cooperative when the top is managed or stub code or no transition record leads
 *             anywhere, else preemptive. Funclets and frames already unwound by an exception are not folded.
 * Memory      Allocates nothing. Stack below 4 KiB, callbacks not counted; the CONTEXT handed out lies in scratch.
 * Threads     One call at a time per engine and per scratch; several engines may share walker and table.
 * Signals     Safe when the walker's memory and the suspender are, for thread 0.
 * Source      ICorProfilerInfo2::DoStackSnapshot; clr-contract.md; contract-documented.md.
 */
SW_NODISCARD HRESULT sw_snapshot(struct sw_engine *engine, struct sw_scratch *scratch, ThreadID thread,
                                 StackSnapshotCallback *callback, ULONG32 info_flags, void *client_data,
                                 BYTE context[], ULONG32 context_size);

/*
 * What the frameInfo of a callback refers to. The first 40 bytes are the CLR's record; the rest is ours.
 *
 * known   Which registers of the callback's CONTEXT hold true values, by the numbers of regs.h; the others are 0 there.
 * source, trust, exact  As in struct sw_frame.
 * flags   SW_RANGE_* of its code.  hidden  Managed frames that were passed over since the callback before.
 */
struct sw_frame_info {
    USHORT size;    /* of the CLR's part */
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
 * Reads a frameInfo, during its callback only.
 *
 * info     Receives a copy.
 *
 * Returns  S_OK; E_INVALIDARG: null, or a frameInfo whose callback is over, which is also reported as
 *          SW_CONDUCT_STALE_FRAME. In the documented flavour frames 16 apart share a value.
 * Memory   Allocates nothing. Threads  The one that the callback runs in. Signals  Safe.
 * Source   COR_PRF_FRAME_INFO, contract-documented.md C3; corprof-abi.md section 4.
 */
SW_NODISCARD HRESULT sw_frame_info_read(struct sw_engine *engine, COR_PRF_FRAME_INFO frame_info,
                                        struct sw_frame_info *info);

/*
 * The managed function around an address.
 *
 * function    Receives its id; untouched on failure; may be null.
 *
 * Returns     S_OK; E_FAIL: not managed code, or, in the coreclr flavours, code that the CLR does not report (IL stub,
 *             dynamic method); CORPROF_E_NOT_YET_AVAILABLE: the heap is not ready (coreclr flavours);
 *             E_INVALIDARG: engine or its walker null.
 * Memory      Allocates nothing. Threads  Any. Signals  Safe.
 * Source      ICorProfilerInfo::GetFunctionFromIP; clr-contract.md section 8. In the documented flavour *function
 *             is set to 0 as well on E_FAIL, as the documentation says (D19).
 */
SW_NODISCARD HRESULT sw_function_from_ip(const struct sw_engine *engine, uint64_t ip, FunctionID *function);

#ifdef __cplusplus
}
#endif

#endif
