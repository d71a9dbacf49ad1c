/*
 * The profile: one thread reads the samples, names their frames and adds them up; a dump writes what there is and
 * begins anew.
 */
#ifndef PROFILER_COLLECT_H
#define PROFILER_COLLECT_H

#include "options.h"

#include <stdint.h>

struct sw_clr;

/* Begins a profile, and the thread. `options` is borrowed. False: no memory, no thread. */
bool collect_open(const struct options *options, struct sw_clr *clr);

/* Writes what was collected, as collect_dump, and ends the thread. */
bool collect_close(void);

/*
 * Something is about to be unloaded: samples in which it is are named first. 0: a module; its methods are not
 * forgotten one by one. Threads: any; not in a handler.
 */
void collect_unload(uint64_t function);

/* Writes what was collected, and begins anew. False, and said on standard error: it could not. Threads: any. */
bool collect_dump(void);

#endif
