/*
 * Frames ahead of a walk: what the cache says of the next ones, many at a time and in few words each. For who wants no
 * more of most frames than that (contract/fold.c); the others are made whole one by one.
 *
 *     while (sw_walk_next(&walk)) {
 *         ... walk.frame ...
 *         while (sw_ahead_look(&walk, &ahead))
 *             for (unsigned i = 0; i < ahead.count; i++) {
 *                 sw_ahead_go(&walk, &ahead.frames[i]);   // walk.frame.regs: pc, sp, rbp
 *                 sw_ahead_arrive(&walk, &ahead, i);      // the rest of walk.frame; at the latest for the last
 *             }
 *     }
 */
#ifndef SW_SRC_WALK_AHEAD_H
#define SW_SRC_WALK_AHEAD_H

#include "fast/known.h"

enum { SW_AHEAD_MOST = 16 };

/*
 * frames   Borrowed, until the next look or the end of the walk.
 * here     Of the last frame.
 * settled  How many of the frames walk->frame.regs has the other registers of.
 */
struct sw_ahead {
    const struct sw_known_frame *frames;
    unsigned count;
    unsigned settled;
    struct sw_walk_here here;
    struct sw_known_frame own[SW_AHEAD_MOST];
};

/* Bits of form: registers that are restored beside rbp. */
#define SW_AHEAD_OTHERS ((SW_X64_NONVOLATILE & ~(UINT64_C(1) << SW_X64_RBP)) << SW_FORM_SAVED_SHIFT)

static inline enum sw_kind sw_ahead_kind(const struct sw_known_frame *frame)
{
    return (enum sw_kind)(uint8_t)(frame->rest >> 32);
}

static inline uint16_t sw_ahead_flags(const struct sw_known_frame *frame)
{
    return (uint16_t)(frame->rest >> 48);
}

static inline uint8_t sw_ahead_trust(const struct sw_known_frame *frame)
{
    return (uint8_t)(frame->form >> SW_FORM_TRUST_SHIFT);
}

/*
 * The frames behind the walk's, as far as sw_walk_next would say the same of them and it is known at once. The walk
 * stays where it is.
 *
 * Returns  How many; 0: sw_walk_next is to be asked.
 */
unsigned sw_ahead_look(const struct sw_walk *walk, struct sw_ahead *ahead);

/* The walk goes on to the next of the frames ahead: of walk->frame only pc, sp and rbp are that frame's. */
static SW_INLINE void sw_ahead_go(struct sw_walk *walk, const struct sw_known_frame *frame)
{
    struct sw_regs *regs = &walk->frame.regs;
    regs->r[SW_X64_RIP] = frame->pc;
    regs->r[SW_X64_RSP] = frame->sp;
    regs->r[SW_X64_RBP] = frame->fp;
    walk->depth++;
}

/* And then walk->frame.regs as a whole, of the n-th frame ahead, to which the walk has gone. */
void sw_ahead_settle(struct sw_walk *walk, struct sw_ahead *ahead, unsigned n);

/* The same, once a frame. */
SW_OTHERS_FRAMES static SW_INLINE void sw_ahead_settle_one(struct sw_walk *walk, struct sw_ahead *ahead, unsigned n)
{
    const struct sw_known_frame *frame = &ahead->frames[n];
    const struct sw_warm *warm = &((const struct sw_workspace *)walk->scratch->words)->warm;
    if (SW_UNLIKELY(ahead->settled != n)) {
        sw_ahead_settle(walk, ahead, n);
        return;
    }
    if (frame->form & SW_AHEAD_OTHERS)
        sw_quick_restore_others(&walk->frame.regs, (const uint8_t *)(warm->stack + (uintptr_t)frame->sp), frame->where);
    ahead->settled = n + 1;
}

/* And then all of walk->frame. */
void sw_ahead_arrive(struct sw_walk *walk, struct sw_ahead *ahead, unsigned n);

#endif
