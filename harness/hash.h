/*
 * Finds elements of a list by what they are called. For writers of lists only, under their lock: it is made anew when
 * it grows.
 */
#ifndef SW_HARNESS_HASH_H
#define SW_HARNESS_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is empty. `indexes` are one more than what was added, 0: nothing. */
struct sw_hash {
    uint64_t *keys;
    size_t *indexes;
    size_t capacity, count;
};

/* A key: of what contains it, and its name. */
uint64_t sw_hash_key(size_t container, const char *name);

/* False: no memory. A key may be added several times. */
bool sw_hash_add(struct sw_hash *hash, uint64_t key, size_t index);

/* The indexes under a key, one after the other, then SIZE_MAX; *cursor is 0 at first. */
size_t sw_hash_next(const struct sw_hash *hash, uint64_t key, size_t *cursor);

void sw_hash_free(struct sw_hash *hash);

#endif
