/*
 * The set of images: a sorted array that is replaced, never changed, but that rows may be put behind the last one.
 * Readers take no lock. An old array, and the images that were in it and are no more, are freed when no reader can see
 * them any more (common/reclaim.h). Knows addresses and entries; refuses to know how they change (images_change.c),
 * files, formats and operating systems (src/target/linux/images.c).
 */
#include "base/hot.h"
#include "code/images_set.h"

#include "common/alloc.h"

#include <snapwalk/clr_names.h>

#include <string.h>

void sw_images_set_staying(struct sw_images *images, uint64_t address)
{
    images->staying = address;
}

uint64_t sw_images_get_staying(const struct sw_images *images)
{
    return images->staying;
}

static void release_block(void *arg, struct sw_retired *retired)
{
    struct sw_images *images = arg;
    struct sw_image_block *block = (struct sw_image_block *)retired;
    for (struct sw_image_entry *next, *entry = block->dropped; entry; entry = next) {
        next = entry->next;
        sw_images_discard(images, entry);
    }
    images->alloc.put(images->alloc.arg, block, retired->size);
}

enum sw_status sw_images_create(const struct sw_alloc *alloc, struct sw_images **out)
{
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    if (!out || !sw_alloc_usable(alloc))
        return SW_E_ARGUMENT;
    struct sw_images *images = from.get(from.arg, sizeof *images);
    if (!images)
        return SW_E_NO_MEMORY;
    memset(images, 0, sizeof *images);
    images->alloc = from;
    atomic_init(&images->current, NULL);
    atomic_init(&images->spans, NULL);
    for (unsigned piece = 0; piece <= SW_IMAGE_PIECES; piece++)
        atomic_init(&images->changes[piece], 1);
    atomic_flag_clear(&images->writer);
    sw_reclaim_init(&images->reclaim, release_block, images);
    *out = images;
    return SW_OK;
}

void sw_images_skip_methods(struct sw_images *images)
{
    if (images)
        images->without_methods = true;
}

bool sw_images_has_methods(const struct sw_images *images)
{
    return !images->without_methods;
}

void sw_images_destroy(struct sw_images *images)
{
    if (!images)
        return;
    const struct sw_alloc to = images->alloc;
    struct sw_image_set *set = atomic_load(&images->current);
    for (size_t i = 0; i < sw_image_set_count(set); i++)
        sw_images_discard(images, set->rows[i].entry);
    struct sw_image_spans *spans = atomic_load(&images->spans);
    if (set)
        sw_reclaim_retire(&images->reclaim, &set->block.retired);
    if (spans)
        sw_reclaim_retire(&images->reclaim, &spans->block.retired);
    sw_reclaim_flush(&images->reclaim);
    sw_originals_drop_unused(&images->originals, &to);
    to.put(to.arg, images, sizeof *images);
}

/* Readers change only the count of readers. */
static struct sw_reclaim *reclaim_of(const struct sw_images *images)
{
    return &((struct sw_images *)(uintptr_t)images)->reclaim;
}

void sw_images_enter(const struct sw_images *images, struct sw_section *section)
{
    if (images)
        sw_reclaim_enter(reclaim_of(images), section);
}

void sw_images_leave(const struct sw_images *images, struct sw_section *section)
{
    if (images)
        sw_reclaim_leave(reclaim_of(images), section);
}

const struct sw_image_entry *sw_images_entry(const struct sw_images *images, uint64_t address)
{
    const struct sw_image_set *set = images ? atomic_load(&images->current) : NULL;
    const size_t count = sw_image_set_count(set), at = sw_image_set_search(set, count, address);
    return at < count && set->rows[at].begin <= address ? set->rows[at].entry : NULL;
}

bool sw_image_is_code(const struct sw_image_entry *entry, uint64_t address)
{
    if (entry->info.is_pe)
        return sw_pe_is_code(&entry->pe, (uint32_t)(address - entry->pe.bytes.address));
    return address >= entry->code_begin && address < entry->code_end;
}

enum sw_span_kind sw_images_span(const struct sw_images *images, uint64_t address, bool *is_mapped)
{
    const struct sw_image_spans *spans = images ? atomic_load(&images->spans) : NULL;
    *is_mapped = spans != NULL;
    if (!spans)
        return SW_SPAN_UNKNOWN;
    const size_t at = sw_intervals_above(spans->rows, sizeof *spans->rows, spans->count, address);
    return at < spans->count && spans->rows[at].begin <= address ? spans->rows[at].kind : SW_SPAN_UNKNOWN;
}

uint64_t sw_images_generation(const struct sw_images *images)
{
    return images ? atomic_load(&images->changes[SW_IMAGE_PIECES]) : 0;
}

SW_HOT const _Atomic uint64_t *sw_images_changes(const struct sw_images *images)
{
    static const _Atomic uint64_t never[SW_IMAGE_PIECES + 1];
    return images ? images->changes : never;
}

enum sw_status sw_images_find(const struct sw_images *images, uint64_t address, struct sw_image *image)
{
    if (!images || !image)
        return SW_E_ARGUMENT;
    struct sw_section section;
    sw_images_enter(images, &section);
    const struct sw_image_entry *entry = sw_images_entry(images, address);
    if (entry)
        *image = entry->info;
    sw_images_leave(images, &section);
    return entry ? SW_OK : SW_E_NOT_FOUND;
}

enum sw_status sw_images_find_method(const struct sw_images *images, uint64_t address, struct sw_range *method)
{
    enum sw_status status = SW_E_NOT_FOUND;
    if (!images || !method)
        return SW_E_ARGUMENT;
    struct sw_section section;
    sw_images_enter(images, &section);
    const struct sw_image_entry *entry = sw_images_entry(images, address);
    if (entry && entry->has_clr && sw_clr_image_method(&entry->clr, address, method) == SW_OK)
        status = SW_OK;
    sw_images_leave(images, &section);
    return status;
}
