/*
 * ELF files through libelf: segments, unwind sections, symbols, build id. The only place that includes libelf.
 * Set-up time only: allocates, maps, is not signal safe. Hostile files get a status.
 */
#ifndef SW_ELF_ELF_H
#define SW_ELF_ELF_H

#include "base/bytes.h"

#include <snapwalk/alloc.h>
#include <snapwalk/regs.h>

struct sw_elf;

/*
 * Opens a file, or an image in memory (copied from the target; `bytes` borrowed until close).
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_OS; SW_E_NO_MEMORY; SW_E_TRUNCATED, SW_E_MALFORMED, SW_E_UNSUPPORTED (not ELF64 LE
 *          of a machine of ours).
 */
SW_NODISCARD enum sw_status sw_elf_open(const char *path, struct sw_elf **elf);
SW_NODISCARD enum sw_status sw_elf_open_bytes(struct sw_bytes bytes, struct sw_elf **elf);
void sw_elf_close(struct sw_elf *elf);

enum sw_machine sw_elf_machine(const struct sw_elf *elf);

/*
 * The loadable segments: link-time address, size in memory, file offset, executable. Returns false past the last.
 */
struct sw_elf_segment {
    uint64_t address;
    uint64_t size;
    uint64_t file_size;
    uint64_t offset;
    bool executable;
};
bool sw_elf_segment(const struct sw_elf *elf, size_t n, struct sw_elf_segment *segment);

/*
 * The bytes of an unwind section (decompressed where it is compressed), address = its link-time address. Where there are
 * no section headers, PT_GNU_EH_FRAME leads to the same. Borrowed until close.
 *
 * name     ".eh_frame", ".eh_frame_hdr", ".debug_frame".
 *
 * Returns  SW_OK; SW_E_NOT_FOUND; SW_E_MALFORMED.
 */
SW_NODISCARD enum sw_status sw_elf_section(const struct sw_elf *elf, const char *name, struct sw_bytes *bytes);

/*
 * The function symbol around a link-time address (.symtab, else .dynsym): the nearest one that starts at or below it and,
 * if it has a size, contains it.
 *
 * name     Borrowed until close.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND.
 */
SW_NODISCARD enum sw_status sw_elf_symbol(struct sw_elf *elf, uint64_t address, const char **name, uint64_t *start,
                                          uint64_t *size);

#endif
