/* A capsule of a core: its map is what segments and listed files say. */
#include "target/capsule.h"

#include "base/interval.h"
#include "target/core.h"

#include <string.h>

/* The kernel marks files that have no name any more, as memory that was never one. */
static bool is_file(const char *path)
{
    static const char deleted[] = " (deleted)";
    const size_t size = strlen(path), mark = sizeof deleted - 1;
    return path[0] == '/' && (size < mark || strcmp(path + size - mark, deleted) != 0);
}

static enum sw_status add_row(struct sw_capsule *capsule, const struct sw_core *core, const struct sw_core_row *row,
                              struct sw_capsule_map map)
{
    const char *path = row ? core->files[row->file].info.path : NULL;
    if (row)
        map.offset = row->offset + (map.begin - row->begin);
    map.is_more = row && map.begin > row->begin;
    return sw_capsule_add_map(capsule, &map, path && is_file(path) ? path : NULL);
}

/* By rows: createdump writes pages of several mappings as one segment. next: the first row that ends behind it. */
static enum sw_status add_segment(struct sw_capsule *capsule, const struct sw_core *core,
                                  const struct sw_core_segment *segment, size_t next)
{
    struct sw_capsule_map map = { .flags = segment->flags, .is_copy = segment->stored != 0 };
    enum sw_status status = SW_OK;
    for (map.begin = segment->begin; map.begin < segment->end && status == SW_OK; map.begin = map.end) {
        const struct sw_core_row *row = next < core->row_array.count ? &core->rows[next] : NULL;
        const bool is_inside = row && row->begin <= map.begin;
        const uint64_t limit = is_inside ? row->end : row ? row->begin : UINT64_MAX;
        map.end = limit < segment->end ? limit : segment->end;
        status = add_row(capsule, core, is_inside ? row : NULL, map);
        next += is_inside;
    }
    return status;
}

static enum sw_status add_segments(struct sw_capsule *capsule, const struct sw_core *core)
{
    enum sw_status status = SW_OK;
    size_t next = 0;
    for (size_t i = 0; i < core->segment_array.count && status == SW_OK; i++) {
        while (next < core->row_array.count && core->rows[next].end <= core->segments[i].begin)
            next++;
        status = add_segment(capsule, core, &core->segments[i], next);
    }
    return status;
}

static enum sw_status add_bare(struct sw_capsule *capsule, const struct sw_core *core, const struct sw_core_row *row,
                               uint64_t begin, uint64_t end)
{
    const struct sw_capsule_map map = { .begin = begin, .end = end, .flags = row->flags, .is_bare = true };
    return begin < end ? add_row(capsule, core, row, map) : SW_OK;
}

/* What is before, between and behind the segments of a row, of which the first may begin before it. */
static enum sw_status add_gaps(struct sw_capsule *capsule, const struct sw_core *core, const struct sw_core_row *row,
                               size_t next)
{
    enum sw_status status = SW_OK;
    uint64_t at = row->begin;
    for (; next < core->segment_array.count && core->segments[next].begin < row->end && status == SW_OK; next++) {
        status = add_bare(capsule, core, row, at, core->segments[next].begin);
        at = core->segments[next].end;
    }
    return status == SW_OK ? add_bare(capsule, core, row, at, row->end) : status;
}

/* gdb and createdump leave out what files have: there is no segment around a row, or around parts of it. */
static enum sw_status add_rows(struct sw_capsule *capsule, const struct sw_core *core)
{
    enum sw_status status = SW_OK;
    size_t next = 0;
    for (size_t i = 0; i < core->row_array.count && status == SW_OK; i++) {
        while (next < core->segment_array.count && core->segments[next].end <= core->rows[i].begin)
            next++;
        status = add_gaps(capsule, core, &core->rows[i], next);
    }
    return status;
}

static bool is_before(const void *a, const void *b)
{
    const struct sw_capsule_map *x = a, *y = b;
    return x->begin < y->begin;
}

static enum sw_status add_maps(struct sw_capsule *capsule, const struct sw_core *core)
{
    enum sw_status status = add_segments(capsule, core);
    if (status == SW_OK)
        status = add_rows(capsule, core);
    const struct sw_intervals all = { .rows = capsule->maps,
                                      .count = capsule->map_count,
                                      .row_size = sizeof *capsule->maps };
    if (all.count)
        sw_intervals_sort(&all, is_before);
    return status;
}

enum sw_status sw_capsule_add_core(struct sw_capsule *capsule, struct sw_core *core)
{
    if (!capsule || !core || core->headers.machine != capsule->machine)
        return SW_E_ARGUMENT;
    if (capsule->has_process)
        return SW_E_EXISTS;
    capsule->has_process = true;
    capsule->pid = sw_core_pid(&core->process);
    sw_core_name(&core->process, capsule->name);
    sw_core_arguments(&core->process, capsule->arguments);
    const enum sw_status status =
        sw_capsule_set_auxv(capsule, core->process.auxv.bytes, (size_t)core->process.auxv.size);
    return status == SW_OK ? add_maps(capsule, core) : status;
}
