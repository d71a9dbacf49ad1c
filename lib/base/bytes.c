/* The bounded cursor: see bytes.h. Every read of hostile bytes ends here. */
#include "base/bytes.h"

enum { LEB_BITS_MOST = 140 };

const uint8_t *sw_cursor_take(struct sw_cursor *c, uint64_t size)
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

uint64_t sw_cursor_u(struct sw_cursor *c, unsigned size)
{
    const uint8_t *from = sw_cursor_take(c, size);
    return from ? sw_load_le(from, size) : 0;
}

int64_t sw_cursor_s(struct sw_cursor *c, unsigned size)
{
    return sw_sign_extend(sw_cursor_u(c, size), 8 * size);
}

/*
 * Both LEB forms: the value's bits so far, how many there are, the last byte. Bits beyond the 64th may only say again what is
 * known: zeros, or for a signed number its sign.
 */
static uint64_t leb(struct sw_cursor *c, bool is_signed, unsigned *bits, uint8_t *last)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < LEB_BITS_MOST; shift += 7) {
        const uint8_t *from = sw_cursor_take(c, 1);
        if (!from)
            return 0;
        const unsigned low = *from & 0x7fu;
        const unsigned beyond = shift < 63 ? 0u : shift == 63 && !is_signed ? low >> 1u : low;
        if (beyond != 0 && !(is_signed && beyond == 0x7f))
            break;
        if (shift < 64)
            value |= (uint64_t)low << shift;
        *last = *from;
        *bits = shift + 7;
        if (!(*from & 0x80))
            return value;
    }
    c->broken = true;
    return 0;
}

uint64_t sw_cursor_uleb(struct sw_cursor *c)
{
    unsigned bits = 0;
    uint8_t last = 0;
    return leb(c, false, &bits, &last);
}

int64_t sw_cursor_sleb(struct sw_cursor *c)
{
    unsigned bits = 0;
    uint8_t last = 0;
    uint64_t value = leb(c, true, &bits, &last);
    if (!c->broken && bits < 64 && (last & 0x40))
        value |= UINT64_MAX << bits;
    return (int64_t)value;
}

const char *sw_cursor_string(struct sw_cursor *c)
{
    const uint8_t *begin = c->at;
    for (const uint8_t *at = begin; !c->broken && at < c->end; at++)
        if (*at == 0) {
            c->address += (uint64_t)(at + 1 - begin);
            c->at = at + 1;
            return (const char *)begin;
        }
    c->broken = true;
    return NULL;
}

struct sw_cursor sw_cursor_split(struct sw_cursor *c, uint64_t size)
{
    struct sw_cursor part = *c;
    if (!sw_cursor_take(c, size))
        part.broken = true;
    part.end = part.broken ? part.at : part.at + size;
    return part;
}
