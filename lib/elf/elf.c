/*
 * Opens ELF files and knows their segments. What libelf says about headers is checked against the bytes that exist
 * before any of it is followed. Sections are in section.c, names in symbol.c. Source: System V gABI, chapters 4 and 5.
 */
#include "elf/internal.h"

#include "arch/arch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static enum sw_status check_ident(struct sw_bytes file, enum sw_machine *machine)
{
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
static bool read_segment(const struct sw_elf *elf, size_t n, struct sw_elf_segment *segment)
{
    GElf_Phdr p;
    uint64_t end;
    if (n > INT32_MAX || !gelf_getphdr(elf->elf, (int)n, &p) || p.p_type != PT_LOAD)
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
    size_t count = 0;
    if (elf_getphdrnum(elf->elf, &count) != 0)
        return SW_E_MALFORMED;
    if (count > elf->file.size / sizeof(Elf64_Phdr))
        count = (size_t)(elf->file.size / sizeof(Elf64_Phdr));
    elf->segments = calloc(count + 1, sizeof *elf->segments);
    if (!elf->segments)
        return SW_E_NO_MEMORY;
    for (size_t n = 0; n < count; n++)
        elf->segment_count += read_segment(elf, n, &elf->segments[elf->segment_count]);
    return SW_OK;
}

static enum sw_status open_file(struct sw_elf *elf)
{
    const enum sw_status status = check_ident(elf->file, &elf->machine);
    if (status != SW_OK)
        return status;
    (void)elf_version(EV_CURRENT);
    /* libelf takes char *, but does not write unless something is decompressed or updated in place. */
    elf->elf = elf_memory((char *)(uintptr_t)elf->file.bytes, (size_t)elf->file.size);
    if (!elf->elf || elf_kind(elf->elf) != ELF_K_ELF)
        return SW_E_MALFORMED;
    return read_segments(elf);
}

/* Takes over the mapping, if the bytes are one. */
static enum sw_status open_over(struct sw_bytes bytes, bool is_mapped, struct sw_elf **elf)
{
    struct sw_elf *made = calloc(1, sizeof *made);
    if (!made) {
        if (is_mapped)
            (void)munmap((void *)(uintptr_t)bytes.bytes, (size_t)bytes.size);
        return SW_E_NO_MEMORY;
    }
    made->file = bytes;
    made->is_mapped = is_mapped;
    const enum sw_status status = open_file(made);
    if (status == SW_OK)
        *elf = made;
    else
        sw_elf_close(made);
    return status;
}

enum sw_status sw_elf_open_bytes(struct sw_bytes bytes, struct sw_elf **elf)
{
    if (!elf)
        return SW_E_ARGUMENT;
    *elf = NULL;
    if (!bytes.bytes && bytes.size > 0)
        return SW_E_ARGUMENT;
    return open_over(bytes, false, elf);
}

static enum sw_status map_file(int fd, struct sw_bytes *bytes)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return SW_E_OS;
    if (!S_ISREG(st.st_mode))
        return SW_E_UNSUPPORTED;
    if (st.st_size < (off_t)sizeof(Elf64_Ehdr))
        return SW_E_TRUNCATED;
    /* Shared: who looks for images in a memory map passes over it. */
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return SW_E_OS;
    *bytes = (struct sw_bytes){ at, (uint64_t)st.st_size, 0 };
    return SW_OK;
}

enum sw_status sw_elf_open(const char *path, struct sw_elf **elf)
{
    if (!path || !elf)
        return SW_E_ARGUMENT;
    *elf = NULL;
    struct sw_bytes bytes;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block */
    if (fd < 0)
        return SW_E_OS;
    const enum sw_status status = map_file(fd, &bytes);
    (void)close(fd);
    return status == SW_OK ? open_over(bytes, true, elf) : status;
}

void sw_elf_close(struct sw_elf *elf)
{
    if (!elf)
        return;
    sw_elf_close(elf->mini); /* which holds no third file */
    free((void *)(uintptr_t)elf->unpacked.bytes);
    if (elf->elf)
        (void)elf_end(elf->elf);
    if (elf->is_mapped)
        (void)munmap((void *)(uintptr_t)elf->file.bytes, (size_t)elf->file.size);
    free(elf->segments);
    free(elf->symbols);
    free((void *)(uintptr_t)elf->inflated.bytes);
    free(elf);
}

enum sw_machine sw_elf_machine(const struct sw_elf *elf)
{
    return elf->machine;
}

/* Whether the dynamic section says so of a program that is its own linker (static-pie). */
static bool is_marked_program(const struct sw_elf *elf, const GElf_Phdr *dynamic)
{
    const struct sw_bytes rows = sw_bytes_part(elf->file, dynamic->p_offset, dynamic->p_filesz);
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= rows.size; at += sizeof(Elf64_Dyn)) {
        const uint64_t tag = sw_load64(rows.bytes + at);
        if (tag == DT_NULL)
            break;
        if (tag == DT_FLAGS_1)
            return (sw_load64(rows.bytes + at + 8) & DF_1_PIE) != 0;
    }
    return false;
}

uint64_t sw_elf_start(const struct sw_elf *elf)
{
    GElf_Ehdr header;
    GElf_Phdr segment;
    size_t count = 0;
    if (!gelf_getehdr(elf->elf, &header) || elf_getphdrnum(elf->elf, &count) != 0)
        return 0;
    bool is_program = header.e_type == ET_EXEC;
    for (size_t i = 0; i < count && !is_program && gelf_getphdr(elf->elf, (int)i, &segment); i++)
        is_program = segment.p_type == PT_INTERP || (segment.p_type == PT_DYNAMIC && is_marked_program(elf, &segment));
    return is_program ? header.e_entry : 0;
}

bool sw_elf_segment(const struct sw_elf *elf, size_t n, struct sw_elf_segment *segment)
{
    if (n >= elf->segment_count)
        return false;
    *segment = elf->segments[n];
    return true;
}
