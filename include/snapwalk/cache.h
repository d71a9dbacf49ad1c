/*
 * The rule cache: what a walk found out about a pc, for the next time that one comes by. A walk whose frames are all in it
 * costs a few nanoseconds a frame. One cache serves any number of walkers of the same target, also in signal handlers.
 * It changes no answer: only what follows from the code at the pc alone is kept, and is used only while the code map
 * and the images are, there, what they were.
 */
#ifndef SNAPWALK_CACHE_H
#define SNAPWALK_CACHE_H

#include <snapwalk/alloc.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_cache;

enum { SW_CACHE_MAX_ENTRIES = 1 << 24 };

/*
 * Makes an empty cache.
 *
 * alloc    Copied; NULL for malloc and free.
 * entries  How many pcs it can hold, 1 to SW_CACHE_MAX_ENTRIES; rounded up to a power of two. Twice the pcs that are expected
 *          lets nearly all of them stay.
 * cache    Receives the cache; the caller owns it and gives it back with sw_cache_destroy.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY.
 * Memory   96 bytes an entry, and less than 512 bytes. Threads  Any. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_cache_create(const struct sw_alloc *alloc, size_t entries, struct sw_cache **cache);

/*
 * Gives a cache back. No walk may use it any more.
 *
 * cache    May be null. Threads  One. Signals  Not safe.
 */
void sw_cache_destroy(struct sw_cache *cache);

/*
 * Counters of a cache since it was made. Every frame that a walk with the cache reached, and did not replay
 * (replay.h), is one hit or one miss. Hits are counted when a walk is over; those of one that its user stops asking for frames never are.
 *
 * hits     Frames that were found in it.
 * absent   Misses: never met, or pushed out since.
 * outdated Misses: found, but the code there was removed, or images changed, since.
 * busy     Misses: being written at that moment.
 * stored   Pcs that were put in, again or for the first time.
 * evicted  Among them: those for which another one, still good, was pushed out.
 * uncacheable  Misses that were not put in: what was found took more than the code to find (the stack was looked at), has an
 *          unusual form, or belongs to no range and no image.
 * entries, bytes  Its size.
 *
 * Memory   Allocates nothing. Threads  Any; the counts are not of one moment. Signals  Safe.
 */
struct sw_cache_counts {
    uint64_t hits;
    uint64_t absent;
    uint64_t outdated;
    uint64_t busy;
    uint64_t stored;
    uint64_t evicted;
    uint64_t uncacheable;
    uint64_t entries;
    uint64_t bytes;
};
struct sw_cache_counts sw_cache_get_counts(const struct sw_cache *cache);

#ifdef __cplusplus
}
#endif

#endif
