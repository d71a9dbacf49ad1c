/*
 * The writer of the set of images, one at a time: what comes in, what is dropped, and when readers are past it. Refuses
 * to know what an entry holds.
 */
#include "code/images_set.h"

#include <string.h>

enum sw_status sw_images_lock(struct sw_images *images)
{
    if (atomic_flag_test_and_set_explicit(&images->writer, memory_order_acquire))
        return SW_E_BUSY;
    sw_reclaim_poll(&images->reclaim);
    return SW_OK;
}

void sw_images_unlock(struct sw_images *images)
{
    sw_reclaim_poll(&images->reclaim);
    sw_originals_drop_unused(&images->originals, &images->alloc);
    atomic_flag_clear_explicit(&images->writer, memory_order_release);
}

enum sw_status sw_images_after_fork(struct sw_images *images)
{
    sw_reclaim_forget_readers(&images->reclaim);
    const enum sw_status status = sw_images_lock(images);
    if (status != SW_OK)
        return status;
    sw_reclaim_flush(&images->reclaim);
    sw_images_unlock(images);
    return SW_OK;
}

const struct sw_alloc *sw_images_alloc(const struct sw_images *images)
{
    return &images->alloc;
}

/* An empty set. */
static struct sw_image_set *make_set(const struct sw_images *images, size_t room)
{
    const size_t size = sizeof(struct sw_image_set) + room * sizeof(struct sw_image_row);
    struct sw_image_set *set = images->alloc.get(images->alloc.arg, size);
    if (!set)
        return NULL;
    set->block = (struct sw_image_block){ { NULL, size }, NULL };
    atomic_init(&set->count, 0);
    set->room = room;
    return set;
}

static void append_rows(struct sw_image_set *set, const struct sw_image_row *rows, size_t count)
{
    const size_t at = sw_image_set_count(set);
    if (count)
        memcpy(&set->rows[at], rows, count * sizeof *rows);
    atomic_store_explicit(&set->count, at + count, memory_order_release);
}

/* Notes that an image has come or gone, for every piece that it touches: each number once. */
static void note_change(struct sw_images *images, uint64_t begin, uint64_t end)
{
    const uint64_t generation = sw_images_generation(images) + 1;
    const uint64_t first = begin >> SW_IMAGE_PIECE_SHIFT, last = (end - 1) >> SW_IMAGE_PIECE_SHIFT;
    for (uint64_t piece = first; piece <= last && piece - first < SW_IMAGE_PIECES; piece++)
        atomic_store(&images->changes[piece % SW_IMAGE_PIECES], generation);
}

/* Behind the change, and what is noted of it: what was found before under the old number is known to be old. */
static void count_change(struct sw_images *images)
{
    atomic_fetch_add(&images->changes[SW_IMAGE_PIECES], 1);
}

static void publish(struct sw_images *images, struct sw_image_set *set, struct sw_image_entry *dropped)
{
    struct sw_image_set *old = atomic_exchange(&images->current, set);
    for (const struct sw_image_entry *entry = dropped; entry; entry = entry->next)
        note_change(images, entry->info.begin, entry->info.end);
    count_change(images);
    if (!old)
        return;
    old->block.dropped = dropped;
    sw_reclaim_retire(&images->reclaim, &old->block.retired);
    sw_reclaim_poll(&images->reclaim);
}

/* Puts a row between others, in a set with room for half as many behind the last. */
static enum sw_status insert_at(struct sw_images *images, const struct sw_image_set *old, size_t at,
                                const struct sw_image_row *row)
{
    const size_t count = sw_image_set_count(old);
    struct sw_image_set *set = make_set(images, count + 1 + count / 2);
    if (!set)
        return SW_E_NO_MEMORY;
    append_rows(set, old ? old->rows : NULL, at);
    append_rows(set, row, 1);
    append_rows(set, old ? old->rows + at : NULL, count - at);
    note_change(images, row->begin, row->end);
    publish(images, set, NULL);
    return SW_OK;
}

/* A composite image has the core library's code, another image its metadata: whichever comes first. */
static void tell_each_other(struct sw_images *images, const struct sw_image_set *set, struct sw_image_entry *entry)
{
    if (!entry->clr.has_core && !sw_clr_image_has_dispatch(&entry->clr))
        return;
    note_change(images, 0, UINT64_MAX);
    for (size_t i = 0; i < sw_image_set_count(set); i++) {
        sw_clr_image_tell(&set->rows[i].entry->clr, &entry->clr);
        sw_clr_image_tell(&entry->clr, &set->rows[i].entry->clr);
    }
}

enum sw_status sw_images_insert(struct sw_images *images, struct sw_image_entry *entry)
{
    const struct sw_image_row row = { entry->info.begin, entry->info.end, entry };
    struct sw_image_set *old = atomic_load(&images->current);
    const size_t count = sw_image_set_count(old), at = sw_image_set_search(old, count, row.begin);
    if (row.begin == row.end)
        return SW_E_EMPTY;
    if (row.begin > row.end)
        return SW_E_WRAPS;
    if (at < count && old->rows[at].begin < row.end)
        return SW_E_OVERLAP;
    tell_each_other(images, old, entry);
    if (!old || at < count || count == old->room)
        return insert_at(images, old, at, &row);
    append_rows(old, &row, 1); /* maps are read in ascending order */
    note_change(images, row.begin, row.end);
    count_change(images);
    return SW_OK;
}

enum sw_status sw_images_add_filled(struct sw_images *images, const char *name,
                                    enum sw_status (*fill)(struct sw_images *images, struct sw_image_entry *entry,
                                                           const void *arg),
                                    const void *arg)
{
    enum sw_status status = sw_images_lock(images);
    if (status != SW_OK)
        return status;
    struct sw_image_entry *entry = sw_images_make(images, name);
    status = entry ? fill(images, entry, arg) : SW_E_NO_MEMORY;
    if (status == SW_OK)
        status = sw_images_insert(images, entry);
    if (status != SW_OK)
        sw_images_discard(images, entry);
    sw_images_unlock(images);
    return status;
}

/* Appends the rows that are not gone, and returns the entries of the others. */
static struct sw_image_entry *split(struct sw_image_set *set, const struct sw_image_set *old,
                                    bool (*is_gone)(const struct sw_image_entry *, const void *), const void *arg)
{
    struct sw_image_entry *dropped = NULL;
    for (size_t i = 0; i < sw_image_set_count(old); i++) {
        struct sw_image_entry *entry = old->rows[i].entry;
        if (!is_gone(entry, arg)) {
            append_rows(set, &old->rows[i], 1);
            continue;
        }
        entry->next = dropped;
        dropped = entry;
    }
    return dropped;
}

enum sw_status sw_images_drop_if(struct sw_images *images, bool (*is_gone)(const struct sw_image_entry *, const void *),
                                 const void *arg)
{
    const struct sw_image_set *old = atomic_load(&images->current);
    size_t gone = 0;
    for (size_t i = 0; i < sw_image_set_count(old); i++)
        gone += is_gone(old->rows[i].entry, arg);
    if (gone == 0)
        return SW_E_NOT_FOUND;
    struct sw_image_set *set = make_set(images, sw_image_set_count(old) - gone);
    if (!set)
        return SW_E_NO_MEMORY;
    publish(images, set, split(set, old, is_gone, arg));
    return SW_OK;
}

static bool begins_at(const struct sw_image_entry *entry, const void *begin)
{
    return entry->info.begin == *(const uint64_t *)begin;
}

enum sw_status sw_images_drop(struct sw_images *images, uint64_t begin)
{
    return sw_images_drop_if(images, begins_at, &begin);
}

enum sw_status sw_images_set_spans(struct sw_images *images, const struct sw_span *spans, size_t count)
{
    const size_t size = sizeof(struct sw_image_spans) + count * sizeof *spans;
    struct sw_image_spans *made = images->alloc.get(images->alloc.arg, size);
    if (!made)
        return SW_E_NO_MEMORY;
    made->block = (struct sw_image_block){ { NULL, size }, NULL };
    made->count = count;
    if (count)
        memcpy(made->rows, spans, count * sizeof *spans);
    struct sw_image_spans *old = atomic_exchange(&images->spans, made);
    if (old)
        sw_reclaim_retire(&images->reclaim, &old->block.retired);
    sw_reclaim_poll(&images->reclaim);
    return SW_OK;
}

struct sw_image_entry *sw_images_at(const struct sw_images *images, size_t number)
{
    const struct sw_image_set *set = atomic_load(&images->current);
    return number < sw_image_set_count(set) ? set->rows[number].entry : NULL;
}

enum sw_status sw_images_remove(struct sw_images *images, uint64_t begin)
{
    if (!images)
        return SW_E_ARGUMENT;
    enum sw_status status = sw_images_lock(images);
    if (status != SW_OK)
        return status;
    status = sw_images_drop(images, begin);
    sw_images_unlock(images);
    return status;
}
