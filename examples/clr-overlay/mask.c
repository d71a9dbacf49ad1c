/*
 * Event masks: the runtime is asked for what the vendor wants and what the engine needs, the vendor sees its own half.
 * Knows which callbacks each flag brings about; refuses to know what callbacks do.
 *
 * Source: COR_PRF_MONITOR and COR_PRF_HIGH_MONITOR, public documentation; that ReJIT's and dynamic methods' callbacks
 * hang on MONITOR_JIT_COMPILATION, and that SetEventMask clears the high half: dotnet/runtime vm/prestub.cpp,
 * vm/proftoeeinterfaceimpl.cpp.
 */
#include "overlay.h"

#define SLOT(name) ((unsigned char)(offsetof(ICorProfilerCallback11Vtbl, name) / sizeof(void *)))

/* A callback, and the flags of which any one asks for it. */
static const struct {
    unsigned char slot;
    DWORD low, high;
} events[] = {
    { SLOT(FunctionUnloadStarted), COR_PRF_MONITOR_FUNCTION_UNLOADS, 0 },
    { SLOT(ModuleLoadStarted), COR_PRF_MONITOR_MODULE_LOADS, 0 },
    { SLOT(ModuleLoadFinished), COR_PRF_MONITOR_MODULE_LOADS, 0 },
    { SLOT(ModuleUnloadStarted), COR_PRF_MONITOR_MODULE_LOADS, 0 },
    { SLOT(ModuleUnloadFinished), COR_PRF_MONITOR_MODULE_LOADS, 0 },
    { SLOT(ModuleAttachedToAssembly), COR_PRF_MONITOR_MODULE_LOADS, 0 },
    { SLOT(JITCompilationStarted), COR_PRF_MONITOR_JIT_COMPILATION, 0 },
    { SLOT(JITCompilationFinished), COR_PRF_MONITOR_JIT_COMPILATION, 0 },
    { SLOT(JITFunctionPitched), COR_PRF_MONITOR_JIT_COMPILATION, 0 },
    { SLOT(JITInlining), COR_PRF_MONITOR_JIT_COMPILATION, 0 },
    { SLOT(ReJITCompilationStarted), COR_PRF_MONITOR_JIT_COMPILATION, 0 },
    { SLOT(ReJITCompilationFinished), COR_PRF_MONITOR_JIT_COMPILATION, 0 },
    { SLOT(DynamicMethodJITCompilationStarted), COR_PRF_MONITOR_JIT_COMPILATION, 0 },
    { SLOT(DynamicMethodJITCompilationFinished), COR_PRF_MONITOR_JIT_COMPILATION, 0 },
    { SLOT(DynamicMethodUnloaded), 0, COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS },
    { SLOT(JITCachedFunctionSearchStarted), COR_PRF_MONITOR_CACHE_SEARCHES, 0 },
    { SLOT(JITCachedFunctionSearchFinished), COR_PRF_MONITOR_CACHE_SEARCHES, 0 },
    { SLOT(ThreadCreated), COR_PRF_MONITOR_THREADS, 0 },
    { SLOT(ThreadDestroyed), COR_PRF_MONITOR_THREADS, 0 },
    { SLOT(ThreadAssignedToOSThread), COR_PRF_MONITOR_THREADS, 0 },
    { SLOT(ThreadNameChanged), COR_PRF_MONITOR_THREADS, 0 },
};

/* A callback is kept from the vendor when the engine's flags ask for it and none of the vendor's does. */
static void skip_for(struct sw_overlay_mask *mask, DWORD low, DWORD high)
{
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        const bool added = (events[i].low & mask->added_low) != 0 || (events[i].high & mask->added_high) != 0;
        const bool wanted = (events[i].low & low) != 0 || (events[i].high & high) != 0;
        atomic_store_explicit(&mask->skip[events[i].slot], added && !wanted, memory_order_relaxed);
    }
}

void sw_overlay_mask_init(struct sw_overlay_mask *mask)
{
    pthread_mutex_init(&mask->lock, NULL);
}

/* Asks for the engine's events. A runtime refuses some of them to a profiler that was attached. */
void sw_overlay_mask_begin(struct sw_overlay *overlay, bool attached)
{
    struct sw_overlay_mask *mask = &overlay->mask;
    sw_clr_get_events(&mask->added_low, &mask->added_high);
    if (attached) {
        mask->added_low &= (DWORD)COR_PRF_ALLOWABLE_AFTER_ATTACH;
        mask->added_high &= (DWORD)COR_PRF_HIGH_ALLOWABLE_AFTER_ATTACH;
    }
    (void)sw_overlay_mask_set(overlay, 0, 0);
}

/*
 * SetEventMask2 as the vendor calls it. While the runtime changes over, what either mask asks for goes through. On
 * failure all is as it was.
 */
HRESULT sw_overlay_mask_set(struct sw_overlay *overlay, DWORD low, DWORD high)
{
    struct sw_overlay_mask *mask = &overlay->mask;
    ICorProfilerInfo5 *info = overlay->info;
    pthread_mutex_lock(&mask->lock);
    const DWORD old_low = mask->vendor_low;
    const DWORD old_high = mask->vendor_high;
    skip_for(mask, low | old_low, high | old_high);
    const HRESULT hr = info->lpVtbl->SetEventMask2(info, low | mask->added_low, high | mask->added_high);
    mask->vendor_low = SUCCEEDED(hr) ? low : old_low;
    mask->vendor_high = SUCCEEDED(hr) ? high : old_high;
    skip_for(mask, mask->vendor_low, mask->vendor_high);
    pthread_mutex_unlock(&mask->lock);
    return hr;
}

/* Takes out of a mask that the runtime gave what only the engine asked for. */
void sw_overlay_mask_own(const struct sw_overlay_mask *mask, DWORD *low, DWORD *high)
{
    *low &= ~(mask->added_low & ~mask->vendor_low);
    *high &= ~(mask->added_high & ~mask->vendor_high);
}
