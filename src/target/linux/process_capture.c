/*
 * Captures what a process was doing at one moment: registers and stacks are copied while it is stopped, and walked when
 * it runs again. So it is stopped only as long as copying takes, not walking.
 *
 * A walk of the copies must never differ from a walk of the stopped process, so memory that may have changed since is
 * not read. Such memory is the other parts of stacks. Code, tables and data of files are read when the walk needs them.
 * So is other memory, in which a runtime keeps the headers of its code, unless the thread was not on its own stack:
 * then a signal frame may lead anywhere, and memory there may have changed.
 */
#include "target/linux/process.h"

#include <string.h>

/* ------------------------------------------------------------------ while the process is stopped */

static enum sw_status capture_thread(struct sw_process *process, const struct sw_process_thread *thread)
{
    struct sw_regs regs;
    uint64_t tls = 0;
    if (sw_process_regs_of(thread, &regs, &tls) != SW_OK)
        return SW_OK; /* the thread was killed just now */
    struct sw_process_captured *captured = sw_process_add_uncopied(process, thread->tid, &regs, tls);
    if (!captured)
        return SW_E_NO_MEMORY;
    memcpy(captured->name, thread->name, sizeof captured->name);
    return SW_OK;
}

/* A captured thread that counts as standing while it sleeps: once more if it has woken, until it sleeps or stands. */
static enum sw_status capture_woken(struct sw_process *process, struct sw_process_thread *thread, size_t most)
{
    enum { ROUNDS = 16 };
    enum sw_status status = SW_OK;
    for (unsigned round = 0; thread->is_asleep && !sw_process_sleeps_on(process, thread); round++) {
        struct sw_regs regs;
        uint64_t tls = 0;
        status = round < ROUNDS ? sw_process_hold(process, thread) : SW_E_BUSY;
        if (status == SW_OK)
            status = sw_process_regs_of(thread, &regs, &tls);
        if (status == SW_OK)
            status = sw_process_capture_again(process, thread->tid, &regs, tls, most);
        if (status != SW_OK)
            break;
    }
    if (status != SW_E_GONE && status != SW_E_BUSY)
        return status;
    sw_process_remove_captured(process, thread->tid);
    return status == SW_E_GONE
               ? SW_OK
               : sw_left_out_add(&process->left_out, &process->alloc, (uint64_t)thread->tid, SW_LEFT_OUT_RUNS);
}

static enum sw_status capture_all_woken(struct sw_process *process, size_t most)
{
    enum sw_status status = SW_OK;
    for (size_t i = 0; i < process->thread_count && status == SW_OK; i++)
        if (process->threads[i].is_asleep)
            status = capture_woken(process, &process->threads[i], most);
    sw_process_sort_left_out(process);
    return status;
}

static enum sw_status capture_threads(struct sw_process *process, size_t most)
{
    enum sw_status status = SW_OK;
    process->capture.pac_mask = process->pac_mask;
    for (size_t i = 0; i < process->thread_count && status == SW_OK; i++)
        if (process->threads[i].stopped)
            status = capture_thread(process, &process->threads[i]);
    if (status == SW_OK)
        status = sw_process_copy_stacks(process, most);
    return status == SW_OK ? capture_all_woken(process, most) : status;
}

/* Threads that sleep uninterruptibly do not stop, but do not run, either. SW_E_BUSY: there is nobody. */
static enum sw_status capture_all(struct sw_process *process, size_t most, bool stand)
{
    process->capture.is_of_program = sw_process_executes(process->live_tid, &process->capture.program);
    enum sw_status status = process->capture.is_of_program ? sw_process_read_maps(process) : SW_E_GONE;
    if (status == SW_OK && stand)
        status = capture_threads(process, most);
    if (status == SW_OK)
        status = sw_process_capture_sleepers(process, most);
    if (status == SW_OK && !stand)
        process->capture.has_maps = false; /* the process may run on */
    return status == SW_OK && !stand && !process->capture.thread_count ? SW_E_BUSY : status;
}

static enum sw_status capture_call(struct sw_process *process, void *arg)
{
    const size_t *most = arg;
    const enum sw_status stopped = sw_process_stop_threads(process);
    if (stopped != SW_OK && stopped != SW_E_BUSY)
        return stopped;
    const enum sw_status status = capture_all(process, *most, stopped == SW_OK);
    const enum sw_status resumed = stopped == SW_OK ? sw_process_resume_threads(process) : SW_OK;
    return status == SW_OK ? resumed : status;
}

enum sw_status sw_process_capture(struct sw_process *process, size_t stack_bytes)
{
    enum { ROUNDS = 8 }; /* of a process that begins another program each time */
    size_t most;
    enum sw_status status = SW_E_GONE;
    for (unsigned round = 0; round < ROUNDS && status == SW_E_GONE; round++) {
        status = sw_process_begin_capture(process, stack_bytes, &most);
        if (!process || status == SW_E_BUSY)
            return status;
        if (status == SW_OK)
            status = sw_process_on_tracer(process, capture_call, &most);
        if (process->capture.is_of_program)
            break;
    }
    sw_process_end_tracer(process);
    if (status != SW_OK && status != SW_E_GONE)
        process->capture.thread_count = 0;
    return status;
}

/* ------------------------------------------------------------------ afterwards */

static size_t read_copy(const struct sw_process_captured *thread, uint64_t address, void *to, size_t size)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct sw_process_copy *from = &thread->copies[i];
        const uint64_t offset = address - from->begin;
        if (offset >= from->size)
            continue;
        const size_t part = from->size - (size_t)offset < size ? from->size - (size_t)offset : size;
        memcpy(to, thread->process->capture.store + from->at + offset, part);
        return part;
    }
    return 0;
}

static bool overlap(const struct sw_map *map, const struct sw_process_span *span)
{
    return map->begin < span->end && span->begin < map->end;
}

/* Whether the content of a mapping may have changed since the capture. */
static bool may_have_changed(const struct sw_process_captured *thread, const struct sw_map *map)
{
    return overlap(map, &thread->stack) || overlap(map, &thread->own_stack) ||
           (!thread->is_on_own_stack && map->writable && !map->executable && map->inode == 0);
}

/* Neither data nor code, as the process itself sees it: ptrace would read zeros there. */
static bool is_forbidden(const struct sw_map *map)
{
    return !map->readable && !map->executable;
}

/* What is not copied is read once: nearer to the moment of the capture than each later time. */
struct sw_memory sw_process_captured_memory(struct sw_process *process)
{
    return sw_page_cache_memory(process ? &process->capture.pages : NULL);
}

bool sw_process_executes_captured(const struct sw_process *process)
{
    return process && process->capture.program.start_stack &&
           sw_process_executes(process->live_tid, &process->capture.program);
}

/* Most reads are of the mapping that the last one was of. Threads may read at the same time. */
static const struct sw_map *map_at(struct sw_process *process, uint64_t address)
{
    const size_t last = atomic_load_explicit(&process->capture.last_map, memory_order_relaxed);
    const struct sw_map *map = last < process->map_count ? &process->maps[last] : NULL;
    if (map && address >= map->begin && address < map->end)
        return map;
    map = sw_maps_find(process->maps, process->map_count, address);
    if (map)
        atomic_store_explicit(&process->capture.last_map, (size_t)(map - process->maps), memory_order_relaxed);
    return map;
}

static size_t read_captured(void *arg, uint64_t address, void *to, size_t size)
{
    const struct sw_process_captured *thread = arg;
    struct sw_process *process = thread->process;
    size_t done = read_copy(thread, address, to, size);
    if (done)
        return done;
    while (done < size) { /* mappings that touch read as one */
        const uint64_t at = address + done;
        const struct sw_map *map = map_at(process, at);
        if (!map || is_forbidden(map) || may_have_changed(thread, map))
            break;
        const size_t part = map->end - at < size - done ? (size_t)(map->end - at) : size - done;
        const size_t got = sw_page_cache_read(&process->capture.pages, at, (uint8_t *)to + done, part);
        done += got;
        if (got != part)
            break;
    }
    return done;
}

size_t sw_process_captured(const struct sw_process *process, uint64_t *tids, size_t capacity)
{
    const size_t count = process ? process->capture.thread_count : 0;
    for (size_t i = 0; tids && i < count && i < capacity; i++)
        tids[i] = process->capture.threads[i].tid;
    return count;
}

enum sw_status sw_process_captured_walker(struct sw_process *process, uint64_t tid, const struct sw_codemap *codemap,
                                          const struct sw_images *images, struct sw_regs *regs,
                                          struct sw_walker *walker)
{
    if (!process || !regs || !walker)
        return SW_E_ARGUMENT;
    const struct sw_process_captured *thread = sw_process_find_captured(process, tid);
    if (!thread)
        return SW_E_NOT_FOUND;
    const struct sw_process_copy *stack = &thread->copies[0];
    *regs = thread->regs;
    *walker = (struct sw_walker){
        .machine = regs->machine, .codemap = codemap, .images = images, .budget = SW_WALK_BUDGET_UNLIMITED
    };
    walker->memory.read = read_captured;
    walker->memory.arg = (void *)(uintptr_t)thread;
    walker->memory.window =
        (struct sw_window){ stack->begin, stack->begin + stack->size, process->capture.store + stack->at };
    walker->pac_mask = process->capture.pac_mask;
    walker->stack_begin = thread->stack.begin;
    walker->stack_end = thread->stack.end;
    return SW_OK;
}
