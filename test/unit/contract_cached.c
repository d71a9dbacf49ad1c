/*
 * The contract with a rule cache, a replay memory and a window, as src/clr and profilers use it: every callback is what
 * it is without them, the first time, the second, and after the stack has changed.
 */
#include "simstack.h"

#define DOC     SW_FLAVOUR_DOCUMENTED
#define WIN     SW_FLAVOUR_CORECLR_WINDOWS
#define UNIX    SW_FLAVOUR_CORECLR_UNIX
#define COOP    SW_MODE_COOPERATIVE
#define PREEMPT SW_MODE_PREEMPTIVE
#define NAME(x) .name = x

/* clang-format off */
static const struct situation situations[] = {
    { NAME("managed_only"), .stack = "FEDCBAMN", .flavour = UNIX, .mode = COOP, .seed = 'F', .info_flags = 1 },
    { NAME("managed_only_documented"), .stack = "FEDCBAMN", .info_flags = 1 },
    { NAME("recursion_deep_enough_for_batches"), .stack = "DDDDDDDDDDDDDDDDDDDDDDDDDDDMN", .flavour = UNIX, .mode = COOP, .seed = 'D', .info_flags = 1 },
    { NAME("without_context"), .stack = "DDDDDDDDDDDDDDDDDDDDDDDDDDDMN", .flavour = UNIX, .mode = COOP, .seed = 'D' },
    { NAME("recursion_documented"), .stack = "NDDDDDDDDDDDDDDDDDDDDDDDDDDMN", .info_flags = 1 },
    { NAME("runs_between"), .stack = "NNDCNNBNNAMNN", .records = "DBA", .flavour = UNIX, .mode = PREEMPT, .info_flags = 1 },
    { NAME("runs_between_documented"), .stack = "NNDCNNBNNAMNN", .info_flags = 1 },
    { NAME("every_native_frame"), .stack = "NNDCNNBNNAMNN", .options = SW_ENGINE_EVERY_NATIVE_FRAME, .info_flags = 1 },
    { NAME("hidden_frames"), .stack = "DCiBAdNMN", .flavour = WIN, .mode = COOP, .seed = 'D', .info_flags = 1 },
    { NAME("exception_dispatch"), .stack = "DCeNBAMN", .flavour = UNIX, .mode = COOP, .seed = 'D', .info_flags = 1 },
    { NAME("dispatch_behind_a_stub"), .stack = "DCNieNBAMN", .flavour = UNIX, .mode = COOP, .seed = 'D', .info_flags = 1 },
    { NAME("precompiled"), .stack = "DghghAMN", .flavour = UNIX, .mode = COOP, .seed = 'D', .info_flags = 1 },
    { NAME("another_thread"), .stack = "NDCBAMN", .who = FROM_OTHER, .suspends = 1, .info_flags = 1 },
    { NAME("another_thread_windows"), .stack = "DCBAMN", .who = FROM_OTHER, .flavour = WIN, .mode = COOP, .suspends = 1, .info_flags = 1 },
    { NAME("cut"), .stack = "DCBxAMN", .records = "DA", .flavour = UNIX, .mode = COOP, .seed = 'D', .info_flags = 1 },
    { NAME("cut_in_managed_code"), .stack = "DCBzAMN", .flavour = UNIX, .mode = COOP, .seed = 'D', .info_flags = 1, .hr = E_FAIL },
    { NAME("frame_limit"), .stack = "FEDCBAMN", .flavour = UNIX, .mode = COOP, .seed = 'F', .max_frames = 5, .info_flags = 1, .hr = E_FAIL },
    { NAME("both_ends"), .stack = "FEDCBAMN", .flavour = UNIX, .mode = COOP, .seed = 'F', .max_frames = 4, .options = SW_ENGINE_BOTH_ENDS, .info_flags = 1 },
    { NAME("aborted_in_a_batch"), .stack = "DDDDDDDDDDDDDDDDDDDDDDDDDDDMN", .flavour = UNIX, .mode = COOP, .seed = 'D', .answer = S_FALSE, .answer_at = 13, .info_flags = 1, .hr = CORPROF_E_STACKSNAPSHOT_ABORTED },
    { NAME("bad_seed"), .stack = "NDCMN", .flavour = UNIX, .mode = COOP, .seed = 'N', .hr = CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX },
    { NAME("managed_root_that_returns_to_0"), .stack = "DCBAM", .flavour = UNIX, .mode = COOP, .seed = 'D', .info_flags = 1 },
};
/* clang-format on */

static struct simstack plain, cached;
static uint8_t bytes[STACK_TOP - STACK_LOW];

/* The window: what can be read of the stack; the rest is 0. */
static void open_window(struct simstack *stack)
{
    const struct sw_memory memory = sw_sim_memory(stack->sim);
    memset(bytes, 0, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i += 8)
        (void)memory.read(memory.arg, STACK_LOW + i, bytes + i, 8);
    sw_sim_walker(stack->sim)->memory.window = (struct sw_window){ STACK_LOW, STACK_TOP, bytes };
}

static void forget(struct simstack *stack)
{
    memset(stack->said, 0, sizeof stack->said);
    stack->heard_count = 0;
    stack->conduct_count = 0;
}

static void assert_same(uint32_t hr, const struct situation *row)
{
    assert_int_equal(hr, (uint32_t)row->hr);
    assert_string_equal(cached.said, plain.said);
    assert_int_equal(cached.engine->stop, plain.engine->stop);
    for (size_t i = 0; i < plain.heard_count; i++) {
        const struct heard *a = &plain.heard[i], *b = &cached.heard[i];
        assert_int_equal(b->ip, a->ip);
        assert_int_equal(b->context_size, a->context_size);
        assert_memory_equal(&b->regs, &a->regs, sizeof a->regs);
        assert_int_equal(b->info_hr, S_OK);
        assert_int_equal(b->info.function, a->info.function);
        assert_int_equal(b->info.ip, a->info.ip);
        assert_int_equal(b->info.known, a->info.known);
        assert_int_equal(b->info.source, a->info.source);
        assert_int_equal(b->info.exact, a->info.exact);
        assert_int_equal(b->info.flags, a->info.flags);
        assert_int_equal(b->info.hidden, a->info.hidden);
        assert_int_equal(b->outstanding, a->outstanding);
    }
}

/* The thread stands at that frame, and so does the seed, which must be managed. */
static bool stand_at(struct simstack *stack, const struct situation *row, size_t frame)
{
    if (row->seed != 0 && letter_kind(stack->letters[frame]) == SW_KIND_NATIVE)
        return false;
    assert_int_equal(sw_sim_thread(stack->sim, TARGET, &stack->regs[frame]), SW_OK);
    if (row->seed == 0)
        return true;
    memset(stack->context, 0, sizeof stack->context);
    return sw_context_store(SW_CONTEXT_WIN32, &stack->regs[frame], stack->context, SW_CONTEXT_X64_BYTES) == SW_OK;
}

static void callbacks_are_the_same(void **state)
{
    static const size_t leaves[] = { 0, 0, 1, 2, 0, 0 };
    const struct situation *row = *state;
    struct sw_cache *cache;
    struct sw_replay *replay;
    assert_int_equal(sw_cache_create(NULL, 1024, &cache), SW_OK);
    assert_int_equal(sw_replay_create(NULL, 64, &replay), SW_OK);
    arrange(&plain, row);
    arrange(&cached, row);
    open_window(&cached);
    sw_sim_walker(cached.sim)->cache = cache;
    sw_sim_walker(cached.sim)->replay = replay;
    for (size_t i = 0; i < COUNT_OF(leaves); i++) {
        forget(&plain);
        forget(&cached);
        if (row->hr == S_OK && (!stand_at(&plain, row, leaves[i]) || !stand_at(&cached, row, leaves[i])))
            continue;
        const uint32_t hr = (uint32_t)ask(&plain, row);
        assert_int_equal(hr, (uint32_t)row->hr);
        assert_same((uint32_t)ask(&cached, row), row);
    }
    if (row->hr != CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX &&
        row->answer_at == 0) /* those of aborted walks do not count */
        assert_true(sw_cache_get_counts(cache).hits > 0);
    tear_down(&plain);
    tear_down(&cached);
    sw_replay_destroy(replay);
    sw_cache_destroy(cache);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(situations)];
    FILL_ROWS(tests, situations, callbacks_are_the_same);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
