/* What /proc says of a .NET process. Source: diagnostics-ipc.md section 1; proc(5). */
#ifndef COMMAND_PROCESS_H
#define COMMAND_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The path of its diagnostics socket, whether there is one or not. False: there is no such process, or too long. */
bool process_socket(pid_t pid, char *path, size_t size);

/* It has a file mapped whose path ends so. */
bool process_has(pid_t pid, const char *ending);

/* From the text of its stat and status: when it began, in ticks; its id in its own namespace. False: not there. */
bool process_started(const char *stat, unsigned long long *ticks);
bool process_inner_pid(const char *status, long *pid);

#endif
