/*
 * The A64 decoder: its tables prove themselves, effects of single words, and the whole space of words sampled against
 * Capstone: the same words are branches, calls, returns, traps, write sp, store and load pairs, and write the same
 * registers.
 */
#include "rows.h"

#include "arch/a64/decode.h"
#include "arch/a64/decode_rows.h"

#include "base/bytes.h"

#include <string.h>

enum { PC = 0x10000, SP = SW_ARM64_SP, LR = SW_ARM64_LR, FP = SW_ARM64_FP };

/* ---- the tables ---- */

static void rows_are_disjoint(void **state)
{
    const struct sw_a64_row *a, *b;
    int a_field, b_field;
    (void)state;
    for (size_t i = 0; (a = sw_a64_row_at(i, &a_field)) != NULL; i++)
        for (size_t j = 0; j < i; j++) {
            b = sw_a64_row_at(j, &b_field);
            if (a_field == b_field && ((a->bits ^ b->bits) & a->mask & b->mask) == 0)
                fail_msg("%s and %s overlap", a->name, b->name);
        }
}

static void rows_are_reached_by_their_samples(void **state)
{
    const struct sw_a64_row *row;
    int is_field;
    size_t count = 0;
    (void)state;
    for (; (row = sw_a64_row_at(count, &is_field)) != NULL; count++) {
        assert_int_equal(row->bits & ~row->mask, 0);
        if (sw_a64_match(row->sample) != row)
            fail_msg("%s: %08x is not its own", row->name, row->sample);
    }
    assert_true(count > 250);
}

/* A row that is looked for in one group must have no words in another. */
static void rows_lie_in_their_groups(void **state)
{
    const struct sw_a64_row *row;
    int is_field;
    (void)state;
    for (size_t i = 0; (row = sw_a64_row_at(i, &is_field)) != NULL && !is_field; i++)
        for (uint32_t op0 = 0; op0 < 16; op0++) {
            const uint32_t word = (row->sample & ~(15u << 25)) | op0 << 25;
            if ((word & row->mask) == row->bits && sw_a64_match(word) != row)
                fail_msg("%s is not found with op0 %u", row->name, op0);
        }
}

/* ---- effects ---- */

#define N SW_NOREG

static const struct effect_row {
    const char *name;
    uint32_t word;
    uint8_t flow;
    uint8_t count;
    int64_t target; /* from pc */
    struct sw_effect effects[4];
} effect_rows[] = {
    { "a64_stp_pre",
      0xa9be7bfd,
      SW_FLOW_NEXT,
      3,
      0,
      { { SW_EFFECT_STORE, SP, FP, 8, -32 }, { SW_EFFECT_STORE, SP, LR, 8, -24 }, { SW_EFFECT_SET, SP, SP, 8, -32 } } },
    { "a64_stp_offset",
      0xa90153f3,
      SW_FLOW_NEXT,
      2,
      0,
      { { SW_EFFECT_STORE, SP, 19, 8, 16 }, { SW_EFFECT_STORE, SP, 20, 8, 24 } } },
    { "a64_ldp_post",
      0xa8c27bfd,
      SW_FLOW_NEXT,
      3,
      0,
      { { SW_EFFECT_LOAD, FP, SP, 8, 0 }, { SW_EFFECT_LOAD, LR, SP, 8, 8 }, { SW_EFFECT_SET, SP, SP, 8, 32 } } },
    { "a64_ldp_base_is_loaded_last",
      0xa9400c02 | 0 << 5,
      SW_FLOW_NEXT,
      2,
      0,
      { { SW_EFFECT_LOAD, 2, 0, 8, 0 }, { SW_EFFECT_LOAD, 3, 0, 8, 8 } } },
    { "a64_ldp_base_is_loaded_last_swapped",
      0xa9400400,
      SW_FLOW_NEXT,
      2,
      0,
      { { SW_EFFECT_LOAD, 1, 0, 8, 8 }, { SW_EFFECT_LOAD, 0, 0, 8, 0 } } },
    { "a64_stp_d",
      0x6d0223e8 & ~0x400000u,
      SW_FLOW_NEXT,
      2,
      0,
      { { SW_EFFECT_STORE, SP, N, 8, 32 }, { SW_EFFECT_STORE, SP, N, 8, 40 } } },
    { "a64_str_pre",
      0xf81f0ff3,
      SW_FLOW_NEXT,
      2,
      0,
      { { SW_EFFECT_STORE, SP, 19, 8, -16 }, { SW_EFFECT_SET, SP, SP, 8, -16 } } },
    { "a64_str_x", 0xf90007fe, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_STORE, SP, LR, 8, 8 } } },
    { "a64_str_w", 0xb90007f3, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_STORE, SP, 19, 4, 4 } } },
    { "a64_stur_go_frame_record", 0xf81f83fd, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_STORE, SP, FP, 8, -8 } } },
    { "a64_str_zero", 0xf90007ff, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_STORE, SP, N, 8, 8 } } },
    { "a64_ldr_post",
      0xf84107fe,
      SW_FLOW_NEXT,
      2,
      0,
      { { SW_EFFECT_LOAD, LR, SP, 8, 0 }, { SW_EFFECT_SET, SP, SP, 8, 16 } } },
    { "a64_ldr_w_loses", 0xb9400bf3, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_CLOBBER, N, N, 8, 1 << 19 } } },
    { "a64_ldrb_index", 0x38604821, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_ELEMENT, 1, 1, 1 | SW_ELEMENT_UNSIGNED, 0 } } },
    { "a64_ldrsw_index", 0xb8a0d821, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_ELEMENT, 1, 1, 4, 0 } } },
    { "a64_probe", 0xb8696bff, SW_FLOW_NEXT, 0, 0, { { 0 } } },
    { "a64_sub_sp", 0xd10103ff, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_SET, SP, SP, 8, -64 } } },
    { "a64_sub_sp_shifted", 0xd1400bff, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_SET, SP, SP, 8, -8192 } } },
    { "a64_add_fp_sp", 0x910043fd, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_SET, FP, SP, 8, 16 } } },
    { "a64_mov_fp_sp", 0x910003fd, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_SET, FP, SP, 8, 0 } } },
    { "a64_mov_sp_fp", 0x910003bf, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_SET, SP, FP, 8, 0 } } },
    { "a64_sub_fp_sp_go", 0xd10023fd, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_SET, FP, SP, 8, -8 } } },
    { "a64_sub_sp_register", 0xcb2c63ff, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_ADD, SP, 12, 0, -1 } } },
    { "a64_sub_sp_chkstk", 0xcb2f73ff, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_ADD, SP, 15, 0, -16 } } },
    { "a64_add_to_the_index", 0x8b21a801, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_ADD, 1, 0, 2 | SW_ADD_REVERSED, 4 } } },
    { "a64_add_sxtb", 0x8b218800, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_ADD, 0, 1, 1, 4 } } },
    { "a64_add_w_loses", 0x0b010000, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_CLOBBER, N, N, 8, 1 } } },
    { "a64_cmp_sp", 0xeb2963ff, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_COMPARE, SP, 9, 8, 0 } } },
    { "a64_cmp_imm", 0x7100281f, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_COMPARE, 0, N, 8, 10 } } },
    { "a64_and_sp",
      0x9279e13f,
      SW_FLOW_NEXT,
      2,
      0,
      { { SW_EFFECT_SET, SP, 9, 8, 0 }, { SW_EFFECT_ALIGN, SP, N, 8, -128 } } },
    { "a64_mov_register", 0xaa0203e1, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_SET, 1, 2, 8, 0 } } },
    { "a64_mov_w_loses", 0x2a0203e1, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_CLOBBER, N, N, 8, 2 } } },
    { "a64_mov_zero", 0xaa1f03e1, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_CONST, 1, N, 8, 0 } } },
    { "a64_movz", 0xd289c801, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_CONST, 1, N, 8, 0x4e40 } } },
    { "a64_movn", 0x9281ffe9, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_CONST, 9, N, 8, -4096 } } },
    { "a64_movk", 0xf2a0002c, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_INSERT, 12, N, 16, 1 } } },
    { "a64_mov_bitmask", 0xb27d03e1, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_CONST, 1, N, 8, 8 } } },
    { "a64_adr", 0x10000101, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_NEAR, 1, N, 8, 32 } } },
    { "a64_adrp", 0xb0000001, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_NEAR, 1, N, 8, 4096 } } },
    { "a64_addvl", 0x043f57df | 31, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_VECTOR, SP, SP, 8, -16 } } },
    { "a64_paciasp", 0xd503233f, SW_FLOW_NEXT, 0, 0, { { 0 } } },
    { "a64_autia1716_loses", 0xd503219f, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_CLOBBER, N, N, 8, 1 << 17 } } },
    { "a64_pacia_lr", 0xdac103fe, SW_FLOW_NEXT, 0, 0, { { 0 } } },
    { "a64_pacia_x0_loses", 0xdac10020, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_CLOBBER, N, N, 8, 1 } } },
    { "a64_xpaclri", 0xd50320ff, SW_FLOW_NEXT, 0, 0, { { 0 } } },
    { "a64_bti", 0xd503245f, SW_FLOW_NEXT, 0, 0, { { 0 } } },
    { "a64_ret", 0xd65f03c0, SW_FLOW_RETURN, 1, 0, { { SW_EFFECT_SET, SW_ARM64_PC, LR, 8, 0 } } },
    { "a64_ret_x9", 0xd65f0120, SW_FLOW_RETURN, 1, 0, { { SW_EFFECT_SET, SW_ARM64_PC, 9, 8, 0 } } },
    { "a64_retaa", 0xd65f0bff, SW_FLOW_RETURN, 1, 0, { { SW_EFFECT_SET, SW_ARM64_PC, LR, 8, 0 } } },
    { "a64_retab", 0xd65f0fff, SW_FLOW_RETURN, 1, 0, { { SW_EFFECT_SET, SW_ARM64_PC, LR, 8, 0 } } },
    { "a64_br", 0xd61f0220, SW_FLOW_INDIRECT, 1, 0, { { SW_EFFECT_SET, SW_ARM64_PC, 17, 8, 0 } } },
    { "a64_braa", 0xd71f0a05, SW_FLOW_INDIRECT, 1, 0, { { SW_EFFECT_SET, SW_ARM64_PC, 16, 8, 0 } } },
    { "a64_bl", 0x94000004, SW_FLOW_CALL, 1, 16, { { SW_EFFECT_CLOBBER, N, N, 8, 0x4007ffff } } },
    { "a64_bl_back", 0x97ffffff, SW_FLOW_CALL, 1, -4, { { SW_EFFECT_CLOBBER, N, N, 8, 0x4007ffff } } },
    { "a64_blraaz", 0xd63f0a1f, SW_FLOW_CALL, 1, 0, { { SW_EFFECT_CLOBBER, N, N, 8, 0x4007ffff } } },
    { "a64_b", 0x17fffffc, SW_FLOW_JUMP, 0, -16, { { 0 } } },
    { "a64_b_hi", 0x54000088, SW_FLOW_BRANCH, 0, 16, { { 0 } } },
    { "a64_b_al", 0x5400008e, SW_FLOW_JUMP, 0, 16, { { 0 } } },
    { "a64_cbz", 0xb4ffffe0, SW_FLOW_BRANCH, 0, -4, { { 0 } } },
    { "a64_tbnz", 0x37000040, SW_FLOW_BRANCH, 0, 8, { { 0 } } },
    { "a64_svc", 0xd4000001, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_CLOBBER, N, N, 8, 1 } } },
    { "a64_brk", 0xd4207d00, SW_FLOW_TRAP, 0, 0, { { 0 } } },
    { "a64_udf", 0x00000000, SW_FLOW_TRAP, 0, 0, { { 0 } } },
    { "a64_csel", 0x9a830053, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_CLOBBER, N, N, 8, 1 << 19 } } },
    { "a64_cmn_is_no_compare", 0xb100041f, SW_FLOW_NEXT, 0, 0, { { 0 } } },
    { "a64_ldraa_pre",
      0xf87ffc41,
      SW_FLOW_NEXT,
      2,
      0,
      { { SW_EFFECT_LOAD, 1, 2, 8, -8 }, { SW_EFFECT_SET, 2, 2, 8, -8 } } },
    { "a64_stxr",
      0xc8037c41,
      SW_FLOW_NEXT,
      2,
      0,
      { { SW_EFFECT_STORE, 2, N, 8, 0 }, { SW_EFFECT_CLOBBER, N, N, 8, 1 << 3 } } },
    { "a64_ldadd",
      0xf8330054,
      SW_FLOW_NEXT,
      2,
      0,
      { { SW_EFFECT_STORE, 2, N, 8, 0 }, { SW_EFFECT_CLOBBER, N, N, 8, 1 << 20 } } },
    { "a64_st1_post_sp",
      0x4c9f2be8,
      SW_FLOW_NEXT,
      2,
      0,
      { { SW_EFFECT_STORE, SP, N, 64, 0 }, { SW_EFFECT_SET, SP, SP, 8, 64 } } },
    { "a64_stg_post", 0xd92017ff, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_SET, SP, SP, 8, 16 } } },
    { "a64_fmov_general", 0x9e660053, SW_FLOW_NEXT, 1, 0, { { SW_EFFECT_CLOBBER, N, N, 8, 1 << 19 } } },
    { "a64_fadd", 0x1e622820, SW_FLOW_NEXT, 0, 0, { { 0 } } },
};

static void effects_are_these(void **state)
{
    const struct effect_row *row = *state;
    uint8_t bytes[4];
    struct sw_insn insn;
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(row->word >> 8 * i);
    assert_int_equal(sw_a64_decode(bytes, 4, PC, &insn), SW_OK);
    assert_int_equal(insn.length, 4);
    assert_int_equal(insn.flow, row->flow);
    assert_int_equal(insn.target, row->target ? PC + (uint64_t)row->target : 0);
    assert_int_equal(insn.count, row->count);
    for (unsigned i = 0; i < row->count; i++) {
        const struct sw_effect *got = &insn.effects[i], *want = &row->effects[i];
        assert_int_equal(got->kind, want->kind);
        assert_int_equal(got->dst, want->dst);
        assert_int_equal(got->src, want->src);
        assert_int_equal(got->size, want->size);
        assert_int_equal(got->imm, want->imm);
    }
}

static const uint32_t unknown_words[] = { 0xffffffff,
                                          0x8b2077ff /* shift over 4 */,
                                          0x8bc00000 /* rotated */,
                                          0x92400000 | 0x3f << 10 | 0x3fu << 16 /* all ones */,
                                          0x121f7c00 | 0x1u << 22,
                                          0x52c00000 /* movz w, lsl 32 */,
                                          0x0c001041 /* no such structure */,
                                          0x5d000000 };

static void unknown_words_are_unknown(void **state)
{
    struct sw_insn insn;
    uint8_t bytes[4];
    (void)state;
    for (size_t n = 0; n < COUNT_OF(unknown_words); n++) {
        for (unsigned i = 0; i < 4; i++)
            bytes[i] = (uint8_t)(unknown_words[n] >> 8 * i);
        if (sw_a64_decode(bytes, 4, PC, &insn) != SW_E_MALFORMED)
            fail_msg("%08x is taken for something", unknown_words[n]);
    }
    assert_int_equal(sw_a64_decode(bytes, 3, PC, &insn), SW_E_TRUNCATED);
}

/* ---- stubs ---- */

static const struct stub_row {
    const char *name;
    uint32_t words[5];
    uint64_t slot;
} stub_rows[] = {
    { "a64_plt_entry", { 0x90000110, 0xf947fe11, 0x913fe210, 0xd61f0220 }, PC + 0x20000 + 0xff8 },
    { "a64_plt_entry_bti", { 0xd503245f, 0x90000110, 0xf947fe11, 0x913fe210, 0xd61f0220 }, PC + 0x20000 + 0xff8 },
    { "a64_import_thunk", { 0x90000110, 0xf9400210, 0xd61f0200 }, PC + 0x20000 },
    { "a64_precode", { 0xd503245f, 0x5802000b, 0xd61f0160 }, PC + 0x4004 },
    { "a64_precode_second_way", { 0xd50339bf, 0x5801ffec, 0x5802000b, 0xd61f0160 }, PC + 0x4008 },
    { "a64_no_stub_first_plt_entry", { 0xa9bf7bf0, 0x90000bd0, 0xf947fe11, 0x913fe210, 0xd61f0220 }, 0 },
    { "a64_no_stub_other_register", { 0x90000110, 0xf947fe11, 0x913fe210, 0xd61f0200 }, 0 },
    { "a64_no_stub_return", { 0x90000110, 0xf947fe11, 0xd65f03c0 }, 0 },
    { "a64_no_stub_lost", { 0x90000110, 0xf947fe11, 0x8b110231, 0xd61f0220 }, 0 },
};

static void stubs_are_seen_through(void **state)
{
    const struct stub_row *row = *state;
    uint8_t bytes[20];
    uint64_t slot = 0;
    for (unsigned i = 0; i < 20; i++)
        bytes[i] = (uint8_t)(row->words[i / 4] >> 8 * (i % 4));
    assert_int_equal(sw_a64_goes_through(bytes, sizeof bytes, PC, &slot), row->slot != 0);
    if (row->slot)
        assert_int_equal(slot, row->slot);
    assert_false(sw_a64_goes_through(bytes, 8, PC, &slot)); /* cut */
}

int main(void)
{
    static struct CMUnitTest tests[COUNT_OF(effect_rows) + COUNT_OF(stub_rows) + 4];
    size_t n = 0;
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(rows_are_disjoint);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(rows_are_reached_by_their_samples);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(rows_lie_in_their_groups);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(unknown_words_are_unknown);
    FILL_ROWS(tests + n, effect_rows, effects_are_these);
    n += COUNT_OF(effect_rows);
    FILL_ROWS(tests + n, stub_rows, stubs_are_seen_through);
    n += COUNT_OF(stub_rows);
    return _cmocka_run_group_tests("a64", tests, n, NULL, NULL);
}
