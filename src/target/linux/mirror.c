/*
 * Code that is mapped a second time. V8 does this: it maps the part of its own file that holds the built-in functions
 * again near its JIT code and runs them there, but the perf map names their first mapping. Knows mappings and code
 * ranges; refuses to know which programs do this.
 */
#include "target/linux/mirror.h"

enum { MOST_MAPS = 4096, MOST_PIECES = 64 };

/* [from, from + size) is also mapped at `to`. */
struct piece {
    uint64_t from, to, size;
};

/* Collects the ranges of one piece: counted first, then stored. If the map grows in between, `room` limits them. */
struct gathered {
    const struct piece *piece;
    struct sw_range *ranges;
    size_t count, room;
};

static bool is_code_of_file(const struct sw_map *map)
{
    return map->executable && map->inode != 0;
}

static uint64_t max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The part of the file that both rows map; size 0: none. */
static struct piece shared_part(const struct sw_map *a, const struct sw_map *b)
{
    const uint64_t begin = max(a->offset, b->offset);
    const uint64_t a_size = a->end - a->begin, b_size = b->end - b->begin;
    if (!sw_maps_same_file(a, b) || begin - a->offset >= a_size || begin - b->offset >= b_size)
        return (struct piece){ 0 };
    const uint64_t a_left = a_size - (begin - a->offset), b_left = b_size - (begin - b->offset);
    return (struct piece){ a->begin + (begin - a->offset), b->begin + (begin - b->offset),
                           a_left < b_left ? a_left : b_left };
}

static bool gather(void *arg, const struct sw_range *range)
{
    struct gathered *g = arg;
    const uint64_t at = range->begin - g->piece->from;
    if (range->begin < g->piece->from || at >= g->piece->size || range->end - range->begin > g->piece->size - at)
        return true;
    if (g->ranges && g->count == g->room)
        return false;
    if (g->ranges)
        g->ranges[g->count] = *range;
    g->count++;
    return true;
}

static enum sw_status add_moved(const struct gathered *g, struct sw_codemap *codemap)
{
    for (size_t i = 0; i < g->count; i++) {
        struct sw_range range = g->ranges[i];
        range.begin = range.begin - g->piece->from + g->piece->to;
        range.end = range.end - g->piece->from + g->piece->to;
        const enum sw_status status = sw_codemap_add(codemap, &range);
        if (status == SW_E_NO_MEMORY || status == SW_E_BUSY)
            return status;
    }
    return SW_OK;
}

static enum sw_status mirror(const struct piece *piece, const struct sw_alloc *alloc, struct sw_codemap *codemap)
{
    struct gathered g = { .piece = piece };
    enum sw_status status = sw_codemap_each(codemap, gather, &g);
    if (status != SW_OK || g.count == 0)
        return status;
    const size_t size = g.count * sizeof *g.ranges;
    g.ranges = alloc->get(alloc->arg, size);
    if (!g.ranges)
        return SW_E_NO_MEMORY;
    g.room = g.count;
    g.count = 0;
    status = sw_codemap_each(codemap, gather, &g);
    if (status == SW_OK)
        status = add_moved(&g, codemap);
    alloc->put(alloc->arg, g.ranges, size);
    return status;
}

/* Mirrors the pieces that row `at` shares with later rows, in both directions. */
static enum sw_status mirror_row(const struct sw_map *maps, size_t count, size_t at, unsigned *pieces,
                                 const struct sw_alloc *alloc, struct sw_codemap *codemap)
{
    enum sw_status status = SW_OK;
    for (size_t i = at + 1; i < count && *pieces < MOST_PIECES && status == SW_OK; i++) {
        if (!is_code_of_file(&maps[i]))
            continue;
        const struct piece there = shared_part(&maps[at], &maps[i]);
        const struct piece back = { there.to, there.from, there.size };
        if (there.size == 0)
            continue;
        ++*pieces;
        status = mirror(&there, alloc, codemap);
        if (status == SW_OK)
            status = mirror(&back, alloc, codemap);
    }
    return status;
}

enum sw_status sw_mirror_ranges(const struct sw_map *maps, size_t count, const struct sw_alloc *alloc,
                                struct sw_codemap *codemap)
{
    enum sw_status status = SW_OK;
    unsigned pieces = 0;
    if (count > MOST_MAPS)
        count = MOST_MAPS;
    for (size_t i = 0; i < count && status == SW_OK; i++)
        if (is_code_of_file(&maps[i]))
            status = mirror_row(maps, count, i, &pieces, alloc, codemap);
    return status;
}
