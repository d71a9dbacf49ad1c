/*
 * Types as text: of rows, with outer types, and of handles, with their arguments. Knows both ways of writing; what is
 * longer than its place is cut. Source: clr-names.md sections 3 and 7; the runtime's perf maps.
 */
#include "clr/names/names.h"

#include <string.h>

enum { DESC = 2, POINTER = 0xf, BYREF = 0x10, NATIVE = 0x11, VARIABLE = 0x13, FUNCTION = 0x1b, METHOD_VARIABLE = 0x1e };
enum { CATEGORY = 0xc0000, ARRAY = 0x80000, VECTOR = 0x20000, RANK_MAX = 32, PARAMETERS_MAX = 64 };

void sw_names_put_part(struct sw_names_text *text, const char *more, size_t size)
{
    const size_t room = (size_t)(text->end - text->at), part = size < room ? size : room;
    memcpy(text->at, more, part);
    text->at += part;
    *text->at = 0;
    text->cut |= part < size;
}

void sw_names_put(struct sw_names_text *text, const char *more)
{
    sw_names_put_part(text, more, strlen(more));
}

void sw_names_put_number(struct sw_names_text *text, uint64_t number, unsigned base)
{
    char digits[24];
    size_t at = sizeof digits;
    do
        digits[--at] = "0123456789abcdef"[number % base];
    while ((number /= base) != 0);
    sw_names_put_part(text, digits + at, sizeof digits - at);
}

static bool pay(struct sw_names_writer *w)
{
    if (w->names->steps == 0 || w->text->cut)
        return false;
    w->names->steps--;
    return true;
}

static void write_arguments(struct sw_names_writer *w, const struct sw_names_arguments *arguments, uint32_t first,
                            uint32_t count, unsigned depth)
{
    const bool runtime = w->style == SW_NAMES_RUNTIME;
    for (uint32_t i = 0; i < count && pay(w); i++) {
        uint64_t handle;
        sw_names_put(w->text, i ? (runtime ? "," : ", ") : (runtime ? "[" : "<"));
        if (!sw_names_u(w->names, arguments->at + 8 * (uint64_t)(first + i), 8, &handle) ||
            !sw_names_write_handle(w, handle, depth + 1))
            sw_names_put(w->text, "?");
    }
    if (count)
        sw_names_put(w->text, runtime ? "]" : ">");
}

/* "Name`2" as "Name<A, B>": takes so many arguments. */
static void write_name(struct sw_names_writer *w, const char *name, const struct sw_names_arguments *arguments,
                       uint32_t *used, unsigned depth)
{
    const char *tick = w->style == SW_NAMES_READABLE && arguments ? strrchr(name, '`') : NULL;
    uint32_t count = 0;
    for (const char *c = tick ? tick + 1 : ""; *c >= '0' && *c <= '9' && count < 1000; c++)
        count = 10 * count + (uint32_t)(*c - '0');
    if (!tick || count == 0 || count > arguments->count - *used) {
        sw_names_put(w->text, name);
        return;
    }
    sw_names_put_part(w->text, name, (size_t)(tick - name));
    write_arguments(w, arguments, *used, count, depth);
    *used += count;
}

/* "<File>F<hash>__Type", of a type that only one file sees, as "Type". */
static const char *plain_name(const struct sw_names_writer *w, const char *name)
{
    const char *end = w->style == SW_NAMES_READABLE && *name == '<' ? strstr(name, ">F") : NULL;
    const char *line = end ? strstr(end, "__") : NULL;
    return line && line[2] ? line + 2 : name;
}

static void write_row(struct sw_names_writer *w, const struct sw_names_metadata *m, unsigned table, uint32_t row,
                      const char *nested, const struct sw_names_arguments *arguments, uint32_t *used, unsigned depth)
{
    uint32_t chain[SW_NAMES_DEPTH];
    char name[SW_NAMES_STRING];
    unsigned levels = 0;
    const bool is_def = table == SW_CLR_TYPE_DEF;
    for (; row && levels < SW_NAMES_DEPTH && pay(w); levels++) {
        chain[levels] = row;
        const uint32_t scope = is_def ? 0 : sw_names_cell(w->names, m, table, row, SW_CLR_REF_SCOPE);
        row = is_def ? sw_names_outer(w->names, m, row) : (scope & 3) == 3 ? scope >> 2 : 0;
    }
    if (levels == 0)
        return;
    const unsigned space = is_def ? SW_CLR_DEF_SPACE : SW_CLR_REF_SPACE;
    if (sw_names_string(w->names, m, sw_names_cell(w->names, m, table, chain[levels - 1], space), name) && *name) {
        sw_names_put(w->text, name);
        sw_names_put(w->text, ".");
    }
    while (levels--) {
        const uint32_t at =
            sw_names_cell(w->names, m, table, chain[levels], is_def ? SW_CLR_DEF_NAME : SW_CLR_REF_NAME);
        if (!sw_names_string(w->names, m, at, name))
            sw_names_put(w->text, "?");
        else
            write_name(w, plain_name(w, name), arguments, used, depth);
        sw_names_put(w->text, levels ? nested : "");
    }
}

static void write_with_arguments(struct sw_names_writer *w, const struct sw_names_metadata *m, unsigned table,
                                 uint32_t row, const char *nested, const struct sw_names_arguments *arguments,
                                 unsigned depth)
{
    uint32_t used = 0;
    write_row(w, m, table, row, nested, arguments, &used, depth);
    if (arguments && arguments->count > used)
        write_arguments(w, arguments, used, arguments->count - used, depth);
}

uint32_t sw_names_write_type(struct sw_names_writer *w, const struct sw_names_metadata *m, unsigned table, uint32_t row,
                             const char *nested, const struct sw_names_arguments *arguments)
{
    uint32_t used = 0;
    write_row(w, m, table, row, nested, arguments, &used, 0);
    return used;
}

void sw_names_write_arguments(struct sw_names_writer *w, const struct sw_names_arguments *arguments, uint32_t first)
{
    if (first < arguments->count)
        write_arguments(w, arguments, first, arguments->count - first, 0);
}

static bool write_variable(struct sw_names_writer *w, uint64_t desc, bool of_method)
{
    uint64_t token;
    sw_names_put(w->text, of_method ? "!!" : "!");
    if (!sw_names_field(w->names, desc, SW_NAMES_VARIABLE_TOKEN, 4, &token))
        return false;
    sw_names_put_number(w->text, token & 0xffffff, 10);
    return true;
}

static bool write_function(struct sw_names_writer *w, uint64_t desc, unsigned depth)
{
    uint64_t count, handle;
    if (!sw_names_field(w->names, desc, SW_NAMES_POINTER_COUNT, 4, &count) || count > PARAMETERS_MAX)
        return false;
    const uint64_t types = desc + w->names->at[SW_NAMES_POINTER_TYPES];
    for (uint64_t i = 0; i <= count && pay(w); i++) {
        if (!sw_names_u(w->names, types + 8 * i, 8, &handle) || !sw_names_write_handle(w, handle, depth + 1))
            return false;
        sw_names_put(w->text, i == 0 ? "(" : i < count ? "," : "");
    }
    sw_names_put(w->text, ")");
    return true;
}

static bool write_desc(struct sw_names_writer *w, uint64_t desc, unsigned depth)
{
    uint64_t kind, inner;
    if (!sw_names_field(w->names, desc, SW_NAMES_DESC_KIND, 4, &kind))
        return false;
    kind &= 0xff;
    if (kind == VARIABLE || kind == METHOD_VARIABLE)
        return write_variable(w, desc, kind == METHOD_VARIABLE);
    if (kind == FUNCTION)
        return write_function(w, desc, depth);
    if ((kind != POINTER && kind != BYREF && kind != NATIVE) ||
        !sw_names_field(w->names, desc, SW_NAMES_DESC_TYPE, 8, &inner) || !sw_names_write_handle(w, inner, depth + 1))
        return false;
    sw_names_put(w->text, kind == POINTER ? "*" : kind == BYREF ? "&" : "");
    return true;
}

static bool write_array(struct sw_names_writer *w, uint64_t table, uint64_t flags, unsigned depth)
{
    uint64_t element, class, rank = 1;
    if (!sw_names_field(w->names, table, SW_NAMES_TABLE_ARGUMENTS, 8, &element))
        return false;
    if ((flags & VECTOR) == 0 &&
        (!sw_names_field(w->names, table, SW_NAMES_TABLE_CLASS, 8, &class) || (class & 1) ||
         !sw_names_field(w->names, class, SW_NAMES_CLASS_RANK, 1, &rank) || rank == 0 || rank > RANK_MAX))
        return false;
    if (!sw_names_write_handle(w, element, depth + 1))
        return false;
    sw_names_put(w->text, rank == 1 && (flags & VECTOR) == 0 ? "[*" : "[");
    for (uint64_t i = 1; i < rank; i++)
        sw_names_put(w->text, ",");
    sw_names_put(w->text, "]");
    return true;
}

bool sw_names_write_handle(struct sw_names_writer *w, uint64_t handle, unsigned depth)
{
    const struct sw_names_metadata *m;
    struct sw_names_arguments arguments;
    uint64_t flags, module;
    uint32_t row;
    if (depth > SW_NAMES_DEPTH || !pay(w))
        return false;
    if (handle & DESC)
        return write_desc(w, handle & ~UINT64_C(3), depth);
    if (!sw_names_field(w->names, handle, SW_NAMES_TABLE_FLAGS, 4, &flags))
        return false;
    if ((flags & CATEGORY) == ARRAY)
        return write_array(w, handle, flags, depth);
    if (!sw_names_table_module(w->names, handle, &module) || sw_names_metadata_of(w->names, module, &m) != SW_OK ||
        !sw_names_table_row(w->names, handle, &row) || !sw_names_table_arguments(w->names, handle, &arguments))
        return false;
    const struct sw_names_metadata kept = *m; /* the arguments' modules may take its place */
    write_with_arguments(w, &kept, SW_CLR_TYPE_DEF, row, "+", &arguments, depth);
    return true;
}
