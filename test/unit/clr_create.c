/*
 * Beginning to follow a runtime of this process: an object with the interfaces but without a runtime behind it, on a
 * machine that the runtime's structures are known of (x64) and on one that they are not.
 */
#include "rows.h"
#include "budget.h"
#include "host.h"

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

static void only_x64_is_followed(void **state)
{
    struct budget budget = { .left = SIZE_MAX };
    const struct sw_alloc alloc = { budget_get, budget_put, &budget };
    struct sw_clr *clr = NULL;
    struct sw_clr_counts counts;
    (void)state;
    const enum sw_status status = sw_clr_create(&alloc, (IUnknown *)(void *)info, &clr);
    if (host_machine() == SW_MACHINE_X64) {
        assert_int_equal(status, SW_OK);
        sw_clr_get_counts(clr, &counts);
        assert_int_equal(counts.layout, SW_E_NOT_FOUND);
        sw_clr_destroy(clr);
    } else {
        assert_int_equal(status, SW_E_UNSUPPORTED);
        assert_null(clr);
        assert_true(budget.left == SIZE_MAX); /* it asked for nothing */
    }
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
        cmocka_unit_test(only_x64_is_followed),
        cmocka_unit_test(bad_arguments_come_first),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
