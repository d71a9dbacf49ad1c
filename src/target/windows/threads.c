/*
 * Threads by their ids: whether they are still there, where their stacks are. All of it may be asked while threads
 * stand suspended. Refuses to know how they are suspended.
 *
 * Source: OpenThread, NtQueryInformationThread (ThreadBasicInformation), NT_TIB, Microsoft Learn;
 * clr-windows-observed.md W85.
 */
#include "target/windows/threads.h"

#include "base/memory.h"

#include <snapwalk/self.h>
#include <snapwalk/suspend.h>

#include <winternl.h>

/* What ThreadBasicInformation, 0, answers: not in every winternl.h. */
struct basic_information {
    LONG exit_status;
    void *block;
    void *ids[2];
    ULONG_PTR affinity;
    LONG priorities[2];
};

enum { YIELDS = 16 };

enum sw_status sw_windows_status(DWORD error)
{
    static const struct {
        DWORD error;
        enum sw_status status;
    } rows[] = {
        { ERROR_INVALID_PARAMETER, SW_E_GONE }, /* no thread, no process has that id */
        { ERROR_ACCESS_DENIED, SW_E_PERMISSION },
        { ERROR_SIGNAL_REFUSED, SW_E_BUSY }, /* suspended as often as can be counted */
        { ERROR_NOT_ENOUGH_MEMORY, SW_E_NO_MEMORY },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].error == error)
            return rows[i].status;
    return SW_E_OS;
}

bool sw_windows_has_ended(HANDLE object)
{
    return WaitForSingleObject(object, 0) == WAIT_OBJECT_0;
}

enum sw_status sw_windows_open_thread(DWORD process, DWORD id, DWORD rights, HANDLE *thread)
{
    *thread = OpenThread(rights | THREAD_QUERY_INFORMATION | SYNCHRONIZE, FALSE, id);
    if (!*thread)
        return sw_windows_status(GetLastError());
    if (GetProcessIdOfThread(*thread) == process)
        return SW_OK;
    CloseHandle(*thread);
    *thread = NULL;
    return SW_E_GONE;
}

uint64_t sw_windows_block(HANDLE thread)
{
    struct basic_information about;
    const NTSTATUS status = NtQueryInformationThread(thread, (THREADINFOCLASS)0, &about, sizeof about, NULL);
    return status >= 0 ? (uint64_t)(uintptr_t)about.block : 0;
}

enum sw_status sw_windows_stack(HANDLE thread, const struct sw_memory *memory, uint64_t *begin, uint64_t *end)
{
    NT_TIB block;
    const uint64_t at = sw_windows_block(thread);
    if (at == 0 || sw_memory_read(memory, at, &block, sizeof block) != sizeof block)
        return SW_E_GONE;
    *begin = (uint64_t)(uintptr_t)block.StackLimit;
    *end = (uint64_t)(uintptr_t)block.StackBase;
    return *begin < *end ? SW_OK : SW_E_MALFORMED;
}

/* ---- of this process ---- */

enum sw_status sw_self_thread_stack(uint64_t os_id, uint64_t *begin, uint64_t *end)
{
    const DWORD before = GetLastError();
    const struct sw_memory memory = sw_self_memory();
    HANDLE thread;
    if (!begin || !end || os_id == 0 || os_id > UINT32_MAX)
        return SW_E_ARGUMENT;
    enum sw_status status = sw_windows_open_thread(GetCurrentProcessId(), (DWORD)os_id, 0, &thread);
    if (status == SW_OK) {
        status = sw_windows_stack(thread, &memory, begin, end);
        CloseHandle(thread);
    }
    SetLastError(before);
    return status;
}

void sw_windows_wait(void *arg, unsigned round)
{
    (void)arg;
    if (round < YIELDS)
        SwitchToThread();
    else
        Sleep(1);
}
