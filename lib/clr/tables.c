/*
 * The layout of ECMA-335 metadata tables. Knows the columns of every table, since rows must be measured to find the
 * next table; refuses to know what they mean. Follows ECMA-335 II.22 (tables), II.24 (physical layout).
 */
#include "clr/tables.h"

enum { COLUMNS_MAX = SW_CLR_COLUMNS_MAX, TABLES = SW_CLR_TABLES, TABLES_ALL = 64 };
enum { TYPE_DEF = SW_CLR_TYPE_DEF, METHOD = SW_CLR_METHOD };

/* A column is an index into a table (its number), a coded index (CODED | which) or one of these. */
enum { CODED = 0x40, NONE = 0, U2 = 0x80, U4, STR, GUID, BLOB };

enum {
    TYPE_DEF_OR_REF = CODED,
    HAS_CONSTANT,
    HAS_ATTRIBUTE,
    HAS_MARSHAL,
    HAS_SECURITY,
    MEMBER_REF_PARENT,
    HAS_SEMANTICS,
    METHOD_DEF_OR_REF,
    MEMBER_FORWARDED,
    IMPLEMENTATION,
    ATTRIBUTE_TYPE,
    RESOLUTION_SCOPE
};

/* Coded indices: the number of tag bits, and the tables that they select. II.24.2.6. ORDER coded index */
static const struct {
    uint8_t bits;
    uint8_t count;
    uint8_t tables[22];
} coded[] = {
    { 2, 3, { 0x02, 0x01, 0x1b } },
    { 2, 3, { 0x04, 0x08, 0x17 } },
    { 5, 22, { 0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00, 0x0e, 0x17, 0x14,
               0x11, 0x1a, 0x1b, 0x20, 0x23, 0x26, 0x27, 0x28, 0x2a, 0x2c, 0x2b } },
    { 1, 2, { 0x04, 0x08 } },
    { 2, 3, { 0x02, 0x06, 0x20 } },
    { 3, 5, { 0x02, 0x01, 0x1a, 0x06, 0x1b } },
    { 1, 2, { 0x14, 0x17 } },
    { 1, 2, { 0x06, 0x0a } },
    { 1, 2, { 0x04, 0x06 } },
    { 2, 3, { 0x26, 0x23, 0x27 } },
    { 3, 2, { 0x06, 0x0a } },
    { 2, 4, { 0x00, 0x1a, 0x23, 0x01 } },
};

/* II.22.2 to II.22.38, by table number; NONE ends a row. No column is a plain index into table 0. */
static const uint8_t schema[TABLES][COLUMNS_MAX] = {
    [0x00] = { U2, STR, GUID, GUID, GUID },
    [0x01] = { RESOLUTION_SCOPE, STR, STR },
    [0x02] = { U4, STR, STR, TYPE_DEF_OR_REF, 0x04, METHOD },
    [0x03] = { 0x04 },
    [0x04] = { U2, STR, BLOB },
    [0x05] = { METHOD },
    [0x06] = { U4, U2, U2, STR, BLOB, 0x08 },
    [0x07] = { 0x08 },
    [0x08] = { U2, U2, STR },
    [0x09] = { TYPE_DEF, TYPE_DEF_OR_REF },
    [0x0a] = { MEMBER_REF_PARENT, STR, BLOB },
    [0x0b] = { U2, HAS_CONSTANT, BLOB },
    [0x0c] = { HAS_ATTRIBUTE, ATTRIBUTE_TYPE, BLOB },
    [0x0d] = { HAS_MARSHAL, BLOB },
    [0x0e] = { U2, HAS_SECURITY, BLOB },
    [0x0f] = { U2, U4, TYPE_DEF },
    [0x10] = { U4, 0x04 },
    [0x11] = { BLOB },
    [0x12] = { TYPE_DEF, 0x14 },
    [0x13] = { 0x14 },
    [0x14] = { U2, STR, TYPE_DEF_OR_REF },
    [0x15] = { TYPE_DEF, 0x17 },
    [0x16] = { 0x17 },
    [0x17] = { U2, STR, BLOB },
    [0x18] = { U2, METHOD, HAS_SEMANTICS },
    [0x19] = { TYPE_DEF, METHOD_DEF_OR_REF, METHOD_DEF_OR_REF },
    [0x1a] = { STR },
    [0x1b] = { BLOB },
    [0x1c] = { U2, MEMBER_FORWARDED, STR, 0x1a },
    [0x1d] = { U4, 0x04 },
    [0x1e] = { U4, U4 },
    [0x1f] = { U4 },
    [0x20] = { U4, U2, U2, U2, U2, U4, BLOB, STR, STR },
    [0x21] = { U4 },
    [0x22] = { U4, U4, U4 },
    [0x23] = { U2, U2, U2, U2, U4, BLOB, STR, STR, BLOB },
    [0x24] = { U4, 0x23 },
    [0x25] = { U4, U4, U4, 0x23 },
    [0x26] = { U4, STR, BLOB },
    [0x27] = { U4, U4, STR, STR, IMPLEMENTATION },
    [0x28] = { U4, U4, STR, IMPLEMENTATION },
    [0x29] = { TYPE_DEF, TYPE_DEF },
};

/* Of the indices into heaps, and into tables, wide ones take 4 bytes. */
enum { WIDE_STRINGS = 1, WIDE_GUIDS = 2, WIDE_BLOBS = 4, MORE_DATA = 0x40 };

static unsigned index_width(const struct sw_clr_tables *t, uint8_t column)
{
    if (!(column & CODED))
        return t->rows[column] > 0xffff ? 4 : 2;
    const unsigned which = column - CODED;
    for (unsigned i = 0; i < coded[which].count; i++)
        if (t->rows[coded[which].tables[i]] >= UINT32_C(1) << (16 - coded[which].bits))
            return 4;
    return 2;
}

static unsigned width(const struct sw_clr_tables *t, uint8_t heap_sizes, uint8_t column)
{
    switch (column) {
    case NONE:
        return 0;
    case U2:
        return 2;
    case U4:
        return 4;
    case STR:
        return heap_sizes & WIDE_STRINGS ? 4 : 2;
    case GUID:
        return heap_sizes & WIDE_GUIDS ? 4 : 2;
    case BLOB:
        return heap_sizes & WIDE_BLOBS ? 4 : 2;
    default:
        return index_width(t, column);
    }
}

static void measure(struct sw_clr_tables *t, uint8_t heap_sizes, uint64_t at)
{
    for (unsigned i = 0; i < TABLES; i++) {
        t->column[i][0] = 0;
        for (unsigned column = 0; column < COLUMNS_MAX; column++)
            t->column[i][column + 1] = (uint8_t)(t->column[i][column] + width(t, heap_sizes, schema[i][column]));
        t->at[i] = at;
        at += (uint64_t)t->rows[i] * t->column[i][COLUMNS_MAX];
    }
    t->size = at;
}

enum sw_status sw_clr_tables_read(struct sw_bytes stream, struct sw_clr_tables *t)
{
    struct sw_cursor c = sw_cursor_over(stream);
    sw_cursor_take(&c, 6);
    const uint8_t heap_sizes = (uint8_t)sw_cursor_u(&c, 1);
    sw_cursor_take(&c, 1);
    const uint64_t valid = sw_cursor_u(&c, 8);
    sw_cursor_take(&c, 8);
    for (unsigned i = 0; i < TABLES_ALL; i++)
        t->rows[i] = valid >> i & 1 ? (uint32_t)sw_cursor_u(&c, 4) : 0;
    if (heap_sizes & MORE_DATA)
        sw_cursor_take(&c, 4);
    measure(t, heap_sizes, stream.size - sw_cursor_left(&c));
    return sw_cursor_ok(&c) ? SW_OK : SW_E_MALFORMED;
}

bool sw_clr_streams(struct sw_cursor *c, unsigned *count)
{
    if (sw_cursor_u(c, 4) != 0x424a5342)
        return false;
    sw_cursor_take(c, 8);
    const uint64_t version = sw_cursor_u(c, 4);
    sw_cursor_take(c, version);
    sw_cursor_take(c, 2);
    const unsigned all = (unsigned)sw_cursor_u(c, 2);
    *count = all < SW_CLR_STREAMS_MAX ? all : SW_CLR_STREAMS_MAX;
    return sw_cursor_ok(c);
}

const char *sw_clr_stream(struct sw_cursor *c, uint32_t *offset, uint32_t *size)
{
    *offset = (uint32_t)sw_cursor_u(c, 4);
    *size = (uint32_t)sw_cursor_u(c, 4);
    const uint64_t from = sw_cursor_left(c);
    const char *name = sw_cursor_string(c);
    sw_cursor_take(c, (4 - (from - sw_cursor_left(c)) % 4) % 4);
    return name;
}
