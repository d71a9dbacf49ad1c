/*
 * What a profiler in a tube is told, in which order, on which thread; and how its life begins and ends. The orders are
 * those of clr-observed.md and metadata-abi.md sections 10.0 and 10.6: a callback that is missing, twice or elsewhere
 * fails here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <snapwalk/harness.h>
#include <snapwalk/self.h>

#include "../support/listener.h"

enum { LOADS = COR_PRF_MONITOR_APPDOMAIN_LOADS | COR_PRF_MONITOR_ASSEMBLY_LOADS | COR_PRF_MONITOR_MODULE_LOADS };

struct scene {
    struct listener listener;
    struct sw_tube *tube;
    struct sw_tube_module *module;
    struct sw_tube_thread *thread;
};

static void make(struct scene *scene, bool simulated, DWORD low, DWORD high)
{
    const struct sw_tube_options options = { .simulated = simulated };
    listener_init(&scene->listener);
    scene->listener.low = low;
    scene->listener.high = high;
    assert_int_equal(sw_tube_create(&options, &scene->tube), SW_OK);
    assert_int_equal(sw_tube_use(scene->tube, (IUnknown *)&scene->listener.com), SW_OK);
}

/* A running runtime with a module and a thread; what was told so far is forgotten. */
static void begin(struct scene *scene, const bool *simulated, DWORD low, DWORD high)
{
    make(scene, *simulated, low, high);
    assert_int_equal(sw_tube_start(scene->tube), SW_OK);
    scene->module = sw_tube_module_load(scene->tube, "Demo.dll");
    scene->thread = sw_tube_thread_start(scene->tube, "main");
    scene->listener.told[0] = '\0';
}

static void end(struct scene *scene)
{
    scene->listener.on = NULL;
    assert_string_equal(sw_tube_problem(scene->tube), "");
    sw_tube_destroy(scene->tube);
    assert_int_equal(scene->listener.references, 1);
}

#define ASSERT_TOLD(scene, expected)                                                                                   \
    do {                                                                                                               \
        assert_string_equal((scene)->listener.told, expected);                                                         \
        (scene)->listener.told[0] = '\0';                                                                              \
    } while (0)

static struct sw_tube_function *function(struct scene *scene, const char *name, uint32_t flags)
{
    struct sw_tube_function *made = sw_tube_function_add(scene->module, "Demo.Program", name, flags);
    assert_non_null(made);
    return made;
}

static void start_tells_of_the_domain_and_the_core_library(void **state)
{
    struct scene scene;
    make(&scene, *(const bool *)*state, LOADS, 0);
    assert_int_equal(sw_tube_start(scene.tube), SW_OK);
    ASSERT_TOLD(&scene, "LoadAsNotificationOnly Initialize AssemblyLoadStarted ModuleLoadStarted ModuleLoadFinished "
                        "ModuleAttachedToAssembly AssemblyLoadFinished AppDomainCreationStarted "
                        "AppDomainCreationFinished ");
    end(&scene);
}

static void without_events_only_the_profilers_own_life_is_told(void **state)
{
    struct scene scene;
    begin(&scene, *state, 0, 0);
    assert_int_equal(sw_tube_call(scene.thread, function(&scene, "Main", 0)), SW_OK);
    assert_int_equal(sw_tube_allocate(scene.thread, "System.String"), SW_OK);
    assert_int_equal(sw_tube_collect(scene.tube, scene.thread), SW_OK);
    ASSERT_TOLD(&scene, "");
    assert_int_equal(sw_tube_shutdown(scene.tube), SW_OK);
    ASSERT_TOLD(&scene, "Shutdown ");
    end(&scene);
}

static uint64_t told_on;
static void note_thread(struct listener *self, const char *callback)
{
    (void)self, (void)callback;
    told_on = sw_self_thread();
}

static void a_thread_is_told_of_on_itself(void **state)
{
    struct scene scene;
    begin(&scene, *state, COR_PRF_MONITOR_THREADS, 0);
    scene.listener.on = note_thread;
    struct sw_tube_thread *worker = sw_tube_thread_start(scene.tube, "worker");
    ASSERT_TOLD(&scene, "ThreadCreated ThreadAssignedToOSThread ThreadNameChanged ");
    if (!*(const bool *)*state)
        assert_int_equal(told_on, sw_tube_thread_os_id(worker));
    assert_int_equal(sw_tube_end(worker), SW_OK);
    ASSERT_TOLD(&scene, "ThreadDestroyed ");
    end(&scene);
}

static void a_function_is_compiled_by_its_first_call_only(void **state)
{
    struct scene scene;
    begin(&scene, *state, COR_PRF_MONITOR_JIT_COMPILATION | COR_PRF_MONITOR_CLASS_LOADS, 0);
    struct sw_tube_function *entry = function(&scene, "Main", 0);
    scene.listener.told[0] = '\0';
    assert_int_equal(sw_tube_call(scene.thread, entry), SW_OK);
    ASSERT_TOLD(&scene, "ClassLoadStarted ClassLoadFinished JITCompilationStarted JITCompilationFinished ");
    assert_int_equal(sw_tube_call(scene.thread, entry), SW_OK);
    ASSERT_TOLD(&scene, "");
    assert_int_equal(sw_tube_compile(entry, NULL), SW_OK); /* another tier */
    ASSERT_TOLD(&scene, "JITCompilationStarted JITCompilationFinished ");
    end(&scene);
}

static void precompiled_code_is_searched_for_and_dynamic_code_has_callbacks_of_its_own(void **state)
{
    struct scene scene;
    begin(&scene, *state, COR_PRF_MONITOR_JIT_COMPILATION | COR_PRF_MONITOR_CACHE_SEARCHES,
          COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS);
    struct sw_tube_function *stub = function(&scene, "IL_STUB", SW_TUBE_HIDDEN);
    assert_int_equal(sw_tube_call(scene.thread, function(&scene, "Ready", SW_TUBE_PRECOMPILED)), SW_OK);
    ASSERT_TOLD(&scene, "JITCachedFunctionSearchStarted JITCachedFunctionSearchFinished ");
    assert_int_equal(sw_tube_call(scene.thread, stub), SW_OK);
    ASSERT_TOLD(&scene, "DynamicMethodJITCompilationStarted DynamicMethodJITCompilationFinished ");
    assert_int_equal(sw_tube_give_back(scene.thread), SW_OK);
    assert_int_equal(sw_tube_function_unload(stub), SW_OK);
    ASSERT_TOLD(&scene, "DynamicMethodUnloaded ");
    end(&scene);
}

static void each_way_between_managed_and_native_code_is_told(void **state)
{
    struct scene scene;
    begin(&scene, *state, COR_PRF_MONITOR_CODE_TRANSITIONS, 0);
    struct sw_tube_function *entry = function(&scene, "Main", 0);
    assert_int_equal(sw_tube_call(scene.thread, entry), SW_OK);
    ASSERT_TOLD(&scene, "UnmanagedToManagedTransition ");
    assert_int_equal(sw_tube_call(scene.thread, entry), SW_OK);
    ASSERT_TOLD(&scene, "");
    assert_int_equal(sw_tube_native(scene.thread, "poll"), SW_OK);
    ASSERT_TOLD(&scene, "ManagedToUnmanagedTransition ");
    assert_int_equal(sw_tube_give_back(scene.thread), SW_OK);
    ASSERT_TOLD(&scene, "UnmanagedToManagedTransition ");
    assert_int_equal(sw_tube_helper(scene.thread, "alloc"), SW_OK);
    assert_int_equal(sw_tube_give_back(scene.thread), SW_OK);
    assert_int_equal(sw_tube_give_back(scene.thread), SW_OK);
    ASSERT_TOLD(&scene, "");
    assert_int_equal(sw_tube_give_back(scene.thread), SW_OK);
    ASSERT_TOLD(&scene, "ManagedToUnmanagedTransition ");
    end(&scene);
}

static void an_exception_is_searched_for_then_unwound_then_caught(void **state)
{
    struct scene scene;
    begin(&scene, *state, COR_PRF_MONITOR_EXCEPTIONS, 0);
    assert_int_equal(sw_tube_call(scene.thread, function(&scene, "Main", SW_TUBE_CATCHES)), SW_OK);
    assert_int_equal(sw_tube_call(scene.thread, function(&scene, "Middle", SW_TUBE_FINALLY | SW_TUBE_FILTERS)), SW_OK);
    assert_int_equal(sw_tube_call(scene.thread, function(&scene, "Thrower", 0)), SW_OK);
    assert_int_equal(sw_tube_raise(scene.thread, "System.Exception"), SW_OK);
    ASSERT_TOLD(&scene, "ExceptionThrown "
                        "ExceptionSearchFunctionEnter ExceptionSearchFunctionLeave "
                        "ExceptionSearchFunctionEnter ExceptionSearchFilterEnter ExceptionSearchFilterLeave "
                        "ExceptionSearchFunctionLeave "
                        "ExceptionSearchFunctionEnter ExceptionSearchCatcherFound ExceptionSearchFunctionLeave "
                        "ExceptionUnwindFunctionEnter ExceptionUnwindFunctionLeave "
                        "ExceptionUnwindFunctionEnter ExceptionUnwindFinallyEnter ExceptionUnwindFinallyLeave "
                        "ExceptionUnwindFunctionLeave "
                        "ExceptionUnwindFunctionEnter ExceptionUnwindFunctionLeave ExceptionCatcherEnter ");
    assert_int_equal(sw_tube_caught(scene.thread), SW_OK);
    ASSERT_TOLD(&scene, "ExceptionCatcherLeave ");
    end(&scene);
}

static void a_collection_is_a_suspension_with_a_collection_in_it(void **state)
{
    struct scene scene;
    begin(&scene, *state, COR_PRF_MONITOR_SUSPENDS | COR_PRF_MONITOR_GC, 0);
    assert_int_equal(sw_tube_collect(scene.tube, scene.thread), SW_OK);
    ASSERT_TOLD(&scene, "RuntimeSuspendStarted RuntimeThreadSuspended RuntimeSuspendFinished GarbageCollectionStarted "
                        "SurvivingReferences2 GarbageCollectionFinished RuntimeResumeStarted RuntimeThreadResumed "
                        "RuntimeResumeFinished ");
    end(&scene);
}

/* ---- the profiler's own life ---- */

static void an_old_profiler_hears_nothing_that_is_newer(void **state)
{
    struct scene scene;
    make(&scene, *(const bool *)*state, COR_PRF_MONITOR_GC, 0);
    sw_tube_destroy(scene.tube);
    assert_int_equal(scene.listener.references, 1);
    assert_int_equal(sw_tube_create(&(struct sw_tube_options){ .simulated = *(const bool *)*state }, &scene.tube),
                     SW_OK);
    scene.listener.version = 3;
    assert_int_equal(sw_tube_use(scene.tube, (IUnknown *)&scene.listener.com), SW_OK);
    assert_int_equal(sw_tube_start(scene.tube), SW_OK);
    assert_int_equal(sw_tube_collect(scene.tube, NULL), SW_OK);
    ASSERT_TOLD(&scene, "Initialize GarbageCollectionStarted GarbageCollectionFinished ");
    end(&scene);
}

static void a_profiler_that_refuses_is_let_go_of(void **state)
{
    struct scene scene;
    make(&scene, *(const bool *)*state, LOADS, 0);
    scene.listener.answer = E_FAIL;
    assert_int_equal(sw_tube_start(scene.tube), SW_E_UNSUPPORTED);
    assert_non_null(strstr(sw_tube_problem(scene.tube), "E_FAIL"));
    assert_int_equal(scene.listener.references, 1);
    ASSERT_TOLD(&scene, "LoadAsNotificationOnly Initialize ");
    sw_tube_destroy(scene.tube);
}

static void a_profiler_that_cancels_is_no_problem(void **state)
{
    struct scene scene;
    make(&scene, *(const bool *)*state, LOADS, 0);
    scene.listener.answer = CORPROF_E_PROFILER_CANCEL_ACTIVATION;
    assert_int_equal(sw_tube_start(scene.tube), SW_OK);
    assert_non_null(sw_tube_module_load(scene.tube, "Demo.dll"));
    ASSERT_TOLD(&scene, "LoadAsNotificationOnly Initialize ");
    end(&scene);
}

static void a_profiler_attaches_to_a_running_runtime_and_detaches(void **state)
{
    struct scene scene;
    make(&scene, *(const bool *)*state, COR_PRF_MONITOR_MODULE_LOADS, 0);
    assert_int_equal(sw_tube_attach(scene.tube, "data", 4), SW_OK);
    ASSERT_TOLD(&scene, "LoadAsNotificationOnly InitializeForAttach ProfilerAttachComplete ");
    assert_non_null(sw_tube_module_load(scene.tube, "Demo.dll"));
    ASSERT_TOLD(&scene, "ModuleLoadStarted ModuleLoadFinished ModuleAttachedToAssembly ");
    assert_int_equal(scene.listener.info->lpVtbl->RequestProfilerDetach(scene.listener.info, 0), S_OK);
    assert_int_equal(sw_tube_detach(scene.tube), SW_OK);
    ASSERT_TOLD(&scene, "ProfilerDetachSucceeded ");
    assert_int_equal(scene.listener.references, 1);
    assert_non_null(sw_tube_module_load(scene.tube, "Later.dll"));
    ASSERT_TOLD(&scene, "");
    end(&scene);
}

static HRESULT no_class(const CLSID *clsid, const IID *iid, void **object)
{
    (void)iid;
    assert_int_equal(clsid->Data1, 0x846f5f1c);
    assert_int_equal(clsid->Data4[7], 0xd8);
    *object = NULL;
    return CLASS_E_CLASSNOTAVAILABLE;
}

static void what_cannot_be_loaded_is_said(void **state)
{
    struct sw_tube *tube;
    (void)state;
    assert_int_equal(sw_tube_create(NULL, &tube), SW_OK);
    assert_int_equal(sw_tube_load(tube, "./no-such-profiler.so", NULL), SW_E_NOT_FOUND);
    assert_non_null(strstr(sw_tube_problem(tube), "no-such-profiler.so"));
    sw_tube_destroy(tube);
    assert_int_equal(sw_tube_create(NULL, &tube), SW_OK);
    assert_int_equal(sw_tube_load_class(tube, no_class, "{846F5F1C-F9AE-4B07-969E-05C26BC060D8"), SW_E_UNSUPPORTED);
    assert_non_null(strstr(sw_tube_problem(tube), "CLASS_E_CLASSNOTAVAILABLE"));
    sw_tube_destroy(tube);
    assert_int_equal(sw_tube_create(NULL, &tube), SW_OK);
    assert_int_equal(sw_tube_load_class(tube, no_class, "846F5F1C"), SW_E_ARGUMENT);
    sw_tube_destroy(tube);
}

int main(void)
{
    static const bool real = false, simulated = true;
#define BOTH(test)                                                                                                     \
    { #test " (real)", test, NULL, NULL, (void *)&real },                                                              \
    {                                                                                                                  \
#test " (simulated)", test, NULL, NULL, (void *)&simulated                                                     \
    }
    const struct CMUnitTest tests[] = {
        BOTH(start_tells_of_the_domain_and_the_core_library),
        BOTH(without_events_only_the_profilers_own_life_is_told),
        BOTH(a_thread_is_told_of_on_itself),
        BOTH(a_function_is_compiled_by_its_first_call_only),
        BOTH(precompiled_code_is_searched_for_and_dynamic_code_has_callbacks_of_its_own),
        BOTH(each_way_between_managed_and_native_code_is_told),
        BOTH(an_exception_is_searched_for_then_unwound_then_caught),
        BOTH(a_collection_is_a_suspension_with_a_collection_in_it),
        BOTH(an_old_profiler_hears_nothing_that_is_newer),
        BOTH(a_profiler_that_refuses_is_let_go_of),
        BOTH(a_profiler_that_cancels_is_no_problem),
        BOTH(a_profiler_attaches_to_a_running_runtime_and_detaches),
        cmocka_unit_test(what_cannot_be_loaded_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
