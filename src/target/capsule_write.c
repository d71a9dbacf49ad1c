/*
 * How a capsule's file looks: the ELF header, a header for the notes and one for each piece of memory, the notes, the
 * pieces. Refuses to know what is worth keeping (capsule.c).
 *
 * A reader takes memory of a mapping that is not in the file from the mapped file, unless the mapping is writable; and
 * it takes for code what is executable. So mappings of both kinds are there even where nothing of them is kept, and a
 * piece reaches to the next one, with the bytes that are kept in front. Parts of a writable mapping that nobody has
 * written are pieces that are not writable.
 */
#include "target/capsule.h"

#include "core/write.h"

#include <string.h>

enum { PIECES_MOST = 60000 };

/* A walk over what will be program headers. next: the first block that is in none yet. */
struct pieces {
    const struct sw_capsule *capsule;
    size_t map, next;
    uint64_t done; /* of the map */
};

/* How many blocks from `first` on are one behind the other, below `end`. */
static size_t run(const struct sw_store *store, size_t first, uint64_t end)
{
    size_t count = 0;
    while (first + count < store->count && store->blocks[first + count].address < end &&
           store->blocks[first + count].address == store->blocks[first].address + count * SW_STORE_BLOCK)
        count++;
    return count;
}

/* The part of a map from `done` on; false: nothing of it is needed. */
static bool piece_of(struct pieces *p, const struct sw_capsule_map *map, struct sw_core_header *piece)
{
    const struct sw_store *store = &p->capsule->store;
    const bool is_listed =
        !map->is_bare && ((map->flags & SW_CORE_EXECUTE) || (map->path && (map->flags & SW_CORE_WRITE)));
    const uint64_t first = p->next < store->count ? store->blocks[p->next].address : UINT64_MAX;
    const uint64_t begin = is_listed && p->done < first ? p->done : first;
    if (begin >= map->end)
        return false;
    const size_t blocks = begin == first ? run(store, p->next, map->end) : 0;
    p->next += blocks;
    const uint64_t following = p->next < store->count ? store->blocks[p->next].address : UINT64_MAX;
    *piece = (struct sw_core_header){ .type = SW_CORE_LOAD,
                                      .flags = map->is_clean ? map->flags & ~(uint32_t)SW_CORE_WRITE : map->flags,
                                      .address = begin,
                                      .file_size = blocks * SW_STORE_BLOCK,
                                      .size = (following < map->end ? following : map->end) - begin,
                                      .align = SW_STORE_BLOCK };
    p->done = begin + piece->size;
    return true;
}

/* Blocks ascend. A block that is in no map, as one that the process has made since, is passed over. */
static bool next_piece(struct pieces *p, struct sw_core_header *piece)
{
    const struct sw_capsule *capsule = p->capsule;
    for (; p->map < capsule->map_count; p->map++) {
        const struct sw_capsule_map *map = &capsule->maps[p->map];
        while (p->next < capsule->store.count && capsule->store.blocks[p->next].address < map->begin)
            p->next++;
        p->done = p->done > map->begin ? p->done : map->begin;
        if (p->done < map->end && piece_of(p, map, piece))
            return true;
    }
    return false;
}

/* ---- notes ---- */

/* Every mapping of a file: a flat one is told from an image by how many a file has. */
static void list_files(const struct sw_capsule *capsule, struct sw_core_mapping *rows, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < capsule->map_count; i++) {
        const struct sw_capsule_map *map = &capsule->maps[i];
        struct sw_core_mapping *last = *count ? &rows[*count - 1] : NULL;
        if (map->path && map->is_more && last && last->end == map->begin && strcmp(last->path, map->path) == 0)
            last->end = map->end;
        else if (map->path)
            rows[(*count)++] = (struct sw_core_mapping){ map->begin, map->end, map->offset, map->path };
    }
}

/* What stands behind a thread's registers. */
static void put_more(struct sw_core_out *out, const struct sw_core_thread *about)
{
    if (about->has_fault)
        sw_core_put_fault(out, about->signal, about->code, about->fault);
    if (about->pac_mask)
        sw_core_put_pac_mask(out, about->pac_mask);
}

static void put_notes(const struct sw_capsule *capsule, const struct sw_core_mapping *rows, size_t count,
                      struct sw_core_out *out)
{
    for (size_t i = 0; i < capsule->thread_count; i++) {
        const struct sw_capsule_thread *thread = &capsule->threads[i];
        sw_core_put_task(out, (uint32_t)thread->about.tid, thread->about.signal, &thread->regs);
        put_more(out, &thread->about);
        if (i != 0)
            continue;
        sw_core_put_process(out, capsule->pid, capsule->name, capsule->arguments);
        sw_core_put_auxv(out, capsule->auxv, capsule->auxv ? capsule->auxv_size : 0);
        sw_core_put_files(out, rows, count);
    }
    for (size_t i = 0; i < capsule->range_count; i++)
        sw_core_put_range(out, &capsule->ranges[i].range, capsule->ranges[i].name ? capsule->ranges[i].name : "");
}

/* ---- the file ---- */

static struct pieces pieces_of(const struct sw_capsule *capsule)
{
    return (struct pieces){ .capsule = capsule };
}

static size_t count_pieces(const struct sw_capsule *capsule)
{
    struct pieces p = pieces_of(capsule);
    struct sw_core_header piece;
    size_t count = 0;
    while (next_piece(&p, &piece))
        count++;
    return count;
}

/* Everything in front of the pieces. notes: how many bytes they have. */
static void put_front(const struct sw_capsule *capsule, const struct sw_core_mapping *rows, size_t count,
                      size_t headers, size_t notes, struct sw_core_out *out)
{
    struct pieces p = pieces_of(capsule);
    struct sw_core_header piece;
    const size_t notes_at = SW_CORE_HEADER_BYTES + (headers + 1) * 56;
    uint64_t offset = (notes_at + notes + SW_STORE_BLOCK - 1) / SW_STORE_BLOCK * SW_STORE_BLOCK;
    sw_core_put_elf_header(out, capsule->machine, (unsigned)headers + 1);
    sw_core_put_program_header(
        out, &(struct sw_core_header){ .type = SW_CORE_NOTE, .offset = notes_at, .file_size = notes, .align = 4 });
    while (next_piece(&p, &piece)) {
        piece.offset = offset;
        offset += piece.file_size;
        sw_core_put_program_header(out, &piece);
    }
    put_notes(capsule, rows, count, out);
    sw_core_put_zeros(out, (0 - out->size) % SW_STORE_BLOCK);
}

/* In the order of the headers. */
static bool write_pieces(const struct sw_capsule *capsule, const struct sw_capsule_sink *sink)
{
    struct pieces p = pieces_of(capsule);
    struct sw_core_header piece;
    while (next_piece(&p, &piece))
        for (uint64_t n = piece.file_size / SW_STORE_BLOCK, first = p.next - n; n > 0; n--, first++)
            if (!sink->write(sink->arg, capsule->store.blocks[first].bytes, SW_STORE_BLOCK))
                return false;
    return true;
}

static enum sw_status write_all(const struct sw_capsule *capsule, struct sw_core_mapping *rows,
                                const struct sw_capsule_sink *sink)
{
    struct sw_core_out out = { 0 };
    size_t count;
    const size_t headers = count_pieces(capsule);
    list_files(capsule, rows, &count);
    if (headers > PIECES_MOST)
        return SW_E_LIMIT;
    put_notes(capsule, rows, count, &out);
    const size_t notes = out.size;
    out.size = 0;
    put_front(capsule, rows, count, headers, notes, &out);
    out = (struct sw_core_out){ .bytes = capsule->alloc.get(capsule->alloc.arg, out.size), .room = out.size };
    if (!out.bytes)
        return SW_E_NO_MEMORY;
    put_front(capsule, rows, count, headers, notes, &out);
    const bool written = sink->write(sink->arg, out.bytes, out.size) && write_pieces(capsule, sink);
    capsule->alloc.put(capsule->alloc.arg, out.bytes, out.room);
    return written ? SW_OK : SW_E_OS;
}

enum sw_status sw_capsule_write(struct sw_capsule *capsule, const struct sw_capsule_sink *sink)
{
    if (!capsule || !sink || !sink->write)
        return SW_E_ARGUMENT;
    const size_t size = (capsule->map_count + 1) * sizeof(struct sw_core_mapping);
    struct sw_core_mapping *rows = capsule->alloc.get(capsule->alloc.arg, size);
    if (!rows)
        return SW_E_NO_MEMORY;
    sw_store_sort(&capsule->store);
    const enum sw_status status = write_all(capsule, rows, sink);
    capsule->alloc.put(capsule->alloc.arg, rows, size);
    return status;
}
