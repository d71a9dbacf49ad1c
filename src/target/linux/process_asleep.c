/*
 * Captures the threads of a process that sleep in the kernel, without stopping anything. Where such a thread left the
 * program is in /proc; its stack does not change while it sleeps. Whether it has slept all the time is found out
 * afterwards: it was in the same system call, and has had no processor since.
 *
 * Source: proc(5), /proc/pid/syscall; sched-stats.rst, as in process_task.c.
 */
#include "target/linux/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Where a thread is and what it has done: two that are equal mean that it has slept. */
struct rest {
    char call[SW_PROC_TEXT_BYTES];
    char times[SW_PROC_TEXT_BYTES];
};

/* False: the thread runs, or cannot be looked at. */
static bool read_rest(const struct sw_process *process, int tid, struct rest *rest, struct sw_process_at *at)
{
    memset(rest, 0, sizeof *rest);
    return sw_process_thread_file(process->pid, tid, "schedstat", rest->times) &&
           sw_process_read_call(process->pid, tid, rest->call, at);
}

/* Unless it has ended. */
static enum sw_status leave_out(struct sw_process *process, int tid)
{
    return sw_process_thread_ended(process->pid, tid)
               ? SW_OK
               : sw_left_out_add(&process->left_out, &process->alloc, (uint64_t)tid, SW_LEFT_OUT_RUNS);
}

/* taken: whether it slept all the time. */
static enum sw_status take_if_asleep(struct sw_process *process, int tid, size_t most, bool *taken)
{
    struct sw_process_capture *capture = &process->capture;
    const size_t threads = capture->thread_count, store = capture->store_size;
    struct rest before, after;
    struct sw_process_at at;
    *taken = false;
    if (!read_rest(process, tid, &before, &at))
        return SW_OK;
    const enum sw_status status = sw_process_add_captured(process, tid, &at.regs, sw_process_thread_pointer(tid), most);
    *taken = status == SW_OK && read_rest(process, tid, &after, &at) && memcmp(&before, &after, sizeof before) == 0;
    if (status == SW_OK && !*taken) {
        capture->thread_count = threads;
        capture->store_size = store;
    }
    return status;
}

static enum sw_status capture_if_asleep(struct sw_process *process, int tid, size_t most)
{
    bool taken;
    const enum sw_status status = take_if_asleep(process, tid, most, &taken);
    return status == SW_OK && !taken ? leave_out(process, tid) : status;
}

enum sw_status sw_process_capture_sleepers(struct sw_process *process, size_t most)
{
    struct sw_left_out_list *list = &process->left_out;
    enum sw_status status = SW_OK;
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct sw_left_out row = list->rows[i];
        bool taken = false;
        if (status == SW_OK && row.why == SW_LEFT_OUT_SLEEPS)
            status = take_if_asleep(process, (int)row.tid, most, &taken);
        if (!taken)
            list->rows[kept++] = row;
    }
    list->count = kept;
    sw_process_sort_captured(process);
    return status;
}

/* Whether this kernel tells, and tells us: of another thread, which may run. */
static enum sw_status check_support(const struct sw_process *process)
{
    struct rest rest;
    struct sw_process_at at;
    read_rest(process, process->live_tid, &rest, &at);
    if (rest.times[0] && rest.call[0])
        return SW_OK;
    return sw_process_live_thread(process->pid) == 0 ? SW_E_GONE : rest.times[0] ? SW_E_PERMISSION : SW_E_UNSUPPORTED;
}

enum sw_status sw_process_capture_asleep(struct sw_process *process, size_t stack_bytes)
{
    char path[SW_PROC_PATH_BYTES];
    size_t most;
    int tid;
    enum sw_status status = sw_process_begin_capture(process, stack_bytes, &most);
    if (status == SW_OK)
        status = sw_process_read_maps(process);
    if (status == SW_OK)
        status = check_support(process);
    if (status != SW_OK)
        return status;
    process->capture.has_maps = false; /* the process runs on: its images are those that it has afterwards */
    snprintf(path, sizeof path, "/proc/%d/task", process->pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return sw_os_status(errno);
    while (status == SW_OK && (tid = sw_process_next_thread(tasks)) != 0)
        status = capture_if_asleep(process, tid, most);
    closedir(tasks);
    sw_process_sort_left_out(process);
    sw_process_sort_captured(process);
    process->capture.is_of_program = sw_process_executes(process->live_tid, &process->capture.program);
    if (status == SW_OK && !process->capture.is_of_program)
        status = SW_E_GONE;
    if (status != SW_OK)
        process->capture.thread_count = 0;
    return status;
}
