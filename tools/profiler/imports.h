/* What an object of this process calls in others: one of its imports can be put to something else. */
#ifndef PROFILER_IMPORTS_H
#define PROFILER_IMPORTS_H

#include <stdbool.h>

/*
 * From now on the object that holds the address `within` calls `function` where it called `name`; other objects are
 * left alone.
 *
 * Returns  false: it has no such import, or its table may not be written to. Signals: not safe.
 */
bool imports_replace(const void *within, const char *name, void (*function)(void));

#endif
