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

#include "common/grow.h"

#include <string.h>

/* ------------------------------------------------------------------ while the process is stopped */

static bool room_for_thread(struct sw_process *process)
{
    struct sw_process_capture *capture = &process->capture;
    const size_t count = capture->thread_count;
    struct sw_process_captured *threads =
        sw_grow(&process->alloc, capture->threads, sizeof *threads, count, &capture->thread_room, count + 1);
    if (threads)
        capture->threads = threads;
    return threads != NULL;
}

static struct sw_process_span span_of(const struct sw_map *map)
{
    return map ? (struct sw_process_span){ map->begin, map->end } : (struct sw_process_span){ 0, 0 };
}

static bool is_main_stack(const struct sw_map *map)
{
    static const char name[] = "[stack]";
    return map->path_size == sizeof name - 1 && memcmp(map->path, name, sizeof name - 1) == 0;
}

/*
 * The main thread's stack has a name. The thread pointer of any other thread points into its stack, near the upper end.
 */
static struct sw_process_span own_stack_of(const struct sw_process *process, uint64_t tid, uint64_t tls)
{
    const struct sw_map *map = sw_maps_find(process->maps, process->map_count, tls);
    if (tid == (uint64_t)process->pid)
        for (size_t i = 0; i < process->map_count; i++)
            if (is_main_stack(&process->maps[i]))
                map = &process->maps[i];
    return span_of(map);
}

static void set_spans(const struct sw_process *process, struct sw_process_captured *thread, uint64_t tls)
{
    const uint64_t sp = sw_regs_sp(&thread->regs);
    thread->stack = span_of(sw_maps_find(process->maps, process->map_count, sp));
    thread->own_stack = own_stack_of(process, thread->tid, tls);
    thread->is_on_own_stack = sp >= thread->own_stack.begin && sp < thread->own_stack.end;
}

/* Without its stack. Null: no memory. */
static struct sw_process_captured *add_thread(struct sw_process *process, int tid, const struct sw_regs *regs,
                                              uint64_t tls)
{
    if (!room_for_thread(process))
        return NULL;
    struct sw_process_captured *thread = &process->capture.threads[process->capture.thread_count++];
    *thread = (struct sw_process_captured){ .process = process, .tid = (uint64_t)tid, .regs = *regs };
    set_spans(process, thread, tls);
    return thread;
}

enum sw_status sw_process_add_captured(struct sw_process *process, int tid, const struct sw_regs *regs, uint64_t tls,
                                       size_t most)
{
    struct sw_process_captured *thread = add_thread(process, tid, regs, tls);
    const enum sw_status status = thread ? sw_process_copy_stack(process, thread, most) : SW_E_NO_MEMORY;
    if (thread && status != SW_OK)
        process->capture.thread_count--;
    return status;
}

static enum sw_status capture_thread(struct sw_process *process, const struct sw_process_thread *thread)
{
    struct sw_regs regs;
    uint64_t tls = 0;
    if (sw_process_read_regs(thread->tid, &regs, &tls) != SW_OK)
        return SW_OK; /* the thread was killed just now */
    struct sw_process_captured *captured = add_thread(process, thread->tid, &regs, tls);
    if (!captured)
        return SW_E_NO_MEMORY;
    memcpy(captured->name, thread->name, sizeof captured->name);
    return SW_OK;
}

static enum sw_status capture_threads(struct sw_process *process, size_t most)
{
    enum sw_status status = SW_OK;
    process->capture.pac_mask = process->pac_mask;
    for (size_t i = 0; i < process->thread_count && status == SW_OK; i++)
        if (process->threads[i].stopped)
            status = capture_thread(process, &process->threads[i]);
    return status == SW_OK ? sw_process_copy_stacks(process, most) : status;
}

static enum sw_status capture_call(struct sw_process *process, void *arg)
{
    const size_t *most = arg;
    enum sw_status status = sw_process_stop_threads(process);
    if (status != SW_OK)
        return status;
    process->capture.is_of_program = sw_process_executes(process->live_tid, &process->capture.program);
    status = process->capture.is_of_program ? sw_process_read_maps(process) : SW_E_GONE;
    if (status == SW_OK)
        status = capture_threads(process, *most);
    const enum sw_status resumed = sw_process_resume_threads(process);
    return status == SW_OK ? resumed : status;
}

enum sw_status sw_process_begin_capture(struct sw_process *process, size_t stack_bytes, size_t *most)
{
    if (!process)
        return SW_E_ARGUMENT;
    if (process->is_adopted || sw_process_threads(process, NULL, 0))
        return SW_E_BUSY;
    *most = sw_process_stack_most(stack_bytes);
    process->capture.thread_count = process->capture.store_size = 0;
    process->capture.is_of_program = false;
    process->capture.program = sw_process_read_program(process->live_tid);
    process->left_out.count = 0;
    process->capture.has_maps = false;
    sw_page_cache_begin(&process->capture.pages, &process->alloc);
    return SW_OK;
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

static size_t read_captured(void *arg, uint64_t address, void *to, size_t size)
{
    const struct sw_process_captured *thread = arg;
    struct sw_process *process = thread->process;
    size_t done = read_copy(thread, address, to, size);
    if (done)
        return done;
    while (done < size) { /* mappings that touch read as one */
        const uint64_t at = address + done;
        const struct sw_map *map = sw_maps_find(process->maps, process->map_count, at);
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
