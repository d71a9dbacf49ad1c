/*
 * One engine, many callers: calls that begin inside callbacks of others, for the same thread and for another, with the
 * same working memory and with their own; what each call finds out is its own. Real threads: contract_race.c.
 * clr-contract.md section 1, row 5: the CLR locks the target, and nothing else.
 */
#include "simstack.h"

#include <snapwalk/profiler_info.h>

#define DOC    SW_FLAVOUR_DOCUMENTED
#define WIN    SW_FLAVOUR_CORECLR_WINDOWS
#define UNIX   SW_FLAVOUR_CORECLR_UNIX
#define UNSAFE ((uint32_t)CORPROF_E_STACKSNAPSHOT_UNSAFE)
#define ABORT  ((uint32_t)CORPROF_E_STACKSNAPSHOT_ABORTED)

static struct simstack stack;

/* "NDCBAMN" with TARGET at its leaf and OTHER, as if it had a stack alike, at C. TARGET calls. */
static void build_two(enum sw_flavour flavour)
{
    build_stack(&stack, "NDCBAMN");
    put_records(&stack, "D");
    stack.target.mode = SW_MODE_PREEMPTIVE;
    put_target(&stack);
    assert_int_equal(sw_sim_thread(stack.sim, OTHER, &stack.regs[2]), SW_OK);
    const struct sw_thread other = {
        .id = OTHER, .os_id = OTHER, .stack_begin = STACK_LOW, .stack_end = STACK_TOP, .mode = SW_MODE_COOPERATIVE
    };
    assert_int_equal(sw_threads_update(sw_sim_threads(stack.sim), &other), SW_OK);
    stack.engine->flavour = flavour;
}

/* What a nested walk reports, apart from what the outer one does. */
struct inner {
    ThreadID thread;
    struct sw_scratch *scratch; /* null: through the object `info` */
    ICorProfilerInfo2 *info;
    enum { ONCE, AT_EVERY_CALLBACK } when;
    char said[HEARD_MAX + 1];
    uint32_t hr;
    size_t asked;
    COR_PRF_FRAME_INFO outer_frame;
    uint64_t as;
};
static struct inner inner;

static HRESULT SW_COM_CALL hear_inner(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO info, ULONG32 context_size,
                                      BYTE context[], void *client_data)
{
    struct sw_frame_info read;
    const size_t length = strlen(inner.said);
    (void)ip, (void)context_size, (void)context, (void)client_data;
    assert_true(length < HEARD_MAX);
    inner.said[length] = function ? (char)function : '0';
    assert_int_equal(sw_frame_info_read(stack.engine, info, &read), S_OK);
    assert_int_equal(read.function, function);
    /* the outer callback is running still */
    assert_int_equal(sw_frame_info_read(stack.engine, inner.outer_frame, &read), S_OK);
    return S_OK;
}

static void walk_inside(struct simstack *outer)
{
    struct sw_frame_info read;
    const struct heard *heard = &outer->heard[outer->heard_count - 1];
    if (inner.when == ONCE && inner.asked != 0)
        return;
    inner.asked++;
    inner.outer_frame = heard->frame_info;
    if (inner.as)
        sw_sim_run_as(outer->sim, inner.as);
    const HRESULT hr = inner.info
                           ? inner.info->lpVtbl->DoStackSnapshot(inner.info, inner.thread, hear_inner, 0, NULL, NULL, 0)
                           : sw_snapshot(outer->engine, inner.scratch, inner.thread, hear_inner, 0, NULL, NULL, 0);
    inner.hr = (uint32_t)hr;
    if (inner.as)
        sw_sim_run_as(outer->sim, TARGET);
    assert_int_equal(sw_frame_info_read(outer->engine, heard->frame_info, &read), S_OK);
    assert_int_equal(read.ip, heard->ip);
}

/*
 * A walk of TARGET by itself, and in its first callback one of `thread` by `as`. accused: how often of nesting.
 */
static const struct nesting {
    const char *name;
    enum sw_flavour flavour;
    ThreadID thread;
    uint64_t as;
    bool shares_scratch;
    uint32_t hr;
    const char *said;
    size_t accused;
} nestings[] = {
    { "another_thread_is_walked_from_a_callback_documented", DOC, OTHER, TARGET, false, S_OK, "CBAM0", 0 },
    { "another_thread_is_walked_from_a_callback_windows", WIN, OTHER, TARGET, false, S_OK, "CBAM0", 0 },
    { "the_thread_itself_is_not_documented", DOC, 0, TARGET, false, UNSAFE, "", 1 },
    { "the_thread_itself_is_not_windows", WIN, 0, TARGET, false, UNSAFE, "", 1 },
    { "the_thread_itself_is_not_by_its_id_unix", UNIX, TARGET, TARGET, false, UNSAFE, "", 1 },
    { "a_walk_of_itself_is_stopped_with_the_target_documented", DOC, TARGET, OTHER, false, S_OK, "0DCBAM0", 0 },
    { "a_walk_of_itself_is_in_the_way_windows", WIN, TARGET, OTHER, false, UNSAFE, "", 0 },
    { "a_walk_of_itself_is_in_the_way_unix", UNIX, TARGET, OTHER, false, UNSAFE, "", 0 },
    { "with_the_scratch_of_the_outer_walk_another_thread_is_not", DOC, OTHER, TARGET, true, UNSAFE, "", 0 },
};

static void nested_walk_is_answered(void **state)
{
    static struct sw_scratch own;
    const struct nesting *row = *state;
    build_two(row->flavour);
    inner =
        (struct inner){ .thread = row->thread, .scratch = row->shares_scratch ? &stack.scratch : &own, .as = row->as };
    stack.in_callback = walk_inside;
    assert_int_equal(sw_snapshot(stack.engine, &stack.scratch, 0, hear, 1, &stack, NULL, 0), S_OK);
    assert_string_equal(stack.said, row->flavour == SW_FLAVOUR_DOCUMENTED ? "0DCBAM0" : "DCBAM0");
    assert_string_equal(inner.said, row->said);
    assert_int_equal(inner.hr, row->hr);
    assert_int_equal(count_conduct(&stack, SW_CONDUCT_NESTED_WALK), row->accused);
    assert_int_equal(stack.conduct_count, row->accused);
    tear_down(&stack);
}

static void a_walk_in_every_callback_changes_nothing_of_the_outer_one(void **state)
{
    static struct sw_scratch own;
    static struct simstack alone;
    (void)state;
    build_two(SW_FLAVOUR_DOCUMENTED);
    assert_int_equal(sw_snapshot(stack.engine, &stack.scratch, 0, hear, 1, &stack, NULL, 0), S_OK);
    alone = stack;
    tear_down(&stack);
    build_two(SW_FLAVOUR_DOCUMENTED);
    inner = (struct inner){ .thread = OTHER, .scratch = &own, .when = AT_EVERY_CALLBACK };
    stack.in_callback = walk_inside;
    assert_int_equal(sw_snapshot(stack.engine, &stack.scratch, 0, hear, 1, &stack, NULL, 0), S_OK);
    assert_int_equal(inner.asked, 7);
    assert_int_equal(strlen(inner.said), 7 * 5);
    assert_string_equal(stack.said, alone.said);
    for (size_t i = 0; i < stack.heard_count; i++) {
        assert_int_equal(stack.heard[i].ip, alone.heard[i].ip);
        assert_memory_equal(&stack.heard[i].regs, &alone.heard[i].regs, sizeof alone.heard[i].regs);
    }
    tear_down(&stack);
}

/* Where nobody knows which thread calls, nobody is accused; the target is locked all the same. */
static uint64_t nobody(void *arg)
{
    (void)arg;
    return 0;
}

static void a_caller_that_is_not_known_is_not_accused(void **state)
{
    static struct sw_scratch own;
    (void)state;
    build_two(SW_FLAVOUR_DOCUMENTED);
    stack.suspender = *stack.engine->suspender;
    stack.suspender.current = nobody;
    stack.engine->suspender = &stack.suspender;
    inner = (struct inner){ .thread = OTHER, .scratch = &own };
    stack.in_callback = walk_inside;
    assert_int_equal(sw_snapshot(stack.engine, &stack.scratch, OTHER, hear, 0, &stack, NULL, 0), S_OK);
    assert_int_equal(inner.hr, UNSAFE);
    assert_int_equal(stack.conduct_count, 0);
    tear_down(&stack);
}

/* ---- what a call found out ---- */

static struct told {
    struct sw_answer answer;
    struct sw_refusal refusal;
    enum sw_status update; /* what an update of the target said then: BUSY while a walk holds it */
} told[4];
static size_t told_count;

static void note_answer(void *arg, const struct sw_answer *answer)
{
    struct simstack *walked = arg;
    assert_true(told_count < 4);
    struct told *to = &told[told_count++];
    to->answer = *answer;
    to->update = sw_threads_update(sw_sim_threads(walked->sim), &walked->target);
    if (answer->refusal)
        to->refusal = *answer->refusal;
}

static void listen(void)
{
    told_count = 0;
    stack.engine->on_answer = note_answer;
    stack.engine->answer_arg = &stack;
}

static void every_call_is_told_what_it_answered(void **state)
{
    (void)state;
    build_two(SW_FLAVOUR_DOCUMENTED);
    listen();
    assert_int_equal(sw_snapshot(stack.engine, &stack.scratch, 0, hear, 0, &stack, NULL, 0), S_OK);
    stack.answer = S_FALSE;
    stack.answer_at = 8;
    assert_int_equal((uint32_t)sw_snapshot(stack.engine, &stack.scratch, OTHER, hear, 0, &stack, NULL, 0), ABORT);
    assert_int_equal((uint32_t)sw_snapshot(stack.engine, &stack.scratch, 77, hear, 0, &stack, NULL, 0),
                     (uint32_t)CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD);
    assert_int_equal(told_count, 3);
    assert_int_equal(told[0].answer.thread, TARGET);
    assert_int_equal(told[0].answer.hr, S_OK);
    assert_int_equal(told[0].answer.stop, SW_STOP_ROOT_ZERO);
    assert_int_equal(told[0].answer.callbacks, 7);
    assert_null(told[0].answer.refusal);
    assert_int_equal(told[0].update, SW_OK);
    assert_int_equal(told[1].answer.thread, OTHER);
    assert_int_equal((uint32_t)told[1].refusal.hr, ABORT);
    assert_int_equal(told[1].answer.stop, SW_STOP_ABORTED);
    assert_int_equal(told[1].answer.callbacks, 1);
    assert_string_equal(told[1].refusal.reason, "aborted");
    assert_int_equal(told[2].answer.stop, SW_STOP_NONE);
    assert_string_equal(told[2].refusal.reason, "target_is_not_in_the_table");
    assert_int_equal(told[2].refusal.stop, SW_STOP_NONE);
    tear_down(&stack);
}

/* The outer call ends well although the inner one was refused, and what it says is its own. */
static void a_nested_answer_is_not_the_outer_call_s(void **state)
{
    static struct sw_scratch own;
    (void)state;
    build_two(SW_FLAVOUR_CORECLR_WINDOWS);
    listen();
    inner = (struct inner){ .thread = 0, .scratch = &own };
    stack.in_callback = walk_inside;
    assert_int_equal(sw_snapshot(stack.engine, &stack.scratch, 0, hear, 0, &stack, NULL, 0), S_OK);
    assert_int_equal(told_count, 2);
    assert_int_equal((uint32_t)told[0].answer.hr, UNSAFE);
    assert_string_equal(told[0].refusal.reason, "target_is_being_walked");
    assert_int_equal(told[0].answer.callbacks, 0);
    assert_int_equal(told[0].update, SW_E_BUSY);
    assert_int_equal(told[1].answer.hr, S_OK);
    assert_null(told[1].answer.refusal);
    assert_int_equal(stack.engine->stop, SW_STOP_ROOT_ZERO);
    tear_down(&stack);
}

static void an_engine_serves_so_many_calls_at_a_time(void **state)
{
    uint64_t state_before[SW_ENGINE_STATE];
    (void)state;
    build_two(SW_FLAVOUR_DOCUMENTED);
    /* every one of them is somebody else's, in scratches elsewhere */
    for (unsigned i = SW_ENGINE_STATE - SW_ENGINE_CALLS; i < SW_ENGINE_STATE; i++)
        stack.engine->state[i] = 1;
    memcpy(state_before, stack.engine->state, sizeof state_before);
    assert_int_equal((uint32_t)sw_snapshot(stack.engine, &stack.scratch, 0, hear, 0, &stack, NULL, 0), UNSAFE);
    assert_string_equal(stack.engine->refusal.reason, "too_many_calls_go_on");
    assert_memory_equal(stack.engine->state, state_before, sizeof state_before);
    stack.engine->state[SW_ENGINE_STATE - 1] = 0;
    assert_int_equal(sw_snapshot(stack.engine, &stack.scratch, 0, hear, 0, &stack, NULL, 0), S_OK);
    assert_int_equal(stack.engine->state[SW_ENGINE_STATE - 1], 0);
    tear_down(&stack);
}

/* ---- the object ---- */

static ICorProfilerInfo2 *make_object(struct sw_scratch *scratch)
{
    ICorProfilerInfo2 *info = NULL;
    assert_int_equal(sw_profiler_info_create(stack.engine, scratch, NULL, &info), SW_OK);
    return info;
}

static HRESULT ask_object(ICorProfilerInfo2 *info, ThreadID thread)
{
    return info->lpVtbl->DoStackSnapshot(info, thread, hear, 1, &stack, NULL, 0);
}

static void the_object_has_working_memory_for_nested_walks(void **state)
{
    (void)state;
    build_two(SW_FLAVOUR_CORECLR_WINDOWS);
    inner = (struct inner){ .thread = OTHER, .info = make_object(NULL), .when = AT_EVERY_CALLBACK };
    stack.in_callback = walk_inside;
    assert_int_equal(ask_object(inner.info, 0), S_OK);
    assert_string_equal(stack.said, "DCBAM0");
    assert_int_equal(inner.hr, S_OK);
    assert_int_equal(strlen(inner.said), 6 * 5);
    assert_int_equal(stack.conduct_count, 0);
    sw_profiler_info_destroy(inner.info);
    tear_down(&stack);
}

static void with_a_scratch_of_the_user_the_object_serves_one_call(void **state)
{
    (void)state;
    build_two(SW_FLAVOUR_CORECLR_WINDOWS);
    inner = (struct inner){ .thread = OTHER, .info = make_object(&stack.scratch) };
    stack.in_callback = walk_inside;
    assert_int_equal(ask_object(inner.info, 0), S_OK);
    assert_int_equal(inner.hr, UNSAFE);
    assert_string_equal(inner.said, "");
    assert_string_equal(stack.said, "DCBAM0");
    stack.in_callback = NULL;
    assert_int_equal(ask_object(inner.info, OTHER), S_OK); /* and the next one again */
    sw_profiler_info_destroy(inner.info);
    tear_down(&stack);
}

/* Each walk's callback walks another thread, which is one deeper each time, until the memory is used up. */
enum { DEPTH_THREADS = 16 };
static size_t deepest;
static uint32_t at_the_end;

static void go_deeper(struct simstack *outer)
{
    ICorProfilerInfo2 *info = inner.info;
    const size_t depth = ++deepest;
    if (depth < DEPTH_THREADS && at_the_end == S_OK) {
        const HRESULT hr = ask_object(info, 100 + depth);
        if (hr != S_OK && at_the_end == S_OK)
            at_the_end = (uint32_t)hr;
    }
    outer->in_callback = NULL; /* the first callback of each only */
}

static void the_object_serves_as_many_calls_as_it_says(void **state)
{
    (void)state;
    build_two(SW_FLAVOUR_DOCUMENTED);
    for (uint64_t id = 100; id < 100 + DEPTH_THREADS; id++)
        assert_int_equal(sw_sim_thread(stack.sim, id, &stack.regs[5]), SW_OK);
    inner = (struct inner){ .info = make_object(NULL) };
    deepest = 0;
    at_the_end = S_OK;
    stack.in_callback = go_deeper;
    assert_int_equal(ask_object(inner.info, 100), S_OK);
    assert_int_equal(deepest, SW_PROFILER_INFO_CALLS);
    assert_int_equal(at_the_end, UNSAFE);
    stack.in_callback = NULL;
    assert_int_equal(ask_object(inner.info, 100), S_OK); /* all of it was given back */
    sw_profiler_info_destroy(inner.info);
    tear_down(&stack);
}

static void the_current_thread_is_not_known_without_a_way_to_ask(void **state)
{
    static const struct sw_suspender empty;
    ThreadID id = 5;
    (void)state;
    build_two(SW_FLAVOUR_CORECLR_WINDOWS);
    ICorProfilerInfo2 *info = make_object(NULL);
    stack.engine->suspender = &empty;
    assert_int_equal((uint32_t)info->lpVtbl->GetCurrentThreadID(info, &id), (uint32_t)CORPROF_E_NOT_MANAGED_THREAD);
    assert_int_equal((uint32_t)ask_object(info, OTHER), UNSAFE);
    stack.engine->suspender = NULL;
    assert_int_equal((uint32_t)info->lpVtbl->GetCurrentThreadID(info, &id), (uint32_t)CORPROF_E_NOT_MANAGED_THREAD);
    assert_int_equal(id, 5);
    sw_profiler_info_destroy(info);
    tear_down(&stack);
}

/* ---- the order of letting go ---- */

static enum sw_status busy_when_resumed;
static const struct sw_suspender *simulated;

static enum sw_status note_hold_and_resume(void *arg, uint64_t os_id)
{
    (void)arg;
    busy_when_resumed = sw_threads_update(sw_sim_threads(stack.sim), &stack.target);
    return simulated->resume(simulated->arg, os_id);
}

/* A removal waits for the walk: if it went on before the thread runs again, its end would be resumed. */
static void the_target_is_resumed_before_its_hold_is_released(void **state)
{
    (void)state;
    build_two(SW_FLAVOUR_DOCUMENTED);
    simulated = stack.engine->suspender;
    stack.suspender = *simulated;
    stack.suspender.resume = note_hold_and_resume;
    stack.engine->suspender = &stack.suspender;
    sw_sim_run_as(stack.sim, OTHER);
    assert_int_equal(sw_snapshot(stack.engine, &stack.scratch, TARGET, hear, 0, &stack, NULL, 0), S_OK);
    assert_int_equal(sw_sim_get_counts(stack.sim, TARGET).resumed, 1);
    assert_int_equal(busy_when_resumed, SW_E_BUSY);
    assert_int_equal(sw_threads_update(sw_sim_threads(stack.sim), &stack.target), SW_OK);
    tear_down(&stack);
}

int main(void)
{
    const struct CMUnitTest singles[] = {
        cmocka_unit_test(a_walk_in_every_callback_changes_nothing_of_the_outer_one),
        cmocka_unit_test(a_caller_that_is_not_known_is_not_accused),
        cmocka_unit_test(every_call_is_told_what_it_answered),
        cmocka_unit_test(a_nested_answer_is_not_the_outer_call_s),
        cmocka_unit_test(an_engine_serves_so_many_calls_at_a_time),
        cmocka_unit_test(the_object_has_working_memory_for_nested_walks),
        cmocka_unit_test(with_a_scratch_of_the_user_the_object_serves_one_call),
        cmocka_unit_test(the_object_serves_as_many_calls_as_it_says),
        cmocka_unit_test(the_current_thread_is_not_known_without_a_way_to_ask),
        cmocka_unit_test(the_target_is_resumed_before_its_hold_is_released),
    };
    struct CMUnitTest tests[COUNT_OF(nestings) + COUNT_OF(singles)];
    FILL_ROWS(tests, nestings, nested_walk_is_answered);
    memcpy(tests + COUNT_OF(nestings), singles, sizeof singles);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
