/*
 * Work ahead of walks: what is prepared, and what is not; where it stops; and what a walk has left undone. A walk that
 * asks the analysis cache in vain less often shows what was found out.
 */
#include "rows.h"
#include "code/map/tree.h"

#include <snapwalk/analysis_cache.h>
#include <snapwalk/walk.h>

#include "analysis_cache_sim.h"

enum { CACHE_BYTES = 1 << 20, PLACE = 0x800000, PLACE_BYTES = 0x3000, VAST = 0x900000, VAST_BYTES = 0x8000 };

static struct sw_scratch scratch;
static struct sw_sim *sim;
static struct sw_analysis_cache *cache;
static struct sw_walker walker;

/* Eight numbered functions without ranges, and a place full of nops. */
static int begin(void **state)
{
    static uint8_t nops[PLACE_BYTES];
    uint8_t code[NUMBERED_BYTES];
    (void)state;
    memset(nops, 0x90, sizeof nops);
    if (sw_sim_create(NULL, SW_MACHINE_X64, &sim) || sw_analysis_cache_create(NULL, CACHE_BYTES, &cache) ||
        !put_surroundings(sim) || sw_sim_bytes(sim, PLACE, nops, sizeof nops))
        return -1;
    for (unsigned n = 0; n < 8; n++) {
        numbered_code(n, code);
        if (sw_sim_bytes(sim, begin_of(n), code, sizeof code))
            return -1;
    }
    walker = *sw_sim_walker(sim);
    walker.analysis_cache = cache;
    return 0;
}

static int end(void **state)
{
    (void)state;
    sw_analysis_cache_destroy(cache);
    sw_sim_destroy(sim);
    return 0;
}

static void add_range(unsigned n, enum sw_unwind unwind)
{
    const struct sw_range range = {
        begin_of(n), begin_of(n) + NUMBERED_BYTES, n + 1, 0, SW_KIND_JIT, (uint8_t)unwind, 0
    };
    assert_int_equal(sw_codemap_add(sw_sim_codemap(sim), &range), SW_OK);
}

static uint64_t prepare(uint64_t from, uint64_t to)
{
    return sw_walk_prepare_range(&walker, &scratch, from, to, SW_WALK_BUDGET_UNLIMITED);
}

/* How often a walk from the middle of a function asks a cache in vain. */
static uint64_t misses_of(unsigned n, struct sw_analysis_cache *of)
{
    const uint64_t before = sw_analysis_cache_get_counts(of).misses;
    (void)walk_from(&walker, of, &scratch, begin_of(n) + IN_NUMBERED);
    return sw_analysis_cache_get_counts(of).misses - before;
}

/* Whether less is left to find out of a function than an empty cache would have to. */
static bool is_prepared(unsigned n)
{
    struct sw_analysis_cache *empty;
    assert_int_equal(sw_analysis_cache_create(NULL, CACHE_BYTES, &empty), SW_OK);
    const uint64_t all = misses_of(n, empty);
    sw_analysis_cache_destroy(empty);
    return misses_of(n, cache) < all;
}

static const struct unwind_row {
    const char *name;
    enum sw_unwind unwind;
    bool is_analysed;
} unwind_rows[] = {
    { "code_that_wants_analysis", SW_UNWIND_ANALYSIS, true },
    { "code_that_may_want_analysis", SW_UNWIND_AUTO, true },
    { "foreign_code", SW_UNWIND_FOREIGN, true },
    { "a_leaf", SW_UNWIND_LEAF, false },
    { "code_with_a_header", SW_UNWIND_CLR_HEADER, false },
};

static void what_wants_analysis_is_analysed(void **state)
{
    const struct unwind_row *row = *state;
    add_range(1, row->unwind);
    const uint64_t to = begin_of(1) + NUMBERED_BYTES;
    assert_int_equal(prepare(begin_of(1), to), to);
    assert_int_equal(is_prepared(1), row->is_analysed);
}

static void nothing_behind_the_end_is_prepared(void **state)
{
    (void)state;
    add_range(2, SW_UNWIND_ANALYSIS);
    assert_int_equal(prepare(begin_of(2) - 0x10, begin_of(2)), begin_of(2));
    assert_int_equal(prepare(begin_of(2), begin_of(2)), begin_of(2));
    assert_int_equal(prepare(begin_of(2), begin_of(2) - 1), begin_of(2));
    assert_false(is_prepared(2));
}

/* A range in the middle, and code without any around it: each is gone through once. */
static void ranges_and_what_is_between_them_are_gone_through(void **state)
{
    struct sw_codemap *map = sw_sim_codemap(sim);
    (void)state;
    add_range(1, SW_UNWIND_ANALYSIS);
    add_range(3, SW_UNWIND_ANALYSIS);
    assert_int_equal(prepare(begin_of(0), begin_of(4)), begin_of(4));
    assert_true(is_prepared(1));
    assert_true(is_prepared(3));
    assert_int_equal(sw_codemap_remove(map, begin_of(1)), SW_OK);
    assert_int_equal(sw_codemap_remove(map, begin_of(3)), SW_OK);
    add_range(2, SW_UNWIND_ANALYSIS);
    assert_int_equal(sw_codemap_remove(map, begin_of(2)), SW_OK);
    assert_int_equal(map->blocks.used, 0); /* nobody is reading them any more */
}

static void code_that_cannot_be_read_is_passed_over(void **state)
{
    (void)state;
    assert_int_equal(prepare(0x50000000, 0x50010000), 0x50010000);
    walker.flags = SW_WALK_NO_ANALYSIS;
    assert_int_equal(prepare(begin_of(1), begin_of(2)), begin_of(1));
    walker.flags = 0;
    walker.analysis_cache = NULL;
    assert_int_equal(prepare(begin_of(1), begin_of(2)), begin_of(1));
    assert_int_equal(sw_walk_prepare(&walker, &scratch, 0), 0);
    assert_int_equal(sw_walk_prepare_range(NULL, &scratch, 1, 2, 0), 1);
}

/*
 * A call in code without a range, of the first function: that is analysed if it begins in what is prepared. A walk
 * through that function asks for it, because its caller calls it by its name.
 */
static const struct call_row {
    const char *name;
    uint64_t at, from, to;
    bool is_analysed;
} call_rows[] = {
    { "a_call_of_the_first_byte", FIRST_CODE + 0x80, FIRST_CODE, FIRST_CODE + 0x100, true },
    { "a_call_of_what_is_in_front", FIRST_CODE + 0x80, FIRST_CODE + 1, FIRST_CODE + 0x100, false },
    { "a_call_of_the_last_byte", FIRST_CODE - 0x80, FIRST_CODE - 0x100, FIRST_CODE + 1, true },
    { "a_call_of_what_is_behind", FIRST_CODE - 0x80, FIRST_CODE - 0x100, FIRST_CODE, false },
};

static void what_is_called_is_analysed(void **state)
{
    const struct call_row *row = *state;
    static uint8_t nops[0x100 - NUMBERED_BYTES];
    uint8_t call[] = { 0xe8, 0, 0, 0, 0 };
    const uint32_t distance = (uint32_t)(FIRST_CODE - (row->at + sizeof call));
    memset(nops, 0x90, sizeof nops);
    memcpy(call + 1, &distance, sizeof distance);
    assert_int_equal(sw_sim_bytes(sim, FIRST_CODE - sizeof nops, nops, sizeof nops), SW_OK);
    assert_int_equal(sw_sim_bytes(sim, FIRST_CODE + NUMBERED_BYTES, nops, sizeof nops), SW_OK);
    assert_int_equal(sw_sim_bytes(sim, FIRST_CODE - 0x100, nops, NUMBERED_BYTES), SW_OK);
    assert_int_equal(sw_sim_bytes(sim, row->at, call, sizeof call), SW_OK);
    assert_int_equal(prepare(row->from, row->to), row->to);
    assert_int_equal(is_prepared(0), row->is_analysed);
}

/* Eight bytes of what is not code of a range cost a unit; to begin costs some. */
static void a_sweep_stops_where_its_budget_ends(void **state)
{
    enum { UNITS = 100 };
    (void)state;
    const uint64_t to = PLACE + PLACE_BYTES;
    const uint64_t next = sw_walk_prepare_range(&walker, &scratch, PLACE, to, UNITS);
    assert_in_range(next - PLACE, 6 * UNITS, 8 * UNITS);
    assert_int_equal(sw_walk_prepare_range(&walker, &scratch, PLACE, to, PLACE_BYTES), to);
}

/* A function so long that a walk's budget ends in it: one piece of work is left, and done. */
static void what_a_walk_left_is_done(void **state)
{
    static uint8_t code[VAST_BYTES];
    const uint32_t frame = frame_of(3);
    const struct sw_regs regs = regs_at(VAST + VAST_BYTES - 16);
    struct sw_range range = { VAST, VAST + VAST_BYTES, 1, 0, SW_KIND_JIT, SW_UNWIND_ANALYSIS, 0 };
    (void)state;
    memset(code, 0x90, sizeof code);
    memcpy(code, "\x48\x81\xec", 3);
    memcpy(code + 3, &frame, sizeof frame);
    memcpy(code + VAST_BYTES - 8, "\x48\x81\xc4", 3);
    memcpy(code + VAST_BYTES - 5, &frame, sizeof frame);
    code[VAST_BYTES - 1] = 0xc3;
    assert_int_equal(sw_sim_bytes(sim, VAST, code, sizeof code), SW_OK);
    assert_int_equal(sw_codemap_add(sw_sim_codemap(sim), &range), SW_OK);
    walker.budget = 1000;
    assert_int_equal(walk_regs(&walker, cache, &scratch, &regs).stop, SW_STOP_BUDGET);
    assert_int_equal(sw_analysis_cache_get_counts(cache).pending, 1);
    assert_int_equal(sw_walk_prepare(&walker, &scratch, 1000), 1); /* it takes more than that */
    assert_int_equal(sw_walk_prepare(&walker, &scratch, SW_WALK_BUDGET_UNLIMITED), 0);
    const struct kept_seen seen = walk_regs(&walker, cache, &scratch, &regs);
    assert_int_equal(seen.stop, SW_STOP_FRAME_LIMIT);
    assert_int_equal(seen.frames[1].lookup, BEHIND_CALLER - 1);
}

#define PREPARE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    static const struct CMUnitTest single[] = {
        PREPARE(nothing_behind_the_end_is_prepared),
        PREPARE(ranges_and_what_is_between_them_are_gone_through),
        PREPARE(code_that_cannot_be_read_is_passed_over),
        PREPARE(a_sweep_stops_where_its_budget_ends),
        PREPARE(what_a_walk_left_is_done),
    };
    enum { UNWINDS = COUNT_OF(single), CALLS = UNWINDS + COUNT_OF(unwind_rows) };
    struct CMUnitTest tests[CALLS + COUNT_OF(call_rows)];
    memcpy(tests, single, sizeof single);
    FILL_ROWS(tests + UNWINDS, unwind_rows, what_wants_analysis_is_analysed);
    FILL_ROWS(tests + CALLS, call_rows, what_is_called_is_analysed);
    SET_UP(tests, UNWINDS, COUNT_OF(tests), begin, end);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
