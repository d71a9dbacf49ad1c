/*
 * One ICorProfilerInfo object, several profiler threads: real threads, each a simulated thread of its own, walk their
 * own targets, each other's, and one that all want. For -fsanitize=thread as well. clr-contract.md section 1, row 5.
 */
#include "simstack.h"

#include <snapwalk/profiler_info.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { WALKERS = 4, ROUNDS = 400, SHARED = 50 };

static struct simstack stack;
static ICorProfilerInfo2 *info;
static __thread uint64_t i_am;
static atomic_size_t accusations;

static uint64_t who_calls(void *arg)
{
    (void)arg;
    return i_am;
}

static void count_accusation(void *arg, enum sw_conduct rule, ThreadID thread)
{
    (void)arg, (void)rule, (void)thread;
    atomic_fetch_add(&accusations, 1);
}

/* "NDCBAMN", on which 1 to WALKERS and SHARED stand at different frames. */
static void build_all(void)
{
    build_stack(&stack, "NDCBAMN");
    for (uint64_t id = 2; id <= WALKERS; id++)
        assert_int_equal(sw_sim_thread(stack.sim, id, &stack.regs[id]), SW_OK);
    assert_int_equal(sw_sim_thread(stack.sim, SHARED, &stack.regs[1]), SW_OK);
    sw_sim_ask_caller(stack.sim, who_calls, NULL);
    stack.engine->on_conduct = count_accusation;
    atomic_store(&accusations, 0);
    assert_int_equal(sw_profiler_info_create(stack.engine, NULL, NULL, &info), SW_OK);
}

static void end_all(void)
{
    sw_profiler_info_destroy(info);
    tear_down(&stack);
}

struct walker {
    pthread_t thread;
    uint64_t id;
    const char *expected; /* of its own target */
    ThreadID target;      /* 0: itself */
    size_t whole, refused, wrong;
    char said[16];
};

static HRESULT SW_COM_CALL hear_alone(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame, ULONG32 context_size,
                                      BYTE context[], void *client_data)
{
    struct walker *walker = client_data;
    struct sw_frame_info read;
    const size_t length = strlen(walker->said);
    const bool is_read = sw_frame_info_read(stack.engine, frame, &read) == S_OK;
    (void)context;
    if (!is_read || read.ip != ip || read.function != function || context_size != SW_CONTEXT_X64_BYTES)
        walker->wrong++;
    if (length + 1 < sizeof walker->said)
        walker->said[length] = function ? (char)function : '0';
    return S_OK;
}

static void walk_once(struct walker *walker)
{
    memset(walker->said, 0, sizeof walker->said);
    const HRESULT hr = info->lpVtbl->DoStackSnapshot(info, walker->target, hear_alone, 1, walker, NULL, 0);
    if (hr == S_OK && strcmp(walker->said, walker->expected) == 0)
        walker->whole++;
    else if (hr == CORPROF_E_STACKSNAPSHOT_UNSAFE && walker->said[0] == 0)
        walker->refused++;
    else
        walker->wrong++;
}

static void *walk_many_times(void *arg)
{
    struct walker *walker = arg;
    i_am = walker->id;
    for (unsigned i = 0; i < ROUNDS; i++)
        walk_once(walker);
    return NULL;
}

static void run_all(struct walker walkers[WALKERS])
{
    for (unsigned i = 0; i < WALKERS; i++)
        assert_int_equal(pthread_create(&walkers[i].thread, NULL, walk_many_times, &walkers[i]), 0);
    for (unsigned i = 0; i < WALKERS; i++)
        assert_int_equal(pthread_join(walkers[i].thread, NULL), 0);
}

static void threads_that_walk_themselves_are_never_refused(void **state)
{
    struct walker walkers[WALKERS] = { { .id = 1, .expected = "0DCBAM0" },
                                       { .id = 2, .expected = "CBAM0" },
                                       { .id = 3, .expected = "BAM0" },
                                       { .id = 4, .expected = "AM0" } };
    (void)state;
    build_all();
    run_all(walkers);
    for (unsigned i = 0; i < WALKERS; i++) {
        assert_int_equal(walkers[i].wrong, 0);
        assert_int_equal(walkers[i].refused, 0);
        assert_int_equal(walkers[i].whole, ROUNDS);
    }
    assert_int_equal(atomic_load(&accusations), 0);
    end_all();
}

static void two_profiler_threads_with_two_targets_are_never_refused(void **state)
{
    struct walker walkers[WALKERS] = { { .id = 71, .target = 1, .expected = "0DCBAM0" },
                                       { .id = 72, .target = 2, .expected = "CBAM0" },
                                       { .id = 73, .target = 3, .expected = "BAM0" },
                                       { .id = 74, .target = 4, .expected = "AM0" } };
    (void)state;
    build_all();
    run_all(walkers);
    for (unsigned i = 0; i < WALKERS; i++) {
        assert_int_equal(walkers[i].wrong, 0);
        assert_int_equal(walkers[i].whole, ROUNDS);
        assert_int_equal(sw_sim_get_counts(stack.sim, walkers[i].target).suspended, ROUNDS);
        assert_int_equal(sw_sim_get_counts(stack.sim, walkers[i].target).outstanding, 0);
    }
    assert_int_equal(atomic_load(&accusations), 0);
    end_all();
}

static void of_walks_of_one_thread_one_at_a_time_is_served_and_nobody_accused(void **state)
{
    struct walker walkers[WALKERS];
    (void)state;
    build_all();
    for (unsigned i = 0; i < WALKERS; i++)
        walkers[i] = (struct walker){ .id = 71 + i, .target = SHARED, .expected = "DCBAM0" };
    run_all(walkers);
    size_t whole = 0;
    for (unsigned i = 0; i < WALKERS; i++) {
        assert_int_equal(walkers[i].wrong, 0);
        whole += walkers[i].whole;
    }
    assert_true(whole > 0);
    assert_int_equal(sw_sim_get_counts(stack.sim, SHARED).suspended, whole); /* who was refused stopped nobody */
    assert_int_equal(sw_sim_get_counts(stack.sim, SHARED).outstanding, 0);
    assert_int_equal(atomic_load(&accusations), 0);
    end_all();
}

/* ---- one thread inside a callback, and another that wants the same target ---- */

static struct walker second;

static void *ask_meanwhile(void *arg)
{
    (void)arg;
    i_am = second.id;
    walk_once(&second);
    return NULL;
}

static void let_another_ask(struct simstack *walking)
{
    if (walking->heard_count != 1)
        return;
    assert_int_equal(pthread_create(&second.thread, NULL, ask_meanwhile, NULL), 0);
    assert_int_equal(pthread_join(second.thread, NULL), 0);
}

static const struct meeting {
    const char *name;
    ThreadID target; /* of the second walk; the first is of SHARED */
    size_t whole, refused;
} meetings[] = {
    { "the_second_walk_of_a_thread_is_unsafe_and_breaks_no_rule", SHARED, 0, 1 },
    { "a_walk_of_another_thread_goes_on_at_the_same_time", 3, 1, 0 },
    { "so_does_the_second_thread_s_walk_of_itself", 0, 1, 0 },
};

static void second_walk_is_answered(void **state)
{
    const struct meeting *row = *state;
    build_all();
    i_am = 71;
    second = (struct walker){ .id = 3, .target = row->target, .expected = "BAM0" };
    stack.in_callback = let_another_ask;
    assert_int_equal(info->lpVtbl->DoStackSnapshot(info, SHARED, hear, 1, &stack, NULL, 0), S_OK);
    assert_string_equal(stack.said, "DCBAM0");
    assert_int_equal(second.whole, row->whole);
    assert_int_equal(second.refused, row->refused);
    assert_int_equal(second.wrong, 0);
    assert_int_equal(atomic_load(&accusations), 0);
    end_all();
}

int main(void)
{
    const struct CMUnitTest singles[] = {
        cmocka_unit_test(threads_that_walk_themselves_are_never_refused),
        cmocka_unit_test(two_profiler_threads_with_two_targets_are_never_refused),
        cmocka_unit_test(of_walks_of_one_thread_one_at_a_time_is_served_and_nobody_accused),
    };
    struct CMUnitTest tests[COUNT_OF(meetings) + COUNT_OF(singles)];
    FILL_ROWS(tests, meetings, second_walk_is_answered);
    memcpy(tests + COUNT_OF(meetings), singles, sizeof singles);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
