/*
 * Any bytes as an ELF image: whatever comes out lies inside the image or in memory of its own, and can be read.
 */
#include "elf/elf.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads every byte, so that ASan sees one that is not there. */
static void touch(const uint8_t *bytes, uint64_t size)
{
    volatile uint8_t sum = 0;
    for (uint64_t i = 0; i < size; i++)
        sum = (uint8_t)(sum + bytes[i]);
}

static void ask_sections(const struct sw_elf *elf)
{
    static const char *const names[] = { ".eh_frame", ".eh_frame_hdr", ".debug_frame", ".text", "" };
    struct sw_bytes bytes;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (sw_elf_section(elf, names[i], &bytes) == SW_OK)
            touch(bytes.bytes, bytes.size);
}

static void ask_symbol(struct sw_elf *elf, uint64_t address)
{
    const char *name;
    uint64_t start, size;
    if (sw_elf_symbol(elf, address, &name, &start, &size) != SW_OK)
        return;
    touch((const uint8_t *)name, strlen(name) + 1);
    if (start > address)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_elf *elf;
    struct sw_elf_segment segment;
    if (sw_elf_open_bytes((struct sw_bytes){ data, size, 0 }, &elf) != SW_OK)
        return 0;
    for (size_t n = 0; sw_elf_segment(elf, n, &segment); n++) {
        if (segment.file_size > size || segment.size < segment.file_size)
            abort();
        ask_symbol(elf, segment.address);
        ask_symbol(elf, segment.address + segment.size / 2);
    }
    ask_sections(elf);
    ask_symbol(elf, 0);
    ask_symbol(elf, UINT64_MAX);
    sw_elf_close(elf);
    return 0;
}
