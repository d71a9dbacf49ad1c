/* Files by names of a target's: in its root, which need not be ours. */
#ifndef SNAPSTACKS_WITHIN_H
#define SNAPSTACKS_WITHIN_H

/*
 * Opens a regular file to read it. What is none is not opened.
 *
 * root  In front of the path: "/proc/PID/root", a core's sysroot; "" for none. Links on the way lead within it.
 *
 * Returns  A descriptor; -1.
 */
int open_within(const char *root, const char *path);

#endif
