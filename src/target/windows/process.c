/*
 * Another process as a target, on Windows: opened, its memory read, a walker over a suspended thread's stack. Knows
 * process handles; refuses to know how threads are suspended (process_threads.c), what its modules are
 * (images_process.c) and what a frame is.
 *
 * Source: OpenProcess, ReadProcessMemory, IsWow64Process, GetThreadDescription, "Process Security and Access Rights",
 * Microsoft Learn; clr-windows-observed.md W88.
 */
#include "target/windows/process.h"

#include "common/alloc.h"
#include "common/grow.h"
#include "target/advice.h"
#include "target/windows/memory.h"

#include <string.h>

enum { NAME_CHARS = 256, RIGHTS = PROCESS_VM_READ | PROCESS_QUERY_INFORMATION | SYNCHRONIZE };

static enum sw_status open_handle(DWORD pid, HANDLE *handle)
{
    BOOL is_32_bit = FALSE;
    *handle = OpenProcess(RIGHTS, FALSE, pid);
    if (!*handle)
        return sw_windows_status(GetLastError());
    enum sw_status status = sw_windows_has_ended(*handle) ? SW_E_GONE : SW_OK;
    if (status == SW_OK && (!IsWow64Process(*handle, &is_32_bit) || is_32_bit))
        status = is_32_bit ? SW_E_UNSUPPORTED : SW_E_OS;
    if (status != SW_OK)
        CloseHandle(*handle);
    return status;
}

/* Hundreds of nanoseconds since 1601: FILETIME, Microsoft Learn. */
static int64_t since_1601(int64_t seconds, uint32_t nanoseconds)
{
    const int64_t until_1970 = 11644473600, most = 100000000000,
                  s = seconds > most    ? most
                      : seconds < -most ? -most
                                        : seconds;
    return (s + until_1970) * 10000000 + nanoseconds / 100;
}

/* A file's time may be that of the last tick of the clock, 16 ms ago at most,. */
bool sw_process_began_by(int pid, int64_t seconds, uint32_t nanoseconds)
{
    const int64_t tick = 160000;
    FILETIME created, ended, kernel, user;
    HANDLE handle = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, pid ? (DWORD)pid : GetCurrentProcessId());
    const bool is_known = handle && GetProcessTimes(handle, &created, &ended, &kernel, &user);
    if (handle)
        CloseHandle(handle);
    if (!is_known)
        return false;
    const ULARGE_INTEGER began = { .LowPart = created.dwLowDateTime, .HighPart = created.dwHighDateTime };
    return since_1601(seconds, nanoseconds) >= (int64_t)began.QuadPart - tick;
}

enum sw_status sw_process_open(const struct sw_alloc *alloc, int pid, struct sw_process **out)
{
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    HANDLE handle;
    if (!out || !sw_alloc_usable(alloc) || pid <= 0 || (DWORD)pid == GetCurrentProcessId())
        return SW_E_ARGUMENT;
    const enum sw_status status = open_handle((DWORD)pid, &handle);
    if (status != SW_OK)
        return status;
    struct sw_process *process = from.get(from.arg, sizeof *process);
    if (!process) {
        CloseHandle(handle);
        return SW_E_NO_MEMORY;
    }
    *process = (struct sw_process){ .alloc = from, .pid = (DWORD)pid, .handle = handle };
    process->capture.pages.target = sw_process_memory(process);
    *out = process;
    return SW_OK;
}

void sw_process_close(struct sw_process *process)
{
    if (!process)
        return;
    const struct sw_alloc alloc = process->alloc;
    sw_process_drop_threads(process);
    sw_process_drop_capture(process);
    if (process->window)
        alloc.put(alloc.arg, process->window, process->window_room);
    CloseHandle(process->handle);
    alloc.put(alloc.arg, process, sizeof *process);
}

/* Only what Windows says can be loaded: to read a guard page would take it from the stack that it guards. */
size_t sw_process_read(void *arg, uint64_t address, void *to, size_t size)
{
    const struct sw_process *process = arg;
    const uint64_t end = sw_windows_readable_of(process->handle, address, size);
    SIZE_T got = 0;
    if (end == address)
        return 0;
    const bool is_read =
        ReadProcessMemory(process->handle, (const void *)(uintptr_t)address, to, (size_t)(end - address), &got);
    return is_read ? (size_t)got : 0;
}

struct sw_memory sw_process_memory(struct sw_process *process)
{
    return (struct sw_memory){ .read = process ? sw_process_read : NULL, .arg = process };
}

struct sw_memory sw_process_stopped_memory(struct sw_process *process)
{
    return sw_process_memory(process);
}

/* [begin, end) as far as it is readable. */
static enum sw_status copy_stack(struct sw_process *process, uint64_t begin, uint64_t end, struct sw_window *window)
{
    const size_t size = end - begin < SW_STACK_MOST ? (size_t)(end - begin) : SW_STACK_MOST;
    uint8_t *block = sw_grow(&process->alloc, process->window, 1, 0, &process->window_room, size);
    if (!block)
        return SW_E_NO_MEMORY;
    process->window = block;
    const size_t got = sw_process_read(process, begin, process->window, size);
    *window = (struct sw_window){ begin, begin + got, process->window };
    return SW_OK;
}

/* The thread whose registers these are is not named: the one whose stack sp is on. */
enum sw_status sw_process_walker(struct sw_process *process, const struct sw_regs *regs,
                                 const struct sw_codemap *codemap, const struct sw_images *images,
                                 struct sw_walker *walker)
{
    uint64_t begin = 0, end = 0;
    if (!process || !regs || !walker || !sw_regs_has(regs, sw_regs_sp_number(regs->machine)))
        return SW_E_ARGUMENT;
    if (sw_windows_has_ended(process->handle))
        return SW_E_GONE;
    const uint64_t sp = sw_regs_sp(regs);
    *walker = (struct sw_walker){ .machine = regs->machine,
                                  .memory = sw_process_memory(process),
                                  .codemap = codemap,
                                  .images = images,
                                  .budget = SW_WALK_BUDGET_UNLIMITED };
    for (size_t i = 0; i < process->thread_count && walker->stack_end == 0; i++) {
        sw_process_stack(process, process->threads[i].handle, &begin, &end);
        if (sp < begin || sp >= end)
            continue;
        walker->stack_begin = begin;
        walker->stack_end = end;
    }
    return walker->stack_end ? copy_stack(process, sp, walker->stack_end, &walker->memory.window) : SW_OK;
}

/* ---- names ---- */

typedef HRESULT WINAPI get_description(HANDLE thread, WCHAR **name);

static void copy_name(char *to, size_t size, const WCHAR *from)
{
    char name[4 * NAME_CHARS];
    WCHAR cut[NAME_CHARS] = { 0 };
    wcsncpy(cut, from, NAME_CHARS - 1);
    const int got = WideCharToMultiByte(CP_UTF8, 0, cut, -1, name, sizeof name, NULL, NULL);
    const size_t length = got > 0 && (size_t)got <= size ? (size_t)got - 1 : got > 0 ? size - 1 : 0;
    memcpy(to, name, length);
    to[length] = 0;
}

/* Before Windows 10 threads have no names. */
enum sw_status sw_process_thread_name(struct sw_process *process, uint64_t tid, char *name, size_t size)
{
    HANDLE thread;
    WCHAR *found = NULL;
    if (!process || !name || size == 0)
        return SW_E_ARGUMENT;
    if (!sw_process_find_thread(process, tid) && !sw_process_find_captured(process, tid))
        return SW_E_NOT_FOUND;
    get_description *const ask =
        (get_description *)(void *)GetProcAddress(GetModuleHandleW(L"kernel32.dll"), "GetThreadDescription");
    const enum sw_status status = sw_windows_open_thread(process->pid, (DWORD)tid, 0, &thread);
    if (status != SW_OK)
        return status;
    name[0] = 0;
    if (ask && ask(thread, &found) >= 0 && found)
        copy_name(name, size, found);
    LocalFree(found);
    CloseHandle(thread);
    return SW_OK;
}

/* ---- obstacles ---- */

enum sw_process_obstacle sw_process_find_obstacle(int pid, int *tracer)
{
    if (tracer)
        *tracer = 0; /* a debugger is in nobody's way, and is not named */
    const HANDLE handle = OpenProcess(RIGHTS, FALSE, (DWORD)pid);
    const bool is_refused = !handle && GetLastError() == ERROR_ACCESS_DENIED;
    if (handle)
        CloseHandle(handle);
    return is_refused ? SW_OBSTACLE_MORE_RIGHTS : SW_OBSTACLE_NONE;
}

const char *sw_process_obstacle_text(enum sw_process_obstacle obstacle)
{
    static const char *const texts[] = {
        [SW_OBSTACLE_NONE] = "nothing that Windows tells is in the way",
        [SW_OBSTACLE_TRACED] = "another process debugs it",
        [SW_OBSTACLE_OTHER_USER] = "it is another user's",
        [SW_OBSTACLE_MORE_RIGHTS] =
            ("it is another user's, has more rights, or is protected: be an administrator, with "
             "SeDebugPrivilege enabled"),
        [SW_OBSTACLE_SCOPE] = "a policy lets users look at own children only",
        [SW_OBSTACLE_POLICY] = "a policy lets nobody look",
        [SW_OBSTACLE_KERNEL] = "it is a thread of the kernel",
        [SW_OBSTACLE_FILTER] = "a filter lets this program not look",
    };
    return (size_t)obstacle < sizeof texts / sizeof texts[0] ? texts[obstacle] : "?";
}

const char *sw_process_advice(int pid, enum sw_status status, int error)
{
    (void)error;
    return status == SW_E_PERMISSION ? sw_process_obstacle_text(sw_process_find_obstacle(pid, NULL))
                                     : sw_advice_of(status);
}

bool sw_process_get_replaced(const struct sw_process *process, size_t number, struct sw_replaced_file *file)
{
    (void)process;
    (void)number;
    (void)file;
    return false;
}
