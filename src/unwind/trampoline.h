/*
 * Signal trampolines without tables, a source of rules.
 */
#ifndef SW_TRAMPOLINE_H
#define SW_TRAMPOLINE_H

#include "unwind/request.h"

/* Whether a signal handler that returns to an address returns from the signal: told by the bytes there. */
bool sw_is_trampoline(const struct sw_unwind_request *req, uint64_t address);

/* The registers that were interrupted, where the frame's pc is in a trampoline. As the sources of sources.h. */
SW_NODISCARD enum sw_status sw_trampoline_source(const struct sw_unwind_request *req, struct sw_candidate *candidate);

#endif
