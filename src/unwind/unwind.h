/*
 * One step of unwinding the long way: the code around a frame's pc, and the caller by the first source that leads to one.
 */
#ifndef SW_UNWIND_H
#define SW_UNWIND_H

#include "unwind/request.h"

/*
 * What the answer depends on beside the code at pc.
 *
 * CODE   Nothing: the same rule holds whenever the same pc comes by.
 * CALL   The call in front of the caller's pc. The rule holds with the trust that it has behind a call of `function`,
 *        otherwise with the trust `unconfirmed`; NONE: then it does not hold at all.
 * STACK  What was on the stack: nothing can be said of the next time.
 */
enum sw_depends { SW_DEPENDS_CODE = 0, SW_DEPENDS_CALL, SW_DEPENDS_STACK };

/*
 * What was found about a frame's caller. The rule is in req->work->rule, the caller's registers in req->work->caller.
 *
 * stop   NONE: there is a caller. A root: the frame is the outermost one. Others: no source led to a caller.
 * fault  Of a cut: what the best source met.
 */
struct sw_found {
    enum sw_stop stop;
    struct sw_fault fault;
    enum sw_depends depends;
    uint8_t unconfirmed;
    uint64_t function;
};

/* Asks the sources in their order until one leads to a caller or to the end. Inside a reader section. */
void sw_unwind(const struct sw_unwind_request *req, struct sw_found *found);

/*
 * Completes a frame whose regs, exact and lookup are set: its code, and the rule that comes with CoreCLR's JIT code.
 * Inside a reader section.
 */
void sw_unwind_find_code(const struct sw_unwind_request *req, struct sw_frame *frame);

/*
 * Whether a frame of managed code was interrupted although nothing says so: CoreCLR's fault handler makes the faulting
 * pc look like a return address, without a signal frame. Managed code has no return address without a call in front of
 * it. Inside a reader section.
 */
bool sw_unwind_was_interrupted(const struct sw_unwind_request *req);

/* A stop that is a clean root, not a cut. */
static inline bool sw_stop_is_root(enum sw_stop stop)
{
    return stop == SW_STOP_ROOT || stop == SW_STOP_ROOT_ZERO || stop == SW_STOP_ROOT_BASE;
}

#endif
