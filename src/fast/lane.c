/*
 * See lane.h: how a walk's view is made, and what is asked less often than once a frame.
 */
#include "base/hot.h"
#include "fast/lane.h"

#include "arch/arch.h"
#include "code/images.h"

/* As pointer_auth.c takes signatures away; what is in the other half of the address space stays what no entry has. */
static uint64_t address_bits(const struct sw_walker *walker)
{
    const struct sw_pointer_auth *bits = sw_arch_of(walker->machine)->pointer_auth;
    return bits && walker->pac_mask ? ~((walker->pac_mask | bits->tag) & ~bits->half) : UINT64_MAX;
}

/*
 * Every slot of an easy step lies at most SW_SLOT_NEAR words below its CFA, or less than SW_SLOTS_ABOVE above it; on
 * ARM64 from sp on.
 */
static void find_bounds(struct sw_lane *lane, const struct sw_walker *walker)
{
    const uint64_t above = walker->machine == SW_MACHINE_X64 ? SW_SLOTS_ABOVE * SW_WORD : 0;
    const struct sw_window *w = &walker->memory.window;
    if (lane->tags != 0 || w->begin >= w->end || w->end - w->begin < SW_LANE_BELOW + above)
        return;
    const uint64_t least = w->begin + SW_LANE_BELOW, most = w->end - above;
    const bool bounded = walker->stack_end != 0;
    const uint64_t begin = bounded && walker->stack_begin > least ? walker->stack_begin : least;
    const uint64_t end = bounded && walker->stack_end < most ? walker->stack_end : most;
    if (begin > end || end > INT64_MAX) /* so that no CFA wraps round */
        return;
    lane->least = begin;
    lane->base = walker->stack_end;
    lane->view.top = end;
    lane->view.address = walker->machine == SW_MACHINE_X64 ? UINT64_MAX : address_bits(walker);
    lane->view.stack = (uintptr_t)w->bytes - (uintptr_t)w->begin;
}

SW_HOT void sw_lane_start(struct sw_lane *lane, const struct sw_walker *walker)
{
    static const _Atomic uint64_t no_changes[SW_CHANGES];
    enum { FLAGS = 16 };
    lane->cache = walker->flags < FLAGS && walker->replaced.at == 0 ? walker->cache : NULL;
    lane->machine = walker->machine;
    lane->replay = NULL;
    lane->misses = lane->replayed = 0;
    lane->least = UINT64_MAX;
    lane->base = 0;
    lane->view.top = 0;
    lane->found = SW_FOUND_NEVER;
    if (!lane->cache)
        return;
    lane->view.hot = lane->cache->hot;
    lane->cold = lane->cache->cold;
    lane->tags = sw_cache_tags(lane->cache, walker->flags);
    lane->codemap = walker->codemap;
    lane->changes = (struct sw_changes){ walker->codemap ? sw_codemap_changes(walker->codemap) : no_changes,
                                         sw_images_changes(walker->images) };
    lane->holds = sw_cache_open(lane->cache, &lane->changes);
    find_bounds(lane, walker);
}

SW_HOT uint64_t sw_lane_generations(const struct sw_lane *lane)
{
    return sw_found_at(atomic_load_explicit(&lane->changes.images[SW_IMAGE_PIECES], memory_order_acquire),
                       sw_codemap_generation(lane->codemap));
}

/* The entry with that number, of what is at a pc. */
static inline enum sw_cache_count use(const struct sw_lane *lane, uint32_t n, uint64_t pc, struct sw_at *at)
{
    at->entry = n * sizeof(struct sw_hot);
    at->step = 0;
    if (n == 0)
        return SW_COUNT_ABSENT;
    const struct sw_hot *hot = &lane->view.hot[n];
    const uint64_t step = sw_load(&lane->cold[n].step);
    if (lane->holds ? sw_load(&hot->step) == 0 : !sw_entry_holds(sw_load(&hot->found), step, pc, &lane->changes))
        return SW_COUNT_OUTDATED;
    at->step = step;
    return SW_COUNT_HITS;
}

SW_HOT enum sw_cache_count sw_lane_find(const struct sw_lane *lane, struct sw_at *at, bool exact)
{
    const uint64_t pc = at->pc, key = pc | lane->tags | (exact ? SW_KEY_EXACT : 0);
    return use(lane, pc < SW_KEY_PC_END ? sw_cache_number(lane->cache, pc, key) : 0, pc, at);
}

enum sw_cache_count sw_lane_find_body(const struct sw_lane *lane, const struct sw_range *range, struct sw_at *at,
                                      uint64_t *end)
{
    const uint64_t begin = range->begin, key = begin | lane->tags | SW_KEY_EXACT | SW_KEY_BODY;
    const uint32_t n = begin < SW_KEY_PC_END ? sw_cache_number(lane->cache, begin, key) : 0;
    const uint64_t body = sw_load(&lane->cold[n].function);
    const bool is_same = sw_load(&lane->cold[n].begin) == begin && sw_load(&lane->cold[n].end) == range->end;
    *end = begin + (body >> 32);
    return use(lane, is_same && sw_body_has(body, at->pc - begin) ? n : 0, begin, at);
}

/*
 * The caller's entry that was met before the last is tried first. Where a function calls itself, that stays predicted:
 * of its frames in a row only the last one has another caller.
 */
uint64_t sw_lane_predict(const struct sw_lane *lane, uint64_t from, uint64_t pc)
{
    _Atomic uint64_t *next = &sw_hot_at(lane->view.hot, from)->next.whole;
    const uint64_t last = (uint32_t)sw_load(next), before = sw_next_before(sw_load(next));
    uint64_t entry = before;
    if (sw_load(&sw_hot_at(lane->view.hot, before)->key) != pc)
        entry = pc < SW_KEY_PC_END ? sw_cache_number(lane->cache, pc, pc) * sizeof(struct sw_hot) : 0;
    else if (last == from)
        return entry;
    if (entry != 0)
        atomic_store_explicit(next, last << 32 | entry, memory_order_relaxed);
    return entry;
}
