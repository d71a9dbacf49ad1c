/*
 * Events of the CLR → code map and images. Knows which calls of ICorProfilerInfo supply what an event omits; refuses to
 * know walks. One thread at a time changes map and images; events of other threads wait.
 *
 * Source: corprof-abi.md section 7; clr-contract.md section 8; .NET documentation of ICorProfilerCallback.
 */
#include "clr/internal.h"

#include "code/images.h"

#include <link.h>
#include <string.h>
#include <time.h>

enum { VERSIONS_MAX = 64, REGIONS_MAX = 64, OVERLAPS_MAX = 64 };

void sw_clr_get_events(DWORD *low, DWORD *high)
{
    *low = COR_PRF_MONITOR_JIT_COMPILATION | COR_PRF_MONITOR_CACHE_SEARCHES | COR_PRF_MONITOR_MODULE_LOADS |
           COR_PRF_MONITOR_FUNCTION_UNLOADS | COR_PRF_MONITOR_THREADS | COR_PRF_ENABLE_STACK_SNAPSHOT;
    *high = COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS;
}

static void count_failure(struct sw_clr *clr)
{
    atomic_fetch_add(&clr->failures, 1);
}

/* ---- images ---- */

struct loads {
    uint64_t adds;
    uint64_t subs;
};

/* The counters are the same for every object, so the first one is enough. */
static int first_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct loads *loads = arg;
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        *loads = (struct loads){ info->dlpi_adds, info->dlpi_subs };
    return 1;
}

void sw_clr_refresh_images(struct sw_clr *clr, bool always)
{
    struct loads now = { 0, 0 };
    dl_iterate_phdr(first_object, &now);
    if (!always && now.adds == clr->loads && now.subs == clr->unloads)
        return;
    clr->loads = now.adds;
    clr->unloads = now.subs;
    atomic_fetch_add(&clr->refreshes, 1);
    if (sw_images_add_self(clr->images) != SW_OK)
        count_failure(clr);
}

void sw_clr_module_loaded(struct sw_clr *clr, ModuleID module)
{
    (void)module; /* the memory map has more than the event */
    pthread_mutex_lock(&clr->lock);
    sw_clr_refresh_images(clr, true);
    pthread_mutex_unlock(&clr->lock);
}

/* ---- code ---- */

static void remove_range(struct sw_clr *clr, uint64_t begin)
{
    if (sw_codemap_remove(clr->codemap, begin) != SW_OK)
        count_failure(clr);
}

static void remove_around(struct sw_clr *clr, uint64_t address)
{
    struct sw_range old;
    if (sw_codemap_find(clr->codemap, address, &old) == SW_OK)
        remove_range(clr, old.begin);
}

/* Removes overlapping ranges: code that was freed without an event, and whose addresses are used again. */
static void make_room(struct sw_clr *clr, const struct sw_range *range)
{
    for (uint64_t at = range->begin; at < range->end; at += 16)
        remove_around(clr, at);
    remove_around(clr, range->end - 1);
}

static void add_range(struct sw_clr *clr, const struct sw_range *range)
{
    struct sw_range there;
    enum sw_status status = sw_codemap_add(clr->codemap, range);
    if (status == SW_E_OVERLAP && sw_codemap_find(clr->codemap, range->begin, &there) == SW_OK &&
        memcmp(&there, range, sizeof there) == 0)
        return;
    if (status == SW_E_OVERLAP) {
        make_room(clr, range);
        status = sw_codemap_add(clr->codemap, range);
    }
    if (status != SW_OK)
        count_failure(clr);
}

/*
 * Whether a method belongs to the managed half of exception dispatch, which the CLR hides. Precompiled code carries
 * this itself (lib/clr/image.c); recompiled code is recognised by its module and token.
 */
static bool dispatches(struct sw_clr *clr, FunctionID function)
{
    ICorProfilerInfo3 *info = clr->info;
    ClassID unwanted;
    ModuleID module;
    AssemblyID assembly;
    mdToken token;
    LPCBYTE base;
    if (info->lpVtbl->GetFunctionInfo(info, function, &unwanted, &module, &token) != S_OK ||
        info->lpVtbl->GetModuleInfo(info, module, &base, 0, NULL, NULL, &assembly) != S_OK)
        return false;
    struct sw_section section;
    sw_images_enter(clr->images, &section);
    const struct sw_image_entry *entry = sw_images_entry(clr->images, (uint64_t)(uintptr_t)base);
    const bool answer = entry && entry->has_clr && sw_clr_image_dispatches(&entry->clr, token);
    sw_images_leave(clr->images, &section);
    return answer;
}

/* Adds one region of code of a method or dynamic method. */
static void add_code(struct sw_clr *clr, FunctionID function, const COR_PRF_CODE_INFO *code, uint16_t flags)
{
    struct sw_image image;
    struct sw_range known;
    struct sw_range range = { .begin = code->startAddress,
                              .end = code->startAddress + code->size,
                              .id = function,
                              .kind = SW_KIND_JIT,
                              .unwind = SW_UNWIND_CLR_HEADER,
                              .flags = flags };
    if (sw_images_find(clr->images, range.begin, &image) == SW_OK) {
        range.kind = SW_KIND_NGEN;
        range.unwind = SW_UNWIND_AUTO;
    } else if (sw_clr_find(clr, range.begin, &known)) {
        range.image = known.image;
    }
    add_range(clr, &range);
}

static ULONG32 least(ULONG32 a, ULONG32 b)
{
    return a < b ? a : b;
}

/*
 * Every region of every version of a function, as the runtime reports them. The runtime may block this request until a
 * suspension of its threads is over, and some events come on threads for which a suspension waits. So no request is
 * made with the lock held.
 */
struct regions {
    COR_PRF_CODE_INFO at[REGIONS_MAX];
    ULONG32 count;
};

static void count_regions(struct regions *regions, HRESULT hr, ULONG32 count)
{
    const ULONG32 left = REGIONS_MAX - regions->count;
    if (hr == S_OK)
        regions->count += least(count, left);
}

/* False: the runtime does not know them yet, or any more. */
static bool get_regions(struct sw_clr *clr, FunctionID function, ReJITID rejit, struct regions *regions)
{
    UINT_PTR starts[VERSIONS_MAX];
    ULONG32 versions = 0, count = 0;
    HRESULT hr;
    regions->count = 0;
    if (!clr->info9) {
        hr = clr->info->lpVtbl->GetCodeInfo2(clr->info, function, REGIONS_MAX, &count, regions->at);
        count_regions(regions, hr, count);
        return hr == S_OK;
    }
    hr = clr->info9->lpVtbl->GetNativeCodeStartAddresses(clr->info9, function, rejit, VERSIONS_MAX, &versions, starts);
    if (hr != S_OK)
        return false;
    for (ULONG32 v = 0; v < least(versions, VERSIONS_MAX) && regions->count < REGIONS_MAX; v++) {
        hr = clr->info9->lpVtbl->GetCodeInfo4(clr->info9, starts[v], REGIONS_MAX - regions->count, &count,
                                              regions->at + regions->count);
        count_regions(regions, hr, count);
    }
    return versions != 0;
}

static void add_regions(struct sw_clr *clr, FunctionID function, const struct regions *regions, uint16_t flags)
{
    for (ULONG32 i = 0; i < regions->count; i++)
        add_code(clr, function, &regions->at[i], flags);
}

/*
 * A precompiled method is announced before its code is assigned to it. Until the next event retries, a walk that meets
 * the code asks the runtime for it.
 */
static void postpone(struct sw_clr *clr, FunctionID function)
{
    if (clr->pending_count < SW_CLR_PENDING)
        clr->pending[clr->pending_count++] = function;
}

/* Requests the postponed methods again. Those that are still unknown are postponed again, unless the list was full. */
static void retry_pending(struct sw_clr *clr)
{
    FunctionID pending[SW_CLR_PENDING];
    struct regions regions;
    pthread_mutex_lock(&clr->lock);
    const unsigned count = clr->pending_count;
    memcpy(pending, clr->pending, count * sizeof pending[0]);
    clr->pending_count = 0;
    pthread_mutex_unlock(&clr->lock);
    for (unsigned i = 0; i < count; i++) {
        const bool known = get_regions(clr, pending[i], 0, &regions);
        pthread_mutex_lock(&clr->lock);
        if (known)
            add_regions(clr, pending[i], &regions, 0);
        else if (count < SW_CLR_PENDING)
            postpone(clr, pending[i]);
        pthread_mutex_unlock(&clr->lock);
    }
}

static void compiled(struct sw_clr *clr, FunctionID function, ReJITID rejit, uint16_t flags)
{
    struct regions regions;
    if (flags == 0 && dispatches(clr, function))
        flags = SW_RANGE_EH_DISPATCH;
    const bool known = get_regions(clr, function, rejit, &regions);
    retry_pending(clr);
    pthread_mutex_lock(&clr->lock);
    sw_clr_refresh_images(clr, false);
    add_regions(clr, function, &regions, flags);
    if (!known)
        postpone(clr, function);
    pthread_mutex_unlock(&clr->lock);
}

void sw_clr_function_compiled(struct sw_clr *clr, FunctionID function, ReJITID rejit)
{
    compiled(clr, function, rejit, 0);
}

void sw_clr_dynamic_compiled(struct sw_clr *clr, FunctionID function)
{
    compiled(clr, function, 0, SW_RANGE_HIDDEN);
}

static void remove_code(struct sw_clr *clr, FunctionID function, const COR_PRF_CODE_INFO *code)
{
    struct sw_range range;
    if (sw_codemap_find(clr->codemap, code->startAddress, &range) == SW_OK && range.id == function)
        remove_range(clr, range.begin);
}

/* Ranges of a function that the runtime no longer reports are searched for in the map. */
struct stale_ranges {
    FunctionID function;
    uint64_t begins[OVERLAPS_MAX];
    unsigned count;
};

static bool note_stale(void *arg, const struct sw_range *range)
{
    struct stale_ranges *stale = arg;
    if (range->id == stale->function)
        stale->begins[stale->count++] = range->begin;
    return stale->count < OVERLAPS_MAX;
}

static void remove_stale(struct sw_clr *clr, FunctionID function)
{
    struct stale_ranges stale;
    do {
        stale = (struct stale_ranges){ .function = function };
        if (sw_codemap_each(clr->codemap, note_stale, &stale) != SW_OK)
            count_failure(clr);
        for (unsigned i = 0; i < stale.count; i++)
            remove_range(clr, stale.begins[i]);
    } while (stale.count == OVERLAPS_MAX);
}

void sw_clr_function_unloaded(struct sw_clr *clr, FunctionID function)
{
    struct regions regions;
    const bool known = get_regions(clr, function, 0, &regions);
    pthread_mutex_lock(&clr->lock);
    for (ULONG32 i = 0; i < regions.count; i++)
        remove_code(clr, function, &regions.at[i]);
    if (!known)
        remove_stale(clr, function);
    pthread_mutex_unlock(&clr->lock);
}

/*
 * Collectible code is freed with its module, some time later and without an event for each method. So from time to time
 * every such range is looked up in the runtime's own map. At most a twentieth of the time is spent on that.
 */
struct sweep {
    struct sw_clr *clr;
    uint64_t freed[OVERLAPS_MAX];
    unsigned count;
};

static bool note_freed(void *arg, const struct sw_range *range)
{
    struct sweep *sweep = arg;
    struct sw_range there;
    if (range->kind == SW_KIND_JIT && range->image != 0 &&
        (!sw_clr_find(sweep->clr, range->begin, &there) || there.begin != range->begin || there.id != range->id))
        sweep->freed[sweep->count++] = range->begin;
    return sweep->count < OVERLAPS_MAX;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sweep_code(struct sw_clr *clr)
{
    enum { SPARE_FACTOR = 20, LATER_NS = 100000000 };
    const uint64_t begun = now_ns();
    struct sweep sweep;
    if (clr->layout_status != SW_OK || begun < clr->sweep_from)
        return;
    do {
        sweep = (struct sweep){ .clr = clr };
        if (sw_codemap_each(clr->codemap, note_freed, &sweep) != SW_OK)
            count_failure(clr);
        for (unsigned i = 0; i < sweep.count; i++)
            remove_range(clr, sweep.freed[i]);
    } while (sweep.count == OVERLAPS_MAX);
    const uint64_t now = now_ns();
    clr->sweep_from = now + (now - begun) * SPARE_FACTOR + LATER_NS;
}

void sw_clr_module_unloaded(struct sw_clr *clr, ModuleID module)
{
    (void)module;
    pthread_mutex_lock(&clr->lock);
    sw_clr_refresh_images(clr, true);
    sweep_code(clr);
    pthread_mutex_unlock(&clr->lock);
}

void sw_clr_refresh(struct sw_clr *clr)
{
    retry_pending(clr);
    pthread_mutex_lock(&clr->lock);
    sw_clr_refresh_images(clr, false);
    sweep_code(clr);
    pthread_mutex_unlock(&clr->lock);
}

/* ---- attach ---- */

static void add_all_functions(struct sw_clr *clr)
{
    ICorProfilerFunctionEnum *functions = NULL;
    COR_PRF_FUNCTION one;
    ULONG got = 0;
    if (clr->info->lpVtbl->EnumJITedFunctions(clr->info, &functions) != S_OK) {
        count_failure(clr);
        return;
    }
    while (functions->lpVtbl->Next(functions, 1, &one, &got) == S_OK && got == 1)
        compiled(clr, one.functionId, one.reJitId, 0);
    functions->lpVtbl->Release(functions);
}

void sw_clr_attached(struct sw_clr *clr)
{
    sw_clr_module_loaded(clr, 0);
    add_all_functions(clr);
    sw_clr_add_threads(clr);
}
