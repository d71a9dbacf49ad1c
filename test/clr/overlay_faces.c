/*
 * The overlay between a vendor's object, a runtime's object and an engine, all three made here: what each is told, in
 * which order, and what comes back. No runtime is needed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "overlay_fakes.h"

/* ---- faces ---- */

static void *query(void *face, REFIID riid, HRESULT expected)
{
    IUnknown *object = face;
    void *found = NULL;
    assert_int_equal(object->lpVtbl->QueryInterface(object, riid, &found), expected);
    return found;
}

static void equal_pointers_have_one_face(void **state)
{
    (void)state;
    assert_ptr_not_equal(callback, &the_vendor);
    assert_ptr_equal(query(callback, &IID_ICorProfilerCallback8, S_OK), callback);
    assert_ptr_equal(query(callback, &IID_ICorProfilerCallback11, S_OK), callback);
    start(0, 0);
    assert_ptr_not_equal(given, &the_runtime);
    assert_ptr_equal(query(given, &IID_ICorProfilerInfo, S_OK), given);
    assert_ptr_equal(query(given, &IID_ICorProfilerInfo15, S_OK), given);
}

static void another_pointer_has_another_face(void **state)
{
    (void)state;
    ICorProfilerCallback11 *version2 = query(callback, &IID_ICorProfilerCallback2, S_OK);
    assert_ptr_not_equal(version2, callback);
    assert_ptr_equal(((struct sw_forward *)version2)->real, &vendors_other);
    assert_ptr_equal(query(version2, &IID_ICorProfilerCallback3, S_OK), callback);
}

static void what_the_vendor_does_not_have_is_not_offered(void **state)
{
    (void)state;
    assert_null(query(callback, &IID_ICorProfilerCallback9, E_NOINTERFACE));
    start(0, 0);
    assert_null(query(given, &IID_ICorProfilerCallback, E_NOINTERFACE));
}

static void unknown_interfaces_are_passed_on(void **state)
{
    (void)state;
    assert_ptr_equal(query(callback, &private_iid, S_OK), story);
    /* A version to come of an object that is wrapped: its slots are forwarded, too. */
    start(0, 0);
    assert_ptr_equal(query(given, &private_iid, S_OK), given);
}

static void references_are_the_vendors(void **state)
{
    (void)state;
    assert_int_equal(vendor_references, 1);
    assert_int_equal(callback->lpVtbl->AddRef(callback), 2);
    assert_int_equal(callback->lpVtbl->Release(callback), 1);
    ICorProfilerCallback11 *version2 = query(callback, &IID_ICorProfilerCallback2, S_OK);
    assert_int_equal(vendor_references, 2);
    assert_ptr_equal(overlay_of(callback)->faces, version2);
    assert_int_equal(version2->lpVtbl->Release(version2), 1);
    assert_ptr_equal(overlay_of(callback)->faces, callback);
    assert_null(overlay_of(callback)->faces->next);
}

static void the_runtime_is_not_counted(void **state)
{
    (void)state;
    start(0, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(given->lpVtbl->Release(given), 1);
    assert_ptr_equal(query(given, &IID_ICorProfilerInfo2, S_OK), given);
}

/* ---- beginning ---- */

static void where_the_engine_cannot_follow_the_vendor_gets_the_runtime(void **state)
{
    (void)state;
    create_status = SW_E_UNSUPPORTED;
    assert_int_equal(callback->lpVtbl->Initialize(callback, (IUnknown *)&the_runtime), S_OK);
    assert_ptr_equal(given, &the_runtime);
    assert_int_equal(callback->lpVtbl->ThreadCreated(callback, 3), 0x1234);
    ASSERT_STORY("vendor ThreadCreated 3, ");
}

static void when_the_vendor_fails_the_engine_ends(void **state)
{
    (void)state;
    initialize_answer = CORPROF_E_PROFILER_CANCEL_ACTIVATION;
    assert_int_equal(callback->lpVtbl->Initialize(callback, (IUnknown *)&the_runtime),
                     CORPROF_E_PROFILER_CANCEL_ACTIVATION);
    ASSERT_STORY("destroyed ");
    given->lpVtbl->DoStackSnapshot(given, 7, NULL, 0, NULL, NULL, 0);
    ASSERT_STORY("runtime 7, ");
}

static void an_attached_profiler_asks_for_what_is_allowed_then(void **state)
{
    (void)state;
    assert_int_equal(callback->lpVtbl->InitializeForAttach(callback, (IUnknown *)&the_runtime, story, 3), S_OK);
    assert_int_equal(runtime_low, OURS_LOW & COR_PRF_ALLOWABLE_AFTER_ATTACH);
    assert_int_not_equal(runtime_low, OURS_LOW);
    callback->lpVtbl->ProfilerAttachComplete(callback);
    ASSERT_STORY("fed attached, vendor attached, ");
}

/* ---- masks ---- */

static void the_runtime_is_asked_for_both_masks(void **state)
{
    (void)state;
    DWORD low = 0, high = 0;
    start(COR_PRF_MONITOR_GC | COR_PRF_MONITOR_THREADS, COR_PRF_HIGH_BASIC_GC);
    assert_int_equal(runtime_low, OURS_LOW | COR_PRF_MONITOR_GC);
    assert_int_equal(runtime_high, OURS_HIGH | COR_PRF_HIGH_BASIC_GC);
    assert_int_equal(given->lpVtbl->GetEventMask2(given, &low, &high), S_OK);
    assert_int_equal(low, COR_PRF_MONITOR_GC | COR_PRF_MONITOR_THREADS);
    assert_int_equal(high, COR_PRF_HIGH_BASIC_GC);
    assert_int_equal(given->lpVtbl->SetEventMask2(given, 0, OURS_HIGH), S_OK);
    assert_int_equal(given->lpVtbl->GetEventMask2(given, &low, &high), S_OK);
    assert_int_equal(high, OURS_HIGH);
    assert_int_equal(given->lpVtbl->SetEventMask(given, COR_PRF_MONITOR_GC), S_OK);
    assert_int_equal(runtime_high, OURS_HIGH);
    assert_int_equal(given->lpVtbl->GetEventMask(given, &low), S_OK);
    assert_int_equal(low, COR_PRF_MONITOR_GC);
}

static void a_refused_mask_changes_nothing(void **state)
{
    (void)state;
    DWORD low = 0;
    start(COR_PRF_MONITOR_THREADS, 0);
    mask_answer = CORPROF_E_IMMUTABLE_FLAGS_SET;
    assert_int_equal(given->lpVtbl->SetEventMask(given, COR_PRF_MONITOR_JIT_COMPILATION),
                     CORPROF_E_IMMUTABLE_FLAGS_SET);
    assert_int_equal(given->lpVtbl->GetEventMask(given, &low), S_OK);
    assert_int_equal(low, COR_PRF_MONITOR_THREADS);
    callback->lpVtbl->JITCompilationFinished(callback, 4, S_OK, 5);
    callback->lpVtbl->ThreadCreated(callback, 4);
    ASSERT_STORY("fed function_compiled 4/0, fed thread_created 4, vendor ThreadCreated 4, ");
}

static void the_vendor_is_not_called_for_what_it_did_not_ask_for(void **state)
{
    (void)state;
    BOOL allow = FALSE;
    start(0, 0);
    assert_int_equal(callback->lpVtbl->JITCompilationFinished(callback, 4, S_OK, 5), S_OK);
    assert_int_equal(callback->lpVtbl->ThreadDestroyed(callback, 4), S_OK);
    assert_int_equal(callback->lpVtbl->DynamicMethodUnloaded(callback, 4), S_OK);
    ASSERT_STORY("fed function_compiled 4/0, fed thread_destroyed 4, fed function_unloaded 4, ");
    assert_int_equal(callback->lpVtbl->JITInlining(callback, 1, 2, &allow), S_OK);
    assert_true(allow);
    allow = FALSE;
    assert_int_equal(callback->lpVtbl->JITCachedFunctionSearchStarted(callback, 1, &allow), S_OK);
    assert_true(allow);
    /* The engine did not ask for modules here: who else did is the vendor's affair. */
    callback->lpVtbl->ModuleLoadFinished(callback, 6, S_OK);
    ASSERT_STORY("fed module_loaded 6, vendor ModuleLoadFinished 6/0, ");
}

/* ---- events ---- */

static void what_comes_is_told_to_the_engine_first(void **state)
{
    (void)state;
    BOOL allow = TRUE;
    start(OURS_LOW, OURS_HIGH);
    assert_int_equal(callback->lpVtbl->JITCompilationFinished(callback, 4, S_OK, 5), 0x1234);
    ASSERT_STORY("fed function_compiled 4/0, vendor jitted 4/0, ");
    assert_int_equal(callback->lpVtbl->ReJITCompilationFinished(callback, 4, 6, S_OK, 5), 0x1234);
    ASSERT_STORY("fed function_compiled 4/6, re6 vendor jitted 4/0, ");
    assert_int_equal(callback->lpVtbl->DynamicMethodJITCompilationFinished(callback, 4, S_OK, 5), 0x1234);
    ASSERT_STORY("fed dynamic_compiled 4, vendor jitted 4/0, ");
    callback->lpVtbl->JITCachedFunctionSearchFinished(callback, 4, COR_PRF_CACHED_FUNCTION_FOUND);
    ASSERT_STORY("fed function_compiled 4/0, vendor JITCachedFunctionSearchFinished 4/0, ");
    callback->lpVtbl->ThreadCreated(callback, 8);
    ASSERT_STORY("fed thread_created 8, vendor ThreadCreated 8, ");
    callback->lpVtbl->ThreadAssignedToOSThread(callback, 8, 12);
    ASSERT_STORY("fed thread_assigned 812, vendor ThreadAssignedToOSThread 8/12, ");
    callback->lpVtbl->JITInlining(callback, 1, 2, &allow);
    ASSERT_STORY("vendor inlining 12, ");
    assert_false(allow);
    callback->lpVtbl->JITCachedFunctionSearchStarted(callback, 5, &allow);
    ASSERT_STORY("vendor search 5, ");
}

static void what_goes_is_told_to_the_engine_last(void **state)
{
    (void)state;
    start(OURS_LOW, OURS_HIGH);
    assert_int_equal(callback->lpVtbl->ThreadDestroyed(callback, 8), 0x1234);
    ASSERT_STORY("vendor ThreadDestroyed 8, fed thread_destroyed 8, ");
    assert_int_equal(callback->lpVtbl->FunctionUnloadStarted(callback, 8), 0x1234);
    ASSERT_STORY("vendor FunctionUnloadStarted 8, fed function_unloaded 8, ");
    assert_int_equal(callback->lpVtbl->DynamicMethodUnloaded(callback, 8), 0x1234);
    ASSERT_STORY("vendor DynamicMethodUnloaded 8, fed function_unloaded 8, ");
    assert_int_equal(callback->lpVtbl->ModuleUnloadFinished(callback, 8, S_OK), 0x1234);
    ASSERT_STORY("vendor ModuleUnloadFinished 8/0, fed module_unloaded 8, ");
}

static void what_failed_is_not_told_to_the_engine(void **state)
{
    (void)state;
    start(OURS_LOW, OURS_HIGH);
    callback->lpVtbl->JITCompilationFinished(callback, 4, E_FAIL, 5);
    callback->lpVtbl->DynamicMethodJITCompilationFinished(callback, 4, E_FAIL, 5);
    callback->lpVtbl->ReJITCompilationFinished(callback, 4, 6, E_FAIL, 5);
    callback->lpVtbl->JITCachedFunctionSearchFinished(callback, 4, COR_PRF_CACHED_FUNCTION_NOT_FOUND);
    callback->lpVtbl->ModuleLoadFinished(callback, 4, (HRESULT)0x80000001);
    ASSERT_STORY("vendor jitted 4/80004005, vendor jitted 4/80004005, re6 vendor jitted 4/80004005, "
                 "vendor JITCachedFunctionSearchFinished 4/1, vendor ModuleLoadFinished 4/2147483649, ");
}

/* ---- stacks ---- */

static FunctionID reported[16];
static size_t reports;
static HRESULT report_answer;

static HRESULT on_frame(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame, ULONG32 size, BYTE context[],
                        void *data)
{
    (void)frame, (void)size, (void)context;
    assert_true(ip == function * 16 || ip == (function + 1) * 16);
    assert_ptr_equal(data, &reports);
    reported[reports++] = function;
    return report_answer;
}

static HRESULT snapshot_answered(ThreadID thread, HRESULT with)
{
    reports = 0;
    report_answer = with;
    return given->lpVtbl->DoStackSnapshot(given, thread, on_frame, 0, &reports, NULL, 0);
}

static HRESULT snapshot(ThreadID thread)
{
    return snapshot_answered(thread, S_OK);
}

static void until_the_runtime_has_started_it_answers(void **state)
{
    (void)state;
    start(COR_PRF_ENABLE_STACK_SNAPSHOT, 0);
    runtime_answer = CORPROF_E_STACKSNAPSHOT_UNSAFE;
    assert_int_equal(snapshot(0), CORPROF_E_STACKSNAPSHOT_UNSAFE);
    assert_int_equal(given->lpVtbl->GetFunctionFromIP(given, NULL, NULL), CORPROF_E_NOT_YET_AVAILABLE);
    ASSERT_STORY("asked, asked, runtime's function, ");
    runtime_answer = E_INVALIDARG;
    assert_int_equal(snapshot(0), S_OK);
    assert_int_equal(snapshot(0), S_OK);
    ASSERT_STORY("asked, unix 0, unix 0, ");
}

static void without_the_vendors_flag_there_are_no_snapshots(void **state)
{
    (void)state;
    start(COR_PRF_MONITOR_THREADS, 0);
    assert_int_equal(snapshot(0), CORPROF_E_INCONSISTENT_WITH_FLAGS);
    ASSERT_STORY("asked, ");
}

static void where_the_clr_answers_its_flavour_is_asked_alone(void **state)
{
    (void)state;
    start(COR_PRF_ENABLE_STACK_SNAPSHOT, 0);
    answer[SW_FLAVOUR_CORECLR_UNIX] = CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX;
    assert_int_equal(snapshot(5), CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX);
    ASSERT_STORY("asked, unix 5, ");
}

static void a_running_thread_is_walked_as_on_windows(void **state)
{
    (void)state;
    static const FunctionID seen[] = { 3, 0, 4, 0, END };
    start(COR_PRF_ENABLE_STACK_SNAPSHOT, 0);
    answer[SW_FLAVOUR_CORECLR_UNIX] = E_NOTIMPL;
    frames[SW_FLAVOUR_CORECLR_WINDOWS] = seen;
    assert_int_equal(snapshot(5), S_OK);
    ASSERT_STORY("asked, unix 5, windows 5, ");
    assert_int_equal(reports, 4);
    assert_memory_equal(reported, seen, 4 * sizeof(*seen));
    answer[SW_FLAVOUR_CORECLR_WINDOWS] = E_FAIL; /* cut behind frames: they stay, and nothing is told twice */
    assert_int_equal(snapshot(5), E_FAIL);
    ASSERT_STORY("unix 5, windows 5, ");
    assert_int_equal(reports, 4);
}

static void from_helpers_a_running_thread_is_walked_and_looks_as_the_clr_shows_it(void **state)
{
    (void)state;
    static const FunctionID seen[] = { 0, HIDDEN, 3, 0, 4, HIDDEN, 0, 5, 0, END };
    static const FunctionID shown[] = { 3, 0, 4, 0, 5, 0 };
    start(COR_PRF_ENABLE_STACK_SNAPSHOT, 0);
    answer[SW_FLAVOUR_CORECLR_UNIX] = E_NOTIMPL;
    answer[SW_FLAVOUR_CORECLR_WINDOWS] = CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX;
    frames[SW_FLAVOUR_DOCUMENTED] = seen;
    assert_int_equal(snapshot(5), S_OK);
    ASSERT_STORY("asked, unix 5, windows 5, documented 5, ");
    assert_int_equal(reports, 6);
    assert_memory_equal(reported, shown, sizeof(shown));
}

static void a_running_thread_without_managed_frames_is_e_fail(void **state)
{
    (void)state;
    static const FunctionID seen[] = { 0, END };
    start(COR_PRF_ENABLE_STACK_SNAPSHOT, 0);
    answer[SW_FLAVOUR_CORECLR_UNIX] = E_NOTIMPL;
    answer[SW_FLAVOUR_CORECLR_WINDOWS] = E_FAIL;
    frames[SW_FLAVOUR_DOCUMENTED] = seen;
    assert_int_equal(snapshot(5), E_FAIL);
    assert_int_equal(reports, 0);
}

static void a_vendor_that_has_seen_enough_ends_the_walk(void **state)
{
    (void)state;
    static const FunctionID seen[] = { 3, 4, END };
    start(COR_PRF_ENABLE_STACK_SNAPSHOT, 0);
    answer[SW_FLAVOUR_CORECLR_UNIX] = E_NOTIMPL;
    frames[SW_FLAVOUR_CORECLR_WINDOWS] = seen;
    assert_int_equal(snapshot_answered(5, S_FALSE), CORPROF_E_STACKSNAPSHOT_ABORTED);
    assert_int_equal(reports, 1);
    ASSERT_STORY("asked, unix 5, windows 5, ");
}

static void what_an_unknown_runtime_answers_is_left_to_it(void **state)
{
    (void)state;
    static const FunctionID seen[] = { 3, END };
    layout_status = SW_E_UNSUPPORTED;
    start(COR_PRF_ENABLE_STACK_SNAPSHOT, 0);
    assert_int_equal(snapshot(5), E_INVALIDARG);
    assert_int_equal(given->lpVtbl->GetFunctionFromIP(given, NULL, NULL), CORPROF_E_NOT_YET_AVAILABLE);
    ASSERT_STORY("asked, runtime 5, runtime's function, ");
    runtime_answer = E_NOTIMPL;
    frames[SW_FLAVOUR_CORECLR_WINDOWS] = seen;
    assert_int_equal(snapshot(5), S_OK);
    assert_int_equal(reports, 1);
    ASSERT_STORY("runtime 5, windows 5, ");
}

static void functions_are_found_by_the_engine(void **state)
{
    (void)state;
    FunctionID function = 0;
    start(0, 0);
    assert_int_equal(given->lpVtbl->GetFunctionFromIP(given, (LPCBYTE)0x75, &function), S_OK);
    assert_int_equal(function, 7);
    assert_int_equal(given->lpVtbl->GetFunctionFromIP(given, (LPCBYTE)0x91, &function), E_FAIL);
}

/* ---- the runtime as a whole ---- */

static void suspension_is_told_to_the_engine(void **state)
{
    (void)state;
    start(0, 0);
    runtime_answer = CORPROF_E_SUSPENSION_IN_PROGRESS;
    assert_int_equal(given->lpVtbl->SuspendRuntime(given), CORPROF_E_SUSPENSION_IN_PROGRESS);
    assert_int_equal(runtime_bits, 0);
    runtime_answer = S_OK;
    assert_int_equal(given->lpVtbl->SuspendRuntime(given), S_OK);
    assert_int_equal(runtime_bits, SW_RUNTIME_SUSPENDED);
    runtime_answer = CORPROF_E_UNSUPPORTED_CALL_SEQUENCE;
    assert_int_equal(given->lpVtbl->ResumeRuntime(given), CORPROF_E_UNSUPPORTED_CALL_SEQUENCE);
    assert_int_equal(runtime_bits, SW_RUNTIME_SUSPENDED);
    runtime_answer = S_OK;
    assert_int_equal(given->lpVtbl->ResumeRuntime(given), S_OK);
    assert_int_equal(runtime_bits, 0);
    runtime_answer = CORPROF_E_UNSUPPORTED_CALL_SEQUENCE;
    assert_int_equal(given->lpVtbl->ResumeRuntime(given), CORPROF_E_UNSUPPORTED_CALL_SEQUENCE);
    assert_int_equal(runtime_bits, 0);
}

static void detaching_is_told_to_the_engine(void **state)
{
    (void)state;
    start(0, 0);
    assert_int_equal(given->lpVtbl->RequestProfilerDetach(given, 5), E_INVALIDARG);
    assert_int_equal(runtime_bits, 0);
    runtime_answer = S_OK;
    assert_int_equal(given->lpVtbl->RequestProfilerDetach(given, 5), S_OK);
    assert_int_equal(runtime_bits, SW_RUNTIME_DETACHING);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(equal_pointers_have_one_face),
        TEST(another_pointer_has_another_face),
        TEST(what_the_vendor_does_not_have_is_not_offered),
        TEST(unknown_interfaces_are_passed_on),
        TEST(references_are_the_vendors),
        TEST(the_runtime_is_not_counted),
        TEST(where_the_engine_cannot_follow_the_vendor_gets_the_runtime),
        TEST(when_the_vendor_fails_the_engine_ends),
        TEST(an_attached_profiler_asks_for_what_is_allowed_then),
        TEST(the_runtime_is_asked_for_both_masks),
        TEST(a_refused_mask_changes_nothing),
        TEST(the_vendor_is_not_called_for_what_it_did_not_ask_for),
        TEST(what_comes_is_told_to_the_engine_first),
        TEST(what_goes_is_told_to_the_engine_last),
        TEST(what_failed_is_not_told_to_the_engine),
        TEST(until_the_runtime_has_started_it_answers),
        TEST(without_the_vendors_flag_there_are_no_snapshots),
        TEST(where_the_clr_answers_its_flavour_is_asked_alone),
        TEST(a_running_thread_is_walked_as_on_windows),
        TEST(from_helpers_a_running_thread_is_walked_and_looks_as_the_clr_shows_it),
        TEST(a_vendor_that_has_seen_enough_ends_the_walk),
        TEST(a_running_thread_without_managed_frames_is_e_fail),
        TEST(what_an_unknown_runtime_answers_is_left_to_it),
        TEST(functions_are_found_by_the_engine),
        TEST(suspension_is_told_to_the_engine),
        TEST(detaching_is_told_to_the_engine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
