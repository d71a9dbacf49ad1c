/*
 * Knows the three forms of CPython's tables of lines.
 *
 * Source: Objects/lnotab_notes.txt of 3.9 (STEPS) and 3.10 (RANGES), Objects/locations.md of 3.11 (LOCATIONS).
 */
#include "python_lines.h"

/* Pairs: bytes of code, lines further; what is reached behind the instruction is not its own. */
static int line_by_steps(const uint8_t *table, size_t size, uint64_t place, int line)
{
    uint64_t at = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        at += table[i];
        if (at > place)
            break;
        line += (int8_t)table[i + 1];
    }
    return line;
}

enum { WITHOUT_LINE = -128 };

/* Pairs: bytes of code that have the line which is so much further. */
static int line_by_ranges(const uint8_t *table, size_t size, uint64_t place, int line)
{
    uint64_t end = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        const int8_t further = (int8_t)table[i + 1];
        end += table[i];
        if (further != WITHOUT_LINE)
            line += further;
        if (place < end)
            return further == WITHOUT_LINE ? 0 : line;
    }
    return 0;
}

static uint32_t take_varint(const uint8_t *table, size_t size, size_t *at)
{
    uint32_t value = 0;
    for (unsigned shift = 0; *at < size && shift < 30; shift += 6) {
        const uint8_t byte = table[(*at)++];
        value |= (uint32_t)(byte & 63) << shift;
        if (!(byte & 64))
            break;
    }
    return value;
}

/* Of a signed number, as far as it is added. */
static uint32_t take_signed(const uint8_t *table, size_t size, size_t *at)
{
    const uint32_t value = take_varint(table, size, at);
    return value & 1 ? 0 - (value >> 1) : value >> 1;
}

/* Units of two bytes. Lines are added up as numbers without a sign, which may go round. */
static int line_by_locations(const uint8_t *table, size_t size, uint64_t unit, int begin)
{
    uint64_t end = 0;
    uint32_t line = (uint32_t)begin;
    for (size_t at = 0; at < size;) {
        const uint8_t first = table[at++];
        const unsigned kind = first >> 3 & 15;
        if (!(first & 128))
            return 0;
        if (kind >= 13 && kind <= 14)
            line += take_signed(table, size, &at);
        else if (kind >= 10 && kind <= 12)
            line += kind - 10;
        for (unsigned i = 0; kind == 14 && i < 3; i++)
            (void)take_varint(table, size, &at);
        at += kind < 10 ? 1 : kind < 13 ? 2 : 0;
        end += (first & 7u) + 1;
        if (unit < end)
            return kind == 15 ? 0 : (int)line;
    }
    return 0;
}

int python_line(enum python_lines form, const uint8_t *table, size_t size, uint64_t place, int first)
{
    if (form == PYTHON_LINES_STEPS)
        return line_by_steps(table, size, place, first);
    if (form == PYTHON_LINES_RANGES)
        return line_by_ranges(table, size, place, first);
    return line_by_locations(table, size, place / 2, first);
}
