/* Recursion: one function, two that call each other, one with many live values. */
#include "shape.h"

SHAPE_PLACES

APART long fibonacci(long n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

APART long is_odd(long n);

APART long is_even(long n)
{
    return n == 0 ? shape_sink++ : is_odd(n - 1) + 1;
}

APART long is_odd(long n)
{
    return n == 0 ? 0 : is_even(n - 1) * 3;
}

APART long hanoi(int discs, int from, int to, int over, long *moves, long weight)
{
    if (discs == 0)
        return weight;
    const long before = hanoi(discs - 1, from, over, to, moves, weight + from);
    moves[to] += before;
    const long after = hanoi(discs - 1, over, to, from, moves, weight - to);
    return before * from + after * to + over;
}

int main(void)
{
    long moves[3] = { 0 };
    shape_sink += fibonacci(shape_seed + 1);
    shape_sink += is_even(shape_seed * 2);
    shape_sink += hanoi((int)shape_seed - 1, 0, 1, 2, moves, shape_seed);
    return 0;
}
