/*
 * The public face of lib/clr/names: one object with its memory, the runtime it found, and the parts of a name. Knows
 * what stands in front of what; refuses to know the runtime's structures.
 */
#include <snapwalk/clr_names.h>

#include "clr/names/names.h"
#include "common/alloc.h"

#include <string.h>

enum {
    BYTES_USUAL = 4 << 20,
    BYTES_LEAST = 256 << 10,
    STEPS = 4096,
    PLACES = 1 << 16,
    METHOD_DEF = 0x06000000,
    SLOTS_MAX = 1 << 20
};

/* last: the method that was asked for last: for its name, its file and its place one after the other. */
struct sw_clr_names {
    struct sw_alloc alloc;
    struct sw_names names;
    struct sw_names_method last;
    size_t size;
    bool found;
};

/* The most slots that fit behind the object and the modules. */
static uint32_t slots_in(size_t bytes)
{
    const size_t a_slot = SW_PAGES_SLOT_BYTES(SW_NAMES_PAGE);
    uint32_t slots = 1;
    while (slots < SLOTS_MAX && 2 * slots * a_slot <= bytes)
        slots *= 2;
    return slots;
}

enum sw_status sw_clr_names_create(const struct sw_alloc *alloc, const struct sw_memory *memory, size_t bytes,
                                   struct sw_clr_names **out)
{
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    const size_t most = bytes ? bytes : BYTES_USUAL, modules = SW_NAMES_MODULES * sizeof(struct sw_names_metadata);
    if (!memory || !out || !sw_alloc_usable(alloc) || most < BYTES_LEAST)
        return SW_E_ARGUMENT;
    const uint32_t slots = slots_in(most - sizeof **out - modules);
    const size_t front = sizeof **out + modules + slots * sizeof(struct sw_page_slot);
    const size_t size = front + (size_t)slots * SW_NAMES_PAGE;
    uint8_t *block = from.get(from.arg, size);
    if (!block)
        return SW_E_NO_MEMORY;
    struct sw_clr_names *made = (void *)block;
    memset(block, 0, front);
    made->alloc = from;
    made->size = size;
    struct sw_names *n = &made->names;
    n->modules = (void *)(block + sizeof *made);
    n->pages = (struct sw_pages){ .target = *memory,
                                  .page_bytes = SW_NAMES_PAGE,
                                  .count = slots,
                                  .slots = (void *)(block + sizeof *made + modules),
                                  .bytes = block + front };
    n->memory = sw_pages_memory(&n->pages);
    *out = made;
    return SW_OK;
}

void sw_clr_names_destroy(struct sw_clr_names *names)
{
    if (names)
        names->alloc.put(names->alloc.arg, names, names->size);
}

enum sw_status sw_clr_names_attach(struct sw_clr_names *names, uint64_t address)
{
    if (!names)
        return SW_E_ARGUMENT;
    struct sw_names tried = names->names;
    const enum sw_status status = sw_names_open(&tried, address, &names->alloc);
    if (status != SW_OK)
        return status;
    names->names = tried;
    names->last.desc = 0;
    names->found = true;
    return SW_OK;
}

unsigned sw_clr_names_release(const struct sw_clr_names *names)
{
    return names && names->found ? names->names.release : 0;
}

void sw_clr_names_renew(struct sw_clr_names *names)
{
    if (!names)
        return;
    sw_pages_forget(&names->names.pages);
    memset(names->names.modules, 0, SW_NAMES_MODULES * sizeof *names->names.modules);
    names->last.desc = 0;
}

/* As pages are kept, so is what was read of a method in them. */
static enum sw_status read_method(struct sw_clr_names *names, uint64_t desc, struct sw_names_method *method)
{
    if (desc && names->last.desc == desc) {
        *method = names->last;
        return SW_OK;
    }
    const enum sw_status status = sw_names_read_method(&names->names, desc, method);
    if (status == SW_OK)
        names->last = *method;
    return status;
}

enum sw_status sw_clr_names_find(struct sw_clr_names *names, uint64_t pc, uint64_t entry, struct sw_range *range)
{
    uint64_t method;
    if (!names || !range)
        return SW_E_ARGUMENT;
    if (!names->found)
        return SW_E_NOT_FOUND;
    const struct sw_names *n = &names->names;
    if (sw_clr_find_code(&n->layout, &n->memory, pc, range))
        return SW_OK;
    if (entry == 0 || !sw_clr_find_entry(&n->layout, &n->memory, entry, &method))
        return SW_E_NOT_FOUND;
    *range = (struct sw_range){ .begin = entry, .end = pc + 1, .id = method, .kind = SW_KIND_NGEN };
    return SW_OK;
}

enum sw_status sw_clr_names_find_precompiled(struct sw_clr_names *names, uint64_t pc, struct sw_range *range)
{
    uint64_t base, end, entry, method;
    if (!names || !range)
        return SW_E_ARGUMENT;
    const struct sw_names *n = &names->names;
    if (!names->found || !n->layout.has_entries || !sw_clr_find_precompiled(&n->layout, &n->memory, pc, &base, &end) ||
        pc < base || pc >= end || !sw_names_image_entry(n, base, pc, &entry, &method))
        return SW_E_NOT_FOUND;
    *range = (struct sw_range){ .begin = entry, .end = pc + 1, .id = method, .kind = SW_KIND_NGEN };
    return SW_OK;
}

enum sw_status sw_clr_names_image(struct sw_clr_names *names, uint64_t pc, uint64_t *begin, uint64_t *end)
{
    if (!names || !begin || !end)
        return SW_E_ARGUMENT;
    const struct sw_names *n = &names->names;
    return names->found && sw_clr_find_precompiled(&n->layout, &n->memory, pc, begin, end) ? SW_OK : SW_E_NOT_FOUND;
}

/* The next part of the buffer: `text` begins where that ends which was written last. */
static const char *begin_part(struct sw_names_text *text)
{
    if (text->at < text->end && text->at != text->begin)
        text->at++;
    text->begin = text->at;
    *text->at = 0;
    return text->begin;
}

static const char *copy_part(struct sw_names_text *text, const char *from)
{
    const char *begin = begin_part(text);
    sw_names_put(text, from);
    if (text->at == text->begin && text->at < text->end)
        *++text->at = 0; /* an empty part has its NUL, too */
    return begin;
}

static enum sw_status dynamic_name(const struct sw_names *n, const struct sw_names_method *method,
                                   char text[SW_NAMES_STRING])
{
    const size_t got = sw_memory_read(&n->memory, method->name, text, SW_NAMES_STRING - 1);
    text[got] = 0;
    return got ? SW_OK : SW_E_UNREADABLE;
}

/* Of a method with a row. */
static enum sw_status write_name(struct sw_names_writer *w, const struct sw_names_metadata *m,
                                 const struct sw_names_method *method, unsigned flags, struct sw_clr_name *name)
{
    struct sw_names *n = w->names;
    char text[SW_NAMES_STRING];
    uint32_t type = method->type_row;
    const bool runtime = flags & SW_CLR_NAMES_RUNTIME;
    if (method->row == 0 || method->row > m->layout.rows[SW_CLR_METHOD] ||
        !sw_names_string(n, m, sw_names_cell(n, m, SW_CLR_METHOD, method->row, SW_CLR_METHOD_NAME), text))
        return SW_E_MALFORMED;
    if (!(flags & (SW_CLR_NAMES_RAW | SW_CLR_NAMES_RUNTIME)))
        name->is_resumed = sw_names_written(n, m, &type, text);
    name->type = begin_part(w->text);
    const uint32_t used = sw_names_write_type(w, m, SW_CLR_TYPE_DEF, type, "+", &method->type_arguments);
    const bool of_type = type == method->type_row;
    if (of_type)
        sw_names_write_arguments(w, &method->type_arguments, used);
    name->method = begin_part(w->text);
    sw_names_put(w->text, text);
    if (!of_type)
        sw_names_write_arguments(w, &method->type_arguments, used);
    if (!runtime)
        sw_names_write_arguments(w, &method->arguments, 0);
    return SW_OK;
}

static enum sw_status write_signature(struct sw_names_writer *w, const struct sw_names_metadata *m,
                                      const struct sw_names_method *method, struct sw_clr_name *name)
{
    char result[SW_NAMES_STRING] = "";
    struct sw_names_text back = { result, result, result + sizeof result - 1, false };
    uint64_t address = method->signature;
    uint32_t size = method->signature_size;
    const bool dynamic = method->kind == SW_NAMES_CLASS_DYNAMIC;
    if (!dynamic &&
        !sw_names_blob(w->names, m, sw_names_cell(w->names, m, SW_CLR_METHOD, method->row, SW_CLR_METHOD_SIGNATURE),
                       &address, &size))
        return SW_E_MALFORMED;
    name->parameters = begin_part(w->text);
    const enum sw_status status =
        sw_names_write_signature(w, m, address, size, &method->type_arguments, &method->arguments, &back);
    name->result = copy_part(w->text, result);
    return status == SW_E_TRUNCATED ? SW_OK : status;
}

enum sw_status sw_clr_names_method(struct sw_clr_names *names, uint64_t desc, unsigned flags, char *buffer, size_t size,
                                   struct sw_clr_name *name)
{
    const struct sw_names_metadata *found;
    struct sw_names_method method;
    char text[SW_NAMES_STRING];
    if (!names || !buffer || size < 2 || !name)
        return SW_E_ARGUMENT;
    *name = (struct sw_clr_name){ "", "", "", "", "", false, false, false };
    if (!names->found)
        return SW_E_NOT_FOUND;
    struct sw_names *n = &names->names;
    n->steps = STEPS;
    enum sw_status status = read_method(names, desc, &method);
    if (status == SW_OK)
        status = sw_names_metadata_of(n, method.module, &found);
    if (status != SW_OK)
        return status;
    const struct sw_names_metadata m = *found; /* other modules may take its place */
    struct sw_names_text place = { buffer, buffer, buffer + size - 1, false };
    struct sw_names_writer w = { n, &place, flags & SW_CLR_NAMES_RUNTIME ? SW_NAMES_RUNTIME : SW_NAMES_READABLE };
    if (!sw_names_assembly(n, &m, text))
        return SW_E_MALFORMED;
    name->module = copy_part(&place, text);
    name->is_dynamic = method.kind == SW_NAMES_CLASS_DYNAMIC;
    if (!name->is_dynamic) {
        status = write_name(&w, &m, &method, flags, name);
    } else if ((status = dynamic_name(n, &method, text)) == SW_OK) {
        name->type = copy_part(&place, "dynamicClass");
        name->method = copy_part(&place, text);
    }
    if (status == SW_OK && !(flags & SW_CLR_NAMES_BARE) && !name->is_resumed)
        status = write_signature(&w, &m, &method, name);
    name->is_cut = place.cut;
    return status == SW_OK && n->steps == 0 ? SW_E_LIMIT : status;
}

/* What a method is, and the metadata that has its row. */
static bool find_row(struct sw_clr_names *names, uint64_t desc, struct sw_names_method *method,
                     const struct sw_names_metadata **found)
{
    names->names.steps = PLACES;
    return read_method(names, desc, method) == SW_OK && method->kind != SW_NAMES_CLASS_DYNAMIC && method->row &&
           sw_names_metadata_of(&names->names, method->module, found) == SW_OK;
}

enum sw_status sw_clr_names_file(struct sw_clr_names *names, uint64_t desc, uint64_t *image, char *path, size_t size)
{
    const struct sw_names_metadata *found;
    struct sw_names_method method;
    if (!names || !image || (path && size == 0))
        return SW_E_ARGUMENT;
    if (!names->found || !find_row(names, desc, &method, &found))
        return SW_E_NOT_FOUND;
    *image = found->base;
    if (path && sw_names_path(&names->names, method.module, path, size) != SW_OK)
        path[0] = 0;
    return SW_OK;
}

enum sw_status sw_clr_names_place(struct sw_clr_names *names, uint64_t pc, const struct sw_range *range,
                                  struct sw_clr_place *place)
{
    const struct sw_names_metadata *found;
    struct sw_names_method method;
    if (!names || !range || !place)
        return SW_E_ARGUMENT;
    *place = (struct sw_clr_place){ 0 };
    if (!names->found || !find_row(names, range->id, &method, &found))
        return SW_E_NOT_FOUND;
    place->image = found->base;
    place->token = METHOD_DEF | method.row;
    return sw_names_place(&names->names, pc, range, &place->il_offset);
}
