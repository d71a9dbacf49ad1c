/*
 * Signal handlers: in a loop, in a leaf with its locals below the stack pointer, nested, and on a stack of their own.
 */
#include "shape.h"

#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

#if defined(__aarch64__)
#define LOAD_FROM_NOWHERE  __asm__ volatile("mov x9, #0\n\tldr x9, [x9]" ::: "x9", "memory")
#define SKIP_LOAD(context) ((context)->uc_mcontext.pc += 4)
#else
#define LOAD_FROM_NOWHERE  __asm__ volatile("xor %%eax, %%eax\n\tmov (%%rax), %%eax" ::: "rax", "memory")
#define SKIP_LOAD(context) ((context)->uc_mcontext.gregs[REG_RIP] += 2)
#endif

SHAPE_PLACES

static char other_stack[65536] __attribute__((aligned(16)));

APART long work(long n)
{
    volatile long v[6] = { n, 1, 2, 3, 4, 5 };
    return v[n & 3] + v[4];
}

static void second(int number)
{
    shape_sink += work(number);
}

static void first(int number, siginfo_t *info, void *context)
{
    shape_sink += work(number) + (info != NULL) + (context != NULL);
    raise(SIGUSR2);
}

APART long interrupted(long n)
{
    long sum = n;
    for (int i = 0; i < 3; i++)
        sum += work(sum);
    LOAD_FROM_NOWHERE;
    return sum * 2;
}

/* Goes on behind the load from nowhere. */
static void caught(int number, siginfo_t *info, void *context)
{
    shape_sink += work(number) * 2 + (info != NULL);
    SKIP_LOAD((ucontext_t *)context);
}

int main(void)
{
    const stack_t stack = { .ss_sp = other_stack, .ss_size = sizeof other_stack };
    struct sigaction action = { .sa_sigaction = first, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    action = (struct sigaction){ .sa_handler = second };
    sigaction(SIGUSR2, &action, NULL);
    action = (struct sigaction){ .sa_sigaction = caught, .sa_flags = SA_SIGINFO };
    sigaction(SIGSEGV, &action, NULL);
    raise(SIGUSR1);
    shape_sink += interrupted(shape_seed);
    raise(SIGUSR2);
    return 0;
}
