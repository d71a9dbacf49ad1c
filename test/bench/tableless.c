/*
 * What the lack of tables costs: addresses of the same stacks of the same code, by its CFI, and by its instructions
 * alone with an analysis cache, as users are told to have one, and with none. All warm, in the same turns, with the
 * default budget after what it left has been prepared. A scene in which it cuts walks nevertheless is measured without
 * a limit, and says so.
 */
#include "bench.h"
#include "figures.h"
#include "ours.h"

#include <snapwalk/analysis_cache.h>
#include <snapwalk/cache.h>

enum { ROUNDS = 4, USUAL = 200000, TURN_NS = 20000000 };

/* The same stacks twice: what the walker may know of the code differs. */
struct both {
    struct ours with, without, nothing_kept;
    struct stacks bare;
};

static unsigned walk_with(void *arg, const struct stacks *s, unsigned stack, uint64_t *out)
{
    return walk_warm(&((struct both *)arg)->with, s, stack, out);
}

static unsigned walk_without(void *arg, const struct stacks *s, unsigned stack, uint64_t *out)
{
    struct both *both = arg;
    (void)s;
    return walk_warm(&both->without, &both->bare, stack, out);
}

static unsigned walk_nothing_kept(void *arg, const struct stacks *s, unsigned stack, uint64_t *out)
{
    struct both *both = arg;
    (void)s;
    return walk_warm(&both->nothing_kept, &both->bare, stack, out);
}

static const struct way ways[] = {
    { "CFI", walk_with, NULL, USUAL },
    { "no CFI", walk_without, NULL, USUAL },
    { "no analysis cache", walk_nothing_kept, NULL, USUAL },
};
enum { WAYS = sizeof ways / sizeof *ways };

static const struct scene scenes[] = {
    { NULL, 10, 16, IN_ORDER },   { NULL, 50, 16, IN_ORDER }, { NULL, 200, 16, IN_ORDER },
    { NULL, 1000, 16, IN_ORDER }, { NULL, 50, 50, IN_ORDER }, { NULL, 50, 5000, IN_ORDER },
};

/* How many of the stacks' walks are cut when all has been prepared. */
static double prepare(struct sw_walker *walker, struct both *both, const struct way *way)
{
    static uint64_t out[OUT];
    static struct sw_scratch scratch;
    unsigned cut = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        cut = 0;
        for (unsigned i = 0; i < both->bare.count; i++)
            cut += way->walk(both, &both->bare, i, out) != both->bare.scene.depth;
        if (cut == 0)
            return 0;
        (void)sw_walk_prepare(walker, &scratch, SW_WALK_BUDGET_UNLIMITED);
    }
    return 100.0 * cut / both->bare.count;
}

/* As many frames as a turn has time for. */
static unsigned affordable(struct both *both, const struct way *way)
{
    static uint64_t out[OUT];
    (void)way->walk(both, &both->bare, 0, out);
    const double begin = cpu_ns();
    (void)way->walk(both, &both->bare, 0, out);
    const double frames = (double)TURN_NS / ((cpu_ns() - begin) / both->bare.scene.depth);
    return frames < 1 ? 1 : frames > (double)USUAL ? USUAL : (unsigned)frames;
}

static void open_both(struct both *both, const struct stacks *s, const struct code *bare)
{
    both->bare = *s;
    both->bare.scene.code = bare;
    ours_open(&both->with, s);
    ours_open(&both->without, &both->bare);
    ours_open(&both->nothing_kept, &both->bare);
    sw_analysis_cache_destroy(both->nothing_kept.warm.analysis_cache);
    both->nothing_kept.warm.analysis_cache = NULL;
    both->without.warm.budget = both->nothing_kept.warm.budget = SW_WALK_BUDGET_DEFAULT;
}

/* Without an analysis cache a walk takes up to 50 ms: only where asked for. */
static void measure(const struct scene *scene, const struct code *bare, size_t count)
{
    struct way used[WAYS] = { ways[0], ways[1], ways[2] };
    struct sw_walker *walkers[WAYS];
    struct timed timed[WAYS];
    struct stacks s;
    struct both both;
    char name[SCENE_BYTES];
    double cut[WAYS] = { 0 };
    stacks_make(&s, scene);
    open_both(&both, &s, bare);
    walkers[1] = &both.without.warm;
    walkers[2] = &both.nothing_kept.warm;
    for (size_t w = 1; w < count; w++) {
        cut[w] = prepare(walkers[w], &both, &used[w]);
        walkers[w]->budget = cut[w] > 0 ? SW_WALK_BUDGET_UNLIMITED : SW_WALK_BUDGET_DEFAULT;
        used[w].frames = affordable(&both, &used[w]);
    }
    take_turns(used, count, &both, &s, timed);
    scene_name(&both.bare.scene, name);
    for (size_t w = 0; w < count; w++)
        figure_note("tableless", name, ways[w].name, scene->depth, timed[w].ns, w ? timed[w].ratio : 0);
    figure_note("tableless", name, "% cut", scene->depth, cut[1], 0);
    if (count == WAYS)
        figure_note("tableless", name, "% cut, no cache", scene->depth, cut[2], 0);
    ours_close(&both.with);
    ours_close(&both.without);
    ours_close(&both.nothing_kept);
    stacks_free(&s);
}

void bench_tableless(void)
{
    for (unsigned c = 0; c < 2; c++)
        for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
            struct scene scene = scenes[i];
            scene.code = &codes[c];
            measure(&scene, &codes[c + 2], scene.depth == 50 && scene.pcs == 16 ? WAYS : WAYS - 1);
        }
    figure_print("tableless", "tableless: ns a frame, addresses, warm, and how many times the same stack with CFI");
}
