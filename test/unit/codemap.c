/*
 * The code map by its contract: every status, every edge, a model that must agree after random changes, an allocator
 * that fails at every call in turn, memory that comes back, and finds in a signal handler that interrupts the writer.
 */
#include "rows.h"
#include "code/map/codemap.h"
#include "../support/random.h"
#include "codemap_model.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/time.h>

#include <cmocka.h>

static struct sw_range range_of(uint64_t begin, uint64_t end)
{
    return (struct sw_range){ .begin = begin,
                              .end = end,
                              .id = begin ^ UINT64_C(0x5eed),
                              .image = (uint32_t)(begin >> 3) ^ 7,
                              .kind = SW_KIND_NATIVE,
                              .unwind = (uint8_t)(begin % 4),
                              .flags = (uint16_t)(end % 4) };
}

static struct sw_codemap *map_of(const struct sw_alloc *alloc)
{
    struct sw_codemap *map = NULL;
    assert_int_equal(sw_codemap_create(alloc, &map), SW_OK);
    return map;
}

/* ------------------------------------------------------------------ what is refused, and how */

/* Against a map that holds [0x1000, 0x2000) only. */
static const struct refusal {
    const char *name;
    struct sw_range range;
    enum sw_status status;
} refusals[] = {
    { "empty_range_is_refused", { 0x5000, 0x5000, 1, 0, SW_KIND_JIT, 0, 0 }, SW_E_EMPTY },
    { "empty_range_at_zero_is_refused", { 0, 0, 1, 0, SW_KIND_JIT, 0, 0 }, SW_E_EMPTY },
    { "range_that_ends_before_it_begins_is_refused", { 0x5000, 0x4fff, 1, 0, SW_KIND_JIT, 0, 0 }, SW_E_WRAPS },
    { "range_that_wraps_to_zero_is_refused", { UINT64_MAX, 0, 1, 0, SW_KIND_JIT, 0, 0 }, SW_E_WRAPS },
    { "range_without_kind_is_refused", { 0x5000, 0x6000, 1, 0, SW_KIND_NONE, 0, 0 }, SW_E_ARGUMENT },
    { "unknown_kind_is_refused", { 0x5000, 0x6000, 1, 0, SW_KIND_NATIVE + 1, 0, 0 }, SW_E_ARGUMENT },
    { "unknown_unwind_is_refused", { 0x5000, 0x6000, 1, 0, SW_KIND_JIT, SW_UNWIND_CLR_WINDOWS + 1, 0 }, SW_E_ARGUMENT },
    { "unknown_flag_is_refused", { 0x5000, 0x6000, 1, 0, SW_KIND_JIT, 0, 16 }, SW_E_ARGUMENT },
    { "handler_is_taken", { 0x5000, 0x6000, 1, 0, SW_KIND_JIT, 0, SW_RANGE_FILTER }, SW_OK },
    { "highest_flag_is_refused", { 0x5000, 0x6000, 1, 0, SW_KIND_JIT, 0, 0x8000 }, SW_E_ARGUMENT },
    { "jit_range_without_id_is_refused", { 0x5000, 0x6000, 0, 0, SW_KIND_JIT, 0, 0 }, SW_E_ARGUMENT },
    { "ngen_range_without_id_is_refused", { 0x5000, 0x6000, 0, 0, SW_KIND_NGEN, 0, 0 }, SW_E_ARGUMENT },
    { "stub_range_without_id_is_taken", { 0x5000, 0x6000, 0, 0, SW_KIND_STUB, 0, 0 }, SW_OK },
    { "native_range_without_id_is_taken", { 0x5000, 0x6000, 0, 0, SW_KIND_NATIVE, 0, 0 }, SW_OK },
    { "second_range_of_a_function_is_taken", { 0x2000, 0x2001, 9, 0, SW_KIND_JIT, 0, 0 }, SW_OK },
    { "range_that_ends_where_another_begins_is_taken", { 0xfff, 0x1000, 1, 0, SW_KIND_JIT, 0, 0 }, SW_OK },
    { "same_range_again_overlaps", { 0x1000, 0x2000, 9, 0, SW_KIND_JIT, 0, 0 }, SW_E_OVERLAP },
    { "range_inside_another_overlaps", { 0x1800, 0x1801, 1, 0, SW_KIND_JIT, 0, 0 }, SW_E_OVERLAP },
    { "range_around_another_overlaps", { 0xfff, 0x2001, 1, 0, SW_KIND_JIT, 0, 0 }, SW_E_OVERLAP },
    { "range_over_the_first_byte_overlaps", { 0xfff, 0x1001, 1, 0, SW_KIND_JIT, 0, 0 }, SW_E_OVERLAP },
    { "range_over_the_last_byte_overlaps", { 0x1fff, 0x9000, 1, 0, SW_KIND_JIT, 0, 0 }, SW_E_OVERLAP },
    { "range_over_everything_overlaps", { 0, UINT64_MAX, 1, 0, SW_KIND_JIT, 0, 0 }, SW_E_OVERLAP },
};

static void add_answers_as_declared(void **state)
{
    const struct refusal *row = *state;
    struct sw_codemap *map = map_of(NULL);
    const struct sw_range there = { 0x1000, 0x2000, 9, 3, SW_KIND_JIT, SW_UNWIND_CLR_HEADER, SW_RANGE_HIDDEN };
    assert_int_equal(sw_codemap_add(map, &there), SW_OK);
    const uint64_t generation = sw_codemap_generation(map);

    assert_int_equal(sw_codemap_add(map, &row->range), row->status);

    const bool taken = row->status == SW_OK;
    assert_int_equal(sw_codemap_count(map), taken ? 2 : 1);
    assert_int_equal(sw_codemap_generation(map) != generation, taken);
    struct sw_range found;
    assert_int_equal(sw_codemap_find(map, 0x1fff, &found), SW_OK);
    assert_true(model_same(&found, &there));
    if (taken) {
        assert_int_equal(sw_codemap_find(map, row->range.begin, &found), SW_OK);
        assert_true(model_same(&found, &row->range));
    }
    sw_codemap_destroy(map);
}

static bool never(void *arg, const struct sw_range *range)
{
    (void)range;
    *(bool *)arg = true;
    return true;
}

static void null_pointers_are_refused(void **state)
{
    (void)state;
    struct sw_range range = range_of(1, 2);
    const struct sw_alloc no_get = { NULL, NULL, NULL };
    struct sw_codemap *map = NULL;
    assert_int_equal(sw_codemap_create(NULL, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_codemap_create(&no_get, &map), SW_E_ARGUMENT);
    assert_null(map);
    assert_int_equal(sw_codemap_add(NULL, &range), SW_E_ARGUMENT);
    assert_int_equal(sw_codemap_remove(NULL, 1), SW_E_ARGUMENT);
    assert_int_equal(sw_codemap_find(NULL, 1, &range), SW_E_ARGUMENT);
    assert_int_equal(sw_codemap_each(NULL, never, &range), SW_E_ARGUMENT);
    assert_int_equal(sw_codemap_count(NULL), 0);
    assert_int_equal(sw_codemap_bytes(NULL), 0);
    assert_int_equal(sw_codemap_generation(NULL), 0);
    sw_codemap_destroy(NULL);
    map = map_of(NULL);
    assert_int_equal(sw_codemap_add(map, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_codemap_each(map, NULL, NULL), SW_E_ARGUMENT);
    sw_codemap_destroy(map);
}

static void empty_map_holds_nothing(void **state)
{
    (void)state;
    struct sw_codemap *map = map_of(NULL);
    const uint64_t addresses[] = { 0, 1, 0x7f0000000000, UINT64_MAX };
    struct sw_range untouched = range_of(5, 6);
    for (size_t i = 0; i < COUNT_OF(addresses); i++) {
        assert_int_equal(sw_codemap_find(map, addresses[i], &untouched), SW_E_NOT_FOUND);
        assert_int_equal(sw_codemap_remove(map, addresses[i]), SW_E_NOT_FOUND);
    }
    const struct sw_range expected = range_of(5, 6);
    assert_true(model_same(&untouched, &expected));
    bool called = false;
    assert_int_equal(sw_codemap_each(map, never, &called), SW_OK);
    assert_false(called);
    assert_int_equal(sw_codemap_count(map), 0);
    assert_in_range(sw_codemap_bytes(map), 1, 8 * SW_CHANGES + 2032);
    sw_codemap_destroy(map);
}

static void only_the_begin_of_a_range_removes_it(void **state)
{
    (void)state;
    struct sw_codemap *map = map_of(NULL);
    const struct sw_range range = range_of(0x1000, 0x300000);
    assert_int_equal(sw_codemap_add(map, &range), SW_OK);
    const uint64_t others[] = { 0, 0xfff, 0x1001, 0x2000, 0x2fffff, 0x300000, UINT64_MAX };
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_int_equal(sw_codemap_remove(map, others[i]), SW_E_NOT_FOUND);
    assert_int_equal(sw_codemap_find(map, 0x2fffff, NULL), SW_OK);
    assert_int_equal(sw_codemap_remove(map, 0x1000), SW_OK);
    assert_int_equal(sw_codemap_find(map, 0x2fffff, NULL), SW_E_NOT_FOUND);
    assert_int_equal(sw_codemap_remove(map, 0x1000), SW_E_NOT_FOUND);
    sw_codemap_destroy(map);
}

/* ------------------------------------------------------------------ shapes of address spaces */

/* `count` ranges of `size` bytes, `step` apart, from `begin` up; added in that order, backwards, or scattered. */
static const struct layout {
    const char *name;
    uint64_t begin, step, size;
    unsigned count;
} layouts[] = {
    { "jit_methods_side_by_side", 0x7f1200000000, 256, 256, 3000 },
    { "jit_methods_with_gaps", 0x7f1200000123, 321, 200, 3000 },
    { "one_byte_ranges_side_by_side", 0x10000, 1, 1, 3000 },
    { "one_byte_ranges_from_zero", 0, 2, 1, 3000 },
    { "ranges_of_4_kib_across_every_page_boundary", 0x7f0000000800, 0x1000, 0x1000, 3000 },
    { "ranges_of_3_slots_of_every_level", 0x111111111, 0x3333, 0x3333, 2000 },
    { "ranges_16_kib_large_are_no_longer_dense", 0x40000000, 0x4000, 0x4000, 1000 },
    { "ranges_one_byte_below_16_kib", 0x40000000, 0x4000, 0x3fff, 1000 },
    { "ranges_one_byte_below_16_kib_side_by_side", 0x40003fff, 0x3fff, 0x3fff, 1000 },
    { "ranges_64_kib_apart", 0x400000, 0x10000, 100, 3000 },
    { "ranges_128_mib_apart", 0x8000000, 0x8000000, 300, 3000 },
    { "ranges_16_mib_large_are_no_longer_narrow", 0x40000000, 0x1000000, 0x1000000, 500 },
    { "ranges_one_byte_below_16_mib", 0x40000000, 0x1000000, 0xffffff, 500 },
    { "ranges_4_gib_large", 0xffffffff, 0x100000000, 0x100000000, 300 },
    { "ranges_at_the_top_of_the_address_space", UINT64_MAX - 3000 * 64, 64, 63, 3000 },
    { "ranges_all_over_the_address_space", 0x123, UINT64_C(1) << 52, UINT64_C(1) << 51, 4000 },
    { "ranges_that_tile_the_address_space", 0, (UINT64_C(1) << 53) - 1, (UINT64_C(1) << 53) - 1, 2048 },
};

enum order { ASCENDING, DESCENDING, SCATTERED, ORDERS };

/* Position i of an order over n things: 1021 is prime and larger than no common factor of the counts above. */
static unsigned ordered(enum order order, unsigned i, unsigned n)
{
    return order == ASCENDING ? i : order == DESCENDING ? n - 1 - i : (unsigned)((uint64_t)i * 1021 % n);
}

static struct sw_range layout_range(const struct layout *layout, unsigned i)
{
    const uint64_t begin = layout->begin + i * layout->step;
    return range_of(begin, begin + layout->size);
}

static void every_range_is_found_until_it_is_removed(void **state)
{
    const struct layout *layout = *state;
    struct model *model = calloc(1, sizeof *model);
    for (enum order order = ASCENDING; order < ORDERS; order++) {
        struct sw_codemap *map = map_of(NULL);
        const uint64_t bytes_empty = sw_codemap_bytes(map);
        for (unsigned i = 0; i < layout->count; i++) {
            const struct sw_range range = layout_range(layout, ordered(order, i, layout->count));
            assert_int_equal(sw_codemap_add(map, &range), SW_OK);
            assert_int_equal(sw_codemap_add(map, &range), SW_E_OVERLAP);
            assert_int_equal(model_add(model, &range), SW_OK);
        }
        assert_true(model_agrees(model, map));
        for (unsigned i = 0; i < layout->count; i++) {
            const struct sw_range range = layout_range(layout, ordered((order + 1) % ORDERS, i, layout->count));
            assert_int_equal(sw_codemap_remove(map, range.begin), SW_OK);
            assert_int_equal(model_remove(model, range.begin), SW_OK);
            assert_int_equal(sw_codemap_find(map, range.begin, NULL), SW_E_NOT_FOUND);
            if (i == layout->count / 2)
                assert_true(model_agrees(model, map));
        }
        assert_int_equal(sw_codemap_bytes(map), bytes_empty);
        sw_codemap_destroy(map);
    }
    free(model);
}

static void largest_range_of_all_is_found(void **state)
{
    (void)state;
    struct sw_codemap *map = map_of(NULL);
    const struct sw_range all = range_of(0, UINT64_MAX), most = range_of(1, UINT64_MAX - 1);
    assert_int_equal(sw_codemap_add(map, &all), SW_OK);
    assert_int_equal(sw_codemap_find(map, UINT64_MAX - 1, NULL), SW_OK);
    assert_int_equal(sw_codemap_find(map, UINT64_MAX, NULL), SW_E_NOT_FOUND);
    assert_int_equal(sw_codemap_remove(map, 0), SW_OK);
    /* Again with a tree in the way: many ranges below it, then at both ends. */
    for (uint64_t i = 0; i < 100; i++) {
        const struct sw_range small = range_of(0x1000 + 2 * i, 0x1001 + 2 * i);
        assert_int_equal(sw_codemap_add(map, &small), SW_OK);
    }
    assert_int_equal(sw_codemap_add(map, &most), SW_E_OVERLAP);
    const struct sw_range rest = range_of(0x10c8, UINT64_MAX);
    assert_int_equal(sw_codemap_add(map, &rest), SW_OK);
    for (unsigned bit = 13; bit < 64; bit++)
        assert_int_equal(sw_codemap_find(map, UINT64_C(1) << bit, NULL), SW_OK);
    assert_int_equal(sw_codemap_remove(map, 0x10c8), SW_OK);
    for (unsigned bit = 13; bit < 64; bit++)
        assert_int_equal(sw_codemap_find(map, UINT64_C(1) << bit, NULL), SW_E_NOT_FOUND);
    assert_int_equal(sw_codemap_count(map), 100);
    sw_codemap_destroy(map);
}

/*
 * The chunk in which a large range ends is split until those that begin right behind it have room: once for each bit of
 * the address, and each time a chunk remains with nothing but the large range. All of them must go with it.
 */
static void range_that_ends_where_many_begin_is_removed_whole(void **state)
{
    (void)state;
    struct sw_codemap *map = map_of(NULL);
    const uint64_t bytes_empty = sw_codemap_bytes(map);
    const struct sw_range large = range_of(UINT64_C(1) << 62, (UINT64_C(3) << 61) - 65);
    assert_int_equal(sw_codemap_add(map, &large), SW_OK);
    for (uint64_t i = 0; i < 64; i++) {
        const struct sw_range small = range_of(large.end + i, large.end + i + 1);
        assert_int_equal(sw_codemap_add(map, &small), SW_OK);
    }
    assert_int_equal(sw_codemap_remove(map, large.begin), SW_OK);
    for (unsigned bit = 0; bit < 61; bit++)
        assert_int_equal(sw_codemap_find(map, large.begin + (UINT64_C(1) << bit), NULL), SW_E_NOT_FOUND);
    for (uint64_t i = 0; i < 64; i++)
        assert_int_equal(sw_codemap_remove(map, large.end + i), SW_OK);
    assert_int_equal(sw_codemap_bytes(map), bytes_empty);
    sw_codemap_destroy(map);
}

/* As before, but the range came when the tree was there, so that slots it covers hold its span; and these stay few. */
static void span_beside_a_chunk_that_was_split_is_removed_whole(void **state)
{
    (void)state;
    struct sw_codemap *map = map_of(NULL);
    const uint64_t bytes_empty = sw_codemap_bytes(map), node = 0x7f0000000000, page = 0x1000;
    struct sw_range small[92];
    /* 40 in the first page and some in the last ones: a node of pages, with chunks at both ends. */
    for (uint64_t i = 0; i < COUNT_OF(small); i++) {
        const uint64_t begin = i < 40 ? node + 8 * i : node + (i < 50 ? 60 : 61) * page + 8 * i;
        small[i] = range_of(begin, begin + 8);
    }
    for (uint64_t i = 0; i < 50; i++)
        assert_int_equal(sw_codemap_add(map, &small[i]), SW_OK);
    const struct sw_range large = range_of(node + page - 8, node + 50 * page + 100);
    assert_int_equal(sw_codemap_add(map, &large), SW_OK);
    for (uint64_t i = 50; i < COUNT_OF(small); i++)
        assert_int_equal(sw_codemap_add(map, &small[i]), SW_OK);
    assert_int_equal(sw_codemap_remove(map, large.begin), SW_OK);
    for (uint64_t i = 1; i < 60; i++)
        assert_int_equal(sw_codemap_find(map, node + i * page, NULL), SW_E_NOT_FOUND);
    for (uint64_t i = 0; i < COUNT_OF(small); i++)
        assert_int_equal(sw_codemap_remove(map, small[i].begin), SW_OK);
    assert_int_equal(sw_codemap_bytes(map), bytes_empty);
    sw_codemap_destroy(map);
}

static bool until_three(void *arg, const struct sw_range *range)
{
    (void)range;
    return ++*(unsigned *)arg < 3;
}

static void each_ends_when_it_is_told(void **state)
{
    (void)state;
    struct sw_codemap *map = map_of(NULL);
    for (uint64_t i = 0; i < 100; i++) {
        const struct sw_range range = range_of(16 * i, 16 * i + 8);
        assert_int_equal(sw_codemap_add(map, &range), SW_OK);
    }
    unsigned calls = 0;
    assert_int_equal(sw_codemap_each(map, until_three, &calls), SW_OK);
    assert_int_equal(calls, 3);
    sw_codemap_destroy(map);
}

/* ------------------------------------------------------------------ random changes against the model */

static uint64_t low_bits(uint64_t count)
{
    return (UINT64_C(1) << count) - 1;
}

/* Random ranges from a few crowded regions, of all sizes, so that they collide, cross boundaries and nest. */
static struct sw_range random_range(uint64_t *seed)
{
    static const uint64_t bases[] = {
        0, 0x10000000, 0x7f0012340000, 0x7f0056780000, 0xffff800000000000, UINT64_MAX - 0xffff
    };
    const uint64_t base = bases[next_random(seed) % COUNT_OF(bases)];
    const uint64_t begin = base + (next_random(seed) & low_bits(next_random(seed) % 17));
    const uint64_t size = (next_random(seed) & low_bits(next_random(seed) % 3 ? 7 : next_random(seed) % 40)) + 1;
    return range_of(begin, begin + size);
}

static void map_agrees_with_a_sorted_array(void **state)
{
    const uint64_t *first_seed = *state;
    uint64_t seed = *first_seed;
    struct model *model = calloc(1, sizeof *model);
    struct sw_codemap *map = map_of(NULL);
    const uint64_t bytes_empty = sw_codemap_bytes(map);
    size_t most = 0;
    for (unsigned i = 0; i < 60000; i++) {
        const struct sw_range range = random_range(&seed);
        const bool growing = i / 6000 % 2 == 0;
        if (model->count < MODEL_MAX && next_random(&seed) % 8 < (growing ? 7 : 2)) {
            assert_int_equal(sw_codemap_add(map, &range), model_add(model, &range));
        } else {
            const uint64_t begin =
                model->count && i % 16 ? model->at[next_random(&seed) % model->count].begin : range.begin;
            assert_int_equal(sw_codemap_remove(map, begin), model_remove(model, begin));
        }
        assert_true(model_agrees_at(model, map, range.begin));
        assert_true(model_agrees_at(model, map, range.end - 1));
        if (i % 1000 == 0)
            assert_true(model_agrees(model, map));
        most = model->count > most ? model->count : most;
    }
    assert_true(model_agrees(model, map));
    assert_in_range(most, 500, MODEL_MAX);
    while (model->count) {
        const uint64_t begin = model->at[next_random(&seed) % model->count].begin;
        assert_int_equal(sw_codemap_remove(map, begin), model_remove(model, begin));
    }
    assert_int_equal(sw_codemap_bytes(map), bytes_empty);
    sw_codemap_destroy(map);
    free(model);
}

/* ------------------------------------------------------------------ memory */

/* Counts what is out, and answers null from call number `fail_at` on. */
struct meter {
    uint64_t calls, fail_at, bytes;
};

static void *meter_get(void *arg, size_t size)
{
    struct meter *meter = arg;
    if (meter->calls++ >= meter->fail_at)
        return NULL;
    meter->bytes += size;
    return malloc(size);
}

static void meter_put(void *arg, void *block, size_t size)
{
    struct meter *meter = arg;
    assert_non_null(block);
    meter->bytes -= size;
    free(block);
}

static void create_without_memory_is_refused(void **state)
{
    (void)state;
    for (uint64_t fail_at = 0; fail_at < 2; fail_at++) {
        struct meter meter = { .fail_at = fail_at };
        const struct sw_alloc alloc = { meter_get, meter_put, &meter };
        struct sw_codemap *map = NULL;
        assert_int_equal(sw_codemap_create(&alloc, &map), SW_E_NO_MEMORY);
        assert_null(map);
        assert_int_equal(meter.bytes, 0);
    }
}

/* Repeats a change with one more allocation allowed each time, until it succeeds; nothing may change before. */
static void change_with_failures(struct sw_codemap *map, struct model *model, struct meter *meter,
                                 const struct sw_range *add, uint64_t remove)
{
    enum sw_status status = SW_E_NO_MEMORY;
    for (uint64_t allowed = 0; status != SW_OK; allowed++) {
        assert_in_range(allowed, 0, 200);
        const uint64_t generation = sw_codemap_generation(map);
        meter->calls = 0;
        meter->fail_at = allowed;
        status = add ? sw_codemap_add(map, add) : sw_codemap_remove(map, remove);
        meter->fail_at = UINT64_MAX;
        if (status == SW_OK)
            assert_int_equal(add ? model_add(model, add) : model_remove(model, remove), SW_OK);
        else
            assert_int_equal(status, SW_E_NO_MEMORY);
        assert_int_equal(sw_codemap_generation(map) != generation, status == SW_OK);
        assert_int_equal(sw_codemap_bytes(map), meter->bytes);
        assert_true(model_agrees(model, map));
    }
}

static void failed_allocation_changes_nothing(void **state)
{
    (void)state;
    struct meter meter = { .fail_at = UINT64_MAX };
    const struct sw_alloc alloc = { meter_get, meter_put, &meter };
    struct model *model = calloc(1, sizeof *model);
    struct sw_codemap *map = map_of(&alloc);
    uint64_t seed = 20240607;
    for (unsigned i = 0; i < 400; i++) {
        const struct sw_range range = random_range(&seed);
        if (range.end <= range.begin)
            continue;
        struct model trial = *model;
        if (model_add(&trial, &range) == SW_OK)
            change_with_failures(map, model, &meter, &range, 0);
    }
    assert_true(model->count > 100);
    while (model->count)
        change_with_failures(map, model, &meter, NULL, model->at[next_random(&seed) % model->count].begin);
    sw_codemap_destroy(map);
    assert_int_equal(meter.bytes, 0);
    free(model);
}

/* The map's own pieces run out in the middle of a change, anywhere in it. */
static void a_change_that_memory_ends_in_changes_nothing(void **state)
{
    (void)state;
    struct meter meter = { .fail_at = UINT64_MAX };
    const struct sw_alloc alloc = { meter_get, meter_put, &meter };
    struct model *model = calloc(1, sizeof *model);
    struct sw_codemap *map = map_of(&alloc);
    uint64_t seed = 20261122, refused = 0;
    for (unsigned i = 0; i < 6000; i++) {
        const struct sw_range range = random_range(&seed);
        meter.calls = 0;
        meter.fail_at = i % 8 ? 0 : UINT64_MAX;
        struct model trial = *model;
        enum sw_status status, expected;
        if (model->count > 150 || (model->count && next_random(&seed) % 2)) {
            const uint64_t begin = model->at[next_random(&seed) % model->count].begin;
            expected = model_remove(&trial, begin);
            status = sw_codemap_remove(map, begin);
        } else {
            expected = model_add(&trial, &range);
            status = sw_codemap_add(map, &range);
        }
        refused += status == SW_E_NO_MEMORY;
        if (status != SW_E_NO_MEMORY) {
            assert_int_equal(status, expected);
            *model = trial;
        }
        assert_int_equal(sw_codemap_bytes(map), meter.bytes);
        assert_true(model_agrees(model, map));
    }
    assert_in_range(refused, 100, 5000);
    sw_codemap_destroy(map);
    assert_int_equal(meter.bytes, 0);
    free(model);
}

static void destroy_gives_everything_back(void **state)
{
    (void)state;
    struct meter meter = { .fail_at = UINT64_MAX };
    const struct sw_alloc alloc = { meter_get, meter_put, &meter };
    struct sw_codemap *map = map_of(&alloc);
    uint64_t seed = 7, added = 0;
    for (unsigned i = 0; i < 5000; i++) {
        const struct sw_range range = random_range(&seed);
        added += sw_codemap_add(map, &range) == SW_OK;
    }
    /* Spans of many nodes, and blocks that a reader keeps from being released. */
    const struct sw_range huge = range_of(0x800000000, 0x7e0000000001);
    struct sw_section inside;
    sw_codemap_enter(map, &inside);
    assert_int_equal(sw_codemap_add(map, &huge), SW_OK);
    assert_int_equal(sw_codemap_count(map), added + 1);
    assert_int_equal(sw_codemap_bytes(map), meter.bytes);
    sw_codemap_destroy(map);
    assert_int_equal(meter.bytes, 0);
}

static void memory_waits_for_a_reader_that_is_inside_and_for_no_other(void **state)
{
    (void)state;
    struct sw_codemap *map = map_of(NULL);
    for (uint64_t i = 0; i < 2000; i++) {
        const struct sw_range range = range_of(i * 64, i * 64 + 64);
        assert_int_equal(sw_codemap_add(map, &range), SW_OK);
    }
    const uint64_t full = sw_codemap_bytes(map);
    struct sw_section inside, later, last;
    sw_codemap_enter(map, &inside);
    for (uint64_t i = 0; i < 1999; i++)
        assert_int_equal(sw_codemap_remove(map, i * 64), SW_OK);
    assert_true(sw_codemap_bytes(map) >= full); /* the writer went on; nothing was given back */

    sw_codemap_enter(map, &later);
    sw_codemap_leave(map, &inside);
    sw_codemap_enter(map, &last);
    sw_codemap_leave(map, &last);
    assert_int_equal(sw_codemap_find(map, 1999 * 64, NULL), SW_OK);
    sw_codemap_leave(map, &later);
    assert_int_equal(sw_codemap_remove(map, 1999 * 64), SW_OK);
    const struct sw_range range = range_of(1, 2);
    assert_int_equal(sw_codemap_add(map, &range), SW_OK);
    assert_in_range(sw_codemap_bytes(map), 1, full / 2); /* but for the piece in which the range is */
    assert_int_equal(sw_codemap_remove(map, 1), SW_OK);
    assert_in_range(sw_codemap_bytes(map), 1, 8 * SW_CHANGES + 2032);
    sw_codemap_destroy(map);
}

/* A reader is always inside, but never the same for long: what one of them could have seen must still come back. */
static void memory_comes_back_though_some_reader_is_always_inside(void **state)
{
    (void)state;
    struct sw_codemap *map = map_of(NULL);
    uint64_t most = 0;
    struct sw_section inside[2];
    sw_codemap_enter(map, &inside[0]);
    for (uint64_t i = 0; i < 20000; i++) {
        const struct sw_range range = range_of(64, 128);
        assert_int_equal(sw_codemap_add(map, &range), SW_OK);
        sw_codemap_enter(map, &inside[(i + 1) % 2]);
        sw_codemap_leave(map, &inside[i % 2]);
        assert_int_equal(sw_codemap_remove(map, 64), SW_OK);
        most = sw_codemap_bytes(map) > most ? sw_codemap_bytes(map) : most;
    }
    sw_codemap_leave(map, &inside[0]);
    assert_in_range(most, 1, 8 * SW_CHANGES + 6128);
    sw_codemap_destroy(map);
}

/* ------------------------------------------------------------------ writers and signal handlers */

static struct sw_codemap *busy_map;
static enum sw_status busy_add, busy_remove, busy_find;

/* An allocator whose `get` comes back into the map: a second writer in the middle of the first. */
static void *busy_get(void *arg, size_t size)
{
    (void)arg;
    if (busy_map) {
        const struct sw_range other = range_of(0x9000, 0x9001);
        busy_add = sw_codemap_add(busy_map, &other);
        busy_remove = sw_codemap_remove(busy_map, 0x1000);
        busy_find = sw_codemap_find(busy_map, 0x1000, NULL);
    }
    return malloc(size);
}

static void busy_put(void *arg, void *block, size_t size)
{
    (void)arg;
    (void)size;
    free(block);
}

static void second_writer_is_busy_and_readers_are_not(void **state)
{
    (void)state;
    const struct sw_alloc alloc = { busy_get, busy_put, NULL };
    struct sw_codemap *map = map_of(&alloc);
    const struct sw_range first = range_of(0x1000, 0x1001);
    uint64_t next = 0x2000;
    assert_int_equal(sw_codemap_add(map, &first), SW_OK);
    busy_map = map;
    for (busy_find = SW_E_NOT_FOUND; busy_find != SW_OK; next++) {
        const struct sw_range range = range_of(next, next + 1);
        assert_int_equal(sw_codemap_add(map, &range), SW_OK);
        assert_in_range(next, 0x2000, 0x2fff);
    }
    busy_map = NULL;
    assert_int_equal(busy_add, SW_E_BUSY);
    assert_int_equal(busy_remove, SW_E_BUSY);
    assert_int_equal(busy_find, SW_OK);
    assert_int_equal(sw_codemap_count(map), 1 + next - 0x2000);
    sw_codemap_destroy(map);
}

enum { LASTING = 500, LASTING_STEP = 0x5000, PASSING_MAX = 20000 };

static struct sw_codemap *signal_map;
static volatile sig_atomic_t signal_finds, signal_misses;

static uint64_t lasting_begin(uint64_t i)
{
    return 0x7f0000000000 + i * LASTING_STEP;
}

/* Interrupts the writer wherever it is: the lasting ranges must be there, whole. */
static void find_from_handler(int number)
{
    (void)number;
    for (uint64_t i = 0; i < LASTING; i++) {
        struct sw_range found;
        const struct sw_range expected = range_of(lasting_begin(i), lasting_begin(i) + LASTING_STEP / 2);
        const uint64_t address = expected.begin + i % (LASTING_STEP / 2);
        if (sw_codemap_find(signal_map, address, &found) != SW_OK || !model_same(&found, &expected))
            signal_misses++;
        signal_finds++;
    }
}

static void handler_that_interrupts_the_writer_finds_every_lasting_range(void **state)
{
    (void)state;
    signal_map = map_of(NULL);
    for (uint64_t i = 0; i < LASTING; i++) {
        const struct sw_range range = range_of(lasting_begin(i), lasting_begin(i) + LASTING_STEP / 2);
        assert_int_equal(sw_codemap_add(signal_map, &range), SW_OK);
    }
    struct sigaction action = { .sa_handler = find_from_handler, .sa_flags = SA_RESTART }, before;
    sigaction(SIGALRM, &action, &before);
    const struct itimerval often = { { 0, 200 }, { 0, 200 } }, off = { { 0, 0 }, { 0, 0 } };
    setitimer(ITIMER_REAL, &often, NULL);
    uint64_t seed = 99;
    for (unsigned round = 0; signal_finds < 200 * LASTING && round < 200; round++) {
        for (unsigned i = 0; i < 5000; i++) {
            const uint64_t begin = lasting_begin(next_random(&seed) % LASTING) + LASTING_STEP / 2 +
                                   next_random(&seed) % (LASTING_STEP / 2) / 16 * 16;
            const struct sw_range range = range_of(begin, begin + 16);
            if (sw_codemap_add(signal_map, &range) == SW_E_OVERLAP)
                assert_int_equal(sw_codemap_remove(signal_map, begin), SW_OK);
        }
    }
    setitimer(ITIMER_REAL, &off, NULL);
    sigaction(SIGALRM, &before, NULL);
    assert_int_equal(signal_misses, 0);
    assert_true(signal_finds >= LASTING); /* the timer did fire in the middle */
    sw_codemap_destroy(signal_map);
}

int main(void)
{
    static uint64_t seeds[] = { 1, 0xdecafbad, 0x123456789abcdef };
    static const struct CMUnitTest single[] = {
        cmocka_unit_test(null_pointers_are_refused),
        cmocka_unit_test(empty_map_holds_nothing),
        cmocka_unit_test(only_the_begin_of_a_range_removes_it),
        cmocka_unit_test(largest_range_of_all_is_found),
        cmocka_unit_test(range_that_ends_where_many_begin_is_removed_whole),
        cmocka_unit_test(span_beside_a_chunk_that_was_split_is_removed_whole),
        cmocka_unit_test(each_ends_when_it_is_told),
        cmocka_unit_test_prestate(map_agrees_with_a_sorted_array, &seeds[0]),
        cmocka_unit_test_prestate(map_agrees_with_a_sorted_array, &seeds[1]),
        cmocka_unit_test_prestate(map_agrees_with_a_sorted_array, &seeds[2]),
        cmocka_unit_test(create_without_memory_is_refused),
        cmocka_unit_test(failed_allocation_changes_nothing),
        cmocka_unit_test(a_change_that_memory_ends_in_changes_nothing),
        cmocka_unit_test(destroy_gives_everything_back),
        cmocka_unit_test(memory_waits_for_a_reader_that_is_inside_and_for_no_other),
        cmocka_unit_test(memory_comes_back_though_some_reader_is_always_inside),
        cmocka_unit_test(second_writer_is_busy_and_readers_are_not),
        cmocka_unit_test(handler_that_interrupts_the_writer_finds_every_lasting_range),
    };
    struct CMUnitTest tests[COUNT_OF(refusals) + COUNT_OF(layouts) + COUNT_OF(single)];
    size_t n = 0;
    for (size_t i = 0; i < COUNT_OF(refusals); i++)
        tests[n++] = (struct CMUnitTest){ refusals[i].name, add_answers_as_declared, NULL, NULL,
                                          (void *)(uintptr_t)&refusals[i] };
    for (size_t i = 0; i < COUNT_OF(layouts); i++)
        tests[n++] = (struct CMUnitTest){ layouts[i].name, every_range_is_found_until_it_is_removed, NULL, NULL,
                                          (void *)(uintptr_t)&layouts[i] };
    memcpy(&tests[n], single, sizeof single);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
