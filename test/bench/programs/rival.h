/* What the programs have in common whose rival must not share a process with the others. */
#ifndef BENCH_RIVAL_H
#define BENCH_RIVAL_H

#include "../turns.h"

/* Arguments: code depth pcs order, as numbers. Prints "ns ratio": of `way`, and to the chase in the same process. */
int rival_main(int argc, char **argv, const struct way *way);

#endif
