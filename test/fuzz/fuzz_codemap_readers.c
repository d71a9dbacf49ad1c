/*
 * Random changes to a code map while readers look into it: what they find is one of the ranges that are ever added,
 * whole, and holds the address; a range that stays is always found. Freed memory that is still read is
 * AddressSanitizer's to see. The input is a row of operations of 4 bytes: what, a place (2), a size.
 */
#include "code/map/codemap.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OPERATION_BYTES = 4, OPERATIONS_MAX = 256, READERS = 2, LASTING = 1 << 20 };
#define BASE UINT64_C(0x7f0000000000)

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Everything in a range follows from its begin and end. */
static struct sw_range range_of(uint64_t begin, uint64_t end)
{
    return (struct sw_range){ .begin = begin, .end = end, .id = begin * 31 + end, .kind = (uint8_t)(1 + begin % 4) };
}

/* begin: posted for each reader when there is something to read; end: by each when it has seen `stop`. */
static struct shared {
    struct sw_codemap *map;
    atomic_bool stop;
    const uint8_t *data;
    size_t count;
    sem_t begin, end;
    bool is_started;
} shared;

static uint64_t place_of(const uint8_t *op)
{
    return BASE + ((uint64_t)(op[1] | op[2] << 8) << op[0] / 2 % 5);
}

static void look(const struct sw_codemap *map, uint64_t address)
{
    struct sw_range range;
    if (sw_codemap_find(map, address, &range) != SW_OK)
        return;
    const struct sw_range expected = range_of(range.begin, range.end);
    must(address >= range.begin && address < range.end && range.id == expected.id && range.kind == expected.kind);
}

static void read_all(const struct shared *s)
{
    struct sw_range range;
    while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
        for (size_t i = 0; i < s->count; i++)
            look(s->map, place_of(s->data + i * OPERATION_BYTES));
        must(sw_codemap_find(s->map, BASE - LASTING, &range) == SW_OK && range.end == BASE - LASTING + 1);
    }
}

/* To begin and end a thread for each input took most of the time. */
static void *be_reader(void *arg)
{
    struct shared *s = arg;
    for (;;) {
        while (sem_wait(&s->begin) != 0)
            continue;
        read_all(s);
        sem_post(&s->end);
    }
    return NULL;
}

static void start_readers(struct shared *s)
{
    if (s->is_started)
        return;
    s->is_started = true;
    must(sem_init(&s->begin, 0, 0) == 0 && sem_init(&s->end, 0, 0) == 0);
    for (unsigned i = 0; i < READERS; i++) {
        pthread_t reader;
        must(pthread_create(&reader, NULL, be_reader, s) == 0 && pthread_detach(reader) == 0);
    }
}

static void write_all(const struct shared *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const uint8_t *op = s->data + i * OPERATION_BYTES;
        const struct sw_range range = range_of(place_of(op), place_of(op) + 1 + op[3]);
        (void)!(op[0] & 1 ? sw_codemap_remove(s->map, range.begin) : sw_codemap_add(s->map, &range));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct shared *s = &shared;
    const struct sw_range lasting = range_of(BASE - LASTING, BASE - LASTING + 1);
    start_readers(s);
    s->data = data;
    s->count = size / OPERATION_BYTES < OPERATIONS_MAX ? size / OPERATION_BYTES : OPERATIONS_MAX;
    atomic_store(&s->stop, false);
    must(sw_codemap_create(NULL, &s->map) == SW_OK && sw_codemap_add(s->map, &lasting) == SW_OK);
    for (unsigned i = 0; i < READERS; i++)
        sem_post(&s->begin);
    for (unsigned round = 0; round < 4; round++)
        write_all(s);
    atomic_store(&s->stop, true);
    for (unsigned i = 0; i < READERS; i++)
        while (sem_wait(&s->end) != 0)
            continue;
    sw_codemap_destroy(s->map);
    return 0;
}
