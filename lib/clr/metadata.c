/*
 * Names from ECMA-335 metadata that lies in memory whole: the #~ tables as far as types and methods need them. Knows
 * the meaning of five; refuses to know their layout (tables.c) and signatures. Follows ECMA-335 II.22. Only compressed
 * tables: #- is written by edit-and-continue and by Reflection.Emit.
 */
#include "clr/format.h"
#include "clr/tables.h"

#include <string.h>

enum { NESTING_MAX = 16 };

struct tables {
    struct sw_bytes strings;
    struct sw_bytes blobs;
    struct sw_bytes bytes; /* the stream of the tables */
    struct sw_clr_tables layout;
};

static struct sw_bytes stream(struct sw_bytes root, const char *wanted)
{
    struct sw_cursor c = sw_cursor_over(root);
    unsigned count = 0;
    if (!sw_clr_streams(&c, &count))
        return (struct sw_bytes){ 0 };
    while (count--) {
        uint32_t offset, size;
        const char *name = sw_clr_stream(&c, &offset, &size);
        if (name && strcmp(name, wanted) == 0)
            return sw_bytes_part(root, offset, size);
    }
    return (struct sw_bytes){ 0 };
}

static enum sw_status open_tables(struct sw_bytes root, struct tables *t)
{
    t->strings = stream(root, "#Strings");
    t->blobs = stream(root, "#Blob");
    t->bytes = stream(root, "#~");
    if (sw_clr_tables_read(t->bytes, &t->layout) != SW_OK || t->layout.size > t->bytes.size)
        return SW_E_MALFORMED;
    return SW_OK;
}

/* A cell. A row that does not exist gives 0, which is no valid index. */
static uint32_t cell(const struct tables *t, unsigned table, uint32_t row, unsigned column)
{
    uint64_t at;
    unsigned size;
    if (!sw_clr_cell(&t->layout, table, row, column, &at, &size))
        return 0;
    return (uint32_t)sw_load_le(t->bytes.bytes + at, size);
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
    uint32_t high = t->layout.rows[table];
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
    const uint32_t row = last_not_above(t, SW_CLR_NESTED, SW_CLR_NESTED_INNER, type);
    return row && cell(t, SW_CLR_NESTED, row, SW_CLR_NESTED_INNER) == type
               ? cell(t, SW_CLR_NESTED, row, SW_CLR_NESTED_OUTER)
               : 0;
}

/* A TypeRef whose scope is another TypeRef (tag 3) is nested in it. */
static uint32_t outer_ref(const struct tables *t, uint32_t type)
{
    const uint32_t scope = cell(t, SW_CLR_TYPE_REF, type, SW_CLR_REF_SCOPE);
    return (scope & 3) == 3 ? scope >> 2 : 0;
}

static void append_type(const struct tables *t, struct text *text, unsigned table, uint32_t type)
{
    uint32_t chain[NESTING_MAX];
    unsigned depth = 0;
    for (; type && depth < NESTING_MAX; depth++) {
        chain[depth] = type;
        type = table == SW_CLR_TYPE_DEF ? outer_type(t, type) : outer_ref(t, type);
    }
    if (depth == 0)
        return;
    const char *space =
        string(t, cell(t, table, chain[depth - 1], table == SW_CLR_TYPE_DEF ? SW_CLR_DEF_SPACE : SW_CLR_REF_SPACE));
    append(text, space);
    append(text, *space ? "." : "");
    while (depth--) {
        append(text,
               string(t, cell(t, table, chain[depth], table == SW_CLR_TYPE_DEF ? SW_CLR_DEF_NAME : SW_CLR_REF_NAME)));
        append(text, depth ? "+" : "");
    }
}

static unsigned of_tag(uint32_t tag)
{
    return tag == 0 ? SW_CLR_TYPE_DEF : tag == 1 ? SW_CLR_TYPE_REF : SW_CLR_TABLES;
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
    if (sw_cursor_ok(&c) && element == 0x15 && of_tag(index & 3) != SW_CLR_TABLES)
        append_type(t, text, of_tag(index & 3), index >> 2);
}

static enum sw_status member_name(const struct tables *t, uint32_t row, struct text *text)
{
    const uint32_t parent = cell(t, SW_CLR_MEMBER_REF, row, SW_CLR_MEMBER_PARENT);
    if (row == 0 || row > t->layout.rows[SW_CLR_MEMBER_REF])
        return SW_E_NOT_FOUND;
    if (of_tag(parent & 7) != SW_CLR_TABLES)
        append_type(t, text, of_tag(parent & 7), parent >> 3);
    else if ((parent & 7) == 4)
        append_spec(t, text, parent >> 3);
    append(text, "::");
    append(text, string(t, cell(t, SW_CLR_MEMBER_REF, row, SW_CLR_MEMBER_NAME)));
    return SW_OK;
}

static enum sw_status method_name(const struct tables *t, uint32_t row, struct text *text)
{
    if (row == 0 || row > t->layout.rows[SW_CLR_METHOD])
        return SW_E_NOT_FOUND;
    append_type(t, text, SW_CLR_TYPE_DEF, last_not_above(t, SW_CLR_TYPE_DEF, SW_CLR_DEF_METHODS, row));
    append(text, "::");
    append(text, string(t, cell(t, SW_CLR_METHOD, row, SW_CLR_METHOD_NAME)));
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
    if (token >> 24 == SW_CLR_METHOD)
        return method_name(&t, token & 0xffffff, &text);
    return token >> 24 == SW_CLR_MEMBER_REF ? member_name(&t, token & 0xffffff, &text) : SW_E_NOT_FOUND;
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
    if (!is_string(&t, cell(&t, SW_CLR_ASSEMBLY, 1, SW_CLR_ASSEMBLY_NAME), assembly))
        return SW_E_NOT_FOUND;
    for (uint32_t row = 1; row <= t.layout.rows[SW_CLR_TYPE_DEF]; row++) {
        if (!is_string(&t, cell(&t, SW_CLR_TYPE_DEF, row, SW_CLR_DEF_NAME), name) ||
            !is_string(&t, cell(&t, SW_CLR_TYPE_DEF, row, SW_CLR_DEF_SPACE), space))
            continue;
        const uint32_t after = row < t.layout.rows[SW_CLR_TYPE_DEF]
                                   ? cell(&t, SW_CLR_TYPE_DEF, row + 1, SW_CLR_DEF_METHODS)
                                   : t.layout.rows[SW_CLR_METHOD] + 1;
        *first = UINT32_C(0x06000000) + cell(&t, SW_CLR_TYPE_DEF, row, SW_CLR_DEF_METHODS);
        *end = UINT32_C(0x06000000) + after;
        return SW_OK;
    }
    return SW_E_NOT_FOUND;
}

enum sw_status sw_clr_metadata_reference(struct sw_bytes root, const char *assembly, uint32_t *number)
{
    struct tables t;
    if (root.size == 0)
        return SW_E_NOT_FOUND;
    enum sw_status status = open_tables(root, &t);
    if (status)
        return status;
    for (uint32_t row = 1; row <= t.layout.rows[SW_CLR_ASSEMBLY_REF]; row++)
        if (is_string(&t, cell(&t, SW_CLR_ASSEMBLY_REF, row, SW_CLR_ASSEMBLY_REF_NAME), assembly)) {
            *number = row - 1;
            return SW_OK;
        }
    return SW_E_NOT_FOUND;
}
