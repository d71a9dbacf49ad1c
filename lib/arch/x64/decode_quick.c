/*
 * The frequent encodings of x64 instructions, read by the tables of decode_opcodes.c: prefixes, opcode, ModRM, SIB,
 * displacement, immediate. Answers only where it is certain; Zydis decodes all others. Says where operands are and what
 * is written, not what that means. Source: Intel SDM vol. 2, chapter 2.
 */
#include "arch/x64/decode_opcodes.h"

#include <string.h>

/* With at most so many prefixes, and REX, no row is longer than an instruction may be. */
enum { PREFIXES_MAX = 3, LENGTH_MAX = 15 };

enum { MANDATORY = HAS_66 | HAS_F3 | HAS_F2, REPEATS = HAS_F3 | HAS_F2 };
enum { REX_W = 8 };

struct cursor {
    const uint8_t *at;
    uint8_t has;
    uint8_t rex;
    uint8_t opcode;
    uint8_t modrm;
    uint8_t vex; /* with HAS_VEX, its last byte: W vvvv L pp */
};

/* ---- bytes; little-endian, read in one piece where the compiler can ---- */

static uint32_t word(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static int64_t take8(struct cursor *c)
{
    return (int8_t)*c->at++;
}

static int64_t take16(struct cursor *c)
{
    c->at += 2;
    return (int16_t)(c->at[-2] | c->at[-1] << 8);
}

static int64_t take32(struct cursor *c)
{
    c->at += 4;
    return (int32_t)word(c->at - 4);
}

static int64_t take64(struct cursor *c)
{
    c->at += 8;
    return (int64_t)(word(c->at - 8) | (uint64_t)word(c->at - 4) << 32);
}

/* ---- prefixes and opcode ---- */

static const struct sw_x64_row unknown = { 0 };

static const struct sw_x64_row *take_byte(struct cursor *c)
{
    c->opcode = *c->at++;
    return &sw_x64_one_byte[c->opcode];
}

/* The unknown row where there are more prefixes than are read here, or two of one kind. */
static const struct sw_x64_row *take_prefixes(struct cursor *c, const struct sw_x64_row *row)
{
    for (unsigned n = 0; n < PREFIXES_MAX; n++) {
        if (c->has & row->imm & ~(unsigned)HAS_66)
            return &unknown;
        c->has |= row->imm;
        row = take_byte(c);
        if (row->to != AT_PREFIX)
            return row;
    }
    return &unknown;
}

/* F2 and F3 are part of the opcode here and mean nothing else; 66 is too, but may also be the operands' size. */
static const struct sw_x64_row *take_two_byte(struct cursor *c)
{
    static const uint8_t planes[MANDATORY + 1] = { [HAS_66] = PLANE_66, [HAS_F3] = PLANE_F3, [HAS_F2] = PLANE_F2 };
    const unsigned mandatory = c->has & MANDATORY;
    c->opcode = *c->at++;
    c->has &= (uint8_t)~REPEATS;
    return mandatory & (mandatory - 1) ? &unknown : &sw_x64_two_byte[planes[mandatory]][c->opcode];
}

/* VEX holds the bits of REX and vvvv inverted. With prefixes that it does not replace the tables do not answer. */
static const struct sw_x64_row *take_vex(struct cursor *c, bool three)
{
    if (c->has || c->rex || (three && (*c->at & 0x1f) != 1))
        return &unknown;
    c->rex = (uint8_t)(~*c->at >> 5 & (three ? 7 : 4));
    if (three)
        c->rex |= (uint8_t)(*++c->at >> 4 & REX_W);
    c->has = HAS_VEX;
    c->vex = *c->at++;
    c->opcode = *c->at++;
    return &sw_x64_vex[c->vex & 3][c->opcode];
}

/* The row by prefixes, REX and opcode, and by ModRM where the opcode is a group's. */
static const struct sw_x64_row *take_row(struct cursor *c)
{
    const struct sw_x64_row *row = take_byte(c);
    if (row->to == AT_PREFIX)
        row = take_prefixes(c, row);
    if (row->to == AT_REX) {
        c->rex = c->opcode;
        row = take_byte(c);
    }
    if (row->to == AT_ESCAPE)
        row = take_two_byte(c);
    else if (row->to >= AT_VEX_2)
        row = take_vex(c, row->to == AT_VEX_3);
    return row->to == AT_GROUP ? &sw_x64_groups[row->imm][*c->at >> 3 & 7] : row;
}

static bool takes_prefixes(const struct sw_x64_row *row, const struct cursor *c)
{
    if ((row->flags & ROW_FIXED) && (c->has & HAS_66))
        return false;
    if ((c->has & HAS_F2) || ((c->has & HAS_F3) && !(row->flags & ROW_REP)))
        return false;
    return !(c->has & HAS_LOCK) || (row->flags & ROW_LOCK);
}

static bool takes_vex(const struct sw_x64_row *row, const struct cursor *c)
{
    if ((row->flags & ROW_L0) && (c->vex & 4))
        return false;
    return (row->flags & ROW_VVVV) || (c->vex & 0x78) == 0x78;
}

/* Whether the row is an instruction's, and allows the prefixes in front of its opcode. */
static bool is_answer(const struct sw_x64_row *row, const struct cursor *c)
{
    if (row->to == AT_UNKNOWN || row->to > AT_VREG)
        return false;
    if ((row->flags & ROW_NO_REX) && c->rex)
        return false;
    if (c->has == 0)
        return true;
    return c->has & HAS_VEX ? takes_vex(row, c) : takes_prefixes(row, c);
}

/* ---- operands ---- */

static bool is_memory(const struct cursor *c)
{
    return c->modrm < 0xc0;
}

/* A register's number: three bits, and one bit of REX, shifted to its place. */
enum { REX_R_TO_8 = 1, REX_X_TO_8 = 2, REX_B_TO_8 = 3 };
static uint8_t extended(const struct cursor *c, unsigned low, unsigned shift)
{
    return (uint8_t)((low & 7) | ((unsigned)c->rex << shift & 8));
}

static void take_sib(struct cursor *c, struct sw_x64_memory *m)
{
    const uint8_t sib = *c->at++;
    const uint8_t index = extended(c, sib >> 3, REX_X_TO_8);
    m->index = index == SW_X64_RSP ? SW_NOREG : index;
    m->scale = (uint8_t)(1u << (sib >> 6));
    m->base = extended(c, sib, REX_B_TO_8);
    m->disp = 0;
    if ((sib & 7) == SW_X64_RBP && c->modrm < 0x40) {
        m->base = SW_NOREG;
        m->disp = take32(c);
    }
}

static void take_memory(struct cursor *c, struct sw_x64_memory *m)
{
    *m = (struct sw_x64_memory){ .base = extended(c, c->modrm, REX_B_TO_8),
                                 .index = SW_NOREG,
                                 .segment = c->has & HAS_FS_GS };
    if ((c->modrm & 7) == SW_X64_RSP) {
        take_sib(c, m);
    } else if ((c->modrm & 0xc7) == SW_X64_RBP) {
        m->base = SW_X64_RIP;
        m->disp = take32(c);
    }
    if (c->modrm >= 0x80)
        m->disp = take32(c);
    else if (c->modrm >= 0x40)
        m->disp = take8(c);
}

/* False: the row does not allow what ModRM names. */
static bool take_modrm(const struct sw_x64_row *row, struct cursor *c, struct sw_x64_memory *m)
{
    if (row->to < AT_RM)
        return !(c->has & HAS_LOCK);
    c->modrm = *c->at++;
    if (is_memory(c) ? row->flags & ROW_REG : (row->flags & ROW_MEMORY) || (c->has & HAS_LOCK))
        return false;
    if (is_memory(c))
        take_memory(c, m);
    return true;
}

static uint8_t size_of(uint8_t size, const struct cursor *c)
{
    if (size == SIZE_L)
        return c->vex & 4 ? 32 : 16;
    if (size != SIZE_V && size != SIZE_Y)
        return size;
    if (c->rex & REX_W)
        return 8;
    return size == SIZE_V && (c->has & HAS_66) ? 2 : 4;
}

static void set(struct sw_x64_operand *op, enum sw_x64_kind kind, unsigned reg)
{
    op->kind = (uint8_t)kind;
    op->reg = (uint8_t)reg;
}

/* Without REX, the byte registers 4 to 7 are ah ch dh bh. */
static void set_general(struct sw_x64_operand *op, const struct cursor *c, unsigned number)
{
    set(op, SW_X64_REG, op->size == 1 && number >= 4 && !c->rex ? number - 4 : number);
}

static void find_operand(const struct cursor *c, uint8_t at, uint8_t size, struct sw_x64_operand *op)
{
    op->size = size;
    if (at == AT_NOTHING)
        set(op, SW_X64_NONE, SW_NOREG);
    else if (at == AT_IMM)
        set(op, SW_X64_IMM, SW_NOREG);
    else if (at == AT_REG)
        set_general(op, c, extended(c, c->modrm >> 3, REX_R_TO_8));
    else if ((at == AT_RM || at == AT_VRM) && is_memory(c))
        set(op, SW_X64_MEM, SW_NOREG);
    else if (at == AT_RM)
        set_general(op, c, extended(c, c->modrm, REX_B_TO_8));
    else if (at == AT_OPCODE)
        set_general(op, c, extended(c, c->opcode, REX_B_TO_8));
    else
        set(op, SW_X64_REG, at == AT_ACC ? SW_X64_RAX : SW_NOREG);
}

static int64_t take_imm(struct cursor *c, uint8_t imm, uint8_t size)
{
    switch (imm) {
    case IMM_8:
        return take8(c);
    case IMM_16:
        return take16(c);
    case IMM_32:
        return take32(c);
    case IMM_Z:
        return size == 2 ? take16(c) : take32(c);
    case IMM_V:
        return size == 8 ? take64(c) : size == 2 ? take16(c) : take32(c);
    default:
        return 0;
    }
}

/* ---- what is written ---- */

static void note_written(const struct sw_x64_operand *op, struct sw_x64_decoded *d)
{
    if (op->kind == SW_X64_MEM) {
        d->stores = true;
        d->memory.size = op->size;
    } else if (op->reg != SW_NOREG) {
        d->writes |= (uint16_t)(1u << op->reg);
    }
}

static uint8_t when_of(uint8_t opcode)
{
    static const uint8_t when[16] = {
        [2] = SW_WHEN_BELOW,     [3] = SW_WHEN_NOT_BELOW, [4] = SW_WHEN_EQUAL,
        [5] = SW_WHEN_DIFFERENT, [6] = SW_WHEN_NOT_ABOVE, [7] = SW_WHEN_ABOVE,
    };
    return when[opcode & 15];
}

static void fill(const struct sw_x64_row *row, struct cursor *c, struct sw_x64_decoded *d)
{
    const uint8_t size = size_of(row->size, c);
    d->op = row->op;
    d->when = row->op == SW_X64_BRANCH ? when_of(c->opcode) : SW_WHEN_ANY;
    d->width = 8;
    d->stores = d->nested = false;
    d->writes = row->implied;
    d->imm = row->imm == IMM_NONE ? 0 : take_imm(c, row->imm, size);
    if (row->op == SW_X64_OTHER && !(row->flags & ROW_WRITES))
        return; /* its operands do not matter */
    find_operand(c, row->to, size, &d->to);
    find_operand(c, row->from, size, &d->from);
    if (row->flags & ROW_WRITES)
        note_written(&d->to, d);
    if (row->flags & ROW_BOTH)
        note_written(&d->from, d);
}

/* At least LENGTH_MAX bytes. */
static bool answer(const uint8_t *bytes, uint64_t pc, struct sw_x64_decoded *d)
{
    struct cursor c = { .at = bytes };
    const struct sw_x64_row *row = take_row(&c);
    if (!is_answer(row, &c) || !take_modrm(row, &c, &d->memory))
        return false;
    fill(row, &c, d);
    d->pc = pc;
    d->length = (uint8_t)(c.at - bytes);
    return true;
}

/* Missing bytes are replaced by zeros; an instruction that reaches into them is not answered. */
static bool read_padded(const uint8_t *bytes, size_t size, uint64_t pc, struct sw_x64_decoded *d)
{
    uint8_t padded[LENGTH_MAX] = { 0 };
    memcpy(padded, bytes, size);
    return answer(padded, pc, d) && d->length <= size;
}

bool sw_x64_quick(const uint8_t *bytes, size_t size, uint64_t pc, struct sw_x64_decoded *d)
{
    return size < LENGTH_MAX ? read_padded(bytes, size, pc, d) : answer(bytes, pc, d);
}
