/*
 * Code that keeps no calling convention but its own: what a walk through it may claim, and how it finds callers where
 * callees pop their arguments. Registers that must not be used hold distinct garbage.
 */
#include "rows.h"
#include "cached_twice.h"

#include <snapwalk/image.h>
#include <snapwalk/sim.h>
#include <snapwalk/walk.h>

#include "../support/target.h" /* last: its names are short */

enum { A = 0x10000, B = 0x20000, STUB = 0x30000, DATA = 0x800000, STACK = 0x700000 };
enum { RSP = SW_X64_RSP, RBP = SW_X64_RBP, RIP = SW_X64_RIP, RBX = SW_X64_RBX, R12 = SW_X64_R12 };

/* push rbp; mov rbp,rsp; push rbx; call B; mov rbx,[rbp-8]; mov rsp,rbp; pop rbp; ret. B pops the argument. */
static const uint8_t caller[] = { 0x55, 0x48, 0x89, 0xe5, 0x53, 0xe8, 0xf6, 0xff, 0x00, 0x00,
                                  0x48, 0x8b, 0x5d, 0xf8, 0x48, 0x89, 0xec, 0x5d, 0xc3 };
enum { BEHIND_PUSH = 1, BEHIND_CALL = 10, AT_LEAVE = 14 };

/* mov eax,1; ret */
static const uint8_t leaf[] = { 0xb8, 1, 0, 0, 0, 0xc3 };

static struct sw_scratch scratch;

static struct sw_regs at(uint64_t pc, uint64_t sp, uint64_t fp)
{
    struct sw_regs regs = garbage_regs(SW_MACHINE_X64);
    sw_regs_set(&regs, RIP, pc);
    sw_regs_set(&regs, RSP, sp);
    sw_regs_set(&regs, RBP, fp);
    return regs;
}

static void first_caller(const struct sw_regs *regs, struct sw_walk *walk)
{
    (void)walk_twice(sw_sim_walker(sim), regs, true);
    sw_walk_start(walk, sw_sim_walker(sim), &scratch, regs, true);
    assert_true(sw_walk_next(walk));
    assert_true(sw_walk_next(walk));
}

/* What is known of rbx and r12 in the caller of a leaf that touches neither. */
static const struct claim {
    const char *name;
    enum sw_kind kind;
    enum sw_unwind unwind;
    bool has_images, is_claimed;
} claims[] = {
    { "code_that_keeps_the_convention_has_untouched_registers", SW_KIND_JIT, SW_UNWIND_ANALYSIS, false, true },
    { "foreign_code_promises_the_frame_pointer_alone", SW_KIND_JIT, SW_UNWIND_FOREIGN, false, false },
    { "code_in_no_image_and_no_range_promises_as_little", SW_KIND_NONE, SW_UNWIND_AUTO, true, false },
    { "without_images_nobody_knows_and_the_convention_is_believed", SW_KIND_NONE, SW_UNWIND_AUTO, false, true },
};

static void claims_are_as_the_range_says(void **state)
{
    const struct claim *row = *state;
    const uint64_t words[] = { A + BEHIND_CALL, 0, 0, 0 };
    const struct sw_regs regs = at(B + 5, STACK, STACK + 0x80);
    struct sw_walk walk;
    assert_int_equal(set_up_x64(NULL), 0);
    put_code(A, caller, sizeof caller, row->kind, row->unwind);
    put_code(B, leaf, sizeof leaf, row->kind, row->unwind);
    assert_int_equal(sw_sim_words(sim, STACK, words, COUNT_OF(words)), SW_OK);
    sw_sim_walker(sim)->images = row->has_images ? images : NULL;
    first_caller(&regs, &walk);
    assert_int_equal(sw_regs_pc(&walk.frame.regs), A + BEHIND_CALL);
    assert_true(sw_regs_has(&walk.frame.regs, RBP));
    assert_int_equal(sw_regs_fp(&walk.frame.regs), STACK + 0x80);
    assert_int_equal(sw_regs_has(&walk.frame.regs, RBX), row->is_claimed);
    assert_int_equal(sw_regs_has(&walk.frame.regs, R12), row->is_claimed);
    tear_down_target(NULL);
}

/*
 * Inside `caller`: where sp is when B has popped the argument, and the frame pointer. The frame record is at STACK +
 * 0x10, so the caller's sp is STACK + 0x20 in all of them; above it lies what a wrong sp would lead to.
 */
static const struct place {
    const char *name;
    unsigned offset;
    uint64_t sp, fp;
} places[] = {
    { "behind_a_call_that_popped_its_argument_the_frame_pointer_counts", BEHIND_CALL, STACK + 0x10, STACK + 0x10 },
    { "and_further_on", AT_LEAVE, STACK + 0x10, STACK + 0x10 },
    { "behind_one_that_did_not_both_agree", BEHIND_CALL, STACK + 8, STACK + 0x10 },
    { "a_frame_pointer_that_is_still_the_callers_does_not_count", BEHIND_PUSH, STACK + 0x10, STACK + 0x30 },
};

static void callees_may_pop_arguments(void **state)
{
    const struct place *row = *state;
    const uint64_t words[] = {
        0, 0, STACK + 0x30, A + BEHIND_CALL, A + BEHIND_CALL, A + BEHIND_CALL, 0, A + BEHIND_CALL
    };
    const struct sw_regs regs = at(A + row->offset, row->sp, row->fp);
    struct sw_walk walk;
    assert_int_equal(set_up_x64(NULL), 0);
    put_code(A, caller, sizeof caller, SW_KIND_JIT, SW_UNWIND_FOREIGN);
    assert_int_equal(sw_sim_words(sim, STACK, words, COUNT_OF(words)), SW_OK);
    first_caller(&regs, &walk);
    assert_int_equal(sw_regs_pc(&walk.frame.regs), A + BEHIND_CALL);
    assert_int_equal(sw_regs_sp(&walk.frame.regs), STACK + 0x20);
    assert_int_equal(sw_regs_fp(&walk.frame.regs), STACK + 0x30);
    tear_down_target(NULL);
}

/*
 * jmp rax, and behind it, where no path leads: pop rdx; jmp rax. Taken for a part of the function with the sp of the
 * first jump, its caller would be what lies on top, data or an old return address; the way forward pops first.
 */
static const struct guess {
    const char *name;
    uint64_t on_top;
} guesses[] = {
    { "an_assumption_that_leads_to_no_caller_gives_way", DATA + 8 },
    { "in_stubs_one_that_leads_to_a_caller_too", A + BEHIND_CALL },
};

static void assumptions_give_way(void **state)
{
    static const uint8_t stub[] = { 0xff, 0xe0, 0x5a, 0xff, 0xe0 };
    static const uint8_t data[16] = { 0 };
    const struct guess *row = *state;
    const uint64_t words[] = { row->on_top, A + BEHIND_CALL, 0, 0 };
    const struct sw_regs regs = at(STUB + 2, STACK, STACK + 0x80);
    struct sw_walk walk;
    assert_int_equal(set_up_x64(NULL), 0);
    put_code(A, caller, sizeof caller, SW_KIND_JIT, SW_UNWIND_ANALYSIS);
    put_code(STUB, stub, sizeof stub, SW_KIND_STUB, SW_UNWIND_AUTO);
    put_code(DATA, data, sizeof data, SW_KIND_NONE, SW_UNWIND_AUTO);
    assert_int_equal(sw_sim_words(sim, STACK, words, COUNT_OF(words)), SW_OK);
    first_caller(&regs, &walk);
    assert_int_equal(sw_regs_pc(&walk.frame.regs), A + BEHIND_CALL);
    assert_int_equal(sw_regs_sp(&walk.frame.regs), STACK + 0x10);
    assert_int_equal(walk.frame.source, SW_SOURCE_FORWARD);
    tear_down_target(NULL);
}

/* The same without a way forward (ud2 at the end): better doubted than none. */
static void an_assumption_is_used_when_nothing_else_is_known(void **state)
{
    static const uint8_t stub[] = { 0xff, 0xe0, 0x90, 0x90, 0x31, 0xc0, 0x0f, 0x0b };
    static const uint8_t data[16] = { 0 };
    const uint64_t words[] = { DATA + 8, 0, 0, 0 };
    const struct sw_regs regs = at(STUB + 4, STACK, 1);
    struct sw_walk walk;
    (void)state;
    put_code(STUB, stub, sizeof stub, SW_KIND_STUB, SW_UNWIND_AUTO);
    put_code(DATA, data, sizeof data, SW_KIND_NONE, SW_UNWIND_AUTO);
    assert_int_equal(sw_sim_words(sim, STACK, words, COUNT_OF(words)), SW_OK);
    first_caller(&regs, &walk);
    assert_int_equal(sw_regs_pc(&walk.frame.regs), DATA + 8);
    assert_int_equal(walk.frame.trust, SW_TRUST_GUESS);
}

int main(void)
{
    const struct CMUnitTest singles[] = {
        cmocka_unit_test_setup_teardown(an_assumption_is_used_when_nothing_else_is_known, set_up_x64, tear_down_target),
    };
    struct CMUnitTest claimed[COUNT_OF(claims)], popped[COUNT_OF(places)], guessed[COUNT_OF(guesses)];
    FILL_ROWS(claimed, claims, claims_are_as_the_range_says);
    FILL_ROWS(popped, places, callees_may_pop_arguments);
    FILL_ROWS(guessed, guesses, assumptions_give_way);
    const int failed = cmocka_run_group_tests(singles, NULL, NULL) + cmocka_run_group_tests(guessed, NULL, NULL);
    return failed + cmocka_run_group_tests(claimed, NULL, NULL) + cmocka_run_group_tests(popped, NULL, NULL);
}
