/*
 * This process as a target: its memory, its threads, itself from a signal handler. Linux.
 */
#ifndef SNAPWALK_SELF_H
#define SNAPWALK_SELF_H

#include <snapwalk/thread.h>
#include <snapwalk/walk.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A reader of this process's own memory that cannot fault.
 *
 * Returns  A reader without a window. Memory  None. Threads  Any.
 * Signals  Safe (two system calls a read of up to 256 KiB).
 */
struct sw_memory sw_self_memory(void);

/*
 * The bounds of the calling thread's stack.
 *
 * Returns  SW_OK; SW_E_OS; SW_E_ARGUMENT. Threads  Any.
 * Signals  Not safe: call it when the thread starts, keep the answer.
 */
SW_NODISCARD enum sw_status sw_self_stack(uint64_t *begin, uint64_t *end);

/*
 * Registers of the calling thread at the return address of this call: the nonvolatile ones, sp and pc.
 *
 * Memory   None. Threads  Any. Signals  Safe.
 */
void sw_self_capture(struct sw_regs *regs);

/*
 * A walker for this machine over this process, with the calling thread's stack bounds. Its window is the part of that
 * stack that is mapped now; deeper frames of a stack that grows later are read by system calls. On ARM64 its pac_mask
 * is what this processor strips: signed return addresses of any width are understood. A walker that is made by hand for
 * this process copies it from here.
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
 * Installs the signal's handler; destroy puts back what was there. One suspender per signal, any number per process.
 *
 * signal   A real-time signal that nothing handles; 0 for the first such one from SIGRTMIN + 6 on.
 * capacity 1 to 65536: threads suspended at once.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_BUSY (the signal has a handler already); SW_E_NO_MEMORY; SW_E_OS.
 * Threads  Any; destroy: nobody may be inside, threads that are still suspended are resumed. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_self_suspender_create(const struct sw_alloc *alloc, int signal, size_t capacity,
                                                     struct sw_self_suspender **self);
void sw_self_suspender_destroy(struct sw_self_suspender *self);

/*
 * The suspender's functions, to put into an engine. `self` is borrowed.
 *
 * suspend answers SW_E_GONE for a thread that has ended or is none of this process, SW_E_BUSY when the thread does not
 * answer within a second (it blocks the signal, say) or all slots are taken, SW_E_ARGUMENT for the calling thread
 * itself; resume SW_E_NOT_FOUND for a thread that is not suspended. A suspended thread runs nothing, signal handlers
 * neither; a system call that it was in may end with EINTR where SA_RESTART does not apply. Two threads that suspend
 * each other at once wait for each other: let one thread do it.
 *
 * Threads  Any. Signals  current, capture, suspend and resume are safe.
 */
struct sw_suspender sw_self_get_suspender(struct sw_self_suspender *self);

#ifdef __cplusplus
}
#endif

#endif
