/*
 * Which threads this process has. A thread is known by its thread pointer, and the kernel by its id; what joins them is
 * the list of robust futexes, which the C library puts beside the thread pointer, at the same distance in all threads.
 * Where that is not so, no thread is said to be gone.
 *
 * A folder of /proc that changes while it is read may leave out entries that stay. So what was read counts only if
 * there were as many threads afterwards, and all of them were still those.
 *
 * Source: get_robust_list(2), proc(5); Linux fs/proc/base.c (proc_task_readdir, proc_task_getattr).
 */
#include "common/present.h"
#include "target/linux/tasks.h"

#include <snapwalk/self.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DOT_ENTRIES = 2, ROUNDS = 4 };

/* One reading of the folder. sum: of the ids, so that two readings can be compared. */
struct census {
    uint64_t wanted; /* the list of the thread that is looked for */
    uint64_t threads;
    uint64_t sum;
    bool found;
    bool in_doubt;
};

/* The list's address; 0: it has none. False: there is no such thread any more, or the system does not tell. */
static bool list_of(int thread, uint64_t *list)
{
    void *head = NULL;
    size_t size;
    if (syscall(SYS_get_robust_list, thread, &head, &size) != 0)
        return false;
    *list = (uint64_t)(uintptr_t)head;
    return true;
}

/* The main thread stays listed when it has ended, without a list. */
static void count_thread(void *arg, int thread)
{
    struct census *census = arg;
    uint64_t list = 0;
    census->threads++;
    census->sum += (uint64_t)thread * UINT64_C(0x9e3779b97f4a7c15);
    census->in_doubt |= !list_of(thread, &list) || (list == 0 && thread != (int)getpid());
    census->found |= list == census->wanted;
}

/* Whether one reading is of all threads that there were at one moment between its beginning and its end. */
static bool take_census(int folder, uint64_t wanted, struct census *census)
{
    struct census again = { .wanted = wanted };
    struct stat stat;
    *census = again;
    if (!sw_tasks_each(folder, count_thread, census) || fstat(folder, &stat) != 0 ||
        !sw_tasks_each(folder, count_thread, &again))
        return false;
    return !census->in_doubt && !again.in_doubt && census->sum == again.sum && census->threads == again.threads &&
           (uint64_t)stat.st_nlink == census->threads + DOT_ENTRIES;
}

bool sw_thread_is_gone(uint64_t thread_pointer)
{
    const int before = errno;
    struct census census = { .found = true };
    uint64_t own;
    if (thread_pointer == 0 || !list_of(0, &own) || own == 0)
        return false;
    const uint64_t wanted = own - sw_thread_pointer() + thread_pointer;
    const int folder = sw_tasks_open();
    bool is_sure = false;
    for (int round = 0; folder >= 0 && round < ROUNDS && !is_sure && (round == 0 || !census.found); round++)
        is_sure = take_census(folder, wanted, &census);
    if (folder >= 0)
        close(folder);
    errno = before;
    return is_sure && !census.found;
}

enum sw_peek sw_peek(uint64_t address, uint64_t words[2])
{
    const struct sw_memory memory = sw_self_memory();
    const size_t size = 2 * sizeof *words;
    const uint64_t own[2] = { 0 };
    if (memory.read(memory.arg, address, words, size) == size)
        return SW_PEEK_WORDS;
    const bool is_told = memory.read(memory.arg, (uint64_t)(uintptr_t)own, words, size) == size;
    return is_told ? SW_PEEK_NOTHING : SW_PEEK_REFUSED;
}
