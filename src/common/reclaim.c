/*
 * The writer's half of safe reclamation; grace.h has the idea and the proof. Knows counters and lists of blocks;
 * knows nothing of what the blocks are.
 */
#include "common/reclaim.h"

#include <assert.h>

enum { COUNTERS = 2 * SW_RECLAIM_STRIPES }; /* of one side: a seat and a crowd in each stripe */

static_assert(COUNTERS == 32, "unseen has a bit for each");

static _Atomic uint32_t *counter(struct sw_reclaim *grace, unsigned i, unsigned side)
{
    return &grace->readers[i / 2 * SW_RECLAIM_STRIPE + (i % 2 ? SW_RECLAIM_CROWD : SW_RECLAIM_SEAT) + side];
}

void sw_reclaim_init(struct sw_reclaim *grace, void (*release)(void *arg, struct sw_retired *block), void *arg)
{
    for (unsigned i = 0; i < COUNTERS; i++)
        for (unsigned side = 0; side < 2; side++)
            atomic_init(counter(grace, i, side), 0);
    atomic_init(&grace->side, 0);
    grace->unseen[0] = grace->unseen[1] = 0;
    grace->waiting = grace->fresh = NULL;
    grace->release = release;
    grace->arg = arg;
}

void sw_reclaim_retire(struct sw_reclaim *grace, struct sw_retired *block)
{
    block->next = grace->fresh;
    grace->fresh = block;
}

static void release_all(struct sw_reclaim *grace, struct sw_retired **list)
{
    struct sw_retired *block = *list;
    *list = NULL;
    while (block) {
        struct sw_retired *next = block->next;
        grace->release(grace->arg, block);
        block = next;
    }
}

/* Most often nobody is inside, and the writer asks at every change. */
static bool is_empty(struct sw_reclaim *grace, unsigned side)
{
    uint32_t inside = 0;
    _Atomic uint32_t *stripe = grace->readers + side;
    for (unsigned i = 0; i < SW_RECLAIM_STRIPES; i++, stripe += SW_RECLAIM_STRIPE)
        inside |= atomic_load_explicit(stripe + SW_RECLAIM_SEAT, memory_order_seq_cst) |
                  atomic_load_explicit(stripe + SW_RECLAIM_CROWD, memory_order_seq_cst);
    return inside == 0;
}

/* Looks at the counters of one side that were not yet seen at zero. */
static void look(struct sw_reclaim *grace, unsigned side)
{
    if (grace->unseen[side] == UINT32_MAX && is_empty(grace, side))
        grace->unseen[side] = 0;
    uint32_t left = grace->unseen[side];
    for (unsigned i = 0; i < COUNTERS && left >> i; i++)
        if ((left >> i & 1) && atomic_load_explicit(counter(grace, i, side), memory_order_seq_cst) == 0)
            grace->unseen[side] &= ~(UINT32_C(1) << i);
}

bool sw_reclaim_poll(struct sw_reclaim *grace)
{
    if (!grace->waiting) {
        if (!grace->fresh)
            return true;
        grace->waiting = grace->fresh;
        grace->fresh = NULL;
        grace->unseen[0] = grace->unseen[1] = UINT32_MAX;
    }
    look(grace, 0);
    look(grace, 1);
    if (!grace->unseen[0] && !grace->unseen[1]) {
        release_all(grace, &grace->waiting);
        return !grace->fresh;
    }
    /* Send new readers away from a side that must drain, once the other one is done with. */
    if (!grace->unseen[0] || !grace->unseen[1])
        atomic_store_explicit(&grace->side, grace->unseen[0] ? 1 : 0, memory_order_relaxed);
    return false;
}

void sw_reclaim_flush(struct sw_reclaim *grace)
{
    release_all(grace, &grace->waiting);
    release_all(grace, &grace->fresh);
}
