/*
 * Callers of code that no call names and that never returns from pc.
 */
#ifndef SW_FUNCTION_SCAN_H
#define SW_FUNCTION_SCAN_H

#include "unwind/request.h"

/*
 * By a place in front of pc that may be the first instruction of its function: analysed from there, the return address
 * must lie behind a call through a register or memory, or of that very place. Else by a direct jump from elsewhere, as
 * to a part that a compiler has split from its function: where the jump stands, the function can be gone forward from;
 * the code around pc is searched for one. A guess. Fills the candidate.
 */
bool sw_function_scan(const struct sw_unwind_request *req, const struct sw_code *code, struct sw_candidate *c);

#endif
