/*
 * What a capture is made of: it begins with nothing, and threads are added, with the mappings that their stacks lie in.
 * Refuses to know whether they stand (process_capture.c) or sleep (process_asleep.c).
 */
#include "target/linux/process.h"

#include "common/grow.h"

#include <string.h>

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

struct sw_process_captured *sw_process_add_uncopied(struct sw_process *process, int tid, const struct sw_regs *regs,
                                                    uint64_t tls)
{
    if (!room_for_thread(process))
        return NULL;
    struct sw_process_captured *thread = &process->capture.threads[process->capture.thread_count++];
    *thread = (struct sw_process_captured){ .process = process, .tid = (uint64_t)tid, .regs = *regs };
    set_spans(process, thread, tls);
    return thread;
}

static struct sw_process_captured *find(struct sw_process *process, int tid)
{
    return (struct sw_process_captured *)(uintptr_t)sw_process_find_captured(process, (uint64_t)tid);
}

enum sw_status sw_process_capture_again(struct sw_process *process, int tid, const struct sw_regs *regs, uint64_t tls,
                                        size_t most)
{
    struct sw_process_captured *thread = find(process, tid);
    if (!thread)
        return SW_E_GONE;
    thread->regs = *regs;
    set_spans(process, thread, tls);
    memset(thread->copies, 0, sizeof thread->copies);
    return sw_process_copy_stack(process, thread, most);
}

void sw_process_remove_captured(struct sw_process *process, int tid)
{
    struct sw_process_captured *thread = find(process, tid);
    if (!thread)
        return;
    const struct sw_process_captured *end = process->capture.threads + process->capture.thread_count--;
    memmove(thread, thread + 1, (size_t)(end - (thread + 1)) * sizeof *thread);
}

enum sw_status sw_process_add_captured(struct sw_process *process, int tid, const struct sw_regs *regs, uint64_t tls,
                                       size_t most)
{
    struct sw_process_captured *thread = sw_process_add_uncopied(process, tid, regs, tls);
    const enum sw_status status = thread ? sw_process_copy_stack(process, thread, most) : SW_E_NO_MEMORY;
    if (thread && status != SW_OK)
        process->capture.thread_count--;
    return status;
}
