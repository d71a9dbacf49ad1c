/* Reads within bounds, and the compressed numbers of blobs. Source: ECMA-335 II.23.2. */
#include "bytes.h"

#include <string.h>

static bool read_memory(void *arg, uint64_t at, void *to, size_t size)
{
    memcpy(to, (const uint8_t *)arg + at, size);
    return true;
}

struct pdb_bytes pdb_bytes_of(const void *bytes, size_t size)
{
    return (struct pdb_bytes){ read_memory, (void *)(uintptr_t)bytes, size };
}

bool pdb_read(const struct pdb_bytes *bytes, uint64_t at, void *to, size_t size)
{
    return at <= bytes->size && size <= bytes->size - at && (!size || bytes->read(bytes->arg, at, to, size));
}

uint64_t pdb_number(const struct pdb_bytes *bytes, uint64_t at, size_t size, bool *bad)
{
    uint8_t raw[8] = { 0 };
    uint64_t value = 0;
    if (size > sizeof raw || !pdb_read(bytes, at, raw, size)) {
        *bad = true;
        return 0;
    }
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)raw[i] << 8 * i;
    return value;
}

struct pdb_cursor pdb_cursor_at(const struct pdb_bytes *bytes, uint64_t at, uint64_t size)
{
    const bool inside = at <= bytes->size && size <= bytes->size - at;
    return (struct pdb_cursor){ .bytes = bytes, .at = at, .end = inside ? at + size : at, .bad = !inside };
}

bool pdb_cursor_has_more(const struct pdb_cursor *cursor)
{
    return !cursor->bad && (cursor->used < cursor->filled || cursor->at < cursor->end);
}

static void fill(struct pdb_cursor *cursor)
{
    const uint64_t left = cursor->end - cursor->at;
    const size_t size = left < sizeof cursor->piece ? (size_t)left : sizeof cursor->piece;
    cursor->used = cursor->filled = 0;
    if (!size || !pdb_read(cursor->bytes, cursor->at, cursor->piece, size)) {
        cursor->bad = true;
        return;
    }
    cursor->at += size;
    cursor->filled = size;
}

uint8_t pdb_cursor_byte(struct pdb_cursor *cursor)
{
    if (!cursor->bad && cursor->used == cursor->filled)
        fill(cursor);
    return cursor->bad ? 0 : cursor->piece[cursor->used++];
}

/* Receives how many bits the number has room for. */
static uint32_t take_compressed(struct pdb_cursor *cursor, unsigned *bits)
{
    static const struct {
        uint8_t mask, lead, more;
        unsigned bits;
    } rows[] = { { 0x80, 0x00, 0, 7 }, { 0xc0, 0x80, 1, 14 }, { 0xe0, 0xc0, 3, 29 } };
    const uint8_t first = pdb_cursor_byte(cursor);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if ((first & rows[i].mask) != rows[i].lead)
            continue;
        uint32_t value = first & (uint8_t)~rows[i].mask;
        for (size_t more = rows[i].more; more > 0; more--)
            value = value << 8 | pdb_cursor_byte(cursor);
        *bits = rows[i].bits;
        return cursor->bad ? 0 : value;
    }
    cursor->bad = true;
    return 0;
}

uint32_t pdb_cursor_unsigned(struct pdb_cursor *cursor)
{
    unsigned bits;
    return take_compressed(cursor, &bits);
}

int32_t pdb_cursor_signed(struct pdb_cursor *cursor)
{
    unsigned bits = 7;
    const uint32_t value = take_compressed(cursor, &bits);
    const int32_t half = (int32_t)(value >> 1);
    return value & 1 ? half - (int32_t)(UINT32_C(1) << (bits - 1)) : half;
}
