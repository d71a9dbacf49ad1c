/* Clocks, medians, random numbers. Knows nothing of what is measured. */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double ns_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double cpu_ns(void)
{
    return ns_of(CLOCK_THREAD_CPUTIME_ID);
}

double wall_ns(void)
{
    return ns_of(CLOCK_MONOTONIC);
}

static struct {
    double ns_each;
    uint64_t own;
} tick;

static void calibrate(void)
{
    enum { EMPTY = 1001 };
    const double until = wall_ns() + 2e7, wall = wall_ns();
    const uint64_t begin = ticks();
    while (wall_ns() < until)
        ;
    tick.ns_each = (wall_ns() - wall) / (double)(ticks() - begin);
    tick.own = UINT64_MAX;
    for (unsigned i = 0; i < EMPTY; i++) {
        const uint64_t first = ticks(), own = ticks() - first;
        tick.own = own < tick.own ? own : tick.own;
    }
}

double ticks_ns(uint64_t count)
{
    if (tick.own == 0)
        calibrate();
    return count > tick.own ? (double)(count - tick.own) * tick.ns_each : 0;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double percentile(double *values, size_t count, double percent)
{
    qsort(values, count, sizeof *values, by_value);
    const size_t at = (size_t)((double)count * percent / 100);
    return count ? values[at < count ? at : count - 1] : 0;
}

double median(double *values, size_t count)
{
    return percentile(values, count, 50);
}

double median_ratio(const double *of, const double *to, size_t count)
{
    double *ratios = get(count * sizeof *ratios);
    for (size_t i = 0; i < count; i++)
        ratios[i] = of[i] / to[i];
    const double ratio = median(ratios, count);
    free(ratios);
    return ratio;
}

static double looks[1 << 14];
static size_t look_count;

void machine_look(void)
{
    enum { ROUNDS = 20000, CHAINS = 4 };
    uint64_t chains[CHAINS] = { 1, 2, 3, 4 };
    const uint64_t begin = ticks();
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned c = 0; c < CHAINS; c++)
            chains[c] += chains[c] >> 3;
        __asm__ volatile("" : "+r"(chains[0]), "+r"(chains[1]), "+r"(chains[2]), "+r"(chains[3]));
    }
    if (look_count < sizeof looks / sizeof *looks)
        looks[look_count++] = ticks_ns(ticks() - begin);
}

double machine_slowness(void)
{
    const double middle = median(looks, look_count); /* puts them in order */
    return look_count ? middle / looks[0] : 1;
}

uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "bench: %s failed\n", what);
    exit(1);
}

void *get(size_t size)
{
    void *block = calloc(1, size ? size : 1);
    must(block != NULL, "calloc");
    return block;
}
