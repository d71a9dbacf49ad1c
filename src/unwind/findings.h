/*
 * What is found out about code alone, whatever the stack: each finding is made once (find_once.h) and kept in the
 * walker's analysis cache, also that there is none.
 */
#ifndef SW_UNWIND_FINDINGS_H
#define SW_UNWIND_FINDINGS_H

#include "unwind/analysis_cache.h"
#include "unwind/request.h"

/*
 * The rule at the frame's lookup pc by the instructions of the function [begin, end), end 0: not known.
 *
 * Returns  SW_OK; SW_E_NO_RULE (also where it was cut: work->meter tells).
 */
SW_NODISCARD enum sw_status sw_function_rule(const struct sw_unwind_request *req, const struct sw_code *code,
                                             uint64_t begin, uint64_t end, struct sw_rule *rule);

/*
 * The analysis of the function [begin, end), end 0: not known, in work->analysis. False: it is not there, since it was
 * cut or has more blocks than can be kept.
 */
bool sw_function_analyze(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t begin, uint64_t end);

/*
 * Whether the frame at hand, of code that no path leads to, is that of one of the function's calls: as deep, and its
 * return address accepted. Fills the candidate with a guess.
 */
bool sw_function_has_frame(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t begin,
                           bool (*accept)(const struct sw_unwind_request *req, uint64_t pc, uint64_t function),
                           struct sw_candidate *candidate);

/*
 * The rules at pc by the returns that code leads to from there, as sw_analyze_forward has them, but each once and only
 * the first SW_SHOWN_RULES. accept must not ask for findings.
 *
 * fp       How far fp is above sp. May be null.
 *
 * Returns  SW_OK (accepted); SW_E_NO_RULE (also where it was cut).
 */
SW_NODISCARD enum sw_status sw_forward_rules(const struct sw_unwind_request *req, const struct sw_code *code,
                                             uint64_t pc, struct sw_fp_distance *fp,
                                             bool (*accept)(void *arg, const struct sw_rule *rule), void *arg);

/*
 * The registers at the frame's lookup pc in terms of what they are at `from`, from where a path was seen to lead there.
 * False: none was. Of *state only reg is filled.
 */
bool sw_state_from(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t from,
                   struct sw_state *state);

/*
 * The registers at the indirect jump that code leads to from pc, in terms of what they are at pc. False: there is none,
 * or it was cut. Of *state only reg is filled.
 */
bool sw_state_at_jump(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t pc,
                      struct sw_state *state);

/* Does what will be asked of a return address: the ways forward from it. fp: as for sw_forward_rules. */
void sw_findings_go_forward(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t pc,
                            struct sw_fp_distance *fp);

/* Does a piece of pending work. req: of a frame whose only register is pc; its frame is set. False: it was cut. */
bool sw_findings_finish(const struct sw_unwind_request *req, struct sw_frame *frame, const struct sw_pending *pending);

#endif
