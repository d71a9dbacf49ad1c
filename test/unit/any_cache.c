/*
 * An answer does not depend on what a cache holds. Walks by instructions from places of this program and its C library
 * that chance names, over stacks that chance has filled with return addresses and what else lies on stacks: without an
 * analysis cache, with an empty one, with one that has seen all walks before, with one that has to forget, and out of a
 * rule cache. All frames are the same. Nothing here knows which of them are right.
 */
#include "rows.h"
#include "host.h"
#include "cached_twice.h"
#include "../support/random.h"

#include <snapwalk/analysis_cache.h>
#include <snapwalk/image.h>
#include <snapwalk/self.h>

#include "cfi/cfi.h"
#include "code/images.h"
#include "unwind/analysis_cache.h"

#include <stdlib.h>
#include <sys/mman.h>

#ifdef __x86_64__
enum {
    LARGE = 1 << 24,
    SMALL = 1 << 16,
    WORDS = 256,
    WALKS = 48,
    MOST_WORK = 20000,
    MOST_SOUGHT = 4096,
    MOST = 6,
    FUNCTIONS = 200,
    PCS = 12,
    CACHE_ENTRIES = 4096
};

static struct sw_images *images;
static struct sw_codemap *bounds;
static uint64_t *stack; /* WORDS of them */
static uint64_t chance;
static unsigned long walks;

/* ---- places ---- */

static const void *const inside[] = { (const void *)(uintptr_t)&sw_walk_next, (const void *)(uintptr_t)&printf,
                                      (const void *)(uintptr_t)&qsort };

/* What an image's table says of an address: its function, the rule there. False: it is in none. */
static bool table_at(uint64_t pc, struct sw_cfi_cover *cover, struct sw_rule *rule)
{
    static struct sw_cfi_work work;
    struct sw_section section;
    sw_images_enter(images, &section);
    const struct sw_image_entry *entry = sw_images_entry(images, pc);
    const bool is_there =
        entry && sw_image_is_code(entry, pc) && sw_cfi_rule(&entry->cfi, pc, &work, rule, cover) == SW_OK;
    sw_images_leave(images, &section);
    return is_there;
}

static bool function_at(uint64_t pc, struct sw_cfi_cover *cover)
{
    struct sw_rule unused;
    return table_at(pc, cover, &unused);
}

/* An address of some function of the image around `of`. */
static uint64_t any_code(const void *of)
{
    struct sw_cfi_cover cover;
    struct sw_image image;
    uint64_t pc;
    assert_int_equal(sw_images_find(images, (uint64_t)(uintptr_t)of, &image), SW_OK);
    do
        pc = image.begin + next_random(&chance) % (image.end - image.begin);
    while (!function_at(pc, &cover));
    return pc;
}

static uint64_t any_place(void)
{
    return any_code(inside[next_random(&chance) % COUNT_OF(inside)]);
}

/* An address behind bytes that look like a direct call into an image, somewhere behind some code. */
static uint64_t any_return(void)
{
    const uint64_t from = any_place();
    struct sw_cfi_cover cover;
    for (uint64_t at = from; at < from + MOST_SOUGHT && function_at(at + 5, &cover); at++) {
        int32_t distance;
        memcpy(&distance, (const uint8_t *)(uintptr_t)at + 1, sizeof distance);
        if (*(const uint8_t *)(uintptr_t)at == 0xe8 && function_at(at + 5 + (uint64_t)(int64_t)distance, &cover))
            return at + 5;
    }
    return from;
}

/* ---- stacks ---- */

/*
 * Rules made by chance find registers saved far outside of the frame. Nothing may lie there that changes between two
 * walks, as what the first one saw would.
 */
static bool map_stack(void)
{
    enum { AROUND = 64 << 20, PAGE = 4096 };
    char *all = mmap(NULL, 2 * AROUND + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED || mprotect(all + AROUND, PAGE, PROT_READ | PROT_WRITE) != 0)
        return false;
    _Static_assert(WORDS * sizeof *stack <= PAGE, "the stack is in its page");
    stack = (uint64_t *)(void *)(all + AROUND);
    return true;
}

static uint64_t any_word(void)
{
    const uint64_t n = next_random(&chance);
    switch (n % 32) {
    case 0:
        return any_return();
    case 1:
        return any_place();
    case 2:
    case 3:
    case 4:
    case 5:
    case 6:
        return (uint64_t)(uintptr_t)&stack[n / 32 % WORDS];
    case 7:
        return 0;
    default:
        return n / 32 % 65536;
    }
}

/* Frames as the tables have them, as far as they are found by sp: each returns to anywhere. */
static void fill_in_frames(size_t at, uint64_t pc)
{
    struct sw_cfi_cover unused;
    struct sw_rule rule;
    for (uint64_t lookup = pc; table_at(lookup, &unused, &rule) && rule.cfa.kind == SW_LOC_REG;
         lookup = stack[at - 1] - 1) {
        const size_t size = rule.cfa.reg == SW_X64_RSP ? (size_t)rule.cfa.off / 8 : 1;
        if (size == 0 || size > WORDS / 8 || at + size > WORDS)
            return;
        at += size;
        stack[at - 1] = any_return();
    }
}

static struct sw_regs any_start(void)
{
    struct sw_regs start = { .machine = SW_MACHINE_X64 };
    const size_t at = next_random(&chance) % (WORDS / 8);
    for (size_t i = 0; i < WORDS; i++)
        stack[i] = any_word();
    for (unsigned n = 0; n < SW_X64_RIP; n++)
        sw_regs_set(&start, n, any_word());
    sw_regs_set(&start, SW_X64_RSP, (uint64_t)(uintptr_t)&stack[at]);
    sw_regs_set(&start, SW_X64_RIP, any_place());
    fill_in_frames(at, sw_regs_pc(&start));
    return start;
}

/* The functions around places of the stack, so that they are walked with bounds. */
static void add_bounds(const struct sw_regs *start)
{
    struct sw_cfi_cover cover;
    for (size_t i = 0; i <= WORDS; i++)
        if (function_at(i ? stack[i - 1] : sw_regs_pc(start), &cover)) {
            const struct sw_range range = { cover.begin, cover.end, 0, 0, SW_KIND_NATIVE, SW_UNWIND_AUTO, 0 };
            (void)!sw_codemap_add(bounds, &range); /* most are there */
        }
}

/* ---- walks ---- */

static const struct row {
    const char *name;
    bool has_bounds;
    bool is_in_image;
} rows[] = {
    { "code_whose_starts_are_not_known", false, true },
    { "functions_with_bounds", true, true },
    { "code_that_is_in_no_image", false, false },
    { "functions_that_are_in_no_image", true, false },
};

static struct sw_walker walker_for(const struct row *row)
{
    struct sw_walker walker;
    assert_int_equal(sw_self_walker(&walker, row->has_bounds ? bounds : NULL, images), SW_OK);
    walker.images = row->is_in_image ? images : NULL;
    walker.stack_begin = (uint64_t)(uintptr_t)stack;
    walker.stack_end = (uint64_t)(uintptr_t)(stack + WORDS);
    walker.flags = SW_WALK_NO_TABLES;
    walker.budget = SW_WALK_BUDGET_UNLIMITED;
    walker.max_frames = MOST;
    return walker;
}

static void check_with(struct sw_walker walker, struct sw_analysis_cache *cache, const struct sw_regs *start,
                       const struct twice *plain)
{
    static struct twice seen;
    walker.analysis_cache = cache;
    twice_walk(&walker, start, true, &seen);
    twice_same(plain, &seen);
}

/*
 * How many frames were looked at: those for which not all has to be tried that there is, which takes too long without a
 * cache.
 */
static unsigned check_start(const struct row *row, struct sw_analysis_cache *seen_all, struct sw_analysis_cache *small,
                            struct sw_cache *rules)
{
    static struct twice plain;
    struct sw_walker walker = walker_for(row);
    struct sw_analysis_cache *empty;
    const struct sw_regs start = any_start();
    if (row->has_bounds)
        add_bounds(&start);
    walker.budget = MOST_WORK;
    twice_walk(&walker, &start, true, &plain);
    walker.max_frames = plain.count;
    walker.budget = SW_WALK_BUDGET_UNLIMITED;
    twice_walk(&walker, &start, true, &plain);
    assert_int_equal(sw_analysis_cache_create(NULL, LARGE, &empty), SW_OK);
    check_with(walker, empty, &start, &plain);
    check_with(walker, empty, &start, &plain);
    check_with(walker, seen_all, &start, &plain);
    check_with(walker, small, &start, &plain);
    walker.cache = rules;
    check_with(walker, seen_all, &start, &plain);
    sw_analysis_cache_destroy(empty);
    return plain.count - 1;
}

static void all_caches_give_the_same_frames(void **state)
{
    struct sw_analysis_cache *seen_all, *small;
    struct sw_cache *rules;
    const struct row *row = *state;
    unsigned long seen = 0;
    chance = 1;
    assert_int_equal(sw_codemap_create(NULL, &bounds), SW_OK);
    assert_int_equal(sw_analysis_cache_create(NULL, LARGE, &seen_all), SW_OK);
    assert_int_equal(sw_analysis_cache_create(NULL, SMALL, &small), SW_OK);
    assert_int_equal(sw_cache_create(NULL, CACHE_ENTRIES, &rules), SW_OK);
    for (unsigned long n = 0; n < walks; n++)
        seen += check_start(row, seen_all, small, rules);
    print_message("# %lu callers in %lu walks\n", seen, walks);
    if (row->has_bounds || !IS_ASAN) /* whose code never says how large its frame is: few callers are found in it */
        assert_true(seen > walks / 8);
    sw_cache_destroy(rules);
    sw_analysis_cache_destroy(small);
    sw_analysis_cache_destroy(seen_all);
    sw_codemap_destroy(bounds);
}

/* ---- rules ---- */

static const uint8_t *fetch_here(void *arg, uint64_t pc, size_t *size)
{
    struct sw_cfi_cover cover;
    (void)arg;
    *size = 16;
    return function_at(pc, &cover) && function_at(pc + *size, &cover) ? (const uint8_t *)(uintptr_t)pc : NULL;
}

/* end 0: it is not known. */
static void check_function(struct sw_analysis_cache *cache, uint64_t begin, uint64_t size, uint64_t end)
{
    static struct sw_analysis work;
    static struct sw_rule fresh, kept;
    const struct sw_code code = { sw_arch_of(SW_MACHINE_X64), fetch_here, NULL, NULL };
    for (unsigned n = 0; n < PCS; n++) {
        const uint64_t pc = begin + next_random(&chance) % size;
        const enum sw_status status = sw_analyze_function(&code, begin, end, pc, &work, &fresh);
        assert_int_equal(sw_analysis_cache_rule(cache, &code, begin, end, pc, 1, &work, &kept), status);
        if (status != SW_OK)
            continue;
        assert_int_equal(kept.trust, fresh.trust);
        assert_memory_equal(&kept.cfa, &fresh.cfa, sizeof kept.cfa);
        assert_int_equal(kept.cfa_add, fresh.cfa_add);
        assert_memory_equal(kept.r, fresh.r, sizeof kept.r);
    }
}

static void a_rule_does_not_depend_on_what_was_asked_before(void **state)
{
    struct sw_analysis_cache *cache;
    struct sw_cfi_cover cover;
    (void)state;
    chance = 1;
    assert_int_equal(sw_analysis_cache_create(NULL, LARGE, &cache), SW_OK);
    for (unsigned long n = 0; n < FUNCTIONS; n++) {
        assert_true(function_at(any_place(), &cover));
        check_function(cache, cover.begin, cover.end - cover.begin, n % 2 ? cover.end : 0);
    }
    sw_analysis_cache_destroy(cache);
}

static int prepare_all(void **state)
{
    (void)state;
    return !map_stack() || sw_images_create(NULL, &images) != SW_OK || sw_images_add_self(images) != SW_OK;
}

static int forget_images(void **state)
{
    (void)state;
    sw_images_destroy(images);
    return 0;
}

/* Another number of walks may be given. */
int main(int argc, char *argv[])
{
    struct CMUnitTest tests[COUNT_OF(rows) + 1] = { cmocka_unit_test(a_rule_does_not_depend_on_what_was_asked_before) };
    walks = argc > 1 ? strtoul(argv[1], NULL, 10) : WALKS;
    FILL_ROWS(tests + 1, rows, all_caches_give_the_same_frames);
    return cmocka_run_group_tests(tests, prepare_all, forget_images);
}
#else
MAIN_THAT_NEEDS_X64
#endif
