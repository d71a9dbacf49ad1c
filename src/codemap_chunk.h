/*
 * A chunk: the ranges that begin in one aligned piece of the address space (its region), sorted, and packed into one
 * immutable block. Besides them it may hold one range that comes in from below (the carry), so that whatever covers an
 * address of the region is found in the chunk and nowhere else.
 *
 * Three forms, chosen by content:
 *   dense  16 bytes a range, and offsets of 16 bits in an array of fixed size, for the search. For regions up to
 *          64 KiB and ranges below 16 MiB, which is what JIT code looks like. A find reads two places: header and
 *          offsets, which are two cache lines side by side, and one record.
 *   wide   struct sw_range as it is, for anything else.
 *   span   only a carry, which covers its region completely. One span stands for many places, of any size.
 */
#ifndef SW_CODEMAP_CHUNK_H
#define SW_CODEMAP_CHUNK_H

#include "grace.h"

#include <snapwalk/codemap.h>

/* Ranges in a chunk, at most. A chunk that is full is split before one more is added. */
enum { SW_CHUNK_MAX = 32 };

enum sw_chunk_form {
    SW_CHUNK_DENSE,
    SW_CHUNK_WIDE,
    SW_CHUNK_SPAN,
    SW_CHUNK_CLEARED /* any of them once the map is at its end: already on the list of what is given back */
};

struct sw_chunk {
    struct sw_retired retired; /* first: a retired chunk is known by it */
    uint8_t bits;              /* the region is 2^bits bytes and aligned to that */
    uint8_t form;
    uint8_t count;
    bool has_carry;
};

/* What a chunk says, unpacked: for the writer, who edits this and packs it again. carry.kind is NONE when none. */
struct sw_ranges {
    struct sw_range carry;
    unsigned count;
    struct sw_range at[SW_CHUNK_MAX];
};

/* The bits of an address that are below 2^bits, bits from 0 to 64. */
static inline uint64_t sw_region_mask(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* The form in which ranges of a region can be packed, and the bytes that it takes. */
enum sw_chunk_form sw_chunk_form_for(const struct sw_ranges *ranges, unsigned bits);
size_t sw_chunk_bytes(const struct sw_ranges *ranges, enum sw_chunk_form form);

/* Packs into `chunk`, which has sw_chunk_bytes; unpacks. `address`: any in the region. Spans: region 1 byte. */
void sw_chunk_pack(struct sw_chunk *chunk, const struct sw_ranges *ranges, enum sw_chunk_form form, unsigned bits);
void sw_chunk_unpack(const struct sw_chunk *chunk, uint64_t address, struct sw_ranges *ranges);

/*
 * Asks for the memory that a find will want, all at once instead of one after the other: the second line of the
 * offsets, and the record, of which only a guess is known. Records lie in the order of addresses, and dense code has
 * some 24 of them in 8 KiB: 3 bytes of records for 64 of code. A wrong guess costs nothing but the request.
 */
static inline void sw_chunk_expect(const struct sw_chunk *chunk, uint64_t address)
{
#if defined(__GNUC__)
    const uintptr_t at = (uintptr_t)chunk;
    const uintptr_t record = at + sizeof *chunk + 2 * SW_CHUNK_MAX + (uintptr_t)(address % 8192 * 3 / 64);
    __builtin_prefetch((const void *)(at + 64));
    __builtin_prefetch((const void *)(record - 32));
    __builtin_prefetch((const void *)(record + 32));
#else
    (void)chunk;
    (void)address;
#endif
}

/* The range that holds `address`, which lies in the region. *range is written only when there is one. */
bool sw_chunk_find(const struct sw_chunk *chunk, uint64_t address, struct sw_range *range);

/* The first range of the region that begins at `from`, which lies in the region, or above; the carry is not one. */
bool sw_chunk_first_from(const struct sw_chunk *chunk, uint64_t from, struct sw_range *range);

#endif
