/*
 * Callers of code that no call names and that never returns from pc.
 */
#ifndef SW_SRC_STARTS_H
#define SW_SRC_STARTS_H

#include "unwind/sources.h"

/*
 * By a place in front of pc that may be the first instruction of its function: analysed from there, the return address
 * must lie behind a call through a register or memory, or of that very place. Else by a direct jump from elsewhere, as
 * to a part that a compiler has split from its function: where the jump stands, the function can be gone forward from;
 * the code around pc is searched for one. A guess. Fills room->rule.
 */
bool sw_starts_find(const struct sw_question *q, const struct sw_code *code);

#endif
