/*
 * Registers and walkers of threads that stand, stopped by us or by the caller. While all of the process stands, its
 * memory map, each stack and each page are read once: a goroutine's stack is a part of a mapping that others lie in,
 * too. Refuses to know how threads are stopped (process_threads.c).
 */
#include "target/linux/process.h"

#include "common/grow.h"

#include <errno.h>

#define STORE_MOST ((size_t)64 << 20)

enum { STORE_FIRST = 1 << 16, ENOUGH = 1 << 14 }; /* of a stack, for a copy that was made for another thread */

/* ---- registers ---- */

struct one {
    uint64_t tid;
    struct sw_regs *regs;
};

static enum sw_status regs_call(struct sw_process *process, void *arg)
{
    const struct one *one = arg;
    struct sw_process_thread *thread = sw_process_find_thread(process, one->tid);
    enum sw_status status = thread->is_asleep ? sw_process_hold(process, thread) : SW_OK;
    if (status == SW_OK)
        status = sw_process_regs_of(thread, one->regs, NULL);
    process->error = errno;
    return status;
}

/* Nothing can be read of a process that was killed meanwhile. One that was asleep may have woken. */
static bool has_kept_regs(struct sw_process *process, const struct sw_process_thread *thread)
{
    uint8_t byte;
    if (thread->is_asleep && !sw_process_sleeps_on(process, thread))
        return false;
    return thread->has_regs && sw_process_read(process, sw_regs_pc(&thread->regs), &byte, 1) == 1;
}

enum sw_status sw_process_regs(struct sw_process *process, uint64_t tid, struct sw_regs *regs)
{
    struct one one = { tid, regs };
    if (!process || !regs)
        return SW_E_ARGUMENT;
    const struct sw_process_thread *thread = sw_process_find_thread(process, tid);
    if (!thread || !thread->stopped)
        return SW_E_NOT_FOUND;
    if (!has_kept_regs(process, thread))
        return sw_process_on_tracer(process, regs_call, &one);
    *regs = thread->regs;
    return SW_OK;
}

/* ---- the caller's stop ---- */

enum sw_status sw_process_adopt_stop(struct sw_process *process, size_t stack_bytes)
{
    if (!process)
        return SW_E_ARGUMENT;
    if (process->thread_count)
        return SW_E_BUSY;
    process->is_adopted = true;
    process->capture.is_of_program = false;
    process->maps_valid = process->stop.is_begun = false;
    process->stop.stack_bytes = stack_bytes;
    const enum sw_status status = sw_process_read_maps(process);
    if (status == SW_OK)
        process->pac_mask = sw_process_pac_mask_of(process->live_tid);
    else
        sw_process_forget_stop(process);
    return status;
}

/* ---- stacks ---- */

/* Whether what is read now is so until the stop ends: not if other threads run. */
static bool all_stands(const struct sw_process *process)
{
    return process->is_adopted || process->stop_began;
}

/* The first walker of a stop, or the first read, begins it. */
static void begin(struct sw_process *process)
{
    struct sw_process_stop *stop = &process->stop;
    if (stop->is_begun)
        return;
    stop->copy_count = stop->store_size = 0;
    stop->is_begun = all_stands(process);
    if (!stop->is_begun)
        return;
    stop->pages.target = sw_process_memory(process);
    sw_page_cache_begin(&stop->pages, &process->alloc);
}

static size_t read_stopped(void *arg, uint64_t address, void *to, size_t size)
{
    struct sw_process *process = arg;
    begin(process);
    return process->stop.is_begun ? sw_page_cache_read(&process->stop.pages, address, to, size)
                                  : sw_process_read(process, address, to, size);
}

struct sw_memory sw_process_stopped_memory(struct sw_process *process)
{
    return (struct sw_memory){ .read = process ? read_stopped : NULL, .arg = process };
}

/* A copy with all that is wanted, or with enough of it. */
static const struct sw_process_copy *find_copy(const struct sw_process_stop *stop, uint64_t from, uint64_t end)
{
    const uint64_t until = end - from < ENOUGH ? end : from + ENOUGH;
    for (size_t i = stop->copy_count; i-- > 0;) {
        const struct sw_process_copy *copy = &stop->copies[i];
        if (copy->begin <= from && until - copy->begin <= copy->size)
            return copy;
    }
    return NULL;
}

static bool make_room(struct sw_process *process, size_t size)
{
    struct sw_process_stop *stop = &process->stop;
    if (stop->store_size + size > STORE_MOST)
        stop->copy_count = stop->store_size = 0;
    const size_t count = stop->copy_count, wanted = stop->store_size + size;
    struct sw_process_copy *copies =
        sw_grow(&process->alloc, stop->copies, sizeof *copies, count, &stop->copy_room, count + 1);
    if (!copies)
        return false;
    stop->copies = copies;
    uint8_t *store = sw_grow(&process->alloc, stop->store, 1, stop->store_size, &stop->store_room,
                             wanted < STORE_FIRST ? STORE_FIRST : wanted);
    if (!store)
        return false;
    stop->store = store;
    return true;
}

static const struct sw_process_copy *copy_stack(struct sw_process *process, uint64_t from, uint64_t end)
{
    struct sw_process_stop *stop = &process->stop;
    const size_t size = (size_t)(end - from);
    if (!make_room(process, size))
        return NULL;
    const size_t got = sw_process_read(process, from, stop->store + stop->store_size, size);
    struct sw_process_copy *copy = &stop->copies[stop->copy_count++];
    *copy = (struct sw_process_copy){ from, got, stop->store_size };
    stop->store_size += got;
    return copy;
}

/* What is copied of a stack: from below sp up. */
static enum sw_status take_stack(struct sw_process *process, const struct sw_map *map, uint64_t sp,
                                 struct sw_window *window)
{
    const struct sw_process_stop *stop = &process->stop;
    const size_t most = sw_process_stack_most(stop->stack_bytes);
    const uint64_t from = sp - map->begin < SW_RED_ZONE ? map->begin : sp - SW_RED_ZONE;
    const uint64_t end = map->end - from > most ? from + most : map->end;
    const struct sw_process_copy *copy = find_copy(stop, from, end);
    if (!copy)
        copy = copy_stack(process, from, end);
    if (!copy)
        return SW_E_NO_MEMORY;
    *window = (struct sw_window){ copy->begin, copy->begin + copy->size, stop->store + copy->at };
    return SW_OK;
}

enum sw_status sw_process_walker(struct sw_process *process, const struct sw_regs *regs,
                                 const struct sw_codemap *codemap, const struct sw_images *images,
                                 struct sw_walker *walker)
{
    if (!process || !regs || !walker || !sw_regs_has(regs, sw_regs_sp_number(regs->machine)))
        return SW_E_ARGUMENT;
    const enum sw_status status = sw_process_read_maps(process);
    if (status != SW_OK)
        return status == SW_E_NO_MEMORY ? status : SW_E_GONE;
    begin(process);
    *walker = (struct sw_walker){ .machine = regs->machine,
                                  .memory = process->stop.is_begun ? sw_page_cache_memory(&process->stop.pages)
                                                                   : sw_process_memory(process),
                                  .codemap = codemap,
                                  .images = images,
                                  .pac_mask = process->pac_mask,
                                  .budget = SW_WALK_BUDGET_UNLIMITED };
    const uint64_t sp = sw_regs_sp(regs);
    const struct sw_map *map = sw_maps_find(process->maps, process->map_count, sp);
    if (!map)
        return SW_OK; /* sp is garbage: the walk finds that out, word by word */
    walker->stack_begin = map->begin;
    walker->stack_end = map->end;
    return take_stack(process, map, sp, &walker->memory.window);
}
