/* Source: RFC 3629, section 3. Halves of surrogate pairs are written as they come: names are shown, not judged. */
#include "characters.h"

enum { TAIL = 0x80, TAIL_BITS = 6 };

size_t put_character(char *to, size_t room, uint32_t character)
{
    static const struct {
        uint32_t below;
        uint8_t head;
    } forms[] = { { 0x80, 0 }, { 0x800, 0xc0 }, { 0x10000, 0xe0 }, { 0x110000, 0xf0 } };
    size_t tails = 0;
    while (tails < sizeof forms / sizeof forms[0] && character >= forms[tails].below)
        tails++;
    if (tails == sizeof forms / sizeof forms[0] || room <= tails)
        return 0;
    to[0] = (char)(forms[tails].head | character >> tails * TAIL_BITS);
    for (size_t i = 1; i <= tails; i++)
        to[i] = (char)(TAIL | (character >> (tails - i) * TAIL_BITS & 0x3f));
    return tails + 1;
}
