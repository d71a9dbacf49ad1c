/*
 * Switch tables: where a jump through a table element may lead. Knows tables of offsets (1, 2 or 4 bytes) and of
 * addresses (8 bytes). A table without a bound is kept; control_flow.c follows it until an element leads nowhere near.
 */
#include "analyze/control_flow.h"

#include "base/bytes.h"

/* In the function; or, where its end is not known, near the jump, which may be in code that was tail-called. */
static bool is_near(const struct sw_analysis *w, uint64_t address)
{
    if (w->end != 0)
        return address - w->begin < w->end - w->begin;
    return address - w->pc + SW_ANALYZE_NEAR < 2 * (uint64_t)SW_ANALYZE_NEAR;
}

/* Whether the words at an address look like the cases of a switch, or the address is in the function itself. */
static bool may_be_table(const struct sw_analysis *w, uint64_t address)
{
    size_t size;
    if (is_near(w, address))
        return true;
    const uint8_t *bytes = w->code->fetch(w->code->arg, address, &size);
    if (!bytes || size < sizeof(uint64_t))
        return false;
    return is_near(w, sw_load64(bytes)) || is_near(w, address + (uint64_t)sw_sign_extend(sw_load32(bytes), 32)) ||
           is_near(w, address + (uint64_t)sw_sign_extend(sw_load32(bytes + 4), 32));
}

/* Whether the address in a register, if it is one of data, may stay there. */
static bool stays(struct sw_analysis *w, struct sw_val *v, unsigned reg)
{
    if (v->base == SW_VAL_NEAR && !v->copy)
        v->copy = w->data_kept >> reg & 1 || may_be_table(w, w->begin + (uint64_t)(int64_t)v->off);
    return v->base != SW_VAL_NEAR || v->copy;
}

static void settle(struct sw_analysis *w, struct sw_state *state, unsigned reg)
{
    if (stays(w, &state->reg[reg], reg))
        return;
    state->reg[reg] = (struct sw_val){ 0 };
    w->data_dropped |= UINT64_C(1) << reg;
}

void sw_flow_settle_data(struct sw_analysis *w, struct sw_state *state)
{
    for (unsigned n = 0; w->has_data && n < w->code->arch->roles->count; n++)
        settle(w, state, n);
}

static void note_data(struct sw_analysis *w, const struct sw_effect *e)
{
    const struct sw_val *from = e->src < SW_REGS_MAX ? &w->current.reg[e->src] : NULL;
    switch (e->kind) {
    case SW_EFFECT_NEAR:
    case SW_EFFECT_ADD:
        w->has_data = true;
        break;
    case SW_EFFECT_SET:
        w->has_data = w->has_data || (from && from->base == SW_VAL_NEAR);
        break;
    case SW_EFFECT_STORE:
        if (from && from->base == SW_VAL_NEAR)
            settle(w, &w->current, e->src);
        break;
    case SW_EFFECT_ELEMENT:
        w->element_base = from && from->base == SW_VAL_UNKNOWN ? e->src : SW_NOREG;
        break;
    default:
        break;
    }
}

void sw_flow_note_data(struct sw_analysis *w, const struct sw_insn *insn)
{
    for (unsigned i = 0; i < insn->count && i < SW_EFFECTS_MAX; i++)
        note_data(w, &insn->effects[i]);
}

bool sw_flow_wants_table(struct sw_analysis *w)
{
    const uint64_t bit = w->element_base < SW_REGS_MAX ? UINT64_C(1) << w->element_base : 0;
    if (w->forward || (w->flags & SW_BLOCK_ASSUMED) || !(w->data_dropped & ~w->data_kept & bit) ||
        w->current.reg[w->code->arch->roles->pc].base != SW_VAL_UNKNOWN)
        return false;
    w->data_kept |= bit;
    sw_flow_restart(w);
    return true;
}

bool sw_flow_element(const struct sw_analysis *w, struct sw_val table, uint32_t i, uint64_t *target)
{
    const unsigned width = table.point & 0xff;
    const uint64_t at = w->begin + (uint64_t)(int64_t)table.off + (uint64_t)i * width;
    size_t size;
    const uint8_t *bytes = w->code->fetch(w->code->arg, at, &size);
    sw_meter_note(w->code->meter, at, width);
    if (!bytes || size < width)
        return false;
    *target = sw_load_le(bytes, width);
    if (!(table.point & SW_ELEMENT_UNSIGNED))
        *target = (uint64_t)sw_sign_extend(*target, 8 * width);
    *target <<= table.point >> SW_TABLE_SHIFT;
    if (table.deref)
        *target += w->begin + (uint64_t)(int64_t)table.add;
    return is_near(w, *target);
}

/* Followed when nothing else is left: by then it is known which code cannot be a case. */
void sw_flow_keep_table(struct sw_analysis *w, struct sw_val table)
{
    for (unsigned i = 0; i < w->table_count; i++)
        if (sw_val_same(w->tables[i].table, table))
            return;
    sw_state_copy(&w->other, &w->current);
    sw_state_trim(&w->other, w->code->arch, w->forward);
    sw_flow_settle_data(w, &w->other);
    const uint16_t state = sw_flow_intern(w, &w->other);
    if (state == SW_NO_STATE || w->table_count == SW_ANALYZE_TABLES)
        return;
    w->tables[w->table_count++] = (struct sw_open_table){ table, w->pc, w->return_point, state, 0 };
}
