/*
 * From symbolic state to rule. A state can be read in two ways. Inside a function, values are relative to its entry,
 * and are inverted into current registers. At a return reached from pc, values are relative to pc, and are the rule
 * itself.
 */
#include "analyze/analyze.h"

#include "base/bytes.h"

static struct sw_val entry_sp(const struct sw_arch *arch)
{
    return (struct sw_val){ .base = (uint8_t)(arch->roles->sp + 1) };
}

static struct sw_val start_of(unsigned n)
{
    return (struct sw_val){ .base = (uint8_t)(n + 1) };
}

/* The n-th register to try: sp, fp, then all others. */
static unsigned preferred(const struct sw_arch *arch, unsigned n)
{
    const unsigned sp = arch->roles->sp, fp = arch->roles->fp;
    return n == 0 ? sp : n == 1 ? fp : n - 2;
}

/* A register that holds v plus a constant, which goes to *above; sp is tried first. */
static bool base_register(const struct sw_state *state, const struct sw_arch *arch, struct sw_val v, unsigned *reg,
                          int64_t *above)
{
    const unsigned pc = arch->roles->pc;
    for (unsigned i = 0; i < arch->roles->count + 2u; i++) {
        const unsigned n = preferred(arch, i);
        const struct sw_val has = state->reg[n];
        if (n == pc || has.base != v.base || has.base == SW_VAL_UNKNOWN || has.base == SW_VAL_CONST)
            continue;
        if (has.deref || v.deref || has.weak || has.point != v.point)
            continue;
        *reg = n;
        *above = (int64_t)has.off - v.off;
        return true;
    }
    return false;
}

static bool put(struct sw_loc *loc, enum sw_loc_kind kind, unsigned reg, int64_t off)
{
    if (off > INT32_MAX || off < INT32_MIN)
        return false;
    *loc = (struct sw_loc){ (uint8_t)kind, (uint8_t)reg, 0, (int32_t)off };
    return true;
}

static bool cfa_inside(const struct sw_state *state, const struct sw_arch *arch, struct sw_rule *rule)
{
    const struct sw_val sp = entry_sp(arch);
    const int32_t up = sw_rule_cfa_above_entry(arch->machine);
    unsigned reg;
    int64_t above;
    if (base_register(state, arch, sp, &reg, &above))
        return put(&rule->cfa, SW_LOC_REG, reg, up - above);
    /* Realigned stack: the entry's sp was saved in a word that a register still locates. */
    for (unsigned i = 0; i < state->slot_count; i++) {
        const struct sw_slot *slot = &state->slots[i];
        if (slot->holds.base != sp.base || slot->holds.deref)
            continue;
        if (!base_register(state, arch, slot->at, &reg, &above))
            continue;
        rule->cfa_add = up - slot->holds.off;
        return put(&rule->cfa, SW_LOC_AT_REG, reg, -above);
    }
    return false;
}

/* A slot below sp: still readable, but the first to be overwritten. */
static bool is_below_sp(const struct sw_state *state, const struct sw_arch *arch, const struct sw_slot *slot)
{
    const struct sw_val sp = state->reg[arch->roles->sp];
    return slot->at.base == sp.base && slot->at.point == sp.point && slot->at.off < sp.off;
}

/*
 * Whether a register's value is saved in the frame. Then it is taken from there even if no path was seen to change the
 * register: an unseen path (out of a switch) may have, and what was saved was saved to be changed.
 */
static bool is_saved(const struct sw_state *state, const struct sw_arch *arch, unsigned n)
{
    for (unsigned i = 0; i < state->slot_count; i++)
        if (sw_val_is_start(state->slots[i].holds, n) && !is_below_sp(state, arch, &state->slots[i]))
            return true;
    return false;
}

/* The stack word that holds a value of the entry: below sp, or not. */
static bool locate_word(const struct sw_state *state, const struct sw_arch *arch, struct sw_val v, bool below,
                        struct sw_loc *loc)
{
    unsigned reg;
    int64_t above;
    for (unsigned i = 0; i < state->slot_count; i++) {
        const struct sw_slot *slot = &state->slots[i];
        if (!sw_val_same(slot->holds, v) || slot->at.deref || is_below_sp(state, arch, slot) != below)
            continue;
        if (slot->at.base == entry_sp(arch).base && slot->at.point == 0)
            return put(loc, SW_LOC_AT_CFA, 0, (int64_t)slot->at.off - sw_rule_cfa_above_entry(arch->machine));
        if (base_register(state, arch, slot->at, &reg, &above))
            return put(loc, SW_LOC_AT_REG, reg, -above);
    }
    return false;
}

static bool locate_register(const struct sw_state *state, const struct sw_arch *arch, struct sw_val v,
                            struct sw_loc *loc)
{
    for (unsigned n = 0; n < arch->roles->count; n++)
        if (n != arch->roles->pc && sw_val_same(state->reg[n], v))
            return put(loc, SW_LOC_REG, n, 0);
    return false;
}

/* In a stack word, preferably a safe one, or in a register. */
static bool locate(const struct sw_state *state, const struct sw_arch *arch, struct sw_val v, struct sw_loc *loc)
{
    return locate_word(state, arch, v, false, loc) || locate_word(state, arch, v, true, loc) ||
           locate_register(state, arch, v, loc);
}

static bool return_inside(const struct sw_state *state, const struct sw_arch *arch, struct sw_loc *loc)
{
    const unsigned link = arch->roles->link;
    struct sw_val address = entry_sp(arch);
    if (sw_arch_has_link(arch)) {
        if (sw_val_is_start(state->reg[link], link) && !is_saved(state, arch, link))
            return put(loc, SW_LOC_REG, link, 0);
        /* Never below sp: code that has released its frame has loaded the link register before. */
        return locate_word(state, arch, start_of(link), false, loc) ||
               locate_register(state, arch, start_of(link), loc);
    }
    const struct sw_val there = sw_state_word(state, arch, address);
    address.deref = true;
    if (sw_val_same(there, address))
        return put(loc, SW_LOC_AT_CFA, 0, -8);
    return locate(state, arch, address, loc);
}

bool sw_extract_inside(const struct sw_state *state, const struct sw_arch *arch, struct sw_rule *rule)
{
    const uint64_t nonvolatile = arch->roles->nonvolatile;
    sw_rule_init(rule, arch->machine, SW_SOURCE_ANALYSIS, SW_TRUST_LIKELY);
    if (!cfa_inside(state, arch, rule) || !return_inside(state, arch, &rule->r[arch->roles->pc]))
        return false;
    for (unsigned n = 0; n < SW_REGS_MAX; n++) {
        if (!(nonvolatile >> n & 1) || (sw_val_is_start(state->reg[n], n) && !is_saved(state, arch, n)))
            continue;
        rule->r[n].kind = SW_LOC_UNKNOWN;
        if (!locate(state, arch, start_of(n), &rule->r[n]))
            rule->r[n] = (struct sw_loc){ SW_LOC_UNKNOWN, 0, 0, 0 };
    }
    return true;
}

/* A value of the return's state as a location at pc, if its base is a register. */
static bool as_location(struct sw_val v, unsigned number, struct sw_loc *loc)
{
    const unsigned reg = v.base - 1u;
    if (v.base == SW_VAL_UNKNOWN || reg >= SW_REGS_MAX || v.point != 0 || v.weak || (v.deref && v.add != 0))
        return false;
    if (sw_val_is_start(v, number))
        return put(loc, SW_LOC_SAME, 0, 0);
    return put(loc, v.deref ? SW_LOC_AT_REG : SW_LOC_REG, reg, v.off);
}

/* The CFA is the address behind the return address if that was in memory, else sp after the return. */
static bool cfa_at_return(const struct sw_state *state, const struct sw_arch *arch, struct sw_rule *rule,
                          struct sw_val *cfa)
{
    const struct sw_val pc = state->reg[arch->roles->pc];
    *cfa = state->reg[arch->roles->sp];
    if (!sw_arch_has_link(arch))
        *cfa = sw_val_plus(state->ret_at, 8);
    if (cfa->base == SW_VAL_POINT && pc.deref &&
        pc.add == 0) /* the return address was pushed again elsewhere: take its first place */
        *cfa = (struct sw_val){ .base = pc.base, .point = pc.point, .off = pc.off + 8 };
    const unsigned reg = cfa->base - 1u;
    if (cfa->base == SW_VAL_UNKNOWN || reg >= SW_REGS_MAX || cfa->point != 0 || cfa->weak)
        return false;
    rule->cfa_add = cfa->deref ? cfa->add : 0;
    return put(&rule->cfa, cfa->deref ? SW_LOC_AT_REG : SW_LOC_REG, reg, cfa->off);
}

/* Memory below sp at pc belongs to nothing: only a path that this code never takes reads such a word back. */
static bool is_unowned(const struct sw_arch *arch, const struct sw_loc *loc)
{
    return loc->kind == SW_LOC_AT_REG && loc->reg == arch->roles->sp && loc->off < 0;
}

/* Words beside the register that the CFA counts from, as words below the CFA: one rule is one value, however found. */
static void count_from_cfa(struct sw_rule *rule)
{
    for (unsigned n = 0; n < SW_REGS_MAX && rule->cfa.kind == SW_LOC_REG; n++) {
        struct sw_loc *loc = &rule->r[n];
        const int64_t off = (int64_t)loc->off - rule->cfa.off;
        if (loc->kind == SW_LOC_AT_REG && loc->reg == rule->cfa.reg && sw_fits_i32(off))
            *loc = (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, (int32_t)off };
    }
}

bool sw_extract_return(const struct sw_state *state, const struct sw_arch *arch, struct sw_rule *rule)
{
    const uint64_t nonvolatile = arch->roles->nonvolatile;
    const unsigned sp = arch->roles->sp, pc = arch->roles->pc;
    struct sw_val cfa;
    sw_rule_init(rule, arch->machine, SW_SOURCE_FORWARD, SW_TRUST_GUESS);
    if (!cfa_at_return(state, arch, rule, &cfa))
        return false;
    struct sw_val in_memory = state->ret_at;
    in_memory.deref = true;
    const bool from_stack = !sw_arch_has_link(arch) && (state->ret_at.deref || sw_val_same(in_memory, state->reg[pc]));
    if (from_stack)
        rule->r[pc] = (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, -8 };
    else if (!as_location(state->reg[pc], pc, &rule->r[pc]) ||
             (sw_arch_has_link(arch) && is_unowned(arch, &rule->r[pc])))
        return false;
    const struct sw_val after = state->reg[sp];
    if (after.base == cfa.base && after.deref == cfa.deref && after.point == cfa.point)
        rule->r[sp].off = after.deref ? after.add - cfa.add : after.off - cfa.off;
    else if (after.deref) /* an interrupt return loads sp, too */
        (void)as_location(after, sp, &rule->r[sp]);
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if ((nonvolatile >> n & 1) && !as_location(state->reg[n], n, &rule->r[n]))
            rule->r[n] = (struct sw_loc){ SW_LOC_UNKNOWN, 0, 0, 0 };
    count_from_cfa(rule);
    return true;
}
