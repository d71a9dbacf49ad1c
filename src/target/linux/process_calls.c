/*
 * What is asked of the threads of another process: stop, resume, registers, the suspender. All calls of ptrace are made
 * by the tracer (tracer.c). Knows who wants a thread held; refuses to know how it is stopped (process_threads.c).
 *
 * Source: ptrace(2), proc(5); contexts.md section 7.
 */
#include "target/kernel_thread.h"
#include "target/linux/process.h"

#include <snapwalk/context.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef NT_ARM_TLS
#define NT_ARM_TLS 0x401
#endif

static bool is_wanted(const struct sw_process_thread *thread)
{
    return thread->held_by_stop || thread->suspend_count;
}

/*
 * A thread that is not wanted any more and could not be detached is let go by the end of the tracer, as soon as nothing
 * else is held by it.
 */
static void settle(struct sw_process *process)
{
    for (size_t i = 0; i < process->thread_count; i++)
        if (is_wanted(&process->threads[i]))
            return;
    if (process->thread_count)
        sw_tracer_end(&process->tracer);
    process->thread_count = 0;
}

/* A process does not follow when this one gives up rights (setuid): it is there no longer than it has to be. */
void sw_process_end_tracer(struct sw_process *process)
{
    if (process->tracer.is_process && process->thread_count == 0)
        sw_tracer_end(&process->tracer);
}

/* A stop of the whole process ends when none of its threads is held any more. */
static void note_end_of_stop(struct sw_process *process)
{
    for (size_t i = 0; i < process->thread_count; i++)
        if (process->threads[i].held_by_stop)
            return;
    if (process->stop_began)
        process->stopped_ns = sw_os_now() - process->stop_began;
    process->stop_began = 0;
}

/* ------------------------------------------------------------------ calls, made by the tracer */

struct request {
    struct sw_process *process;
    sw_process_call *call;
    void *arg;
    enum sw_status status;
};

static void make_call(void *arg)
{
    struct request *request = arg;
    pthread_mutex_lock(&request->process->threads_lock);
    request->status = request->call(request->process, request->arg);
    pthread_mutex_unlock(&request->process->threads_lock);
}

static void reap_those_that_ended(struct sw_process *process, bool with_main)
{
    for (size_t i = 0; i < process->thread_count; i++) {
        const int tid = process->threads[i].tid;
        if (with_main || tid != process->pid)
            (void)sw_process_reap_if_ended(tid, false);
    }
}

/*
 * No thread can be seized while the process begins another program. That ends its other threads, and waits until those
 * that were seized before are reaped: so this is done here, while the tracer waits in one PTRACE_SEIZE. And its parent,
 * which we may be, hears of its end only when the tracer has.
 */
static void reap(void *of, bool is_idle)
{
    struct sw_process *process = of;
    if (pthread_mutex_trylock(&process->threads_lock) != 0)
        return;
    const bool is_stuck = process->seize_count == process->seize_seen;
    process->seize_seen = process->seize_count;
    if (is_idle || is_stuck)
        reap_those_that_ended(process, is_idle);
    pthread_mutex_unlock(&process->threads_lock);
}

/* Nothing of a tracer that was killed is held any more. */
static void forget_threads(struct sw_process *process)
{
    pthread_mutex_init(&process->threads_lock, NULL);
    process->thread_count = 0;
    process->error = ESRCH;
}

enum sw_status sw_process_on_tracer(struct sw_process *process, sw_process_call *call, void *arg)
{
    struct request request = { process, call, arg, SW_OK };
    const enum sw_status status = sw_tracer_call(&process->tracer, make_call, &request, reap, process);
    if (status == SW_E_OS)
        forget_threads(process);
    settle(process);
    note_end_of_stop(process);
    if (status == SW_E_OS || request.status == SW_E_OS || request.status == SW_E_PERMISSION)
        errno = process->error; /* the tracer has an errno of its own */
    return status == SW_OK ? request.status : status;
}

/* All registers at once: to ask the tracer takes longer than to read them. */
static enum sw_status stop_call(struct sw_process *process, void *arg)
{
    (void)arg;
    process->capture.is_of_program = false;
    const enum sw_status status = sw_process_stop_threads(process);
    for (size_t i = 0; i < process->thread_count; i++) {
        struct sw_process_thread *thread = &process->threads[i];
        thread->has_regs = thread->stopped && sw_process_regs_of(thread, &thread->regs, NULL) == SW_OK;
    }
    return status;
}

enum sw_status sw_process_stop(struct sw_process *process)
{
    if (!process)
        return SW_E_ARGUMENT;
    return process->is_adopted ? SW_E_BUSY : sw_process_on_tracer(process, stop_call, NULL);
}

static enum sw_status resume_call(struct sw_process *process, void *arg)
{
    (void)arg;
    return sw_process_resume_threads(process);
}

enum sw_status sw_process_resume(struct sw_process *process)
{
    if (!process)
        return SW_E_ARGUMENT;
    if (process->is_adopted)
        sw_process_forget_stop(process);
    if (!sw_tracer_lives(&process->tracer))
        return sw_process_live_thread(process->pid) ? SW_OK : SW_E_GONE;
    const enum sw_status status = sw_process_on_tracer(process, resume_call, NULL);
    sw_process_end_tracer(process);
    return status;
}

uint64_t sw_process_stopped_ns(const struct sw_process *process)
{
    return process ? process->stopped_ns : 0;
}

void sw_process_drop_threads(struct sw_process *process)
{
    const struct sw_alloc *alloc = &process->alloc;
    for (size_t i = 0; i < process->thread_count; i++)
        process->threads[i].suspend_count = 0;
    if (sw_tracer_lives(&process->tracer))
        (void)sw_process_on_tracer(process, resume_call, NULL);
    sw_tracer_end(&process->tracer);
    if (process->threads)
        alloc->put(alloc->arg, process->threads, process->thread_room * sizeof *process->threads);
    if (process->sleepers)
        alloc->put(alloc->arg, process->sleepers, process->sleeper_room * sizeof *process->sleepers);
}

/* The thread pointer: on x64, word 21 of Linux' struct user_regs_struct; on ARM64, a register set of its own. */
static uint64_t thread_pointer(int tid, const unsigned char *record)
{
    uint64_t tls = 0;
    struct iovec data = { &tls, sizeof tls };
    if (sw_os_machine() == SW_MACHINE_X64)
        memcpy(&tls, record + 21 * sizeof tls, sizeof tls);
    else if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_ARM_TLS, &data) != 0)
        tls = 0;
    return tls;
}

enum sw_status sw_process_read_regs(int tid, struct sw_regs *regs, uint64_t *tls)
{
    unsigned char record[512];
    struct iovec data = { record, sizeof record };
    if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_PRSTATUS, &data) != 0)
        return sw_os_status(errno);
    if (data.iov_len < sw_context_size(SW_CONTEXT_USER_REGS, sw_os_machine()))
        return SW_E_UNSUPPORTED;
    if (tls)
        *tls = thread_pointer(tid, record);
    const enum sw_status status = sw_context_load(SW_CONTEXT_USER_REGS, sw_os_machine(), record, data.iov_len, regs);
    if (status == SW_OK)
        sw_forget_pc_of_kernel_thread(regs);
    return status;
}

enum sw_status sw_process_regs_of(const struct sw_process_thread *thread, struct sw_regs *regs, uint64_t *tls)
{
    if (!thread->is_asleep)
        return sw_process_read_regs(thread->tid, regs, tls);
    *regs = thread->regs;
    if (tls)
        *tls = sw_process_thread_pointer(thread->tid);
    return SW_OK;
}

/* One thread, for calls. */
struct one {
    uint64_t tid;
    struct sw_regs *regs;
};

static enum sw_status seize_one(struct sw_process *process, int tid)
{
    char path[SW_PROC_PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/task", process->pid);
    const int tasks = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    process->error = errno;
    if (tasks < 0)
        return sw_os_status(process->error);
    const enum sw_status status = sw_process_seize(process, tasks, tid);
    close(tasks);
    return status;
}

static enum sw_status suspend_call(struct sw_process *process, void *arg)
{
    const struct one *one = arg;
    enum sw_status status = SW_OK;
    sw_process_find_filter(process);
    if (!sw_process_find_thread(process, one->tid))
        status = sw_process_thread_ended(process->pid, (int)one->tid) ? SW_E_GONE : seize_one(process, (int)one->tid);
    struct sw_process_thread *thread = sw_process_find_thread(process, one->tid);
    if (!thread)
        return status;
    status = thread->is_asleep && !sw_process_sleeps_on(process, thread) ? sw_process_hold(process, thread)
                                                                         : sw_process_wait_for_stop(process, thread);
    if (status == SW_OK) {
        status = sw_process_regs_of(thread, one->regs, NULL);
        process->error = errno;
    }
    if (status == SW_OK) {
        thread->suspend_count++;
        process->pac_mask = sw_process_pac_mask_of(thread->tid);
    } else if (!is_wanted(thread) && sw_process_detach(process, thread)) {
        sw_process_remove_thread(process, thread);
    }
    return status;
}

static enum sw_status suspend(void *arg, uint64_t os_id, struct sw_regs *regs)
{
    struct one one = { os_id, regs };
    if (!arg || !regs || os_id == 0 || os_id > INT32_MAX)
        return SW_E_ARGUMENT;
    return ((struct sw_process *)arg)->is_adopted ? SW_E_BUSY : sw_process_on_tracer(arg, suspend_call, &one);
}

static enum sw_status let_go_call(struct sw_process *process, void *arg)
{
    struct sw_process_thread *thread = arg;
    process->maps_valid = false;
    if (sw_process_detach(process, thread))
        sw_process_remove_thread(process, thread);
    return SW_OK;
}

static enum sw_status resume(void *arg, uint64_t os_id)
{
    struct sw_process *process = arg;
    struct sw_process_thread *thread = process ? sw_process_find_thread(process, os_id) : NULL;
    if (!process)
        return SW_E_ARGUMENT;
    if (!thread || thread->suspend_count == 0)
        return SW_E_NOT_FOUND;
    thread->suspend_count--;
    return is_wanted(thread) ? SW_OK : sw_process_on_tracer(process, let_go_call, thread);
}

static uint64_t current(void *arg)
{
    (void)arg;
    return 0;
}

static enum sw_status capture(void *arg, struct sw_regs *regs)
{
    (void)arg;
    (void)regs;
    return SW_E_UNSUPPORTED;
}

struct sw_suspender sw_process_suspender(struct sw_process *process)
{
    return (struct sw_suspender){ suspend, resume, current, capture, sw_os_wait, process, NULL };
}
