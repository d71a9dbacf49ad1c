/*
 * What was read of a process that stands, and when it is old. Refuses to know how it is read (process_walker.c).
 */
#include "target/linux/process.h"

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
