/*
 * The compact containers of ReadyToRun images: variable-length integers, NativeArray, the native hash table. Knows
 * their layout; refuses to know what the elements mean, except that an entry point ends in the index of a runtime
 * function. Follows win-x64-unwind.md section 8 and the .NET runtime's ReadyToRun format document.
 */
#include "clr/format.h"

/* The low bits of the first byte give the size: 0, 01, 011, 0111 for 1 to 4 bytes, 01111 for a full word behind it. */
static bool varint(struct sw_bytes bytes, uint64_t *at, uint32_t *raw, unsigned *bits)
{
    unsigned size = 1;
    if (*at >= bytes.size)
        return false;
    const uint8_t first = bytes.bytes[*at];
    while (size <= 5 && (first >> (size - 1) & 1))
        size++;
    if (size > 5 || size > bytes.size - *at)
        return false;
    const uint8_t *from = bytes.bytes + *at;
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

/*
 * Blocks of 16 elements, each a binary tree over the bits of the element's number, highest first. A node says whether
 * the branch for a 0 bit follows it (bit 0), and how far away the branch for a 1 bit is (bit 1). A leaf names its
 * element.
 */
bool sw_clr_array_at(struct sw_bytes array, uint32_t element, uint64_t *at)
{
    uint64_t base = 0;
    uint64_t off;
    uint32_t header;
    if (!sw_clr_varint(array, &base, &header) || element >= header >> 2)
        return false;
    if (!fixed(array, base + ((uint64_t)(element / 16) << (header & 3)), header & 3, &off))
        return false;
    off += base;
    for (unsigned bit = 8; bit; bit >>= 1) {
        uint64_t next = off;
        uint32_t node;
        if (!sw_clr_varint(array, &next, &node))
            return false;
        const bool one = (element & bit) != 0;
        if (one && (node & 2)) {
            off += node >> 2;
        } else if (!one && (node & 1)) {
            off = next;
        } else {
            *at = next;
            return (node & 3) == 0 && node >> 2 == (element & 15);
        }
    }
    *at = off;
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
