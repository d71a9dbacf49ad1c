/*
 * What a source says of a frame: one plain value. The asker owns it (struct sw_workspace has room for a few) and
 * chooses among several (unwind.c).
 */
#ifndef SW_UNWIND_CANDIDATE_H
#define SW_UNWIND_CANDIDATE_H

#include "base/rule.h"

/*
 * What an answer depends on beside the code at pc. Code includes the words that code names: switch tables, a GOT.
 *
 * CODE   Nothing: the same rule holds whenever the same pc comes by.
 * CALL   The call in front of the caller's pc. The rule holds with the trust CONFIRMED behind a call of `function`;
 *        with the trust `pointed` behind a call that names nothing, through a register; otherwise with the trust
 *        `unconfirmed`. NONE: then it does not hold at all.
 * STACK  What was on the stack: nothing can be said of the next time.
 */
enum sw_depends { SW_DEPENDS_CODE = 0, SW_DEPENDS_CALL, SW_DEPENDS_STACK };

/*
 * rule        The caller's source and trust are the rule's.
 * caller      Where the rule leads, once it was tried and `stop` is NONE.
 * stop        What the trial came to: NONE, or why there is no caller.
 * unreadable  The address that the trial could not read, or 0.
 * depends     What the answer depends on; of a source that has nothing to say, what its silence depends on.
 * unconfirmed, pointed, function  With CALL: see there. function is also set where a call confirmed the rule.
 * is_searched With CALL: it holds only where no way forward leads to a caller (sw_forward_is_silent).
 * is_doubted  To be taken only where no other source leads to a caller.
 */
struct sw_candidate {
    struct sw_rule rule;
    struct sw_regs caller;
    enum sw_stop stop;
    uint64_t unreadable;
    enum sw_depends depends;
    uint8_t unconfirmed;
    uint8_t pointed;
    bool is_searched;
    bool is_doubted;
    uint64_t function;
};

#endif
