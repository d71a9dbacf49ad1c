/*
 * Readers of the code map while a writer works: each find is timed by itself, in ticks. 8 readers share the machine's
 * processors, so one is sometimes put aside in the middle of a find: that takes a time slice, milliseconds, once in
 * some ten thousand finds, and lies far above the 99th percentile. Such finds (over 100 us) are counted apart, with
 * nothing taken off. Quiet: the same readers, the writer asleep. The readers ask for ranges that stay; each must be
 * found.
 */
#include "bench.h"
#include "figures.h"
#include "maps.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { READERS = 8, FINDS = 100000, RANGES = 1000000, A_SECOND = 10000, TICK_NS = 1000000, PUT_ASIDE_NS = 100000 };

static struct sw_codemap *map;
static struct sw_range *ranges;
static struct floor floor_of_map;
static _Atomic bool writing, running;
static _Atomic uint64_t written;

struct reader {
    pthread_t thread;
    uint64_t seed;
    double *ns;
};

static void *read_map(void *arg)
{
    struct reader *r = arg;
    struct sw_range found;
    for (size_t i = 0; i < FINDS; i++) {
        const struct sw_range *wanted = &ranges[next_random(&r->seed) % (RANGES / 2) * 2];
        const uint64_t begin = ticks();
        const enum sw_status status = sw_codemap_find(map, wanted->begin + 16, &found);
        r->ns[i] = ticks_ns(ticks() - begin);
        must(status == SW_OK && found.id == wanted->id, "finding a range that stays");
    }
    return NULL;
}

/* The same with one bare load in place of a find, out of as much memory: how far the machine itself spreads. */
static void *read_floor(void *arg)
{
    struct reader *r = arg;
    uint64_t sum = 0;
    for (size_t i = 0; i < FINDS; i++) {
        const uint64_t wanted = next_random(&r->seed);
        const uint64_t begin = ticks();
        sum += floor_load(&floor_of_map, wanted);
        r->ns[i] = ticks_ns(ticks() - begin);
    }
    must(sum != 0, "loading");
    return NULL;
}

/* Every millisecond as many ranges out and in again as make 10,000 a second of each; only every second one is touched.
 */
static void *write_map(void *arg)
{
    const struct timespec tick = { 0, TICK_NS };
    uint64_t seed = BENCH_SEED;
    double due = wall_ns();
    (void)arg;
    while (running) {
        due = writing ? due : wall_ns();
        for (; due < wall_ns(); due += 1e9 / (double)A_SECOND) {
            const struct sw_range *range = &ranges[next_random(&seed) % (RANGES / 2) * 2 + 1];
            must(sw_codemap_remove(map, range->begin) == SW_OK && sw_codemap_add(map, range) == SW_OK,
                 "changing the map");
            written++;
        }
        nanosleep(&tick, NULL);
    }
    return NULL;
}

/* All readers at once: of the slowest one the median and the 99th percentile. */
struct latency {
    double median, p99, put_aside;
};

static struct latency run_readers(struct reader *readers, void *(*read)(void *reader))
{
    struct latency worst = { 0 };
    for (int i = 0; i < READERS; i++)
        must(pthread_create(&readers[i].thread, NULL, read, &readers[i]) == 0, "pthread_create");
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i].thread, NULL);
    for (int i = 0; i < READERS; i++) {
        const double p99 = percentile(readers[i].ns, FINDS, 99), p50 = percentile(readers[i].ns, FINDS, 50);
        worst.median = p50 > worst.median ? p50 : worst.median;
        worst.p99 = p99 > worst.p99 ? p99 : worst.p99;
        for (size_t k = FINDS; k-- > 0 && readers[i].ns[k] > (double)PUT_ASIDE_NS;)
            worst.put_aside++;
    }
    return worst;
}

static void note(const char *scene, struct latency (*l)[TURNS], const double *quiet)
{
    double p50[TURNS], p99[TURNS], aside[TURNS];
    for (unsigned t = 0; t < TURNS; t++) {
        p50[t] = (*l)[t].median;
        p99[t] = (*l)[t].p99;
        aside[t] = (*l)[t].put_aside;
    }
    const double ratio50 = median_ratio(p50, quiet, TURNS), ratio99 = median_ratio(p99, quiet, TURNS);
    figure_note("readers", scene, "median", 0, median(p50, TURNS), ratio50);
    figure_note("readers", scene, "99th percentile", 0, median(p99, TURNS), ratio99);
    figure_note("readers", scene, "over 100 us", 0, median(aside, TURNS), 0);
}

static void take_turns_of(struct reader *readers)
{
    struct latency quiet[TURNS], busy[TURNS], bare[TURNS];
    double quiet_medians[TURNS], bare_medians[TURNS], seconds = 0;
    for (unsigned t = 0; t < TURNS; t++) {
        quiet[t] = run_readers(readers, read_map);
        quiet_medians[t] = quiet[t].median;
        bare[t] = run_readers(readers, read_floor);
        bare_medians[t] = bare[t].median;
        writing = true;
        const double begin = wall_ns();
        busy[t] = run_readers(readers, read_map);
        writing = false;
        seconds += (wall_ns() - begin) / 1e9;
    }
    note("ns a find, quiet", &quiet, quiet_medians);
    note("ns a find, beside a writer", &busy, quiet_medians);
    note("ns a bare load, quiet", &bare, bare_medians);
    figure_note("readers", "removed and added a second", "median", 0, (double)written / seconds, 0);
}

void bench_readers(void)
{
    struct reader readers[READERS];
    pthread_t writer;
    ranges = maps_ranges(RANGES);
    must(sw_codemap_create(NULL, &map) == SW_OK, "sw_codemap_create");
    for (size_t i = 0; i < RANGES; i++)
        must(sw_codemap_add(map, &ranges[i]) == SW_OK, "sw_codemap_add");
    for (unsigned i = 0; i < READERS; i++)
        readers[i] = (struct reader){ .seed = BENCH_SEED + i, .ns = get(FINDS * sizeof(double)) };
    floor_of_map = floor_make(sw_codemap_bytes(map));
    (void)ticks_ns(1);
    running = true;
    must(pthread_create(&writer, NULL, write_map, NULL) == 0, "pthread_create");
    take_turns_of(readers);
    running = false;
    pthread_join(writer, NULL);
    for (unsigned i = 0; i < READERS; i++)
        free(readers[i].ns);
    floor_free(&floor_of_map);
    sw_codemap_destroy(map);
    free(ranges);
    figure_print("readers", "code map, 1,000,000 ranges, 8 readers: the slowest one, and how many times its quiet "
                            "median; finds over 100 us, of 800,000, were put aside");
}
