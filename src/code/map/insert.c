/*
 * Adding to and removing from the code map. Refuses to know how ranges are packed, how the tree keeps its shape
 * (codemap/shape.c), and when memory may really be given back.
 *
 * A change has two halves. First everything new is allocated, in a plan; if that fails, the new blocks are put back
 * and nothing has happened. Then the slots are stored, which cannot fail.
 */
#include "code/map/codemap.h"
#include "code/map/tree.h"

#include <assert.h>

/* Store `value` in `count` slots from `slots`. */
struct edit {
    sw_slot *slots;
    unsigned count;
    uintptr_t value;
};

/*
 * A range touches the chunk it begins in and the one it ends in; on each level at most one run of its span
 * on its left and on its right side; and chunks that hold nothing but it as their carry. These come from splitting the
 * chunk it ends in, each time at most one, the lower half; so there is at most one of each of 64 sizes.
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

static void plan_drop(struct plan *plan)
{
    for (unsigned i = 0; i < plan->count; i++)
        if (plan->edit[i].value != plan->span)
            sw_codemap_put_chunk(plan->map, plan->edit[i].value);
    sw_codemap_put_chunk(plan->map, plan->span);
}

/* Publishes. What stood in the slots before is retired: once, though a span may have been in many places. */
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

/* How many slots from `place` on, the first of which begins at `from`, hold the same and lie wholly below `end`. */
static unsigned alike(const struct sw_place *place, uint64_t from, uint64_t end)
{
    const unsigned left = (1u << sw_node_order(place->shift)) - place->index;
    const uint64_t mask = sw_region_mask(place->shift);
    const sw_slot *slots = &place->slots[place->index];
    unsigned count = 0;
    for (; count < left && end - from > mask && sw_slot_load(&slots[count]) == place->value; from += mask + 1)
        count++;
    return count;
}

/* Puts the range into the ranges of one chunk: among them where it begins, as the carry elsewhere. */
static void put_in(struct sw_ranges *ranges, const struct sw_range *range, uint64_t at)
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

static void take_out(struct sw_ranges *ranges, const struct sw_range *range, uint64_t at)
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
 * Plans what happens at one place: `at` is the begin of the range, or the first address of what comes next. Leaves the
 * last address that is done with in *last. False: no memory.
 */
static bool plan_add_at(struct plan *plan, const struct sw_place *place, uint64_t at, uint64_t *last)
{
    const bool begins = at == plan->range->begin;
    const unsigned run = place->value || begins ? 0 : alike(place, at, plan->range->end);
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
    put_in(&ranges, plan->range, at);
    if (!sw_codemap_chunk(plan->map, &ranges, bits, at, &value))
        return false;
    plan_edit(plan, sw_place_block(place, order), 1u << order, value);
    *last = at | sw_region_mask(bits);
    return true;
}

static bool plan_remove_at(struct plan *plan, const struct sw_place *place, uint64_t at, uint64_t *last)
{
    if (sw_is_span(place->value)) {
        const unsigned run = alike(place, at, plan->range->end);
        plan_edit(plan, &place->slots[place->index], run, 0);
        *last = at + ((uint64_t)run << place->shift) - 1;
        return true;
    }
    const unsigned order = sw_place_order(place, 0);
    struct sw_ranges ranges;
    uintptr_t value;
    sw_place_unpack(place, at, &ranges);
    take_out(&ranges, plan->range, at);
    if (!sw_codemap_chunk(plan->map, &ranges, place->shift + order, at, &value))
        return false;
    plan_edit(plan, sw_place_block(place, order), 1u << order, value);
    *last = at | sw_region_mask(place->shift + order);
    return true;
}

typedef bool plan_at_fn(struct plan *plan, const struct sw_place *place, uint64_t at, uint64_t *last);

/* Goes through every place that the range touches, from its begin up; then publishes, or undoes. */
static enum sw_status change(struct sw_codemap *map, const struct sw_range *range, plan_at_fn *plan_at)
{
    struct plan plan; /* its edits are not made empty: that took longer than all else that is done here */
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
            plan_drop(&plan);
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

enum sw_status sw_codemap_erase(struct sw_codemap *map, uint64_t begin, struct sw_range *gone)
{
    if (!sw_codemap_find_inside(map, begin, gone) || gone->begin != begin)
        return SW_E_NOT_FOUND;
    const enum sw_status status = change(map, gone, plan_remove_at);
    if (status != SW_OK)
        return status;
    atomic_fetch_sub_explicit(&map->count, 1, memory_order_relaxed);
    sw_codemap_tidy(map, gone->begin);
    sw_codemap_tidy(map, gone->end - 1);
    return SW_OK;
}
