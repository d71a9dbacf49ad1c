/*
 * The rule cache: the rules that walks found, by pc, for later walks. A walk by cached rules takes a few nanoseconds
 * per frame. One cache serves any number of walkers of the same target, in signal handlers too.
 * A cache changes no answer. It stores only rules that depend on nothing but the code at the pc, and a rule is used
 * only while the code map and the images are, at that pc, what they were.
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
 * alloc    Copied. NULL means malloc and free.
 * entries  How many pcs it can hold, 1 to SW_CACHE_MAX_ENTRIES; rounded up to a power of two. With twice as many
 *          entries as expected pcs, nearly all of them stay.
 * cache    Receives the cache. The caller owns it and frees it with sw_cache_destroy.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY.
 * Memory   104 bytes per entry plus at most 1,024. Threads  Any. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_cache_create(const struct sw_alloc *alloc, size_t entries,
                                                   struct sw_cache **cache);

/*
 * Frees a cache. NULL is allowed.
 *
 * Threads  No walk may be using the cache. Signals  Not safe.
 */
SW_API void sw_cache_destroy(struct sw_cache *cache);

/*
 * The counters of a cache since it was made. Each frame that a walk reaches with the cache is one hit or one miss,
 * except frames that were replayed (replay.h). Hits are counted when a walk is over, so the hits of an abandoned walk
 * are never counted.
 *
 * hits     Frames with a cached rule.
 * absent   Misses: the pc is new or was evicted.
 * outdated Misses: since the rule was stored, the code there was removed, or images changed: of what tables say,
 *          in the same part of the address space.
 * busy     Misses: the entry was being written.
 * stored   Rules that were stored, new and replaced ones.
 * evicted  Those of them that took the place of another pc's valid rule.
 * uncacheable  Misses whose rule was not stored: it depends on more than the code (on the stack), has an unusual form,
 *          or its pc is in no range and no image.
 * entries  The size in entries.
 * bytes    The size in bytes.
 *
 * Memory   Allocates nothing. Threads  Any; the counters are not of one moment. Signals  Safe.
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
SW_API struct sw_cache_counts sw_cache_get_counts(const struct sw_cache *cache);

#ifdef __cplusplus
}
#endif

#endif
