/*
 * The stacks that every rival walks: 2 x 50,000 functions of the program, half of them with frame pointers, all with
 * call frame information, and stacks of their frames, made up in memory or really called.
 */
#ifndef BENCH_STACKS_H
#define BENCH_STACKS_H

#include "measure.h"

enum { FUNCTIONS = 50000, SLOT = 32, FRAME = 32, DEEPEST = 1000, OUT = 2 * DEEPEST };

/* What a walk may know of the code. The machine code is the same: rivals without code ranges go by CFI or not at all.
 */
enum known { BY_CFI, BY_NOTHING, BY_RANGE };

/* Functions, and where in each of them the return address of its call points. */
struct code {
    const char *name;
    const uint8_t *functions;
    unsigned behind_call;
    enum known known;
};
enum { CODES = 6 };
extern const struct code codes[CODES];

/*
 * Whose frame is called by whose. IN_ORDER: each function has one caller, the next but six in memory. SHUFFLED: one
 * caller, any. MIXED: four callers in four stacks, any; nothing can be learnt from what came last.
 */
enum order { IN_ORDER, SHUFFLED, MIXED, ORDERS };

/* Stacks of one depth whose frames are of the first `pcs` functions: one pc in each. */
struct scene {
    const struct code *code;
    unsigned depth, pcs;
    enum order order;
};
enum { SCENE_BYTES = 64 };
void scene_name(const struct scene *scene, char name[SCENE_BYTES]);

/* The stacks of a scene, so many that all pcs are in them, one behind the other. Index [stack * depth + frame]. */
struct stacks {
    struct scene scene;
    unsigned count;
    uint32_t *functions;
    uint64_t *words;
    size_t bytes;
    struct ends {
        uint64_t leaf, root;
    } * ends; /* the pcs of each stack's first and last frame: what a walk starts from and must end with */
};

void stacks_make(struct stacks *s, const struct scene *scene);
/* The same with `count` stacks, each of its own. */
void stacks_make_some(struct stacks *s, const struct scene *scene, unsigned count);
void stacks_free(struct stacks *s);
uint64_t stack_pc(const struct stacks *s, unsigned stack, unsigned frame);
uint64_t stack_sp(const struct stacks *s, unsigned stack, unsigned frame);

/* What happens between two samples: the stack's first frames are of other functions, their words are others. */
void stack_change(struct stacks *s, unsigned stack, unsigned frames, unsigned by);

/* Whether the pcs of a stack, leaf first, stand in out[0 .. count), in front of which and behind which there may be
 * more. */
bool stack_is(const struct stacks *s, unsigned stack, const uint64_t *out, unsigned count);

/* The frame-pointer chase, along the words that hold what was in rbp: how many frames it reached. */
unsigned stack_chase(const struct stacks *s, unsigned stack, uint64_t *out);

/* Calls a stack's functions, for rivals that can walk their own stack alone. The innermost calls leaf(arg). */
void stack_call(const struct stacks *s, unsigned stack, void (*leaf)(void *arg), void *arg);

#endif
