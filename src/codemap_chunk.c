/*
 * Chunks: how ranges are packed, and found in what is packed. Knows bytes and offsets in one region; refuses to know
 * where the region lies in the tree, who allocates, and who reads at the same time (a chunk never changes).
 */
#include "codemap_chunk.h"

#include <assert.h>
#include <string.h>

/* What follows the header: ranges of a wide chunk, or the tables of a dense one; and the carry behind them. */
struct record {
    uint64_t id;
    uint32_t image;
    uint32_t size_traits; /* size << 8 | traits */
};

struct dense {
    struct sw_chunk head;
    uint16_t offsets[SW_CHUNK_MAX]; /* the low 16 bits of each begin; OFFSET_NONE behind the last */
    struct record records[];
};

struct wide {
    struct sw_chunk head;
    struct sw_range ranges[];
};

enum { OFFSET_NONE = 0xffff };
enum { DENSE_BITS = 16, DENSE_SIZE_END = 1 << 24 };

/* Kind in bits 0-2, unwind in 3-4, flags in 5-7. */
static_assert(SW_KIND_NATIVE < 8 && SW_UNWIND_ANALYSIS < 4, "traits are one byte");
static_assert((SW_RANGE_HIDDEN | SW_RANGE_EH_DISPATCH) < 8, "traits are one byte");
static_assert(sizeof(struct record) == 16 && sizeof(struct sw_range) % 16 == 0, "packed layout");

static const struct dense *dense_of(const struct sw_chunk *chunk)
{
    return (const struct dense *)(const void *)chunk;
}

static const struct wide *wide_of(const struct sw_chunk *chunk)
{
    return (const struct wide *)(const void *)chunk;
}

static const struct sw_range *carry_of(const struct sw_chunk *chunk)
{
    if (chunk->form == SW_CHUNK_DENSE)
        return (const struct sw_range *)(const void *)&dense_of(chunk)->records[chunk->count];
    return &wide_of(chunk)->ranges[chunk->count];
}

enum sw_chunk_form sw_chunk_form_for(const struct sw_ranges *ranges, unsigned bits)
{
    if (bits > DENSE_BITS)
        return SW_CHUNK_WIDE;
    for (unsigned i = 0; i < ranges->count; i++)
        if (ranges->at[i].end - ranges->at[i].begin >= DENSE_SIZE_END)
            return SW_CHUNK_WIDE;
    return SW_CHUNK_DENSE;
}

size_t sw_chunk_bytes(const struct sw_ranges *ranges, enum sw_chunk_form form)
{
    const size_t carry = ranges->carry.kind ? sizeof(struct sw_range) : 0;
    if (form == SW_CHUNK_DENSE)
        return sizeof(struct dense) + ranges->count * sizeof(struct record) + carry;
    return sizeof(struct wide) + ranges->count * sizeof(struct sw_range) + carry;
}

static void pack_dense(struct dense *dense, const struct sw_ranges *ranges)
{
    for (unsigned i = 0; i < SW_CHUNK_MAX; i++)
        dense->offsets[i] = i < ranges->count ? (uint16_t)ranges->at[i].begin : OFFSET_NONE;
    for (unsigned i = 0; i < ranges->count; i++) {
        const struct sw_range *from = &ranges->at[i];
        const uint32_t traits = (uint32_t)from->kind | (uint32_t)from->unwind << 3 | (uint32_t)from->flags << 5;
        dense->records[i] = (struct record){ from->id, from->image, (uint32_t)(from->end - from->begin) << 8 | traits };
    }
}

void sw_chunk_pack(struct sw_chunk *chunk, const struct sw_ranges *ranges, enum sw_chunk_form form, unsigned bits)
{
    chunk->bits = (uint8_t)bits;
    chunk->form = (uint8_t)form;
    chunk->count = (uint8_t)ranges->count;
    chunk->has_carry = ranges->carry.kind != SW_KIND_NONE;
    if (form == SW_CHUNK_DENSE)
        pack_dense((struct dense *)(void *)chunk, ranges);
    else
        memcpy(((struct wide *)(void *)chunk)->ranges, ranges->at, ranges->count * sizeof ranges->at[0]);
    if (chunk->has_carry)
        memcpy((void *)(uintptr_t)carry_of(chunk), &ranges->carry, sizeof ranges->carry);
}

/* Range `i`, when `address` is below its end. Nothing is written before that is known, and no copy made on the way. */
static inline bool range_below_end(const struct sw_chunk *chunk, unsigned i, uint64_t address, struct sw_range *range)
{
    if (chunk->form != SW_CHUNK_DENSE) {
        const struct sw_range *from = &wide_of(chunk)->ranges[i];
        if (address < from->end)
            *range = *from;
        return address < from->end;
    }
    const struct record *record = &dense_of(chunk)->records[i];
    const uint32_t size_traits = record->size_traits;
    const uint64_t begin = (address & ~sw_region_mask(DENSE_BITS)) + dense_of(chunk)->offsets[i];
    const uint64_t end = begin + (size_traits >> 8);
    if (address >= end)
        return false;
    range->begin = begin;
    range->end = end;
    range->id = record->id;
    range->image = record->image;
    range->kind = size_traits & 7;
    range->unwind = size_traits >> 3 & 3;
    range->flags = size_traits >> 5 & 7;
    return true;
}

void sw_chunk_unpack(const struct sw_chunk *chunk, uint64_t address, struct sw_ranges *ranges)
{
    const uint64_t base = address & ~sw_region_mask(chunk->bits);
    ranges->carry.kind = SW_KIND_NONE;
    if (chunk->has_carry)
        ranges->carry = *carry_of(chunk);
    ranges->count = chunk->count;
    for (unsigned i = 0; i < chunk->count; i++)
        (void)range_below_end(chunk, i, base, &ranges->at[i]);
}

/*
 * How many ranges of the chunk begin at or below `address`. All 32 offsets are compared: that is a handful of vector
 * instructions and nothing to guess, so that a processor can begin the next find while this one waits for memory. A
 * binary search guesses wrong every other step, and has to wait for memory to learn it.
 */
static inline unsigned begun(const struct sw_chunk *chunk, uint64_t address)
{
    const unsigned count = chunk->count;
    if (chunk->form == SW_CHUNK_DENSE) {
        const uint16_t *offsets = dense_of(chunk)->offsets, offset = (uint16_t)address;
        uint16_t n = 0;
        for (unsigned i = 0; i < SW_CHUNK_MAX; i++)
            n = (uint16_t)(n + (offsets[i] <= offset));
        return n < count ? n : count; /* offset may be OFFSET_NONE itself */
    }
    unsigned n = 0;
    while (n < count && wide_of(chunk)->ranges[n].begin <= address)
        n++;
    return n;
}

bool sw_chunk_find(const struct sw_chunk *chunk, uint64_t address, struct sw_range *range)
{
    const unsigned n = begun(chunk, address);
    if (n)
        return range_below_end(chunk, n - 1, address, range);
    if (!chunk->has_carry || address >= carry_of(chunk)->end)
        return false;
    *range = *carry_of(chunk);
    return true;
}

bool sw_chunk_first_from(const struct sw_chunk *chunk, uint64_t from, struct sw_range *range)
{
    const unsigned n = from & sw_region_mask(chunk->bits) ? begun(chunk, from - 1) : 0;
    return n < chunk->count && range_below_end(chunk, n, from, range);
}
