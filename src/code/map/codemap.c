/*
 * The code map: its public calls and its readers. Knows how to come down the tree (codemap/tree.h) while somebody
 * else changes it; refuses to know how it is changed (codemap/edit.c) and how ranges are packed (codemap/chunk.c).
 *
 * Readers are wait-free: a find is one announcement (grace.h), one load per level, at most 8, and one bounded search
 * in a chunk that cannot change.
 */
#include "code/map/codemap.h"
#include "common/alloc.h"
#include "code/map/tree.h"

void *sw_codemap_get(struct sw_codemap *map, size_t size)
{
    return sw_blocks_get(&map->blocks, size);
}

void sw_codemap_put(struct sw_codemap *map, void *body)
{
    sw_blocks_put(&map->blocks, body);
}

void sw_codemap_retire(struct sw_codemap *map, void *body)
{
    sw_reclaim_retire(map->grace, sw_blocks_retired(body));
}

static void release(void *arg, struct sw_retired *retired)
{
    struct sw_codemap *map = arg;
    sw_blocks_put(&map->blocks, sw_blocks_body(retired));
}

enum sw_status sw_codemap_create(const struct sw_alloc *alloc, struct sw_codemap **map)
{
    if (!map || !sw_alloc_usable(alloc))
        return SW_E_ARGUMENT;
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    struct sw_codemap *made = from.get(from.arg, sizeof *made);
    if (!made)
        return SW_E_NO_MEMORY;
    made->grace = from.get(from.arg, sizeof *made->grace);
    if (!made->grace) {
        from.put(from.arg, made, sizeof *made);
        return SW_E_NO_MEMORY;
    }
    sw_blocks_init(&made->blocks, &from);
    sw_reclaim_init(made->grace, release, made);
    atomic_init(&made->root, 0);
    atomic_init(&made->count, 0);
    atomic_init(&made->generation, 0);
    for (unsigned i = 0; i < SW_CHANGES; i++)
        atomic_init(&made->changes[i], 0);
    atomic_flag_clear(&made->writing);
    *map = made;
    return SW_OK;
}

void sw_codemap_destroy(struct sw_codemap *map)
{
    if (!map)
        return;
    sw_codemap_clear(map);
    const struct sw_alloc from = map->blocks.alloc;
    from.put(from.arg, map->grace, sizeof *map->grace);
    from.put(from.arg, map, sizeof *map);
}

static enum sw_status check(const struct sw_range *range)
{
    const uint16_t known_flags = SW_RANGE_HIDDEN | SW_RANGE_EH_DISPATCH | SW_RANGE_FUNCLET | SW_RANGE_FILTER;
    if (!range || range->kind == SW_KIND_NONE || range->kind > SW_KIND_NATIVE || range->unwind > SW_UNWIND_FOREIGN)
        return SW_E_ARGUMENT;
    if ((range->flags & ~known_flags) != 0)
        return SW_E_ARGUMENT;
    if ((range->kind == SW_KIND_JIT || range->kind == SW_KIND_NGEN) && range->id == 0)
        return SW_E_ARGUMENT;
    if (range->begin == range->end)
        return SW_E_EMPTY;
    return range->begin > range->end ? SW_E_WRAPS : SW_OK;
}

static bool begin_writing(struct sw_codemap *map)
{
    return !atomic_flag_test_and_set_explicit(&map->writing, memory_order_acquire);
}

/* Told of every piece that the range touches, of each number once. */
static void note_change(struct sw_codemap *map, unsigned kind, const struct sw_range *range, uint64_t generation)
{
    const uint64_t first = range->begin >> SW_PIECE_SHIFT;
    const uint64_t last = (range->end - 1) >> SW_PIECE_SHIFT;
    for (uint64_t piece = first; piece <= last && piece - first < SW_PIECES; piece++)
        atomic_store_explicit(&map->changes[kind + piece % SW_PIECES], generation, memory_order_seq_cst);
    atomic_store_explicit(&map->changes[kind + SW_PIECES], generation, memory_order_seq_cst);
}

/* The generation moves after the change: what was found before it under the old number is then known to be old. */
static void end_writing(struct sw_codemap *map, enum sw_status status, unsigned kind, const struct sw_range *range)
{
    if (status == SW_OK) {
        note_change(map, kind, range, atomic_load_explicit(&map->generation, memory_order_relaxed) + 1);
        atomic_fetch_add_explicit(&map->generation, 1, memory_order_seq_cst);
    }
    sw_reclaim_poll(map->grace);
    atomic_flag_clear_explicit(&map->writing, memory_order_release);
}

enum sw_status sw_codemap_add(struct sw_codemap *map, const struct sw_range *range)
{
    if (!map)
        return SW_E_ARGUMENT;
    enum sw_status status = check(range);
    if (status != SW_OK)
        return status;
    if (!begin_writing(map))
        return SW_E_BUSY;
    status = sw_codemap_insert(map, range);
    end_writing(map, status, SW_ADDED, range);
    return status;
}

enum sw_status sw_codemap_remove(struct sw_codemap *map, uint64_t begin)
{
    struct sw_range gone;
    if (!map)
        return SW_E_ARGUMENT;
    if (!begin_writing(map))
        return SW_E_BUSY;
    const enum sw_status status = sw_codemap_erase(map, begin, &gone);
    end_writing(map, status, SW_REMOVED, &gone);
    return status;
}

uint32_t sw_codemap_enter(const struct sw_codemap *map)
{
    return sw_reclaim_enter(map->grace);
}

void sw_codemap_leave(const struct sw_codemap *map, uint32_t ticket)
{
    sw_reclaim_leave(map->grace, ticket);
}

/* Down the levels below a page, which only very dense code has. */
static uintptr_t find_below_page(uintptr_t value, uint64_t address)
{
    while (sw_is_node(value)) {
        const struct sw_node *node = sw_node_of(value);
        value = sw_slot_load(&node->slot[sw_slot_index(address, node->shift)]);
    }
    return value;
}

/* From page size up all levels are alike, so that no node but the root is asked for its shift. */
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
    sw_chunk_expect(sw_chunk_of(value));
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
    struct sw_reclaim *grace = map->grace;
    const uint32_t ticket = sw_reclaim_enter(grace);
    const bool found = find(map, address, range ? range : &unwanted);
    sw_reclaim_leave(grace, ticket);
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

/* The last address that this place answers for, when it was asked about `address`. */
static uint64_t last_of(const struct sw_place *place, uint64_t address)
{
    if (!place->value)
        return address | sw_region_mask(place->shift);
    const struct sw_chunk *chunk = sw_chunk_of(place->value);
    return address | sw_region_mask(chunk->form == SW_CHUNK_SPAN ? place->shift : chunk->bits);
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
    const uint32_t ticket = sw_reclaim_enter(map->grace);
    for (uint64_t from = 0; sw_codemap_next(map, from, UINT64_MAX, &range); from = range.end)
        if (!each(arg, &range))
            break;
    sw_reclaim_leave(map->grace, ticket);
    return SW_OK;
}

uint64_t sw_codemap_count(const struct sw_codemap *map)
{
    return map ? atomic_load_explicit(&map->count, memory_order_relaxed) : 0;
}

uint64_t sw_codemap_bytes(const struct sw_codemap *map)
{
    if (!map)
        return 0;
    return sizeof *map + sizeof *map->grace + atomic_load_explicit(&map->blocks.bytes, memory_order_relaxed);
}

uint64_t sw_codemap_generation(const struct sw_codemap *map)
{
    return map ? atomic_load_explicit(&map->generation, memory_order_seq_cst) : 0;
}

const _Atomic uint64_t *sw_codemap_changes(const struct sw_codemap *map)
{
    return map->changes;
}
