/*
 * Code with Windows unwind data that is in no image: registered by its function table, it is walked exactly, at each
 * instruction, whatever its entries count from.
 */
#include "../support/bytes.h"
#include "rows.h"

#include <snapwalk/image.h>
#include <snapwalk/follow.h>
#include <snapwalk/self.h>
#include <snapwalk/sim.h>

#include <string.h>

#include "../support/target.h" /* last: its names are short */

enum { BEGIN = 0x40000000, SIZE = 0x2000, STACK = 0x700000, MIDDLE = 0x100, INFO = 0x1f00, CALLED = MIDDLE + 10 };
enum { SAVED_RBX = 0x7b0b0b, SAVED_RDI = 0x7d1d1d };

static struct sw_scratch scratch;

/* Main: push rbx; sub rsp,0x20; call; add rsp,0x20; pop rbx; ret. Middle: the same with rdi and 0x30. */
static void put_functions(void)
{
    static uint8_t code[SIZE];
    memcpy(code, "\x53\x48\x83\xec\x20\xe8\xf6\x00\x00\x00\x48\x83\xc4\x20\x5b\xc3", 16);
    memcpy(code + MIDDLE, "\x57\x48\x83\xec\x30\xe8\x06\x01\x00\x00\x48\x83\xc4\x30\x5f\xc3", 16);
    memcpy(code + INFO, "\x01\x05\x02\x00\x05\x32\x01\x30\x01\x05\x02\x00\x05\x52\x01\x70", 16);
    assert_int_equal(sw_sim_bytes(sim, BEGIN, code, SIZE), SW_OK);
}

/* Entries of both functions, that count from `below` bytes below the code. */
static struct sw_function_table table_of(uint32_t below, uint32_t entries[6])
{
    const uint32_t from_begin[6] = { 0, 16, INFO, MIDDLE, MIDDLE + 16, INFO + 8 };
    for (unsigned i = 0; i < 6; i++)
        put_le((uint8_t *)&entries[i], from_begin[i] + below, 4);
    return (struct sw_function_table){ SW_MACHINE_X64, BEGIN - (uint64_t)below, BEGIN, BEGIN + SIZE, entries, 2 };
}

/* Where middle is stopped, and how many words of its frame are below its return address. */
static const struct row {
    const char *name;
    uint32_t below;
    uint32_t pc;
    unsigned words;
} rows[] = {
    { "at_entry", 0, MIDDLE, 0 },
    { "behind_the_push", 0, MIDDLE + 1, 1 },
    { "in_the_body", 0, MIDDLE + 5, 7 },
    { "in_the_epilogue", 0, MIDDLE + 14, 1 },
    { "at_the_return", 0, MIDDLE + 15, 0 },
    { "in_the_body_of_a_table_that_counts_from_below", 0x10000, MIDDLE + 5, 7 },
    { "in_the_epilogue_of_a_table_that_counts_from_below", 0x10000, MIDDLE + 14, 1 },
};

static void caller_is_found(void **state)
{
    const struct row *row = *state;
    const struct sw_memory memory = sw_sim_memory(sim);
    uint32_t entries[6];
    uint64_t stack[16] = { 0 };
    struct sw_walk walk;
    struct sw_regs regs = garbage_regs(SW_MACHINE_X64);
    const struct sw_function_table table = table_of(row->below, entries);
    put_functions();
    assert_int_equal(sw_images_add_functions(images, "jit", &table, &memory), SW_OK);
    if (row->words != 0)
        stack[row->words - 1] = SAVED_RDI;
    stack[row->words] = BEGIN + 10;
    stack[row->words + 5] = SAVED_RBX;
    assert_int_equal(sw_sim_words(sim, STACK, stack, COUNT_OF(stack)), SW_OK);
    sw_regs_set(&regs, SW_X64_RIP, BEGIN + row->pc);
    sw_regs_set(&regs, SW_X64_RSP, STACK);
    sw_sim_walker(sim)->images = images;
    sw_sim_walker(sim)->flags = SW_WALK_NO_ANALYSIS | SW_WALK_NO_FRAME_POINTER;
    sw_walk_start(&walk, sw_sim_walker(sim), &scratch, &regs, true);
    assert_true(sw_walk_next(&walk) && sw_walk_next(&walk));
    assert_int_equal(sw_regs_pc(&walk.frame.regs), BEGIN + 10);
    assert_int_equal(sw_regs_sp(&walk.frame.regs), STACK + 8 * (row->words + 1));
    assert_int_equal(walk.frame.source, SW_SOURCE_UNWIND_CODES);
    assert_int_equal(walk.frame.regs.r[SW_X64_RDI], row->words ? SAVED_RDI : regs.r[SW_X64_RDI]);
    assert_false(sw_walk_next(&walk));
    assert_int_equal(walk.stop, SW_STOP_ROOT_ZERO);
}

static void it_is_an_image_from_begin_to_end(void **state)
{
    const struct sw_memory memory = sw_sim_memory(sim);
    uint32_t entries[6];
    struct sw_image found;
    const struct sw_function_table table = table_of(0x10000, entries);
    (void)state;
    put_functions();
    assert_int_equal(sw_images_add_functions(images, "jit", &table, &memory), SW_OK);
    assert_int_equal(sw_images_find(images, BEGIN - 1, &found), SW_E_NOT_FOUND);
    assert_int_equal(sw_images_find(images, BEGIN + SIZE, &found), SW_E_NOT_FOUND);
    assert_int_equal(sw_images_find(images, BEGIN + SIZE - 1, &found), SW_OK);
    assert_true(found.begin == BEGIN && found.end == BEGIN + SIZE && found.is_pe);
    assert_string_equal(found.path, "jit");
    assert_int_equal(sw_images_add_functions(images, "again", &table, &memory), SW_E_OVERLAP);
    assert_int_equal(sw_images_remove(images, BEGIN), SW_OK);
    assert_int_equal(sw_images_add_functions(images, "again", &table, &memory), SW_OK);
}

static void wrong_tables_are_refused(void **state)
{
    const struct sw_memory memory = sw_sim_memory(sim);
    uint32_t entries[6];
    const struct sw_function_table good = table_of(0, entries);
    struct sw_function_table bad[8];
    (void)state;
    put_functions();
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        bad[i] = good;
    bad[0].machine = SW_MACHINE_NONE;
    bad[1].base = BEGIN + 1;
    bad[2].end = BEGIN;
    bad[3].end = BEGIN + (uint64_t)SW_FUNCTIONS_BYTES_MAX + 1;
    bad[4].entries = NULL;
    bad[5].count = 0;
    bad[6].count = SIZE_MAX / 2;
    bad[7].begin += UINT32_MAX, bad[7].end += UINT32_MAX;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(sw_images_add_functions(images, "jit", &bad[i], &memory), SW_E_ARGUMENT);
    assert_int_equal(sw_images_add_functions(images, "jit", NULL, &memory), SW_E_ARGUMENT);
    assert_int_equal(sw_images_add_functions(NULL, "jit", &good, &memory), SW_E_ARGUMENT);
    put_le((uint8_t *)&entries[3], 8, 4);
    assert_int_equal(sw_images_add_functions(images, "jit", &good, &memory), SW_E_MALFORMED);
}

#if !defined(_WIN32)
static void only_windows_has_tables_to_ask_for(void **state)
{
    (void)state;
    assert_int_equal(sw_self_add_functions(images, "jit", BEGIN, BEGIN + SIZE), SW_E_UNSUPPORTED);
    assert_int_equal(sw_self_add_functions(images, "jit", BEGIN, BEGIN), SW_E_ARGUMENT);
}
#endif

int main(void)
{
    static const struct CMUnitTest single[] = {
        cmocka_unit_test_setup_teardown(it_is_an_image_from_begin_to_end, set_up_x64, tear_down_target),
        cmocka_unit_test_setup_teardown(wrong_tables_are_refused, set_up_x64, tear_down_target),
#if !defined(_WIN32)
        cmocka_unit_test_setup_teardown(only_windows_has_tables_to_ask_for, set_up_x64, tear_down_target),
#endif
    };
    struct CMUnitTest tests[COUNT_OF(rows) + COUNT_OF(single)];
    FILL_ROWS(tests, rows, caller_is_found);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        tests[i].setup_func = set_up_x64;
        tests[i].teardown_func = tear_down_target;
    }
    memcpy(tests + COUNT_OF(rows), single, sizeof single);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
