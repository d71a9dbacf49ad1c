/*
 * Replay: a memory of the frames of the last walk, for the next walk of the same stack. Most of a deep stack does not
 * change between two walks. There, the stack words that led from frame to frame are compared with their former values,
 * instead of being followed. The answer is always that of a whole walk: where a word differs, the walk continues from
 * there.
 */
#ifndef SNAPWALK_REPLAY_H
#define SNAPWALK_REPLAY_H

#include <snapwalk/alloc.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_replay;

enum { SW_REPLAY_MAX_FRAMES = 1 << 20 };

/*
 * Makes an empty replay memory, for the stack of one thread (struct sw_walker, replay). If several stacks take turns in
 * it, their walks are right, but nothing is replayed.
 *
 * alloc    Copied. NULL means malloc and free.
 * frames   How many frames of a stack it can hold, 1 to SW_REPLAY_MAX_FRAMES. A deeper stack is replayed in part or
 *          not.
 * replay   Receives the memory. The caller owns it and frees it with sw_replay_destroy.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY.
 * Memory   192 bytes per frame plus at most 512. Only the part for frames that occur is touched.
 * Threads  Any. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_replay_create(const struct sw_alloc *alloc, size_t frames,
                                                    struct sw_replay **replay);

/*
 * Frees a replay memory. NULL is allowed.
 *
 * Threads  No walk may be using the memory. Signals  Not safe.
 */
SW_API void sw_replay_destroy(struct sw_replay *replay);

/*
 * The counters of a replay memory since it was made.
 *
 * walks      Walks that used the memory and ended.
 * replayed   Frames that were compared instead of walked.
 * walked     Frames that were walked. One walk in four stores them; so does the next walk if hardly any frame was
 *            replayed.
 * resets     How often everything was dropped: code or images changed, another target, too many frames.
 *
 * Memory   Allocates nothing. Threads  Any; the counters are not of one moment. Signals  Safe.
 */
struct sw_replay_counts {
    uint64_t walks;
    uint64_t replayed;
    uint64_t walked;
    uint64_t resets;
};
SW_API struct sw_replay_counts sw_replay_get_counts(const struct sw_replay *replay);

#ifdef __cplusplus
}
#endif

#endif
