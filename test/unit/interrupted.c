/*
 * Code of this process that is interrupted where it hurts: at its entry, between the steps of its prologue and its
 * epilogue, in a leaf. A load from address 0 stands at each such place; the handler of its fault, on the thread's own
 * stack or on an alternate one, walks from the interrupted registers and from itself through the kernel's frame.
 * Whatever the place, what lies behind the interrupted function is the same: what its caller saw before, and what
 * glibc's backtrace says. On ARM64 the return address is signed in between, where the processor does that.
 */
#include "rows.h"
#include "host.h"

#include <snapwalk/context.h>
#include <snapwalk/image.h>
#include <snapwalk/self.h>

#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

enum { MOST = 64, NEAR = 512, ALTERNATE = 1 << 17, BY_CODE = 3, HANDLER = 4 };

void trapped_leaf(const int *nothing);
void trapped_frame(const int *nothing);
enum { LEAF_TRAPS = 1, FRAME_TRAPS = 8 };

/* clang-format off */
#if defined(__aarch64__)
#define TRAP " ldr w9, [x0]\n"
enum { TRAP_BYTES = 4 };
__asm__(".text\n .p2align 2\n .type trapped_leaf, %function\n"
        "trapped_leaf:\n .cfi_startproc\n hint #34\n"
        TRAP
        " ret\n"
        " .cfi_endproc\n .size trapped_leaf, . - trapped_leaf\n"
        " .type trapped_frame, %function\n"
        "trapped_frame:\n .cfi_startproc\n hint #34\n"
        TRAP
        " hint #25\n .cfi_negate_ra_state\n" /* paciasp */
        TRAP
        " stp x29, x30, [sp, #-32]!\n .cfi_def_cfa_offset 32\n .cfi_offset x29, -32\n .cfi_offset x30, -24\n"
        TRAP
        " mov x29, sp\n"
        TRAP
        " str x19, [sp, #16]\n .cfi_offset x19, -16\n mov x19, #0x1919\n"
        TRAP
        " ldr x19, [sp, #16]\n .cfi_restore x19\n"
        TRAP
        " ldp x29, x30, [sp], #32\n .cfi_restore x29\n .cfi_restore x30\n .cfi_def_cfa_offset 0\n"
        TRAP
        " hint #29\n .cfi_negate_ra_state\n" /* autiasp */
        TRAP
        " ret\n"
        " .cfi_endproc\n .size trapped_frame, . - trapped_frame\n");
#else
#define TRAP " movl (%rdi), %eax\n"
enum { TRAP_BYTES = 2 };
__asm__(".text\n .type trapped_leaf, @function\n"
        "trapped_leaf:\n .cfi_startproc\n endbr64\n"
        TRAP
        " ret\n"
        " .cfi_endproc\n .size trapped_leaf, . - trapped_leaf\n"
        " .type trapped_frame, @function\n"
        "trapped_frame:\n .cfi_startproc\n endbr64\n"
        TRAP
        " push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset %rbp, -16\n"
        TRAP
        " mov %rsp, %rbp\n .cfi_def_cfa_register %rbp\n"
        TRAP
        " push %rbx\n .cfi_offset %rbx, -24\n mov $0x1919, %ebx\n"
        TRAP
        " sub $24, %rsp\n"
        TRAP
        " add $24, %rsp\n"
        TRAP
        " pop %rbx\n .cfi_restore %rbx\n"
        TRAP
        " pop %rbp\n .cfi_restore %rbp\n .cfi_def_cfa %rsp, 8\n"
        TRAP
        " ret\n"
        " .cfi_endproc\n .size trapped_frame, . - trapped_frame\n");
#endif
/* clang-format on */

static const struct row {
    const char *name;
    void (*function)(const int *nothing);
    unsigned traps;
    uint32_t flags;
    bool on_alternate;
} rows[] = {
    { "leaf", trapped_leaf, LEAF_TRAPS, 0, false },
    { "leaf_from_an_alternate_stack", trapped_leaf, LEAF_TRAPS, 0, true },
    { "leaf_by_analysis", trapped_leaf, LEAF_TRAPS, SW_WALK_NO_TABLES, false },
    { "prologue_and_epilogue", trapped_frame, FRAME_TRAPS, 0, false },
    { "prologue_and_epilogue_from_an_alternate_stack", trapped_frame, FRAME_TRAPS, 0, true },
    { "prologue_and_epilogue_by_analysis", trapped_frame, FRAME_TRAPS, SW_WALK_NO_TABLES, false },
    { "prologue_and_epilogue_by_analysis_from_an_alternate_stack", trapped_frame, FRAME_TRAPS, SW_WALK_NO_TABLES,
      true },
};

struct frames {
    unsigned count;
    enum sw_stop stop;
    struct sw_regs regs[MOST];
    bool exact[MOST];
};

static struct sw_images *images;
static struct sw_walker walker;
static struct sw_scratch scratch;
static struct frames expected; /* of the caller, from itself on */
static struct frames seen[FRAME_TRAPS];
static struct frames within[FRAME_TRAPS]; /* from the handler */
static void *listed[FRAME_TRAPS][MOST];   /* by backtrace, from the handler */
static int list_sizes[FRAME_TRAPS];
static uint64_t interrupted[FRAME_TRAPS];
static unsigned traps;
static bool was_alternate;
static uint8_t alternate[ALTERNATE];

static __attribute__((noinline)) void walk_from(const struct sw_regs *start, bool exact, struct frames *frames)
{
    struct sw_walk walk;
    frames->count = 0;
    sw_walk_start(&walk, &walker, &scratch, start, exact);
    while (sw_walk_next(&walk) && frames->count < MOST) {
        frames->regs[frames->count] = walk.frame.regs;
        frames->exact[frames->count++] = walk.frame.exact;
    }
    frames->stop = walk.stop;
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    const uint8_t *here = __builtin_frame_address(0);
    struct sw_regs regs, own;
    (void)number, (void)info;
    if (traps == FRAME_TRAPS ||
        sw_context_load(SW_CONTEXT_UCONTEXT, walker.machine, context, sizeof(ucontext_t), &regs))
        abort();
    interrupted[traps] = sw_regs_pc(&regs);
    was_alternate = here >= alternate && here < alternate + ALTERNATE;
    walk_from(&regs, true, &seen[traps]);
    sw_self_capture(&own);
    walk_from(&own, false, &within[traps]);
    list_sizes[traps] = backtrace(listed[traps], MOST);
    traps++;
#if defined(__aarch64__)
    ((ucontext_t *)context)->uc_mcontext.pc += TRAP_BYTES;
#else
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += TRAP_BYTES;
#endif
}

static __attribute__((noinline)) void call(void (*function)(const int *nothing), uint32_t flags)
{
    struct sw_regs here;
    sw_self_capture(&here);
    walker.flags = 0;
    walk_from(&here, false, &expected);
    walker.flags = flags;
    walker.budget = SW_WALK_BUDGET_UNLIMITED; /* what is cut by it is not looked at here */
    walker.max_frames = flags ? HANDLER + BY_CODE : 0;
    function(NULL);
    walker.max_frames = 0;
    __asm__ volatile("" ::: "memory");
}

/*
 * The frames of `is` from `at` on: the caller, somewhat later than it saw itself, and behind it as they were: all by
 * tables, by instructions the first few, since those of libc's start need not lead on.
 */
static void is_as_expected(const struct frames *is, unsigned at, bool by_tables)
{
    const struct sw_regs *caller = &is->regs[at];
    const unsigned most = by_tables ? expected.count : BY_CODE;
    if (by_tables) {
        assert_int_equal(is->stop, expected.stop);
        assert_int_equal(is->count - at, expected.count);
    }
    assert_true(is->count - at >= most);
    assert_true(sw_regs_sp(caller) == sw_regs_sp(&expected.regs[0]));
    assert_true(sw_regs_pc(caller) - sw_regs_pc(&expected.regs[0]) < NEAR);
    assert_false(is->exact[at]);
    for (unsigned i = 1; i < most; i++) {
        const struct sw_regs *one = &is->regs[at + i], *other = &expected.regs[i];
        assert_true(sw_regs_pc(one) == sw_regs_pc(other) && sw_regs_sp(one) == sw_regs_sp(other));
        assert_true(sw_regs_fp(one) == sw_regs_fp(other));
    }
}

static unsigned exact_frame(const struct frames *frames)
{
    unsigned at = 0;
    while (at < frames->count && !frames->exact[at])
        at++;
    return at;
}

/* backtrace unwinds by the same tables with other code, gcc's. */
static void is_as_listed(unsigned trap, const struct frames *is, unsigned at)
{
    int first = 0;
    while (first < list_sizes[trap] && (uint64_t)(uintptr_t)listed[trap][first] != interrupted[trap])
        first++;
    assert_int_equal(list_sizes[trap] - first, is->count - at);
    for (unsigned i = at; i < is->count; i++)
        assert_true((uint64_t)(uintptr_t)listed[trap][(unsigned)first + i - at] == sw_regs_pc(&is->regs[i]));
}

static void set_handler(bool on_alternate, struct sigaction *before)
{
    const struct sigaction action = { .sa_sigaction = on_trap,
                                      .sa_flags = SA_SIGINFO | (on_alternate ? SA_ONSTACK : 0) };
    assert_int_equal(sigaction(SIGSEGV, &action, before), 0);
}

static void callers_are_the_same_at_every_trap(void **state)
{
    const struct row *row = *state;
    struct sigaction before;
    traps = 0;
    set_handler(row->on_alternate, &before);
    call(row->function, row->flags);
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    assert_int_equal(traps, row->traps);
    assert_int_equal(was_alternate, row->on_alternate);
    for (unsigned i = 0; i < traps; i++) {
        const unsigned at = exact_frame(&within[i]);
        assert_int_equal(sw_regs_pc(&seen[i].regs[0]), interrupted[i]);
        is_as_expected(&seen[i], 1, row->flags == 0);
        assert_true(at > 0 && at + 1 < within[i].count);
        assert_int_equal(sw_regs_pc(&within[i].regs[at]), interrupted[i]);
        is_as_expected(&within[i], at + 1, row->flags == 0);
        if (row->flags == 0)
            is_as_listed(i, &within[i], at);
    }
}

/* Frames of backtrace's own: AddressSanitizer wraps it. */
enum { WRAPPED = IS_ASAN };

/* The plainest walk: this function's own callers, beside what the compiler and backtrace say. */
static __attribute__((noinline)) void own_stack(unsigned depth, struct frames *frames, void **list, int *size)
{
    struct sw_regs here;
    if (depth > 0) {
        own_stack(depth - 1, frames, list, size);
    } else {
        sw_self_capture(&here);
        walk_from(&here, false, frames);
        *size = backtrace(list, MOST);
        assert_true(sw_regs_pc(&frames->regs[1]) ==
                    (uint64_t)(uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)));
    }
    __asm__ volatile("" ::: "memory");
}

static void own_stack_is_that_of_backtrace(void **state)
{
    static struct frames frames;
    void *list[MOST];
    int size = 0;
    (void)state;
    walker.flags = 0;
    own_stack(7, &frames, list, &size);
    assert_int_equal(frames.stop, SW_STOP_ROOT);
    assert_true(frames.count > 9);
    assert_int_equal(size, frames.count + WRAPPED);
    for (unsigned i = 1; i < frames.count; i++)
        assert_true((uint64_t)(uintptr_t)list[i + WRAPPED] == sw_regs_pc(&frames.regs[i]));
}

int main(void)
{
    const stack_t stack = { .ss_sp = alternate, .ss_size = sizeof alternate };
    struct CMUnitTest tests[COUNT_OF(rows) + 1];
    void *list[MOST];
    if (sw_images_create(NULL, &images) || backtrace(list, MOST) == 0 || /* loads gcc's unwinder */
        sw_images_add_self(images) || sw_self_walker(&walker, NULL, images) || sigaltstack(&stack, NULL))
        return 1;
    FILL_ROWS(tests, rows, callers_are_the_same_at_every_trap);
    tests[COUNT_OF(rows)] = (struct CMUnitTest)cmocka_unit_test(own_stack_is_that_of_backtrace);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sw_images_destroy(images);
    return failed;
}
