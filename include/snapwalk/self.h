/*
 * This process as a target: its memory, its stacks, itself from a signal handler. Linux.
 */
#ifndef SNAPWALK_SELF_H
#define SNAPWALK_SELF_H

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

#ifdef __cplusplus
}
#endif

#endif
