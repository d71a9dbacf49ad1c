/*
 * ReadyToRun images: finds the header and its sections, and makes the index of runtime functions that begin a method,
 * so that funclets and cold parts are attributed to the right one. Knows sections 102, 103, 109, 112, 115, 116, 120 and
 * no others; refuses to know fixups, GC info and debug info. Follows win-x64-unwind.md sections 7 and 8 and the .NET
 * runtime's ReadyToRun format document (major versions 9, 10
 * and 16).
 */
#include "clr/clr.h"
#include "clr/format.h"

#include <string.h>

enum {
    SECTION_FUNCTIONS = 102,
    SECTION_METHODS = 103,
    SECTION_INSTANCES = 109,
    SECTION_MANIFEST = 112,
    SECTION_COMPONENTS = 115,
    SECTION_OWNER = 116,
    SECTION_COLD = 120,
    SECTION_SIZE = 12,
    COMPONENT_SIZE = 16,
    CLI_HEADER_SIZE = 72,
    HEADER_SIZE = 16,
    CORE_HEADER_SIZE = 8,
    STEPS_A_BYTE = 2
};

#define METHOD_TOKENS UINT32_C(0x06000000)

static const uint32_t no_method = UINT32_MAX;

/* Entry number `index` of section 102. */
static const uint8_t *entry_at(const struct sw_clr_image *image, uint64_t index)
{
    const uint32_t size = sw_pe_entry_size(image->pe.machine);
    const uint8_t *entry = image->functions.bytes + size * index;
    sw_store_want(image->pe.store, entry, size);
    return entry;
}

/* The sections that a header lists: type, rva and size, u32 each. */
struct sections {
    const struct sw_pe *pe;
    struct sw_bytes list;
};

/*
 * A section's bytes; empty if the header does not list it. Sets *broken if the header lists bytes that do not exist.
 * place: where they are, without asking a store for them.
 */
static struct sw_bytes place(const struct sections *s, uint32_t type, bool *broken)
{
    for (uint64_t at = 0; at + SECTION_SIZE <= s->list.size; at += SECTION_SIZE) {
        const uint8_t *entry = s->list.bytes + at;
        const uint32_t size = sw_load32(entry + 8);
        if (sw_load32(entry) != type || size == 0)
            continue;
        const struct sw_bytes bytes = sw_pe_place(s->pe, sw_load32(entry + 4), size);
        *broken = *broken || bytes.size == 0;
        return bytes;
    }
    return (struct sw_bytes){ 0 };
}

static struct sw_bytes section(const struct sections *s, uint32_t type, bool *broken)
{
    const struct sw_bytes bytes = place(s, type, broken);
    sw_pe_want(s->pe, bytes, bytes.size);
    return bytes;
}

/*
 * Finds the header through the CLI header. A composite image has none, and exports its header by name. metadata: null,
 * not wanted.
 */
static enum sw_status find_header(const struct sw_pe *pe, struct sw_bytes *header, struct sw_bytes *metadata)
{
    uint32_t rva = 0;
    if (pe->cli_rva == 0) {
        if (sw_pe_export(pe, "RTR_HEADER", &rva))
            return SW_E_NOT_FOUND;
    } else {
        const struct sw_bytes cli = sw_pe_at(pe, pe->cli_rva, CLI_HEADER_SIZE);
        if (!cli.size)
            return SW_E_MALFORMED;
        rva = sw_load32(cli.bytes + 64);
        if (metadata)
            *metadata = sw_pe_at(pe, sw_load32(cli.bytes + 8), sw_load32(cli.bytes + 12));
        if (rva == 0)
            return SW_E_NOT_FOUND;
    }
    *header = sw_pe_rest(pe, rva);
    sw_pe_want(pe, *header, HEADER_SIZE);
    return header->size >= HEADER_SIZE ? SW_OK : SW_E_MALFORMED;
}

/* Of .NET 8, 9 and 10; none of the sections that are read differs between them. */
static bool is_known_version(uint16_t major)
{
    return major == 9 || major == 10 || major == 16;
}

static enum sw_status read_header(const struct sw_pe *pe, struct sw_bytes header, struct sections *sections)
{
    if (sw_load32(header.bytes) != 0x00525452) /* "RTR" */
        return SW_E_MALFORMED;
    if (!is_known_version(sw_load16(header.bytes + 4)))
        return SW_E_UNSUPPORTED;
    const uint64_t size = (uint64_t)sw_load32(header.bytes + 12) * SECTION_SIZE;
    sections->pe = pe;
    sections->list = sw_bytes_part(header, HEADER_SIZE, size);
    sw_pe_want(pe, sections->list, size);
    return size == 0 || sections->list.size ? SW_OK : SW_E_MALFORMED;
}

/*
 * Working memory of the index: the token of each runtime function that begins a method.
 *
 * table  The table being read. token_base: of its rows; 0: their tokens are not kept.
 * steps  How many rows, entries and bytes of signatures may still be read. Tables of a sound image do not share what
 *        they lead to, so there are fewer of these than the image has bytes.
 * components  The list of a composite image; else empty. Tokens of several modules are in it: kept are only those of
 * core   the component that is the core library, by its number; no_method: none is.
 */
struct index_work {
    struct sw_bytes table;
    uint32_t token_base;
    uint32_t *tokens;
    uint32_t count;
    uint64_t steps;
    struct sw_bytes components;
    uint32_t core;
};

static bool pay(struct index_work *work, uint64_t steps)
{
    const bool is_paid = steps <= work->steps;
    work->steps -= is_paid ? steps : work->steps;
    return is_paid;
}

/* Shared code may be named more than once; a token that names it is kept. */
static void note_token(struct index_work *work, uint32_t function, uint32_t token)
{
    if (function < work->count && (work->tokens[function] == no_method || work->tokens[function] == 0))
        work->tokens[function] = token;
}

/* Section 103: by row of the MethodDef table. */
static bool note_method(void *arg, uint32_t row, uint64_t at)
{
    struct index_work *work = arg;
    uint32_t function;
    if (!sw_clr_entry_index(work->table, at, &function) || function >= work->count)
        return false;
    note_token(work, function, work->token_base ? work->token_base + row + 1 : 0);
    return true;
}

static enum sw_status note_methods(struct index_work *work, struct sw_bytes array, uint32_t token_base)
{
    uint32_t rows;
    if (!array.size)
        return SW_OK;
    if (!sw_clr_array_count(array, &rows) || rows > 0xffffff || !pay(work, rows))
        return SW_E_MALFORMED;
    work->table = array;
    work->token_base = token_base;
    return sw_clr_array_each(array, note_method, work) ? SW_OK : SW_E_MALFORMED;
}

/* Section 109. A signature that cannot be read costs the name of one instantiation, not the image. */
static bool note_instance(void *arg, uint64_t at)
{
    struct index_work *work = arg;
    uint32_t token;
    uint32_t function;
    const uint64_t begin = at;
    const bool is_read = sw_clr_method_signature(work->table, &at, &token) == SW_OK;
    if (is_read && sw_clr_entry_index(work->table, at, &function))
        note_token(work, function, work->components.size ? 0 : token);
    return pay(work, is_read ? at - begin : SW_CLR_SIGNATURE_MAX);
}

static enum sw_status note_instances(struct index_work *work, struct sw_bytes table)
{
    work->table = table;
    return table.size ? sw_clr_hash_each(table, note_instance, work) : SW_OK;
}

/*
 * Section 115: the assemblies inside a composite image, in the order in which its manifest refers to them. Each has a
 * header of its own: u32 flags, count, sections.
 */
static enum sw_status note_components(struct index_work *work, const struct sw_pe *pe)
{
    for (uint32_t i = 0; i < work->components.size / COMPONENT_SIZE; i++) {
        bool broken = false;
        const uint8_t *entry = work->components.bytes + (uint64_t)i * COMPONENT_SIZE;
        const struct sw_bytes core = sw_pe_at(pe, sw_load32(entry + 8), sw_load32(entry + 12));
        if (core.size < CORE_HEADER_SIZE)
            return SW_E_MALFORMED;
        const uint64_t size = (uint64_t)sw_load32(core.bytes + 4) * SECTION_SIZE;
        const struct sections own = { pe, sw_bytes_part(core, CORE_HEADER_SIZE, size) };
        if (!pay(work, own.list.size))
            return SW_E_MALFORMED;
        const struct sw_bytes methods = section(&own, SECTION_METHODS, &broken);
        enum sw_status status = note_methods(work, methods, i == work->core ? METHOD_TOKENS : 0);
        if (status || broken)
            return SW_E_MALFORMED;
    }
    return SW_OK;
}

static enum sw_status note_all(struct index_work *work, const struct sections *sections, bool *broken)
{
    work->components = section(sections, SECTION_COMPONENTS, broken);
    if (!work->components.size ||
        sw_clr_metadata_reference(section(sections, SECTION_MANIFEST, broken), SW_CLR_CORE_LIBRARY, &work->core))
        work->core = no_method;
    const struct sw_bytes methods = section(sections, SECTION_METHODS, broken);
    enum sw_status status = note_methods(work, methods, work->components.size ? 0 : METHOD_TOKENS);
    if (status == SW_OK)
        status = note_instances(work, section(sections, SECTION_INSTANCES, broken));
    if (status == SW_OK)
        status = note_components(work, sections->pe);
    return status;
}

static enum sw_status store_methods(struct sw_clr_image *image, const struct index_work *work)
{
    for (uint32_t i = 0; i < work->count; i++)
        image->method_capacity += work->tokens[i] != no_method;
    if (image->method_capacity == 0)
        return SW_OK;
    image->methods = image->alloc.get(image->alloc.arg, image->method_capacity * sizeof *image->methods);
    if (!image->methods)
        return SW_E_NO_MEMORY;
    for (uint32_t i = 0; i < work->count; i++)
        if (work->tokens[i] != no_method)
            image->methods[image->method_count++] = (struct sw_clr_method){ i, work->tokens[i] };
    return SW_OK;
}

static enum sw_status make_index(struct sw_clr_image *image, const struct sections *sections)
{
    bool broken = false;
    struct index_work work = { .count = (uint32_t)(image->functions.size / sw_pe_entry_size(image->pe.machine)),
                               .steps = STEPS_A_BYTE * image->pe.bytes.size };
    if (work.count == 0)
        return SW_OK;
    const size_t size = work.count * sizeof *work.tokens;
    work.tokens = image->alloc.get(image->alloc.arg, size);
    if (!work.tokens)
        return SW_E_NO_MEMORY;
    memset(work.tokens, 0xff, size);
    enum sw_status status = note_all(&work, sections, &broken);
    if (status == SW_OK && broken)
        status = SW_E_MALFORMED;
    if (status == SW_OK)
        status = store_methods(image, &work);
    image->has_core = work.core != no_method;
    image->alloc.put(image->alloc.arg, work.tokens, size);
    return status;
}

static enum sw_status open_image(const struct sw_pe *pe, const struct sw_alloc *alloc, bool with_index,
                                 struct sw_clr_image *image)
{
    struct sw_bytes header;
    struct sections sections;
    bool broken = false;
    if (!pe || !alloc || !image)
        return SW_E_ARGUMENT;
    memset(image, 0, sizeof *image);
    image->pe = *pe;
    image->alloc = *alloc;
    enum sw_status status = find_header(pe, &header, with_index ? &image->metadata : NULL);
    if (with_index)
        sw_clr_find_dispatch(image);
    if (status == SW_OK)
        status = read_header(pe, header, &sections);
    if (status)
        return status;
    image->functions = place(&sections, SECTION_FUNCTIONS, &broken);
    image->cold = section(&sections, SECTION_COLD, &broken);
    if (broken)
        return SW_E_MALFORMED;
    if (!image->functions.size) {
        image->is_component = section(&sections, SECTION_OWNER, &broken).size != 0;
        return image->is_component ? SW_E_UNSUPPORTED : SW_E_NOT_FOUND;
    }
    status = with_index ? make_index(image, &sections) : SW_OK;
    if (status)
        sw_clr_image_close(image);
    return status;
}

enum sw_status sw_clr_image_open(const struct sw_pe *pe, const struct sw_alloc *alloc, struct sw_clr_image *image)
{
    return open_image(pe, alloc, true, image);
}

enum sw_status sw_clr_image_open_bare(const struct sw_pe *pe, const struct sw_alloc *alloc, struct sw_clr_image *image)
{
    return open_image(pe, alloc, false, image);
}

void sw_clr_image_close(struct sw_clr_image *image)
{
    if (image && image->methods)
        image->alloc.put(image->alloc.arg, image->methods, image->method_capacity * sizeof *image->methods);
    if (image)
        memset(image, 0, sizeof *image);
}

static enum sw_status find_function(const struct sw_clr_image *image, uint64_t address, struct sw_pe_function *function,
                                    uint32_t *index)
{
    const uint64_t rva = address - image->pe.bytes.address;
    if (address < image->pe.bytes.address || rva > UINT32_MAX)
        return SW_E_NO_RULE;
    return sw_pe_find(&image->pe, image->functions, (uint32_t)rva, function, index);
}

/* Section 120: pairs {cold, hot}, ascending. A cold part's funclets follow it. */
static uint32_t hot_part(const struct sw_clr_image *image, uint32_t function)
{
    uint64_t low = 0;
    uint64_t high = image->cold.size / 8;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (sw_load32(image->cold.bytes + 8 * middle) <= function)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? sw_load32(image->cold.bytes + 8 * (low - 1) + 4) : function;
}

/* The method that contains a runtime function; null when the function lies in front of all methods. */
static const struct sw_clr_method *method_of(const struct sw_clr_image *image, uint32_t function)
{
    size_t low = 0;
    size_t high = image->method_count;
    const uint32_t hot = hot_part(image, function);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (image->methods[middle].function <= hot)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &image->methods[low - 1] : NULL;
}

/* The RVA of a runtime function's personality; 0: it has none. */
static uint32_t personality_of(const struct sw_clr_image *image, uint32_t index)
{
    const enum sw_machine machine = image->pe.machine;
    const struct sw_pe_reader reader = sw_pe_reader_of(&image->pe);
    struct sw_pe_function function;
    uint32_t handler;
    if (sw_pe_entry(machine, &reader, entry_at(image, index), &function) ||
        sw_pe_handler(machine, &reader, &function, &handler))
        return 0;
    return handler;
}

/*
 * The role of a runtime function in its method. Filters have a personality of their own (seen in .NET 10). A cold part
 * is not a funclet, unless it follows the cold part of its method.
 */
static uint16_t part_flags(const struct sw_clr_image *image, const struct sw_clr_method *method, uint32_t index)
{
    const uint32_t hot = hot_part(image, index);
    const bool is_cold = hot != index;
    const bool follows_cold = is_cold && index - 1 != hot && hot_part(image, index - 1) == hot;
    if (!method || method->function == index || (is_cold && !follows_cold))
        return 0;
    return personality_of(image, index) == personality_of(image, method->function) ? SW_RANGE_FUNCLET : SW_RANGE_FILTER;
}

enum sw_status sw_clr_image_method(const struct sw_clr_image *image, uint64_t address, struct sw_range *range)
{
    struct sw_pe_function function;
    uint32_t index;
    const uint64_t base = image->pe.bytes.address;
    enum sw_status status = find_function(image, address, &function, &index);
    if (status)
        return status;
    const struct sw_clr_method *method = method_of(image, index);
    memset(range, 0, sizeof *range);
    range->begin = base + function.begin;
    range->end = base + function.end;
    range->id = base + sw_load32(entry_at(image, method ? method->function : index));
    range->kind = SW_KIND_NGEN;
    if (method && sw_clr_image_dispatches(image, method->token))
        range->flags = SW_RANGE_EH_DISPATCH;
    range->flags = (uint16_t)(range->flags | part_flags(image, method, index));
    return SW_OK;
}

enum sw_status sw_clr_image_rule(const struct sw_clr_image *image, uint64_t address, bool exact, struct sw_rule *rule)
{
    return sw_pe_image_rule(&image->pe, image->functions, address, exact, rule);
}

enum sw_status sw_clr_image_name(const struct sw_clr_image *image, uint64_t address, char *name, size_t size)
{
    uint32_t index;
    if (size == 0)
        return SW_E_NOT_FOUND;
    name[0] = 0;
    if (find_function(image, address, NULL, &index))
        return SW_E_NOT_FOUND;
    const struct sw_clr_method *method = method_of(image, index);
    return method ? sw_clr_metadata_name(image->metadata, method->token, name, size) : SW_E_NOT_FOUND;
}
