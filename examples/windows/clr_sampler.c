/*
 * A sampling profiler for .NET on Windows, as small as it can be. A thread that was never managed stops the others one
 * by one, walks each without a seed (flavour documented), and counts methods; at the end the hottest are printed.
 *
 *     set CORECLR_ENABLE_PROFILING=1
 *     set CORECLR_PROFILER={846F5F1C-F9AE-4B07-969E-05C26BC060D8}
 *     set CORECLR_PROFILER_PATH_64=C:\...\clr_sampler.dll
 *
 * While a thread is stopped nothing is allocated or printed, and no lock is taken: it may hold it. The one lock here is
 * taken before anyone is stopped, so a stopped thread never holds it.
 */
/* In front of the CLR's interfaces, which then take its types. */
#include <windows.h>
#include <cor.h>

#include "callbacks.h"

#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 256, METHODS = 8192, SHOWN = 15, PERIOD_MS = 2, REFRESH_EVERY = 50, NAME = 256 };

/* Open addressing by FunctionID. last_walk: a recursive method counts once a walk. */
static struct method {
    FunctionID id;
    uint64_t self, total, last_walk;
} methods[METHODS];

static SRWLOCK lock = SRWLOCK_INIT;
static ThreadID threads[THREADS];
static uint64_t walks, whole, dropped;
static bool has_leaf;
static volatile LONG running = 1;
static HANDLE sampler;
static ICorProfilerInfo10 *info;

/* ---- samples ---- */

static struct method *method_of(FunctionID id)
{
    size_t at = (size_t)((uint64_t)id * UINT64_C(0x9e3779b97f4a7c15) >> 51) % METHODS;
    for (size_t tries = 0; tries < METHODS; tries++, at = (at + 1) % METHODS)
        if (methods[at].id == id || methods[at].id == 0)
            return &methods[at];
    return NULL;
}

static HRESULT STDMETHODCALLTYPE count_frame(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame, ULONG32 size,
                                             BYTE context[], void *arg)
{
    (void)ip, (void)frame, (void)size, (void)context, (void)arg;
    struct method *method = function ? method_of(function) : NULL;
    dropped += function && !method;
    if (!method)
        return S_OK;
    method->id = function;
    method->self += !has_leaf; /* its own code, or native code that it called */
    method->total += method->last_walk != walks;
    method->last_walk = walks;
    has_leaf = true;
    return S_OK;
}

static void sample(ThreadID thread)
{
    walks++;
    has_leaf = false;
    const HRESULT hr =
        sw_clr_snapshot(fed, SW_FLAVOUR_DOCUMENTED, thread, count_frame, COR_PRF_SNAPSHOT_DEFAULT, NULL, NULL, 0);
    whole += hr == S_OK;
}

static DWORD WINAPI sample_again_and_again(void *arg)
{
    (void)arg;
    for (unsigned round = 0; running; round++) {
        AcquireSRWLockExclusive(&lock);
        for (unsigned i = 0; i < THREADS; i++)
            if (threads[i])
                sample(threads[i]);
        ReleaseSRWLockExclusive(&lock);
        if (round % REFRESH_EVERY == 0)
            sw_clr_refresh(fed);
        Sleep(PERIOD_MS);
    }
    return 0;
}

/* ---- events beyond those of the library ---- */

typedef ICorProfilerCallback11 Self;

static void replace_thread(ThreadID from, ThreadID to)
{
    unsigned i = 0;
    AcquireSRWLockExclusive(&lock);
    while (i < THREADS && threads[i] != from)
        i++;
    if (i < THREADS)
        threads[i] = to;
    ReleaseSRWLockExclusive(&lock);
}

static HRESULT STDMETHODCALLTYPE thread_assigned(Self *self, ThreadID thread, DWORD os_id)
{
    feed_thread_assigned(self, thread, os_id);
    replace_thread(0, thread);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE thread_destroyed(Self *self, ThreadID thread)
{
    replace_thread(thread, 0);
    return feed_thread_destroyed(self, thread);
}

/* ---- names ---- */

static const GUID import_iid = { 0x7dac8207, 0xd3ae, 0x4c75, { 0x9b, 0x67, 0x92, 0x80, 0x1a, 0x49, 0x7d, 0x44 } };

static void name_method(FunctionID id, char *type, char *name)
{
    WCHAR wide_type[NAME] = L"?", wide_name[NAME] = L"?";
    IUnknown *found = NULL;
    mdToken token = 0;
    mdTypeDef owner = 0;
    if (info->lpVtbl->GetTokenAndMetaDataFromFunction(info, id, &import_iid, &found, &token) == S_OK) {
        IMetaDataImport *import = (IMetaDataImport *)(void *)found;
        import->lpVtbl->GetMethodProps(import, token, &owner, wide_name, NAME, NULL, NULL, NULL, NULL, NULL, NULL);
        import->lpVtbl->GetTypeDefProps(import, owner, wide_type, NAME, NULL, NULL, NULL);
        import->lpVtbl->Release(import);
    }
    WideCharToMultiByte(CP_UTF8, 0, wide_type, -1, type, 3 * NAME, NULL, NULL);
    WideCharToMultiByte(CP_UTF8, 0, wide_name, -1, name, 3 * NAME, NULL, NULL);
}

/* Of code that is unloaded nothing can be asked any more. */
static HRESULT STDMETHODCALLTYPE unload_started(Self *self, FunctionID function)
{
    AcquireSRWLockExclusive(&lock);
    struct method *method = method_of(function);
    if (method)
        method->self = method->total = 0;
    ReleaseSRWLockExclusive(&lock);
    return feed_unload_started(self, function);
}

static int hotter_first(const void *a, const void *b)
{
    const struct method *x = a, *y = b;
    if (x->self != y->self)
        return x->self < y->self ? 1 : -1;
    return (x->total < y->total) - (x->total > y->total);
}

/* ---- life ---- */

static HRESULT STDMETHODCALLTYPE initialize(Self *self, IUnknown *given)
{
    DWORD low, high;
    void *found = NULL;
    (void)self;
    sw_clr_get_events(&low, &high);
    if (given->lpVtbl->QueryInterface(given, &IID_ICorProfilerInfo10, &found) != S_OK)
        return E_FAIL;
    info = found;
    if (info->lpVtbl->SetEventMask2(info, low, high) != S_OK || sw_clr_create(NULL, given, &fed) != SW_OK)
        return E_FAIL;
    sampler = CreateThread(NULL, 0, sample_again_and_again, NULL, 0, NULL);
    return sampler ? S_OK : E_FAIL;
}

static HRESULT STDMETHODCALLTYPE shutdown(Self *self)
{
    char type[3 * NAME], name[3 * NAME];
    (void)self;
    running = 0;
    WaitForSingleObject(sampler, INFINITE);
    qsort(methods, METHODS, sizeof methods[0], hotter_first);
    printf("%llu samples, %llu whole, %llu frames without room\n   self   total  method\n", (unsigned long long)walks,
           (unsigned long long)whole, (unsigned long long)dropped);
    for (unsigned i = 0; i < SHOWN && methods[i].total; i++) {
        name_method(methods[i].id, type, name);
        printf("%7llu %7llu  %s.%s\n", (unsigned long long)methods[i].self, (unsigned long long)methods[i].total, type,
               name);
    }
    fflush(stdout);
    return S_OK;
}

EVERY_CALLBACK(IGNORE_SLOT, ICorProfilerCallback11)
static const ICorProfilerCallback11Vtbl table = { COM_SLOTS EVERY_CALLBACK(IGNORED_SLOT, ICorProfilerCallback11)
                                                      FEED_SLOTS.Initialize = initialize,
                                                  .Shutdown = shutdown,
                                                  .ThreadAssignedToOSThread = thread_assigned,
                                                  .ThreadDestroyed = thread_destroyed,
                                                  .FunctionUnloadStarted = unload_started,
                                                  .DynamicMethodUnloaded = unload_started };
ICorProfilerCallback11 profiler = { (ICorProfilerCallback11Vtbl *)(uintptr_t)&table };
