/*
 * See batch.h: frames from entry to entry of the rule cache, or by comparing words with those of the last walk. Knows
 * which frames can be left without looking at more than that; all others are sw_walk_next's.
 */
#include "walk/batch.h"

#include "walk/scratch.h"

#define BIT(n) (UINT64_C(1) << (n))

/*
 * Where a batch has come to: the frame, where it has its registers; and registers whose values are not known: frames
 * that would restore one of them end the batch. generation: all that is read of the cache is believed only while it is
 * that.
 */
struct place {
    struct sw_at at;
    uint64_t slots;
    uint64_t missing;
    uint64_t generation;
};

/* One frame on. It must not change which registers are known. */
static SW_INLINE bool follow(const struct sw_lane *lane, struct place *place, struct sw_trace_frame *to)
{
    struct sw_at next;
    uint64_t by;
    const uint64_t wanted = SW_STEP_KEEPS | (place->at.step & SW_STEP_EASY);
    if (wanted == SW_STEP_KEEPS || !(place->at.step & SW_STEP_KEEPS) ||
        (place->slots >> SW_SLOTS_SAVED_SHIFT & place->missing) || !sw_lane_step(lane, &place->at, &next, &by))
        return false;
    const struct sw_cold *cold = sw_cold_at(lane->cold, next.entry);
    const uint64_t begin = sw_load(&cold->begin), end = sw_load(&cold->end);
    *to = (struct sw_trace_frame){ next.pc,
                                   next.sp,
                                   next.fp,
                                   by,
                                   place->slots,
                                   end ? (next.pc - begin) | (end - begin) << 32 : 0,
                                   sw_load(&cold->id),
                                   sw_load(&cold->attributes) };
    place->at = next;
    place->slots = sw_load(&cold->slots);
    return true;
}

/* Up to `most` frames; up to one that is remembered, if there is a replay memory. checks may be null. */
static unsigned follow_all(const struct sw_lane *lane, struct place *place, unsigned most, struct sw_trace_frame *to,
                           struct sw_trace_check *checks)
{
    const struct place from = *place;
    unsigned count = 0;
    while (count < most && follow(lane, place, to + count)) {
        const struct sw_trace_frame *frame = &to[count];
        if (checks)
            checks[count] = sw_trace_check_of(frame->sp, frame->pc, sw_step_fp_slot(frame->step), frame->fp);
        count++;
        if (lane->replay && sw_trace_meets(lane->replay, frame->pc, frame->sp, frame->fp))
            break;
    }
    if (sw_cache_is_same(lane->cache, place->generation))
        return count;
    *place = from;
    return 0;
}

/* Whether there is a next frame to be followed to: asked before what is remembered is left for it. */
static bool can_follow(const struct sw_lane *lane, struct place place)
{
    struct sw_trace_frame next;
    return lane->replay->tail == lane->replay->room || follow(lane, &place, &next);
}

/* The same frames, to be remembered. */
static unsigned follow_staging(const struct sw_lane *lane, struct place *place, unsigned most, struct sw_batch *batch)
{
    struct sw_replay *replay = lane->replay;
    if (!can_follow(lane, *place))
        return 0;
    const uint32_t room = sw_trace_room(replay);
    if (room < 2) {
        const unsigned lost = follow_all(lane, place, most, batch->own, NULL);
        replay->is_lost |= lost != 0;
        return lost;
    }
    sw_trace_stage_start(replay, &place->at);
    batch->frames = replay->stage + replay->staged;
    const unsigned count = follow_all(lane, place, room <= most ? room - 1 : most, replay->stage + replay->staged,
                                      replay->stage_checks + replay->staged);
    replay->staged += count;
    return count;
}

static unsigned recall_or_follow(struct sw_lane *lane, struct place *place, unsigned most, uint32_t left,
                                 struct sw_batch *batch)
{
    struct sw_replay *replay = lane->replay;
    uint32_t first;
    unsigned count = sw_trace_recall(lane, &place->missing, &place->at, left, NULL, &first);
    if (count != 0) {
        batch->frames = replay->frames + first;
        place->generation = sw_cache_generation(lane->cache);
        sw_lane_place(lane, &place->at);
        return count;
    }
    count =
        replay->is_staging ? follow_staging(lane, place, most, batch) : follow_all(lane, place, most, batch->own, NULL);
    replay->walked += count;
    return count;
}

struct sw_replay *sw_batch_use_replay(struct sw_walk *walk, struct sw_replay *again)
{
    struct sw_lane *lane = &sw_walk_scratch_of(walk->scratch)->lane;
    if (walk->stop != SW_STOP_NONE)
        return again;
    if (again) {
        lane->replay = sw_lane_is_open(lane) ? again : NULL;
        return again;
    }
    sw_lane_note_generations(lane);
    sw_trace_open(lane, walk->walker);
    return lane->replay;
}

unsigned sw_batch_take(const struct sw_walk *walk, struct sw_batch *batch)
{
    struct sw_lane *lane = &sw_walk_scratch_of(walk->scratch)->lane;
    const struct sw_regs *regs = &walk->frame.regs;
    const uint64_t settled = SW_X64_NONVOLATILE | BIT(SW_X64_RSP) | BIT(SW_X64_RIP);
    const uint32_t left = walk->most - walk->depth;
    batch->count = batch->settled = 0;
    if (!(walk->entry.step & SW_STEP_EASY) || walk->frame.exact || (regs->known & ~settled) != 0 ||
        !(regs->known >> SW_X64_RBP & 1))
        return 0;
    struct place place = { { regs->r[SW_X64_RIP], regs->r[SW_X64_RSP], regs->r[SW_X64_RBP], walk->entry.step,
                             walk->entry.at },
                           sw_load(&sw_cold_at(lane->cold, walk->entry.at)->slots),
                           SW_X64_NONVOLATILE & ~regs->known,
                           walk->entry.generation };
    const unsigned most = left < SW_BATCH_MOST ? left : SW_BATCH_MOST;
    batch->stack = lane->view.stack;
    batch->frames = batch->own;
    batch->count = lane->replay ? recall_or_follow(lane, &place, most, left, batch)
                                : follow_all(lane, &place, most, batch->own, NULL);
    batch->last = (struct sw_walk_entry){ place.at.step, place.at.entry, place.generation };
    return batch->count;
}

/* From the last frame back: of each register the last place counts. */
SW_OTHERS_FRAMES void sw_batch_settle(struct sw_walk *walk, struct sw_batch *batch, unsigned n)
{
    uint64_t wanted = SW_X64_NONVOLATILE & ~BIT(SW_X64_RBP);
    for (unsigned i = n + 1; i > batch->settled && wanted != 0; i--) {
        const struct sw_trace_frame *frame = &batch->frames[i - 1];
        for (unsigned k = 1; (frame->step & SW_STEP_OTHERS) && k < SW_SLOTS; k++) {
            const uint64_t below = frame->slots >> (8 * k) & 0xff, bit = BIT(sw_slot_registers[k]);
            if (below && (wanted & bit))
                walk->frame.regs.r[sw_slot_registers[k]] = sw_lane_word(batch->stack, frame->sp - SW_WORD * below);
            wanted &= below ? ~bit : UINT64_MAX;
        }
    }
    batch->settled = n + 1;
}

void sw_batch_arrive(struct sw_walk *walk, struct sw_batch *batch, unsigned n)
{
    const struct sw_trace_frame *of = &batch->frames[n];
    struct sw_frame *frame = &walk->frame;
    sw_batch_settle(walk, batch, n);
    walk->entry = n + 1 < batch->count ? (struct sw_walk_entry){ .step = 0 } : batch->last;
    sw_trace_code(of, &frame->code);
    frame->lookup = of->pc - 1;
    frame->exact = false;
    frame->source = sw_step_source(of->step);
    frame->trust = sw_step_trust(of->step);
}
