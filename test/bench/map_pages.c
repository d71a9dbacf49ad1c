/* A hash of pages: for each page that a range touches a small sorted array of the ranges there. Open addressing. */
#include "maps.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_BITS = 12, ROOM = 16 };

static struct page {
    uint64_t page;
    uint32_t count, room;
    struct sw_range *ranges;
} * pages;
static size_t mask, held;

static struct page *slot_of(uint64_t page)
{
    size_t i = (size_t)(page * UINT64_C(0x9e3779b97f4a7c15) >> 20) & mask;
    while (pages[i].page && pages[i].page != page)
        i = (i + 1) & mask;
    return &pages[i];
}

/* Where in the page the first range stands that ends behind `address`. */
static uint32_t place_of(const struct page *page, uint64_t address)
{
    uint32_t i = 0;
    while (i < page->count && page->ranges[i].end <= address)
        i++;
    return i;
}

static uint64_t find(uint64_t address)
{
    const struct page *page = slot_of(address >> PAGE_BITS);
    const uint32_t i = place_of(page, address);
    return i < page->count && page->ranges[i].begin <= address ? page->ranges[i].id + page->ranges[i].begin : 0;
}

static void grow(struct page *page)
{
    const uint32_t room = page->room ? page->room * 2 : ROOM;
    struct sw_range *ranges = get(room * sizeof *ranges);
    if (page->count)
        memcpy(ranges, page->ranges, page->count * sizeof *ranges);
    free(page->ranges);
    held += (room - page->room) * sizeof *ranges;
    page->ranges = ranges;
    page->room = room;
}

static void add(const struct sw_range *range)
{
    for (uint64_t at = range->begin >> PAGE_BITS; at <= (range->end - 1) >> PAGE_BITS; at++) {
        struct page *page = slot_of(at);
        page->page = at;
        if (page->count == page->room)
            grow(page);
        const uint32_t i = place_of(page, range->begin);
        memmove(&page->ranges[i + 1], &page->ranges[i], (page->count++ - i) * sizeof *range);
        page->ranges[i] = *range;
    }
}

/* A page that has no range left keeps its slot. */
static void take(const struct sw_range *range)
{
    for (uint64_t at = range->begin >> PAGE_BITS; at <= (range->end - 1) >> PAGE_BITS; at++) {
        struct page *page = slot_of(at);
        const uint32_t i = place_of(page, range->begin);
        memmove(&page->ranges[i], &page->ranges[i + 1], (--page->count - i) * sizeof *range);
    }
}

static void fill(const struct sw_range *ranges, size_t n)
{
    const uint64_t touched = ((ranges[n - 1].end - ranges[0].begin) >> PAGE_BITS) + 2;
    for (mask = 1; mask < 2 * touched; mask = mask * 2 + 1)
        ;
    pages = get((mask + 1) * sizeof *pages);
    held = (mask + 1) * sizeof *pages;
    for (size_t i = 0; i < n; i++)
        add(&ranges[i]);
}

static size_t bytes(void)
{
    return held;
}

static void clear(void)
{
    for (size_t i = 0; i <= mask; i++)
        free(pages[i].ranges);
    free(pages);
}

const struct map map_pages = { "hash of pages", fill, find, add, take, bytes, clear };
