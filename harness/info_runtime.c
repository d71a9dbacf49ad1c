/*
 * ICorProfilerInfo by subject: the runtime itself. Its version, the event mask, its threads, suspension, detach, and
 * its environment.
 *
 * Source: clr-contract.md section 8; diagnostics-ipc.md sections 4 and 5; metadata-abi.md row 10.3.2; dotnet/runtime
 * src/coreclr/vm/eetoprofinterfaceimpl.cpp (SetEventMask, EnsureProfilerDetachable), proftoeeinterfaceimpl.cpp.
 */
#include "info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the version ---- */

/* Those that the facts were seen in. */
static const struct {
    unsigned major;
    USHORT build;
    const char *text;
} releases[] = { { 8, 31, "8.0.31" }, { 9, 20, "9.0.20" }, { 10, 12, "10.0.12" } };

static size_t release_of(const struct sw_tube *tube)
{
    size_t i = sizeof releases / sizeof releases[0] - 1;
    while (i > 0 && releases[i].major != tube->version)
        i--;
    return i;
}

HRESULT STDMETHODCALLTYPE sw_info_GetRuntimeInformation(ICorProfilerInfo15 *This, USHORT *instance,
                                                        COR_PRF_RUNTIME_TYPE *type, USHORT *major, USHORT *minor,
                                                        USHORT *build, USHORT *fix, ULONG size, ULONG *count,
                                                        WCHAR text[])
{
    const size_t release = release_of(sw_info_tube(This));
    if (text && !count)
        return E_INVALIDARG;
    SW_OUT(instance, 0);
    SW_OUT(type, COR_PRF_CORE_CLR);
    SW_OUT(major, (USHORT)releases[release].major);
    SW_OUT(minor, 0);
    SW_OUT(build, releases[release].build);
    SW_OUT(fix, 0);
    return sw_info_name_cut(releases[release].text, text, size, count);
}

/* ---- the event mask ---- */

#define SLOW_HOOKS (COR_PRF_ENABLE_FUNCTION_ARGS | COR_PRF_ENABLE_FUNCTION_RETVAL | COR_PRF_ENABLE_FRAME_INFO)

/* From 10 on these may be changed at any time (diagnostics-ipc.md rows 4.16 and 4.18). */
static DWORD freed_by(const struct sw_tube *tube)
{
    return tube->version >= 10 ? COR_PRF_DISABLE_INLINING | COR_PRF_DISABLE_OPTIMIZATIONS : 0;
}

static bool changes_immutable(const struct sw_tube *tube, DWORD low, DWORD high)
{
    const DWORD immutable = COR_PRF_MONITOR_IMMUTABLE & ~freed_by(tube);
    const DWORD old_low = atomic_load(&tube->mask_low), old_high = atomic_load(&tube->mask_high);
    return ((low ^ old_low) & immutable) != 0 || ((high ^ old_high) & COR_PRF_HIGH_MONITOR_IMMUTABLE) != 0;
}

static bool is_beyond_attach(const struct sw_tube *tube, DWORD low, DWORD high)
{
    const DWORD allowed = COR_PRF_ALLOWABLE_AFTER_ATTACH | freed_by(tube);
    return (low & ~allowed) != 0 || (high & ~(DWORD)COR_PRF_HIGH_ALLOWABLE_AFTER_ATTACH) != 0;
}

/* Hooks that were set in Initialize fix the flags that say how they are called. */
static bool contradicts_hooks(const struct sw_tube *tube, DWORD low)
{
    const bool off = !(low & COR_PRF_MONITOR_ENTERLEAVE), slow = (low & SLOW_HOOKS) != 0;
    return (tube->hook_version == 3 && (slow || off)) || (tube->hook_version == 4 && (!slow || off));
}

static bool is_beyond_listening(DWORD low, DWORD high)
{
    return (low & ~(DWORD)COR_PRF_ALLOWABLE_NOTIFICATION_PROFILER) != 0 ||
           (high & ~(DWORD)COR_PRF_HIGH_ALLOWABLE_NOTIFICATION_PROFILER) != 0;
}

static HRESULT check_mask(const struct sw_tube *tube, DWORD low, DWORD high)
{
    const bool starting = atomic_load(&tube->initializing) && !atomic_load(&tube->attached);
    if (atomic_load(&tube->notification_only) && is_beyond_listening(low, high))
        return E_INVALIDARG;
    if (!starting && changes_immutable(tube, low, high))
        return E_FAIL;
    if (atomic_load(&tube->attached) && is_beyond_attach(tube, low, high))
        return CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER;
    if (starting && contradicts_hooks(tube, low))
        return CORPROF_E_INCONSISTENT_WITH_FLAGS;
    if ((high & COR_PRF_HIGH_ADD_ASSEMBLY_REFERENCES) && tube->profiler_version < 6)
        return CORPROF_E_CALLBACK6_REQUIRED;
    if ((high & COR_PRF_HIGH_IN_MEMORY_SYMBOLS_UPDATED) && tube->profiler_version < 7)
        return CORPROF_E_CALLBACK7_REQUIRED;
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_SetEventMask2(ICorProfilerInfo15 *This, DWORD low, DWORD high)
{
    struct sw_tube *tube = sw_info_tube(This);
    const HRESULT hr = check_mask(tube, low, high);
    if (hr != S_OK)
        return hr;
    if (low & COR_PRF_ENABLE_REJIT)
        atomic_store(&sw_info_of(This)->rejit_was_enabled, true);
    atomic_store(&tube->mask_low, low);
    atomic_store(&tube->mask_high, high);
    __atomic_store_n(&tube->engine.event_mask, low, __ATOMIC_RELAXED);
    return S_OK;
}

/* The high bits are cleared by it. */
HRESULT STDMETHODCALLTYPE sw_info_SetEventMask(ICorProfilerInfo15 *This, DWORD low)
{
    return sw_info_SetEventMask2(This, low, 0);
}

HRESULT STDMETHODCALLTYPE sw_info_GetEventMask2(ICorProfilerInfo15 *This, DWORD *low, DWORD *high)
{
    const struct sw_tube *tube = sw_info_tube(This);
    if (!low || !high)
        return E_INVALIDARG;
    *low = atomic_load(&tube->mask_low);
    *high = atomic_load(&tube->mask_high);
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_GetEventMask(ICorProfilerInfo15 *This, DWORD *low)
{
    DWORD high;
    return sw_info_GetEventMask2(This, low, &high);
}

/* ---- threads ---- */

static _Thread_local const struct sw_tube *initialized;

HRESULT STDMETHODCALLTYPE sw_info_InitializeCurrentThread(ICorProfilerInfo15 *This)
{
    initialized = sw_info_tube(This);
    return S_OK;
}

bool sw_tube_is_initialized(const struct sw_tube *tube)
{
    return initialized == tube;
}

HRESULT STDMETHODCALLTYPE sw_info_GetThreadInfo(ICorProfilerInfo15 *This, ThreadID id, DWORD *os_id)
{
    ICorProfilerInfo2 *inner = sw_info_tube(This)->inner;
    return inner->lpVtbl->GetThreadInfo(inner, id, os_id);
}

HRESULT STDMETHODCALLTYPE sw_info_GetCurrentThreadID(ICorProfilerInfo15 *This, ThreadID *id)
{
    ICorProfilerInfo2 *inner = sw_info_tube(This)->inner;
    return inner->lpVtbl->GetCurrentThreadID(inner, id);
}

/* A handle is what only the runtime can use: any number that is not null. */
HRESULT STDMETHODCALLTYPE sw_info_GetHandleFromThread(ICorProfilerInfo15 *This, ThreadID id, HANDLE *handle)
{
    if (!sw_tube_thread_of(sw_info_tube(This), id))
        return E_INVALIDARG;
    SW_OUT(handle, (HANDLE)id);
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_GetThreadAppDomain(ICorProfilerInfo15 *This, ThreadID id, AppDomainID *domain)
{
    const struct sw_tube *tube = sw_info_tube(This);
    if (!domain)
        return E_INVALIDARG;
    if (!(id ? sw_tube_thread_of(tube, id) : sw_tube_current(tube)))
        return CORPROF_E_NOT_MANAGED_THREAD;
    *domain = sw_tube_id(SW_ID_DOMAIN, 0);
    return S_OK;
}

/* Not registers: in CoreCLR a thread's context is its application domain. */
HRESULT STDMETHODCALLTYPE sw_info_GetThreadContext(ICorProfilerInfo15 *This, ThreadID id, ContextID *context)
{
    if (!sw_tube_thread_of(sw_info_tube(This), id))
        return E_INVALIDARG;
    SW_OUT(context, sw_tube_id(SW_ID_DOMAIN, 0));
    return S_OK;
}

/* The library's own enumerator, copied into one that is watched for leaks. */
HRESULT STDMETHODCALLTYPE sw_info_EnumThreads(ICorProfilerInfo15 *This, ICorProfilerThreadEnum **out)
{
    ICorProfilerInfo15 *inner = (ICorProfilerInfo15 *)sw_info_tube(This)->inner;
    ICorProfilerThreadEnum *threads = NULL;
    ULONG count = 0;
    void *items;
    if (!out)
        return E_INVALIDARG;
    *out = NULL;
    const HRESULT hr = inner->lpVtbl->EnumThreads(inner, &threads);
    if (hr != S_OK)
        return hr;
    threads->lpVtbl->GetCount(threads, &count);
    struct sw_enumerator *made = sw_enumerator_create(sw_info_of(This), SW_ENUM_THREADS, count, &items);
    if (made && count)
        threads->lpVtbl->Next(threads, count, items, &count);
    threads->lpVtbl->Release(threads);
    *out = (ICorProfilerThreadEnum *)made;
    return made ? S_OK : E_OUTOFMEMORY;
}

HRESULT STDMETHODCALLTYPE sw_info_DoStackSnapshot(ICorProfilerInfo15 *This, ThreadID thread,
                                                  StackSnapshotCallback *callback, ULONG32 flags, void *data,
                                                  BYTE context[], ULONG32 size)
{
    return sw_tube_snapshot(sw_info_tube(This), thread, callback, flags, data, context, size);
}

/* ---- suspension, detach ---- */

HRESULT STDMETHODCALLTYPE sw_info_SuspendRuntime(ICorProfilerInfo15 *This)
{
    return sw_tube_profiler_suspends(sw_info_tube(This));
}

HRESULT STDMETHODCALLTYPE sw_info_ResumeRuntime(ICorProfilerInfo15 *This)
{
    return sw_tube_profiler_resumes(sw_info_tube(This));
}

/* On a thread of the profiler's own only. */
HRESULT STDMETHODCALLTYPE sw_info_ForceGC(ICorProfilerInfo15 *This)
{
    struct sw_tube *tube = sw_info_tube(This);
    if (!atomic_load(&tube->started))
        return CORPROF_E_NOT_YET_AVAILABLE;
    if (sw_tube_current(tube) || sw_tube_in_callback() != 0)
        return CORPROF_E_UNSUPPORTED_CALL_SEQUENCE;
    const HRESULT hr = sw_tube_force_gc(tube);
    if (hr == S_OK)
        sw_call_lenient(tube->info);
    return hr;
}

/* What the profiler did that cannot be taken back; S_OK: nothing. */
static HRESULT check_detachable(const struct sw_tube *tube)
{
    const DWORD immutable = COR_PRF_MONITOR_IMMUTABLE & ~freed_by(tube);
    if ((atomic_load(&tube->mask_low) & immutable) || (atomic_load(&tube->mask_high) & COR_PRF_HIGH_MONITOR_IMMUTABLE))
        return CORPROF_E_IMMUTABLE_FLAGS_SET;
    if (tube->hook_version || atomic_load(&tube->info->rejit_was_enabled))
        return CORPROF_E_IRREVERSIBLE_INSTRUMENTATION_PRESENT;
    return S_OK;
}

/* From here on every other call answers CORPROF_E_PROFILER_DETACHING; sw_tube_detach completes it. */
HRESULT STDMETHODCALLTYPE sw_info_RequestProfilerDetach(ICorProfilerInfo15 *This, DWORD milliseconds)
{
    struct sw_tube *tube = sw_info_tube(This);
    (void)milliseconds;
    if (atomic_load(&tube->initializing))
        return CORPROF_E_PROFILER_NOT_YET_INITIALIZED;
    if (tube->profiler_version < 3)
        return CORPROF_E_CALLBACK3_REQUIRED;
    const HRESULT hr = check_detachable(tube);
    if (hr == S_OK)
        atomic_store(&tube->detaching, true);
    return hr;
}

/* ---- the environment ---- */

/* The newest that was set under a name; null: none was. */
static const struct sw_variable *variable_named(const struct sw_tube_info *info, const char *name)
{
    for (size_t i = sw_list_count(&info->variables); i-- > 0;) {
        const struct sw_variable *variable = sw_list_at(&info->variables, sizeof *variable, i);
        if (strcmp(variable->name, name) == 0)
            return variable;
    }
    return NULL;
}

/* A name or value as the runtime keeps it; null: no memory. */
static char *copy_wide(const WCHAR *text)
{
    const size_t need = sw_text_from_wide(text, NULL, 0);
    char *copy = malloc(need);
    if (copy)
        sw_text_from_wide(text, copy, need);
    return copy;
}

static const char *look_up(const struct sw_tube_info *info, const char *name)
{
    const struct sw_variable *variable = variable_named(info, name);
    return variable ? variable->value : getenv(name);
}

/* With room the count is without the terminator, else with it (metadata-abi.md row 10.3.2). */
static HRESULT give_variable(const char *value, ULONG size, ULONG *count, WCHAR to[])
{
    const size_t need = sw_text_to_wide(value, NULL, 0);
    const bool fits = size >= need;
    SW_OUT(count, (ULONG)(fits ? need - 1 : need));
    if (to && fits)
        sw_text_to_wide(value, to, size);
    return fits || !to ? S_OK : SW_E_INSUFFICIENT_BUFFER;
}

HRESULT STDMETHODCALLTYPE sw_info_GetEnvironmentVariable(ICorProfilerInfo15 *This, const WCHAR *name, ULONG size,
                                                         ULONG *count, WCHAR to[])
{
    if (!name || (size != 0 && !to))
        return E_INVALIDARG;
    if (!count && !to)
        return S_OK;
    char *key = copy_wide(name);
    if (!key)
        return E_OUTOFMEMORY;
    const char *value = look_up(sw_info_of(This), key);
    free(key);
    if (value)
        return give_variable(value, size, count, to);
    SW_OUT(count, 0);
    return SW_E_ENVVAR_NOT_FOUND;
}

static bool add_variable(struct sw_tube_info *info, char *name, char *value)
{
    pthread_mutex_lock(&info->lock);
    struct sw_variable *variable = sw_list_add(&info->variables, sizeof *variable);
    if (variable) {
        *variable = (struct sw_variable){ name, value };
        sw_list_publish(&info->variables);
    }
    pthread_mutex_unlock(&info->lock);
    return variable != NULL;
}

/* Changes the runtime's own copy: the process's environment stays (diagnostics-ipc.md row 3.6). */
HRESULT STDMETHODCALLTYPE sw_info_SetEnvironmentVariable(ICorProfilerInfo15 *This, const WCHAR *name,
                                                         const WCHAR *value)
{
    if (!name)
        return E_INVALIDARG;
    char *key = copy_wide(name), *copy = value ? copy_wide(value) : NULL;
    if (key && (copy || !value) && add_variable(sw_info_of(This), key, copy))
        return S_OK;
    free(key);
    free(copy);
    return E_OUTOFMEMORY;
}
