/*
 * The fold: where a walk starts, which frames become callbacks, and what the end of the walk is worth as an HRESULT.
 * Knows the contract's idea of a stack (managed frames, runs, hidden frames, transition records); how a caller is found
 * is the walker's.
 *
 * Source: clr-contract.md sections 2.5, 2.6, 3 and 4; contract-documented.md D9, D12-D14, D18-D20, C1-C9.
 */
#include "snapshot/fold.h"

#include "walk/scratch.h"

#include <string.h>

/* ---- one frame ---- */

/* What may be relied on: pc, sp and the nonvolatile integer registers, fp among them (C9). */
static uint64_t dependable(const struct sw_engine *engine)
{
    const enum sw_machine machine = engine->walker->machine;
    const bool windows =
        (engine->options & SW_ENGINE_WINDOWS_CODE) != 0 || engine->flavour == SW_FLAVOUR_CORECLR_WINDOWS;
    const uint64_t more = windows && machine == SW_MACHINE_X64 ? 1u << SW_X64_RSI | 1u << SW_X64_RDI : 0;
    return more | sw_regs_nonvolatile(machine) | UINT64_C(1) << sw_regs_pc_number(machine) |
           UINT64_C(1) << sw_regs_sp_number(machine) | UINT64_C(1) << sw_regs_fp_number(machine);
}

static struct sw_frame_info *next_record_of(struct sw_fold *fold)
{
    const uint32_t turn = fold->documented ? fold->call->reported % SW_FRAME_RECORDS : 0;
    return &fold->call->work->records[turn];
}

/* What a callback reports of a frame beside its registers. */
struct report {
    FunctionID function;
    uint8_t source;
    uint8_t trust;
    bool exact;
    uint16_t flags;
};

/* Whether this callback is one of those in the middle that are not made. */
static bool is_left_out(struct sw_fold *fold, FunctionID function)
{
    const uint32_t n = fold->seen++;
    if (n < fold->left_from || n >= fold->left_to)
        return false;
    fold->call->left_out++;
    fold->hidden += function != 0;
    return true;
}

/* One callback. False: it wants no more. */
static SW_INLINE bool report(struct sw_fold *fold, struct report what, const struct sw_regs *regs)
{
    struct sw_call *call = fold->call;
    if (SW_UNLIKELY(fold->left_to != 0) && is_left_out(fold, what.function))
        return true;
    struct sw_frame_info *record = next_record_of(fold);
    BYTE *context = fold->context_size ? call->work->context : NULL;
    record->function = what.function;
    record->ip = (UINT_PTR)regs->r[fold->pc];
    record->known = regs->known & fold->claimed;
    record->source = what.source;
    record->trust = what.trust;
    record->exact = what.exact;
    record->flags = what.flags;
    record->hidden = fold->hidden;
    fold->hidden = 0;
    /* Zeroed once; from then on each frame's registers are written over the last one's. */
    if (context && sw_context_update(SW_CONTEXT_WIN32, regs, fold->claimed, context, fold->context_size) != SW_OK)
        return false;
    call->reported++;
    sw_call_set_live(call, record);
    const HRESULT hr = call->callback(what.function, record->ip, (COR_PRF_FRAME_INFO)(uintptr_t)record,
                                      fold->context_size, context, call->client_data);
    sw_call_set_live(call, NULL);
    return hr == S_OK;
}

/* The same of a whole frame, with registers that may be noted ones. */
static SW_APART bool call_back(struct sw_fold *fold, FunctionID function, const struct sw_frame *frame,
                               const struct sw_regs *regs)
{
    return report(fold, (struct report){ function, frame->source, frame->trust, frame->exact, frame->code.flags },
                  regs);
}

/* The CLR on Linux has the vector state behind the CONTEXT of Windows. */
static ULONG32 size_of_context(const struct sw_engine *engine)
{
    enum { UNIX_X64 = 3232, UNIX_ARM64 = 992 };
    const enum sw_machine machine = engine->walker->machine;
    if (engine->context_size)
        return engine->context_size;
    if (engine->flavour == SW_FLAVOUR_CORECLR_UNIX)
        return machine == SW_MACHINE_ARM64 ? UNIX_ARM64 : UNIX_X64;
    return (ULONG32)sw_context_size(SW_CONTEXT_WIN32, machine);
}

/*
 * The CLR's walk changes one CONTEXT from frame to frame: the seed's, with everything that is in it, or one of zeros.
 * Only a size that a CONTEXT has is believed; of another one the registers are there (row "own" of the ladder).
 */
static void copy_seed_context(const struct sw_call *call, ULONG32 size)
{
    const enum sw_machine machine = call->engine->walker->machine;
    const size_t given = sw_call_is_context_size(machine, call->context_size)
                             ? call->context_size
                             : sw_context_needed(SW_CONTEXT_WIN32, machine);
    memset(call->work->context, 0, size);
    if (call->context)
        memcpy(call->work->context, call->context, given < size ? given : size);
}

/*
 * The CLR walks from the CONTEXT that it has asked for itself: CONTEXT_FULL, and of the exception bits the request and
 * the report. Source: clr-windows-observed.md W11, W66; winnt.h.
 */
static const uint32_t own_context_flags[] = { [SW_MACHINE_X64] = 0xc010000b, [SW_MACHINE_ARM64] = 0xc0400007 };

/* What every callback's CONTEXT has beside its frame's registers. */
static bool begin_context(const struct sw_fold *fold, ULONG32 size)
{
    const struct sw_call *call = fold->call;
    const struct sw_regs none = { .machine = call->engine->walker->machine };
    const bool from_own_registers = call->seed && !call->context;
    if (fold->documented || from_own_registers) {
        const bool stored = sw_context_store(SW_CONTEXT_WIN32, &none, call->work->context, size) == SW_OK;
        sw_fold_set_context_flags(fold, own_context_flags[none.machine]);
        return stored;
    }
    copy_seed_context(call, size);
    return true;
}

/* What is the same in every callback. */
static void prepare_callbacks(struct sw_fold *fold)
{
    struct sw_call *call = fold->call;
    const enum sw_machine machine = call->engine->walker->machine;
    const ULONG32 size = size_of_context(call->engine);
    fold->pc = sw_regs_pc_number(machine);
    fold->claimed = dependable(call->engine);
    for (unsigned i = 0; i < (fold->documented ? SW_FRAME_RECORDS : 1); i++)
        call->work->records[i] =
            (struct sw_frame_info){ .size = (USHORT)offsetof(struct sw_frame_info, known), .version = 1 };
    if ((call->info_flags & COR_PRF_SNAPSHOT_REGISTER_CONTEXT) != 0 && begin_context(fold, size))
        fold->context_size = size;
}

/*
 * Whether a managed frame is passed over as part of a handler: the handler itself, and all between it and its method.
 * A handler runs with its method's frame pointer, and a method with handlers has one of its own (CLR ABI). Of a frame
 * that is replayed the event of its method may have come since: both are asked for by FunctionID.
 */
static bool is_inside_handler(struct sw_fold *fold, const struct sw_frame *frame)
{
    const bool funclet = (frame->code.flags & SW_RANGE_FUNCLET) != 0;
    const uint64_t fp = sw_regs_fp(&frame->regs);
    if (fold->documented)
        return false;
    if (fold->handler == 0 && funclet && sw_regs_has(&frame->regs, sw_regs_fp_number(frame->regs.machine))) {
        fold->handler = sw_function_of(fold->call->engine, &frame->code, frame->lookup);
        fold->handler_fp = fp;
    }
    if (fold->handler == 0)
        return false;
    const bool is_method = !funclet && (frame->code.flags & SW_RANGE_FILTER) == 0 && fp == fold->handler_fp &&
                           sw_function_of(fold->call->engine, &frame->code, frame->lookup) == fold->handler;
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
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (sw_regs_has(record, n) && n != fold->pc && n != sw_regs_sp_number(here->machine))
            sw_regs_set(here, n, record->r[n]);
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

static void find_unwound(struct sw_fold *fold)
{
    const struct sw_call *call = fold->call;
    const struct sw_inspector *inspector = call->engine->inspector;
    uint64_t cursor = 0;
    if (fold->documented || !inspector)
        return;
    while (fold->unwound_count < SW_UNWOUND_MAX &&
           inspector->unwound(inspector->arg, &call->target, &cursor,
                              &fold->call->work->unwound[fold->unwound_count].low,
                              &fold->call->work->unwound[fold->unwound_count].high))
        fold->unwound_count++;
}

static bool is_unwound(const struct sw_fold *fold, const struct sw_frame *frame)
{
    const uint64_t sp = sw_regs_sp(&frame->regs);
    for (unsigned i = 0; i < fold->unwound_count; i++)
        if (sp >= fold->call->work->unwound[i].low && sp < fold->call->work->unwound[i].high)
            return true;
    return false;
}

/*
 * A run is told of when it is known what called into it: the CLR swallows it when that is exception dispatch, through a
 * hidden stub too. At the end there is nothing any more.
 */
static bool report_run(struct sw_fold *fold, bool swallowed)
{
    const uint32_t hidden_since = fold->hidden - fold->run_hidden;
    const bool reported = fold->has_run && !swallowed;
    fold->has_run = false;
    if (!reported)
        return true;
    fold->hidden = fold->run_hidden;
    const bool goes_on = call_back(fold, 0, &fold->call->work->run, &fold->call->work->run.regs);
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

/* Whether managed frames without flags have nothing to them but to be called back. No callback changes that. */
static bool calls_back_managed(const struct sw_fold *fold)
{
    return fold->before == MANAGED && fold->handler == 0 && fold->unwound_count == 0 && !fold->has_run &&
           fold->left_to == 0;
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
    return call_back(fold, sw_function_of(fold->call->engine, &frame->code, frame->lookup), frame, &frame->regs);
}

/* The coreclr flavours: what the CLR hides is hidden. */
static bool fold_managed(struct sw_fold *fold, const struct sw_frame *frame)
{
    if (calls_back_managed(fold) && frame->code.flags == 0)
        return call_back(fold, (FunctionID)frame->code.id, frame, &frame->regs); /* most are so */
    const bool dispatch = (frame->code.flags & SW_RANGE_EH_DISPATCH) != 0;
    const bool filter = (frame->code.flags & SW_RANGE_FILTER) != 0;
    if (!is_come_to(fold, frame))
        return true;
    const struct sw_regs *regs = noted_regs(fold, frame);
    const bool hidden = (frame->code.flags & SW_RANGE_HIDDEN) != 0;
    const bool passed_over = is_passed_over(fold, frame);
    if ((dispatch || !hidden) && !report_run(fold, dispatch && !passed_over))
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
    return leave_managed(fold,
                         call_back(fold, sw_function_of(fold->call->engine, &frame->code, frame->lookup), frame, regs));
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
        return (before == NATIVE && !each) || call_back(fold, 0, frame, &frame->regs);
    if (before != MANAGED)
        return true;
    if (!report_run(fold, false)) /* in front of a hidden stub */
        return false;
    fold->call->work->run = *frame;
    fold->run_hidden = fold->hidden;
    fold->has_run = true;
    return true;
}

enum { NOT_HIGHER_MAX = 256 };

/*
 * Where no limit is set a walk ends because sp rises. Signals that were handled on other stacks explain a frame that
 * lies no higher, but not many of them: memory that is made for it leads from one to the next for ever.
 */
static bool goes_in_circles(struct sw_fold *fold, uint64_t sp)
{
    fold->not_higher += sp <= fold->sp;
    fold->sp = sp;
    return fold->not_higher > NOT_HIGHER_MAX;
}

static bool fold_frame(struct sw_fold *fold, const struct sw_frame *frame)
{
    if (goes_in_circles(fold, sw_regs_sp(&frame->regs)))
        return false;
    if (sw_code_is_managed(&frame->code))
        return fold->documented ? fold_every_managed(fold, frame) : fold_managed(fold, frame);
    return fold->handler != 0 || fold_native(fold, frame);
}

/* ---- the walk and its end ---- */

static bool is_plain(const struct sw_trace_frame *frame)
{
    return sw_trace_flags(frame) == 0 && sw_kind_is_managed(sw_trace_kind(frame));
}

/* Whether a frame is inside a run of native ones, which is all that is to be known of it. */
static bool is_in_run(const struct sw_fold *fold, const struct sw_trace_frame *frame)
{
    return fold->before == NATIVE && !sw_kind_is_managed(sw_trace_kind(frame)) &&
           (fold->call->engine->options & SW_ENGINE_EVERY_NATIVE_FRAME) == 0;
}

/*
 * Calls back for plain frames from the *n-th of a batch on, up to one that is not; the walk goes with them. Of the
 * records only that is written which differs from frame to frame. False: the callback wants no more.
 */
static SW_INLINE bool fold_plain_of(struct sw_fold *fold, enum sw_machine machine, struct sw_batch *batch, unsigned *n)
{
    struct sw_call *call = fold->call;
    struct sw_walk *walk = &call->work->walk;
    BYTE *const context = fold->context_size ? call->work->context : NULL;
    const uint64_t known = walk->frame.regs.known & fold->claimed;
    HRESULT hr = S_OK;
    for (; *n < batch->count && is_plain(&batch->frames[*n]); ++*n) {
        const struct sw_trace_frame *frame = &batch->frames[*n];
        struct sw_frame_info *record = next_record_of(fold);
        sw_batch_go(walk, machine, frame);
        if (context)
            sw_batch_settle_one(walk, machine, batch, *n);
        if (context &&
            sw_context_update(SW_CONTEXT_WIN32, &walk->frame.regs, fold->claimed, context, fold->context_size) != SW_OK)
            return false;
        record->function = (FunctionID)frame->id;
        record->ip = (UINT_PTR)frame->pc;
        record->known = known;
        record->source = sw_step_source(frame->step);
        record->trust = sw_step_trust(frame->step);
        record->exact = false;
        record->flags = 0;
        record->hidden = fold->hidden;
        fold->hidden = 0;
        call->reported++;
        sw_call_set_live(call, record);
        hr = call->callback((FunctionID)frame->id, (UINT_PTR)frame->pc, (COR_PRF_FRAME_INFO)(uintptr_t)record,
                            fold->context_size, context, call->client_data);
        sw_call_set_live(call, NULL);
        if (hr != S_OK)
            return false;
    }
    return true;
}

static bool fold_plain(struct sw_fold *fold, struct sw_batch *batch, unsigned *n)
{
    return fold->call->work->walk.frame.regs.machine == SW_MACHINE_ARM64
               ? fold_plain_of(fold, SW_MACHINE_ARM64, batch, n)
               : fold_plain_of(fold, SW_MACHINE_X64, batch, n);
}

/* The frames of a batch. False: the callback wants no more; then walk->frame is that frame, whole. */
static bool fold_batch(struct sw_fold *fold, struct sw_batch *batch)
{
    struct sw_walk *walk = &fold->call->work->walk;
    for (unsigned n = 0; n < batch->count; n++) {
        if (calls_back_managed(fold) && !fold_plain(fold, batch, &n)) {
            sw_batch_arrive(walk, batch, n);
            return false;
        }
        if (n == batch->count)
            break;
        sw_batch_go(walk, walk->frame.regs.machine, &batch->frames[n]);
        if (is_in_run(fold, &batch->frames[n])) {
            fold->sp = batch->frames[n].sp;
            continue;
        }
        sw_batch_arrive(walk, batch, n);
        if (!fold_frame(fold, &walk->frame))
            return false;
    }
    sw_batch_arrive(walk, batch, batch->count - 1);
    return true;
}

/* Goes as far as batches do. False: the callback ended the walk. */
static bool fold_batches(struct sw_fold *fold)
{
    struct sw_call_work *work = fold->call->work;
    while (sw_batch_take(&work->walk, &work->batch) != 0)
        if (!fold_batch(fold, &work->batch))
            return false;
    return true;
}

/* Walks one stretch. False: the callback ended it. */
static bool walk_stretch(struct sw_fold *fold, struct sw_start start)
{
    struct sw_call_work *work = fold->call->work;
    if (!start.reached)
        sw_fold_begin_walk(fold, start.regs, start.exact, UINT32_MAX);
    fold->replay = sw_batch_use_replay(&work->walk, fold->replay); /* one for all stretches */
    for (bool there = start.reached; there || sw_walk_next(&work->walk); there = false)
        if (!fold_frame(fold, &work->walk.frame) || !fold_batches(fold)) {
            work->walk.stop = fold->not_higher > NOT_HIGHER_MAX ? SW_STOP_FRAME_LIMIT : SW_STOP_ABORTED;
            return false;
        }
    fold->frames_left -= work->walk.depth < fold->frames_left ? work->walk.depth : fold->frames_left;
    return true;
}

/*
 * The CLR does not look where a managed frame returns to: what is not managed code is a run, and one that its callers
 * are not looked for in. So is a return address of 0.
 */
static bool fold_foreign_caller(struct sw_fold *fold)
{
    struct sw_call_work *work = fold->call->work;
    const enum sw_stop stop = work->walk.stop;
    struct sw_frame *run = &work->run;
    if (fold->documented || (fold->before != MANAGED && fold->before != SWALLOWING) || fold->handler != 0 ||
        (stop != SW_STOP_BAD_PC && stop != SW_STOP_ROOT_ZERO) || fold->frames_left == 0)
        return true;
    if (!report_run(fold, false))
        return false;
    *run = (struct sw_frame){ .code.kind = SW_KIND_NATIVE, .trust = SW_TRUST_GUESS };
    if (!sw_walk_any_caller(&work->walk, &work->walker, &run->regs))
        return true;
    run->lookup = sw_regs_pc(&run->regs) - 1;
    fold->frames_left--; /* it counts as a frame */
    fold->sp = sw_regs_sp(&run->regs);
    fold->run_hidden = fold->hidden;
    fold->has_run = fold->before == MANAGED;
    fold->before = NATIVE;
    return true;
}

/* A managed frame that begins at the stack's base has no caller, and no managed frame is without one. */
static void doubt_base(const struct sw_fold *fold)
{
    struct sw_walk *walk = &fold->call->work->walk;
    if (walk->stop == SW_STOP_ROOT_BASE && fold->before != NATIVE)
        walk->stop = SW_STOP_OUTSIDE_STACK;
}

/* What the end of the last stretch is worth; see the card of sw_snapshot, "Cuts". */
static HRESULT outcome(const struct sw_fold *fold)
{
    const enum sw_stop stop = fold->call->work->walk.stop;
    uint64_t cursor = 0;
    if (stop == SW_STOP_ABORTED)
        return CORPROF_E_STACKSNAPSHOT_ABORTED;
    if (sw_stop_is_root(stop))
        return S_OK;
    if (stop == SW_STOP_FRAME_LIMIT)
        return E_FAIL;
    if (fold->before == NATIVE && (!fold->documented || sw_call_record(fold->call, &cursor, &fold->call->work->record)))
        return S_OK;
    return stop == SW_STOP_UNREADABLE && !fold->documented ? E_UNEXPECTED : E_FAIL;
}

static HRESULT explained(const struct sw_fold *fold, HRESULT hr)
{
    const struct sw_walk *walk = &fold->call->work->walk;
    fold->call->stop = walk->stop;
    fold->call->reason = sw_stop_name(walk->stop);
    if (hr == S_OK)
        return hr;
    struct sw_refusal *refusal = sw_call_explain(fold->call);
    refusal->stop = walk->stop;
    refusal->address = walk->stop == SW_STOP_BAD_START ? 0 : sw_regs_pc(&walk->frame.regs);
    refusal->kind = (enum sw_kind)walk->frame.code.kind;
    return hr;
}

static bool a_record_has_a_method(const struct sw_call *call)
{
    uint64_t cursor = 0;
    while (sw_call_record(call, &cursor, &call->work->record))
        if (call->work->record.has_method)
            return true;
    return false;
}

/* Nothing to start from. The CLR calls it a success when some record names a method, though it leads nowhere: 3.3. */
static HRESULT empty_walk(const struct sw_fold *fold)
{
    fold->call->reason = "nothing_to_start_from";
    const bool looked_at_records = fold->cursor > 0;
    return !fold->documented && looked_at_records && a_record_has_a_method(fold->call) ? S_OK : E_FAIL;
}

/*
 * The CLR looks for the seed's caller before its first callback: to know which transition records are below. If the
 * stack cannot be read there, nothing is reported.
 */
static bool seed_has_no_stack(const struct sw_fold *fold, struct sw_start start)
{
    struct sw_walk *walk = &fold->call->work->walk;
    if (fold->documented || !fold->call->seed)
        return false;
    sw_fold_begin_walk(fold, start.regs, start.exact, UINT32_MAX);
    return sw_walk_next(walk) && !sw_walk_next(walk) && walk->stop == SW_STOP_UNREADABLE;
}

static HRESULT fold_all(struct sw_fold *fold)
{
    struct sw_call_work *work = fold->call->work;
    prepare_callbacks(fold);
    find_unwound(fold);
    struct sw_start start = sw_fold_start(fold);
    if (!start.regs)
        return empty_walk(fold);
    if (seed_has_no_stack(fold, start))
        return explained(fold, E_UNEXPECTED);
    do {
        if (!walk_stretch(fold, start))
            break;
        doubt_base(fold);
        if (!fold_foreign_caller(fold)) {
            work->walk.stop = SW_STOP_ABORTED;
            break;
        }
        start = sw_fold_go_on(fold);
    } while (start.regs);
    sw_trace_close(fold->replay);
    if (work->walk.stop != SW_STOP_ABORTED && !report_run(fold, false))
        work->walk.stop = SW_STOP_ABORTED;
    return explained(fold, outcome(fold));
}

static struct sw_fold fold_of(struct sw_call *call, uint32_t frames)
{
    return (struct sw_fold){ .call = call,
                             .frames_left = frames,
                             .documented = call->engine->flavour == SW_FLAVOUR_DOCUMENTED };
}

/* Twice over the same stack: once to count the callbacks, and then with those of the two ends. */
static HRESULT fold_both_ends(struct sw_call *call, uint32_t most)
{
    struct sw_fold fold = fold_of(call, UINT32_MAX);
    fold.left_to = UINT32_MAX;
    (void)fold_all(&fold);
    const uint32_t all = fold.seen;
    call->left_out = 0;
    fold = fold_of(call, UINT32_MAX);
    if (all > most) {
        fold.left_from = most - most / 2;
        fold.left_to = all - most / 2;
    }
    return fold_all(&fold);
}

HRESULT sw_fold(struct sw_call *call)
{
    enum { DOCUMENTED_FRAMES = 10000 };
    const uint32_t most = call->engine->walker->max_frames;
    const bool documented = call->engine->flavour == SW_FLAVOUR_DOCUMENTED;
    if (most != 0 && (call->engine->options & SW_ENGINE_BOTH_ENDS) != 0)
        return fold_both_ends(call, most);
    struct sw_fold fold = fold_of(call, most ? most : documented ? DOCUMENTED_FRAMES : UINT32_MAX);
    return fold_all(&fold);
}
