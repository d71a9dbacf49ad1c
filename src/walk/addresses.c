/*
 * The pcs of a walk without its frames. Where frames have entries in the rule cache or are in the replay memory, only
 * pc, sp and fp are followed. Where a frame needs more than that, the way there is gone again with all registers
 * (sw_walk_next), so that the answer is always that of the whole walk.
 */
#include "base/hot.h"
#include "fast/trace.h"
#include "walk/body.h"
#include "walk/scratch.h"

/* ---- from frame to frame ---- */

/*
 * From frame to frame of one kind (sw_lane_follow), which is a constant of each loop. So a prediction never waits for a
 * pc to be loaded, and a frame pointer never waits for an entry. Returns how many frames were reached.
 */
SW_OTHERS_FRAMES static SW_INLINE size_t run(const struct sw_lane *lane, enum sw_machine machine, struct sw_at *at,
                                             uint64_t *pcs, size_t most, uint64_t kind)
{
    const struct sw_lane_view view = lane->view;
    struct sw_at r = *at;
    uint64_t *to = pcs, *const end = pcs + most;
    do {
        if (!sw_lane_follow(lane, view, &r, &r, machine, kind, true))
            break;
        *to++ = r.pc;
    } while (to != end && (r.step & kind));
    *at = (struct sw_at){ to != pcs ? to[-1] : at->pc, r.sp, r.fp, r.step, r.entry };
    return (size_t)(to - pcs);
}

/* One frame on, from any kind. Where predictions are confirmed, this one now is. */
SW_OTHERS_FRAMES static SW_INLINE size_t one(const struct sw_lane *lane, enum sw_machine machine, struct sw_at *at,
                                             uint64_t *pc)
{
    struct sw_at to;
    uint64_t by;
    if (!(at->step & SW_STEP_EASY) || !sw_lane_step(lane, at, &to, machine, &by))
        return 0;
    if (lane->holds && (at->step & SW_STEP_DIRECT_SO))
        sw_lane_note_confirmed(lane, at->entry, to.entry);
    *pc = to.pc;
    *at = to;
    return 1;
}

SW_OTHERS_FRAMES static SW_APART size_t one_x64(const struct sw_lane *lane, struct sw_at *at, uint64_t *pc)
{
    return one(lane, SW_MACHINE_X64, at, pc);
}

SW_OTHERS_FRAMES static SW_APART size_t one_arm64(const struct sw_lane *lane, struct sw_at *at, uint64_t *pc)
{
    return one(lane, SW_MACHINE_ARM64, at, pc);
}

static SW_INLINE size_t single(const struct sw_lane *lane, enum sw_machine machine, struct sw_at *at, uint64_t *pc)
{
    return machine == SW_MACHINE_ARM64 ? one_arm64(lane, at, pc) : one_x64(lane, at, pc);
}

/*
 * From frame to frame of all kinds. A direct run that ends at a frame of its own kind has met an obstacle, any other
 * one a prediction that is to be confirmed. Where each entry is to be asked whether it holds, frames are taken one by
 * one.
 */
SW_OTHERS_FRAMES static SW_INLINE size_t go_by(const struct sw_lane *lane, enum sw_machine machine, struct sw_at *at,
                                               uint64_t *pcs, size_t most)
{
    const uint64_t in_runs = lane->holds ? SW_STEP_DIRECT | SW_STEP_DIRECT_SO : 0;
    size_t count = 0, more = 1;
    uint64_t kind = 0;
    while (count < most && more != 0 && !(at->step & kind & SW_STEP_DIRECT)) {
        kind = at->step & in_runs;
        if (kind == SW_STEP_FRAMED)
            more = run(lane, machine, at, pcs + count, most - count, SW_STEP_FRAMED);
        else if (kind == SW_STEP_PLAIN)
            more = run(lane, machine, at, pcs + count, most - count, SW_STEP_PLAIN);
        else if (kind == SW_STEP_FRAMED_SO)
            more = run(lane, machine, at, pcs + count, most - count, SW_STEP_FRAMED_SO);
        else if (kind == SW_STEP_PLAIN_SO)
            more = run(lane, machine, at, pcs + count, most - count, SW_STEP_PLAIN_SO);
        else
            more = single(lane, machine, at, pcs + count);
        count += more;
        if ((at->step & kind & SW_STEP_DIRECT_SO) && count < most) {
            more = single(lane, machine, at, pcs + count);
            count += more;
        }
    }
    return count;
}

SW_OTHERS_FRAMES static SW_APART size_t go_on_arm64(const struct sw_lane *lane, struct sw_at *at, uint64_t *pcs,
                                                    size_t most)
{
    return go_by(lane, SW_MACHINE_ARM64, at, pcs, most);
}

SW_HOT SW_OTHERS_FRAMES static SW_APART size_t go_on_x64(const struct sw_lane *lane, struct sw_at *at, uint64_t *pcs,
                                                         size_t most)
{
    return go_by(lane, SW_MACHINE_X64, at, pcs, most);
}

static SW_INLINE size_t go_on(const struct sw_lane *lane, enum sw_machine machine, struct sw_at *at, uint64_t *pcs,
                              size_t most)
{
    return machine == SW_MACHINE_ARM64 ? go_on_arm64(lane, at, pcs, most) : go_on_x64(lane, at, pcs, most);
}

/* ---- with a replay memory ---- */

/* Some of the next ones, to be remembered or not. */
static size_t go_some(struct sw_lane *lane, struct sw_at *at, uint64_t *pcs, size_t most)
{
    const struct sw_trace_frame *frames;
    size_t count;
    if (sw_trace_can_stage(lane->replay)) {
        count = sw_trace_follow(lane, NULL, at, most < UINT32_MAX ? (uint32_t)most : UINT32_MAX, NULL, &frames);
        for (size_t i = 0; i < count; i++)
            pcs[i] = frames[i].pc;
    } else {
        count = go_on(lane, lane->machine, at, pcs, sw_trace_stride(lane->replay, most));
        sw_trace_pass(lane->replay, count);
    }
    return count;
}

static SW_INLINE bool ends(const struct sw_lane *lane, const struct sw_at *at)
{
    return sw_lane_end(lane, lane->machine, at->step, at->sp, at->fp) != SW_STOP_NONE;
}

/*
 * Whether the frame that was recalled is the last one. Where that was so before, as long as the frame holds its entry
 * says what it said, and lies on two pages that nothing else of the walk needs.
 */
static bool ends_recalled(struct sw_lane *lane, struct sw_at *at)
{
    struct sw_replay *replay = lane->replay;
    const bool is_last = replay->cursor == replay->room;
    at->step = is_last ? replay->end_step : 0;
    if (at->step != 0 && ends(lane, at))
        return true;
    (void)sw_lane_find(lane, at, false);
    if (is_last)
        replay->end_step = at->step;
    return ends(lane, at);
}

/* The same frames, by what is remembered where that is possible. An exact frame is never remembered. */
SW_HOT static SW_APART size_t replay_on(struct sw_lane *lane, struct sw_at *at, bool exact, uint64_t *pcs, size_t most)
{
    size_t count = exact ? go_on(lane, lane->machine, at, pcs, most != 0) : 0, before;
    if (exact && count == 0)
        return 0;
    do {
        before = count;
        count += sw_trace_recall(lane, NULL, at, most - count, pcs + count);
        if (count > before && ends_recalled(lane, at))
            break; /* most walks */
        if (count == before && at->step == 0)
            (void)sw_lane_find(lane, at, false);
        count += go_some(lane, at, pcs + count, most - count);
    } while (count > before);
    return count;
}

/* ---- the whole walk ---- */

/* The first frame's step: where sp is outside, as where the window begins with it, the first one is taken by itself. */
static SW_INLINE bool is_easy(const struct sw_lane *lane, struct sw_at *at)
{
    if (SW_UNLIKELY(!sw_lane_is_inside(lane, at->sp)))
        at->step = sw_step_single(at->step);
    return (at->step & SW_STEP_EASY) != 0;
}

/* A frame to go on from. Replays look for what is remembered first, then for its entry. */
static SW_INLINE bool find_place(struct sw_lane *lane, enum sw_machine machine, const struct sw_regs *regs, bool exact,
                                 struct sw_at *at)
{
    if (!sw_lane_enter(machine, regs, at))
        return false;
    if (lane->replay && !exact)
        return sw_lane_is_inside(lane, at->sp);
    (void)sw_lane_find(lane, at, exact);
    return is_easy(lane, at);
}

/*
 * From a frame whose entry is known to the end. generation: from before its entry was looked for. The rest: as in
 * ends_by.
 */
SW_OTHERS_FRAMES static SW_INLINE bool ends_from(struct sw_lane *lane, enum sw_machine machine, struct sw_at at,
                                                 uint64_t generation, bool exact, size_t left, uint64_t *pcs,
                                                 size_t most, size_t *count, enum sw_stop *stop)
{
    const size_t end = most < left ? most : left;
    const uint32_t replayed = lane->replayed;
    const size_t reached = lane->replay ? replay_on(lane, &at, exact, pcs, end) : go_on(lane, machine, &at, pcs, end);
    const bool is_lost = reached != 0 && !(at.step & SW_STEP_ENTRY); /* at an entry that no return address has */
    const bool is_doubted = reached == 0 && exact;                   /* a zero there may be a mistake of its table */
    if (reached < end)
        *stop = is_doubted ? SW_STOP_NONE : sw_lane_end(lane, machine, at.step, at.sp, at.fp);
    else if (left < most)
        *stop = SW_STOP_FRAME_LIMIT;
    if (is_lost || !sw_cache_is_same(lane->cache, generation)) {
        sw_trace_distrust(lane->replay);
    } else {
        *count = reached;
        if (*stop != SW_STOP_NONE || reached == most)
            return true;
    }
    lane->replayed = replayed; /* all that is gone over again */
    return false;
}

/*
 * From the frame of some registers to the end, with pc, sp and the frame pointer only. left: frames that the walk may
 * still reach; most: pcs that there is room for.
 *
 * Returns  True: that was it; *stop NONE: there was no room for more. False: behind *count frames comes one that takes
 *          more, or entries were used again meanwhile.
 */
SW_OTHERS_FRAMES static SW_INLINE bool ends_by(struct sw_lane *lane, enum sw_machine machine,
                                               const struct sw_regs *regs, bool exact, size_t left, uint64_t *pcs,
                                               size_t most, size_t *count, enum sw_stop *stop)
{
    const uint64_t generation = sw_cache_generation(lane->cache);
    struct sw_at at;
    lane->view.confirmed = sw_next_confirmed(generation);
    *count = 0;
    *stop = SW_STOP_NONE;
    return find_place(lane, machine, regs, exact, &at) &&
           ends_from(lane, machine, at, generation, exact, left, pcs, most, count, stop);
}

/* The same where the pc is executing and has no entry of its own, by that of the body around it (body.h). */
SW_OTHERS_FRAMES static SW_APART bool ends_by_body(const struct sw_walker *walker, struct sw_lane *lane,
                                                   const struct sw_regs *regs, size_t left, uint64_t *pcs, size_t most,
                                                   size_t *count, enum sw_stop *stop)
{
    const uint64_t generation = sw_cache_generation(lane->cache);
    struct sw_at at;
    lane->view.confirmed = sw_next_confirmed(generation);
    return lane->machine == SW_MACHINE_X64 && sw_lane_enter(SW_MACHINE_X64, regs, &at) &&
           sw_walk_find_body(walker, lane, &at) == SW_COUNT_HITS && is_easy(lane, &at) &&
           ends_from(lane, SW_MACHINE_X64, at, generation, true, left, pcs, most, count, stop);
}

SW_OTHERS_FRAMES static SW_APART bool ends_quickly_arm64(struct sw_lane *lane, const struct sw_regs *regs, bool exact,
                                                         size_t left, uint64_t *pcs, size_t most, size_t *count,
                                                         enum sw_stop *stop)
{
    return ends_by(lane, SW_MACHINE_ARM64, regs, exact, left, pcs, most, count, stop);
}

SW_HOT SW_OTHERS_FRAMES static SW_APART bool ends_quickly(struct sw_lane *lane, const struct sw_regs *regs, bool exact,
                                                          size_t left, uint64_t *pcs, size_t most, size_t *count,
                                                          enum sw_stop *stop)
{
    return SW_UNLIKELY(lane->machine == SW_MACHINE_ARM64)
               ? ends_quickly_arm64(lane, regs, exact, left, pcs, most, count, stop)
               : ends_by(lane, SW_MACHINE_X64, regs, exact, left, pcs, most, count, stop);
}

/*
 * With all registers, frame by frame, and quickly again behind each frame that needs them. tried: how many frames have
 * been gone over quickly in vain.
 */
static SW_APART size_t walk_slowly(struct sw_walk *walk, struct sw_lane *lane, size_t tried, uint64_t *pcs, size_t most,
                                   enum sw_stop *stop)
{
    size_t count = 0, more;
    while (count < most && sw_walk_next(walk)) {
        pcs[count++] = sw_regs_pc(&walk->frame.regs);
        if (count <= tried || !sw_lane_is_open(lane))
            continue;
        const bool ended = ends_quickly(lane, &walk->frame.regs, walk->frame.exact, walk->most - walk->depth,
                                        pcs + count, most - count, &more, stop);
        tried = count + more;
        if (!ended)
            continue;
        count += more;
        walk->depth += (uint32_t)more;
        if (more != 0)
            walk->frame.trust = SW_TRUST_LIKELY; /* of the last of them, at least */
        if (*stop != SW_STOP_NONE)
            (void)sw_walk_end(walk, *stop);
        break;
    }
    *stop = walk->stop;
    if (walk->stop == SW_STOP_NONE)
        (void)sw_walk_end(walk, SW_STOP_ABORTED);
    return count;
}

SW_HOT size_t sw_walk_addresses(const struct sw_walker *walker, struct sw_scratch *scratch, const struct sw_regs *start,
                                bool exact, uint64_t *pcs, size_t most, enum sw_stop *stop)
{
    enum sw_stop ignored;
    size_t count = 0;
    stop = stop ? stop : &ignored;
    *stop = SW_STOP_BAD_START;
    if (!walker || !scratch || !start || !sw_walker_is_usable(walker))
        return 0;
    struct sw_lane *lane = &sw_walk_scratch_of(scratch)->lane;
    sw_lane_start(lane, walker);
    if (walker->replay)
        sw_trace_open(lane, walker);
    struct sw_replay *replay = lane->replay;
    most = pcs ? most : 0;
    if (most != 0 && sw_lane_is_open(lane) && start->machine == walker->machine) {
        const size_t left = sw_walk_most(walker) - 1;
        bool ended = ends_quickly(lane, start, exact, left, pcs + 1, most - 1, &count, stop);
        if (!ended && count == 0 && exact && walker->code.begin != walker->code.end)
            ended = ends_by_body(walker, lane, start, left, pcs + 1, most - 1, &count, stop);
        count++;
        if (ended) { /* most walks */
            pcs[0] = sw_regs_pc(start);
            sw_cache_count_hits(lane->cache, scratch, count - lane->replayed);
            sw_trace_close(replay);
            return count;
        }
    }
    struct sw_walk *walk = &sw_walk_scratch_of(scratch)->whole;
    sw_walk_start(walk, walker, scratch, start, exact);
    lane->replay = replay;
    count = walk_slowly(walk, lane, count, pcs, most, stop);
    sw_trace_close(replay);
    return count;
}
