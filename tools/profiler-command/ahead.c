/* Knows ELF's dynamic symbols: NativeAOT exports a name that no other .NET does. Source: elf(5); language-stacks.md. */
#include "ahead.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECTIONS_MAX = 1024, NAMES_MAX = 1 << 24 };

const char ahead_words[] = "it is compiled ahead of time (NativeAOT), without a runtime that loads profilers: "
                           "perf record, or snapstacks, sees its stacks";

static bool read_at(int file, uint64_t offset, void *to, size_t size)
{
    return offset < INT64_MAX && pread(file, to, size, (off_t)offset) == (ssize_t)size;
}

static bool has_name(int file, const Elf64_Shdr *names)
{
    static const char name[] = "DotNetRuntimeDebugHeader";
    if (names->sh_type != SHT_STRTAB || names->sh_size > NAMES_MAX)
        return false;
    char *text = malloc(names->sh_size + 1);
    const bool found = text && read_at(file, names->sh_offset, text, names->sh_size) &&
                       memmem(text, names->sh_size, name, sizeof name);
    free(text);
    return found;
}

static bool exports_it(int file)
{
    static Elf64_Shdr sections[SECTIONS_MAX];
    Elf64_Ehdr header;
    if (!read_at(file, 0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shnum > SECTIONS_MAX ||
        !read_at(file, header.e_shoff, sections, header.e_shnum * sizeof sections[0]))
        return false;
    for (size_t i = 0; i < header.e_shnum; i++)
        if (sections[i].sh_type == SHT_DYNSYM && sections[i].sh_link < header.e_shnum)
            return has_name(file, &sections[sections[i].sh_link]);
    return false;
}

bool ahead_of_time(const char *path)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool is = file >= 0 && exports_it(file);
    if (file >= 0)
        close(file);
    return is;
}

bool ahead_of_time_command(const char *name)
{
    char path[PATH_MAX];
    const char *folders = getenv("PATH");
    if (strchr(name, '/'))
        return ahead_of_time(name);
    while (folders && *folders) {
        const int length = (int)strcspn(folders, ":");
        if (snprintf(path, sizeof path, "%.*s/%s", length, folders, name) < PATH_MAX && access(path, X_OK) == 0)
            return ahead_of_time(path);
        folders += length + (folders[length] == ':');
    }
    return false;
}
