/*
 * Code with Windows unwind data that is in no image (a JIT compiler's) as an image of its own: a header is made in
 * front of copies of its function table and of its bytes; then it is an image like any other. Knows the few fields of
 * a header that lib/pe reads; refuses to know who tells of such code.
 *
 * Source: PE/COFF specification, "Optional Header", "Section Table"; RtlAddFunctionTable, Microsoft Learn.
 */
#include "unwind/sources.h"

#include "base/bytes.h"
#include "code/images.h"

#include <snapwalk/follow.h>

#include <string.h>

enum {
    PAGE = 4096,
    CODE_MAX = 64 << 20,
    COUNT_MAX = 1 << 20,
    AT_COFF = 64,
    AT_OPTIONAL = AT_COFF + 24,
    OPTIONAL_SIZE = 112 + 16 * 8,
    AT_SECTIONS = AT_OPTIONAL + OPTIONAL_SIZE,
    SECTION = 40,
    HEADER = AT_SECTIONS + 2 * SECTION
};
#define IS_EXECUTED UINT32_C(0x20000000)

static void store32(uint8_t *to, uint64_t value)
{
    for (unsigned i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static void store_section(uint8_t *to, uint64_t rva, uint64_t size, uint64_t at, uint32_t flags)
{
    store32(to + 8, size);
    store32(to + 12, rva);
    store32(to + 16, size);
    store32(to + 20, at);
    store32(to + 36, flags);
}

/* The header's own size, as an image says it, is 0: RVAs from 0 on are the code's. The table lies behind the code. */
static void store_header(uint8_t *to, const struct sw_function_table *table, uint64_t table_size)
{
    const uint64_t rva = table->begin - table->base, size = table->end - table->begin, end = rva + size;
    memset(to, 0, HEADER);
    memcpy(to, "MZ", 2);
    store32(to + 60, AT_COFF);
    memcpy(to + AT_COFF, "PE\0\0", 4);
    store32(to + AT_COFF + 4, (table->machine == SW_MACHINE_X64 ? 0x8664u : 0xaa64u) | 2u << 16);
    store32(to + AT_COFF + 20, OPTIONAL_SIZE);
    store32(to + AT_OPTIONAL, 0x20b);
    store32(to + AT_OPTIONAL + 56, end + table_size);
    store32(to + AT_OPTIONAL + 108, 16);
    store32(to + AT_OPTIONAL + 112 + 3 * 8, end);
    store32(to + AT_OPTIONAL + 112 + 3 * 8 + 4, table_size);
    store_section(to + AT_SECTIONS, rva, size, HEADER + table_size, IS_EXECUTED);
    store_section(to + AT_SECTIONS + SECTION, end, table_size, HEADER, 0);
}

/* Page by page; what cannot be read becomes zeros. */
static void copy_code(uint8_t *to, const struct sw_function_table *table, const struct sw_memory *memory)
{
    for (uint64_t at = table->begin; at < table->end;) {
        const uint64_t to_page = PAGE - at % PAGE, left = table->end - at;
        const size_t part = (size_t)(to_page < left ? to_page : left);
        const size_t got = memory->read(memory->arg, at, to, part);
        memset(to + got, 0, part - got);
        to += part;
        at += part;
    }
}

struct own_functions {
    const struct sw_function_table *table;
    const struct sw_memory *memory;
};

static enum sw_status fill(struct sw_images *images, struct sw_image_entry *entry, const void *arg)
{
    const struct own_functions *own = arg;
    const struct sw_function_table *table = own->table;
    const uint64_t code_size = table->end - table->begin;
    const uint64_t table_size = table->count * sw_pe_entry_size(table->machine);
    uint8_t *bytes = sw_images_hold(images, entry, (size_t)(HEADER + table_size + code_size));
    if (!bytes)
        return SW_E_NO_MEMORY;
    store_header(bytes, table, table_size);
    memcpy(bytes + HEADER, table->entries, (size_t)table_size);
    copy_code(bytes + HEADER + table_size, table, own->memory);
    enum sw_status status = sw_pe_open((struct sw_bytes){ bytes, entry->held_size, table->base }, false, &entry->pe);
    if (status == SW_OK)
        status = sw_sources_open_pe(images, entry);
    entry->info.begin = table->begin;
    entry->info.end = table->end;
    return status == SW_OK ? entry->exceptions_status : status;
}

static bool is_usable(const struct sw_function_table *table)
{
    const bool has_machine = table->machine == SW_MACHINE_X64 || table->machine == SW_MACHINE_ARM64;
    return has_machine && table->entries && table->count > 0 && table->count <= COUNT_MAX &&
           table->base <= table->begin && table->begin < table->end && table->end - table->begin <= CODE_MAX &&
           table->end - table->base <= UINT32_MAX - table->count * sw_pe_entry_size(table->machine);
}

enum sw_status sw_images_add_functions(struct sw_images *images, const char *name,
                                       const struct sw_function_table *table, const struct sw_memory *memory)
{
    if (!images || !name || !table || !memory || !memory->read || !is_usable(table))
        return SW_E_ARGUMENT;
    const struct own_functions own = { table, memory };
    return sw_images_add_filled(images, name, fill, &own);
}
