/* The single-step test's truth, tested: what one executed instruction does to the stack of calls (test/step/shadow.c,
 * shadow_x64.c).
 */
#include "../step/shadow.c"
#include "../step/shadow_x64.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { CODE = 0x400000, STACK = 0x7ff000, OTHER_STACK = 0x10000, OTHER_END = 0x20000 };

/* A thread: its registers and its shadow. Memory is what each instruction says that it pushed. */
static struct {
    struct shadow shadow;
    struct shadow_regs regs;
} thread;

static int setup(void **state)
{
    (void)state;
    memset(&thread, 0, sizeof thread);
    thread.shadow.machine = &shadow_x64;
    thread.regs = (struct shadow_regs){ CODE, STACK, 0, { 1, 2, 3, 4, 5, 6 } };
    return 0;
}

/* One instruction: pc and sp behind it, the word on top then. */
static enum shadow_event step(enum shadow_kind kind, uint64_t pc, uint64_t sp, uint64_t top)
{
    const struct shadow_regs before = thread.regs;
    thread.regs.pc = pc;
    thread.regs.sp = sp;
    return shadow_step(&thread.shadow, kind, &before, &thread.regs, top);
}

static enum shadow_event call(uint64_t pc)
{
    return step(SHADOW_CALL, pc, thread.regs.sp - 8, thread.regs.pc + 5);
}

static enum shadow_event move_sp(uint64_t sp)
{
    return step(SHADOW_PLAIN, thread.regs.pc + 4, sp, 0);
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
    shadow_signal(&thread.shadow, &before, &thread.regs, CODE + 0x9900);
}

/* ---- opcodes ---- */

static const struct {
    const char *name;
    uint8_t bytes[8];
    size_t size;
    enum shadow_kind kind;
} opcodes[] = {
    { "call rel32", { 0xe8, 0, 0, 0, 0 }, 5, SHADOW_CALL },
    { "call rel32 that the linker made of one through the GOT", { 0x67, 0xe8, 0, 0, 0, 0 }, 6, SHADOW_CALL },
    { "call rel32 over pause", { 0xe8, 7, 0, 0, 0, 0xf3, 0x90, 0x0f }, 8, SHADOW_PLAIN },
    { "call rel32 over lfence", { 0xe8, 7, 0, 0, 0, 0x0f, 0xae, 0xe8 }, 8, SHADOW_PLAIN },
    { "call rel32 far away, in front of pause", { 0xe8, 7, 1, 0, 0, 0xf3, 0x90, 0x0f }, 8, SHADOW_CALL },
    { "call rel32 in front of mfence", { 0xe8, 7, 0, 0, 0, 0x0f, 0xae, 0xf0 }, 8, SHADOW_CALL },
    { "call rax", { 0xff, 0xd0 }, 2, SHADOW_CALL },
    { "call [rip + x]", { 0xff, 0x15, 0, 0, 0, 0 }, 6, SHADOW_CALL },
    { "call r8", { 0x41, 0xff, 0xd0 }, 3, SHADOW_CALL },
    { "notrack call rax", { 0x3e, 0xff, 0xd0 }, 3, SHADOW_CALL },
    { "padded call of __tls_get_addr", { 0x66, 0x48, 0xe8, 0, 0, 0 }, 6, SHADOW_CALL },
    { "ret", { 0xc3 }, 1, SHADOW_RETURN },
    { "repz ret", { 0xf3, 0xc3 }, 2, SHADOW_RETURN },
    { "bnd ret", { 0xf2, 0xc3 }, 2, SHADOW_RETURN },
    { "ret 16", { 0xc2, 16, 0 }, 3, SHADOW_RETURN },
    { "jmp rel8", { 0xeb, 0 }, 2, SHADOW_JUMP },
    { "jmp rel32", { 0xe9, 0, 0, 0, 0 }, 5, SHADOW_JUMP },
    { "jmp [rip + x]", { 0xff, 0x25, 0, 0, 0, 0 }, 6, SHADOW_JUMP },
    { "notrack jmp rax", { 0x3e, 0xff, 0xe0 }, 3, SHADOW_JUMP },
    { "syscall", { 0x0f, 0x05 }, 2, SHADOW_SYSCALL },
    { "mov rsp, [rdx + 160]", { 0x48, 0x8b, 0xa2, 0xa0, 0, 0 }, 6, SHADOW_LOAD },
    { "mov rsp, rdi", { 0x48, 0x89, 0xfc }, 3, SHADOW_LOAD },
    { "mov rdi, rsp", { 0x48, 0x89, 0xe7 }, 3, SHADOW_PLAIN },
    { "mov r12, [rdx]", { 0x4c, 0x8b, 0x22 }, 3, SHADOW_PLAIN },
    { "mov r12, rax", { 0x49, 0x89, 0xc4 }, 3, SHADOW_PLAIN },
    { "xchg rax, rsp", { 0x48, 0x94 }, 2, SHADOW_LOAD },
    { "pop rsp", { 0x5c }, 1, SHADOW_LOAD },
    { "pop r12", { 0x41, 0x5c }, 2, SHADOW_PLAIN },
    { "leave", { 0xc9 }, 1, SHADOW_PLAIN },
    { "push rax", { 0x50 }, 1, SHADOW_PLAIN },
    { "push [rax]", { 0xff, 0x30 }, 2, SHADOW_PLAIN },
    { "inc [rax]", { 0xff, 0x00 }, 2, SHADOW_PLAIN },
    { "je rel8", { 0x74, 0 }, 2, SHADOW_PLAIN },
    { "je rel32", { 0x0f, 0x84, 0, 0, 0, 0 }, 6, SHADOW_PLAIN },
    { "prefixes alone", { 0x66, 0x66 }, 2, SHADOW_PLAIN },
    { "nothing", { 0 }, 0, SHADOW_PLAIN },
};

static void opcodes_are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
        if (shadow_kind_of(&shadow_x64, opcodes[i].bytes, opcodes[i].size) != opcodes[i].kind)
            fail_msg("%s", opcodes[i].name);
}

/* ---- calls and returns ---- */

static void a_call_keeps_the_caller_as_it_will_be(void **state)
{
    (void)state;
    assert_int_equal(call(CODE + 0x100), SHADOW_CALLED);
    assert_int_equal(top_entry()->regs.pc, CODE + 5);
    assert_int_equal(top_entry()->regs.sp, STACK);
    assert_int_equal(top_entry()->slot, STACK - 8);
    assert_int_equal(top_entry()->regs.nv[5], 6);
}

static void a_call_of_the_next_instruction_is_none(void **state)
{
    (void)state;
    assert_int_equal(step(SHADOW_CALL, CODE + 5, STACK - 8, CODE + 5), SHADOW_NOTHING);
    assert_int_equal(thread.shadow.count, 0);
}

static void a_return_drops_its_call(void **state)
{
    (void)state;
    call(CODE + 0x100);
    call(CODE + 0x200);
    assert_int_equal(step(SHADOW_RETURN, CODE + 0x105, STACK - 8, 0), SHADOW_RETURNED);
    assert_int_equal(thread.shadow.count, 1);
    assert_int_equal(step(SHADOW_RETURN, CODE + 5, STACK, 0), SHADOW_RETURNED);
    assert_int_equal(thread.shadow.count, 0);
}

static void a_return_may_pop_arguments(void **state)
{
    (void)state;
    call(CODE + 0x100);
    assert_int_equal(step(SHADOW_RETURN, CODE + 5, STACK + 16, 0), SHADOW_RETURNED);
    assert_int_equal(thread.shadow.count, 0);
}

static void a_tail_call_keeps_the_caller(void **state)
{
    (void)state;
    call(CODE + 0x100);
    assert_int_equal(step(SHADOW_JUMP, CODE + 0x300, STACK - 8, 0), SHADOW_NOTHING);
    assert_int_equal(step(SHADOW_RETURN, CODE + 5, STACK, 0), SHADOW_RETURNED);
}

static void a_jump_out_of_frames_drops_them(void **state)
{
    (void)state;
    call(CODE + 0x100);
    move_sp(STACK - 0x100);
    call(CODE + 0x200);
    call(CODE + 0x300);
    move_sp(STACK - 0x80);
    assert_int_equal(step(SHADOW_JUMP, CODE + 0x150, STACK - 0x80, 0), SHADOW_LEFT);
    assert_int_equal(thread.shadow.count, 1);
    assert_int_equal(top_entry()->regs.pc, CODE + 5);
}

static void a_pushed_address_is_jumped_to(void **state)
{
    (void)state;
    call(CODE + 0x100);
    move_sp(STACK - 16);
    assert_int_equal(step(SHADOW_RETURN, CODE + 0x700, STACK - 8, 0), SHADOW_PUSHED);
    assert_int_equal(thread.shadow.count, 1);
}

static void above_the_return_address_is_between(void **state)
{
    (void)state;
    call(CODE + 0x100);
    assert_false(shadow_between(&thread.shadow, &thread.regs));
    move_sp(STACK);
    assert_true(shadow_between(&thread.shadow, &thread.regs));
}

static void a_popped_return_address_is_followed(void **state)
{
    (void)state;
    call(CODE + 0x100);
    move_sp(STACK); /* pop rcx */
    assert_true(shadow_wants_top(&thread.shadow, SHADOW_PLAIN));
    assert_int_equal(step(SHADOW_PLAIN, CODE + 0x110, STACK - 8, 77), SHADOW_NOTHING);      /* push 77 */
    assert_int_equal(step(SHADOW_PLAIN, CODE + 0x112, STACK - 16, CODE + 5), SHADOW_MOVED); /* push rcx */
    assert_int_equal(top_entry()->slot, STACK - 16);
    assert_true(top_entry()->loose);
    assert_false(shadow_wants_top(&thread.shadow, SHADOW_PLAIN));
    assert_int_equal(step(SHADOW_RETURN, CODE + 5, STACK, 0), SHADOW_RETURNED);
}

static void a_return_address_pushed_back_has_not_moved(void **state)
{
    (void)state;
    call(CODE + 0x100);
    move_sp(STACK);
    assert_int_equal(step(SHADOW_PLAIN, CODE + 0x110, STACK - 8, CODE + 5), SHADOW_NOTHING);
    assert_int_equal(top_entry()->slot, STACK - 8);
    assert_false(top_entry()->loose);
}

static void a_return_by_a_copied_address_drops_its_call(void **state)
{
    (void)state;
    call(CODE + 0x100);
    move_sp(STACK - 0x40);
    assert_int_equal(step(SHADOW_RETURN, CODE + 5, STACK - 0x38, 0), SHADOW_MOVED);
    assert_int_equal(thread.shadow.count, 0);
}

static void calls_without_room_are_told(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SHADOW_DEPTH; i++)
        call(CODE + 0x100);
    assert_false(thread.shadow.overflow);
    call(CODE + 0x100);
    assert_true(thread.shadow.overflow);
    assert_int_equal(thread.shadow.count, SHADOW_DEPTH);
}

/* ---- signals ---- */

static void a_handler_returns_to_the_restorer_and_it_to_what_was_interrupted(void **state)
{
    (void)state;
    call(CODE + 0x100);
    signal_at(STACK - 0x800);
    assert_int_equal(thread.shadow.count, 3);
    assert_int_equal(top_entry()->regs.pc, CODE + 0x9900);
    assert_int_equal(top_entry()->regs.sp, STACK - 0x7f8);
    assert_int_equal(step(SHADOW_RETURN, CODE + 0x9900, STACK - 0x7f8, 0), SHADOW_RETURNED);
    assert_true(top_entry()->interrupted);
    assert_int_equal(top_entry()->regs.pc, CODE + 0x100);
    assert_int_equal(step(SHADOW_SYSCALL, CODE + 0x100, STACK - 8, 0), SHADOW_RESUMED);
    assert_int_equal(thread.shadow.count, 1);
}

static void a_system_call_in_a_handler_is_no_return(void **state)
{
    (void)state;
    signal_at(STACK - 0x800);
    call(CODE + 0x100);
    assert_int_equal(step(SHADOW_SYSCALL, CODE + 0x102, STACK - 0x808, 0), SHADOW_NOTHING);
    assert_int_equal(thread.shadow.count, 3);
}

static void handlers_nest(void **state)
{
    (void)state;
    signal_at(STACK - 0x800);
    call(CODE + 0x100);
    signal_at(OTHER_END - 0x400);
    assert_int_equal(thread.shadow.count, 5);
    step(SHADOW_RETURN, CODE + 0x9900, OTHER_END - 0x3f8, 0);
    assert_int_equal(step(SHADOW_SYSCALL, CODE + 0x100, STACK - 0x808, 0), SHADOW_RESUMED);
    assert_int_equal(thread.shadow.count, 3);
    assert_int_equal(top_entry()->regs.pc, CODE + 0x9005);
}

static void a_jump_out_of_a_handler_drops_what_it_interrupted(void **state)
{
    (void)state;
    move_sp(STACK - 0x100);
    call(CODE + 0x100);
    signal_at(STACK - 0x800);
    call(CODE + 0x200);
    move_sp(STACK - 0x100);
    assert_int_equal(step(SHADOW_JUMP, CODE + 0x20, STACK - 0x100, 0), SHADOW_LEFT);
    assert_int_equal(thread.shadow.count, 0);
}

static void a_jump_to_the_interrupted_frame_drops_the_handler(void **state)
{
    (void)state;
    move_sp(STACK - 0x100);
    signal_at(STACK - 0x800);
    move_sp(STACK - 0x100);
    assert_int_equal(step(SHADOW_JUMP, CODE + 0x20, STACK - 0x100, 0), SHADOW_LEFT);
    assert_int_equal(thread.shadow.count, 0);
}

static void a_system_call_of_the_restorer_that_returns_is_no_resumption(void **state)
{
    (void)state;
    signal_at(STACK - 0x800);
    step(SHADOW_RETURN, CODE + 0x9900, STACK - 0x7f8, 0);
    assert_int_equal(step(SHADOW_SYSCALL, CODE + 0x9902, STACK - 0x7f8, 0), SHADOW_NOTHING);
    assert_true(top_entry()->interrupted);
}

static void a_jump_off_an_alternate_stack_comes_back_to_the_calls_below(void **state)
{
    (void)state;
    move_sp(STACK - 0x100);
    call(CODE + 0x100);
    move_sp(STACK - 0x200);
    call(CODE + 0x200);
    signal_at(OTHER_END - 0x400);
    call(CODE + 0x300);
    switch_to(STACK - 0x180, STACK - 0x10000, STACK);
    assert_int_equal(thread.shadow.count, 2);
    assert_int_equal(step(SHADOW_JUMP, CODE + 0x120, STACK - 0x180, 0), SHADOW_LEFT);
    assert_int_equal(thread.shadow.count, 1);
    assert_int_equal(top_entry()->regs.pc, CODE + 4 + 5);
}

/* ---- other stacks ---- */

static void below_a_switch_nothing_is_known(void **state)
{
    (void)state;
    call(CODE + 0x100);
    switch_to(OTHER_END - 0x100, OTHER_STACK, OTHER_END);
    assert_true(top_entry()->unknown);
    assert_int_equal(step(SHADOW_RETURN, CODE + 0x500, OTHER_END - 0xf8, 0), SHADOW_NOTHING);
    assert_int_equal(call(CODE + 0x600), SHADOW_CALLED);
    assert_int_equal(step(SHADOW_RETURN, CODE + 0x505, OTHER_END - 0xf8, 0), SHADOW_RETURNED);
    assert_int_equal(step(SHADOW_JUMP, CODE + 0x700, OTHER_END + 8, 0), SHADOW_NOTHING);
    assert_true(top_entry()->unknown);
}

static void a_switch_back_finds_the_calls_again(void **state)
{
    (void)state;
    call(CODE + 0x100);
    switch_to(OTHER_END - 0x100, OTHER_STACK, OTHER_END);
    call(CODE + 0x600);
    switch_to(STACK - 8, STACK - 0x10000, STACK);
    assert_int_equal(thread.shadow.count, 1);
    assert_int_equal(step(SHADOW_RETURN, CODE + 5, STACK, 0), SHADOW_RETURNED);
}

/* Two coroutines side by side, one above the other; both have called. */
static void two_stacks(void)
{
    call(CODE + 0x100);
    switch_to(OTHER_END - 0x10, OTHER_STACK, OTHER_END);
    step(SHADOW_JUMP, CODE + 0x500, OTHER_END - 0x10, 0);
    call(CODE + 0x600);
    call(CODE + 0x700);
    switch_to(OTHER_END - 0x810, 0, 0);
    step(SHADOW_JUMP, CODE + 0x800, OTHER_END - 0x810, 0);
    call(CODE + 0x900);
}

static void stacks_in_one_mapping_are_told_apart(void **state)
{
    (void)state;
    two_stacks();
    assert_int_equal(thread.shadow.count, 2);
    assert_true(shadow_has_parked(&thread.shadow, OTHER_END - 0x18));
    assert_false(shadow_has_parked(&thread.shadow, OTHER_END - 0x28));
    switch_to(OTHER_END - 0x18, 0, 0); /* as it will be when the switch has returned */
    assert_int_equal(step(SHADOW_RETURN, CODE + 0x605, OTHER_END - 0x18, 0), SHADOW_RETURNED);
    assert_int_equal(thread.shadow.count, 2);
    assert_int_equal(top_entry()->regs.pc, CODE + 0x505);
    assert_true(shadow_has_parked(&thread.shadow, OTHER_END - 0x818));
}

static void the_end_of_a_switch_is_between(void **state)
{
    (void)state;
    two_stacks();
    assert_false(shadow_between(&thread.shadow, &thread.regs));
    switch_to(OTHER_END - 0x20, 0, 0);
    assert_true(shadow_between(&thread.shadow, &thread.regs));
    step(SHADOW_RETURN, CODE + 0x605, OTHER_END - 0x18, 0);
    assert_false(shadow_between(&thread.shadow, &thread.regs));
}

static void a_call_from_a_frame_of_two_stacks_has_an_unknown_caller(void **state)
{
    (void)state;
    two_stacks();
    switch_to(OTHER_END - 0x20, 0, 0);
    assert_int_equal(call(CODE + 0xa00), SHADOW_CALLED);
    assert_int_equal(top_entry()->regs.pc, CODE + 0x909);
    assert_true(thread.shadow.entries[thread.shadow.count - 2].unknown);
}

static void a_stack_that_is_used_anew_has_no_old_calls(void **state)
{
    (void)state;
    two_stacks();
    switch_to(OTHER_END - 8, 0, 0); /* above what was known of the first one */
    assert_int_equal(thread.shadow.count, 1);
    assert_true(top_entry()->unknown);
    call(CODE + 0xa00);
    thread.regs.sp = OTHER_END - 0x40;
    switch_to(OTHER_END - 0x818, 0, 0);
    assert_int_equal(thread.shadow.count, 2);
    switch_to(OTHER_END - 0x20, 0, 0);
    assert_int_equal(thread.shadow.count, 1 + 1);
    assert_int_equal(top_entry()->slot, OTHER_END - 0x10);
}

static void sp_stays_on_its_stack_up_to_the_outermost_call(void **state)
{
    (void)state;
    call(CODE + 0x100);
    move_sp(STACK - 0x100);
    call(CODE + 0x200);
    assert_true(shadow_owns(&thread.shadow, thread.regs.sp, STACK - 8));
    assert_false(shadow_owns(&thread.shadow, thread.regs.sp, STACK));
    assert_false(shadow_owns(&thread.shadow, thread.regs.sp, thread.regs.sp - 8));
}

static void what_is_forgotten_is_unknown_for_good(void **state)
{
    (void)state;
    call(CODE + 0x100);
    shadow_forget(&thread.shadow);
    assert_int_equal(thread.shadow.count, 1);
    assert_int_equal(step(SHADOW_RETURN, CODE + 5, STACK, 0), SHADOW_NOTHING);
    assert_int_equal(step(SHADOW_JUMP, CODE + 5, STACK + 0x1000, 0), SHADOW_NOTHING);
    assert_true(top_entry()->unknown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(opcodes_are_told, setup),
        cmocka_unit_test_setup(a_call_keeps_the_caller_as_it_will_be, setup),
        cmocka_unit_test_setup(a_call_of_the_next_instruction_is_none, setup),
        cmocka_unit_test_setup(a_return_drops_its_call, setup),
        cmocka_unit_test_setup(a_return_may_pop_arguments, setup),
        cmocka_unit_test_setup(a_tail_call_keeps_the_caller, setup),
        cmocka_unit_test_setup(a_jump_out_of_frames_drops_them, setup),
        cmocka_unit_test_setup(a_pushed_address_is_jumped_to, setup),
        cmocka_unit_test_setup(above_the_return_address_is_between, setup),
        cmocka_unit_test_setup(a_popped_return_address_is_followed, setup),
        cmocka_unit_test_setup(a_return_address_pushed_back_has_not_moved, setup),
        cmocka_unit_test_setup(a_return_by_a_copied_address_drops_its_call, setup),
        cmocka_unit_test_setup(calls_without_room_are_told, setup),
        cmocka_unit_test_setup(a_handler_returns_to_the_restorer_and_it_to_what_was_interrupted, setup),
        cmocka_unit_test_setup(a_system_call_in_a_handler_is_no_return, setup),
        cmocka_unit_test_setup(handlers_nest, setup),
        cmocka_unit_test_setup(a_jump_out_of_a_handler_drops_what_it_interrupted, setup),
        cmocka_unit_test_setup(a_jump_to_the_interrupted_frame_drops_the_handler, setup),
        cmocka_unit_test_setup(a_system_call_of_the_restorer_that_returns_is_no_resumption, setup),
        cmocka_unit_test_setup(a_jump_off_an_alternate_stack_comes_back_to_the_calls_below, setup),
        cmocka_unit_test_setup(below_a_switch_nothing_is_known, setup),
        cmocka_unit_test_setup(a_switch_back_finds_the_calls_again, setup),
        cmocka_unit_test_setup(stacks_in_one_mapping_are_told_apart, setup),
        cmocka_unit_test_setup(the_end_of_a_switch_is_between, setup),
        cmocka_unit_test_setup(a_call_from_a_frame_of_two_stacks_has_an_unknown_caller, setup),
        cmocka_unit_test_setup(a_stack_that_is_used_anew_has_no_old_calls, setup),
        cmocka_unit_test_setup(sp_stays_on_its_stack_up_to_the_outermost_call, setup),
        cmocka_unit_test_setup(what_is_forgotten_is_unknown_for_good, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
