/* Functions that call nothing: without a frame, with locals below the stack pointer, with every register in use. */
#include "shape.h"

SHAPE_PLACES

APART long plain(long a, long b)
{
    return a * b + 1;
}

APART void nothing(void)
{
}

APART long below(long n)
{
    volatile long v[12];
    for (int i = 0; i < 12; i++)
        v[i] = n + i;
    return v[n & 7] + v[3];
}

APART long crowded(const volatile long *p)
{
    const long a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5], g = p[6], h = p[7];
    long i = a * h, j = b * g, k = c * f, l = d * e, sum = 0;
    for (int n = 0; n < 3; n++) {
        sum += a * i + b * j + c * k + d * l;
        i += e, j += f, k += g, l += h;
    }
    return sum + (i ^ j ^ k ^ l) + (a | h);
}

int main(void)
{
    volatile long v[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    nothing();
    shape_sink += plain(shape_seed, 3) + below(shape_seed) + crowded(v);
    nothing();
    return 0;
}
