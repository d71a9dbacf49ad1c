/*
 * Decoded x64 instructions → effects: what each operation means for registers and stack, one row an operation. An
 * operation without a row goes through `generic`: it clobbers the registers and loses the memory that it writes. Knows
 * neither encodings nor functions, paths or unwinding. Source: Intel SDM vol. 2; SysV AMD64 psABI (the registers that a
 * call does not preserve).
 */
#include "arch/x64/decode_insn.h"

enum { RSP = SW_X64_RSP, RBP = SW_X64_RBP, RIP = SW_X64_RIP, WORD = 8 };

/* rax rcx rdx rsi rdi r8-r11: what a SysV call may change. */
#define VOLATILE_MASK INT64_C(0x0fc7)

static void emit(struct sw_insn *insn, enum sw_effect_kind kind, unsigned dst, unsigned src, int64_t imm)
{
    if (insn->count < SW_EFFECTS_MAX)
        insn->effects[insn->count++] = (struct sw_effect){ (uint8_t)kind, (uint8_t)dst, (uint8_t)src, WORD, imm };
}

static void set_size(struct sw_insn *insn, unsigned size)
{
    insn->effects[insn->count - 1].size = (uint16_t)size;
}

/* ---- what operands are ---- */

/* The general register that the operand is, whole or in part, else SW_NOREG. */
static unsigned number(const struct sw_x64_operand *op)
{
    return op->kind == SW_X64_REG ? op->reg : SW_NOREG;
}

/* The number of a 64-bit general register, else SW_NOREG. */
static unsigned reg64(const struct sw_x64_operand *op)
{
    return op->size == WORD ? number(op) : SW_NOREG;
}

/* The number of a general register whose upper half is written too, else SW_NOREG. */
static unsigned reg32or64(const struct sw_x64_operand *op)
{
    return op->size >= 4 ? number(op) : SW_NOREG;
}

static bool is_imm(const struct sw_x64_operand *op)
{
    return op->kind == SW_X64_IMM;
}

/* [base + disp] with a 64-bit general register: no index, no fixed address, no fs and gs. */
static bool is_plain(const struct sw_x64_memory *m)
{
    return m->base < RIP && m->index == SW_NOREG && !m->segment && !m->narrow;
}

static bool is_plain_operand(const struct sw_x64_decoded *d, const struct sw_x64_operand *op)
{
    return op->kind == SW_X64_MEM && is_plain(&d->memory);
}

static uint64_t behind(const struct sw_x64_decoded *d)
{
    return d->pc + d->length;
}

/* The address of a rip-relative operand, or 0. */
static uint64_t rip_address(const struct sw_x64_decoded *d, const struct sw_x64_operand *op)
{
    const bool relative = op->kind == SW_X64_MEM && d->memory.base == RIP && !d->memory.narrow;
    return relative ? behind(d) + (uint64_t)d->memory.disp : 0;
}

static uint64_t direct_target(const struct sw_x64_decoded *d)
{
    return is_imm(&d->to) ? behind(d) + (uint64_t)d->imm : 0;
}

/* ---- what operations mean ---- */

/* What every instruction without a row does: lose what it writes. */
static void generic(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    if (d->stores && is_plain(&d->memory)) {
        emit(insn, SW_EFFECT_STORE, d->memory.base, SW_NOREG, d->memory.disp);
        set_size(insn, d->memory.size);
    }
    if (d->writes)
        emit(insn, SW_EFFECT_CLOBBER, SW_NOREG, SW_NOREG, d->writes);
}

static void do_push(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    emit(insn, SW_EFFECT_STORE, RSP, d->width == WORD ? reg64(&d->to) : SW_NOREG, -(int64_t)d->width);
    emit(insn, SW_EFFECT_SET, RSP, RSP, -(int64_t)d->width);
}

static void do_pop(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    const unsigned dst = d->width == WORD ? reg64(&d->to) : SW_NOREG;
    if (dst != SW_NOREG)
        emit(insn, SW_EFFECT_LOAD, dst, RSP, 0);
    if (dst != RSP)
        emit(insn, SW_EFFECT_SET, RSP, RSP, d->width);
}

/* [base + index * size + disp], or [index * size + disp]: an element of a table of words of that size. */
static bool element(const struct sw_x64_decoded *d, const struct sw_x64_operand *op, unsigned dst, unsigned size,
                    struct sw_insn *insn)
{
    const struct sw_x64_memory *m = &d->memory;
    if (op->kind != SW_X64_MEM || m->index == SW_NOREG || m->scale != (size & 0xff) || m->segment)
        return false;
    if (m->base == SW_NOREG && m->disp > 0) { /* at a fixed address */
        emit(insn, SW_EFFECT_NEAR, dst, SW_NOREG, m->disp - (int64_t)d->pc);
        emit(insn, SW_EFFECT_ELEMENT, dst, dst, 0);
    } else {
        emit(insn, SW_EFFECT_ELEMENT, dst, m->base, m->disp);
    }
    set_size(insn, size);
    return true;
}

static void do_movsxd(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    const unsigned dst = reg64(&d->to);
    if (dst == SW_NOREG || !element(d, &d->from, dst, 4, insn))
        generic(d, insn);
}

/* A 32- or 64-bit load of a table's element into a register. */
static bool load_element(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    const unsigned dst = reg32or64(&d->to);
    return dst != SW_NOREG && element(d, &d->from, dst, d->to.size == 4 ? 4 | SW_ELEMENT_UNSIGNED : 8, insn);
}

static void do_mov(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    const unsigned dst = reg64(&d->to), src = reg64(&d->from);
    if (dst != SW_NOREG && src != SW_NOREG)
        emit(insn, SW_EFFECT_SET, dst, src, 0);
    else if (is_imm(&d->from) && reg32or64(&d->to) != SW_NOREG)
        emit(insn, SW_EFFECT_CONST, d->to.reg, SW_NOREG, d->to.size == 4 ? (int64_t)(uint32_t)d->imm : d->imm);
    else if (dst != SW_NOREG && is_plain_operand(d, &d->from))
        emit(insn, SW_EFFECT_LOAD, dst, d->memory.base, d->memory.disp);
    else if (src != SW_NOREG && is_plain_operand(d, &d->to))
        emit(insn, SW_EFFECT_STORE, d->memory.base, src, d->memory.disp);
    else if (!load_element(d, insn))
        generic(d, insn);
}

/* lea makes an address and does not use it, so the segment does not matter. */
static void do_lea(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    const unsigned dst = reg64(&d->to);
    const struct sw_x64_memory *m = &d->memory;
    const uint64_t absolute = rip_address(d, &d->from);
    if (dst != SW_NOREG && absolute)
        emit(insn, SW_EFFECT_NEAR, dst, SW_NOREG, (int64_t)(absolute - d->pc));
    else if (dst != SW_NOREG && m->index == SW_NOREG && m->base < RIP && !m->narrow)
        emit(insn, SW_EFFECT_SET, dst, m->base, m->disp);
    else
        generic(d, insn);
}

static void add_or_sub(const struct sw_x64_decoded *d, struct sw_insn *insn, int sign)
{
    const unsigned dst = reg64(&d->to), src = reg64(&d->from);
    if (dst != SW_NOREG && is_imm(&d->from) && d->imm != INT64_MIN)
        emit(insn, SW_EFFECT_SET, dst, dst, sign * d->imm);
    else if (dst != SW_NOREG && src != SW_NOREG && src != dst)
        emit(insn, SW_EFFECT_ADD, dst, src, sign);
    else
        generic(d, insn);
}

static void do_add(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    add_or_sub(d, insn, 1);
}

static void do_sub(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    add_or_sub(d, insn, -1);
}

static void do_and(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    if (reg64(&d->to) != SW_NOREG && is_imm(&d->from) && d->imm < 0)
        emit(insn, SW_EFFECT_ALIGN, d->to.reg, SW_NOREG, d->imm);
    else
        generic(d, insn);
}

static void do_xor(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    const unsigned dst = reg32or64(&d->to);
    if (dst != SW_NOREG && dst == number(&d->from))
        emit(insn, SW_EFFECT_CONST, dst, SW_NOREG, 0);
    else
        generic(d, insn);
}

/* Both operands are 64-bit registers. */
static void do_xchg(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    const unsigned a = reg64(&d->to), b = reg64(&d->from);
    if (a == SW_NOREG || b == SW_NOREG)
        generic(d, insn);
    else if (a != b)
        emit(insn, SW_EFFECT_SWAP, a, b, 0);
}

/*
 * `or [rsp], 0` is a stack probe: it changes nothing. Nor does what is ORed into sp: clang's hardening of loads
 * (-mspeculative-load-hardening) puts 0 there, and ones where the processor speculates wrongly.
 */
static void do_or(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    const bool is_sp = reg64(&d->to) == RSP && reg64(&d->from) != SW_NOREG;
    if (!is_sp && (!is_imm(&d->from) || d->imm != 0))
        generic(d, insn);
}

static void do_cmp(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    const unsigned a = reg64(&d->to), b = reg64(&d->from);
    if (a != SW_NOREG && b != SW_NOREG)
        emit(insn, SW_EFFECT_COMPARE, a, b, 0);
    else if (is_imm(&d->from))
        emit(insn, SW_EFFECT_COMPARE, number(&d->to), SW_NOREG, d->imm);
}

static void do_inc(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    if (reg64(&d->to) == SW_NOREG)
        generic(d, insn);
    else
        emit(insn, SW_EFFECT_SET, d->to.reg, d->to.reg, 1);
}

static void do_dec(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    if (reg64(&d->to) == SW_NOREG)
        generic(d, insn);
    else
        emit(insn, SW_EFFECT_SET, d->to.reg, d->to.reg, -1);
}

static void do_leave(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    (void)d;
    emit(insn, SW_EFFECT_SET, RSP, RBP, 0);
    emit(insn, SW_EFFECT_LOAD, RBP, RSP, 0);
    emit(insn, SW_EFFECT_SET, RSP, RSP, WORD);
}

static void do_enter(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    emit(insn, SW_EFFECT_STORE, RSP, RBP, -WORD);
    emit(insn, SW_EFFECT_SET, RBP, RSP, -WORD);
    emit(insn, SW_EFFECT_SET, RSP, RSP, -WORD - d->imm);
    if (d->nested)
        emit(insn, SW_EFFECT_CLOBBER, SW_NOREG, SW_NOREG, INT64_C(1) << RSP);
}

static void do_ret(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    emit(insn, SW_EFFECT_LOAD, RIP, RSP, 0);
    emit(insn, SW_EFFECT_SET, RSP, RSP, WORD + (is_imm(&d->to) ? d->imm & 0xffff : 0));
    insn->flow = SW_FLOW_RETURN;
}

static void do_iret(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    (void)d;
    emit(insn, SW_EFFECT_LOAD, RIP, RSP, 0);
    emit(insn, SW_EFFECT_LOAD, RSP, RSP, 24);
    insn->flow = SW_FLOW_RETURN;
}

static void do_call(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    insn->target = direct_target(d);
    insn->slot = rip_address(d, &d->to);
    if (insn->target == behind(d)) { /* call +0; pop reg: reads pc, so it only pushes */
        emit(insn, SW_EFFECT_STORE, RSP, SW_NOREG, -WORD);
        emit(insn, SW_EFFECT_SET, RSP, RSP, -WORD);
        insn->target = 0;
        return;
    }
    insn->flow = SW_FLOW_CALL;
    emit(insn, SW_EFFECT_CLOBBER, SW_NOREG, SW_NOREG, VOLATILE_MASK);
}

static void do_jmp(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    insn->target = direct_target(d);
    insn->slot = rip_address(d, &d->to);
    insn->flow = insn->target ? SW_FLOW_JUMP : SW_FLOW_INDIRECT;
    if (insn->flow == SW_FLOW_INDIRECT && reg64(&d->to) != SW_NOREG)
        emit(insn, SW_EFFECT_SET, RIP, d->to.reg, 0);
    else if (insn->flow == SW_FLOW_INDIRECT)
        (void)element(d, &d->to, RIP, 8, insn);
}

static void do_branch(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    insn->target = direct_target(d);
    insn->flow = SW_FLOW_BRANCH;
    insn->when = d->when;
    generic(d, insn); /* loop counts rcx */
}

static void do_trap(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    (void)d;
    insn->flow = SW_FLOW_TRAP;
}

/* int 0x29 is Windows' fail-fast; all others return. */
static void do_int(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    if ((uint8_t)d->imm == 0x29)
        insn->flow = SW_FLOW_TRAP;
    else
        generic(d, insn);
}

/* ORDER sw_x64_op */
typedef void action(const struct sw_x64_decoded *d, struct sw_insn *insn);
/* clang-format off */
static action *const actions[SW_X64_OPS] = {
    [SW_X64_OTHER]  = generic,    [SW_X64_MOV]    = do_mov,     [SW_X64_MOVSXD] = do_movsxd,
    [SW_X64_LEA]    = do_lea,     [SW_X64_PUSH]   = do_push,    [SW_X64_POP]    = do_pop,
    [SW_X64_ADD]    = do_add,     [SW_X64_SUB]    = do_sub,     [SW_X64_AND]    = do_and,
    [SW_X64_OR]     = do_or,      [SW_X64_XOR]    = do_xor,     [SW_X64_CMP]    = do_cmp,
    [SW_X64_XCHG]   = do_xchg,    [SW_X64_INC]    = do_inc,     [SW_X64_DEC]    = do_dec,
    [SW_X64_LEAVE]  = do_leave,   [SW_X64_ENTER]  = do_enter,   [SW_X64_RET]    = do_ret,
    [SW_X64_IRET]   = do_iret,    [SW_X64_CALL]   = do_call,    [SW_X64_JMP]    = do_jmp,
    [SW_X64_BRANCH] = do_branch,  [SW_X64_TRAP]   = do_trap,    [SW_X64_INT]    = do_int,
};
/* clang-format on */

void sw_x64_effects(const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    insn->length = d->length;
    insn->flow = SW_FLOW_NEXT;
    insn->when = SW_WHEN_ANY;
    insn->count = 0;
    insn->target = 0;
    insn->slot = 0;
    actions[d->op](d, insn);
}
