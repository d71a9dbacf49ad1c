/*
 * Walks where nothing else may be done: in a signal handler that interrupts malloc and dlopen, and in a process that may
 * make no system call but read, write, exit and sigreturn.
 */
#include "rows.h"

#include <snapwalk/context.h>
#include <snapwalk/image.h>
#include <snapwalk/self.h>

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static struct sw_images *images;
static struct sw_walker walker;
static struct sw_scratch scratch;


/* ---- a handler that interrupts whatever is going on ---- */

static volatile unsigned samples, whole, deepest;
static volatile enum sw_stop first_cut;

static void on_tick(int signal, siginfo_t *info, void *context)
{
    struct sw_regs regs;
    struct sw_walk walk;
    (void)signal, (void)info;
    if (sw_context_load(SW_CONTEXT_UCONTEXT, walker.machine, context, sizeof(ucontext_t), &regs) != SW_OK)
        return;
    sw_walk_start(&walk, &walker, &scratch, &regs, true);
    while (sw_walk_next(&walk))
        ;
    samples++;
    whole += walk.stop == SW_STOP_ROOT;
    if (walk.stop != SW_STOP_ROOT && first_cut == SW_STOP_NONE)
        first_cut = walk.stop;
    if (walk.depth > deepest)
        deepest = walk.depth;
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

static const struct row {
    const char *name;
    void (*work)(void);
} rows[] = {
    { "handler_that_interrupts_malloc_walks_to_the_root", use_the_allocator },
    { "handler_that_interrupts_dlopen_walks_to_the_root", use_the_loader },
};

static void every_sample_is_whole(void **state)
{
    const struct row *row = *state;
    const struct sigaction action = { .sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART };
    const struct itimerval tick = { { 0, 500 }, { 0, 500 } }, none = { { 0, 0 }, { 0, 0 } };
    samples = whole = deepest = 0;
    first_cut = SW_STOP_NONE;
    assert_int_equal(sigaction(SIGPROF, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_PROF, &tick, NULL), 0);
    for (unsigned rounds = 0; samples < 100 && rounds < 10000000; rounds++)
        row->work();
    assert_int_equal(setitimer(ITIMER_PROF, &none, NULL), 0);
    print_message("# %u samples, %u whole, at most %u frames\n", samples, whole, deepest);
    assert_true(samples >= 100);
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
