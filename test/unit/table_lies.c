/*
 * Call frame information that lies, over code of this program: about prologues, epilogues, registers, and about
 * hand-written code of which it describes nothing. The stacks are made up so that each lie leads to a word that looks
 * right. Besides, what no call returns to and is right all the same: the bottoms of coroutines.
 */
#include "rows.h"
#include "cached_twice.h"

#include <snapwalk/image.h>
#include <snapwalk/self.h>

/* clang-format off */
#define LABELS(X)                                                                                                      \
    X(of_told)                                                                                                         \
    X(of_silent)                                                                                                       \
    X(of_early)                                                                                                        \
    X(of_leaving)                                                                                                      \
    X(of_anything)                                                                                                     \
    X(of_over)                                                                                                         \
    X(stale) X(silent_pushed) X(silent_made) X(early_not_saved) X(early_saved) X(leaving_returns) X(anything_called)   \
        X(over_there) X(told) X(told_called) X(bottom) X(bottom_inside) X(end)
/* clang-format on */
#define DECLARE(name) extern const uint8_t lies_##name[];
LABELS(DECLARE)

/* Words of a frame; MADE, SAVED: of one that is complete, where its function saves. */
enum { BELOW = TWICE_BELOW / 8, ABOVE = 1 << 15, WORDS = 8, IN_REGISTER = WORDS, NOWHERE, MADE = 4, SAVED = 2 };

/*
 * The functions are called by lies_caller, which is the outermost; `stale` is a return address that is left from a call
 * of another one. Of `told` all is said; of `silent` nothing is: it is as if it were at its first instruction; `early`
 * saves a register one instruction later than is said; of `leaving` the epilogue is left out; of `anything` all but the
 * first instruction is wrong; of `over`, whose call does not return, all is said. To `bottom` and `end` nobody has
 * returned yet; `end` is the end of its stack.
 */
/* clang-format off */
#define AT(name) "lies_" name ":\n"
#define FUNCTION(name) ".balign 16\n" AT(name) ".cfi_startproc\n"
#define CALLS(name) CALL " lies_" name "\n" AT("of_" name) "nop\n"
#define CALLER(said, back) FUNCTION("caller") said CALLS("told") CALLS("silent") CALLS("early") CALLS("leaving") \
    CALLS("anything") CALLS("over") CALL " lies_end\n" AT("stale") back " lies_caller\n.cfi_endproc\n"
#if defined(__aarch64__)
#define CALL "bl"
#define MAKES_FRAME "stp x29, x30, [sp, #-32]!\n.cfi_def_cfa_offset 32\n.cfi_offset x29, -32\n.cfi_offset x30, -24\n"
__asm__(".text\n" CALLER(".cfi_undefined x30\n", "b")
    FUNCTION("told") MAKES_FRAME "blr x0\n" AT("told_called")
    "ldp x29, x30, [sp], #32\n.cfi_def_cfa_offset 0\n.cfi_restore x29\n.cfi_restore x30\nret\n.cfi_endproc\n"
    FUNCTION("silent") "stp x29, x30, [sp, #-32]!\nstr x19, [sp, #16]\n" AT("silent_pushed") "mov x30, x1\n"
    AT("silent_made") "nop\nblr x0\nldr x19, [sp, #16]\nldp x29, x30, [sp], #32\nret\n.cfi_endproc\n"
    FUNCTION("early") MAKES_FRAME ".cfi_offset x19, -16\nnop\n" AT("early_not_saved")
    "str x19, [sp, #16]\nmov x19, #1\n"
    AT("early_saved") "blr x0\nldr x19, [sp, #16]\nldp x29, x30, [sp], #32\nret\n.cfi_endproc\n"
    FUNCTION("leaving") MAKES_FRAME ".cfi_offset x19, -16\nstr x19, [sp, #16]\nblr x0\nldr x19, [sp, #16]\n"
    "ldp x29, x30, [sp], #32\n" AT("leaving_returns") "ret\n.cfi_endproc\n"
    FUNCTION("anything") "stp x29, x30, [sp, #-32]!\nstr x19, [sp, #16]\nblr x0\n" AT("anything_called")
    "cbz x0, 1f\nblr x0\n1: ldr x19, [sp, #16]\nldp x29, x30, [sp], #32\nret\n.cfi_endproc\n"
    FUNCTION("over") "cbz x0, 1f\nstp x29, x30, [sp, #-16]!\n.cfi_def_cfa_offset 16\n.cfi_offset x29, -16\n"
    ".cfi_offset x30, -8\nbl lies_end\n.cfi_def_cfa_offset 0\n.cfi_restore x29\n.cfi_restore x30\n"
    "1:\n" AT("over_there") "nop\nret\n.cfi_endproc\n"
    ".balign 16\nnop\n" AT("bottom") "nop\n" AT("bottom_inside") "br x0\n"
    FUNCTION("end") ".cfi_undefined x30\nbrk #0\n.cfi_endproc\n");
static const enum sw_machine machine = SW_MACHINE_ARM64;
enum { LINK = SW_ARM64_LR, REGISTER = SW_ARM64_X19 };
enum { PUSHED = 4, SAVED_PUSHED = 2, RETURN_PUSHED = 1, RETURNS = 0, RETURN = 1, AT_RETURN = IN_REGISTER };
#else
#define CALL "call"
#define MAKES_FRAME "push %rbx\n.cfi_def_cfa_offset 16\nsub $16, %rsp\n.cfi_def_cfa_offset 32\n"
__asm__(".text\n" CALLER(".cfi_undefined %rip\n", "jmp")
    FUNCTION("told") "sub $24, %rsp\n.cfi_def_cfa_offset 32\ncall *%rdi\n" AT("told_called")
    "add $24, %rsp\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n"
    FUNCTION("silent") "push %rbx\n" AT("silent_pushed") "sub $16, %rsp\n" AT("silent_made")
    "nop\ncall *%rdi\nadd $16, %rsp\npop %rbx\nret\n.cfi_endproc\n"
    FUNCTION("early") "sub $24, %rsp\n.cfi_def_cfa_offset 32\n.cfi_offset %rbx, -16\nnop\n" AT("early_not_saved")
    "mov %rbx, 16(%rsp)\nxor %ebx, %ebx\n" AT("early_saved") "call *%rdi\nmov 16(%rsp), %rbx\nadd $24, %rsp\n"
    ".cfi_def_cfa_offset 8\nret\n.cfi_endproc\n"
    FUNCTION("leaving") MAKES_FRAME ".cfi_offset %rbx, -16\ncall *%rdi\nadd $16, %rsp\npop %rbx\n"
    AT("leaving_returns") "ret\n.cfi_endproc\n"
    FUNCTION("anything") "push %rbx\nsub $16, %rsp\ncall *%rdi\n" AT("anything_called")
    "test %eax, %eax\nje 1f\ncall *%rdi\n1: add $16, %rsp\npop %rbx\nret\n.cfi_endproc\n"
    FUNCTION("over") "test %edi, %edi\nje 1f\nsub $24, %rsp\n.cfi_def_cfa_offset 32\ncall lies_end\n"
    ".cfi_def_cfa_offset 8\n1:\n" AT("over_there") "nop\nret\n.cfi_endproc\n"
    ".balign 16\nnop\n" AT("bottom") "nop\n" AT("bottom_inside") "jmp *%rax\n"
    FUNCTION("end") ".cfi_undefined %rip\nud2\n.cfi_endproc\n");
static const enum sw_machine machine = SW_MACHINE_X64;
enum { LINK = SW_REGS_MAX, REGISTER = SW_X64_RBX };
enum { PUSHED = 2, SAVED_PUSHED = 0, RETURN_PUSHED = 1, RETURNS = 1, RETURN = 3, AT_RETURN = 0 };
#endif
/* clang-format on */

/*
 * A frame and what is found.
 *
 * size, ra  Words up to the caller's sp; which of them is the return address, or IN_REGISTER: the link register.
 * saved     Which word holds the caller's REGISTER, or IN_REGISTER.
 * led, to   Which word, or register, the table takes for the return address, and what is there; NOWHERE: the right one.
 */
static const struct row {
    const char *name;
    const uint8_t *pc;
    bool exact;
    unsigned size, ra, saved;
    const uint8_t *caller;
    unsigned led;
    const uint8_t *to;
    enum sw_source source;
    enum sw_trust trust;
} rows[] = {
    { "what_is_true_is_exact", lies_told_called, false, MADE, RETURN, IN_REGISTER, lies_of_told, NOWHERE, NULL,
      SW_SOURCE_CFI, SW_TRUST_EXACT },
    { "where_it_executes_too", lies_told_called, true, MADE, RETURN, IN_REGISTER, lies_of_told, NOWHERE, NULL,
      SW_SOURCE_CFI, SW_TRUST_EXACT },
    { "a_push_that_is_not_told", lies_silent_pushed, true, PUSHED, RETURN_PUSHED, SAVED_PUSHED, lies_of_silent, NOWHERE,
      NULL, SW_SOURCE_ANALYSIS, SW_TRUST_LIKELY },
    { "a_frame_that_is_not_told", lies_silent_made, true, MADE, RETURN, SAVED, lies_of_silent, AT_RETURN, lies_stale,
      SW_SOURCE_ANALYSIS, SW_TRUST_LIKELY },
    { "a_register_that_is_not_saved_yet", lies_early_not_saved, true, MADE, RETURN, IN_REGISTER, lies_of_early, NOWHERE,
      NULL, SW_SOURCE_CFI, SW_TRUST_EXACT },
    { "a_register_that_is_saved", lies_early_saved, true, MADE, RETURN, SAVED, lies_of_early, NOWHERE, NULL,
      SW_SOURCE_CFI, SW_TRUST_EXACT },
    { "a_release_that_is_not_told", lies_leaving_returns, true, RETURNS, AT_RETURN, IN_REGISTER, lies_of_leaving,
      RETURN, lies_stale, SW_SOURCE_FORWARD, SW_TRUST_LIKELY },
    { "where_a_zero_looks_like_the_end", lies_leaving_returns, true, RETURNS, AT_RETURN, IN_REGISTER, lies_of_leaving,
      RETURN, NULL, SW_SOURCE_FORWARD, SW_TRUST_LIKELY },
    { "code_that_nothing_is_told_of", lies_anything_called, true, MADE, RETURN, SAVED, lies_of_anything, AT_RETURN,
      lies_told, SW_SOURCE_FORWARD, SW_TRUST_CONFIRMED },
    { "further_out_too", lies_anything_called, false, MADE, RETURN, SAVED, lies_of_anything, AT_RETURN, lies_told,
      SW_SOURCE_FORWARD, SW_TRUST_CONFIRMED },
    { "what_is_true_behind_a_call_that_does_not_return", lies_over_there, true, RETURNS, AT_RETURN, IN_REGISTER,
      lies_of_over, RETURN, lies_stale, SW_SOURCE_CFI, SW_TRUST_EXACT },
    { "what_nobody_called_is_likely_where_nobody_knows_better", lies_told_called, false, MADE, RETURN, IN_REGISTER,
      lies_bottom_inside, NOWHERE, NULL, SW_SOURCE_CFI, SW_TRUST_LIKELY },
    { "the_end_of_a_stack_is_exact", lies_told_called, false, MADE, RETURN, IN_REGISTER, lies_end, NOWHERE, NULL,
      SW_SOURCE_CFI, SW_TRUST_EXACT },
};

static uint64_t address(const uint8_t *code)
{
    return (uint64_t)(uintptr_t)code;
}

/* The caller's REGISTER holds what a table may lead to, too. */
static void build(const struct row *row, uint64_t *words, struct sw_regs *regs)
{
    const uint64_t no_code = 0x0bad0bad, kept = address(lies_stale);
    *regs = (struct sw_regs){ .machine = machine };
    for (unsigned n = 0; n < sw_regs_count(machine); n++)
        sw_regs_set(regs, n, no_code);
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = no_code;
    uint64_t *const in_register[] = { &regs->r[LINK % SW_REGS_MAX], &regs->r[REGISTER] };
    *(row->ra == IN_REGISTER ? in_register[0] : &words[row->ra]) = address(row->caller);
    *(row->saved == IN_REGISTER ? in_register[1] : &words[row->saved]) = kept;
    if (row->led != NOWHERE)
        *(row->led == IN_REGISTER ? in_register[0] : &words[row->led]) = address(row->to);
    sw_regs_set(regs, sw_regs_pc_number(machine), address(row->pc));
    sw_regs_set(regs, sw_regs_sp_number(machine), (uint64_t)(uintptr_t)words);
}

static void a_lie_is_held_against_the_code(void **state)
{
    static struct sw_scratch scratch;
    static uint64_t stack[BELOW + WORDS + ABOVE]; /* walks go on, over zeros */
    const struct row *row = *state;
    uint64_t *words = stack + BELOW;
    struct sw_images *images;
    struct sw_walker walker;
    struct sw_walk walk;
    struct sw_regs start;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_int_equal(sw_self_walker(&walker, NULL, images), SW_OK);
    build(row, words, &start);
    (void)walk_twice(&walker, &start, row->exact);
    sw_walk_start(&walk, &walker, &scratch, &start, row->exact);
    assert_true(sw_walk_next(&walk));
    assert_true(sw_walk_next(&walk));
    assert_int_equal(sw_regs_pc(&walk.frame.regs), address(row->caller));
    assert_int_equal(sw_regs_sp(&walk.frame.regs), (uint64_t)(uintptr_t)(words + row->size));
    assert_int_equal(walk.frame.source, row->source);
    assert_int_equal(walk.frame.trust, row->trust);
    assert_true(sw_regs_has(&walk.frame.regs, REGISTER));
    assert_int_equal(walk.frame.regs.r[REGISTER], address(lies_stale));
    sw_images_destroy(images);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows)];
    FILL_ROWS(tests, rows, a_lie_is_held_against_the_code);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
