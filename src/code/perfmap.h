/*
 * A perf map reader from the inside: where in its file it is. For src/os, which opens the file.
 */
#ifndef SW_PERFMAP_H
#define SW_PERFMAP_H

#include <snapwalk/perfmap.h>

/* Bytes of the file that were fed so far; says that more of them were; begins again with another file (names stay). */
uint64_t sw_perfmap_position(const struct sw_perfmap *perfmap);
void sw_perfmap_advance(struct sw_perfmap *perfmap, uint64_t bytes);
void sw_perfmap_restart(struct sw_perfmap *perfmap);

#endif
