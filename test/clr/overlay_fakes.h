/*
 * What stands around the overlay in overlay_faces.c: a vendor's object, a runtime's object and an engine (sw_clr),
 * which write down what they are called for. Included once.
 */
#ifndef SNAPWALK_TEST_OVERLAY_FAKES_H
#define SNAPWALK_TEST_OVERLAY_FAKES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/clr-overlay/overlay.h"

/* ---- what was called, in order ---- */

static char story[1024];

static void tell(const char *format, unsigned long long number)
{
    const size_t used = strlen(story);
    snprintf(story + used, sizeof(story) - used, format, number);
}

#define ASSERT_STORY(text)                                                                                             \
    do {                                                                                                               \
        assert_string_equal(story, text);                                                                              \
        story[0] = '\0';                                                                                               \
    } while (0)

/* ---- the engine ---- */

struct sw_clr {
    int unused;
};

static struct sw_clr the_clr;
static enum sw_status create_status, layout_status;
static uint32_t runtime_bits;
static HRESULT answer[SW_FLAVOUR_COUNT];
static const FunctionID *frames[SW_FLAVOUR_COUNT]; /* up to END; 9 is a hidden one */
static const char *const flavours[] = { "documented %llu, ", "windows %llu, ", "unix %llu, " };
enum { HIDDEN = 9, END = 99 };
enum {
    OURS_LOW = COR_PRF_MONITOR_JIT_COMPILATION | COR_PRF_MONITOR_THREADS | COR_PRF_MONITOR_CACHE_SEARCHES |
               COR_PRF_MONITOR_FUNCTION_UNLOADS | COR_PRF_ENABLE_STACK_SNAPSHOT,
    OURS_HIGH = COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS
};

enum sw_status sw_clr_create(const struct sw_alloc *alloc, IUnknown *info, struct sw_clr **clr)
{
    (void)alloc, (void)info;
    *clr = create_status == SW_OK ? &the_clr : NULL;
    return create_status;
}

void sw_clr_destroy(struct sw_clr *clr)
{
    tell(clr ? "destroyed " : "destroyed null ", 0);
}

void sw_clr_get_counts(const struct sw_clr *clr, struct sw_clr_counts *counts)
{
    assert_ptr_equal(clr, &the_clr);
    *counts = (struct sw_clr_counts){ .layout = layout_status };
}

bool sw_clr_about(const struct sw_clr *clr, char *text, size_t size)
{
    assert_ptr_equal(clr, &the_clr);
    assert_true(size >= SW_CLR_ABOUT_BYTES);
    text[0] = 0;
    return layout_status == SW_OK;
}

void sw_clr_get_events(DWORD *low, DWORD *high)
{
    *low = OURS_LOW;
    *high = OURS_HIGH;
}

#define FED(name, ...)                                                                                                 \
    void sw_clr_##name(struct sw_clr *clr, __VA_ARGS__)                                                                \
    {                                                                                                                  \
        assert_ptr_equal(clr, &the_clr);                                                                               \
        tell("fed " #name " %llu, ", id);                                                                              \
    }
FED(dynamic_compiled, FunctionID id)
FED(function_unloaded, FunctionID id)
FED(module_loaded, ModuleID id)
FED(module_unloaded, ModuleID id)
FED(thread_created, ThreadID id)
FED(thread_destroyed, ThreadID id)

void sw_clr_function_compiled(struct sw_clr *clr, FunctionID function, ReJITID rejit)
{
    assert_ptr_equal(clr, &the_clr);
    tell("fed function_compiled %llu", function);
    tell("/%llu, ", rejit);
}

void sw_clr_thread_assigned(struct sw_clr *clr, ThreadID thread, DWORD os_id)
{
    assert_ptr_equal(clr, &the_clr);
    tell("fed thread_assigned %llu, ", thread * 100 + os_id);
}

void sw_clr_attached(struct sw_clr *clr)
{
    assert_ptr_equal(clr, &the_clr);
    tell("fed attached, ", 0);
}

void sw_clr_set_runtime(struct sw_clr *clr, uint32_t set, uint32_t clear)
{
    assert_ptr_equal(clr, &the_clr);
    runtime_bits = (runtime_bits | set) & ~clear;
}

/* A function is at 16 times its number, 16 bytes long. */
HRESULT sw_clr_function_from_ip(struct sw_clr *clr, enum sw_flavour flavour, uint64_t ip, FunctionID *function)
{
    assert_ptr_equal(clr, &the_clr);
    assert_int_equal(flavour, SW_FLAVOUR_CORECLR_UNIX);
    if (function)
        *function = ip / 16;
    return ip / 16 == HIDDEN ? E_FAIL : S_OK;
}

HRESULT sw_clr_snapshot(struct sw_clr *clr, enum sw_flavour flavour, ThreadID thread, StackSnapshotCallback *callback,
                        ULONG32 info_flags, void *client_data, BYTE context[], ULONG32 context_size)
{
    assert_ptr_equal(clr, &the_clr);
    (void)info_flags, (void)context, (void)context_size;
    tell(flavours[flavour], thread);
    for (const FunctionID *f = frames[flavour]; f && *f != END; f++) {
        /* The second frame was interrupted at its function's first byte, the others called with their last one. */
        const struct sw_frame_info record = { .exact = f == frames[flavour] + 1 };
        const UINT_PTR ip = (*f + !record.exact) * 16;
        const HRESULT hr = callback(*f, ip, (COR_PRF_FRAME_INFO)&record, 0, NULL, client_data);
        if (hr != S_OK)
            return CORPROF_E_STACKSNAPSHOT_ABORTED;
    }
    return answer[flavour];
}

/* ---- the runtime: one object for all versions, without counting ---- */

static ICorProfilerInfo15Vtbl runtime_slots;
static ICorProfilerInfo15 the_runtime = { &runtime_slots };
static DWORD runtime_low, runtime_high;
static HRESULT runtime_answer, mask_answer;

static HRESULT runtime_query(ICorProfilerInfo15 *self, REFIID riid, void **object)
{
    *object = memcmp(riid, &IID_ICorProfilerCallback, sizeof(IID)) == 0 ? NULL : self;
    return *object ? S_OK : E_NOINTERFACE;
}

static ULONG runtime_count(ICorProfilerInfo15 *self)
{
    assert_ptr_equal(self, &the_runtime);
    return 1;
}

static HRESULT runtime_snapshot(ICorProfilerInfo15 *self, ThreadID thread, StackSnapshotCallback *callback,
                                ULONG32 info_flags, void *data, BYTE context[], ULONG32 size)
{
    (void)self, (void)callback, (void)data, (void)context, (void)size;
    tell(info_flags ? "asked, " : "runtime %llu, ", thread);
    return runtime_answer;
}

static HRESULT runtime_function(ICorProfilerInfo15 *self, LPCBYTE ip, FunctionID *function)
{
    (void)self, (void)ip, (void)function;
    tell("runtime's function, ", 0);
    return CORPROF_E_NOT_YET_AVAILABLE;
}

static HRESULT runtime_set_mask(ICorProfilerInfo15 *self, DWORD low, DWORD high)
{
    (void)self;
    if (mask_answer == S_OK) {
        runtime_low = low;
        runtime_high = high;
    }
    return mask_answer;
}

static HRESULT runtime_get_mask(ICorProfilerInfo15 *self, DWORD *low)
{
    (void)self;
    *low = runtime_low;
    return S_OK;
}

static HRESULT runtime_get_mask2(ICorProfilerInfo15 *self, DWORD *low, DWORD *high)
{
    (void)self;
    *low = runtime_low;
    *high = runtime_high;
    return S_OK;
}

static HRESULT runtime_suspend(ICorProfilerInfo15 *self)
{
    (void)self;
    return runtime_answer;
}

static HRESULT runtime_resume(ICorProfilerInfo15 *self)
{
    (void)self;
    assert_int_equal(runtime_bits & SW_RUNTIME_SUSPENDED, 0);
    return runtime_answer;
}

static HRESULT runtime_detach(ICorProfilerInfo15 *self, DWORD milliseconds)
{
    (void)self, (void)milliseconds;
    return runtime_answer;
}

static ICorProfilerInfo15Vtbl runtime_slots = {
    .QueryInterface = runtime_query,
    .AddRef = runtime_count,
    .Release = runtime_count,
    .DoStackSnapshot = runtime_snapshot,
    .GetFunctionFromIP = runtime_function,
    .SetEventMask2 = runtime_set_mask,
    .GetEventMask = runtime_get_mask,
    .GetEventMask2 = runtime_get_mask2,
    .SuspendRuntime = runtime_suspend,
    .ResumeRuntime = runtime_resume,
    .RequestProfilerDetach = runtime_detach,
};

/* ---- the vendor: versions to 8, of which version 2 is at another address ---- */

static ICorProfilerCallback11Vtbl vendor_slots;
static ICorProfilerCallback11 the_vendor = { &vendor_slots };
static ICorProfilerCallback11 vendors_other = { &vendor_slots };
static const IID private_iid = { 77, 0, 0, { 0 } };
static ICorProfilerInfo15 *given;
static HRESULT initialize_answer;
static ULONG vendor_references;

static HRESULT vendor_query(ICorProfilerCallback11 *self, REFIID riid, void **object)
{
    (void)self;
    if (memcmp(riid, &IID_ICorProfilerCallback9, sizeof(IID)) == 0) {
        *object = NULL;
        return E_NOINTERFACE;
    }
    *object = memcmp(riid, &IID_ICorProfilerCallback2, sizeof(IID)) == 0 ? &vendors_other : &the_vendor;
    if (memcmp(riid, &private_iid, sizeof(IID)) == 0)
        *object = story;
    vendor_references++;
    return S_OK;
}

static ULONG vendor_add_ref(ICorProfilerCallback11 *self)
{
    (void)self;
    return ++vendor_references;
}

static ULONG vendor_release(ICorProfilerCallback11 *self)
{
    (void)self;
    return --vendor_references;
}

static HRESULT vendor_initialize(ICorProfilerCallback11 *self, IUnknown *info)
{
    assert_ptr_equal(self, &the_vendor);
    given = (ICorProfilerInfo15 *)info;
    return initialize_answer;
}

static HRESULT vendor_initialize_for_attach(ICorProfilerCallback11 *self, IUnknown *info, void *data, UINT size)
{
    assert_ptr_equal(data, story);
    assert_int_equal(size, 3);
    return vendor_initialize(self, info);
}

#define CALLED(name, ...)                                                                                              \
    static HRESULT vendor_##name(ICorProfilerCallback11 *self, __VA_ARGS__)                                            \
    {                                                                                                                  \
        assert_ptr_equal(self, &the_vendor);                                                                           \
        tell("vendor " #name " %llu, ", id);                                                                           \
        return (HRESULT)0x1234;                                                                                        \
    }
CALLED(ThreadCreated, ThreadID id)
CALLED(ThreadDestroyed, ThreadID id)
CALLED(FunctionUnloadStarted, FunctionID id)
CALLED(DynamicMethodUnloaded, FunctionID id)
#undef CALLED
#define CALLED(name, ...)                                                                                              \
    static HRESULT vendor_##name(ICorProfilerCallback11 *self, __VA_ARGS__)                                            \
    {                                                                                                                  \
        assert_ptr_equal(self, &the_vendor);                                                                           \
        tell("vendor " #name " %llu", id);                                                                             \
        tell("/%llu, ", (unsigned)status);                                                                             \
        return (HRESULT)0x1234;                                                                                        \
    }
CALLED(ThreadAssignedToOSThread, ThreadID id, DWORD status)
CALLED(ModuleLoadFinished, ModuleID id, HRESULT status)
CALLED(ModuleUnloadFinished, ModuleID id, HRESULT status)
CALLED(JITCachedFunctionSearchFinished, FunctionID id, COR_PRF_JIT_CACHE status)

static HRESULT vendor_JITCompilationFinished(ICorProfilerCallback11 *self, FunctionID id, HRESULT status, BOOL safe)
{
    assert_ptr_equal(self, &the_vendor);
    assert_int_equal(safe, 5);
    tell("vendor jitted %llu", id);
    tell("/%llx, ", (unsigned)status);
    return (HRESULT)0x1234;
}

static HRESULT vendor_ReJITCompilationFinished(ICorProfilerCallback11 *self, FunctionID id, ReJITID rejit,
                                               HRESULT status, BOOL safe)
{
    tell("re%llu ", rejit);
    return vendor_JITCompilationFinished(self, id, status, safe);
}

static HRESULT vendor_JITInlining(ICorProfilerCallback11 *self, FunctionID caller, FunctionID callee, BOOL *allow)
{
    (void)self;
    tell("vendor inlining %llu, ", caller * 10 + callee);
    *allow = FALSE;
    return S_OK;
}

static HRESULT vendor_JITCachedFunctionSearchStarted(ICorProfilerCallback11 *self, FunctionID function, BOOL *use)
{
    (void)self;
    tell("vendor search %llu, ", function);
    *use = FALSE;
    return S_OK;
}

static HRESULT vendor_attach_complete(ICorProfilerCallback11 *self)
{
    (void)self;
    tell("vendor attached, ", 0);
    return S_OK;
}

static ICorProfilerCallback11Vtbl vendor_slots = {
    .QueryInterface = vendor_query,
    .AddRef = vendor_add_ref,
    .Release = vendor_release,
    .Initialize = vendor_initialize,
    .InitializeForAttach = vendor_initialize_for_attach,
    .ProfilerAttachComplete = vendor_attach_complete,
    .ThreadCreated = vendor_ThreadCreated,
    .ThreadDestroyed = vendor_ThreadDestroyed,
    .ThreadAssignedToOSThread = vendor_ThreadAssignedToOSThread,
    .FunctionUnloadStarted = vendor_FunctionUnloadStarted,
    .DynamicMethodUnloaded = vendor_DynamicMethodUnloaded,
    .ModuleLoadFinished = vendor_ModuleLoadFinished,
    .ModuleUnloadFinished = vendor_ModuleUnloadFinished,
    .JITCachedFunctionSearchFinished = vendor_JITCachedFunctionSearchFinished,
    .JITCompilationFinished = vendor_JITCompilationFinished,
    .DynamicMethodJITCompilationFinished = vendor_JITCompilationFinished,
    .ReJITCompilationFinished = vendor_ReJITCompilationFinished,
    .JITInlining = vendor_JITInlining,
    .JITCachedFunctionSearchStarted = vendor_JITCachedFunctionSearchStarted,
};

/* The vendor's class factory. */
static HRESULT factory_create(IClassFactory *self, IUnknown *outer, REFIID riid, void **object)
{
    (void)self, (void)outer;
    return vendor_query(NULL, riid, object);
}

static ULONG factory_release(IClassFactory *self)
{
    (void)self;
    tell("factory released, ", 0);
    return 0;
}

static const IClassFactoryVtbl factory_slots = { .Release = factory_release, .CreateInstance = factory_create };
static IClassFactory the_factory = { &factory_slots };

/* ---- set-up ---- */

static ICorProfilerCallback11 *callback;

static ICorProfilerCallback11 *make(REFIID riid)
{
    IClassFactory *factory = NULL;
    void *object = NULL;
    assert_int_equal(sw_overlay_factory_create(&the_factory, &factory), S_OK);
    assert_int_equal(factory->lpVtbl->CreateInstance(factory, NULL, riid, &object), S_OK);
    assert_int_equal(factory->lpVtbl->Release(factory), 0);
    ASSERT_STORY("factory released, ");
    return object;
}

static struct sw_overlay *overlay_of(const void *face)
{
    return ((const struct sw_overlay_face *)face)->overlay;
}

static int create(void **state)
{
    (void)state;
    story[0] = '\0';
    create_status = layout_status = SW_OK;
    vendor_references = 0;
    runtime_bits = runtime_low = runtime_high = 0;
    runtime_answer = E_INVALIDARG;
    mask_answer = initialize_answer = S_OK;
    memset(answer, 0, sizeof(answer));
    memset(frames, 0, sizeof(frames));
    given = NULL;
    callback = make(&IID_ICorProfilerCallback3);
    return 0;
}

/* An overlay stays for good; a test's need not. */
static int destroy(void **state)
{
    (void)state;
    struct sw_overlay *overlay = overlay_of(callback);
    while (overlay->faces) {
        struct sw_overlay_face *next = overlay->faces->next;
        free(overlay->faces);
        overlay->faces = next;
    }
    sw_overlay_destroy(overlay);
    return 0;
}

static void start(DWORD low, DWORD high)
{
    assert_int_equal(callback->lpVtbl->Initialize(callback, (IUnknown *)&the_runtime), S_OK);
    assert_int_equal(given->lpVtbl->SetEventMask2(given, low, high), S_OK);
}

#endif
