/*
 * Which parts of a file say what its stubs call (plt.c): sections of stubs, and relocations that name functions. So
 * that no more is read of a file. Refuses to know what is in them. Source: System V gABI, chapters 4 and 5; elf.h,
 * DT_RELACOUNT (relocations that name nothing come first).
 */
#include "elf/internal.h"

#include <string.h>

/* How many relocations name nothing; they come first. */
static uint64_t count_relative(const struct sw_elf *elf)
{
    Elf64_Phdr p;
    Elf64_Dyn row;
    struct sw_bytes rows = { 0 };
    for (uint64_t n = 0; rows.size == 0 && sw_elf_program_header(elf, n, &p); n++)
        if (p.p_type == PT_DYNAMIC)
            rows = sw_elf_part(elf, p.p_offset, p.p_filesz);
    for (uint64_t at = 0; rows.size - at >= sizeof row; at += sizeof row) {
        memcpy(&row, rows.bytes + at, sizeof row);
        if (row.d_tag == DT_NULL)
            break;
        if (row.d_tag == DT_RELACOUNT)
            return row.d_un.d_val;
    }
    return 0;
}

struct sw_elf_plt sw_elf_plt_look(const struct sw_elf *elf, struct sw_bytes names)
{
    Elf64_Shdr header;
    struct sw_elf_plt plt = { names, false, 0 };
    for (uint64_t n = 1; !plt.has_direct && sw_elf_section_header(elf, n, &header); n++)
        plt.has_direct = sw_elf_is_named(names, header.sh_name, ".plt.got");
    if (plt.has_direct)
        plt.relative = count_relative(elf);
    return plt;
}

static bool is_one_of(const struct sw_elf_plt *plt, const Elf64_Shdr *header, const char *const wanted[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sw_elf_is_named(plt->names, header->sh_name, wanted[i]))
            return header->sh_type != SHT_NOBITS;
    return false;
}

static bool is_stubs(const struct sw_elf_plt *plt, const Elf64_Shdr *header)
{
    static const char *const wanted[] = { ".plt", ".plt.sec", ".plt.got" };
    return (header->sh_flags & SHF_EXECINSTR) && is_one_of(plt, header, wanted, sizeof wanted / sizeof wanted[0]);
}

/* Its relocations that name something: where their bytes begin. Stubs of .plt.got alone use those of .rela.dyn. */
static bool is_relocations(const struct sw_elf_plt *plt, const Elf64_Shdr *header, uint64_t *skipped)
{
    static const char *const wanted[] = { ".rela.plt", ".rela.dyn" };
    *skipped = 0;
    if (header->sh_type != SHT_RELA || is_one_of(plt, header, wanted, 1))
        return header->sh_type == SHT_RELA;
    if (!plt->has_direct || !is_one_of(plt, header, wanted + 1, 1) ||
        plt->relative > header->sh_size / sizeof(Elf64_Rela))
        return false;
    *skipped = plt->relative * sizeof(Elf64_Rela);
    return true;
}

enum sw_elf_plt_kind sw_elf_plt_part(const struct sw_elf_plt *plt, const Elf64_Shdr *header, uint64_t *skipped)
{
    *skipped = 0;
    return is_stubs(plt, header)                  ? SW_ELF_CODE
           : is_relocations(plt, header, skipped) ? SW_ELF_RELOCATIONS
                                                  : SW_ELF_OTHER;
}
