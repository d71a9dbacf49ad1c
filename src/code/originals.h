/*
 * What is made of files, once for all mappings of a file: its tables, their indexes, its names. The images of a set are
 * copies at their addresses, which borrow. Under the set's writer lock; refuses to know files and formats.
 */
#ifndef SW_CODE_ORIGINALS_H
#define SW_CODE_ORIGINALS_H

#include "code/images.h"

/*
 * entry    The image as it is at `address`, whatever that is to the file; in no set. Owns what its copies use.
 * status   Whether that could be made.
 * users    Its copies.
 */
struct sw_image_original {
    struct sw_image_entry entry;
    uint64_t address;
    enum sw_status status;
    struct sw_file_key key;
    size_t users;
    struct sw_image_original *next;
};

enum { SW_ORIGINALS_LISTS = 256 };
struct sw_originals {
    struct sw_image_original *lists[SW_ORIGINALS_LISTS]; /* by key */
    bool has_unused;
};

/* The original of a file. find: null: there is none. make: an empty one, which find finds; null: no memory. */
struct sw_image_original *sw_originals_find(const struct sw_originals *originals, const struct sw_file_key *key);
struct sw_image_original *sw_originals_make(struct sw_originals *originals, const struct sw_file_key *key,
                                            const struct sw_alloc *alloc);

/* One copy less. drop_unused: frees originals without copies. */
void sw_originals_put(struct sw_originals *originals, struct sw_image_original *original);
void sw_originals_drop_unused(struct sw_originals *originals, const struct sw_alloc *alloc);

/* Frees what an entry holds of its own, not the entry. */
void sw_image_entry_clear(struct sw_image_entry *entry, const struct sw_alloc *alloc);

#endif
