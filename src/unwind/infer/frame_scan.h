/*
 * Functions that no call names and that never return from pc, found by the frame that they make.
 */
#ifndef SW_FRAME_SCAN_H
#define SW_FRAME_SCAN_H

#include "unwind/analysis_cache.h"
#include "unwind/request.h"

/*
 * By the nearest place in front of pc where code may begin and makes a frame, and where behind just that frame there is
 * a return address: of a call through a register or memory, or of that very place. From there pc must be reached; or,
 * in an interpreter, pc is one of its parts (dispatch.h). A guess. Fills the candidate. What is read of code is found
 * once (findings.h).
 */
bool sw_frame_scan(const struct sw_unwind_request *req, const struct sw_code *code, struct sw_candidate *c);

/* Makes a finding of this file, which was cut before. False: it is none of this file. */
bool sw_frame_scan_finish(const struct sw_unwind_request *req, const struct sw_code *code,
                          const struct sw_finding *finding);

#endif
