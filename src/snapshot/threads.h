/* The thread table from the inside. */
#ifndef SW_SNAPSHOT_THREADS_H
#define SW_SNAPSHOT_THREADS_H

#include <snapwalk/thread.h>

/* A thread that is held, as the table knows it: its slot. block null: none. */
struct sw_held {
    struct sw_thread_slots *block;
    unsigned at;
};

/* The id of the thread with that OS id; 0: there is none. */
uint64_t sw_threads_id_of(const struct sw_threads *threads, uint64_t os_id);

/* As sw_threads_hold, and says in *held what to release. On failure *held is none, which may be released, too. */
enum sw_status sw_threads_enter(struct sw_threads *threads, uint64_t id, struct sw_thread *thread,
                                struct sw_held *held);
void sw_threads_leave(struct sw_held held);

/*
 * Locks a held thread for one walk: there is at most one walk of a thread at a time, as in the CLR, whose walks hold
 * the lock of the thread's return address (clr-contract.md section 1, row 5). Waits for nobody.
 *
 * walker   Who walks; not 0.
 *
 * Returns  0: the thread is locked, until sw_threads_unlock. Otherwise who is walking it.
 */
uint64_t sw_threads_lock(struct sw_held held, uint64_t walker);
void sw_threads_unlock(struct sw_held held);

#ifndef NDEBUG
/*
 * What always holds of the table, while no other writer is inside; asserted in builds for tests (make ASSERTS=1), not
 * there in others: free slots are closed, an id is in one open slot at most, and facts are those of their thread.
 */
bool sw_threads_is_valid(const struct sw_threads *threads);
#endif

#endif
