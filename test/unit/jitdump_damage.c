/*
 * Jitdump files that are damaged: fields that lie, files that are cut at every byte, and those with one bit changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../support/jitdump_file.h"

enum { SIZE_AT = 4, LOAD_SIZE_AT = 40, MOVE_SIZE_AT = 48, FRAMES_SIZE_AT = 16, HEADER_SIZE_AT = 24 };

/* One field is changed, in the header or in a record between two good ones: what the answer is, and what is left. */
static const struct row {
    const char *name;
    int kind; /* -1: the header */
    size_t at;
    uint64_t value;
    unsigned size;
    enum sw_status status;
    unsigned bad;
    bool reads_on;
} rows[] = {
    { "magic", -1, 0, 0x12345678, 4, SW_E_MALFORMED, 0, false },
    { "version", -1, 4, 2, 4, SW_E_UNSUPPORTED, 0, false },
    { "header_too_small", -1, 8, 39, 4, SW_E_MALFORMED, 0, false },
    { "header_beyond_the_end", -1, 8, UINT32_MAX, 4, SW_OK, 0, false },
    { "machine", -1, 12, 3, 4, SW_E_UNSUPPORTED, 0, false },
    { "no_size", DUMP_LOAD, SIZE_AT, 0, 4, SW_E_MALFORMED, 0, false },
    { "size_below_prefix", DUMP_LOAD, SIZE_AT, 15, 4, SW_E_MALFORMED, 0, false },
    { "size_beyond_the_end", DUMP_MOVE, SIZE_AT, SW_JITDUMP_RECORD_MAX, 4, SW_OK, 0, false },
    { "move_over_the_limit", DUMP_MOVE, SIZE_AT, SW_JITDUMP_RECORD_MAX + 1, 4, SW_OK, 1, false },
    { "unwind_over_the_limit", DUMP_UNWIND, SIZE_AT, SW_JITDUMP_RECORD_MAX + 1, 4, SW_OK, 1, false },
    { "size_of_32_bits", DUMP_LOAD, SIZE_AT, UINT32_MAX, 4, SW_OK, 0, false },
    { "code_of_no_bytes", DUMP_LOAD, LOAD_SIZE_AT, 0, 8, SW_OK, 1, true },
    { "more_code_than_record", DUMP_LOAD, LOAD_SIZE_AT, DUMP_CODE_BYTES + 1, 8, SW_OK, 1, true },
    { "code_size_of_64_bits", DUMP_LOAD, LOAD_SIZE_AT, UINT64_MAX, 8, SW_OK, 1, true },
    { "code_at_null", DUMP_LOAD, LOAD_SIZE_AT - 8, 0, 8, SW_OK, 1, true },
    { "code_wraps", DUMP_LOAD, LOAD_SIZE_AT - 8, UINT64_MAX - 7, 8, SW_OK, 1, true },
    { "move_of_no_bytes", DUMP_MOVE, MOVE_SIZE_AT, 0, 8, SW_OK, 1, true },
    { "move_wraps", DUMP_MOVE, MOVE_SIZE_AT - 8, UINT64_MAX - 7, 8, SW_OK, 1, true },
    { "move_from_nowhere", DUMP_MOVE, MOVE_SIZE_AT - 16, DUMP_ELSEWHERE, 8, SW_OK, 1, true },
    { "more_frames_than_record", DUMP_UNWIND, FRAMES_SIZE_AT, 1 << 20, 8, SW_OK, 1, true },
    { "frames_size_of_64_bits", DUMP_UNWIND, FRAMES_SIZE_AT, UINT64_MAX, 8, SW_OK, 1, true },
    { "header_larger_than_frames", DUMP_UNWIND, HEADER_SIZE_AT, 1 << 20, 8, SW_OK, 1, true },
    { "frames_that_say_nothing", DUMP_UNWIND, 40, 0, 4, SW_OK, 0, true },
};

static void check_row(const struct row *row)
{
    assert_int_equal(dump_set_up(NULL), 0);
    dump_header(false, 62);
    dump_load(DUMP_CODE, "first");
    const size_t at = row->kind == DUMP_LOAD     ? dump_load(DUMP_ELSEWHERE - 0x100, "broken")
                      : row->kind == DUMP_MOVE   ? dump_move(DUMP_CODE, DUMP_CODE + 0x80)
                      : row->kind == DUMP_UNWIND ? dump_unwind(DUMP_FRAMES_BYTES)
                                                 : 0;
    dump_load(DUMP_CODE + 0x100, "last");
    dump_change(at + row->at, row->value, row->size);
    if (dump_feed(sizeof dump_file.bytes) != row->status || sw_jitdump_bad_records(dump_reader) != row->bad)
        fail_msg("%s", row->name);
    dump_assert_name(DUMP_CODE, row->kind < 0 ? NULL : "first");
    dump_assert_name(DUMP_ELSEWHERE - 0x100, NULL);
    dump_assert_name(DUMP_CODE + 0x100, row->reads_on ? "last" : NULL);
    assert_false(dump_is_image(DUMP_CODE + 0x100));
    dump_tear_down(NULL);
}

static void damage_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_row(&rows[i]);
}

static void names_and_prefixes_end_in_the_record(void **state)
{
    (void)state;
    dump_header(false, 62);
    const size_t at = dump_load(DUMP_CODE, "no end");
    memset(dump_file.bytes + at + DUMP_LOAD_NAME_AT, 'x', dump_file.size - at - DUMP_LOAD_NAME_AT);
    const size_t end = dump_file.size;
    dump_prefix(DUMP_LOAD, 16);
    dump_prefix(DUMP_MOVE, 16);
    dump_prefix(DUMP_UNWIND, 16);
    assert_true(dump_file.size > end);
    assert_int_equal(dump_feed(sizeof dump_file.bytes), SW_OK);
    assert_int_equal(sw_jitdump_bad_records(dump_reader), 4);
    assert_int_equal(sw_jitdump_feed(NULL, "", 0, NULL, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_jitdump_feed(dump_reader, NULL, 1, NULL, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_jitdump_create(NULL, NULL, &dump_reader), SW_E_ARGUMENT);
}

static void write_all(void)
{
    dump_header(false, 62);
    dump_unwind(DUMP_FRAMES_BYTES);
    dump_load(DUMP_CODE, "first");
    dump_load(DUMP_CODE + 0x100, "second");
    dump_move(DUMP_CODE, DUMP_ELSEWHERE);
    dump_prefix(DUMP_CLOSE, 16);
}

/* What is in front of the cut is taken; nothing is bad; the rest completes it. */
static void a_cut_file_waits(void **state)
{
    write_all();
    const struct dump_file whole = dump_file;
    for (size_t cut = 0; cut <= whole.size; cut++) {
        assert_int_equal(dump_set_up(state), 0);
        dump_file = whole;
        dump_file.size = cut;
        assert_int_equal(dump_feed(sizeof dump_file.bytes), SW_OK);
        assert_int_equal(sw_jitdump_bad_records(dump_reader), 0);
        assert_int_equal(sw_jitdump_is_closed(dump_reader), cut == whole.size);
        memcpy(dump_file.bytes, whole.bytes + cut, whole.size - cut);
        dump_file.size = whole.size - cut;
        assert_int_equal(dump_feed(sizeof dump_file.bytes), SW_OK);
        assert_int_equal(sw_jitdump_records(dump_reader), 5);
        dump_assert_name(DUMP_ELSEWHERE, "first");
        dump_assert_name(DUMP_CODE + 0x100, "second");
        dump_tear_down(state);
    }
}

static bool has_name(void *arg, const struct sw_range *range)
{
    (void)arg;
    assert_true(range->begin < range->end);
    assert_non_null(sw_perfmap_name(dump_perfmap, range->begin, NULL));
    return true;
}

/* Whatever a bit says: an answer that the card knows, and every range has a name. */
static void each_bit_may_lie(void **state)
{
    write_all();
    const struct dump_file whole = dump_file;
    for (size_t bit = 0; bit < 8 * whole.size; bit++) {
        assert_int_equal(dump_set_up(state), 0);
        dump_file = whole;
        dump_file.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        const enum sw_status status = dump_feed(sizeof dump_file.bytes);
        assert_true(status == SW_OK || status == SW_E_MALFORMED || status == SW_E_UNSUPPORTED);
        assert_int_equal(sw_codemap_each(dump_codemap, has_name, NULL), SW_OK);
        dump_tear_down(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test_setup_teardown(names_and_prefixes_end_in_the_record, dump_set_up, dump_tear_down),
        cmocka_unit_test(a_cut_file_waits),
        cmocka_unit_test(each_bit_may_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
