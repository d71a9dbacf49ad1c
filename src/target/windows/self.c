/*
 * The calling thread as a target: its stack and id, a walker over both. Knows Windows; refuses to know frames, and how
 * other threads are suspended (suspend.c).
 *
 * Source: GetCurrentThreadStackLimits, VirtualQuery, Microsoft Learn; clr-windows-observed.md W85.
 */
#include "target/windows/memory.h"

#include <snapwalk/self.h>

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
 * The part of the stack that is committed now: behind the last piece that is not, or where the system does not tell,
 * from the caller's page on. Below it lie the guard page and what is only reserved.
 */
static struct sw_window committed_part(uint64_t sp, uint64_t begin, uint64_t end)
{
    const uint64_t page = sp & ~(uint64_t)(PAGE - 1);
    uint64_t at = begin;
    MEMORY_BASIC_INFORMATION piece;
    if (sp < begin || sp >= end)
        return (struct sw_window){ 0 };
    while (at < page && sw_windows_readable(at, end - at) != end &&
           VirtualQuery((const void *)(uintptr_t)at, &piece, sizeof piece) == sizeof piece)
        at = (uint64_t)(uintptr_t)piece.BaseAddress + piece.RegionSize;
    const uint64_t from = at < page && sw_windows_readable(at, end - at) == end ? at : page;
    return (struct sw_window){ from, end, (const uint8_t *)(uintptr_t)from };
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
