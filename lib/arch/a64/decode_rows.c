/*
 * A64 instruction forms, a row each. A word without a row is unknown. Source: Arm ARM (DDI 0487), C4.1 "A64 instruction
 * set encoding"; the groups are those of its bits 28:25.
 */
#include "arch/a64/decode_rows.h"

#define DOES(does, arg) SW_A64_##does, arg, 0, 0
#define ROWS(rows)                                                                                                     \
    {                                                                                                                  \
        rows, sizeof(rows) / sizeof(rows)[0]                                                                           \
    }

enum {
    RD = SW_A64_RD,
    RN = SW_A64_RN,
    RS = SW_A64_RS,
    RT2 = SW_A64_RT2,
    RS_NEXT = SW_A64_RS_NEXT,
    RD_NEXT = SW_A64_RD_NEXT,
    RD_EIGHT = SW_A64_RD_EIGHT,
    SUB = SW_A64_SUBTRACTS,
    SETS = SW_A64_FLAGS,
    W = SW_A64_32
};

/* ---- with an immediate; C4.1.93 ---- */

static const struct sw_a64_row immediates[] = {
    /* mask      bits        sample      does, arg                        name */
    { 0xff800000, 0x91000000, 0x910083fd, DOES(ADD_IMMEDIATE, 0), "add x" },
    { 0xff800000, 0xd1000000, 0xd10083ff, DOES(ADD_IMMEDIATE, SUB), "sub x" },
    { 0xff800000, 0xb1000000, 0xb1000441, DOES(ADD_IMMEDIATE, SETS), "adds x" },
    { 0xff800000, 0xf1000000, 0xf1000441, DOES(ADD_IMMEDIATE, SUB | SETS), "subs x" },
    { 0xff800000, 0x11000000, 0x11000441, DOES(ADD_IMMEDIATE, W), "add w" },
    { 0xff800000, 0x51000000, 0x51000441, DOES(ADD_IMMEDIATE, W | SUB), "sub w" },
    { 0xff800000, 0x31000000, 0x31000441, DOES(ADD_IMMEDIATE, W | SETS), "adds w" },
    { 0xff800000, 0x71000000, 0x71000441, DOES(ADD_IMMEDIATE, W | SUB | SETS), "subs w" },
    { 0x9f000000, 0x10000000, 0x10000101, DOES(NEAR, 0), "adr" },
    { 0x9f000000, 0x90000000, 0x90000101, DOES(NEAR_PAGE, 0), "adrp" },
    { 0xff800000, 0xd2800000, 0xd2800101, DOES(MOVE_WIDE, 2), "mov x, movz" },
    { 0xff800000, 0x92800000, 0x92800101, DOES(MOVE_WIDE, 0), "mov x, movn" },
    { 0xff800000, 0xf2800000, 0xf2800101, DOES(MOVE_WIDE, 3), "movk x" },
    { 0xffc00000, 0x52800000, 0x52800101, DOES(MOVE_WIDE, 2 | W), "mov w, movz" },
    { 0xffc00000, 0x12800000, 0x12800101, DOES(MOVE_WIDE, 0 | W), "mov w, movn" },
    { 0xffc00000, 0x72800000, 0x72800101, DOES(MOVE_WIDE, 3 | W), "movk w" },
    { 0xff800000, 0x92000000, 0x9279e13f, DOES(AND_IMMEDIATE, 0), "and x" },
    { 0xff800000, 0xb2000000, 0xb27ae501, DOES(OR_IMMEDIATE, 0), "orr x" },
    { 0xff800000, 0xd2000000, 0xd27ae501, DOES(XOR_IMMEDIATE, 0), "eor x" },
    { 0xff800000, 0xf2000000, 0xf27ae501, DOES(AND_IMMEDIATE, SETS), "ands x" },
    { 0xffc00000, 0x12000000, 0x121a6501, DOES(AND_IMMEDIATE, W), "and w" },
    { 0xffc00000, 0x32000000, 0x321a6501, DOES(OR_IMMEDIATE, W), "orr w" },
    { 0xffc00000, 0x52000000, 0x521a6501, DOES(XOR_IMMEDIATE, W), "eor w" },
    { 0xffc00000, 0x72000000, 0x721a6501, DOES(AND_IMMEDIATE, W | SETS), "ands w" },
    { 0xffc00000, 0x93400000, 0x93438841, DOES(WRITES, RD), "sbfx x" },
    { 0xffc00000, 0xb3400000, 0xb3438841, DOES(WRITES, RD), "bfxil x" },
    { 0xffc00000, 0xd3400000, 0xd3438841, DOES(WRITES, RD), "ubfx x" },
    { 0xffe08000, 0x13000000, 0x13031841, DOES(WRITES, RD), "sbfx w" },
    { 0xffe08000, 0x33000000, 0x33031841, DOES(WRITES, RD), "bfxil w" },
    { 0xffe08000, 0x53000000, 0x53031841, DOES(WRITES, RD), "ubfx w" },
    { 0xffe00000, 0x93c00000, 0x93c31041, DOES(WRITES, RD), "extr x" },
    { 0xffe08000, 0x13800000, 0x13831041, DOES(WRITES, RD), "extr w" },
    { 0x7ff00000, 0x11c00000, 0x91c01441, DOES(WRITES, RD), "smax, with smin, umax, umin" },
    { 0xffc0c000, 0x91800000, 0x91810441, DOES(WRITES_SP, RD), "addg" },
    { 0xffc0c000, 0xd1800000, 0xd1810441, DOES(WRITES_SP, RD), "subg" },
    { 0xffc0001f, 0xf380001f, 0xf380003f, DOES(NOTHING, 0), "autiasppc, autibsppc" },
};

/* ---- branches, exceptions, system; C4.1.94 ---- */

static const struct sw_a64_row branches[] = {
    { 0xfc000000, 0x94000000, 0x94000004, DOES(CALL, 0), "bl" },
    { 0xfc000000, 0x14000000, 0x14000004, DOES(JUMP, 0), "b" },
    { 0xff000010, 0x54000000, 0x54000080, DOES(BRANCH_19, 1), "b.eq" },
    { 0xff000010, 0x54000010, 0x54000090, DOES(BRANCH_19, 1), "bc.eq" },
    { 0x7f000000, 0x34000000, 0xb4000081, DOES(BRANCH_19, 0), "cbz" },
    { 0x7f000000, 0x35000000, 0xb5000081, DOES(BRANCH_19, 0), "cbnz" },
    { 0x7f000000, 0x36000000, 0x36180081, DOES(BRANCH_14, 0), "tbz" },
    { 0x7f000000, 0x37000000, 0x37180081, DOES(BRANCH_14, 0), "tbnz" },
    { 0xfffffc1f, 0xd65f0000, 0xd65f03c0, DOES(RETURN, 0), "ret" },
    { 0xfffffc1f, 0xd61f0000, 0xd61f0200, DOES(JUMP_REGISTER, 0), "br" },
    { 0xfffffc1f, 0xd63f0000, 0xd63f0200, DOES(CALL_REGISTER, 0), "blr" },
    { 0xfffffbe0, 0xd65f0be0, 0xd65f0bff, DOES(RETURN_SIGNED, 0), "retaa, with retab, retaasppcr" },
    { 0xffc0001f, 0x5500001f, 0x5500003f, DOES(RETURN_SIGNED, 0), "retaasppc, retabsppc" },
    { 0xfffff81f, 0xd61f081f, 0xd61f0a1f, DOES(JUMP_REGISTER, 0), "braaz, brabz" },
    { 0xfffff800, 0xd71f0800, 0xd71f0a05, DOES(JUMP_REGISTER, 0), "braa, brab" },
    { 0xfffff81f, 0xd63f081f, 0xd63f0a1f, DOES(CALL_REGISTER, 0), "blraaz, blrabz" },
    { 0xfffff800, 0xd73f0800, 0xd73f0a05, DOES(CALL_REGISTER, 0), "blraa, blrab" },
    { 0xffffffff, 0xd69f03e0, 0xd69f03e0, DOES(TRAP, 0), "eret" },
    { 0xfffffbff, 0xd69f0bff, 0xd69f0bff, DOES(TRAP, 0), "eretaa, eretab" },
    { 0xffffffff, 0xd6bf03e0, 0xd6bf03e0, DOES(TRAP, 0), "drps" },
    { 0xffe0001f, 0xd4000001, 0xd4000001, DOES(SYSTEM_CALL, 0), "svc" },
    { 0xffe0001f, 0xd4000002, 0xd4000002, DOES(SYSTEM_CALL, 0), "hvc" },
    { 0xffe0001f, 0xd4000003, 0xd4000003, DOES(SYSTEM_CALL, 0), "smc" },
    { 0xffe0001f, 0xd4200000, 0xd4200020, DOES(TRAP, 0), "brk" },
    { 0xffe0001f, 0xd4400000, 0xd4400020, DOES(TRAP, 0), "hlt" },
    { 0xffe0001f, 0xd4600000, 0xd4600020, DOES(TRAP, 0), "tcancel" },
    { 0xffe0001f, 0xd4a00001, 0xd4a00001, DOES(TRAP, 0), "dcps1" },
    { 0xffe0001f, 0xd4a00002, 0xd4a00002, DOES(TRAP, 0), "dcps2" },
    { 0xffe0001f, 0xd4a00003, 0xd4a00003, DOES(TRAP, 0), "dcps3" },
    /* hints that sign, check and strip lr: CRm 0 (xpaclri) and 3; x17: CRm 1 */
    { 0xffffffff, 0xd50320ff, 0xd50320ff, DOES(SIGN, 0), "xpaclri" },
    { 0xffffff1f, 0xd503231f, 0xd503233f, DOES(SIGN, 0), "paciasp, with pacibsp, autiasp, autibsp, and zero" },
    { 0xffffff3f, 0xd503211f, 0xd503211f, DOES(SIGN_17, 0), "pacia1716, with pacib, autia, autib" },
    { 0xffffffe0, 0xd5031000, 0xd5031001, DOES(NOTHING, 0), "wfet" },
    { 0xffffffe0, 0xd5031020, 0xd5031021, DOES(NOTHING, 0), "wfit" },
    { 0xfffff01f, 0xd503301f, 0xd503309f, DOES(NOTHING, 0), "dsb, and other barriers" },
    { 0xfff8f01f, 0xd500401f, 0xd50041bf, DOES(NOTHING, 0), "msr immediate" },
    { 0xffffffe0, 0xd5233060, 0xd5233061, DOES(WRITES, RD), "tstart" },
    { 0xffffffe0, 0xd5233160, 0xd5233161, DOES(WRITES, RD), "ttest" },
    { 0xfff80000, 0xd5080000, 0xd50b7521, DOES(NOTHING, 0), "ic, and other sys" },
    { 0xfff80000, 0xd5280000, 0xd5280001, DOES(WRITES, RD), "sysl" },
    { 0xfff00000, 0xd5100000, 0xd51bd041, DOES(NOTHING, 0), "msr" },
    { 0xfff00000, 0xd5300000, 0xd53bd041, DOES(WRITES, RD), "mrs" },
    { 0xfff80000, 0xd5480000, 0xd5480002, DOES(NOTHING, 0), "sysp" },
    { 0xfff00000, 0xd5500000, 0xd5500002, DOES(NOTHING, 0), "msrr" },
    { 0xfff00000, 0xd5700000, 0xd5700002, DOES(WRITES, RD | RD_NEXT), "mrrs" },
};

/* ---- loads and stores; C4.1.96 ---- */

/* Two registers, in every addressing mode of pairs. np: non-temporal. */
#define PAIR_ROW(bits, more, mode, does, arg, size, name)                                                              \
    {                                                                                                                  \
        0xffc00000, (bits) | (more), (bits) | (more) | 0x10c41, SW_A64_##does, arg, SW_A64_##mode, size, name          \
    }
#define PAIR(bits, op, suffix, does, arg, size)                                                                        \
    PAIR_ROW(bits, 0x00800000, POST_IMM7, does, arg, size, op "p" suffix " post"),                                     \
        PAIR_ROW(bits, 0x01000000, AT_IMM7, does, arg, size, op "p" suffix),                                           \
        PAIR_ROW(bits, 0x01800000, PRE_IMM7, does, arg, size, op "p" suffix " pre")
#define PAIR_NP(bits, op, does, arg, size)                                                                             \
    PAIR_ROW(bits, 0, AT_IMM7, does, arg, size, op "np"), PAIR(bits, op, "", does, arg, size)

/* clang-format off */
/* One register, in every addressing mode of single registers. */
#define ONE(bits, op, suffix, does, arg, size) \
    { 0xffc00000, (bits) | 0x01000000, (bits) | 0x01000441, SW_A64_##does, arg, SW_A64_AT_IMM12, size, op "r" suffix }, \
        { 0xffe00c00, (bits), (bits) | 0x10041, SW_A64_##does, arg, SW_A64_AT_IMM9, size, op "ur" suffix }, \
        { 0xffe00c00, (bits) | 0x400, (bits) | 0x10441, SW_A64_##does, arg, SW_A64_POST_IMM9, size, \
          op "r" suffix " post" }, \
        { 0xffe00c00, (bits) | 0xc00, (bits) | 0x10c41, SW_A64_##does, arg, SW_A64_PRE_IMM9, size, \
          op "r" suffix " pre" }, \
        { 0xffe04c00, (bits) | 0x00204800, (bits) | 0x00246841, SW_A64_##does, arg, SW_A64_AT_INDEX, size, \
          op "r" suffix " index" }
#define ONE_OR_USER(bits, op, suffix, does, arg, size) \
    ONE(bits, op, suffix, does, arg, size), { \
        0xffe00c00, (bits) | 0x800, (bits) | 0x10841, SW_A64_##does, arg, SW_A64_AT_IMM9, size, op "tr" suffix " user" \
    }
/* clang-format on */

enum { VECTOR = SW_A64_VECTOR, SIGNED = SW_A64_SIGNED, BY_16 = SW_A64_BY_16 };

/* Bits 28:25 are 0100: pairs, exclusives. */
static const struct sw_a64_row pairs[] = {
    PAIR_NP(0xa8000000, "st", STORE_PAIR, 0, 8),
    PAIR_NP(0xa8400000, "ld", LOAD_PAIR, 0, 8),
    PAIR_NP(0x28000000, "st", STORE_PAIR, 0, 4),
    PAIR_NP(0x28400000, "ld", LOAD_PAIR, 0, 4),
    PAIR(0x68400000, "ld", "sw", LOAD_PAIR, SIGNED, 4),
    PAIR(0x68000000, "stg", "", STORE_PAIR, BY_16, 8),
    { 0x3fe00000, 0x08000000, 0xc8037c41, SW_A64_EXCHANGE, RS, SW_A64_AT_BASE, 0, "stxr, with stlxr" },
    { 0x3fe00000, 0x08400000, 0xc85f7c41, SW_A64_LOAD, 0, SW_A64_AT_BASE, 0, "ldxr, with ldaxr" },
    { 0xbfe00000, 0x88200000, 0xc8231041, SW_A64_EXCHANGE, RS, SW_A64_AT_BASE, 16, "stxp, with stlxp" },
    { 0xbfe00000, 0x88600000, 0xc87f1041, DOES(WRITES, RD | RT2), "ldxp, with ldaxp" },
    { 0xbfa07c00, 0x08207c00, 0x48247c42, SW_A64_EXCHANGE, RS | RS_NEXT, SW_A64_AT_BASE, 16, "casp" },
    { 0x3fe00000, 0x08800000, 0xc89ffc41, SW_A64_STORE, 0, SW_A64_AT_BASE, 0, "stlr, with stllr" },
    { 0x3fe00000, 0x08c00000, 0xc8dffc41, SW_A64_LOAD, 0, SW_A64_AT_BASE, 0, "ldar, with ldlar" },
    { 0x3fa07c00, 0x08a07c00, 0xc8a37c41, SW_A64_EXCHANGE, RS, SW_A64_AT_BASE, 0, "cas" },
};

/* Bits 28:25 are 1100: one register, atomics, tags, literals. */
static const struct sw_a64_row singles[] = {
    ONE_OR_USER(0xf8400000, "ld", "", LOAD, 0, 8),
    ONE_OR_USER(0xf8000000, "st", "", STORE, 0, 8),
    ONE_OR_USER(0xb8400000, "ld", "", LOAD, 0, 4),
    ONE_OR_USER(0xb8000000, "st", "", STORE, 0, 4),
    ONE_OR_USER(0xb8800000, "ld", "sw", LOAD, SIGNED, 4),
    ONE_OR_USER(0x38400000, "ld", "b", LOAD, 0, 1),
    ONE_OR_USER(0x38000000, "st", "b", STORE, 0, 1),
    ONE_OR_USER(0x78400000, "ld", "h", LOAD, 0, 2),
    ONE_OR_USER(0x78000000, "st", "h", STORE, 0, 2),
    ONE_OR_USER(0x38800000, "ld", "sb", LOAD, SIGNED, 1),
    ONE_OR_USER(0x38c00000, "ld", "sb", LOAD, SIGNED, 1),
    ONE_OR_USER(0x78800000, "ld", "sh", LOAD, SIGNED, 2),
    ONE_OR_USER(0x78c00000, "ld", "sh", LOAD, SIGNED, 2),
    { 0xffc00000, 0xf9800000, 0xf9800440, DOES(NOTHING, 0), "prfm" },
    { 0xffe00c00, 0xf8800000, 0xf8810040, DOES(NOTHING, 0), "prfum" },
    { 0xffe04c00, 0xf8a04800, 0xf8a46840, DOES(NOTHING, 0), "prfm index" },
    { 0xff000000, 0x58000000, 0x58000081, SW_A64_LOAD, 0, SW_A64_AT_LITERAL, 8, "ldr literal" },
    { 0xff000000, 0x18000000, 0x18000081, SW_A64_LOAD, 0, SW_A64_AT_LITERAL, 4, "ldr literal w" },
    { 0xff000000, 0x98000000, 0x98000081, SW_A64_LOAD, SIGNED, SW_A64_AT_LITERAL, 4, "ldrsw literal" },
    { 0xff000000, 0xd8000000, 0xd8000080, DOES(NOTHING, 0), "prfm literal" },
    { 0xff200c00, 0xf8200400, 0xf8210441, SW_A64_LOAD_SIGNED, 0, SW_A64_AT_IMM9, 8, "ldraa, ldrab" },
    { 0xff200c00, 0xf8200c00, 0xf8210c41, SW_A64_LOAD_SIGNED, 0, SW_A64_PRE_IMM9, 8, "ldraa pre, ldrab pre" },
    { 0x3f208c00, 0x38200000, 0xf8230041, SW_A64_EXCHANGE, RD, SW_A64_AT_BASE, 0, "ldadd, with ldclr to ldumin" },
    { 0x3f20fc00, 0x38208000, 0xf8238041, SW_A64_EXCHANGE, RD, SW_A64_AT_BASE, 0, "swp" },
    { 0x3ffffc00, 0x38bfc000, 0xf8bfc041, SW_A64_LOAD, 0, SW_A64_AT_BASE, 0, "ldapr" },
    { 0xfffffc00, 0xf83f9000, 0xf83f9040, SW_A64_EXCHANGE, 0, SW_A64_AT_BASE, 64, "st64b" },
    { 0xffe0ec00, 0xf820a000, 0xf823b040, SW_A64_EXCHANGE, RS, SW_A64_AT_BASE, 64, "st64bv, st64bv0" },
    { 0xfffffc00, 0xf83fd000, 0xf83fd040, DOES(WRITES, RD_EIGHT), "ld64b" },
    { 0x3fe00c00, 0x19000000, 0xd9010041, SW_A64_STORE, 0, SW_A64_AT_IMM9, 0, "stlur" },
    { 0x3fe00c00, 0x19400000, 0xd9410041, SW_A64_LOAD, 0, SW_A64_AT_IMM9, 0, "ldapur" },
    { 0xbfa00c00, 0x19800000, 0x19810041, SW_A64_LOAD, SIGNED, SW_A64_AT_IMM9, 0, "ldapursb, ldapursh" },
    { 0xffe00c00, 0x99800000, 0x99810041, SW_A64_LOAD, SIGNED, SW_A64_AT_IMM9, 0, "ldapursw" },
    { 0xffa00c00, 0x19000400, 0x19030441, DOES(WRITES, RD | RN | RS), "cpyfp, cpyfm" },
    { 0xffe00c00, 0x19800400, 0x19830441, DOES(WRITES, RD | RN | RS), "cpyfe" },
    { 0xffe00c00, 0x19c00400, 0x19c30441, DOES(WRITES, RD | RN), "setp, with setm, sete" },
    { 0xffe00c00, 0xd9200400, 0xd9201441, SW_A64_TAGS, 0, SW_A64_POST_IMM9, 16, "stg post" },
    { 0xffe00c00, 0xd9200800, 0xd9201841, SW_A64_TAGS, 0, SW_A64_AT_IMM9, 16, "stg" },
    { 0xffe00c00, 0xd9200c00, 0xd9201c41, SW_A64_TAGS, 0, SW_A64_PRE_IMM9, 16, "stg pre" },
    { 0xffe00c00, 0xd9600400, 0xd9601441, SW_A64_TAGS, 16, SW_A64_POST_IMM9, 16, "stzg post" },
    { 0xffe00c00, 0xd9600800, 0xd9601841, SW_A64_TAGS, 16, SW_A64_AT_IMM9, 16, "stzg" },
    { 0xffe00c00, 0xd9600c00, 0xd9601c41, SW_A64_TAGS, 16, SW_A64_PRE_IMM9, 16, "stzg pre" },
    { 0xffe00c00, 0xd9a00400, 0xd9a01441, SW_A64_TAGS, 0, SW_A64_POST_IMM9, 16, "st2g post" },
    { 0xffe00c00, 0xd9a00800, 0xd9a01841, SW_A64_TAGS, 0, SW_A64_AT_IMM9, 16, "st2g" },
    { 0xffe00c00, 0xd9a00c00, 0xd9a01c41, SW_A64_TAGS, 0, SW_A64_PRE_IMM9, 16, "st2g pre" },
    { 0xffe00c00, 0xd9e00400, 0xd9e01441, SW_A64_TAGS, 32, SW_A64_POST_IMM9, 16, "stz2g post" },
    { 0xffe00c00, 0xd9e00800, 0xd9e01841, SW_A64_TAGS, 32, SW_A64_AT_IMM9, 16, "stz2g" },
    { 0xffe00c00, 0xd9e00c00, 0xd9e01c41, SW_A64_TAGS, 32, SW_A64_PRE_IMM9, 16, "stz2g pre" },
    { 0xffe00c00, 0xd9600000, 0xd9601041, DOES(WRITES, RD), "ldg" },
    { 0xfffffc00, 0xd9e00000, 0xd9e00041, DOES(WRITES, RD), "ldgm" },
    { 0xff7ffc00, 0xd9200000, 0xd9a00041, DOES(NOTHING, 0), "stgm, stzgm" },
};

/* Bits 28:25 are 0110: vectors, pairs and structures. */
static const struct sw_a64_row vector_pairs[] = {
    PAIR_NP(0x6c000000, "st", STORE_PAIR, VECTOR, 8),
    PAIR_NP(0x6c400000, "ld", LOAD_PAIR, VECTOR, 8),
    PAIR_NP(0xac000000, "st", STORE_PAIR, VECTOR, 16),
    PAIR_NP(0xac400000, "ld", LOAD_PAIR, VECTOR, 16),
    PAIR_NP(0x2c000000, "st", STORE_PAIR, VECTOR, 4),
    PAIR_NP(0x2c400000, "ld", LOAD_PAIR, VECTOR, 4),
    { 0xbfbf0000, 0x0c000000, 0x4c007041, DOES(STRUCTURES, SW_A64_MULTIPLE), "st1, of many lanes" },
    { 0xbfa00000, 0x0c800000, 0x4c9f7041, DOES(STRUCTURES, SW_A64_MULTIPLE | SW_A64_POST), "st1 post, of many lanes" },
    { 0xbf9f0000, 0x0d000000, 0x4d008041, DOES(STRUCTURES, 0), "st1, of one lane" },
    { 0xbf800000, 0x0d800000, 0x4d9f8041, DOES(STRUCTURES, SW_A64_POST), "st1 post, of one lane" },
};

/* Bits 28:25 are 1110: vectors, one register. */
static const struct sw_a64_row vector_singles[] = {
    ONE(0xfc400000, "ld", " d", LOAD, VECTOR, 8),
    ONE(0xfc000000, "st", " d", STORE, VECTOR, 8),
    ONE(0x3cc00000, "ld", " q", LOAD, VECTOR, 16),
    ONE(0x3c800000, "st", " q", STORE, VECTOR, 16),
    ONE(0xbc400000, "ld", " s", LOAD, VECTOR, 4),
    ONE(0xbc000000, "st", " s", STORE, VECTOR, 4),
    ONE(0x3c400000, "ld", " b", LOAD, VECTOR, 1),
    ONE(0x3c000000, "st", " b", STORE, VECTOR, 1),
    ONE(0x7c400000, "ld", " h", LOAD, VECTOR, 2),
    ONE(0x7c000000, "st", " h", STORE, VECTOR, 2),
    { 0xffa00c00, 0x1d000400, 0x1d030441, DOES(WRITES, RD | RN | RS), "cpyp, cpym" },
    { 0xffe00c00, 0x1d800400, 0x1d830441, DOES(WRITES, RD | RN | RS), "cpye" },
    { 0xffe00c00, 0x1dc00400, 0x1dc30441, DOES(WRITES, RD | RN), "setgp, with setgm, setge" },
    { 0xff000000, 0x1c000000, 0x1c000081, DOES(NOTHING, 0), "ldr literal s" },
    { 0xff000000, 0x5c000000, 0x5c000081, DOES(NOTHING, 0), "ldr literal d" },
    { 0xff000000, 0x9c000000, 0x9c000081, DOES(NOTHING, 0), "ldr literal q" },
};

/* ---- with registers; C4.1.95 ---- */

static const struct sw_a64_row registers[] = {
    { 0xff200000, 0xaa000000, 0xaa0203e1, DOES(OR_SHIFTED, 0), "mov x, orr" },
    { 0xff208000, 0x2a000000, 0x2a0203e1, DOES(OR_SHIFTED, W), "mov w, orr" },
    { 0xff200000, 0x8b000000, 0x8b030041, DOES(ADD_SHIFTED, 0), "add x shifted" },
    { 0xff200000, 0xcb000000, 0xcb030041, DOES(ADD_SHIFTED, SUB), "sub x shifted" },
    { 0xff200000, 0xab000000, 0xab030041, DOES(ADD_SHIFTED, SETS), "adds x shifted" },
    { 0xff200000, 0xeb000000, 0xeb030041, DOES(ADD_SHIFTED, SUB | SETS), "subs x shifted" },
    { 0xff208000, 0x0b000000, 0x0b030041, DOES(ADD_SHIFTED, W), "add w shifted" },
    { 0xff208000, 0x4b000000, 0x4b030041, DOES(ADD_SHIFTED, W | SUB), "sub w shifted" },
    { 0xff208000, 0x2b000000, 0x2b030041, DOES(ADD_SHIFTED, W | SETS), "adds w shifted" },
    { 0xff208000, 0x6b000000, 0x6b030041, DOES(ADD_SHIFTED, W | SUB | SETS), "subs w shifted" },
    { 0xffe00000, 0x8b200000, 0x8b2c63ff, DOES(ADD_EXTENDED, 0), "add x extended" },
    { 0xffe00000, 0xcb200000, 0xcb2c63ff, DOES(ADD_EXTENDED, SUB), "sub x extended" },
    { 0xffe00000, 0xab200000, 0xab236041, DOES(ADD_EXTENDED, SETS), "adds x extended" },
    { 0xffe00000, 0xeb200000, 0xeb236041, DOES(ADD_EXTENDED, SUB | SETS), "subs x extended" },
    { 0xffe00000, 0x0b200000, 0x0b234041, DOES(ADD_EXTENDED, W), "add w extended" },
    { 0xffe00000, 0x4b200000, 0x4b234041, DOES(ADD_EXTENDED, W | SUB), "sub w extended" },
    { 0xffe00000, 0x2b200000, 0x2b234041, DOES(ADD_EXTENDED, W | SETS), "adds w extended" },
    { 0xffe00000, 0x6b200000, 0x6b234041, DOES(ADD_EXTENDED, W | SUB | SETS), "subs w extended" },
    { 0xff200000, 0x8a000000, 0x8a030041, DOES(WRITES, RD), "and x shifted" },
    { 0xff200000, 0x8a200000, 0x8a230041, DOES(WRITES, RD), "bic x" },
    { 0xff200000, 0xaa200000, 0xaa230041, DOES(WRITES, RD), "orn x" },
    { 0xff200000, 0xca000000, 0xca030041, DOES(WRITES, RD), "eor x shifted" },
    { 0xff200000, 0xca200000, 0xca230041, DOES(WRITES, RD), "eon x" },
    { 0xff200000, 0xea000000, 0xea030041, DOES(WRITES, RD), "ands x shifted" },
    { 0xff200000, 0xea200000, 0xea230041, DOES(WRITES, RD), "bics x" },
    { 0xff208000, 0x0a000000, 0x0a030041, DOES(WRITES, RD), "and w shifted" },
    { 0xff208000, 0x0a200000, 0x0a230041, DOES(WRITES, RD), "bic w" },
    { 0xff208000, 0x2a200000, 0x2a230041, DOES(WRITES, RD), "orn w" },
    { 0xff208000, 0x4a000000, 0x4a030041, DOES(WRITES, RD), "eor w shifted" },
    { 0xff208000, 0x4a200000, 0x4a230041, DOES(WRITES, RD), "eon w" },
    { 0xff208000, 0x6a000000, 0x6a030041, DOES(WRITES, RD), "ands w shifted" },
    { 0xff208000, 0x6a200000, 0x6a230041, DOES(WRITES, RD), "bics w" },
    { 0x1fe0fc00, 0x1a000000, 0x9a030041, DOES(WRITES, RD), "adc, with adcs, sbc, sbcs" },
    { 0x3fe00800, 0x1a800000, 0x9a830041, DOES(WRITES, RD), "csel, with csinc, csinv, csneg" },
    { 0x7fe00000, 0x1b000000, 0x9b031041, DOES(WRITES, RD), "madd, msub" },
    { 0xff600000, 0x9b200000, 0x9b231041, DOES(WRITES, RD), "smaddl, smsubl" },
    { 0xff608000, 0x9b400000, 0x9b437c41, DOES(WRITES, RD), "smulh, umulh" },
    { 0x7fe0f800, 0x1ac00800, 0x9ac30841, DOES(WRITES, RD), "udiv, sdiv" },
    { 0x7fe0f000, 0x1ac02000, 0x9ac32041, DOES(WRITES, RD), "lsl, with lsr, asr, ror" },
    { 0x7fe0e000, 0x1ac04000, 0x1ac34041, DOES(WRITES, RD), "crc32b, with the other sums" },
    { 0x7fe0f000, 0x1ac06000, 0x9ac36041, DOES(WRITES, RD), "smax x, with smin, umax, umin" },
    { 0xdfe0fc00, 0x9ac00000, 0x9ac30041, DOES(WRITES, RD), "subp, subps" },
    { 0xffe0fc00, 0x9ac01000, 0x9ac31041, DOES(WRITES_SP, RD), "irg" },
    { 0xffe0fc00, 0x9ac01400, 0x9ac31441, DOES(WRITES, RD), "gmi" },
    { 0xffe0fc00, 0x9ac03000, 0x9ac33041, DOES(WRITES, RD), "pacga" },
    { 0x7fffe000, 0x5ac00000, 0xdac00041, DOES(WRITES, RD), "rbit, with rev to cnt" },
    { 0x7ffffc00, 0x5ac02000, 0xdac02041, DOES(WRITES, RD), "abs" },
    { 0xffffe000, 0xdac10000, 0xdac10041, DOES(SIGN, RD), "pacia, with pacib to autdb" },
    { 0xffffe3e0, 0xdac123e0, 0xdac123e1, DOES(SIGN, RD), "paciza, with pacizb to autdzb" },
    { 0xfffffbe0, 0xdac143e0, 0xdac143e1, DOES(SIGN, RD), "xpaci, xpacd" },
};

/* ---- vectors to general registers; C4.1.97 ---- */

static const struct sw_a64_row from_vectors[] = {
    { 0x7f26fc00, 0x1e200000, 0x9e600041, DOES(WRITES, RD), "fcvtns, with the other roundings" },
    { 0x7f3efc00, 0x1e240000, 0x9e640041, DOES(WRITES, RD), "fcvtas, fcvtau" },
    { 0x7f3ffc00, 0x1e260000, 0x9e660041, DOES(WRITES, RD), "fmov, to general" },
    { 0xfffffc00, 0x9eae0000, 0x9eae0041, DOES(WRITES, RD), "fmov, the upper half" },
    { 0xfffffc00, 0x1e7e0000, 0x1e7e0041, DOES(WRITES, RD), "fjcvtzs" },
    { 0x7f3e0000, 0x1e180000, 0x9e58fc41, DOES(WRITES, RD), "fcvtzs, fcvtzu, of fixed point" },
    { 0xbfe0fc00, 0x0e002c00, 0x4e042c41, DOES(WRITES, RD), "smov" },
    { 0xbfe0fc00, 0x0e003c00, 0x4e083c41, DOES(WRITES, RD), "mov, umov" },
};

/* ---- scalable vectors; C4.1.91 ---- */

static const struct sw_a64_row scalable[] = {
    { 0xffe0f800, 0x04205000, 0x043f57df, DOES(ADD_VECTOR, 8), "addvl" },
    { 0xffe0f800, 0x04605000, 0x047f57df, DOES(ADD_VECTOR, 1), "addpl" },
    { 0xfffff800, 0x04bf5000, 0x04bf5021, DOES(WRITES, RD), "rdvl" },
    { 0xffa0f800, 0x04205800, 0x043f5bdf, DOES(WRITES_SP, RD), "addsvl, addspl" },
    { 0xfffff800, 0x04bf5800, 0x04bf5821, DOES(WRITES, RD), "rdsvl" },
    { 0xff30fc00, 0x0420e000, 0x0420e3e1, DOES(WRITES, RD), "cntb, with cnth, cntw, cntd" },
    { 0xff30f800, 0x0430e000, 0x0430e3e1, DOES(WRITES, RD), "incb, with dec, and h, w, d" },
    { 0xff20f000, 0x0420f000, 0x0430f3e1, DOES(WRITES, RD), "sqincb, with uq, dec, and h, w, d" },
    { 0xff3fc200, 0x25208000, 0x25208041, DOES(WRITES, RD), "cntp" },
    { 0xff3efe00, 0x252c8800, 0x252c8841, DOES(WRITES, RD), "incp, decp" },
    { 0xff3cfa00, 0x25288800, 0x25288841, DOES(WRITES, RD), "sqincp, with uq, dec" },
    { 0xff3ee000, 0x0520a000, 0x0520a041, DOES(WRITES, RD), "lasta, lastb" },
    { 0xff3ee000, 0x0530a000, 0x0530a041, DOES(WRITES, RD), "clasta, clastb" },
};

/* ---- the rest: groups without effect on general registers, memory below the frame's words aside ---- */

static const struct sw_a64_row udf[] = {
    { 0xffff0000, 0x00000000, 0x00000001, DOES(TRAP, 0), "udf" },
};

static const struct sw_a64_row fields[] = {
    { 0xfffff01f, 0xd503201f, 0xd503245f, DOES(NOTHING, 0), "bti c, and the hints that are no rows" },
    { 0x7e000000, 0x1e000000, 0x1e622820, DOES(NOTHING, 0), "fadd, and all of floating point" },
    { 0x9e000000, 0x0e000000, 0x4ea18420, DOES(NOTHING, 0), "add v, and all of vectors" },
    { 0xde000000, 0x5e000000, 0x5ee18420, DOES(NOTHING, 0), "add d, and all of single vector elements" },
    { 0xff000000, 0xce000000, 0xce020820, DOES(NOTHING, 0), "eor3, and other cryptography" },
    { 0x1e000000, 0x04000000, 0x04a00041, DOES(NOTHING, 0), "add z, and all of scalable vectors" },
    { 0x3fe00410, 0x3a400000, 0xfa430040, DOES(NOTHING, 0), "ccmp, ccmn" },
    { 0xffffbc1f, 0x3a00080d, 0x3a00082d, DOES(NOTHING, 0), "setf8, setf16" },
    { 0xffe07c10, 0xba000400, 0xba018440, DOES(NOTHING, 0), "rmif" },
};

static const struct sw_a64_group {
    const struct sw_a64_row *rows;
    size_t count;
} groups[16] = {
    [0] = ROWS(udf),
    [2] = ROWS(scalable),
    [4] = ROWS(pairs),
    [5] = ROWS(registers),
    [6] = ROWS(vector_pairs),
    [7] = ROWS(from_vectors),
    [8] = ROWS(immediates),
    [9] = ROWS(immediates),
    [10] = ROWS(branches),
    [11] = ROWS(branches),
    [12] = ROWS(singles),
    [13] = ROWS(registers),
    [14] = ROWS(vector_singles),
    [15] = ROWS(from_vectors),
};

/* Each table once, for sw_a64_row_at. */
static const uint8_t once[] = { 0, 2, 4, 5, 6, 7, 8, 10, 12, 14 };

static const struct sw_a64_row *look(const struct sw_a64_row *rows, size_t count, uint32_t word)
{
    for (size_t i = 0; i < count; i++)
        if ((word & rows[i].mask) == rows[i].bits)
            return &rows[i];
    return NULL;
}

const struct sw_a64_row *sw_a64_match(uint32_t word)
{
    const struct sw_a64_group *group = &groups[word >> 25 & 15];
    const struct sw_a64_row *row = look(group->rows, group->count, word);
    return row ? row : look(fields, sizeof fields / sizeof fields[0], word);
}

const struct sw_a64_row *sw_a64_row_at(size_t number, int *is_field)
{
    *is_field = 0;
    for (size_t i = 0; i < sizeof once; i++) {
        const struct sw_a64_group *group = &groups[once[i]];
        if (number < group->count)
            return &group->rows[number];
        number -= group->count;
    }
    *is_field = 1;
    return number < sizeof fields / sizeof fields[0] ? &fields[number] : NULL;
}
