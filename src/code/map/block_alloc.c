/*
 * Finds, takes and frees rows of lines in slabs. Knows bits and lists; refuses to know what the blocks hold and who
 * still reads them (common/reclaim.h). Every step is bounded, except that a freed slab takes all its pages off their
 * lists.
 */
#include "code/map/block_alloc.h"

#include <stddef.h>

enum { SLAB_BYTES = 2 << 20, SLAB_LINES_FIRST = 16, GROWTH = 16, GOT_ALIGNED = _Alignof(void *) };

struct sw_slab {
    void *first; /* the first line */
    size_t bytes;
    size_t lines;
    size_t used;
    size_t page_count;
    struct sw_page pages[];
};

/* home: the page; for a large block, the memory that the allocator gave. retired.size: of the whole block. */
struct header {
    void *home;
    struct sw_retired retired;
};

enum {
    SLAB_LINES_MAX =
        (SLAB_BYTES - sizeof(struct sw_slab) - SW_LINE) / (SW_LINE + sizeof(struct sw_page) / SW_PAGE_LINES + 1)
};

/* Free lines are poisoned like memory after free(), so that the address sanitizer reports any access. */
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

/* The position of a header in `got` such that a cache line begins behind it. */
static char *before_line(void *got)
{
    const uintptr_t least = (uintptr_t)got + sizeof(struct header);
    return (char *)got + (0 - least) % SW_LINE;
}

/* ------------------------------------------------------------------ rows of lines in a page */

/* The lines at which a row of `count` free lines begins. */
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

/* ------------------------------------------------------------------ slabs */

static char *lines_of(const struct sw_page *page)
{
    const size_t number = (size_t)(page - page->slab->pages);
    return (char *)page->slab->first + number * SW_PAGE_LINES * SW_LINE;
}

static bool add_slab(struct sw_blocks *blocks)
{
    size_t lines = blocks->lines / GROWTH + SLAB_LINES_FIRST;
    lines = lines < SLAB_LINES_MAX ? lines : SLAB_LINES_MAX;
    const size_t pages = (lines + SW_PAGE_LINES - 1) / SW_PAGE_LINES;
    const size_t head = sizeof(struct sw_slab) + pages * sizeof(struct sw_page);
    const size_t bytes = lines < SLAB_LINES_MAX ? head + SW_LINE + lines * SW_LINE : SLAB_BYTES;
    struct sw_slab *slab = from_allocator(blocks, bytes);
    if (!slab)
        return false;
    *slab = (struct sw_slab){ before_line((char *)slab + head), bytes, lines, 0, pages };
    FORBID(slab->first, lines * SW_LINE);
    for (size_t i = pages; i-- > 0;) {
        struct sw_page *page = &slab->pages[i];
        const size_t left = lines - i * SW_PAGE_LINES;
        page->slab = slab;
        page->used = left < SW_PAGE_LINES ? UINT64_MAX << left : 0;
        page->row = longest_row(page->used);
        list(blocks, page);
    }
    blocks->lines += lines;
    return true;
}

static void drop_idle(struct sw_blocks *blocks)
{
    struct sw_slab *slab = blocks->idle;
    blocks->idle = NULL;
    for (size_t i = 0; i < slab->page_count; i++)
        unlist(blocks, &slab->pages[i]);
    blocks->lines -= slab->lines;
    ALLOW(slab->first, slab->lines * SW_LINE);
    to_allocator(blocks, slab, slab->bytes);
}

/* An empty slab is kept for its next use while it is small compared with the lines in use. */
static void note_empty(struct sw_blocks *blocks, struct sw_slab *slab)
{
    if (slab->used == 0) {
        if (blocks->idle)
            drop_idle(blocks);
        blocks->idle = slab;
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

static struct header *take_block(struct sw_blocks *blocks, unsigned count)
{
    struct sw_page *page = page_with(blocks, count);
    if (!page && (!add_slab(blocks) || !(page = page_with(blocks, count))))
        return NULL;
    const unsigned first = (unsigned)__builtin_ctzll(rows_of(page->used, count));
    struct header *header = (struct header *)(void *)(lines_of(page) + first * SW_LINE);
    set_used(blocks, page, page->used | row_mask(first, count));
    page->slab->used += count;
    blocks->used += count;
    if (blocks->idle == page->slab)
        blocks->idle = NULL;
    ALLOW(header, count * SW_LINE);
    header->home = page;
    return header;
}

static void put_block(struct sw_blocks *blocks, struct header *header)
{
    struct sw_page *page = header->home;
    const unsigned first = (unsigned)(((char *)header - lines_of(page)) / SW_LINE);
    const unsigned count = (unsigned)(header->retired.size / SW_LINE);
    FORBID(header, count * SW_LINE);
    set_used(blocks, page, page->used & ~row_mask(first, count));
    page->slab->used -= count;
    blocks->used -= count;
    note_empty(blocks, page->slab);
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
    struct header *header =
        is_large(whole) ? take_large(blocks, whole) : take_block(blocks, (unsigned)(whole / SW_LINE));
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
        put_block(blocks, header);
}
