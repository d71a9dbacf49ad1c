/*
 * The set of images: a sorted array that is replaced, never changed, but that rows may be put behind the last one.
 * Readers take no lock. An old array, and the images that were in it and are no more, are freed when no reader can see
 * them any more (common/reclaim.h). Knows addresses and entries; refuses to know files, formats and operating systems
 * (src/target/linux/images.c).
 */
#include "code/images.h"

#include "base/interval.h"
#include "code/originals.h"
#include "common/alloc.h"
#include "common/reclaim.h"

#include <snapwalk/clr_names.h>

#include <string.h>

struct row {
    uint64_t begin;
    uint64_t end;
    struct sw_image_entry *entry;
};

/* dropped: the entries that the next set lacks, by `next`. They are released together with this block. */
struct block {
    struct sw_retired retired;
    struct sw_image_entry *dropped;
};

/* count: of rows that readers may see; there is room for more, up to `room`. */
struct set {
    struct block block;
    _Atomic size_t count;
    size_t room;
    struct row rows[];
};

struct spans {
    struct block block;
    size_t count;
    struct sw_span rows[];
};

struct sw_images {
    struct sw_reclaim reclaim;
    struct sw_alloc alloc;
    struct sw_originals originals;
    struct set *_Atomic current; /* null: empty */
    struct spans *_Atomic spans; /* null: there is no map */
    _Atomic uint64_t generation;
    uint64_t staying; /* sw_images_set_staying */
    atomic_flag writer;
    bool without_methods;
};

void sw_images_set_staying(struct sw_images *images, uint64_t address)
{
    images->staying = address;
}

uint64_t sw_images_get_staying(const struct sw_images *images)
{
    return images->staying;
}

static size_t count_of(const struct set *set)
{
    return set ? atomic_load_explicit(&set->count, memory_order_acquire) : 0;
}

static void release_entry(struct sw_images *images, struct sw_image_entry *entry)
{
    if (entry->original)
        sw_originals_put(&images->originals, entry->original);
    else
        sw_image_entry_clear(entry, &images->alloc);
    images->alloc.put(images->alloc.arg, entry, entry->size);
}

static void release_block(void *arg, struct sw_retired *retired)
{
    struct sw_images *images = arg;
    struct block *block = (struct block *)retired;
    for (struct sw_image_entry *next, *entry = block->dropped; entry; entry = next) {
        next = entry->next;
        release_entry(images, entry);
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
    atomic_init(&images->generation, 1);
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
    struct set *set = atomic_load(&images->current);
    for (size_t i = 0; i < count_of(set); i++)
        release_entry(images, set->rows[i].entry);
    struct spans *spans = atomic_load(&images->spans);
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

/* The number of the first of count rows that ends above the address. */
static size_t search(const struct set *set, size_t count, uint64_t address)
{
    return sw_intervals_above(count ? set->rows : NULL, sizeof *set->rows, count, address);
}

const struct sw_image_entry *sw_images_entry(const struct sw_images *images, uint64_t address)
{
    const struct set *set = images ? atomic_load(&images->current) : NULL;
    const size_t count = count_of(set), at = search(set, count, address);
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
    const struct spans *spans = images ? atomic_load(&images->spans) : NULL;
    *is_mapped = spans != NULL;
    if (!spans)
        return SW_SPAN_UNKNOWN;
    const size_t at = sw_intervals_above(spans->rows, sizeof *spans->rows, spans->count, address);
    return at < spans->count && spans->rows[at].begin <= address ? spans->rows[at].kind : SW_SPAN_UNKNOWN;
}

uint64_t sw_images_generation(const struct sw_images *images)
{
    return images ? atomic_load(&images->generation) : 0;
}

const _Atomic uint64_t *sw_images_clock(const struct sw_images *images)
{
    static const _Atomic uint64_t never = 0;
    return images ? &images->generation : &never;
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

/* The writer ---------------------------------------------------------------------------------------------------- */

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

struct sw_image_entry *sw_images_make(struct sw_images *images, const char *path)
{
    const size_t length = strlen(path) + 1;
    const size_t size = sizeof(struct sw_image_entry) + length;
    struct sw_image_entry *entry = images->alloc.get(images->alloc.arg, size);
    if (!entry)
        return NULL;
    memset(entry, 0, sizeof *entry);
    memcpy(entry + 1, path, length);
    entry->info.path = (const char *)(entry + 1);
    entry->size = size;
    return entry;
}

void sw_images_discard(struct sw_images *images, struct sw_image_entry *entry)
{
    if (entry)
        release_entry(images, entry);
}

static void release_held(struct sw_image_entry *entry, const struct sw_alloc *alloc)
{
    if (entry->held)
        alloc->put(alloc->arg, entry->held, entry->held_size);
}

uint8_t *sw_images_hold(struct sw_images *images, struct sw_image_entry *entry, size_t size)
{
    entry->held = images->alloc.get(images->alloc.arg, size);
    entry->held_size = size;
    entry->release = release_held;
    return entry->held;
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

struct sw_image_original *sw_images_original(struct sw_images *images, const struct sw_file_key *key, bool *is_new)
{
    struct sw_image_original *original = sw_originals_find(&images->originals, key);
    *is_new = !original;
    return original ? original : sw_originals_make(&images->originals, key, &images->alloc);
}

static void move_cfi(struct sw_cfi *cfi, uint64_t distance)
{
    cfi->frame.address += distance;
    cfi->header.address += distance;
    cfi->bias += distance;
    cfi->index_distance += distance;
}

static void move_pe(struct sw_image_entry *entry, uint64_t distance)
{
    entry->pe.bytes.address += distance;
    entry->exceptions.address += distance;
    entry->clr.pe.bytes.address += distance;
    entry->clr.functions.address += distance;
    entry->clr.cold.address += distance;
    entry->clr.metadata.address += distance;
}

/* Addresses wrap as those of the file do: insert looks at the ends. */
void sw_images_copy(struct sw_image_original *original, uint64_t distance, struct sw_image_entry *entry)
{
    struct sw_image_entry copy = original->entry;
    copy.info.path = entry->info.path;
    copy.info.begin += distance;
    copy.info.end += distance;
    copy.info.bias += distance;
    copy.start += copy.start ? distance : 0;
    copy.code_begin += distance;
    copy.code_end += distance;
    move_cfi(&copy.cfi, distance);
    move_cfi(&copy.beside, distance);
    copy.sframe.start += distance;
    copy.sframe.functions.address += distance;
    copy.cfi.beside = copy.cfi.beside ? &entry->beside : NULL;
    move_pe(&copy, distance);
    copy.origin = entry->origin;
    copy.identity = entry->identity;
    copy.size = entry->size;
    copy.original = original;
    copy.release = NULL;
    *entry = copy;
    original->users++;
}

/* An empty set. */
static struct set *make_set(const struct sw_images *images, size_t room)
{
    const size_t size = sizeof(struct set) + room * sizeof(struct row);
    struct set *set = images->alloc.get(images->alloc.arg, size);
    if (!set)
        return NULL;
    set->block = (struct block){ { NULL, size }, NULL };
    atomic_init(&set->count, 0);
    set->room = room;
    return set;
}

static void append_rows(struct set *set, const struct row *rows, size_t count)
{
    const size_t at = count_of(set);
    if (count)
        memcpy(&set->rows[at], rows, count * sizeof *rows);
    atomic_store_explicit(&set->count, at + count, memory_order_release);
}

static void publish(struct sw_images *images, struct set *set, struct sw_image_entry *dropped)
{
    struct set *old = atomic_exchange(&images->current, set);
    atomic_fetch_add(&images->generation, 1);
    if (!old)
        return;
    old->block.dropped = dropped;
    sw_reclaim_retire(&images->reclaim, &old->block.retired);
    sw_reclaim_poll(&images->reclaim);
}

/* Puts a row between others, in a set with room for half as many behind the last. */
static enum sw_status insert_at(struct sw_images *images, const struct set *old, size_t at, const struct row *row)
{
    const size_t count = count_of(old);
    struct set *set = make_set(images, count + 1 + count / 2);
    if (!set)
        return SW_E_NO_MEMORY;
    append_rows(set, old ? old->rows : NULL, at);
    append_rows(set, row, 1);
    append_rows(set, old ? old->rows + at : NULL, count - at);
    publish(images, set, NULL);
    return SW_OK;
}

/* A composite image has the core library's code, another image its metadata: whichever comes first. */
static void tell_each_other(const struct set *set, struct sw_image_entry *entry)
{
    if (!entry->clr.has_core && !sw_clr_image_has_dispatch(&entry->clr))
        return;
    for (size_t i = 0; i < count_of(set); i++) {
        sw_clr_image_tell(&set->rows[i].entry->clr, &entry->clr);
        sw_clr_image_tell(&entry->clr, &set->rows[i].entry->clr);
    }
}

enum sw_status sw_images_insert(struct sw_images *images, struct sw_image_entry *entry)
{
    const struct row row = { entry->info.begin, entry->info.end, entry };
    struct set *old = atomic_load(&images->current);
    const size_t count = count_of(old), at = search(old, count, row.begin);
    if (row.begin == row.end)
        return SW_E_EMPTY;
    if (row.begin > row.end)
        return SW_E_WRAPS;
    if (at < count && old->rows[at].begin < row.end)
        return SW_E_OVERLAP;
    tell_each_other(old, entry);
    if (!old || at < count || count == old->room)
        return insert_at(images, old, at, &row);
    append_rows(old, &row, 1); /* maps are read in ascending order */
    atomic_fetch_add(&images->generation, 1);
    return SW_OK;
}

/* Appends the rows that are not gone, and returns the entries of the others. */
static struct sw_image_entry *split(struct set *set, const struct set *old,
                                    bool (*is_gone)(const struct sw_image_entry *, const void *), const void *arg)
{
    struct sw_image_entry *dropped = NULL;
    for (size_t i = 0; i < count_of(old); i++) {
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
    const struct set *old = atomic_load(&images->current);
    size_t gone = 0;
    for (size_t i = 0; i < count_of(old); i++)
        gone += is_gone(old->rows[i].entry, arg);
    if (gone == 0)
        return SW_E_NOT_FOUND;
    struct set *set = make_set(images, count_of(old) - gone);
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
    const size_t size = sizeof(struct spans) + count * sizeof *spans;
    struct spans *made = images->alloc.get(images->alloc.arg, size);
    if (!made)
        return SW_E_NO_MEMORY;
    made->block = (struct block){ { NULL, size }, NULL };
    made->count = count;
    if (count)
        memcpy(made->rows, spans, count * sizeof *spans);
    struct spans *old = atomic_exchange(&images->spans, made);
    if (old)
        sw_reclaim_retire(&images->reclaim, &old->block.retired);
    sw_reclaim_poll(&images->reclaim);
    return SW_OK;
}

struct sw_image_entry *sw_images_at(const struct sw_images *images, size_t number)
{
    const struct set *set = atomic_load(&images->current);
    return number < count_of(set) ? set->rows[number].entry : NULL;
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
