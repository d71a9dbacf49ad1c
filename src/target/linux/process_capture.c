/*
 * Captures what a process was doing at one moment: registers and stacks are copied while it is stopped, and walked when
 * it runs again. So it is stopped only as long as copying takes, not walking.
 *
 * A walk of the copies must never differ from a walk of the stopped process, so memory that may have changed since is
 * not read. Such memory is the other parts of stacks. Code, tables and data of files are read when the walk needs them.
 * So is other memory, in which a runtime keeps the headers of its code, unless the thread was not on its own stack:
 * then a signal frame may lead anywhere, and memory there may have changed.
 *
 * A capture is read through process.c, and belongs to the process, whose walkers and end are there: so the two files
 * call each other.
 */
#include "target/linux/process.h"

#include "common/grow.h"

#include <string.h>

enum { STORE_FIRST = 1 << 16 };

const struct sw_process_captured *sw_process_find_captured(const struct sw_process *process, uint64_t tid)
{
    for (size_t i = 0; i < process->capture.thread_count; i++)
        if (process->capture.threads[i].tid == tid)
            return &process->capture.threads[i];
    return NULL;
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

/* Copies [begin, end) as far as it is readable. */
static enum sw_status copy(struct sw_process *process, uint64_t begin, uint64_t end, struct sw_process_copy *to)
{
    struct sw_process_capture *capture = &process->capture;
    const size_t size = (size_t)(end - begin);
    const size_t wanted = capture->store_size + size < STORE_FIRST ? STORE_FIRST : capture->store_size + size;
    uint8_t *store = sw_grow(&process->alloc, capture->store, 1, capture->store_size, &capture->store_room, wanted);
    if (!store)
        return SW_E_NO_MEMORY;
    capture->store = store;
    const size_t got = sw_process_read(process, begin, capture->store + capture->store_size, size);
    *to = (struct sw_process_copy){ begin, got, capture->store_size };
    capture->store_size += got;
    return SW_OK;
}

/* Copies from sp to the end of its mapping; without a known mapping, as far as there is memory. */
static enum sw_status copy_stack(struct sw_process *process, struct sw_process_captured *thread, size_t most)
{
    const uint64_t sp = sw_regs_sp(&thread->regs);
    const uint64_t above = sp - thread->stack.begin;
    const uint64_t left = (thread->stack.end ? thread->stack.end : UINT64_MAX) - sp;
    const uint64_t end = sp + (left < most ? left : most);
    const uint64_t begin = sp - (above < SW_RED_ZONE ? above : SW_RED_ZONE);
    const enum sw_status status = copy(process, begin, end, &thread->copies[0]);
    if (status != SW_OK || thread->copies[0].size || thread->stack.end)
        return status;
    return copy(process, sp, end, &thread->copies[0]); /* there may be no memory below sp */
}

/* Copies the upper end of a stack that the thread is not on now: where the thread left it is not known. */
static enum sw_status copy_own_stack(struct sw_process *process, struct sw_process_captured *thread, size_t most)
{
    const struct sw_process_span *own_stack = &thread->own_stack;
    const uint64_t begin = own_stack->end - own_stack->begin > most ? own_stack->end - most : own_stack->begin;
    return copy(process, begin, own_stack->end, &thread->copies[1]);
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

enum sw_status sw_process_add_captured(struct sw_process *process, int tid, const struct sw_regs *regs, uint64_t tls,
                                       size_t most)
{
    if (!room_for_thread(process))
        return SW_E_NO_MEMORY;
    struct sw_process_captured *thread = &process->capture.threads[process->capture.thread_count];
    *thread = (struct sw_process_captured){ .process = process, .tid = (uint64_t)tid, .regs = *regs };
    const uint64_t sp = sw_regs_sp(&thread->regs);
    thread->stack = span_of(sw_maps_find(process->maps, process->map_count, sp));
    thread->own_stack = own_stack_of(process, thread->tid, tls);
    thread->is_on_own_stack = sp >= thread->own_stack.begin && sp < thread->own_stack.end;
    enum sw_status status = copy_stack(process, thread, most);
    if (status == SW_OK && !thread->is_on_own_stack && thread->own_stack.end)
        status = copy_own_stack(process, thread, most);
    process->capture.thread_count += status == SW_OK;
    return status;
}

static enum sw_status capture_thread(struct sw_process *process, int tid, size_t most)
{
    struct sw_regs regs;
    uint64_t tls = 0;
    if (sw_process_read_regs(tid, &regs, &tls) != SW_OK)
        return SW_OK; /* the thread was killed just now */
    return sw_process_add_captured(process, tid, &regs, tls, most);
}

static enum sw_status capture_threads(struct sw_process *process, size_t most)
{
    enum sw_status status = SW_OK;
    process->capture.pac_mask = process->pac_mask;
    for (size_t i = 0; i < process->thread_count && status == SW_OK; i++)
        if (process->threads[i].stopped)
            status = capture_thread(process, process->threads[i].tid, most);
    return status;
}

static enum sw_status capture_call(struct sw_process *process, void *arg)
{
    const size_t *most = arg;
    enum sw_status status = sw_process_stop_threads(process);
    if (status != SW_OK)
        return status;
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
    process->left_out.count = 0;
    sw_page_cache_begin(&process->capture.pages, &process->alloc);
    return sw_process_read_maps(process);
}

enum sw_status sw_process_capture(struct sw_process *process, size_t stack_bytes)
{
    size_t most;
    enum sw_status status = sw_process_begin_capture(process, stack_bytes, &most);
    if (!process || status == SW_E_BUSY)
        return status;
    if (status == SW_OK)
        status = sw_process_on_tracer(process, capture_call, &most);
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

/* What is not copied is read once: nearer to the moment of the capture than each later time. */
struct sw_memory sw_process_captured_memory(struct sw_process *process)
{
    return sw_page_cache_memory(process ? &process->capture.pages : NULL);
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
        if (!map || may_have_changed(thread, map))
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
