/*
 * What the runtime does as a whole: suspensions, collections, allocation, exceptions; with the callbacks in the CLR's
 * order. Knows no machine code.
 *
 * Source: clr-contract.md sections 4.4 and 8; clr-observed.md sections 1 and 2.
 */
#include "stage.h"

#include <string.h>
#include <time.h>

/* ---- suspensions ---- */

/* Waits until no thread moves. Callbacks that are running are no moves, as in the CLR. */
static void wait_for_moves(struct sw_tube *tube)
{
    while (tube->moving != 0)
        pthread_cond_wait(&tube->moved, &tube->moves);
}

static void set_suspended(struct sw_tube *tube, unsigned set, unsigned clear)
{
    pthread_mutex_lock(&tube->moves);
    atomic_fetch_or(&tube->suspended, set);
    atomic_fetch_and(&tube->suspended, ~clear);
    if (set != 0)
        wait_for_moves(tube);
    pthread_cond_broadcast(&tube->moved);
    pthread_mutex_unlock(&tube->moves);
}

static HRESULT may_suspend(struct sw_tube *tube)
{
    const size_t callback = sw_tube_in_callback();
    if (callback != 0 && sw_tube_forbids_gc(callback))
        return CORPROF_E_UNSUPPORTED_CALL_SEQUENCE;
    return atomic_load(&tube->started) ? S_OK : CORPROF_E_RUNTIME_UNINITIALIZED;
}

/*
 * A second SuspendRuntime succeeds on Linux, and the process then stays suspended for good (clr-observed.md section 1):
 * here it is a broken rule at once.
 */
HRESULT sw_tube_profiler_suspends(struct sw_tube *tube)
{
    const HRESULT hr = may_suspend(tube);
    const unsigned now = atomic_load(&tube->suspended);
    if (hr != S_OK)
        return hr;
    if (sw_tube_fault_takes(tube, SW_TUBE_FAULT_SUSPEND) || (now & SW_SUSPENDED_BY_RUNTIME) != 0)
        return CORPROF_E_SUSPENSION_IN_PROGRESS;
    if ((now & SW_SUSPENDED_BY_PROFILER) != 0) {
        if (tube->options.flavour != SW_FLAVOUR_CORECLR_UNIX)
            return CORPROF_E_SUSPENSION_IN_PROGRESS;
        sw_tube_broke(tube, SW_TUBE_LEFT_SUSPENDED, "SuspendRuntime",
                      "the runtime was suspended already; .NET on Linux never resumes from this");
        return S_OK;
    }
    set_suspended(tube, SW_SUSPENDED_BY_PROFILER, 0);
    tube->engine.runtime |= SW_RUNTIME_SUSPENDED;
    return S_OK;
}

HRESULT sw_tube_profiler_resumes(struct sw_tube *tube)
{
    const HRESULT hr = may_suspend(tube);
    if (hr != S_OK)
        return hr;
    if ((atomic_load(&tube->suspended) & SW_SUSPENDED_BY_PROFILER) == 0)
        return CORPROF_E_UNSUPPORTED_CALL_SEQUENCE;
    tube->engine.runtime &= ~SW_RUNTIME_SUSPENDED;
    set_suspended(tube, 0, SW_SUSPENDED_BY_PROFILER);
    return S_OK;
}

/* Runs on a thread of the tube, or here for a thread of the runtime. */
static void perform(struct sw_tube *tube, struct sw_tube_thread *thread, void (*function)(void *arg), void *arg)
{
    if (thread)
        tube->stage->perform(thread, function, arg);
    else
        function(arg);
}

struct suspension {
    struct sw_tube *tube;
    COR_PRF_SUSPEND_REASON reason;
};

/* Each thread that lives is told of. */
static void tell_each_thread(struct sw_tube *tube, bool suspended)
{
    for (size_t i = 0; i < sw_list_count(&tube->threads); i++) {
        struct sw_tube_thread *const *thread = sw_list_at(&tube->threads, sizeof *thread, i);
        const ThreadID id = sw_tube_thread_id(*thread);
        if (atomic_load(&(*thread)->ended))
            continue;
        if (suspended)
            SW_RAISE(tube, RuntimeThreadSuspended, id, id);
        else
            SW_RAISE(tube, RuntimeThreadResumed, id, id);
    }
}

static void suspend_all(void *arg)
{
    const struct suspension *about = arg;
    struct sw_tube *tube = about->tube;
    SW_RAISE(tube, RuntimeSuspendStarted, 0, about->reason);
    set_suspended(tube, SW_SUSPENDED_BY_RUNTIME, 0);
    tell_each_thread(tube, true);
    SW_RAISE(tube, RuntimeSuspendFinished, 0);
}

static void resume_all(void *arg)
{
    const struct suspension *about = arg;
    struct sw_tube *tube = about->tube;
    SW_RAISE(tube, RuntimeResumeStarted, 0);
    tell_each_thread(tube, false);
    set_suspended(tube, 0, SW_SUSPENDED_BY_RUNTIME);
    SW_RAISE(tube, RuntimeResumeFinished, 0);
}

static enum sw_status usable(struct sw_tube *tube, struct sw_tube_thread *thread, const char *step)
{
    if (!tube)
        return SW_E_ARGUMENT;
    if (!atomic_load(&tube->started) || atomic_load(&tube->shut_down))
        return sw_tube_problem_set(tube, SW_E_NOT_FOUND, "%s: the runtime is not running", step);
    if (thread && (thread->tube != tube || atomic_load(&thread->ended)))
        return sw_tube_problem_set(tube, SW_E_GONE, "%s: thread %s has ended", step, thread->name);
    return SW_OK;
}

bool sw_tube_is_left_suspended(const struct sw_tube *tube)
{
    enum { WAITS = 1000, WAIT_NS = 1000000 };
    const struct timespec wait = { 0, WAIT_NS };
    for (unsigned i = 0; i < WAITS && (atomic_load(&tube->suspended) & SW_SUSPENDED_BY_PROFILER); i++)
        nanosleep(&wait, NULL);
    return (atomic_load(&tube->suspended) & SW_SUSPENDED_BY_PROFILER) != 0;
}

enum sw_status sw_tube_suspend(struct sw_tube *tube, struct sw_tube_thread *thread, COR_PRF_SUSPEND_REASON reason)
{
    struct suspension about = { tube, reason };
    const enum sw_status status = usable(tube, thread, "suspend");
    if (status != SW_OK)
        return status;
    if (sw_tube_is_left_suspended(tube) || atomic_load(&tube->suspended) != 0)
        return sw_tube_problem_set(tube, SW_E_BUSY, "suspend: the runtime is suspended already");
    perform(tube, thread, suspend_all, &about);
    return SW_OK;
}

enum sw_status sw_tube_resume(struct sw_tube *tube, struct sw_tube_thread *thread)
{
    struct suspension about = { tube, COR_PRF_SUSPEND_OTHER };
    const enum sw_status status = usable(tube, thread, "resume");
    if (status != SW_OK)
        return status;
    if ((atomic_load(&tube->suspended) & SW_SUSPENDED_BY_RUNTIME) == 0)
        return sw_tube_problem_set(tube, SW_E_NOT_FOUND, "resume: the runtime is not suspended");
    perform(tube, thread, resume_all, &about);
    return SW_OK;
}

/* ---- collections ---- */

/* A collection of generation 0 in which nothing moves. */
static void collect_all(void *arg)
{
    struct suspension *about = arg;
    struct sw_tube *tube = about->tube;
    BOOL generations[] = { TRUE, FALSE, FALSE, FALSE, FALSE };
    about->reason = COR_PRF_SUSPEND_FOR_GC;
    suspend_all(about);
    SW_RAISE(tube, GarbageCollectionStarted, 0, sizeof generations / sizeof *generations, generations,
             COR_PRF_GC_INDUCED);
    SW_RAISE(tube, SurvivingReferences2, 0, 0, NULL, NULL);
    SW_RAISE(tube, GarbageCollectionFinished, 0);
    resume_all(about);
}

enum sw_status sw_tube_collect(struct sw_tube *tube, struct sw_tube_thread *thread)
{
    struct suspension about = { tube, COR_PRF_SUSPEND_FOR_GC };
    const enum sw_status status = usable(tube, thread, "collect");
    if (status != SW_OK)
        return status;
    if (sw_tube_is_left_suspended(tube) || atomic_load(&tube->suspended) != 0)
        return sw_tube_problem_set(tube, SW_E_BUSY, "collect: the runtime is suspended");
    perform(tube, thread, collect_all, &about);
    return SW_OK;
}

HRESULT sw_tube_force_gc(struct sw_tube *tube)
{
    struct suspension about = { tube, COR_PRF_SUSPEND_FOR_GC };
    const HRESULT hr = may_suspend(tube);
    if (hr != S_OK)
        return hr;
    if (atomic_load(&tube->suspended) != 0)
        return CORPROF_E_SUSPENSION_IN_PROGRESS;
    collect_all(&about);
    return S_OK;
}

/* ---- allocation ---- */

struct allocation {
    struct sw_tube *tube;
    struct sw_tube_type *type;
    ObjectID object;
};

static void announce_object(void *arg)
{
    const struct allocation *about = arg;
    SW_RAISE(about->tube, ObjectAllocated, about->object, about->object, sw_tube_id(SW_ID_CLASS, about->type->index));
}

/* Types of the System namespace are the core library's; others belong to the module of the code on top. */
static struct sw_tube_type *type_for(struct sw_tube_thread *thread, const char *name)
{
    struct sw_tube_module *core = sw_tube_module_of(thread->tube, sw_tube_id(SW_ID_MODULE, 0));
    const struct sw_tube_frame *top = sw_tube_top(thread);
    if (!name || !top || !top->function)
        return NULL;
    return sw_tube_type_named(strncmp(name, "System.", 7) == 0 && core ? core : top->function->type->module, name);
}

static enum sw_status allocate(struct sw_tube_thread *thread, const char *type, const char *step,
                               struct allocation *made)
{
    if (!thread)
        return SW_E_ARGUMENT;
    const struct sw_tube_frame *top = sw_tube_top(thread);
    if (atomic_load(&thread->ended) || !top || top->kind != SW_FRAME_MANAGED)
        return sw_tube_problem_set(thread->tube, SW_E_NOT_FOUND, "%s: thread %s is not in managed code", step,
                                   thread->name);
    *made = (struct allocation){ .tube = thread->tube, .type = type_for(thread, type) };
    if (!made->type)
        return sw_tube_problem_set(thread->tube, SW_E_ARGUMENT, "%s: no type", step);
    if (atomic_load(&thread->place) == SW_PLACE_SPINS) {
        sw_tube_begin_move(thread);
        thread->tube->stage->still(thread);
        sw_tube_end_move(thread);
    }
    made->object = sw_tube_object(made->type);
    return SW_OK;
}

enum sw_status sw_tube_allocate(struct sw_tube_thread *thread, const char *type)
{
    struct allocation made;
    const enum sw_status status = allocate(thread, type, "allocate", &made);
    if (status == SW_OK)
        thread->tube->stage->perform(thread, announce_object, &made);
    return status;
}

/* ---- exceptions ---- */

/* One throw: `catcher` is the depth of the frame that catches. */
struct dispatch {
    struct sw_tube *tube;
    struct sw_tube_thread *thread;
    ObjectID object;
    unsigned depth, catcher;
};

/* The depth of the innermost frame that catches; 0: none before native code. */
static unsigned find_catcher(const struct sw_tube_thread *thread)
{
    for (unsigned depth = atomic_load(&thread->depth); depth > 0; depth--) {
        const struct sw_tube_frame *frame = &thread->frames[depth - 1];
        if (frame->kind != SW_FRAME_MANAGED)
            return 0;
        if ((frame->function->flags & SW_TUBE_CATCHES) != 0 && !frame->in_catch)
            return depth;
    }
    return 0;
}

static void first_pass(const struct dispatch *about)
{
    struct sw_tube *tube = about->tube;
    SW_RAISE(tube, ExceptionThrown, about->object, about->object);
    for (unsigned depth = about->depth; depth >= about->catcher; depth--) {
        const struct sw_tube_function *function = about->thread->frames[depth - 1].function;
        const FunctionID id = sw_tube_function_id(function);
        SW_RAISE(tube, ExceptionSearchFunctionEnter, id, id);
        if (function->flags & SW_TUBE_FILTERS) {
            SW_RAISE(tube, ExceptionSearchFilterEnter, id, id);
            SW_RAISE(tube, ExceptionSearchFilterLeave, 0);
        }
        if (depth == about->catcher)
            SW_RAISE(tube, ExceptionSearchCatcherFound, id, id);
        SW_RAISE(tube, ExceptionSearchFunctionLeave, 0);
    }
}

/* Frames above `depth` have been unwound, but are still there. */
static void second_pass(const struct dispatch *about)
{
    struct sw_tube *tube = about->tube;
    struct sw_tube_thread *thread = about->thread;
    for (unsigned depth = about->depth; depth >= about->catcher; depth--) {
        const struct sw_tube_function *function = thread->frames[depth - 1].function;
        const FunctionID id = sw_tube_function_id(function);
        atomic_store(&thread->dispatching, true);
        SW_RAISE(tube, ExceptionUnwindFunctionEnter, id, id);
        atomic_store(&thread->dispatching, false);
        if ((function->flags & SW_TUBE_FINALLY) && depth > about->catcher) {
            SW_RAISE(tube, ExceptionUnwindFinallyEnter, id, id);
            SW_RAISE(tube, ExceptionUnwindFinallyLeave, 0);
        }
        atomic_store(&thread->dispatching, true);
        SW_RAISE(tube, ExceptionUnwindFunctionLeave, 0);
        atomic_store(&thread->dispatching, false);
        atomic_store(&thread->unwound, depth - 1);
    }
}

static void dispatch(void *arg)
{
    const struct dispatch *about = arg;
    first_pass(about);
    second_pass(about);
}

static void enter_catcher(void *arg)
{
    const struct dispatch *about = arg;
    const FunctionID id = sw_tube_function_id(about->thread->frames[about->catcher - 1].function);
    SW_RAISE(about->tube, ExceptionCatcherEnter, id, id, about->object);
}

enum sw_status sw_tube_raise(struct sw_tube_thread *thread, const char *type)
{
    struct allocation thrown;
    const enum sw_status status = allocate(thread, type, "throw", &thrown);
    if (status != SW_OK)
        return status;
    struct dispatch about = { .tube = thread->tube,
                              .thread = thread,
                              .object = thrown.object,
                              .depth = atomic_load(&thread->depth),
                              .catcher = find_catcher(thread) };
    if (about.catcher == 0)
        return sw_tube_problem_set(thread->tube, SW_E_NOT_FOUND, "throw: nothing on the stack of thread %s catches %s",
                                   thread->name, type);
    thread->tube->stage->perform(thread, dispatch, &about);
    sw_tube_begin_move(thread);
    if (about.catcher < about.depth)
        thread->tube->stage->unwind(thread, about.catcher);
    sw_tube_end_move(thread);
    thread->frames[about.catcher - 1].in_catch = true;
    atomic_store(&thread->unwound, 0);
    thread->tube->stage->perform(thread, enter_catcher, &about);
    return SW_OK;
}

static void leave_catcher(void *arg)
{
    struct sw_tube *tube = arg;
    SW_RAISE(tube, ExceptionCatcherLeave, 0);
}

enum sw_status sw_tube_caught(struct sw_tube_thread *thread)
{
    if (!thread)
        return SW_E_ARGUMENT;
    struct sw_tube_frame *top = sw_tube_top(thread);
    if (atomic_load(&thread->ended) || !top || !top->in_catch)
        return sw_tube_problem_set(thread->tube, SW_E_NOT_FOUND, "caught: thread %s is in no catch clause",
                                   thread->name);
    top->in_catch = false;
    thread->tube->stage->perform(thread, leave_catcher, thread->tube);
    return SW_OK;
}

/* ---- faults ---- */

bool sw_tube_fault_takes(struct sw_tube *tube, enum sw_tube_fault fault)
{
    unsigned left = atomic_load(&tube->faults[fault]);
    while (left != 0)
        if (atomic_compare_exchange_weak(&tube->faults[fault], &left, left - 1))
            return true;
    return false;
}

enum sw_status sw_tube_fail(struct sw_tube *tube, enum sw_tube_fault fault, unsigned count)
{
    if (!tube || (unsigned)fault >= SW_TUBE_FAULT_COUNT)
        return SW_E_ARGUMENT;
    atomic_store(&tube->faults[fault], count);
    return SW_OK;
}
