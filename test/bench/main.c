/*
 * Speed beside the alternatives: one run, one table, all rivals on the same stacks, maps and processes. Times depend on
 * the machine; ratios are what counts. A target that is missed is printed; only a wrong answer is a failure.
 *
 *     bench --only SECTION FOLDER  one section, and no more than its table
 *     bench FOLDER [PID CLRMD]     FOLDER has the programs and receives bench.json and bench.svg;
 *                                  a stopped .NET process, and a command that runs ClrMD on it
 */
#include "bench.h"
#include "figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_load(const char *what)
{
    double load[1];
    if (getloadavg(load, 1) == 1)
        printf("bench %s: load average %.2f, %d turns\n", what, load[0], TURNS);
}

static const struct section {
    const char *name;
    void (*run)(void);
    void (*run_with)(const struct options *options);
} sections[] = {
    { "walk", NULL, bench_walk },       { "replay", bench_replay, NULL },   { "cold", bench_cold, NULL },
    { "counts", NULL, bench_counts },   { "hits", bench_hits, NULL },       { "tableless", bench_tableless, NULL },
    { "hostile", bench_hostile, NULL }, { "sampled", NULL, bench_sampled }, { "maps", bench_maps, NULL },
    { "readers", bench_readers, NULL }, { "remote", NULL, bench_remote },   { "dotnet", NULL, bench_dotnet },
};

/* All of them, or the one of this name. */
static void run_sections(const struct options *options, const char *only)
{
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        if (only && strcmp(only, sections[i].name) != 0)
            continue;
        if (sections[i].run)
            sections[i].run();
        else
            sections[i].run_with(options);
    }
}

int main(int argc, char **argv)
{
    char programs[512], json[512], svg[512];
    if (argc == 5 && strcmp(argv[1], "--count") == 0)
        return count_walks(argv[2], (unsigned)atoi(argv[3]), (unsigned)atoi(argv[4]));
    const bool only = argc == 4 && strcmp(argv[1], "--only") == 0;
    if (argc != 2 && argc != 4) {
        fprintf(stderr, "usage: bench FOLDER [PID CLRMD] | --only SECTION FOLDER\n");
        return 2;
    }
    snprintf(programs, sizeof programs, "%s/test/bench/programs", argv[only ? 3 : 1]);
    snprintf(json, sizeof json, "%s/bench.json", argv[1]);
    snprintf(svg, sizeof svg, "%s/bench.svg", argv[1]);
    const struct options options = { argv[0], programs, argc == 4 && !only ? atoi(argv[2]) : 0,
                                     argc == 4 && !only ? argv[3] : NULL };
    if (only) {
        run_sections(&options, argv[2]);
        return 0;
    }
    print_load("begins");
    run_sections(&options, NULL);
    must(figure_write_json(json), json);
    must(plot_write(svg), svg);
    print_targets();
    print_load("ends");
    printf("machine: independent arithmetic took %.2fx of its fastest, at the median: above 1, something else ran on "
           "the core\n",
           machine_slowness());
    printf("written: %s %s\n", json, svg);
    print_last_line();
    return 0;
}
