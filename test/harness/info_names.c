/*
 * What ICorProfilerInfo15 says of functions, classes, objects, modules, assemblies and the domain. Facts:
 * clr-contract.md section 8, metadata-abi.md section 6. Outputs hold garbage before each call.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "text.h"
#include "tube.h"

#include "../support/scene.h"

enum { GARBAGE = 0x5a5a5a5a };
#define INSUFFICIENT          ((HRESULT)0x8007007au)
#define ASSERT_NAME(expected) assert_true(sw_text_equals(buffer, expected))

static ClassID class_of(const struct sw_tube_function *function)
{
    return sw_tube_id(SW_ID_CLASS, function->type->index);
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
    start_scene(COR_PRF_ENABLE_STACK_SNAPSHOT, 0);
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
    start_scene(COR_PRF_MONITOR_OBJECT_ALLOCATED | COR_PRF_ENABLE_OBJECT_ALLOCATED, 0);
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
    assert_int_equal(MODULE(14, buffer), S_OK);
    ASSERT_NAME("/app/Demo.dll");
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
    start_scene(COR_PRF_MONITOR_MODULE_LOADS, 0);
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

#define TEST(name)  cmocka_unit_test_setup_teardown(name, begin_scene, end_scene)
#define ALONE(name) cmocka_unit_test_setup_teardown(name, create_scene, end_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(functions_are_told_by_class_module_and_token),
        ALONE(a_frame_is_of_its_function_only_and_dies_with_its_callback),
        TEST(functions_by_token),
        TEST(dynamic_functions),
        TEST(classes_are_told),
        TEST(of_more_arguments_than_there_is_room_for_the_first_are_given),
        TEST(classes_by_token),
        ALONE(an_allocated_object_has_its_class),
        TEST(modules_are_told),
        ALONE(until_it_is_loaded_a_modules_base_is_not_told),
        TEST(assemblies_and_the_domain_have_names_that_are_cut),
        TEST(loaded_modules_are_enumerated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
