/* Ends the program where it cannot go on, with words that say what to do next. */
#ifndef SNAPSTACKS_REFUSE_H
#define SNAPSTACKS_REFUSE_H

#include <snapwalk/status.h>

#include "options.h"

#include <stddef.h>

/* Goes on after SW_OK; else ends the program. A tracer that ends releases the process, so that it runs on. */
void must(enum sw_status status, const char *what);

/* As must, of a process: says why the system forbids it. */
void must_for(enum sw_status status, int pid, const char *what);

/* Zeroed memory, for free. */
void *must_get(size_t count, size_t size, const char *what);

/*
 * "snapstacks: " and a sentence on standard error. Texts of the target may be in it: what a terminal would obey is
 * printed as in stacks.
 */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the program with this code and "snapstacks: WHAT: WHY". */
_Noreturn void refuse_with(enum exit_code code, const char *what, const char *why);

#endif
