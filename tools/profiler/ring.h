/*
 * Records of whole words on their way from many writers to one reader. Writers may be signal handlers: no lock, no
 * allocation, bounded work. What has no room is refused, and counted by whoever wrote it.
 */
#ifndef PROFILER_RING_H
#define PROFILER_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Positions count words from the beginning of time. A record begins with its word count, 0 until it is whole. */
struct ring {
    _Atomic uint64_t *words;
    uint64_t capacity; /* a power of two */
    _Atomic uint64_t head;
    _Atomic uint64_t tail;
};

enum { RING_RECORD_MAX = 1 << 12 };

/* Maps it; pages are used as they are written. False: no memory. Signals: not safe. */
bool ring_create(struct ring *ring, size_t bytes);

/* Nobody may be using it. */
void ring_destroy(struct ring *ring);

/*
 * Writes one record, of two parts, each of whole words.
 *
 * counts   Words of the parts; together less than RING_RECORD_MAX.
 * Returns  false: no room now, or too large. Threads: any. Signals: safe.
 */
bool ring_write(struct ring *ring, const void *const parts[2], const size_t counts[2]);

/* How many words are in use, or about to be. Signals: safe. */
static inline uint64_t ring_used(const struct ring *ring)
{
    return atomic_load_explicit(&ring->head, memory_order_relaxed) -
           atomic_load_explicit(&ring->tail, memory_order_relaxed);
}

/*
 * Hands out the oldest record, its words copied to `to`.
 *
 * Returns  How many words; 0: none is whole. Threads: one at a time.
 */
size_t ring_read(struct ring *ring, uint64_t to[RING_RECORD_MAX]);

#endif
