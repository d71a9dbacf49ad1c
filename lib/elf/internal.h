/* An open file, as the files of lib/elf share it. Used inside lib/elf only. */
#ifndef SW_ELF_INTERNAL_H
#define SW_ELF_INTERNAL_H

#include "elf/elf.h"

#include <gelf.h>
#include <libelf.h>

/*
 * A symbol that names code.
 *
 * end     Behind its last byte; for a symbol without size, the next one's start.
 * reach   The greatest end of this symbol and all before it: how far back a search has to look.
 */
struct sw_elf_name {
    uint64_t start;
    uint64_t size;
    uint64_t end;
    uint64_t reach;
    uint32_t name;
    uint8_t table; /* index of the strings that hold the name */
    uint8_t rank;  /* among symbols with one start, the lowest is preferred */
};

enum { SW_ELF_STRINGS = 2 };

/*
 * file      The bytes; mapped if is_mapped.
 * inflated  .debug_frame, decompressed at the first request.
 * symbols   Made at the first request. Names are in `strings`: the file's own, those of the MiniDebugInfo.
 * mini      The file in .gnu_debugdata, over `unpacked`. mini_status: the result of opening it, once is_mini_tried.
 *           is_mini: this is such a file.
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
    struct sw_bytes strings[SW_ELF_STRINGS];
    struct sw_elf *mini;
    struct sw_bytes unpacked;
    enum sw_status mini_status;
    bool is_mini_tried;
    bool is_mini;
};

/* The bytes that a section's header claims; false: not all of them are in the file. */
bool sw_elf_section_bytes(const struct sw_elf *elf, const GElf_Shdr *header, struct sw_bytes *bytes);

/* The MiniDebugInfo, or null and the reason in status. Opened at the first request. */
struct sw_elf *sw_elf_mini_file(const struct sw_elf *elf, enum sw_status *status);

#endif
