/*
 * Stops the threads of another process with ptrace.
 *
 * A thread is seized and interrupted; any first stop that it reports will do. If that was the delivery of a signal, the
 * signal is delivered at the detach. Resuming always detaches, so a process stopped by job control stays stopped, and a
 * tracer that dies leaves nothing behind. A thread in uninterruptible sleep is not seized at all: it would report its
 * stop later, when nobody waits for it.
 *
 * Source: ptrace(2), proc(5); contexts.md section 7.
 */
#include "target/linux/process.h"

#include "arch/arch.h"

#include <snapwalk/context.h>

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef NT_ARM_PAC_MASK
#define NT_ARM_PAC_MASK 0x406
#endif
#ifndef NT_ARM_TLS
#define NT_ARM_TLS 0x401
#endif

#define MILLISECOND UINT64_C(1000000)

enum {
    STOP_TIMEOUT_MS = 2000,   /* for all threads of one stop together */
    SLEEPER_TIMEOUT_MS = 200, /* for threads in uninterruptible sleep */
    STAT_BYTES = 512
};

/* The state letter in /proc/PID/task/TID/stat; 0: the thread does not exist. */
static char thread_state(int pid, int tid)
{
    char path[SW_PROC_PATH_BYTES];
    char text[STAT_BYTES];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    const ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    text[got > 0 ? got : 0] = 0;
    /* The name in front of it may hold any character, even brackets: the last bracket counts. */
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

bool sw_process_thread_ended(int pid, int tid)
{
    const char state = thread_state(pid, tid);
    return state == 0 || state == 'Z' || state == 'X';
}

struct sw_process_thread *sw_process_find_thread(const struct sw_process *process, uint64_t tid)
{
    for (size_t i = 0; i < process->thread_count; i++)
        if ((uint64_t)process->threads[i].tid == tid)
            return &process->threads[i];
    return NULL;
}

static enum sw_status make_room(struct sw_process *process)
{
    if (process->thread_count < process->thread_room)
        return SW_OK;
    const size_t room = process->thread_room ? process->thread_room * 2 : 32;
    struct sw_process_thread *threads = process->alloc.get(process->alloc.arg, room * sizeof *threads);
    if (!threads)
        return SW_E_NO_MEMORY;
    if (process->threads) {
        memcpy(threads, process->threads, process->thread_count * sizeof *threads);
        process->alloc.put(process->alloc.arg, process->threads, process->thread_room * sizeof *threads);
    }
    process->threads = threads;
    process->thread_room = room;
    return SW_OK;
}

static void remove_thread(struct sw_process *process, struct sw_process_thread *thread)
{
    *thread = process->threads[--process->thread_count];
}

/*
 * Reaps a thread that has ended or is ending. Its exit status goes to the tracer, unless our process is the parent and
 * may want to wait for it itself: then it is only waited for. Until it is reaped, the process has not ended for its
 * parent, nor for proc(5).
 */
static void reap(const struct sw_process *process, int tid)
{
    const uint64_t begin = sw_os_now();
    const int keep = tid == process->pid && process->own_child ? WNOWAIT : 0;
    siginfo_t info = { 0 };
    for (unsigned round = 0; waitid(P_PID, (id_t)tid, &info, WEXITED | __WALL | WNOHANG | keep) == 0; round++) {
        if (info.si_pid != 0 || sw_os_now() - begin > STOP_TIMEOUT_MS * MILLISECOND)
            return;
        sw_os_wait(NULL, round);
    }
}

/*
 * Seizes a thread and requests it to stop.
 *
 * Returns  SW_OK; SW_E_GONE (it has ended); SW_E_BUSY (in uninterruptible sleep, say in vfork); SW_E_PERMISSION;
 *          SW_E_NO_MEMORY; SW_E_OS.
 */
static enum sw_status seize(struct sw_process *process, int tid)
{
    const enum sw_status status = make_room(process);
    if (status != SW_OK)
        return status;
    if (thread_state(process->pid, tid) == 'D')
        return SW_E_BUSY;
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0) {
        const int error = errno;
        return sw_process_thread_ended(process->pid, tid) ? SW_E_GONE : sw_os_status(error);
    }
    process->threads[process->thread_count++] = (struct sw_process_thread){ .tid = tid };
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    return SW_OK;
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
    if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED) {
        reap(process, tid);
        return SW_E_GONE;
    }
    /* No event number: the stop is the delivery of a signal. */
    thread->signal = info.si_status >> 8 ? 0 : info.si_status;
    thread->stopped = true;
    return SW_OK;
}

static enum sw_status wait_for_stop(struct sw_process *process, struct sw_process_thread *thread, uint64_t deadline)
{
    for (unsigned round = 0; !thread->stopped; round++) {
        const enum sw_status status = poll_stop(process, thread);
        if (status != SW_E_BUSY)
            return status;
        if (sw_os_now() > deadline)
            return SW_E_BUSY;
        sw_os_wait(NULL, round);
    }
    return SW_OK;
}

/* Resumes a thread. One that has not stopped yet cannot be detached: it stays seized, and runs. */
static bool detach(struct sw_process *process, struct sw_process_thread *thread)
{
    if (!thread->stopped && poll_stop(process, thread) == SW_E_BUSY)
        return false;
    if (ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal) != 0)
        reap(process, thread->tid);
    return true;
}

/*
 * Releases the threads that sw_process_stop holds. The leader comes last: its end is reported only after that of all
 * others.
 */
static void release_threads(struct sw_process *process)
{
    process->maps_valid = false;
    for (size_t i = process->thread_count; i-- > 0;) {
        struct sw_process_thread *thread = &process->threads[i];
        thread->held_by_stop = false;
        if (thread->tid != process->pid && thread->suspend_count == 0 && detach(process, thread))
            remove_thread(process, thread);
    }
    struct sw_process_thread *leader = sw_process_find_thread(process, (uint64_t)process->pid);
    if (leader && leader->suspend_count == 0 && detach(process, leader))
        remove_thread(process, leader);
    if (process->stop_began)
        process->stopped_ns = sw_os_now() - process->stop_began;
    process->stop_began = 0;
}

/* Seizes the threads that are not seized yet. found: how many. uninterruptible: how many cannot be stopped now. */
static enum sw_status seize_new(struct sw_process *process, size_t *found, size_t *uninterruptible)
{
    char path[SW_PROC_PATH_BYTES];
    enum sw_status status = SW_OK;
    const struct dirent *entry;
    snprintf(path, sizeof path, "/proc/%d/task", process->pid);
    DIR *tasks = opendir(path);
    *found = *uninterruptible = 0;
    if (!tasks)
        return sw_os_status(errno);
    while (status == SW_OK && (entry = readdir(tasks)) != NULL) {
        const int tid = (int)strtol(entry->d_name, NULL, 10); /* 0: . and .. */
        if (tid <= 0 || sw_process_find_thread(process, (uint64_t)tid))
            continue;
        status = seize(process, tid);
        *found += status == SW_OK;
        *uninterruptible += status == SW_E_BUSY;
        if (status == SW_E_GONE || status == SW_E_BUSY)
            status = SW_OK;
    }
    closedir(tasks);
    return status;
}

/* A thread that does not stop stays in the list as not stopped. */
static void wait_for_all(struct sw_process *process, uint64_t deadline)
{
    for (size_t i = process->thread_count; i-- > 0;) {
        struct sw_process_thread *thread = &process->threads[i];
        const enum sw_status status = wait_for_stop(process, thread, deadline);
        if (status == SW_E_GONE)
            remove_thread(process, thread);
        else
            thread->held_by_stop = true;
    }
}

static int by_tid(const void *a, const void *b)
{
    const struct sw_process_thread *x = a;
    const struct sw_process_thread *y = b;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

/* A thread may start others until it is stopped itself, so the list is read until nothing new is in it. */
static enum sw_status stop_all(struct sw_process *process)
{
    const uint64_t begin = sw_os_now();
    enum sw_status status = SW_OK;
    size_t found = 1;
    size_t uninterruptible = 0;
    for (unsigned round = 0; status == SW_OK && (found || uninterruptible); round++) {
        status = seize_new(process, &found, &uninterruptible);
        wait_for_all(process, begin + STOP_TIMEOUT_MS * MILLISECOND);
        const uint64_t passed = sw_os_now() - begin;
        if (found ? passed > STOP_TIMEOUT_MS * MILLISECOND : passed > SLEEPER_TIMEOUT_MS * MILLISECOND)
            break;
        if (!found && uninterruptible)
            sw_os_wait(NULL, round);
    }
    return status;
}

enum sw_status sw_process_stop(struct sw_process *process)
{
    if (!process)
        return SW_E_ARGUMENT;
    process->maps_valid = false;
    if (!process->stop_began)
        process->stop_began = sw_os_now();
    enum sw_status status = stop_all(process);
    if (status == SW_OK && sw_process_threads(process, NULL, 0) == 0)
        status = sw_process_thread_ended(process->pid, process->pid) ? SW_E_GONE : SW_E_BUSY;
    if (status != SW_OK)
        release_threads(process);
    if (process->thread_count)
        qsort(process->threads, process->thread_count, sizeof *process->threads, by_tid);
    return status;
}

enum sw_status sw_process_resume(struct sw_process *process)
{
    if (!process)
        return SW_E_ARGUMENT;
    release_threads(process);
    return sw_process_thread_ended(process->pid, process->pid) ? SW_E_GONE : SW_OK;
}

uint64_t sw_process_stopped_ns(const struct sw_process *process)
{
    return process ? process->stopped_ns : 0;
}

void sw_process_drop_threads(struct sw_process *process)
{
    for (size_t i = 0; i < process->thread_count; i++)
        process->threads[i].suspend_count = 0;
    release_threads(process);
    if (process->threads)
        process->alloc.put(process->alloc.arg, process->threads, process->thread_room * sizeof *process->threads);
    process->threads = NULL;
    process->thread_count = process->thread_room = 0;
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
    return sw_context_load(SW_CONTEXT_USER_REGS, sw_os_machine(), record, data.iov_len, regs);
}

enum sw_status sw_process_regs(struct sw_process *process, uint64_t tid, struct sw_regs *regs)
{
    if (!process || !regs)
        return SW_E_ARGUMENT;
    const struct sw_process_thread *thread = sw_process_find_thread(process, tid);
    return thread && thread->stopped ? sw_process_read_regs(thread->tid, regs, NULL) : SW_E_NOT_FOUND;
}

/* If kernel or processor do not support signatures, this register set does not exist, and nothing is signed. */
static uint64_t pac_mask_of(int tid)
{
    uint64_t masks[2] = { 0, 0 }; /* for data, for code */
    struct iovec data = { masks, sizeof masks };
    if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_ARM_PAC_MASK, &data) != 0)
        return errno == EINVAL || errno == ENODEV ? SW_OS_TAG : 0;
    return data.iov_len == sizeof masks ? masks[1] | SW_OS_TAG : 0;
}

uint64_t sw_process_pac_mask(const struct sw_process *process)
{
    if (!sw_arch_of(sw_os_machine())->pointer_auth)
        return 0;
    for (size_t i = 0; i < process->thread_count; i++)
        if (process->threads[i].stopped)
            return pac_mask_of(process->threads[i].tid);
    return 0;
}

static enum sw_status suspend(void *arg, uint64_t os_id, struct sw_regs *regs)
{
    struct sw_process *process = arg;
    enum sw_status status = SW_OK;
    if (!process || !regs || os_id == 0 || os_id > INT32_MAX)
        return SW_E_ARGUMENT;
    if (!sw_process_find_thread(process, os_id))
        status = sw_process_thread_ended(process->pid, (int)os_id) ? SW_E_GONE : seize(process, (int)os_id);
    struct sw_process_thread *thread = sw_process_find_thread(process, os_id);
    if (!thread)
        return status;
    status = wait_for_stop(process, thread, sw_os_now() + STOP_TIMEOUT_MS * MILLISECOND);
    if (status == SW_OK)
        status = sw_process_read_regs(thread->tid, regs, NULL);
    if (status == SW_E_GONE && thread->suspend_count == 0) {
        reap(process, thread->tid);
        remove_thread(process, thread);
    }
    if (status == SW_OK)
        thread->suspend_count++;
    return status;
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
    if (thread->suspend_count != 0 || thread->held_by_stop)
        return SW_OK;
    process->maps_valid = false;
    if (detach(process, thread))
        remove_thread(process, thread);
    return SW_OK;
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
    return (struct sw_suspender){ suspend, resume, current, capture, sw_os_wait, process };
}
