/* Frames larger than a page, and than a signed byte's and a signed short's displacement. */
#include "shape.h"

SHAPE_PLACES

APART long touch(volatile char *at, long n)
{
    for (long i = 0; i < n; i += 1024)
        at[i] = (char)i;
    return at[0];
}

APART long page(long n)
{
    volatile char room[5000];
    return touch(room, n) + touch(room + 1000, n) + n;
}

APART long pages(long n, long k)
{
    volatile char room[70000];
    const long a = page(n), b = touch(room, n);
    return a * b + k + touch(room + 60000, n) + page(k);
}

APART long small(long n)
{
    volatile char room[120];
    return touch(room, 1) + n;
}

int main(void)
{
    shape_sink += pages(shape_seed * 600, shape_seed);
    shape_sink += small(shape_seed);
    return 0;
}
