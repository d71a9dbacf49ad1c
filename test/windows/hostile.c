/*
 * Walks where something goes wrong meanwhile: a thread that is ended while it stands suspended, a module that comes
 * and goes while frames are in it, a stack that has overflowed.
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

int main(void)
{
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
    sw_self_suspender_destroy(self);
    sw_images_unfollow(follower);
    return failed != 0;
}
