/*
 * A process whose own seccomp filter does not allow restart_syscall, by which a system call that was stopped in its
 * sleep goes on: it is looked at and lives, and its sleeps end when they would have.
 */
#include "../support/nap.h"

#include <snapwalk/image.h>
#include <snapwalk/process.h>

#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include <cmocka.h>

#include "host.h"

enum { LOOKS = 500, KILLS = 100, SHORT_US = 300 };

static const struct timespec second = { 1, 0 }, moment = { 0, SHORT_US * 1000L };

/* ---- what sleeps: one thread each ---- */

/* Whose names are looked for: clang sees which one the main thread calls. */
#define NOINLINE __attribute__((noinline))

static atomic_int slept; /* so that no call is the last thing that a function does, and a jump */

static NOINLINE void sleep_a_second(void)
{
    slept += (int)nanosleep(&second, NULL);
}

static NOINLINE void poll_a_second(void)
{
    slept += (int)poll(NULL, 0, 1000);
}

static NOINLINE void futex_a_second(void)
{
    int word = 0;
    slept += (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &second, NULL, 0);
}

static NOINLINE void sleep_a_moment(void)
{
    slept += (int)nanosleep(&moment, NULL);
}

static NOINLINE void poll_for_ever(void)
{
    slept += (int)poll(NULL, 0, -1);
}

static NOINLINE void futex_for_ever(void)
{
    int word = 0;
    slept += (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static const struct sleeper {
    void (*sleep)(void);
    const char *name;
} sleepers[] = {
    { sleep_a_second, "sleep_a_second" }, { poll_a_second, "poll_a_second" }, { futex_a_second, "futex_a_second" },
    { sleep_a_moment, "sleep_a_moment" }, { poll_for_ever, "poll_for_ever" }, { futex_for_ever, "futex_for_ever" },
};

enum { SLEEPERS = sizeof sleepers / sizeof *sleepers, WITH_END = 4 };

static struct {
    atomic_int running;
    _Atomic uint64_t turns[SLEEPERS];
    uint64_t tid[SLEEPERS];
} * shared;

static bool can_filter, can_trace;

static bool refuse_restart(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_restart_syscall, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void *live(void *arg)
{
    const size_t number = (size_t)(uintptr_t)arg;
    shared->tid[number] = (uint64_t)syscall(SYS_gettid);
    shared->running++;
    for (;;) {
        sleepers[number].sleep();
        shared->turns[number]++;
    }
    return NULL;
}

static pid_t spawn(void)
{
    memset(shared, 0, sizeof *shared);
    const pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!refuse_restart())
            _exit(1);
        for (size_t i = 1; i < SLEEPERS; i++)
            if (pthread_create(&thread, NULL, live, (void *)(uintptr_t)i) != 0)
                _exit(2);
        live(NULL);
    }
    assert_true(child > 0);
    while (shared->running < SLEEPERS)
        nap(100);
    nap(20000); /* until they sleep: nothing depends on it */
    return child;
}

static void end(pid_t child)
{
    int status;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WTERMSIG(status), SIGKILL); /* and not SIGSYS */
}

static bool all_have_slept_out(void)
{
    for (size_t i = 0; i < WITH_END; i++)
        if (shared->turns[i] == 0)
            return false;
    return true;
}

/* Whether a walk comes through the function that a thread sleeps in. */
static bool walks_through(const struct sw_walker *walker, const struct sw_regs *regs, const char *function)
{
    struct sw_scratch scratch;
    uint64_t pcs[64], start;
    char name[64];
    const size_t count = sw_walk_addresses(walker, &scratch, regs, true, pcs, sizeof pcs / sizeof *pcs, NULL);
    for (size_t i = 0; i < count; i++)
        if (sw_images_name(walker->images, pcs[i] - (i > 0), name, sizeof name, &start) == SW_OK &&
            strcmp(name, function) == 0)
            return true;
    return false;
}

static void assert_stacks(struct sw_process *process, bool is_captured)
{
    struct sw_images *images;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_process_add_images(process, images), SW_OK);
    for (size_t i = 0; i < SLEEPERS; i++) {
        struct sw_walker walker;
        struct sw_regs regs;
        if (is_captured) {
            assert_int_equal(sw_process_captured_walker(process, shared->tid[i], NULL, images, &regs, &walker), SW_OK);
        } else {
            assert_int_equal(sw_process_regs(process, shared->tid[i], &regs), SW_OK);
            assert_int_equal(sw_process_walker(process, &regs, NULL, images, &walker), SW_OK);
        }
        /* What sleeps for a moment may be outside of its sleep, too. */
        if (sleepers[i].sleep != sleep_a_moment)
            assert_true(walks_through(&walker, &regs, sleepers[i].name));
    }
    sw_images_destroy(images);
}

/* Were a look to begin sleeps again, they would not end as long as it is looked. */
static void looks_end_neither_the_process_nor_draw_out_its_sleeps(void **state)
{
    HOST_NEEDS(can_trace && can_filter, "ptrace and seccomp");
    const pid_t child = spawn();
    struct sw_process *process;
    (void)state;
    assert_int_equal(sw_process_open(NULL, child, &process), SW_OK);
    for (int i = 0; i < LOOKS || !all_have_slept_out(); i++) {
        assert_int_equal(sw_process_capture(process, 0), SW_OK);
        assert_int_equal(sw_process_captured(process, NULL, 0) + sw_process_left_out(process, NULL, 0), SLEEPERS);
        nap(1000);
        assert_true(i < 60000);
    }
    assert_int_equal(sw_process_capture(process, 0), SW_OK);
    assert_stacks(process, true);
    sw_process_close(process);
    assert_true(shared->turns[SLEEPERS - 1] == 0 && shared->turns[SLEEPERS - 2] == 0);
    end(child);
}

static void a_stop_has_those_that_sleep(void **state)
{
    HOST_NEEDS(can_trace && can_filter, "ptrace and seccomp");
    const pid_t child = spawn();
    struct sw_process *process;
    (void)state;
    assert_int_equal(sw_process_open(NULL, child, &process), SW_OK);
    for (int i = 0; i < LOOKS || !all_have_slept_out(); i++) {
        assert_int_equal(sw_process_stop(process), SW_OK);
        assert_int_equal(sw_process_threads(process, NULL, 0) + sw_process_left_out(process, NULL, 0), SLEEPERS);
        if (i == 0)
            assert_stacks(process, false);
        assert_int_equal(sw_process_resume(process), SW_OK);
        nap(1000);
        assert_true(i < 60000);
    }
    sw_process_close(process);
    end(child);
}

static void single_threads_are_suspended_as_they_sleep(void **state)
{
    HOST_NEEDS(can_trace && can_filter, "ptrace and seccomp");
    const pid_t child = spawn();
    struct sw_process *process;
    (void)state;
    assert_int_equal(sw_process_open(NULL, child, &process), SW_OK);
    const struct sw_suspender suspender = sw_process_suspender(process);
    for (int i = 0; i < LOOKS; i++) {
        struct sw_regs regs;
        const uint64_t tid = shared->tid[i % SLEEPERS];
        assert_int_equal(suspender.suspend(suspender.arg, tid, &regs), SW_OK);
        assert_true(sw_regs_sp(&regs) != 0);
        assert_int_equal(suspender.resume(suspender.arg, tid), SW_OK);
    }
    sw_process_close(process);
    end(child);
}

/* Killed while the process stands, or a moment before or after. */
static void a_tool_that_is_killed_ends_nothing(void **state)
{
    HOST_NEEDS(can_trace && can_filter, "ptrace and seccomp");
    const pid_t child = spawn();
    (void)state;
    for (int i = 0; i < KILLS; i++) {
        int status;
        const pid_t tool = fork();
        if (tool == 0) {
            struct sw_process *process;
            if (sw_process_open(NULL, child, &process) != SW_OK || sw_process_stop(process) != SW_OK)
                _exit(1);
            raise(SIGKILL);
        }
        assert_int_equal(waitpid(tool, &status, 0), tool);
        assert_true(WIFSIGNALED(status));
    }
    nap(5000);
    end(child);
}

static bool try_filter(void)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0)
        _exit(refuse_restart() ? 0 : 1);
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_end_neither_the_process_nor_draw_out_its_sleeps),
        cmocka_unit_test(a_stop_has_those_that_sleep),
        cmocka_unit_test(single_threads_are_suspended_as_they_sleep),
        cmocka_unit_test(a_tool_that_is_killed_ends_nothing),
    };
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    can_trace = host_can_trace();
    can_filter = try_filter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
