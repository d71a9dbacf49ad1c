/*
 * The part that runs in signal handlers. A walk goes into one of a few working spaces, which is then copied into the
 * ring, since nobody knows before how deep a stack is. Knows the walk and the ring; nothing of modes or names.
 */
#include "sample.h"
#include "clock.h"
#include "threads.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

/* SPACES: as many as bits in a word. NOTED_BITS: see note. */
enum {
    SPACES = 64,
    NOTED_BITS = 1 << 12,
    PAGE = 4096,
    FIXED_WORDS = offsetof(struct sample, text) / 8,
    MOST_WORDS = sizeof(struct sample) / 8
};

_Static_assert(MOST_WORDS + SAMPLE_DEPTH_MAX < RING_RECORD_MAX, "the deepest sample fits");
_Static_assert(sizeof(struct sample) % 8 == 0, "whole words");

/* Frames of one walk. Few are ever used at once: the first free one is taken. */
struct space {
    uint64_t frames[SAMPLE_DEPTH_MAX];
};

/*
 * What each sample reads and writes: between two of them the program drives all of it out of the caches, so it lies in
 * one page, up to the first space's 400 frames, and what all of them need in one line of the processor's cache.
 *
 * taken        A bit for each space in use. So who has one is inside, which sample_stop waits for.
 * asked        The reader to come, since it came last.
 * measured     How the handler's time is taken.
 * wide_enough  See widen_signal_stack.
 * noted        See note.
 */
static struct {
    _Alignas(PAGE) _Atomic uint64_t taken;
    struct sw_clr *walked;
    _Atomic size_t wide_enough;
    _Atomic bool is_open;
    _Atomic bool asked;
    _Atomic enum sample_measure measured;
    struct ring ring;
    _Atomic uint64_t noted[NOTED_BITS / 64];
    struct space spaces[SPACES];
} now;

static sem_t reader; /* sem_post is safe in handlers */
static struct {
    _Atomic uint64_t count, values[2];
} lost[SAMPLE_KINDS];

bool sample_open(struct sw_clr *clr, size_t bytes)
{
    if (!ring_create(&now.ring, bytes))
        return false;
    now.walked = clr;
    sem_init(&reader, 0, 0);
    return true;
}

void sample_stop(void)
{
    atomic_store(&now.is_open, false);
    while (atomic_load(&now.taken))
        sched_yield();
}

void sample_abandon(void)
{
    atomic_store(&now.is_open, false);
}

void sample_resume(void)
{
    atomic_store(&now.is_open, true);
}

void sample_close(void)
{
    ring_destroy(&now.ring);
}

/* The bit of a space, or 0: all are in use. */
static uint64_t take_space(void)
{
    uint64_t before = atomic_load_explicit(&now.taken, memory_order_relaxed);
    while (before != UINT64_MAX)
        if (atomic_compare_exchange_weak(&now.taken, &before, before | (before + 1)))
            return ~before & (before + 1);
    return 0;
}

static bool is_root(enum sw_stop stop)
{
    return stop == SW_STOP_ROOT || stop == SW_STOP_ROOT_ZERO || stop == SW_STOP_ROOT_BASE;
}

/* How many words a sample of that kind has in front of its frames. */
static size_t fixed_words(uint64_t kind)
{
    return kind == SAMPLE_CPU || kind == SAMPLE_WALL ? FIXED_WORDS : MOST_WORDS;
}

/* From a handler. */
static void wake_reader(void)
{
    const int before = errno;
    sem_post(&reader);
    errno = before;
}

static bool write_sample(struct sample *sample, struct space *space, const void *context)
{
    struct ring *const ring = &now.ring;
    enum sw_stop stop;
    const size_t depth = sw_clr_addresses(now.walked, context, space->frames, SAMPLE_DEPTH_MAX, &stop);
    if (stop == SW_STOP_BAD_START)
        return false;
    sample->flags |= stop == SW_STOP_NONE ? SAMPLE_DEEPER : is_root(stop) ? 0 : SAMPLE_CUT;
    if (!ring_write(ring, (const void *[]){ sample, space->frames }, (size_t[]){ fixed_words(sample->kind), depth }))
        return false;
    if (ring_used(ring) > ring->capacity / 2 && !atomic_exchange_explicit(&now.asked, true, memory_order_relaxed))
        wake_reader();
    return true;
}

/* A bit for each thread, by the lowest ones of its number; those that share a bit cost a name that nobody asks for. */
static void note(uint64_t thread)
{
    _Atomic uint64_t *word = &now.noted[thread % NOTED_BITS / 64];
    const uint64_t bit = UINT64_C(1) << thread % 64;
    if (!(atomic_load_explicit(word, memory_order_relaxed) & bit))
        atomic_fetch_or_explicit(word, bit, memory_order_relaxed);
}

bool sample_was_taken(uint64_t thread)
{
    return atomic_fetch_and(&now.noted[thread % NOTED_BITS / 64], ~(UINT64_C(1) << thread % 64)) >> thread % 64 & 1;
}

static void lose(const struct sample *sample)
{
    atomic_fetch_add_explicit(&lost[sample->kind].count, 1, memory_order_relaxed);
    for (size_t i = 0; i < 2; i++)
        atomic_fetch_add_explicit(&lost[sample->kind].values[i], sample->values[i], memory_order_relaxed);
}

__attribute__((hot)) void sample_take(struct sample *sample, const void *context)
{
    const uint64_t bit = take_space();
    if (atomic_load(&now.is_open)) {
        sample->thread = threads_self();
        note(sample->thread);
        if (!bit || !write_sample(sample, &now.spaces[__builtin_ctzll(bit)], context))
            lose(sample);
    }
    if (bit)
        atomic_fetch_and_explicit(&now.taken, ~bit, memory_order_release);
}

/* ---- how long samples take, for measurements ---- */

/* What takes longer was interrupted by another thread: it is counted by itself. */
enum { INTERRUPTED_NS = 1000000 };

static struct {
    _Atomic uint64_t samples, ns, interrupted;
} times;

static void note_time(uint64_t ns)
{
    if (ns >= INTERRUPTED_NS) {
        atomic_fetch_add_explicit(&times.interrupted, 1, memory_order_relaxed);
        return;
    }
    atomic_fetch_add_explicit(&times.samples, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&times.ns, ns, memory_order_relaxed);
}

/* The least that a handler could do for a profile of flat totals: what a sample costs is compared with it. */
static void store_alone(const ucontext_t *context)
{
    static _Atomic uint64_t pc, ns;
    atomic_store_explicit(&pc, (uint64_t)context->uc_mcontext.gregs[REG_RIP], memory_order_relaxed);
    atomic_store_explicit(&ns, clock_ns(CLOCK_MONOTONIC), memory_order_relaxed);
}

void sample_measure(enum sample_measure how)
{
    atomic_store(&now.measured, how);
}

void sample_times(uint64_t to[3])
{
    to[0] = atomic_load(&times.samples);
    to[1] = atomic_load(&times.ns);
    to[2] = atomic_load(&times.interrupted);
}

/* ---- the signal ---- */

/* Of threads that were there before the profiler. What is as large as one that is wide enough is not looked at. */
static void widen_signal_stack(ucontext_t *context)
{
    const size_t enough = atomic_load_explicit(&now.wide_enough, memory_order_relaxed);
    if (enough != 0 && context->uc_stack.ss_size >= enough)
        return;
    const int before = errno;
    if (sw_clr_widen_signal_stack(context) == SW_OK)
        atomic_store_explicit(&now.wide_enough, context->uc_stack.ss_size, memory_order_relaxed);
    errno = before;
}

/* What may change errno keeps it: to ask the C library where it is takes three lines on three pages. */
__attribute__((hot)) void sample_on_signal(int number, siginfo_t *about, void *context)
{
    struct sample sample;
    const enum sample_measure how = atomic_load_explicit(&now.measured, memory_order_relaxed);
    const uint64_t begun_ns = how == SAMPLE_TIMED ? clock_ns(CLOCK_MONOTONIC) : 0;
    const enum signal_purpose purpose = threads_purpose(about, &sample.values[0]);
    (void)number;
    if (how == SAMPLE_STORED)
        store_alone(context);
    if (!purpose || how == SAMPLE_STORED)
        return;
    widen_signal_stack(context);
    sample.kind = purpose == SIGNAL_CPU ? SAMPLE_CPU : SAMPLE_WALL;
    sample.values[1] = 0;
    sample.text[0] = 0;
    sample.flags = purpose == SIGNAL_OFF_CPU ? SAMPLE_OFF_CPU : 0;
    sample_take(&sample, context);
    if (how == SAMPLE_TIMED)
        note_time(clock_ns(CLOCK_MONOTONIC) - begun_ns);
}

/* ---- the reader ---- */

bool sample_read(struct sample *sample, const uint64_t **frames, size_t *depth)
{
    static uint64_t record[RING_RECORD_MAX];
    const size_t words = ring_read(&now.ring, record);
    if (words < FIXED_WORDS)
        return false;
    memcpy(sample, record, FIXED_WORDS * sizeof record[0]);
    const size_t fixed = fixed_words(sample->kind), text = fixed - FIXED_WORDS;
    memset(sample->text, 0, sizeof sample->text);
    memcpy(sample->text, record + FIXED_WORDS, text * sizeof record[0]);
    *frames = record + fixed;
    *depth = words - fixed;
    return true;
}

bool sample_wait(uint64_t ns)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    ns += (uint64_t)until.tv_nsec;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    const bool woken = sem_timedwait(&reader, &until) == 0;
    atomic_store(&now.asked, false);
    return woken;
}

void sample_wake(void)
{
    sem_post(&reader);
}

uint64_t sample_lost(enum sample_kind kind, uint64_t values[2])
{
    for (size_t i = 0; i < 2; i++)
        values[i] = atomic_exchange(&lost[kind].values[i], 0);
    return atomic_exchange(&lost[kind].count, 0);
}
