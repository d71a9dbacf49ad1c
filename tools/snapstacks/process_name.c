/*
 * A process by its name: that of its program, of its main thread, or of the script or assembly that it was started with
 * ("dotnet shop.dll" is found as shop.dll and as shop).
 */
#include "process_name.h"

#include "refuse.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 4096, SHOWN_MOST = 20 };

/* Reads the beginning of a file below /proc/PID; returns how many bytes, with a zero behind them. */
static size_t read_proc(int pid, const char *name, char text[TEXT_BYTES])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    FILE *file = fopen(path, "r");
    const size_t got = file ? fread(text, 1, TEXT_BYTES - 1, file) : 0;
    if (file)
        fclose(file);
    text[got] = 0;
    return got;
}

/* Whether the last part of a path is the word, with or without what stands behind its last dot. */
static bool is_called(const char *path, const char *word)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    const size_t length = strlen(word);
    return strcmp(base, word) == 0 || (dot && (size_t)(dot - base) == length && strncmp(base, word, length) == 0);
}

static bool has_name(int pid, const char *word)
{
    char text[TEXT_BYTES], path[64], program[PATH_MAX];
    size_t got = read_proc(pid, "comm", text);
    text[strcspn(text, "\n")] = 0;
    if (got && strcmp(text, word) == 0)
        return true;
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    const ssize_t length = readlink(path, program, sizeof program - 1);
    if (length > 0) {
        program[length] = 0;
        if (is_called(program, word))
            return true;
    }
    got = read_proc(pid, "cmdline", text);
    const size_t first = strlen(text) + 1; /* argument 1: the script or assembly */
    return got > 0 && (is_called(text, word) || (first < got && text[first] != '-' && is_called(text + first, word)));
}

/* How many processes have the name; the first SHOWN_MOST of them in `pids`. This one is none. */
static int find_all(const char *word, int pids[SHOWN_MOST])
{
    int count = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        const int pid = (int)strtol(entry->d_name, NULL, 10);
        if (pid <= 0 || pid == (int)getpid() || !has_name(pid, word))
            continue;
        if (count < SHOWN_MOST)
            pids[count] = pid;
        count++;
    }
    if (proc)
        closedir(proc);
    return count;
}

static int read_number(const char *word)
{
    char *end;
    const long number = strtol(word, &end, 10);
    return *end == 0 && number > 0 && number <= INT_MAX ? (int)number : 0;
}

int process_named(const char *word)
{
    int pids[SHOWN_MOST];
    char list[SHOWN_MOST * 12 + 80];
    const int number = read_number(word);
    if (number)
        return number;
    const int count = find_all(word, pids);
    if (count == 1)
        return pids[0];
    if (count == 0)
        refuse_with(EXIT_NOT_THERE, word,
                    "no process of this name is seen; `ps -e` lists them. A core is given by "
                    "--core FILE");
    int used = snprintf(list, sizeof list, "%d processes have this name; choose one:", count);
    for (int i = 0; i < count && i < SHOWN_MOST; i++)
        used += snprintf(list + used, sizeof list - (size_t)used, " %d", pids[i]);
    refuse_with(EXIT_NOT_THERE, word, list);
}
