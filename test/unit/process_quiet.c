/*
 * A program that looks at others has children and signal handlers of its own: they see nothing of the look.
 */
#include "../support/nap.h"

#include <snapwalk/process.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <cmocka.h>

#include "host.h"

enum { THREADS = 6, LOOKS = 50, KILLS = 20 };

static struct {
    atomic_int running;
    _Atomic pid_t target;
} * shared;

static bool can_trace;
static atomic_int told;   /* SIGCHLD */
static atomic_int reaped; /* reports that a waitpid(-1) got */
static atomic_bool ends;

static void *live(void *arg)
{
    shared->running++;
    for (;;)
        nap(1000);
    return arg;
}

/* A target: a child of ours, or of a child that has ended. */
static pid_t spawn(bool is_child)
{
    memset(shared, 0, sizeof *shared);
    const pid_t first = fork();
    if (first == 0 && (is_child || fork() == 0)) {
        pthread_t thread;
        shared->target = getpid();
        prctl(PR_SET_PDEATHSIG, is_child ? SIGKILL : 0);
        alarm(120); /* a test that fails leaves it behind */
        for (int i = 1; i < THREADS; i++)
            if (pthread_create(&thread, NULL, live, NULL) != 0)
                _exit(1);
        live(NULL);
    }
    if (first == 0)
        _exit(0);
    if (!is_child)
        assert_int_equal(waitpid(first, NULL, 0), first);
    while (shared->running < THREADS)
        nap(100);
    return shared->target;
}

static void be_told(int number)
{
    (void)number;
    told++;
}

/* As a program has it that starts others, and reaps whoever ends. */
static void *reap_all(void *arg)
{
    while (!ends) {
        int status;
        if (waitpid(-1, &status, WUNTRACED | WNOHANG) > 0)
            reaped++;
        nap(50);
    }
    return arg;
}

static void look(struct sw_process *process, int round)
{
    assert_int_equal(sw_process_capture(process, 0), SW_OK);
    assert_int_equal(sw_process_captured(process, NULL, 0), THREADS);
    assert_int_equal(sw_process_stop(process), SW_OK);
    assert_int_equal(sw_process_threads(process, NULL, 0), THREADS);
    nap(round % 3 == 0 ? 1000 : 0);
    assert_int_equal(sw_process_resume(process), SW_OK);
}

static void looks_at(pid_t target)
{
    struct sigaction before, count = { .sa_handler = be_told, .sa_flags = SA_RESTART };
    struct sw_process *process;
    pthread_t reaper;
    told = reaped = 0;
    ends = false;
    assert_int_equal(sigaction(SIGCHLD, &count, &before), 0);
    assert_int_equal(pthread_create(&reaper, NULL, reap_all, NULL), 0);
    assert_int_equal(sw_process_open(NULL, target, &process), SW_OK);
    for (int i = 0; i < LOOKS; i++)
        look(process, i);
    sw_process_close(process);
    ends = true;
    pthread_join(reaper, NULL);
    assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
}

static void stops_are_not_told_to_the_program(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    (void)state;
    const pid_t target = spawn(false);
    looks_at(target);
    kill(target, SIGKILL);
    assert_int_equal(told, 0);
    assert_int_equal(reaped, 0);
}

static void stops_of_a_child_are_not_told_to_its_parent(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    (void)state;
    const pid_t target = spawn(true);
    looks_at(target);
    assert_int_equal(told, 0);
    assert_int_equal(reaped, 0);
    kill(target, SIGKILL);
    assert_int_equal(waitpid(target, NULL, 0), target);
}

/* Its parent waits for it without letting it go first. */
static void a_child_that_is_killed_while_it_stands_is_reaped_by_its_parent(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    (void)state;
    for (int i = 0; i < KILLS; i++) {
        struct sw_process *process;
        int status = 0;
        const pid_t target = spawn(true);
        assert_int_equal(sw_process_open(NULL, target, &process), SW_OK);
        assert_int_equal(sw_process_stop(process), SW_OK);
        kill(target, SIGKILL);
        assert_int_equal(waitpid(target, &status, 0), target);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        assert_int_equal(sw_process_resume(process), SW_E_GONE);
        sw_process_close(process);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left to be waited for */
    assert_int_equal(errno, ECHILD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_are_not_told_to_the_program),
        cmocka_unit_test(stops_of_a_child_are_not_told_to_its_parent),
        cmocka_unit_test(a_child_that_is_killed_while_it_stands_is_reaped_by_its_parent),
    };
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    can_trace = host_can_trace();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
