/*
 * Pages of the target's memory, each read once: a name takes some 70 small reads, a walk's sources look at the same
 * headers again and again. Knows pages; refuses to know when they may have changed: that is for the caller to say.
 */
#include "base/pages.h"

#include "base/memory.h"

#include <string.h>

static uint32_t slot_of(const struct sw_pages *pages, uint64_t page)
{
    return (uint32_t)((page * UINT64_C(0x9e3779b97f4a7c15)) >> 40) & (pages->slots - 1);
}

/* The slot that holds the page. */
static uint32_t fetch(struct sw_pages *pages, uint64_t page)
{
    const uint32_t slot = slot_of(pages, page);
    if (pages->tags[slot] == page + 1)
        return slot;
    pages->tags[slot] = page + 1;
    pages->sizes[slot] = (uint16_t)sw_memory_read(&pages->target, page, pages->bytes + (size_t)slot * pages->page_bytes,
                                                  pages->page_bytes);
    return slot;
}

/* Nearly every read is of a few bytes of a page that is there. */
static bool read_small(const struct sw_pages *pages, uint64_t address, void *to, size_t size)
{
    const uint64_t within = address & (pages->page_bytes - 1), page = address - within;
    const uint32_t slot = slot_of(pages, page);
    if (pages->tags[slot] != page + 1 || within + size > pages->sizes[slot] || size > pages->page_bytes)
        return false;
    const uint8_t *from = pages->bytes + (size_t)slot * pages->page_bytes + within;
    if (size == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    else
        memcpy(to, from, size);
    return true;
}

size_t sw_pages_read(void *arg, uint64_t address, void *to, size_t size)
{
    struct sw_pages *pages = arg;
    size_t done = 0;
    if (read_small(pages, address, to, size))
        return size;
    while (done < size && address + done >= address) {
        const uint64_t at = address + done, page = at & ~(uint64_t)(pages->page_bytes - 1);
        const size_t within = (size_t)(at - page);
        const uint32_t slot = fetch(pages, page);
        if (within >= pages->sizes[slot]) /* memory that begins within a page, or none */
            return done + sw_memory_read(&pages->target, at, (uint8_t *)to + done, size - done);
        const size_t left = pages->sizes[slot] - within, part = left < size - done ? left : size - done;
        memcpy((uint8_t *)to + done, pages->bytes + (size_t)slot * pages->page_bytes + within, part);
        done += part;
    }
    return done;
}

struct sw_memory sw_pages_memory(struct sw_pages *pages)
{
    return (struct sw_memory){ .read = sw_pages_read, .arg = pages };
}

void sw_pages_forget(struct sw_pages *pages)
{
    memset(pages->tags, 0, pages->slots * sizeof *pages->tags);
}
