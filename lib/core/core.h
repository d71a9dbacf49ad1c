/*
 * ELF core files, byte by byte: program headers, notes, and what the notes say about threads, mapped files and the
 * program; also enough of the mapped files themselves to check whether a file is the one that was mapped. Knows the
 * layout of what Linux, gdb and qemu write, and that every byte of it is hostile; refuses to know where the bytes come
 * from, what a walk wants, and libelf. Allocates nothing: results lie inside the bytes that were given. Source: System
 * V gABI, chapters 4 and 5; Linux fs/binfmt_elf.c and include/uapi/linux/elf.h; contexts.md section 6.
 */
#ifndef SW_CORE_CORE_H
#define SW_CORE_CORE_H

#include "base/bytes.h"

#include <snapwalk/codemap.h>
#include <snapwalk/memory.h>
#include <snapwalk/regs.h>

/* Values of these formats that are used here. */
enum { SW_CORE_TYPE = 4 /* ET_CORE */, SW_CORE_HEADER_BYTES = 64 };
enum sw_core_header_type { SW_CORE_LOAD = 1, SW_CORE_DYNAMIC = 2, SW_CORE_NOTE = 4 };
enum { SW_CORE_EXECUTE = 1, SW_CORE_WRITE = 2, SW_CORE_READ = 4 };
enum { SW_AUXV_BASE = 7, SW_AUXV_ENTRY = 9, SW_AUXV_EXECUTABLE_NAME = 31, SW_AUXV_VDSO = 33 };

/*
 * The header of a little-endian ELF64 file for x64 or ARM64: a core, or a file that it had mapped.
 *
 * count    Program headers that are in the file; they begin at `table`.
 */
struct sw_core_headers {
    struct sw_bytes file;
    enum sw_machine machine;
    unsigned type;
    uint64_t entry;
    uint64_t table;
    uint64_t table_end; /* as the header says it; count: of those that are there */
    uint64_t count;
};

/* Returns  SW_OK; SW_E_TRUNCATED, SW_E_MALFORMED (no ELF), SW_E_UNSUPPORTED (not such a file). */
SW_NODISCARD enum sw_status sw_core_headers_read(struct sw_bytes file, struct sw_core_headers *headers);

/* One program header, unchanged. False past the last. */
struct sw_core_header {
    uint32_t type;
    uint32_t flags;
    uint64_t offset;
    uint64_t address;
    uint64_t file_size;
    uint64_t size;
    uint64_t align;
};
bool sw_core_header(const struct sw_core_headers *headers, uint64_t number, struct sw_core_header *header);

/* How many bytes that the headers speak of lie behind the end of the file. */
uint64_t sw_core_missing(const struct sw_core_headers *headers);

/* The bytes of a segment that the file holds: its first ones, at its address. Empty if it holds none. */
struct sw_bytes sw_core_held(const struct sw_core_headers *headers, const struct sw_core_header *header);

/* The first header of a type. */
bool sw_core_find_header(const struct sw_core_headers *headers, enum sw_core_header_type type,
                         struct sw_core_header *header);

/*
 * The notes of all PT_NOTE headers, in order. A note that exceeds its segment ends that segment. Headers that show the
 * same bytes repeatedly end when as many bytes were read as the file has.
 */
struct sw_core_note {
    struct sw_bytes owner; /* with its NUL */
    struct sw_bytes data;
    uint32_t type;
};
struct sw_core_notes {
    const struct sw_core_headers *headers;
    uint64_t next;
    uint64_t budget;
    uint64_t align;
    struct sw_cursor left;
};
struct sw_core_notes sw_core_notes_over(const struct sw_core_headers *headers);
bool sw_core_notes_next(struct sw_core_notes *notes, struct sw_core_note *note);

/*
 * One thread: NT_PRSTATUS and the notes behind it up to the next one. Threads whose record is too short for their
 * registers are skipped.
 *
 * record   The NT_PRSTATUS descriptor.
 * signal   From NT_SIGINFO if there is one, else from the record.
 * has_fault  The signal is one of a faulting instruction, and `fault` is the address that it names.
 * pac_mask From NT_ARM_PAC_MASK: the bits of a code address that hold a signature; 0: there is no such note.
 */
struct sw_core_task {
    struct sw_bytes record;
    uint64_t tid;
    uint64_t pac_mask;
    uint64_t fault;
    int32_t signal;
    int32_t code;
    bool has_fault;
};
bool sw_core_tasks_next(struct sw_core_notes *notes, struct sw_core_task *task);

/*
 * What the notes say about the process; empty where they say nothing.
 *
 * psinfo   NT_PRPSINFO: pid, name and arguments.
 */
struct sw_core_process {
    struct sw_bytes psinfo;
    struct sw_bytes auxv;
    struct sw_bytes files;
};
void sw_core_process_read(const struct sw_core_headers *headers, struct sw_core_process *process);

/* A value of the auxiliary vector; 0: it is not there. */
uint64_t sw_core_auxv(const struct sw_core_process *process, uint64_t type);

/* An address in the image that the kernel starts first: the dynamic linker, or the program; 0: not known. */
uint64_t sw_core_first(const struct sw_core_process *process);

/* pid: 0 if unknown. name (at most 16 bytes) and arguments (at most 80): NUL-terminated, empty if unknown. */
uint64_t sw_core_pid(const struct sw_core_process *process);
void sw_core_name(const struct sw_core_process *process, char name[17]);
void sw_core_arguments(const struct sw_core_process *process, char arguments[81]);

/* The valid rows of NT_FILE, begin < end; `path` lies in the note. */
struct sw_core_mapping {
    uint64_t begin;
    uint64_t end;
    uint64_t offset;
    const char *path;
};
struct sw_core_mappings {
    struct sw_cursor rows;
    struct sw_cursor names;
    uint64_t page;
};
struct sw_core_mappings sw_core_mappings_over(const struct sw_core_process *process);
bool sw_core_mappings_next(struct sw_core_mappings *mappings, struct sw_core_mapping *mapping);

/* The next code range of a capsule (snapwalk/capsule.h), and its name, which lies in the note. False: no more. */
bool sw_core_ranges_next(struct sw_core_notes *notes, struct sw_range *range, const char **name);

/* The build id in an ELF file, or in any first part of one; empty: none found, or longer than any. */
enum { SW_CORE_BUILD_ID_MOST = 64 };
struct sw_bytes sw_core_build_id(struct sw_bytes file);

/* The link-time address that corresponds to file offset 0. False: the file has no segment. */
bool sw_core_link_base(const struct sw_core_headers *file, uint64_t *address);

/*
 * Compares a file's dynamic section with the one in memory. The loader adds the bias to the addresses in it and fills
 * in DT_DEBUG; everything else is as the linker made it, and differs between builds.
 *
 * memory   Reads what the core itself holds.
 *
 * Returns  SW_OK; SW_E_MALFORMED (they differ); SW_E_NOT_FOUND (the file has none); SW_E_UNREADABLE.
 */
SW_NODISCARD enum sw_status sw_core_dynamic_check(const struct sw_core_headers *file, const struct sw_memory *memory,
                                                  uint64_t bias);

/*
 * The dynamic linker's list of loaded objects, found through the executable's DT_DEBUG. Ends at a damaged entry, or
 * after a bounded number of entries.
 *
 * bias     Address in memory - link-time address.
 * name     The address of its path. dynamic: the address of its dynamic section.
 * Source   System V gABI, "Dynamic Section", DT_DEBUG; glibc's <link.h>, struct r_debug and struct link_map.
 */
struct sw_core_link {
    uint64_t bias;
    uint64_t name;
    uint64_t dynamic;
};
struct sw_core_links {
    const struct sw_memory *memory;
    uint64_t next;
    unsigned left;
};
struct sw_core_links sw_core_links_over(const struct sw_core_headers *executable, const struct sw_memory *memory,
                                        uint64_t bias);
bool sw_core_links_next(struct sw_core_links *links, struct sw_core_link *link);

#endif
