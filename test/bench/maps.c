/*
 * How fast the code map is beside what one would use otherwise: the same ranges, the same questions in the same order,
 * in one run. All must give the same answers.
 */
#include "maps.h"
#include "bench.h"
#include "figures.h"

#include <stdio.h>
#include <stdlib.h>

enum { QUESTIONS = 200000, CHANGES = 200 };

static struct sw_range *ranges;
static size_t count;
static uint64_t *questions;
static uint64_t seed = BENCH_SEED;

struct sw_range *maps_ranges(size_t n)
{
    uint64_t at = UINT64_C(0x7f3a10000000), own = BENCH_SEED;
    struct sw_range *made = get(n * sizeof *made);
    for (size_t i = 0; i < n; i++) {
        const uint64_t size = 32 + next_random(&own) % 36 * 16 + next_random(&own) % 16;
        made[i] = (struct sw_range){ at, at + size, i + 1, (uint32_t)(i / 1000), SW_KIND_JIT, 0, 0 };
        at += (size + 31) / 16 * 16;
    }
    return made;
}

/* ---- the code map as one of them ---- */

static struct sw_codemap *map;

static void add(const struct sw_range *range)
{
    must(sw_codemap_add(map, range) == SW_OK, "sw_codemap_add");
}

static void take(const struct sw_range *range)
{
    must(sw_codemap_remove(map, range->begin) == SW_OK, "sw_codemap_remove");
}

static uint64_t find(uint64_t address)
{
    struct sw_range found;
    return sw_codemap_find(map, address, &found) == SW_OK ? found.id + found.begin : 0;
}

enum direction { ASCENDING, DESCENDING, RANDOM, DIRECTIONS };
static const char *const direction_names[DIRECTIONS] = { "ascending", "descending", "random" };

static uint32_t *order_of(enum direction direction)
{
    uint32_t *order = get(count * sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)(direction == DESCENDING ? count - 1 - i : i);
    for (size_t i = count - 1; direction == RANDOM && i > 0; i--) {
        const size_t other = next_random(&seed) % (i + 1);
        const uint32_t swapped = order[i];
        order[i] = order[other];
        order[other] = swapped;
    }
    return order;
}

/* Seconds that `change` takes for all ranges. */
static double for_all(enum direction direction, void (*change)(const struct sw_range *range))
{
    uint32_t *order = order_of(direction);
    const double begin = cpu_ns();
    for (size_t i = 0; i < count; i++)
        change(&ranges[order[i]]);
    const double taken = cpu_ns() - begin;
    free(order);
    return taken / 1e9;
}

/* Random order is the least favourable to memory. */
static void fill(const struct sw_range *all, size_t n)
{
    (void)all, (void)n;
    must(sw_codemap_create(NULL, &map) == SW_OK, "sw_codemap_create");
    (void)for_all(RANDOM, add);
}

static size_t bytes(void)
{
    return sw_codemap_bytes(map);
}

static void clear(void)
{
    sw_codemap_destroy(map);
}

static const struct map map_code = { "code map", fill, find, add, take, bytes, clear };
static const struct map *const maps[] = { &map_array, &map_code, &map_tree, &map_pages }; /* the first: the reference */
enum { MAPS = sizeof maps / sizeof *maps };

/* ---- measuring ---- */

static double time_finds(const struct map *m, uint64_t expected)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < QUESTIONS; i++)
        sum += m->find(questions[i]); /* so that none has to clear the caches of what another one left there */
    must(sum == expected, m->name);
    const double begin = cpu_ns();
    for (size_t i = 0; i < QUESTIONS; i++)
        sum += m->find(questions[i]);
    must(sum == 2 * expected, m->name);
    return (cpu_ns() - begin) / (double)QUESTIONS;
}

/* ns a find that cannot begin before the last one has ended: what a walk sees, which needs the answer to go on. */
static double time_waiting(const struct map *m)
{
    uint64_t wait = 0;
    const double begin = cpu_ns();
    for (size_t i = 0; i < QUESTIONS; i++) {
        __asm__ volatile("and $0, %0" : "+r"(wait));
        wait = m->find(questions[i] + wait);
    }
    must(wait != 0, m->name);
    return (cpu_ns() - begin) / (double)QUESTIONS;
}

/* Beside one bare load out of as much memory as the code map takes: its caches' and translations' share. */
static void note_floor(void)
{
    double array[TURNS], code[TURNS], load[TURNS];
    char scene[64];
    struct floor floor = floor_make(map_code.bytes());
    (void)floor_time(&floor);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        array[turn] = time_waiting(&map_array);
        code[turn] = time_waiting(&map_code);
        load[turn] = floor_time(&floor);
    }
    floor_free(&floor);
    snprintf(scene, sizeof scene, "%zu ranges, ns, waiting for the last", count);
    figure_note("codemap", scene, map_array.name, (double)count, median(array, TURNS), 0);
    figure_note("codemap", scene, map_code.name, (double)count, median(code, TURNS), median_ratio(array, code, TURNS));
    figure_note("codemap", scene, "bare load", (double)count, median(load, TURNS), median_ratio(array, load, TURNS));
    figure_note("floor", scene, map_code.name, (double)count, median(code, TURNS), median_ratio(code, load, TURNS));
}

/* ns to remove a range and add it again, any of them, while all the others are there. */
static double time_changes(const struct map *m)
{
    const double begin = cpu_ns();
    for (size_t i = 0; i < CHANGES; i++) {
        const struct sw_range *range = &ranges[next_random(&seed) % count];
        m->remove(range);
        m->add(range);
    }
    return (cpu_ns() - begin) / (double)CHANGES;
}

static void note_all(double (*times)[TURNS], const char *unit)
{
    double ratios[MAPS];
    char scene[64];
    snprintf(scene, sizeof scene, "%zu ranges, %s", count, unit);
    for (unsigned m = 0; m < MAPS; m++)
        ratios[m] = m ? median_ratio(times[0], times[m], TURNS) : 0;
    for (unsigned m = 0; m < MAPS; m++)
        figure_note("codemap", scene, maps[m]->name, (double)count, median(times[m], TURNS), ratios[m]);
}

static void compare(void)
{
    double finds[MAPS][TURNS], changes[MAPS][TURNS];
    char scene[64];
    uint64_t expected = 0;
    for (unsigned m = 0; m < MAPS; m++)
        maps[m]->fill(ranges, count);
    for (size_t i = 0; i < QUESTIONS; i++)
        expected += map_array.find(questions[i]);
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (unsigned m = 0; m < MAPS; m++)
            finds[m][turn] = time_finds(maps[m], expected);
    note_floor();
    snprintf(scene, sizeof scene, "%zu ranges, bytes a range", count);
    for (unsigned m = 0; m < MAPS; m++)
        figure_note("codemap", scene, maps[m]->name, (double)count, (double)maps[m]->bytes() / (double)count, 0);
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (unsigned m = 0; m < MAPS; m++)
            changes[m][turn] = time_changes(maps[m]);
    note_all(finds, "ns a find");
    note_all(changes, "ns to remove and add one");
    for (unsigned m = 0; m < MAPS; m++)
        maps[m]->clear();
}

/* The code map alone: all ranges in, then all out. */
static void note_bulk(void)
{
    char scene[64];
    for (enum direction d = ASCENDING; d < DIRECTIONS; d++) {
        must(sw_codemap_create(NULL, &map) == SW_OK, "sw_codemap_create");
        const double in = for_all(d, add), each = (double)sw_codemap_bytes(map) / (double)count;
        const double out = for_all(d, take);
        sw_codemap_destroy(map);
        snprintf(scene, sizeof scene, "%zu ranges, %s", count, direction_names[d]);
        figure_note("bulk", scene, "s to add all", (double)count, in, 0);
        figure_note("bulk", scene, "s to remove all", (double)count, out, 0);
        figure_note("bulk", scene, "bytes a range", (double)count, each, 0);
    }
}

void bench_maps(void)
{
    static const size_t sizes[] = { 10000, 100000, 1000000 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        count = sizes[s];
        ranges = maps_ranges(count);
        questions = get(QUESTIONS * sizeof *questions);
        for (size_t i = 0; i < QUESTIONS; i++) {
            const struct sw_range *range = &ranges[next_random(&seed) % count];
            questions[i] = range->begin + next_random(&seed) % (range->end - range->begin);
        }
        note_bulk();
        compare();
        free(questions);
        free(ranges);
    }
    figure_print("codemap", "code map beside others, all filled, and how many times faster than the sorted array");
    figure_print("bulk", "code map, all ranges in one go");
}
