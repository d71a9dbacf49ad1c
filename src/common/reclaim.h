/*
 * Safe memory reclamation: when may memory be freed that a reader could still be looking at?
 *
 * Readers of a shared structure announce themselves (enter, leave). The one writer unlinks a block, retires it, and
 * polls. A block is released once every reader that was inside when it was retired has left. Nobody ever waits.
 * Entering costs an atomic exchange and leaving a store; where readers collide, entering costs a failed exchange and an
 * atomic addition, and leaving another addition. A reader that is stuck inside keeps only the blocks retired since it
 * entered.
 *
 * The user must guarantee:
 *  - Every pointer that leads a reader to a block is stored and loaded with memory_order_seq_cst.
 *  - Readers load these pointers between enter and leave only, and keep nothing of them after leave.
 *  - One writer at a time calls retire, poll and flush; retire comes after the last such pointer is gone.
 *
 * Why it is right: suppose the writer sees a counter at zero after the unlinking. Then every reader that came in
 * through that counter before the unlinking has left. A reader that comes later is behind the unlinking in the single
 * order of seq_cst operations, and cannot find the block. So it is enough to see each counter at zero once, at any
 * time. Each counter exists twice, on two sides, only so that one side can drain while new readers use the other; and
 * in stripes, so that threads do not share a cache line. The stripe is chosen by the stack address: no thread-local
 * storage and no system call, so all of it works in a signal handler, even one that interrupts a reader or the writer.
 *
 * A stripe has two kinds of counters. The fast slot holds 0 or 1. A reader that exchanges 1 for 0 owns the slot; it is
 * alone there, so it may leave by a plain store, which on many processors costs a fraction of an atomic operation. A
 * reader that gets 1 for 1 has changed nothing, and uses the shared counter instead. That happens to a handler that
 * interrupts the owner of the slot, and to a thread that falls on the same stripe; one that comes just before or after
 * finds the slot free. Each owner of a slot reads the 0 that the owner before stored on leaving. So seeing the last 0
 * means that all of them have left.
 */
#ifndef SW_COMMON_RECLAIM_H
#define SW_COMMON_RECLAIM_H

#include <snapwalk/status.h>

#include <stdatomic.h>

/* A stripe is a cache line of counters: two kinds, each with two sides. */
enum { SW_RECLAIM_STRIPES = 16, SW_RECLAIM_STRIPE = 64 / sizeof(uint32_t) };
enum { SW_RECLAIM_FAST = 0, SW_RECLAIM_SHARED = 2 };

/* The head of every block that can be retired. Readers do not touch it. */
struct sw_retired {
    struct sw_retired *next;
    size_t size; /* of the whole block, for `release` */
};

struct sw_reclaim {
    _Atomic uint32_t readers[SW_RECLAIM_STRIPES * SW_RECLAIM_STRIPE]; /* of a stripe: stripe + kind + side */
    _Atomic uint32_t side;                                            /* where new readers go */
    /* From here on for the writer only. */
    uint32_t undrained[2];      /* by side, a bit for each counter not yet seen at zero since `waiting` was filled */
    struct sw_retired *waiting; /* blocks that readers may still see */
    struct sw_retired *retired; /* blocks retired since `waiting` was filled */
    void (*release)(void *arg, struct sw_retired *block);
    void *arg;
};

/* Starts without readers and blocks. `release` frees one block; only poll and flush call it. */
void sw_reclaim_init(struct sw_reclaim *reclaim, void (*release)(void *arg, struct sw_retired *block), void *arg);

/* Hands over a block that no new reader can reach. Allocates nothing. */
void sw_reclaim_retire(struct sw_reclaim *reclaim, struct sw_retired *block);

/* Releases what can be released now. Returns true when nothing is left. Never waits. */
bool sw_reclaim_poll(struct sw_reclaim *reclaim);

/* Releases everything; no reader may be inside. */
void sw_reclaim_flush(struct sw_reclaim *reclaim);

/*
 * Opens and closes a reader section. The ticket of enter is passed to leave, from any thread. Sections nest. Wait-free,
 * signal safe.
 */
static inline uint32_t sw_reclaim_enter(struct sw_reclaim *reclaim)
{
    /* Stacks are whole pages apart: drop the offset in the page, spread the rest over the stripes. */
    const char here = 0;
    const uint64_t page = (uint64_t)(uintptr_t)&here >> 12;
    const uint32_t stripe = (uint32_t)((page * UINT64_C(0x9e3779b97f4a7c15)) >> 60) % SW_RECLAIM_STRIPES;
    const uint32_t slot = stripe * SW_RECLAIM_STRIPE + atomic_load_explicit(&reclaim->side, memory_order_relaxed);
    if (atomic_exchange_explicit(&reclaim->readers[slot], 1, memory_order_seq_cst) == 0)
        return slot;
    atomic_fetch_add_explicit(&reclaim->readers[slot + SW_RECLAIM_SHARED], 1, memory_order_seq_cst);
    return slot + SW_RECLAIM_SHARED;
}

static inline void sw_reclaim_leave(struct sw_reclaim *reclaim, uint32_t ticket)
{
    if (ticket & SW_RECLAIM_SHARED)
        atomic_fetch_sub_explicit(&reclaim->readers[ticket], 1, memory_order_release);
    else
        atomic_store_explicit(&reclaim->readers[ticket], 0, memory_order_release);
}

#endif
