/*
 * The sources that read instructions: where stacks begin, a function from its known start, code forward to a return,
 * the first entry of a PLT.
 */
#ifndef SW_UNWIND_INSTRUCTIONS_H
#define SW_UNWIND_INSTRUCTIONS_H

#include "unwind/request.h"

/*
 * Code that need not keep to the platform's calling convention: ranges that say so, and what is in no file and no
 * range. V8's code keeps no register but rbp, HotSpot's none but rbp and its thread register; V8's pops its arguments.
 */
bool sw_is_foreign(const struct sw_unwind_request *req);

/* Whether a candidate leads to a caller that has called something; it is tried. target: what, 0: not known. */
bool sw_leads_behind_call(const struct sw_unwind_request *req, struct sw_candidate *c, uint64_t *target);

/* Whether a return address is the start of a made-up stack: no call returns there, and its code is such a start's. */
bool sw_is_made_up(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t pc);

/*
 * Whether code says of a frame that nobody called it, whatever tables say. BY_CODE: on every stack. BY_STACK: on this
 * one, which clone was given. OF_OTHERS: not this one, but one at the same pc may be: nothing follows from the pc.
 *
 * is_moved  The function has put sp elsewhere in front of pc.
 */
enum sw_root { SW_ROOT_NONE = 0, SW_ROOT_BY_CODE, SW_ROOT_OF_OTHERS, SW_ROOT_BY_STACK };
enum sw_root sw_root_of(const struct sw_unwind_request *req, const struct sw_code *code, bool is_moved);

/* The rule of the outermost frame. */
void sw_root_rule(enum sw_machine machine, struct sw_rule *rule);

/* Whether an address is in the code that a program begins with. */
bool sw_is_program_start(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t pc);

/*
 * Whether no way forward from the frame's pc leads to a caller that may have called: then the stack is searched. False,
 * too, where that was cut. Uses the second candidate that is asked about, spare[0], and work->analysis.
 */
bool sw_forward_is_silent(const struct sw_unwind_request *req);

/* Sources, as sw_source_ask has them. Each uses both spare candidates and work->analysis. */
SW_NODISCARD enum sw_status sw_root_source(const struct sw_unwind_request *req, struct sw_candidate *c);
SW_NODISCARD enum sw_status sw_plt_source(const struct sw_unwind_request *req, struct sw_candidate *c);
SW_NODISCARD enum sw_status sw_function_source(const struct sw_unwind_request *req, struct sw_candidate *c);
SW_NODISCARD enum sw_status sw_forward_source(const struct sw_unwind_request *req, struct sw_candidate *c);

#endif
