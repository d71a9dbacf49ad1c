/* The threads of this process, as /proc/self/task lists them, without memory and without the C library's streams. */
#ifndef SW_TARGET_LINUX_TASKS_H
#define SW_TARGET_LINUX_TASKS_H

#include <stdbool.h>

/*
 * open: a descriptor of the folder, to be closed; negative: none. each: calls `each` with each thread from the folder's
 * beginning on, in no order; one that begins or ends meanwhile may count or not. False: the system does not tell. Both
 * are signal safe; errno changes.
 */
int sw_tasks_open(void);
bool sw_tasks_each(int folder, void (*each)(void *arg, int thread), void *arg);

#endif
