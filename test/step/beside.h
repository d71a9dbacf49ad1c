/*
 * The same walk out of a rule cache, frame by frame beside the one that is judged; and by addresses only, replayed.
 */
#ifndef STEP_BESIDE_H
#define STEP_BESIDE_H

#include "score.h"

#include <snapwalk/walk.h>

/*
 * caches     One a mode: their code maps differ.  replays: likewise.
 * otherwise  Frames that were not the same, and walks that ended otherwise.
 * walks      By addresses only.  walks_otherwise: that were not the same.
 * start      Of the walk at hand; pcs: what it went through, as far as there is room.
 */
enum { BESIDE_MOST = 1024 };
struct beside {
    struct sw_cache *caches[STEP_MODES];
    struct sw_replay *replays[STEP_MODES];
    uint64_t frames;
    uint64_t otherwise;
    uint64_t walks;
    uint64_t walks_otherwise;
    struct sw_regs start;
    size_t count;
    uint64_t pcs[BESIDE_MOST];
    struct sw_walker walker;
    struct sw_walk walk;
    struct sw_scratch scratch;
};

bool beside_open(struct beside *beside);
void beside_close(struct beside *beside);

/* Starts beside a walk; then, each time that one was asked for a frame, with its answer; and when no more is asked. */
void beside_start(struct beside *beside, enum step_mode mode, const struct sw_walker *walker,
                  const struct sw_regs *start);
void beside_next(struct beside *beside, const struct sw_walk *judged, bool more);
void beside_end(struct beside *beside, enum step_mode mode, const struct sw_walk *judged);

#endif
