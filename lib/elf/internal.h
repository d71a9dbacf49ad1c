/* An open file, as the files of lib/elf share it. Used inside lib/elf only. */
#ifndef SW_ELF_INTERNAL_H
#define SW_ELF_INTERNAL_H

#include "base/interval.h"
#include "elf/elf.h"

#include <elf.h>

/* A symbol that names code. It ends behind its last byte; one without size, where the next one starts. */
struct sw_elf_name {
    uint64_t start;
    uint64_t end;
    uint64_t reach; /* base/interval.h */
    uint64_t size;
    uint32_t name;
    uint8_t table; /* index of the strings that hold the name */
    uint8_t rank;  /* among symbols with one start, the lowest is preferred; then the plainest name */
};

enum { SW_ELF_STUBS = 2, SW_ELF_STRINGS };

/*
 * file      The bytes; those of sw_elf_read if is_mapped.
 * store     Where they come from before they are looked at; null: they are there.
 * program_headers, section_headers  The tables in it; a section's name is in the section of number `names`.
 * room      How many bytes may still be unpacked of this file; of one that lies in another, that one's is used.
 * inflated  .debug_frame, decompressed at the first request.
 * symbols   Made at the first request, and stubs with them. Names are in `strings`: the file's own, those of the
 *           MiniDebugInfo; and those that were made for stubs (SW_ELF_STUBS).
 * mini      The file in .gnu_debugdata, over `unpacked`. mini_status: the result of opening it, once is_mini_tried.
 * outer     The file that this one was packed in; else null.
 */
struct sw_elf {
    struct sw_bytes file;
    const struct sw_store *store;
    struct sw_bytes program_headers, section_headers;
    uint64_t names;
    uint64_t room;
    enum sw_machine machine;
    bool is_mapped;
    bool has_symbols;
    struct sw_elf_segment *segments;
    size_t segment_count;
    struct sw_bytes inflated;
    struct sw_elf_name *symbols;
    size_t symbol_count;
    struct sw_elf_name *stubs;
    size_t stub_count;
    struct sw_bytes strings[SW_ELF_STRINGS];
    struct sw_elf *mini;
    struct sw_bytes unpacked;
    enum sw_status mini_status;
    bool is_mini_tried;
    struct sw_elf *outer;
};

/* Headers by number. False: past the last one. */
bool sw_elf_program_header(const struct sw_elf *elf, uint64_t number, Elf64_Phdr *header);
/* The segment of .sframe: not in every elf.h. */
enum { SW_PT_GNU_SFRAME = 0x6474e554 };

bool sw_elf_section_header(const struct sw_elf *elf, uint64_t number, Elf64_Shdr *header);

/* Finds the tables of headers in elf->file. Returns  SW_OK; SW_E_MALFORMED. */
enum sw_status sw_elf_find_headers(struct sw_elf *elf);

/* Whether a section has this name, compared inside the string table's bytes. */
bool sw_elf_is_named(struct sw_bytes names, uint64_t offset, const char *name);

/* A part of the file, as sw_bytes_part, that is present. */
struct sw_bytes sw_elf_part(const struct sw_elf *elf, uint64_t offset, uint64_t size);

/* The bytes that a section's header claims; false: not all of them are in the file. place: without their contents. */
bool sw_elf_section_bytes(const struct sw_elf *elf, const Elf64_Shdr *header, struct sw_bytes *bytes);
bool sw_elf_section_place(const struct sw_elf *elf, const Elf64_Shdr *header, struct sw_bytes *bytes);

/*
 * Memory for what is unpacked of a file; and given back.
 *
 * Returns  SW_OK; SW_E_LIMIT (SW_FILE_COST); SW_E_NO_MEMORY.
 */
enum sw_status sw_elf_room(const struct sw_elf *elf, uint64_t size, uint8_t **bytes);
void sw_elf_give_back(const struct sw_elf *elf, uint64_t size, const uint8_t *bytes);

/*
 * The contents of a compressed section. Malformed, or of a format that libelf does not know: SW_E_MALFORMED.
 *
 * Returns  SW_OK; SW_E_MALFORMED; SW_E_LIMIT; SW_E_NO_MEMORY. Memory  *inflated is malloc's.
 */
enum sw_status sw_elf_inflate(const struct sw_elf *elf, const Elf64_Shdr *header, struct sw_bytes compressed,
                              struct sw_bytes *inflated);

/*
 * What names of stubs come from (plt_part.c). names: of the sections. has_direct: there are stubs whose slots are not
 * filled by .rela.plt. relative: how many relocations of .rela.dyn name nothing.
 */
struct sw_elf_plt {
    struct sw_bytes names;
    bool has_direct;
    uint64_t relative;
};
struct sw_elf_plt sw_elf_plt_look(const struct sw_elf *elf, struct sw_bytes names);

/* Whether a section has stubs, or relocations for them, of which the first `skipped` bytes say nothing. */
enum sw_elf_plt_kind { SW_ELF_OTHER, SW_ELF_CODE, SW_ELF_RELOCATIONS };
enum sw_elf_plt_kind sw_elf_plt_part(const struct sw_elf_plt *plt, const Elf64_Shdr *header, uint64_t *skipped);

/* The row around a link-time address, of symbols or of stubs in their order, or null; and what it is called. */
static inline const struct sw_elf_name *sw_elf_find_row(struct sw_elf_name *rows, size_t count, uint64_t address)
{
    const struct sw_intervals all = { rows, count, sizeof *rows };
    const size_t at = sw_intervals_find(&all, address);
    return at < count ? &rows[at] : NULL;
}
static inline const char *sw_elf_text_of(const struct sw_elf *elf, const struct sw_elf_name *row)
{
    return (const char *)elf->strings[row->table].bytes + row->name;
}

/* Names the stubs, once the symbols are there. Returns  SW_OK, also where there is none; SW_E_NO_MEMORY. */
enum sw_status sw_elf_load_stubs(struct sw_elf *elf);

/* The MiniDebugInfo, or null and the reason in status. Opened at the first request. */
struct sw_elf *sw_elf_mini_file(const struct sw_elf *elf, enum sw_status *status);

#endif
