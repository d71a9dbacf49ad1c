/*
 * What a frame costs in this process: walks out of the rule cache, with all registers and without, and walks with
 * nothing kept, beside a chase of frame pointers, libunwind's unw_step and cached unw_backtrace, and, each in a process
 * of its own with the same stacks, glibc's backtrace and LLVM's libunwind.
 */
#include "figures.h"
#include "ours.h"
#include "rivals.h"

#include <stdio.h>
#include <string.h>

static const struct way ways[] = {
    { "chase", walk_by_chase, NULL, 200000 },
    { "warm", walk_warm, NULL, 200000 },
    { "warm, all regs", walk_full, NULL, 200000 },
    { "cold", walk_cold, NULL, 4000 },
    /* those that know CFI alone */
    { "unw_step", walk_unw_step, NULL, 4000 },
    { "unw_backtrace", NULL, take_unw_backtrace, 20000 },
};
enum { WAYS = sizeof ways / sizeof *ways, WAYS_OF_ALL_CODE = 4 };

/* Code that has neither tables nor a known range costs up to a millisecond a frame: one walk a turn, of few scenes. */
enum { SCENES_OF_NO_CFI = 6 };

static const struct rival {
    const char *program, *way;
} rivals[] = { { "glibc", "glibc backtrace" }, { "llvm", "LLVM unw_step" } };

static const struct scene scenes[] = {
    { NULL, 10, 16, IN_ORDER },    { NULL, 50, 16, IN_ORDER },     { NULL, 200, 16, IN_ORDER },
    { NULL, 1000, 16, IN_ORDER },  { NULL, 10, 10, IN_ORDER },     { NULL, 50, 50, IN_ORDER },
    { NULL, 200, 200, IN_ORDER },  { NULL, 1000, 1000, IN_ORDER }, { NULL, 50, 5000, IN_ORDER },
    { NULL, 50, 5000, SHUFFLED },  { NULL, 50, 5000, MIXED },      { NULL, 50, 50000, IN_ORDER },
    { NULL, 50, 50000, SHUFFLED }, { NULL, 50, 50000, MIXED },
};

/* A rival's answer: "ns ratio", or "skipped: why". */
struct answer {
    double ns, ratio;
    char why[64];
};

static void read_answer(void *arg, const char *text)
{
    struct answer *answer = arg;
    if (sscanf(text, "skipped: %63[^\n]", answer->why) == 1)
        return;
    must(sscanf(text, "%lf %lf", &answer->ns, &answer->ratio) == 2, text);
}

static void run_rival(const struct rival *rival, const struct options *options, const struct scene *scene,
                      const char *name)
{
    static char why[2][64];
    struct answer answer = { 0 };
    char command[1024];
    snprintf(command, sizeof command, "%s/%s %d %u %u %d", options->programs, rival->program,
             (int)(scene->code - codes), scene->depth, scene->pcs, (int)scene->order);
    must(rival_run(command, read_answer, &answer), command);
    if (answer.why[0])
        figure_skip("walk", rival->way, strcpy(why[rival - rivals], answer.why));
    else
        figure_note("walk", name, rival->way, scene->depth, answer.ns, answer.ratio);
}

static void measure_scene(const struct scene *scene, const struct options *options)
{
    const bool has_cfi = scene->code->known == BY_CFI;
    const size_t count = has_cfi ? WAYS : WAYS_OF_ALL_CODE;
    struct way used[WAYS];
    struct timed timed[WAYS];
    struct stacks s;
    struct ours ours;
    char name[SCENE_BYTES];
    for (size_t w = 0; w < WAYS; w++) {
        used[w] = ways[w];
        used[w].frames = scene->code->known == BY_NOTHING && w ? 1 : ways[w].frames;
    }
    stacks_make(&s, scene);
    ours_open(&ours, &s);
    take_turns(used, count, &ours, &s, timed);
    ours_close(&ours);
    stacks_free(&s);
    scene_name(scene, name);
    for (size_t w = 0; w < count; w++)
        figure_note("walk", name, ways[w].name, scene->depth, timed[w].ns, w ? timed[w].ratio : 0);
    for (size_t r = 0; has_cfi && r < sizeof rivals / sizeof *rivals; r++)
        run_rival(&rivals[r], options, scene, name);
}

void bench_walk(const struct options *options)
{
    for (unsigned c = 0; c < CODES; c++)
        for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
            struct scene scene = scenes[i];
            scene.code = &codes[c];
            if (scene.code->known != BY_NOTHING || i < SCENES_OF_NO_CFI)
                measure_scene(&scene, options);
        }
    figure_print("walk", "walk: ns a frame, and how many times the frame-pointer chase of the same process and turn");
}
