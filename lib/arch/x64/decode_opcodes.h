/*
 * The frequent encodings of x64 instructions as rows: an opcode's row says where its operands are.
 */
#ifndef SW_X64_DECODE_OPCODES_H
#define SW_X64_DECODE_OPCODES_H

#include "arch/x64/decode_insn.h"

/*
 * Where an operand is. AT_UNKNOWN: the tables do not answer; a row that is all zero says so, too. The values behind
 * AT_VREG stand for the first operand only: the byte is not an opcode, or not all of it.
 */
enum sw_x64_at {
    AT_UNKNOWN = 0,
    AT_NOTHING,
    AT_IMM,
    AT_OPCODE, /* a general register, in the opcode's low bits */
    AT_ACC,    /* al, ax, eax, rax */
    AT_RM,     /* of ModRM: a general register or memory; from here on there is a ModRM byte */
    AT_REG,    /* of ModRM: a general register */
    AT_VRM,    /* of ModRM: another kind of register, or memory */
    AT_VREG,   /* of ModRM: another kind of register */
    AT_GROUP,  /* take row reg (of ModRM) of group imm */
    AT_PREFIX, /* imm: which one */
    AT_REX,
    AT_ESCAPE, /* 0F: the next byte is the opcode */
    AT_VEX_2,  /* C5: one more byte, then the opcode */
    AT_VEX_3   /* C4: two more */
};

/* Prefixes, as a mask. */
enum {
    HAS_66 = 1,
    HAS_F3 = 2,
    HAS_F2 = 4,
    HAS_LOCK = 8,
    HAS_SEGMENT = 16, /* any */
    HAS_FS_GS = 32,   /* one of these two */
    HAS_VEX = 64
};

/* Operand sizes in bytes stand for themselves. */
enum {
    SIZE_V = 0,    /* 2, 4 or 8 by prefix */
    SIZE_Y = 0xf0, /* 4 or 8 by REX.W */
    SIZE_L = 0xf1  /* 16 or 32 by VEX.L */
};

enum sw_x64_imm { IMM_NONE = 0, IMM_8, IMM_16, IMM_32, IMM_Z /* 2 or 4 bytes */, IMM_V /* 2, 4 or 8 bytes */ };

enum {
    ROW_WRITES = 1,  /* the first operand */
    ROW_BOTH = 2,    /* the second operand is written too */
    ROW_MEMORY = 4,  /* ModRM must name memory */
    ROW_REG = 8,     /* ModRM must name a register */
    ROW_LOCK = 16,   /* takes a lock prefix where memory is written */
    ROW_REP = 32,    /* F3 changes nothing */
    ROW_FIXED = 64,  /* 66 does not change its size: the tables do not answer with it */
    ROW_NO_REX = 128 /* with REX it is another instruction */
};

/* The same bits in rows behind VEX, where lock and F3 do not occur. */
enum {
    ROW_VVVV = ROW_LOCK, /* names one more register in vvvv */
    ROW_L0 = ROW_REP     /* L is 0 */
};

/*
 * op       enum sw_x64_op.
 * imm      enum sw_x64_imm; see also AT_GROUP and AT_PREFIX.
 * implied  General registers written without being named, as a mask.
 */
struct sw_x64_row {
    uint8_t op;
    uint8_t to, from;
    uint8_t size;
    uint8_t imm;
    uint8_t flags;
    uint16_t implied;
};

/* By mandatory prefix; ORDER VEX.pp */
enum { PLANE_NONE, PLANE_66, PLANE_F3, PLANE_F2, PLANES };

extern const struct sw_x64_row sw_x64_one_byte[256];
extern const struct sw_x64_row sw_x64_two_byte[PLANES][256];
extern const struct sw_x64_row sw_x64_vex[PLANES][256]; /* of map 1 */
extern const struct sw_x64_row sw_x64_groups[][8];

#endif
