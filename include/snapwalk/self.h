/*
 * This process as a target: its memory, its stacks, its own registers, in signal handlers too, and on Windows while
 * other threads stand suspended. Linux; Windows on x64.
 */
#ifndef SNAPWALK_SELF_H
#define SNAPWALK_SELF_H

#include <snapwalk/walk.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A reader of this process's own memory. It cannot fault. On Windows what is readable, and no guard page, is copied
 * from where it is. If it is freed in that very moment, the fault is caught inside: that takes locks of the system's
 * exception dispatch, which a suspended thread may hold, and which it does not take otherwise.
 *
 * Returns  A reader without a window. Memory  None. Threads  Any.
 * Signals  Safe. A read of up to 256 KiB takes two system calls; on Windows one for each piece of equal rights.
 */
SW_API struct sw_memory sw_self_memory(void);

/*
 * Finds the bounds of the calling thread's stack.
 *
 * begin    Receives the lowest address.
 * end      Receives one past the highest address.
 *
 * Returns  SW_OK; SW_E_OS; SW_E_ARGUMENT. Threads  Any.
 * Signals  Not safe. Call it when the thread starts, and keep the result.
 */
SW_API SW_NODISCARD enum sw_status sw_self_stack(uint64_t *begin, uint64_t *end);

/*
 * Captures the registers of the calling thread, as they are when this call returns: the nonvolatile ones, sp and pc. On
 * Windows rsi and rdi are among them.
 * The pc is the return address of this call.
 *
 * Memory   None. Threads  Any. Signals  Safe.
 */
SW_API void sw_self_capture(struct sw_regs *regs);

/*
 * Makes a walker for this machine and process, with the bounds of the calling thread's stack. Its window is the part of
 * that stack that is mapped now. If the stack grows later, the new part is read by system calls. On ARM64 its pac_mask
 * is what this processor removes from signed addresses, whatever their width. If you make a walker for this process by
 * hand, copy the pac_mask of this one. Its budget is SW_WALK_BUDGET_DEFAULT. It has neither caches nor replay memory:
 * where code without tables is walked more than once, give it an analysis cache and a rule cache.
 *
 * codemap  Borrowed. May be null.
 * images   Borrowed. May be null.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_OS. Threads  Any. Signals  Not safe; walks with the walker are.
 */
SW_API SW_NODISCARD enum sw_status sw_self_walker(struct sw_walker *walker, const struct sw_codemap *codemap,
                                                  const struct sw_images *images);

/*
 * The kernel's id of the calling thread (Windows: GetCurrentThreadId). Threads  Any. Signals  Safe.
 */
SW_API uint64_t sw_self_thread(void);

#ifdef __cplusplus
}
#endif

#endif
