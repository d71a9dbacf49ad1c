/*
 * Single rows of this process' memory map beside the whole text: each is asked for, by its first, a middle and its last
 * address, and is the same.
 */
#include "rows.h"

#include "target/linux/map_query.h"
#include "target/linux/os.h"

#include <snapwalk/alloc.h>

#include "common/alloc.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static int file;

static int set_up(void **state)
{
    (void)state;
    file = sw_map_query_open();
    return file < 0;
}

static int tear_down(void **state)
{
    (void)state;
    return close(file);
}

/* An old kernel: then nothing is said. */
static void must_be_answered(void)
{
    struct sw_map row;
    if (sw_map_query(file, 0, &row, NULL, 0) == SW_E_UNSUPPORTED)
        skip();
}

/* The heap and the stack grow while this goes on. */
static bool is_compared(const struct sw_map *row)
{
    return row->inode != 0;
}

static void assert_same(const struct sw_map *a, const struct sw_map *b)
{
    assert_true(a->begin == b->begin && a->end == b->end && a->offset == b->offset && a->inode == b->inode);
    assert_true(a->major == b->major && a->minor == b->minor && a->readable == b->readable);
    assert_true(a->writable == b->writable && a->executable == b->executable && a->shared == b->shared);
    assert_int_equal(a->path_size, b->path_size);
    assert_memory_equal(a->path, b->path, a->path_size);
}

static void a_row_is_as_in_the_text(void **state)
{
    const struct sw_alloc alloc = sw_alloc_resolve(NULL);
    struct sw_os_text text;
    struct sw_map row, found;
    char path[PATH_BYTES];
    unsigned compared = 0;
    (void)state;
    must_be_answered();
    assert_int_equal(sw_os_read_file(&alloc, "/proc/self/maps", &text), SW_OK);
    struct sw_maps_text left = { text.bytes, text.bytes + text.size, 0 };
    while (sw_maps_next(&left, &row)) {
        if (!is_compared(&row))
            continue;
        const uint64_t at[] = { row.begin, row.begin + (row.end - row.begin) / 2, row.end - 1 };
        for (unsigned i = 0; i < COUNT_OF(at); i++, compared++) {
            assert_int_equal(sw_map_query(file, at[i], &found, path, sizeof path), SW_OK);
            assert_same(&row, &found);
        }
    }
    sw_os_free_text(&alloc, &text);
    assert_true(compared > 9);
}

static void between_rows_the_next_one_is_told(void **state)
{
    enum { PAGE = 4096 };
    struct sw_map found;
    (void)state;
    must_be_answered();
    char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + 2 * PAGE, PAGE, PROT_NONE), 0);
    assert_int_equal(munmap(pages + PAGE, PAGE), 0);
    assert_int_equal(sw_map_query(file, (uint64_t)(uintptr_t)pages + PAGE, &found, NULL, 0), SW_OK);
    assert_int_equal(found.begin, (uint64_t)(uintptr_t)pages + 2 * PAGE);
    assert_false(found.readable || found.writable || found.executable || found.shared);
    assert_int_equal(found.path_size, 0);
    munmap(pages, PAGE);
    munmap(pages + 2 * PAGE, PAGE);
}

static void behind_all_there_is_none(void **state)
{
    struct sw_map found;
    (void)state;
    must_be_answered();
    errno = 5;
    assert_int_equal(sw_map_query(file, UINT64_MAX - 1, &found, NULL, 0), SW_E_NOT_FOUND);
    assert_int_equal(errno, 5);
}

static void a_path_that_does_not_fit_is_none(void **state)
{
    struct sw_map found;
    char path[4];
    (void)state;
    must_be_answered();
    const uint64_t here = (uint64_t)(uintptr_t)&a_path_that_does_not_fit_is_none;
    assert_int_equal(sw_map_query(file, here, &found, path, sizeof path), SW_OK);
    assert_true(found.begin <= here && here < found.end && found.executable);
    assert_int_equal(found.path_size, 0);
}

static void what_answers_nothing_is_not_supported(void **state)
{
    struct sw_map found;
    int pipes[2];
    (void)state;
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(sw_map_query(pipes[0], 0, &found, NULL, 0), SW_E_UNSUPPORTED);
    assert_int_equal(sw_map_query(-1, 0, &found, NULL, 0), SW_E_UNSUPPORTED);
    close(pipes[0]);
    close(pipes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_as_in_the_text),
        cmocka_unit_test(between_rows_the_next_one_is_told),
        cmocka_unit_test(behind_all_there_is_none),
        cmocka_unit_test(a_path_that_does_not_fit_is_none),
        cmocka_unit_test(what_answers_nothing_is_not_supported),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
