/*
 * A debugger holds the threads of a process by ptrace, and walks them by its own registers: nothing is attached a
 * second time, and what was read in a stop is not read again.
 */
#include "../support/nap.h"

#include <snapwalk/image.h>
#include <snapwalk/process.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "traced.h"

enum { THREADS = 4, STACK_BYTES = 1 << 20, FRAMES = 64 };

/* What the child and the test both see. */
struct shared {
    atomic_int sleeping;
    uint64_t tid[THREADS];
    uint64_t local[THREADS];
};

static struct shared *shared;
static bool can_trace;

static void *sleep_for_ever(void *arg)
{
    const size_t number = (size_t)(uintptr_t)arg;
    volatile uint64_t local = number;
    shared->tid[number] = (uint64_t)gettid();
    shared->local[number] = (uint64_t)(uintptr_t)&local;
    shared->sleeping++;
    for (;;)
        pause();
    return NULL;
}

/* The stacks of its threads lie in one mapping, as those of goroutines do. */
static void child_main(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    char *stacks = mmap(NULL, (THREADS + 1) * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_attr_init(&attributes) != 0 ||
            pthread_attr_setstack(&attributes, stacks + i * STACK_BYTES, STACK_BYTES) != 0 ||
            pthread_create(&thread, &attributes, sleep_for_ever, (void *)(uintptr_t)i) != 0)
            _exit(1);
    for (;;)
        pause();
}

/* What a debugger has: the child's threads, each seized by this thread and stopped. */
struct held {
    pid_t child;
    struct sw_process *process;
    struct sw_regs regs[THREADS];
};

static void hold_thread(pid_t tid)
{
    int status;
    assert_int_equal(ptrace(PTRACE_SEIZE, tid, NULL, NULL), 0);
    assert_int_equal(ptrace(PTRACE_INTERRUPT, tid, NULL, NULL), 0);
    assert_int_equal(waitpid(tid, &status, __WALL), tid);
    assert_true(WIFSTOPPED(status));
}

static void sleep_all(struct held *held)
{
    memset(shared, 0, sizeof *shared);
    held->child = fork();
    if (held->child == 0)
        child_main();
    assert_true(held->child > 0);
    while (shared->sleeping < THREADS)
        nap(100);
    nap(5000); /* until they are in pause */
}

static void hold_all(struct held *held)
{
    sleep_all(held);
    hold_thread(held->child);
    for (size_t i = 0; i < THREADS; i++) {
        hold_thread((pid_t)shared->tid[i]);
        held->regs[i] = traced_registers((pid_t)shared->tid[i]);
    }
    assert_int_equal(sw_process_open(NULL, held->child, &held->process), SW_OK);
}

static void end(struct held *held)
{
    int status;
    sw_process_close(held->process);
    kill(held->child, SIGKILL);
    for (size_t i = 0; i < THREADS; i++)
        (void)waitpid((pid_t)shared->tid[i], &status, __WALL);
    (void)waitpid(held->child, &status, __WALL);
}

struct stack {
    size_t count;
    uint64_t pcs[FRAMES];
    enum sw_stop stop;
};

static struct stack walk(const struct sw_walker *walker, const struct sw_regs *regs)
{
    static struct sw_scratch scratch;
    struct stack stack = { 0 };
    stack.count = sw_walk_addresses(walker, &scratch, regs, true, stack.pcs, FRAMES, &stack.stop);
    return stack;
}

/* Of another child of the same program, which the library stops: as far as their stacks are the same. */
static void held_threads_are_walked_as_stopped_ones(void **state)
{
    struct held held = { 0 };
    struct sw_images *images;
    struct stack found[THREADS];
    (void)state;
    HOST_NEEDS(can_trace, "ptrace");
    hold_all(&held);
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_process_adopt_stop(held.process, 0), SW_OK);
    assert_int_equal(sw_process_add_images(held.process, images), SW_OK);
    for (size_t i = 0; i < THREADS; i++) {
        struct sw_walker walker;
        assert_int_equal(sw_process_walker(held.process, &held.regs[i], NULL, images, &walker), SW_OK);
        found[i] = walk(&walker, &held.regs[i]);
        assert_true(found[i].count >= 3 && found[i].stop <= SW_STOP_ROOT_BASE);
    }
    assert_int_equal(sw_process_resume(held.process), SW_OK);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(ptrace(PTRACE_DETACH, (pid_t)shared->tid[i], NULL, NULL), 0);
    assert_int_equal(ptrace(PTRACE_DETACH, held.child, NULL, NULL), 0);
    nap(5000); /* until they sleep again */
    assert_int_equal(sw_process_stop(held.process), SW_OK);
    for (size_t i = 0; i < THREADS; i++) {
        struct sw_regs regs;
        struct sw_walker walker;
        assert_int_equal(sw_process_regs(held.process, shared->tid[i], &regs), SW_OK);
        assert_int_equal(sw_process_walker(held.process, &regs, NULL, images, &walker), SW_OK);
        const struct stack stopped = walk(&walker, &regs);
        assert_memory_equal(&stopped, &found[i], sizeof stopped);
    }
    sw_images_destroy(images);
    end(&held);
}

static void nothing_else_is_stopped_meanwhile(void **state)
{
    struct held held = { 0 };
    struct sw_regs regs;
    char name[16];
    (void)state;
    HOST_NEEDS(can_trace, "ptrace");
    hold_all(&held);
    const struct sw_suspender suspender = sw_process_suspender(held.process);
    assert_int_equal(sw_process_adopt_stop(held.process, 0), SW_OK);
    assert_int_equal(sw_process_stop(held.process), SW_E_BUSY);
    assert_int_equal(sw_process_capture(held.process, 0), SW_E_BUSY);
    assert_int_equal(sw_process_capture_asleep(held.process, 0), SW_E_BUSY);
    assert_int_equal(suspender.suspend(suspender.arg, shared->tid[0], &regs), SW_E_BUSY);
    assert_int_equal(sw_process_threads(held.process, NULL, 0), 0);
    assert_int_equal(sw_process_thread_name(held.process, shared->tid[0], name, sizeof name), SW_OK);
    assert_int_equal(sw_process_resume(held.process), SW_OK);
    /* And then the library finds out that somebody else traces it. */
    errno = 0;
    assert_int_equal(sw_process_stop(held.process), SW_E_PERMISSION);
    assert_int_equal(errno, EPERM);
    end(&held);
}

/* A child that nobody else holds. */
static void our_own_stop_is_not_adopted(void **state)
{
    struct held held = { 0 };
    (void)state;
    HOST_NEEDS(can_trace, "ptrace");
    sleep_all(&held);
    assert_int_equal(sw_process_open(NULL, held.child, &held.process), SW_OK);
    assert_int_equal(sw_process_stop(held.process), SW_OK);
    assert_int_equal(sw_process_adopt_stop(held.process, 0), SW_E_BUSY);
    assert_int_equal(sw_process_resume(held.process), SW_OK);
    assert_int_equal(sw_process_adopt_stop(NULL, 0), SW_E_ARGUMENT);
    end(&held);
}

static uint64_t read_word(const struct sw_walker *walker, uint64_t address)
{
    uint64_t word = ~UINT64_C(0);
    if (address >= walker->memory.window.begin && address < walker->memory.window.end)
        memcpy(&word, walker->memory.window.bytes + (address - walker->memory.window.begin), sizeof word);
    return word;
}

/* In the second stop there is something else. */
static void a_stack_is_read_once_a_stop(void **state)
{
    struct held held = { 0 };
    struct sw_walker walker;
    uint64_t word = 0;
    (void)state;
    HOST_NEEDS(can_trace, "ptrace");
    hold_all(&held);
    for (uint64_t was = 1; was < 4; was++) {
        assert_int_equal(sw_process_adopt_stop(held.process, 0), SW_OK);
        assert_int_equal(sw_process_walker(held.process, &held.regs[1], NULL, NULL, &walker), SW_OK);
        assert_int_equal(read_word(&walker, shared->local[1]), was);
        assert_int_equal(ptrace(PTRACE_POKEDATA, shared->tid[1], shared->local[1], was + 1), 0);
        assert_int_equal(sw_process_walker(held.process, &held.regs[1], NULL, NULL, &walker), SW_OK);
        assert_int_equal(read_word(&walker, shared->local[1]), was);
        assert_int_equal(walker.memory.read(walker.memory.arg, shared->local[1], &word, sizeof word), sizeof word);
    }
    end(&held);
}

static void stacks_in_one_mapping_are_read_once(void **state)
{
    struct held held = { 0 };
    (void)state;
    HOST_NEEDS(can_trace, "ptrace");
    hold_all(&held);
    assert_int_equal(sw_process_adopt_stop(held.process, (THREADS + 1) * STACK_BYTES), SW_OK);
    for (size_t i = 0; i < THREADS; i++) {
        struct sw_walker walker;
        assert_int_equal(sw_process_walker(held.process, &held.regs[i], NULL, NULL, &walker), SW_OK);
        assert_int_equal(walker.memory.window.begin, sw_regs_sp(&held.regs[0]) - 256);
        assert_int_equal(read_word(&walker, shared->local[i]), i);
    }
    end(&held);
}

/* An allocator that counts what is in use. */
static size_t used_most, used;

static void *get(void *arg, size_t size)
{
    (void)arg;
    used += size;
    used_most = used > used_most ? used : used_most;
    return malloc(size);
}

static void put(void *arg, void *block, size_t size)
{
    (void)arg;
    used -= size;
    free(block);
}

/* Of each thread is wanted what is above it: 4, 3, 2 and 1 stacks and the one that nobody is on. */
static void captured_stacks_in_one_mapping_are_copied_once(void **state)
{
    const struct sw_alloc counting = { get, put, NULL };
    struct held held = { 0 };
    (void)state;
    HOST_NEEDS(can_trace, "ptrace");
    sleep_all(&held);
    assert_int_equal(sw_process_open(&counting, held.child, &held.process), SW_OK);
    assert_int_equal(sw_process_capture(held.process, (THREADS + 1) * STACK_BYTES), SW_OK);
    for (size_t i = 0; i < THREADS; i++) {
        struct sw_walker walker;
        struct sw_regs regs;
        assert_int_equal(sw_process_captured_walker(held.process, shared->tid[i], NULL, NULL, &regs, &walker), SW_OK);
        assert_int_equal(walker.memory.window.begin, sw_regs_sp(&regs) - 256);
        assert_true(walker.memory.window.end - walker.memory.window.begin > (THREADS - i) * STACK_BYTES);
        assert_int_equal(read_word(&walker, shared->local[i]), i);
    }
    assert_in_range(used_most, (THREADS + 1) * STACK_BYTES, (THREADS + 5) * STACK_BYTES); /* 2 MiB of it are pages */
    end(&held);
    assert_int_equal(used, 0);
}

/* From below sp; a copy of another thread's is taken if 16 KiB of this one's are in it. */
static void as_much_of_a_stack_is_copied_as_was_asked_for(void **state)
{
    struct held held = { 0 };
    struct sw_walker walker;
    (void)state;
    HOST_NEEDS(can_trace, "ptrace");
    hold_all(&held);
    for (size_t bytes = 1024; bytes <= STACK_BYTES; bytes *= 4) {
        assert_int_equal(sw_process_adopt_stop(held.process, bytes), SW_OK);
        assert_int_equal(sw_process_walker(held.process, &held.regs[0], NULL, NULL, &walker), SW_OK);
        assert_int_equal(walker.memory.window.end - walker.memory.window.begin, bytes);
        assert_true(walker.stack_end - walker.stack_begin > bytes);
    }
    end(&held);
}

static void a_process_that_is_gone_is_not_adopted(void **state)
{
    struct held held = { 0 };
    struct sw_process *process;
    (void)state;
    HOST_NEEDS(can_trace, "ptrace");
    hold_all(&held);
    process = held.process;
    held.process = NULL;
    end(&held);
    assert_int_equal(sw_process_adopt_stop(process, 0), SW_E_GONE);
    assert_int_equal(sw_process_stop(process), SW_E_GONE); /* not SW_E_BUSY: nothing was adopted */
    sw_process_close(process);
}

/* No files are left for the program: the number of that failure comes through, and says what to do. */
static void a_failure_has_its_number_and_says_what_to_do(void **state)
{
    struct held held = { 0 };
    struct rlimit before, none;
    (void)state;
    HOST_NEEDS(can_trace, "ptrace");
    sleep_all(&held);
    assert_int_equal(sw_process_open(NULL, held.child, &held.process), SW_OK);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){ 0, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    errno = 0;
    const enum sw_status adopted = sw_process_adopt_stop(held.process, 0);
    const int adopt_error = errno;
    errno = 0;
    const enum sw_status stopped = sw_process_stop(held.process);
    const int stop_error = errno;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(adopted, SW_E_OS);
    assert_int_equal(adopt_error, EMFILE);
    assert_int_equal(stopped, SW_E_OS);
    assert_int_equal(stop_error, EMFILE);
    assert_non_null(strstr(sw_process_advice(held.child, stopped, stop_error), "ulimit"));
    end(&held);
}

static void each_status_has_an_advice(void **state)
{
    static const enum sw_status statuses[] = { SW_OK,     SW_E_ARGUMENT,    SW_E_NO_MEMORY,  SW_E_BUSY,
                                               SW_E_GONE, SW_E_UNSUPPORTED, SW_E_PERMISSION, SW_E_OS };
    (void)state;
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        for (int error = 0; error < 134; error++)
            assert_non_null(strchr(sw_process_advice(getpid(), statuses[i], error), ' '));
    assert_string_equal(sw_process_advice(1, SW_E_EMPTY, 0), "SW_E_EMPTY");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_threads_are_walked_as_stopped_ones),
        cmocka_unit_test(nothing_else_is_stopped_meanwhile),
        cmocka_unit_test(our_own_stop_is_not_adopted),
        cmocka_unit_test(a_stack_is_read_once_a_stop),
        cmocka_unit_test(stacks_in_one_mapping_are_read_once),
        cmocka_unit_test(captured_stacks_in_one_mapping_are_copied_once),
        cmocka_unit_test(as_much_of_a_stack_is_copied_as_was_asked_for),
        cmocka_unit_test(a_process_that_is_gone_is_not_adopted),
        cmocka_unit_test(a_failure_has_its_number_and_says_what_to_do),
        cmocka_unit_test(each_status_has_an_advice),
    };
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    can_trace = shared != MAP_FAILED && host_can_trace();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
