/*
 * A chunk: the ranges that begin in one aligned region of the address space, sorted and packed into one immutable
 * block. A chunk may also hold one range that reaches into the region from below (the carry). So any range that covers
 * an address of the region is found in its chunk.
 *
 * Three layouts, chosen by content:
 *   dense  16 bytes per range, and 16-bit offsets in an array of fixed size, for the search. For regions up to
 *          16 KiB and ranges below 16 KiB, which is how JIT code looks.
 *   wide   struct sw_range unchanged, for anything else.
 *   span   only a carry, which covers its region completely. One span serves any number of slots, of any size.
 *
 * A dense chunk begins at a cache line. This one has 12 ranges and takes four lines:
 *
 *      0      4                               36   40      56            72
 *      ┌──────┬───────────────────────────────┬────┬───────┬─────────────┬─────────────┬──
 *      │ head │ 16 offsets: carry, 15 ranges  │    │ carry │ 1st range   │ 2nd range   │ ...
 *      └──────┴───────────────────────────────┴────┴───────┴─────────────┴─────────────┴──
 *
 * Why its find looks as it does: with a million ranges it mostly waits for memory, so what counts is how many finds the
 * processor can have in flight at once. Therefore all lines are prefetched at once, although only the offsets tell
 * which one is needed. No branch depends on data: a misprediction would be noticed only when the memory arrives. And
 * few instructions depend on the loaded data, because waiting instructions take the place of others that could run.
 * Each of these was worth 10 to 20 ns of 110 (test/bench/maps.c).
 */
#ifndef SW_CODE_MAP_CHUNK_H
#define SW_CODE_MAP_CHUNK_H

#include <snapwalk/codemap.h>

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* The most ranges in a chunk. A full chunk is split before one more is added. */
enum { SW_CHUNK_MAX = 15, SW_CHUNK_ENTRIES = 1 + SW_CHUNK_MAX };

enum sw_chunk_layout {
    SW_CHUNK_DENSE,
    SW_CHUNK_WIDE,
    SW_CHUNK_SPAN,
    SW_CHUNK_CLEARED /* any layout, while the map is destroyed: the chunk is already on the list of what is freed */
};

struct sw_chunk {
    uint8_t bits; /* the region is 2^bits bytes and aligned to that */
    uint8_t layout;
    uint8_t count; /* of ranges, without the carry */
    bool has_carry;
};

/* The second half of a struct sw_range, with the size in the free bits of its flags: one copy unpacks it. */
struct sw_dense_entry {
    uint64_t id;
    uint32_t image;
    uint8_t kind;
    uint8_t unwind;
    uint16_t size_flags; /* size << SW_DENSE_FLAG_BITS | flags */
};

/*
 * The carry is entry 0 and is found like any other. Without a carry, entry 0 is empty and begins at the start of the 16
 * KiB page, so that no address is below its end. Offsets count from the page that holds the region; a carry's is
 * negative.
 */
struct sw_dense {
    struct sw_chunk head;
    int16_t offsets[SW_CHUNK_ENTRIES]; /* ascending; SW_DENSE_NONE behind the last */
    struct sw_dense_entry entries[];   /* 1 + count */
};

/* The carry comes first, if there is one. */
struct sw_wide {
    struct sw_chunk head;
    struct sw_range ranges[];
};

enum {
    SW_DENSE_BITS = 14,
    SW_DENSE_FLAG_BITS = 2,
    SW_DENSE_SIZE_END = 1 << (16 - SW_DENSE_FLAG_BITS), /* all sizes are below */
    SW_DENSE_NONE = INT16_MAX                           /* above every offset */
};

static_assert((SW_RANGE_HIDDEN | SW_RANGE_EH_DISPATCH) < 1 << SW_DENSE_FLAG_BITS, "the frequent flags have room");
static_assert(sizeof(struct sw_range) - offsetof(struct sw_range, id) == sizeof(struct sw_dense_entry), "one half");
static_assert(offsetof(struct sw_range, flags) - offsetof(struct sw_range, id) ==
                  offsetof(struct sw_dense_entry, size_flags),
              "one half");

/* The content of a chunk, unpacked: the writer edits this and packs it again. carry.kind is NONE without a carry. */
struct sw_ranges {
    struct sw_range carry;
    unsigned count;
    struct sw_range at[SW_CHUNK_MAX];
};

/* The bits of an address below 2^bits; bits is 0 to 64. */
static inline uint64_t sw_region_mask(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static inline uint64_t sw_dense_page(uint64_t address)
{
    return address & ~sw_region_mask(SW_DENSE_BITS);
}

static inline const struct sw_dense *sw_dense_of(const struct sw_chunk *chunk)
{
    return (const struct sw_dense *)(const void *)chunk;
}

/* The layout for these ranges of a region, and the bytes that it takes. */
enum sw_chunk_layout sw_chunk_layout_for(const struct sw_ranges *ranges, unsigned bits);
size_t sw_chunk_bytes(const struct sw_ranges *ranges, enum sw_chunk_layout layout);

/*
 * pack writes `chunk`, which has sw_chunk_bytes; unpack reads it. address: any in the region, which is 2^bits bytes;
 * bits is 0 for spans.
 */
void sw_chunk_pack(struct sw_chunk *chunk, const struct sw_ranges *ranges, enum sw_chunk_layout layout, unsigned bits,
                   uint64_t address);
void sw_chunk_unpack(const struct sw_chunk *chunk, uint64_t address, struct sw_ranges *ranges);

/* The first range of the region that begins at `from` or above; `from` lies in the region. The carry does not count. */
bool sw_chunk_first_from(const struct sw_chunk *chunk, uint64_t from, struct sw_range *range);

/* sw_chunk_find for chunks that are not dense. */
bool sw_chunk_find_wide(const struct sw_chunk *chunk, uint64_t address, struct sw_range *range);

/* Prefetches what follows the first line of a dense chunk. Prefetching memory outside of the chunk does no harm. */
static inline void sw_chunk_prefetch(const struct sw_chunk *chunk)
{
#if defined(__GNUC__)
    __builtin_prefetch((const char *)chunk + 64);
    __builtin_prefetch((const char *)chunk + 128);
    __builtin_prefetch((const char *)chunk + 192);
#else
    (void)chunk;
#endif
}

/*
 * The last entry that begins at or below `address`; 0 when only the carry can. Compares all entries: a few vector
 * operations.
 */
static inline unsigned sw_dense_last_begun(const struct sw_dense *dense, uint64_t address)
{
    const int16_t offset = (int16_t)(address - sw_dense_page(address));
    int16_t above = 0;
    for (unsigned i = 0; i < SW_CHUNK_ENTRIES; i++)
        above = (int16_t)(above + (dense->offsets[i] > offset));
    return SW_CHUNK_MAX - (unsigned)above;
}

/* Entry `n`, if `address` is below its end. Writes nothing before that is known. */
static inline bool sw_dense_below_end(const struct sw_dense *dense, unsigned n, uint64_t address,
                                      struct sw_range *range)
{
    const struct sw_dense_entry *entry = &dense->entries[n];
    const uint64_t begin = sw_dense_page(address) + (uint64_t)dense->offsets[n];
    const uint64_t end = begin + (entry->size_flags >> SW_DENSE_FLAG_BITS);
    if (address >= end)
        return false;
    range->begin = begin;
    range->end = end;
    memcpy((char *)range + offsetof(struct sw_range, id), entry, sizeof *entry);
    range->flags = entry->size_flags % (1 << SW_DENSE_FLAG_BITS);
    return true;
}

/* The range that holds `address`, which lies in the region. *range is written only when there is one. */
static inline bool sw_chunk_find(const struct sw_chunk *chunk, uint64_t address, struct sw_range *range)
{
    if (chunk->layout != SW_CHUNK_DENSE)
        return sw_chunk_find_wide(chunk, address, range);
    const struct sw_dense *dense = sw_dense_of(chunk);
    return sw_dense_below_end(dense, sw_dense_last_begun(dense, address), address, range);
}

#endif
