/*
 * The tables of headers of an ELF file, and the bytes that a section's header claims. What headers say is checked
 * against the bytes that exist. Refuses to know what sections are for. Source: System V gABI, chapter 4.
 */
#include "elf/internal.h"

#include <string.h>

/* Row `number` of a table of headers. */
static bool copy_row(struct sw_bytes table, uint64_t number, void *row, size_t size)
{
    if (number >= table.size / size)
        return false;
    memcpy(row, table.bytes + number * size, size);
    return true;
}

bool sw_elf_program_header(const struct sw_elf *elf, uint64_t number, Elf64_Phdr *header)
{
    return copy_row(elf->program_headers, number, header, sizeof *header);
}

bool sw_elf_section_header(const struct sw_elf *elf, uint64_t number, Elf64_Shdr *header)
{
    return copy_row(elf->section_headers, number, header, sizeof *header);
}

struct sw_bytes sw_elf_part(const struct sw_elf *elf, uint64_t offset, uint64_t size)
{
    const struct sw_bytes part = sw_bytes_part(elf->file, offset, size);
    sw_store_want(elf->store, part.bytes, part.size);
    return part;
}

/* A table of headers; empty: they are of another size, or not all of them are in the file. */
static struct sw_bytes table_at(const struct sw_elf *elf, uint64_t offset, uint64_t count, size_t size, size_t expected)
{
    if (offset == 0 || size != expected || count > elf->file.size / size)
        return (struct sw_bytes){ 0 };
    return sw_elf_part(elf, offset, count * size);
}

/* Numbers that do not fit into the file's header are in the first section's. */
enum sw_status sw_elf_find_headers(struct sw_elf *elf)
{
    Elf64_Ehdr h;
    Elf64_Shdr first = { 0 };
    memcpy(&h, elf->file.bytes, sizeof h);
    elf->section_headers = table_at(elf, h.e_shoff, 1, h.e_shentsize, sizeof first);
    (void)sw_elf_section_header(elf, 0, &first);
    const uint64_t sections = h.e_shnum ? h.e_shnum : first.sh_size;
    uint64_t segments = h.e_phnum == PN_XNUM ? first.sh_info : h.e_phnum;
    elf->section_headers = table_at(elf, h.e_shoff, sections, h.e_shentsize, sizeof first);
    elf->names = h.e_shstrndx == SHN_XINDEX ? first.sh_link : h.e_shstrndx;
    if (h.e_phoff == 0 || segments == 0)
        return SW_OK;
    if (h.e_phoff >= elf->file.size || h.e_phentsize != sizeof(Elf64_Phdr))
        return SW_E_MALFORMED;
    const uint64_t whole = (elf->file.size - h.e_phoff) / sizeof(Elf64_Phdr); /* of a file that is cut off */
    segments = segments < whole ? segments : whole;
    elf->program_headers = table_at(elf, h.e_phoff, segments, h.e_phentsize, sizeof(Elf64_Phdr));
    return SW_OK;
}

bool sw_elf_section_place(const struct sw_elf *elf, const Elf64_Shdr *header, struct sw_bytes *bytes)
{
    *bytes = (struct sw_bytes){ 0 };
    if (header->sh_size == 0)
        return true;
    *bytes = sw_bytes_part(elf->file, header->sh_offset, header->sh_size);
    bytes->address = header->sh_addr;
    return bytes->size > 0;
}

bool sw_elf_section_bytes(const struct sw_elf *elf, const Elf64_Shdr *header, struct sw_bytes *bytes)
{
    if (!sw_elf_section_place(elf, header, bytes))
        return false;
    sw_store_want(elf->store, bytes->bytes, bytes->size);
    return true;
}

bool sw_elf_is_named(struct sw_bytes names, uint64_t offset, const char *name)
{
    const size_t size = strlen(name) + 1;
    const struct sw_bytes found = sw_bytes_part(names, offset, size);
    return found.size == size && memcmp(found.bytes, name, size) == 0;
}
