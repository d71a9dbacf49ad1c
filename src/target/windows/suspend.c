/*
 * Suspends threads of this process with SuspendThread, and reads their registers with GetThreadContext, which waits
 * until the thread really stands. Each suspend has a slot with a handle of the thread, so that resume knows what it
 * undoes. Everything except create and destroy is safe while threads stand suspended: no lock of this process, no
 * allocation. A slot changes hands by compare-and-swap on one word.
 *
 *     0 ──► CLAIMED ──► SUSPENDED ──► CLAIMED ──► 0
 *       by suspend   by suspend   by resume    by resume
 *
 * Source: SuspendThread, GetThreadContext, "Thread Security and Access Rights", Microsoft Learn; winnt.h, CONTEXT_*;
 * clr-windows-observed.md W11, W13, W89, W90.
 */
#include "common/alloc.h"
#include "target/windows/images.h"
#include "target/windows/self_capture.h"
#include "target/windows/threads.h"

#include <snapwalk/context.h>
#include <snapwalk/suspend.h>

#include <stdatomic.h>
#include <string.h>

enum { CAPACITY_MAX = 1 << 16 };

#define CLAIMED   (UINT64_C(1) << 32)
#define SUSPENDED (UINT64_C(2) << 32)

/* word: 0, or one of the above and the thread's id. Whose word is CLAIMED may use the others. */
struct slot {
    _Atomic uint64_t word;
    HANDLE thread;
    _Atomic bool in_system_call;
};

/* ntdll: as it is mapped, which is for ever. */
struct sw_self_suspender {
    struct sw_alloc alloc;
    struct sw_pe ntdll;
    size_t count;
    struct slot slot[];
};

static struct slot *claim(struct sw_self_suspender *suspender, uint64_t from, uint64_t to)
{
    for (size_t i = 0; i < suspender->count; i++) {
        uint64_t word = from;
        if (atomic_compare_exchange_strong(&suspender->slot[i].word, &word, to))
            return &suspender->slot[i];
    }
    return NULL;
}

/* Whether the code in front of pc, in ntdll, is an instruction that enters the kernel: the real one, or Wine's. */
static bool is_behind_system_call(const struct sw_pe *ntdll, uint64_t pc)
{
    static const struct {
        uint8_t size;
        uint8_t bytes[7];
    } rows[] = { { 2, { 0x0f, 0x05 } }, { 7, { 0xff, 0x14, 0x25, 0x00, 0x10, 0xfe, 0x7f } } };
    const uint64_t at = pc - ntdll->bytes.address;
    for (size_t i = 0; at < ntdll->bytes.size && i < sizeof rows / sizeof rows[0]; i++) {
        const struct sw_bytes before = sw_pe_at(ntdll, (uint32_t)at - rows[i].size, rows[i].size);
        if (before.size != 0 && memcmp(before.bytes, rows[i].bytes, rows[i].size) == 0)
            return true;
    }
    return false;
}

static enum sw_status read_registers(const struct sw_pe *ntdll, HANDLE thread, struct sw_regs *regs,
                                     bool *in_system_call)
{
    CONTEXT context;
    context.ContextFlags = CONTEXT_CONTROL | CONTEXT_INTEGER | CONTEXT_EXCEPTION_REQUEST;
    if (!GetThreadContext(thread, &context))
        return sw_windows_has_ended(thread) ? SW_E_GONE : SW_E_OS;
    *in_system_call = context.ContextFlags & CONTEXT_EXCEPTION_REPORTING
                          ? (context.ContextFlags & (CONTEXT_SERVICE_ACTIVE | CONTEXT_EXCEPTION_ACTIVE)) != 0
                          : is_behind_system_call(ntdll, context.Rip);
    return sw_context_load(SW_CONTEXT_WIN32, SW_MACHINE_X64, &context, sizeof context, regs);
}

static enum sw_status stop(const struct sw_pe *ntdll, HANDLE thread, struct sw_regs *regs, bool *in_system_call)
{
    if (SuspendThread(thread) == (DWORD)-1) {
        const enum sw_status status = sw_windows_status(GetLastError());
        return sw_windows_has_ended(thread) ? SW_E_GONE : status;
    }
    const enum sw_status status = read_registers(ntdll, thread, regs, in_system_call);
    if (status != SW_OK)
        ResumeThread(thread);
    return status;
}

static enum sw_status suspend_in(const struct sw_pe *ntdll, struct slot *slot, DWORD id, struct sw_regs *regs)
{
    enum sw_status status =
        sw_windows_open_thread(GetCurrentProcessId(), id, THREAD_SUSPEND_RESUME | THREAD_GET_CONTEXT, &slot->thread);
    bool in_system_call = false;
    if (status == SW_OK) {
        status = stop(ntdll, slot->thread, regs, &in_system_call);
        if (status != SW_OK)
            CloseHandle(slot->thread);
    }
    atomic_store(&slot->in_system_call, in_system_call);
    atomic_store(&slot->word, status == SW_OK ? SUSPENDED | id : 0);
    return status;
}

static void resume_in(struct slot *slot)
{
    ResumeThread(slot->thread);
    CloseHandle(slot->thread);
    atomic_store(&slot->word, 0);
}

static enum sw_status suspend(void *arg, uint64_t os_id, struct sw_regs *regs)
{
    const struct sw_self_suspender *suspender = arg;
    const DWORD before = GetLastError();
    if (!arg || !regs || os_id == 0 || os_id > UINT32_MAX || os_id == sw_self_thread())
        return SW_E_ARGUMENT;
    struct slot *slot = claim(arg, 0, CLAIMED | os_id);
    const enum sw_status status = slot ? suspend_in(&suspender->ntdll, slot, (DWORD)os_id, regs) : SW_E_BUSY;
    SetLastError(before);
    return status;
}

static enum sw_status resume(void *arg, uint64_t os_id)
{
    const DWORD before = GetLastError();
    if (!arg || os_id == 0 || os_id > UINT32_MAX)
        return SW_E_ARGUMENT;
    struct slot *slot = claim(arg, SUSPENDED | os_id, CLAIMED | os_id);
    if (slot)
        resume_in(slot);
    SetLastError(before);
    return slot ? SW_OK : SW_E_NOT_FOUND;
}

/* Of several suspends of one thread any will do: it stood at the first, and still does. */
static bool in_system_call(void *arg, uint64_t os_id)
{
    struct sw_self_suspender *suspender = arg;
    for (size_t i = 0; suspender && i < suspender->count; i++)
        if (atomic_load(&suspender->slot[i].word) == (SUSPENDED | os_id))
            return atomic_load(&suspender->slot[i].in_system_call);
    return false;
}

static uint64_t current(void *arg)
{
    (void)arg;
    return sw_self_thread();
}

struct sw_suspender sw_self_get_suspender(struct sw_self_suspender *suspender)
{
    return (struct sw_suspender){ suspend,         resume,    current,       sw_self_capture_with,
                                  sw_windows_wait, suspender, in_system_call };
}

enum sw_status sw_self_suspender_create(const struct sw_alloc *alloc, int signal, size_t capacity,
                                        struct sw_self_suspender **out)
{
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    if (!out || !sw_alloc_usable(alloc) || capacity == 0 || capacity > CAPACITY_MAX || signal != 0)
        return SW_E_ARGUMENT;
    struct sw_pe ntdll;
    if (sw_windows_open_ntdll(&ntdll) != SW_OK)
        return SW_E_OS;
    struct sw_self_suspender *suspender = from.get(from.arg, sizeof *suspender + capacity * sizeof suspender->slot[0]);
    if (!suspender)
        return SW_E_NO_MEMORY;
    suspender->alloc = from;
    suspender->ntdll = ntdll;
    suspender->count = capacity;
    for (size_t i = 0; i < capacity; i++)
        atomic_init(&suspender->slot[i].word, 0);
    *out = suspender;
    return SW_OK;
}

void sw_self_suspender_destroy(struct sw_self_suspender *suspender)
{
    if (!suspender)
        return;
    const struct sw_alloc to = suspender->alloc;
    for (size_t i = 0; i < suspender->count; i++)
        if (atomic_load(&suspender->slot[i].word) != 0)
            resume_in(&suspender->slot[i]);
    to.put(to.arg, suspender, sizeof *suspender + suspender->count * sizeof suspender->slot[0]);
}
