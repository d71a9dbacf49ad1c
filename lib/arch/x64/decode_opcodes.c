/*
 * The tables of decode_opcodes.h, laid out and named like Intel SDM vol. 2, appendix A: ModRM's rm names E and W, its
 * reg names G and V (W and V are no general registers), O is the register in the opcode, A the accumulator, I an
 * immediate. Compilers refuse two rows for one opcode (initializer overrides), so rows are disjoint. Rare opcodes have
 * no row. Knows encodings only; test/unit/x64_quick.c compares every row with Zydis.
 */
#include "arch/x64/decode_opcodes.h"

/* clang-format off */
enum { N = AT_NOTHING, I = AT_IMM, O = AT_OPCODE, A = AT_ACC, E = AT_RM, G = AT_REG, W = AT_VRM, V = AT_VREG };
enum { B = 1, Q = 8, S = SIZE_V, Y = SIZE_Y, L = SIZE_L };
enum { NO = IMM_NONE, IB = IMM_8, IW = IMM_16, ID = IMM_32, IZ = IMM_Z, IV = IMM_V };
enum {
    WR = ROW_WRITES,
    XC = ROW_WRITES | ROW_BOTH,
    LK = ROW_WRITES | ROW_LOCK,
    FX = ROW_FIXED,
    MEM = ROW_MEMORY,
    REG = ROW_REG,
    REP = ROW_REP,
    PLAIN = ROW_NO_REX,
    VVVV = ROW_VVVV,
    L0 = ROW_L0
};
enum {
    RAX = 1 << SW_X64_RAX,
    RCX = 1 << SW_X64_RCX,
    RDX = 1 << SW_X64_RDX,
    RBX = 1 << SW_X64_RBX,
    R11 = 1 << SW_X64_R11
};
/* Groups. */
enum {
    ARITH_B, ARITH_Z, ARITH_IB, POP_8F, MOV_C6, MOV_C7, UNARY_F6, UNARY_F7, INC_FE, INC_FF, BITS_BA,
    SHIFT_V, SHIFT_Q, SHIFT_OQ, ENDBR
};

#define ROW(op, to, from, size, imm, flags) { SW_X64_##op, to, from, size, imm, flags, 0 }
#define IMPLIES(op, to, from, size, imm, flags, implied) { SW_X64_##op, to, from, size, imm, flags, implied }
#define GROUP(number) { 0, AT_GROUP, 0, 0, number, 0, 0 }
#define PREFIX(has) { 0, AT_PREFIX, 0, 0, has, 0, 0 }

#define TWO(at, ...) [at] = __VA_ARGS__, [(at) + 1] = __VA_ARGS__
#define FOUR(at, ...) TWO(at, __VA_ARGS__), TWO((at) + 2, __VA_ARGS__)
#define EIGHT(at, ...) FOUR(at, __VA_ARGS__), FOUR((at) + 4, __VA_ARGS__)
#define SIXTEEN(at, ...) EIGHT(at, __VA_ARGS__), EIGHT((at) + 8, __VA_ARGS__)

/* The six forms that eight arithmetic instructions share. */
#define ARITH(at, op, writes, locks)                                                                                   \
    [at] = ROW(op, E, G, B, NO, locks), [(at) + 1] = ROW(op, E, G, S, NO, locks),                                      \
    [(at) + 2] = ROW(op, G, E, B, NO, writes), [(at) + 3] = ROW(op, G, E, S, NO, writes),                              \
    [(at) + 4] = ROW(op, A, I, B, IB, writes), [(at) + 5] = ROW(op, A, I, S, IZ, writes)

const struct sw_x64_row sw_x64_one_byte[256] = {
    ARITH(0x00, ADD, WR, LK),   ARITH(0x08, OR, WR, LK),    ARITH(0x10, OTHER /* adc */, WR, LK),
    ARITH(0x18, OTHER /* sbb */, WR, LK),                   ARITH(0x20, AND, WR, LK),
    ARITH(0x28, SUB, WR, LK),   ARITH(0x30, XOR, WR, LK),   ARITH(0x38, CMP, 0, 0),
    [0x0f] = { .to = AT_ESCAPE },
    [0x26] = PREFIX(HAS_SEGMENT), [0x2e] = PREFIX(HAS_SEGMENT),
    [0x36] = PREFIX(HAS_SEGMENT), [0x3e] = PREFIX(HAS_SEGMENT),
    SIXTEEN(0x40, { .to = AT_REX }),
    EIGHT(0x50, ROW(PUSH,   O, N, Q, NO, FX)),
    EIGHT(0x58, ROW(POP,    O, N, Q, NO, FX)),
    [0x63]    = ROW(MOVSXD, G, E, S, NO, WR),
    TWO(0x64, PREFIX(HAS_SEGMENT | HAS_FS_GS)), [0x66] = PREFIX(HAS_66),
    [0x68]    = ROW(PUSH,   I, N, Q, ID, FX),
    [0x69]    = ROW(OTHER,  G, E, S, IZ, WR),               /* imul */
    [0x6a]    = ROW(PUSH,   I, N, Q, IB, FX),
    [0x6b]    = ROW(OTHER,  G, E, S, IB, WR),               /* imul */
    SIXTEEN(0x70, ROW(BRANCH, I, N, Q, IB, FX)),            /* jcc */
    [0x80] = GROUP(ARITH_B), [0x81] = GROUP(ARITH_Z), [0x83] = GROUP(ARITH_IB),
    [0x84]    = ROW(OTHER,  E, G, B, NO, 0),                /* test */
    [0x85]    = ROW(OTHER,  E, G, S, NO, 0),
    [0x86]    = ROW(XCHG,   E, G, B, NO, XC | LK),
    [0x87]    = ROW(XCHG,   E, G, S, NO, XC | LK),
    [0x88]    = ROW(MOV,    E, G, B, NO, WR),
    [0x89]    = ROW(MOV,    E, G, S, NO, WR),
    [0x8a]    = ROW(MOV,    G, E, B, NO, WR),
    [0x8b]    = ROW(MOV,    G, E, S, NO, WR),
    [0x8d]    = ROW(LEA,    G, E, S, NO, WR | MEM),
    [0x8f]    = GROUP(POP_8F),
    [0x90]    = ROW(OTHER,  N, N, S, NO, PLAIN | REP),      /* nop, pause; with REX.B xchg r8, rax */
    [0x91]    = ROW(XCHG,   O, A, S, NO, XC),
    TWO(0x92,   ROW(XCHG,   O, A, S, NO, XC)),
    FOUR(0x94,  ROW(XCHG,   O, A, S, NO, XC)),
    [0x98] = IMPLIES(OTHER, N, N, S, NO, 0, RAX),           /* cwde, cdqe */
    [0x99] = IMPLIES(OTHER, N, N, S, NO, 0, RDX),           /* cdq, cqo */
    [0x9c]    = ROW(PUSH,   N, N, Q, NO, FX),               /* pushfq */
    [0x9d]    = ROW(POP,    N, N, Q, NO, FX),               /* popfq */
    [0xa8]    = ROW(OTHER,  A, I, B, IB, 0),                /* test */
    [0xa9]    = ROW(OTHER,  A, I, S, IZ, 0),
    EIGHT(0xb0, ROW(MOV,    O, I, B, IB, WR)),
    EIGHT(0xb8, ROW(MOV,    O, I, S, IV, WR)),
    [0xc0]    = ROW(OTHER,  E, I, B, IB, WR),               /* rol ror rcl rcr shl shr sal sar */
    [0xc1]    = ROW(OTHER,  E, I, S, IB, WR),
    [0xc2]    = ROW(RET,    I, N, Q, IW, FX),
    [0xc3]    = ROW(RET,    N, N, Q, NO, FX | REP),
    [0xc4] = { .to = AT_VEX_3 }, [0xc5] = { .to = AT_VEX_2 },
    [0xc6] = GROUP(MOV_C6), [0xc7] = GROUP(MOV_C7),
    [0xc9]    = ROW(LEAVE,  N, N, Q, NO, FX),
    [0xcc]    = ROW(TRAP,   N, N, Q, NO, FX),               /* int3 */
    [0xcd]    = ROW(INT,    I, N, Q, IB, FX),
    [0xd0]    = ROW(OTHER,  E, N, B, NO, WR),               /* shifts and rotations by 1, by cl */
    [0xd1]    = ROW(OTHER,  E, N, S, NO, WR),
    [0xd2]    = ROW(OTHER,  E, N, B, NO, WR),
    [0xd3]    = ROW(OTHER,  E, N, S, NO, WR),
    [0xe8]    = ROW(CALL,   I, N, Q, ID, FX),
    [0xe9]    = ROW(JMP,    I, N, Q, ID, FX),
    [0xeb]    = ROW(JMP,    I, N, Q, IB, FX),
    [0xf0] = PREFIX(HAS_LOCK), [0xf2] = PREFIX(HAS_F2), [0xf3] = PREFIX(HAS_F3),
    [0xf4]    = ROW(TRAP,   N, N, Q, NO, FX),               /* hlt */
    [0xf5]    = ROW(OTHER,  N, N, Q, NO, FX),               /* cmc */
    [0xf6] = GROUP(UNARY_F6), [0xf7] = GROUP(UNARY_F7),
    TWO(0xf8,   ROW(OTHER,  N, N, Q, NO, FX)),              /* clc stc */
    TWO(0xfc,   ROW(OTHER,  N, N, Q, NO, FX)),              /* cld std */
    [0xfe] = GROUP(INC_FE), [0xff] = GROUP(INC_FF),
};

#define ARITH_GROUP(size, imm) {                                                                                       \
    ROW(ADD, E, I, size, imm, LK), ROW(OR,  E, I, size, imm, LK), ROW(OTHER, E, I, size, imm, LK),                     \
    ROW(OTHER, E, I, size, imm, LK), ROW(AND, E, I, size, imm, LK), ROW(SUB, E, I, size, imm, LK),                     \
    ROW(XOR, E, I, size, imm, LK), ROW(CMP, E, I, size, imm, 0) }
/* test test not neg mul imul div idiv */
#define UNARY_GROUP(size, imm, pair) {                                                                                 \
    ROW(OTHER, E, I, size, imm, 0), ROW(OTHER, E, I, size, imm, 0),                                                    \
    ROW(OTHER, E, N, size, NO, LK), ROW(OTHER, E, N, size, NO, LK),                                                    \
    IMPLIES(OTHER, E, N, size, NO, 0, pair), IMPLIES(OTHER, E, N, size, NO, 0, pair),                                  \
    IMPLIES(OTHER, E, N, size, NO, 0, pair), IMPLIES(OTHER, E, N, size, NO, 0, pair) }

const struct sw_x64_row sw_x64_groups[][8] = {
    [ARITH_B]  = ARITH_GROUP(B, IB),
    [ARITH_Z]  = ARITH_GROUP(S, IZ),
    [ARITH_IB] = ARITH_GROUP(S, IB),
    [POP_8F]   = { [0] = ROW(POP, E, N, Q, NO, FX) },
    [MOV_C6]   = { [0] = ROW(MOV, E, I, B, IB, WR) },
    [MOV_C7]   = { [0] = ROW(MOV, E, I, S, IZ, WR) },
    [UNARY_F6] = UNARY_GROUP(B, IB, RAX),
    [UNARY_F7] = UNARY_GROUP(S, IZ, RAX | RDX),
    [INC_FE]   = { [0] = ROW(INC, E, N, B, NO, LK), [1] = ROW(DEC, E, N, B, NO, LK) },
    [INC_FF]   = { [0] = ROW(INC, E, N, S, NO, LK), [1] = ROW(DEC, E, N, S, NO, LK), [2] = ROW(CALL, E, N, Q, NO, FX),
                   [4] = ROW(JMP, E, N, Q, NO, FX), [6] = ROW(PUSH, E, N, Q, NO, FX) },
    /* bt bts btr btc */
    [BITS_BA]  = { [4] = ROW(OTHER, E, I, S, IB, 0),  [5] = ROW(OTHER, E, I, S, IB, LK),
                   [6] = ROW(OTHER, E, I, S, IB, LK), [7] = ROW(OTHER, E, I, S, IB, LK) },
    /* Shifts of vectors by a constant. VVVV counts behind VEX only: there it names the result. */
    [SHIFT_V]  = { [2] = ROW(OTHER, W, I, Q, IB, REG | VVVV), [4] = ROW(OTHER, W, I, Q, IB, REG | VVVV),
                   [6] = ROW(OTHER, W, I, Q, IB, REG | VVVV) },
    [SHIFT_Q]  = { [2] = ROW(OTHER, W, I, Q, IB, REG), [6] = ROW(OTHER, W, I, Q, IB, REG) },
    [SHIFT_OQ] = { [2] = ROW(OTHER, W, I, Q, IB, REG | VVVV), [3] = ROW(OTHER, W, I, Q, IB, REG | VVVV),
                   [6] = ROW(OTHER, W, I, Q, IB, REG | VVVV), [7] = ROW(OTHER, W, I, Q, IB, REG | VVVV) },
    [ENDBR]    = { [7] = ROW(OTHER, E, N, Q, NO, REG) },
};

/* On general registers; 66 is the operand's size. */
#define SIZED                                                                                                          \
    [0x1f] = ROW(OTHER, E, N, S, NO, 0),                    /* nop */                                                  \
    SIXTEEN(0x40, ROW(OTHER, G, E, S, NO, WR)),             /* cmovcc */                                               \
    [0xa3] = ROW(OTHER, E, G, S, NO, 0),                    /* bt */                                                   \
    [0xa4] = ROW(OTHER, E, G, S, IB, WR),                   /* shld */                                                 \
    [0xa5] = ROW(OTHER, E, G, S, NO, WR),                                                                              \
    [0xab] = ROW(OTHER, E, G, S, NO, LK),                   /* bts */                                                  \
    [0xac] = ROW(OTHER, E, G, S, IB, WR),                   /* shrd */                                                 \
    [0xad] = ROW(OTHER, E, G, S, NO, WR),                                                                              \
    [0xaf] = ROW(OTHER, G, E, S, NO, WR),                   /* imul */                                                 \
    [0xb1] = IMPLIES(OTHER, E, G, S, NO, LK, RAX),          /* cmpxchg */                                              \
    [0xb3] = ROW(OTHER, E, G, S, NO, LK),                   /* btr */                                                  \
    TWO(0xb6, ROW(OTHER, G, E, S, NO, WR)),                 /* movzx */                                                \
    [0xba] = GROUP(BITS_BA),                                                                                           \
    [0xbb] = ROW(OTHER, E, G, S, NO, LK),                   /* btc */                                                  \
    TWO(0xbc, ROW(OTHER, G, E, S, NO, WR)),                 /* bsf bsr */                                              \
    TWO(0xbe, ROW(OTHER, G, E, S, NO, WR)),                 /* movsx */                                                \
    [0xc1] = ROW(OTHER, E, G, S, NO, XC | LK)               /* xadd */

/* On SSE registers without and with 66, on MMX registers without: only memory and general registers count. */
#define READS(imm, flags) ROW(OTHER, V, W, Q, imm, flags)
#define STORES(size, flags) ROW(OTHER, W, V, size, NO, WR | (flags))
#define TO_GENERAL(imm, flags) ROW(OTHER, G, W, Y, imm, WR | (flags))
#define PACKED                                                                                                         \
    [0x10] = READS(NO, 0),       [0x11] = STORES(16, 0),     [0x13] = STORES(8, MEM),    TWO(0x14, READS(NO, 0)),      \
    [0x17] = STORES(8, MEM),     [0x28] = READS(NO, 0),      [0x29] = STORES(16, 0),     [0x2a] = READS(NO, 0),        \
    [0x2b] = STORES(16, MEM),    FOUR(0x2c, READS(NO, 0)),   [0x50] = TO_GENERAL(NO, REG), [0x51] = READS(NO, 0),      \
    FOUR(0x54, READS(NO, 0)),    EIGHT(0x58, READS(NO, 0)),  EIGHT(0x60, READS(NO, 0)),  FOUR(0x68, READS(NO, 0)),     \
    TWO(0x6e, READS(NO, 0)),     [0x70] = READS(IB, 0),      [0x71] = GROUP(SHIFT_V),    [0x72] = GROUP(SHIFT_V),      \
    [0x73] = GROUP(SHIFT_Q),     TWO(0x74, READS(NO, 0)),    [0x76] = READS(NO, 0),                                    \
    [0x7e] = ROW(OTHER, E, V, Y, NO, WR),                    [0xc2] = READS(IB, 0),      [0xc4] = READS(IB, 0),        \
    [0xc5] = TO_GENERAL(IB, REG), [0xc6] = READS(IB, 0),     [0xd1] = READS(NO, 0),      TWO(0xd2, READS(NO, 0)),      \
    TWO(0xd4, READS(NO, 0)),     [0xd7] = TO_GENERAL(NO, REG), EIGHT(0xd8, READS(NO, 0)), FOUR(0xe0, READS(NO, 0)),    \
    TWO(0xe4, READS(NO, 0)),     EIGHT(0xe8, READS(NO, 0)),  [0xf1] = READS(NO, 0),      TWO(0xf2, READS(NO, 0)),      \
    TWO(0xf4, READS(NO, 0)),     [0xf6] = READS(NO, 0),      FOUR(0xf8, READS(NO, 0)),   TWO(0xfc, READS(NO, 0)),      \
    [0xfe] = READS(NO, 0)
/* On one element. */
#define SCALAR(size)                                                                                                   \
    [0x10] = READS(NO, 0),       [0x11] = STORES(size, 0),   [0x12] = READS(NO, 0),      [0x2a] = READS(NO, 0),        \
    TWO(0x2c, TO_GENERAL(NO, 0)), [0x51] = READS(NO, 0),     TWO(0x58, READS(NO, 0)),    [0x5a] = READS(NO, 0),        \
    FOUR(0x5c, READS(NO, 0)),    [0x70] = READS(IB, 0),      [0xc2] = READS(IB, 0),      [0xe6] = READS(NO, 0)

const struct sw_x64_row sw_x64_two_byte[PLANES][256] = {
    [PLANE_NONE] = {
        SIZED,
        PACKED,
        [0x05]  = IMPLIES(OTHER, N, N, Q, NO, 0, RCX | R11),              /* syscall */
        [0x0b]  = ROW(TRAP, N, N, Q, NO, 0),                              /* ud2 */
        [0x12]  = READS(NO, 0),                                           /* movlps, movhlps */
        [0x16]  = READS(NO, 0),                                           /* movhps, movlhps */
        [0x18]  = ROW(OTHER, E, N, B, NO, MEM),                           /* prefetch */
        [0x31]  = IMPLIES(OTHER, N, N, Q, NO, 0, RAX | RDX),              /* rdtsc */
        TWO(0x52, READS(NO, 0)),                                          /* rsqrtps rcpps */
        [0x77]  = ROW(OTHER, N, N, Q, NO, 0),                             /* emms */
        [0x7f]  = STORES(8, 0),
        SIXTEEN(0x80, ROW(BRANCH, I, N, Q, ID, 0)),                       /* jcc */
        SIXTEEN(0x90, ROW(OTHER, E, N, B, NO, WR)),                       /* setcc */
        [0xa2]  = IMPLIES(OTHER, N, N, Q, NO, 0, RAX | RBX | RCX | RDX),  /* cpuid */
        [0xb0]  = IMPLIES(OTHER, E, G, B, NO, LK, RAX),                   /* cmpxchg */
        [0xc0]  = ROW(OTHER, E, G, B, NO, XC | LK),                       /* xadd */
        [0xc3]  = ROW(OTHER, E, G, Y, NO, WR | MEM),                      /* movnti */
        EIGHT(0xc8, ROW(OTHER, O, N, Y, NO, WR)),                         /* bswap */
        [0xe7]  = STORES(8, MEM),                                         /* movntq */
    },
    [PLANE_66] = {
        SIZED,
        PACKED,
        [0x12]  = READS(NO, MEM),                                         /* movlpd */
        [0x16]  = READS(NO, MEM),                                         /* movhpd */
        TWO(0x6c, READS(NO, 0)),                                          /* punpcklqdq punpckhqdq */
        TWO(0x7c, READS(NO, 0)),                                          /* haddpd hsubpd */
        [0x7f]  = STORES(16, 0),
        [0xd0]  = READS(NO, 0),                                           /* addsubpd */
        [0xd6]  = STORES(8, 0),                                           /* movq */
        [0xe6]  = READS(NO, 0),                                           /* cvttpd2dq */
        [0xe7]  = STORES(16, MEM),                                        /* movntdq */
    },
    [PLANE_F3] = {
        SCALAR(4),
        [0x16]  = READS(NO, 0),                                           /* movshdup */
        TWO(0x52, READS(NO, 0)),                                          /* rsqrtss rcpss */
        [0x1e]  = GROUP(ENDBR),
        [0x5b]  = READS(NO, 0),                                           /* cvttps2dq */
        [0x6f]  = READS(NO, 0),
        [0x7e]  = READS(NO, 0),                                           /* movq */
        [0x7f]  = STORES(16, 0),
        [0xb8]  = ROW(OTHER, G, E, S, NO, WR),                            /* popcnt */
        TWO(0xbc, ROW(OTHER, G, E, S, NO, WR)),                           /* tzcnt lzcnt */
    },
    [PLANE_F2] = {
        SCALAR(8),
        TWO(0x7c, READS(NO, 0)),                                          /* haddps hsubps */
        [0xd0]  = READS(NO, 0),                                           /* addsubps */
        [0xf0]  = READS(NO, MEM),                                         /* lddqu */
    },
};

/* The same behind VEX; mostly with one more register to read. */
#define READS_3(imm) READS(imm, VVVV)
#define VEX_PACKED                                                                                                     \
    [0x10] = READS(NO, 0),       [0x11] = STORES(L, 0),      [0x13] = STORES(8, MEM | L0), TWO(0x14, READS_3(NO)),     \
    [0x17] = STORES(8, MEM | L0), [0x28] = READS(NO, 0),     [0x29] = STORES(L, 0),      [0x2b] = STORES(L, MEM),      \
    TWO(0x2e, READS(NO, 0)),     [0x50] = TO_GENERAL(NO, REG), [0x51] = READS(NO, 0),    FOUR(0x54, READS_3(NO)),      \
    TWO(0x58, READS_3(NO)),      TWO(0x5a, READS(NO, 0)),    FOUR(0x5c, READS_3(NO)),    [0xc2] = READS_3(IB),         \
    [0xc6] = READS_3(IB)
#define VEX_SCALAR(size)                                                                                               \
    [0x10] = READS(NO, MEM),     [0x11] = STORES(size, MEM), [0x12] = READS(NO, 0),      [0x2a] = READS_3(NO),         \
    TWO(0x2c, TO_GENERAL(NO, 0)), [0x51] = READS_3(NO),      TWO(0x58, READS_3(NO)),     [0x5a] = READS_3(NO),         \
    FOUR(0x5c, READS_3(NO)),     [0x70] = READS(IB, 0),      [0xc2] = READS_3(IB),       [0xe6] = READS(NO, 0)

const struct sw_x64_row sw_x64_vex[PLANES][256] = {
    [PLANE_NONE] = {
        VEX_PACKED,
        [0x12]  = READS(NO, VVVV | L0),                                   /* vmovlps, vmovhlps */
        [0x16]  = READS(NO, VVVV | L0),                                   /* vmovhps, vmovlhps */
        TWO(0x52, READS(NO, 0)),                                          /* vrsqrtps vrcpps */
        [0x77]  = ROW(OTHER, N, N, Q, NO, 0),                             /* vzeroupper vzeroall */
    },
    [PLANE_66] = {
        VEX_PACKED,
        [0x12]  = READS(NO, MEM | VVVV | L0),                             /* vmovlpd */
        [0x16]  = READS(NO, MEM | VVVV | L0),                             /* vmovhpd */
        EIGHT(0x60, READS_3(NO)), FOUR(0x68, READS_3(NO)), TWO(0x6c, READS_3(NO)),
        [0x6e]  = READS(NO, L0),                                          /* vmovd vmovq */
        [0x6f]  = READS(NO, 0),
        [0x70]  = READS(IB, 0),                                           /* vpshufd */
        [0x71]  = GROUP(SHIFT_V), [0x72] = GROUP(SHIFT_V), [0x73] = GROUP(SHIFT_OQ),
        TWO(0x74, READS_3(NO)), [0x76] = READS_3(NO), TWO(0x7c, READS_3(NO)),
        [0x7e]  = ROW(OTHER, E, V, Y, NO, WR | L0),                       /* vmovd vmovq */
        [0x7f]  = STORES(L, 0),
        [0xc4]  = READS(IB, VVVV | L0),                                   /* vpinsrw */
        [0xc5]  = TO_GENERAL(IB, REG | L0),                               /* vpextrw */
        FOUR(0xd0, READS_3(NO)), TWO(0xd4, READS_3(NO)),
        [0xd6]  = STORES(8, L0),                                          /* vmovq */
        [0xd7]  = TO_GENERAL(NO, REG),                                    /* vpmovmskb */
        EIGHT(0xd8, READS_3(NO)), FOUR(0xe0, READS_3(NO)), TWO(0xe4, READS_3(NO)),
        [0xe6]  = READS(NO, 0),                                           /* vcvttpd2dq */
        [0xe7]  = STORES(L, MEM),                                         /* vmovntdq */
        EIGHT(0xe8, READS_3(NO)), [0xf1] = READS_3(NO), TWO(0xf2, READS_3(NO)), TWO(0xf4, READS_3(NO)),
        [0xf6]  = READS_3(NO), FOUR(0xf8, READS_3(NO)), TWO(0xfc, READS_3(NO)), [0xfe] = READS_3(NO),
    },
    [PLANE_F3] = {
        VEX_SCALAR(4),
        [0x16]  = READS(NO, 0),                                           /* vmovshdup */
        TWO(0x52, READS_3(NO)),                                           /* vrsqrtss vrcpss */
        [0x5b]  = READS(NO, 0),                                           /* vcvttps2dq */
        [0x6f]  = READS(NO, 0),
        [0x7e]  = READS(NO, L0),                                          /* vmovq */
        [0x7f]  = STORES(L, 0),
    },
    [PLANE_F2] = {
        VEX_SCALAR(8),
        TWO(0x7c, READS_3(NO)),                                           /* vhaddps vhsubps */
        [0xd0]  = READS_3(NO),                                            /* vaddsubps */
        [0xf0]  = READS(NO, MEM),                                         /* vlddqu */
    },
};
/* clang-format on */
