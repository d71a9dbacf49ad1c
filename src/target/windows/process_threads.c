/*
 * Stops another process's threads: by SuspendThread, one after the other, until none is left that runs. Each has a row
 * with its handle, so that whatever ends the stop knows what to undo. Threads that end meanwhile are none of its rows.
 * Refuses to know what is read of them.
 *
 * Suspensions belong to the thread, not to who made them: Windows does not undo them when this program is ended between
 * stop and resume.
 *
 * Source: SuspendThread, GetThreadContext, "Thread Security and Access Rights", Microsoft Learn;
 * clr-windows-observed.md W89.
 */
#include "target/windows/process.h"

#include "common/grow.h"

#include <snapwalk/context.h>

#include <string.h>

enum { ROUNDS = 64, NS_PER_S = 1000000000 };

struct sw_process_thread *sw_process_find_thread(const struct sw_process *process, uint64_t tid)
{
    for (size_t i = 0; process && i < process->thread_count; i++)
        if (process->threads[i].tid == tid)
            return &process->threads[i];
    return NULL;
}

enum sw_status sw_process_read_regs(HANDLE thread, struct sw_regs *regs)
{
    CONTEXT context;
    context.ContextFlags = CONTEXT_CONTROL | CONTEXT_INTEGER;
    if (!GetThreadContext(thread, &context))
        return sw_windows_has_ended(thread) ? SW_E_GONE : SW_E_OS;
    return sw_context_load(SW_CONTEXT_WIN32, SW_MACHINE_X64, &context, sizeof context, regs);
}

void sw_process_stack(struct sw_process *process, HANDLE thread, uint64_t *begin, uint64_t *end)
{
    const struct sw_memory memory = sw_process_memory(process);
    if (sw_windows_stack(thread, &memory, begin, end) != SW_OK)
        *begin = *end = 0;
}

static uint64_t now_ns(void)
{
    LARGE_INTEGER ticks, per_second;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&per_second);
    const uint64_t t = (uint64_t)ticks.QuadPart, f = (uint64_t)per_second.QuadPart;
    return t / f * NS_PER_S + t % f * NS_PER_S / f + 1; /* never 0 */
}

/* ---- rows ---- */

/* In its place: ids ascend. Null: no memory. */
static struct sw_process_thread *add_thread(struct sw_process *process, DWORD tid, HANDLE handle)
{
    size_t at = process->thread_count;
    struct sw_process_thread *rows =
        sw_grow(&process->alloc, process->threads, sizeof *rows, at, &process->thread_room, at + 1);
    if (!rows)
        return NULL;
    process->threads = rows;
    for (; at > 0 && process->threads[at - 1].tid > tid; at--)
        process->threads[at] = process->threads[at - 1];
    process->threads[at] = (struct sw_process_thread){ .tid = tid, .handle = handle };
    process->thread_count++;
    return &process->threads[at];
}

static void remove_thread(struct sw_process *process, struct sw_process_thread *thread)
{
    const size_t at = (size_t)(thread - process->threads);
    CloseHandle(thread->handle);
    process->thread_count--;
    memmove(thread, thread + 1, (process->thread_count - at) * sizeof *thread);
}

static enum sw_status leave_out(struct sw_process *process, DWORD tid)
{
    if (sw_left_out_has(&process->left_out, tid))
        return SW_OK;
    return sw_left_out_add(&process->left_out, &process->alloc, tid, SW_LEFT_OUT_STAYS);
}

size_t sw_process_left_out(const struct sw_process *process, struct sw_left_out *threads, size_t capacity)
{
    return process ? sw_left_out_copy(&process->left_out, threads, capacity) : 0;
}

const char *sw_left_out_text(enum sw_left_out_why why)
{
    static const char *const texts[] = { /* ORDER sw_left_out_why */
                                         [SW_LEFT_OUT_SLEEPS] = "in uninterruptible sleep",
                                         [SW_LEFT_OUT_STAYS] = "may not be suspended",
                                         [SW_LEFT_OUT_RUNS] = "running"
    };
    return (size_t)why < sizeof texts / sizeof texts[0] ? texts[why] : "?";
}

/* ---- one thread ---- */

/* Suspends it once more. Its registers are right once it has told them. */
static enum sw_status suspend_once(HANDLE thread, struct sw_regs *regs)
{
    if (SuspendThread(thread) == (DWORD)-1) {
        const enum sw_status status = sw_windows_status(GetLastError());
        return sw_windows_has_ended(thread) ? SW_E_GONE : status;
    }
    const enum sw_status status = sw_process_read_regs(thread, regs);
    if (status != SW_OK)
        ResumeThread(thread);
    return status;
}

/* The thread's row, made where it has none, after one more suspend. */
static enum sw_status hold(struct sw_process *process, DWORD tid, struct sw_regs *regs, struct sw_process_thread **row)
{
    HANDLE handle;
    *row = sw_process_find_thread(process, tid);
    if (*row)
        return suspend_once((*row)->handle, regs);
    enum sw_status status =
        sw_windows_open_thread(process->pid, tid, THREAD_SUSPEND_RESUME | THREAD_GET_CONTEXT, &handle);
    if (status != SW_OK)
        return status;
    status = suspend_once(handle, regs);
    if (status == SW_OK) {
        *row = add_thread(process, tid, handle);
        status = *row ? SW_OK : SW_E_NO_MEMORY;
        if (!*row)
            ResumeThread(handle);
    }
    if (status != SW_OK)
        CloseHandle(handle);
    return status;
}

/* ---- the process ---- */

struct stopping {
    struct sw_process *process;
    size_t stopped;
    enum sw_status status;
};

static bool stop_one(void *arg, DWORD tid)
{
    struct stopping *stopping = arg;
    struct sw_process_thread *row = sw_process_find_thread(stopping->process, tid);
    struct sw_regs regs;
    if (row && row->held_by_stop)
        return true;
    enum sw_status status = hold(stopping->process, tid, &regs, &row);
    if (status == SW_OK) {
        row->held_by_stop = true;
        stopping->stopped++;
    } else if (status != SW_E_GONE && status != SW_E_NO_MEMORY) {
        status = leave_out(stopping->process, tid);
    }
    stopping->status = status == SW_E_NO_MEMORY ? status : SW_OK;
    return stopping->status == SW_OK;
}

static void let_go(struct sw_process *process)
{
    for (size_t i = process->thread_count; i-- > 0;) {
        struct sw_process_thread *thread = &process->threads[i];
        if (thread->held_by_stop)
            ResumeThread(thread->handle);
        thread->held_by_stop = false;
        if (thread->suspend_count == 0)
            remove_thread(process, thread);
    }
    if (process->stop_began != 0)
        process->stopped_ns = now_ns() - process->stop_began;
    process->stop_began = 0;
}

/* Until a round finds nobody new: who runs may begin threads. */
static enum sw_status stop_all(struct sw_process *process)
{
    struct stopping stopping = { process, 0, SW_OK };
    for (unsigned round = 0; round < ROUNDS; round++) {
        const size_t before = stopping.stopped;
        const enum sw_status status = sw_windows_each_thread(process->pid, stop_one, &stopping);
        if (status != SW_OK || stopping.status != SW_OK)
            return status ? status : stopping.status;
        if (stopping.stopped == before)
            return before ? SW_OK : sw_windows_has_ended(process->handle) ? SW_E_GONE : SW_E_BUSY;
    }
    return SW_E_BUSY;
}

enum sw_status sw_process_stop(struct sw_process *process)
{
    if (!process || process->stop_began != 0)
        return SW_E_ARGUMENT;
    process->left_out.count = 0;
    process->stop_began = now_ns();
    const enum sw_status status = stop_all(process);
    if (status != SW_OK)
        let_go(process);
    return status;
}

enum sw_status sw_process_resume(struct sw_process *process)
{
    if (!process || process->stop_began == 0)
        return SW_E_ARGUMENT;
    let_go(process);
    return sw_windows_has_ended(process->handle) ? SW_E_GONE : SW_OK;
}

uint64_t sw_process_stopped_ns(const struct sw_process *process)
{
    return process ? process->stopped_ns : 0;
}

size_t sw_process_threads(const struct sw_process *process, uint64_t *tids, size_t capacity)
{
    const size_t count = process ? process->thread_count : 0;
    for (size_t i = 0; tids && i < count && i < capacity; i++)
        tids[i] = process->threads[i].tid;
    return count;
}

enum sw_status sw_process_regs(struct sw_process *process, uint64_t tid, struct sw_regs *regs)
{
    if (!process || !regs)
        return SW_E_ARGUMENT;
    const struct sw_process_thread *thread = sw_process_find_thread(process, tid);
    return thread ? sw_process_read_regs(thread->handle, regs) : SW_E_NOT_FOUND;
}

/* Nothing that was stopped stays so. */
void sw_process_drop_threads(struct sw_process *process)
{
    const struct sw_alloc *alloc = &process->alloc;
    for (size_t i = 0; i < process->thread_count; i++)
        for (; process->threads[i].suspend_count > 0; process->threads[i].suspend_count--)
            ResumeThread(process->threads[i].handle);
    let_go(process);
    if (process->threads)
        alloc->put(alloc->arg, process->threads, process->thread_room * sizeof *process->threads);
    sw_left_out_drop(&process->left_out, alloc);
}

/* ---- the suspender ---- */

static enum sw_status suspend(void *arg, uint64_t os_id, struct sw_regs *regs)
{
    struct sw_process_thread *row;
    if (!arg || !regs || os_id == 0 || os_id > UINT32_MAX)
        return SW_E_ARGUMENT;
    const enum sw_status status = hold(arg, (DWORD)os_id, regs, &row);
    if (status == SW_OK)
        row->suspend_count++;
    return status;
}

static enum sw_status resume(void *arg, uint64_t os_id)
{
    struct sw_process_thread *row = sw_process_find_thread(arg, os_id);
    if (!row || row->suspend_count == 0)
        return SW_E_NOT_FOUND;
    ResumeThread(row->handle);
    row->suspend_count--;
    if (row->suspend_count == 0 && !row->held_by_stop)
        remove_thread(arg, row);
    return SW_OK;
}

static uint64_t current(void *arg)
{
    (void)arg;
    return 0;
}

static enum sw_status capture(void *arg, struct sw_regs *regs)
{
    (void)arg, (void)regs;
    return SW_E_UNSUPPORTED;
}

struct sw_suspender sw_process_suspender(struct sw_process *process)
{
    return (struct sw_suspender){ suspend, resume, current, capture, sw_windows_wait, process, NULL };
}
