/*
 * One frame on over a line of the cache, with no more of a frame than pc, sp and rbp, in registers of this processor;
 * and frames that the walk before went through (replay.h). For the two that go on so: ahead.c, addresses.c.
 */
#ifndef SW_SRC_WALK_KNOWN_H
#define SW_SRC_WALK_KNOWN_H

#include "fast/quick.h"

/* Where the walk is: at which frame, what it takes to leave that (form 0: not known), and the number of its line; of
 * its brief entry where addresses only are followed. */
struct sw_at {
    uint64_t pc;
    uint64_t sp;
    uint64_t fp;
    size_t line;
    struct sw_walk_here here;
};

/* The words that a frame was found by, below its sp: pc, and rbp where that has a place there, in bytes. */
static SW_INLINE struct sw_check sw_known_check(uint64_t sp, uint64_t pc, uint64_t below, uint64_t fp)
{
    return (struct sw_check){ sp - SW_WORD, sp - (below ? below : SW_WORD), pc, below ? fp : pc };
}

/* What a line says, as of one moment; false: not of that pc, or no more. */
static SW_INLINE bool sw_known_line(const struct sw_warm *warm, const struct sw_line *line, uint64_t pc,
                                    struct sw_known_frame *to, struct sw_walk_here *here)
{
    const uint32_t version = atomic_load_explicit(&line->version, memory_order_acquire) & ~UINT32_C(1);
    if (SW_UNLIKELY(sw_quick_differs(warm, line, pc) != 0 && !sw_quick_holds(warm, line, pc)))
        return false;
    here->form = sw_quick_load(&line->form);
    here->where = sw_quick_load(&line->where);
    here->place = sw_quick_load(&line->place);
    to->place = here->place;
    to->id = sw_quick_load(&line->id);
    to->rest = sw_quick_load(&line->rest);
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&line->version, memory_order_relaxed) == version;
}

/* One frame on, on the same conditions as in warm.c, quick_step. check may be null. False: at is where it was. */
SW_OTHERS_FRAMES static SW_INLINE bool sw_known_step(const struct sw_warm *warm, struct sw_at *at,
                                                     struct sw_known_frame *to, struct sw_check *check)
{
    const uint64_t form = at->here.form, where = at->here.where;
    const bool framed = form & SW_FORM_FRAMED;
    const uint64_t cfa = framed ? at->fp + 2 * SW_WORD : at->sp + sw_quick_words(form) * SW_WORD;
    if (SW_UNLIKELY(!(form & SW_FORM_QUICK) || cfa - warm->least > warm->span ||
                    (sw_quick_falls(at->sp, cfa) | (form & warm->missing)) != 0))
        return false;
    const uint64_t pc = sw_quick_at(warm->stack, cfa - SW_WORD), below = where & 0xff;
    struct sw_line *line = sw_quick_guess(warm, at->line, pc);
    struct sw_walk_here here;
    if (!sw_known_line(warm, line, pc, to, &here))
        return false;
    at->here = here;
    at->line = (size_t)(line - warm->lines);
    at->pc = pc;
    at->sp = cfa;
    if (below)
        at->fp = sw_quick_at(warm->stack, cfa - SW_WORD * below);
    to->pc = pc;
    to->sp = cfa;
    to->fp = at->fp;
    to->form = form;
    to->where = where;
    if (check)
        *check = sw_known_check(cfa, pc, below * SW_WORD, at->fp);
    return true;
}

static SW_INLINE size_t sw_known_line_number(const struct sw_warm *warm, uint64_t pc)
{
    return (size_t)(sw_line_of(warm->lines, warm->mask, pc) - warm->lines);
}

/* ---- what is remembered ---- */

/*
 * Whether the walk is where one that is remembered was: pc, sp and rbp alike. The cursor stands there then. sp rises,
 * as a rule, in both; where it does not, less is met.
 */
static SW_INLINE bool sw_known_meets(struct sw_replay *replay, uint64_t pc, uint64_t sp, uint64_t fp)
{
    uint32_t cursor = replay->cursor;
    while (cursor < replay->room && replay->frames[cursor].sp < sp)
        cursor++;
    replay->cursor = cursor;
    if (cursor == replay->room)
        return false;
    const struct sw_known_frame *frame = &replay->frames[cursor];
    return ((frame->sp ^ sp) | (frame->pc ^ pc) | (frame->fp ^ fp)) == 0;
}

/* The sp from which on the walk may meet something. */
static SW_INLINE uint64_t sw_known_next_sp(const struct sw_replay *replay)
{
    return replay->cursor < replay->room ? replay->frames[replay->cursor].sp : UINT64_MAX;
}

/* How many frames behind the one that was met can be compared: all their words are in the window. */
static SW_INLINE uint32_t sw_known_run(const struct sw_warm *warm, const struct sw_replay *replay, uint32_t met)
{
    const uint32_t run = replay->runs[met];
    const uint64_t least = warm->least, span = warm->span;
    const bool inside =
        replay->frames[met].sp - least <= span && replay->frames[met + run].sp - least <= span; /* it rises in a run */
    return inside ? run : 0;
}

/* Not 0 unless the words are as they were that led to a frame. */
SW_OTHERS_FRAMES static SW_INLINE uint64_t sw_known_differs(uintptr_t stack, const struct sw_check *check)
{
    return (sw_quick_at(stack, check->at_pc) ^ check->pc) | (sw_quick_at(stack, check->at_fp) ^ check->fp);
}

/* ---- what is staged ---- */

/* How many more frames there is room for. The walk leaves what is remembered: those that it found again are staged. */
static SW_INLINE uint32_t sw_known_room(struct sw_replay *replay)
{
    if (replay->tail != replay->room)
        sw_replay_stage(replay, replay->tail, replay->upto - replay->tail);
    return replay->is_lost ? 0 : replay->room - replay->staged;
}

/* The frame that the walk is at, come to in another way; it must not be an exact one. There must be room. */
static SW_INLINE void sw_known_stage_start(struct sw_replay *replay, const struct sw_at *at)
{
    const struct sw_known_frame *last = &replay->stage[replay->staged - 1];
    if (replay->staged > 0 && last->pc == at->pc && last->sp == at->sp)
        return;
    replay->stage[replay->staged] = (struct sw_known_frame){ .pc = at->pc, .sp = at->sp, .fp = at->fp };
    replay->stage_checks[replay->staged] = (struct sw_check){ 0 };
    replay->staged++;
}

/* ---- going on ---- */

/* What it takes to leave the frame of a return address, by its line. Form 0: that is not known. */
static SW_INLINE struct sw_walk_here sw_known_look(const struct sw_warm *warm, uint64_t pc)
{
    struct sw_known_frame ignored;
    struct sw_walk_here here = { .form = 0 };
    const struct sw_line *line = sw_cache_line(warm->cache, pc, pc | warm->flags);
    if (!line || !sw_known_line(warm, line, pc, &ignored, &here))
        here.form = 0;
    return here;
}

/* The same of a remembered frame. */
static SW_INLINE struct sw_walk_here sw_known_here(const struct sw_warm *warm, uint32_t n)
{
    const struct sw_replay *replay = warm->replay;
    const struct sw_known_frame *frame = &replay->frames[n];
    if (n + 1 == replay->room && replay->end.form)
        return replay->end;
    if (n + 1 < replay->room && replay->checks[n + 1].at_pc && frame[1].form)
        return (struct sw_walk_here){ frame[1].where, frame[1].form, frame->place };
    return sw_known_look(warm, frame->pc);
}

/* How many of the checks at hand find the words as they were; their pcs. */
SW_OTHERS_FRAMES static SW_INLINE uint32_t sw_known_compare(const struct sw_warm *warm, const struct sw_check *checks,
                                                            uint32_t most, uint64_t *pcs)
{
    const uintptr_t stack = warm->stack;
    uint32_t count = 0;
    for (; most - count >= 4; count += 4) { /* one branch for four: the loads need not wait for each other */
        const struct sw_check a = checks[count], b = checks[count + 1], c = checks[count + 2], d = checks[count + 3];
        if (SW_UNLIKELY((sw_known_differs(stack, &a) | sw_known_differs(stack, &b) | sw_known_differs(stack, &c) |
                         sw_known_differs(stack, &d)) != 0))
            break;
        if (!pcs)
            continue;
        pcs[count] = a.pc;
        pcs[count + 1] = b.pc;
        pcs[count + 2] = c.pc;
        pcs[count + 3] = d.pc;
    }
    for (; count < most && sw_known_differs(stack, checks + count) == 0; count++)
        if (pcs)
            pcs[count] = checks[count].pc;
    return count;
}

/* How many frames would be found by steps that want that: of easy ones, which all are, all. */
static SW_INLINE uint32_t sw_known_wanted(const struct sw_known_frame *frames, uint32_t count, uint64_t want,
                                          uint64_t missing)
{
    uint32_t wanted = 0;
    if (want == SW_FORM_EASY)
        return count;
    while (wanted < count && (frames[wanted].form & want) && !(frames[wanted].form & missing))
        wanted++;
    return wanted;
}

/*
 * Whether the walk, which has met that frame, can go on in what is remembered: it has met it there where it left, over
 * a frame that takes more; or it is the walk's first; or there is room for it to be staged.
 */
static SW_INLINE bool sw_known_enters(struct sw_replay *replay, const struct sw_at *at, uint32_t met)
{
    if (!replay->is_staging)
        return true;
    if (replay->tail != replay->room && replay->upto == met)
        return true;
    if (sw_known_room(replay) == 0)
        return false;
    replay->tail = met;
    if (replay->staged != 0) {
        sw_known_stage_start(replay, at);
        replay->tail = met + 1;
    }
    return true;
}

/*
 * Goes to the next frames as the last walk found them, where this one has met it and the words are the same; at->here
 * is to be found by the caller. *first: the number of the next. want, missing: as in sw_known_step, of any frame. pcs:
 * receives theirs, or null.
 *
 * Returns  How many; 0: at is where it was.
 */
static SW_INLINE uint32_t sw_known_recall(struct sw_warm *warm, uint64_t want, uint64_t missing, struct sw_at *at,
                                          size_t most, uint64_t *pcs, uint32_t *first)
{
    struct sw_replay *replay = warm->replay;
    if (!sw_known_meets(replay, at->pc, at->sp, at->fp))
        return 0;
    *first = replay->cursor + 1;
    const uint32_t run = sw_known_run(warm, replay, *first - 1), end = run < most ? run : (uint32_t)most;
    const struct sw_known_frame *frames = replay->frames + *first;
    const uint32_t same = sw_known_compare(warm, replay->checks + *first, end, pcs),
                   count = sw_known_wanted(frames, same, want, missing);
    if (count == 0 || !sw_known_enters(replay, at, *first - 1))
        return 0;
    replay->cursor = replay->upto = *first + count;
    replay->found += count;
    at->pc = frames[count - 1].pc;
    at->sp = frames[count - 1].sp;
    at->fp = frames[count - 1].fp;
    warm->replayed += count;
    return count;
}

#endif
