/* Frames whose size is known at run time only: alloca, arrays of variable length, in loops and in branches. */
#include "shape.h"

#include <alloca.h>

SHAPE_PLACES

APART long fill(long *to, long n, long from)
{
    for (long i = 0; i < n; i++)
        to[i] = from + i;
    return to[n - 1];
}

APART long vla(long n)
{
    long v[n];
    long sum = fill(v, n, n);
    for (long i = 0; i < n; i++) {
        long w[i + 1];
        sum += fill(w, i + 1, v[i]);
    }
    return sum;
}

APART long in_branch(long n, long k)
{
    if (n < 3)
        return k;
    if (n & 1) {
        long *v = alloca((unsigned long)n * 8);
        k += fill(v, n, k);
    }
    return k + fill(&k, 1, n);
}

APART long many_live(long a, long b, long c, long d)
{
    long *v = alloca((unsigned long)(a + b) * 8);
    const long x = fill(v, a, b), y = fill(v, b, c), z = fill(v, c, d);
    return in_branch(x, y) + in_branch(y, z) + a * b + c * d + x * y * z;
}

int main(void)
{
    const long s = shape_seed;
    shape_sink += vla(s);
    shape_sink += in_branch(s, 1) + in_branch(s + 1, 2) + in_branch(1, 3);
    shape_sink += many_live(s, s + 1, s + 2, s + 3);
    return 0;
}
