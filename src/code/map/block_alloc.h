/*
 * The blocks that a code map is made of. Chunks come and go with every change, a few hundred bytes each, and stand all
 * over the place when they are looked up: so they are cut from pieces of up to 2 MiB, which an allocator may put on
 * huge pages, and take no more than they need. One user at a time; refuses to know what the blocks hold.
 *
 * A piece is cut in pages of 64 lines, which are 64 bytes each, and a page has a bit for each line in use. A block is a
 * row of lines of one page. Pages are listed by the longest row of free lines in them, so that a block comes from where
 * it fits best, and lines that are given back are one with their neighbours at once:
 *
 *      lists:  0   1   2   3   4  ...  9         page:  ██████░░░░███░░░░░████...  longest row: 5
 *                          │       │
 *                          ▼       ▼             block: ┌─ 64 bytes ─┬────────────┬──
 *                         page ►  page                  │     header │ body       │
 *                                  ▼                    └────────────┴────────────┴──
 *                                 page                               ▲ a line of the processor's cache
 *
 * Pieces grow with what they hold together; one that is empty is given back, but for one that is small beside the rest.
 */
#ifndef SW_CODEMAP_BLOCKS_H
#define SW_CODEMAP_BLOCKS_H

#include "common/reclaim.h"

#include <snapwalk/alloc.h>

enum { SW_LINE = 64, SW_PAGE_LINES = 64, SW_ROW_MAX = 9 /* larger blocks come from the allocator */ };

struct sw_piece;

/* used: a bit for each line; those past the end of the piece are. row: of free lines, the longest, at most SW_ROW_MAX.
 */
struct sw_page {
    uint64_t used;
    struct sw_page *next;
    struct sw_page *before;
    struct sw_piece *piece;
    unsigned row;
};

/* lines, used: counts of lines. bytes: what was got from the allocator and not given back. */
struct sw_blocks {
    struct sw_alloc alloc;
    struct sw_page *by_row[SW_ROW_MAX + 1];
    struct sw_piece *idle;
    size_t lines;
    size_t used;
    _Atomic uint64_t bytes;
};

void sw_blocks_init(struct sw_blocks *blocks, const struct sw_alloc *alloc);

/* A block that begins at a line of the processor's cache; null: no memory. Put gives it back. */
void *sw_blocks_get(struct sw_blocks *blocks, size_t size);
void sw_blocks_put(struct sw_blocks *blocks, void *body);

/* What a block is retired by (grace.h), and back. */
struct sw_retired *sw_blocks_retired(void *body);
void *sw_blocks_body(struct sw_retired *retired);

/* Asks for the header and the end of a block that will be given back: a find does not look there. */
static inline void sw_blocks_expect(const void *body)
{
#if defined(__GNUC__)
    __builtin_prefetch((const char *)body - 1, 1);
    __builtin_prefetch((const char *)body + 4 * SW_LINE);
#else
    (void)body;
#endif
}

#endif
