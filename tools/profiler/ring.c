/*
 * A writer takes its words by moving the head, fills them, and stores the count last. The reader clears what it has
 * read before it moves the tail, so a count that is 0 means: not whole yet. A record never wraps: the rest of the
 * buffer in front of it becomes one of its own, which says so.
 */
#include "ring.h"

#include <string.h>
#include <sys/mman.h>

/* In the first word: the count, and what it is. */
enum { FILLER = 1 << 30 };

bool ring_create(struct ring *ring, size_t bytes)
{
    uint64_t capacity = 2 * RING_RECORD_MAX;
    while (capacity * 2 * sizeof(uint64_t) <= bytes)
        capacity *= 2;
    void *words = mmap(NULL, capacity * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (words == MAP_FAILED)
        return false;
    ring->words = words;
    ring->capacity = capacity;
    atomic_store(&ring->head, 0);
    atomic_store(&ring->tail, 0);
    return true;
}

void ring_destroy(struct ring *ring)
{
    if (ring->words)
        munmap(ring->words, ring->capacity * sizeof(uint64_t));
    ring->words = NULL;
}

static _Atomic uint64_t *word_at(const struct ring *ring, uint64_t position)
{
    return &ring->words[position & (ring->capacity - 1)];
}

/*
 * Nobody reads them before the count is there, and they are nobody else's since the head was moved. Four at once: a
 * copy of any length would be a call of the C library, whose code nothing else of a sample runs through.
 */
static inline void put_words(_Atomic uint64_t *to, const void *from, size_t count)
{
    const char *at = from;
    for (; count >= 4; count -= 4, to += 4, at += 4 * sizeof *to)
        memcpy((void *)to, at, 4 * sizeof *to);
    for (; count != 0; count--, to++, at += sizeof *to)
        memcpy((void *)to, at, sizeof *to);
}

__attribute__((hot)) bool ring_write(struct ring *ring, const void *const parts[2], const size_t counts[2])
{
    const uint64_t need = 1 + counts[0] + counts[1];
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed), filler;
    if (need > RING_RECORD_MAX)
        return false;
    do {
        const uint64_t rest = ring->capacity - (head & (ring->capacity - 1));
        filler = rest < need ? rest : 0;
        if (head + filler + need - atomic_load_explicit(&ring->tail, memory_order_acquire) > ring->capacity)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&ring->head, &head, head + filler + need, memory_order_acq_rel,
                                                    memory_order_relaxed));
    if (filler)
        atomic_store_explicit(word_at(ring, head), filler | FILLER, memory_order_release);
    head += filler;
    put_words(word_at(ring, head) + 1, parts[0], counts[0]);
    put_words(word_at(ring, head) + 1 + counts[0], parts[1], counts[1]);
    atomic_store_explicit(word_at(ring, head), need, memory_order_release);
    return true;
}

/* Clears `count` words at the tail, and gives them back. */
static void give_back(struct ring *ring, uint64_t tail, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        atomic_store_explicit(word_at(ring, tail + i), 0, memory_order_relaxed);
    atomic_store_explicit(&ring->tail, tail + count, memory_order_release);
}

/*
 * An empty buffer begins anew, so that few pages are used for as long as little is written. The rest of it counts as
 * written and read: it is clear.
 */
static void begin_anew(struct ring *ring, uint64_t tail)
{
    const uint64_t at = tail & (ring->capacity - 1), next = tail - at + ring->capacity;
    uint64_t head = tail;
    if (at >= RING_RECORD_MAX && atomic_compare_exchange_strong(&ring->head, &head, next))
        atomic_store_explicit(&ring->tail, next, memory_order_release);
}

size_t ring_read(struct ring *ring, uint64_t to[RING_RECORD_MAX])
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint64_t first = atomic_load_explicit(word_at(ring, tail), memory_order_acquire);
    if (first & FILLER) {
        give_back(ring, tail, first & ~(uint64_t)FILLER);
        tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
        first = atomic_load_explicit(word_at(ring, tail), memory_order_acquire);
    }
    if (!first) {
        begin_anew(ring, tail);
        return 0;
    }
    for (uint64_t i = 1; i < first; i++)
        to[i - 1] = atomic_load_explicit(word_at(ring, tail + i), memory_order_relaxed);
    give_back(ring, tail, first);
    return (size_t)first - 1;
}
