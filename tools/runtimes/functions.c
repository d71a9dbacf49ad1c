/*
 * Knows the table of .eh_frame_hdr that is searched, sorted by where functions begin; refuses to know what it leads to.
 *
 * Source: LSB, "The .eh_frame_hdr section"; System V gABI, chapter 5, program headers; Intel SDM, volume 2, CALL;
 * dwarf-cfi.md section 1.
 */
#include "functions.h"

#include "peek.h"

#include <elf.h>
#include <string.h>

enum { SEGMENTS_MOST = 64, ROWS_MOST = 1 << 24, HEADER_BYTES = 12, ROW_BYTES = 8 };

/* As linkers make it: version 1; pointer by its place, number, rows by the header's place, all of 32 bits. */
static const uint8_t encodings[] = { 1, 0x1b, 0x03, 0x3b };

struct table {
    uint64_t at; /* of the header, which the rows count from */
    uint32_t count;
};

static bool find_header(const struct sw_memory *memory, const struct sw_image *image, uint64_t *at)
{
    Elf64_Ehdr head;
    Elf64_Phdr segment;
    if (!peek(memory, image->begin, &head, sizeof head) || memcmp(head.e_ident, ELFMAG "\2\1", SELFMAG + 2) != 0 ||
        head.e_phentsize != sizeof segment)
        return false;
    for (unsigned i = 0; i < head.e_phnum && i < SEGMENTS_MOST; i++) {
        if (!peek(memory, image->begin + head.e_phoff + i * sizeof segment, &segment, sizeof segment))
            return false;
        if (segment.p_type != PT_GNU_EH_FRAME)
            continue;
        *at = image->bias + segment.p_vaddr;
        return true;
    }
    return false;
}

static bool open_table(const struct sw_memory *memory, const struct sw_image *image, struct table *table)
{
    uint8_t header[HEADER_BYTES];
    if (image->is_pe || !find_header(memory, image, &table->at) || !peek(memory, table->at, header, sizeof header) ||
        memcmp(header, encodings, sizeof encodings) != 0)
        return false;
    memcpy(&table->count, header + 8, sizeof table->count);
    return table->count && table->count <= ROWS_MOST;
}

static bool get_row(const struct sw_memory *memory, const struct table *table, uint32_t row, uint64_t *begin)
{
    int32_t distance;
    if (!peek(memory, table->at + HEADER_BYTES + (uint64_t)row * ROW_BYTES, &distance, sizeof distance))
        return false;
    *begin = table->at + (uint64_t)(int64_t)distance;
    return true;
}

bool function_begin(const struct sw_images *images, const struct sw_memory *memory, uint64_t address, uint64_t *begin)
{
    struct sw_image image;
    struct table table;
    uint64_t found;
    if (sw_images_find(images, address, &image) != SW_OK || !open_table(memory, &image, &table))
        return false;
    uint32_t low = 0, high = table.count; /* rows below low begin at or below the address, those from high on above */
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (!get_row(memory, &table, middle, &found))
            return false;
        if (found <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && get_row(memory, &table, low - 1, begin) && *begin <= address;
}

uint64_t function_called(const struct sw_memory *memory, uint64_t address)
{
    uint8_t code[5];
    int32_t distance;
    if (!peek(memory, address - sizeof code, code, sizeof code) || code[0] != 0xe8)
        return 0;
    memcpy(&distance, code + 1, sizeof distance);
    return address + (uint64_t)(int64_t)distance;
}
