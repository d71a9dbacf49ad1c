/*
 * A CLR in a test tube: a runtime to test profilers against, without .NET. It loads a profiler, raises its callbacks,
 * runs threads with real machine code on real stacks, and answers ICorProfilerInfo by this library's engine. A scenario
 * is a few calls; nobody writes code bytes or stack words by hand. In libsnapwalk-harness.a, not in libsnapwalk.a.
 *
 *     struct sw_tube *tube;
 *     sw_tube_create(NULL, &tube);
 *     sw_tube_load(tube, "./libmyprofiler.so", "{846F5F1C-F9AE-4B07-969E-05C26BC060D8}");
 *     sw_tube_start(tube);                                                   // Initialize, and what follows it
 *     struct sw_tube_module *demo = sw_tube_module_load(tube, "Demo.dll");
 *     struct sw_tube_function *entry = sw_tube_function_add(demo, "Demo.Program", "Main", 0);
 *     struct sw_tube_thread *thread = sw_tube_thread_start(tube, "main");
 *     sw_tube_call(thread, entry);                                           // JIT events, then it runs
 *     sw_tube_native(thread, "poll");                                        // a P/Invoke: it blocks there
 *     ...                                                                    // the profiler walks it
 *     sw_tube_shutdown(tube);
 *     if (sw_tube_problem(tube)[0] || sw_tube_violations(tube, NULL, 0)) ... // the test fails
 *     sw_tube_destroy(tube);
 *
 * A thread of the tube stands still after each step: in managed code, in native code that it called, or at its start.
 * Steps are made by the test, one at a time, from one thread (the conductor). They return when the step is done, with
 * all callbacks that belong to it, which are raised on the tube's thread as the CLR does.
 *
 * A step that makes no sense changes nothing and returns its status. The first such status stays, with a sentence for
 * people (sw_tube_problem), so that a scenario may be written without a check after each line. Handles of a failed step
 * are null, and null handles are refused as problems.
 *
 * Source   clr-contract.md section 8; corprof-abi.md; metadata-abi.md; clr-observed.md section 2.
 */
#ifndef SNAPWALK_HARNESS_H
#define SNAPWALK_HARNESS_H

#include <snapwalk/snapshot.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_tube;
struct sw_tube_module;
struct sw_tube_function;
struct sw_tube_thread;

/* Rules of conduct for profilers. Breaking one is reported, with the call that did. ORDER sw_tube_rule: conduct.c. */
enum sw_tube_rule {
    SW_TUBE_STALE_FRAME = 0,   /* a frameInfo was used after its callback (C3) */
    SW_TUBE_STALE_CONTEXT,     /* the CONTEXT of a callback was used after it (C4) */
    SW_TUBE_MANAGED_SUSPENDER, /* a thread that has run managed code suspended another (D22) */
    SW_TUBE_DESTROYED_IN_WALK, /* ThreadDestroyed returned while that thread was being walked (D23) */
    SW_TUBE_RUNNING_TARGET,    /* another thread was walked that nobody had stopped (D4) */
    SW_TUBE_FORBIDDEN_CALL,    /* a call that may trigger a GC, where that is forbidden */
    SW_TUBE_LOCK_HELD,         /* an annotated lock was held across a call that may trigger a GC (D24) */
    SW_TUBE_NO_FIRST_WALK,     /* a thread was suspended before a first walk that reported a frame (D25, D26) */
    SW_TUBE_SAME_SEED,         /* a walk was asked for with the seed that had just been refused (D19) */
    SW_TUBE_NESTED_WALK,       /* a thread walked from within its own StackSnapshotCallback */
    SW_TUBE_LEAKED_REFERENCE,  /* an enumerator or metadata was never released */
    SW_TUBE_UNKNOWN_METHOD,    /* a slot that neither the tube nor the test serves */
    SW_TUBE_UNKNOWN_ID,        /* an id that the tube never gave, or that has ended */
    SW_TUBE_NO_EVENT_MASK,     /* DoStackSnapshot without COR_PRF_ENABLE_STACK_SNAPSHOT */
    SW_TUBE_LATE_CALL,         /* a call after Shutdown or detach */
    SW_TUBE_LEFT_SUSPENDED,    /* the runtime was left suspended */
    SW_TUBE_BAD_SIGNAL_STATE,  /* a signal's handler or mask was left changed */
    SW_TUBE_RULE_COUNT
};

/*
 * One rule broken.
 *
 * call     The slot or callback in which it happened: "DoStackSnapshot".
 * thread   The name of the tube's thread that did it, or "" for the profiler's own threads.
 * detail   A sentence: "thread worker was walked while it ran".
 * times    How often. A call that breaks a rule in more than a few different ways has the rest counted with the last.
 * expected A script expected this rule to be broken ("expect conduct NAME").
 */
struct sw_tube_violation {
    enum sw_tube_rule rule;
    const char *call;
    const char *thread;
    const char *detail;
    uint64_t times;
    bool expected;
};

/*
 * What a tube is like. Zero is a good value of each.
 *
 * flavour    Whose answers: documented, coreclr-windows, coreclr-unix.
 * machine    SW_MACHINE_NONE: this machine. Another machine's threads are simulated.
 * simulated  Threads are simulated: their stacks are in the tube's memory, and their steps, with the callbacks, run on
 *            the conductor. Faster, and no signals; DoStackSnapshot(0) in a callback walks the simulated thread.
 * version    The runtime's major version: 8, 9 or 10. 0: 10.
 * record     Receives each line of the recording (JSON, without a newline), from any thread, one at a time. May be
 *            null. It must not call the tube.
 * entered    Told of each step of a script, callback and call before it begins (kind "step", "callback", "call"), on
 *            the thread that makes it, with that thread's name: who watches the test from outside knows what crashed or
 *            hangs. Any number at a time. May be null.
 * arg        Passed to both.
 */
struct sw_tube_options {
    enum sw_flavour flavour;
    enum sw_machine machine;
    bool simulated;
    unsigned version;
    void (*record)(void *arg, const char *line);
    void (*entered)(void *arg, const char *kind, const char *thread, const char *name);
    void *arg;
};

/*
 * Makes a tube: a runtime that has not started. Destroy ends its threads, shuts the runtime down if that has not been
 * done, and unloads the profiler; NULL is allowed.
 *
 * options  Copied. NULL: all zero.
 *
 * Returns  SW_OK; SW_E_ARGUMENT (null, an unknown flavour, machine or version); SW_E_NO_MEMORY; SW_E_OS;
 *          SW_E_UNSUPPORTED (real threads on a machine that has none here).
 * Memory   From malloc, as all of the harness. Threads  Any; one conductor for each tube. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_tube_create(const struct sw_tube_options *options, struct sw_tube **tube);
void sw_tube_destroy(struct sw_tube *tube);

/*
 * The first problem of the scenario, as a sentence: "sw_tube_return: thread main has no frame". "": none.
 *
 * Memory   Owned by the tube; it does not change once there is a problem. Threads  The conductor. Signals  Not safe.
 */
const char *sw_tube_problem(const struct sw_tube *tube);

/* ---- the profiler ---- */

/*
 * Loads a profiler and makes its object, as the CLR does: DllGetClassObject, CreateInstance for ICorProfilerCallback2,
 * then the highest version up to 11 that QueryInterface knows. sw_tube_load_class does it with a function of this
 * program; sw_tube_use takes an object that there is already.
 *
 * path     The library's file.
 * get      Its DllGetClassObject.
 * clsid    The class id, with or without braces. NULL: zeros.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND (no such file or export; the loader's message is in the problem);
 *          SW_E_UNSUPPORTED (the class was refused, or the object is no ICorProfilerCallback2); SW_E_EXISTS (there is a
 *          profiler already).
 * Memory   sw_tube_destroy releases the object. It closes the library only if the profiler refused or detached:
 *          another's threads may still run.
 * Threads  The conductor. Signals  Not safe. Source  metadata-abi.md section 10.0.
 */
enum sw_status sw_tube_load(struct sw_tube *tube, const char *path, const char *clsid);
enum sw_status sw_tube_load_class(struct sw_tube *tube,
                                  HRESULT (*get)(const CLSID *clsid, const IID *iid, void **object), const char *clsid);
enum sw_status sw_tube_use(struct sw_tube *tube, IUnknown *profiler);

/*
 * Starts the runtime: LoadAsNotificationOnly, Initialize, then the application domain and System.Private.CoreLib. A
 * profiler whose Initialize fails gets no further events; the runtime starts all the same. attach starts the runtime
 * first if need be, then does InitializeForAttach and ProfilerAttachComplete.
 *
 * data, size  The client data of InitializeForAttach. May be null, 0.
 *
 * Returns  SW_OK; SW_E_EXISTS (it has started; attach: a profiler is there already); SW_E_UNSUPPORTED (the profiler
 *          refused; the problem has its HRESULT; CORPROF_E_PROFILER_CANCEL_ACTIVATION is no problem).
 * Threads  The conductor. Signals  Not safe.
 */
enum sw_status sw_tube_start(struct sw_tube *tube);
enum sw_status sw_tube_attach(struct sw_tube *tube, const void *data, size_t size);

/*
 * Ends the runtime: threads end, but for the oldest, on which Shutdown comes. No locks of the tube are held meanwhile.
 * Reports references that were never released, and a runtime that was left suspended. detach completes a
 * RequestProfilerDetach: ProfilerDetachSucceeded.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (not started; detach: not requested).
 * Threads  The conductor. Signals  Not safe.
 */
enum sw_status sw_tube_shutdown(struct sw_tube *tube);
enum sw_status sw_tube_detach(struct sw_tube *tube);

/*
 * The object that the profiler gets, and its engine, for tests that call it themselves.
 *
 * Memory   Owned by the tube. Threads  Any. Signals  Safe.
 */
ICorProfilerInfo2 *sw_tube_info(struct sw_tube *tube);
struct sw_engine *sw_tube_engine(struct sw_tube *tube);

/* ---- modules and functions ---- */

/* What a function is. The shape of its prologue is one of SW_TUBE_SHAPE_*, as .NET's code generator makes them. */
#define SW_TUBE_SHAPE_FRAME     0u   /* frame pointer: push rbp; sub rsp; lea rbp, or the ARM64 pair */
#define SW_TUBE_SHAPE_SAVES     1u   /* the same with nonvolatile registers saved */
#define SW_TUBE_SHAPE_FRAMELESS 2u   /* no frame pointer: pushes and a sub */
#define SW_TUBE_SHAPE_LARGE     3u   /* more than a page of locals, with a probe */
#define SW_TUBE_SHAPES          3u   /* mask */
#define SW_TUBE_PRECOMPILED     4u   /* in the module's file: cached function search instead of a JIT compilation */
#define SW_TUBE_HIDDEN          8u   /* an IL stub or dynamic method: no metadata, never reported in the CLR */
#define SW_TUBE_CATCHES         16u  /* has a catch clause that takes every exception */
#define SW_TUBE_FILTERS         32u  /* has a filter that refuses every exception */
#define SW_TUBE_FINALLY         64u  /* has a finally clause */
#define SW_TUBE_EH_DISPATCH     128u /* a method of the runtime's managed exception dispatch */

/*
 * Loads a module with its assembly: AssemblyLoadStarted ... AssemblyLoadFinished. Unloading unloads its functions.
 *
 * name     The file's name: "Demo.dll". The assembly's is without the extension.
 *
 * Returns  The module, owned by the tube; null: a problem (no runtime, a name that exists).
 * Threads  The conductor. Signals  Not safe.
 */
struct sw_tube_module *sw_tube_module_load(struct sw_tube *tube, const char *name);
enum sw_status sw_tube_module_unload(struct sw_tube_module *module);

/*
 * Adds a function. It is compiled when it is called first.
 *
 * type     With its namespace: "Demo.Program". "Demo.Outer+Inner" is nested, "List`1" has a generic parameter.
 * flags    SW_TUBE_*.
 *
 * Returns  The function, owned by the tube; null: a problem (it exists, unknown flags). Overloads have names of their
 *          own: "Run(int)".
 * Threads  The conductor. Signals  Not safe.
 */
struct sw_tube_function *sw_tube_function_add(struct sw_tube_module *module, const char *type, const char *method,
                                              uint32_t flags);

/*
 * Compiles a function on the conductor or, if `thread` is not null, on that thread; again if it is compiled already (a
 * higher tier: the next calls use the new code). sw_tube_function_unload: FunctionUnloadStarted, and the code is gone.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_BUSY (unload: it is on a stack); SW_E_NO_MEMORY.
 * Threads  The conductor. Signals  Not safe.
 */
enum sw_status sw_tube_compile(struct sw_tube_function *function, struct sw_tube_thread *thread);
enum sw_status sw_tube_function_unload(struct sw_tube_function *function);

/*
 * Their ids, 0 for null; the address range of a function's newest code, empty before it is compiled.
 *
 * Threads  Any. Signals  Safe.
 */
ModuleID sw_tube_module_id(const struct sw_tube_module *module);
FunctionID sw_tube_function_id(const struct sw_tube_function *function);
COR_PRF_CODE_INFO sw_tube_function_code(const struct sw_tube_function *function);

/* ---- threads ---- */

/*
 * Creates a thread: ThreadCreated, ThreadAssignedToOSThread, ThreadNameChanged, on that thread. It stands at its start.
 *
 * Returns  The thread, owned by the tube; null: a problem.
 * Threads  The conductor. Signals  Not safe.
 */
struct sw_tube_thread *sw_tube_thread_start(struct sw_tube *tube, const char *name);

/* The thread's ThreadID and OS id; 0 for null. Threads  Any. Signals  Safe. */
ThreadID sw_tube_thread_id(const struct sw_tube_thread *thread);
uint64_t sw_tube_thread_os_id(const struct sw_tube_thread *thread);

/*
 * Steps of a thread.
 *
 *   call      Calls managed code: compiles it if need be, and stands in it. From native code it is a reverse P/Invoke.
 *   native    Managed code calls native code by a P/Invoke; it stands there, in preemptive mode.
 *   helper    Managed code calls a helper of the runtime; it stands there, in cooperative mode, without a record.
 *   give_back Returns from the function, native code or helper on top.
 *   spin      Runs managed code in a loop until the next step, for signals and real suspensions. A simulated thread
 *             stands in the loop.
 *   run       Calls a function of the test on this thread, as native code that a P/Invoke called, or in the native code
 *             on top. It may call the profiler or DoStackSnapshot(0).
 *   allocate  Allocates an object of a type: ObjectAllocated.
 *   raise     Throws: the first pass looks for a function that catches, the second unwinds, running finally clauses;
 *             the thread stands in the catch clause of that function. Without one it is a problem.
 *   caught    Ends the catch clause: ExceptionCatcherLeave.
 *   end       The thread returns from all that is on its stack, and ends: ThreadDestroyed.
 *
 * Returns  SW_OK; SW_E_ARGUMENT (null; another tube's function); SW_E_GONE (it has ended); SW_E_NOT_FOUND (nothing to
 *          return from; no function catches; no managed code on top where it is needed); SW_E_NO_MEMORY; SW_E_LIMIT
 *          (deeper than SW_TUBE_DEPTH).
 * Threads  The conductor. Signals  Not safe.
 */
enum sw_status sw_tube_call(struct sw_tube_thread *thread, struct sw_tube_function *function);
enum sw_status sw_tube_native(struct sw_tube_thread *thread, const char *name);
enum sw_status sw_tube_helper(struct sw_tube_thread *thread, const char *name);
enum sw_status sw_tube_give_back(struct sw_tube_thread *thread);
enum sw_status sw_tube_spin(struct sw_tube_thread *thread);
enum sw_status sw_tube_run(struct sw_tube_thread *thread, void (*function)(void *arg), void *arg);
enum sw_status sw_tube_allocate(struct sw_tube_thread *thread, const char *type);
enum sw_status sw_tube_raise(struct sw_tube_thread *thread, const char *type);
enum sw_status sw_tube_caught(struct sw_tube_thread *thread);
enum sw_status sw_tube_end(struct sw_tube_thread *thread);

/* The deepest stack of a thread, in frames. */
#define SW_TUBE_DEPTH 512

/* ---- the runtime ---- */

/*
 * The runtime suspends all threads (RuntimeSuspendStarted, RuntimeThreadSuspended, RuntimeSuspendFinished) and resumes
 * them; a collection is both, with the callbacks of a GC between. They run on `thread`, or on a thread of the runtime
 * if it is null. While the runtime is suspended by the profiler (SuspendRuntime), steps of threads wait, and these for
 * a second.
 *
 * Returns  SW_OK; SW_E_BUSY (suspended already); SW_E_NOT_FOUND (not suspended). Threads  The conductor.
 * Signals  Not safe.
 */
enum sw_status sw_tube_suspend(struct sw_tube *tube, struct sw_tube_thread *thread, COR_PRF_SUSPEND_REASON reason);
enum sw_status sw_tube_resume(struct sw_tube *tube, struct sw_tube_thread *thread);
enum sw_status sw_tube_collect(struct sw_tube *tube, struct sw_tube_thread *thread);

/* ---- faults and answers ---- */

/* What goes wrong on request. */
enum sw_tube_fault {
    SW_TUBE_FAULT_SEED = 0, /* walks with a seed: CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX */
    SW_TUBE_FAULT_MIDWAY,   /* walks end with E_FAIL after two frames */
    SW_TUBE_FAULT_UNSAFE,   /* walks: CORPROF_E_STACKSNAPSHOT_UNSAFE */
    SW_TUBE_FAULT_SUSPEND,  /* SuspendRuntime: CORPROF_E_SUSPENSION_IN_PROGRESS */
    SW_TUBE_FAULT_DIES,     /* the thread that is walked next has ended since EnumThreads */
    SW_TUBE_FAULT_COUNT
};

/*
 * Makes the next `count` occasions of a fault fail. sw_tube_answer sets what a slot answers, instead of the tube, with
 * its outputs cleared; sw_tube_answer_default undoes that. sw_tube_calls counts calls.
 *
 * slot     A method's name: "GetILFunctionBody".
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND (no such slot). sw_tube_calls: 0 for unknown slots.
 * Threads  The conductor. Signals  Not safe.
 */
enum sw_status sw_tube_fail(struct sw_tube *tube, enum sw_tube_fault fault, unsigned count);
enum sw_status sw_tube_answer(struct sw_tube *tube, const char *slot, HRESULT answer);
enum sw_status sw_tube_answer_default(struct sw_tube *tube, const char *slot);
size_t sw_tube_calls(const struct sw_tube *tube, const char *slot);

/* How often a callback of the profiler was raised: "JITCompilationFinished". Threads  Any. Signals  Not safe. */
size_t sw_tube_raised(const struct sw_tube *tube, const char *callback);

/* ---- conduct ---- */

/*
 * Lists the rules broken so far, in order.
 *
 * list     Receives the first `capacity`; their texts are owned by the tube. May be null if capacity is 0.
 *
 * Returns  How many there are.
 * Threads  Any. Signals  Not safe.
 */
size_t sw_tube_violations(const struct sw_tube *tube, struct sw_tube_violation *list, size_t capacity);

/*
 * The name of a rule, "stale-frame", and what it says, with where it comes from: "a frameInfo is valid only in the
 * callback that received it (C3)". "?" out of range.
 *
 * Memory   Static. Threads  Any. Signals  Safe.
 */
const char *sw_tube_rule_name(enum sw_tube_rule rule);
const char *sw_tube_rule_text(enum sw_tube_rule rule);

/*
 * Annotations: the calling thread takes, or lets go of, a lock of the profiler's. A profiler may find them by
 * dlsym(RTLD_DEFAULT, "sw_tube_lock_taken") and do without them where they are not there.
 *
 * name     Borrowed until the lock is released. Threads  Any. Signals  Safe.
 */
void sw_tube_lock_taken(const char *name);
void sw_tube_lock_released(const char *name);

/* ---- looking ---- */

/*
 * Walks a thread by DoStackSnapshot as the tube's flavour answers and writes it as text, leaf first:
 * "Demo.Program.Work < Demo.Program.Main < [native]". A refusal is its name: "CORPROF_E_STACKSNAPSHOT_UNSAFE"; after
 * frames, it follows them.
 *
 * text     Receives it, with a terminator, cut to `size` bytes.
 *
 * Returns  The answer of DoStackSnapshot; E_INVALIDARG (null).
 * Threads  The conductor. It does not count as a call of the profiler. Signals  Not safe.
 */
HRESULT sw_tube_stack(struct sw_tube_thread *thread, char *text, size_t size);

/*
 * Compares two recordings, each of the lines that `record` received. Lines of one thread are compared in their order;
 * how threads interleave does not matter.
 *
 * difference  Receives the first difference as a sentence, cut to `size` bytes with a terminator: which thread and line
 *             ("thread main, line 12"), which callback, what of it was, and what is. Lines count as in `is` or, where
 *             the line is gone, in `was`. Empty if there is none. May be null if size is 0.
 *
 * Returns  SW_OK: no difference; SW_E_MALFORMED: they differ; SW_E_ARGUMENT; SW_E_NO_MEMORY.
 * Memory   From malloc, freed before it returns. Threads  Any. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_tube_compare(const char *was, const char *is, char *difference, size_t size);

/* ---- scripts ---- */

/*
 * Plays a scenario written as text, a step on each line; docs/harness.md lists them. Stops at the first that makes no
 * sense or an expectation that is not met, with file, line and reason as the problem: "script.tube:12: return: thread
 * main has no frame". The heading is passed over, whatever it says.
 *
 * name     The script's name in messages.
 *
 * Returns  SW_OK; SW_E_MALFORMED; what the step answered; SW_E_BUSY: the tube has a problem already.
 * Threads  The conductor. Signals  Not safe.
 */
enum sw_status sw_tube_play(struct sw_tube *tube, const char *name, const char *text);

/* How a scenario is to end: for a runner that plays it in a process of its own. ORDER sw_tube_outcome: heading.c. */
enum sw_tube_outcome {
    SW_TUBE_DONE = 0, /* all steps are played, no rule is broken but those that it expects */
    SW_TUBE_CRASHED,  /* by a signal; detail: "SIGSEGV" */
    SW_TUBE_HUNG,     /* it is not done in time */
    SW_TUBE_EXITED,   /* the profiler ended the process; detail: the exit status, "3" */
    SW_TUBE_PROBLEM   /* detail: part of the problem's sentence */
};

/*
 * What the first lines of a script say of the tube that it wants and of how it is to end.
 *
 * options  As for sw_tube_create; record, entered and arg stay null.
 * seconds  How long it may take. 0: it does not say.
 * detail   Of the outcome; "": any.
 */
struct sw_tube_heading {
    struct sw_tube_options options;
    unsigned seconds;
    enum sw_tube_outcome outcome;
    char detail[128];
};

/*
 * Reads a script's heading: the statements before the first step.
 *
 * problem  Receives what is wrong, as in sw_tube_play, cut to `size` bytes with a terminator; else it is empty. May be
 *          null if size is 0.
 *
 * Returns  SW_OK; SW_E_MALFORMED; SW_E_ARGUMENT (null); SW_E_NO_MEMORY. Threads  Any. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_tube_heading_read(const char *name, const char *text, struct sw_tube_heading *heading,
                                                 char *problem, size_t size);

#ifdef __cplusplus
}
#endif

#endif
