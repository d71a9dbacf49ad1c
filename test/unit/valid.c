/*
 * What builds for tests assert of the main structures (sw_*_is_valid) holds of sound ones, and not of those that are
 * damaged here, one part at a time. In other builds there is nothing to assert.
 */
#include "rows.h"

#include "code/map/tree.h"
#include "fast/valid.h"
#include "snapshot/threads.h"

#include <snapwalk/codemap.h>

#include <string.h>

#ifndef NDEBUG

#define CFA_BY(reg)    ((uint64_t)(reg) << SW_STEP_CFA_SHIFT | UINT64_C(2) << SW_STEP_OFFSET_SHIFT)
#define RBP_FRAME      (CFA_BY(SW_X64_RBP) | SW_SLOT_BELOW(2 * SW_WORD))
#define RSP_FRAME      CFA_BY(SW_X64_RSP)
#define TRUSTED(trust) ((uint64_t)(trust) << SW_STEP_TRUST_SHIFT)

static const struct entry_row {
    const char *name;
    struct sw_entry entry;
    bool valid;
} entries[] = {
    { "a_framed_entry", { .key = 1, .step = SW_STEP_ENTRY | SW_STEP_FRAMED | RBP_FRAME, .end = 1 }, true },
    { "a_plain_entry", { .key = 1, .step = SW_STEP_ENTRY | SW_STEP_PLAIN | RSP_FRAME }, true },
    { "the_outermost_entry", { .key = 1, .step = SW_STEP_ENTRY | SW_STEP_END }, true },
    { "no_entry_without_its_mark", { .key = 1, .step = SW_STEP_PLAIN | RSP_FRAME }, false },
    { "no_entry_without_a_key", { .key = SW_KEY_NONE, .step = SW_STEP_ENTRY }, false },
    { "no_entry_of_two_forms",
      { .key = 1, .step = SW_STEP_ENTRY | SW_STEP_PLAIN | SW_STEP_SINGLE | RSP_FRAME },
      false },
    { "no_framed_entry_from_sp", { .key = 1, .step = SW_STEP_ENTRY | SW_STEP_FRAMED | RSP_FRAME }, false },
    { "no_plain_entry_from_fp", { .key = 1, .step = SW_STEP_ENTRY | SW_STEP_PLAIN | RBP_FRAME }, false },
    { "no_way_on_from_the_outermost", { .key = 1, .step = SW_STEP_ENTRY | SW_STEP_END | SW_STEP_SINGLE }, false },
    { "a_framed_entry_only_so",
      { .key = 1, .step = SW_STEP_ENTRY | SW_STEP_BY_CALL | SW_STEP_ONLY_SO | SW_STEP_FRAMED_SO | RBP_FRAME },
      true },
    { "no_run_past_its_condition",
      { .key = 1, .step = SW_STEP_ENTRY | SW_STEP_BY_CALL | SW_STEP_ONLY_SO | SW_STEP_FRAMED | RBP_FRAME },
      false },
    { "no_condition_without_a_call", { .key = 1, .step = SW_STEP_ENTRY | SW_STEP_ONLY_SO }, false },
    { "no_unknown_trust", { .key = 1, .step = SW_STEP_ENTRY | TRUSTED(SW_TRUST_COUNT) }, false },
    { "no_range_that_ends_before_it_begins", { .key = 1, .step = SW_STEP_ENTRY, .begin = 2, .end = 1 }, false },
    { "no_unknown_kind", { .key = 1, .step = SW_STEP_ENTRY, .attributes = UINT64_C(9) << 32 }, false },
};

static void entries_are_told_apart(void **state)
{
    const struct entry_row *row = *state;
    assert_true(sw_entry_is_valid(&row->entry) == row->valid);
}

static void a_cache_is_sound_and_not_when_damaged(void **state)
{
    static _Atomic uint64_t images[SW_IMAGE_PIECES + 1], codemap[SW_CHANGES];
    const struct sw_changes changes = { codemap, images };
    struct sw_cache *cache;
    (void)state;
    assert_int_equal(sw_cache_create(NULL, 4, &cache), SW_OK);
    for (uint64_t pc = 0x1000; pc < 0x100a; pc++) {
        const struct sw_entry entry = { .key = pc, .step = SW_STEP_ENTRY | SW_STEP_PLAIN | RSP_FRAME };
        sw_cache_store(cache, &changes, pc, &entry);
        assert_true(sw_cache_is_valid(cache));
    }
    const uint32_t place = atomic_exchange(&cache->index[1], 5);
    assert_false(sw_cache_is_valid(cache)); /* a number that there is not */
    atomic_store(&cache->index[1], place);
    const uint64_t step = atomic_exchange(&cache->cold[2].step, SW_STEP_ENTRY | SW_STEP_END);
    assert_false(sw_cache_is_valid(cache)); /* the hot part says something else */
    atomic_store(&cache->cold[2].step, step);
    cache->checked = cache->used + 1;
    assert_false(sw_cache_is_valid(cache));
    cache->checked = 0;
    assert_true(sw_cache_is_valid(cache));
    sw_cache_destroy(cache);
}

static void a_trace_is_sound_and_not_when_damaged(void **state)
{
    struct sw_replay *replay;
    (void)state;
    assert_int_equal(sw_replay_create(NULL, 4, &replay), SW_OK);
    assert_true(sw_replay_is_valid(replay));
    replay->first = 1;
    for (uint32_t i = 1; i < 4; i++) {
        replay->frames[i] = (struct sw_trace_frame){ .pc = i, .sp = 16 * i };
        replay->checks[i] = (struct sw_trace_check){ .sp = 16 * i, .run = (3 - i) & 3, .follows = true };
    }
    assert_true(sw_replay_is_valid(replay));
    replay->checks[2].run = 0;
    assert_false(sw_replay_is_valid(replay)); /* shorter than its checks say */
    replay->checks[2].run = 1;
    replay->frames[3].sp = replay->checks[3].sp = 32;
    assert_false(sw_replay_is_valid(replay)); /* sp does not rise */
    replay->checks[3].sp = 48;
    assert_false(sw_replay_is_valid(replay)); /* frame and check are not of one sp */
    replay->frames[3].sp = 48;
    replay->tail = 5;
    assert_false(sw_replay_is_valid(replay));
    sw_replay_destroy(replay);
}

static const struct ranges_row {
    const char *name;
    struct sw_ranges ranges;
    bool valid;
} ranges[] = {
    { "no_ranges", { .count = 0 }, true },
    { "ranges_in_order", { .count = 2, .at = { { 0x10, 0x20, 1, 0, 1, 0, 0 }, { 0x20, 0x30, 1, 0, 1, 0, 0 } } }, true },
    { "no_ranges_out_of_order",
      { .count = 2, .at = { { 0x20, 0x30, 1, 0, 1, 0, 0 }, { 0x10, 0x20, 1, 0, 1, 0, 0 } } },
      false },
    { "no_ranges_that_overlap",
      { .count = 2, .at = { { 0x10, 0x21, 1, 0, 1, 0, 0 }, { 0x20, 0x30, 1, 0, 1, 0, 0 } } },
      false },
    { "no_range_of_another_region", { .count = 1, .at = { { 0x1010, 0x1020, 1, 0, 1, 0, 0 } } }, false },
    { "no_empty_range", { .count = 1, .at = { { 0x10, 0x10, 1, 0, 1, 0, 0 } } }, false },
    { "no_range_below_the_carry",
      { .carry = { 0, 0x11, 1, 0, 1, 0, 0 }, .count = 1, .at = { { 0x10, 0x20, 1, 0, 1, 0, 0 } } },
      false },
};

static void ranges_of_a_region_are_told_apart(void **state)
{
    const struct ranges_row *row = *state;
    assert_true(sw_ranges_are_valid(&row->ranges, 12, 0) == row->valid);
}

/* Ranges of all densities, so that there are nodes, chunks of many slots and spans. */
static void a_code_map_is_sound_and_not_when_damaged(void **state)
{
    struct sw_codemap *map;
    (void)state;
    assert_int_equal(sw_codemap_create(NULL, &map), SW_OK);
    assert_true(sw_codemap_is_valid(map));
    for (uint64_t i = 1; i < 300; i++) {
        const uint64_t begin = i % 3 ? i * 64 : i << 20;
        const struct sw_range range = { begin, begin + (i % 3 ? 48 : 0xfffff), i, 0, SW_KIND_JIT, 0, 0 };
        assert_int_equal(sw_codemap_add(map, &range), SW_OK);
        assert_true(sw_codemap_is_valid(map));
    }
    atomic_fetch_add(&map->count, 1);
    assert_false(sw_codemap_is_valid(map));
    atomic_fetch_sub(&map->count, 1);
    struct sw_place place;
    assert_true(sw_codemap_locate(map, 64, &place) && place.value != 0);
    sw_chunk_of(place.value)->count--;
    assert_false(sw_codemap_is_valid(map)); /* a range is lost */
    sw_chunk_of(place.value)->count++;
    place.node->base ^= UINT64_C(1) << 40;
    assert_false(sw_codemap_is_valid(map));
    place.node->base ^= UINT64_C(1) << 40;
    for (uint64_t i = 1; i < 300; i++)
        assert_int_equal(sw_codemap_remove(map, i % 3 ? i * 64 : i << 20), SW_OK);
    assert_true(sw_codemap_is_valid(map) && map->root == 0);
    sw_codemap_destroy(map);
}

static void a_thread_table_is_sound(void **state)
{
    struct sw_threads *threads;
    (void)state;
    assert_int_equal(sw_threads_create(NULL, NULL, NULL, &threads), SW_OK);
    for (uint64_t id = 1; id < 200; id++) {
        const struct sw_thread thread = { .id = id, .os_id = id };
        assert_int_equal(sw_threads_add(threads, &thread), SW_OK);
        if (id % 3 == 0)
            assert_int_equal(sw_threads_remove(threads, id / 3), SW_OK);
        assert_true(sw_threads_is_valid(threads));
    }
    sw_threads_destroy(threads);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(entries) + COUNT_OF(ranges) + 4] = {
        cmocka_unit_test(a_cache_is_sound_and_not_when_damaged),
        cmocka_unit_test(a_trace_is_sound_and_not_when_damaged),
        cmocka_unit_test(a_code_map_is_sound_and_not_when_damaged),
        cmocka_unit_test(a_thread_table_is_sound),
    };
    FILL_ROWS(tests + 4, entries, entries_are_told_apart);
    FILL_ROWS(tests + 4 + COUNT_OF(entries), ranges, ranges_of_a_region_are_told_apart);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void invariants_are_asserted(void **state)
{
    (void)state;
    print_message("# needs a build with ASSERTS=1\n");
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(invariants_are_asserted) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
