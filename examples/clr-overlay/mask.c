/*
 * Event masks: the runtime is asked for the vendor's events and for those of the library; the vendor sees only its own
 * mask. Knows which callbacks each flag causes. Refuses to know what callbacks do.
 *
 * Source: COR_PRF_MONITOR and COR_PRF_HIGH_MONITOR, public documentation; dotnet/runtime vm/prestub.cpp and
 * vm/proftoeeinterfaceimpl.cpp (the callbacks of ReJIT and dynamic methods depend on MONITOR_JIT_COMPILATION;
 * SetEventMask clears the high half).
 */
#include "overlay.h"

#define SLOT(name) ((unsigned char)(offsetof(ICorProfilerCallback11Vtbl, name) / sizeof(void *)))

/* A callback, and the flags that ask for it: any one of them is enough. */
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

/* The vendor does not get a callback that the library's flags ask for and none of its own does. */
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

/* Asks for the library's events. A runtime refuses some of them to a profiler that was attached. */
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
 * SetEventMask2 as the vendor calls it. While the runtime changes its mask, the events of both masks pass. On failure
 * nothing has changed.
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

/* Removes the flags that only the library asked for from a mask of the runtime. */
void sw_overlay_mask_own(const struct sw_overlay_mask *mask, DWORD *low, DWORD *high)
{
    *low &= ~(mask->added_low & ~mask->vendor_low);
    *high &= ~(mask->added_high & ~mask->vendor_high);
}
