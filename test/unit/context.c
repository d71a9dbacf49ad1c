/*
 * Register records: every offset against the published layout, those of the machine that this runs on also against the
 * operating system's own headers, and every conversion against sizes that do not fit.
 */
#include "rows.h"
#include <snapwalk/context.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <ucontext.h>
#include <unistd.h>
#include <cmocka.h>

enum { ROOM = 5000 };

static struct sw_regs distinct(enum sw_machine machine)
{
    struct sw_regs regs = { .machine = machine };
    for (unsigned n = 0; n < sw_regs_count(machine); n++)
        sw_regs_set(&regs, n, UINT64_C(0x1122334455660000) * (n + 1) + n);
    return regs;
}

/* clang-format off */
struct place { const char *name; enum sw_context_form form; enum sw_machine machine; unsigned number; size_t offset; };
#define X64 SW_MACHINE_X64
#define A64 SW_MACHINE_ARM64
#define WIN(reg, off) { "win32_x64_" #reg, SW_CONTEXT_WIN32, X64, SW_X64_##reg, off }
#define A64_PLACES(tag, form, x0, x19, x28, fp, lr, sp, pc) \
    { tag "_x0", form, A64, 0, x0 }, { tag "_x19", form, A64, 19, x19 }, { tag "_x28", form, A64, 28, x28 }, \
    { tag "_fp", form, A64, 29, fp }, { tag "_lr", form, A64, 30, lr }, { tag "_sp", form, A64, 31, sp }, \
    { tag "_pc", form, A64, 32, pc }
#ifdef __x86_64__
#define LINUX(reg, field, greg) \
    { "ucontext_x64_" #reg, SW_CONTEXT_UCONTEXT, X64, SW_X64_##reg, \
      offsetof(ucontext_t, uc_mcontext.gregs) + sizeof(greg_t) * greg }, \
    { "user_regs_x64_" #reg, SW_CONTEXT_USER_REGS, X64, SW_X64_##reg, offsetof(struct user_regs_struct, field) }, \
    { "prstatus_x64_" #reg, SW_CONTEXT_PRSTATUS, X64, SW_X64_##reg, \
      offsetof(struct elf_prstatus, pr_reg) + offsetof(struct user_regs_struct, field) }
#elif defined(__aarch64__)
#define LINUX(name, number, mfield, field) \
    { "ucontext_arm64_" name "_of_the_headers", SW_CONTEXT_UCONTEXT, A64, number, \
      offsetof(ucontext_t, uc_mcontext.mfield) }, \
    { "user_regs_arm64_" name "_of_the_headers", SW_CONTEXT_USER_REGS, A64, number, \
      offsetof(struct user_regs_struct, field) }, \
    { "prstatus_arm64_" name "_of_the_headers", SW_CONTEXT_PRSTATUS, A64, number, \
      offsetof(struct elf_prstatus, pr_reg) + offsetof(struct user_regs_struct, field) }
#endif

static const struct place places[] = {
    /* Win32 CONTEXT, corprof-abi.md 8.2 */
    WIN(RAX, 0x78), WIN(RCX, 0x80), WIN(RDX, 0x88), WIN(RBX, 0x90), WIN(RSP, 0x98), WIN(RBP, 0xa0), WIN(RSI, 0xa8),
    WIN(RDI, 0xb0), WIN(R8, 0xb8), WIN(R9, 0xc0), WIN(R10, 0xc8), WIN(R11, 0xd0), WIN(R12, 0xd8), WIN(R13, 0xe0),
    WIN(R14, 0xe8), WIN(R15, 0xf0), WIN(RIP, 0xf8),
    /* ARM64: contexts.md 2, 4, 5, 6, 9 */
    A64_PLACES("win32_arm64", SW_CONTEXT_WIN32, 8, 160, 232, 0xf0, 0xf8, 0x100, 0x108),
    A64_PLACES("ucontext_arm64", SW_CONTEXT_UCONTEXT, 184, 336, 408, 416, 424, 432, 440),
    A64_PLACES("user_regs_arm64", SW_CONTEXT_USER_REGS, 0, 152, 224, 232, 240, 248, 256),
    A64_PLACES("prstatus_arm64", SW_CONTEXT_PRSTATUS, 112, 264, 336, 344, 352, 360, 368),
#ifdef __x86_64__
    LINUX(RAX, rax, REG_RAX), LINUX(RCX, rcx, REG_RCX), LINUX(RDX, rdx, REG_RDX), LINUX(RBX, rbx, REG_RBX),
    LINUX(RSP, rsp, REG_RSP), LINUX(RBP, rbp, REG_RBP), LINUX(RSI, rsi, REG_RSI), LINUX(RDI, rdi, REG_RDI),
    LINUX(R8, r8, REG_R8), LINUX(R9, r9, REG_R9), LINUX(R10, r10, REG_R10), LINUX(R11, r11, REG_R11),
    LINUX(R12, r12, REG_R12), LINUX(R13, r13, REG_R13), LINUX(R14, r14, REG_R14), LINUX(R15, r15, REG_R15),
    LINUX(RIP, rip, REG_RIP),
#elif defined(__aarch64__)
    LINUX("x0", 0, regs[0], regs[0]), LINUX("x19", 19, regs[19], regs[19]), LINUX("x28", 28, regs[28], regs[28]),
    LINUX("fp", 29, regs[29], regs[29]), LINUX("lr", 30, regs[30], regs[30]), LINUX("sp", 31, sp, sp),
    LINUX("pc", 32, pc, pc),
#endif
};
/* clang-format on */

/* One register alone in an all-zero record: stored at its place, nothing else touched, and read back from there. */
static void register_is_at_its_place(void **state)
{
    const struct place *p = *state;
    const uint64_t value = UINT64_C(0xfedcba9876543210);
    const size_t size = sw_context_size(p->form, p->machine);
    struct sw_regs regs = { .machine = p->machine };
    uint8_t record[ROOM], expected[ROOM] = { 0 };
    sw_regs_set(&regs, p->number, value);
    assert_int_equal(sw_context_store(p->form, &regs, record, size), SW_OK);
    memcpy(expected + p->offset, &value, sizeof value);
    if (p->form == SW_CONTEXT_WIN32)
        memcpy(expected + (p->machine == X64 ? 0x30 : 0), record + (p->machine == X64 ? 0x30 : 0), 4);
    assert_memory_equal(record, expected, size);
    assert_int_equal(sw_context_load(p->form, p->machine, record, size, &regs), SW_OK);
    assert_int_equal(regs.r[p->number], value);
}

static const struct form_row {
    const char *name;
    enum sw_context_form form;
    enum sw_machine machine;
    size_t size, needed;
} form_rows[] = {
    { "win32_x64", SW_CONTEXT_WIN32, X64, SW_CONTEXT_X64_BYTES, 0x100 },
    { "win32_arm64", SW_CONTEXT_WIN32, A64, SW_CONTEXT_ARM64_BYTES, 0x110 },
    { "ucontext_x64", SW_CONTEXT_UCONTEXT, X64, 304, 176 },
    { "ucontext_arm64", SW_CONTEXT_UCONTEXT, A64, 4560, 448 },
    { "user_regs_x64", SW_CONTEXT_USER_REGS, X64, 216, 160 },
    { "user_regs_arm64", SW_CONTEXT_USER_REGS, A64, 272, 264 },
    { "prstatus_x64", SW_CONTEXT_PRSTATUS, X64, 336, 272 },
    { "prstatus_arm64", SW_CONTEXT_PRSTATUS, A64, 392, 376 },
};

static void sizes_are_those_of_the_format(void **state)
{
    const struct form_row *row = *state;
    assert_int_equal(sw_context_size(row->form, row->machine), row->size);
    assert_int_equal(sw_context_needed(row->form, row->machine), row->needed);
}

static void what_is_stored_loads_back(void **state)
{
    const struct form_row *row = *state;
    const struct sw_regs regs = distinct(row->machine);
    uint8_t record[ROOM];
    struct sw_regs back;
    memset(&back, 0x5a, sizeof back);
    assert_int_equal(sw_context_store(row->form, &regs, record, row->size), SW_OK);
    assert_int_equal(sw_context_load(row->form, row->machine, record, row->needed, &back), SW_OK);
    assert_memory_equal(&back, &regs, sizeof regs);
}

static void every_smaller_size_is_truncated(void **state)
{
    const struct form_row *row = *state;
    const struct sw_regs regs = distinct(row->machine);
    struct sw_regs back = regs;
    /* No byte behind the record exists, so a read or write too far is seen by the sanitizer. */
    for (size_t size = 0; size < row->needed; size++) {
        uint8_t *record = test_calloc(1, size + 1);
        assert_int_equal(sw_context_load(row->form, row->machine, record, size, &back), SW_E_TRUNCATED);
        test_free(record);
    }
    assert_memory_equal(&back, &regs, sizeof regs);
    uint8_t record[ROOM], untouched[ROOM];
    memset(record, 0xa5, sizeof record);
    memset(untouched, 0xa5, sizeof untouched);
    for (size_t size = 0; size < row->size; size++)
        assert_int_equal(sw_context_store(row->form, &regs, record, size), SW_E_TRUNCATED);
    assert_memory_equal(record, untouched, sizeof record);
}

static void load_reads_only_what_it_needs(void **state)
{
    const struct form_row *row = *state;
    uint8_t *record = test_calloc(1, row->needed);
    struct sw_regs regs;
    memset(record, 0x11, row->needed);
    assert_int_equal(sw_context_load(row->form, row->machine, record, row->needed, &regs), SW_OK);
    assert_int_equal(regs.known, (UINT64_C(1) << sw_regs_count(row->machine)) - 1);
    assert_int_equal(sw_regs_pc(&regs), UINT64_C(0x1111111111111111));
    test_free(record);
}

static void larger_records_are_cleared_to_their_end(void **state)
{
    const struct form_row *row = *state;
    const struct sw_regs regs = distinct(row->machine);
    uint8_t record[ROOM];
    const uint8_t zeros[ROOM] = { 0 };
    memset(record, 0xa5, sizeof record);
    assert_int_equal(sw_context_store(row->form, &regs, record, row->size + 100), SW_OK);
    assert_memory_equal(record + row->size, zeros, 100);
    assert_int_equal(record[row->size + 100], 0xa5);
    struct sw_regs back;
    assert_int_equal(sw_context_load(row->form, row->machine, record, row->size + 100, &back), SW_OK);
    assert_memory_equal(back.r, regs.r, sizeof back.r[0] * sw_regs_count(row->machine));
}

static void unaligned_records_work(void **state)
{
    const struct form_row *row = *state;
    const struct sw_regs regs = distinct(row->machine);
    uint8_t record[ROOM];
    for (size_t shift = 1; shift < 8; shift++) {
        struct sw_regs back;
        assert_int_equal(sw_context_store(row->form, &regs, record + shift, row->size), SW_OK);
        assert_int_equal(sw_context_load(row->form, row->machine, record + shift, row->size, &back), SW_OK);
        assert_memory_equal(back.r, regs.r, sizeof back.r[0] * sw_regs_count(row->machine));
    }
}

static void unknown_registers_are_stored_as_zero(void **state)
{
    const struct form_row *row = *state;
    struct sw_regs regs = distinct(row->machine), back;
    uint8_t record[ROOM];
    regs.known = UINT64_C(1) << sw_regs_sp_number(row->machine);
    assert_int_equal(sw_context_store(row->form, &regs, record, row->size), SW_OK);
    assert_int_equal(sw_context_load(row->form, row->machine, record, row->size, &back), SW_OK);
    for (unsigned n = 0; n < sw_regs_count(row->machine); n++)
        assert_int_equal(back.r[n], n == sw_regs_sp_number(row->machine) ? regs.r[n] : 0);
}

/* Registers that are written together go another way than others; each may be unknown. */
static void an_update_is_what_a_store_puts_there_and_no_more(void **state)
{
    const uint64_t kept = SW_X64_NONVOLATILE | 1u << SW_X64_RSP | 1u << SW_X64_RIP;
    const uint64_t more = 1u << SW_X64_RSI | 1u << SW_X64_RDI, one = 1u << SW_X64_R9;
    const uint64_t numbers[] = { kept, kept | more, kept | one, more, one, 0 };
    const size_t size = sw_context_size(SW_CONTEXT_WIN32, SW_MACHINE_X64);
    struct sw_regs before = { .machine = SW_MACHINE_X64 }, after = before;
    uint8_t record[ROOM], wanted[ROOM];
    (void)state;
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        sw_regs_set(&before, n, 0x1111 * (n + 1));
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        for (unsigned unknown = 0; unknown <= SW_X64_COUNT; unknown++) {
            struct sw_regs mixed = before;
            for (unsigned n = 0; n < SW_X64_COUNT; n++)
                sw_regs_set(&after, n, 0x7777777700000000 + n);
            after.known &= ~(UINT64_C(1) << unknown);
            for (unsigned n = 0; n < SW_X64_COUNT; n++)
                if (numbers[i] >> n & 1)
                    sw_regs_set(&mixed, n, n == unknown ? 0 : after.r[n]);
            assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, &before, record, size), SW_OK);
            assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, &mixed, wanted, size), SW_OK);
            assert_int_equal(sw_context_update(SW_CONTEXT_WIN32, &after, numbers[i], record, size), SW_OK);
            assert_memory_equal(record, wanted, size);
        }
}

static void every_coreclr_size_of_a_context_is_accepted(void **state)
{
    (void)state;
    static const struct {
        enum sw_machine machine;
        size_t size;
    } sizes[] = {
        { X64, 1232 }, { X64, 1504 }, { X64, 3104 }, { X64, SW_CONTEXT_MAX_BYTES }, { A64, 912 }, { A64, 992 }
    };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const struct sw_regs regs = distinct(sizes[i].machine);
        struct sw_regs back;
        uint8_t record[ROOM];
        assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, &regs, record, sizes[i].size), SW_OK);
        assert_int_equal(sw_context_load(SW_CONTEXT_WIN32, sizes[i].machine, record, sizes[i].size, &back), SW_OK);
        assert_int_equal(sw_regs_pc(&back), sw_regs_pc(&regs));
    }
}

static void context_flags_say_control_and_integer(void **state)
{
    (void)state;
    const struct sw_regs x64 = { .machine = X64 }, arm64 = { .machine = A64 };
    uint8_t record[ROOM];
    uint32_t flags;
    assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, &x64, record, SW_CONTEXT_X64_BYTES), SW_OK);
    memcpy(&flags, record + 0x30, sizeof flags);
    assert_int_equal(flags, 0x00100003);
    assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, &arm64, record, SW_CONTEXT_ARM64_BYTES), SW_OK);
    memcpy(&flags, record, sizeof flags);
    assert_int_equal(flags, 0x00400003);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    uint8_t record[ROOM] = { 0 };
    struct sw_regs regs = distinct(X64), none = { .machine = SW_MACHINE_NONE };
    struct sw_regs alien = { .machine = (enum sw_machine)77 };
    uint32_t thread = 5;
    const enum sw_context_form bad_form = SW_CONTEXT_COUNT;
    assert_int_equal(sw_context_size(bad_form, X64), 0);
    assert_int_equal(sw_context_size((enum sw_context_form) - 1, X64), 0);
    assert_int_equal(sw_context_needed(SW_CONTEXT_WIN32, SW_MACHINE_NONE), 0);
    assert_int_equal(sw_context_needed(SW_CONTEXT_WIN32, (enum sw_machine)3), 0);
    assert_int_equal(sw_context_load(bad_form, X64, record, ROOM, &regs), SW_E_ARGUMENT);
    assert_int_equal(sw_context_load(SW_CONTEXT_WIN32, SW_MACHINE_NONE, record, ROOM, &regs), SW_E_ARGUMENT);
    assert_int_equal(sw_context_load(SW_CONTEXT_WIN32, X64, NULL, ROOM, &regs), SW_E_ARGUMENT);
    assert_int_equal(sw_context_load(SW_CONTEXT_WIN32, X64, record, ROOM, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_context_store(bad_form, &regs, record, ROOM), SW_E_ARGUMENT);
    assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, NULL, record, ROOM), SW_E_ARGUMENT);
    assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, &none, record, ROOM), SW_E_ARGUMENT);
    assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, &alien, record, ROOM), SW_E_ARGUMENT);
    assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, &regs, NULL, ROOM), SW_E_ARGUMENT);
    assert_int_equal(sw_prstatus_thread(NULL, 336, &thread), SW_E_ARGUMENT);
    assert_int_equal(sw_prstatus_thread(record, 336, NULL), SW_E_ARGUMENT);
    assert_int_equal(thread, 5);
}

static void prstatus_thread_is_pr_pid(void **state)
{
    (void)state;
    struct elf_prstatus status;
    uint32_t thread = 0;
    memset(&status, 0xa5, sizeof status);
    status.pr_pid = 0x12345678;
    assert_int_equal(sw_prstatus_thread(&status, sizeof status, &thread), SW_OK);
    assert_int_equal(thread, 0x12345678);
    thread = 9;
    for (size_t size = 0; size < offsetof(struct elf_prstatus, pr_pid) + 4; size++)
        assert_int_equal(sw_prstatus_thread(&status, size, &thread), SW_E_TRUNCATED);
    assert_int_equal(thread, 9);
}

#if defined(__aarch64__)
static void sizes_are_those_of_the_headers(void **state)
{
    (void)state;
    assert_int_equal(sw_context_size(SW_CONTEXT_UCONTEXT, A64), sizeof(ucontext_t));
    assert_int_equal(sw_context_size(SW_CONTEXT_USER_REGS, A64), sizeof(struct user_regs_struct));
    assert_int_equal(sw_context_size(SW_CONTEXT_PRSTATUS, A64), sizeof(struct elf_prstatus));
}
#endif

#ifdef __x86_64__
static void sizes_are_those_of_the_headers(void **state)
{
    (void)state;
    /* The kernel's record ends with a signal mask of 8 bytes; glibc's type goes on behind it. */
    assert_int_equal(sw_context_size(SW_CONTEXT_UCONTEXT, X64), offsetof(ucontext_t, uc_sigmask) + 8);
    assert_int_equal(sw_context_size(SW_CONTEXT_USER_REGS, X64), sizeof(struct user_regs_struct));
    assert_int_equal(sw_context_size(SW_CONTEXT_PRSTATUS, X64), sizeof(struct elf_prstatus));
}

static struct sw_regs seen;
static volatile enum sw_status seen_status;
static uint64_t handler_frame;

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    handler_frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    seen_status = sw_context_load(SW_CONTEXT_UCONTEXT, X64, context, sw_context_size(SW_CONTEXT_UCONTEXT, X64), &seen);
}

/*
 * raise_loaded(pid, tid, signal, &sp): puts known values into the registers that a call preserves and into others,
 * notes the stack pointer, and makes the system call that raises the signal.
 */
uint64_t raise_loaded(uint64_t pid, uint64_t tid, uint64_t number, uint64_t *sp);
extern const char raise_loaded_after[];
__asm__(".text\n"
        "raise_loaded:\n"
        " push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
        " mov %rsp, (%rcx)\n"
        " mov $0xbbb1, %ebx\n mov $0xbbb2, %ebp\n mov $0x8888, %r8d\n mov $0x9999, %r9d\n mov $0xaaaa, %r10d\n"
        " mov $0xcccc, %r12d\n mov $0xdddd, %r13d\n mov $0xeeee, %r14d\n mov $0xffff, %r15d\n"
        " mov $234, %eax\n" /* tgkill */
        " syscall\n"
        "raise_loaded_after:\n"
        " pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
        " ret\n");

static void a_real_handlers_ucontext_holds_the_interrupted_registers(void **state)
{
    (void)state;
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO }, old;
    const uint64_t pid = (uint64_t)getpid(), tid = (uint64_t)syscall(SYS_gettid);
    uint64_t sp = 0;
    seen_status = SW_E_NOT_FOUND;
    assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
    assert_int_equal(raise_loaded(pid, tid, SIGUSR1, &sp), 0);
    sigaction(SIGUSR1, &old, NULL);
    assert_int_equal(seen_status, SW_OK);
    const uint64_t after = (uint64_t)(uintptr_t)raise_loaded_after;
    /* clang-format off */
    const struct { unsigned number; uint64_t value; } expected[] = {
        { SW_X64_RIP, after }, { SW_X64_RSP, sp }, { SW_X64_RBX, 0xbbb1 }, { SW_X64_RBP, 0xbbb2 },
        { SW_X64_RDI, pid }, { SW_X64_RSI, tid }, { SW_X64_RDX, SIGUSR1 }, { SW_X64_RAX, 0 }, { SW_X64_RCX, after },
        { SW_X64_R8, 0x8888 }, { SW_X64_R9, 0x9999 }, { SW_X64_R10, 0xaaaa }, { SW_X64_R12, 0xcccc },
        { SW_X64_R13, 0xdddd }, { SW_X64_R14, 0xeeee }, { SW_X64_R15, 0xffff },
    };
    /* clang-format on */
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        assert_int_equal(seen.r[expected[i].number], expected[i].value);
    assert_true(sp > handler_frame);
}
#endif

int main(void)
{
    static const struct {
        const char *name;
        CMUnitTestFunction function;
    } per_form[] = {
        { "sizes", sizes_are_those_of_the_format },
        { "round_trip", what_is_stored_loads_back },
        { "too_small", every_smaller_size_is_truncated },
        { "reads_needed_only", load_reads_only_what_it_needs },
        { "larger", larger_records_are_cleared_to_their_end },
        { "unaligned", unaligned_records_work },
        { "unknown_is_zero", unknown_registers_are_stored_as_zero },
    };
    const struct CMUnitTest single[] = {
        cmocka_unit_test(an_update_is_what_a_store_puts_there_and_no_more),
        cmocka_unit_test(every_coreclr_size_of_a_context_is_accepted),
        cmocka_unit_test(context_flags_say_control_and_integer),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(prstatus_thread_is_pr_pid),
#ifdef __x86_64__
        cmocka_unit_test(sizes_are_those_of_the_headers),
        cmocka_unit_test(a_real_handlers_ucontext_holds_the_interrupted_registers),
#elif defined(__aarch64__)
        cmocka_unit_test(sizes_are_those_of_the_headers),
#endif
    };
    static char names[COUNT_OF(per_form) * COUNT_OF(form_rows)][64];
    struct CMUnitTest tests[COUNT_OF(places) + COUNT_OF(names) + COUNT_OF(single)];
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(places); i++)
        tests[count++] =
            (struct CMUnitTest){ places[i].name, register_is_at_its_place, NULL, NULL, (void *)(uintptr_t)&places[i] };
    for (size_t i = 0; i < COUNT_OF(per_form) * COUNT_OF(form_rows); i++) {
        const struct form_row *row = &form_rows[i % COUNT_OF(form_rows)];
        strcat(strcat(strcpy(names[i], row->name), "_"), per_form[i / COUNT_OF(form_rows)].name);
        tests[count++] = (struct CMUnitTest){ names[i], per_form[i / COUNT_OF(form_rows)].function, NULL, NULL,
                                              (void *)(uintptr_t)row };
    }
    for (size_t i = 0; i < COUNT_OF(single); i++)
        tests[count++] = single[i];
    return _cmocka_run_group_tests("context", tests, count, NULL, NULL);
}
