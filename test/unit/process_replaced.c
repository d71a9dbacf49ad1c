/*
 * Files that were replaced since a process mapped them: two copies of a program with different build ids. With
 * the right to open the mapped file it is used; without it no tables are better than those of the other file.
 */
#include "core/core.h"

#include <snapwalk/process.h>

#include <elf.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "host.h"

enum { FILE_BYTES = 1 << 20, MAPPED_BYTES = 8192, NAME_BYTES = 128 };

/* Also its folder, which is a root that a child may change to. */
struct case_of {
    char folder[40];
    char path[NAME_BYTES];
    struct sw_process *process;
    struct sw_images *images;
    pid_t child;
    uint64_t address;
};

static enum sw_machine machine_of(const char *path)
{
    Elf64_Ehdr header;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(&header, sizeof header, 1, file), 1);
    fclose(file);
    return header.e_machine == EM_X86_64 ? SW_MACHINE_X64 : SW_MACHINE_ARM64;
}

/*
 * A copy of a program, with another build id and machine where `other`. Under another name first: what is mapped is not
 * written.
 */
static void put_file(const char *path, bool other)
{
    static uint8_t bytes[FILE_BYTES];
    char beside[NAME_BYTES + 8];
    snprintf(beside, sizeof beside, "%s.new", path);
    FILE *from = fopen("/bin/sleep", "r");
    assert_non_null(from);
    const size_t size = fread(bytes, 1, sizeof bytes, from);
    fclose(from);
    const struct sw_bytes id = sw_core_build_id((struct sw_bytes){ bytes, size, 0 });
    assert_true(id.size > 0);
    if (other) {
        bytes[id.bytes - bytes] ^= 1;
        bytes[offsetof(Elf64_Ehdr, e_machine)] ^= EM_X86_64 ^ EM_AARCH64;
    }
    FILE *to = fopen(beside, "w");
    assert_non_null(to);
    assert_int_equal(fwrite(bytes, 1, size, to), size);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(rename(beside, path), 0);
}

static void stand(const struct case_of *c, const char *root, int ready)
{
    const int file = open(c->path, O_RDONLY);
    void *room = mmap(NULL, FILE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* all that the image takes */
    const void *at = mmap(room, MAPPED_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (file < 0 || room == MAP_FAILED || at == MAP_FAILED || (root && chroot(root) != 0) ||
        write(ready, &at, sizeof at) != sizeof at)
        _exit(1);
    for (;;)
        pause();
}

/* A process that has the file mapped. root: it changes to it then; null: not. */
static void begin(struct case_of *c, const char *root)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    c->child = fork();
    if (c->child == 0)
        stand(c, root, ends[1]);
    close(ends[1]);
    assert_int_equal(read(ends[0], &c->address, sizeof c->address), sizeof c->address);
    close(ends[0]);
    assert_int_equal(sw_process_open(NULL, c->child, &c->process), SW_OK);
    assert_int_equal(sw_images_create(NULL, &c->images), SW_OK);
}

static void make_folder(struct case_of *c)
{
    *c = (struct case_of){ .folder = "/tmp/snapwalk-replaced-XXXXXX" };
    assert_non_null(mkdtemp(c->folder));
    snprintf(c->path, sizeof c->path, "%s/library", c->folder);
    put_file(c->path, false);
}

static void end(struct case_of *c)
{
    sw_process_close(c->process);
    sw_images_destroy(c->images);
    kill(c->child, SIGKILL);
    waitpid(c->child, NULL, 0);
    unlink(c->path);
    rmdir(c->folder);
}

/* Takes the right to open /proc/PID/map_files, or gives it back. Source: proc(5), capabilities(7). */
static void set_rights(bool may_open)
{
    enum { SYS_ADMIN = 1 << 21, CHECKPOINT_RESTORE = 1 << 8 /* in the second word */ };
    struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct data[2];
    assert_int_equal(syscall(SYS_capget, &header, data), 0);
    data[0].effective = may_open ? data[0].permitted : data[0].effective & ~(uint32_t)SYS_ADMIN;
    data[1].effective = may_open ? data[1].permitted : data[1].effective & ~(uint32_t)CHECKPOINT_RESTORE;
    assert_int_equal(syscall(SYS_capset, &header, data), 0);
}

static bool is_image(struct case_of *c)
{
    struct sw_image image;
    return sw_images_find(c->images, c->address, &image) == SW_OK;
}

static size_t replaced(struct case_of *c, bool may_open, struct sw_replaced_file *file)
{
    size_t count = 0;
    if (!may_open)
        set_rights(false);
    assert_int_equal(sw_process_add_images(c->process, c->images), SW_OK);
    if (!may_open)
        set_rights(true);
    while (sw_process_get_replaced(c->process, count, file))
        count++;
    return count;
}

static bool may_open_mapped(const struct case_of *c)
{
    char link[NAME_BYTES];
    snprintf(link, sizeof link, "/proc/%d/map_files/%llx-%llx", (int)c->child, (unsigned long long)c->address,
             (unsigned long long)c->address + MAPPED_BYTES);
    return access(link, R_OK) == 0;
}

static void a_library_that_was_replaced_is_listed_and_not_used(void **state)
{
    HOST_NEEDS(host_can_trace(), "ptrace");
    struct sw_replaced_file file = { 0 };
    struct case_of c;
    (void)state;
    make_folder(&c);
    begin(&c, NULL);
    put_file(c.path, true);
    assert_int_equal(replaced(&c, false, &file), 1);
    assert_string_equal(file.path, c.path);
    assert_true(file.address == c.address && file.is_there && !is_image(&c));
    unlink(c.path);
    assert_int_equal(replaced(&c, false, &file), 1);
    assert_true(!file.is_there && !is_image(&c));
    if (may_open_mapped(&c)) {
        assert_int_equal(replaced(&c, true, &file), 0);
        assert_true(is_image(&c));
    }
    assert_false(sw_process_get_replaced(NULL, 0, &file));
    assert_false(sw_process_get_replaced(c.process, 0, NULL));
    end(&c);
}

static void a_library_that_was_not_is_used(void **state)
{
    HOST_NEEDS(host_can_trace(), "ptrace");
    struct sw_replaced_file file;
    struct case_of c;
    (void)state;
    make_folder(&c);
    begin(&c, NULL);
    assert_int_equal(replaced(&c, false, &file), 0);
    assert_true(is_image(&c));
    end(&c);
}

/* In the new root another file is at that path, which the kernel does not mark: the build id tells. */
static void a_file_at_that_path_in_another_root_is_not_taken(void **state)
{
    HOST_NEEDS(host_can_trace(), "ptrace");
    HOST_NEEDS(geteuid() == 0, "root, for another root folder");
    char inner[NAME_BYTES], hidden[2 * NAME_BYTES];
    struct sw_replaced_file file;
    struct sw_image image;
    struct case_of c;
    (void)state;
    make_folder(&c);
    snprintf(inner, sizeof inner, "%s/tmp", c.folder);
    assert_int_equal(mkdir(inner, 0755), 0);
    snprintf(inner, sizeof inner, "%s%s", c.folder, c.folder);
    assert_int_equal(mkdir(inner, 0755), 0);
    snprintf(hidden, sizeof hidden, "%s/library", inner);
    put_file(hidden, true);
    begin(&c, c.folder);
    assert_int_equal(replaced(&c, false, &file), 0);
    assert_int_equal(sw_images_find(c.images, c.address, &image), SW_OK);
    assert_int_equal(image.machine, machine_of(c.path));
    assert_int_not_equal(image.machine, machine_of(hidden));
    unlink(hidden);
    rmdir(inner);
    *strrchr(inner, '/') = 0;
    rmdir(inner);
    end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_that_was_replaced_is_listed_and_not_used),
        cmocka_unit_test(a_library_that_was_not_is_used),
        cmocka_unit_test(a_file_at_that_path_in_another_root_is_not_taken),
    };
    return cmocka_run_group_tests_name("replaced files of a process", tests, NULL, NULL);
}
