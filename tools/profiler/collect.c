/* The one reader of the samples. Knows columns, names and threads by their interfaces, and when files are due. */
#include "collect.h"
#include "clock.h"
#include "columns.h"
#include "deliver.h"
#include "names.h"
#include "profile/profile.h"
#include "signals.h"
#include "threads.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TICK_NS = 100000000, DRAIN_NS = 500000000, LOOK_NS = 1000000000 };

static const struct options *options;
static struct sw_clr *clr;
static struct columns columns;
static pthread_t thread;
static _Atomic bool ending;

/* Under `lock`: all below, the names and the reading of samples. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sw_profile *profile;
static uint64_t begun_ns, samples, cut, lost;
static unsigned long files;

/* ---- samples into the profile ---- */

/* Of "dotnet program.dll" the program is what it runs; the second word of the command line. */
static const char *program_name(void)
{
    static char words[4096];
    const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? 0 : read(file, words, sizeof words - 2);
    if (file >= 0)
        close(file);
    memset(words + (length > 0 ? length : 0), 0, 2);
    const char *second = words + strlen(words) + 1, *slash = strrchr(second, '/');
    const bool runs_it = !strcmp(program_invocation_short_name, "dotnet") && *second;
    return !runs_it ? program_invocation_short_name : slash ? slash + 1 : second;
}

static struct sw_profile *new_profile(void)
{
    char path[OPTIONS_TEXT];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    const struct sw_profile_options about = {
        .values = columns.types,
        .value_count = columns.count,
        .default_value = columns.shown,
        .period_type = columns.types[columns.shown],
        .period = options->modes & (MODE_CPU | MODE_WALL) ? 1000000000 / (int64_t)options->hz : 1,
        .time_ns = clock_ns(CLOCK_REALTIME),
        .max_bytes = options->memory_mb << 19, /* half */
        .service = options->service[0] ? options->service : program_name(),
        .executable_path = path,
        .runtime = "dotnet",
        .pid = (uint64_t)getpid(),
        .producer = "snapwalk-profiler",
        .producer_version = sw_version(),
    };
    struct sw_profile *made = NULL;
    begun_ns = clock_ns(CLOCK_MONOTONIC);
    if (sw_profile_create(&about, &made) != SW_PROFILE_OK)
        return NULL;
    names_begin(made);
    return made;
}

static uint32_t labels_of(const struct sample *sample)
{
    char text[sizeof sample->text + 1] = { 0 };
    memcpy(text, sample->text, sizeof sample->text);
    const struct sw_profile_label label = { .key = sample->kind == SAMPLE_WALL ? "state" : "type", .text = text };
    if (sample->kind == SAMPLE_WALL)
        strcpy(text, sample->flags & SAMPLE_OFF_CPU ? "off-CPU" : "on-CPU");
    return text[0] ? sw_profile_labels_add(profile, &label, 1) : 0;
}

static uint32_t thread_of(const struct sample *sample)
{
    char name[THREAD_NAME];
    threads_get_name((pid_t)sample->thread, name);
    return sw_profile_thread_add(profile, sample->thread, name);
}

/* What an event of the runtime was told by: native frames in front of the first managed one. */
static size_t tellers(const struct sample *sample, const uint64_t *frames, size_t depth)
{
    size_t at = 0;
    while (at < depth && !names_is_managed(frames[at]))
        at++;
    return sample->kind == SAMPLE_CPU || sample->kind == SAMPLE_WALL || at == depth ? 0 : at;
}

/* Whether a frame's pc is where it goes on, not behind a call: it was interrupted, or is where a handler returns to. */
static bool is_exact(const uint64_t *pcs, size_t i)
{
    const uint64_t end = threads_handlers_return();
    return i == 0 || (end != 0 && (pcs[i - 1] == end || pcs[i] == end));
}

static void add(const struct sample *sample, const uint64_t *pcs, size_t depth)
{
    static uint32_t stack[SAMPLE_DEPTH_MAX + 1];
    static uint64_t frames[SAMPLE_DEPTH_MAX];
    int64_t values[SW_PROFILE_VALUES_MAX];
    for (size_t i = 0; i < depth; i++)
        frames[i] = names_frame(pcs[i], is_exact(pcs, i));
    const size_t skipped = tellers(sample, frames, depth);
    depth -= skipped;
    for (size_t i = 0; i < depth; i++)
        stack[i] = names_location(profile, frames[skipped + i]);
    if (sample->flags & (SAMPLE_CUT | SAMPLE_DEEPER))
        stack[depth++] = names_said(profile, sample->flags & SAMPLE_CUT ? "[incomplete stack]" : "[deeper frames cut]");
    columns_fill(&columns, sample, 1, values);
    const struct sw_profile_sample row = {
        .stack = stack, .depth = depth, .values = values, .thread = thread_of(sample), .labels = labels_of(sample)
    };
    (void)sw_profile_sample_add(profile, &row); /* what has no room is counted and said by the profile */
}

/* Samples that had no room are in the profile all the same, so that its sums are right. */
static void add_lost(enum sample_kind kind)
{
    struct sample sample = { .kind = kind };
    int64_t values[SW_PROFILE_VALUES_MAX];
    const uint64_t count = sample_lost(kind, sample.values);
    if (!count)
        return;
    const uint32_t stack = names_said(profile, "[samples lost: no room]");
    lost += count;
    columns_fill(&columns, &sample, (int64_t)count, values);
    const struct sw_profile_sample row = { .stack = &stack, .depth = 1, .values = values };
    (void)sw_profile_sample_add(profile, &row);
}

static void drain(void)
{
    struct sample sample;
    const uint64_t *frames;
    size_t depth;
    bool renewed = false;
    while (profile && sample_read(&sample, &frames, &depth)) {
        if (!renewed)
            names_renew();
        renewed = true;
        samples++;
        cut += (sample.flags & SAMPLE_CUT) != 0;
        if (sample.kind < SAMPLE_KINDS && depth <= SAMPLE_DEPTH_MAX)
            add(&sample, frames, depth);
    }
}

void collect_unload(uint64_t function)
{
    pthread_mutex_lock(&lock);
    drain();
    if (function && profile)
        names_unload(function);
    else if (profile)
        names_unload_image();
    pthread_mutex_unlock(&lock);
}

/* ---- files ---- */

/* What was collected so far; the next profile begins. NULL: no memory, and it goes on. */
static struct sw_profile *take_profile(void)
{
    drain();
    for (enum sample_kind kind = 0; kind < SAMPLE_KINDS; kind++)
        add_lost(kind);
    const uint64_t began = begun_ns;
    struct sw_profile *done = profile, *next = new_profile();
    if (!next)
        return NULL;
    sw_profile_set_duration(done, begun_ns - began);
    if (columns.places[SAMPLE_CPU][0])
        (void)sw_profile_share(done, columns.places[SAMPLE_CPU][0], 0, threads_passed_over());
    profile = next;
    names_forget();
    files++;
    return done;
}

static void say_counts(const struct sw_profile *done)
{
    struct sw_profile_counts counts;
    sw_profile_get_counts(done, &counts);
    fprintf(stderr, "snapwalk-profiler: %llu samples so far, %llu lost, %llu incomplete; %llu KB\n",
            (unsigned long long)samples, (unsigned long long)lost, (unsigned long long)cut,
            (unsigned long long)(counts.bytes >> 10));
}

static bool dump(bool (*deliver)(const struct sw_profile *done, unsigned long number))
{
    pthread_mutex_lock(&lock);
    struct sw_profile *done = profile ? take_profile() : NULL;
    const unsigned long number = files;
    pthread_mutex_unlock(&lock);
    const bool written = done && deliver(done, number);
    if (done && options->verbose)
        say_counts(done);
    sw_profile_destroy(done);
    return written;
}

bool collect_dump(void)
{
    return dump(deliver_now);
}

/* ---- the thread ---- */

/* While the last one is still being sent, this one goes on. */
static bool is_due(void)
{
    return options->interval_s && !deliver_is_busy() &&
           clock_ns(CLOCK_MONOTONIC) - begun_ns >= options->interval_s * UINT64_C(1000000000);
}

/* The process ends in a way of which nobody else is told. True: this thread has ended it. */
static bool write_at_end(void)
{
    static unsigned written;
    const unsigned ends = signals_ends();
    const int number = signals_asked();
    if (ends != written || number) {
        (void)collect_dump();
        signals_written(written = ends);
    }
    if (number)
        signals_end(number);
    return number != 0;
}

/* Samples are read seldom: each time what is known of the runtime's memory has to be read again. */
static void *run(void *arg)
{
    (void)arg;
    threads_exclude();
    (void)pthread_setname_np(pthread_self(), "snapwalk");
    signals_serve(true);
    uint64_t looked_ns = 0, drained_ns = 0;
    while (!atomic_load(&ending)) {
        const bool woken = sample_wait(TICK_NS);
        const uint64_t now = clock_ns(CLOCK_MONOTONIC);
        pthread_mutex_lock(&lock);
        if (woken || now - drained_ns >= DRAIN_NS) {
            drained_ns = now;
            drain();
        }
        const bool due = is_due();
        pthread_mutex_unlock(&lock);
        if (write_at_end())
            break;
        sw_clr_refresh(clr);
        if (now - looked_ns >= LOOK_NS) {
            looked_ns = now;
            threads_look();
            threads_sweep();
        }
        if (due)
            (void)dump(deliver_soon);
    }
    signals_serve(false);
    deliver_close();
    return NULL;
}

bool collect_open(const struct options *given, struct sw_clr *followed)
{
    options = given;
    clr = followed;
    columns_choose(&columns, options->modes);
    atomic_store(&ending, false);
    samples = cut = lost = 0;
    deliver_open(options, columns.shown);
    files = deliver_files();
    profile = new_profile();
    return profile && names_open(clr, options) && pthread_create(&thread, NULL, run, NULL) == 0;
}

/* What the thread has under way is sent beside the last one: together they take as long as one. */
bool collect_close(void)
{
    atomic_store(&ending, true);
    sample_wake();
    const bool written = collect_dump();
    pthread_join(thread, NULL);
    pthread_mutex_lock(&lock);
    sw_profile_destroy(profile);
    profile = NULL;
    names_close();
    pthread_mutex_unlock(&lock);
    return written;
}
