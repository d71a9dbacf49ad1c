/*
 * A stopped program's walks, judged: the library's side of the single-step test.
 */
#ifndef STEP_JUDGE_H
#define STEP_JUDGE_H

#include "score.h"
#include "target.h"

/* What the walkers of one program need, made once. */
struct judge {
    struct target *target;
    struct symbols symbols;
    struct sw_images *images;
    struct sw_codemap *bounds; /* every function that has a symbol with a size */
    uint64_t vdso_begin, vdso_end;
    uint64_t main_begin;
    struct sw_scratch scratch;
};

/* Registers the program's images, symbols and bounds. False after a message. */
bool judge_open(struct judge *judge, struct target *target);
void judge_close(struct judge *judge);

/* Walks from the registers in each mode and compares with the truth. */
void judge_sample(struct judge *judge, const struct user_regs_struct *regs, const struct shadow *truth,
                  struct step_sample *sample);

#endif
