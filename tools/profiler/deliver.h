/*
 * Where a profile goes that was taken: into its file, and to the receiver. A receiver that hangs keeps nobody from
 * reading samples: for that it is sent by a thread of its own, one at a time.
 */
#ifndef PROFILER_DELIVER_H
#define PROFILER_DELIVER_H

#include "options.h"

struct sw_profile;

/* `options` is borrowed. `shown`: the column of formats that have one. */
void deliver_open(const struct options *options, size_t shown);

/* How many files there are of this process: by an earlier attach, or from before it became this program. */
unsigned long deliver_files(void);

/* Writes and sends it. False, and said on standard error: it could not; it takes at most ten seconds to send. */
bool deliver_now(const struct sw_profile *done, unsigned long number);

/* Writes it, and has it sent, if anywhere; at most ten seconds from now on that is still going on: is_busy. */
bool deliver_soon(const struct sw_profile *done, unsigned long number);
bool deliver_is_busy(void);

/* What is being sent is, or was given up. Threads: one at a time, as deliver_soon. */
void deliver_close(void);

#endif
