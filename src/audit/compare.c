/*
 * Compares one instruction: does what the table claims hold in the state to which the instructions lead? The table's
 * locations are evaluated on symbolic registers and stack words, so rbp + 16 and rsp + 48 are equal if rbp is rsp + 32.
 * Knows rules and states; refuses to know files and instructions.
 */
#include "audit/audit.h"

static struct sw_val start_of(unsigned n, int32_t off)
{
    return (struct sw_val){ .base = (uint8_t)(n + 1), .off = off };
}

static bool is_value(struct sw_val a, struct sw_val b)
{
    a.weak = b.weak = false;
    return a.base != SW_VAL_UNKNOWN && sw_val_same(a, b);
}

/* The true CFA, in terms of the entry's sp. */
static struct sw_val true_cfa(const struct sw_arch *arch)
{
    return start_of(arch->roles->sp, sw_rule_cfa_above_entry(arch->machine));
}

static struct sw_val register_plus(const struct sw_state *state, const struct sw_loc *loc)
{
    const struct sw_val none = { 0 };
    return loc->reg < SW_REGS_MAX ? sw_val_plus(state->reg[loc->reg], loc->off) : none;
}

/* The value at a location, if the rule's CFA is the true one. */
static struct sw_val value_at(const struct sw_arch *arch, const struct sw_state *state, const struct sw_loc *loc,
                              unsigned n)
{
    const struct sw_val cfa = true_cfa(arch), none = { 0 };
    switch (loc->kind) {
    case SW_LOC_SAME:
        return state->reg[n];
    case SW_LOC_CFA:
        return sw_val_plus(cfa, loc->off);
    case SW_LOC_AT_CFA:
        return sw_state_word(state, arch, sw_val_plus(cfa, loc->off));
    case SW_LOC_REG:
        return register_plus(state, loc);
    case SW_LOC_AT_REG:
        return sw_state_word(state, arch, register_plus(state, loc));
    default:
        return none;
    }
}

static bool is_cfa_right(const struct sw_arch *arch, const struct sw_rule *rule, const struct sw_state *state)
{
    const struct sw_val cfa = sw_val_plus(value_at(arch, state, &rule->cfa, 0), rule->cfa_add);
    return is_value(cfa, true_cfa(arch));
}

static bool is_return_right(const struct sw_arch *arch, const struct sw_rule *rule, const struct sw_state *state)
{
    const unsigned pc = arch->roles->pc;
    const bool has_link = sw_arch_has_link(arch);
    struct sw_val address = start_of(has_link ? arch->roles->link : arch->roles->sp, 0);
    address.deref = !has_link;
    return is_value(value_at(arch, state, &rule->r[pc], pc), address);
}

enum sw_audit_verdict sw_audit_compare(const struct sw_arch *arch, const struct sw_rule *table,
                                       const struct sw_rule *analysis, const struct sw_state *state, uint8_t *reg)
{
    bool lost = false;
    *reg = 0;
    if (!is_cfa_right(arch, table, state))
        return SW_AUDIT_CFA;
    if (!is_return_right(arch, table, state))
        return SW_AUDIT_RETURN;
    for (unsigned n = 0; n < SW_REGS_MAX; n++) {
        if (!(arch->roles->nonvolatile >> n & 1) || table->r[n].kind == SW_LOC_UNKNOWN ||
            is_value(value_at(arch, state, &table->r[n], n), start_of(n, 0)))
            continue;
        *reg = (uint8_t)n;
        if (analysis->r[n].kind != SW_LOC_UNKNOWN)
            return SW_AUDIT_REGISTER;
        lost = true;
    }
    return lost ? SW_AUDIT_LOST : SW_AUDIT_EQUAL;
}

bool sw_audit_is_below_sp(const struct sw_arch *arch, const struct sw_rule *table, const struct sw_state *state,
                          uint8_t reg)
{
    const unsigned number = arch->roles->sp;
    const struct sw_val sp = state->reg[number];
    const bool by_entry = sp.base == number + 1 && !sp.deref && table->r[reg].kind == SW_LOC_AT_CFA;
    return by_entry && sw_rule_cfa_above_entry(arch->machine) + table->r[reg].off < sp.off &&
           is_value(state->reg[reg], start_of(reg, 0));
}

/* ---- a table against itself ---- */

static bool has_same_cfa(const struct sw_rule *a, const struct sw_rule *b)
{
    const bool by_register = a->cfa.kind == SW_LOC_REG || a->cfa.kind == SW_LOC_AT_REG;
    return by_register && sw_is_same_loc(a->cfa, b->cfa) && a->cfa_add == b->cfa_add;
}

/*
 * Whether the two CFAs contradict the instruction: rsp + 16 on both sides of a push, or rsp + 16 and rsp + 32 around a
 * nop.
 */
static bool is_cfa_moved(const struct sw_rule *front, const struct sw_rule *behind, const struct sw_state *state)
{
    const unsigned reg = front->cfa.reg;
    if (has_same_cfa(front, behind))
        return reg < SW_REGS_MAX && !is_value(state->reg[reg], start_of(reg, 0));
    if (front->cfa.kind != SW_LOC_REG || behind->cfa.kind != SW_LOC_REG)
        return false;
    const struct sw_val to = register_plus(state, &behind->cfa);
    return to.base == reg + 1 && !to.deref && to.off != front->cfa.off;
}

/* Whether the register's value has changed, other than by loading it from the frame, which restores it. */
static bool is_changed(const struct sw_arch *arch, const struct sw_state *state, unsigned n)
{
    const struct sw_val v = state->reg[n];
    const bool from_frame = v.deref && (v.base == arch->roles->sp + 1 || v.base == arch->roles->fp + 1);
    return !from_frame && !is_value(v, start_of(n, 0));
}

/*
 * Whether the table saves the register at the same distance from another one in front and behind, though that one
 * changed.
 */
static bool lost_its_base(const struct sw_loc *front, const struct sw_loc *behind, const struct sw_state *state)
{
    return front->kind == SW_LOC_AT_REG && behind->kind == SW_LOC_AT_REG && front->reg == behind->reg &&
           front->off == behind->off && front->reg < SW_REGS_MAX &&
           !is_value(state->reg[front->reg], start_of(front->reg, 0));
}

bool sw_audit_contradicts(const struct sw_arch *arch, const struct sw_rule *front, const struct sw_insn *insn,
                          const struct sw_rule *behind, struct sw_state *state)
{
    sw_state_start(state);
    sw_state_run(state, arch, insn, 0);
    if (is_cfa_moved(front, behind, state))
        return true;
    for (unsigned n = 0; n < SW_REGS_MAX; n++) {
        const bool is_same = front->r[n].kind == SW_LOC_SAME && behind->r[n].kind == SW_LOC_SAME;
        if ((arch->roles->nonvolatile >> n & 1) &&
            ((is_same && is_changed(arch, state, n)) || lost_its_base(&front->r[n], &behind->r[n], state)))
            return true;
    }
    return false;
}
