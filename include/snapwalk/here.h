/*
 * The stack of the caller in one call, for a debug print or an assertion that failed. What walks often, or in a signal
 * handler, prepares a walker once instead (snapwalk/self.h).
 */
#ifndef SNAPWALK_HERE_H
#define SNAPWALK_HERE_H

#include <snapwalk/alloc.h>
#include <snapwalk/frame.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Walks the stack of the calling thread, from the caller of this function to the root: images of this process with
 * their tables, instructions where there are none, no budget.
 *
 * alloc    For images and working memory, which are given back before the call returns. Null: malloc and free.
 * sink     Called with each frame, leaf first; the frame is valid until it returns. If it returns false, the walk ends.
 *          name: the function, "?" if it is not known; offset: of the frame's pc in it.
 * stop     Receives why the walk ended. May be null.
 *
 * Returns  SW_OK (a walk that was cut too, see stop); SW_E_ARGUMENT; SW_E_NO_MEMORY; SW_E_OS; SW_E_UNSUPPORTED.
 * Memory   Allocates about a megabyte, and the tables of the images that the stack leads through. Less than 4 KiB of
 *          stack.
 * Threads  Any. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_here(const struct sw_alloc *alloc,
                                           bool (*sink)(void *arg, const struct sw_frame *frame, const char *name,
                                                        uint64_t offset),
                                           void *arg, enum sw_stop *stop);

#ifdef __cplusplus
}
#endif

#endif
