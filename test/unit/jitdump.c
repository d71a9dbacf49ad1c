/*
 * Jitdump files: each kind of record, in both byte orders and in pieces of every length; what names, ranges and images
 * become of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <snapwalk/walk.h>

#include "../support/jitdump_file.h"

static void each_record_in_pieces(bool is_big, size_t step)
{
    assert_int_equal(dump_set_up(NULL), 0);
    dump_header(is_big, is_big ? 183 : 62);
    dump_unwind(DUMP_FRAMES_BYTES);
    dump_file.size += dump_prefix(DUMP_DEBUG, 32) ? 16 : 0;
    dump_load(DUMP_CODE, "JS:*with frames");
    dump_load(DUMP_CODE + 0x100, "without");
    dump_unwind(0);
    dump_load(DUMP_CODE + 0x200, "moves");
    dump_prefix(DUMP_UNKNOWN, 16);
    dump_move(DUMP_CODE + 0x200, DUMP_ELSEWHERE);
    assert_int_equal(dump_feed(step), SW_OK);
    assert_false(sw_jitdump_is_closed(dump_reader));
    assert_int_equal(sw_jitdump_records(dump_reader), 8);
    assert_int_equal(sw_jitdump_bad_records(dump_reader), 0);
    dump_assert_name(DUMP_CODE + DUMP_CODE_BYTES - 1, "JS:*with frames");
    dump_assert_name(DUMP_CODE + DUMP_CODE_BYTES, NULL);
    dump_assert_name(DUMP_CODE + 0x200, NULL);
    dump_assert_name(DUMP_ELSEWHERE, "moves");
    dump_assert_unwind(DUMP_CODE, is_big ? SW_UNWIND_FOREIGN : SW_UNWIND_AUTO);
    dump_assert_unwind(DUMP_CODE + 0x100, SW_UNWIND_FOREIGN);
    dump_assert_unwind(DUMP_ELSEWHERE, SW_UNWIND_FOREIGN);
    assert_int_equal(dump_is_image(DUMP_CODE), !is_big);
    assert_false(dump_is_image(DUMP_CODE + 0x100));
    dump_tear_down(NULL);
}

static void each_record_is_taken(void **state)
{
    (void)state;
    for (size_t step = 1; step <= sizeof dump_file.bytes; step = step < 70 ? step + 1 : step * 2) {
        each_record_in_pieces(false, step);
        each_record_in_pieces(true, step);
    }
}

static void later_code_replaces(void **state)
{
    (void)state;
    dump_header(false, 62);
    dump_unwind(DUMP_FRAMES_BYTES);
    dump_load(DUMP_CODE, "old");
    dump_load(DUMP_CODE + 8, "new");
    assert_int_equal(dump_feed(sizeof dump_file.bytes), SW_OK);
    dump_assert_name(DUMP_CODE, NULL);
    dump_assert_name(DUMP_CODE + 8, "new");
    assert_false(dump_is_image(DUMP_CODE));
    dump_header(false, 62);
    dump_file.size = 0;
    dump_unwind(DUMP_FRAMES_BYTES);
    dump_load(DUMP_CODE, "third");
    dump_move(DUMP_CODE, DUMP_ELSEWHERE);
    dump_prefix(DUMP_CLOSE, 16);
    assert_int_equal(dump_feed(sizeof dump_file.bytes), SW_OK);
    dump_assert_name(DUMP_CODE + 8, NULL);
    dump_assert_name(DUMP_ELSEWHERE, "third");
    dump_assert_unwind(DUMP_ELSEWHERE, SW_UNWIND_FOREIGN);
    assert_false(dump_is_image(DUMP_CODE));
    assert_true(sw_jitdump_is_closed(dump_reader));
}

static bool keep_sp(void *arg, const struct sw_frame *frame)
{
    uint64_t *last = arg;
    last[0] = last[1];
    last[1] = sw_regs_sp(&frame->regs);
    return true;
}

/* From the function with frames, whose frame is 48 bytes, into itself. */
static void walks_go_by_the_frames(void **state)
{
    static struct sw_scratch scratch;
    static uint64_t stack[64];
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    uint64_t sp[2] = { 0 };
    (void)state;
    dump_header(false, 62);
    dump_unwind(DUMP_FRAMES_BYTES);
    dump_load(DUMP_CODE, "f");
    assert_int_equal(dump_feed(7), SW_OK);
    const uint64_t base = 0x7fff0000;
    stack[5] = DUMP_CODE + 9;
    const struct sw_walker walker = { .machine = SW_MACHINE_X64,
                                      .memory = { .window = { base, base + sizeof stack, (const uint8_t *)stack } },
                                      .images = dump_images,
                                      .codemap = dump_codemap,
                                      .stack_begin = base,
                                      .stack_end = base + sizeof stack,
                                      .flags = SW_WALK_NO_ANALYSIS | SW_WALK_NO_FRAME_POINTER };
    sw_regs_set(&regs, SW_X64_RIP, DUMP_CODE + 9);
    sw_regs_set(&regs, SW_X64_RSP, base);
    (void)!sw_walk_all(&walker, &scratch, &regs, keep_sp, sp);
    assert_true(sp[0] == base && sp[1] == base + 48);
}

static void what_paths_are_of_such_files(void **state)
{
    (void)state;
    assert_true(sw_jitdump_is_path("/tmp/jit-1.dump"));
    assert_true(sw_jitdump_is_path("/jit-4711.dump"));
    assert_false(sw_jitdump_is_path("/tmp/jit-.dump"));
    assert_false(sw_jitdump_is_path("/tmp/jit-12.dumps"));
    assert_false(sw_jitdump_is_path("/tmp/jit-1a.dump"));
    assert_false(sw_jitdump_is_path("jit-1.dump"));
    assert_false(sw_jitdump_is_path(""));
    assert_false(sw_jitdump_is_path(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_record_is_taken),
        cmocka_unit_test_setup_teardown(later_code_replaces, dump_set_up, dump_tear_down),
        cmocka_unit_test_setup_teardown(walks_go_by_the_frames, dump_set_up, dump_tear_down),
        cmocka_unit_test(what_paths_are_of_such_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
