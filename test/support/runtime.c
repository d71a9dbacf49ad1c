/*
 * Answers as the CLR's object does, as far as src/clr asks: counts are of all there is, arrays are filled as far as
 * they go (corprof-abi.md section 7).
 */
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

static struct fake_runtime *runtime_of(ICorProfilerInfo15 *com)
{
    return (struct fake_runtime *)(void *)com;
}

static void asked(struct fake_runtime *runtime)
{
    runtime->requests++;
    if (runtime->in_request)
        runtime->in_request();
}

static HRESULT STDMETHODCALLTYPE query_interface(ICorProfilerInfo15 *com, REFIID riid, void **out)
{
    static const struct {
        unsigned version;
        const IID *iid;
    } all[] = { { 2, &IID_ICorProfilerInfo2 },
                { 3, &IID_ICorProfilerInfo3 },
                { 4, &IID_ICorProfilerInfo4 },
                { 9, &IID_ICorProfilerInfo9 } };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (memcmp(riid, all[i].iid, sizeof *riid) == 0 && all[i].version <= runtime_of(com)->newest) {
            *out = com;
            return S_OK;
        }
    *out = (void *)(uintptr_t)1; /* nobody may follow that */
    return E_NOINTERFACE;
}

static ULONG STDMETHODCALLTYPE one_reference(ICorProfilerInfo15 *com)
{
    (void)com;
    return 1;
}

/* ---- code ---- */

/* The caller's array is the runtime's up to its end; a count behind a failure means nothing. */
static HRESULT answer(const struct fake_runtime *runtime, HRESULT hr, ULONG32 most, ULONG32 *count,
                      COR_PRF_CODE_INFO at[])
{
    const HRESULT is = runtime->code_answer != S_OK ? runtime->code_answer : hr;
    if (is != S_OK)
        *count = most;
    for (ULONG32 i = is == S_OK ? *count : 0; i < most; i++)
        at[i] = runtime->scribble;
    return is;
}

static HRESULT STDMETHODCALLTYPE get_code_info2(ICorProfilerInfo15 *com, FunctionID function, ULONG32 most,
                                                ULONG32 *count, COR_PRF_CODE_INFO at[])
{
    struct fake_runtime *runtime = runtime_of(com);
    *count = 0;
    asked(runtime);
    for (size_t i = 0; i < runtime->region_count; i++) {
        const struct fake_region *region = &runtime->regions[i];
        if (region->function != function || region->rejit != 0)
            continue;
        if (*count < most)
            at[*count] = region->at;
        ++*count;
    }
    return answer(runtime, *count ? S_OK : CORPROF_E_FUNCTION_NOT_COMPILED, most, count, at);
}

static HRESULT STDMETHODCALLTYPE get_starts(ICorProfilerInfo15 *com, FunctionID function, ReJITID rejit, ULONG32 most,
                                            ULONG32 *count, UINT_PTR starts[])
{
    struct fake_runtime *runtime = runtime_of(com);
    *count = 0;
    asked(runtime);
    for (size_t i = 0; i < runtime->region_count; i++) {
        const struct fake_region *region = &runtime->regions[i];
        if (region->function != function || region->rejit != rejit || region->version != region->at.startAddress)
            continue;
        if (*count < most)
            starts[*count] = region->version;
        ++*count;
    }
    for (ULONG32 i = *count; i < most; i++)
        starts[i] = runtime->scribble.startAddress;
    if (runtime->code_answer != S_OK)
        *count = most;
    return runtime->code_answer;
}

static HRESULT STDMETHODCALLTYPE get_code_info4(ICorProfilerInfo15 *com, UINT_PTR version, ULONG32 most, ULONG32 *count,
                                                COR_PRF_CODE_INFO at[])
{
    struct fake_runtime *runtime = runtime_of(com);
    *count = 0;
    asked(runtime);
    for (size_t i = 0; i < runtime->region_count; i++) {
        const struct fake_region *region = &runtime->regions[i];
        if (region->version != version || region->at.size == 0)
            continue;
        if (*count < most)
            at[*count] = region->at;
        ++*count;
    }
    return answer(runtime, *count ? S_OK : E_INVALIDARG, most, count, at);
}

static HRESULT STDMETHODCALLTYPE get_function_info(ICorProfilerInfo15 *com, FunctionID function, ClassID *class_id,
                                                   ModuleID *module, mdToken *token)
{
    const struct fake_runtime *runtime = runtime_of(com);
    if (function != runtime->dispatcher)
        return E_INVALIDARG;
    *class_id = 0;
    *module = (ModuleID)(uintptr_t)runtime->base;
    *token = runtime->token;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE get_module_info(ICorProfilerInfo15 *com, ModuleID module, LPCBYTE *base, ULONG most,
                                                 ULONG *size, WCHAR name[], AssemblyID *assembly)
{
    (void)most, (void)size, (void)name;
    if (module == 0 || module != (ModuleID)(uintptr_t)runtime_of(com)->base)
        return E_INVALIDARG;
    *base = runtime_of(com)->base;
    *assembly = 1;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE get_module_info2(ICorProfilerInfo15 *com, ModuleID module, LPCBYTE *base, ULONG most,
                                                  ULONG *size, WCHAR name[], AssemblyID *assembly, DWORD *flags)
{
    *flags = runtime_of(com)->module_flags;
    return get_module_info(com, module, base, most, size, name, assembly);
}

static HRESULT STDMETHODCALLTYPE get_rejit_ids(ICorProfilerInfo15 *com, FunctionID function, ULONG most, ULONG *count,
                                               ReJITID ids[])
{
    const struct fake_runtime *runtime = runtime_of(com);
    *count = 0;
    for (size_t i = 0; i < runtime->region_count; i++)
        if (runtime->regions[i].function == function && runtime->regions[i].rejit != 0 && *count < most)
            ids[(*count)++] = runtime->regions[i].rejit;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE get_function_from_ip(ICorProfilerInfo15 *com, LPCBYTE ip, FunctionID *function)
{
    (void)function;
    if (ip)
        abort(); /* the CLR may crash there, of a method that it has not prepared */
    return runtime_of(com)->is_asynchronous ? CORPROF_E_ASYNCHRONOUS_UNSAFE : E_FAIL;
}

/* ---- threads, events, walks ---- */

static HRESULT STDMETHODCALLTYPE get_thread_info(ICorProfilerInfo15 *com, ThreadID thread, DWORD *os_id)
{
    const struct fake_runtime *runtime = runtime_of(com);
    *os_id = 0xbad;
    for (size_t i = 0; i < runtime->thread_count; i++)
        if (runtime->threads[i].id == thread) {
            *os_id = runtime->threads[i].os_id;
            return S_OK;
        }
    return E_INVALIDARG;
}

static HRESULT STDMETHODCALLTYPE get_current_thread(ICorProfilerInfo15 *com, ThreadID *thread)
{
    *thread = runtime_of(com)->current;
    return *thread ? S_OK : CORPROF_E_NOT_MANAGED_THREAD;
}

static HRESULT STDMETHODCALLTYPE get_event_mask(ICorProfilerInfo15 *com, DWORD *events)
{
    *events = runtime_of(com)->events;
    return runtime_of(com)->events_answer;
}

static HRESULT STDMETHODCALLTYPE do_stack_snapshot(ICorProfilerInfo15 *com, ThreadID thread,
                                                   StackSnapshotCallback *callback, ULONG32 flags, void *client_data,
                                                   BYTE context[], ULONG32 size)
{
    (void)thread, (void)callback, (void)client_data, (void)context, (void)size;
    runtime_of(com)->starts++;
    if (!runtime_of(com)->has_started)
        return CORPROF_E_STACKSNAPSHOT_UNSAFE;
    return flags > COR_PRF_SNAPSHOT_X86_OPTIMIZED ? E_INVALIDARG : E_FAIL;
}

/* ---- enumerators ---- */

/* Either kind: the object that is enumerated for, and how far it is. */
struct enumerator {
    union {
        ICorProfilerFunctionEnum functions;
        ICorProfilerThreadEnum threads;
        ICorProfilerModuleEnum modules;
    } com;
    struct fake_runtime *runtime;
    size_t at;
};

static ULONG release(struct enumerator *e)
{
    e->runtime->references--;
    return 0;
}

static ULONG STDMETHODCALLTYPE release_functions(ICorProfilerFunctionEnum *com)
{
    return release((struct enumerator *)(void *)com);
}

static ULONG STDMETHODCALLTYPE release_threads(ICorProfilerThreadEnum *com)
{
    return release((struct enumerator *)(void *)com);
}

static ULONG STDMETHODCALLTYPE release_modules(ICorProfilerModuleEnum *com)
{
    return release((struct enumerator *)(void *)com);
}

/* There is one at most. */
static HRESULT STDMETHODCALLTYPE next_modules(ICorProfilerModuleEnum *com, ULONG most, ModuleID ids[], ULONG *got)
{
    struct enumerator *e = (struct enumerator *)(void *)com;
    *got = most > 0 && e->at == 0 && e->runtime->base != NULL;
    e->at += *got;
    if (*got)
        ids[0] = (ModuleID)(uintptr_t)e->runtime->base;
    return *got == most ? S_OK : S_FALSE;
}

static HRESULT STDMETHODCALLTYPE next_functions(ICorProfilerFunctionEnum *com, ULONG most, COR_PRF_FUNCTION ids[],
                                                ULONG *got)
{
    struct enumerator *e = (struct enumerator *)(void *)com;
    for (*got = 0; *got < most && e->at < e->runtime->function_count; ++*got)
        ids[*got] = e->runtime->functions[e->at++];
    return *got == most ? S_OK : S_FALSE;
}

static HRESULT STDMETHODCALLTYPE next_threads(ICorProfilerThreadEnum *com, ULONG most, ThreadID ids[], ULONG *got)
{
    struct enumerator *e = (struct enumerator *)(void *)com;
    for (*got = 0; *got < most && e->at < e->runtime->thread_count; ++*got)
        ids[*got] = e->runtime->threads[e->at++].id;
    return *got == most ? S_OK : S_FALSE;
}

static struct enumerator *enumerator_of(struct fake_runtime *runtime)
{
    static struct enumerator all[16];
    struct enumerator *e = &all[runtime->references++];
    e->runtime = runtime;
    e->at = 0;
    return e;
}

static HRESULT STDMETHODCALLTYPE enum_functions(ICorProfilerInfo15 *com, ICorProfilerFunctionEnum **out)
{
    static const ICorProfilerFunctionEnumVtbl table = { .Release = release_functions, .Next = next_functions };
    struct fake_runtime *runtime = runtime_of(com);
    if (runtime->functions_answer != S_OK)
        return runtime->functions_answer;
    struct enumerator *e = enumerator_of(runtime);
    e->com.functions.lpVtbl = &table;
    *out = &e->com.functions;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE enum_modules(ICorProfilerInfo15 *com, ICorProfilerModuleEnum **out)
{
    static const ICorProfilerModuleEnumVtbl table = { .Release = release_modules, .Next = next_modules };
    struct enumerator *e = enumerator_of(runtime_of(com));
    e->com.modules.lpVtbl = &table;
    *out = &e->com.modules;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE enum_threads(ICorProfilerInfo15 *com, ICorProfilerThreadEnum **out)
{
    static const ICorProfilerThreadEnumVtbl table = { .Release = release_threads, .Next = next_threads };
    struct fake_runtime *runtime = runtime_of(com);
    if (runtime->threads_answer != S_OK)
        return runtime->threads_answer;
    struct enumerator *e = enumerator_of(runtime);
    e->com.threads.lpVtbl = &table;
    *out = &e->com.threads;
    return S_OK;
}

/* ---- making one ---- */

static HRESULT STDMETHODCALLTYPE get_runtime_information(ICorProfilerInfo15 *com, USHORT *instance,
                                                         COR_PRF_RUNTIME_TYPE *type, USHORT *major, USHORT *minor,
                                                         USHORT *build, USHORT *fix, ULONG size, ULONG *count,
                                                         WCHAR text[])
{
    (void)size, (void)count, (void)text;
    *instance = *minor = *build = *fix = 0;
    *type = COR_PRF_CORE_CLR;
    *major = runtime_of(com)->major;
    return S_OK;
}

static const ICorProfilerInfo15Vtbl table = {
    .QueryInterface = query_interface,
    .AddRef = one_reference,
    .Release = one_reference,
    .GetCodeInfo2 = get_code_info2,
    .GetNativeCodeStartAddresses = get_starts,
    .GetCodeInfo4 = get_code_info4,
    .GetFunctionInfo = get_function_info,
    .GetModuleInfo = get_module_info,
    .GetModuleInfo2 = get_module_info2,
    .GetReJITIDs = get_rejit_ids,
    .EnumModules = enum_modules,
    .GetFunctionFromIP = get_function_from_ip,
    .GetThreadInfo = get_thread_info,
    .GetCurrentThreadID = get_current_thread,
    .GetEventMask = get_event_mask,
    .GetRuntimeInformation = get_runtime_information,
    .DoStackSnapshot = do_stack_snapshot,
    .EnumJITedFunctions = enum_functions,
    .EnumThreads = enum_threads,
};

void fake_runtime_init(struct fake_runtime *runtime)
{
    memset(runtime, 0, sizeof *runtime);
    runtime->com.lpVtbl = &table;
    runtime->newest = 15;
    runtime->major = 10;
    runtime->events = COR_PRF_ENABLE_STACK_SNAPSHOT;
    runtime->has_started = true;
}

void fake_runtime_add_region(struct fake_runtime *runtime, FunctionID function, ReJITID rejit, UINT_PTR version,
                             UINT_PTR begin, SIZE_T size)
{
    runtime->regions[runtime->region_count++] = (struct fake_region){ function, rejit, version, { begin, size } };
}

void fake_runtime_compile(struct fake_runtime *runtime, FunctionID function, ReJITID rejit, UINT_PTR begin, SIZE_T size)
{
    fake_runtime_add_region(runtime, function, rejit, begin, begin, size);
}

void fake_runtime_free(struct fake_runtime *runtime, FunctionID function)
{
    size_t kept = 0;
    for (size_t i = 0; i < runtime->region_count; i++)
        if (runtime->regions[i].function != function)
            runtime->regions[kept++] = runtime->regions[i];
    runtime->region_count = kept;
}
