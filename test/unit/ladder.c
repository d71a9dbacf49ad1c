/*
 * The ladder of checks and the decision table by input: clr-contract.md sections 1 and 2, a row each. A name begins
 * with the section and the row or step it states: s1_8u is step 8u of section 1. Order is tested by rows that break two
 * rules at once.
 */
#include "simstack.h"

#define DOC        SW_FLAVOUR_DOCUMENTED
#define WIN        SW_FLAVOUR_CORECLR_WINDOWS
#define UNIX       SW_FLAVOUR_CORECLR_UNIX
#define COOP       SW_MODE_COOPERATIVE
#define PREEMPT    SW_MODE_PREEMPTIVE
#define UNSAFE     CORPROF_E_STACKSNAPSHOT_UNSAFE
#define BAD_SEED   CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX
#define NOBODY     CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD
#define ABORTED    CORPROF_E_STACKSNAPSHOT_ABORTED
#define STOPPED    SW_RUNTIME_SUSPENDED
#define NAME(text) .name = text

/* The stack of most rows: in a platform invoke of D, which left a record; whole is all that the CLR reports of it. */
#define STACK .stack = "NDCMN", .records = "D"
#define WHOLE .heard = "DCM0"
#define FULL  .heard = "0DCM0" /* with the run at the leaf, as documented */

/* clang-format off */
static const struct situation situations[] = {
    /* section 1, in order; "beats" rows break the next rule too */
    { NAME("s1_0_detaching_is_answered_first"), STACK, .runtime = SW_RUNTIME_DETACHING, .not_runtime = SW_RUNTIME_STARTED, .hr = CORPROF_E_PROFILER_DETACHING },
    { NAME("s1_0_detaching_windows"), STACK, .flavour = WIN, .runtime = SW_RUNTIME_DETACHING, .hr = CORPROF_E_PROFILER_DETACHING },
    { NAME("s1_0_detaching_unix"), STACK, .flavour = UNIX, .runtime = SW_RUNTIME_DETACHING, .hr = CORPROF_E_PROFILER_DETACHING },
    { NAME("s1_1_not_started_is_unsafe_and_beats_the_event_mask"), STACK, .flavour = UNIX, .not_runtime = SW_RUNTIME_STARTED, .with = MASK_OFF, .hr = UNSAFE },
    { NAME("s1_1_not_started_documented"), STACK, .not_runtime = SW_RUNTIME_STARTED, .hr = UNSAFE },
    { NAME("s1_2_snapshots_not_enabled_beats_bad_flags"), STACK, .flavour = WIN, .with = MASK_OFF, .info_flags = 8, .hr = CORPROF_E_INCONSISTENT_WITH_FLAGS },
    { NAME("s1_2_snapshots_not_enabled_documented"), STACK, .with = MASK_OFF, .hr = CORPROF_E_INCONSISTENT_WITH_FLAGS },
    { NAME("s1_3_bad_flags_beat_a_caller_that_was_never_managed"), STACK, .flavour = UNIX, .who = FROM_STRANGER, .info_flags = 4, .hr = E_INVALIDARG },
    { NAME("s1_3_bad_flags_beat_a_bogus_thread"), STACK, .flavour = UNIX, .thread = 0x1234, .info_flags = 4, .hr = E_INVALIDARG },
    { NAME("s1_4_gc_special_thread_is_a_silent_success_windows"), STACK, .flavour = WIN, .mode = PREEMPT, .thread_flags = SW_THREAD_GC_SPECIAL, .hr = S_OK },
    { NAME("s1_4_gc_special_thread_is_a_silent_success_documented"), STACK, .thread_flags = SW_THREAD_GC_SPECIAL, .hr = S_OK },
    { NAME("s1_4_heap_not_ready_is_a_silent_success_unix"), STACK, .flavour = UNIX, .mode = PREEMPT, .not_runtime = SW_RUNTIME_HEAP_READY, .hr = S_OK },
    { NAME("s1_4_not_managed_beats_a_bad_seed"), STACK, .flavour = WIN, .mode = COOP, .seed = 'N', .thread_flags = SW_THREAD_GC_SPECIAL, .hr = S_OK },
    { NAME("s1_5_hijack_lock_taken_is_unsafe"), STACK, .flavour = UNIX, .mode = PREEMPT, .thread_flags = SW_THREAD_HIJACK_LOCKED, .hr = UNSAFE },
    { NAME("s1_5_hijack_lock_beats_not_implemented"), STACK, .flavour = UNIX, .who = FROM_OTHER, .thread_flags = SW_THREAD_HIJACK_LOCKED, .hr = UNSAFE },
    { NAME("s1_5_hijack_lock_taken_documented"), STACK, .thread_flags = SW_THREAD_HIJACK_LOCKED, .hr = UNSAFE },
    { NAME("s1_6_suspension_in_progress_is_unsafe_for_a_runtime_thread"), STACK, .flavour = WIN, .who = FROM_OTHER, .mode = PREEMPT, .runtime = SW_RUNTIME_SUSPENDING, .hr = UNSAFE },
    { NAME("s1_6_suspension_in_progress_beats_not_implemented"), STACK, .flavour = UNIX, .who = FROM_OTHER, .runtime = SW_RUNTIME_SUSPENDING, .hr = UNSAFE },
    { NAME("s1_6_a_caller_that_is_no_runtime_thread_skips_it"), STACK, WHOLE, .flavour = WIN, .who = FROM_STRANGER, .thread = TARGET, .mode = PREEMPT, .runtime = SW_RUNTIME_SUSPENDING, .suspends = 1 },
    { NAME("s1_6_the_current_thread_skips_it"), STACK, WHOLE, .flavour = WIN, .mode = PREEMPT, .runtime = SW_RUNTIME_SUSPENDING },
    { NAME("s1_7_forbid_suspend_region_is_unsafe_windows"), STACK, .flavour = WIN, .who = FROM_OTHER, .mode = PREEMPT, .thread_flags = SW_THREAD_FORBID_SUSPEND, .hr = UNSAFE },
    { NAME("s1_7_forbid_suspend_region_holds_for_the_current_thread_too"), STACK, .flavour = UNIX, .mode = PREEMPT, .thread_flags = SW_THREAD_FORBID_SUSPEND, .hr = UNSAFE },
    { NAME("s1_7_forbid_suspend_region_documented_other_thread"), STACK, .who = FROM_OTHER, .thread_flags = SW_THREAD_FORBID_SUSPEND, .hr = UNSAFE },
    { NAME("s1_7_forbid_suspend_region_documented_current_thread_is_walked"), STACK, FULL, .thread_flags = SW_THREAD_FORBID_SUSPEND },
    { NAME("s1_8u_other_thread_on_unix_is_not_implemented"), STACK, .flavour = UNIX, .who = FROM_OTHER, .mode = PREEMPT, .hr = E_NOTIMPL },
    { NAME("s1_8u_not_implemented_beats_a_bad_seed"), STACK, .flavour = UNIX, .who = FROM_OTHER, .mode = COOP, .seed = 'N', .hr = E_NOTIMPL },
    { NAME("s1_8w_thread_without_os_thread_is_refused_instead_of_killing_windows"), STACK, .flavour = WIN, .who = FROM_OTHER, .mode = PREEMPT, .suspend_answer = SW_E_GONE, .hr = NOBODY },
    { NAME("s1_8w_thread_without_os_thread_is_refused_documented"), STACK, .who = FROM_OTHER, .suspend_answer = SW_E_GONE, .hr = NOBODY },
    { NAME("s1_8w2_failing_suspension_is_unsafe_windows"), STACK, .flavour = WIN, .who = FROM_OTHER, .mode = PREEMPT, .suspend_answer = SW_E_BUSY, .hr = UNSAFE },
    { NAME("s1_8w2_failing_suspension_is_unsafe_documented"), STACK, .who = FROM_OTHER, .suspend_answer = SW_E_OS, .hr = UNSAFE },
    { NAME("s1_8w2_unstarted_thread_is_unsafe_and_not_touched"), STACK, .flavour = WIN, .who = FROM_OTHER, .mode = PREEMPT, .thread_flags = SW_THREAD_UNSTARTED, .hr = UNSAFE },
    { NAME("s1_8w2_no_suspender_is_unsafe"), STACK, .who = FROM_OTHER, .with = NO_SUSPENDER, .hr = UNSAFE },
    { NAME("s1_9a_preemptive_drops_a_bad_seed_windows"), STACK, WHOLE, .flavour = WIN, .mode = PREEMPT, .seed = 'N' },
    { NAME("s1_9a_preemptive_drops_a_bad_seed_unix"), STACK, WHOLE, .flavour = UNIX, .mode = PREEMPT, .seed = 'N' },
    { NAME("s1_9a_preemptive_drops_a_bad_seed_other_windows"), STACK, WHOLE, .flavour = WIN, .mode = PREEMPT, .who = FROM_OTHER, .seed = '?', .suspends = 1 },
    { NAME("s1_9b_cooperative_other_thread_on_unix_under_suspension_is_not_implemented"), STACK, .flavour = UNIX, .mode = COOP, .who = FROM_OTHER, .runtime = STOPPED, .hr = E_NOTIMPL },
    { NAME("s1_9c_registers_that_cannot_be_had_are_unsafe"), STACK, .flavour = WIN, .mode = COOP, .who = FROM_OTHER, .runtime = STOPPED, .suspend_answer = SW_E_BUSY, .hr = UNSAFE },
    { NAME("s1_9c_a_cooperative_target_in_a_system_call_is_unsafe"), .stack = "DCMN", .flavour = WIN, .mode = COOP, .who = FROM_OTHER, .thread_flags = SW_THREAD_IN_SYSTEM_CALL, .suspends = 1, .hr = UNSAFE },
    { NAME("s1_9c_in_a_system_call_no_seed_helps"), .stack = "NDCMN", .flavour = WIN, .mode = COOP, .who = FROM_OTHER, .seed = 'C', .thread_flags = SW_THREAD_IN_SYSTEM_CALL, .suspends = 1, .hr = UNSAFE },
    { NAME("s1_9c_a_suspender_that_says_so_is_believed"), .stack = "DCMN", .flavour = WIN, .mode = COOP, .who = FROM_OTHER, .with = SYSTEM_CALL, .suspends = 1, .hr = UNSAFE },
    { NAME("s1_9c_a_preemptive_target_in_a_system_call_walks"), STACK, WHOLE, .flavour = WIN, .mode = PREEMPT, .who = FROM_OTHER, .with = SYSTEM_CALL, .thread_flags = SW_THREAD_IN_SYSTEM_CALL, .suspends = 1 },
    { NAME("s1_9c_the_current_thread_in_no_system_call_walks"), .stack = "DCMN", .heard = "DCM0", .flavour = WIN, .mode = COOP, .seed = 'D', .thread_flags = SW_THREAD_IN_SYSTEM_CALL },
    { NAME("s1_9c_a_system_call_plays_no_part_in_the_documented_flavour"), STACK, FULL, .who = FROM_OTHER, .with = SYSTEM_CALL, .thread_flags = SW_THREAD_IN_SYSTEM_CALL, .suspends = 1 },
    { NAME("s1_9f_top_record_below_the_stack_pointer_is_unsafe"), .stack = "DNCMN", .records = "D", .flavour = WIN, .mode = COOP, .who = FROM_OTHER, .with = RECORD_BELOW, .suspends = 1, .hr = UNSAFE },
    { NAME("s1_9f_beats_a_short_context"), .stack = "DNCMN", .records = "D", .flavour = WIN, .mode = COOP, .who = FROM_OTHER, .with = RECORD_BELOW, .seed = 'D', .context_size = 9, .suspends = 1, .hr = UNSAFE },
    { NAME("s1_9f_record_above_the_stack_pointer_is_fine"), .stack = "DNCMN", .records = "C", .heard = "D0CM0", .flavour = WIN, .mode = COOP, .who = FROM_OTHER, .suspends = 1 },
    { NAME("s1_9g_own_registers_are_the_seed_windows"), .stack = "DCMN", .heard = "DCM0", .flavour = WIN, .mode = COOP, .who = FROM_OTHER, .suspends = 1 },
    { NAME("s1_9g_a_seed_is_taken_before_own_registers_windows"), .stack = "DCMN", .heard = "CM0", .flavour = WIN, .mode = COOP, .who = FROM_OTHER, .seed = 'C', .suspends = 1 },
    { NAME("s1_9g_a_seed_is_taken_before_own_native_registers_windows"), .stack = "NDCMN", .heard = "CM0", .flavour = WIN, .mode = COOP, .who = FROM_OTHER, .seed = 'C', .suspends = 1 },
    { NAME("s1_9g_a_bad_seed_is_not_replaced_by_own_registers_windows"), .stack = "DCMN", .flavour = WIN, .mode = COOP, .who = FROM_OTHER, .seed = '?', .suspends = 1, .hr = BAD_SEED },
    { NAME("s1_10_seed_in_native_code_windows"), STACK, .flavour = WIN, .mode = COOP, .seed = 'N', .hr = BAD_SEED },
    { NAME("s1_10_seed_in_native_code_unix"), STACK, .flavour = UNIX, .mode = COOP, .seed = 'N', .hr = BAD_SEED },
    { NAME("s1_10_own_native_registers_as_the_seed_windows"), STACK, .flavour = WIN, .mode = COOP, .who = FROM_OTHER, .suspends = 1, .hr = BAD_SEED },
    { NAME("s1_11_unwinding_dispatch_without_seed_windows"), STACK, .flavour = WIN, .mode = PREEMPT, .thread_flags = SW_THREAD_EXCEPTION_PASS2, .hr = BAD_SEED },
    { NAME("s1_11_unwinding_dispatch_without_seed_unix"), STACK, .flavour = UNIX, .mode = COOP, .thread_flags = SW_THREAD_EXCEPTION_PASS2, .hr = BAD_SEED },
    { NAME("s1_11_unwinding_dispatch_with_seed_walks"), STACK, WHOLE, .flavour = UNIX, .mode = COOP, .seed = 'D', .thread_flags = SW_THREAD_EXCEPTION_PASS2 },
    { NAME("s1_11_unwinding_dispatch_drops_the_seed_of_a_preemptive_thread"), STACK, .flavour = UNIX, .mode = PREEMPT, .seed = 'D', .thread_flags = SW_THREAD_EXCEPTION_PASS2, .hr = BAD_SEED },
    { NAME("s1_11_beats_the_inconsistent_exception_state"), STACK, .flavour = UNIX, .mode = PREEMPT, .thread_flags = SW_THREAD_EXCEPTION_PASS2 | SW_THREAD_EXCEPTION_BROKEN, .hr = BAD_SEED },
    { NAME("s1_11_does_not_hold_in_the_documented_flavour"), STACK, FULL, .thread_flags = SW_THREAD_EXCEPTION_PASS2 },
    { NAME("s1_12_inconsistent_exception_state_is_unsafe_with_seed"), STACK, .flavour = UNIX, .mode = COOP, .seed = 'D', .thread_flags = SW_THREAD_EXCEPTION_BROKEN, .hr = UNSAFE },
    { NAME("s1_12_inconsistent_exception_state_is_unsafe_without_seed"), STACK, .flavour = WIN, .mode = PREEMPT, .thread_flags = SW_THREAD_EXCEPTION_BROKEN, .hr = UNSAFE },
    { NAME("s1_12_a_bad_seed_beats_it"), STACK, .flavour = UNIX, .mode = COOP, .seed = 'N', .thread_flags = SW_THREAD_EXCEPTION_BROKEN, .hr = BAD_SEED },
    { NAME("s1_12_does_not_hold_in_the_documented_flavour"), STACK, FULL, .thread_flags = SW_THREAD_EXCEPTION_BROKEN },
    { NAME("s1_13_walk_unix"), STACK, WHOLE, .flavour = UNIX, .mode = PREEMPT },

    /* 2.1 thread */
    { NAME("s2_1_null_from_a_thread_never_managed_is_a_silent_success_windows"), STACK, .flavour = WIN, .who = FROM_STRANGER, .with = THREAD_ZERO },
    { NAME("s2_1_null_from_a_thread_never_managed_is_a_silent_success_unix"), STACK, .flavour = UNIX, .who = FROM_STRANGER, .with = THREAD_ZERO },
    { NAME("s2_1_null_from_a_thread_never_managed_is_refused_documented"), STACK, .who = FROM_STRANGER, .with = THREAD_ZERO, .hr = NOBODY },
    { NAME("s2_1_null_from_a_thread_never_managed_that_suspended_the_runtime_too"), STACK, .flavour = UNIX, .who = FROM_STRANGER, .with = THREAD_ZERO, .runtime = STOPPED },
    { NAME("s2_1_null_from_a_gc_special_thread_is_a_silent_success"), STACK, .flavour = UNIX, .thread_flags = SW_THREAD_GC_SPECIAL },
    { NAME("s2_1_null_is_the_current_thread_without_suspension"), STACK, WHOLE, .flavour = UNIX, .mode = PREEMPT },
    { NAME("s2_1_own_id_is_the_current_thread_without_suspension"), STACK, WHOLE, .flavour = UNIX, .mode = PREEMPT, .who = OWN_ID },
    { NAME("s2_1_other_id_unix_not_suspended"), STACK, .flavour = UNIX, .who = FROM_STRANGER, .thread = TARGET, .hr = E_NOTIMPL },
    { NAME("s2_1_other_id_unix_suspended_drops_the_seed"), STACK, WHOLE, .flavour = UNIX, .who = FROM_STRANGER, .thread = TARGET, .runtime = STOPPED, .seed = 'N' },
    { NAME("s2_1_other_id_unix_suspended_is_not_suspended_again"), STACK, WHOLE, .flavour = UNIX, .who = FROM_OTHER, .mode = PREEMPT, .runtime = STOPPED },
    { NAME("s2_1_other_id_windows_is_suspended_walked_resumed"), STACK, WHOLE, .flavour = WIN, .who = FROM_OTHER, .mode = PREEMPT, .suspends = 1 },
    { NAME("s2_1_other_id_windows_after_suspend_runtime_is_not_suspended"), STACK, WHOLE, .flavour = WIN, .who = FROM_OTHER, .mode = PREEMPT, .runtime = STOPPED },
    { NAME("s2_1_other_id_documented_is_suspended_walked_resumed"), STACK, FULL, .who = FROM_OTHER, .suspends = 1 },
    { NAME("s2_1_arbitrary_number_is_refused_windows"), STACK, .flavour = WIN, .thread = 0xdead, .hr = NOBODY },
    { NAME("s2_1_arbitrary_number_is_not_implemented_unix"), STACK, .flavour = UNIX, .thread = 1u << 20, .hr = E_NOTIMPL },
    { NAME("s2_1_arbitrary_number_unix_after_suspend_runtime_fails"), STACK, .flavour = UNIX, .thread = 1u << 20, .runtime = STOPPED, .hr = E_FAIL },
    { NAME("s2_1_heap_not_ready_beats_an_arbitrary_number_unix"), STACK, .flavour = UNIX, .thread = 1u << 20, .not_runtime = SW_RUNTIME_HEAP_READY, .hr = S_OK },
    { NAME("s2_1_heap_not_ready_beats_an_arbitrary_number_windows"), STACK, .flavour = WIN, .thread = 1u << 20, .not_runtime = SW_RUNTIME_HEAP_READY, .hr = S_OK },
    { NAME("s2_1_arbitrary_number_is_refused_documented"), STACK, .thread = 3, .hr = NOBODY },
    { NAME("s2_1_thread_being_created_has_no_frames_unix"), .stack = "N", .flavour = UNIX, .thread_flags = SW_THREAD_UNSTARTED, .who = FROM_OTHER, .runtime = STOPPED, .hr = E_FAIL },
    { NAME("s2_1_managed_thread_without_a_managed_frame_fails"), .stack = "NN", .flavour = UNIX, .mode = PREEMPT, .hr = E_FAIL },
    { NAME("s2_1_the_same_with_some_record_is_a_silent_success"), .stack = "NN", .flavour = UNIX, .mode = PREEMPT, .with = PRESTUB },

    /* 2.2 where the call comes from */
    /* inside: the runtime has left a record of the frame that called out; nothing nearer the leaf is managed */
    { NAME("s2_2_inside_a_profiler_callback_no_seed_is_needed_unix"), .stack = "NNDCNMN", .records = "DM", .heard = "DC0M0", .flavour = UNIX, .mode = PREEMPT, .with = NO_CAPTURE },
    { NAME("s2_2_inside_a_profiler_callback_no_seed_is_needed_windows"), .stack = "NNDCNMN", .records = "DM", .heard = "DC0M0", .flavour = WIN, .mode = PREEMPT, .with = NO_CAPTURE },
    { NAME("s2_2_inside_a_profiler_callback_no_seed_is_looked_at"), .stack = "NNDCNMN", .records = "DM", .heard = "DC0M0", .flavour = UNIX, .mode = PREEMPT, .seed = 'C' },
    /* outside: a record is of an outer call, and frames nearer the leaf are missed; with a seed they are not */
    { NAME("s2_2_outside_a_profiler_callback_frames_without_record_are_missed"), .stack = "DCNMN", .records = "M", .heard = "M0", .flavour = UNIX, .mode = COOP },
    { NAME("s2_2_outside_a_profiler_callback_a_seed_finds_them"), .stack = "DCNMN", .records = "M", .heard = "DC0M0", .flavour = UNIX, .mode = COOP, .seed = 'D' },
    { NAME("s2_2_enter_hook_without_record_fails"), .stack = "NDMN", .flavour = UNIX, .mode = COOP, .hr = E_FAIL },
    { NAME("s2_2_enter_hook_with_a_seed_works"), .stack = "NDMN", .heard = "DM0", .flavour = UNIX, .mode = COOP, .seed = 'D' },
    { NAME("s2_2_signal_handler_preemptive_drops_the_seed"), STACK, WHOLE, .flavour = UNIX, .mode = PREEMPT, .seed = '?' },
    { NAME("s2_2_signal_handler_cooperative_in_managed_code_uses_the_seed"), .stack = "NDMN", .heard = "DM0", .flavour = UNIX, .mode = COOP, .seed = 'D', .who = OWN_ID },
    { NAME("s2_2_signal_handler_cooperative_in_a_stub_is_refused"), .stack = "NsDMN", .flavour = UNIX, .mode = COOP, .seed = 's', .hr = BAD_SEED },
    { NAME("s2_2_thread_that_suspended_the_runtime_walks_anyone"), STACK, WHOLE, .flavour = UNIX, .who = FROM_OTHER, .mode = PREEMPT, .runtime = STOPPED },

    /* 2.3 infoFlags */
    { NAME("s2_3_flags_0"), STACK, WHOLE, .flavour = UNIX, .mode = PREEMPT, .info_flags = 0 },
    { NAME("s2_3_flags_1"), STACK, WHOLE, .flavour = UNIX, .mode = PREEMPT, .info_flags = 1 },
    { NAME("s2_3_flags_2_x86_optimized_is_invalid_here"), STACK, .flavour = WIN, .mode = PREEMPT, .info_flags = 2, .hr = E_INVALIDARG },
    { NAME("s2_3_flags_2_x86_optimized_is_invalid_here_documented"), STACK, .info_flags = 2, .hr = E_INVALIDARG },
    { NAME("s2_3_flags_3"), STACK, .flavour = WIN, .mode = PREEMPT, .info_flags = 3, .hr = E_INVALIDARG },
    { NAME("s2_3_flags_10"), STACK, .flavour = UNIX, .info_flags = 0x10, .hr = E_INVALIDARG },
    { NAME("s2_3_flags_top_bit"), STACK, .flavour = UNIX, .info_flags = 0x80000000u, .hr = E_INVALIDARG },
    { NAME("s2_3_flags_all"), STACK, .info_flags = 0xffffffffu, .hr = E_INVALIDARG },

    /* 2.4 callback == null */
    { NAME("s2_4_null_callback_is_invalid_documented"), STACK, .with = NO_CALLBACK, .hr = E_INVALIDARG },
    { NAME("s2_4_null_callback_is_invalid_windows"), STACK, .flavour = WIN, .with = NO_CALLBACK, .hr = E_INVALIDARG },
    { NAME("s2_4_null_callback_is_invalid_unix"), STACK, .flavour = UNIX, .with = NO_CALLBACK, .hr = E_INVALIDARG },
    { NAME("s2_4_event_mask_beats_a_null_callback"), STACK, .with = NO_CALLBACK | MASK_OFF, .hr = CORPROF_E_INCONSISTENT_WITH_FLAGS },
    { NAME("s2_4_null_callback_beats_a_bogus_thread"), STACK, .flavour = UNIX, .with = NO_CALLBACK, .thread = 77, .hr = E_INVALIDARG },

    /* 2.5 seed */
    { NAME("s2_5_no_seed_preemptive_starts_at_the_top_record"), STACK, WHOLE, .flavour = UNIX, .mode = PREEMPT },
    { NAME("s2_5_no_seed_cooperative_misses_frames_nearer_the_leaf"), .stack = "DNCMN", .records = "C", .heard = "CM0", .flavour = UNIX, .mode = COOP },
    { NAME("s2_5_no_seed_cooperative_no_record_fails"), .stack = "DCMN", .flavour = UNIX, .mode = COOP, .hr = E_FAIL },
    { NAME("s2_5_no_seed_cooperative_other_windows_takes_its_context"), .stack = "DNCMN", .records = "C", .heard = "D0CM0", .flavour = WIN, .mode = COOP, .who = FROM_OTHER, .suspends = 1 },
    { NAME("s2_5_no_seed_cooperative_other_windows_in_helper_code"), .stack = "sDCMN", .flavour = WIN, .mode = COOP, .who = FROM_OTHER, .suspends = 1, .hr = BAD_SEED },
    { NAME("s2_5_garbage_preemptive_is_ignored"), STACK, WHOLE, .flavour = WIN, .mode = PREEMPT, .seed = '?' },
    { NAME("s2_5_zeros_preemptive_are_ignored"), STACK, WHOLE, .flavour = UNIX, .mode = PREEMPT, .seed = '-' },
    { NAME("s2_5_seed_in_jit_code_is_used"), .stack = "NDCMN", .heard = "CM0", .flavour = UNIX, .mode = COOP, .seed = 'C' },
    { NAME("s2_5_seed_in_precompiled_code_is_used"), .stack = "NghMN", .heard = "ghM0", .flavour = WIN, .mode = COOP, .seed = 'g' },
    { NAME("s2_5_seed_in_an_il_stub_is_used"), .stack = "NiMN", .heard = "M0", .flavour = UNIX, .mode = COOP, .seed = 'i' },
    { NAME("s2_5_seed_in_a_dynamic_method_is_used"), .stack = "NdMN", .heard = "M0", .flavour = UNIX, .mode = COOP, .seed = 'd' },
    { NAME("s2_5_seed_in_a_stub_is_refused"), .stack = "NsMN", .flavour = UNIX, .mode = COOP, .seed = 's', .hr = BAD_SEED },
    { NAME("s2_5_seed_in_native_code_is_refused"), STACK, .flavour = WIN, .mode = COOP, .seed = 'N', .hr = BAD_SEED },
    { NAME("s2_5_seed_with_ip_0_is_refused"), STACK, .flavour = UNIX, .mode = COOP, .seed = '-', .hr = BAD_SEED },
    { NAME("s2_5_seed_nowhere_is_refused"), STACK, .flavour = UNIX, .mode = COOP, .seed = '?', .hr = BAD_SEED },
    { NAME("s2_5_managed_ip_but_no_stack_is_unexpected_without_a_callback_unix"), .stack = "NDCMN", .flavour = UNIX, .mode = COOP, .seed = 'D', .with = STACK_UNREADABLE, .hr = E_UNEXPECTED },
    { NAME("s2_5_managed_ip_but_no_stack_is_unexpected_without_a_callback_windows"), .stack = "NDCMN", .flavour = WIN, .mode = COOP, .seed = 'D', .with = STACK_UNREADABLE, .hr = E_UNEXPECTED },
    { NAME("s2_5_managed_ip_but_no_stack_gives_one_callback_then_fails_documented"), .stack = "NDCMN", .heard = "D", .seed = 'D', .with = STACK_UNREADABLE, .hr = E_FAIL },
    { NAME("s2_5_larger_context_size_has_no_effect"), STACK, WHOLE, .flavour = UNIX, .mode = COOP, .seed = 'D', .context_size = 3232 },
    { NAME("s2_5_any_size_that_holds_the_registers_will_do"), STACK, WHOLE, .flavour = UNIX, .mode = COOP, .seed = 'D', .context_size = 256 },
    { NAME("s2_5_short_context_is_not_looked_at_when_preemptive"), STACK, WHOLE, .flavour = UNIX, .mode = PREEMPT, .seed = 'D', .context_size = 4 },
    { NAME("s2_5_short_context_is_invalid_where_it_is_looked_at"), STACK, .flavour = UNIX, .mode = COOP, .seed = 'D', .context_size = 255, .hr = E_INVALIDARG },
    { NAME("s2_5_short_context_is_invalid_documented"), STACK, .mode = PREEMPT, .seed = 'D', .context_size = 48, .hr = E_INVALIDARG },
    { NAME("s2_5_seed_passes_over_records_below_its_caller"), .stack = "NDNCxBMN", .records = "DCB", .heard = "C0BM0", .flavour = UNIX, .mode = COOP, .seed = 'C' },
    { NAME("s2_5_records_deeper_than_the_seed_keep_their_place"), .stack = "DxCxBMN", .records = "CB", .heard = "D0C0BM0", .flavour = WIN, .mode = COOP, .who = FROM_OTHER, .seed = 'D', .suspends = 1 },
    { NAME("s2_5_seed_beats_the_top_record_when_cooperative"), .stack = "NDNCMN", .records = "DC", .heard = "CM0", .flavour = UNIX, .mode = COOP, .seed = 'C' },

    /* 2.6 state of the target */
    { NAME("s2_6_hijack_in_the_making_is_unsafe"), STACK, .flavour = WIN, .who = FROM_OTHER, .mode = PREEMPT, .thread_flags = SW_THREAD_HIJACK_LOCKED, .hr = UNSAFE },
    { NAME("s2_6_parked_other_thread_windows_without_suspend_runtime_fails"), .stack = "NDCMN", .records = "D", .flavour = WIN, .who = FROM_OTHER, .mode = PREEMPT, .thread_flags = SW_THREAD_RESUMABLE_TOP, .suspends = 1, .hr = E_FAIL },
    { NAME("s2_6_parked_other_thread_after_suspend_runtime_walks"), STACK, WHOLE, .flavour = WIN, .who = FROM_OTHER, .mode = PREEMPT, .runtime = STOPPED, .thread_flags = SW_THREAD_RESUMABLE_TOP },
    { NAME("s2_6_parked_current_thread_walks"), STACK, WHOLE, .flavour = WIN, .mode = PREEMPT, .thread_flags = SW_THREAD_RESUMABLE_TOP },
    { NAME("s2_6_gc_in_progress_seen_from_a_gc_thread_is_a_silent_success"), STACK, .flavour = UNIX, .thread_flags = SW_THREAD_GC_SPECIAL },
    { NAME("s2_6_suspension_just_starting_is_unsafe"), STACK, .flavour = WIN, .who = FROM_OTHER, .mode = PREEMPT, .runtime = SW_RUNTIME_SUSPENDING, .hr = UNSAFE },
    { NAME("s2_6_second_pass_is_refused"), STACK, .flavour = UNIX, .mode = PREEMPT, .thread_flags = SW_THREAD_EXCEPTION_PASS2, .hr = BAD_SEED },

    /* 2.7 what the callback answers */
    { NAME("s2_7_s_false_aborts"), STACK, .flavour = UNIX, .mode = PREEMPT, .heard = "D", .answer = S_FALSE, .answer_at = 1, .hr = ABORTED },
    { NAME("s2_7_other_success_codes_abort"), STACK, .flavour = WIN, .mode = PREEMPT, .heard = "DC", .answer = 2, .answer_at = 2, .hr = ABORTED },
    { NAME("s2_7_failure_codes_abort_and_are_lost"), STACK, .flavour = UNIX, .mode = PREEMPT, .heard = "D", .answer = E_FAIL, .answer_at = 1, .hr = ABORTED },
    { NAME("s2_7_abort_on_the_very_last_frame_is_still_an_abort"), STACK, WHOLE, .flavour = UNIX, .mode = PREEMPT, .answer = E_NOTIMPL, .answer_at = 4, .hr = ABORTED },
    { NAME("s2_7_abort_documented_resumes_the_target"), STACK, .heard = "0D", .who = FROM_OTHER, .answer = S_FALSE, .answer_at = 2, .suspends = 1, .hr = ABORTED },
    { NAME("s2_7_s_ok_goes_on"), STACK, WHOLE, .flavour = WIN, .mode = PREEMPT, .answer = S_OK, .answer_at = 1 },

    /* mode unknown, in the flavours that need one: a seed is used where the top is managed or stub code */
    { NAME("mode_unknown_stub_top_is_cooperative_unix"), .stack = "sDCMN", .records = "M", .heard = "DCM0", .flavour = UNIX, .seed = 'D' },
    { NAME("mode_unknown_stub_top_is_cooperative_windows"), .stack = "sDCMN", .records = "M", .heard = "DCM0", .flavour = WIN, .who = FROM_OTHER, .seed = 'D', .suspends = 1 },
    { NAME("mode_unknown_stub_top_without_seed_is_no_managed_code_windows"), .stack = "sDCMN", .records = "M", .flavour = WIN, .who = FROM_OTHER, .suspends = 1, .hr = BAD_SEED },
    { NAME("mode_unknown_precompiled_top_is_cooperative_unix"), .stack = "gDCMN", .records = "M", .heard = "DCM0", .flavour = UNIX, .seed = 'D' },
    { NAME("mode_unknown_precompiled_top_is_its_own_seed_windows"), .stack = "gDCMN", .records = "M", .heard = "gDCM0", .flavour = WIN, .who = FROM_OTHER, .suspends = 1 },
    { NAME("mode_unknown_native_top_with_a_record_drops_the_seed"), .stack = "NDCMN", .records = "M", .heard = "M0", .flavour = UNIX, .seed = 'D' },
    { NAME("mode_unknown_managed_top_is_cooperative"), .stack = "DCMN", .records = "M", .heard = "CM0", .flavour = UNIX, .seed = 'C' },
    { NAME("mode_unknown_native_top_with_a_record_is_preemptive"), STACK, WHOLE, .flavour = UNIX, .seed = 'N' },
    { NAME("mode_unknown_native_top_without_record_is_cooperative"), .stack = "NDMN", .flavour = UNIX, .seed = 'N', .hr = BAD_SEED },
};
/* clang-format on */

static void nested_call(struct simstack *stack)
{
    struct sw_engine *engine = stack->engine;
    stack->in_callback = NULL;
    stack->conduct_count = 0;
    const HRESULT hr = sw_snapshot(engine, &stack->scratch, 0, hear, 0, stack, NULL, 0);
    assert_int_equal((uint32_t)hr, (uint32_t)CORPROF_E_STACKSNAPSHOT_UNSAFE);
    assert_int_equal(count_conduct(stack, SW_CONDUCT_NESTED_WALK), 1);
}

static void nested_call_for_a_gc_thread(struct simstack *stack)
{
    stack->in_callback = NULL;
    assert_int_equal(sw_snapshot(stack->engine, &stack->scratch, OTHER, hear, 0, stack, NULL, 0), S_OK);
}

static void s1_4_not_managed_beats_a_nested_call(void **state)
{
    static struct simstack stack;
    const struct situation row = { STACK, .flavour = UNIX, .mode = PREEMPT };
    const struct sw_thread gc = { .id = OTHER, .os_id = OTHER, .flags = SW_THREAD_GC_SPECIAL };
    (void)state;
    arrange(&stack, &row);
    assert_int_equal(sw_threads_update(sw_sim_threads(stack.sim), &gc), SW_OK);
    stack.in_callback = nested_call_for_a_gc_thread;
    assert_int_equal(ask(&stack, &row), S_OK);
    assert_string_equal(stack.said, "DCM0");
    assert_int_equal(stack.conduct_count, 0);
    tear_down(&stack);
}

/* Step 5 and clr-observed.md section 1: the hijack lock is held for the whole of the outer call. */
static void s1_5_a_nested_call_is_unsafe_and_the_outer_one_goes_on(void **state)
{
    static struct simstack stack;
    static const enum sw_flavour flavours[] = { DOC, WIN, UNIX };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const struct situation row = { STACK, .flavour = flavours[i], .mode = PREEMPT };
        arrange(&stack, &row);
        stack.in_callback = nested_call;
        assert_int_equal(ask(&stack, &row), S_OK);
        assert_string_equal(stack.said, flavours[i] == DOC ? "0DCM0" : "DCM0");
        assert_int_equal((uint32_t)stack.engine->refusal.hr, (uint32_t)CORPROF_E_STACKSNAPSHOT_UNSAFE);
        tear_down(&stack);
    }
}

static void s1_8w_thread_without_os_id_is_refused(void **state)
{
    static struct simstack stack;
    const struct situation row = { STACK, .thread = 5 };
    (void)state;
    arrange(&stack, &row);
    assert_int_equal(sw_threads_add(sw_sim_threads(stack.sim), &(struct sw_thread){ .id = 5 }), SW_OK);
    assert_int_equal((uint32_t)ask(&stack, &row), (uint32_t)NOBODY);
    tear_down(&stack);
}

/* Where the runtime's own record says that the thread is parked; what is further out names a method, and counts not. */
static void s2_6_a_resumable_record_on_top_is_a_parked_thread(void **state)
{
    static struct simstack stack;
    static const struct situation rows[] = {
        { .stack = "NDCMN", .records = "DM", .flavour = WIN, .who = FROM_OTHER, .mode = PREEMPT, .hr = E_FAIL },
        { .stack = "NDCMN", .records = "D", .flavour = WIN, .who = FROM_OTHER, .mode = PREEMPT, .runtime = STOPPED },
        { .stack = "NDCMN", .records = "D", .flavour = WIN, .mode = PREEMPT },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arrange(&stack, &rows[i]);
        stack.records[0].resumable = true;
        assert_int_equal((uint32_t)ask(&stack, &rows[i]), (uint32_t)rows[i].hr);
        assert_string_equal(stack.said, i == 0 ? "" : "DCM0");
        tear_down(&stack);
    }
}

/* On Linux the CLR comes to its refusal of other threads first (clr-observed.md section 1). */
static void s2_1_an_ended_thread_is_refused_in_all_flavours(void **state)
{
    static struct simstack stack;
    (void)state;
    for (enum sw_flavour flavour = DOC; flavour < SW_FLAVOUR_COUNT; flavour++) {
        const struct situation row = { STACK, .flavour = flavour, .thread = OTHER };
        arrange(&stack, &row);
        assert_int_equal(sw_threads_remove(sw_sim_threads(stack.sim), OTHER), SW_OK);
        assert_int_equal((uint32_t)ask(&stack, &row), flavour == UNIX ? (uint32_t)E_NOTIMPL : (uint32_t)NOBODY);
        tear_down(&stack);
    }
}

static void null_engine_scratch_and_parts_are_invalid(void **state)
{
    static struct simstack stack;
    struct sw_engine engine;
    (void)state;
    build_stack(&stack, "NMN");
    engine = *stack.engine;
    assert_int_equal((uint32_t)sw_snapshot(NULL, &stack.scratch, 0, hear, 0, &stack, NULL, 0), (uint32_t)E_INVALIDARG);
    assert_int_equal((uint32_t)sw_snapshot(&engine, NULL, 0, hear, 0, &stack, NULL, 0), (uint32_t)E_INVALIDARG);
    engine.walker = NULL;
    assert_int_equal((uint32_t)sw_snapshot(&engine, &stack.scratch, 0, hear, 0, &stack, NULL, 0),
                     (uint32_t)E_INVALIDARG);
    engine = *stack.engine;
    engine.threads = NULL;
    assert_int_equal((uint32_t)sw_snapshot(&engine, &stack.scratch, 0, hear, 0, &stack, NULL, 0),
                     (uint32_t)E_INVALIDARG);
    engine = *stack.engine;
    engine.flavour = SW_FLAVOUR_COUNT;
    assert_int_equal((uint32_t)sw_snapshot(&engine, &stack.scratch, 0, hear, 0, &stack, NULL, 0),
                     (uint32_t)E_INVALIDARG);
    engine = *stack.engine;
    engine.context_size = 1000;
    assert_int_equal((uint32_t)sw_snapshot(&engine, &stack.scratch, 0, hear, 0, &stack, NULL, 0),
                     (uint32_t)E_INVALIDARG);
    assert_string_equal(stack.said, "");
    tear_down(&stack);
}

static void a_refused_seed_is_explained_with_the_nearest_good_one(void **state)
{
    static struct simstack stack;
    const struct situation row = { STACK, .flavour = UNIX, .mode = COOP, .seed = 'N' };
    (void)state;
    arrange(&stack, &row);
    assert_int_equal((uint32_t)ask(&stack, &row), (uint32_t)BAD_SEED);
    const struct sw_refusal *refusal = &stack.engine->refusal;
    assert_int_equal(refusal->address, sw_regs_pc(&stack.regs[0]));
    assert_int_equal(refusal->kind, SW_KIND_NATIVE);
    assert_string_equal(refusal->reason, "seed_is_not_managed_code");
    assert_true(refusal->has_nearest_seed);
    assert_int_equal(sw_regs_pc(&refusal->nearest_seed), sw_regs_pc(&stack.regs[1]));
    assert_int_equal(sw_regs_sp(&refusal->nearest_seed), sw_regs_sp(&stack.regs[1]));
    /* and with that one the walk succeeds */
    assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, &refusal->nearest_seed, stack.context, SW_CONTEXT_X64_BYTES),
                     SW_OK);
    assert_int_equal(ask(&stack, &row), S_OK);
    assert_string_equal(stack.said, "DCM0");
    tear_down(&stack);
}

static void a_refused_seed_without_a_good_one_says_so(void **state)
{
    static struct simstack stack;
    const struct situation row = { STACK, .flavour = UNIX, .mode = COOP, .seed = '?' };
    (void)state;
    arrange(&stack, &row);
    assert_int_equal((uint32_t)ask(&stack, &row), (uint32_t)BAD_SEED);
    assert_int_equal(stack.engine->refusal.address, UINT64_C(0xbad0000000) + 16 * 0x111);
    assert_false(stack.engine->refusal.has_nearest_seed);
    tear_down(&stack);
}

/* clr-contract.md section 8: GetFunctionFromIP. */
static void s8_function_from_ip_by_kind_and_flavour(void **state)
{
    static struct simstack stack;
    static const struct {
        char letter;
        HRESULT documented, clr;
    } rows[] = { { 'D', S_OK, S_OK },   { 'g', S_OK, S_OK },     { 'e', S_OK, S_OK },
                 { 'i', S_OK, E_FAIL }, { 's', E_FAIL, E_FAIL }, { 'N', E_FAIL, E_FAIL } };
    (void)state;
    build_stack(&stack, "DgeisN");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const uint64_t ip = code_of_frame(&stack, frame_of_letter(&stack, rows[i].letter));
        FunctionID id = 0x7777;
        stack.engine->flavour = DOC;
        assert_int_equal((uint32_t)sw_function_from_ip(stack.engine, ip, &id), (uint32_t)rows[i].documented);
        assert_int_equal(id, rows[i].documented == S_OK ? (FunctionID)rows[i].letter : 0);
        stack.engine->flavour = UNIX;
        id = 0x7777;
        assert_int_equal((uint32_t)sw_function_from_ip(stack.engine, ip, &id), (uint32_t)rows[i].clr);
        assert_int_equal(id, rows[i].clr == S_OK ? (FunctionID)rows[i].letter : 0x7777);
        assert_int_equal((uint32_t)sw_function_from_ip(stack.engine, ip, NULL), (uint32_t)rows[i].clr);
    }
    assert_int_equal((uint32_t)sw_function_from_ip(stack.engine, 0, NULL), (uint32_t)E_FAIL);
    assert_int_equal((uint32_t)sw_function_from_ip(NULL, 0, NULL), (uint32_t)E_INVALIDARG);
    stack.engine->runtime = SW_RUNTIME_STARTED;
    assert_int_equal((uint32_t)sw_function_from_ip(stack.engine, 0x100000, NULL),
                     (uint32_t)CORPROF_E_NOT_YET_AVAILABLE);
    tear_down(&stack);
}

/*
 * CoreCLR JIT code that is known from a perf map: id = address. The header in front of it knows the FunctionID, and
 * both the walk and GetFunctionFromIP give that one. push rbp; nop ...; win-x64-unwind.md section 9.
 */
static void s8_function_from_ip_of_clr_jit_code_is_what_the_walk_reports(void **state)
{
    enum { HEAP = 0x30000, BEGIN = HEAP + 0x100, END = BEGIN + 16, INFO = HEAP + 0x120, HEADER = 0x38000, SP = 0x7000 };
    static const FunctionID method = 0x7f12345678;
    static const uint8_t code[16] = { 0x55, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
                                      0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x5d, 0xc3 };
    static const uint8_t info[] = { 0x19, 1, 1, 0, 1, 0x50, 0, 0, 0, 0, 0, 0 };
    static const uint32_t functions[] = { 1, 0x100, 0x110, 0x120 };
    const uint64_t header_at = HEADER, zeros[2] = { 0 };
    static struct simstack stack;
    struct sw_range range = {
        .begin = BEGIN, .end = END, .id = BEGIN, .kind = SW_KIND_JIT, .unwind = SW_UNWIND_CLR_HEADER
    };
    struct sw_regs regs = garbage_regs();
    FunctionID id = 0;
    (void)state;
    build_stack(&stack, "N");
    assert_int_equal(sw_sim_words(stack.sim, BEGIN - 8, &header_at, 1), SW_OK);
    assert_int_equal(sw_sim_bytes(stack.sim, BEGIN, code, sizeof code), SW_OK);
    assert_int_equal(sw_sim_bytes(stack.sim, INFO, info, sizeof info), SW_OK);
    assert_int_equal(sw_sim_words(stack.sim, HEADER + 8, (const uint64_t[]){ 0, 0, method }, 3), SW_OK);
    assert_int_equal(sw_sim_bytes(stack.sim, HEADER + 32, functions, sizeof functions), SW_OK);
    assert_int_equal(sw_sim_words(stack.sim, SP, zeros, 2), SW_OK);
    assert_int_equal(sw_codemap_add(sw_sim_codemap(stack.sim), &range), SW_OK);
    sw_regs_set(&regs, SW_X64_RIP, BEGIN + 4);
    sw_regs_set(&regs, SW_X64_RSP, SP);
    assert_int_equal(sw_sim_thread(stack.sim, OTHER, &regs), SW_OK);
    assert_int_equal(sw_snapshot(stack.engine, &stack.scratch, OTHER, hear, 0, &stack, NULL, 0), S_OK);
    assert_int_equal(stack.heard[0].function, method);
    assert_int_equal(sw_function_from_ip(stack.engine, BEGIN + 4, &id), S_OK);
    assert_int_equal(id, method);
    assert_int_equal(sw_sim_bytes(stack.sim, HEADER + 32, zeros, 4), SW_OK); /* a header that does not validate */
    assert_int_equal(sw_function_from_ip(stack.engine, BEGIN + 4, &id), S_OK);
    assert_int_equal(id, BEGIN);
    tear_down(&stack);
}

int main(void)
{
    const struct CMUnitTest singles[] = {
        cmocka_unit_test(s1_5_a_nested_call_is_unsafe_and_the_outer_one_goes_on),
        cmocka_unit_test(s1_4_not_managed_beats_a_nested_call),
        cmocka_unit_test(s1_8w_thread_without_os_id_is_refused),
        cmocka_unit_test(s2_1_an_ended_thread_is_refused_in_all_flavours),
        cmocka_unit_test(s2_6_a_resumable_record_on_top_is_a_parked_thread),
        cmocka_unit_test(null_engine_scratch_and_parts_are_invalid),
        cmocka_unit_test(a_refused_seed_is_explained_with_the_nearest_good_one),
        cmocka_unit_test(a_refused_seed_without_a_good_one_says_so),
        cmocka_unit_test(s8_function_from_ip_by_kind_and_flavour),
        cmocka_unit_test(s8_function_from_ip_of_clr_jit_code_is_what_the_walk_reports),
    };
    struct CMUnitTest tests[COUNT_OF(situations) + COUNT_OF(singles)];
    FILL_ROWS(tests, situations, situation_is_answered);
    memcpy(tests + COUNT_OF(situations), singles, sizeof singles);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
