/*
 * What one instruction does to stack and registers, in primitives that serve both machines. A decoder (x64, a64) makes
 * these out of bytes; analyze/ runs them. Register numbers are those of regs.h; SW_NOREG stands for any other value.
 *
 *   push rbx            STORE [rsp - 8] = rbx; SET rsp = rsp - 8
 *   leave               SET rsp = rbp; LOAD rbp = [rsp]; SET rsp = rsp + 8
 *   ret                 LOAD pc = [rsp]; SET rsp = rsp + 8; flow RETURN
 *   stp x29, x30, [sp, #-32]!   STORE [sp - 32] = x29; STORE [sp - 24] = x30; SET sp = sp - 32
 */
#ifndef SW_BASE_EFFECT_H
#define SW_BASE_EFFECT_H

#include <snapwalk/regs.h>

enum { SW_NOREG = 0xff, SW_EFFECTS_MAX = 6 };

enum sw_effect_kind {
    SW_EFFECT_SET,     /* dst = src + imm */
    SW_EFFECT_CONST,   /* dst = imm */
    SW_EFFECT_ADD,     /* dst = dst + src * imm; of what is multiplied count `size` bytes, 0 or 8: all */
    SW_EFFECT_ALIGN,   /* dst = dst & imm, imm a negative power of two */
    SW_EFFECT_LOAD,    /* dst = 64-bit word at [src + imm]; src SW_NOREG: an address that is not known */
    SW_EFFECT_STORE,   /* 64-bit word at [dst + imm] = src */
    SW_EFFECT_CLOBBER, /* registers of the mask imm get values that are not known */
    SW_EFFECT_COMPARE, /* dst is compared with src, or with imm where src is SW_NOREG, for the branch that follows */
    SW_EFFECT_SWAP,    /* dst and src change their values */
    SW_EFFECT_NEAR,    /* dst = the instruction's own address + imm */
    SW_EFFECT_ELEMENT, /* dst = an element, size bytes wide, of the table at src + imm; which one is not known */
    SW_EFFECT_INSERT,  /* the 16 bits of dst from bit `size` on = imm */
    SW_EFFECT_VECTOR   /* dst = src + imm eighths of a scalable vector (SVE), whose length is not known */
};

/* In the size of an ELEMENT, of an ADD: it is not sign-extended. In that of an ADD: dst = src + dst * imm. */
enum { SW_ELEMENT_UNSIGNED = 0x100, SW_ADD_REVERSED = 0x200 };

/*
 * size     STORE: bytes written; below 8, or with src SW_NOREG, the word there is lost.
 */
struct sw_effect {
    uint8_t kind;
    uint8_t dst;
    uint8_t src;
    uint16_t size;
    int64_t imm;
};

/* Where control goes afterwards. */
enum sw_flow {
    SW_FLOW_NEXT = 0,
    SW_FLOW_CALL,     /* to target (0: not known) and back to the next instruction, as a rule */
    SW_FLOW_BRANCH,   /* to target or to the next instruction */
    SW_FLOW_JUMP,     /* to target */
    SW_FLOW_INDIRECT, /* to an address in a register or in memory */
    SW_FLOW_RETURN,
    SW_FLOW_TRAP /* does not go on: ud2, int3, hlt, brk */
};

/* When a BRANCH is taken, as far as it matters; above and not below: unsigned. */
enum sw_when {
    SW_WHEN_ANY = 0,
    SW_WHEN_EQUAL,
    SW_WHEN_DIFFERENT,
    SW_WHEN_ABOVE,
    SW_WHEN_NOT_ABOVE,
    SW_WHEN_BELOW,
    SW_WHEN_NOT_BELOW
};

/*
 * slot    For indirect jumps and calls: the address of the word that holds the target, when the instruction names it
 *         (jmp [rip + x]); 0 otherwise.
 */
struct sw_insn {
    uint8_t length;
    uint8_t flow;
    uint8_t when;
    uint8_t count;
    uint64_t target;
    uint64_t slot;
    struct sw_effect effects[SW_EFFECTS_MAX];
};

/*
 * A decoder: the instruction at `pc`.
 *
 * bytes    At least one; at most 15 are looked at.
 *
 * Returns  SW_OK; SW_E_TRUNCATED (the instruction goes on behind the bytes); SW_E_MALFORMED (no such instruction).
 */
typedef enum sw_status sw_decode_fn(const uint8_t *bytes, size_t size, uint64_t pc, struct sw_insn *insn);

#endif
