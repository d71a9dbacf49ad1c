/*
 * The images that captured stacks lead into: walks are those with all images, and files that no stack leads into are
 * not opened. The child waits in what qsort calls; of libelf it has called nothing.
 */
#include <snapwalk/process.h>

#include <fcntl.h>
#include <libelf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "host.h"

enum { FRAMES = 64, STACK_BYTES = 1 << 20, DESCRIPTORS = 256, FILES_MOST = 1000 };

static int ready[2];
static void *nameless; /* a page without a file */

/* libc's qsort is on the stack. */
static int wait_here(const void *left, const void *right)
{
    (void)left, (void)right;
    if (write(ready[1], "", 1) == 1)
        for (;;)
            pause();
    return 0;
}

static void child_main(void)
{
    int numbers[] = { 2, 1 };
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    qsort(numbers, 2, sizeof *numbers, wait_here);
    _exit(1);
}

struct case_of {
    pid_t child;
    struct sw_process *process;
    struct sw_images *images;
};

/* A capture of the child. False: this system forbids it. */
static bool begin(struct case_of *c)
{
    char byte;
    assert_int_equal(pipe(ready), 0);
    if (!nameless)
        nameless = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(nameless, MAP_FAILED);
    c->child = fork();
    if (c->child == 0)
        child_main();
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(sw_process_open(NULL, c->child, &c->process), SW_OK);
    assert_int_equal(sw_images_create(NULL, &c->images), SW_OK);
    return sw_process_capture(c->process, STACK_BYTES) == SW_OK;
}

static void end(struct case_of *c)
{
    sw_process_close(c->process);
    sw_images_destroy(c->images);
    kill(c->child, SIGKILL);
    waitpid(c->child, NULL, 0);
    close(ready[0]);
    close(ready[1]);
}

static size_t walk(const struct case_of *c, uint64_t pcs[FRAMES])
{
    static struct sw_scratch scratch;
    struct sw_walker walker;
    struct sw_walk walk;
    struct sw_regs regs;
    size_t count = 0;
    assert_int_equal(sw_process_captured_walker(c->process, (uint64_t)c->child, NULL, c->images, &regs, &walker),
                     SW_OK);
    sw_walk_start(&walk, &walker, &scratch, &regs, true);
    while (count < FRAMES && sw_walk_next(&walk))
        pcs[count++] = sw_regs_pc(&walk.frame.regs);
    return count;
}

static bool is_registered(const struct case_of *c, uint64_t address)
{
    struct sw_image image;
    return sw_images_find(c->images, address, &image) == SW_OK;
}

static void walks_are_the_same_and_other_files_are_not_opened(void **state)
{
    uint64_t some[FRAMES], all[FRAMES];
    struct case_of c;
    (void)state;
    HOST_NEEDS(begin(&c), "the right to trace a child");
    const uint64_t unused = (uint64_t)(uintptr_t)elf_version;
    assert_int_equal(sw_process_add_captured_images(c.process, c.images), SW_OK);
    const size_t count = walk(&c, some);
    assert_true(count > 4);
    assert_true(is_registered(&c, some[0]));
    assert_true(is_registered(&c, (uint64_t)(uintptr_t)wait_here));
    assert_false(is_registered(&c, unused));
    assert_int_equal(sw_process_add_images(c.process, c.images), SW_OK);
    assert_true(is_registered(&c, unused));
    assert_int_equal(walk(&c, all), count);
    assert_memory_equal(some, all, count * sizeof *some);
    end(&c);
}

/* What is registered already stays, whether or not a stack leads into it. */
static void what_is_registered_stays(void **state)
{
    struct case_of c;
    (void)state;
    HOST_NEEDS(begin(&c), "the right to trace a child");
    assert_int_equal(sw_process_add_images(c.process, c.images), SW_OK);
    assert_int_equal(sw_process_add_captured_images(c.process, c.images), SW_OK);
    assert_true(is_registered(&c, (uint64_t)(uintptr_t)elf_version));
    end(&c);
}

static void what_is_mapped_has_a_name(void **state)
{
    char name[4096], own[4096];
    struct case_of c;
    (void)state;
    HOST_NEEDS(begin(&c), "the right to trace a child");
    const uint64_t code = (uint64_t)(uintptr_t)wait_here;
    const ssize_t size = readlink("/proc/self/exe", own, sizeof own - 1);
    assert_true(size > 0);
    own[size] = 0;
    assert_int_equal(sw_process_mapped_name(c.process, code, name, sizeof name), SW_OK);
    assert_string_equal(name, own);
    assert_int_equal(sw_process_mapped_name(c.process, code, name, (size_t)size + 1), SW_OK);
    assert_int_equal(sw_process_mapped_name(c.process, code, name, (size_t)size), SW_E_LIMIT);
    assert_int_equal(sw_process_mapped_name(c.process, (uint64_t)(uintptr_t)&c, name, sizeof name), SW_OK);
    assert_string_equal(name, "[stack]");
    assert_int_equal(sw_process_mapped_name(c.process, (uint64_t)(uintptr_t)nameless, name, sizeof name), SW_OK);
    assert_string_equal(name, "");
    assert_int_equal(sw_process_mapped_name(c.process, 0, name, sizeof name), SW_E_NOT_FOUND);
    assert_int_equal(sw_process_mapped_name(NULL, code, name, sizeof name), SW_E_ARGUMENT);
    assert_int_equal(sw_process_mapped_name(c.process, code, NULL, sizeof name), SW_E_ARGUMENT);
    assert_int_equal(sw_process_mapped_name(c.process, code, name, 0), SW_E_ARGUMENT);
    end(&c);
}

static unsigned open_files(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < FILES_MOST; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Many files are open: what is opened now is read at once, and closed. */
static void descriptors_are_left_to_others(void **state)
{
    uint64_t some[FRAMES], others[FRAMES];
    int taken[DESCRIPTORS];
    struct sw_images *images;
    struct case_of c;
    (void)state;
    HOST_NEEDS(begin(&c), "the right to trace a child");
    const unsigned before = open_files();
    assert_int_equal(sw_process_add_captured_images(c.process, c.images), SW_OK);
    assert_true(open_files() > before);
    const size_t count = walk(&c, some);
    sw_images_destroy(c.images);
    assert_int_equal(open_files(), before);
    for (int i = 0; i < DESCRIPTORS; i++)
        taken[i] = open("/dev/null", O_RDONLY);
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    c.images = images;
    assert_int_equal(sw_process_add_captured_images(c.process, c.images), SW_OK);
    for (int i = 0; i < DESCRIPTORS; i++)
        close(taken[i]);
    assert_int_equal(open_files(), before);
    assert_int_equal(walk(&c, others), count);
    assert_memory_equal(some, others, count * sizeof *some);
    end(&c);
}

static void arguments_are_checked(void **state)
{
    struct sw_images *images;
    (void)state;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_process_add_captured_images(NULL, images), SW_E_ARGUMENT);
    sw_images_destroy(images);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_are_the_same_and_other_files_are_not_opened),
        cmocka_unit_test(what_is_registered_stays),
        cmocka_unit_test(what_is_mapped_has_a_name),
        cmocka_unit_test(descriptors_are_left_to_others),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
