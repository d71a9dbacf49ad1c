/* A process or a core that is looked at: its threads, its code, its runtime. Knows the library; no names, no output. */
#ifndef SNAPSTACKS_TARGET_H
#define SNAPSTACKS_TARGET_H

#include <snapwalk/capsule.h>
#include <snapwalk/gdb_jit.h>
#include <snapwalk/jitdump.h>
#include <snapwalk/perfmap.h>
#include <snapwalk/process.h>

#include "runtime.h"

#include <limits.h>

enum { THREAD_NAME_BYTES = 64 };

/*
 * Of process and core one is null. has_all_images: not only those that captured stacks lead into. is_held: the process
 * stands.
 */
struct target {
    int pid;
    bool has_all_images, is_held, goes_on_elsewhere; /* the last: a stack was met that does (stacks.c) */
    struct sw_process *process;
    struct sw_core *core;
    struct sw_images *images, *with_methods; /* with_methods: of which more was to be known; or null */
    struct sw_codemap *codemap;
    struct sw_perfmap *perfmap;
    struct sw_jitdump *jitdump;
    struct sw_gdb_jit *gdb_jit;
    struct sw_cache *cache;
    struct sw_analysis_cache *analysis_cache;
    struct sw_capsule *capsule; /* null: nothing is saved */
    struct runtime runtime;
};

/*
 * Stops the process, copies its stacks, lets it run on. Ends the program where that cannot be done. saves: what is read
 * from now on is kept for a capsule (save.h). asks: its runtime is asked for a perf map before (ask.h).
 */
void target_open_process(struct target *target, int pid, bool saves, bool asks);

/* Copies the stacks of an open process once more, with the code that it has made since. False: it has ended. */
bool target_again(struct target *target);

/* Opens a core. Files that are missing, or are not the ones the process had, are said on standard error. */
void target_open_core(struct target *target, const char *path, const char *sysroot, bool saves);

void target_close(struct target *target);

/* Lists the threads; *count receives how many. The caller frees the list. */
uint64_t *target_threads(const struct target *target, size_t *count);

/* Lists the threads that could not be stopped in time. The caller frees the list. */
struct sw_left_out *target_left_out(const struct target *target, size_t *count);

/*
 * Where a stack goes on in others that the capture has not copied, as Go's does, or what it runs is described on the
 * heap: stops the process, so that walks are of what stands. False: that is not so, or it cannot be stopped; what was
 * captured stays; so it does of a process that has begun another program since. target_let_go lets it run on.
 */
bool target_is_to_hold(const struct target *target);
bool target_hold(struct target *target);
void target_let_go(struct target *target);

/* A reader of the target's memory, as long as it is open. */
struct sw_memory target_memory(const struct target *target);

/* The walker and the registers of a thread. */
void target_look(const struct target *target, uint64_t tid, struct sw_regs *regs, struct sw_walker *walker);

/*
 * What may be around an address that is in no image: one that the runtime has there, files that no stack led to, code
 * that was registered for gdb. True: more is known than before, so that a walk that met the address is to be made
 * again.
 */
bool target_learn(struct target *target, uint64_t address);

/* The name of code in a range that a capsule names; null: there is none. */
const char *target_range_name(const struct target *target, uint64_t address);

/*
 * The precompiled method around an address, by its file, where that was opened without a list of them. False: that was
 * not so, or it has none.
 */
bool target_find_method(const struct target *target, uint64_t address, struct sw_range *method);

/* A thread that has not ended, to ask /proc by: of a main thread that has, it tells neither root nor program. */
int target_live_thread(const struct target *target);

/* The path of the program, as the target has it; empty: not known. */
void target_program(const struct target *target, char path[PATH_MAX]);

/* The name of a thread; a core knows that of the program only. */
void target_thread_name(const struct target *target, uint64_t tid, char name[THREAD_NAME_BYTES]);

#endif
