/*
 * Memory that is kept of a target: blocks of 64 bytes by address, each once. Knows blocks; refuses to know what is
 * worth keeping.
 */
#ifndef SW_TARGET_CAPSULE_STORE_H
#define SW_TARGET_CAPSULE_STORE_H

#include <snapwalk/alloc.h>

enum { SW_STORE_BLOCK = 64 };

struct sw_store_block {
    uint64_t address; /* a multiple of SW_STORE_BLOCK */
    uint8_t bytes[SW_STORE_BLOCK];
};

/* index: by hash, the number of a block and 1; a power of two, at most two thirds used. */
struct sw_store {
    struct sw_alloc alloc;
    struct sw_store_block *blocks;
    size_t count, room, most;
    uint32_t *index;
    size_t slots;
};

/* has: whether the block at an address is kept. add: SW_OK; SW_E_LIMIT; SW_E_NO_MEMORY. */
bool sw_store_has(const struct sw_store *store, uint64_t address);
enum sw_status sw_store_add(struct sw_store *store, const struct sw_store_block *block);

/* Blocks ascend afterwards. */
void sw_store_sort(struct sw_store *store);
void sw_store_drop(struct sw_store *store);

#endif
