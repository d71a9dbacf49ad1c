/*
 * DWARF's encoded pointers: see pointer.h. Formats are rows; both machines have pointers of 8 bytes.
 * Source: LSB, "DWARF Exception Header Encoding"; dwarf-cfi.md section 1.
 */
#include "base/pointer.h"

enum reading { NO_FORMAT = 0, UNSIGNED, SIGNED, ULEB, SLEB };

static const struct format {
    uint8_t reading;
    uint8_t size;
} formats[16] = {
    [0x0] = { UNSIGNED, 8 }, /* absptr */
    [0x1] = { ULEB, 0 },     /* uleb128 */
    [0x2] = { UNSIGNED, 2 }, /* udata2 */
    [0x3] = { UNSIGNED, 4 }, /* udata4 */
    [0x4] = { UNSIGNED, 8 }, /* udata8 */
    [0x8] = { SIGNED, 8 },   /* signed */
    [0x9] = { SLEB, 0 },     /* sleb128 */
    [0xa] = { SIGNED, 2 },   /* sdata2 */
    [0xb] = { SIGNED, 4 },   /* sdata4 */
    [0xc] = { SIGNED, 8 },   /* sdata8 */
};

static bool is_aligned(uint8_t encoding)
{
    return (encoding & SW_POINTER_BASE) == SW_POINTER_ALIGNED;
}

unsigned sw_pointer_size(uint8_t encoding)
{
    if (encoding == SW_POINTER_OMIT || is_aligned(encoding))
        return 0;
    return formats[encoding & SW_POINTER_FORMAT].size;
}

static uint64_t read_as(struct sw_cursor *c, struct format format)
{
    switch (format.reading) {
    case UNSIGNED:
        return sw_cursor_u(c, format.size);
    case SIGNED:
        return (uint64_t)sw_cursor_s(c, format.size);
    case ULEB:
        return sw_cursor_uleb(c);
    default:
        return (uint64_t)sw_cursor_sleb(c);
    }
}

enum sw_status sw_pointer_raw(struct sw_cursor *c, uint8_t encoding, uint64_t *value)
{
    *value = 0;
    const struct format format = formats[is_aligned(encoding) ? 0 : encoding & SW_POINTER_FORMAT];
    if (encoding == SW_POINTER_OMIT || format.reading == NO_FORMAT)
        return SW_E_UNSUPPORTED;
    if (is_aligned(encoding))
        (void)sw_cursor_take(c, -c->address & 7);
    const uint64_t raw = read_as(c, format);
    if (!sw_cursor_ok(c))
        return SW_E_TRUNCATED;
    *value = raw;
    return SW_OK;
}

/* What is added to a pointer; false when there is no such base. */
static bool base_of(uint8_t encoding, uint64_t field, const struct sw_pointer_bases *bases, uint64_t *base)
{
    switch (encoding & SW_POINTER_BASE) {
    case 0x00:
    case SW_POINTER_ALIGNED:
        *base = bases->bias;
        return true;
    case 0x10: /* pcrel */
        *base = field;
        return true;
    case 0x30: /* datarel */
        *base = bases->data;
        return bases->data != 0;
    case 0x40: /* funcrel */
        *base = bases->function;
        return bases->function != 0;
    default: /* textrel has no base on our machines */
        return false;
    }
}

enum sw_status sw_pointer_read(struct sw_cursor *c, uint8_t encoding, const struct sw_pointer_bases *bases,
                               uint64_t *value)
{
    const uint64_t field = c->address;
    uint64_t base = 0;
    const enum sw_status status = sw_pointer_raw(c, encoding, value);
    if (status != SW_OK || *value == 0)
        return status;
    if ((encoding & SW_POINTER_INDIRECT) || !base_of(encoding, field, bases, &base)) {
        *value = 0;
        return SW_E_UNSUPPORTED;
    }
    *value += base;
    return SW_OK;
}
