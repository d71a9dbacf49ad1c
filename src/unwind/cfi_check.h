/*
 * What a table says, held against the function's instructions.
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

/*
 * A frame of which the table says how large it is, and nothing of registers, although the function's first instructions
 * write the frame pointer: so are all those of Go's compiler. The caller's frame pointer is where they stored it. Of
 * the other nonvolatile registers such a table knows nothing, and Go's functions preserve none: they are unknown.
 *
 * Uses work->elsewhere and a spare candidate. Bounded: 24 instructions.
 *
 * Returns  Whether the table's candidate was changed.
 */
bool sw_cfi_mend_bare(const struct sw_unwind_request *req, const struct sw_code *code, const struct sw_cfi_cover *cover,
                      struct sw_candidate *c);

#endif
