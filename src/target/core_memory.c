/*
 * A core's memory: which bytes belong to which address, those of the core or of a file that stands in for what it
 * lacks. Refuses to know where files come from.
 */
#include "target/core.h"

#include "base/interval.h"

#include <string.h>

enum { PATH_MOST = 4096 };

/* The number of the first segment that ends above the address. */
static size_t segment_search(const struct sw_core *core, uint64_t address)
{
    return sw_intervals_above(core->segments, sizeof *core->segments, core->segment_array.count, address);
}

const struct sw_core_segment *sw_core_segment_at(const struct sw_core *core, uint64_t address)
{
    const size_t at = segment_search(core, address);
    return at < core->segment_array.count && core->segments[at].begin <= address ? &core->segments[at] : NULL;
}

const struct sw_core_row *sw_core_row_at(const struct sw_core *core, uint64_t address)
{
    const size_t at = sw_intervals_above(core->rows, sizeof *core->rows, core->row_array.count, address);
    return at < core->row_array.count && core->rows[at].begin <= address ? &core->rows[at] : NULL;
}

/* What a file supplies for an address at which the core has nothing. */
static bool is_constant(const struct sw_core_mapped *file, uint64_t address)
{
    return address >= file->constant.begin && address < file->constant.end;
}

static struct sw_bytes file_bytes(const struct sw_core *core, uint64_t address)
{
    const size_t next = segment_search(core, address);
    const struct sw_core_segment *segment = next < core->segment_array.count ? &core->segments[next] : NULL;
    const bool inside = segment && segment->begin <= address;
    const struct sw_core_row *row = sw_core_row_at(core, address);
    uint64_t offset;
    /* Memory that was written, or was meant to be in the core, may differ from the file. */
    if (!row || (inside && address - segment->begin < segment->stored))
        return (struct sw_bytes){ 0 };
    const struct sw_core_mapped *mapped = &core->files[row->file];
    /* A row has the flags of its beginning, but parts of it may have others (capsule_write.c). */
    const bool may_write = ((inside ? segment->flags : row->flags) & SW_CORE_WRITE) != 0;
    if (may_write && !is_constant(mapped, address))
        return (struct sw_bytes){ 0 };
    uint64_t end = may_write && mapped->constant.end < row->end ? mapped->constant.end : row->end;
    if (segment && (inside ? segment->end : segment->begin) < end)
        end = inside ? segment->end : segment->begin;
    const struct sw_bytes *file = &mapped->bytes;
    if (!sw_add_u64(row->offset, address - row->begin, &offset) || offset >= file->size)
        return (struct sw_bytes){ 0 };
    const uint64_t room = file->size - offset;
    struct sw_bytes found = sw_bytes_part(*file, offset, end - address < room ? end - address : room);
    found.address = address;
    return found;
}

struct sw_bytes sw_core_held_at(const struct sw_core *core, uint64_t address, uint64_t most)
{
    const struct sw_core_segment *segment = sw_core_segment_at(core, address);
    if (!segment || address - segment->begin >= segment->held.size)
        return (struct sw_bytes){ 0 };
    const uint64_t offset = address - segment->begin;
    const uint64_t left = segment->held.size - offset;
    const struct sw_bytes held = sw_bytes_part(segment->held, offset, left < most ? left : most);
    if (core->want)
        core->want(core->source, (uint64_t)(held.bytes - core->headers.file.bytes), held.size);
    return held;
}

struct sw_bytes sw_core_bytes_at(const struct sw_core *core, uint64_t address, uint64_t most)
{
    const struct sw_bytes held = sw_core_held_at(core, address, most);
    return held.size ? held : file_bytes(core, address);
}

const char *sw_core_string_at(const struct sw_core *core, uint64_t address)
{
    struct sw_bytes bytes = sw_core_bytes_at(core, address, PATH_MOST);
    bytes.size = bytes.size < PATH_MOST ? bytes.size : PATH_MOST;
    struct sw_cursor c = sw_cursor_over(bytes);
    return sw_cursor_string(&c);
}

static size_t copy_from(const struct sw_core *core, uint64_t address, void *to, size_t size,
                        struct sw_bytes (*bytes_at)(const struct sw_core *core, uint64_t address, uint64_t most))
{
    size_t done = 0;
    while (done < size) {
        const struct sw_bytes bytes = bytes_at(core, address + done, size - done);
        if (bytes.size == 0)
            break;
        const size_t part = bytes.size < size - done ? (size_t)bytes.size : size - done;
        memcpy((uint8_t *)to + done, bytes.bytes, part);
        done += part;
        if (address + done < address)
            break;
    }
    return done;
}

static size_t read_all(void *arg, uint64_t address, void *to, size_t size)
{
    return copy_from(arg, address, to, size, sw_core_bytes_at);
}

static size_t read_own(void *arg, uint64_t address, void *to, size_t size)
{
    return copy_from(arg, address, to, size, sw_core_held_at);
}

struct sw_memory sw_core_memory(struct sw_core *core)
{
    return (struct sw_memory){ .read = core ? read_all : NULL, .arg = core };
}

struct sw_memory sw_core_own_memory(struct sw_core *core)
{
    return (struct sw_memory){ .read = read_own, .arg = core };
}
