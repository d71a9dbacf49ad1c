/*
 * Where the walks of a fold start: at the thread's registers, at the seed, or at a transition record. Knows transition
 * records and flavours. Refuses to know what becomes of frames (fold.c).
 *
 * Source: clr-contract.md sections 2.5 and 2.6; contract-documented.md D9, D18-D20.
 */
#include "snapshot/fold.h"

static bool leads_on(const struct sw_transition *record, enum sw_machine machine)
{
    return record->regs.machine == machine && sw_regs_has(&record->regs, sw_regs_pc_number(machine)) &&
           sw_regs_has(&record->regs, sw_regs_sp_number(machine));
}

struct sw_transition *sw_fold_take_record(struct sw_fold *fold, uint64_t above)
{
    struct sw_transition *record = &fold->call->work->record;
    while (sw_call_record(fold->call, &fold->cursor, record)) {
        if (leads_on(record, fold->call->engine->walker->machine) && record->address >= above &&
            sw_regs_sp(&record->regs) >= above)
            return record;
    }
    return NULL;
}

/*
 * In this process a stack can be loaded directly, from its thread's sp on, as far as the engine says. The page of sp is
 * mapped, and of the own stack the part from this function's frame up to the start: the fast lane wants some words
 * below sp.
 */
static void open_window(const struct sw_fold *fold, const struct sw_regs *start)
{
    enum { PAGE = 4096 };
    const struct sw_engine *engine = fold->call->engine;
    struct sw_walker *walker = &fold->call->work->walker;
    const uint64_t sp = sw_regs_sp(start), here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    const uint64_t page = sp & ~(uint64_t)(PAGE - 1);
    uint64_t from = here >= walker->stack_begin && here < sp ? here : sp;
    if ((engine->options & SW_ENGINE_OWN_PROCESS) == 0 || sp < walker->stack_begin || sp >= walker->stack_end)
        return;
    const uint64_t end =
        engine->loadable ? engine->loadable(engine->loadable_arg, from, walker->stack_end) : walker->stack_end;
    if (from == sp && end > sp)
        from = page > walker->stack_begin ? page : walker->stack_begin;
    walker->memory.window = (struct sw_window){ from, end, (const uint8_t *)(uintptr_t)from };
}

void sw_fold_begin_walk(const struct sw_fold *fold, const struct sw_regs *regs, bool exact, uint32_t most)
{
    struct sw_call_work *work = fold->call->work;
    work->walker.max_frames = most < fold->frames_left ? most : fold->frames_left;
    open_window(fold, regs);
    sw_walk_start(&work->walk, &work->walker, fold->call->scratch, regs, exact);
}

/* The walk's first frame is there without a step. */
static SW_APART bool noted_next(struct sw_walk *walk, struct sw_memo *noting)
{
    const struct sw_memo_frame before = sw_memo_frame_of(walk);
    const bool is_first = walk->depth == 0, goes_on = sw_walk_next(walk);
    if (!goes_on)
        sw_memo_note_end(noting, &before, walk->stop);
    else if (!is_first)
        sw_memo_note_step(noting, &before, walk);
    return goes_on;
}

bool sw_fold_next(const struct sw_fold *fold)
{
    struct sw_walk *walk = &fold->call->work->walk;
    return SW_UNLIKELY(fold->call->noting != NULL) ? noted_next(walk, fold->call->noting) : sw_walk_next(walk);
}

enum { BELOW_MAX = 10000 }; /* frames nearer the leaf than the runtime's first note: native ones */

/*
 * The runtime does not note every nonvolatile register. If the thread's real registers are known, a walk from them
 * reaches the frame of the record with the other registers. The frames before that one do not count as walked.
 */
static bool walk_to_record(const struct sw_fold *fold, const struct sw_regs *record)
{
    const struct sw_regs *top = fold->call->top;
    struct sw_call_work *work = fold->call->work;
    const struct sw_regs *here = &work->walk.frame.regs;
    bool more;
    if (!top || sw_regs_sp(top) >= sw_regs_sp(record))
        return false;
    sw_fold_begin_walk(fold, top, true, BELOW_MAX);
    while ((more = sw_fold_next(fold)) && sw_regs_sp(here) < sw_regs_sp(record))
        ;
    work->walk.depth = 1;
    if (fold->call->noting)
        sw_memo_note_reached(fold->call->noting, record->known);
    return more && sw_regs_sp(here) == sw_regs_sp(record) && sw_regs_pc(here) == sw_regs_pc(record);
}

/* The registers of a record stand over those of the walk that has reached its frame. */
static void take_noted(const struct sw_fold *fold, const struct sw_regs *record)
{
    sw_fold_take_registers(&fold->call->work->walk.frame.regs, record, record->known);
}

/* Adds those registers to a record whose pc was being executed. The walk would take that pc for a return address. */
static void complete_record(const struct sw_fold *fold, struct sw_regs *record)
{
    const struct sw_regs *here = &fold->call->work->walk.frame.regs;
    if (walk_to_record(fold, record))
        sw_fold_take_registers(record, here, here->known & ~record->known);
}

/* A return address may be the end of its code. */
static bool is_in_managed_code(const struct sw_walker *walker, uint64_t pc)
{
    const struct sw_range at = sw_code_at(walker, pc);
    if (sw_code_is_managed(&at))
        return true;
    const struct sw_range before = sw_code_at(walker, pc - 1);
    return sw_code_is_managed(&before);
}

/*
 * The first record that a walk may start from. The CLR passes over those that lead into native code: a stub that native
 * code of the runtime has called leaves one.
 */
static struct sw_transition *first_record(struct sw_fold *fold)
{
    const struct sw_walker *walker = fold->call->engine->walker;
    struct sw_transition *record = sw_fold_take_record(fold, 0);
    while (record && !fold->documented && !is_in_managed_code(walker, sw_regs_pc(&record->regs)))
        record = sw_fold_take_record(fold, 0);
    return record;
}

/*
 * A thread that is parked at the top record was stopped at an instruction of the managed frame itself. Otherwise the pc
 * of the record is a return address, unless the record says that it is exact.
 */
static struct sw_start start_at_record(struct sw_fold *fold)
{
    const struct sw_call *call = fold->call;
    const bool parked = (call->target.flags & SW_THREAD_RESUMABLE_TOP) != 0;
    const bool stopped_by_os = call->engine->flavour == SW_FLAVOUR_CORECLR_WINDOWS && !sw_call_is_for_caller(call) &&
                               (call->engine->runtime & SW_RUNTIME_SUSPENDED) == 0;
    struct sw_transition *record = parked && stopped_by_os ? NULL : first_record(fold);
    if (record && record->resumable && stopped_by_os) {
        fold->cursor = 0; /* the CLR's walker gives up here, whatever is further out: section 2.6 */
        record = NULL;
    }
    if (!record)
        return (struct sw_start){ 0 };
    const bool exact = parked || record->exact;
    sw_fold_set_context_flags(fold, record->context_flags);
    if (exact) {
        complete_record(fold, &record->regs);
    } else if (walk_to_record(fold, &record->regs)) {
        take_noted(fold, &record->regs);
        return (struct sw_start){ &fold->call->work->walk.frame.regs, false, true };
    }
    return (struct sw_start){ &record->regs, exact, false };
}

/* Whether the top of the stack is runtime helper code: neither managed nor called by a platform invoke. */
static bool helper_is_on_top(const struct sw_call *call)
{
    if (!call->top)
        return true;
    const struct sw_range code = sw_code_at(call->engine->walker, sw_regs_pc(call->top));
    return !sw_code_is_managed(&code) && call->target.mode != SW_MODE_PREEMPTIVE;
}

static struct sw_start documented_start(struct sw_fold *fold)
{
    const struct sw_call *call = fold->call;
    if (!helper_is_on_top(call))
        return (struct sw_start){ call->top, true, false };
    if (call->seed)
        return (struct sw_start){ call->seed, true, false };
    if (call->top && (call->engine->options & SW_ENGINE_NO_AUTO_SEED) == 0)
        return (struct sw_start){ call->top, true, false };
    return start_at_record(fold);
}

/* Padding is walked from as the end of the method in front of it, to which a call that never returns would return. */
static struct sw_start start_at_seed(struct sw_fold *fold)
{
    struct sw_regs *seed = &fold->call->work->seed;
    const uint64_t pc = sw_regs_pc(fold->call->seed);
    const struct sw_range code = sw_code_given(fold->call->engine, pc);
    if (pc < code.end || code.end == 0)
        return (struct sw_start){ fold->call->seed, true, false };
    if (seed != fold->call->seed)
        *seed = *fold->call->seed;
    sw_regs_set(seed, sw_regs_pc_number(seed->machine), code.end);
    fold->shown_pc = pc;
    return (struct sw_start){ seed, false, false };
}

static struct sw_start clr_start(struct sw_fold *fold)
{
    return fold->call->seed ? start_at_seed(fold) : start_at_record(fold);
}

struct sw_start sw_fold_start(struct sw_fold *fold)
{
    return fold->documented ? documented_start(fold) : clr_start(fold);
}

/*
 * Where to continue after a walk that ended in a native run: at the next record above. The CLR trusts only its records,
 * so in its flavours a clean root does not end the walk while a record is left.
 */
struct sw_start sw_fold_go_on(struct sw_fold *fold)
{
    const enum sw_stop stop = fold->call->work->walk.stop;
    if (fold->before != NATIVE || stop == SW_STOP_FRAME_LIMIT || fold->frames_left == 0)
        return (struct sw_start){ 0 };
    if (fold->documented && sw_stop_is_root(stop))
        return (struct sw_start){ 0 };
    const struct sw_transition *record = &fold->call->work->record;
    if (!fold->has_record || sw_regs_sp(&record->regs) < fold->sp)
        fold->has_record = sw_fold_take_record(fold, fold->sp) != NULL;
    fold->is_noted = fold->has_record;
    return fold->has_record ? (struct sw_start){ &record->regs, record->exact, false } : (struct sw_start){ 0 };
}
