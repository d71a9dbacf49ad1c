/*
 * Where stacks end, on real ones of this process: the program's start, threads, contexts made by makecontext, and a
 * child of clone. With tables it is the root where glibc says so by an undefined return address, without them where the
 * code says so: both ways the same frame. What lies above it is garbage.
 */
#include "rows.h"
#include "host.h"

#include <snapwalk/image.h>
#include <snapwalk/self.h>

#include "unwind/infer/instructions.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK_BYTES = 1 << 18 };

static struct sw_images *images;
static struct sw_scratch scratch;

/* What a walk from inside came to. */
struct end {
    uint32_t flags;
    enum sw_stop stop;
    enum sw_status status;
    unsigned depth;
};

__attribute__((noinline)) static void look(struct end *end)
{
    struct sw_walker walker;
    struct sw_walk walk;
    struct sw_regs here;
    if (sw_self_walker(&walker, NULL, images) != SW_OK)
        return;
    walker.stack_begin = walker.stack_end = 0; /* the end must be told without knowing where the stack ends */
    walker.flags = end->flags;
    walker.budget = SW_WALK_BUDGET_UNLIMITED; /* the first walk through code without tables takes what it takes */
    sw_self_capture(&here);
    sw_walk_start(&walk, &walker, &scratch, &here, false);
    while (sw_walk_next(&walk))
        ;
    end->stop = walk.stop;
    end->status = walk.fault.status;
    end->depth = walk.depth;
}

__attribute__((noinline)) static void deeper(struct end *end, int levels)
{
    if (levels > 0)
        deeper(end, levels - 1);
    else
        look(end);
    __asm__ volatile("" ::: "memory"); /* no tail call: each level is a frame */
}

static void on_this_thread(struct end *end)
{
    deeper(end, 3);
}

static void *thread(void *end)
{
    deeper(end, 3);
    return NULL;
}

static void on_another_thread(struct end *end)
{
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, thread, end), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
}

static void *garbage(void)
{
    void *stack = malloc(STACK_BYTES);
    assert_non_null(stack);
    return memset(stack, 0x5a, STACK_BYTES);
}

static struct end *context_end;

static void context(void)
{
    deeper(context_end, 3);
}

static void on_a_made_context(struct end *end)
{
    ucontext_t made, back;
    void *stack = garbage();
    context_end = end;
    assert_int_equal(getcontext(&made), 0);
    made.uc_stack = (stack_t){ .ss_sp = stack, .ss_size = STACK_BYTES };
    made.uc_link = &back;
    makecontext(&made, context, 0);
    assert_int_equal(swapcontext(&back, &made), 0);
    free(stack);
}

#ifdef __x86_64__
/*
 * bare_start(function, argument, stack) runs the function on another stack, with rbp = 0 and zeros above. No table
 * covers it: the zeros are no end, since its instructions lead back to the stack that it came from.
 */
void bare_start(void (*function)(struct end *, int), struct end *end, void *stack);
__asm__(".text\n.type bare_start, @function\nbare_start:\n"
        "    push %rbp\n    push %rbx\n    mov %rsp, %rbx\n    mov %rdx, %rsp\n"
        "    mov %rdi, %rax\n    mov %rsi, %rdi\n    mov $3, %esi\n    xor %ebp, %ebp\n"
        "    push %rbp\n    push %rbp\n    call *%rax\n"
        "    mov %rbx, %rsp\n    pop %rbx\n    pop %rbp\n    ret\n.size bare_start, . - bare_start\n");

/*
 * made_up_start(function, argument, stack) jumps to the function on a made-up stack, which returns to what begins right
 * behind another function: the return address - 1 is in that one's table, which leads on over whatever is above.
 */
void made_up_start(void (*function)(struct end *, int), struct end *end, void *stack);
void come_back(void);
static jmp_buf back;
void come_back(void)
{
    longjmp(back, 1);
}
__asm__(
    ".text\n.type made_up_start, @function\nmade_up_start:\n"
    "    mov %rdx, %rsp\n    lea made_up_bottom(%rip), %rcx\n    push %rcx\n    mov %rdi, %rax\n"
    "    mov %rsi, %rdi\n    mov $3, %esi\n    jmp *%rax\n.size made_up_start, . - made_up_start\n"
    ".balign 16\n.type before_made_up, @function\nbefore_made_up:\n"
    "    .cfi_startproc\n    .fill 15, 1, 0x90\n    ret\n    .cfi_endproc\n.size before_made_up, . - before_made_up\n"
    ".type made_up_bottom, @function\nmade_up_bottom:\n"
    "    .cfi_startproc\n    mov %rbx, %rdi\n    call come_back\n    hlt\n    .cfi_endproc\n"
    ".size made_up_bottom, . - made_up_bottom\n");

static void on_a_made_up_stack(struct end *end)
{
    uint64_t *stack = garbage();
    for (size_t i = 0; i < STACK_BYTES / sizeof *stack; i++)
        stack[i] = (uint64_t)(uintptr_t)deeper + 8;
    if (setjmp(back) == 0)
        made_up_start(deeper, end, stack + STACK_BYTES / sizeof *stack - 64);
    free(stack);
}

static void on_a_bare_start(struct end *end)
{
    uint8_t *stack = calloc(1, STACK_BYTES);
    assert_non_null(stack);
    bare_start(deeper, end, stack + STACK_BYTES - 64);
    free(stack);
}
#endif

static bool child_was_here;

static int child(void *end)
{
    child_was_here = true;
    deeper(end, 3);
    return 0;
}

static void on_a_child_of_clone(struct end *end)
{
    uint8_t *stack = garbage();
    const int pid = clone(child, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, end);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    free(stack);
    HOST_NEEDS(child_was_here, "a clone that shares memory: emulators make a fork of CLONE_VFORK");
}

static const struct row {
    const char *name;
    void (*on)(struct end *end);
    unsigned depth; /* at least */
    bool is_made_by_hand;
} rows[] = {
    { "the_program_ends_at_its_start", on_this_thread, 8, false },
    { "a_thread_ends_in_clone3", on_another_thread, 7, false },
    { "a_child_of_clone_ends_in_clone", on_a_child_of_clone, 6, false },
    { "a_made_context_ends_at_its_start", on_a_made_context, 6, true },
#ifdef __x86_64__
    { "a_stack_made_up_ends_behind_a_function", on_a_made_up_stack, 6, true },
    { "a_switch_by_hand_is_no_end", on_a_bare_start, 11, true },
#endif
};

static void stack_ends(void **state)
{
    const struct row *row = *state;
    struct end with = { .flags = 0 };
    struct end without = { .flags = SW_WALK_NO_TABLES };
    /* Instrumented by AddressSanitizer, these functions are left by a guess without tables: a known defect. */
    HOST_NEEDS(!row->is_made_by_hand || !IS_ASAN, "code without AddressSanitizer");
    row->on(&with);
    row->on(&without);
    print_message("# %s after %u frames; without tables %s after %u\n", sw_stop_name(with.stop), with.depth,
                  sw_stop_name(without.stop), without.depth);
    assert_int_equal(with.stop, SW_STOP_ROOT);
    assert_int_equal(with.status, SW_OK);
    assert_true(with.depth >= row->depth);
    assert_int_equal(without.stop, SW_STOP_ROOT);
    assert_int_equal(without.depth, with.depth);
}

/* ---- a start that has behind it what it calls, as musl's ---- */

enum { BEGIN = 0x400000, CALLED = 12 };

static const uint8_t *fetch_start(void *arg, uint64_t pc, size_t *size)
{
    static const uint8_t code[32] = { 0x31, 0xed,                   /* xor ebp, ebp */
                                      0x48, 0x89, 0xe7,             /* mov rdi, rsp */
                                      0xe8, 0x02, 0x00, 0x00, 0x00, /* call what is behind */
                                      0x66, 0x90,                   /* filler */
                                      0x53, 0x90 };                 /* push rbx */
    (void)arg;
    if (pc < BEGIN || pc >= BEGIN + sizeof code)
        return NULL;
    *size = BEGIN + sizeof code - pc;
    return code + (pc - BEGIN);
}

static void what_the_start_calls_is_not_the_start(void **state)
{
    const struct sw_image_entry entry = { .info = { .begin = BEGIN, .end = BEGIN + 4096 }, .start = BEGIN };
    const struct sw_unwind_request req = { .entry = &entry };
    const struct sw_code code = { sw_arch_of(SW_MACHINE_X64), fetch_start, NULL, NULL };
    (void)state;
    for (uint64_t at = 0; at < CALLED; at++)
        assert_true(sw_is_program_start(&req, &code, BEGIN + at));
    assert_false(sw_is_program_start(&req, &code, BEGIN + CALLED));
    assert_false(sw_is_program_start(&req, &code, BEGIN + CALLED + 1));
}

/* ---- a start that has behind it what .init calls, as glibc's on ARM64 ---- */

enum { WEAK = 16, INIT = 28, BEHIND_INIT = INIT + 4 };

static void a_function_behind_the_start_has_a_caller(void **state)
{
    static const uint8_t bytes[64] = {
        0x1d, 0x00, 0x80, 0xd2, /* mov x29, #0 */
        0x1e, 0x00, 0x80, 0xd2, /* mov x30, #0 */
        0x00, 0x01, 0x00, 0x94, /* bl .+0x400 */
        0x00, 0x01, 0x00, 0x94, /* bl .+0x400: does not return */
        0x00, 0x00, 0x00, 0xd0, /* adrp x0, .+0x2000 */
        0x40, 0x00, 0x00, 0xb4, /* cbz x0, .+8 */
        0xc0, 0x03, 0x5f, 0xd6, /* ret */
        0xfd, 0xff, 0xff, 0x97  /* bl .-12 */
    };
    static struct sw_workspace work;
    const struct sw_image_entry entry = { .info = { .begin = BEGIN, .end = BEGIN + 4096 }, .start = BEGIN };
    const struct sw_walker walker = { .machine = SW_MACHINE_ARM64,
                                      .memory = { .window = { BEGIN, BEGIN + sizeof bytes, (uint8_t *)bytes } } };
    struct sw_frame frame = { .exact = true, .regs = { .machine = SW_MACHINE_ARM64 } };
    const struct sw_unwind_request req = { .walker = &walker, .work = &work, .frame = &frame, .entry = &entry };
    struct sw_candidate c;
    (void)state;
    sw_workspace_open(&work, &walker, true);
    work.meter.left = 1000;
    for (uint64_t pc = BEGIN; pc < BEGIN + INIT; pc += 4) {
        frame.lookup = pc;
        sw_regs_set(&frame.regs, SW_ARM64_PC, pc);
        sw_regs_set(&frame.regs, SW_ARM64_LR, BEGIN + BEHIND_INIT);
        assert_int_equal(sw_root_source(&req, &c), pc < BEGIN + WEAK ? SW_OK : SW_E_NO_RULE);
        sw_regs_set(&frame.regs, SW_ARM64_LR, BEGIN + WEAK);
        assert_int_equal(sw_root_source(&req, &c), pc < BEGIN + WEAK + 12 ? SW_OK : SW_E_NO_RULE);
    }
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows) + 2] = { cmocka_unit_test(what_the_start_calls_is_not_the_start),
                                                    cmocka_unit_test(a_function_behind_the_start_has_a_caller) };
    if (sw_images_create(NULL, &images) || sw_images_add_self(images))
        return 1;
    FILL_ROWS(tests + 2, rows, stack_ends);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sw_images_destroy(images);
    return failed;
}
