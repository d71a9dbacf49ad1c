/* Where a stack goes on behind code that no table describes and whose instructions do not say it. */
#ifndef SNAPSTACKS_SEARCH_H
#define SNAPSTACKS_SEARCH_H

#include <snapwalk/walk.h>

#include <stdbool.h>

/* Whether a walk came to the thread's clean root. */
static inline bool stop_is_root(enum sw_stop stop)
{
    return stop >= SW_STOP_ROOT && stop <= SW_STOP_ROOT_BASE;
}

/*
 * Searches the stack from a walk's last frame on for a return address into a file from which a walk by tables alone
 * comes to the thread's clean root, or to other such code. What it finds is a guess, which these tables bear out:
 * frames between the two are missing, and where its caller calls by a pointer it may be of an earlier call from there.
 * x64 only. scratch: not in use by a walk that goes on.
 *
 * images  Those of the walker.
 * last    The walk's last frame.
 * caller  Receives the registers at the return address: pc and sp.
 */
bool search_caller(const struct sw_walker *walker, const struct sw_images *images, struct sw_scratch *scratch,
                   const struct sw_frame *last, struct sw_regs *caller);

#endif
