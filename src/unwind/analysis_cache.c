/*
 * A ring of packed analyses, and a table that says where in it a function's is. Writers take the next stretch of the
 * ring and fill it; readers copy a stretch out and then look whether it was written over meanwhile: by the head, and by
 * a checksum, since a writer that was held up may write late. Nobody waits, and a signal handler may come in anywhere.
 * An entry is used only while the code is what it was: by the generation of its image, or else by its bytes.
 */
#include "unwind/analysis_cache.h"

#include "common/alloc.h"
#include "unwind/pending.h"

#include <stdatomic.h>
#include <string.h>

enum { LEAST = 65536, SHARE = 8, SPARE = 4, PENDING_SHARE = 32, HEAD_WORDS = 9, HASHED_A_UNIT = 512 };
enum { WAYS = 4, TAG_SHIFT = 48 };

/*
 * ring     ring_words, all that is left of the memory. head counts words from the beginning of time.
 * touched  Up to there the ring's pages were written to, in words from its beginning.
 * places   By hash of a finding, WAYS for each: 1 + where its entry begins, in words from the beginning of time, and
 *          above it a part of the hash, so that mostly no other entry is looked at.
 */
struct sw_analysis_cache {
    struct sw_alloc alloc;
    size_t bytes;
    uint64_t ring_words;
    uint64_t place_count; /* a power of two, and more than WAYS */
    struct sw_pending_notes pending;
    _Atomic uint64_t head, touched, hits, misses, outdated, cuts;
    _Atomic uint64_t *places;
    _Atomic uint64_t *ring;
};

/*
 * The first words of an entry. Behind them stand the extents that it was read from, where there is no generation, and
 * its words.
 */
struct entry {
    uint64_t check; /* of all that follows */
    uint64_t size;  /* in words, these included */
    struct sw_finding finding;
    uint64_t generation;
    uint64_t hash;
    uint64_t extents; /* how many */
};

_Static_assert(sizeof(struct entry) == HEAD_WORDS * 8, "HEAD_WORDS");
enum { EXTENT_WORDS = 2, TOP_WORDS = HEAD_WORDS + EXTENT_WORDS * SW_METER_EXTENTS };

static uint64_t count(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

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
    *k = (struct sw_analysis_cache){ .alloc = from };
    k->bytes = bytes;
    k->place_count = power_below(bytes / SHARE / sizeof *k->places);
    k->pending.count = power_below(bytes / PENDING_SHARE / sizeof *k->pending.notes);
    k->pending.notes = (struct sw_pending_note *)(k + 1);
    k->places = (_Atomic uint64_t *)(k->pending.notes + k->pending.count);
    k->ring = k->places + k->place_count;
    const size_t front = (size_t)((char *)k->ring - (char *)k);
    memset(k + 1, 0, front - sizeof *k); /* not the ring: its words are checked as they are read */
    k->ring_words = (bytes - front) / sizeof *k->ring;
    sw_analysis_cache_touch(k);
    *cache = k;
    return SW_OK;
}

void sw_analysis_cache_destroy(struct sw_analysis_cache *cache)
{
    if (cache)
        cache->alloc.put(cache->alloc.arg, cache, cache->bytes);
}

static void add_one(_Atomic uint64_t *counter)
{
    (void)atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

struct sw_analysis_cache_counts sw_analysis_cache_get_counts(const struct sw_analysis_cache *cache)
{
    if (!cache)
        return (struct sw_analysis_cache_counts){ 0 };
    return (struct sw_analysis_cache_counts){ count(&cache->hits),     count(&cache->misses),
                                              count(&cache->outdated), cache->bytes,
                                              count(&cache->cuts),     sw_pending_count(&cache->pending) };
}

/* ---- the ring ---- */

/* The places that a finding may have, and the part of its hash that stands there. */
struct set {
    _Atomic uint64_t *ways;
    uint64_t tag;
};

static struct set set_of(const struct sw_analysis_cache *cache, const struct sw_finding *finding)
{
    const uint64_t hash = sw_finding_hash(finding);
    return (struct set){ &cache->places[hash & (cache->place_count - WAYS)], hash >> 32 << TAG_SHIFT };
}

/* 1 + where an entry begins, out of a place. */
static uint64_t begin_in(uint64_t place)
{
    return place & ((UINT64_C(1) << TAG_SHIFT) - 1);
}

/*
 * Notes where a finding's entry begins: instead of the one before it, else of what is oldest. With one place for each,
 * two findings that a walk needs could drive each other out for ever, and all that is prepared would be in vain.
 */
static void note_place(struct sw_analysis_cache *cache, const struct sw_finding *finding, uint64_t at)
{
    const struct set set = set_of(cache, finding);
    uint64_t oldest = UINT64_MAX;
    unsigned to = 0;
    for (unsigned way = 0; way < WAYS; way++) {
        const uint64_t place = count(&set.ways[way]), begin = begin_in(place);
        const uint64_t age = begin != 0 && (place ^ begin) == set.tag ? 0 : begin + 1;
        to = age < oldest ? way : to;
        oldest = age < oldest ? age : oldest;
    }
    atomic_store_explicit(&set.ways[to], set.tag | (at + 1), memory_order_release);
}

/* What was written at `at` is there no more once the head is a whole ring further. */
static bool is_there(const struct sw_analysis_cache *cache, uint64_t at, uint64_t size)
{
    const uint64_t head = count(&cache->head);
    return size <= cache->ring_words && at + size <= head && head - at <= cache->ring_words;
}

/* An entry's top: its first words and its extents. */
struct top {
    struct entry entry;
    struct sw_extent extents[SW_METER_EXTENTS];
};

static uint64_t top_words(const struct entry *entry)
{
    return HEAD_WORDS + EXTENT_WORDS * entry->extents;
}

static void load(const struct sw_analysis_cache *cache, uint64_t first, void *to, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t word = atomic_load_explicit(&cache->ring[first + i], memory_order_relaxed);
        memcpy((uint8_t *)to + 8 * i, &word, 8);
    }
}

static uint64_t sum_up(uint64_t sum, const void *words, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, (const uint8_t *)words + 8 * i, 8);
        sum = sw_checksum_add(sum, word);
    }
    return sum;
}

/* The top of the entry at `at`, as far as it makes sense. */
static bool load_top(const struct sw_analysis_cache *cache, uint64_t at, struct top *top)
{
    const uint64_t first = at % cache->ring_words;
    if (!is_there(cache, at, HEAD_WORDS) || first + HEAD_WORDS > cache->ring_words)
        return false;
    load(cache, first, &top->entry, HEAD_WORDS);
    if (top->entry.extents > SW_METER_EXTENTS || top->entry.size <= top_words(&top->entry) ||
        first + top->entry.size > cache->ring_words || !is_there(cache, at, top->entry.size))
        return false;
    load(cache, first + HEAD_WORDS, top->extents, EXTENT_WORDS * top->entry.extents);
    return true;
}

/* Copies the entry at `at` out: how many words there are behind its top, or 0. */
static size_t copy_out(const struct sw_analysis_cache *cache, uint64_t at, struct top *top, uint64_t *words,
                       size_t room)
{
    if (!load_top(cache, at, top) || top->entry.size - top_words(&top->entry) > room)
        return 0;
    const uint64_t above = top_words(&top->entry), count = top->entry.size - above;
    load(cache, at % cache->ring_words + above, words, count);
    atomic_thread_fence(memory_order_acquire);
    const uint64_t sum = sum_up(sum_up(0, (const uint8_t *)top + 8, above - 1), words, count);
    return is_there(cache, at, top->entry.size) && sum == top->entry.check ? (size_t)count : 0;
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

static void store(struct sw_analysis_cache *cache, uint64_t first, const void *words, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, (const uint8_t *)words + 8 * i, 8);
        atomic_store_explicit(&cache->ring[first + i], word, memory_order_relaxed);
    }
}

/*
 * By a write that leaves each word as it is, whoever else writes it: an exchange, since clang makes a load of what adds
 * nothing. Once round, no page is new.
 */
void sw_analysis_cache_touch(struct sw_analysis_cache *cache)
{
    enum { PAGE_WORDS = 4096 / sizeof(uint64_t), AHEAD = 8 * PAGE_WORDS };
    if (!cache)
        return;
    const uint64_t head = count(&cache->head),
                   end = head + AHEAD < cache->ring_words ? head + AHEAD : cache->ring_words;
    const uint64_t touched = count(&cache->touched), begin = touched > head ? touched : head;
    for (uint64_t at = begin; at < end; at += PAGE_WORDS) {
        uint64_t word = count(&cache->ring[at]);
        (void)atomic_compare_exchange_strong_explicit(&cache->ring[at], &word, word, memory_order_relaxed,
                                                      memory_order_relaxed);
    }
    if (begin < end)
        atomic_store_explicit(&cache->touched, end, memory_order_relaxed);
}

/* ---- findings ---- */

/* Once in a walk, for which code is what it was when it was read first. */
static bool hash_extent(const struct sw_code *code, const struct sw_extent *extent, uint64_t *hash)
{
    struct sw_meter *meter = code->meter;
    if (sw_meter_recall(meter, extent, hash))
        return true;
    if (!sw_meter_pay(meter, (extent->end - extent->begin) / HASHED_A_UNIT))
        return false;
    *hash = sw_code_hash(code, extent, 1);
    sw_meter_remember(meter, extent, *hash);
    return true;
}

/* 0: there was no budget for it. */
static uint64_t hash_code(const struct sw_code *code, const struct sw_extent *extents, uint64_t count)
{
    uint64_t hash, all = count;
    for (uint64_t i = 0; i < count; i++) {
        if (!hash_extent(code, &extents[i], &hash))
            return 0;
        all = (all ^ hash) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return all;
}

/* Whether the code is what it was; notes it. */
static bool holds(const struct sw_code *code, const struct top *top, uint64_t generation)
{
    if (top->entry.generation != generation)
        return false;
    for (uint64_t i = 0; i < top->entry.extents; i++)
        sw_meter_note(code->meter, top->extents[i].begin, (uint32_t)(top->extents[i].end - top->extents[i].begin));
    return generation != 0 || top->entry.hash == hash_code(code, top->extents, top->entry.extents);
}

__attribute__((noinline)) size_t sw_analysis_cache_try(struct sw_analysis_cache *cache, const struct sw_code *code,
                                                       const struct sw_finding *finding, uint64_t generation,
                                                       uint64_t *words, size_t room)
{
    struct top top;
    if (!cache)
        return 0;
    const struct set set = set_of(cache, finding);
    for (unsigned way = 0; way < WAYS; way++) {
        const uint64_t place = atomic_load_explicit(&set.ways[way], memory_order_acquire), begin = begin_in(place);
        if (begin == 0 || (place ^ begin) != set.tag)
            continue;
        const size_t count = copy_out(cache, begin - 1, &top, words, room);
        if (count == 0 || !sw_finding_is_same(&top.entry.finding, finding))
            continue;
        const bool is_found = holds(code, &top, generation);
        add_one(is_found ? &cache->hits : &cache->outdated);
        if (is_found)
            return count;
    }
    return 0;
}

size_t sw_analysis_cache_get(struct sw_analysis_cache *cache, const struct sw_code *code,
                             const struct sw_finding *finding, uint64_t generation, uint64_t *words, size_t room)
{
    const size_t found = sw_analysis_cache_try(cache, code, finding, generation, words, room);
    if (cache && found == 0)
        add_one(&cache->misses);
    return found;
}

__attribute__((noinline)) void sw_analysis_cache_put(struct sw_analysis_cache *cache, const struct sw_code *code,
                                                     const struct sw_finding *finding, uint64_t generation,
                                                     const uint64_t *words, size_t count)
{
    const struct sw_meter *meter = code->meter;
    struct top top = { .entry = { .finding = *finding, .generation = generation } };
    if (!cache || count == 0 || (meter && meter->is_cut))
        return;
    if (generation == 0) {
        if (!meter || meter->is_far || meter->count == 0)
            return;
        top.entry.extents = meter->count;
        memcpy(top.extents, meter->read, meter->count * sizeof meter->read[0]);
        top.entry.hash = hash_code(code, top.extents, top.entry.extents);
    }
    const uint64_t above = top_words(&top.entry);
    top.entry.size = above + count;
    if (top.entry.size > cache->ring_words / 4 || (meter && meter->is_cut))
        return;
    top.entry.check = sum_up(sum_up(0, (const uint8_t *)&top + 8, above - 1), words, count);
    const uint64_t at = take(cache, top.entry.size), first = at % cache->ring_words;
    store(cache, first, &top, above);
    store(cache, first + above, words, count);
    note_place(cache, finding, at);
}

/* ---- analyses ---- */

static struct sw_finding analysis_of(uint64_t begin, uint64_t end)
{
    return (struct sw_finding){ SW_FINDING_ANALYSIS, begin, end, 0 };
}

/* No path of it can be continued from then on. */
static void keep(struct sw_analysis_cache *cache, const struct sw_code *code, struct sw_analysis *w,
                 uint64_t generation)
{
    const struct sw_finding finding = analysis_of(w->begin, w->end);
    w->is_packed = true;
    sw_analysis_cache_put(cache, code, &finding, generation, w->packed,
                          sw_analysis_pack(w, w->packed, SW_ANALYZE_PACKED));
}

static bool look_up(struct sw_analysis_cache *cache, const struct sw_code *code, uint64_t begin, uint64_t end,
                    uint64_t generation, struct sw_analysis *w)
{
    const struct sw_finding finding = analysis_of(begin, end);
    const size_t count = sw_analysis_cache_get(cache, code, &finding, generation, w->packed, SW_ANALYZE_PACKED);
    return count != 0 && sw_analysis_unpack(w, code, w->packed, count) && w->begin == begin && w->end == end;
}

void sw_analysis_cache_analyze(struct sw_analysis_cache *cache, const struct sw_code *code, uint64_t begin,
                               uint64_t end, uint64_t generation, struct sw_analysis *work)
{
    if (look_up(cache, code, begin, end, generation, work))
        return;
    sw_analyze_run(code, begin, end, work);
    if (cache)
        keep(cache, code, work, generation);
}

/*
 * Where a path has to be assumed all is run again: what is kept is what every pc of the function has in common, or its
 * rules would depend on which pc was asked for first.
 */
enum sw_status sw_analysis_cache_rule(struct sw_analysis_cache *cache, const struct sw_code *code, uint64_t begin,
                                      uint64_t end, uint64_t pc, uint64_t generation, struct sw_analysis *work,
                                      struct sw_rule *rule)
{
    sw_analysis_cache_analyze(cache, code, begin, end, generation, work);
    const enum sw_status status = sw_analyze_rule(work, pc, rule);
    if (status != SW_E_BUSY)
        return status;
    sw_analyze_run(code, begin, end, work);
    return sw_analyze_rule(work, pc, rule);
}

/* ---- what is left to be done ---- */

void sw_analysis_cache_pend(struct sw_analysis_cache *cache, const struct sw_pending *pending)
{
    if (!cache)
        return;
    add_one(&cache->cuts);
    sw_pending_add(&cache->pending, pending);
}

uint64_t sw_analysis_cache_cost(const struct sw_analysis_cache *cache, const struct sw_finding *finding, uint64_t stamp)
{
    return cache ? sw_pending_cost(&cache->pending, finding, stamp) : 0;
}

bool sw_analysis_cache_pending(const struct sw_analysis_cache *cache, size_t n, struct sw_pending *pending)
{
    return cache && sw_pending_get(&cache->pending, n, pending);
}

void sw_analysis_cache_settle(struct sw_analysis_cache *cache, const struct sw_finding *finding)
{
    if (cache)
        sw_pending_settle(&cache->pending, finding);
}

/* ---- another cache ---- */

/*
 * Copies the entry at `at` into a stretch of another ring, and then looks whether it was whole. Otherwise no place
 * leads to the stretch.
 */
static bool copy_entry(struct sw_analysis_cache *to, const struct sw_analysis_cache *from, uint64_t at)
{
    struct top top;
    if (!load_top(from, at, &top))
        return false;
    const uint64_t size = top.entry.size, above = top_words(&top.entry);
    const uint64_t begin = take(to, size), first = begin % to->ring_words;
    uint64_t sum = sum_up(0, (const uint8_t *)&top + 8, above - 1);
    store(to, first, &top, above);
    for (uint64_t i = above; i < size; i++) {
        const uint64_t word = atomic_load_explicit(&from->ring[at % from->ring_words + i], memory_order_relaxed);
        atomic_store_explicit(&to->ring[first + i], word, memory_order_relaxed);
        sum = sw_checksum_add(sum, word);
    }
    atomic_thread_fence(memory_order_acquire);
    if (sum != top.entry.check || !is_there(from, at, size))
        return false;
    note_place(to, &top.entry.finding, begin);
    return true;
}

void sw_analysis_cache_copy(struct sw_analysis_cache *to, const struct sw_analysis_cache *from)
{
    for (uint64_t n = 0; n < from->place_count; n++) {
        const uint64_t begin = begin_in(atomic_load_explicit(&from->places[n], memory_order_acquire));
        if (begin != 0)
            (void)copy_entry(to, from, begin - 1);
    }
    sw_pending_copy(&to->pending, &from->pending);
    atomic_store(&to->hits, count(&from->hits));
    atomic_store(&to->misses, count(&from->misses));
    atomic_store(&to->outdated, count(&from->outdated));
    atomic_store(&to->cuts, count(&from->cuts));
}

bool sw_analysis_cache_is_full(const struct sw_analysis_cache *cache)
{
    return count(&cache->head) > cache->ring_words - cache->ring_words / SPARE;
}
