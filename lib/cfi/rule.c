/*
 * From a pc to its rule: the row that the CIE begins with, what the FDE makes of it up to the pc, and what that says of
 * the return address. Knows no instruction but those that nearly all CIEs have, which it need not run.
 * Source: DWARF 5 section 6.4; dwarf-cfi.md sections 4 and 6.
 */
#include "cfi/machine.h"

#include "base/expr.h"

#include <string.h>

enum { MOST_BYTES = 1 << 20 };

/*
 * Where calls push, a CFA below the stack pointer cannot be; hand-written tables with two epilogues come to this
 * (libcoreclr has some). ARM64 knows it: glibc's _dl_runtime_resolve, behind the words that its PLT pushed.
 */
static bool is_below_stack(const struct sw_cfi_machine *m)
{
    const struct sw_loc cfa = m->rule->cfa;
    const struct sw_regs_roles *roles = sw_regs_roles_of(m->cfi->machine);
    return cfa.kind == SW_LOC_REG && cfa.reg == roles->sp && cfa.off < 0 && roles->link == SW_REGS_MAX;
}

/*
 * The return address has the rule of its column. On ARM64 that is x30, where it still is when nothing was said; the
 * caller's own x30 is lost with the call, unless it was interrupted.
 */
static void place_return_address(struct sw_cfi_machine *m, unsigned pc)
{
    struct sw_loc *ra = &m->rule->r[m->ra];
    m->rule->r[pc] = ra->kind == SW_LOC_SAME ? (struct sw_loc){ SW_LOC_REG, (uint8_t)m->ra, 0, 0 } : *ra;
    if (m->ra != pc && !(m->rule->flags & SW_RULE_SIGNAL))
        *ra = (struct sw_loc){ 0 };
}

static enum sw_status finish(struct sw_cfi_machine *m)
{
    const unsigned pc = sw_regs_pc_number(m->cfi->machine);
    const uint8_t ra = m->rule->r[m->ra].kind;
    if (ra == SW_LOC_UNKNOWN) {
        m->rule->flags |= SW_RULE_END;
        return SW_OK;
    }
    if (m->rule->cfa.kind == SW_LOC_UNKNOWN || (ra == SW_LOC_SAME && m->ra == pc))
        return SW_E_MALFORMED;
    place_return_address(m, pc);
    if (m->has_block)
        sw_cfi_reduce(m->cfi->machine, m->rule, m->pc);
    return is_below_stack(m) ? SW_E_MALFORMED : SW_OK;
}

/*
 * The instructions of nearly all CIEs, and what they come to: the caller's state at a function's first instruction.
 *
 * program     Their bytes, the first one lowest; nops behind them are zeros. size: how many there are at least.
 * data_align  What the instructions count in; 0: in nothing.
 */
static const struct start {
    uint8_t ra;
    int8_t data_align;
    uint8_t size;
    uint64_t program;
    struct sw_loc cfa, ra_loc;
} starts[SW_DWARF_MACHINES] = {
    /* ORDER sw_machine: def_cfa rsp+8; offset RA at CFA-8. def_cfa sp+0. */
    [SW_MACHINE_X64] = { SW_X64_RIP,
                         -8,
                         5,
                         0x019008070c,
                         { SW_LOC_REG, SW_X64_RSP, 0, 8 },
                         { SW_LOC_AT_CFA, 0, 0, -8 } },
    [SW_MACHINE_ARM64] = { SW_ARM64_LR, 0, 3, 0x001f0c, { SW_LOC_REG, SW_ARM64_SP, 0, 0 }, { SW_LOC_SAME, 0, 0, 0 } },
};

static inline bool is_start(const struct sw_cfi_machine *m, const struct start *start)
{
    const struct sw_cursor *program = &m->fde->cie.program;
    const uint64_t size = sw_cursor_left(program);
    const bool is_scaled = start->data_align == 0 || m->data_align == start->data_align;
    if (m->ra != start->ra || !is_scaled || size < start->size || size > sizeof start->program)
        return false;
    /* At least so many bytes of the record are in front of the end: its length and id. */
    return sw_load64(program->end - sizeof start->program) >> (64 - 8 * size) == start->program;
}

static enum sw_status start(struct sw_cfi_machine *m)
{
    const uint64_t all_registers = (UINT64_C(1) << SW_REGS_MAX) - 1;
    const struct start *usual = &starts[m->cfi->machine]; /* there is such a machine: it has registers */
    if (is_start(m, usual)) {
        m->rule->cfa = usual->cfa;
        m->rule->r[m->ra] = m->initial_ra = usual->ra_loc;
        m->initial = sw_rule_unchanged(m->cfi->machine);
        return SW_OK;
    }
    m->changed = all_registers;
    m->rule->r[m->ra].kind = SW_LOC_SAME; /* until something is said about it */
    const enum sw_status status = sw_cfi_run(m, &m->fde->cie.program);
    memcpy(m->work->initial, m->rule->r, sizeof m->work->initial);
    m->initial = m->work->initial;
    m->initial_ra = m->initial[m->ra];
    m->changed = 0;
    m->depth = 0;
    return status;
}

/* Behind a usual CIE: what neither the FDE says anything of, nor anyone here. */
static uint64_t initial_of_rule(const struct sw_cfi_machine *m)
{
    const struct sw_regs_roles *roles = sw_regs_roles_of(m->cfi->machine);
    const uint64_t others = UINT64_C(1) << roles->sp | UINT64_C(1) << roles->pc | UINT64_C(1) << m->ra;
    return m->initial == m->work->initial ? 0 : ~(others | m->changed) & ((UINT64_C(1) << roles->count) - 1);
}

static inline enum sw_status run(struct sw_cfi_machine *m, struct sw_cursor program)
{
    const uint8_t *from = program.at;
    program.at = sw_cfi_run_usual(m, from, program.end);
    program.address += (uint64_t)(program.at - from);
    return m->is_done || program.at == program.end ? SW_OK : sw_cfi_run(m, &program);
}

static inline enum sw_status rule_of_table(const struct sw_cfi *cfi, uint64_t pc, struct sw_cfi_work *work,
                                           struct sw_rule *rule, struct sw_cfi_cover *cover)
{
    struct sw_cfi_fde fde;
    enum sw_status status = sw_cfi_find(cfi, pc, &fde);
    if (status != SW_OK)
        return status;
    const uint64_t bytes = sw_cursor_left(&fde.program);
    if (bytes > MOST_BYTES)
        return SW_E_LIMIT;
    struct sw_cfi_machine m = { .cfi = cfi, .fde = &fde, .work = work, .rule = rule, .at = fde.begin, .pc = pc };
    m.code_align = fde.cie.code_align;
    m.data_align = fde.cie.data_align;
    m.ra = sw_dwarf_reg(cfi->machine, fde.cie.ra);
    sw_rule_init(rule, cfi->machine, SW_SOURCE_CFI, SW_TRUST_EXACT);
    rule->expr = cfi->frame.bytes;
    rule->flags = fde.cie.is_signal ? SW_RULE_SIGNAL : 0;
    status = m.ra == SW_REGS_MAX ? SW_E_UNSUPPORTED : start(&m);
    if (status == SW_OK)
        status = run(&m, fde.program);
    if (cover)
        *cover =
            (struct sw_cfi_cover){ fde.begin, fde.end, m.pushes, (m.changed & ~(UINT64_C(1) << m.ra)) != 0, bytes };
    if (m.ra != SW_REGS_MAX)
        rule->initial = initial_of_rule(&m);
    return status == SW_OK ? finish(&m) : status;
}

/* What the first table with something to say says; if none has a rule, what was wrong with the first one. */
enum sw_status sw_cfi_rule(const struct sw_cfi *cfi, uint64_t pc, struct sw_cfi_work *work, struct sw_rule *rule,
                           struct sw_cfi_cover *cover)
{
    const struct sw_cfi *const tables[] = { cfi, cfi->beside };
    enum sw_status first = SW_OK;
    for (unsigned n = 0; n < 2 && tables[n]; n++) {
        const enum sw_status status = rule_of_table(tables[n], pc, work, rule, cover);
        if (status == SW_OK || (n > 0 && status != SW_E_NO_RULE))
            return status;
        first = n > 0 ? first : status;
    }
    return first;
}
