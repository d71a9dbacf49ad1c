/*
 * Perf maps: the text of a line, who wins where lines overlap, and what becomes of CoreCLR's lines in a code map.
 */
#include "rows.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "budget.h"

#include <snapwalk/perfmap.h>

#include "jit/perfmap_text.h"

/* ---- one line ---- */

static const struct line_row {
    const char *name;
    const char *text;
    enum sw_status status;
    uint64_t begin;
    uint64_t size;
    const char *line_name;
} line_rows[] = {
    { "dotnet_line_with_0x", "0x7f2113691b00 2e int32 [app] P::Small(int32)[QuickJitted]\n", SW_OK, 0x7f2113691b00,
      0x2e, "int32 [app] P::Small(int32)[QuickJitted]" },
    { "v8_line_without_0x", "7f09c37c5b80 130 JS:^work n.js:2:14\n", SW_OK, 0x7f09c37c5b80, 0x130,
      "JS:^work n.js:2:14" },
    { "hotspot_line_with_16_digits", "0x00007f25d4ec7c20 0x0000000000000108 int J.work(int)\n", SW_OK, 0x7f25d4ec7c20,
      0x108, "int J.work(int)" },
    { "mono_line", "412d5200 67 M:Small (int)\n", SW_OK, 0x412d5200, 0x67, "M:Small (int)" },
    { "upper_case_digits_and_tab", "0XABCDEF\t10 n\n", SW_OK, 0xabcdef, 0x10, "n" },
    { "name_keeps_trailing_and_inner_blanks", "10 20 a  b \n", SW_OK, 0x10, 0x20, "a  b " },
    { "utf8_name", "10 20 \xc3\xa4::\xe2\x82\xac\n", SW_OK, 0x10, 0x20, "\xc3\xa4::\xe2\x82\xac" },
    { "range_up_to_the_last_byte", "ffffffffffffff00 ff x\n", SW_OK, UINT64_C(0xffffffffffffff00), 0xff, "x" },
    { "range_that_wraps_is_refused", "ffffffffffffff00 101 x\n", SW_E_MALFORMED, 0, 0, NULL },
    { "number_over_64_bits_is_refused", "10000000000000000 1 x\n", SW_E_MALFORMED, 0, 0, NULL },
    { "missing_name_is_refused", "10 20\n", SW_E_MALFORMED, 0, 0, NULL },
    { "empty_name_is_refused", "10 20 \n", SW_E_MALFORMED, 0, 0, NULL },
    { "missing_size_is_refused", "10 x\n", SW_E_MALFORMED, 0, 0, NULL },
    { "bare_prefix_is_refused", "0x 10 x\n", SW_E_MALFORMED, 0, 0, NULL },
    { "empty_line_is_refused", "\n", SW_E_MALFORMED, 0, 0, NULL },
    { "signed_number_is_refused", "-10 20 x\n", SW_E_MALFORMED, 0, 0, NULL },
    { "partial_last_line_is_left", "10 20 x", SW_E_NOT_FOUND, 0, 0, NULL },
    { "empty_text_has_no_line", "", SW_E_NOT_FOUND, 0, 0, NULL },
};

static void line_is_read(void **state)
{
    const struct line_row *row = *state;
    struct sw_perfmap_line line;
    size_t at = 0;
    const size_t size = strlen(row->text);
    char *exact = malloc(size + 1); /* so that a read past the end is seen */
    memcpy(exact, row->text, size);
    char *copy = realloc(exact, size ? size : 1);
    assert_int_equal(sw_perfmap_next(copy, size, &at, &line), row->status);
    assert_int_equal(at, row->status == SW_E_NOT_FOUND ? 0 : size);
    if (row->status == SW_OK) {
        assert_true(line.begin == row->begin);
        assert_true(line.size == row->size);
        assert_int_equal(line.name_size, strlen(row->line_name));
        assert_memory_equal(line.name, row->line_name, line.name_size);
    }
    free(copy);
}

/* ---- texts: what holds an address afterwards ---- */

struct probe {
    uint64_t address;
    const char *name; /* null: nothing there */
    uint8_t kind;
    uint8_t unwind;
    uint16_t flags;
    uint64_t begin;
    uint64_t end;
};

#define JIT_CLR   SW_KIND_JIT, SW_UNWIND_CLR_HEADER
#define JIT_PLAIN SW_KIND_JIT, SW_UNWIND_FOREIGN
#define STUB      SW_KIND_STUB, SW_UNWIND_AUTO
#define BLOCK     SW_KIND_STUB, SW_UNWIND_AUTO

static const struct text_row {
    const char *name;
    enum sw_perfmap_flavour flavour;
    const char *text;
    uint64_t lines;
    uint64_t bad;
    uint64_t ranges; /* in the code map */
    struct probe probes[6];
} text_rows[] = {
    { "plain_line_is_a_jit_range_with_its_begin_as_id",
      SW_PERFMAP_PLAIN,
      "1000 100 f\n2000 10 g\n",
      2,
      0,
      2,
      { { 0x1000, "f", JIT_PLAIN, 0, 0x1000, 0x1100 },
        { 0x10ff, "f", JIT_PLAIN, 0, 0x1000, 0x1100 },
        { 0x1100, NULL, 0, 0, 0, 0, 0 },
        { 0xfff, NULL, 0, 0, 0, 0, 0 },
        { 0x200f, "g", JIT_PLAIN, 0, 0x2000, 0x2010 } } },
    { "stub_prefix_means_nothing_in_a_plain_map",
      SW_PERFMAP_PLAIN,
      "1000 100 stub x\n",
      1,
      0,
      1,
      { { 0x1000, "stub x", JIT_PLAIN, 0, 0x1000, 0x1100 } } },
    { "later_line_removes_an_overlapped_earlier_one_whole",
      SW_PERFMAP_PLAIN,
      "1000 100 old\n1080 100 new\n",
      2,
      0,
      1,
      { { 0x1000, NULL, 0, 0, 0, 0, 0 }, { 0x1080, "new", JIT_PLAIN, 0, 0x1080, 0x1180 } } },
    { "later_line_removes_several",
      SW_PERFMAP_PLAIN,
      "1000 10 a\n1010 10 b\n1020 10 c\n1030 10 d\n1008 20 e\n",
      5,
      0,
      2,
      { { 0x1000, NULL, 0, 0, 0, 0, 0 },
        { 0x1010, "e", JIT_PLAIN, 0, 0x1008, 0x1028 },
        { 0x1028, NULL, 0, 0, 0, 0, 0 },
        { 0x1030, "d", JIT_PLAIN, 0, 0x1030, 0x1040 } } },
    { "same_range_again_has_the_later_name",
      SW_PERFMAP_PLAIN,
      "1000 100 a\n1000 100 b\n",
      2,
      0,
      1,
      { { 0x1000, "b", JIT_PLAIN, 0, 0x1000, 0x1100 } } },
    { "neighbours_do_not_touch",
      SW_PERFMAP_PLAIN,
      "1010 10 b\n1000 10 a\n1020 10 c\n",
      3,
      0,
      3,
      { { 0x100f, "a", JIT_PLAIN, 0, 0x1000, 0x1010 },
        { 0x1010, "b", JIT_PLAIN, 0, 0x1010, 0x1020 },
        { 0x1020, "c", JIT_PLAIN, 0, 0x1020, 0x1030 } } },
    { "bad_lines_are_counted_and_passed_over",
      SW_PERFMAP_PLAIN,
      "x\n1000 10 a\n\n0 10 null\n2000 10 b\n",
      2,
      3,
      2,
      { { 0x1000, "a", JIT_PLAIN, 0, 0x1000, 0x1010 }, { 0x2000, "b", JIT_PLAIN, 0, 0x2000, 0x2010 } } },
    { "empty_range_is_understood_and_holds_nothing",
      SW_PERFMAP_PLAIN,
      "1000 0 a\n",
      1,
      0,
      0,
      { { 0x1000, NULL, 0, 0, 0, 0, 0 } } },
    { "partial_last_line_is_ignored",
      SW_PERFMAP_PLAIN,
      "1000 10 a\n2000 10 b",
      1,
      0,
      1,
      { { 0x2000, NULL, 0, 0, 0, 0, 0 } } },
    { "clr_method_has_the_jits_header",
      SW_PERFMAP_CLR,
      "0x1000 2e int32 [app] P::Small(int32)[QuickJitted]\n",
      1,
      0,
      1,
      { { 0x1000, "int32 [app] P::Small(int32)[QuickJitted]", JIT_CLR, 0, 0x1000, 0x102e } } },
    { "clr_dynamic_methods_are_hidden",
      SW_PERFMAP_CLR,
      "1000 8 int32 [Anonymously Hosted DynamicMethods Assembly] dynamicClass::lambda_method1(X /* MT: 0x7f */,int32)"
      "[Optimized]\n"
      "2000 b3 void [live] dynamicClass::IL_STUB_PInvoke(int32[],native uint)[Optimized]\n"
      "3000 10 void [live] MydynamicClass::F()[Optimized]\n",
      3,
      0,
      3,
      { { 0x1000,
          "int32 [Anonymously Hosted DynamicMethods Assembly] dynamicClass::lambda_method1(X /* MT: 0x7f */,int32)"
          "[Optimized]",
          JIT_CLR, SW_RANGE_HIDDEN, 0x1000, 0x1008 },
        { 0x2010, "void [live] dynamicClass::IL_STUB_PInvoke(int32[],native uint)[Optimized]", JIT_CLR, SW_RANGE_HIDDEN,
          0x2000, 0x20b3 },
        { 0x3000, "void [live] MydynamicClass::F()[Optimized]", JIT_CLR, 0, 0x3000, 0x3010 } } },
    { "clr_stub_is_analysed_from_its_start",
      SW_PERFMAP_CLR,
      "1000 f stub CreateHelper<DynamicHelper>\n",
      1,
      0,
      1,
      { { 0x1000, "stub CreateHelper<DynamicHelper>", STUB, 0, 0x1000, 0x100f } } },
    { "clr_stub_block_has_the_return_address_on_top",
      SW_PERFMAP_CLR,
      "10000 10000 stub ReportStubBlock<MethodCallThunk>\n",
      1,
      0,
      1,
      { { 0x18888, "stub ReportStubBlock<MethodCallThunk>", BLOCK, 0, 0x10000, 0x20000 } } },
    { "method_inside_an_earlier_block_splits_it",
      SW_PERFMAP_CLR,
      "10000 1000 stub ReportStubBlock<X>\n10400 100 m\n",
      2,
      0,
      3,
      { { 0x10000, "stub ReportStubBlock<X>", BLOCK, 0, 0x10000, 0x10400 },
        { 0x10400, "m", JIT_CLR, 0, 0x10400, 0x10500 },
        { 0x10500, "stub ReportStubBlock<X>", BLOCK, 0, 0x10500, 0x11000 } } },
    { "block_does_not_swallow_methods_inside_it",
      SW_PERFMAP_CLR,
      "10400 100 m\n10800 100 n\n10000 1000 stub ReportStubBlock<X>\n",
      3,
      0,
      5,
      { { 0x103ff, "stub ReportStubBlock<X>", BLOCK, 0, 0x10000, 0x10400 },
        { 0x10400, "m", JIT_CLR, 0, 0x10400, 0x10500 },
        { 0x10500, "stub ReportStubBlock<X>", BLOCK, 0, 0x10500, 0x10800 },
        { 0x10880, "n", JIT_CLR, 0, 0x10800, 0x10900 },
        { 0x10fff, "stub ReportStubBlock<X>", BLOCK, 0, 0x10900, 0x11000 } } },
    { "block_that_begins_and_ends_inside_methods_fills_the_gap",
      SW_PERFMAP_CLR,
      "1000 100 m\n1200 100 n\n1080 200 stub ReportStubBlock<X>\n",
      3,
      0,
      3,
      { { 0x10ff, "m", JIT_CLR, 0, 0x1000, 0x1100 },
        { 0x1100, "stub ReportStubBlock<X>", BLOCK, 0, 0x1100, 0x1200 },
        { 0x1200, "n", JIT_CLR, 0, 0x1200, 0x1300 } } },
    { "block_inside_a_method_has_no_room",
      SW_PERFMAP_CLR,
      "1000 100 m\n1010 10 stub a\n",
      2,
      0,
      1,
      { { 0x1010, "m", JIT_CLR, 0, 0x1000, 0x1100 } } },
    { "smaller_stub_wins_over_an_earlier_block",
      SW_PERFMAP_CLR,
      "1000 100 stub ReportStubBlock<X>\n1010 10 stub a\n",
      2,
      0,
      3,
      { { 0x1000, "stub ReportStubBlock<X>", BLOCK, 0, 0x1000, 0x1010 },
        { 0x1010, "stub a", STUB, 0, 0x1010, 0x1020 },
        { 0x1020, "stub ReportStubBlock<X>", BLOCK, 0, 0x1020, 0x1100 } } },
    { "smaller_stub_wins_over_a_later_block",
      SW_PERFMAP_CLR,
      "1010 10 stub a\n1000 100 stub ReportStubBlock<X>\n",
      2,
      0,
      3,
      { { 0x1010, "stub a", STUB, 0, 0x1010, 0x1020 },
        { 0x10ff, "stub ReportStubBlock<X>", BLOCK, 0, 0x1020, 0x1100 } } },
    { "of_equal_stubs_the_later_wins",
      SW_PERFMAP_CLR,
      "1000 20 stub a\n1010 20 stub b\n",
      2,
      0,
      2,
      { { 0x100f, "stub a", STUB, 0, 0x1000, 0x1010 }, { 0x1010, "stub b", STUB, 0, 0x1010, 0x1030 } } },
};

static void assert_probe(const struct sw_perfmap *perfmap, const struct sw_codemap *map, const struct probe *probe)
{
    struct sw_range range;
    struct sw_range mapped;
    const char *name = sw_perfmap_name(perfmap, probe->address, &range);
    if (!probe->name) {
        assert_null(name);
        assert_int_equal(sw_codemap_find(map, probe->address, &mapped), SW_E_NOT_FOUND);
        return;
    }
    assert_non_null(name);
    assert_string_equal(name, probe->name);
    assert_int_equal(sw_codemap_find(map, probe->address, &mapped), SW_OK);
    assert_true(range.begin == probe->begin && range.end == probe->end);
    assert_int_equal(range.kind, probe->kind);
    assert_int_equal(range.unwind, probe->unwind);
    assert_int_equal(range.flags, probe->flags);
    assert_true(mapped.begin == range.begin && mapped.end == range.end && mapped.id == range.id);
    assert_true(mapped.kind == range.kind && mapped.unwind == range.unwind && mapped.flags == range.flags);
    assert_true(range.kind != SW_KIND_JIT || range.id == range.begin);
}

/* `step` bytes at a time: how a text is cut makes no difference. */
static void assert_text(const struct text_row *row, size_t step)
{
    struct sw_perfmap *perfmap;
    struct sw_codemap *map;
    const size_t size = strlen(row->text);
    assert_int_equal(sw_perfmap_create(NULL, row->flavour, &perfmap), SW_OK);
    assert_int_equal(sw_codemap_create(NULL, &map), SW_OK);
    for (size_t at = 0; at < size; at += step)
        assert_int_equal(sw_perfmap_feed(perfmap, row->text + at, size - at < step ? size - at : step, map), SW_OK);
    assert_true(sw_perfmap_lines(perfmap) == row->lines);
    assert_true(sw_perfmap_bad_lines(perfmap) == row->bad);
    assert_true(sw_codemap_count(map) == row->ranges);
    for (size_t i = 0; i < COUNT_OF(row->probes) && row->probes[i].address; i++)
        assert_probe(perfmap, map, &row->probes[i]);
    sw_codemap_destroy(map);
    sw_perfmap_destroy(perfmap);
}

static void text_is_understood(void **state)
{
    const struct text_row *row = *state;
    for (size_t step = 1; step < 20; step++)
        assert_text(row, step);
    assert_text(row, strlen(row->text));
}

/* ---- more ---- */

static void over_long_line_is_dropped_and_the_next_is_read(void **state)
{
    (void)state;
    struct sw_perfmap *perfmap;
    static char name[1000];
    memset(name, 'x', sizeof name);
    assert_int_equal(sw_perfmap_create(NULL, SW_PERFMAP_PLAIN, &perfmap), SW_OK);
    assert_int_equal(sw_perfmap_feed(perfmap, "1000 10 ", 8, NULL), SW_OK);
    for (int i = 0; i < 100; i++)
        assert_int_equal(sw_perfmap_feed(perfmap, name, sizeof name, NULL), SW_OK);
    assert_int_equal(sw_perfmap_feed(perfmap, "\n2000 10 b\n", 11, NULL), SW_OK);
    assert_null(sw_perfmap_name(perfmap, 0x1000, NULL));
    assert_string_equal(sw_perfmap_name(perfmap, 0x2000, NULL), "b");
    assert_true(sw_perfmap_bad_lines(perfmap) == 1);
    sw_perfmap_destroy(perfmap);
}

/* Against a model: one owner per address, methods only, in an order that is not sorted. */
static void ten_thousand_lines_agree_with_a_model(void **state)
{
    (void)state;
    enum { PLACES = 16384, LINES = 10000 };
    static uint32_t owner[PLACES];
    static uint32_t first[LINES + 1];
    static uint32_t length[LINES + 1];
    struct sw_perfmap *perfmap;
    struct sw_codemap *map;
    uint32_t seed = 12345;
    memset(owner, 0, sizeof owner);
    assert_int_equal(sw_perfmap_create(NULL, SW_PERFMAP_PLAIN, &perfmap), SW_OK);
    assert_int_equal(sw_codemap_create(NULL, &map), SW_OK);
    for (uint32_t line = 1; line <= LINES; line++) {
        char text[64];
        seed = seed * 1664525u + 1013904223u;
        first[line] = (seed >> 8) % (PLACES - 8);
        length[line] = 1 + (seed >> 24) % 7;
        for (uint32_t i = first[line]; i < first[line] + length[line]; i++) {
            const uint32_t gone = owner[i];
            for (uint32_t k = first[gone]; gone && k < first[gone] + length[gone]; k++)
                owner[k] = owner[k] == gone ? 0 : owner[k];
            owner[i] = line;
        }
        snprintf(text, sizeof text, "%x %x n%u\n", 0x100000 + 16 * first[line], 16 * length[line], line);
        assert_int_equal(sw_perfmap_feed(perfmap, text, strlen(text), map), SW_OK);
    }
    for (uint32_t i = 0; i < PLACES; i++) {
        char name[16];
        const char *found = sw_perfmap_name(perfmap, 0x100000 + 16 * i + 5, NULL);
        assert_true((found != NULL) == (owner[i] != 0));
        assert_int_equal(sw_codemap_find(map, 0x100000 + 16 * i + 5, NULL), owner[i] ? SW_OK : SW_E_NOT_FOUND);
        snprintf(name, sizeof name, "n%u", owner[i]);
        if (found)
            assert_string_equal(found, name);
    }
    sw_codemap_destroy(map);
    sw_perfmap_destroy(perfmap);
}

static void range_of_somebody_else_stays(void **state)
{
    (void)state;
    const struct sw_range his = { 0x1000, 0x1100, 77, 0, SW_KIND_NGEN, 0, 0 };
    struct sw_range found;
    struct sw_perfmap *perfmap;
    struct sw_codemap *map;
    assert_int_equal(sw_perfmap_create(NULL, SW_PERFMAP_PLAIN, &perfmap), SW_OK);
    assert_int_equal(sw_codemap_create(NULL, &map), SW_OK);
    assert_int_equal(sw_codemap_add(map, &his), SW_OK);
    assert_int_equal(sw_perfmap_feed(perfmap, "1000 80 a\n1000 80 b\n", 20, map), SW_OK);
    assert_int_equal(sw_codemap_find(map, 0x1000, &found), SW_OK);
    assert_true(found.id == 77);
    assert_string_equal(sw_perfmap_name(perfmap, 0x1000, NULL), "b");
    sw_codemap_destroy(map);
    sw_perfmap_destroy(perfmap);
}

static void every_failing_allocation_is_a_status_and_no_leak(void **state)
{
    (void)state;
    const char *text = "1000 10 a\n1010 10 stub b\n1000 100 stub c\n1008 10 d\n2000 1";
    int failures = 0;
    for (size_t left = 0; left < 12; left++) {
        struct budget budget = { .left = left };
        const struct sw_alloc alloc = { budget_get, budget_put, &budget };
        struct sw_perfmap *perfmap = NULL;
        enum sw_status status = sw_perfmap_create(&alloc, SW_PERFMAP_CLR, &perfmap);
        if (status == SW_OK)
            status = sw_perfmap_feed(perfmap, text, strlen(text), NULL);
        assert_true(status == SW_OK || status == SW_E_NO_MEMORY);
        failures += status != SW_OK;
        sw_perfmap_destroy(perfmap);
        assert_int_equal(budget.blocks, 0);
    }
    assert_true(failures >= 4 && failures < 12);
}

#define NEW_FILE "/tmp/snapwalk-perfmap-XXXXXX"

/* A file, empty, and what is to read it. path: NEW_FILE; becomes the file's name. */
static int open_new(char *path, struct sw_perfmap **perfmap)
{
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(sw_perfmap_create(NULL, SW_PERFMAP_PLAIN, perfmap), SW_OK);
    return fd;
}

static void file_is_read_on_from_where_it_was_left(void **state)
{
    (void)state;
    char path[] = NEW_FILE;
    struct sw_perfmap *perfmap;
    const int fd = open_new(path, &perfmap);
    assert_int_equal(write(fd, "1000 10 a\n2000 1", 16), 16);
    assert_int_equal(sw_perfmap_read(perfmap, path, NULL), SW_OK);
    assert_string_equal(sw_perfmap_name(perfmap, 0x1000, NULL), "a");
    assert_null(sw_perfmap_name(perfmap, 0x2000, NULL));
    assert_int_equal(write(fd, "0 b\n", 4), 4);
    assert_int_equal(sw_perfmap_read(perfmap, path, NULL), SW_OK);
    assert_string_equal(sw_perfmap_name(perfmap, 0x200f, NULL), "b");
    assert_true(sw_perfmap_lines(perfmap) == 2);
    assert_int_equal(ftruncate(fd, 0), 0); /* the process id is used again */
    assert_int_equal(pwrite(fd, "3000 10 c\n", 10, 0), 10);
    assert_int_equal(sw_perfmap_read(perfmap, path, NULL), SW_OK);
    assert_string_equal(sw_perfmap_name(perfmap, 0x3000, NULL), "c");
    close(fd);
    unlink(path);
    assert_int_equal(sw_perfmap_read(perfmap, path, NULL), SW_E_OS);
    assert_int_equal(sw_perfmap_read(perfmap, "/tmp", NULL), SW_E_OS);
    sw_perfmap_destroy(perfmap);
}

/* Anyone can put a file into /tmp. To give one away takes root. */
static void file_of_another_user_is_refused(void **state)
{
    (void)state;
    enum { SOMEBODY = 12345 };
    char path[] = NEW_FILE, link[sizeof path + 5];
    struct sw_perfmap *perfmap;
    const int fd = open_new(path, &perfmap);
    snprintf(link, sizeof link, "%s-link", path);
    assert_int_equal(write(fd, "1000 10 a\n", 10), 10);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(sw_perfmap_read(perfmap, link, NULL), SW_E_PERMISSION);
    unlink(link);
    if (fchown(fd, SOMEBODY, SOMEBODY) == 0) {
        assert_int_equal(sw_perfmap_read(perfmap, path, NULL), SW_E_PERMISSION);
        assert_null(sw_perfmap_name(perfmap, 0x1000, NULL));
        sw_perfmap_trust(perfmap, SOMEBODY);
        assert_int_equal(sw_perfmap_read(perfmap, path, NULL), SW_OK);
        assert_string_equal(sw_perfmap_name(perfmap, 0x1000, NULL), "a");
    }
    close(fd);
    unlink(path);
    sw_perfmap_destroy(perfmap);
}

/* A terabyte of nothing is one line that is too long. */
static void hole_of_a_file_is_not_read(void **state)
{
    (void)state;
    char path[] = NEW_FILE;
    struct sw_perfmap *perfmap;
    const int fd = open_new(path, &perfmap);
    assert_int_equal(write(fd, "1000 10 a\n", 10), 10);
    assert_int_equal(pwrite(fd, "x\n2000 10 b\n", 12, (off_t)1 << 40), 12);
    assert_int_equal(sw_perfmap_read(perfmap, path, NULL), SW_OK);
    assert_int_equal(ftruncate(fd, (off_t)2 << 40), 0);
    assert_int_equal(sw_perfmap_read(perfmap, path, NULL), SW_OK);
    assert_string_equal(sw_perfmap_name(perfmap, 0x1000, NULL), "a");
    assert_string_equal(sw_perfmap_name(perfmap, 0x2000, NULL), "b");
    assert_int_equal(sw_perfmap_bad_lines(perfmap), 1);
    close(fd);
    unlink(path);
    sw_perfmap_destroy(perfmap);
}

/* Stub blocks over all methods, each of which replaces the one before in every gap: changes are counted, not time. */
static void stubs_over_everything_cost_little_each(void **state)
{
    (void)state;
    enum { METHODS = 4000, STUBS = 4000, FIRST = 3 << 16, EACH = 32 };
    char line[64];
    struct sw_perfmap *perfmap;
    struct sw_codemap *map;
    assert_int_equal(sw_codemap_create(NULL, &map), SW_OK);
    assert_int_equal(sw_perfmap_create(NULL, SW_PERFMAP_CLR, &perfmap), SW_OK);
    for (unsigned n = 0; n < METHODS + STUBS; n++) {
        const int size = n < METHODS ? snprintf(line, sizeof line, "%x 1 m\n", 0x1000 + 2 * n)
                                     : snprintf(line, sizeof line, "1 %x stub block\n", 0x100000 - n);
        assert_int_equal(sw_perfmap_feed(perfmap, line, (size_t)size, map), SW_OK);
    }
    assert_true(sw_codemap_generation(map) < FIRST + EACH * (METHODS + STUBS));
    assert_string_equal(sw_perfmap_name(perfmap, 0x1001, NULL), "stub block");
    assert_string_equal(sw_perfmap_name(perfmap, 0x1000, NULL), "m");
    assert_true(sw_perfmap_bad_lines(perfmap) > 0);
    sw_perfmap_destroy(perfmap);
    sw_codemap_destroy(map);
}

/* Each smaller than the one before, which it cuts in three: the code map changes page by page. Methods are taken on. */
static void huge_ranges_are_not_taken_in_thousands(void **state)
{
    (void)state;
    enum { LINES = 8000 };
    static const unsigned bits[] = { 22, 31, 63 };
    for (size_t i = 0; i < COUNT_OF(bits); i++) {
        const char method[] = "1000 10 m\n";
        char line[64];
        struct sw_perfmap *perfmap;
        struct sw_codemap *map;
        assert_int_equal(sw_codemap_create(NULL, &map), SW_OK);
        assert_int_equal(sw_perfmap_create(NULL, SW_PERFMAP_CLR, &perfmap), SW_OK);
        for (uint64_t n = 0; n < LINES; n++) {
            const int size = snprintf(line, sizeof line, "%llx %llx stub block\n", (unsigned long long)(1 + n),
                                      (unsigned long long)((UINT64_C(1) << bits[i]) - 1 - 2 * n));
            assert_int_equal(sw_perfmap_feed(perfmap, line, (size_t)size, map), SW_OK);
        }
        assert_true(sw_codemap_generation(map) < 2 * LINES);
        assert_true(sw_perfmap_bad_lines(perfmap) > LINES / 2);
        assert_int_equal(sw_perfmap_feed(perfmap, method, sizeof method - 1, map), SW_OK);
        assert_string_equal(sw_perfmap_name(perfmap, 0x1000, NULL), "m");
        assert_int_equal(sw_codemap_find(map, 0x100f, NULL), SW_OK);
        sw_perfmap_destroy(perfmap);
        sw_codemap_destroy(map);
    }
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    struct sw_perfmap *perfmap;
    assert_int_equal(sw_perfmap_create(NULL, SW_PERFMAP_PLAIN, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_perfmap_create(NULL, (enum sw_perfmap_flavour)7, &perfmap), SW_E_ARGUMENT);
    assert_int_equal(sw_perfmap_feed(NULL, "x", 1, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_perfmap_read(NULL, "x", NULL), SW_E_ARGUMENT);
    assert_null(sw_perfmap_name(NULL, 1, NULL));
    assert_true(sw_perfmap_lines(NULL) == 0 && sw_perfmap_bad_lines(NULL) == 0);
    sw_perfmap_destroy(NULL);
    assert_int_equal(sw_perfmap_create(NULL, SW_PERFMAP_PLAIN, &perfmap), SW_OK);
    assert_int_equal(sw_perfmap_feed(perfmap, NULL, 1, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_perfmap_feed(perfmap, NULL, 0, NULL), SW_OK);
    assert_null(sw_perfmap_name(perfmap, 0, NULL));
    sw_perfmap_destroy(perfmap);
}

int main(void)
{
    static const struct CMUnitTest single[] = {
        cmocka_unit_test(over_long_line_is_dropped_and_the_next_is_read),
        cmocka_unit_test(ten_thousand_lines_agree_with_a_model),
        cmocka_unit_test(range_of_somebody_else_stays),
        cmocka_unit_test(every_failing_allocation_is_a_status_and_no_leak),
        cmocka_unit_test(file_is_read_on_from_where_it_was_left),
        cmocka_unit_test(file_of_another_user_is_refused),
        cmocka_unit_test(hole_of_a_file_is_not_read),
        cmocka_unit_test(stubs_over_everything_cost_little_each),
        cmocka_unit_test(huge_ranges_are_not_taken_in_thousands),
        cmocka_unit_test(bad_arguments_are_refused),
    };
    struct CMUnitTest tests[COUNT_OF(line_rows) + COUNT_OF(text_rows) + COUNT_OF(single)];
    size_t n = 0;
    for (size_t i = 0; i < COUNT_OF(line_rows); i++)
        tests[n++] =
            (struct CMUnitTest){ line_rows[i].name, line_is_read, NULL, NULL, (void *)(uintptr_t)&line_rows[i] };
    for (size_t i = 0; i < COUNT_OF(text_rows); i++)
        tests[n++] =
            (struct CMUnitTest){ text_rows[i].name, text_is_understood, NULL, NULL, (void *)(uintptr_t)&text_rows[i] };
    for (size_t i = 0; i < COUNT_OF(single); i++)
        tests[n++] = single[i];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
