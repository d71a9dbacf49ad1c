/*
 * Callers of interpreters whose parts end in jumps that do not say where they lead.
 */
#ifndef SW_DISPATCH_H
#define SW_DISPATCH_H

#include "unwind/analysis_cache.h"
#include "unwind/request.h"

/*
 * The caller, if pc is a part of the function that begins at `function`: from there an indirect jump is reached, and
 * one from pc as well; at both the frame is the same. What pc's code writes until then the function has saved. accept
 * says whether the return address behind that frame is one of a call of the function.
 *
 * Returns  Whether it is so. Fills the candidate with a guess.
 */
typedef bool sw_dispatch_accept_fn(const struct sw_unwind_request *req, uint64_t after, uint64_t function);
bool sw_dispatch_caller(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t function,
                        sw_dispatch_accept_fn *accept, struct sw_candidate *c);

/* Makes a finding of this file, which was cut before. False: it is none of this file, or was cut again. */
bool sw_dispatch_finish(const struct sw_unwind_request *req, const struct sw_code *code,
                        const struct sw_finding *finding);

#endif
