/*
 * What ICorProfilerInfo15 says of threads, suspension and collections, and its hooks of entering and leaving functions.
 * Facts: clr-contract.md section 8. Outputs hold garbage before each call.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "text.h"
#include "tube.h"

#include "../support/scene.h"

enum { GARBAGE = 0x5a5a5a5a };
#define INSUFFICIENT ((HRESULT)0x8007007au)

/* ---- threads, suspension ---- */

static void threads_are_answered_for(void **state)
{
    DWORD os_id = 0;
    HANDLE handle = NULL;
    AppDomainID domain = 0;
    ContextID context = 0;
    ThreadID id = GARBAGE;
    const ThreadID known = sw_tube_thread_id(thread);
    (void)state;
    assert_int_equal(CALL(GetThreadInfo, known, &os_id), S_OK);
    assert_int_equal(os_id, (DWORD)sw_tube_thread_os_id(thread));
    assert_int_equal(CALL(GetThreadInfo, 0, &os_id), E_INVALIDARG);
    assert_int_equal(CALL(GetHandleFromThread, known, &handle), S_OK);
    assert_non_null(handle);
    assert_int_equal(CALL(GetHandleFromThread, known, NULL), S_OK);
    assert_int_equal(CALL(GetThreadAppDomain, known, &domain), S_OK);
    assert_int_equal(domain, sw_tube_id(SW_ID_DOMAIN, 0));
    assert_int_equal(CALL(GetThreadAppDomain, 0, NULL), E_INVALIDARG); /* before the thread is looked at */
    assert_int_equal(CALL(GetThreadAppDomain, 0, &domain), CORPROF_E_NOT_MANAGED_THREAD);
    assert_int_equal(CALL(GetThreadAppDomain, 64, &domain), CORPROF_E_NOT_MANAGED_THREAD);
    assert_int_equal(CALL(GetThreadContext, 64, &context), E_INVALIDARG);
    assert_int_equal(CALL(GetThreadInfo, 64, &os_id), E_INVALIDARG);
    assert_int_equal(CALL(GetHandleFromThread, 64, &handle), E_INVALIDARG);
    assert_int_equal(CALL(GetThreadContext, known, &context), S_OK);
    assert_int_equal(context, domain);
    assert_int_equal(CALL(GetCurrentThreadID, &id), CORPROF_E_NOT_MANAGED_THREAD);
    assert_int_equal(id, GARBAGE);
    assert_int_equal(CALL(InitializeCurrentThread), S_OK);
}

static ThreadID own_id;
static AppDomainID own_domain;
static void who_am_i(void *arg)
{
    (void)arg;
    asked[0] = CALL(GetCurrentThreadID, &own_id);
    asked[1] = CALL(GetThreadAppDomain, 0, &own_domain);
}

static void a_managed_thread_knows_itself(void **state)
{
    (void)state;
    assert_int_equal(sw_tube_run(thread, who_am_i, NULL), SW_OK);
    assert_int_equal(asked[0], S_OK);
    assert_int_equal(own_id, sw_tube_thread_id(thread));
    assert_int_equal(asked[1], S_OK);
    assert_int_equal(own_domain, sw_tube_id(SW_ID_DOMAIN, 0));
}

static void threads_are_enumerated_without_those_that_ended(void **state)
{
    ICorProfilerThreadEnum *threads = NULL;
    ThreadID ids[4] = { 0 };
    ULONG count = 0;
    (void)state;
    struct sw_tube_thread *gone = sw_tube_thread_start(tube, "gone");
    struct sw_tube_thread *other = sw_tube_thread_start(tube, "other");
    assert_int_equal(sw_tube_end(gone), SW_OK);
    assert_int_equal(CALL(EnumThreads, NULL), E_INVALIDARG);
    assert_int_equal(CALL(EnumThreads, &threads), S_OK);
    assert_int_equal(threads->lpVtbl->Next(threads, 4, ids, &count), S_FALSE);
    assert_int_equal(count, 2);
    assert_int_equal(ids[0], sw_tube_thread_id(thread));
    assert_int_equal(ids[1], sw_tube_thread_id(other));
    assert_int_equal(threads->lpVtbl->Release(threads), 0);
}

static void the_runtime_is_suspended_and_resumed(void **state)
{
    (void)state;
    assert_int_equal(CALL(ResumeRuntime), CORPROF_E_UNSUPPORTED_CALL_SEQUENCE);
    assert_int_equal(CALL(SuspendRuntime), S_OK);
    assert_int_equal(CALL(ResumeRuntime), S_OK);
    assert_int_equal(CALL(ResumeRuntime), CORPROF_E_UNSUPPORTED_CALL_SEQUENCE);
}

static void force_gc(void *arg)
{
    (void)arg;
    asked[0] = CALL(ForceGC);
}

static void a_gc_is_forced_on_a_thread_of_the_profilers_own_only(void **state)
{
    (void)state;
    start_scene(COR_PRF_MONITOR_GC, 0);
    assert_int_equal(sw_tube_run(thread, force_gc, NULL), SW_OK);
    assert_int_equal(asked[0], CORPROF_E_UNSUPPORTED_CALL_SEQUENCE);
    assert_int_equal(sw_tube_raised(tube, "GarbageCollectionStarted"), 0);
    assert_int_equal(CALL(ForceGC), S_OK);
    assert_int_equal(sw_tube_raised(tube, "GarbageCollectionStarted"), 1);
}

static void before_the_runtime_has_started_there_is_no_gc(void **state)
{
    (void)state;
    assert_int_equal(sw_tube_create(&options, &tube), SW_OK);
    info = (ICorProfilerInfo15 *)sw_tube_info(tube);
    assert_int_equal(CALL(ForceGC), CORPROF_E_NOT_YET_AVAILABLE);
}

/* ---- hooks and mappers ---- */

static void enter1(FunctionID id)
{
    (void)id;
}
static void enter2(FunctionID id, UINT_PTR client, COR_PRF_FRAME_INFO frame, COR_PRF_FUNCTION_ARGUMENT_INFO *arguments)
{
    (void)id, (void)client, (void)frame, (void)arguments;
}
static void enter3(FunctionIDOrClientID id)
{
    (void)id;
}
static void enter4(FunctionIDOrClientID id, COR_PRF_ELT_INFO elt)
{
    (void)id, (void)elt;
}
static UINT_PTR STDMETHODCALLTYPE map(FunctionID id, BOOL *hook)
{
    (void)hook;
    return id;
}
static UINT_PTR STDMETHODCALLTYPE map2(FunctionID id, void *data, BOOL *hook)
{
    (void)data, (void)hook;
    return id;
}

static void set_hooks_in_initialize(struct listener *self, const char *callback)
{
    const DWORD slow = COR_PRF_MONITOR_ENTERLEAVE | COR_PRF_ENABLE_FRAME_INFO, fast = COR_PRF_MONITOR_ENTERLEAVE;
    struct sw_tube *of = self->arg;
    if (strcmp(callback, "Initialize") != 0)
        return;
    info = self->info;
    assert_int_equal(CALL(SetEnterLeaveFunctionHooks, NULL, NULL, NULL), E_INVALIDARG);
    assert_int_equal(CALL(SetEnterLeaveFunctionHooks, enter1, NULL, NULL), S_OK);
    assert_int_equal(of->hook_version, 1);
    assert_int_equal(CALL(SetEnterLeaveFunctionHooks2, enter2, NULL, NULL), S_OK);
    assert_int_equal(of->hook_version, 2);
    assert_int_equal(CALL(SetEnterLeaveFunctionHooks, enter1, NULL, NULL), S_OK); /* older ones change nothing */
    assert_int_equal(of->enter_hook, (UINT_PTR)enter2);
    assert_int_equal(CALL(SetEnterLeaveFunctionHooks3WithInfo, enter4, NULL, NULL), CORPROF_E_INCONSISTENT_WITH_FLAGS);
    assert_int_equal(CALL(SetEnterLeaveFunctionHooks3WithInfo, NULL, enter4, NULL), CORPROF_E_INCONSISTENT_WITH_FLAGS);
    assert_int_equal(CALL(SetEnterLeaveFunctionHooks3WithInfo, NULL, NULL, enter4), CORPROF_E_INCONSISTENT_WITH_FLAGS);
    assert_int_equal(CALL(SetEnterLeaveFunctionHooks3WithInfo, NULL, NULL, NULL), E_INVALIDARG);
    assert_int_equal(CALL(SetEnterLeaveFunctionHooks3, enter3, enter3, NULL), S_OK);
    assert_int_equal(of->enter_hook, (UINT_PTR)enter3);
    assert_int_equal(of->hook_version, 3);
    assert_int_equal(CALL(SetEnterLeaveFunctionHooks2, enter2, NULL, NULL), S_OK);
    assert_int_equal(of->hook_version, 3);
    /* hooks fix the flags by which they are called */
    assert_int_equal(CALL(SetEventMask, slow), CORPROF_E_INCONSISTENT_WITH_FLAGS);
    assert_int_equal(CALL(SetEventMask, 0), CORPROF_E_INCONSISTENT_WITH_FLAGS);
    assert_int_equal(CALL(SetEventMask, fast), S_OK);
    atomic_store(&of->mask_low, slow);
    assert_int_equal(CALL(SetEnterLeaveFunctionHooks3, enter3, NULL, NULL), CORPROF_E_INCONSISTENT_WITH_FLAGS);
    assert_int_equal(CALL(SetEnterLeaveFunctionHooks3WithInfo, enter4, NULL, NULL), S_OK);
    assert_int_equal(of->hook_version, 4);
    assert_int_equal(of->enter_hook, (UINT_PTR)enter4);
    assert_int_equal(of->leave_hook | of->tailcall_hook, 0);
    assert_int_equal(CALL(SetEventMask, fast), CORPROF_E_INCONSISTENT_WITH_FLAGS);
    assert_int_equal(CALL(SetEventMask, slow), S_OK);
    atomic_store(&of->mask_low, fast);
    assert_int_equal(CALL(SetEnterLeaveFunctionHooks3, enter3, NULL, NULL), S_OK); /* the last of both wins */
    assert_int_equal(of->hook_version, 3);
    assert_int_equal(CALL(SetFunctionIDMapper, map), S_OK);
    assert_int_equal(CALL(SetFunctionIDMapper2, map2, self), S_OK);
    asked[0] = S_OK;
}

static void hooks_are_set_in_initialize_and_newer_ones_win(void **state)
{
    (void)state;
    listener_init(&listener);
    listener.on = set_hooks_in_initialize;
    assert_int_equal(sw_tube_create(&options, &tube), SW_OK);
    listener.arg = tube;
    listener.low = COR_PRF_MONITOR_ENTERLEAVE;
    asked[0] = E_FAIL;
    assert_int_equal(sw_tube_use(tube, (IUnknown *)&listener.com), SW_OK);
    assert_int_equal(sw_tube_start(tube), SW_OK);
    assert_int_equal(asked[0], S_OK);
    assert_ptr_equal(tube->mapper, map);
    assert_ptr_equal(tube->mapper2, map2);
    assert_ptr_equal(tube->mapper_data, &listener);
    assert_int_equal(CALL(SetEnterLeaveFunctionHooks3WithInfo, enter4, NULL, NULL), CORPROF_E_CALL_ONLY_FROM_INIT);
    assert_int_equal(CALL(RequestProfilerDetach, 0), CORPROF_E_IRREVERSIBLE_INSTRUMENTATION_PRESENT);
}

static void what_a_hook_may_ask(void **state)
{
    const FunctionID id = sw_tube_function_id(entry);
    COR_PRF_FRAME_INFO frame = GARBAGE;
    COR_PRF_FUNCTION_ARGUMENT_INFO arguments = { GARBAGE, GARBAGE, { { 0, 0 } } };
    COR_PRF_FUNCTION_ARGUMENT_RANGE value = { GARBAGE, GARBAGE };
    ULONG size = 0;
    (void)state;
    assert_int_equal(CALL(GetFunctionEnter3Info, id, 16, &frame, &size, &arguments), CORPROF_E_INCONSISTENT_WITH_FLAGS);
    assert_int_equal(CALL(GetFunctionLeave3Info, id, 16, &frame, &value), CORPROF_E_INCONSISTENT_WITH_FLAGS);
    assert_int_equal(CALL(GetFunctionTailcall3Info, id, 16, &frame), CORPROF_E_INCONSISTENT_WITH_FLAGS);
    tube->hook_version = 4;
    atomic_store(&tube->mask_low, COR_PRF_ENABLE_FUNCTION_ARGS);
    assert_int_equal(CALL(GetFunctionEnter3Info, id, 16, NULL, &size, NULL), INSUFFICIENT);
    assert_int_equal(size, sizeof arguments);
    assert_int_equal(CALL(GetFunctionEnter3Info, id, 16, NULL, &size, NULL), E_INVALIDARG);
    assert_int_equal(CALL(GetFunctionEnter3Info, id, 16, NULL, &size, &arguments), S_OK);
    assert_int_equal(arguments.numRanges | arguments.totalArgumentSize, 0);
    assert_int_equal(CALL(GetFunctionEnter3Info, id, 0, NULL, &size, &arguments), E_INVALIDARG);
    assert_int_equal(CALL(GetFunctionEnter3Info, id, 16, NULL, NULL, NULL), E_INVALIDARG);
    atomic_store(&tube->mask_low, COR_PRF_ENABLE_FRAME_INFO | COR_PRF_ENABLE_FUNCTION_RETVAL);
    assert_int_equal(CALL(GetFunctionEnter3Info, id, 16, &frame, NULL, NULL), S_OK);
    assert_int_equal(frame, 16);
    assert_int_equal(CALL(GetFunctionEnter3Info, id, 16, NULL, NULL, NULL), E_INVALIDARG);
    frame = GARBAGE;
    assert_int_equal(CALL(GetFunctionLeave3Info, id, 16, &frame, &value), S_OK);
    assert_int_equal(frame, 16);
    assert_int_equal(value.startAddress | value.length, 0);
    assert_int_equal(CALL(GetFunctionLeave3Info, id, 16, &frame, NULL), E_INVALIDARG);
    assert_int_equal(CALL(GetFunctionLeave3Info, id, 16, NULL, &value), E_INVALIDARG);
    assert_int_equal(CALL(GetFunctionLeave3Info, 0, 16, &frame, &value), E_INVALIDARG);
    assert_int_equal(CALL(GetFunctionLeave3Info, id, 0, &frame, &value), E_INVALIDARG);
    tube->hook_version = 3;
    assert_int_equal(CALL(GetFunctionEnter3Info, id, 16, &frame, &size, &arguments), CORPROF_E_INCONSISTENT_WITH_FLAGS);
    assert_int_equal(CALL(GetFunctionLeave3Info, id, 16, &frame, &value), CORPROF_E_INCONSISTENT_WITH_FLAGS);
    assert_int_equal(CALL(GetFunctionTailcall3Info, id, 16, &frame), CORPROF_E_INCONSISTENT_WITH_FLAGS);
    tube->hook_version = 4;
    frame = GARBAGE;
    assert_int_equal(CALL(GetFunctionTailcall3Info, id, 16, &frame), S_OK);
    assert_int_equal(frame, 16);
    assert_int_equal(CALL(GetFunctionTailcall3Info, id, 0, &frame), E_INVALIDARG);
    assert_int_equal(CALL(GetFunctionTailcall3Info, 0, 16, &frame), E_INVALIDARG);
    tube->hook_version = 0;
}

#define TEST(name)  cmocka_unit_test_setup_teardown(name, begin_scene, end_scene)
#define ALONE(name) cmocka_unit_test_setup_teardown(name, create_scene, end_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(threads_are_answered_for),
        TEST(a_managed_thread_knows_itself),
        TEST(threads_are_enumerated_without_those_that_ended),
        TEST(the_runtime_is_suspended_and_resumed),
        ALONE(a_gc_is_forced_on_a_thread_of_the_profilers_own_only),
        ALONE(before_the_runtime_has_started_there_is_no_gc),
        ALONE(hooks_are_set_in_initialize_and_newer_ones_win),
        TEST(what_a_hook_may_ask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
