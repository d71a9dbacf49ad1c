/*
 * What the rule cache is given: all that follows from a pc alone, of what was found the long way.
 */
#ifndef SW_WALK_REMEMBER_H
#define SW_WALK_REMEMBER_H

#include "fast/lane.h"
#include "unwind/unwind.h"

/* Stores what was found for the frame, whose caller was found the long way, or counts that it cannot be stored. */
void sw_walk_remember(struct sw_lane *lane, const struct sw_unwind_request *req, const struct sw_found *found);

/*
 * Whether the rule of a candidate, which an entry's step and function say and which led to the candidate's caller,
 * holds; its trust is set.
 */
bool sw_walk_confirm(const struct sw_unwind_request *req, uint64_t step, uint64_t function, struct sw_candidate *c);

#endif
