/*
 * One program stepped: the loop that keeps the shadow stack, has walks judged and counts what they said.
 */
#ifndef STEP_TRACE_H
#define STEP_TRACE_H

#include "judge.h"

enum { TRACE_RECENT = 8192 };

/* How often the shadow stack met what is no call and no return, and what became of what it was told. */
struct trace_events {
    uint64_t between;                     /* instructions not judged: sp above the return address */
    uint64_t left;                        /* jumps out of frames */
    uint64_t forgiven;                    /* walks not judged since such a jump was under way */
    uint64_t moved;                       /* returns by a moved return address */
    uint64_t pushed;                      /* returns used as jumps */
    uint64_t switched;                    /* changes of stacks */
    uint64_t adopted, confirmed, refuted; /* assumed calls: taken on, returned to, not returned to */
    uint64_t mapped;                      /* readings of the mappings */
};

/*
 * recent: a ring of the last samples, not counted yet: what comes next may show an epilogue, or that a jump was under
 * way.
 * due: whether an instruction is to be looked at; arg: the caller's.
 */
struct trace {
    struct target target;
    struct judge judge;
    struct shadow shadow;
    struct step_score scores[STEP_MODES];
    struct step_sample recent[TRACE_RECENT];
    size_t recent_first, recent_count;
    struct trace_events events;
    bool (*due)(struct trace *trace, uint64_t pc);
    void *arg;
};

/*
 * Executes one instruction, looked at before when it is due; `regs` are in front of it and become those behind it.
 * False at the end of the program.
 */
bool trace_step(struct trace *trace, struct sw_regs *regs, bool look);

/* Counts the samples that wait. */
void trace_flush(struct trace *trace);

/* Begins anew in the middle: mappings, images, and the stack as the tables tell it. */
bool trace_adopt(struct trace *trace, struct sw_regs *regs);

#endif
