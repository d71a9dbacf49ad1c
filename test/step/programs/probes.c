/* step: -fstack-clash-protection */
/* Frames larger than a page, each page of them probed; frames of unknown size likewise. */
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

APART long unknown(long n)
{
    volatile char room[n * 1500];
    return touch(room, n * 1500) + n;
}

int main(void)
{
    shape_sink += pages(shape_seed * 400, shape_seed);
    shape_sink += unknown(shape_seed);
    return 0;
}
