/* The sections of the bench. Each notes figures and prints its table. */
#ifndef BENCH_H
#define BENCH_H

#include "stacks.h"

#include <snapwalk/walk.h>

/* Where the programs beside this one are; a stopped .NET process and the command that runs ClrMD on it, or 0 and NULL.
 */
struct options {
    const char *self;
    const char *programs;
    int dotnet;
    const char *clrmd;
};

void bench_walk(const struct options *options);
void bench_replay(void);
void bench_cold(void);
void bench_counts(const struct options *options);
void bench_hits(void);
void bench_tableless(void);
void bench_hostile(void);
void bench_sampled(const struct options *options);
void bench_maps(void);
void bench_readers(void);
void bench_remote(const struct options *options);
void bench_dotnet(const struct options *options);

/* The hidden mode behind bench_counts: so many walks by a way, and nothing else that grows with them. */
int count_walks(const char *way, unsigned depth, unsigned walks);

/* The targets beside what was measured; the last line; what grows, drawn. */
void print_targets(void);
void print_last_line(void);
bool plot_write(const char *path);

#endif
