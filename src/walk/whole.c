/*
 * A whole walk in one call. Knows how frames of one kind follow each other by their entries without what sw_walk_next
 * does for each; all other frames are walk.c's.
 */
#include "walk/by_entry.h"
#include "walk/scratch.h"

typedef bool sw_walk_sink(void *arg, const struct sw_frame *frame);

/* Both at once. */
_Static_assert(offsetof(struct sw_frame, trust) == offsetof(struct sw_frame, source) + 1 &&
                   (int)SW_STEP_TRUST_SHIFT == (int)SW_STEP_SOURCE_SHIFT + 8,
               "source and trust lie side by side in a frame and in a step");
static SW_INLINE void set_source(struct sw_frame *frame, uint64_t step)
{
    const uint16_t both = (uint16_t)(step >> SW_STEP_SOURCE_SHIFT);
    memcpy((char *)frame + offsetof(struct sw_frame, source), &both, sizeof both);
}

/* Of a step: that it changes more than pc and sp; of a framed one, fp. Or that it is to be confirmed. */
static inline uint64_t beside(uint64_t known, uint64_t kind)
{
    enum { PLACE = 0xff };
    return SW_STEP_BY_CALL | SW_STEP_OTHERS | sw_step_losing(known) | (kind == SW_STEP_PLAIN ? PLACE : 0);
}

/*
 * What changes beside those. more: receives of which steps this is to be asked from there on.
 *
 * Returns  False: the step is to be confirmed, or not believed; the frame is as it was, walk->entry.step what is known.
 */
SW_OTHERS_FRAMES static SW_INLINE bool restore(struct sw_walk *walk, const struct sw_lane *lane, const struct sw_at *at,
                                               uint64_t cfa, uint64_t kind, uint64_t *more)
{
    struct sw_regs *regs = &walk->frame.regs;
    const struct sw_cold *from = sw_cold_at(lane->cold, at->entry);
    const uint64_t same = atomic_load_explicit(&from->same, memory_order_relaxed);
    const uint64_t slots = at->step & SW_STEP_OTHERS ? sw_load(&from->slots) : 0, place = sw_step_place(at->step);
    if (at->step & SW_STEP_BY_CALL)
        sw_walk_set_code(&walk->frame.code, from); /* which was the next frame's by now */
    walk->entry.step = at->step;
    if (!sw_walk_is_believed(walk, lane) || (at->step & SW_STEP_BY_CALL))
        return false;
    if (place)
        regs->r[SW_X64_RBP] = sw_lane_word(lane->view.stack, sw_slot_address(cfa, place));
    if (slots)
        sw_slots_restore(regs, SW_MACHINE_X64, lane->view.stack, cfa, slots);
    regs->known = sw_known_behind(SW_MACHINE_X64, regs->known, same);
    walk->frame.exact = false;
    *more = beside(regs->known, kind);
    return true;
}

/*
 * Frames of one kind and the first of another, as sw_walk_next would give them one after the other. What leads from one
 * to the next stays out of memory, which would make each wait for the one before.
 */
SW_OTHERS_FRAMES static SW_INLINE void run(struct sw_walk_scratch *scratch, uint64_t kind, sw_walk_sink *take,
                                           void *arg)
{
    const struct sw_lane *lane = &scratch->lane;
    struct sw_walk *walk = &scratch->whole;
    struct sw_frame *frame = &walk->frame;
    struct sw_regs *regs = &frame->regs;
    const struct sw_lane_view view = lane->view;
    struct sw_at at = { 0, regs->r[SW_X64_RSP], regs->r[SW_X64_RBP], walk->entry.step, walk->entry.at };
    uint32_t left = walk->most - walk->depth, unused = 0;
    uint64_t more = UINT64_MAX; /* the first may be exact */
    bool goes_on = true;
    do {
        const struct sw_at from = at;
        if (!sw_lane_follow(lane, view, &from, &at, SW_MACHINE_X64, kind, true))
            break;
        if (SW_UNLIKELY(!(at.step & kind))) {
            if (!(at.step & SW_STEP_ENTRY)) {
                at = from;
                break;
            }
            unused = left - 1;
            left = 1;
        }
        sw_walk_set_code(&frame->code, sw_cold_at(lane->cold, at.entry));
        if (!sw_walk_is_believed(walk, lane) ||
            (SW_UNLIKELY(from.step & more) && !restore(walk, lane, &from, at.sp, kind, &more))) {
            at = from;
            at.step = walk->entry.step;
            break;
        }
        set_source(frame, from.step);
        regs->r[SW_X64_RIP] = at.pc;
        regs->r[SW_X64_RSP] = at.sp;
        if (kind == SW_STEP_FRAMED)
            regs->r[SW_X64_RBP] = at.fp;
        frame->lookup = at.pc - 1;
        goes_on = take(arg, frame);
        left--;
    } while (left && goes_on);
    walk->depth = walk->most - left - unused;
    walk->entry.step = at.step;
    walk->entry.at = at.entry;
    if (!goes_on)
        (void)sw_walk_end(walk, SW_STOP_ABORTED);
}

SW_OTHERS_FRAMES static SW_APART void run_framed(struct sw_walk_scratch *scratch, sw_walk_sink *take, void *arg)
{
    run(scratch, SW_STEP_FRAMED, take, arg);
}

SW_OTHERS_FRAMES static SW_APART void run_plain(struct sw_walk_scratch *scratch, sw_walk_sink *take, void *arg)
{
    run(scratch, SW_STEP_PLAIN, take, arg);
}

/* From a frame that has been delivered. */
static void run_on(struct sw_walk_scratch *scratch, sw_walk_sink *take, void *arg)
{
    const uint64_t kind = scratch->whole.entry.step & (SW_STEP_DIRECT | SW_STEP_BY_CALL);
    if (scratch->whole.depth >= scratch->whole.most)
        return;
    if (kind == SW_STEP_FRAMED)
        run_framed(scratch, take, arg);
    else if (kind == SW_STEP_PLAIN)
        run_plain(scratch, take, arg);
}

/* Whether the frame that was delivered last is the last one. */
static bool ends_there(struct sw_walk *walk)
{
    const enum sw_stop end = walk->depth < walk->most ? sw_walk_fast_end(walk) : SW_STOP_NONE;
    return end != SW_STOP_NONE && !sw_walk_end(walk, end);
}

enum sw_stop sw_walk_all(const struct sw_walker *walker, struct sw_scratch *scratch, const struct sw_regs *start,
                         bool (*sink)(void *arg, const struct sw_frame *frame), void *arg)
{
    if (!sink || !scratch)
        return SW_STOP_BAD_START;
    struct sw_walk *walk = &sw_walk_scratch_of(scratch)->whole;
    sw_walk_start(walk, walker, scratch, start, true);
    for (bool goes_on = sw_walk_next(walk); goes_on; goes_on = !ends_there(walk) && sw_walk_next(walk)) {
        if (!sink(arg, &walk->frame))
            (void)sw_walk_end(walk, SW_STOP_ABORTED);
        run_on(sw_walk_scratch_of(scratch), sink, arg);
    }
    return walk->stop;
}
