/*
 * Cleans names as they come in, so that no writer meets an invalid one. Knows UTF-8 and which characters deceive; which
 * characters a format escapes is that format's own business.
 */
#include "text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { DOTS = 3, ESCAPE_BYTES = 12 };

/* Controls, and what changes the direction or breaks the line: Unicode 15, UAX 9. */
static bool deceives(uint32_t character)
{
    static const uint32_t hidden[][2] = { { 0, 0x1f },        { 0x7f, 0x9f },     { 0x61c, 0x61c },
                                          { 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
                                          { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f } };
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        if (character >= hidden[i][0] && character <= hidden[i][1])
            return true;
    return false;
}

/* The character that the text begins with, and how many bytes it has; 0: that is no UTF-8. */
static size_t character_of(const char *text, uint32_t *character)
{
    static const struct {
        uint8_t mask, bits;
        size_t size;
        uint32_t least;
    } rows[] = { { 0x80, 0x00, 1, 0 }, { 0xe0, 0xc0, 2, 0x80 }, { 0xf0, 0xe0, 3, 0x800 }, { 0xf8, 0xf0, 4, 0x10000 } };
    const uint8_t *byte = (const uint8_t *)text;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        if ((byte[0] & rows[row].mask) != rows[row].bits)
            continue;
        *character = byte[0] & (uint8_t)~rows[row].mask;
        for (size_t at = 1; at < rows[row].size; at++) {
            if ((byte[at] & 0xc0) != 0x80)
                return 0;
            *character = *character << 6 | (byte[at] & 0x3f);
        }
        const bool surrogate = *character >= 0xd800 && *character <= 0xdfff;
        return *character >= rows[row].least && *character <= 0x10ffff && !surrogate ? rows[row].size : 0;
    }
    return 0;
}

/* What stands for the next character, in `shown`; returns how many bytes of the text it stands for. */
static size_t show_next(const char *text, char shown[ESCAPE_BYTES])
{
    uint32_t character = 0;
    const size_t size = character_of(text, &character);
    if (!size || (size == 1 && deceives(character)))
        snprintf(shown, ESCAPE_BYTES, "\\x%02x", (unsigned)(uint8_t)*text);
    else if (deceives(character))
        snprintf(shown, ESCAPE_BYTES, "\\u{%04x}", (unsigned)character);
    else
        snprintf(shown, ESCAPE_BYTES, "%.*s", (int)size, text);
    return size ? size : 1;
}

static bool is_plain(char c)
{
    return c >= 0x20 && c < 0x7f;
}

size_t sw_profile_text_clean(const char *text, char *to, size_t size, bool *cut)
{
    size_t used = 0;
    const size_t most = size - 1 - DOTS;
    for (*cut = false; *text && !*cut;) {
        char shown[ESCAPE_BYTES];
        while (used < most && is_plain(*text))
            to[used++] = *text++;
        if (!*text)
            break;
        const size_t taken = show_next(text, shown), length = strlen(shown);
        *cut = used + length > most;
        if (*cut)
            break;
        memcpy(to + used, shown, length);
        used += length;
        text += taken;
    }
    memcpy(to + used, "...", *cut ? DOTS : 0);
    used += *cut ? DOTS : 0;
    to[used] = 0;
    return used;
}
