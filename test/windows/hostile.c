/*
 * Walks where something goes wrong meanwhile: a thread that is ended while it stands suspended, and a module
 * that comes and goes while frames are in it.
 */
#include <windows.h>

#include <snapwalk/snapwalk.h>

#include <stdatomic.h>
#include <string.h>

#include "row.h"

enum { ROUNDS = 200, MODULE_ROUNDS = 3000 };

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
    sw_self_suspender_destroy(self);
    sw_images_unfollow(follower);
    return failed != 0;
}
