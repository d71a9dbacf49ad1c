/*
 * The COM of a profiler with one object that is never freed, in plain C: a class factory and slots that do nothing. A
 * profiler is then
 *
 *     #include "com.h"
 *     static HRESULT initialize(ICorProfilerCallback11 *self, IUnknown *given) { ... }
 *     static ICorProfilerCallback11Vtbl table = { COM_SLOTS, .Initialize = initialize };
 *     static ICorProfilerCallback11 profiler = { &table };
 *
 * CALLBACK_VERSION is the highest ICorProfilerCallback that it answers for.
 */
#ifndef COM_H
#define COM_H

#include <snapwalk/corprof.h>

#include <string.h>

#ifndef CALLBACK_VERSION
#define CALLBACK_VERSION 10
#endif

#define EXPORT __attribute__((visibility("default")))

static ICorProfilerCallback11 profiler;

/* ---- the object ---- */

static inline HRESULT STDMETHODCALLTYPE profiler_query(ICorProfilerCallback11 *self, REFIID riid, void **object)
{
    const IID *const known[] = { &IID_IUnknown,
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
                                 &IID_ICorProfilerCallback11 };
    *object = NULL;
    for (unsigned i = 0; i <= CALLBACK_VERSION; i++)
        if (memcmp(riid, known[i], sizeof *riid) == 0)
            *object = self;
    return *object ? S_OK : E_NOINTERFACE;
}

static inline ULONG STDMETHODCALLTYPE profiler_refer(ICorProfilerCallback11 *self)
{
    (void)self;
    return 1;
}

/* A slot that does nothing uses no argument. In a table the later initialiser is meant to win (C11 6.7.9p19). */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Woverride-init"
#define IGNORE(Self, result, name, parameters)                                                                         \
    static inline result STDMETHODCALLTYPE ignore_##name parameters                                                    \
    {                                                                                                                  \
        return S_OK;                                                                                                   \
    }
SW_SLOTS_ICorProfilerCallback11(IGNORE, ICorProfilerCallback11)
#define IGNORED(Self, result, name, parameters) .name = ignore_##name,
#define COM_SLOTS                                                                                                      \
    SW_SLOTS_ICorProfilerCallback11(IGNORED, ICorProfilerCallback11).QueryInterface = profiler_query,                  \
                                             .AddRef = profiler_refer, .Release = profiler_refer

    /* ---- its factory ---- */

    static inline HRESULT STDMETHODCALLTYPE factory_query(IClassFactory *self, REFIID riid, void **object)
{
    const bool known =
        memcmp(riid, &IID_IUnknown, sizeof *riid) == 0 || memcmp(riid, &IID_IClassFactory, sizeof *riid) == 0;
    *object = known ? self : NULL;
    return known ? S_OK : E_NOINTERFACE;
}

static inline ULONG STDMETHODCALLTYPE factory_refer(IClassFactory *self)
{
    (void)self;
    return 1;
}

static inline HRESULT STDMETHODCALLTYPE factory_create(IClassFactory *self, IUnknown *outer, REFIID riid, void **object)
{
    (void)self;
    return outer ? CLASS_E_NOAGGREGATION : profiler_query(&profiler, riid, object);
}

static inline HRESULT STDMETHODCALLTYPE factory_lock(IClassFactory *self, BOOL lock)
{
    (void)self, (void)lock;
    return S_OK;
}

EXPORT HRESULT DllGetClassObject(const CLSID *clsid, REFIID riid, void **object);
EXPORT HRESULT DllGetClassObject(const CLSID *clsid, REFIID riid, void **object)
{
    static IClassFactoryVtbl table = { factory_query, factory_refer, factory_refer, factory_create, factory_lock };
    static IClassFactory factory = { &table };
    (void)clsid; /* any that the user has chosen */
    return factory_query(&factory, riid, object);
}

#endif
