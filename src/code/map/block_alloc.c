/*
 * Blocks out of pieces: rows of free lines found, taken and given back. Knows bits and lists; refuses to know what the
 * blocks hold and who still reads them (grace.h). Every step is bounded but one: a piece that is given back takes its
 * pages off their lists.
 */
#include "code/map/block_alloc.h"

#include <stddef.h>

enum { PIECE_BYTES = 2 << 20, PIECE_LINES_FIRST = 16, GROWTH = 16, GOT_ALIGNED = _Alignof(void *) };

struct sw_piece {
    void *first; /* line */
    size_t bytes;
    size_t lines;
    size_t used;
    size_t page_count;
    struct sw_page pages[];
};

/* home: the page; of a block that has none, what the allocator gave. retired.size: of the whole block. */
struct header {
    void *home;
    struct sw_retired retired;
};

enum {
    PIECE_LINES_MOST =
        (PIECE_BYTES - sizeof(struct sw_piece) - SW_LINE) / (SW_LINE + sizeof(struct sw_page) / SW_PAGE_LINES + 1)
};

/* What is free is as forbidden to touch as what free() was given, so that the sanitizer sees who does. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FORBIDS 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(FORBIDS)
void __asan_poison_memory_region(void const volatile *at, size_t size);
void __asan_unpoison_memory_region(void const volatile *at, size_t size);
#define FORBID(at, size) __asan_poison_memory_region(at, size)
#define ALLOW(at, size)  __asan_unpoison_memory_region(at, size)
#else
#define FORBID(at, size) ((void)(at), (void)(size))
#define ALLOW(at, size)  ((void)(at), (void)(size))
#endif

static struct header *header_of(void *body)
{
    return (struct header *)body - 1;
}

struct sw_retired *sw_blocks_retired(void *body)
{
    return &header_of(body)->retired;
}

void *sw_blocks_body(struct sw_retired *retired)
{
    return (struct header *)(void *)((char *)retired - offsetof(struct header, retired)) + 1;
}

void sw_blocks_init(struct sw_blocks *blocks, const struct sw_alloc *alloc)
{
    blocks->alloc = *alloc;
    for (unsigned row = 0; row <= SW_ROW_MAX; row++)
        blocks->by_row[row] = NULL;
    blocks->idle = NULL;
    blocks->lines = blocks->used = 0;
    atomic_init(&blocks->bytes, 0);
}

static void *from_allocator(struct sw_blocks *blocks, size_t size)
{
    void *got = blocks->alloc.get(blocks->alloc.arg, size);
    if (got)
        atomic_fetch_add_explicit(&blocks->bytes, size, memory_order_relaxed);
    return got;
}

static void to_allocator(struct sw_blocks *blocks, void *got, size_t size)
{
    blocks->alloc.put(blocks->alloc.arg, got, size);
    atomic_fetch_sub_explicit(&blocks->bytes, size, memory_order_relaxed);
}

/* Where in `got` a header stands so that a cache line begins behind it. */
static char *before_line(void *got)
{
    const uintptr_t least = (uintptr_t)got + sizeof(struct header);
    return (char *)got + (0 - least) % SW_LINE;
}

/* ------------------------------------------------------------------ rows of lines in a page */

/* The lines that begin a row of `count` free ones. */
static uint64_t rows_of(uint64_t used, unsigned count)
{
    uint64_t begins = ~used;
    for (unsigned i = 1; i < count; i++)
        begins &= begins >> 1;
    return begins;
}

static unsigned longest_row(uint64_t used)
{
    unsigned row = 0;
    for (uint64_t begins = ~used; begins && row < SW_ROW_MAX; begins &= begins >> 1)
        row++;
    return row;
}

static uint64_t row_mask(unsigned first, unsigned count)
{
    return ((UINT64_C(1) << count) - 1) << first;
}

static void list(struct sw_blocks *blocks, struct sw_page *page)
{
    struct sw_page **head = &blocks->by_row[page->row];
    page->before = NULL;
    page->next = *head;
    if (*head)
        (*head)->before = page;
    *head = page;
}

static void unlist(struct sw_blocks *blocks, struct sw_page *page)
{
    if (page->next)
        page->next->before = page->before;
    if (page->before)
        page->before->next = page->next;
    else
        blocks->by_row[page->row] = page->next;
}

static void set_used(struct sw_blocks *blocks, struct sw_page *page, uint64_t used)
{
    const unsigned row = longest_row(used);
    page->used = used;
    if (row == page->row)
        return;
    unlist(blocks, page);
    page->row = row;
    list(blocks, page);
}

/* ------------------------------------------------------------------ pieces */

static char *lines_of(const struct sw_page *page)
{
    const size_t number = (size_t)(page - page->piece->pages);
    return (char *)page->piece->first + number * SW_PAGE_LINES * SW_LINE;
}

static bool add_piece(struct sw_blocks *blocks)
{
    size_t lines = blocks->lines / GROWTH + PIECE_LINES_FIRST;
    lines = lines < PIECE_LINES_MOST ? lines : PIECE_LINES_MOST;
    const size_t pages = (lines + SW_PAGE_LINES - 1) / SW_PAGE_LINES;
    const size_t head = sizeof(struct sw_piece) + pages * sizeof(struct sw_page);
    const size_t bytes = lines < PIECE_LINES_MOST ? head + SW_LINE + lines * SW_LINE : PIECE_BYTES;
    struct sw_piece *piece = from_allocator(blocks, bytes);
    if (!piece)
        return false;
    *piece = (struct sw_piece){ before_line((char *)piece + head), bytes, lines, 0, pages };
    FORBID(piece->first, lines * SW_LINE);
    for (size_t i = pages; i-- > 0;) {
        struct sw_page *page = &piece->pages[i];
        const size_t left = lines - i * SW_PAGE_LINES;
        page->piece = piece;
        page->used = left < SW_PAGE_LINES ? UINT64_MAX << left : 0;
        page->row = longest_row(page->used);
        list(blocks, page);
    }
    blocks->lines += lines;
    blocks->idle = piece;
    return true;
}

static void drop_idle(struct sw_blocks *blocks)
{
    struct sw_piece *piece = blocks->idle;
    blocks->idle = NULL;
    for (size_t i = 0; i < piece->page_count; i++)
        unlist(blocks, &piece->pages[i]);
    blocks->lines -= piece->lines;
    ALLOW(piece->first, piece->lines * SW_LINE);
    to_allocator(blocks, piece, piece->bytes);
}

/* An empty piece waits for its next use while it is small beside the others: it may come at once. */
static void note_empty(struct sw_blocks *blocks, struct sw_piece *piece)
{
    if (piece->used == 0) {
        if (blocks->idle)
            drop_idle(blocks);
        blocks->idle = piece;
    }
    if (blocks->idle && blocks->idle->lines > blocks->used)
        drop_idle(blocks);
}

/* ------------------------------------------------------------------ blocks */

static struct sw_page *page_with(struct sw_blocks *blocks, unsigned count)
{
    for (unsigned row = count; row <= SW_ROW_MAX; row++)
        if (blocks->by_row[row])
            return blocks->by_row[row];
    return NULL;
}

static struct header *take(struct sw_blocks *blocks, unsigned count)
{
    struct sw_page *page = page_with(blocks, count);
    if (!page && (!add_piece(blocks) || !(page = page_with(blocks, count))))
        return NULL;
    const unsigned first = (unsigned)__builtin_ctzll(rows_of(page->used, count));
    struct header *header = (struct header *)(void *)(lines_of(page) + first * SW_LINE);
    set_used(blocks, page, page->used | row_mask(first, count));
    page->piece->used += count;
    blocks->used += count;
    if (blocks->idle == page->piece)
        blocks->idle = NULL;
    ALLOW(header, count * SW_LINE);
    header->home = page;
    return header;
}

static void give(struct sw_blocks *blocks, struct header *header)
{
    struct sw_page *page = header->home;
    const unsigned first = (unsigned)(((char *)header - lines_of(page)) / SW_LINE);
    const unsigned count = (unsigned)(header->retired.size / SW_LINE);
    FORBID(header, count * SW_LINE);
    set_used(blocks, page, page->used & ~row_mask(first, count));
    page->piece->used -= count;
    blocks->used -= count;
    note_empty(blocks, page->piece);
}

static struct header *take_large(struct sw_blocks *blocks, size_t size)
{
    void *got = from_allocator(blocks, size);
    struct header *header = got ? (struct header *)(void *)before_line(got) : NULL;
    if (header)
        header->home = got;
    return header;
}

static bool is_large(size_t whole)
{
    return whole > SW_ROW_MAX * SW_LINE;
}

void *sw_blocks_get(struct sw_blocks *blocks, size_t size)
{
    size_t whole = (sizeof(struct header) + size + SW_LINE - 1) / SW_LINE * SW_LINE;
    if (is_large(whole))
        whole = sizeof(struct header) + size + SW_LINE - GOT_ALIGNED;
    struct header *header = is_large(whole) ? take_large(blocks, whole) : take(blocks, (unsigned)(whole / SW_LINE));
    if (!header)
        return NULL;
    header->retired = (struct sw_retired){ NULL, whole };
    return header + 1;
}

void sw_blocks_put(struct sw_blocks *blocks, void *body)
{
    struct header *header = header_of(body);
    if (is_large(header->retired.size))
        to_allocator(blocks, header->home, header->retired.size);
    else
        give(blocks, header);
}
