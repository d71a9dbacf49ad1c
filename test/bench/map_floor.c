/*
 * What one miss costs: one load of one line, out of as much memory as a map takes. The lines lead to each other in one
 * ring, in random order, so that no load can begin before the last one has ended.
 */
#include "maps.h"

#include <stdlib.h>

enum { LINE = 64, WORDS = LINE / sizeof(uint64_t), LOADS = 200000 };

struct floor floor_make(size_t bytes)
{
    struct floor floor = { NULL, bytes / LINE };
    uint64_t seed = BENCH_SEED;
    uint32_t *order = get(floor.lines * sizeof *order);
    floor.words = get(floor.lines * LINE);
    for (size_t i = 0; i < floor.lines; i++)
        order[i] = (uint32_t)i;
    for (size_t i = floor.lines - 1; i > 0; i--) { /* Sattolo: one ring through all */
        const size_t other = next_random(&seed) % i;
        const uint32_t swapped = order[i];
        order[i] = order[other];
        order[other] = swapped;
    }
    for (size_t i = 0; i < floor.lines; i++)
        floor.words[i * WORDS] = order[i];
    free(order);
    return floor;
}

void floor_free(struct floor *floor)
{
    free(floor->words);
    *floor = (struct floor){ 0 };
}

double floor_time(const struct floor *floor)
{
    uint64_t at = 0;
    const double begin = cpu_ns();
    for (size_t i = 0; i < LOADS; i++)
        at = floor->words[at * WORDS];
    must(at < floor->lines, "following the ring");
    return (cpu_ns() - begin) / (double)LOADS;
}

uint64_t floor_load(const struct floor *floor, uint64_t line)
{
    return *(volatile const uint64_t *)&floor->words[line % floor->lines * WORDS];
}
