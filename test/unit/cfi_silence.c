/*
 * Hand-written code whose tables follow sp and say nothing of registers: runtimes' helpers push them all, a C library's
 * swapcontext writes one. Walks through such functions of this program must not claim what they overwrote.
 */
#include "rows.h"
#include "cached_twice.h"
#include "host.h"

#include <snapwalk/image.h>
#include <snapwalk/self.h>

#ifdef __x86_64__
enum { KEPT = 0x1234567 };

/* Puts KEPT into rbx and rbp, calls `through` with `back` as its argument; both and their table are in order. */
void with_rbx(void (*through)(void (*back)(void)), void (*back)(void));
/* Saves all, writes rbx; writes and restores rbx by a word that is not in the stack; touches nothing. All call `back`.
 * As Go's functions are: stores rbp and writes it; the same, on another stack. */
void saves_in_silence(void (*back)(void));
void writes_in_silence(void (*back)(void));
void touches_nothing(void (*back)(void));
void stores_in_silence(void (*back)(void));
void goes_elsewhere(void (*back)(void));
/* As Go's clone: a table that says nothing, and the places in it. */
void begins_thread(void);
void behind_clone(void);
void on_its_stack(void);
void in_between(void);
void behind_last(void);
void called_there(void);

__asm__(
    ".text\n"
    "with_rbx: .cfi_startproc\n"
    "push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbx, -16\n"
    "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbp, -24\n"
    "push %r12\n.cfi_adjust_cfa_offset 8\n.cfi_offset %r12, -32\n"
    "mov $0x1234567, %ebx\nmov %ebx, %ebp\nmov %rdi, %rax\nmov %rsi, %rdi\ncall *%rax\n"
    "pop %r12\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r12\n"
    "pop %rbp\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbp\n"
    "pop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\nret\n.cfi_endproc\n"
    "saves_in_silence: .cfi_startproc\n"
    "push %rbp\n.cfi_adjust_cfa_offset 8\npush %rbx\n.cfi_adjust_cfa_offset 8\npush %r12\n.cfi_adjust_cfa_offset 8\n"
    "lea -0x20(%rsp), %rsp\n.cfi_adjust_cfa_offset 32\n"
    "xor %ebx, %ebx\nxor %ebp, %ebp\nxor %r12d, %r12d\ncall *%rdi\n"
    "lea 0x20(%rsp), %rsp\n.cfi_adjust_cfa_offset -32\n"
    "pop %r12\n.cfi_adjust_cfa_offset -8\npop %rbx\n.cfi_adjust_cfa_offset -8\npop %rbp\n.cfi_adjust_cfa_offset -8\n"
    "ret\n.cfi_endproc\n"
    "writes_in_silence: .cfi_startproc\n"
    "lea -0x28(%rsp), %rsp\n.cfi_adjust_cfa_offset 40\n"
    "mov %rbx, elsewhere(%rip)\nxor %ebx, %ebx\ncall *%rdi\nmov elsewhere(%rip), %rbx\n"
    "lea 0x28(%rsp), %rsp\n.cfi_adjust_cfa_offset -40\nret\n.cfi_endproc\n"
    "touches_nothing: .cfi_startproc\n"
    "lea -0x28(%rsp), %rsp\n.cfi_adjust_cfa_offset 40\ncall *%rdi\n"
    "lea 0x28(%rsp), %rsp\n.cfi_adjust_cfa_offset -40\nret\n.cfi_endproc\n"
    "stores_in_silence: .cfi_startproc\n"
    "sub $0x18, %rsp\n.cfi_adjust_cfa_offset 24\nmov %rbp, 0x10(%rsp)\nlea 0x10(%rsp), %rbp\n"
    "call *%rdi\ncalled_there: mov 0x10(%rsp), %rbp\nadd $0x18, %rsp\n.cfi_adjust_cfa_offset -24\nret\n.cfi_endproc\n"
    "goes_elsewhere: .cfi_startproc\n"
    "sub $0x18, %rsp\n.cfi_adjust_cfa_offset 24\nmov %rbp, 0x10(%rsp)\nlea 0x10(%rsp), %rbp\n"
    "mov %rsp, %r12\nlea other_stack+0xff00(%rip), %rsp\ncall *%rdi\nmov %r12, %rsp\n"
    "mov 0x10(%rsp), %rbp\nadd $0x18, %rsp\n.cfi_adjust_cfa_offset -24\nret\n.cfi_endproc\n"
    "begins_thread: .cfi_startproc\n"
    "mov $56, %eax\nsyscall\nbehind_clone: cmp $0, %rax\nje 1f\nret\n"
    "1: mov %rsi, %rsp\non_its_stack: mov $186, %eax\nsyscall\ncall touches_nothing\nin_between: call *%r12\n"
    "behind_last: mov $111, %edi\nmov $60, %eax\nsyscall\nhlt\n.cfi_endproc\n"
    ".local elsewhere\n.comm elsewhere, 8, 8\n.local other_stack\n.comm other_stack, 0x10000, 16\n");

static struct sw_scratch scratch;
static struct sw_walker walker;
static struct sw_frame found; /* the frame of with_rbx */
static bool from_within;      /* walk again, from the function that calls `back`, as if it were executing */

static bool is_in_with_rbx(uint64_t pc)
{
    return pc - (uint64_t)(uintptr_t)with_rbx < (uint64_t)((uintptr_t)saves_in_silence - (uintptr_t)with_rbx);
}

/* The frame of with_rbx in `found`; before: the one above it. */
static void find(const struct sw_regs *start, bool exact, struct sw_regs *before)
{
    struct sw_walk walk;
    (void)walk_twice(&walker, start, exact);
    sw_walk_start(&walk, &walker, &scratch, start, exact);
    while (sw_walk_next(&walk) && !is_in_with_rbx(sw_regs_pc(&walk.frame.regs)))
        *before = walk.frame.regs;
    found = walk.frame;
}

static void look(void)
{
    struct sw_regs here, function;
    sw_self_capture(&here);
    find(&here, false, &function);
    if (from_within)
        find(&function, true, &here);
}

static const struct row {
    const char *name;
    void (*through)(void (*back)(void));
    bool is_executing, has_rbx, has_rbp;
    enum sw_source source;
} rows[] = {
    { "registers_pushed_in_silence_are_found_by_the_instructions", saves_in_silence, false, true, true, SW_SOURCE_CFI },
    { "where_it_executes_too", saves_in_silence, true, true, true, SW_SOURCE_CFI },
    { "a_register_written_in_silence_is_not_claimed", writes_in_silence, true, false, true, SW_SOURCE_CFI },
    { "a_register_that_nobody_writes_is", touches_nothing, true, true, true, SW_SOURCE_CFI },
    { "also_further_out", touches_nothing, false, true, true, SW_SOURCE_CFI },
    { "of_registers_stored_in_silence_only_rbp_is_claimed", stores_in_silence, false, false, true, SW_SOURCE_CFI },
    { "stored_in_silence_where_it_executes", stores_in_silence, true, false, true, SW_SOURCE_CFI },
    { "another_stack_that_is_not_told_is_seen", goes_elsewhere, false, true, true, SW_SOURCE_FORWARD },
    { "another_stack_where_it_executes", goes_elsewhere, true, true, true, SW_SOURCE_FORWARD },
};

static void check_register(unsigned number, bool is_known)
{
    assert_int_equal(sw_regs_has(&found.regs, number), is_known);
    if (is_known)
        assert_int_equal(found.regs.r[number], KEPT);
}

static void silence_is_held_against_the_code(void **state)
{
    const struct row *row = *state;
    struct sw_images *images;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_int_equal(sw_self_walker(&walker, NULL, images), SW_OK);
    walker.stack_begin = walker.stack_end = 0; /* one of them goes elsewhere */
    found = (struct sw_frame){ 0 };
    from_within = row->is_executing;
    with_rbx(row->through, look);
    assert_true(is_in_with_rbx(sw_regs_pc(&found.regs)));
    assert_int_equal(found.source, row->source);
    check_register(SW_X64_RBX, row->has_rbx);
    check_register(SW_X64_RBP, row->has_rbp);
    sw_images_destroy(images);
}

/* ---- where a thread begins ---- */

/* The word above its stack, another's, looks like a return address. has_moved: sp is what clone was given. */
static const struct beginning {
    void (*at)(void);
    bool is_executing, has_moved, is_root;
} beginnings[] = {
    { behind_clone, true, false, false }, /* first in the parent, so that nothing is kept of it for the child */
    { behind_clone, true, true, true },   { behind_clone, true, false, false }, { on_its_stack, true, true, true },
    { in_between, false, false, true },   { in_between, true, true, true },     { behind_last, false, false, true },
};

static void a_thread_begins_whatever_lies_above(void **state)
{
    struct sw_images *images;
    struct sw_walk walk;
    const uint64_t above = (uint64_t)(uintptr_t)called_there;
    uint64_t words[8];
    (void)state;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        words[i] = above;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_int_equal(sw_self_walker(&walker, NULL, images), SW_OK);
    assert_int_equal(sw_cache_create(NULL, 64, &walker.cache), SW_OK);
    walker.stack_begin = walker.stack_end = 0;
    for (size_t i = 0; i < 2 * COUNT_OF(beginnings); i++) {
        const struct beginning *b = &beginnings[i % COUNT_OF(beginnings)];
        struct sw_regs regs = { .machine = SW_MACHINE_X64 };
        const uint64_t sp = (uint64_t)(uintptr_t)words;
        sw_regs_set(&regs, SW_X64_RIP, (uint64_t)(uintptr_t)b->at);
        sw_regs_set(&regs, SW_X64_RSP, sp);
        sw_regs_set(&regs, SW_X64_RSI, b->has_moved ? sp : sp - 4096);
        sw_walk_start(&walk, &walker, &scratch, &regs, b->is_executing);
        assert_true(sw_walk_next(&walk));
        assert_int_equal(sw_walk_next(&walk), !b->is_root);
        assert_true(!b->is_root || walk.stop == SW_STOP_ROOT);
    }
    sw_cache_destroy(walker.cache);
    sw_images_destroy(images);
}

static struct sw_cache *cache;
static uint64_t uncacheable;

/* The rules that are not kept when the way to with_rbx is gone for the first time. */
static void count(void)
{
    struct sw_regs here;
    struct sw_walk walk;
    sw_self_capture(&here);
    sw_walk_start(&walk, &walker, &scratch, &here, false);
    while (sw_walk_next(&walk) && !is_in_with_rbx(sw_regs_pc(&walk.frame.regs)))
        continue;
    uncacheable = sw_cache_get_counts(cache).uncacheable;
}

/* Where table and instructions find the caller in the same way, on any stack, the rule is kept. */
static void what_the_code_alone_tells_is_kept(void **state)
{
    (void)state;
    struct sw_images *images;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_int_equal(sw_cache_create(NULL, 1024, &cache), SW_OK);
    assert_int_equal(sw_self_walker(&walker, NULL, images), SW_OK);
    walker.cache = cache;
    with_rbx(saves_in_silence, count);
    assert_int_equal(uncacheable, 0);
    sw_cache_destroy(cache);
    sw_images_destroy(images);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows) + 2];
    FILL_ROWS(tests, rows, silence_is_held_against_the_code);
    tests[COUNT_OF(rows)] = (struct CMUnitTest)cmocka_unit_test(what_the_code_alone_tells_is_kept);
    tests[COUNT_OF(rows) + 1] = (struct CMUnitTest)cmocka_unit_test(a_thread_begins_whatever_lies_above);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
MAIN_THAT_NEEDS_X64
#endif
