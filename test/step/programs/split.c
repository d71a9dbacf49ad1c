/* step once by instructions: -fsplit-stack */
/* arm64: has none */
/*
 * Stacks in segments: a prologue that finds too little room calls __morestack, which runs the function on a new one.
 * The tables of __morestack leave that prologue out: they lead to its caller.
 */
#include "shape.h"

SHAPE_PLACES

/* More than is left of a segment every few calls. */
APART long deep(long n)
{
    volatile char room[3000];
    room[n % 3000] = (char)n;
    return n == 0 ? room[0] : deep(n - 1) + room[n % 3000];
}

APART long shallow(long n)
{
    return n < 2 ? n : shallow(n - 1) + shallow(n - 2);
}

int main(void)
{
    shape_sink = deep(12 + shape_seed) + shallow(shape_seed);
    return 0;
}
