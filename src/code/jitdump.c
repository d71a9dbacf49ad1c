/*
 * Jitdump files: what becomes of their records. Names and ranges go into a perf map, call frame information to images.
 * Knows which record belongs to which; lib/jit knows the format. The file may lie in every byte.
 */
#include <snapwalk/jitdump.h>

#include "code/jitdump.h"
#include "base/interval.h"
#include "code/perfmap.h"
#include "common/alloc.h"
#include "common/grow.h"
#include "jit/jitdump.h"

#include <snapwalk/jit.h>

#include <string.h>

enum { FRAMES_ALIGN = 8, FRAMES_MOST = 64 << 20 };

struct buffer {
    size_t size;
    uint8_t bytes[SW_JITDUMP_RECORD_MAX];
};

/* Code that is an image. */
struct code {
    uint64_t begin;
    uint64_t end;
};

/*
 * record_size: how much of the record is wanted in `pending`; 0: its prefix is not there yet. behind: how much of it
 * is not. pass: bytes that need not be looked at.
 */
struct sw_jitdump {
    struct sw_alloc alloc;
    struct sw_perfmap *perfmap;
    struct sw_jitdump_header header;
    enum sw_status end; /* not SW_OK: nothing more is read, and why */
    bool has_header;
    bool is_closed;
    uint32_t record_size;
    uint32_t behind;
    uint32_t pass;
    struct code *codes; /* ascending, disjoint */
    size_t count, room;
    size_t added;      /* images, also those that are gone */
    size_t framed;     /* bytes of their frames */
    uint64_t position; /* bytes fed or passed over */
    uint64_t inode;    /* of the file that it counts in; 0: of none */
    uint64_t records;
    uint64_t bad_records;
    struct buffer pending;
    struct buffer frames; /* of the function whose record comes next */
};

/* Where the records go. */
struct sinks {
    struct sw_images *images;
    struct sw_codemap *codemap;
};

static void append(struct buffer *to, const uint8_t *bytes, size_t size)
{
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

enum sw_status sw_jitdump_create(const struct sw_alloc *alloc, struct sw_perfmap *perfmap, struct sw_jitdump **jitdump)
{
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    if (!jitdump || !perfmap || !sw_alloc_usable(alloc))
        return SW_E_ARGUMENT;
    struct sw_jitdump *made = from.get(from.arg, sizeof *made);
    if (!made)
        return SW_E_NO_MEMORY;
    memset(made, 0, offsetof(struct sw_jitdump, pending)); /* of large buffers only the sizes */
    made->pending.size = made->frames.size = 0;
    made->alloc = from;
    made->perfmap = perfmap;
    *jitdump = made;
    return SW_OK;
}

void sw_jitdump_destroy(struct sw_jitdump *d)
{
    if (!d)
        return;
    const struct sw_alloc alloc = d->alloc;
    if (d->codes)
        alloc.put(alloc.arg, d->codes, d->room * sizeof *d->codes);
    alloc.put(alloc.arg, d, sizeof *d);
}

/* ---- images ---- */

/* The first code that ends behind the address. */
static size_t first_behind(const struct sw_jitdump *d, uint64_t address)
{
    return sw_intervals_above(d->codes, sizeof *d->codes, d->count, address);
}

/* Code that other code has replaced, or that was moved. */
static void forget(struct sw_jitdump *d, const struct sinks *to, uint64_t begin, uint64_t end)
{
    const size_t first = first_behind(d, begin);
    size_t behind = first;
    for (; behind < d->count && d->codes[behind].begin < end; behind++)
        if (to->images)
            (void)!sw_images_remove(to->images, d->codes[behind].begin);
    if (behind == first)
        return;
    memmove(d->codes + first, d->codes + behind, (d->count - behind) * sizeof *d->codes);
    d->count -= behind - first;
}

static enum sw_status remember(struct sw_jitdump *d, struct code code)
{
    struct code *codes = sw_grow(&d->alloc, d->codes, sizeof *codes, d->count, &d->room, d->count + 1);
    if (!codes)
        return SW_E_NO_MEMORY;
    d->codes = codes;
    const size_t at = first_behind(d, code.begin);
    memmove(codes + at + 1, codes + at, (d->count - at) * sizeof *codes);
    codes[at] = code;
    d->count++;
    return SW_OK;
}

/* Returns  SW_OK: walks know the frames of the code by its image. */
static enum sw_status add_image(struct sw_jitdump *d, const struct sinks *to, const struct sw_jitdump_record *load)
{
    const struct code code = { load->begin, load->begin + load->code_size };
    struct sw_cfi_table table = { .machine = d->header.machine, .begin = code.begin, .end = code.end };
    if (!to->images || d->header.is_big || d->frames.size == 0 || d->added == SW_JITDUMP_IMAGES_MAX ||
        d->framed + d->frames.size > FRAMES_MOST)
        return SW_E_NOT_FOUND;
    table.eh_frame = d->frames.bytes;
    table.size = d->frames.size;
    table.address = (code.end + FRAMES_ALIGN - 1) & ~(uint64_t)(FRAMES_ALIGN - 1);
    enum sw_status status = sw_images_add_cfi(to->images, "[jit]", &table);
    if (status)
        return status;
    d->added++;
    d->framed += d->frames.size;
    status = remember(d, code);
    if (status)
        (void)!sw_images_remove(to->images, code.begin);
    return status;
}

/* ---- records ---- */

static bool is_worth_telling(enum sw_status status)
{
    return status == SW_E_NO_MEMORY || status == SW_E_BUSY;
}

static enum sw_status take_load(struct sw_jitdump *d, const struct sinks *to, const struct sw_jitdump_record *load)
{
    const struct sw_perfmap_line line = { load->begin, load->code_size, load->name, load->name_size - 1 };
    forget(d, to, load->begin, load->begin + load->code_size);
    const enum sw_status added = add_image(d, to, load);
    d->frames.size = 0;
    const enum sw_status status =
        sw_perfmap_take(d->perfmap, to->codemap, &line, added == SW_OK ? SW_UNWIND_AUTO : SW_UNWIND_FOREIGN);
    return status == SW_OK && is_worth_telling(added) ? added : status;
}

static enum sw_status take_move(struct sw_jitdump *d, const struct sinks *to, const struct sw_jitdump_record *move)
{
    forget(d, to, move->from, move->from + 1);
    forget(d, to, move->begin, move->begin + move->code_size);
    const enum sw_status status = sw_perfmap_move(d->perfmap, to->codemap, move->from, move->begin);
    if (status != SW_E_NOT_FOUND && status != SW_E_WRAPS)
        return status;
    d->bad_records++;
    d->records--;
    return SW_OK;
}

static enum sw_status take_record(struct sw_jitdump *d, const struct sinks *to)
{
    struct sw_jitdump_record record;
    const struct sw_bytes bytes = { d->pending.bytes, d->pending.size, 0 };
    if (sw_jitdump_record(bytes, d->header.is_big, &record)) {
        d->frames.size = 0;
        d->bad_records++;
        return SW_OK;
    }
    d->records++;
    if (record.kind == SW_JITDUMP_LOAD)
        return take_load(d, to, &record);
    if (record.kind == SW_JITDUMP_MOVE)
        return take_move(d, to, &record);
    d->frames.size = 0;
    append(&d->frames, record.frames.bytes, (size_t)record.frames.size);
    return SW_OK;
}

/* What is not read is passed over by its size. */
static void pass_record(struct sw_jitdump *d, uint32_t rest)
{
    d->pass = rest;
    d->pending.size = 0;
    d->record_size = d->behind = 0;
}

/* Of code that is loaded the head: the code itself may be large, and may be missing at the end of a file. */
static enum sw_status take_prefix(struct sw_jitdump *d)
{
    uint32_t kind, size;
    const struct sw_bytes bytes = { d->pending.bytes, d->pending.size, 0 };
    d->end = sw_jitdump_prefix(bytes, d->header.is_big, &kind, &size);
    if (d->end)
        return d->end;
    const bool is_load = kind == SW_JITDUMP_LOAD;
    const bool is_read = is_load || kind == SW_JITDUMP_MOVE || kind == SW_JITDUMP_UNWIND;
    const bool is_bad = is_read && !is_load && size > SW_JITDUMP_RECORD_MAX;
    d->is_closed |= kind == SW_JITDUMP_CLOSE;
    d->record_size = is_load && size > SW_JITDUMP_RECORD_MAX ? SW_JITDUMP_RECORD_MAX : size;
    d->behind = size - d->record_size;
    if (is_read && !is_bad)
        return SW_OK;
    d->frames.size = is_bad ? 0 : d->frames.size;
    d->records += !is_bad;
    d->bad_records += is_bad;
    pass_record(d, size - SW_JITDUMP_PREFIX_BYTES);
    return SW_OK;
}

static enum sw_status take_header(struct sw_jitdump *d)
{
    const struct sw_bytes bytes = { d->pending.bytes, d->pending.size, 0 };
    d->end = sw_jitdump_header(bytes, &d->header);
    d->has_header = true;
    d->pending.size = 0;
    d->pass = d->end ? 0 : d->header.size - SW_JITDUMP_HEADER_BYTES;
    return d->end;
}

/* The prefix or the rest of a record is there; some have no rest. */
static enum sw_status take_part(struct sw_jitdump *d, const struct sinks *to)
{
    enum sw_status status = d->record_size ? SW_OK : take_prefix(d);
    if (status || d->pending.size < d->record_size || d->record_size == 0)
        return status;
    status = take_record(d, to);
    pass_record(d, d->behind);
    return status;
}

static size_t wanted(const struct sw_jitdump *d)
{
    if (!d->has_header)
        return SW_JITDUMP_HEADER_BYTES;
    return d->record_size ? d->record_size : SW_JITDUMP_PREFIX_BYTES;
}

/* Takes some of the bytes. used: how many. */
static enum sw_status feed_some(struct sw_jitdump *d, const struct sinks *to, const uint8_t *bytes, size_t size,
                                size_t *used)
{
    if (d->pass) {
        *used = size < d->pass ? size : d->pass;
        d->pass -= (uint32_t)*used;
        return SW_OK;
    }
    const size_t missing = wanted(d) - d->pending.size;
    *used = size < missing ? size : missing;
    append(&d->pending, bytes, *used);
    if (d->pending.size < wanted(d))
        return SW_OK;
    return d->has_header ? take_part(d, to) : take_header(d);
}

enum sw_status sw_jitdump_feed(struct sw_jitdump *d, const void *bytes, size_t size, struct sw_images *images,
                               struct sw_codemap *codemap)
{
    const struct sinks to = { images, codemap };
    const uint8_t *at = bytes;
    enum sw_status first = SW_OK;
    if (!d || (!bytes && size))
        return SW_E_ARGUMENT;
    for (size_t used; size && d->end == SW_OK; at += used, size -= used) {
        const enum sw_status status = feed_some(d, &to, at, size, &used);
        d->position += used;
        first = first ? first : status;
    }
    return d->end ? d->end : first;
}

uint64_t sw_jitdump_records(const struct sw_jitdump *d)
{
    return d ? d->records : 0;
}

uint64_t sw_jitdump_bad_records(const struct sw_jitdump *d)
{
    return d ? d->bad_records : 0;
}

bool sw_jitdump_is_closed(const struct sw_jitdump *d)
{
    return d && d->is_closed;
}

bool sw_jitdump_is_path(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *at = slash && strncmp(slash + 1, "jit-", 4) == 0 ? slash + 5 : "";
    const size_t digits = strspn(at, "0123456789");
    return digits > 0 && strcmp(at + digits, ".dump") == 0;
}

uint64_t sw_jitdump_position(const struct sw_jitdump *d)
{
    return d->position;
}

void sw_jitdump_pass(struct sw_jitdump *d, uint64_t most)
{
    const uint32_t passed = most < d->pass ? (uint32_t)most : d->pass;
    d->pass -= passed;
    d->position += passed;
}

static void restart(struct sw_jitdump *d)
{
    d->end = SW_OK;
    d->has_header = d->is_closed = false;
    d->pending.size = d->frames.size = 0;
    d->record_size = d->behind = d->pass = 0;
    d->position = 0;
}

void sw_jitdump_begin(struct sw_jitdump *d, uint64_t inode, uint64_t size)
{
    if ((d->inode && d->inode != inode) || size < d->position)
        restart(d);
    d->inode = inode;
}

const struct sw_perfmap *sw_jitdump_perfmap(const struct sw_jitdump *d)
{
    return d->perfmap;
}
