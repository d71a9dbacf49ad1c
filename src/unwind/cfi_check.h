/*
 * What a table says of an executing pc, held against the instructions around it.
 */
#ifndef SW_UNWIND_CFI_CHECK_H
#define SW_UNWIND_CFI_CHECK_H

#include "unwind/request.h"

/*
 * Changes the candidate where the instructions contradict the table, in two ways that leave no doubt: those from the
 * function's first one to pc, or those from pc to a return, with nothing between that control does not pass. Registers
 * that the table alone has wrong are taken from the code. Where it has the caller wrong, the rule is the code's: source
 * ANALYSIS or FORWARD, trust LIKELY.
 *
 * Uses work->elsewhere, both spare candidates, and work->cfi. Bounded: 40 instructions. Only at executing pcs, and not
 * where the walker forbids analysis.
 */
void sw_cfi_check(const struct sw_unwind_request *req, const struct sw_cfi_cover *cover, struct sw_candidate *c);

#endif
