/*
 * Addresses only: the pcs of a walk without its frames. Over frames that the cache knows, only pc, sp and the frame
 * pointer are followed, in registers of this processor. Where one is met that takes more, the way there is gone again
 * with all registers (sw_walk_next), so that the answer is always that of the whole walk.
 */
#include "walk/warm.h"

#include "walk/quick.h"

/* Where the quick way is: in which frame, what it takes to leave that, and the number of its line. */
struct ahead {
    uint64_t sp;
    uint64_t fp;
    uint64_t form;
    uint64_t where;
    size_t line;
};

/* Fills form and where of a pc by its line; false: it has none, or not one that can be told at once to hold. */
static SW_INLINE bool look_at_line(const struct sw_warm *warm, struct sw_line *line, uint64_t pc, struct ahead *next)
{
    const uint32_t version = atomic_load_explicit(&line->version, memory_order_acquire) & ~UINT32_C(1);
    next->line = (size_t)(line - warm->lines);
    next->form = sw_quick_load(&line->form);
    next->where = sw_quick_load(&line->where);
    const uint64_t differs = sw_quick_differs(warm, line, pc);
    atomic_thread_fence(memory_order_acquire);
    return (differs | (atomic_load_explicit(&line->version, memory_order_relaxed) ^ version)) == 0;
}

/*
 * From frame to frame of one kind. FRAMED ones need not wait for one pc to begin with the next; for the others a guess
 * at the line saves that, where the processor has to be told by a loop of their own what does not depend on what.
 */
SW_OTHERS_FRAMES static SW_INLINE size_t run(const struct sw_warm *warm, struct ahead *at, uint64_t *pcs, size_t most,
                                             bool framed)
{
    const uint64_t kind = SW_FORM_EASY | (framed ? SW_FORM_FRAMED : 0);
    struct ahead here = *at;
    size_t count = 0;
    while (count < most && (here.form & (SW_FORM_EASY | SW_FORM_FRAMED)) == kind) {
        struct ahead next;
        const uint64_t cfa = framed ? here.fp + 2 * SW_WORD : here.sp + sw_quick_words(here.form) * SW_WORD;
        if (SW_UNLIKELY(cfa - warm->least > warm->span || sw_quick_falls(here.sp, cfa)))
            break;
        const uint8_t *end = (const uint8_t *)(warm->stack + (uintptr_t)cfa);
        const uint64_t pc = sw_quick_word(end - SW_WORD), below = framed ? 2 : here.where & 0xff;
        struct sw_line *line = framed ? sw_line_of(warm->lines, warm->mask, pc) : sw_quick_guess(warm, here.line, pc);
        if (SW_UNLIKELY(!look_at_line(warm, line, pc, &next)))
            break;
        next.fp = below ? sw_quick_word(end - SW_WORD * below) : here.fp;
        next.sp = cfa;
        pcs[count++] = pc;
        here = next;
    }
    *at = here;
    return count;
}

/* From frame to frame as long as that is easy. Answers how many were reached. */
static SW_APART size_t run_ahead(const struct sw_warm *warm, struct ahead *at, uint64_t *pcs, size_t most)
{
    size_t count = 0, before;
    do {
        before = count;
        count += run(warm, at, pcs + count, most - count, true);
        count += run(warm, at, pcs + count, most - count, false);
    } while (count > before);
    return count;
}

/* Whether the walk's frame can be left in that way: all that is followed is known. */
static bool can_run(const struct sw_walk *walk, const struct sw_warm *warm, struct ahead *at)
{
    const struct sw_regs *regs = &walk->frame.regs;
    if (!(walk->here.form & SW_FORM_EASY) || !sw_warm_has_window(warm) || !sw_regs_has(regs, SW_X64_RBP) ||
        sw_regs_sp(regs) - warm->least > warm->span)
        return false;
    const struct sw_line *line = sw_line_of(warm->lines, warm->mask, sw_regs_pc(regs));
    *at = (struct ahead){ sw_regs_sp(regs), sw_regs_fp(regs), walk->here.form, walk->here.where,
                          (size_t)(line - warm->lines) };
    return true;
}

/* The quick way from the walk's frame on; false: it was not the end, and the walk is where it was. */
static bool ends_ahead(struct sw_walk *walk, uint64_t *pcs, size_t most, size_t *count)
{
    struct sw_walk_room *room = (struct sw_walk_room *)walk->scratch->room;
    const uint32_t left = walk->most - walk->depth;
    struct ahead at;
    *count = 0;
    if (!can_run(walk, &room->warm, &at))
        return false;
    *count = run_ahead(&room->warm, &at, pcs, most < left ? most : left);
    if (*count == most && *count <= left)
        return true;
    const enum sw_stop stop = *count < left ? sw_warm_end_at(&room->warm, at.form, at.sp, at.fp) : SW_STOP_FRAME_LIMIT;
    if (stop != SW_STOP_NONE) {
        walk->depth += (uint32_t)*count;
        (void)sw_walk_end(walk, stop);
    }
    return stop != SW_STOP_NONE;
}

/* Goes `steps` frames on with all registers, and one more, which is the one that was not easy. */
static size_t follow(struct sw_walk *walk, size_t steps, uint64_t *pcs, size_t most)
{
    size_t count = 0;
    while (count < most && count <= steps && sw_walk_next(walk))
        pcs[count++] = sw_regs_pc(&walk->frame.regs);
    return count;
}

size_t sw_walk_addresses(const struct sw_walker *walker, struct sw_scratch *scratch, const struct sw_regs *start,
                         bool exact, uint64_t *pcs, size_t most, enum sw_stop *stop)
{
    struct sw_walk walk;
    size_t count = 0, ahead = 0;
    sw_walk_start(&walk, walker, scratch, start, exact);
    if (!pcs)
        most = 0;
    while (count < most && walk.stop == SW_STOP_NONE) {
        count += follow(&walk, ahead, pcs + count, most - count);
        if (count == most || walk.stop != SW_STOP_NONE)
            break;
        if (ends_ahead(&walk, pcs + count, most - count, &ahead)) {
            count += ahead;
            break;
        }
    }
    if (stop)
        *stop = walk.stop;
    if (walk.stop == SW_STOP_NONE)
        (void)sw_walk_end(&walk, SW_STOP_ABORTED);
    return count;
}
