/*
 * The tree of the code map, shared by its readers (find.c) and its writer (insert.c, rebalance.c).
 *
 * A radix tree over address bits, like page tables: nine bits per level down to pages of 4 KiB, so that the code of a
 * large program is two levels deep, and six bits per level below. A slot is empty, or holds a node of the next level,
 * or a chunk. Adjacent slots share one chunk as long as their ranges fit: a chunk with a region of 2^bits bytes is in
 * all 2^(bits - shift) slots of its node that the region covers. So chunks are well filled at any density, and a node
 * is made only where more than SW_CHUNK_MAX ranges begin in one slot.
 *
 *      root ──► node, shift 21              Levels above the root, in which all addresses agree, are left out.
 *               ├─ 0 ──► node, shift 12
 *               │        ├─ 0 ─┬► chunk, bits 13    (ranges of two pages)
 *               │        ├─ 1 ─┘
 *               │        ├─ 2    empty
 *               │        └─ 3 ──► node, shift 6 ...
 *               └─ 1 ──► chunk, bits 21
 *
 * The files call each other in one direction: codemap.c → insert.c → rebalance.c → find.c.
 *
 * Invariants of every change:
 *  1. Every registered range lies in the region of the root node. A chunk that is the root has bits 64.
 *  2. All slots of a chunk's region hold that chunk. A span (chunk.h) may be in any slots that it covers wholly.
 *  3. No node is without ranges: where there are none, the slot is empty, at the highest level possible.
 *  4. Chunks never change. Slots change by one seq_cst store each. At any moment between two stores, every slot
 *     leads to a chunk that is right about all ranges that are not being added or removed.
 */
#ifndef SW_CODE_MAP_TREE_H
#define SW_CODE_MAP_TREE_H

#include "code/map/block_alloc.h"
#include "code/map/chunk.h"
#include "code/map/codemap.h"

/* Levels: shift 0 and 6, with 64 slots; 12, 21, 30, 39 and 48, with 512; 57, with the 128 that remain. */
enum { SW_PAGE_SHIFT = 12, SW_SMALL_BITS = 6, SW_LARGE_BITS = 9, SW_LEVELS = 8 };

/* What a slot holds: 0, the address of a chunk, or the address of a node + 1. */
typedef _Atomic uintptr_t sw_slot;

struct sw_node {
    uint64_t base;  /* first address of the region */
    uint64_t mask;  /* of the bits of an address inside the region */
    unsigned shift; /* a slot is 2^shift bytes */
    sw_slot slot[]; /* 2^sw_node_order(shift) */
};

struct sw_codemap {
    sw_slot root;
    struct sw_reclaim *reclaim;
    struct sw_blocks blocks;
    atomic_flag writing;
    _Atomic uint64_t count;
    _Atomic uint64_t changes[SW_CHANGES]; /* see sw_codemap_changes */
    _Atomic uint64_t generation;          /* beside the last of them, which each walk reads, too */
};

/* A slot and the way to it. `slots` are those of `node`. For the root, node is null and shift is 64. */
struct sw_place {
    struct sw_node *node;
    sw_slot *slots;
    sw_slot *home; /* the slot that holds `node`; null for the root */
    unsigned index;
    unsigned shift;
    uintptr_t value; /* of slots[index]: never a node */
};

static inline uintptr_t sw_slot_load(const sw_slot *slot)
{
    return atomic_load_explicit(slot, memory_order_seq_cst);
}

static inline bool sw_is_node(uintptr_t value)
{
    return value & 1;
}

static inline struct sw_node *sw_node_of(uintptr_t value)
{
    return (struct sw_node *)(value - 1);
}

static inline struct sw_chunk *sw_chunk_of(uintptr_t value)
{
    return (struct sw_chunk *)value;
}

static inline bool sw_is_span(uintptr_t value)
{
    return value && sw_chunk_of(value)->layout == SW_CHUNK_SPAN;
}

/* log2 of the slots of a node. 0 for the root, of shift 64. */
static inline unsigned sw_node_order(unsigned shift)
{
    if (shift < SW_PAGE_SHIFT)
        return SW_SMALL_BITS;
    return 64 - shift < SW_LARGE_BITS ? 64 - shift : SW_LARGE_BITS;
}

/* The shift of the nodes one level below. */
static inline unsigned sw_shift_below(unsigned shift)
{
    return shift - (shift > SW_PAGE_SHIFT ? SW_LARGE_BITS : SW_SMALL_BITS);
}

static inline unsigned sw_slot_index(uint64_t address, unsigned shift)
{
    return (unsigned)(address >> shift) & ((1u << sw_node_order(shift)) - 1);
}

static inline bool sw_node_holds(const struct sw_node *node, uint64_t address)
{
    return (address ^ node->base) <= node->mask;
}

/* The bottom slot for an address. False: the address is outside the root's region; then place->node is the root. */
bool sw_codemap_locate(const struct sw_codemap *map, uint64_t address, struct sw_place *place);

/* The first range that begins in [from, last]. For callers inside a reader section, and for the writer. */
bool sw_codemap_next(const struct sw_codemap *map, uint64_t from, uint64_t last, struct sw_range *range);

/*
 * Blocks that begin at a cache line. put: for blocks that no reader has seen. retire: for blocks that no new reader can
 * reach.
 */
static inline void *sw_codemap_get(struct sw_codemap *map, size_t size)
{
    return sw_blocks_get(&map->blocks, size);
}

static inline void sw_codemap_put(struct sw_codemap *map, void *body)
{
    sw_blocks_put(&map->blocks, body);
}

static inline void sw_codemap_retire(struct sw_codemap *map, void *body)
{
    sw_reclaim_retire(map->reclaim, sw_blocks_retired(body));
}

/* ---- rebalance.c: the writer's operations on slots, blocks and places ---- */

/* Stores `value` in `count` slots while readers look. */
void sw_slots_store(sw_slot *slots, unsigned count, uintptr_t value);

/* *value receives a chunk with these ranges, or 0 where there are none. False: no memory. */
bool sw_codemap_chunk(struct sw_codemap *map, const struct sw_ranges *ranges, unsigned bits, uint64_t address,
                      uintptr_t *value);

/* put frees a chunk that was never published; retire is for one that was. 0 is allowed. */
void sw_codemap_put_chunk(struct sw_codemap *map, uintptr_t value);
void sw_codemap_retire_chunk(struct sw_codemap *map, uintptr_t value);

/* The ranges at the place around `address`; none when it is empty. */
void sw_place_unpack(const struct sw_place *place, uint64_t address, struct sw_ranges *ranges);

/*
 * The block of slots that belong to a place: those of its chunk; or, where the place is empty, the largest aligned
 * block of empty slots around it, from slot `first` up. order: log2 of their number. block: the first of them.
 */
unsigned sw_place_order(const struct sw_place *place, unsigned first);
sw_slot *sw_place_block(const struct sw_place *place, unsigned order);

/*
 * Makes the root's region hold the range, and splits the chunk in which the range begins if it is full. False: no
 * memory.
 */
bool sw_codemap_make_room(struct sw_codemap *map, const struct sw_range *range);

/* Merges chunks and removes nodes around an address where a range was removed, as far as memory allows. */
void sw_codemap_compact(struct sw_codemap *map, uint64_t address);

/* Frees every node and chunk at once. No reader may be inside. */
void sw_codemap_clear(struct sw_codemap *map);

/*
 * ---- insert.c: the writer's two calls ----
 *
 * Arguments are checked, and no other writer is inside. removed: what was erased.
 */
SW_NODISCARD enum sw_status sw_codemap_insert(struct sw_codemap *map, const struct sw_range *range);
SW_NODISCARD enum sw_status sw_codemap_erase(struct sw_codemap *map, uint64_t begin, struct sw_range *removed);

#ifndef NDEBUG
/*
 * ---- valid.c: what always holds, for builds for tests ----
 *
 * Ranges of one region: in order, apart, each of them begins there. Of a whole map at rest: the invariants above.
 */
bool sw_ranges_are_valid(const struct sw_ranges *ranges, unsigned bits, uint64_t address);
bool sw_codemap_is_valid(const struct sw_codemap *map);
#endif

#endif
