/* What the place of a frame is called. */
#ifndef SNAPSTACKS_NAMING_H
#define SNAPSTACKS_NAMING_H

#include "names.h"

/* What is asked, and where texts are kept. symbols, assemblies: may be null. */
struct naming {
    const struct target *target;
    struct symbols *symbols;
    struct assemblies *assemblies;
    bool raw;
    struct names *names;
};

/* A place of its own; free frees it, and its lines. Ends the program where memory runs out. */
struct place *naming_place(const struct naming *naming, const struct sw_frame *frame, const struct runtime_frame *runs);

#endif
