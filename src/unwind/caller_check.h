/*
 * What bears a table out: a caller that has called.
 */
#ifndef SW_UNWIND_CALLER_CHECK_H
#define SW_UNWIND_CALLER_CHECK_H

#include "unwind/request.h"

/*
 * Whether a candidate that leads to a caller is as sure as its trust says. EXACT takes a call in front of the caller's
 * pc, or one of those that no call returns to: a signal trampoline, managed code that was interrupted, code of which
 * call frame information says that the stack ends there, or that a signal's frame is. Other trusts claim no more than
 * their sources have looked at; and what a signal's frame leads to was not called.
 *
 * Uses a spare candidate and work->cfi. Inside a reader section.
 */
bool sw_candidate_is_called(const struct sw_unwind_request *req, const struct sw_candidate *candidate);

#endif
