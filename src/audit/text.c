/* Texts for rules, verdicts and causes. Refuses to know when they apply. */
#include "audit/audit.h"

#include <assert.h>
#include <string.h>

/* clang-format off */
static const char *const verdict_names[] = { /* ORDER sw_audit_verdict */
    [SW_AUDIT_EQUAL]     = "equal",
    [SW_AUDIT_UNREACHED] = "unreached",
    [SW_AUDIT_CFA]       = "cfa-differs",
    [SW_AUDIT_RETURN]    = "return-differs",
    [SW_AUDIT_REGISTER]  = "register-differs",
    [SW_AUDIT_LOST]      = "register-lost",
    [SW_AUDIT_FALSE]     = "table-false",
    [SW_AUDIT_END]       = "end-of-stack",
    [SW_AUDIT_NO_TABLE]  = "no-table",
    [SW_AUDIT_PART]      = "part",
    [SW_AUDIT_PADDING]   = "padding",
    [SW_AUDIT_BAD_CODE]  = "bad-code",
};
static_assert(sizeof verdict_names / sizeof verdict_names[0] == SW_AUDIT_VERDICT_COUNT, "ORDER sw_audit_verdict");

static const char *const after_names[] = { /* ORDER sw_audit_after */
    [SW_AUDIT_AFTER_PLAIN]    = "plain",
    [SW_AUDIT_AFTER_CALL]     = "call",
    [SW_AUDIT_AFTER_BRANCH]   = "branch",
    [SW_AUDIT_AFTER_JUMP]     = "jump",
    [SW_AUDIT_AFTER_INDIRECT] = "indirect-jump",
    [SW_AUDIT_AFTER_RETURN]   = "return",
    [SW_AUDIT_AFTER_TRAP]     = "trap",
    [SW_AUDIT_AFTER_NOTHING]  = "start",
};
static_assert(sizeof after_names / sizeof after_names[0] == SW_AUDIT_AFTER_COUNT, "ORDER sw_audit_after");
/* clang-format on */

struct text {
    char *to;
    size_t left; /* with the NUL */
};

static void put(struct text *t, const char *s)
{
    for (; *s && t->left > 1; s++, t->left--)
        *t->to++ = *s;
    *t->to = '\0';
}

static void put_signed(struct text *t, int64_t n)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    digits[at] = '\0';
    for (; rest; rest /= 10)
        digits[--at] = (char)('0' + rest % 10);
    if (n == 0)
        return;
    digits[--at] = n < 0 ? '-' : '+';
    put(t, &digits[at]);
}

static void put_place(struct text *t, const char *base, int64_t off, bool in_memory)
{
    put(t, in_memory ? "[" : "");
    put(t, base);
    put_signed(t, off);
    put(t, in_memory ? "]" : "");
}

static const char *register_name(enum sw_machine machine, unsigned n)
{
    return n == sw_regs_pc_number(machine) ? "ra" : sw_regs_name(machine, n);
}

static void put_location(struct text *t, enum sw_machine machine, const struct sw_loc *loc)
{
    const char *reg = register_name(machine, loc->reg);
    switch (loc->kind) {
    case SW_LOC_UNKNOWN:
        put(t, "?");
        break;
    case SW_LOC_SAME:
        put(t, "same");
        break;
    case SW_LOC_CFA:
    case SW_LOC_AT_CFA:
        put_place(t, "cfa", loc->off, loc->kind == SW_LOC_AT_CFA);
        break;
    case SW_LOC_REG:
    case SW_LOC_AT_REG:
        put_place(t, reg, loc->off, loc->kind == SW_LOC_AT_REG);
        break;
    default:
        put(t, loc->kind == SW_LOC_AT_EXPR ? "[expression]" : "expression");
        break;
    }
}

/* Whether a register is shown. A return address below the CFA, or in the link register, is not: the usual case. */
static bool is_shown(enum sw_machine machine, const struct sw_rule *rule, unsigned n)
{
    const struct sw_loc *loc = &rule->r[n];
    const unsigned link = sw_regs_link_number(machine);
    if (n == sw_regs_pc_number(machine) && link != SW_REGS_MAX)
        return loc->kind != SW_LOC_REG || loc->reg != link || loc->off != 0;
    if (n == sw_regs_pc_number(machine))
        return loc->kind != SW_LOC_AT_CFA || loc->off != -8;
    return (sw_regs_nonvolatile(machine) >> n & 1) && loc->kind != SW_LOC_SAME;
}

const char *sw_audit_text(enum sw_machine machine, const struct sw_rule *rule, char *text, size_t size)
{
    struct text t = { text, size };
    if (size == 0)
        return text;
    text[0] = '\0';
    if (!rule || !sw_arch_of(machine)) {
        put(&t, "none");
        return text;
    }
    put(&t, "cfa=");
    put_location(&t, machine, &rule->cfa);
    put_signed(&t, rule->cfa_add);
    for (unsigned n = 0; n < sw_regs_count(machine); n++) {
        if (!is_shown(machine, rule, n))
            continue;
        put(&t, " ");
        put(&t, register_name(machine, n));
        put(&t, "=");
        put_location(&t, machine, &rule->r[n]);
    }
    return text;
}

const char *sw_audit_verdict_name(enum sw_audit_verdict verdict)
{
    return (unsigned)verdict < SW_AUDIT_VERDICT_COUNT ? verdict_names[verdict] : "?";
}

const char *sw_audit_after_name(enum sw_audit_after after)
{
    return (unsigned)after < SW_AUDIT_AFTER_COUNT ? after_names[after] : "?";
}
