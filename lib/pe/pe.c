/*
 * PE32+ images: headers, sections, exports. Knows where the bytes of an RVA are, in a file and in a mapped image;
 * refuses to know relocations, imports and what sections mean. Follows the Microsoft PE/COFF specification; the Linux
 * machine codes are those of win-x64-unwind.md section 7.
 */
#include "pe/pe.h"

#include <string.h>

enum {
    DOS_HEADER = 64,
    COFF_HEADER = 24, /* with the signature */
    OPTIONAL_FIXED = 112,
    SIZE_OF_HEADERS = 60, /* in the optional header, of PE32, too */
    DIRECTORY_EXPORT = 0,
    DIRECTORY_EXCEPTION = 3,
    DIRECTORY_CLI = 14,
    SECTION_HEADER = 40,
    SECTIONS_MAX = 96 /* the Windows loader's own limit */
};

static const struct {
    uint16_t code;
    uint8_t machine;
    bool linux_code;
} machines[] = {
    { 0x8664, SW_MACHINE_X64, false },
    { 0xfd1d, SW_MACHINE_X64, true },
    { 0xaa64, SW_MACHINE_ARM64, false },
    { 0xd11d, SW_MACHINE_ARM64, true },
};

static enum sw_status set_machine(struct sw_pe *pe, uint16_t code)
{
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++)
        if (machines[i].code == code) {
            pe->machine = (enum sw_machine)machines[i].machine;
            pe->linux_code = machines[i].linux_code;
            return SW_OK;
        }
    return SW_E_UNSUPPORTED;
}

static void directory(const uint8_t *optional, uint32_t count, uint32_t number, uint32_t *rva, uint32_t *size)
{
    if (number >= count)
        return;
    *rva = sw_load32(optional + OPTIONAL_FIXED + 8 * number);
    *size = sw_load32(optional + OPTIONAL_FIXED + 8 * number + 4);
}

static enum sw_status read_optional(struct sw_pe *pe, struct sw_bytes header)
{
    if (header.size < 2)
        return SW_E_TRUNCATED;
    if (sw_load16(header.bytes) != 0x20b)
        return SW_E_UNSUPPORTED;
    if (header.size < OPTIONAL_FIXED)
        return SW_E_MALFORMED;
    const uint32_t count = sw_load32(header.bytes + 108);
    if (count > (header.size - OPTIONAL_FIXED) / 8)
        return SW_E_MALFORMED;
    pe->size_of_image = sw_load32(header.bytes + 56);
    pe->size_of_headers = sw_load32(header.bytes + SIZE_OF_HEADERS);
    directory(header.bytes, count, DIRECTORY_EXPORT, &pe->export_rva, &pe->export_size);
    directory(header.bytes, count, DIRECTORY_EXCEPTION, &pe->pdata_rva, &pe->pdata_size);
    directory(header.bytes, count, DIRECTORY_CLI, &pe->cli_rva, &pe->cli_size);
    return SW_OK;
}

void sw_pe_want(const struct sw_pe *pe, struct sw_bytes bytes, uint64_t size)
{
    sw_store_want(pe->store, bytes.bytes, size);
}

static struct sw_bytes header_part(const struct sw_pe *pe, uint64_t at, uint64_t size)
{
    const struct sw_bytes part = sw_bytes_part(pe->bytes, at, size);
    sw_pe_want(pe, part, size);
    return part;
}

static enum sw_status find_coff(const struct sw_pe *pe, uint64_t *at, struct sw_bytes *coff)
{
    const struct sw_bytes dos = header_part(pe, 0, DOS_HEADER);
    if (!dos.size)
        return SW_E_TRUNCATED;
    if (dos.bytes[0] != 'M' || dos.bytes[1] != 'Z')
        return SW_E_MALFORMED;
    *at = sw_load32(dos.bytes + 60);
    *coff = header_part(pe, *at, COFF_HEADER);
    if (!coff->size)
        return SW_E_TRUNCATED;
    return memcmp(coff->bytes, "PE\0\0", 4) == 0 ? SW_OK : SW_E_MALFORMED;
}

uint32_t sw_pe_headers_size(struct sw_bytes file)
{
    const struct sw_pe pe = { .bytes = file };
    struct sw_bytes coff;
    uint64_t at;
    if (find_coff(&pe, &at, &coff) != SW_OK)
        return 0;
    at += COFF_HEADER + SIZE_OF_HEADERS;
    const struct sw_bytes field = sw_bytes_part(file, at, sizeof(uint32_t));
    const uint32_t size = field.size ? sw_load32(field.bytes) : 0;
    return size < at + sizeof(uint32_t) ? 0 : size;
}

static enum sw_status read_headers(struct sw_pe *pe)
{
    const struct sw_bytes bytes = pe->bytes;
    struct sw_bytes coff;
    uint64_t at;
    enum sw_status status = find_coff(pe, &at, &coff);
    if (status)
        return status;
    const uint16_t optional_size = sw_load16(coff.bytes + 20);
    pe->section_count = sw_load16(coff.bytes + 6);
    status = set_machine(pe, sw_load16(coff.bytes + 4));
    if (status)
        return status;
    if (pe->section_count > SECTIONS_MAX)
        return SW_E_MALFORMED;
    const uint64_t sections = at + COFF_HEADER + optional_size;
    if (sections + (uint64_t)SECTION_HEADER * pe->section_count > bytes.size || sections > UINT32_MAX)
        return SW_E_TRUNCATED;
    pe->sections = (uint32_t)sections;
    (void)header_part(pe, sections, (uint64_t)SECTION_HEADER * pe->section_count);
    return read_optional(pe, header_part(pe, at + COFF_HEADER, optional_size));
}

enum sw_status sw_pe_open(struct sw_bytes bytes, bool mapped, struct sw_pe *pe)
{
    *pe = (struct sw_pe){ .bytes = bytes, .mapped = mapped };
    return read_headers(pe);
}

enum sw_status sw_pe_open_stored(struct sw_bytes bytes, const struct sw_store *store, struct sw_pe *pe)
{
    *pe = (struct sw_pe){ .bytes = bytes, .store = store };
    return read_headers(pe);
}

/*
 * The bytes of a section from an RVA on. In a file, a section has only the bytes that are stored; what the loader would
 * fill with zeros is missing. A mapped image has the virtual size. Nothing between sections is read, because an image
 * may not be mapped there at all.
 */
static struct sw_bytes section_rest(const struct sw_pe *pe, unsigned number, uint32_t rva)
{
    const uint8_t *header = pe->bytes.bytes + pe->sections + SECTION_HEADER * number;
    const uint32_t virtual_size = sw_load32(header + 8);
    const uint32_t begin = sw_load32(header + 12);
    const uint32_t raw_size = sw_load32(header + 16);
    const uint64_t from = pe->mapped ? begin : sw_load32(header + 20);
    uint64_t size = virtual_size ? virtual_size : raw_size;
    if (!pe->mapped && raw_size < size)
        size = raw_size;
    if (rva < begin || rva - begin >= size || from >= pe->bytes.size)
        return (struct sw_bytes){ 0 };
    if (size > pe->bytes.size - from)
        size = pe->bytes.size - from;
    const uint64_t skip = rva - begin;
    return skip < size ? sw_bytes_part(pe->bytes, from + skip, size - skip) : (struct sw_bytes){ 0 };
}

struct sw_bytes sw_pe_rest(const struct sw_pe *pe, uint32_t rva)
{
    struct sw_bytes rest = { 0 };
    if (rva < pe->size_of_headers && rva < pe->bytes.size) {
        const uint64_t end = pe->size_of_headers < pe->bytes.size ? pe->size_of_headers : pe->bytes.size;
        rest = sw_bytes_part(pe->bytes, rva, end - rva);
    }
    for (unsigned i = 0; !rest.size && i < pe->section_count; i++)
        rest = section_rest(pe, i, rva);
    rest.address = pe->bytes.address + rva;
    return rest;
}

struct sw_bytes sw_pe_place(const struct sw_pe *pe, uint32_t rva, uint32_t size)
{
    const struct sw_bytes rest = sw_pe_rest(pe, rva);
    return rest.size ? sw_bytes_part(rest, 0, size) : (struct sw_bytes){ 0 };
}

struct sw_bytes sw_pe_at(const struct sw_pe *pe, uint32_t rva, uint32_t size)
{
    const struct sw_bytes part = sw_pe_place(pe, rva, size);
    sw_pe_want(pe, part, size);
    return part;
}

static bool same_name(const struct sw_pe *pe, uint32_t rva, const char *name)
{
    const struct sw_bytes there = sw_pe_at(pe, rva, (uint32_t)strlen(name) + 1);
    return there.size && memcmp(there.bytes, name, (size_t)there.size) == 0;
}

enum sw_status sw_pe_export(const struct sw_pe *pe, const char *name, uint32_t *rva)
{
    const struct sw_bytes table = sw_pe_at(pe, pe->export_rva, 40);
    if (!pe->export_size || !table.size)
        return SW_E_NOT_FOUND;
    const struct sw_bytes names = sw_pe_rest(pe, sw_load32(table.bytes + 32));
    const struct sw_bytes ordinals = sw_pe_rest(pe, sw_load32(table.bytes + 36));
    const struct sw_bytes functions = sw_pe_rest(pe, sw_load32(table.bytes + 28));
    const uint32_t count = sw_load32(table.bytes + 24);
    sw_pe_want(pe, names, UINT64_C(4) * count);
    sw_pe_want(pe, ordinals, UINT64_C(2) * count);
    sw_pe_want(pe, functions, functions.size < UINT64_C(4) << 16 ? functions.size : UINT64_C(4) << 16);
    for (uint64_t i = 0; i < count && i < names.size / 4 && i < ordinals.size / 2; i++) {
        if (!same_name(pe, sw_load32(names.bytes + 4 * i), name))
            continue;
        const uint16_t ordinal = sw_load16(ordinals.bytes + 2 * i);
        if (ordinal >= functions.size / 4)
            return SW_E_NOT_FOUND;
        *rva = sw_load32(functions.bytes + 4 * (uint64_t)ordinal);
        return SW_OK;
    }
    return SW_E_NOT_FOUND;
}
