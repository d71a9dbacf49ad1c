/*
 * Entries of the set of images: made, filled, copied to where else the file is mapped, freed. Refuses to know what
 * their tables say, and what is in the set.
 */
#include "code/images_set.h"

#include <string.h>

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
    if (!entry)
        return;
    if (entry->original)
        sw_originals_put(&images->originals, entry->original);
    else
        sw_image_entry_clear(entry, &images->alloc);
    images->alloc.put(images->alloc.arg, entry, entry->size);
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
