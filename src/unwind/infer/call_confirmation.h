/*
 * Callers confirmed by the call in front of their return address.
 */
#ifndef SW_CALL_CONFIRMATION_H
#define SW_CALL_CONFIRMATION_H

#include "unwind/request.h"

/* Where a call ends up: through the jumps of PLT entries or import stubs. 0: that cannot be told. */
uint64_t sw_final_target(const struct sw_unwind_request *req, uint64_t target);

/*
 * Whether the call in front of a return address is one of a function: directly, or through stubs that lead to it. Safe
 * wherever the walker's reader is.
 */
bool sw_is_call_of(const struct sw_unwind_request *req, uint64_t after, uint64_t function);

/*
 * Whether pc lies in the function that a call of `function` (or of a stub that leads there) reaches, at just the
 * distance from the return address at which its analysis sees it. Fills the candidate when it does; its function is the
 * one that pc lies in. Trust: CONFIRMED, or GUESS where the analysis assumed a path.
 */
bool sw_confirm_by_call(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t function,
                        struct sw_candidate *c);

/*
 * The same for the functions that the words above sp are return addresses of calls to, nearest first; then for those
 * whose addresses are loaded near such calls, to be called back. Bounded in bytes and in functions. Fills the
 * candidate; `guess` is memory for another one.
 */
bool sw_confirm_by_stack(const struct sw_unwind_request *req, const struct sw_code *code, struct sw_candidate *c,
                         struct sw_candidate *guess);

/*
 * For landing pads, to which nothing leads: the nearest word that is the return address of a call of a function whose
 * frame is as large as the distance. A guess. Fills the candidate.
 */
bool sw_confirm_by_depth(const struct sw_unwind_request *req, const struct sw_code *code, struct sw_candidate *c);

#endif
