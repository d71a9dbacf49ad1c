/*
 * Pieces of code → code map: of which kind they are, whether they go with their module, and what becomes of code that
 * was there before. Knows heaps and images; refuses to know events.
 */
#include "clr/internal.h"

#include "code/images.h"

#include <string.h>

void sw_clr_remove_range(struct sw_clr *clr, uint64_t begin)
{
    if (sw_codemap_remove(clr->codemap, begin) != SW_OK)
        sw_clr_count_failure(clr);
}

static void remove_around(struct sw_clr *clr, uint64_t address)
{
    struct sw_range old;
    if (sw_codemap_find(clr->codemap, address, &old) == SW_OK)
        sw_clr_remove_range(clr, old.begin);
}

/* Removes overlapping ranges: code that was freed without an event, and whose addresses are used again. */
static void make_room(struct sw_clr *clr, const struct sw_range *range)
{
    for (uint64_t at = range->begin; at < range->end; at += 16)
        remove_around(clr, at);
    remove_around(clr, range->end - 1);
}

static void add_range(struct sw_clr *clr, const struct sw_range *range)
{
    struct sw_range there;
    enum sw_status status = sw_codemap_add(clr->codemap, range);
    if (status == SW_E_OVERLAP && sw_codemap_find(clr->codemap, range->begin, &there) == SW_OK &&
        memcmp(&there, range, sizeof there) == 0)
        return;
    if (status == SW_E_OVERLAP) {
        make_room(clr, range);
        status = sw_codemap_add(clr->codemap, range);
    }
    if (status != SW_OK)
        sw_clr_count_failure(clr);
}

/*
 * What is known beforehand of a runtime's table of prepared entries has to give the first precompiled methods that are
 * announced; else the table is looked for, by them.
 */
static void confirm_entries(struct sw_clr *clr, const struct sw_range *range)
{
    enum { TRIES = 16 };
    const struct sw_memory memory = sw_self_memory();
    uint64_t method;
    if (clr->layout_status != SW_OK || !clr->layout.closed || clr->entries_tried >= TRIES)
        return;
    clr->entries_tried++;
    if ((sw_clr_find_entry(&clr->layout, &memory, range->begin, &method) && method == range->id) ||
        sw_clr_learn_entries(&clr->layout, &memory, range->begin, range->id))
        clr->entries_tried = TRIES, atomic_store(&clr->entries_confirmed, true);
    else if (clr->entries_tried == TRIES)
        clr->layout.has_entries = false;
}

/* A runtime that describes its structures says itself where the table is. */
bool sw_clr_needs_searches(const struct sw_clr *clr)
{
    return !clr || clr->layout_status != SW_OK || !clr->layout.has_entries ||
           (clr->layout.closed && !clr->entries_confirmed);
}

static bool is_in_image(struct sw_clr *clr, uint64_t address)
{
    struct sw_image image;
    return sw_images_find(clr->images, address, &image) == SW_OK;
}

/*
 * A composite image is mapped when the first of its modules is loaded, and no event says where: precompiled code that
 * is in no heap and in no image that is known shows that there is one.
 */
static bool is_in_new_image(struct sw_clr *clr, uint64_t address)
{
    if (clr->layout_status != SW_OK)
        return false;
    sw_clr_refresh_images(clr, true);
    return is_in_image(clr, address);
}

/* Adds one region of code of a method or dynamic method. */
void sw_clr_add_code(struct sw_clr *clr, FunctionID function, const COR_PRF_CODE_INFO *code, uint16_t flags)
{
    struct sw_range range = { .begin = code->startAddress,
                              .end = code->startAddress + code->size,
                              .id = function,
                              .kind = SW_KIND_JIT,
                              .unwind = sw_clr_unwind_of(sw_clr_host_system()),
                              .flags = flags };
    const struct sw_clr_heap *heap = sw_clr_known_heap(clr, range.begin);
    if (!heap)
        sw_clr_refresh_images(clr, false);
    const bool is_known = !heap && is_in_image(clr, range.begin);
    if (!heap && !is_known)
        heap = sw_clr_read_heap(clr, range.begin);
    if (heap) {
        range.image = heap->image;
    } else if (is_known || is_in_new_image(clr, range.begin)) {
        range.kind = SW_KIND_NGEN;
        range.unwind = SW_UNWIND_AUTO;
        confirm_entries(clr, &range);
    }
    add_range(clr, &range);
}

void sw_clr_remove_code(struct sw_clr *clr, FunctionID function, const COR_PRF_CODE_INFO *code)
{
    struct sw_range range;
    sw_clr_forget_heap(clr, code->startAddress);
    if (sw_codemap_find(clr->codemap, code->startAddress, &range) == SW_OK && range.id == function)
        sw_clr_remove_range(clr, range.begin);
}
