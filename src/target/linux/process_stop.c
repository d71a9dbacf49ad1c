/*
 * What was read of a process that stands, and when it is old; and what was captured of it. Refuses to know how it is
 * read (process_walker.c, process_capture.c).
 */
#include "target/linux/process.h"

#include <stdlib.h>

size_t sw_process_stack_most(size_t stack_bytes)
{
    return stack_bytes == 0 ? SW_STACK_DEFAULT : stack_bytes < SW_STACK_MOST ? stack_bytes : SW_STACK_MOST;
}

void sw_process_drop_stop(struct sw_process *process)
{
    struct sw_process_stop *stop = &process->stop;
    const struct sw_alloc *alloc = &process->alloc;
    if (stop->copies)
        alloc->put(alloc->arg, stop->copies, stop->copy_room * sizeof *stop->copies);
    if (stop->store)
        alloc->put(alloc->arg, stop->store, stop->store_room);
    sw_page_cache_drop(&stop->pages, alloc);
    *stop = (struct sw_process_stop){ 0 };
}

void sw_process_forget_stop(struct sw_process *process)
{
    process->is_adopted = process->stop.is_begun = process->maps_valid = false;
    process->stop.stack_bytes = 0;
}

/* ---- what was captured ---- */

static int by_tid(const void *a, const void *b)
{
    const struct sw_process_captured *x = a, *y = b;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

void sw_process_sort_captured(struct sw_process *process)
{
    if (process->capture.thread_count)
        qsort(process->capture.threads, process->capture.thread_count, sizeof *process->capture.threads, by_tid);
}

const struct sw_process_captured *sw_process_find_captured(const struct sw_process *process, uint64_t tid)
{
    const struct sw_process_captured key = { .tid = tid };
    const struct sw_process_capture *capture = &process->capture;
    return capture->thread_count ? bsearch(&key, capture->threads, capture->thread_count, sizeof key, by_tid) : NULL;
}

void sw_process_drop_capture(struct sw_process *process)
{
    struct sw_process_capture *capture = &process->capture;
    const struct sw_alloc *alloc = &process->alloc;
    if (capture->threads)
        alloc->put(alloc->arg, capture->threads, capture->thread_room * sizeof *capture->threads);
    if (capture->store)
        alloc->put(alloc->arg, capture->store, capture->store_room);
    sw_page_cache_drop(&capture->pages, alloc);
    *capture = (struct sw_process_capture){ 0 };
}
