/* The bounded cursor: see bytes.h. Its rarer half. */
#include "base/bytes.h"

enum { LEB_BITS_MOST = 140 };

/*
 * Both LEB forms: the value's bits so far, how many there are, the last byte. Bits beyond the 64th may only say again
 * what is known: zeros, or for a signed number its sign.
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

uint64_t sw_cursor_long_uleb(struct sw_cursor *c)
{
    unsigned bits = 0;
    uint8_t last = 0;
    return leb(c, false, &bits, &last);
}

int64_t sw_cursor_long_sleb(struct sw_cursor *c)
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
