/*
 * What the set of images is made of, for the files that make it: readers (images.c), the writer (images_change.c), its
 * entries (images_entry.c).
 */
#ifndef SW_CODE_IMAGES_SET_H
#define SW_CODE_IMAGES_SET_H

#include "base/interval.h"
#include "code/images.h"
#include "code/originals.h"
#include "common/reclaim.h"

struct sw_image_row {
    uint64_t begin;
    uint64_t end;
    struct sw_image_entry *entry;
};

/* dropped: the entries that the next set lacks, by `next`. They are released together with this block. */
struct sw_image_block {
    struct sw_retired retired;
    struct sw_image_entry *dropped;
};

/* count: of rows that readers may see; there is room for more, up to `room`. */
struct sw_image_set {
    struct sw_image_block block;
    _Atomic size_t count;
    size_t room;
    struct sw_image_row rows[];
};

struct sw_image_spans {
    struct sw_image_block block;
    size_t count;
    struct sw_span rows[];
};

struct sw_images {
    struct sw_reclaim reclaim;
    struct sw_alloc alloc;
    struct sw_originals originals;
    struct sw_image_set *_Atomic current;          /* null: empty */
    struct sw_image_spans *_Atomic spans;          /* null: there is no map */
    _Atomic uint64_t changes[SW_IMAGE_PIECES + 1]; /* sw_images_changes */
    uint64_t staying;                              /* sw_images_set_staying */
    atomic_flag writer;
    bool without_methods;
};

/* How many rows of a set readers may see; of null, none. */
static inline size_t sw_image_set_count(const struct sw_image_set *set)
{
    return set ? atomic_load_explicit(&set->count, memory_order_acquire) : 0;
}

/* The number of the first of count rows that ends above the address. */
static inline size_t sw_image_set_search(const struct sw_image_set *set, size_t count, uint64_t address)
{
    return sw_intervals_above(count ? set->rows : NULL, sizeof *set->rows, count, address);
}

#endif
