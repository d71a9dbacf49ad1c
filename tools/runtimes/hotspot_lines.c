/*
 * The source's file and line of a bytecode: a method's own table of them, compressed behind its code. Where the machine
 * does not tell where they are, there are no lines.
 *
 * Source: OpenJDK 17, src/hotspot/share: oops/constMethod.hpp (what follows the structure), code/compressedStream.hpp,
 * oops/method.cpp (CompressedLineNumberReadStream).
 */
#include "hotspot_parts.h"

#include <limits.h>
#include <string.h>

enum { HAS_LINES = 1, PAIRS_MOST = 1 << 14, ESCAPE = 0xff };

bool hotspot_number(const struct hotspot *h, uint64_t *at, uint32_t *number)
{
    const uint32_t excluded = h->counts_from_one ? 1 : 0;
    uint8_t byte;
    *number = 0;
    for (unsigned i = 0; i < 5; i++) {
        if (!peek(&h->memory, (*at)++, &byte, 1) || byte < excluded)
            return false;
        *number += (uint32_t)(byte - excluded) << 6 * i;
        if (byte < 192 + excluded)
            return true;
    }
    return true;
}

static bool get_signed(const struct hotspot *h, uint64_t *at, int64_t *value)
{
    uint32_t number;
    if (!hotspot_number(h, at, &number))
        return false;
    *value = number & 1 ? -(int64_t)(number >> 1) - 1 : (int64_t)(number >> 1);
    return true;
}

/* Pairs of differences: small ones in a byte, five bits of bytecode and three of line. */
static bool next_pair(const struct hotspot *h, uint64_t *at, int64_t *bytecode, int64_t *line)
{
    uint8_t byte;
    int64_t step, lines;
    if (!peek(&h->memory, (*at)++, &byte, 1) || byte == 0)
        return false;
    if (byte != ESCAPE) {
        step = byte >> 3;
        lines = byte & 7;
    } else if (!get_signed(h, at, &step) || !get_signed(h, at, &lines)) {
        return false;
    }
    *bytecode += step;
    *line += lines;
    return true;
}

bool hotspot_code(const struct hotspot *h, uint64_t method, uint64_t *code, uint16_t *size)
{
    uint64_t part;
    if (!h->fields.has_lines || !get_word(h, method + field_of(h, HOTSPOT_METHOD_CONST), &part))
        return false;
    *code = part + field_of(h, HOTSPOT_CONST_BYTES);
    return peek(&h->memory, part + field_of(h, HOTSPOT_CONST_CODE_SIZE), size, sizeof *size);
}

/* The line of the nearest pair in front; pairs need not ascend. */
static int find_line(const struct hotspot *h, uint64_t method, uint32_t bytecode)
{
    uint64_t part, code;
    uint16_t flags, size;
    int64_t at = 0, line = 0, best = -1, found = 0;
    if (!hotspot_code(h, method, &code, &size) || bytecode >= size ||
        !get_word(h, method + field_of(h, HOTSPOT_METHOD_CONST), &part) ||
        !peek(&h->memory, part + field_of(h, HOTSPOT_CONST_FLAGS), &flags, sizeof flags) || !(flags & HAS_LINES))
        return 0;
    uint64_t table = code + size;
    for (unsigned i = 0; i < PAIRS_MOST && next_pair(h, &table, &at, &line); i++)
        if (at <= bytecode && at >= best && line > 0 && line <= INT_MAX) {
            best = at;
            found = line;
        }
    return (int)found;
}

void hotspot_line(const struct hotspot *h, uint64_t method, uint32_t bytecode, struct hotspot_call *call)
{
    uint64_t part, pool;
    call->file[0] = 0;
    call->line = find_line(h, method, bytecode);
    if (call->line && get_word(h, method + field_of(h, HOTSPOT_METHOD_CONST), &part) &&
        get_word(h, part + field_of(h, HOTSPOT_CONST_POOL), &pool) &&
        !hotspot_constant(h, pool, pool + field_of(h, HOTSPOT_POOL_SOURCE), call->file, sizeof call->file))
        call->file[0] = 0;
    if (!call->file[0])
        call->line = 0;
}
