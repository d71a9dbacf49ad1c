/*
 * What ICorProfilerInfo15 says of the runtime: version, event mask, environment, detach, EventPipe. Facts:
 * diagnostics-ipc.md sections 4 and 5, metadata-abi.md section 10. Outputs hold garbage before each call.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "text.h"
#include "tube.h"

#include "../support/scene.h"

enum { GARBAGE = 0x5a5a5a5a };
#define INSUFFICIENT          ((HRESULT)0x8007007au)
#define NO_VARIABLE           ((HRESULT)0x800700cbu)
#define ASSERT_NAME(expected) assert_true(sw_text_equals(buffer, expected))

/* ---- the runtime ---- */

static void the_runtime_says_its_version(void **state)
{
    static const struct {
        unsigned version;
        USHORT build;
        const char *text;
    } rows[] = { { 8, 31, "8.0.31" }, { 9, 20, "9.0.20" }, { 10, 12, "10.0.12" }, { 0, 12, "10.0.12" } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        USHORT parts[5] = { 0x5a5a, 0x5a5a, 0x5a5a, 0x5a5a, 0x5a5a };
        COR_PRF_RUNTIME_TYPE type = COR_PRF_DESKTOP_CLR;
        ULONG count = 0;
        options.version = rows[i].version;
        assert_int_equal(sw_tube_create(&options, &tube), SW_OK);
        info = (ICorProfilerInfo15 *)sw_tube_info(tube);
        assert_int_equal(CALL(GetRuntimeInformation, &parts[0], &type, &parts[1], &parts[2], &parts[3], &parts[4],
                              UNITS, &count, buffer),
                         S_OK);
        assert_int_equal(type, COR_PRF_CORE_CLR);
        assert_int_equal(parts[1], rows[i].version ? rows[i].version : 10);
        assert_int_equal(parts[0] | parts[2] | parts[4], 0);
        assert_int_equal(parts[3], rows[i].build);
        ASSERT_NAME(rows[i].text);
        assert_int_equal(count, strlen(rows[i].text) + 1);
        sw_tube_destroy(tube);
    }
    tube = NULL;
}

static void its_version_text_is_cut_and_counted_whole(void **state)
{
    ULONG count = 0;
    (void)state;
#define VERSION(size, count, text) CALL(GetRuntimeInformation, NULL, NULL, NULL, NULL, NULL, NULL, size, count, text)
    assert_int_equal(VERSION(4, &count, buffer), S_OK);
    ASSERT_NAME("10.");
    assert_int_equal(buffer[4], 0x5a5a);
    assert_int_equal(count, sizeof "10.0.12");
    assert_int_equal(VERSION(0, NULL, NULL), S_OK); /* dotnet-monitor: only what is wanted */
    assert_int_equal(VERSION(4, NULL, buffer), E_INVALIDARG);
}

static void the_event_mask_is_what_was_set_last_and_zero_at_first(void **state)
{
    DWORD low = GARBAGE, high = GARBAGE;
    (void)state;
    assert_int_equal(CALL(GetEventMask2, &low, &high), S_OK);
    assert_int_equal(low | high, 0);
    assert_int_equal(CALL(SetEventMask2, COR_PRF_MONITOR_THREADS, COR_PRF_HIGH_BASIC_GC), S_OK);
    assert_int_equal(CALL(GetEventMask2, &low, &high), S_OK);
    assert_int_equal(low, COR_PRF_MONITOR_THREADS);
    assert_int_equal(high, COR_PRF_HIGH_BASIC_GC);
    assert_int_equal(CALL(SetEventMask, COR_PRF_MONITOR_GC), S_OK);
    assert_int_equal(CALL(GetEventMask2, &low, &high), S_OK);
    assert_int_equal(low, COR_PRF_MONITOR_GC);
    assert_int_equal(high, 0); /* the old method has no high bits */
    assert_int_equal(CALL(GetEventMask, &low), S_OK);
    assert_int_equal(low, COR_PRF_MONITOR_GC);
    assert_int_equal(CALL(GetEventMask, NULL), E_INVALIDARG);
    assert_int_equal(CALL(GetEventMask2, &low, NULL), E_INVALIDARG);
}

static void before_a_profiler_sets_it_the_mask_is_zero(void **state)
{
    DWORD low = GARBAGE;
    (void)state;
    assert_int_equal(sw_tube_create(&options, &tube), SW_OK);
    info = (ICorProfilerInfo15 *)sw_tube_info(tube);
    assert_int_equal(CALL(GetEventMask, &low), S_OK);
    assert_int_equal(low, 0);
}

/* diagnostics-ipc.md row 4.18: immutable ones, each alone, after Initialize. */
static void immutable_flags_stay_as_initialize_left_them(void **state)
{
    static const DWORD immutable[] = { 0x400,     0x800,     0x4000,    0x8000,     0x80000,    0x100000,  0x800000,
                                       0x2000000, 0x4000000, 0x8000000, 0x20000000, 0x40000000, 0x80000000 };
    DWORD low = GARBAGE;
    (void)state;
    start_scene(COR_PRF_ENABLE_OBJECT_ALLOCATED, 0);
    for (size_t i = 0; i < sizeof immutable / sizeof *immutable; i++)
        assert_int_equal(CALL(SetEventMask, COR_PRF_ENABLE_OBJECT_ALLOCATED ^ immutable[i]), E_FAIL);
    assert_int_equal(CALL(SetEventMask2, COR_PRF_ENABLE_OBJECT_ALLOCATED, COR_PRF_HIGH_DISABLE_TIERED_COMPILATION),
                     E_FAIL);
    assert_int_equal(CALL(GetEventMask, &low), S_OK);
    assert_int_equal(low, COR_PRF_ENABLE_OBJECT_ALLOCATED);
    assert_int_equal(CALL(SetEventMask, COR_PRF_ENABLE_OBJECT_ALLOCATED | COR_PRF_ENABLE_STACK_SNAPSHOT |
                                            COR_PRF_MONITOR_THREADS | COR_PRF_MONITOR_JIT_COMPILATION),
                     S_OK); /* as samplers do after Initialize */
}

static void inlining_and_optimizations_may_be_changed_from_10_on(void **state)
{
    static const struct {
        unsigned version;
        HRESULT hr;
    } rows[] = { { 8, E_FAIL }, { 9, E_FAIL }, { 10, S_OK } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        options.version = rows[i].version;
        assert_int_equal(sw_tube_create(&options, &tube), SW_OK);
        info = (ICorProfilerInfo15 *)sw_tube_info(tube);
        assert_int_equal(CALL(SetEventMask, COR_PRF_DISABLE_INLINING), rows[i].hr);
        assert_int_equal(CALL(SetEventMask, COR_PRF_DISABLE_OPTIMIZATIONS), rows[i].hr);
        sw_tube_destroy(tube);
    }
    tube = NULL;
}

/* Rows 4.16 to 4.18, each bit alone. */
static void an_attached_profiler_may_not_set_all_flags(void **state)
{
    static const struct {
        DWORD low, high;
        HRESULT hr;
    } rows[] = {
        { 0x2, 0, S_OK },
        { 0x10000, 0, S_OK },
        { 0x40000, 0, S_OK },
        { 0x10000000, 0, S_OK },
        { 0x200000, 0, S_OK },
        { 0, 0x80, S_OK },
        { 0, 0x40, S_OK },
        { 0x1, 0, CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER },
        { 0x100, 0, CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER },
        { 0x1000, 0, CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER },
        { 0x20000, 0, CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER },
        { 0, 0x1, CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER },
        { 0, 0x100, CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER },
        { 0x400, 0, E_FAIL },
        { 0x80000000, 0, E_FAIL },
        { 0, 0x8, E_FAIL },
    };
    (void)state;
    listener_init(&listener);
    assert_int_equal(sw_tube_create(&options, &tube), SW_OK);
    assert_int_equal(sw_tube_use(tube, (IUnknown *)&listener.com), SW_OK);
    assert_int_equal(sw_tube_attach(tube, NULL, 0), SW_OK);
    info = listener.info;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(CALL(SetEventMask2, rows[i].low, rows[i].high), rows[i].hr);
    /* row 4.19 */
    assert_int_equal(CALL(SetEnterLeaveFunctionHooks3, NULL, NULL, NULL), CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER);
    assert_int_equal(CALL(SetFunctionIDMapper, NULL), CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER);
}

/* The rows that differ before 10. */
static void an_attached_profiler_may_set_less_before_10(void **state)
{
    (void)state;
    options.version = 9;
    listener_init(&listener);
    assert_int_equal(sw_tube_create(&options, &tube), SW_OK);
    assert_int_equal(sw_tube_use(tube, (IUnknown *)&listener.com), SW_OK);
    assert_int_equal(sw_tube_attach(tube, NULL, 0), SW_OK);
    info = listener.info;
    assert_int_equal(CALL(SetEventMask, COR_PRF_DISABLE_INLINING), E_FAIL);
    assert_int_equal(CALL(SetEventMask, COR_PRF_MONITOR_FUNCTION_UNLOADS),
                     CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER);
}

static HRESULT STDMETHODCALLTYPE only_listen(ICorProfilerCallback11 *com, BOOL *notification_only)
{
    (void)com;
    *notification_only = TRUE;
    return S_OK;
}

/* Row 4.15, started and attached. */
static void a_profiler_that_only_listens_may_not_change_the_runtime(void **state)
{
    ICorProfilerCallback11Vtbl listens;
    (void)state;
    for (unsigned attached = 0; attached < 2; attached++) {
        listener_init(&listener);
        listens = *listener.com.lpVtbl;
        listens.LoadAsNotificationOnly = only_listen;
        listener.com.lpVtbl = &listens;
        assert_int_equal(sw_tube_create(&options, &tube), SW_OK);
        assert_int_equal(sw_tube_use(tube, (IUnknown *)&listener.com), SW_OK);
        assert_int_equal(attached ? sw_tube_attach(tube, NULL, 0) : sw_tube_start(tube), SW_OK);
        info = listener.info;
        assert_int_equal(CALL(SetEventMask2, COR_PRF_ENABLE_REJIT, 0), E_INVALIDARG);
        assert_int_equal(CALL(SetEventMask2, 0, COR_PRF_HIGH_ADD_ASSEMBLY_REFERENCES), E_INVALIDARG);
        assert_int_equal(CALL(SetEventMask2, COR_PRF_ENABLE_STACK_SNAPSHOT, COR_PRF_HIGH_BASIC_GC), S_OK);
        assert_int_equal(CALL(RequestReJIT, 0, NULL, NULL), E_INVALIDARG);
        assert_int_equal(CALL(RequestRevert, 0, NULL, NULL, NULL), E_INVALIDARG);
        assert_int_equal(CALL(RequestReJITWithInliners, 0, 0, NULL, NULL), E_INVALIDARG);
        assert_int_equal(broken(SW_TUBE_UNKNOWN_METHOD), 0);
        if (!attached)
            assert_int_equal(CALL(SetFunctionIDMapper, NULL), E_INVALIDARG);
        sw_tube_destroy(tube);
    }
    tube = NULL;
}

static void high_flags_need_callbacks_of_their_version(void **state)
{
    static const struct {
        unsigned version;
        HRESULT references, symbols;
    } rows[] = { { 5, CORPROF_E_CALLBACK6_REQUIRED, CORPROF_E_CALLBACK7_REQUIRED },
                 { 6, S_OK, CORPROF_E_CALLBACK7_REQUIRED },
                 { 7, S_OK, S_OK } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        callback_version = rows[i].version;
        start_scene(0, 0);
        assert_int_equal(CALL(SetEventMask2, 0, COR_PRF_HIGH_ADD_ASSEMBLY_REFERENCES), rows[i].references);
        assert_int_equal(CALL(SetEventMask2, 0, COR_PRF_HIGH_IN_MEMORY_SYMBOLS_UPDATED), rows[i].symbols);
        assert_int_equal(CALL(SetEventMask2, 0, COR_PRF_HIGH_BASIC_GC), S_OK);
        sw_tube_destroy(tube);
    }
    tube = NULL;
}

/* ---- detach: diagnostics-ipc.md section 5 ---- */

static void once_a_detach_is_requested_every_call_is_refused(void **state)
{
    DWORD mask = GARBAGE;
    (void)state;
    assert_int_equal(CALL(RequestProfilerDetach, 300), S_OK);
    assert_int_equal(CALL(GetEventMask, &mask), CORPROF_E_PROFILER_DETACHING);
    assert_int_equal(mask, 0);
    assert_int_equal(CALL(RequestProfilerDetach, 300), CORPROF_E_PROFILER_DETACHING);
    assert_int_equal(broken(SW_TUBE_LATE_CALL), 0);
    assert_int_equal(sw_tube_detach(tube), SW_OK);
    assert_int_equal(CALL(GetEventMask, &mask), CORPROF_E_PROFILER_DETACHING);
    assert_int_equal(broken(SW_TUBE_LATE_CALL), 1);
}

static void detach_in_initialize(struct listener *self, const char *callback)
{
    if (strcmp(callback, "Initialize") == 0)
        asked[0] = self->info->lpVtbl->RequestProfilerDetach(self->info, 0);
}

static void what_keeps_a_profiler_from_detaching(void **state)
{
    static const struct {
        DWORD low, then;
        HRESULT hr;
    } rows[] = { { COR_PRF_DISABLE_ALL_NGEN_IMAGES, COR_PRF_DISABLE_ALL_NGEN_IMAGES, CORPROF_E_IMMUTABLE_FLAGS_SET },
                 { COR_PRF_ENABLE_REJIT, 0, CORPROF_E_IRREVERSIBLE_INSTRUMENTATION_PRESENT },
                 { COR_PRF_MONITOR_JIT_COMPILATION, 0, S_OK } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asked[0] = S_OK;
        on_callback = detach_in_initialize;
        start_scene(rows[i].low, 0);
        assert_int_equal(asked[0], CORPROF_E_PROFILER_NOT_YET_INITIALIZED);
        assert_int_equal(CALL(SetEventMask, rows[i].then), S_OK);
        assert_int_equal(CALL(RequestProfilerDetach, 0), rows[i].hr);
        sw_tube_destroy(tube);
    }
    callback_version = 2;
    start_scene(0, 0);
    assert_int_equal(CALL(RequestProfilerDetach, 0), CORPROF_E_CALLBACK3_REQUIRED);
}

/* ---- the environment: metadata-abi.md row 10.3.2 ---- */

static void environment_variables_by_the_size_of_the_buffer(void **state)
{
    static const struct {
        ULONG size;
        bool room;
        HRESULT hr;
        ULONG count;
    } rows[] = { { 0, false, S_OK, 6 }, { 6, true, S_OK, 5 }, { 9, true, S_OK, 5 }, { 5, true, INSUFFICIENT, 6 } };
    const WCHAR *name = wide("SW_TEST_VARIABLE");
    (void)state;
    assert_int_equal(setenv("SW_TEST_VARIABLE", "value", 1), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ULONG count = GARBAGE;
        memset(buffer, 0x5a, sizeof buffer);
        assert_int_equal(CALL(GetEnvironmentVariable, name, rows[i].size, &count, rows[i].room ? buffer : NULL),
                         rows[i].hr);
        assert_int_equal(count, rows[i].count);
        if (rows[i].room && rows[i].hr == S_OK)
            ASSERT_NAME("value");
        else
            assert_int_equal(buffer[0], 0x5a5a);
    }
    assert_int_equal(CALL(GetEnvironmentVariable, name, UNITS, NULL, buffer), S_OK); /* as dotnet-monitor does */
    ASSERT_NAME("value");
    unsetenv("SW_TEST_VARIABLE");
}

static void a_variable_that_is_not_there(void **state)
{
    ULONG count = GARBAGE;
    (void)state;
    assert_int_equal(CALL(GetEnvironmentVariable, wide("SW_NO_SUCH"), 0, &count, NULL), NO_VARIABLE);
    assert_int_equal(count, 0);
    assert_int_equal(CALL(GetEnvironmentVariable, wide("SW_NO_SUCH"), 0, NULL, NULL), S_OK); /* nothing is asked */
    assert_int_equal(CALL(GetEnvironmentVariable, NULL, 0, &count, NULL), E_INVALIDARG);
    assert_int_equal(CALL(GetEnvironmentVariable, wide("PATH"), 5, &count, NULL), E_INVALIDARG);
}

static void what_is_set_is_the_runtimes_own_copy(void **state)
{
    ULONG count = 0;
    const WCHAR *name = wide("SW_TEST_VARIABLE");
    (void)state;
    assert_int_equal(CALL(SetEnvironmentVariable, name, wide("first")), S_OK);
    assert_int_equal(CALL(GetEnvironmentVariable, name, UNITS, &count, buffer), S_OK);
    ASSERT_NAME("first");
    assert_int_equal(CALL(SetEnvironmentVariable, name, wide("second")), S_OK);
    assert_int_equal(CALL(GetEnvironmentVariable, name, UNITS, &count, buffer), S_OK);
    ASSERT_NAME("second");
    assert_null(getenv("SW_TEST_VARIABLE"));
    assert_int_equal(CALL(SetEnvironmentVariable, name, NULL), S_OK);
    assert_int_equal(CALL(GetEnvironmentVariable, name, 0, &count, NULL), NO_VARIABLE);
    assert_int_equal(CALL(SetEnvironmentVariable, NULL, name), E_INVALIDARG);
}

/* ---- EventPipe ---- */

static void sessions_start_and_stop(void **state)
{
    COR_PRF_EVENTPIPE_PROVIDER_CONFIG config = { wide("Microsoft-Windows-DotNETRuntime"), 1, 5, NULL },
                                      nameless = { 0 };
    EVENTPIPE_SESSION first = 0, second = 0;
    (void)state;
    assert_int_equal(CALL(EventPipeStartSession, 0, &config, FALSE, &first), E_INVALIDARG);
    assert_int_equal(CALL(EventPipeStartSession, 1, NULL, FALSE, &first), E_INVALIDARG);
    assert_int_equal(CALL(EventPipeStartSession, 1, &config, FALSE, NULL), E_INVALIDARG);
    assert_int_equal(CALL(EventPipeStartSession, 1, &config, FALSE, &first), S_OK);
    assert_int_equal(CALL(EventPipeStartSession, 1, &config, FALSE, &second), S_OK);
    assert_int_not_equal(first, 0);
    assert_int_not_equal(first, second);
    assert_int_equal(CALL(EventPipeAddProviderToSession, first, config), S_OK);
    assert_int_equal(CALL(EventPipeAddProviderToSession, first, nameless), E_INVALIDARG);
    assert_int_equal(CALL(EventPipeAddProviderToSession, 99, config), E_INVALIDARG);
    assert_int_equal(CALL(EventPipeStopSession, first), S_OK);
    assert_int_equal(CALL(EventPipeAddProviderToSession, first, config), E_INVALIDARG);
    assert_int_equal(CALL(EventPipeAddProviderToSession, second, config), S_OK);
    assert_int_equal(CALL(EventPipeStopSession, 99), S_OK);
}

static void providers_and_events_are_made(void **state)
{
    COR_PRF_EVENTPIPE_PARAM_DESC parameters[] = { { COR_PRF_EVENTPIPE_INT32, 0, NULL },
                                                  { COR_PRF_EVENTPIPE_OBJECT, 0, NULL } };
    EVENTPIPE_PROVIDER provider = 0, second = 0;
    EVENTPIPE_EVENT event = 0;
    ULONG count = 0;
    (void)state;
    assert_int_equal(CALL(EventPipeCreateProvider, NULL, &provider), E_INVALIDARG);
    assert_int_equal(CALL(EventPipeCreateProvider, wide("Mine"), NULL), E_INVALIDARG);
    assert_int_equal(CALL(EventPipeCreateProvider, wide("Mine"), &provider), S_OK);
    assert_int_equal(CALL(EventPipeCreateProvider2, wide("Other"), NULL, &second), S_OK);
    assert_int_not_equal(provider, second);
    assert_int_equal(CALL(EventPipeGetProviderInfo, provider, UNITS, &count, buffer), S_OK);
    ASSERT_NAME("Mine");
    assert_int_equal(count, sizeof "Mine");
    assert_int_equal(CALL(EventPipeGetProviderInfo, second, 5, &count, buffer), INSUFFICIENT);
    assert_int_equal(CALL(EventPipeGetProviderInfo, provider, 5, &count, NULL), E_INVALIDARG);
    assert_int_equal(CALL(EventPipeGetProviderInfo, provider, 0, &count, NULL), S_OK);
    assert_int_equal(CALL(EventPipeGetProviderInfo, 0, UNITS, &count, buffer), E_INVALIDARG);
#define DEFINE(of, name, n, list, out) CALL(EventPipeDefineEvent, of, name, 1, 0, 1, 4, 0, FALSE, n, list, out)
    assert_int_equal(DEFINE(provider, wide("Start"), 1, parameters, &event), S_OK);
    assert_int_equal(DEFINE(provider, wide("Start"), 2, parameters, &event), E_INVALIDARG); /* no objects */
    assert_int_equal(DEFINE(provider, wide("Start"), 1, NULL, &event), E_INVALIDARG);
    assert_int_equal(DEFINE(provider, NULL, 0, NULL, &event), E_INVALIDARG);
    assert_int_equal(DEFINE(99, wide("Start"), 0, NULL, &event), E_INVALIDARG);
    assert_int_equal(CALL(EventPipeWriteEvent, event, 0, NULL, NULL, NULL), S_OK);
    assert_int_equal(CALL(EventPipeWriteEvent, 0, 0, NULL, NULL, NULL), E_INVALIDARG);
    assert_int_equal(CALL(EventPipeWriteEvent, event + 1, 0, NULL, NULL, NULL), E_INVALIDARG);
}

#define TEST(name)  cmocka_unit_test_setup_teardown(name, begin_scene, end_scene)
#define ALONE(name) cmocka_unit_test_setup_teardown(name, create_scene, end_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(the_runtime_says_its_version),
        TEST(its_version_text_is_cut_and_counted_whole),
        TEST(the_event_mask_is_what_was_set_last_and_zero_at_first),
        ALONE(before_a_profiler_sets_it_the_mask_is_zero),
        ALONE(immutable_flags_stay_as_initialize_left_them),
        ALONE(inlining_and_optimizations_may_be_changed_from_10_on),
        ALONE(an_attached_profiler_may_not_set_all_flags),
        ALONE(an_attached_profiler_may_set_less_before_10),
        ALONE(a_profiler_that_only_listens_may_not_change_the_runtime),
        ALONE(high_flags_need_callbacks_of_their_version),
        TEST(once_a_detach_is_requested_every_call_is_refused),
        ALONE(what_keeps_a_profiler_from_detaching),
        TEST(environment_variables_by_the_size_of_the_buffer),
        TEST(a_variable_that_is_not_there),
        TEST(what_is_set_is_the_runtimes_own_copy),
        TEST(sessions_start_and_stop),
        TEST(providers_and_events_are_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
