/*
 * Runs a program under the profiler, or brings the profiler into one that runs, and tells it what to do.
 * docs/profiler.md says how.
 */
#include "diagnostics/ipc.h"
#include "diagnostics/process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMEOUT_S = 30, GC_TIMEOUT_MS = 5000, TEXT = 8192 };

static const char usage[] =
    "snapwalk-profiler run [NAME=VALUE...] COMMAND [ARGUMENT...]\n"
    "snapwalk-profiler attach PID [NAME=VALUE...]\n"
    "snapwalk-profiler start|stop|dump|detach PID\n"
    "\n"
    "  run      the program, and .NET programs that it starts, under the profiler\n"
    "  attach   brings the profiler into a .NET process that runs\n"
    "  stop     no samples for now; start: again\n"
    "  dump     writes what was collected, and goes on with nothing\n"
    "  detach   writes what was collected, and ends the profiler\n"
    "\n"
    "NAME=VALUE: SNAPWALK_MODE=cpu,alloc and others, in docs/profiler.md. SNAPWALK_LIBRARY: the profiler's library,\n"
    "as the process sees it, where it does not stand beside this program.\n";

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "snapwalk-profiler: %s%s%s\n", which, *which ? ": " : "", what);
    exit(1);
}

/* ---- the library ---- */

/* Installed: bin/ and lib/. As it is built: beside the folder of the tools. */
static const char *library(void)
{
    static const char *const places[] = { "../lib/libsnapwalk-profiler.so", "../lib/snapwalk/libsnapwalk-profiler.so",
                                          "../libsnapwalk-profiler.so" };
    static char found[PATH_MAX];
    char self[PATH_MAX], path[2 * PATH_MAX];
    const char *given = getenv("SNAPWALK_LIBRARY");
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (given)
        return given;
    self[length > 0 ? length : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", self, places[i]);
        if (realpath(path, found))
            return found;
    }
    fail("not found; SNAPWALK_LIBRARY may say where it is", "libsnapwalk-profiler.so");
    return NULL;
}

/* ---- run ---- */

static int run(int count, char **words)
{
    while (count > 0 && strchr(*words, '=') && !strncmp(*words, "SNAPWALK_", 9)) {
        putenv(*words++);
        count--;
    }
    if (count == 0)
        fail("what is to be run?", "");
    setenv("CORECLR_ENABLE_PROFILING", "1", 1);
    setenv("CORECLR_PROFILER", "{846F5F1C-F9AE-4B07-969E-05C26BC060D8}", 1);
    setenv("CORECLR_PROFILER_PATH", library(), 1);
    execvp(*words, words);
    fail(strerror(errno), *words);
    return 1;
}

/* ---- messages ---- */

/* Source: diagnostics-ipc.md 2.5 and 4.8 to 4.15. The first rows: tools/profiler/main.c. ORDER life_answer. */
static const struct {
    uint32_t result;
    const char *text;
} answers[] = {
    { 0xa0530000, NULL },
    { 0xa0530001, "it could not: its standard error says why" },
    { 0xa0530002, "the profiler is there already" },
    { 0x00000000, NULL },
    { 0x80070057, "the profiler refuses: no profiler runs there for a command, or an option is wrong" },
    { 0x8007007e, "the library cannot be loaded there" },
    { 0x8007007f, "that library is no profiler" },
    { 0x8013135b, "it is just starting: try again" },
    { 0x8013136a, "another profiler is there" },
    { 0x80131367, "the profiler is just leaving: try again" },
    { 0x80004005, "the profiler could not start: its standard error says why" },
};

static void say_answer(uint32_t result)
{
    char number[32];
    snprintf(number, sizeof number, "answer %08x", (unsigned)result);
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        if (answers[i].result == result && !answers[i].text)
            return;
        else if (answers[i].result == result)
            fail(answers[i].text, "");
    fail(number, "the runtime refuses");
}

static int send_text(pid_t pid, const char *text)
{
    static uint8_t message[IPC_MAX];
    char path[PATH_MAX];
    uint32_t result;
    const size_t size = ipc_attach(message, GC_TIMEOUT_MS, library(), text);
    if (!size)
        fail("too long, or no UTF-8", library());
    if (!process_socket(pid, path, sizeof path))
        fail("there is no such process, or it is not yours", "");
    const int problem = ipc_call(path, message, size, TIMEOUT_S, &result);
    if (problem == ENOENT || problem == ECONNREFUSED)
        fail("no .NET runtime listens there", path);
    if (problem)
        fail(strerror(problem), path);
    say_answer(result);
    return 0;
}

/* The process may stand in another folder: where files go is told from here. */
static void add_line(char *text, const char *line)
{
    char folder[PATH_MAX] = "";
    const bool is_file = !strncmp(line, "SNAPWALK_OUT=", 13) && line[13] != '/';
    const size_t used = strlen(text);
    if (is_file && !getcwd(folder, sizeof folder))
        fail(strerror(errno), "this folder");
    const int length = is_file ? snprintf(text + used, TEXT - used, "SNAPWALK_OUT=%s/%s\n", folder, line + 13)
                               : snprintf(text + used, TEXT - used, "%s\n", line);
    if (length < 0 || (size_t)length >= TEXT - used)
        fail("too many options", "");
}

static int attach(pid_t pid, int count, char **words)
{
    char text[TEXT] = "";
    bool has_file = false;
    for (int i = 0; i < count; i++) {
        has_file = has_file || !strncmp(words[i], "SNAPWALK_OUT=", 13);
        add_line(text, words[i]);
    }
    if (!has_file)
        add_line(text, "SNAPWALK_OUT=snapwalk-%p.pb.gz");
    return send_text(pid, text);
}

static int command(pid_t pid, const char *word)
{
    if (!process_has(pid, "/libsnapwalk-profiler.so"))
        fail("there is no such process, it is not yours, or it has no profiler", "");
    return send_text(pid, word);
}

static pid_t pid_of(const char *text)
{
    char *end;
    const long pid = strtol(text, &end, 10);
    if (*text < '1' || *text > '9' || *end || pid > INT_MAX)
        fail("not a process id", text);
    return (pid_t)pid;
}

int main(int count, char **words)
{
    static const char *const commands[] = { "start", "stop", "dump", "detach" };
    if (count >= 3 && !strcmp(words[1], "run"))
        return run(count - 2, words + 2);
    if (count >= 3 && !strcmp(words[1], "attach"))
        return attach(pid_of(words[2]), count - 3, words + 3);
    for (size_t i = 0; count == 3 && i < sizeof commands / sizeof commands[0]; i++)
        if (!strcmp(words[1], commands[i]))
            return command(pid_of(words[2]), words[1]);
    const bool asked = count == 2 && !strcmp(words[1], "--help");
    fputs(usage, asked ? stdout : stderr);
    return asked ? 0 : 2;
}
