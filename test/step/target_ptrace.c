/*
 * ptrace: see target.h. x64; one thread of a program, one program at a time.
 */
#include "target.h"

#include <snapwalk/process.h>

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* The library's view of the process: for its images and ranges. */
struct target_own {
    struct sw_process *process;
};

const enum sw_machine target_machine = SW_MACHINE_X64;
const struct shadow_machine *const target_shadow = &shadow_x64;

static void begin(char *const argv[], char *const environment[], bool traced)
{
    if (!traced || ptrace(PTRACE_TRACEME, 0, 0, 0) == 0)
        target_become(argv, environment);
    _exit(127);
}

/* Waits for the next stop. False: it has ended, or the wait was to. */
static bool wait_stop(struct target *t, int *signal)
{
    int status;
    t->running = true;
    while (waitpid(t->tid, &status, __WALL) < 0)
        if (errno != EINTR || (t->over && *t->over))
            return false;
    t->running = false;
    if (!WIFSTOPPED(status)) {
        t->ended = true;
        return false;
    }
    t->executed = t->executed || status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8);
    *signal = WSTOPSIG(status);
    return true;
}

static uint64_t entry_point(const struct target *t)
{
    char path[64];
    uint64_t words[128];
    (void)snprintf(path, sizeof path, "/proc/%d/auxv", (int)t->pid);
    const size_t count = target_read_file(path, (char *)words, sizeof words) / 16;
    for (size_t i = 0; i < count; i++)
        if (words[2 * i] == AT_ENTRY)
            return words[2 * i + 1];
    return 0;
}

/* Runs to an address by a breakpoint that is gone afterwards. */
static bool run_to(struct target *t, uint64_t address)
{
    struct user_regs_struct regs;
    int signal = 0;
    errno = 0;
    const long word = ptrace(PTRACE_PEEKTEXT, t->tid, address, 0);
    if (errno || ptrace(PTRACE_POKETEXT, t->tid, address, (word & ~0xffl) | 0xcc) != 0)
        return false;
    if (ptrace(PTRACE_CONT, t->tid, 0, 0) != 0 || !wait_stop(t, &signal) || signal != SIGTRAP)
        return false;
    if (ptrace(PTRACE_POKETEXT, t->tid, address, word) != 0 || ptrace(PTRACE_GETREGS, t->tid, 0, &regs) != 0 ||
        regs.rip != address + 1)
        return false;
    regs.rip = address;
    return ptrace(PTRACE_SETREGS, t->tid, 0, &regs) == 0;
}

bool target_map(struct target *t)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)t->pid);
    target_take_maps(t, target_read_file(path, t->maps_text, TARGET_MAPS_TEXT));
    return t->map_count > 0;
}

bool target_images(struct target *t, struct sw_images *images)
{
    if (!t->own && !(t->own = calloc(1, sizeof *t->own)))
        return false;
    if (!t->own->process && sw_process_open(NULL, t->pid, &t->own->process) != SW_OK)
        return false;
    return sw_process_add_images(t->own->process, images) == SW_OK;
}

bool target_mirror(struct target *t, struct sw_codemap *codemap)
{
    return t->own && t->own->process && sw_process_mirror_ranges(t->own->process, codemap) == SW_OK;
}

/* ---- starting and ending ---- */

bool target_start(struct target *t, char *const argv[], char *const environment[])
{
    int signal = 0;
    if (!target_prepare(t) || (t->pid = t->tid = fork()) < 0)
        return target_failed("fork");
    if (t->pid == 0)
        begin(argv, environment, true);
    if (!wait_stop(t, &signal) || signal != SIGTRAP)
        return target_failed(argv[0]);
    (void)ptrace(PTRACE_SETOPTIONS, t->tid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC);
    if (!run_to(t, entry_point(t)))
        return target_failed("run to the entry point");
    return target_learn(t);
}

/* A thread's name and the processor time it has used, in ticks; proc(5), /proc/pid/stat. */
static bool thread_stat(const struct target *t, pid_t tid, char name[64], unsigned long *ticks)
{
    char path[80], text[512];
    unsigned long user = 0, system = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)t->pid, (int)tid);
    text[target_read_file(path, text, sizeof text - 1)] = 0;
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close || close - open > 60)
        return false;
    (void)snprintf(name, 64, "%.*s", (int)(close - open - 1), open + 1);
    if (sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        return false;
    *ticks = user + system;
    return true;
}

static pid_t choose_thread(const struct target *t, const char *wanted)
{
    char path[64], name[64];
    unsigned long most = 0, ticks = 0;
    pid_t chosen = t->pid, tid;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)t->pid);
    DIR *tasks = opendir(path);
    for (const struct dirent *task = NULL; tasks && (task = readdir(tasks)) != NULL;) {
        if ((tid = (pid_t)strtol(task->d_name, NULL, 10)) == 0 || !thread_stat(t, tid, name, &ticks))
            continue;
        if (wanted ? strcmp(name, wanted) == 0 : ticks > most) {
            chosen = tid;
            most = ticks;
        }
    }
    if (tasks)
        closedir(tasks);
    return chosen;
}

/* Waits for the SIGSTOP that was sent; what else comes is passed on. */
static bool wait_sigstop(struct target *t)
{
    int signal = 0;
    while (wait_stop(t, &signal))
        if (signal == SIGSTOP)
            return true;
        else if (ptrace(PTRACE_CONT, t->tid, 0, signal == SIGTRAP ? 0 : signal) != 0)
            return false;
    return false;
}

bool target_attach(struct target *t, char *const argv[], char *const environment[], unsigned milliseconds,
                   const char *thread)
{
    if (!target_prepare(t) || (t->pid = t->tid = fork()) < 0)
        return target_failed("fork");
    if (t->pid == 0)
        begin(argv, environment, false);
    target_sleep(milliseconds);
    t->tid = choose_thread(t, thread);
    if (ptrace(PTRACE_ATTACH, t->tid, 0, 0) != 0 || !wait_sigstop(t))
        return target_failed("attach");
    (void)ptrace(PTRACE_SETOPTIONS, t->tid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC);
    return target_learn(t);
}

bool target_run(struct target *t, unsigned milliseconds)
{
    if (!t->running && ptrace(PTRACE_CONT, t->tid, 0, t->signal) != 0)
        return false;
    t->signal = 0;
    target_sleep(milliseconds);
    return syscall(SYS_tgkill, t->pid, t->tid, SIGSTOP) == 0 && wait_sigstop(t) && target_learn(t);
}

void target_end(struct target *t)
{
    int status;
    if (t->pid > 0 && kill(t->pid, SIGKILL) == 0)
        for (pid_t gone = 0; gone != t->pid && gone >= 0;)
            gone = waitpid(-1, &status, __WALL);
    if (t->own)
        sw_process_close(t->own->process);
    free(t->own);
    free(t->maps_text);
    t->own = NULL;
    t->maps_text = NULL;
    t->ended = true;
}

/* Whether the program has a handler for a signal; proc(5), SigCgt. */
static bool is_caught(const struct target *t, int signal)
{
    char path[64], text[4096];
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)t->tid);
    text[target_read_file(path, text, sizeof text - 1)] = 0;
    const char *row = strstr(text, "SigCgt:");
    return row && (strtoull(row + 7, NULL, 16) >> (signal - 1) & 1);
}

bool target_step(struct target *t, bool *entered)
{
    int signal = 0;
    *entered = t->signal != 0 && is_caught(t, t->signal);
    if (ptrace(PTRACE_SINGLESTEP, t->tid, 0, t->signal) != 0)
        return false;
    t->signal = 0;
    t->steps++;
    if (!wait_stop(t, &signal) || t->executed)
        return false;
    if (signal != SIGTRAP && signal != SIGSTOP)
        t->signal = signal;
    return true;
}

bool target_regs(const struct target *t, struct sw_regs *regs)
{
    struct user_regs_struct u;
    if (ptrace(PTRACE_GETREGS, t->tid, 0, &u) != 0)
        return false;
    const uint64_t in_order[SW_X64_COUNT] = { u.rax, u.rcx, u.rdx, u.rbx, u.rsp, u.rbp, u.rsi, u.rdi, u.r8,
                                              u.r9,  u.r10, u.r11, u.r12, u.r13, u.r14, u.r15, u.rip };
    memset(regs, 0, sizeof *regs);
    regs->machine = SW_MACHINE_X64;
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        sw_regs_set(regs, n, in_order[n]);
    return true;
}
