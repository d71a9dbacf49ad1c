/*
 * The same walk out of a rule cache, frame by frame beside the one that is judged.
 */
#ifndef STEP_BESIDE_H
#define STEP_BESIDE_H

#include "score.h"

#include <snapwalk/walk.h>

/*
 * caches     One a mode: their code maps differ.
 * otherwise  Frames that were not the same, and walks that ended otherwise.
 */
struct beside {
    struct sw_cache *caches[STEP_MODES];
    uint64_t frames;
    uint64_t otherwise;
    struct sw_walker walker;
    struct sw_walk walk;
    struct sw_scratch scratch;
};

bool beside_open(struct beside *beside);
void beside_close(struct beside *beside);

/* Starts beside a walk; then, each time that one was asked for a frame, with its answer. */
void beside_start(struct beside *beside, enum step_mode mode, const struct sw_walker *walker,
                  const struct sw_regs *start);
void beside_next(struct beside *beside, const struct sw_walk *judged, bool more);

#endif
