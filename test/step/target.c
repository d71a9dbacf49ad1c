/*
 * ptrace and process_vm_readv: see target.h. Knows nothing of walks; one thread of a program, one program at a time.
 */
#include "target.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, MAPS_TEXT = 1 << 20, BELOW_SP = 512, STACK_LIMIT = 8 << 20 };

static bool failed(const char *what)
{
    fprintf(stderr, "step: %s: %s\n", what, strerror(errno));
    return false;
}

static void become(char *const argv[], char *const environment[], bool traced)
{
    char *none[] = { NULL };
    const int null = open("/dev/null", O_RDWR);
    (void)personality(ADDR_NO_RANDOMIZE);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
        _exit(126);
    if (!traced || ptrace(PTRACE_TRACEME, 0, 0, 0) == 0)
        execve(argv[0], argv, environment ? environment : none);
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

static size_t read_file(const char *path, char *to, size_t size)
{
    size_t used = 0;
    ssize_t got = 0;
    const int file = open(path, O_RDONLY);
    if (file < 0)
        return 0;
    while (used < size && (got = read(file, to + used, size - used)) > 0)
        used += (size_t)got;
    close(file);
    return used;
}

static uint64_t entry_point(const struct target *t)
{
    char path[64];
    uint64_t words[128];
    (void)snprintf(path, sizeof path, "/proc/%d/auxv", (int)t->pid);
    const size_t count = read_file(path, (char *)words, sizeof words) / 16;
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
    if (ptrace(PTRACE_POKETEXT, t->tid, address, word) != 0 || !target_regs(t, &regs) || regs.rip != address + 1)
        return false;
    regs.rip = address;
    return ptrace(PTRACE_SETREGS, t->tid, 0, &regs) == 0;
}

bool target_map(struct target *t)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)t->pid);
    const size_t size = read_file(path, t->maps_text, MAPS_TEXT);
    t->map_count = sw_maps_parse(t->maps_text, size, t->maps, TARGET_MAPS);
    if (t->map_count > TARGET_MAPS)
        t->map_count = TARGET_MAPS;
    for (size_t i = 0; i < TARGET_PAGES; i++)
        t->pages[i].begin = 0;
    return t->map_count > 0;
}

void target_find_stack(struct target *t, uint64_t sp)
{
    const struct sw_map *map = target_map_at(t, sp);
    const bool is_main = map && map->path_size == 7 && memcmp(map->path, "[stack]", 7) == 0;
    t->stack_end = map ? map->end : 0;
    t->stack_begin = is_main ? map->end - STACK_LIMIT : map ? map->begin : 0;
}

/* ---- starting and ending ---- */

static bool prepare(struct target *t)
{
    memset(t, 0, sizeof *t);
    t->memory = (struct sw_memory){ target_read, t, { 0, 0, t->window } };
    t->maps_text = malloc(MAPS_TEXT);
    return t->maps_text != NULL;
}

static bool learn(struct target *t)
{
    struct user_regs_struct regs;
    if (!target_regs(t, &regs) || !target_map(t))
        return failed("registers and mappings");
    target_find_stack(t, regs.rsp);
    return t->stack_end != 0 || failed("stack");
}

bool target_start(struct target *t, char *const argv[], char *const environment[])
{
    int signal = 0;
    if (!prepare(t) || (t->pid = t->tid = fork()) < 0)
        return failed("fork");
    if (t->pid == 0)
        become(argv, environment, true);
    if (!wait_stop(t, &signal) || signal != SIGTRAP)
        return failed(argv[0]);
    (void)ptrace(PTRACE_SETOPTIONS, t->tid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC);
    if (!run_to(t, entry_point(t)))
        return failed("run to the entry point");
    return learn(t);
}

static void sleep_for(unsigned milliseconds)
{
    struct timespec left = { milliseconds / 1000, (long)(milliseconds % 1000) * 1000000 };
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

/* A thread's name and the processor time it has used, in ticks; proc(5), /proc/pid/stat. */
static bool thread_stat(const struct target *t, pid_t tid, char name[64], unsigned long *ticks)
{
    char path[80], text[512];
    unsigned long user = 0, system = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)t->pid, (int)tid);
    text[read_file(path, text, sizeof text - 1)] = 0;
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
    if (!prepare(t) || (t->pid = t->tid = fork()) < 0)
        return failed("fork");
    if (t->pid == 0)
        become(argv, environment, false);
    sleep_for(milliseconds);
    t->tid = choose_thread(t, thread);
    if (ptrace(PTRACE_ATTACH, t->tid, 0, 0) != 0 || !wait_sigstop(t))
        return failed("attach");
    (void)ptrace(PTRACE_SETOPTIONS, t->tid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC);
    return learn(t);
}

bool target_run(struct target *t, unsigned milliseconds)
{
    if (!t->running && ptrace(PTRACE_CONT, t->tid, 0, t->signal) != 0)
        return false;
    t->signal = 0;
    sleep_for(milliseconds);
    return syscall(SYS_tgkill, t->pid, t->tid, SIGSTOP) == 0 && wait_sigstop(t) && learn(t);
}

void target_end(struct target *t)
{
    int status;
    if (t->pid > 0 && kill(t->pid, SIGKILL) == 0)
        for (pid_t gone = 0; gone != t->pid && gone >= 0;)
            gone = waitpid(-1, &status, __WALL);
    free(t->maps_text);
    t->maps_text = NULL;
    t->ended = true;
}

/* Whether the program has a handler for a signal; proc(5), SigCgt. */
static bool is_caught(const struct target *t, int signal)
{
    char path[64], text[4096];
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)t->tid);
    text[read_file(path, text, sizeof text - 1)] = 0;
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

bool target_regs(const struct target *t, struct user_regs_struct *regs)
{
    return ptrace(PTRACE_GETREGS, t->tid, 0, regs) == 0;
}

/* ---- memory ---- */

const struct sw_map *target_map_at(const struct target *t, uint64_t address)
{
    return sw_maps_find(t->maps, t->map_count, address);
}

static size_t read_remote(const struct target *t, uint64_t address, void *to, size_t size)
{
    const struct iovec local = { to, size };
    const struct iovec remote = { (void *)(uintptr_t)address, size };
    const ssize_t got = process_vm_readv(t->pid, &local, 1, &remote, 1, 0);
    if (got > 0)
        return (size_t)got;
    return size > 1 && PAGE - address % PAGE < size ? read_remote(t, address, to, PAGE - address % PAGE) : 0;
}

bool target_is_file(const struct sw_map *map)
{
    return map->path_size > 0 && map->path[0] == '/' && map->inode != 0 && !map->shared &&
           !(map->path_size > 7 && memcmp(map->path, "/memfd:", 7) == 0);
}

/* A page of code of a file, kept; null for anything else. */
static const uint8_t *code_page(struct target *t, uint64_t address)
{
    const uint64_t begin = address & ~(uint64_t)(PAGE - 1);
    struct target_page *page = &t->pages[begin / PAGE % TARGET_PAGES];
    if (page->begin == begin && begin != 0)
        return page->bytes;
    const struct sw_map *map = target_map_at(t, address);
    if (!map || !map->executable || map->writable || begin == 0 || !target_is_file(map))
        return NULL;
    page->begin = 0;
    if (read_remote(t, begin, page->bytes, PAGE) != PAGE)
        return NULL;
    page->begin = begin;
    return page->bytes;
}

size_t target_read(void *arg, uint64_t address, void *to, size_t size)
{
    struct target *t = arg;
    size_t done = 0;
    while (done < size) {
        const uint64_t at = address + done;
        const size_t part = PAGE - at % PAGE < size - done ? PAGE - at % PAGE : size - done;
        const uint8_t *page = code_page(t, at);
        if (!page)
            return done + read_remote(t, at, (uint8_t *)to + done, size - done);
        memcpy((uint8_t *)to + done, page + at % PAGE, part);
        done += part;
    }
    return done;
}

uint64_t target_word(struct target *t, uint64_t address)
{
    uint64_t word = 0;
    return target_read(t, address, &word, sizeof word) == sizeof word ? word : 0;
}

size_t target_code(struct target *t, uint64_t pc, const uint8_t **bytes)
{
    static uint8_t few[16];
    const uint8_t *page = code_page(t, pc);
    if (page && PAGE - pc % PAGE >= sizeof few) {
        *bytes = page + pc % PAGE;
        return sizeof few;
    }
    *bytes = few;
    return target_read(t, pc, few, sizeof few);
}

void target_look(struct target *t, uint64_t sp)
{
    struct sw_window *w = &t->memory.window;
    const uint64_t begin = (sp - BELOW_SP) & ~(uint64_t)15;
    *w = (struct sw_window){ 0, 0, t->window };
    if (sp >= t->stack_end || t->stack_end - sp > TARGET_WINDOW - 1024)
        return;
    const size_t got = read_remote(t, begin, t->window, (size_t)(t->stack_end - begin));
    w->begin = begin;
    w->end = begin + got;
}
