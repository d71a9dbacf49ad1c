/*
 * A module's metadata, read where it lies in the target: an image that is mapped by section or flat, a byte array, or
 * the copy that the runtime keeps of a module made by Reflection.Emit. Knows how a module leads there, and rows;
 * refuses to know what they mean. Source: clr-names.md section 4; ECMA-335 II.24, II.25.
 */
#include "clr/names/names.h"

#include <string.h>

enum {
    PE_OFFSET = 0x3c,
    PE_HEAD = 24,
    PE_PLUS = 0x20b,
    PE_32 = 0x10b,
    CLI = 14,
    SECTION_BYTES = 40,
    SECTIONS_MAX = 96
};
enum { MAGIC = 0x424a5342, ROOT_BYTES = 1024 };

static bool is_root(const struct sw_names *names, uint64_t address)
{
    uint64_t magic;
    return sw_names_u(names, address, 4, &magic) && magic == MAGIC;
}

/* An RVA in an image that is laid out as its file. */
static bool flat(const struct sw_names *names, uint64_t base, uint64_t sections, uint64_t count, uint64_t rva,
                 uint64_t *address)
{
    for (uint64_t i = 0; i < count && i < SECTIONS_MAX; i++) {
        uint64_t begin, size, offset;
        const uint64_t at = sections + i * SECTION_BYTES;
        if (!sw_names_u(names, at + 12, 4, &begin) || !sw_names_u(names, at + 16, 4, &size) ||
            !sw_names_u(names, at + 20, 4, &offset))
            return false;
        if (rva >= begin && rva - begin < size) {
            *address = base + offset + (rva - begin);
            return true;
        }
    }
    return false;
}

/* The metadata root of a PE image. No flag that says how it is laid out is believed: the magic number decides. */
static bool find_root(const struct sw_names *names, uint64_t base, uint64_t *root, uint64_t *size)
{
    uint64_t mz, pe, signature, count, optional_size, kind, cli, rva, header[2];
    if (!sw_names_u(names, base, 2, &mz) || mz != 0x5a4d || !sw_names_u(names, base + PE_OFFSET, 4, &pe) ||
        !sw_names_u(names, base + pe, 4, &signature) || signature != 0x4550 ||
        !sw_names_u(names, base + pe + 6, 2, &count) || !sw_names_u(names, base + pe + 20, 2, &optional_size) ||
        !sw_names_u(names, base + pe + PE_HEAD, 2, &kind) || (kind != PE_PLUS && kind != PE_32))
        return false;
    const uint64_t optional = base + pe + PE_HEAD, sections = optional + optional_size;
    if (!sw_names_u(names, optional + (kind == PE_PLUS ? 112 : 96) + 8 * CLI, 4, &cli) || cli == 0)
        return false;
    for (unsigned way = 0; way < 2; way++) {
        header[way] = base + cli;
        *root = 0;
        if ((way && !flat(names, base, sections, count, cli, &header[way])) ||
            !sw_names_u(names, header[way] + 8, 4, &rva) || !sw_names_u(names, header[way] + 12, 4, size))
            continue;
        *root = base + rva;
        if (way && !flat(names, base, sections, count, rva, root))
            continue;
        if (is_root(names, *root))
            return true;
    }
    return false;
}

/* Where the module's image lies, or what the runtime saved of a dynamic module. */
static bool find_image(const struct sw_names *names, uint64_t module, uint64_t *base)
{
    uint64_t at;
    if (names->at[SW_NAMES_MODULE_BASE] < SW_CLR_DESCRIBED &&
        sw_names_field(names, module, SW_NAMES_MODULE_BASE, 8, base) && *base != 0)
        return true;
    return sw_names_field(names, module, SW_NAMES_MODULE_FILE, 8, &at) &&
           sw_names_field(names, at, SW_NAMES_FILE_IMAGE, 8, &at) && at != 0 &&
           sw_names_field(names, at, SW_NAMES_IMAGE_LAYOUT, 8, &at) && at != 0 &&
           sw_names_field(names, at, SW_NAMES_LAYOUT_BASE, 8, base) && *base != 0;
}

static bool find_saved(const struct sw_names *names, uint64_t module, uint64_t *root, uint64_t *size, uint64_t *key)
{
    if (!sw_names_field(names, module, SW_NAMES_MODULE_DYNAMIC, 8, key) || *key == 0 ||
        !sw_names_u(names, *key, 4, size))
        return false;
    *root = *key + 4;
    return names->release != 8 || sw_names_u(names, *key + 16, 8, root);
}

static enum sw_status open_metadata(const struct sw_names *names, uint64_t root, uint64_t size,
                                    struct sw_names_metadata *m)
{
    uint8_t head[ROOT_BYTES];
    const size_t got = sw_memory_read(&names->memory, root, head, size < sizeof head ? (size_t)size : sizeof head);
    struct sw_cursor c = sw_cursor_over((struct sw_bytes){ head, got, root });
    unsigned count;
    uint32_t offset, length, tables_size = 0;
    if (!sw_clr_streams(&c, &count))
        return SW_E_MALFORMED;
    while (count--) {
        const char *name = sw_clr_stream(&c, &offset, &length);
        if (!name || offset > size || length > size - offset)
            return SW_E_MALFORMED;
        if (strcmp(name, "#~") == 0 || strcmp(name, "#-") == 0) {
            m->tables = root + offset;
            m->sorted = name[1] == '~';
            tables_size = length;
        } else if (strcmp(name, "#Strings") == 0) {
            m->strings = root + offset;
            m->strings_size = length;
        } else if (strcmp(name, "#Blob") == 0) {
            m->blobs = root + offset;
            m->blobs_size = length;
        }
    }
    const size_t part = tables_size < SW_CLR_TABLES_HEAD ? tables_size : SW_CLR_TABLES_HEAD;
    if (part == 0 || sw_memory_read(&names->memory, m->tables, head, part) != part)
        return SW_E_UNREADABLE;
    if (sw_clr_tables_read((struct sw_bytes){ head, part, m->tables }, &m->layout) != SW_OK ||
        m->layout.size > tables_size)
        return SW_E_MALFORMED;
    m->has_pointers = m->layout.rows[SW_CLR_METHOD_POINTER] != 0;
    return SW_OK;
}

/* The slot of a module whose metadata was found at `key`. Null: it was not, or another one has taken its place. */
static const struct sw_names_metadata *find_known(const struct sw_names *names, uint64_t module, uint64_t key)
{
    for (unsigned i = 0; i < SW_NAMES_MODULES; i++)
        if (names->modules[i].module == module && names->modules[i].base == key)
            return &names->modules[i];
    return NULL;
}

/* What was found at the same place before is not looked for again: an image's headers take some twenty reads. */
struct place {
    const struct sw_names_metadata *known;
    uint64_t root, size, key;
};

static bool find_in_saved(const struct sw_names *names, uint64_t module, struct place *place)
{
    if (!find_saved(names, module, &place->root, &place->size, &place->key))
        return false;
    place->known = find_known(names, module, place->key);
    return place->known || is_root(names, place->root);
}

static bool find_in_image(const struct sw_names *names, uint64_t module, struct place *place)
{
    if (!find_image(names, module, &place->key))
        return false;
    place->known = find_known(names, module, place->key);
    return place->known || find_root(names, place->key, &place->root, &place->size);
}

static bool find_metadata(const struct sw_names *names, uint64_t module, struct place *place)
{
    if (names->release == 8)
        return find_in_image(names, module, place) || find_in_saved(names, module, place);
    return find_in_saved(names, module, place) || find_in_image(names, module, place);
}

enum sw_status sw_names_metadata_of(struct sw_names *names, uint64_t module, const struct sw_names_metadata **found)
{
    struct place place;
    if (module == 0 || !find_metadata(names, module, &place))
        return SW_E_NOT_FOUND;
    *found = place.known;
    if (place.known)
        return SW_OK;
    struct sw_names_metadata *m = &names->modules[names->turn++ % SW_NAMES_MODULES];
    memset(m, 0, sizeof *m);
    const enum sw_status status = open_metadata(names, place.root, place.size, m);
    if (status != SW_OK)
        return status;
    m->module = module;
    m->base = place.key;
    *found = m;
    return SW_OK;
}

uint32_t sw_names_cell(const struct sw_names *names, const struct sw_names_metadata *m, unsigned table, uint32_t row,
                       unsigned column)
{
    uint64_t at, value;
    unsigned size;
    if (!sw_clr_cell(&m->layout, table, row, column, &at, &size) || !sw_names_u(names, m->tables + at, size, &value))
        return 0;
    return (uint32_t)value;
}

bool sw_names_string(const struct sw_names *names, const struct sw_names_metadata *m, uint32_t offset,
                     char to[SW_NAMES_STRING])
{
    enum { PIECE = 64 };
    size_t used = 0;
    while (used < SW_NAMES_STRING - 1 && offset < m->strings_size) {
        const size_t room = SW_NAMES_STRING - 1 - used, left = m->strings_size - offset;
        size_t part = PIECE < room ? PIECE : room;
        part = part < left ? part : left;
        const size_t got = sw_memory_read(&names->memory, m->strings + offset, to + used, part);
        const char *zero = memchr(to + used, 0, got);
        if (zero)
            return true;
        if (got != part)
            break;
        used += got;
        offset += (uint32_t)got;
    }
    to[used] = 0;
    return false;
}

bool sw_names_blob(const struct sw_names *names, const struct sw_names_metadata *m, uint32_t offset, uint64_t *address,
                   uint32_t *size)
{
    uint8_t head[4];
    if (offset >= m->blobs_size)
        return false;
    const size_t left = m->blobs_size - offset, want = left < sizeof head ? left : sizeof head;
    if (sw_memory_read(&names->memory, m->blobs + offset, head, want) != want)
        return false;
    const unsigned width = head[0] < 0x80 ? 1 : head[0] < 0xc0 ? 2 : 4;
    if (width > want)
        return false;
    *size = width == 1   ? head[0]
            : width == 2 ? (head[0] & 0x3fu) << 8 | head[1]
                         : (head[0] & 0x1fu) << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
    *address = m->blobs + offset + width;
    return *size <= left - width;
}

/* The nesting type; 0: there is none. Where the table is not sorted each row is looked at, while steps last. */
uint32_t sw_names_outer(const struct sw_names *names, const struct sw_names_metadata *m, uint32_t type)
{
    uint32_t low = 1, high = m->layout.rows[SW_CLR_NESTED];
    for (uint32_t row = 1; !m->sorted && row <= high && row <= names->steps; row++)
        if (sw_names_cell(names, m, SW_CLR_NESTED, row, SW_CLR_NESTED_INNER) == type)
            return sw_names_cell(names, m, SW_CLR_NESTED, row, SW_CLR_NESTED_OUTER);
    while (m->sorted && low <= high && high != 0) {
        const uint32_t middle = low + (high - low) / 2;
        const uint32_t inner = sw_names_cell(names, m, SW_CLR_NESTED, middle, SW_CLR_NESTED_INNER);
        if (inner == type)
            return sw_names_cell(names, m, SW_CLR_NESTED, middle, SW_CLR_NESTED_OUTER);
        if (inner < type)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return 0;
}

bool sw_names_assembly(const struct sw_names *names, const struct sw_names_metadata *m, char to[SW_NAMES_STRING])
{
    return sw_names_string(names, m, sw_names_cell(names, m, SW_CLR_ASSEMBLY, 1, SW_CLR_ASSEMBLY_NAME), to);
}
