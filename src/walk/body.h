/*
 * Bodies of JIT code's methods: behind the prolog one rule holds wherever a thread was interrupted, unless an epilogue
 * may begin there. So the rule cache has one entry for all of these pcs, and a pc that no walk has met before does not
 * take the long way. Of code that the walker says may be loaded directly, at the walk's start.
 */
#ifndef SW_WALK_BODY_H
#define SW_WALK_BODY_H

#include "fast/lane.h"
#include "unwind/unwind.h"

/*
 * As sw_lane_find, of a frame that is executing at->pc and whose own pc has no entry. Not inside a reader section, or
 * inside one.
 */
SW_APART enum sw_cache_count sw_walk_find_body(const struct sw_walker *walker, const struct sw_lane *lane,
                                               struct sw_at *at);

/*
 * Makes the entry of a frame's pc that of the body around it, if its rule is the body's. key, function: the entry's.
 * Inside a reader section. Returns  What the entry is found by.
 */
uint64_t sw_walk_note_body(const struct sw_unwind_request *req, const struct sw_rule *rule, struct sw_entry *to);

#endif
