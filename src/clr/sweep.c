/*
 * Collectible code is freed with its module, some time later and without an event for each method. So after a module
 * was unloaded every such range is looked up in the runtime's own map. At most a twentieth of the time is spent on
 * that, and the lock is not held while the runtime's structures are read: events do not wait.
 */
#include "clr/internal.h"

#include "base/memory.h"

#include <string.h>

/* How long after the last unloading something may still be freed. */
enum { SPARE_FACTOR = 20, LATER_NS = 100000000, SETTLED_NS = 1000000000 };

/* ---- the runtime's memory, page by page ---- */

/*
 * Copies of pages, made since the sweep began. What a sweep looks up was there before that, so a copy is as good as the
 * page: it shows the code, or that the code is gone.
 */
enum { PAGE = 4096, PAGES = 16 };
struct pages {
    struct sw_memory memory;
    uint64_t at[PAGES]; /* 0: none */
    uint8_t bytes[PAGES][PAGE];
};

static const uint8_t *page_at(struct pages *pages, uint64_t page)
{
    const unsigned place = page / PAGE % PAGES;
    if (pages->at[place] == page)
        return pages->bytes[place];
    const bool is_whole = sw_memory_read(&pages->memory, page, pages->bytes[place], PAGE) == PAGE;
    pages->at[place] = is_whole ? page : 0;
    return is_whole ? pages->bytes[place] : NULL;
}

static size_t read_by_page(void *arg, uint64_t address, void *to, size_t size)
{
    struct pages *pages = arg;
    const uint64_t offset = address % PAGE;
    const uint8_t *page = address >= PAGE && size <= PAGE - offset ? page_at(pages, address - offset) : NULL;
    if (!page)
        return sw_memory_read(&pages->memory, address, to, size);
    memcpy(to, page + offset, size);
    return size;
}

/* ---- what there is ---- */

/* Collectible code that is known. ranges: null while they are counted. */
struct known {
    struct code {
        uint64_t begin, id;
    } * ranges;
    size_t count, room;
};

static bool gather(void *arg, const struct sw_range *range)
{
    struct known *known = arg;
    if (range->kind != SW_KIND_JIT || range->image == 0)
        return true;
    if (known->ranges && known->count == known->room)
        return false;
    if (known->ranges)
        known->ranges[known->count] = (struct code){ range->begin, range->id };
    known->count++;
    return true;
}

static bool is_there(const struct sw_clr *clr, const struct sw_memory *memory, const struct code *code)
{
    struct sw_range there;
    return sw_clr_find_code(&clr->layout, memory, code->begin, &there) && there.begin == code->begin &&
           there.id == code->id;
}

/* Unless it has become other code meanwhile. */
static void remove_freed(struct sw_clr *clr, const struct code *code)
{
    struct sw_range there;
    sw_clr_host_lock(clr->host);
    if (sw_codemap_find(clr->codemap, code->begin, &there) == SW_OK && there.begin == code->begin &&
        there.id == code->id && there.kind == SW_KIND_JIT && there.image != 0)
        sw_clr_remove_range(clr, code->begin);
    sw_clr_host_unlock(clr->host);
}

static void look_up(struct sw_clr *clr, const struct known *known)
{
    struct pages *pages = clr->alloc.get(clr->alloc.arg, sizeof *pages);
    if (!pages)
        return;
    memset(pages->at, 0, sizeof pages->at);
    pages->memory = sw_self_memory();
    const struct sw_memory memory = { .read = read_by_page, .arg = pages };
    for (size_t i = 0; i < known->count; i++)
        if (!is_there(clr, &memory, &known->ranges[i]))
            remove_freed(clr, &known->ranges[i]);
    clr->alloc.put(clr->alloc.arg, pages, sizeof *pages);
}

/* A list of the collectible ranges; false: there are none, or no memory. */
static bool list(struct sw_clr *clr, struct known *known)
{
    *known = (struct known){ 0 };
    sw_clr_host_lock(clr->host);
    bool is_made = sw_codemap_each(clr->codemap, gather, known) == SW_OK && known->count != 0;
    known->room = known->count;
    known->count = 0;
    known->ranges = is_made ? clr->alloc.get(clr->alloc.arg, known->room * sizeof *known->ranges) : NULL;
    is_made = known->ranges && sw_codemap_each(clr->codemap, gather, known) == SW_OK;
    sw_clr_host_unlock(clr->host);
    return is_made;
}

static void sweep(struct sw_clr *clr)
{
    struct known known;
    if (list(clr, &known))
        look_up(clr, &known);
    if (known.ranges)
        clr->alloc.put(clr->alloc.arg, known.ranges, known.room * sizeof *known.ranges);
}

void sw_clr_sweep(struct sw_clr *clr)
{
    const uint64_t begun = sw_clr_host_now_ns();
    const uint64_t unloaded = atomic_load(&clr->unloaded_at), from = atomic_load(&clr->sweep_from);
    if (clr->layout_status != SW_OK || unloaded == 0 || begun < from || atomic_exchange(&clr->is_sweeping, true))
        return;
    sweep(clr);
    const uint64_t now = sw_clr_host_now_ns();
    uint64_t settled = unloaded;
    if (begun - unloaded > SETTLED_NS)
        (void)atomic_compare_exchange_strong(&clr->unloaded_at, &settled, 0);
    atomic_store(&clr->sweep_from, now + (now - begun) * SPARE_FACTOR + LATER_NS);
    atomic_store(&clr->is_sweeping, false);
}
