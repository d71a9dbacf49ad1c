/*
 * Frames ahead: from line to line of the cache, with pc, sp and the frame pointer in registers of this processor. Knows
 * which frames can be left without looking at more than their line; refuses to know what becomes of them, and all that
 * takes another look (walk/warm.c).
 */
#include "walk/ahead.h"

/* Where the look is: at which frame, what it takes to leave that, and the number of its line. */
struct at {
    uint64_t sp;
    uint64_t fp;
    size_t line;
    struct sw_walk_here here;
};

/* What a line says, as of one moment; false: not of that pc, or no more. */
static SW_INLINE bool read_line(const struct sw_warm *warm, const struct sw_line *line, uint64_t pc,
                                struct sw_ahead_frame *to, struct sw_walk_here *here)
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

/* One frame on. The same conditions as in warm.c, quick_step. */
SW_OTHERS_FRAMES static SW_INLINE bool look_once(const struct sw_warm *warm, struct at *at, struct sw_ahead_frame *to)
{
    const uint64_t form = at->here.form, where = at->here.where;
    const bool framed = form & SW_FORM_FRAMED;
    const uint64_t cfa = framed ? at->fp + 2 * SW_WORD : at->sp + sw_quick_words(form) * SW_WORD;
    if (SW_UNLIKELY(!(form & SW_FORM_QUICK) || cfa - warm->least > warm->span ||
                    (sw_quick_falls(at->sp, cfa) | (form & warm->missing)) != 0))
        return false;
    const uint8_t *end = (const uint8_t *)(warm->stack + (uintptr_t)cfa);
    const uint64_t pc = sw_quick_word(end - SW_WORD), below = where & 0xff;
    struct sw_line *line = sw_quick_guess(warm, at->line, pc);
    if (!read_line(warm, line, pc, to, &at->here))
        return false;
    at->line = (size_t)(line - warm->lines);
    at->sp = cfa;
    if (below)
        at->fp = sw_quick_word(end - SW_WORD * below);
    to->pc = pc;
    to->sp = cfa;
    to->fp = at->fp;
    to->form = form;
    to->where = where;
    return true;
}

unsigned sw_ahead_look(const struct sw_walk *walk, struct sw_ahead *ahead)
{
    const struct sw_warm *warm = &((const struct sw_walk_room *)walk->scratch->room)->warm;
    const uint32_t left = walk->most - walk->depth, most = left < SW_AHEAD_MOST ? left : SW_AHEAD_MOST;
    const struct sw_regs *regs = &walk->frame.regs;
    ahead->count = ahead->settled = 0;
    if (!(walk->here.form & SW_FORM_QUICK))
        return 0;
    const struct sw_line *line = sw_line_of(warm->lines, warm->mask, regs->r[SW_X64_RIP]);
    struct at at = { regs->r[SW_X64_RSP], regs->r[SW_X64_RBP], (size_t)(line - warm->lines), walk->here };
    while (ahead->count < most) {
        const struct sw_walk_here before = at.here;
        if (!look_once(warm, &at, &ahead->frames[ahead->count])) {
            at.here = before;
            break;
        }
        ahead->count++;
    }
    ahead->here = at.here;
    return ahead->count;
}

/* From the last frame back: of each register the last place counts. */
SW_OTHERS_FRAMES void sw_ahead_settle(struct sw_walk *walk, struct sw_ahead *ahead, unsigned n)
{
    const struct sw_warm *warm = &((const struct sw_walk_room *)walk->scratch->room)->warm;
    uint64_t wanted = SW_AHEAD_OTHERS;
    for (unsigned i = n + 1; i > ahead->settled && wanted != 0; i--) {
        const struct sw_ahead_frame *frame = &ahead->frames[i - 1];
        const uint64_t saved = frame->form & wanted;
        for (unsigned k = 1; saved != 0 && k < SW_WARM_REGISTERS; k++)
            if (saved >> (SW_FORM_SAVED_SHIFT + sw_warm_registers[k]) & 1)
                sw_quick_restore(&walk->frame.regs, (const uint8_t *)(warm->stack + (uintptr_t)frame->sp), frame->where,
                                 k);
        wanted &= ~saved;
    }
    ahead->settled = n + 1;
}

void sw_ahead_arrive(struct sw_walk *walk, struct sw_ahead *ahead, unsigned n)
{
    const struct sw_ahead_frame *of = &ahead->frames[n], *next = of + 1;
    struct sw_frame *frame = &walk->frame;
    sw_ahead_settle(walk, ahead, n);
    walk->here = n + 1 < ahead->count ? (struct sw_walk_here){ next->where, next->form, of->place } : ahead->here;
    sw_warm_code(&frame->code, of->pc, of->place, of->id, of->rest);
    frame->lookup = of->pc - 1;
    frame->source = (uint8_t)of->form;
    frame->trust = (uint8_t)(of->form >> SW_FORM_TRUST_SHIFT);
}
