/*
 * The fold: where a walk starts, which frames become callbacks, and what the end of the walk is worth as an HRESULT.
 * Knows the contract's idea of a stack (managed frames, runs, hidden frames, transition records); how a caller is found
 * is the walker's.
 *
 * Source: clr-contract.md sections 2.5, 2.6, 3 and 4; contract-documented.md D9, D12-D14, D18-D20, C1-C9.
 */
#include "contract/contract.h"

/* What the frame before was. A SWALLOWING frame is managed, hidden, and hides the run behind it too. */
enum before { NOTHING = 0, MANAGED, SWALLOWING, NATIVE };

/* Frames until now, and how far up the stack and the list of transition records they have come. */
struct fold {
    struct sw_contract_call *call;
    enum before before;
    uint64_t sp;
    size_t next_record;
    uint32_t frames_left;
    bool documented;
};

/* Where to start: regs null for nowhere. */
struct start {
    const struct sw_regs *regs;
    bool exact;
};

/* ---- one frame ---- */

/* What may be relied on: pc, sp and the nonvolatile integer registers, fp among them (C9). */
static void claim_registers(struct sw_regs *handed, const struct sw_regs *regs)
{
    const enum sw_machine machine = regs->machine;
    *handed = *regs;
    handed->known &= sw_regs_nonvolatile(machine) | UINT64_C(1) << sw_regs_pc_number(machine) |
                     UINT64_C(1) << sw_regs_sp_number(machine) | UINT64_C(1) << sw_regs_fp_number(machine);
}

static struct sw_frame_info *next_record_of(struct fold *fold)
{
    const uint32_t turn = fold->documented ? fold->call->reported % SW_FRAME_RECORDS : 0;
    return &fold->call->work->records[turn];
}

static ULONG32 fill_context(struct sw_contract_call *call)
{
    const enum sw_machine machine = call->engine->walker->machine;
    const size_t size =
        call->engine->context_size ? call->engine->context_size : sw_context_size(SW_CONTEXT_WIN32, machine);
    if ((call->info_flags & COR_PRF_SNAPSHOT_REGISTER_CONTEXT) == 0)
        return 0;
    if (sw_context_store(SW_CONTEXT_WIN32, &call->work->handed, call->work->context, size) != SW_OK)
        return 0;
    return (ULONG32)size;
}

/* One callback. False: it wants no more. */
static bool call_back(struct fold *fold, FunctionID function, const struct sw_frame *frame)
{
    struct sw_contract_call *call = fold->call;
    struct sw_frame_info *record = next_record_of(fold);
    const UINT_PTR ip = (UINT_PTR)sw_regs_pc(&frame->regs);
    claim_registers(&call->work->handed, &frame->regs);
    *record = (struct sw_frame_info){ .size = (USHORT)offsetof(struct sw_frame_info, known),
                                      .version = 1,
                                      .function = function,
                                      .ip = ip,
                                      .known = call->work->handed.known,
                                      .source = frame->source,
                                      .trust = frame->trust,
                                      .exact = frame->exact };
    const ULONG32 size = fill_context(call);
    call->reported++;
    call->engine->state[SW_STATE_LIVE_FRAME] = (uintptr_t)record;
    const HRESULT hr = call->callback(function, ip, (COR_PRF_FRAME_INFO)(uintptr_t)record, size,
                                      size ? call->work->context : NULL, call->client_data);
    call->engine->state[SW_STATE_LIVE_FRAME] = 0;
    return hr == S_OK;
}

/* The documented flavour shows what the CLR hides. */
static bool fold_managed(struct fold *fold, const struct sw_frame *frame)
{
    const bool dispatch = !fold->documented && (frame->code.flags & SW_RANGE_EH_DISPATCH) != 0;
    const bool hidden = dispatch || (!fold->documented && (frame->code.flags & SW_RANGE_HIDDEN) != 0);
    fold->before = dispatch ? SWALLOWING : MANAGED;
    return hidden || call_back(fold, (FunctionID)frame->code.id, frame);
}

/*
 * A run is reported at its leaf end, the frame most recently pushed. The CLR knows a run only as what a managed frame
 * returned into, so it never reports the one at the leaf.
 */
static bool fold_native(struct fold *fold, const struct sw_frame *frame)
{
    const enum before before = fold->before;
    const bool each = (fold->call->engine->options & SW_ENGINE_EVERY_NATIVE_FRAME) != 0;
    const bool reported = fold->documented ? before != NATIVE || each : before == MANAGED;
    fold->before = NATIVE;
    return !reported || call_back(fold, 0, frame);
}

static bool fold_frame(struct fold *fold, const struct sw_frame *frame)
{
    fold->sp = sw_regs_sp(&frame->regs);
    return sw_code_is_managed(&frame->code) ? fold_managed(fold, frame) : fold_native(fold, frame);
}

/* ---- transition records ---- */

static bool leads_on(const struct sw_transition *record, enum sw_machine machine)
{
    return record->regs.machine == machine && sw_regs_has(&record->regs, sw_regs_pc_number(machine)) &&
           sw_regs_has(&record->regs, sw_regs_sp_number(machine));
}

/*
 * The next record that leads to a managed frame above the stack pointer `above`; those below are passed over for good.
 * Null when there is none.
 */
static const struct sw_transition *take_record(struct fold *fold, uint64_t above)
{
    const struct sw_thread *target = &fold->call->target;
    while (target->transitions && fold->next_record < target->transition_count) {
        const struct sw_transition *record = &target->transitions[fold->next_record++];
        if (leads_on(record, fold->call->engine->walker->machine) && record->address >= above &&
            sw_regs_sp(&record->regs) >= above)
            return record;
    }
    return NULL;
}

static bool a_record_has_a_method(const struct sw_thread *target)
{
    for (size_t i = 0; target->transitions && i < target->transition_count; i++)
        if (target->transitions[i].has_method)
            return true;
    return false;
}

/*
 * A thread parked at the top record was stopped at an instruction of the managed frame itself; otherwise the record
 * holds a return address.
 */
static struct start start_at_record(struct fold *fold)
{
    const struct sw_contract_call *call = fold->call;
    const bool parked = (call->target.flags & SW_THREAD_RESUMABLE_TOP) != 0;
    const bool stopped_by_os = call->engine->flavour == SW_FLAVOUR_CORECLR_WINDOWS && !sw_call_is_for_caller(call) &&
                               (call->engine->runtime & SW_RUNTIME_SUSPENDED) == 0;
    if (parked && stopped_by_os)
        return (struct start){ 0 }; /* the CLR's walker gives up here: section 2.6 */
    const struct sw_transition *record = take_record(fold, 0);
    if (!record)
        return (struct start){ 0 };
    return (struct start){ &record->regs, parked && fold->next_record == 1 };
}

/* ---- the start ---- */

/* Whether the top of the stack is runtime helper code: not managed, and not what a platform invoke called. */
static bool helper_is_on_top(const struct sw_contract_call *call)
{
    if (!call->top)
        return true;
    const struct sw_range code = sw_code_at(call->engine->walker, sw_regs_pc(call->top));
    return !sw_code_is_managed(&code) && call->target.mode != SW_MODE_PREEMPTIVE;
}

static struct start documented_start(struct fold *fold)
{
    const struct sw_contract_call *call = fold->call;
    if (!helper_is_on_top(call))
        return (struct start){ call->top, true };
    if (call->seed)
        return (struct start){ call->seed, true };
    if (call->top && (call->engine->options & SW_ENGINE_NO_AUTO_SEED) == 0)
        return (struct start){ call->top, true };
    return start_at_record(fold);
}

static struct start clr_start(struct fold *fold)
{
    if (fold->call->seed)
        return (struct start){ fold->call->seed, true };
    return start_at_record(fold);
}

/* ---- the walk and its end ---- */

/* Walks one stretch. False: the callback ended it. */
static bool walk_stretch(struct fold *fold, struct start start)
{
    struct sw_contract_work *work = fold->call->work;
    work->walker.max_frames = fold->frames_left;
    sw_walk_start(&work->walk, &work->walker, fold->call->scratch, start.regs, start.exact);
    while (sw_walk_next(&work->walk))
        if (!fold_frame(fold, &work->walk.frame)) {
            work->walk.stop = SW_STOP_ABORTED;
            return false;
        }
    fold->frames_left -= work->walk.depth < fold->frames_left ? work->walk.depth : fold->frames_left;
    return true;
}

static bool is_root(enum sw_stop stop)
{
    return stop == SW_STOP_ROOT || stop == SW_STOP_ROOT_ZERO || stop == SW_STOP_ROOT_BASE;
}

/*
 * Where to go on after a stretch that ended in a native run: at the next record above. The CLR trusts its records only,
 * so there a clean root does not end the walk while a record is left.
 */
static struct start go_on(struct fold *fold)
{
    const enum sw_stop stop = fold->call->work->walk.stop;
    if (fold->before != NATIVE || stop == SW_STOP_FRAME_LIMIT || fold->frames_left == 0)
        return (struct start){ 0 };
    if (fold->documented && is_root(stop))
        return (struct start){ 0 };
    const struct sw_transition *record = take_record(fold, fold->sp);
    return (struct start){ record ? &record->regs : NULL, false };
}

/* What the end of the last stretch is worth; see the card of sw_snapshot, "Cuts". */
static HRESULT outcome(const struct fold *fold)
{
    const enum sw_stop stop = fold->call->work->walk.stop;
    const bool has_records = fold->call->target.transitions && fold->call->target.transition_count > 0;
    if (stop == SW_STOP_ABORTED)
        return CORPROF_E_STACKSNAPSHOT_ABORTED;
    if (is_root(stop))
        return S_OK;
    if (stop == SW_STOP_FRAME_LIMIT)
        return E_FAIL;
    if (fold->before == NATIVE && (!fold->documented || has_records))
        return S_OK;
    return stop == SW_STOP_UNREADABLE && !fold->documented ? E_UNEXPECTED : E_FAIL;
}

static HRESULT explained(const struct fold *fold, HRESULT hr)
{
    const struct sw_walk *walk = &fold->call->work->walk;
    fold->call->engine->stop = walk->stop;
    fold->call->reason = sw_stop_name(walk->stop);
    if (hr == S_OK)
        return hr;
    struct sw_refusal *refusal = sw_call_explain(fold->call);
    refusal->stop = walk->stop;
    refusal->address = walk->stop == SW_STOP_BAD_START ? 0 : sw_regs_pc(&walk->frame.regs);
    refusal->kind = (enum sw_kind)walk->frame.code.kind;
    return hr;
}

/* Nothing to start from. The CLR calls it a success when some record names a method, though it leads nowhere: 3.3. */
static HRESULT empty_walk(const struct fold *fold)
{
    fold->call->reason = "nothing_to_start_from";
    const bool looked_at_records = fold->next_record > 0;
    return !fold->documented && looked_at_records && a_record_has_a_method(&fold->call->target) ? S_OK : E_FAIL;
}

HRESULT sw_fold(struct sw_contract_call *call)
{
    enum { DEFAULT_FRAMES = 10000 };
    const uint32_t most = call->engine->walker->max_frames;
    struct fold fold = { .call = call,
                         .frames_left = most ? most : DEFAULT_FRAMES,
                         .documented = call->engine->flavour == SW_FLAVOUR_DOCUMENTED };
    struct start start = fold.documented ? documented_start(&fold) : clr_start(&fold);
    if (!start.regs)
        return empty_walk(&fold);
    do {
        if (!walk_stretch(&fold, start))
            break;
        start = go_on(&fold);
    } while (start.regs);
    return explained(&fold, outcome(&fold));
}
