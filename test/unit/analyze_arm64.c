/*
 * Analysis of A64 code, pc by pc through whole functions, as analyze.c does for x64: each row is a function with the
 * truth about each of its instructions: how far the CFA is above sp, and where the caller's lr, x29 and x19 lie once
 * the function has overwritten them. The shapes are those of prologue-shapes.md section 4; the words are the
 * assembler's, the numbers were counted by hand.
 */
#include "../support/bytes.h"
#include "rows.h"

#include "analyze/analyze.h"

#include <string.h>

enum {
    BEGIN = 0x401000,
    FAR_TABLE = 0x421010,
    MOST = 20,
    LOST = 32000,
    DATA = 32001,
    LR = SW_ARM64_LR,
    FP = SW_ARM64_FP,
    SP = SW_ARM64_SP,
    X19 = 19
};

/*
 * One instruction: in front of it, the CFA above sp (LOST: sp does not tell), and below the CFA the places of
 * registers.
 */
struct at {
    uint32_t word;
    int16_t cfa;
    int16_t lr;
    int16_t fp;
    int16_t x19;
};

/* clang-format off */
static const struct row {
    const char *name;
    bool known_start_only; /* going forward cannot know, or does not claim to */
    int16_t fp_too;        /* where x29 is saved without being overwritten */
    struct at at[MOST];    /* ends with word 0 */
} rows[] = {
    { "arm64_leaf_keeps_the_return_address_in_lr", false, 0,
      {
          { 0x2a1f03e0, 0, 0, 0, 0 }, /* mov w0, wzr */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_gcc_frame_record_at_the_bottom", false, 0,
      {
          { 0xa9be7bfd, 0, 0, 0, 0 }, /* stp x29, x30, [sp, #-32]! */
          { 0x910003fd, 32, 0, 0, 0 }, /* mov x29, sp */
          { 0xf9000bf3, 32, 0, -32, 0 }, /* str x19, [sp, #16] */
          { 0xaa0003f3, 32, 0, -32, 0 }, /* mov x19, x0 */
          { 0x94000400, 32, 0, -32, -16 }, /* bl .+0x1000 */
          { 0xaa1303e0, 32, -24, -32, -16 }, /* mov x0, x19 */
          { 0xf9400bf3, 32, -24, -32, -16 }, /* ldr x19, [sp, #16] */
          { 0xa8c27bfd, 32, -24, -32, 0 }, /* ldp x29, x30, [sp], #32 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_signed_return_address", false, 0,
      {
          { 0xd503233f, 0, 0, 0, 0 }, /* paciasp */
          { 0xa9bf7bfd, 0, 0, 0, 0 }, /* stp x29, x30, [sp, #-16]! */
          { 0x910003fd, 16, 0, 0, 0 }, /* mov x29, sp */
          { 0x94000400, 16, 0, -16, 0 }, /* bl .+0x1000 */
          { 0xa8c17bfd, 16, -8, -16, 0 }, /* ldp x29, x30, [sp], #16 */
          { 0xd50323bf, 0, 0, 0, 0 }, /* autiasp */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_combined_authenticate_and_return", false, 0,
      {
          { 0xd503237f, 0, 0, 0, 0 }, /* pacibsp */
          { 0xf81f0ffe, 0, 0, 0, 0 }, /* str x30, [sp, #-16]! */
          { 0x94000400, 16, 0, 0, 0 }, /* bl .+0x1000 */
          { 0xf84107fe, 16, -16, 0, 0 }, /* ldr x30, [sp], #16 */
          { 0xd65f0fff, 0, 0, 0, 0 }, /* retab */
      } },
    { "arm64_clang_record_above_the_locals", false, 0,
      {
          { 0xd100c3ff, 0, 0, 0, 0 }, /* sub sp, sp, #48 */
          { 0xa9027bfd, 48, 0, 0, 0 }, /* stp x29, x30, [sp, #32] */
          { 0x910083fd, 48, 0, 0, 0 }, /* add x29, sp, #32 */
          { 0xf9000ff3, 48, 0, -16, 0 }, /* str x19, [sp, #24] */
          { 0xaa0003f3, 48, 0, -16, 0 }, /* mov x19, x0 */
          { 0x94000400, 48, 0, -16, -24 }, /* bl .+0x1000 */
          { 0xf9400ff3, 48, -8, -16, -24 }, /* ldr x19, [sp, #24] */
          { 0xa9427bfd, 48, -8, -16, 0 }, /* ldp x29, x30, [sp, #32] */
          { 0x9100c3ff, 48, 0, 0, 0 }, /* add sp, sp, #48 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_net_frame_1", false, 0,
      {
          { 0xa9bd7bfd, 0, 0, 0, 0 }, /* stp x29, x30, [sp, #-48]! */
          { 0xa901d3f3, 48, 0, 0, 0 }, /* stp x19, x20, [sp, #24] */
          { 0x910003fd, 48, 0, 0, 0 }, /* mov x29, sp */
          { 0xaa0003f3, 48, 0, -48, 0 }, /* mov x19, x0 */
          { 0x94000400, 48, 0, -48, -24 }, /* bl .+0x1000 */
          { 0xa941d3f3, 48, -40, -48, -24 }, /* ldp x19, x20, [sp, #24] */
          { 0xa8c37bfd, 48, -40, -48, 0 }, /* ldp x29, x30, [sp], #48 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_net_frame_2_outgoing_arguments", false, 0,
      {
          { 0xd10103ff, 0, 0, 0, 0 }, /* sub sp, sp, #64 */
          { 0xa9017bfd, 64, 0, 0, 0 }, /* stp x29, x30, [sp, #16] */
          { 0xa90353f3, 64, 0, 0, 0 }, /* stp x19, x20, [sp, #48] */
          { 0x910043fd, 64, 0, 0, 0 }, /* add x29, sp, #16 */
          { 0xaa0003f3, 64, 0, -48, 0 }, /* mov x19, x0 */
          { 0xd63f0020, 64, 0, -48, -16 }, /* blr x1 */
          { 0xa94353f3, 64, -40, -48, -16 }, /* ldp x19, x20, [sp, #48] */
          { 0xa9417bfd, 64, -40, -48, 0 }, /* ldp x29, x30, [sp, #16] */
          { 0x910103ff, 64, 0, 0, 0 }, /* add sp, sp, #64 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_net_frame_3_two_steps", false, 0,
      {
          { 0xd10043ff, 0, 0, 0, 0 }, /* sub sp, sp, #16 */
          { 0xf90007f3, 16, 0, 0, 0 }, /* str x19, [sp, #8] */
          { 0xd289c801, 16, 0, 0, 0 }, /* mov x1, #0x4e40 */
          { 0xcb2163ff, 16, 0, 0, 0 }, /* sub sp, sp, x1 */
          { 0xa9007bfd, 20048, 0, 0, 0 }, /* stp x29, x30, [sp] */
          { 0x910003fd, 20048, 0, 0, 0 }, /* mov x29, sp */
          { 0xaa0003f3, 20048, 0, -20048, 0 }, /* mov x19, x0 */
          { 0x94000400, 20048, 0, -20048, -8 }, /* bl .+0x1000 */
          { 0xa9407bfd, 20048, -20040, -20048, -8 }, /* ldp x29, x30, [sp] */
          { 0xd289c801, 20048, 0, 0, -8 }, /* mov x1, #0x4e40 */
          { 0x8b2163ff, 20048, 0, 0, -8 }, /* add sp, sp, x1 */
          { 0xf94007f3, 16, 0, 0, -8 }, /* ldr x19, [sp, #8] */
          { 0x910043ff, 16, 0, 0, 0 }, /* add sp, sp, #16 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_net_frame_4_record_at_the_top_and_localloc", false, 0,
      {
          { 0xd10103ff, 0, 0, 0, 0 }, /* sub sp, sp, #64 */
          { 0xf90017f3, 64, 0, 0, 0 }, /* str x19, [sp, #40] */
          { 0xa9037bfd, 64, 0, 0, 0 }, /* stp x29, x30, [sp, #48] */
          { 0x9100c3fd, 64, 0, 0, 0 }, /* add x29, sp, #48 */
          { 0xaa0003f3, 64, 0, -16, 0 }, /* mov x19, x0 */
          { 0xcb2063ff, 64, 0, -16, -24 }, /* sub sp, sp, x0 */
          { 0x94000400, LOST, 0, -16, -24 }, /* bl .+0x1000 */
          { 0xd100c3bf, LOST, -8, -16, -24 }, /* sub sp, x29, #48 */
          { 0xa9437bfd, 64, -8, -16, -24 }, /* ldp x29, x30, [sp, #48] */
          { 0xf94017f3, 64, 0, 0, -24 }, /* ldr x19, [sp, #40] */
          { 0x910103ff, 64, 0, 0, 0 }, /* add sp, sp, #64 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_net_funclet_leaves_x29_alone", false, -32,
      {
          { 0xa9be7bfd, 0, 0, 0, 0 }, /* stp x29, x30, [sp, #-32]! */
          { 0xf9000ff3, 32, 0, 0, 0 }, /* str x19, [sp, #24] */
          { 0xaa0003f3, 32, 0, 0, 0 }, /* mov x19, x0 */
          { 0x94000400, 32, 0, 0, -8 }, /* bl .+0x1000 */
          { 0xf9400ff3, 32, -24, 0, -8 }, /* ldr x19, [sp, #24] */
          { 0xa8c27bfd, 32, -24, 0, 0 }, /* ldp x29, x30, [sp], #32 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_two_returns_and_shrink_wrapping", false, 0,
      {
          { 0xb4000060, 0, 0, 0, 0 }, /* cbz x0, .+12 */
          { 0x2a1f03e0, 0, 0, 0, 0 }, /* mov w0, wzr */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
          { 0xf81f0ff3, 0, 0, 0, 0 }, /* str x19, [sp, #-16]! */
          { 0xaa0003f3, 16, 0, 0, 0 }, /* mov x19, x0 */
          { 0xf84107f3, 16, 0, 0, -16 }, /* ldr x19, [sp], #16 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_body_behind_a_return_has_its_frame_back", false, -16,
      {
          { 0xa9bf7bfd, 0, 0, 0, 0 }, /* stp x29, x30, [sp, #-16]! */
          { 0x94000400, 16, 0, 0, 0 }, /* bl .+0x1000 */
          { 0xb4000060, 16, -8, 0, 0 }, /* cbz x0, .+12 */
          { 0xa8c17bfd, 16, -8, 0, 0 }, /* ldp x29, x30, [sp], #16 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
          { 0xd503201f, 16, -8, 0, 0 }, /* nop */
          { 0xa8c17bfd, 16, -8, 0, 0 }, /* ldp x29, x30, [sp], #16 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_tail_call", false, 0,
      {
          { 0xf81f0ffe, 0, 0, 0, 0 }, /* str x30, [sp, #-16]! */
          { 0x94000400, 16, 0, 0, 0 }, /* bl .+0x1000 */
          { 0xf84107fe, 16, -16, 0, 0 }, /* ldr x30, [sp], #16 */
          { 0x14040000, 0, 0, 0, 0 }, /* b .+0x100000 */
      } },
    { "arm64_windows_frame_without_a_record", false, 0,
      {
          { 0xa9be53f3, 0, 0, 0, 0 }, /* stp x19, x20, [sp, #-32]! */
          { 0xf9000bfe, 32, 0, 0, 0 }, /* str x30, [sp, #16] */
          { 0xaa0003f3, 32, 0, 0, 0 }, /* mov x19, x0 */
          { 0x94000400, 32, 0, 0, -32 }, /* bl .+0x1000 */
          { 0xf9400bfe, 32, -16, 0, -32 }, /* ldr x30, [sp, #16] */
          { 0xa8c253f3, 32, 0, 0, -32 }, /* ldp x19, x20, [sp], #32 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_windows_large_frame_by_chkstk", true, 0,
      {
          { 0xf81f0ffe, 0, 0, 0, 0 }, /* str x30, [sp, #-16]! */
          { 0xd280400f, 16, 0, 0, 0 }, /* mov x15, #0x200 */
          { 0x94000400, 16, 0, 0, 0 }, /* bl .+0x1000 */
          { 0xcb2f73ff, 16, -16, 0, 0 }, /* sub sp, sp, x15, lsl #4 */
          { 0xd503201f, 8208, -16, 0, 0 }, /* nop */
          { 0x91400bff, 8208, -16, 0, 0 }, /* add sp, sp, #2, lsl #12 */
          { 0xf84107fe, 16, -16, 0, 0 }, /* ldr x30, [sp], #16 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_constant_by_movz_and_movk", false, 0,
      {
          { 0xd282000c, 0, 0, 0, 0 }, /* mov x12, #0x1000 */
          { 0xf2a0000c, 0, 0, 0, 0 }, /* movk x12, #0, lsl #16 */
          { 0xcb2c63ff, 0, 0, 0, 0 }, /* sub sp, sp, x12 */
          { 0xd503201f, 4096, 0, 0, 0 }, /* nop */
          { 0x914007ff, 4096, 0, 0, 0 }, /* add sp, sp, #1, lsl #12 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_stack_clash_loop_ends_where_it_compared", true, 0,
      {
          { 0xd14017e9, 0, 0, 0, 0 }, /* sub x9, sp, #5, lsl #12 */
          { 0xd14007ff, LOST, 0, 0, 0 }, /* sub sp, sp, #1, lsl #12 */
          { 0xf90003ff, LOST, 0, 0, 0 }, /* str xzr, [sp] */
          { 0xeb2963ff, LOST, 0, 0, 0 }, /* cmp sp, x9 */
          { 0x54ffffa1, LOST, 0, 0, 0 }, /* b.ne .-12 */
          { 0xd503201f, 20480, 0, 0, 0 }, /* nop */
          { 0x914017ff, 20480, 0, 0, 0 }, /* add sp, sp, #5, lsl #12 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_go_frame_record_below_sp", true, 0,
      {
          { 0xf81e0ffe, 0, 0, 0, 0 }, /* str x30, [sp, #-32]! */
          { 0xf81f83fd, 32, 0, 0, 0 }, /* stur x29, [sp, #-8] */
          { 0xd10023fd, 32, 0, 0, 0 }, /* sub x29, sp, #8 */
          { 0xaa0003fe, 32, 0, -40, 0 }, /* mov x30, x0 */
          { 0xd503201f, 32, -32, -40, 0 }, /* nop */
          { 0xa97ffbfd, 32, -32, -40, 0 }, /* ldp x29, x30, [sp, #-8] */
          { 0x910083ff, 32, 0, 0, 0 }, /* add sp, sp, #32 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_v8_frame", false, 0,
      {
          { 0xa9bf7bfd, 0, 0, 0, 0 }, /* stp x29, x30, [sp, #-16]! */
          { 0x910003fd, 16, 0, 0, 0 }, /* mov x29, sp */
          { 0xa9bf6fe1, 16, 0, -16, 0 }, /* stp x1, x27, [sp, #-16]! */
          { 0xd10083ff, 32, 0, -16, 0 }, /* sub sp, sp, #32 */
          { 0x94000400, 64, 0, -16, 0 }, /* bl .+0x1000 */
          { 0x910003bf, 64, -8, -16, 0 }, /* mov sp, x29 */
          { 0xa8c17bfd, 16, -8, -16, 0 }, /* ldp x29, x30, [sp], #16 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_hotspot_frame", false, 0,
      {
          { 0xd100c3ff, 0, 0, 0, 0 }, /* sub sp, sp, #48 */
          { 0xa9027bfd, 48, 0, 0, 0 }, /* stp x29, x30, [sp, #32] */
          { 0xaa0003fd, 48, 0, 0, 0 }, /* mov x29, x0 */
          { 0x94000400, 48, 0, -16, 0 }, /* bl .+0x1000 */
          { 0xa9427bfd, 48, -8, -16, 0 }, /* ldp x29, x30, [sp, #32] */
          { 0x9100c3ff, 48, 0, 0, 0 }, /* add sp, sp, #48 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_vectors_saved_below_a_record", false, 0,
      {
          { 0xa9bf7bfd, 0, 0, 0, 0 }, /* stp x29, x30, [sp, #-16]! */
          { 0x910003fd, 16, 0, 0, 0 }, /* mov x29, sp */
          { 0x043f57df, 16, 0, -16, 0 }, /* addvl sp, sp, #-2 */
          { 0xe58043e8, LOST, 0, -16, 0 }, /* str z8, [sp] */
          { 0x94000400, LOST, 0, -16, 0 }, /* bl .+0x1000 */
          { 0x858043e8, LOST, -8, -16, 0 }, /* ldr z8, [sp] */
          { 0x043f505f, LOST, -8, -16, 0 }, /* addvl sp, sp, #2 */
          { 0xa8c17bfd, 16, -8, -16, 0 }, /* ldp x29, x30, [sp], #16 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_pushes_by_writeback_of_vectors", false, 0,
      {
          { 0x6dbf27e8, 0, 0, 0, 0 }, /* stp d8, d9, [sp, #-16]! */
          { 0x3c9f0fe0, 16, 0, 0, 0 }, /* str q0, [sp, #-16]! */
          { 0xd503201f, 32, 0, 0, 0 }, /* nop */
          { 0x3cc107e0, 32, 0, 0, 0 }, /* ldr q0, [sp], #16 */
          { 0x6cc127e8, 16, 0, 0, 0 }, /* ldp d8, d9, [sp], #16 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_realigned_by_x29", false, 0,
      {
          { 0xa9bf7bfd, 0, 0, 0, 0 }, /* stp x29, x30, [sp, #-16]! */
          { 0x910003fd, 16, 0, 0, 0 }, /* mov x29, sp */
          { 0xd10203e9, 16, 0, -16, 0 }, /* sub x9, sp, #128 */
          { 0x927ae53f, 16, 0, -16, 0 }, /* and sp, x9, #-64 */
          { 0x94000400, LOST, 0, -16, 0 }, /* bl .+0x1000 */
          { 0x910003bf, LOST, -8, -16, 0 }, /* mov sp, x29 */
          { 0xa8c17bfd, 16, -8, -16, 0 }, /* ldp x29, x30, [sp], #16 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
      } },
    { "arm64_switch_through_a_table_of_bytes", true, 0,
      {
          { 0xf81f0ffe, 0, 0, 0, 0 }, /* str x30, [sp, #-16]! */
          { 0xaa1303fe, 16, 0, 0, 0 }, /* mov x30, x19 */
          { 0x7100041f, 16, -16, 0, 0 }, /* cmp w0, #1 */
          { 0x540000e8, 16, -16, 0, 0 }, /* b.hi .+28 */
          { 0x10000181, 16, -16, 0, 0 }, /* adr x1, .+48 */
          { 0x38604821, 16, -16, 0, 0 }, /* ldrb w1, [x1, w0, uxtw] */
          { 0x100000c0, 16, -16, 0, 0 }, /* adr x0, .+24 */
          { 0x8b218800, 16, -16, 0, 0 }, /* add x0, x0, w1, sxtb #2 */
          { 0xd61f0000, 16, -16, 0, 0 }, /* br x0 */
          { 0xd10003ff, 16, -16, 0, 0 }, /* sub sp, sp, #0 */
          { 0xf84107fe, 16, -16, 0, 0 }, /* ldr x30, [sp], #16 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
          { 0xd10083ff, 16, -16, 0, 0 }, /* sub sp, sp, #32 */
          { 0x910083ff, 48, -16, 0, 0 }, /* add sp, sp, #32 */
          { 0xf84107fe, 16, -16, 0, 0 }, /* ldr x30, [sp], #16 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
          { 0x0000fd00, DATA, 0, 0, 0 }, /* the table: 0, -3 */
      } },
    { "arm64_switch_behind_the_branch_that_bounds_its_index", true, -32,
      {
          { 0xa9be7bfd, 0, 0, 0, 0 }, /* stp x29, x30, [sp, #-32]! */
          { 0xaa1303fe, 32, 0, 0, 0 }, /* mov x30, x19 */
          { 0x7100041f, 32, -24, 0, 0 }, /* cmp w0, #1 */
          { 0x54000069, 32, -24, 0, 0 }, /* b.ls .+12 */
          { 0xa8c27bfd, 32, -24, 0, 0 }, /* ldp x29, x30, [sp], #32 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
          { 0x10000101, 32, -24, 0, 0 }, /* adr x1, .+32 */
          { 0x38604821, 32, -24, 0, 0 }, /* ldrb w1, [x1, w0, uxtw] */
          { 0x10000060, 32, -24, 0, 0 }, /* adr x0, .+12 */
          { 0x8b218800, 32, -24, 0, 0 }, /* add x0, x0, w1, sxtb #2 */
          { 0xd61f0000, 32, -24, 0, 0 }, /* br x0 */
          { 0xd10043ff, 32, -24, 0, 0 }, /* sub sp, sp, #16 */
          { 0x94000400, 48, -24, 0, 0 }, /* bl .+0x1000: does not return */
          { 0x17fffff7, 32, -24, 0, 0 }, /* b .-36 */
          { 0x00000200, DATA, 0, 0, 0 }, /* the table: 0, 2 */
      } },
    { "arm64_switch_through_a_far_table_of_halfwords", true, 0,
      {
          { 0xf81f0ffe, 0, 0, 0, 0 }, /* str x30, [sp, #-16]! */
          { 0xaa1303fe, 16, 0, 0, 0 }, /* mov x30, x19 */
          { 0x7100041f, 16, -16, 0, 0 }, /* cmp w0, #1 */
          { 0x540000e8, 16, -16, 0, 0 }, /* b.hi .+28 */
          { 0x90000101, 16, -16, 0, 0 }, /* adrp x1, FAR_TABLE */
          { 0x91004021, 16, -16, 0, 0 }, /* add x1, x1, #0x10 */
          { 0x78605821, 16, -16, 0, 0 }, /* ldrh w1, [x1, w0, uxtw #1] */
          { 0x10000060, 16, -16, 0, 0 }, /* adr x0, .+12 */
          { 0x8b21a800, 16, -16, 0, 0 }, /* add x0, x0, w1, sxth #2 */
          { 0xd61f0000, 16, -16, 0, 0 }, /* br x0 */
          { 0xf84107fe, 16, -16, 0, 0 }, /* ldr x30, [sp], #16 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
          { 0xd10083ff, 16, -16, 0, 0 }, /* sub sp, sp, #32 */
          { 0x910083ff, 48, -16, 0, 0 }, /* add sp, sp, #32 */
          { 0x17fffffc, 16, -16, 0, 0 }, /* b .-16 */
      } },
    { "arm64_far_table_whose_address_is_made_in_front_of_a_call", true, 0,
      {
          { 0xa9be7bfd, 0, 0, 0, 0 }, /* stp x29, x30, [sp, #-32]! */
          { 0x90000114, 32, 0, 0, 0 }, /* adrp x20, FAR_TABLE */
          { 0x91004294, 32, 0, 0, 0 }, /* add x20, x20, #0x10 */
          { 0x910003fd, 32, 0, 0, 0 }, /* mov x29, sp */
          { 0x94000400, 32, 0, -32, 0 }, /* bl .+0x1000 */
          { 0x7100041f, 32, -24, -32, 0 }, /* cmp w0, #1 */
          { 0x540000a8, 32, -24, -32, 0 }, /* b.hi .+20 */
          { 0x78605a81, 32, -24, -32, 0 }, /* ldrh w1, [x20, w0, uxtw #1] */
          { 0x10000060, 32, -24, -32, 0 }, /* adr x0, .+12 */
          { 0x8b21a801, 32, -24, -32, 0 }, /* add x1, x0, w1, sxth #2 */
          { 0xd61f0020, 32, -24, -32, 0 }, /* br x1 */
          { 0xa8c27bfd, 32, -24, -32, 0 }, /* ldp x29, x30, [sp], #32 */
          { 0xd65f03c0, 0, 0, 0, 0 }, /* ret */
          { 0xd10083ff, 32, -24, -32, 0 }, /* sub sp, sp, #32 */
          { 0x910083ff, 64, -24, -32, 0 }, /* add sp, sp, #32 */
          { 0x17fffffc, 32, -24, -32, 0 }, /* b .-16 */
      } },
};
/* clang-format on */

/*
 * ---- registers and a stack that fit the row's truth, with distinct garbage in everything that must not be used ----
 */

enum {
    STACK = 0x7000,
    STACK_BYTES = 0x8000,
    CFA = 0xe000,
    CALLER = 0x400510,
    CALLER_X19 = 0xb0b0b0,
    CALLER_FP = 0xe888
};

static uint8_t stack[STACK_BYTES];
static const struct sw_memory memory = { .window = { STACK, STACK + STACK_BYTES, stack } };

static void put_word(int64_t address, uint64_t value)
{
    put_le(stack + (address - STACK), value, 8);
}

/* Cases of the switches through it: two instructions behind the return's first one, and that one. */
static const uint8_t far_table[] = { 2, 0, 0, 0 };

static const uint8_t *fetch_row(void *arg, uint64_t pc, size_t *size)
{
    static uint8_t bytes[4 * MOST];
    const struct row *row = arg;
    if (pc - FAR_TABLE < sizeof far_table) {
        *size = sizeof far_table - (pc - FAR_TABLE);
        return far_table + (pc - FAR_TABLE);
    }
    if (pc < BEGIN || pc >= BEGIN + sizeof bytes)
        return NULL;
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(row->at[i / 4].word >> 8 * (i % 4));
    *size = sizeof bytes - (pc - BEGIN);
    return bytes + (pc - BEGIN);
}

static unsigned length_of(const struct row *row)
{
    unsigned n = 0;
    while (n < MOST && row->at[n].word)
        n++;
    return n;
}

/* Where a function keeps each register, and its largest frame. */
static struct at kept_by(const struct row *row)
{
    struct at all = { .fp = row->fp_too };
    for (unsigned i = 0; i < length_of(row); i++) {
        const struct at *at = &row->at[i];
        all.lr = at->lr ? at->lr : all.lr;
        all.fp = at->fp ? at->fp : all.fp;
        all.x19 = at->x19 ? at->x19 : all.x19;
        all.cfa = at->cfa < LOST && at->cfa > all.cfa ? at->cfa : all.cfa;
    }
    return all;
}

static void put_kept(int place, int frame, uint64_t value)
{
    if (place != 0 && frame + 8 >= -place) /* Go's record begins a word below sp */
        put_word(CFA + place, value);
}

/* x29, where overwritten, points to the frame record, as far as there is one. */
static struct sw_regs registers(const struct row *row, const struct at *at, uint64_t pc)
{
    const struct at all = kept_by(row);
    struct sw_regs regs = { .machine = SW_MACHINE_ARM64 };
    memset(stack, 0xa5, sizeof stack);
    for (unsigned n = 0; n < SW_ARM64_COUNT; n++)
        sw_regs_set(&regs, n, 0xdead0000u + n * 0x101);
    sw_regs_set(&regs, SW_ARM64_PC, pc);
    sw_regs_set(&regs, SP, (uint64_t)(CFA - (at->cfa == LOST ? all.cfa + 0x110 : at->cfa)));
    sw_regs_set(&regs, LR, at->lr ? 0xbad : CALLER);
    sw_regs_set(&regs, FP, at->fp ? (uint64_t)(CFA + at->fp) : CALLER_FP);
    sw_regs_set(&regs, X19, at->x19 ? 0xbad19 : CALLER_X19);
    sw_regs_set(&regs, 9, (uint64_t)(CFA - all.cfa)); /* where a probe leads */
    put_kept(all.lr, at->cfa, CALLER);
    put_kept(all.fp, at->cfa, CALLER_FP);
    put_kept(all.x19, at->cfa, CALLER_X19);
    return regs;
}

static struct sw_analysis work;

static void expect(const struct sw_regs *caller, unsigned reg, uint64_t value)
{
    if (!sw_regs_has(caller, reg))
        fail_msg("%s is lost", sw_regs_name(SW_MACHINE_ARM64, reg));
    assert_int_equal(caller->r[reg], value);
}

static void caller_is_found_at_every_instruction(void **state)
{
    const struct row *row = *state;
    const struct sw_code code = { &sw_a64_arch, fetch_row, (void *)(uintptr_t)row, NULL };
    for (unsigned i = 0; i < length_of(row); i++) {
        const struct at *at = &row->at[i];
        const uint64_t pc = BEGIN + 4 * i;
        const struct sw_regs regs = registers(row, at, pc);
        struct sw_rule rule;
        struct sw_regs caller;
        uint64_t cfa;
        if (at->cfa == DATA)
            continue;
        for (unsigned inside = 0; inside < 4; inside++) /* a return address - 1 lies inside */
            assert_int_equal(sw_analyze_function(&code, BEGIN, BEGIN + 4 * length_of(row), pc + inside, &work, &rule),
                             SW_OK);
        assert_int_equal(rule.source, SW_SOURCE_ANALYSIS);
        assert_int_equal(rule.trust, SW_TRUST_LIKELY);
        assert_int_equal(sw_rule_apply(&rule, &regs, &memory, &caller, &cfa, NULL), SW_OK);
        assert_int_equal(cfa, CFA);
        expect(&caller, SP, CFA);
        expect(&caller, SW_ARM64_PC, CALLER);
        expect(&caller, FP, CALLER_FP);
        expect(&caller, X19, CALLER_X19);
    }
}

static bool first(void *arg, const struct sw_rule *rule)
{
    *(struct sw_rule *)arg = *rule;
    return true;
}

/* Forward from every instruction: the return is found; registers not restored on the way are not claimed. */
static void caller_is_found_going_forward(void **state)
{
    const struct row *row = *state;
    const struct sw_code code = { &sw_a64_arch, fetch_row, (void *)(uintptr_t)row, NULL };
    unsigned found = 0;
    for (unsigned i = 0; !row->known_start_only && i < length_of(row); i++) {
        const struct sw_regs regs = registers(row, &row->at[i], BEGIN + 4 * i);
        struct sw_fp_distance fp = { (int32_t)(regs.r[FP] - regs.r[SP]), true, false };
        struct sw_rule rule;
        struct sw_regs caller;
        if (sw_analyze_forward(&code, BEGIN + 4 * i, &fp, &work, first, &rule) != SW_OK)
            continue; /* a tail call out of the bytes: no return to be found here */
        found++;
        assert_int_equal(sw_rule_apply(&rule, &regs, &memory, &caller, NULL, NULL), SW_OK);
        assert_int_equal(sw_regs_pc(&caller), CALLER);
        assert_int_equal(sw_regs_sp(&caller), CFA);
        if (sw_regs_has(&caller, FP))
            assert_int_equal(caller.r[FP], CALLER_FP);
        if (sw_regs_has(&caller, X19))
            assert_int_equal(caller.r[X19], CALLER_X19);
    }
    assert_true(row->known_start_only || found > 0 || strstr(row->name, "tail_call"));
}

/* ---- jumps through words that several instructions name ---- */

/* To a PLT's entry: b; adrp x16, 0x402000; ldr x17, [x16, #8]; add x16, x16, #8; br x17. Or ldr x16, [x0], #8; br. */
static const uint32_t by_plt[] = { 0x14000001, 0xb0000010, 0xf9400611, 0x91002210, 0xd61f0220 };
static const uint32_t by_register[] = { 0xf8408410, 0xaa1003f1, 0xd61f0220 };

static const uint8_t *fetch_words(void *arg, uint64_t pc, size_t *size)
{
    const size_t all = arg == by_plt ? sizeof by_plt : sizeof by_register;
    if (pc < BEGIN || pc >= BEGIN + all)
        return NULL;
    *size = all - (pc - BEGIN);
    return (const uint8_t *)arg + (pc - BEGIN);
}

static void a_tail_call_through_a_plt_is_no_dispatch(void **state)
{
    const struct sw_code plt = { &sw_a64_arch, fetch_words, (void *)(uintptr_t)by_plt, NULL };
    const struct sw_code part = { &sw_a64_arch, fetch_words, (void *)(uintptr_t)by_register, NULL };
    uint64_t slot = 0;
    unsigned at = 0;
    (void)state;
    sw_analyze_run(&plt, BEGIN, 0, &work);
    assert_null(sw_analyze_jump(&work, &at));
    at = 0;
    assert_true(sw_analyze_tail(&work, &at, &slot));
    assert_int_equal(slot, 0x402008);
    at = 0;
    sw_analyze_run(&part, BEGIN, 0, &work);
    assert_non_null(sw_analyze_jump(&work, &at));
    at = 0;
    assert_false(sw_analyze_tail(&work, &at, &slot));
}

/* ---- a call that does not return, in front of another function ---- */

static const uint32_t last_call[] = {
    0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
    0x94000400, /* bl .+0x1000 */
    0xd503237f, /* pacibsp */
    0xa9be7bfd, /* stp x29, x30, [sp, #-32]! */
    0x910003fd, /* mov x29, sp */
    0xcb2063ff, /* sub sp, sp, x0 */
    0x94000400, /* bl .+0x1000 */
    0x910003bf, /* mov sp, x29 */
    0xa8c27bfd, /* ldp x29, x30, [sp], #32 */
    0xd65f03c0  /* ret */
};

static const uint8_t *fetch_last_call(void *arg, uint64_t pc, size_t *size)
{
    (void)arg;
    if (pc < BEGIN || pc >= BEGIN + sizeof last_call)
        return NULL;
    *size = sizeof last_call - (pc - BEGIN);
    return (const uint8_t *)last_call + (pc - BEGIN);
}

static void who_stores_lr_behind_a_call_is_another_function(void **state)
{
    const struct sw_code code = { &sw_a64_arch, fetch_last_call, NULL, NULL };
    struct sw_rule rule;
    (void)state;
    for (uint64_t at = 0; at < COUNT_OF(last_call); at++)
        if (at < 2 || at > 3)
            assert_int_equal(sw_analyze_function(&code, BEGIN, 0, BEGIN + 4 * at, &work, &rule),
                             at < 2 ? SW_OK : SW_E_NO_RULE);
    assert_int_equal(sw_analyze_forward(&code, BEGIN, NULL, &work, first, &rule), SW_E_NO_RULE);
}

int main(void)
{
    static char names[COUNT_OF(rows)][80];
    struct CMUnitTest tests[2 * COUNT_OF(rows) + 2];
    FILL_ROWS(tests, rows, caller_is_found_at_every_instruction);
    FILL_ROWS(tests + COUNT_OF(rows), rows, caller_is_found_going_forward);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        snprintf(names[i], sizeof names[i], "%s_forward", rows[i].name);
        tests[COUNT_OF(rows) + i].name = names[i];
    }
    tests[2 * COUNT_OF(rows)] = (struct CMUnitTest)cmocka_unit_test(a_tail_call_through_a_plt_is_no_dispatch);
    tests[2 * COUNT_OF(rows) + 1] =
        (struct CMUnitTest)cmocka_unit_test(who_stores_lr_behind_a_call_is_another_function);
    return _cmocka_run_group_tests("analyze_arm64", tests, COUNT_OF(tests), NULL, NULL);
}
