/*
 * Sections of an ELF file by name, or by program headers if there are no section headers. Contents come from the mapped
 * file, not through libelf, so that a false header can lead nowhere. Refuses to know unwind tables, except the pointer
 * at the head of .eh_frame_hdr. Source: System V gABI, chapter 4; LSB, "The .eh_frame_hdr section".
 *
 * A section that was stripped is looked for in the file inside (minidebuginfo.c), which itself lies in a section of
 * this one: so the two files call each other, one level deep.
 */
#include "base/pointer.h"
#include "elf/internal.h"

#include <stdlib.h>
#include <string.h>

/* Limits on the claimed size of a compressed section: times its own size (deflate ends at 1032), and absolute. */
enum { INFLATION_MAX = 1100, INFLATED_MAX = 1 << 30 };

bool sw_elf_section_bytes(const struct sw_elf *elf, const GElf_Shdr *header, struct sw_bytes *bytes)
{
    *bytes = (struct sw_bytes){ 0 };
    if (header->sh_size == 0)
        return true;
    *bytes = sw_bytes_part(elf->file, header->sh_offset, header->sh_size);
    bytes->address = header->sh_addr;
    return bytes->size > 0;
}

/* Whether a section has this name, compared inside the string table's bytes. */
static bool is_named(struct sw_bytes names, uint64_t offset, const char *name)
{
    const size_t size = strlen(name) + 1;
    const struct sw_bytes found = sw_bytes_part(names, offset, size);
    return found.size == size && memcmp(found.bytes, name, size) == 0;
}

static Elf_Scn *find_section(const struct sw_elf *elf, const char *name, GElf_Shdr *header)
{
    size_t names_number = 0;
    struct sw_bytes names;
    if (elf_getshdrstrndx(elf->elf, &names_number) != 0)
        return NULL;
    Elf_Scn *section = elf_getscn(elf->elf, names_number);
    if (!section || !gelf_getshdr(section, header) || !sw_elf_section_bytes(elf, header, &names))
        return NULL;
    section = NULL;
    while ((section = elf_nextscn(elf->elf, section)) != NULL)
        if (gelf_getshdr(section, header) && is_named(names, header->sh_name, name))
            return section;
    return NULL;
}

/* The claimed size is believed only as far as deflate could have produced it. */
static bool is_plausible(struct sw_bytes compressed)
{
    if (compressed.size < sizeof(Elf64_Chdr))
        return false;
    const uint64_t size = sw_load64(compressed.bytes + offsetof(Elf64_Chdr, ch_size));
    return size > 0 && size <= INFLATED_MAX && size / INFLATION_MAX <= compressed.size;
}

/* libelf decompresses in place, including headers, so it gets a copy of the file. */
static enum sw_status inflate_from(Elf *copy, size_t number, struct sw_bytes *inflated)
{
    Elf_Scn *section = elf_getscn(copy, number);
    if (!section || elf_compress(section, 0, 0) != 1)
        return SW_E_MALFORMED;
    const Elf_Data *data = elf_rawdata(section, NULL);
    if (!data || !data->d_buf || data->d_size == 0)
        return SW_E_MALFORMED;
    uint8_t *bytes = malloc(data->d_size);
    if (!bytes)
        return SW_E_NO_MEMORY;
    memcpy(bytes, data->d_buf, data->d_size);
    *inflated = (struct sw_bytes){ bytes, data->d_size, 0 };
    return SW_OK;
}

static enum sw_status inflate(const struct sw_elf *elf, Elf_Scn *section, struct sw_bytes *inflated)
{
    char *copy = malloc((size_t)elf->file.size);
    if (!copy)
        return SW_E_NO_MEMORY;
    memcpy(copy, elf->file.bytes, (size_t)elf->file.size);
    Elf *over = elf_memory(copy, (size_t)elf->file.size);
    enum sw_status status = SW_E_MALFORMED;
    if (over) {
        status = inflate_from(over, elf_ndxscn(section), inflated);
        (void)elf_end(over);
    }
    free(copy);
    return status;
}

/* Loaded sections are never compressed, so .debug_frame is the only one to store. */
static enum sw_status inflated_section(const struct sw_elf *elf, Elf_Scn *section, struct sw_bytes *bytes)
{
    struct sw_elf *owner = (struct sw_elf *)(uintptr_t)elf;
    if (elf->inflated.size == 0) {
        if (!is_plausible(*bytes))
            return SW_E_MALFORMED;
        const enum sw_status status = inflate(elf, section, &owner->inflated);
        if (status != SW_OK)
            return status;
    }
    const uint64_t address = bytes->address;
    *bytes = elf->inflated;
    bytes->address = address;
    return SW_OK;
}

static bool find_header_segment(const struct sw_elf *elf, struct sw_bytes *bytes)
{
    size_t count = 0;
    if (elf_getphdrnum(elf->elf, &count) != 0)
        return false;
    GElf_Phdr p;
    for (size_t n = 0; n < count && n < INT32_MAX && gelf_getphdr(elf->elf, (int)n, &p); n++) {
        if (p.p_type != PT_GNU_EH_FRAME)
            continue;
        *bytes = sw_bytes_part(elf->file, p.p_offset, p.p_filesz);
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
    if ((!is_header && strcmp(name, ".eh_frame") != 0) || !find_header_segment(elf, &header))
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
    GElf_Shdr header;
    Elf_Scn *section = find_section(elf, name, &header);
    if (!section)
        return section_elsewhere(elf, name, bytes);
    if (header.sh_type == SHT_NOBITS || header.sh_size == 0) /* a file of debug information keeps the header only */
        return SW_E_NOT_FOUND;
    if (!sw_elf_section_bytes(elf, &header, bytes))
        return SW_E_MALFORMED;
    if (!(header.sh_flags & SHF_COMPRESSED))
        return SW_OK;
    return strcmp(name, ".debug_frame") == 0 ? inflated_section(elf, section, bytes) : SW_E_MALFORMED;
}
