/*
 * The ends of a program of which the runtime tells profilers nothing, and what was sampled would be lost: signals that
 * nobody handles, and crashes (abort, a fault, an exception that nobody catches). Whoever ends is held for a while,
 * until the profile is written by the profiler's own thread.
 */
#ifndef PROFILER_SIGNALS_H
#define PROFILER_SIGNALS_H

#include <stdbool.h>

/*
 * From now on signals that have the default action, or the runtime's own that tells nobody, are noted instead; until
 * leave. What is ignored stays so, and what the program handles is its own, also later. Not in a handler.
 *
 * runtime      An address in the runtime.
 * version      Its major version.
 * is_starting  Nothing of the program has run yet.
 */
void signals_watch(const void *runtime, unsigned version, bool is_starting);
void signals_leave(void);

/* The calling thread is the one that writes, and is never held; until the process or signals_serve(false). */
void signals_serve(bool on);

/* How many ends there were so far; more than at the last signals_written: there is something to write. */
unsigned signals_ends(void);

/* What was collected at the first so many ends is written: those that wait go on. */
void signals_written(unsigned ends);

/* An end whose profile is being written: waits until it has ended the process, for a bounded time. */
void signals_await_end(void);

/* 0, or the signal that the process is to end of, asked for behind signals_ends. A second one ends it at once. */
int signals_asked(void);

/* Ends the process of that signal, as if nobody had watched. */
void signals_end(int number);

#endif
