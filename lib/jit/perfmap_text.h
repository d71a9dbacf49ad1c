/* The text format of perf maps. Knows lines; src/code/perfmap.c decides which one wins where they overlap. */
#ifndef SW_JIT_PERFMAP_TEXT_H
#define SW_JIT_PERFMAP_TEXT_H

#include <snapwalk/status.h>

struct sw_perfmap_line {
    uint64_t begin;
    uint64_t size;
    const char *name; /* in the text, not NUL-terminated */
    size_t name_size;
};

/*
 * The next line of a text.
 *
 * at       Where to begin; moved behind the line read, including a bad line. Not moved past an incomplete last line.
 *
 * Returns  SW_OK; SW_E_MALFORMED (not a perf map line: skipped); SW_E_NOT_FOUND (no complete line is left).
 */
SW_NODISCARD enum sw_status sw_perfmap_next(const char *text, size_t size, size_t *at, struct sw_perfmap_line *line);

#endif
