/*
 * The rule cache from the inside: a table of entries, and when one may be believed. Many read while one writes. What
 * entries say is entry.h's.
 *
 * The protocol, all of it:
 * 1. An entry is filled before its key is set, and is not changed as long as it has a key.
 * 2. Before an entry is filled anew, its key is taken away and the generation goes up.
 * 3. A reader notes the generation, reads keys and what stands with them, and believes what it read if the generation
 *    is still the same (sw_cache_is_same). Otherwise it has a miss.
 * 4. There is one writer at a time. Who finds another one at work stores nothing. Nobody waits, not even a handler that
 *    interrupted a write.
 * 5. All entries with a hot step hold as of `holds_as_of`. A walk that finds code map and images unchanged since then
 *    asks no further. Any other walk asks each entry that it meets (sw_entry_holds). It also goes through a few entries
 *    and takes the hot step from those that do not hold (sw_cache_check).
 */
#ifndef SW_FAST_CACHE_H
#define SW_FAST_CACHE_H

#include "code/images.h"
#include "code/map/codemap.h"
#include "fast/entry.h"

#include <snapwalk/cache.h>

enum sw_cache_count {
    SW_COUNT_HITS = 0,
    SW_COUNT_ABSENT,
    SW_COUNT_OUTDATED,
    SW_COUNT_BUSY,
    SW_COUNT_STORED,
    SW_COUNT_EVICTED,
    SW_COUNT_UNCACHEABLE,
    SW_COUNTS
};

/*
 * A counter of the hits of walks with one scratch. A scratch serves one walk at a time, so that they need no locked
 * addition for it.
 *
 * owner  The scratch's address; 0: nobody's yet. It is taken once and kept.
 */
struct sw_cache_share {
    _Atomic uint64_t owner;
    _Atomic uint64_t hits;
    uint64_t apart[6]; /* no two lie in one line of the processor's cache */
};
enum { SW_CACHE_SHARES = 8, SW_CACHE_SHARES_SHIFT = 61 };

/*
 * What a walk reads is one line of the processor's cache: the first.
 *
 * hot, cold     By number, from 1 on. Number 0 is no pc's.
 * index         Numbers, by a pc's hash. A pc has SW_CACHE_WAYS places.
 * index_mask    Of places.
 * room          How many numbers there are.
 * flags         SW_WALK_NO_* of the first walker, + 1. 0: there was none. Keys of walkers with these flags are plain
 *               pcs; only they have the fast lane.
 * generation    Goes up whenever an entry is filled anew.
 * holds_as_of   As struct sw_entry, found.
 * is_writing    Somebody writes. What follows is the writer's.
 * used          Numbers that were used up to now.
 * hand          The number that was filled anew last.
 * checked       How many entries were gone through since a change was noticed.
 * checked_as_of When that was, as struct sw_entry, found.
 */
struct sw_cache {
    struct sw_hot *hot;
    struct sw_cold *cold;
    _Atomic uint32_t *index;
    uint32_t index_mask;
    uint32_t room;
    _Atomic uint64_t generation;
    _Atomic uint64_t holds_as_of;
    _Atomic uint32_t flags;
    _Atomic uint32_t is_writing;
    uint32_t used;
    uint32_t hand;
    struct sw_cache_share shares[SW_CACHE_SHARES]; /* of hits, what is not in counts */
    _Atomic uint64_t counts[SW_COUNTS];            /* in the order of struct sw_cache_counts */
    uint32_t checked;
    uint64_t checked_as_of;
    struct sw_alloc alloc;
    void *block;
    size_t bytes;
};

/* The change counters of a walker's code map and images: sw_codemap_changes, sw_images_changes. */
struct sw_changes {
    const _Atomic uint64_t *codemap;
    const _Atomic uint64_t *images;
};

/* PLACES: in the index, for each entry. With one, every fifth entry of a cache in use found its four places taken. */
enum { SW_CACHE_WAYS = 4, SW_CACHE_PLACES = 2 };

static inline uint32_t sw_cache_place(const struct sw_cache *cache, uint64_t pc, unsigned way)
{
    return ((uint32_t)(pc * UINT64_C(0x9e3779b97f4a7c15) >> 34) ^ way) & cache->index_mask;
}

static inline uint32_t sw_cache_at(const struct sw_cache *cache, uint32_t place)
{
    return atomic_load_explicit(&cache->index[place], memory_order_relaxed);
}

/* Outside the index an entry is named by its place: where its hot part is, in bytes from the first. */
static inline struct sw_hot *sw_hot_at(struct sw_hot *hot, uint64_t at)
{
    return (struct sw_hot *)(void *)((char *)hot + at);
}

static inline struct sw_cold *sw_cold_at(struct sw_cold *cold, uint64_t at)
{
    return (struct sw_cold *)(void *)((char *)cold + 2 * at);
}

static inline uint64_t sw_cache_key(const struct sw_cache *cache, uint32_t n)
{
    return atomic_load_explicit(&cache->hot[n].key, memory_order_acquire);
}

/* The number of the entry of a key, which holds pc; 0: there is no entry. */
static inline uint32_t sw_cache_number(const struct sw_cache *cache, uint64_t pc, uint64_t key)
{
    for (unsigned way = 0; way < SW_CACHE_WAYS; way++) {
        const uint32_t n = sw_cache_at(cache, sw_cache_place(cache, pc, way));
        if (n != 0 && sw_cache_key(cache, n) == key)
            return n;
    }
    return 0;
}

static inline uint64_t sw_cache_generation(const struct sw_cache *cache)
{
    return atomic_load_explicit(&cache->generation, memory_order_acquire);
}

/* Whether all that was read since that generation was noted may be believed. */
static inline bool sw_cache_is_same(const struct sw_cache *cache, uint64_t generation)
{
    atomic_thread_fence(memory_order_acquire);
    return sw_load(&cache->generation) == generation;
}

/*
 * Whether no change of code map or images since then touches what was found at a pc. Not inline: it is asked only when
 * something has changed, and would take registers from the loops that need not ask.
 */
bool sw_entry_holds(uint64_t found, uint64_t step, uint64_t pc, const struct sw_changes *changes);

/* What keys of walkers with those flags have above the pc. */
static inline uint64_t sw_cache_tags(struct sw_cache *cache, uint32_t flags)
{
    uint32_t first = 0;
    const bool is_first = atomic_load_explicit(&cache->flags, memory_order_relaxed) == 0 &&
                          atomic_compare_exchange_strong_explicit(&cache->flags, &first, flags + 1,
                                                                  memory_order_relaxed, memory_order_relaxed);
    return is_first ? 0 : SW_KEY_FLAGS((atomic_load_explicit(&cache->flags, memory_order_relaxed) - 1) ^ flags);
}

/* Generations as struct sw_entry has them in `found`; SW_FOUND_NEVER: one of them is too large for that. */
static inline uint64_t sw_found_at(uint64_t images, uint64_t codemap)
{
    const bool fits = images < UINT64_C(1) << (63 - SW_FOUND_SHIFT) && codemap <= SW_FOUND_CODEMAP;
    return fits ? images << SW_FOUND_SHIFT | codemap : SW_FOUND_NEVER;
}

/* When something last changed anywhere. */
static inline uint64_t sw_changed_last(const struct sw_changes *changes)
{
    const uint64_t removed = atomic_load_explicit(&changes->codemap[SW_REMOVED + SW_PIECES], memory_order_acquire);
    const uint64_t added = atomic_load_explicit(&changes->codemap[SW_ADDED + SW_PIECES], memory_order_acquire);
    const uint64_t images = atomic_load_explicit(&changes->images[SW_IMAGE_PIECES], memory_order_acquire);
    return sw_found_at(images, removed > added ? removed : added);
}

/* Goes through some of the entries. Returns whether all hold now. Wait-free, signal safe. */
bool sw_cache_check(struct sw_cache *cache, const struct sw_changes *changes);

/* For a walk that begins: whether all entries hold now. Otherwise each is to be asked. Wait-free, signal safe. */
static inline bool sw_cache_open(struct sw_cache *cache, const struct sw_changes *changes)
{
    return atomic_load_explicit(&cache->holds_as_of, memory_order_acquire) >= sw_changed_last(changes) ||
           sw_cache_check(cache, changes);
}

/*
 * Stores an entry: in place of that of the same key, else of one that does not hold, else of the oldest. Does nothing
 * while another writer is at work. Counts what it did. Wait-free, signal safe.
 */
void sw_cache_store(struct sw_cache *cache, const struct sw_changes *changes, uint64_t pc,
                    const struct sw_entry *entry);

/*
 * Fills a cache that is new, and that nobody uses yet, with the entries and counters of another one, which may be in
 * use. `to` has room for at least as many. What walks store in `from` meanwhile may be missing. Entries keep when they
 * were found, so they hold as long as they did.
 */
void sw_cache_copy(struct sw_cache *to, const struct sw_cache *from);

/* Whether three quarters of the entries were used. Wait-free, signal safe. */
bool sw_cache_is_full(const struct sw_cache *cache);

void sw_cache_count(struct sw_cache *cache, enum sw_cache_count which, uint64_t count);

/* Counts hits of a walk with that scratch. Wait-free, signal safe. */
static inline void sw_cache_count_hits(struct sw_cache *cache, const void *scratch, uint64_t count)
{
    const uint64_t own = (uint64_t)(uintptr_t)scratch;
    struct sw_cache_share *share = &cache->shares[own * UINT64_C(0x9e3779b97f4a7c15) >> SW_CACHE_SHARES_SHIFT];
    uint64_t owner = sw_load(&share->owner);
    if (owner == 0 &&
        atomic_compare_exchange_strong_explicit(&share->owner, &owner, own, memory_order_relaxed, memory_order_relaxed))
        owner = own;
    if (owner == own)
        atomic_store_explicit(&share->hits, sw_load(&share->hits) + count, memory_order_relaxed);
    else
        sw_cache_count(cache, SW_COUNT_HITS, count);
}

#endif
