/*
 * The shape of the code map's tree: makes room before a range is added, takes it back after one is removed, gives
 * everything back at the end. Keeps the invariants of codemap/tree.h; never changes which ranges there are, so every
 * step can be published on its own, and one that fails for want of memory leaves the map as good as it was.
 */
#include "code/map/tree.h"

/* Puts `value` in `count` slots, under the eyes of readers. */
void sw_slots_store(sw_slot *slots, unsigned count, uintptr_t value)
{
    for (unsigned i = 0; i < count; i++)
        atomic_store_explicit(&slots[i], value, memory_order_seq_cst);
}

/* A chunk with these ranges, or 0 where there are none. False: no memory. */
bool sw_codemap_chunk(struct sw_codemap *map, const struct sw_ranges *ranges, unsigned bits, uint64_t address,
                      uintptr_t *value)
{
    *value = 0;
    if (!ranges->count && !ranges->carry.kind)
        return true;
    const enum sw_chunk_form form = sw_chunk_form_for(ranges, bits);
    struct sw_chunk *chunk = sw_codemap_get(map, sw_chunk_bytes(ranges, form));
    if (!chunk)
        return false;
    sw_chunk_pack(chunk, ranges, form, bits, address);
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

/* Ranges at a place; none when the slot is empty. */
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

/* The largest aligned block of empty slots around the empty one at `place` that begins at `first` or above: log2. */
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

/* log2 of the number of slots of the block at `place`, which is empty or a chunk. */
unsigned sw_place_order(const struct sw_place *place, unsigned first)
{
    return place->value ? sw_chunk_of(place->value)->bits - place->shift : empty_order(place, first);
}

sw_slot *sw_place_block(const struct sw_place *place, unsigned order)
{
    return &place->slots[place->index & ~((1u << order) - 1)];
}

/* A node around `address` with all slots alike; null: no memory. */
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

/* Replaces a full root chunk by a node just large enough for its ranges and one that comes. */
static bool plant(struct sw_codemap *map, uintptr_t full, const struct sw_range *range)
{
    struct sw_ranges ranges;
    sw_chunk_unpack(sw_chunk_of(full), 0, &ranges);
    const uint64_t apart = (ranges.at[0].begin ^ (ranges.at[ranges.count - 1].end - 1)) |
                           (ranges.at[0].begin ^ range->begin) | (ranges.at[0].begin ^ (range->end - 1));
    unsigned shift = 0;
    while (apart >> shift >> sw_node_order(shift))
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

/* Puts levels above the root until its region holds the whole range. */
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

/* Gives a full chunk that has one slot a node of its own, which it fills. */
static bool sink(struct sw_codemap *map, const struct sw_place *place, uint64_t address)
{
    struct sw_node *node = make_node(map, address, sw_shift_below(place->shift), place->value);
    if (!node)
        return false;
    sw_slots_store(&place->slots[place->index], 1, (uintptr_t)node + 1);
    return true;
}

/* The ranges of both halves of a region; what reaches from the lower one into the upper one is carried there. */
static void divide(const struct sw_ranges *all, uint64_t middle, struct sw_ranges half[2])
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
    divide(&all, middle, half);
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

/* Sees to it that the range can be added where it begins. */
bool sw_codemap_make_room(struct sw_codemap *map, const struct sw_range *range)
{
    struct sw_place place;
    for (;;) {
        if (!raise_root(map, range) || !sw_codemap_locate(map, range->begin, &place))
            return false;
        if (place.value)
            sw_blocks_expect(sw_chunk_of(place.value));
        if (!place.value || sw_chunk_of(place.value)->count < SW_CHUNK_MAX)
            return true;
        bool done;
        if (!place.node)
            done = plant(map, place.value, range);
        else if (sw_place_order(&place, 0) == 0)
            done = sink(map, &place, range->begin);
        else
            done = split(map, &place, range->begin);
        if (!done)
            return false;
    }
}

/* Puts what fills a whole node (one chunk, or nothing) in its place. False: no memory, or the root is reached. */
static bool lift(struct sw_codemap *map, const struct sw_place *place, uint64_t address)
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

/* Joins a block with its neighbour when both together have few ranges. False: they stay as they are. */
static bool join(struct sw_codemap *map, const struct sw_place *place, uint64_t address, unsigned order)
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

/* The only slot of a node that is in use; 0 when there are several. */
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

/* Takes away top levels that have only one slot in use, and that a node. */
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
 * Joins and lifts around an address where something was removed. Stops early without harm when memory is short. Only
 * where a slot of the root is empty now, there can be one slot in use where there were more.
 */
void sw_codemap_tidy(struct sw_codemap *map, uint64_t address)
{
    struct sw_place place;
    bool more = true;
    while (more && sw_codemap_locate(map, address, &place) && place.node && !sw_is_span(place.value)) {
        const unsigned order = sw_place_order(&place, 0);
        more = order == sw_node_order(place.shift) ? lift(map, &place, address) : join(map, &place, address, order);
    }
    if (place.home == &map->root && !place.value)
        lower_root(map);
}

/* Retires what the slots hold; a chunk that is in several of them once. */
static void clear(struct sw_codemap *map, const sw_slot *slots, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const uintptr_t value = sw_slot_load(&slots[i]);
        if (sw_is_node(value)) {
            clear(map, sw_node_of(value)->slot, 1u << sw_node_order(sw_node_of(value)->shift));
            sw_codemap_retire(map, sw_node_of(value));
        } else if (value && sw_chunk_of(value)->form != SW_CHUNK_CLEARED) {
            sw_chunk_of(value)->form = SW_CHUNK_CLEARED;
            sw_codemap_retire_chunk(map, value);
        }
    }
}

void sw_codemap_clear(struct sw_codemap *map)
{
    clear(map, &map->root, 1);
    sw_reclaim_flush(map->grace);
}
