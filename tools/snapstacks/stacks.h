/* All stacks of a target as plain data, with names; threads whose stacks are alike know of each other. */
#ifndef SNAPSTACKS_STACKS_H
#define SNAPSTACKS_STACKS_H

#include <snapwalk/frame.h>

#include "names.h"
#include "target.h"

/* How a frame was found: by the library's walk, by what the runtime knows of its frames, by a search (search.h). */
enum found_by { BY_WALK, BY_RUNTIME, BY_SEARCH };

/* kind: JIT for what an interpreter executes, NGEN for functions that a runtime brings with it. */
struct frame {
    uint64_t pc, sp;
    const struct place *place;
    uint8_t kind, source, trust, found_by;
    bool is_interpreted;
};

enum { NO_STACK = UINT32_MAX };

/*
 * alike   In the first of the stacks that are alike: how many there are. 0 in the others.
 * next    The next one that is alike, or NO_STACK.
 */
struct stack {
    uint64_t tid;
    const char *name;
    struct frame *frames;
    uint32_t count, alike, next;
    enum sw_stop stop;
    struct sw_fault fault;
};

/* A thread that has no stack here, and why. */
struct absent {
    uint64_t tid;
    const char *name, *why;
};

struct stacks {
    struct stack *at;
    size_t count;
    struct absent *absent;
    size_t absent_count;
};

/* Walks all threads. Ends the program where memory runs out. */
void stacks_take(struct stacks *stacks, struct target *target, struct names *names);
void stacks_free(struct stacks *stacks);

/* "interp", or what kind of code it is; "runtime", "search", or where the rule came from. */
const char *frame_kind(const struct frame *frame);
const char *frame_source(const struct frame *frame);

/* Puts threads together that have the same frames and the same end. Without this call each stands alone. */
void stacks_group(struct stacks *stacks);

/* Whether the walk came to the thread's clean root. */
bool stack_is_whole(const struct stack *stack);

#endif
