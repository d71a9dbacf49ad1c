/*
 * The sorted, disjoint entries of a perf map, in chunks, so that to insert one moves few others. Refuses to know what
 * they mean, and which one wins.
 */
#include "code/perfmap_entries.h"

#include "base/interval.h"
#include "common/grow.h"

#include <string.h>

struct sw_perfmap_entry *sw_perfmap_entry_at(const struct sw_perfmap_entries *p, struct sw_perfmap_place at)
{
    return at.chunk < p->count && at.index < p->chunks[at.chunk]->count ? &p->chunks[at.chunk]->entries[at.index]
                                                                        : NULL;
}

/* The first entry that ends behind the address; one past the last entry when there is none. */
struct sw_perfmap_place sw_perfmap_first_behind(const struct sw_perfmap_entries *p, uint64_t address)
{
    size_t low = 0;
    size_t high = p->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct sw_perfmap_chunk *chunk = p->chunks[middle];
        if (chunk->entries[chunk->count - 1].range.end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const struct sw_perfmap_place at = { low, 0 };
    if (low == p->count)
        return at;
    const struct sw_perfmap_chunk *chunk = p->chunks[low];
    return (struct sw_perfmap_place){ low, sw_intervals_above(chunk->entries, sizeof *chunk->entries, chunk->count,
                                                              address) };
}

static enum sw_status grow_directory(struct sw_perfmap_entries *p)
{
    struct sw_perfmap_chunk **grown = sw_grow(&p->alloc, p->chunks, sizeof *grown, p->count, &p->room, p->count + 1);
    if (!grown)
        return SW_E_NO_MEMORY;
    p->chunks = grown;
    return SW_OK;
}

/* Makes a chunk at `number`, which takes the entries of the chunk before it from `from` on. */
static enum sw_status add_chunk(struct sw_perfmap_entries *p, size_t number, size_t from)
{
    if (grow_directory(p))
        return SW_E_NO_MEMORY;
    struct sw_perfmap_chunk *made = p->alloc.get(p->alloc.arg, sizeof *made);
    if (!made)
        return SW_E_NO_MEMORY;
    made->count = 0;
    if (number > 0) {
        struct sw_perfmap_chunk *before = p->chunks[number - 1];
        made->count = before->count - from;
        memcpy(made->entries, before->entries + from, made->count * sizeof made->entries[0]);
        before->count = from;
    }
    memmove(p->chunks + number + 1, p->chunks + number, (p->count - number) * sizeof *p->chunks);
    p->chunks[number] = made;
    p->count++;
    return SW_OK;
}

/* Inserts an entry before the one at `at`, the place that first_behind gave for it. */
enum sw_status sw_perfmap_insert_at(struct sw_perfmap_entries *p, struct sw_perfmap_place at,
                                    const struct sw_perfmap_entry *entry)
{
    if (p->count == 0 && add_chunk(p, 0, 0))
        return SW_E_NO_MEMORY;
    if (at.chunk == p->count)
        at = (struct sw_perfmap_place){ p->count - 1, p->chunks[p->count - 1]->count };
    if (p->chunks[at.chunk]->count == SW_PERFMAP_CHUNK_ENTRIES) {
        /* Code is mostly reported in ascending order: a full last chunk stays full and a new one begins. */
        const size_t from =
            at.index == SW_PERFMAP_CHUNK_ENTRIES ? SW_PERFMAP_CHUNK_ENTRIES - 1 : SW_PERFMAP_CHUNK_ENTRIES / 2;
        if (add_chunk(p, at.chunk + 1, from))
            return SW_E_NO_MEMORY;
        if (at.index > from)
            at = (struct sw_perfmap_place){ at.chunk + 1, at.index - from };
    }
    struct sw_perfmap_chunk *chunk = p->chunks[at.chunk];
    memmove(chunk->entries + at.index + 1, chunk->entries + at.index,
            (chunk->count - at.index) * sizeof chunk->entries[0]);
    chunk->entries[at.index] = *entry;
    chunk->count++;
    return SW_OK;
}

void sw_perfmap_erase_at(struct sw_perfmap_entries *p, struct sw_perfmap_place at)
{
    struct sw_perfmap_chunk *chunk = p->chunks[at.chunk];
    chunk->count--;
    memmove(chunk->entries + at.index, chunk->entries + at.index + 1,
            (chunk->count - at.index) * sizeof chunk->entries[0]);
    if (chunk->count)
        return;
    p->alloc.put(p->alloc.arg, chunk, sizeof *chunk);
    p->count--;
    memmove(p->chunks + at.chunk, p->chunks + at.chunk + 1, (p->count - at.chunk) * sizeof *p->chunks);
}

void sw_perfmap_free_entries(struct sw_perfmap_entries *p)
{
    for (size_t i = 0; i < p->count; i++)
        p->alloc.put(p->alloc.arg, p->chunks[i], sizeof *p->chunks[i]);
    if (p->chunks)
        p->alloc.put(p->alloc.arg, p->chunks, p->room * sizeof *p->chunks);
}
