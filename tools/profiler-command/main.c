/*
 * Runs a program under the profiler, or brings the profiler into one that runs, and tells it what to do.
 * docs/profiler.md says how.
 */
#include "ahead.h"
#include "tell.h"

#include "profiler/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 8192 };

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
    "NAME=VALUE, the same as environment variables; snapwalk-profiler(7) and docs/profiler.md say more:\n"
    "  SNAPWALK_MODE=cpu            a list of cpu, wall, alloc, exceptions, locks\n"
    "  SNAPWALK_HZ=100              samples a second, 1 to 10000\n"
    "  SNAPWALK_OUT=snapwalk-%p.pb.gz   the file: .pb.gz, .otlp, .folded, .speedscope.json, .html; %p: the process id\n"
    "  SNAPWALK_ENDPOINT=URL        sends it there instead, in OTLP\n"
    "  SNAPWALK_INTERVAL=0          a file every so many seconds; 0: one, at the end\n"
    "  SNAPWALK_WALL_THREADS=8      wall: threads looked at in one tick, 1 to 1024\n"
    "  SNAPWALK_MEMORY_MB=32        the most memory, 4 to 4096\n"
    "  SNAPWALK_LINES=1             0: no source files and lines\n"
    "  SNAPWALK_RAW_NAMES=0         1: state machines and lambdas by the compiler's names\n"
    "  SNAPWALK_SERVICE=NAME        what viewers call the program\n"
    "  SNAPWALK_START=1             0: samples only after snapwalk-profiler start\n"
    "  SNAPWALK_VERBOSE=0           1: says which files there are, and how many samples are in them\n"
    "SNAPWALK_LIBRARY: the profiler's library, as the process sees it, where it does not stand beside this program.\n";

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
    fail("libsnapwalk-profiler.so", "not found beside this program; SNAPWALK_LIBRARY may say where it is");
}

/* ---- run ---- */

static bool is_option(const char *word)
{
    return !strncmp(word, "SNAPWALK_", 9) && strchr(word, '=');
}

/* With these no runtime loads a profiler, and none says so. */
static void warn_of_switches(void)
{
    static const char *const names[] = { "DOTNET_EnableDiagnostics", "DOTNET_EnableDiagnostics_Profiler",
                                         "COMPlus_EnableDiagnostics", "COMPlus_EnableDiagnostics_Profiler" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value && !strcmp(value, "0"))
            fprintf(stderr, "snapwalk-profiler: %s=0 keeps .NET from loading profilers: there will be no profile\n",
                    names[i]);
    }
}

_Noreturn static void cannot_run(const char *program, int problem)
{
    const char *ending = strrchr(program, '.');
    char text[PATH_MAX + 128];
    if (problem == ENOENT && !strchr(program, '/'))
        fail(program, "not found in the folders of PATH: is it installed?");
    snprintf(text, sizeof text, "%s: an assembly is run by dotnet: dotnet %s", strerror(problem), program);
    fail(program, ending && !strcmp(ending, ".dll") ? text : strerror(problem));
}

/* .NET up to 10 ignores what no semicolon follows. */
static void run_beside(const char *own, const char *clsid)
{
    const char *name = getenv("CORECLR_NOTIFICATION_PROFILERS_64") ? "CORECLR_NOTIFICATION_PROFILERS_64"
                                                                   : "CORECLR_NOTIFICATION_PROFILERS";
    const char *before = getenv(name);
    char list[TEXT];
    const size_t end = before ? strlen(before) : 0;
    const bool is_open = end > 0 && before[end - 1] != ';';
    if (before && strstr(before, own))
        return;
    if ((size_t)snprintf(list, sizeof list, "%s%s%s=%s;", before ? before : "", is_open ? ";" : "", own, clsid) >=
        sizeof list)
        fail(name, "too long");
    setenv("CORECLR_ENABLE_NOTIFICATION_PROFILERS", "1", 1);
    setenv(name, list, 1);
}

static int run(int count, char **words)
{
    static const char clsid[] = "{846F5F1C-F9AE-4B07-969E-05C26BC060D8}";
    struct options options;
    char message[OPTIONS_MESSAGE];
    for (; count > 0 && is_option(*words); count--)
        putenv(*words++);
    if (count == 0)
        fail("run", "which program?");
    if (!options_from_environment(&options, message))
        fail(message, "");
    warn_of_switches();
    if (ahead_of_time_command(*words)) /* what it starts may be profiled */
        fprintf(stderr, "snapwalk-profiler: %s: %s\n", *words, ahead_words);
    const char *own = library();
    if (options_main_profiler(own) == MAIN_OTHER) { /* who has another one there keeps it */
        run_beside(own, clsid);
    } else {
        setenv("CORECLR_ENABLE_PROFILING", "1", 1);
        setenv("CORECLR_PROFILER", clsid, 1);
        setenv("CORECLR_PROFILER_PATH", own, 1);
    }
    execvp(*words, words);
    cannot_run(*words, errno);
}

/* ---- a process that runs ---- */

/* The process may stand in another folder: where files go is told from here. */
static void add_line(char *text, const char *line)
{
    char folder[PATH_MAX] = "";
    const bool is_file = !strncmp(line, "SNAPWALK_OUT=", 13) && line[13] && line[13] != '/';
    const size_t used = strlen(text);
    if (is_file && !getcwd(folder, sizeof folder))
        fail("this folder", strerror(errno));
    const int length = is_file ? snprintf(text + used, TEXT - used, "SNAPWALK_OUT=%s/%s\n", folder, line + 13)
                               : snprintf(text + used, TEXT - used, "%s\n", line);
    if (length < 0 || (size_t)length >= TEXT - used)
        fail("attach", "too many options");
}

static int attach(pid_t pid, int count, char **words)
{
    struct options options;
    char text[TEXT] = "", message[OPTIONS_MESSAGE];
    bool has_file = false;
    for (int i = 0; i < count; i++) {
        has_file = has_file || !strncmp(words[i], "SNAPWALK_OUT=", 13);
        add_line(text, words[i]);
    }
    if (!options_from_text(&options, text, sizeof text, message))
        fail(message, "");
    if (!has_file && !options.endpoint[0])
        add_line(text, "SNAPWALK_OUT=snapwalk-%p.pb.gz");
    tell(pid, library(), text, true);
    return 0;
}

static pid_t pid_of(const char *text)
{
    char *end;
    const long pid = strtol(text, &end, 10);
    if (*text < '1' || *text > '9' || *end || pid > INT_MAX)
        fail(text, "not a process id");
    return (pid_t)pid;
}

/* Why the words are no command. */
static int refuse(int count, char **words)
{
    static const char *const commands[] = { "run", "attach", "start", "stop", "dump", "detach" };
    const char *what = "no such command";
    for (size_t i = 0; count > 1 && i < sizeof commands / sizeof commands[0]; i++)
        if (!strcmp(words[1], commands[i]))
            what = count > 2 ? "a process id, and nothing behind it" : i ? "which process?" : "which program?";
    if (count > 1)
        fprintf(stderr, "snapwalk-profiler: %s: %s; --help says more\n", words[1], what);
    else
        fputs(usage, stderr);
    return 2;
}

int main(int count, char **words)
{
    static const char *const commands[] = { "start", "stop", "dump", "detach" };
    if (count == 2 && !strcmp(words[1], "--help"))
        return fputs(usage, stdout) < 0;
    if (count >= 3 && !strcmp(words[1], "run"))
        return run(count - 2, words + 2);
    if (count >= 3 && !strcmp(words[1], "attach"))
        return attach(pid_of(words[2]), count - 3, words + 3);
    for (size_t i = 0; count == 3 && i < sizeof commands / sizeof commands[0]; i++)
        if (!strcmp(words[1], commands[i]))
            return tell(pid_of(words[2]), library(), words[1], false), 0;
    return refuse(count, words);
}
