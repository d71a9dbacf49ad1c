/*
 * Flavour coreclr-windows, by the numbers of clr-windows-observed.md sections 3 and 4: the rows that are tested neither
 * in test/harness/contract.c nor, W62, in fold_inspector.c under their numbers. Simulated, so that they hold wherever
 * the library is built. Where the engine answers something else on purpose (snapshot.h, Deviations) the name says so.
 */
#include "simstack.h"

#define WIN      .flavour = SW_FLAVOUR_CORECLR_WINDOWS
#define COOP     .mode = SW_MODE_COOPERATIVE
#define PREEMPT  .mode = SW_MODE_PREEMPTIVE
#define BY_OTHER .who = FROM_STRANGER, .thread = TARGET, .suspends = 1 /* never managed, as a sampler is */
#define UNSAFE   CORPROF_E_STACKSNAPSHOT_UNSAFE
#define BAD_SEED CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX
#define NOBODY   CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD

/* In a platform invoke of D, which left a record. */
#define STACK .stack = "NDCMN", .records = "D"

/* clang-format off */
static const struct situation situations[] = {
    /* W28: behind a system call, cooperative */
    { "w28_in_a_system_call_without_a_seed", STACK, WIN, COOP, BY_OTHER, .with = SYSTEM_CALL, .hr = UNSAFE },
    { "w28_in_a_system_call_from_the_first_managed_frame", STACK, WIN, COOP, BY_OTHER, .with = SYSTEM_CALL, .seed = 'D', .hr = UNSAFE },
    { "w28_in_a_system_call_from_native_code", STACK, WIN, COOP, BY_OTHER, .with = SYSTEM_CALL, .seed = 'N', .hr = UNSAFE },
    { "w28_in_a_system_call_from_nowhere", STACK, WIN, COOP, BY_OTHER, .with = SYSTEM_CALL, .seed = '?', .hr = UNSAFE },
    { "w28_where_nobody_tells_of_it_the_code_is_unmanaged", STACK, WIN, COOP, BY_OTHER, .hr = BAD_SEED },
    { "w28_where_nobody_tells_of_it_a_seed_walks", STACK, WIN, COOP, BY_OTHER, .seed = 'D', .heard = "DCM0" },

    /* W37, W38: the CLR ends the process, or faults. W39: it reads what is there */
    { "w37_a_bogus_id_is_refused_on_purpose", STACK, WIN, PREEMPT, .thread = 3, .hr = NOBODY },
    { "w37_an_id_that_is_no_address_is_refused_on_purpose", STACK, WIN, PREEMPT, .thread = (ThreadID)1 << 63, .hr = NOBODY },
    { "w38_a_bogus_id_is_refused_on_purpose_from_a_native_thread", STACK, WIN, PREEMPT, .who = FROM_STRANGER, .thread = 3, .hr = NOBODY },
    { "w38_an_id_that_is_no_address_from_a_native_thread", STACK, WIN, PREEMPT, .who = FROM_STRANGER, .thread = (ThreadID)1 << 63, .hr = NOBODY },
    { "w39_an_id_that_was_never_given_is_refused_on_purpose", STACK, WIN, PREEMPT, .thread = 0x10000, .hr = NOBODY },
    { "w39_the_own_id_and_8_is_refused_on_purpose", STACK, WIN, PREEMPT, .thread = TARGET + 8, .hr = NOBODY },

    /* W47: a managed loop around collections, at the moments at which W46 does not find it parked */
    { "w47_in_the_runtimes_stopping_code_and_still_cooperative", STACK, WIN, COOP, BY_OTHER, .hr = BAD_SEED },
    { "w47_in_the_loop", .stack = "DCMN", WIN, COOP, BY_OTHER, .heard = "DCM0" },

    /* W49: while a collection stops the threads */
    { "w49_while_a_suspension_begins_a_loop_is_walked_as_without", .stack = "DCMN", WIN, COOP, BY_OTHER, .runtime = SW_RUNTIME_SUSPENDING, .heard = "DCM0" },
    { "w49_while_a_suspension_begins_a_wait_is_walked_as_without", STACK, WIN, PREEMPT, BY_OTHER, .runtime = SW_RUNTIME_SUSPENDING, .heard = "DCM0" },
    { "w49_while_a_suspension_begins_a_parked_thread_fails", STACK, WIN, PREEMPT, BY_OTHER, .runtime = SW_RUNTIME_SUSPENDING, .thread_flags = SW_THREAD_RESUMABLE_TOP, .hr = E_FAIL },

    /* W51: another thread, while an exception is dispatched: T throws */
    { "w51_in_native_dispatch_code", .stack = "NeNTCMN", .records = "T", WIN, COOP, BY_OTHER, .hr = BAD_SEED },
    { "w51_in_native_dispatch_code_from_the_first_managed_frame", .stack = "NeNTCMN", .records = "T", WIN, COOP, BY_OTHER, .seed = 'e', .heard = "TCM0" },
    { "w51_in_hidden_dispatch_code_the_thrower_is_first", .stack = "eNTCMN", .records = "T", WIN, COOP, BY_OTHER, .heard = "TCM0" },
    { "w51_in_a_system_call", .stack = "NeNTCMN", .records = "T", WIN, COOP, BY_OTHER, .with = SYSTEM_CALL, .seed = 'e', .hr = UNSAFE },

    /* W60: the sequence */
    { "w60_leaf_first_one_marker_a_run_and_none_for_the_leafs", .stack = "NNDNNCBNMNN", .records = "DCM", WIN, PREEMPT, BY_OTHER, .heard = "D0CB0M0" },
    { "w60_from_a_seed_too", .stack = "NNDNNCBNMNN", .records = "DCM", WIN, COOP, BY_OTHER, .seed = 'D', .heard = "D0CB0M0" },
};
/* clang-format on */

/* W52: a runtime that dispatches exceptions in native code answers all of them the same. */
static void w52_older_runtimes_answer_alike(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(situations); i++) {
        struct situation row = situations[i];
        void *older = &row;
        row.options = SW_ENGINE_NATIVE_DISPATCH;
        situation_is_answered(&older);
    }
}

/* W41: the CLR does not look at it. The engine refuses one that cannot hold the registers, where it uses the seed. */
static void w41_context_size_plays_no_part_unless_it_is_short(void **state)
{
    static const ULONG32 sizes[] = { 0, 4, 255, 256, 0x4d0, 0x4d1, 0xffffffff };
    static struct simstack stack;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (unsigned is_used = 0; is_used <= 1; is_used++) {
            const struct situation row = { STACK, WIN, .seed = 'D',
                                           .mode = is_used ? SW_MODE_COOPERATIVE : SW_MODE_PREEMPTIVE };
            const bool is_short = is_used && sizes[i] < 256;
            arrange(&stack, &row);
            const HRESULT hr = sw_snapshot(stack.engine, &stack.scratch, 0, hear, 1, &stack, stack.context, sizes[i]);
            assert_int_equal((uint32_t)hr, is_short ? (uint32_t)E_INVALIDARG : S_OK);
            assert_string_equal(stack.said, is_short ? "" : "DCM0");
            tear_down(&stack);
        }
}

int main(void)
{
    const struct CMUnitTest singles[] = {
        cmocka_unit_test(w41_context_size_plays_no_part_unless_it_is_short),
        cmocka_unit_test(w52_older_runtimes_answer_alike),
    };
    struct CMUnitTest tests[COUNT_OF(situations) + COUNT_OF(singles)];
    size_t n = COUNT_OF(singles);
    memcpy(tests, singles, sizeof singles);
    ADD_ROWS(tests, n, situations, situation_is_answered);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
