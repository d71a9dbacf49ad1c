/*
 * Calls in tail position: direct, through a pointer, out of frames that were in use before, and to each other in turn.
 */
#include "shape.h"

SHAPE_PLACES

APART long end(long a, long b)
{
    shape_sink += a;
    return a - b;
}

APART long direct(long a, long b)
{
    return end(b, a);
}

APART long used(long a, long b)
{
    const long x = direct(a, b), y = direct(b, x);
    if (x > y)
        return end(x, y + a);
    return direct(y, x + b);
}

APART long pointed(long (*f)(long, long), long a, long b)
{
    return f(a + 1, b);
}

APART long pointed_used(long (*const *f)(long, long), long a, long b)
{
    const long x = f[0](a, b), y = f[1](x, a);
    return f[2](x + y, a + b);
}

APART long pong(long n, long k);

APART long ping(long n, long k)
{
    return n == 0 ? k : pong(n - 1, k + n);
}

APART long pong(long n, long k)
{
    shape_sink = end(n, k);
    return n == 0 ? k : ping(n - 1, k ^ n);
}

static long (*const table[])(long, long) = { direct, used, end };

int main(void)
{
    shape_sink += used(shape_seed, 2) + used(1, shape_seed);
    shape_sink += pointed(used, shape_seed, 3) + pointed_used(table, shape_seed, 4);
    shape_sink += ping(shape_seed * 3, 1);
    return 0;
}
