/*
 * Safe memory reclamation: when may memory be freed that a reader could still be looking at?
 *
 * Readers of a shared structure announce themselves (enter, leave). The one writer unlinks a block, retires it, and
 * polls. A block is released once every reader that was inside when it was retired has left. Nobody ever waits.
 * Entering costs an atomic exchange and leaving a store; where readers collide, entering costs a failed exchange more.
 * A reader that is stuck inside keeps only the blocks retired since it entered.
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
 * A stripe has three slots and a counter on each side. A slot holds the address of the section that owns it, or 0. A
 * reader that exchanges its address for 0 is alone there, so it may leave by a plain store, which on many processors
 * costs a fraction of an atomic operation. Where all slots of a side are taken, it counts itself. Each owner of a slot
 * reads the 0 that the owner before stored on leaving. So seeing the last 0 means that all of them have left.
 *
 * A reader may also be gone without leaving: its thread was cancelled, it was left by longjmp, or it is one of a
 * parent process. A section lies in its holder's stack frame, and as long as it is open it says there in which slot,
 * and of which thread. So where it says anything else, or where that thread is no more, the section is over, and its
 * slot counts as seen at zero. A reader that leaves frees its slot first, and says then that it is no longer open: so
 * nobody stores to a slot that the writer has taken, which is another reader's by then. The writer reads the frame by
 * a reader that cannot fault, and only when it has polled in vain some times. What is left of a frame may look like an
 * open section for a while, until the stack is used again; never the other way round. Readers that had to count
 * themselves, more than 48 at a time, cannot be told: sw_reclaim_forget_readers.
 */
#ifndef SW_COMMON_RECLAIM_H
#define SW_COMMON_RECLAIM_H

#include "common/present.h"

#include <snapwalk/status.h>

#include <stdatomic.h>

/* A stripe is a cache line: of each side the slots, and behind them the counter. */
enum { SW_RECLAIM_STRIPES = 16, SW_RECLAIM_SIDE = 4, SW_RECLAIM_STRIPE = 2 * SW_RECLAIM_SIDE };
enum { SW_RECLAIM_SLOTS = SW_RECLAIM_SIDE - 1, SW_RECLAIM_COUNTER = SW_RECLAIM_SLOTS };
#define SW_RECLAIM_OPEN UINT64_C(0xb5ad4eceda1ce200) /* + number of the slot */

/*
 * A reader section: a local variable of whoever opens it. mark: SW_RECLAIM_OPEN + slot as long as it is open. thread:
 * whose it is.
 */
struct sw_section {
    _Atomic uint64_t mark;
    _Atomic uint64_t thread;
};

/* The head of every block that can be retired. Readers do not touch it. */
struct sw_retired {
    struct sw_retired *next;
    size_t size; /* of the whole block, for `release` */
};

struct sw_reclaim {
    _Atomic uint64_t readers[SW_RECLAIM_STRIPES * SW_RECLAIM_STRIPE];
    _Atomic uint32_t side; /* where new readers go */
    /* From here on for the writer only. */
    uint32_t polls;             /* in vain since `waiting` was filled */
    uint64_t undrained[2];      /* by side, a bit for each slot not yet seen at zero since `waiting` was filled */
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

/* In the child of fork, which has one thread: forgets all readers. That thread must not be inside. */
void sw_reclaim_forget_readers(struct sw_reclaim *reclaim);

/* Where the home slot is taken: another one, or the counter. */
void sw_reclaim_enter_elsewhere(struct sw_reclaim *reclaim, struct sw_section *section, uint32_t home);

/*
 * Opens and closes a reader section. A section is closed where it lies, from any thread. Sections nest. Wait-free,
 * signal safe.
 */
static inline void sw_reclaim_enter(struct sw_reclaim *reclaim, struct sw_section *section)
{
    /* Stacks are whole pages apart: drop the offset in the page, spread the rest over the stripes. */
    const uint64_t here = (uint64_t)(uintptr_t)section;
    const uint32_t stripe = (uint32_t)(((here >> 12) * UINT64_C(0x9e3779b97f4a7c15)) >> 60) % SW_RECLAIM_STRIPES;
    const uint32_t side = atomic_load_explicit(&reclaim->side, memory_order_relaxed);
    const uint32_t home = stripe * SW_RECLAIM_STRIPE + side * SW_RECLAIM_SIDE;
    uint64_t nobody = 0;
    atomic_store_explicit(&section->thread, sw_thread_pointer(), memory_order_relaxed);
    atomic_store_explicit(&section->mark, SW_RECLAIM_OPEN + home, memory_order_relaxed);
    if (!atomic_compare_exchange_strong_explicit(&reclaim->readers[home], &nobody, here, memory_order_seq_cst,
                                                 memory_order_relaxed))
        sw_reclaim_enter_elsewhere(reclaim, section, home);
}

static inline void sw_reclaim_leave(struct sw_reclaim *reclaim, struct sw_section *section)
{
    const uint64_t mark = atomic_load_explicit(&section->mark, memory_order_relaxed);
    const uint32_t slot = (uint32_t)(mark - SW_RECLAIM_OPEN) % (SW_RECLAIM_STRIPES * SW_RECLAIM_STRIPE);
    if (slot % SW_RECLAIM_SIDE == SW_RECLAIM_COUNTER)
        atomic_fetch_sub_explicit(&reclaim->readers[slot], 1, memory_order_release);
    else
        atomic_store_explicit(&reclaim->readers[slot], 0, memory_order_release);
    /* Not before: the writer takes the slot of a section that is over, and this reader must not store to it then. */
    atomic_store_explicit(&section->mark, 0, memory_order_release);
}

#endif
