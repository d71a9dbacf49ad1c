/*
 * Lets several threads read by one set of pages, which comes out of an allocator. Knows nothing of when what is kept
 * has become old: whoever owns the pages forgets them then.
 */
#include "target/page_cache.h"

enum { PAGE_BYTES = 4096, SLOTS = 256 };

static const size_t block_bytes = (size_t)SLOTS * SW_PAGES_SLOT_BYTES(PAGE_BYTES);

void sw_page_cache_forget(struct sw_page_cache *cache)
{
    if (cache->pages.slots)
        sw_pages_forget(&cache->pages);
}

static void create(struct sw_page_cache *cache, const struct sw_alloc *alloc)
{
    uint8_t *block = alloc->get(alloc->arg, block_bytes);
    if (!block)
        return;
    cache->pages = (struct sw_pages){ .target = cache->target,
                                      .page_bytes = PAGE_BYTES,
                                      .count = SLOTS,
                                      .slots = (void *)block,
                                      .bytes = block + SLOTS * sizeof(struct sw_page_slot) };
}

void sw_page_cache_begin(struct sw_page_cache *cache, const struct sw_alloc *alloc)
{
    if (!cache->pages.slots)
        create(cache, alloc);
    sw_page_cache_forget(cache);
}

void sw_page_cache_drop(struct sw_page_cache *cache, const struct sw_alloc *alloc)
{
    if (cache->pages.slots)
        alloc->put(alloc->arg, cache->pages.slots, block_bytes);
    cache->pages.slots = NULL;
}

size_t sw_page_cache_read(void *arg, uint64_t address, void *to, size_t size)
{
    struct sw_page_cache *cache = arg;
    const struct sw_memory *target = &cache->target;
    const bool is_kept = cache->pages.slots && size <= PAGE_BYTES;
    if (!is_kept || atomic_exchange_explicit(&cache->busy, true, memory_order_acquire))
        return target->read(target->arg, address, to, size);
    const size_t done = sw_pages_read(&cache->pages, address, to, size);
    atomic_store_explicit(&cache->busy, false, memory_order_release);
    return done;
}

struct sw_memory sw_page_cache_memory(struct sw_page_cache *cache)
{
    return (struct sw_memory){ .read = cache ? sw_page_cache_read : NULL, .arg = cache };
}
