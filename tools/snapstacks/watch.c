/*
 * Samples: the stacks of all threads some 50 times a second, less often where the process would stand for more than a
 * twentieth of the time. What a thread has used of a processor is the kernel's account (schedstat), so that a thread
 * that waits costs nothing, and one that was not seen running is not forgotten.
 *
 * Source: Linux Documentation/scheduler/sched-stats.rst, /proc/PID/schedstat: nanoseconds on the processor come first.
 */
#include "watch.h"

#include "refuse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_NS = 20000000, STANDS_MOST = 20 /* one part in so many */, LEAST = 2 /* samples */ };

/* What threads had used at the last sample, by ascending id. */
struct usage {
    uint64_t tid, ns;
};

struct usages {
    struct usage *at;
    size_t count;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t used_ns(int pid, uint64_t tid)
{
    char path[80];
    uint64_t ns = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%" PRIu64 "/schedstat", pid, tid);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%" SCNu64, &ns) != 1)
        ns = 0;
    if (file)
        fclose(file);
    return ns;
}

static int by_tid(const void *a, const void *b)
{
    const uint64_t x = ((const struct usage *)a)->tid, y = ((const struct usage *)b)->tid;
    return (x > y) - (x < y);
}

/* Adds what each thread has used since the last sample. Of a thread that is new, nothing is known yet. */
static void add_sample(const struct target *target, const struct stacks *stacks, struct usages *last, struct hot *hot)
{
    struct usages now = { calloc(stacks->count ? stacks->count : 1, sizeof *now.at), stacks->count };
    must(now.at ? SW_OK : SW_E_NO_MEMORY, "samples");
    for (size_t i = 0; i < stacks->count; i++) {
        const struct stack *stack = &stacks->at[i];
        now.at[i] = (struct usage){ stack->tid, used_ns(target->pid, stack->tid) };
        const struct usage *before =
            last->count ? bsearch(&now.at[i], last->at, last->count, sizeof *last->at, by_tid) : NULL;
        if (before && now.at[i].ns > before->ns)
            hot_add(hot, stack, now.at[i].ns - before->ns);
    }
    free(last->at);
    *last = now;
}

static void say_progress(uint64_t begin, uint64_t now, unsigned seconds, unsigned samples)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\rsnapstacks: %" PRIu64 " of %u s, %u samples ", (now - begin) / 1000000000u, seconds,
                samples);
}

/* Not longer than the time that is left: the first two samples are always taken, for one alone says nothing. */
static void rest(uint64_t stopped_ns, uint64_t end)
{
    const uint64_t now = now_ns(), left = now < end ? end - now : 0;
    const uint64_t least = STANDS_MOST * stopped_ns, wanted = least > PERIOD_NS ? least : PERIOD_NS;
    const uint64_t ns = wanted < left ? wanted : left;
    const struct timespec time = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
    nanosleep(&time, NULL);
}

unsigned watch(struct target *target, struct names *names, unsigned seconds, struct hot *hot)
{
    const uint64_t begin = now_ns(), end = begin + seconds * UINT64_C(1000000000);
    struct usages last = { NULL, 0 };
    unsigned samples = 0;
    do {
        struct stacks stacks;
        stacks_take(&stacks, target, names);
        target_let_go(target);
        add_sample(target, &stacks, &last, hot);
        stacks_free(&stacks);
        say_progress(begin, now_ns(), seconds, ++samples);
        rest(sw_process_stopped_ns(target->process), end);
    } while ((samples < LEAST || now_ns() < end) && target_again(target));
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    free(last.at);
    return samples;
}
