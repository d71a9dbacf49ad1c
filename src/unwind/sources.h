/*
 * Where rules come from: the sources in the order in which they are asked, and what each has to say about one pc.
 */
#ifndef SW_SOURCES_H
#define SW_SOURCES_H

#include "unwind/request.h"

/* The n-th source's rule in req->work->rule. SW_E_NO_RULE: it has nothing to say. SW_E_LIMIT with n past the last. */
enum { SW_SOURCES = 9 };
SW_NODISCARD enum sw_status sw_source_rule(const struct sw_unwind_request *req, unsigned n);

/* Whether a signal handler that returns to an address returns from the signal: told by the bytes there. */
bool sw_source_is_trampoline(const struct sw_unwind_request *req, uint64_t address);

/* The rule that a CoreCLR JIT header gives, with the FunctionID. */
SW_NODISCARD enum sw_status sw_source_clr_header(const struct sw_unwind_request *req, struct sw_rule *rule, struct sw_clr_jit_code *about);

#endif
