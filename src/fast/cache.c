/*
 * See cache.h. Entries are used in the order in which pcs are met, so that those of one stack lie side by side; when
 * there are no more, the oldest one makes room.
 */
#include "base/hot.h"
#include "fast/cache.h"

#include "common/alloc.h"
#include "fast/valid.h"

#include <string.h>

enum {
    ENTRY_BYTES = sizeof(struct sw_hot) + sizeof(struct sw_cold) + SW_CACHE_PLACES * sizeof(uint32_t),
    CHECK_AT_ONCE = 16,
    LOOK_AHEAD = 4,
    SPARE = 4
};

static size_t power_above(size_t n)
{
    size_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

enum sw_status sw_cache_create(const struct sw_alloc *alloc, size_t entries, struct sw_cache **cache)
{
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    if (!cache || entries == 0 || entries > SW_CACHE_MAX_ENTRIES || !sw_alloc_usable(alloc))
        return SW_E_ARGUMENT;
    const size_t count = power_above(entries), line = sizeof(struct sw_cold);
    const size_t bytes = 2 * line + sizeof(struct sw_cache) + (count + 1) * ENTRY_BYTES;
    char *block = from.get(from.arg, bytes);
    if (!block)
        return SW_E_NO_MEMORY;
    memset(block, 0, bytes);
    struct sw_cache *made = (void *)(block + (0 - (uintptr_t)block) % line);
    made->block = block;
    made->cold = (void *)((char *)(made + 1) + (0 - sizeof *made) % line);
    made->hot = (struct sw_hot *)(void *)(made->cold + count + 1);
    made->index = (_Atomic uint32_t *)(void *)(made->hot + count + 1);
    made->index_mask = (uint32_t)(SW_CACHE_PLACES * count) - 1;
    made->room = (uint32_t)count;
    made->alloc = from;
    made->bytes = bytes;
    for (size_t n = 0; n <= count; n++)
        atomic_init(&made->hot[n].key, SW_KEY_NONE);
    *cache = made;
    return SW_OK;
}

void sw_cache_destroy(struct sw_cache *cache)
{
    assert(!cache || sw_cache_is_valid(cache));
    if (cache)
        cache->alloc.put(cache->alloc.arg, cache->block, cache->bytes);
}

static uint64_t hits(const struct sw_cache *cache)
{
    uint64_t sum = sw_load(&cache->counts[SW_COUNT_HITS]);
    for (unsigned i = 0; i < SW_CACHE_SHARES; i++)
        sum += sw_load(&cache->shares[i].hits);
    return sum;
}

struct sw_cache_counts sw_cache_get_counts(const struct sw_cache *cache)
{
    if (!cache)
        return (struct sw_cache_counts){ 0 };
    return (struct sw_cache_counts){ .hits = hits(cache),
                                     .absent = sw_load(&cache->counts[SW_COUNT_ABSENT]),
                                     .outdated = sw_load(&cache->counts[SW_COUNT_OUTDATED]),
                                     .busy = sw_load(&cache->counts[SW_COUNT_BUSY]),
                                     .stored = sw_load(&cache->counts[SW_COUNT_STORED]),
                                     .evicted = sw_load(&cache->counts[SW_COUNT_EVICTED]),
                                     .uncacheable = sw_load(&cache->counts[SW_COUNT_UNCACHEABLE]),
                                     .entries = cache->room,
                                     .bytes = cache->bytes };
}

void sw_cache_count(struct sw_cache *cache, enum sw_cache_count which, uint64_t count)
{
    if (count)
        (void)atomic_fetch_add_explicit(&cache->counts[which], count, memory_order_relaxed);
}

/* ---- what holds ---- */

/*
 * Whether what was found at a pc follows from unwind tables alone, so that no image but its own plays a part. What is
 * inferred from instructions may depend on functions that are called, and on which code is known.
 */
static bool is_of_tables(uint64_t step)
{
    enum {
        TABLES = 1 << SW_SOURCE_CFI | 1 << SW_SOURCE_SFRAME | 1 << SW_SOURCE_UNWIND_CODES | 1 << SW_SOURCE_CLR_HEADER
    };
    return (step & (SW_STEP_BY_CALL | SW_STEP_END)) == 0 && (TABLES >> sw_step_source(step) & 1) != 0 &&
           sw_step_trust(step) == SW_TRUST_EXACT;
}

SW_HOT bool sw_entry_holds(uint64_t found, uint64_t step, uint64_t pc, const struct sw_changes *changes)
{
    const unsigned kind = step & SW_STEP_UNRANGED ? SW_ADDED : SW_REMOVED;
    const uint64_t changed = atomic_load_explicit(&changes->codemap[kind + sw_piece(pc)], memory_order_acquire);
    const unsigned piece = is_of_tables(step) ? sw_image_piece(pc) : SW_IMAGE_PIECES;
    const uint64_t images = atomic_load_explicit(&changes->images[piece], memory_order_acquire);
    return found >> SW_FOUND_SHIFT >= images && (found & SW_FOUND_CODEMAP) >= changed;
}

/* ---- writing ---- */

static bool begin_writing(struct sw_cache *cache)
{
    return atomic_exchange_explicit(&cache->is_writing, 1, memory_order_acquire) == 0;
}

static void end_writing(struct sw_cache *cache)
{
    atomic_store_explicit(&cache->is_writing, 0, memory_order_release);
}

static bool holds(const struct sw_cache *cache, const struct sw_changes *changes, uint32_t n)
{
    const uint64_t key = sw_cache_key(cache, n);
    const uint64_t found = sw_load(&cache->hot[n].found), step = sw_load(&cache->cold[n].step);
    return key != SW_KEY_NONE && sw_entry_holds(found, step, key % SW_KEY_PC_END, changes);
}

/* The number of an entry to be filled anew: one that does not hold, or the oldest. */
static uint32_t choose(struct sw_cache *cache, const struct sw_changes *changes, bool *evicts)
{
    for (unsigned i = 0; i < LOOK_AHEAD; i++) {
        cache->hand = cache->hand % cache->room + 1;
        if (!holds(cache, changes, cache->hand))
            return cache->hand;
    }
    *evicts = true;
    return cache->hand;
}

/* Takes what stood there away, for good: a reader that has seen the key will see that the generation is another. */
static void make_empty(struct sw_cache *cache, uint32_t n)
{
    atomic_store_explicit(&cache->hot[n].key, SW_KEY_NONE, memory_order_relaxed);
    atomic_store_explicit(&cache->hot[n].step, 0, memory_order_relaxed);
    atomic_store_explicit(&cache->generation, sw_load(&cache->generation) + 1, memory_order_release);
    atomic_thread_fence(memory_order_release);
}

static void fill(struct sw_cache *cache, uint32_t n, const struct sw_entry *from)
{
    struct sw_hot *hot = &cache->hot[n];
    struct sw_cold *cold = &cache->cold[n];
    atomic_store_explicit(&cold->step, from->step, memory_order_relaxed);
    atomic_store_explicit(&cold->slots, from->slots, memory_order_relaxed);
    atomic_store_explicit(&cold->function, from->function, memory_order_relaxed);
    atomic_store_explicit(&hot->found, from->found, memory_order_relaxed);
    atomic_store_explicit(&cold->begin, from->begin, memory_order_relaxed);
    atomic_store_explicit(&cold->end, from->end, memory_order_relaxed);
    atomic_store_explicit(&cold->id, from->id, memory_order_relaxed);
    atomic_store_explicit(&cold->attributes, from->attributes, memory_order_relaxed);
    atomic_store_explicit(&cold->calls, from->calls, memory_order_relaxed);
    atomic_store_explicit(&cold->same, from->same, memory_order_relaxed);
    atomic_store_explicit(&hot->step, sw_hot_step(from->key, from->step), memory_order_relaxed);
    atomic_store_explicit(&hot->next.whole, n * sizeof *hot, memory_order_relaxed);
    atomic_store_explicit(&hot->key, from->key, memory_order_release);
}

/* Whether a place in the index leads to no other entry that belongs there. */
static bool is_free(const struct sw_cache *cache, uint32_t place, uint32_t own)
{
    const uint32_t n = sw_cache_at(cache, place);
    const uint64_t key = n ? sw_cache_key(cache, n) : SW_KEY_NONE;
    return n == own || key == SW_KEY_NONE ||
           (sw_cache_place(cache, key % SW_KEY_PC_END, 0) ^ place) / SW_CACHE_WAYS != 0;
}

/* Where all are taken it is another one each time: two entries that every walk meets must not take turns at one. */
static uint32_t free_place(const struct sw_cache *cache, uint64_t pc, uint32_t own)
{
    for (unsigned way = 0; way < SW_CACHE_WAYS; way++)
        if (is_free(cache, sw_cache_place(cache, pc, way), own))
            return sw_cache_place(cache, pc, way);
    return sw_cache_place(cache, pc, own % SW_CACHE_WAYS);
}

/* For a key that has no entry. */
static void add(struct sw_cache *cache, const struct sw_changes *changes, uint64_t pc, const struct sw_entry *entry)
{
    const bool is_fresh = cache->used < cache->room;
    bool evicts = false;
    const uint32_t n = is_fresh ? cache->used + 1 : choose(cache, changes, &evicts);
    if (!is_fresh)
        make_empty(cache, n);
    fill(cache, n, entry);
    cache->used += is_fresh;
    atomic_store_explicit(&cache->index[free_place(cache, pc, n)], n, memory_order_relaxed);
    sw_cache_count(cache, SW_COUNT_EVICTED, evicts);
}

static bool store(struct sw_cache *cache, const struct sw_changes *changes, uint64_t pc, const struct sw_entry *entry)
{
    const uint32_t n = sw_cache_number(cache, pc, entry->key);
    if (!sw_entry_holds(entry->found, entry->step, pc, changes))
        return false;
    if (n == 0) {
        add(cache, changes, pc, entry);
        return true;
    }
    make_empty(cache, n);
    fill(cache, n, entry);
    return true;
}

void sw_cache_store(struct sw_cache *cache, const struct sw_changes *changes, uint64_t pc, const struct sw_entry *entry)
{
    bool stored = false;
    assert(sw_entry_is_valid(entry));
    if (begin_writing(cache)) {
        stored = store(cache, changes, pc, entry);
        end_writing(cache);
    }
    sw_cache_count(cache, stored ? SW_COUNT_STORED : SW_COUNT_UNCACHEABLE, 1);
}

/* ---- another cache ---- */

/* Reads an entry that others may be writing. False: it is none, or is another one by now. */
static bool read_entry(const struct sw_cache *cache, uint32_t n, struct sw_entry *entry)
{
    const uint64_t generation = sw_cache_generation(cache);
    const struct sw_cold *cold = &cache->cold[n];
    *entry = (struct sw_entry){ .key = sw_cache_key(cache, n),
                                .step = sw_load(&cold->step),
                                .slots = sw_load(&cold->slots),
                                .function = sw_load(&cold->function),
                                .found = sw_load(&cache->hot[n].found),
                                .begin = sw_load(&cold->begin),
                                .end = sw_load(&cold->end),
                                .id = sw_load(&cold->id),
                                .attributes = sw_load(&cold->attributes),
                                .calls = atomic_load_explicit(&cold->calls, memory_order_relaxed),
                                .same = atomic_load_explicit(&cold->same, memory_order_relaxed) };
    return entry->key != SW_KEY_NONE && sw_cache_is_same(cache, generation);
}

void sw_cache_copy(struct sw_cache *to, const struct sw_cache *from)
{
    struct sw_entry entry;
    assert(to->used == 0 && to->room >= from->room);
    atomic_store_explicit(&to->flags, atomic_load_explicit(&from->flags, memory_order_relaxed), memory_order_relaxed);
    for (unsigned which = 0; which < SW_COUNTS; which++)
        atomic_store_explicit(&to->counts[which], sw_load(&from->counts[which]), memory_order_relaxed);
    atomic_store_explicit(&to->counts[SW_COUNT_HITS], hits(from), memory_order_relaxed);
    for (uint32_t n = 1; n <= from->room; n++) {
        if (!read_entry(from, n, &entry))
            continue;
        fill(to, ++to->used, &entry);
        atomic_store_explicit(&to->index[free_place(to, entry.key % SW_KEY_PC_END, to->used)], to->used,
                              memory_order_relaxed);
    }
}

bool sw_cache_is_full(const struct sw_cache *cache)
{
    return sw_cache_key(cache, cache->room - cache->room / SPARE) != SW_KEY_NONE;
}

/* ---- changes of code map and images ---- */

/* Goes through a few entries; behind the last, all hold as of when that began, but for those that no walk may reach. */
static void check_some(struct sw_cache *cache, const struct sw_changes *changes, uint64_t now)
{
    const uint32_t left = cache->used - cache->checked, count = left < CHECK_AT_ONCE ? left : CHECK_AT_ONCE;
    if (cache->checked == 0)
        cache->checked_as_of = now;
    for (uint32_t n = cache->checked + 1; n <= cache->checked + count; n++) {
        struct sw_hot *hot = &cache->hot[n];
        const uint64_t step = sw_load(&hot->step); /* none: nothing to take away */
        if (step != 0 && !sw_entry_holds(sw_load(&hot->found), step, sw_load(&hot->key) % SW_KEY_PC_END, changes))
            atomic_store_explicit(&hot->step, 0, memory_order_relaxed);
    }
    cache->checked += count;
    if (count < left)
        return;
    cache->checked = 0;
    atomic_store_explicit(&cache->holds_as_of, cache->checked_as_of, memory_order_release);
}

bool sw_cache_check(struct sw_cache *cache, const struct sw_changes *changes)
{
    const uint64_t now = sw_changed_last(changes);
    if (now == SW_FOUND_NEVER)
        return false;
    if (begin_writing(cache)) {
        check_some(cache, changes, now);
        end_writing(cache);
    }
    return atomic_load_explicit(&cache->holds_as_of, memory_order_acquire) >= now;
}
