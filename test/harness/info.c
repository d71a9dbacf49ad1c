/*
 * ICorProfilerInfo15 as the profiler in a tube gets it: what each served slot answers, where it may be called, and what
 * becomes of slots that nobody serves. Outputs hold garbage before each call. Facts: clr-contract.md section 8,
 * metadata-abi.md sections 6 and 10, diagnostics-ipc.md sections 4 and 5.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "text.h"
#include "tube.h"

#include "../support/listener.h"

enum { GARBAGE = 0x5a5a5a5a, UNITS = 64, BOGUS = 0x1234568 };
#define INSUFFICIENT ((HRESULT)0x8007007au)
#define NO_VARIABLE  ((HRESULT)0x800700cbu)

static struct listener listener;
static struct sw_tube *tube;
static struct sw_tube_module *module;
static struct sw_tube_function *entry, *work, *hidden, *ready, *generic;
static struct sw_tube_thread *thread;
static ICorProfilerInfo15 *info;
static WCHAR buffer[UNITS];

#define CALL(slot, ...) info->lpVtbl->slot(info __VA_OPT__(, ) __VA_ARGS__)

/* What the next runtimes are like; set by tests before `start`. */
static struct sw_tube_options options;
static unsigned callback_version;
static void (*on_callback)(struct listener *self, const char *callback);

static int create(void **state)
{
    (void)state;
    options = (struct sw_tube_options){ .simulated = true };
    callback_version = 11;
    on_callback = NULL;
    tube = NULL;
    return 0;
}

/* A running runtime with functions of all kinds and a thread in managed code. */
static void start(DWORD low, DWORD high)
{
    listener_init(&listener);
    listener.version = callback_version;
    listener.low = low;
    listener.high = high;
    listener.on = on_callback;
    assert_int_equal(sw_tube_create(&options, &tube), SW_OK);
    assert_int_equal(sw_tube_use(tube, (IUnknown *)&listener.com), SW_OK);
    assert_int_equal(sw_tube_start(tube), SW_OK);
    info = listener.info;
    module = sw_tube_module_load(tube, "Demo.dll");
    entry = sw_tube_function_add(module, "Demo.Program", "Main", 0);
    work = sw_tube_function_add(module, "Demo.Program+Worker", "Work", 0);
    hidden = sw_tube_function_add(module, "Demo.Program", "IL_STUB", SW_TUBE_HIDDEN);
    ready = sw_tube_function_add(module, "Demo.Program", "Ready", SW_TUBE_PRECOMPILED);
    generic = sw_tube_function_add(module, "Demo.List`1", "Add", 0);
    thread = sw_tube_thread_start(tube, "main");
    assert_int_equal(sw_tube_call(thread, entry), SW_OK);
    memset(buffer, 0x5a, sizeof buffer);
}

static int begin(void **state)
{
    create(state);
    start(0, 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    assert_string_equal(tube ? sw_tube_problem(tube) : "", "");
    sw_tube_destroy(tube);
    return 0;
}

static size_t broken(enum sw_tube_rule rule)
{
    struct sw_tube_violation list[64];
    const size_t all = sw_tube_violations(tube, list, 64);
    size_t count = 0;
    for (size_t i = 0; i < all; i++)
        count += list[i].rule == rule;
    return count;
}

static const WCHAR *wide(const char *text)
{
    static WCHAR to[4][UNITS];
    static unsigned next;
    next = (next + 1) % 4;
    sw_text_to_wide(text, to[next], UNITS);
    return to[next];
}

#define ASSERT_NAME(expected) assert_true(sw_text_equals(buffer, expected))

static ClassID class_of(const struct sw_tube_function *function)
{
    return sw_tube_id(SW_ID_CLASS, function->type->index);
}

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
    start(0, 0);
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
    assert_int_equal(CALL(GetClassIDInfo, class_of(work), NULL, NULL), S_OK);
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

static HRESULT asked[3];
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
    start(COR_PRF_MONITOR_JIT_COMPILATION, 0);
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
    start(COR_PRF_MONITOR_GC, 0);
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

/* What would change the scenario. */
static const char *const left_out[] = { "ForceGC", "RequestProfilerDetach", "SuspendRuntime", "ResumeRuntime" };

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
    start(COR_PRF_MONITOR_GC, 0);
    listener.on = every_slot_in_gc;
    assert_int_equal(sw_tube_collect(tube, NULL), SW_OK);
    for (size_t slot = 3; slot < SW_TUBE_INFO_SLOTS; slot++) {
        const bool refused = has_rule(slot, 'S') && has_rule(slot, 'G');
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
    start(COR_PRF_ENABLE_OBJECT_ALLOCATED, 0);
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
        start(0, 0);
        assert_int_equal(CALL(SetEventMask2, 0, COR_PRF_HIGH_ADD_ASSEMBLY_REFERENCES), rows[i].references);
        assert_int_equal(CALL(SetEventMask2, 0, COR_PRF_HIGH_IN_MEMORY_SYMBOLS_UPDATED), rows[i].symbols);
        assert_int_equal(CALL(SetEventMask2, 0, COR_PRF_HIGH_BASIC_GC), S_OK);
        sw_tube_destroy(tube);
    }
    tube = NULL;
}

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
    start(COR_PRF_MONITOR_GC, 0);
    assert_int_equal(sw_tube_run(thread, force_gc, NULL), SW_OK);
    assert_int_equal(asked[0], CORPROF_E_UNSUPPORTED_CALL_SEQUENCE);
    assert_int_equal(sw_tube_raised(tube, "GarbageCollectionStarted"), 0);
    assert_int_equal(CALL(ForceGC), S_OK);
    assert_int_equal(sw_tube_raised(tube, "GarbageCollectionStarted"), 1);
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

static void before_the_runtime_has_started_there_is_no_gc(void **state)
{
    (void)state;
    assert_int_equal(sw_tube_create(&options, &tube), SW_OK);
    info = (ICorProfilerInfo15 *)sw_tube_info(tube);
    assert_int_equal(CALL(ForceGC), CORPROF_E_NOT_YET_AVAILABLE);
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
        start(rows[i].low, 0);
        assert_int_equal(asked[0], CORPROF_E_PROFILER_NOT_YET_INITIALIZED);
        assert_int_equal(CALL(SetEventMask, rows[i].then), S_OK);
        assert_int_equal(CALL(RequestProfilerDetach, 0), rows[i].hr);
        sw_tube_destroy(tube);
    }
    callback_version = 2;
    start(0, 0);
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
    assert_int_equal(CALL(SetEnvironmentVariable, name, wide("second")), S_OK);
    assert_int_equal(CALL(GetEnvironmentVariable, name, UNITS, &count, buffer), S_OK);
    ASSERT_NAME("second");
    assert_null(getenv("SW_TEST_VARIABLE"));
    assert_int_equal(CALL(SetEnvironmentVariable, name, NULL), S_OK);
    assert_int_equal(CALL(GetEnvironmentVariable, name, 0, &count, NULL), NO_VARIABLE);
    assert_int_equal(CALL(SetEnvironmentVariable, NULL, name), E_INVALIDARG);
}

/* ---- functions ---- */

static void functions_are_told_by_class_module_and_token(void **state)
{
    const struct {
        struct sw_tube_function *function;
        ClassID class;
        mdToken token;
    } rows[] = { { entry, class_of(entry), 0x06000001 },
                 { work, class_of(work), 0x06000002 },
                 { hidden, class_of(entry), 0x06000000 },
                 { generic, 0, 0x06000004 } }; /* which instance does not follow from the function */
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const FunctionID id = sw_tube_function_id(rows[i].function);
        ClassID class = GARBAGE;
        ModuleID of = GARBAGE;
        mdToken token = GARBAGE;
        ULONG32 count = GARBAGE;
        assert_int_equal(CALL(GetFunctionInfo, id, &class, &of, &token), S_OK);
        assert_int_equal(class, rows[i].class);
        assert_int_equal(of, sw_tube_module_id(module));
        assert_int_equal(token, rows[i].token);
        class = of = token = GARBAGE;
        assert_int_equal(CALL(GetFunctionInfo2, id, 0, &class, &of, &token, 0, &count, NULL), S_OK);
        assert_int_equal(class, class_of(rows[i].function));
        assert_int_equal(of, sw_tube_module_id(module));
        assert_int_equal(token, rows[i].token);
        assert_int_equal(count, 0);
    }
    assert_int_equal(CALL(GetFunctionInfo, sw_tube_function_id(entry), NULL, NULL, NULL), S_OK);
    assert_int_equal(CALL(GetFunctionInfo2, 0, 0, NULL, NULL, NULL, 0, NULL, NULL), E_INVALIDARG);
    assert_int_equal(CALL(GetFunctionInfo2, sw_tube_function_id(entry), 0, NULL, NULL, NULL, 1, NULL, NULL),
                     E_INVALIDARG);
}

struct frames {
    HRESULT own, other;
    COR_PRF_FRAME_INFO kept;
};

static HRESULT STDMETHODCALLTYPE ask_of_frame(FunctionID id, UINT_PTR ip, COR_PRF_FRAME_INFO frame, ULONG32 size,
                                              BYTE context[], void *data)
{
    struct frames *frames = data;
    mdToken token = 0;
    (void)ip, (void)size, (void)context;
    if (id != sw_tube_function_id(entry))
        return S_OK;
    frames->kept = frame;
    frames->own = CALL(GetFunctionInfo2, id, frame, NULL, NULL, &token, 0, NULL, NULL);
    assert_int_equal(token, entry->token);
    frames->other = CALL(GetFunctionInfo2, sw_tube_function_id(work), frame, NULL, NULL, &token, 0, NULL, NULL);
    return S_OK;
}

static void a_frame_is_of_its_function_only_and_dies_with_its_callback(void **state)
{
    struct frames frames = { E_FAIL, S_OK, 0 };
    (void)state;
    start(COR_PRF_ENABLE_STACK_SNAPSHOT, 0);
    assert_int_equal(CALL(SuspendRuntime), S_OK);
    assert_int_equal(CALL(DoStackSnapshot, sw_tube_thread_id(thread), ask_of_frame, 0, &frames, NULL, 0), S_OK);
    assert_int_equal(CALL(ResumeRuntime), S_OK);
    assert_int_equal(frames.own, S_OK);
    assert_int_equal(frames.other, E_INVALIDARG);
    assert_int_equal(broken(SW_TUBE_STALE_FRAME), 0);
    assert_int_equal(CALL(GetFunctionInfo2, sw_tube_function_id(entry), frames.kept, NULL, NULL, NULL, 0, NULL, NULL),
                     E_INVALIDARG);
    assert_int_equal(broken(SW_TUBE_STALE_FRAME), 1);
}

static void functions_by_token(void **state)
{
    const struct {
        mdToken token;
        HRESULT hr;
        const struct sw_tube_function *function;
    } rows[] = { { 0x06000001, S_OK, entry },
                 { 0x06000002, S_OK, work },
                 { 0x06000000, E_INVALIDARG, NULL },
                 { 0x06000005, E_INVALIDARG, NULL },
                 { 0x02000001, E_INVALIDARG, NULL },
                 { 0, E_INVALIDARG, NULL },
                 { 0x06000004, CORPROF_E_FUNCTION_IS_PARAMETERIZED, NULL } };
    FunctionID id;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        id = GARBAGE;
        assert_int_equal(CALL(GetFunctionFromToken, sw_tube_module_id(module), rows[i].token, &id), rows[i].hr);
        assert_int_equal(id, rows[i].function ? sw_tube_function_id(rows[i].function) : GARBAGE);
    }
    assert_int_equal(CALL(GetFunctionFromToken, 0, 0x06000001, &id), E_INVALIDARG);
}

static void dynamic_functions(void **state)
{
    BOOL dynamic = GARBAGE;
    ModuleID of = 0;
    PCCOR_SIGNATURE blob = NULL;
    ULONG size = 0, count = 0;
    (void)state;
    assert_int_equal(CALL(IsFunctionDynamic, sw_tube_function_id(hidden), &dynamic), S_OK);
    assert_int_equal(dynamic, TRUE);
    assert_int_equal(CALL(IsFunctionDynamic, sw_tube_function_id(entry), &dynamic), S_OK);
    assert_int_equal(dynamic, FALSE);
    assert_int_equal(CALL(IsFunctionDynamic, sw_tube_function_id(entry), NULL), S_OK);
    assert_int_equal(CALL(IsFunctionDynamic, 0, &dynamic), E_INVALIDARG);
#define DYNAMIC(id, size_, name) CALL(GetDynamicFunctionInfo, id, &of, &blob, &size, size_, &count, name)
    assert_int_equal(DYNAMIC(sw_tube_function_id(hidden), UNITS, buffer), S_OK);
    ASSERT_NAME("IL_STUB");
    assert_int_equal(count, sizeof "IL_STUB");
    assert_int_equal(of, sw_tube_module_id(module));
    assert_int_equal(size, 3);
    assert_memory_equal(blob, "\0\0\1", 3);
    assert_int_equal(DYNAMIC(sw_tube_function_id(hidden), 7, buffer), INSUFFICIENT);
    ASSERT_NAME("");
    assert_int_equal(count, sizeof "IL_STUB");
    assert_int_equal(DYNAMIC(sw_tube_function_id(entry), UNITS, buffer), E_INVALIDARG);
}

/* ---- code ---- */

static void code_is_told_once_it_is_there(void **state)
{
    const FunctionID id = sw_tube_function_id(entry), never = sw_tube_function_id(work);
    const COR_PRF_CODE_INFO code = sw_tube_function_code(entry);
    COR_PRF_CODE_INFO infos[2] = { { 0, 0 }, { GARBAGE, 0 } };
    LPCBYTE begin_at = NULL;
    ULONG size = 0;
    ULONG32 count = GARBAGE;
    (void)state;
    assert_int_equal(CALL(GetCodeInfo, id, &begin_at, &size), S_OK);
    assert_ptr_equal(begin_at, (void *)code.startAddress);
    assert_int_equal(size, code.size);
    assert_int_equal(CALL(GetCodeInfo, id, NULL, NULL), S_OK);
    assert_int_equal(CALL(GetCodeInfo2, id, 2, &count, infos), S_OK);
    assert_int_equal(count, 1);
    assert_int_equal(infos[0].startAddress, code.startAddress);
    assert_int_equal(infos[0].size, code.size);
    assert_int_equal(infos[1].startAddress, GARBAGE);
    assert_int_equal(CALL(GetCodeInfo2, id, 0, &count, NULL), S_OK);
    assert_int_equal(CALL(GetCodeInfo2, id, 1, &count, NULL), E_INVALIDARG);
    assert_int_equal(CALL(GetCodeInfo, 0, &begin_at, &size), E_INVALIDARG);
    assert_int_equal(CALL(GetCodeInfo2, 0, 2, &count, infos), E_INVALIDARG);
    assert_int_equal(CALL(GetCodeInfo, never, &begin_at, &size), CORPROF_E_FUNCTION_NOT_COMPILED);
    assert_int_equal(CALL(GetCodeInfo2, never, 2, &count, infos), CORPROF_E_FUNCTION_NOT_COMPILED);
    assert_int_equal(CALL(GetCodeInfo3, never, 0, 2, &count, infos), CORPROF_E_FUNCTION_NOT_COMPILED);
    assert_int_equal(CALL(GetCodeInfo3, id, 7, 2, &count, infos), CORPROF_E_FUNCTION_NOT_COMPILED);
    assert_int_equal(CALL(GetCodeInfo3, id, 0, 2, &count, infos), S_OK);
    assert_int_equal(infos[0].startAddress, code.startAddress);
}

static void each_tier_has_a_start_and_the_newest_is_the_functions_code(void **state)
{
    const FunctionID id = sw_tube_function_id(entry);
    const UINT_PTR old = sw_tube_function_code(entry).startAddress;
    UINT_PTR starts[3] = { 0, 0, GARBAGE };
    COR_PRF_CODE_INFO found;
    LPCBYTE begin_at = NULL;
    ULONG32 count = GARBAGE;
    (void)state;
    assert_int_equal(sw_tube_compile(entry, NULL), SW_OK);
    const COR_PRF_CODE_INFO code = sw_tube_function_code(entry);
    assert_int_not_equal(code.startAddress, old);
    assert_int_equal(CALL(GetNativeCodeStartAddresses, id, 0, 3, &count, starts), S_OK);
    assert_int_equal(count, 2);
    assert_int_equal(starts[0], old);
    assert_int_equal(starts[1], code.startAddress);
    assert_int_equal(starts[2], GARBAGE);
    assert_int_equal(CALL(GetNativeCodeStartAddresses, id, 0, 0, &count, NULL), S_OK);
    assert_int_equal(count, 2);
    starts[0] = GARBAGE;
    assert_int_equal(CALL(GetNativeCodeStartAddresses, id, 0, 1, &count, starts), INSUFFICIENT);
    assert_int_equal(starts[0], GARBAGE);
    assert_int_equal(CALL(GetNativeCodeStartAddresses, id, 9, 3, &count, starts), S_OK);
    assert_int_equal(count, 0);
    assert_int_equal(CALL(GetNativeCodeStartAddresses, 0, 0, 3, &count, starts), E_INVALIDARG);
    assert_int_equal(CALL(GetCodeInfo, id, &begin_at, NULL), S_OK);
    assert_ptr_equal(begin_at, (void *)code.startAddress);
    assert_int_equal(CALL(GetCodeInfo3, id, 0, 1, &count, &found), S_OK); /* the first */
    assert_int_equal(found.startAddress, old);
    assert_int_equal(CALL(GetCodeInfo4, old, 1, &count, &found), S_OK);
    assert_int_equal(found.startAddress, old);
    assert_int_equal(CALL(GetCodeInfo4, code.startAddress, 1, &count, &found), S_OK);
    assert_int_equal(found.startAddress, code.startAddress);
    assert_int_equal(found.size, code.size);
    assert_int_equal(CALL(GetCodeInfo4, code.startAddress + 1, 1, &count, &found), CORPROF_E_FUNCTION_NOT_COMPILED);
    assert_int_equal(CALL(GetCodeInfo4, 0, 1, &count, &found), CORPROF_E_FUNCTION_NOT_COMPILED);
    assert_int_equal(CALL(GetCodeInfo4, code.startAddress, 1, &count, NULL), E_INVALIDARG);
}

static void addresses_are_looked_up(void **state)
{
    const LPCBYTE inside = (LPCBYTE)sw_tube_function_code(entry).startAddress + 1;
    FunctionID id = 0;
    ReJITID rejit = GARBAGE;
    (void)state;
    assert_int_equal(sw_tube_compile(hidden, NULL), SW_OK);
    const LPCBYTE stub = (LPCBYTE)sw_tube_function_code(hidden).startAddress;
    assert_int_equal(CALL(GetFunctionFromIP, inside, &id), S_OK);
    assert_int_equal(id, sw_tube_function_id(entry));
    id = 0;
    assert_int_equal(CALL(GetFunctionFromIP2, inside, &id, &rejit), S_OK);
    assert_int_equal(id, sw_tube_function_id(entry));
    assert_int_equal(rejit, 0);
    id = rejit = GARBAGE;
    assert_int_equal(CALL(GetFunctionFromIP3, stub, &id, &rejit), S_OK); /* stubs too */
    assert_int_equal(id, sw_tube_function_id(hidden));
    assert_int_equal(rejit, 0);
    assert_int_equal(CALL(GetFunctionFromIP, inside, NULL), S_OK);
    assert_int_equal(CALL(GetFunctionFromIP2, inside, NULL, NULL), S_OK);
    id = rejit = GARBAGE;
    assert_int_equal(CALL(GetFunctionFromIP3, (LPCBYTE)16, &id, &rejit), E_FAIL);
    assert_int_equal(id, GARBAGE);
    assert_int_equal(rejit, GARBAGE);
}

static void coreclr_does_not_tell_whose_code_a_stub_is(void **state)
{
    FunctionID id = GARBAGE;
    (void)state;
    options.flavour = SW_FLAVOUR_CORECLR_UNIX;
    start(0, 0);
    assert_int_equal(sw_tube_compile(hidden, NULL), SW_OK);
    const LPCBYTE stub = (LPCBYTE)sw_tube_function_code(hidden).startAddress;
    assert_int_equal(CALL(GetFunctionFromIP, stub, &id), E_FAIL);
    assert_int_equal(CALL(GetFunctionFromIP2, stub, &id, NULL), E_FAIL);
    assert_int_equal(id, GARBAGE);
    assert_int_equal(CALL(GetFunctionFromIP3, stub, &id, NULL), S_OK);
    assert_int_equal(id, sw_tube_function_id(hidden));
}

static void rejit_ids_are_those_of_the_code(void **state)
{
    const FunctionID id = sw_tube_function_id(entry);
    ReJITID ids[2] = { GARBAGE, GARBAGE };
    ULONG count = GARBAGE;
    COR_PRF_CODE_INFO found;
    FunctionID of = 0;
    ReJITID rejit = 0;
    (void)state;
    assert_int_equal(CALL(GetReJITIDs, id, 2, &count, ids), S_OK);
    assert_int_equal(count, 1);
    assert_int_equal(ids[0], 0);
    assert_int_equal(sw_tube_make_code(entry, 5), S_OK);
    assert_int_equal(CALL(GetReJITIDs, id, 2, &count, ids), S_OK);
    assert_int_equal(count, 2);
    assert_int_equal(ids[1], 5);
    assert_int_equal(CALL(GetReJITIDs, id, 1, &count, ids), S_FALSE);
    assert_int_equal(CALL(GetReJITIDs, id, 0, &count, NULL), S_FALSE);
    assert_int_equal(count, 2);
    assert_int_equal(CALL(GetReJITIDs, id, 2, NULL, ids), E_INVALIDARG);
    assert_int_equal(CALL(GetReJITIDs, id, 2, &count, NULL), E_INVALIDARG);
    assert_int_equal(CALL(GetReJITIDs, 0, 2, &count, ids), E_INVALIDARG);
    assert_int_equal(CALL(GetCodeInfo3, id, 5, 1, NULL, &found), S_OK);
    assert_int_equal(CALL(GetFunctionFromIP2, (LPCBYTE)found.startAddress, &of, &rejit), S_OK);
    assert_int_equal(of, id);
    assert_int_equal(rejit, 5);
}

static void jitted_functions_are_enumerated(void **state)
{
    ICorProfilerFunctionEnum *all = NULL;
    COR_PRF_FUNCTION items[8];
    ULONG count = 0;
    (void)state;
    assert_int_equal(sw_tube_compile(hidden, NULL), SW_OK);
    assert_int_equal(sw_tube_compile(ready, NULL), SW_OK);
    assert_int_equal(sw_tube_compile(work, NULL), SW_OK);
    assert_int_equal(sw_tube_compile(entry, NULL), SW_OK); /* a tier is not another entry */
    assert_int_equal(sw_tube_make_code(entry, 5), S_OK);
    assert_int_equal(CALL(EnumJITedFunctions, &all), S_OK);
    assert_int_equal(all->lpVtbl->Next(all, 8, items, &count), S_FALSE);
    assert_int_equal(count, 2);
    assert_int_equal(items[0].functionId, sw_tube_function_id(entry));
    assert_int_equal(items[0].reJitId, 0);
    assert_int_equal(items[1].functionId, sw_tube_function_id(work));
    assert_int_equal(all->lpVtbl->Release(all), 0);
    assert_int_equal(CALL(EnumJITedFunctions2, &all), S_OK);
    assert_int_equal(all->lpVtbl->Next(all, 8, items, &count), S_FALSE);
    assert_int_equal(count, 3);
    assert_int_equal(items[1].functionId, sw_tube_function_id(entry));
    assert_int_equal(items[1].reJitId, 5);
    assert_int_equal(items[2].functionId, sw_tube_function_id(work));
    assert_int_equal(all->lpVtbl->Release(all), 0);
    assert_int_equal(CALL(EnumJITedFunctions, NULL), E_INVALIDARG);
    assert_int_equal(CALL(EnumJITedFunctions2, NULL), E_INVALIDARG);
}

/* ---- classes and objects ---- */

static void classes_are_told(void **state)
{
    ModuleID of = GARBAGE;
    mdTypeDef token = GARBAGE;
    ClassID parent = GARBAGE, arguments[2] = { GARBAGE, GARBAGE }, class = GARBAGE;
    ULONG32 count = GARBAGE;
    (void)state;
    assert_int_equal(CALL(GetClassIDInfo, class_of(work), &of, &token), S_OK);
    assert_int_equal(of, sw_tube_module_id(module));
    assert_int_equal(token, work->type->token);
#define CLASS(id, size, items) CALL(GetClassIDInfo2, id, &of, &token, &parent, size, &count, items)
    assert_int_equal(CLASS(class_of(entry), 2, arguments), S_OK);
    assert_int_equal(count, 0);
    assert_int_equal(token, entry->type->token);
    assert_int_equal(CALL(GetClassIDInfo, parent, &of, &token), S_OK);
    assert_int_equal(of, sw_tube_id(SW_ID_MODULE, 0)); /* System.Object */
    assert_int_equal(CLASS(parent, 0, NULL), S_OK);
    assert_int_equal(parent, 0);
    assert_int_equal(CLASS(class_of(generic), 0, NULL), S_OK);
    assert_int_equal(count, 1);
    assert_int_equal(CLASS(class_of(generic), 2, arguments), S_OK);
    assert_int_equal(count, 1);
    assert_int_equal(arguments[0], sw_tube_id(SW_ID_CLASS, tube->core_canon));
    assert_int_equal(arguments[1], GARBAGE);
    assert_int_equal(CLASS(class_of(generic), 2, NULL), E_INVALIDARG);
    assert_int_equal(CLASS(0, 0, NULL), E_INVALIDARG);
    assert_int_equal(CALL(IsArrayClass, class_of(entry), NULL, &class, NULL), S_FALSE);
    assert_int_equal(class, 0);
    assert_int_equal(CALL(IsArrayClass, 0, NULL, &class, NULL), E_INVALIDARG);
}

static void of_more_arguments_than_there_is_room_for_the_first_are_given(void **state)
{
    ClassID arguments[3] = { 0, GARBAGE, GARBAGE };
    ULONG32 count = GARBAGE;
    (void)state;
    const struct sw_tube_type *pair = sw_tube_type_named(module, "Demo.Pair`2");
    assert_int_equal(
        CALL(GetClassIDInfo2, sw_tube_id(SW_ID_CLASS, pair->index), NULL, NULL, NULL, 1, &count, arguments), S_OK);
    assert_int_equal(count, 1);
    assert_int_not_equal(arguments[0], 0);
    assert_int_equal(arguments[1], GARBAGE);
}

static void classes_by_token(void **state)
{
    const struct {
        mdTypeDef token;
        HRESULT hr;
        ClassID class;
    } rows[] = { { entry->type->token, S_OK, class_of(entry) },
                 { work->type->token, S_OK, class_of(work) },
                 { generic->type->token, CORPROF_E_TYPE_IS_PARAMETERIZED, GARBAGE },
                 { 0, E_INVALIDARG, GARBAGE },
                 { 0x02000000, E_INVALIDARG, GARBAGE },
                 { 0x02000099, E_INVALIDARG, GARBAGE },
                 { 0x06000002, E_INVALIDARG, GARBAGE } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ClassID class = GARBAGE;
        assert_int_equal(CALL(GetClassFromToken, sw_tube_module_id(module), rows[i].token, &class), rows[i].hr);
        assert_int_equal(class, rows[i].class);
    }
    assert_int_equal(CALL(GetClassFromToken, 0, 0x02000002, NULL), E_INVALIDARG);
}

static ObjectID allocated;
static ClassID allocated_class;
static HRESULT STDMETHODCALLTYPE note_object(ICorProfilerCallback11 *com, ObjectID object, ClassID class)
{
    (void)com;
    allocated = object;
    allocated_class = class;
    return S_OK;
}

static void an_allocated_object_has_its_class(void **state)
{
    ICorProfilerCallback11Vtbl with_objects;
    ClassID class = GARBAGE;
    ULONG size = 0;
    SIZE_T size2 = 0;
    (void)state;
    start(COR_PRF_MONITOR_OBJECT_ALLOCATED | COR_PRF_ENABLE_OBJECT_ALLOCATED, 0);
    with_objects = *listener.com.lpVtbl;
    with_objects.ObjectAllocated = note_object;
    const ICorProfilerCallback11Vtbl *before = listener.com.lpVtbl;
    listener.com.lpVtbl = &with_objects;
    assert_int_equal(sw_tube_allocate(thread, "Demo.Thing"), SW_OK);
    listener.com.lpVtbl = before;
    assert_int_equal(CALL(GetClassFromObject, allocated, &class), S_OK);
    assert_int_equal(class, allocated_class);
    assert_int_equal(CALL(GetObjectSize, allocated, &size), S_OK);
    assert_int_equal(CALL(GetObjectSize2, allocated, &size2), S_OK);
    assert_int_equal(size, 24);
    assert_int_equal(size2, 24);
    assert_int_equal(CALL(GetObjectSize, 0, &size), E_INVALIDARG);
    assert_int_equal(CALL(GetObjectSize2, 0, &size2), E_INVALIDARG);
}

/* ---- modules, assemblies, the domain ---- */

static void modules_are_told(void **state)
{
    LPCBYTE base = NULL;
    ULONG count = 0;
    AssemblyID assembly = 0;
    DWORD flags = GARBAGE;
    const ModuleID id = sw_tube_module_id(module);
    (void)state;
#define MODULE(size, name) CALL(GetModuleInfo2, id, &base, size, &count, name, &assembly, &flags)
    assert_int_equal(MODULE(UNITS, buffer), S_OK);
    ASSERT_NAME("/app/Demo.dll");
    assert_int_equal(count, sizeof "/app/Demo.dll");
    assert_int_equal(assembly, sw_tube_id(SW_ID_ASSEMBLY, module->index));
    assert_int_equal(flags, COR_PRF_MODULE_DISK);
    assert_memory_equal(base, "MZ", 2); /* a PE image */
    assert_memory_equal(base + base[0x3c], "PE\0", 4);
    assert_int_equal(MODULE(13, buffer), INSUFFICIENT); /* metadata-abi.md row 6.11: not cut */
    ASSERT_NAME("");
    assert_int_equal(count, sizeof "/app/Demo.dll");
    assert_int_equal(MODULE(0, NULL), S_OK);
    assert_int_equal(MODULE(5, NULL), S_OK);
    assert_int_equal(MODULE(0, buffer), S_OK);
    assert_int_equal(CALL(GetModuleInfo, id, NULL, 0, NULL, NULL, NULL), S_OK);
    assert_int_equal(CALL(GetModuleInfo, id, &base, UNITS, &count, buffer, &assembly), S_OK);
    ASSERT_NAME("/app/Demo.dll");
    assert_int_equal(CALL(GetModuleInfo, 0, &base, UNITS, &count, buffer, &assembly), E_INVALIDARG);
}

static LPCBYTE early_base;
static AssemblyID early_assembly;
static void ask_early(struct listener *self, const char *callback)
{
    const ModuleID id = sw_tube_id(SW_ID_MODULE, 2);
    ICorProfilerInfo15 *object = self->info;
    if (strcmp(callback, "ModuleLoadStarted") == 0) {
        asked[0] = object->lpVtbl->GetModuleInfo(object, id, &early_base, 0, NULL, NULL, &early_assembly);
        asked[1] = object->lpVtbl->GetModuleInfo(object, id, NULL, UNITS, NULL, buffer, NULL);
    } else if (strcmp(callback, "ModuleLoadFinished") == 0) {
        asked[2] = object->lpVtbl->GetModuleInfo(object, id, &early_base, 0, NULL, NULL, NULL);
    }
}

static void until_it_is_loaded_a_modules_base_is_not_told(void **state)
{
    (void)state;
    start(COR_PRF_MONITOR_MODULE_LOADS, 0);
    early_base = (LPCBYTE)(uintptr_t)GARBAGE;
    listener.on = ask_early;
    assert_non_null(sw_tube_module_load(tube, "Late.dll"));
    assert_int_equal(asked[0], CORPROF_E_DATAINCOMPLETE);
    assert_int_equal(early_assembly, (AssemblyID)PROFILER_PARENT_UNKNOWN);
    assert_int_equal(asked[1], S_OK);
    ASSERT_NAME("/app/Late.dll");
    assert_int_equal(asked[2], S_OK);
    assert_memory_equal(early_base, "MZ", 2);
}

static void assemblies_and_the_domain_have_names_that_are_cut(void **state)
{
    ULONG count = 0;
    AppDomainID domain = 0;
    ModuleID manifest = 0;
    ProcessID process = 0;
    const AssemblyID id = sw_tube_id(SW_ID_ASSEMBLY, module->index);
    (void)state;
    assert_int_equal(CALL(GetAssemblyInfo, id, UNITS, &count, buffer, &domain, &manifest), S_OK);
    ASSERT_NAME("Demo");
    assert_int_equal(count, sizeof "Demo");
    assert_int_equal(domain, sw_tube_id(SW_ID_DOMAIN, 0));
    assert_int_equal(manifest, sw_tube_module_id(module));
    assert_int_equal(CALL(GetAssemblyInfo, id, 3, &count, buffer, NULL, NULL), S_OK);
    ASSERT_NAME("De");
    assert_int_equal(count, sizeof "Demo");
    assert_int_equal(CALL(GetAssemblyInfo, id, 0, NULL, NULL, &domain, NULL), S_OK);
    const struct sw_tube_module *bare = sw_tube_module_load(tube, "Bare");
    assert_int_equal(CALL(GetAssemblyInfo, sw_tube_id(SW_ID_ASSEMBLY, bare->index), UNITS, NULL, buffer, NULL, NULL),
                     S_OK);
    ASSERT_NAME("Bare");
    assert_int_equal(CALL(GetAppDomainInfo, domain, UNITS, &count, buffer, &process), S_OK);
    ASSERT_NAME("clrhost");
    assert_int_equal(count, sizeof "clrhost");
    assert_int_equal(process, getpid());
    assert_int_equal(CALL(GetAppDomainInfo, domain, 4, &count, buffer, NULL), S_OK);
    ASSERT_NAME("clr");
    assert_int_equal(CALL(GetAppDomainInfo, 0, 0, NULL, NULL, NULL), E_INVALIDARG);
    assert_int_equal(CALL(GetAssemblyInfo, 0, 0, NULL, NULL, NULL, NULL), E_INVALIDARG);
    AppDomainID domains[2] = { 0, GARBAGE };
    ULONG32 there = 0;
    assert_int_equal(CALL(GetAppDomainsContainingModule, sw_tube_module_id(module), 2, &there, domains), S_OK);
    assert_int_equal(there, 1);
    assert_int_equal(domains[0], domain);
    assert_int_equal(domains[1], GARBAGE);
    assert_int_equal(CALL(GetAppDomainsContainingModule, sw_tube_module_id(module), 0, NULL, NULL), E_INVALIDARG);
}

static void loaded_modules_are_enumerated(void **state)
{
    ICorProfilerModuleEnum *modules = NULL;
    ModuleID ids[4];
    ULONG count = 0;
    (void)state;
    struct sw_tube_module *gone = sw_tube_module_load(tube, "Gone.dll");
    assert_int_equal(sw_tube_module_unload(gone), SW_OK);
    assert_int_equal(CALL(EnumModules, NULL), E_INVALIDARG);
    assert_int_equal(CALL(EnumModules, &modules), S_OK);
    assert_int_equal(modules->lpVtbl->Next(modules, 4, ids, &count), S_FALSE);
    assert_int_equal(count, 2);
    assert_int_equal(ids[0], sw_tube_id(SW_ID_MODULE, 0));
    assert_int_equal(ids[1], sw_tube_module_id(module));
    assert_int_equal(modules->lpVtbl->Release(modules), 0);
}

/* ---- enumerators: clr-contract.md section 8 ---- */

static ICorProfilerModuleEnum *three_modules(void)
{
    ICorProfilerModuleEnum *modules = NULL;
    assert_non_null(sw_tube_module_load(tube, "Third.dll"));
    assert_int_equal(CALL(EnumModules, &modules), S_OK);
    return modules;
}

static void an_enumerators_next(void **state)
{
    ICorProfilerModuleEnum *modules = three_modules();
    ModuleID ids[4] = { 0 };
    ULONG count = GARBAGE;
    (void)state;
#define NEXT(n, items, got) modules->lpVtbl->Next(modules, n, items, got)
    assert_int_equal(NEXT(2, ids, NULL), E_INVALIDARG);
    assert_int_equal(NEXT(1, NULL, &count), E_INVALIDARG);
    assert_int_equal(NEXT(0, NULL, &count), S_OK);
    assert_int_equal(count, 0);
    assert_int_equal(NEXT(0, NULL, NULL), S_OK);
    assert_int_equal(NEXT(1, ids, NULL), S_OK);
    assert_int_equal(ids[0], sw_tube_id(SW_ID_MODULE, 0));
    assert_int_equal(modules->lpVtbl->GetCount(modules, &count), S_OK);
    assert_int_equal(count, 2); /* what is left */
    assert_int_equal(modules->lpVtbl->GetCount(modules, NULL), E_INVALIDARG);
    assert_int_equal(NEXT(2, ids, &count), S_OK);
    assert_int_equal(count, 2);
    assert_int_equal(ids[1], sw_tube_id(SW_ID_MODULE, 2));
    assert_int_equal(NEXT(1, ids, &count), S_FALSE);
    assert_int_equal(count, 0);
    modules->lpVtbl->Release(modules);
}

static void an_enumerator_skips_and_begins_again(void **state)
{
    ICorProfilerModuleEnum *modules = three_modules(), *copy = NULL;
    ModuleID id = 0;
    ULONG count = 0;
    (void)state;
    assert_int_equal(modules->lpVtbl->Skip(modules, 2), S_OK);
    assert_int_equal(modules->lpVtbl->Clone(modules, NULL), E_INVALIDARG);
    assert_int_equal(modules->lpVtbl->Clone(modules, &copy), S_OK);
    assert_int_equal(copy->lpVtbl->GetCount(copy, &count), S_OK);
    assert_int_equal(count, 3); /* it begins at the beginning */
    assert_int_equal(copy->lpVtbl->Next(copy, 1, &id, NULL), S_OK);
    assert_int_equal(id, sw_tube_id(SW_ID_MODULE, 0));
    assert_int_equal(NEXT(1, &id, NULL), S_OK);
    assert_int_equal(id, sw_tube_id(SW_ID_MODULE, 2));
    assert_int_equal(modules->lpVtbl->Skip(modules, 1), S_FALSE);
    assert_int_equal(modules->lpVtbl->Reset(modules), S_OK);
    assert_int_equal(modules->lpVtbl->Skip(modules, 4), S_FALSE);
    assert_int_equal(modules->lpVtbl->Reset(modules), S_OK);
    assert_int_equal(NEXT(1, &id, NULL), S_OK);
    assert_int_equal(id, sw_tube_id(SW_ID_MODULE, 0));
    assert_int_equal(copy->lpVtbl->Release(copy), 0);
    modules->lpVtbl->Release(modules);
}

static void an_enumerator_counts_its_references(void **state)
{
    ICorProfilerModuleEnum *modules = three_modules();
    void *same = NULL;
    (void)state;
    assert_int_equal(modules->lpVtbl->AddRef(modules), 2);
    assert_int_equal(modules->lpVtbl->QueryInterface(modules, &IID_ICorProfilerModuleEnum, &same), S_OK);
    assert_ptr_equal(same, modules);
    assert_int_equal(modules->lpVtbl->QueryInterface(modules, &IID_ICorProfilerThreadEnum, &same), E_NOINTERFACE);
    assert_null(same);
    assert_int_equal(modules->lpVtbl->QueryInterface(modules, &IID_IUnknown, NULL), E_POINTER);
    assert_int_equal(modules->lpVtbl->Release(modules), 2);
    assert_int_equal(modules->lpVtbl->Release(modules), 1);
    assert_int_equal(modules->lpVtbl->Release(modules), 0);
}

static void references_that_are_left_are_told_at_shutdown(void **state)
{
    ICorProfilerModuleEnum *modules = three_modules(), *second = NULL, *released = NULL;
    ICorProfilerThreadEnum *threads = NULL;
    struct sw_tube_violation list[8];
    IUnknown *import = NULL;
    (void)state;
    assert_int_equal(modules->lpVtbl->Clone(modules, &second), S_OK);
    assert_int_equal(CALL(EnumModules, &released), S_OK);
    released->lpVtbl->Release(released);
    assert_int_equal(CALL(EnumThreads, &threads), S_OK);
    static const IID import_iid = { 0x7dac8207, 0xd3ae, 0x4c75, { 0x9b, 0x67, 0x92, 0x80, 0x1a, 0x49, 0x7d, 0x44 } };
    assert_int_equal(CALL(GetModuleMetaData, sw_tube_module_id(module), 0, &import_iid, &import), S_OK);
    assert_int_equal(sw_tube_shutdown(tube), SW_OK);
    /* what else shutdown says, of signals that cmocka took, comes first */
    const size_t all = sw_tube_violations(tube, list, 8);
    assert_int_equal(broken(SW_TUBE_LEAKED_REFERENCE), 3);
    const struct sw_tube_violation *leaks = list + all - 3;
    assert_string_equal(leaks[0].call, "ICorProfilerModuleEnum");
    assert_string_equal(leaks[0].detail, "2 were not released");
    assert_string_equal(leaks[1].call, "ICorProfilerThreadEnum");
    assert_string_equal(leaks[2].call, "GetModuleMetaData");
}

static void frozen_objects_there_are_none(void **state)
{
    ICorProfilerObjectEnum *objects = NULL;
    ObjectID id;
    ULONG count = GARBAGE;
    (void)state;
    assert_int_equal(CALL(EnumModuleFrozenObjects, sw_tube_module_id(module), &objects), S_OK);
    assert_int_equal(objects->lpVtbl->Next(objects, 1, &id, &count), S_FALSE);
    assert_int_equal(count, 0);
    objects->lpVtbl->Release(objects);
    assert_int_equal(CALL(EnumModuleFrozenObjects, sw_tube_module_id(module), NULL), E_INVALIDARG);
    assert_int_equal(CALL(EnumModuleFrozenObjects, 0, &objects), CORPROF_E_DATAINCOMPLETE);
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
    start(0, 0);
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

#define TEST(name)  cmocka_unit_test_setup_teardown(name, begin, end)
#define ALONE(name) cmocka_unit_test_setup_teardown(name, create, end)

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
        TEST(threads_are_answered_for),
        TEST(a_managed_thread_knows_itself),
        TEST(threads_are_enumerated_without_those_that_ended),
        TEST(the_runtime_is_suspended_and_resumed),
        ALONE(a_gc_is_forced_on_a_thread_of_the_profilers_own_only),
        TEST(whoever_has_forced_a_gc_may_call_anything),
        ALONE(before_the_runtime_has_started_there_is_no_gc),
        TEST(once_a_detach_is_requested_every_call_is_refused),
        ALONE(what_keeps_a_profiler_from_detaching),
        TEST(environment_variables_by_the_size_of_the_buffer),
        TEST(a_variable_that_is_not_there),
        TEST(what_is_set_is_the_runtimes_own_copy),
        TEST(functions_are_told_by_class_module_and_token),
        ALONE(a_frame_is_of_its_function_only_and_dies_with_its_callback),
        TEST(functions_by_token),
        TEST(dynamic_functions),
        TEST(code_is_told_once_it_is_there),
        TEST(each_tier_has_a_start_and_the_newest_is_the_functions_code),
        TEST(addresses_are_looked_up),
        ALONE(coreclr_does_not_tell_whose_code_a_stub_is),
        TEST(rejit_ids_are_those_of_the_code),
        TEST(jitted_functions_are_enumerated),
        TEST(classes_are_told),
        TEST(of_more_arguments_than_there_is_room_for_the_first_are_given),
        TEST(classes_by_token),
        ALONE(an_allocated_object_has_its_class),
        TEST(modules_are_told),
        ALONE(until_it_is_loaded_a_modules_base_is_not_told),
        TEST(assemblies_and_the_domain_have_names_that_are_cut),
        TEST(loaded_modules_are_enumerated),
        TEST(an_enumerators_next),
        TEST(an_enumerator_skips_and_begins_again),
        TEST(an_enumerator_counts_its_references),
        TEST(references_that_are_left_are_told_at_shutdown),
        TEST(frozen_objects_there_are_none),
        ALONE(hooks_are_set_in_initialize_and_newer_ones_win),
        TEST(what_a_hook_may_ask),
        TEST(sessions_start_and_stop),
        TEST(providers_and_events_are_made),
        ALONE(a_call_is_recorded_with_names_and_its_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
