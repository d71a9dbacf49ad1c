/*
 * A profiler that goes wrong in the first compilation, in the way that MISBEHAVE names: what a runner of scenarios has
 * to survive and to tell.
 */
#include "com.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static ICorProfilerInfo3 *info;

static void dereference_null(void)
{
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
}

/* Over the object that the host gave: its next call goes astray. */
static void scribble(void)
{
    memset((void *)info, 0xcc, sizeof(void *));
    info->lpVtbl->GetEventMask(info, NULL);
}

static void (*volatile again)(void);

static void overflow_stack(void)
{
    volatile char page[4096];
    page[0] = 1;
    again = overflow_stack;
    again();
    page[1] = page[0];
}

static void hang(void)
{
    for (;;)
        pause();
}

static void *crash_later(void *arg)
{
    (void)arg;
    dereference_null();
    return NULL;
}

static void crash_on_own_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, crash_later, NULL) == 0)
        pthread_join(thread, NULL);
}

static void divide(void)
{
    raise(SIGFPE);
}

static void leave(void)
{
    exit(3);
}

/* Of a signal that nobody handles: the process ends. */
static void disturb(void)
{
    raise(SIGUSR2);
}

static const struct {
    const char *name;
    void (*do_it)(void);
} ways[] = {
    { "null", dereference_null }, { "scribble", scribble },          { "overflow", overflow_stack }, { "hang", hang },
    { "abort", abort },           { "thread", crash_on_own_thread }, { "divide", divide },           { "exit", leave },
    { "signal", disturb },
};

static HRESULT STDMETHODCALLTYPE jit_started(ICorProfilerCallback11 *self, FunctionID function, BOOL may_block)
{
    const char *way = getenv("MISBEHAVE");
    (void)self, (void)may_block;
    info->lpVtbl->GetFunctionInfo(info, function, NULL, NULL, NULL);
    for (size_t i = 0; way && i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(ways[i].name, way) == 0)
            ways[i].do_it();
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE initialize(ICorProfilerCallback11 *self, IUnknown *given)
{
    void *found = NULL;
    const char *way = getenv("MISBEHAVE");
    (void)self;
    if (given->lpVtbl->QueryInterface(given, &IID_ICorProfilerInfo3, &found) != S_OK || !way)
        return E_FAIL;
    info = found;
    return strcmp(way, "refuse") == 0 ? E_ACCESSDENIED
                                      : info->lpVtbl->SetEventMask(info, COR_PRF_MONITOR_JIT_COMPILATION);
}

static HRESULT STDMETHODCALLTYPE shut_down(ICorProfilerCallback11 *self)
{
    (void)self;
    info->lpVtbl->Release(info);
    return S_OK;
}

static ICorProfilerCallback11Vtbl table = { COM_SLOTS, .Initialize = initialize, .JITCompilationStarted = jit_started,
                                            .Shutdown = shut_down };
static ICorProfilerCallback11 profiler = { &table };
