/* x64 instructions → effects: a row an instruction, bytes as the assembler gives them. */
#include "rows.h"

#include "arch/x64/decode.h"

#include <string.h>

enum { PC = 0x1000, SET = SW_EFFECT_SET, LOAD = SW_EFFECT_LOAD, STORE = SW_EFFECT_STORE, CONST = SW_EFFECT_CONST };
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R10 = 10, R11 = 11, R15 = 15, RIP = 16, NONE = SW_NOREG };

static const struct row {
    const char *name;
    uint8_t size;
    uint8_t bytes[12];
    uint8_t flow;
    uint64_t target;
    uint8_t count;
    struct sw_effect effects[4];
} rows[] = {
    { "endbr64", 4, { 0xf3, 0x0f, 0x1e, 0xfa }, SW_FLOW_NEXT, 0, 0, { { 0 } } },
    { "nop_with_modrm", 4, { 0x0f, 0x1f, 0x40, 0x00 }, SW_FLOW_NEXT, 0, 0, { { 0 } } },
    { "push_rbp", 1, { 0x55 }, SW_FLOW_NEXT, 0, 2, { { STORE, RSP, RBP, 8, -8 }, { SET, RSP, RSP, 8, -8 } } },
    { "push_r15", 2, { 0x41, 0x57 }, SW_FLOW_NEXT, 0, 2, { { STORE, RSP, R15, 8, -8 }, { SET, RSP, RSP, 8, -8 } } },
    { "push_imm8", 2, { 0x6a, 0x05 }, SW_FLOW_NEXT, 0, 2, { { STORE, RSP, NONE, 8, -8 }, { SET, RSP, RSP, 8, -8 } } },
    { "push_imm32",
      5,
      { 0x68, 1, 0, 0, 0 },
      SW_FLOW_NEXT,
      0,
      2,
      { { STORE, RSP, NONE, 8, -8 }, { SET, RSP, RSP, 8, -8 } } },
    { "push_mem_r10",
      4,
      { 0x41, 0xff, 0x72, 0xf8 },
      SW_FLOW_NEXT,
      0,
      2,
      { { STORE, RSP, NONE, 8, -8 }, { SET, RSP, RSP, 8, -8 } } },
    { "pushfq", 1, { 0x9c }, SW_FLOW_NEXT, 0, 2, { { STORE, RSP, NONE, 8, -8 }, { SET, RSP, RSP, 8, -8 } } },
    { "push_ax_is_two_bytes",
      2,
      { 0x66, 0x50 },
      SW_FLOW_NEXT,
      0,
      2,
      { { STORE, RSP, NONE, 8, -2 }, { SET, RSP, RSP, 8, -2 } } },
    { "pop_rbx", 1, { 0x5b }, SW_FLOW_NEXT, 0, 2, { { LOAD, RBX, RSP, 8, 0 }, { SET, RSP, RSP, 8, 8 } } },
    { "pop_rsp", 1, { 0x5c }, SW_FLOW_NEXT, 0, 1, { { LOAD, RSP, RSP, 8, 0 } } },
    { "popfq", 1, { 0x9d }, SW_FLOW_NEXT, 0, 1, { { SET, RSP, RSP, 8, 8 } } },
    { "sub_rsp_imm8", 4, { 0x48, 0x83, 0xec, 0x18 }, SW_FLOW_NEXT, 0, 1, { { SET, RSP, RSP, 8, -0x18 } } },
    { "sub_rsp_imm32",
      7,
      { 0x48, 0x81, 0xec, 0x00, 0x10, 0, 0 },
      SW_FLOW_NEXT,
      0,
      1,
      { { SET, RSP, RSP, 8, -0x1000 } } },
    { "add_rsp_negative", 4, { 0x48, 0x83, 0xc4, 0x80 }, SW_FLOW_NEXT, 0, 1, { { SET, RSP, RSP, 8, -128 } } },
    { "sub_rsp_rax", 3, { 0x48, 0x29, 0xc4 }, SW_FLOW_NEXT, 0, 1, { { SW_EFFECT_ADD, RSP, RAX, 8, -1 } } },
    { "lea_rsp_rsp_disp", 5, { 0x48, 0x8d, 0x64, 0x24, 0x10 }, SW_FLOW_NEXT, 0, 1, { { SET, RSP, RSP, 8, 0x10 } } },
    { "lea_rsp_rbp_disp", 4, { 0x48, 0x8d, 0x65, 0xd8 }, SW_FLOW_NEXT, 0, 1, { { SET, RSP, RBP, 8, -0x28 } } },
    { "lea_rsp_indexed_is_lost",
      4,
      { 0x48, 0x8d, 0x24, 0xcc },
      SW_FLOW_NEXT,
      0,
      1,
      { { SW_EFFECT_CLOBBER, NONE, NONE, 8, 1 << RSP } } },
    { "lea_rip_is_near",
      7,
      { 0x48, 0x8d, 0x05, 0x10, 0, 0, 0 },
      SW_FLOW_NEXT,
      0,
      1,
      { { SW_EFFECT_NEAR, RAX, NONE, 8, 0x17 } } },
    { "movsxd_of_a_table",
      4,
      { 0x48, 0x63, 0x04, 0xba },
      SW_FLOW_NEXT,
      0,
      1,
      { { SW_EFFECT_ELEMENT, RAX, RDX, 4, 0 } } },
    { "mov_32_of_a_table",
      3,
      { 0x8b, 0x0c, 0x81 },
      SW_FLOW_NEXT,
      0,
      1,
      { { SW_EFFECT_ELEMENT, RCX, RCX, 4 | SW_ELEMENT_UNSIGNED, 0 } } },
    { "mov_64_of_a_table",
      5,
      { 0x48, 0x8b, 0x44, 0xfa, 0x10 },
      SW_FLOW_NEXT,
      0,
      1,
      { { SW_EFFECT_ELEMENT, RAX, RDX, 8, 0x10 } } },
    { "mov_32_with_another_scale_clobbers",
      3,
      { 0x8b, 0x04, 0xfa },
      SW_FLOW_NEXT,
      0,
      1,
      { { SW_EFFECT_CLOBBER, NONE, NONE, 8, 1 } } },
    { "jmp_through_a_table_of_pointers",
      7,
      { 0xff, 0x24, 0xc5, 0, 0x20, 0, 0 },
      SW_FLOW_INDIRECT,
      0,
      2,
      { { SW_EFFECT_NEAR, RIP, NONE, 8, 0x2000 - PC }, { SW_EFFECT_ELEMENT, RIP, RIP, 8, 0 } } },
    { "mov_64_of_a_table_at_a_fixed_address",
      8,
      { 0x48, 0x8b, 0x04, 0xc5, 0, 0x20, 0, 0 },
      SW_FLOW_NEXT,
      0,
      2,
      { { SW_EFFECT_NEAR, RAX, NONE, 8, 0x2000 - PC }, { SW_EFFECT_ELEMENT, RAX, RAX, 8, 0 } } },
    { "xchg_rsp_r10", 3, { 0x49, 0x87, 0xe2 }, SW_FLOW_NEXT, 0, 1, { { SW_EFFECT_SWAP, R10, RSP, 8, 0 } } },
    { "xchg_eax_ebx_clobbers",
      2,
      { 0x87, 0xd8 },
      SW_FLOW_NEXT,
      0,
      1,
      { { SW_EFFECT_CLOBBER, NONE, NONE, 8, 1 << RAX | 1 << RBX } } },
    { "cmp_with_a_constant", 3, { 0x83, 0xff, 0x09 }, SW_FLOW_NEXT, 0, 1, { { SW_EFFECT_COMPARE, RDI, NONE, 8, 9 } } },
    { "mov_rbp_rsp_89", 3, { 0x48, 0x89, 0xe5 }, SW_FLOW_NEXT, 0, 1, { { SET, RBP, RSP, 8, 0 } } },
    { "mov_rbp_rsp_8b", 3, { 0x48, 0x8b, 0xec }, SW_FLOW_NEXT, 0, 1, { { SET, RBP, RSP, 8, 0 } } },
    { "mov_rsp_r11", 3, { 0x4c, 0x89, 0xdc }, SW_FLOW_NEXT, 0, 1, { { SET, RSP, R11, 8, 0 } } },
    { "mov_eax_imm", 5, { 0xb8, 0x00, 0x20, 0, 0 }, SW_FLOW_NEXT, 0, 1, { { CONST, RAX, NONE, 8, 0x2000 } } },
    { "mov_eax_imm_zero_extends",
      5,
      { 0xb8, 0xff, 0xff, 0xff, 0xff },
      SW_FLOW_NEXT,
      0,
      1,
      { { CONST, RAX, NONE, 8, 0xffffffff } } },
    { "mov_rax_imm_sign_extends",
      7,
      { 0x48, 0xc7, 0xc0, 0xff, 0xff, 0xff, 0xff },
      SW_FLOW_NEXT,
      0,
      1,
      { { CONST, RAX, NONE, 8, -1 } } },
    { "mov_ax_imm_clobbers", 4, { 0x66, 0xb8, 1, 0 }, SW_FLOW_NEXT, 0, 1, { { SW_EFFECT_CLOBBER, NONE, NONE, 8, 1 } } },
    { "mov_load", 4, { 0x48, 0x8b, 0x5d, 0xf8 }, SW_FLOW_NEXT, 0, 1, { { LOAD, RBX, RBP, 8, -8 } } },
    { "mov_store", 5, { 0x48, 0x89, 0x5c, 0x24, 0x08 }, SW_FLOW_NEXT, 0, 1, { { STORE, RSP, RBX, 8, 8 } } },
    { "mov_store_32_loses_four_bytes",
      4,
      { 0x89, 0x5c, 0x24, 0x08 },
      SW_FLOW_NEXT,
      0,
      1,
      { { STORE, RSP, NONE, 4, 8 } } },
    { "mov_load_fs_clobbers",
      9,
      { 0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0 },
      SW_FLOW_NEXT,
      0,
      1,
      { { SW_EFFECT_CLOBBER, NONE, NONE, 8, 1 } } },
    { "movaps_store_loses_sixteen",
      4,
      { 0x0f, 0x29, 0x45, 0xf0 },
      SW_FLOW_NEXT,
      0,
      1,
      { { STORE, RBP, NONE, 16, -16 } } },
    { "and_rsp_aligns", 4, { 0x48, 0x83, 0xe4, 0xc0 }, SW_FLOW_NEXT, 0, 1, { { SW_EFFECT_ALIGN, RSP, NONE, 8, -64 } } },
    { "xor_eax_eax_is_zero", 2, { 0x31, 0xc0 }, SW_FLOW_NEXT, 0, 1, { { CONST, RAX, NONE, 8, 0 } } },
    { "or_zero_on_stack_is_a_probe", 5, { 0x48, 0x83, 0x0c, 0x24, 0x00 }, SW_FLOW_NEXT, 0, 0, { { 0 } } },
    { "cmp_rsp_r11", 3, { 0x4c, 0x39, 0xdc }, SW_FLOW_NEXT, 0, 1, { { SW_EFFECT_COMPARE, RSP, R11, 8, 0 } } },
    { "leave",
      1,
      { 0xc9 },
      SW_FLOW_NEXT,
      0,
      3,
      { { SET, RSP, RBP, 8, 0 }, { LOAD, RBP, RSP, 8, 0 }, { SET, RSP, RSP, 8, 8 } } },
    { "enter_32",
      4,
      { 0xc8, 0x20, 0x00, 0x00 },
      SW_FLOW_NEXT,
      0,
      3,
      { { STORE, RSP, RBP, 8, -8 }, { SET, RBP, RSP, 8, -8 }, { SET, RSP, RSP, 8, -0x28 } } },
    { "ret", 1, { 0xc3 }, SW_FLOW_RETURN, 0, 2, { { LOAD, RIP, RSP, 8, 0 }, { SET, RSP, RSP, 8, 8 } } },
    { "rep_ret", 2, { 0xf3, 0xc3 }, SW_FLOW_RETURN, 0, 2, { { LOAD, RIP, RSP, 8, 0 }, { SET, RSP, RSP, 8, 8 } } },
    { "ret_imm",
      3,
      { 0xc2, 0x10, 0x00 },
      SW_FLOW_RETURN,
      0,
      2,
      { { LOAD, RIP, RSP, 8, 0 }, { SET, RSP, RSP, 8, 0x18 } } },
    { "call_rel",
      5,
      { 0xe8, 0x00, 0x01, 0, 0 },
      SW_FLOW_CALL,
      PC + 0x105,
      1,
      { { SW_EFFECT_CLOBBER, NONE, NONE, 8, 0xfc7 } } },
    { "call_indirect", 2, { 0xff, 0xd0 }, SW_FLOW_CALL, 0, 1, { { SW_EFFECT_CLOBBER, NONE, NONE, 8, 0xfc7 } } },
    { "call_next_is_a_push",
      5,
      { 0xe8, 0, 0, 0, 0 },
      SW_FLOW_NEXT,
      0,
      2,
      { { STORE, RSP, NONE, 8, -8 }, { SET, RSP, RSP, 8, -8 } } },
    { "jmp_rel8", 2, { 0xeb, 0x10 }, SW_FLOW_JUMP, PC + 0x12, 0, { { 0 } } },
    { "jmp_indirect", 2, { 0xff, 0xe0 }, SW_FLOW_INDIRECT, 0, 1, { { SET, RIP, RAX, 8, 0 } } },
    { "jne", 2, { 0x75, 0xfe }, SW_FLOW_BRANCH, PC, 0, { { 0 } } },
    { "loop_counts_rcx", 2, { 0xe2, 0xfe }, SW_FLOW_BRANCH, PC, 1, { { SW_EFFECT_CLOBBER, NONE, NONE, 8, 1 << RCX } } },
    { "int3", 1, { 0xcc }, SW_FLOW_TRAP, 0, 0, { { 0 } } },
    { "ud2", 2, { 0x0f, 0x0b }, SW_FLOW_TRAP, 0, 0, { { 0 } } },
    { "hlt", 1, { 0xf4 }, SW_FLOW_TRAP, 0, 0, { { 0 } } },
    { "syscall_clobbers",
      2,
      { 0x0f, 0x05 },
      SW_FLOW_NEXT,
      0,
      1,
      { { SW_EFFECT_CLOBBER, NONE, NONE, 8, 1 << RCX | 1 << R11 } } },
    { "vzeroupper", 3, { 0xc5, 0xf8, 0x77 }, SW_FLOW_NEXT, 0, 0, { { 0 } } },
};

static void effects_are_as_stated(void **state)
{
    const struct row *row = *state;
    struct sw_insn insn;
    assert_int_equal(sw_x64_decode(row->bytes, row->size, PC, &insn), SW_OK);
    assert_int_equal(insn.length, row->size);
    assert_int_equal(insn.flow, row->flow);
    assert_int_equal(insn.target, row->target);
    assert_int_equal(insn.count, row->count);
    for (unsigned i = 0; i < row->count; i++) {
        assert_int_equal(insn.effects[i].kind, row->effects[i].kind);
        assert_int_equal(insn.effects[i].dst, row->effects[i].dst);
        assert_int_equal(insn.effects[i].src, row->effects[i].src);
        assert_int_equal(insn.effects[i].size, row->effects[i].size);
        assert_int_equal(insn.effects[i].imm, row->effects[i].imm);
    }
}

static void every_cut_of_every_row_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t size = 0; size < rows[i].size; size++) {
            struct sw_insn insn;
            if (sw_x64_decode(rows[i].bytes, size, PC, &insn) == SW_OK)
                assert_true(insn.length <= size); /* a prefix that is an instruction of its own */
        }
}

static void calls_are_found_in_front_of_return_addresses(void **state)
{
    static const struct {
        uint8_t size, bytes[8];
        bool is_call;
        uint64_t target, slot;
    } calls[] = {
        { 8, { 0x90, 0x90, 0x90, 0xe8, 0xfb, 0xff, 0xff, 0xff }, true, PC - 5, 0 },
        { 8, { 0x90, 0x90, 0xff, 0x15, 0x10, 0, 0, 0 }, true, 0, PC + 0x10 },
        { 8, { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0 }, true, 0, 0 },
        { 8, { 0x90, 0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd2 }, true, 0, 0 },
        { 2, { 0xff, 0xd0 }, true, 0, 0 },
        { 8, { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 }, false, 0, 0 },
        { 8, { 0xe8, 0, 0, 0, 0, 0x90, 0x90, 0x90 }, false, 0, 0 },
        { 1, { 0xc3 }, false, 0, 0 },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        uint64_t target = 1, slot = 1;
        assert_int_equal(sw_x64_call_before(calls[i].bytes, calls[i].size, PC, &target, &slot), calls[i].is_call);
        if (!calls[i].is_call)
            continue;
        assert_int_equal(target, calls[i].target);
        assert_int_equal(slot, calls[i].slot);
    }
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows) + 2] = { { 0 } };
    FILL_ROWS(tests, rows, effects_are_as_stated);
    tests[COUNT_OF(rows)] = (struct CMUnitTest)cmocka_unit_test(every_cut_of_every_row_is_refused);
    tests[COUNT_OF(rows) + 1] = (struct CMUnitTest)cmocka_unit_test(calls_are_found_in_front_of_return_addresses);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
