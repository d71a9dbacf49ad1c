/* Knows every part by its interface, and no events. */
#include "life.h"
#include "callbacks.h"
#include "clock.h"
#include "collect.h"
#include "events.h"
#include "options.h"
#include "output.h"
#include "sample.h"
#include "signals.h"
#include "threads.h"
#include "wall.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>

enum { DETACH_MS = 300 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct options options;
static ICorProfilerInfo12 *info;
static _Atomic bool on;
static bool sampling;
static DWORD events_low, events_high;
static _Atomic bool searches; /* precompiled methods are announced */
static _Atomic bool leaving;  /* a detach was asked for, and the runtime has not said yet that it is done */

/* ---- sampling on and off; the lock is held ---- */

static bool begin_sampling(void)
{
    bool good = true;
    if (sampling)
        return true;
    sampling = true;
    sample_resume();
    if (options.modes & MODE_CPU)
        threads_set_period(1000000000 / options.hz);
    if (options.modes & MODE_WALL)
        good = wall_start(options.hz, options.wall_threads);
    return events_start(info, options.modes) && good;
}

static void end_sampling(void)
{
    if (!sampling)
        return;
    sampling = false;
    threads_set_period(0);
    if (options.modes & MODE_WALL)
        wall_stop();
    events_stop(info);
    sample_stop();
}

/* ---- forks ---- */

/*
 * A child of fork has one thread, no timers, and locks as they were: held by threads that it does not have. So nothing
 * of this is done there any more, and nothing is written: what was sampled is its parent's.
 */
static void end_in_child(void)
{
    atomic_store(&on, false);
    fed = NULL;
    sample_abandon();
    signals_leave();
}

/* Once: the library is never unloaded. */
static void watch_forks(void)
{
    static bool watched;
    watched = watched || pthread_atfork(NULL, NULL, end_in_child) == 0;
}

/* ---- start ---- */

static HRESULT set_events(bool attaching)
{
    sw_clr_get_events(&events_low, &events_high);
    if (attaching)
        events_low &= ~(DWORD)(COR_PRF_MONITOR_CACHE_SEARCHES | COR_PRF_MONITOR_FUNCTION_UNLOADS);
    if (options.modes & (MODE_ALLOC | MODE_EXCEPTIONS | MODE_LOCKS))
        events_high |= COR_PRF_HIGH_MONITOR_EVENT_PIPE;
    atomic_store(&searches, !attaching);
    return info->lpVtbl->SetEventMask2(info, events_low, events_high);
}

/* A program that starts has thousands of these events. */
void life_searched(void)
{
    if (sw_clr_needs_searches(fed) || !atomic_exchange(&searches, false))
        return;
    events_low &= ~(DWORD)COR_PRF_MONITOR_CACHE_SEARCHES;
    (void)info->lpVtbl->SetEventMask2(info, events_low, events_high);
}

static HRESULT open_all(IUnknown *given, bool attaching)
{
    const size_t bytes = (size_t)options.memory_mb << 20;
    void *found = NULL;
    if (given->lpVtbl->QueryInterface(given, &IID_ICorProfilerInfo12, &found) != S_OK) {
        fprintf(stderr, "snapwalk-profiler: .NET 5 or later is needed\n");
        return E_FAIL;
    }
    info = found;
    if (set_events(attaching) != S_OK || sw_clr_create(NULL, given, &fed) != SW_OK) {
        fprintf(stderr, "snapwalk-profiler: this runtime cannot be followed\n");
        return E_FAIL;
    }
    watch_forks();
    sw_clr_set_memory_limit(fed, bytes / 4);
    if (!threads_signal(sample_on_signal) || !sample_open(fed, bytes / 32) || !collect_open(&options, fed)) {
        fprintf(stderr, "snapwalk-profiler: no memory, or no free signal\n");
        return E_FAIL;
    }
    atomic_store(&on, true);
    signals_watch(info->lpVtbl, events_runtime(info), !attaching);
    return S_OK;
}

static void begin(void)
{
    if (options.start && !begin_sampling())
        fprintf(stderr, "snapwalk-profiler: not all of the modes can be started\n");
}

HRESULT life_start(IUnknown *given)
{
    char message[OPTIONS_MESSAGE];
    pthread_mutex_lock(&lock);
    if (!options_from_environment(&options, message))
        fprintf(stderr, "snapwalk-profiler: %s\n", message);
    if (!output_may_write(options.out))
        fprintf(stderr, "snapwalk-profiler: SNAPWALK_OUT=%s: %s: there will be no file\n", options.out,
                strerror(errno));
    const HRESULT hr = open_all(given, false);
    if (hr == S_OK)
        begin();
    pthread_mutex_unlock(&lock);
    return hr;
}

HRESULT life_attach(IUnknown *given, const char *text, size_t size, enum life_answer *problem)
{
    char message[OPTIONS_MESSAGE];
    *problem = LIFE_DONE;
    if (atomic_load(&leaving))
        return CORPROF_E_PROFILER_DETACHING; /* of a main profiler the runtime says so itself */
    if (!options_from_text(&options, text, size, message))
        return E_INVALIDARG;
    if (!output_may_write(options.out)) {
        *problem = LIFE_UNWRITABLE;
        return E_FAIL;
    }
    pthread_mutex_lock(&lock);
    const HRESULT hr = open_all(given, true);
    pthread_mutex_unlock(&lock);
    return hr;
}

void life_attached(void)
{
    pthread_mutex_lock(&lock);
    sw_clr_attached(fed);
    threads_look();
    begin();
    pthread_mutex_unlock(&lock);
}

bool life_is_on(void)
{
    return atomic_load(&on);
}

ICorProfilerInfo12 *life_info(void)
{
    return info;
}

/* ---- end ---- */

/* Without the runtime's structures walks go by analysis: said once, when it is certain. */
static void say_if_unknown(void)
{
    char about[SW_CLR_ABOUT_BYTES];
    if (!sw_clr_about(fed, about, sizeof about))
        fprintf(stderr, "snapwalk-profiler: %s\n", about);
}

static bool close_all(void)
{
    if (!atomic_load(&on))
        return false;
    pthread_mutex_lock(&lock);
    bool written = false;
    if (atomic_exchange(&on, false)) {
        signals_leave();
        end_sampling();
        say_if_unknown();
        written = collect_close();
    }
    pthread_mutex_unlock(&lock);
    return written;
}

void life_end(void)
{
    signals_await_end();
    (void)close_all();
}

void life_detached(void)
{
    sw_clr_destroy(fed);
    fed = NULL;
    sample_close();
    atomic_store(&leaving, false);
}

/* On a thread of its own: whoever asks may hold what the runtime needs for it. */
static void *request_detach(void *arg)
{
    (void)arg;
    if (info->lpVtbl->RequestProfilerDetach(info, DETACH_MS) != S_OK)
        atomic_store(&leaving, false);
    return NULL;
}

static enum life_answer detach(void)
{
    pthread_t thread;
    atomic_store(&leaving, true);
    const bool written = close_all();
    if (pthread_create(&thread, NULL, request_detach, NULL) != 0) {
        atomic_store(&leaving, false);
        return LIFE_FAILED;
    }
    pthread_detach(thread);
    return written ? LIFE_DONE : LIFE_FAILED;
}

static enum life_answer start_again(void)
{
    pthread_mutex_lock(&lock);
    const bool good = begin_sampling();
    pthread_mutex_unlock(&lock);
    return good ? LIFE_DONE : LIFE_FAILED;
}

static enum life_answer stop(void)
{
    pthread_mutex_lock(&lock);
    end_sampling();
    pthread_mutex_unlock(&lock);
    return LIFE_DONE;
}

static enum life_answer dump(void)
{
    return collect_dump() ? LIFE_DONE : LIFE_FAILED;
}

enum life_answer life_command(const char *text, size_t size)
{
    static const struct {
        const char *name;
        enum life_answer (*act)(void);
    } rows[] = { { "start", start_again }, { "stop", stop }, { "dump", dump }, { "detach", detach } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strlen(rows[i].name) == size && !memcmp(rows[i].name, text, size))
            return rows[i].act();
    return LIFE_UNKNOWN;
}

/* ---- for measurements ---- */

/*
 * The calling thread is sampled (1, as at first) or not (0). 2: its signals come, and nobody takes a sample in any
 * thread: what a timer alone costs. By P/Invoke, or dlsym.
 */
EXPORT void snapwalk_profiler_sample(int how);
EXPORT void snapwalk_profiler_sample(int how)
{
    if (how == 2)
        sample_stop();
    else if (sampling)
        sample_resume();
    sample_measure(how == 1 ? SAMPLE_TIMED : SAMPLE_NOT_MEASURED);
    threads_pause(how == 0);
}

/*
 * Processor time of the calling thread, in nanoseconds, for a signal that it sends itself: whose sample is taken (1);
 * or not (2); or whose handler stores pc and time (3); or whose sample is taken at once behind another one's, which
 * leaves nothing to wait for (4); or for asking the kernel whether it could be sent, which all others do, too (0).
 */
EXPORT uint64_t snapwalk_profiler_signal(int how);
EXPORT uint64_t snapwalk_profiler_signal(int how)
{
    const uint64_t ns = 1000000;
    const pid_t self = (pid_t)threads_self();
    if (how == 2)
        sample_stop();
    else if (sampling)
        sample_resume();
    if (how == 4)
        (void)threads_send(self, SIGNAL_CPU, ns);
    sample_measure(how == 3 ? SAMPLE_STORED : SAMPLE_NOT_MEASURED);
    const uint64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    (void)threads_send(self, how == 0 ? 0 : SIGNAL_CPU, ns);
    const uint64_t ended_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    sample_measure(SAMPLE_NOT_MEASURED);
    return ended_ns - begun_ns;
}

/* What samples in turns of that kind took up to now: how many, nanoseconds, and how many more were interrupted. */
EXPORT void snapwalk_profiler_times(uint64_t to[3]);
EXPORT void snapwalk_profiler_times(uint64_t to[3])
{
    sample_times(to);
}
