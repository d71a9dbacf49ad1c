/*
 * The replay memory from the inside: frames of one stack, leaf first, and the stack words by which each was found in
 * the frame before. Knows what is kept and for how long it holds; who walks, compares and hands out is walk/ahead.c and
 * walk/addresses.c.
 *
 * In one walk of SW_REPLAY_EVERY, the frames it finds are staged; when it ends they take the place of those remembered
 * up to the one that both have. In the others, what is remembered stays as it is: the leaf end of a stack is another
 * one every time, and to remember it costs more than to walk it.
 */
#ifndef SW_REPLAY_H
#define SW_REPLAY_H

#include "fast/cache.h"

#include <snapwalk/walk.h>

/*
 * One frame: pc, sp, rbp, and as in struct sw_cached what code it is.
 *
 * form, where  Of the frame before: how this one was found, and where that has the other registers.
 */
struct sw_known_frame {
    uint64_t pc;
    uint64_t sp;
    uint64_t fp;
    uint64_t form;
    uint64_t where;
    uint64_t place;
    uint64_t id;
    uint64_t rest;
};

/*
 * The words that pc and rbp of a frame were loaded from, and what they were; the former once more where rbp was not
 * loaded. at_pc 0: the frame before is not one that this one follows from.
 */
struct sw_check {
    uint64_t at_pc;
    uint64_t at_fp;
    uint64_t pc;
    uint64_t fp;
};

/*
 * room           Frames that fit. Remembered are frames[first] to frames[room - 1].
 * runs           How many frames behind a remembered one follow from it and from each other, by their checks.
 * is_staging     Of this walk.  since: how many walks there were without.  is_strange: the last one found hardly any
 *                frame again: the next is staged.
 * found, walked  Frames of this walk that were found again; that were followed.
 * staged         Frames of the walk at hand, in stage and stage_checks.
 * tail           They are to go in front of frames[tail]: room, or what the walk has met.
 * upto           From there on, frames up to this one were found again, and stay where they are.
 * cursor         Frames before it lie below where the walk is.
 * is_lost        The stage was too small.
 * end, last      What it takes to leave the last frame that is remembered, and the last that is staged.
 * cache, flags, stamp  What all of it was found with, and from when on that holds.
 */
struct sw_replay {
    struct sw_alloc alloc;
    size_t bytes;
    _Atomic uint32_t is_busy;
    uint32_t room;
    uint32_t first;
    bool is_staging;
    bool is_strange;
    uint32_t since;
    uint32_t found;
    uint32_t walked;
    uint32_t staged;
    uint32_t tail;
    uint32_t upto;
    uint32_t cursor;
    bool is_lost;
    struct sw_walk_here end;
    struct sw_walk_here last;
    const struct sw_cache *cache;
    uint64_t flags;
    uint64_t stamp;
    struct sw_known_frame *frames;
    struct sw_known_frame *stage;
    struct sw_check *checks;
    struct sw_check *stage_checks;
    uint32_t *runs;
    _Atomic uint64_t counts[4]; /* in the order of struct sw_replay_counts */
};

enum { SW_REPLAY_EVERY = 4 };

enum sw_replay_count { SW_REPLAY_WALKS = 0, SW_REPLAY_REPLAYED, SW_REPLAY_WALKED, SW_REPLAY_FORGOTTEN };

/* The one user of the memory at that time; nobody else is: so no other may come between load and store. */
static inline void sw_replay_count(struct sw_replay *replay, enum sw_replay_count which, uint64_t count)
{
    _Atomic uint64_t *at = &replay->counts[which];
    atomic_store_explicit(at, atomic_load_explicit(at, memory_order_relaxed) + count, memory_order_relaxed);
}

static inline void sw_replay_forget(struct sw_replay *replay)
{
    sw_replay_count(replay, SW_REPLAY_FORGOTTEN, replay->first != replay->room);
    replay->first = replay->room;
}

/*
 * Takes the memory for a walk. What it holds is made sure of by the clocks, or forgotten.
 *
 * stamp    Of now, from before anything was looked at; quiet: as in struct sw_warm.
 *
 * Returns  Whether it is the walk's now. False: another's, whom this one may have interrupted.
 */
bool sw_replay_open(struct sw_replay *replay, const struct sw_cache *cache, uint64_t flags,
                    const struct sw_cache_clocks *clocks, const uint64_t quiet[2], uint64_t stamp);

/* What was staged is remembered, and the memory is free for the next. */
void sw_replay_close(struct sw_replay *replay);

/* Remembered frames are staged too: the walk leaves what is remembered behind them. */
void sw_replay_stage(struct sw_replay *replay, uint32_t first, uint32_t count);

#endif
