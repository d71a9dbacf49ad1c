/*
 * An engine as a COM object: a table of ICorProfilerInfo15. Its slots call the engine, the code map or the thread
 * table, or return E_NOTIMPL. Knows the contract of the functions beside DoStackSnapshot (clr-contract.md section 8).
 * Refuses to know how stacks are walked, and everything about enumerators (thread_enum.c).
 *
 * One table serves all versions, because the slots of a version are the first slots of the next (corprof-abi.md section
 * 2).
 */
#include <snapwalk/profiler_info.h>

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "common/alloc.h"
#include "snapshot/thread_enum.h"
#include "unwind/request.h"

struct sw_profiler_info {
    ICorProfilerInfo15 com; /* first: the object's address is the interface's */
    struct sw_engine *engine;
    struct sw_alloc alloc;
    DWORD events_high;
    struct sw_scratch *scratches;
    unsigned scratch_count;
    bool owns_scratches;
    atomic_bool in_use[SW_PROFILER_INFO_CALLS];
};
static_assert(offsetof(struct sw_profiler_info, com) == 0, "an interface pointer is the object's address");

static struct sw_profiler_info *object_of(ICorProfilerInfo15 *com)
{
    return (struct sw_profiler_info *)com;
}

static const IID *const served_iids[] = {
    &IID_IUnknown,           &IID_ICorProfilerInfo,   &IID_ICorProfilerInfo2,  &IID_ICorProfilerInfo3,
    &IID_ICorProfilerInfo4,  &IID_ICorProfilerInfo5,  &IID_ICorProfilerInfo6,  &IID_ICorProfilerInfo7,
    &IID_ICorProfilerInfo8,  &IID_ICorProfilerInfo9,  &IID_ICorProfilerInfo10, &IID_ICorProfilerInfo11,
    &IID_ICorProfilerInfo12, &IID_ICorProfilerInfo13, &IID_ICorProfilerInfo14, &IID_ICorProfilerInfo15,
};

static HRESULT STDMETHODCALLTYPE query_interface(ICorProfilerInfo15 *com, REFIID riid, void **out)
{
    if (!out)
        return E_POINTER;
    *out = NULL;
    for (size_t i = 0; riid && i < sizeof(served_iids) / sizeof(served_iids[0]); i++) {
        if (memcmp(riid, served_iids[i], sizeof(IID)) == 0)
            *out = com;
    }
    return *out ? S_OK : E_NOINTERFACE;
}

/* As in the CLR: the runtime's object has no reference count. */
static ULONG STDMETHODCALLTYPE one_reference(ICorProfilerInfo15 *com)
{
    (void)com;
    return 1;
}

/* Working memory that no other call has: its number, or that of none. */
static unsigned take_scratch(struct sw_profiler_info *info)
{
    unsigned i = 0;
    while (i < info->scratch_count && atomic_exchange_explicit(&info->in_use[i], true, memory_order_acquire))
        i++;
    return i;
}

static HRESULT STDMETHODCALLTYPE do_stack_snapshot(ICorProfilerInfo15 *com, ThreadID thread,
                                                   StackSnapshotCallback *callback, ULONG32 info_flags,
                                                   void *client_data, BYTE context[], ULONG32 context_size)
{
    struct sw_profiler_info *info = object_of(com);
    const unsigned n = take_scratch(info);
    if (n == info->scratch_count)
        return CORPROF_E_STACKSNAPSHOT_UNSAFE;
    const HRESULT hr = sw_snapshot(info->engine, &info->scratches[n], thread, callback, info_flags, client_data,
                                   context, context_size);
    atomic_store_explicit(&info->in_use[n], false, memory_order_release);
    return hr;
}

static HRESULT STDMETHODCALLTYPE get_function_from_ip(ICorProfilerInfo15 *com, LPCBYTE ip, FunctionID *function)
{
    return sw_function_from_ip(object_of(com)->engine, (uint64_t)(uintptr_t)ip, function);
}

static HRESULT STDMETHODCALLTYPE get_function_from_ip2(ICorProfilerInfo15 *com, LPCBYTE ip, FunctionID *function,
                                                       ReJITID *rejit)
{
    const HRESULT hr = get_function_from_ip(com, ip, function);
    if (hr == S_OK && rejit)
        *rejit = 0;
    return hr;
}

static bool is_managed(const struct sw_range *range)
{
    return range->kind == SW_KIND_JIT || range->kind == SW_KIND_NGEN;
}

static HRESULT STDMETHODCALLTYPE get_function_from_ip3(ICorProfilerInfo15 *com, LPCBYTE ip, FunctionID *function,
                                                       ReJITID *rejit)
{
    const HRESULT hr = get_function_from_ip2(com, ip, function, rejit);
    const struct sw_walker *walker = object_of(com)->engine->walker;
    struct sw_range range;
    if (hr != E_FAIL)
        return hr;
    const uint64_t plain = sw_code_address(walker, (uint64_t)(uintptr_t)ip);
    if (sw_codemap_find(walker->codemap, plain, &range) != SW_OK || !is_managed(&range))
        return hr;
    if (function)
        *function = (FunctionID)range.id;
    if (rejit)
        *rejit = 0;
    return S_OK;
}

/* The regions of one function: `count`, how many there are, and the first `capacity` of them. */
struct regions {
    uint64_t id;
    COR_PRF_CODE_INFO *infos;
    ULONG32 capacity;
    ULONG32 count;
};

static void add_region(struct regions *regions, const struct sw_range *range, bool in_front)
{
    const ULONG32 at = in_front ? 0 : regions->count;
    regions->count++;
    if (at >= regions->capacity)
        return;
    const ULONG32 after = (regions->count < regions->capacity ? regions->count : regions->capacity) - at - 1;
    memmove(regions->infos + at + 1, regions->infos + at, after * sizeof(*regions->infos));
    regions->infos[at] = (COR_PRF_CODE_INFO){ (UINT_PTR)range->begin, (SIZE_T)(range->end - range->begin) };
}

static bool add_range_of_function(void *arg, const struct sw_range *range)
{
    struct regions *regions = arg;
    if (range->id == regions->id && is_managed(range))
        add_region(regions, range, range->begin == regions->id);
    return true;
}

static HRESULT find_regions(const struct sw_walker *walker, struct regions *regions)
{
    struct sw_range method;
    if (walker->codemap && sw_codemap_each(walker->codemap, add_range_of_function, regions) != SW_OK)
        return E_FAIL;
    /* A ReadyToRun method that was not registered: its id is its address. */
    if (regions->count == 0 && walker->images && sw_images_find_method(walker->images, regions->id, &method) == SW_OK &&
        method.id == regions->id)
        add_region(regions, &method, true);
    return regions->count ? S_OK : CORPROF_E_FUNCTION_NOT_COMPILED;
}

static HRESULT STDMETHODCALLTYPE get_code_info(ICorProfilerInfo15 *com, FunctionID function, LPCBYTE *start,
                                               ULONG *size)
{
    COR_PRF_CODE_INFO first;
    struct regions regions = { .id = function, .infos = &first, .capacity = 1 };
    if (function == 0)
        return E_INVALIDARG;
    const HRESULT hr = find_regions(object_of(com)->engine->walker, &regions);
    if (hr != S_OK)
        return hr;
    if (first.size > UINT32_MAX)
        return E_UNEXPECTED;
    if (start)
        *start = (LPCBYTE)first.startAddress;
    if (size)
        *size = (ULONG)first.size;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE get_code_info2(ICorProfilerInfo15 *com, FunctionID function, ULONG32 capacity,
                                                ULONG32 *count, COR_PRF_CODE_INFO infos[])
{
    struct regions regions = { .id = function, .infos = infos, .capacity = capacity };
    if (function == 0 || (capacity != 0 && !infos))
        return E_INVALIDARG;
    const HRESULT hr = find_regions(object_of(com)->engine->walker, &regions);
    if (hr == S_OK && count)
        *count = regions.count;
    return hr;
}

static HRESULT STDMETHODCALLTYPE get_thread_info(ICorProfilerInfo15 *com, ThreadID id, DWORD *os_id)
{
    struct sw_thread thread;
    if (sw_threads_find(object_of(com)->engine->threads, id, &thread) != SW_OK)
        return E_INVALIDARG;
    if (thread.flags & SW_THREAD_GC_SPECIAL)
        return E_INVALIDARG;
    if (os_id)
        *os_id = (DWORD)thread.os_id;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE get_current_thread_id(ICorProfilerInfo15 *com, ThreadID *id)
{
    const struct sw_engine *engine = object_of(com)->engine;
    const struct sw_suspender *suspender = engine->suspender;
    const uint64_t os_id = suspender && suspender->current ? suspender->current(suspender->arg) : 0;
    struct sw_thread thread;
    if (os_id == 0 || sw_threads_find_os(engine->threads, os_id, &thread) != SW_OK)
        return CORPROF_E_NOT_MANAGED_THREAD;
    if (thread.flags & SW_THREAD_GC_SPECIAL)
        return CORPROF_E_NOT_MANAGED_THREAD;
    if (id)
        *id = (ThreadID)thread.id;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE enum_threads(ICorProfilerInfo15 *com, ICorProfilerThreadEnum **out)
{
    struct sw_profiler_info *info = object_of(com);
    return out ? sw_thread_enum_create(&info->alloc, info->engine->threads, out) : E_INVALIDARG;
}

static HRESULT STDMETHODCALLTYPE get_event_mask2(ICorProfilerInfo15 *com, DWORD *low, DWORD *high)
{
    if (!low || !high)
        return E_INVALIDARG;
    *low = __atomic_load_n(&object_of(com)->engine->event_mask, __ATOMIC_RELAXED);
    *high = __atomic_load_n(&object_of(com)->events_high, __ATOMIC_RELAXED);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE get_event_mask(ICorProfilerInfo15 *com, DWORD *low)
{
    DWORD high;
    return get_event_mask2(com, low, &high);
}

static HRESULT STDMETHODCALLTYPE set_event_mask2(ICorProfilerInfo15 *com, DWORD low, DWORD high)
{
    __atomic_store_n(&object_of(com)->engine->event_mask, low, __ATOMIC_RELAXED);
    __atomic_store_n(&object_of(com)->events_high, high, __ATOMIC_RELAXED);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE set_event_mask(ICorProfilerInfo15 *com, DWORD low)
{
    __atomic_store_n(&object_of(com)->engine->event_mask, low, __ATOMIC_RELAXED);
    return S_OK;
}

/* Every slot after those of IUnknown, of all versions. */
#define EVERY_SLOT(SLOT, Self)                                                                                         \
    SW_OWN_SLOTS_ICorProfilerInfo(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo2(SLOT, Self)                               \
        SW_OWN_SLOTS_ICorProfilerInfo3(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo4(SLOT, Self)                          \
            SW_OWN_SLOTS_ICorProfilerInfo5(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo6(SLOT, Self)                      \
                SW_OWN_SLOTS_ICorProfilerInfo7(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo8(SLOT, Self)                  \
                    SW_OWN_SLOTS_ICorProfilerInfo9(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo10(SLOT, Self)             \
                        SW_OWN_SLOTS_ICorProfilerInfo11(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo12(SLOT, Self)        \
                            SW_OWN_SLOTS_ICorProfilerInfo13(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo14(SLOT, Self)    \
                                SW_OWN_SLOTS_ICorProfilerInfo15(SLOT, Self)

/*
 * A refusal for every slot, with that slot's own signature, which matters where the callee cleans the stack (32-bit
 * Windows). Then the table: refusals for all slots first, then the slots that are implemented.
 */
#if defined __GNUC__ || defined __clang__ /* clang for Microsoft's ABI is no GNU C */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter" /* a refusal uses no argument */
#pragma GCC diagnostic ignored "-Woverride-init"    /* the later initialiser is meant to win (C11 6.7.9p19) */
#endif
#define REFUSE(Self, result, name, parameters)                                                                         \
    static result STDMETHODCALLTYPE refuse_##name parameters                                                           \
    {                                                                                                                  \
        return E_NOTIMPL;                                                                                              \
    }
#define REFUSED(Self, result, name, parameters) .name = refuse_##name,

EVERY_SLOT(REFUSE, ICorProfilerInfo15)

/* clang-format off */
static const ICorProfilerInfo15Vtbl table = {
    EVERY_SLOT(REFUSED, ICorProfilerInfo15)
    .QueryInterface = query_interface,
    .AddRef = one_reference,
    .Release = one_reference,
    .DoStackSnapshot = do_stack_snapshot,
    .GetFunctionFromIP = get_function_from_ip,
    .GetFunctionFromIP2 = get_function_from_ip2,
    .GetFunctionFromIP3 = get_function_from_ip3,
    .GetCodeInfo = get_code_info,
    .GetCodeInfo2 = get_code_info2,
    .GetThreadInfo = get_thread_info,
    .GetCurrentThreadID = get_current_thread_id,
    .EnumThreads = enum_threads,
    .GetEventMask = get_event_mask,
    .SetEventMask = set_event_mask,
    .GetEventMask2 = get_event_mask2,
    .SetEventMask2 = set_event_mask2,
};
/* clang-format on */
#if defined __GNUC__ || defined __clang__
#pragma GCC diagnostic pop
#endif

enum sw_status sw_profiler_info_create(struct sw_engine *engine, struct sw_scratch *scratch,
                                       const struct sw_alloc *alloc, ICorProfilerInfo2 **info)
{
    if (!engine || !engine->walker || !engine->threads || !info || !sw_alloc_usable(alloc))
        return SW_E_ARGUMENT;
    const struct sw_alloc use = sw_alloc_resolve(alloc);
    struct sw_profiler_info *made = use.get(use.arg, sizeof(*made));
    struct sw_scratch *work = scratch;
    if (made && !work)
        work = use.get(use.arg, SW_PROFILER_INFO_CALLS * sizeof(*work));
    if (!work) {
        if (made)
            use.put(use.arg, made, sizeof(*made));
        return SW_E_NO_MEMORY;
    }
    *made = (struct sw_profiler_info){ .com = { &table },
                                       .engine = engine,
                                       .alloc = use,
                                       .scratches = work,
                                       .scratch_count = scratch ? 1 : SW_PROFILER_INFO_CALLS,
                                       .owns_scratches = !scratch };
    *info = (ICorProfilerInfo2 *)made;
    return SW_OK;
}

void sw_profiler_info_destroy(ICorProfilerInfo2 *info)
{
    struct sw_profiler_info *object = (struct sw_profiler_info *)info;
    if (!object)
        return;
    const struct sw_alloc from = object->alloc;
    if (object->owns_scratches)
        from.put(from.arg, object->scratches, SW_PROFILER_INFO_CALLS * sizeof(*object->scratches));
    from.put(from.arg, object, sizeof(*object));
}
