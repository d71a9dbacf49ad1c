/*
 * Where rules come from: the sources in the order in which they are asked, and what each has to say about one pc.
 */
#ifndef SW_SOURCES_H
#define SW_SOURCES_H

#include "unwind/request.h"

/*
 * What the n-th source says of the frame, into a candidate of the asker's.
 *
 * Returns  SW_OK: the candidate has a rule, tried or not. SW_E_NO_RULE: the source has nothing to say. SW_E_LIMIT with
 * n past the last. Others: its table is broken. In all cases candidate->depends says what the answer depends on.
 */
enum { SW_SOURCES = 8 };
SW_NODISCARD enum sw_status sw_source_ask(const struct sw_unwind_request *req, unsigned n,
                                          struct sw_candidate *candidate);

/* Whether a signal handler that returns to an address returns from the signal: told by the bytes there. */
bool sw_source_is_trampoline(const struct sw_unwind_request *req, uint64_t address);

/* The rule that a CoreCLR JIT header gives, with the FunctionID. */
SW_NODISCARD enum sw_status sw_source_clr_header(const struct sw_unwind_request *req, struct sw_rule *rule,
                                                 struct sw_clr_jit_code *about);

#endif
