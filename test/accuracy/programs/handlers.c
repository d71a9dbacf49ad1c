/* Signals on an alternate stack, nested, in leaf code, out of a handler by siglongjmp; and contexts switched by hand.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static volatile unsigned count;
static sigjmp_buf out;
static ucontext_t main_context, other_context;

static int compare(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    if (x == y)
        raise(SIGUSR2);
    return x < y ? -1 : x > y;
}

static void sort_some(unsigned n)
{
    unsigned values[32];
    for (unsigned i = 0; i < 32; i++)
        values[i] = (i * 7919 + n) % 29;
    qsort(values, 32, sizeof *values, compare);
    count += values[3];
}

static void on_inner(int signal)
{
    char text[32];
    snprintf(text, sizeof text, "%d %u", signal, count);
    count += (unsigned)strlen(text);
}

static void on_outer(int signal, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    count += (unsigned)signal;
    sort_some(count);
    raise(SIGUSR2);
}

static void on_fault(int signal)
{
    (void)signal;
    siglongjmp(out, 1);
}

__attribute__((noinline)) static unsigned leaf(const volatile unsigned *p)
{
    return p[1] * 3 + p[0];
}

static void fault(void)
{
    if (sigsetjmp(out, 1) == 0)
        count += leaf(NULL);
    count++;
}

static void other(void)
{
    for (;;) {
        sort_some(count);
        swapcontext(&other_context, &main_context);
    }
}

static void handle(int signal, int flags, void (*plain)(int), void (*full)(int, siginfo_t *, void *))
{
    struct sigaction action = { 0 };
    action.sa_flags = flags;
    if (full) {
        action.sa_sigaction = full;
        action.sa_flags |= SA_SIGINFO;
    } else {
        action.sa_handler = plain;
    }
    sigaction(signal, &action, NULL);
}

int main(void)
{
    enum { STACK = 1 << 17 };
    stack_t alternate = { .ss_size = STACK };
    alternate.ss_sp = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *const stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&alternate, NULL);
    handle(SIGUSR1, SA_ONSTACK, NULL, on_outer);
    handle(SIGUSR2, 0, on_inner, NULL);
    handle(SIGSEGV, SA_ONSTACK, on_fault, NULL);
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = stack;
    other_context.uc_stack.ss_size = STACK;
    makecontext(&other_context, other, 0);
    for (unsigned i = 0; i < 12; i++) {
        raise(SIGUSR1);
        fault();
        sort_some(i);
        swapcontext(&main_context, &other_context);
    }
    printf("%u\n", count);
}
