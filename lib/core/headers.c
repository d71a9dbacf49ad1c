/*
 * ELF and program headers, and the notes to which they lead. Source: System V gABI, "ELF Header", "Program Header",
 * "Note Section"; PN_XNUM: Linux include/uapi/linux/elf.h.
 */
#include "core/core.h"

#include "arch/arch.h"

#include <snapwalk/limits.h>

#include <string.h>

enum { PROGRAM_HEADER_BYTES = 56, SECTION_HEADER_BYTES = 64, COUNT_IS_ELSEWHERE = 0xffff, COUNT_AT = 44 };

/* With more than 65,534 program headers, their number is in the first section header. */
static uint64_t count_of(struct sw_bytes file, uint64_t sections, uint64_t count)
{
    const struct sw_bytes first = sw_bytes_part(file, sections, SECTION_HEADER_BYTES);
    if (count != COUNT_IS_ELSEWHERE || first.size == 0)
        return count;
    return sw_load32(first.bytes + COUNT_AT);
}

enum sw_status sw_core_headers_read(struct sw_bytes file, struct sw_core_headers *headers)
{
    static const uint8_t ident[7] = { 0x7f, 'E', 'L', 'F', 2 /* 64-bit */, 1 /* little-endian */, 1 };
    struct sw_cursor c = sw_cursor_over(file);
    const uint8_t *magic = sw_cursor_take(&c, 16);
    if (!magic || file.size < SW_CORE_HEADER_BYTES)
        return SW_E_TRUNCATED;
    if (memcmp(magic, ident, 4) != 0)
        return SW_E_MALFORMED;
    *headers = (struct sw_core_headers){ .file = file };
    headers->type = (unsigned)sw_cursor_u(&c, 2);
    const struct sw_arch *arch = sw_arch_of_elf((unsigned)sw_cursor_u(&c, 2));
    (void)sw_cursor_u(&c, 4); /* version */
    headers->entry = sw_cursor_u(&c, 8);
    headers->table = sw_cursor_u(&c, 8);
    const uint64_t sections = sw_cursor_u(&c, 8);
    (void)sw_cursor_take(&c, 6); /* flags, size of this header */
    const uint64_t size = sw_cursor_u(&c, 2);
    const uint64_t count = count_of(file, sections, sw_cursor_u(&c, 2));
    headers->machine = arch ? arch->machine : SW_MACHINE_NONE;
    if (memcmp(magic, ident, sizeof ident) != 0 || !arch || (count > 0 && size != PROGRAM_HEADER_BYTES))
        return SW_E_UNSUPPORTED;
    if (!sw_add_u64(headers->table, count * PROGRAM_HEADER_BYTES, &headers->table_end))
        headers->table_end = 0;
    const uint64_t room = headers->table < file.size ? (file.size - headers->table) / PROGRAM_HEADER_BYTES : 0;
    headers->count = count < room ? count : room;
    headers->count = headers->count < SW_CORE_HEADERS_MAX ? headers->count : SW_CORE_HEADERS_MAX;
    return SW_OK;
}

bool sw_core_header(const struct sw_core_headers *headers, uint64_t number, struct sw_core_header *header)
{
    if (number >= headers->count)
        return false;
    struct sw_cursor c = sw_cursor_over(
        sw_bytes_part(headers->file, headers->table + number * PROGRAM_HEADER_BYTES, PROGRAM_HEADER_BYTES));
    header->type = (uint32_t)sw_cursor_u(&c, 4);
    header->flags = (uint32_t)sw_cursor_u(&c, 4);
    header->offset = sw_cursor_u(&c, 8);
    header->address = sw_cursor_u(&c, 8);
    (void)sw_cursor_u(&c, 8); /* physical address */
    header->file_size = sw_cursor_u(&c, 8);
    header->size = sw_cursor_u(&c, 8);
    header->align = sw_cursor_u(&c, 8);
    return sw_cursor_ok(&c);
}

uint64_t sw_core_missing(const struct sw_core_headers *headers)
{
    struct sw_core_header header;
    uint64_t end = headers->table_end, its;
    for (uint64_t n = 0; sw_core_header(headers, n, &header); n++)
        if (sw_add_u64(header.offset, header.file_size, &its) && header.file_size && its > end)
            end = its;
    return end > headers->file.size ? end - headers->file.size : 0;
}

struct sw_bytes sw_core_held(const struct sw_core_headers *headers, const struct sw_core_header *header)
{
    const struct sw_bytes *file = &headers->file;
    if (header->offset >= file->size)
        return (struct sw_bytes){ .address = header->address };
    const uint64_t room = file->size - header->offset;
    struct sw_bytes held = sw_bytes_part(*file, header->offset, header->file_size < room ? header->file_size : room);
    held.address = header->address;
    return held;
}

bool sw_core_find_header(const struct sw_core_headers *headers, enum sw_core_header_type type,
                         struct sw_core_header *header)
{
    for (uint64_t n = 0; sw_core_header(headers, n, header); n++)
        if (header->type == (uint32_t)type)
            return true;
    return false;
}

bool sw_core_link_base(const struct sw_core_headers *file, uint64_t *address)
{
    struct sw_core_header header;
    uint64_t lowest = UINT64_MAX;
    bool found = false;
    for (uint64_t n = 0; sw_core_header(file, n, &header); n++) {
        if (header.type != SW_CORE_LOAD || (found && header.address >= lowest))
            continue;
        found = true;
        lowest = header.address;
        *address = header.address - header.offset;
    }
    return found;
}

/* Notes --------------------------------------------------------------------------------------------------------- */

struct sw_core_notes sw_core_notes_over(const struct sw_core_headers *headers)
{
    const uint64_t size = headers->file.size;
    return (struct sw_core_notes){ .headers = headers,
                                   .budget = size < SW_CORE_NOTES_MAX ? size : SW_CORE_NOTES_MAX,
                                   .left = { .broken = true } };
}

/* Advances to the next header with notes; false: there is none. */
static bool next_segment(struct sw_core_notes *notes)
{
    struct sw_core_header header;
    while (sw_core_header(notes->headers, notes->next, &header)) {
        notes->next++;
        if (header.type != SW_CORE_NOTE)
            continue;
        struct sw_bytes held = sw_core_held(notes->headers, &header);
        held.size = held.size < notes->budget ? held.size : notes->budget;
        notes->budget -= held.size;
        notes->align = header.align == 8 ? 8 : 4;
        notes->left = sw_cursor_over(held);
        return true;
    }
    return false;
}

/* Takes `size` bytes and their padding, which may be missing at the very end of the segment. */
static struct sw_bytes padded(struct sw_core_notes *notes, const uint8_t *begin, uint64_t size)
{
    struct sw_cursor *c = &notes->left;
    const uint64_t address = c->address;
    const uint8_t *taken = sw_cursor_take(c, size);
    if (!taken)
        return (struct sw_bytes){ 0 };
    const uint64_t over = (uint64_t)(c->at - begin) % notes->align;
    const uint64_t filling = over ? notes->align - over : 0;
    (void)sw_cursor_take(c, filling < sw_cursor_left(c) ? filling : sw_cursor_left(c));
    return (struct sw_bytes){ taken, size, address };
}

static bool note_here(struct sw_core_notes *notes, struct sw_core_note *note)
{
    struct sw_cursor *c = &notes->left;
    const uint8_t *begin = c->at;
    const uint64_t owner_size = sw_cursor_u(c, 4);
    const uint64_t data_size = sw_cursor_u(c, 4);
    note->type = (uint32_t)sw_cursor_u(c, 4);
    note->owner = padded(notes, begin, owner_size);
    note->data = padded(notes, begin, data_size);
    if ((owner_size | data_size | note->type) == 0) /* a hole of a sparse file: what is behind it is no note either */
        c->broken = true;
    return sw_cursor_ok(c);
}

bool sw_core_notes_next(struct sw_core_notes *notes, struct sw_core_note *note)
{
    do {
        if (sw_cursor_ok(&notes->left) && sw_cursor_left(&notes->left) > 0 && note_here(notes, note))
            return true;
    } while (next_segment(notes));
    return false;
}
