/*
 * Events of modules → images. Knows what of the images has to be read again after which event; refuses to know where
 * images are found (src/target).
 *
 * Source: .NET documentation of ICorProfilerCallback; COR_PRF_MODULE_FLAGS.
 */
#include "clr/internal.h"

#include "code/images.h"

/* What is mapped without a module of its own, and what was unmapped, is noticed so much later at most. */
enum { LATER_NS = 1000000000 };

void sw_clr_refresh_images(struct sw_clr *clr, bool always)
{
    const struct sw_clr_loads now = sw_clr_host_loads(clr->host);
    if (!always && now.loads == clr->loads.loads && now.unloads == clr->loads.unloads)
        return;
    clr->loads = now;
    clr->refresh_from = UINT64_MAX;
    atomic_fetch_add(&clr->refreshes, 1);
    if (sw_images_add_self(clr->images) != SW_OK)
        sw_clr_count_failure(clr);
}

void sw_clr_refresh_late(struct sw_clr *clr)
{
    sw_clr_host_lock(clr->host);
    sw_clr_refresh_images(clr, clr->refresh_from != UINT64_MAX && sw_clr_host_now_ns() >= clr->refresh_from);
    sw_clr_host_unlock(clr->host);
}

/* The rest of the map of memory is read later, once for all that happens until then. */
static void postpone_refresh(struct sw_clr *clr)
{
    const uint64_t then = sw_clr_host_now_ns() + LATER_NS;
    if (clr->refresh_from > then)
        clr->refresh_from = then;
}

static bool get_module(struct sw_clr *clr, ModuleID module, uint64_t *base, DWORD *flags)
{
    ICorProfilerInfo3 *info = clr->info;
    AssemblyID assembly;
    LPCBYTE at = NULL;
    if (info->lpVtbl->GetModuleInfo2(info, module, &at, 0, NULL, NULL, &assembly, flags) != S_OK)
        return false;
    *base = (uint64_t)(uintptr_t)at;
    return true;
}

/* A component's code is in a composite image, which is there by now. */
static bool is_component(struct sw_clr *clr, uint64_t base)
{
    struct sw_section section;
    sw_images_enter(clr->images, &section);
    const struct sw_image_entry *entry = base ? sw_images_entry(clr->images, base) : NULL;
    const bool is_one = entry && !entry->has_clr && entry->clr.is_component;
    sw_images_leave(clr->images, &section);
    return is_one;
}

/*
 * Adds the image of one module. A module without a base has none: its code is emitted. What is not collectible is never
 * unmapped.
 */
static void add_module(struct sw_clr *clr, uint64_t base, DWORD flags)
{
    const bool lasts = (flags & COR_PRF_MODULE_COLLECTIBLE) == 0;
    const enum sw_status status = base ? sw_images_add_mapped(clr->images, base, lasts) : SW_E_NOT_FOUND;
    sw_clr_refresh_images(clr, (status != SW_OK && status != SW_E_NOT_FOUND) || is_component(clr, base));
    if (status == SW_OK)
        postpone_refresh(clr);
}

void sw_clr_module_loaded(struct sw_clr *clr, ModuleID module)
{
    uint64_t base;
    DWORD flags;
    const bool is_known = module != 0 && get_module(clr, module, &base, &flags);
    sw_clr_host_lock(clr->host);
    if (is_known)
        add_module(clr, base, flags);
    else
        sw_clr_refresh_images(clr, true);
    sw_clr_host_unlock(clr->host);
    sw_clr_grow(clr);
}

/* Modules first: what they say of their images saves copies. */
void sw_clr_add_modules(struct sw_clr *clr)
{
    ICorProfilerModuleEnum *modules = NULL;
    ModuleID module;
    ULONG got = 0;
    if (clr->info->lpVtbl->EnumModules(clr->info, &modules) == S_OK) {
        while (modules->lpVtbl->Next(modules, 1, &module, &got) == S_OK && got == 1)
            sw_clr_module_loaded(clr, module);
        modules->lpVtbl->Release(modules);
    }
    sw_clr_module_loaded(clr, 0);
}

/* The runtime unmaps the module when the event is over, or later. */
void sw_clr_module_unloaded(struct sw_clr *clr, ModuleID module)
{
    (void)module;
    sw_clr_host_lock(clr->host);
    sw_clr_refresh_images(clr, false);
    sw_clr_forget_heaps(clr);
    postpone_refresh(clr);
    sw_clr_host_unlock(clr->host);
    atomic_store(&clr->unloaded_at, sw_clr_host_now_ns());
}

enum sw_status sw_clr_native_name(struct sw_clr *clr, uint64_t address, char *name, size_t size, uint64_t *start)
{
    if (!clr)
        return SW_E_ARGUMENT;
    sw_clr_host_lock(clr->host);
    const enum sw_status status = sw_images_name(clr->images, address, name, size, start);
    sw_clr_host_unlock(clr->host);
    return status;
}

/*
 * Precompiled code carries this itself (lib/clr/dispatch.c); recompiled code is recognised by its module and token.
 * There is one module with such methods, the core library, which is never unloaded.
 */
bool sw_clr_dispatches(struct sw_clr *clr, FunctionID function)
{
    ICorProfilerInfo3 *info = clr->info;
    const ModuleID core = atomic_load_explicit(&clr->core, memory_order_relaxed);
    ClassID unwanted;
    ModuleID module;
    mdToken token;
    uint64_t base;
    DWORD flags;
    if (info->lpVtbl->GetFunctionInfo(info, function, &unwanted, &module, &token) != S_OK ||
        (core != 0 && core != module) || !get_module(clr, module, &base, &flags))
        return false;
    struct sw_section section;
    sw_images_enter(clr->images, &section);
    const struct sw_image_entry *entry = sw_images_entry(clr->images, base);
    const bool is_core = entry && sw_clr_image_has_dispatch(&entry->clr);
    const bool answer = is_core && sw_clr_image_dispatches(&entry->clr, token);
    sw_images_leave(clr->images, &section);
    if (is_core)
        atomic_store_explicit(&clr->core, module, memory_order_relaxed);
    return answer;
}
