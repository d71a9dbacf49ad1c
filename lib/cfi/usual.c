/*
 * The usual instructions: six, with operands below 128, are nearly all that tables hold. Here they are done without
 * being taken apart into rows and operands, just as run.c would do them; what is not one of them, or would be a
 * mistake, is left to run.c. Knows bytes; refuses to know what an error is.
 * Source: DWARF 5 section 6.4.2.
 */
#include "cfi/machine.h"

#include "base/expr.h"

enum { NOP = 0x00, DEF_CFA = 0x0c, DEF_CFA_REGISTER = 0x0d, DEF_CFA_OFFSET = 0x0e };
enum { ADVANCE = 1, OFFSET = 2, OTHERS = 0 }; /* the upper two bits */
enum { LOW = 0x3f, SMALL = 0x80 };

/* Each answers how many bytes the instruction has, 0 for "not one of these": then nothing happened. */

static inline unsigned advance(struct sw_cfi_machine *m, uint8_t opcode)
{
    uint64_t to;
    if (!m->has_initial || !sw_add_u64(m->at, (opcode & LOW) * m->code_align, &to))
        return 0;
    m->is_done = to > m->pc;
    m->at = m->is_done ? m->at : to;
    return 1;
}

static inline unsigned place(struct sw_cfi_machine *m, const uint8_t *at, uint64_t left)
{
    const unsigned number = sw_dwarf_reg(m->cfi->machine, at[0] & LOW);
    const int64_t off = left >= 2 && at[1] < SMALL ? at[1] * m->data_align : INT64_MAX;
    if (number == SW_REGS_MAX || !sw_fits_i32(off))
        return 0;
    sw_cfi_place(m, number, (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, (int32_t)off });
    m->places += m->has_initial;
    return 2;
}

static inline void set_cfa_offset(struct sw_cfi_machine *m, uint8_t off)
{
    m->pushes += m->has_initial && off == (int64_t)m->rule->cfa.off + SW_CFI_WORD;
    m->rule->cfa.off = off;
}

static inline unsigned define_cfa_offset(struct sw_cfi_machine *m, const uint8_t *at, uint64_t left)
{
    if (left < 2 || at[1] >= SMALL || m->rule->cfa.kind != SW_LOC_REG)
        return 0;
    set_cfa_offset(m, at[1]);
    return 2;
}

/* Both parts, or the register alone: then there must be an offset already. */
static inline unsigned define_cfa(struct sw_cfi_machine *m, const uint8_t *at, uint64_t left, bool both)
{
    const unsigned size = both ? 3 : 2;
    const unsigned number = left >= size ? sw_dwarf_reg(m->cfi->machine, at[1]) : SW_REGS_MAX;
    if (number == SW_REGS_MAX || (both ? at[2] >= SMALL : m->rule->cfa.kind != SW_LOC_REG))
        return 0;
    m->rule->cfa.kind = SW_LOC_REG;
    m->rule->cfa.reg = (uint8_t)number;
    if (both)
        set_cfa_offset(m, at[2]);
    return size;
}

static inline unsigned other(struct sw_cfi_machine *m, const uint8_t *at, uint64_t left)
{
    switch (at[0]) {
    case NOP:
        return 1;
    case DEF_CFA_OFFSET:
        return define_cfa_offset(m, at, left);
    case DEF_CFA_REGISTER:
        return define_cfa(m, at, left, false);
    case DEF_CFA:
        return define_cfa(m, at, left, true);
    default:
        return 0;
    }
}

const uint8_t *sw_cfi_run_usual(struct sw_cfi_machine *m, const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        const unsigned kind = at[0] >> 6;
        const uint64_t left = (uint64_t)(end - at);
        const unsigned size = kind == ADVANCE  ? advance(m, at[0])
                              : kind == OFFSET ? place(m, at, left)
                              : kind == OTHERS ? other(m, at, left)
                                               : 0;
        if (size == 0)
            return at;
        at += size;
        if (m->is_done)
            return at;
    }
    return at;
}
