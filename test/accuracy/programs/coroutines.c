/* Coroutines of makecontext, on stacks that lie side by side in one mapping: each works, yields deep in its calls, and
 * ends by return into uc_link. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { COROUTINES = 6, STACK = 32768, ROUNDS = 100000 };

static ucontext_t scheduler, contexts[COROUTINES];
static int is_over[COROUTINES], current;
static volatile unsigned sum;

__attribute__((noinline)) static void yield(void)
{
    swapcontext(&contexts[current], &scheduler);
}

static int compare(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    if (x == y)
        yield(); /* with qsort's frames between */
    return x < y ? -1 : x > y;
}

__attribute__((noinline)) static void sort_some(unsigned n)
{
    unsigned values[16];
    for (unsigned i = 0; i < 16; i++)
        values[i] = (i * 7919 + n) % 13;
    qsort(values, 16, sizeof *values, compare);
    sum += values[3];
}

__attribute__((noinline)) static unsigned descend(unsigned n)
{
    char text[32];
    snprintf(text, sizeof text, "%u", n);
    if (n % 4 == 1)
        yield();
    return n == 0 ? (unsigned)strlen(text) : descend(n - 1) + (unsigned)strlen(text);
}

static void work(int n)
{
    for (unsigned i = 0; i < 3; i++) {
        sort_some((unsigned)n + i);
        sum += descend(6 + i);
        yield();
    }
    is_over[n] = 1;
}

static void start(int n, char *stacks)
{
    is_over[n] = 0;
    getcontext(&contexts[n]);
    contexts[n].uc_stack.ss_sp = stacks + n * STACK;
    contexts[n].uc_stack.ss_size = STACK;
    contexts[n].uc_link = &scheduler;
    makecontext(&contexts[n], (void (*)(void))work, 1, n);
}

static void run_all(char *stacks)
{
    int left = COROUTINES;
    for (int n = 0; n < COROUTINES; n++)
        start(n, stacks);
    while (left > 0)
        for (current = 0; current < COROUTINES; current++)
            if (!is_over[current]) {
                swapcontext(&scheduler, &contexts[current]);
                left -= is_over[current];
            }
}

int main(void)
{
    char *stacks = mmap(NULL, COROUTINES * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < ROUNDS; i++)
        run_all(stacks);
    printf("%u\n", sum);
    return 0;
}
