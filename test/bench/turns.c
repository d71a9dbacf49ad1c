/* Measures ways in turns. Knows no way but the chase. */
#include "turns.h"

static uint64_t out[OUT];

unsigned walk_by_chase(void *arg, const struct stacks *s, unsigned stack, uint64_t *pcs)
{
    (void)arg;
    return stack_chase(s, stack, pcs);
}

/* What goes on at the leaf of a real stack. */
struct taking {
    const struct way *way;
    const struct stacks *stacks;
    unsigned stack, rounds;
    double ns, frames;
};

static void take(void *arg)
{
    struct taking *t = arg;
    unsigned count = t->way->take(out); /* once for nothing: the stack was written just now */
    must(stack_is(t->stacks, t->stack, out, count), t->way->name);
    const uint64_t begin = ticks();
    for (unsigned round = 0; round < t->rounds; round++)
        count = t->way->take(out);
    t->ns += ticks_ns(ticks() - begin);
    t->frames += (double)count * t->rounds;
}

static unsigned within(unsigned wanted, unsigned most)
{
    const unsigned least = wanted ? wanted : 1;
    return least < most ? least : most;
}

/* As many of the stacks as the way's frames are for, others in each turn; few stacks are walked more often. */
static double take_real(const struct way *way, const struct stacks *s, unsigned turn)
{
    const unsigned stacks = within(way->frames / s->scene.depth, s->count);
    struct taking t = { .way = way, .stacks = s, .rounds = way->frames / (stacks * s->scene.depth) + 1 };
    for (unsigned i = 0; i < stacks; i++) {
        t.stack = (turn * stacks + i) % s->count;
        stack_call(s, t.stack, take, &t);
    }
    return t.ns / t.frames;
}

static double walk_made_up(const struct way *way, void *arg, const struct stacks *s, unsigned turn)
{
    const unsigned stacks = within(way->frames / s->scene.depth, s->count), first = turn * stacks % s->count;
    const unsigned rounds = way->frames / (stacks * s->scene.depth) + 1;
    for (unsigned i = 0; i < stacks; i++) {
        const unsigned stack = (first + i) % s->count, count = way->walk(arg, s, stack, out);
        must(count == s->scene.depth && stack_is(s, stack, out, count), way->name);
    }
    const double begin = cpu_ns();
    for (unsigned round = 0; round < rounds; round++)
        for (unsigned i = 0, stack = first; i < stacks; i++, stack = stack + 1 < s->count ? stack + 1 : 0)
            must(way->walk(arg, s, stack, out) == s->scene.depth && out[s->scene.depth - 1] == s->ends[stack].root,
                 way->name);
    return (cpu_ns() - begin) / (double)rounds / stacks / s->scene.depth;
}

void take_turns(const struct way *ways, size_t count, void *arg, const struct stacks *s, struct timed *timed)
{
    double times[WAYS_MOST][TURNS];
    for (unsigned turn = 0; turn < TURNS; turn++) {
        machine_look();
        for (size_t w = 0; w < count; w++)
            times[w][turn] = ways[w].walk ? walk_made_up(&ways[w], arg, s, turn) : take_real(&ways[w], s, turn);
    }
    for (size_t w = 0; w < count; w++)
        timed[w].ratio = median_ratio(times[w], times[0], TURNS);
    for (size_t w = 0; w < count; w++)
        timed[w].ns = median(times[w], TURNS);
}
