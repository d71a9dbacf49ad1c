/*
 * Code of a function that no path reached: cases of a switch whose table was not understood, or landing pads. Chooses
 * the state in which such code is entered, as an assumption.
 */
#include "analyze/control_flow.h"

enum { FARTHEST_PAD = 2048, ALIGNMENT = 16 };

static bool was_seen(const struct sw_analysis *w, uint64_t at)
{
    return sw_flow_was_seen(w, w->begin + at);
}

/*
 * How likely a block's state is that of unreached code. Best is the nearest indirect jump in front of it, then one
 * behind it, then the nearest call in front of it, then a jump with the entry's sp, which may be a tail call. Behind
 * the end of a function whose end is not known, another function may begin, usually at an aligned address; landing pads
 * begin anywhere.
 */
static unsigned likelihood(struct sw_analysis *w, const struct sw_block *block, uint64_t unseen)
{
    const bool before = block->address <= unseen;
    const unsigned sp = w->code->arch->roles->sp;
    const bool at_jump = block->flags & SW_BLOCK_AT_INDIRECT;
    if (at_jump && !sw_val_is_start(sw_flow_state(w, block)->reg[sp], sp))
        return before ? 4 : 3;
    if (at_jump)
        return w->end != 0 && before ? 1 : 0;
    if (w->end == 0 && unseen - block->address > FARTHEST_PAD)
        return 0;
    return (block->flags & SW_BLOCK_AFTER_CALL) && before ? 2 : 0;
}

bool sw_flow_may_be_unreached(struct sw_analysis *w, uint64_t pc)
{
    if (pc - w->begin >= (w->end ? w->end - w->begin : SW_ANALYZE_NEAR))
        return false;
    (void)sw_meter_pay(w->code->meter, w->block_count / SW_FLOW_BLOCKS_A_UNIT);
    for (unsigned i = 0; i < w->block_count; i++)
        if (likelihood(w, &w->blocks[i], pc) != 0)
            return true;
    return false;
}

/* Whether this may be another function. */
static bool may_be_another(const struct sw_analysis *w, const struct sw_block *origin, uint64_t unseen)
{
    return w->end == 0 && !(origin->flags & SW_BLOCK_AT_INDIRECT) && unseen % ALIGNMENT == 0;
}

static const struct sw_block *likely_origin(struct sw_analysis *w, uint64_t unseen)
{
    const struct sw_block *best = NULL;
    unsigned most = 0;
    for (unsigned i = 0; i < w->block_count; i++) {
        const struct sw_block *b = &w->blocks[i];
        const unsigned here = likelihood(w, b, unseen);
        const bool nearer = best && (here == 3 ? b->address < best->address : b->address > best->address);
        if (here == 0 || here < most || (here == most && !nearer))
            continue;
        best = b;
        most = here;
    }
    return best;
}

/* Padding: only instructions without effect up to code that was seen, or a trap. */
static bool is_padding(struct sw_analysis *w, uint64_t at)
{
    struct sw_insn insn;
    while (at < w->covered && !was_seen(w, at)) {
        if (!sw_flow_insn(w, w->begin + at, &insn) || insn.flow == SW_FLOW_TRAP) {
            sw_flow_pass_over(w, w->begin + at, 1);
            return true;
        }
        if (insn.count != 0 || insn.flow != SW_FLOW_NEXT)
            return false;
        sw_flow_pass_over(w, w->begin + at, insn.length);
        at += insn.length;
    }
    return true;
}

/* The next byte behind seen ones that is not seen and not padding, below `stop`; else stop. */
static uint64_t next_unreached(struct sw_analysis *w, uint64_t stop)
{
    for (uint64_t at = 1; at < stop; at++) {
        if (at % 8 == 0 && (at >= w->noted || w->seen[at / 8] == 0) && !was_seen(w, at - 1)) {
            at += 7;
            continue;
        }
        if (!was_seen(w, at) && was_seen(w, at - 1) && !is_padding(w, at))
            return at;
    }
    return stop;
}

bool sw_flow_enter_unreached(struct sw_analysis *w, uint64_t pc)
{
    const uint64_t wanted = pc - w->begin + 1;
    const uint64_t stop = wanted < w->covered ? wanted : w->covered;
    if (!sw_meter_pay(w->code->meter, 1 + w->block_count / SW_FLOW_BLOCKS_A_UNIT + stop / SW_FLOW_BYTES_A_UNIT))
        return false;
    const uint64_t at = next_unreached(w, stop);
    if (at == stop)
        return false;
    const struct sw_block *origin = likely_origin(w, w->begin + at);
    if (!origin || may_be_another(w, origin, w->begin + at))
        return false;
    sw_flow_pass_over(w, w->begin + at, 1);
    sw_state_copy(&w->current, &w->states[origin->state]);
    w->return_point = 0;
    sw_flow_arrive(w, w->begin + at, SW_BLOCK_ASSUMED);
    return true;
}
