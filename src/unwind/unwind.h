/*
 * One step of unwinding the long way: the code around a frame's pc, and the caller by the first source that leads to
 * one.
 */
#ifndef SW_UNWIND_H
#define SW_UNWIND_H

#include "unwind/request.h"

/*
 * What was found about a frame's caller.
 *
 * stop    NONE: there is a caller. A root: the frame is the outermost one. Others: no source led to a caller.
 * fault   Of a cut: what the best source met.
 * rule    Of the best candidate; null where no source led to a caller. caller: where it leads, where stop is NONE. Both
 * lie in the workspace until the next question.
 * depends, unconfirmed, pointed, is_searched, function  As in struct sw_candidate.
 */
struct sw_found {
    enum sw_stop stop;
    struct sw_fault fault;
    const struct sw_rule *rule;
    const struct sw_regs *caller;
    enum sw_depends depends;
    uint8_t unconfirmed;
    uint8_t pointed;
    bool is_searched;
    uint64_t function;
};

/* Asks the sources in their order until one leads to a caller or to the end, and chooses. Inside a reader section. */
void sw_unwind(const struct sw_unwind_request *req, struct sw_found *found);

/*
 * Completes a frame whose regs, exact and lookup are set: its code, and the rule that comes with CoreCLR's JIT code.
 * Inside a reader section.
 */
void sw_unwind_find_code(const struct sw_unwind_request *req, struct sw_frame *frame);

/* Whether all that can be known of an address' code is that its image is native. */
static inline bool sw_is_native(const struct sw_walker *walker, const struct sw_image_entry *image)
{
    return image && !image->has_clr && !walker->codemap;
}

/*
 * Whether a frame of managed code was interrupted although nothing says so: CoreCLR's fault handler makes the faulting
 * pc look like a return address, without a signal frame. Managed code has no return address without a call in front of
 * it. The frame's code is found. Inside a reader section.
 */
bool sw_unwind_was_interrupted(const struct sw_unwind_request *req);

/* A stop that is a clean root, not a cut. */
static inline bool sw_stop_is_root(enum sw_stop stop)
{
    return stop == SW_STOP_ROOT || stop == SW_STOP_ROOT_ZERO || stop == SW_STOP_ROOT_BASE;
}

#endif
