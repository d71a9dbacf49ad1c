/*
 * Callbacks: which the profiler has (by its version), which it wants (by its event mask), and what is written down of
 * them. Knows no runtime: who raises a callback decides when.
 *
 * Source: corprof-abi.md sections 5 and 7.2; the documentation of COR_PRF_MONITOR and COR_PRF_HIGH_MONITOR.
 */
#include "stage.h"

#include <string.h>

/* One row for each callback that needs an event flag; the others are always raised. */
static const struct {
    size_t first, last; /* slots */
    DWORD low, high;    /* either is enough */
} wanted[] = {
    /* clang-format off */
    { SW_CB(AppDomainCreationStarted),          SW_CB(AppDomainShutdownFinished),         COR_PRF_MONITOR_APPDOMAIN_LOADS,  0 },
    { SW_CB(AssemblyLoadStarted),               SW_CB(AssemblyUnloadFinished),            COR_PRF_MONITOR_ASSEMBLY_LOADS,   0 },
    { SW_CB(ModuleLoadStarted),                 SW_CB(ModuleAttachedToAssembly),          COR_PRF_MONITOR_MODULE_LOADS,     0 },
    { SW_CB(ClassLoadStarted),                  SW_CB(ClassUnloadFinished),               COR_PRF_MONITOR_CLASS_LOADS,      0 },
    { SW_CB(FunctionUnloadStarted),             SW_CB(FunctionUnloadStarted),             COR_PRF_MONITOR_FUNCTION_UNLOADS, 0 },
    { SW_CB(JITCompilationStarted),             SW_CB(JITCompilationFinished),            COR_PRF_MONITOR_JIT_COMPILATION,  0 },
    { SW_CB(JITCachedFunctionSearchStarted),    SW_CB(JITCachedFunctionSearchFinished),   COR_PRF_MONITOR_CACHE_SEARCHES,   0 },
    { SW_CB(JITFunctionPitched),                SW_CB(JITInlining),                       COR_PRF_MONITOR_JIT_COMPILATION,  0 },
    { SW_CB(ThreadCreated),                     SW_CB(ThreadAssignedToOSThread),          COR_PRF_MONITOR_THREADS,          0 },
    { SW_CB(UnmanagedToManagedTransition),      SW_CB(ManagedToUnmanagedTransition),      COR_PRF_MONITOR_CODE_TRANSITIONS, 0 },
    { SW_CB(RuntimeSuspendStarted),             SW_CB(RuntimeThreadResumed),              COR_PRF_MONITOR_SUSPENDS,         0 },
    { SW_CB(MovedReferences),                   SW_CB(MovedReferences),                   COR_PRF_MONITOR_GC,
      COR_PRF_HIGH_MONITOR_GC_MOVED_OBJECTS },
    { SW_CB(ObjectAllocated),                   SW_CB(ObjectAllocated),                   COR_PRF_MONITOR_OBJECT_ALLOCATED, 0 },
    { SW_CB(ObjectsAllocatedByClass),           SW_CB(RootReferences),                    COR_PRF_MONITOR_GC,               0 },
    { SW_CB(ExceptionThrown),                   SW_CB(ExceptionCatcherLeave),             COR_PRF_MONITOR_EXCEPTIONS,       0 },
    { SW_CB(ExceptionCLRCatcherFound),          SW_CB(ExceptionCLRCatcherExecute),        COR_PRF_MONITOR_CLR_EXCEPTIONS,   0 },
    { SW_CB(ThreadNameChanged),                 SW_CB(ThreadNameChanged),                 COR_PRF_MONITOR_THREADS,          0 },
    { SW_CB(GarbageCollectionStarted),          SW_CB(GarbageCollectionStarted),          COR_PRF_MONITOR_GC,
      COR_PRF_HIGH_BASIC_GC },
    { SW_CB(SurvivingReferences),               SW_CB(SurvivingReferences),               COR_PRF_MONITOR_GC,
      COR_PRF_HIGH_MONITOR_GC_MOVED_OBJECTS },
    { SW_CB(GarbageCollectionFinished),         SW_CB(GarbageCollectionFinished),         COR_PRF_MONITOR_GC,
      COR_PRF_HIGH_BASIC_GC },
    { SW_CB(FinalizeableObjectQueued),          SW_CB(HandleDestroyed),                   COR_PRF_MONITOR_GC,               0 },
    { SW_CB(ReJITCompilationStarted),           SW_CB(ReJITError),                        COR_PRF_ENABLE_REJIT,             0 },
    { SW_CB(MovedReferences2),                  SW_CB(SurvivingReferences2),              COR_PRF_MONITOR_GC,
      COR_PRF_HIGH_MONITOR_GC_MOVED_OBJECTS },
    { SW_CB(ConditionalWeakTableElementReferences), SW_CB(ConditionalWeakTableElementReferences), COR_PRF_MONITOR_GC,       0 },
    { SW_CB(GetAssemblyReferences),             SW_CB(GetAssemblyReferences),             0,
      COR_PRF_HIGH_ADD_ASSEMBLY_REFERENCES },
    { SW_CB(ModuleInMemorySymbolsUpdated),      SW_CB(ModuleInMemorySymbolsUpdated),      0,
      COR_PRF_HIGH_IN_MEMORY_SYMBOLS_UPDATED },
    { SW_CB(DynamicMethodJITCompilationStarted), SW_CB(DynamicMethodJITCompilationFinished), COR_PRF_MONITOR_JIT_COMPILATION, 0 },
    { SW_CB(DynamicMethodUnloaded),             SW_CB(DynamicMethodUnloaded),             0,
      COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS },
    { SW_CB(EventPipeEventDelivered),           SW_CB(EventPipeProviderCreated),          0,
      COR_PRF_HIGH_MONITOR_EVENT_PIPE },
    /* clang-format on */
};

/* In these the runtime's threads stand, or the heap is not whole: what may trigger a GC is forbidden. */
static const struct {
    size_t first, last;
} without_gc[] = {
    { SW_CB(RuntimeSuspendFinished), SW_CB(RuntimeResumeStarted) },
    { SW_CB(RuntimeThreadSuspended), SW_CB(MovedReferences) },
    { SW_CB(ObjectsAllocatedByClass), SW_CB(RootReferences) },
    { SW_CB(GarbageCollectionStarted), SW_CB(HandleDestroyed) },
    { SW_CB(MovedReferences2), SW_CB(ConditionalWeakTableElementReferences) },
};

/* How many slots each version's table has. */
static const struct {
    unsigned version;
    size_t slots;
} lengths[] = { { 2, 80 }, { 3, 83 }, { 4, 89 }, { 5, 90 },  { 6, 91 },
                { 7, 92 }, { 8, 94 }, { 9, 95 }, { 10, 97 }, { 11, 98 } };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Callbacks nest: one may make the profiler call what raises the next. */
enum { NESTED_MAX = 16 };
static _Thread_local struct {
    size_t slots[NESTED_MAX];
    uint64_t masks[NESTED_MAX]; /* of signals, before */
    unsigned depth;
} inside;

#define NAME(Self, result, name, parameters) #name,
static const char *const names[] = { SW_SLOTS_ICorProfilerCallback11(NAME, ICorProfilerCallback11) };
_Static_assert(COUNT(names) == SW_TUBE_CALLBACK_SLOTS, "a name for each callback");

const char *sw_tube_callback_name(size_t slot)
{
    return slot < COUNT(names) ? names[slot] : "?";
}

size_t sw_tube_in_callback(void)
{
    return inside.depth == 0 || inside.depth > NESTED_MAX ? 0 : inside.slots[inside.depth - 1];
}

bool sw_tube_forbids_gc(size_t slot)
{
    for (size_t i = 0; i < COUNT(without_gc); i++)
        if (slot >= without_gc[i].first && slot <= without_gc[i].last)
            return true;
    return false;
}

static bool is_wanted(const struct sw_tube *tube, size_t slot)
{
    for (size_t i = 0; i < COUNT(wanted); i++)
        if (slot >= wanted[i].first && slot <= wanted[i].last)
            return (atomic_load(&tube->mask_low) & wanted[i].low) != 0 ||
                   (atomic_load(&tube->mask_high) & wanted[i].high) != 0;
    return true;
}

static bool is_known(const struct sw_tube *tube, size_t slot)
{
    for (size_t i = 0; i < COUNT(lengths); i++)
        if (lengths[i].version == tube->profiler_version)
            return slot < lengths[i].slots;
    return false;
}

bool sw_tube_raise_begin(struct sw_tube *tube, size_t slot, UINT_PTR id)
{
    if (!atomic_load(&tube->engaged) || atomic_load(&tube->shut_down) || !is_known(tube, slot) ||
        !is_wanted(tube, slot))
        return false;
    atomic_fetch_add(&tube->raised[slot], 1);
    if (inside.depth < NESTED_MAX) {
        inside.slots[inside.depth] = slot;
        inside.masks[inside.depth] = sw_tube_signal_mask();
    }
    inside.depth++;
    if (sw_tube_playing)
        atomic_fetch_add(&sw_tube_playing->callbacks, 1);
    sw_tube_entered(tube, "callback", names[slot]);
    sw_tube_record_begin(tube, "callback", names[slot]);
    if (id != 0)
        sw_tube_record_id(tube, "id", id);
    sw_tube_record_end(tube);
    return true;
}

void sw_tube_raise_end(struct sw_tube *tube, size_t slot, HRESULT hr)
{
    inside.depth--;
    if (sw_tube_playing)
        atomic_fetch_sub(&sw_tube_playing->callbacks, 1);
    if (inside.depth < NESTED_MAX)
        sw_tube_check_mask(tube, names[slot], inside.masks[inside.depth]);
    if (hr == S_OK)
        return;
    sw_tube_record_begin(tube, "returned", names[slot]);
    sw_tube_record_hr(tube, hr);
    sw_tube_record_end(tube);
}

size_t sw_tube_raised(const struct sw_tube *tube, const char *callback)
{
    for (size_t i = 0; tube && callback && i < COUNT(names); i++)
        if (strcmp(names[i], callback) == 0)
            return atomic_load(&tube->raised[i]);
    return 0;
}
