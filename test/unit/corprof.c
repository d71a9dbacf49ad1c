/*
 * The ABI of corprof.h: sizes, slots, identifiers and values, against the numbers of corprof-abi.md.
 */
#include "rows.h"
#include <snapwalk/corprof.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* clang-format off */
static const struct table_row { const char *name; size_t size; size_t slots; const IID *iid; const char *text; } tables[] = {
#define TABLE(name, slots, text) { #name, sizeof(name##Vtbl), slots, &IID_##name, text }
    TABLE(IUnknown, 3, "00000000-0000-0000-C000-000000000046"),
    TABLE(IClassFactory, 5, "00000001-0000-0000-C000-000000000046"),
    TABLE(ICorProfilerInfo, 36, "28B5557D-3F3F-48B4-90B2-5F9EEA2F6C48"),
    TABLE(ICorProfilerInfo2, 57, "CC0935CD-A518-487D-B0BB-A93214E65478"),
    TABLE(ICorProfilerInfo3, 71, "B555ED4F-452A-4E54-8B39-B5360BAD32A0"),
    TABLE(ICorProfilerInfo4, 81, "0D8FDCAA-6257-47BF-B1BF-94DAC88466EE"),
    TABLE(ICorProfilerInfo5, 83, "07602928-CE38-4B83-81E7-74ADAF781214"),
    TABLE(ICorProfilerInfo6, 84, "F30A070D-BFFB-46A7-B1D8-8781EF7B698A"),
    TABLE(ICorProfilerInfo7, 87, "9AEECC0D-63E0-4187-8C00-E312F503F663"),
    TABLE(ICorProfilerInfo8, 90, "C5AC80A6-782E-4716-8044-39598C60CFBF"),
    TABLE(ICorProfilerInfo9, 93, "008170DB-F8CC-4796-9A51-DC8AA0B47012"),
    TABLE(ICorProfilerInfo10, 99, "2F1B5152-C869-40C9-AA5F-3ABE026BD720"),
    TABLE(ICorProfilerInfo11, 101, "06398876-8987-4154-B621-40A00D6E4D04"),
    TABLE(ICorProfilerInfo12, 108, "27B24CCD-1CB1-47C5-96EE-98190DC30959"),
    TABLE(ICorProfilerInfo13, 111, "6E6C7EE2-0701-4EC2-9D29-2E8733B66934"),
    TABLE(ICorProfilerInfo14, 114, "F460E352-D76D-4FE9-835F-F6AF9D6E862D"),
    TABLE(ICorProfilerInfo15, 115, "B446462D-BD22-41DD-872D-DC714C49EB56"),
    TABLE(ICorProfilerCallback, 72, "176FBED1-A55C-4796-98CA-A9DA0EF883E7"),
    TABLE(ICorProfilerCallback2, 80, "8A8CC829-CCF2-49FE-BBAE-0F022228071A"),
    TABLE(ICorProfilerCallback3, 83, "4FD2ED52-7731-4B8D-9469-03D2CC3086C5"),
    TABLE(ICorProfilerCallback4, 89, "7B63B2E3-107D-4D48-B2F6-F61E229470D2"),
    TABLE(ICorProfilerCallback5, 90, "8DFBA405-8C9F-45F8-BFFA-83B14CEF78B5"),
    TABLE(ICorProfilerCallback6, 91, "FC13DF4B-4448-4F4F-950C-BA8D19D00C36"),
    TABLE(ICorProfilerCallback7, 92, "F76A2DBA-1D52-4539-866C-2AA518F9EFC3"),
    TABLE(ICorProfilerCallback8, 94, "5BED9B15-C079-4D47-BFE2-215A140C07E0"),
    TABLE(ICorProfilerCallback9, 95, "27583EC3-C8F5-482F-8052-194B8CE4705A"),
    TABLE(ICorProfilerCallback10, 97, "CEC5B60E-C69C-495F-87F6-84D28EE16FFB"),
    TABLE(ICorProfilerCallback11, 98, "42350846-AAED-47F7-B128-FD0C98881CDE"),
    TABLE(ICorProfilerObjectEnum, 8, "2C6269BD-2D13-4321-AE12-6686365FD6AF"),
    TABLE(ICorProfilerFunctionEnum, 8, "FF71301A-B994-429D-A10B-B345A65280EF"),
    TABLE(ICorProfilerModuleEnum, 8, "B0266D75-2081-4493-AF7F-028BA34DB891"),
    TABLE(IMethodMalloc, 4, "A0EFB28B-6EE2-4D7B-B983-A75EF7BEEDB8"),
    TABLE(ICorProfilerFunctionControl, 6, "F0963021-E1EA-4732-8581-E01B0BD3C0C6"),
    TABLE(ICorProfilerMethodEnum, 8, "FCCEE788-0088-454B-A811-C99F298D1942"),
    TABLE(ICorProfilerThreadEnum, 8, "571194F7-25ED-419F-AA8B-7016B3159701"),
    TABLE(ICorProfilerAssemblyReferenceProvider, 4, "66A78C24-2EEF-4F65-B45F-DD1D8038BF3C"),
};

/* First, middle and last of the slots that each interface adds. */
static const struct slot_row { const char *name; size_t offset; size_t slot; } slots[] = {
#define SLOT(table, method, slot) { #table "_" #method, offsetof(table##Vtbl, method), slot }
    SLOT(IUnknown, QueryInterface, 0), SLOT(IUnknown, AddRef, 1), SLOT(IUnknown, Release, 2),
    SLOT(IClassFactory, CreateInstance, 3), SLOT(IClassFactory, LockServer, 4),
    SLOT(ICorProfilerInfo15, Release, 2), SLOT(ICorProfilerInfo15, DoStackSnapshot, 36),
    SLOT(ICorProfilerInfo4, GetFunctionFromIP2, 76), SLOT(ICorProfilerCallback11, ThreadDestroyed, 30),
    SLOT(ICorProfilerInfo, GetClassFromObject, 3), SLOT(ICorProfilerInfo, GetTokenAndMetaDataFromFunction, 19),
    SLOT(ICorProfilerInfo, GetILToNativeMapping, 35), SLOT(ICorProfilerInfo2, DoStackSnapshot, 36),
    SLOT(ICorProfilerInfo2, GetArrayObjectInfo, 46), SLOT(ICorProfilerInfo2, GetNotifiedExceptionClauseInfo, 56),
    SLOT(ICorProfilerInfo3, EnumJITedFunctions, 57), SLOT(ICorProfilerInfo3, GetFunctionLeave3Info, 64),
    SLOT(ICorProfilerInfo3, GetModuleInfo2, 70), SLOT(ICorProfilerInfo4, EnumThreads, 71),
    SLOT(ICorProfilerInfo4, GetFunctionFromIP2, 76), SLOT(ICorProfilerInfo4, GetObjectSize2, 80),
    SLOT(ICorProfilerInfo5, GetEventMask2, 81), SLOT(ICorProfilerInfo5, SetEventMask2, 82),
    SLOT(ICorProfilerInfo6, EnumNgenModuleMethodsInliningThisMethod, 83), SLOT(ICorProfilerInfo7, ApplyMetaData, 84),
    SLOT(ICorProfilerInfo7, ReadInMemorySymbols, 86), SLOT(ICorProfilerInfo8, IsFunctionDynamic, 87),
    SLOT(ICorProfilerInfo8, GetDynamicFunctionInfo, 89), SLOT(ICorProfilerInfo9, GetNativeCodeStartAddresses, 90),
    SLOT(ICorProfilerInfo9, GetCodeInfo4, 92), SLOT(ICorProfilerInfo10, EnumerateObjectReferences, 93),
    SLOT(ICorProfilerInfo10, RequestReJITWithInliners, 96), SLOT(ICorProfilerInfo10, ResumeRuntime, 98),
    SLOT(ICorProfilerInfo11, GetEnvironmentVariable, 99), SLOT(ICorProfilerInfo11, SetEnvironmentVariable, 100),
    SLOT(ICorProfilerInfo12, EventPipeStartSession, 101), SLOT(ICorProfilerInfo12, EventPipeCreateProvider, 104),
    SLOT(ICorProfilerInfo12, EventPipeWriteEvent, 107), SLOT(ICorProfilerInfo13, CreateHandle, 108),
    SLOT(ICorProfilerInfo13, GetObjectIDFromHandle, 110), SLOT(ICorProfilerInfo14, EnumerateNonGCObjects, 111),
    SLOT(ICorProfilerInfo14, EventPipeCreateProvider2, 113), SLOT(ICorProfilerInfo15, EnumerateGCHeapObjects, 114),
    SLOT(ICorProfilerCallback, Initialize, 3), SLOT(ICorProfilerCallback, RemotingServerInvocationStarted, 37),
    SLOT(ICorProfilerCallback, ExceptionCLRCatcherExecute, 71), SLOT(ICorProfilerCallback2, ThreadNameChanged, 72),
    SLOT(ICorProfilerCallback2, FinalizeableObjectQueued, 76), SLOT(ICorProfilerCallback2, HandleDestroyed, 79),
    SLOT(ICorProfilerCallback3, InitializeForAttach, 80), SLOT(ICorProfilerCallback3, ProfilerDetachSucceeded, 82),
    SLOT(ICorProfilerCallback4, ReJITCompilationStarted, 83), SLOT(ICorProfilerCallback4, ReJITError, 86),
    SLOT(ICorProfilerCallback4, SurvivingReferences2, 88),
    SLOT(ICorProfilerCallback5, ConditionalWeakTableElementReferences, 89),
    SLOT(ICorProfilerCallback6, GetAssemblyReferences, 90),
    SLOT(ICorProfilerCallback7, ModuleInMemorySymbolsUpdated, 91),
    SLOT(ICorProfilerCallback8, DynamicMethodJITCompilationStarted, 92),
    SLOT(ICorProfilerCallback8, DynamicMethodJITCompilationFinished, 93),
    SLOT(ICorProfilerCallback9, DynamicMethodUnloaded, 94), SLOT(ICorProfilerCallback10, EventPipeEventDelivered, 95),
    SLOT(ICorProfilerCallback10, EventPipeProviderCreated, 96),
    SLOT(ICorProfilerCallback11, LoadAsNotificationOnly, 97), SLOT(ICorProfilerObjectEnum, Skip, 3),
    SLOT(ICorProfilerObjectEnum, Clone, 5), SLOT(ICorProfilerObjectEnum, Next, 7),
    SLOT(ICorProfilerFunctionEnum, Skip, 3), SLOT(ICorProfilerFunctionEnum, Clone, 5),
    SLOT(ICorProfilerFunctionEnum, Next, 7), SLOT(ICorProfilerModuleEnum, Skip, 3),
    SLOT(ICorProfilerModuleEnum, Clone, 5), SLOT(ICorProfilerModuleEnum, Next, 7), SLOT(IMethodMalloc, Alloc, 3),
    SLOT(ICorProfilerFunctionControl, SetCodegenFlags, 3),
    SLOT(ICorProfilerFunctionControl, SetILInstrumentedCodeMap, 5), SLOT(ICorProfilerMethodEnum, Skip, 3),
    SLOT(ICorProfilerMethodEnum, Clone, 5), SLOT(ICorProfilerMethodEnum, Next, 7),
    SLOT(ICorProfilerThreadEnum, Skip, 3), SLOT(ICorProfilerThreadEnum, Clone, 5),
    SLOT(ICorProfilerThreadEnum, Next, 7), SLOT(ICorProfilerAssemblyReferenceProvider, AddAssemblyReference, 3),
};

static const struct value_row { const char *name; long long value; long long expected; } values[] = {
#define VALUE(what, expected) { #what, (long long)(what), expected }
    /* section 1: sizes */
    VALUE(sizeof(BYTE), 1), VALUE(sizeof(USHORT), 2), VALUE(sizeof(WCHAR), 2), VALUE(sizeof(BOOL), 4),
    VALUE(sizeof(HRESULT), 4), VALUE(sizeof(LONG), 4), VALUE(sizeof(ULONG), 4), VALUE(sizeof(DWORD), 4),
    VALUE(sizeof(ULONG32), 4), VALUE(sizeof(UINT64), 8), VALUE(sizeof(SIZE_T), sizeof(void *)),
    VALUE(sizeof(UINT_PTR), sizeof(void *)), VALUE(sizeof(mdToken), 4), VALUE(sizeof(CorElementType), 4),
    VALUE(sizeof(GUID), 16), VALUE(sizeof(REFIID), sizeof(void *)), VALUE(sizeof(ThreadID), sizeof(void *)),
    VALUE(sizeof(FunctionID), sizeof(void *)), VALUE(sizeof(COR_PRF_FRAME_INFO), sizeof(void *)),
    VALUE(sizeof(EVENTPIPE_SESSION), 8), VALUE(sizeof(FunctionIDOrClientID), sizeof(void *)),
    VALUE(sizeof(COR_PRF_MONITOR), 4), VALUE((HRESULT)-1 < 0, 1), VALUE((ULONG)-1 > 0, 1), VALUE((BOOL)-1 < 0, 1),
#if UINTPTR_MAX == UINT64_MAX
    /* section 4, measured with a compiler over the field lists */
    VALUE(sizeof(COR_PRF_CODE_INFO), 16), VALUE(sizeof(COR_PRF_FUNCTION), 16), VALUE(sizeof(COR_PRF_METHOD), 16),
    VALUE(sizeof(COR_PRF_FUNCTION_ARGUMENT_RANGE), 16), VALUE(sizeof(COR_PRF_FUNCTION_ARGUMENT_INFO), 24),
    VALUE(sizeof(COR_IL_MAP), 12), VALUE(sizeof(COR_DEBUG_IL_TO_NATIVE_MAP), 12), VALUE(sizeof(COR_FIELD_OFFSET), 8),
    VALUE(sizeof(COR_PRF_GC_GENERATION_RANGE), 32), VALUE(sizeof(COR_PRF_NONGC_HEAP_RANGE), 24),
    VALUE(sizeof(COR_PRF_EX_CLAUSE_INFO), 32), VALUE(sizeof(COR_PRF_ASSEMBLY_REFERENCE_INFO), 48),
    VALUE(sizeof(ASSEMBLYMETADATA), 56), VALUE(sizeof(OSINFO), 12), VALUE(sizeof(COR_PRF_EVENTPIPE_PROVIDER_CONFIG), 32),
    VALUE(sizeof(COR_PRF_EVENTPIPE_PARAM_DESC), 16), VALUE(sizeof(COR_PRF_EVENT_DATA), 16),
    VALUE(sizeof(COR_PRF_FILTER_DATA), 16),
#endif
    /* section 6; a result is negative when it failed */
    VALUE(S_OK, 0), VALUE(S_FALSE, 1), VALUE((uint32_t)E_NOTIMPL, 0x80004001), VALUE((uint32_t)E_NOINTERFACE, 0x80004002),
    VALUE((uint32_t)E_POINTER, 0x80004003), VALUE((uint32_t)E_FAIL, 0x80004005), VALUE((uint32_t)E_UNEXPECTED, 0x8000ffff),
    VALUE((uint32_t)E_OUTOFMEMORY, 0x8007000e), VALUE((uint32_t)E_INVALIDARG, 0x80070057),
    VALUE((uint32_t)CORPROF_E_NOT_MANAGED_THREAD, 0x80131355), VALUE((uint32_t)CORPROF_E_NOT_YET_AVAILABLE, 0x8013135b),
    VALUE((uint32_t)CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD, 0x8013135e),
    VALUE((uint32_t)CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX, 0x8013135f),
    VALUE((uint32_t)CORPROF_E_STACKSNAPSHOT_UNSAFE, 0x80131360), VALUE((uint32_t)CORPROF_E_STACKSNAPSHOT_ABORTED, 0x80131361),
    VALUE((uint32_t)CORPROF_E_ASYNCHRONOUS_UNSAFE, 0x80131364), VALUE((uint32_t)CORPROF_E_INCONSISTENT_WITH_FLAGS, 0x80131374),
    VALUE((uint32_t)CORPROF_E_MODULE_IS_ENC, 0x8013138a),
    VALUE(SUCCEEDED(S_FALSE), 1), VALUE(FAILED(S_FALSE), 0), VALUE(SUCCEEDED(E_FAIL), 0), VALUE(FAILED(E_FAIL), 1),
    /* section 5: sums of flags against their members, and ends of lists */
    VALUE(COR_PRF_ENABLE_STACK_SNAPSHOT, 0x10000000), VALUE(COR_PRF_SNAPSHOT_REGISTER_CONTEXT, 1),
    VALUE(COR_PRF_SNAPSHOT_X86_OPTIMIZED, 2), VALUE(COR_PRF_ALL & COR_PRF_ENABLE_STACK_SNAPSHOT, 0),
    VALUE(COR_PRF_REQUIRE_PROFILE_IMAGE,
          COR_PRF_USE_PROFILE_IMAGES | COR_PRF_MONITOR_CODE_TRANSITIONS | COR_PRF_MONITOR_ENTERLEAVE),
    VALUE(COR_PRF_ALLOWABLE_AFTER_ATTACH,
          COR_PRF_MONITOR_THREADS | COR_PRF_MONITOR_MODULE_LOADS | COR_PRF_MONITOR_ASSEMBLY_LOADS |
          COR_PRF_MONITOR_APPDOMAIN_LOADS | COR_PRF_ENABLE_STACK_SNAPSHOT | COR_PRF_MONITOR_GC | COR_PRF_MONITOR_SUSPENDS |
          COR_PRF_MONITOR_CLASS_LOADS | COR_PRF_MONITOR_EXCEPTIONS | COR_PRF_MONITOR_JIT_COMPILATION | COR_PRF_ENABLE_REJIT),
    VALUE(COR_PRF_MONITOR_IMMUTABLE & COR_PRF_ENABLE_STACK_SNAPSHOT, 0),
    VALUE(COR_PRF_HIGH_MONITOR_PINNEDOBJECT_ALLOCATED, 0x100), VALUE(COR_PRF_GC_PINNED_OBJECT_HEAP, 4),
    VALUE(COR_PRF_SUSPEND_FOR_PROFILER, 9), VALUE(COR_PRF_EVENTPIPE_ARRAY, 19), VALUE(PROFILER_GLOBAL_MODULE, 0xffffffff),
    VALUE(COR_PRF_CODEGEN_DEBUG_INFO, 3), VALUE(COR_PRF_MODULE_WINDOWS_RUNTIME, 64), VALUE(ELEMENT_TYPE_PINNED, 0x45),
};
/* clang-format on */

static void table_has_its_length_and_identifier(void **state)
{
    const struct table_row *row = *state;
    const GUID *g = row->iid;
    char text[40];
    snprintf(text, sizeof text, "%08X-%04X-%04X-%02X%02X-%02X%02X%02X%02X%02X%02X", (unsigned)g->Data1,
             (unsigned)g->Data2, (unsigned)g->Data3, g->Data4[0], g->Data4[1], g->Data4[2], g->Data4[3], g->Data4[4],
             g->Data4[5], g->Data4[6], g->Data4[7]);
    assert_int_equal(row->size, row->slots * sizeof(void *));
    assert_string_equal(text, row->text);
}

static void method_is_in_its_slot(void **state)
{
    const struct slot_row *row = *state;
    assert_int_equal(row->offset, row->slot * sizeof(void *));
}

static void value_is_that_of_the_real_header(void **state)
{
    const struct value_row *row = *state;
    assert_true(row->value == row->expected);
}

/* A profiler in C, as a COM user writes it: its object begins with a constant table. */
static HRESULT STDMETHODCALLTYPE thread_destroyed(ICorProfilerCallback2 *This, ThreadID thread)
{
    (void)This;
    return thread == 7 ? S_OK : E_FAIL;
}

static void a_callback_object_can_be_written_in_c(void **state)
{
    (void)state;
    static const ICorProfilerCallback2Vtbl table = { .ThreadDestroyed = thread_destroyed };
    ICorProfilerCallback2 profiler = { &table };
    assert_int_equal(profiler.lpVtbl->ThreadDestroyed(&profiler, 7), S_OK);
    assert_int_equal(profiler.lpVtbl->ThreadDestroyed(&profiler, 8), E_FAIL);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(tables) + COUNT_OF(slots) + COUNT_OF(values) + 1];
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        tests[count++] = (struct CMUnitTest){ tables[i].name, table_has_its_length_and_identifier, NULL, NULL,
                                              (void *)(uintptr_t)&tables[i] };
    for (size_t i = 0; i < COUNT_OF(slots); i++)
        tests[count++] =
            (struct CMUnitTest){ slots[i].name, method_is_in_its_slot, NULL, NULL, (void *)(uintptr_t)&slots[i] };
    for (size_t i = 0; i < COUNT_OF(values); i++)
        tests[count++] = (struct CMUnitTest){ values[i].name, value_is_that_of_the_real_header, NULL, NULL,
                                              (void *)(uintptr_t)&values[i] };
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(a_callback_object_can_be_written_in_c);
    return _cmocka_run_group_tests("corprof", tests, count, NULL, NULL);
}
