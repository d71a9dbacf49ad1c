/*
 * Another process as a target: a child with threads is stopped, looked at and let go, and never notices.
 */
#include "../support/faults.h"
#include "../support/nap.h"
#include "target/linux/maps.h"
#include "target/linux/process.h"

#include <snapwalk/image.h>
#include <snapwalk/process.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "host.h"

enum { THREADS = 4 }; /* besides the main one */

/* What the child and the test both see. */
struct shared {
    atomic_int running;
    atomic_int signals;
    _Atomic uint64_t turns[THREADS + 1];
    _Atomic uint64_t births;
    uint64_t stack[THREADS + 1]; /* the address of a local variable of each thread */
    uint64_t tid[THREADS + 1];
    uint64_t magic;
    _Atomic pid_t child;
};

static struct shared *shared;
static bool can_trace;

static void count_signal(int number)
{
    (void)number;
    shared->signals++;
}

static void *live(void *arg)
{
    const size_t number = (size_t)(uintptr_t)arg;
    char name[16];
    snprintf(name, sizeof name, "worker %u", (unsigned)number);
    prctl(PR_SET_NAME, name);
    shared->stack[number] = (uint64_t)(uintptr_t)&name;
    shared->tid[number] = (uint64_t)gettid();
    shared->running++;
    for (;;) {
        shared->turns[number]++;
        if (number % 2)
            nap(1000);
    }
    return NULL;
}

static void *be_born(void *arg)
{
    shared->births++;
    return arg;
}

static void child_main(bool breeds)
{
    pthread_t thread;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGUSR1, count_signal);
    for (size_t i = 1; i <= THREADS; i++)
        if (pthread_create(&thread, NULL, live, (void *)(uintptr_t)i) != 0)
            _exit(1);
    while (breeds)
        if (pthread_create(&thread, NULL, be_born, NULL) == 0)
            pthread_join(thread, NULL);
    live(NULL);
}

static pid_t spawn(bool breeds)
{
    memset(shared, 0, sizeof *shared);
    shared->magic = 0x736e617077616c6b;
    const pid_t child = fork();
    if (child == 0)
        child_main(breeds);
    assert_true(child > 0);
    while (shared->running < THREADS + (breeds ? 0 : 1))
        nap(100);
    return child;
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static bool moves(size_t number)
{
    const uint64_t before = shared->turns[number];
    for (int i = 0; i < 60000 && shared->turns[number] == before; i++)
        nap(1000);
    return shared->turns[number] != before;
}

static bool stands(void)
{
    uint64_t before[THREADS + 1];
    for (size_t i = 0; i <= THREADS; i++)
        before[i] = shared->turns[i];
    nap(5000);
    for (size_t i = 0; i <= THREADS; i++)
        if (shared->turns[i] != before[i])
            return false;
    return true;
}

static struct sw_process *open_process(pid_t child)
{
    struct sw_process *process = NULL;
    assert_int_equal(sw_process_open(NULL, child, &process), SW_OK);
    return process;
}

static void all_threads_stand_are_seen_and_run_on(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    const pid_t child = spawn(false);
    struct sw_process *process = open_process(child);
    uint64_t tids[16];
    (void)state;
    for (int round = 0; round < 20; round++) {
        assert_int_equal(sw_process_stop(process), SW_OK);
        assert_int_equal(sw_process_threads(process, tids, 16), THREADS + 1);
        assert_true(round != 0 || stands());
        for (size_t i = 1; i <= THREADS; i++)
            assert_true(tids[i] > tids[i - 1]);
        assert_int_equal(sw_process_resume(process), SW_OK);
        assert_int_equal(sw_process_threads(process, NULL, 0), 0);
    }
    for (size_t i = 0; i <= THREADS; i++)
        assert_true(moves(i));
    sw_process_close(process);
    end(child);
}

static void registers_and_names_are_the_threads_own(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    const pid_t child = spawn(false);
    struct sw_process *process = open_process(child);
    (void)state;
    assert_int_equal(sw_process_stop(process), SW_OK);
    for (size_t i = 0; i <= THREADS; i++) {
        struct sw_regs regs;
        char name[32], expected[32];
        assert_int_equal(sw_process_regs(process, shared->tid[i], &regs), SW_OK);
        assert_true(sw_regs_sp(&regs) < shared->stack[i] + 64 && shared->stack[i] - sw_regs_sp(&regs) < 16384);
        assert_true(sw_regs_pc(&regs) != 0);
        snprintf(expected, sizeof expected, "worker %u", (unsigned)i);
        assert_int_equal(sw_process_thread_name(process, shared->tid[i], name, sizeof name), SW_OK);
        assert_string_equal(name, expected);
        assert_int_equal(sw_process_thread_name(process, shared->tid[i], name, 5), SW_OK);
        assert_string_equal(name, "work");
    }
    sw_process_close(process);
    assert_true(moves(1));
    end(child);
}

static void memory_is_read_and_ends_where_it_ends(void **state)
{
    const pid_t child = spawn(false);
    struct sw_process *process = open_process(child);
    const struct sw_memory memory = sw_process_memory(process);
    char *to = calloc(1, 1 << 20);
    uint64_t magic = 0;
    (void)state;
    assert_int_equal(memory.read(memory.arg, (uint64_t)(uintptr_t)&shared->magic, &magic, 8), 8);
    assert_true(magic == shared->magic);
    /* Nor is it taken for a device, which the kernel's name for shared memory ("/dev/zero (deleted)") looks like. */
    struct sw_images *images;
    magic = 0;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_process_add_images(process, images), SW_OK);
    assert_int_equal(memory.read(memory.arg, (uint64_t)(uintptr_t)&shared->magic, &magic, 8), 8);
    assert_true(magic == shared->magic);
    sw_images_destroy(images);
    assert_int_equal(memory.read(memory.arg, 0, to, 8), 0);
    assert_int_equal(memory.read(memory.arg, UINT64_MAX - 3, to, 8), 0);
    assert_int_equal(memory.read(memory.arg, 0xffff800000000000, to, 8), 0);
    const size_t got = memory.read(memory.arg, (uint64_t)(uintptr_t)shared, to, 1 << 20);
    assert_true(got >= 4096 && got <= 1 << 20);
    free(to);
    sw_process_close(process);
    end(child);
}

static void a_walker_has_the_stack_as_window(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    const pid_t child = spawn(false);
    struct sw_process *process = open_process(child);
    (void)state;
    assert_int_equal(sw_process_stop(process), SW_OK);
    for (size_t i = 0; i <= THREADS; i++) {
        struct sw_walker walker;
        struct sw_regs regs;
        char direct[512];
        assert_int_equal(sw_process_regs(process, shared->tid[i], &regs), SW_OK);
        assert_int_equal(sw_process_walker(process, &regs, NULL, NULL, &walker), SW_OK);
        const struct sw_window *window = &walker.memory.window;
        const uint64_t sp = sw_regs_sp(&regs);
        assert_true(window->begin <= sp && sp + sizeof direct <= window->end);
        assert_true(walker.stack_begin <= window->begin && window->end <= walker.stack_end);
        assert_true(shared->stack[i] >= window->begin && shared->stack[i] < window->end);
        assert_int_equal(walker.memory.read(walker.memory.arg, sp, direct, sizeof direct), sizeof direct);
        assert_memory_equal(direct, window->bytes + (sp - window->begin), sizeof direct);
        /* A garbage sp is no window, and no failure. */
        sw_regs_set(&regs, sw_regs_sp_number(regs.machine), 16);
        assert_int_equal(sw_process_walker(process, &regs, NULL, NULL, &walker), SW_OK);
        assert_int_equal(walker.memory.window.begin, walker.memory.window.end);
    }
    sw_process_close(process);
    end(child);
}

static void signals_of_the_process_are_not_lost(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    enum { ROUNDS = 50 };
    const pid_t child = spawn(false);
    struct sw_process *process = open_process(child);
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        /* Standard signals do not queue, so each has to arrive before the next one is sent. */
        const int before = shared->signals;
        kill(child, SIGUSR1);
        assert_int_equal(sw_process_stop(process), SW_OK);
        assert_int_equal(sw_process_resume(process), SW_OK);
        for (int wait = 0; wait < 60000 && shared->signals == before; wait++)
            nap(1000);
        assert_int_equal(shared->signals, before + 1);
    }
    assert_int_equal(sw_process_stop(process), SW_OK);
    kill(child, SIGUSR1);
    sw_process_close(process);
    for (int wait = 0; wait < 60000 && shared->signals == ROUNDS; wait++)
        nap(1000);
    assert_int_equal(shared->signals, ROUNDS + 1);
    end(child);
}

/* Stops the process when there is a signal on its way to it, and is killed while it stands. */
static void stop_and_die(pid_t child)
{
    struct sw_process *process;
    if (sw_process_open(NULL, child, &process) != SW_OK)
        _exit(1);
    kill(child, SIGUSR1);
    if (sw_process_stop(process) != SW_OK)
        _exit(1);
    raise(SIGKILL);
}

static void signals_are_not_lost_when_the_tool_is_killed(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    const pid_t child = spawn(false);
    (void)state;
    for (int i = 0; i < 200; i++) {
        const int before = shared->signals;
        int status;
        const pid_t tool = fork();
        if (tool == 0)
            stop_and_die(child);
        assert_int_equal(waitpid(tool, &status, 0), tool);
        assert_true(WIFSIGNALED(status));
        for (int wait = 0; wait < 10000 && shared->signals == before; wait++)
            nap(1000);
        assert_int_equal(shared->signals, before + 1);
    }
    assert_true(moves(1));
    end(child);
}

static void a_process_stopped_by_job_control_stays_stopped(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    const pid_t child = spawn(false);
    struct sw_process *process = open_process(child);
    int status;
    (void)state;
    kill(child, SIGSTOP);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    assert_int_equal(sw_process_stop(process), SW_OK);
    assert_int_equal(sw_process_threads(process, NULL, 0), THREADS + 1);
    sw_process_close(process);
    nap(2000); /* the threads go from the tracer's stop to the group's */
    assert_true(stands());
    kill(child, SIGCONT);
    assert_true(moves(1));
    end(child);
}

static void threads_that_are_born_meanwhile_are_caught(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    const pid_t child = spawn(true);
    struct sw_process *process = open_process(child);
    (void)state;
    for (int i = 0; i < 30; i++) {
        assert_int_equal(sw_process_stop(process), SW_OK);
        const size_t count = sw_process_threads(process, NULL, 0);
        assert_in_range(count, THREADS + 1, THREADS + 2);
        const uint64_t before = shared->births;
        nap(2000);
        assert_true(shared->births == before);
        assert_int_equal(sw_process_resume(process), SW_OK);
    }
    sw_process_close(process);
    end(child);
}

static void single_threads_are_suspended_and_nest(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    const pid_t child = spawn(false);
    struct sw_process *process = open_process(child);
    const struct sw_suspender s = sw_process_suspender(process);
    struct sw_regs regs;
    (void)state;
    assert_int_equal(s.suspend(s.arg, shared->tid[2], &regs), SW_OK);
    assert_int_equal(s.suspend(s.arg, shared->tid[2], &regs), SW_OK);
    assert_int_equal(s.resume(s.arg, shared->tid[2]), SW_OK);
    const uint64_t before = shared->turns[2];
    assert_true(moves(1));
    assert_true(shared->turns[2] == before);
    /* A stop of all and its end leave the suspend alone. */
    assert_int_equal(sw_process_stop(process), SW_OK);
    assert_int_equal(sw_process_threads(process, NULL, 0), THREADS + 1);
    assert_int_equal(sw_process_resume(process), SW_OK);
    assert_true(moves(1));
    assert_true(shared->turns[2] == before);
    assert_int_equal(s.resume(s.arg, shared->tid[2]), SW_OK);
    assert_true(moves(2));
    assert_int_equal(s.resume(s.arg, shared->tid[2]), SW_E_NOT_FOUND);
    assert_int_equal(s.suspend(s.arg, 0, &regs), SW_E_ARGUMENT);
    assert_int_equal(s.suspend(s.arg, (uint64_t)getpid(), &regs), SW_E_GONE);
    assert_int_equal(s.current(s.arg), 0);
    assert_int_equal(s.capture(s.arg, &regs), SW_E_UNSUPPORTED);
    sw_process_close(process);
    end(child);
}

static void a_process_killed_while_stopped_is_gone(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    const pid_t child = spawn(false);
    struct sw_process *process = open_process(child);
    const uint64_t tid = shared->tid[1];
    struct sw_regs regs;
    int status;
    (void)state;
    assert_int_equal(sw_process_stop(process), SW_OK);
    kill(child, SIGKILL);
    enum sw_status seen = SW_OK;
    for (int i = 0; i < 60000 && seen == SW_OK; i++) {
        seen = sw_process_regs(process, tid, &regs);
        nap(1000);
    }
    assert_int_equal(seen, SW_E_GONE);
    assert_int_equal(sw_process_resume(process), SW_E_GONE);
    assert_int_equal(sw_process_stop(process), SW_E_GONE);
    sw_process_close(process);
    /* The parent still hears of the end of its child. */
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void a_process_that_is_not_there_is_gone(void **state)
{
    struct sw_process *process = NULL;
    (void)state;
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(sw_process_open(NULL, child, &process), SW_E_GONE); /* a zombie */
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(sw_process_open(NULL, child, &process), SW_E_GONE);
    assert_null(process);
}

/* On its way from running to a zombie it has no executable any more. */
static void a_process_that_ends_is_there_or_gone(void **state)
{
    struct sw_process *process = NULL;
    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        enum sw_status status;
        const pid_t child = fork();
        if (child == 0)
            _exit(0);
        while ((status = sw_process_open(NULL, child, &process)) == SW_OK)
            sw_process_close(process);
        assert_int_equal(status, SW_E_GONE);
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
}

static void a_kernel_thread_is_unsupported(void **state)
{
    struct sw_process *process = NULL;
    (void)state;
    if (!sw_process_is_of_kernel(2))
        skip(); /* in a container it is another process */
    assert_int_equal(sw_process_open(NULL, 2, &process), SW_E_UNSUPPORTED);
}

static void bad_arguments_are_refused(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    struct sw_process *process = NULL;
    struct sw_images *images = NULL;
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    struct sw_walker walker;
    char name[8];
    (void)state;
    assert_int_equal(sw_process_open(NULL, 0, &process), SW_E_ARGUMENT);
    assert_int_equal(sw_process_open(NULL, -1, &process), SW_E_ARGUMENT);
    assert_int_equal(sw_process_open(NULL, getpid(), &process), SW_E_ARGUMENT);
    assert_int_equal(sw_process_open(NULL, 1, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_process_stop(NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_process_resume(NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_process_threads(NULL, NULL, 0), 0);
    assert_int_equal(sw_process_add_images(NULL, images), SW_E_ARGUMENT);
    assert_int_equal(sw_process_walker(NULL, &regs, NULL, NULL, &walker), SW_E_ARGUMENT);
    assert_null(sw_process_memory(NULL).read);
    sw_process_close(NULL);
    const pid_t child = spawn(false);
    process = open_process(child);
    assert_int_equal(sw_process_regs(process, shared->tid[1], &regs), SW_E_NOT_FOUND); /* not stopped */
    assert_int_equal(sw_process_stop(process), SW_OK);
    assert_int_equal(sw_process_regs(process, 1, &regs), SW_E_NOT_FOUND);
    assert_int_equal(sw_process_regs(process, shared->tid[1], NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_process_thread_name(process, 1, name, 8), SW_E_NOT_FOUND);
    assert_int_equal(sw_process_thread_name(process, shared->tid[1], name, 0), SW_E_ARGUMENT);
    regs.known = 0;
    assert_int_equal(sw_process_walker(process, &regs, NULL, NULL, &walker), SW_E_ARGUMENT);
    assert_int_equal(sw_process_add_images(process, NULL), SW_E_ARGUMENT);
    sw_process_close(process);
    end(child);
}

static void images_of_the_process_are_found_and_named(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    const pid_t child = spawn(false);
    struct sw_process *process = open_process(child);
    struct sw_images *images = NULL;
    struct sw_image image;
    uint64_t start = 0;
    char name[64];
    (void)state;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_process_stop(process), SW_OK);
    assert_int_equal(sw_process_add_images(process, images), SW_OK);
    /* It was forked: its code is where ours is. */
    const uint64_t function = (uint64_t)(uintptr_t)&live;
    assert_int_equal(sw_images_name(images, function + 4, name, sizeof name, &start), SW_OK);
    assert_string_equal(name, "live");
    assert_true(start == function);
    assert_int_equal(sw_images_find(images, (uint64_t)(uintptr_t)&getppid, &image), SW_OK);
    assert_non_null(strstr(image.path, "libc"));
    /* Nothing has changed, so nothing changes. */
    const uint64_t generation = sw_images_generation(images);
    assert_int_equal(sw_process_add_images(process, images), SW_OK);
    assert_true(sw_images_generation(images) == generation);
    sw_process_close(process);
    sw_images_destroy(images);
    end(child);
}

static int read_a_byte(void *file)
{
    char byte;
    return read(*(int *)file, &byte, 1) != 1;
}

/* A process one of whose threads is the kernel's. False: this system makes none. */
static bool spawn_with_kernel_thread(pid_t *child, uint64_t *tid)
{
    struct io_uring_params params = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 600000 };
    shared->running = 0;
    *child = fork();
    if (*child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        shared->running = syscall(SYS_io_uring_setup, 8, &params) >= 0 ? 1 : 2;
        for (;;)
            pause();
    }
    while (!shared->running)
        nap(100);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)*child);
    DIR *tasks = opendir(path);
    assert_non_null(tasks);
    *tid = 0;
    for (const struct dirent *task; (task = readdir(tasks)) != NULL;)
        if (atoi(task->d_name) > 0 && atoi(task->d_name) != *child)
            *tid = (uint64_t)atoi(task->d_name);
    closedir(tasks);
    if (!*tid)
        end(*child);
    return *tid != 0;
}

/* It has run no code of the program: what its maker had in registers is no stack of it. */
static void a_thread_of_the_kernel_has_no_stack(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    struct sw_scratch *scratch = malloc(sizeof *scratch);
    struct sw_walker walker;
    struct sw_regs regs;
    struct sw_walk walk;
    pid_t child;
    uint64_t tid;
    (void)state;
    HOST_NEEDS(spawn_with_kernel_thread(&child, &tid), "io_uring with a thread of the kernel");
    struct sw_process *process = open_process(child);
    assert_int_equal(sw_process_capture(process, 0), SW_OK);
    assert_int_equal(sw_process_captured_walker(process, tid, NULL, NULL, &regs, &walker), SW_OK);
    sw_walk_start(&walk, &walker, scratch, &regs, true);
    assert_false(sw_walk_next(&walk));
    assert_int_equal(walk.stop, SW_STOP_BAD_START);
    assert_int_equal(sw_process_stop(process), SW_OK);
    assert_int_equal(sw_process_regs(process, tid, &regs), SW_OK);
    assert_int_equal(sw_process_walker(process, &regs, NULL, NULL, &walker), SW_OK);
    sw_walk_start(&walk, &walker, scratch, &regs, true);
    assert_false(sw_walk_next(&walk));
    assert_int_equal(walk.stop, SW_STOP_BAD_START);
    assert_int_equal(sw_process_regs(process, (uint64_t)child, &regs), SW_OK);
    assert_true(sw_regs_has(&regs, sw_regs_pc_number(regs.machine)));
    sw_process_close(process);
    free(scratch);
    end(child);
}

/* NOT_LEFT_OUT: the thread is not in the list, which ascends. */
enum { NOT_LEFT_OUT = 99 };
static unsigned why_left_out(const struct sw_process *process, uint64_t tid)
{
    struct sw_left_out threads[8];
    const size_t count = sw_process_left_out(process, threads, 8);
    unsigned why = NOT_LEFT_OUT;
    assert_true(count <= 8);
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || threads[i - 1].tid < threads[i].tid);
        assert_string_not_equal(sw_left_out_text(threads[i].why), "?");
        why = threads[i].tid == tid ? threads[i].why : why;
    }
    return why;
}

/* Somebody else's child: its end is told to its parent, not to us. */
static void the_parent_of_a_process_killed_while_stopped_hears_of_it(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    struct sw_regs regs;
    (void)state;
    memset(shared, 0, sizeof *shared);
    const pid_t parent = fork();
    if (parent == 0) {
        int status;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const pid_t child = fork();
        if (child == 0)
            child_main(false);
        shared->child = child;
        _exit(waitpid(child, &status, 0) == child && WIFSIGNALED(status) ? 9 : 10);
    }
    while (shared->running < THREADS + 1 || !shared->child)
        nap(100);
    struct sw_process *process = open_process(shared->child);
    assert_int_equal(sw_process_stop(process), SW_OK);
    assert_int_equal(sw_process_threads(process, NULL, 0), THREADS + 1);
    kill(shared->child, SIGKILL);
    for (int i = 0; i < 60000 && sw_process_regs(process, shared->tid[1], &regs) != SW_E_GONE; i++)
        nap(1000);
    sw_process_close(process);
    int status;
    assert_int_equal(waitpid(parent, &status, 0), parent);
    assert_int_equal(WEXITSTATUS(status), 9);
}

static uint64_t code_of_deleted_file(pid_t child, struct sw_map *code)
{
    static char text[1 << 16];
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)child);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    struct sw_maps_text rows = { text, text + size, 0 };
    while (sw_maps_next(&rows, code))
        if (code->executable && code->path_size > 10 &&
            memcmp(code->path + code->path_size - 10, " (deleted)", 10) == 0)
            return code->begin;
    return 0;
}

static void an_image_whose_file_was_deleted_is_found(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    char path[] = "/tmp/snapwalk-deleted-XXXXXX";
    static char bytes[1 << 20];
    struct sw_images *images = NULL;
    struct sw_image image;
    struct sw_map code;
    char link[80];
    (void)state;
    const int copy = mkstemp(path);
    FILE *from = fopen("/bin/sleep", "r");
    assert_true(copy >= 0 && from);
    const size_t size = fread(bytes, 1, sizeof bytes, from);
    fclose(from);
    assert_int_equal(write(copy, bytes, size), size);
    assert_int_equal(fchmod(copy, 0755), 0);
    close(copy);
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(path, path, "100", (char *)NULL);
        _exit(1);
    }
    snprintf(link, sizeof link, "/proc/%d/exe", (int)child);
    char target[80] = "";
    while (strncmp(target, path, sizeof path - 1) != 0) {
        nap(1000);
        assert_true(readlink(link, target, sizeof target - 1) > 0);
    }
    nap(20000);
    unlink(path);
    struct sw_process *process = open_process(child);
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_process_stop(process), SW_OK);
    assert_int_equal(sw_process_add_images(process, images), SW_OK);
    const uint64_t at = code_of_deleted_file(child, &code);
    assert_true(at != 0);
    assert_int_equal(sw_images_find(images, at, &image), SW_OK); /* to open a program's own file takes no right */
    sw_process_close(process);
    sw_images_destroy(images);
    end(child);
}

/* ------------------------------------------------------------------ what is forbidden */

/* In a child, which becomes user 65534 and looks. Returns  What it found: status * 16 + obstacle. */
static int look_as_nobody(pid_t child)
{
    struct sw_process *process = NULL;
    int status;
    const pid_t tool = fork();
    if (tool == 0) {
        if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
            _exit(255);
        enum sw_status seen = sw_process_open(NULL, child, &process);
        if (seen == SW_OK)
            seen = sw_process_capture(process, 0);
        _exit((seen == SW_E_PERMISSION) * 16 + (int)sw_process_find_obstacle(child, NULL));
    }
    assert_int_equal(waitpid(tool, &status, 0), tool);
    return WEXITSTATUS(status);
}

static pid_t spawn_user(bool is_dumpable)
{
    memset(shared, 0, sizeof *shared);
    const pid_t child = fork();
    if (child == 0) {
        if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
            _exit(1);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* another user has none any more */
        prctl(PR_SET_DUMPABLE, is_dumpable);
        live(NULL);
    }
    while (shared->running < 1)
        nap(100);
    return child;
}

/* What is in the way of a tool under a filter that allows everything. */
static int look_filtered(pid_t target)
{
    const pid_t tool = fork();
    int status;
    if (tool == 0) {
        struct sock_filter allow = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW };
        const struct sock_fprog program = { 1, &allow };
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
            _exit(99);
        _exit((int)sw_process_find_obstacle(target, NULL));
    }
    assert_int_equal(waitpid(tool, &status, 0), tool);
    return WEXITSTATUS(status);
}

/* Not in a container. */
static bool sees_kernel_threads(void)
{
    char text[64] = "";
    FILE *file = fopen("/proc/2/comm", "r");
    const bool is_there = file && fgets(text, sizeof text, file);
    if (file)
        fclose(file);
    return is_there && strcmp(text, "kthreadd\n") == 0;
}

static void what_forbids_a_look_is_told(void **state)
{
    HOST_NEEDS(can_trace && geteuid() == 0, "ptrace, and to be root");
    struct sw_process *process = NULL;
    int tracer = 0, status;
    (void)state;
    pid_t child = spawn(false);
    assert_int_equal(look_as_nobody(child), 16 + SW_OBSTACLE_OTHER_USER);
    assert_int_equal(sw_process_find_obstacle(2, &tracer) == SW_OBSTACLE_KERNEL, sees_kernel_threads());
    assert_int_equal(look_filtered(child), SW_OBSTACLE_FILTER);
    /* Traced by a debugger, which stays its tracer and sees nothing of the try. */
    const pid_t debugger = fork();
    if (debugger == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (size_t i = 0; i <= THREADS; i++)
            if (ptrace(PTRACE_SEIZE, (pid_t)shared->tid[i], NULL, NULL) != 0)
                _exit(1);
        shared->births = 1;
        for (;;)
            pause();
    }
    while (shared->births == 0)
        nap(100);
    process = open_process(child);
    assert_int_equal(sw_process_capture(process, 0), SW_E_PERMISSION);
    assert_int_equal(sw_process_find_obstacle(child, &tracer), SW_OBSTACLE_TRACED);
    assert_int_equal(tracer, debugger);
    assert_true(moves(0) && moves(1));
    end(debugger);
    assert_int_equal(sw_process_capture(process, 0), SW_OK);
    sw_process_close(process);
    end(child);
    child = spawn_user(false);
    assert_int_equal(look_as_nobody(child), 16 + SW_OBSTACLE_MORE_RIGHTS);
    end(child);
    child = spawn_user(true);
    status = look_as_nobody(child);
    assert_true(status == SW_OBSTACLE_NONE || status == SW_OBSTACLE_FILTER || status == 16 + SW_OBSTACLE_SCOPE);
    end(child);
    for (int i = 0; i <= SW_OBSTACLE_FILTER; i++)
        assert_true(strlen(sw_process_obstacle_text((enum sw_process_obstacle)i)) > 10);
    assert_string_equal(sw_process_obstacle_text((enum sw_process_obstacle)99), "?");
}

/* A thread of another user in another root: the tool has no rights but the user's. */
static void files_are_found_in_the_root_of_the_process(void **state)
{
    HOST_NEEDS(can_trace && geteuid() == 0, "ptrace, and to be root");
    char folder[] = "/tmp/snapwalk-root-XXXXXX";
    int status;
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0755), 0);
    memset(shared, 0, sizeof *shared);
    const pid_t child = fork();
    if (child == 0) {
        if (chroot(folder) != 0 || chdir("/") != 0 || setresuid(65534, 65534, 65534) != 0)
            _exit(1);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_DUMPABLE, 1);
        live(NULL);
    }
    while (shared->running < 1)
        nap(100);
    const pid_t tool = fork();
    if (tool == 0) {
        struct sw_process *process = NULL;
        struct sw_images *images = NULL;
        struct sw_image image;
        if (setresuid(65534, 65534, 65534) != 0 || sw_process_open(NULL, child, &process) != SW_OK)
            _exit(3);
        _exit(sw_images_create(NULL, &images) != SW_OK || sw_process_add_images(process, images) != SW_OK ||
              sw_images_find(images, (uint64_t)(uintptr_t)&getppid, &image) != SW_OK);
    }
    assert_int_equal(waitpid(tool, &status, 0), tool);
    end(child);
    rmdir(folder);
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ------------------------------------------------------------------ threads that do not stop */

/* Whether some thread of it is traced by anybody. */
static bool is_traced(pid_t child, uint64_t tid)
{
    char path[80], line[128];
    int tracer = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)child, (int)tid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) && sscanf(line, "TracerPid: %d", &tracer) != 1)
        continue;
    fclose(file);
    return tracer != 0;
}

/* In the kernel for half a second, again and again: only a fatal signal ends such a call early. */
static void *stay_in_kernel(void *arg)
{
    enum { POPULATE_READ = 22 };
    const size_t size = (size_t)4 << 30;
    void *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    shared->tid[1] = (uint64_t)gettid();
    shared->running++;
    while (at != MAP_FAILED && madvise(at, size, MADV_NOHUGEPAGE) == 0 && madvise(at, size, POPULATE_READ) == 0) {
        madvise(at, size, MADV_DONTNEED);
        shared->turns[1]++;
    }
    shared->magic = 1; /* it cannot be had here */
    return arg;
}

static pid_t spawn_with(void *(*run)(void *))
{
    memset(shared, 0, sizeof *shared);
    const pid_t child = fork();
    pthread_t thread;
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (pthread_create(&thread, NULL, run, NULL) == 0)
            live(NULL);
        _exit(1);
    }
    while (shared->running < 2)
        nap(100);
    return child;
}

static void a_thread_busy_in_the_kernel_is_left_out_and_let_go(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    const pid_t child = spawn_with(stay_in_kernel);
    const bool is_busy = shared->magic == 0;
    struct sw_process *process = open_process(child);
    const struct sw_suspender s = sw_process_suspender(process);
    struct sw_regs regs;
    unsigned left_out = 0;
    (void)state;
    for (int i = 0; i < 5 && is_busy; i++) {
        const uint64_t tid = shared->tid[1];
        assert_int_equal(sw_process_capture(process, 0), SW_OK);
        const bool is_left_out = sw_process_captured(process, NULL, 0) == 1;
        const unsigned why = why_left_out(process, tid);
        left_out += is_left_out;
        assert_true(is_left_out ? why == SW_LEFT_OUT_STAYS || why == SW_LEFT_OUT_SLEEPS : why == NOT_LEFT_OUT);
        assert_int_equal(why_left_out(process, (uint64_t)child), NOT_LEFT_OUT);
        assert_false(is_traced(child, tid));
        assert_false(is_traced(child, (uint64_t)child));
        if (s.suspend(s.arg, tid, &regs) == SW_OK)
            assert_int_equal(s.resume(s.arg, tid), SW_OK);
        assert_false(is_traced(child, tid));
        assert_true(moves(0));
    }
    assert_true(!is_busy || shared->magic || left_out);
    assert_true(!is_busy || moves(1));
    sw_process_close(process);
    end(child);
}

static void *wait_for_ever(void *arg)
{
    for (;;)
        pause();
    return arg;
}

/* The kernel ends the threads first, and waits for those that are traced: nobody may wait for it then. */
static void a_process_that_begins_another_program_goes_on(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    pthread_t thread;
    (void)state;
    for (int round = 0; round < 40; round++) {
        char name[16] = "";
        memset(shared, 0, sizeof *shared);
        const pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (int i = 0; i < 8; i++)
                pthread_create(&thread, NULL, wait_for_ever, NULL);
            shared->running = 1;
            nap(round * 50);
            execl("/bin/sleep", "sleep", "100", (char *)NULL);
            _exit(1);
        }
        while (shared->running == 0)
            nap(100);
        struct sw_process *process = open_process(child);
        while (strcmp(name, "sleep") != 0) {
            const enum sw_status status = sw_process_capture(process, 0);
            assert_true(status == SW_OK || status == SW_E_BUSY);
            if (status != SW_OK || sw_process_thread_name(process, (uint64_t)child, name, sizeof name) != SW_OK)
                nap(10);
        }
        sw_process_close(process);
        end(child);
    }
}

/* ------------------------------------------------------------------ a stack whose faults another thread handles */

/* There are pages above sp that nothing has touched. */
static void *live_over_a_hole(void *arg)
{
    volatile char hole[1 << 16];
    hole[0] = 1;
    shared->births = (uint64_t)(uintptr_t)&hole[1 << 15];
    live(NULL);
    return arg;
}

static _Noreturn void child_with_handled_stack(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!start_over_faults(live_over_a_hole))
        shared->running = -1;
    for (;;)
        pause();
}

/* A read that waited for the handler, which stands, would wait for ever. */
static void a_stack_whose_faults_the_process_handles_is_read_without_waiting(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    uint64_t word;
    (void)state;
    memset(shared, 0, sizeof *shared);
    const pid_t child = fork();
    if (child == 0)
        child_with_handled_stack();
    while (shared->running == 0)
        nap(100);
    const bool has_faults = shared->running > 0;
    struct sw_process *process = open_process(child);
    const struct sw_memory memory = sw_process_memory(process);
    for (int i = 0; i < 5 && has_faults; i++) {
        assert_int_equal(sw_process_capture(process, 0), SW_OK);
        assert_int_equal(sw_process_captured(process, NULL, 0), 3);
        assert_int_equal(sw_process_stop(process), SW_OK);
        assert_int_equal(memory.read(memory.arg, shared->births, &word, sizeof word), 0);
        assert_int_equal(sw_process_resume(process), SW_OK);
        assert_true(moves(0));
    }
    sw_process_close(process);
    end(child);
    HOST_NEEDS(has_faults, "userfaultfd");
}

/* ------------------------------------------------------------------ a process without its main thread */

static void *start_and_live(void *arg)
{
    nap(1000);
    return live(arg);
}

static void a_process_whose_main_thread_has_ended_is_there(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    struct sw_process *process = NULL;
    struct sw_images *images = NULL;
    struct sw_image image;
    uint64_t tids[4];
    char name[32];
    pthread_t thread;
    (void)state;
    memset(shared, 0, sizeof *shared);
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pthread_create(&thread, NULL, start_and_live, (void *)1);
        pthread_create(&thread, NULL, start_and_live, (void *)2);
        syscall(SYS_exit, 0);
    }
    while (shared->running < 2)
        nap(100);
    assert_int_equal(sw_process_open(NULL, child, &process), SW_OK);
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_process_capture(process, 0), SW_OK);
    assert_int_equal(sw_process_captured(process, tids, 4), 2);
    assert_int_equal(sw_process_add_images(process, images), SW_OK);
    assert_int_equal(sw_images_find(images, (uint64_t)(uintptr_t)&getppid, &image), SW_OK);
    assert_int_equal(sw_process_thread_name(process, tids[0], name, sizeof name), SW_OK);
    assert_int_equal(sw_process_stop(process), SW_OK);
    assert_int_equal(sw_process_resume(process), SW_OK);
    assert_true(moves(1) && moves(2));
    sw_process_close(process);
    sw_images_destroy(images);
    end(child);
}

/* ------------------------------------------------------------------ captures */

enum { FRAMES = 64 };

struct stack {
    size_t count;
    enum sw_stop stop;
    uint64_t pc[FRAMES];
    uint64_t sp[FRAMES];
};

static bool note_frame(void *arg, const struct sw_frame *frame)
{
    struct stack *stack = arg;
    stack->pc[stack->count] = sw_regs_pc(&frame->regs);
    stack->sp[stack->count++] = sw_regs_sp(&frame->regs);
    return stack->count < FRAMES;
}

static struct stack walk(const struct sw_walker *walker, const struct sw_regs *regs)
{
    static struct sw_scratch scratch;
    struct stack stack = { 0 };
    stack.stop = sw_walk_all(walker, &scratch, regs, note_frame, &stack);
    return stack;
}

static struct stack walk_captured(struct sw_process *process, uint64_t tid, const struct sw_images *images)
{
    struct sw_walker walker;
    struct sw_regs regs;
    assert_int_equal(sw_process_captured_walker(process, tid, NULL, images, &regs, &walker), SW_OK);
    return walk(&walker, &regs);
}

/* The walk comes from the system call to its caller, of which rbp is not known. */
static void assert_captured_in_clone(struct sw_process *process, uint64_t tid)
{
    uint64_t captured;
    struct sw_images *images = NULL;
    char name[64];
    uint64_t start;
    assert_int_equal(sw_process_captured(process, &captured, 1), 1);
    assert_int_equal(captured, tid);
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_process_add_images(process, images), SW_OK);
    const struct stack stack = walk_captured(process, tid, images);
    assert_true(stack.count >= 2);
    assert_int_equal(sw_images_name(images, stack.pc[1] - 1, name, sizeof name, &start), SW_OK);
    assert_string_equal(name, "a_thread_that_cannot_be_stopped_is_told_and_left_alone");
    sw_images_destroy(images);
}

/*
 * A parent in vfork cannot be stopped before its child is done. Its stack does not change either, and is captured where
 * the kernel tells of it.
 */
static void a_thread_that_cannot_be_stopped_is_told_and_left_alone(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    struct sw_process *process = NULL;
    int ends[2];
    char byte = 0;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    shared->running = 0;
    const pid_t parent = fork();
    if (parent == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        shared->running = 1;
        static _Alignas(16) char stack[16384];
        _exit(clone(read_a_byte, stack + sizeof stack, CLONE_VFORK | SIGCHLD, &ends[0]) > 0 ? 7 : 8);
    }
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)parent);
    while (!strstr(text, ") D ")) {
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        assert_non_null(fgets(text, sizeof text, file));
        fclose(file);
        nap(100);
    }
    process = open_process(parent);
    assert_int_equal(sw_process_stop(process), SW_E_BUSY);
    assert_int_equal(why_left_out(process, (uint64_t)parent), SW_LEFT_OUT_SLEEPS);
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)parent);
    const bool is_told = access(path, R_OK) == 0;
    assert_int_equal(sw_process_capture(process, 0), is_told ? SW_OK : SW_E_BUSY);
    assert_int_equal(why_left_out(process, (uint64_t)parent), is_told ? NOT_LEFT_OUT : SW_LEFT_OUT_SLEEPS);
    if (is_told)
        assert_captured_in_clone(process, (uint64_t)parent);
    assert_int_equal(sw_process_thread_name(process, (uint64_t)parent, text, sizeof text), SW_OK);
    sw_process_close(process);
    assert_int_equal(write(ends[1], &byte, 1), 1);
    int status;
    assert_int_equal(waitpid(parent, &status, 0), parent);
    assert_int_equal(WEXITSTATUS(status), 7); /* it went on as if nothing had been */
    close(ends[0]);
    close(ends[1]);
}

/* A thread in a handler on an alternate stack, called where `live` would be. */
static void spin_in_handler(int number)
{
    (void)number;
    shared->running++;
    for (;;)
        shared->turns[0]++;
}

static void *live_on_two_stacks(void *arg)
{
    const stack_t other = { .ss_sp = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                            .ss_size = 1 << 16 };
    struct sigaction action = { .sa_handler = spin_in_handler, .sa_flags = SA_ONSTACK };
    sigaltstack(&other, NULL);
    sigaction(SIGUSR2, &action, NULL);
    pthread_kill(pthread_self(), SIGUSR2);
    return arg;
}

/* Stopped by job control, so that both see the same. In a handler: the main thread, and another one. */
static pid_t spawn_stopped(bool in_handler)
{
    memset(shared, 0, sizeof *shared);
    const pid_t child = in_handler ? fork() : spawn(false);
    pthread_t thread;
    int status;
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (pthread_create(&thread, NULL, live_on_two_stacks, NULL) == 0)
            live_on_two_stacks(NULL);
        _exit(1);
    }
    while (shared->running < 2)
        nap(100);
    nap(20000);
    kill(child, SIGSTOP);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    return child;
}

static void captured_walk_is_the_stopped_walk(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    const bool in_handler = *state != NULL;
    const pid_t child = spawn_stopped(in_handler);
    struct sw_process *process = open_process(child);
    struct sw_images *images = NULL;
    uint64_t tids[16], stopped[16];
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_process_capture(process, 0), SW_OK);
    assert_int_equal(sw_process_add_images(process, images), SW_OK);
    const size_t count = sw_process_captured(process, tids, 16);
    assert_int_equal(count, in_handler ? 2 : THREADS + 1);
    nap(2000);
    assert_int_equal(sw_process_stop(process), SW_OK);
    assert_int_equal(sw_process_threads(process, stopped, 16), count);
    for (size_t i = 0; i < count; i++) {
        struct sw_walker walker;
        struct sw_regs regs;
        assert_true(tids[i] == stopped[i]);
        assert_int_equal(sw_process_regs(process, tids[i], &regs), SW_OK);
        assert_int_equal(sw_process_walker(process, &regs, NULL, images, &walker), SW_OK);
        const struct stack expected = walk(&walker, &regs);
        const struct stack found = walk_captured(process, tids[i], images);
        assert_true(expected.count >= 3 && expected.stop <= SW_STOP_ROOT_BASE);
        assert_memory_equal(&found, &expected, sizeof found);
    }
    sw_process_close(process);
    sw_images_destroy(images);
    end(child);
}

static void a_captured_process_runs_on_and_its_copies_stay(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    const pid_t child = spawn(false);
    struct sw_process *process = open_process(child);
    struct sw_images *images = NULL;
    uint64_t tids[16];
    char name[16];
    (void)state;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_true(sw_process_stopped_ns(process) == 0);
    for (int round = 0; round < 20; round++) {
        const uint64_t before = sw_process_stopped_ns(process);
        assert_int_equal(sw_process_capture(process, 0), SW_OK);
        assert_true(sw_process_stopped_ns(process) != before);
        assert_in_range(sw_process_stopped_ns(process), 1000, 1000000000);
        assert_int_equal(sw_process_threads(process, NULL, 0), 0);
        assert_int_equal(sw_process_captured(process, tids, 16), THREADS + 1);
        assert_int_equal(sw_process_add_images(process, images), SW_OK);
        assert_true(moves(2));
        for (size_t i = 0; i <= THREADS; i++) {
            const struct stack first = walk_captured(process, tids[i], images);
            nap(200);
            const struct stack again = walk_captured(process, tids[i], images);
            assert_memory_equal(&first, &again, sizeof first);
            assert_true(first.stop <= SW_STOP_ROOT_BASE);
        }
    }
    assert_int_equal(sw_process_thread_name(process, shared->tid[3], name, sizeof name), SW_OK);
    assert_string_equal(name, "worker 3");
    sw_process_close(process);
    sw_images_destroy(images);
    end(child);
}

static void a_capture_holds_what_it_was_told_and_nothing_newer_of_stacks(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    enum { MOST = 64 };
    const pid_t child = spawn(false);
    struct sw_process *process = open_process(child);
    struct sw_walker walker;
    struct sw_regs regs;
    uint64_t word;
    (void)state;
    assert_int_equal(sw_process_capture(process, MOST), SW_OK);
    for (size_t i = 0; i <= THREADS; i++) {
        assert_int_equal(sw_process_captured_walker(process, shared->tid[i], NULL, NULL, &regs, &walker), SW_OK);
        const struct sw_memory *memory = &walker.memory;
        const uint64_t sp = sw_regs_sp(&regs);
        assert_true(memory->window.begin + 256 == sp && memory->window.end == sp + MOST);
        assert_true(walker.stack_begin < sp && sp + MOST < walker.stack_end);
        assert_int_equal(memory->read(memory->arg, sp, &word, 8), 8);
        assert_int_equal(memory->read(memory->arg, sp + MOST - 4, &word, 8), 4);
        assert_int_equal(memory->read(memory->arg, sp + MOST, &word, 8), 0);
        assert_int_equal(memory->read(memory->arg, sp - 264, &word, 8), 0);
        assert_int_equal(memory->read(memory->arg, 0, &word, 8), 0);
        assert_int_equal(memory->read(memory->arg, (uint64_t)(uintptr_t)&live, &word, 8), 8);
        assert_memory_equal(&word, (const void *)(uintptr_t)&live, 8);
    }
    sw_process_close(process);
    end(child);
}

static uint64_t look(const struct sw_memory *memory, const void *at)
{
    uint64_t word = 0;
    assert_int_equal(memory->read(memory->arg, (uint64_t)(uintptr_t)at, &word, 8), 8);
    return word;
}

/* By its own reader and by a walker, what is not copied is read once; the next capture reads it again. */
static void a_capture_sees_memory_as_it_was_first_read(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    const pid_t child = spawn(false);
    struct sw_process *process = open_process(child);
    const struct sw_memory always = sw_process_memory(process), kept = sw_process_captured_memory(process);
    struct sw_walker walker;
    struct sw_regs regs;
    (void)state;
    shared->magic = 1;
    assert_int_equal(look(&kept, &shared->magic), 1);
    shared->magic = 2;
    assert_int_equal(look(&kept, &shared->magic), 2);
    for (uint64_t was = 2; was < 5; was++) {
        assert_int_equal(sw_process_capture(process, 0), SW_OK);
        assert_int_equal(sw_process_captured_walker(process, shared->tid[0], NULL, NULL, &regs, &walker), SW_OK);
        assert_int_equal(look(&kept, &shared->magic), was);
        shared->magic = was + 1;
        assert_int_equal(look(&always, &shared->magic), was + 1);
        assert_int_equal(look(&kept, &shared->magic), was);
        assert_int_equal(look(&walker.memory, &shared->magic), was);
    }
    assert_null(sw_process_captured_memory(NULL).read);
    sw_process_close(process);
    end(child);
}

/* Not before, nor afterwards: then each read asks the process. Walkers of the stop read by the same pages. */
static void a_stop_sees_memory_as_it_was_first_read(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    const pid_t child = spawn(false);
    struct sw_process *process = open_process(child);
    const struct sw_memory kept = sw_process_stopped_memory(process);
    struct sw_walker walker;
    struct sw_regs regs;
    (void)state;
    for (uint64_t now = 1; now < 9; now += 3) {
        shared->magic = now;
        assert_int_equal(look(&kept, &shared->magic), now);
        shared->magic = now + 1;
        assert_int_equal(look(&kept, &shared->magic), now + 1);
        assert_int_equal(sw_process_stop(process), SW_OK);
        assert_int_equal(look(&kept, &shared->magic), now + 1);
        shared->magic = now + 2;
        assert_int_equal(look(&kept, &shared->magic), now + 1);
        assert_int_equal(sw_process_regs(process, shared->tid[0], &regs), SW_OK);
        assert_int_equal(sw_process_walker(process, &regs, NULL, NULL, &walker), SW_OK);
        assert_int_equal(look(&walker.memory, &shared->magic), now + 1);
        assert_int_equal(sw_process_resume(process), SW_OK);
        assert_int_equal(look(&kept, &shared->magic), now + 2);
    }
    assert_null(sw_process_stopped_memory(NULL).read);
    sw_process_close(process);
    end(child);
}

static void a_capture_is_refused_where_it_would_let_go_or_has_nobody(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    const pid_t child = spawn(false);
    struct sw_process *process = open_process(child);
    const struct sw_suspender s = sw_process_suspender(process);
    struct sw_walker walker;
    struct sw_regs regs;
    (void)state;
    assert_int_equal(sw_process_capture(NULL, 0), SW_E_ARGUMENT);
    assert_int_equal(sw_process_captured(NULL, NULL, 0), 0);
    assert_true(sw_process_stopped_ns(NULL) == 0);
    assert_int_equal(sw_process_captured(process, NULL, 0), 0);
    assert_int_equal(sw_process_captured_walker(process, shared->tid[1], NULL, NULL, &regs, &walker), SW_E_NOT_FOUND);
    assert_int_equal(sw_process_stop(process), SW_OK);
    assert_int_equal(sw_process_capture(process, 0), SW_E_BUSY);
    assert_int_equal(sw_process_threads(process, NULL, 0), THREADS + 1);
    assert_int_equal(sw_process_resume(process), SW_OK);
    assert_int_equal(s.suspend(s.arg, shared->tid[2], &regs), SW_OK);
    assert_int_equal(sw_process_capture(process, 0), SW_E_BUSY);
    assert_int_equal(s.resume(s.arg, shared->tid[2]), SW_OK);
    assert_int_equal(sw_process_capture(process, 0), SW_OK);
    assert_int_equal(sw_process_captured_walker(process, 1, NULL, NULL, &regs, &walker), SW_E_NOT_FOUND);
    assert_int_equal(sw_process_captured_walker(process, shared->tid[1], NULL, NULL, NULL, &walker), SW_E_ARGUMENT);
    assert_int_equal(sw_process_captured_walker(process, shared->tid[1], NULL, NULL, &regs, NULL), SW_E_ARGUMENT);
    kill(child, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(sw_process_capture(process, 0), SW_E_GONE);
    assert_int_equal(sw_process_captured(process, NULL, 0), 0);
    sw_process_close(process);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* A wait that a stop would end with EINTR. */
__attribute__((noinline)) static void *wait_for_events(void *arg)
{
    struct epoll_event event;
    const int events = epoll_create1(0);
    shared->tid[1] = (uint64_t)gettid();
    shared->running++;
    for (;;) {
        epoll_wait(events, &event, 1, -1);
        shared->turns[1]++;
    }
    return arg;
}

static void threads_that_sleep_are_captured_without_a_stop(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    const pid_t child = spawn_with(wait_for_events);
    struct sw_process *process = open_process(child);
    struct sw_images *images = NULL;
    char path[64], name[64] = "";
    uint64_t tids[4], start;
    (void)state;
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)child, (int)shared->tid[1]);
    const bool is_told = access(path, R_OK) == 0;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_process_capture_asleep(NULL, 0), SW_E_ARGUMENT);
    bool seen = false;
    for (int i = 0; (i < 50 || !seen) && is_told; i++) {
        assert_int_equal(sw_process_capture_asleep(process, 0), SW_OK);
        const size_t count = sw_process_captured(process, tids, 4);
        assert_true(count <= 2 && sw_process_stopped_ns(process) == 0);
        seen = count && tids[count - 1] == shared->tid[1];
        assert_int_equal(why_left_out(process, shared->tid[1]), seen ? NOT_LEFT_OUT : SW_LEFT_OUT_RUNS);
        assert_int_equal(count + sw_process_left_out(process, NULL, 0), 2);
        nap(1000);
    }
    assert_true(!is_told || shared->turns[1] == 0);
    if (is_told) {
        assert_int_equal(sw_process_add_images(process, images), SW_OK);
        const struct stack stack = walk_captured(process, shared->tid[1], images);
        assert_true(stack.count >= 2);
        for (size_t i = 0; i < stack.count && strcmp(name, "wait_for_events") != 0; i++)
            if (sw_images_name(images, stack.pc[i], name, sizeof name, &start) != SW_OK)
                name[0] = 0;
        assert_string_equal(name, "wait_for_events");
        /* Nothing of it is there while the process is stopped. */
        assert_int_equal(sw_process_stop(process), SW_OK);
        assert_int_equal(sw_process_capture_asleep(process, 0), SW_E_BUSY);
    }
    sw_process_close(process);
    sw_images_destroy(images);
    end(child);
    HOST_NEEDS(is_told, "schedstat");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_threads_stand_are_seen_and_run_on),
        cmocka_unit_test(registers_and_names_are_the_threads_own),
        cmocka_unit_test(memory_is_read_and_ends_where_it_ends),
        cmocka_unit_test(a_walker_has_the_stack_as_window),
        cmocka_unit_test(signals_of_the_process_are_not_lost),
        cmocka_unit_test(signals_are_not_lost_when_the_tool_is_killed),
        cmocka_unit_test(a_process_stopped_by_job_control_stays_stopped),
        cmocka_unit_test(threads_that_are_born_meanwhile_are_caught),
        cmocka_unit_test(single_threads_are_suspended_and_nest),
        cmocka_unit_test(a_process_killed_while_stopped_is_gone),
        cmocka_unit_test(a_process_that_is_not_there_is_gone),
        cmocka_unit_test(a_process_that_ends_is_there_or_gone),
        cmocka_unit_test(a_kernel_thread_is_unsupported),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(images_of_the_process_are_found_and_named),
        cmocka_unit_test(a_thread_of_the_kernel_has_no_stack),
        cmocka_unit_test(a_thread_that_cannot_be_stopped_is_told_and_left_alone),
        cmocka_unit_test(the_parent_of_a_process_killed_while_stopped_hears_of_it),
        cmocka_unit_test(an_image_whose_file_was_deleted_is_found),
        cmocka_unit_test(what_forbids_a_look_is_told),
        cmocka_unit_test(files_are_found_in_the_root_of_the_process),
        cmocka_unit_test(a_thread_busy_in_the_kernel_is_left_out_and_let_go),
        cmocka_unit_test(a_process_that_begins_another_program_goes_on),
        cmocka_unit_test(a_stack_whose_faults_the_process_handles_is_read_without_waiting),
        cmocka_unit_test(a_process_whose_main_thread_has_ended_is_there),
        { "captured_walk_is_the_stopped_walk", captured_walk_is_the_stopped_walk, NULL, NULL, NULL },
        { "captured_walk_leaves_an_alternate_stack", captured_walk_is_the_stopped_walk, NULL, NULL, &can_trace },
        cmocka_unit_test(a_captured_process_runs_on_and_its_copies_stay),
        cmocka_unit_test(a_capture_holds_what_it_was_told_and_nothing_newer_of_stacks),
        cmocka_unit_test(threads_that_sleep_are_captured_without_a_stop),
        cmocka_unit_test(a_capture_sees_memory_as_it_was_first_read),
        cmocka_unit_test(a_stop_sees_memory_as_it_was_first_read),
        cmocka_unit_test(a_capture_is_refused_where_it_would_let_go_or_has_nobody),
    };
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    can_trace = host_can_trace();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
