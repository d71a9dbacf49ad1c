/* Callbacks through a library's code, function pointers in tables, calls through the PLT bound on first use. */
#include "shape.h"

#include <stdlib.h>
#include <string.h>

SHAPE_PLACES

static int compare(const void *a, const void *b)
{
    const long x = *(const long *)a, y = *(const long *)b;
    shape_sink++;
    return x < y ? -1 : x > y;
}

APART long apply(long (*f)(long), long x)
{
    return f(x) + 1;
}

APART long twice(long x)
{
    return x * 2;
}

APART long deeper(long x)
{
    return x > 20 ? x : apply(deeper, x * 2) + apply(twice, x);
}

static long (*const table[])(long) = { twice, deeper, labs };

int main(void)
{
    long v[] = { 5, 3, 9, 1, 7, 2 };
    const long wanted = 7;
    qsort(v, sizeof v / sizeof *v, sizeof *v, compare);
    const long *found = bsearch(&wanted, v, sizeof v / sizeof *v, sizeof *v, compare);
    for (unsigned i = 0; i < 3; i++)
        shape_sink += apply(table[i], found ? -*found : 1);
    shape_sink += (long)strlen(getenv("PATH") ? "path" : "none");
    return 0;
}
