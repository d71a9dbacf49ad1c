/*
 * Suspends threads of this process with SuspendThread, and reads their registers with GetThreadContext, which waits
 * until the thread really stands. Each suspend has a slot with a handle of the thread, so that resume knows what it
 * undoes. Everything except create and destroy is safe while threads stand suspended: no lock of this process, no
 * allocation. A slot changes hands by compare-and-swap on one word.
 *
 *     0 ──► CLAIMED ──► SUSPENDED ──► CLAIMED ──► 0
 *       by suspend   by suspend   by resume    by resume
 *
 * Source: SuspendThread, GetThreadContext, "Thread Security and Access Rights", Microsoft Learn;
 * clr-windows-observed.md W89, W90.
 */
#include "common/alloc.h"
#include "target/windows/self_capture.h"

#include <snapwalk/context.h>
#include <snapwalk/suspend.h>

#include <stdatomic.h>
#include <windows.h>

enum { CAPACITY_MAX = 1 << 16, YIELDS = 16 };

#define CLAIMED   (UINT64_C(1) << 32)
#define SUSPENDED (UINT64_C(2) << 32)

/* word: 0, or one of the above and the thread's id. thread: whose word is CLAIMED may use it. */
struct slot {
    _Atomic uint64_t word;
    HANDLE thread;
};

struct sw_self_suspender {
    struct sw_alloc alloc;
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

static bool has_ended(HANDLE thread)
{
    return WaitForSingleObject(thread, 0) == WAIT_OBJECT_0;
}

static enum sw_status status_of(DWORD error)
{
    static const struct {
        DWORD error;
        enum sw_status status;
    } rows[] = {
        { ERROR_INVALID_PARAMETER, SW_E_GONE }, /* of OpenThread: no thread has that id */
        { ERROR_ACCESS_DENIED, SW_E_PERMISSION },
        { ERROR_SIGNAL_REFUSED, SW_E_BUSY }, /* suspended as often as can be counted */
        { ERROR_NOT_ENOUGH_MEMORY, SW_E_NO_MEMORY },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].error == error)
            return rows[i].status;
    return SW_E_OS;
}

/* Of this process only: an id may have gone over to another one's thread. */
static enum sw_status open_thread(DWORD id, HANDLE *thread)
{
    *thread =
        OpenThread(THREAD_SUSPEND_RESUME | THREAD_GET_CONTEXT | THREAD_QUERY_INFORMATION | SYNCHRONIZE, FALSE, id);
    if (!*thread)
        return status_of(GetLastError());
    if (GetProcessIdOfThread(*thread) == GetCurrentProcessId())
        return SW_OK;
    CloseHandle(*thread);
    return SW_E_GONE;
}

static enum sw_status read_registers(HANDLE thread, struct sw_regs *regs)
{
    CONTEXT context;
    context.ContextFlags = CONTEXT_CONTROL | CONTEXT_INTEGER;
    if (!GetThreadContext(thread, &context))
        return has_ended(thread) ? SW_E_GONE : SW_E_OS;
    return sw_context_load(SW_CONTEXT_WIN32, SW_MACHINE_X64, &context, sizeof context, regs);
}

static enum sw_status stop(HANDLE thread, struct sw_regs *regs)
{
    if (SuspendThread(thread) == (DWORD)-1) {
        const enum sw_status status = status_of(GetLastError());
        return has_ended(thread) ? SW_E_GONE : status;
    }
    const enum sw_status status = read_registers(thread, regs);
    if (status != SW_OK)
        ResumeThread(thread);
    return status;
}

static enum sw_status suspend_in(struct slot *slot, DWORD id, struct sw_regs *regs)
{
    enum sw_status status = open_thread(id, &slot->thread);
    if (status == SW_OK) {
        status = stop(slot->thread, regs);
        if (status != SW_OK)
            CloseHandle(slot->thread);
    }
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
    const DWORD before = GetLastError();
    if (!arg || !regs || os_id == 0 || os_id > UINT32_MAX || os_id == sw_self_thread())
        return SW_E_ARGUMENT;
    struct slot *slot = claim(arg, 0, CLAIMED | os_id);
    const enum sw_status status = slot ? suspend_in(slot, (DWORD)os_id, regs) : SW_E_BUSY;
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

static uint64_t current(void *arg)
{
    (void)arg;
    return sw_self_thread();
}

static void wait_a_while(void *arg, unsigned round)
{
    (void)arg;
    if (round < YIELDS)
        SwitchToThread();
    else
        Sleep(1);
}

struct sw_suspender sw_self_get_suspender(struct sw_self_suspender *suspender)
{
    return (struct sw_suspender){ suspend, resume, current, sw_self_capture_with, wait_a_while, suspender };
}

enum sw_status sw_self_suspender_create(const struct sw_alloc *alloc, int signal, size_t capacity,
                                        struct sw_self_suspender **out)
{
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    if (!out || !sw_alloc_usable(alloc) || capacity == 0 || capacity > CAPACITY_MAX || signal != 0)
        return SW_E_ARGUMENT;
    struct sw_self_suspender *suspender = from.get(from.arg, sizeof *suspender + capacity * sizeof suspender->slot[0]);
    if (!suspender)
        return SW_E_NO_MEMORY;
    suspender->alloc = from;
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
