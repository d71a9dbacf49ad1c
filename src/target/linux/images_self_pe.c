/*
 * The PE images of this process: .NET's assemblies. A ReadyToRun image is unmapped with the assembly's context that it
 * was loaded for. So it is used from its file, if that has the header that is mapped; else what is mapped now is
 * copied. Of one image it may be known that it stays: it is used where it is, and costs no memory. One image is found
 * without the whole memory map, where the kernel tells single rows. Refuses to know what .NET says of its modules
 * (src/clr).
 *
 * Source: win-x64-unwind.md section 7; ECMA-335 II.25.3.3 (the CLI header, and in it ManagedNativeHeader).
 */
#include "target/linux/images.h"
#include "target/linux/map_query.h"
#include "target/linux/os.h"
#include "unwind/sources.h"

#include <snapwalk/self.h>

#include <string.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    PATH_BYTES = 4096,
    ROWS = 64, /* that an image may consist of */
    SECTION_BYTES = 40,
    CLI_HEADER_BYTES = 72,
    CLI_NATIVE = 64 /* the RVA of what ReadyToRun adds; 0: nothing */
};

enum sw_status sw_images_put_own_pe(struct sw_images *images, const void *origin, const struct sw_map *map,
                                    uint64_t *end)
{
    const struct sw_memory memory = sw_self_memory();
    char path[PATH_BYTES];
    struct sw_image_file file = {
        .open_path = path, .path = path, .address = map->begin, .origin = origin, .identity = map->inode
    };
    struct sw_pe pe;
    uint8_t header[PAGE];
    enum sw_status status = sw_maps_path(map, path, sizeof path, NULL);
    if (status != SW_OK || sw_images_keep(images, &file, end))
        return status;
    file.header = (struct sw_bytes){ header, memory.read(memory.arg, map->begin, header, sizeof header), map->begin };
    status = sw_images_put_file(images, &file, end);
    if ((status != SW_E_NOT_FOUND && status != SW_E_OS) || sw_pe_open(file.header, true, &pe) != SW_OK)
        return status;
    *end = map->begin + pe.size_of_image;
    return sw_images_put_memory(images, &file, pe.size_of_image, &memory);
}

/* ---- one image ---- */

/* The origin of images that are used where they are. No refresh drops them. */
static const char origin_in_place;

/* Where an RVA is in the file. */
static uint64_t offset_of(const struct sw_pe *pe, uint32_t rva)
{
    for (uint32_t i = 0; i < pe->section_count; i++) {
        const struct sw_bytes section =
            sw_bytes_part(pe->bytes, pe->sections + (uint64_t)i * SECTION_BYTES, SECTION_BYTES);
        if (section.size == 0)
            break;
        const uint32_t begin = sw_load32(section.bytes + 12), size = sw_load32(section.bytes + 16);
        if (rva >= begin && rva - begin < size)
            return (uint64_t)sw_load32(section.bytes + 20) + (rva - begin);
    }
    return rva;
}

static bool is_precompiled_at(uint64_t address)
{
    const struct sw_memory memory = sw_self_memory();
    uint8_t cli[CLI_HEADER_BYTES];
    return memory.read(memory.arg, address, cli, sizeof cli) == sizeof cli && sw_load32(cli) == sizeof cli &&
           sw_load32(cli + CLI_NATIVE) != 0;
}

/* Whether a module has code. Whether it is laid out as an image or as in its file is not known. */
static bool is_precompiled(const struct sw_pe *pe)
{
    const uint64_t base = pe->bytes.address;
    return pe->cli_rva != 0 &&
           (is_precompiled_at(base + pe->cli_rva) || is_precompiled_at(base + offset_of(pe, pe->cli_rva)));
}

/* The rows of an image that begins at the first of them; only that one has a path. */
struct rows {
    struct sw_map at[ROWS];
    size_t count;
    char path[PATH_BYTES];
};

static enum sw_status query_rows(struct rows *rows, uint64_t address, uint64_t end)
{
    const int file = sw_map_query_open();
    enum sw_status status = file < 0 ? SW_E_UNSUPPORTED : SW_OK;
    rows->count = 0;
    while (status == SW_OK && rows->count < ROWS && address < end) {
        struct sw_map *row = &rows->at[rows->count];
        status = sw_map_query(file, address, row, rows->count ? NULL : rows->path, PATH_BYTES);
        rows->count += status == SW_OK;
        address = row->end;
    }
    if (file >= 0)
        close(file);
    return status == SW_E_NOT_FOUND ? SW_OK : status;
}

static void take_row(struct rows *rows, const struct sw_map *row)
{
    struct sw_map *to = &rows->at[rows->count];
    *to = *row;
    if (rows->count++ == 0 && row->path_size < PATH_BYTES)
        memcpy(rows->path, row->path, row->path_size);
    to->path_size = rows->count == 1 && row->path_size < PATH_BYTES ? row->path_size : 0;
    to->path = rows->path;
}

/* The same from the text of all rows. */
static enum sw_status read_rows(struct rows *rows, const struct sw_alloc *alloc, uint64_t address, uint64_t end)
{
    struct sw_os_text text;
    struct sw_map row;
    const enum sw_status status = sw_os_read_file(alloc, "/proc/self/maps", &text);
    if (status != SW_OK)
        return status;
    struct sw_maps_text left = { text.bytes, text.bytes + text.size, 0 };
    rows->count = 0;
    while (rows->count < ROWS && sw_maps_next(&left, &row) && row.begin < end)
        if (row.end > address)
            take_row(rows, &row);
    sw_os_free_text(alloc, &text);
    return SW_OK;
}

/* ---- in place ---- */

/* Whether all of [begin, end) can be loaded: it is mapped, and what is mapped has its file behind it. */
static bool is_whole(const struct rows *rows, uint64_t begin, uint64_t end)
{
    const struct sw_memory memory = sw_self_memory();
    uint64_t at = begin;
    uint8_t last;
    for (size_t i = 0; i < rows->count && at < end; i++)
        if (rows->at[i].begin <= at && at < rows->at[i].end && rows->at[i].readable)
            at = rows->at[i].end;
    return at >= end && memory.read(memory.arg, end - 1, &last, 1) == 1;
}

/* pe: its bytes are the header alone. */
static bool has_all_sections(const struct rows *rows, const struct sw_pe *pe)
{
    const uint64_t base = pe->bytes.address;
    if (pe->size_of_headers == 0 || !is_whole(rows, base, base + pe->size_of_headers))
        return false;
    for (uint32_t i = 0; i < pe->section_count; i++) {
        const struct sw_bytes section =
            sw_bytes_part(pe->bytes, pe->sections + (uint64_t)i * SECTION_BYTES, SECTION_BYTES);
        if (section.size == 0)
            return false;
        const uint32_t virtual_size = sw_load32(section.bytes + 8), begin = sw_load32(section.bytes + 12);
        const uint32_t size = virtual_size ? virtual_size : sw_load32(section.bytes + 16);
        if (begin > pe->size_of_image || size > pe->size_of_image - begin ||
            (size != 0 && !is_whole(rows, base + begin, base + begin + size)))
            return false;
    }
    return true;
}

static struct sw_image_entry *make_in_place(struct sw_images *images, const struct rows *rows, const struct sw_pe *pe)
{
    char path[PATH_BYTES];
    const bool is_named = sw_maps_path(&rows->at[0], path, sizeof path, NULL) == SW_OK;
    struct sw_image_entry *entry = sw_images_make(images, is_named ? path : "[module]");
    const struct sw_bytes bytes = { (const uint8_t *)(uintptr_t)pe->bytes.address, pe->size_of_image,
                                    pe->bytes.address };
    if (!entry)
        return NULL;
    entry->origin = &origin_in_place;
    entry->identity = rows->at[0].inode;
    entry->seen = true;
    if (sw_pe_open(bytes, true, &entry->pe) == SW_OK && sw_sources_open_pe(images, entry) == SW_OK && entry->has_clr)
        return entry;
    sw_images_discard(images, entry);
    return NULL;
}

/* A copy that an earlier refresh has made is replaced. */
static enum sw_status put_in_place(struct sw_images *images, const struct rows *rows, const struct sw_pe *pe)
{
    const uint64_t begin = pe->bytes.address;
    const struct sw_image_entry *there = sw_images_entry(images, begin);
    if (there && there->info.begin == begin && there->origin == &origin_in_place)
        return SW_OK;
    struct sw_image_entry *entry = has_all_sections(rows, pe) ? make_in_place(images, rows, pe) : NULL;
    if (!entry)
        return SW_E_UNSUPPORTED;
    if (there && there->info.begin == begin)
        (void)sw_images_drop(images, begin);
    const enum sw_status status = sw_images_insert(images, entry);
    if (status != SW_OK)
        sw_images_discard(images, entry);
    return status;
}

static enum sw_status put_copy(struct sw_images *images, const void *origin, const struct rows *rows, uint64_t address)
{
    const struct sw_memory memory = sw_self_memory();
    size_t at = 0;
    uint64_t end;
    bool is_pe;
    const struct sw_map *site = sw_images_next_site(rows->at, rows->count, &at, address, &memory, &is_pe);
    if (!site || site->begin != address || !is_pe)
        return SW_E_UNSUPPORTED;
    return sw_images_put_own_pe(images, origin, site, &end);
}

enum sw_status sw_images_put_mapped_pe(struct sw_images *images, const void *origin, uint64_t address, bool lasts)
{
    const struct sw_memory memory = sw_self_memory();
    uint8_t header[PAGE];
    const struct sw_bytes bytes = { header, memory.read(memory.arg, address, header, sizeof header), address };
    struct sw_pe pe;
    struct rows rows;
    if (sw_pe_open(bytes, true, &pe) != SW_OK || !is_precompiled(&pe))
        return SW_E_NOT_FOUND;
    const uint64_t end = address + pe.size_of_image;
    enum sw_status status = query_rows(&rows, address, end);
    if (status != SW_OK)
        status = read_rows(&rows, sw_images_alloc(images), address, end);
    if (status != SW_OK || rows.count == 0)
        return status != SW_OK ? status : SW_E_NOT_FOUND;
    status = lasts ? put_in_place(images, &rows, &pe) : SW_E_UNSUPPORTED;
    return status == SW_E_UNSUPPORTED ? put_copy(images, origin, &rows, address) : status;
}
