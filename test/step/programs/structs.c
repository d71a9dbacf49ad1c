/* Structures returned: in registers, in memory, through several levels. */
#include "shape.h"

#include <string.h>

SHAPE_PLACES

struct pair {
    long a, b;
};
struct mixed {
    double x;
    long n;
};
struct big {
    long v[40];
};

APART struct pair pair_of(long a, long b)
{
    return (struct pair){ a * 2, b * 3 };
}

APART struct mixed mixed_of(long n)
{
    return (struct mixed){ (double)n / 2, n };
}

APART struct big big_of(long n)
{
    struct big made;
    memset(&made, 0, sizeof made);
    for (int i = 0; i < 40; i += 4)
        made.v[i] = n + i;
    return made;
}

APART struct big changed(struct big from, long n)
{
    const struct pair p = pair_of(n, from.v[4]);
    from.v[1] = p.a;
    from.v[2] = p.b;
    return n == 0 ? from : changed(from, n - 1);
}

int main(void)
{
    const struct pair p = pair_of(shape_seed, 2);
    const struct mixed m = mixed_of(p.a);
    const struct big b = changed(big_of(m.n), 3);
    shape_sink = b.v[1] + b.v[8] + (long)m.x + p.b;
    return 0;
}
