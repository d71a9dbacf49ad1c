/* Floating point and vectors: values kept over calls in memory, vector locals, conversions by hand-made constants. */
#include "shape.h"

#include <math.h>

SHAPE_PLACES

typedef float vector __attribute__((vector_size(16)));

APART double half(double x)
{
    return x / 2;
}

APART double root(double x)
{
    double r = x;
    for (int i = 0; i < 3; i++)
        r = half(r + x / r);
    return r;
}

APART double many_live(double a, double b, double c, double d, double e)
{
    const double x = root(a), y = root(b), z = root(c);
    return x * y * z + a * b + c * d + e + half(x - y);
}

APART float across(vector v, vector w)
{
    vector u = v * w + v;
    u[0] += (float)half(u[1]);
    return u[0] + u[2] * u[3];
}

APART long converted(unsigned long n, long double x)
{
    return (long)(float)n + (long)(x * 2) + (long)half((double)n);
}

int main(void)
{
    const vector v = { 1, 2, 3, (float)shape_seed };
    shape_sink += (long)many_live((double)shape_seed, 2, 3, 4, 5);
    shape_sink += (long)across(v, v) + converted((unsigned long)shape_seed, 3.5L);
    return 0;
}
