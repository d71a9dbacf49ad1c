/* More arguments than registers, structures passed on the stack, calls inside of argument lists. */
#include "shape.h"

SHAPE_PLACES

struct big {
    long v[9];
};

APART long ten(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{
    return a - b + c * d - e + f * g - h + i * j;
}

APART long by_value(struct big x, long k, struct big y)
{
    long sum = 0;
    for (int i = 0; i < 9; i++)
        sum += x.v[i] * k - y.v[8 - i];
    return sum;
}

APART long forward(long a, long b, long c, long d, long e, long f, long g, long h)
{
    struct big x = { { a, b, c, d, e, f, g, h, a } };
    struct big y = x;
    y.v[shape_seed] = ten(h, g, f, e, d, c, b, a, ten(a, b, c, d, e, f, g, h, 1, 2), 3);
    return by_value(x, y.v[2], y) + a + b + c + d + e + f + g + h;
}

APART long narrow(char a, short b, int c, signed char d, unsigned short e, int f, char g, short h, int i)
{
    return a + b + c + d + e + f + ten(g, h, i, a, b, c, d, e, f, g);
}

int main(void)
{
    const long s = shape_seed;
    shape_sink += forward(s, s + 1, s + 2, s + 3, s + 4, s + 5, s + 6, s + 7);
    shape_sink += narrow((char)s, (short)s, (int)s, (signed char)s, (unsigned short)s, 6, 7, 8, 9);
    return 0;
}
