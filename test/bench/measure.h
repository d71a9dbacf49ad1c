/* Clocks, medians, random numbers: what every measurement needs and nothing of what is measured. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <x86intrin.h>

/* TURNS is how often each rival has its turn: all of one turn are measured one after the other, then comes the next. */
enum { TURNS = 9 };

/* ns: of this thread, so that what else runs on the machine does not count; of the wall. */
double cpu_ns(void);
double wall_ns(void);

/* The time stamp counter, for what is too short for a system call: nothing before or behind it moves across. */
static inline uint64_t ticks(void)
{
    _mm_lfence();
    const uint64_t now = __rdtsc();
    _mm_lfence();
    return now;
}

/* ns of a number of ticks between two calls of it, its own cost taken off. */
double ticks_ns(uint64_t count);

/* The value below which `percent` of them lie; the values are put in order. */
double percentile(double *values, size_t count, double percent);
double median(double *values, size_t count);

/* What two rivals' times of the same turns say: the median of the turns' ratios. */
double median_ratio(const double *of, const double *to, size_t count);

/* xorshift: the same numbers in every run. Each thread brings its own seed, not 0. */
#define BENCH_SEED UINT64_C(88172645463325252)
uint64_t next_random(uint64_t *seed);

/*
 * A look at how fast the machine is just now: how long some independent arithmetic takes. What shares a core with this
 * thread slows it down, and slows a chase of pointers less. machine_slowness: the median look over the fastest one.
 */
void machine_look(void);
double machine_slowness(void);

/* Ends the program with status 1: a wrong answer, or something that cannot fail here. */
void must(bool good, const char *what);
void *get(size_t size);

#endif
