/*
 * See originals.h. An original is kept as long as it has copies, and until the writer is done: so a file that comes to
 * nothing is looked at once in a refresh, too, however often it is mapped.
 */
#include "code/originals.h"

#include <string.h>

void sw_image_entry_clear(struct sw_image_entry *entry, const struct sw_alloc *alloc)
{
    if (entry->has_clr)
        sw_clr_image_close(&entry->clr);
    for (unsigned n = 0; n < sizeof entry->index / sizeof entry->index[0]; n++)
        if (entry->index[n].block)
            alloc->put(alloc->arg, entry->index[n].block, entry->index[n].size);
    if (entry->release)
        entry->release(entry, alloc);
}

static bool is_equal(const struct sw_file_key *a, const struct sw_file_key *b)
{
    return a->bytes == b->bytes && a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->written_ns == b->written_ns && a->changed_ns == b->changed_ns;
}

static size_t list_of(const struct sw_file_key *key)
{
    const uint64_t mixed = (key->inode ^ (uint64_t)(uintptr_t)key->bytes) * UINT64_C(0x9e3779b97f4a7c15);
    return mixed >> 32 & (SW_ORIGINALS_LISTS - 1);
}

struct sw_image_original *sw_originals_find(const struct sw_originals *originals, const struct sw_file_key *key)
{
    struct sw_image_original *original = originals->lists[list_of(key)];
    while (original && !is_equal(&original->key, key))
        original = original->next;
    return original;
}

struct sw_image_original *sw_originals_make(struct sw_originals *originals, const struct sw_file_key *key,
                                            const struct sw_alloc *alloc)
{
    struct sw_image_original **list = &originals->lists[list_of(key)];
    struct sw_image_original *original = alloc->get(alloc->arg, sizeof *original);
    if (!original)
        return NULL;
    memset(original, 0, sizeof *original);
    original->key = *key;
    original->next = *list;
    *list = original;
    originals->has_unused = true;
    return original;
}

void sw_originals_put(struct sw_originals *originals, struct sw_image_original *original)
{
    originals->has_unused |= --original->users == 0;
}

void sw_originals_drop_unused(struct sw_originals *originals, const struct sw_alloc *alloc)
{
    for (size_t n = 0; originals->has_unused && n < SW_ORIGINALS_LISTS; n++)
        for (struct sw_image_original **at = &originals->lists[n], *original; (original = *at) != NULL;) {
            if (original->users > 0) {
                at = &original->next;
                continue;
            }
            *at = original->next;
            sw_image_entry_clear(&original->entry, alloc);
            alloc->put(alloc->arg, original, sizeof *original);
        }
    originals->has_unused = false;
}
