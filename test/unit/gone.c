/*
 * Readers that are gone without having left: a thread that is cancelled in a walk, a walk that is left by longjmp, also
 * from a signal handler, readers of a parent process. What they could have seen comes back all the same, and nothing
 * comes back that a reader may still see.
 */
#include "rows.h"
#include "host.h"

#include "../support/nap.h"

#include <snapwalk/fork.h>
#include <snapwalk/self.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANGES = 1000, STEP = 64, CODE = 0x10000000, IMAGE = 0x20000000, STACK = 64 << 10, TURNS = 64, MANY = 80 };

static struct sw_codemap *map;
static struct sw_images *images;
static struct sw_walker walker;
static _Atomic size_t bytes;

/* What a reader does inside, and how far it is. */
static void (*inside)(void);
static atomic_bool is_inside, is_back, may_go;
static pthread_t reader;
static atomic_uint readers_inside;
static sigjmp_buf out;

static void *count_get(void *arg, size_t size)
{
    (void)arg;
    bytes += size;
    return malloc(size);
}

static void count_put(void *arg, void *block, size_t size)
{
    (void)arg;
    bytes -= size;
    free(block);
}

/* The walker's memory: the walk that reads code has a section open in the map and one in the images. */
static size_t read_code(void *arg, uint64_t address, void *to, size_t size)
{
    (void)arg;
    (void)address;
    memset(to, 0, size);
    is_inside = true;
    readers_inside++;
    inside();
    return 0;
}

static void walk(void)
{
    static _Thread_local struct sw_scratch scratch;
    struct sw_regs regs = { .machine = walker.machine };
    struct sw_walk one;
    sw_regs_set(&regs, sw_regs_pc_number(regs.machine), CODE + 8);
    sw_regs_set(&regs, sw_regs_sp_number(regs.machine), 0x7000);
    sw_walk_start(&one, &walker, &scratch, &regs, true);
    while (sw_walk_next(&one))
        continue;
}

static struct sw_range range_at(uint64_t i)
{
    return (struct sw_range){ .begin = CODE + i * STEP,
                              .end = CODE + i * STEP + STEP,
                              .id = i + 1,
                              .kind = SW_KIND_JIT,
                              .unwind = SW_UNWIND_ANALYSIS };
}

static int set_up(void **state)
{
    const struct sw_alloc alloc = { count_get, count_put, NULL };
    (void)state;
    bytes = 0;
    is_inside = is_back = may_go = false;
    readers_inside = 0;
    assert_int_equal(sw_codemap_create(&alloc, &map), SW_OK);
    assert_int_equal(sw_images_create(&alloc, &images), SW_OK);
    assert_int_equal(sw_self_walker(&walker, map, images), SW_OK);
    walker.memory = (struct sw_memory){ .read = read_code };
    for (uint64_t i = 0; i < RANGES; i++) {
        const struct sw_range range = range_at(i);
        assert_int_equal(sw_codemap_add(map, &range), SW_OK);
    }
    assert_int_equal(sw_images_add_file(images, "/proc/self/exe", IMAGE), SW_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sw_codemap_destroy(map);
    sw_images_destroy(images);
    assert_int_equal(bytes, 0);
    return 0;
}

/* Everything is removed, and map and images change some times more: what is left then. */
static size_t bytes_after_removal(void)
{
    struct sw_image image;
    const struct sw_range other = range_at(RANGES);
    assert_int_equal(sw_images_find(images, IMAGE, &image), SW_OK);
    for (uint64_t i = 0; i < RANGES; i++)
        assert_int_equal(sw_codemap_remove(map, CODE + i * STEP), SW_OK);
    assert_int_equal(sw_images_remove(images, image.begin), SW_OK);
    for (int i = 0; i < TURNS; i++) {
        assert_int_equal(sw_codemap_add(map, &other), SW_OK);
        assert_int_equal(sw_codemap_remove(map, other.begin), SW_OK);
        assert_int_equal(sw_images_remove(images, IMAGE), SW_E_NOT_FOUND);
    }
    return bytes;
}

enum { LITTLE = 24 << 10 }; /* an empty map, 16 KB of it numbers of its changes, and an empty set of images */

/* Whether the system tells which threads there are: emulators do not. */
static bool tells_threads(void)
{
    void *head;
    size_t size;
    return syscall(SYS_get_robust_list, 0, &head, &size) == 0 && head;
}

/* ---- ways to go ---- */

static void wait_for_end(void)
{
    while (!may_go)
        nap(100);
}

static void be_cancelled(void)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        nap(1000);
}

static void jump_out(void)
{
    siglongjmp(out, 1);
}

/* The address sanitizer does not learn that the frames of a cancelled thread, or of an alternate stack that was left by
 * longjmp, are over: its own code of a thread's end fails then. */
#define UNCHECKED __attribute__((no_sanitize_address))

static bool is_confused_by_cancelling(void)
{
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
    return true;
#endif
#endif
    return false;
}

/* What a thread does after a walk: others of its frames come to lie where the walk's were. */
static __attribute__((noinline)) UNCHECKED unsigned use_stack(unsigned value)
{
    volatile unsigned char frame[STACK];
    for (size_t i = 0; i < sizeof frame; i++)
        frame[i] = (unsigned char)(value + i);
    return frame[value % sizeof frame];
}

static void on_signal(int number)
{
    (void)number;
    walk();
}

static void in_place(void)
{
    walk();
}

static void in_handler(void)
{
    raise(SIGUSR1);
}

static _Thread_local stack_t stack_before = { .ss_flags = SS_DISABLE };

static void use_alternate_stack(void)
{
    static _Thread_local char alternate[4 * STACK];
    const stack_t stack = { .ss_sp = alternate, .ss_size = sizeof alternate };
    assert_int_equal(sigaltstack(&stack, &stack_before), 0);
    raise(SIGUSR2);
}

static const struct way {
    const char *name;
    void (*begin)(void);
    void (*inside)(void);
    bool stays; /* the thread goes on */
} ways[] = {
    { "memory_of_a_reader_that_was_cancelled_comes_back", in_place, be_cancelled, false },
    { "memory_of_a_reader_left_by_longjmp_comes_back", in_place, jump_out, true },
    { "memory_of_a_handler_left_by_longjmp_comes_back", in_handler, jump_out, true },
    { "memory_of_a_handler_on_another_stack_left_by_longjmp_comes_back", use_alternate_stack, jump_out, true },
};

/* A handler of the other stack uses it again, as a profiler's next sample does. */
static UNCHECKED void on_signal_again(int number)
{
    (void)number;
    (void)use_stack(7);
}

static void *be_reader(void *arg)
{
    const struct way *way = arg;
    struct sigaction again = { .sa_handler = on_signal_again, .sa_flags = SA_ONSTACK };
    if (sigsetjmp(out, 1) == 0)
        way->begin();
    (void)use_stack(3);
    sigaction(SIGUSR2, &again, NULL);
    if (way->begin == use_alternate_stack)
        raise(SIGUSR2);
    is_back = true;
    wait_for_end();
    sigaltstack(&stack_before, NULL);
    return NULL;
}

static void wait_until_inside(void)
{
    while (!is_inside)
        nap(100);
}

static void memory_comes_back(void **state)
{
    const struct way *way = *state;
    const struct sigaction plain = { .sa_handler = on_signal };
    const struct sigaction apart = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
    const size_t full = bytes;
    HOST_NEEDS(way->stays || tells_threads(), "get_robust_list");
    HOST_NEEDS(way->stays || !is_confused_by_cancelling(), "threads that may be cancelled");
    assert_int_equal(sigaction(SIGUSR1, &plain, NULL), 0);
    assert_int_equal(sigaction(SIGUSR2, &apart, NULL), 0);
    inside = way->inside;
    assert_int_equal(pthread_create(&reader, NULL, be_reader, (void *)(uintptr_t)way), 0);
    wait_until_inside();
    while (way->stays && !is_back)
        nap(100);
    if (!way->stays) {
        pthread_cancel(reader);
        pthread_join(reader, NULL);
    }
    const size_t left = bytes_after_removal();
    may_go = true;
    if (way->stays)
        pthread_join(reader, NULL);
    print_message("# %zu bytes of %zu are left\n", left, full);
    assert_true(left < LITTLE && LITTLE < full / 2);
}

static void *be_plain_reader(void *arg)
{
    (void)arg;
    walk();
    return NULL;
}

static void begin_reader(void)
{
    inside = wait_for_end;
    assert_int_equal(pthread_create(&reader, NULL, be_plain_reader, NULL), 0);
    wait_until_inside();
}

static void memory_waits_for_a_reader_that_is_there(void **state)
{
    const size_t full = bytes;
    (void)state;
    begin_reader();
    assert_true(bytes_after_removal() >= full);
    may_go = true;
    pthread_join(reader, NULL);
}

/* So many that the writer cannot find out of each by itself. */
static int be_child_of_many(size_t full)
{
    if (bytes_after_removal() < full)
        return 1;
    if (sw_after_fork(map, images) != SW_OK)
        return 2;
    return bytes < LITTLE ? 0 : 3;
}

static int be_child_of_one(size_t full)
{
    (void)full;
    return bytes_after_removal() < LITTLE ? 0 : 1;
}

static void end_in_child(int (*be_child)(size_t full), unsigned readers)
{
    pthread_t threads[MANY];
    const size_t full = bytes;
    int status = -1;
    inside = wait_for_end;
    for (unsigned i = 0; i < readers; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, be_plain_reader, NULL), 0);
    while (readers_inside < readers)
        nap(100);
    const pid_t child = fork();
    if (child == 0)
        _exit(be_child(full));
    assert_int_equal(waitpid(child, &status, 0), child);
    may_go = true;
    for (unsigned i = 0; i < readers; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(status, 0);
}

static void child_finds_out_that_a_reader_of_its_parent_is_gone(void **state)
{
    (void)state;
    HOST_NEEDS(tells_threads(), "get_robust_list");
    end_in_child(be_child_of_one, 1);
}

static void child_frees_what_any_readers_of_its_parent_held(void **state)
{
    (void)state;
    end_in_child(be_child_of_many, MANY);
}

/* The allocator is asked in the middle of a change, where a fork by another thread finds it. */
static enum sw_status map_status, images_status;

static void *get_inside(void *arg, size_t size)
{
    if (arg && *(struct sw_codemap **)arg)
        map_status = sw_after_fork(*(struct sw_codemap **)arg, NULL);
    if (images)
        images_status = sw_after_fork(NULL, images);
    return malloc(size);
}

static void put_inside(void *arg, void *block, size_t size)
{
    (void)arg;
    (void)size;
    free(block);
}

static void change_that_fork_cut_in_two_is_told(void **state)
{
    struct sw_codemap *changing = NULL;
    const struct sw_alloc alloc = { get_inside, put_inside, &changing };
    const struct sw_range range = range_at(0);
    (void)state;
    images = NULL;
    assert_int_equal(sw_codemap_create(&alloc, &changing), SW_OK);
    map_status = images_status = SW_OK;
    assert_int_equal(sw_codemap_add(changing, &range), SW_OK);
    assert_int_equal(map_status, SW_E_BUSY);
    assert_int_equal(sw_after_fork(changing, NULL), SW_OK);
    sw_codemap_destroy(changing);
    assert_int_equal(sw_images_create(&(struct sw_alloc){ get_inside, put_inside, NULL }, &images), SW_OK);
    assert_int_equal(sw_images_add_file(images, "/proc/self/exe", IMAGE), SW_OK);
    assert_int_equal(images_status, SW_E_BUSY);
    assert_int_equal(sw_after_fork(NULL, images), SW_OK);
    sw_images_destroy(images);
    assert_int_equal(sw_after_fork(NULL, NULL), SW_OK);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(ways) + 4];
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(ways); i++)
        tests[count++] =
            (struct CMUnitTest){ ways[i].name, memory_comes_back, set_up, tear_down, (void *)(uintptr_t)&ways[i] };
    tests[count++] =
        (struct CMUnitTest)cmocka_unit_test_setup_teardown(memory_waits_for_a_reader_that_is_there, set_up, tear_down);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test_setup_teardown(
        child_finds_out_that_a_reader_of_its_parent_is_gone, set_up, tear_down);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test_setup_teardown(child_frees_what_any_readers_of_its_parent_held,
                                                                        set_up, tear_down);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(change_that_fork_cut_in_two_is_told);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
