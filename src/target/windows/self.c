/*
 * The calling thread as a target: its stack and id, a walker over both. Knows Windows; refuses to know frames, and how
 * other threads are suspended (suspend.c).
 *
 * Source: GetCurrentThreadStackLimits, VirtualQuery, Microsoft Learn; clr-windows-observed.md W85.
 */
#include "target/windows/memory.h"

#include <snapwalk/self.h>
#include <snapwalk/suspend.h>

#include <windows.h>

#if !defined(__x86_64__)
#error "Windows on x64 only"
#endif

enum { PAGE = 4096 };

uint64_t sw_self_thread(void)
{
    return GetCurrentThreadId();
}

enum sw_status sw_self_stack(uint64_t *begin, uint64_t *end)
{
    ULONG_PTR low, high;
    if (!begin || !end)
        return SW_E_ARGUMENT;
    GetCurrentThreadStackLimits(&low, &high);
    *begin = low;
    *end = high;
    return SW_OK;
}

/*
 * The part of the stack around the caller's page that may be loaded from without asking: up to the first piece that is
 * not committed or is a guard page, which a load would take away, and behind the last one below. Where the system does
 * not tell, from the caller's page on.
 */
static struct sw_window committed_part(uint64_t sp, uint64_t begin, uint64_t end)
{
    const uint64_t page = sp & ~(uint64_t)(PAGE - 1);
    MEMORY_BASIC_INFORMATION piece;
    if (sp < begin || sp >= end)
        return (struct sw_window){ 0 };
    uint64_t from = begin, to = sw_windows_readable(begin, end - begin);
    while (to <= page && VirtualQuery((const void *)(uintptr_t)to, &piece, sizeof piece) == sizeof piece &&
           (uint64_t)(uintptr_t)piece.BaseAddress + piece.RegionSize <= page) {
        from = (uint64_t)(uintptr_t)piece.BaseAddress + piece.RegionSize;
        to = sw_windows_readable(from, end - from);
    }
    if (to <= page)
        from = page, to = end;
    return (struct sw_window){ from, to, (const uint8_t *)(uintptr_t)from };
}

/*
 * Asking takes a lock of the system's, but none that a suspended thread can have: Windows suspends nobody who has it,
 * and Wine nobody in its own code for it.
 */
uint64_t sw_self_loadable(void *arg, uint64_t from, uint64_t end)
{
    (void)arg;
    const DWORD before = GetLastError();
    const uint64_t to = from < end ? sw_windows_readable(from, end - from) : from;
    SetLastError(before);
    return to;
}

enum sw_status sw_self_walker(struct sw_walker *walker, const struct sw_codemap *codemap,
                              const struct sw_images *images)
{
    uint64_t begin, end;
    if (!walker)
        return SW_E_ARGUMENT;
    const enum sw_status status = sw_self_stack(&begin, &end);
    if (status != SW_OK)
        return status;
    *walker = (struct sw_walker){ .machine = SW_MACHINE_X64,
                                  .memory = sw_self_memory(),
                                  .codemap = codemap,
                                  .images = images,
                                  .stack_begin = begin,
                                  .stack_end = end };
    walker->memory.window = committed_part((uint64_t)(uintptr_t)__builtin_frame_address(0), begin, end);
    return SW_OK;
}
