/*
 * Keeps the shape of the code map's tree: makes room before a range is added, joins chunks after one is removed, frees
 * everything at the end. Keeps the invariants of tree.h. Never changes which ranges there are, so every step can be
 * published by itself, and a step that fails for lack of memory leaves the map intact.
 */
#include "code/map/tree.h"

void sw_slots_store(sw_slot *slots, unsigned count, uintptr_t value)
{
    for (unsigned i = 0; i < count; i++)
        atomic_store_explicit(&slots[i], value, memory_order_seq_cst);
}

bool sw_codemap_chunk(struct sw_codemap *map, const struct sw_ranges *ranges, unsigned bits, uint64_t address,
                      uintptr_t *value)
{
    *value = 0;
    assert(sw_ranges_are_valid(ranges, bits, address));
    if (!ranges->count && !ranges->carry.kind)
        return true;
    const enum sw_chunk_layout layout = sw_chunk_layout_for(ranges, bits);
    struct sw_chunk *chunk = sw_codemap_get(map, sw_chunk_bytes(ranges, layout));
    if (!chunk)
        return false;
    sw_chunk_pack(chunk, ranges, layout, bits, address);
    *value = (uintptr_t)chunk;
    return true;
}

void sw_codemap_put_chunk(struct sw_codemap *map, uintptr_t value)
{
    if (value)
        sw_codemap_put(map, sw_chunk_of(value));
}

void sw_codemap_retire_chunk(struct sw_codemap *map, uintptr_t value)
{
    if (value)
        sw_codemap_retire(map, sw_chunk_of(value));
}

void sw_place_unpack(const struct sw_place *place, uint64_t address, struct sw_ranges *ranges)
{
    ranges->count = 0;
    ranges->carry.kind = SW_KIND_NONE;
    if (place->value)
        sw_chunk_unpack(sw_chunk_of(place->value), address, ranges);
}

static bool all_empty(const sw_slot *slots, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (sw_slot_load(&slots[i]))
            return false;
    return true;
}

/* The largest aligned block of empty slots around the empty one at `place`, from slot `first` up: log2 of its size. */
static unsigned empty_order(const struct sw_place *place, unsigned first)
{
    unsigned order = 0;
    while (order < sw_node_order(place->shift)) {
        const unsigned size = 2u << order;
        const unsigned low = place->index & ~(size - 1);
        if (low < first || !all_empty(&place->slots[low], size))
            break;
        order++;
    }
    return order;
}

unsigned sw_place_order(const struct sw_place *place, unsigned first)
{
    return place->value ? sw_chunk_of(place->value)->bits - place->shift : empty_order(place, first);
}

sw_slot *sw_place_block(const struct sw_place *place, unsigned order)
{
    return &place->slots[place->index & ~((1u << order) - 1)];
}

/* A node around `address`, all slots set to `value`; null: no memory. */
static struct sw_node *make_node(struct sw_codemap *map, uint64_t address, unsigned shift, uintptr_t value)
{
    const unsigned slots = 1u << sw_node_order(shift);
    struct sw_node *node = sw_codemap_get(map, sizeof *node + slots * sizeof node->slot[0]);
    if (!node)
        return NULL;
    node->mask = sw_region_mask(shift + sw_node_order(shift));
    node->base = address & ~node->mask;
    node->shift = shift;
    for (unsigned i = 0; i < slots; i++)
        atomic_init(&node->slot[i], value);
    return node;
}

/* Replaces a full root chunk by a node just large enough for its ranges and the new one. */
static bool replace_root_chunk(struct sw_codemap *map, uintptr_t full, const struct sw_range *range)
{
    struct sw_ranges ranges;
    sw_chunk_unpack(sw_chunk_of(full), 0, &ranges);
    const uint64_t differing = (ranges.at[0].begin ^ (ranges.at[ranges.count - 1].end - 1)) |
                               (ranges.at[0].begin ^ range->begin) | (ranges.at[0].begin ^ (range->end - 1));
    unsigned shift = 0;
    while (differing >> shift >> sw_node_order(shift))
        shift += sw_node_order(shift);
    uintptr_t value;
    if (!sw_codemap_chunk(map, &ranges, shift + sw_node_order(shift), range->begin, &value))
        return false;
    struct sw_node *node = make_node(map, range->begin, shift, value);
    if (!node) {
        sw_codemap_put_chunk(map, value);
        return false;
    }
    sw_slots_store(&map->root, 1, (uintptr_t)node + 1);
    sw_codemap_retire_chunk(map, full);
    return true;
}

/* Adds levels above the root until its region holds the whole range. */
static bool raise_root(struct sw_codemap *map, const struct sw_range *range)
{
    for (;;) {
        const uintptr_t root = sw_slot_load(&map->root);
        if (!sw_is_node(root))
            return true;
        const struct sw_node *old = sw_node_of(root);
        if (sw_node_holds(old, range->begin) && sw_node_holds(old, range->end - 1))
            return true;
        struct sw_node *node = make_node(map, old->base, old->shift + sw_node_order(old->shift), 0);
        if (!node)
            return false;
        atomic_init(&node->slot[sw_slot_index(old->base, node->shift)], root);
        sw_slots_store(&map->root, 1, (uintptr_t)node + 1);
    }
}

/* Gives a full chunk with a single slot a node of its own, which it then fills. */
static bool push_down(struct sw_codemap *map, const struct sw_place *place, uint64_t address)
{
    struct sw_node *node = make_node(map, address, sw_shift_below(place->shift), place->value);
    if (!node)
        return false;
    sw_slots_store(&place->slots[place->index], 1, (uintptr_t)node + 1);
    return true;
}

/*
 * Divides ranges between the two halves of a region. A range that reaches from the lower into the upper half becomes
 * the carry there.
 */
static void divide_ranges(const struct sw_ranges *all, uint64_t middle, struct sw_ranges half[2])
{
    half[0].carry = all->carry;
    half[0].count = half[1].count = 0;
    const struct sw_range *below = &half[0].carry;
    for (unsigned i = 0; i < all->count; i++) {
        struct sw_ranges *to = &half[all->at[i].begin >= middle];
        to->at[to->count++] = all->at[i];
        if (to == &half[0])
            below = &all->at[i];
    }
    half[1].carry = *below;
    if (below->kind && below->end <= middle)
        half[1].carry.kind = SW_KIND_NONE;
}

/* Replaces a chunk of several slots by one for each half of them. */
static bool split(struct sw_codemap *map, const struct sw_place *place, uint64_t address)
{
    const unsigned order = sw_place_order(place, 0);
    const unsigned bits = place->shift + order - 1;
    const uint64_t middle = (address & ~sw_region_mask(bits + 1)) + (UINT64_C(1) << bits);
    struct sw_ranges all, half[2];
    uintptr_t value[2];
    sw_place_unpack(place, address, &all);
    divide_ranges(&all, middle, half);
    if (!sw_codemap_chunk(map, &half[0], bits, middle - 1, &value[0]))
        return false;
    if (!sw_codemap_chunk(map, &half[1], bits, middle, &value[1])) {
        sw_codemap_put_chunk(map, value[0]);
        return false;
    }
    sw_slot *block = sw_place_block(place, order);
    const unsigned size = 1u << (order - 1);
    sw_slots_store(block, size, value[0]);
    sw_slots_store(block + size, size, value[1]);
    sw_codemap_retire_chunk(map, place->value);
    return true;
}

bool sw_codemap_make_room(struct sw_codemap *map, const struct sw_range *range)
{
    struct sw_place place;
    for (;;) {
        if (!raise_root(map, range) || !sw_codemap_locate(map, range->begin, &place))
            return false;
        if (place.value)
            sw_blocks_prefetch(sw_chunk_of(place.value));
        if (!place.value || sw_chunk_of(place.value)->count < SW_CHUNK_MAX)
            return true;
        bool done;
        if (!place.node)
            done = replace_root_chunk(map, place.value, range);
        else if (sw_place_order(&place, 0) == 0)
            done = push_down(map, &place, range->begin);
        else
            done = split(map, &place, range->begin);
        if (!done)
            return false;
    }
}

/* Replaces a node that one chunk fills, or nothing, by its content. False: no memory, or the root is reached. */
static bool pull_up(struct sw_codemap *map, const struct sw_place *place, uint64_t address)
{
    uintptr_t value = place->value;
    if (value && place->home == &map->root) {
        struct sw_ranges ranges;
        sw_chunk_unpack(sw_chunk_of(value), address, &ranges);
        if (!sw_codemap_chunk(map, &ranges, 64, address, &value))
            return false;
        sw_codemap_retire_chunk(map, place->value);
    }
    sw_slots_store(place->home, 1, value);
    sw_codemap_retire(map, place->node);
    return true;
}

/* Merges a block with its neighbour when both together have few ranges. False: they stay as they are. */
static bool merge(struct sw_codemap *map, const struct sw_place *place, uint64_t address, unsigned order)
{
    const uint64_t beside = address ^ UINT64_C(1) << (place->shift + order);
    struct sw_place other = *place;
    other.index ^= 1u << order;
    other.value = sw_slot_load(&other.slots[other.index]);
    if (sw_is_node(other.value) || sw_is_span(other.value) || sw_place_order(&other, 0) != order)
        return false;
    struct sw_ranges ranges, upper;
    const bool swap = beside < address;
    sw_place_unpack(swap ? &other : place, swap ? beside : address, &ranges);
    sw_place_unpack(swap ? place : &other, swap ? address : beside, &upper);
    if (ranges.count + upper.count > SW_CHUNK_MAX / 2)
        return false;
    for (unsigned i = 0; i < upper.count; i++)
        ranges.at[ranges.count++] = upper.at[i];
    uintptr_t value;
    if (!sw_codemap_chunk(map, &ranges, place->shift + order + 1, address, &value))
        return false;
    sw_slots_store(sw_place_block(place, order + 1), 2u << order, value);
    sw_codemap_retire_chunk(map, place->value);
    sw_codemap_retire_chunk(map, other.value);
    return true;
}

/* The value of the only slot in use of a node; 0 when several are. */
static uintptr_t only_slot(const struct sw_node *node)
{
    uintptr_t only = 0;
    for (unsigned i = 0; i < 1u << sw_node_order(node->shift); i++) {
        const uintptr_t value = sw_slot_load(&node->slot[i]);
        if (value && only)
            return 0;
        only |= value;
    }
    return only;
}

/* Removes top levels in which one slot is in use and holds a node. */
static void lower_root(struct sw_codemap *map)
{
    for (;;) {
        const uintptr_t root = sw_slot_load(&map->root);
        const uintptr_t only = sw_is_node(root) ? only_slot(sw_node_of(root)) : 0;
        if (!sw_is_node(only))
            return;
        sw_slots_store(&map->root, 1, only);
        sw_codemap_retire(map, sw_node_of(root));
    }
}

/*
 * Merges and pulls up around an address where a range was removed. Stops early, without harm, when memory is short. The
 * root can have lost all but one used slot only if one of its slots is empty now.
 */
void sw_codemap_compact(struct sw_codemap *map, uint64_t address)
{
    struct sw_place place;
    bool more = true;
    while (more && sw_codemap_locate(map, address, &place) && place.node && !sw_is_span(place.value)) {
        const unsigned order = sw_place_order(&place, 0);
        more = order == sw_node_order(place.shift) ? pull_up(map, &place, address) : merge(map, &place, address, order);
    }
    if (place.home == &map->root && !place.value)
        lower_root(map);
}

/* Retires what the slots hold. A chunk in several slots is retired once. */
static void clear(struct sw_codemap *map, const sw_slot *slots, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const uintptr_t value = sw_slot_load(&slots[i]);
        if (sw_is_node(value)) {
            clear(map, sw_node_of(value)->slot, 1u << sw_node_order(sw_node_of(value)->shift));
            sw_codemap_retire(map, sw_node_of(value));
        } else if (value && sw_chunk_of(value)->layout != SW_CHUNK_CLEARED) {
            sw_chunk_of(value)->layout = SW_CHUNK_CLEARED;
            sw_codemap_retire_chunk(map, value);
        }
    }
}

void sw_codemap_clear(struct sw_codemap *map)
{
    clear(map, &map->root, 1);
    sw_reclaim_flush(map->reclaim);
}
