/* Pages of a target's memory that are read once, and again out of a copy. */
#ifndef SW_BASE_PAGES_H
#define SW_BASE_PAGES_H

#include <snapwalk/memory.h>

/*
 * tag: the page's address + 1; 0: the slot is free. turn: of the slots that a page may be in, the first says which one
 * is given away next.
 */
struct sw_page_slot {
    uint64_t tag;
    uint16_t size, turn;
};

/*
 * The caller's memory, read once each until they are forgotten, or make room for others: a page may be in SW_PAGES_WAYS
 * slots.
 *
 * page_bytes  A power of two up to 32768. count  Of slots: a power of two, at least SW_PAGES_WAYS.
 */
enum { SW_PAGES_WAYS = 4 };
struct sw_pages {
    struct sw_memory target;
    uint32_t page_bytes, count;
    struct sw_page_slot *slots;
    uint8_t *bytes;
};

/* What one slot takes: of each of the two arrays. */
#define SW_PAGES_SLOT_BYTES(page_bytes) ((page_bytes) + sizeof(struct sw_page_slot))

/* A reader over the pages; as its function, with the pages as its argument. forget: all pages. */
size_t sw_pages_read(void *pages, uint64_t address, void *to, size_t size);
struct sw_memory sw_pages_memory(struct sw_pages *pages);
void sw_pages_forget(struct sw_pages *pages);

#endif
