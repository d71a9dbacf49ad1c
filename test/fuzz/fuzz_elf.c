/*
 * Any bytes as an ELF image, then as what its .gnu_debugdata holds, packed here and as they are: whatever comes out
 * lies inside the image or in memory of its own, and can be read.
 */
#include "elf/elf.h"

#include <elf.h>
#include <lzma.h>
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
    static const char *const names[] = { ".eh_frame", ".eh_frame_hdr", ".debug_frame", ".text", ".gnu_debugdata", "" };
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

static void ask(const uint8_t *data, size_t size)
{
    struct sw_elf *elf;
    struct sw_elf_segment segment;
    if (sw_elf_open_bytes((struct sw_bytes){ data, size, 0 }, &elf) != SW_OK)
        return;
    for (size_t n = 0; sw_elf_segment(elf, n, &segment); n++) {
        if (segment.file_size > size || segment.size < segment.file_size)
            abort();
        ask_symbol(elf, segment.address);
        ask_symbol(elf, segment.address + segment.size / 2);
    }
    ask_sections(elf);
    ask_symbol(elf, 0);
    ask_symbol(elf, UINT64_MAX);
    if (sw_elf_mini(elf) >= SW_STATUS_COUNT)
        abort();
    sw_elf_close(elf);
}

/* A file around the bytes: one segment of code, and they are its .gnu_debugdata. */
static void ask_inside(const uint8_t *data, size_t size)
{
    enum { SECTIONS = 3 };
    static const char names[] = "\0.names\0.gnu_debugdata";
    struct outside {
        Elf64_Ehdr header;
        Elf64_Phdr segment;
        Elf64_Shdr sections[SECTIONS];
        char names[sizeof names];
    };
    const Elf64_Shdr sections[SECTIONS] = {
        { .sh_type = SHT_NULL },
        { .sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct outside, names), .sh_size = sizeof names },
        { .sh_name = 8, .sh_type = SHT_PROGBITS, .sh_offset = sizeof(struct outside), .sh_size = size },
    };
    uint8_t *bytes = malloc(sizeof(struct outside) + size);
    struct outside o = { .header = { .e_ident = ELFMAG "\2\1\1",
                                     .e_type = ET_DYN,
                                     .e_machine = EM_X86_64,
                                     .e_version = EV_CURRENT,
                                     .e_phoff = offsetof(struct outside, segment),
                                     .e_shoff = offsetof(struct outside, sections),
                                     .e_ehsize = sizeof(Elf64_Ehdr),
                                     .e_phentsize = sizeof(Elf64_Phdr),
                                     .e_phnum = 1,
                                     .e_shentsize = sizeof(Elf64_Shdr),
                                     .e_shnum = SECTIONS,
                                     .e_shstrndx = 1 },
                         .segment = { PT_LOAD, PF_R | PF_X, 0, 0, 0, 64, 1 << 20, 4096 } };
    if (!bytes)
        return;
    memcpy(o.sections, sections, sizeof sections);
    memcpy(o.names, names, sizeof names);
    memcpy(bytes, &o, sizeof o);
    memcpy(bytes + sizeof o, data, size);
    ask(bytes, sizeof o + size);
    free(bytes);
}

/* The smallest dictionary there is: with that of a preset most of the time went into megabytes that nobody uses. */
static void ask_packed(const uint8_t *data, size_t size)
{
    const size_t room = lzma_stream_buffer_bound(size);
    uint8_t *packed = malloc(room);
    size_t used = 0;
    lzma_options_lzma options;
    lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &options }, { LZMA_VLI_UNKNOWN, NULL } };
    if (packed && !lzma_lzma_preset(&options, 0) && (options.dict_size = LZMA_DICT_SIZE_MIN) &&
        lzma_stream_buffer_encode(filters, LZMA_CHECK_NONE, NULL, data, size, packed, &used, room) == LZMA_OK)
        ask_inside(packed, used);
    free(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ask(data, size);
    ask_inside(data, size);
    ask_packed(data, size);
    return 0;
}
