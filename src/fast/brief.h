/*
 * The rule cache in brief: what it takes to leave the frame of a return address when no more than addresses are wanted,
 * in two words, beside each other in the order in which they were met. Knows how many read while one writes: a walk
 * notes the epoch when it begins, and when it is over, nothing that it read may have been written meanwhile; so that
 * there is nothing to be checked frame by frame. Refuses to know what the words say (walk/addresses.c) and lines
 * (cache.h).
 */
#ifndef SW_BRIEF_H
#define SW_BRIEF_H

#include <snapwalk/status.h>

#include <stdatomic.h>

/*
 * key   The pc.
 * form  What is done there; not 0.
 * next  Where the entry of the caller is that was met there last, in bytes from the first. A guess, which anybody may
 *       write at any time: it may lead to what is no entry any more.
 */
struct sw_brief {
    _Atomic uint64_t key;
    _Atomic uint64_t form;
    _Atomic uint64_t next;
};

/*
 * epoch    Odd while somebody writes.
 * stamp    As of a line: from when on all entries hold.
 * flags    Of the walkers that they are for. Others find nothing.
 * stale    Flags and clocks by which all of it was last found to be another's or too old: it is not made new before
 * they stand still. count    Entries there are, from number 1 on. Number 0 is no pc's, but has a guess: that of frames
 * without an entry. No guess leads to what is no entry, as long as there is one. index    By pc: numbers; a pc has four
 * places for its own.
 */
struct sw_briefs {
    _Atomic uint64_t epoch;
    _Atomic uint64_t stamp;
    _Atomic uint64_t stale;
    _Atomic uint64_t flags;
    _Atomic uint32_t count;
    uint32_t room;
    struct sw_brief *entries;
    _Atomic uint32_t *index;
    uint64_t mask;
};

#define SW_BRIEF_CLOSED 1u /* as an epoch: there is nothing to be read now */

/*
 * What a walk may read from now on, while the epoch is the one answered; or CLOSED.
 *
 * flags    The walker's.  quiet    As in struct sw_warm.  stamp    Of now. What is other walkers' or older than quiet
 * is thrown away, when that is asked for twice in a row.
 */
uint64_t sw_brief_open(struct sw_briefs *briefs, uint64_t flags, const uint64_t quiet[2], uint64_t stamp);

/* Whether all that was read since is of one piece. */
static inline bool sw_brief_close(const struct sw_briefs *briefs, uint64_t epoch)
{
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&briefs->epoch, memory_order_relaxed) == epoch;
}

enum { SW_BRIEF_WAYS = 4 };

static inline uint32_t sw_brief_slot(const struct sw_briefs *briefs, uint64_t pc, unsigned way)
{
    return ((uint32_t)(pc * UINT64_C(0x9e3779b97f4a7c15) >> 34) ^ way) & (uint32_t)briefs->mask;
}

/* The number that stands in one of a pc's places; it may be another's. */
static inline uint32_t sw_brief_at(const struct sw_briefs *briefs, uint64_t pc, unsigned way)
{
    return atomic_load_explicit(&briefs->index[sw_brief_slot(briefs, pc, way)], memory_order_relaxed);
}

/* The number of a pc, or 0. */
uint32_t sw_brief_find(const struct sw_briefs *briefs, uint64_t pc);

/*
 * For one that reads, and has to write: nobody else may have written since it opened. Between the two calls, what is to
 * be written is made sure of by the clocks as they are now. unlock answers the epoch to go on with.
 */
bool sw_brief_lock(struct sw_briefs *briefs, uint64_t epoch);
uint64_t sw_brief_unlock(struct sw_briefs *briefs, uint64_t epoch);

/* Puts an entry in, and answers its number; locked. Where all are taken, all are thrown away first. */
uint32_t sw_brief_put(struct sw_briefs *briefs, uint64_t pc, uint64_t form);

#endif
