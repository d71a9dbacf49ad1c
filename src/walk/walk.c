/*
 * The walk: find, decode, apply, frame after frame. Knows the order of things and when to end; what a rule says comes
 * from sources.c, what it means from lib/base/rule.c. Allocates nothing, takes no lock, keeps everything in the
 * scratch.
 */
#include "arch/arch.h"
#include "unwind/caller_check.h"
#include "unwind/unwind.h"
#include "walk/body.h"
#include "walk/by_entry.h"
#include "walk/remember.h"
#include "walk/scratch.h"

enum { BEFORE = 0, INSIDE, OVER };

#define BIT(n) (UINT64_C(1) << (n))

static struct sw_workspace *workspace_of(const struct sw_walk *walk)
{
    return &sw_walk_scratch_of(walk->scratch)->work;
}

static struct sw_lane *lane_of(const struct sw_walk *walk)
{
    return &sw_walk_scratch_of(walk->scratch)->lane;
}

static void count_hits(const struct sw_walk *walk)
{
    const struct sw_lane *lane = lane_of(walk);
    if (lane->cache)
        sw_cache_count_hits(lane->cache, walk->scratch, walk->depth - lane->misses - lane->replayed);
}

bool sw_walk_end(struct sw_walk *walk, enum sw_stop stop)
{
    if (walk->state == INSIDE)
        count_hits(walk);
    if (stop == SW_STOP_ROOT_ZERO && walk->frame.trust <= SW_TRUST_GUESS) { /* it may be any zero */
        stop = SW_STOP_BAD_PC;
        walk->fault = (struct sw_fault){ SW_E_MALFORMED, sw_regs_pc(&walk->frame.regs), 0 };
    }
    if (sw_stop_is_root(stop))
        walk->fault = (struct sw_fault){ 0 };
    walk->entry.step = 0;
    walk->stop = stop;
    walk->state = OVER;
    return false;
}

/* ---- the fast step ---- */

static uint64_t usable(const struct sw_walk *walk, uint64_t step)
{
    const struct sw_lane *lane = lane_of(walk);
    const struct sw_regs *regs = &walk->frame.regs;
    return sw_lane_usable(lane, step, sw_regs_sp(regs), sw_regs_has(regs, sw_regs_fp_number(lane->machine)));
}

/*
 * From a frame that has an entry to a caller that has one, over words in the window: what the long way would say. kind:
 * as in sw_lane_follow; of a step without SW_STEP_BY_CALL where all entries hold. Or 0.
 *
 * Returns  False: neither; then the frame is as it was. Its entry has become unknown where the cache's is another.
 */
SW_OTHERS_FRAMES static SW_INLINE bool fast_step(struct sw_walk *walk, enum sw_machine machine, uint64_t kind)
{
    const struct sw_lane *lane = lane_of(walk);
    const struct sw_regs_roles *roles = sw_regs_roles_of(machine);
    struct sw_frame *frame = &walk->frame;
    struct sw_regs *regs = &frame->regs;
    const struct sw_at at = { regs->r[roles->pc], regs->r[roles->sp], regs->r[roles->fp], walk->entry.step,
                              walk->entry.at };
    const struct sw_cold *cold = sw_cold_at(lane->cold, at.entry);
    const uint64_t same = atomic_load_explicit(&cold->same, memory_order_relaxed);
    struct sw_at to;
    uint64_t by = at.step;
    if (kind ? !sw_lane_follow(lane, lane->view, &at, &to, machine, kind, false) || !(to.step & SW_STEP_ENTRY)
             : !sw_lane_step(lane, &at, &to, machine, &by))
        return false;
    sw_walk_set_code(&frame->code, sw_cold_at(lane->cold, to.entry));
    walk->entry.step = to.step;
    walk->entry.at = to.entry;
    if (at.step & SW_STEP_OTHERS) {
        const uint64_t slots = sw_load(&cold->slots);
        if (!sw_walk_is_believed(walk, lane))
            return false;
        sw_slots_restore(regs, machine, lane->view.stack, to.sp, slots);
    } else if (!sw_walk_is_believed(walk, lane)) {
        return false;
    }
    regs->known = sw_known_behind(machine, regs->known, same);
    regs->r[roles->pc] = to.pc;
    regs->r[roles->sp] = to.sp;
    regs->r[roles->fp] = to.fp;
    walk->depth++;
    frame->lookup = to.pc - 1;
    frame->exact = false;
    frame->source = (uint8_t)(by >> SW_STEP_SOURCE_SHIFT);
    frame->trust = (uint8_t)(by >> SW_STEP_TRUST_SHIFT);
    if (kind == 0)
        walk->entry.step = usable(walk, to.step);
    return true;
}

SW_OTHERS_FRAMES enum sw_stop sw_walk_fast_end(const struct sw_walk *walk)
{
    const struct sw_regs *regs = &walk->frame.regs;
    const uint64_t step = walk->entry.step;
    const bool known = step & (SW_STEP_PLAIN | SW_STEP_END) || sw_regs_has(regs, sw_regs_fp_number(regs->machine));
    return known && (!walk->frame.exact || step & SW_STEP_END)
               ? sw_lane_end(lane_of(walk), regs->machine, step, sw_regs_sp(regs), sw_regs_fp(regs))
               : SW_STOP_NONE;
}

/*
 * The entry of the walk's frame, whose regs, exact and lookup are set; its code out of it. The generation is noted
 * first, so that what is read of the entry later on is what was found here, or is not believed.
 */
static bool find_entry(struct sw_walk *walk)
{
    struct sw_lane *lane = lane_of(walk);
    struct sw_at at = { .pc = sw_regs_pc(&walk->frame.regs) };
    walk->entry.step = 0;
    if (!lane->cache)
        return false;
    walk->entry.generation = sw_cache_generation(lane->cache);
    enum sw_cache_count answer = sw_lane_find(lane, &at, walk->frame.exact);
    if (answer == SW_COUNT_ABSENT && walk->frame.exact)
        answer = sw_walk_find_body(walk->walker, lane, &at);
    sw_walk_set_code(&walk->frame.code, sw_cold_at(lane->cold, at.entry));
    if (answer == SW_COUNT_HITS && !sw_cache_is_same(lane->cache, walk->entry.generation))
        answer = SW_COUNT_BUSY;
    if (answer == SW_COUNT_HITS) {
        walk->entry.at = at.entry;
        walk->entry.step = usable(walk, at.step);
        return true;
    }
    lane->misses++;
    sw_cache_count(lane->cache, answer, 1);
    return false;
}

/* ---- the long step ---- */

/* A pc that has an entry is one that calls return to: no other return address is stored. */
static bool is_return(const void *known, uint64_t pc)
{
    const struct sw_lane *lane = known;
    struct sw_at at = { .pc = pc };
    if (!lane->cache)
        return false;
    const uint64_t generation = sw_cache_generation(lane->cache);
    return sw_lane_find(lane, &at, false) == SW_COUNT_HITS && sw_cache_is_same(lane->cache, generation);
}

/* The caller by the rule that the cache has, if it leads to one or to the end: fills as sw_unwind. */
static bool is_cached(struct sw_walk *walk, const struct sw_unwind_request *req, struct sw_found *found)
{
    const struct sw_lane *lane = lane_of(walk);
    struct sw_candidate *c = &req->work->asked[0];
    if (walk->entry.step == 0 || !find_entry(walk))
        return false;
    const struct sw_cold *cold = sw_cold_at(lane->cold, walk->entry.at);
    const struct sw_packed_rule packed = { sw_load(&cold->step), sw_load(&cold->slots),
                                           atomic_load_explicit(&cold->same, memory_order_relaxed) };
    const uint64_t step = packed.step, function = sw_load(&cold->function);
    if (!sw_cache_is_same(lane->cache, walk->entry.generation)) {
        walk->entry.step = 0;
        return false;
    }
    sw_arch_of(walk->walker->machine)->codec->unpack(&packed, &c->rule);
    *found = (struct sw_found){ .rule = &c->rule, .caller = &c->caller };
    found->stop = step & SW_STEP_END ? SW_STOP_ROOT : sw_candidate_try(req, c);
    if (sw_stop_is_root(found->stop)) /* a zero in front of executing code may be a table's mistake */
        return sw_step_ends(step, sw_regs_sp(&c->caller), walk->walker->stack_end) &&
               (found->stop == SW_STOP_ROOT || !walk->frame.exact);
    if (found->stop == SW_STOP_NONE && sw_walk_confirm(req, step, function, c) && sw_candidate_is_called(req, c))
        return true;
    if ((step & SW_STEP_POINTER) && function == 0)
        walk->entry.step = 0; /* with the function, if one is found, the entry says more */
    return false;
}

static void find_caller(struct sw_walk *walk, const struct sw_unwind_request *req, struct sw_found *found)
{
    if (is_cached(walk, req, found))
        return;
    if (!req->work->is_found)
        sw_unwind_find_code(req, &walk->frame);
    sw_unwind(req, found);
    walk->fault = found->fault;
    const bool leads = found->stop == SW_STOP_NONE || sw_stop_is_root(found->stop);
    const bool says_more = found->pointed != SW_TRUST_NONE && !(walk->entry.step & SW_STEP_POINTER);
    if (leads && (walk->entry.step == 0 || says_more) && lane_of(walk)->cache)
        sw_walk_remember(lane_of(walk), req, found);
}

static bool at_base(const struct sw_walk *walk)
{
    const struct sw_walker *walker = walk->walker;
    return walker->stack_end != 0 && sw_regs_sp(&walk->frame.regs) == walker->stack_end;
}

/* What a walk needs that is not out of the cache. */
static void open_workspace(struct sw_walk *walk)
{
    struct sw_walk_scratch *scratch = sw_walk_scratch_of(walk->scratch);
    struct sw_workspace *work = &scratch->work;
    sw_workspace_open(work, walk->walker, !scratch->is_open);
    if (!scratch->is_open)
        work->meter.left = sw_work_granted(walk->walker->budget);
    scratch->is_open = true;
}

static void set_exact(struct sw_frame *frame, bool exact)
{
    frame->exact = exact;
    frame->lookup = sw_regs_pc(&frame->regs) - (exact ? 0 : 1);
}

/* Before code is looked for: what is found then may be stored. */
static void note_generations(const struct sw_walk *walk)
{
    struct sw_lane *lane = lane_of(walk);
    if (lane->cache)
        lane->found = sw_lane_generations(lane);
}

static struct sw_unwind_request request_of(struct sw_walk *walk)
{
    struct sw_workspace *work = workspace_of(walk);
    return (struct sw_unwind_request){ walk->walker, work,
                                       &walk->frame, sw_workspace_image(work, walk->walker, walk->frame.lookup),
                                       is_return,    lane_of(walk) };
}

static void find_code(struct sw_walk *walk)
{
    const struct sw_unwind_request req = request_of(walk);
    sw_unwind_find_code(&req, &walk->frame);
}

/* What seems to be a return address may be a pc that was interrupted. */
static void find_callers_code(struct sw_walk *walk)
{
    const struct sw_unwind_request req = request_of(walk);
    sw_unwind_find_code(&req, &walk->frame);
    if (walk->frame.exact || sw_is_native(walk->walker, sw_request_image(&req, sw_regs_pc(&walk->frame.regs))) ||
        !sw_unwind_was_interrupted(&req))
        return;
    set_exact(&walk->frame, true);
    find_code(walk);
}

/* The caller's frame: what is known of it, out of the cache or by looking. */
static void arrive(struct sw_walk *walk, const struct sw_unwind_request *req, const struct sw_found *found)
{
    struct sw_frame *frame = &walk->frame;
    const uint64_t from = walk->entry.step ? walk->entry.at : 0;
    sw_regs_copy(&frame->regs, found->caller);
    frame->source = found->rule->source;
    frame->trust = found->rule->trust;
    set_exact(frame, found->rule->flags & SW_RULE_SIGNAL);
    req->work->is_found = false;
    if (find_entry(walk)) {
        sw_lane_correct(lane_of(walk), from, walk->entry.at);
        return;
    }
    note_generations(walk);
    find_callers_code(walk);
}

static bool step(struct sw_walk *walk)
{
    const struct sw_walker *walker = walk->walker;
    struct sw_frame *frame = &walk->frame;

    walk->fault = (struct sw_fault){ SW_E_NO_RULE, sw_regs_pc(&frame->regs), 0 };
    struct sw_reading reading;
    sw_reading_enter(walker, &reading);
    open_workspace(walk);
    const struct sw_unwind_request req = request_of(walk);
    struct sw_found found;
    if (req.entry)
        req.work->fetch.direct = req.entry->code; /* where the frame's code lies its caller's mostly does, too */
    find_caller(walk, &req, &found);
    if (found.stop == SW_STOP_NONE)
        arrive(walk, &req, &found);
    walk->work = sw_work_granted(walker->budget) - req.work->meter.left;
    sw_reading_leave(walker, &reading);
    if (found.stop == SW_STOP_NONE)
        return true;
    return sw_walk_end(walk, at_base(walk) && found.stop != SW_STOP_ROOT ? SW_STOP_ROOT_BASE : found.stop);
}

bool sw_walk_any_caller(struct sw_walk *walk, struct sw_walker *walker, struct sw_regs *caller)
{
    struct sw_reading reading;
    struct sw_found found;
    walker->flags |= SW_WALK_ANY_PC;
    sw_reading_enter(walker, &reading);
    open_workspace(walk);
    const struct sw_unwind_request req = request_of(walk);
    sw_unwind_find_code(&req, &walk->frame);
    sw_unwind(&req, &found);
    if (found.stop == SW_STOP_NONE)
        sw_regs_copy(caller, found.caller);
    sw_reading_leave(walker, &reading);
    walker->flags &= ~SW_WALK_ANY_PC;
    return found.stop == SW_STOP_NONE;
}

static bool usable_start(const struct sw_walker *walker, const struct sw_regs *start)
{
    return sw_walker_is_usable(walker) && start->machine == walker->machine &&
           (walker->machine == SW_MACHINE_X64 || walker->machine == SW_MACHINE_ARM64) &&
           sw_regs_has(start, sw_regs_pc_number(start->machine)) &&
           sw_regs_has(start, sw_regs_sp_number(start->machine));
}

/* Constant sizes, of which the smaller one is copied without a loop. */
static void copy_start(struct sw_regs *to, const struct sw_regs *from)
{
    if (from->machine == SW_MACHINE_X64)
        memcpy(to, from, offsetof(struct sw_regs, r) + SW_X64_COUNT * sizeof from->r[0]);
    else
        *to = *from;
}

void sw_walk_start(struct sw_walk *walk, const struct sw_walker *walker, struct sw_scratch *scratch,
                   const struct sw_regs *start, bool exact)
{
    if (!walk)
        return;
    walk->walker = walker;
    walk->scratch = scratch;
    walk->frame.code = (struct sw_range){ 0 };
    walk->stop = SW_STOP_NONE;
    walk->fault = (struct sw_fault){ 0 };
    walk->depth = walk->most = 0;
    walk->work = 0;
    walk->state = BEFORE;
    walk->entry = (struct sw_walk_entry){ 0 };
    if (!walker || !scratch || !start || !usable_start(walker, start)) {
        walk->frame = (struct sw_frame){ 0 };
        walk->fault.status = SW_E_ARGUMENT;
        (void)sw_walk_end(walk, SW_STOP_BAD_START);
        return;
    }
    sw_walk_scratch_of(scratch)->is_open = workspace_of(walk)->is_found = false;
    sw_lane_start(lane_of(walk), walker);
    walk->most = sw_walk_most(walker);
    copy_start(&walk->frame.regs, start);
    sw_code_pc(walker, &walk->frame.regs);
    set_exact(&walk->frame, exact);
    walk->frame.source = SW_SOURCE_SEED;
    walk->frame.trust = SW_TRUST_EXACT;
}

static bool first_frame(struct sw_walk *walk)
{
    walk->state = INSIDE;
    walk->depth = 1;
    if (find_entry(walk))
        return true;
    struct sw_reading reading;
    sw_reading_enter(walk->walker, &reading);
    open_workspace(walk);
    note_generations(walk);
    find_code(walk);
    sw_reading_leave(walk->walker, &reading);
    return true;
}

SW_OTHERS_FRAMES static SW_APART bool long_step(struct sw_walk *walk)
{
    if (walk->state == OVER)
        return false;
    if (walk->state == BEFORE)
        return first_frame(walk);
    if (walk->depth >= walk->most)
        return sw_walk_end(walk, SW_STOP_FRAME_LIMIT);
    if ((walk->entry.step & SW_STEP_EASY) &&
        (lane_of(walk)->machine == SW_MACHINE_ARM64 ? fast_step(walk, SW_MACHINE_ARM64, 0)
                                                    : fast_step(walk, SW_MACHINE_X64, 0)))
        return true;
    const enum sw_stop end = walk->entry.step ? sw_walk_fast_end(walk) : SW_STOP_NONE;
    if (end != SW_STOP_NONE)
        return sw_walk_end(walk, end);
    if (!step(walk))
        return false;
    walk->depth++;
    return true;
}

SW_OTHERS_FRAMES bool sw_walk_next(struct sw_walk *walk)
{
    if (SW_UNLIKELY(!walk))
        return false;
    const uint64_t kind = walk->entry.step & (SW_STEP_DIRECT | SW_STEP_BY_CALL);
    if (SW_LIKELY(walk->depth < walk->most) &&
        ((kind == SW_STEP_FRAMED && fast_step(walk, SW_MACHINE_X64, SW_STEP_FRAMED)) ||
         (kind == SW_STEP_PLAIN && fast_step(walk, SW_MACHINE_X64, SW_STEP_PLAIN))))
        return true;
    return long_step(walk);
}

/* ---- seeds ---- */

static enum sw_status status_of(const struct sw_walk *walk)
{
    if (walk->stop == SW_STOP_BAD_START)
        return SW_E_ARGUMENT;
    if (sw_stop_is_root(walk->stop))
        return SW_E_NOT_FOUND;
    if (walk->stop == SW_STOP_UNREADABLE)
        return SW_E_UNREADABLE;
    return walk->stop == SW_STOP_FRAME_LIMIT || walk->stop == SW_STOP_BUDGET ? SW_E_LIMIT : SW_E_NO_RULE;
}

enum sw_status sw_walk_find_seed(const struct sw_walker *walker, struct sw_scratch *scratch,
                                 const struct sw_regs *start, struct sw_regs *seed, struct sw_fault *fault)
{
    if (!seed || !scratch)
        return SW_E_ARGUMENT;
    struct sw_walk *walk = &sw_walk_scratch_of(scratch)->whole;
    sw_walk_start(walk, walker, scratch, start, true);
    while (sw_walk_next(walk))
        if (walk->frame.code.kind == SW_KIND_JIT || walk->frame.code.kind == SW_KIND_NGEN) {
            *seed = walk->frame.regs;
            (void)sw_walk_end(walk, SW_STOP_ABORTED);
            return SW_OK;
        }
    if (fault)
        *fault = walk->fault;
    return status_of(walk);
}
