/*
 * Perf maps of a process in a container: namespaces of users, processes and mounts of its own, in which it has the id 1
 * and another /tmp. Its map is found there, by the same rules of whose files are believed.
 */
#include "rows.h"
#include "host.h"

#include "../support/nap.h"

#include <snapwalk/perfmap.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { MADE = 1, NO_NAMESPACES, NOT_MADE };

/* What the container says of itself. */
static struct {
    _Atomic int state;
    _Atomic pid_t first; /* its first process, as it is known outside */
} * container;

static bool write_text(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    const bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return is_written;
}

static bool make_map(const char *path)
{
    return write_text(path, "1000 10 inside\n");
}

/* As an earlier process with the number 1 has left it. */
static bool make_old_map(const char *path)
{
    static const struct timespec old[2] = { { 1, 0 }, { 1, 0 } };
    return make_map(path) && utimensat(AT_FDCWD, path, old, 0) == 0;
}

static bool make_link(const char *path)
{
    return write_text("/tmp/elsewhere", "1000 10 elsewhere\n") && symlink("elsewhere", path) == 0;
}

static bool make_pipe(const char *path)
{
    return mkfifo(path, 0600) == 0;
}

/* /tmp is a link, to where it leads outside of the container if it is not resolved within. */
static bool make_linked_folder(const char *path)
{
    (void)path;
    return mkdir("/tmp/new", 0755) == 0 && write_text("/tmp/new/perf-1.map", "1000 10 new\n") && chroot("/tmp") == 0 &&
           symlink("/new", "/tmp") == 0;
}

static bool make_nothing(const char *path)
{
    return path[0] == '/';
}

static const struct row {
    const char *name;
    bool (*make)(const char *path);
    enum sw_status status;
    const char *method; /* at 0x1000; NULL: none */
    bool needs_openat2;
} rows[] = {
    { "map_is_found_in_the_root_of_its_process_by_its_id_there", make_map, SW_OK, "inside", false },
    { "map_that_is_older_than_its_process_is_none", make_old_map, SW_OK, "outside", false },
    { "link_in_the_root_of_a_process_is_refused", make_link, SW_E_PERMISSION, NULL, false },
    { "pipe_in_the_root_of_a_process_is_not_opened", make_pipe, SW_OK, "outside", false },
    { "links_on_the_way_lead_within_the_root_of_the_process", make_linked_folder, SW_OK, "new", true },
    { "map_of_a_container_may_be_outside", make_nothing, SW_OK, "outside", false },
};

/* /tmp becomes a file system of its own. As root, without a namespace of users where there may be none. */
static bool enter_namespaces(void)
{
    char users[32], groups[32];
    snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
    if (unshare(CLONE_NEWUSER) == 0 &&
        !(write_text("/proc/self/uid_map", users) && write_text("/proc/self/setgroups", "deny") &&
          write_text("/proc/self/gid_map", groups)))
        return false;
    return unshare(CLONE_NEWPID | CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", "/tmp", "tmpfs", 0, NULL) == 0;
}

static _Noreturn void be_first(const struct row *row)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    container->state = getpid() == 1 && row->make("/tmp/perf-1.map") ? MADE : NOT_MADE;
    for (;;)
        pause();
}

static _Noreturn void be_outer(const struct row *row)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!enter_namespaces()) {
        container->state = NO_NAMESPACES;
        _exit(0);
    }
    const pid_t first = fork();
    if (first == 0)
        be_first(row);
    container->first = first;
    waitpid(first, NULL, 0);
    _exit(0);
}

/* Reads the map of the container's process; there is one outside, too, of the id that it has there. */
static enum sw_status read_map(const struct row *row, bool *is_right)
{
    char outside[40];
    struct sw_perfmap *perfmap;
    snprintf(outside, sizeof outside, "/tmp/perf-%d.map", (int)container->first);
    assert_true(write_text(outside, "1000 10 outside\n"));
    assert_int_equal(sw_perfmap_create(NULL, SW_PERFMAP_PLAIN, &perfmap), SW_OK);
    const enum sw_status status = sw_perfmap_read_process(perfmap, container->first, NULL);
    const char *method = sw_perfmap_name(perfmap, 0x1000, NULL);
    *is_right = row->method ? method && strcmp(method, row->method) == 0 : !method;
    sw_perfmap_destroy(perfmap);
    unlink(outside);
    return status;
}

static bool has_openat2(void)
{
    const struct open_how how = { .flags = O_PATH, .resolve = RESOLVE_IN_ROOT };
    const int found = (int)syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof how);
    if (found >= 0)
        close(found);
    return found >= 0;
}

static void map_is_read(void **state)
{
    const struct row *row = *state;
    HOST_NEEDS(!row->needs_openat2 || has_openat2(), "openat2");
    bool is_right = false;
    enum sw_status status = SW_E_OS;
    container->state = container->first = 0;
    const pid_t outer = fork();
    assert_true(outer >= 0);
    if (outer == 0)
        be_outer(row);
    while (container->state == 0 || (container->state != NO_NAMESPACES && container->first == 0))
        nap(1000);
    const int became = container->state;
    if (became == MADE)
        status = read_map(row, &is_right);
    kill(outer, SIGKILL);
    waitpid(outer, NULL, 0);
    HOST_NEEDS(became != NO_NAMESPACES, "namespaces of processes and mounts");
    assert_int_equal(became, MADE);
    assert_int_equal(status, row->status);
    assert_true(is_right);
}

static void process_that_is_none_has_no_map(void **state)
{
    struct sw_perfmap *perfmap;
    (void)state;
    assert_int_equal(sw_perfmap_create(NULL, SW_PERFMAP_PLAIN, &perfmap), SW_OK);
    assert_int_equal(sw_perfmap_read_process(perfmap, INT32_MAX, NULL), SW_E_OS);
    assert_int_equal(sw_perfmap_read_process(perfmap, 0, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_perfmap_read_process(NULL, 1, NULL), SW_E_ARGUMENT);
    sw_perfmap_destroy(perfmap);
}

static void map_of_an_earlier_process_is_not_read(void **state)
{
    char path[40];
    struct sw_perfmap *perfmap;
    (void)state;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    assert_true(make_old_map(path));
    assert_int_equal(sw_perfmap_create(NULL, SW_PERFMAP_PLAIN, &perfmap), SW_OK);
    const enum sw_status status = sw_perfmap_read_process(perfmap, getpid(), NULL);
    const int error = errno;
    const bool is_made = make_map(path);
    const enum sw_status anew = sw_perfmap_read_process(perfmap, getpid(), NULL);
    unlink(path);
    assert_int_equal(status, SW_E_OS);
    assert_int_equal(error, ESTALE);
    assert_true(is_made);
    assert_int_equal(anew, SW_OK);
    assert_string_equal(sw_perfmap_name(perfmap, 0x1000, NULL), "inside");
    sw_perfmap_destroy(perfmap);
}

static const struct CMUnitTest single[] = { cmocka_unit_test(process_that_is_none_has_no_map),
                                            cmocka_unit_test(map_of_an_earlier_process_is_not_read) };

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(single) + COUNT_OF(rows)];
    size_t n = COUNT_OF(single);
    container = mmap(NULL, sizeof *container, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (container == MAP_FAILED)
        return 1;
    memcpy(tests, single, sizeof single);
    ADD_ROWS(tests, n, rows, map_is_read);
    return _cmocka_run_group_tests("container", tests, n, NULL, NULL);
}
