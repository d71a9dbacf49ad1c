/*
 * Stops the threads of another process with ptrace.
 *
 * A thread is seized and interrupted; any first stop that it reports will do. If that was the delivery of a signal, the
 * signal is delivered at the detach. Resuming always detaches, so a process stopped by job control stays stopped, and a
 * tracer that dies leaves nothing behind. A thread in uninterruptible sleep is not seized at all: it would report its
 * stop later, when nobody waits for it. A thread that was seized and stays in the kernel for long cannot be detached,
 * and is let go by the end of the tracer, which makes all calls of ptrace (tracer.c).
 *
 * Source: ptrace(2), proc(5); contexts.md section 7.
 */
#include "target/linux/process.h"

#include "arch/arch.h"
#include "common/grow.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#ifndef NT_ARM_PAC_MASK
#define NT_ARM_PAC_MASK 0x406
#endif

#define STOP_TIMEOUT_NS UINT64_C(2000000000) /* for threads that get no processor */

enum {
    LATE_ROUND = 32,   /* of waiting: about a millisecond */
    LEFT_ROUNDS = 200, /* less than a fifth of a second */
    HURRY_ROUNDS = 16, /* no sleep of ours among them */
    MANY = 4           /* threads: to wake so many takes as long as to start a tracer */
};

/* ------------------------------------------------------------------ the list of seized threads */

struct sw_process_thread *sw_process_find_thread(const struct sw_process *process, uint64_t tid)
{
    for (size_t i = 0; i < process->thread_count; i++)
        if ((uint64_t)process->threads[i].tid == tid)
            return &process->threads[i];
    return NULL;
}

size_t sw_process_threads(const struct sw_process *process, uint64_t *tids, size_t capacity)
{
    size_t count = 0;
    for (size_t i = 0; process && i < process->thread_count; i++) {
        if (!process->threads[i].stopped)
            continue;
        if (tids && count < capacity)
            tids[count] = (uint64_t)process->threads[i].tid;
        count++;
    }
    return count;
}

static int by_tid(const void *a, const void *b)
{
    const struct sw_process_thread *x = a;
    const struct sw_process_thread *y = b;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

static void sort_threads(struct sw_process *process)
{
    if (process->thread_count)
        qsort(process->threads, process->thread_count, sizeof *process->threads, by_tid);
}

/* Among the first `count`, which are sorted. */
static bool is_known(const struct sw_process *process, size_t count, int tid)
{
    const struct sw_process_thread key = { .tid = tid };
    return count && bsearch(&key, process->threads, count, sizeof key, by_tid);
}

static enum sw_status make_room(struct sw_process *process)
{
    const size_t count = process->thread_count;
    struct sw_process_thread *threads =
        sw_grow(&process->alloc, process->threads, sizeof *threads, count, &process->thread_room, count + 1);
    if (!threads)
        return SW_E_NO_MEMORY;
    process->threads = threads;
    return SW_OK;
}

void sw_process_remove_thread(struct sw_process *process, struct sw_process_thread *thread)
{
    *thread = process->threads[--process->thread_count];
}

/* ------------------------------------------------------------------ one thread */

static bool is_end(const siginfo_t *info)
{
    return info->si_pid != 0 &&
           (info->si_code == CLD_EXITED || info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED);
}

/*
 * Reaps a thread if it has ended. Whoever traces is told of stops, too, although only ends are asked for: so the report
 * is looked at first, and that of a stop is left where it is.
 *
 * Returns  Whether it has ended.
 */
bool sw_process_reap_if_ended(int tid, bool keeps)
{
    siginfo_t info = { 0 };
    if (waitid(P_PID, (id_t)tid, &info, WEXITED | __WALL | WNOHANG | WNOWAIT) != 0)
        return errno != EINTR;
    if (is_end(&info) && !keeps)
        (void)waitid(P_PID, (id_t)tid, &info, WEXITED | __WALL | WNOHANG);
    return is_end(&info);
}

/*
 * Reaps a thread that has ended or is ending. Its exit status goes to the tracer; if that is a thread of ours, and our
 * process is the parent and may want to wait for it itself, it is only waited for. Until it is reaped, the process has
 * not ended for its parent, nor for proc(5).
 */
static void reap(const struct sw_process *process, int tid)
{
    const uint64_t begin = sw_os_now();
    const bool keeps = tid == process->pid && process->own_child && !process->tracer.is_process;
    for (unsigned round = 0; !sw_process_reap_if_ended(tid, keeps) && sw_os_now() - begin <= STOP_TIMEOUT_NS; round++)
        sw_os_wait(NULL, round);
}

static void interrupt(struct sw_process_thread *thread)
{
    thread->is_interrupted = true;
    ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
}

/*
 * What the thread has reported. SW_OK: it has stopped; SW_E_BUSY: nothing yet; SW_E_GONE: it has ended. The report is
 * left where it is: a signal whose delivery was reported and taken note of would be lost if this process were killed
 * before it detaches, because then the kernel detaches and knows of none.
 */
static enum sw_status poll_stop(const struct sw_process *process, struct sw_process_thread *thread)
{
    const int tid = thread->tid;
    siginfo_t info = { 0 };
    if (waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | __WALL | WNOHANG | WNOWAIT) != 0)
        return errno == EINTR ? SW_E_BUSY : SW_E_GONE;
    if (info.si_pid == 0)
        return SW_E_BUSY;
    if (is_end(&info)) {
        reap(process, tid);
        return SW_E_GONE;
    }
    /* No event number: the stop is the delivery of a signal. */
    thread->signal = info.si_status >> 8 ? 0 : info.si_status;
    thread->stopped = true;
    if (thread->is_interrupted)
        sw_process_repeat_call(process, tid);
    return SW_OK;
}

/* Where a stop has to be followed by a step of ours, the process would be harmed if this program ended before it. */
static void hurry(const struct sw_process *process, struct sw_process_thread *thread)
{
    for (unsigned round = 0; round < HURRY_ROUNDS && !thread->stopped; round++)
        if (poll_stop(process, thread) == SW_E_BUSY)
            sw_os_wait(NULL, round);
}

/* Once more where nobody is in the way that could end: it may have ended just now. */
static int seize(int pid, int tid)
{
    int error = EPERM;
    bool was_left = true;
    for (unsigned round = 0; round < LEFT_ROUNDS; round++) {
        error = ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0 ? 0 : errno;
        const bool is_left = error == EPERM && sw_process_is_left(pid, tid);
        if (error != EPERM || (!is_left && !was_left))
            break;
        was_left = is_left;
        sw_os_wait(NULL, round);
    }
    return error;
}

/* Unless it is stopped by job control. */
static enum sw_status trace(struct sw_process *process, struct sw_process_thread *thread, char state)
{
    process->seize_count++;
    pthread_mutex_unlock(&process->threads_lock);
    const int error = seize(process->pid, thread->tid);
    pthread_mutex_lock(&process->threads_lock);
    process->error = error;
    if (error)
        return sw_process_thread_ended(process->pid, thread->tid) ? SW_E_GONE : sw_os_status(error);
    if (state != 'T')
        interrupt(thread);
    if (state != 'T' && process->may_refuse)
        hurry(process, thread);
    return SW_OK;
}

/*
 * Seizes a thread and requests it to stop; one that is better left asleep is not touched.
 *
 * Returns  SW_OK; SW_E_GONE (it has ended); SW_E_BUSY (in uninterruptible sleep, say in vfork); SW_E_PERMISSION;
 *          SW_E_NO_MEMORY; SW_E_OS.
 */
enum sw_status sw_process_seize(struct sw_process *process, int tasks, int tid)
{
    enum sw_status status = make_room(process);
    if (status != SW_OK)
        return status;
    struct sw_process_thread thread = { .tid = tid };
    const char state = sw_process_named_state(tasks, tid, thread.name);
    if (state == 'D')
        return SW_E_BUSY;
    if (!sw_process_fall_asleep(process, &thread, state))
        status = trace(process, &thread, state);
    if (status == SW_OK)
        process->threads[process->thread_count++] = thread;
    return status;
}

/*
 * Looks once at a thread that was requested to stop. It is left out if it is in the kernel for long: the others stand
 * as long as it is waited for.
 */
static enum sw_status look_at_thread(struct sw_process *process, struct sw_process_thread *thread, unsigned round)
{
    const enum sw_status status = thread->stopped ? SW_OK : poll_stop(process, thread);
    if (status == SW_E_BUSY && !thread->is_interrupted) /* job control lets it go on */
        interrupt(thread);
    if (status != SW_E_BUSY || round < LATE_ROUND)
        return status;
    thread->is_left_out = sw_process_thread_state(process->pid, thread->tid) == 'D'
                              ? sw_process_sleeps_long(process, thread->tid)
                              : sw_process_runs_long(process, thread);
    return status;
}

/* Waits for one thread. SW_E_BUSY: it does not stop. */
enum sw_status sw_process_wait_for_stop(struct sw_process *process, struct sw_process_thread *thread)
{
    const uint64_t begin = sw_os_now();
    enum sw_status status = SW_E_BUSY;
    thread->is_left_out = thread->is_timed = false;
    for (unsigned round = 0; status == SW_E_BUSY && !thread->is_left_out; round++) {
        status = look_at_thread(process, thread, round);
        if (status == SW_E_BUSY && sw_os_now() - begin > STOP_TIMEOUT_NS)
            break;
        if (status == SW_E_BUSY)
            sw_os_wait(NULL, round);
    }
    return status;
}

enum sw_status sw_process_hold(struct sw_process *process, struct sw_process_thread *thread)
{
    const char state = sw_process_thread_state(process->pid, thread->tid);
    if (sw_process_fall_asleep(process, thread, state))
        return SW_OK;
    thread->is_asleep = thread->stopped = thread->has_regs = false;
    const enum sw_status status = trace(process, thread, state);
    return status == SW_OK ? sw_process_wait_for_stop(process, thread) : status;
}

/* Resumes a thread. One that has not stopped yet cannot be detached: it stays seized, and runs. */
bool sw_process_detach(struct sw_process *process, struct sw_process_thread *thread)
{
    if (thread->is_asleep)
        return true;
    if (!thread->stopped && poll_stop(process, thread) == SW_E_BUSY)
        return false;
    if (ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal) != 0)
        reap(process, thread->tid);
    return true;
}

/* Whether the tracer's end may let them go: no thread is held by the suspender, too, and none that stood was killed. */
static bool may_end(const struct sw_process *process)
{
    const struct sw_process_thread *standing = NULL;
    unsigned long message;
    for (size_t i = 0; i < process->thread_count; i++)
        if (process->threads[i].suspend_count)
            return false;
        else if (process->threads[i].stopped && !process->threads[i].is_asleep)
            standing = &process->threads[i];
    return standing && ptrace(PTRACE_GETEVENTMSG, standing->tid, NULL, &message) == 0;
}

/*
 * Releases the threads that sw_process_stop holds. Many are left to the end of the tracer, which lets all go in one go
 * (process_calls.c): one by one each of them takes a processor from the tracer when it wakes. A process that was killed
 * is waited for, thread by thread. The leader comes last: its end is reported only after that of all others.
 */
static void release_threads(struct sw_process *process)
{
    process->maps_valid = process->stop.is_begun = false;
    for (size_t i = 0; i < process->thread_count; i++)
        process->threads[i].held_by_stop = false;
    if (process->thread_count >= MANY && may_end(process))
        return;
    for (size_t i = process->thread_count; i-- > 0;) {
        struct sw_process_thread *thread = &process->threads[i];
        if (thread->tid != process->pid && thread->suspend_count == 0 && sw_process_detach(process, thread))
            sw_process_remove_thread(process, thread);
    }
    struct sw_process_thread *leader = sw_process_find_thread(process, (uint64_t)process->pid);
    if (leader && leader->suspend_count == 0 && sw_process_detach(process, leader))
        sw_process_remove_thread(process, leader);
}

/* ------------------------------------------------------------------ all threads */

/*
 * Seizes the threads that are not seized yet, and notes those that cannot be. found: how many. asleep: how many cannot
 * be, but may be in a moment.
 */
static enum sw_status seize_new(struct sw_process *process, size_t *found, size_t *asleep)
{
    char path[SW_PROC_PATH_BYTES];
    enum sw_status status = SW_OK;
    const size_t known = process->thread_count;
    int tid;
    snprintf(path, sizeof path, "/proc/%d/task", process->pid);
    DIR *tasks = opendir(path);
    *found = *asleep = 0;
    process->left_out.count = 0;
    process->error = errno;
    if (!tasks)
        return sw_os_status(errno);
    while (status == SW_OK && (tid = sw_process_next_thread(tasks)) != 0) {
        if (is_known(process, known, tid))
            continue;
        status = sw_process_seize(process, dirfd(tasks), tid);
        *found += status == SW_OK;
        *asleep += status == SW_E_BUSY && !sw_process_sleeps_long(process, tid);
        if (status == SW_E_BUSY)
            status = sw_left_out_add(&process->left_out, &process->alloc, (uint64_t)tid, SW_LEFT_OUT_SLEEPS);
        else if (status == SW_E_GONE)
            status = SW_OK;
    }
    closedir(tasks);
    return status;
}

/* Looks once at all threads. Returns  How many to wait for. */
static size_t look_at_all(struct sw_process *process, unsigned round)
{
    size_t waiting = 0;
    for (size_t i = process->thread_count; i-- > 0;) {
        struct sw_process_thread *thread = &process->threads[i];
        const enum sw_status status = thread->is_left_out ? SW_E_BUSY : look_at_thread(process, thread, round);
        thread->held_by_stop = true;
        waiting += status == SW_E_BUSY && !thread->is_left_out;
        if (status == SW_E_GONE)
            sw_process_remove_thread(process, thread);
    }
    return waiting;
}

/* A thread that does not stop stays in the list as not stopped. */
static void wait_for_all(struct sw_process *process, uint64_t begin)
{
    for (unsigned round = 0; look_at_all(process, round) && sw_os_now() - begin <= STOP_TIMEOUT_NS; round++)
        sw_os_wait(NULL, round);
    sort_threads(process);
}

/* Those that were seized and have not stopped. */
static enum sw_status note_left_out(struct sw_process *process)
{
    enum sw_status status = SW_OK;
    for (size_t i = 0; i < process->thread_count && status == SW_OK; i++) {
        const int tid = process->threads[i].tid;
        if (process->threads[i].stopped)
            continue;
        const bool sleeps = sw_process_thread_state(process->pid, tid) == 'D';
        status = sw_left_out_add(&process->left_out, &process->alloc, (uint64_t)tid,
                                 sleeps ? SW_LEFT_OUT_SLEEPS : SW_LEFT_OUT_STAYS);
    }
    sw_process_sort_left_out(process);
    return status;
}

/* Whether all threads that stand are all that the process has. Then none is there that can start another. */
static bool is_whole(const struct sw_process *process)
{
    const size_t standing = sw_process_threads(process, NULL, 0);
    return standing == process->thread_count && standing == sw_process_count_threads(process->pid);
}

/* A thread may start others until it is stopped itself, so the list is read until nothing new is in it. */
static enum sw_status stop_all(struct sw_process *process)
{
    const uint64_t begin = sw_os_now();
    enum sw_status status = SW_OK;
    size_t found = 1;
    size_t asleep = 0;
    sort_threads(process);
    for (size_t i = 0; i < process->thread_count; i++)
        process->threads[i].is_left_out = process->threads[i].is_timed = false;
    for (unsigned round = 0; status == SW_OK && (found || asleep); round++) {
        status = seize_new(process, &found, &asleep);
        wait_for_all(process, begin);
        if (sw_os_now() - begin > STOP_TIMEOUT_NS || is_whole(process))
            break;
        if (!found && asleep)
            sw_os_wait(NULL, round);
    }
    sw_process_forget_sleepers(process);
    return status == SW_OK ? note_left_out(process) : status;
}

/* If kernel or processor do not support signatures, this register set does not exist, and nothing is signed. */
uint64_t sw_process_pac_mask_of(int tid)
{
    uint64_t masks[2] = { 0, 0 }; /* for data, for code */
    struct iovec data = { masks, sizeof masks };
    if (!sw_arch_of(sw_os_machine())->pointer_auth)
        return 0;
    if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_ARM_PAC_MASK, &data) != 0)
        return errno == EINVAL || errno == ENODEV ? SW_OS_TAG : 0;
    return data.iov_len == sizeof masks ? masks[1] | SW_OS_TAG : 0;
}

enum sw_status sw_process_stop_threads(struct sw_process *process)
{
    process->maps_valid = process->stop.is_begun = false;
    if (!process->stop_began)
        process->stop_began = sw_os_now();
    sw_process_find_filter(process);
    enum sw_status status = stop_all(process);
    if (status == SW_OK && sw_process_threads(process, NULL, 0) == 0)
        status = sw_process_live_thread(process->pid) ? SW_E_BUSY : SW_E_GONE;
    if (status != SW_OK)
        release_threads(process);
    for (size_t i = 0; i < process->thread_count; i++)
        if (process->threads[i].stopped && !process->threads[i].is_asleep) {
            process->pac_mask = sw_process_pac_mask_of(process->threads[i].tid);
            break;
        }
    return status;
}

enum sw_status sw_process_resume_threads(struct sw_process *process)
{
    release_threads(process);
    return sw_process_live_thread(process->pid) ? SW_OK : SW_E_GONE;
}
