/*
 * Names from ECMA-335 metadata: the #~ tables as far as types and methods need them. Knows the layout of every table
 * (rows must be measured to find the next table) and the meaning of five; refuses to know signatures. Follows ECMA-335
 * II.22 (tables), II.24 (physical layout). Only compressed tables: #- is written by edit-and-continue.
 */
#include "clr/format.h"

#include <string.h>

enum { TYPE_REF = 1, TYPE_DEF = 2, METHOD = 6, MEMBER_REF = 10, ASSEMBLY = 0x20, NESTED = 0x29 };
enum { TABLES = 0x2a, TABLES_ALL = 64, COLUMNS_MAX = 9, NESTING_MAX = 16, STREAMS_MAX = 16 };

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

enum { REF_SCOPE = 0, REF_NAME = 1, REF_SPACE = 2 };
enum { DEF_NAME = 1, DEF_SPACE = 2, DEF_METHODS = 5 };
enum { METHOD_NAME = 3 };
enum { MEMBER_PARENT = 0, MEMBER_NAME = 1 };
enum { ASSEMBLY_NAME = 7 };
enum { NESTED_INNER = 0, NESTED_OUTER = 1 };

struct tables {
    struct sw_bytes strings;
    struct sw_bytes blobs;
    uint8_t heap_sizes; /* bit 0 strings, 1 guids, 2 blobs: wide indices */
    uint32_t rows[TABLES_ALL];
    struct sw_bytes at[TABLES];
};

static unsigned index_width(const struct tables *t, uint8_t column)
{
    if (!(column & CODED))
        return t->rows[column] > 0xffff ? 4 : 2;
    const unsigned which = column - CODED;
    for (unsigned i = 0; i < coded[which].count; i++)
        if (t->rows[coded[which].tables[i]] >= UINT32_C(1) << (16 - coded[which].bits))
            return 4;
    return 2;
}

static unsigned width(const struct tables *t, uint8_t column)
{
    switch (column) {
    case NONE:
        return 0;
    case U2:
        return 2;
    case U4:
        return 4;
    case STR:
        return t->heap_sizes & 1 ? 4 : 2;
    case GUID:
        return t->heap_sizes & 2 ? 4 : 2;
    case BLOB:
        return t->heap_sizes & 4 ? 4 : 2;
    default:
        return index_width(t, column);
    }
}

/* The offset of a column in its row; COLUMNS_MAX gives the row's size. */
static unsigned offset_of(const struct tables *t, unsigned table, unsigned column)
{
    unsigned offset = 0;
    for (unsigned i = 0; i < column; i++)
        offset += width(t, schema[table][i]);
    return offset;
}

static struct sw_bytes stream(struct sw_bytes root, const char *wanted)
{
    struct sw_cursor c = sw_cursor_over(root);
    if (sw_cursor_u(&c, 4) != 0x424a5342)
        return (struct sw_bytes){ 0 };
    sw_cursor_take(&c, 8);
    const uint64_t version = sw_cursor_u(&c, 4);
    sw_cursor_take(&c, version);
    sw_cursor_take(&c, 2);
    const uint64_t count = sw_cursor_u(&c, 2);
    for (uint64_t i = 0; i < count && i < STREAMS_MAX; i++) {
        const uint64_t offset = sw_cursor_u(&c, 4);
        const uint64_t size = sw_cursor_u(&c, 4);
        const uint64_t from = sw_cursor_left(&c);
        const char *name = sw_cursor_string(&c);
        sw_cursor_take(&c, (4 - (from - sw_cursor_left(&c)) % 4) % 4);
        if (name && strcmp(name, wanted) == 0)
            return sw_bytes_part(root, offset, size);
    }
    return (struct sw_bytes){ 0 };
}

static enum sw_status open_tables(struct sw_bytes root, struct tables *t)
{
    struct sw_cursor c = sw_cursor_over(stream(root, "#~"));
    memset(t, 0, sizeof *t);
    t->strings = stream(root, "#Strings");
    t->blobs = stream(root, "#Blob");
    sw_cursor_take(&c, 6);
    t->heap_sizes = (uint8_t)sw_cursor_u(&c, 1);
    sw_cursor_take(&c, 1);
    const uint64_t valid = sw_cursor_u(&c, 8);
    sw_cursor_take(&c, 8);
    for (unsigned i = 0; i < TABLES_ALL; i++)
        if (valid >> i & 1)
            t->rows[i] = (uint32_t)sw_cursor_u(&c, 4);
    if (t->heap_sizes & 0x40)
        sw_cursor_take(&c, 4);
    for (unsigned i = 0; i < TABLES; i++) {
        const uint64_t size = (uint64_t)t->rows[i] * offset_of(t, i, COLUMNS_MAX);
        t->at[i].bytes = sw_cursor_take(&c, size);
        t->at[i].size = size;
    }
    return sw_cursor_ok(&c) ? SW_OK : SW_E_MALFORMED;
}

/* A cell; rows count from 1. A row that does not exist gives 0, which is no valid index. */
static uint32_t cell(const struct tables *t, unsigned table, uint32_t row, unsigned column)
{
    if (row == 0 || row > t->rows[table])
        return 0;
    const uint8_t *from = t->at[table].bytes + (uint64_t)(row - 1) * offset_of(t, table, COLUMNS_MAX);
    return (uint32_t)sw_load_le(from + offset_of(t, table, column), width(t, schema[table][column]));
}

static const char *string(const struct tables *t, uint32_t offset)
{
    if (offset >= t->strings.size)
        return "";
    struct sw_cursor c = sw_cursor_over(sw_bytes_part(t->strings, offset, t->strings.size - offset));
    const char *text = sw_cursor_string(&c);
    return text ? text : "";
}

/* Without looking for the end of what is there: of many rows that share one long string each would. */
static bool is_string(const struct tables *t, uint32_t offset, const char *wanted)
{
    const size_t size = strlen(wanted) + 1;
    const struct sw_bytes found = sw_bytes_part(t->strings, offset, size);
    return found.size == size && memcmp(found.bytes, wanted, size) == 0;
}

struct text {
    char *to;
    size_t left; /* with the final NUL */
};

static void append(struct text *text, const char *more)
{
    while (*more && text->left > 1) {
        *text->to++ = *more++;
        text->left--;
    }
    *text->to = 0;
}

/* The last row whose column is not above value, in a column that ascends such as MethodList; 0: there is none. */
static uint32_t last_not_above(const struct tables *t, unsigned table, unsigned column, uint32_t value)
{
    uint32_t low = 0;
    uint32_t high = t->rows[table];
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (cell(t, table, middle, column) <= value)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static uint32_t outer_type(const struct tables *t, uint32_t type)
{
    const uint32_t row = last_not_above(t, NESTED, NESTED_INNER, type);
    return row && cell(t, NESTED, row, NESTED_INNER) == type ? cell(t, NESTED, row, NESTED_OUTER) : 0;
}

/* A TypeRef whose scope is another TypeRef (tag 3) is nested in it. */
static uint32_t outer_ref(const struct tables *t, uint32_t type)
{
    const uint32_t scope = cell(t, TYPE_REF, type, REF_SCOPE);
    return (scope & 3) == 3 ? scope >> 2 : 0;
}

static void append_type(const struct tables *t, struct text *text, unsigned table, uint32_t type)
{
    uint32_t chain[NESTING_MAX];
    unsigned depth = 0;
    for (; type && depth < NESTING_MAX; depth++) {
        chain[depth] = type;
        type = table == TYPE_DEF ? outer_type(t, type) : outer_ref(t, type);
    }
    if (depth == 0)
        return;
    const char *space = string(t, cell(t, table, chain[depth - 1], table == TYPE_DEF ? DEF_SPACE : REF_SPACE));
    append(text, space);
    append(text, *space ? "." : "");
    while (depth--) {
        append(text, string(t, cell(t, table, chain[depth], table == TYPE_DEF ? DEF_NAME : REF_NAME)));
        append(text, depth ? "+" : "");
    }
}

static unsigned of_tag(uint32_t tag)
{
    return tag == 0 ? TYPE_DEF : tag == 1 ? TYPE_REF : TABLES;
}

/* A TypeSpec's blob: length, then GENERICINST (CLASS | VALUETYPE) TypeDefOrRef ... II.23.2.14, II.23.2.8. */
static void append_spec(const struct tables *t, struct text *text, uint32_t row)
{
    const uint64_t at = cell(t, 0x1b, row, 0);
    if (at >= t->blobs.size)
        return;
    struct sw_cursor c = sw_cursor_over(sw_bytes_part(t->blobs, at, t->blobs.size - at));
    sw_clr_compressed(&c); /* the blob's length */
    const uint64_t element = sw_cursor_u(&c, 1);
    sw_cursor_take(&c, 1);
    const uint32_t index = sw_clr_compressed(&c);
    if (sw_cursor_ok(&c) && element == 0x15 && of_tag(index & 3) != TABLES)
        append_type(t, text, of_tag(index & 3), index >> 2);
}

static enum sw_status member_name(const struct tables *t, uint32_t row, struct text *text)
{
    const uint32_t parent = cell(t, MEMBER_REF, row, MEMBER_PARENT);
    if (row == 0 || row > t->rows[MEMBER_REF])
        return SW_E_NOT_FOUND;
    if (of_tag(parent & 7) != TABLES)
        append_type(t, text, of_tag(parent & 7), parent >> 3);
    else if ((parent & 7) == 4)
        append_spec(t, text, parent >> 3);
    append(text, "::");
    append(text, string(t, cell(t, MEMBER_REF, row, MEMBER_NAME)));
    return SW_OK;
}

static enum sw_status method_name(const struct tables *t, uint32_t row, struct text *text)
{
    if (row == 0 || row > t->rows[METHOD])
        return SW_E_NOT_FOUND;
    append_type(t, text, TYPE_DEF, last_not_above(t, TYPE_DEF, DEF_METHODS, row));
    append(text, "::");
    append(text, string(t, cell(t, METHOD, row, METHOD_NAME)));
    return SW_OK;
}

enum sw_status sw_clr_metadata_name(struct sw_bytes root, uint32_t token, char *name, size_t size)
{
    struct tables t;
    struct text text = { name, size };
    if (root.size == 0)
        return SW_E_NOT_FOUND;
    enum sw_status status = open_tables(root, &t);
    if (status)
        return status;
    if (token >> 24 == METHOD)
        return method_name(&t, token & 0xffffff, &text);
    return token >> 24 == MEMBER_REF ? member_name(&t, token & 0xffffff, &text) : SW_E_NOT_FOUND;
}

enum sw_status sw_clr_metadata_type(struct sw_bytes root, const char *assembly, const char *space, const char *name,
                                    uint32_t *first, uint32_t *end)
{
    struct tables t;
    if (root.size == 0)
        return SW_E_NOT_FOUND;
    enum sw_status status = open_tables(root, &t);
    if (status)
        return status;
    if (!is_string(&t, cell(&t, ASSEMBLY, 1, ASSEMBLY_NAME), assembly))
        return SW_E_NOT_FOUND;
    for (uint32_t row = 1; row <= t.rows[TYPE_DEF]; row++) {
        if (!is_string(&t, cell(&t, TYPE_DEF, row, DEF_NAME), name) ||
            !is_string(&t, cell(&t, TYPE_DEF, row, DEF_SPACE), space))
            continue;
        const uint32_t after = row < t.rows[TYPE_DEF] ? cell(&t, TYPE_DEF, row + 1, DEF_METHODS) : t.rows[METHOD] + 1;
        *first = UINT32_C(0x06000000) + cell(&t, TYPE_DEF, row, DEF_METHODS);
        *end = UINT32_C(0x06000000) + after;
        return SW_OK;
    }
    return SW_E_NOT_FOUND;
}
