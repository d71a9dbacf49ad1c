/* Reads /proc; every text there may be cut short or belong to a process that is ending. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TEXT = 65536, STARTED = 22 - 3 /* fields behind the state */ };

/* A file of the process, with a NUL behind it. */
static bool read_text(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    for (ssize_t more = 1; file >= 0 && more > 0 && used < size - 1;) {
        more = read(file, text + used, size - 1 - used);
        used += more > 0 ? (size_t)more : 0;
    }
    if (file >= 0)
        close(file);
    memset(text + used, 0, size - used);
    return used > 0;
}

/* The name of the program may hold blanks and brackets: the last bracket ends it. */
bool process_started(const char *stat, unsigned long long *ticks)
{
    const char *at = strrchr(stat, ')');
    char *end;
    if (!at || at[1] != ' ' || !at[2] || at[3] != ' ')
        return false;
    at += 3;
    for (int field = 1; at && field < STARTED; field++)
        at = strchr(at + 1, ' ');
    if (!at || at[1] < '0' || at[1] > '9')
        return false;
    *ticks = strtoull(at + 1, &end, 10);
    return *end == ' ';
}

bool process_inner_pid(const char *status, long *pid)
{
    const char *line = strstr(status, "\nNSpid:");
    if (!line)
        return false;
    char *end;
    line += strlen("\nNSpid:");
    *pid = 0;
    for (long one; *line == '\t' || *line == ' '; line = end) {
        one = strtol(line, &end, 10);
        if (end == line)
            break;
        *pid = one;
    }
    return *pid > 0;
}

static const char *temporary(char *environment, size_t size)
{
    for (const char *at = environment; at < environment + size && *at; at += strlen(at) + 1)
        if (!strncmp(at, "TMPDIR=", 7) && at[7])
            return at + 7;
    return "/tmp";
}

static bool same_files(pid_t pid)
{
    char path[64];
    struct stat theirs, ours;
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
    return stat(path, &theirs) == 0 && stat("/proc/self/ns/mnt", &ours) == 0 && theirs.st_ino == ours.st_ino;
}

bool process_socket(pid_t pid, char *path, size_t size)
{
    static char text[TEXT];
    char root[64] = "";
    unsigned long long ticks;
    long inner;
    if (!read_text(pid, "stat", text, sizeof text) || !process_started(text, &ticks) ||
        !read_text(pid, "status", text, sizeof text) || !process_inner_pid(text, &inner))
        return false;
    (void)read_text(pid, "environ", text, sizeof text);
    if (!same_files(pid))
        snprintf(root, sizeof root, "/proc/%d/root", (int)pid);
    const char *folder = temporary(text, sizeof text);
    const bool slash = folder[strlen(folder) - 1] == '/';
    const int length =
        snprintf(path, size, "%s%s%sdotnet-diagnostic-%ld-%llu-socket", root, folder, slash ? "" : "/", inner, ticks);
    return length > 0 && (size_t)length < size;
}

bool process_about(pid_t pid, char *name, size_t size, unsigned *owner)
{
    char path[64];
    struct stat about;
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    if (stat(path, &about) != 0 || !read_text(pid, "comm", name, size))
        return false;
    name[strcspn(name, "\n")] = 0;
    *owner = about.st_uid;
    return true;
}

bool process_has(pid_t pid, const char *ending)
{
    char name[64], line[8192];
    bool found = false;
    snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(name, "re");
    while (maps && !found && fgets(line, sizeof line, maps)) {
        const size_t length = strcspn(line, "\n"), end = strlen(ending);
        found = length >= end && !memcmp(line + length - end, ending, end);
    }
    if (maps)
        fclose(maps);
    return found;
}

/* ---- asking ---- */

long process_own_pid(pid_t pid)
{
    static char text[TEXT];
    long inner;
    return read_text(pid, "status", text, sizeof text) && process_inner_pid(text, &inner) ? inner : 0;
}

/* Links in it are its own, and lead nowhere else. An old kernel has no openat2. */
int process_tmp(pid_t pid)
{
    const struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
    const int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -1;
    int tmp = (int)syscall(SYS_openat2, root, "tmp", &how, sizeof how);
    if (tmp < 0 && errno == ENOSYS)
        tmp = openat(root, "tmp", O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    const int error = errno;
    close(root);
    errno = error;
    return tmp;
}

bool process_catches(pid_t pid, int signal)
{
    static char text[TEXT];
    static const char label[] = "\nSigCgt:";
    const char *line = read_text(pid, "status", text, sizeof text) ? strstr(text, label) : NULL;
    return line && (strtoull(line + sizeof label - 1, NULL, 16) >> (signal - 1) & 1) != 0;
}

bool process_stands(pid_t pid)
{
    static char text[TEXT];
    const char *at = read_text(pid, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    return at && at[1] == ' ' && (at[2] == 'T' || at[2] == 't');
}

static bool is_in(pid_t pid, const char *name, const char *word)
{
    static char text[TEXT];
    return read_text(pid, name, text, sizeof text) && memmem(text, sizeof text, word, strlen(word)) != NULL;
}

bool process_was_told(pid_t pid, const char *text)
{
    return is_in(pid, "cmdline", text) || is_in(pid, "environ", text);
}
