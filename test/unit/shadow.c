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
    uint8_t bytes[6];
    size_t size;
    enum shadow_kind kind;
} opcodes[] = {
    { "call rel32", { 0xe8, 0, 0, 0, 0 }, 5, SHADOW_CALL },
    { "call rel32 that the linker made of one through the GOT", { 0x67, 0xe8, 0, 0, 0, 0 }, 6, SHADOW_CALL },
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
    move_sp(STACK - 0x180);
    shadow_switch(&thread.shadow, STACK - 0x10000, STACK);
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
    move_sp(OTHER_END - 0x100);
    shadow_switch(&thread.shadow, OTHER_STACK, OTHER_END);
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
    move_sp(OTHER_END - 0x100);
    shadow_switch(&thread.shadow, OTHER_STACK, OTHER_END);
    call(CODE + 0x600);
    move_sp(STACK - 8);
    shadow_switch(&thread.shadow, STACK - 0x10000, STACK);
    assert_int_equal(thread.shadow.count, 1);
    assert_int_equal(step(SHADOW_RETURN, CODE + 5, STACK, 0), SHADOW_RETURNED);
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
        cmocka_unit_test_setup(what_is_forgotten_is_unknown_for_good, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
