/* The parts of a target, which processes and cores make in an order of their own. A failure ends the program. */
#ifndef SNAPSTACKS_TARGET_PARTS_H
#define SNAPSTACKS_TARGET_PARTS_H

#include "target.h"

void target_create_parts(struct target *target);

/* By the number of threads, which are known by then. */
void target_create_caches(struct target *target);

/* Since it was captured: what its runtime told of its code may have changed, and is kept no longer. */
void target_has_run(struct target *target);

/* The runtime is known by then. */
void target_create_perfmap(struct target *target);

void target_read_jitdump(struct target *target, const char *sysroot);
void target_read_gdb_jit(struct target *target);

void target_begin_capsule(struct target *target, enum sw_machine machine);

/*
 * All files of a process, and with them what compilers have registered for gdb: once. False: nothing more is known than
 * before.
 */
bool target_learn_all(struct target *target);

/* The target's memory, of which a capsule keeps nothing. */
struct sw_memory target_own_memory(const struct target *target);

#endif
