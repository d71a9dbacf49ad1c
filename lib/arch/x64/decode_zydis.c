/*
 * Any x64 instruction, read by Zydis: its operands and what it writes, in the terms of decode_insn.h. The only file
 * that knows Zydis. Knows nothing of what instructions mean for the stack.
 */
#include "arch/x64/decode_insn.h"

#include <Zydis/Zydis.h>

struct read {
    const ZydisDecodedInstruction *info;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

/* Intel SDM vol. 2. Conditional branches have no rows: Zydis has a category for them. */
static const struct row {
    ZydisMnemonic mnemonic;
    enum sw_x64_op op;
} rows[] = {
    /* clang-format off */
    { ZYDIS_MNEMONIC_MOV,    SW_X64_MOV    }, { ZYDIS_MNEMONIC_LEA,    SW_X64_LEA    },
    { ZYDIS_MNEMONIC_CALL,   SW_X64_CALL   }, { ZYDIS_MNEMONIC_CMP,    SW_X64_CMP    },
    { ZYDIS_MNEMONIC_JMP,    SW_X64_JMP    }, { ZYDIS_MNEMONIC_PUSH,   SW_X64_PUSH   },
    { ZYDIS_MNEMONIC_POP,    SW_X64_POP    }, { ZYDIS_MNEMONIC_ADD,    SW_X64_ADD    },
    { ZYDIS_MNEMONIC_SUB,    SW_X64_SUB    }, { ZYDIS_MNEMONIC_XOR,    SW_X64_XOR    },
    { ZYDIS_MNEMONIC_AND,    SW_X64_AND    }, { ZYDIS_MNEMONIC_RET,    SW_X64_RET    },
    { ZYDIS_MNEMONIC_OR,     SW_X64_OR     }, { ZYDIS_MNEMONIC_LEAVE,  SW_X64_LEAVE  },
    { ZYDIS_MNEMONIC_ENTER,  SW_X64_ENTER  }, { ZYDIS_MNEMONIC_INC,    SW_X64_INC    },
    { ZYDIS_MNEMONIC_DEC,    SW_X64_DEC    }, { ZYDIS_MNEMONIC_PUSHFQ, SW_X64_PUSH   },
    { ZYDIS_MNEMONIC_PUSHF,  SW_X64_PUSH   }, { ZYDIS_MNEMONIC_POPFQ,  SW_X64_POP    },
    { ZYDIS_MNEMONIC_POPF,   SW_X64_POP    }, { ZYDIS_MNEMONIC_UD2,    SW_X64_TRAP   },
    { ZYDIS_MNEMONIC_INT3,   SW_X64_TRAP   }, { ZYDIS_MNEMONIC_HLT,    SW_X64_TRAP   },
    { ZYDIS_MNEMONIC_UD0,    SW_X64_TRAP   }, { ZYDIS_MNEMONIC_UD1,    SW_X64_TRAP   },
    { ZYDIS_MNEMONIC_INT,    SW_X64_INT    }, { ZYDIS_MNEMONIC_IRETQ,  SW_X64_IRET   },
    { ZYDIS_MNEMONIC_MOVSXD, SW_X64_MOVSXD }, { ZYDIS_MNEMONIC_XCHG,   SW_X64_XCHG   },
    /* clang-format on */
};

static enum sw_x64_op op_of(const ZydisDecodedInstruction *info)
{
    if (info->meta.category == ZYDIS_CATEGORY_COND_BR)
        return SW_X64_BRANCH;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].mnemonic == info->mnemonic)
            return rows[i].op;
    return SW_X64_OTHER;
}

static enum sw_when when_of(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_JZ:
        return SW_WHEN_EQUAL;
    case ZYDIS_MNEMONIC_JNZ:
        return SW_WHEN_DIFFERENT;
    case ZYDIS_MNEMONIC_JNBE:
        return SW_WHEN_ABOVE;
    case ZYDIS_MNEMONIC_JNB:
        return SW_WHEN_NOT_BELOW;
    case ZYDIS_MNEMONIC_JB:
        return SW_WHEN_BELOW;
    case ZYDIS_MNEMONIC_JBE:
        return SW_WHEN_NOT_ABOVE;
    default:
        return SW_WHEN_ANY;
    }
}

/* The number of the general register that encloses a register, or SW_NOREG. */
static uint8_t number(ZydisRegister reg)
{
    const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64)
        return SW_NOREG;
    return (uint8_t)ZydisRegisterGetId(whole);
}

static bool is_written(const ZydisDecodedOperand *op)
{
    return (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

static struct sw_x64_operand operand(const ZydisDecodedOperand *op)
{
    const uint8_t size = op->size / 8 < UINT8_MAX ? (uint8_t)(op->size / 8) : UINT8_MAX;
    switch (op->type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
        return (struct sw_x64_operand){ SW_X64_REG, number(op->reg.value), size };
    case ZYDIS_OPERAND_TYPE_MEMORY:
        return (struct sw_x64_operand){ SW_X64_MEM, SW_NOREG, size };
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        return (struct sw_x64_operand){ SW_X64_IMM, SW_NOREG, size };
    default:
        return (struct sw_x64_operand){ 0 };
    }
}

static uint8_t base_of(ZydisRegister base)
{
    return base == ZYDIS_REGISTER_RIP || base == ZYDIS_REGISTER_EIP ? SW_X64_RIP : number(base);
}

static uint8_t index_of(ZydisRegister index)
{
    if (index == ZYDIS_REGISTER_NONE)
        return SW_NOREG;
    return number(index) == SW_NOREG ? SW_X64_VECTOR_INDEX : number(index);
}

static struct sw_x64_memory memory(const ZydisDecodedInstruction *info, const ZydisDecodedOperand *op)
{
    const ZydisDecodedOperandMem *mem = &op->mem;
    return (struct sw_x64_memory){ .base = base_of(mem->base),
                                   .index = index_of(mem->index),
                                   .scale = mem->scale,
                                   .segment = mem->segment == ZYDIS_REGISTER_FS || mem->segment == ZYDIS_REGISTER_GS,
                                   .narrow = info->address_width != 64,
                                   .size = (uint16_t)(op->size / 8),
                                   .disp = mem->disp.has_displacement ? mem->disp.value : 0 };
}

/* The memory operand that counts: one that is written (only VIA's xcrypt writes two), else the first; or null. */
static const ZydisDecodedOperand *memory_among(const ZydisDecodedOperand *operands, unsigned count)
{
    const ZydisDecodedOperand *found = NULL;
    for (unsigned i = 0; i < count; i++)
        if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
            (!found || (is_written(&operands[i]) && !is_written(found))))
            found = &operands[i];
    return found;
}

/* A named operand goes first where the operation needs it: push [rax] writes the stack too, without naming it. */
static const ZydisDecodedOperand *memory_operand(const struct read *r, enum sw_x64_op op)
{
    const ZydisDecodedOperand *named = memory_among(r->operands, r->info->operand_count_visible);
    return named && op != SW_X64_OTHER ? named : memory_among(r->operands, r->info->operand_count);
}

static uint16_t written_registers(const struct read *r)
{
    unsigned mask = 0;
    for (unsigned i = 0; i < r->info->operand_count; i++) {
        const ZydisDecodedOperand *op = &r->operands[i];
        const uint8_t reg =
            op->type == ZYDIS_OPERAND_TYPE_REGISTER && is_written(op) ? number(op->reg.value) : SW_NOREG;
        if (reg != SW_NOREG)
            mask |= 1u << reg;
    }
    return (uint16_t)mask;
}

static void fill_immediate(const struct read *r, struct sw_x64_decoded *d)
{
    if (d->to.kind == SW_X64_IMM)
        d->imm = r->operands[0].imm.value.s;
    else if (d->from.kind == SW_X64_IMM)
        d->imm = r->operands[1].imm.value.s;
    d->nested = d->op == SW_X64_ENTER && r->operands[1].imm.value.u != 0;
}

static void fill(const struct read *r, struct sw_x64_decoded *d)
{
    const enum sw_x64_op op = op_of(r->info);
    const ZydisDecodedOperand *mem = memory_operand(r, op);
    d->op = (uint8_t)op;
    d->length = r->info->length;
    d->when = (uint8_t)when_of(r->info->mnemonic);
    d->width = r->info->operand_width == 16 ? 2 : 8;
    if (r->info->operand_count_visible > 0)
        d->to = operand(&r->operands[0]);
    if (r->info->operand_count_visible > 1)
        d->from = operand(&r->operands[1]);
    if (mem)
        d->memory = memory(r->info, mem);
    d->stores = mem && is_written(mem);
    d->writes = written_registers(r);
    fill_immediate(r, d);
}

/* Apart, so that 800 bytes of operands are not on the stack while Zydis, which needs as much, decodes the rest. */
static __attribute__((noinline)) bool fill_by_operands(const ZydisDecoder *decoder, ZydisDecoderContext *context,
                                                       const ZydisDecodedInstruction *info, struct sw_x64_decoded *d)
{
    struct read r;
    r.info = info;
    if (ZYAN_FAILED(ZydisDecoderDecodeOperands(decoder, context, info, r.operands, info->operand_count)))
        return false;
    fill(&r, d);
    return true;
}

enum sw_status sw_x64_zydis(const uint8_t *bytes, size_t size, uint64_t pc, struct sw_x64_decoded *d)
{
    ZydisDecoder decoder;
    ZydisDecoderContext context;
    ZydisDecodedInstruction info;
    if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
        return SW_E_UNSUPPORTED;
    const ZyanStatus status = ZydisDecoderDecodeInstruction(&decoder, &context, bytes, size, &info);
    if (status == ZYDIS_STATUS_NO_MORE_DATA)
        return SW_E_TRUNCATED;
    if (ZYAN_FAILED(status))
        return SW_E_MALFORMED;
    *d = (struct sw_x64_decoded){ .pc = pc };
    return fill_by_operands(&decoder, &context, &info, d) ? SW_OK : SW_E_MALFORMED;
}
