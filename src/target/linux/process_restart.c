/*
 * Threads that a stop could end. A system call that sleeps for a time is interrupted by a stop, and goes on by another
 * one, restart_syscall, with the time that is left. A seccomp filter of the target that lists what it allows may have
 * left that one out: then the thread is killed as soon as it goes on, and that cannot be taken back by who stopped it,
 * who may be killed first. So in a process with such a filter a thread that sleeps in such a call is not stopped: it
 * stands by itself, and /proc tells where. It may wake, and is then stopped like others.
 *
 * A thread that enters such a call just when it is stopped has all of its time left: it is made to begin it again.
 *
 * Source: restart_syscall(2), seccomp(2), proc(5); Linux fs/select.c, kernel/time/hrtimer.c, kernel/futex/waitwake.c
 * (set_restart_fn), arch/x86/kernel/signal.c (arch_do_signal_or_restart); contexts.md section 7.
 */
#include "target/linux/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILTERED = 2, STATUS_BYTES = 4096, TIMEOUT = 3 /* of futex, its place */, FLAGS = 1 /* of clock_nanosleep */ };

/*
 * A thread has the filters of the one that started it, so one is asked for all: a thread that alone has a filter, and
 * runs beside others without, is not found.
 */
void sw_process_find_filter(struct sw_process *process)
{
    static const char field[] = "\nSeccomp:";
    struct sw_os_text text;
    char path[SW_PROC_PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/status", process->live_tid);
    if (sw_os_read_file(&process->alloc, path, &text) != SW_OK)
        return;
    const char *at = memmem(text.bytes, text.size, field, sizeof field - 1);
    char digits[8] = "";
    if (at)
        memcpy(digits, at + sizeof field - 1, sizeof digits - 1);
    process->may_refuse = strtol(digits, NULL, 10) == FILTERED;
    sw_os_free_text(&process->alloc, &text);
}

/* Whether a stop makes the call go on by restart_syscall. Those that sleep until a time are entered again. */
static bool restarts(const struct sw_process_at *at)
{
    switch (at->call) {
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_nanosleep:
    case SYS_restart_syscall:
        return true;
    case SYS_clock_nanosleep:
        return (at->arguments[FLAGS] & TIMER_ABSTIME) == 0;
    case SYS_futex:
        return at->arguments[TIMEOUT] != 0;
    default:
        return false;
    }
}

static bool read_restarted(const struct sw_process *process, int tid, struct sw_process_at *at)
{
    char text[SW_PROC_TEXT_BYTES];
    return sw_process_read_call(process->pid, tid, text, at) && restarts(at);
}

/* The turns before the call that counts: if they are the same later on, it has not left that meanwhile. */
bool sw_process_fall_asleep(const struct sw_process *process, struct sw_process_thread *thread, char state)
{
    struct sw_process_at at;
    if (!process->may_refuse || state != 'S')
        return false;
    if (!read_restarted(process, thread->tid, &at))
        return false;
    thread->turns = sw_process_turns(process->pid, thread->tid);
    if (!read_restarted(process, thread->tid, &at))
        return false;
    thread->regs = at.regs;
    thread->is_asleep = thread->stopped = thread->has_regs = true;
    return true;
}

bool sw_process_sleeps_on(const struct sw_process *process, const struct sw_process_thread *thread)
{
    struct sw_process_thread now = { .tid = thread->tid };
    return sw_process_fall_asleep(process, &now, 'S') && now.turns == thread->turns &&
           sw_regs_sp(&now.regs) == sw_regs_sp(&thread->regs) && sw_regs_pc(&now.regs) == sw_regs_pc(&thread->regs);
}

/*
 * By the result that means the same to a signal's handler. Only on x64 is it seen in the registers, before the kernel
 * goes by it.
 */
void sw_process_repeat_call(const struct sw_process *process, int tid)
{
#ifdef __x86_64__
    enum { RAX = 80, RESTART_BLOCK = -516, RESTART_UNLESS_HANDLED = -514 }; /* Source: Linux include/linux/errno.h */
    void *rax = (void *)(uintptr_t)RAX;
    if (process->may_refuse && ptrace(PTRACE_PEEKUSER, tid, rax, NULL) == RESTART_BLOCK)
        ptrace(PTRACE_POKEUSER, tid, rax, (void *)(intptr_t)RESTART_UNLESS_HANDLED);
#else
    (void)process;
    (void)tid;
#endif
}

/* The list of its robust mutexes begins in what glibc keeps of a thread, at its thread pointer. */
uint64_t sw_process_thread_pointer(int tid)
{
    void *list = NULL;
    size_t size = 0;
    return syscall(SYS_get_robust_list, tid, &list, &size) == 0 ? (uint64_t)(uintptr_t)list : 0;
}
