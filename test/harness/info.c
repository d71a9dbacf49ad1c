/*
 * ICorProfilerInfo15 as the profiler in a tube gets it: the object, what its gateway does with every call, where slots
 * may be called, and what is recorded. What served slots answer is in info_*.c. Outputs hold garbage before each call.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <string.h>
#include <cmocka.h>

#include "text.h"
#include "tube.h"

#include "../support/scene.h"

enum { GARBAGE = 0x5a5a5a5a, BOGUS = 0x1234568 };

/* ---- the object ---- */

static void it_is_every_version_and_has_no_reference_count(void **state)
{
    static const IID *const iids[] = { &IID_IUnknown, &IID_ICorProfilerInfo, &IID_ICorProfilerInfo7,
                                       &IID_ICorProfilerInfo15 };
    void *out;
    (void)state;
    for (size_t i = 0; i < sizeof iids / sizeof *iids; i++) {
        out = NULL;
        assert_int_equal(CALL(QueryInterface, iids[i], &out), S_OK);
        assert_ptr_equal(out, info);
    }
    out = info;
    assert_int_equal(CALL(QueryInterface, &IID_ICorProfilerCallback, &out), E_NOINTERFACE);
    assert_null(out);
    assert_int_equal(CALL(QueryInterface, &IID_IUnknown, NULL), E_POINTER);
    assert_int_equal(CALL(AddRef), 1);
    assert_int_equal(CALL(Release), 1);
    assert_int_equal(CALL(Release), 1);
    assert_ptr_equal(sw_tube_info(tube), info);
}

/* clr-versions.md row 2.1 */
static void dotnet_8_refuses_the_newest_version(void **state)
{
    void *out = NULL;
    (void)state;
    options.version = 8;
    assert_int_equal(sw_tube_create(&options, &tube), SW_OK);
    IUnknown *object = (IUnknown *)sw_tube_info(tube);
    assert_int_equal(object->lpVtbl->QueryInterface(object, &IID_ICorProfilerInfo15, &out), E_NOINTERFACE);
    assert_int_equal(object->lpVtbl->QueryInterface(object, &IID_ICorProfilerInfo14, &out), S_OK);
}

/* ---- the gateway ---- */

static void calls_are_counted_by_name(void **state)
{
    DWORD mask;
    (void)state;
    assert_int_equal(sw_tube_calls(tube, "GetEventMask"), 0);
    CALL(GetEventMask, &mask);
    CALL(GetEventMask, &mask);
    assert_int_equal(sw_tube_calls(tube, "GetEventMask"), 2);
    assert_int_equal(sw_tube_calls(tube, "SetEventMask2"), 1); /* in Initialize */
    assert_int_equal(sw_tube_calls(tube, "NoSuchSlot"), 0);
    assert_int_equal(sw_tube_calls(NULL, "GetEventMask"), 0);
}

static void every_slot_has_its_name(void **state)
{
    (void)state;
    assert_string_equal(sw_tube_slot_name(0), "QueryInterface");
    assert_string_equal(sw_tube_slot_name(3), "GetClassFromObject");
    assert_string_equal(sw_tube_slot_name(36), "DoStackSnapshot");
    assert_string_equal(sw_tube_slot_name(114), "EnumerateGCHeapObjects");
    assert_string_equal(sw_tube_slot_name(115), "?");
}

static void what_nobody_serves_is_said_once_and_clears_its_outputs(void **state)
{
    ULONG length = GARBAGE, at = GARBAGE;
    (void)state;
    assert_int_equal(CALL(GetStringLayout2, &length, &at), E_NOTIMPL);
    assert_int_equal(length | at, 0);
    assert_int_equal(broken(SW_TUBE_UNKNOWN_METHOD), 1);
    assert_int_equal(CALL(GetStringLayout2, &length, &at), E_NOTIMPL);
    assert_int_equal(broken(SW_TUBE_UNKNOWN_METHOD), 1);
    assert_int_equal(sw_tube_calls(tube, "GetStringLayout2"), 2);
}

static void what_the_clr_does_not_implement_is_no_violation(void **state)
{
    IUnknown *out = (IUnknown *)(uintptr_t)GARBAGE;
    DWORD context = GARBAGE;
    (void)state;
    assert_int_equal(CALL(GetInprocInspectionInterface, &out), E_NOTIMPL);
    assert_null(out);
    assert_int_equal(CALL(BeginInprocDebugging, TRUE, &context), E_NOTIMPL);
    assert_int_equal(CALL(SetFunctionReJIT, sw_tube_function_id(entry)), E_NOTIMPL);
    assert_int_equal(broken(SW_TUBE_UNKNOWN_METHOD), 0);
}

/* An array's first element is cleared; without room for one, nothing. */
static void cleared_outputs_stay_in_their_bounds(void **state)
{
    COR_DEBUG_IL_TO_NATIVE_MAP map[2];
    ULONG32 count = GARBAGE;
    (void)state;
    memset(map, 0x5a, sizeof map);
    assert_int_equal(CALL(GetILToNativeMapping, sw_tube_function_id(entry), 0, &count, map), E_NOTIMPL);
    assert_int_equal(map[0].ilOffset, GARBAGE);
    assert_int_equal(count, 0);
    assert_int_equal(CALL(GetILToNativeMapping, sw_tube_function_id(entry), 2, NULL, map), E_NOTIMPL);
    assert_int_equal(map[0].ilOffset | map[0].nativeEndOffset, 0);
    assert_int_equal(map[1].ilOffset, GARBAGE);
}

static void the_test_may_answer_instead_with_cleared_outputs(void **state)
{
    ClassID class = GARBAGE;
    ModuleID of = GARBAGE;
    mdToken token = GARBAGE;
    const FunctionID id = sw_tube_function_id(entry);
    (void)state;
    assert_int_equal(sw_tube_answer(tube, "GetFunctionInfo", E_FAIL), SW_OK);
    assert_int_equal(CALL(GetFunctionInfo, id, &class, &of, &token), E_FAIL);
    assert_int_equal(class | of | token, 0);
    assert_int_equal(sw_tube_answer(tube, "ApplyMetaData", S_OK), SW_OK);
    assert_int_equal(CALL(ApplyMetaData, sw_tube_module_id(module)), S_OK);
    assert_int_equal(broken(SW_TUBE_UNKNOWN_METHOD), 0);
    assert_int_equal(sw_tube_answer_default(tube, "GetFunctionInfo"), SW_OK);
    assert_int_equal(CALL(GetFunctionInfo, id, &class, &of, &token), S_OK);
    assert_int_equal(token, entry->token);
    assert_int_equal(sw_tube_answer(tube, NULL, S_OK), SW_E_ARGUMENT);
    assert_int_equal(sw_tube_answer(NULL, "GetFunctionInfo", S_OK), SW_E_ARGUMENT);
}

static void only_methods_of_the_interface_can_be_answered(void **state)
{
    (void)state;
    start_scene(0, 0);
    assert_int_equal(sw_tube_answer(tube, "QueryInterface", E_FAIL), SW_E_NOT_FOUND);
    assert_non_null(strstr(sw_tube_problem(tube), "QueryInterface"));
    assert_int_equal(sw_tube_answer_default(tube, "Nothing"), SW_E_NOT_FOUND);
    sw_tube_destroy(tube);
    tube = NULL;
}

/* A foreign id of each kind: refused, and reported once for each call. 0 is only refused. */
static void ids_that_were_never_given_are_told(void **state)
{
    ModuleID of;
    mdToken token;
    ClassID class;
    AppDomainID domain;
    ULONG size;
    HANDLE handle;
    (void)state;
    assert_int_equal(CALL(GetFunctionInfo, BOGUS, &class, &of, &token), E_INVALIDARG);
    assert_int_equal(broken(SW_TUBE_UNKNOWN_ID), 1);
    assert_int_equal(CALL(GetModuleInfo, BOGUS, NULL, 0, &size, NULL, NULL), E_INVALIDARG);
    assert_int_equal(CALL(GetClassIDInfo, BOGUS, &of, &token), E_INVALIDARG);
    assert_int_equal(CALL(GetHandleFromThread, BOGUS, &handle), E_INVALIDARG);
    assert_int_equal(CALL(GetAssemblyInfo, BOGUS, 0, &size, NULL, &domain, &of), E_INVALIDARG);
    assert_int_equal(CALL(GetAppDomainInfo, BOGUS, 0, &size, NULL, NULL), E_INVALIDARG);
    assert_int_equal(CALL(GetClassFromObject, BOGUS, &class), E_INVALIDARG);
    assert_int_equal(broken(SW_TUBE_UNKNOWN_ID), 7);
    assert_int_equal(CALL(GetFunctionInfo, sw_tube_module_id(module), &class, &of, &token), E_INVALIDARG);
    assert_int_equal(broken(SW_TUBE_UNKNOWN_ID), 8);
    assert_int_equal(CALL(GetFunctionInfo, 0, &class, &of, &token), E_INVALIDARG);
    assert_int_equal(broken(SW_TUBE_UNKNOWN_ID), 8);
}

static void ids_that_are_good_are_not_told(void **state)
{
    ULONG size;
    AppDomainID domain;
    (void)state;
    assert_int_equal(CALL(GetAssemblyInfo, sw_tube_id(SW_ID_ASSEMBLY, module->index), 0, &size, NULL, &domain, NULL),
                     S_OK);
    assert_int_equal(CALL(GetAppDomainInfo, domain, 0, &size, NULL, NULL), S_OK);
    assert_int_equal(CALL(GetObjectSize, sw_tube_object(entry->type), &size), S_OK);
    assert_int_equal(CALL(GetClassIDInfo, sw_tube_id(SW_ID_CLASS, work->type->index), NULL, NULL), S_OK);
    assert_int_equal(CALL(GetThreadInfo, sw_tube_thread_id(thread), NULL), S_OK);
    assert_int_equal(sw_tube_violations(tube, NULL, 0), 0);
}

static void an_ended_function_is_an_unknown_id(void **state)
{
    mdToken token;
    (void)state;
    assert_int_equal(sw_tube_compile(work, NULL), SW_OK);
    assert_int_equal(sw_tube_function_unload(work), SW_OK);
    assert_int_equal(CALL(GetFunctionInfo, sw_tube_function_id(work), NULL, NULL, &token), E_INVALIDARG);
    assert_int_equal(broken(SW_TUBE_UNKNOWN_ID), 1);
}

/* ---- where slots may be called ---- */

static void ask_on_managed_thread(void *arg)
{
    ModuleID of;
    (void)arg;
    asked[0] = CALL(GetThreadInfo, sw_tube_thread_id(thread), NULL);                   /* SYNC */
    asked[1] = CALL(GetFunctionInfo, sw_tube_function_id(entry), NULL, &of, NULL);     /* anywhere */
    asked[2] = CALL(GetFunctionFromToken, sw_tube_module_id(module), 0x06000001, &of); /* SYNC */
}

static void a_managed_thread_outside_callbacks_is_refused_what_is_synchronous(void **state)
{
    (void)state;
    assert_int_equal(sw_tube_run(thread, ask_on_managed_thread, NULL), SW_OK);
    assert_int_equal(asked[0], CORPROF_E_UNSUPPORTED_CALL_SEQUENCE);
    assert_int_equal(asked[1], S_OK);
    assert_int_equal(asked[2], CORPROF_E_UNSUPPORTED_CALL_SEQUENCE);
    ask_on_managed_thread(NULL); /* a thread of the profiler's own */
    assert_int_equal(asked[0], S_OK);
    assert_int_equal(asked[2], S_OK);
}

static void ask_in_jit(struct listener *self, const char *callback)
{
    if (strcmp(callback, "JITCompilationStarted") != 0)
        return;
    info = self->info;
    ask_on_managed_thread(NULL);
}

static void a_callback_on_a_managed_thread_may_call_it(void **state)
{
    (void)state;
    start_scene(COR_PRF_MONITOR_JIT_COMPILATION, 0);
    asked[0] = E_FAIL;
    listener.on = ask_in_jit;
    assert_int_equal(sw_tube_call(thread, work), SW_OK);
    assert_int_equal(asked[0], S_OK);
    assert_int_equal(asked[2], S_OK);
}

static void ask_in_gc(struct listener *self, const char *callback)
{
    ICorProfilerThreadEnum *threads = NULL;
    ICorProfilerModuleEnum *modules = (ICorProfilerModuleEnum *)(uintptr_t)GARBAGE;
    if (strcmp(callback, "GarbageCollectionStarted") != 0)
        return;
    asked[0] = self->info->lpVtbl->EnumModules(self->info, &modules);
    assert_null(modules);
    asked[1] = self->info->lpVtbl->EnumThreads(self->info, &threads);
    threads->lpVtbl->Release(threads);
    asked[2] = self->info->lpVtbl->SuspendRuntime(self->info);
}

static void what_may_trigger_a_gc_is_refused_in_a_gc_and_told(void **state)
{
    (void)state;
    start_scene(COR_PRF_MONITOR_GC, 0);
    listener.on = ask_in_gc;
    assert_int_equal(sw_tube_collect(tube, NULL), SW_OK);
    assert_int_equal(asked[0], CORPROF_E_UNSUPPORTED_CALL_SEQUENCE);
    assert_int_equal(asked[1], S_OK);
    assert_int_equal(asked[2], CORPROF_E_UNSUPPORTED_CALL_SEQUENCE);
    assert_int_equal(broken(SW_TUBE_FORBIDDEN_CALL), 2);
}

/*
 * Where each slot may be called, as the entry macros of dotnet/runtime src/coreclr/vm/proftoeeinterfaceimpl.cpp say;
 * what is not listed may be called anywhere. S: not on a managed thread outside callbacks. G: may trigger a GC.
 * A: not for a profiler that was attached.
 */
static const struct {
    const char *name, *rules;
} places[] = { { "GetClassFromObject", "S" },
               { "GetClassFromToken", "SG" },
               { "GetFunctionFromToken", "S" },
               { "GetHandleFromThread", "S" },
               { "GetObjectSize", "S" },
               { "GetThreadInfo", "S" },
               { "SetEnterLeaveFunctionHooks", "A" },
               { "SetFunctionIDMapper", "A" },
               { "GetTokenAndMetaDataFromFunction", "S" },
               { "GetModuleMetaData", "S" },
               { "GetILFunctionBodyAllocator", "SG" },
               { "SetILFunctionBody", "SG" },
               { "GetAppDomainInfo", "SG" },
               { "GetAssemblyInfo", "S" },
               { "SetILInstrumentedCodeMap", "SG" },
               { "GetILToNativeMapping", "S" },
               { "SetEnterLeaveFunctionHooks2", "A" },
               { "GetStringLayout", "S" },
               { "GetClassFromTokenAndTypeArgs", "SG" },
               { "GetFunctionFromTokenAndTypeArgs", "SG" },
               { "EnumModuleFrozenObjects", "S" },
               { "GetArrayObjectInfo", "S" },
               { "GetBoxClassLayout", "S" },
               { "GetRVAStaticAddress", "S" },
               { "GetAppDomainStaticAddress", "S" },
               { "GetThreadStaticAddress", "S" },
               { "GetContextStaticAddress", "S" },
               { "GetStaticFieldInfo", "S" },
               { "GetGenerationBounds", "S" },
               { "GetObjectGeneration", "S" },
               { "GetNotifiedExceptionClauseInfo", "SA" },
               { "EnumJITedFunctions", "S" },
               { "SetFunctionIDMapper2", "A" },
               { "GetStringLayout2", "S" },
               { "SetEnterLeaveFunctionHooks3", "A" },
               { "SetEnterLeaveFunctionHooks3WithInfo", "A" },
               { "GetFunctionEnter3Info", "SA" },
               { "GetFunctionLeave3Info", "SA" },
               { "GetFunctionTailcall3Info", "SA" },
               { "EnumModules", "SG" },
               { "GetRuntimeInformation", "S" },
               { "GetThreadStaticAddress2", "S" },
               { "GetAppDomainsContainingModule", "SG" },
               { "EnumThreads", "S" },
               { "InitializeCurrentThread", "S" },
               { "RequestReJIT", "SG" },
               { "RequestRevert", "SG" },
               { "GetCodeInfo3", "SG" },
               { "GetFunctionFromIP2", "SG" },
               { "GetReJITIDs", "SG" },
               { "GetILToNativeMapping2", "S" },
               { "EnumJITedFunctions2", "SG" },
               { "GetObjectSize2", "S" },
               { "EnumNgenModuleMethodsInliningThisMethod", "SGA" },
               { "ApplyMetaData", "SG" },
               { "GetInMemorySymbolsLength", "S" },
               { "ReadInMemorySymbols", "S" },
               { "GetFunctionFromIP3", "G" }, /* clr-observed.md: anywhere in .NET 10 */
               { "GetILToNativeMapping3", "S" },
               { "GetCodeInfo4", "G" }, /* the same */
               { "EnumerateObjectReferences", "S" },
               { "IsFrozenObject", "S" },
               { "GetLOHObjectSizeThreshold", "S" },
               { "RequestReJITWithInliners", "SG" },
               { "EventPipeStartSession", "G" },
               { "EventPipeAddProviderToSession", "G" },
               { "EventPipeStopSession", "G" },
               { "EventPipeCreateProvider", "G" },
               { "EventPipeDefineEvent", "G" },
               { "EventPipeCreateProvider2", "G" } };

/*
 * What would change the scenario; and a slot with a structure as a parameter, which ARM64 passes by its address: nulls
 * are no such thing.
 */
static const char *const left_out[] = { "ForceGC", "RequestProfilerDetach", "SuspendRuntime", "ResumeRuntime",
#if defined(__aarch64__)
                                        "EventPipeAddProviderToSession"
#endif
};

static bool has_rule(size_t slot, char rule)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strcmp(places[i].name, sw_tube_slot_name(slot)) == 0)
            return strchr(places[i].rules, rule) != NULL;
    return false;
}

static bool is_left_out(size_t slot)
{
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (strcmp(left_out[i], sw_tube_slot_name(slot)) == 0)
            return true;
    return false;
}

/* Every slot with nulls, whatever its parameters: no slot has more than eleven. */
typedef HRESULT any_slot(void *self, UINT_PTR, UINT_PTR, UINT_PTR, UINT_PTR, UINT_PTR, UINT_PTR, UINT_PTR, UINT_PTR,
                         UINT_PTR, UINT_PTR, UINT_PTR);
static HRESULT answers[SW_TUBE_INFO_SLOTS];
static void call_every_slot(void *arg)
{
    struct {
        any_slot *const *table;
    } *object = arg;
    for (size_t slot = 3; slot < SW_TUBE_INFO_SLOTS; slot++)
        if (!is_left_out(slot))
            answers[slot] = object->table[slot](object, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

static void every_slot_on_a_managed_thread_outside_callbacks(void **state)
{
    (void)state;
    assert_int_equal(sw_tube_run(thread, call_every_slot, info), SW_OK);
    for (size_t slot = 3; slot < SW_TUBE_INFO_SLOTS; slot++)
        if ((answers[slot] == CORPROF_E_UNSUPPORTED_CALL_SEQUENCE) != has_rule(slot, 'S'))
            fail_msg("%s answered %#x", sw_tube_slot_name(slot), (unsigned)answers[slot]);
}

static void every_slot_of_an_attached_profiler(void **state)
{
    (void)state;
    listener_init(&listener);
    assert_int_equal(sw_tube_create(&options, &tube), SW_OK);
    assert_int_equal(sw_tube_use(tube, (IUnknown *)&listener.com), SW_OK);
    assert_int_equal(sw_tube_attach(tube, NULL, 0), SW_OK);
    call_every_slot(listener.info);
    for (size_t slot = 3; slot < SW_TUBE_INFO_SLOTS; slot++)
        if ((answers[slot] == CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER) != has_rule(slot, 'A'))
            fail_msg("%s answered %#x", sw_tube_slot_name(slot), (unsigned)answers[slot]);
}

static void every_slot_in_gc(struct listener *self, const char *callback)
{
    if (strcmp(callback, "GarbageCollectionStarted") == 0)
        call_every_slot(self->info);
}

static bool was_forbidden(size_t slot)
{
    struct sw_tube_violation list[256];
    const size_t count = sw_tube_violations(tube, list, 256);
    for (size_t i = 0; i < count; i++)
        if (list[i].rule == SW_TUBE_FORBIDDEN_CALL && strcmp(list[i].call, sw_tube_slot_name(slot)) == 0)
            return true;
    return false;
}

static void every_slot_where_a_gc_is_forbidden(void **state)
{
    (void)state;
    start_scene(COR_PRF_MONITOR_GC, 0);
    listener.on = every_slot_in_gc;
    assert_int_equal(sw_tube_collect(tube, NULL), SW_OK);
    for (size_t slot = 3; slot < SW_TUBE_INFO_SLOTS; slot++) {
        const bool refused = has_rule(slot, 'S') && has_rule(slot, 'G');
        if (is_left_out(slot))
            continue;
        if (was_forbidden(slot) != has_rule(slot, 'G') ||
            (answers[slot] == CORPROF_E_UNSUPPORTED_CALL_SEQUENCE) != refused)
            fail_msg("%s answered %#x", sw_tube_slot_name(slot), (unsigned)answers[slot]);
    }
}

/* Hooks are for Initialize. */
static void every_slot_for_initialize_only(void **state)
{
    (void)state;
    call_every_slot(info);
    for (size_t slot = 3; slot < SW_TUBE_INFO_SLOTS; slot++) {
        const bool hooks = strncmp(sw_tube_slot_name(slot), "SetEnterLeave", 13) == 0;
        if ((answers[slot] == CORPROF_E_CALL_ONLY_FROM_INIT) != hooks)
            fail_msg("%s answered %#x", sw_tube_slot_name(slot), (unsigned)answers[slot]);
    }
}

/* D24 */
static void d24_a_lock_held_across_what_may_trigger_a_gc_is_told(void **state)
{
    ICorProfilerModuleEnum *modules = NULL;
    struct sw_tube_violation list[1];
    (void)state;
    sw_tube_lock_taken("names");
    CALL(GetFunctionInfo, sw_tube_function_id(entry), NULL, NULL, NULL);
    assert_int_equal(broken(SW_TUBE_LOCK_HELD), 0);
    assert_int_equal(CALL(EnumModules, &modules), S_OK);
    sw_tube_lock_released("names");
    assert_int_equal(sw_tube_violations(tube, list, 1), 1);
    assert_int_equal(list[0].rule, SW_TUBE_LOCK_HELD);
    assert_string_equal(list[0].call, "EnumModules");
    assert_non_null(strstr(list[0].detail, "names"));
    modules->lpVtbl->Release(modules);
}

static void after_shutdown_every_call_is_late(void **state)
{
    ModuleID of = GARBAGE;
    (void)state;
    assert_int_equal(sw_tube_shutdown(tube), SW_OK);
    assert_int_equal(CALL(GetFunctionInfo, sw_tube_function_id(entry), NULL, &of, NULL), CORPROF_E_PROFILER_DETACHING);
    assert_int_equal(of, 0);
    assert_int_equal(broken(SW_TUBE_LATE_CALL), 1);
}

static void ask_in_shutdown(struct listener *self, const char *callback)
{
    DWORD mask;
    if (strcmp(callback, "Shutdown") == 0)
        asked[0] = self->info->lpVtbl->GetEventMask(self->info, &mask);
}

static void in_shutdown_a_call_is_not_late(void **state)
{
    (void)state;
    asked[0] = E_FAIL;
    listener.on = ask_in_shutdown;
    assert_int_equal(sw_tube_shutdown(tube), SW_OK);
    assert_int_equal(asked[0], S_OK);
    assert_int_equal(broken(SW_TUBE_LATE_CALL), 0);
}

static void force_then_ask(void *arg)
{
    (void)arg;
    asked[1] = CALL(ForceGC);
    asked[2] = sw_tube_run(thread, ask_on_managed_thread, NULL) == SW_OK ? asked[0] : E_FAIL;
}

static void *force_on_another_thread(void *arg)
{
    force_then_ask(arg);
    return NULL;
}

/* Simulated threads run on the thread that makes the step, so it is a managed one there. */
static void whoever_has_forced_a_gc_may_call_anything(void **state)
{
    pthread_t other;
    (void)state;
    assert_int_equal(pthread_create(&other, NULL, force_on_another_thread, NULL), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(asked[1], S_OK);
    assert_int_equal(asked[2], S_OK);
    assert_int_equal(sw_tube_run(thread, ask_on_managed_thread, NULL), SW_OK);
    assert_int_equal(asked[0], CORPROF_E_UNSUPPORTED_CALL_SEQUENCE); /* this thread has not */
}

/* ---- the recording ---- */

static char lines[32][512];
static size_t line_count;
static void keep_line(void *arg, const char *line)
{
    (void)arg;
    strncat(lines[line_count % 32], line, sizeof lines[0] - 1);
    line_count++;
}

static const char *last_line(const char *name)
{
    for (size_t i = line_count; i-- > 0;)
        if (strstr(lines[i % 32], name))
            return lines[i % 32];
    return "";
}

static void a_call_is_recorded_with_names_and_its_answer(void **state)
{
    mdToken token;
    ModuleID of;
    ULONG count;
    (void)state;
    memset(lines, 0, sizeof lines);
    line_count = 0;
    options.record = keep_line;
    start_scene(0, 0);
    memset(lines, 0, sizeof lines);
    line_count = 0;
    CALL(GetFunctionInfo, sw_tube_function_id(entry), NULL, &of, &token);
    const char *line = last_line("\"GetFunctionInfo\"");
    assert_non_null(strstr(line, "Demo.Program.Main"));
    assert_non_null(strstr(line, "\"pModuleId\":\"Demo.dll\""));
    assert_non_null(strstr(line, "\"pToken\":100663297"));
    assert_non_null(strstr(line, "S_OK"));
    assert_null(strstr(line, "pClassId")); /* it was not asked for */
    CALL(GetModuleInfo, sw_tube_module_id(module), NULL, UNITS, &count, buffer, NULL);
    assert_non_null(strstr(last_line("GetModuleInfo"), "\"szName\":\"/app/Demo.dll\""));
    void *import = NULL;
    static const IID iid = { 0x7dac8207, 0xd3ae, 0x4c75, { 0x9b, 0x67, 0x92, 0x80, 0x1a, 0x49, 0x7d, 0x44 } };
    CALL(GetTokenAndMetaDataFromFunction, sw_tube_function_id(entry), &iid, (IUnknown **)&import, NULL);
    ((IUnknown *)import)->lpVtbl->Release(import);
    line = last_line("GetTokenAndMetaDataFromFunction");
    assert_non_null(strstr(line, "\"riid\":\"7dac8207-d3ae-4c75-9b67-92801a497d44\""));
    assert_non_null(strstr(line, "\"ppImport\":\"set\""));
    CALL(GetEnvironmentVariable, wide("SW_NO_SUCH"), 0, &count, NULL);
    line = last_line("GetEnvironmentVariable");
    assert_non_null(strstr(line, "\"szName\":\"SW_NO_SUCH\""));
    assert_null(strstr(line, "pcchValue")); /* outputs of a failure are not recorded */
}

#define TEST(name)  cmocka_unit_test_setup_teardown(name, begin_scene, end_scene)
#define ALONE(name) cmocka_unit_test_setup_teardown(name, create_scene, end_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_every_version_and_has_no_reference_count),
        ALONE(dotnet_8_refuses_the_newest_version),
        TEST(calls_are_counted_by_name),
        TEST(every_slot_has_its_name),
        TEST(what_nobody_serves_is_said_once_and_clears_its_outputs),
        TEST(what_the_clr_does_not_implement_is_no_violation),
        TEST(cleared_outputs_stay_in_their_bounds),
        TEST(the_test_may_answer_instead_with_cleared_outputs),
        ALONE(only_methods_of_the_interface_can_be_answered),
        TEST(ids_that_were_never_given_are_told),
        TEST(ids_that_are_good_are_not_told),
        TEST(an_ended_function_is_an_unknown_id),
        TEST(a_managed_thread_outside_callbacks_is_refused_what_is_synchronous),
        ALONE(a_callback_on_a_managed_thread_may_call_it),
        ALONE(what_may_trigger_a_gc_is_refused_in_a_gc_and_told),
        TEST(every_slot_on_a_managed_thread_outside_callbacks),
        ALONE(every_slot_of_an_attached_profiler),
        ALONE(every_slot_where_a_gc_is_forbidden),
        TEST(every_slot_for_initialize_only),
        TEST(d24_a_lock_held_across_what_may_trigger_a_gc_is_told),
        TEST(after_shutdown_every_call_is_late),
        TEST(in_shutdown_a_call_is_not_late),
        TEST(whoever_has_forced_a_gc_may_call_anything),
        ALONE(a_call_is_recorded_with_names_and_its_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
