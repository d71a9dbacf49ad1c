#include "jit/elf_object.h"

#include <string.h>

enum { HEADER_BYTES = 64, SECTION_BYTES = 64, SYMBOL_BYTES = 24, RELOCATION_BYTES = 24 };
enum { CLASS_AT = 4, TYPE_AT = 16, MACHINE_AT = 18, SECTIONS_AT = 40, COUNT_AT = 60, NAMES_AT = 62 };
enum { CLASS_64 = 2, LITTLE = 1, RELOCATABLE = 1, EXECUTABLE = 2, SHARED = 3, X64 = 62, ARM64 = 183 };
enum { SYMBOLS = 2, WITH_ADDENDS = 4, NOTHING = 8, ALLOCATED = 2, CODE = 4, FUNCTION = 2, SECTIONS_MOST = 65535 };

/* Relocations of call frame information. */
enum kind { OTHER, ABSOLUTE_64, RELATIVE_32, RELATIVE_64 };
static const struct {
    enum sw_machine machine;
    uint32_t type;
    enum kind kind;
} rows[] = {
    { SW_MACHINE_X64, 1, ABSOLUTE_64 },     /* R_X86_64_64 */
    { SW_MACHINE_X64, 2, RELATIVE_32 },     /* R_X86_64_PC32 */
    { SW_MACHINE_X64, 24, RELATIVE_64 },    /* R_X86_64_PC64 */
    { SW_MACHINE_ARM64, 257, ABSOLUTE_64 }, /* R_AARCH64_ABS64 */
    { SW_MACHINE_ARM64, 260, RELATIVE_64 }, /* R_AARCH64_PREL64 */
    { SW_MACHINE_ARM64, 261, RELATIVE_32 }, /* R_AARCH64_PREL32 */
};

struct section {
    uint32_t name, type, link, info;
    uint64_t flags, address, offset, size;
};

static uint64_t number_at(struct sw_bytes bytes, uint64_t at, unsigned size)
{
    struct sw_cursor c = sw_cursor_over(sw_bytes_part(bytes, at, size));
    return sw_cursor_u(&c, size);
}

enum sw_status sw_jit_object_open(struct sw_bytes file, struct sw_jit_object *object)
{
    static const uint8_t magic[] = { 0x7f, 'E', 'L', 'F' };
    if (file.size < HEADER_BYTES)
        return SW_E_TRUNCATED;
    if (memcmp(file.bytes, magic, sizeof magic) != 0)
        return SW_E_MALFORMED;
    const uint64_t type = number_at(file, TYPE_AT, 2), machine = number_at(file, MACHINE_AT, 2);
    if (file.bytes[CLASS_AT] != CLASS_64 || file.bytes[CLASS_AT + 1] != LITTLE || type < RELOCATABLE || type > SHARED ||
        (machine != X64 && machine != ARM64))
        return SW_E_UNSUPPORTED;
    *object = (struct sw_jit_object){ .file = file,
                                      .machine = machine == X64 ? SW_MACHINE_X64 : SW_MACHINE_ARM64,
                                      .is_relocatable = type == RELOCATABLE,
                                      .sections = number_at(file, SECTIONS_AT, 8) };
    const uint64_t count = number_at(file, COUNT_AT, 2);
    if (object->sections > file.size || (file.size - object->sections) / SECTION_BYTES < count)
        return SW_E_TRUNCATED;
    object->section_count = (uint32_t)count;
    return SW_OK;
}

static bool read_section(const struct sw_jit_object *object, uint64_t number, struct section *section)
{
    if (number >= object->section_count)
        return false;
    const struct sw_bytes row = sw_bytes_part(object->file, object->sections + number * SECTION_BYTES, SECTION_BYTES);
    struct sw_cursor c = sw_cursor_over(row);
    section->name = (uint32_t)sw_cursor_u(&c, 4);
    section->type = (uint32_t)sw_cursor_u(&c, 4);
    section->flags = sw_cursor_u(&c, 8);
    section->address = sw_cursor_u(&c, 8);
    section->offset = sw_cursor_u(&c, 8);
    section->size = sw_cursor_u(&c, 8);
    section->link = (uint32_t)sw_cursor_u(&c, 4);
    section->info = (uint32_t)sw_cursor_u(&c, 4);
    return sw_cursor_ok(&c);
}

static struct sw_bytes bytes_of(const struct sw_jit_object *object, const struct section *section)
{
    struct sw_bytes bytes = { 0 };
    if (section->type != NOTHING)
        bytes = sw_bytes_part(object->file, section->offset, section->size);
    bytes.address = section->address;
    return bytes;
}

static const char *name_at(struct sw_bytes names, uint64_t at)
{
    struct sw_cursor c =
        sw_cursor_over(at < names.size ? sw_bytes_part(names, at, names.size - at) : (struct sw_bytes){ 0 });
    return sw_cursor_string(&c);
}

bool sw_jit_object_code(const struct sw_jit_object *object, uint64_t *begin, uint64_t *end)
{
    struct section s;
    uint64_t behind;
    *begin = UINT64_MAX;
    *end = 0;
    for (uint64_t n = 1; read_section(object, n, &s); n++) {
        if (!(s.flags & CODE) || !(s.flags & ALLOCATED) || s.address == 0 || s.size == 0 ||
            !sw_add_u64(s.address, s.size, &behind))
            continue;
        *begin = s.address < *begin ? s.address : *begin;
        *end = behind > *end ? behind : *end;
    }
    return *begin < *end;
}

struct sw_bytes sw_jit_object_frames(const struct sw_jit_object *object, uint32_t *number)
{
    struct section names, s;
    if (!read_section(object, number_at(object->file, NAMES_AT, 2), &names))
        return (struct sw_bytes){ 0 };
    const struct sw_bytes text = bytes_of(object, &names);
    for (uint32_t n = 1; read_section(object, n, &s); n++) {
        const char *name = name_at(text, s.name);
        if (!name || strcmp(name, ".eh_frame") != 0 || s.address == 0)
            continue;
        *number = n;
        return bytes_of(object, &s);
    }
    return (struct sw_bytes){ 0 };
}

/* ---- relocations ---- */

static enum kind kind_of(enum sw_machine machine, uint32_t type)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].machine == machine && rows[i].type == type)
            return rows[i].kind;
    return OTHER;
}

/* The address of a symbol by its number. */
static bool symbol_address(const struct sw_jit_object *object, struct sw_bytes symbols, uint64_t number,
                           uint64_t *address)
{
    struct section home;
    if (number >= symbols.size / SYMBOL_BYTES)
        return false;
    const uint64_t at = number * SYMBOL_BYTES;
    if (!read_section(object, number_at(symbols, at + 6, 2), &home))
        return false;
    *address = home.address + number_at(symbols, at + 8, 8);
    return true;
}

static void store(uint8_t *to, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static void relocate_by(const struct sw_jit_object *object, const struct section *table, uint64_t address,
                        uint8_t *copy, uint64_t size)
{
    struct section symbols;
    const struct sw_bytes entries = bytes_of(object, table);
    if (!read_section(object, table->link, &symbols) || symbols.type != SYMBOLS)
        return;
    const struct sw_bytes names = bytes_of(object, &symbols);
    for (uint64_t at = 0; at + RELOCATION_BYTES <= entries.size; at += RELOCATION_BYTES) {
        const uint64_t place = number_at(entries, at, 8), info = number_at(entries, at + 8, 8);
        const enum kind kind = kind_of(object->machine, (uint32_t)info);
        const unsigned width = kind == RELATIVE_32 ? 4 : 8;
        uint64_t value;
        if (kind == OTHER || place > size || size - place < width || !symbol_address(object, names, info >> 32, &value))
            continue;
        value += number_at(entries, at + 16, 8);
        store(copy + place, kind == ABSOLUTE_64 ? value : value - (address + place), width);
    }
}

void sw_jit_object_relocate(const struct sw_jit_object *object, uint32_t number, uint8_t *copy, uint64_t size)
{
    struct section target, s;
    if (!object->is_relocatable || !read_section(object, number, &target))
        return;
    for (uint64_t n = 1; read_section(object, n, &s); n++)
        if (s.type == WITH_ADDENDS && s.info == number)
            relocate_by(object, &s, target.address, copy, size);
}

/* ---- functions ---- */

static bool read_function(const struct sw_jit_object *object, struct sw_bytes symbols, struct sw_bytes names,
                          uint64_t at, struct sw_jit_function *function)
{
    struct section home;
    const uint64_t value = number_at(symbols, at + 8, 8), size = number_at(symbols, at + 16, 8);
    const char *name = name_at(names, number_at(symbols, at, 4));
    if ((number_at(symbols, at + 4, 1) & 15) != FUNCTION || size == 0 || !name || !*name ||
        !read_section(object, number_at(symbols, at + 6, 2), &home) || !(home.flags & CODE))
        return false;
    function->begin = value + (object->is_relocatable ? home.address : 0);
    function->name = name;
    return function->begin != 0 && sw_add_u64(function->begin, size, &function->end);
}

bool sw_jit_object_function(const struct sw_jit_object *object, uint64_t *cursor, struct sw_jit_function *function)
{
    struct section s, strings;
    uint64_t n = 1;
    while (read_section(object, n, &s) && s.type != SYMBOLS)
        n++;
    if (!read_section(object, n, &s) || !read_section(object, s.link, &strings))
        return false;
    const struct sw_bytes symbols = bytes_of(object, &s), names = bytes_of(object, &strings);
    while (*cursor < symbols.size / SYMBOL_BYTES)
        if (read_function(object, symbols, names, (*cursor)++ * SYMBOL_BYTES, function))
            return true;
    return false;
}
