/* A perf map reader, internal interface: its position in the file. For src/target, which opens the file. */
#ifndef SW_CODE_PERFMAP_H
#define SW_CODE_PERFMAP_H

#include <snapwalk/perfmap.h>

/*
 * position: bytes of the file fed so far. advance: that many more were fed. pass: that many more need not be fed, as
 * they are a part of a line that is too long. restart: another file begins; names stay. trusts: whether files of a user
 * are taken, as sw_perfmap_trust said.
 */
uint64_t sw_perfmap_position(const struct sw_perfmap *perfmap);
void sw_perfmap_advance(struct sw_perfmap *perfmap, uint64_t bytes);
void sw_perfmap_pass(struct sw_perfmap *perfmap, uint64_t bytes);
bool sw_perfmap_trusts(const struct sw_perfmap *perfmap, uint32_t user);
void sw_perfmap_restart(struct sw_perfmap *perfmap);

#endif
