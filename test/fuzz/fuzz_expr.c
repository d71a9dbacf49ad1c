/*
 * Any bytes as a DWARF expression: it ends, reads only through the reader, and gives a status. And where cfi/ turns it
 * into a plain location, that gives what the evaluator gives.
 */
#include "base/expr.h"
#include "cfi/record.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CFA = 0x7000, ANSWER = 3 }; /* rbx, x3 */

static size_t read_low(void *arg, uint64_t address, void *to, size_t size)
{
    (void)arg;
    if (address >= 0x10000)
        return 0;
    memset(to, (int)(address * 7 & 0x7f), size);
    return size;
}

static void invent_registers(struct sw_regs *regs, enum sw_machine machine)
{
    *regs = (struct sw_regs){ .machine = machine, .known = UINT64_C(0x1ffffefff) };
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        regs->r[n] = 0x100 * n + 0x40;
}

/* The value by a rule whose CFA is the pushed value, evaluated or as it is after reduction. */
static enum sw_status apply(struct sw_rule *rule, const struct sw_regs *regs, bool is_reduced, uint64_t *value)
{
    const struct sw_memory memory = { .read = read_low };
    struct sw_regs caller;
    rule->cfa = (struct sw_loc){ SW_LOC_REG, 1, 0, CFA - 0x140 };
    rule->r[sw_regs_pc_number(regs->machine)] = (struct sw_loc){ SW_LOC_CFA, 0, 0, 0 };
    if (is_reduced)
        sw_cfi_reduce(regs->machine, rule, sw_regs_pc(regs));
    const enum sw_status status = sw_rule_apply(rule, regs, &memory, &caller, NULL, NULL);
    *value = caller.r[ANSWER];
    return status != SW_OK ? status : sw_regs_has(&caller, ANSWER) ? SW_OK : SW_E_NO_RULE;
}

static void compare(const uint8_t *data, size_t size, const struct sw_regs *regs, uint8_t kind)
{
    struct sw_rule rule;
    uint64_t evaluated = 1, reduced = 2;
    sw_rule_init(&rule, regs->machine, SW_SOURCE_CFI, SW_TRUST_EXACT);
    rule.expr = data;
    rule.r[ANSWER] = (struct sw_loc){ kind, 0, (uint16_t)size, 0 };
    const enum sw_status first = apply(&rule, regs, false, &evaluated);
    const enum sw_status second = apply(&rule, regs, true, &reduced);
    if (first == SW_OK && second == SW_OK && evaluated != reduced)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > UINT16_MAX)
        return 0;
    struct sw_regs regs;
    const struct sw_memory memory = { .read = read_low };
    const uint64_t pushed = CFA;
    uint64_t value = 0;
    invent_registers(&regs, data[0] & 1 ? SW_MACHINE_ARM64 : SW_MACHINE_X64);
    if (sw_expr_eval(data + 1, size - 1, &regs, &memory, data[0] & 2 ? &pushed : NULL, &value) >= SW_STATUS_COUNT)
        abort();
    compare(data + 1, size - 1, &regs, data[0] & 4 ? SW_LOC_EXPR : SW_LOC_AT_EXPR);
    return 0;
}
