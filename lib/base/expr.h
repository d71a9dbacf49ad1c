/*
 * DWARF expressions as unwind tables use them, evaluated over registers and memory. Bounded in steps and stack.
 * Register numbers in expressions are DWARF's; the caller's table turns them into those of regs.h.
 */
#ifndef SW_BASE_EXPR_H
#define SW_BASE_EXPR_H

#include "base/bytes.h"

#include <snapwalk/memory.h>
#include <snapwalk/regs.h>

enum { SW_DWARF_MACHINES = SW_MACHINE_ARM64 + 1, SW_DWARF_REGS = 64 };

/* ORDER sw_machine. By DWARF's number: one more than the number in regs.h; 0: none of ours. */
extern const uint8_t sw_dwarf_numbers[SW_DWARF_MACHINES][SW_DWARF_REGS];

/* The number in regs.h of a DWARF register, or SW_REGS_MAX when it is none of ours. x64: dwarf-cfi.md section 4. */
static inline unsigned sw_dwarf_reg(enum sw_machine machine, uint64_t dwarf)
{
    const bool is_listed = dwarf < SW_DWARF_REGS && (unsigned)machine < SW_DWARF_MACHINES;
    const unsigned one_more = is_listed ? sw_dwarf_numbers[machine][dwarf] : 0;
    return one_more ? one_more - 1 : SW_REGS_MAX;
}

/* What an operation does. The many spellings of one idea (const1u, lit3, bregx, ...) come out as one of these. */
enum sw_expr_does {
    SW_EXPR_UNKNOWN = 0, /* not an operation of ours */
    SW_EXPR_NOTHING,
    SW_EXPR_PUSH, /* push value */
    SW_EXPR_REG,  /* push register reg (DWARF's number) + value */
    SW_EXPR_ADD,  /* top += value */
    SW_EXPR_LOAD, /* top = the `value` bytes at address top: 1, 2, 4 or 8 */
    SW_EXPR_PICK, /* push the entry `value` below the top */
    SW_EXPR_DROP,
    SW_EXPR_SWAP,
    SW_EXPR_ROTATE, /* top three: the top goes below the other two */
    SW_EXPR_UNARY,  /* top = code(top) */
    SW_EXPR_BINARY, /* pop two, push code(second, top) */
    SW_EXPR_SKIP,   /* jump by value */
    SW_EXPR_BRANCH  /* pop; jump by value when it was not 0 */
};

struct sw_expr_op {
    uint8_t does; /* enum sw_expr_does */
    uint8_t code; /* the byte it was */
    uint64_t reg;
    uint64_t value;
};

/*
 * The operation at the cursor, which moves past it.
 *
 * Returns  False: its operands are cut off, or there is no such operation.
 */
bool sw_expr_next(struct sw_cursor *c, struct sw_expr_op *op);

/* code(a, b) of a BINARY operation, a pushed before b. False for a division by zero. */
bool sw_expr_binary(uint8_t code, uint64_t a, uint64_t b, uint64_t *result);

/*
 * push     Initial stack: nothing when null, else one value.
 * value    The top of the stack at the end.
 *
 * Returns  SW_OK; SW_E_MALFORMED (stack underflow, unknown operation, jump outside, division by zero, ends without a
 *          value); SW_E_LIMIT (1000 steps, 64 values); SW_E_UNREADABLE; SW_E_NO_RULE (an unknown register).
 * Source   DWARF 5 section 2.5; dwarf-cfi.md section 3.
 */
SW_NODISCARD enum sw_status sw_expr_eval(const uint8_t *expr, size_t size, const struct sw_regs *regs,
                                         const struct sw_memory *memory, const uint64_t *push, uint64_t *value);

#endif
