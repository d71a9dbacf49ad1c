/*
 * See batch.h. Frames come from the rule cache's entries (sw_trace_follow) or from the replay memory (sw_trace_recall).
 * All others are sw_walk_next's.
 */
#include "walk/batch.h"

#include "walk/scratch.h"

#define BIT(n) (UINT64_C(1) << (n))

struct sw_replay *sw_batch_use_replay(struct sw_walk *walk, struct sw_replay *again)
{
    struct sw_lane *lane = &sw_walk_scratch_of(walk->scratch)->lane;
    if (walk->stop != SW_STOP_NONE)
        return again;
    if (again)
        lane->replay = sw_lane_is_open(lane) ? again : NULL;
    else
        sw_trace_open(lane, walk->walker);
    return again ? again : lane->replay;
}

/* By the replay memory. */
static bool recall(struct sw_lane *lane, const struct sw_trace_known *known, struct sw_at *at, uint32_t left,
                   struct sw_batch *batch)
{
    if (!lane->replay)
        return false;
    batch->count = sw_trace_recall(lane, known, at, left, NULL);
    if (batch->count == 0)
        return false;
    batch->frames = lane->replay->frames + lane->replay->cursor - batch->count;
    batch->last.generation = sw_cache_generation(lane->cache);
    (void)sw_lane_find(lane, at, false);
    return true;
}

/* By entries. */
static void follow(struct sw_lane *lane, const struct sw_trace_known *known, struct sw_at *at, uint32_t left,
                   struct sw_batch *batch)
{
    batch->count =
        sw_trace_follow(lane, known, at, left < SW_BATCH_MOST ? left : SW_BATCH_MOST, batch->own, &batch->frames);
    if (sw_cache_is_same(lane->cache, batch->last.generation))
        return;
    batch->count = 0;
    sw_trace_distrust(lane->replay);
}

/* rsi and rdi are unknown in all walks but those of Windows' functions. */
static struct sw_trace_known known_of(uint64_t known)
{
    const uint64_t windows = SW_SLOT_REGISTERS & ~SW_X64_NONVOLATILE;
    struct sw_trace_known to = { SW_STEP_KEEPS | (known & windows ? SW_STEP_KEEPS_SI : 0), 0 };
    for (unsigned i = 0; i < SW_SLOTS; i++)
        to.missing |= known >> sw_slot_registers[i] & 1 ? 0 : UINT64_C(0xff) << (8 * i);
    return to;
}

unsigned sw_batch_take(const struct sw_walk *walk, struct sw_batch *batch)
{
    struct sw_lane *lane = &sw_walk_scratch_of(walk->scratch)->lane;
    const struct sw_regs *regs = &walk->frame.regs;
    const uint64_t settled = SW_SLOT_REGISTERS | BIT(SW_X64_RSP) | BIT(SW_X64_RIP);
    const struct sw_trace_known known = known_of(regs->known);
    const uint32_t left = walk->most - walk->depth;
    batch->count = batch->settled = 0;
    if (!(walk->entry.step & SW_STEP_EASY) || walk->frame.exact || (regs->known & ~settled) != 0 ||
        !sw_regs_has(regs, SW_X64_RBP))
        return 0;
    struct sw_at at = { regs->r[SW_X64_RIP], regs->r[SW_X64_RSP], regs->r[SW_X64_RBP], walk->entry.step,
                        walk->entry.at };
    batch->stack = lane->view.stack;
    batch->last.generation = walk->entry.generation;
    if (!recall(lane, &known, &at, left, batch))
        follow(lane, &known, &at, left, batch);
    batch->last.step = at.step;
    batch->last.at = at.entry;
    return batch->count;
}

/* From the last frame back: of each register the last place counts. */
SW_OTHERS_FRAMES void sw_batch_settle(struct sw_walk *walk, struct sw_batch *batch, unsigned n)
{
    uint64_t wanted = walk->frame.regs.known & SW_SLOT_REGISTERS & ~BIT(SW_X64_RBP);
    for (unsigned i = n + 1; i > batch->settled && wanted != 0; i--) {
        const struct sw_trace_frame *frame = &batch->frames[i - 1];
        for (unsigned k = 1; k < SW_SLOTS && frame->slots >> (8 * k) != 0; k++) {
            const uint64_t slot = (frame->slots >> (8 * k) & 0xff) * SW_WORD, bit = BIT(sw_slot_registers[k]);
            if (slot && (wanted & bit))
                walk->frame.regs.r[sw_slot_registers[k]] = sw_lane_word(batch->stack, sw_slot_address(frame->sp, slot));
            wanted &= slot ? ~bit : UINT64_MAX;
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
