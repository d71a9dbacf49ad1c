/* Two recordings beside each other. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <snapwalk/harness.h>

#define LINE(thread, name, rest) "{\"kind\":\"call\",\"name\":\"" name "\",\"thread\":\"" thread "\"" rest "}\n"
#define A1                       LINE("a", "One", "")
#define A2                       LINE("a", "Two", ",\"hr\":\"S_OK\"")
#define A2_FAILS                 LINE("a", "Two", ",\"hr\":\"E_FAIL\"")
#define A2_OTHER                 LINE("a", "Three", ",\"hr\":\"E_FAIL\"")
#define A2_RENAMED               LINE("a", "Three", ",\"hr\":\"S_OK\"")
#define B1                       LINE("b", "One", "")
#define B2                       LINE("b", "Two", "")
#define MANY                     LINE("b", "Two", ",\"a\":\"x,\\\"y}\",\"n\":12")
#define MANY_TOO                 LINE("b", "Two", ",\"a\":\"x,\\\"y}\",\"n\":13")

static const struct row {
    const char *name, *was, *is, *difference;
} rows[] = {
    { "the_same_text_is_no_difference", A1 A2 B1, A1 A2 B1, "" },
    { "no_text_is_no_difference", "", "", "" },
    { "threads_may_interleave", A1 A2 B1 B2, B1 A1 B2 A2, "" },
    { "empty_lines_do_not_matter", A1 "\n\n" A2, A1 A2, "" },
    { "a_last_line_without_its_end_counts", "x\ny", "x\nz", "line 2: was y, is z" },
    { "the_order_within_a_thread_matters", A1 B1 B2, A1 B2 B1, "thread b, line 2: was One, is Two" },
    { "a_field_that_changed_is_named", A1 A2, A1 A2_FAILS, "thread a, line 2: Two: hr was \"S_OK\", is \"E_FAIL\"" },
    { "a_number_that_changed_is_named", MANY, MANY_TOO, "thread b, line 1: Two: n was 12, is 13" },
    { "another_call_is_named", A1 A2, A1 A2_RENAMED, "thread a, line 2: was Two, is Three" },
    { "lines_that_differ_in_more_are_shown", "{\"a\":1,\"b\":2}", "{\"a\":2,\"b\":1}",
      "line 1: was {\"a\":1,\"b\":2}, is {\"a\":2,\"b\":1}" },
    { "a_line_that_is_new_is_shown", "{\"a\":1}", "{\"a\":1}\n{\"b\":1}", "line 2: this is new: {\"b\":1}" },
    { "a_line_that_is_gone_is_shown", "{\"a\":1}\n{\"b\":1}", "{\"a\":1}", "line 2: this is gone: {\"b\":1}" },
    { "a_thread_that_is_new_is_a_difference", A1, A1 "{\"thread\":\"z\"}",
      "thread z, line 2: this is new: {\"thread\":\"z\"}" },
    { "a_thread_that_is_gone_is_a_difference", "{\"thread\":\"0\"}\n" A1, A1,
      "thread 0, line 1: this is gone: {\"thread\":\"0\"}" },
    { "of_two_differences_the_first_is_told", B1 A2 "x\n" B2, B1 A2_FAILS "y\n" B1,
      "thread a, line 2: Two: hr was \"S_OK\", is \"E_FAIL\"" },
    { "what_is_no_json_is_compared_as_text", "{\"thread\":\"a\n{{{", "{\"thread\":\"a\n{{}",
      "line 2: was {{{, is {{}" },
    { "a_quote_at_the_end_is_read_no_further", "{\"a\":\"\\", "{\"a\":\"\\\\",
      "line 1: was {\"a\":\"\\, is {\"a\":\"\\\\" },
};

static void the_first_difference_is_told(void **state)
{
    const struct row *row = *state;
    char text[512] = "garbage";
    const enum sw_status status = sw_tube_compare(row->was, row->is, text, sizeof text);
    assert_string_equal(text, row->difference);
    assert_int_equal(status, *row->difference ? SW_E_MALFORMED : SW_OK);
}

/* From the other side there is a difference, too. */
static void both_ways_agree_that_there_is_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(sw_tube_compare(rows[i].is, rows[i].was, NULL, 0),
                         *rows[i].difference ? SW_E_MALFORMED : SW_OK);
}

static void the_sentence_is_cut_to_its_room(void **state)
{
    (void)state;
    for (size_t size = 1; size < 60; size++) {
        char *text = malloc(size);
        assert_non_null(text);
        assert_int_equal(sw_tube_compare(A1 A2, A1 A2_FAILS, text, size), SW_E_MALFORMED);
        assert_true(strlen(text) < size);
        free(text);
    }
}

static void null_is_refused(void **state)
{
    char text[8];
    (void)state;
    assert_int_equal(sw_tube_compare(NULL, "", text, sizeof text), SW_E_ARGUMENT);
    assert_int_equal(sw_tube_compare("", NULL, text, sizeof text), SW_E_ARGUMENT);
    assert_int_equal(sw_tube_compare("", "", NULL, 8), SW_E_ARGUMENT);
    assert_int_equal(sw_tube_compare("", "", NULL, 0), SW_OK);
}

int main(void)
{
    enum { ROWS = sizeof rows / sizeof rows[0] };
    struct CMUnitTest tests[ROWS + 3] = {
        [ROWS] = cmocka_unit_test(both_ways_agree_that_there_is_one),
        [ROWS + 1] = cmocka_unit_test(the_sentence_is_cut_to_its_room),
        [ROWS + 2] = cmocka_unit_test(null_is_refused),
    };
    for (size_t i = 0; i < ROWS; i++)
        tests[i] = (struct CMUnitTest){ rows[i].name, the_first_difference_is_told, NULL, NULL, (void *)&rows[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
