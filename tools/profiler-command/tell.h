/* Sends a text to the profiler of a process, or brings it there, and says what came of it. */
#ifndef COMMAND_TELL_H
#define COMMAND_TELL_H

#include <stdbool.h>
#include <sys/types.h>

/* Says on standard error what is wrong with which, and ends with status 1. */
_Noreturn void fail(const char *which, const char *what);

/*
 * library  As the process sees it. attaching: the text is options, and the profiler is not there yet; else a command.
 * Does not return where it could not.
 */
void tell(pid_t pid, const char *library, const char *text, bool attaching);

#endif
