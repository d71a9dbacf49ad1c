/*
 * Method signatures as text. Knows the grammar of ECMA-335 II.23.2 and the elements that dynamic code has in addition,
 * which hold a type by its handle; refuses to resolve references: a reference is its name. Source: ECMA-335 II.23.2;
 * clr-names.md sections 4 and 5; the runtime's perf maps (how the runtime writes each element).
 */
#include "clr/names/names.h"

enum {
    BYTES_MAX = 2048,
    PARAMETERS_MAX = 1024,
    GENERIC = 0x10,
    INSTANCE = 0x20,
    CONVENTION = 0xf,
    UNMANAGED = 9,
    VARARG = 5
};

/* What follows an element. */
enum shape {
    BAD,
    WORD,
    PREFIX_OF,
    ROW,
    NUMBER,
    MATRIX,
    GENERIC_OF,
    FUNCTION,
    VECTOR,
    MODIFIED,
    HANDLE,
    MODIFIED_HANDLE,
    SKIP
};

static const struct element {
    uint8_t shape;
    const char *runtime, *readable;
} elements[] = {
    [0x01] = { WORD, "void", "void" },
    [0x02] = { WORD, "bool", "bool" },
    [0x03] = { WORD, "char", "char" },
    [0x04] = { WORD, "int8", "sbyte" },
    [0x05] = { WORD, "uint8", "byte" },
    [0x06] = { WORD, "int16", "short" },
    [0x07] = { WORD, "uint16", "ushort" },
    [0x08] = { WORD, "int32", "int" },
    [0x09] = { WORD, "uint32", "uint" },
    [0x0a] = { WORD, "int64", "long" },
    [0x0b] = { WORD, "uint64", "ulong" },
    [0x0c] = { WORD, "float32", "float" },
    [0x0d] = { WORD, "float64", "double" },
    [0x0e] = { WORD, "string", "string" },
    [0x0f] = { PREFIX_OF, "*", "*" },
    [0x10] = { PREFIX_OF, "&", "&" },
    [0x11] = { ROW, "valuetype ", "" },
    [0x12] = { ROW, "class ", "" },
    [0x13] = { NUMBER, "!", "!" },
    [0x14] = { MATRIX, "", "" },
    [0x15] = { GENERIC_OF, "", "" },
    [0x16] = { WORD, "typedref", "System.TypedReference" },
    [0x18] = { WORD, "native int", "nint" },
    [0x19] = { WORD, "native uint", "nuint" },
    [0x1b] = { FUNCTION, "method ", "delegate* " },
    [0x1c] = { WORD, "object", "object" },
    [0x1d] = { VECTOR, "[]", "[]" },
    [0x1e] = { NUMBER, "!!", "!!" },
    [0x1f] = { MODIFIED, " modreq(", "" },
    [0x20] = { MODIFIED, " modopt(", "" },
    [0x21] = { HANDLE, "", "" },
    [0x22] = { MODIFIED_HANDLE, "", "" },
    [0x41] = { SKIP, "", "" },
    [0x45] = { SKIP, "", "" },
};

struct state {
    struct sw_names_writer *w;
    const struct sw_names_metadata *m;
    const struct sw_names_arguments *type, *method;
    struct sw_cursor c;
};

static bool write_type(struct state *s, unsigned depth);

static bool is_runtime(const struct state *s)
{
    return s->w->style == SW_NAMES_RUNTIME;
}

static void put(struct state *s, const char *text)
{
    sw_names_put(s->w->text, text);
}

static uint32_t number(struct state *s)
{
    const uint32_t first = (uint32_t)sw_cursor_u(&s->c, 1);
    if (first < 0x80)
        return first;
    const uint32_t second = (uint32_t)sw_cursor_u(&s->c, 1);
    if (first < 0xc0)
        return (first & 0x3f) << 8 | second;
    const uint32_t third = (uint32_t)sw_cursor_u(&s->c, 1);
    return (first & 0x1f) << 24 | second << 16 | third << 8 | (uint32_t)sw_cursor_u(&s->c, 1);
}

/* "[Assembly]", of the outermost type of a reference. */
static void write_scope(struct state *s, uint32_t row)
{
    char name[SW_NAMES_STRING];
    uint32_t scope = sw_names_cell(s->w->names, s->m, SW_CLR_TYPE_REF, row, SW_CLR_REF_SCOPE);
    for (unsigned i = 0; (scope & 3) == 3 && i < SW_NAMES_DEPTH; i++)
        scope = sw_names_cell(s->w->names, s->m, SW_CLR_TYPE_REF, scope >> 2, SW_CLR_REF_SCOPE);
    const unsigned table = (scope & 3) == 2 ? SW_CLR_ASSEMBLY_REF : (scope & 3) == 1 ? SW_CLR_MODULE_REF : 0;
    if (table == 0)
        return;
    const unsigned column = table == SW_CLR_ASSEMBLY_REF ? SW_CLR_ASSEMBLY_REF_NAME : SW_CLR_MODULE_REF_NAME;
    if (!sw_names_string(s->w->names, s->m, sw_names_cell(s->w->names, s->m, table, scope >> 2, column), name))
        return;
    put(s, table == SW_CLR_MODULE_REF ? "[.module " : "[");
    put(s, name);
    put(s, "]");
}

static bool write_row(struct state *s, uint32_t token)
{
    const uint32_t row = token >> 2;
    if (!s->m || (token & 3) > 1)
        return false;
    if ((token & 3) == 1 && is_runtime(s))
        write_scope(s, row);
    sw_names_write_type(s->w, s->m, (token & 3) == 1 ? SW_CLR_TYPE_REF : SW_CLR_TYPE_DEF, row,
                        is_runtime(s) ? "/" : "+", NULL);
    return true;
}

/* The runtime says with each type by handle where its MethodTable is. */
static bool write_handle(struct state *s, unsigned depth)
{
    const uint64_t handle = sw_cursor_u(&s->c, 8);
    if (!sw_cursor_ok(&s->c))
        return false;
    (void)depth;
    if (!is_runtime(s))
        return sw_names_write_handle(s->w, handle, 0);
    const struct sw_names_metadata *m;
    uint64_t module;
    uint32_t row;
    if ((handle & 2) || !sw_names_table_module(s->w->names, handle, &module) ||
        !sw_names_table_row(s->w->names, handle, &row) || sw_names_metadata_of(s->w->names, module, &m) != SW_OK)
        return sw_names_write_handle(s->w, handle, 0);
    const struct sw_names_metadata kept = *m;
    struct sw_names_arguments none = { 0, 0 };
    sw_names_write_type(s->w, &kept, SW_CLR_TYPE_DEF, row, "/", &none);
    put(s, " /* MT: 0x");
    sw_names_put_number(s->w->text, handle, 16);
    put(s, " */");
    return true;
}

static bool write_variable(struct state *s, const struct element *e, bool of_method)
{
    const struct sw_names_arguments *arguments = of_method ? s->method : s->type;
    const uint32_t index = number(s);
    uint64_t handle;
    if (!is_runtime(s) && index < arguments->count &&
        sw_names_u(s->w->names, arguments->at + 8 * (uint64_t)index, 8, &handle) &&
        sw_names_write_handle(s->w, handle, 0))
        return true;
    put(s, e->runtime);
    sw_names_put_number(s->w->text, index, 10);
    return true;
}

/* "[0...,0...]": the runtime shows lower bounds; sizes where there are some. */
static bool write_matrix(struct state *s, unsigned depth)
{
    uint32_t sizes[32], bounds[32];
    if (!write_type(s, depth))
        return false;
    const uint32_t rank = number(s), size_count = number(s);
    if (rank == 0 || rank > 32 || size_count > rank)
        return false;
    for (uint32_t i = 0; i < size_count; i++)
        sizes[i] = number(s);
    const uint32_t bound_count = number(s);
    if (bound_count > rank)
        return false;
    for (uint32_t i = 0; i < bound_count; i++) {
        const uint32_t raw = number(s);
        bounds[i] = raw >> 1;
    }
    put(s, "[");
    for (uint32_t i = 0; i < rank; i++) {
        put(s, i ? "," : "");
        if (!is_runtime(s) || i >= bound_count)
            continue;
        sw_names_put_number(s->w->text, bounds[i], 10);
        put(s, "...");
        if (i < size_count)
            sw_names_put_number(s->w->text, bounds[i] + sizes[i] - 1, 10);
    }
    put(s, "]");
    return sw_cursor_ok(&s->c);
}

static bool write_generic(struct state *s, unsigned depth)
{
    struct sw_names_text *text = s->w->text;
    const char *from = text->at;
    if (!write_type(s, depth))
        return false;
    if (!is_runtime(s)) { /* "List`1" is "List<..>" */
        char *tick = text->at;
        while (tick > from && *tick != '`')
            tick--;
        if (*tick == '`') {
            text->at = tick;
            *tick = 0;
        }
    }
    const uint32_t count = number(s);
    put(s, "<");
    for (uint32_t i = 0; i < count && i < PARAMETERS_MAX; i++) {
        put(s, i ? (is_runtime(s) ? "," : ", ") : "");
        if (!write_type(s, depth))
            return false;
    }
    put(s, ">");
    return true;
}

static bool write_function(struct state *s, const struct element *e, unsigned depth)
{
    const uint32_t convention = number(s);
    if (convention & GENERIC)
        (void)number(s);
    const uint32_t count = number(s);
    put(s, is_runtime(s) ? e->runtime : e->readable);
    put(s, (convention & CONVENTION) == UNMANAGED ? "unmanaged " : "");
    if (!write_type(s, depth))
        return false;
    put(s, is_runtime(s) ? " *(" : "(");
    for (uint32_t i = 0; i < count && i < PARAMETERS_MAX; i++) {
        put(s, i ? (is_runtime(s) ? "," : ", ") : "");
        if (!write_type(s, depth))
            return false;
    }
    put(s, ")");
    return true;
}

/* The runtime writes modifiers behind the type that they modify. */
static bool write_modified(struct state *s, const struct element *e, unsigned depth)
{
    const uint32_t token = number(s);
    if (!write_type(s, depth))
        return false;
    if (!is_runtime(s))
        return true;
    put(s, e->runtime);
    if (!write_row(s, token))
        return false;
    put(s, ")");
    return true;
}

static bool write_type(struct state *s, unsigned depth)
{
    const uint64_t kind = sw_cursor_u(&s->c, 1);
    if (!sw_cursor_ok(&s->c) || depth >= SW_NAMES_DEPTH || kind >= sizeof elements / sizeof elements[0] ||
        s->w->names->steps == 0 || s->w->text->cut)
        return false;
    s->w->names->steps--;
    const struct element *e = &elements[kind];
    const char *word = is_runtime(s) ? e->runtime : e->readable;
    switch ((enum shape)e->shape) {
    case WORD:
        put(s, word);
        return true;
    case PREFIX_OF:
    case VECTOR:
        if (!write_type(s, depth + 1))
            return false;
        put(s, word);
        return true;
    case ROW:
        put(s, word);
        return write_row(s, number(s));
    case NUMBER:
        return write_variable(s, e, kind == 0x1e);
    case MATRIX:
        return write_matrix(s, depth + 1);
    case GENERIC_OF:
        return write_generic(s, depth + 1);
    case FUNCTION:
        return write_function(s, e, depth + 1);
    case MODIFIED:
        return write_modified(s, e, depth + 1);
    case MODIFIED_HANDLE:
        (void)sw_cursor_take(&s->c, 9);
        return write_type(s, depth + 1);
    case HANDLE:
        return write_handle(s, depth);
    case SKIP:
        return write_type(s, depth + 1);
    case BAD:
        break;
    }
    return false;
}

enum sw_status sw_names_write_signature(struct sw_names_writer *w, const struct sw_names_metadata *m, uint64_t address,
                                        uint32_t size, const struct sw_names_arguments *type,
                                        const struct sw_names_arguments *method, struct sw_names_text *result)
{
    uint8_t bytes[BYTES_MAX];
    struct sw_names_text *parameters = w->text;
    if (size == 0 || size > sizeof bytes)
        return SW_E_LIMIT;
    if (sw_memory_read(&w->names->memory, address, bytes, size) != size)
        return SW_E_UNREADABLE;
    struct state s = { w, m, type, method, sw_cursor_over((struct sw_bytes){ bytes, size, address }) };
    const uint32_t convention = number(&s);
    if (convention & GENERIC)
        (void)number(&s);
    const uint32_t count = number(&s);
    w->text = result;
    put(&s, (convention & INSTANCE) && is_runtime(&s) ? "instance " : "");
    const bool whole = write_type(&s, 0);
    w->text = parameters;
    put(&s, "(");
    for (uint32_t i = 0; whole && i < count && i < PARAMETERS_MAX; i++) {
        put(&s, i ? (is_runtime(&s) ? "," : ", ") : "");
        if (!write_type(&s, 0))
            return parameters->cut ? SW_E_TRUNCATED : SW_E_MALFORMED;
    }
    put(&s, (convention & CONVENTION) == VARARG ? (count ? ",...)" : "...)") : ")");
    return whole ? SW_OK : SW_E_MALFORMED;
}
