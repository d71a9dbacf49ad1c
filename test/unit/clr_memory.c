/*
 * The memory that src/clr gives to walks: how much there is at first, that it grows with what is walked, that the
 * user's limit holds at every moment, and that nothing goes that a walk still uses.
 */
#include "rows.h"
#include "host.h"

#include "../support/runtime.h"

#if defined(__x86_64__)
#include "budget.h"
#include "clr/internal.h"
#include "code/images.h"
#include "fast/cache.h"
#include "unwind/analysis_cache.h"

#include <snapwalk/context.h>
#include <snapwalk/self.h>

#include <pthread.h>
#include <stdatomic.h>

enum { MIB = 1 << 20, FIRST_LEASES = 8, WORDS = 100 };
#define PC UINT64_C(0x100000)

static struct fake_runtime fake;
static struct sw_clr *clr;
static struct budget budget;
static size_t peak; /* of what the allocator has out */

static void *get_noted(void *arg, size_t size)
{
    void *block = budget_get(arg, size);
    peak = budget.bytes > peak ? budget.bytes : peak;
    return block;
}

static int begin(void **state)
{
    const struct sw_alloc alloc = { get_noted, budget_put, &budget };
    (void)state;
    fake_runtime_init(&fake);
    budget = (struct budget){ .left = SIZE_MAX };
    return sw_clr_create(&alloc, (IUnknown *)(void *)&fake, &clr) != SW_OK;
}

static int end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SW_CLR_LEASES; i++)
        clr->leases[i].inside = 0;
    sw_clr_destroy(clr);
    return budget.blocks != 0 || budget.bytes != 0;
}

static struct sw_clr_counts counts(void)
{
    struct sw_clr_counts now;
    sw_clr_get_counts(clr, &now);
    return now;
}

/* ---- filling the caches as walks do ---- */

static struct sw_changes changes(void)
{
    return (struct sw_changes){ sw_codemap_changes(clr->codemap), sw_images_changes(clr->images) };
}

static void store_rules(uint64_t first, uint64_t count)
{
    const struct sw_changes now = changes();
    const uint64_t found = sw_found_at(atomic_load(&now.images[SW_IMAGE_PIECES]), sw_codemap_generation(clr->codemap));
    for (uint64_t i = first; i < first + count; i++) {
        const struct sw_entry entry = {
            .key = PC + i, .step = SW_STEP_ENTRY | SW_STEP_UNRANGED, .id = i, .found = found
        };
        sw_cache_store(clr->cache, &now, PC + i, &entry);
    }
}

static uint64_t rules_found(uint64_t count)
{
    uint64_t found = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t n = sw_cache_number(clr->cache, PC + i, PC + i);
        found += n != 0 && sw_load(&clr->cache->cold[n].id) == i;
    }
    return found;
}

static uint64_t entries(void)
{
    return sw_cache_get_counts(clr->cache).entries;
}

static const struct sw_code no_code;

static void store_findings(uint64_t first, uint64_t count)
{
    for (uint64_t i = first; i < first + count; i++) {
        const struct sw_finding finding = { SW_FINDING_RULE, i, 0, 0 };
        uint64_t words[WORDS];
        for (unsigned k = 0; k < WORDS; k++)
            words[k] = i * WORDS + k;
        sw_analysis_cache_put(clr->analysis_cache, &no_code, &finding, 7, words, WORDS);
    }
}

static uint64_t findings_found(uint64_t count)
{
    uint64_t found = 0, words[WORDS];
    for (uint64_t i = 0; i < count; i++) {
        const struct sw_finding finding = { SW_FINDING_RULE, i, 0, 0 };
        found += sw_analysis_cache_try(clr->analysis_cache, &no_code, &finding, 7, words, WORDS) == WORDS &&
                 words[WORDS - 1] == i * WORDS + WORDS - 1;
    }
    return found;
}

static uint64_t analysis_bytes(void)
{
    return sw_analysis_cache_get_counts(clr->analysis_cache).bytes;
}

/* ---- at first ---- */

static void it_begins_small(void **state)
{
    (void)state;
    const struct sw_clr_counts now = counts();
    assert_true(now.cache_bytes > 0 && now.cache_bytes < MIB);
    assert_int_equal(now.cache_bytes, sw_cache_get_counts(clr->cache).bytes + analysis_bytes());
    assert_int_equal(now.leases, FIRST_LEASES);
    sw_clr_refresh(clr);
    assert_int_equal(counts().cache_bytes, now.cache_bytes); /* nothing was walked */
}

/* ---- growing ---- */

static void rules_that_fill_the_cache_make_it_grow(void **state)
{
    (void)state;
    const uint64_t room = entries(), some = room * 3 / 4 - 1;
    store_rules(0, some);
    sw_clr_refresh(clr);
    assert_int_equal(entries(), room);
    store_rules(some, 2);
    const struct sw_cache_counts before = sw_cache_get_counts(clr->cache);
    sw_clr_refresh(clr);
    assert_int_equal(entries(), 2 * room);
    assert_int_equal(rules_found(some + 2), some + 2);
    assert_int_equal(sw_cache_get_counts(clr->cache).stored, before.stored);
    sw_clr_refresh(clr);
    assert_int_equal(entries(), 2 * room);
    assert_null(clr->retired.cache);
}

static void findings_that_fill_the_cache_make_it_grow(void **state)
{
    const struct sw_pending pending = { { SW_FINDING_RULE, 77, 0, 0 }, 5, 6 };
    (void)state;
    const uint64_t bytes = analysis_bytes();
    uint64_t count = 0;
    sw_analysis_cache_pend(clr->analysis_cache, &pending);
    while (!sw_analysis_cache_is_full(clr->analysis_cache))
        store_findings(count++, 1);
    const uint64_t there = findings_found(count); /* two of one hash have one place */
    assert_true(there > count / 2);
    sw_clr_refresh(clr);
    assert_int_equal(analysis_bytes(), 2 * bytes);
    assert_int_equal(findings_found(count), there);
    assert_int_equal(sw_analysis_cache_cost(clr->analysis_cache, &pending.finding, 5), 6);
    assert_int_equal(sw_analysis_cache_get_counts(clr->analysis_cache).pending, 1);
    assert_int_equal(sw_analysis_cache_get_counts(clr->analysis_cache).cuts, 1);
}

/* What was found before a change of code or images is as outdated in the larger cache. */
static void what_does_not_hold_any_more_does_not_hold_after_that(void **state)
{
    const struct sw_range range = { PC, PC + 16, 1, 0, SW_KIND_JIT, 0, 0 };
    (void)state;
    const uint64_t room = entries();
    store_rules(0, room);
    assert_int_equal(sw_codemap_add(clr->codemap, &range), SW_OK);
    sw_clr_refresh(clr);
    assert_int_equal(entries(), 2 * room);
    const uint32_t n = sw_cache_number(clr->cache, PC, PC);
    const struct sw_changes now = changes();
    assert_int_not_equal(n, 0);
    assert_false(sw_entry_holds(sw_load(&clr->cache->hot[n].found), sw_load(&clr->cache->cold[n].step), PC, &now));
}

static const struct limit_row {
    const char *name;
    uint64_t limit, most;
} limit_rows[] = {
    { "without_a_limit_there_are_14_mebibytes", 0, 15 * MIB },
    { "under_four_mebibytes", 4 * MIB, 4 * MIB },
    { "under_ten_mebibytes", 10 * MIB, 10 * MIB },
    { "a_byte_is_no_growth", 1, MIB },
};

/* However much is walked, and while a cache's successor is made, too. */
static void the_limit_holds(void **state)
{
    const struct limit_row *row = *state;
    const uint64_t limit = row->limit ? row->limit : SW_CLR_MEMORY_DEFAULT;
    uint64_t findings = 0, rules = 0;
    sw_clr_set_memory_limit(clr, row->limit);
    const uint64_t others = budget.bytes - counts().cache_bytes;
    peak = 0;
    for (unsigned round = 0; round < 24; round++) {
        while (!sw_cache_is_full(clr->cache))
            store_rules(rules++, 1);
        while (!sw_analysis_cache_is_full(clr->analysis_cache))
            store_findings(findings++, 1);
        sw_clr_refresh(clr);
        assert_true(counts().cache_bytes <= row->most);
    }
    assert_true(limit == 1 ? peak == 0 || counts().cache_bytes < MIB : peak - others <= limit + 65536);
    assert_true(limit == 1 || counts().cache_bytes > limit / 3);
}

static void without_memory_they_stay_as_they_are(void **state)
{
    (void)state;
    const uint64_t room = entries();
    store_rules(0, room);
    budget.left = 0;
    sw_clr_refresh(clr);
    assert_int_equal(entries(), room);
    assert_int_equal(counts().failures, 0);
    budget.left = SIZE_MAX;
    sw_clr_refresh(clr);
    assert_int_equal(entries(), 2 * room);
}

/* ---- what a walk uses ---- */

static void a_cache_that_a_walk_uses_stays(void **state)
{
    (void)state;
    const uint64_t room = entries();
    struct sw_cache *const old = clr->cache;
    clr->leases[3].inside = 1;
    store_rules(0, room);
    sw_clr_refresh(clr);
    assert_int_equal(entries(), 2 * room);
    assert_ptr_equal(clr->retired.cache, old);
    store_rules(room, room);
    sw_clr_refresh(clr);
    assert_ptr_equal(clr->retired.cache, old); /* and so there is no third one */
    assert_int_equal(entries(), 2 * room);
    clr->leases[3].turns++; /* it was given back, and taken by another walk */
    sw_clr_refresh(clr);
    assert_int_equal(entries(), 4 * room);
    assert_ptr_not_equal(clr->retired.cache, old);
    clr->leases[3].inside = 0;
    sw_clr_refresh(clr);
    assert_null(clr->retired.cache);
}

static atomic_bool is_over;
static _Atomic unsigned long seeds;

static void *ask_for_seeds(void *arg)
{
    BYTE context[SW_CONTEXT_X64_BYTES];
    struct sw_regs here;
    (void)arg;
    while (!atomic_load(&is_over)) {
        sw_self_capture(&here);
        (void)!sw_clr_find_seed(clr, &here, context, sizeof context);
        atomic_fetch_add(&seeds, 1);
    }
    return NULL;
}

/* Under a sanitizer a walk in a cache that is gone is seen. */
static void walks_go_on_while_caches_grow(void **state)
{
    enum { THREADS = 3, LEAST = 200, ROUNDS = 12 };
    pthread_t threads[THREADS];
    uint64_t rules = 0;
    (void)state;
    atomic_store(&is_over, false);
    atomic_store(&seeds, 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_for_seeds, NULL), 0);
    /* A cache that is still used by a walk is replaced in a later round. */
    for (unsigned round = 0; round < ROUNDS || atomic_load(&seeds) < LEAST || counts().cache_bytes <= MIB; round++) {
        while (!sw_cache_is_full(clr->cache) && counts().cache_bytes < 4 * MIB)
            store_rules(rules++, 1);
        sw_clr_refresh(clr);
    }
    atomic_store(&is_over, true);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* ---- leases ---- */

static void there_are_more_leases_than_threads(void **state)
{
    (void)state;
    for (ThreadID id = 1; id <= 20; id++)
        sw_clr_thread_created(clr, 0x1000 * id);
    assert_int_equal(counts().leases, 28);
    for (ThreadID id = 21; id <= 100; id++)
        sw_clr_thread_created(clr, 0x1000 * id);
    assert_int_equal(counts().leases, SW_CLR_LEASES);
    for (unsigned i = 0; i < SW_CLR_LEASES; i++)
        assert_true(clr->leases[i].workspace && clr->leases[i].walker.replay);
    assert_int_equal(counts().failures, 0);
}

static void a_lease_without_memory_is_made_later(void **state)
{
    (void)state;
    sw_clr_thread_created(clr, 0x1000);
    sw_clr_thread_created(clr, 0x2000);
    assert_int_equal(counts().leases, FIRST_LEASES + 2);
    sw_clr_thread_created(clr, 0x3000);
    budget.left = 1; /* for a workspace, and not for its replay memory */
    sw_clr_thread_created(clr, 0x4000);
    budget.left = SIZE_MAX;
    assert_true(counts().leases < FIRST_LEASES + 4);
    sw_clr_refresh(clr);
    assert_int_equal(counts().leases, FIRST_LEASES + sw_threads_list(clr->threads, NULL, 0));
}

static void a_walk_allocates_nothing(void **state)
{
    BYTE context[SW_CONTEXT_X64_BYTES];
    struct sw_regs here;
    (void)state;
    budget.left = 0;
    const size_t before = budget.blocks;
    sw_self_capture(&here);
    for (unsigned i = 0; i < 100; i++)
        (void)!sw_clr_find_seed(clr, &here, context, sizeof context);
    budget.left = SIZE_MAX;
    assert_int_equal(budget.blocks, before);
}

#define FED(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    static const struct CMUnitTest single[] = {
        FED(it_begins_small),
        FED(rules_that_fill_the_cache_make_it_grow),
        FED(findings_that_fill_the_cache_make_it_grow),
        FED(what_does_not_hold_any_more_does_not_hold_after_that),
        FED(without_memory_they_stay_as_they_are),
        FED(a_cache_that_a_walk_uses_stays),
        FED(walks_go_on_while_caches_grow),
        FED(there_are_more_leases_than_threads),
        FED(a_lease_without_memory_is_made_later),
        FED(a_walk_allocates_nothing),
    };
    struct CMUnitTest tests[COUNT_OF(single) + COUNT_OF(limit_rows)];
    memcpy(tests, single, sizeof single);
    FILL_ROWS(tests + COUNT_OF(single), limit_rows, the_limit_holds);
    SET_UP(tests, COUNT_OF(single), COUNT_OF(tests), begin, end);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
MAIN_THAT_NEEDS_X64
#endif
