/* Calls of library functions, each bound when it is called first; calls of functions that are chosen at start (IFUNC).
 */
#ifndef STEP_CALLS_H
#define STEP_CALLS_H

#include "shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

SHAPE_PLACES

static long add_one(long x)
{
    return x + 1;
}

static long add_two(long x)
{
    return x + 2;
}

/* Runs while the program is relocated: no other function may be called here. */
static long (*choose_one(void))(long)
{
    return add_one;
}

static long (*choose_two(void))(long)
{
    return add_two;
}

long chosen_one(long x) __attribute__((ifunc("choose_one")));
long chosen_two(long x) __attribute__((ifunc("choose_two")));

static int backwards(const void *a, const void *b)
{
    return (int)(chosen_one(*(const unsigned char *)b) - chosen_one(*(const unsigned char *)a));
}

/* Those that libc itself chooses at start, by what the processor can do. */
APART long strings(long n)
{
    char a[64], b[64];
    memset(a, 'a' + (int)n, sizeof a);
    a[40] = 0;
    strcpy(b, a);
    memmove(b + 1, b, 20);
    strncat(b, "xyz", 2);
    b[7] = 'q';
    return (long)strlen(b) + strcmp(a, b) + (strchr(b, 'q') - b) + (long)strspn(b, "abc") + memcmp(a, b, 40) +
           (strrchr(b, 'q') - b) + (strstr(b, "qa") ? 1 : 0) + (long)strnlen(b, 9) + (long)wcslen(L"wide");
}

/* Arguments in vector registers have to outlive the binding. */
APART double numbers(double x, double y, double z)
{
    const div_t d = div((int)x, 3);
    return pow(x, y) + ldexp(x, d.rem) + fma(x, y, z);
}

APART long callbacks(unsigned char *bytes, size_t size)
{
    const unsigned char wanted = bytes[0];
    qsort(bytes, size, 1, backwards);
    const unsigned char *found = bsearch(&wanted, bytes, size, 1, backwards);
    return found ? found - bytes : -1;
}

static int all_calls(void)
{
    unsigned char bytes[] = { 3, 1, 2 };
    long (*volatile through)(long) = chosen_two;
    shape_sink += strings(shape_seed);
    shape_sink += (long)numbers((double)shape_seed, 2.0, 3.0);
    shape_sink += callbacks(bytes, sizeof bytes);
    shape_sink += chosen_one(1) + chosen_two(2) + through(3);
    shape_sink += strtol("-7", NULL, 10) + (long)time(NULL);
    free(calloc(3, 7));
    return 0;
}

#endif
