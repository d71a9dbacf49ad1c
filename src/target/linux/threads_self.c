/*
 * The threads of this process, by their folder in /proc. The bounds of another thread's stack are known to its C
 * library only. Signal safe.
 *
 * Source: proc(5), /proc/pid/task.
 */
#include "common/lowest.h"
#include "target/linux/tasks.h"

#include <snapwalk/suspend.h>

#include <errno.h>
#include <unistd.h>

static void note(void *arg, int thread)
{
    sw_lowest_add(arg, (uint64_t)thread);
}

enum sw_status sw_self_threads(uint64_t *ids, size_t capacity, size_t *count)
{
    struct sw_lowest lowest = { ids, capacity, 0 };
    const int before = errno;
    if (!count || (!ids && capacity != 0))
        return SW_E_ARGUMENT;
    const int folder = sw_tasks_open();
    const bool is_told = folder >= 0 && sw_tasks_each(folder, note, &lowest);
    if (folder >= 0)
        close(folder);
    errno = before;
    *count = lowest.count;
    return is_told ? SW_OK : SW_E_OS;
}

enum sw_status sw_self_thread_stack(uint64_t os_id, uint64_t *begin, uint64_t *end)
{
    return os_id != 0 && begin && end ? SW_E_UNSUPPORTED : SW_E_ARGUMENT;
}
