/*
 * The COM that a profiler needs for its one callback object: a class factory, slots that do nothing, and slots that
 * pass the runtime's events to the library (struct sw_clr). A table is then
 *
 *     EVERY_CALLBACK(IGNORE, ICorProfilerCallback11)
 *     static const ICorProfilerCallback11Vtbl table = { COM_SLOTS EVERY_CALLBACK(IGNORED, ICorProfilerCallback11)
 *                                                       FEED_SLOTS .Initialize = my_initialize };
 */
#ifndef CALLBACKS_H
#define CALLBACKS_H

#include <snapwalk/clr.h>

#define EXPORT __attribute__((visibility("default")))

/* Receives the events of FEED_SLOTS. Null: they are dropped. Set in Initialize. */
extern struct sw_clr *fed;

/* The profiler's object. The file with its table defines it. */
extern ICorProfilerCallback11 profiler;

HRESULT STDMETHODCALLTYPE profiler_query(ICorProfilerCallback11 *self, REFIID riid, void **object);
ULONG STDMETHODCALLTYPE profiler_refer(ICorProfilerCallback11 *self);

/* A slot that does nothing uses no argument. In a table the later initialiser is meant to win (C11 6.7.9p19). */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Woverride-init"

#define EVERY_CALLBACK(SLOT, Self)                                                                                     \
    SW_OWN_SLOTS_ICorProfilerCallback(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback2(SLOT, Self)                       \
        SW_OWN_SLOTS_ICorProfilerCallback3(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback4(SLOT, Self)                  \
            SW_OWN_SLOTS_ICorProfilerCallback5(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback6(SLOT, Self)              \
                SW_OWN_SLOTS_ICorProfilerCallback7(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback8(SLOT, Self)          \
                    SW_OWN_SLOTS_ICorProfilerCallback9(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback10(SLOT, Self)     \
                        SW_OWN_SLOTS_ICorProfilerCallback11(SLOT, Self)

#define IGNORE(Self, result, name, parameters)                                                                         \
    static result STDMETHODCALLTYPE ignore_##name parameters                                                           \
    {                                                                                                                  \
        return S_OK;                                                                                                   \
    }
#define IGNORED(Self, result, name, parameters) .name = ignore_##name,

#define COM_SLOTS .QueryInterface = profiler_query, .AddRef = profiler_refer, .Release = profiler_refer,

HRESULT feed_jit_finished(ICorProfilerCallback11 *self, FunctionID function, HRESULT status, BOOL may_block);
HRESULT feed_cached_found(ICorProfilerCallback11 *self, FunctionID function, COR_PRF_JIT_CACHE result);
HRESULT feed_rejit_finished(ICorProfilerCallback11 *self, FunctionID function, ReJITID rejit, HRESULT status,
                            BOOL may_block);
HRESULT feed_dynamic_finished(ICorProfilerCallback11 *self, FunctionID function, HRESULT status, BOOL may_block);
HRESULT feed_unload_started(ICorProfilerCallback11 *self, FunctionID function);
HRESULT feed_module_loaded(ICorProfilerCallback11 *self, ModuleID module, HRESULT status);
HRESULT feed_module_unloaded(ICorProfilerCallback11 *self, ModuleID module, HRESULT status);
HRESULT feed_thread_created(ICorProfilerCallback11 *self, ThreadID thread);
HRESULT feed_thread_destroyed(ICorProfilerCallback11 *self, ThreadID thread);
HRESULT feed_thread_assigned(ICorProfilerCallback11 *self, ThreadID thread, DWORD os_id);
HRESULT feed_attached(ICorProfilerCallback11 *self);

#define FEED_SLOTS                                                                                                     \
    .JITCompilationFinished = feed_jit_finished, .JITCachedFunctionSearchFinished = feed_cached_found,                 \
    .ReJITCompilationFinished = feed_rejit_finished, .DynamicMethodJITCompilationFinished = feed_dynamic_finished,     \
    .FunctionUnloadStarted = feed_unload_started, .DynamicMethodUnloaded = feed_unload_started,                        \
    .ModuleLoadFinished = feed_module_loaded, .ModuleUnloadFinished = feed_module_unloaded,                            \
    .ThreadCreated = feed_thread_created, .ThreadDestroyed = feed_thread_destroyed,                                    \
    .ThreadAssignedToOSThread = feed_thread_assigned, .ProfilerAttachComplete = feed_attached,

#endif
