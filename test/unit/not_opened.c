/*
 * What is no regular file is not opened, by whatever way its name comes in: to open a FIFO or a device may do
 * something. It is found by O_PATH, which inotify does not count as an open, and looked at.
 */
#include "rows.h"
#include "cores.h"
#include "host.h"

#include <snapwalk/core.h>
#include <snapwalk/image.h>
#include <snapwalk/perfmap.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { BUILD_ID = 7, NULL_MAJOR = 1, NULL_MINOR = 3 };

/* What there is in the place of a file. The device is /dev/null: one that may be opened here as well. */
static bool make_pipe(const char *path)
{
    return mkfifo(path, 0600) == 0;
}

static bool make_device(const char *path)
{
    return mknod(path, S_IFCHR | 0600, makedev(NULL_MAJOR, NULL_MINOR)) == 0;
}

static bool make_file(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd >= 0 && close(fd) == 0;
}

/* Ways of a name; root/bin/made is the path. */
static void is_named_by_a_core(const char *root, const char *path)
{
    static struct made made;
    const struct sw_core_files files = { .sysroot = root };
    struct sw_core *core;
    struct sw_images *images;
    (void)path;
    made = (struct made){ .machine = SW_MACHINE_X64, .build_id = BUILD_ID };
    made_core(&made);
    assert_int_equal(sw_core_open_bytes(NULL, made.bytes, made.size, &core), SW_OK);
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_core_add_images(core, &files, images), SW_OK);
    sw_images_destroy(images);
    sw_core_close(core);
}

static void is_opened_as_a_core(const char *root, const char *path)
{
    struct sw_core *core;
    (void)root;
    assert_int_not_equal(sw_core_open(NULL, path, &core), SW_OK);
}

static void is_added_as_an_image(const char *root, const char *path)
{
    struct sw_images *images;
    (void)root;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_not_equal(sw_images_add_file(images, path, 0x400000), SW_OK);
    sw_images_destroy(images);
}

static void is_read_as_a_perf_map(const char *root, const char *path)
{
    struct sw_perfmap *perfmap;
    (void)root;
    assert_int_equal(sw_perfmap_create(NULL, SW_PERFMAP_PLAIN, &perfmap), SW_OK);
    (void)!sw_perfmap_read(perfmap, path, NULL);
    sw_perfmap_destroy(perfmap);
}

static const struct row {
    const char *name;
    bool (*make)(const char *path);
    void (*use)(const char *root, const char *path);
    bool is_opened;
} rows[] = {
    { "pipe_that_a_core_names", make_pipe, is_named_by_a_core, false },
    { "pipe_as_a_core", make_pipe, is_opened_as_a_core, false },
    { "pipe_as_an_image", make_pipe, is_added_as_an_image, false },
    { "pipe_as_a_perf_map", make_pipe, is_read_as_a_perf_map, false },
    { "device_that_a_core_names", make_device, is_named_by_a_core, false },
    { "device_as_a_core", make_device, is_opened_as_a_core, false },
    { "device_as_an_image", make_device, is_added_as_an_image, false },
    { "device_as_a_perf_map", make_device, is_read_as_a_perf_map, false },
    /* What is seen is seen. */
    { "file_that_a_core_names", make_file, is_named_by_a_core, true },
    { "file_as_a_core", make_file, is_opened_as_a_core, true },
    { "file_as_an_image", make_file, is_added_as_an_image, true },
    { "file_as_a_perf_map", make_file, is_read_as_a_perf_map, true },
};

static bool was_opened(int watch)
{
    char events[512];
    return read(watch, events, sizeof events) > 0;
}

static void only_files_are_opened(void **state)
{
    const struct row *row = *state;
    char root[] = "/tmp/snapwalk-opened-XXXXXX", folder[64], path[80];
    assert_non_null(mkdtemp(root));
    snprintf(folder, sizeof folder, "%s/bin", root);
    snprintf(path, sizeof path, "%s/made", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    const bool is_made = row->make(path);
    const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    const bool is_watched = is_made && watch >= 0 && inotify_add_watch(watch, path, IN_OPEN) >= 0;
    if (is_watched)
        row->use(root, path);
    const bool is_opened = is_watched && was_opened(watch);
    const int opened = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const bool is_seen = opened >= 0 && was_opened(watch);
    close(opened);
    close(watch);
    unlink(path);
    rmdir(folder);
    rmdir(root);
    HOST_NEEDS(is_made, "the right to make a device");
    HOST_NEEDS(is_seen, "inotify, and devices in /tmp that may be opened");
    assert_int_equal(is_opened, row->is_opened);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows)];
    FILL_ROWS(tests, rows, only_files_are_opened);
    return _cmocka_run_group_tests("not_opened", tests, COUNT_OF(rows), NULL, NULL);
}
