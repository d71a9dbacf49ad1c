/*
 * Bytes that belong to target addresses, and a cursor over them that cannot leave them.
 * Knows bounds and little-endian integers; knows nothing of what the bytes mean.
 *
 * A cursor that was once asked for more than there is stays broken: it gives zeros, and sw_cursor_ok is false. So a
 * decoder reads a whole structure and asks once.
 */
#ifndef SW_BASE_BYTES_H
#define SW_BASE_BYTES_H

#include <snapwalk/status.h>

/* bytes[0] is the byte at target address `address`. Empty when size == 0. */
struct sw_bytes {
    const uint8_t *bytes;
    uint64_t size;
    uint64_t address;
};

struct sw_cursor {
    const uint8_t *at;
    const uint8_t *end;
    uint64_t address; /* target address of `at` */
    bool broken;
};

static inline uint64_t sw_load_le(const void *from, unsigned size)
{
    const uint8_t *b = from;
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)b[i] << (8 * i);
    return value;
}

/* Of these compilers make one load. */
static inline uint16_t sw_load16(const void *from)
{
    const uint8_t *b = from;
    return (uint16_t)(b[0] | b[1] << 8);
}
static inline uint32_t sw_load32(const void *from)
{
    const uint8_t *b = from;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}
static inline uint64_t sw_load64(const void *from)
{
    const uint8_t *b = from;
    return sw_load32(b) | (uint64_t)sw_load32(b + 4) << 32;
}

/* The number with its lowest `bits` bits read as two's complement. */
static inline int64_t sw_sign_extend(uint64_t value, unsigned bits)
{
    if (bits == 32) /* of this compilers make one instruction */
        return (int32_t)(uint32_t)value;
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    const uint64_t low = bits == 64 ? value : value & ((UINT64_C(1) << bits) - 1);
    return (int64_t)((low ^ sign) - sign);
}

/* a + b, or false when the sum leaves the type. */
static inline bool sw_add_u64(uint64_t a, uint64_t b, uint64_t *sum)
{
    *sum = a + b;
    return *sum >= a;
}

/* base + offset on addresses, or false when it wraps. */
static inline bool sw_add_offset(uint64_t base, int64_t offset, uint64_t *sum)
{
    *sum = base + (uint64_t)offset;
    return offset >= 0 ? *sum >= base : *sum < base;
}

static inline bool sw_fits_i32(int64_t value)
{
    return value >= INT32_MIN && value <= INT32_MAX;
}

/* The part [offset, offset + size) of bytes; empty when it is not all inside. */
static inline struct sw_bytes sw_bytes_part(struct sw_bytes bytes, uint64_t offset, uint64_t size)
{
    if (!bytes.bytes || offset > bytes.size || size > bytes.size - offset)
        return (struct sw_bytes){ 0 };
    return (struct sw_bytes){ bytes.bytes + offset, size, bytes.address + offset };
}

static inline struct sw_cursor sw_cursor_over(struct sw_bytes bytes)
{
    static const uint8_t nothing[1];
    const uint8_t *first = bytes.bytes ? bytes.bytes : nothing;
    return (struct sw_cursor){ first, first + (bytes.bytes ? bytes.size : 0), bytes.address, false };
}

static inline bool sw_cursor_ok(const struct sw_cursor *c)
{
    return !c->broken;
}
static inline uint64_t sw_cursor_left(const struct sw_cursor *c)
{
    return (uint64_t)(c->end - c->at);
}

/* `size` bytes and past them, or null. */
static inline const uint8_t *sw_cursor_take(struct sw_cursor *c, uint64_t size)
{
    if (c->broken || size > sw_cursor_left(c)) {
        c->broken = true;
        return NULL;
    }
    const uint8_t *taken = c->at;
    c->at += size;
    c->address += size;
    return taken;
}

/* Little-endian, size 1, 2, 4 or 8. */
static inline uint64_t sw_cursor_u(struct sw_cursor *c, unsigned size)
{
    const uint8_t *from = sw_cursor_take(c, size);
    if (!from)
        return 0;
    switch (size) {
    case 1:
        return *from;
    case 2:
        return sw_load16(from);
    case 4:
        return sw_load32(from);
    default:
        return sw_load_le(from, size);
    }
}

static inline int64_t sw_cursor_s(struct sw_cursor *c, unsigned size)
{
    return sw_sign_extend(sw_cursor_u(c, size), 8 * size);
}

/* LEB numbers of more than one byte. Break on values over 64 bits. */
uint64_t sw_cursor_long_uleb(struct sw_cursor *c);
int64_t sw_cursor_long_sleb(struct sw_cursor *c);

static inline uint64_t sw_cursor_uleb(struct sw_cursor *c)
{
    if (c->broken || c->at == c->end || *c->at & 0x80)
        return sw_cursor_long_uleb(c);
    c->address++;
    return *c->at++;
}

static inline int64_t sw_cursor_sleb(struct sw_cursor *c)
{
    if (c->broken || c->at == c->end || *c->at & 0x80)
        return sw_cursor_long_sleb(c);
    c->address++;
    return sw_sign_extend(*c->at++, 7);
}

const char *sw_cursor_string(struct sw_cursor *c); /* NUL-terminated inside the bytes, or null */
struct sw_cursor sw_cursor_split(struct sw_cursor *c,
                                 uint64_t size); /* a cursor over the next size bytes; c goes past */

#endif
