/* Half of a pair without the other becomes U+FFFD. Source: Unicode 15, sections 3.9 and 3.10. */
#include "wide.h"

#include <stdint.h>

static uint32_t take(const WCHAR *wide, size_t units, size_t *at)
{
    const uint32_t unit = (uint16_t)wide[(*at)++];
    if (unit < 0xd800 || unit > 0xdfff)
        return unit;
    const uint32_t next = *at < units ? (uint16_t)wide[*at] : 0;
    if (unit > 0xdbff || next < 0xdc00 || next > 0xdfff)
        return 0xfffd;
    ++*at;
    return 0x10000 + ((unit & 0x3ff) << 10 | (next & 0x3ff));
}

void wide_to_text(const WCHAR *wide, size_t units, char *text, size_t size)
{
    size_t used = 0;
    for (size_t at = 0; at < units && wide[at];) {
        const uint32_t c = take(wide, units, &at);
        const size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        static const uint8_t first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
        if (used + bytes >= size)
            break;
        for (size_t i = bytes; i-- > 1;)
            text[used + i] = (char)(0x80 | (c >> 6 * (bytes - 1 - i) & 0x3f));
        text[used] = (char)(first[bytes] | c >> 6 * (bytes - 1));
        used += bytes;
    }
    if (size)
        text[used] = 0;
}
