/* This library's ways to walk, and libunwind's, on made-up stacks. */
#ifndef BENCH_OURS_H
#define BENCH_OURS_H

#include "turns.h"

#include <snapwalk/summary.h>

/*
 * The walkers of one scene: with the rule cache, with nothing kept, and one for each stack that replays what has not
 * changed, as each thread has its own (NULL: none).
 */
struct ours {
    struct sw_walker warm, cold;
    struct sw_walker *replay;
    unsigned replays;
};

void ours_open(struct ours *ours, const struct stacks *s);
void ours_give_replay(struct ours *ours, const struct stacks *s);
void ours_close(struct ours *ours);

/* Ways, with struct ours as argument: addresses from the cache, summaries, all registers, nothing kept, replayed. */
unsigned walk_warm(void *arg, const struct stacks *s, unsigned stack, uint64_t *out);
unsigned walk_summaries(void *arg, const struct stacks *s, unsigned stack, uint64_t *out);
unsigned walk_full(void *arg, const struct stacks *s, unsigned stack, uint64_t *out);
unsigned walk_cold(void *arg, const struct stacks *s, unsigned stack, uint64_t *out);
unsigned walk_replay(void *arg, const struct stacks *s, unsigned stack, uint64_t *out);

/* libunwind's: step by step on a made-up stack, the cached trace on its own. */
unsigned walk_unw_step(void *arg, const struct stacks *s, unsigned stack, uint64_t *out);
unsigned take_unw_backtrace(uint64_t *out);

#endif
