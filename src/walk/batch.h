/*
 * Frame batches: many frames of a walk at a time, in few words each, by the rule cache or the replay memory. For users
 * that want no more of most frames (snapshot/fold.c). Other frames are made whole one by one.
 *
 *     while (sw_walk_next(&walk)) {
 *         ... walk.frame ...
 *         while (sw_batch_take(&walk, &batch))
 *             for (unsigned i = 0; i < batch.count; i++) {
 *                 sw_batch_go(&walk, machine, &batch.frames[i]);   // walk.frame.regs: pc, sp, fp
 *                 sw_batch_arrive(&walk, &batch, i);      // the rest of walk.frame; at the latest for the last
 *             }
 *     }
 */
#ifndef SW_WALK_BATCH_H
#define SW_WALK_BATCH_H

#include "fast/trace.h"

enum { SW_BATCH_MOST = 16 };

/*
 * frames   Borrowed, until the next batch or the end of the walk.
 * settled  How many of the frames walk->frame.regs has the other registers of.
 * last     The last frame's entry.
 */
struct sw_batch {
    const struct sw_trace_frame *frames;
    unsigned count;
    unsigned settled;
    uintptr_t stack;
    struct sw_walk_entry last;
    struct sw_trace_frame own[SW_BATCH_MOST];
};

static inline enum sw_kind sw_trace_kind(const struct sw_trace_frame *frame)
{
    return (enum sw_kind)(uint8_t)(frame->attributes >> 32);
}

static inline uint16_t sw_trace_flags(const struct sw_trace_frame *frame)
{
    return (uint16_t)(frame->attributes >> 48);
}

/*
 * Takes the walker's replay memory for a walk that has just been started; it serves sw_batch_take. again: it was taken
 * for an earlier walk, which is over, and not given back; or null.
 *
 * Returns  The memory, to be given back with sw_trace_close; null: there is none.
 */
struct sw_replay *sw_batch_use_replay(struct sw_walk *walk, struct sw_replay *again);

/*
 * The next frames, as sw_walk_next would give them, as far as they are known at once. The walk stays where it is.
 *
 * Returns  How many; 0: sw_walk_next is to be asked.
 */
unsigned sw_batch_take(const struct sw_walk *walk, struct sw_batch *batch);

/*
 * The walk goes on to the next of the frames: of walk->frame only pc, sp and frame pointer are that frame's. machine:
 * the walk's, here and below; a constant where frames go by.
 */
static SW_INLINE void sw_batch_go(struct sw_walk *walk, enum sw_machine machine, const struct sw_trace_frame *frame)
{
    const struct sw_regs_roles *roles = sw_regs_roles_of(machine);
    struct sw_regs *regs = &walk->frame.regs;
    regs->r[roles->pc] = frame->pc;
    regs->r[roles->sp] = frame->sp;
    regs->r[roles->fp] = frame->fp;
    walk->depth++;
}

/* And then walk->frame.regs as a whole, of the n-th frame, to which the walk has gone. */
void sw_batch_settle(struct sw_walk *walk, struct sw_batch *batch, unsigned n);

/* The same, once a frame. */
SW_OTHERS_FRAMES static SW_INLINE void sw_batch_settle_one(struct sw_walk *walk, enum sw_machine machine,
                                                           struct sw_batch *batch, unsigned n)
{
    const struct sw_trace_frame *frame = &batch->frames[n];
    if (SW_UNLIKELY(batch->settled != n)) {
        sw_batch_settle(walk, batch, n);
        return;
    }
    if (frame->step & SW_STEP_OTHERS)
        sw_slots_restore(&walk->frame.regs, machine, batch->stack, frame->sp, frame->slots);
    batch->settled = n + 1;
}

/* And then all of walk->frame. */
void sw_batch_arrive(struct sw_walk *walk, struct sw_batch *batch, unsigned n);

#endif
