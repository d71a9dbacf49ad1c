/*
 * A crash handler: prints the stacks of all threads, the one that crashed first, and lets the process die of what it
 * was to die of. Everything is prepared while the program is well. From the signal on, nothing is allocated, locked or
 * printed by stdio.
 *
 *     crash_handler null | overflow | abort [worker]
 */
#include <snapwalk/context.h>
#include <snapwalk/names.h>
#include <snapwalk/self.h>
#include <snapwalk/suspend.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- what is prepared ---- */

enum { THREADS_MAX = 1024, ALTERNATE_BYTES = 64 << 10, FRAMES_MAX = 1 << 20, FIRST = 16, LAST = 8, NAME_SIZE = 256 };

static const int crash_signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
static const char *const crash_names[] = { "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT" };
enum { CRASH_SIGNALS = sizeof crash_signals / sizeof crash_signals[0] };

static struct sw_images *images;
static struct sw_walker walker;
static struct sw_scratch scratch;
static struct sw_self_suspender *suspender;
static uint64_t threads[THREADS_MAX];
static atomic_flag has_crashed = ATOMIC_FLAG_INIT;

/* ---- output: whole lines, by write ---- */

struct line {
    char text[2 * NAME_SIZE];
    size_t length;
};

static void put(struct line *line, const char *text)
{
    for (; *text && line->length < sizeof line->text - 1; text++)
        line->text[line->length++] = *text;
}

static void put_number(struct line *line, uint64_t number, unsigned base, unsigned width)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = 0;
    do
        digits[--at] = "0123456789abcdef"[number % base];
    while ((number /= base) != 0 || sizeof digits - 1 - at < width);
    put(line, digits + at);
}

static void end_line(struct line *line)
{
    line->text[line->length++] = '\n';
    (void)!write(STDERR_FILENO, line->text, line->length);
    line->length = 0;
}

/* ---- stacks ---- */

struct place {
    uint64_t pc, lookup;
};

static void show(unsigned number, struct place place)
{
    struct line line = { .length = 0 };
    char name[NAME_SIZE];
    uint64_t start, offset;
    put(&line, "  #");
    put_number(&line, number, 10, 1);
    put(&line, "  ");
    put_number(&line, place.pc, 16, 16);
    if (sw_names_find(images, place.lookup, name, sizeof name, &start) == SW_OK) {
        put(&line, "  ");
        put(&line, name);
        put(&line, "+0x");
        put_number(&line, place.pc - start, 16, 1);
    }
    if (sw_names_module(images, place.lookup, name, sizeof name, &offset) == SW_OK) {
        put(&line, "  (");
        put(&line, name);
        put(&line, "+0x");
        put_number(&line, place.pc - place.lookup + offset, 16, 1);
        put(&line, ")");
    }
    end_line(&line);
}

/* The innermost frames and the outermost: where it happened, and whose work it was. Between them may be a recursion. */
static void show_stack(const struct sw_regs *regs)
{
    struct place last[LAST];
    struct line line = { .length = 0 };
    struct sw_walk walk;
    unsigned count = 0;
    sw_walk_start(&walk, &walker, &scratch, regs, true);
    for (; sw_walk_next(&walk); count++) {
        const struct place place = { sw_regs_pc(&walk.frame.regs), walk.frame.lookup };
        if (count < FIRST)
            show(count, place);
        else
            last[count % LAST] = place;
    }
    const unsigned rest = count > FIRST + LAST ? count - LAST : FIRST;
    if (rest > FIRST) {
        put(&line, "  ... ");
        put_number(&line, rest - FIRST, 10, 1);
        put(&line, " frames ...");
        end_line(&line);
    }
    for (unsigned i = rest; i < count; i++)
        show(i, last[i % LAST]);
    put(&line, "  ended: ");
    put(&line, sw_stop_name(walk.stop));
    end_line(&line);
}

/* A thread that does not answer within a second is asked again: others may have all processors. Some seconds in all. */
static enum sw_status stop_thread(const struct sw_suspender *stop, uint64_t thread, struct sw_regs *regs)
{
    static unsigned left = 8;
    enum sw_status status = stop->suspend(stop->arg, thread, regs);
    for (; status == SW_E_BUSY && left > 0; left--)
        status = stop->suspend(stop->arg, thread, regs);
    return status;
}

static void show_thread(const struct sw_suspender *stop, uint64_t thread)
{
    struct line line = { .length = 0 };
    struct sw_regs regs;
    put(&line, "thread ");
    put_number(&line, thread, 10, 1);
    const enum sw_status status = stop_thread(stop, thread, &regs);
    if (status != SW_OK) {
        put(&line, " cannot be stopped: ");
        put(&line, sw_status_name(status));
    }
    end_line(&line);
    if (status == SW_OK)
        show_stack(&regs); /* it stays stopped: the process is about to end */
}

static void show_all(int number, uint64_t address, const struct sw_regs *regs)
{
    const struct sw_suspender stop = sw_self_get_suspender(suspender);
    const uint64_t own = sw_self_thread();
    struct line line = { .length = 0 };
    size_t count = 0;
    put(&line, "crash: ");
    for (size_t i = 0; i < CRASH_SIGNALS; i++)
        put(&line, crash_signals[i] == number ? crash_names[i] : "");
    put(&line, ", address 0x");
    put_number(&line, address, 16, 1);
    end_line(&line);
    put(&line, "thread ");
    put_number(&line, own, 10, 1);
    put(&line, ", which crashed");
    end_line(&line);
    show_stack(regs);
    (void)!sw_self_threads(threads, THREADS_MAX, &count);
    for (size_t i = 0; i < count && i < THREADS_MAX; i++)
        if (threads[i] != own)
            show_thread(&stop, threads[i]);
}

/* ---- the handler ---- */

static void on_crash(int number, siginfo_t *info, void *context)
{
    const struct sigaction die = { .sa_handler = SIG_DFL };
    struct sw_regs regs;
    while (atomic_flag_test_and_set(&has_crashed)) /* another thread has, too: it is shown by the first */
        pause();
    if (sw_context_load(SW_CONTEXT_UCONTEXT, walker.machine, context, sizeof(ucontext_t), &regs) == SW_OK)
        show_all(number, info->si_code > 0 ? (uint64_t)(uintptr_t)info->si_addr : 0, &regs);
    (void)sigaction(number, &die, NULL);
    if (info->si_code <=
        0) /* sent, as abort does: sent again. A fault comes again by itself, with all that a core holds */
        raise(number);
}

/* For each thread that calls it: without a stack of its own no handler runs once the thread's is used up. */
static int set_alternate_stack(void)
{
    const stack_t stack = { .ss_sp =
                                mmap(NULL, ALTERNATE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                            .ss_size = ALTERNATE_BYTES };
    return stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL) != 0;
}

/* Call sw_images_add_self and sw_names_load again after dlopen. */
static int install_crash_handler(void)
{
    struct sigaction action = { .sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    if (sw_images_create(NULL, &images) || sw_images_add_self(images) || sw_names_load(images) ||
        sw_self_suspender_create(NULL, 0, THREADS_MAX, &suspender) || sw_self_walker(&walker, NULL, images))
        return 1;
    walker.stack_begin = walker.stack_end = 0; /* it walks any thread's stack */
    walker.budget = SW_WALK_BUDGET_UNLIMITED;
    walker.max_frames = FRAMES_MAX;
    for (size_t i = 0; i < CRASH_SIGNALS; i++)
        sigaddset(&action.sa_mask, crash_signals[i]);
    for (size_t i = 0; i < CRASH_SIGNALS; i++)
        if (sigaction(crash_signals[i], &action, NULL) != 0)
            return 1;
    return set_alternate_stack();
}

/* ---- a program that crashes ---- */

#define OWN_FRAME __attribute__((noinline))

static volatile unsigned turns;
static void (*volatile nowhere)(void);
static atomic_uint started; /* threads that stand where they stay */

OWN_FRAME static void call_null(void)
{
    nowhere();
    turns++;
}

OWN_FRAME static unsigned recurse(volatile unsigned *depth)
{
    volatile unsigned deeper = *depth + 1;
    return deeper == 0 ? 0 : recurse(&deeper) + deeper;
}

OWN_FRAME static void overflow(void)
{
    volatile unsigned depth = 1;
    turns += recurse(&depth);
}

OWN_FRAME static void give_up(void)
{
    abort();
}

OWN_FRAME static void crash(const char *how)
{
    if (strcmp(how, "null") == 0)
        call_null();
    else if (strcmp(how, "overflow") == 0)
        overflow();
    else
        give_up();
    turns++;
}

OWN_FRAME static void spin(void)
{
    for (started++;;)
        turns++;
}

OWN_FRAME static void sleep_on(void)
{
    for (started++;;)
        pause();
}

static void *spinner(void *arg)
{
    spin();
    return arg;
}

static void *sleeper(void *arg)
{
    sleep_on();
    return arg;
}

static void *crasher(void *how)
{
    if (set_alternate_stack() == 0)
        crash(how);
    return NULL;
}

int main(int count, char **words)
{
    pthread_t thread;
    if (count < 2 || install_crash_handler() || pthread_create(&thread, NULL, spinner, NULL) ||
        pthread_create(&thread, NULL, sleeper, NULL))
        return 1;
    while (started < 2)
        sched_yield();
    if (count > 2) {
        (void)pthread_create(&thread, NULL, crasher, words[1]);
        pthread_join(thread, NULL);
    }
    crash(words[1]);
    return 1;
}
