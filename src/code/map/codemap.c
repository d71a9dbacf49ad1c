/*
 * The code map's calls that create, change and count. Knows that one writer may be inside, and which generations a
 * change moves; refuses to know how the tree is read (find.c) and changed (insert.c, rebalance.c).
 */
#include "base/hot.h"
#include "code/map/codemap.h"
#include "common/alloc.h"
#include "code/map/tree.h"

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
    made->reclaim = from.get(from.arg, sizeof *made->reclaim);
    if (!made->reclaim) {
        from.put(from.arg, made, sizeof *made);
        return SW_E_NO_MEMORY;
    }
    sw_blocks_init(&made->blocks, &from);
    sw_reclaim_init(made->reclaim, release, made);
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
    assert(sw_codemap_is_valid(map));
    sw_codemap_clear(map);
    const struct sw_alloc from = map->blocks.alloc;
    from.put(from.arg, map->reclaim, sizeof *map->reclaim);
    from.put(from.arg, map, sizeof *map);
}

static enum sw_status check(const struct sw_range *range)
{
    const uint16_t known_flags = SW_RANGE_HIDDEN | SW_RANGE_EH_DISPATCH | SW_RANGE_FUNCLET | SW_RANGE_FILTER;
    if (!range || range->kind == SW_KIND_NONE || range->kind > SW_KIND_NATIVE || range->unwind > SW_UNWIND_CLR_WINDOWS)
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

/* Notes the change for every piece that the range touches, each number once. */
static void note_change(struct sw_codemap *map, unsigned kind, const struct sw_range *range, uint64_t generation)
{
    const uint64_t first = range->begin >> SW_PIECE_SHIFT;
    const uint64_t last = (range->end - 1) >> SW_PIECE_SHIFT;
    for (uint64_t piece = first; piece <= last && piece - first < SW_PIECES; piece++)
        atomic_store_explicit(&map->changes[kind + piece % SW_PIECES], generation, memory_order_seq_cst);
    atomic_store_explicit(&map->changes[kind + SW_PIECES], generation, memory_order_seq_cst);
}

/* The generation moves after the change, so that what was found before under the old number is known to be old. */
static void end_writing(struct sw_codemap *map, enum sw_status status, unsigned kind, const struct sw_range *range)
{
    if (status == SW_OK) {
        note_change(map, kind, range, atomic_load_explicit(&map->generation, memory_order_relaxed) + 1);
        atomic_fetch_add_explicit(&map->generation, 1, memory_order_seq_cst);
    }
    sw_reclaim_poll(map->reclaim);
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
    struct sw_range removed;
    if (!map)
        return SW_E_ARGUMENT;
    if (!begin_writing(map))
        return SW_E_BUSY;
    const enum sw_status status = sw_codemap_erase(map, begin, &removed);
    end_writing(map, status, SW_REMOVED, &removed);
    return status;
}

enum sw_status sw_codemap_after_fork(struct sw_codemap *map)
{
    sw_reclaim_forget_readers(map->reclaim);
    if (!begin_writing(map))
        return SW_E_BUSY;
    sw_reclaim_flush(map->reclaim);
    atomic_flag_clear_explicit(&map->writing, memory_order_release);
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
    return sizeof *map + sizeof *map->reclaim + atomic_load_explicit(&map->blocks.bytes, memory_order_relaxed);
}

SW_HOT uint64_t sw_codemap_generation(const struct sw_codemap *map)
{
    return map ? atomic_load_explicit(&map->generation, memory_order_seq_cst) : 0;
}

SW_HOT const _Atomic uint64_t *sw_codemap_changes(const struct sw_codemap *map)
{
    return map->changes;
}
