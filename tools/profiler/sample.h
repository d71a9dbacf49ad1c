/*
 * One sample: taken by the thread that it is of, in its signal handler or in a callback of the runtime, and read later
 * by the collector. A frame is its pc: what code that is, the collector finds out.
 */
#ifndef PROFILER_SAMPLE_H
#define PROFILER_SAMPLE_H

#include "ring.h"

#include <snapwalk/clr.h>

#include <signal.h>

/* What a sample counts; a column of the profile, or two. ORDER sample_kind: columns.c. */
enum sample_kind { SAMPLE_CPU, SAMPLE_WALL, SAMPLE_ALLOC, SAMPLE_EXCEPTION, SAMPLE_LOCK, SAMPLE_KINDS };

enum { SAMPLE_DEPTH_MAX = 1024, SAMPLE_TEXT_WORDS = 16 };

/* The text, whole words, is in records of the runtime's events only. Frames follow, leaf first. */
struct sample {
    uint64_t thread; /* the kernel's id */
    uint64_t kind;
    uint64_t values[2];
    uint64_t flags;
    char text[SAMPLE_TEXT_WORDS * 8]; /* a type's name; empty: none */
};

enum { SAMPLE_CUT = 1, SAMPLE_DEEPER = 2, SAMPLE_OFF_CPU = 4 };

/* Makes the buffers. False: no memory. Signals: not safe. */
bool sample_open(struct sw_clr *clr, size_t bytes);

/* No sample is taken any more, and none is being taken when this returns. Then the buffers may go. */
void sample_stop(void);
void sample_resume(void);
void sample_close(void);

/* No sample is taken any more, in a child of fork: those that were being taken are not waited for. Signals: safe. */
void sample_abandon(void);

/*
 * Takes a sample of the calling thread; thread and flags of `sample` are filled in.
 *
 * context  The third argument of its signal handler, or from getcontext.
 * Memory   Allocates nothing. Threads: any. Signals: safe.
 */
void sample_take(struct sample *sample, const void *context);

/* Of the signals that threads.h sends: takes a sample of the calling thread. */
void sample_on_signal(int number, siginfo_t *about, void *context);

/*
 * For measurements: how long samples of signals take is noted; or pc and time are stored in place of a sample.
 * times: up to now, how many samples, nanoseconds, and how many more were interrupted.
 */
enum sample_measure { SAMPLE_NOT_MEASURED, SAMPLE_TIMED, SAMPLE_STORED };
void sample_measure(enum sample_measure how);
void sample_times(uint64_t to[3]);

/* Whether the thread was sampled since the last call: only then its name will be asked for. Threads: any. */
bool sample_was_taken(uint64_t thread);

/* Reads the oldest: pcs at `*frames`, valid until the next call. False: none. Threads: one at a time. */
bool sample_read(struct sample *sample, const uint64_t **frames, size_t *depth);

/* Waits so long: false; or until half of the buffer is used, or for sample_wake. Threads: one at a time, any. */
bool sample_wait(uint64_t ns);
void sample_wake(void);

/* How many samples of a kind had no room since the last call, and the sums of their values. Threads: any. */
uint64_t sample_lost(enum sample_kind kind, uint64_t values[2]);

#endif
