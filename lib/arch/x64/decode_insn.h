/*
 * The part of an x64 instruction that matters here: its operation, its first two operands, its memory operand, and
 * everything it writes. Two decoders fill it (decode_quick.c, decode_zydis.c); decode_effects.c says what it means.
 */
#ifndef SW_X64_DECODE_INSN_H
#define SW_X64_DECODE_INSN_H

#include "base/effect.h"

/* Operations that matter for the stack; ORDER sw_x64_op. Of all others only what they write counts. */
enum sw_x64_op {
    SW_X64_OTHER = 0,
    SW_X64_MOV,
    SW_X64_MOVSXD,
    SW_X64_LEA,
    SW_X64_PUSH,
    SW_X64_POP,
    SW_X64_ADD,
    SW_X64_SUB,
    SW_X64_AND,
    SW_X64_OR,
    SW_X64_XOR,
    SW_X64_CMP,
    SW_X64_XCHG,
    SW_X64_INC,
    SW_X64_DEC,
    SW_X64_LEAVE,
    SW_X64_ENTER,
    SW_X64_RET,
    SW_X64_IRET,
    SW_X64_CALL,
    SW_X64_JMP,
    SW_X64_BRANCH,
    SW_X64_TRAP,
    SW_X64_INT,
    SW_X64_OPS
};

enum sw_x64_kind { SW_X64_NONE = 0, SW_X64_REG, SW_X64_MEM, SW_X64_IMM };

/*
 * reg      REG: the general register that the operand is, whole or in part, or SW_NOREG.
 * size     Bytes; not set for an immediate.
 */
struct sw_x64_operand {
    uint8_t kind;
    uint8_t reg;
    uint8_t size;
};

/* Stands for an index register that is not a general one. */
enum { SW_X64_VECTOR_INDEX = 0x80 };

/*
 * base     A general register's number; SW_X64_RIP; SW_NOREG.
 * index    A general register's number; SW_NOREG: none.
 * segment  The address is relative to fs or gs.
 * narrow   The address is made of 32-bit registers.
 * size     Bytes.
 */
struct sw_x64_memory {
    uint8_t base;
    uint8_t index;
    uint8_t scale;
    bool segment;
    bool narrow;
    uint16_t size;
    int64_t disp;
};

/*
 * when     BRANCH: enum sw_when.
 * width    PUSH, POP: bytes.
 * to       The first operand that the instruction names; from: the second. Not set for OTHER.
 * stores   Memory at `memory` is written.
 * writes   One bit for each general register that is written, named or not. Not set where `op` implies it.
 * imm      Sign-extended as the instruction does it. ENTER: the frame's size; nested: its second immediate is not 0.
 * memory   The memory operand that is named, else the one that is written without a name.
 */
struct sw_x64_decoded {
    uint64_t pc;
    uint8_t op;
    uint8_t length;
    uint8_t when;
    uint8_t width;
    struct sw_x64_operand to, from;
    bool stores;
    bool nested;
    uint16_t writes;
    int64_t imm;
    struct sw_x64_memory memory;
};

/*
 * The instruction at `bytes`, where decode_opcodes.c has its encoding; false where it has not, and `d` holds nothing.
 * sw_x64_effects makes the same effects of the result as of sw_x64_zydis' (test/unit/x64_quick.c).
 *
 * Source   Intel SDM vol. 2, chapter 2 and appendix A.
 */
bool sw_x64_quick(const uint8_t *bytes, size_t size, uint64_t pc, struct sw_x64_decoded *d);

/* Any instruction at `bytes`. Returns as sw_decode_fn does. */
SW_NODISCARD enum sw_status sw_x64_zydis(const uint8_t *bytes, size_t size, uint64_t pc, struct sw_x64_decoded *d);

/* What the instruction does to registers and stack. Effects behind insn->count are not written. */
void sw_x64_effects(const struct sw_x64_decoded *d, struct sw_insn *insn);

#endif
