/* The bounded cursor: it gives what is there, and once asked for more stays broken. */
#include "rows.h"

#include "base/bytes.h"

static const struct row {
    const char *name;
    uint8_t size;
    uint8_t bytes[14];
    bool is_signed;
    bool ok;
    uint64_t value;
    uint8_t left;
} rows[] = {
    { "uleb_one_byte", 2, { 0x7f, 0xff }, false, true, 0x7f, 1 },
    { "uleb_two_bytes", 2, { 0x80, 0x01 }, false, true, 0x80, 0 },
    { "uleb_padded", 4, { 0x81, 0x80, 0x80, 0x00 }, false, true, 1, 0 },
    { "uleb_largest", 10, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 }, false, true, UINT64_MAX, 0 },
    { "uleb_over_64_bits_breaks",
      10,
      { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02 },
      false,
      false,
      0,
      0 },
    { "uleb_all_ones_in_the_last_byte_breaks",
      10,
      { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f },
      false,
      false,
      0,
      0 },
    { "uleb_without_end_breaks", 3, { 0x80, 0x80, 0x80 }, false, false, 0, 0 },
    { "uleb_of_nothing_breaks", 0, { 0 }, false, false, 0, 0 },
    { "sleb_minus_one", 1, { 0x7f }, true, true, UINT64_MAX, 0 },
    { "sleb_minus_64", 1, { 0x40 }, true, true, (uint64_t)-64, 0 },
    { "sleb_63", 1, { 0x3f }, true, true, 63, 0 },
    { "sleb_smallest",
      10,
      { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f },
      true,
      true,
      UINT64_C(1) << 63,
      0 },
    { "sleb_padded_minus_one",
      11,
      { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f },
      true,
      true,
      UINT64_MAX,
      0 },
    { "sleb_over_64_bits_breaks",
      10,
      { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x3f },
      true,
      false,
      0,
      0 },
};

static void leb_is_read_within_its_bytes(void **state)
{
    const struct row *row = *state;
    struct sw_cursor c = sw_cursor_over((struct sw_bytes){ row->bytes, row->size, 0x1000 });
    const uint64_t value = row->is_signed ? (uint64_t)sw_cursor_sleb(&c) : sw_cursor_uleb(&c);
    assert_int_equal(sw_cursor_ok(&c), row->ok);
    assert_int_equal(value, row->value);
    if (row->ok)
        assert_int_equal(sw_cursor_left(&c), row->left);
}

static void a_broken_cursor_stays_broken_and_gives_zeros(void **state)
{
    static const uint8_t bytes[] = { 1, 2, 3, 4 };
    struct sw_cursor c = sw_cursor_over((struct sw_bytes){ bytes, sizeof bytes, 0x1000 });
    (void)state;
    assert_int_equal(sw_cursor_u(&c, 2), 0x201);
    assert_int_equal(c.address, 0x1002);
    assert_int_equal(sw_cursor_u(&c, 4), 0);
    assert_false(sw_cursor_ok(&c));
    assert_int_equal(sw_cursor_u(&c, 1), 0); /* though a byte would be left */
    assert_null(sw_cursor_take(&c, 0));
    assert_null(sw_cursor_string(&c));
}

static void a_split_cursor_stays_in_its_part(void **state)
{
    static const uint8_t bytes[] = { 'a', 0, 'b', 'c' };
    struct sw_cursor c = sw_cursor_over((struct sw_bytes){ bytes, sizeof bytes, 0 });
    struct sw_cursor part = sw_cursor_split(&c, 3);
    (void)state;
    assert_string_equal(sw_cursor_string(&part), "a");
    assert_null(sw_cursor_string(&part)); /* no NUL within the part */
    assert_int_equal(sw_cursor_left(&c), 1);
    part = sw_cursor_split(&c, 2);
    assert_false(sw_cursor_ok(&part));
    assert_false(sw_cursor_ok(&c));
}

static void parts_outside_are_empty(void **state)
{
    static const uint8_t bytes[4];
    const struct sw_bytes all = { bytes, sizeof bytes, 0x10 };
    (void)state;
    assert_int_equal(sw_bytes_part(all, 1, 3).size, 3);
    assert_int_equal(sw_bytes_part(all, 1, 3).address, 0x11);
    assert_int_equal(sw_bytes_part(all, 1, 4).size, 0);
    assert_int_equal(sw_bytes_part(all, 5, 0).size, 0);
    assert_null(sw_bytes_part(all, UINT64_MAX, 2).bytes);
}

static void addresses_do_not_wrap(void **state)
{
    uint64_t sum;
    (void)state;
    assert_true(sw_add_offset(16, -16, &sum));
    assert_int_equal(sum, 0);
    assert_false(sw_add_offset(15, -16, &sum));
    assert_false(sw_add_offset(UINT64_MAX, 1, &sum));
    assert_true(sw_add_offset(UINT64_MAX, -1, &sum));
    assert_int_equal(sw_sign_extend(0x80, 8), -128);
    assert_int_equal(sw_sign_extend(0x17f, 8), 127);
    assert_int_equal(sw_sign_extend(UINT64_MAX, 64), -1);
}

int main(void)
{
    const struct CMUnitTest singles[] = {
        cmocka_unit_test(a_broken_cursor_stays_broken_and_gives_zeros),
        cmocka_unit_test(a_split_cursor_stays_in_its_part),
        cmocka_unit_test(parts_outside_are_empty),
        cmocka_unit_test(addresses_do_not_wrap),
    };
    struct CMUnitTest tests[COUNT_OF(rows)];
    FILL_ROWS(tests, rows, leb_is_read_within_its_bytes);
    const int failed = cmocka_run_group_tests(singles, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
