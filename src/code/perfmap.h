/* A perf map reader, internal interface: its position in the file, for src/target; its lines, for jitdump files. */
#ifndef SW_CODE_PERFMAP_H
#define SW_CODE_PERFMAP_H

#include "jit/perfmap_text.h"

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

/* Adds one range, by the rules for lines of a text. unwind: of a plain one. */
SW_NODISCARD enum sw_status sw_perfmap_take(struct sw_perfmap *perfmap, struct sw_codemap *codemap,
                                            const struct sw_perfmap_line *line, enum sw_unwind unwind);

/* Moves the range that begins at from, with its name. Returns  Also SW_E_NOT_FOUND (none begins there), SW_E_WRAPS. */
SW_NODISCARD enum sw_status sw_perfmap_move(struct sw_perfmap *perfmap, struct sw_codemap *codemap, uint64_t from,
                                            uint64_t to);

#endif
