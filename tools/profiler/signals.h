/*
 * The signals that end a program without a word: where nothing handles them, profilers are told nothing of its end, and
 * what was sampled would be lost.
 */
#ifndef PROFILER_SIGNALS_H
#define PROFILER_SIGNALS_H

#include <stdbool.h>

/*
 * From now on those that have the default action are noted instead; until leave. What is ignored stays so, and what the
 * program handles is its own, also later. Not in a handler.
 *
 * silent       An address in a runtime whose own handlers tell profilers nothing, either; null: they do.
 * is_starting  Nothing of the program has run yet.
 */
void signals_watch(const void *silent, bool is_starting);
void signals_leave(void);

/* 0, or the signal that the process is to end of. A second one ends it at once. */
int signals_asked(void);

/* Ends the process of that signal, as if nobody had watched. */
void signals_end(int number);

#endif
