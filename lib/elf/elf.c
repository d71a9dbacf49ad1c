/*
 * Opens ELF files and knows their segments. What headers say is checked against the bytes that exist before
 * any of it is followed. Sections are in section.c, names in symbol.c, files on a disk in file.c. Source: System V
 * gABI, chapters 4 and 5.
 */
#include "elf/internal.h"

#include "arch/arch.h"

#include <snapwalk/limits.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static enum sw_status check_ident(const struct sw_elf *elf, enum sw_machine *machine)
{
    const struct sw_bytes file = elf->file;
    (void)sw_elf_part(elf, 0, sizeof(Elf64_Ehdr));
    if (file.size < sizeof(Elf64_Ehdr))
        return SW_E_TRUNCATED;
    if (memcmp(file.bytes, ELFMAG, SELFMAG) != 0)
        return SW_E_MALFORMED;
    const struct sw_arch *arch = sw_arch_of_elf(sw_load16(file.bytes + offsetof(Elf64_Ehdr, e_machine)));
    *machine = arch ? arch->machine : SW_MACHINE_NONE;
    const bool is_ours = file.bytes[EI_CLASS] == ELFCLASS64 && file.bytes[EI_DATA] == ELFDATA2LSB &&
                         file.bytes[EI_VERSION] == EV_CURRENT && arch;
    return is_ours ? SW_OK : SW_E_UNSUPPORTED;
}

/* A loadable segment, limited to the bytes that are in the file. False: it contradicts itself. */
static bool read_segment(const struct sw_elf *elf, uint64_t n, struct sw_elf_segment *segment)
{
    Elf64_Phdr p;
    uint64_t end;
    if (!sw_elf_program_header(elf, n, &p) || p.p_type != PT_LOAD)
        return false;
    if (p.p_filesz > p.p_memsz || !sw_add_u64(p.p_vaddr, p.p_memsz, &end))
        return false;
    const uint64_t there = p.p_offset < elf->file.size ? elf->file.size - p.p_offset : 0;
    *segment = (struct sw_elf_segment){ p.p_vaddr, p.p_memsz, p.p_filesz < there ? p.p_filesz : there, p.p_offset,
                                        (p.p_flags & PF_X) != 0 };
    return true;
}

static enum sw_status read_segments(struct sw_elf *elf)
{
    const size_t count = (size_t)(elf->program_headers.size / sizeof(Elf64_Phdr));
    elf->segments = calloc(count + 1, sizeof *elf->segments);
    if (!elf->segments)
        return SW_E_NO_MEMORY;
    for (size_t n = 0; n < count; n++)
        elf->segment_count += read_segment(elf, n, &elf->segments[elf->segment_count]);
    return SW_OK;
}

static enum sw_status open_file(struct sw_elf *elf)
{
    enum sw_status status = check_ident(elf, &elf->machine);
    if (status == SW_OK)
        status = sw_elf_find_headers(elf);
    return status == SW_OK ? read_segments(elf) : status;
}

/* Takes over the mapping, if the bytes are one. */
static enum sw_status open_over(struct sw_bytes bytes, const struct sw_store *store, uint64_t room, bool is_mapped,
                                struct sw_elf **elf)
{
    struct sw_elf *made = calloc(1, sizeof *made);
    if (!made) {
        if (is_mapped)
            (void)munmap((void *)(uintptr_t)bytes.bytes, (size_t)bytes.size);
        return SW_E_NO_MEMORY;
    }
    made->file = bytes;
    made->store = store;
    made->room = room;
    made->is_mapped = is_mapped;
    const enum sw_status status = open_file(made);
    if (status == SW_OK)
        *elf = made;
    else
        sw_elf_close(made);
    return status;
}

enum sw_status sw_elf_open_stored(struct sw_bytes bytes, const struct sw_store *store, struct sw_elf **elf)
{
    if (!elf)
        return SW_E_ARGUMENT;
    *elf = NULL;
    if (!bytes.bytes && bytes.size > 0)
        return SW_E_ARGUMENT;
    return open_over(bytes, store, SW_FILE_FREE + SW_FILE_COST * bytes.size, false, elf);
}

enum sw_status sw_elf_open_bytes(struct sw_bytes bytes, struct sw_elf **elf)
{
    return sw_elf_open_stored(bytes, NULL, elf);
}

enum sw_status sw_elf_open_file(int fd, struct sw_elf **elf)
{
    struct sw_bytes bytes;
    uint64_t room = 0;
    *elf = NULL;
    const enum sw_status status = sw_elf_read_file(fd, SW_ELF_TABLES, &bytes, &room);
    return status == SW_OK ? open_over(bytes, NULL, room, true, elf) : status;
}

static enum sw_status open_part(const char *path, enum sw_elf_what what, struct sw_elf **elf)
{
    if (!path || !elf)
        return SW_E_ARGUMENT;
    *elf = NULL;
    struct sw_bytes bytes;
    uint64_t room = 0;
    const enum sw_status status = sw_elf_read(path, what, &bytes, &room);
    return status == SW_OK ? open_over(bytes, NULL, room, true, elf) : status;
}

enum sw_status sw_elf_open(const char *path, struct sw_elf **elf)
{
    return open_part(path, SW_ELF_TABLES, elf);
}

enum sw_status sw_elf_open_names(const char *path, struct sw_elf **elf)
{
    return open_part(path, SW_ELF_NAMES, elf);
}

static struct sw_elf *owner_of(const struct sw_elf *elf)
{
    return elf->outer ? elf->outer : (struct sw_elf *)(uintptr_t)elf;
}

enum sw_status sw_elf_room(const struct sw_elf *elf, uint64_t size, uint8_t **bytes)
{
    struct sw_elf *owner = owner_of(elf);
    if (size > owner->room)
        return SW_E_LIMIT;
    *bytes = malloc((size_t)size);
    if (!*bytes)
        return SW_E_NO_MEMORY;
    owner->room -= size;
    return SW_OK;
}

void sw_elf_give_back(const struct sw_elf *elf, uint64_t size, const uint8_t *bytes)
{
    owner_of(elf)->room += size;
    free((void *)(uintptr_t)bytes);
}

void sw_elf_set_room(struct sw_elf *elf, uint64_t room)
{
    elf->room = room;
}

void sw_elf_close(struct sw_elf *elf)
{
    if (!elf)
        return;
    sw_elf_close(elf->mini); /* which holds no third file */
    free((void *)(uintptr_t)elf->unpacked.bytes);
    if (elf->is_mapped)
        (void)munmap((void *)(uintptr_t)elf->file.bytes, (size_t)elf->file.size);
    free(elf->segments);
    free(elf->symbols);
    free(elf->stubs);
    free((void *)(uintptr_t)elf->strings[SW_ELF_STUBS].bytes);
    free((void *)(uintptr_t)elf->inflated.bytes);
    free(elf);
}

enum sw_machine sw_elf_machine(const struct sw_elf *elf)
{
    return elf->machine;
}

/* Whether the dynamic section says so of a program that is its own linker (static-pie). */
static bool is_marked_program(const struct sw_elf *elf, const Elf64_Phdr *dynamic)
{
    const struct sw_bytes rows = sw_elf_part(elf, dynamic->p_offset, dynamic->p_filesz);
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= rows.size; at += sizeof(Elf64_Dyn)) {
        const uint64_t tag = sw_load64(rows.bytes + at);
        if (tag == DT_NULL)
            break;
        if (tag == DT_FLAGS_1)
            return (sw_load64(rows.bytes + at + 8) & DF_1_PIE) != 0;
    }
    return false;
}

uint64_t sw_elf_start(const struct sw_elf *elf, bool is_first)
{
    Elf64_Ehdr header;
    Elf64_Phdr segment, dynamic = { 0 };
    memcpy(&header, elf->file.bytes, sizeof header);
    bool is_program = is_first || header.e_type == ET_EXEC;
    for (uint64_t i = 0; !is_program && sw_elf_program_header(elf, i, &segment); i++) {
        is_program = segment.p_type == PT_INTERP;
        if (segment.p_type == PT_DYNAMIC && dynamic.p_type == 0) /* there is one */
            dynamic = segment;
    }
    return is_program || is_marked_program(elf, &dynamic) ? header.e_entry : 0;
}

bool sw_elf_segment(const struct sw_elf *elf, size_t n, struct sw_elf_segment *segment)
{
    if (n >= elf->segment_count)
        return false;
    *segment = elf->segments[n];
    return true;
}
