/*
 * The rule cache and images that come and go elsewhere: what unwind tables say stays, and is what a walk without the
 * cache finds; what is inferred is asked anew.
 */
#include "rows.h"
#include "cached_twice.h"

#include "code/images.h"
#include "fast/cache.h"

#include <snapwalk/follow.h>
#include <snapwalk/image.h>
#include <snapwalk/self.h>

enum { DEPTH = 10, ENTRIES = 256, PAGE = 4096, ROOT = 2 };
#define APART     (UINT64_C(1) << SW_IMAGE_PIECE_SHIFT)
#define ELSEWHERE UINT64_C(0x1000000000)

static struct sw_images *images;
static struct sw_cache *cache;
static struct twice with;

static int set_up(void **state)
{
    (void)state;
    return sw_images_create(NULL, &images) || sw_images_add_self(images) || sw_cache_create(NULL, ENTRIES, &cache);
}

static int tear_down(void **state)
{
    (void)state;
    sw_images_destroy(images);
    sw_cache_destroy(cache);
    return 0;
}

static __attribute__((noinline)) void walk_from_here(void)
{
    static struct twice without;
    struct sw_walker walker;
    struct sw_regs here;
    assert_int_equal(sw_self_walker(&walker, NULL, images), SW_OK);
    sw_self_capture(&here);
    twice_walk(&walker, &here, false, &without);
    walker.cache = cache;
    twice_walk(&walker, &here, false, &with);
    twice_same(&without, &with);
}

static __attribute__((noinline)) void walk_deep(unsigned depth)
{
    if (depth)
        walk_deep(depth - 1);
    else
        walk_from_here();
    __asm__ volatile("" ::: "memory");
}

/* How many frames of a walk from there had to be found anew since an image changed. */
static uint64_t outdated_by(enum sw_status change)
{
    const uint64_t before = sw_cache_get_counts(cache).outdated;
    assert_int_equal(change, SW_OK);
    walk_deep(DEPTH);
    return sw_cache_get_counts(cache).outdated - before;
}

static bool is_piece_of_a_frame(uint64_t address)
{
    for (unsigned n = 0; n < with.count; n++)
        if (sw_image_piece(sw_regs_pc(&with.frames[n].regs)) == sw_image_piece(address))
            return true;
    return false;
}

/* Registers a page where nothing is as an image of one function. */
static enum sw_status add_at(uint64_t begin)
{
    static const uint32_t entry[3] = { 0, 16, 64 };
    const struct sw_memory memory = sw_self_memory();
    const struct sw_function_table table = { SW_MACHINE_X64, begin, begin, begin + PAGE, entry, 1 };
    return sw_images_add_functions(images, "elsewhere", &table, &memory);
}

/* All but the root, of which no table says that it is one. */
static void an_image_that_comes_or_goes_elsewhere_leaves_what_tables_say(void **state)
{
    uint64_t elsewhere = ELSEWHERE;
    (void)state;
    walk_deep(DEPTH);
    while (is_piece_of_a_frame(elsewhere))
        elsewhere += APART;
    assert_true(outdated_by(add_at(elsewhere)) <= ROOT);
    assert_true(outdated_by(sw_images_remove(images, elsewhere)) <= ROOT);
    const uint64_t beside = ELSEWHERE + sw_image_piece(sw_regs_pc(&with.frames[DEPTH / 2].regs)) * APART;
    assert_true(outdated_by(add_at(beside)) > ROOT);
    assert_true(outdated_by(sw_images_remove(images, beside)) > ROOT);
}

#define BY(source, trust)                                                                                              \
    (SW_STEP_ENTRY | (uint64_t)(source) << SW_STEP_SOURCE_SHIFT | (uint64_t)(trust) << SW_STEP_TRUST_SHIFT)

static const struct row {
    const char *name;
    uint64_t step;
    bool holds;
} rows[] = {
    { "what_cfi_says_holds_when_images_change_elsewhere", BY(SW_SOURCE_CFI, SW_TRUST_EXACT), true },
    { "so_does_what_sframe_says", BY(SW_SOURCE_SFRAME, SW_TRUST_EXACT), true },
    { "so_does_what_unwind_codes_say", BY(SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT), true },
    { "so_does_what_a_header_says", BY(SW_SOURCE_CLR_HEADER, SW_TRUST_EXACT), true },
    { "a_table_that_is_doubted_does_not", BY(SW_SOURCE_CFI, SW_TRUST_LIKELY), false },
    { "nor_one_that_wants_a_call", BY(SW_SOURCE_CFI, SW_TRUST_EXACT) | SW_STEP_BY_CALL, false },
    { "nor_the_end_of_a_stack", BY(SW_SOURCE_CFI, SW_TRUST_EXACT) | SW_STEP_END, false },
    { "nor_what_was_analysed", BY(SW_SOURCE_ANALYSIS, SW_TRUST_EXACT), false },
    { "nor_a_leaf", BY(SW_SOURCE_LEAF, SW_TRUST_EXACT), false },
};

static void it_holds_or_not(void **state)
{
    static _Atomic uint64_t now[SW_IMAGE_PIECES + 1], codemap[SW_CHANGES];
    const struct row *row = *state;
    const struct sw_changes changes = { codemap, now };
    const uint64_t found = sw_found_at(7, 0), pc = 5 * APART;
    atomic_store(&now[SW_IMAGE_PIECES], 8);
    atomic_store(&now[5], 7);
    atomic_store(&now[6], 8);
    assert_true(sw_entry_holds(found, row->step, pc, &changes) == row->holds);
    atomic_store(&now[5], 8);
    assert_false(sw_entry_holds(found, row->step, pc, &changes));
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows) + 1] = {
        [COUNT_OF(rows)] = cmocka_unit_test_setup_teardown(an_image_that_comes_or_goes_elsewhere_leaves_what_tables_say,
                                                           set_up, tear_down),
    };
    FILL_ROWS(tests, rows, it_holds_or_not);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
