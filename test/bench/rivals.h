/* Other programs of the bench, run beside this one: their output, line by line. */
#ifndef BENCH_RIVALS_H
#define BENCH_RIVALS_H

#include "bench.h"

/*
 * Runs a command, calls `line` with each line that it prints (stderr goes with it). False: it did not end well.
 */
bool rival_run(const char *command, void (*line)(void *arg, const char *text), void *arg);

#endif
