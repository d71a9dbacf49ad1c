/*
 * The ladder: every check that DoStackSnapshot makes before it walks, in order, as one table; the first that fires
 * wins. Knows the engine's state, the thread table and the suspender; refuses to know how frames are found or reported.
 *
 * Rows are numbered as in clr-contract.md section 1 (decimals: section 2). Rungs that only a Windows kernel has (9c's
 * safe context, 9d's lock, 9e's mode change while stopped) have no counterpart here: registers come from the suspender,
 * code lookup takes no lock, and the table does not change a thread that a walk holds.
 */
#include "snapshot/call.h"

/* The flavours in which a row holds. */
#define D   (1u << SW_FLAVOUR_DOCUMENTED)
#define W   (1u << SW_FLAVOUR_CORECLR_WINDOWS)
#define U   (1u << SW_FLAVOUR_CORECLR_UNIX)
#define CLR (W | U)
#define ALL (D | CLR)

static bool profiler_is_detaching(struct sw_call *call)
{
    return (call->engine->runtime & SW_RUNTIME_DETACHING) != 0;
}

static bool runtime_has_not_started(struct sw_call *call)
{
    return (call->engine->runtime & SW_RUNTIME_STARTED) == 0;
}

static bool snapshots_are_not_enabled(struct sw_call *call)
{
    return (call->engine->event_mask & COR_PRF_ENABLE_STACK_SNAPSHOT) == 0;
}

/* X86_OPTIMIZED is known on x86 only, which no target of this library is. */
static bool a_flag_is_unknown(struct sw_call *call)
{
    return (call->info_flags & ~(ULONG32)COR_PRF_SNAPSHOT_REGISTER_CONTEXT) != 0;
}

static bool callback_is_null(struct sw_call *call)
{
    return !call->callback;
}

static bool engine_has_no_such_context(struct sw_call *call)
{
    static const struct {
        enum sw_machine machine;
        ULONG32 size;
    } sizes[] = { { SW_MACHINE_X64, 1232 }, { SW_MACHINE_X64, 1504 },  { SW_MACHINE_X64, 3104 },
                  { SW_MACHINE_X64, 3232 }, { SW_MACHINE_ARM64, 912 }, { SW_MACHINE_ARM64, 992 } };
    if (call->engine->context_size == 0)
        return false;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].machine == call->engine->walker->machine && sizes[i].size == call->engine->context_size)
            return false;
    return true;
}

static bool seed_is_cut_short(struct sw_call *call)
{
    return call->context && call->context_size < sw_context_needed(SW_CONTEXT_WIN32, call->engine->walker->machine);
}

static bool caller_was_never_managed(struct sw_call *call)
{
    return call->thread == 0;
}

static bool target_is_not_in_the_table(struct sw_call *call)
{
    call->held = sw_threads_hold(call->engine->threads, call->thread, &call->target) == SW_OK;
    call->top = call->held && sw_call_is_for_caller(call) ? call->own : NULL;
    const struct sw_inspector *inspector = call->engine->inspector;
    if (call->held && inspector)
        inspector->update(inspector->arg, &call->target);
    return !call->held;
}

static bool target_is_not_managed(struct sw_call *call)
{
    return (call->target.flags & SW_THREAD_GC_SPECIAL) != 0 || (call->engine->runtime & SW_RUNTIME_HEAP_READY) == 0;
}

/* Lets one call in; from here on the scratch may be used. */
static bool engine_is_inside_a_call(struct sw_call *call)
{
    if (__atomic_exchange_n(&call->engine->state[SW_STATE_INSIDE], 1, __ATOMIC_ACQUIRE) == 0) {
        call->inside = true;
        call->engine->stop = SW_STOP_NONE;
        call->work->walker = *call->engine->walker;
        call->work->walker.stack_begin = call->target.stack_begin;
        call->work->walker.stack_end = call->target.stack_end;
        return false;
    }
    sw_call_report(call, SW_CONDUCT_NESTED_WALK);
    return true;
}

static bool return_address_is_being_changed(struct sw_call *call)
{
    return (call->target.flags & SW_THREAD_HIJACK_LOCKED) != 0;
}

static bool suspension_is_in_progress(struct sw_call *call)
{
    return !sw_call_is_for_caller(call) && (call->engine->runtime & SW_RUNTIME_SUSPENDING) != 0 &&
           sw_threads_find_os(call->engine->threads, call->caller, NULL) == SW_OK;
}

static bool target_forbids_suspension(struct sw_call *call)
{
    return (call->target.flags & SW_THREAD_FORBID_SUSPEND) != 0;
}

static bool other_target_forbids_suspension(struct sw_call *call)
{
    return !sw_call_is_for_caller(call) && target_forbids_suspension(call);
}

static bool other_target_runs(struct sw_call *call)
{
    return !sw_call_is_for_caller(call) && (call->engine->runtime & SW_RUNTIME_SUSPENDED) == 0;
}

/* Stops the target, which gives its registers, unless that was done before or it is the caller. */
static enum sw_status stop_target(struct sw_call *call)
{
    const struct sw_suspender *suspender = call->engine->suspender;
    if (call->suspended || sw_call_is_for_caller(call))
        return SW_OK;
    if (!suspender || !suspender->suspend || !suspender->resume)
        return SW_E_UNSUPPORTED;
    if ((call->target.flags & SW_THREAD_UNSTARTED) != 0)
        return SW_E_BUSY;
    const enum sw_status status = suspender->suspend(suspender->arg, call->target.os_id, &call->work->stopped);
    call->suspended = status == SW_OK;
    if (call->suspended) {
        sw_code_pc(call->engine->walker, &call->work->stopped);
        call->top = &call->work->stopped;
    }
    return status;
}

/* Under SuspendRuntime the CLR stops nobody again; the documented flavour always does: native code runs on. */
static bool target_has_no_os_thread(struct sw_call *call)
{
    call->suspending = SW_OK;
    if (sw_call_is_for_caller(call))
        return false;
    if (call->engine->flavour != SW_FLAVOUR_DOCUMENTED && !other_target_runs(call))
        return false;
    call->suspending = call->target.os_id != 0 ? stop_target(call) : SW_E_GONE;
    return call->suspending == SW_E_GONE;
}

static bool target_cannot_be_stopped(struct sw_call *call)
{
    return call->suspending != SW_OK;
}

static bool made_a_first_walk(const struct sw_call *call)
{
    for (unsigned i = SW_STATE_FIRST; i < SW_STATE_END; i++)
        if (call->engine->state[i] == call->caller)
            return true;
    return false;
}

/*
 * Never fires: notes the rules of conduct that can be seen from here. A seed for another thread, or a suspended
 * runtime, shows that the caller had stopped the target before it called.
 */
static bool conduct_is_noted(struct sw_call *call)
{
    struct sw_thread caller = { 0 };
    if (call->caller == 0 || sw_call_is_for_caller(call))
        return false;
    const bool known = sw_threads_find_os(call->engine->threads, call->caller, &caller) == SW_OK;
    const bool stopped_before = call->context || (call->engine->runtime & SW_RUNTIME_SUSPENDED) != 0;
    if (known && (caller.flags & SW_THREAD_RAN_MANAGED) != 0)
        sw_call_report(call, SW_CONDUCT_MANAGED_SUSPENDER);
    else if (stopped_before && !made_a_first_walk(call))
        sw_call_report(call, SW_CONDUCT_NO_FIRST_WALK);
    return false;
}

/* Never fires: a seed for a preemptive target is not even looked at. */
static bool seed_is_dropped(struct sw_call *call)
{
    if (call->context && sw_call_is_preemptive(call))
        call->context = NULL;
    return false;
}

static bool other_target_is_cooperative(struct sw_call *call)
{
    return !sw_call_is_for_caller(call) && !sw_call_is_preemptive(call);
}

static bool registers_cannot_be_had(struct sw_call *call)
{
    return other_target_is_cooperative(call) && stop_target(call) != SW_OK;
}

static bool record_lies_below_the_stack_pointer(struct sw_call *call)
{
    uint64_t cursor = 0;
    return other_target_is_cooperative(call) && sw_call_record(call, &cursor, &call->work->record) &&
           call->work->record.address < sw_regs_sp(call->top);
}

/* Never fires: the caller's seed is read, or the target's own registers take its place. */
static bool seed_is_taken(struct sw_call *call)
{
    struct sw_regs *seed = &call->work->seed;
    if (call->context && sw_context_load(SW_CONTEXT_WIN32, call->engine->walker->machine, call->context,
                                         call->context_size, seed) == SW_OK) {
        sw_code_pc(call->engine->walker, seed);
        call->seed = seed;
    }
    return false;
}

static bool own_registers_are_the_seed(struct sw_call *call)
{
    if (!call->seed && other_target_is_cooperative(call))
        call->seed = call->top;
    return false;
}

/* Says in the refusal what is there instead, and which seed would do. */
static void explain_bad_seed(struct sw_call *call, const struct sw_range *code)
{
    struct sw_refusal *refusal = sw_call_explain(call);
    struct sw_fault fault = { 0 };
    refusal->address = sw_regs_pc(call->seed);
    refusal->kind = (enum sw_kind)code->kind;
    refusal->has_nearest_seed =
        sw_walk_find_seed(&call->work->walker, call->scratch, call->seed, &refusal->nearest_seed, &fault) == SW_OK;
}

static bool seed_is_not_managed_code(struct sw_call *call)
{
    if (!call->seed)
        return false;
    const struct sw_range code = sw_code_at(call->engine->walker, sw_regs_pc(call->seed));
    if (sw_code_is_managed(&code))
        return false;
    explain_bad_seed(call, &code);
    return true;
}

static bool dispatch_is_unwinding(struct sw_call *call)
{
    return !call->seed && (call->target.flags & SW_THREAD_EXCEPTION_PASS2) != 0;
}

static bool exception_state_is_broken(struct sw_call *call)
{
    return (call->target.flags & SW_THREAD_EXCEPTION_BROKEN) != 0;
}

/* A check is named by its function. */
#define RUNG(check) #check, check

/* clang-format off */
static const struct {
    const char *step;
    const char *name;
    bool (*fires)(struct sw_call *call);
    unsigned flavours;
    HRESULT answer;
} rungs[] = {
    /* step  check                                      flavours answer */
    { "0",   RUNG(profiler_is_detaching),                ALL,    CORPROF_E_PROFILER_DETACHING },
    { "1",   RUNG(runtime_has_not_started),              ALL,    CORPROF_E_STACKSNAPSHOT_UNSAFE },
    { "2",   RUNG(snapshots_are_not_enabled),            ALL,    CORPROF_E_INCONSISTENT_WITH_FLAGS },
    { "3",   RUNG(a_flag_is_unknown),                    ALL,    E_INVALIDARG },
    { "2.4", RUNG(callback_is_null),                     ALL,    E_INVALIDARG },
    { "own", RUNG(engine_has_no_such_context),           ALL,    E_INVALIDARG },
    { "own", RUNG(seed_is_cut_short),                    D,      E_INVALIDARG },
    { "2.1", RUNG(caller_was_never_managed),             CLR,    S_OK },
    { "2.1", RUNG(target_is_not_in_the_table),           ALL,    CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD },
    { "4",   RUNG(target_is_not_managed),                ALL,    S_OK },
    { "5",   RUNG(engine_is_inside_a_call),              ALL,    CORPROF_E_STACKSNAPSHOT_UNSAFE },
    { "5",   RUNG(return_address_is_being_changed),      ALL,    CORPROF_E_STACKSNAPSHOT_UNSAFE },
    { "6",   RUNG(suspension_is_in_progress),            CLR,    CORPROF_E_STACKSNAPSHOT_UNSAFE },
    { "7",   RUNG(target_forbids_suspension),            CLR,    CORPROF_E_STACKSNAPSHOT_UNSAFE },
    { "7",   RUNG(other_target_forbids_suspension),      D,      CORPROF_E_STACKSNAPSHOT_UNSAFE },
    { "8u",  RUNG(other_target_runs),                    U,      E_NOTIMPL },
    { "8w",  RUNG(target_has_no_os_thread),              D | W,  CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD },
    { "8w2", RUNG(target_cannot_be_stopped),             D | W,  CORPROF_E_STACKSNAPSHOT_UNSAFE },
    { "D22", RUNG(conduct_is_noted),                     ALL,    S_OK },
    { "9a",  RUNG(seed_is_dropped),                      CLR,    S_OK },
    { "9b",  RUNG(other_target_is_cooperative),          U,      E_NOTIMPL },
    { "9c",  RUNG(registers_cannot_be_had),              W,      CORPROF_E_STACKSNAPSHOT_UNSAFE },
    { "9f",  RUNG(record_lies_below_the_stack_pointer),  W,      CORPROF_E_STACKSNAPSHOT_UNSAFE },
    { "own", RUNG(seed_is_cut_short),                    CLR,    E_INVALIDARG },
    { "D8",  RUNG(seed_is_taken),                        ALL,    S_OK },
    { "9g",  RUNG(own_registers_are_the_seed),           W,      S_OK },
    { "10",  RUNG(seed_is_not_managed_code),             ALL,    CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX },
    { "11",  RUNG(dispatch_is_unwinding),                CLR,    CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX },
    { "12",  RUNG(exception_state_is_broken),            CLR,    CORPROF_E_STACKSNAPSHOT_UNSAFE },
};
/* clang-format on */

bool sw_ladder(struct sw_call *call, HRESULT *hr)
{
    const unsigned flavour = 1u << call->engine->flavour;
    for (size_t i = 0; i < sizeof rungs / sizeof rungs[0]; i++)
        if ((rungs[i].flavours & flavour) != 0 && rungs[i].fires(call)) {
            *hr = rungs[i].answer;
            call->reason = rungs[i].name;
            return true;
        }
    return false;
}

static bool take_record(const struct sw_call *call, uint64_t *cursor, struct sw_transition *record)
{
    const struct sw_inspector *inspector = call->engine->inspector;
    if (inspector)
        return inspector->record(inspector->arg, &call->target, cursor, record);
    if (!call->target.transitions || *cursor >= call->target.transition_count)
        return false;
    *record = call->target.transitions[(*cursor)++];
    return true;
}

bool sw_call_record(const struct sw_call *call, uint64_t *cursor, struct sw_transition *record)
{
    if (!take_record(call, cursor, record))
        return false;
    sw_code_pc(call->engine->walker, &record->regs);
    return true;
}

/* Whether some transition record leads to a managed frame. */
static bool a_record_leads_on(struct sw_call *call)
{
    uint64_t cursor = 0;
    while (sw_call_record(call, &cursor, &call->work->record))
        if (call->work->record.regs.known != 0)
            return true;
    return false;
}

bool sw_call_is_preemptive(struct sw_call *call)
{
    if (call->target.mode != SW_MODE_UNKNOWN)
        return call->target.mode == SW_MODE_PREEMPTIVE;
    if (!sw_call_is_for_caller(call) && (call->engine->runtime & SW_RUNTIME_SUSPENDED) != 0)
        return true; /* a finished suspension leaves every other thread so */
    if (call->top && sw_code_at(call->engine->walker, sw_regs_pc(call->top)).kind != SW_KIND_NATIVE)
        return false;
    return a_record_leads_on(call);
}
