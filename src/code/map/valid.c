/*
 * What always holds of the code map: the invariants of tree.h, as a walk over all of it. Asserted in builds for tests
 * (make ASSERTS=1), not there in others. No writer may be inside.
 */
#include "code/map/tree.h"

#ifndef NDEBUG

static bool is_range(const struct sw_range *range)
{
    return range->kind != SW_KIND_NONE && range->kind <= SW_KIND_NATIVE && range->begin < range->end;
}

bool sw_ranges_are_valid(const struct sw_ranges *ranges, unsigned bits, uint64_t address)
{
    const uint64_t mask = sw_region_mask(bits), base = address & ~mask;
    const bool has_carry = ranges->carry.kind != SW_KIND_NONE;
    uint64_t behind = has_carry ? ranges->carry.end : base;
    if (ranges->count > SW_CHUNK_MAX || (has_carry && (!is_range(&ranges->carry) || behind <= base)))
        return false;
    for (unsigned i = 0; i < ranges->count; i++) {
        const struct sw_range *range = &ranges->at[i];
        if (!is_range(range) || range->begin < behind || range->begin - base > mask)
            return false;
        behind = range->end;
    }
    return true;
}

/* Ranges that begin in the chunk of the region, or UINT64_MAX: it is not what it should be. */
static uint64_t count_chunk(const struct sw_chunk *chunk, uint64_t address)
{
    struct sw_ranges ranges;
    if (chunk->layout == SW_CHUNK_SPAN)
        return chunk->count == 0 && chunk->has_carry ? 0 : UINT64_MAX;
    sw_chunk_unpack(chunk, address, &ranges);
    const bool is_empty = ranges.count == 0 && ranges.carry.kind == SW_KIND_NONE;
    return !is_empty && sw_ranges_are_valid(&ranges, chunk->bits, address) ? ranges.count : UINT64_MAX;
}

/* How many slots from `i` on are the chunk's: all of its region hold it. 0: they do not. */
static unsigned slots_of(const struct sw_node *node, unsigned i)
{
    const uintptr_t value = sw_slot_load(&node->slot[i]);
    const unsigned bits = sw_chunk_of(value)->bits;
    if (sw_is_span(value))
        return 1;
    const unsigned count =
        bits >= node->shift && bits - node->shift <= sw_node_order(node->shift) ? 1u << (bits - node->shift) : 0;
    for (unsigned k = 0; k < count; k++)
        if (i % count != 0 || sw_slot_load(&node->slot[i + k]) != value)
            return 0;
    return count;
}

static bool is_below(const struct sw_node *node, const struct sw_node *above)
{
    return node->mask == sw_region_mask(node->shift + sw_node_order(node->shift)) && (node->base & node->mask) == 0 &&
           (!above || (node->shift == sw_shift_below(above->shift) && sw_node_holds(above, node->base)));
}

/* Ranges that begin below a node, or UINT64_MAX. The depth is that of the tree: at most SW_LEVELS. */
static uint64_t count_node(const struct sw_node *node, const struct sw_node *above)
{
    const unsigned slots = 1u << sw_node_order(node->shift);
    uint64_t count = 0;
    bool is_empty = true;
    if (!is_below(node, above))
        return UINT64_MAX;
    for (unsigned i = 0, step = 1; i < slots; i += step) {
        const uintptr_t value = sw_slot_load(&node->slot[i]);
        const uint64_t address = node->base + ((uint64_t)i << node->shift);
        step = value && !sw_is_node(value) ? slots_of(node, i) : 1;
        const uint64_t here = !value              ? 0
                              : sw_is_node(value) ? count_node(sw_node_of(value), node)
                                                  : count_chunk(sw_chunk_of(value), address);
        if (step == 0 || here == UINT64_MAX)
            return UINT64_MAX;
        count += here;
        is_empty &= value == 0;
    }
    return is_empty ? UINT64_MAX : count;
}

bool sw_codemap_is_valid(const struct sw_codemap *map)
{
    const uintptr_t root = sw_slot_load(&map->root);
    const uint64_t count = !root              ? 0
                           : sw_is_node(root) ? count_node(sw_node_of(root), NULL)
                                              : count_chunk(sw_chunk_of(root), 0);
    return count == atomic_load(&map->count);
}

#endif
