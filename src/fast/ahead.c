/*
 * Frames ahead: from line to line of the cache, or by comparing words with those of the last walk. Knows which frames
 * can be left without looking at more than that; refuses to know what becomes of them, and all that takes another look
 * (walk/warm.c).
 */
#include "fast/ahead.h"

static struct sw_at where_is(const struct sw_walk *walk, const struct sw_warm *warm)
{
    const struct sw_regs *regs = &walk->frame.regs;
    const uint64_t pc = regs->r[SW_X64_RIP];
    return (struct sw_at){ pc, regs->r[SW_X64_RSP], regs->r[SW_X64_RBP], sw_known_line_number(warm, pc), walk->here };
}

static unsigned look(const struct sw_warm *warm, struct sw_at *at, uint32_t most, struct sw_ahead *ahead)
{
    unsigned count = 0;
    while (count < most && sw_known_step(warm, at, ahead->own + count, NULL))
        count++;
    ahead->frames = ahead->own;
    return count;
}

/* The same, up to a frame that is remembered. */
static unsigned look_for_known(const struct sw_warm *warm, struct sw_at *at, uint32_t most, struct sw_ahead *ahead)
{
    unsigned count = 0;
    while (count < most && sw_known_step(warm, at, ahead->own + count, NULL)) {
        count++;
        if (sw_known_meets(warm->replay, at->pc, at->sp, at->fp))
            break;
    }
    ahead->frames = ahead->own;
    return count;
}

/* Whether there is a next frame to be looked at in this way: asked before what is remembered is left for it. */
static bool can_look(const struct sw_warm *warm, struct sw_at at)
{
    struct sw_known_frame next;
    return warm->replay->tail == warm->replay->room || sw_known_step(warm, &at, &next, NULL);
}

/* The same, to be remembered, and up to a frame that is. */
static unsigned look_staging(const struct sw_warm *warm, struct sw_at *at, uint32_t most, struct sw_ahead *ahead)
{
    struct sw_replay *replay = warm->replay;
    const uint32_t room = sw_known_room(replay), end = room <= most ? room - 1 : most;
    unsigned count = 0;
    if (room < 2) {
        count = look(warm, at, most, ahead);
        replay->is_lost |= count != 0;
        return count;
    }
    sw_known_stage_start(replay, at);
    struct sw_known_frame *to = replay->stage + replay->staged;
    struct sw_check *checks = replay->stage_checks + replay->staged;
    while (count < end && sw_known_step(warm, at, to + count, checks + count)) {
        count++;
        if (sw_known_meets(replay, at->pc, at->sp, at->fp))
            break;
    }
    replay->staged += count;
    ahead->frames = to;
    return count;
}

/* The frames ahead with a replay memory. */
static unsigned look_or_recall(struct sw_warm *warm, struct sw_at *at, uint32_t most, uint32_t left,
                               struct sw_ahead *ahead)
{
    struct sw_replay *replay = warm->replay;
    uint32_t first;
    unsigned count = sw_known_recall(warm, SW_FORM_QUICK, warm->missing, at, left, NULL, &first);
    if (count != 0) {
        ahead->frames = replay->frames + first;
        at->here = sw_known_here(warm, first + count - 1);
    } else if (!replay->is_staging) {
        replay->walked += count = look_for_known(warm, at, most, ahead);
    } else if (can_look(warm, *at)) {
        replay->walked += count = look_staging(warm, at, most, ahead);
    }
    replay->last = at->here;
    return count;
}

unsigned sw_ahead_look(const struct sw_walk *walk, struct sw_ahead *ahead)
{
    struct sw_warm *warm = &((struct sw_workspace *)walk->scratch->words)->warm;
    const uint32_t left = walk->most - walk->depth, most = left < SW_AHEAD_MOST ? left : SW_AHEAD_MOST;
    ahead->count = ahead->settled = 0;
    if (!(walk->here.form & SW_FORM_QUICK))
        return 0;
    struct sw_at at = where_is(walk, warm);
    ahead->count = warm->replay ? look_or_recall(warm, &at, most, left, ahead) : look(warm, &at, most, ahead);
    ahead->here = at.here;
    return ahead->count;
}

/* From the last frame back: of each register the last place counts. */
SW_OTHERS_FRAMES void sw_ahead_settle(struct sw_walk *walk, struct sw_ahead *ahead, unsigned n)
{
    const struct sw_warm *warm = &((const struct sw_workspace *)walk->scratch->words)->warm;
    uint64_t wanted = SW_AHEAD_OTHERS;
    for (unsigned i = n + 1; i > ahead->settled && wanted != 0; i--) {
        const struct sw_known_frame *frame = &ahead->frames[i - 1];
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
    const struct sw_known_frame *of = &ahead->frames[n], *next = of + 1;
    struct sw_frame *frame = &walk->frame;
    sw_ahead_settle(walk, ahead, n);
    walk->here = n + 1 < ahead->count ? (struct sw_walk_here){ next->where, next->form, of->place } : ahead->here;
    sw_warm_code(&frame->code, of->pc, of->place, of->id, of->rest);
    frame->lookup = of->pc - 1;
    frame->source = (uint8_t)of->form;
    frame->trust = (uint8_t)(of->form >> SW_FORM_TRUST_SHIFT);
}
