/*
 * Safe reclamation: when may memory be given back that a reader could still be looking at?
 *
 * Readers of a shared structure announce themselves (enter, leave); the one writer unlinks a block, retires it, and
 * polls. A block is released once every reader that was inside when it was retired has left. Nobody ever waits: a
 * reader is two atomic additions, and a reader that is stuck inside only keeps the blocks retired since it entered.
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
 */
#ifndef SW_GRACE_H
#define SW_GRACE_H

#include <snapwalk/status.h>

#include <stdatomic.h>

enum { SW_GRACE_STRIPES = 16, SW_GRACE_LINE_BYTES = 64 };

/* The head of every block that can be retired. Readers do not touch it. */
struct sw_retired {
    struct sw_retired *next;
    size_t size; /* of the whole block, for `release` */
};

struct sw_grace {
    struct sw_grace_stripe {
        _Atomic uint32_t readers[2]; /* by side */
        uint8_t apart[SW_GRACE_LINE_BYTES - 2 * sizeof(uint32_t)];
    } stripe[SW_GRACE_STRIPES];
    _Atomic uint32_t side; /* where new readers go */
    /* From here on the writer's own. */
    uint32_t unseen[2];          /* by side: stripes not yet seen at zero since `waiting` was filled */
    struct sw_retired *waiting;  /* blocks whose grace period runs */
    struct sw_retired *fresh;    /* blocks retired since it began */
    void (*release)(void *arg, struct sw_retired *block);
    void *arg;
};

/*
 * Makes a grace without readers and blocks. `release` gives back one block; it is called from poll and flush only.
 */
void sw_grace_init(struct sw_grace *grace, void (*release)(void *arg, struct sw_retired *block), void *arg);

/* Hands over a block that no new reader can reach. Allocates nothing. */
void sw_grace_retire(struct sw_grace *grace, struct sw_retired *block);

/* Releases what can be released now. True when nothing is left. Never waits. */
bool sw_grace_poll(struct sw_grace *grace);

/* Releases everything; no reader may be inside. */
void sw_grace_flush(struct sw_grace *grace);

/*
 * Enters the reader section and leaves it: what enter answers is given to leave, by any thread. Sections nest.
 * Wait-free, signal safe.
 */
static inline uint32_t sw_grace_enter(struct sw_grace *grace)
{
    /* Stacks lie whole pages apart: drop the offset in the page, spread the rest over the stripes. */
    const char here = 0;
    const uint64_t page = (uint64_t)(uintptr_t)&here >> 12;
    const uint32_t stripe = (uint32_t)((page * UINT64_C(0x9e3779b97f4a7c15)) >> 60) % SW_GRACE_STRIPES;
    const uint32_t side = atomic_load_explicit(&grace->side, memory_order_relaxed);
    atomic_fetch_add_explicit(&grace->stripe[stripe].readers[side], 1, memory_order_seq_cst);
    return stripe * 2 + side;
}

static inline void sw_grace_leave(struct sw_grace *grace, uint32_t ticket)
{
    atomic_fetch_sub_explicit(&grace->stripe[ticket / 2].readers[ticket % 2], 1, memory_order_release);
}

#endif
