/* Ways to walk, measured in turns on the same stacks. */
#ifndef BENCH_TURNS_H
#define BENCH_TURNS_H

#include "stacks.h"

/*
 * A way to walk: a stack that was made up (walk), or the one that it is called on (take). Both answer how many frames
 * there were and leave their pcs in `out`.
 *
 * frames   About how many are walked in a turn, and before it to warm up.
 */
struct way {
    const char *name;
    unsigned (*walk)(void *arg, const struct stacks *s, unsigned stack, uint64_t *out);
    unsigned (*take)(uint64_t *out);
    unsigned frames;
};

/* ns a frame, and how many times the chase's (the first way's) that is: medians over the turns. */
struct timed {
    double ns;
    double ratio;
};

enum { WAYS_MOST = 8 };

/* The ways in turn, the first one the chase; every walk must reach every frame. */
void take_turns(const struct way *ways, size_t count, void *arg, const struct stacks *s, struct timed *timed);
unsigned walk_by_chase(void *arg, const struct stacks *s, unsigned stack, uint64_t *out);

#endif
