/*
 * snapwalk-profiler: a sampling profiler for .NET on Linux. docs/profiler.md says how it is used.
 *
 *     CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER={846F5F1C-F9AE-4B07-969E-05C26BC060D8} \
 *     CORECLR_PROFILER_PATH=.../libsnapwalk-profiler.so dotnet program.dll
 *
 * This file is its events. An attach to a process that has it already brings a command for the running one, as a
 * profiler that is only notified; it is refused with the answer, so that nothing of it stays (diagnostics-ipc.md 4.11).
 */
#include "callbacks.h"
#include "collect.h"
#include "events.h"
#include "life.h"
#include "options.h"
#include "threads.h"
#include "wide.h"

#include <snapwalk/self.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Of a failure, by a customer, with our own facility; then enum life_answer. */
static const HRESULT answers = (HRESULT)0xa0530000;

enum { COMMAND_MAX = 4096 };

/* ---- life ---- */

static HRESULT STDMETHODCALLTYPE initialize(ICorProfilerCallback11 *self, IUnknown *info)
{
    (void)self;
    return life_start(info);
}

static bool is_main(void)
{
    Dl_info about;
    return dladdr(&profiler, &about) && options_main_profiler(about.dli_fname) == MAIN_OWN;
}

/* Nothing is changed in the program: so there may be a main profiler beside this one, such as that of an APM. */
static HRESULT STDMETHODCALLTYPE only_notified(ICorProfilerCallback11 *self, BOOL *only)
{
    (void)self;
    *only = life_is_on() || !is_main();
    return S_OK;
}

/* The length is whatever the client claims (diagnostics-ipc.md 4.3): a NUL ends it, too. */
static HRESULT STDMETHODCALLTYPE initialize_for_attach(ICorProfilerCallback11 *self, IUnknown *info, void *data,
                                                       UINT size)
{
    const char *text = data ? data : "";
    const size_t length = strnlen(text, data ? size < COMMAND_MAX ? size : COMMAND_MAX : 0);
    enum life_answer answer;
    (void)self;
    if (life_is_on())
        return answers | (HRESULT)life_command(text, length);
    const HRESULT hr = life_attach(info, text, length, &answer);
    return answer == LIFE_DONE ? hr : answers | (HRESULT)answer;
}

static HRESULT STDMETHODCALLTYPE attach_complete(ICorProfilerCallback11 *self)
{
    (void)self;
    life_attached();
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE detach_succeeded(ICorProfilerCallback11 *self)
{
    (void)self;
    life_detached();
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE shutdown(ICorProfilerCallback11 *self)
{
    (void)self;
    life_end();
    return S_OK;
}

/* ---- threads ---- */

static DWORD number_of(ThreadID thread)
{
    DWORD tid = 0;
    ICorProfilerInfo12 *info = life_info();
    return info->lpVtbl->GetThreadInfo(info, thread, &tid) == S_OK ? tid : 0;
}

/* Names of threads that were named before they began; the oldest make room. */
static struct early {
    ThreadID thread;
    char name[THREAD_NAME];
} early[64];
static size_t early_next;
static pthread_mutex_t early_lock = PTHREAD_MUTEX_INITIALIZER;

static struct early *find_early(ThreadID thread)
{
    for (size_t i = 0; i < sizeof early / sizeof early[0]; i++)
        if (early[i].thread == thread)
            return &early[i];
    return NULL;
}

static void keep_early(ThreadID thread, const char *name)
{
    pthread_mutex_lock(&early_lock);
    struct early *slot = find_early(thread);
    if (!slot)
        slot = &early[early_next++ % (sizeof early / sizeof early[0])];
    slot->thread = thread;
    snprintf(slot->name, sizeof slot->name, "%s", name);
    pthread_mutex_unlock(&early_lock);
}

static void use_early(ThreadID thread, pid_t tid)
{
    pthread_mutex_lock(&early_lock);
    struct early *slot = find_early(thread);
    if (slot) {
        slot->thread = 0;
        threads_name(tid, slot->name);
    }
    pthread_mutex_unlock(&early_lock);
}

/* Threads end whatever happens to the profiler. */
static struct sw_clr_signal_stacks signal_stacks;

static HRESULT STDMETHODCALLTYPE thread_assigned(ICorProfilerCallback11 *self, ThreadID thread, DWORD tid)
{
    if (!life_is_on()) /* in a child of fork, too */
        return S_OK;
    if (tid == threads_self())
        (void)sw_clr_lend_signal_stack(&signal_stacks);
    threads_begin((pid_t)tid);
    use_early(thread, (pid_t)tid);
    return feed_thread_assigned(self, thread, tid);
}

static HRESULT STDMETHODCALLTYPE thread_destroyed(ICorProfilerCallback11 *self, ThreadID thread)
{
    const DWORD tid = life_is_on() ? number_of(thread) : 0;
    if (tid)
        threads_end((pid_t)tid);
    return feed_thread_destroyed(self, thread);
}

static HRESULT STDMETHODCALLTYPE thread_named(ICorProfilerCallback11 *self, ThreadID thread, ULONG units, WCHAR name[])
{
    char text[THREAD_NAME];
    if (!life_is_on())
        return S_OK;
    const DWORD tid = number_of(thread);
    (void)self;
    wide_to_text(name, name ? units : 0, text, sizeof text);
    if (tid && text[0])
        threads_name((pid_t)tid, text);
    else if (text[0])
        keep_early(thread, text);
    return S_OK;
}

/* ---- code ---- */

static HRESULT STDMETHODCALLTYPE cached_found(ICorProfilerCallback11 *self, FunctionID function,
                                              COR_PRF_JIT_CACHE result)
{
    const HRESULT hr = feed_cached_found(self, function, result);
    if (life_is_on())
        life_searched();
    return hr;
}

static HRESULT STDMETHODCALLTYPE unload_started(ICorProfilerCallback11 *self, FunctionID function)
{
    if (life_is_on())
        collect_unload(function);
    return feed_unload_started(self, function);
}

static HRESULT STDMETHODCALLTYPE module_unload_started(ICorProfilerCallback11 *self, ModuleID module)
{
    (void)self, (void)module;
    if (life_is_on())
        collect_unload(0);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE event_delivered(ICorProfilerCallback11 *self, EVENTPIPE_PROVIDER provider, DWORD id,
                                                 DWORD version, ULONG metadata_size, LPCBYTE metadata, ULONG size,
                                                 LPCBYTE data, LPCGUID activity, LPCGUID related, ThreadID thread,
                                                 ULONG frames, UINT_PTR stack[])
{
    (void)self, (void)provider, (void)version, (void)metadata_size, (void)metadata, (void)activity, (void)related,
        (void)thread, (void)frames, (void)stack;
    events_delivered(id, data, size);
    return S_OK;
}

EVERY_CALLBACK(IGNORE_SLOT, ICorProfilerCallback11)

static ICorProfilerCallback11Vtbl table = {
    EVERY_CALLBACK(IGNORED_SLOT, ICorProfilerCallback11) COM_SLOTS FEED_SLOTS.Initialize = initialize,
    .InitializeForAttach = initialize_for_attach,
    .ProfilerAttachComplete = attach_complete,
    .ProfilerDetachSucceeded = detach_succeeded,
    .LoadAsNotificationOnly = only_notified,
    .Shutdown = shutdown,
    .ThreadAssignedToOSThread = thread_assigned,
    .ThreadDestroyed = thread_destroyed,
    .ThreadNameChanged = thread_named,
    .JITCachedFunctionSearchFinished = cached_found,
    .FunctionUnloadStarted = unload_started,
    .DynamicMethodUnloaded = unload_started,
    .ModuleUnloadStarted = module_unload_started,
    .EventPipeEventDelivered = event_delivered,
};
ICorProfilerCallback11 profiler = { &table };
