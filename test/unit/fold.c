/*
 * From frames to callbacks: the worked sequences of clr-contract.md section 4.5, every row in every flavour where it
 * applies, and the rules of sections 3 and 4 around them.
 */
#include "simstack.h"

#define DOC        SW_FLAVOUR_DOCUMENTED
#define WIN        SW_FLAVOUR_CORECLR_WINDOWS
#define UNIX       SW_FLAVOUR_CORECLR_UNIX
#define COOP       SW_MODE_COOPERATIVE
#define PREEMPT    SW_MODE_PREEMPTIVE
#define BAD_SEED   CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX
#define ABORTED    CORPROF_E_STACKSNAPSHOT_ABORTED
#define NAME(text) .name = text

/* The first stack of section 4.5: N, D, N, C, B, N, A, Main, N(base). */
#define MIXED .stack = "NDNCBNAMN", .records = "DCA"

/* clang-format off */
static const struct situation situations[] = {
    /* 4.5, row by row */
    { NAME("s4_5_row1_preemptive_no_seed_unix"), MIXED, .flavour = UNIX, .mode = PREEMPT, .heard = "D0CB0AM0" },
    { NAME("s4_5_row1_preemptive_no_seed_windows"), MIXED, .flavour = WIN, .mode = PREEMPT, .heard = "D0CB0AM0" },
    { NAME("s4_5_row1_documented_reports_the_run_at_the_leaf"), MIXED, .mode = PREEMPT, .heard = "0D0CB0AM0" },
    { NAME("s4_5_row2_seeded_at_the_first_unix"), MIXED, .flavour = UNIX, .mode = COOP, .seed = 'D', .heard = "D0CB0AM0" },
    { NAME("s4_5_row2_seeded_at_the_first_windows"), MIXED, .flavour = WIN, .mode = COOP, .seed = 'D', .heard = "D0CB0AM0" },
    { NAME("s4_5_row2_seeded_at_the_first_documented"), MIXED, .mode = COOP, .seed = 'D', .heard = "D0CB0AM0" },
    { NAME("s4_5_row3_seeded_further_out_unix"), MIXED, .flavour = UNIX, .mode = COOP, .seed = 'C', .heard = "CB0AM0" },
    { NAME("s4_5_row3_seeded_further_out_windows"), MIXED, .flavour = WIN, .mode = COOP, .seed = 'C', .heard = "CB0AM0" },
    { NAME("s4_5_row3_seeded_further_out_documented"), MIXED, .mode = COOP, .seed = 'C', .heard = "CB0AM0" },
    { NAME("s4_5_row4_seed_in_native_code_unix"), MIXED, .flavour = UNIX, .mode = COOP, .seed = 'N', .hr = BAD_SEED },
    { NAME("s4_5_row4_seed_in_native_code_windows"), MIXED, .flavour = WIN, .mode = COOP, .seed = 'N', .hr = BAD_SEED },
    { NAME("s4_5_row4_seed_in_native_code_documented"), MIXED, .mode = COOP, .seed = 'N', .hr = BAD_SEED },
    { NAME("s4_5_row5_seed_in_native_code_preemptive_unix"), MIXED, .flavour = UNIX, .mode = PREEMPT, .seed = 'N', .heard = "D0CB0AM0" },
    { NAME("s4_5_row5_seed_in_native_code_preemptive_windows"), MIXED, .flavour = WIN, .mode = PREEMPT, .seed = 'N', .heard = "D0CB0AM0" },
    { NAME("s4_5_row5_documented_refuses_it_always"), MIXED, .mode = PREEMPT, .seed = 'N', .hr = BAD_SEED },
    { NAME("s4_5_row6_cooperative_no_seed_no_record_unix"), .stack = "DCMN", .flavour = UNIX, .mode = COOP, .hr = E_FAIL },
    { NAME("s4_5_row6_cooperative_no_seed_no_record_windows"), .stack = "DCMN", .flavour = WIN, .mode = COOP, .hr = E_FAIL },
    { NAME("s4_5_row6_documented_finds_the_frames_itself"), .stack = "DCMN", .mode = COOP, .heard = "DCM0" },
    { NAME("s4_5_row7_record_below_loses_the_leaf_unix"), .stack = "DNBMN", .records = "B", .flavour = UNIX, .mode = COOP, .heard = "BM0" },
    { NAME("s4_5_row7_record_below_loses_the_leaf_windows"), .stack = "DNBMN", .records = "B", .flavour = WIN, .mode = COOP, .heard = "BM0" },
    { NAME("s4_5_row7_documented_loses_nothing"), .stack = "DNBMN", .records = "B", .mode = COOP, .heard = "D0BM0" },
    { NAME("s4_5_row8_seed_in_an_il_stub_unix"), .stack = "iAMN", .flavour = UNIX, .mode = COOP, .seed = 'i', .heard = "AM0" },
    { NAME("s4_5_row8_seed_in_an_il_stub_windows"), .stack = "iAMN", .flavour = WIN, .mode = COOP, .seed = 'i', .heard = "AM0" },
    { NAME("s4_5_row9_il_stub_of_a_platform_invoke_unix"), .stack = "NiAMN", .records = "i", .flavour = UNIX, .mode = PREEMPT, .heard = "AM0" },
    { NAME("s4_5_row9_il_stub_of_a_platform_invoke_windows"), .stack = "NiAMN", .records = "i", .flavour = WIN, .mode = PREEMPT, .heard = "AM0" },
    { NAME("s4_5_row9_documented_shows_the_stub"), .stack = "NiAMN", .records = "i", .mode = PREEMPT, .heard = "0iAM0" },
    { NAME("s4_5_row10_stubs_both_ways_unix"), .stack = "BiNiAN", .flavour = UNIX, .mode = COOP, .seed = 'B', .heard = "B0A0" },
    { NAME("s4_5_row10_stubs_both_ways_windows"), .stack = "BiNiAN", .flavour = WIN, .mode = COOP, .seed = 'B', .heard = "B0A0" },
    { NAME("s4_5_row10_documented_shows_the_stubs"), .stack = "BiNiAN", .mode = COOP, .seed = 'B', .heard = "Bi0iA0" },
    { NAME("s4_5_row11_dynamic_method_leaves_its_marker_unix"), .stack = "dNAN", .flavour = UNIX, .mode = COOP, .seed = 'd', .heard = "0A0" },
    { NAME("s4_5_row11_dynamic_method_leaves_its_marker_windows"), .stack = "dNAN", .flavour = WIN, .mode = COOP, .seed = 'd', .heard = "0A0" },
    { NAME("s4_5_row12_only_a_dynamic_method_unix"), .stack = "dN", .flavour = UNIX, .mode = COOP, .seed = 'd', .heard = "0" },
    { NAME("s4_5_row12_only_a_dynamic_method_windows"), .stack = "dN", .flavour = WIN, .mode = COOP, .seed = 'd', .heard = "0" },
    { NAME("s4_5_row13_only_native_unix"), .stack = "N", .flavour = UNIX, .mode = PREEMPT, .hr = E_FAIL },
    { NAME("s4_5_row13_only_native_windows"), .stack = "N", .flavour = WIN, .mode = PREEMPT, .hr = E_FAIL },
    { NAME("s4_5_row13_documented_reports_the_run"), .stack = "N", .mode = PREEMPT, .heard = "0" },
    { NAME("s4_5_row14_prestub_record_is_a_silent_success_unix"), .stack = "NN", .with = PRESTUB, .flavour = UNIX, .mode = PREEMPT },
    { NAME("s4_5_row14_prestub_record_is_a_silent_success_windows"), .stack = "NN", .with = PRESTUB, .flavour = WIN, .mode = PREEMPT },
    { NAME("s4_5_row15_abort_at_the_first_unix"), MIXED, .flavour = UNIX, .mode = PREEMPT, .heard = "D", .answer = S_FALSE, .answer_at = 1, .hr = ABORTED },
    { NAME("s4_5_row15_abort_at_the_first_windows"), MIXED, .flavour = WIN, .mode = PREEMPT, .heard = "D", .answer = S_FALSE, .answer_at = 1, .hr = ABORTED },
    { NAME("s4_5_row15_abort_at_the_first_documented"), MIXED, .mode = PREEMPT, .heard = "0", .answer = S_FALSE, .answer_at = 1, .hr = ABORTED },

    /* 4.1, 4.2: order and markers */
    { NAME("s4_1_a_long_run_is_one_marker"), .stack = "DNNNNMNN", .flavour = UNIX, .mode = COOP, .seed = 'D', .heard = "D0M0" },
    { NAME("s4_1_a_long_run_is_one_marker_documented"), .stack = "NNDNNNMNN", .heard = "0D0M0" },
    { NAME("s4_2_stubs_belong_to_native_runs"), .stack = "sDNsNMsN", .heard = "0D0M0" },
    { NAME("s4_2_the_run_at_the_leaf_is_never_reported"), .stack = "NNNDMN", .records = "D", .flavour = WIN, .mode = PREEMPT, .heard = "DM0" },
    { NAME("s4_2_there_is_a_marker_at_the_thread_base"), .stack = "DMNN", .flavour = UNIX, .mode = COOP, .seed = 'D', .heard = "DM0" },
    { NAME("s4_2_where_a_managed_root_returns_to_0_that_is_the_base"), .stack = "DM", .flavour = UNIX, .mode = COOP, .seed = 'D', .heard = "DM0" },
    { NAME("s4_2_documented_a_managed_root_is_the_root"), .stack = "DM", .heard = "DM" },
    { NAME("s4_2_two_markers_in_a_row_around_hidden_frames"), .stack = "dNdNMN", .flavour = UNIX, .mode = COOP, .seed = 'd', .heard = "00M0" },
    { NAME("s4_2_the_same_documented"), .stack = "dNiNMN", .heard = "d0i0M0" },

    /* 4.4: hidden frames */
    { NAME("s4_4_il_stubs_are_hidden_without_a_gap"), .stack = "AiBMN", .flavour = WIN, .mode = COOP, .seed = 'A', .heard = "ABM0" },
    { NAME("s4_4_exception_dispatch_swallows_the_marker_behind_it"), .stack = "AeNBMN", .flavour = UNIX, .mode = COOP, .seed = 'A', .heard = "ABM0" },
    { NAME("s4_4_exception_dispatch_shown_documented"), .stack = "AeNBMN", .heard = "Ae0BM0" },
    { NAME("s4_4_swallowing_ends_with_that_run"), .stack = "eNBNMN", .flavour = UNIX, .mode = COOP, .seed = 'e', .heard = "B0M0" },
    { NAME("s4_4_precompiled_methods_are_reported_alike"), .stack = "gAhMN", .flavour = UNIX, .mode = COOP, .seed = 'g', .heard = "gAhM0" },

    /* 3: how a walk ends */
    { NAME("s3_3_no_record_and_no_seed_fails_with_no_callback"), .stack = "NMN", .flavour = UNIX, .mode = PREEMPT, .hr = E_FAIL },
    { NAME("s3_3_a_record_with_a_method_only_is_a_silent_success"), .stack = "NMN", .with = PRESTUB, .flavour = WIN, .mode = PREEMPT },
    { NAME("s3_3_a_prestub_record_on_top_is_passed_over"), .stack = "NMN", .records = "M", .with = PRESTUB, .flavour = UNIX, .mode = PREEMPT, .heard = "M0" },
    { NAME("s3_4_cut_in_a_managed_frame_fails_what_was_reported_stays"), .stack = "DzMN", .flavour = UNIX, .mode = COOP, .seed = 'D', .heard = "Dz", .hr = E_FAIL },
    { NAME("s3_4_cut_in_a_managed_frame_fails_documented"), .stack = "NDzMN", .records = "DM", .heard = "0Dz", .hr = E_FAIL },
    { NAME("s3_4_cut_in_a_run_goes_on_at_the_record_above_unix"), .stack = "NDxCMN", .records = "DC", .flavour = UNIX, .mode = PREEMPT, .heard = "D0CM0" },
    { NAME("s3_4_cut_in_a_run_goes_on_at_the_record_above_documented"), .stack = "NDxCMN", .records = "DC", .heard = "0D0CM0" },
    { NAME("s3_4_cut_in_the_run_at_the_leaf_goes_on_documented"), .stack = "xDCMN", .records = "D", .heard = "0DCM0" },
    { NAME("s3_4_cut_in_a_run_without_record_above_is_the_end_unix"), .stack = "NDxCMN", .records = "D", .flavour = UNIX, .mode = PREEMPT, .heard = "D0" },
    { NAME("s3_4_the_same_documented_when_the_thread_has_records"), .stack = "NDMx", .records = "D", .heard = "0DM0" },
    { NAME("s3_4_the_same_documented_when_it_has_none_fails"), .stack = "NDxCMN", .heard = "0D0", .hr = E_FAIL },
    { NAME("s3_4_frame_limit_fails_though_records_are_left"), .stack = "NDNCMN", .records = "DC", .flavour = UNIX, .mode = PREEMPT, .max_frames = 2, .heard = "D0", .hr = E_FAIL },
    { NAME("s3_4_frame_limit_counts_over_all_stretches"), .stack = "NDxCBMN", .records = "DC", .flavour = UNIX, .mode = PREEMPT, .max_frames = 3, .heard = "D0C", .hr = E_FAIL },
    { NAME("s3_4_frame_limit_of_one"), .stack = "DMN", .max_frames = 1, .heard = "D", .hr = E_FAIL },
    { NAME("s3_4_leaving_the_stack_of_the_thread_fails"), .stack = "DCMN", .with = SHORT_STACK, .flavour = UNIX, .mode = COOP, .seed = 'D', .heard = "DCM", .hr = E_FAIL },
    { NAME("s3_4_the_bounds_are_the_threads_not_the_walkers"), .stack = "DCMN", .with = OTHER_STACK, .flavour = UNIX, .mode = COOP, .seed = 'D', .heard = "DCM0" },
    { NAME("s3_4_a_root_below_a_record_does_not_end_the_walk_unix"), .stack = "NDNCMN", .records = "DC", .with = FALSE_ROOT, .flavour = UNIX, .mode = PREEMPT, .heard = "D0CM0" },
    { NAME("s3_4_a_root_below_a_record_is_the_end_documented"), .stack = "NDNCMN", .records = "DC", .with = FALSE_ROOT, .heard = "0D0" },
    { NAME("s3_5_another_thread_is_resumed_after_a_cut"), .stack = "NDzMN", .who = FROM_OTHER, .heard = "0Dz", .suspends = 1, .hr = E_FAIL },

    /* the caller's own registers cannot be had */
    { NAME("without_own_registers_a_seed_starts_the_walk"), .stack = "NDCMN", .with = NO_CAPTURE, .seed = 'D', .heard = "DCM0" },
    { NAME("without_own_registers_the_top_record_starts_the_walk"), .stack = "NDCMN", .records = "D", .with = NO_CAPTURE, .heard = "DCM0" },
    { NAME("without_own_registers_seed_and_record_it_fails"), .stack = "NDCMN", .with = NO_CAPTURE, .hr = E_FAIL },

    /* beyond the contract */
    { NAME("every_native_frame_on_request"), .stack = "NNDNNMN", .options = SW_ENGINE_EVERY_NATIVE_FRAME, .heard = "00D00M0" },
    { NAME("every_native_frame_is_of_the_documented_flavour_only"), .stack = "DNNMN", .flavour = UNIX, .mode = COOP, .seed = 'D', .options = SW_ENGINE_EVERY_NATIVE_FRAME, .heard = "D0M0" },
};
/* clang-format on */

static void walk_mixed(struct simstack *stack, const struct situation *row)
{
    arrange(stack, row);
    assert_int_equal(ask(stack, row), S_OK);
    assert_string_equal(stack->said, row->heard);
}

/* Which frames of "NDNCBNAMN" the callbacks of "0D0CB0AM0" are about: of a run, the one at its leaf end. */
static const size_t told_of[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };

static void s4_3_ip_is_the_exact_pc_at_the_leaf_and_return_addresses_unadjusted(void **state)
{
    static struct simstack stack;
    const struct situation row = { MIXED, .heard = "0D0CB0AM0" };
    (void)state;
    walk_mixed(&stack, &row);
    for (size_t i = 0; i < stack.heard_count; i++)
        assert_int_equal(stack.heard[i].ip, sw_regs_pc(&stack.regs[told_of[i]]));
    assert_true(stack.heard[0].info.exact);
    assert_false(stack.heard[1].info.exact);
    tear_down(&stack);
}

static void s4_3_frame_info_is_never_null_and_repeats_id_and_ip(void **state)
{
    static struct simstack stack;
    const struct situation row = { MIXED, .heard = "0D0CB0AM0" };
    (void)state;
    walk_mixed(&stack, &row);
    for (size_t i = 0; i < stack.heard_count; i++) {
        const struct heard *heard = &stack.heard[i];
        assert_int_not_equal(heard->frame_info, 0);
        assert_int_equal(heard->info_hr, S_OK);
        assert_int_equal(heard->info.function, heard->function);
        assert_int_equal(heard->info.ip, heard->ip);
        assert_int_equal(heard->info.size, 40);
        assert_int_equal(heard->info.version, 1);
        assert_null(heard->info.extra_arg);
        assert_null(heard->info.this_arg);
        assert_in_range(heard->info.source, SW_SOURCE_SEED, SW_SOURCE_COUNT - 1);
        assert_in_range(heard->info.trust, SW_TRUST_GUESS, SW_TRUST_COUNT - 1);
    }
    tear_down(&stack);
}

/* clr-observed.md section 1: the same value in all callbacks of one snapshot. */
static void s4_3_frame_info_is_one_value_for_a_whole_walk_in_the_coreclr_flavours(void **state)
{
    static struct simstack stack;
    const struct situation row = { MIXED, .flavour = UNIX, .mode = PREEMPT, .heard = "D0CB0AM0" };
    (void)state;
    walk_mixed(&stack, &row);
    for (size_t i = 1; i < stack.heard_count; i++)
        assert_int_equal(stack.heard[i].frame_info, stack.heard[0].frame_info);
    tear_down(&stack);
}

static void s4_3_flags_0_give_neither_context_nor_size(void **state)
{
    static struct simstack stack;
    const struct situation row = { MIXED, .heard = "0D0CB0AM0" };
    (void)state;
    walk_mixed(&stack, &row);
    for (size_t i = 0; i < stack.heard_count; i++) {
        assert_int_equal(stack.heard[i].context_size, 0);
        assert_false(stack.heard[i].has_context);
    }
    tear_down(&stack);
}

static void assert_frame_registers(const struct heard *heard, const struct sw_regs *frame)
{
    static const unsigned told[] = { SW_X64_RIP, SW_X64_RSP, SW_X64_RBP, SW_X64_RBX,
                                     SW_X64_R12, SW_X64_R13, SW_X64_R14, SW_X64_R15 };
    static const unsigned untold[] = { SW_X64_RAX, SW_X64_RCX, SW_X64_RDX, SW_X64_RSI, SW_X64_RDI,
                                       SW_X64_R8,  SW_X64_R9,  SW_X64_R10, SW_X64_R11 };
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        assert_int_equal(heard->regs.r[told[i]], frame->r[told[i]]);
        assert_true(heard->info.known >> told[i] & 1);
    }
    for (size_t i = 0; i < sizeof untold / sizeof untold[0]; i++) {
        assert_int_equal(heard->regs.r[untold[i]], 0);
        assert_false(heard->info.known >> untold[i] & 1);
    }
}

static void s4_3_flags_1_give_the_registers_of_each_frame_and_of_each_run_at_its_leaf_end(void **state)
{
    static struct simstack stack;
    const struct situation row = { MIXED, .info_flags = 1, .heard = "0D0CB0AM0" };
    (void)state;
    walk_mixed(&stack, &row);
    for (size_t i = 0; i < stack.heard_count; i++) {
        assert_int_equal(stack.heard[i].context_size, SW_CONTEXT_X64_BYTES);
        assert_frame_registers(&stack.heard[i], &stack.regs[told_of[i]]);
    }
    tear_down(&stack);
}

static void s4_3_registers_that_a_record_does_not_hold_are_the_thread_s_own(void **state)
{
    static struct simstack stack;
    const struct situation row = { MIXED, .flavour = UNIX, .mode = PREEMPT, .info_flags = 1, .heard = "D0CB0AM0" };
    (void)state;
    walk_mixed(&stack, &row);
    assert_frame_registers(&stack.heard[0], &stack.regs[1]);
    tear_down(&stack);
}

static void s4_3_registers_that_nobody_knows_are_0_and_not_claimed(void **state)
{
    static struct simstack stack;
    const struct situation row = { MIXED,
                                   .flavour = UNIX,
                                   .mode = PREEMPT,
                                   .info_flags = 1,
                                   .who = FROM_OTHER,
                                   .runtime = SW_RUNTIME_SUSPENDED,
                                   .heard = "D0CB0AM0" };
    (void)state;
    walk_mixed(&stack, &row);
    assert_int_equal(stack.heard[0].regs.r[SW_X64_RSP], stack.regs[1].r[SW_X64_RSP]);
    assert_int_equal(stack.heard[0].regs.r[SW_X64_RBX], 0);
    assert_int_equal(stack.heard[0].info.known,
                     UINT64_C(1) << SW_X64_RIP | UINT64_C(1) << SW_X64_RSP | UINT64_C(1) << SW_X64_RBP);
    tear_down(&stack);
}

static void s4_3_the_engine_says_how_large_the_context_is(void **state)
{
    static struct simstack stack;
    static const ULONG32 sizes[] = { 1232, 3104, 3232 };
    const struct situation row = { MIXED, .info_flags = 1, .heard = "0D0CB0AM0" };
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        arrange(&stack, &row);
        stack.engine->context_size = sizes[i];
        assert_int_equal(ask(&stack, &row), S_OK);
        for (size_t k = 0; k < stack.heard_count; k++)
            assert_int_equal(stack.heard[k].context_size, sizes[i]);
        assert_int_equal(stack.heard[3].regs.r[SW_X64_RSP], stack.regs[3].r[SW_X64_RSP]);
        tear_down(&stack);
    }
}

static void a_cut_is_never_taken_for_a_clean_root(void **state)
{
    static struct simstack stack;
    const struct situation cut = { .stack = "NDxCMN", .records = "D", .flavour = UNIX, .mode = PREEMPT };
    const struct situation clean = { .stack = "DMN", .heard = "DM0" };
    (void)state;
    arrange(&stack, &cut);
    assert_int_equal(ask(&stack, &cut), S_OK);
    assert_int_equal(stack.engine->stop, SW_STOP_NO_RULE);
    tear_down(&stack);
    arrange(&stack, &clean);
    assert_int_equal(ask(&stack, &clean), S_OK);
    assert_int_equal(stack.engine->stop, SW_STOP_ROOT_ZERO);
    tear_down(&stack);
}

static void a_failed_walk_says_where_it_was_cut_and_why(void **state)
{
    static struct simstack stack;
    const struct situation row = { .stack = "NDzMN" };
    (void)state;
    arrange(&stack, &row);
    assert_int_equal((uint32_t)ask(&stack, &row), (uint32_t)E_FAIL);
    assert_int_equal(stack.engine->refusal.stop, SW_STOP_NO_RULE);
    assert_int_equal(stack.engine->refusal.address, sw_regs_pc(&stack.regs[2]));
    assert_int_equal(stack.engine->refusal.kind, SW_KIND_JIT);
    assert_string_equal(stack.engine->refusal.reason, "no-rule");
    tear_down(&stack);
}

/* Section 2.5: a record whose address is below the stack pointer reached was left by a frame that is gone already. */
static void a_record_below_the_stack_pointer_is_passed_over_whatever_it_leads_to(void **state)
{
    static struct simstack stack;
    const struct situation row = { .stack = "NDxCBMN", .records = "BC", .flavour = UNIX, .mode = COOP, .seed = 'D' };
    (void)state;
    arrange(&stack, &row);
    stack.records[0].address = sw_regs_sp(&stack.regs[1]);
    assert_int_equal(ask(&stack, &row), S_OK);
    assert_string_equal(stack.said, "D0CBM0");
    tear_down(&stack);
}

/* Section 2.6: a thread parked by redirection was stopped at an instruction; a record is else a return address. */
static void the_top_record_of_a_parked_thread_is_exact(void **state)
{
    static struct simstack stack;
    (void)state;
    for (uint32_t flags = 0; flags <= SW_THREAD_RESUMABLE_TOP; flags += SW_THREAD_RESUMABLE_TOP) {
        const struct situation row = { .stack = "NDNCMN",
                                       .records = "DC",
                                       .thread_flags = flags,
                                       .flavour = UNIX,
                                       .mode = PREEMPT,
                                       .heard = "D0CM0" };
        walk_mixed(&stack, &row);
        assert_int_equal(stack.heard[0].info.exact, flags != 0);
        assert_false(stack.heard[2].info.exact);
        tear_down(&stack);
    }
}

/* Records that point at themselves, downwards, or at nothing: each is taken at most once, and the walk ends. */
static void records_that_lead_in_circles_end(void **state)
{
    static struct simstack stack;
    const struct situation row = { .stack = "NDxCMN", .records = "DC", .flavour = UNIX, .mode = PREEMPT };
    (void)state;
    arrange(&stack, &row);
    for (size_t i = 2; i < FRAMES_MAX; i++) {
        stack.records[i] = stack.records[i % 2];
        stack.records[i].address = STACK_TOP - i;
    }
    stack.target.transition_count = FRAMES_MAX;
    put_target(&stack);
    assert_int_equal(ask(&stack, &row), S_OK);
    assert_string_equal(stack.said, "D0CM0");
    tear_down(&stack);
}

/* ARM64 by frame records: a leaf native frame on D (JIT) on a native frame on M (JIT) on the native base. */
static void arm64_frames_are_folded_alike(void **state)
{
    enum { LOW = 0x8000, EACH = 32, FRAMES = 5 };
    static struct simstack stack;
    static const char letters[FRAMES] = { 'N', 'D', 'N', 'M', 'N' };
    const uint32_t code[64] = { 0, 0x94000000 /* bl: what stands in front of the return address */ };
    struct sw_regs leaf = { .machine = SW_MACHINE_ARM64 };
    /* A record of zeros is a guess, which is no clean end; the stack's base is one. */
    const struct sw_thread target = {
        .id = TARGET, .os_id = TARGET, .stack_begin = LOW, .stack_end = LOW + (FRAMES - 2) * EACH + 16
    };
    (void)state;
    memset(&stack, 0, sizeof stack);
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_ARM64, &stack.sim), SW_OK);
    stack.engine = sw_sim_engine(stack.sim);
    sw_sim_walker(stack.sim)->flags = SW_WALK_NO_ANALYSIS;
    for (uint64_t i = 0; i < FRAMES; i++) {
        const bool root = i + 1 == FRAMES;
        const uint64_t record[] = { root ? 0 : LOW + (i + 1) * EACH, root ? 0 : (i + 2) * 0x1000 + 8 };
        const enum sw_kind kind = letters[i] == 'N' ? SW_KIND_NATIVE : SW_KIND_JIT;
        assert_int_equal(sw_sim_words(stack.sim, LOW + i * EACH, record, 2), SW_OK);
        assert_int_equal(sw_sim_bytes(stack.sim, (i + 1) * 0x1000, code, sizeof code), SW_OK);
        assert_int_equal(
            sw_sim_range(stack.sim, kind, (i + 1) * 0x1000, (i + 1) * 0x1000 + 0x100, (uint64_t)letters[i]), SW_OK);
    }
    sw_regs_set(&leaf, SW_ARM64_PC, 0x1008);
    sw_regs_set(&leaf, SW_ARM64_SP, LOW);
    sw_regs_set(&leaf, SW_ARM64_FP, LOW);
    assert_int_equal(sw_sim_thread(stack.sim, TARGET, &leaf), SW_OK);
    assert_int_equal(sw_threads_update(sw_sim_threads(stack.sim), &target), SW_OK);
    sw_sim_run_as(stack.sim, TARGET);
    assert_int_equal(sw_snapshot(stack.engine, &stack.scratch, 0, hear, 1, &stack, NULL, 0), S_OK);
    assert_string_equal(stack.said, "0D0M0");
    for (uint64_t i = 0; i < FRAMES; i++) {
        assert_int_equal(stack.heard[i].context_size, SW_CONTEXT_ARM64_BYTES);
        assert_int_equal(stack.heard[i].ip, (i + 1) * 0x1000 + 8);
        assert_int_equal(sw_regs_pc(&stack.heard[i].regs), stack.heard[i].ip);
        assert_int_equal(sw_regs_fp(&stack.heard[i].regs), LOW + i * EACH);
    }
    sw_sim_destroy(stack.sim);
}

int main(void)
{
    const struct CMUnitTest singles[] = {
        cmocka_unit_test(s4_3_ip_is_the_exact_pc_at_the_leaf_and_return_addresses_unadjusted),
        cmocka_unit_test(s4_3_frame_info_is_never_null_and_repeats_id_and_ip),
        cmocka_unit_test(s4_3_frame_info_is_one_value_for_a_whole_walk_in_the_coreclr_flavours),
        cmocka_unit_test(s4_3_flags_0_give_neither_context_nor_size),
        cmocka_unit_test(s4_3_flags_1_give_the_registers_of_each_frame_and_of_each_run_at_its_leaf_end),
        cmocka_unit_test(s4_3_registers_that_a_record_does_not_hold_are_the_thread_s_own),
        cmocka_unit_test(s4_3_registers_that_nobody_knows_are_0_and_not_claimed),
        cmocka_unit_test(s4_3_the_engine_says_how_large_the_context_is),
        cmocka_unit_test(a_cut_is_never_taken_for_a_clean_root),
        cmocka_unit_test(a_failed_walk_says_where_it_was_cut_and_why),
        cmocka_unit_test(a_record_below_the_stack_pointer_is_passed_over_whatever_it_leads_to),
        cmocka_unit_test(the_top_record_of_a_parked_thread_is_exact),
        cmocka_unit_test(arm64_frames_are_folded_alike),
        cmocka_unit_test(records_that_lead_in_circles_end),
    };
    struct CMUnitTest tests[COUNT_OF(situations) + COUNT_OF(singles)];
    FILL_ROWS(tests, situations, situation_is_answered);
    memcpy(tests + COUNT_OF(situations), singles, sizeof singles);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
