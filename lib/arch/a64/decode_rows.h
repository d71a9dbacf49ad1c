/*
 * The tables of A64 instruction forms, for this room and its test.
 *
 * There are two tables. A row is an instruction that touches general registers, memory or control; a field is a whole
 * encoding group without such instructions (arithmetic on vectors, hints). A word is looked for in the rows, then in
 * the fields. Neither rows nor fields overlap, so their order does not matter. Each has a sample that only it matches.
 */
#ifndef SW_A64_DECODE_ROWS_H
#define SW_A64_DECODE_ROWS_H

#include <stddef.h>
#include <stdint.h>

enum sw_a64_does {
    SW_A64_NOTHING = 0, /* to general registers, memory or control */
    SW_A64_WRITES,      /* the registers in the fields of `arg` get other values */
    SW_A64_WRITES_SP,   /* the same, number 31 being sp */
    SW_A64_ADD_IMMEDIATE,
    SW_A64_ADD_SHIFTED,
    SW_A64_ADD_EXTENDED,
    SW_A64_AND_IMMEDIATE,
    SW_A64_OR_IMMEDIATE,
    SW_A64_XOR_IMMEDIATE,
    SW_A64_OR_SHIFTED,
    SW_A64_MOVE_WIDE, /* arg: the opc field */
    SW_A64_NEAR,
    SW_A64_NEAR_PAGE,
    SW_A64_ADD_VECTOR, /* arg: eighths of a vector for each unit */
    SW_A64_SIGN,       /* adds, checks or strips a pointer authentication code */
    SW_A64_SIGN_17,    /* of x17 */
    SW_A64_LOAD,
    SW_A64_STORE,
    SW_A64_LOAD_PAIR,
    SW_A64_STORE_PAIR,
    SW_A64_EXCHANGE,    /* changes memory, and writes the registers in the fields of `arg` */
    SW_A64_LOAD_SIGNED, /* ldraa: an authenticated pointer's word */
    SW_A64_STRUCTURES,  /* vectors in memory, many at once; arg: the fields that give their size */
    SW_A64_TAGS,        /* memory tags, arg: bytes that are zeroed */
    SW_A64_BRANCH_19,   /* arg: has a condition in its low bits */
    SW_A64_BRANCH_14,
    SW_A64_JUMP,
    SW_A64_CALL,
    SW_A64_JUMP_REGISTER,
    SW_A64_CALL_REGISTER,
    SW_A64_RETURN,        /* by a register */
    SW_A64_RETURN_SIGNED, /* by lr */
    SW_A64_SYSTEM_CALL,
    SW_A64_TRAP,
    SW_A64_DOES_COUNT
};

/* How memory is addressed. Immediates are in units of the access; imm9 is in bytes. */
enum sw_a64_mode {
    SW_A64_AT_BASE = 0, /* [xn] */
    SW_A64_AT_IMM12,    /* [xn, #imm], unsigned */
    SW_A64_AT_IMM9,     /* [xn, #imm] */
    SW_A64_PRE_IMM9,    /* [xn, #imm]! */
    SW_A64_POST_IMM9,   /* [xn], #imm */
    SW_A64_AT_IMM7,
    SW_A64_PRE_IMM7,
    SW_A64_POST_IMM7,
    SW_A64_AT_INDEX,  /* [xn, xm] */
    SW_A64_AT_LITERAL /* pc + imm19 */
};

/* In arg of arithmetic: subtracts, sets flags, has 32 bits. */
enum { SW_A64_SUBTRACTS = 1, SW_A64_FLAGS = 2, SW_A64_32 = 4 };

/* In arg of memory: vector registers, a load that extends the sign, immediates in units of 16 bytes. */
enum { SW_A64_VECTOR = 1, SW_A64_SIGNED = 2, SW_A64_BY_16 = 4 };

/* In arg of WRITES: which fields. */
enum {
    SW_A64_RD = 1,  /* 4:0, also Rt */
    SW_A64_RN = 2,  /* 9:5 */
    SW_A64_RS = 4,  /* 20:16 */
    SW_A64_RT2 = 8, /* 14:10 */
    SW_A64_RS_NEXT = 16,
    SW_A64_RD_NEXT = 32,
    SW_A64_RD_EIGHT = 64 /* and the seven behind it */
};

/* In arg of STRUCTURES. */
enum { SW_A64_MULTIPLE = 1, SW_A64_POST = 2 };

/*
 * size   Of memory: bytes of one register; 0: as bits 31:30 say.
 * name   The instruction, as disassemblers call it, and which form of it.
 */
struct sw_a64_row {
    uint32_t mask;
    uint32_t bits;
    uint32_t sample;
    uint8_t does;
    uint8_t arg;
    uint8_t mode;
    uint8_t size;
    const char *name;
};

/* The row or field that a word matches, or null. */
const struct sw_a64_row *sw_a64_match(uint32_t word);

/* The rows, then the fields, by number; null behind the last. is_field: which of the two it is. */
const struct sw_a64_row *sw_a64_row_at(size_t number, int *is_field);

#endif
