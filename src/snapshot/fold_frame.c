/*
 * Which frames become callbacks: managed frames one by one, runs of native ones as one, and what the CLR hides. Knows
 * transition records, handlers and exceptions in flight. Refuses to know where frames come from (fold.c) and what a
 * callback gets (callback.c).
 *
 * Source: clr-contract.md sections 2.6 and 3; contract-documented.md D12-D14.
 */
#include "snapshot/fold.h"

/*
 * Whether a handler that was met runs for a frame of its method. It runs with that one's frame pointer, and a method
 * with handlers has one of its own (CLR ABI). Where it was stopped itself it may not have taken it yet, or have given
 * it back: then the frame is the one up to which an exception has unwound.
 *
 * Source: clr-windows-observed.md W96.
 */
static bool is_handled_in(const struct sw_fold *fold, const struct sw_frame *frame)
{
    const uint64_t sp = sw_regs_sp(&frame->regs);
    bool is_caught_here = false;
    for (unsigned i = 0; fold->handler_is_leaf && i < fold->unwound_count; i++)
        is_caught_here |= fold->call->work->unwound[i].high == sp;
    return (is_caught_here || sw_regs_fp(&frame->regs) == fold->handler_fp) &&
           sw_function_of(fold->call->engine, &frame->code, frame->lookup) == fold->handler;
}

/*
 * Whether a managed frame is passed over as part of a handler: the handler itself, and all between it and its method.
 * Of a frame that is replayed the event of its method may have come since: both are asked for by FunctionID.
 */
static bool is_inside_handler(struct sw_fold *fold, const struct sw_frame *frame)
{
    const bool funclet = (frame->code.flags & SW_RANGE_FUNCLET) != 0;
    if (fold->documented)
        return false;
    if (fold->handler == 0 && funclet && sw_regs_has(&frame->regs, sw_regs_fp_number(frame->regs.machine))) {
        fold->handler = sw_function_of(fold->call->engine, &frame->code, frame->lookup);
        fold->handler_fp = sw_regs_fp(&frame->regs);
        fold->handler_is_leaf = frame->exact;
    }
    if (fold->handler == 0)
        return false;
    const bool is_method = !funclet && (frame->code.flags & SW_RANGE_FILTER) == 0 && is_handled_in(fold, frame);
    if (is_method)
        fold->handler = 0;
    return !is_method;
}

/* Whether a record lies in a frame, though it names another sp: arguments had not been pushed yet. */
static bool is_in_frame(const struct sw_transition *record, const struct sw_frame *frame)
{
    const struct sw_regs *noted = &record->regs, *regs = &frame->regs;
    return record->address >= sw_regs_sp(regs) && sw_regs_sp(noted) > sw_regs_sp(regs) &&
           sw_regs_fp(noted) == sw_regs_fp(regs) && sw_regs_pc(noted) > frame->code.begin &&
           sw_regs_pc(noted) <= frame->code.end;
}

/* Whether the runtime has noted a frame; records of frames nearer the leaf are passed over for good. */
static bool find_record(struct sw_fold *fold, const struct sw_frame *frame)
{
    const struct sw_transition *record = &fold->call->work->record;
    const uint64_t sp = sw_regs_sp(&frame->regs);
    while (!fold->has_record || sw_regs_sp(&record->regs) < sp) {
        fold->has_record = sw_fold_take_record(fold, 0) != NULL;
        if (!fold->has_record)
            return false;
    }
    fold->is_noted = sw_regs_sp(&record->regs) == sp || is_in_frame(record, frame);
    return fold->is_noted;
}

/*
 * Whether the CLR comes to a managed frame. Behind a run of native ones it does so by its records only. Between a
 * handler and its method every frame is passed over, but the CLR goes through them, and takes registers from records.
 */
static bool is_come_to(struct sw_fold *fold, const struct sw_frame *frame)
{
    if (!fold->call->engine->inspector || (fold->before != NATIVE && fold->handler == 0))
        return true;
    return find_record(fold, frame) || fold->handler != 0;
}

/* Behind a fault a walk comes over frames that the runtime has made up. The walk goes on with the registers noted. */
static void correct_walk(const struct sw_fold *fold)
{
    const struct sw_regs *record = &fold->call->work->record.regs;
    struct sw_regs *here = &fold->call->work->walk.frame.regs;
    const uint64_t place = UINT64_C(1) << fold->pc | UINT64_C(1) << sw_regs_sp_number(here->machine);
    sw_fold_take_registers(here, record, record->known & ~place);
}

/* The registers of such a frame: its pc and sp may have been noted just before the call. */
static const struct sw_regs *noted_regs(struct sw_fold *fold, const struct sw_frame *frame)
{
    const struct sw_regs *record = &fold->call->work->record.regs;
    struct sw_regs *regs = &fold->call->work->noted;
    const bool is_noted = fold->is_noted;
    if (fold->shown_pc == 0 && !is_noted)
        return &frame->regs;
    if (is_noted)
        correct_walk(fold);
    *regs = frame->regs;
    sw_regs_set(regs, fold->pc, is_noted ? sw_regs_pc(record) : fold->shown_pc);
    if (is_noted) {
        sw_regs_set(regs, sw_regs_sp_number(regs->machine), sw_regs_sp(record));
        fold->noted_flags = fold->call->work->record.context_flags;
    }
    fold->is_noted = false;
    fold->has_record = fold->has_record && !is_noted;
    fold->shown_pc = 0;
    return regs;
}

void sw_fold_find_unwound(struct sw_fold *fold)
{
    const struct sw_call *call = fold->call;
    const struct sw_inspector *inspector = call->engine->inspector;
    uint64_t cursor = 0, low, high;
    if (fold->documented || !inspector)
        return;
    for (unsigned i = 0; i < SW_UNWOUND_MAX && inspector->unwound(inspector->arg, &call->target, &cursor, &low, &high);
         i++) {
        if (low >= high)
            continue;
        call->work->unwound[fold->unwound_count].low = low;
        call->work->unwound[fold->unwound_count++].high = high;
        fold->unwound_end = high > fold->unwound_end ? high : fold->unwound_end;
    }
}

static bool is_unwound(const struct sw_fold *fold, const struct sw_frame *frame)
{
    const uint64_t sp = sw_regs_sp(&frame->regs);
    for (unsigned i = 0; sp < fold->unwound_end && i < fold->unwound_count; i++)
        if (sp >= fold->call->work->unwound[i].low && sp < fold->call->work->unwound[i].high)
            return true;
    return false;
}

bool sw_fold_report_run(struct sw_fold *fold, bool swallowed)
{
    const uint32_t hidden_since = fold->hidden - fold->run_hidden;
    const bool reported = fold->has_run && !swallowed;
    fold->has_run = false;
    if (!reported)
        return true;
    fold->hidden = fold->run_hidden;
    const bool goes_on = sw_fold_call_back(fold, 0, &fold->call->work->run, &fold->call->work->run.regs);
    fold->hidden = hidden_since;
    return goes_on;
}

/*
 * What is not there for the CLR. Dispatch that an exception has unwound swallows the run behind it, but not the one in
 * front.
 */
static bool is_passed_over(struct sw_fold *fold, const struct sw_frame *frame)
{
    if ((fold->handler != 0 || !is_unwound(fold, frame)) && !is_inside_handler(fold, frame))
        return false;
    fold->before = (frame->code.flags & SW_RANGE_EH_DISPATCH) != 0 ? SWALLOWING : MANAGED;
    fold->hidden++;
    return true;
}

/*
 * The CLR's unwinder for ARM64 on Unix notes in ContextFlags that a frame was unwound from a call. Everything further
 * out has that, until a record brings a CONTEXT of its own.
 */
static bool leave_managed(const struct sw_fold *fold, bool goes_on)
{
    const struct sw_engine *engine = fold->call->engine;
    if (engine->walker->machine == SW_MACHINE_ARM64 && engine->flavour == SW_FLAVOUR_CORECLR_UNIX)
        sw_fold_note_unwound(fold);
    return goes_on;
}

/* The filters of a runtime that dispatches exceptions in managed code are called by hidden code, others by native. */
static bool is_dispatched_natively(const struct sw_fold *fold)
{
    return (fold->call->engine->options & SW_ENGINE_NATIVE_DISPATCH) != 0;
}

/* Flavour documented: everything is shown. */
static bool fold_every_managed(struct sw_fold *fold, const struct sw_frame *frame)
{
    fold->before = MANAGED;
    return sw_fold_call_back(fold, sw_function_of(fold->call->engine, &frame->code, frame->lookup), frame,
                             &frame->regs);
}

/* The coreclr flavours: what the CLR hides is hidden. */
static bool fold_managed(struct sw_fold *fold, const struct sw_frame *frame)
{
    if (sw_fold_calls_back_managed(fold, sw_regs_sp(&frame->regs)) && frame->code.flags == 0)
        return sw_fold_call_back(fold, (FunctionID)frame->code.id, frame, &frame->regs); /* most are so */
    if (fold->call->noting)
        sw_memo_note_use(fold->call->noting);
    const bool dispatch = (frame->code.flags & SW_RANGE_EH_DISPATCH) != 0;
    const bool filter = (frame->code.flags & SW_RANGE_FILTER) != 0;
    if (!is_come_to(fold, frame))
        return true;
    const struct sw_regs *regs = noted_regs(fold, frame);
    const bool hidden = (frame->code.flags & SW_RANGE_HIDDEN) != 0;
    const bool passed_over = is_passed_over(fold, frame);
    if ((dispatch || !hidden) && !sw_fold_report_run(fold, dispatch && !passed_over))
        return false;
    sw_fold_set_context_flags(fold, fold->noted_flags);
    fold->noted_flags = 0;
    if (passed_over)
        return leave_managed(fold, true);
    fold->before = dispatch || (filter && !is_dispatched_natively(fold)) ? SWALLOWING : MANAGED;
    if (dispatch || hidden) {
        fold->hidden++;
        return leave_managed(fold, true);
    }
    return leave_managed(
        fold, sw_fold_call_back(fold, sw_function_of(fold->call->engine, &frame->code, frame->lookup), frame, regs));
}

/*
 * A run is reported at its leaf end, the frame most recently pushed. The CLR knows a run only as what a managed frame
 * returned into, so it never reports the one at the leaf.
 */
static bool fold_native(struct sw_fold *fold, const struct sw_frame *frame)
{
    const enum before before = fold->before;
    const bool each = (fold->call->engine->options & SW_ENGINE_EVERY_NATIVE_FRAME) != 0;
    fold->before = NATIVE;
    if (fold->documented)
        return (before == NATIVE && !each) || sw_fold_call_back(fold, 0, frame, &frame->regs);
    if (before != MANAGED)
        return true;
    if (!sw_fold_report_run(fold, false)) /* in front of a hidden stub */
        return false;
    if (fold->call->noting)
        sw_memo_note_registers(fold->call->noting);
    fold->call->work->run = *frame;
    fold->run_hidden = fold->hidden;
    fold->has_run = true;
    return true;
}

/*
 * Where no limit is set a walk ends because sp rises. Signals that were handled on other stacks explain a frame that
 * lies no higher, but not many of them: memory that is made for it leads from one to the next for ever.
 */
static bool goes_in_circles(struct sw_fold *fold, uint64_t sp)
{
    fold->not_higher += sp <= fold->sp;
    fold->sp = sp;
    return fold->not_higher > SW_FOLD_NOT_HIGHER_MAX;
}

/*
 * A thread that wants to collect may replace the return address of a thread's leaf while that stands stopped, between
 * the question about it and the walk's load. So where the leaf returns to native code the runtime is asked again.
 *
 * Source: clr-windows-observed.md W19c.
 */
static bool is_overtaken(struct sw_fold *fold, const struct sw_frame *frame)
{
    struct sw_call *call = fold->call;
    const struct sw_walker *walker = &call->work->walker;
    const uint64_t before = walker->replaced.at, sp = sw_regs_sp(&frame->regs);
    if (sw_call_is_for_caller(call))
        return false;
    sw_call_update(call);
    const uint64_t at = walker->replaced.at;
    return at != 0 && at != before && at >= fold->sp && at < sp;
}

bool sw_fold_frame(struct sw_fold *fold, const struct sw_frame *frame)
{
    const bool is_managed = sw_code_is_managed(&frame->code), behind_leaf = fold->behind_leaf;
    fold->behind_leaf = is_managed && frame->exact;
    fold->overtaken = behind_leaf && !is_managed && is_overtaken(fold, frame);
    if (fold->overtaken || goes_in_circles(fold, sw_regs_sp(&frame->regs)))
        return false;
    if (is_managed)
        return fold->documented ? fold_every_managed(fold, frame) : fold_managed(fold, frame);
    return fold->handler != 0 || fold_native(fold, frame);
}
