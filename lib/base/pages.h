/* Pages of a target's memory that are read once, and again out of a copy. */
#ifndef SW_BASE_PAGES_H
#define SW_BASE_PAGES_H

#include <snapwalk/memory.h>

/*
 * The caller's memory, read once each until they are forgotten. tags: page address + 1; 0: the slot is free.
 *
 * page_bytes  A power of two up to 32768. slots  A power of two.
 */
struct sw_pages {
    struct sw_memory target;
    uint32_t page_bytes, slots;
    uint64_t *tags;
    uint16_t *sizes;
    uint8_t *bytes;
};

/* What one slot takes: of each of the three arrays. */
#define SW_PAGES_SLOT_BYTES(page_bytes) ((page_bytes) + sizeof(uint64_t) + sizeof(uint16_t))

/* A reader over the pages; as its function, with the pages as its argument. forget: all pages. */
size_t sw_pages_read(void *pages, uint64_t address, void *to, size_t size);
struct sw_memory sw_pages_memory(struct sw_pages *pages);
void sw_pages_forget(struct sw_pages *pages);

#endif
