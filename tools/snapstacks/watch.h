/* Samples a process for some time. */
#ifndef SNAPSTACKS_WATCH_H
#define SNAPSTACKS_WATCH_H

#include "hot.h"
#include "names.h"
#include "target.h"

/*
 * Takes stacks until the time is over or the process has ended, and adds to `hot` the processor time that each thread
 * has used since the sample before. Says on a terminal how far it is.
 *
 * Returns how many samples were taken.
 */
unsigned watch(struct target *target, struct names *names, unsigned seconds, struct hot *hot);

#endif
