/* The targets beside what was measured. One that is missed fails nothing: the machine may be busy. */
#include "bench.h"
#include "figures.h"

#include <stdio.h>

/*
 * A row of the table of targets, of which the worst scene counts.
 *
 * against  NULL: the ratio that was noted, or, where there is none, the value times `scale`. Else the way whose time is
 *          divided by this one's: how many times faster.
 * least    True: the measured value must be at least the target.
 */
struct target {
    const char *what;
    const char *section, *way, *against;
    double scale;
    double target;
    bool least;
    const char *unit;
    const char *scenes[9];
};

static const struct target targets[] = {
    { "replay, depth 50 and more, 10 % changed, of the chase",
      "replay",
      "replay",
      NULL,
      1,
      0.7,
      false,
      "x",
      { "CFI, frame pointers, depth 50, 10 % changed", "CFI, frame pointers, depth 200, 10 % changed",
        "CFI, frame pointers, depth 1000, 10 % changed", "CFI, none, depth 50, 10 % changed",
        "CFI, none, depth 200, 10 % changed", "CFI, none, depth 1000, 10 % changed" } },
    { "warm, addresses, 16 pcs, depth 1000, of the chase",
      "walk",
      "warm",
      NULL,
      1,
      1.8,
      false,
      "x",
      { "CFI, frame pointers, depth 1000, 16 pcs", "CFI, none, depth 1000, 16 pcs" } },
    { "warm, addresses, 16 pcs, depth 50, of the chase",
      "walk",
      "warm",
      NULL,
      1,
      1.8,
      false,
      "x",
      { "CFI, frame pointers, depth 50, 16 pcs", "CFI, none, depth 50, 16 pcs" } },
    { "warm, addresses, 5000 pcs, depth 50, 1 caller each",
      "walk",
      "warm",
      NULL,
      1,
      1.8,
      false,
      "x",
      { "CFI, frame pointers, depth 50, 5000 pcs", "CFI, none, depth 50, 5000 pcs",
        "CFI, frame pointers, depth 50, 5000 pcs, 1 caller each", "CFI, none, depth 50, 5000 pcs, 1 caller each" } },
    { "warm, addresses, 5000 pcs, depth 50, 4 callers each",
      "walk",
      "warm",
      NULL,
      1,
      1.8,
      false,
      "x",
      { "CFI, frame pointers, depth 50, 5000 pcs, 4 callers each", "CFI, none, depth 50, 5000 pcs, 4 callers each" } },
    { "warm, addresses, times faster than unw_backtrace",
      "walk",
      "warm",
      "unw_backtrace",
      1,
      2.5,
      true,
      "x",
      { "CFI, frame pointers, depth 50, 16 pcs", "CFI, none, depth 50, 16 pcs",
        "CFI, frame pointers, depth 1000, 16 pcs", "CFI, none, depth 1000, 16 pcs",
        "CFI, frame pointers, depth 50, 5000 pcs", "CFI, none, depth 50, 5000 pcs" } },
    { "warm, all registers, times faster than unw_step",
      "walk",
      "warm, all regs",
      "unw_step",
      1,
      40,
      true,
      "x",
      { "CFI, frame pointers, depth 50, 16 pcs", "CFI, none, depth 50, 16 pcs",
        "CFI, frame pointers, depth 1000, 16 pcs", "CFI, none, depth 1000, 16 pcs" } },
    { "CFI step without cache, times faster than glibc's",
      "walk",
      "cold",
      "glibc backtrace",
      1,
      1,
      true,
      "x",
      { "CFI, frame pointers, depth 50, 16 pcs", "CFI, none, depth 50, 16 pcs",
        "CFI, frame pointers, depth 1000, 16 pcs", "CFI, none, depth 1000, 16 pcs",
        "CFI, frame pointers, depth 50, 5000 pcs, 1 caller each", "CFI, none, depth 50, 5000 pcs, 1 caller each" } },
    { "CFI step without cache, times faster than LLVM's",
      "walk",
      "cold",
      "LLVM unw_step",
      1,
      1,
      true,
      "x",
      { "CFI, frame pointers, depth 50, 16 pcs", "CFI, none, depth 50, 16 pcs",
        "CFI, frame pointers, depth 1000, 16 pcs", "CFI, none, depth 1000, 16 pcs",
        "CFI, frame pointers, depth 50, 5000 pcs, 1 caller each", "CFI, none, depth 50, 5000 pcs, 1 caller each" } },
    { "CFI step without cache, times faster than unw_step",
      "walk",
      "cold",
      "unw_step",
      1,
      1,
      true,
      "x",
      { "CFI, frame pointers, depth 50, 16 pcs", "CFI, none, depth 50, 16 pcs",
        "CFI, frame pointers, depth 1000, 16 pcs", "CFI, none, depth 1000, 16 pcs",
        "CFI, frame pointers, depth 50, 5000 pcs, 1 caller each", "CFI, none, depth 50, 5000 pcs, 1 caller each" } },
    { "cold pc by CFI, of unw_step", "cold", "CFI", NULL, 1, 1.0, false, "x", { "ns, median" } },
    { "cold pc by analysis, function seen, of unw_step", "cold", "seen", NULL, 1, 1.5, false, "x", { "ns, median" } },
    { "cold pc by analysis, function never seen", "cold", "unseen", NULL, 0.001, 20, false, " us", { "ns, median" } },
    { "rule-cache hits, native program", "hits", "in-process", NULL, 1, 99, true, " %", { "% hits after warm-up" } },
    { "rule-cache hits, .NET process",
      "dotnet",
      "snapwalk",
      NULL,
      1,
      99,
      true,
      " %",
      { "% rule-cache hits after warm-up" } },
    { "no tables, warm, addresses, of the same with CFI",
      "tableless",
      "no CFI",
      NULL,
      1,
      1.5,
      false,
      "x",
      { "no CFI, frame pointers, depth 50, 16 pcs", "no CFI, frame pointers, depth 200, 16 pcs",
        "no CFI, frame pointers, depth 1000, 16 pcs", "no CFI, none, depth 50, 16 pcs",
        "no CFI, none, depth 200, 16 pcs", "no CFI, none, depth 1000, 16 pcs", "no CFI, none, depth 50, 5000 pcs" } },
    { "no tables, first frame in a function never seen, median",
      "cold",
      "bounds unknown",
      NULL,
      0.001,
      20,
      false,
      " us",
      { "ns, median" } },
    { "no tables, the same with bounds, median", "cold", "unseen", NULL, 0.001, 20, false, " us", { "ns, median" } },
    { "no tables, % rule-cache hits of sampled programs",
      "sampled",
      "% hits",
      NULL,
      1,
      99,
      true,
      " %",
      { "busybox awk", "busybox awk, no tables", "Free Pascal", "Free Pascal, no tables", "perl, no tables",
        "OCaml, no tables", "luajit, interpreter, no tables" } },
    { "sampled every 250 us, % of speed kept",
      "sampled",
      "% speed kept",
      NULL,
      1,
      90,
      true,
      " %",
      { "busybox awk", "Free Pascal", "php", "guile", "luajit, JIT", "HotSpot", "coroutines", "perl, no tables" } },
    { "worst walks, default budget, cold",
      "hostile",
      "cold, us",
      NULL,
      1,
      200,
      false,
      " us",
      { "a function of 50,000 blocks that returns", "a function of 50,000 blocks that does not",
        "300,000 instructions in a row", "a small endless loop", "the same, stack of return addresses",
        "a stack of return addresses", "64 frames of unregistered JIT code", "the same without tables" } },
    { "worst walks, default budget, prepared",
      "hostile",
      "warm, us",
      NULL,
      1,
      200,
      false,
      " us",
      { "a function of 50,000 blocks that returns", "a function of 50,000 blocks that does not",
        "300,000 instructions in a row", "a small endless loop", "the same, stack of return addresses",
        "a stack of return addresses", "64 frames of unregistered JIT code", "the same without tables" } },
    { "code map find, 10^6 ranges, times faster than array",
      "codemap",
      "code map",
      NULL,
      1,
      6,
      true,
      "x",
      { "1000000 ranges, ns a find" } },
    { "code map find, 10^6 ranges, of one bare load",
      "floor",
      "code map",
      NULL,
      1,
      2,
      false,
      "x",
      { "1000000 ranges, ns, waiting for the last" } },
    { "code map, bytes a range",
      "codemap",
      "code map",
      NULL,
      1,
      32,
      false,
      " bytes",
      { "1000000 ranges, bytes a range" } },
    { "insert 10^6 ranges",
      "bulk",
      "s to add all",
      NULL,
      1,
      1,
      false,
      " s",
      { "1000000 ranges, ascending", "1000000 ranges, descending", "1000000 ranges, random" } },
    { "find beside a writer, 99th percentile, of quiet median",
      "readers",
      "99th percentile",
      NULL,
      1,
      2,
      false,
      "x",
      { "ns a find, beside a writer" } },
    { "remote: stopped for a 50-frame walk, after the first",
      "remote",
      "snapwalk",
      NULL,
      1,
      200,
      false,
      " us",
      { "1 thread, us stopped, later" } },
    { ".NET process, times faster than ClrMD",
      "dotnet",
      "snapwalk",
      NULL,
      1,
      20,
      true,
      "x",
      { "ms, first look", "ms, later looks", "ms, whole command" } },
};

/* False where the scene was not measured. */
static bool measure(const struct target *t, const char *scene, double *value)
{
    const struct figure *f = figure_find(t->section, scene, t->way);
    if (!f || (t->against && !figure_find(t->section, scene, t->against)))
        return false;
    if (t->against)
        *value = figure_value(t->section, scene, t->against) / f->value;
    else
        *value = f->ratio > 0 && t->scale >= 1 ? f->ratio : f->value * t->scale;
    return true;
}

/* Of how many scenes; the worst and the best of them. */
static unsigned measure_all(const struct target *t, double *worst, double *best)
{
    unsigned count = 0;
    double value;
    for (size_t i = 0; t->scenes[i]; i++) {
        if (!measure(t, t->scenes[i], &value))
            continue;
        *worst = count == 0 || (t->least ? value < *worst : value > *worst) ? value : *worst;
        *best = count == 0 || (t->least ? value > *best : value < *best) ? value : *best;
        count++;
    }
    return count;
}

static void print_target(const struct target *t)
{
    double worst, best;
    const unsigned count = measure_all(t, &worst, &best);
    printf("%-58s %s %5.4g%-6s ", t->what, t->least ? "at least" : "at most ", t->target, t->unit);
    if (count == 0) {
        printf("  not measured\n");
        return;
    }
    const double missed = t->least ? t->target / worst : worst / t->target;
    printf("%8.2f%-6s ", worst, t->unit);
    printf(missed <= 1 ? "met" : "missed by %.2fx", missed);
    printf(count > 1 ? " (best %.2f)\n" : "\n", best);
}

void print_targets(void)
{
    printf("\ntargets: the worst of each target's scenes\n");
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        print_target(&targets[i]);
    printf("beside the real DoStackSnapshot: measured by make clr\n");
}

/*
 * The last line's scenes, with frame pointers and without; the one that does worse counts. Deep stacks, where neither a
 * walk's beginning and end nor the cache's size play a part.
 */
static const struct target last[] = {
    { "replay",
      "replay",
      "replay",
      NULL,
      1,
      0,
      false,
      "x",
      { "CFI, frame pointers, depth 1000, 10 % changed", "CFI, none, depth 1000, 10 % changed" } },
    { "warm",
      "walk",
      "warm",
      NULL,
      1,
      0,
      false,
      "x",
      { "CFI, frame pointers, depth 1000, 16 pcs", "CFI, none, depth 1000, 16 pcs" } },
    { "warm-full",
      "walk",
      "warm, all regs",
      "unw_step",
      1,
      0,
      true,
      "x",
      { "CFI, frame pointers, depth 1000, 16 pcs", "CFI, none, depth 1000, 16 pcs" } },
    { "cold", "cold", "CFI", NULL, 1, 0, false, "x", { "ns, median" } },
};

void print_last_line(void)
{
    static const char *const behind[] = { ", ", " of the frame-pointer chase, ", " faster than unw_step, ",
                                          " of unw_step (depth 1,000; cold: by CFI)\n" };
    printf("bench: ");
    for (size_t i = 0; i < sizeof last / sizeof *last; i++) {
        double worst, best;
        if (measure_all(&last[i], &worst, &best))
            printf("%s %.2fx%s", last[i].what, worst, behind[i]);
        else
            printf("%s -%s", last[i].what, behind[i]);
    }
}
