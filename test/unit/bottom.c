/*
 * Where stacks begin, by the code there: what a walk without tables takes for the outermost frame, and what it does
 * not. Each row is code around a return address; the stack above it is garbage.
 */
#include "rows.h"

#include <snapwalk/sim.h>

#include <string.h>

enum { LEAF = 0x1000, CODE = 0x2000, STACK = 0x7000, WORDS = 64, MOST = 32 };

#define X64   SW_MACHINE_X64
#define ARM64 SW_MACHINE_ARM64

static const struct row {
    const char *name;
    enum sw_machine machine;
    unsigned front; /* bytes in front of the return address */
    uint8_t bytes[MOST];
    bool is_root;
} rows[] = {
    { "clone_of_glibc", X64, 2, { 0xff, 0xd0, 0x48, 0x89, 0xc7, 0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05 }, true },
    { "clone_of_musl", X64, 3, { 0x41, 0xff, 0xd1, 0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05, 0xf4 }, true },
    { "clone_of_go",
      X64,
      3,
      { 0x41, 0xff, 0xd4, 0xbf, 0x6f, 0, 0, 0, 0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf2 },
      true },
    { "an_exit_behind_a_call_by_name_is_no_root",
      X64,
      5,
      { 0xe8, 0, 0x10, 0, 0, 0x48, 0x89, 0xc7, 0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05 },
      false },
    { "another_system_call_is_no_root",
      X64,
      2,
      { 0xff, 0xd0, 0x48, 0x89, 0xc7, 0xb8, 0x27, 0, 0, 0, 0x0f, 0x05, 0xc3 },
      false },
    { "start_context_of_glibc",
      X64,
      16,
      { 0xc3, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0,    0,    0,    0,    0,    0x0f, 0x1f, 0x44, 0, 0, /* nop */
        0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff, 0x74, 0x08, 0xe8, 0,    0, 0x10 },
      true },
    { "a_jump_target_that_moves_a_register_is_no_root",
      X64,
      6,
      { 0x48, 0x83, 0xc4, 0x08, 0xeb, 0x05, 0x48, 0x89, 0xdf, 0x5b, 0xc3 },
      false },
    { "goexit_of_go", X64, 1, { 0x90, 0xe8, 0, 0x10, 0, 0, 0x90, 0xcc, 0xcc }, true },
    { "a_call_and_a_nop_inside_a_function_are_no_root",
      X64,
      4,
      { 0x48, 0x89, 0xc3, 0x90, 0xe8, 0, 0x10, 0, 0, 0x90, 0x5b, 0xc3 },
      false },
    { "the_end_of_a_boost_context", X64, 2, { 0xff, 0xe3, 0x31, 0xff, 0xe8, 0, 0x10, 0, 0, 0xf4 }, true },
    { "a_return_behind_a_call_is_no_root", X64, 2, { 0xff, 0xd0, 0x31, 0xff, 0xe8, 0, 0x10, 0, 0, 0xf4 }, false },
    { "clone_of_glibc_arm64",
      ARM64,
      4,
      { 0x40, 0x01, 0x3f, 0xd6, 0xa8, 0x0b, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 },
      true },
    { "an_exit_behind_a_call_by_name_is_no_root_arm64",
      ARM64,
      4,
      { 0x40, 0x00, 0x00, 0x94, 0xa8, 0x0b, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 },
      false },
    { "start_context_of_glibc_arm64",
      ARM64,
      4,
      { 0x1f, 0x20, 0x03, 0xd5, 0xe0, 0x03, 0x13, 0xaa, 0xc0, 0xf9, 0xff, 0xb5, 0x52, 0xf5, 0xff, 0x17 },
      true },
    { "goexit_of_go_arm64",
      ARM64,
      4,
      { 0xe0, 0x03, 0x00, 0xaa, 0x40, 0x00, 0x00, 0x94, 0x1f, 0x20, 0x03, 0xd5, 0, 0, 0, 0 },
      true },
};

static struct sw_scratch scratch;

/* A leaf at its first instruction, whose return address is the row's. */
static struct sw_sim *make(const struct row *row, struct sw_regs *regs)
{
    static const uint8_t leaf[][4] = { { 0xc3, 0xcc, 0xcc, 0xcc }, { 0xc0, 0x03, 0x5f, 0xd6 } };
    uint64_t words[WORDS], pc = CODE + row->front;
    struct sw_sim *sim;
    for (size_t i = 0; i < WORDS; i++)
        words[i] = UINT64_C(0x5a5a5a5a5a5a5a5a) + i;
    words[0] = pc;
    assert_int_equal(sw_sim_create(NULL, row->machine, &sim), SW_OK);
    assert_int_equal(sw_sim_bytes(sim, CODE, row->bytes, sizeof row->bytes), SW_OK);
    assert_int_equal(sw_sim_bytes(sim, LEAF, leaf[row->machine == ARM64], 4), SW_OK);
    assert_int_equal(sw_sim_range(sim, SW_KIND_NATIVE, LEAF, LEAF + 4, 1), SW_OK);
    assert_int_equal(sw_sim_words(sim, STACK, words, WORDS), SW_OK);
    *regs = (struct sw_regs){ .machine = row->machine };
    sw_regs_set(regs, sw_regs_pc_number(row->machine), LEAF);
    sw_regs_set(regs, sw_regs_sp_number(row->machine), STACK);
    if (row->machine == ARM64)
        sw_regs_set(regs, SW_ARM64_LR, pc);
    return sim;
}

static void a_stack_begins(void **state)
{
    const struct row *row = *state;
    struct sw_walk walk;
    struct sw_regs regs;
    struct sw_sim *sim = make(row, &regs);
    sw_walk_start(&walk, sw_sim_walker(sim), &scratch, &regs, true);
    while (sw_walk_next(&walk))
        ;
    assert_true(walk.depth >= 2);
    assert_int_equal(walk.stop == SW_STOP_ROOT, row->is_root);
    if (row->is_root)
        assert_int_equal(walk.depth, 2);
    sw_sim_destroy(sim);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows)];
    FILL_ROWS(tests, rows, a_stack_begins);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
