/*
 * Captures what a process was doing at one moment: registers and stacks are copied while its threads stand, and walked
 * when they run again. What may have changed since is not read: other parts of the stack, and where sp was on no stack
 * that Windows knows (a program's own), everything but images. Refuses to know how threads are stopped.
 *
 * Source: ReadProcessMemory, VirtualQueryEx, Microsoft Learn.
 */
#include "target/windows/process.h"

#include "common/grow.h"

#include <snapwalk/capsule.h>

#include <string.h>

enum { STACK_DEFAULT = 1 << 18, STORE_FIRST = 1 << 16 };

const struct sw_process_captured *sw_process_find_captured(const struct sw_process *process, uint64_t tid)
{
    for (size_t i = 0; i < process->capture.count; i++)
        if (process->capture.threads[i].tid == tid)
            return &process->capture.threads[i];
    return NULL;
}

void sw_process_drop_capture(struct sw_process *process)
{
    struct sw_process_capture *capture = &process->capture;
    const struct sw_alloc *alloc = &process->alloc;
    if (capture->threads)
        alloc->put(alloc->arg, capture->threads, capture->room * sizeof *capture->threads);
    if (capture->store)
        alloc->put(alloc->arg, capture->store, capture->store_room);
    sw_page_cache_drop(&capture->pages, alloc);
    *capture = (struct sw_process_capture){ 0 };
}

/* ---- while the process stands ---- */

static bool is_on_stack(const struct sw_process_captured *thread, uint64_t address)
{
    return address >= thread->stack_begin && address < thread->stack_end;
}

/* From sp to the end of the stack, or of what it can be where none is known. */
static enum sw_status copy_stack(struct sw_process *process, struct sw_process_captured *thread, size_t most)
{
    struct sw_process_capture *capture = &process->capture;
    const uint64_t sp = sw_regs_sp(&thread->regs);
    const uint64_t left = is_on_stack(thread, sp) ? thread->stack_end - sp : most;
    const size_t size = left < most ? (size_t)left : most;
    const size_t wanted = capture->store_size + size < STORE_FIRST ? STORE_FIRST : capture->store_size + size;
    uint8_t *store = sw_grow(&process->alloc, capture->store, 1, capture->store_size, &capture->store_room, wanted);
    if (!store)
        return SW_E_NO_MEMORY;
    capture->store = store;
    thread->at = capture->store_size;
    thread->size = sw_process_read(process, sp, capture->store + thread->at, size);
    capture->store_size += thread->size;
    return SW_OK;
}

/* One that was ended just now is left out. */
static enum sw_status capture_thread(struct sw_process *process, const struct sw_process_thread *row, size_t most)
{
    struct sw_process_capture *capture = &process->capture;
    struct sw_process_captured thread = { .process = process, .tid = row->tid };
    if (sw_process_read_regs(row->handle, &thread.regs) != SW_OK)
        return SW_OK;
    struct sw_process_captured *threads =
        sw_grow(&process->alloc, capture->threads, sizeof *threads, capture->count, &capture->room, capture->count + 1);
    if (!threads)
        return SW_E_NO_MEMORY;
    capture->threads = threads;
    sw_process_stack(process, row->handle, &thread.stack_begin, &thread.stack_end);
    const enum sw_status status = copy_stack(process, &thread, most);
    if (status == SW_OK)
        capture->threads[capture->count++] = thread;
    return status;
}

enum sw_status sw_process_capture(struct sw_process *process, size_t stack_bytes)
{
    const size_t most = stack_bytes == 0 ? STACK_DEFAULT : stack_bytes < SW_STACK_MOST ? stack_bytes : SW_STACK_MOST;
    if (!process)
        return SW_E_ARGUMENT;
    if (process->thread_count != 0)
        return SW_E_BUSY;
    process->capture.count = process->capture.store_size = 0;
    sw_page_cache_begin(&process->capture.pages, &process->alloc);
    enum sw_status status = sw_process_stop(process);
    if (status != SW_OK)
        return status;
    for (size_t i = 0; i < process->thread_count && status == SW_OK; i++)
        status = capture_thread(process, &process->threads[i], most);
    const enum sw_status resumed = sw_process_resume(process);
    if (status != SW_OK)
        process->capture.count = 0;
    return status ? status : resumed;
}

/* Windows does not tell the registers of a thread that it has not stopped. */
enum sw_status sw_process_adopt_stop(struct sw_process *process, size_t stack_bytes)
{
    (void)stack_bytes;
    return process ? SW_E_UNSUPPORTED : SW_E_ARGUMENT;
}

enum sw_status sw_process_capture_asleep(struct sw_process *process, size_t stack_bytes)
{
    (void)stack_bytes;
    return process ? SW_E_UNSUPPORTED : SW_E_ARGUMENT;
}

enum sw_status sw_process_mapped_name(struct sw_process *process, uint64_t address, char *name, size_t size)
{
    (void)address;
    return process && name && size ? SW_E_UNSUPPORTED : SW_E_ARGUMENT;
}

/* ---- afterwards ---- */

/* Whether an address is in an image, which hardly changes. */
static bool is_of_image(const struct sw_process *process, uint64_t address)
{
    MEMORY_BASIC_INFORMATION piece;
    return VirtualQueryEx(process->handle, (const void *)(uintptr_t)address, &piece, sizeof piece) == sizeof piece &&
           piece.Type == MEM_IMAGE;
}

bool sw_process_executes_captured(const struct sw_process *process)
{
    return process && process->capture.count && !sw_windows_has_ended(process->handle);
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
    const uint64_t sp = sw_regs_sp(&thread->regs), offset = address - sp;
    if (offset < thread->size) {
        const size_t part = thread->size - (size_t)offset < size ? thread->size - (size_t)offset : size;
        memcpy(to, process->capture.store + thread->at + offset, part);
        return part;
    }
    if (is_on_stack(thread, address) || (!is_on_stack(thread, sp) && !is_of_image(process, address)))
        return 0;
    return sw_page_cache_read(&process->capture.pages, address, to, size);
}

size_t sw_process_captured(const struct sw_process *process, uint64_t *tids, size_t capacity)
{
    const size_t count = process ? process->capture.count : 0;
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
    const uint64_t sp = sw_regs_sp(&thread->regs);
    *regs = thread->regs;
    *walker = (struct sw_walker){
        .machine = regs->machine, .codemap = codemap, .images = images, .budget = SW_WALK_BUDGET_UNLIMITED
    };
    walker->memory.read = read_captured;
    walker->memory.arg = (void *)(uintptr_t)thread;
    walker->memory.window = (struct sw_window){ sp, sp + thread->size, process->capture.store + thread->at };
    if (is_on_stack(thread, sp)) {
        walker->stack_begin = thread->stack_begin;
        walker->stack_end = thread->stack_end;
    }
    return SW_OK;
}

/* What stands for memory is not known here: no capsule of a process of Windows. */
enum sw_status sw_capsule_add_process(struct sw_capsule *capsule, struct sw_process *process)
{
    return capsule && process ? SW_E_UNSUPPORTED : SW_E_ARGUMENT;
}
