/* Rows of /proc/PID/maps: real ones, and what a hostile target could make of them. */
#include "rows.h"
#include "target/linux/maps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct row {
    const char *name;
    const char *text;
    bool is_row;
    struct sw_map map; /* path and path_size are in `path` */
    const char *path;
} rows[] = {
    { "a_mapped_file",
      "7f12a000-7f12c000 r-xp 00001000 fd:01 1234                       /usr/lib/libc.so.6\n",
      true,
      { .begin = 0x7f12a000,
        .end = 0x7f12c000,
        .offset = 0x1000,
        .inode = 1234,
        .major = 0xfd,
        .minor = 1,
        .readable = true,
        .executable = true },
      "/usr/lib/libc.so.6" },
    { "a_shared_writable_row",
      "1000-2000 rw-s 00000000 00:01 7 /dev/zero (deleted)\n",
      true,
      { .begin = 0x1000, .end = 0x2000, .inode = 7, .minor = 1, .readable = true, .writable = true, .shared = true },
      "/dev/zero (deleted)" },
    { "anonymous_memory_has_no_path",
      "1000-2000 ---p 00000000 00:00 0 \n",
      true,
      { .begin = 0x1000, .end = 0x2000 },
      "" },
    { "a_row_may_end_at_the_inode", "1000-2000 ---p 00000000 00:00 0", true, { .begin = 0x1000, .end = 0x2000 }, "" },
    { "the_vsyscall_page",
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n",
      true,
      { .begin = 0xffffffffff600000, .end = 0xffffffffff601000, .executable = true },
      "[vsyscall]" },
    { "a_path_with_blanks",
      "1000-2000 r--p 00000000 00:2b 5 /tmp/a  b \n",
      true,
      { .begin = 0x1000, .end = 0x2000, .inode = 5, .minor = 0x2b, .readable = true },
      "/tmp/a  b " },
    { "the_largest_inode",
      "1000-2000 r--p 0 0:0 18446744073709551609 /x",
      true,
      { .begin = 0x1000, .end = 0x2000, .inode = 18446744073709551609u, .readable = true },
      "/x" },
    { "an_empty_row_is_none", "\n", false, { 0 }, NULL },
    { "an_empty_text_is_none", "", false, { 0 }, NULL },
    { "a_range_upside_down_is_none", "2000-1000 r--p 00000000 00:00 0\n", false, { 0 }, NULL },
    { "an_empty_range_is_none", "1000-1000 r--p 00000000 00:00 0\n", false, { 0 }, NULL },
    { "an_address_over_64_bits_is_none", "1000-10000000000001000 r--p 00000000 00:00 0\n", false, { 0 }, NULL },
    { "no_begin_is_none", "-1000 r--p 00000000 00:00 0\n", false, { 0 }, NULL },
    { "no_end_is_none", "1000- r--p 00000000 00:00 0\n", false, { 0 }, NULL },
    { "a_sign_is_none", "+1000-2000 r--p 00000000 00:00 0\n", false, { 0 }, NULL },
    { "capital_digits_are_none", "ABCD-BCDE r--p 00000000 00:00 0\n", false, { 0 }, NULL },
    { "rights_out_of_order_are_none", "1000-2000 w--p 00000000 00:00 0\n", false, { 0 }, NULL },
    { "rights_cut_short_are_none", "1000-2000 r--", false, { 0 }, NULL },
    { "five_rights_are_none", "1000-2000 r--pp 00000000 00:00 0\n", false, { 0 }, NULL },
    { "a_row_cut_after_the_rights_is_none", "1000-2000 r--p ", false, { 0 }, NULL },
    { "a_row_cut_in_the_device_is_none", "1000-2000 r--p 0 00", false, { 0 }, NULL },
    { "a_row_without_inode_is_none", "1000-2000 r--p 0 00:00 /etc", false, { 0 }, NULL },
    { "an_inode_glued_to_a_path_is_none", "1000-2000 r--p 0 00:00 12/etc", false, { 0 }, NULL },
    { "an_inode_over_64_bits_is_none", "1000-2000 r--p 0 00:00 18446744073709551616 /x", false, { 0 }, NULL },
    { "a_device_over_32_bits_is_none", "1000-2000 r--p 0 100000000:00 0\n", false, { 0 }, NULL },
    { "binary_rubbish_is_none", "\377\376\001-\002 \003", false, { 0 }, NULL },
};

static void one_row(void **state)
{
    const struct row *row = *state;
    struct sw_maps_text text = { row->text, row->text + strlen(row->text), 0 };
    struct sw_map map;
    const bool found = sw_maps_next(&text, &map);
    assert_int_equal(found, row->is_row);
    assert_int_equal(text.bad, row->is_row || !*row->text ? 0 : 1);
    if (!found)
        return;
    assert_int_equal(map.path_size, strlen(row->path));
    assert_memory_equal(map.path, row->path, map.path_size);
    map.path = NULL;
    map.path_size = 0;
    assert_true(map.begin == row->map.begin && map.end == row->map.end && map.offset == row->map.offset);
    assert_true(map.inode == row->map.inode && map.major == row->map.major && map.minor == row->map.minor);
    assert_true(map.readable == row->map.readable && map.writable == row->map.writable);
    assert_true(map.executable == row->map.executable && map.shared == row->map.shared);
    assert_false(sw_maps_next(&text, &map));
}

static const struct path_row {
    const char *name;
    const char *path;
    enum sw_status status;
    size_t room;
    const char *plain;
    bool deleted;
} path_rows[] = {
    { "a_path_stays", "/usr/lib/a.so", SW_OK, 64, "/usr/lib/a.so", false },
    { "deleted_is_cut_off", "/tmp/a.so (deleted)", SW_OK, 64, "/tmp/a.so", true },
    { "deleted_once_only", "/tmp/a (deleted) (deleted)", SW_OK, 64, "/tmp/a (deleted)", true },
    { "a_newline_comes_back", "/tmp/a\\012b", SW_OK, 64, "/tmp/a\nb", false },
    { "another_escape_is_text", "/tmp/a\\134b\\01", SW_OK, 64, "/tmp/a\\134b\\01", false },
    { "a_name_in_brackets_is_no_file", "[stack]", SW_E_NOT_FOUND, 64, NULL, false },
    { "no_path_is_no_file", "", SW_E_NOT_FOUND, 64, NULL, false },
    { "only_deleted_is_no_file", " (deleted)", SW_E_NOT_FOUND, 64, NULL, false },
    { "a_path_that_just_fits", "/abc", SW_OK, 5, "/abc", false },
    { "a_path_that_does_not_fit", "/abc", SW_E_LIMIT, 4, NULL, false },
    { "no_room_at_all", "/abc", SW_E_LIMIT, 0, NULL, false },
};

static void one_path(void **state)
{
    const struct path_row *row = *state;
    const struct sw_map map = { .path = row->path, .path_size = strlen(row->path) };
    char path[64];
    bool deleted = false;
    assert_int_equal(sw_maps_path(&map, path, row->room, &deleted), row->status);
    if (row->status != SW_OK)
        return;
    assert_string_equal(path, row->plain);
    assert_int_equal(deleted, row->deleted);
}

static void a_zero_inside_a_path_makes_it_no_file(void **state)
{
    const struct sw_map map = { .path = "/a\0b", .path_size = 4 };
    char path[64];
    (void)state;
    assert_int_equal(sw_maps_path(&map, path, sizeof path, NULL), SW_E_NOT_FOUND);
}

static void rows_that_overlap_or_go_back_are_left_out(void **state)
{
    static const char text[] = "3000-5000 r--p 0 0:0 0\n4000-6000 r--p 0 0:0 0\n1000-2000 r--p 0 0:0 0\nrubbish\n"
                               "5000-6000 r--p 0 0:0 0\n";
    struct sw_map maps[8];
    (void)state;
    assert_int_equal(sw_maps_parse(text, sizeof text - 1, maps, COUNT_OF(maps)), 2);
    assert_int_equal(maps[0].begin, 0x3000);
    assert_int_equal(maps[1].begin, 0x5000);
    assert_int_equal(sw_maps_parse(text, sizeof text - 1, NULL, 0), 2);
}

static void a_row_is_found_by_any_of_its_addresses(void **state)
{
    static const struct sw_map maps[] = { { .begin = 0x1000, .end = 0x2000 },
                                          { .begin = 0x2000, .end = 0x3000 },
                                          { .begin = 0x5000, .end = 0x6000 } };
    (void)state;
    assert_null(sw_maps_find(maps, COUNT_OF(maps), 0xfff));
    assert_ptr_equal(sw_maps_find(maps, COUNT_OF(maps), 0x1000), &maps[0]);
    assert_ptr_equal(sw_maps_find(maps, COUNT_OF(maps), 0x1fff), &maps[0]);
    assert_ptr_equal(sw_maps_find(maps, COUNT_OF(maps), 0x2000), &maps[1]);
    assert_null(sw_maps_find(maps, COUNT_OF(maps), 0x3000));
    assert_ptr_equal(sw_maps_find(maps, COUNT_OF(maps), 0x5fff), &maps[2]);
    assert_null(sw_maps_find(maps, COUNT_OF(maps), UINT64_MAX));
    assert_null(sw_maps_find(maps, 0, 0x1000));
}

static void the_map_of_this_process_parses_without_a_bad_row(void **state)
{
    static char bytes[1 << 18];
    struct sw_map map;
    bool own_code = false;
    FILE *file = fopen("/proc/self/maps", "r");
    (void)state;
    assert_non_null(file);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    struct sw_maps_text text = { bytes, bytes + size, 0 };
    const uint64_t here = (uint64_t)(uintptr_t)&the_map_of_this_process_parses_without_a_bad_row;
    while (sw_maps_next(&text, &map))
        own_code |= map.begin <= here && here < map.end && map.executable && map.inode != 0 && map.path[0] == '/';
    assert_int_equal(text.bad, 0);
    assert_true(own_code);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows) + COUNT_OF(path_rows) + 4] = {
        cmocka_unit_test(a_zero_inside_a_path_makes_it_no_file),
        cmocka_unit_test(rows_that_overlap_or_go_back_are_left_out),
        cmocka_unit_test(a_row_is_found_by_any_of_its_addresses),
        cmocka_unit_test(the_map_of_this_process_parses_without_a_bad_row),
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        tests[4 + i] = (struct CMUnitTest){ rows[i].name, one_row, NULL, NULL, (void *)(uintptr_t)&rows[i] };
    for (size_t i = 0; i < COUNT_OF(path_rows); i++)
        tests[4 + COUNT_OF(rows) + i] =
            (struct CMUnitTest){ path_rows[i].name, one_path, NULL, NULL, (void *)(uintptr_t)&path_rows[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
