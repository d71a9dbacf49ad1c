/*
 * Simple expressions as plain locations. An expression is run over forms, base + number or [base + number] + number,
 * instead of over values; what leaves these forms is left to the evaluator. So the realigned frames of gcc, signal
 * frames and the PLT (whose only unknown beside rsp is the pc) cost nothing when the rule is applied.
 * Source of the shapes: dwarf-cfi.md sections 3 and 5.
 */
#include "base/expr.h"
#include "cfi/record.h"

enum { FORMS_MAX = 8 };

enum base { BASE_NONE, BASE_CFA, BASE_REG };

/* is_loaded: [base + inner] + add; otherwise base + add. */
struct form {
    uint8_t base;
    uint8_t reg;
    bool is_loaded;
    uint64_t inner;
    uint64_t add;
};

struct forms {
    enum sw_machine machine;
    uint64_t pc;
    unsigned depth;
    struct form stack[FORMS_MAX];
};

static bool push(struct forms *f, struct form form)
{
    if (f->depth == FORMS_MAX)
        return false;
    f->stack[f->depth++] = form;
    return true;
}

static bool push_register(struct forms *f, const struct sw_expr_op *op)
{
    const unsigned number = sw_dwarf_reg(f->machine, op->reg);
    if (number == SW_REGS_MAX)
        return false;
    if (number == sw_regs_pc_number(f->machine))
        return push(f, (struct form){ .base = BASE_NONE, .add = f->pc + op->value });
    return push(f, (struct form){ .base = BASE_REG, .reg = (uint8_t)number, .add = op->value });
}

static bool load(struct form *form, uint64_t size)
{
    if (form->base == BASE_NONE || form->is_loaded || size != 8)
        return false;
    form->is_loaded = true;
    form->inner = form->add;
    form->add = 0;
    return true;
}

static bool combine(struct forms *f, uint8_t code)
{
    enum { MINUS = 0x1c, PLUS = 0x22 };
    const struct form b = f->stack[--f->depth];
    struct form *a = &f->stack[f->depth - 1];
    if (a->base == BASE_NONE && b.base == BASE_NONE)
        return sw_expr_binary(code, a->add, b.add, &a->add);
    if (b.base == BASE_NONE && (code == PLUS || code == MINUS)) {
        a->add = code == PLUS ? a->add + b.add : a->add - b.add;
        return true;
    }
    if (a->base != BASE_NONE || code != PLUS)
        return false;
    const uint64_t number = a->add;
    *a = b;
    a->add += number;
    return true;
}

static bool step(struct forms *f, const struct sw_expr_op *op)
{
    const unsigned needed = op->does == SW_EXPR_BINARY ? 2 : op->does == SW_EXPR_ADD || op->does == SW_EXPR_LOAD;
    if (f->depth < needed)
        return false;
    switch (op->does) {
    case SW_EXPR_NOTHING:
        return true;
    case SW_EXPR_PUSH:
        return push(f, (struct form){ .base = BASE_NONE, .add = op->value });
    case SW_EXPR_REG:
        return push_register(f, op);
    case SW_EXPR_ADD:
        f->stack[f->depth - 1].add += op->value;
        return true;
    case SW_EXPR_LOAD:
        return load(&f->stack[f->depth - 1], op->value);
    case SW_EXPR_BINARY:
        return combine(f, op->code);
    default:
        return false;
    }
}

/* The form of an expression's value; false when it has none. */
static bool form_of(struct forms *f, const struct sw_rule *rule, struct sw_loc loc, struct form *form)
{
    const struct sw_bytes bytes = { rule->expr + loc.off, loc.size, 0 };
    struct sw_cursor c = sw_cursor_over(bytes);
    struct sw_expr_op op;
    while (sw_cursor_left(&c) > 0)
        if (!sw_expr_next(&c, &op) || !step(f, &op))
            return false;
    if (f->depth == 0)
        return false;
    *form = f->stack[f->depth - 1];
    return sw_fits_i32((int64_t)form->inner) && sw_fits_i32((int64_t)form->add);
}

static void reduce_cfa(struct forms *f, struct sw_rule *rule)
{
    struct form form;
    f->depth = 0;
    if (!form_of(f, rule, rule->cfa, &form) || form.base != BASE_REG)
        return;
    const uint64_t off = form.is_loaded ? form.inner : form.add;
    rule->cfa = (struct sw_loc){ form.is_loaded ? SW_LOC_AT_REG : SW_LOC_REG, form.reg, 0, (int32_t)(int64_t)off };
    rule->cfa_add = form.is_loaded ? (int32_t)(int64_t)form.add : 0;
}

/* Of a value [base + inner] + add there is a plain location only where add is 0; of an address never. */
static void reduce_register(struct forms *f, const struct sw_rule *rule, struct sw_loc *loc)
{
    static const uint8_t kinds[2][3] = { { 0, SW_LOC_CFA, SW_LOC_REG }, { 0, SW_LOC_AT_CFA, SW_LOC_AT_REG } };
    const bool is_address = loc->kind == SW_LOC_AT_EXPR;
    struct form form;
    f->depth = 0;
    (void)push(f, (struct form){ .base = BASE_CFA });
    if (!form_of(f, rule, *loc, &form) || form.base == BASE_NONE)
        return;
    if (form.is_loaded && (is_address || form.add != 0))
        return;
    const uint64_t off = form.is_loaded ? form.inner : form.add;
    *loc = (struct sw_loc){ kinds[is_address || form.is_loaded][form.base], form.reg, 0, (int32_t)(int64_t)off };
}

void sw_cfi_reduce(enum sw_machine machine, struct sw_rule *rule, uint64_t pc)
{
    struct forms f;
    f.machine = machine;
    f.pc = pc;
    if (rule->cfa.kind == SW_LOC_EXPR)
        reduce_cfa(&f, rule);
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (rule->r[n].kind == SW_LOC_EXPR || rule->r[n].kind == SW_LOC_AT_EXPR)
            reduce_register(&f, rule, &rule->r[n]);
}
