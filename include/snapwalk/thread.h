/*
 * The thread table: what a runtime knows of its threads.
 */
#ifndef SNAPWALK_THREAD_H
#define SNAPWALK_THREAD_H

#include <snapwalk/alloc.h>
#include <snapwalk/regs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a thread runs managed code (or runtime helpers that may touch managed objects), or code outside it. */
enum sw_mode {
    SW_MODE_UNKNOWN = 0, /* nobody said; the code at the top of the stack decides */
    SW_MODE_COOPERATIVE, /* in managed code or runtime helpers */
    SW_MODE_PREEMPTIVE   /* in a platform invoke, a wait, anything outside */
};

/* Facts about a thread that the contract's checks ask for (clr-contract.md section 1). */
#define SW_THREAD_GC_SPECIAL       1u   /* a GC worker: not a managed thread for the contract */
#define SW_THREAD_FORBID_SUSPEND   2u   /* in a region in which it must not be suspended */
#define SW_THREAD_HIJACK_LOCKED    4u   /* its return address is being changed this moment */
#define SW_THREAD_EXCEPTION_PASS2  8u   /* an exception's second pass has begun, no managed handler entered yet */
#define SW_THREAD_EXCEPTION_BROKEN 16u  /* its exception state is inconsistent */
#define SW_THREAD_RAN_MANAGED      32u  /* has run managed code */
#define SW_THREAD_UNSTARTED        64u  /* known, but has not started to run yet */
#define SW_THREAD_RESUMABLE_TOP    128u /* parked at a resumable transition record that returns to managed code */

/*
 * A transition record: a note of the runtime that managed code was left here (an explicit frame of the CLR).
 * regs are the registers of the managed frame that was left, with its pc, to go on from; records of a thread are
 * ordered from the leaf, address rising.
 *
 * address  Where the record lies on the stack; compared with stack pointers.
 * has_method  The record names a method (a prestub, a helper frame): matters only for empty walks.
 * exact    pc was being executed: the thread was stopped there, or faulted. Otherwise it is a return address.
 * regs     known == 0 when the record leads to no managed frame.
 */
struct sw_transition {
    uint64_t address;
    bool has_method;
    bool exact;
    struct sw_regs regs;
};

/*
 * One thread as the table keeps it.
 *
 * id           ThreadID, non-zero, unique.
 * os_id        The operating system's id, handed to the suspender.
 * stack_begin, stack_end  As in struct sw_walker; 0, 0 when not known.
 * mode, flags  enum sw_mode, SW_THREAD_*.
 * transitions  Borrowed until changed or removed; may be null.
 */
struct sw_thread {
    uint64_t id;
    uint64_t os_id;
    uint64_t stack_begin;
    uint64_t stack_end;
    enum sw_mode mode;
    uint32_t flags;
    const struct sw_transition *transitions;
    size_t transition_count;
};

/*
 * What the runtime itself tells of a thread at the moment of a walk, in place of the mode, flags and transition records
 * that the table keeps. Must be as safe as the place that walks are made from.
 *
 * look      Changes mode and flags of the copy that it is given.
 * record    The record behind `*cursor` (0: the innermost), which it moves on. False: there is none.
 * dead      The part [*low, *high) of the stack that the exception behind `*cursor` (0: the innermost), which moves on,
 *           has unwound: frames whose sp is in it are there still, but gone for the runtime. False: there is none.
 * function  The FunctionID of the precompiled method around an address, which the code map does not know; 0: none.
 * arg       Borrowed; handed to each.
 */
struct sw_inspector {
    void (*update)(void *arg, struct sw_thread *thread);
    bool (*record)(void *arg, const struct sw_thread *thread, uint64_t *cursor, struct sw_transition *record);
    bool (*unwound)(void *arg, const struct sw_thread *thread, uint64_t *cursor, uint64_t *low, uint64_t *high);
    uint64_t (*function)(void *arg, uint64_t address);
    void *arg;
};

struct sw_threads;

/*
 * Makes an empty thread table; gives it back (NULL is allowed).
 *
 * wait     As in struct sw_suspender: what a removal does while it waits for walks; may be null.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY. Threads  Any; destroy: nobody may be inside. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_threads_create(const struct sw_alloc *alloc, void (*wait)(void *arg, unsigned round),
                                              void *wait_arg, struct sw_threads **threads);
void sw_threads_destroy(struct sw_threads *threads);

/*
 * Adds a thread (ThreadCreated).
 *
 * Returns  SW_OK; SW_E_ARGUMENT (null, id 0); SW_E_EXISTS; SW_E_NO_MEMORY; SW_E_BUSY (another writer is inside).
 * Memory   Blocks of 64 threads, used again after removals and given back by destroy.
 * Threads  One writer at a time beside any number of walks. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_threads_add(struct sw_threads *threads, const struct sw_thread *thread);

/*
 * Removes a thread (ThreadDestroyed). New walks of it are refused at once; waits until the walks of that thread that
 * are going on are over, and for no others.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND; SW_E_BUSY (another writer is inside; not one that waits here).
 * Threads  As add, but others may add and remove while this one waits. Must not be called from a callback of a walk of
 *          the same thread: it would wait for itself.
 * Signals  Not safe.
 * Source   contract-documented.md D23.
 */
SW_NODISCARD enum sw_status sw_threads_remove(struct sw_threads *threads, uint64_t id);

/*
 * Replaces mode, flags, stack bounds and transition records of a thread; id and os_id must be those added
 * (os_id may be set once where it was 0: ThreadAssignedToOSThread).
 *
 * Returns  SW_OK; SW_E_ARGUMENT (null, id 0, another os_id); SW_E_NOT_FOUND; SW_E_BUSY (a walk holds the thread,
 *          another writer is inside, or lookups of this thread do not let up): nothing changed.
 * Memory   Allocates nothing. Threads  One writer at a time. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_threads_update(struct sw_threads *threads, const struct sw_thread *thread);

/*
 * Looks a thread up by its id, or by its OS id.
 *
 * thread   Receives a copy; may be null.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (unknown, dead, or being removed); SW_E_ARGUMENT (threads null).
 * Memory   Allocates nothing; looks at every slot of the table. Threads  Any, wait-free. Signals  Safe.
 */
SW_NODISCARD enum sw_status sw_threads_find(const struct sw_threads *threads, uint64_t id, struct sw_thread *thread);
SW_NODISCARD enum sw_status sw_threads_find_os(const struct sw_threads *threads, uint64_t os_id,
                                               struct sw_thread *thread);

/*
 * Holds a thread for a walk: until the release its removal waits. Nests.
 *
 * thread   Receives a copy.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (unknown, dead, or being removed); SW_E_ARGUMENT.
 * Memory   Allocates nothing. Threads  Any, wait-free. Signals  Safe.
 */
SW_NODISCARD enum sw_status sw_threads_hold(struct sw_threads *threads, uint64_t id, struct sw_thread *thread);
void sw_threads_release(struct sw_threads *threads, uint64_t id);

/*
 * The ids of the threads, in the order in which they were added.
 *
 * ids      Receives the first `capacity`; may be null when capacity is 0.
 *
 * Returns  How many there are. Threads added or removed meanwhile may or may not be among them.
 * Memory   Allocates nothing, so its time grows with the square of the number of threads. Threads  Any. Signals  Safe.
 */
size_t sw_threads_list(const struct sw_threads *threads, uint64_t *ids, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
