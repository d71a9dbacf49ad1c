/*
 * Beginning to follow a runtime of this process: an object with the interfaces but without a runtime behind it.
 */
#include "rows.h"
#include "budget.h"

#include <snapwalk/clr.h>
#include <snapwalk/profiler_info.h>
#include <snapwalk/sim.h>

static ICorProfilerInfo2 *info;
static struct sw_sim *sim;

static int set_up(void **state)
{
    (void)state;
    return sw_sim_create(NULL, SW_MACHINE_X64, &sim) || sw_profiler_info_create(sw_sim_engine(sim), NULL, NULL, &info);
}

static int tear_down(void **state)
{
    (void)state;
    sw_profiler_info_destroy(info);
    sw_sim_destroy(sim);
    return 0;
}

static void a_runtime_without_a_descriptor(void **state)
{
    struct budget budget = { .left = SIZE_MAX };
    const struct sw_alloc alloc = { budget_get, budget_put, &budget };
    struct sw_clr *clr = NULL;
    struct sw_clr_counts counts;
    (void)state;
    assert_int_equal(sw_clr_create(&alloc, (IUnknown *)(void *)info, &clr), SW_OK);
    sw_clr_get_counts(clr, &counts);
    assert_int_equal(counts.layout, SW_E_NOT_FOUND);
    sw_clr_destroy(clr);
    assert_int_equal(budget.blocks, 0);
}

static void bad_arguments_come_first(void **state)
{
    struct sw_clr *clr = NULL;
    (void)state;
    assert_int_equal(sw_clr_create(NULL, NULL, &clr), SW_E_ARGUMENT);
    assert_int_equal(sw_clr_create(NULL, (IUnknown *)(void *)info, NULL), SW_E_ARGUMENT);
    assert_null(clr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_runtime_without_a_descriptor),
        cmocka_unit_test(bad_arguments_come_first),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
