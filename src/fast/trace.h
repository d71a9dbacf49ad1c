/*
 * The replay memory from the inside: a trace, that is the frames of one stack, leaf first, and the stack words by
 * which each was found in the frame before. Knows what is remembered, for how long it holds, and how it is
 * compared. Its users are walk/addresses.c and walk/batch.c.
 *
 * One walk of SW_TRACE_EVERY is staged: when it ends, its frames replace the remembered ones, up to the first that both
 * have. The other walks leave what is remembered as it is. The leaf end of a stack is another one every time, and to
 * remember it costs more than to walk it.
 */
#ifndef SW_FAST_TRACE_H
#define SW_FAST_TRACE_H

#include "fast/lane.h"

#include <snapwalk/replay.h>

/*
 * One frame: pc, sp, fp, and what code it is.
 *
 * range        pc - begin of the code range, and its size << 32; 0: of code without bounds.
 * id, attributes  As in struct sw_entry.
 * step, slots  Of the frame before: how this one was found, with the trust it has, and where that has the other
 *              registers. step 0: no more is known of this frame than pc, sp and fp.
 */
struct sw_trace_frame {
    uint64_t pc;
    uint64_t sp;
    uint64_t fp;
    uint64_t step;
    uint64_t slots;
    uint64_t range;
    uint64_t id;
    uint64_t attributes;
};

/*
 * What is compared of a frame, two to a line of the processor's cache, one behind the other: where it is, and where pc
 * and fp were loaded from.
 *
 * pc           As the word is, with its signature.
 * at_pc        Where that is, from sp on.
 * fp_from_pc   Where fp is, from there on. 0: it was not loaded.
 * run          How many frames behind this one follow from it, one after the other; or SW_RUN_MOST.
 * follows      From the frame before. Otherwise there are no words.
 */
struct sw_trace_check {
    uint64_t sp;
    uint64_t pc;
    uint64_t fp;
    int32_t at_pc;
    int16_t fp_from_pc;
    uint16_t run : 15;
    uint16_t follows : 1;
};

enum { SW_RUN_MOST = (1 << 15) - 1 };

/*
 * room           Frames that fit. Remembered are frames[first] to frames[room - 1].
 * is_staging     This walk is staged.
 * is_strange     The last walk found hardly any frame again. The next one is staged.
 * since          Walks since one was staged.
 * found          Frames of this walk that were found again.
 * walked         Frames of this walk that were followed.
 * staged         Frames of this walk in stage and stage_checks.
 * tail           They are to go in front of frames[tail]. room: in front of nothing.
 * cursor         Frames before it lie below where the walk is, or are of no use to it.
 * stride         How many frames to follow until what is remembered is looked for again.
 * is_lost        What was staged is not the whole walk: all is forgotten.
 * cache, flags, found_as_of  What all of it was found with, and since when it holds.
 * end_step       Of the last remembered frame. 0: not known.
 *
 * In the order of use: between two walks all of it has gone from the processor's cache.
 */
struct sw_replay {
    _Atomic uint32_t is_busy;
    uint32_t room;
    uint32_t first;
    bool is_staging;
    bool is_strange;
    bool is_lost;
    uint32_t flags;
    uint64_t found_as_of;
    const struct sw_cache *cache;
    struct sw_trace_check *checks;
    uint32_t since;
    uint32_t found;
    uint32_t walked;
    uint32_t staged;
    uint32_t tail;
    uint32_t cursor;
    uint32_t stride;
    uint64_t end_step;
    _Atomic uint64_t counts[4]; /* in the order of struct sw_replay_counts */
    struct sw_trace_frame *frames;
    struct sw_trace_frame *stage;
    struct sw_trace_check *stage_checks;
    struct sw_alloc alloc;
    void *block;
    size_t bytes;
};

enum { SW_TRACE_EVERY = 4, SW_STRIDE_LEAST = 2, SW_STRIDE_MOST = 32 };

/*
 * Takes the walker's replay memory for a walk, into lane->replay, if there is one, it is free, and the walk can use it.
 * Comes after sw_lane_start. What was remembered is forgotten unless the change counters say that it holds. The walk's
 * user gives the memory back on every path (sw_trace_close).
 */
void sw_trace_open(struct sw_lane *lane, const struct sw_walker *walker);

/* What was staged is remembered, and the memory is free for the next walk. replay may be null. */
void sw_trace_close(struct sw_replay *replay);

/*
 * Which registers of a walk are known, beside pc, sp and fp, for steps that leave that as it is.
 *
 * lost     SW_STEP_LOSES and the like: those that the step must not have.
 * missing  The bits of `slots` that say where registers are saved which are not known.
 */
struct sw_trace_known {
    uint64_t lost;
    uint64_t missing;
};

/*
 * Goes to the next frames by what is remembered, where the walk has met that and the words are the same. at->step is
 * not set (sw_lane_find).
 *
 * known     Null: addresses are wanted. Otherwise frames are, up to the first that is not known whole, loses a
 *           register, or restores one that is missing.
 * pcs       Receives the pcs; null where frames are wanted.
 *
 * Returns   How many: the frames that end in front of replay->frames[replay->cursor]. 0: at is where it was.
 */
uint32_t sw_trace_recall(struct sw_lane *lane, const struct sw_trace_known *known, struct sw_at *at, size_t most,
                         uint64_t *pcs);

/*
 * Goes to some of the next frames by entries.
 *
 * known     As in sw_trace_recall.
 * own       Room for `most` frames. They are put there, or in the stage.
 * frames    Receives where they are. The frames of a walk that wants addresses are always staged; own may be null.
 *
 * Returns   How many, to be believed as what sw_lane_step returns; see sw_trace_distrust.
 */
uint32_t sw_trace_follow(struct sw_lane *lane, const struct sw_trace_known *known, struct sw_at *at, uint32_t most,
                         struct sw_trace_frame *own, const struct sw_trace_frame **frames);

/* Whether the next frames can be staged. */
static inline bool sw_trace_can_stage(const struct sw_replay *replay)
{
    return replay->is_staging && replay->tail == replay->room && replay->room - replay->staged >= 2;
}

/* How many frames to follow, of so many: twice as many each time. */
static inline uint32_t sw_trace_stride(struct sw_replay *replay, size_t most)
{
    const uint32_t stride = replay->stride;
    replay->stride = stride < SW_STRIDE_MOST ? 2 * stride : SW_STRIDE_MOST;
    return most < stride ? (uint32_t)most : stride;
}

/* The run of the frame in front of that one. */
static inline unsigned sw_trace_run(const struct sw_trace_check *next)
{
    return !next->follows ? 0 : next->run < SW_RUN_MOST ? next->run + 1U : SW_RUN_MOST;
}

/* So many frames were followed, and not staged. */
static inline void sw_trace_pass(struct sw_replay *replay, size_t count)
{
    replay->walked += (uint32_t)count;
    replay->is_lost |= replay->is_staging && count != 0;
}

/* What was followed in this walk is not to be believed. replay may be null. */
static inline void sw_trace_distrust(struct sw_replay *replay)
{
    if (replay)
        replay->is_lost |= replay->is_staging;
}

static inline void sw_trace_code(const struct sw_trace_frame *frame, struct sw_range *code)
{
    code->begin = frame->range ? frame->pc - (uint32_t)frame->range : 0;
    code->end = frame->range ? code->begin + (frame->range >> 32) : 0;
    code->id = frame->id;
    sw_entry_attributes(code, frame->attributes);
}

#endif
