/* Early exits before a frame is made, several epilogues, frames made late or only on one way. */
#include "shape.h"

SHAPE_PLACES

APART long helper(long x)
{
    shape_sink++;
    return x ^ 3;
}

APART long early(long n, long k)
{
    if (n == 0)
        return k;
    if (n == 1)
        return k + 1;
    const long a = helper(n), b = helper(k), c = helper(a);
    if (a > b)
        return a * c;
    return helper(b) + c * k;
}

APART long late(const long *v, long n)
{
    long sum = 0;
    for (long i = 0; i < n; i++) {
        if (v[i] < 0)
            return sum + helper(i) * helper(sum) + v[i];
        sum += v[i];
    }
    return sum;
}

APART long several(long op, long x, long y, long z)
{
    if (op & 1) {
        x = helper(x);
        if (op & 2)
            return x + y;
        y = helper(y) + x;
        if (op & 4)
            return helper(y) * z + x;
    }
    if (op & 8) {
        volatile long room[20];
        room[op] = helper(z);
        return room[op] + x * y;
    }
    return op + z;
}

int main(void)
{
    const long v[] = { 1, 2, 3, -4, 5 };
    for (long n = 0; n < 4; n++)
        shape_sink += early(n, shape_seed);
    shape_sink += late(v, 3) + late(v, shape_seed);
    for (long op = 0; op < 16; op++)
        shape_sink += several(op, 1, shape_seed, op);
    return 0;
}
