/*
 * This process as a target: its memory, its threads, itself from a signal handler. Linux.
 */
#ifndef SNAPWALK_SELF_H
#define SNAPWALK_SELF_H

#include <snapwalk/thread.h>
#include <snapwalk/walk.h>

/*
 * A reader of this process's own memory that cannot fault.
 *
 * Returns  A reader without a window. Memory  None. Threads  Any. Signals  Safe (one system call a read).
 */
struct sw_memory sw_self_memory(void);

/*
 * The bounds of the calling thread's stack.
 *
 * Returns  SW_OK; SW_E_OS; SW_E_ARGUMENT. Threads  Any. Signals  Not safe: call it when the thread starts, keep the answer.
 */
SW_NODISCARD enum sw_status sw_self_stack(uint64_t *begin, uint64_t *end);

/*
 * Registers of the calling thread at the return address of this call: the nonvolatile ones, sp and pc.
 *
 * Memory   None. Threads  Any. Signals  Safe.
 */
void sw_self_capture(struct sw_regs *regs);

/*
 * A walker for this machine over this process, with the calling thread's stack bounds.
 *
 * codemap, images  Borrowed; may be null.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_OS. Threads  Any. Signals  Not safe; the walker made is.
 */
SW_NODISCARD enum sw_status sw_self_walker(struct sw_walker *walker, const struct sw_codemap *codemap,
                                           const struct sw_images *images);

/*
 * The kernel's id of the calling thread. Threads  Any. Signals  Safe.
 */
uint64_t sw_self_thread(void);

/*
 * A suspender for other threads of this process, by a signal whose handler parks the thread. At most `capacity`
 * threads suspended at once.
 */
struct sw_self_suspender;

/*
 * Installs the signal's handler; the last destroy puts back what was there.
 *
 * signal   A real-time signal that nothing else uses; 0 for SIGRTMIN + 6.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY; SW_E_OS. Threads  Any. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_self_suspender_create(const struct sw_alloc *alloc, int signal, size_t capacity,
                                                     struct sw_self_suspender **self);
void sw_self_suspender_destroy(struct sw_self_suspender *self);

/*
 * The suspender's functions, to put into an engine. `self` is borrowed.
 *
 * Threads  Any. Signals  current, capture, suspend and resume are safe.
 */
struct sw_suspender sw_self_suspender(struct sw_self_suspender *self);

#endif
