/*
 * What a code map's answers do not show: its shape and its memory after a change, what it leaves when a change fails,
 * and which changes it notes where. The model beside it (codemap_model.h) holds what its answers must be.
 */
#include "rows.h"
#include "code/map/tree.h"
#include "codemap_model.h"

#include <stdlib.h>

/*
 * ---- an allocator that notices whoever writes behind a block, and that can refuse ----
 *
 * fill: what blocks and the fences behind them hold at first. Zeros look like the slots of an empty node.
 */

enum { FENCE = 8192 };

static struct fenced {
    size_t blocks, bytes, most;
    uint8_t fill;
    bool refuses;
} fenced;

static void *fenced_get(void *arg, size_t size)
{
    struct fenced *f = arg;
    if (f->refuses)
        return NULL;
    uint8_t *block = malloc(size + FENCE);
    assert_non_null(block);
    memset(block, f->fill, size + FENCE);
    f->blocks++;
    f->bytes += size;
    f->most = size > f->most ? size : f->most;
    return block;
}

static void fenced_put(void *arg, void *block, size_t size)
{
    struct fenced *f = arg;
    for (size_t i = 0; i < FENCE; i++)
        assert_int_equal(((uint8_t *)block)[size + i], f->fill);
    f->blocks--;
    f->bytes -= size;
    free(block);
}

static const struct sw_alloc alloc = { fenced_get, fenced_put, &fenced };

/* ---- for each test: an empty map ---- */

static struct sw_codemap *map;
static struct model *model;

static int begin_with(uint8_t fill)
{
    fenced = (struct fenced){ .fill = fill };
    model = calloc(1, sizeof *model);
    return !model || sw_codemap_create(&alloc, &map) != SW_OK;
}

static int begin(void **state)
{
    (void)state;
    return begin_with(0xa5);
}

static int begin_with_zeros(void **state)
{
    (void)state;
    return begin_with(0);
}

static int end(void **state)
{
    (void)state;
    sw_codemap_destroy(map);
    free(model);
    return fenced.blocks != 0 || fenced.bytes != 0;
}

static struct sw_range range_of(uint64_t from, uint64_t to)
{
    return (struct sw_range){ .begin = from, .end = to, .id = from + 1, .kind = SW_KIND_JIT };
}

static void add(uint64_t from, uint64_t to)
{
    const struct sw_range range = range_of(from, to);
    assert_int_equal(sw_codemap_add(map, &range), SW_OK);
    assert_int_equal(model_add(model, &range), SW_OK);
}

static void take(uint64_t from)
{
    assert_int_equal(sw_codemap_remove(map, from), SW_OK);
    assert_int_equal(model_remove(model, from), SW_OK);
}

/* `count` ranges of 32 bytes, each 64. */
static void add_many(uint64_t from, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        add(from + 64 * i, from + 64 * i + 32);
}

static void take_many(uint64_t from, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        take(from + 64 * i);
}

/* ---- which pieces a change is noted for ---- */

/* The pieces from `first` on, `count` of them; numbers begin again behind the last. */
static const struct noted {
    const char *name;
    uint64_t begin, end;
    unsigned first, count;
} notes[] = {
    { "within_a_piece", 0x11000, 0x12000, 1, 1 },
    { "a_whole_piece", 0x10000, 0x20000, 1, 1 },
    { "over_a_border", 0x1ffff, 0x20001, 1, 2 },
    { "up_to_a_border", 0x18000, 0x30000, 1, 2 },
    { "where_the_numbers_begin_again", (SW_PIECES - 1) << 16, (SW_PIECES + 1) << 16, SW_PIECES - 1, 2 },
    { "as_many_as_there_are_numbers", 0x30000, 0x30000 + (SW_PIECES << 16), 3, SW_PIECES },
    { "more_than_there_are_numbers", 0, UINT64_C(1) << 40, 0, SW_PIECES },
};

static bool is_noted(const struct noted *row, unsigned piece)
{
    return (piece + SW_PIECES - row->first) % SW_PIECES < row->count;
}

static void assert_noted(const struct noted *row, unsigned kind, uint64_t generation)
{
    const _Atomic uint64_t *changes = sw_codemap_changes(map);
    for (unsigned piece = 0; piece < SW_PIECES; piece++)
        assert_int_equal(changes[kind + piece], is_noted(row, piece) ? generation : 0);
    assert_int_equal(changes[kind + SW_PIECES], generation);
}

static void a_change_is_noted_where_it_is(void **state)
{
    const struct noted *row = *state;
    const struct noted nothing = { .count = 0 };
    assert_noted(&nothing, SW_ADDED, 0);
    assert_noted(&nothing, SW_REMOVED, 0);
    add(row->begin, row->end);
    assert_noted(row, SW_ADDED, 1);
    assert_noted(&nothing, SW_REMOVED, 0);
    take(row->begin);
    assert_noted(row, SW_ADDED, 1);
    assert_noted(row, SW_REMOVED, 2);
    assert_int_equal(sw_piece(row->begin), row->first % SW_PIECES);
}

/* ---- chunks ---- */

static const struct layout_row {
    const char *name;
    uint64_t size, carry;
    uint16_t flags;
    unsigned bits;
    enum sw_chunk_layout layout;
} layout_rows[] = {
    { "usual_code_is_dense", 0x40, 0, 0, 12, SW_CHUNK_DENSE },
    { "in_16_KiB", 0x40, 0, 0, 14, SW_CHUNK_DENSE },
    { "in_more_it_is_wide", 0x40, 0, 0, 15, SW_CHUNK_WIDE },
    { "hidden_dispatch_is_dense", 0x40, 0, SW_RANGE_HIDDEN | SW_RANGE_EH_DISPATCH, 12, SW_CHUNK_DENSE },
    { "a_funclet_is_wide", 0x40, 0, SW_RANGE_FUNCLET, 12, SW_CHUNK_WIDE },
    { "the_longest_that_is_dense", 0x3fff, 0, 0, 14, SW_CHUNK_DENSE },
    { "one_longer_is_wide", 0x4000, 0, 0, 14, SW_CHUNK_WIDE },
    { "a_short_carry_is_dense", 0x40, 0x3fff, 0, 12, SW_CHUNK_DENSE },
    { "a_long_carry_is_wide", 0x40, 0x4000, 0, 12, SW_CHUNK_WIDE },
};

static void a_chunk_has_the_layout_that_it_fits(void **state)
{
    const struct layout_row *row = *state;
    struct sw_ranges ranges = { .count = 1, .at = { range_of(0x10000, 0x10000 + row->size) } };
    ranges.at[0].flags = row->flags;
    if (row->carry)
        ranges.carry = range_of(0x10001 - row->carry, 0x10001);
    assert_int_equal(sw_chunk_layout_for(&ranges, row->bits), row->layout);
}

/* 16 KiB, one byte more than a dense chunk can say, in a chunk of that size. */
static void a_range_too_long_for_a_dense_chunk_is_found_whole(void **state)
{
    (void)state;
    add(0x40000000, 0x40004000);
    add_many(0x40004000, 40);
    assert_true(model_agrees(model, map));
}

/* ---- memory ---- */

static void a_long_range_takes_little(void **state)
{
    (void)state;
    add_many(0x40000000, 40);
    const uint64_t before = sw_codemap_bytes(map), used = map->blocks.used;
    add(0x40100000, 0x7f000000); /* over many slots of several nodes, and of a level above them */
    assert_true(model_agrees(model, map));
    assert_in_range(map->blocks.used - used, 1, 4); /* one for all the slots that it covers */
    assert_true(sw_codemap_bytes(map) - before < 4 * 8192);
    take(0x40100000);
    assert_true(model_agrees(model, map));
    assert_int_equal(map->blocks.used, used);
}

/* From the middle of a node to the middle of the next one, and to its last slot. */
static void a_range_over_the_end_of_a_node_stays_in_its_nodes(void **state)
{
    (void)state;
    add_many(0x40000000, 40);
    add_many(0x40200000, 40);
    add_many(0x40400000, 40);
    add(0x40100000, 0x40200000);
    add(0x40300800, 0x40400000);
    add(0x40481000, 0x40700000);
    assert_true(model_agrees(model, map));
    take(0x40100000);
    take(0x40300800);
    take(0x40481000);
    assert_true(model_agrees(model, map));
}

/* Takes all lines that the map has left, but for `spare`. */
static void *hoard[4096];
static size_t hoarded;
enum { MOST_SPARED = 40 };

static size_t body_of(unsigned lines)
{
    return lines * SW_LINE - 3 * sizeof(void *);
}

static void hoard_all_but(unsigned spare)
{
    void *spared[MOST_SPARED];
    fenced.refuses = true;
    hoarded = 0;
    for (unsigned i = 0; i < spare; i++)
        spared[i] = sw_codemap_get(map, body_of(1));
    for (unsigned size = SW_ROW_MAX; size > 0; size--)
        while (hoarded < COUNT_OF(hoard) && (hoard[hoarded] = sw_codemap_get(map, body_of(size))) != NULL)
            hoarded++;
    assert_true(hoarded < COUNT_OF(hoard));
    for (unsigned i = 0; i < spare; i++)
        if (spared[i])
            sw_codemap_put(map, spared[i]);
}

static void give_back(void)
{
    while (hoarded > 0)
        sw_codemap_put(map, hoard[--hoarded]);
    fenced.refuses = false;
}

/* It begins alone, and ends in a chunk of others, which takes more: memory ends after none, one, two ... blocks. */
static void a_change_that_fails_gives_back_what_it_took(void **state)
{
    unsigned refused = 0;
    (void)state;
    add_many(0x40000000, 40);
    add_many(0x40003040, 40);
    const struct sw_range range = range_of(0x40001000, 0x40003010);
    for (unsigned spare = 0; spare < MOST_SPARED; spare++) {
        hoard_all_but(spare);
        const size_t used = map->blocks.used;
        const enum sw_status status = sw_codemap_add(map, &range);
        if (status == SW_OK) {
            give_back();
            assert_int_equal(model_add(model, &range), SW_OK);
            break;
        }
        assert_int_equal(status, SW_E_NO_MEMORY);
        assert_int_equal(map->blocks.used, used);
        assert_true(model_agrees(model, map));
        refused++;
        give_back();
    }
    assert_in_range(refused, 4, MOST_SPARED - 1);
    assert_true(model_agrees(model, map));
}

/* A node above the root is a large block. */
static void without_a_node_above_the_root_nothing_changes(void **state)
{
    const struct sw_range far = range_of(0x7f0000000000, 0x7f0000000040);
    (void)state;
    add_many(0x40000000, 40);
    fenced.refuses = true;
    assert_int_equal(sw_codemap_add(map, &far), SW_E_NO_MEMORY);
    fenced.refuses = false;
    assert_true(model_agrees(model, map));
    add(far.begin, far.end);
    assert_true(model_agrees(model, map));
}

/* ---- the shape after removals ---- */

/* Of the root: its node's shift; 64: a chunk; 65: nothing. */
static unsigned root_shift(void)
{
    const uintptr_t root = atomic_load(&map->root);
    return sw_is_node(root) ? sw_node_of(root)->shift : root ? 64 : 65;
}

static void a_map_that_becomes_small_is_one_chunk_again(void **state)
{
    (void)state;
    assert_int_equal(root_shift(), 65);
    add_many(0x40000000, 3);
    assert_int_equal(root_shift(), 64);
    add_many(0x40000000 + 64 * 3, 37);
    assert_true(root_shift() < 64);
    take_many(0x40000000 + 64 * 3, 37);
    assert_int_equal(root_shift(), 64);
    assert_true(model_agrees(model, map));
    const size_t used = map->blocks.used;
    assert_true(used <= 16);
    take_many(0x40000000, 3);
    assert_int_equal(root_shift(), 65);
    assert_int_equal(map->blocks.used, 0);
}

/* As few as fit half a chunk, from several levels down: the last removal leads all the way up. */
static void one_removal_leads_all_the_way_up(void **state)
{
    enum { FEW = SW_CHUNK_MAX / 2 };
    (void)state;
    add_many(0x40000000, 40);
    add(0x7f0000000000, 0x7f0000000020);
    take_many(0x40000000, 40 - FEW);
    assert_true(root_shift() < 64);
    take(0x40000000 + 64 * (40 - FEW));
    assert_int_equal(root_shift(), 64);
    assert_true(model_agrees(model, map));
}

/* Where only one of two distant places is left, the levels above it go. */
static void levels_that_nothing_needs_go(void **state)
{
    (void)state;
    add_many(0x40000000, 200);
    const unsigned low = root_shift();
    add_many(0x7f0000000000, 200);
    assert_true(root_shift() > low);
    assert_true(model_agrees(model, map));
    take_many(0x7f0000000000, 200);
    assert_int_equal(root_shift(), low);
    assert_true(model_agrees(model, map));
    add(0x7f0000000000, 0x7f0000000001);
    assert_true(root_shift() > low);
    take(0x7f0000000000);
    assert_int_equal(root_shift(), low);
    add_many(0x7f0000000000, 200);
    take_many(0x40000000, 200);
    assert_int_equal(root_shift(), low);
    assert_true(model_agrees(model, map));
}

/* A level stays as long as two of its slots are in use. */
static void a_level_with_two_slots_in_use_stays(void **state)
{
    (void)state;
    add_many(0x40000000, 200);
    add_many(0x50000000, 200);
    add_many(0x60000000, 200);
    const unsigned shift = root_shift();
    take_many(0x50000000, 200);
    assert_int_equal(root_shift(), shift);
    assert_true(model_agrees(model, map));
    take_many(0x60000000, 200);
    assert_true(root_shift() < shift);
    assert_true(model_agrees(model, map));
}

/* ---- after fork ---- */

/* In the child there are no other threads: a section that one of them was in keeps nothing. */
static void readers_of_the_parent_are_forgotten(void **state)
{
    struct sw_section section;
    (void)state;
    add_many(0x40000000, 400);
    sw_codemap_enter(map, &section);
    take_many(0x40000000, 400);
    const size_t used = map->blocks.used;
    assert_true(used > 0);
    assert_int_equal(sw_codemap_after_fork(map), SW_OK);
    assert_int_equal(map->blocks.used, 0);
    add(0x40000000, 0x40000040);
    take(0x40000000);
    assert_int_equal(map->blocks.used, 0);
    while (atomic_flag_test_and_set(&map->writing))
        ;
    assert_int_equal(sw_codemap_after_fork(map), SW_E_BUSY);
    atomic_flag_clear(&map->writing);
    assert_int_equal(sw_codemap_after_fork(map), SW_OK);
}

/* ---- blocks ---- */

/* Slabs grow with what is in use, up to 2 MiB. */
static void slabs_have_a_largest_size(void **state)
{
    enum { COUNT = 80000, BODY = SW_ROW_MAX * SW_LINE - 3 * sizeof(void *) };
    void **bodies = calloc(COUNT, sizeof *bodies);
    struct sw_blocks blocks;
    (void)state;
    const size_t before = fenced.bytes;
    fenced.most = 0;
    sw_blocks_init(&blocks, &alloc);
    for (unsigned i = 0; i < COUNT; i++) {
        bodies[i] = sw_blocks_get(&blocks, BODY);
        assert_non_null(bodies[i]);
        assert_int_equal((uintptr_t)bodies[i] % SW_LINE, 0);
    }
    assert_int_equal(blocks.used, (size_t)COUNT * SW_ROW_MAX);
    assert_int_equal(fenced.most, 2 << 20);
    assert_true(fenced.bytes - before < (size_t)COUNT * SW_ROW_MAX * SW_LINE * 5 / 4);
    for (unsigned i = 0; i < COUNT; i++)
        sw_blocks_put(&blocks, bodies[i]);
    assert_int_equal(blocks.used, 0);
    assert_int_equal(fenced.bytes, before); /* none is kept for nobody */
    free(bodies);
}

#define SHAPE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    static const struct CMUnitTest single[] = {
        SHAPE(a_range_too_long_for_a_dense_chunk_is_found_whole),
        SHAPE(a_long_range_takes_little),
        cmocka_unit_test_setup_teardown(a_range_over_the_end_of_a_node_stays_in_its_nodes, begin_with_zeros, end),
        SHAPE(a_range_over_the_end_of_a_node_stays_in_its_nodes),
        SHAPE(a_change_that_fails_gives_back_what_it_took),
        SHAPE(without_a_node_above_the_root_nothing_changes),
        SHAPE(a_map_that_becomes_small_is_one_chunk_again),
        SHAPE(one_removal_leads_all_the_way_up),
        SHAPE(levels_that_nothing_needs_go),
        SHAPE(a_level_with_two_slots_in_use_stays),
        SHAPE(readers_of_the_parent_are_forgotten),
        SHAPE(slabs_have_a_largest_size),
    };
    enum { NOTES = COUNT_OF(single), LAYOUTS = NOTES + COUNT_OF(notes) };
    struct CMUnitTest tests[LAYOUTS + COUNT_OF(layout_rows)];
    memcpy(tests, single, sizeof single);
    FILL_ROWS(tests + NOTES, notes, a_change_is_noted_where_it_is);
    FILL_ROWS(tests + LAYOUTS, layout_rows, a_chunk_has_the_layout_that_it_fits);
    SET_UP(tests, NOTES, LAYOUTS, begin, end);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
