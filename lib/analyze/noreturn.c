/*
 * Calls that do not return. A path that went on behind one carries the wrong sp: where it meets another path, or comes
 * to a return, that shows. Here it is found out for which of the calls on the path, and remembered, so that the next
 * run does not go on behind it. Knows only depths of sp and the chain of calls that a path went past.
 */
#include "analyze/flow.h"

enum { MOST_CALLS = 64 };

static bool is_dead(const struct sw_analysis *w, uint64_t address)
{
    for (unsigned i = 0; i < w->dead_count; i++)
        if (w->dead[i] == (uint32_t)(address - w->begin))
            return true;
    return false;
}

/* By the place behind it; and the same function does not return to its other callers either. */
bool sw_flow_is_dead_call(struct sw_analysis *w, const struct sw_insn *insn, uint64_t next)
{
    const uint64_t target = insn->target;
    for (unsigned i = 0; target != 0 && i < w->dead_target_count; i++)
        if (w->dead_targets[i] == target)
            return true;
    if (!is_dead(w, next))
        return false;
    if (target != 0 && w->dead_target_count < SW_ANALYZE_DEAD)
        w->dead_targets[w->dead_target_count++] = target;
    return true;
}

/* What follows from it is wrong: this run ends. */
void sw_flow_blame(struct sw_analysis *w, uint32_t behind)
{
    if (behind == 0 || w->forward || (w->flags & SW_BLOCK_ASSUMED) || w->dead_count == SW_ANALYZE_DEAD ||
        is_dead(w, w->begin + behind))
        return;
    w->dead[w->dead_count++] = behind;
    w->again = true;
    w->now_count = w->later_count = w->table_count = 0;
}

struct sw_val sw_flow_sp(const struct sw_analysis *w, const struct sw_state *state)
{
    return state->reg[w->code->arch->roles->sp];
}

/* The place behind the call that a block with BEHIND_CALL is there by. */
uint32_t sw_flow_place_behind(const struct sw_analysis *w, const struct sw_block *block)
{
    return block->flags & SW_BLOCK_PADDED ? block->behind : (uint32_t)(block->address - w->begin);
}

/* The place behind the call that a path went past before the one in front of `place`; 0: there was none. */
static uint32_t place_before(const struct sw_analysis *w, uint32_t place)
{
    const uint16_t at = sw_flow_block(w, w->begin + place);
    const uint32_t before = at == SW_NO_BLOCK || w->blocks[at].behind == place ? 0 : w->blocks[at].behind;
    return before != 0 && sw_flow_block(w, w->begin + before) != SW_NO_BLOCK ? before : 0;
}

/* sp behind a call, `place` a block. */
static struct sw_val sp_behind(const struct sw_analysis *w, uint32_t place)
{
    return sw_flow_sp(w, &w->states[w->blocks[sw_flow_block(w, w->begin + place)].state]);
}

/*
 * A path has more on the stack than it should: which of the calls that it went past did not return? The first behind
 * which there was that much, since arguments were pushed for it; where nothing should be there, the last one: behind it
 * another function begins.
 */
uint32_t sw_flow_culprit(const struct sw_analysis *w, uint32_t last, struct sw_val deep, struct sw_val right)
{
    uint32_t found = last;
    for (unsigned hops = 0; hops < MOST_CALLS && found != 0; hops++) {
        const uint32_t before = place_before(w, found);
        if (before == 0)
            return right.off == 0 ? last : found;
        if (!sw_val_same(sp_behind(w, before), deep))
            return found;
        found = before;
    }
    return found;
}

/* The first call on a path for which `extra` bytes were pushed that stayed; the only one there is; else 0. */
static uint32_t pushed_for(const struct sw_analysis *w, uint32_t behind, int64_t extra)
{
    uint32_t found = 0;
    for (unsigned hops = 0; hops < MOST_CALLS && behind != 0; hops++) {
        if (sw_flow_block(w, w->begin + behind) == SW_NO_BLOCK)
            return found;
        const uint32_t before = place_before(w, behind);
        if (before == 0)
            return hops == 0 ? behind : found;
        if (sp_behind(w, before).off - extra == sp_behind(w, behind).off)
            found = behind;
        behind = before;
    }
    return found;
}

/*
 * A function returns with the sp that it was called with; a path that does otherwise went where no call returned to.
 */
void sw_flow_check_return(struct sw_analysis *w)
{
    const struct sw_val v = w->current.reg[w->code->arch->roles->sp];
    const int32_t right = sw_rule_cfa_above_entry(w->code->arch->machine);
    if (v.base == w->code->arch->roles->sp + 1 && !v.deref && v.off < right)
        sw_flow_blame(w, pushed_for(w, w->behind, right - v.off));
}
