/* Asks a running process's runtime to write a perf map: --ask-runtime. Knows which runtime can be asked for one. */
#ifndef SNAPSTACKS_ASK_H
#define SNAPSTACKS_ASK_H

#include <snapwalk/runtime_kind.h>

/*
 * Takes some milliseconds, 10 s at most; the process has to run meanwhile. Where that cannot be done, it is said on
 * standard error why, and what to do. ask_end removes the file that was written, unless the process had one before.
 */
void ask_runtime(int pid, enum sw_runtime_kind kind);
void ask_end(int pid);

#endif
