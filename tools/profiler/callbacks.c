/* The COM of a profiler with one object, which lives as long as the process, and the events passed to the library. */
#include "callbacks.h"

#include <string.h>

struct sw_clr *fed;

/* ---- the object ---- */

static const IID *const callback_iids[] = {
    &IID_IUnknown,
    &IID_ICorProfilerCallback,
    &IID_ICorProfilerCallback2,
    &IID_ICorProfilerCallback3,
    &IID_ICorProfilerCallback4,
    &IID_ICorProfilerCallback5,
    &IID_ICorProfilerCallback6,
    &IID_ICorProfilerCallback7,
    &IID_ICorProfilerCallback8,
    &IID_ICorProfilerCallback9,
    &IID_ICorProfilerCallback10,
    &IID_ICorProfilerCallback11,
};

HRESULT STDMETHODCALLTYPE profiler_query(ICorProfilerCallback11 *self, REFIID riid, void **object)
{
    *object = NULL;
    for (size_t i = 0; i < sizeof callback_iids / sizeof callback_iids[0]; i++)
        if (memcmp(riid, callback_iids[i], sizeof *riid) == 0)
            *object = self;
    return *object ? S_OK : E_NOINTERFACE;
}

ULONG STDMETHODCALLTYPE profiler_refer(ICorProfilerCallback11 *self)
{
    (void)self;
    return 1;
}

/* ---- its factory ---- */

static HRESULT STDMETHODCALLTYPE query_factory(IClassFactory *self, REFIID riid, void **object)
{
    const bool known =
        memcmp(riid, &IID_IUnknown, sizeof *riid) == 0 || memcmp(riid, &IID_IClassFactory, sizeof *riid) == 0;
    *object = known ? self : NULL;
    return known ? S_OK : E_NOINTERFACE;
}

static ULONG STDMETHODCALLTYPE refer_to_factory(IClassFactory *self)
{
    (void)self;
    return 1;
}

static HRESULT STDMETHODCALLTYPE create_instance(IClassFactory *self, IUnknown *outer, REFIID riid, void **object)
{
    (void)self;
    return outer ? CLASS_E_NOAGGREGATION : profiler_query(&profiler, riid, object);
}

static HRESULT STDMETHODCALLTYPE lock_server(IClassFactory *self, BOOL lock)
{
    (void)self, (void)lock;
    return S_OK;
}

static IClassFactoryVtbl factory_table = { query_factory, refer_to_factory, refer_to_factory, create_instance,
                                           lock_server };
static IClassFactory factory = { &factory_table };

EXPORT HRESULT DllGetClassObject(const CLSID *clsid, REFIID riid, void **object);
EXPORT HRESULT DllGetClassObject(const CLSID *clsid, REFIID riid, void **object)
{
    (void)clsid; /* any CLSID the user has chosen */
    return query_factory(&factory, riid, object);
}

EXPORT HRESULT DllCanUnloadNow(void);
EXPORT HRESULT DllCanUnloadNow(void)
{
    return S_FALSE;
}

/* ---- events ---- */

HRESULT feed_jit_finished(ICorProfilerCallback11 *self, FunctionID function, HRESULT status, BOOL may_block)
{
    (void)self, (void)may_block;
    if (fed && SUCCEEDED(status))
        sw_clr_function_compiled(fed, function, 0);
    return S_OK;
}

HRESULT feed_cached_found(ICorProfilerCallback11 *self, FunctionID function, COR_PRF_JIT_CACHE result)
{
    (void)self;
    if (fed && result == COR_PRF_CACHED_FUNCTION_FOUND)
        sw_clr_function_compiled(fed, function, 0);
    return S_OK;
}

HRESULT feed_rejit_finished(ICorProfilerCallback11 *self, FunctionID function, ReJITID rejit, HRESULT status,
                            BOOL may_block)
{
    (void)self, (void)may_block;
    if (fed && SUCCEEDED(status))
        sw_clr_function_compiled(fed, function, rejit);
    return S_OK;
}

HRESULT feed_dynamic_finished(ICorProfilerCallback11 *self, FunctionID function, HRESULT status, BOOL may_block)
{
    (void)self, (void)may_block;
    if (fed && SUCCEEDED(status))
        sw_clr_dynamic_compiled(fed, function);
    return S_OK;
}

HRESULT feed_unload_started(ICorProfilerCallback11 *self, FunctionID function)
{
    (void)self;
    if (fed)
        sw_clr_function_unloaded(fed, function);
    return S_OK;
}

HRESULT feed_module_loaded(ICorProfilerCallback11 *self, ModuleID module, HRESULT status)
{
    (void)self;
    if (fed && SUCCEEDED(status))
        sw_clr_module_loaded(fed, module);
    return S_OK;
}

HRESULT feed_module_unloaded(ICorProfilerCallback11 *self, ModuleID module, HRESULT status)
{
    (void)self;
    if (fed && SUCCEEDED(status))
        sw_clr_module_unloaded(fed, module);
    return S_OK;
}

HRESULT feed_thread_created(ICorProfilerCallback11 *self, ThreadID thread)
{
    (void)self;
    if (fed)
        sw_clr_thread_created(fed, thread);
    return S_OK;
}

HRESULT feed_thread_destroyed(ICorProfilerCallback11 *self, ThreadID thread)
{
    (void)self;
    if (fed)
        sw_clr_thread_destroyed(fed, thread);
    return S_OK;
}

HRESULT feed_thread_assigned(ICorProfilerCallback11 *self, ThreadID thread, DWORD os_id)
{
    (void)self;
    if (fed)
        sw_clr_thread_assigned(fed, thread, os_id);
    return S_OK;
}

HRESULT feed_attached(ICorProfilerCallback11 *self)
{
    (void)self;
    if (fed)
        sw_clr_attached(fed);
    return S_OK;
}
