/*
 * Opens a core, and the files that its process had mapped, from the file system or from the caller. Knows paths, what
 * to open and which bytes belong to which file; refuses to know formats (lib/core), addresses (../core.c) and images
 * (images_core.c).
 */
#include "target/linux/core.h"

#include "elf/elf.h"
#include "target/linux/os.h"
#include "target/linux/pin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 8192, ROWS_OF_AN_IMAGE = 64, MAGIC_BYTES = 4 };

static enum sw_status map_path(const char *path, struct sw_bytes *bytes)
{
    struct stat stat;
    void *at = MAP_FAILED;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block */
    if (file < 0)
        return sw_os_status(errno);
    const bool is_file = fstat(file, &stat) == 0 && S_ISREG(stat.st_mode);
    if (is_file && stat.st_size > 0)
        at = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    const int error = errno;
    close(file);
    if (!is_file)
        return SW_E_UNSUPPORTED;
    if (stat.st_size <= 0)
        return SW_E_TRUNCATED;
    if (at == MAP_FAILED)
        return sw_os_status(error);
    *bytes = (struct sw_bytes){ at, (uint64_t)stat.st_size, 0 };
    return SW_OK;
}

static void unmap(const void *bytes, size_t size)
{
    munmap((void *)(uintptr_t)bytes, size);
}

static void unmap_file(void *arg, const void *bytes, size_t size)
{
    (void)arg;
    unmap(bytes, size);
}

enum sw_status sw_core_open(const struct sw_alloc *alloc, const char *path, struct sw_core **core)
{
    struct sw_bytes bytes = { 0 };
    if (!path || !core)
        return SW_E_ARGUMENT;
    enum sw_status status = map_path(path, &bytes);
    if (status != SW_OK)
        return status;
    status = sw_core_open_bytes(alloc, bytes.bytes, (size_t)bytes.size, core);
    if (status == SW_OK)
        (*core)->unmap = unmap;
    else
        unmap(bytes.bytes, (size_t)bytes.size);
    return status;
}

/* Files --------------------------------------------------------------------------------------------------------- */

/* Determines where the first byte of a listed file is, which needs the file itself. */
static bool locate_file(const struct sw_core *core, struct sw_core_mapped *file, struct sw_bytes bytes)
{
    struct sw_core_headers headers;
    uint64_t base;
    if (!file->is_listed)
        return true;
    if (sw_core_headers_read(bytes, &headers) != SW_OK || !sw_core_link_base(&headers, &base))
        return false;
    if (file == core->files) /* the program itself */
        file->bias = sw_core_auxv(&core->process, SW_AUXV_ENTRY) - headers.entry;
    file->info.address = base + file->bias;
    return true;
}

/*
 * Accepts the found bytes, or releases them, depending on how they compare with the core. certain: accepts them only if
 * they are certainly the right ones.
 */
static bool accept_file(struct sw_core *core, struct sw_core_mapped *file, struct sw_core_mapped found, bool certain)
{
    const enum sw_core_file_state least = certain ? SW_CORE_FILE_CHECKED : SW_CORE_FILE_UNCHECKED;
    enum sw_core_file_state state = SW_CORE_FILE_BAD;
    if (found.bytes.bytes && locate_file(core, file, found.bytes))
        state = sw_core_check_file(core, file, found.bytes);
    if (state < least && found.drop)
        found.drop(found.drop_arg, found.bytes.bytes, (size_t)found.bytes.size);
    if (state < least && certain)
        return false;
    file->info.state = state;
    if (state < least)
        return true;
    file->bytes = found.bytes;
    file->room = found.room;
    file->drop = found.drop;
    file->drop_arg = found.drop_arg;
    return true;
}

static bool try_path(struct sw_core *core, struct sw_core_mapped *file, const char *root, bool certain)
{
    struct sw_core_mapped found = { .drop = unmap_file };
    const char *path = file->info.path;
    char full[PATH_BYTES];
    const int length = snprintf(full, sizeof full, "%s%s%s", root, *root && *path != '/' ? "/" : "", path);
    struct sw_os_pin pin;
    if (length <= 0 || length >= PATH_BYTES || sw_os_pin_file(NULL, full, &pin) != SW_OK)
        return false;
    const enum sw_status status = sw_elf_read(pin.path, SW_ELF_WHOLE, &found.bytes, &found.room);
    sw_os_unpin(&pin);
    if (status != SW_OK)
        return false;
    return accept_file(core, file, found, certain);
}

static void find_file(struct sw_core *core, struct sw_core_mapped *file, const struct sw_core_files *files)
{
    struct sw_core_mapped found = { .drop = files->close, .drop_arg = files->arg };
    const void *bytes = NULL;
    size_t size = 0;
    file->info.state = SW_CORE_FILE_MISSING;
    if (files->open && files->open(files->arg, file->info.path, &bytes, &size)) {
        found.bytes = (struct sw_bytes){ bytes, size, 0 };
        (void)accept_file(core, file, found, false);
        return;
    }
    if (files->open && !files->sysroot)
        return;
    if (!try_path(core, file, files->sysroot ? files->sysroot : "", false) && files->sysroot)
        (void)try_path(core, file, "", true);
}

/* Whether code of the file is mapped closely behind its first byte. */
static bool has_code(const struct sw_core *core, size_t at)
{
    const struct sw_core_row *row = &core->rows[at];
    for (size_t i = at; i < core->row_array.count && i - at < ROWS_OF_AN_IMAGE; i++)
        if (core->rows[i].file == row->file && (core->rows[i].flags & SW_CORE_EXECUTE))
            return true;
    return false;
}

/* Whether a row may begin an image: by its first bytes, if the core has them. */
static bool may_be_image(const struct sw_core *core, size_t at)
{
    const struct sw_bytes held = sw_core_held_at(core, core->rows[at].begin);
    if (core->rows[at].offset != 0)
        return false;
    if (held.size < MAGIC_BYTES)
        return has_code(core, at);
    return memcmp(held.bytes, "\177ELF", MAGIC_BYTES) == 0 || memcmp(held.bytes, "MZ", 2) == 0;
}

static void find_noted(struct sw_core *core, const struct sw_core_files *files)
{
    for (size_t i = 0; i < core->row_array.count; i++) {
        struct sw_core_mapped *file = &core->files[core->rows[i].file];
        if (file->is_listed || file->is_wanted || !may_be_image(core, i))
            continue;
        file->is_wanted = true;
        file->info.address = core->rows[i].begin;
    }
    for (size_t i = 0; i < core->file_array.count; i++)
        if (core->files[i].is_wanted && !core->files[i].is_listed && !core->files[i].bytes.bytes)
            find_file(core, &core->files[i], files);
}

/* Without NT_FILE: the program, and the dynamic linker's list -------------------------------------------------- */

static enum sw_status add_listed(struct sw_core *core, const char *path, const struct sw_core_link *link)
{
    for (size_t i = 0; i < core->file_array.count; i++)
        if (core->files[i].bias == link->bias && strcmp(core->files[i].info.path, path) == 0)
            return SW_OK;
    struct sw_core_mapped *at = sw_core_grow(core, core->files, &core->file_array, sizeof *core->files);
    if (!at)
        return SW_E_NO_MEMORY;
    core->files = at;
    at[core->file_array.count++] = (struct sw_core_mapped){
        .info = { .path = path }, .bias = link->bias, .dynamic = link->dynamic, .is_listed = true, .is_wanted = true
    };
    return SW_OK;
}

static enum sw_status list_linked(struct sw_core *core)
{
    const struct sw_memory memory = sw_core_memory(core);
    struct sw_core_headers headers;
    struct sw_core_link link;
    enum sw_status status = SW_OK;
    if (sw_core_headers_read(core->files[0].bytes, &headers) != SW_OK)
        return SW_OK;
    struct sw_core_links links = sw_core_links_over(&headers, &memory, core->files[0].bias);
    while (status == SW_OK && sw_core_links_next(&links, &link)) {
        const char *path = sw_core_string_at(core, link.name);
        if (path && path[0] == '/')
            status = add_listed(core, path, &link);
    }
    return status;
}

static enum sw_status find_listed_file(struct sw_core *core, size_t number, const struct sw_core_files *files)
{
    if (core->files[number].bytes.bytes)
        return SW_OK;
    find_file(core, &core->files[number], files);
    return core->files[number].bytes.bytes ? sw_core_add_rows(core, number) : SW_OK;
}

/* The program must be found before the list can be read. */
static enum sw_status find_program(struct sw_core *core, const struct sw_core_files *files)
{
    enum sw_status status = SW_OK;
    if (core->file_array.count == 0) {
        const char *path = sw_core_string_at(core, sw_core_auxv(&core->process, SW_AUXV_EXECUTABLE_NAME));
        if (path && *path)
            status = add_listed(core, path, &(struct sw_core_link){ 0 });
    }
    if (status != SW_OK || core->file_array.count == 0 || core->files[0].bytes.bytes)
        return status;
    status = find_listed_file(core, 0, files);
    sw_core_sort_rows(core);
    return status == SW_OK && core->files[0].bytes.bytes ? list_linked(core) : status;
}

static enum sw_status find_listed(struct sw_core *core, const struct sw_core_files *files)
{
    enum sw_status status = find_program(core, files);
    for (size_t i = 1; status == SW_OK && i < core->file_array.count; i++)
        status = find_listed_file(core, i, files);
    sw_core_sort_rows(core);
    return status;
}

enum sw_status sw_core_find_files(struct sw_core *core, const struct sw_core_files *files)
{
    if (core->file_array.count == 0 || core->files[0].is_listed)
        return find_listed(core, files);
    find_noted(core, files);
    return SW_OK;
}
