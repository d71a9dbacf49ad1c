/*
 * Rules of x64, packed for the rule cache: they come out as they went in, or are refused; and which of them the fast
 * lane goes by. SysV's and Windows' functions: these preserve rsi and rdi too, and save some registers above the CFA.
 */
#include "rows.h"

#include "arch/arch.h"
#include "fast/entry.h"

#include <string.h>

enum { RBX = SW_X64_RBX, RBP = SW_X64_RBP, RSI = SW_X64_RSI, RDI = SW_X64_RDI, RSP = SW_X64_RSP, RIP = SW_X64_RIP };
enum { SAME = 1000, LOST = 1001 };

/*
 * CFA = reg + off; where rbp, rbx, rsi and rdi are: bytes from the CFA, SAME or LOST. easy: how the fast lane goes on.
 * losses: SW_STEP_LOSES*.
 */
static const struct rule_row {
    const char *name;
    bool fits;
    uint8_t reg;
    int32_t off, rbp, rbx, rsi, rdi;
    uint64_t easy, losses;
} rows[] = {
    { "sysv_leaf", true, RSP, 8, SAME, SAME, LOST, LOST, SW_STEP_PLAIN, SW_STEP_LOSES_SI },
    { "sysv_frame", true, RBP, 16, -16, -24, LOST, LOST, SW_STEP_FRAMED, SW_STEP_LOSES_SI },
    { "sysv_loses_rbx", true, RSP, 32, -16, LOST, LOST, LOST, SW_STEP_PLAIN, SW_STEP_LOSES | SW_STEP_LOSES_SI },
    { "sysv_loses_rbp", true, RSP, 32, LOST, SAME, LOST, LOST, 0, SW_STEP_LOSES | SW_STEP_LOSES_SI },
    { "windows_leaf", true, RSP, 8, SAME, SAME, SAME, SAME, SW_STEP_PLAIN, 0 },
    { "windows_pushes", true, RSP, 64, -16, -24, -32, -40, SW_STEP_PLAIN, 0 },
    { "windows_home_space", true, RSP, 64, 8, 0, 16, 24, SW_STEP_PLAIN, 0 },
    { "windows_by_rbp", true, RBP, 96, -16, SAME, SAME, -24, SW_STEP_SINGLE, 0 },
    { "windows_loses_rsi", true, RSP, 64, SAME, SAME, LOST, SAME, SW_STEP_PLAIN, SW_STEP_LOSES_SI },
    { "as_near_as_the_lane_looks", true, RSP, 800, -16, SAME, SAME, -8 * SW_SLOT_NEAR, SW_STEP_PLAIN, 0 },
    { "a_word_farther", true, RSP, 800, -16, SAME, SAME, -8 * SW_SLOT_NEAR - 8, 0, 0 },
    { "as_far_as_a_byte_tells", true, RSP, 4000, -16, SAME, -8 * 251, SAME, 0, 0 },
    { "too_far", false, RSP, 4000, -16, SAME, -8 * 252, SAME, 0, 0 },
    { "above_the_home_space", false, RSP, 64, SAME, SAME, 32, SAME, 0, 0 },
    { "no_whole_word", false, RSP, 64, SAME, SAME, -12, SAME, 0, 0 },
    { "a_far_cfa", false, RSP, 8 * 32768, SAME, SAME, SAME, SAME, 0, 0 },
};

static struct sw_loc location(int32_t at)
{
    if (at == SAME || at == LOST)
        return (struct sw_loc){ at == SAME ? SW_LOC_SAME : SW_LOC_UNKNOWN, 0, 0, 0 };
    return (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, at };
}

static struct sw_rule rule_of(const struct rule_row *row)
{
    struct sw_rule rule;
    sw_rule_init(&rule, SW_MACHINE_X64, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT);
    rule.cfa = (struct sw_loc){ SW_LOC_REG, row->reg, 0, row->off };
    rule.r[RIP] = location(-8);
    rule.r[RBP] = location(row->rbp);
    rule.r[RBX] = location(row->rbx);
    rule.r[RSI] = location(row->rsi);
    rule.r[RDI] = location(row->rdi);
    return rule;
}

static void rules_come_out_as_they_went_in(void **state)
{
    const struct rule_row *row = *state;
    const struct sw_rule in = rule_of(row);
    struct sw_packed_rule packed;
    struct sw_rule out;
    assert_int_equal(sw_x64_codec.pack(&in, &packed), row->fits);
    if (!row->fits)
        return;
    sw_x64_codec.unpack(&packed, &out);
    assert_memory_equal(&in.cfa, &out.cfa, sizeof in.cfa);
    assert_memory_equal(in.r, out.r, sizeof in.r);
    assert_int_equal(packed.step & SW_STEP_EASY, row->easy);
    assert_int_equal(packed.step & (SW_STEP_LOSES | SW_STEP_LOSES_SI), row->losses);
    assert_int_equal(packed.step & SW_STEP_OF_ENTRY, 0);
}

static bool is_known(const struct rule_row *row, unsigned n)
{
    return rule_of(row).r[n].kind != SW_LOC_UNKNOWN;
}

/* What a caller knows of its registers, where its callee knows all, and where it knows none. */
static void what_is_known_follows(void **state)
{
    const struct rule_row *row = *state;
    const struct sw_rule in = rule_of(row);
    struct sw_packed_rule packed;
    if (!sw_x64_codec.pack(&in, &packed))
        return;
    const uint64_t all = (UINT64_C(1) << SW_X64_COUNT) - 1, few = UINT64_C(1) << RIP | UINT64_C(1) << RSP;
    for (unsigned n = 0; n < SW_X64_COUNT; n++) {
        assert_int_equal(sw_known_behind(SW_MACHINE_X64, all, packed.same) >> n & 1, is_known(row, n));
        assert_int_equal(sw_known_behind(SW_MACHINE_X64, few, packed.same) >> n & 1,
                         n == RIP || n == RSP || in.r[n].kind == SW_LOC_AT_CFA);
    }
}

int main(void)
{
    struct CMUnitTest tests[2 * COUNT_OF(rows)];
    size_t count = 0;
    ADD_ROWS(tests, count, rows, rules_come_out_as_they_went_in);
    ADD_ROWS(tests, count, rows, what_is_known_follows);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
