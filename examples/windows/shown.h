/*
 * Names of a target for a terminal: threads, files and functions are named by whoever made them, and a terminal obeys
 * what it is told.
 */
#ifndef EXAMPLES_SHOWN_H
#define EXAMPLES_SHOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Whether a terminal shows the character: it is no control, and does not turn the direction of the text behind it. */
static inline bool is_shown(uint32_t character)
{
    static const uint32_t hidden[][2] = {
        { 0, 0x1f },        { 0x7f, 0x9f },     { 0x200e, 0x200f },      { 0x2028, 0x202e },
        { 0x2066, 0x2069 }, { 0xd800, 0xdfff }, { 0x110000, UINT32_MAX }
    };
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        if (character >= hidden[i][0] && character <= hidden[i][1])
            return false;
    return true;
}

/* How many bytes of UTF-8 the text begins with that are one such character; 0: it begins with something else. */
static inline size_t shown_bytes(const char *text)
{
    static const struct {
        uint8_t mask, bits;
        size_t size;
        uint32_t least;
    } rows[] = { { 0x80, 0x00, 1, 0 }, { 0xe0, 0xc0, 2, 0x80 }, { 0xf0, 0xe0, 3, 0x800 }, { 0xf8, 0xf0, 4, 0x10000 } };
    const uint8_t *byte = (const uint8_t *)text;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        uint32_t character = byte[0] & (uint8_t)~rows[row].mask;
        size_t at = 1;
        if ((byte[0] & rows[row].mask) != rows[row].bits)
            continue;
        for (; at < rows[row].size && (byte[at] & 0xc0) == 0x80; at++)
            character = character << 6 | (byte[at] & 0x3f);
        return at == rows[row].size && character >= rows[row].least && is_shown(character) ? at : 0;
    }
    return 0;
}

/* The text as it may be printed: a byte that is not shown becomes \xNN. Cut where `to` is full. Returns `to`. */
static inline const char *shown(const char *text, char *to, size_t size)
{
    size_t used = 0;
    to[0] = 0;
    while (*text) {
        const size_t whole = shown_bytes(text);
        const int length = whole ? snprintf(to + used, size - used, "%.*s", (int)whole, text)
                                 : snprintf(to + used, size - used, "\\x%02x", (unsigned)(uint8_t)*text);
        if (length < 0 || (size_t)length >= size - used) {
            to[used] = 0; /* no half of a character */
            break;
        }
        used += (size_t)length;
        text += whole ? whole : 1;
    }
    return to;
}

#endif
