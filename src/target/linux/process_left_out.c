/*
 * The threads that a stop or a capture leaves out, in their order, and the words for why. Refuses to know how threads
 * are stopped (process_threads.c) and captured (process_asleep.c).
 */
#include "target/linux/process.h"

#include <stdlib.h>

static int by_tid(const void *a, const void *b)
{
    const struct sw_left_out *x = a, *y = b;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

void sw_process_sort_left_out(struct sw_process *process)
{
    if (process->left_out.count)
        qsort(process->left_out.rows, process->left_out.count, sizeof *process->left_out.rows, by_tid);
}

size_t sw_process_left_out(const struct sw_process *process, struct sw_left_out *threads, size_t capacity)
{
    return process ? sw_left_out_copy(&process->left_out, threads, capacity) : 0;
}

const char *sw_left_out_text(enum sw_left_out_why why)
{
    static const char *const texts[] = { /* ORDER sw_left_out_why */
                                         [SW_LEFT_OUT_SLEEPS] = "in uninterruptible sleep",
                                         [SW_LEFT_OUT_STAYS] = "did not leave the kernel in time",
                                         [SW_LEFT_OUT_RUNS] = "running"
    };
    return (size_t)why < sizeof texts / sizeof texts[0] ? texts[why] : "?";
}
