/*
 * Any instant, on Windows: a thread that was never managed suspends the others, one at a time, and compares walks of
 * them: without a seed, from their own registers, from the first managed frame that the system's unwinder finds, from
 * those behind it, and from registers that are nobody's. Between SuspendThread and ResumeThread nothing is allocated or
 * printed: the stopped thread may hold the lock.
 *
 * Source: contract-documented.md D17-D22; clr-windows-observed.md W26-W33, W66, W89, W90.
 */
/* In front of the CLR's interfaces, which then take its types. */
#include <windows.h>

#include "../machine.h"
#include "../probe.h"
#include "../../../../tools/profiler/callbacks.h"
#include "repair.h"

#include <snapwalk/context.h>

#include <psapi.h>

enum { THREADS = 256, MODULES = 512, UNWOUND_MAX = 10000, MANAGED_MAX = 8192, OUTER = 4, SHOWN = 8, STILL = 8 };

/*
 * A thread that can be stopped. handle null: the place is free. ip, sp: where it stood last; still: how many times it
 * has stood there again. Such a thread waits, and is looked at each STILL-th time.
 */
static struct target {
    ThreadID id;
    HANDLE handle;
    uint64_t ip, sp;
    unsigned still;
} targets[THREADS];

/* Who walks holds it, so that no thread ends meanwhile; a stopped thread never does. */
static SRWLOCK lock = SRWLOCK_INIT;
static unsigned pause_ms;
static atomic_bool is_on;
static HANDLE stopper;
static _Atomic uint64_t stops, seeds, documented, agreed, moved, shown;

/* ---- the threads ---- */

void sample_this_thread(void)
{
    HANDLE self = NULL;
    ThreadID id;
    if (info->lpVtbl->GetCurrentThreadID(info, &id) != S_OK ||
        !DuplicateHandle(GetCurrentProcess(), GetCurrentThread(), GetCurrentProcess(), &self, 0, FALSE,
                         DUPLICATE_SAME_ACCESS))
        return;
    AcquireSRWLockExclusive(&lock);
    struct target *free = NULL;
    for (unsigned i = 0; i < THREADS && !free; i++)
        if (!targets[i].handle)
            free = &targets[i];
    if (free)
        *free = (struct target){ .id = id, .handle = self };
    ReleaseSRWLockExclusive(&lock);
    if (!free)
        CloseHandle(self);
}

void forget_this_thread(void)
{
    ThreadID id;
    if (info->lpVtbl->GetCurrentThreadID(info, &id) != S_OK)
        return;
    AcquireSRWLockExclusive(&lock);
    for (unsigned i = 0; i < THREADS; i++)
        if (targets[i].handle && targets[i].id == id) {
            CloseHandle(targets[i].handle);
            targets[i] = (struct target){ 0 };
        }
    ReleaseSRWLockExclusive(&lock);
}

void check_last_sample(void)
{
}

HANDLE stop_thread(ThreadID thread)
{
    DWORD os_id;
    if (info->lpVtbl->GetThreadInfo(info, thread, &os_id) != S_OK)
        return NULL;
    HANDLE handle = OpenThread(THREAD_SUSPEND_RESUME | THREAD_GET_CONTEXT, FALSE, os_id);
    CONTEXT context = { .ContextFlags = CONTEXT_CONTROL };
    if (handle && SuspendThread(handle) != (DWORD)-1) {
        (void)GetThreadContext(handle, &context); /* which waits until it stands */
        return handle;
    }
    if (handle)
        CloseHandle(handle);
    return NULL;
}

void let_go(void *handle)
{
    if (!handle)
        return;
    ResumeThread(handle);
    CloseHandle(handle);
}

/* ---- the seed ---- */

static bool is_managed(uint64_t ip)
{
    FunctionID function = 0;
    return info->lpVtbl->GetFunctionFromIP(info, (LPCBYTE)(uintptr_t)ip, &function) == S_OK && function != 0;
}

/*
 * The modules, read while nobody stands stopped: the system's own look-up of unwind data takes a lock, which a thread
 * has that adds code, or dispatches an exception. In Wine they cost 0.2 s, so they are read when there are others.
 */
static struct module {
    uint64_t base, size;
} modules[MODULES];
static DWORD module_count;
static _Atomic uint64_t loader_changes;

static void CALLBACK note_change(ULONG reason, const void *data, void *context)
{
    (void)reason, (void)data, (void)context;
    atomic_fetch_add(&loader_changes, 1);
}

/* LdrRegisterDllNotification is documented, but in no header. */
static bool watch_loader(void)
{
    typedef LONG NTAPI ldr_register(ULONG, void CALLBACK (*)(ULONG, const void *, void *), void *, void **);
    static void *cookie;
    const union {
        FARPROC any;
        ldr_register *function;
    } registers = { .any = GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "LdrRegisterDllNotification") };
    return registers.any && registers.function(0, note_change, NULL, &cookie) == 0;
}

static void read_modules(void)
{
    static uint64_t seen = UINT64_MAX;
    const uint64_t now = atomic_load(&loader_changes);
    HMODULE handles[MODULES];
    DWORD bytes;
    MODULEINFO about;
    if (seen == now)
        return;
    seen = now;
    module_count = 0;
    if (!K32EnumProcessModules(GetCurrentProcess(), handles, sizeof handles, &bytes))
        return;
    for (DWORD i = 0; i < bytes / sizeof handles[0] && i < MODULES; i++)
        if (K32GetModuleInformation(GetCurrentProcess(), handles[i], &about, sizeof about))
            modules[module_count++] = (struct module){ (uint64_t)(uintptr_t)handles[i], about.SizeOfImage };
}

static const struct module *module_of(uint64_t address)
{
    for (DWORD i = 0; i < module_count; i++)
        if (address - modules[i].base < modules[i].size)
            return &modules[i];
    return NULL;
}

/* In the module's own table. Null: a function that has no data there is a leaf. */
static RUNTIME_FUNCTION *find_function(const struct module *module, uint64_t address)
{
    const uint8_t *base = (const uint8_t *)(uintptr_t)module->base;
    const IMAGE_NT_HEADERS64 *headers = (const IMAGE_NT_HEADERS64 *)(base + ((const IMAGE_DOS_HEADER *)base)->e_lfanew);
    const IMAGE_DATA_DIRECTORY *table = &headers->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXCEPTION];
    RUNTIME_FUNCTION *functions = (RUNTIME_FUNCTION *)(uintptr_t)(module->base + table->VirtualAddress);
    const DWORD rva = (DWORD)(address - module->base);
    size_t low = 0, high = table->Size / sizeof functions[0];
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (rva >= functions[middle].EndAddress)
            low = middle + 1;
        else
            high = middle;
    }
    return low < table->Size / sizeof functions[0] && rva >= functions[low].BeginAddress ? &functions[low] : NULL;
}

/*
 * False: nobody says here how code outside all modules is unwound (a stub of the runtime's, managed code that the CLR
 * does not tell of). Taken for a leaf it would give a frame that is none.
 */
static bool unwind_once(CONTEXT *context)
{
    DWORD64 frame;
    void *data;
    const struct module *module = module_of(context->Rip);
    RUNTIME_FUNCTION *function = module ? find_function(module, context->Rip) : NULL;
    const DWORD64 sp = context->Rsp;
    if (!module)
        return false;
    if (function) {
        RtlVirtualUnwind(UNW_FLAG_NHANDLER, module->base, context->Rip, function, context, &data, &frame, NULL);
    } else {
        context->Rip = *(const DWORD64 *)(uintptr_t)sp;
        context->Rsp += sizeof(DWORD64);
    }
    return context->Rip != 0 && context->Rsp > sp;
}

/*
 * From a thread's registers out to the first managed frame, by the system's own unwinder. False: there is none, or the
 * stack ends.
 */
static bool find_seed(CONTEXT *context, uint64_t stack_end)
{
    for (unsigned i = 0; i < UNWOUND_MAX && context->Rsp < stack_end; i++) {
        if (is_managed(context->Rip))
            return true;
        if (context->Rsp + sizeof(DWORD64) > stack_end || !unwind_once(context))
            return false;
    }
    return false;
}

/* ---- the library's own flavour ---- */

/* Managed frames of one walk: sp, ip. outer: the registers of the first ones behind the leaf. */
struct chain {
    uint32_t count;
    CONTEXT outer[OUTER];
    struct {
        FunctionID function;
        uint64_t ip, sp;
    } at[MANAGED_MAX];
};

static struct chain real, ours;

static HRESULT STDMETHODCALLTYPE collect(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame, ULONG32 size,
                                         BYTE context[], void *arg)
{
    struct chain *chain = arg;
    struct sw_regs regs;
    (void)frame;
    if (function == 0)
        return S_OK;
    if (chain->count == MANAGED_MAX || sw_context_load(SW_CONTEXT_WIN32, machine, context, size, &regs) != SW_OK)
        return E_FAIL;
    if (chain->count > 0 && chain->count <= OUTER)
        memcpy(&chain->outer[chain->count - 1], context, sizeof(CONTEXT));
    chain->at[chain->count].function = function;
    chain->at[chain->count].ip = ip;
    chain->at[chain->count++].sp = sw_regs_sp(&regs);
    return S_OK;
}

/*
 * The documented walk needs no seed, and finds at least the frames that the CLR has told of, in that order. Their ips
 * are not compared: of a platform invoke the CLR knows a return address by its own note, which need not be the one on
 * the stack.
 */
static bool holds_real(void)
{
    uint32_t i = 0;
    for (uint32_t k = 0; k < ours.count && i < real.count; k++)
        i += ours.at[k].sp == real.at[i].sp && ours.at[k].function == real.at[i].function;
    return i == real.count;
}

/*
 * Whether the runtime has given the thread other registers while it stood here: who wants to collect stops it, too,
 * sends it to code of the runtime, and takes back only its own stop. A walk that comes after that begins elsewhere.
 *
 * Source: clr-windows-observed.md W94.
 */
static bool was_moved(HANDLE thread, const CONTEXT *stood)
{
    CONTEXT now = { .ContextFlags = CONTEXT_CONTROL };
    return GetThreadContext(thread, &now) && (now.Rip != stood->Rip || now.Rsp != stood->Rsp);
}

/* False: the documented walk has not the CLR's frames, though the thread stands where it stood. */
static bool compare_documented(const struct target *target, const CONTEXT *stands, CONTEXT *seed)
{
    enum { FLAGS = COR_PRF_SNAPSHOT_REGISTER_CONTEXT };
    real.count = ours.count = 0;
    if (info->lpVtbl->DoStackSnapshot(info, target->id, collect, FLAGS, &real, (BYTE *)seed, sizeof *seed) != S_OK)
        return true;
    const HRESULT hr = sw_clr_snapshot(fed, SW_FLAVOUR_DOCUMENTED, target->id, collect, FLAGS, &ours, NULL, 0);
    const bool same = hr == S_OK && holds_real(), was = !same && was_moved(target->handle, stands);
    atomic_fetch_add(&moved, was);
    atomic_fetch_add(&documented, !was);
    atomic_fetch_add(&agreed, same);
    return same || was;
}

static void show_chains(ThreadID id, uint64_t stopped_at)
{
    if (atomic_fetch_add(&shown, 1) >= SHOWN)
        return;
    fprintf(report, "difference: documented walk of thread %#llx, stopped at %#llx: %u managed frames, %u of the CLR\n",
            (unsigned long long)id, (unsigned long long)stopped_at, ours.count, real.count);
    for (uint32_t i = 0; i < 24 && (i < ours.count || i < real.count); i++)
        fprintf(report, "    %3u  CLR id %#llx ip %#llx sp %#llx  ours id %#llx ip %#llx sp %#llx\n", i,
                (unsigned long long)real.at[i].function, (unsigned long long)real.at[i].ip,
                (unsigned long long)real.at[i].sp, (unsigned long long)ours.at[i].function,
                (unsigned long long)ours.at[i].ip, (unsigned long long)ours.at[i].sp);
}

/* ---- one stop ---- */

static bool ask(enum occasion occasion, ThreadID id, CONTEXT *seed)
{
    return compare_quietly(occasion, id, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, (BYTE *)seed, seed ? sizeof *seed : 0) &&
           compare_quietly(occasion, id, COR_PRF_SNAPSHOT_DEFAULT, (BYTE *)seed, seed ? sizeof *seed : 0);
}

/* From the frames behind the leaf, of which the CLR has just told. */
static bool ask_outer(ThreadID id)
{
    for (uint32_t i = 0; i < OUTER && i + 1 < real.count; i++)
        if (!ask(AT_STOPPED_OUTER, id, &real.outer[i]))
            return false;
    return true;
}

enum outcome { SAME, DIFFERENT, OTHER_CHAIN };

/* Compares walks of a thread that stands with these registers, up to the first difference. */
static enum outcome compare_stopped(const struct target *target, const CONTEXT *stands, uint64_t stack_end)
{
    static CONTEXT nobody;
    const ThreadID id = target->id;
    CONTEXT seed = *stands;
    if (!ask(AT_STOPPED, id, NULL) || !ask(AT_STOPPED_OWN_SEED, id, &seed) || !ask(AT_STOPPED_BAD_SEED, id, &nobody))
        return DIFFERENT;
    const bool seeds_count = last_answer() == CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX;
    if (!find_seed(&seed, stack_end))
        return SAME;
    atomic_fetch_add(&seeds, 1);
    if (!ask(AT_STOPPED_SEEDED, id, &seed))
        return DIFFERENT;
    if (!compare_documented(target, stands, &seed))
        return OTHER_CHAIN;
    return !seeds_count || ask_outer(id) ? SAME : DIFFERENT;
}

static bool is_due(struct target *target, const CONTEXT *stands)
{
    const bool is_same = target->ip == stands->Rip && target->sp == stands->Rsp;
    target->still = is_same ? target->still + 1 : 0;
    target->ip = stands->Rip;
    target->sp = stands->Rsp;
    return target->still % STILL == 0;
}

static void stop_once(struct target *target)
{
    CONTEXT stands = { .ContextFlags = CONTEXT_FULL };
    uint64_t begin, end;
    enum outcome outcome = SAME;
    if (SuspendThread(target->handle) == (DWORD)-1)
        return;
    if (GetThreadContext(target->handle, &stands) && is_due(target, &stands) &&
        sw_self_thread_stack(GetThreadId(target->handle), &begin, &end) == SW_OK) {
        outcome = compare_stopped(target, &stands, end);
        atomic_fetch_add(&stops, 1);
    }
    ResumeThread(target->handle);
    if (outcome == OTHER_CHAIN)
        show_chains(target->id, stands.Rip);
    else if (outcome == DIFFERENT)
        report_difference();
}

static DWORD WINAPI stop_again_and_again(void *arg)
{
    (void)arg;
    if (!prepare_comparisons() || !watch_loader())
        return 1;
    while (atomic_load(&is_on)) {
        const DWORD begun = GetTickCount();
        read_modules();
        for (unsigned i = 0; i < THREADS; i++) {
            AcquireSRWLockExclusive(&lock);
            if (targets[i].handle)
                stop_once(&targets[i]);
            ReleaseSRWLockExclusive(&lock);
        }
        /* Whoever was stopped runs as long as this took: else, where stops are dear, as in Wine, nobody comes on. */
        const DWORD took = GetTickCount() - begun;
        Sleep(took > pause_ms ? took : pause_ms);
    }
    return 0;
}

void start_sampling(unsigned hertz)
{
    pause_ms = hertz > 0 && hertz < 1000 ? 1000 / hertz : 1;
    atomic_store(&is_on, true);
    stopper = CreateThread(NULL, 0, stop_again_and_again, NULL, 0, NULL);
}

void print_samples(void)
{
    if (atomic_exchange(&is_on, false) && stopper)
        WaitForSingleObject(stopper, INFINITE);
    fprintf(report, "  %llu stops, %llu with a seed\n", (unsigned long long)atomic_load(&stops),
            (unsigned long long)atomic_load(&seeds));
    fprintf(report,
            "documented: %llu of %llu walks hold the CLR's frames; %llu of threads that the runtime has moved\n",
            (unsigned long long)atomic_load(&agreed), (unsigned long long)atomic_load(&documented),
            (unsigned long long)atomic_load(&moved));
    print_counts();
}

void print_system(void)
{
    fprintf(report, "repaired: %llu contexts, %llu of them in a system call, %llu dead records\n",
            (unsigned long long)atomic_load(&repairs.contexts), (unsigned long long)atomic_load(&repairs.system_calls),
            (unsigned long long)atomic_load(&repairs.records));
}
