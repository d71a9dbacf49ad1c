/*
 * The allocator of the code map's blocks. Chunks are allocated and freed with every change, a few hundred bytes each,
 * and are looked up at random. So blocks are cut from slabs of up to 2 MiB, which the allocator behind may put on huge
 * pages, and waste little memory. One user at a time; refuses to know what the blocks hold.
 *
 * A slab is divided into pages of 64 lines of 64 bytes. A page has a bit for each line in use, and a block is a row of
 * adjacent lines in one page. Each page is on the list for its longest row of free lines: so a block comes from the
 * page where it fits best, and freed lines join their free neighbours at once.
 *
 *      lists:  0   1   2   3   4  ...  9         page:  ██████░░░░███░░░░░████...  longest row: 5
 *                          │       │
 *                          ▼       ▼             block: ┌─ 64 bytes ─┬────────────┬──
 *                         page ►  page                  │     header │ body       │
 *                                  ▼                    └────────────┴────────────┴──
 *                                 page                               ▲ a cache line
 *
 * Slabs grow with the amount in use. An empty slab is freed, unless it is small compared with what is in use.
 */
#ifndef SW_CODE_MAP_BLOCK_ALLOC_H
#define SW_CODE_MAP_BLOCK_ALLOC_H

#include "common/reclaim.h"

#include <snapwalk/alloc.h>

enum { SW_LINE = 64, SW_PAGE_LINES = 64, SW_ROW_MAX = 9 /* larger blocks come from the allocator */ };

struct sw_slab;

/*
 * used: a bit for each line; lines past the end of the slab count as used. row: the longest row of free lines, at most
 * SW_ROW_MAX.
 */
struct sw_page {
    uint64_t used;
    struct sw_page *next;
    struct sw_page *before;
    struct sw_slab *slab;
    unsigned row;
};

/* lines, used: counts of lines. bytes: got from the allocator and not given back. */
struct sw_blocks {
    struct sw_alloc alloc;
    struct sw_page *by_row[SW_ROW_MAX + 1];
    struct sw_slab *idle;
    size_t lines;
    size_t used;
    _Atomic uint64_t bytes;
};

void sw_blocks_init(struct sw_blocks *blocks, const struct sw_alloc *alloc);

/* get: a block that begins at a cache line; null: no memory. put frees it. */
void *sw_blocks_get(struct sw_blocks *blocks, size_t size);
void sw_blocks_put(struct sw_blocks *blocks, void *body);

/* From a block to its header for retiring (common/reclaim.h), and back. */
struct sw_retired *sw_blocks_retired(void *body);
void *sw_blocks_body(struct sw_retired *retired);

/* Prefetches the header and the end of a block that will be freed: a find does not touch them. */
static inline void sw_blocks_prefetch(const void *body)
{
#if defined(__GNUC__)
    __builtin_prefetch((const char *)body - 1, 1);
    __builtin_prefetch((const char *)body + 4 * SW_LINE);
#else
    (void)body;
#endif
}

#endif
