/*
 * The thread table: what a runtime knows about its threads.
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
    SW_MODE_UNKNOWN = 0, /* not stated: the code at the top of the stack decides */
    SW_MODE_COOPERATIVE, /* in managed code or runtime helpers */
    SW_MODE_PREEMPTIVE   /* outside: in a platform invoke, a wait */
};

/* Facts about a thread, for the checks of the contract (clr-contract.md section 1). */
#define SW_THREAD_GC_SPECIAL       1u   /* a GC worker: the contract does not count it as a managed thread */
#define SW_THREAD_FORBID_SUSPEND   2u   /* in a region where it must not be suspended */
#define SW_THREAD_HIJACK_LOCKED    4u   /* its return address is being changed now */
#define SW_THREAD_EXCEPTION_PASS2  8u   /* an exception's second pass has begun; no managed handler was entered yet */
#define SW_THREAD_EXCEPTION_BROKEN 16u  /* its exception state is inconsistent */
#define SW_THREAD_RAN_MANAGED      32u  /* has run managed code */
#define SW_THREAD_UNSTARTED        64u  /* created, but not running yet */
#define SW_THREAD_RESUMABLE_TOP    128u /* parked at a resumable transition record that returns to managed code */
#define SW_THREAD_IN_SYSTEM_CALL   256u /* in the kernel: Windows does not vouch for a stopped thread's registers */

/*
 * A transition record: the runtime's note that a thread left managed code here (an explicit frame of the CLR). The
 * records of a thread are ordered from the leaf, by rising address.
 *
 * address  Where the record is on the stack. It is compared with stack pointers.
 * has_method  The record names a method (a prestub, a helper frame). This matters only for walks without frames.
 * exact    The pc was being executed: the thread was stopped or faulted there. Otherwise pc is a return address.
 * resumable  The runtime has parked the thread here: it has sent it to its own code, or replaced a return address. Of
 *          the first record that leads to managed code it counts as SW_THREAD_RESUMABLE_TOP does where coreclr-windows
 *          has stopped the thread.
 * regs     The registers of the managed frame that was left, with its pc: a walk continues from them. known == 0 if the
 *          record leads to no managed frame. Registers that it has count more than those that a walk has come to.
 * context_flags  ContextFlags of the CONTEXT that the runtime noted, as of a fault: in the coreclr flavours callbacks
 *          have them from that frame on. 0: there is none.
 */
struct sw_transition {
    uint64_t address;
    bool has_method;
    bool exact;
    bool resumable;
    struct sw_regs regs;
    uint32_t context_flags;
};

/*
 * One thread in the table.
 *
 * id           The ThreadID. Not 0; unique.
 * os_id        The operating system's id of the thread. It is passed to the suspender.
 * stack_begin, stack_end  As in struct sw_walker; 0, 0 if unknown.
 * flags        SW_THREAD_*.
 * transitions  Its transition records. Borrowed until the thread is updated or removed. May be null.
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
 * Asks the runtime about a thread at the moment of a walk. Its answers replace the mode, flags and transition records
 * in the table. The functions must be as safe as the place that walks are made from.
 *
 * update    Changes mode and flags of *thread, which is a copy. Called when the target is looked up, again when the
 *           engine has stopped it, and where its leaf returns to native code. What it makes of the engine's
 *           walker->replaced counts from then on.
 * record    Reports the next transition record, from the leaf, and advances *cursor, which is 0 at first. False: there
 *           are no more.
 * unwound   Reports the part [*low, *high) of the stack that the next exception in flight has unwound, the innermost
 *           exception first, and advances *cursor, which is 0 at first. Frames with an sp in that part are still on the
 *           stack, but no longer exist for the runtime. False: there are no more.
 * function  Returns the FunctionID of the precompiled method at `address`, where the code map has no id. 0: none, as
 *           where the runtime has not prepared the method. May be asked about any address in such a method.
 * arg       Passed to each function. Borrowed.
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
 * Makes an empty thread table; frees a table (NULL is allowed).
 *
 * wait     Called while a removal waits for walks, as the wait of struct sw_suspender. May be null.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY.
 * Threads  Any. Destroy: no other call may be using the table. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_threads_create(const struct sw_alloc *alloc,
                                                     void (*wait)(void *arg, unsigned round), void *wait_arg,
                                                     struct sw_threads **threads);
SW_API void sw_threads_destroy(struct sw_threads *threads);

/*
 * Adds a thread (ThreadCreated).
 *
 * Returns  SW_OK; SW_E_ARGUMENT (null, id 0); SW_E_EXISTS; SW_E_NO_MEMORY; SW_E_BUSY (another writer is active).
 * Memory   Blocks of 64 threads. They are reused after removals, and freed by destroy.
 * Threads  One writer at a time, and any number of walks. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_threads_add(struct sw_threads *threads, const struct sw_thread *thread);

/*
 * Removes a thread (ThreadDestroyed). New walks of the thread are refused at once. The call waits until the current
 * walks of this thread are over; it waits for no other walks.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND; SW_E_BUSY (another writer is active; a removal that waits does not
 *          count).
 * Threads  As sw_threads_add, but other threads may add and remove while this call waits. Must not be called from a
 *          callback of a walk of the same thread: it would wait for itself.
 * Signals  Not safe.
 * Source   contract-documented.md D23.
 */
SW_API SW_NODISCARD enum sw_status sw_threads_remove(struct sw_threads *threads, uint64_t id);

/*
 * Replaces mode, flags, stack bounds and transition records of a thread. id and os_id must be those that were added; an
 * os_id of 0 may be set once (ThreadAssignedToOSThread).
 *
 * Returns  SW_OK; SW_E_ARGUMENT (null, id 0, another os_id); SW_E_NOT_FOUND; SW_E_BUSY (a walk holds the thread,
 *          another writer is active, or lookups of this thread never pause). Nothing has changed unless SW_OK.
 * Memory   Allocates nothing. Threads  One writer at a time. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_threads_update(struct sw_threads *threads, const struct sw_thread *thread);

/*
 * Finds a thread by its id, or by its OS id.
 *
 * thread   Receives a copy. May be null.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (unknown, removed, or being removed); SW_E_ARGUMENT (threads null).
 * Memory   Allocates nothing. Searches the whole table. Threads  Any, wait-free. Signals  Safe.
 */
SW_API SW_NODISCARD enum sw_status sw_threads_find(const struct sw_threads *threads, uint64_t id,
                                                   struct sw_thread *thread);
SW_API SW_NODISCARD enum sw_status sw_threads_find_os(const struct sw_threads *threads, uint64_t os_id,
                                                      struct sw_thread *thread);

/*
 * Holds a thread, as walks do: its removal waits until it is released. Holds nest, and do not keep a walk out.
 *
 * thread   Receives a copy.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (unknown, removed, or being removed); SW_E_ARGUMENT.
 * Memory   Allocates nothing. Threads  Any, wait-free. Signals  Safe.
 */
SW_API SW_NODISCARD enum sw_status sw_threads_hold(struct sw_threads *threads, uint64_t id, struct sw_thread *thread);
SW_API void sw_threads_release(struct sw_threads *threads, uint64_t id);

/*
 * Lists the ids of the threads, in the order in which they were added.
 *
 * ids      Receives the first `capacity` ids. May be null if capacity is 0.
 *
 * Returns  How many threads there are. A thread added or removed meanwhile may count or not.
 * Memory   Allocates nothing; therefore its time grows with the square of the number of threads.
 * Threads  Any. Signals  Safe.
 */
SW_API size_t sw_threads_list(const struct sw_threads *threads, uint64_t *ids, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
