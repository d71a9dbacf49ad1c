/*
 * Code of a function that no path led to: the cases of a switch whose table was not understood, or landing pads. Says
 * in which state it may be entered, as an assumption.
 */
#include "analyze/flow.h"

enum { FARTHEST_PAD = 2048, ALIGNMENT = 16 };

static bool was_seen(const struct sw_analysis *w, uint64_t at)
{
    return sw_flow_was_seen(w, w->begin + at);
}

/* Not to be entered again. */
static void pass_over(struct sw_analysis *w, uint64_t at, unsigned length)
{
    for (uint64_t end = at + length; at < end && at < w->window; at++)
        w->seen[at / 8] |= (uint8_t)(1u << at % 8);
}

/*
 * The state of the nearest indirect jump in front of the gap is taken, else that of one behind it, else that of the
 * nearest call in front; that of a jump with the sp of the entry, which may be a tail call, last of all. Behind an end
 * that is not known another function may begin, as a rule where functions are aligned to; landing pads begin anywhere.
 */
static unsigned likelihood(struct sw_analysis *w, const struct sw_block *block, uint64_t gap)
{
    const bool before = block->address <= gap;
    const unsigned sp = w->code->arch->roles->sp;
    const bool at_jump = block->flags & SW_BLOCK_AT_INDIRECT;
    if (at_jump && !sw_val_is_start(sw_flow_state(w, block)->reg[sp], sp))
        return before ? 4 : 3;
    if (at_jump)
        return w->end != 0 && before ? 1 : 0;
    if (w->end == 0 && gap - block->address > FARTHEST_PAD)
        return 0;
    return (block->flags & SW_BLOCK_BEHIND_CALL) && before ? 2 : 0;
}

bool sw_flow_may_have_gap(struct sw_analysis *w, uint64_t pc)
{
    if (pc - w->begin >= (w->end ? w->end - w->begin : SW_ANALYZE_NEAR))
        return false;
    for (unsigned i = 0; i < w->block_count; i++)
        if (likelihood(w, &w->blocks[i], pc) != 0)
            return true;
    return false;
}

/* Another function, as far as can be told. */
static bool may_be_another(const struct sw_analysis *w, const struct sw_block *origin, uint64_t gap)
{
    return w->end == 0 && !(origin->flags & SW_BLOCK_AT_INDIRECT) && gap % ALIGNMENT == 0;
}

static const struct sw_block *likely_origin(struct sw_analysis *w, uint64_t gap)
{
    const struct sw_block *best = NULL;
    unsigned most = 0;
    for (unsigned i = 0; i < w->block_count; i++) {
        const struct sw_block *b = &w->blocks[i];
        const unsigned here = likelihood(w, b, gap);
        const bool nearer = best && (here == 3 ? b->address < best->address : b->address > best->address);
        if (here == 0 || here < most || (here == most && !nearer))
            continue;
        best = b;
        most = here;
    }
    return best;
}

/* Nothing but instructions without effect up to code that was seen, or a trap: filling. */
static bool is_padding(struct sw_analysis *w, uint64_t at)
{
    struct sw_insn insn;
    while (at < w->window && !was_seen(w, at)) {
        if (!sw_flow_insn(w, w->begin + at, &insn) || insn.flow == SW_FLOW_TRAP) {
            pass_over(w, at, 1);
            return true;
        }
        if (insn.count != 0 || insn.flow != SW_FLOW_NEXT)
            return false;
        pass_over(w, at, insn.length);
        at += insn.length;
    }
    return true;
}

/* The next byte behind seen ones that is not seen and no filling, below `stop`; else stop. */
static uint64_t next_gap(struct sw_analysis *w, uint64_t stop)
{
    for (uint64_t at = 1; at < stop; at++) {
        if (at % 8 == 0 && w->seen[at / 8] == 0 && !was_seen(w, at - 1)) {
            at += 7;
            continue;
        }
        if (!was_seen(w, at) && was_seen(w, at - 1) && !is_padding(w, at))
            return at;
    }
    return stop;
}

bool sw_flow_enter_gap(struct sw_analysis *w, uint64_t pc)
{
    const uint64_t wanted = pc - w->begin + 1;
    const uint64_t stop = wanted < w->window ? wanted : w->window;
    const uint64_t at = next_gap(w, stop);
    if (at == stop)
        return false;
    const struct sw_block *origin = likely_origin(w, w->begin + at);
    if (!origin || may_be_another(w, origin, w->begin + at))
        return false;
    pass_over(w, at, 1);
    sw_state_copy(&w->current, &w->states[origin->state]);
    w->behind = 0;
    sw_flow_arrive(w, w->begin + at, SW_BLOCK_ASSUMED);
    return true;
}
