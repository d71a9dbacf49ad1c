/*
 * .NET writes a perf map from when it is told to until it is told to stop: it is told both at once, as the file begins
 * with all methods that are there. HotSpot writes one when it is asked.
 */
#include "ask.h"

#include "diagnostics/hotspot.h"
#include "diagnostics/ipc.h"
#include "diagnostics/process.h"
#include "refuse.h"

#include <snapwalk/process.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECONDS = 5, NAME = 48 };

/* The file that is to be removed; empty: none. */
static char written[NAME];

static int tell_clr(const char *path, bool on, uint32_t *result)
{
    static uint8_t message[IPC_MAX];
    return ipc_call(path, message, ipc_perf_map(message, on), SECONDS, result);
}

static const char *ask_clr(int pid)
{
    static char text[160];
    char path[PATH_MAX];
    uint32_t result = 0, ignored;
    if (process_stands(pid))
        return "it is stopped, and cannot answer: let it run on (kill -CONT), and ask again";
    if (!process_socket(pid, path, sizeof path))
        return "nothing can be read of it";
    const int problem = tell_clr(path, true, &result);
    if (problem == 0)
        (void)tell_clr(path, false, &ignored);
    if (problem)
        snprintf(text, sizeof text, "its diagnostics socket: %s; DOTNET_EnableDiagnostics=0 switches it off",
                 strerror(problem));
    else if (result)
        snprintf(text, sizeof text, "it answered %08x; .NET 8 and later can", result);
    return problem || result ? text : NULL;
}

static const char *ask(int pid, enum sw_runtime_kind kind, int folder)
{
    switch (kind) {
    case SW_RUNTIME_HOTSPOT:
        return hotspot_perf_map(pid, folder, SECONDS);
    case SW_RUNTIME_CLR:
        return *written ? ask_clr(pid) : NULL; /* it is writing one already */
    case SW_RUNTIME_MONO:
        return "mono writes a perf map only from its start: --jitmap, or MONO_ENV_OPTIONS=--jitmap";
    default:
        return "there is no runtime in it that writes a perf map when asked; what it has is read without asking";
    }
}

/* A regular file that was written since the process began; false also where that cannot be told. */
static bool wrote(int pid, int folder, const char *name)
{
    struct stat st;
    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           sw_process_began_by(pid, st.st_mtim.tv_sec, (uint32_t)st.st_mtim.tv_nsec);
}

void ask_runtime(int pid, enum sw_runtime_kind kind)
{
    const int folder = process_tmp(pid);
    const char *problem = "its /tmp cannot be entered; run snapstacks as its user, or as root";
    if (folder >= 0) {
        snprintf(written, sizeof written, "perf-%ld.map", process_own_pid(pid));
        if (wrote(pid, folder, written))
            *written = 0;
        problem = ask(pid, kind, folder);
        close(folder);
    }
    if (problem)
        complain("the runtime of %d was not asked: %s", pid, problem);
}

void ask_end(int pid)
{
    const int folder = *written ? process_tmp(pid) : -1;
    if (folder < 0)
        return;
    if (wrote(pid, folder, written))
        unlinkat(folder, written, 0);
    close(folder);
    *written = 0;
}
