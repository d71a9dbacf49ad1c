/*
 * Opens a core, piece by piece, and the files that its process had mapped, from the file system or from the caller.
 * Knows paths, what to open and which bytes belong to which file; refuses to know formats (lib/core), addresses
 * (../core.c) and images (images_core.c).
 */
#include "target/linux/core.h"

#include "base/magic.h"
#include "base/memory.h"
#include "clr/names/names.h"
#include "common/alloc.h"
#include "elf/elf.h"
#include "target/linux/lazy_file.h"
#include "target/linux/maps.h"
#include "target/linux/os.h"
#include "target/linux/pin.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { PATH_BYTES = 8192, ROWS_OF_AN_IMAGE = 64, BLOCK = 1 << 16 };

static void unmap_file(void *arg, const void *bytes, size_t size)
{
    (void)arg;
    munmap((void *)(uintptr_t)bytes, size);
}

static void want(void *arg, uint64_t offset, uint64_t size)
{
    sw_lazy_file_want(arg, offset, size);
}

static void close_file(void *arg)
{
    sw_lazy_file_close(arg);
}

/* What a core is opened by: its headers and notes. */
static void want_headers(struct sw_lazy_file *file)
{
    Elf64_Ehdr h;
    Elf64_Shdr first = { 0 };
    Elf64_Phdr p;
    if (file->size < sizeof h)
        return;
    sw_lazy_file_want(file, 0, sizeof h);
    memcpy(&h, file->bytes, sizeof h);
    sw_lazy_file_want(file, h.e_shoff, sizeof first);
    if (h.e_shoff <= file->size - sizeof h && file->size - h.e_shoff >= sizeof first)
        memcpy(&first, file->bytes + h.e_shoff, sizeof first);
    const uint64_t count = h.e_phnum == PN_XNUM ? first.sh_info : h.e_phnum;
    sw_lazy_file_want(file, h.e_phoff, count * sizeof p);
    for (uint64_t n = 0; n < count && h.e_phoff < file->size && (file->size - h.e_phoff) / sizeof p > n; n++) {
        memcpy(&p, file->bytes + h.e_phoff + n * sizeof p, sizeof p);
        if (p.p_type == PT_NOTE)
            sw_lazy_file_want(file, p.p_offset, p.p_filesz);
    }
}

enum sw_status sw_core_open(const struct sw_alloc *alloc, const char *path, struct sw_core **core)
{
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    struct sw_lazy_file *file = NULL;
    if (!path || !core || !sw_alloc_usable(alloc))
        return SW_E_ARGUMENT;
    int fd;
    enum sw_status status = sw_os_open_regular(path, &fd);
    if (status == SW_OK)
        status = sw_lazy_file_open(&from, fd, BLOCK, &file);
    if (status != SW_OK)
        return status;
    want_headers(file);
    status = sw_core_open_bytes(alloc, file->bytes, (size_t)file->size, core);
    if (status != SW_OK) {
        sw_lazy_file_close(file);
        return status;
    }
    (*core)->want = want;
    (*core)->close = close_file;
    (*core)->source = file;
    return SW_OK;
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

/* What a language keeps as ELF, as Guile does, is of no machine. */
static bool is_of_no_machine(struct sw_bytes bytes)
{
    return sw_begins_elf(bytes) && bytes.size >= sizeof(Elf64_Ehdr) &&
           sw_load16(bytes.bytes + offsetof(Elf64_Ehdr, e_machine)) == EM_NONE;
}

/*
 * A file of data that was mapped. Cores that leave out what lies in files (gcore's, capsules) do not say what of it was
 * code, so that only its content tells.
 */
static bool is_data(const struct sw_core *core, const struct sw_core_mapped *file, struct sw_bytes bytes)
{
    const struct sw_core_row *row = sw_core_row_at(core, file->info.address);
    const bool has_head = sw_begins_image(bytes) || (row && sw_core_held_at(core, row->begin, SW_MAGIC_BYTES).size);
    if (file->is_listed || !row || (has_head && !is_of_no_machine(bytes)))
        return false;
    const struct sw_core_row *end = core->rows + core->row_array.count;
    for (size_t i = 0; i < ROWS_OF_AN_IMAGE && row + i < end; i++) {
        const struct sw_core_segment *segment = sw_core_segment_at(core, row[i].begin);
        if (row[i].file == row->file && segment && (segment->flags & SW_CORE_EXECUTE))
            return false;
    }
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
    if (state == SW_CORE_FILE_BAD && is_data(core, file, found.bytes))
        file->is_wanted = false;
    if (state < least && found.drop)
        found.drop(found.drop_arg, found.bytes.bytes, (size_t)found.bytes.size);
    if (state < least && certain)
        return false;
    file->info.state = state;
    if (state < least)
        return true;
    sw_core_note_writable(core, (size_t)(file - core->files), found.bytes);
    if (found.drop == unmap_file) /* ours */
        sw_core_relocate((uint8_t *)(uintptr_t)found.bytes.bytes, found.bytes.size, file->info.address);
    file->bytes = found.bytes;
    file->room = found.room;
    file->drop = found.drop;
    file->drop_arg = found.drop_arg;
    return true;
}

static bool try_file(struct sw_core *core, struct sw_core_mapped *file, const char *path, bool certain)
{
    struct sw_core_mapped found = { .drop = unmap_file };
    struct sw_os_pin pin;
    if (sw_os_pin_file(NULL, path, &pin) != SW_OK)
        return false;
    const enum sw_status status = sw_elf_read(pin.path, SW_ELF_WHOLE, &found.bytes, &found.room);
    if (status == SW_OK)
        sw_core_read_behind(core, (size_t)(file - core->files), pin.path, found.bytes);
    sw_os_unpin(&pin);
    if (status == SW_E_TRUNCATED) /* shorter than any image */
        found.drop = NULL;
    else if (status != SW_OK)
        return false;
    return accept_file(core, file, found, certain);
}

/* gcore has names from /proc/PID/maps, with a newline escaped there; the kernel's cores have them as they are. */
static bool try_path(struct sw_core *core, struct sw_core_mapped *file, const char *root, bool certain)
{
    const char *path = file->info.path;
    char full[PATH_BYTES], other[PATH_BYTES];
    const int length = snprintf(full, sizeof full, "%s%s%s", root, *root && *path != '/' ? "/" : "", path);
    if (length <= 0 || length >= PATH_BYTES)
        return false;
    if (try_file(core, file, full, certain))
        return true;
    const size_t within = (size_t)length - strlen(path); /* the root is as it was given */
    memcpy(other, full, within);
    return sw_maps_unescape(path, strlen(path), other + within, sizeof other - within) < strlen(path) &&
           try_file(core, file, other, certain);
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

/*
 * Whether a row may begin an image: by its first bytes, if the core has them. What has no path (anon_inode:[io_uring])
 * is none.
 */
static bool may_be_image(const struct sw_core *core, size_t at)
{
    const struct sw_bytes held = sw_core_held_at(core, core->rows[at].begin, SW_MAGIC_BYTES);
    if (core->rows[at].offset != 0 || core->files[core->rows[at].file].info.path[0] != '/')
        return false;
    if (held.size < SW_MAGIC_BYTES)
        return has_code(core, at);
    return sw_begins_image(held);
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

/*
 * The first thing that is read of a CoreCLR describes it, and lies in its writable data. createdump leaves its page
 * out, since it does not read it itself. Source: dotnet/runtime docs/design/datacontracts, struct ContractDescriptor.
 */
static void find_constants(struct sw_core *core)
{
    const struct sw_memory memory = sw_core_memory(core);
    enum { DESCRIPTOR_BYTES = 40 };
    for (size_t i = 0; i < core->file_array.count; i++) {
        struct sw_core_mapped *file = &core->files[i];
        uint64_t *begin = &file->constant.begin, *end = &file->constant.end;
        if (file->drop == unmap_file && *end == 0 &&
            sw_names_export(&memory, file->info.address, "DotNetRuntimeContractDescriptor", begin) == SW_OK &&
            *begin <= UINT64_MAX - DESCRIPTOR_BYTES)
            *end = *begin + DESCRIPTOR_BYTES;
    }
}

enum sw_status sw_core_find_files(struct sw_core *core, const struct sw_core_files *files)
{
    enum sw_status status = SW_OK;
    if (core->file_array.count == 0 || core->files[0].is_listed)
        status = find_listed(core, files);
    else
        find_noted(core, files);
    find_constants(core);
    return status;
}
