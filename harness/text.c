/*
 * UTF-8 and UTF-16. Knows characters only. Source: RFC 3629, RFC 2781.
 */
#include "text.h"

#include <string.h>

enum { REPLACEMENT = 0xfffd, HIGH_HALF = 0xd800, LOW_HALF = 0xdc00, HALVES_END = 0xe000, FIRST_PAIR = 0x10000 };

static bool is_half(uint32_t point)
{
    return point >= HIGH_HALF && point < HALVES_END;
}

/* What the first byte of a character says: how many follow is the row's number; `least` is what needs them at least. */
static const struct {
    unsigned char mask, bits;
    uint32_t least;
} forms[] = { { 0x80, 0x00, 0 }, { 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 }, { 0xf8, 0xf0, FIRST_PAIR } };

static uint32_t follow(const unsigned char *at, size_t more, uint32_t point)
{
    for (size_t i = 0; i < more; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return REPLACEMENT;
        point = point << 6 | (at[i] & 0x3fu);
    }
    return point < forms[more].least || point > 0x10ffff || is_half(point) ? REPLACEMENT : point;
}

/* The character at *at, which it moves past. A byte that begins none is one U+FFFD. */
static uint32_t next_character(const unsigned char **at)
{
    const unsigned char first = *(*at)++;
    for (size_t more = 0; more < sizeof forms / sizeof forms[0]; more++) {
        if ((first & forms[more].mask) != forms[more].bits)
            continue;
        const uint32_t point = follow(*at, more, (uint32_t)(first & ~forms[more].mask & 0xff));
        if (point != REPLACEMENT)
            *at += more;
        return point;
    }
    return REPLACEMENT;
}

/* One or two units; returns how many. */
static size_t units_of(uint32_t point, WCHAR units[2])
{
    if (point < FIRST_PAIR) {
        units[0] = (WCHAR)point;
        return 1;
    }
    units[0] = (WCHAR)(HIGH_HALF + ((point - FIRST_PAIR) >> 10));
    units[1] = (WCHAR)(LOW_HALF + ((point - FIRST_PAIR) & 0x3ff));
    return 2;
}

size_t sw_text_to_wide(const char *text, WCHAR *to, size_t size)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t count = 0;
    while (*at) {
        WCHAR units[2];
        const size_t more = units_of(next_character(&at), units);
        for (size_t i = 0; i < more; i++, count++)
            if (count + 1 < size)
                to[count] = units[i];
    }
    if (size)
        to[count < size ? count : size - 1] = 0;
    return count + 1;
}

bool sw_text_equals(const WCHAR *wide, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        WCHAR units[2];
        const size_t more = units_of(next_character(&at), units);
        for (size_t i = 0; i < more; i++)
            if (*wide++ != units[i])
                return false;
    }
    return *wide == 0;
}

static uint32_t next_wide(const WCHAR **at)
{
    const uint32_t first = *(*at)++;
    if (!is_half(first))
        return first;
    if (first >= LOW_HALF || **at < LOW_HALF || **at >= HALVES_END)
        return REPLACEMENT;
    return FIRST_PAIR + ((first - HIGH_HALF) << 10) + (uint32_t)(*(*at)++ - LOW_HALF);
}

static size_t bytes_of(uint32_t point, char bytes[4])
{
    size_t more = 3;
    while (point < forms[more].least)
        more--;
    bytes[0] = (char)(forms[more].bits | point >> (6 * more));
    for (size_t i = 1; i <= more; i++)
        bytes[i] = (char)(0x80 | (point >> (6 * (more - i)) & 0x3f));
    return more + 1;
}

size_t sw_text_from_wide(const WCHAR *text, char *to, size_t size)
{
    size_t count = 0, written = 0;
    while (*text) {
        char bytes[4];
        const size_t more = bytes_of(next_wide(&text), bytes);
        if (written == count && count + more < size) {
            memcpy(to + count, bytes, more);
            written += more;
        }
        count += more;
    }
    if (size)
        to[written] = 0;
    return count + 1;
}
