/* Names of places in a target's code. Each place is named once: what is looked up is kept. */
#ifndef SNAPSTACKS_NAMES_H
#define SNAPSTACKS_NAMES_H

#include <snapwalk/frame.h>

#include "assemblies.h"
#include "symbols.h"
#include "target.h"

/*
 * A place in code. Texts are clean (profile/text.h) and never null.
 *
 * lookup    The address that was looked up.
 * identity  The function that runs there, where the address does not say it (runtime.h); else 0.
 * module    "libc.so.6", "System.Private.CoreLib"; empty: not known.
 * function  Empty: not known.
 * offset    From the function's begin, or else from the module's, to the pc. Not of managed code, whose names say more.
 * label     All of it: "app!Namespace.Type.Method(int)", "libc.so.6!pause+0x32", "libc.so.6+0x1234", "?+0x7f12".
 * lines     What debug information says, innermost first: all but the last were inlined. None: null, 0.
 */
struct place {
    uint64_t lookup, identity;
    const char *module, *function, *label;
    uint64_t offset;
    bool is_managed, is_exact;
    const struct line *lines;
    size_t line_count;
};

struct names;

/* raw: as compilers made them. symbols, assemblies: may be null. Ends the program where memory runs out. */
struct names *names_create(const struct target *target, struct symbols *symbols, struct assemblies *assemblies,
                           bool raw);
void names_destroy(struct names *names);

/* The place of a frame, runs: as runtime_identify has it. Lives as long as `names`. */
const struct place *names_find(struct names *names, const struct sw_frame *frame, const struct runtime_frame *runs);

/*
 * Between the two, places of code have no names yet: those that are found are named by names_settle. What a runtime
 * describes by an identity is named at once.
 */
void names_defer(struct names *names);
void names_settle(struct names *names);

/* A clean copy of a text, one for each; lives as long as `names`. */
const char *names_keep(struct names *names, const char *text);

#endif
