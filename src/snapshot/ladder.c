/*
 * The ladder: everything that happens before DoStackSnapshot walks, in order, as one table. A row is a check or a step.
 * A check only looks, and the first that fires gives the answer. A step only acts (holds the target, locks it, stops
 * it, takes the seed), and never ends the call: the check behind it looks at what came of it.
 * Knows the engine's state, the thread table and the suspender. Refuses to know how frames are found or reported.
 *
 * Rows are numbered as in clr-contract.md section 1 (decimals: section 2). Two checks of the CLR have no counterpart
 * here, because only a Windows kernel needs them: 9d's lock, 9e's mode change while stopped.
 * Registers come from the suspender. Code lookup takes no lock. The table does not change a thread that a walk holds.
 */
#include "snapshot/call.h"

#include "unwind/request.h"

#include <assert.h>

/* Who walks, where nobody can say which thread calls: nobody is accused then. */
#define SOMEBODY UINT64_MAX

/* ---- what checks and steps ask ---- */

static bool runtime_is(const struct sw_call *call, uint32_t flags)
{
    return (__atomic_load_n(&call->engine->runtime, __ATOMIC_RELAXED) & flags) != 0;
}

static bool target_is(const struct sw_call *call, uint32_t flags)
{
    return (call->target.flags & flags) != 0;
}

/* Whether some transition record leads to a managed frame. */
static bool a_record_leads_on(const struct sw_call *call)
{
    struct sw_transition record;
    uint64_t cursor = 0;
    while (sw_call_record(call, &cursor, &record))
        if (record.regs.known != 0)
            return true;
    return false;
}

/* Whether the target is to be taken as preemptive: outside managed code and the runtime's helpers. */
static bool target_is_preemptive(const struct sw_call *call)
{
    if (call->target.mode != SW_MODE_UNKNOWN)
        return call->target.mode == SW_MODE_PREEMPTIVE;
    if (!sw_call_is_for_caller(call) && runtime_is(call, SW_RUNTIME_SUSPENDED))
        return true; /* a finished suspension leaves every other thread so */
    if (call->top && sw_code_at(call->engine->walker, sw_regs_pc(call->top)).kind != SW_KIND_NATIVE)
        return false;
    return a_record_leads_on(call);
}

/* ---- checks: they take no lock and change nothing ---- */

static bool profiler_is_detaching(const struct sw_call *call)
{
    return runtime_is(call, SW_RUNTIME_DETACHING);
}

static bool runtime_has_not_started(const struct sw_call *call)
{
    return !runtime_is(call, SW_RUNTIME_STARTED);
}

static bool snapshots_are_not_enabled(const struct sw_call *call)
{
    return (__atomic_load_n(&call->engine->event_mask, __ATOMIC_RELAXED) & COR_PRF_ENABLE_STACK_SNAPSHOT) == 0;
}

/* X86_OPTIMIZED is known on x86 only, which no target of this library is. */
static bool a_flag_is_unknown(const struct sw_call *call)
{
    return (call->info_flags & ~(ULONG32)COR_PRF_SNAPSHOT_REGISTER_CONTEXT) != 0;
}

static bool callback_is_null(const struct sw_call *call)
{
    return !call->callback;
}

static bool engine_has_no_such_context(const struct sw_call *call)
{
    const ULONG32 size = call->engine->context_size;
    return size != 0 && !sw_call_is_context_size(call->engine->walker->machine, size);
}

static bool seed_is_cut_short(const struct sw_call *call)
{
    return call->context && call->context_size < sw_context_needed(SW_CONTEXT_WIN32, call->engine->walker->machine);
}

static bool caller_was_never_managed(const struct sw_call *call)
{
    return call->thread == 0;
}

static bool target_is_not_in_the_table(const struct sw_call *call)
{
    return !call->held.block;
}

static bool heap_is_not_ready(const struct sw_call *call)
{
    return !runtime_is(call, SW_RUNTIME_HEAP_READY);
}

/* The CLR does not look whether an id is one; it looks at what was there, and mostly comes as far as row 8u. */
static bool ended_target_runs(const struct sw_call *call)
{
    return target_is_not_in_the_table(call) && !runtime_is(call, SW_RUNTIME_SUSPENDED);
}

static bool target_is_not_managed(const struct sw_call *call)
{
    return target_is(call, SW_THREAD_GC_SPECIAL) || heap_is_not_ready(call);
}

static bool target_is_being_walked(const struct sw_call *call)
{
    return call->rival != 0;
}

static bool too_many_calls_go_on(const struct sw_call *call)
{
    return !call->live;
}

/* Whether a word of engine->state is another call's, which has this scratch. */
static bool is_rival(const struct sw_call *call, const uint64_t *at)
{
    const uint64_t word = __atomic_load_n(at, __ATOMIC_SEQ_CST);
    return at != call->live && word - (uintptr_t)call->scratch < sw_scratch_bytes_of(call->engine->walker);
}

/* Asked with the call's own word set, so that of two calls that begin at once neither misses the other. */
static bool scratch_is_in_use(const struct sw_call *call)
{
    enum { GROUP = 4 }; /* most words are 0 */
    static_assert(SW_ENGINE_CALLS % GROUP == 0, "groups");
    for (unsigned i = SW_STATE_CALLS; i < SW_STATE_END; i += GROUP) {
        const uint64_t *words = &call->engine->state[i];
        if ((__atomic_load_n(&words[0], __ATOMIC_SEQ_CST) | __atomic_load_n(&words[1], __ATOMIC_SEQ_CST) |
             __atomic_load_n(&words[2], __ATOMIC_SEQ_CST) | __atomic_load_n(&words[3], __ATOMIC_SEQ_CST)) != 0 &&
            (is_rival(call, &words[0]) || is_rival(call, &words[1]) || is_rival(call, &words[2]) ||
             is_rival(call, &words[3])))
            return true;
    }
    return false;
}

static bool return_address_is_being_changed(const struct sw_call *call)
{
    return target_is(call, SW_THREAD_HIJACK_LOCKED);
}

static bool suspension_is_in_progress(const struct sw_call *call)
{
    return !sw_call_is_for_caller(call) && runtime_is(call, SW_RUNTIME_SUSPENDING) &&
           sw_threads_find_os(call->engine->threads, call->caller, NULL) == SW_OK;
}

static bool target_forbids_suspension(const struct sw_call *call)
{
    return target_is(call, SW_THREAD_FORBID_SUSPEND);
}

static bool other_target_forbids_suspension(const struct sw_call *call)
{
    return !sw_call_is_for_caller(call) && target_forbids_suspension(call);
}

static bool other_target_runs(const struct sw_call *call)
{
    return !sw_call_is_for_caller(call) && !runtime_is(call, SW_RUNTIME_SUSPENDED);
}

static bool target_has_no_os_thread(const struct sw_call *call)
{
    return call->suspending == SW_E_GONE;
}

static bool target_cannot_be_stopped(const struct sw_call *call)
{
    return call->suspending != SW_OK;
}

static bool other_target_is_cooperative(const struct sw_call *call)
{
    return !sw_call_is_for_caller(call) && !target_is_preemptive(call);
}

static bool registers_cannot_be_had(const struct sw_call *call)
{
    return call->suspending != SW_OK;
}

/* clr-windows-observed.md W28. */
static bool target_stands_in_a_system_call(const struct sw_call *call)
{
    const struct sw_suspender *suspender = call->engine->suspender;
    if (!other_target_is_cooperative(call))
        return false;
    return target_is(call, SW_THREAD_IN_SYSTEM_CALL) || (call->suspended && suspender->in_system_call &&
                                                         suspender->in_system_call(suspender->arg, call->target.os_id));
}

static bool record_lies_below_the_stack_pointer(const struct sw_call *call)
{
    struct sw_transition record;
    uint64_t cursor = 0;
    return other_target_is_cooperative(call) && sw_call_record(call, &cursor, &record) &&
           record.address < sw_regs_sp(call->top);
}

static bool seed_is_not_managed_code(const struct sw_call *call)
{
    if (!call->seed)
        return false;
    const struct sw_range code = sw_code_given(call->engine, sw_regs_pc(call->seed));
    return !sw_code_is_managed(&code);
}

static bool dispatch_is_unwinding(const struct sw_call *call)
{
    return !call->seed && target_is(call, SW_THREAD_EXCEPTION_PASS2);
}

static bool exception_state_is_broken(const struct sw_call *call)
{
    return target_is(call, SW_THREAD_EXCEPTION_BROKEN);
}

/* ---- steps ---- */

static void hold_target(struct sw_call *call)
{
    if (sw_threads_enter(call->engine->threads, call->thread, &call->target, &call->held) != SW_OK)
        return;
    call->top = sw_call_is_for_caller(call) ? call->own : NULL;
    sw_call_ask(call);
}

/*
 * One walk of a thread at a time. Walks of other threads go on, those from callbacks of this one too. In the documented
 * flavour a target's walk of itself hinders no other thread: it is stopped with the target.
 */
static void lock_target(struct sw_call *call)
{
    const bool stops_it = call->engine->flavour == SW_FLAVOUR_DOCUMENTED && !sw_call_is_for_caller(call);
    call->rival = sw_threads_lock(call->held, call->caller ? call->caller : SOMEBODY);
    call->locked = call->rival == 0;
    if (stops_it && call->rival == call->target.os_id)
        call->rival = 0;
}

/* The walk that is going on is the caller's own. Otherwise two threads want the same one, which breaks no rule. */
static void report_nested_walk(struct sw_call *call)
{
    if (call->rival == call->caller)
        sw_call_report(call, SW_CONDUCT_NESTED_WALK);
}

void sw_call_enter_engine(struct sw_call *call)
{
    uint64_t *words = call->engine->state;
    const uint64_t idle = sw_call_idle(call);
    if (call->memo && __atomic_load_n(&words[SW_STATE_CALLS], __ATOMIC_RELAXED) == 0) {
        call->live = &words[SW_STATE_CALLS]; /* nobody else has the engine: no locked exchange is needed */
        __atomic_store_n(call->live, idle, __ATOMIC_RELAXED);
    }
    for (unsigned i = SW_STATE_CALLS; i < SW_STATE_END && !call->live; i++) {
        uint64_t free = 0;
        if (__atomic_compare_exchange_n(&words[i], &free, idle, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            call->live = &words[i];
    }
}

/* From here on the scratch is the call's. */
static void prepare_walker(struct sw_call *call)
{
    call->work->walker = *call->engine->walker;
    call->work->walker.stack_begin = call->target.stack_begin;
    call->work->walker.stack_end = call->target.stack_end;
}

/* Stops the target, which gives its registers, unless that was done before or it is the caller. */
static enum sw_status suspend_target(struct sw_call *call)
{
    const struct sw_suspender *suspender = call->engine->suspender;
    if (call->suspended || sw_call_is_for_caller(call))
        return SW_OK;
    if (!suspender || !suspender->suspend || !suspender->resume)
        return SW_E_UNSUPPORTED;
    if (target_is(call, SW_THREAD_UNSTARTED))
        return SW_E_BUSY;
    const enum sw_status status = suspender->suspend(suspender->arg, call->target.os_id, &call->work->stopped);
    call->suspended = status == SW_OK;
    if (call->suspended) {
        sw_code_pc(call->engine->walker, &call->work->stopped);
        call->top = &call->work->stopped;
    }
    return status;
}

/* Under SuspendRuntime the CLR stops nobody again. The documented flavour always does: native code runs on. */
static void stop_target(struct sw_call *call)
{
    const bool documented = call->engine->flavour == SW_FLAVOUR_DOCUMENTED;
    const bool is_stopped = sw_call_is_for_caller(call) || (!documented && !other_target_runs(call));
    if (is_stopped)
        call->suspending = SW_OK;
    else
        call->suspending = call->target.os_id != 0 ? suspend_target(call) : SW_E_GONE;
}

/* While it ran it may have changed its mode, and the runtime what it keeps of it. */
static void look_at_stopped_target(struct sw_call *call)
{
    if (call->suspended)
        sw_call_update(call);
}

/* A cooperative target is stopped under SuspendRuntime too: its registers are needed. */
static void stop_cooperative_target(struct sw_call *call)
{
    if (other_target_is_cooperative(call))
        call->suspending = suspend_target(call);
}

static bool made_a_first_walk(const struct sw_call *call)
{
    for (unsigned i = SW_STATE_FIRST; i < SW_STATE_CALLS; i++)
        if (sw_state_get(call->engine, i) == call->caller)
            return true;
    return false;
}

/*
 * Reports the broken rules of conduct that can be seen from here. A seed for another thread, or a suspended runtime,
 * shows that the caller had stopped the target before it called.
 */
static void report_conduct(struct sw_call *call)
{
    struct sw_thread caller = { 0 };
    if (call->caller == 0 || sw_call_is_for_caller(call))
        return;
    const bool known = sw_threads_find_os(call->engine->threads, call->caller, &caller) == SW_OK;
    const bool stopped_before = call->context || runtime_is(call, SW_RUNTIME_SUSPENDED);
    if (known && (caller.flags & SW_THREAD_RAN_MANAGED) != 0)
        sw_call_report(call, SW_CONDUCT_MANAGED_SUSPENDER);
    else if (stopped_before && !made_a_first_walk(call))
        sw_call_report(call, SW_CONDUCT_NO_FIRST_WALK);
}

/* The CLR does not even look at a seed for a preemptive target. */
static void drop_seed_of_preemptive_target(struct sw_call *call)
{
    if (call->context && target_is_preemptive(call))
        call->context = NULL;
}

static void read_seed(struct sw_call *call)
{
    struct sw_regs *seed = &call->work->seed;
    if (!call->context || sw_context_load(SW_CONTEXT_WIN32, call->engine->walker->machine, call->context,
                                          call->context_size, seed) != SW_OK)
        return;
    sw_code_pc(call->engine->walker, seed);
    call->seed = seed;
}

/* The registers of a stopped cooperative target take the place of a seed. */
static void seed_with_own_registers(struct sw_call *call)
{
    if (!call->seed && other_target_is_cooperative(call))
        call->seed = call->top;
}

/* Says in the refusal which code is there instead, and which seed would do. */
static void explain_bad_seed(struct sw_call *call)
{
    struct sw_refusal *refusal = sw_call_explain(call);
    struct sw_fault fault = { 0 };
    refusal->address = sw_regs_pc(call->seed);
    refusal->kind = (enum sw_kind)sw_code_at(call->engine->walker, refusal->address).kind;
    refusal->has_nearest_seed =
        sw_walk_find_seed(&call->work->walker, call->scratch, call->seed, &refusal->nearest_seed, &fault) == SW_OK;
}

/* ---- the table ---- */

/* A row is named by its function. FOUND: a check, and a step for when it fires, which says more about it. */
#define CHECK(check)       #check, check, NULL
#define FOUND(check, step) #check, check, step
#define STEP(step)         #step, NULL, step

/* What a flavour does at a row: it answers, takes the step, or does not have the row. S_FALSE is no answer. */
#define TAKE S_OK
#define SKIP S_FALSE

#define DETACHING   CORPROF_E_PROFILER_DETACHING
#define NOT_ENABLED CORPROF_E_INCONSISTENT_WITH_FLAGS
#define NO_THREAD   CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD
#define UNSAFE      CORPROF_E_STACKSNAPSHOT_UNSAFE
#define UNMANAGED   CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX

/* clang-format off */
static const struct {
    const char *section;
    const char *name;
    bool (*fires)(const struct sw_call *call);
    void (*act)(struct sw_call *call);
    HRESULT answers[SW_FLAVOUR_COUNT];
} rungs[] = {
    /* section, row                                          ORDER sw_flavour: documented    windows       unix */
    { "0",   CHECK(profiler_is_detaching),                             { DETACHING,    DETACHING,    DETACHING    } },
    { "1",   CHECK(runtime_has_not_started),                           { UNSAFE,       UNSAFE,       UNSAFE       } },
    { "2",   CHECK(snapshots_are_not_enabled),                         { NOT_ENABLED,  NOT_ENABLED,  NOT_ENABLED  } },
    { "3",   CHECK(a_flag_is_unknown),                                 { E_INVALIDARG, E_INVALIDARG, E_INVALIDARG } },
    { "2.4", CHECK(callback_is_null),                                  { E_INVALIDARG, E_INVALIDARG, E_INVALIDARG } },
    { "own", CHECK(engine_has_no_such_context),                        { E_INVALIDARG, E_INVALIDARG, E_INVALIDARG } },
    { "own", CHECK(seed_is_cut_short),                                 { E_INVALIDARG, SKIP,         SKIP         } },
    { "2.1", CHECK(caller_was_never_managed),                          { SKIP,         S_OK,         S_OK         } },
    { "2.1", STEP(hold_target),                                        { TAKE,         TAKE,         TAKE         } },
    { "4",   CHECK(heap_is_not_ready),                                 { SKIP,         S_OK,         S_OK         } },
    { "2.1", CHECK(ended_target_runs),                                 { SKIP,         SKIP,         E_NOTIMPL    } },
    { "2.1", CHECK(target_is_not_in_the_table),                        { NO_THREAD,    NO_THREAD,    E_FAIL       } },
    { "4",   CHECK(target_is_not_managed),                             { S_OK,         S_OK,         S_OK         } },
    { "5",   STEP(lock_target),                                        { TAKE,         TAKE,         TAKE         } },
    { "5",   FOUND(target_is_being_walked, report_nested_walk),        { UNSAFE,       UNSAFE,       UNSAFE       } },
    { "own", STEP(sw_call_enter_engine),                               { TAKE,         TAKE,         TAKE         } },
    { "own", CHECK(too_many_calls_go_on),                              { UNSAFE,       UNSAFE,       UNSAFE       } },
    { "own", CHECK(scratch_is_in_use),                                 { UNSAFE,       UNSAFE,       UNSAFE       } },
    { "own", STEP(prepare_walker),                                     { TAKE,         TAKE,         TAKE         } },
    { "5",   CHECK(return_address_is_being_changed),                   { UNSAFE,       UNSAFE,       UNSAFE       } },
    { "6",   CHECK(suspension_is_in_progress),                         { SKIP,         UNSAFE,       UNSAFE       } },
    { "7",   CHECK(target_forbids_suspension),                         { SKIP,         UNSAFE,       UNSAFE       } },
    { "7",   CHECK(other_target_forbids_suspension),                   { UNSAFE,       SKIP,         SKIP         } },
    { "8u",  CHECK(other_target_runs),                                 { SKIP,         SKIP,         E_NOTIMPL    } },
    { "8w",  STEP(stop_target),                                        { TAKE,         TAKE,         SKIP         } },
    { "8w",  CHECK(target_has_no_os_thread),                           { NO_THREAD,    NO_THREAD,    SKIP         } },
    { "8w2", CHECK(target_cannot_be_stopped),                          { UNSAFE,       UNSAFE,       SKIP         } },
    { "9a",  STEP(look_at_stopped_target),                             { TAKE,         TAKE,         SKIP         } },
    { "8w2", CHECK(other_target_forbids_suspension),                   { UNSAFE,       UNSAFE,       SKIP         } },
    { "D22", STEP(report_conduct),                                     { TAKE,         TAKE,         TAKE         } },
    { "9a",  STEP(drop_seed_of_preemptive_target),                     { SKIP,         TAKE,         TAKE         } },
    { "9b",  CHECK(other_target_is_cooperative),                       { SKIP,         SKIP,         E_NOTIMPL    } },
    { "9c",  STEP(stop_cooperative_target),                            { SKIP,         TAKE,         SKIP         } },
    { "9c",  CHECK(registers_cannot_be_had),                           { SKIP,         UNSAFE,       SKIP         } },
    { "9c",  CHECK(target_stands_in_a_system_call),                    { SKIP,         UNSAFE,       SKIP         } },
    { "9f",  CHECK(record_lies_below_the_stack_pointer),               { SKIP,         UNSAFE,       SKIP         } },
    { "own", CHECK(seed_is_cut_short),                                 { SKIP,         E_INVALIDARG, E_INVALIDARG } },
    { "D8",  STEP(read_seed),                                          { TAKE,         TAKE,         TAKE         } },
    { "9g",  STEP(seed_with_own_registers),                            { SKIP,         TAKE,         SKIP         } },
    { "10",  FOUND(seed_is_not_managed_code, explain_bad_seed),        { UNMANAGED,    UNMANAGED,    UNMANAGED    } },
    { "11",  CHECK(dispatch_is_unwinding),                             { SKIP,         UNMANAGED,    UNMANAGED    } },
    { "12",  CHECK(exception_state_is_broken),                         { SKIP,         UNSAFE,       UNSAFE       } },
};
/* clang-format on */

bool sw_ladder(struct sw_call *call, HRESULT *hr)
{
    const enum sw_flavour flavour = call->engine->flavour;
    for (size_t i = 0; i < sizeof rungs / sizeof rungs[0]; i++) {
        if (rungs[i].answers[flavour] == SKIP || (rungs[i].fires && !rungs[i].fires(call)))
            continue;
        if (rungs[i].act)
            rungs[i].act(call);
        if (!rungs[i].fires)
            continue;
        *hr = rungs[i].answers[flavour];
        call->reason = rungs[i].name;
        return true;
    }
    return false;
}
