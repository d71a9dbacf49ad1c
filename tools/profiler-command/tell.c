/*
 * One exchange with a runtime, and what people should do about its answer. Knows answers by number; refuses to know
 * how they come. Source: diagnostics-ipc.md 2.5 and 4.8 to 4.15.
 */
#include "tell.h"
#include "ahead.h"

#include "diagnostics/ipc.h"
#include "diagnostics/process.h"
#include "profile/text.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMEOUT_S = 30, GC_TIMEOUT_MS = 5000, RETRIES = 50, RETRY_US = 100000 };

/* The process's name is in it: nothing that a terminal would obey is printed. */
void fail(const char *which, const char *what)
{
    char text[2 * PATH_MAX], clean[4 * sizeof text];
    bool cut;
    snprintf(text, sizeof text, "%s%s%s", which, *which && *what ? ": " : "", what);
    sw_profile_text_clean(text, clean, sizeof clean, &cut);
    fprintf(stderr, "snapwalk-profiler: %s\n", clean);
    exit(1);
}

/* Will it soon be another answer? To whom, and where. */
enum passing { STAYS, PASSES, LEAVES };

/* To an attach, to a command; NULL: all is well. The first rows: tools/profiler/main.c. ORDER life_answer. */
static const struct {
    uint32_t result;
    enum passing passing;
    const char *attaching, *commanding;
} answers[] = {
    { 0xa0530000, STAYS, NULL, NULL },
    { 0xa0530001, STAYS, "it could not: the process's standard error says why",
      "it could not: the process's standard error says why" },
    { 0xa0530002, STAYS, "the profiler is there already: dump, stop and detach speak to it",
      "the profiler there does not know this command: it is of another version" },
    { 0xa0530003, STAYS, "it may not write files there: SNAPWALK_OUT has to name a folder that its user may write to",
      "it may not write files there" },
    { 0x00000000, STAYS, NULL, NULL },
    { 0x80070057, STAYS, "the profiler's library there does not know one of the options: it is of another version",
      "no profiler runs there: attach starts one" },
    { 0x8007007e, STAYS, "it cannot load the library: it has to see it under this path, and needs glibc 2.34 or later",
      "it cannot load the library" },
    { 0x8007007f, STAYS, "that library is no profiler", "that library is no profiler" },
    { 0x8013135b, PASSES, "it is just starting: try again in a second", "it is just starting: try again in a second" },
    { 0x8013136a, LEAVES, "another profiler is there: only one can be",
      "another profiler is there, or this one is just leaving" },
    { 0x80131367, LEAVES, "the profiler is just leaving: try again in a second",
      "the profiler is just leaving: nothing is to be done" },
    { 0x80131384, STAYS, "its runtime does not know how to attach a profiler: .NET 5 or later can, NativeAOT cannot",
      "its runtime has no profilers" },
    { 0x80131385, STAYS, "its runtime does not know how to attach a profiler: .NET 5 or later can, NativeAOT cannot",
      "its runtime has no profilers" },
    { 0x80004005, STAYS, "the profiler could not start: the process's standard error says why",
      "it could not: the process's standard error says why" },
};

static void say_answer(const char *who, uint32_t result, bool attaching)
{
    char text[64];
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        if (answers[i].result == result && !answers[i].attaching)
            return;
        else if (answers[i].result == result)
            fail(who, attaching ? answers[i].attaching : answers[i].commanding);
    snprintf(text, sizeof text, "its runtime refuses with %08x", (unsigned)result);
    fail(who, text);
}

/* Why nobody answered at `path`. */
static void say_problem(const char *who, const char *path, int problem)
{
    char text[PATH_MAX + 256];
    switch (problem) {
    case ENOENT:
    case ECONNREFUSED:
        snprintf(text, sizeof text,
                 "nobody listens at %s: it is no .NET program, or runs with DOTNET_EnableDiagnostics=0 or another "
                 "TMPDIR, or the socket was removed",
                 path);
        break;
    case EACCES:
    case EPERM:
        snprintf(text, sizeof text, "%s: not allowed: run this as the user of the process, or as root", path);
        break;
    case ETIMEDOUT:
        snprintf(text, sizeof text, "no answer for %d seconds: is it stopped, or in a debugger?", TIMEOUT_S);
        break;
    case EPROTO:
        snprintf(text, sizeof text, "%s: what answers is not the runtime of .NET 5 or later", path);
        break;
    default:
        snprintf(text, sizeof text, "%s: %s", path, strerror(problem));
    }
    fail(who, text);
}

/* "process 42 (name)"; ends where there is none, or somebody else's. */
static void check_process(pid_t pid, char *who, size_t size)
{
    char name[64];
    unsigned owner;
    snprintf(who, size, "process %d", (int)pid);
    if (!process_about(pid, name, sizeof name, &owner))
        fail(who, "there is no such process");
    snprintf(who, size, "process %d (%s)", (int)pid, name);
    if (kill(pid, 0) != 0 && errno == EPERM) {
        char text[128];
        snprintf(text, sizeof text, "it belongs to user %u: run this as that user, or as root", owner);
        fail(who, text);
    }
}

/*
 * A profiler that was told to detach has written its file, and is there until the runtime has seen that no thread is in
 * it: some hundred milliseconds. Its library stays.
 */
static bool passes(uint32_t result, bool leaves)
{
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        if (answers[i].result == result)
            return answers[i].passing == PASSES || (answers[i].passing == LEAVES && leaves);
    return false;
}

void tell(pid_t pid, const char *library, const char *text, bool attaching)
{
    static uint8_t message[IPC_MAX];
    char path[PATH_MAX], who[128];
    uint32_t result;
    check_process(pid, who, sizeof who);
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    if (ahead_of_time(path))
        fail(who, ahead_words);
    const bool was_here = process_has(pid, "/libsnapwalk-profiler.so");
    if (!attaching && !was_here)
        fail(who, "it has no profiler: attach brings one there");
    const size_t size = ipc_attach(message, GC_TIMEOUT_MS, library, text);
    if (!size)
        fail(library, "too long, or no UTF-8");
    if (!process_socket(pid, path, sizeof path))
        fail(who, "it has just ended");
    for (int tries = 0;; tries++) {
        const int problem = ipc_call(path, message, size, TIMEOUT_S, &result);
        if (problem)
            say_problem(who, path, problem);
        if (tries == RETRIES || !passes(result, attaching && was_here))
            break;
        usleep(RETRY_US);
    }
    say_answer(who, result, attaching);
}
