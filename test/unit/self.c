/*
 * This process as a target: a reader that cannot fault, registers at a call's return address, stack bounds, and other
 * threads suspended wherever they are.
 */
#include "../support/nap.h"
#include <snapwalk/self.h>
#include <snapwalk/suspend.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "host.h"

enum { PAGE = 4096 };

static uint64_t address_of(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static size_t read_at(uint64_t address, void *to, size_t size)
{
    const struct sw_memory memory = sw_self_memory();
    return memory.read(memory.arg, address, to, size);
}

/* Memory -------------------------------------------------------------------------------------------------------- */

static void memory_is_read_as_it_is(void **state)
{
    const uint64_t words[2] = { 0x1122334455667788, 42 };
    uint64_t copy[2] = { 0, 0 };
    (void)state;
    assert_int_equal(read_at(address_of(words), copy, sizeof copy), sizeof copy);
    assert_memory_equal(copy, words, sizeof copy);
}

static void reads_end_where_memory_ends(void **state)
{
    static char to[4 * PAGE];
    (void)state;
    char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    memset(pages, 'x', 3 * PAGE);
    munmap(pages + 2 * PAGE, PAGE);
    assert_int_equal(read_at(address_of(pages), to, 2 * PAGE), 2 * PAGE);
    assert_int_equal(read_at(address_of(pages), to, 3 * PAGE), 2 * PAGE);
    assert_int_equal(read_at(address_of(pages + 2 * PAGE - 5), to, 8), 5);
    assert_int_equal(read_at(address_of(pages + 2 * PAGE), to, 8), 0);
    munmap(pages, 2 * PAGE);
}

static void reads_end_where_memory_is_protected(void **state)
{
    static char to[2 * PAGE];
    (void)state;
    HOST_NEEDS(host_has_process_reads(), "process_vm_readv: /proc/self/mem reads what is protected, too");
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    mprotect(pages + PAGE, PAGE, PROT_NONE);
    assert_int_equal(read_at(address_of(pages + 1), to, 2 * PAGE), PAGE - 1);
    munmap(pages, 2 * PAGE);
}

static void large_reads_are_whole(void **state)
{
    enum { BYTES = 3 << 20 };
    char *from = malloc(BYTES);
    char *to = calloc(1, BYTES);
    (void)state;
    for (int i = 0; i < BYTES; i++)
        from[i] = (char)(i * 7);
    assert_int_equal(read_at(address_of(from) + 3, to, BYTES - 3), BYTES - 3);
    assert_memory_equal(to, from + 3, BYTES - 3);
    free(from);
    free(to);
}

static void addresses_that_are_none_read_nothing(void **state)
{
    static const uint64_t addresses[] = { 0,
                                          1,
                                          8,
                                          0xfff,
                                          0x800000000000,
                                          0x7fffffffffffffff,
                                          0x8000000000000000,
                                          0xdeadbeefdeadbeef,
                                          0xffff800000000000,
                                          UINT64_MAX - 7,
                                          UINT64_MAX };
    char to[64];
    (void)state;
    errno = 77;
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
        assert_int_equal(read_at(addresses[i], to, sizeof to), 0);
    assert_int_equal(errno, 77);
    assert_int_equal(read_at(address_of(to), to, 0), 0);
}

/* Capture ------------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) uint64_t captured_in_between(struct sw_regs *regs, uint64_t *behind)
{
    sw_self_capture(regs);
    *behind = (uint64_t)(uintptr_t)__builtin_return_address(0);
    return (uint64_t)(uintptr_t)__builtin_frame_address(0);
}

static void capture_is_inside_the_caller(void **state)
{
    struct sw_regs regs;
    uint64_t behind;
    (void)state;
    memset(&regs, 0xee, sizeof regs);
    const uint64_t frame = captured_in_between(&regs, &behind);
    const uint64_t pc = sw_regs_pc(&regs);
    const uint64_t function = address_of((const void *)(uintptr_t)&captured_in_between);
    assert_int_equal(regs.reserved, 0);
    assert_true(pc > function && pc < function + 1000);
    /* Its own stack pointer lies at or below its frame address, and not by more than it can need. */
    assert_true(sw_regs_sp(&regs) <= frame && frame - sw_regs_sp(&regs) < 1024);
    assert_int_equal(sw_regs_fp(&regs), frame);
    assert_int_equal(regs.known, sw_regs_nonvolatile(regs.machine) | UINT64_C(1) << sw_regs_sp_number(regs.machine) |
                                     UINT64_C(1) << sw_regs_pc_number(regs.machine));
}

#if defined(__x86_64__)
/* Known values in every nonvolatile register, then the call: nothing of a compiler stands between. */
static void capture_has_the_exact_nonvolatile_registers(void **state)
{
    static struct sw_regs regs;
    static uint64_t sp, pc;
    (void)state;
    __asm__ volatile("push %%rbx\n push %%rbp\n push %%r12\n push %%r13\n push %%r14\n push %%r15\n"
                     "mov %%rsp, %%rax\n sub $256, %%rsp\n and $-16, %%rsp\n push %%rax\n push %%rax\n"
                     "mov $0x1111, %%ebx\n mov $0x2222, %%ebp\n mov $0x3333, %%r12d\n"
                     "mov $0x4444, %%r13d\n mov $0x5555, %%r14d\n mov $0x6666, %%r15d\n"
                     "mov %%rsp, %1\n lea 1f(%%rip), %%rax\n mov %%rax, %2\n"
                     "call sw_self_capture\n"
                     "1: pop %%rax\n mov %%rax, %%rsp\n"
                     "pop %%r15\n pop %%r14\n pop %%r13\n pop %%r12\n pop %%rbp\n pop %%rbx\n"
                     : "+m"(regs), "=m"(sp), "=m"(pc)
                     : "D"(&regs)
                     : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
    static const struct {
        unsigned number;
        uint64_t value;
    } rows[] = { { SW_X64_RBX, 0x1111 }, { SW_X64_RBP, 0x2222 }, { SW_X64_R12, 0x3333 },
                 { SW_X64_R13, 0x4444 }, { SW_X64_R14, 0x5555 }, { SW_X64_R15, 0x6666 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(regs.r[rows[i].number], rows[i].value);
    assert_int_equal(regs.r[SW_X64_RSP], sp);
    assert_int_equal(regs.r[SW_X64_RIP], pc);
    assert_int_equal(regs.machine, SW_MACHINE_X64);
}
#else
/* The same. What the compiler has in x19 and x29 is put aside by hand: it would not allow that they be named. */
static void capture_has_the_exact_nonvolatile_registers(void **state)
{
    static struct sw_regs regs;
    static uint64_t kept[5]; /* x19, x29; sp and pc as they should be */
    register struct sw_regs *to __asm__("x0") = &regs;
    register uint64_t *aside __asm__("x1") = kept;
    (void)state;
    __asm__ volatile("stp x19, x29, [x1]\n mov x19, x1\n sub sp, sp, #256\n stp x19, x30, [sp]\n"
                     "mov x9, sp\n adr x10, 1f\n stp x9, x10, [x1, #16]\n"
                     "mov x19, #0x1313\n mov x20, #0x1414\n mov x21, #0x1515\n mov x22, #0x1616\n"
                     "mov x23, #0x1717\n mov x24, #0x1818\n mov x25, #0x1919\n mov x26, #0x1a1a\n"
                     "mov x27, #0x1b1b\n mov x28, #0x1c1c\n mov x29, #0x1d1d\n"
                     "bl sw_self_capture\n"
                     "1: ldp x19, x30, [sp]\n add sp, sp, #256\n mov x1, x19\n ldp x19, x29, [x1]\n"
                     : "+r"(to), "+r"(aside)
                     :
                     : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
                       "x17", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "memory", "cc");
    for (unsigned n = SW_ARM64_X19; n <= SW_ARM64_FP; n++)
        assert_int_equal(regs.r[n], 0x0101 * n);
    assert_int_equal(regs.r[SW_ARM64_SP], kept[2]);
    assert_int_equal(regs.r[SW_ARM64_PC], kept[3]);
    assert_int_equal(regs.machine, SW_MACHINE_ARM64);
}
#endif

/* Signed addresses ---------------------------------------------------------------------------------------------- */

#if defined(__aarch64__)
/* pacia1716: the address as this processor signs it with a modifier; the address itself where it does not. */
static uint64_t signed_with(uint64_t address, uint64_t modifier)
{
    register uint64_t x17 __asm__("x17") = address;
    register uint64_t x16 __asm__("x16") = modifier;
    __asm__ volatile("hint #8" : "+r"(x17) : "r"(x16));
    return x17;
}

/* Over many modifiers every bit that can be signed has been. */
static uint64_t bits_that_get_signed(void)
{
    const uint64_t address = address_of((const void *)(uintptr_t)&signed_with);
    uint64_t bits = 0;
    for (uint64_t modifier = 0; modifier < 256; modifier++)
        bits |= signed_with(address, modifier * 0x9e3779b97f4a7c15) ^ address;
    return bits;
}
#else
static uint64_t bits_that_get_signed(void)
{
    return 0;
}
#endif

static void the_mask_is_what_this_processor_signs(void **state)
{
    const uint64_t tag = UINT64_C(0xff00000000000000);
    struct sw_walker walker;
    (void)state;
    assert_int_equal(sw_self_walker(&walker, NULL, NULL), SW_OK);
    const uint64_t bits = bits_that_get_signed();
    print_message("# signed: %016llx, mask %016llx\n", (unsigned long long)bits, (unsigned long long)walker.pac_mask);
    assert_true(walker.pac_mask == (host_machine() == SW_MACHINE_ARM64 ? bits | tag : 0));
#if defined(__aarch64__)
    assert_int_equal(bits != 0, (getauxval(AT_HWCAP) & HWCAP_PACA) != 0);
#endif
}

static struct sw_suspender suspender_of(struct sw_self_suspender *self)
{
    return sw_self_get_suspender(self);
}

static struct sw_self_suspender *make(size_t capacity)
{
    struct sw_self_suspender *self = NULL;
    assert_int_equal(sw_self_suspender_create(NULL, 0, capacity, &self), SW_OK);
    return self;
}

static __attribute__((noinline)) uint64_t captured_by_suspender(const struct sw_suspender *s, struct sw_regs *regs)
{
    const enum sw_status status = s->capture(s->arg, regs);
    assert_int_equal(status, SW_OK);
    return (uint64_t)(uintptr_t)__builtin_frame_address(0);
}

static void the_suspenders_capture_is_inside_its_caller_too(void **state)
{
    struct sw_self_suspender *self = make(1);
    const struct sw_suspender s = suspender_of(self);
    const uint64_t function = address_of((const void *)(uintptr_t)&captured_by_suspender);
    struct sw_regs regs;
    (void)state;
    const uint64_t frame = captured_by_suspender(&s, &regs);
    assert_true(sw_regs_pc(&regs) > function && sw_regs_pc(&regs) < function + 1000);
    assert_int_equal(sw_regs_fp(&regs), frame);
    assert_int_equal(s.current(s.arg), sw_self_thread());
    sw_self_suspender_destroy(self);
}

/* Stack --------------------------------------------------------------------------------------------------------- */

/* Every page can be loaded: this would crash. What AddressSanitizer has between variables is no fault here. */
__attribute__((no_sanitize_address)) static void load_each_page(const struct sw_window *window)
{
    for (uint64_t at = window->begin; at < window->end; at += PAGE)
        (void)*(const volatile uint8_t *)(window->bytes + (at - window->begin));
}

static void *check_bounds(void *arg)
{
    struct sw_walker walker;
    uint64_t begin, end;
    const uint64_t here = address_of(__builtin_frame_address(0));
    bool *good = arg;
    *good = sw_self_stack(&begin, &end) == SW_OK && begin < here && here < end && end - begin < (UINT64_C(1) << 40);
    *good = *good && sw_self_walker(&walker, NULL, NULL) == SW_OK;
    const struct sw_window *window = &walker.memory.window;
    *good = *good && walker.stack_begin == begin && walker.stack_end == end;
    *good = *good && window->begin <= here && here < window->end && window->begin >= begin && window->end <= end;
    *good = *good && window->bytes == (const uint8_t *)(uintptr_t)window->begin;
    if (*good)
        load_each_page(window);
    return NULL;
}

static void bounds_hold_the_main_stack(void **state)
{
    bool good = false;
    (void)state;
    check_bounds(&good);
    assert_true(good);
}

static void bounds_hold_another_threads_stack(void **state)
{
    bool good = false;
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, check_bounds, &good), 0);
    pthread_join(thread, NULL);
    assert_true(good);
}

static void null_is_an_argument_error(void **state)
{
    struct sw_self_suspender *self = NULL;
    uint64_t word;
    (void)state;
    assert_int_equal(sw_self_stack(NULL, &word), SW_E_ARGUMENT);
    assert_int_equal(sw_self_stack(&word, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_self_walker(NULL, NULL, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_self_suspender_create(NULL, 0, 1, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_self_suspender_create(NULL, 0, 0, &self), SW_E_ARGUMENT);
    assert_int_equal(sw_self_suspender_create(NULL, SIGUSR1, 1, &self), SW_E_ARGUMENT);
    assert_int_equal(sw_self_suspender_create(NULL, SIGRTMAX + 1, 1, &self), SW_E_ARGUMENT);
    sw_self_suspender_destroy(NULL);
}

/* The suspender ------------------------------------------------------------------------------------------------- */

enum manner { SPINS, SLEEPS, BLOCKS_SIGNALS, ENDS };

struct worker {
    enum manner manner;
    pthread_t thread;
    _Atomic uint64_t id;
    _Atomic uint64_t turns;
    atomic_bool stop;
    atomic_bool unblock;
    uint64_t stack_begin;
    uint64_t stack_end;
};

static void *work(void *arg)
{
    struct worker *worker = arg;
    sigset_t all;
    sigfillset(&all);
    if (sw_self_stack(&worker->stack_begin, &worker->stack_end) != SW_OK)
        abort();
    if (worker->manner == BLOCKS_SIGNALS)
        pthread_sigmask(SIG_BLOCK, &all, NULL);
    worker->id = sw_self_thread();
    while (!worker->stop && worker->manner != ENDS) {
        worker->turns++;
        if (worker->manner == SLEEPS)
            nap(200000);
        if (worker->unblock) {
            pthread_sigmask(SIG_UNBLOCK, &all, NULL);
            worker->unblock = false;
        }
    }
    return NULL;
}

static void start(struct worker *worker, enum manner manner)
{
    memset(worker, 0, sizeof *worker);
    worker->manner = manner;
    assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
    while (worker->id == 0)
        nap(100);
}

static void finish(struct worker *worker)
{
    worker->stop = true;
    pthread_join(worker->thread, NULL);
}

/* How long the suspender waits for an answer, in nanoseconds; what it calls busy sooner has another reason. */
enum { PATIENCE_NS = 1000000000 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * A running thread is suspended. Only one that was given no processor for as long as the suspender waits may be called
 * busy; then it is asked again, so that no test depends on the scheduler. Busy any sooner is the answer.
 */
static enum sw_status suspend_running(const struct sw_suspender *s, uint64_t id, struct sw_regs *regs)
{
    for (;;) {
        const uint64_t begin = now_ns();
        const enum sw_status status = s->suspend(s->arg, id, regs);
        if (status != SW_E_BUSY || now_ns() - begin < PATIENCE_NS)
            return status;
    }
}

/* It stands still: its counter does not move for a while. */
static bool stands(const struct worker *worker)
{
    const uint64_t before = worker->turns;
    nap(3000);
    return worker->turns == before;
}

static bool moves(const struct worker *worker)
{
    const uint64_t before = worker->turns;
    for (int i = 0; i < 60000; i++) {
        if (worker->turns != before)
            return true;
        nap(1000);
    }
    return false;
}

static void a_spinning_thread_stands_until_resumed(void **state)
{
    struct sw_self_suspender *self = make(4);
    const struct sw_suspender s = suspender_of(self);
    static struct worker worker;
    struct sw_regs regs;
    (void)state;
    start(&worker, SPINS);
    assert_int_equal(suspend_running(&s, worker.id, &regs), SW_OK);
    assert_true(stands(&worker));
    assert_true(sw_regs_sp(&regs) > worker.stack_begin && sw_regs_sp(&regs) < worker.stack_end);
    assert_int_equal(regs.known, (UINT64_C(1) << sw_regs_count(regs.machine)) - 1);
    assert_int_equal(s.resume(s.arg, worker.id), SW_OK);
    assert_true(moves(&worker));
    assert_int_equal(s.resume(s.arg, worker.id), SW_E_NOT_FOUND);
    finish(&worker);
    sw_self_suspender_destroy(self);
}

static void suspends_nest(void **state)
{
    struct sw_self_suspender *self = make(1);
    const struct sw_suspender s = suspender_of(self);
    static struct worker worker;
    struct sw_regs regs[3];
    (void)state;
    start(&worker, SPINS);
    for (int i = 0; i < 3; i++)
        assert_int_equal(suspend_running(&s, worker.id, &regs[i]), SW_OK);
    assert_memory_equal(&regs[0], &regs[2], sizeof regs[0]);
    assert_int_equal(s.resume(s.arg, worker.id), SW_OK);
    assert_int_equal(s.resume(s.arg, worker.id), SW_OK);
    assert_true(stands(&worker));
    assert_int_equal(s.resume(s.arg, worker.id), SW_OK);
    assert_true(moves(&worker));
    finish(&worker);
    sw_self_suspender_destroy(self);
}

static void threads_are_suspended_a_hundred_times(void **state)
{
    struct sw_self_suspender *self = make(3);
    const struct sw_suspender s = suspender_of(self);
    static struct worker workers[3];
    struct sw_regs regs;
    (void)state;
    start(&workers[0], SPINS);
    start(&workers[1], SLEEPS);
    start(&workers[2], SPINS);
    errno = 55;
    for (int i = 0; i < 100; i++) {
        for (int w = 0; w < 3; w++) {
            assert_int_equal(suspend_running(&s, workers[w].id, &regs), SW_OK);
            assert_true(sw_regs_sp(&regs) > workers[w].stack_begin && sw_regs_sp(&regs) < workers[w].stack_end);
        }
        for (int w = 0; w < 3; w++)
            assert_int_equal(s.resume(s.arg, workers[w].id), SW_OK);
    }
    assert_int_equal(errno, 55);
    for (int w = 0; w < 3; w++) {
        assert_true(moves(&workers[w]));
        finish(&workers[w]);
    }
    sw_self_suspender_destroy(self);
}

static void more_threads_than_slots_are_busy(void **state)
{
    struct sw_self_suspender *self = make(1);
    const struct sw_suspender s = suspender_of(self);
    static struct worker workers[2];
    struct sw_regs regs;
    (void)state;
    start(&workers[0], SPINS);
    start(&workers[1], SPINS);
    assert_int_equal(suspend_running(&s, workers[0].id, &regs), SW_OK);
    assert_int_equal(s.suspend(s.arg, workers[1].id, &regs), SW_E_BUSY);
    assert_int_equal(s.resume(s.arg, workers[0].id), SW_OK);
    finish(&workers[0]);
    finish(&workers[1]);
    sw_self_suspender_destroy(self);
}

static void a_thread_that_ended_is_gone(void **state)
{
    struct sw_self_suspender *self = make(2);
    const struct sw_suspender s = suspender_of(self);
    struct sw_regs regs;
    static struct worker worker;
    (void)state;
    for (int i = 0; i < 20; i++) {
        start(&worker, ENDS);
        finish(&worker);
        assert_int_equal(s.suspend(s.arg, worker.id, &regs), SW_E_GONE);
    }
    assert_int_equal(s.resume(s.arg, worker.id), SW_E_NOT_FOUND);
    sw_self_suspender_destroy(self);
}

static void a_thread_that_is_ending_is_suspended_or_gone(void **state)
{
    struct sw_self_suspender *self = make(2);
    const struct sw_suspender s = suspender_of(self);
    struct sw_regs regs;
    static struct worker worker;
    int suspended = 0;
    (void)state;
    for (int i = 0; i < 100; i++) {
        start(&worker, SPINS);
        worker.stop = true;
        const enum sw_status status = suspend_running(&s, worker.id, &regs);
        assert_true(status == SW_OK || status == SW_E_GONE);
        if (status == SW_OK)
            assert_int_equal(s.resume(s.arg, worker.id), SW_OK);
        suspended += status == SW_OK;
        finish(&worker);
    }
    assert_in_range(suspended, 0, 100);
    sw_self_suspender_destroy(self);
}

static void a_thread_that_blocks_the_signal_is_busy_and_later_unharmed(void **state)
{
    struct sw_self_suspender *self = make(2);
    const struct sw_suspender s = suspender_of(self);
    struct sw_regs regs;
    static struct worker worker;
    (void)state;
    start(&worker, BLOCKS_SIGNALS);
    assert_int_equal(s.suspend(s.arg, worker.id, &regs), SW_E_BUSY);
    assert_int_equal(s.resume(s.arg, worker.id), SW_E_NOT_FOUND);
    worker.unblock = true;
    while (worker.unblock)
        nap(100);
    /* The late signal was taken for nothing: the thread runs, and can be suspended as any other. */
    assert_true(moves(&worker));
    assert_int_equal(suspend_running(&s, worker.id, &regs), SW_OK);
    assert_true(stands(&worker));
    assert_int_equal(s.resume(s.arg, worker.id), SW_OK);
    assert_true(moves(&worker));
    finish(&worker);
    sw_self_suspender_destroy(self);
}

static void a_late_signal_does_no_harm_after_destroy(void **state)
{
    struct sw_self_suspender *self = make(2);
    const struct sw_suspender s = suspender_of(self);
    struct sw_regs regs;
    static struct worker worker;
    (void)state;
    start(&worker, BLOCKS_SIGNALS);
    assert_int_equal(s.suspend(s.arg, worker.id, &regs), SW_E_BUSY);
    sw_self_suspender_destroy(self);
    /* Were it still queued, the signal's default action would end the process now. */
    worker.unblock = true;
    while (worker.unblock)
        nap(100);
    assert_true(moves(&worker));
    finish(&worker);
}

static void the_signal_from_elsewhere_does_nothing(void **state)
{
    struct sw_self_suspender *self = NULL;
    static struct worker worker;
    (void)state;
    assert_int_equal(sw_self_suspender_create(NULL, SIGRTMIN + 9, 1, &self), SW_OK);
    start(&worker, SPINS);
    pthread_kill(worker.thread, SIGRTMIN + 9);
    const union sigval wild = { .sival_ptr = (void *)8 };
    pid_t child = fork();
    if (child == 0)
        _exit(sigqueue(getppid(), SIGRTMIN + 9, wild));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(moves(&worker));
    finish(&worker);
    sw_self_suspender_destroy(self);
}

static void a_signal_that_is_in_use_is_refused_and_an_own_one_given_back(void **state)
{
    struct sw_self_suspender *first = NULL;
    struct sw_self_suspender *second = NULL;
    struct sigaction after;
    (void)state;
    const int signal = SIGRTMIN + 8;
    assert_int_equal(sw_self_suspender_create(NULL, signal, 1, &first), SW_OK);
    assert_int_equal(sw_self_suspender_create(NULL, signal, 1, &second), SW_E_BUSY);
    assert_null(second);
    assert_int_equal(sw_self_suspender_create(NULL, 0, 1, &second), SW_OK);
    sw_self_suspender_destroy(first);
    sw_self_suspender_destroy(second);
    assert_int_equal(sigaction(signal, NULL, &after), 0);
    assert_ptr_equal(after.sa_handler, SIG_DFL);
}

static void strange_ids_are_refused(void **state)
{
    struct sw_self_suspender *self = make(1);
    const struct sw_suspender s = suspender_of(self);
    struct sw_regs regs;
    (void)state;
    assert_int_equal(s.suspend(s.arg, 0, &regs), SW_E_ARGUMENT);
    assert_int_equal(s.suspend(s.arg, UINT64_MAX, &regs), SW_E_ARGUMENT);
    assert_int_equal(s.suspend(s.arg, sw_self_thread(), &regs), SW_E_ARGUMENT);
    assert_int_equal(s.suspend(s.arg, 1, NULL), SW_E_ARGUMENT);
    assert_int_equal(s.suspend(s.arg, 1, &regs), SW_E_GONE); /* no thread of this process */
    assert_int_equal(s.resume(s.arg, 0), SW_E_ARGUMENT);
    sw_self_suspender_destroy(self);
}

struct rival {
    struct sw_suspender suspender;
    struct worker *victim;
    _Atomic int failures;
    atomic_bool inside;
    _Atomic int together;
};

static void *compete(void *arg)
{
    struct rival *rival = arg;
    for (int i = 0; i < 200; i++) {
        struct sw_regs regs;
        if (suspend_running(&rival->suspender, rival->victim->id, &regs) != SW_OK) {
            rival->failures++;
            continue;
        }
        const uint64_t before = rival->victim->turns;
        for (volatile int k = 0; k < 2000; k++)
            ;
        if (rival->victim->turns != before)
            rival->together++;
        if (rival->suspender.resume(rival->suspender.arg, rival->victim->id) != SW_OK)
            rival->failures++;
    }
    return NULL;
}

static void two_threads_may_suspend_the_same_one(void **state)
{
    struct sw_self_suspender *self = make(4);
    static struct worker worker;
    static struct rival rival;
    rival = (struct rival){ .suspender = suspender_of(self), .victim = &worker };
    pthread_t rivals[2];
    (void)state;
    start(&worker, SPINS);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&rivals[i], NULL, compete, &rival), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(rivals[i], NULL);
    assert_int_equal(rival.failures, 0);
    assert_int_equal(rival.together, 0); /* it never ran while one of them held it */
    assert_true(moves(&worker));
    finish(&worker);
    sw_self_suspender_destroy(self);
}

static void threads_are_listed_the_lowest_first(void **state)
{
    uint64_t ids[64], lowest;
    size_t count, again;
    (void)state;
    assert_int_equal(sw_self_threads(ids, 64, &count), SW_OK);
    assert_in_range(count, 1, 64);
    bool has_own = false;
    for (size_t i = 0; i < count; i++) {
        has_own |= ids[i] == sw_self_thread();
        assert_true(i == 0 || ids[i - 1] < ids[i]);
    }
    assert_true(has_own);
    assert_int_equal(sw_self_threads(&lowest, 1, &again), SW_OK);
    assert_int_equal(lowest, ids[0]);
    assert_int_equal(sw_self_threads(NULL, 0, &again), SW_OK);
    assert_int_equal(sw_self_threads(NULL, 1, &again), SW_E_ARGUMENT);
    assert_int_equal(sw_self_threads(ids, 64, NULL), SW_E_ARGUMENT);
}

static void the_window_begins_with_the_page_of_sp_and_ends_with_the_stack(void **state)
{
    struct sw_regs regs;
    uint64_t begin, end;
    (void)state;
    assert_int_equal(sw_self_stack(&begin, &end), SW_OK);
    sw_self_capture(&regs);
    const struct sw_window window = sw_self_window(&regs, begin, end);
    assert_int_equal(window.begin, sw_regs_sp(&regs) / 4096 * 4096);
    assert_int_equal(window.end, end);
    assert_int_equal((uintptr_t)window.bytes, window.begin);
    assert_int_equal(sw_self_window(&regs, sw_regs_sp(&regs), end).begin, sw_regs_sp(&regs));
    assert_int_equal(sw_self_window(&regs, begin, begin).end, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_read_as_it_is),
        cmocka_unit_test(reads_end_where_memory_ends),
        cmocka_unit_test(reads_end_where_memory_is_protected),
        cmocka_unit_test(large_reads_are_whole),
        cmocka_unit_test(addresses_that_are_none_read_nothing),
        cmocka_unit_test(capture_is_inside_the_caller),
        cmocka_unit_test(capture_has_the_exact_nonvolatile_registers),
        cmocka_unit_test(the_mask_is_what_this_processor_signs),
        cmocka_unit_test(the_suspenders_capture_is_inside_its_caller_too),
        cmocka_unit_test(bounds_hold_the_main_stack),
        cmocka_unit_test(bounds_hold_another_threads_stack),
        cmocka_unit_test(null_is_an_argument_error),
        cmocka_unit_test(a_spinning_thread_stands_until_resumed),
        cmocka_unit_test(suspends_nest),
        cmocka_unit_test(threads_are_suspended_a_hundred_times),
        cmocka_unit_test(more_threads_than_slots_are_busy),
        cmocka_unit_test(a_thread_that_ended_is_gone),
        cmocka_unit_test(a_thread_that_is_ending_is_suspended_or_gone),
        cmocka_unit_test(a_thread_that_blocks_the_signal_is_busy_and_later_unharmed),
        cmocka_unit_test(a_late_signal_does_no_harm_after_destroy),
        cmocka_unit_test(the_signal_from_elsewhere_does_nothing),
        cmocka_unit_test(a_signal_that_is_in_use_is_refused_and_an_own_one_given_back),
        cmocka_unit_test(threads_are_listed_the_lowest_first),
        cmocka_unit_test(the_window_begins_with_the_page_of_sp_and_ends_with_the_stack),
        cmocka_unit_test(strange_ids_are_refused),
        cmocka_unit_test(two_threads_may_suspend_the_same_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
