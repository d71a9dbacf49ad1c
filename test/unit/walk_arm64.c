/*
 * Walks from instructions at which a way forward to a return tells nothing or lies: the first entry of a PLT, code that
 * never returns, lr left by a call that the function itself made. No tables, no bounds: memory alone.
 */
#include "rows.h"
#include <snapwalk/walk.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { CODE = 0x10000, STACK = 0x80000, WORDS = 32, CALLER = CODE + 8, GARBAGE = 0x0badf00d };

/* Every piece of code begins with the caller: nop; bl to the fifth word; nop; nop. Its frame begins at the 16th stack
 * word. */
static const struct row {
    const char *name;
    uint32_t code[12];
    unsigned at;       /* the word that is executing */
    unsigned depth;    /* bytes of stack in use below the caller's */
    unsigned saved_at; /* where the return address lies, below the caller's sp; 0: in lr */
    uint64_t lr;
} rows[] = {
    { "first_plt_entry_before_its_push",
      { 0xd503201f, 0x94000003, 0xd503201f, 0xd503201f, 0xa9bf7bf0, 0x90000bd0, 0xf947fe11, 0x913fe210, 0xd61f0220 },
      4,
      0,
      0,
      CALLER },
    { "first_plt_entry_at_its_landing_pad",
      { 0xd503201f, 0x94000003, 0xd503201f, 0xd503201f, 0xd503245f, 0xa9bf7bf0, 0x90000bd0, 0xf947fe11, 0x913fe210,
        0xd61f0220 },
      4,
      0,
      0,
      CALLER },
    { "first_plt_entry_behind_its_push",
      { 0xd503201f, 0x94000003, 0xd503201f, 0xd503201f, 0xa9bf7bf0, 0x90000bd0, 0xf947fe11, 0x913fe210, 0xd61f0220 },
      5,
      16,
      8,
      CALLER },
    { "first_plt_entry_at_its_jump",
      { 0xd503201f, 0x94000003, 0xd503201f, 0xd503201f, 0xa9bf7bf0, 0x90000bd0, 0xf947fe11, 0x913fe210, 0xd61f0220 },
      8,
      16,
      8,
      CALLER },
    /* f: b f */
    { "code_that_never_returns_has_its_caller_in_lr",
      { 0xd503201f, 0x94000003, 0xd503201f, 0xd503201f, 0x14000000 },
      4,
      0,
      0,
      CALLER },
    /* f: stp x29, x30, [sp, #-16]!; mov x29, sp; b . */
    { "code_that_never_returns_in_its_prologue",
      { 0xd503201f, 0x94000003, 0xd503201f, 0xd503201f, 0xa9bf7bfd, 0x910003fd, 0x14000000 },
      5,
      16,
      8,
      CALLER },
    /* f: stp x29, x30, [sp, #-16]!; mov x29, sp; blr x8; nop; br x9 */
    { "lr_left_by_an_own_call_is_none_to_return_by",
      { 0xd503201f, 0x94000003, 0xd503201f, 0xd503201f, 0xa9bf7bfd, 0x910003fd, 0xd63f0100, 0xd503201f, 0xd61f0120 },
      7,
      16,
      8,
      CODE + 28 },
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
    const struct sw_walker walker = { .machine = SW_MACHINE_ARM64,
                                      .memory = { .read = read_memory, .arg = &row },
                                      .stack_begin = STACK,
                                      .stack_end = STACK + sizeof stack,
                                      .flags = SW_WALK_NO_TABLES };
    struct sw_regs regs = { .machine = SW_MACHINE_ARM64 };
    struct sw_walk walk;
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
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows)];
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        tests[i] = (struct CMUnitTest){ rows[i].name, the_caller_is_found, NULL, NULL, (void *)(uintptr_t)&rows[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
