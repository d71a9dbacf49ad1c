/*
 * The images of a core, from the files that were found for it. Knows how to present a core's rows as a memory map; the
 * rest is as for a process (images_process.c).
 */
#include "target/linux/core.h"
#include "target/linux/images.h"

#include "base/magic.h"

#include <string.h>

enum { VDSO_MOST = 1 << 20 };

/* A core, and its rows as the memory map that a search for images takes. A file's inode is its number, from 1. */
struct mapped {
    struct sw_core *core;
    struct sw_map *maps;
    size_t count;
};

/*
 * A PE file that is read as a file, as .NET does with assemblies, is one row; one that is laid out to be executed has
 * several. Asked where the core does not say what may be executed.
 */
static bool is_only_read(const struct sw_core *core, size_t at)
{
    const struct sw_core_row *row = &core->rows[at];
    const struct sw_bytes bytes = core->files[row->file].bytes;
    return !sw_core_segment_at(core, row->begin) && sw_begins_pe(bytes) && row->offset == 0 &&
           (at + 1 == core->row_array.count || core->rows[at + 1].file != row->file);
}

static bool make_maps(struct mapped *m)
{
    const struct sw_core *core = m->core;
    m->count = core->row_array.count;
    if (m->count == 0)
        return true;
    m->maps = core->alloc.get(core->alloc.arg, m->count * sizeof *m->maps);
    for (size_t i = 0; m->maps && i < m->count; i++) {
        const struct sw_core_row *row = &core->rows[i];
        const char *path = core->files[row->file].info.path;
        m->maps[i] = (struct sw_map){ .begin = row->begin,
                                      .end = row->end,
                                      .offset = row->offset,
                                      .inode = row->file + 1,
                                      .readable = true,
                                      .executable = (row->flags & SW_CORE_EXECUTE) && !is_only_read(core, i),
                                      .path = path,
                                      .path_size = strlen(path) };
    }
    return m->maps != NULL;
}

static enum sw_status put_site(const struct mapped *m, struct sw_images *images, const struct sw_map *map,
                               uint64_t *end)
{
    const struct sw_core_mapped *found = &m->core->files[map->inode - 1];
    const struct sw_image_file file = { .path = found->info.path,
                                        .address = map->begin,
                                        .origin = m->core,
                                        .identity = map->inode,
                                        .bytes = { found->bytes.bytes, found->bytes.size, map->begin },
                                        .room = found->room,
                                        .first = sw_core_first(&m->core->process) };
    if (found->bytes.size == 0 || sw_images_keep(images, &file, end))
        return SW_OK;
    return sw_images_put_file(images, &file, end);
}

static enum sw_status put_vdso(const struct mapped *m, struct sw_images *images)
{
    static const char name[] = "[vdso]";
    const struct sw_memory memory = sw_core_memory(m->core);
    const uint64_t address = sw_core_auxv(&m->core->process, SW_AUXV_VDSO);
    const struct sw_image_file file = { .path = name, .address = address, .origin = m->core };
    const struct sw_bytes held = sw_core_held_at(m->core, address, VDSO_MOST + 1);
    uint64_t end;
    if (address == 0 || held.size == 0 || held.size > VDSO_MOST || sw_images_keep(images, &file, &end))
        return SW_OK;
    return sw_images_put_memory(images, &file, held.size, &memory);
}

/* SW_E_OVERLAP: an image was left out because an old one is in its place. */
static enum sw_status put_all(const struct mapped *m, struct sw_images *images)
{
    const struct sw_memory memory = sw_core_memory(m->core);
    const struct sw_map *map;
    bool overlap = false;
    uint64_t floor = 0;
    size_t at = 0;
    bool is_pe;
    sw_images_mark(images, m->core);
    while ((map = sw_images_next_site(m->maps, m->count, &at, floor, &memory, &is_pe)) != NULL) {
        const enum sw_status status = put_site(m, images, map, &floor);
        if (sw_images_fatal(status))
            return status;
        overlap |= status == SW_E_OVERLAP;
    }
    enum sw_status status = put_vdso(m, images);
    overlap |= status == SW_E_OVERLAP;
    if (!sw_images_fatal(status))
        status = sw_images_sweep(images, m->core);
    return status == SW_OK && overlap ? SW_E_OVERLAP : status;
}

/*
 * What the core's segments say: nothing becomes executable any more. Where none is executable, whoever wrote the core
 * did not know.
 */
static enum sw_status take_segments(const struct sw_core *core, struct sw_images *images)
{
    const size_t most = core->segment_array.count, size = (most + 1) * sizeof(struct sw_span);
    struct sw_span *spans = core->alloc.get(core->alloc.arg, size);
    enum sw_status status = SW_OK;
    bool has_code = false;
    size_t count = 0;
    if (!spans)
        return SW_E_NO_MEMORY;
    for (size_t i = 0; i < most; i++) {
        const struct sw_core_segment *segment = &core->segments[i];
        const bool is_code = (segment->flags & SW_CORE_EXECUTE) != 0;
        has_code |= is_code;
        sw_images_append_span(spans, &count,
                              (struct sw_span){ segment->begin, segment->end, is_code ? SW_SPAN_CODE : SW_SPAN_DATA });
    }
    if (has_code)
        status = sw_images_set_spans(images, spans, count);
    core->alloc.put(core->alloc.arg, spans, size);
    return status;
}

static enum sw_status put_locked(const struct mapped *m, struct sw_images *images)
{
    enum sw_status status = sw_images_lock(images);
    if (status != SW_OK)
        return status;
    status = put_all(m, images);
    if (status == SW_E_OVERLAP)
        status = put_all(m, images);
    if (!sw_images_fatal(status))
        status = take_segments(m->core, images);
    sw_images_unlock(images);
    return sw_images_fatal(status) ? status : SW_OK;
}

enum sw_status sw_core_add_images(struct sw_core *core, const struct sw_core_files *files, struct sw_images *images)
{
    static const struct sw_core_files here = { 0 };
    struct mapped m = { .core = core };
    if (!core || !images)
        return SW_E_ARGUMENT;
    enum sw_status status = sw_core_find_files(core, files ? files : &here);
    if (status != SW_OK)
        return status;
    status = make_maps(&m) ? put_locked(&m, images) : SW_E_NO_MEMORY;
    if (m.maps)
        core->alloc.put(core->alloc.arg, m.maps, m.count * sizeof *m.maps);
    return status;
}
