/*
 * Lines of perf maps: START SIZE NAME, both numbers hexadecimal with or without 0x, NAME the rest of the line. Knows
 * one line; refuses to know what its name means and which line wins where two overlap. Follows jit-interfaces.md
 * section 1 (the Linux perf map interface, as .NET, V8, HotSpot and Mono write it).
 */
#include "jit/perfmap_text.h"

#include <string.h>

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Reads a number, and moves past the blank behind it. False: no digit, over 64 bits, or no blank. */
static bool hex(const char **at, const char *end, uint64_t *value)
{
    const char *p = *at;
    if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
        p += 2;
    const char *first = p;
    for (*value = 0; p < end && digit(*p) >= 0; p++) {
        if (*value >> 60)
            return false;
        *value = *value << 4 | (uint64_t)digit(*p);
    }
    *at = p + 1;
    return p > first && p < end && is_blank(*p);
}

static void skip_blanks(const char **at, const char *end)
{
    while (*at < end && is_blank(**at))
        ++*at;
}

static enum sw_status parse(const char *at, const char *end, struct sw_perfmap_line *line)
{
    uint64_t sum;
    skip_blanks(&at, end);
    if (!hex(&at, end, &line->begin))
        return SW_E_MALFORMED;
    skip_blanks(&at, end);
    if (!hex(&at, end, &line->size) || at == end)
        return SW_E_MALFORMED;
    line->name = at;
    line->name_size = (size_t)(end - at);
    sum = line->begin + line->size;
    return sum >= line->begin ? SW_OK : SW_E_MALFORMED;
}

enum sw_status sw_perfmap_next(const char *text, size_t size, size_t *at, struct sw_perfmap_line *line)
{
    if (*at >= size)
        return SW_E_NOT_FOUND;
    const char *begin = text + *at;
    const char *end = memchr(begin, '\n', size - *at);
    if (!end)
        return SW_E_NOT_FOUND;
    *at += (size_t)(end - begin) + 1;
    return parse(begin, end, line);
}
