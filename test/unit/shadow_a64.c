/* The single-step test's truth for ARM64, tested: what one executed instruction does to the stack of calls
 * (test/step/shadow.c, shadow_a64.c).
 */
#include "../step/shadow.c"
#include "../step/shadow_a64.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { CODE = 0x400000, STACK = 0x7ff000, OTHER_STACK = 0x10000, OTHER_END = 0x20000, GARBAGE = 0x0badf00d };

static struct {
    struct shadow shadow;
    struct shadow_regs regs;
} thread;

static int setup(void **state)
{
    (void)state;
    memset(&thread, 0, sizeof thread);
    thread.shadow.machine = &shadow_a64;
    thread.regs = (struct shadow_regs){ CODE, STACK, GARBAGE, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 } };
    return 0;
}

/* One instruction: pc and sp behind it. */
static enum shadow_event step(enum shadow_kind kind, uint64_t pc, uint64_t sp)
{
    const struct shadow_regs before = thread.regs;
    thread.regs.pc = pc;
    thread.regs.sp = sp;
    if (kind == SHADOW_CALL)
        thread.regs.lr = before.pc + 4;
    return shadow_step(&thread.shadow, kind, &before, &thread.regs, 0);
}

static enum shadow_event call(uint64_t pc)
{
    return step(SHADOW_CALL, pc, thread.regs.sp);
}

static enum shadow_event move_sp(uint64_t sp)
{
    return step(SHADOW_PLAIN, thread.regs.pc + 4, sp);
}

/* stp x29, x30, [sp, #-size]!, and lr used for something; ldp x29, x30, [sp], #size. */
static void make_frame(uint64_t size)
{
    move_sp(thread.regs.sp - size);
    thread.regs.lr = GARBAGE;
}

static void leave_frame(uint64_t size, uint64_t lr)
{
    thread.regs.lr = lr;
    move_sp(thread.regs.sp + size);
}

/* sp goes to another stack, in a mapping, or in the same one: 0, 0. */
static void switch_to(uint64_t sp, uint64_t begin, uint64_t end)
{
    const uint64_t before = thread.regs.sp;
    move_sp(sp);
    shadow_switch(&thread.shadow, before, sp, begin, end);
}

static const struct shadow_entry *top_entry(void)
{
    assert_true(thread.shadow.count > 0);
    return &thread.shadow.entries[thread.shadow.count - 1];
}

static void signal_at(uint64_t handler_sp)
{
    const struct shadow_regs before = thread.regs;
    thread.regs.pc = CODE + 0x9000;
    thread.regs.sp = handler_sp;
    thread.regs.lr = CODE + 0x9900;
    shadow_signal(&thread.shadow, &before, &thread.regs, thread.regs.lr);
}

/* ---- opcodes ---- */

static const struct {
    const char *name;
    uint32_t word;
    enum shadow_kind kind;
} opcodes[] = {
    { "bl", 0x94000010, SHADOW_CALL },
    { "bl backwards", 0x97ffff31, SHADOW_CALL },
    { "blr x8", 0xd63f0100, SHADOW_CALL },
    { "blraaz x8", 0xd63f091f, SHADOW_CALL },
    { "blrabz x8", 0xd63f0d1f, SHADOW_CALL },
    { "blraa x8, x9", 0xd73f0909, SHADOW_CALL },
    { "blrab x8, x9", 0xd73f0d09, SHADOW_CALL },
    { "ret", 0xd65f03c0, SHADOW_RETURN },
    { "ret x16", 0xd65f0200, SHADOW_RETURN },
    { "retaa", 0xd65f0bff, SHADOW_RETURN },
    { "retab", 0xd65f0fff, SHADOW_RETURN },
    { "br x17", 0xd61f0220, SHADOW_JUMP },
    { "braaz x8", 0xd61f091f, SHADOW_JUMP },
    { "braa x8, x9", 0xd71f0909, SHADOW_JUMP },
    { "svc #0", 0xd4000001, SHADOW_SYSCALL },
    { "brk #0", 0xd4200000, SHADOW_PLAIN },
    { "hvc #0", 0xd4000002, SHADOW_PLAIN },
    { "b", 0x14000010, SHADOW_PLAIN },
    { "b.eq", 0x54000040, SHADOW_PLAIN },
    { "cbz x0", 0xb4000040, SHADOW_PLAIN },
    { "stp x29, x30, [sp, #-32]!", 0xa9be7bfd, SHADOW_PLAIN },
    { "eret", 0xd69f03e0, SHADOW_PLAIN },
    { "nothing", 0, SHADOW_PLAIN },
};

static void opcodes_are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++) {
        const uint32_t w = opcodes[i].word;
        const uint8_t bytes[4] = { (uint8_t)w, (uint8_t)(w >> 8), (uint8_t)(w >> 16), (uint8_t)(w >> 24) };
        if (shadow_kind_of(&shadow_a64, bytes, sizeof bytes) != opcodes[i].kind)
            fail_msg("%s", opcodes[i].name);
        assert_int_equal(shadow_kind_of(&shadow_a64, bytes, 3), SHADOW_PLAIN);
    }
}

/* ---- calls and returns ---- */

static void a_call_keeps_the_caller_as_it_will_be(void **state)
{
    (void)state;
    assert_int_equal(call(CODE + 0x100), SHADOW_CALLED);
    assert_int_equal(top_entry()->regs.pc, CODE + 4);
    assert_int_equal(top_entry()->regs.sp, STACK);
    assert_int_equal(top_entry()->regs.nv[10], 11);
    assert_false(shadow_wants_top(&thread.shadow, SHADOW_CALL));
}

static void a_call_of_the_next_instruction_is_none(void **state)
{
    (void)state;
    assert_int_equal(call(CODE + 4), SHADOW_NOTHING);
    assert_int_equal(thread.shadow.count, 0);
}

static void a_leaf_returns(void **state)
{
    (void)state;
    call(CODE + 0x100);
    assert_false(shadow_between(&thread.shadow, &thread.regs));
    assert_int_equal(step(SHADOW_RETURN, CODE + 4, STACK), SHADOW_RETURNED);
    assert_int_equal(thread.shadow.count, 0);
}

static void a_frame_that_is_left_in_order_is_never_between(void **state)
{
    (void)state;
    call(CODE + 0x100);
    make_frame(32);
    assert_false(shadow_between(&thread.shadow, &thread.regs));
    leave_frame(32, CODE + 4);
    assert_false(shadow_between(&thread.shadow, &thread.regs));
    assert_int_equal(step(SHADOW_RETURN, CODE + 4, STACK), SHADOW_RETURNED);
}

static void a_signed_return_address_is_one(void **state)
{
    (void)state;
    call(CODE + 0x100);
    make_frame(32);
    leave_frame(32, UINT64_C(0x0042000000000000) | (CODE + 4)); /* autiasp is still to come */
    assert_false(shadow_between(&thread.shadow, &thread.regs));
}

static void a_tail_call_keeps_the_caller(void **state)
{
    (void)state;
    call(CODE + 0x100);
    make_frame(32);
    leave_frame(32, CODE + 4);
    assert_int_equal(step(SHADOW_JUMP, CODE + 0x300, STACK), SHADOW_NOTHING);
    assert_int_equal(step(SHADOW_RETURN, CODE + 4, STACK), SHADOW_RETURNED);
}

static void a_piece_of_the_caller_that_jumps_on_has_changed_its_registers(void **state)
{
    (void)state;
    call(CODE + 0x100);
    thread.regs.nv[0] = 100; /* mov x19, x0 */
    move_sp(STACK);
    assert_int_equal(top_entry()->regs.nv[0], 1);
    assert_int_equal(step(SHADOW_PLAIN, CODE + 0x300, STACK), SHADOW_NOTHING); /* b */
    assert_int_equal(top_entry()->regs.nv[0], 100);
    make_frame(32);
    thread.regs.nv[0] = 200;
    assert_int_equal(step(SHADOW_PLAIN, CODE + 0x340, STACK - 32), SHADOW_NOTHING); /* within a function */
    assert_int_equal(top_entry()->regs.nv[0], 100);
}

static void a_jump_within_a_leaf_is_nothing(void **state)
{
    (void)state;
    call(CODE + 0x100);
    thread.regs.lr = GARBAGE; /* kept in another register */
    assert_int_equal(step(SHADOW_JUMP, CODE + 0x140, STACK), SHADOW_NOTHING);
    assert_int_equal(thread.shadow.count, 1);
}

static void calls_with_one_sp_return_one_by_one(void **state)
{
    (void)state;
    call(CODE + 0x100);
    call(CODE + 0x200); /* by a function that keeps lr in a register */
    assert_int_equal(thread.shadow.count, 2);
    assert_int_equal(step(SHADOW_RETURN, CODE + 0x104, STACK), SHADOW_RETURNED);
    assert_int_equal(step(SHADOW_RETURN, CODE + 4, STACK), SHADOW_RETURNED);
}

static void a_return_past_calls_with_one_sp_drops_them(void **state)
{
    (void)state;
    call(CODE + 0x100);
    call(CODE + 0x200);
    assert_int_equal(step(SHADOW_RETURN, CODE + 4, STACK), SHADOW_LEFT);
    assert_int_equal(thread.shadow.count, 0);
}

static void a_jump_out_of_frames_drops_them(void **state)
{
    (void)state;
    call(CODE + 0x100);
    make_frame(0x100);
    const uint64_t landing = thread.regs.sp;
    call(CODE + 0x200);
    make_frame(0x100);
    call(CODE + 0x300);
    move_sp(landing); /* longjmp: mov sp, x5 */
    assert_true(shadow_between(&thread.shadow, &thread.regs));
    assert_int_equal(step(SHADOW_JUMP, CODE + 0x150, landing), SHADOW_LEFT);
    assert_int_equal(thread.shadow.count, 1);
    assert_int_equal(top_entry()->regs.pc, CODE + 4);
}

static void a_jump_out_of_one_frame_drops_it(void **state)
{
    (void)state;
    call(CODE + 0x100);
    make_frame(0x100); /* a function that jumps back to its caller, elsewhere than it was called */
    thread.regs.lr = CODE + 0x40;
    move_sp(STACK);
    assert_true(shadow_between(&thread.shadow, &thread.regs));
    assert_int_equal(step(SHADOW_JUMP, CODE + 0x40, STACK), SHADOW_LEFT);
    assert_int_equal(thread.shadow.count, 0);
}

static void a_return_elsewhere_is_a_jump(void **state)
{
    (void)state;
    call(CODE + 0x100);
    make_frame(32);
    assert_int_equal(step(SHADOW_RETURN, CODE + 0x700, STACK - 32), SHADOW_PUSHED);
    assert_int_equal(thread.shadow.count, 1);
}

static void a_return_with_a_frame_left_drops_its_call(void **state)
{
    (void)state;
    call(CODE + 0x100);
    make_frame(32);
    assert_int_equal(step(SHADOW_RETURN, CODE + 4, STACK - 32), SHADOW_MOVED);
    assert_int_equal(thread.shadow.count, 0);
}

/* ---- signals ---- */

static void a_handler_returns_to_the_restorer_and_it_to_what_was_interrupted(void **state)
{
    (void)state;
    call(CODE + 0x100);
    signal_at(STACK - 0x1800);
    assert_int_equal(thread.shadow.count, 3);
    assert_int_equal(top_entry()->regs.pc, CODE + 0x9900);
    assert_int_equal(top_entry()->regs.sp, STACK - 0x1800);
    make_frame(32);
    leave_frame(32, CODE + 0x9900);
    assert_int_equal(step(SHADOW_RETURN, CODE + 0x9900, STACK - 0x1800), SHADOW_RETURNED);
    assert_true(top_entry()->interrupted);
    assert_int_equal(top_entry()->regs.pc, CODE + 0x100);
    assert_int_equal(step(SHADOW_SYSCALL, CODE + 0x100, STACK), SHADOW_RESUMED);
    assert_int_equal(thread.shadow.count, 1);
}

static void a_system_call_in_a_handler_is_no_return(void **state)
{
    (void)state;
    signal_at(STACK - 0x1800);
    call(CODE + 0x100);
    assert_int_equal(step(SHADOW_SYSCALL, CODE + 0x104, STACK - 0x1800), SHADOW_NOTHING);
    assert_int_equal(thread.shadow.count, 3);
}

static void a_jump_to_the_interrupted_frame_drops_the_handler(void **state)
{
    (void)state;
    move_sp(STACK - 0x100);
    signal_at(STACK - 0x1800);
    make_frame(32);
    move_sp(STACK - 0x100);
    assert_int_equal(step(SHADOW_JUMP, CODE + 0x20, STACK - 0x100), SHADOW_LEFT);
    assert_int_equal(thread.shadow.count, 0);
}

/* ---- other stacks ---- */

static void below_a_switch_nothing_is_known(void **state)
{
    (void)state;
    call(CODE + 0x100);
    switch_to(OTHER_END, OTHER_STACK, OTHER_END);
    assert_true(top_entry()->unknown);
    assert_int_equal(step(SHADOW_JUMP, CODE + 0x500, OTHER_END), SHADOW_NOTHING);
    assert_int_equal(call(CODE + 0x600), SHADOW_CALLED);
    assert_int_equal(step(SHADOW_RETURN, CODE + 0x504, OTHER_END), SHADOW_RETURNED);
    assert_true(top_entry()->unknown);
}

static void a_switch_back_finds_the_calls_again(void **state)
{
    (void)state;
    call(CODE + 0x100);
    switch_to(OTHER_END - 0x100, OTHER_STACK, OTHER_END);
    call(CODE + 0x600);
    switch_to(STACK, STACK - 0x10000, STACK);
    assert_int_equal(thread.shadow.count, 1);
    assert_int_equal(step(SHADOW_JUMP, CODE + 4, STACK), SHADOW_RETURNED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(opcodes_are_told, setup),
        cmocka_unit_test_setup(a_call_keeps_the_caller_as_it_will_be, setup),
        cmocka_unit_test_setup(a_call_of_the_next_instruction_is_none, setup),
        cmocka_unit_test_setup(a_leaf_returns, setup),
        cmocka_unit_test_setup(a_frame_that_is_left_in_order_is_never_between, setup),
        cmocka_unit_test_setup(a_signed_return_address_is_one, setup),
        cmocka_unit_test_setup(a_tail_call_keeps_the_caller, setup),
        cmocka_unit_test_setup(a_piece_of_the_caller_that_jumps_on_has_changed_its_registers, setup),
        cmocka_unit_test_setup(a_jump_within_a_leaf_is_nothing, setup),
        cmocka_unit_test_setup(calls_with_one_sp_return_one_by_one, setup),
        cmocka_unit_test_setup(a_return_past_calls_with_one_sp_drops_them, setup),
        cmocka_unit_test_setup(a_jump_out_of_frames_drops_them, setup),
        cmocka_unit_test_setup(a_jump_out_of_one_frame_drops_it, setup),
        cmocka_unit_test_setup(a_return_elsewhere_is_a_jump, setup),
        cmocka_unit_test_setup(a_return_with_a_frame_left_drops_its_call, setup),
        cmocka_unit_test_setup(a_handler_returns_to_the_restorer_and_it_to_what_was_interrupted, setup),
        cmocka_unit_test_setup(a_system_call_in_a_handler_is_no_return, setup),
        cmocka_unit_test_setup(a_jump_to_the_interrupted_frame_drops_the_handler, setup),
        cmocka_unit_test_setup(below_a_switch_nothing_is_known, setup),
        cmocka_unit_test_setup(a_switch_back_finds_the_calls_again, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
