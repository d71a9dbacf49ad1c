/* Functions that do not come back: behind their calls the code of something else may begin. */
#include "shape.h"

#include <stdlib.h>

SHAPE_PLACES

__attribute__((noinline, noreturn)) void finish(long code)
{
    shape_sink += code;
    exit(0);
}

__attribute__((noinline, noreturn)) void report(long code, const char *text)
{
    volatile char room[40];
    for (int i = 0; text[i]; i++)
        room[i % 40] = text[i];
    finish(code + room[0]);
}

APART long checked(long x, long limit)
{
    if (x > limit)
        report(x, "too large");
    if (x < 0)
        report(-x, "negative");
    return x * 2;
}

APART long deep(long n, long limit)
{
    if (n == 1000)
        return limit;
    const long x = checked(n, limit);
    return deep(n + 1, limit - 1) + x;
}

int main(void)
{
    shape_sink += checked(shape_seed, 10);
    shape_sink += deep(shape_seed, 12);
    report(1, "cannot be");
}
