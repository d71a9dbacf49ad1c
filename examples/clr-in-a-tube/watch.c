/* The process in which a scenario is played: it is started, waited for as long as it may take, and its end is read. */
#include "runner.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { USUAL_S = 60 };

static const struct {
    int number;
    const char *name;
} signals[] = {
    { SIGHUP, "SIGHUP" },   { SIGINT, "SIGINT" },   { SIGQUIT, "SIGQUIT" },     { SIGILL, "SIGILL" },
    { SIGTRAP, "SIGTRAP" }, { SIGABRT, "SIGABRT" }, { SIGBUS, "SIGBUS" },       { SIGFPE, "SIGFPE" },
    { SIGKILL, "SIGKILL" }, { SIGUSR1, "SIGUSR1" }, { SIGSEGV, "SIGSEGV" },     { SIGUSR2, "SIGUSR2" },
    { SIGPIPE, "SIGPIPE" }, { SIGALRM, "SIGALRM" }, { SIGTERM, "SIGTERM" },     { SIGPROF, "SIGPROF" },
    { SIGSYS, "SIGSYS" },   { SIGXCPU, "SIGXCPU" }, { SIGVTALRM, "SIGVTALRM" },
};

static void name_signal(int number, char *text, size_t size)
{
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (signals[i].number == number) {
            snprintf(text, size, "%s", signals[i].name);
            return;
        }
    snprintf(text, size, "signal %d", number);
}

/* Waits for the end of the process; false: it is still there after so many seconds. SIGCHLD is blocked. */
static bool wait_for(pid_t pid, unsigned seconds, int *status)
{
    struct timespec now, end;
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += seconds;
    for (;;) {
        if (waitpid(pid, status, WNOHANG) == pid)
            return true;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec > end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec >= end.tv_nsec))
            return false;
        const struct timespec pause = { 0, 100000000 };
        (void)sigtimedwait(&child, NULL, &pause);
    }
}

static void read_end(const struct page *page, int status, struct result *result)
{
    const enum progress progress = atomic_load(&page->progress);
    if (WIFSIGNALED(status)) {
        result->outcome = SW_TUBE_CRASHED;
        name_signal(WTERMSIG(status), result->detail, sizeof result->detail);
    } else if (progress != FREED || WEXITSTATUS(status) != 0) {
        result->outcome = SW_TUBE_EXITED;
        snprintf(result->detail, sizeof result->detail, "%d", WEXITSTATUS(status));
    } else if (page->status != SW_OK) {
        result->outcome = SW_TUBE_PROBLEM;
        snprintf(result->detail, sizeof result->detail, "%.*s", (int)sizeof page->problem, page->problem);
    } else
        result->outcome = SW_TUBE_DONE;
}

static void wait_and_read(pid_t pid, const struct scenario *scenario, const struct page *page, struct result *result)
{
    int status = 0;
    result->seconds = scenario->heading.seconds ? scenario->heading.seconds : USUAL_S;
    if (wait_for(pid, result->seconds, &status)) {
        (void)kill(-pid, SIGKILL); /* what the profiler started */
        read_end(page, status, result);
        return;
    }
    result->outcome = SW_TUBE_HUNG;
    (void)kill(-pid, SIGKILL);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, &status, 0);
}

bool watch(const struct scenario *scenario, struct page *page, struct result *result)
{
    sigset_t child, before;
    const int recording = memfd_create("recording", MFD_CLOEXEC);
    if (recording < 0)
        return false;
    memset(page, 0, sizeof *page);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &child, &before);
    (void)fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        child_play(scenario, page, recording);
    }
    const int error = errno;
    if (pid > 0)
        wait_and_read(pid, scenario, page, result);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    result->recording = file_contents(recording);
    close(recording);
    errno = error;
    return pid > 0;
}
