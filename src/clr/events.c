/*
 * Events of methods → code map. Knows which calls of ICorProfilerInfo supply what an event omits; refuses to
 * know walks. One thread at a time changes map and images; events of other threads wait.
 *
 * Source: corprof-abi.md section 7; clr-contract.md section 8; .NET documentation of ICorProfilerCallback.
 */
#include "clr/internal.h"

#include <string.h>

enum { VERSIONS_MAX = 64, REGIONS_MAX = 64, STALE_MAX = 64 };

void sw_clr_get_events(DWORD *low, DWORD *high)
{
    *low = COR_PRF_MONITOR_JIT_COMPILATION | COR_PRF_MONITOR_CACHE_SEARCHES | COR_PRF_MONITOR_MODULE_LOADS |
           COR_PRF_MONITOR_FUNCTION_UNLOADS | COR_PRF_MONITOR_THREADS | COR_PRF_ENABLE_STACK_SNAPSHOT;
    *high = COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS;
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

/* Of what has one version only: a dynamic method, or any in an old runtime. */
static bool get_only_version(struct sw_clr *clr, FunctionID function, struct regions *regions)
{
    ULONG32 count = 0;
    regions->count = 0;
    const HRESULT hr = clr->info->lpVtbl->GetCodeInfo2(clr->info, function, REGIONS_MAX, &count, regions->at);
    count_regions(regions, hr, count);
    return hr == S_OK;
}

/* False: the runtime does not know them yet, or any more. */
static bool get_regions(struct sw_clr *clr, FunctionID function, ReJITID rejit, struct regions *regions)
{
    UINT_PTR starts[VERSIONS_MAX];
    ULONG32 versions = 0, count = 0;
    HRESULT hr;
    if (!clr->info9)
        return get_only_version(clr, function, regions);
    regions->count = 0;
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

/* What is to be known of a method's code that the code does not say. */
static uint16_t flags_of(struct sw_clr *clr, FunctionID function)
{
    return sw_clr_dispatches(clr, function) ? SW_RANGE_EH_DISPATCH : 0;
}

static void add_regions(struct sw_clr *clr, FunctionID function, const struct regions *regions, uint16_t flags)
{
    for (ULONG32 i = 0; i < regions->count; i++)
        sw_clr_add_code(clr, function, &regions->at[i], flags);
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
void sw_clr_retry_pending(struct sw_clr *clr)
{
    FunctionID pending[SW_CLR_PENDING];
    struct regions regions;
    if (atomic_load(&clr->pending_count) == 0)
        return;
    sw_clr_host_lock(clr->host);
    const unsigned count = clr->pending_count;
    memcpy(pending, clr->pending, count * sizeof pending[0]);
    clr->pending_count = 0;
    sw_clr_host_unlock(clr->host);
    for (unsigned i = 0; i < count; i++) {
        const bool known = get_regions(clr, pending[i], 0, &regions);
        const uint16_t flags = known ? flags_of(clr, pending[i]) : 0;
        sw_clr_host_lock(clr->host);
        if (known)
            add_regions(clr, pending[i], &regions, flags);
        else if (count < SW_CLR_PENDING)
            postpone(clr, pending[i]);
        sw_clr_host_unlock(clr->host);
    }
}

static void add_function(struct sw_clr *clr, FunctionID function, const struct regions *regions, bool known,
                         uint16_t flags)
{
    sw_clr_host_lock(clr->host);
    sw_clr_confirm_layout(clr);
    add_regions(clr, function, regions, flags);
    if (!known)
        postpone(clr, function);
    sw_clr_host_unlock(clr->host);
}

void sw_clr_function_compiled(struct sw_clr *clr, FunctionID function, ReJITID rejit)
{
    struct regions regions;
    const uint16_t flags = flags_of(clr, function);
    const bool known = get_regions(clr, function, rejit, &regions);
    if (rejit != 0)
        atomic_store(&clr->recompiles, true);
    sw_clr_retry_pending(clr);
    add_function(clr, function, &regions, known, flags);
}

/*
 * Where dynamic methods are that were compiled lately: most of them do not live long, and the runtime takes longer to
 * tell it than all the rest of an unloading. By the id's lowest bits; what has been replaced is asked for.
 */
static struct sw_clr_dynamic *dynamic_of(struct sw_clr *clr, FunctionID function)
{
    return &clr->dynamics[function / sizeof(uint64_t) % SW_CLR_DYNAMICS];
}

static void note_dynamic(struct sw_clr *clr, FunctionID function, const struct regions *regions)
{
    const bool is_one = regions->count == 1;
    sw_clr_host_lock(clr->host);
    *dynamic_of(clr, function) =
        (struct sw_clr_dynamic){ is_one ? function : 0, is_one ? regions->at[0].startAddress : 0 };
    sw_clr_host_unlock(clr->host);
}

/* False: not known. */
static bool unload_dynamic(struct sw_clr *clr, FunctionID function)
{
    sw_clr_host_lock(clr->host);
    struct sw_clr_dynamic *dynamic = dynamic_of(clr, function);
    const bool is_known = dynamic->function == function && function != 0;
    if (is_known) {
        sw_clr_remove_code(clr, function, &(COR_PRF_CODE_INFO){ dynamic->begin, 0 });
        *dynamic = (struct sw_clr_dynamic){ 0 };
    }
    sw_clr_host_unlock(clr->host);
    return is_known;
}

/* A precompiled method that is waited for is not asked for: a dynamic one says nothing of it. */
void sw_clr_dynamic_compiled(struct sw_clr *clr, FunctionID function)
{
    struct regions regions;
    const bool known = get_only_version(clr, function, &regions);
    add_function(clr, function, &regions, known, SW_RANGE_HIDDEN);
    note_dynamic(clr, function, &regions);
}

/* Ranges of a function that the runtime no longer reports are searched for in the map. */
struct stale_ranges {
    FunctionID function;
    uint64_t begins[STALE_MAX];
    unsigned count;
};

static bool note_stale(void *arg, const struct sw_range *range)
{
    struct stale_ranges *stale = arg;
    if (range->id == stale->function)
        stale->begins[stale->count++] = range->begin;
    return stale->count < STALE_MAX;
}

static void remove_stale(struct sw_clr *clr, FunctionID function)
{
    struct stale_ranges stale;
    do {
        stale = (struct stale_ranges){ .function = function };
        if (sw_codemap_each(clr->codemap, note_stale, &stale) != SW_OK)
            sw_clr_count_failure(clr);
        for (unsigned i = 0; i < stale.count; i++)
            sw_clr_remove_range(clr, stale.begins[i]);
    } while (stale.count == STALE_MAX);
}

static void remove_regions(struct sw_clr *clr, FunctionID function, const struct regions *regions)
{
    for (ULONG32 i = 0; i < regions->count; i++)
        sw_clr_remove_code(clr, function, &regions->at[i]);
}

/* What was compiled again on request is reported by the number of the request only. */
static void remove_recompiled(struct sw_clr *clr, FunctionID function)
{
    ReJITID ids[VERSIONS_MAX];
    struct regions regions;
    ULONG count = 0;
    if (!clr->info9 || !atomic_load(&clr->recompiles) ||
        clr->info9->lpVtbl->GetReJITIDs(clr->info9, function, VERSIONS_MAX, &count, ids) != S_OK)
        return;
    for (ULONG i = 0; i < count && i < VERSIONS_MAX; i++) {
        (void)get_regions(clr, function, ids[i], &regions);
        sw_clr_host_lock(clr->host);
        remove_regions(clr, function, &regions);
        sw_clr_host_unlock(clr->host);
    }
}

void sw_clr_function_unloaded(struct sw_clr *clr, FunctionID function)
{
    struct regions regions;
    if (unload_dynamic(clr, function))
        return;
    const bool known = get_regions(clr, function, 0, &regions);
    remove_recompiled(clr, function);
    sw_clr_host_lock(clr->host);
    remove_regions(clr, function, &regions);
    if (!known)
        remove_stale(clr, function);
    sw_clr_host_unlock(clr->host);
}

void sw_clr_refresh(struct sw_clr *clr)
{
    sw_clr_retry_pending(clr);
    sw_clr_refresh_late(clr);
    sw_clr_sweep(clr);
    sw_clr_grow(clr);
}

/* ---- attach ---- */

static void add_all_functions(struct sw_clr *clr)
{
    ICorProfilerFunctionEnum *functions = NULL;
    COR_PRF_FUNCTION one;
    ULONG got = 0;
    if (clr->info->lpVtbl->EnumJITedFunctions(clr->info, &functions) != S_OK) {
        sw_clr_count_failure(clr);
        return;
    }
    while (functions->lpVtbl->Next(functions, 1, &one, &got) == S_OK && got == 1)
        sw_clr_function_compiled(clr, one.functionId, one.reJitId);
    functions->lpVtbl->Release(functions);
}

void sw_clr_attached(struct sw_clr *clr)
{
    sw_clr_add_modules(clr);
    add_all_functions(clr);
    sw_clr_add_threads(clr);
}
