/*
 * What always holds of the rule cache and the replay memory. Asserted in builds for tests (make ASSERTS=1), not there
 * in others. Each of the structures is to be at rest: no writer inside.
 */
#ifndef SW_FAST_VALID_H
#define SW_FAST_VALID_H

#include "fast/trace.h"

#include <assert.h>

#ifndef NDEBUG
/* What may be stored: bits of the step that contradict each other, a range that ends before it begins, ... are not. */
bool sw_entry_is_valid(const struct sw_entry *entry);

/* Numbers within bounds; each entry that has a key is valid, and hot and cold part agree. */
bool sw_cache_is_valid(const struct sw_cache *cache);

/* Numbers within bounds; sp rises in every run, and the runs are as long as the checks say. */
bool sw_replay_is_valid(const struct sw_replay *replay);
#endif

#endif
