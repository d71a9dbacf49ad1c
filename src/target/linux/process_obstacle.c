/*
 * Why a process may not be looked at, told from what /proc says of it and of this process. Knows the kernel's rules;
 * refuses to try them out.
 *
 * Source: ptrace(2), "Ptrace access mode checking" and /proc/sys/kernel/yama/ptrace_scope; proc(5), /proc/pid/status;
 * seccomp(2).
 */
#include "target/advice.h"
#include "target/linux/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_BYTES = 4096, CAP_SYS_PTRACE_BIT = 19, NOBODY = 3, FILTERED = 2 };

/* Reads the start of a file as a string; empty: it cannot be read. */
static void read_text(const char *path, char *text)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = file < 0 ? 0 : read(file, text, TEXT_BYTES - 1);
    text[got > 0 ? got : 0] = 0;
    if (file >= 0)
        close(file);
}

/* Behind "NAME:" at the beginning of a line of /proc/PID/status; null: no such line. */
static const char *field(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            return line + length + 1;
    }
    return NULL;
}

static unsigned long long number_in(const char *text, const char *name, int base)
{
    const char *at = field(text, name);
    return at ? strtoull(at, NULL, base) : 0;
}

/* "Uid:" real, effective, saved, file system's. */
static bool is_all_of(const char *status, unsigned long long user)
{
    const char *at = field(status, "Uid");
    char *next = (char *)(uintptr_t)at;
    bool all = at != NULL;
    for (int i = 0; i < 3 && all; i++)
        all = strtoull(next, &next, 10) == user;
    return all;
}

/* The files in /proc of a process whose user or rights have changed belong to root. */
static bool is_owned_by(const char *path, unsigned long long user)
{
    struct stat found;
    return stat(path, &found) == 0 && found.st_uid == user;
}

/* What a tracer's status says, where it is a process that the library has started; empty: it is another. */
static void read_tracer(int tracer, char *status)
{
    static const char first[] = "Name:\t" SW_TRACER_NAME "\n";
    char path[SW_PROC_PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/status", tracer);
    read_text(path, status);
    if (strncmp(status, first, sizeof first - 1) != 0)
        *status = 0;
}

static bool is_ours(int tracer)
{
    char text[TEXT_BYTES];
    read_tracer(tracer, text);
    return tracer == getpid() || (int)number_in(text, "PPid", 10) == getpid();
}

bool sw_process_is_left(int pid, int tid)
{
    char text[TEXT_BYTES], path[SW_PROC_PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", pid, tid);
    read_text(path, text);
    read_tracer((int)number_in(text, "TracerPid", 10), text);
    return *text != 0;
}

static bool has_more_rights(const char *its, const char *ours)
{
    return (number_in(its, "CapPrm", 16) & ~number_in(ours, "CapEff", 16)) != 0;
}

enum sw_process_obstacle sw_process_find_obstacle(int pid, int *tracer)
{
    char its[TEXT_BYTES], ours[TEXT_BYTES], scope[TEXT_BYTES], path[SW_PROC_PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    read_text(path, its);
    read_text("/proc/self/status", ours);
    read_text("/proc/sys/kernel/yama/ptrace_scope", scope);
    const int traced_by = (int)number_in(its, "TracerPid", 10);
    const bool may_all = number_in(ours, "CapEff", 16) >> CAP_SYS_PTRACE_BIT & 1;
    const int limit = (int)strtol(scope, NULL, 10);
    const bool is_filtered = number_in(ours, "Seccomp", 10) == FILTERED;
    const enum sw_process_obstacle otherwise = is_filtered ? SW_OBSTACLE_FILTER : SW_OBSTACLE_NONE;
    if (tracer)
        *tracer = traced_by;
    if (!its[0])
        return SW_OBSTACLE_NONE;
    if (sw_process_is_of_kernel(pid))
        return SW_OBSTACLE_KERNEL;
    if (traced_by && !is_ours(traced_by))
        return SW_OBSTACLE_TRACED;
    if (limit >= NOBODY)
        return SW_OBSTACLE_POLICY;
    if (may_all)
        return otherwise;
    if (!is_all_of(its, geteuid()))
        return SW_OBSTACLE_OTHER_USER;
    if (!is_owned_by(path, geteuid()) || has_more_rights(its, ours))
        return SW_OBSTACLE_MORE_RIGHTS;
    return limit ? SW_OBSTACLE_SCOPE : otherwise;
}

const char *sw_process_obstacle_text(enum sw_process_obstacle obstacle)
{
    static const char *const texts[] = {
        [SW_OBSTACLE_NONE] = "nothing that /proc tells is in the way: a sandbox or a security module may forbid it",
        [SW_OBSTACLE_TRACED] = "another process traces it: a debugger, strace; end that first",
        [SW_OBSTACLE_OTHER_USER] = "it is another user's: be that user, or have CAP_SYS_PTRACE "
                                   "(root; in a container: --cap-add SYS_PTRACE)",
        [SW_OBSTACLE_MORE_RIGHTS] = "it has more rights than its user, or hides its memory (setuid, capabilities, "
                                    "PR_SET_DUMPABLE): have CAP_SYS_PTRACE (root; in a container: --cap-add "
                                    "SYS_PTRACE)",
        [SW_OBSTACLE_SCOPE] = "kernel.yama.ptrace_scope lets a user look at own children only: have CAP_SYS_PTRACE "
                              "(root), or set it to 0",
        [SW_OBSTACLE_POLICY] = "kernel.yama.ptrace_scope is 3: nobody may until the system is started again",
        [SW_OBSTACLE_KERNEL] = "it is a thread of the kernel: it has no stack of a program",
        [SW_OBSTACLE_FILTER] =
            "this program runs under a seccomp filter, which may forbid ptrace: start it elsewhere, as "
            "on the container's host",
    };
    return (size_t)obstacle < sizeof texts / sizeof texts[0] ? texts[obstacle] : "?";
}

const char *sw_process_advice(int pid, enum sw_status status, int error)
{
    static const struct {
        int error;
        const char *text;
    } rows[] = {
        { EMFILE, "this program has too many open files: close some, or raise ulimit -n" },
        { ENFILE, "the system has too many open files: close some, or raise fs.file-max" },
        { EIO, "the thread is not stopped, or is not traced by this thread: make the call from the one that traces" },
        { ENOSYS, "the kernel, or a sandbox around this program, has no such system call" },
    };
    if (status == SW_E_PERMISSION)
        return sw_process_obstacle_text(sw_process_find_obstacle(pid, NULL));
    for (size_t i = 0; status == SW_E_OS && i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].error == error)
            return rows[i].text;
    return sw_advice_of(status);
}
