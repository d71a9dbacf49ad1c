/* Ranges of code that is mapped twice: which are repeated, where, and what is left alone. */
#include "target/linux/mirror.h"

#include "rows.h"

#include <snapwalk/codemap.h>

#include "common/alloc.h"

enum { FILE_A = 11, FILE_B = 12 };

#define MAP(from, to, where, file, code)                                                                               \
    {                                                                                                                  \
        .begin = from, .end = to, .offset = where, .inode = file, .readable = true, .executable = code                 \
    }

/* A file's code at 0x10000, its page 0x2000 again at 0x90000; the same bytes as data; another file. */
static const struct sw_map maps[] = {
    MAP(0x10000, 0x15000, 0, FILE_A, true),
    MAP(0x40000, 0x45000, 0, FILE_A, false),
    MAP(0x50000, 0x55000, 0, FILE_B, true),
    MAP(0x90000, 0x91000, 0x2000, FILE_A, true),
};

static struct sw_codemap *map;

static int set_up(void **state)
{
    (void)state;
    return sw_codemap_create(NULL, &map) == SW_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    sw_codemap_destroy(map);
    return 0;
}

static void put(uint64_t begin, uint64_t end)
{
    const struct sw_range range = { begin, end, begin, 0, SW_KIND_JIT, SW_UNWIND_FOREIGN, 0 };
    assert_int_equal(sw_codemap_add(map, &range), SW_OK);
}

static bool count_one(void *arg, const struct sw_range *range)
{
    (void)range;
    ++*(unsigned *)arg;
    return true;
}

static unsigned count(void)
{
    unsigned n = 0;
    assert_int_equal(sw_codemap_each(map, count_one, &n), SW_OK);
    return n;
}

static void mirror(void)
{
    assert_int_equal(sw_mirror_ranges(maps, COUNT_OF(maps), &sw_alloc_libc, map), SW_OK);
}

static void a_range_in_both_is_at_both(void **state)
{
    struct sw_range range;
    (void)state;
    put(0x12100, 0x12180);
    mirror();
    assert_int_equal(sw_codemap_find(map, 0x90110, &range), SW_OK);
    assert_int_equal(range.begin, 0x90100);
    assert_int_equal(range.end, 0x90180);
    assert_int_equal(range.id, 0x12100);
    assert_int_equal(range.unwind, SW_UNWIND_FOREIGN);
    assert_int_equal(count(), 2);
    mirror(); /* and that is all, however often */
    assert_int_equal(count(), 2);
}

static void it_works_in_both_directions(void **state)
{
    (void)state;
    put(0x90ff0, 0x91000);
    mirror();
    assert_int_equal(sw_codemap_find(map, 0x12fff, NULL), SW_OK);
    assert_int_equal(count(), 2);
}

static void what_is_not_wholly_in_both_is_left_alone(void **state)
{
    (void)state;
    put(0x11000, 0x11010);
    put(0x11ff0, 0x12010);
    put(0x12ff0, 0x13001);
    put(0x50000, 0x50010);
    mirror();
    assert_int_equal(count(), 4);
}

static void what_is_there_stays(void **state)
{
    struct sw_range range;
    (void)state;
    put(0x12100, 0x12180);
    put(0x90170, 0x90200);
    mirror();
    assert_int_equal(sw_codemap_find(map, 0x90170, &range), SW_OK);
    assert_int_equal(range.begin, 0x90170);
    assert_int_equal(sw_codemap_find(map, 0x90100, NULL), SW_E_NOT_FOUND);
}

static void *none(void *arg, size_t size)
{
    (void)arg, (void)size;
    return NULL;
}

static void without_memory_nothing_changes(void **state)
{
    const struct sw_alloc alloc = { none, NULL, NULL };
    (void)state;
    put(0x12100, 0x12180);
    assert_int_equal(sw_mirror_ranges(maps, COUNT_OF(maps), &alloc, map), SW_E_NO_MEMORY);
    assert_int_equal(count(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_range_in_both_is_at_both, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_works_in_both_directions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_wholly_in_both_is_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_there_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_memory_nothing_changes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
