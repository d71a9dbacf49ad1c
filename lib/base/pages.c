/*
 * Pages of the target's memory, each read once: a name takes some 70 small reads, a walk's sources look at the same
 * headers again and again. Knows pages; refuses to know when they may have changed: that is for the caller to say.
 */
#include "base/pages.h"

#include "base/memory.h"

#include <string.h>

static struct sw_page_slot *first_of(const struct sw_pages *pages, uint64_t page)
{
    return &pages->slots[(page * UINT64_C(0x9e3779b97f4a7c15)) >> 40 & (pages->count - SW_PAGES_WAYS)];
}

/* Among the slots that a page may be in, that which holds it, or null. */
static struct sw_page_slot *find(struct sw_page_slot *first, uint64_t page)
{
    for (unsigned way = 0; way < SW_PAGES_WAYS; way++)
        if (first[way].tag == page + 1)
            return first + way;
    return NULL;
}

static uint8_t *bytes_of(const struct sw_pages *pages, const struct sw_page_slot *slot)
{
    return pages->bytes + (size_t)(slot - pages->slots) * pages->page_bytes;
}

/* The slot that holds the page. */
static const struct sw_page_slot *fetch(struct sw_pages *pages, uint64_t page)
{
    struct sw_page_slot *const first = first_of(pages, page);
    struct sw_page_slot *slot = find(first, page);
    if (slot)
        return slot;
    slot = first + first->turn++ % SW_PAGES_WAYS;
    slot->tag = page + 1;
    slot->size = (uint16_t)sw_memory_read(&pages->target, page, bytes_of(pages, slot), pages->page_bytes);
    return slot;
}

/* Without a call where it is a number. */
static inline void copy_few(void *to, const void *from, size_t size)
{
    if (size == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    else if (size == sizeof(uint32_t))
        memcpy(to, from, sizeof(uint32_t));
    else if (size == sizeof(uint16_t))
        memcpy(to, from, sizeof(uint16_t));
    else if (size == 1)
        memcpy(to, from, 1);
    else
        memcpy(to, from, size);
}

/* Nearly every read is of a few bytes of a page that is there. */
static bool read_small(const struct sw_pages *pages, uint64_t address, void *to, size_t size)
{
    const uint64_t within = address & (pages->page_bytes - 1), page = address - within;
    const struct sw_page_slot *const slot = find(first_of(pages, page), page);
    if (!slot || within + size > slot->size || size > pages->page_bytes)
        return false;
    copy_few(to, bytes_of(pages, slot) + within, size);
    return true;
}

/* Apart from the usual case, which is to need few registers. */
__attribute__((noinline)) static size_t read_parts(struct sw_pages *pages, uint64_t address, void *to, size_t size)
{
    size_t done = 0;
    while (done < size && address + done >= address) {
        const uint64_t at = address + done, page = at & ~(uint64_t)(pages->page_bytes - 1);
        const size_t within = (size_t)(at - page);
        const struct sw_page_slot *const slot = fetch(pages, page);
        if (within >= slot->size) /* memory that begins within a page, or none */
            return done + sw_memory_read(&pages->target, at, (uint8_t *)to + done, size - done);
        const size_t left = slot->size - within, part = left < size - done ? left : size - done;
        memcpy((uint8_t *)to + done, bytes_of(pages, slot) + within, part);
        done += part;
    }
    return done;
}

size_t sw_pages_read(void *pages, uint64_t address, void *to, size_t size)
{
    return read_small(pages, address, to, size) ? size : read_parts(pages, address, to, size);
}

struct sw_memory sw_pages_memory(struct sw_pages *pages)
{
    return (struct sw_memory){ .read = sw_pages_read, .arg = pages };
}

void sw_pages_forget(struct sw_pages *pages)
{
    memset(pages->slots, 0, pages->count * sizeof *pages->slots);
}
