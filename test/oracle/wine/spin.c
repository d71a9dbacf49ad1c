/* Spins at the bottom of a known stack, with the C library's qsort in the middle: inner, outer, compare, ..., main. */
#include <stdlib.h>

static volatile int going = 1;

__attribute__((noinline)) static int inner(int a)
{
    while (going)
        a++;
    return a;
}

__attribute__((noinline)) static int outer(int a)
{
    return inner(a) + 1;
}

static int compare(const void *a, const void *b)
{
    return outer(*(const int *)a - *(const int *)b);
}

int main(void)
{
    int numbers[4] = { 4, 3, 2, 1 };
    qsort(numbers, 4, sizeof numbers[0], compare);
    return numbers[0];
}
