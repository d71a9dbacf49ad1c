/* Pages of a process that were read since a capture: small reads cost no system call each. */
#ifndef SW_TARGET_PAGE_CACHE_H
#define SW_TARGET_PAGE_CACHE_H

#include "base/pages.h"

#include <snapwalk/alloc.h>

#include <stdatomic.h>

/* target: what is read, set by the owner. The rest all zero: empty. pages.slots null: nothing is kept. */
struct sw_page_cache {
    struct sw_memory target;
    struct sw_pages pages;
    atomic_bool busy;
};

/*
 * begin: forgets all pages; what is read from now on is kept, if there is memory for it. forget: all pages.
 * drop: gives the memory back.
 *
 * read, memory: reads as `target` does, by the pages; and a reader that does so, null without a cache. Any number of
 * threads may read: one of them by the pages, the others as if there were none. begin, forget and drop: none may read
 * meanwhile.
 */
void sw_page_cache_begin(struct sw_page_cache *cache, const struct sw_alloc *alloc);
void sw_page_cache_forget(struct sw_page_cache *cache);
void sw_page_cache_drop(struct sw_page_cache *cache, const struct sw_alloc *alloc);
size_t sw_page_cache_read(void *cache, uint64_t address, void *to, size_t size);
struct sw_memory sw_page_cache_memory(struct sw_page_cache *cache);

#endif
