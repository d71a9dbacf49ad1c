/*
 * Walks of stacks that have changed a little since they were walked last: the leaf-side part is of other functions with
 * other words, the rest stays. Some stacks, as many as stay in the nearest cache, are all changed and then all walked,
 * so that the changing is not measured. 16 pcs.
 */
#include "figures.h"
#include "ours.h"
#include "bench.h"

#include <stdio.h>

enum { BATCHES = 200, STACKS_BYTES = 16384, FIRST_BY = 1, BYS = 7 };

static const struct way ways[] = {
    { "chase", walk_by_chase, NULL, 0 },
    { "replay", walk_replay, NULL, 0 },
    { "warm", walk_warm, NULL, 0 },
};
enum { WAYS = sizeof ways / sizeof *ways };

static void change_all(struct stacks *s, unsigned changed, unsigned by)
{
    for (unsigned stack = 0; stack < s->count; stack++)
        stack_change(s, stack, changed, FIRST_BY + by % BYS);
}

static void check_all(const struct way *way, struct ours *ours, const struct stacks *s)
{
    static uint64_t out[OUT];
    for (unsigned stack = 0; stack < s->count; stack++) {
        const unsigned count = way->walk(ours, s, stack, out);
        must(count == s->scene.depth && stack_is(s, stack, out, count), way->name);
    }
}

/* ns a frame: the median of batches, in each of which all stacks are walked. */
static double take_turn(const struct way *way, struct ours *ours, struct stacks *s, unsigned changed)
{
    static uint64_t out[OUT];
    double times[BATCHES];
    for (unsigned batch = 0; batch < BATCHES; batch++) {
        unsigned frames = 0;
        change_all(s, changed, batch);
        if (batch % BYS == 0) {
            check_all(way, ours, s);
            change_all(s, changed, batch + 1);
        }
        const uint64_t begin = ticks();
        for (unsigned stack = 0; stack < s->count; stack++)
            frames += way->walk(ours, s, stack, out);
        times[batch] = ticks_ns(ticks() - begin) / frames;
        must(frames == s->count * s->scene.depth, way->name);
    }
    return median(times, BATCHES);
}

static void measure(const struct code *code, unsigned depth, unsigned percent)
{
    const struct scene scene = { code, depth, 16, IN_ORDER };
    const unsigned count = STACKS_BYTES / FRAME / depth ? STACKS_BYTES / FRAME / depth : 1;
    double times[WAYS][TURNS], ratios[WAYS];
    char name[SCENE_BYTES];
    struct stacks s;
    struct ours ours;
    stacks_make_some(&s, &scene, count);
    ours_open(&ours, &s);
    ours_give_replay(&ours, &s);
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (unsigned w = 0; w < WAYS; w++)
            times[w][turn] = take_turn(&ways[w], &ours, &s, depth * percent / 100);
    for (unsigned w = WAYS; w-- > 0;)
        ratios[w] = median_ratio(times[w], times[0], TURNS);
    snprintf(name, sizeof name, "%s, depth %u, %u %% changed", code->name, depth, percent);
    for (unsigned w = 0; w < WAYS; w++)
        figure_note("replay", name, ways[w].name, depth, median(times[w], TURNS), w ? ratios[w] : 0);
    ours_close(&ours);
    stacks_free(&s);
}

void bench_replay(void)
{
    static const unsigned depths[] = { 50, 200, 1000 }, changed[] = { 0, 10, 50 };
    for (unsigned c = 0; c < 2; c++)
        for (unsigned d = 0; d < 3; d++)
            for (unsigned p = 0; p < 3; p++)
                measure(&codes[c], depths[d], changed[p]);
    figure_print("replay", "replay: ns a frame of stacks whose leaf-side part has changed since they were walked last");
}
