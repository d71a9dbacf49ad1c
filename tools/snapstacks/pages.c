/* Keeps pages by their address, each in one place; refuses to know whose they are. */
#include "pages.h"

#include "refuse.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 4096, PAGES = 1 << 10 };

struct pages {
    uint64_t numbers[PAGES]; /* plus one; 0: none is here */
    uint8_t bytes[PAGES][PAGE_BYTES];
};

struct pages *pages_create(void)
{
    return must_get(1, sizeof(struct pages), "pages");
}

void pages_destroy(struct pages *pages)
{
    free(pages);
}

void pages_forget(struct pages *pages)
{
    memset(pages->numbers, 0, sizeof pages->numbers);
}

/* Null: the page cannot be read as a whole. */
static const uint8_t *find_page(struct pages *pages, const struct sw_memory *memory, uint64_t number)
{
    const size_t at = (size_t)((number ^ number >> 10) % PAGES);
    if (pages->numbers[at] == number + 1)
        return pages->bytes[at];
    pages->numbers[at] = 0;
    if (memory->read(memory->arg, number * PAGE_BYTES, pages->bytes[at], PAGE_BYTES) != PAGE_BYTES)
        return NULL;
    pages->numbers[at] = number + 1;
    return pages->bytes[at];
}

size_t pages_read(struct pages *pages, const struct sw_memory *memory, uint64_t address, void *to, size_t size)
{
    const size_t offset = (size_t)(address % PAGE_BYTES);
    const uint8_t *page = offset + size <= PAGE_BYTES ? find_page(pages, memory, address / PAGE_BYTES) : NULL;
    if (!page)
        return memory->read(memory->arg, address, to, size);
    memcpy(to, page + offset, size);
    return size;
}
