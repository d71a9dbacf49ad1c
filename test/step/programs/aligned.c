/* Locals aligned further than the stack is: rsp is masked, and the frame is found through another register. */
#include "shape.h"

#include <alloca.h>
#include <stdint.h>

SHAPE_PLACES

APART long look(const volatile char *at, long n)
{
    return (long)((uintptr_t)at % 4096) + n;
}

APART long line(long n)
{
    volatile char room[64] __attribute__((aligned(64)));
    room[n] = (char)n;
    return look(room, n) + room[n];
}

APART long many_live(long a, long b, long c, long d, long e, long f, long g, long h)
{
    volatile long room[8] __attribute__((aligned(128)));
    room[0] = a * b;
    const long x = line(a), y = line(b), z = line(c);
    room[1] = look((volatile char *)room, d) + x;
    return room[0] + room[1] + x * y * z + e + f + g + h;
}

APART long and_dynamic(long n, long a, long b, long c, long d, long e, long f, long g)
{
    volatile char room[32] __attribute__((aligned(64)));
    volatile char *more = alloca((unsigned long)n * 16);
    more[n] = room[0] = (char)n;
    return look(room, n) + look(more, n) + line(a) + line(b) + c + d + e + f + g + more[n];
}

int main(void)
{
    const long s = shape_seed;
    shape_sink += line(s);
    shape_sink += many_live(s, s, s, s, s, s, s, s);
    shape_sink += and_dynamic(s, 1, 2, 3, 4, 5, 6, 7);
    return 0;
}
