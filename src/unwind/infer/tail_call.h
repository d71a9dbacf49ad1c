/*
 * Callers of what a function ends in by a jump through a word in memory.
 */
#ifndef SW_TAIL_CALL_H
#define SW_TAIL_CALL_H

#include "unwind/analysis_cache.h"
#include "unwind/request.h"

/*
 * The caller, if pc is in what the function that begins at `function` ends in: there it jumps through a word that its
 * instruction names, with the stack as it was at the start. accept says whether a return address is behind a call of
 * the function.
 *
 * Returns  Whether it is so. Fills the candidate: CONFIRMED, or a guess where a path was assumed.
 */
typedef bool sw_tail_accept_fn(const struct sw_unwind_request *req, uint64_t after, uint64_t function);
bool sw_tail_caller(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t function,
                    sw_tail_accept_fn *accept, struct sw_candidate *c);

/* Makes a finding of this file, which was cut before. False: it is none of this file, or was cut again. */
bool sw_tail_finish(const struct sw_unwind_request *req, const struct sw_code *code, const struct sw_finding *finding);

#endif
