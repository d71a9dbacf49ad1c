/*
 * Callers confirmed by the call in front of their return address.
 */
#ifndef SW_CALL_CONFIRMATION_H
#define SW_CALL_CONFIRMATION_H

#include "unwind/sources.h"

/*
 * Whether pc lies in the function that a call of `function` (or of a stub that leads there) reaches, at just the
 * distance from the return address at which its analysis sees it. Fills work->rule and work->caller when it does.
 */
bool sw_confirm_by_call(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t function);

/*
 * The same for the functions that the words above sp are return addresses of calls to, nearest first; then for those
 * whose addresses are loaded near such calls, to be called back. Bounded in bytes and in functions. Fills work->rule
 * and work->caller.
 */
bool sw_confirm_by_stack(const struct sw_unwind_request *req, const struct sw_code *code);

/*
 * For landing pads, to which nothing leads: the nearest word that is the return address of a call of a function whose
 * frame is as large as the distance. A guess. Fills work->rule and work->caller.
 */
bool sw_confirm_by_depth(const struct sw_unwind_request *req, const struct sw_code *code);

#endif
