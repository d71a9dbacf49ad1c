/*
 * DWARF expressions: every operation, the stack and step bounds, broken ones. And encoded pointers, every format and
 * base.
 */
#include "rows.h"

#include "base/expr.h"
#include "base/pointer.h"

#include <string.h>

#define B(text) text, sizeof(text) - 1

enum { MEMORY = 0x1000 };

static const uint8_t memory_bytes[] = { 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xee };

/* Registers that differ from each other and from every expected value; r14 is not known. */
static struct sw_regs invent(void)
{
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        if (n != SW_X64_R14)
            sw_regs_set(&regs, n, 0xbad0000 + 0x100 * n);
    sw_regs_set(&regs, SW_X64_RSP, 0x7000);
    sw_regs_set(&regs, SW_X64_RIP, 0x40101c);
    regs.r[SW_X64_R14] = 0xdead;
    return regs;
}

static const uint64_t pushed = 0x5000;

static const struct row {
    const char *name;
    const char *bytes;
    size_t size;
    enum sw_status status;
    uint64_t value;
} rows[] = {
    { "expr_starts_with_the_pushed_value", B("\x96"), SW_OK, 0x5000 },
    { "expr_that_is_empty_gives_the_pushed_value", B(""), SW_OK, 0x5000 },
    { "expr_addr", B("\x03\x08\x07\x06\x05\x04\x03\x02\x01"), SW_OK, 0x0102030405060708 },
    { "expr_const1u", B("\x08\xff"), SW_OK, 255 },
    { "expr_const1s", B("\x09\xff"), SW_OK, UINT64_MAX },
    { "expr_const2u", B("\x0a\xfe\xff"), SW_OK, 0xfffe },
    { "expr_const2s", B("\x0b\xfe\xff"), SW_OK, UINT64_MAX - 1 },
    { "expr_const4u", B("\x0c\xfd\xff\xff\xff"), SW_OK, 0xfffffffd },
    { "expr_const4s", B("\x0d\xfd\xff\xff\xff"), SW_OK, UINT64_MAX - 2 },
    { "expr_const8u", B("\x0e\x01\x02\x03\x04\x05\x06\x07\x88"), SW_OK, 0x8807060504030201 },
    { "expr_const8s", B("\x0f\x01\x02\x03\x04\x05\x06\x07\x88"), SW_OK, 0x8807060504030201 },
    { "expr_constu", B("\x10\xff\x01"), SW_OK, 255 },
    { "expr_consts", B("\x11\xff\x7e"), SW_OK, UINT64_MAX - 128 },
    { "expr_dup", B("\x33\x12\x1e"), SW_OK, 9 },
    { "expr_drop", B("\x33\x13"), SW_OK, 0x5000 },
    { "expr_over", B("\x33\x14"), SW_OK, 0x5000 },
    { "expr_pick_counts_from_the_top", B("\x31\x32\x33\x15\x02"), SW_OK, 1 },
    { "expr_swap", B("\x39\x35\x16\x1c"), SW_OK, (uint64_t)-4 },
    { "expr_rot_puts_the_second_on_top", B("\x31\x32\x33\x17"), SW_OK, 2 },
    { "expr_rot_puts_the_top_third", B("\x31\x32\x33\x17\x13\x13"), SW_OK, 3 },
    { "expr_abs", B("\x09\xfb\x19"), SW_OK, 5 },
    { "expr_abs_of_positive", B("\x35\x19"), SW_OK, 5 },
    { "expr_and", B("\x3c\x36\x1a"), SW_OK, 4 },
    { "expr_div_is_signed", B("\x09\xf8\x32\x1b"), SW_OK, (uint64_t)-4 },
    { "expr_div_of_the_least_number_by_minus_one", B("\x0e\0\0\0\0\0\0\0\x80\x09\xff\x1b"), SW_OK, 0x8000000000000000 },
    { "expr_minus_is_second_less_top", B("\x39\x35\x1c"), SW_OK, 4 },
    { "expr_mod", B("\x39\x35\x1d"), SW_OK, 4 },
    { "expr_mul", B("\x39\x35\x1e"), SW_OK, 45 },
    { "expr_neg", B("\x35\x1f"), SW_OK, (uint64_t)-5 },
    { "expr_not", B("\x35\x20"), SW_OK, ~UINT64_C(5) },
    { "expr_or", B("\x3c\x36\x21"), SW_OK, 14 },
    { "expr_plus", B("\x39\x35\x22"), SW_OK, 14 },
    { "expr_plus_uconst", B("\x39\x23\x80\x01"), SW_OK, 137 },
    { "expr_shl", B("\x33\x34\x24"), SW_OK, 48 },
    { "expr_shl_by_64_is_zero", B("\x33\x08\x40\x24"), SW_OK, 0 },
    { "expr_shr_fills_with_zeros", B("\x09\xff\x08\x3c\x25"), SW_OK, 15 },
    { "expr_shr_by_nothing", B("\x09\xfe\x30\x25"), SW_OK, UINT64_MAX - 1 },
    { "expr_shr_by_64_is_zero", B("\x09\xff\x08\x40\x25"), SW_OK, 0 },
    { "expr_shra_fills_with_the_sign", B("\x09\xf0\x32\x26"), SW_OK, (uint64_t)-4 },
    { "expr_shra_of_positive", B("\x08\xf0\x32\x26"), SW_OK, 0x3c },
    { "expr_shra_by_64_is_the_sign", B("\x09\xf0\x08\x40\x26"), SW_OK, UINT64_MAX },
    { "expr_xor", B("\x3c\x36\x27"), SW_OK, 10 },
    { "expr_bra_taken", B("\x31\x28\x01\x00\x37\x38\x39"), SW_OK, 9 },
    { "expr_bra_jumps_over", B("\x37\x31\x28\x01\x00\x38"), SW_OK, 7 },
    { "expr_bra_not_taken", B("\x37\x30\x28\x01\x00\x38"), SW_OK, 8 },
    { "expr_eq", B("\x35\x35\x29"), SW_OK, 1 },
    { "expr_ge_is_signed", B("\x09\xff\x31\x2a"), SW_OK, 0 },
    { "expr_gt_is_signed", B("\x31\x09\xff\x2b"), SW_OK, 1 },
    { "expr_le", B("\x31\x31\x2c"), SW_OK, 1 },
    { "expr_lt_is_signed", B("\x09\xff\x31\x2d"), SW_OK, 1 },
    { "expr_ne", B("\x35\x35\x2e"), SW_OK, 0 },
    { "expr_skip_to_the_end", B("\x37\x2f\x01\x00\x38"), SW_OK, 7 },
    { "expr_lit0", B("\x30"), SW_OK, 0 },
    { "expr_lit31", B("\x4f"), SW_OK, 31 },
    { "expr_reg_is_its_value", B("\x57"), SW_OK, 0x7000 },
    { "expr_regx_is_its_value", B("\x90\x07"), SW_OK, 0x7000 },
    { "expr_breg_adds", B("\x77\x78"), SW_OK, 0x6ff8 },
    { "expr_breg_of_the_pc", B("\x80\x00"), SW_OK, 0x40101c },
    { "expr_bregx", B("\x92\x07\x08"), SW_OK, 0x7008 },
    { "expr_deref", B("\x0a\x00\x10\x06"), SW_OK, 0x1122334455667788 },
    { "expr_deref_size_1", B("\x0a\x00\x10\x94\x01"), SW_OK, 0x88 },
    { "expr_deref_size_2", B("\x0a\x00\x10\x94\x02"), SW_OK, 0x7788 },
    { "expr_deref_size_4", B("\x0a\x00\x10\x94\x04"), SW_OK, 0x55667788 },
    { "expr_plt_of_an_entry_that_has_pushed", B("\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"), SW_OK, 0x7010 },

    { "expr_deref_of_odd_size_is_malformed", B("\x0a\x00\x10\x94\x03"), SW_E_MALFORMED, 0 },
    { "expr_deref_of_unreadable_memory", B("\x0a\x02\x10\x06"), SW_E_UNREADABLE, 0 },
    { "expr_of_an_unknown_register", B("\x7e\x00"), SW_E_NO_RULE, 0 },
    { "expr_of_a_vector_register", B("\x92\x11\x00"), SW_E_NO_RULE, 0 },
    { "expr_underflow_of_plus", B("\x22"), SW_E_MALFORMED, 0 },
    { "expr_underflow_of_rot", B("\x31\x17"), SW_E_MALFORMED, 0 },
    { "expr_underflow_of_pick", B("\x15\x01"), SW_E_MALFORMED, 0 },
    { "expr_that_ends_empty", B("\x13"), SW_E_MALFORMED, 0 },
    { "expr_div_by_zero", B("\x31\x30\x1b"), SW_E_MALFORMED, 0 },
    { "expr_mod_by_zero", B("\x31\x30\x1d"), SW_E_MALFORMED, 0 },
    { "expr_unknown_operation", B("\x31\xe0"), SW_E_MALFORMED, 0 },
    { "expr_operation_in_a_gap", B("\x31\x07"), SW_E_MALFORMED, 0 },
    { "expr_operand_cut_off", B("\x0c\x01\x02"), SW_E_MALFORMED, 0 },
    { "expr_leb_cut_off", B("\x77\x80"), SW_E_MALFORMED, 0 },
    { "expr_jump_behind_the_end", B("\x2f\x01\x00"), SW_E_MALFORMED, 0 },
    { "expr_jump_before_the_beginning", B("\x2f\xfc\xff"), SW_E_MALFORMED, 0 },
    { "expr_that_loops_ends", B("\x2f\xfd\xff"), SW_E_LIMIT, 0 },
    { "expr_that_pushes_for_ever_ends", B("\x31\x2f\xfc\xff"), SW_E_LIMIT, 0 },
};

static void expression_gives(void **state)
{
    const struct row *row = *state;
    const struct sw_regs regs = invent();
    const struct sw_memory memory = { .window = { MEMORY, MEMORY + sizeof memory_bytes, memory_bytes } };
    uint64_t value = 0x6a6a;
    assert_int_equal(sw_expr_eval((const uint8_t *)row->bytes, row->size, &regs, &memory, &pushed, &value),
                     row->status);
    if (row->status == SW_OK)
        assert_int_equal(value, row->value);
}

static void expr_without_pushed_value_starts_empty(void **state)
{
    (void)state;
    uint64_t value;
    const struct sw_regs regs = invent();
    const struct sw_memory memory = { 0 };
    assert_int_equal(sw_expr_eval((const uint8_t *)"\x96", 1, &regs, &memory, NULL, &value), SW_E_MALFORMED);
    assert_int_equal(sw_expr_eval(NULL, 0, &regs, &memory, NULL, &value), SW_E_MALFORMED);
    assert_int_equal(sw_expr_eval((const uint8_t *)"\x12", 1, &regs, &memory, NULL, &value), SW_E_MALFORMED);
}

static void expr_holds_64_values(void **state)
{
    (void)state;
    uint8_t bytes[65];
    uint64_t value;
    const struct sw_regs regs = invent();
    const struct sw_memory memory = { 0 };
    memset(bytes, 0x31, sizeof bytes);
    assert_int_equal(sw_expr_eval(bytes, 64, &regs, &memory, NULL, &value), SW_OK);
    assert_int_equal(sw_expr_eval(bytes, 65, &regs, &memory, NULL, &value), SW_E_LIMIT);
}

static void expr_takes_1000_steps(void **state)
{
    (void)state;
    uint8_t bytes[1001];
    uint64_t value;
    const struct sw_regs regs = invent();
    const struct sw_memory memory = { 0 };
    memset(bytes, 0x96, sizeof bytes);
    assert_int_equal(sw_expr_eval(bytes, 1000, &regs, &memory, &pushed, &value), SW_OK);
    assert_int_equal(sw_expr_eval(bytes, 1001, &regs, &memory, &pushed, &value), SW_E_LIMIT);
}

/* contexts.md section 9. */
static void dwarf_register_numbers_are_the_abi_s(void **state)
{
    (void)state;
    static const unsigned x64[] = { 0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
    for (unsigned n = 0; n < COUNT_OF(x64); n++)
        assert_int_equal(sw_dwarf_reg(SW_MACHINE_X64, n), x64[n]);
    assert_int_equal(sw_dwarf_reg(SW_MACHINE_X64, 17), SW_REGS_MAX);
    assert_int_equal(sw_dwarf_reg(SW_MACHINE_X64, UINT64_MAX), SW_REGS_MAX);
    for (unsigned n = 0; n <= 32; n++)
        assert_int_equal(sw_dwarf_reg(SW_MACHINE_ARM64, n), n);
    assert_int_equal(sw_dwarf_reg(SW_MACHINE_ARM64, 33), SW_REGS_MAX);
    assert_int_equal(sw_dwarf_reg(SW_MACHINE_ARM64, UINT64_MAX), SW_REGS_MAX);
}

enum { FIELD = 0x2001, BIAS = 0x100000, DATA = 0x300000, FUNCTION = 0x400000 };

static const struct pointer_row {
    const char *name;
    const char *bytes;
    size_t size;
    uint8_t encoding;
    enum sw_status status;
    uint64_t value;
    uint64_t taken;
} pointer_rows[] = {
    { "pointer_absptr_gets_the_bias", B("\x01\0\0\0\0\0\0\x01"), 0x00, SW_OK, 0x0100000000100001, 8 },
    { "pointer_uleb", B("\x80\x01"), 0x01, SW_OK, BIAS + 128, 2 },
    { "pointer_udata2", B("\xff\xff"), 0x02, SW_OK, BIAS + 0xffff, 2 },
    { "pointer_udata4", B("\xff\xff\xff\xff"), 0x03, SW_OK, BIAS + UINT64_C(0xffffffff), 4 },
    { "pointer_udata8", B("\x01\0\0\0\0\0\0\0"), 0x04, SW_OK, BIAS + 1, 8 },
    { "pointer_signed", B("\xff\xff\xff\xff\xff\xff\xff\xff"), 0x08, SW_OK, BIAS - 1, 8 },
    { "pointer_sleb", B("\x7f"), 0x09, SW_OK, BIAS - 1, 1 },
    { "pointer_sdata2", B("\xfe\xff"), 0x0a, SW_OK, BIAS - 2, 2 },
    { "pointer_sdata4", B("\xfd\xff\xff\xff"), 0x0b, SW_OK, BIAS - 3, 4 },
    { "pointer_sdata8", B("\xfc\xff\xff\xff\xff\xff\xff\xff"), 0x0c, SW_OK, BIAS - 4, 8 },
    { "pointer_pcrel_is_relative_to_its_field", B("\xf0\xff\xff\xff"), 0x1b, SW_OK, FIELD - 16, 4 },
    { "pointer_datarel", B("\x10\0\0\0"), 0x3b, SW_OK, DATA + 16, 4 },
    { "pointer_funcrel", B("\x10\0\0\0"), 0x4b, SW_OK, FUNCTION + 16, 4 },
    { "pointer_aligned_pads_first", B("\x99\x99\x99\x99\x99\x99\x99\x07\0\0\0\0\0\0\0"), 0x50, SW_OK, BIAS + 7, 15 },
    { "pointer_of_zero_is_null", B("\0\0\0\0"), 0x1b, SW_OK, 0, 4 },
    { "pointer_omitted", B("\x01\0\0\0"), 0xff, SW_E_UNSUPPORTED, 0, 0 },
    { "pointer_indirect", B("\x01\0\0\0"), 0x9b, SW_E_UNSUPPORTED, 0, 4 },
    { "pointer_textrel", B("\x01\0\0\0"), 0x2b, SW_E_UNSUPPORTED, 0, 4 },
    { "pointer_of_no_format", B("\x01\0\0\0"), 0x05, SW_E_UNSUPPORTED, 0, 0 },
    { "pointer_of_no_base", B("\x01\0\0\0"), 0x6b, SW_E_UNSUPPORTED, 0, 4 },
    { "pointer_cut_off", B("\x01\0\0"), 0x1b, SW_E_TRUNCATED, 0, 0 },
    { "pointer_aligned_cut_off", B("\x01\0\0"), 0x50, SW_E_TRUNCATED, 0, 0 },
};

static void pointer_gives(void **state)
{
    const struct pointer_row *row = *state;
    const struct sw_bytes bytes = { (const uint8_t *)row->bytes, row->size, FIELD };
    const struct sw_pointer_bases bases = { BIAS, DATA, FUNCTION };
    struct sw_cursor c = sw_cursor_over(bytes);
    uint64_t value = 0x6a6a;
    assert_int_equal(sw_pointer_read(&c, row->encoding, &bases, &value), row->status);
    assert_int_equal(value, row->value);
    if (row->status == SW_OK)
        assert_int_equal(c.address, FIELD + row->taken);
}

static const struct CMUnitTest single[] = {
    cmocka_unit_test(expr_without_pushed_value_starts_empty),
    cmocka_unit_test(expr_holds_64_values),
    cmocka_unit_test(expr_takes_1000_steps),
    cmocka_unit_test(dwarf_register_numbers_are_the_abi_s),
};

int main(void)
{
    static struct CMUnitTest tests[COUNT_OF(rows) + COUNT_OF(pointer_rows) + COUNT_OF(single)];
    FILL_ROWS(tests, rows, expression_gives);
    FILL_ROWS(tests + COUNT_OF(rows), pointer_rows, pointer_gives);
    memcpy(tests + COUNT_OF(rows) + COUNT_OF(pointer_rows), single, sizeof single);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
