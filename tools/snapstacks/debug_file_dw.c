/*
 * Source: elfutils, libelf.h; System V gABI, SHF_COMPRESSED; "Separate Debug Files" in the manual of gdb (build ids,
 * .gnu_debuglink); debuginfod-client-config(7), the cache's folder.
 */
#include "debug_file_dw.h"

#include "within.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUILD_ID_MOST = 64 };
#define FOLDER "/usr/lib/debug"

/* The header of the first section of that name. False: there is none. */
static bool find_section(Elf *elf, const char *wanted, GElf_Shdr *header)
{
    size_t names;
    if (!elf || elf_getshdrstrndx(elf, &names) != 0)
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        const char *name = gelf_getshdr(section, header) ? elf_strptr(elf, names, header->sh_name) : NULL;
        if (name && strcmp(name, wanted) == 0)
            return true;
    }
    return false;
}

/* Whether a file has debug information, and whether that is compressed; old tools named such sections ".zdebug". */
static bool look(Elf *elf, bool *is_compressed)
{
    GElf_Shdr header;
    const bool is_old = !find_section(elf, ".debug_info", &header);
    if (is_old && !find_section(elf, ".zdebug_info", &header))
        return false;
    *is_compressed = is_old || (header.sh_flags & SHF_COMPRESSED) != 0;
    return header.sh_type != SHT_NOBITS;
}

/* Source: clr-names.md section 9. */
static void find_managed(Elf *elf, struct debug_file *found)
{
    GElf_Shdr header;
    if (!find_section(elf, "__managedcode", &header) || header.sh_size > UINT64_MAX - header.sh_addr)
        return;
    found->managed_begin = header.sh_addr;
    found->managed_end = header.sh_addr + header.sh_size;
}

/* Size 0 or less: there is none. */
struct build {
    const void *id;
    ssize_t size;
};

static bool has_build_id(Elf *elf, const void *id, ssize_t size)
{
    const void *other;
    const ssize_t other_size = dwelf_elf_gnu_build_id(elf, &other);
    return size <= 0 || other_size <= 0 || (size == other_size && memcmp(id, other, (size_t)size) == 0);
}

/* Takes a file of debug information, if it is one of this build. root: of the path; a file that is taken stays open. */
static bool look_at(const char *root, const char *path, const struct build *build, bool is_of_system,
                    struct debug_file *found)
{
    const int fd = open_within(root, path);
    if (fd < 0)
        return false;
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    const bool is_it = elf && has_build_id(elf, build->id, build->size);
    if (is_it) {
        found->has_lines = look(elf, &found->is_compressed);
        found->file = fd;
        found->is_of_system = is_of_system;
    }
    elf_end(elf);
    if (!is_it)
        close(fd);
    return is_it;
}

bool debug_file_cached(const unsigned char *id, int id_size, char path[PATH_MAX])
{
    const char *own = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char hex[2 * BUILD_ID_MOST + 1] = "";
    if (id_size <= 0 || id_size > BUILD_ID_MOST)
        return false;
    for (int i = 0; i < id_size; i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
    if (own && *own)
        return snprintf(path, PATH_MAX, "%s/%s/debuginfo", own, hex) < PATH_MAX;
    if (xdg && *xdg)
        return snprintf(path, PATH_MAX, "%s/debuginfod_client/%s/debuginfo", xdg, hex) < PATH_MAX;
    return home && snprintf(path, PATH_MAX, "%s/.cache/debuginfod_client/%s/debuginfo", home, hex) < PATH_MAX;
}

/* The target's own files first: what a container was built with is there. */
static bool find_by_build_id(const char *root, const struct build *build, struct debug_file *found)
{
    const unsigned char *id = build->id;
    char path[PATH_MAX], hex[2 * BUILD_ID_MOST + 1] = "";
    if (build->size < 2 || build->size > BUILD_ID_MOST)
        return false;
    for (ssize_t i = 1; i < build->size; i++)
        snprintf(hex + 2 * (i - 1), 3, "%02x", id[i]);
    snprintf(path, sizeof path, FOLDER "/.build-id/%02x/%s.debug", id[0], hex);
    return look_at(root, path, build, true, found) || (*root && look_at("", path, build, true, found)) ||
           (debug_file_cached(id, (int)build->size, path) && look_at("", path, build, true, found));
}

/* Beside the file, in a folder beside it, or below the folder of all debug files; all where the file is. */
static bool find_by_link(Elf *elf, const char *root, const char *file, const struct build *build,
                         struct debug_file *found)
{
    static const struct {
        const char *front, *folder;
        bool is_of_system;
    } places[] = { { "", "/", false }, { "", "/.debug/", false }, { FOLDER, "/", true } };
    GElf_Word checksum;
    char path[PATH_MAX];
    const char *link = dwelf_elf_gnu_debuglink(elf, &checksum), *slash = strrchr(file, '/');
    if (!link || !slash)
        return false;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (snprintf(path, sizeof path, "%s%.*s%s%s", places[i].front, (int)(slash - file), file, places[i].folder,
                     link) < (int)sizeof path &&
            strcmp(path, file) != 0 && look_at(root, path, build, places[i].is_of_system, found))
            return true;
    return false;
}

void debug_file_find(int fd, const struct debug_place *place, struct debug_file *found)
{
    struct build build = { NULL, 0 };
    *found = (struct debug_file){ .file = -1 };
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (!elf)
        return;
    find_managed(elf, found);
    found->is_own = found->has_lines = look(elf, &found->is_compressed);
    if (!found->is_own) {
        build.size = dwelf_elf_gnu_build_id(elf, &build.id);
        if (!find_by_build_id(place->root, &build, found))
            (void)find_by_link(elf, place->file_root, place->path, &build, found);
    }
    elf_end(elf);
}
