/*
 * Which threads there are. Takes the heap, and is no part of a walk.
 *
 * Source: CreateToolhelp32Snapshot, Thread32First, Microsoft Learn.
 */
#include "common/lowest.h"
#include "target/windows/threads.h"

#include <snapwalk/suspend.h>

#include <tlhelp32.h>

enum sw_status sw_windows_each_thread(DWORD process, bool (*each)(void *arg, DWORD thread), void *arg)
{
    THREADENTRY32 row = { .dwSize = sizeof row };
    const HANDLE list = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
    if (list == INVALID_HANDLE_VALUE)
        return SW_E_OS;
    for (BOOL more = Thread32First(list, &row); more; more = Thread32Next(list, &row))
        if (row.th32OwnerProcessID == process && !each(arg, row.th32ThreadID))
            break;
    CloseHandle(list);
    return SW_OK;
}

static bool note(void *arg, DWORD thread)
{
    sw_lowest_add(arg, thread);
    return true;
}

enum sw_status sw_self_threads(uint64_t *ids, size_t capacity, size_t *count)
{
    struct sw_lowest lowest = { ids, capacity, 0 };
    if (!count || (!ids && capacity != 0))
        return SW_E_ARGUMENT;
    const enum sw_status status = sw_windows_each_thread(GetCurrentProcessId(), note, &lowest);
    *count = lowest.count;
    return status;
}
