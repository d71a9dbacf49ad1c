/*
 * The walk: find, decode, apply, frame after frame. Knows the order of things and when to end; what a rule says comes
 * from sources.c, what it means from lib/base/rule.c. Allocates nothing, takes no lock, keeps everything in the
 * scratch.
 */
#include "fast/warm.h"
#include "unwind/unwind.h"

#include <string.h>

enum { BEFORE = 0, INSIDE, OVER, DEFAULT_FRAMES = 10000 };

static struct sw_workspace *workspace_of(const struct sw_walk *walk)
{
    return (struct sw_workspace *)walk->scratch->room;
}

bool sw_walk_end(struct sw_walk *walk, enum sw_stop stop)
{
    if (walk->state == INSIDE)
        sw_warm_end(walk);
    if (sw_stop_is_root(stop))
        walk->fault = (struct sw_fault){ 0 };
    walk->here.form = 0;
    walk->stop = stop;
    walk->state = OVER;
    return false;
}

/* ---- one step ---- */

/* The caller by the rule that the cache has, if it leads to one or to the end: fills as sw_unwind. */
static bool is_cached(const struct sw_walk *walk, const struct sw_unwind_request *req, enum sw_stop *stop)
{
    struct sw_workspace *work = req->work;
    if (walk->here.form == 0)
        return false;
    sw_warm_rule(walk->walker->machine, &walk->here, &work->rule);
    *stop = work->rule.flags & SW_RULE_END ? SW_STOP_ROOT : sw_try_rule(req, &work->rule, NULL);
    if (sw_stop_is_root(*stop))
        return !(walk->here.form & SW_FORM_ONLY_SO);
    return *stop == SW_STOP_NONE && sw_warm_confirm(req, &walk->here);
}

static enum sw_stop find_caller(struct sw_walk *walk, const struct sw_unwind_request *req)
{
    struct sw_found found;
    enum sw_stop stop;
    if (is_cached(walk, req, &stop))
        return stop;
    if (!req->work->is_found)
        sw_unwind_find_code(req, &walk->frame);
    sw_unwind(req, &found);
    walk->fault = found.fault;
    if ((found.stop == SW_STOP_NONE || sw_stop_is_root(found.stop)) && walk->here.form == 0)
        sw_warm_keep(req, &found);
    return found.stop;
}

static bool at_base(const struct sw_walk *walk)
{
    const struct sw_walker *walker = walk->walker;
    return walker->stack_end != 0 && sw_regs_sp(&walk->frame.regs) == walker->stack_end;
}

/* What a walk needs that is not out of the cache. */
static void open_room(struct sw_walk *walk)
{
    struct sw_workspace *work = workspace_of(walk);
    if (!work->is_open) {
        sw_fetch_reset(&work->fetch, &walk->walker->memory, walk->walker->images);
        work->left = SW_WALK_SEARCH;
    }
    work->is_open = true;
    work->fetch.direct = (struct sw_bytes){ 0 }; /* what was found in another section may be gone */
}

static void set_exact(struct sw_frame *frame, bool exact)
{
    frame->exact = exact;
    frame->lookup = sw_regs_pc(&frame->regs) - (exact ? 0 : 1);
}

static void find_code(struct sw_walk *walk)
{
    const struct sw_walker *walker = walk->walker;
    const struct sw_image_entry *entry = sw_images_entry(walker->images, walk->frame.lookup);
    const struct sw_unwind_request req = { walker, workspace_of(walk), &walk->frame, entry };
    sw_unwind_find_code(&req, &walk->frame);
}

/* The frame in whose caller's work->caller is: what is known of it, out of the cache or by looking. */
static void arrive(struct sw_walk *walk, const struct sw_unwind_request *req)
{
    struct sw_workspace *work = workspace_of(walk);
    struct sw_frame *frame = &walk->frame;
    sw_regs_copy(&frame->regs, &work->caller);
    frame->source = work->rule.source;
    frame->trust = work->rule.trust;
    set_exact(frame, work->rule.flags & SW_RULE_SIGNAL);
    work->is_found = false;
    if (sw_warm_find(walk))
        return;
    sw_warm_look_at_clocks(&work->warm);
    set_exact(frame, frame->exact || sw_unwind_was_interrupted(req));
    find_code(walk);
}

static bool step(struct sw_walk *walk)
{
    struct sw_workspace *work = workspace_of(walk);
    const struct sw_walker *walker = walk->walker;
    struct sw_frame *frame = &walk->frame;

    walk->fault = (struct sw_fault){ SW_E_NO_RULE, sw_regs_pc(&frame->regs), 0 };
    const struct sw_reading reading = sw_reading_enter(walker);
    open_room(walk);
    const struct sw_unwind_request req = { walker, work, frame, sw_images_entry(walker->images, frame->lookup) };
    const enum sw_stop stop = find_caller(walk, &req);
    if (stop == SW_STOP_NONE)
        arrive(walk, &req);
    sw_reading_leave(walker, reading);
    if (stop == SW_STOP_NONE)
        return true;
    return sw_walk_end(walk, at_base(walk) && !sw_stop_is_root(stop) ? SW_STOP_ROOT_BASE : stop);
}

static bool usable_start(const struct sw_walker *walker, const struct sw_regs *start)
{
    return start->machine == walker->machine &&
           (walker->machine == SW_MACHINE_X64 || walker->machine == SW_MACHINE_ARM64) &&
           sw_regs_has(start, sw_regs_pc_number(start->machine)) &&
           sw_regs_has(start, sw_regs_sp_number(start->machine));
}

void sw_walk_start(struct sw_walk *walk, const struct sw_walker *walker, struct sw_scratch *scratch,
                   const struct sw_regs *start, bool exact)
{
    if (!walk)
        return;
    memset(walk, 0, sizeof *walk);
    walk->walker = walker;
    walk->scratch = scratch;
    if (!walker || !scratch || !start || !usable_start(walker, start)) {
        (void)sw_walk_end(walk, SW_STOP_BAD_START);
        return;
    }
    workspace_of(walk)->is_open = workspace_of(walk)->is_found = false;
    sw_warm_start(&workspace_of(walk)->warm, walker);
    walk->most = walker->max_frames ? walker->max_frames : DEFAULT_FRAMES;
    walk->frame.regs = *start;
    sw_code_pc(walker, &walk->frame.regs);
    set_exact(&walk->frame, exact);
    walk->frame.source = SW_SOURCE_SEED;
    walk->frame.trust = SW_TRUST_EXACT;
}

static bool first_frame(struct sw_walk *walk)
{
    struct sw_workspace *work = workspace_of(walk);
    walk->state = INSIDE;
    walk->depth = 1;
    if (sw_warm_find(walk))
        return true;
    const struct sw_reading reading = sw_reading_enter(walk->walker);
    open_room(walk);
    sw_warm_look_at_clocks(&work->warm);
    find_code(walk);
    sw_reading_leave(walk->walker, reading);
    return true;
}

bool sw_walk_long_step(struct sw_walk *walk)
{
    if (walk->state == OVER)
        return false;
    if (walk->state == BEFORE)
        return first_frame(walk);
    if (walk->depth >= walk->most)
        return sw_walk_end(walk, SW_STOP_FRAME_LIMIT);
    if (!step(walk))
        return false;
    walk->depth++;
    return true;
}

enum sw_stop sw_walk_all(const struct sw_walker *walker, struct sw_scratch *scratch, const struct sw_regs *start,
                         bool (*sink)(void *arg, const struct sw_frame *frame), void *arg)
{
    if (!sink || !scratch)
        return SW_STOP_BAD_START;
    struct sw_walk *walk = &((struct sw_workspace *)scratch->room)->whole;
    sw_walk_start(walk, walker, scratch, start, true);
    while (sw_walk_next(walk))
        if (!sink(arg, &walk->frame))
            (void)sw_walk_end(walk, SW_STOP_ABORTED);
    return walk->stop;
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
    return walk->stop == SW_STOP_FRAME_LIMIT ? SW_E_LIMIT : SW_E_NO_RULE;
}

enum sw_status sw_walk_find_seed(const struct sw_walker *walker, struct sw_scratch *scratch,
                                 const struct sw_regs *start, struct sw_regs *seed, struct sw_fault *fault)
{
    if (!seed || !scratch)
        return SW_E_ARGUMENT;
    struct sw_walk *walk = &((struct sw_workspace *)scratch->room)->whole;
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
