/*
 * Which threads a stop or a capture has left out, and why. Refuses to know how threads are stopped (process_threads.c)
 * and captured (process_asleep.c).
 */
#include "target/linux/process.h"

#include <stdlib.h>
#include <string.h>

enum { LEFT_OUT_FIRST = 16 };

void sw_process_forget_left_out(struct sw_process *process)
{
    process->left_out_count = 0;
}

enum sw_status sw_process_leave_out(struct sw_process *process, int tid, enum sw_left_out_why why)
{
    const struct sw_alloc *alloc = &process->alloc;
    const size_t room = process->left_out_room ? process->left_out_room * 2 : LEFT_OUT_FIRST;
    if (process->left_out_count == process->left_out_room) {
        struct sw_left_out *more = alloc->get(alloc->arg, room * sizeof *more);
        if (!more)
            return SW_E_NO_MEMORY;
        if (process->left_out) {
            memcpy(more, process->left_out, process->left_out_count * sizeof *more);
            alloc->put(alloc->arg, process->left_out, process->left_out_room * sizeof *more);
        }
        process->left_out = more;
        process->left_out_room = room;
    }
    process->left_out[process->left_out_count++] = (struct sw_left_out){ (uint64_t)tid, why };
    return SW_OK;
}

static int by_tid(const void *a, const void *b)
{
    const struct sw_left_out *x = a, *y = b;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

void sw_process_sort_left_out(struct sw_process *process)
{
    if (process->left_out_count)
        qsort(process->left_out, process->left_out_count, sizeof *process->left_out, by_tid);
}

void sw_process_drop_left_out(struct sw_process *process)
{
    if (process->left_out)
        process->alloc.put(process->alloc.arg, process->left_out, process->left_out_room * sizeof *process->left_out);
}

bool sw_process_is_left_out(const struct sw_process *process, uint64_t tid)
{
    for (size_t i = 0; i < process->left_out_count; i++)
        if (process->left_out[i].tid == tid)
            return true;
    return false;
}

size_t sw_process_left_out(const struct sw_process *process, struct sw_left_out *threads, size_t capacity)
{
    const size_t count = process ? process->left_out_count : 0;
    for (size_t i = 0; threads && i < count && i < capacity; i++)
        threads[i] = process->left_out[i];
    return count;
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
