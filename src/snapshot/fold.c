/*
 * The fold: walks a thread's stack, stretch by stretch, shows its frames (fold_frame.c), and says what the end of the
 * walk is worth as an HRESULT. How a caller is found is the walker's; where stretches start: start.c.
 *
 * Source: clr-contract.md sections 3 and 4; contract-documented.md D9, D18-D20.
 */
#include "snapshot/fold.h"

#include "walk/scratch.h"

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
 * What callbacks for plain frames have in common, so that it is not read again behind each: no callback changes it.
 *
 * known     Registers, by bit.  context  What is handed out, or null.
 * turns     The records are taken in turn, by the lowest bits of call->reported that it has.
 * live, idle  The call's word of engine->state, and what it is between callbacks.
 */
struct plain {
    StackSnapshotCallback *callback;
    void *client_data;
    BYTE *context;
    uint64_t known;
    struct sw_frame_info *records;
    uint32_t turns;
    uint64_t *live;
    uint64_t idle;
};

static SW_INLINE struct plain plain_of(const struct sw_fold *fold, bool has_context)
{
    const struct sw_call *call = fold->call;
    return (struct plain){ .callback = call->callback,
                           .client_data = call->client_data,
                           .context = has_context ? call->work->context : NULL,
                           .known = call->work->walk.frame.regs.known & fold->claimed,
                           .records = call->work->records,
                           .turns = fold->documented ? SW_FRAME_RECORDS - 1 : 0,
                           .live = call->live,
                           .idle = sw_call_idle(call) };
}

/* One callback for a plain frame. False: it wants no more. */
static SW_INLINE bool call_back_plain(struct sw_fold *fold, const struct plain *plain,
                                      const struct sw_trace_frame *frame)
{
    struct sw_frame_info *record = &plain->records[fold->call->reported++ & plain->turns];
    record->function = (FunctionID)frame->id;
    record->ip = (UINT_PTR)frame->pc;
    record->known = plain->known;
    record->source = sw_step_source(frame->step);
    record->trust = sw_step_trust(frame->step);
    record->exact = false;
    record->flags = 0;
    record->hidden = fold->hidden;
    fold->hidden = 0;
    __atomic_store_n(plain->live, (uintptr_t)record, __ATOMIC_RELAXED);
    const HRESULT hr =
        plain->callback((FunctionID)frame->id, (UINT_PTR)frame->pc, (COR_PRF_FRAME_INFO)(uintptr_t)record,
                        plain->context ? fold->context_size : 0, plain->context, plain->client_data);
    __atomic_store_n(plain->live, plain->idle, __ATOMIC_RELAXED);
    return hr == S_OK;
}

/*
 * Calls back for plain frames from the *n-th of a batch on, up to one that is not. False: the callback wants no more
 * than the *n-th. Where nobody asked for registers the walk goes to the last of them at once.
 */
static bool fold_plain_alone(struct sw_fold *fold, const struct sw_batch *batch, unsigned *n)
{
    struct sw_walk *walk = &fold->call->work->walk;
    const struct plain plain = plain_of(fold, false);
    const struct sw_trace_frame *frame = &batch->frames[*n], *const end = &batch->frames[batch->count];
    const struct sw_trace_frame *const first = frame;
    bool goes_on = true;
    for (; goes_on && frame < end && is_plain(frame); frame++)
        goes_on = call_back_plain(fold, &plain, frame);
    if (frame > first) {
        walk->depth += (uint32_t)(frame - first) - 1;
        sw_batch_go(walk, walk->frame.regs.machine, frame - 1);
    }
    *n += (uint32_t)(frame - first) - !goes_on;
    return goes_on;
}

/* The same with CONTEXTs: the walk goes with the callbacks. */
static SW_INLINE bool fold_plain_with(struct sw_fold *fold, enum sw_machine machine, struct sw_batch *batch,
                                      unsigned *n)
{
    struct sw_walk *walk = &fold->call->work->walk;
    const struct plain plain = plain_of(fold, true);
    for (; *n < batch->count && is_plain(&batch->frames[*n]); ++*n) {
        sw_batch_go(walk, machine, &batch->frames[*n]);
        sw_batch_settle_one(walk, machine, batch, *n);
        if (sw_context_update(SW_CONTEXT_WIN32, &walk->frame.regs, fold->claimed, plain.context, fold->context_size) !=
                SW_OK ||
            !call_back_plain(fold, &plain, &batch->frames[*n]))
            return false;
    }
    return true;
}

static bool fold_plain(struct sw_fold *fold, struct sw_batch *batch, unsigned *n)
{
    if (fold->context_size == 0)
        return fold_plain_alone(fold, batch, n);
    return fold->call->work->walk.frame.regs.machine == SW_MACHINE_ARM64
               ? fold_plain_with(fold, SW_MACHINE_ARM64, batch, n)
               : fold_plain_with(fold, SW_MACHINE_X64, batch, n);
}

/*
 * The frames of a batch; one by one where they are noted, as registers are used between them. False: the callback wants
 * no more; then walk->frame is that frame, whole.
 */
static bool fold_batch(struct sw_fold *fold, struct sw_batch *batch)
{
    struct sw_walk *walk = &fold->call->work->walk;
    struct sw_memo *noting = fold->call->noting;
    for (unsigned n = 0; n < batch->count; n++) {
        if (!noting && sw_fold_calls_back_managed(fold, batch->frames[n].sp) && !fold_plain(fold, batch, &n)) {
            sw_batch_arrive(walk, batch, n);
            return false;
        }
        if (n == batch->count)
            break;
        if (noting)
            sw_memo_note_frame(noting, &batch->frames[n]);
        sw_batch_go(walk, walk->frame.regs.machine, &batch->frames[n]);
        if (is_in_run(fold, &batch->frames[n])) {
            fold->sp = batch->frames[n].sp;
            continue;
        }
        sw_batch_arrive(walk, batch, n);
        if (!sw_fold_frame(fold, &walk->frame))
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

/* there: the walk stands at a frame that was not shown yet. False: it must not go on, though there is more. */
static bool walk_on(struct sw_fold *fold, bool there)
{
    struct sw_walk *walk = &fold->call->work->walk;
    fold->replay = sw_batch_use_replay(walk, fold->replay); /* one for all stretches */
    for (; there || sw_fold_next(fold); there = false)
        if (!sw_fold_frame(fold, &walk->frame) || !fold_batches(fold))
            return false;
    return true;
}

/* From the frame that the replaced return address led to, as the one that it would have been. */
static void walk_with_original(struct sw_fold *fold)
{
    struct sw_call_work *work = fold->call->work;
    sw_memo_spoil(fold->call->noting);
    fold->frames_left -= work->walk.depth - 1;
    work->noted = work->walk.frame.regs;
    sw_regs_set(&work->noted, fold->pc, work->walker.replaced.original);
    sw_fold_begin_walk(fold, &work->noted, false, UINT32_MAX);
}

/* Walks one stretch. False: the callback ended it. */
static bool walk_stretch(struct sw_fold *fold, struct sw_start start)
{
    struct sw_call_work *work = fold->call->work;
    if (!start.reached)
        sw_fold_begin_walk(fold, start.regs, start.exact, UINT32_MAX);
    bool there = start.reached;
    for (; !walk_on(fold, there); there = false) {
        if (!fold->overtaken) {
            work->walk.stop = fold->not_higher > SW_FOLD_NOT_HIGHER_MAX ? SW_STOP_FRAME_LIMIT : SW_STOP_ABORTED;
            return false;
        }
        walk_with_original(fold);
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
    if (!sw_fold_report_run(fold, false))
        return false;
    sw_memo_spoil(fold->call->noting);
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
    sw_fold_prepare_callbacks(fold);
    sw_fold_find_unwound(fold);
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
    if (work->walk.stop != SW_STOP_ABORTED && !sw_fold_report_run(fold, false))
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
