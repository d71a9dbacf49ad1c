/*
 * The ICorProfilerInfo15 object that the profiler gets: one table of gates, one of what serves them, one of where they
 * may be called. Knows no slot's meaning.
 *
 * Source: corprof-abi.md sections 2 and 7.1; clr-contract.md section 8; dotnet/runtime
 * src/coreclr/vm/proftoeeinterfaceimpl.cpp (entry macros). Where .NET 10 was seen to allow more than that says, it does
 * here: GetFunctionFromIP3 and GetCodeInfo4 (clr-observed.md section 2), SuspendRuntime and ResumeRuntime (section 1).
 */
#include "info.h"
#include "info_slots.h"

#include <stdlib.h>
#include <string.h>

/* What nobody serves is null. */
static const ICorProfilerInfo15Vtbl served = {
    .GetClassFromObject = sw_info_GetClassFromObject,
    .GetClassFromToken = sw_info_GetClassFromToken,
    .GetCodeInfo = sw_info_GetCodeInfo,
    .GetEventMask = sw_info_GetEventMask,
    .GetFunctionFromIP = sw_info_GetFunctionFromIP,
    .GetFunctionFromToken = sw_info_GetFunctionFromToken,
    .GetHandleFromThread = sw_info_GetHandleFromThread,
    .GetILFunctionBody = sw_info_GetILFunctionBody,
    .GetILFunctionBodyAllocator = sw_info_GetILFunctionBodyAllocator,
    .SetILFunctionBody = sw_info_SetILFunctionBody,
    .SetILInstrumentedCodeMap = sw_info_SetILInstrumentedCodeMap,
    .GetObjectSize = sw_info_GetObjectSize,
    .IsArrayClass = sw_info_IsArrayClass,
    .GetThreadInfo = sw_info_GetThreadInfo,
    .GetCurrentThreadID = sw_info_GetCurrentThreadID,
    .GetClassIDInfo = sw_info_GetClassIDInfo,
    .GetFunctionInfo = sw_info_GetFunctionInfo,
    .SetEventMask = sw_info_SetEventMask,
    .SetEnterLeaveFunctionHooks = sw_info_SetEnterLeaveFunctionHooks,
    .SetFunctionIDMapper = sw_info_SetFunctionIDMapper,
    .GetTokenAndMetaDataFromFunction = sw_info_GetTokenAndMetaDataFromFunction,
    .GetModuleInfo = sw_info_GetModuleInfo,
    .GetModuleMetaData = sw_info_GetModuleMetaData,
    .GetAppDomainInfo = sw_info_GetAppDomainInfo,
    .GetAssemblyInfo = sw_info_GetAssemblyInfo,
    .ForceGC = sw_info_ForceGC,
    .GetThreadContext = sw_info_GetThreadContext,
    .DoStackSnapshot = sw_info_DoStackSnapshot,
    .SetEnterLeaveFunctionHooks2 = sw_info_SetEnterLeaveFunctionHooks2,
    .GetFunctionInfo2 = sw_info_GetFunctionInfo2,
    .GetClassIDInfo2 = sw_info_GetClassIDInfo2,
    .GetCodeInfo2 = sw_info_GetCodeInfo2,
    .EnumModuleFrozenObjects = sw_info_EnumModuleFrozenObjects,
    .GetThreadAppDomain = sw_info_GetThreadAppDomain,
    .EnumJITedFunctions = sw_info_EnumJITedFunctions,
    .RequestProfilerDetach = sw_info_RequestProfilerDetach,
    .SetFunctionIDMapper2 = sw_info_SetFunctionIDMapper2,
    .SetEnterLeaveFunctionHooks3 = sw_info_SetEnterLeaveFunctionHooks3,
    .SetEnterLeaveFunctionHooks3WithInfo = sw_info_SetEnterLeaveFunctionHooks3WithInfo,
    .GetFunctionEnter3Info = sw_info_GetFunctionEnter3Info,
    .GetFunctionLeave3Info = sw_info_GetFunctionLeave3Info,
    .GetFunctionTailcall3Info = sw_info_GetFunctionTailcall3Info,
    .EnumModules = sw_info_EnumModules,
    .GetRuntimeInformation = sw_info_GetRuntimeInformation,
    .GetAppDomainsContainingModule = sw_info_GetAppDomainsContainingModule,
    .GetModuleInfo2 = sw_info_GetModuleInfo2,
    .EnumThreads = sw_info_EnumThreads,
    .InitializeCurrentThread = sw_info_InitializeCurrentThread,
    .GetCodeInfo3 = sw_info_GetCodeInfo3,
    .GetFunctionFromIP2 = sw_info_GetFunctionFromIP2,
    .GetReJITIDs = sw_info_GetReJITIDs,
    .EnumJITedFunctions2 = sw_info_EnumJITedFunctions2,
    .GetObjectSize2 = sw_info_GetObjectSize2,
    .GetEventMask2 = sw_info_GetEventMask2,
    .SetEventMask2 = sw_info_SetEventMask2,
    .IsFunctionDynamic = sw_info_IsFunctionDynamic,
    .GetFunctionFromIP3 = sw_info_GetFunctionFromIP3,
    .GetDynamicFunctionInfo = sw_info_GetDynamicFunctionInfo,
    .GetNativeCodeStartAddresses = sw_info_GetNativeCodeStartAddresses,
    .GetCodeInfo4 = sw_info_GetCodeInfo4,
    .SuspendRuntime = sw_info_SuspendRuntime,
    .ResumeRuntime = sw_info_ResumeRuntime,
    .GetEnvironmentVariable = sw_info_GetEnvironmentVariable,
    .SetEnvironmentVariable = sw_info_SetEnvironmentVariable,
    .EventPipeStartSession = sw_info_EventPipeStartSession,
    .EventPipeAddProviderToSession = sw_info_EventPipeAddProviderToSession,
    .EventPipeStopSession = sw_info_EventPipeStopSession,
    .EventPipeCreateProvider = sw_info_EventPipeCreateProvider,
    .EventPipeGetProviderInfo = sw_info_EventPipeGetProviderInfo,
    .EventPipeDefineEvent = sw_info_EventPipeDefineEvent,
    .EventPipeWriteEvent = sw_info_EventPipeWriteEvent,
    .EventPipeCreateProvider2 = sw_info_EventPipeCreateProvider2,
};

#define SYNC    SW_RULE_SYNC
#define GC      SW_RULE_GC
#define HOOKS   (SW_RULE_INIT | SW_RULE_START | SW_RULE_MAIN)
#define START   SW_RULE_START
#define MAIN    SW_RULE_MAIN
#define REFUSED SW_RULE_REFUSED
#define NOWHERE SW_RULE_NOWHERE

/* What is not listed may be called anywhere. */
static const uint32_t rules[SW_TUBE_INFO_SLOTS] = {
    [SW_SLOT(GetClassFromObject)] = SYNC,
    [SW_SLOT(GetClassFromToken)] = SYNC | GC,
    [SW_SLOT(GetFunctionFromToken)] = SYNC,
    [SW_SLOT(GetHandleFromThread)] = SYNC,
    [SW_SLOT(GetObjectSize)] = SYNC,
    [SW_SLOT(GetThreadInfo)] = SYNC,
    [SW_SLOT(SetEnterLeaveFunctionHooks)] = HOOKS,
    [SW_SLOT(SetFunctionIDMapper)] = START | MAIN,
    [SW_SLOT(GetTokenAndMetaDataFromFunction)] = SYNC,
    [SW_SLOT(GetModuleMetaData)] = SYNC,
    [SW_SLOT(GetILFunctionBodyAllocator)] = SYNC | GC,
    [SW_SLOT(SetILFunctionBody)] = SYNC | GC | MAIN,
    [SW_SLOT(GetAppDomainInfo)] = SYNC | GC,
    [SW_SLOT(GetAssemblyInfo)] = SYNC,
    [SW_SLOT(SetFunctionReJIT)] = NOWHERE,
    [SW_SLOT(ForceGC)] = GC | REFUSED,
    [SW_SLOT(SetILInstrumentedCodeMap)] = SYNC | GC,
    [SW_SLOT(GetInprocInspectionInterface)] = NOWHERE,
    [SW_SLOT(GetInprocInspectionIThisThread)] = NOWHERE,
    [SW_SLOT(BeginInprocDebugging)] = NOWHERE,
    [SW_SLOT(EndInprocDebugging)] = NOWHERE,
    [SW_SLOT(GetILToNativeMapping)] = SYNC,
    [SW_SLOT(SetEnterLeaveFunctionHooks2)] = HOOKS,
    [SW_SLOT(GetStringLayout)] = SYNC,
    [SW_SLOT(GetClassFromTokenAndTypeArgs)] = SYNC | GC,
    [SW_SLOT(GetFunctionFromTokenAndTypeArgs)] = SYNC | GC,
    [SW_SLOT(EnumModuleFrozenObjects)] = SYNC,
    [SW_SLOT(GetArrayObjectInfo)] = SYNC,
    [SW_SLOT(GetBoxClassLayout)] = SYNC,
    [SW_SLOT(GetRVAStaticAddress)] = SYNC,
    [SW_SLOT(GetAppDomainStaticAddress)] = SYNC,
    [SW_SLOT(GetThreadStaticAddress)] = SYNC,
    [SW_SLOT(GetContextStaticAddress)] = SYNC | NOWHERE,
    [SW_SLOT(GetStaticFieldInfo)] = SYNC,
    [SW_SLOT(GetGenerationBounds)] = SYNC,
    [SW_SLOT(GetObjectGeneration)] = SYNC,
    [SW_SLOT(GetNotifiedExceptionClauseInfo)] = SYNC | START,
    [SW_SLOT(EnumJITedFunctions)] = SYNC,
    [SW_SLOT(RequestProfilerDetach)] = GC,
    [SW_SLOT(SetFunctionIDMapper2)] = START | MAIN,
    [SW_SLOT(GetStringLayout2)] = SYNC,
    [SW_SLOT(SetEnterLeaveFunctionHooks3)] = HOOKS,
    [SW_SLOT(SetEnterLeaveFunctionHooks3WithInfo)] = HOOKS,
    [SW_SLOT(GetFunctionEnter3Info)] = SYNC | START | MAIN,
    [SW_SLOT(GetFunctionLeave3Info)] = SYNC | START | MAIN,
    [SW_SLOT(GetFunctionTailcall3Info)] = SYNC | START | MAIN,
    [SW_SLOT(EnumModules)] = SYNC | GC,
    [SW_SLOT(GetRuntimeInformation)] = SYNC,
    [SW_SLOT(GetThreadStaticAddress2)] = SYNC,
    [SW_SLOT(GetAppDomainsContainingModule)] = SYNC | GC,
    [SW_SLOT(EnumThreads)] = SYNC,
    [SW_SLOT(InitializeCurrentThread)] = SYNC,
    [SW_SLOT(RequestReJIT)] = SYNC | GC | MAIN,
    [SW_SLOT(RequestRevert)] = SYNC | GC | MAIN,
    [SW_SLOT(GetCodeInfo3)] = SYNC | GC,
    [SW_SLOT(GetFunctionFromIP2)] = SYNC | GC,
    [SW_SLOT(GetReJITIDs)] = SYNC | GC,
    [SW_SLOT(GetILToNativeMapping2)] = SYNC,
    [SW_SLOT(EnumJITedFunctions2)] = SYNC | GC,
    [SW_SLOT(GetObjectSize2)] = SYNC,
    [SW_SLOT(EnumNgenModuleMethodsInliningThisMethod)] = SYNC | GC | START,
    [SW_SLOT(ApplyMetaData)] = SYNC | GC,
    [SW_SLOT(GetInMemorySymbolsLength)] = SYNC,
    [SW_SLOT(ReadInMemorySymbols)] = SYNC,
    [SW_SLOT(GetFunctionFromIP3)] = GC,
    [SW_SLOT(GetILToNativeMapping3)] = SYNC,
    [SW_SLOT(GetCodeInfo4)] = GC,
    [SW_SLOT(EnumerateObjectReferences)] = SYNC,
    [SW_SLOT(IsFrozenObject)] = SYNC,
    [SW_SLOT(GetLOHObjectSizeThreshold)] = SYNC,
    [SW_SLOT(RequestReJITWithInliners)] = SYNC | GC | MAIN,
    [SW_SLOT(SuspendRuntime)] = GC | REFUSED,
    [SW_SLOT(ResumeRuntime)] = GC | REFUSED,
    [SW_SLOT(EventPipeStartSession)] = GC,
    [SW_SLOT(EventPipeAddProviderToSession)] = GC,
    [SW_SLOT(EventPipeStopSession)] = GC,
    [SW_SLOT(EventPipeCreateProvider)] = GC,
    [SW_SLOT(EventPipeDefineEvent)] = GC,
    [SW_SLOT(EventPipeCreateProvider2)] = GC,
};

/* ---- IUnknown ---- */

static const IID *const versions[] = {
    &IID_IUnknown,           &IID_ICorProfilerInfo,   &IID_ICorProfilerInfo2,  &IID_ICorProfilerInfo3,
    &IID_ICorProfilerInfo4,  &IID_ICorProfilerInfo5,  &IID_ICorProfilerInfo6,  &IID_ICorProfilerInfo7,
    &IID_ICorProfilerInfo8,  &IID_ICorProfilerInfo9,  &IID_ICorProfilerInfo10, &IID_ICorProfilerInfo11,
    &IID_ICorProfilerInfo12, &IID_ICorProfilerInfo13, &IID_ICorProfilerInfo14, &IID_ICorProfilerInfo15,
};

/* .NET 8 refuses the newest (clr-versions.md row 2.1). */
static size_t versions_of(const struct sw_tube *tube)
{
    const size_t all = sizeof versions / sizeof versions[0];
    return tube->version == 8 ? all - 1 : all;
}

static HRESULT STDMETHODCALLTYPE query_interface(ICorProfilerInfo15 *This, REFIID riid, void **out)
{
    struct sw_tube *tube = sw_info_tube(This);
    atomic_fetch_add(&tube->slots[SW_SLOT(QueryInterface)].calls, 1);
    if (!out)
        return E_POINTER;
    *out = NULL;
    for (size_t i = 0; riid && i < versions_of(tube); i++)
        if (memcmp(riid, versions[i], sizeof *riid) == 0)
            *out = This;
    return *out ? S_OK : E_NOINTERFACE;
}

/* As in the CLR: the runtime's object has no reference count. */
static ULONG STDMETHODCALLTYPE add_ref(ICorProfilerInfo15 *This)
{
    atomic_fetch_add(&sw_info_tube(This)->slots[SW_SLOT(AddRef)].calls, 1);
    return 1;
}

static ULONG STDMETHODCALLTYPE release(ICorProfilerInfo15 *This)
{
    atomic_fetch_add(&sw_info_tube(This)->slots[SW_SLOT(Release)].calls, 1);
    return 1;
}

/* ---- the gates ---- */

#define ARGUMENT(kind, ...) ARGUMENT_##kind(__VA_ARGS__),
#define ARGUMENT_ID(which, n)                                                                                          \
    {                                                                                                                  \
        .name = #n, .kind = SW_ARG_ID, .id = (which), .value = (uint64_t)(n)                                           \
    }
#define ARGUMENT_THREAD(n)   ARGUMENT_ID(SW_ID_THREAD, n)
#define ARGUMENT_FUNCTION(n) ARGUMENT_ID(SW_ID_FUNCTION, n)
#define ARGUMENT_MODULE(n)   ARGUMENT_ID(SW_ID_MODULE, n)
#define ARGUMENT_CLASS(n)    ARGUMENT_ID(SW_ID_CLASS, n)
#define ARGUMENT_OBJECT(n)   ARGUMENT_ID(SW_ID_OBJECT, n)
#define ARGUMENT_ASSEMBLY(n) ARGUMENT_ID(SW_ID_ASSEMBLY, n)
#define ARGUMENT_DOMAIN(n)   ARGUMENT_ID(SW_ID_DOMAIN, n)
#define ARGUMENT_NUMBER(n)                                                                                             \
    {                                                                                                                  \
        .name = #n, .kind = SW_ARG_NUMBER, .value = (uint64_t)(n)                                                      \
    }
#define ARGUMENT_TEXT(n)                                                                                               \
    {                                                                                                                  \
        .name = #n, .kind = SW_ARG_TEXT, .pointer = (n)                                                                \
    }
#define ARGUMENT_GUID(n)                                                                                               \
    {                                                                                                                  \
        .name = #n, .kind = SW_ARG_GUID, .pointer = (n)                                                                \
    }
#define ARGUMENT_POINTER(n)                                                                                            \
    {                                                                                                                  \
        .name = #n, .kind = SW_ARG_NONE                                                                                \
    }
#define ARGUMENT_RECORD(n)                                                                                             \
    {                                                                                                                  \
        .name = #n, .kind = SW_ARG_NONE                                                                                \
    }
#define ARGUMENT_TO(how, n, count)                                                                                     \
    {                                                                                                                  \
        .name = #n, .kind = (how), .pointer = (n), .size = sizeof *(n), .capacity = (count)                            \
    }
#define ARGUMENT_OUT(n)           ARGUMENT_TO(SW_ARG_OUT, n, 1)
#define ARGUMENT_OUT_ID(n)        ARGUMENT_TO(SW_ARG_OUT_ID, n, 1)
#define ARGUMENT_OUT_POINTER(n)   ARGUMENT_TO(SW_ARG_OUT_POINTER, n, 1)
#define ARGUMENT_BUFFER(n, count) ARGUMENT_TO(SW_ARG_BUFFER, n, count)
#define ARGUMENT_ARRAY(n, count)  ARGUMENT_TO(SW_ARG_ARRAY, n, count)

#define PASSED(kind, n, ...) , n

#define GATE(Self, result, name_, parameters)                                                                          \
    static result STDMETHODCALLTYPE gate_##name_ parameters                                                            \
    {                                                                                                                  \
        const struct sw_argument arguments[] = { SW_ARGS_##name_(ARGUMENT){ .name = NULL } };                          \
        struct sw_call call = { sw_info_tube(This), SW_SLOT(name_), rules[SW_SLOT(name_)], arguments };                \
        HRESULT hr;                                                                                                    \
        if (sw_call_begin(&call, &hr))                                                                                 \
            hr = served.name_ ? served.name_(This SW_ARGS_##name_(PASSED)) : sw_call_unserved(&call);                  \
        return sw_call_end(&call, hr);                                                                                 \
    }
#define GATED(Self, result, name, parameters) .name = gate_##name,

SW_EVERY_INFO_SLOT(GATE, ICorProfilerInfo15)

static const ICorProfilerInfo15Vtbl table = { .QueryInterface = query_interface,
                                              .AddRef = add_ref,
                                              .Release = release,
                                              SW_EVERY_INFO_SLOT(GATED, ICorProfilerInfo15) };

/* ---- slots by name ---- */

#define NAME(Self, result, name, parameters) #name,
static const char *const names[] = { SW_SLOTS_ICorProfilerInfo15(NAME, ICorProfilerInfo15) };
_Static_assert(sizeof names / sizeof names[0] == SW_TUBE_INFO_SLOTS, "a name for each slot");

const char *sw_tube_slot_name(size_t slot)
{
    return slot < SW_TUBE_INFO_SLOTS ? names[slot] : "?";
}

static struct sw_tube_slot *slot_named(const struct sw_tube *tube, const char *name)
{
    for (size_t i = 0; tube && name && i < SW_TUBE_INFO_SLOTS; i++)
        if (strcmp(names[i], name) == 0)
            return (struct sw_tube_slot *)&tube->slots[i];
    return NULL;
}

/* IUnknown's methods are the object's own. */
static bool may_be_answered(const struct sw_tube *tube, const struct sw_tube_slot *slot)
{
    return slot && slot >= &tube->slots[SW_SLOT(GetClassFromObject)];
}

enum sw_status sw_tube_answer(struct sw_tube *tube, const char *name, HRESULT answer)
{
    struct sw_tube_slot *slot = slot_named(tube, name);
    if (!tube || !name)
        return SW_E_ARGUMENT;
    if (!may_be_answered(tube, slot))
        return sw_tube_problem_set(tube, SW_E_NOT_FOUND, "sw_tube_answer: %s is no method of ICorProfilerInfo15", name);
    atomic_store(&slot->answer, answer);
    atomic_store(&slot->overridden, true);
    return SW_OK;
}

enum sw_status sw_tube_answer_default(struct sw_tube *tube, const char *name)
{
    struct sw_tube_slot *slot = slot_named(tube, name);
    if (!tube || !name)
        return SW_E_ARGUMENT;
    if (!may_be_answered(tube, slot))
        return sw_tube_problem_set(tube, SW_E_NOT_FOUND,
                                   "sw_tube_answer_default: %s is no method of ICorProfilerInfo15", name);
    atomic_store(&slot->overridden, false);
    return SW_OK;
}

size_t sw_tube_calls(const struct sw_tube *tube, const char *name)
{
    const struct sw_tube_slot *slot = slot_named(tube, name);
    return slot ? atomic_load(&slot->calls) : 0;
}

/* ---- making ---- */

enum sw_status sw_tube_info_create(struct sw_tube *tube)
{
    struct sw_tube_info *made = calloc(1, sizeof *made);
    if (!made)
        return SW_E_NO_MEMORY;
    made->com.lpVtbl = &table;
    made->tube = tube;
    pthread_mutex_init(&made->lock, NULL);
    tube->info = made;
    return SW_OK;
}

static void free_lists(struct sw_tube_info *info)
{
    sw_info_free_bodies(info);
    for (size_t i = 0; i < sw_list_count(&info->variables); i++) {
        struct sw_variable *variable = sw_list_at(&info->variables, sizeof *variable, i);
        free(variable->name);
        free(variable->value);
    }
    for (size_t i = 0; i < sw_list_count(&info->providers); i++)
        free(*(char **)sw_list_at(&info->providers, sizeof(char *), i));
    sw_list_free(&info->variables);
    sw_list_free(&info->providers);
    sw_list_free(&info->events);
    sw_list_free(&info->sessions);
    sw_list_free(&info->lenient);
}

void sw_tube_info_destroy(struct sw_tube *tube)
{
    struct sw_tube_info *info = tube->info;
    tube->info = NULL;
    if (!info)
        return;
    sw_enumerators_free(info);
    free_lists(info);
    pthread_mutex_destroy(&info->lock);
    free(info);
}

void sw_tube_report_leaks(struct sw_tube *tube)
{
    const size_t references = sw_tube_metadata_leaks(tube);
    if (tube->info)
        sw_enumerators_report(tube->info);
    if (references)
        sw_tube_broke(tube, SW_TUBE_LEAKED_REFERENCE, "GetModuleMetaData",
                      "%zu references to metadata interfaces were not released", references);
}
