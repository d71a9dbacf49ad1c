/*
 * What a capsule takes from a file: parts of a writable mapping that nobody has written, also of what lies in an ELF
 * file behind its segments. Of a child of this program, which maps a copy of it with more behind.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "host.h"

#include <snapwalk/capsule.h>
#include <snapwalk/process.h>

#include "../support/bytes.h"

enum { PAGE = 4096, PAGES = 40, WRITTEN = 2, IMAGE_PAGES = 64, STACK_BYTES = 1 << 16 };

static struct sw_scratch scratch;
static char path[] = "/tmp/capsule-test-XXXXXX", saved[] = "/tmp/capsule-test-XXXXXX";

/* Each page of it is its number. */
static size_t make_file(void)
{
    size_t size;
    uint8_t *program = read_whole("/proc/self/exe", &size), page[PAGE];
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, program, size) == (ssize_t)size);
    free(program);
    size = (size + PAGE - 1) / PAGE * PAGE;
    for (unsigned i = 0; i < PAGES; i++) {
        memset(page, (int)i + 1, sizeof page);
        assert_int_equal(pwrite(fd, page, sizeof page, (off_t)(size + i * PAGE)), PAGE);
    }
    close(fd);
    return size;
}

/* The program's first page, which is code, and what is behind it, which the child has written to; it waits. */
static uint8_t *map_file(size_t behind)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    uint8_t *at = mmap(NULL, (IMAGE_PAGES + PAGES) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    assert_ptr_equal(mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fileno(file), 0), at);
    assert_ptr_equal(mmap(at + IMAGE_PAGES * PAGE, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
                          fileno(file), (off_t)behind),
                     at + IMAGE_PAGES * PAGE);
    fclose(file);
    return at + IMAGE_PAGES * PAGE;
}

static bool write_piece(void *arg, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, arg) == size;
}

/* asked: what is read of the child while the capsule is made. */
static void save(pid_t child, const uint8_t *asked)
{
    struct sw_process *process;
    struct sw_capsule *capsule;
    struct sw_core_thread thread = { .tid = (uint64_t)child };
    struct sw_regs regs;
    struct sw_walker walker;
    uint8_t byte;
    assert_int_equal(sw_process_open(NULL, child, &process), SW_OK);
    assert_int_equal(sw_process_capture(process, STACK_BYTES), SW_OK);
    assert_int_equal(sw_process_captured_walker(process, thread.tid, NULL, NULL, &regs, &walker), SW_OK);
    assert_int_equal(sw_capsule_create(NULL, regs.machine, 0, &capsule), SW_OK);
    assert_int_equal(sw_capsule_add_process(capsule, process), SW_OK);
    const struct sw_memory own = sw_process_captured_memory(process), memory = sw_capsule_memory(capsule, &own);
    assert_int_equal(memory.read(memory.arg, (uint64_t)(uintptr_t)asked, &byte, 1), 1);
    assert_int_equal(sw_capsule_add_thread(capsule, &thread, &regs, &walker, &scratch), SW_OK);
    const int fd = mkstemp(saved);
    FILE *file = fdopen(fd, "wb");
    const struct sw_capsule_sink sink = { write_piece, file };
    assert_int_equal(sw_capsule_write(capsule, &sink), SW_OK);
    assert_int_equal(fclose(file), 0);
    sw_capsule_destroy(capsule);
    sw_process_close(process);
}

static void pages_that_nobody_has_written_are_the_file_s(void **state)
{
    struct sw_core *core;
    struct sw_images *images;
    uint8_t page[PAGE];
    (void)state;
    HOST_NEEDS(host_can_trace(), "ptrace");
    uint8_t *mapped = map_file(make_file());
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails does not come to kill it */
        mapped[WRITTEN * PAGE] = mapped[(WRITTEN + 1) * PAGE] = 99;
        if (write(ready[1], "r", 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], page, 1), 1);
    save(child, mapped + WRITTEN * PAGE);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(sw_core_open(NULL, saved, &core), SW_OK);
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_core_add_images(core, &(struct sw_core_files){ .sysroot = NULL }, images), SW_OK);
    const struct sw_memory memory = sw_core_memory(core);
    for (unsigned i = 0; i < PAGES; i++) {
        const size_t got = memory.read(memory.arg, (uint64_t)(uintptr_t)(mapped + i * PAGE), page, 16);
        const bool is_written = i == WRITTEN || i == WRITTEN + 1;
        assert_true(got == 16 || (i <= WRITTEN + 1 && i != WRITTEN)); /* near those that were written: if it was read */
        assert_true(got == 0 || page[0] == (is_written ? 99 : i + 1));
    }
    sw_core_close(core);
    sw_images_destroy(images);
    close(ready[0]);
    close(ready[1]);
    unlink(path);
    unlink(saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(pages_that_nobody_has_written_are_the_file_s) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
