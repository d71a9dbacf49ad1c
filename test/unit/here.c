/*
 * The stack of the caller in one call: it begins with the caller, has the names of its functions, ends at the root, and
 * gives back what it took.
 */
#include "rows.h"
#include "budget.h"

#include <snapwalk/here.h>

#include <string.h>

struct seen {
    unsigned frames, most;
    char first[64], names[512];
    uint64_t offset;
};

static bool note(void *arg, const struct sw_frame *frame, const char *name, uint64_t offset)
{
    struct seen *seen = arg;
    assert_true(frame->regs.known != 0);
    if (seen->frames++ == 0) {
        strncpy(seen->first, name, sizeof seen->first - 1);
        seen->offset = offset;
    }
    strncat(seen->names, name, sizeof seen->names - strlen(seen->names) - 1);
    strncat(seen->names, " ", sizeof seen->names - strlen(seen->names) - 1);
    return seen->frames < seen->most;
}

/* Visible, so that they have a name in each build. */
enum sw_status inner_of_two(struct seen *seen, const struct sw_alloc *alloc, enum sw_stop *stop);
__attribute__((noinline)) enum sw_status inner_of_two(struct seen *seen, const struct sw_alloc *alloc,
                                                      enum sw_stop *stop)
{
    const enum sw_status status = sw_here(alloc, note, seen, stop);
    seen->most = 0; /* no tail call */
    return status;
}

enum sw_status outer_of_two(struct seen *seen, const struct sw_alloc *alloc, enum sw_stop *stop);
__attribute__((noinline)) enum sw_status outer_of_two(struct seen *seen, const struct sw_alloc *alloc,
                                                      enum sw_stop *stop)
{
    const enum sw_status status = inner_of_two(seen, alloc, stop);
    seen->most = 0;
    return status;
}

static void it_goes_from_the_caller_to_the_root(void **state)
{
    struct seen seen = { .most = 1000 };
    enum sw_stop stop;
    (void)state;
    assert_int_equal(outer_of_two(&seen, NULL, &stop), SW_OK);
    assert_int_equal(stop, SW_STOP_ROOT);
    assert_string_equal(seen.first, "inner_of_two");
    assert_true(seen.offset > 0 && seen.offset < 1000);
    assert_ptr_equal(strstr(seen.names, "inner_of_two outer_of_two "), seen.names);
    assert_non_null(strstr(seen.names, " main "));
}

static void it_ends_when_it_is_told_to(void **state)
{
    struct seen seen = { .most = 2 };
    enum sw_stop stop;
    (void)state;
    assert_int_equal(outer_of_two(&seen, NULL, &stop), SW_OK);
    assert_int_equal(stop, SW_STOP_ABORTED);
    assert_int_equal(seen.frames, 2);
    seen = (struct seen){ .most = 1 };
    assert_int_equal(outer_of_two(&seen, NULL, NULL), SW_OK);
    assert_int_equal(seen.frames, 1);
}

static void all_memory_comes_back(void **state)
{
    struct budget budget = { .left = SIZE_MAX };
    const struct sw_alloc alloc = { budget_get, budget_put, &budget };
    struct seen seen = { .most = 1000 };
    (void)state;
    assert_int_equal(outer_of_two(&seen, &alloc, NULL), SW_OK);
    assert_true(seen.frames > 3);
    assert_int_equal(budget.blocks, 0);
}

/* With so many blocks of memory, one more each time. */
static void without_memory_it_says_so(void **state)
{
    enum { TOO_FEW = 2 };
    (void)state;
    for (size_t blocks = 0; blocks <= TOO_FEW; blocks++) {
        struct budget budget = { .left = blocks };
        const struct sw_alloc alloc = { budget_get, budget_put, &budget };
        struct seen seen = { .most = 1000 };
        assert_int_equal(outer_of_two(&seen, &alloc, NULL), SW_E_NO_MEMORY);
        assert_int_equal(seen.frames, 0);
        assert_int_equal(budget.blocks, 0);
    }
}

static void bad_arguments_are_said(void **state)
{
    const struct sw_alloc alloc = { budget_get, NULL, NULL };
    struct seen seen = { .most = 1000 };
    (void)state;
    assert_int_equal(sw_here(NULL, NULL, NULL, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_here(&alloc, note, &seen, NULL), SW_E_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_from_the_caller_to_the_root),
        cmocka_unit_test(it_ends_when_it_is_told_to),
        cmocka_unit_test(all_memory_comes_back),
        cmocka_unit_test(without_memory_it_says_so),
        cmocka_unit_test(bad_arguments_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
