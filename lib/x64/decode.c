/*
 * x64 instructions → effects, by a table of mnemonics. Zydis says what an instruction reads and writes; the rows here
 * say what that means for the stack. Whatever has no row goes through `generic`: registers written are clobbered,
 * memory written is lost. Knows nothing of functions, paths or unwinding.
 */
#include "x64/x64.h"

#include <Zydis/Zydis.h>

enum { RSP = SW_X64_RSP, RBP = SW_X64_RBP, RIP = SW_X64_RIP, WORD = 8 };

/* rax rcx rdx rsi rdi r8-r11: what a SysV call may change. */
#define VOLATILE_MASK INT64_C(0x0fc7)

struct decoded {
    ZydisDecodedInstruction info;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    uint64_t pc;
};

static void emit(struct sw_insn *insn, enum sw_effect_kind kind, unsigned dst, unsigned src, int64_t imm)
{
    if (insn->count < SW_EFFECTS_MAX)
        insn->effects[insn->count++] = (struct sw_effect){ (uint8_t)kind, (uint8_t)dst, (uint8_t)src, WORD, imm };
}

static void emit_lost(struct sw_insn *insn, unsigned base, int64_t off, unsigned bytes)
{
    emit(insn, SW_EFFECT_STORE, base, SW_NOREG, off);
    insn->effects[insn->count - 1].size = (uint16_t)bytes;
}

/* The number of the general register that encloses a register, or SW_NOREG. */
static unsigned number(ZydisRegister reg)
{
    const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64)
        return SW_NOREG;
    return (unsigned)ZydisRegisterGetId(whole);
}

/* The number of a 64-bit register operand, else SW_NOREG. */
static unsigned reg64(const ZydisDecodedOperand *op)
{
    if (op->type != ZYDIS_OPERAND_TYPE_REGISTER || ZydisRegisterGetClass(op->reg.value) != ZYDIS_REGCLASS_GPR64)
        return SW_NOREG;
    return (unsigned)ZydisRegisterGetId(op->reg.value);
}

static bool is_imm(const ZydisDecodedOperand *op)
{
    return op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

/* [base + disp] on the stack segment or data: false for other forms (index, absolute, fs and gs). */
static bool plain_address(const ZydisDecodedOperand *op, unsigned *base, int64_t *disp)
{
    const ZydisDecodedOperandMem *mem = &op->mem;
    if (op->type != ZYDIS_OPERAND_TYPE_MEMORY || mem->index != ZYDIS_REGISTER_NONE)
        return false;
    if (mem->segment == ZYDIS_REGISTER_FS || mem->segment == ZYDIS_REGISTER_GS)
        return false;
    if (ZydisRegisterGetClass(mem->base) != ZYDIS_REGCLASS_GPR64)
        return false;
    *base = (unsigned)ZydisRegisterGetId(mem->base);
    *disp = mem->disp.has_displacement ? mem->disp.value : 0;
    return true;
}

/* The address of a rip-relative operand, or 0. */
static uint64_t rip_address(const struct decoded *d, const ZydisDecodedOperand *op)
{
    if (op->type != ZYDIS_OPERAND_TYPE_MEMORY || op->mem.base != ZYDIS_REGISTER_RIP ||
        op->mem.index != ZYDIS_REGISTER_NONE)
        return 0;
    return d->pc + d->info.length + (uint64_t)op->mem.disp.value;
}

/* What every instruction without a row does: lose what it writes. */
static void generic(const struct decoded *d, struct sw_insn *insn)
{
    int64_t clobbered = 0;
    for (unsigned i = 0; i < d->info.operand_count; i++) {
        const ZydisDecodedOperand *op = &d->operands[i];
        unsigned base;
        int64_t disp;
        if (!(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            continue;
        if (op->type == ZYDIS_OPERAND_TYPE_REGISTER && number(op->reg.value) != SW_NOREG)
            clobbered |= INT64_C(1) << number(op->reg.value);
        else if (plain_address(op, &base, &disp) && insn->count < SW_EFFECTS_MAX - 1)
            emit_lost(insn, base, disp, op->size / 8u);
    }
    if (clobbered)
        emit(insn, SW_EFFECT_CLOBBER, SW_NOREG, SW_NOREG, clobbered);
}

static void do_push(const struct decoded *d, struct sw_insn *insn)
{
    const int64_t size = d->info.operand_width == 16 ? 2 : WORD;
    const bool named = size == WORD && d->info.operand_count_visible > 0; /* pushfq names none */
    emit(insn, SW_EFFECT_STORE, RSP, named ? reg64(&d->operands[0]) : SW_NOREG, -size);
    emit(insn, SW_EFFECT_SET, RSP, RSP, -size);
}

static void do_pop(const struct decoded *d, struct sw_insn *insn)
{
    const int64_t size = d->info.operand_width == 16 ? 2 : WORD;
    const bool named = size == WORD && d->info.operand_count_visible > 0;
    const unsigned dst = named ? reg64(&d->operands[0]) : SW_NOREG;
    if (dst != SW_NOREG)
        emit(insn, SW_EFFECT_LOAD, dst, RSP, 0);
    if (dst != RSP)
        emit(insn, SW_EFFECT_SET, RSP, RSP, size);
}

/* [base + index * size + disp], or [index * size + disp]: an element of a table of words of that size. */
static bool element(const struct decoded *d, const ZydisDecodedOperand *op, unsigned dst, unsigned size,
                    struct sw_insn *insn)
{
    const ZydisDecodedOperandMem *mem = &op->mem;
    const int64_t disp = mem->disp.has_displacement ? mem->disp.value : 0;
    const unsigned base = number(mem->base);
    if (op->type != ZYDIS_OPERAND_TYPE_MEMORY || mem->index == ZYDIS_REGISTER_NONE || mem->scale != (size & 0xff))
        return false;
    if (mem->segment == ZYDIS_REGISTER_FS || mem->segment == ZYDIS_REGISTER_GS)
        return false;
    if (mem->base == ZYDIS_REGISTER_NONE && disp > 0) { /* at a fixed address */
        emit(insn, SW_EFFECT_NEAR, dst, SW_NOREG, disp - (int64_t)d->pc);
        emit(insn, SW_EFFECT_ELEMENT, dst, dst, 0);
    } else {
        emit(insn, SW_EFFECT_ELEMENT, dst, base, disp);
    }
    insn->effects[insn->count - 1].size = (uint16_t)size;
    return true;
}

static void do_movsxd(const struct decoded *d, struct sw_insn *insn)
{
    const unsigned dst = reg64(&d->operands[0]);
    if (dst == SW_NOREG || !element(d, &d->operands[1], dst, 4, insn))
        generic(d, insn);
}

/* A 32- or 64-bit load of a table's element into a register. */
static bool load_element(const struct decoded *d, struct sw_insn *insn)
{
    const ZydisDecodedOperand *to = &d->operands[0];
    if (to->type != ZYDIS_OPERAND_TYPE_REGISTER || number(to->reg.value) == SW_NOREG || to->size < 32)
        return false;
    return element(d, &d->operands[1], number(to->reg.value), to->size == 32 ? 4 | SW_ELEMENT_UNSIGNED : 8, insn);
}

static void do_mov(const struct decoded *d, struct sw_insn *insn)
{
    const ZydisDecodedOperand *to = &d->operands[0], *from = &d->operands[1];
    const unsigned dst = reg64(to), src = reg64(from);
    unsigned base;
    int64_t disp;
    if (dst != SW_NOREG && src != SW_NOREG)
        emit(insn, SW_EFFECT_SET, dst, src, 0);
    else if (is_imm(from) && to->type == ZYDIS_OPERAND_TYPE_REGISTER && to->size >= 32 &&
             number(to->reg.value) != SW_NOREG)
        emit(insn, SW_EFFECT_CONST, number(to->reg.value), SW_NOREG,
             to->size == 32 ? (int64_t)(uint32_t)from->imm.value.u : from->imm.value.s);
    else if (dst != SW_NOREG && plain_address(from, &base, &disp))
        emit(insn, SW_EFFECT_LOAD, dst, base, disp);
    else if (src != SW_NOREG && plain_address(to, &base, &disp))
        emit(insn, SW_EFFECT_STORE, base, src, disp);
    else if (!load_element(d, insn))
        generic(d, insn);
}

static void do_lea(const struct decoded *d, struct sw_insn *insn)
{
    const unsigned dst = reg64(&d->operands[0]);
    const ZydisDecodedOperandMem *mem = &d->operands[1].mem;
    const uint64_t absolute = rip_address(d, &d->operands[1]);
    if (dst != SW_NOREG && absolute)
        emit(insn, SW_EFFECT_NEAR, dst, SW_NOREG, (int64_t)(absolute - d->pc));
    else if (dst != SW_NOREG && mem->index == ZYDIS_REGISTER_NONE &&
             ZydisRegisterGetClass(mem->base) == ZYDIS_REGCLASS_GPR64)
        emit(insn, SW_EFFECT_SET, dst, (unsigned)ZydisRegisterGetId(mem->base),
             mem->disp.has_displacement ? mem->disp.value : 0);
    else
        generic(d, insn);
}

static void add_or_sub(const struct decoded *d, struct sw_insn *insn, int sign)
{
    const unsigned dst = reg64(&d->operands[0]), src = reg64(&d->operands[1]);
    const ZydisDecodedOperand *from = &d->operands[1];
    if (dst != SW_NOREG && is_imm(from) && from->imm.value.s != INT64_MIN)
        emit(insn, SW_EFFECT_SET, dst, dst, sign * from->imm.value.s);
    else if (dst != SW_NOREG && src != SW_NOREG && src != dst)
        emit(insn, SW_EFFECT_ADD, dst, src, sign);
    else
        generic(d, insn);
}

static void do_add(const struct decoded *d, struct sw_insn *insn)
{
    add_or_sub(d, insn, 1);
}

static void do_sub(const struct decoded *d, struct sw_insn *insn)
{
    add_or_sub(d, insn, -1);
}

static void do_and(const struct decoded *d, struct sw_insn *insn)
{
    const unsigned dst = reg64(&d->operands[0]);
    const ZydisDecodedOperand *from = &d->operands[1];
    if (dst != SW_NOREG && is_imm(from) && from->imm.value.s < 0)
        emit(insn, SW_EFFECT_ALIGN, dst, SW_NOREG, from->imm.value.s);
    else
        generic(d, insn);
}

static void do_xor(const struct decoded *d, struct sw_insn *insn)
{
    const ZydisDecodedOperand *to = &d->operands[0], *from = &d->operands[1];
    const bool zero = to->type == ZYDIS_OPERAND_TYPE_REGISTER && from->type == ZYDIS_OPERAND_TYPE_REGISTER &&
                      to->reg.value == from->reg.value && to->size >= 32;
    if (zero && number(to->reg.value) != SW_NOREG)
        emit(insn, SW_EFFECT_CONST, number(to->reg.value), SW_NOREG, 0);
    else
        generic(d, insn);
}

/* Of two 64-bit registers. */
static void do_xchg(const struct decoded *d, struct sw_insn *insn)
{
    const unsigned a = reg64(&d->operands[0]), b = reg64(&d->operands[1]);
    if (a == SW_NOREG || b == SW_NOREG)
        generic(d, insn);
    else if (a != b)
        emit(insn, SW_EFFECT_SWAP, a, b, 0);
}

/* `or [rsp], 0` is a stack probe: it changes nothing. */
static void do_or(const struct decoded *d, struct sw_insn *insn)
{
    if (!is_imm(&d->operands[1]) || d->operands[1].imm.value.s != 0)
        generic(d, insn);
}

static void do_cmp(const struct decoded *d, struct sw_insn *insn)
{
    const ZydisDecodedOperand *to = &d->operands[0], *from = &d->operands[1];
    const unsigned a = reg64(to), b = reg64(from);
    if (a != SW_NOREG && b != SW_NOREG)
        emit(insn, SW_EFFECT_COMPARE, a, b, 0);
    else if (is_imm(from))
        emit(insn, SW_EFFECT_COMPARE, to->type == ZYDIS_OPERAND_TYPE_REGISTER ? number(to->reg.value) : SW_NOREG,
             SW_NOREG, from->imm.value.s);
}

static void do_leave(const struct decoded *d, struct sw_insn *insn)
{
    (void)d;
    emit(insn, SW_EFFECT_SET, RSP, RBP, 0);
    emit(insn, SW_EFFECT_LOAD, RBP, RSP, 0);
    emit(insn, SW_EFFECT_SET, RSP, RSP, WORD);
}

static void do_enter(const struct decoded *d, struct sw_insn *insn)
{
    const int64_t size = (int64_t)d->operands[0].imm.value.u;
    const bool nested = d->operands[1].imm.value.u != 0;
    emit(insn, SW_EFFECT_STORE, RSP, RBP, -WORD);
    emit(insn, SW_EFFECT_SET, RBP, RSP, -WORD);
    emit(insn, SW_EFFECT_SET, RSP, RSP, -WORD - size);
    if (nested)
        emit(insn, SW_EFFECT_CLOBBER, SW_NOREG, SW_NOREG, INT64_C(1) << RSP);
}

static void do_ret(const struct decoded *d, struct sw_insn *insn)
{
    const bool pops = d->info.operand_count_visible > 0 && is_imm(&d->operands[0]);
    const int64_t extra = pops ? (int64_t)(d->operands[0].imm.value.u & 0xffff) : 0;
    emit(insn, SW_EFFECT_LOAD, RIP, RSP, 0);
    emit(insn, SW_EFFECT_SET, RSP, RSP, WORD + extra);
    insn->flow = SW_FLOW_RETURN;
}

static void do_iret(const struct decoded *d, struct sw_insn *insn)
{
    (void)d;
    emit(insn, SW_EFFECT_LOAD, RIP, RSP, 0);
    emit(insn, SW_EFFECT_LOAD, RSP, RSP, 24);
    insn->flow = SW_FLOW_RETURN;
}

static uint64_t direct_target(const struct decoded *d)
{
    const ZydisDecodedOperand *op = &d->operands[0];
    return is_imm(op) ? d->pc + d->info.length + (uint64_t)op->imm.value.s : 0;
}

static void do_call(const struct decoded *d, struct sw_insn *insn)
{
    insn->target = direct_target(d);
    insn->slot = rip_address(d, &d->operands[0]);
    if (insn->target == d->pc + d->info.length) { /* call +0; pop reg: reads pc, a push in effect */
        emit(insn, SW_EFFECT_STORE, RSP, SW_NOREG, -WORD);
        emit(insn, SW_EFFECT_SET, RSP, RSP, -WORD);
        insn->target = 0;
        return;
    }
    insn->flow = SW_FLOW_CALL;
    emit(insn, SW_EFFECT_CLOBBER, SW_NOREG, SW_NOREG, VOLATILE_MASK);
}

static void do_jmp(const struct decoded *d, struct sw_insn *insn)
{
    insn->target = direct_target(d);
    insn->slot = rip_address(d, &d->operands[0]);
    insn->flow = insn->target ? SW_FLOW_JUMP : SW_FLOW_INDIRECT;
    if (insn->flow == SW_FLOW_INDIRECT && reg64(&d->operands[0]) != SW_NOREG)
        emit(insn, SW_EFFECT_SET, RIP, reg64(&d->operands[0]), 0);
    else if (insn->flow == SW_FLOW_INDIRECT)
        (void)element(d, &d->operands[0], RIP, 8, insn);
}

static void do_branch(const struct decoded *d, struct sw_insn *insn)
{
    insn->target = direct_target(d);
    insn->flow = SW_FLOW_BRANCH;
    if (d->info.mnemonic == ZYDIS_MNEMONIC_JZ)
        insn->when = SW_WHEN_EQUAL;
    if (d->info.mnemonic == ZYDIS_MNEMONIC_JNZ)
        insn->when = SW_WHEN_DIFFERENT;
    if (d->info.mnemonic == ZYDIS_MNEMONIC_JNBE)
        insn->when = SW_WHEN_ABOVE;
    if (d->info.mnemonic == ZYDIS_MNEMONIC_JNB)
        insn->when = SW_WHEN_NOT_BELOW;
}

static void do_trap(const struct decoded *d, struct sw_insn *insn)
{
    (void)d;
    insn->flow = SW_FLOW_TRAP;
}

/* int 0x29 is Windows' fail-fast; any other comes back. */
static void do_int(const struct decoded *d, struct sw_insn *insn)
{
    if (d->operands[0].imm.value.u == 0x29)
        insn->flow = SW_FLOW_TRAP;
    else
        generic(d, insn);
}

/* INC and DEC of a 64-bit register. */
static void do_step(const struct decoded *d, struct sw_insn *insn)
{
    const unsigned dst = reg64(&d->operands[0]);
    if (dst == SW_NOREG)
        generic(d, insn);
    else
        emit(insn, SW_EFFECT_SET, dst, dst, d->info.mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1);
}

/* Instructions that mean something for the stack; Intel SDM vol. 2. The frequent ones first: the search is linear. */
static const struct row {
    ZydisMnemonic mnemonic;
    void (*act)(const struct decoded *d, struct sw_insn *insn);
} rows[] = {
    /* clang-format off */
    { ZYDIS_MNEMONIC_MOV,   do_mov   }, { ZYDIS_MNEMONIC_LEA,    do_lea   }, { ZYDIS_MNEMONIC_CALL,   do_call   },
    { ZYDIS_MNEMONIC_CMP,   do_cmp   }, { ZYDIS_MNEMONIC_JMP,    do_jmp   }, { ZYDIS_MNEMONIC_PUSH,   do_push   },
    { ZYDIS_MNEMONIC_POP,   do_pop   }, { ZYDIS_MNEMONIC_ADD,    do_add   }, { ZYDIS_MNEMONIC_SUB,    do_sub    },
    { ZYDIS_MNEMONIC_XOR,   do_xor   }, { ZYDIS_MNEMONIC_AND,    do_and   }, { ZYDIS_MNEMONIC_RET,    do_ret    },
    { ZYDIS_MNEMONIC_OR,    do_or    }, { ZYDIS_MNEMONIC_LEAVE,  do_leave }, { ZYDIS_MNEMONIC_ENTER,  do_enter  },
    { ZYDIS_MNEMONIC_INC,   do_step  }, { ZYDIS_MNEMONIC_DEC,    do_step  }, { ZYDIS_MNEMONIC_PUSHFQ, do_push   },
    { ZYDIS_MNEMONIC_PUSHF, do_push  }, { ZYDIS_MNEMONIC_POPFQ,  do_pop   }, { ZYDIS_MNEMONIC_POPF,   do_pop    },
    { ZYDIS_MNEMONIC_UD2,   do_trap  }, { ZYDIS_MNEMONIC_INT3,   do_trap  }, { ZYDIS_MNEMONIC_HLT,    do_trap   },
    { ZYDIS_MNEMONIC_UD0,   do_trap  }, { ZYDIS_MNEMONIC_UD1,    do_trap  }, { ZYDIS_MNEMONIC_INT,    do_int    },
    { ZYDIS_MNEMONIC_IRETQ, do_iret  }, { ZYDIS_MNEMONIC_MOVSXD, do_movsxd }, { ZYDIS_MNEMONIC_XCHG,   do_xchg   },
    /* clang-format on */
};

static void act(const struct decoded *d, struct sw_insn *insn)
{
    if (d->info.meta.category == ZYDIS_CATEGORY_COND_BR) {
        do_branch(d, insn);
        generic(d, insn);
        return;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].mnemonic == d->info.mnemonic) {
            rows[i].act(d, insn);
            return;
        }
    generic(d, insn);
}

enum sw_status sw_x64_decode(const uint8_t *bytes, size_t size, uint64_t pc, struct sw_insn *insn)
{
    struct decoded d;
    ZydisDecoder decoder;
    ZydisDecoderContext context;
    if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
        return SW_E_UNSUPPORTED;
    const ZyanStatus status = ZydisDecoderDecodeInstruction(&decoder, &context, bytes, size, &d.info);
    if (status == ZYDIS_STATUS_NO_MORE_DATA)
        return SW_E_TRUNCATED;
    if (ZYAN_FAILED(status) ||
        ZYAN_FAILED(ZydisDecoderDecodeOperands(&decoder, &context, &d.info, d.operands, d.info.operand_count)))
        return SW_E_MALFORMED;
    d.pc = pc;
    *insn = (struct sw_insn){ .length = d.info.length };
    act(&d, insn);
    return SW_OK;
}

bool sw_x64_call_before(const uint8_t *bytes, size_t size, uint64_t after, uint64_t *target, uint64_t *slot)
{
    /* Longest first: a shorter call can be the tail of a longer one, hardly ever the other way round. */
    for (size_t length = size < 8 ? size : 8; length >= 2; length--) {
        struct sw_insn insn;
        if (sw_x64_decode(bytes + size - length, length, after - length, &insn) != SW_OK)
            continue;
        if (insn.flow != SW_FLOW_CALL || insn.length != length)
            continue;
        *target = insn.target;
        *slot = insn.slot;
        return true;
    }
    return false;
}
