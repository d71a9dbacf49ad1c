/* The file that a module was loaded from, by .NET 8's chain of structures: texts of every kind, and broken ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "clr/names/names.h"

enum { TARGET = 0x10000, TEXT = 512, TARGET_BYTES = 16384, ROOM = 64 };

static uint8_t bytes[TARGET_BYTES];
static struct sw_names names;

static size_t read_target(void *arg, uint64_t address, void *to, size_t size)
{
    (void)arg;
    if (address < TARGET || address - TARGET >= sizeof bytes)
        return 0;
    const size_t left = sizeof bytes - (size_t)(address - TARGET), part = size < left ? size : left;
    memcpy(to, bytes + (address - TARGET), part);
    return part;
}

static void put(size_t at, uint64_t value)
{
    memcpy(bytes + at, &value, sizeof value);
}

/* A module at TARGET, which leads to a text at `text` in the target. */
static void make(uint64_t text)
{
    memset(bytes, 0, sizeof bytes);
    names = (struct sw_names){ .memory = { .read = read_target } };
    sw_names_known(&names, 8);
    put(names.at[SW_NAMES_MODULE_FILE], TARGET + 0x140);
    put(0x140 + names.at[SW_NAMES_FILE_IMAGE], TARGET + 0x160);
    put(0x160 + names.at[SW_NAMES_IMAGE_PATH], text);
}

/* units: 0-terminated */
static enum sw_status path_of(const uint16_t *units, size_t size, char path[ROOM])
{
    make(TARGET + TEXT);
    for (size_t i = 0; units[i]; i++)
        memcpy(bytes + TEXT + 2 * i, &units[i], 2);
    return sw_names_path(&names, TARGET, path, size);
}

static const struct text {
    const char *name;
    uint16_t units[48];
    size_t size;
    enum sw_status status;
    const char *path;
} texts[] = {
    { "letters", { '/', 'a', '.', 'd', 'l', 'l' }, ROOM, SW_OK, "/a.dll" },
    { "two_bytes", { '/', 0xe9, 0x7ff }, ROOM, SW_OK, "/\xc3\xa9\xdf\xbf" },
    { "three_bytes", { 0x800, 0x20ac, 0xffff }, ROOM, SW_OK, "\xe0\xa0\x80\xe2\x82\xac\xef\xbf\xbf" },
    { "a_pair_is_four_bytes", { 0xd83d, 0xde00, 'x' }, ROOM, SW_OK, "\xf0\x9f\x98\x80x" },
    { "the_last_pair", { 0xdbff, 0xdfff }, ROOM, SW_OK, "\xf4\x8f\xbf\xbf" },
    { "over_a_page_of_units",
      { 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q',
        'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', '0', '1', '2', '3', '4', '5', '6' },
      ROOM,
      SW_OK,
      "abcdefghijklmnopqrstuvwxyz0123456" },
    { "nothing", { 0 }, ROOM, SW_E_NOT_FOUND, "" },
    { "a_first_half_alone_at_the_end", { 'a', 0xd83d }, ROOM, SW_E_MALFORMED, "" },
    { "a_first_half_before_a_letter", { 0xd83d, 'a' }, ROOM, SW_E_MALFORMED, "" },
    { "two_first_halves", { 0xd83d, 0xd83d, 0xde00 }, ROOM, SW_E_MALFORMED, "" },
    { "a_second_half_alone", { 'a', 0xde00 }, ROOM, SW_E_MALFORMED, "" },
    { "just_room", { 'a', 'b', 'c' }, 4, SW_OK, "abc" },
    { "no_room_for_the_last", { 'a', 'b', 'c', 'd' }, 4, SW_E_LIMIT, "" },
    { "no_room_for_a_part", { 'a', 0x20ac }, 4, SW_E_LIMIT, "" },
};

static void text_is_read(void **state)
{
    const struct text *text = *state;
    char path[ROOM];
    memset(path, 'x', sizeof path);
    assert_int_equal(path_of(text->units, text->size, path), text->status);
    assert_string_equal(path, text->path);
    if (text->size < ROOM)
        assert_int_equal(path[text->size], 'x');
}

static void a_text_without_an_end_has_a_limit(void **state)
{
    static char path[TARGET_BYTES];
    (void)state;
    make(TARGET + TEXT);
    memset(bytes + TEXT, 'a', sizeof bytes - TEXT);
    assert_int_equal(sw_names_path(&names, TARGET, path, sizeof path), SW_E_LIMIT);
    assert_string_equal(path, "");
}

static void a_text_that_is_not_there_is_unreadable(void **state)
{
    char path[ROOM];
    (void)state;
    make(TARGET + TARGET_BYTES - 4);
    memset(bytes + TARGET_BYTES - 4, 'a', 4);
    assert_int_equal(sw_names_path(&names, TARGET, path, sizeof path), SW_E_UNREADABLE);
    make(0);
    assert_int_equal(sw_names_path(&names, TARGET, path, sizeof path), SW_E_NOT_FOUND);
}

static void a_module_without_a_file_has_none(void **state)
{
    char path[ROOM];
    (void)state;
    make(TARGET + TEXT);
    put(names.at[SW_NAMES_MODULE_FILE], 0);
    assert_int_equal(sw_names_path(&names, TARGET, path, sizeof path), SW_E_NOT_FOUND);
}

/* 9 and 10: what the descriptor says of the module counts. */
static void a_described_path_comes_first(void **state)
{
    char path[ROOM];
    (void)state;
    make(0);
    names.at[SW_NAMES_MODULE_PATH] = 200;
    put(200, TARGET + TEXT);
    bytes[TEXT] = 'p';
    assert_int_equal(sw_names_path(&names, TARGET, path, sizeof path), SW_OK);
    assert_string_equal(path, "p");
}

int main(void)
{
    enum { COUNT = sizeof texts / sizeof texts[0] };
    struct CMUnitTest tests[COUNT + 4] = { cmocka_unit_test(a_text_without_an_end_has_a_limit),
                                           cmocka_unit_test(a_text_that_is_not_there_is_unreadable),
                                           cmocka_unit_test(a_module_without_a_file_has_none),
                                           cmocka_unit_test(a_described_path_comes_first) };
    for (size_t i = 0; i < COUNT; i++)
        tests[4 + i] = (struct CMUnitTest){ texts[i].name, text_is_read, NULL, NULL, (void *)(uintptr_t)&texts[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
