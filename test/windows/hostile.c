/*
 * Walks where something goes wrong meanwhile: a thread that is ended while it stands suspended, a module that comes
 * and goes while frames are in it, a stack that has overflowed or has a guard page in the middle, a debugger.
 */
#include <windows.h>

#include <snapwalk/snapwalk.h>

#include <stdatomic.h>
#include <string.h>

#include "row.h"
#include "system_walk.h"

enum { ROUNDS = 200, MODULE_ROUNDS = 3000, SMALL_STACK = 1 << 20, BIG_FRAME = 3500 };

static struct sw_walker walker;
static atomic_int state; /* 1: runs, 2: is to end */

static bool count_frame(void *arg, const struct sw_frame *frame)
{
    (void)frame;
    ++*(size_t *)arg;
    return true;
}

static enum sw_stop walk(struct sw_scratch *scratch, const struct sw_walker *from, const struct sw_regs *regs,
                         size_t *count)
{
    *count = 0;
    return sw_walk_all(from, scratch, regs, count_frame, count);
}

/* ---- a thread that is ended ---- */

static DWORD WINAPI spin(void *arg)
{
    (void)arg;
    for (state = 1; state == 1;) {
    }
    return 0;
}

/* Its stack may be gone or not: the walk ends, and nobody waits for the thread. */
static void ended_rows(const struct sw_suspender *s)
{
    static struct sw_scratch scratch;
    size_t stopped = 0, gone = 0, count;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct sw_walker from = walker;
        struct sw_regs regs;
        DWORD id;
        state = 0;
        const HANDLE thread = CreateThread(NULL, 0, spin, NULL, 0, &id);
        while (state == 0)
            Sleep(0);
        if (s->suspend(s->arg, id, &regs) == SW_OK) {
            (void)!sw_self_thread_stack(id, &from.stack_begin, &from.stack_end);
            from.memory.window = (struct sw_window){ 0 }; /* what a window says nobody would ask again */
            stopped += TerminateThread(thread, 0) != 0;
            (void)walk(&scratch, &from, &regs, &count);
            (void)!s->resume(s->arg, id);
        }
        gone += WaitForSingleObject(thread, 10000) == WAIT_OBJECT_0 && s->suspend(s->arg, id, &regs) != SW_OK;
        CloseHandle(thread);
    }
    row("a thread that is ended while it stands suspended is walked without a fault", stopped == ROUNDS);
    row("and it is gone then, and not suspended again", gone == ROUNDS);
}

/* ---- a module that goes ---- */

static DWORD WINAPI load(void *arg)
{
    (void)arg;
    for (state = 1; state == 1;) {
        const HMODULE module = LoadLibraryA("winmm.dll");
        if (module)
            FreeLibrary(module);
    }
    return 0;
}

/* Stacks that name functions of a module, walked while it comes and goes: no fault, whatever they lead to. */
static void module_rows(void)
{
    static struct sw_scratch scratch;
    static uint64_t words[512];
    const HMODULE module = LoadLibraryA("winmm.dll");
    const uint64_t code = (uint64_t)(uintptr_t)GetProcAddress(module, "timeGetTime");
    FreeLibrary(module);
    state = 0;
    const HANDLE thread = CreateThread(NULL, 0, load, NULL, 0, NULL);
    while (state == 0)
        Sleep(0);
    size_t walks = 0;
    for (unsigned i = 0; i < MODULE_ROUNDS; i++) {
        struct sw_regs regs = { .machine = SW_MACHINE_X64 };
        struct sw_walker from = walker;
        size_t count;
        for (unsigned k = 0; k < 512; k++)
            words[k] = code + k;
        sw_regs_set(&regs, SW_X64_RIP, code + i % 64);
        sw_regs_set(&regs, SW_X64_RSP, (uint64_t)(uintptr_t)words);
        sw_regs_set(&regs, SW_X64_RBP, (uint64_t)(uintptr_t)words);
        from.stack_begin = (uint64_t)(uintptr_t)words;
        from.stack_end = from.stack_begin + sizeof words;
        from.memory.window = (struct sw_window){ from.stack_begin, from.stack_end, (const uint8_t *)words };
        (void)walk(&scratch, &from, &regs, &count);
        walks += count != 0;
    }
    state = 2;
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
    row("a module that comes and goes is walked through without a fault", code != 0 && walks == MODULE_ROUNDS);
}

/* ---- a stack that has overflowed ---- */

static struct {
    HANDLE faulted, walked;
    struct sw_regs regs;
    int depth;
    DWORD64 top; /* of the stack, as a called function finds it */
} overflow;

static int __attribute__((noinline)) recurse(volatile int *depth)
{
    volatile char frame[BIG_FRAME];
    frame[0] = (char)++*depth;
    return *depth < 0 ? 0 : recurse(depth) + frame[0];
}

static void end_thread(void)
{
    ExitThread(0);
}

/* All that fits: a page is left of the stack, and Wine does not make it more (SetThreadStackGuarantee). */
static LONG CALLBACK hand_over(EXCEPTION_POINTERS *raised)
{
    CONTEXT *context = raised->ContextRecord;
    if (raised->ExceptionRecord->ExceptionCode != EXCEPTION_STACK_OVERFLOW)
        return EXCEPTION_CONTINUE_SEARCH;
    (void)!sw_context_load(SW_CONTEXT_WIN32, SW_MACHINE_X64, context, sizeof *context, &overflow.regs);
    SetEvent(overflow.faulted);
    WaitForSingleObject(overflow.walked, INFINITE);
    context->Rip = (DWORD64)(uintptr_t)end_thread;
    context->Rsp = overflow.top;
    return EXCEPTION_CONTINUE_EXECUTION;
}

static DWORD WINAPI run_over(void *arg)
{
    (void)arg;
    overflow.top = (DWORD64)(uintptr_t)__builtin_frame_address(0) / 16 * 16 - 8;
    return (DWORD)recurse(&overflow.depth);
}

/* How many of the frames are in a function, of which the first instruction is known. */
static int count_in(const struct chain *chain, uint64_t function)
{
    int count = 0;
    for (size_t i = 0; i < chain->count; i++) {
        DWORD64 base;
        const RUNTIME_FUNCTION *entry = RtlLookupFunctionEntry(chain->pc[i] - (i != 0), &base, NULL);
        count += entry && base + entry->BeginAddress == function;
    }
    return count;
}

static void overflow_rows(const struct sw_suspender *s)
{
    static struct sw_scratch scratch;
    static struct chain seeded, suspended;
    struct sw_walker from = walker;
    struct sw_regs regs;
    DWORD id;
    overflow.faulted = CreateEventA(NULL, FALSE, FALSE, NULL);
    overflow.walked = CreateEventA(NULL, FALSE, FALSE, NULL);
    void *handler = AddVectoredExceptionHandler(1, hand_over);
    const HANDLE thread = CreateThread(NULL, SMALL_STACK, run_over, NULL, STACK_SIZE_PARAM_IS_A_RESERVATION, &id);
    const bool faulted = WaitForSingleObject(overflow.faulted, 60000) == WAIT_OBJECT_0;
    (void)!sw_self_thread_stack(id, &from.stack_begin, &from.stack_end);
    from.memory.window = (struct sw_window){ 0 };
    const bool exact = faulted && same_as_system(&from, &scratch, &overflow.regs, &seeded);
    const int depth = count_in(&seeded, (uint64_t)(uintptr_t)recurse);
    row("where a stack overflowed, another thread walks it from the fault to the root",
        exact && overflow.depth > SMALL_STACK / BIG_FRAME / 2 &&
            (depth == overflow.depth || depth == overflow.depth + 1));
    bool inside = faulted && s->suspend(s->arg, id, &regs) == SW_OK;
    inside = inside && same_as_system(&from, &scratch, &regs, &suspended) && suspended.count > seeded.count;
    (void)!s->resume(s->arg, id);
    row("and from the handler, through the exception's dispatch", inside);
    SetEvent(overflow.walked);
    row("and the thread ends as it was to", WaitForSingleObject(thread, 60000) == WAIT_OBJECT_0);
    RemoveVectoredExceptionHandler(handler);
    CloseHandle(thread);
}

/* ---- a guard page in the middle ---- */

enum { DEEP = 24, PAGE = 4096 };

/*
 * Of one stack: where its page is that is guarded, and what the walks on the thread itself came to. These walks have no
 * budget: where a word cannot be read other sources are asked for the caller, and a budget would name itself then.
 */
static struct {
    uint64_t page;
    struct sw_engine engine;
    size_t whole, guarded;
    bool is_cut, is_kept, is_kept_by_snapshot;
} middle;

static void guard(bool on)
{
    DWORD before;
    VirtualProtect((void *)(uintptr_t)middle.page, PAGE, PAGE_READWRITE | (on ? PAGE_GUARD : 0), &before);
}

static bool is_guarded(void)
{
    MEMORY_BASIC_INFORMATION piece;
    return VirtualQuery((const void *)(uintptr_t)middle.page, &piece, sizeof piece) == sizeof piece &&
           (piece.Protect & PAGE_GUARD);
}

static size_t walk_own(enum sw_stop *stop)
{
    static struct sw_scratch scratch;
    struct sw_walker own;
    struct sw_regs regs;
    size_t count = 0;
    if (sw_self_walker(&own, NULL, walker.images) != SW_OK)
        return 0;
    own.budget = SW_WALK_BUDGET_UNLIMITED;
    sw_self_capture(&regs);
    *stop = walk(&scratch, &own, &regs, &count);
    return count;
}

static HRESULT STDMETHODCALLTYPE ignore(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame, ULONG32 size,
                                        BYTE context[], void *arg)
{
    (void)function, (void)ip, (void)frame, (void)size, (void)context, (void)arg;
    return S_OK;
}

/* Of the thread that is deep, by itself or by another. True: the guard page is still there, and cut the walk. */
static bool snapshot_is_cut(ThreadID id)
{
    static struct sw_scratch scratch;
    (void)!sw_snapshot(&middle.engine, &scratch, id, ignore, 0, NULL, NULL, 0);
    return is_guarded() && middle.engine.stop == SW_STOP_UNREADABLE;
}

static void add_own_stack(ThreadID id)
{
    struct sw_thread thread = { .id = id, .os_id = sw_self_thread() };
    if (sw_self_stack(&thread.stack_begin, &thread.stack_end) == SW_OK)
        (void)!sw_threads_add(middle.engine.threads, &thread);
}

/* Frames are smaller than pages: a return address or what else is loaded lies in each page. */
static int __attribute__((noinline)) go_deep(volatile int *left)
{
    volatile char frame[BIG_FRAME];
    enum sw_stop stop = SW_STOP_NONE;
    frame[0] = (char)--*left;
    if (*left == DEEP / 2)
        middle.page = (uint64_t)(uintptr_t)frame / PAGE * PAGE;
    if (*left > 0)
        return go_deep(left) + frame[0];
    middle.whole = walk_own(&stop);
    guard(true);
    middle.guarded = is_clean(stop) ? walk_own(&stop) : 0;
    middle.is_cut = stop == SW_STOP_UNREADABLE;
    middle.is_kept = is_guarded();
    add_own_stack(DEEP);
    middle.is_kept_by_snapshot = snapshot_is_cut(0);
    for (state = 1; state == 1;) {
    }
    guard(false);
    return frame[0];
}

static DWORD WINAPI stand_deep(void *arg)
{
    volatile int left = DEEP;
    (void)arg;
    return (DWORD)go_deep(&left);
}

static void guard_rows(const struct sw_suspender *s)
{
    static struct sw_scratch scratch;
    struct sw_walker from = walker;
    struct sw_regs regs;
    size_t cut_count, count;
    DWORD id;
    from.budget = SW_WALK_BUDGET_UNLIMITED;
    middle.engine = (struct sw_engine){ .walker = &from,
                                        .suspender = s,
                                        .options = SW_ENGINE_OWN_PROCESS,
                                        .runtime = SW_RUNTIME_READY,
                                        .event_mask = COR_PRF_ENABLE_STACK_SNAPSHOT,
                                        .loadable = sw_self_loadable };
    (void)!sw_threads_create(NULL, NULL, NULL, &middle.engine.threads);
    state = 0;
    const HANDLE thread = CreateThread(NULL, 0, stand_deep, NULL, 0, &id);
    while (state == 0)
        Sleep(0);
    row("a guard page in the middle of the own stack ends a walk there, and is left",
        middle.whole > DEEP && middle.guarded > DEEP / 3 && middle.guarded < middle.whole && middle.is_cut &&
            middle.is_kept);
    row("a snapshot of the own thread ends there, too, and leaves it", middle.is_kept_by_snapshot);
    row("and one of another thread", snapshot_is_cut(DEEP));
    const bool stands = s->suspend(s->arg, id, &regs) == SW_OK;
    (void)!sw_self_thread_stack(id, &from.stack_begin, &from.stack_end);
    from.memory.window = (struct sw_window){ 0 };
    const enum sw_stop cut = stands ? walk(&scratch, &from, &regs, &cut_count) : SW_STOP_NONE;
    from.memory.window = sw_self_window(&regs, from.stack_begin, from.stack_end);
    const enum sw_stop by_window = stands ? walk(&scratch, &from, &regs, &cut_count) : SW_STOP_NONE;
    const bool kept = is_guarded() && by_window == cut;
    guard(false);
    from.memory.window = (struct sw_window){ 0 };
    const enum sw_stop end = stands ? walk(&scratch, &from, &regs, &count) : SW_STOP_NONE;
    row("so does a walk of it while it stands, with a window and without, and without it the walk comes to the root",
        stands && cut == SW_STOP_UNREADABLE && kept && is_clean(end) && cut_count > DEEP / 3 && cut_count < count);
    state = 2;
    (void)!s->resume(s->arg, id);
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
    (void)!sw_threads_remove(middle.engine.threads, DEEP);
    sw_threads_destroy(middle.engine.threads);
}

/* ---- a debugger ---- */

enum { DEBUGGER_MS = 1000 };

/* As a process of its own. 0: it was attached, saw the process stop, and let it go. */
static int debug(DWORD process)
{
    DEBUG_EVENT event;
    bool stopped = false;
    if (!DebugActiveProcess(process) || !DebugSetProcessKillOnExit(FALSE))
        return 3;
    for (const DWORD begin = GetTickCount(); GetTickCount() - begin < DEBUGGER_MS;) {
        if (!WaitForDebugEvent(&event, DEBUGGER_MS / 10))
            continue;
        const bool trap = event.dwDebugEventCode == EXCEPTION_DEBUG_EVENT &&
                          event.u.Exception.ExceptionRecord.ExceptionCode == EXCEPTION_BREAKPOINT;
        stopped |= trap;
        ContinueDebugEvent(event.dwProcessId, event.dwThreadId, trap ? DBG_CONTINUE : DBG_EXCEPTION_NOT_HANDLED);
    }
    return DebugActiveProcessStop(process) && stopped ? 0 : 4;
}

static HANDLE start_debugger(void)
{
    char name[MAX_PATH], command[MAX_PATH + 32];
    STARTUPINFOA how = { .cb = sizeof how };
    PROCESS_INFORMATION debugger;
    GetModuleFileNameA(NULL, name, sizeof name);
    snprintf(command, sizeof command, "\"%s\" debug %lu", name, GetCurrentProcessId());
    if (!CreateProcessA(NULL, command, NULL, NULL, FALSE, 0, NULL, NULL, &how, &debugger))
        return NULL;
    CloseHandle(debugger.hThread);
    return debugger.hProcess;
}

static void debugger_rows(const struct sw_suspender *s)
{
    static struct sw_scratch scratch;
    struct sw_walker from = walker;
    size_t samples = 0, good = 0, debugged = 0, count;
    DWORD id, code = 1;
    state = 0;
    const HANDLE thread = CreateThread(NULL, 0, spin, NULL, 0, &id);
    while (state == 0)
        Sleep(0);
    (void)!sw_self_thread_stack(id, &from.stack_begin, &from.stack_end);
    from.memory.window = (struct sw_window){ 0 };
    const HANDLE debugger = start_debugger();
    for (; debugger && WaitForSingleObject(debugger, 1) == WAIT_TIMEOUT; samples++) {
        struct sw_regs regs;
        if (s->suspend(s->arg, id, &regs) != SW_OK)
            continue;
        debugged += IsDebuggerPresent() != 0;
        good += is_clean(walk(&scratch, &from, &regs, &count)) && count > 1;
        (void)!s->resume(s->arg, id);
    }
    (void)GetExitCodeProcess(debugger, &code);
    state = 2;
    const bool ended = WaitForSingleObject(thread, 60000) == WAIT_OBJECT_0;
    printf("# %zu samples, %zu with a debugger, %zu to the root, the debugger's status %lu\n", samples, debugged, good,
           code);
    row("while a debugger attaches, watches and leaves, suspended threads are walked to their roots",
        code == 0 && debugged > 10 && good == samples);
    row("and go on after it", ended);
    CloseHandle(thread);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "debug") == 0)
        return debug(strtoul(argv[2], NULL, 10));
    struct sw_images *images;
    struct sw_images_follower *follower;
    struct sw_self_suspender *self;
    if (sw_images_create(NULL, &images) || sw_images_follow_self(images, &follower) ||
        sw_self_walker(&walker, NULL, images) || sw_cache_create(NULL, 1 << 12, &walker.cache) ||
        sw_self_suspender_create(NULL, 0, 1, &self))
        return 2;
    const struct sw_suspender s = sw_self_get_suspender(self);
    ended_rows(&s);
    module_rows();
    overflow_rows(&s);
    guard_rows(&s);
    debugger_rows(&s);
    sw_self_suspender_destroy(self);
    sw_images_unfollow(follower);
    return failed != 0;
}
