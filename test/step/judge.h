/*
 * A stopped program's walks, judged: the library's side of the single-step test.
 */
#ifndef STEP_JUDGE_H
#define STEP_JUDGE_H

#include "beside.h"
#include "score.h"
#include "target.h"

#include <snapwalk/perfmap.h>

enum { JUDGE_FILES = 1024, JUDGE_ROUNDS = 4 };

/*
 * What the walkers of one program need, kept up to date by judge_sync.
 *
 * bounds   Every function that has a symbol with a size.
 * jit      The ranges of the program's perf map, if it writes one.
 * files    The images whose symbols are in.
 * overwritten  Walks not judged since the return address that they needed was written over.
 * unjudged Registers, as a mask of known ones, that the program's language does not preserve in calls.
 * is_mode  The walks that are made; spent: seconds that they took.
 * is_limited  They have the default budget; then, where one was cut, what is left is prepared and another one judged.
 * cut, cut_again  Walks that the budget cut: the first ones, those after preparing, and so on; and the judged ones.
 * unprepared      How often work was left behind a preparation.
 * most_work  The most units that a judged walk has used.
 */
struct judge {
    struct target *target;
    struct symbols symbols;
    struct sw_images *images;
    struct sw_codemap *bounds, *jit;
    struct sw_analysis_cache *analysis_cache;
    struct sw_perfmap *perfmap;
    uint64_t files[JUDGE_FILES];
    size_t file_count;
    uint64_t vdso_begin, vdso_end;
    uint64_t main_begin;
    uint64_t overwritten;
    uint64_t unjudged;
    bool is_mode[STEP_MODES];
    double spent[STEP_MODES];
    bool is_limited;
    uint64_t cut[STEP_MODES][JUDGE_ROUNDS], cut_again[STEP_MODES], unprepared;
    uint64_t most_work[STEP_MODES];
    struct beside beside;
    struct sw_scratch scratch;
};

/* Registers the program's images, symbols and bounds. False after a message. */
bool judge_open(struct judge *judge, struct target *target, const bool is_mode[STEP_MODES]);
void judge_close(struct judge *judge);

/* Takes note of images that were mapped or unmapped, and of what the perf map has got. */
void judge_sync(struct judge *judge);

/* What budgets cut, as a comment; nothing where there is no limit. */
void judge_print_budget(const struct judge *judge);

double judge_clock(void);

/* Walks from the registers in each mode and compares with the truth. */
void judge_sample(struct judge *judge, const struct sw_regs *regs, const struct shadow *truth,
                  struct step_sample *sample);

/* The stack as the walk with tables sees it, as assumed calls; from where it guesses on it is unknown. */
void judge_adopt(struct judge *judge, const struct sw_regs *regs, struct shadow *shadow);

#endif
