#include "target/capsule_store.h"

#include "base/interval.h"
#include "common/grow.h"

#include <string.h>

enum { SLOTS_FIRST = 1024 };

static size_t slot_of(const struct sw_store *store, uint64_t address)
{
    size_t at = (size_t)(address / SW_STORE_BLOCK * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (store->slots - 1);
    while (store->index[at] && store->blocks[store->index[at] - 1].address != address)
        at = (at + 1) & (store->slots - 1);
    return at;
}

bool sw_store_has(const struct sw_store *store, uint64_t address)
{
    return store->slots && store->index[slot_of(store, address)];
}

static void fill_index(struct sw_store *store)
{
    memset(store->index, 0, store->slots * sizeof *store->index);
    for (size_t i = 0; i < store->count; i++)
        store->index[slot_of(store, store->blocks[i].address)] = (uint32_t)i + 1;
}

static bool grow_index(struct sw_store *store)
{
    const struct sw_alloc *alloc = &store->alloc;
    const size_t slots = store->slots ? 2 * store->slots : SLOTS_FIRST;
    uint32_t *index = alloc->get(alloc->arg, slots * sizeof *index);
    if (!index)
        return false;
    if (store->index)
        alloc->put(alloc->arg, store->index, store->slots * sizeof *index);
    store->index = index;
    store->slots = slots;
    fill_index(store);
    return true;
}

enum sw_status sw_store_add(struct sw_store *store, const struct sw_store_block *block)
{
    if (store->count >= store->most || store->count >= UINT32_MAX / 2)
        return SW_E_LIMIT;
    if (store->count + 1 > store->slots / 3 * 2 && !grow_index(store))
        return SW_E_NO_MEMORY;
    struct sw_store_block *blocks =
        sw_grow(&store->alloc, store->blocks, sizeof *blocks, store->count, &store->room, store->count + 1);
    if (!blocks)
        return SW_E_NO_MEMORY;
    store->blocks = blocks;
    const size_t slot = slot_of(store, block->address);
    blocks[store->count++] = *block;
    store->index[slot] = (uint32_t)store->count;
    return SW_OK;
}

static bool is_before(const void *a, const void *b)
{
    const struct sw_store_block *x = a, *y = b;
    return x->address < y->address;
}

void sw_store_sort(struct sw_store *store)
{
    const struct sw_intervals all = { .rows = store->blocks, .count = store->count, .row_size = sizeof *store->blocks };
    if (store->count)
        sw_intervals_sort(&all, is_before);
    if (store->slots)
        fill_index(store);
}

void sw_store_drop(struct sw_store *store)
{
    const struct sw_alloc *alloc = &store->alloc;
    if (store->blocks)
        alloc->put(alloc->arg, store->blocks, store->room * sizeof *store->blocks);
    if (store->index)
        alloc->put(alloc->arg, store->index, store->slots * sizeof *store->index);
}
