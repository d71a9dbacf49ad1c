/* A process or a core that is looked at: its threads, its code, its runtime. Knows the library; no names, no output. */
#ifndef SNAPSTACKS_TARGET_H
#define SNAPSTACKS_TARGET_H

#include <snapwalk/core.h>
#include <snapwalk/perfmap.h>
#include <snapwalk/process.h>

#include "runtime.h"

enum { THREAD_NAME_BYTES = 64 };

/* Of process and core one is null. */
struct target {
    int pid;
    struct sw_process *process;
    struct sw_core *core;
    struct sw_images *images;
    struct sw_codemap *codemap;
    struct sw_perfmap *perfmap;
    struct sw_cache *cache;
    struct sw_analysis_cache *analysis_cache;
    struct runtime runtime;
};

/* Stops the process, copies its stacks, lets it run on. Ends the program where that cannot be done. */
void target_open_process(struct target *target, int pid);

/* Opens a core. Files that are missing, or are not the ones the process had, are said on standard error. */
void target_open_core(struct target *target, const char *path, const char *sysroot);

void target_close(struct target *target);

/* Lists the threads; *count receives how many. The caller frees the list. */
uint64_t *target_threads(const struct target *target, size_t *count);

/* Lists the threads that could not be stopped in time. The caller frees the list. */
struct sw_left_out *target_left_out(const struct target *target, size_t *count);

/* The walker and the registers of a thread, and its name; a core knows the name of the program only. */
void target_look(const struct target *target, uint64_t tid, struct sw_regs *regs, struct sw_walker *walker);
void target_thread_name(const struct target *target, uint64_t tid, char name[THREAD_NAME_BYTES]);

#endif
