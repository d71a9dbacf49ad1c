/*
 * Analysis of A64 functions whose prologues, epilogues and parts a compiler has put elsewhere, to be shared (clang's
 * machine outliner, its helpers for prologues and epilogues): each row is such a function with its pieces, and the
 * truth about each instruction. Words are the assembler's, numbers were counted by hand.
 */
#include "rows.h"

#include "analyze/analyze.h"

#include <string.h>

enum {
    BEGIN = 0x401000,
    MOST = 20,
    LOST = 32000,
    IN_X0 = 32001,
    IN_X4 = 32002,
    IN_X16 = 32003,
    NOWHERE = 32004,
    X19 = 19
};
enum { LR = SW_ARM64_LR, FP = SW_ARM64_FP, SP = SW_ARM64_SP, PC = SW_ARM64_PC };

/*
 * One instruction. In front of it: the CFA above sp, and below the CFA the places of registers; 0: where they were at
 * the start. x19_within: x19's while a call that stands there is going on, if it is another; NOWHERE: then nothing is
 * known. A piece that is called begins at CALLED; one that is jumped to is the function's.
 */
enum place { SAME = 0, CALLED, JUMPED_TO };
struct at {
    enum place place;
    uint32_t word;
    int16_t cfa, lr, fp, x19;
    int16_t x19_within;
};

/* clang-format off */
static const struct row {
    const char *name;
    struct at at[MOST]; /* ends with word 0 */
} rows[] = {
    { "pieces_that_save_and_restore_registers",
      {
          { 0, 0xa9be7bfd, 0, 0, 0, 0, 0 }, /* stp x29, x30, [sp, #-32]! */
          { 0, 0x94000005, 32, -24, -32, 0, 0 }, /* bl p1 */
          { 0, 0x94000400, 32, -24, -32, -8, 0 }, /* bl .+0x1000 */
          { 0, 0x94000007, 32, -24, -32, -8, 0 }, /* bl p2 */
          { 0, 0xa8c27bfd, 32, -24, -32, -8, 0 }, /* ldp x29, x30, [sp], #32 */
          { 0, 0xd65f03c0, 0, 0, 0, 0, 0 }, /* ret */
          { CALLED, 0xa9014ff4, 0, 0, 0, 0, 0 }, /* p1: stp x20, x19, [sp, #16] */
          { 0, 0x910003fd, 0, 0, 0, 24, 0 }, /* mov x29, sp */
          { 0, 0xaa0003f3, 0, 0, LOST, 24, 0 }, /* mov x19, x0 */
          { 0, 0xd65f03c0, 0, 0, LOST, 24, 0 }, /* ret */
          { CALLED, 0xaa1403e0, 0, 0, 0, 0, 0 }, /* p2: mov x0, x20 */
          { 0, 0xa9414ff4, 0, 0, 0, 0, 0 }, /* ldp x20, x19, [sp, #16] */
          { 0, 0xd65f03c0, 0, 0, 0, LOST, 0 }, /* ret */
      } },
    { "an_epilogue_that_is_jumped_to",
      {
          { 0, 0xa9be7bfd, 0, 0, 0, 0, 0 }, /* stp x29, x30, [sp, #-32]! */
          { 0, 0xf9000bf3, 32, -24, -32, 0, 0 }, /* str x19, [sp, #16] */
          { 0, 0xaa0003f3, 32, -24, -32, -16, 0 }, /* mov x19, x0 */
          { 0, 0x94000400, 32, -24, -32, -16, 0 }, /* bl .+0x1000 */
          { 0, 0x14000001, 32, -24, -32, -16, 0 }, /* b p */
          { 0, 0xf9400bf3, 32, -24, -32, -16, 0 }, /* p: ldr x19, [sp, #16] */
          { 0, 0xa8c27bfd, 32, -24, -32, -16, 0 }, /* ldp x29, x30, [sp], #32 */
          { 0, 0xd65f03c0, 0, 0, 0, 0, 0 }, /* ret */
      } },
    { "lr_in_a_register_and_a_piece_that_moves_sp",
      {
          { 0, 0xaa1e03e4, 0, 0, 0, 0, 0 }, /* mov x4, x30 */
          { 0, 0x94000004, 0, 0, 0, 0, 0 }, /* bl p */
          { 0, 0xaa0403fe, 256, IN_X4, 0, 0, 0 }, /* mov x30, x4 */
          { 0, 0x910403ff, 256, 0, 0, 0, 0 }, /* add sp, sp, #256 */
          { 0, 0xd65f03c0, 0, 0, 0, 0, 0 }, /* ret */
          { CALLED, 0xd10403ff, 0, 0, 0, 0, 0 }, /* p: sub sp, sp, #256 */
          { 0, 0x7100041f, 256, 0, 0, 0, 0 }, /* cmp w0, #1 */
          { 0, 0xd65f03c0, 256, 0, 0, 0, 0 }, /* ret */
      } },
    { "lr_in_a_register_around_a_piece_that_touches_nothing",
      {
          { 0, 0xaa1e03e0, 0, 0, 0, 0, 0 }, /* mov x0, x30 */
          { 0, 0x94000004, 0, 0, 0, 0, 0 }, /* bl p */
          { 0, 0xaa0003fe, 0, IN_X0, 0, 0, 0 }, /* mov x30, x0 */
          { 0, 0x52800020, 0, 0, 0, 0, 0 }, /* mov w0, #1 */
          { 0, 0xd65f03c0, 0, 0, 0, 0, 0 }, /* ret */
          { CALLED, 0x1100054b, 0, 0, 0, 0, 0 }, /* p: add w11, w10, #1 */
          { 0, 0xd65f03c0, 0, 0, 0, 0, 0 }, /* ret */
      } },
    { "lr_on_the_stack_around_the_call",
      {
          { 0, 0xf81f0ff3, 0, 0, 0, 0, 0 }, /* str x19, [sp, #-16]! */
          { 0, 0xf81f0ffe, 16, 0, 0, -16, 0 }, /* str x30, [sp, #-16]! */
          { 0, 0x94000004, 32, -32, 0, -16, 0 }, /* bl p */
          { 0, 0xf84107fe, 32, -32, 0, -16, 0 }, /* ldr x30, [sp], #16 */
          { 0, 0xf84107f3, 16, 0, 0, -16, 0 }, /* ldr x19, [sp], #16 */
          { 0, 0xd65f03c0, 0, 0, 0, 0, 0 }, /* ret */
          { CALLED, 0xaa0003f3, 0, 0, 0, 0, 0 }, /* p: mov x19, x0 */
          { 0, 0x910083e1, 0, 0, 0, LOST, 0 }, /* add x1, sp, #32 */
          { 0, 0xd65f03c0, 0, 0, 0, LOST, 0 }, /* ret */
      } },
    { "a_piece_that_saves_lr_and_calls",
      {
          { 0, 0xf81e0ffe, 0, 0, 0, 0, 0 }, /* str x30, [sp, #-32]! */
          { 0, 0x94000005, 32, -32, 0, 0, 0 }, /* bl p */
          { 0, 0xaa1303e0, 32, -32, 0, -16, 0 }, /* mov x0, x19 */
          { 0, 0xf9400bf3, 32, -32, 0, -16, 0 }, /* ldr x19, [sp, #16] */
          { 0, 0xf84207fe, 32, -32, 0, -16, 0 }, /* ldr x30, [sp], #32 */
          { 0, 0xd65f03c0, 0, 0, 0, 0, 0 }, /* ret */
          { CALLED, 0xf81f0ffe, 0, 0, 0, 0, 0 }, /* p: str x30, [sp, #-16]! */
          { 0, 0xf90013f3, 16, -16, 0, 0, 0 }, /* str x19, [sp, #32] */
          { 0, 0xaa0003f3, 16, -16, 0, 16, 0 }, /* mov x19, x0 */
          { 0, 0x94000400, 16, -16, 0, 16, 0 }, /* bl .+0x1000 */
          { 0, 0xf84107fe, 16, -16, 0, 16, 0 }, /* ldr x30, [sp], #16 */
          { 0, 0xd65f03c0, 0, 0, 0, 16, 0 }, /* ret */
      } },
    { "a_piece_that_signs_lr",
      {
          { 0, 0xd503233f, 0, 0, 0, 0, 0 }, /* paciasp */
          { 0, 0xa9be7bfd, 0, 0, 0, 0, 0 }, /* stp x29, x30, [sp, #-32]! */
          { 0, 0x94000005, 32, -24, -32, 0, 0 }, /* bl p */
          { 0, 0xaa1303e0, 32, -24, -32, -16, 0 }, /* mov x0, x19 */
          { 0, 0xf9400bf3, 32, -24, -32, -16, 0 }, /* ldr x19, [sp, #16] */
          { 0, 0xa8c27bfd, 32, -24, -32, -16, 0 }, /* ldp x29, x30, [sp], #32 */
          { 0, 0xd65f0bff, 0, 0, 0, 0, 0 }, /* retaa */
          { CALLED, 0xd503233f, 0, 0, 0, 0, 0 }, /* p: paciasp */
          { 0, 0xf81f0ffe, 0, 0, 0, 0, 0 }, /* str x30, [sp, #-16]! */
          { 0, 0xf90013f3, 16, -16, 0, 0, 0 }, /* str x19, [sp, #32] */
          { 0, 0xaa0003f3, 16, -16, 0, 16, 0 }, /* mov x19, x0 */
          { 0, 0x94000400, 16, -16, 0, 16, 0 }, /* bl .+0x1000 */
          { 0, 0xf84107fe, 16, -16, 0, 16, 0 }, /* ldr x30, [sp], #16 */
          { 0, 0xd50323bf, 0, 0, 0, 16, 0 }, /* autiasp */
          { 0, 0xd65f03c0, 0, 0, 0, 16, 0 }, /* ret */
      } },
    { "helpers_that_make_and_undo_the_frame",
      {
          { 0, 0xa9bf7bfd, 0, 0, 0, 0, 0 }, /* stp x29, x30, [sp, #-16]! */
          { 0, 0x94000005, 16, -8, -16, 0, 0 }, /* bl p1 */
          { 0, 0x94000400, 32, -8, -16, -24, 0 }, /* bl .+0x1000 */
          { 0, 0x94000007, 32, -8, -16, -24, 0 }, /* bl p2 */
          { 0, 0x2a1f03e0, 0, 0, 0, 0, 0 }, /* mov w0, wzr */
          { 0, 0xd65f03c0, 0, 0, 0, 0, 0 }, /* ret */
          { CALLED, 0xa9bf4ff4, 0, 0, 0, 0, 0 }, /* p1: stp x20, x19, [sp, #-16]! */
          { 0, 0x910043fd, 16, 0, 0, -8, 0 }, /* add x29, sp, #16 */
          { 0, 0xaa0003f3, 16, 0, LOST, -8, 0 }, /* mov x19, x0 */
          { 0, 0xd65f03c0, 16, 0, LOST, -8, 0 }, /* ret */
          { CALLED, 0xaa1e03f0, 0, 0, 0, 0, 0 }, /* p2: mov x16, x30 */
          { 0, 0xa9417bfd, 0, 0, 0, 0, 0 }, /* ldp x29, x30, [sp, #16] */
          { 0, 0xa8c24ff4, 0, IN_X16, LOST, 0, 0 }, /* ldp x20, x19, [sp], #32 */
          { 0, 0xd65f0200, -32, IN_X16, LOST, LOST, 0 }, /* ret x16 */
      } },
    { "a_piece_that_ends_in_a_function",
      {
          { 0, 0xa9be7bfd, 0, 0, 0, 0, 0 }, /* stp x29, x30, [sp, #-32]! */
          { 0, 0x94000005, 32, -24, -32, 0, LOST }, /* bl p: x19 is saved, or not yet */
          { 0, 0xaa1303e0, 32, -24, -32, -16, 0 }, /* mov x0, x19 */
          { 0, 0xf9400bf3, 32, -24, -32, -16, 0 }, /* ldr x19, [sp, #16] */
          { 0, 0xa8c27bfd, 32, -24, -32, -16, 0 }, /* ldp x29, x30, [sp], #32 */
          { 0, 0xd65f03c0, 0, 0, 0, 0, 0 }, /* ret */
          { CALLED, 0xf9000bf3, 0, 0, 0, 0, 0 }, /* p: str x19, [sp, #16] */
          { 0, 0xaa0003f3, 0, 0, 0, 16, 0 }, /* mov x19, x0 */
          { 0, 0x14000400, 0, 0, 0, 16, 0 }, /* b .+0x1000 */
      } },
    { "pieces_that_call_and_jump_to_pieces",
      {
          { 0, 0xa9bd7bfd, 0, 0, 0, 0, 0 }, /* stp x29, x30, [sp, #-48]! */
          { 0, 0x94000004, 48, -40, -48, 0, 0 }, /* bl p1 */
          { 0, 0x94000400, 48, -40, -48, -24, 0 }, /* bl .+0x1000 */
          { 0, 0xaa1303e0, 48, -40, -48, -24, 0 }, /* mov x0, x19 */
          { 0, 0x14000008, 48, -40, -48, -24, 0 }, /* b p3 */
          { CALLED, 0xf81f0ffe, 0, 0, 0, 0, 0 }, /* p1: str x30, [sp, #-16]! */
          { 0, 0x94000004, 16, -16, 0, 0, 0 }, /* bl p2 */
          { 0, 0xaa0003f3, 16, -16, 0, 24, 0 }, /* mov x19, x0 */
          { 0, 0xf84107fe, 16, -16, 0, 24, 0 }, /* ldr x30, [sp], #16 */
          { 0, 0xd65f03c0, 0, 0, 0, 24, 0 }, /* ret */
          { CALLED, 0xa9024ff4, 0, 0, 0, 0, 0 }, /* p2: stp x20, x19, [sp, #32] */
          { 0, 0xd65f03c0, 0, 0, 0, 40, 0 }, /* ret */
          { JUMPED_TO, 0x2a1f03e1, 48, -40, -48, -24, 0 }, /* p3: mov w1, wzr */
          { JUMPED_TO, 0x14000001, 48, -40, -48, -24, 0 }, /* b p4 */
          { JUMPED_TO, 0xa9414ff4, 48, -40, -48, -24, 0 }, /* p4: ldp x20, x19, [sp, #16] */
          { JUMPED_TO, 0xa8c37bfd, 48, -40, -48, -24, 0 }, /* ldp x29, x30, [sp], #48 */
          { JUMPED_TO, 0xd65f03c0, 0, 0, 0, 0, 0 }, /* ret */
      } },
    { "a_leaf_without_optimisation_is_a_function",
      {
          { 0, 0xa9be7bfd, 0, 0, 0, 0, 0 }, /* stp x29, x30, [sp, #-32]! */
          { 0, 0xf9000bf3, 32, -24, -32, 0, 0 }, /* str x19, [sp, #16] */
          { 0, 0xaa0003f3, 32, -24, -32, -16, 0 }, /* mov x19, x0 */
          { 0, 0x94000004, 32, -24, -32, -16, 0 }, /* bl p */
          { 0, 0xf9400bf3, 32, -24, -32, -16, 0 }, /* ldr x19, [sp, #16] */
          { 0, 0xa8c27bfd, 32, -24, -32, -16, 0 }, /* ldp x29, x30, [sp], #32 */
          { 0, 0xd65f03c0, 0, 0, 0, 0, 0 }, /* ret */
          { CALLED, 0xd10043ff, 0, 0, 0, 0, 0 }, /* p: sub sp, sp, #16 */
          { 0, 0xf90007f3, 16, 0, 0, 0, 0 }, /* str x19, [sp, #8] */
          { 0, 0xaa0003f3, 16, 0, 0, -8, 0 }, /* mov x19, x0 */
          { 0, 0xf94007f3, 16, 0, 0, -8, 0 }, /* ldr x19, [sp, #8] */
          { 0, 0x910043ff, 16, 0, 0, -8, 0 }, /* add sp, sp, #16 */
          { 0, 0xd65f03c0, 0, 0, 0, 0, 0 }, /* ret */
      } },
    { "code_that_jumps_about_in_its_frame_is_a_function",
      {
          { 0, 0xf81f0ffe, 0, 0, 0, 0, 0 }, /* str x30, [sp, #-16]! */
          { 0, 0x94000004, 16, -16, 0, 0, 0 }, /* bl p1 */
          { 0, 0x94000009, 16, -16, 0, 0, 0 }, /* bl p2 */
          { 0, 0xf84107fe, 16, -16, 0, 0, 0 }, /* ldr x30, [sp], #16 */
          { 0, 0xd65f03c0, 0, 0, 0, 0, 0 }, /* ret */
          { CALLED, 0xd10083ff, 0, 0, 0, 0, 0 }, /* p1: sub sp, sp, #32 */
          { 0, 0xf9000ffe, 32, 0, 0, 0, 0 }, /* str x30, [sp, #24] */
          { 0, 0x14000001, 32, -8, 0, 0, 0 }, /* b .+4 */
          { 0, 0xb4ffffe0, 32, -8, 0, 0, 0 }, /* cbz x0, .-4 */
          { 0, 0x910083ff, 32, -8, 0, 0, 0 }, /* add sp, sp, #32 */
          { 0, 0xd65f03c0, 0, 0, 0, 0, 0 }, /* ret */
          { CALLED, 0xd10083ff, 0, 0, 0, 0, 0 }, /* p2: sub sp, sp, #32 */
          { 0, 0xd61f0020, 32, 0, 0, 0, 0 }, /* br x1, of a switch */
      } },
    { "a_piece_that_lowers_sp_and_ends_in_a_function",
      {
          { 0, 0xf81f0ffe, 0, 0, 0, 0, 0 }, /* str x30, [sp, #-16]! */
          { 0, 0x94000004, 16, -16, 0, 0, NOWHERE }, /* bl p: sp is lower, or not yet */
          { 0, 0x910083ff, 48, -16, 0, 0, 0 }, /* add sp, sp, #32 */
          { 0, 0xf84107fe, 16, -16, 0, 0, 0 }, /* ldr x30, [sp], #16 */
          { 0, 0xd65f03c0, 0, 0, 0, 0, 0 }, /* ret */
          { CALLED, 0xd10083ff, 0, 0, 0, 0, 0 }, /* p: sub sp, sp, #32 */
          { 0, 0x14000001, 32, 0, 0, 0, 0 }, /* b .+4 */
          { CALLED, 0xa9bf7bfd, 0, 0, 0, 0, 0 }, /* stp x29, x30, [sp, #-16]! */
          { 0, 0xa8c17bfd, 16, -8, -16, 0, 0 }, /* ldp x29, x30, [sp], #16 */
          { 0, 0xd65f03c0, 0, 0, 0, 0, 0 }, /* ret */
      } },
    { "code_with_a_branch_or_that_does_not_come_back_is_a_function",
      {
          { 0, 0xa9be7bfd, 0, 0, 0, 0, 0 }, /* stp x29, x30, [sp, #-32]! */
          { 0, 0x94000005, 32, -24, -32, 0, 0 }, /* bl p1 */
          { 0, 0x94000008, 32, -24, -32, 0, 0 }, /* bl p2 */
          { 0, 0xd503201f, 32, -24, -32, 0, 0 }, /* nop */
          { 0, 0xa8c27bfd, 32, -24, -32, 0, 0 }, /* ldp x29, x30, [sp], #32 */
          { 0, 0xd65f03c0, 0, 0, 0, 0, 0 }, /* ret */
          { CALLED, 0xf9000bf3, 0, 0, 0, 0, 0 }, /* p1: str x19, [sp, #16] */
          { 0, 0xb4000040, 0, 0, 0, 16, 0 }, /* cbz x0, .+8 */
          { 0, 0xaa0003f3, 0, 0, 0, 16, 0 }, /* mov x19, x0 */
          { 0, 0xd65f03c0, 0, 0, 0, 16, 0 }, /* ret */
          { CALLED, 0xf9000bf3, 0, 0, 0, 0, 0 }, /* p2: str x19, [sp, #16] */
          { 0, 0xaa0003fe, 0, 0, 0, 16, 0 }, /* mov x30, x0 */
          { 0, 0xaa0003f3, 0, LOST, 0, 16, 0 }, /* mov x19, x0 */
          { 0, 0xd65f03c0, 0, LOST, 0, 16, 0 }, /* ret */
      } },
};
/* clang-format on */

static unsigned length_of(const struct row *row)
{
    unsigned n = 0;
    while (n < MOST && row->at[n].word)
        n++;
    return n;
}

static const uint8_t *fetch_row(void *arg, uint64_t pc, size_t *size)
{
    static uint32_t words[MOST];
    const struct row *row = arg;
    const size_t all = 4 * (size_t)length_of(row);
    if (pc < BEGIN || pc >= BEGIN + all)
        return NULL;
    for (unsigned i = 0; i < MOST; i++)
        words[i] = row->at[i].word;
    *size = all - (pc - BEGIN);
    return (const uint8_t *)words + (pc - BEGIN);
}

static void expect_loc(struct sw_loc loc, int16_t place, unsigned reg)
{
    if (place == LOST) {
        assert_int_equal(loc.kind, SW_LOC_UNKNOWN);
    } else if (place == 0 || place >= IN_X0) {
        const unsigned in = place == IN_X0 ? 0 : place == IN_X4 ? 4 : place == IN_X16 ? 16 : reg;
        assert_true(loc.kind == SW_LOC_REG || (loc.kind == SW_LOC_SAME && in == reg));
        assert_true(loc.kind == SW_LOC_SAME || loc.reg == in);
    } else {
        assert_int_equal(loc.kind, SW_LOC_AT_CFA);
        assert_int_equal(loc.off, place);
    }
}

static struct sw_analysis work;

static void expect_rule(const struct row *row, uint64_t begin, unsigned i, bool within)
{
    const struct sw_code code = { &sw_a64_arch, fetch_row, (void *)(uintptr_t)row, NULL };
    const struct at *at = &row->at[i];
    struct sw_rule rule;
    const enum sw_status status =
        sw_analyze_function(&code, begin, 0, BEGIN + 4 * (uint64_t)i + (within ? 3 : 0), &work, &rule);
    const bool is_lost = at->lr == LOST || (within && at->x19_within == NOWHERE);
    assert_int_equal(status, is_lost ? SW_E_NO_RULE : SW_OK);
    if (status != SW_OK)
        return;
    assert_int_equal(rule.cfa.kind, SW_LOC_REG);
    assert_int_equal(rule.cfa.reg, SP);
    assert_int_equal(rule.cfa.off, at->cfa);
    expect_loc(rule.r[PC], at->lr, LR);
    expect_loc(rule.r[FP], at->fp, FP);
    expect_loc(rule.r[X19], within && at->x19_within ? at->x19_within : at->x19, X19);
}

static void caller_is_found_at_every_instruction(void **state)
{
    const struct row *row = *state;
    uint64_t begin = BEGIN;
    for (unsigned i = 0; i < length_of(row); i++) {
        if (row->at[i].place != SAME)
            begin = row->at[i].place == CALLED ? BEGIN + 4 * (uint64_t)i : BEGIN;
        expect_rule(row, begin, i, false);
        expect_rule(row, begin, i, true);
    }
}

/* ---- what is a piece, and what a function ---- */

static const struct row *row_of(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    fail_msg("no row %s", name);
    return NULL;
}

/* Code from an instruction of a row on, and whether it is a piece. */
static const struct {
    const char *name;
    unsigned at;
    bool is_piece;
} shapes[] = {
    { "pieces_that_save_and_restore_registers", 0, false },
    { "pieces_that_save_and_restore_registers", 6, true },
    { "pieces_that_save_and_restore_registers", 10, true },
    { "an_epilogue_that_is_jumped_to", 0, false },
    { "an_epilogue_that_is_jumped_to", 5, true },
    { "lr_in_a_register_and_a_piece_that_moves_sp", 5, true },
    { "a_piece_that_saves_lr_and_calls", 6, true },
    { "a_piece_that_signs_lr", 0, false },
    { "helpers_that_make_and_undo_the_frame", 6, true },
    { "helpers_that_make_and_undo_the_frame", 10, true },
    { "pieces_that_call_and_jump_to_pieces", 12, true },
    { "pieces_that_call_and_jump_to_pieces", 14, true },
    { "a_leaf_without_optimisation_is_a_function", 7, false },
    { "code_with_a_branch_or_that_does_not_come_back_is_a_function", 6, false },
};

static void pieces_are_told_from_functions(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        const struct row *row = row_of(shapes[i].name);
        const struct sw_code code = { &sw_a64_arch, fetch_row, (void *)(uintptr_t)row, NULL };
        if (sw_analyze_is_piece(&code, BEGIN + 4 * (uint64_t)shapes[i].at, &work) != shapes[i].is_piece)
            fail_msg("%s, instruction %u", shapes[i].name, shapes[i].at);
    }
}

static const uint32_t context[] = {
    0xa9405013, /* ldp x19, x20, [x0] */
    0xa941781d, /* ldp x29, x30, [x0, #16] */
    0xf9401002, /* ldr x2, [x0, #32] */
    0x9100005f, /* mov sp, x2 */
    0xd61f03c0, /* br x30 */
};

static const uint8_t *fetch_context(void *arg, uint64_t pc, size_t *size)
{
    (void)arg;
    if (pc < BEGIN || pc >= BEGIN + sizeof context)
        return NULL;
    *size = sizeof context - (pc - BEGIN);
    return (const uint8_t *)context + (pc - BEGIN);
}

static void a_jump_to_another_context_is_a_function(void **state)
{
    const struct sw_code code = { &sw_a64_arch, fetch_context, NULL, NULL };
    (void)state;
    assert_false(sw_analyze_is_piece(&code, BEGIN, &work));
}

/* While a piece is executed its caller has not done all that it does; what it has ended in comes behind all that. */
static void the_way_forward_begins_at_the_call_of_a_piece(void **state)
{
    const struct row *saves = row_of("pieces_that_save_and_restore_registers");
    const struct row *ends = row_of("a_piece_that_ends_in_a_function");
    const struct sw_code code = { &sw_a64_arch, fetch_row, (void *)(uintptr_t)saves, NULL };
    const struct row *goes_on = row_of("a_piece_that_saves_lr_and_calls");
    const struct sw_code calls = { &sw_a64_arch, fetch_row, (void *)(uintptr_t)goes_on, NULL };
    const struct sw_code jumps = { &sw_a64_arch, fetch_row, (void *)(uintptr_t)ends, NULL };
    (void)state;
    assert_int_equal(sw_analyze_from_call(&code, BEGIN + 8, &work), BEGIN + 4);
    assert_int_equal(sw_analyze_from_call(&code, BEGIN + 12, &work), BEGIN + 12);
    assert_int_equal(sw_analyze_from_call(&code, BEGIN + 24, &work), BEGIN + 24);
    assert_int_equal(sw_analyze_from_call(&jumps, BEGIN + 8, &work), BEGIN + 8);
    assert_int_equal(sw_analyze_from_call(&calls, BEGIN + 8, &work), BEGIN + 4);
}

static bool first(void *arg, const struct sw_rule *rule)
{
    *(struct sw_rule *)arg = *rule;
    return true;
}

static void the_way_forward_takes_lr_from_any_register(void **state)
{
    const struct row *row = row_of("lr_in_a_register_around_a_piece_that_touches_nothing");
    const struct sw_code code = { &sw_a64_arch, fetch_row, (void *)(uintptr_t)row, NULL };
    struct sw_rule rule;
    (void)state;
    assert_int_equal(sw_analyze_forward(&code, BEGIN + 8, NULL, &work, first, &rule), SW_OK);
    assert_int_equal(rule.r[PC].kind, SW_LOC_REG);
    assert_int_equal(rule.r[PC].reg, 0);
}

/* The caller may have its return address anywhere. */
static void a_piece_keeps_the_registers_that_it_does_not_change(void **state)
{
    const struct row *moves = row_of("lr_in_a_register_and_a_piece_that_moves_sp");
    const struct row *leaf = row_of("a_leaf_without_optimisation_is_a_function");
    const struct sw_code code = { &sw_a64_arch, fetch_row, (void *)(uintptr_t)moves, NULL };
    const struct sw_code other = { &sw_a64_arch, fetch_row, (void *)(uintptr_t)leaf, NULL };
    struct sw_rule rule;
    (void)state;
    assert_int_equal(sw_analyze_function(&code, BEGIN + 20, 0, BEGIN + 24, &work, &rule), SW_OK);
    assert_int_equal(rule.r[4].kind, SW_LOC_SAME);
    assert_int_equal(rule.initial >> 4 & 1, 0);
    assert_int_equal(rule.r[LR].kind, SW_LOC_UNKNOWN);
    assert_int_equal(sw_analyze_function(&other, BEGIN, 0, BEGIN + 8, &work, &rule), SW_OK);
    assert_int_equal(rule.r[4].kind, SW_LOC_UNKNOWN);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows) + 5] = {
        [COUNT_OF(rows)] = cmocka_unit_test(pieces_are_told_from_functions),
        cmocka_unit_test(a_jump_to_another_context_is_a_function),
        cmocka_unit_test(the_way_forward_begins_at_the_call_of_a_piece),
        cmocka_unit_test(the_way_forward_takes_lr_from_any_register),
        cmocka_unit_test(a_piece_keeps_the_registers_that_it_does_not_change),
    };
    FILL_ROWS(tests, rows, caller_is_found_at_every_instruction);
    return _cmocka_run_group_tests("analyze_outlined", tests, COUNT_OF(tests), NULL, NULL);
}
