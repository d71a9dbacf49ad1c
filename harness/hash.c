/* A hash table of indexes: open addressing, half full at most, nothing is ever removed. */
#include "hash.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

/* FNV-1a. Source: the public specification, http://www.isthe.com/chongo/tech/comp/fnv/. */
uint64_t sw_hash_key(size_t container, const char *name)
{
    uint64_t key = 0xcbf29ce484222325u;
    for (unsigned i = 0; i < sizeof container; i++)
        key = (key ^ (container >> (8 * i) & 0xff)) * 0x100000001b3u;
    for (; *name; name++)
        key = (key ^ (unsigned char)*name) * 0x100000001b3u;
    return key;
}

static void put(struct sw_hash *hash, uint64_t key, size_t index)
{
    size_t at = (size_t)key & (hash->capacity - 1);
    while (hash->indexes[at])
        at = (at + 1) & (hash->capacity - 1);
    hash->keys[at] = key;
    hash->indexes[at] = index;
    hash->count++;
}

static bool grow(struct sw_hash *hash)
{
    struct sw_hash grown = { .capacity = hash->capacity ? 2 * hash->capacity : FIRST_CAPACITY };
    grown.keys = calloc(grown.capacity, sizeof *grown.keys);
    grown.indexes = calloc(grown.capacity, sizeof *grown.indexes);
    if (!grown.keys || !grown.indexes) {
        sw_hash_free(&grown);
        return false;
    }
    for (size_t i = 0; i < hash->capacity; i++)
        if (hash->indexes[i])
            put(&grown, hash->keys[i], hash->indexes[i]);
    sw_hash_free(hash);
    *hash = grown;
    return true;
}

bool sw_hash_add(struct sw_hash *hash, uint64_t key, size_t index)
{
    if (2 * (hash->count + 1) > hash->capacity && !grow(hash))
        return false;
    put(hash, key, index + 1);
    return true;
}

size_t sw_hash_next(const struct sw_hash *hash, uint64_t key, size_t *cursor)
{
    for (; *cursor < hash->capacity; ++*cursor) {
        const size_t at = ((size_t)key + *cursor) & (hash->capacity - 1);
        if (!hash->indexes[at])
            return SIZE_MAX;
        if (hash->keys[at] == key) {
            ++*cursor;
            return hash->indexes[at] - 1;
        }
    }
    return SIZE_MAX;
}

void sw_hash_free(struct sw_hash *hash)
{
    free(hash->keys);
    free(hash->indexes);
    *hash = (struct sw_hash){ 0 };
}
