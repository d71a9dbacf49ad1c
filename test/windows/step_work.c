/* What compilers make of C: each kind of frame once. */
#include "step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#define APART __attribute__((noinline, noclone))

static volatile unsigned sink;
static volatile bool jumps = true;

static APART unsigned leaf(unsigned a, unsigned b)
{
    return a * 31 + b;
}

static APART unsigned tail(unsigned a)
{
    return leaf(a + 1, a);
}

static APART unsigned recurse(unsigned depth, unsigned seed)
{
    volatile char room[40];
    room[seed % sizeof room] = (char)seed;
    return depth ? recurse(depth - 1, seed * 2654435761u) + (unsigned)room[seed % sizeof room] : leaf(seed, 1);
}

static APART unsigned many(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f)
{
    const unsigned x = leaf(a, b), y = leaf(c, d), z = leaf(e, f), w = leaf(x, y), v = leaf(z, w), u = leaf(v, x);
    return leaf(x + y, z) + leaf(w, v + u) + x * y + z * w + v * u + a * b + c * d + e * f;
}

static APART double floats(double a, unsigned n)
{
    double x = a, y = a * 2, z = a + 3;
    for (unsigned i = 0; i < n; i++) {
        x += y * (double)leaf(i, n);
        y -= z / (x + 1);
        z *= 1.5;
    }
    return x + y + z;
}

static APART unsigned dynamic(unsigned size)
{
    volatile char *room = __builtin_alloca(size);
    room[0] = room[size - 1] = (char)size;
    return leaf((unsigned)room[0], size) + (unsigned)room[size - 1];
}

static APART unsigned big(unsigned seed)
{
    volatile char room[20000];
    room[seed % sizeof room] = 1;
    return (unsigned)room[(seed + 1) % sizeof room] + tail(seed);
}

static APART unsigned choose(unsigned n)
{
    switch (n % 8) {
    case 0:
        return leaf(n, 1) + 1;
    case 1:
        return tail(n) + 2;
    case 2:
        return recurse(2, n) + 3;
    case 3:
        return leaf(n, 4);
    case 4:
        return dynamic(n % 100 + 1) + 5;
    case 5:
        return n;
    case 6:
        return many(n, 1, 2, 3, 4, 5);
    default:
        return tail(n);
    }
}

static APART unsigned sum(unsigned count, ...)
{
    va_list list;
    unsigned total = 0;
    va_start(list, count);
    for (unsigned i = 0; i < count; i++)
        total += leaf(va_arg(list, unsigned), total);
    va_end(list);
    return total;
}

static APART unsigned through(unsigned (*function)(unsigned), unsigned a)
{
    return function(a) + 1;
}

static jmp_buf back;

static APART void jump(unsigned depth)
{
    if (depth != 0)
        jump(depth - 1);
    else if (jumps)
        longjmp(back, 1);
    sink++;
}

static APART void jump_back(unsigned depth)
{
    if (setjmp(back) == 0)
        jump(depth);
    arm();
    sink += leaf(depth, 1);
}

void work_in_c(unsigned seed)
{
    sink += tail(seed) + recurse(seed % 6, seed) + many(1, 2, 3, 4, 5, seed) + (unsigned)floats(1.0 + seed, 3);
    sink +=
        dynamic(seed % 9000 + 1) + big(seed) + sum(4, 1u, 2u, 3u, seed) + through(choose, seed) + through(tail, seed);
    for (unsigned i = 0; i < 8; i++)
        sink += choose(seed + i);
    jump_back(seed % 4);
}
