/*
 * Walks from instructions at which a way forward to a return tells nothing or lies: the first entry of a PLT, code that
 * never returns, lr left by a call that the function itself made. No tables, no bounds: memory alone.
 */
#include "rows.h"
#include <snapwalk/codemap.h>
#include <snapwalk/walk.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { CODE = 0x10000, STACK = 0x80000, WORDS = 32, CALLER = CODE + 8, GARBAGE = 0x0badf00d, STUB_WORK = 100 };

/* Every piece of code begins with the caller: nop; bl to the fifth word; nop; nop. Its frame begins at the 16th stack
 * word. */
static const struct row {
    const char *name;
    uint32_t code[16];
    unsigned at;       /* the word that is executing */
    unsigned depth;    /* bytes of stack in use below the caller's */
    unsigned saved_at; /* where the return address lies, below the caller's sp; 0: in lr */
    uint64_t lr;
    bool caller_has_range, is_stub; /* a stub costs little, and is no guess */
} rows[] = {
    { "first_plt_entry_before_its_push",
      { 0xd503201f, 0x94000003, 0xd503201f, 0xd503201f, 0xa9bf7bf0, 0x90000bd0, 0xf947fe11, 0x913fe210, 0xd61f0220 },
      4,
      0,
      0,
      CALLER,
      false,
      false },
    { "first_plt_entry_at_its_landing_pad",
      { 0xd503201f, 0x94000003, 0xd503201f, 0xd503201f, 0xd503245f, 0xa9bf7bf0, 0x90000bd0, 0xf947fe11, 0x913fe210,
        0xd61f0220 },
      4,
      0,
      0,
      CALLER,
      false,
      false },
    { "first_plt_entry_behind_its_push",
      { 0xd503201f, 0x94000003, 0xd503201f, 0xd503201f, 0xa9bf7bf0, 0x90000bd0, 0xf947fe11, 0x913fe210, 0xd61f0220 },
      5,
      16,
      8,
      CALLER,
      false,
      false },
    { "first_plt_entry_at_its_jump",
      { 0xd503201f, 0x94000003, 0xd503201f, 0xd503201f, 0xa9bf7bf0, 0x90000bd0, 0xf947fe11, 0x913fe210, 0xd61f0220 },
      8,
      16,
      8,
      CALLER,
      false,
      false },
    /* f: b f */
    { "code_that_never_returns_has_its_caller_in_lr",
      { 0xd503201f, 0x94000003, 0xd503201f, 0xd503201f, 0x14000000 },
      4,
      0,
      0,
      CALLER,
      false,
      false },
    /* f: stp x29, x30, [sp, #-16]!; mov x29, sp; b . */
    { "code_that_never_returns_in_its_prologue",
      { 0xd503201f, 0x94000003, 0xd503201f, 0xd503201f, 0xa9bf7bfd, 0x910003fd, 0x14000000 },
      5,
      16,
      8,
      CALLER,
      false,
      false },
    /* f: stp x29, x30, [sp, #-16]!; mov x29, sp; blr x8; nop; br x9 */
    { "lr_left_by_an_own_call_is_none_to_return_by",
      { 0xd503201f, 0x94000003, 0xd503201f, 0xd503201f, 0xa9bf7bfd, 0x910003fd, 0xd63f0100, 0xd503201f, 0xd61f0120 },
      7,
      16,
      8,
      CODE + 28,
      false,
      false },
    /*
     * Stubs of CoreCLR, which managed code calls through a register, and does not run into. Precode: ldr x11, literal;
     * br x11; dmb ishld; ldr x12, literal; ldr x11, literal; br x11. Call counting: ldr x9, literal; ldrh w10, [x9];
     * subs w10, w10, #1; strh w10, [x9]; b.eq past the jump; ldr x9, literal; br x9; ldr x10, literal; br x10. Virtual
     * calls: ldr x9, [x0]; ldr x9, [x9, #104]; ldr x9, [x9, #16]; br x9.
     */
    { "precode_at_its_load",
      { 0xd503201f, 0xd63f0100, 0xd503201f, 0x14000000, 0x5802000b, 0xd61f0160, 0xd50339bf, 0x5801ffec, 0x5802000b,
        0xd61f0160 },
      4,
      0,
      0,
      CALLER,
      false,
      true },
    { "precode_at_its_jump",
      { 0xd503201f, 0xd63f0100, 0xd503201f, 0x14000000, 0x5802000b, 0xd61f0160, 0xd50339bf, 0x5801ffec, 0x5802000b,
        0xd61f0160 },
      5,
      0,
      0,
      CALLER,
      false,
      true },
    { "precode_at_its_second_way",
      { 0xd503201f, 0xd63f0100, 0xd503201f, 0x14000000, 0x5802000b, 0xd61f0160, 0xd50339bf, 0x5801ffec, 0x5802000b,
        0xd61f0160 },
      6,
      0,
      0,
      CALLER,
      false,
      true },
    { "precode_at_the_jump_of_its_second_way",
      { 0xd503201f, 0xd63f0100, 0xd503201f, 0x14000000, 0x5802000b, 0xd61f0160, 0xd50339bf, 0x5801ffec, 0x5802000b,
        0xd61f0160 },
      9,
      0,
      0,
      CALLER,
      false,
      true },
    { "call_counting_stub_0",
      { 0xd503201f, 0xd63f0100, 0xd503201f, 0x14000000, 0x58020009, 0x7940012a, 0x7100054a, 0x7900012a, 0x54000060,
        0x5801ffa9, 0xd61f0120, 0x5801ffaa, 0xd61f0140 },
      4,
      0,
      0,
      CALLER,
      false,
      true },
    { "call_counting_stub_1",
      { 0xd503201f, 0xd63f0100, 0xd503201f, 0x14000000, 0x58020009, 0x7940012a, 0x7100054a, 0x7900012a, 0x54000060,
        0x5801ffa9, 0xd61f0120, 0x5801ffaa, 0xd61f0140 },
      5,
      0,
      0,
      CALLER,
      false,
      true },
    { "call_counting_stub_2",
      { 0xd503201f, 0xd63f0100, 0xd503201f, 0x14000000, 0x58020009, 0x7940012a, 0x7100054a, 0x7900012a, 0x54000060,
        0x5801ffa9, 0xd61f0120, 0x5801ffaa, 0xd61f0140 },
      6,
      0,
      0,
      CALLER,
      false,
      true },
    { "call_counting_stub_3",
      { 0xd503201f, 0xd63f0100, 0xd503201f, 0x14000000, 0x58020009, 0x7940012a, 0x7100054a, 0x7900012a, 0x54000060,
        0x5801ffa9, 0xd61f0120, 0x5801ffaa, 0xd61f0140 },
      7,
      0,
      0,
      CALLER,
      false,
      true },
    { "call_counting_stub_4",
      { 0xd503201f, 0xd63f0100, 0xd503201f, 0x14000000, 0x58020009, 0x7940012a, 0x7100054a, 0x7900012a, 0x54000060,
        0x5801ffa9, 0xd61f0120, 0x5801ffaa, 0xd61f0140 },
      8,
      0,
      0,
      CALLER,
      false,
      true },
    { "call_counting_stub_5",
      { 0xd503201f, 0xd63f0100, 0xd503201f, 0x14000000, 0x58020009, 0x7940012a, 0x7100054a, 0x7900012a, 0x54000060,
        0x5801ffa9, 0xd61f0120, 0x5801ffaa, 0xd61f0140 },
      9,
      0,
      0,
      CALLER,
      false,
      true },
    { "call_counting_stub_6",
      { 0xd503201f, 0xd63f0100, 0xd503201f, 0x14000000, 0x58020009, 0x7940012a, 0x7100054a, 0x7900012a, 0x54000060,
        0x5801ffa9, 0xd61f0120, 0x5801ffaa, 0xd61f0140 },
      10,
      0,
      0,
      CALLER,
      false,
      true },
    { "call_counting_stub_7",
      { 0xd503201f, 0xd63f0100, 0xd503201f, 0x14000000, 0x58020009, 0x7940012a, 0x7100054a, 0x7900012a, 0x54000060,
        0x5801ffa9, 0xd61f0120, 0x5801ffaa, 0xd61f0140 },
      11,
      0,
      0,
      CALLER,
      false,
      true },
    { "call_counting_stub_8",
      { 0xd503201f, 0xd63f0100, 0xd503201f, 0x14000000, 0x58020009, 0x7940012a, 0x7100054a, 0x7900012a, 0x54000060,
        0x5801ffa9, 0xd61f0120, 0x5801ffaa, 0xd61f0140 },
      12,
      0,
      0,
      CALLER,
      false,
      true },
    { "virtual_call_stub_0",
      { 0xd503201f, 0xd63f0100, 0xd503201f, 0x14000000, 0xf9400009, 0xf9403529, 0xf9400929, 0xd61f0120 },
      4,
      0,
      0,
      CALLER,
      true,
      true },
    { "virtual_call_stub_1",
      { 0xd503201f, 0xd63f0100, 0xd503201f, 0x14000000, 0xf9400009, 0xf9403529, 0xf9400929, 0xd61f0120 },
      5,
      0,
      0,
      CALLER,
      true,
      true },
    { "virtual_call_stub_2",
      { 0xd503201f, 0xd63f0100, 0xd503201f, 0x14000000, 0xf9400009, 0xf9403529, 0xf9400929, 0xd61f0120 },
      6,
      0,
      0,
      CALLER,
      true,
      true },
    { "virtual_call_stub_3",
      { 0xd503201f, 0xd63f0100, 0xd503201f, 0x14000000, 0xf9400009, 0xf9403529, 0xf9400929, 0xd61f0120 },
      7,
      0,
      0,
      CALLER,
      true,
      true },
    { "function_behind_a_stub_in_its_body",
      { 0xd503201f, 0xd63f0100, 0xd503201f, 0x14000000, 0x5802000b, 0xd61f0160, 0xa9bf7bfd, 0x910003fd, 0xa8c17bfd,
        0xd65f03c0 },
      7,
      16,
      8,
      CALLER,
      false,
      false },
    { "function_behind_a_stub_at_its_return",
      { 0xd503201f, 0xd63f0100, 0xd503201f, 0x14000000, 0x5802000b, 0xd61f0160, 0xa9bf7bfd, 0x910003fd, 0xa8c17bfd,
        0xd65f03c0 },
      9,
      0,
      0,
      CALLER,
      false,
      false },
};

static uint64_t stack[WORDS];

static size_t read_memory(void *arg, uint64_t address, void *to, size_t size)
{
    const struct row *row = arg;
    const struct {
        uint64_t begin;
        const void *bytes;
        size_t size;
    } parts[] = { { CODE, row->code, sizeof row->code }, { STACK, stack, sizeof stack } };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const uint64_t at = address - parts[i].begin;
        if (at >= parts[i].size)
            continue;
        const size_t got = size < parts[i].size - at ? size : (size_t)(parts[i].size - at);
        memcpy(to, (const char *)parts[i].bytes + at, got);
        return got;
    }
    return 0;
}

static void the_caller_is_found(void **state)
{
    static struct sw_scratch scratch;
    struct row row = *(const struct row *)*state;
    const uint64_t caller_sp = STACK + 16 * 8;
    const struct sw_range range = { CODE, CODE + 16, CODE, 0, SW_KIND_JIT, SW_UNWIND_AUTO, 0 };
    struct sw_regs regs = { .machine = SW_MACHINE_ARM64 };
    struct sw_codemap *map;
    struct sw_walk walk;
    assert_int_equal(sw_codemap_create(NULL, &map), SW_OK);
    if (row.caller_has_range)
        assert_int_equal(sw_codemap_add(map, &range), SW_OK);
    const struct sw_walker walker = { .machine = SW_MACHINE_ARM64,
                                      .memory = { .read = read_memory, .arg = &row },
                                      .codemap = map,
                                      .stack_begin = STACK,
                                      .stack_end = STACK + sizeof stack,
                                      .flags = SW_WALK_NO_TABLES };
    for (unsigned n = 0; n < WORDS; n++)
        stack[n] = GARBAGE + n;
    if (row.saved_at)
        stack[16 - row.saved_at / 8] = CALLER;
    for (unsigned n = 0; n < SW_ARM64_SP; n++)
        sw_regs_set(&regs, n, GARBAGE);
    sw_regs_set(&regs, SW_ARM64_LR, row.lr);
    sw_regs_set(&regs, SW_ARM64_SP, caller_sp - row.depth);
    sw_regs_set(&regs, SW_ARM64_PC, CODE + 4 * row.at);
    sw_walk_start(&walk, &walker, &scratch, &regs, true);
    assert_true(sw_walk_next(&walk));
    assert_true(sw_walk_next(&walk));
    assert_int_equal(sw_regs_pc(&walk.frame.regs), CALLER);
    assert_int_equal(sw_regs_sp(&walk.frame.regs), caller_sp);
    if (row.is_stub) {
        assert_int_equal(walk.frame.trust, SW_TRUST_LIKELY);
        assert_in_range(walk.work, 0, STUB_WORK);
    }
    sw_codemap_destroy(map);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows)];
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        tests[i] = (struct CMUnitTest){ rows[i].name, the_caller_is_found, NULL, NULL, (void *)(uintptr_t)&rows[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
