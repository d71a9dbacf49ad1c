/*
 * What walks said against what is true, counted; and the misses, listed.
 */
#ifndef STEP_SCORE_H
#define STEP_SCORE_H

#include "shadow.h"
#include "symbols.h"

#include <snapwalk/walk.h>

#include <stdio.h>

/* ORDER step_mode: score.c names them. */
enum step_mode { STEP_TABLES, STEP_BOUNDS, STEP_WITHOUT, STEP_MODES };

/* ORDER step_place */
enum step_place { STEP_PROLOGUE, STEP_EPILOGUE, STEP_PLT, STEP_VDSO, STEP_SIGNAL, STEP_JIT, STEP_OTHER, STEP_PLACES };

/* ORDER step_verdict */
enum step_verdict { STEP_RIGHT, STEP_WRONG_PLACE, STEP_WRONG_REGISTER, STEP_CUT, STEP_TOO_FAR, STEP_VERDICTS };

/*
 * One walk judged. first: of the first caller; whole: of the first frame that is not right, `at` its number (1 is the
 * first caller). got, expected: that frame; source, trust: what the walk said of it. stop: why the walk ended.
 * frames: right and wrong by trust, up to and including frame `at`. from: the pc of the frame in front of it, whose
 * caller was asked for. unheard_of: a frame's code is in no file and no range. complete: it was judged to its end.
 */
struct step_walk {
    bool judged, unheard_of, complete;
    uint8_t first, whole;
    uint8_t source, trust, stop;
    uint32_t at;
    struct shadow_regs got, expected;
    uint64_t known;
    uint64_t from;
    uint16_t frames[SW_TRUST_COUNT][2];
};

/* One stopped instruction; step: its number. */
struct step_sample {
    uint64_t pc;
    uint64_t step;
    size_t depth;
    uint8_t place;
    struct step_walk walks[STEP_MODES];
};

/* A miss, once per place whose caller was not found; pc is where the first such walk began. */
struct step_miss {
    uint64_t pc;
    uint64_t times;
    struct step_walk walk;
};

enum { STEP_MISSES = 256 };

struct step_score {
    uint64_t checked, first, whole;
    uint64_t places[STEP_PLACES][2]; /* wrong, right */
    uint64_t frames[SW_TRUST_COUNT][2];
    uint64_t verdicts[STEP_VERDICTS];
    uint64_t ends[SW_STOP_COUNT];            /* of walks that are right to their end */
    struct step_miss misses[2][STEP_MISSES]; /* of the first caller; further out */
    size_t miss_count[2];
};

void score_add(struct step_score *score, const struct step_sample *sample, enum step_mode mode);
void score_merge(struct step_score *to, const struct step_score *from);

const char *score_mode_name(enum step_mode mode);
const char *score_verdict_name(enum step_verdict verdict);
double score_percent(uint64_t part, uint64_t whole);

/* The tables of places and trust; the first `most` misses of either kind; as TAP comments. */
void score_print_tables(FILE *to, const struct step_score *score);
void score_print_misses(FILE *to, const struct step_score *score, const struct symbols *symbols, size_t most);

#endif
