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
 * elf      Null on failure.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_OS; SW_E_NO_MEMORY; SW_E_TRUNCATED (too short for a header), SW_E_MALFORMED,
 *          SW_E_UNSUPPORTED (not a regular file, not ELF64 LE of a machine of ours). A file cut off later opens, and
 *          has what is there.
 * Memory   Maps the file read-only until close: it must not be cut short meanwhile (SIGBUS).
 */
SW_NODISCARD enum sw_status sw_elf_open(const char *path, struct sw_elf **elf);
SW_NODISCARD enum sw_status sw_elf_open_bytes(struct sw_bytes bytes, struct sw_elf **elf);
void sw_elf_close(struct sw_elf *elf);

enum sw_machine sw_elf_machine(const struct sw_elf *elf);

/*
 * The loadable segments: link-time address, size in memory, file offset, executable. Returns false past the last.
 * file_size is what the file really holds of it; segments that contradict themselves are left out.
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
 * The bytes of an unwind section (decompressed where it is compressed), address = its link-time address. Where there
 * are no section headers, PT_GNU_EH_FRAME leads to the same. Borrowed until close.
 *
 * name     ".eh_frame", ".eh_frame_hdr", ".debug_frame".
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (also when only its header is there, as in files of debug information);
 *          SW_E_MALFORMED; SW_E_ARGUMENT; SW_E_NO_MEMORY. *bytes is empty on failure.
 * Threads  One at a time: the first request of a compressed section keeps its bytes.
 */
SW_NODISCARD enum sw_status sw_elf_section(const struct sw_elf *elf, const char *name, struct sw_bytes *bytes);

/*
 * The function symbol around a link-time address (.symtab, else .dynsym): the nearest one that starts at or below it
 * and, if it has a size, contains it; without a size it ends where the next one begins. Functions go before labels,
 * global before local.
 *
 * name     Borrowed until close.
 * start, size  May be null. A size of 0: the symbol has none.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (also without memory for the table); SW_E_ARGUMENT.
 */
SW_NODISCARD enum sw_status sw_elf_symbol(struct sw_elf *elf, uint64_t address, const char **name, uint64_t *start,
                                          uint64_t *size);

#endif
