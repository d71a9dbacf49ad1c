/*
 * Speed beside the alternatives: one run, one table, all rivals on the same stacks, maps and processes. Times depend on
 * the machine; ratios are what counts. A target that is missed is printed; only a wrong answer is a failure.
 *
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

int main(int argc, char **argv)
{
    char programs[512], json[512], svg[512];
    if (argc == 5 && strcmp(argv[1], "--count") == 0)
        return count_walks(argv[2], (unsigned)atoi(argv[3]), (unsigned)atoi(argv[4]));
    if (argc != 2 && argc != 4) {
        fprintf(stderr, "usage: bench FOLDER [PID CLRMD]\n");
        return 2;
    }
    snprintf(programs, sizeof programs, "%s/test/bench/programs", argv[1]);
    snprintf(json, sizeof json, "%s/bench.json", argv[1]);
    snprintf(svg, sizeof svg, "%s/bench.svg", argv[1]);
    const struct options options = { argv[0], programs, argc == 4 ? atoi(argv[2]) : 0, argc == 4 ? argv[3] : NULL };
    print_load("begins");
    bench_walk(&options);
    bench_replay();
    bench_cold();
    bench_counts(&options);
    bench_hits();
    bench_maps();
    bench_readers();
    bench_remote(&options);
    bench_dotnet(&options);
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
