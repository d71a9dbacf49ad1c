/*
 * The threads of this process, by their folder in /proc. The bounds of another thread's stack are known to its C
 * library only.
 *
 * Source: proc(5), /proc/pid/task.
 */
#include "common/lowest.h"
#include "target/linux/process.h"

#include <snapwalk/suspend.h>

enum sw_status sw_self_threads(uint64_t *ids, size_t capacity, size_t *count)
{
    struct sw_lowest lowest = { ids, capacity, 0 };
    int tid;
    if (!count || (!ids && capacity != 0))
        return SW_E_ARGUMENT;
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks)
        return SW_E_OS;
    while ((tid = sw_process_next_thread(tasks)) != 0)
        sw_lowest_add(&lowest, (uint64_t)tid);
    closedir(tasks);
    *count = lowest.count;
    return SW_OK;
}

enum sw_status sw_self_thread_stack(uint64_t os_id, uint64_t *begin, uint64_t *end)
{
    return os_id != 0 && begin && end ? SW_E_UNSUPPORTED : SW_E_ARGUMENT;
}
