/*
 * What the files of elf/ share: an open file. Inside elf/ only.
 */
#ifndef SW_ELF_INSIDE_H
#define SW_ELF_INSIDE_H

#include "elf/elf.h"

#include <gelf.h>
#include <libelf.h>

/*
 * A symbol that names code.
 *
 * end     Behind its last byte; for a symbol without size the next one's start.
 * reach   The greatest end up to here: how far back a search has to look.
 */
struct sw_elf_name {
    uint64_t start;
    uint64_t size;
    uint64_t end;
    uint64_t reach;
    uint32_t name;
    uint8_t rank; /* the lower the better among symbols of one start */
};

/*
 * file      The bytes; mapped when is_mapped.
 * inflated  .debug_frame, decompressed at the first request.
 * symbols   Made at the first request; names are in `strings`.
 */
struct sw_elf {
    struct sw_bytes file;
    Elf *elf;
    enum sw_machine machine;
    bool is_mapped;
    bool has_symbols;
    struct sw_elf_segment *segments;
    size_t segment_count;
    struct sw_bytes inflated;
    struct sw_elf_name *symbols;
    size_t symbol_count;
    struct sw_bytes strings;
};

/* The bytes that a section's header claims; false when they are not all in the file. */
bool sw_elf_section_bytes(const struct sw_elf *elf, const GElf_Shdr *header, struct sw_bytes *bytes);

#endif
