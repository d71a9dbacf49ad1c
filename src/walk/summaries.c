/*
 * The frames of a whole walk, each in few words. Where frames have entries in the rule cache only pc, sp and fp are
 * followed, as in addresses.c; where a frame needs more than that, the way there is gone again with all registers.
 */
#include "walk/scratch.h"

#include <snapwalk/summary.h>

static struct sw_frame_summary summary_of(const struct sw_frame *frame)
{
    return (struct sw_frame_summary){ .pc = sw_regs_pc(&frame->regs),
                                      .sp = sw_regs_sp(&frame->regs),
                                      .source = frame->source,
                                      .trust = frame->trust,
                                      .exact = frame->exact };
}

/* From frame to frame by their entries. Returns how many were reached. */
SW_OTHERS_FRAMES static SW_INLINE size_t follow(const struct sw_lane *lane, enum sw_machine machine, struct sw_at *at,
                                                struct sw_frame_summary *frames, size_t most)
{
    struct sw_at to;
    uint64_t by;
    size_t count = 0;
    while (count < most && (at->step & SW_STEP_EASY) && sw_lane_step(lane, at, &to, machine, &by)) {
        frames[count++] = (struct sw_frame_summary){
            .pc = to.pc, .sp = to.sp, .source = sw_step_source(by), .trust = sw_step_trust(by)
        };
        *at = to;
    }
    return count;
}

SW_OTHERS_FRAMES static SW_APART size_t follow_x64(const struct sw_lane *lane, struct sw_at *at,
                                                   struct sw_frame_summary *frames, size_t most)
{
    return follow(lane, SW_MACHINE_X64, at, frames, most);
}

SW_OTHERS_FRAMES static SW_APART size_t follow_arm64(const struct sw_lane *lane, struct sw_at *at,
                                                     struct sw_frame_summary *frames, size_t most)
{
    return follow(lane, SW_MACHINE_ARM64, at, frames, most);
}

/*
 * From the walk's frame on, as far as entries lead; the walk stays where it is.
 *
 * Returns  How many frames; *stop not NONE: that is the whole rest.
 */
static size_t go_on(const struct sw_walk *walk, struct sw_lane *lane, struct sw_frame_summary *frames, size_t most,
                    enum sw_stop *stop)
{
    const uint64_t generation = sw_cache_generation(lane->cache);
    const size_t left = walk->most - walk->depth, end = most < left ? most : left;
    const bool exact = walk->frame.exact;
    struct sw_at at;
    *stop = SW_STOP_NONE;
    if (!sw_lane_enter(lane->machine, &walk->frame.regs, &at))
        return 0;
    (void)sw_lane_find(lane, &at, exact);
    const size_t count =
        lane->machine == SW_MACHINE_ARM64 ? follow_arm64(lane, &at, frames, end) : follow_x64(lane, &at, frames, end);
    if (count == end && left < most)
        *stop = SW_STOP_FRAME_LIMIT;
    else if (count < end && !(count == 0 && exact)) /* a zero there may be a mistake of its table */
        *stop = sw_lane_end(lane, lane->machine, at.step, at.sp, at.fp);
    if (sw_cache_is_same(lane->cache, generation))
        return count;
    *stop = SW_STOP_NONE;
    return 0;
}

/* tried: how many frames entries have led over in vain. */
static size_t put_frames(struct sw_walk *walk, struct sw_lane *lane, struct sw_frame_summary *frames, size_t most)
{
    size_t count = 0, tried = 0;
    enum sw_stop stop;
    while (count < most && sw_walk_next(walk)) {
        frames[count++] = summary_of(&walk->frame);
        if (count <= tried || !sw_lane_is_open(lane))
            continue;
        const size_t more = go_on(walk, lane, frames + count, most - count, &stop);
        tried = count + more;
        if (stop == SW_STOP_NONE && tried != most)
            continue;
        walk->depth += (uint32_t)more;
        if (more != 0)
            walk->frame.trust = SW_TRUST_LIKELY; /* of the last of them, at least */
        if (stop != SW_STOP_NONE)
            (void)sw_walk_end(walk, stop);
        return tried;
    }
    return count;
}

size_t sw_walk_summaries(const struct sw_walker *walker, struct sw_scratch *scratch, const struct sw_regs *start,
                         bool exact, struct sw_frame_summary *frames, size_t capacity, enum sw_stop *stop)
{
    enum sw_stop ignored;
    stop = stop ? stop : &ignored;
    *stop = SW_STOP_BAD_START;
    if (!walker || !scratch || !start)
        return 0;
    struct sw_walk_scratch *parts = sw_walk_scratch_of(scratch);
    struct sw_walk *walk = &parts->whole;
    sw_walk_start(walk, walker, scratch, start, exact);
    const size_t count = put_frames(walk, &parts->lane, frames, frames ? capacity : 0);
    *stop = walk->stop;
    if (walk->stop == SW_STOP_NONE)
        (void)sw_walk_end(walk, SW_STOP_ABORTED);
    return count;
}
