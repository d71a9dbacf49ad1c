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

/* Of the registers that may be saved in slots, the bytes of those that are known. Mostly all are, or all but two. */
static uint64_t known_bytes(uint64_t known)
{
    enum { ALL_BUT_TWO = 6 };
    uint64_t bytes = 0;
    if ((known & SW_SLOT_REGISTERS) == SW_SLOT_REGISTERS)
        return UINT64_MAX;
    if ((known & SW_SLOT_REGISTERS) == SW_X64_NONVOLATILE)
        return (UINT64_C(1) << 8 * ALL_BUT_TWO) - 1;
    for (unsigned i = 0; i < SW_SLOTS; i++)
        bytes |= known >> sw_slot_registers[i] & 1 ? UINT64_C(0xff) << (8 * i) : 0;
    return bytes;
}

static struct sw_trace_known known_of_x64(uint64_t known)
{
    return (struct sw_trace_known){ sw_step_losing(known), ~known_bytes(known) };
}

static struct sw_trace_known known_of(enum sw_machine machine, uint64_t known)
{
    struct sw_trace_known to = { SW_STEP_LOSES, 0 };
    if (machine == SW_MACHINE_X64)
        return known_of_x64(known);
    for (unsigned i = 0; i < SW_PLACES; i++)
        to.missing |= known >> (SW_ARM64_X19 + i) & 1 ? 0 : (uint64_t)SW_PLACE_LOST << (SW_PLACE_BITS * i);
    return to;
}

unsigned sw_batch_take(const struct sw_walk *walk, struct sw_batch *batch)
{
    struct sw_lane *lane = &sw_walk_scratch_of(walk->scratch)->lane;
    const struct sw_regs *regs = &walk->frame.regs;
    const struct sw_regs_roles *roles = sw_regs_roles_of(lane->machine);
    const uint64_t kept = lane->machine == SW_MACHINE_X64 ? SW_SLOT_REGISTERS : roles->nonvolatile;
    const uint64_t settled = kept | BIT(roles->sp) | BIT(roles->pc);
    const struct sw_trace_known known = known_of(lane->machine, regs->known);
    const uint32_t left = walk->most - walk->depth;
    batch->count = batch->settled = 0;
    if (!(walk->entry.step & SW_STEP_EASY) || walk->frame.exact || (regs->known & ~settled) != 0 ||
        !sw_regs_has(regs, roles->fp))
        return 0;
    struct sw_at at = { regs->r[roles->pc], regs->r[roles->sp], regs->r[roles->fp], walk->entry.step, walk->entry.at };
    batch->stack = lane->view.stack;
    batch->last.generation = walk->entry.generation;
    if (!recall(lane, &known, &at, left, batch))
        follow(lane, &known, &at, left, batch);
    batch->last.step = sw_lane_usable(lane, at.step, at.sp, true);
    batch->last.at = at.entry;
    return batch->count;
}

/* From the last frame back: of each register the last place counts. The frame pointer's byte is the first. */
SW_OTHERS_FRAMES static void settle_x64(struct sw_walk *walk, struct sw_batch *batch, unsigned n)
{
    uint64_t wanted = known_bytes(walk->frame.regs.known) & ~UINT64_C(0xff);
    for (unsigned i = n + 1; i > batch->settled && wanted != 0; i--) {
        const struct sw_trace_frame *frame = &batch->frames[i - 1];
        for (uint64_t rest = frame->slots & wanted; SW_UNLIKELY(rest != 0); rest &= wanted) {
            const unsigned k = (unsigned)__builtin_ctzll(rest) / 8;
            const uint64_t slot = (rest >> (8 * k) & 0xff) * SW_WORD;
            walk->frame.regs.r[sw_slot_registers[k]] = sw_lane_word(batch->stack, sw_slot_address(frame->sp, slot));
            wanted &= ~(UINT64_C(0xff) << (8 * k));
        }
    }
}

SW_OTHERS_FRAMES void sw_batch_settle(struct sw_walk *walk, struct sw_batch *batch, unsigned n)
{
    if (walk->frame.regs.machine == SW_MACHINE_X64)
        settle_x64(walk, batch, n);
    else
        for (unsigned i = batch->settled; i <= n; i++)
            sw_slots_restore_arm64(&walk->frame.regs, batch->stack, batch->frames[i].sp, batch->frames[i].slots);
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
