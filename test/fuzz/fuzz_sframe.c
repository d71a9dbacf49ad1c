/*
 * An SFrame section of arbitrary bytes, asked at pcs around its functions. Holds: a rule has a CFA by a register of the
 * machine, or ends the walk; the same question has the same answer.
 */
#include "sframe/sframe.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct sw_sframe *table, uint64_t pc)
{
    struct sw_rule rule, again;
    const enum sw_status status = sw_sframe_rule(table, pc, &rule);
    if (sw_sframe_rule(table, pc, &again) != status)
        abort();
    if (status != SW_OK || (rule.flags & SW_RULE_END))
        return;
    const bool has_cfa = rule.cfa.kind == SW_LOC_REG || rule.cfa.kind == SW_LOC_AT_REG;
    if (!has_cfa || rule.cfa.reg >= sw_regs_count(table->machine) || memcmp(&rule, &again, sizeof rule) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { SECTION_AT = 0x20b8 };
    struct sw_sframe table;
    if (sw_sframe_open((struct sw_bytes){ data, size, SECTION_AT }, &table) != SW_OK)
        return 0;
    for (uint64_t pc = 0xff0; pc < 0x1050; pc++)
        ask(&table, pc);
    for (unsigned i = 0; i < 64; i++)
        ask(&table, UINT64_C(1) << i);
    return 0;
}
