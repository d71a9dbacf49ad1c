/*
 * ELF files: segments, unwind sections, symbols, MiniDebugInfo. The only room that includes libelf and liblzma. Set-up
 * time only: allocates, maps, is not signal safe. Hostile files get a status, and cost no more than snapwalk/limits.h
 * says.
 */
#ifndef SW_ELF_ELF_H
#define SW_ELF_ELF_H

#include "base/bytes.h"
#include "base/store.h"

#include <snapwalk/alloc.h>
#include <snapwalk/regs.h>

struct sw_elf;

/*
 * Opens a file, or an image in memory (copied from the target; `bytes` is borrowed until close).
 *
 * elf      Null on failure.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_OS; SW_E_NO_MEMORY; SW_E_TRUNCATED (too short for a header), SW_E_MALFORMED,
 *          SW_E_UNSUPPORTED (not a regular file, or not little-endian ELF64 for x64 or ARM64), SW_E_LIMIT (nearly all
 *          of it is holes). A file cut off behind its header opens, and has what is left.
 * Memory   Holds what it needs of the file until close (sw_elf_read).
 */
SW_NODISCARD enum sw_status sw_elf_open(const char *path, struct sw_elf **elf);
/* As open, of an open file, whose place does not change. */
SW_NODISCARD enum sw_status sw_elf_open_file(int fd, struct sw_elf **elf);
/*
 * As open, of a file in a store: of it is read what is asked for. Both are borrowed until close. Of .eh_frame nothing
 * is: sw_elf_section says where it is, and who looks at it asks the store.
 */
SW_NODISCARD enum sw_status sw_elf_open_stored(struct sw_bytes bytes, const struct sw_store *store,
                                               struct sw_elf **elf);
/* As open, of a file whose unwind tables are not wanted: names, and MiniDebugInfo, which has some. */
SW_NODISCARD enum sw_status sw_elf_open_names(const char *path, struct sw_elf **elf);
SW_NODISCARD enum sw_status sw_elf_open_bytes(struct sw_bytes bytes, struct sw_elf **elf);
void sw_elf_close(struct sw_elf *elf);

/*
 * Reads a regular file, to be used as an image. It may change or be cut short afterwards.
 *
 * what     TABLES: of an ELF file only headers, symbols and what unwinding needs; the rest is zeros. Any other file is
 *          read whole. WHOLE: what is mapped of it, too. NAMES: as TABLES, without unwind tables.
 * room     Receives how many bytes may be unpacked of it.
 *
 * Returns  SW_OK; SW_E_OS; SW_E_UNSUPPORTED (not a regular file); SW_E_TRUNCATED; SW_E_LIMIT (nearly all of it is
 *          holes). Memory  As much as is read. The caller unmaps it.
 */
enum sw_elf_what { SW_ELF_TABLES, SW_ELF_WHOLE, SW_ELF_NAMES };
SW_NODISCARD enum sw_status sw_elf_read(const char *path, enum sw_elf_what what, struct sw_bytes *bytes,
                                        uint64_t *room);
SW_NODISCARD enum sw_status sw_elf_read_file(int fd, enum sw_elf_what what, struct sw_bytes *bytes, uint64_t *room);

/*
 * Whether enough of an open file is stored, that is no hole: else it costs nothing to make, and much to read.
 *
 * room     Receives how many bytes may be unpacked of it; may be null.
 */
bool sw_elf_is_stored(int fd, uint64_t size, uint64_t *room);

/* All pages of a large part of memory at once, in half the time of a fault for each. */
void sw_elf_populate(uint8_t *begin, uint64_t size);

/* How many bytes may be unpacked of a file that was opened as bytes or stored; else what all of them are worth. */
void sw_elf_set_room(struct sw_elf *elf, uint64_t room);

enum sw_machine sw_elf_machine(const struct sw_elf *elf);

/*
 * Where a program begins, as a link-time address; 0 in a library, whose header may hold anything there. is_first: it is
 * known that the kernel starts this file.
 */
uint64_t sw_elf_start(const struct sw_elf *elf, bool is_first);

/*
 * The loadable segments: link-time address, size in memory, file offset, executable. Returns false past the last.
 * file_size is how much of the segment the file really holds. Segments that contradict themselves are left out.
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
 * The bytes of a section; address = its link-time address. A compressed .debug_frame is decompressed. Without section
 * headers, PT_GNU_EH_FRAME leads to the unwind sections. A file without a .debug_frame has that of its MiniDebugInfo.
 * Borrowed until close.
 *
 * name     ".eh_frame", ".eh_frame_hdr", ".debug_frame"; others are found too, but not decompressed.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (also if only its header exists, as in files of debug information);
 *          SW_E_MALFORMED; SW_E_ARGUMENT; SW_E_NO_MEMORY; SW_E_LIMIT (it would be larger than the file is worth).
 *          .debug_frame: also as sw_elf_mini. *bytes is empty then.
 * Threads  One at a time: the first request of a compressed section stores its bytes.
 */
SW_NODISCARD enum sw_status sw_elf_section(const struct sw_elf *elf, const char *name, struct sw_bytes *bytes);

/*
 * The state of the MiniDebugInfo: .gnu_debugdata, a whole ELF file compressed by xz. The first of these unpacks it:
 * this call; sw_elf_section for a .debug_frame that the file does not have; sw_elf_symbol in a file without .symtab.
 *
 * Returns  SW_OK (there is one); SW_E_NOT_FOUND; SW_E_TRUNCATED, SW_E_MALFORMED (damaged; no ELF file for the same
 *          machine); SW_E_UNSUPPORTED (an unknown filter or check); SW_E_LIMIT (it would be larger than the file is
 *          worth, or takes over SW_UNPACK_MEMORY to unpack); SW_E_NO_MEMORY; SW_E_ARGUMENT.
 * Memory   Keeps the unpacked file until close.
 * Threads  One at a time.
 * Source   GDB manual, "MiniDebugInfo"; the .xz file format.
 */
SW_NODISCARD enum sw_status sw_elf_mini(const struct sw_elf *elf);

/*
 * Puts the function symbols in order. The first sw_elf_symbol does so, too; behind it, both only read.
 *
 * Returns  SW_OK; SW_E_NO_MEMORY; SW_E_ARGUMENT.
 */
SW_NODISCARD enum sw_status sw_elf_load_symbols(struct sw_elf *elf);

/*
 * The function symbol around a link-time address: the nearest one that starts at or below it and, if it has a size,
 * contains it. A symbol without a size ends where the next one begins. Functions are preferred to labels, global
 * symbols to local ones. Searches .symtab; else .dynsym together with the MiniDebugInfo's .symtab, which omits what
 * .dynsym has. A stub by which the file calls another one's function has that function's name, and "@plt".
 *
 * name     Borrowed until close.
 * start, size  May be null. A size of 0: the symbol has none.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND; SW_E_NO_MEMORY; SW_E_ARGUMENT.
 */
SW_NODISCARD enum sw_status sw_elf_symbol(struct sw_elf *elf, uint64_t address, const char **name, uint64_t *start,
                                          uint64_t *size);

/*
 * The link-time address of a symbol that is defined under this name in .symtab or .dynsym, code or data.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND; SW_E_ARGUMENT. Memory  None.
 */
SW_NODISCARD enum sw_status sw_elf_find(const struct sw_elf *elf, const char *name, uint64_t *address);

#endif
