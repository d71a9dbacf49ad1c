/*
 * The profiler itself: which events are occasions to compare, and the functions that the workload calls. Knows the
 * environment:
 *
 *   CLRTEST_MODE   compare (default), sample, cost, idle, events (what the library takes for each), empty (asks for the
 *                  same events and does nothing)
 *   CLRTEST_EVENTS more than the plain ones: alloc (ObjectAllocated), rejit (methods are compiled again), suspends
 *                  (RuntimeThreadSuspended), transitions (no precompiled code is used then)
 *   CLRTEST_HZ     signals a second, thread and sampling mode
 *   CLRTEST_OUT    where the report goes
 */
#include "probe.h"
#include "../../../tools/profiler/callbacks.h"

#include <snapwalk/context.h>
#include <snapwalk/self.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MANY = 3000, APART = 29, SUSPENSIONS_MS = 20, REFRESH_MS = 5 };

ICorProfilerInfo10 *info;
static enum { COMPARE, SAMPLE, COST, IDLE, EVENT_TIMES, EMPTY } mode;
static bool rejits;

static bool mode_is(const char *name)
{
    const char *given = getenv("CLRTEST_MODE");
    return given && strcmp(given, name) == 0;
}

/* All at first, later one of many: an exception in a deep recursion is an occasion for each of its frames. */
static void compare_when_asked(enum occasion occasion)
{
    static _Atomic uint64_t asked[OCCASIONS];
    if (mode == COMPARE) {
        const uint64_t n = atomic_fetch_add(&asked[occasion], 1);
        if (n < MANY || n % APART == 0)
            compare_here(occasion);
    }
}

/* ---- life ---- */

typedef ICorProfilerCallback11 Self;

static bool asked_for(const char *what)
{
    const char *more = getenv("CLRTEST_EVENTS");
    return more && strstr(more, what);
}

static DWORD events(void)
{
    DWORD low, high;
    sw_clr_get_events(&low, &high);
    if (rejits)
        low |= COR_PRF_ENABLE_REJIT;
    if (mode != COMPARE)
        return low;
    low |= COR_PRF_MONITOR_EXCEPTIONS | COR_PRF_MONITOR_CLASS_LOADS;
    if (asked_for("transitions"))
        low |= COR_PRF_MONITOR_CODE_TRANSITIONS;
    if (asked_for("suspends"))
        low |= COR_PRF_MONITOR_SUSPENDS;
    if (asked_for("alloc"))
        low |= COR_PRF_MONITOR_OBJECT_ALLOCATED | COR_PRF_ENABLE_OBJECT_ALLOCATED;
    return low;
}

/* Libraries are loaded without an event. */
static void *refresh_again_and_again(void *arg)
{
    const struct timespec pause = { 0, REFRESH_MS * 1000000L };
    (void)arg;
    for (;; nanosleep(&pause, NULL)) {
        sw_clr_refresh(fed);
        if (rejits)
            request_rejit();
    }
    return NULL;
}

static ICorProfilerCallback11Vtbl table; /* below */

static void choose_mode(void)
{
    static const char *const names[] = { "compare", "sample", "cost", "idle", "events", "empty" };
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (mode_is(names[i]))
            mode = i;
}

static HRESULT STDMETHODCALLTYPE initialize(Self *self, IUnknown *given)
{
    DWORD low, high;
    void *found = NULL;
    (void)self;
    choose_mode();
    rejits = asked_for("rejit");
    open_report();
    if (!prepare_system())
        return E_FAIL;
    if (given->lpVtbl->QueryInterface(given, &IID_ICorProfilerInfo10, &found) != S_OK)
        return E_FAIL;
    info = found;
    sw_clr_get_events(&low, &high);
    if (info->lpVtbl->SetEventMask2(info, events(), high) != S_OK)
        return E_FAIL;
    if (mode == EMPTY)
        return S_OK;
    if (sw_clr_create(NULL, given, &fed) != SW_OK)
        return E_FAIL;
    if (mode == EVENT_TIMES)
        time_events(&table);
    pthread_t refresher;
    if (pthread_create(&refresher, NULL, refresh_again_and_again, NULL) != 0)
        return E_FAIL;
    if (mode == SAMPLE)
        start_sampling(getenv("CLRTEST_HZ") ? (unsigned)atoi(getenv("CLRTEST_HZ")) : 1000);
    if (mode == COMPARE)
        start_suspender(SUSPENSIONS_MS);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE shutdown(Self *self)
{
    struct sw_clr_counts counts;
    (void)self;
    if (!fed)
        return S_OK;
    stop_suspender();
    sw_clr_get_counts(fed, &counts);
    fprintf(report, "  %llu ranges, %llu threads, %llu refreshes of images, %llu failures, layout %s\n",
            (unsigned long long)counts.functions, (unsigned long long)counts.threads, (unsigned long long)counts.images,
            (unsigned long long)counts.failures, counts.layout == SW_OK ? "known" : "not known");
    if (mode == EVENT_TIMES)
        print_event_times();
    else
        check_finder();
    if (rejits)
        print_rejits();
    if (mode == COMPARE)
        print_counts();
    if (mode == SAMPLE)
        print_samples();
    print_system();
    return S_OK;
}

/* ---- occasions ---- */

/* A slot that compares, and one that feeds the engine, too. */
#define OCCASION(slot, parameters, occasion)                                                                           \
    static HRESULT STDMETHODCALLTYPE slot parameters                                                                   \
    {                                                                                                                  \
        (void)self;                                                                                                    \
        compare_when_asked(occasion);                                                                                  \
        return S_OK;                                                                                                   \
    }

OCCASION(jit_started, (Self * self, FunctionID function, BOOL may_block), AT_JIT_STARTED)
OCCASION(dynamic_started, (Self * self, FunctionID function, BOOL may_block, LPCBYTE header, ULONG size),
         AT_JIT_STARTED)
OCCASION(search_started, (Self * self, FunctionID function, BOOL *use), AT_CACHE_SEARCH)
OCCASION(class_load_started, (Self * self, ClassID class_id), AT_CLASS_LOAD)
OCCASION(class_load_finished, (Self * self, ClassID class_id, HRESULT status), AT_CLASS_LOAD)
OCCASION(module_load_started, (Self * self, ModuleID module), AT_MODULE_LOAD)
OCCASION(managed_to_unmanaged, (Self * self, FunctionID function, COR_PRF_TRANSITION_REASON why), AT_TRANSITION)
OCCASION(unmanaged_to_managed, (Self * self, FunctionID function, COR_PRF_TRANSITION_REASON why), AT_TRANSITION)
OCCASION(thread_suspended, (Self * self, ThreadID thread), AT_THREAD_SUSPENDED)
OCCASION(thread_resumed, (Self * self, ThreadID thread), AT_THREAD_RESUMED)
OCCASION(thrown, (Self * self, ObjectID object), AT_EXCEPTION_THROWN)
OCCASION(search_function_enter, (Self * self, FunctionID function), AT_SEARCH_FUNCTION)
OCCASION(search_function_leave, (Self * self), AT_SEARCH_FUNCTION)
OCCASION(search_filter_enter, (Self * self, FunctionID function), AT_SEARCH_FILTER)
OCCASION(search_filter_leave, (Self * self), AT_SEARCH_FILTER)
OCCASION(search_catcher_found, (Self * self, FunctionID function), AT_SEARCH_CATCHER)
OCCASION(unwind_function_enter, (Self * self, FunctionID function), AT_UNWIND_FUNCTION)
OCCASION(unwind_function_leave, (Self * self), AT_UNWIND_FUNCTION)
OCCASION(unwind_finally_enter, (Self * self, FunctionID function), AT_UNWIND_FINALLY)
OCCASION(unwind_finally_leave, (Self * self), AT_UNWIND_FINALLY)
OCCASION(catcher_enter, (Self * self, FunctionID function, ObjectID object), AT_CATCHER)
OCCASION(catcher_leave, (Self * self), AT_CATCHER)

static HRESULT STDMETHODCALLTYPE jit_finished(Self *self, FunctionID function, HRESULT status, BOOL may_block)
{
    const HRESULT hr = feed_jit_finished(self, function, status, may_block);
    if (rejits)
        note_candidate(function);
    compare_when_asked(AT_JIT_FINISHED);
    return hr;
}

static HRESULT STDMETHODCALLTYPE rejit_finished(Self *self, FunctionID function, ReJITID rejit, HRESULT status,
                                                BOOL may_block)
{
    const HRESULT hr = feed_rejit_finished(self, function, rejit, status, may_block);
    count_rejit();
    compare_when_asked(AT_JIT_FINISHED);
    return hr;
}

static HRESULT STDMETHODCALLTYPE allocated(Self *self, ObjectID object, ClassID class_id)
{
    (void)self, (void)object, (void)class_id;
    compare_when_asked(AT_ALLOCATION);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE thread_created(Self *self, ThreadID thread)
{
    const HRESULT hr = feed_thread_created(self, thread);
    compare_when_asked(AT_THREAD_EVENT);
    return hr;
}

static HRESULT STDMETHODCALLTYPE thread_assigned(Self *self, ThreadID thread, DWORD os_id)
{
    const HRESULT hr = feed_thread_assigned(self, thread, os_id);
    if (mode == SAMPLE)
        sample_this_thread();
    return hr;
}

static HRESULT STDMETHODCALLTYPE thread_destroyed(Self *self, ThreadID thread)
{
    if (mode == SAMPLE)
        forget_this_thread();
    return feed_thread_destroyed(self, thread);
}

EVERY_CALLBACK(IGNORE_SLOT, ICorProfilerCallback11)

static ICorProfilerCallback11Vtbl table = {
    EVERY_CALLBACK(IGNORED_SLOT, ICorProfilerCallback11) COM_SLOTS FEED_SLOTS.Initialize = initialize,
    .Shutdown = shutdown,
    .JITCompilationStarted = jit_started,
    .JITCompilationFinished = jit_finished,
    .ReJITCompilationFinished = rejit_finished,
    .DynamicMethodJITCompilationStarted = dynamic_started,
    .JITCachedFunctionSearchStarted = search_started,
    .ClassLoadStarted = class_load_started,
    .ClassLoadFinished = class_load_finished,
    .ModuleLoadStarted = module_load_started,
    .ManagedToUnmanagedTransition = managed_to_unmanaged,
    .UnmanagedToManagedTransition = unmanaged_to_managed,
    .RuntimeThreadSuspended = thread_suspended,
    .RuntimeThreadResumed = thread_resumed,
    .ExceptionThrown = thrown,
    .ExceptionSearchFunctionEnter = search_function_enter,
    .ExceptionSearchFunctionLeave = search_function_leave,
    .ExceptionSearchFilterEnter = search_filter_enter,
    .ExceptionSearchFilterLeave = search_filter_leave,
    .ExceptionSearchCatcherFound = search_catcher_found,
    .ExceptionUnwindFunctionEnter = unwind_function_enter,
    .ExceptionUnwindFunctionLeave = unwind_function_leave,
    .ExceptionUnwindFinallyEnter = unwind_finally_enter,
    .ExceptionUnwindFinallyLeave = unwind_finally_leave,
    .ExceptionCatcherEnter = catcher_enter,
    .ExceptionCatcherLeave = catcher_leave,
    .ObjectAllocated = allocated,
    .ThreadCreated = thread_created,
    .ThreadAssignedToOSThread = thread_assigned,
    .ThreadDestroyed = thread_destroyed,
};
ICorProfilerCallback11 profiler = { &table };

/* ---- what the workload calls ---- */

EXPORT void clrtest_here(int tag);
EXPORT int clrtest_errno(int tag);
EXPORT int clrtest_marshal(const char *text, int tag);
EXPORT void clrtest_here_cooperative(int tag);
EXPORT int clrtest_call(int (*f)(int), int argument);
EXPORT int clrtest_on_native_thread(int (*f)(int), int argument);

void clrtest_here(int tag)
{
    static atomic_flag refused = ATOMIC_FLAG_INIT;
    (void)tag;
    if (mode == COMPARE && !atomic_flag_test_and_set(&refused))
        compare_refusals();
    compare_when_asked(AT_PINVOKE);
    if (mode == SAMPLE)
        check_last_sample();
    if (mode == COST)
        measure_cost();
}

int clrtest_errno(int tag)
{
    clrtest_here(tag);
    return tag;
}

int clrtest_marshal(const char *text, int tag)
{
    (void)text;
    clrtest_here(tag);
    return tag;
}

/* The thread is in cooperative mode here, so the CLR looks at the seed. */
void clrtest_here_cooperative(int tag)
{
    BYTE seed[SW_CONTEXT_MAX_BYTES];
    struct sw_regs here;
    (void)tag;
    if (mode != COMPARE)
        return;
    compare_here(AT_COOPERATIVE);
    sw_self_capture(&here);
    if (sw_clr_find_seed(fed, &here, seed, sizeof seed) != SW_OK)
        return;
    compare(AT_COOPERATIVE_SEEDED, 0, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, seed, sizeof seed);
    compare(AT_COOPERATIVE_SEEDED, 0, COR_PRF_SNAPSHOT_DEFAULT, seed, sizeof seed);
}

int clrtest_call(int (*f)(int), int argument)
{
    return f(argument);
}

struct call {
    int (*function)(int);
    int value;
};

static void *run(void *arg)
{
    struct call *call = arg;
    compare_when_asked(AT_NATIVE_THREAD);
    call->value = call->function(call->value);
    compare_when_asked(AT_NATIVE_THREAD);
    return NULL;
}

int clrtest_on_native_thread(int (*f)(int), int argument)
{
    struct call call = { f, argument };
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, &call) != 0)
        return -1;
    pthread_join(thread, NULL);
    return call.value;
}
