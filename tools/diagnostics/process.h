/* What /proc says of a process with a runtime. Source: diagnostics-ipc.md sections 1 and 8; proc(5). */
#ifndef COMMAND_PROCESS_H
#define COMMAND_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The path of its diagnostics socket, whether there is one or not. False: there is no such process, or too long. */
bool process_socket(pid_t pid, char *path, size_t size);

/* Its name and its user. False: there is no such process. */
bool process_about(pid_t pid, char *name, size_t size, unsigned *owner);

/* Its id in its own namespace; 0: there is no such process. */
long process_own_pid(pid_t pid);

/* Its /tmp, wherever its root is; a descriptor to name files by. -1, and errno. */
int process_tmp(pid_t pid);

/* Whether it has a handler for a signal; whether it stands (stopped, or traced). False also: no such process. */
bool process_catches(pid_t pid, int signal);
bool process_stands(pid_t pid);

/* It was started with a word that holds this text, in its command line or its environment. */
bool process_was_told(pid_t pid, const char *text);

/* It has a file mapped whose path ends so. */
bool process_has(pid_t pid, const char *ending);

/* From the text of its stat and status: when it began, in ticks; its id in its own namespace. False: not there. */
bool process_started(const char *stat, unsigned long long *ticks);
bool process_inner_pid(const char *status, long *pid);

#endif
