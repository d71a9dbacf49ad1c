/*
 * The walk: find, decode, apply, frame after frame. Knows the order of things and when to end; what a rule says comes
 * from sources.c, what it means from lib/base/rule.c. Allocates nothing, takes no lock, keeps everything in the
 * scratch.
 */
#include "walk/walk.h"

#include "walk/sources.h"

#include <string.h>

enum { BEFORE = 0, INSIDE, OVER, DEFAULT_FRAMES = 10000 };

static struct sw_walk_room *room_of(const struct sw_walk *walk)
{
    return (struct sw_walk_room *)walk->scratch->room;
}

static bool end_walk(struct sw_walk *walk, enum sw_stop stop)
{
    walk->stop = stop;
    walk->state = OVER;
    return false;
}

/* ---- find ---- */

/*
 * Whether a frame of managed code was interrupted although nothing says so: CoreCLR's fault handler makes the faulting
 * pc look like a return address, without a signal frame. Managed code has no return address without a call in front of
 * it.
 */
static bool was_interrupted(const struct sw_question *q)
{
    const uint64_t pc = sw_regs_pc(&q->frame->regs);
    struct sw_range code;
    uint64_t target;
    sw_find_code(q->walker, sw_images_entry(q->walker->images, pc), pc, &code);
    if (code.kind != SW_KIND_JIT && code.kind != SW_KIND_NGEN)
        return false;
    return pc == code.begin || !sw_is_behind_call(q, pc, &target);
}

/*
 * Completes a frame whose regs and exact are set: its code, and for CoreCLR JIT code the rule that comes with the
 * FunctionID. A perf map's id is only the method's address; the header knows the real one.
 */
static void find_frame(struct sw_walk *walk, const struct sw_image_entry *entry)
{
    struct sw_frame *frame = &walk->frame;
    struct sw_walk_room *room = room_of(walk);
    const struct sw_question q = { walk->walker, room, frame, entry };
    uint64_t function;
    sw_find_code(walk->walker, entry, frame->lookup, &frame->code);
    room->has_kept =
        !(walk->walker->flags & SW_WALK_NO_TABLES) && sw_source_clr_header(&q, &room->kept, &function) == SW_OK;
    if (room->has_kept && frame->code.id == frame->code.begin)
        frame->code.id = function;
}

/* ---- one step ---- */

static bool is_clean(enum sw_stop stop)
{
    return stop == SW_STOP_ROOT || stop == SW_STOP_ROOT_ZERO || stop == SW_STOP_ROOT_BASE;
}

/* A rule that was found, but led to no caller. */
static enum sw_status status_of_cut(enum sw_stop stop)
{
    if (stop == SW_STOP_UNREADABLE)
        return SW_E_UNREADABLE;
    return stop == SW_STOP_LOST_REGISTER ? SW_E_NO_RULE : SW_E_MALFORMED;
}

/* Asks the sources one after the other until a rule leads to a caller. Fills room->rule and room->caller. */
static enum sw_stop find_caller(struct sw_walk *walk, const struct sw_question *q)
{
    enum sw_stop first = SW_STOP_NO_RULE;
    for (unsigned n = 0; n < SW_SOURCES; n++) {
        struct sw_fault *fault = &walk->fault;
        uint64_t address = 0;
        enum sw_stop stop;
        const enum sw_status status = sw_source_rule(q, n);
        if (status == SW_E_NO_RULE)
            continue;
        if (status == SW_OK && (q->room->rule.flags & SW_RULE_END))
            return SW_STOP_ROOT;
        stop = status == SW_OK ? sw_try_rule(q, &q->room->rule, &address) : SW_STOP_BAD_TABLE;
        if (stop == SW_STOP_NONE || (is_clean(stop) && first == SW_STOP_NO_RULE))
            return stop;                /* behind the cut of a better source a zero is no end */
        if (first == SW_STOP_NO_RULE) { /* what the best source met says most about the cut */
            first = stop;
            *fault = (struct sw_fault){ status ? status : status_of_cut(stop), sw_regs_pc(&q->frame->regs), address };
        }
    }
    return first;
}

static bool at_base(const struct sw_walk *walk)
{
    const struct sw_walker *walker = walk->walker;
    return walker->stack_end != 0 && sw_regs_sp(&walk->frame.regs) == walker->stack_end;
}

static bool step(struct sw_walk *walk)
{
    struct sw_walk_room *room = room_of(walk);
    const struct sw_walker *walker = walk->walker;
    struct sw_frame *frame = &walk->frame;
    enum sw_stop stop;

    walk->fault = (struct sw_fault){ SW_E_NO_RULE, sw_regs_pc(&frame->regs), 0 };
    const struct sw_reading reading = sw_reading_enter(walker);
    room->fetch.direct = (struct sw_bytes){ 0 }; /* what was found in another section may be gone */
    const struct sw_question q = { walker, room, frame, sw_images_entry(walker->images, frame->lookup) };
    stop = find_caller(walk, &q);
    if (stop == SW_STOP_NONE) {
        frame->regs = room->caller;
        frame->exact = (room->rule.flags & SW_RULE_SIGNAL) != 0 || was_interrupted(&q);
        frame->lookup = sw_regs_pc(&frame->regs) - (frame->exact ? 0 : 1);
        frame->source = room->rule.source;
        frame->trust = room->rule.trust;
        find_frame(walk, sw_images_entry(walker->images, frame->lookup));
    }
    sw_reading_leave(walker, reading);
    if (stop == SW_STOP_NONE)
        return true;
    if (is_clean(stop))
        walk->fault = (struct sw_fault){ 0 };
    return end_walk(walk, at_base(walk) && !is_clean(stop) ? SW_STOP_ROOT_BASE : stop);
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
        (void)end_walk(walk, SW_STOP_BAD_START);
        return;
    }
    sw_fetch_reset(&room_of(walk)->fetch, &walker->memory, walker->images);
    room_of(walk)->left = SW_WALK_SEARCH;
    walk->frame.regs = *start;
    walk->frame.exact = exact;
    walk->frame.lookup = sw_regs_pc(start) - (exact ? 0 : 1);
    walk->frame.source = SW_SOURCE_SEED;
    walk->frame.trust = SW_TRUST_EXACT;
}

static bool first_frame(struct sw_walk *walk)
{
    const struct sw_reading reading = sw_reading_enter(walk->walker);
    room_of(walk)->fetch.direct = (struct sw_bytes){ 0 };
    find_frame(walk, sw_images_entry(walk->walker->images, walk->frame.lookup));
    sw_reading_leave(walk->walker, reading);
    walk->state = INSIDE;
    walk->depth = 1;
    return true;
}

bool sw_walk_next(struct sw_walk *walk)
{
    if (!walk || walk->state == OVER)
        return false;
    if (walk->state == BEFORE)
        return first_frame(walk);
    if (walk->depth >= (walk->walker->max_frames ? walk->walker->max_frames : DEFAULT_FRAMES))
        return end_walk(walk, SW_STOP_FRAME_LIMIT);
    if (!step(walk))
        return false;
    walk->depth++;
    return true;
}

enum sw_stop sw_walk_all(const struct sw_walker *walker, struct sw_scratch *scratch, const struct sw_regs *start,
                         bool (*sink)(void *arg, const struct sw_frame *frame), void *arg)
{
    struct sw_walk walk;
    if (!sink)
        return SW_STOP_BAD_START;
    sw_walk_start(&walk, walker, scratch, start, true);
    while (sw_walk_next(&walk))
        if (!sink(arg, &walk.frame))
            return SW_STOP_ABORTED;
    return walk.stop;
}

/* ---- seeds ---- */

static enum sw_status status_of(const struct sw_walk *walk)
{
    if (walk->stop == SW_STOP_BAD_START)
        return SW_E_ARGUMENT;
    if (is_clean(walk->stop))
        return SW_E_NOT_FOUND;
    if (walk->stop == SW_STOP_UNREADABLE)
        return SW_E_UNREADABLE;
    return walk->stop == SW_STOP_FRAME_LIMIT ? SW_E_LIMIT : SW_E_NO_RULE;
}

enum sw_status sw_walk_find_seed(const struct sw_walker *walker, struct sw_scratch *scratch,
                                 const struct sw_regs *start, struct sw_regs *seed, struct sw_fault *fault)
{
    struct sw_walk walk;
    if (!seed)
        return SW_E_ARGUMENT;
    sw_walk_start(&walk, walker, scratch, start, true);
    while (sw_walk_next(&walk))
        if (walk.frame.code.kind == SW_KIND_JIT || walk.frame.code.kind == SW_KIND_NGEN) {
            *seed = walk.frame.regs;
            return SW_OK;
        }
    if (fault)
        *fault = walk.fault;
    return status_of(&walk);
}
