/*
 * Finds calls that do not return. A path that went on behind such a call has the wrong sp, which shows where it meets
 * another path or reaches a return. This file decides which call on the path it was, and notes it, so that the next run
 * does not go on behind it. Knows only depths of sp and the chain of calls on a path. A call is named by its return
 * point, the offset of its return address from begin.
 */
#include "analyze/control_flow.h"

enum { MOST_CALLS = 64 };

static bool is_noreturn_point(const struct sw_analysis *w, uint64_t address)
{
    for (unsigned i = 0; i < w->noreturn_count; i++)
        if (w->noreturn_points[i] == (uint32_t)(address - w->begin))
            return true;
    return false;
}

/*
 * By its return point, or by its target: a function that does not return here does not return to other callers either.
 */
bool sw_flow_is_noreturn(struct sw_analysis *w, const struct sw_insn *insn, uint64_t next)
{
    const uint64_t target = insn->target;
    for (unsigned i = 0; target != 0 && i < w->noreturn_target_count; i++)
        if (w->noreturn_targets[i] == target)
            return true;
    if (!is_noreturn_point(w, next))
        return false;
    if (target != 0 && w->noreturn_target_count < SW_ANALYZE_NORETURN)
        w->noreturn_targets[w->noreturn_target_count++] = target;
    return true;
}

void sw_flow_restart(struct sw_analysis *w)
{
    w->restart = true;
    w->queue_count = w->deferred_count = w->table_count = 0;
}

void sw_flow_mark_noreturn(struct sw_analysis *w, uint32_t point)
{
    if (point == 0 || w->forward || (w->flags & SW_BLOCK_ASSUMED) || w->noreturn_count == SW_ANALYZE_NORETURN ||
        is_noreturn_point(w, w->begin + point))
        return;
    w->noreturn_points[w->noreturn_count++] = point;
    w->restart = true;
    w->queue_count = w->deferred_count = w->table_count = 0;
}

uint32_t sw_flow_return_point(const struct sw_analysis *w, const struct sw_block *block)
{
    return block->flags & SW_BLOCK_PADDED ? block->return_point : (uint32_t)(block->address - w->begin);
}

/*
 * Behind a call, and what does nothing, the link register holds the call's own return address: who stores it there is
 * another function, to which the code goes on only as it lies.
 */
bool sw_flow_runs_into_function(const struct sw_analysis *w, const struct sw_insn *insn)
{
    const unsigned link = w->code->arch->roles->link;
    if (!w->only_padding || !sw_arch_has_link(w->code->arch))
        return false;
    for (unsigned i = 0; i < insn->count && i < SW_EFFECTS_MAX; i++)
        if (insn->effects[i].kind == SW_EFFECT_STORE && insn->effects[i].src == link)
            return true;
    return false;
}

/* The return point of the call before the one with return point `point` on its path; 0: none. */
static uint32_t previous_point(const struct sw_analysis *w, uint32_t point)
{
    const uint16_t at = sw_flow_block(w, w->begin + point);
    const uint32_t before = at == SW_NO_BLOCK || w->blocks[at].return_point == point ? 0 : w->blocks[at].return_point;
    return before != 0 && sw_flow_block(w, w->begin + before) != SW_NO_BLOCK ? before : 0;
}

/* sp behind a call, whose return point is a block. */
static struct sw_val sp_at_point(const struct sw_analysis *w, uint32_t point)
{
    return sw_flow_sp(w, &w->states[w->blocks[sw_flow_block(w, w->begin + point)].state]);
}

/*
 * A path has too much on the stack: which of its calls did not return? The first one behind which there was that much,
 * since its arguments were pushed for it. If there should be nothing on the stack, the last one: another function
 * begins behind it.
 */
uint32_t sw_flow_find_noreturn(const struct sw_analysis *w, uint32_t last, struct sw_val deep, struct sw_val right)
{
    uint32_t found = last;
    for (unsigned hops = 0; hops < MOST_CALLS && found != 0; hops++) {
        const uint32_t before = previous_point(w, found);
        if (before == 0)
            return right.off == 0 ? last : found;
        if (!sw_val_same(sp_at_point(w, before), deep))
            return found;
        found = before;
    }
    return found;
}

/* The first call on a path for which `extra` bytes were pushed and left; or the only call on it; else 0. */
static uint32_t call_with_extra(const struct sw_analysis *w, uint32_t point, int64_t extra)
{
    uint32_t found = 0;
    for (unsigned hops = 0; hops < MOST_CALLS && point != 0; hops++) {
        if (sw_flow_block(w, w->begin + point) == SW_NO_BLOCK)
            return found;
        const uint32_t before = previous_point(w, point);
        if (before == 0)
            return hops == 0 ? point : found;
        if (sp_at_point(w, before).off - extra == sp_at_point(w, point).off)
            found = point;
        point = before;
    }
    return found;
}

/* A function returns with the sp of its entry. On a path that does otherwise, some call did not return. */
void sw_flow_check_return(struct sw_analysis *w)
{
    const struct sw_val v = w->current.reg[w->code->arch->roles->sp];
    const int32_t right = sw_rule_cfa_above_entry(w->code->arch->machine);
    if (v.base == w->code->arch->roles->sp + 1 && !v.deref && v.off < right)
        sw_flow_mark_noreturn(w, call_with_extra(w, w->return_point, right - v.off));
}
