/*
 * The part that runs in signal handlers. A walk goes into one of a few working spaces, which is then copied into the
 * ring, since nobody knows before how deep a stack is. Knows the walk and the ring; nothing of modes or names.
 */
#include "sample.h"
#include "threads.h"

#include <sched.h>
#include <stddef.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* As many as bits in a word. */
enum { SPACES = 64, FIXED_WORDS = offsetof(struct sample, text) / 8, MOST_WORDS = sizeof(struct sample) / 8 };

_Static_assert(MOST_WORDS + SAMPLE_DEPTH_MAX < RING_RECORD_MAX, "the deepest sample fits");
_Static_assert(sizeof(struct sample) % 8 == 0, "whole words");

/* Frames of one walk. Few are ever used at once: the first free one is taken. */
struct space {
    uint64_t frames[SAMPLE_DEPTH_MAX];
};

/*
 * What each sample reads and writes, in one line of the processor's cache.
 *
 * taken  A bit for each space in use. So who has one is inside, which sample_stop waits for.
 * asked  The reader to come, since it came last.
 */
static struct {
    _Alignas(64) _Atomic uint64_t taken;
    struct space *spaces;
    struct sw_clr *walked;
    _Atomic bool is_open;
    _Atomic bool asked;
} now;

static struct ring ring;
static sem_t reader; /* sem_post is safe in handlers */
static struct {
    _Atomic uint64_t count, values[2];
} lost[SAMPLE_KINDS];

bool sample_open(struct sw_clr *clr, size_t bytes)
{
    void *memory = mmap(NULL, SPACES * sizeof *now.spaces, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || !ring_create(&ring, bytes))
        return false;
    now.spaces = memory;
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
    ring_destroy(&ring);
    if (now.spaces)
        munmap(now.spaces, SPACES * sizeof *now.spaces);
    now.spaces = NULL;
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

static bool write_sample(struct sample *sample, struct space *space, const void *context)
{
    uint64_t fixed[MOST_WORDS];
    const size_t words = fixed_words(sample->kind);
    enum sw_stop stop;
    const size_t depth = sw_clr_addresses(now.walked, context, space->frames, SAMPLE_DEPTH_MAX, &stop);
    if (stop == SW_STOP_BAD_START)
        return false;
    sample->flags |= stop == SW_STOP_NONE ? SAMPLE_DEEPER : is_root(stop) ? 0 : SAMPLE_CUT;
    memcpy(fixed, sample, words * sizeof fixed[0]);
    if (!ring_write(&ring, (const uint64_t *[]){ fixed, space->frames }, (size_t[]){ words, depth }))
        return false;
    if (ring_used(&ring) > ring.capacity / 2 && !atomic_exchange_explicit(&now.asked, true, memory_order_relaxed))
        sem_post(&reader);
    return true;
}

/* A bit for each thread, by the lowest ones of its number; those that share a bit cost a name that nobody asks for. */
enum { NOTED_BITS = 1 << 12 };

static _Atomic uint64_t noted[NOTED_BITS / 64];

static void note(uint64_t thread)
{
    _Atomic uint64_t *word = &noted[thread % NOTED_BITS / 64];
    const uint64_t bit = UINT64_C(1) << thread % 64;
    if (!(atomic_load_explicit(word, memory_order_relaxed) & bit))
        atomic_fetch_or_explicit(word, bit, memory_order_relaxed);
}

bool sample_was_taken(uint64_t thread)
{
    return atomic_fetch_and(&noted[thread % NOTED_BITS / 64], ~(UINT64_C(1) << thread % 64)) >> thread % 64 & 1;
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

bool sample_read(struct sample *sample, const uint64_t **frames, size_t *depth)
{
    static uint64_t record[RING_RECORD_MAX];
    const size_t words = ring_read(&ring, record);
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
