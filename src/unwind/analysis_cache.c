/*
 * A ring of packed analyses, and a table that says where in it a function's is. Writers take the next stretch of the
 * ring and fill it; readers copy a stretch out and then look whether it was written over meanwhile: by the head, and by
 * a checksum, since a writer that was held up may write late. Nobody waits, and a signal handler may come in anywhere.
 * An entry is used only while the code is what it was: by the generation of its image, or else by its bytes.
 */
#include "unwind/analysis_cache.h"

#include "common/alloc.h"

#include <stdatomic.h>
#include <string.h>

enum { LEAST = 65536, SHARE = 16, HEAD_WORDS = 4 };

/* pc ^ function beside function: halves of different notes do not fit together. */
struct note {
    _Atomic uint64_t mixed;
    _Atomic uint64_t function;
};

/*
 * ring    ring_words, all that is left of the memory. head counts words from the beginning of time.
 * places  By hash of a function: 1 + where its entry begins, in words from the beginning of time.
 */
struct sw_analysis_cache {
    struct sw_alloc alloc;
    size_t bytes;
    uint64_t ring_words;
    uint64_t place_count, note_count; /* powers of two */
    _Atomic uint64_t head, hits, misses, outdated;
    struct note *notes;
    _Atomic uint64_t *places;
    _Atomic uint64_t *ring;
};

/* The first words of an entry. */
struct entry {
    uint64_t check; /* of all that follows */
    uint64_t size;  /* in words, these included */
    uint64_t generation;
    uint64_t hash;
};

_Static_assert(sizeof(struct entry) == HEAD_WORDS * 8, "HEAD_WORDS");

/* ---- making ---- */

static uint64_t power_below(uint64_t n)
{
    uint64_t p = 1;
    while (p <= n / 2)
        p *= 2;
    return p;
}

enum sw_status sw_analysis_cache_create(const struct sw_alloc *alloc, size_t bytes, struct sw_analysis_cache **cache)
{
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    if (!cache || bytes < LEAST || !sw_alloc_usable(alloc))
        return SW_E_ARGUMENT;
    struct sw_analysis_cache *k = from.get(from.arg, bytes);
    if (!k)
        return SW_E_NO_MEMORY;
    memset(k, 0, bytes);
    k->alloc = from;
    k->bytes = bytes;
    k->place_count = power_below(bytes / SHARE / sizeof *k->places);
    k->note_count = power_below(bytes / SHARE / sizeof *k->notes);
    k->notes = (struct note *)(k + 1);
    k->places = (_Atomic uint64_t *)(k->notes + k->note_count);
    k->ring = k->places + k->place_count;
    k->ring_words = (bytes - (size_t)((char *)k->ring - (char *)k)) / sizeof *k->ring;
    *cache = k;
    return SW_OK;
}

void sw_analysis_cache_destroy(struct sw_analysis_cache *cache)
{
    if (cache)
        cache->alloc.put(cache->alloc.arg, cache, cache->bytes);
}

static uint64_t count(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void add_one(_Atomic uint64_t *counter)
{
    (void)atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

struct sw_analysis_cache_counts sw_analysis_cache_get_counts(const struct sw_analysis_cache *cache)
{
    if (!cache)
        return (struct sw_analysis_cache_counts){ 0 };
    return (struct sw_analysis_cache_counts){ count(&cache->hits), count(&cache->misses), count(&cache->outdated),
                                              cache->bytes };
}

/* ---- notes ---- */

static uint64_t spread(uint64_t n)
{
    return (n * UINT64_C(0x9e3779b97f4a7c15)) >> 16;
}

void sw_analysis_cache_note(struct sw_analysis_cache *cache, uint64_t pc, uint64_t function)
{
    if (!cache)
        return;
    struct note *note = &cache->notes[spread(pc) & (cache->note_count - 1)];
    atomic_store_explicit(&note->function, function, memory_order_relaxed);
    atomic_store_explicit(&note->mixed, pc ^ function, memory_order_relaxed);
}

uint64_t sw_analysis_cache_function(const struct sw_analysis_cache *cache, uint64_t pc)
{
    if (!cache)
        return 0;
    const struct note *note = &cache->notes[spread(pc) & (cache->note_count - 1)];
    const uint64_t function = count(&note->function);
    return (count(&note->mixed) ^ function) == pc ? function : 0;
}

/* ---- the ring ---- */

static _Atomic uint64_t *place_of(const struct sw_analysis_cache *cache, uint64_t begin, uint64_t end)
{
    return &cache->places[spread(begin ^ end << 20) & (cache->place_count - 1)];
}

static uint64_t checksum(const uint64_t *words, uint64_t size)
{
    uint64_t sum = size;
    for (uint64_t i = 1; i < size; i++)
        sum = (sum ^ words[i]) * UINT64_C(0xff51afd7ed558ccd) + (sum >> 29);
    return sum;
}

/* What was written at `at` is there no more once the head is a whole ring further. */
static bool is_there(const struct sw_analysis_cache *cache, uint64_t at, uint64_t size)
{
    const uint64_t head = count(&cache->head);
    return size <= cache->ring_words && at + size <= head && head - at <= cache->ring_words;
}

/* Copies the entry at `at` out; its size, or 0. */
static uint64_t copy_out(const struct sw_analysis_cache *cache, uint64_t at, uint64_t *words, uint64_t room)
{
    const uint64_t first = at % cache->ring_words;
    if (!is_there(cache, at, HEAD_WORDS) || first + HEAD_WORDS > cache->ring_words)
        return 0;
    const uint64_t size = count(&cache->ring[first + 1]);
    if (size < HEAD_WORDS || size > room || first + size > cache->ring_words || !is_there(cache, at, size))
        return 0;
    for (uint64_t i = 0; i < size; i++)
        words[i] = count(&cache->ring[first + i]);
    atomic_thread_fence(memory_order_acquire);
    return is_there(cache, at, size) && words[1] == size && words[0] == checksum(words, size) ? size : 0;
}

/* A stretch of the ring that does not wrap; its place from the beginning of time. */
static uint64_t take(struct sw_analysis_cache *cache, uint64_t size)
{
    uint64_t at = count(&cache->head), begin;
    do {
        const uint64_t left = cache->ring_words - (at % cache->ring_words);
        begin = left < size ? at + left : at;
    } while (!atomic_compare_exchange_weak_explicit(&cache->head, &at, begin + size, memory_order_acq_rel,
                                                    memory_order_relaxed));
    return begin;
}

static void keep(struct sw_analysis_cache *cache, struct sw_analysis *w, uint64_t generation)
{
    if (!sw_analysis_measure(w) && !generation)
        return;
    struct entry entry = { .generation = generation, .hash = generation ? 0 : sw_analysis_hash(w) };
    if (!generation && !entry.hash)
        return;
    const size_t packed = sw_analysis_pack(w, w->packed + HEAD_WORDS, SW_ANALYZE_PACKED - HEAD_WORDS);
    entry.size = packed + HEAD_WORDS;
    if (packed == 0 || entry.size > cache->ring_words / 4)
        return;
    memcpy(w->packed, &entry, sizeof entry);
    w->packed[0] = checksum(w->packed, entry.size);
    const uint64_t at = take(cache, entry.size), first = at % cache->ring_words;
    for (uint64_t i = 0; i < entry.size; i++)
        atomic_store_explicit(&cache->ring[first + i], w->packed[i], memory_order_relaxed);
    atomic_store_explicit(place_of(cache, w->begin, w->end), at + 1, memory_order_release);
}

static bool find(struct sw_analysis_cache *cache, const struct sw_code *code, uint64_t begin, uint64_t end,
                 uint64_t generation, struct sw_analysis *w)
{
    const uint64_t at = atomic_load_explicit(place_of(cache, begin, end), memory_order_acquire);
    const uint64_t size = at ? copy_out(cache, at - 1, w->packed, SW_ANALYZE_PACKED) : 0;
    struct entry entry;
    if (size == 0 || !sw_analysis_unpack(w, code, w->packed + HEAD_WORDS, size - HEAD_WORDS) || w->begin != begin ||
        w->end != end)
        return false;
    memcpy(&entry, w->packed, sizeof entry);
    if (entry.generation == generation && (generation || entry.hash == sw_analysis_hash(w)))
        return true;
    add_one(&cache->outdated);
    return false;
}

/* Finds an analysis, and counts that. */
static bool look_up(struct sw_analysis_cache *cache, const struct sw_code *code, uint64_t begin, uint64_t end,
                    uint64_t generation, struct sw_analysis *w)
{
    if (!cache)
        return false;
    const bool found = find(cache, code, begin, end, generation, w);
    add_one(found ? &cache->hits : &cache->misses);
    return found;
}

void sw_analysis_cache_analyze(struct sw_analysis_cache *cache, const struct sw_code *code, uint64_t begin,
                               uint64_t end, uint64_t generation, struct sw_analysis *work)
{
    if (look_up(cache, code, begin, end, generation, work))
        return;
    sw_analyze_run(code, begin, end, work);
    if (cache)
        keep(cache, work, generation);
}

enum sw_status sw_analysis_cache_rule(struct sw_analysis_cache *cache, const struct sw_code *code, uint64_t begin,
                                      uint64_t end, uint64_t pc, uint64_t generation, struct sw_analysis *work,
                                      struct sw_rule *rule)
{
    enum sw_status status = SW_E_BUSY; /* a path has to be assumed: then all is run again */
    if (look_up(cache, code, begin, end, generation, work))
        status = sw_analyze_rule(work, pc, rule);
    if (status != SW_E_BUSY)
        return status;
    sw_analyze_run(code, begin, end, work);
    const bool had_hit_bound = work->hit_bound;
    status = sw_analyze_rule(work, pc, rule);
    /* With the path that was assumed, if one was; unless a bound was hit on it: then what was seen would be doubted,
     * too. */
    if (cache && work->hit_bound == had_hit_bound)
        keep(cache, work, generation);
    return status;
}
