/*
 * Windows for src/clr: the loader's notifications, a slim lock, clocks. Refuses to know the runtime.
 *
 * A walk here runs on the caller's stack: there is no alternate one, and the system takes a stack pointer outside the
 * bounds that it has noted for the thread as a reason to end the process when an exception comes.
 *
 * Source: LdrRegisterDllNotification, Slim Reader/Writer Locks, QueryPerformanceCounter, Microsoft Learn;
 * clr-windows-observed.md W86.
 */
#include "clr/host.h"

#include <snapwalk/clr.h>
#include <snapwalk/context.h>

#include <stdatomic.h>
#include <string.h>
#include <windows.h>

#include <psapi.h>

/* cookie: of the registration, null where the system has no such function. Of the rest see host.h. */
struct sw_clr_host {
    struct sw_alloc alloc;
    SRWLOCK lock;
    void *cookie;
    _Atomic uint64_t loads;
    _Atomic uint64_t unloads;
};

/* Documented, but in no header. The data is not looked at. */
typedef void CALLBACK notification(ULONG reason, const void *data, void *context);
typedef LONG NTAPI ldr_register(ULONG flags, notification *function, void *context, void **cookie);
typedef LONG NTAPI ldr_unregister(void *cookie);

enum { REASON_LOADED = 1 };

/* Called with the loader's lock held. */
static void CALLBACK note_change(ULONG reason, const void *data, void *context)
{
    struct sw_clr_host *host = context;
    (void)data;
    atomic_fetch_add(reason == REASON_LOADED ? &host->loads : &host->unloads, 1);
}

static FARPROC of_ntdll(const char *name)
{
    const HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    return ntdll ? GetProcAddress(ntdll, name) : NULL;
}

static void watch_loader(struct sw_clr_host *host)
{
    union {
        FARPROC any;
        ldr_register *function;
    } registers = { .any = of_ntdll("LdrRegisterDllNotification") };
    if (!registers.any || registers.function(0, note_change, host, &host->cookie) != 0)
        host->cookie = NULL;
}

static void unwatch_loader(struct sw_clr_host *host)
{
    union {
        FARPROC any;
        ldr_unregister *function;
    } unregister = { .any = of_ntdll("LdrUnregisterDllNotification") };
    if (host->cookie && unregister.any)
        unregister.function(host->cookie);
}

enum sw_status sw_clr_host_create(const struct sw_alloc *alloc, struct sw_clr_host **host)
{
    struct sw_clr_host *made = alloc->get(alloc->arg, sizeof *made);
    if (!made)
        return SW_E_NO_MEMORY;
    memset(made, 0, sizeof *made);
    made->alloc = *alloc;
    InitializeSRWLock(&made->lock);
    watch_loader(made);
    *host = made;
    return SW_OK;
}

void sw_clr_host_destroy(struct sw_clr_host *host)
{
    if (!host)
        return;
    const struct sw_alloc to = host->alloc;
    unwatch_loader(host);
    to.put(to.arg, host, sizeof *host);
}

void sw_clr_host_lock(struct sw_clr_host *host)
{
    AcquireSRWLockExclusive(&host->lock);
}

void sw_clr_host_unlock(struct sw_clr_host *host)
{
    ReleaseSRWLockExclusive(&host->lock);
}

struct sw_clr_loads sw_clr_host_loads(const struct sw_clr_host *host)
{
    return (struct sw_clr_loads){ atomic_load(&host->loads), atomic_load(&host->unloads) };
}

enum sw_clr_system sw_clr_host_system(void)
{
    return SW_CLR_WINDOWS;
}

/* What a module exports of that which only a runtime does. Null, or none of it: all 0. */
static struct sw_clr_exports exports_of(HMODULE module)
{
    struct sw_clr_exports exports = { 0 };
    MODULEINFO about;
    if (!module || !K32GetModuleInformation(GetCurrentProcess(), module, &about, sizeof about))
        return exports;
    exports.descriptor = (uint64_t)(uintptr_t)GetProcAddress(module, "DotNetRuntimeContractDescriptor");
    exports.table = (uint64_t)(uintptr_t)GetProcAddress(module, "g_dacTable");
    if (exports.descriptor != 0 || exports.table != 0) {
        exports.begin = (uint64_t)(uintptr_t)module;
        exports.end = exports.begin + about.SizeOfImage;
    }
    return exports;
}

/* In a program in one file the runtime is the program. */
struct sw_clr_exports sw_clr_host_exports(const void *code)
{
    HMODULE around = NULL;
    struct sw_clr_exports exports;
    if (!GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                            (const WCHAR *)code, &around))
        around = NULL;
    const HMODULE modules[] = { around, GetModuleHandleW(L"coreclr.dll"), GetModuleHandleW(NULL) };
    for (size_t i = 0; i < sizeof modules / sizeof modules[0]; i++) {
        exports = exports_of(modules[i]);
        if (exports.begin != 0)
            break;
    }
    return exports;
}

/* It reads the thread's own block: no system call. */
struct sw_suspender sw_clr_host_suspender(struct sw_self_suspender *suspender)
{
    return sw_self_get_suspender(suspender);
}

uint64_t sw_clr_host_now_ns(void)
{
    enum { NS = 1000000000 };
    LARGE_INTEGER now, rate;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&rate);
    const uint64_t ticks = (uint64_t)now.QuadPart, per_second = (uint64_t)rate.QuadPart;
    return ticks / per_second * NS + ticks % per_second * NS / per_second;
}

void sw_clr_host_yield(void)
{
    SwitchToThread();
}

enum sw_status sw_clr_host_registers(enum sw_machine machine, const void *context, struct sw_regs *regs)
{
    return sw_context_load(SW_CONTEXT_WIN32, machine, context, sizeof(CONTEXT), regs);
}

void sw_run_on(void *top, void (*run)(void *arg), void *arg)
{
    (void)top;
    run(arg);
}

enum sw_status sw_clr_widen_signal_stack(void *ucontext)
{
    (void)ucontext;
    return SW_OK;
}

enum sw_status sw_clr_lend_signal_stack(struct sw_clr_signal_stacks *stacks)
{
    (void)stacks;
    return SW_OK;
}
