/*
 * The compact containers of ReadyToRun images: variable-length integers, NativeArray, the native hash table. Knows
 * their layout; refuses to know what the elements mean, except that an entry point ends in the index of a runtime
 * function. Follows win-x64-unwind.md section 8 and the .NET runtime's ReadyToRun format document.
 */
#include "clr/format.h"

/* The low bits of the first byte give the size: 0, 01, 011, 0111 for 1 to 4 bytes, 01111 for a full word behind it. */
static bool varint(struct sw_bytes bytes, uint64_t *at, uint32_t *raw, unsigned *bits)
{
    if (*at >= bytes.size)
        return false;
    const uint8_t *from = bytes.bytes + *at;
    const unsigned size = (unsigned)__builtin_ctz(~(unsigned)*from) + 1;
    if (size > 5 || size > bytes.size - *at)
        return false;
    *raw = size == 5 ? sw_load32(from + 1) : (uint32_t)(sw_load_le(from, size) >> size);
    *bits = size == 5 ? 32 : 7 * size;
    *at += size;
    return true;
}

bool sw_clr_varint(struct sw_bytes bytes, uint64_t *at, uint32_t *value)
{
    unsigned bits;
    return varint(bytes, at, value, &bits);
}

bool sw_clr_varint_signed(struct sw_bytes bytes, uint64_t *at, int32_t *value)
{
    uint32_t raw;
    unsigned bits;
    if (!varint(bytes, at, &raw, &bits))
        return false;
    *value = (int32_t)sw_sign_extend(raw, bits);
    return true;
}

/* Bit 0: fixups follow, which concern only the runtime. */
bool sw_clr_entry_index(struct sw_bytes bytes, uint64_t at, uint32_t *index)
{
    uint32_t id;
    if (!sw_clr_varint(bytes, &at, &id))
        return false;
    *index = id & 1 ? id >> 2 : id >> 1;
    return true;
}

/* A little-endian integer of 1 << width bytes. */
static bool fixed(struct sw_bytes bytes, uint64_t at, unsigned width, uint64_t *value)
{
    const unsigned size = 1u << width;
    if (width > 2 || at > bytes.size || size > bytes.size - at)
        return false;
    *value = sw_load_le(bytes.bytes + at, size);
    return true;
}

bool sw_clr_array_count(struct sw_bytes array, uint32_t *count)
{
    uint64_t at = 0;
    uint32_t header;
    if (!sw_clr_varint(array, &at, &header))
        return false;
    *count = header >> 2;
    return *count <= 16 * (array.size - at); /* a block of 16 takes at least one byte, its offset */
}

/* What is passed on of a block: its elements are block * 16 and following. */
struct block {
    struct sw_bytes array;
    uint32_t first, count;
    sw_clr_element_fn *each;
    void *arg;
};

static bool give(const struct block *b, uint32_t within, uint64_t at)
{
    return within >= 16 || within >= b->count - b->first || b->each(b->arg, b->first + within, at);
}

/*
 * A node and what is below it: elements whose number within the block is `within` in the bits above `bit`. A node says
 * whether the branch for a 0 bit follows it (bit 0), and how far away the branch for a 1 bit is (bit 1). A leaf names
 * its element.
 */
static bool node_each(const struct block *b, uint64_t off, unsigned bit, uint32_t within)
{
    uint64_t next = off;
    uint32_t node;
    if (bit == 0)
        return give(b, within, off);
    if (!sw_clr_varint(b->array, &next, &node))
        return true;
    if ((node & 3) == 0) {
        const bool is_here = ((node >> 2 ^ within) & ~(2 * bit - 1)) == 0;
        return !is_here || give(b, node >> 2, next);
    }
    return (!(node & 1) || node_each(b, next, bit / 2, within)) &&
           (!(node & 2) || node_each(b, off + (node >> 2), bit / 2, within | bit));
}

/* Blocks of 16 elements, each a binary tree over the bits of the element's number, highest first. */
bool sw_clr_array_each(struct sw_bytes array, sw_clr_element_fn *each, void *arg)
{
    struct block b = { .array = array, .each = each, .arg = arg };
    uint64_t base = 0, off;
    uint32_t header;
    if (!sw_clr_varint(array, &base, &header))
        return false;
    b.count = header >> 2;
    for (; b.first < b.count; b.first += 16)
        if (fixed(array, base + ((uint64_t)(b.first / 16) << (header & 3)), header & 3, &off) &&
            !node_each(&b, off + base, 8, 0))
            return false;
    return true;
}

/*
 * The entries of one bucket: a byte of the hash, then the offset of the data, counted from the offset's own position.
 */
static enum sw_status bucket_each(struct sw_bytes table, uint64_t at, uint64_t end, uint64_t *budget,
                                  bool (*each)(void *arg, uint64_t at), void *arg)
{
    while (at < end) {
        uint64_t data;
        int32_t distance;
        uint64_t from = ++at;
        if (*budget == 0 || !sw_clr_varint_signed(table, &at, &distance))
            return SW_E_MALFORMED;
        --*budget;
        if (!sw_add_offset(from, distance, &data) || data >= table.size)
            return SW_E_MALFORMED;
        if (!each(arg, data))
            return SW_OK;
    }
    return SW_OK;
}

/* An entry takes two bytes, so there are at most half as many as bytes, however the buckets overlap. */
enum sw_status sw_clr_hash_each(struct sw_bytes table, bool (*each)(void *arg, uint64_t at), void *arg)
{
    uint64_t budget = table.size / 2;
    if (table.size == 0)
        return SW_E_MALFORMED;
    const unsigned width = table.bytes[0] & 3;
    const unsigned log2 = table.bytes[0] >> 2;
    if (log2 > 31)
        return SW_E_MALFORMED;
    for (uint64_t bucket = 0; bucket < UINT64_C(1) << log2; bucket++) {
        uint64_t begin;
        uint64_t end;
        if (!fixed(table, 1 + (bucket << width), width, &begin) ||
            !fixed(table, 1 + ((bucket + 1) << width), width, &end) || end < begin || end >= table.size)
            return SW_E_MALFORMED;
        enum sw_status status = bucket_each(table, begin + 1, end + 1, &budget, each, arg);
        if (status)
            return status;
    }
    return SW_OK;
}
