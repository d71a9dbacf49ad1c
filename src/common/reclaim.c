/*
 * The writer's half of safe memory reclamation. reclaim.h has the idea and the proof. Knows counters and lists of
 * blocks; refuses to know what the blocks are.
 */
#include "common/reclaim.h"

#include <assert.h>

enum { COUNTERS = 2 * SW_RECLAIM_STRIPES }; /* of one side: a fast slot and a shared counter in each stripe */

static_assert(COUNTERS == 32, "undrained has a bit for each");

static _Atomic uint32_t *counter(struct sw_reclaim *reclaim, unsigned i, unsigned side)
{
    return &reclaim->readers[i / 2 * SW_RECLAIM_STRIPE + (i % 2 ? SW_RECLAIM_SHARED : SW_RECLAIM_FAST) + side];
}

void sw_reclaim_init(struct sw_reclaim *reclaim, void (*release)(void *arg, struct sw_retired *block), void *arg)
{
    for (unsigned i = 0; i < COUNTERS; i++)
        for (unsigned side = 0; side < 2; side++)
            atomic_init(counter(reclaim, i, side), 0);
    atomic_init(&reclaim->side, 0);
    reclaim->undrained[0] = reclaim->undrained[1] = 0;
    reclaim->waiting = reclaim->retired = NULL;
    reclaim->release = release;
    reclaim->arg = arg;
}

void sw_reclaim_retire(struct sw_reclaim *reclaim, struct sw_retired *block)
{
    block->next = reclaim->retired;
    reclaim->retired = block;
}

static void release_all(struct sw_reclaim *reclaim, struct sw_retired **list)
{
    struct sw_retired *block = *list;
    *list = NULL;
    while (block) {
        struct sw_retired *next = block->next;
        reclaim->release(reclaim->arg, block);
        block = next;
    }
}

/* The usual case: no reader is inside. The writer asks at every change, so this is one pass without branches. */
static bool is_empty(struct sw_reclaim *reclaim, unsigned side)
{
    uint32_t inside = 0;
    _Atomic uint32_t *stripe = reclaim->readers + side;
    for (unsigned i = 0; i < SW_RECLAIM_STRIPES; i++, stripe += SW_RECLAIM_STRIPE)
        inside |= atomic_load_explicit(stripe + SW_RECLAIM_FAST, memory_order_seq_cst) |
                  atomic_load_explicit(stripe + SW_RECLAIM_SHARED, memory_order_seq_cst);
    return inside == 0;
}

/* Checks those counters of one side that were not yet seen at zero. */
static void check_side(struct sw_reclaim *reclaim, unsigned side)
{
    if (reclaim->undrained[side] == UINT32_MAX && is_empty(reclaim, side))
        reclaim->undrained[side] = 0;
    uint32_t left = reclaim->undrained[side];
    for (unsigned i = 0; i < COUNTERS && left >> i; i++)
        if ((left >> i & 1) && atomic_load_explicit(counter(reclaim, i, side), memory_order_seq_cst) == 0)
            reclaim->undrained[side] &= ~(UINT32_C(1) << i);
}

bool sw_reclaim_poll(struct sw_reclaim *reclaim)
{
    if (!reclaim->waiting) {
        if (!reclaim->retired)
            return true;
        reclaim->waiting = reclaim->retired;
        reclaim->retired = NULL;
        reclaim->undrained[0] = reclaim->undrained[1] = UINT32_MAX;
    }
    check_side(reclaim, 0);
    check_side(reclaim, 1);
    if (!reclaim->undrained[0] && !reclaim->undrained[1]) {
        release_all(reclaim, &reclaim->waiting);
        return !reclaim->retired;
    }
    /* One side is drained: send new readers to it, so that the other one can drain. */
    if (!reclaim->undrained[0] || !reclaim->undrained[1])
        atomic_store_explicit(&reclaim->side, reclaim->undrained[0] ? 1 : 0, memory_order_relaxed);
    return false;
}

void sw_reclaim_flush(struct sw_reclaim *reclaim)
{
    release_all(reclaim, &reclaim->waiting);
    release_all(reclaim, &reclaim->retired);
}
