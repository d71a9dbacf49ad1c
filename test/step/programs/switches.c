/* Switches by jump table, their cases with calls; a threaded interpreter; a case that is hardly ever taken. */
#include "shape.h"

SHAPE_PLACES

APART long one(long x)
{
    return x * 7 + 1;
}

APART long dispatch(int op, long x, long y)
{
    switch (op) {
    case 0:
        return one(x);
    case 1:
        return one(y) + x;
    case 2:
        x += one(x);
        break;
    case 3:
        y *= one(y);
        break;
    case 4:
        x = y - one(x - y);
        break;
    case 5:
        return x;
    case 6:
        y = one(one(x));
        break;
    case 7:
        x ^= y;
    /* fall through */
    case 8:
        x += one(y);
        break;
    case 9:
        return one(x) * one(y);
    default:
        return -1;
    }
    return one(x + y);
}

APART void failed(long code)
{
    shape_sink -= code;
}

APART long interpret(const unsigned char *code, long x)
{
    static const void *const labels[] = { &&add, &&call, &&swap, &&drop, &&stop };
    long y = shape_seed, z = 1;
#define NEXT goto *labels[*code++]
    NEXT;
add:
    x += y;
    NEXT;
call:
    x = dispatch((int)(x & 7), x, y);
    NEXT;
swap:
    z = x, x = y, y = z;
    NEXT;
drop:
    y = one(z);
    NEXT;
stop:
    if (__builtin_expect(x == 0x7fffffff, 0))
        failed(x + y + z);
    return x + y + z;
}

int main(void)
{
    static const unsigned char code[] = { 0, 1, 2, 3, 1, 0, 2, 1, 1, 3, 4 };
    for (int op = -1; op <= 10; op++)
        shape_sink += dispatch(op, shape_seed, op);
    shape_sink += interpret(code, shape_seed);
    return 0;
}
