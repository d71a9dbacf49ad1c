/*
 * DWARF expressions: operations are rows (byte -> operands, action), so the evaluator below and the one of cfi/ that
 * works on forms instead of numbers read them the same way. Knows no frames, no tables; refuses operations that need
 * an object, a thread or a location (addr is taken as it stands: unwind tables do not use it).
 * Source: DWARF 5 section 2.5 and 7.7.1; dwarf-cfi.md section 3.
 */
#include "base/expr.h"
#include "base/memory.h"

enum { STEPS_MAX = 1000, STACK_MAX = 64 };

/* Source: SysV AMD64 psABI, figure 3.36; AADWARF64, table 1. */
#define R(number) ((number) + 1)
const uint8_t sw_dwarf_numbers[SW_DWARF_MACHINES][SW_DWARF_REGS] = {
    [SW_MACHINE_X64] = { R(SW_X64_RAX), R(SW_X64_RDX), R(SW_X64_RCX), R(SW_X64_RBX), R(SW_X64_RSI), R(SW_X64_RDI),
                         R(SW_X64_RBP), R(SW_X64_RSP), R(SW_X64_R8), R(SW_X64_R9), R(SW_X64_R10), R(SW_X64_R11),
                         R(SW_X64_R12), R(SW_X64_R13), R(SW_X64_R14), R(SW_X64_R15), R(SW_X64_RIP) },
    [SW_MACHINE_ARM64] = { R(0),  R(1),  R(2),  R(3),  R(4),  R(5),  R(6),  R(7),  R(8),  R(9),  R(10),
                           R(11), R(12), R(13), R(14), R(15), R(16), R(17), R(18), R(19), R(20), R(21),
                           R(22), R(23), R(24), R(25), R(26), R(27), R(28), R(29), R(30), R(31), R(32) },
};
#undef R

enum operand { NONE = 0, U1, U2, U4, U8, S1, S2, S4, S8, ULEB, SLEB };

/* Bytes of the fixed operands. */
static const uint8_t widths[] = { [U1] = 1, [U2] = 2, [U4] = 4, [U8] = 8, [S1] = 1, [S2] = 2, [S4] = 4, [S8] = 8 };

/*
 * reg     Operand that is a register number.
 * value   Operand that is the value; without one the value is `fixed`.
 */
static const struct row {
    uint8_t does;
    uint8_t reg;
    uint8_t value;
    uint8_t fixed;
} rows[] = {
    [0x03] = { SW_EXPR_PUSH, NONE, U8, 0 },     /* addr */
    [0x06] = { SW_EXPR_LOAD, NONE, NONE, 8 },   /* deref */
    [0x08] = { SW_EXPR_PUSH, NONE, U1, 0 },     /* const1u */
    [0x09] = { SW_EXPR_PUSH, NONE, S1, 0 },     /* const1s */
    [0x0a] = { SW_EXPR_PUSH, NONE, U2, 0 },     /* const2u */
    [0x0b] = { SW_EXPR_PUSH, NONE, S2, 0 },     /* const2s */
    [0x0c] = { SW_EXPR_PUSH, NONE, U4, 0 },     /* const4u */
    [0x0d] = { SW_EXPR_PUSH, NONE, S4, 0 },     /* const4s */
    [0x0e] = { SW_EXPR_PUSH, NONE, U8, 0 },     /* const8u */
    [0x0f] = { SW_EXPR_PUSH, NONE, S8, 0 },     /* const8s */
    [0x10] = { SW_EXPR_PUSH, NONE, ULEB, 0 },   /* constu */
    [0x11] = { SW_EXPR_PUSH, NONE, SLEB, 0 },   /* consts */
    [0x12] = { SW_EXPR_PICK, NONE, NONE, 0 },   /* dup */
    [0x13] = { SW_EXPR_DROP, NONE, NONE, 0 },   /* drop */
    [0x14] = { SW_EXPR_PICK, NONE, NONE, 1 },   /* over */
    [0x15] = { SW_EXPR_PICK, NONE, U1, 0 },     /* pick */
    [0x16] = { SW_EXPR_SWAP, NONE, NONE, 0 },   /* swap */
    [0x17] = { SW_EXPR_ROTATE, NONE, NONE, 0 }, /* rot */
    [0x19] = { SW_EXPR_UNARY, NONE, NONE, 0 },  /* abs */
    [0x1a] = { SW_EXPR_BINARY, NONE, NONE, 0 }, /* and */
    [0x1b] = { SW_EXPR_BINARY, NONE, NONE, 0 }, /* div */
    [0x1c] = { SW_EXPR_BINARY, NONE, NONE, 0 }, /* minus */
    [0x1d] = { SW_EXPR_BINARY, NONE, NONE, 0 }, /* mod */
    [0x1e] = { SW_EXPR_BINARY, NONE, NONE, 0 }, /* mul */
    [0x1f] = { SW_EXPR_UNARY, NONE, NONE, 0 },  /* neg */
    [0x20] = { SW_EXPR_UNARY, NONE, NONE, 0 },  /* not */
    [0x21] = { SW_EXPR_BINARY, NONE, NONE, 0 }, /* or */
    [0x22] = { SW_EXPR_BINARY, NONE, NONE, 0 }, /* plus */
    [0x23] = { SW_EXPR_ADD, NONE, ULEB, 0 },    /* plus_uconst */
    [0x24] = { SW_EXPR_BINARY, NONE, NONE, 0 }, /* shl */
    [0x25] = { SW_EXPR_BINARY, NONE, NONE, 0 }, /* shr */
    [0x26] = { SW_EXPR_BINARY, NONE, NONE, 0 }, /* shra */
    [0x27] = { SW_EXPR_BINARY, NONE, NONE, 0 }, /* xor */
    [0x28] = { SW_EXPR_BRANCH, NONE, S2, 0 },   /* bra */
    [0x29] = { SW_EXPR_BINARY, NONE, NONE, 0 }, /* eq */
    [0x2a] = { SW_EXPR_BINARY, NONE, NONE, 0 }, /* ge */
    [0x2b] = { SW_EXPR_BINARY, NONE, NONE, 0 }, /* gt */
    [0x2c] = { SW_EXPR_BINARY, NONE, NONE, 0 }, /* le */
    [0x2d] = { SW_EXPR_BINARY, NONE, NONE, 0 }, /* lt */
    [0x2e] = { SW_EXPR_BINARY, NONE, NONE, 0 }, /* ne */
    [0x2f] = { SW_EXPR_SKIP, NONE, S2, 0 },     /* skip */
    [0x90] = { SW_EXPR_REG, ULEB, NONE, 0 },    /* regx */
    [0x92] = { SW_EXPR_REG, ULEB, SLEB, 0 },    /* bregx */
    [0x94] = { SW_EXPR_LOAD, NONE, U1, 0 },     /* deref_size */
    [0x96] = { SW_EXPR_NOTHING, NONE, NONE, 0 } /* nop */
};

static uint64_t read_operand(struct sw_cursor *c, uint8_t operand)
{
    switch (operand) {
    case U1:
    case U2:
    case U4:
    case U8:
        return sw_cursor_u(c, widths[operand]);
    case S1:
    case S2:
    case S4:
    case S8:
        return (uint64_t)sw_cursor_s(c, widths[operand]);
    case ULEB:
        return sw_cursor_uleb(c);
    default:
        return (uint64_t)sw_cursor_sleb(c);
    }
}

/* The three families of 32 operations that hold a number in their byte. */
static bool read_family(struct sw_cursor *c, struct sw_expr_op *op)
{
    const unsigned low = (op->code - 0x10u) & 0x1f;
    switch ((op->code - 0x10u) >> 5) {
    case 1: /* 30..4f lit */
        op->does = SW_EXPR_PUSH;
        op->value = low;
        return true;
    case 2: /* 50..6f reg: a location, which producers use for the value in it */
        op->does = SW_EXPR_REG;
        op->reg = low;
        return true;
    case 3: /* 70..8f breg */
        op->does = SW_EXPR_REG;
        op->reg = low;
        op->value = (uint64_t)sw_cursor_sleb(c);
        return sw_cursor_ok(c);
    default:
        return false;
    }
}

bool sw_expr_next(struct sw_cursor *c, struct sw_expr_op *op)
{
    *op = (struct sw_expr_op){ .code = (uint8_t)sw_cursor_u(c, 1) };
    if (!sw_cursor_ok(c))
        return false;
    if (op->code >= 0x30 && op->code <= 0x8f)
        return read_family(c, op);
    if (op->code >= sizeof rows / sizeof rows[0])
        return false;
    const struct row *row = &rows[op->code];
    op->does = row->does;
    op->reg = row->reg ? read_operand(c, row->reg) : 0;
    op->value = row->value ? read_operand(c, row->value) : row->fixed;
    return sw_cursor_ok(c) && op->does != SW_EXPR_UNKNOWN;
}

/* INT64_MIN / -1 has no value in C; two's complement gives the dividend again. */
static bool divide(uint64_t a, uint64_t b, uint64_t *result)
{
    if (b == 0)
        return false;
    *result = b == UINT64_MAX ? -a : (uint64_t)((int64_t)a / (int64_t)b);
    return true;
}

static uint64_t shift_right(uint64_t a, uint64_t b, uint64_t fill)
{
    if (b > 63)
        return fill;
    return b == 0 ? a : a >> b | (fill << (64 - b));
}

/* 29..2e: which outcomes of a comparison make it true. */
enum { LESS = 1, EQUAL = 2, GREATER = 4 };
static const uint8_t comparisons[] = { EQUAL, GREATER | EQUAL, GREATER, LESS | EQUAL, LESS, LESS | GREATER };

static uint64_t compare(uint8_t code, int64_t a, int64_t b)
{
    const unsigned outcome = a < b ? LESS : a > b ? GREATER : EQUAL;
    return (comparisons[code - 0x29] & outcome) != 0;
}

bool sw_expr_binary(uint8_t code, uint64_t a, uint64_t b, uint64_t *result)
{
    if (code >= 0x29 && code <= 0x2e) {
        *result = compare(code, (int64_t)a, (int64_t)b);
        return true;
    }
    switch (code) {
    case 0x1a:
        *result = a & b;
        return true;
    case 0x1b:
        return divide(a, b, result);
    case 0x1c:
        *result = a - b;
        return true;
    case 0x1d: /* unsigned, as libgcc and libdw have it */
        *result = b ? a % b : 0;
        return b != 0;
    case 0x1e:
        *result = a * b;
        return true;
    case 0x21:
        *result = a | b;
        return true;
    case 0x22:
        *result = a + b;
        return true;
    case 0x24:
        *result = b > 63 ? 0 : a << b;
        return true;
    case 0x25:
        *result = shift_right(a, b, 0);
        return true;
    case 0x26:
        *result = shift_right(a, b, (int64_t)a < 0 ? UINT64_MAX : 0);
        return true;
    case 0x27:
        *result = a ^ b;
        return true;
    default:
        return false;
    }
}

static uint64_t unary(uint8_t code, uint64_t a)
{
    if (code == 0x20)
        return ~a;
    return code == 0x1f || (int64_t)a < 0 ? -a : a; /* neg; abs */
}

struct machine {
    struct sw_cursor at;
    const uint8_t *begin;
    const struct sw_regs *regs;
    const struct sw_memory *memory;
    unsigned depth;
    uint64_t stack[STACK_MAX];
};

/* How many values an action takes off the stack, or looks at; SW_EXPR_PICK has its own check. */
static const uint8_t needs[] = {
    [SW_EXPR_ADD] = 1,    [SW_EXPR_LOAD] = 1,  [SW_EXPR_DROP] = 1,   [SW_EXPR_SWAP] = 2,
    [SW_EXPR_ROTATE] = 3, [SW_EXPR_UNARY] = 1, [SW_EXPR_BINARY] = 2, [SW_EXPR_BRANCH] = 1
};

static enum sw_status push_value(struct machine *m, uint64_t value)
{
    if (m->depth == STACK_MAX)
        return SW_E_LIMIT;
    m->stack[m->depth++] = value;
    return SW_OK;
}

static enum sw_status push_register(struct machine *m, const struct sw_expr_op *op)
{
    const unsigned number = sw_dwarf_reg(m->regs->machine, op->reg);
    if (!sw_regs_has(m->regs, number))
        return SW_E_NO_RULE;
    return push_value(m, m->regs->r[number] + op->value);
}

static enum sw_status load(struct machine *m, uint64_t size)
{
    uint8_t bytes[8];
    uint64_t *top = &m->stack[m->depth - 1];
    if (size != 1 && size != 2 && size != 4 && size != 8)
        return SW_E_MALFORMED;
    if (sw_memory_read(m->memory, *top, bytes, (size_t)size) != size)
        return SW_E_UNREADABLE;
    *top = sw_load_le(bytes, (unsigned)size);
    return SW_OK;
}

/* Relative to the byte after the operand; the end of the expression is a target too. */
static enum sw_status jump(struct machine *m, uint64_t by)
{
    const int64_t to = (m->at.at - m->begin) + (int64_t)by;
    if (to < 0 || to > m->at.end - m->begin)
        return SW_E_MALFORMED;
    m->at.at = m->begin + to;
    return SW_OK;
}

static enum sw_status combine(struct machine *m, uint8_t code)
{
    const uint64_t b = m->stack[--m->depth];
    uint64_t *a = &m->stack[m->depth - 1];
    return sw_expr_binary(code, *a, b, a) ? SW_OK : SW_E_MALFORMED;
}

static void rotate(uint64_t *top, unsigned count)
{
    const uint64_t first = *top;
    for (; count > 1; count--, top--)
        *top = top[-1];
    *top = first;
}

static enum sw_status step(struct machine *m, const struct sw_expr_op *op)
{
    if (op->does < sizeof needs && m->depth < needs[op->does])
        return SW_E_MALFORMED;
    uint64_t *top = &m->stack[m->depth ? m->depth - 1 : 0];
    switch (op->does) {
    case SW_EXPR_PUSH:
        return push_value(m, op->value);
    case SW_EXPR_REG:
        return push_register(m, op);
    case SW_EXPR_PICK:
        return op->value < m->depth ? push_value(m, top[-(ptrdiff_t)op->value]) : SW_E_MALFORMED;
    case SW_EXPR_LOAD:
        return load(m, op->value);
    case SW_EXPR_BINARY:
        return combine(m, op->code);
    case SW_EXPR_SKIP:
        return jump(m, op->value);
    case SW_EXPR_BRANCH:
        m->depth--;
        return *top ? jump(m, op->value) : SW_OK;
    case SW_EXPR_ADD:
        *top += op->value;
        break;
    case SW_EXPR_DROP:
        m->depth--;
        break;
    case SW_EXPR_SWAP:
        rotate(top, 2);
        break;
    case SW_EXPR_ROTATE:
        rotate(top, 3);
        break;
    case SW_EXPR_UNARY:
        *top = unary(op->code, *top);
        break;
    default: /* nop */
        break;
    }
    return SW_OK;
}

enum sw_status sw_expr_eval(const uint8_t *expr, size_t size, const struct sw_regs *regs,
                            const struct sw_memory *memory, const uint64_t *push, uint64_t *value)
{
    struct machine m; /* the stack is left as it is: only what was pushed is read */
    m.at = sw_cursor_over((struct sw_bytes){ expr, size, 0 });
    m.begin = m.at.at;
    m.regs = regs;
    m.memory = memory;
    m.depth = 0;
    if (push)
        m.stack[m.depth++] = *push;
    for (unsigned steps = 0; sw_cursor_left(&m.at) > 0; steps++) {
        struct sw_expr_op op;
        if (steps == STEPS_MAX)
            return SW_E_LIMIT;
        if (!sw_expr_next(&m.at, &op))
            return SW_E_MALFORMED;
        const enum sw_status status = step(&m, &op);
        if (status != SW_OK)
            return status;
    }
    if (m.depth == 0)
        return SW_E_MALFORMED;
    *value = m.stack[m.depth - 1];
    return SW_OK;
}
