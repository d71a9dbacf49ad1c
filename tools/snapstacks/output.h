/* Writers of stacks. Each gets all that is to be said, and a file; none knows the target. */
#ifndef SNAPSTACKS_OUTPUT_H
#define SNAPSTACKS_OUTPUT_H

#include <stdio.h>

#include "options.h"
#include "stacks.h"

/* What the stacks are of. runtime: "CLR 10", empty for none. stopped_ns: 0 for cores. */
struct report {
    const struct stacks *stacks;
    uint64_t pid, stopped_ns;
    const char *name, *runtime;
    bool is_core, is_verbose, has_colours;
    enum format format;
};

void write_text(const struct report *report, FILE *file);
void write_plain(const struct report *report, FILE *file);
void write_json(const struct report *report, FILE *file);

/* Folded stacks, pprof and speedscope, by tools/profile. */
void write_profile(const struct report *report, FILE *file);

#endif
