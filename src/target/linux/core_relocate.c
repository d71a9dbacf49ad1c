/*
 * What the dynamic linker writes into a file's memory before it makes it read-only: addresses relative to where the
 * file is mapped. A core that leaves such memory out, as createdump does, is completed by the file with them; but what
 * stays writable is not. Knows relocations without a symbol; refuses to know others, whose words stay as the file has
 * them.
 *
 * Source: System V gABI, chapters 4 and 5, "Relocation", "Dynamic Section"; psABI of x86-64 and AArch64,
 * R_X86_64_RELATIVE, R_AARCH64_RELATIVE.
 */
#include "target/linux/core.h"

#include <elf.h>
#include <string.h>

enum { HEADERS_MOST = 64 }; /* more of them are not looked through, for each entry of a table */

/*
 * The file offset of a link-time address with `size` bytes behind it, in a segment with one of the flags; false: the
 * file has no such bytes.
 */
static bool find_bytes(const struct sw_core_headers *headers, uint32_t flags, uint64_t address, uint64_t size,
                       uint64_t *offset)
{
    struct sw_core_header header;
    for (uint64_t n = 0; n < HEADERS_MOST && sw_core_header(headers, n, &header); n++) {
        const uint64_t within = address - header.address;
        if (header.type != SW_CORE_LOAD || !(header.flags & flags) || address < header.address ||
            within >= header.file_size || header.file_size - within < size)
            continue;
        *offset = header.offset + within;
        return *offset >= within && *offset < headers->file.size && headers->file.size - *offset >= size;
    }
    return false;
}

/* Whether the file says that its byte at that offset stays writable, when it is linked. */
static bool stays_writable(const struct sw_core_headers *headers, uint64_t offset)
{
    enum { PAGE = 4096 };
    struct sw_core_header header;
    bool may_write = false;
    for (uint64_t n = 0; n < HEADERS_MOST && sw_core_header(headers, n, &header); n++) {
        const uint64_t begin = header.offset & ~(uint64_t)(PAGE - 1);
        const bool holds = offset >= begin && offset - begin < header.offset - begin + header.file_size;
        if (holds && header.type == PT_GNU_RELRO)
            return false;
        may_write |= holds && header.type == SW_CORE_LOAD && (header.flags & SW_CORE_WRITE);
    }
    return may_write;
}

void sw_core_note_writable(struct sw_core *core, size_t file, struct sw_bytes bytes)
{
    struct sw_core_headers headers;
    if (sw_core_headers_read(bytes, &headers) != SW_OK)
        return;
    for (size_t i = 0; i < core->row_array.count; i++) {
        struct sw_core_row *row = &core->rows[i];
        if (row->file == file && !sw_core_segment_at(core, row->begin) && stays_writable(&headers, row->offset))
            row->flags |= SW_CORE_WRITE;
    }
}

/* The table of relocations, by the dynamic section. Empty: none. */
static struct sw_bytes find_table(const struct sw_core_headers *headers)
{
    struct sw_core_header dynamic;
    uint64_t address = 0, size = 0, offset;
    Elf64_Dyn entry;
    if (!sw_core_find_header(headers, SW_CORE_DYNAMIC, &dynamic))
        return (struct sw_bytes){ 0 };
    const struct sw_bytes held = sw_core_held(headers, &dynamic);
    for (uint64_t at = 0; held.size - at >= sizeof entry; at += sizeof entry) {
        memcpy(&entry, held.bytes + at, sizeof entry);
        address = entry.d_tag == DT_RELA ? entry.d_un.d_val : address;
        size = entry.d_tag == DT_RELASZ ? entry.d_un.d_val : size;
    }
    return size && find_bytes(headers, SW_CORE_READ, address, size, &offset)
               ? sw_bytes_part(headers->file, offset, size)
               : (struct sw_bytes){ 0 };
}

/* bytes: may be written. Bounded: each entry of a table that lies in the file is looked at once. */
void sw_core_relocate(uint8_t *bytes, uint64_t size, uint64_t address)
{
    struct sw_core_headers headers;
    uint64_t base, offset;
    Elf64_Rela entry;
    if (sw_core_headers_read((struct sw_bytes){ bytes, size, 0 }, &headers) != SW_OK ||
        !sw_core_link_base(&headers, &base))
        return;
    const uint64_t relative = headers.machine == SW_MACHINE_X64 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE;
    const struct sw_bytes table = find_table(&headers);
    for (uint64_t at = 0; table.size - at >= sizeof entry; at += sizeof entry) {
        memcpy(&entry, table.bytes + at, sizeof entry);
        const uint64_t value = (uint64_t)entry.r_addend + address - base;
        if (ELF64_R_TYPE(entry.r_info) == relative &&
            find_bytes(&headers, SW_CORE_WRITE, entry.r_offset, sizeof value, &offset))
            memcpy(bytes + offset, &value, sizeof value);
    }
}
