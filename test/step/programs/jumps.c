/* setjmp and longjmp, over several frames, out of a callback, again and again. */
#include "shape.h"

#include <setjmp.h>

SHAPE_PLACES

static jmp_buf place;

APART void leap(int code)
{
    longjmp(place, code);
}

APART long down(int n, long k)
{
    if (n == 0)
        leap((int)k);
    return down(n - 1, k + 1) * 3;
}

APART long guarded(int n)
{
    volatile long seen = 0;
    const int code = __builtin_expect(setjmp(place), 0);
    if (code < 4)
        seen += down(n, code);
    return seen + code;
}

APART long around(void)
{
    return guarded((int)shape_seed) + guarded(1);
}

int main(void)
{
    shape_sink += around();
    return 0;
}
