/*
 * Replay: what a walk went through, for the next one over the same stack. Most of a deep stack is what it was a moment
 * ago; there the words that led from frame to frame are compared with what they were, instead of being followed. The
 * answer is that of the whole walk, always: where a word differs, the walk goes on from there.
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
 * Makes an empty replay memory. It is for the stack of one thread (struct sw_walker, replay); stacks of several in turn
 * are walked right, but never replayed.
 *
 * alloc    Copied; NULL for malloc and free.
 * frames   How many frames of a stack it can hold, 1 to SW_REPLAY_MAX_FRAMES. A deeper one is replayed in part or not at all.
 * replay   Receives the memory; the caller owns it and gives it back with sw_replay_destroy.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY.
 * Memory   196 bytes a frame, and less than 512 bytes; touched only as deep as stacks are. Threads  Any. Signals  Not
 * safe.
 */
SW_NODISCARD enum sw_status sw_replay_create(const struct sw_alloc *alloc, size_t frames, struct sw_replay **replay);

/*
 * Gives a memory back. No walk may use it any more.
 *
 * replay   May be null. Threads  One. Signals  Not safe.
 */
void sw_replay_destroy(struct sw_replay *replay);

/*
 * Counters of a memory since it was made.
 *
 * walks      Walks that used it, and ended.
 * replayed   Frames that were compared and not walked.
 * walked     Frames that were followed. One walk of four remembers them; the next one too, where hardly any was
 * replayed. resets     How often everything was forgotten: code or images changed, another target, too many frames.
 *
 * Memory   Allocates nothing. Threads  Any; the counts are not of one moment. Signals  Safe.
 */
struct sw_replay_counts {
    uint64_t walks;
    uint64_t replayed;
    uint64_t walked;
    uint64_t resets;
};
struct sw_replay_counts sw_replay_get_counts(const struct sw_replay *replay);

#ifdef __cplusplus
}
#endif

#endif
