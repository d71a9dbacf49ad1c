/*
 * Making and applying rules: rule + registers + memory → the caller's registers. The only place where a stack word of a
 * target is loaded. Knows neither instructions nor tables.
 */
#include "base/rule.h"
#include "base/expr.h"

#include <string.h>

/* Registers that sw_regs_nonvolatile names are unchanged, sp is the CFA. */
/* clang-format off */
#define SAME { SW_LOC_SAME, 0, 0, 0 }
#define CFA  { SW_LOC_CFA, 0, 0, 0 }
static const struct sw_loc unchanged_x64[SW_REGS_MAX] = {
    [SW_X64_RBX] = SAME, [SW_X64_RSP] = CFA,  [SW_X64_RBP] = SAME, [SW_X64_R12] = SAME, [SW_X64_R13] = SAME,
    [SW_X64_R14] = SAME, [SW_X64_R15] = SAME,
};
static const struct sw_loc unchanged_arm64[SW_REGS_MAX] = {
    [SW_ARM64_X19] = SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME, [SW_ARM64_X28] = SAME,
    [SW_ARM64_FP] = SAME, [SW_ARM64_SP] = CFA,
};
/* clang-format on */
_Static_assert(SW_X64_NONVOLATILE == (1u << SW_X64_RBX | 1u << SW_X64_RBP | 15u << SW_X64_R12), "as in the table");
_Static_assert(SW_ARM64_NONVOLATILE == 0x7ffu << SW_ARM64_X19, "as in the table");

/* In two pieces: of one, compilers make a slow `rep movs`. */
static void copy_locations(struct sw_loc *to, const struct sw_loc *from)
{
    enum { HALF = SW_REGS_MAX / 2 };
    memcpy(to, from, HALF * sizeof *to);
    memcpy(to + HALF, from + HALF, (SW_REGS_MAX - HALF) * sizeof *to);
}

const struct sw_loc *sw_rule_unchanged(enum sw_machine machine)
{
    return machine == SW_MACHINE_ARM64 ? unchanged_arm64 : unchanged_x64;
}

void sw_rule_init(struct sw_rule *rule, enum sw_machine machine, enum sw_source source, enum sw_trust trust)
{
    rule->cfa = (struct sw_loc){ 0 };
    rule->cfa_add = 0;
    rule->source = (uint8_t)source;
    rule->trust = (uint8_t)trust;
    rule->flags = 0;
    rule->unused = 0;
    rule->expr = NULL;
    rule->initial = 0;
    copy_locations(rule->r, sw_rule_unchanged(machine));
}

void sw_rule_leaf(struct sw_rule *rule, enum sw_machine machine, enum sw_source source, enum sw_trust trust)
{
    const unsigned link = sw_regs_link_number(machine);
    sw_rule_init(rule, machine, source, trust);
    rule->cfa = (struct sw_loc){ SW_LOC_REG, (uint8_t)sw_regs_sp_number(machine), 0, sw_rule_cfa_above_entry(machine) };
    rule->r[sw_regs_pc_number(machine)] = link == SW_REGS_MAX ? (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, -8 }
                                                              : (struct sw_loc){ SW_LOC_REG, (uint8_t)link, 0, 0 };
}

/* Everything that evaluating one location takes. */
struct site {
    const struct sw_rule *rule;
    const struct sw_regs *regs;
    const struct sw_memory *memory;
    uint64_t cfa;
    uint64_t *fault;
};

static enum sw_status word_at(const struct site *site, uint64_t base, int64_t off, uint64_t *value)
{
    uint64_t address;
    if (!sw_add_offset(base, off, &address))
        return SW_E_MALFORMED;
    if (sw_memory_word(site->memory, address, value))
        return SW_OK;
    if (site->fault)
        *site->fault = address;
    return SW_E_UNREADABLE;
}

static enum sw_status expression(const struct site *site, struct sw_loc loc, const uint64_t *push, uint64_t *value)
{
    if (!site->rule->expr || loc.off < 0)
        return SW_E_MALFORMED;
    return sw_expr_eval(site->rule->expr + loc.off, loc.size, site->regs, site->memory, push, value);
}

/* The CFA is not known yet: only the forms that do without it make sense. */
static enum sw_status find_cfa(const struct site *site, uint64_t *cfa)
{
    const struct sw_loc loc = site->rule->cfa;
    enum sw_status status;
    switch (loc.kind) {
    case SW_LOC_REG:
        if (!sw_regs_has(site->regs, loc.reg))
            return SW_E_NO_RULE;
        return sw_add_offset(site->regs->r[loc.reg], loc.off, cfa) ? SW_OK : SW_E_MALFORMED;
    case SW_LOC_AT_REG:
        if (!sw_regs_has(site->regs, loc.reg))
            return SW_E_NO_RULE;
        status = word_at(site, site->regs->r[loc.reg], loc.off, cfa);
        if (status)
            return status;
        return sw_add_offset(*cfa, site->rule->cfa_add, cfa) ? SW_OK : SW_E_MALFORMED;
    case SW_LOC_EXPR:
        return expression(site, loc, NULL, cfa);
    default:
        return SW_E_NO_RULE;
    }
}

static enum sw_status find_value(const struct site *site, unsigned number, uint64_t *value)
{
    const struct sw_loc loc = site->rule->r[number];
    const unsigned reg = loc.reg;
    enum sw_status status;
    switch (loc.kind) {
    case SW_LOC_REG:
        if (!sw_regs_has(site->regs, reg))
            return SW_E_NO_RULE;
        *value = site->regs->r[reg] + (uint64_t)(int64_t)loc.off;
        return SW_OK;
    case SW_LOC_AT_CFA:
        return word_at(site, site->cfa, loc.off, value);
    case SW_LOC_CFA:
        return sw_add_offset(site->cfa, loc.off, value) ? SW_OK : SW_E_MALFORMED;
    case SW_LOC_AT_REG:
        return sw_regs_has(site->regs, reg) ? word_at(site, site->regs->r[reg], loc.off, value) : SW_E_NO_RULE;
    case SW_LOC_AT_EXPR:
        status = expression(site, loc, &site->cfa, value);
        return status ? status : word_at(site, *value, 0, value);
    case SW_LOC_EXPR:
        return expression(site, loc, &site->cfa, value);
    default:
        return SW_E_NO_RULE;
    }
}

/*
 * The stack around a CFA as far as the window holds it.
 *
 * bytes   Where the window's first byte is.
 * cfa     The CFA, counted from the window's begin on.
 * words   At so many addresses from the begin on there is a word in the window. 0: it does not help, or a CFA and an
 *         offset could wrap round into it.
 */
struct near {
    const uint8_t *bytes;
    uint64_t cfa;
    uint64_t words;
};

static struct near near_of(const struct sw_window *window, uint64_t cfa)
{
    const uint64_t size = window->end - window->begin;
    const bool helps = window->end > window->begin && size >= 8 && (cfa | window->end) >> 63 == 0;
    return (struct near){ window->bytes, cfa - window->begin, helps ? size - 7 : 0 };
}

/*
 * Of these registers, those whose locations are what nearly all are: unchanged (so it has its value), the CFA, or a
 * word of the window. *others receives those that are elsewhere, or cannot be had so. Calls nothing, so that all of it
 * stays in registers.
 *
 * Returns  Those that are known now.
 */
SW_LOADS_STACK static uint64_t take_usual(const struct sw_loc *locs, uint64_t wanted, const struct sw_regs *regs,
                                          const struct near *window, uint64_t cfa, uint64_t *values, uint64_t *others)
{
    const struct near near = *window;
    uint64_t same = 0, known = 0, rest = 0;
    for (; wanted != 0; wanted &= wanted - 1) {
        const unsigned n = (unsigned)__builtin_ctzll(wanted), kind = locs[n].kind;
        const uint64_t bit = wanted & -wanted, at = near.cfa + (uint64_t)(int64_t)locs[n].off;
        if (kind == SW_LOC_SAME) {
            same |= bit;
        } else if (kind == SW_LOC_AT_CFA && at < near.words) {
            memcpy(&values[n], near.bytes + at, sizeof values[n]);
            values[n] = sw_load64(&values[n]);
            known |= bit;
        } else if (kind == SW_LOC_CFA && locs[n].off == 0) {
            values[n] = cfa;
            known |= bit;
        } else if (kind != SW_LOC_UNKNOWN)
            rest |= bit;
    }
    *others = rest;
    return known | (same & regs->known);
}

/* The registers that take more than the window; those that can be had join *known. Fails where pc or sp cannot. */
static enum sw_status take_others(const struct site *site, uint64_t others, uint64_t needed, uint64_t *values,
                                  uint64_t *known)
{
    for (; others != 0; others &= others - 1) {
        const unsigned n = (unsigned)__builtin_ctzll(others);
        const enum sw_status status = find_value(site, n, &values[n]);
        if (status != SW_OK && needed >> n & 1)
            return status;
        *known |= status == SW_OK ? UINT64_C(1) << n : 0;
    }
    return SW_OK;
}

/* Nearly all CFAs are a register and a number; with others, find_cfa. */
static inline bool usual_cfa(const struct sw_rule *rule, const struct sw_regs *regs, uint64_t *cfa)
{
    const struct sw_loc *loc = &rule->cfa;
    return loc->kind == SW_LOC_REG && sw_regs_has(regs, loc->reg) && sw_add_offset(regs->r[loc->reg], loc->off, cfa);
}

enum sw_status sw_rule_apply(const struct sw_rule *rule, const struct sw_regs *regs, const struct sw_memory *memory,
                             struct sw_regs *caller, uint64_t *cfa, uint64_t *fault)
{
    const struct sw_regs_roles *roles = sw_regs_roles_of(regs->machine);
    const uint64_t needed = UINT64_C(1) << roles->pc | UINT64_C(1) << roles->sp;
    const uint64_t wanted = ((UINT64_C(1) << roles->count) - 1) & ~rule->initial;
    uint64_t others, at = 0;
    enum sw_status status = SW_OK;
    if (!usual_cfa(rule, regs, &at))
        status = find_cfa(&(struct site){ rule, regs, memory, 0, fault }, &at);
    if (status != SW_OK)
        return status;
    const struct near near = near_of(&memory->window, at);
    sw_regs_copy(caller, regs); /* so those that are unchanged need not be looked at */
    const uint64_t usual = take_usual(rule->r, wanted, regs, &near, at, caller->r, &others);
    uint64_t known = usual | (rule->initial & roles->nonvolatile & regs->known);
    caller->reserved = 0;
    caller->known = 0;
    if (others)
        status = take_others(&(struct site){ rule, regs, memory, at, fault }, others, needed, caller->r, &known);
    if (status != SW_OK)
        return status;
    caller->known = known;
    if (cfa)
        *cfa = at;
    return (known & needed) == needed ? SW_OK : SW_E_NO_RULE;
}
