/*
 * The readers of the code map. Knows how to descend the tree (tree.h) while a writer changes it; refuses to know how it
 * is changed (insert.c, rebalance.c) and how ranges are packed (chunk.c).
 *
 * Readers are wait-free: a find is one announcement (common/reclaim.h), one load per level, at most 8, and one bounded
 * search in a chunk, which never changes.
 */
#include "code/map/tree.h"

void sw_codemap_enter(const struct sw_codemap *map, struct sw_section *section)
{
    sw_reclaim_enter(map->reclaim, section);
}

void sw_codemap_leave(const struct sw_codemap *map, struct sw_section *section)
{
    sw_reclaim_leave(map->reclaim, section);
}

/* Descends the levels below a page, which only very dense code has. */
static uintptr_t find_below_page(uintptr_t value, uint64_t address)
{
    while (sw_is_node(value)) {
        const struct sw_node *node = sw_node_of(value);
        value = sw_slot_load(&node->slot[sw_slot_index(address, node->shift)]);
    }
    return value;
}

/* From page size up all levels have the same width, so only the root's shift has to be read. */
static inline __attribute__((always_inline)) bool find(const struct sw_codemap *map, uint64_t address,
                                                       struct sw_range *range)
{
    uintptr_t value = sw_slot_load(&map->root);
    if (sw_is_node(value)) {
        const struct sw_node *root = sw_node_of(value);
        if (!sw_node_holds(root, address))
            return false;
        for (unsigned shift = root->shift; sw_is_node(value) && shift >= SW_PAGE_SHIFT; shift -= SW_LARGE_BITS)
            value = sw_slot_load(&sw_node_of(value)->slot[(address >> shift) % (1 << SW_LARGE_BITS)]);
        if (sw_is_node(value))
            value = find_below_page(value, address);
    }
    if (!value)
        return false;
    sw_chunk_prefetch(sw_chunk_of(value));
    return sw_chunk_find(sw_chunk_of(value), address, range);
}

bool sw_codemap_find_inside(const struct sw_codemap *map, uint64_t address, struct sw_range *range)
{
    return find(map, address, range);
}

enum sw_status sw_codemap_find(const struct sw_codemap *map, uint64_t address, struct sw_range *range)
{
    if (!map)
        return SW_E_ARGUMENT;
    struct sw_range unwanted;
    struct sw_reclaim *reclaim = map->reclaim;
    struct sw_section section;
    sw_reclaim_enter(reclaim, &section);
    const bool found = find(map, address, range ? range : &unwanted);
    sw_reclaim_leave(reclaim, &section);
    return found ? SW_OK : SW_E_NOT_FOUND;
}

bool sw_codemap_locate(const struct sw_codemap *map, uint64_t address, struct sw_place *place)
{
    sw_slot *root = (sw_slot *)(uintptr_t)&map->root;
    *place = (struct sw_place){ .slots = root, .shift = 64, .value = sw_slot_load(root) };
    while (sw_is_node(place->value)) {
        struct sw_node *node = sw_node_of(place->value);
        const unsigned index = sw_slot_index(address, node->shift);
        *place = (struct sw_place){ .node = node,
                                    .slots = node->slot,
                                    .home = &place->slots[place->index],
                                    .index = index,
                                    .shift = node->shift,
                                    .value = 0 };
        if (!sw_node_holds(node, address))
            return false;
        place->value = sw_slot_load(&node->slot[index]);
    }
    return true;
}

/* The last address of the empty slots from this one on. There are hundreds in a row around a huge range. */
static uint64_t last_of_empty(const struct sw_place *place, uint64_t address)
{
    const unsigned more = (1u << sw_node_order(place->shift)) - 1 - place->index;
    const sw_slot *slots = &place->slots[place->index];
    unsigned n = 0;
    while (n < more && !sw_slot_load(&slots[n + 1]))
        n++;
    return (address | sw_region_mask(place->shift)) + ((uint64_t)n << place->shift % 64);
}

/* The last address of the region that a place answers for; `address` lies in it. */
static uint64_t last_of(const struct sw_place *place, uint64_t address)
{
    if (!place->value)
        return last_of_empty(place, address);
    const struct sw_chunk *chunk = sw_chunk_of(place->value);
    return address | sw_region_mask(chunk->layout == SW_CHUNK_SPAN ? place->shift : chunk->bits);
}

bool sw_codemap_next(const struct sw_codemap *map, uint64_t from, uint64_t last, struct sw_range *range)
{
    while (from <= last) {
        struct sw_place place;
        if (!sw_codemap_locate(map, from, &place)) {
            if (from > place.node->base)
                return false;
            from = place.node->base;
            continue;
        }
        if (place.value && sw_chunk_first_from(sw_chunk_of(place.value), from, range))
            return range->begin <= last;
        from = last_of(&place, from) + 1;
        if (from == 0)
            return false;
    }
    return false;
}

enum sw_status sw_codemap_each(const struct sw_codemap *map, bool (*each)(void *arg, const struct sw_range *range),
                               void *arg)
{
    if (!map || !each)
        return SW_E_ARGUMENT;
    struct sw_range range;
    struct sw_section section;
    sw_reclaim_enter(map->reclaim, &section);
    for (uint64_t from = 0; sw_codemap_next(map, from, UINT64_MAX, &range); from = range.end)
        if (!each(arg, &range))
            break;
    sw_reclaim_leave(map->reclaim, &section);
    return SW_OK;
}
