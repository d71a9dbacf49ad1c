/*
 * Safe reclamation: when may memory be given back that a reader could still be looking at?
 *
 * Readers of a shared structure announce themselves (enter, leave); the one writer unlinks a block, retires it, and
 * polls. A block is released once every reader that was inside when it was retired has left. Nobody ever waits: a
 * reader is an exchange and a store, or two additions and an exchange in vain where readers meet; and a reader that is
 * stuck inside only keeps the blocks retired since it entered.
 *
 * What the user must do, so that it is true:
 *  - every pointer that leads a reader to a block is stored and loaded with memory_order_seq_cst;
 *  - readers load them between enter and leave only, and keep nothing of them after leave;
 *  - retire, poll and flush are called by one writer at a time; retire comes after the last such pointer is gone.
 *
 * Why it is right: a counter of readers that the writer saw at zero after the unlinking proves that nobody who came in
 * through that counter before is left; whoever comes later is, in the single order of seq_cst operations, behind the
 * unlinking and cannot find the block. So it is enough to see each counter at zero once, at any time. The counters
 * come in two sides only to let one side drain while new readers use the other; and in stripes so that threads do not
 * share a cache line. A stripe is chosen by the stack address: no thread-local storage, no system call, so all of it
 * works in a signal handler, also one that interrupts a reader or the writer.
 *
 * A stripe has two kinds of counters. The seat counts to one: who exchanges 1 for 0 has it, and being alone there may
 * leave by a plain store, which on many processors costs a fraction of an atomic operation. Who gets 1 for 1 has
 * changed nothing, and is counted with the crowd. A handler that interrupts the owner of the seat, or a thread that
 * fell on the same stripe, so goes to the crowd; one that comes just before or after finds the seat free. Each owner of
 * a seat reads the 0 that the one before stored on leaving: to have seen the last 0 is to have seen them all leave.
 */
#ifndef SW_RECLAIM_H
#define SW_RECLAIM_H

#include <snapwalk/status.h>

#include <stdatomic.h>

/* Counters: a stripe is a cache line of them, in which two kinds have two sides each. */
enum { SW_RECLAIM_STRIPES = 16, SW_RECLAIM_STRIPE = 64 / sizeof(uint32_t) };
enum { SW_RECLAIM_SEAT = 0, SW_RECLAIM_CROWD = 2 };

/* The head of every block that can be retired. Readers do not touch it. */
struct sw_retired {
    struct sw_retired *next;
    size_t size; /* of the whole block, for `release` */
};

struct sw_reclaim {
    _Atomic uint32_t readers[SW_RECLAIM_STRIPES * SW_RECLAIM_STRIPE]; /* of a stripe: stripe + kind + side */
    _Atomic uint32_t side;                                        /* where new readers go */
    /* From here on the writer's own. */
    uint32_t unseen[2];         /* by side: counters not yet seen at zero since `waiting` was filled */
    struct sw_retired *waiting; /* blocks whose grace period runs */
    struct sw_retired *fresh;   /* blocks retired since it began */
    void (*release)(void *arg, struct sw_retired *block);
    void *arg;
};

/*
 * Makes a grace without readers and blocks. `release` gives back one block; it is called from poll and flush only.
 */
void sw_reclaim_init(struct sw_reclaim *grace, void (*release)(void *arg, struct sw_retired *block), void *arg);

/* Hands over a block that no new reader can reach. Allocates nothing. */
void sw_reclaim_retire(struct sw_reclaim *grace, struct sw_retired *block);

/* Releases what can be released now. True when nothing is left. Never waits. */
bool sw_reclaim_poll(struct sw_reclaim *grace);

/* Releases everything; no reader may be inside. */
void sw_reclaim_flush(struct sw_reclaim *grace);

/*
 * Enters the reader section and leaves it: what enter answers is given to leave, by any thread. Sections nest.
 * Wait-free, signal safe.
 */
static inline uint32_t sw_reclaim_enter(struct sw_reclaim *grace)
{
    /* Stacks lie whole pages apart: drop the offset in the page, spread the rest over the stripes. */
    const char here = 0;
    const uint64_t page = (uint64_t)(uintptr_t)&here >> 12;
    const uint32_t stripe = (uint32_t)((page * UINT64_C(0x9e3779b97f4a7c15)) >> 60) % SW_RECLAIM_STRIPES;
    const uint32_t seat = stripe * SW_RECLAIM_STRIPE + atomic_load_explicit(&grace->side, memory_order_relaxed);
    if (atomic_exchange_explicit(&grace->readers[seat], 1, memory_order_seq_cst) == 0)
        return seat;
    atomic_fetch_add_explicit(&grace->readers[seat + SW_RECLAIM_CROWD], 1, memory_order_seq_cst);
    return seat + SW_RECLAIM_CROWD;
}

static inline void sw_reclaim_leave(struct sw_reclaim *grace, uint32_t ticket)
{
    if (ticket & SW_RECLAIM_CROWD)
        atomic_fetch_sub_explicit(&grace->readers[ticket], 1, memory_order_release);
    else
        atomic_store_explicit(&grace->readers[ticket], 0, memory_order_release);
}

#endif
