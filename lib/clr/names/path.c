/*
 * Which file a module was loaded from, as the runtime has its path: UTF-16 with a zero at its end, which need not be
 * there. Source: clr-names.md rows 4.5 and 4.6.
 */
#include "clr/names/names.h"

#include "base/pointer.h"

enum { UNITS = 32, PATH_UNITS_MAX = 4096, HIGH = 0xd800, LOW = 0xdc00, SURROGATES_END = 0xe000 };

/* One character in UTF-8. False: no room. */
static bool put_character(char *to, size_t size, size_t *used, uint32_t c)
{
    static const uint8_t leads[] = { 0x00, 0xc0, 0xe0, 0xf0 };
    const unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    if (size - *used < more + 2)
        return false;
    to[(*used)++] = (char)(uint8_t)(leads[more] | c >> 6 * more);
    for (unsigned left = more; left > 0; left--)
        to[(*used)++] = (char)(uint8_t)(0x80 | (c >> 6 * (left - 1) & 0x3f));
    return true;
}

/* high: the first half of a pair, or 0. A half without the other is an error. */
static enum sw_status put_unit(char *to, size_t size, size_t *used, uint32_t *high, uint32_t unit)
{
    const bool is_low = unit >= LOW && unit < SURROGATES_END, is_high = unit >= HIGH && unit < LOW;
    if (is_low != (*high != 0))
        return SW_E_MALFORMED;
    if (is_high) {
        *high = unit;
        return SW_OK;
    }
    const uint32_t c = is_low ? 0x10000 + ((*high - HIGH) << 10) + (unit - LOW) : unit;
    *high = 0;
    return put_character(to, size, used, c) ? SW_OK : SW_E_LIMIT;
}

static enum sw_status read_text(const struct sw_names *names, uint64_t at, char *to, size_t size)
{
    uint8_t units[2 * UNITS];
    uint32_t high = 0;
    size_t used = 0;
    for (unsigned read = 0; read < PATH_UNITS_MAX; read += UNITS, at += sizeof units) {
        const size_t got = sw_memory_read(&names->memory, at, units, sizeof units);
        for (size_t i = 0; i + 1 < got; i += 2) {
            const uint32_t unit = sw_load16(units + i);
            const enum sw_status status = unit ? put_unit(to, size, &used, &high, unit) : SW_OK;
            to[used] = 0;
            if (status != SW_OK || !unit)
                return high && !unit ? SW_E_MALFORMED : status;
        }
        if (got != sizeof units)
            return SW_E_UNREADABLE;
    }
    return SW_E_LIMIT;
}

enum sw_status sw_names_path(const struct sw_names *names, uint64_t module, char *to, size_t size)
{
    uint64_t at;
    to[0] = 0;
    if (!sw_names_field(names, module, SW_NAMES_MODULE_PATH, 8, &at)) {
        uint64_t image;
        if (!sw_names_field(names, module, SW_NAMES_MODULE_FILE, 8, &image) ||
            !sw_names_field(names, image, SW_NAMES_FILE_IMAGE, 8, &image) ||
            !sw_names_field(names, image, SW_NAMES_IMAGE_PATH, 8, &at))
            return SW_E_NOT_FOUND;
    }
    const enum sw_status status = at ? read_text(names, at, to, size) : SW_E_NOT_FOUND;
    if (status != SW_OK)
        to[0] = 0;
    return status == SW_OK && !to[0] ? SW_E_NOT_FOUND : status;
}
