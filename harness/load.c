/*
 * The profiler: its library and object, and the life of the runtime as it sees it.
 *
 * Source: metadata-abi.md sections 10.0 and 10.6.2 (the order of the host's calls, seen with .NET 8 to 10).
 */
#include "stage.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { LOWEST = 2, HIGHEST = 11 };

static const IID *const versions[HIGHEST + 1] = {
    [2] = &IID_ICorProfilerCallback2,   [3] = &IID_ICorProfilerCallback3, [4] = &IID_ICorProfilerCallback4,
    [5] = &IID_ICorProfilerCallback5,   [6] = &IID_ICorProfilerCallback6, [7] = &IID_ICorProfilerCallback7,
    [8] = &IID_ICorProfilerCallback8,   [9] = &IID_ICorProfilerCallback9, [10] = &IID_ICorProfilerCallback10,
    [11] = &IID_ICorProfilerCallback11,
};

/* ---- the object ---- */

/* "{846F5F1C-F9AE-4B07-969E-05C26BC060D8}", with or without braces. */
static bool read_clsid(const char *text, CLSID *clsid)
{
    unsigned data1, data2, data3, tail[8];
    int used = 0;
    *clsid = (CLSID){ 0 };
    if (!text)
        return true;
    text += text[0] == '{';
    if (sscanf(text, "%8x-%4x-%4x-%2x%2x-%2x%2x%2x%2x%2x%2x%n", &data1, &data2, &data3, &tail[0], &tail[1], &tail[2],
               &tail[3], &tail[4], &tail[5], &tail[6], &tail[7], &used) != 11)
        return false;
    *clsid = (CLSID){ .Data1 = data1, .Data2 = (uint16_t)data2, .Data3 = (uint16_t)data3 };
    for (unsigned i = 0; i < 8; i++)
        clsid->Data4[i] = (uint8_t)tail[i];
    return text[used] == '\0' || strcmp(text + used, "}") == 0;
}

/* The CLR asks for one version after the other, from the highest; each lower one then costs it an AddRef only. */
static void find_version(struct sw_tube *tube, IUnknown *object)
{
    void *found = NULL;
    for (unsigned version = HIGHEST; version > LOWEST; version--) {
        if (object->lpVtbl->QueryInterface(object, versions[version], &found) != S_OK || !found)
            continue;
        tube->profiler = found;
        tube->profiler_version = version;
        tube->references++;
        for (unsigned lower = version - 1; lower > LOWEST; lower--, tube->references++)
            (void)object->lpVtbl->AddRef(object);
        return;
    }
}

enum sw_status sw_tube_use(struct sw_tube *tube, IUnknown *profiler)
{
    void *found = NULL;
    if (!tube || !profiler)
        return SW_E_ARGUMENT;
    if (tube->profiler)
        return sw_tube_problem_set(tube, SW_E_EXISTS, "load: there is a profiler already");
    if (profiler->lpVtbl->QueryInterface(profiler, &IID_ICorProfilerCallback2, &found) != S_OK || !found)
        return sw_tube_problem_set(tube, SW_E_UNSUPPORTED, "load: the object is no ICorProfilerCallback2");
    tube->profiler = found;
    tube->profiler_version = LOWEST;
    tube->references++;
    find_version(tube, profiler);
    return SW_OK;
}

enum sw_status sw_tube_load_class(struct sw_tube *tube,
                                  HRESULT (*get)(const CLSID *clsid, const IID *iid, void **object), const char *clsid)
{
    CLSID wanted;
    void *factory = NULL, *object = NULL;
    if (!tube || !get)
        return SW_E_ARGUMENT;
    if (!read_clsid(clsid, &wanted))
        return sw_tube_problem_set(tube, SW_E_ARGUMENT, "load: %s is no class id", clsid);
    HRESULT hr = get(&wanted, &IID_IClassFactory, &factory);
    if (hr == S_OK && factory) {
        IClassFactory *from = factory;
        hr = from->lpVtbl->CreateInstance(from, NULL, &IID_ICorProfilerCallback2, &object);
        (void)from->lpVtbl->Release(from);
    }
    if (hr != S_OK || !object)
        return sw_tube_problem_set(tube, SW_E_UNSUPPORTED, "load: the profiler's class was refused with %s",
                                   sw_tube_hresult_text(hr, (char[16]){ 0 }));
    const enum sw_status status = sw_tube_use(tube, object);
    (void)((IUnknown *)object)->lpVtbl->Release(object);
    return status;
}

enum sw_status sw_tube_load(struct sw_tube *tube, const char *path, const char *clsid)
{
    if (!tube || !path)
        return SW_E_ARGUMENT;
    if (tube->library)
        return sw_tube_problem_set(tube, SW_E_EXISTS, "load: there is a profiler already");
    tube->library = dlopen(path, RTLD_LAZY);
    union {
        void *address;
        HRESULT (*get)(const CLSID *clsid, const IID *iid, void **object);
    } symbol = { .address = tube->library ? dlsym(tube->library, "DllGetClassObject") : NULL };
    if (!symbol.address)
        return sw_tube_problem_set(tube, SW_E_NOT_FOUND, "load: %s", dlerror());
    const enum sw_status status = sw_tube_engine_refresh(tube);
    if (status != SW_OK)
        return sw_tube_problem_set(tube, status, "load: %s: its unwind tables cannot be read", path);
    return sw_tube_load_class(tube, symbol.get, clsid);
}

static void release(struct sw_tube *tube)
{
    ICorProfilerCallback11 *profiler = tube->profiler;
    tube->profiler = NULL;
    for (; profiler && tube->references > 0; tube->references--)
        (void)profiler->lpVtbl->Release(profiler);
    tube->profiler_version = 0;
}

/*
 * The library of a profiler that refused or detached is closed; another's stays, as in the CLR, because its threads may
 * still run.
 */
void sw_tube_unload(struct sw_tube *tube)
{
    const bool is_in_use = atomic_load(&tube->engaged);
    release(tube);
    if (tube->library && !is_in_use)
        (void)dlclose(tube->library);
    tube->library = NULL;
}

/* ---- start ---- */

/* Initialize and InitializeForAttach are raised before the profiler counts as one that is there. */
static uint64_t before_initialize(struct sw_tube *tube, size_t slot)
{
    const char *name = sw_tube_callback_name(slot);
    atomic_store(&tube->initializing, true);
    atomic_fetch_add(&tube->raised[slot], 1);
    sw_tube_entered(tube, "callback", name);
    sw_tube_record_begin(tube, "callback", name);
    sw_tube_record_end(tube);
    sw_tube_signals_note(tube);
    return sw_tube_signal_mask();
}

/* A profiler that refuses is let go of; whether that is a problem depends on how. */
static enum sw_status after_initialize(struct sw_tube *tube, size_t slot, HRESULT hr, uint64_t mask)
{
    const char *name = sw_tube_callback_name(slot);
    sw_tube_record_begin(tube, "returned", name);
    sw_tube_record_hr(tube, hr);
    sw_tube_record_end(tube);
    sw_tube_check_mask(tube, name, mask);
    atomic_store(&tube->initializing, false);
    atomic_store(&tube->engaged, SUCCEEDED(hr));
    if (SUCCEEDED(hr))
        return SW_OK;
    release(tube);
    if (hr == CORPROF_E_PROFILER_CANCEL_ACTIVATION)
        return SW_OK;
    return sw_tube_problem_set(tube, SW_E_UNSUPPORTED, "start: the profiler's %s answered %s", name,
                               sw_tube_hresult_text(hr, (char[16]){ 0 }));
}

/* Before the profiler knows anything else (metadata-abi.md row 10.0.3). */
static void ask_how(struct sw_tube *tube)
{
    ICorProfilerCallback11 *profiler = tube->profiler;
    BOOL notification_only = FALSE;
    if (tube->profiler_version >= 11 &&
        SUCCEEDED(profiler->lpVtbl->LoadAsNotificationOnly(profiler, &notification_only)))
        atomic_store(&tube->notification_only, notification_only != FALSE);
}

static enum sw_status initialize(struct sw_tube *tube)
{
    ICorProfilerCallback11 *profiler = tube->profiler;
    if (!profiler)
        return SW_OK;
    ask_how(tube);
    const uint64_t mask = before_initialize(tube, SW_CB(Initialize));
    const HRESULT hr = profiler->lpVtbl->Initialize(profiler, (IUnknown *)sw_tube_info(tube));
    return after_initialize(tube, SW_CB(Initialize), hr, mask);
}

/*
 * The runtime itself: its core library, then its application domain. .NET 10 tells of two domains (test/clr/tube.sh).
 */
static void start_runtime(struct sw_tube *tube)
{
    const AppDomainID domain = sw_tube_id(SW_ID_DOMAIN, 0);
    tube->engine.runtime |= SW_RUNTIME_STARTED;
    atomic_store(&tube->started, true);
    (void)sw_tube_module_load(tube, "System.Private.CoreLib.dll");
    SW_RAISE(tube, AppDomainCreationStarted, domain, domain);
    SW_RAISE(tube, AppDomainCreationFinished, domain, domain, S_OK);
    tube->engine.runtime |= SW_RUNTIME_HEAP_READY;
}

enum sw_status sw_tube_start(struct sw_tube *tube)
{
    if (!tube)
        return SW_E_ARGUMENT;
    if (atomic_load(&tube->started))
        return sw_tube_problem_set(tube, SW_E_EXISTS, "start: the runtime has started");
    const enum sw_status status = initialize(tube);
    start_runtime(tube);
    return status;
}

enum sw_status sw_tube_attach(struct sw_tube *tube, const void *data, size_t size)
{
    if (!tube || (!data && size) || size > UINT32_MAX)
        return SW_E_ARGUMENT;
    if (atomic_load(&tube->engaged) || !tube->profiler)
        return sw_tube_problem_set(tube, SW_E_EXISTS, "attach: %s",
                                   tube->profiler ? "the profiler is there already" : "no profiler is loaded");
    if (tube->profiler_version < 3)
        return sw_tube_problem_set(tube, SW_E_UNSUPPORTED, "attach: the profiler has no ICorProfilerCallback3");
    if (!atomic_load(&tube->started))
        start_runtime(tube);
    ICorProfilerCallback11 *profiler = tube->profiler;
    atomic_store(&tube->attached, true);
    ask_how(tube);
    const uint64_t mask = before_initialize(tube, SW_CB(InitializeForAttach));
    const HRESULT hr =
        profiler->lpVtbl->InitializeForAttach(profiler, (IUnknown *)sw_tube_info(tube), (void *)data, (UINT)size);
    const enum sw_status status = after_initialize(tube, SW_CB(InitializeForAttach), hr, mask);
    SW_RAISE(tube, ProfilerAttachComplete, 0);
    return status;
}

/* ---- end ---- */

static void check_suspension(struct sw_tube *tube)
{
    if (!sw_tube_is_left_suspended(tube))
        return;
    sw_tube_broke(tube, SW_TUBE_LEFT_SUSPENDED, "Shutdown", "the runtime is still suspended by the profiler");
    (void)sw_tube_profiler_resumes(tube);
}

enum sw_status sw_tube_shutdown(struct sw_tube *tube)
{
    if (!tube)
        return SW_E_ARGUMENT;
    if (!atomic_load(&tube->started) || atomic_load(&tube->shut_down))
        return sw_tube_problem_set(tube, SW_E_NOT_FOUND, "shutdown: the runtime is not running");
    check_suspension(tube);
    sw_tube_end_all(tube);
    sw_tube_signals_check(tube);
    sw_tube_report_leaks(tube);
    return SW_OK;
}

enum sw_status sw_tube_detach(struct sw_tube *tube)
{
    if (!tube)
        return SW_E_ARGUMENT;
    if (!atomic_load(&tube->detaching) || !atomic_load(&tube->engaged))
        return sw_tube_problem_set(tube, SW_E_NOT_FOUND, "detach: the profiler did not ask for it");
    check_suspension(tube);
    SW_RAISE(tube, ProfilerDetachSucceeded, 0);
    atomic_store(&tube->engaged, false);
    sw_tube_signals_check(tube);
    sw_tube_report_leaks(tube);
    release(tube);
    return SW_OK;
}
