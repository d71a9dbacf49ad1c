/*
 * The memory of the store of analyses: a page that is written to first in a walk is a page fault there, while the
 * walked thread stands. sw_walk_prepare has written to it before. What is there is asked of the kernel.
 */
#include "rows.h"

#include "analysis_cache_sim.h"

#include <snapwalk/analysis_cache.h>

#include <sys/mman.h>

enum { PAGE = 4096, BYTES = 1 << 20, FUNCTIONS = 400, LEAST = 4 };

static void *block;

static void *get_mapped(void *arg, size_t size)
{
    (void)arg;
    block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

static void put_mapped(void *arg, void *memory, size_t size)
{
    (void)arg;
    munmap(memory, size);
}

static size_t pages_there(void)
{
    unsigned char pages[BYTES / PAGE];
    size_t count = 0;
    assert_int_equal(mincore(block, BYTES, pages), 0);
    for (size_t i = 0; i < COUNT_OF(pages); i++)
        count += pages[i] & 1;
    return count;
}

static void walks_write_to_pages_that_were_written_to_before(void **state)
{
    const struct sw_alloc mapped = { get_mapped, put_mapped, NULL };
    static struct sw_scratch scratch;
    struct sw_analysis_cache *kept;
    struct sw_sim *sim;
    (void)state;
    assert_int_equal(sw_analysis_cache_create(&mapped, BYTES, &kept), SW_OK);
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_X64, &sim), SW_OK);
    assert_true(put_surroundings(sim));
    struct sw_walker walker = *sw_sim_walker(sim);
    walker.analysis_cache = kept;
    const size_t first = pages_there();
    for (unsigned n = 0; n < FUNCTIONS; n++) {
        const size_t before = pages_there();
        assert_true(put_numbered(sim, n));
        (void)walk_from(sw_sim_walker(sim), kept, &scratch, begin_of(n) + IN_NUMBERED);
        assert_int_equal(pages_there(), before);
        assert_int_equal(sw_walk_prepare(&walker, &scratch, SW_WALK_BUDGET_UNLIMITED), 0);
    }
    assert_true(pages_there() > first + LEAST);
    assert_true(pages_there() < BYTES / PAGE);
    sw_analysis_cache_destroy(kept);
    sw_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(walks_write_to_pages_that_were_written_to_before) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
