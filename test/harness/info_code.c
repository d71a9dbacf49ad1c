/*
 * What ICorProfilerInfo15 says of code, by function and by address; and its enumerators. Facts: clr-contract.md section
 * 8. Outputs hold garbage before each call.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "text.h"
#include "tube.h"

#include "../support/scene.h"

enum { GARBAGE = 0x5a5a5a5a };
#define INSUFFICIENT ((HRESULT)0x8007007au)

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
    start_scene(0, 0);
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

#define TEST(name)  cmocka_unit_test_setup_teardown(name, begin_scene, end_scene)
#define ALONE(name) cmocka_unit_test_setup_teardown(name, create_scene, end_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(code_is_told_once_it_is_there),
        TEST(each_tier_has_a_start_and_the_newest_is_the_functions_code),
        TEST(addresses_are_looked_up),
        ALONE(coreclr_does_not_tell_whose_code_a_stub_is),
        TEST(rejit_ids_are_those_of_the_code),
        TEST(jitted_functions_are_enumerated),
        TEST(an_enumerators_next),
        TEST(an_enumerator_skips_and_begins_again),
        TEST(an_enumerator_counts_its_references),
        TEST(references_that_are_left_are_told_at_shutdown),
        TEST(frozen_objects_there_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
