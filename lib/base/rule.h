/*
 * The rule: where a frame's CFA is, and where its caller's registers are. The narrow waist of the library: every
 * source of unwind knowledge ends in one of these, and sw_rule_apply is the only reader.
 * A plain value; it does not own anything (expressions stay in the table they came from).
 */
#ifndef SW_BASE_RULE_H
#define SW_BASE_RULE_H

#include "base/memory.h"

#include <snapwalk/regs.h>
#include <snapwalk/frame.h>

#include <string.h>

enum sw_loc_kind {
    SW_LOC_UNKNOWN = 0, /* the value is lost */
    SW_LOC_SAME,        /* still in its register */
    SW_LOC_AT_CFA,      /* in memory at CFA + off */
    SW_LOC_CFA,         /* is CFA + off */
    SW_LOC_REG,         /* is reg + off */
    SW_LOC_AT_REG,      /* in memory at reg + off */
    SW_LOC_AT_EXPR,     /* in memory at the address that a DWARF expression gives; it starts with the CFA pushed */
    SW_LOC_EXPR         /* is what a DWARF expression gives; it starts with the CFA pushed */
};

/*
 * One location. For the two EXPR kinds the expression is rule->expr[off], size bytes.
 */
struct sw_loc {
    uint8_t kind;
    uint8_t reg;
    uint16_t size;
    int32_t off;
};

#define SW_RULE_END    1u /* this is the outermost frame: there is no caller */
#define SW_RULE_SIGNAL 2u /* the caller was interrupted: its pc is exact, its sp may be anywhere */

/*
 * cfa     REG, AT_REG (then the CFA is that word + cfa_add), or EXPR (starts with an empty stack).
 * r       By register number of regs.h, pc included: its location is that of the return address.
 *         sp is usually SW_LOC_CFA with off 0.
 * source, trust  Of the caller's frame that this rule leads to.
 * initial  Registers whose location is as sw_rule_init gave it, for certain: nobody looks at it. Never sp, nor a
 *          register past the last. Whoever changes a location clears its bit; 0 is right of any rule.
 */
struct sw_rule {
    struct sw_loc cfa;
    int32_t cfa_add;
    uint8_t source;
    uint8_t trust;
    uint8_t flags;
    uint8_t unused; /* 0: rules of the same content are the same bytes */
    const uint8_t *expr;
    uint64_t initial;
    struct sw_loc r[SW_REGS_MAX];
};

/*
 * The rule "nonvolatile registers are unchanged, sp is the CFA, everything else is lost"; cfa and the return address
 * are left to fill in.
 */
void sw_rule_init(struct sw_rule *rule, enum sw_machine machine, enum sw_source source, enum sw_trust trust);

/* Whether two locations of the same kind, other than an expression, are one. */
static inline bool sw_is_same_loc(struct sw_loc a, struct sw_loc b)
{
    return a.kind == b.kind && a.reg == b.reg && a.off == b.off;
}

/* The locations that sw_rule_init gives: SW_REGS_MAX of them. */
const struct sw_loc *sw_rule_unchanged(enum sw_machine machine);

/* *to = *from, of a machine's registers, unknown ones too: to ask takes longer. Of 33 one `rep movs` would be slow. */
static inline void sw_regs_copy(struct sw_regs *to, const struct sw_regs *from)
{
    enum { FIRST = SW_X64_COUNT };
    to->machine = from->machine;
    to->reserved = from->reserved;
    to->known = from->known;
    memcpy(to->r, from->r, FIRST * sizeof to->r[0]);
    if (sw_regs_count(from->machine) > FIRST)
        memcpy(to->r + FIRST, from->r + FIRST, (SW_REGS_MAX - FIRST) * sizeof to->r[0]);
}

/* The CFA above sp at a function's first instruction: a return address that the call pushed lies between. */
static inline int32_t sw_rule_cfa_above_entry(enum sw_machine machine)
{
    return sw_regs_link_number(machine) == SW_REGS_MAX ? 8 : 0;
}

/* Of code that moves nothing: all is as at a function's first instruction. */
void sw_rule_leaf(struct sw_rule *rule, enum sw_machine machine, enum sw_source source, enum sw_trust trust);

/*
 * The caller's registers. A nonvolatile register whose location cannot be read, or depends on an unknown register,
 * becomes unknown; pc and sp must come out.
 *
 * cfa      Receives the CFA; may be null.
 * fault    Receives the address that could not be read; may be null.
 *
 * Returns  SW_OK; SW_E_UNREADABLE (return address or CFA); SW_E_NO_RULE (it depends on an unknown register);
 *          SW_E_MALFORMED, SW_E_LIMIT (expression, or a location that makes no sense).
 */
SW_NODISCARD enum sw_status sw_rule_apply(const struct sw_rule *rule, const struct sw_regs *regs,
                                          const struct sw_memory *memory, struct sw_regs *caller, uint64_t *cfa,
                                          uint64_t *fault);

#endif
