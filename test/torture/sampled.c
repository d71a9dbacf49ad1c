/*
 * sampled WORK SECONDS PERIOD: threads that do WORK are interrupted each PERIOD microseconds, and walk in the handler.
 * Walks end at the root of their stacks, what is always registered is always found, and nothing is left over.
 */
#include "../support/inside.h"
#include "../support/nap.h"

#include <snapwalk/image.h>

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { THREADS = 4, STACK = 256 << 10, CONTEXTS = 3, MANY_NAMES = 64 };

static double end_at;
static _Atomic unsigned long turns, busy;

static bool go_on(void)
{
    return seconds_now() < end_at;
}

/* Deep enough to be worth a walk, and not to be made a loop. */
static __attribute__((noinline)) unsigned call_down(unsigned depth, unsigned value)
{
    volatile unsigned sum = value;
    for (unsigned i = 0; i < 50; i++)
        sum += i * depth;
    return depth ? sum + call_down(depth - 1, sum) : sum;
}

/* ---- what threads do; each returns when it is over ---- */

static void *live_shortly(void *arg)
{
    const double until = seconds_now() + 3e-6 * (double)scene.period_us;
    begin_sampling(false);
    for (unsigned i = 0; seconds_now() < until; i++)
        (void)call_down(20, i);
    end_sampling();
    turns++;
    return arg;
}

static void *come_and_go(void *arg)
{
    while (go_on()) {
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], NULL, live_shortly, NULL) != 0)
                abort();
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    return arg;
}

static void *open_and_close(void *arg)
{
    static const char *const names[] = { "libm.so.6", "libthread_db.so.1", "libanl.so.1", "libutil.so.1" };
    begin_sampling(false);
    for (unsigned i = 0; go_on(); i++, turns++) {
        void *library = dlopen(names[i % 4], RTLD_NOW | RTLD_LOCAL);
        (void)call_down(5, i);
        if (library)
            dlclose(library);
    }
    end_sampling();
    return arg;
}

/* Beside it: the images follow what is opened and closed. */
static void *refresh(void *arg)
{
    while (go_on()) {
        const enum sw_status status = sw_images_add_self(scene.images);
        if (status != SW_OK && status != SW_E_BUSY)
            abort();
        turns++;
    }
    return arg;
}

/* Two of them: each has ranges of its own, and is told when the other one is inside. */
static void *change_map(void *arg)
{
    const uint64_t base = UINT64_C(0x100000) + (uint64_t)(uintptr_t)arg * 0x1000000;
    begin_sampling(false);
    for (uint64_t i = 0; go_on(); i++) {
        const uint64_t begin = base + i * 7919 % 4096 * 64;
        const struct sw_range range = { .begin = begin, .end = begin + 64, .id = 2, .kind = SW_KIND_JIT };
        const enum sw_status status =
            i % 3 ? sw_codemap_add(scene.codemap, &range) : sw_codemap_remove(scene.codemap, begin);
        if (status != SW_OK && status != SW_E_BUSY && status != SW_E_OVERLAP && status != SW_E_NOT_FOUND)
            abort();
        busy += status == SW_E_BUSY;
        turns++;
    }
    end_sampling();
    return arg;
}

/* Coroutines of makecontext that hand over to each other. */
static _Thread_local ucontext_t contexts[CONTEXTS + 1];
static _Thread_local int current;

static void be_coroutine(void)
{
    for (;;) {
        (void)call_down(6, 1);
        const int from = current;
        current = go_on() ? (from + 1) % CONTEXTS : CONTEXTS;
        turns++;
        swapcontext(&contexts[from], &contexts[current]);
    }
}

static void *switch_contexts(void *arg)
{
    char *stacks = malloc(CONTEXTS * STACK);
    for (int i = 0; i < CONTEXTS; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks + i * STACK;
        contexts[i].uc_stack.ss_size = STACK;
        contexts[i].uc_link = &contexts[CONTEXTS];
        makecontext(&contexts[i], be_coroutine, 0);
    }
    current = 0;
    begin_sampling(true);
    swapcontext(&contexts[CONTEXTS], &contexts[0]);
    end_sampling();
    free(stacks);
    return arg;
}

/* A handler on an alternate stack, in which another one runs on a second alternate stack, and is sampled there. */
static void on_second(int number)
{
    (void)number;
    (void)call_down(10, 3);
    turns++;
}

static void on_first(int number)
{
    static _Thread_local char second[STACK];
    const stack_t stack = { .ss_sp = second, .ss_size = sizeof second };
    (void)number;
    if (sigaltstack(&stack, NULL) != 0)
        abort();
    (void)call_down(5, 2);
    raise(SIGUSR2);
}

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1u << 31)
#endif

static void *nest_stacks(void *arg)
{
    char *first = malloc(STACK);
    const struct sigaction actions[] = { { .sa_handler = on_first, .sa_flags = SA_ONSTACK },
                                         { .sa_handler = on_second, .sa_flags = SA_ONSTACK } };
    const stack_t stack = { .ss_sp = first, .ss_size = STACK, .ss_flags = (int)SS_AUTODISARM };
    stack_t before;
    sigaction(SIGUSR1, &actions[0], NULL);
    sigaction(SIGUSR2, &actions[1], NULL);
    sigaltstack(&stack, &before);
    begin_sampling(true);
    while (go_on())
        raise(SIGUSR1);
    end_sampling();
    sigaltstack(&before, NULL);
    free(first);
    return arg;
}

/* ---- all of it ---- */

/* Its own functions take more than a budget, where a handler interrupts them. */
static bool has_thread_sanitizer(void)
{
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
    return true;
#endif
#endif
    return false;
}

static const struct work {
    const char *name;
    void *(*run)(void *arg);
    void *(*beside)(void *arg);
    unsigned threads;
    bool may_be_cut; /* in a library that is open, but not registered yet */
} works[] = {
    { "threads", come_and_go, NULL, 1, false },   { "loader", open_and_close, refresh, 1, true },
    { "churn", change_map, NULL, 2, false },      { "contexts", switch_contexts, NULL, 2, false },
    { "alternate", nest_stacks, NULL, 2, false },
};

static void run(const struct work *work, double seconds)
{
    pthread_t threads[THREADS];
    end_at = seconds_now() + seconds;
    for (unsigned i = 0; i < work->threads; i++)
        if (pthread_create(&threads[i], NULL, work->run, (void *)(uintptr_t)i) != 0)
            abort();
    if (work->beside)
        (void)work->beside(NULL);
    for (unsigned i = 0; i < work->threads; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    const double seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
    const struct work *work = NULL;
    for (size_t i = 0; i < sizeof works / sizeof works[0]; i++)
        if (argc > 1 && strcmp(argv[1], works[i].name) == 0)
            work = &works[i];
    if (!work || !make_scene(argc > 3 ? atol(argv[3]) : 100))
        return 2;
    run(work, seconds / 4); /* what the C library keeps is there afterwards */
    const struct holdings before = count_holdings();
    run(work, seconds);
    const struct holdings during = before;
    free_scene();
    const bool is_clean = nothing_leaked(&during, &scene.account);
    printf("%lu samples, %.1f frames each, %lu whole, %lu cut (first: %s), %lu lost, %lu turns, %lu busy\n",
           sampled.samples, sampled.samples ? (double)sampled.frames / (double)sampled.samples : 0, sampled.whole,
           sampled.cut, sw_stop_name((enum sw_stop)sampled.first_cut), sampled.lost, turns, busy);
    return !is_clean || sampled.samples < 10 ||
           (sampled.cut > (work->may_be_cut ? sampled.samples / 10 : 0) && !has_thread_sanitizer()) || sampled.lost;
}
