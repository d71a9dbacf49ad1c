/*
 * A profiler in C that a real CLR loads: every slot it calls and every callback it gets goes through our corprof.h.
 * Prints one line when the runtime shuts down: what it saw, for corprof.sh to judge.
 */
#include <snapwalk/corprof.h>

#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define EVERY_SLOT(SLOT, Self)                                                                                         \
    SW_OWN_SLOTS_ICorProfilerCallback(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback2(SLOT, Self)                       \
        SW_OWN_SLOTS_ICorProfilerCallback3(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback4(SLOT, Self)                  \
            SW_OWN_SLOTS_ICorProfilerCallback5(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback6(SLOT, Self)              \
                SW_OWN_SLOTS_ICorProfilerCallback7(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback8(SLOT, Self)          \
                    SW_OWN_SLOTS_ICorProfilerCallback9(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback10(SLOT, Self)     \
                        SW_OWN_SLOTS_ICorProfilerCallback11(SLOT, Self)

typedef ICorProfilerCallback11 Self;

static ICorProfilerInfo15 *info;
static struct {
    USHORT major;
    unsigned versions, listed, walks, managed, agreed, wrong;
} seen;

/* Called for each frame: the id of a managed frame must be the one that GetFunctionFromIP gives for its call. */
static HRESULT STDMETHODCALLTYPE on_frame(FunctionID id, UINT_PTR ip, COR_PRF_FRAME_INFO frame, ULONG32 context_size,
                                          BYTE context[], void *client_data)
{
    FunctionID found = 0;
    (void)frame;
    seen.wrong += context_size != 0 || context != NULL || client_data != &seen;
    if (id != 0) {
        seen.managed++;
        if (info->lpVtbl->GetFunctionFromIP(info, (LPCBYTE)(ip - 1), &found) == S_OK)
            seen.agreed += found == id;
    }
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE jit_started(Self *self, FunctionID id, BOOL safe)
{
    (void)self, (void)id, (void)safe;
    ThreadID thread = 0;
    DWORD os_id = 0;
    seen.walks += info->lpVtbl->DoStackSnapshot(info, 0, on_frame, COR_PRF_SNAPSHOT_DEFAULT, &seen, NULL, 0) == S_OK;
    seen.wrong += info->lpVtbl->GetCurrentThreadID(info, &thread) != S_OK || thread == 0;
    seen.wrong += info->lpVtbl->GetThreadInfo(info, thread, &os_id) != S_OK || os_id == 0;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE shut_down(Self *self)
{
    ICorProfilerThreadEnum *threads = NULL;
    ThreadID ids[64];
    ULONG count = 0;
    (void)self;
    if (info->lpVtbl->EnumThreads(info, &threads) == S_OK) {
        seen.wrong += threads->lpVtbl->Next(threads, 64, ids, &count) != S_FALSE;
        seen.wrong += threads->lpVtbl->Release(threads) != 0;
        seen.listed = count;
    }
    fprintf(stderr, "live: .NET %u, %u versions, %u threads, %u walks, %u managed frames, %u agreed, %u wrong\n",
            (unsigned)seen.major, seen.versions, seen.listed, seen.walks, seen.managed, seen.agreed, seen.wrong);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE initialize(Self *self, IUnknown *unknown)
{
    static const IID *const iids[] = { &IID_ICorProfilerInfo,   &IID_ICorProfilerInfo2,  &IID_ICorProfilerInfo3,
                                       &IID_ICorProfilerInfo4,  &IID_ICorProfilerInfo5,  &IID_ICorProfilerInfo6,
                                       &IID_ICorProfilerInfo7,  &IID_ICorProfilerInfo8,  &IID_ICorProfilerInfo9,
                                       &IID_ICorProfilerInfo10, &IID_ICorProfilerInfo11, &IID_ICorProfilerInfo12,
                                       &IID_ICorProfilerInfo13, &IID_ICorProfilerInfo14, &IID_ICorProfilerInfo15 };
    const DWORD low = COR_PRF_ENABLE_STACK_SNAPSHOT | COR_PRF_MONITOR_JIT_COMPILATION;
    DWORD low_back = 0, high_back = 0;
    USHORT instance, minor, build, qfe;
    COR_PRF_RUNTIME_TYPE type = 0;
    (void)self;
    for (size_t i = 0; i < sizeof(iids) / sizeof(iids[0]); i++)
        seen.versions += unknown->lpVtbl->QueryInterface(unknown, iids[i], (void **)&info) == S_OK;
    if (!info)
        return E_FAIL;
    seen.wrong += info->lpVtbl->AddRef(info) != 1 || info->lpVtbl->Release(info) != 1;
    seen.wrong += info->lpVtbl->SetEventMask2(info, low, COR_PRF_HIGH_DISABLE_TIERED_COMPILATION) != S_OK;
    seen.wrong += info->lpVtbl->GetEventMask2(info, &low_back, &high_back) != S_OK;
    seen.wrong += low_back != low || high_back != COR_PRF_HIGH_DISABLE_TIERED_COMPILATION;
    seen.wrong += info->lpVtbl->GetRuntimeInformation(info, &instance, &type, &seen.major, &minor, &build, &qfe, 0,
                                                      NULL, NULL) != S_OK;
    seen.wrong += type != COR_PRF_CORE_CLR;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE query_callback(Self *self, REFIID riid, void **out)
{
    (void)riid; /* the runtime asks for versions of ICorProfilerCallback only, and this is the last */
    *out = self;
    return S_OK;
}

static ULONG STDMETHODCALLTYPE count_callback(Self *self)
{
    (void)self;
    return 1;
}

#pragma GCC diagnostic ignored "-Wunused-parameter" /* the callbacks that do nothing */
#pragma GCC diagnostic ignored "-Woverride-init"    /* what does something overrides what does nothing */
#define IGNORE(Self, result, name, parameters)                                                                         \
    static result STDMETHODCALLTYPE ignore_##name parameters                                                           \
    {                                                                                                                  \
        return S_OK;                                                                                                   \
    }
#define IGNORED(Self, result, name, parameters) .name = ignore_##name,
EVERY_SLOT(IGNORE, Self)

/* clang-format off */
static const ICorProfilerCallback11Vtbl callbacks = {
    EVERY_SLOT(IGNORED, Self)
    .QueryInterface = query_callback,
    .AddRef = count_callback,
    .Release = count_callback,
    .Initialize = initialize,
    .Shutdown = shut_down,
    .JITCompilationStarted = jit_started,
};
/* clang-format on */
static Self profiler = { &callbacks };

static HRESULT STDMETHODCALLTYPE query_factory(IClassFactory *self, REFIID riid, void **out)
{
    (void)riid;
    *out = self;
    return S_OK;
}

static ULONG STDMETHODCALLTYPE count_factory(IClassFactory *self)
{
    (void)self;
    return 1;
}

static HRESULT STDMETHODCALLTYPE create(IClassFactory *self, IUnknown *outer, REFIID riid, void **out)
{
    (void)self, (void)riid;
    *out = &profiler;
    return outer ? CLASS_E_NOAGGREGATION : S_OK;
}

static HRESULT STDMETHODCALLTYPE lock(IClassFactory *self, BOOL on)
{
    (void)self, (void)on;
    return S_OK;
}

EXPORT HRESULT DllGetClassObject(const CLSID *clsid, REFIID riid, void **out);
EXPORT HRESULT DllGetClassObject(const CLSID *clsid, REFIID riid, void **out)
{
    static const IClassFactoryVtbl table = { query_factory, count_factory, count_factory, create, lock };
    static IClassFactory factory = { &table };
    (void)clsid;
    if (memcmp(riid, &IID_IClassFactory, sizeof(IID)) != 0)
        return E_NOINTERFACE;
    *out = &factory;
    return S_OK;
}
