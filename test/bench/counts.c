/*
 * Instructions a frame, by callgrind: the same in every run. This program is run in its hidden mode, where a few walks
 * warm up and so many are counted. 16 pcs; the replayed stack has its leaf-side 10 % changed before each walk, and the
 * changing is taken off.
 */
#include "figures.h"
#include "ours.h"
#include "rivals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 20000, CHANGED_PERCENT = 10, WARM_UP = 10 };

static const struct counted {
    struct way way;
    bool is_changing, is_bare;
} ways[] = {
    { { "chase", walk_by_chase, NULL, 0 }, false, false },
    { { "replay", walk_replay, NULL, 0 }, true, false },
    { { "warm", walk_warm, NULL, 0 }, false, false },
    { { "warm, no CFI", walk_warm, NULL, 0 }, false, true },
    { { "warm, summaries", walk_summaries, NULL, 0 }, false, false },
    { { "warm, all regs", walk_full, NULL, 0 }, false, false },
    { { "cold", walk_cold, NULL, 0 }, false, false },
    { { "unw_step", walk_unw_step, NULL, 0 }, false, false },
    { { "unw_backtrace", NULL, take_unw_backtrace, 0 }, false, false },
};

/* ---- in the hidden mode ---- */

struct many {
    const struct way *way;
    unsigned walks, depth;
};

static void take_many(void *arg)
{
    static uint64_t out[OUT];
    const struct many *many = arg;
    for (unsigned i = 0; i < many->walks; i++)
        must(many->way->take(out) > many->depth, many->way->name);
}

static void walk_many(const struct counted *counted, unsigned walks, struct ours *ours, struct stacks *s)
{
    static uint64_t out[OUT];
    struct many many = { &counted->way, walks, s->scene.depth };
    if (counted->way.take)
        stack_call(s, 0, take_many, &many);
    for (unsigned i = 0; !counted->way.take && i < walks; i++) {
        if (counted->is_changing)
            stack_change(s, 0, s->scene.depth * CHANGED_PERCENT / 100, 1);
        must(counted->way.walk(ours, s, 0, out) == s->scene.depth, counted->way.name);
    }
}

/* The one that callgrind collects in. */
__attribute__((noinline)) static void count_many(const struct counted *counted, unsigned walks, struct ours *ours,
                                                 struct stacks *s)
{
    walk_many(counted, walks, ours, s);
    __asm__ volatile(""); /* so that this is no tail call */
}

static unsigned walk_nothing(void *arg, const struct stacks *s, unsigned stack, uint64_t *out)
{
    (void)arg, (void)stack, (void)out;
    return s->scene.depth;
}

int count_walks(const char *way, unsigned depth, unsigned walks)
{
    static const struct counted changing = { { "changing", walk_nothing, NULL, 0 }, true, false };
    const struct counted *counted = &changing;
    struct stacks s;
    struct ours ours;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i].way.name, way) == 0)
            counted = &ways[i];
    const struct scene scene = { &codes[counted->is_bare ? 2 : 0], depth, 16, IN_ORDER };
    stacks_make(&s, &scene);
    ours_open(&ours, &s);
    ours_give_replay(&ours, &s);
    walk_many(counted, WARM_UP, &ours, &s);
    count_many(counted, walks, &ours, &s);
    ours_close(&ours);
    stacks_free(&s);
    return 0;
}

/* ---- in the bench ---- */

static void read_collected(void *arg, const char *text)
{
    const char *collected = strstr(text, "Collected : ");
    if (collected)
        *(double *)arg = atof(collected + strlen("Collected : "));
}

/* Instructions of one walk; below 0: no valgrind. */
static double instructions(const struct options *options, const char *way, unsigned depth)
{
    const unsigned walks = FRAMES / depth;
    double counted = 0;
    char command[1024];
    snprintf(command, sizeof command,
             "valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='count_many*' %s --count '%s' "
             "%u %u 2>&1",
             options->self, way, depth, walks);
    return rival_run(command, read_collected, &counted) && counted > 0 ? counted / walks : -1;
}

static void count_all(const struct options *options, unsigned depth)
{
    const double changing = instructions(options, "changing", depth);
    double chase = 0;
    char scene[64];
    snprintf(scene, sizeof scene, "depth %u", depth);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const struct counted *c = &ways[i];
        const double walk = instructions(options, c->way.name, depth);
        const double frame = (walk - (c->is_changing ? changing : 0)) / depth;
        chase = i ? chase : frame;
        if (walk >= 0)
            figure_note("counts", scene, c->way.name, depth, frame, i ? frame / chase : 0);
        else
            figure_skip("counts", c->way.name, "callgrind cannot count it here (Debian package valgrind)");
    }
}

void bench_counts(const struct options *options)
{
    count_all(options, 50);
    count_all(options, 1000);
    figure_print("counts",
                 "counts: instructions a frame by callgrind, CFI, frame pointers, and how many times the chase's");
}
