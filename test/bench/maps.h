/* Ranges like a JIT's, and what one would keep them in where there is no code map. */
#ifndef BENCH_MAPS_H
#define BENCH_MAPS_H

#include "measure.h"

#include <snapwalk/codemap.h>

/* `count` ranges, ascending: 32 to 607 bytes, 16-aligned, small gaps. The caller frees them. */
struct sw_range *maps_ranges(size_t count);

/*
 * A map of ranges. find answers id and begin, summed up (0: none), so that all have to load the range.
 *
 * fill     Makes it, with these ranges, which are ascending.
 */
struct map {
    const char *name;
    void (*fill)(const struct sw_range *ranges, size_t count);
    uint64_t (*find)(uint64_t address);
    void (*add)(const struct sw_range *range);
    void (*remove)(const struct sw_range *range);
    size_t (*bytes)(void);
    void (*clear)(void);
};
extern const struct map map_array, map_tree, map_pages;

/*
 * Memory whose every line leads to another one, to compare a find with a bare load: ns of a load that waits for the one
 * before, and one load of any line.
 */
struct floor {
    uint64_t *words;
    size_t lines;
};
struct floor floor_make(size_t bytes);
void floor_free(struct floor *floor);
double floor_time(const struct floor *floor);
uint64_t floor_load(const struct floor *floor, uint64_t line);

#endif
