/* A .NET process that is stopped all the time, as both see it: this library and ClrMD, all threads, by name or not. */
#include "figures.h"
#include "remote.h"
#include "rivals.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DOTNET_TURNS = 3, SAMPLES = 4, HIT_SAMPLES = 1000, HIT_WARM = 500, HIT_EVERY_US = 2000 };

/* ms of the first look and of the last one, and of the whole command, turn by turn. */
struct looks {
    double first[DOTNET_TURNS], later[DOTNET_TURNS], command[DOTNET_TURNS];
};

static void look_ourselves(struct looks *looks, unsigned turn, int pid)
{
    struct remote remote;
    double begin = wall_ns();
    remote_open(&remote, pid, true);
    struct sample sample = remote_sample(&remote, NULL, NULL);
    looks->first[turn] = (wall_ns() - begin) / 1e6;
    for (int i = 1; i < SAMPLES; i++)
        sample = remote_sample(&remote, NULL, NULL);
    looks->later[turn] = sample.all / 1e6;
    remote_close(&remote);
    must(sample.threads > 1 && sample.frames > sample.threads, "walking a .NET process");
}

struct lines {
    double first, last;
    unsigned frames;
};

/* "look MS" in the timing mode of ClrMD's program, "frame ..." else. */
static void read_line(void *arg, const char *text)
{
    struct lines *lines = arg;
    double ms;
    lines->frames += strncmp(text, "frame ", 6) == 0;
    if (sscanf(text, "look %lf", &ms) != 1)
        return;
    lines->first = lines->first > 0 ? lines->first : ms;
    lines->last = ms;
}

static double run_command(const char *command, struct lines *lines)
{
    *lines = (struct lines){ 0 };
    const double begin = wall_ns();
    must(rival_run(command, read_line, lines) && (lines->frames || lines->last > 0), command);
    return (wall_ns() - begin) / 1e6;
}

static void note(const char *scene, double *ours, double *theirs)
{
    const double ratio = median_ratio(theirs, ours, DOTNET_TURNS);
    figure_note("dotnet", scene, "snapwalk", 0, median(ours, DOTNET_TURNS), ratio);
    figure_note("dotnet", scene, "ClrMD", 0, median(theirs, DOTNET_TURNS), 0);
}

/* The process runs for once, is sampled from outside, and is stopped again. */
static void count_hits(int pid)
{
    struct remote remote;
    struct sw_cache_counts warmed = { 0 };
    remote_open(&remote, pid, true);
    kill(pid, SIGCONT);
    for (int i = 0; i < HIT_SAMPLES; i++) {
        if (i == HIT_WARM)
            warmed = sw_cache_get_counts(remote.cache);
        (void)remote_sample(&remote, NULL, NULL);
        usleep(HIT_EVERY_US);
    }
    kill(pid, SIGSTOP);
    const struct sw_cache_counts c = sw_cache_get_counts(remote.cache);
    const double hits = (double)(c.hits - warmed.hits);
    const double misses = (double)(c.absent + c.outdated + c.busy - warmed.absent - warmed.outdated - warmed.busy);
    remote_close(&remote);
    figure_note("dotnet", "% rule-cache hits after warm-up", "snapwalk", 0, 100 * hits / (hits + misses), 0);
}

void bench_dotnet(const struct options *options)
{
    struct looks ours = { 0 }, theirs = { 0 };
    struct lines lines;
    char stacks[700], clrmd[700], timed[700];
    if (!options->dotnet) {
        figure_skip("dotnet", "ClrMD", "no dotnet command");
        figure_print("dotnet", ".NET");
        return;
    }
    snprintf(stacks, sizeof stacks, "%s/../../../tools/snapstacks/snapstacks --plain %d", options->programs,
             options->dotnet);
    snprintf(clrmd, sizeof clrmd, "%s %d", options->clrmd, options->dotnet);
    snprintf(timed, sizeof timed, "%s %d --time %d", options->clrmd, options->dotnet, SAMPLES);
    for (unsigned turn = 0; turn < DOTNET_TURNS; turn++) {
        look_ourselves(&ours, turn, options->dotnet);
        (void)run_command(timed, &lines);
        theirs.first[turn] = lines.first;
        theirs.later[turn] = lines.last;
        ours.command[turn] = run_command(stacks, &lines);
        theirs.command[turn] = run_command(clrmd, &lines);
    }
    note("ms, first look", ours.first, theirs.first);
    note("ms, later looks", ours.later, theirs.later);
    note("ms, whole command", ours.command, theirs.command);
    count_hits(options->dotnet);
    figure_print("dotnet", ".NET: all threads of a stopped process, and how many times faster than ClrMD");
}
