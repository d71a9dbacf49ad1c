/*
 * A thread that executes code which cannot be read, as Wine's host is for a program of Windows: what its stack says is
 * all that is known, and nothing else is searched for.
 */
#include "rows.h"
#include "cached_twice.h"

#include <snapwalk/sim.h>
#include <snapwalk/walk.h>

#include "../support/target.h" /* last: its names are short */

enum { LOW = 0x200, STUB = 0x10000, NOWHERE = 0x7f000000, OTHER_STACK = 0x810000, STACK = 0x700000, ROOM = 0x1000 };
enum { RSP = SW_X64_RSP, RIP = SW_X64_RIP, RBP = SW_X64_RBP, RBX = SW_X64_RBX, BEHIND_CALL = 6 };

/* nop; call; ret */
static const uint8_t stub[] = { 0x90, 0xe8, 0x00, 0x10, 0x00, 0x00, 0xc3 };

static struct sw_scratch scratch;

static struct sw_regs load(uint64_t sp, const uint64_t *words, size_t count)
{
    struct sw_regs regs = garbage_regs(SW_MACHINE_X64);
    struct sw_walker *walker;
    assert_int_equal(set_up_x64(NULL), 0);
    put_code(STUB, stub, sizeof stub, SW_KIND_NONE, SW_UNWIND_AUTO);
    assert_int_equal(sw_sim_words(sim, sp, words, count), SW_OK);
    walker = sw_sim_walker(sim);
    walker->stack_begin = STACK - ROOM;
    walker->stack_end = STACK + ROOM;
    sw_regs_set(&regs, RIP, NOWHERE);
    sw_regs_set(&regs, RSP, sp);
    sw_regs_set(&regs, RBP, 1);
    return regs;
}

static bool first_caller(const struct sw_regs *regs, struct sw_walk *walk)
{
    (void)walk_twice(sw_sim_walker(sim), regs, true);
    sw_walk_start(walk, sw_sim_walker(sim), &scratch, regs, true);
    assert_true(sw_walk_next(walk));
    return sw_walk_next(walk);
}

/* pc, cs, flags, sp, ss; in the upper bits of the selectors other things. */
static const struct interrupt {
    const char *name;
    uint64_t sp, words[5];
    bool leads;
} interrupts[] = {
    { "an_interrupts_frame_leads_back_to_the_thread",
      OTHER_STACK,
      { STUB + 1, 0x2b0033, 0x246, STACK + 0x40, 0x1002b },
      true },
    { "not_to_another_stack", OTHER_STACK, { STUB + 1, 0x33, 0x246, OTHER_STACK + 0x40, 0x2b }, false },
    { "not_with_another_code_selector", OTHER_STACK, { STUB + 1, 0x23, 0x246, STACK + 0x40, 0x2b }, false },
    { "not_with_another_stack_selector", OTHER_STACK, { STUB + 1, 0x33, 0x246, STACK + 0x40, 0x33 }, false },
    { "not_on_the_threads_own_stack", STACK, { STUB + 1, 0x33, 0x246, STACK + 0x40, 0x2b }, false },
};

static void interrupts_frames_are_known(void **state)
{
    const struct interrupt *row = *state;
    const struct sw_regs regs = load(row->sp, row->words, COUNT_OF(row->words));
    struct sw_walk walk;
    const bool leads = first_caller(&regs, &walk) && sw_regs_sp(&walk.frame.regs) == STACK + 0x40;
    assert_int_equal(leads, row->leads);
    if (leads) {
        assert_int_equal(sw_regs_pc(&walk.frame.regs), STUB + 1);
        assert_true(walk.frame.exact);
        assert_int_equal(walk.frame.source, SW_SOURCE_SIGNAL_FRAME);
        assert_int_equal(walk.frame.regs.r[RBX], regs.r[RBX]);
    }
    tear_down_target(NULL);
}

static void the_leafs_caller_is_on_top(void **state)
{
    const uint64_t words[] = { STUB + BEHIND_CALL, 0, 0, 0 };
    const struct sw_regs regs = load(STACK, words, COUNT_OF(words));
    struct sw_walk walk;
    (void)state;
    assert_true(first_caller(&regs, &walk));
    assert_int_equal(sw_regs_pc(&walk.frame.regs), STUB + BEHIND_CALL);
    assert_int_equal(walk.frame.trust, SW_TRUST_GUESS);
    tear_down_target(NULL);
}

/* Words on top of a return address: flags, and such as look like them. */
static const struct top {
    const char *name;
    uint64_t word;
    bool leads;
} tops[] = {
    { "flags_may_be_on_top_of_it", 0x246, true },
    { "not_without_the_bit_that_is_always_set", 0x244, false },
    { "not_with_one_that_never_is", 0x8246, false },
};

static void a_leaf_may_have_pushed_flags(void **state)
{
    const struct top *row = *state;
    const uint64_t words[] = { row->word, STUB + BEHIND_CALL, 0, 0 };
    const struct sw_regs regs = load(STACK, words, COUNT_OF(words));
    struct sw_walk walk;
    assert_int_equal(first_caller(&regs, &walk), row->leads);
    if (row->leads) {
        assert_int_equal(sw_regs_pc(&walk.frame.regs), STUB + BEHIND_CALL);
        assert_int_equal(sw_regs_sp(&walk.frame.regs), STACK + 16);
    }
    tear_down_target(NULL);
}

/* Code at a low address: what is on top could be flags, but it is the return address. */
static void a_return_address_may_look_like_flags(void **state)
{
    const uint64_t words[] = { LOW + BEHIND_CALL, STUB + 1, 0, 0 };
    const struct sw_regs regs = load(STACK, words, COUNT_OF(words));
    struct sw_walk walk;
    (void)state;
    put_code(LOW, stub, sizeof stub, SW_KIND_NONE, SW_UNWIND_AUTO);
    assert_true(first_caller(&regs, &walk));
    assert_int_equal(sw_regs_pc(&walk.frame.regs), LOW + BEHIND_CALL);
    assert_int_equal(sw_regs_sp(&walk.frame.regs), STACK + 8);
    tear_down_target(NULL);
}

/* Flags and no return address. A search could only find code that pc is not in. */
static void nothing_is_searched(void **state)
{
    const uint64_t words[] = { 0x202, 0, STUB + BEHIND_CALL, 0 };
    const struct sw_regs regs = load(STACK, words, COUNT_OF(words));
    struct sw_walk walk;
    (void)state;
    assert_false(first_caller(&regs, &walk));
    assert_int_equal(walk.stop, SW_STOP_BAD_PC);
    assert_true(walk.work <= 4);
    tear_down_target(NULL);
}

int main(void)
{
    const struct CMUnitTest singles[] = {
        cmocka_unit_test(the_leafs_caller_is_on_top),
        cmocka_unit_test(a_return_address_may_look_like_flags),
        cmocka_unit_test(nothing_is_searched),
    };
    struct CMUnitTest rows[COUNT_OF(interrupts) + COUNT_OF(tops)];
    FILL_ROWS(rows, interrupts, interrupts_frames_are_known);
    FILL_ROWS(rows + COUNT_OF(interrupts), tops, a_leaf_may_have_pushed_flags);
    return cmocka_run_group_tests(rows, NULL, NULL) + cmocka_run_group_tests(singles, NULL, NULL);
}
