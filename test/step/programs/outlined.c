/* step outlined: -mllvm -enable-machine-outliner=always */
/*
 * Functions with much in common, which clang's outliner takes out of them: prologues with many registers, bodies,
 * epilogues, of functions with and without frames of their own.
 */
#include "shape.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

SHAPE_PLACES

struct big {
    long v[12];
};

APART long leaf(long a, long b)
{
    shape_sink += a;
    return a * 3 + b;
}

/* Not optimised it jumps to its loop with nothing but its return address saved, as a part of a caller might. */
APART long looped(long a)
{
    long all = 0;
    for (int i = 0; i < 3; i++)
        all += leaf(a, i);
    return all;
}

APART long twice(long a)
{
    return looped(a) + looped(a + 1);
}

#define HEAVY(n)                                                                                                       \
    APART long heavy_##n(long a, long b, long c, long d, long e)                                                       \
    {                                                                                                                  \
        const long f = leaf(a, b), g = leaf(b, c), h = leaf(c, d), i = leaf(d, e), j = leaf(f, g);                     \
        return leaf(a + f, b - g) + leaf(c ^ h, d * i) + leaf(e + j, n) + f * g + h * i + j + n;                       \
    }

#define MIDDLE(n)                                                                                                      \
    APART long middle_##n(long a, long b, long c)                                                                      \
    {                                                                                                                  \
        const long f = leaf(a, b), g = leaf(b, c);                                                                     \
        return leaf(f, g) + heavy_##n(a, b, c, f, g) + n;                                                              \
    }

#define LIGHT(n)                                                                                                       \
    APART long light_##n(long a, long b)                                                                               \
    {                                                                                                                  \
        const long f = leaf(a, b);                                                                                     \
        return f == 12345 ? f : middle_##n(f, b, a) * a + b;                                                           \
    }

#define TAIL(n)                                                                                                        \
    APART long tail_##n(long a, long b, long c)                                                                        \
    {                                                                                                                  \
        const long f = light_##n(a, b);                                                                                \
        return leaf(f, c) == 0 ? light_##n(c, f) : leaf(c, f);                                                         \
    }

#define LOCALS(n)                                                                                                      \
    APART long locals_##n(long a, long b)                                                                              \
    {                                                                                                                  \
        long v[24 + n];                                                                                                \
        memset(v, (int)a, sizeof v);                                                                                   \
        v[a & 7] = tail_##n(a, b, a);                                                                                  \
        v[b & 7] = leaf(v[3], b);                                                                                      \
        return v[1] + v[2] + leaf(v[a & 3], v[b & 3]);                                                                 \
    }

#define VARIADIC(n)                                                                                                    \
    APART long variadic_##n(int count, ...)                                                                            \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        long all = n;                                                                                                  \
        va_start(list, count);                                                                                         \
        while (count-- > 0)                                                                                            \
            all += leaf(va_arg(list, long), all);                                                                      \
        va_end(list);                                                                                                  \
        return all;                                                                                                    \
    }

#define STRUCTS(n)                                                                                                     \
    APART struct big big_##n(struct big from, long a)                                                                  \
    {                                                                                                                  \
        struct big made = from;                                                                                        \
        made.v[a & 7] = leaf(from.v[2], a);                                                                            \
        made.v[3] = locals_##n(a, made.v[1]) + variadic_##n(3, a, made.v[2], a);                                       \
        return made;                                                                                                   \
    }

#define ALL(n) HEAVY(n) MIDDLE(n) LIGHT(n) TAIL(n) LOCALS(n) VARIADIC(n) STRUCTS(n)
ALL(1)
ALL(2)
ALL(3)

APART int compare(const void *a, const void *b)
{
    return (int)leaf(*(const int *)a, -3L * *(const int *)b);
}

#define USE(n)                                                                                                         \
    b = big_##n(b, shape_seed + n);                                                                                    \
    shape_sink += b.v[3];

int main(void)
{
    struct big b = { { 1, 2, 3 } };
    int numbers[] = { 4, 3, 9, 1, 7 };
    USE(1)
    USE(2)
    USE(3)
    shape_sink += twice(b.v[1]);
    qsort(numbers, sizeof numbers / sizeof *numbers, sizeof *numbers, compare);
    return 0;
}
