/*
 * Walks where nothing else may be done: in a signal handler that interrupts malloc, dlopen, the vdso and another walk,
 * and in a process that may make no system call but read, write, exit and sigreturn.
 */
#include "rows.h"
#include "host.h"

#include <snapwalk/context.h>
#include <snapwalk/image.h>
#include <snapwalk/self.h>

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static struct sw_images *images;
static struct sw_walker walker;
static struct sw_scratch scratch, inner_scratch;

/* ---- a handler that interrupts whatever is going on ---- */

static _Atomic unsigned samples, whole, deepest, in_vdso, in_handler; /* one handler interrupts the other */
static volatile enum sw_stop first_cut;

/* What a row waits for, and how many of it: where a walk takes longer than a tick, as under an emulator, nothing but
 * handlers would run, so that the last of them stops the timers. */
static const _Atomic unsigned *awaited;
static unsigned enough;

static void stop_timers(void)
{
    const struct itimerval none = { { 0, 0 }, { 0, 0 } };
    (void)setitimer(ITIMER_PROF, &none, NULL);
    (void)setitimer(ITIMER_VIRTUAL, &none, NULL);
}

static bool is_in_vdso(const struct sw_regs *regs)
{
    struct sw_image image;
    return sw_images_find(images, sw_regs_pc(regs), &image) == SW_OK && strcmp(image.path, "[vdso]") == 0;
}

/* SIGVTALRM comes in while SIGPROF's handler walks: each has a scratch of its own. */
static void on_tick(int signal, siginfo_t *info, void *context)
{
    struct sw_regs regs;
    struct sw_walk walk;
    unsigned interrupted = 0;
    (void)info;
    if (sw_context_load(SW_CONTEXT_UCONTEXT, walker.machine, context, sizeof(ucontext_t), &regs) != SW_OK)
        return;
    sw_walk_start(&walk, &walker, signal == SIGPROF ? &scratch : &inner_scratch, &regs, true);
    while (sw_walk_next(&walk))
        interrupted += walk.frame.exact;
    in_vdso += is_in_vdso(&regs);
    in_handler += interrupted > 1; /* the first frame is one */
    samples++;
    whole += walk.stop == SW_STOP_ROOT;
    if (walk.stop != SW_STOP_ROOT && first_cut == SW_STOP_NONE)
        first_cut = walk.stop;
    if (walk.depth > deepest)
        deepest = walk.depth;
    if (*awaited >= enough)
        stop_timers();
}

static void use_the_allocator(void)
{
    void *blocks[32];
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = malloc(16 + 97 * i);
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        free(blocks[i]);
}

static void use_the_loader(void)
{
    void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    if (library)
        dlclose(library);
}

static void use_the_clock(void)
{
    struct timespec now;
    for (unsigned i = 0; i < 1000; i++)
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
}

/* wanted: samples that the row is about; those of a row without are all. */
static const struct row {
    const char *name;
    void (*work)(void);
    const _Atomic unsigned *wanted;
    bool has_inner;
} rows[] = {
    { "handler_that_interrupts_malloc_walks_to_the_root", use_the_allocator, &samples, false },
    { "handler_that_interrupts_dlopen_walks_to_the_root", use_the_loader, &samples, false },
    { "handler_that_interrupts_the_vdso_walks_to_the_root", use_the_clock, &in_vdso, false },
    { "handler_that_interrupts_a_walking_handler_walks_to_the_root", use_the_allocator, &in_handler, true },
};

static void set_timers(const struct row *row, const struct itimerval *outer, const struct itimerval *inner)
{
    assert_int_equal(setitimer(ITIMER_PROF, outer, NULL), 0);
    if (row->has_inner)
        assert_int_equal(setitimer(ITIMER_VIRTUAL, inner, NULL), 0);
}

static void every_sample_is_whole(void **state)
{
    const struct row *row = *state;
    const struct sigaction action = { .sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART };
    const struct itimerval tick = { { 0, 500 }, { 0, 500 } }, none = { { 0, 0 }, { 0, 0 } };
    const struct itimerval other = { { 0, 300 }, { 0, 300 } };
    HOST_NEEDS(row->wanted != &in_vdso || getauxval(AT_SYSINFO_EHDR) != 0, "a vdso");
    enough = row->wanted == &samples ? 100 : 20;
    awaited = row->wanted;
    samples = whole = deepest = in_vdso = in_handler = 0;
    first_cut = SW_STOP_NONE;
    assert_int_equal(sigaction(SIGPROF, &action, NULL), 0);
    assert_int_equal(sigaction(SIGVTALRM, &action, NULL), 0);
    set_timers(row, &tick, &other);
    for (unsigned rounds = 0; *row->wanted < enough && samples < 5000 && rounds < 10000000; rounds++)
        row->work();
    set_timers(row, &none, &none);
    print_message("# %u samples, %u whole, at most %u frames, %u in the vdso, %u in a handler\n", samples, whole,
                  deepest, in_vdso, in_handler);
    assert_true(*row->wanted >= enough);
    assert_int_equal(first_cut, SW_STOP_NONE);
    assert_int_equal(whole, samples);
    assert_true(deepest >= 5);
}

/* ---- no system calls ---- */

static int walk_strictly(void)
{
    struct sw_regs here;
    struct sw_walk walk;
    char answer = 'n';
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
        return 'p';
    sw_self_capture(&here);
    sw_walk_start(&walk, &walker, &scratch, &here, false);
    while (sw_walk_next(&walk))
        ;
    if (walk.stop == SW_STOP_ROOT && walk.depth >= 3)
        answer = 'y';
    return answer;
}

static void native_walk_makes_no_system_call(void **state)
{
    int pipe_ends[2], status;
    char answer = '?';
    (void)state;
    HOST_NEEDS(prctl(PR_GET_SECCOMP) >= 0, "seccomp");
    assert_int_equal(pipe(pipe_ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        answer = (char)walk_strictly();
        (void)!write(pipe_ends[1], &answer, 1);
        syscall(SYS_exit, 0); /* exit_group is not allowed any more */
    }
    close(pipe_ends[1]);
    assert_int_equal(read(pipe_ends[0], &answer, 1), 1); /* nothing comes from a child that was killed */
    close(pipe_ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(answer, 'y');
    assert_true(WIFEXITED(status));
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows) + 1];
    if (sw_images_create(NULL, &images) || sw_images_add_self(images) || sw_self_walker(&walker, NULL, images))
        return 1;
    FILL_ROWS(tests, rows, every_sample_is_whole);
    tests[COUNT_OF(rows)] = (struct CMUnitTest)cmocka_unit_test(native_walk_makes_no_system_call);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sw_images_destroy(images);
    return failed;
}
