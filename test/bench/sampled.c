/*
 * Programs sampled 4,000 times a second by a handler in them that knows nothing of them (sampled/sampler.c): with the
 * unwind tables that they have, and as if they had none; with an analysis cache, which is the default set-up, and
 * without. Of the samples after as many to warm up. What the handler leaves of 250 us is the share of its speed that a
 * program keeps.
 */
#include "figures.h"
#include "rivals.h"

#include <stdio.h>
#include <string.h>

enum { SAMPLES = 3000, SECONDS = 40 };

/* command: $BUILT is where mk/bench.sh has built programs, $SCRIPTS test/accuracy/programs. */
static const struct program {
    const char *name, *needs, *command;
} programs[] = {
    { "busybox awk", "busybox", "busybox awk -f $SCRIPTS/work_posix.awk" },
    { "Free Pascal", "$BUILT/pascal", "$BUILT/pascal" },
    { "OCaml", "$BUILT/ocaml", "$BUILT/ocaml" },
    { "php", "php", "php -n $SCRIPTS/work.php" },
    { "guile", "guile", "guile --no-auto-compile -s $SCRIPTS/work.scm" },
    { "luajit, interpreter", "luajit", "luajit -joff $SCRIPTS/work_jit.lua" },
    { "luajit, JIT", "luajit", "luajit $SCRIPTS/work_jit.lua" },
    { "HotSpot", "java", "java -XX:+UseSerialGC -cp $BUILT Work" },
    { "coroutines", "$BUILT/coroutines", "$BUILT/coroutines" },
    { "perl", "perl",
      "perl -e 'sub f { my $n = shift; $n < 2 ? $n : f($n - 1) + f($n - 2) } for (1 .. 1e6) { f(12); "
      "$x = join(q(,), sort { $b <=> $a } map { $_ * 7919 % 101 } 1 .. 30); $x =~ s/(\\d)/$1x/g }'" },
};

static const struct set_up {
    const char *name, *environment;
} set_ups[] = {
    { "", "" },
    { ", no tables", "NO_TABLES=1" },
    { ", no tables, nothing kept", "NO_TABLES=1 NO_KEEPING=1" },
};

enum { HITS, KEPT_SPEED, MEAN, WORST, FIRST_WORST, UNITS, FRAMES, ROOTS, CUT, LEFT, COLUMNS };
static const char *const columns[COLUMNS] = { "% hits",       "% speed kept", "mean us",   "worst us", "worst us, cold",
                                              "units, worst", "frames",       "% at root", "% cut",    "left undone" };

static void read_figures(void *arg, const char *text)
{
    double *f = arg, walks;
    if (sscanf(text, "%lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf", &walks, &f[0], &f[1], &f[2], &f[3], &f[4], &f[5],
               &f[6], &f[7], &f[8], &f[9]) != COLUMNS + 1)
        f[HITS] = -1;
}

static void sample(const struct options *options, const struct program *program, const struct set_up *set_up)
{
    double figures[COLUMNS] = { -1 };
    char command[2048], scene[64];
    snprintf(command, sizeof command,
             "export BUILT=%s SCRIPTS=$PWD/test/accuracy/programs; command -v %s >/dev/null || exit 0; "
             "timeout -s KILL %u env %s SAMPLES=%u LD_PRELOAD=%s/libsampler.so %s 3>&1 >/dev/null 2>&1",
             options->programs, program->needs, SECONDS, set_up->environment, SAMPLES, options->programs,
             program->command);
    snprintf(scene, sizeof scene, "%s%s", program->name, set_up->name);
    const bool ended = rival_run(command, read_figures, figures);
    for (unsigned c = 0; c < COLUMNS && figures[HITS] >= 0; c++)
        figure_note("sampled", scene, columns[c], 0, figures[c], 0);
    if (figures[HITS] < 0)
        printf("%s: %s\n", scene, ended ? "not on this system" : "took too long, or failed");
}

void bench_sampled(const struct options *options)
{
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++)
        for (size_t s = 0; s < sizeof set_ups / sizeof *set_ups; s++)
            sample(options, &programs[p], &set_ups[s]);
    figure_print("sampled",
                 "sampled: programs interrupted every 250 us of their time, walked by a handler in them that "
                 "knows nothing of them");
}
