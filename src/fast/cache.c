/*
 * The lines of the rule cache: a table of four ways that anybody may write at any time. A writer takes a line by making
 * its version odd, and gives up where it is odd already; a reader that sees an odd version, or another one after than
 * before, has a miss. So nobody waits, and a handler may come in anywhere, also in the middle of a writer's line.
 * A version comes back after 2^31 writings of one line: a reader would have to sleep between two loads for that long.
 * Refuses to know what a line says.
 */
#include "fast/cache.h"

#include "common/alloc.h"

#include <string.h>

static size_t power_above(size_t n)
{
    size_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

/* Beside a line: its guess, a brief entry, and that one's place in the index; the briefs have one more. */
enum { ENTRY_BYTES = 2 * sizeof(uint32_t) + sizeof(struct sw_brief), FIRST_BYTES = sizeof(struct sw_brief) };

static void lay_out_briefs(struct sw_cache *made, size_t count)
{
    struct sw_briefs *briefs = &made->briefs;
    briefs->entries = (struct sw_brief *)(void *)(made->lines + count);
    made->next = (_Atomic uint32_t *)(void *)(briefs->entries + count + 1);
    briefs->index = made->next + count;
    briefs->mask = count - 1;
    briefs->room = (uint32_t)count + 1;
}

enum sw_status sw_cache_create(const struct sw_alloc *alloc, size_t entries, struct sw_cache **cache)
{
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    if (!cache || entries == 0 || entries > SW_CACHE_MAX_ENTRIES || !sw_alloc_usable(alloc))
        return SW_E_ARGUMENT;
    const size_t count = power_above(entries);
    const size_t bytes = sizeof(struct sw_cache) + (count + 1) * SW_LINE_BYTES + count * ENTRY_BYTES + FIRST_BYTES;
    struct sw_cache *made = from.get(from.arg, bytes);
    if (!made)
        return SW_E_NO_MEMORY;
    memset(made, 0, bytes);
    const uintptr_t behind = (uintptr_t)(made + 1);
    made->lines = (struct sw_line *)(void *)((char *)(made + 1) + (0 - behind) % SW_LINE_BYTES);
    made->mask = (count - 1) * SW_LINE_BYTES;
    made->alloc = from;
    made->bytes = bytes;
    for (size_t i = 0; i < count; i++)
        atomic_init(&made->lines[i].key, SW_CACHE_NO_KEY);
    lay_out_briefs(made, count);
    *cache = made;
    return SW_OK;
}

void sw_cache_destroy(struct sw_cache *cache)
{
    if (cache)
        cache->alloc.put(cache->alloc.arg, cache, cache->bytes);
}

static uint64_t count_of(const struct sw_cache *cache, enum sw_cache_count which)
{
    return atomic_load_explicit(&cache->counts[which], memory_order_relaxed);
}

struct sw_cache_counts sw_cache_get_counts(const struct sw_cache *cache)
{
    if (!cache)
        return (struct sw_cache_counts){ 0 };
    return (struct sw_cache_counts){ .hits = count_of(cache, SW_COUNT_HITS),
                                     .absent = count_of(cache, SW_COUNT_ABSENT),
                                     .outdated = count_of(cache, SW_COUNT_OUTDATED),
                                     .busy = count_of(cache, SW_COUNT_BUSY),
                                     .stored = count_of(cache, SW_COUNT_KEPT),
                                     .evicted = count_of(cache, SW_COUNT_EVICTED),
                                     .uncacheable = count_of(cache, SW_COUNT_REFUSED),
                                     .entries = cache->mask / SW_LINE_BYTES + 1,
                                     .bytes = cache->bytes };
}

void sw_cache_count(struct sw_cache *cache, enum sw_cache_count which, uint64_t count)
{
    if (count)
        (void)atomic_fetch_add_explicit(&cache->counts[which], count, memory_order_relaxed);
}

/* ---- reading ---- */

static struct sw_line *line_at(const struct sw_cache *cache, uint64_t pc, unsigned way)
{
    const struct sw_line *own = sw_line_of(cache->lines, cache->mask, pc);
    return &cache->lines[((size_t)(own - cache->lines) ^ way) & (cache->mask / SW_LINE_BYTES)];
}

struct sw_line *sw_cache_line(const struct sw_cache *cache, uint64_t pc, uint64_t key)
{
    for (unsigned way = 0; way < SW_CACHE_WAYS; way++) {
        struct sw_line *line = line_at(cache, pc, way);
        if (atomic_load_explicit(&line->key, memory_order_relaxed) == key)
            return line;
    }
    return NULL;
}

enum sw_cache_count sw_cache_find(const struct sw_cache *cache, const struct sw_cache_clocks *clocks, uint64_t pc,
                                  struct sw_cached *cached)
{
    struct sw_line *line = sw_cache_line(cache, pc, cached->key);
    if (!line)
        return SW_COUNT_ABSENT;
    const uint32_t version = atomic_load_explicit(&line->version, memory_order_acquire);
    if (atomic_load_explicit(&line->key, memory_order_relaxed) != cached->key || !sw_line_read(line, version, cached))
        return SW_COUNT_BUSY;
    return sw_cached_holds(cached, pc, clocks) ? SW_COUNT_HITS : SW_COUNT_OUTDATED;
}

/* ---- writing ---- */

enum worth { SAME, FREE, GOOD };

/* What would be lost with a line. Others may change it meanwhile: then something else is lost, which is as good. */
static enum worth worth_of(struct sw_line *line, const struct sw_cache_clocks *clocks, uint64_t key)
{
    struct sw_cached there;
    const uint32_t version = atomic_load_explicit(&line->version, memory_order_acquire);
    there.key = atomic_load_explicit(&line->key, memory_order_relaxed);
    if (there.key == key)
        return SAME;
    if (there.key == SW_CACHE_NO_KEY)
        return FREE;
    if (!sw_line_read(line, version, &there))
        return GOOD;
    return sw_cached_holds(&there, there.key % SW_CACHE_PC_END, clocks) ? GOOD : FREE;
}

static void fill(struct sw_line *line, const struct sw_cached *from)
{
    atomic_store_explicit(&line->calls, from->calls, memory_order_relaxed);
    atomic_store_explicit(&line->key, from->key, memory_order_relaxed);
    atomic_store_explicit(&line->where, from->where, memory_order_relaxed);
    atomic_store_explicit(&line->form, from->form, memory_order_relaxed);
    atomic_store_explicit(&line->stamp, from->stamp, memory_order_relaxed);
    atomic_store_explicit(&line->place, from->place, memory_order_relaxed);
    atomic_store_explicit(&line->id, from->id, memory_order_relaxed);
    atomic_store_explicit(&line->rest, from->rest, memory_order_relaxed);
}

/* False: another writer is there, perhaps the one that this one has interrupted. */
static bool write_line(struct sw_line *line, const struct sw_cached *from)
{
    uint32_t version = atomic_load_explicit(&line->version, memory_order_relaxed);
    if (version % 2 != 0 || !atomic_compare_exchange_strong_explicit(&line->version, &version, version + 1,
                                                                     memory_order_acquire, memory_order_relaxed))
        return false;
    atomic_thread_fence(memory_order_release);
    fill(line, from);
    atomic_store_explicit(&line->version, version + 2, memory_order_release);
    return true;
}

/* The way whose loss costs least; among good ones the turn goes round with what was written before. */
static unsigned choose_way(const struct sw_cache *cache, const struct sw_cache_clocks *clocks, uint64_t pc,
                           uint64_t key, enum worth *worth)
{
    unsigned best = 0;
    uint32_t turn = 0;
    *worth = GOOD;
    for (unsigned way = 0; way < SW_CACHE_WAYS; way++) {
        struct sw_line *line = line_at(cache, pc, way);
        const enum worth here = worth_of(line, clocks, key);
        turn += atomic_load_explicit(&line->version, memory_order_relaxed) / 2;
        if (here < *worth) {
            *worth = here;
            best = way;
        }
    }
    return *worth == GOOD ? turn % SW_CACHE_WAYS : best;
}

void sw_cache_keep(struct sw_cache *cache, const struct sw_cache_clocks *clocks, uint64_t pc,
                   const struct sw_cached *cached)
{
    enum worth worth;
    const unsigned way = choose_way(cache, clocks, pc, cached->key, &worth);
    if (!write_line(line_at(cache, pc, way), cached)) {
        sw_cache_count(cache, SW_COUNT_REFUSED, 1);
        return;
    }
    sw_cache_count(cache, SW_COUNT_KEPT, 1);
    sw_cache_count(cache, SW_COUNT_EVICTED, worth == GOOD);
}
