/*
 * Adds ranges to the code map and removes them. Refuses to know how ranges are packed (chunk.c), how the tree keeps its
 * shape (rebalance.c), and when memory is really freed (common/reclaim.h).
 *
 * A change has two halves. First a plan allocates everything new; if that fails, the new blocks are freed and nothing
 * has happened. Then the slots are stored, which cannot fail.
 */
#include "code/map/codemap.h"
#include "code/map/tree.h"

#include <assert.h>

/* To store: `value` in `count` slots from `slots`. */
struct edit {
    sw_slot *slots;
    unsigned count;
    uintptr_t value;
};

/*
 * The most edits of one change. A range touches the chunk in which it begins and the one in which it ends; on each
 * level at most one group of slots for its span on the left and one on the right; and chunks that hold nothing but the
 * range as their carry. These come from splitting the chunk in which it ends: each split adds at most one, the lower
 * half, so there is at most one of each of 64 sizes.
 */
enum { EDITS_MAX = 2 + 2 * SW_LEVELS + 64 };

struct plan {
    struct sw_codemap *map;
    const struct sw_range *range;
    uintptr_t span; /* the span of the range, once one is needed */
    unsigned count;
    struct edit edit[EDITS_MAX];
};

static uintptr_t make_span(struct sw_codemap *map, const struct sw_range *range)
{
    const struct sw_ranges only = { .carry = *range };
    struct sw_chunk *chunk = sw_codemap_get(map, sw_chunk_bytes(&only, SW_CHUNK_SPAN));
    if (chunk)
        sw_chunk_pack(chunk, &only, SW_CHUNK_SPAN, 0, range->begin);
    return (uintptr_t)chunk;
}

static void plan_edit(struct plan *plan, sw_slot *slots, unsigned count, uintptr_t value)
{
    assert(plan->count < EDITS_MAX);
    plan->edit[plan->count++] = (struct edit){ slots, count, value };
}

static void plan_abort(struct plan *plan)
{
    for (unsigned i = 0; i < plan->count; i++)
        if (plan->edit[i].value != plan->span)
            sw_codemap_put_chunk(plan->map, plan->edit[i].value);
    sw_codemap_put_chunk(plan->map, plan->span);
}

/* Publishes. The old values are retired, each once: a span may have been in many slots. */
static void plan_commit(const struct plan *plan)
{
    uintptr_t old_span = 0;
    for (unsigned i = 0; i < plan->count; i++) {
        const struct edit *edit = &plan->edit[i];
        const uintptr_t old = sw_slot_load(edit->slots);
        sw_slots_store(edit->slots, edit->count, edit->value);
        if (sw_is_span(old))
            old_span = old;
        else
            sw_codemap_retire_chunk(plan->map, old);
    }
    sw_codemap_retire_chunk(plan->map, old_span);
}

/*
 * The number of slots from `place` on that hold the same value and lie wholly below `end`. The first begins at `from`.
 */
static unsigned equal_slots(const struct sw_place *place, uint64_t from, uint64_t end)
{
    const unsigned left = (1u << sw_node_order(place->shift)) - place->index;
    const uint64_t whole = place->shift < 64 ? (end - from) >> place->shift : 0;
    const unsigned most = whole < left ? (unsigned)whole : left;
    const sw_slot *slots = &place->slots[place->index];
    unsigned count = 0;
    while (count < most && sw_slot_load(&slots[count]) == place->value)
        count++;
    return count;
}

/* Adds the range to the ranges of one chunk: among them where it begins, else as the carry. */
static void insert_range(struct sw_ranges *ranges, const struct sw_range *range, uint64_t at)
{
    if (at != range->begin) {
        ranges->carry = *range;
        return;
    }
    assert(ranges->count < SW_CHUNK_MAX);
    unsigned i = ranges->count++;
    for (; i && ranges->at[i - 1].begin > range->begin; i--)
        ranges->at[i] = ranges->at[i - 1];
    ranges->at[i] = *range;
}

static void remove_range(struct sw_ranges *ranges, const struct sw_range *range, uint64_t at)
{
    if (at != range->begin) {
        ranges->carry.kind = SW_KIND_NONE;
        return;
    }
    unsigned i = 0;
    while (ranges->at[i].begin != range->begin)
        i++;
    for (ranges->count--; i < ranges->count; i++)
        ranges->at[i] = ranges->at[i + 1];
}

/*
 * Plans the change of one place. at: where the range begins, or the first address not yet planned. *last receives the
 * last address that is done. False: no memory.
 */
static bool plan_add_at(struct plan *plan, const struct sw_place *place, uint64_t at, uint64_t *last)
{
    const bool begins = at == plan->range->begin;
    const unsigned run = place->value || begins ? 0 : equal_slots(place, at, plan->range->end);
    if (run) {
        if (!plan->span && !(plan->span = make_span(plan->map, plan->range)))
            return false;
        plan_edit(plan, &place->slots[place->index], run, plan->span);
        *last = at + ((uint64_t)run << place->shift) - 1;
        return true;
    }
    const unsigned order = sw_place_order(place, begins ? 0 : place->index);
    const unsigned bits = place->shift + order;
    struct sw_ranges ranges;
    uintptr_t value;
    sw_place_unpack(place, at, &ranges);
    insert_range(&ranges, plan->range, at);
    if (!sw_codemap_chunk(plan->map, &ranges, bits, at, &value))
        return false;
    plan_edit(plan, sw_place_block(place, order), 1u << order, value);
    *last = at | sw_region_mask(bits);
    return true;
}

static bool plan_remove_at(struct plan *plan, const struct sw_place *place, uint64_t at, uint64_t *last)
{
    if (sw_is_span(place->value)) {
        const unsigned run = equal_slots(place, at, plan->range->end);
        plan_edit(plan, &place->slots[place->index], run, 0);
        *last = at + ((uint64_t)run << place->shift) - 1;
        return true;
    }
    const unsigned order = sw_place_order(place, 0);
    struct sw_ranges ranges;
    uintptr_t value;
    sw_place_unpack(place, at, &ranges);
    remove_range(&ranges, plan->range, at);
    if (!sw_codemap_chunk(plan->map, &ranges, place->shift + order, at, &value))
        return false;
    plan_edit(plan, sw_place_block(place, order), 1u << order, value);
    *last = at | sw_region_mask(place->shift + order);
    return true;
}

typedef bool plan_at_fn(struct plan *plan, const struct sw_place *place, uint64_t at, uint64_t *last);

/* Plans every place that the range touches, from its begin up. Then publishes, or undoes. */
static enum sw_status change(struct sw_codemap *map, const struct sw_range *range, plan_at_fn *plan_at)
{
    struct plan plan; /* its edits are not zeroed: that took longer than the rest of this function */
    plan.map = map;
    plan.range = range;
    plan.span = 0;
    plan.count = 0;
    uint64_t last = range->begin - 1;
    do {
        struct sw_place place;
        const uint64_t at = last + 1;
        const bool inside = sw_codemap_locate(map, at, &place);
        assert(inside);
        (void)inside;
        if (!plan_at(&plan, &place, at, &last)) {
            plan_abort(&plan);
            return SW_E_NO_MEMORY;
        }
    } while (last < range->end - 1);
    plan_commit(&plan);
    return SW_OK;
}

enum sw_status sw_codemap_insert(struct sw_codemap *map, const struct sw_range *range)
{
    struct sw_range other;
    if (sw_codemap_find_inside(map, range->begin, &other) || sw_codemap_next(map, range->begin, range->end - 1, &other))
        return SW_E_OVERLAP;
    if (!sw_codemap_make_room(map, range))
        return SW_E_NO_MEMORY;
    const enum sw_status status = change(map, range, plan_add_at);
    if (status == SW_OK)
        atomic_fetch_add_explicit(&map->count, 1, memory_order_relaxed);
    return status;
}

enum sw_status sw_codemap_erase(struct sw_codemap *map, uint64_t begin, struct sw_range *removed)
{
    if (!sw_codemap_find_inside(map, begin, removed) || removed->begin != begin)
        return SW_E_NOT_FOUND;
    const enum sw_status status = change(map, removed, plan_remove_at);
    if (status != SW_OK)
        return status;
    atomic_fetch_sub_explicit(&map->count, 1, memory_order_relaxed);
    sw_codemap_compact(map, removed->begin);
    sw_codemap_compact(map, removed->end - 1);
    return SW_OK;
}
