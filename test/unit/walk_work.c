/*
 * What a walk may cost: code and stacks that were made to take long, walked with the default budget. Work is counted in
 * the walk's own units, not in time. A walk that is cut keeps its frames; the next one does not pay for the same again;
 * and once the work was done outside, it is not cut, and has the frames that it has without a limit.
 */
#include "rows.h"
#include "host.h"

#include <snapwalk/self.h>
#include <snapwalk/sim.h>

#include <stdlib.h>
#include <string.h>

enum {
    CODE = 0x1000000,
    CODE_BYTES = 600000,
    CALLERS = 0x400000,
    CALLER_BYTES = 16,
    MANY = 64,
    STACK = 0x700000,
    WORDS = 20000,
    CACHE = 4 << 20,
    MOST = 8,
    ROUNDS = 40,
    FEW_ROUNDS = 4,
    FEW = 300
};

/* Where everything takes ten times as long and more, under AddressSanitizer and qemu, there is less code to walk. */
#if defined(__aarch64__)
enum { LESS = 48 };
#else
enum { LESS = IS_ASAN ? 24 : 4 };
#endif

static uint8_t code[CODE_BYTES];
static uint64_t words[WORDS];
static struct sw_scratch scratch;

/* ---- the code ---- */

static size_t put(size_t at, const void *bytes, size_t size)
{
    memcpy(code + at, bytes, size);
    return at + size;
}

/* sub rsp, 8; then pieces over and over; then the end. */
static size_t repeat(const char *piece, size_t size, size_t times, const char *end, size_t end_size)
{
    size_t at = put(0, "\x48\x83\xec\x08", 4);
    for (size_t i = 0; i < times / LESS; i++)
        at = put(at, piece, size);
    return put(at, end, end_size);
}

#define RETURN  "\x48\x83\xc4\x08\xc3", 5
#define FOREVER "\xeb\xfe", 2

/* je to what follows; nop */
static size_t blocks_that_return(void)
{
    return repeat("\x74\x01\x90", 3, 50000, RETURN);
}

static size_t blocks_that_never_return(void)
{
    return repeat("\x74\x01\x90", 3, 50000, FOREVER);
}

static size_t one_long_line(void)
{
    return repeat("\x90", 1, 300000, RETURN);
}

static size_t one_long_line_without_end(void)
{
    return repeat("\x90", 1, 300000, FOREVER);
}

static size_t a_small_loop(void)
{
    return repeat("\x90", 1, 4 * LESS, FOREVER);
}

/* Each a block whose stack is deeper by a push than that of the one before: no two states are the same. */
static size_t pushes_and_branches(void)
{
    return repeat("\x50\x74\x01\x90", 4, 20000, FOREVER);
}

/* call to the next instruction: all are calls that may not return */
static size_t calls_in_a_row(void)
{
    return repeat("\xe8\x00\x00\x00\x00", 5, 20000, FOREVER);
}

/* Starts, one behind the other, of functions that never return. */
static size_t starts_in_a_row(void)
{
    return repeat("\x55\x48\x89\xe5\x53\x50\xeb\xfe\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc", 16, 4000, FOREVER);
}

/* ---- the stack ---- */

static void no_return_address(void)
{
    for (size_t i = 0; i < WORDS; i++)
        words[i] = i * 3;
}

/* Behind calls of many functions, in turns. */
static void return_addresses(void)
{
    for (size_t i = 0; i < WORDS; i++)
        words[i] = CALLERS + i % MANY * CALLER_BYTES + 5;
}

/* Argument count, arguments, environment; and zeros: in front of _start. */
static void arguments(void)
{
    memset(words, 0, sizeof words);
    words[0] = 1;
    words[1] = STACK + 4096;
}

/* ---- rows ---- */

/*
 * in       How far behind the code's start the pc is, where there is all of it.
 * piece    Of how many bytes the code's pieces are.
 * is_vast  So much code is read for each finding that to compare it, as it is in no image, is too much for a walk.
 */
static const struct row {
    const char *name;
    size_t (*put_code)(void);
    void (*put_stack)(void);
    uint64_t in, piece;
    bool is_vast;
} rows[] = {
    { "blocks_that_return", blocks_that_return, no_return_address, 100000, 3, true },
    { "blocks_that_return_below_callers", blocks_that_return, return_addresses, 100000, 3, true },
    { "blocks_that_never_return", blocks_that_never_return, no_return_address, 100000, 3, true },
    { "blocks_that_never_return_below_callers", blocks_that_never_return, return_addresses, 1000, 3, true },
    { "blocks_that_never_return_at_the_root", blocks_that_never_return, arguments, 1000, 3, false },
    { "one_long_line", one_long_line, no_return_address, 1000, 1, false },
    { "one_long_line_below_callers", one_long_line, return_addresses, 200000, 1, true },
    { "one_long_line_without_end", one_long_line_without_end, return_addresses, 200000, 1, true },
    { "a_small_loop", a_small_loop, no_return_address, 4 + 4 * LESS, 1, false },
    { "a_small_loop_below_callers", a_small_loop, return_addresses, 4 + 4 * LESS, 1, false },
    { "a_small_loop_at_the_root", a_small_loop, arguments, 4 + 4 * LESS, 1, false },
    { "pushes_and_branches", pushes_and_branches, return_addresses, 40000, 4, true },
    { "calls_in_a_row", calls_in_a_row, return_addresses, 50000, 5, true },
    { "starts_in_a_row", starts_in_a_row, no_return_address, 40009, 16, false },
    { "starts_in_a_row_below_callers", starts_in_a_row, return_addresses, 40009, 16, false },
};

/* ---- walks ---- */

struct seen {
    unsigned count;
    uint64_t pcs[MOST], sps[MOST], work;
    uint8_t trusts[MOST];
    enum sw_stop stop;
};

static struct seen walk_from(const struct sw_walker *like, uint32_t budget, const struct sw_regs *regs)
{
    struct sw_walker walker = *like;
    struct seen seen = { .count = 0 };
    static struct sw_walk by;
    walker.budget = budget;
    walker.max_frames = MOST;
    sw_walk_start(&by, &walker, &scratch, regs, true);
    while (sw_walk_next(&by)) {
        seen.pcs[seen.count] = sw_regs_pc(&by.frame.regs);
        seen.sps[seen.count] = sw_regs_sp(&by.frame.regs);
        seen.trusts[seen.count++] = by.frame.trust;
    }
    seen.stop = by.stop;
    seen.work = by.work;
    return seen;
}

static struct seen walk(const struct sw_walker *like, uint32_t budget, uint64_t pc)
{
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        sw_regs_set(&regs, n, UINT64_C(0xbad0000000) + n * 0x111);
    sw_regs_set(&regs, SW_X64_RIP, pc);
    sw_regs_set(&regs, SW_X64_RSP, STACK);
    return walk_from(like, budget, &regs);
}

/* Whether all frames of one walk are the first ones of another. */
static void assert_is_part(const struct seen *part, const struct seen *whole)
{
    assert_true(part->count <= whole->count);
    for (unsigned i = 0; i < part->count; i++) {
        assert_int_equal(part->pcs[i], whole->pcs[i]);
        assert_int_equal(part->sps[i], whole->sps[i]);
        assert_int_equal(part->trusts[i], whole->trusts[i]);
    }
    if (part->stop == SW_STOP_BUDGET)
        return;
    assert_int_equal(part->stop, whole->stop);
    assert_int_equal(part->count, whole->count);
}

/* Where the row's pc is: at the same place of a piece, if there are fewer. */
static uint64_t pc_of(const struct row *row)
{
    enum { FIRST = 4 };
    const uint64_t beyond = (row->in - FIRST) % row->piece, pieces = (row->in - FIRST) / row->piece;
    return CODE + FIRST + pieces / LESS * row->piece + beyond;
}

static struct sw_sim *make(const struct row *row)
{
    struct sw_sim *sim;
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_X64, &sim), SW_OK);
    const size_t size = row->put_code();
    row->put_stack();
    assert_int_equal(sw_sim_bytes(sim, CODE, code, size), SW_OK);
    assert_int_equal(sw_sim_words(sim, STACK, words, WORDS), SW_OK);
    uint8_t callers[MANY * CALLER_BYTES];
    memset(callers, 0xcc, sizeof callers);
    for (unsigned i = 0; i < MANY; i++) { /* call CODE + 16 i; ret */
        uint8_t caller[] = { 0xe8, 0, 0, 0, 0, 0xc3 };
        const uint32_t distance = (uint32_t)(CODE + 16 * i - (CALLERS + i * CALLER_BYTES + 5));
        memcpy(caller + 1, &distance, sizeof distance);
        memcpy(callers + i * CALLER_BYTES, caller, sizeof caller);
    }
    assert_int_equal(sw_sim_bytes(sim, CALLERS, callers, sizeof callers), SW_OK);
    return sim;
}

/* What the row's walk without a limit sees: made once, since it takes long. */
static struct seen whole_walk(const struct row *row, struct sw_sim *sim)
{
    static struct seen made[COUNT_OF(rows)];
    struct seen *whole = &made[row - rows];
    if (whole->count == 0)
        *whole = walk(sw_sim_walker(sim), SW_WALK_BUDGET_UNLIMITED, pc_of(row));
    return *whole;
}

/* Without a cache and with one: never more than the budget, and never another frame than without a limit. */
static void no_walk_costs_more_than_its_budget(void **state)
{
    static const uint32_t budgets[] = { SW_WALK_BUDGET_DEFAULT, 1, 2, 10, 100, 1000, 10000, 100000 };
    const struct row *row = *state;
    struct sw_sim *sim = make(row);
    struct sw_walker walker = *sw_sim_walker(sim);
    const struct seen whole = whole_walk(row, sim);
    print_message("# %s: %llu units, %s\n", row->name, (unsigned long long)whole.work, sw_stop_name(whole.stop));
    assert_int_not_equal(whole.stop, SW_STOP_BUDGET);
    assert_int_equal(sw_analysis_cache_create(NULL, CACHE, &walker.analysis_cache), SW_OK);
    for (unsigned cached = 0; cached < 2; cached++)
        for (size_t i = 0; i < COUNT_OF(budgets); i++) {
            struct sw_walker with = walker;
            const uint32_t most = budgets[i] ? budgets[i] : SW_WALK_BUDGET;
            with.analysis_cache = cached ? walker.analysis_cache : NULL;
            const struct seen seen = walk(&with, budgets[i], pc_of(row));
            assert_true(seen.work <= most);
            assert_is_part(&seen, &whole);
        }
    sw_analysis_cache_destroy(walker.analysis_cache);
    sw_sim_destroy(sim);
}

/* Walks that are cut again and again do not pay for analyses again. Searches of the stack are made each time. */
static void what_was_cut_is_not_paid_for_again(void **state)
{
    const struct row *row = *state;
    struct sw_sim *sim = make(row);
    struct sw_walker walker = *sw_sim_walker(sim);
    const struct seen whole = whole_walk(row, sim);
    assert_int_equal(sw_analysis_cache_create(NULL, CACHE, &walker.analysis_cache), SW_OK);
    struct seen seen = walk(&walker, SW_WALK_BUDGET_DEFAULT, pc_of(row));
    uint64_t all = seen.work, last = seen.work;
    for (unsigned i = 0; i < ROUNDS; i++) {
        seen = walk(&walker, SW_WALK_BUDGET_DEFAULT, pc_of(row));
        assert_is_part(&seen, &whole);
        last = seen.work;
        all += last;
    }
    print_message("# %s: first %u units in all, at last %u, %s\n", row->name, (unsigned)all, (unsigned)last,
                  sw_stop_name(seen.stop));
    assert_true(last <= SW_WALK_BUDGET / 4 * 3);
    sw_analysis_cache_destroy(walker.analysis_cache);
    sw_sim_destroy(sim);
}

/* Cut, finished outside, and then as without a limit. */
static void what_was_cut_can_be_finished_outside(void **state)
{
    const struct row *row = *state;
    struct sw_sim *sim = make(row);
    struct sw_walker walker = *sw_sim_walker(sim);
    const struct seen whole = whole_walk(row, sim);
    const unsigned most = row->is_vast ? FEW_ROUNDS : ROUNDS;
    unsigned rounds = 0;
    assert_int_equal(sw_analysis_cache_create(NULL, CACHE, &walker.analysis_cache), SW_OK);
    struct seen seen = walk(&walker, SW_WALK_BUDGET_DEFAULT, pc_of(row));
    for (; seen.stop == SW_STOP_BUDGET && rounds < most; rounds++) {
        (void)!sw_walk_prepare(&walker, &scratch, SW_WALK_BUDGET_UNLIMITED);
        seen = walk(&walker, SW_WALK_BUDGET_DEFAULT, pc_of(row));
    }
    print_message("# %s: prepared %u times, then %u units, %s\n", row->name, rounds, (unsigned)seen.work,
                  sw_stop_name(seen.stop));
    assert_true(row->is_vast || seen.stop != SW_STOP_BUDGET);
    assert_is_part(&seen, &whole);
    sw_analysis_cache_destroy(walker.analysis_cache);
    sw_sim_destroy(sim);
}

/* ---- this program's own code, without its tables ---- */

/* How many rounds it takes is the code's affair: one for each finding that the next one waits for. */
enum { ROUNDS_HERE = 1000 };
static struct seen seen_here[ROUNDS_HERE];
static unsigned rounds_here;

/* Called by its name and through a pointer, deep enough for many frames. */
static __attribute__((noinline)) int walk_here(struct sw_images *images, int depth);
static int (*volatile again)(struct sw_images *images, int depth) = walk_here;

static void walk_self(struct sw_images *images)
{
    struct sw_walker walker;
    struct sw_regs regs;
    assert_int_equal(sw_self_walker(&walker, NULL, images), SW_OK);
    walker.flags = SW_WALK_NO_TABLES;
    sw_self_capture(&regs);
    seen_here[0] = walk_from(&walker, SW_WALK_BUDGET_UNLIMITED, &regs);
    assert_int_equal(sw_analysis_cache_create(NULL, CACHE, &walker.analysis_cache), SW_OK);
    for (rounds_here = 1; rounds_here < ROUNDS_HERE; rounds_here++) {
        seen_here[rounds_here] = walk_from(&walker, FEW, &regs);
        if (seen_here[rounds_here].stop != SW_STOP_BUDGET)
            break;
        assert_int_equal(sw_walk_prepare(&walker, &scratch, SW_WALK_BUDGET_UNLIMITED), 0);
    }
    sw_analysis_cache_destroy(walker.analysis_cache);
}

static int walk_here(struct sw_images *images, int depth)
{
    volatile int mine = depth;
    if (depth == 0)
        walk_self(images);
    else
        mine += depth % 2 ? again(images, depth - 1) : walk_here(images, depth - 1);
    return mine;
}

static void a_programs_own_stack_is_whole_once_prepared(void **state)
{
    struct sw_images *images;
    (void)state;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    (void)walk_here(images, 3);
    sw_images_destroy(images);
    print_message("# %u units, %u rounds\n", (unsigned)seen_here[0].work, rounds_here);
    assert_in_range(rounds_here, 2, ROUNDS_HERE - 1);
    for (unsigned i = 1; i <= rounds_here; i++) {
        assert_is_part(&seen_here[i], &seen_here[0]);
        assert_true(i == 1 || seen_here[i].count >= seen_here[i - 1].count);
        assert_true(seen_here[i].work <= FEW);
    }
    assert_int_not_equal(seen_here[rounds_here].stop, SW_STOP_BUDGET);
    assert_int_equal(seen_here[rounds_here].count, MOST);
}

/* ---- ahead of time ---- */

enum { FUNCTIONS = 40, FUNCTION_BYTES = 64 };

/*
 * Functions that each call the next: call; add rsp, 8; ret behind many nops. Prepared in small pieces, a walk finds all
 * of it done.
 */
static void code_can_be_prepared_before_it_is_walked(void **state)
{
    struct sw_sim *sim;
    struct sw_walker walker;
    (void)state;
    memset(code, 0x90, FUNCTIONS * FUNCTION_BYTES);
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        const uint32_t distance = FUNCTION_BYTES - 9;
        put(i * FUNCTION_BYTES, "\x48\x83\xec\x08\xe8", 5);
        put(i * FUNCTION_BYTES + 5, &distance, 4);
        put(i * FUNCTION_BYTES + FUNCTION_BYTES - 5, "\x48\x83\xc4\x08\xc3", 5);
    }
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = CODE + (FUNCTIONS - 2 - i / 2 % (FUNCTIONS - 2)) * FUNCTION_BYTES + 9;
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_X64, &sim), SW_OK);
    assert_int_equal(sw_sim_bytes(sim, CODE, code, FUNCTIONS * FUNCTION_BYTES), SW_OK);
    assert_int_equal(sw_sim_words(sim, STACK, words, WORDS), SW_OK);
    walker = *sw_sim_walker(sim);
    const uint64_t end = CODE + FUNCTIONS * FUNCTION_BYTES, pc = CODE + (FUNCTIONS - 1) * FUNCTION_BYTES + 4;
    assert_int_equal(sw_walk_prepare_range(&walker, &scratch, CODE, end, 0), CODE); /* nothing to keep it in */
    const struct seen cold = walk(&walker, SW_WALK_BUDGET_UNLIMITED, pc);
    assert_int_equal(cold.count, MOST);
    assert_int_equal(sw_analysis_cache_create(NULL, CACHE, &walker.analysis_cache), SW_OK);
    assert_int_equal(sw_walk_prepare_range(&walker, &scratch, end, CODE, 0), end);
    unsigned pieces = 0;
    for (uint64_t at = CODE; at < end; pieces++) {
        const uint64_t next = sw_walk_prepare_range(&walker, &scratch, at, end, 1000);
        assert_true(next > at && next <= end);
        at = next;
    }
    assert_true(pieces > 1);
    const struct seen warm = walk(&walker, SW_WALK_BUDGET_UNLIMITED, pc);
    assert_is_part(&warm, &cold);
    assert_int_equal(warm.count, MOST);
    print_message("# cold %u units, prepared %u\n", (unsigned)cold.work, (unsigned)warm.work);
    assert_true(warm.work * 4 < cold.work);
    sw_analysis_cache_destroy(walker.analysis_cache);
    sw_sim_destroy(sim);
}

int main(void)
{
    static const CMUnitTestFunction runs[] = { no_walk_costs_more_than_its_budget, what_was_cut_is_not_paid_for_again,
                                               what_was_cut_can_be_finished_outside };
    struct CMUnitTest tests[COUNT_OF(runs) * COUNT_OF(rows) + 2] = {
        [COUNT_OF(runs) * COUNT_OF(rows)] = cmocka_unit_test(a_programs_own_stack_is_whole_once_prepared),
        cmocka_unit_test(code_can_be_prepared_before_it_is_walked),
    };
    for (size_t i = 0; i < COUNT_OF(runs); i++)
        FILL_ROWS((tests + i * COUNT_OF(rows)), rows, runs[i]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
