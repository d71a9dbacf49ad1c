/*
 * What a walk takes: less than 4 KiB of stack whatever its sources are, and nothing from the allocator. Measured on a
 * thread whose stack was painted before. With a store of analyses both ways: while it is filled, and out of it.
 */
#include "rows.h"

#include <snapwalk/image.h>
#include <snapwalk/self.h>

#include "budget.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK = 1 << 20, PAINT = 0xa5, BUDGET = 4096, NEAR = 1024 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INSTRUMENTED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define INSTRUMENTED 1
#endif
#endif
#ifndef INSTRUMENTED
#define INSTRUMENTED 0
#endif

static const struct row {
    const char *name;
    uint32_t flags;
    enum sw_source source; /* one that the walk must have used, so that it is what was measured */
    unsigned walks;        /* through a store, only the last is measured; 0: one, without */
    size_t entries;        /* of a rule cache; 0: without */
    bool addresses;        /* and once more for addresses only, with a replay memory */
} rows[] = {
    { "with_tables", 0, SW_SOURCE_CFI, 0, 0, false },
    { "by_analysis", SW_WALK_NO_TABLES, SW_SOURCE_FORWARD, 0, 0, false },
    { "addresses_by_analysis", SW_WALK_NO_TABLES, SW_SOURCE_FORWARD, 0, 0, true },
    { "by_analysis_into_a_store", SW_WALK_NO_TABLES, SW_SOURCE_FORWARD, 1, 0, false },
    { "by_analysis_out_of_a_store", SW_WALK_NO_TABLES, SW_SOURCE_FORWARD, 2, 0, false },
    { "into_a_cache", 0, SW_SOURCE_CFI, 1, 64, false },
    { "into_a_cache_of_one", 0, SW_SOURCE_CFI, 3, 1, false },
    { "out_of_a_cache", 0, SW_SOURCE_CFI, 2, 64, false },
    { "addresses_out_of_a_cache", 0, SW_SOURCE_CFI, 2, 64, true },
};

static struct sw_images *images;
static struct sw_scratch scratch;
static struct sw_replay *replay;
static uint64_t pcs[64];

struct measured {
    const struct row *row;
    uint8_t *stack;
    const uint8_t *inside; /* an address in the measured function's frame */
    unsigned frames, by_source;
    struct sw_analysis_cache *analysis_cache;
    struct sw_cache *cache;
};

static bool count(void *arg, const struct sw_frame *frame)
{
    struct measured *m = arg;
    m->frames++;
    m->by_source += frame->source == (uint8_t)m->row->source;
    return true;
}

static bool ignore(void *arg, const struct sw_frame *frame)
{
    (void)arg, (void)frame;
    return true;
}

static void *walk_once(void *arg)
{
    struct measured *m = arg;
    uint8_t here;
    struct sw_walker walker;
    struct sw_regs regs;
    if (sw_self_walker(&walker, NULL, images) != SW_OK)
        return NULL;
    walker.flags = m->row->flags;
    walker.analysis_cache = m->analysis_cache;
    walker.cache = m->cache;
    sw_self_capture(&regs);
    for (unsigned i = 1; i < m->row->walks; i++)
        (void)!sw_walk_all(&walker, &scratch, &regs, ignore, NULL);
    m->inside = &here;
    /* Set-up asked libc, which used more: painted again up to where this function's own frame may be. */
    for (volatile uint8_t *at = m->stack; at < (uint8_t *)__builtin_frame_address(0) - NEAR; at++)
        *at = PAINT;
    (void)!sw_walk_all(&walker, &scratch, &regs, count, m);
    walker.replay = replay;
    for (unsigned i = 0; i < 3 && m->row->addresses; i++)
        (void)!sw_walk_addresses(&walker, &scratch, &regs, false, pcs, sizeof pcs / sizeof *pcs, NULL);
    return NULL;
}

static uint8_t *painted_stack(void)
{
    uint8_t *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(stack != MAP_FAILED);
    memset(stack, PAINT, STACK);
    return stack;
}

/* The store has one block from the start, and never another. */
static void check_store(const struct measured *m, const struct budget *budget)
{
    const struct sw_analysis_cache_counts counts = sw_analysis_cache_get_counts(m->analysis_cache);
    assert_int_equal(budget->left, 1);
    assert_int_equal(budget->blocks, m->analysis_cache || m->cache ? 1 : 0);
    if (m->analysis_cache)
        assert_true(counts.misses > 0);
    if (m->analysis_cache && m->row->walks > 1)
        assert_true(counts.hits > 0);
    if (m->row->entries > 1 && m->row->walks > 1)
        assert_true(sw_cache_get_counts(m->cache).hits > 0);
}

static void walk_fits_its_stack_budget(void **state)
{
    struct budget budget = { .left = 2 };
    const struct sw_alloc alloc = { budget_get, budget_put, &budget };
    uint8_t *stack = painted_stack();
    struct measured m = { .row = *state, .stack = stack };
    pthread_attr_t attributes;
    pthread_t thread;
    size_t untouched = 0;
    if (m.row->entries)
        assert_int_equal(sw_cache_create(&alloc, m.row->entries, &m.cache), SW_OK);
    else if (m.row->walks)
        assert_int_equal(sw_analysis_cache_create(&alloc, 1 << 20, &m.analysis_cache), SW_OK);
    else
        budget.left = 1;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, walk_once, &m), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    while (stack[untouched] == PAINT)
        untouched++;
    check_store(&m, &budget);
    sw_analysis_cache_destroy(m.analysis_cache);
    sw_cache_destroy(m.cache);
    assert_true(m.frames >= 2);
    assert_true(m.by_source >= 1);
    const size_t used = (size_t)(m.inside - (stack + untouched));
    print_message("# %s: %zu bytes of stack\n", m.row->name, used);
    if (!INSTRUMENTED)
        assert_in_range(used, 1, BUDGET);
    munmap(stack, STACK);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows)];
    if (sw_images_create(NULL, &images) || sw_images_add_self(images) || sw_replay_create(NULL, 64, &replay))
        return 1;
    FILL_ROWS(tests, rows, walk_fits_its_stack_budget);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sw_images_destroy(images);
    sw_replay_destroy(replay);
    return failed;
}
