/*
 * Jitdump files on disk: one that grows, is replaced, is another user's or a link; the one that a process has mapped.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <snapwalk/process.h>

#include "host.h"

#include "../support/jitdump_file.h"

static void write_file(const char *path, const char *mode, size_t from, size_t to)
{
    FILE *out = fopen(path, mode);
    assert_non_null(out);
    assert_int_equal(fwrite(dump_file.bytes + from, 1, to - from, out), to - from);
    assert_int_equal(fclose(out), 0);
}

static void growth_is_read(void **state)
{
    char path[] = "/tmp/jitdump-test-XXXXXX";
    const int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    dump_header(false, 62);
    dump_load(DUMP_CODE, "first");
    dump_prefix(DUMP_DEBUG, 40);
    const size_t cut = dump_file.size + 4;
    dump_file.size += 24;
    dump_load(DUMP_CODE + 0x100, "second");
    write_file(path, "w", 0, cut);
    assert_int_equal(sw_jitdump_read(dump_reader, path, dump_images, dump_codemap), SW_OK);
    dump_assert_name(DUMP_CODE, "first");
    write_file(path, "a", cut, dump_file.size - 1);
    assert_int_equal(sw_jitdump_read(dump_reader, path, dump_images, dump_codemap), SW_OK);
    dump_assert_name(DUMP_CODE + 0x100, NULL);
    write_file(path, "a", dump_file.size - 1, dump_file.size);
    assert_int_equal(sw_jitdump_read(dump_reader, path, dump_images, dump_codemap), SW_OK);
    dump_assert_name(DUMP_CODE + 0x100, "second");
    dump_header(false, 62);
    dump_load(DUMP_ELSEWHERE, "of another process");
    write_file(path, "w", 0, dump_file.size);
    assert_int_equal(sw_jitdump_read(dump_reader, path, dump_images, dump_codemap), SW_OK);
    dump_assert_name(DUMP_ELSEWHERE, "of another process");
    write_file(path, "w", 1, 60);
    assert_int_equal(sw_jitdump_read(dump_reader, path, dump_images, dump_codemap), SW_E_MALFORMED);
    assert_int_equal(sw_jitdump_read(dump_reader, path, dump_images, dump_codemap), SW_E_MALFORMED);
    unlink(path);
    assert_int_equal(sw_jitdump_read(dump_reader, path, dump_images, dump_codemap), SW_E_OS);
}

/*
 * A page of the file behind another page. Where the heap would begin, as the first page may, qemu 10 says "[heap]" in
 * place of a file's name.
 */
static void *map_file(const char *path)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t *pages = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    void *page = mmap(pages + 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0);
    assert_true(page != MAP_FAILED);
    close(file);
    return page;
}

/* This process, which has mapped a file of that name, or did so before it was replaced. */
static void the_mapped_file_is_read(void **state)
{
    char folder[] = "/tmp/jitdump-test-XXXXXX", path[64], other[64];
    (void)state;
    assert_int_equal(sw_jitdump_read_process(dump_reader, getpid(), dump_images, dump_codemap), SW_E_NOT_FOUND);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/jit-77.dump", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    dump_header(false, 62);
    dump_load(DUMP_CODE, "mapped");
    write_file(path, "w", 0, dump_file.size);
    void *page = map_file(path);
    assert_int_equal(sw_jitdump_read_process(dump_reader, getpid(), dump_images, dump_codemap), SW_OK);
    dump_assert_name(DUMP_CODE, "mapped");
    assert_int_equal(rename(path, other), 0);
    write_file(path, "w", 0, dump_file.size);
    assert_int_equal(sw_jitdump_read_process(dump_reader, getpid(), dump_images, dump_codemap), SW_E_NOT_FOUND);
    munmap((uint8_t *)page - 4096, 8192);
    unlink(path);
    unlink(other);
    rmdir(folder);
    assert_int_equal(sw_jitdump_read_process(dump_reader, 0, dump_images, dump_codemap), SW_E_ARGUMENT);
    assert_int_equal(sw_jitdump_read_process(dump_reader, 1 << 30, dump_images, dump_codemap), SW_E_GONE);
}

/* Has the file mapped until it is told; says so each time. */
static void map_for_a_while(const char *path, const int ends[2])
{
    char byte = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, open(path, O_RDONLY | O_CLOEXEC), 0);
    while (page != MAP_FAILED && write(ends[1], &byte, 1) == 1 && read(ends[1], &byte, 1) == 1)
        munmap(page, 4096);
    _exit(1);
}

/* The map is that of the capture: the child has unmapped the file since. */
static void the_captured_file_is_read(void **state)
{
    HOST_NEEDS(host_can_trace(), "ptrace");
    char folder[] = "/tmp/jitdump-test-XXXXXX", path[64], byte = 0;
    struct sw_process *process;
    int ends[2];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/jit-77.dump", folder);
    dump_header(false, 62);
    dump_load(DUMP_CODE, "captured");
    write_file(path, "w", 0, dump_file.size);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const pid_t child = fork();
    if (child == 0)
        map_for_a_while(path, ends);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(sw_process_open(NULL, child, &process), SW_OK);
    assert_int_equal(sw_process_capture(process, 0), SW_OK);
    assert_true(write(ends[0], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1);
    assert_int_equal(sw_jitdump_read_process(dump_reader, child, dump_images, dump_codemap), SW_E_NOT_FOUND);
    assert_int_equal(sw_jitdump_read_captured(dump_reader, process, dump_images, dump_codemap), SW_OK);
    dump_assert_name(DUMP_CODE, "captured");
    assert_int_equal(sw_process_capture(process, 0), SW_OK);
    assert_int_equal(sw_jitdump_read_captured(dump_reader, process, dump_images, dump_codemap), SW_E_NOT_FOUND);
    assert_int_equal(sw_jitdump_read_captured(dump_reader, NULL, dump_images, dump_codemap), SW_E_ARGUMENT);
    sw_process_close(process);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    unlink(path);
    rmdir(folder);
}

static void a_link_is_refused(void **state)
{
    char path[] = "/tmp/jitdump-test-XXXXXX";
    const int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(sw_jitdump_read(dump_reader, path, dump_images, dump_codemap), SW_E_PERMISSION);
    unlink(path);
    assert_int_equal(sw_jitdump_read(dump_reader, "/dev/zero", dump_images, dump_codemap), SW_E_OS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(growth_is_read, dump_set_up, dump_tear_down),
        cmocka_unit_test_setup_teardown(the_mapped_file_is_read, dump_set_up, dump_tear_down),
        cmocka_unit_test_setup_teardown(the_captured_file_is_read, dump_set_up, dump_tear_down),
        cmocka_unit_test_setup_teardown(a_link_is_refused, dump_set_up, dump_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
