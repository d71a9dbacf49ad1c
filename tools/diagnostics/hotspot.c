/*
 * A JVM opens its socket when it gets SIGQUIT and finds a file of a certain name. A JVM that does not look for the file
 * prints its stacks on its output instead, and what has no handler for the signal is ended by it: so that is looked at
 * first.
 */
#include "hotspot.h"

#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { NAME = 48, ANSWER = 4096, STEP_MS = 10 };

/* Version 1 of the protocol: the command and three arguments. */
static const char request[] = "1\0jcmd\0Compiler.perfmap\0\0";

static bool is_listening(int folder, const char *name)
{
    struct stat st;
    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode);
}

static const char *why_not_wake(pid_t pid)
{
    if (process_stands(pid))
        return "it is stopped, and cannot answer: let it run on (kill -CONT), and ask again";
    if (process_was_told(pid, "DisableAttachMechanism"))
        return "it was started with -XX:+DisableAttachMechanism; start it without";
    if (!process_catches(pid, SIGQUIT))
        return "it has no handler for SIGQUIT, which would end it: it is only starting; ask again";
    return NULL;
}

static bool wait_for_socket(int folder, const char *name, unsigned seconds)
{
    const struct timespec step = { 0, STEP_MS * 1000000L };
    for (unsigned waited = 0; waited < seconds * 1000; waited += STEP_MS) {
        if (is_listening(folder, name))
            return true;
        nanosleep(&step, NULL);
    }
    return false;
}

/* pidfd: so that no other process that got the id meanwhile gets the signal. */
static const char *wake(pid_t pid, int pidfd, int folder, const char *name, unsigned seconds)
{
    char trigger[NAME];
    const char *problem = why_not_wake(pid);
    if (problem)
        return problem;
    snprintf(trigger, sizeof trigger, ".attach_pid%ld", process_own_pid(pid));
    const int file = openat(folder, trigger, O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return "no file can be made in its /tmp; run snapstacks as the user that it runs as, or as root";
    close(file);
    if (syscall(SYS_pidfd_send_signal, pidfd, SIGQUIT, NULL, 0) != 0)
        problem = "it cannot be signalled; run snapstacks as the user that it runs as, or as root";
    else if (!wait_for_socket(folder, name, seconds))
        problem = "it opened no socket; run snapstacks as the user that it runs as";
    unlinkat(folder, trigger, 0);
    return problem;
}

/* The number in the first line; 1: there is none. */
static long read_answer(int file)
{
    char text[ANSWER], *end;
    size_t used = 0;
    while (used < sizeof text - 1) {
        const ssize_t more = recv(file, text + used, sizeof text - 1 - used, 0);
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            break;
        used += (size_t)more;
    }
    text[used] = 0;
    const long result = strtol(text, &end, 10);
    return end != text && *end == '\n' ? result : 1;
}

static const char *exchange(int file, int folder, const char *name, unsigned seconds)
{
    const struct timeval limit = { (time_t)seconds, 0 };
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder, name);
    if (setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
        setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 ||
        connect(file, (const struct sockaddr *)&address, sizeof address) != 0)
        return errno == ECONNREFUSED
                   ? "its attach socket is stale: remove it (/tmp/.java_pid and its id), and ask again"
                   : "its attach socket does not let us in; run snapstacks as its user, or as root";
    if (send(file, request, sizeof request, MSG_NOSIGNAL) != (ssize_t)sizeof request)
        return "it does not read from its attach socket";
    const long result = read_answer(file);
    if (result == 1)
        return "it gave no answer in time; it is busy, or stopped: ask again";
    return result ? "it has no command Compiler.perfmap: Java 17 and later have it" : NULL;
}

static const char *ask(pid_t pid, int pidfd, int folder, unsigned seconds)
{
    char name[NAME];
    const char *problem = NULL;
    snprintf(name, sizeof name, ".java_pid%ld", process_own_pid(pid));
    if (!is_listening(folder, name))
        problem = wake(pid, pidfd, folder, name, seconds);
    else if (process_stands(pid))
        problem = "it is stopped, and cannot answer: let it run on (kill -CONT), and ask again";
    if (problem)
        return problem;
    const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file < 0)
        return "no socket can be made";
    problem = exchange(file, folder, name, seconds);
    close(file);
    return problem;
}

const char *hotspot_perf_map(pid_t pid, int folder, unsigned seconds)
{
    const int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return "there is no such process, or this kernel is older than 5.3";
    const char *problem = ask(pid, pidfd, folder, seconds);
    close(pidfd);
    return problem;
}
