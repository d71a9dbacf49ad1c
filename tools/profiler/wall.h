/* Wall clock: one thread looks at a bounded number of threads in each tick, in turn, whatever they do. */
#ifndef PROFILER_WALL_H
#define PROFILER_WALL_H

#include <stdbool.h>
#include <stdint.h>

/* hz ticks a second, `threads` of them in each. False: no thread. */
bool wall_start(unsigned long hz, unsigned long threads);
void wall_stop(void);

#endif
