/*
 * The usual instructions: five, with operands below 128, are nearly all that FDEs hold. Here they are done without
 * being taken apart into rows and operands, just as run.c would do them; what is not one of them, or would be a
 * mistake, is left to run.c. Knows bytes; refuses to know what an error is.
 * Source: DWARF 5 section 6.4.2.
 */
#include "cfi/machine.h"

#include "base/expr.h"

enum { NOP = 0x00, DEF_CFA = 0x0c, DEF_CFA_REGISTER = 0x0d, DEF_CFA_OFFSET = 0x0e };
enum {
    ADVANCE = 0x40,
    OFFSET = 0x80,
    RESTORE = 0xc0
};                                              /* from here on, up to the next: the lower bits are an operand */
enum { LOW = 0x3f, SMALL = 0x80, LONGEST = 3 }; /* bytes of an instruction */

/*
 * The machine, as these instructions see it. Nothing else has its address, so it stays in registers.
 *
 * left     How far pc is behind the row's begin.
 * numbers  As sw_dwarf_numbers, of the machine.
 */
struct usual {
    struct sw_rule *rule;
    const uint8_t *numbers;
    uint64_t left, code_align;
    int64_t data_align;
    uint64_t changed;
    unsigned pushes;
    bool is_done;
};

static inline struct usual usual_of(const struct sw_cfi_machine *m)
{
    return (struct usual){ .rule = m->rule,
                           .numbers = sw_dwarf_numbers[m->cfi->machine],
                           .left = m->pc - m->at,
                           .code_align = m->code_align,
                           .data_align = m->data_align,
                           .changed = m->changed,
                           .pushes = m->pushes };
}

static inline void give_back(const struct usual *u, struct sw_cfi_machine *m)
{
    m->at = m->pc - u->left;
    m->changed = u->changed;
    m->pushes = u->pushes;
    m->is_done = u->is_done;
}

/* Each answers how many bytes the instruction has, 0 for "the row ends here", or "not one of these": then nothing
 * happened. */

static inline unsigned advance(struct usual *u, uint8_t opcode)
{
    const uint64_t by = (opcode & LOW) * u->code_align;
    if (by > u->left) {
        u->is_done = true;
        return 0;
    }
    u->left -= by;
    return 1;
}

static inline unsigned place(struct usual *u, uint8_t opcode, uint8_t by)
{
    const unsigned one_more = u->numbers[opcode & LOW];
    if (one_more == 0 || by >= SMALL)
        return 0;
    u->changed |= UINT64_C(1) << (one_more - 1);
    u->rule->r[one_more - 1] = (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, (int32_t)(by * u->data_align) };
    return 2;
}

/* The CFA's other part stays: there must be one. */
static inline unsigned move_cfa(struct usual *u, uint8_t off)
{
    struct sw_loc *cfa = &u->rule->cfa;
    if (off >= SMALL || cfa->kind != SW_LOC_REG)
        return 0;
    u->pushes += off == (int64_t)cfa->off + SW_CFI_WORD;
    cfa->off = off;
    return 2;
}

static inline unsigned turn_cfa(struct usual *u, uint8_t dwarf)
{
    const unsigned one_more = dwarf < SW_DWARF_REGS ? u->numbers[dwarf] : 0;
    if (one_more == 0 || u->rule->cfa.kind != SW_LOC_REG)
        return 0;
    u->rule->cfa.reg = (uint8_t)(one_more - 1);
    return 2;
}

static inline unsigned one(struct usual *u, const uint8_t *at)
{
    if (at[0] >= OFFSET)
        return at[0] < RESTORE ? place(u, at[0], at[1]) : 0;
    if (at[0] >= ADVANCE)
        return advance(u, at[0]);
    if (at[0] == DEF_CFA_OFFSET)
        return move_cfa(u, at[1]);
    if (at[0] == DEF_CFA_REGISTER)
        return turn_cfa(u, at[1]);
    if (at[0] == DEF_CFA && at[2] < SMALL && turn_cfa(u, at[1]))
        return 1 + move_cfa(u, at[2]);
    return at[0] == NOP;
}

const uint8_t *sw_cfi_run_usual(struct sw_cfi_machine *m, const uint8_t *at, const uint8_t *end)
{
    enum { MOST = INT32_MAX / SMALL }; /* with it no offset leaves its type */
    if (m->data_align > MOST || m->data_align < -MOST)
        return at;
    struct usual u = usual_of(m);
    for (unsigned size = 1; size != 0 && end - at >= LONGEST; at += size)
        size = one(&u, at);
    while (at < end && at[0] == NOP && !u.is_done)
        at++;
    give_back(&u, m);
    return at;
}
