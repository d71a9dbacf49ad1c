/*
 * Packs and unpacks chunks, and searches those that are not dense. Knows bytes and offsets in one region; refuses to
 * know where the region lies in the tree, who allocates, and who reads at the same time (a chunk never changes).
 */
#include "code/map/chunk.h"

static const struct sw_wide *wide_of(const struct sw_chunk *chunk)
{
    return (const struct sw_wide *)(const void *)chunk;
}

static bool fits_entry(const struct sw_range *range)
{
    return range->end - range->begin < SW_DENSE_SIZE_END && range->flags < 1u << SW_DENSE_FLAG_BITS;
}

/* A carry that fits begins less than 16 KiB below the region, so its offset fits as well. */
enum sw_chunk_layout sw_chunk_layout_for(const struct sw_ranges *ranges, unsigned bits)
{
    if (bits > SW_DENSE_BITS || (ranges->carry.kind && !fits_entry(&ranges->carry)))
        return SW_CHUNK_WIDE;
    for (unsigned i = 0; i < ranges->count; i++)
        if (!fits_entry(&ranges->at[i]))
            return SW_CHUNK_WIDE;
    return SW_CHUNK_DENSE;
}

size_t sw_chunk_bytes(const struct sw_ranges *ranges, enum sw_chunk_layout layout)
{
    if (layout == SW_CHUNK_DENSE)
        return sizeof(struct sw_dense) + (1 + ranges->count) * sizeof(struct sw_dense_entry);
    return sizeof(struct sw_wide) + (ranges->count + (ranges->carry.kind ? 1 : 0)) * sizeof(struct sw_range);
}

static void pack_entry(struct sw_dense *dense, unsigned n, const struct sw_range *range, uint64_t page)
{
    const uint64_t size = range->end - range->begin;
    dense->offsets[n] = (int16_t)(range->begin - page);
    dense->entries[n] = (struct sw_dense_entry){ range->id, range->image, range->kind, range->unwind,
                                                 (uint16_t)(size << SW_DENSE_FLAG_BITS | range->flags) };
}

static void pack_dense(struct sw_dense *dense, const struct sw_ranges *ranges, uint64_t page)
{
    const struct sw_range none = { .begin = page, .end = page };
    pack_entry(dense, 0, ranges->carry.kind ? &ranges->carry : &none, page);
    for (unsigned i = 0; i < ranges->count; i++)
        pack_entry(dense, 1 + i, &ranges->at[i], page);
    for (unsigned n = 1 + ranges->count; n < SW_CHUNK_ENTRIES; n++)
        dense->offsets[n] = SW_DENSE_NONE;
}

static void pack_wide(struct sw_wide *wide, const struct sw_ranges *ranges)
{
    struct sw_range *to = wide->ranges;
    if (ranges->carry.kind)
        *to++ = ranges->carry;
    memcpy(to, ranges->at, ranges->count * sizeof ranges->at[0]);
}

void sw_chunk_pack(struct sw_chunk *chunk, const struct sw_ranges *ranges, enum sw_chunk_layout layout, unsigned bits,
                   uint64_t address)
{
    chunk->bits = (uint8_t)bits;
    chunk->layout = (uint8_t)layout;
    chunk->count = (uint8_t)ranges->count;
    chunk->has_carry = ranges->carry.kind != SW_KIND_NONE;
    if (layout == SW_CHUNK_DENSE)
        pack_dense((struct sw_dense *)(void *)chunk, ranges, sw_dense_page(address));
    else
        pack_wide((struct sw_wide *)(void *)chunk, ranges);
}

/* Entry `n`, if `address` is below its end. Entry 0 is the carry; the ranges follow. */
static bool below_end(const struct sw_chunk *chunk, unsigned n, uint64_t address, struct sw_range *range)
{
    if (chunk->layout == SW_CHUNK_DENSE)
        return sw_dense_below_end(sw_dense_of(chunk), n, address, range);
    if (n == 0 && !chunk->has_carry)
        return false;
    const struct sw_range *from = &wide_of(chunk)->ranges[n - !chunk->has_carry];
    if (address >= from->end)
        return false;
    *range = *from;
    return true;
}

static void unpack_dense(const struct sw_dense *dense, uint64_t page, struct sw_range *ranges)
{
    for (unsigned i = 0; i < dense->head.count; i++) {
        const struct sw_dense_entry *entry = &dense->entries[1 + i];
        const uint64_t begin = page + (uint64_t)dense->offsets[1 + i];
        memcpy((char *)&ranges[i] + offsetof(struct sw_range, id), entry, sizeof *entry);
        ranges[i].begin = begin;
        ranges[i].end = begin + (entry->size_flags >> SW_DENSE_FLAG_BITS);
        ranges[i].flags = entry->size_flags % (1 << SW_DENSE_FLAG_BITS);
    }
}

void sw_chunk_unpack(const struct sw_chunk *chunk, uint64_t address, struct sw_ranges *ranges)
{
    const uint64_t base = address & ~sw_region_mask(chunk->bits);
    ranges->carry.kind = SW_KIND_NONE;
    ranges->count = chunk->count;
    (void)below_end(chunk, 0, base, &ranges->carry);
    if (chunk->layout == SW_CHUNK_DENSE)
        unpack_dense(sw_dense_of(chunk), sw_dense_page(base), ranges->at);
    else
        memcpy(ranges->at, &wide_of(chunk)->ranges[chunk->has_carry], chunk->count * sizeof ranges->at[0]);
}

/* The last entry that begins at or below `address`; 0 when only the carry can. */
static unsigned last_begun(const struct sw_chunk *chunk, uint64_t address)
{
    if (chunk->layout == SW_CHUNK_DENSE)
        return sw_dense_last_begun(sw_dense_of(chunk), address);
    const struct sw_range *ranges = &wide_of(chunk)->ranges[chunk->has_carry];
    unsigned n = 0;
    while (n < chunk->count && ranges[n].begin <= address)
        n++;
    return n;
}

bool sw_chunk_find_wide(const struct sw_chunk *chunk, uint64_t address, struct sw_range *range)
{
    return below_end(chunk, last_begun(chunk, address), address, range);
}

bool sw_chunk_first_from(const struct sw_chunk *chunk, uint64_t from, struct sw_range *range)
{
    const unsigned n = from & sw_region_mask(chunk->bits) ? last_begun(chunk, from - 1) : 0;
    return n < chunk->count && below_end(chunk, 1 + n, from, range);
}
