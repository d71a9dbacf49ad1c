/*
 * Sections of an ELF file by name, or by program headers if there are no section headers. Refuses to know unwind
 * tables, except the pointer at the head of .eh_frame_hdr. Source: System V gABI, chapter 4; LSB, "The .eh_frame_hdr
 * section".
 *
 * A section that was stripped is looked for in the file inside (minidebuginfo.c), which itself lies in a section of
 * this one: so the two files call each other, one level deep.
 */
#include "base/pointer.h"
#include "elf/internal.h"

#include <string.h>

static bool find_section(const struct sw_elf *elf, const char *name, Elf64_Shdr *header)
{
    struct sw_bytes names;
    if (!sw_elf_section_header(elf, elf->names, header) || !sw_elf_section_bytes(elf, header, &names))
        return false;
    for (uint64_t n = 1; sw_elf_section_header(elf, n, header); n++)
        if (sw_elf_is_named(names, header->sh_name, name))
            return true;
    return false;
}

/* Loaded sections are never compressed, so .debug_frame is the only one to store. */
static enum sw_status inflated_section(const struct sw_elf *elf, const Elf64_Shdr *header, struct sw_bytes *bytes)
{
    struct sw_elf *owner = (struct sw_elf *)(uintptr_t)elf;
    if (elf->inflated.size == 0) {
        const enum sw_status status = sw_elf_inflate(elf, header, *bytes, &owner->inflated);
        if (status != SW_OK)
            return status;
    }
    const uint64_t address = bytes->address;
    *bytes = elf->inflated;
    bytes->address = address;
    return SW_OK;
}

static bool find_segment(const struct sw_elf *elf, uint32_t type, struct sw_bytes *bytes)
{
    Elf64_Phdr p;
    for (uint64_t n = 0; sw_elf_program_header(elf, n, &p); n++) {
        if (p.p_type != type)
            continue;
        *bytes = sw_elf_part(elf, p.p_offset, p.p_filesz);
        bytes->address = p.p_vaddr;
        return bytes->size > 0;
    }
    return false;
}

/* The bytes from an address to the end of its segment. */
static enum sw_status bytes_from(const struct sw_elf *elf, uint64_t address, struct sw_bytes *bytes)
{
    for (size_t n = 0; n < elf->segment_count; n++) {
        const struct sw_elf_segment *s = &elf->segments[n];
        if (address < s->address || address - s->address >= s->file_size)
            continue;
        const uint64_t offset = address - s->address;
        *bytes = sw_bytes_part(elf->file, s->offset + offset, s->file_size - offset);
        bytes->address = address;
        return bytes->size > 0 ? SW_OK : SW_E_MALFORMED;
    }
    return SW_E_NOT_FOUND;
}

static enum sw_status section_of_segments(const struct sw_elf *elf, const char *name, struct sw_bytes *bytes)
{
    struct sw_bytes header;
    const bool is_header = strcmp(name, ".eh_frame_hdr") == 0;
    if (strcmp(name, ".sframe") == 0)
        return find_segment(elf, SW_PT_GNU_SFRAME, bytes) ? SW_OK : SW_E_NOT_FOUND;
    if ((!is_header && strcmp(name, ".eh_frame") != 0) || !find_segment(elf, PT_GNU_EH_FRAME, &header))
        return SW_E_NOT_FOUND;
    if (is_header) {
        *bytes = header;
        return SW_OK;
    }
    struct sw_cursor c = sw_cursor_over(header);
    const struct sw_pointer_bases bases = { 0, header.address, 0 };
    const uint64_t head = sw_cursor_u(&c, 4); /* version, encodings of pointer, count, table */
    uint64_t address = 0;
    if ((head & 0xff) != 1 || sw_pointer_read(&c, (uint8_t)(head >> 8), &bases, &address) != SW_OK)
        return SW_E_MALFORMED;
    return bytes_from(elf, address, bytes);
}

/* Sections without a section header. */
static enum sw_status section_elsewhere(const struct sw_elf *elf, const char *name, struct sw_bytes *bytes)
{
    enum sw_status status;
    if (strcmp(name, ".debug_frame") != 0)
        return section_of_segments(elf, name, bytes);
    const struct sw_elf *mini = sw_elf_mini_file(elf, &status);
    return mini ? sw_elf_section(mini, name, bytes) : status;
}

enum sw_status sw_elf_section(const struct sw_elf *elf, const char *name, struct sw_bytes *bytes)
{
    if (!elf || !name || !bytes)
        return SW_E_ARGUMENT;
    *bytes = (struct sw_bytes){ 0 };
    Elf64_Shdr header;
    if (!find_section(elf, name, &header))
        return section_elsewhere(elf, name, bytes);
    if (header.sh_type == SHT_NOBITS || header.sh_size == 0) /* a file of debug information keeps the header only */
        return SW_E_NOT_FOUND;
    const bool is_frames = strcmp(name, ".eh_frame") == 0;
    if (is_frames ? !sw_elf_section_place(elf, &header, bytes) : !sw_elf_section_bytes(elf, &header, bytes))
        return SW_E_MALFORMED;
    if (!(header.sh_flags & SHF_COMPRESSED))
        return SW_OK;
    return strcmp(name, ".debug_frame") == 0 ? inflated_section(elf, &header, bytes) : SW_E_MALFORMED;
}
