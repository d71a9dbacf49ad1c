/*
 * Runs the instructions of a CIE or an FDE up to a pc. Instructions are rows (opcode -> operands, action). Knows
 * nothing of memory, of how the FDE was found, or of what a finished row means. Signing of return addresses (ARM64) is
 * read and not kept: whoever applies the rule strips every code address.
 * Source: DWARF 5 section 6.4.2; AADWARF64; dwarf-cfi.md sections 2 and 6.
 */
#include "cfi/machine.h"

#include "base/expr.h"

/* How an operand is stored and what it counts. */
enum operand {
    NONE = 0,
    LOW, /* the opcode's own low 6 bits */
    U1,
    U2,
    U4,
    U8,
    ULEB,
    SLEB,
    SCALED,   /* uleb * data_align */
    SCALED_S, /* sleb * data_align */
    NEGATED,  /* uleb * -data_align */
    ADDRESS,  /* as the FDE's */
    BLOCK     /* length, expression */
};

enum action {
    UNKNOWN = 0,
    NOTHING,
    ADVANCE, /* by first operand * code_align */
    SET_PC,  /* to the first operand */
    LOCATE,  /* the register gets the location kind `kind` at the second operand */
    LOCATE_BLOCK /* the register gets the expression kind `kind` */,
    COPY,    /* the register is in the register of the second operand */
    RESTORE, /* the register's rule of the CIE */
    REMEMBER,
    RECALL,
    CFA, /* both parts */
    CFA_REG,
    CFA_OFF,
    CFA_BLOCK
};

/* only: the machine that has this instruction, or NONE. */
struct row {
    uint8_t action;
    uint8_t first;
    uint8_t second;
    uint8_t kind;
    uint8_t only;
};

/* By the top two bits. */
static const struct row packed[4] = {
    [1] = { ADVANCE, LOW, NONE, 0, 0 },              /* advance_loc */
    [2] = { LOCATE, LOW, SCALED, SW_LOC_AT_CFA, 0 }, /* offset */
    [3] = { RESTORE, LOW, NONE, 0, 0 },              /* restore */
};

static const struct row rows[0x40] = {
    [0x00] = { NOTHING, NONE, NONE, 0, 0 },                    /* nop */
    [0x01] = { SET_PC, ADDRESS, NONE, 0, 0 },                  /* set_loc */
    [0x02] = { ADVANCE, U1, NONE, 0, 0 },                      /* advance_loc1 */
    [0x03] = { ADVANCE, U2, NONE, 0, 0 },                      /* advance_loc2 */
    [0x04] = { ADVANCE, U4, NONE, 0, 0 },                      /* advance_loc4 */
    [0x05] = { LOCATE, ULEB, SCALED, SW_LOC_AT_CFA, 0 },       /* offset_extended */
    [0x06] = { RESTORE, ULEB, NONE, 0, 0 },                    /* restore_extended */
    [0x07] = { LOCATE, ULEB, NONE, SW_LOC_UNKNOWN, 0 },        /* undefined */
    [0x08] = { LOCATE, ULEB, NONE, SW_LOC_SAME, 0 },           /* same_value */
    [0x09] = { COPY, ULEB, ULEB, 0, 0 },                       /* register */
    [0x0a] = { REMEMBER, NONE, NONE, 0, 0 },                   /* remember_state */
    [0x0b] = { RECALL, NONE, NONE, 0, 0 },                     /* restore_state */
    [0x0c] = { CFA, ULEB, ULEB, 0, 0 },                        /* def_cfa */
    [0x0d] = { CFA_REG, ULEB, NONE, 0, 0 },                    /* def_cfa_register */
    [0x0e] = { CFA_OFF, NONE, ULEB, 0, 0 },                    /* def_cfa_offset */
    [0x0f] = { CFA_BLOCK, NONE, BLOCK, SW_LOC_EXPR, 0 },       /* def_cfa_expression */
    [0x10] = { LOCATE_BLOCK, ULEB, BLOCK, SW_LOC_AT_EXPR, 0 }, /* expression */
    [0x11] = { LOCATE, ULEB, SCALED_S, SW_LOC_AT_CFA, 0 },     /* offset_extended_sf */
    [0x12] = { CFA, ULEB, SCALED_S, 0, 0 },                    /* def_cfa_sf */
    [0x13] = { CFA_OFF, NONE, SCALED_S, 0, 0 },                /* def_cfa_offset_sf */
    [0x14] = { LOCATE, ULEB, SCALED, SW_LOC_CFA, 0 },          /* val_offset */
    [0x15] = { LOCATE, ULEB, SCALED_S, SW_LOC_CFA, 0 },        /* val_offset_sf */
    [0x16] = { LOCATE_BLOCK, ULEB, BLOCK, SW_LOC_EXPR, 0 },    /* val_expression */
    [0x1d] = { ADVANCE, U8, NONE, 0, 0 },                      /* MIPS_advance_loc8 */
    [0x2b] = { NOTHING, ULEB, SLEB, 0, SW_MACHINE_ARM64 },     /* AARCH64_set_ra_state */
    [0x2c] = { NOTHING, NONE, NONE, 0, SW_MACHINE_ARM64 },     /* AARCH64_negate_ra_state_with_pc */
    [0x2d] = { NOTHING, NONE, NONE, 0, SW_MACHINE_ARM64 },     /* AARCH64_negate_ra_state */
    [0x2e] = { NOTHING, ULEB, NONE, 0, 0 },                    /* GNU_args_size */
    [0x2f] = { LOCATE, ULEB, NEGATED, SW_LOC_AT_CFA, 0 },      /* GNU_negative_offset_extended */
};

/* An instruction with its operands: numbers, or a second one that is an expression. */
struct insn {
    const struct row *row;
    uint64_t first;
    int64_t second;
    struct sw_cursor block;
};

/* A product that leaves 32 bits is no offset of a frame: kept out of range, for the check that follows. */
static int64_t scale(int64_t number, int64_t align)
{
    return sw_fits_i32(number) ? number * align : INT64_MAX;
}

static int64_t read_number(struct sw_cursor *c, uint8_t operand, int64_t align)
{
    switch (operand) {
    case ULEB: /* producers write negative offsets as unsigned ones of 64 bits */
        return (int64_t)sw_cursor_uleb(c);
    case SLEB:
        return sw_cursor_sleb(c);
    case SCALED:
        return scale((int64_t)sw_cursor_uleb(c), align);
    case SCALED_S:
        return scale(sw_cursor_sleb(c), align);
    case NEGATED:
        return scale((int64_t)sw_cursor_uleb(c), -align);
    default:
        return 0;
    }
}

static enum sw_status read_first(const struct sw_cfi_machine *m, struct sw_cursor *c, uint8_t opcode, struct insn *insn)
{
    static const uint8_t widths[] = { [U1] = 1, [U2] = 2, [U4] = 4, [U8] = 8 };
    const struct sw_pointer_bases bases = { m->cfi->bias, 0, m->fde->begin };
    switch (insn->row->first) {
    case LOW:
        insn->first = opcode & 0x3f;
        return SW_OK;
    case U1:
    case U2:
    case U4:
    case U8:
        insn->first = sw_cursor_u(c, widths[insn->row->first]);
        return SW_OK;
    case ULEB:
        insn->first = sw_cursor_uleb(c);
        return SW_OK;
    case ADDRESS:
        return sw_pointer_read(c, m->fde->cie.encoding, &bases, &insn->first);
    default:
        return SW_OK;
    }
}

static enum sw_status read_insn(const struct sw_cfi_machine *m, struct sw_cursor *c, struct insn *insn)
{
    const uint8_t opcode = (uint8_t)sw_cursor_u(c, 1);
    const struct row *row = opcode >> 6 ? &packed[opcode >> 6] : &rows[opcode];
    *insn = (struct insn){ .row = row };
    if (row->action == UNKNOWN || (row->only && row->only != m->cfi->machine))
        return SW_E_UNSUPPORTED;
    const enum sw_status status = read_first(m, c, opcode, insn);
    if (status != SW_OK)
        return status;
    if (row->second == BLOCK)
        insn->block = sw_cursor_split(c, sw_cursor_uleb(c));
    else
        insn->second = read_number(c, row->second, m->data_align);
    return sw_cursor_ok(c) ? SW_OK : SW_E_TRUNCATED;
}

/* A row holds from its address up to the next one: where that passes pc, the row that is there is the answer. */
static enum sw_status move_to(struct sw_cfi_machine *m, uint64_t to)
{
    if (!m->initial)
        return SW_E_MALFORMED; /* a CIE has no addresses */
    if (to > m->pc)
        m->is_done = true;
    else
        m->at = to;
    return SW_OK;
}

static enum sw_status advance(struct sw_cfi_machine *m, uint64_t count)
{
    uint64_t to;
    const uint64_t align = m->code_align;
    if (count > UINT32_MAX || !sw_add_u64(m->at, count * align, &to))
        to = UINT64_MAX;
    return move_to(m, to);
}

static enum sw_status set_offset(struct sw_loc *loc, int64_t off)
{
    loc->off = sw_fits_i32(off) ? (int32_t)off : 0;
    return sw_fits_i32(off) ? SW_OK : SW_E_LIMIT;
}

static void place(struct sw_cfi_machine *m, unsigned number, struct sw_loc loc)
{
    m->changed |= UINT64_C(1) << number;
    m->rule->r[number] = loc;
}

/* Rules of registers that are none of ours are read, and that is all. */
static enum sw_status locate(struct sw_cfi_machine *m, const struct insn *insn)
{
    struct sw_loc loc = { .kind = insn->row->kind };
    const unsigned number = sw_dwarf_reg(m->cfi->machine, insn->first);
    if (number == SW_REGS_MAX)
        return SW_OK;
    const enum sw_status status = set_offset(&loc, insn->second);
    place(m, number, loc);
    return status;
}

static enum sw_status locate_copy(struct sw_cfi_machine *m, const struct insn *insn)
{
    const unsigned number = sw_dwarf_reg(m->cfi->machine, insn->first);
    const unsigned from = insn->second >= 0 ? sw_dwarf_reg(m->cfi->machine, (uint64_t)insn->second) : SW_REGS_MAX;
    if (number == SW_REGS_MAX)
        return SW_OK;
    if (from != SW_REGS_MAX) {
        place(m, number, (struct sw_loc){ SW_LOC_REG, (uint8_t)from, 0, 0 });
        return SW_OK;
    }
    place(m, number, (struct sw_loc){ 0 });
    return number == m->ra ? SW_E_UNSUPPORTED : SW_OK; /* must not be taken for the end of the stack */
}

/* The expression's place, counted from the section's first byte. */
static enum sw_status block_location(struct sw_cfi_machine *m, const struct insn *insn, struct sw_loc *loc)
{
    m->has_block = true;
    const uint64_t size = sw_cursor_left(&insn->block);
    const int64_t off = insn->block.at - m->cfi->frame.bytes;
    *loc = (struct sw_loc){ insn->row->kind, 0, (uint16_t)size, (int32_t)off };
    return size <= UINT16_MAX && sw_fits_i32(off) ? SW_OK : SW_E_LIMIT;
}

static enum sw_status locate_block(struct sw_cfi_machine *m, const struct insn *insn)
{
    struct sw_loc loc;
    const unsigned number = sw_dwarf_reg(m->cfi->machine, insn->first);
    if (number == SW_REGS_MAX)
        return SW_OK;
    const enum sw_status status = block_location(m, insn, &loc);
    if (status == SW_OK)
        place(m, number, loc);
    return status;
}

static struct sw_loc initial_of(const struct sw_cfi_machine *m, unsigned number)
{
    return number == m->ra ? m->initial_ra : m->initial[number];
}

static enum sw_status restore(struct sw_cfi_machine *m, uint64_t dwarf)
{
    const unsigned number = sw_dwarf_reg(m->cfi->machine, dwarf);
    if (!m->initial)
        return SW_E_MALFORMED;
    if (number != SW_REGS_MAX)
        m->rule->r[number] = initial_of(m, number);
    return SW_OK;
}

/* Of a row only what differs from the CIE's is kept. */
static enum sw_status remember(struct sw_cfi_machine *m)
{
    if (m->depth == sizeof m->work->kept / sizeof m->work->kept[0])
        return SW_E_LIMIT;
    struct sw_cfi_kept *kept = &m->work->kept[m->depth++];
    kept->cfa = m->rule->cfa;
    kept->changed = m->changed;
    for (uint64_t rest = m->changed; rest != 0; rest &= rest - 1)
        kept->r[__builtin_ctzll(rest)] = m->rule->r[__builtin_ctzll(rest)];
    return SW_OK;
}

static enum sw_status recall(struct sw_cfi_machine *m)
{
    if (m->depth == 0)
        return SW_E_MALFORMED;
    const struct sw_cfi_kept *kept = &m->work->kept[--m->depth];
    m->rule->cfa = kept->cfa;
    for (uint64_t rest = m->changed; rest != 0; rest &= rest - 1) {
        const unsigned number = (unsigned)__builtin_ctzll(rest);
        m->rule->r[number] = kept->changed >> number & 1 ? kept->r[number] : initial_of(m, number);
    }
    return SW_OK;
}

/* def_cfa_register and def_cfa_offset keep the other part: there must be one. */
static enum sw_status define_cfa(struct sw_cfi_machine *m, const struct insn *insn)
{
    struct sw_loc *cfa = &m->rule->cfa;
    if (insn->row->action != CFA && cfa->kind != SW_LOC_REG)
        return SW_E_MALFORMED;
    cfa->kind = SW_LOC_REG;
    if (insn->row->action != CFA_OFF) {
        const unsigned number = sw_dwarf_reg(m->cfi->machine, insn->first);
        if (number == SW_REGS_MAX)
            return SW_E_UNSUPPORTED;
        cfa->reg = (uint8_t)number;
    }
    if (insn->row->action == CFA_REG)
        return SW_OK;
    const int32_t before = cfa->off;
    const enum sw_status status = set_offset(cfa, insn->second);
    m->pushes += m->initial && cfa->off == (int64_t)before + SW_CFI_WORD;
    return status;
}

static enum sw_status do_insn(struct sw_cfi_machine *m, const struct insn *insn)
{
    const uint8_t action = (uint8_t)insn->row->action;
    switch (action) {
    case ADVANCE:
        return advance(m, insn->first);
    case SET_PC:
        return move_to(m, insn->first);
    case LOCATE:
        return locate(m, insn);
    case LOCATE_BLOCK:
        return locate_block(m, insn);
    case COPY:
        return locate_copy(m, insn);
    case RESTORE:
        return restore(m, insn->first);
    case REMEMBER:
        return remember(m);
    case RECALL:
        return recall(m);
    case CFA:
    case CFA_REG:
    case CFA_OFF:
        return define_cfa(m, insn);
    case CFA_BLOCK:
        return block_location(m, insn, &m->rule->cfa);
    default:
        return SW_OK;
    }
}

enum sw_status sw_cfi_run(struct sw_cfi_machine *m, const struct sw_cursor *program)
{
    const uint8_t *at = program->at;
    struct insn insn;
    while (!m->is_done && at != program->end) {
        struct sw_cursor c = { at, program->end, program->address + (uint64_t)(at - program->at), false };
        enum sw_status status = read_insn(m, &c, &insn);
        if (status == SW_OK)
            status = do_insn(m, &insn);
        if (status != SW_OK)
            return status;
        at = m->initial && !m->is_done ? sw_cfi_run_usual(m, c.at, program->end) : c.at;
    }
    return SW_OK;
}
