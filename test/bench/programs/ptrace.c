/*
 * libunwind from outside: ptrace PID SAMPLES. Each sample attaches to all threads, walks them with libunwind-ptrace and
 * lets go; what libunwind has found stays for the next. Prints "ns-stopped ns-in-all frames" for each.
 */
#include "../measure.h"

#include <dirent.h>
#include <errno.h>
#include <libunwind-ptrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

enum { THREADS_MOST = 4096, FRAMES_MOST = 4096 };

static struct thread {
    pid_t tid;
    void *about;
} threads[THREADS_MOST];
static size_t count;
static unw_addr_space_t space;

static struct thread *thread_of(pid_t tid)
{
    for (size_t i = 0; i < count; i++)
        if (threads[i].tid == tid)
            return &threads[i];
    must(count < THREADS_MOST, "keeping a thread");
    threads[count] = (struct thread){ tid, _UPT_create(tid) };
    return &threads[count++];
}

static void list(int pid)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    must(tasks != NULL, path);
    for (struct dirent *task; (task = readdir(tasks)) != NULL;)
        if (atoi(task->d_name))
            (void)thread_of(atoi(task->d_name));
    closedir(tasks);
}

static void stop_all(void)
{
    int status;
    for (size_t i = 0; i < count; i++)
        must(ptrace(PTRACE_SEIZE, threads[i].tid, 0, 0) == 0 && ptrace(PTRACE_INTERRUPT, threads[i].tid, 0, 0) == 0,
             "attaching");
    for (size_t i = 0; i < count; i++)
        must(waitpid(threads[i].tid, &status, __WALL) == threads[i].tid && WIFSTOPPED(status), "stopping");
}

static size_t walk(const struct thread *thread)
{
    unw_cursor_t cursor;
    unw_word_t pc;
    size_t frames = 0;
    must(unw_init_remote(&cursor, space, thread->about) == 0, "unw_init_remote");
    do {
        (void)unw_get_reg(&cursor, UNW_REG_IP, &pc);
        frames++;
    } while (frames < FRAMES_MOST && unw_step(&cursor) > 0);
    return frames;
}

static void sample(int pid)
{
    size_t frames = 0;
    const double begin = wall_ns();
    list(pid);
    const double stop = wall_ns();
    stop_all();
    for (size_t i = 0; i < count; i++)
        frames += walk(&threads[i]);
    for (size_t i = 0; i < count; i++)
        must(ptrace(PTRACE_DETACH, threads[i].tid, 0, 0) == 0, "letting go");
    printf("%.0f %.0f %zu\n", wall_ns() - stop, wall_ns() - begin, frames);
}

int main(int argc, char **argv)
{
    must(argc == 3, "ptrace PID SAMPLES");
    space = unw_create_addr_space(&_UPT_accessors, 0);
    must(space != NULL && unw_set_caching_policy(space, UNW_CACHE_GLOBAL) == 0, "unw_create_addr_space");
    for (int i = 0; i < atoi(argv[2]); i++)
        sample(atoi(argv[1]));
    return 0;
}
