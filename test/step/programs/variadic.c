/* Variable arguments: the register save area, forwarding, floating arguments. */
#include "shape.h"

#include <stdarg.h>
#include <stdio.h>

SHAPE_PLACES

APART long sum(int n, ...)
{
    va_list list;
    long total = 0;
    va_start(list, n);
    for (int i = 0; i < n; i++)
        total += va_arg(list, long);
    va_end(list);
    return total;
}

APART double mean(int n, ...)
{
    va_list list;
    double total = 0;
    va_start(list, n);
    for (int i = 0; i < n; i++)
        total += i & 1 ? va_arg(list, double) : (double)va_arg(list, int);
    va_end(list);
    return total / n;
}

APART long text(char *to, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const long n = vsnprintf(to, 40, format, list);
    va_end(list);
    return n;
}

int main(void)
{
    char line[40];
    shape_sink += sum(9, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, shape_seed);
    shape_sink += (long)mean(4, 1, 2.5, 3, 4.5);
    shape_sink += text(line, "%ld %s %x", shape_seed, "x", 3);
    return 0;
}
