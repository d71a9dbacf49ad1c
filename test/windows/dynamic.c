/*
 * Code that a JIT compiler has given to the system, by each of its three ways: found by sw_self_add_functions, it is
 * walked as the system walks it, from a suspended thread in it and from a walk out of what it calls. Each such function
 * has a frame of its own size, which nothing but its unwind data tells: the walks have no analysis.
 */
#include <windows.h>

#include <snapwalk/snapwalk.h>

#include <stdlib.h>
#include <string.h>

#include "row.h"
#include "system_walk.h"

enum { PAGE = 4096, COUNT = 12, EACH = 64, INFO = 2048, SAMPLES = 2000 };

typedef DWORD NTAPI add_growable(void **, RUNTIME_FUNCTION *, DWORD, DWORD, ULONG_PTR, ULONG_PTR);

static struct sw_images *images;
static struct sw_walker walker;
static struct sw_scratch scratch;
static RUNTIME_FUNCTION entries[3][COUNT];
static uint8_t *jit[3];
static struct chain seeded;
static bool seeded_same;

/* How many frames are in code of one of the compilers. */
static size_t count_in(const struct chain *chain, const uint8_t *code)
{
    size_t count = 0;
    for (size_t i = 0; i < chain->count; i++)
        count += chain->pc[i] - (uint64_t)(uintptr_t)code < PAGE;
    return count;
}

/* push rbx; sub rsp,8*n; mov rbx,rcx; jmp or call on; add rsp,8*n; pop rbx; ret. rcx: what the last one calls. */
static void compile(uint8_t *code, RUNTIME_FUNCTION *table)
{
    for (unsigned i = 0; i < COUNT; i++) {
        uint8_t *at = code + i * EACH, *info = code + INFO + i * 8;
        const uint8_t slots = (uint8_t)(4 + 2 * (i % 6));
        const uint8_t head[] = { 0x53, 0x48, 0x83, 0xec, (uint8_t)(8 * slots), 0x48, 0x89, 0xcb };
        const uint8_t tail[] = { 0x48, 0x83, 0xc4, (uint8_t)(8 * slots), 0x5b, 0xc3 };
        const uint8_t unwind[] = { 1, 5, 2, 0, 5, (uint8_t)((slots - 1) << 4 | 2), 1, 0x30 };
        const uint8_t call_on[] = { 0xe8, EACH - 13, 0, 0, 0 }, call_out[] = { 0xff, 0xd3, 0x90, 0x90, 0x90 };
        memcpy(at, head, sizeof head);
        memcpy(at + 8, i + 1 < COUNT ? call_on : call_out, 5);
        memcpy(at + 13, tail, sizeof tail);
        memcpy(info, unwind, sizeof unwind);
        table[i] = (RUNTIME_FUNCTION){ i * EACH, i * EACH + 13 + sizeof tail, INFO + i * 8 };
    }
}

static RUNTIME_FUNCTION *CALLBACK look_up(DWORD64 pc, void *context)
{
    const DWORD64 at = (pc - (DWORD64)(uintptr_t)jit[1]) / EACH;
    return at < COUNT && (pc - (DWORD64)(uintptr_t)jit[1]) % EACH < 19 ? (RUNTIME_FUNCTION *)context + at : NULL;
}

static bool give(unsigned way)
{
    const DWORD64 base = (DWORD64)(uintptr_t)jit[way];
    static void *handle;
    if (way == 0)
        return RtlAddFunctionTable(entries[way], COUNT, base);
    if (way == 1)
        return RtlInstallFunctionTableCallback(base | 3, base, PAGE, look_up, entries[way], NULL);
    add_growable *add =
        (add_growable *)(void *)GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "RtlAddGrowableFunctionTable");
    return add && add(&handle, entries[way], COUNT, COUNT, base, base + PAGE) == 0;
}

/* ---- what the compiled code calls ---- */

static void __attribute__((noinline)) walk_here(void)
{
    struct sw_regs regs;
    sw_self_capture(&regs);
    seeded_same = same_as_system(&walker, &scratch, &regs, &seeded);
}

static volatile LONG state; /* 1: runs, 2: is to end */
static void nothing(void)
{
}

typedef void compiled(void (*called)(void));

static DWORD WINAPI run(void *code)
{
    for (state = 1; state == 1;)
        ((compiled *)code)(nothing);
    return 0;
}

/* A thread that runs compiled code, stopped at any instruction of it. */
static void suspended_rows(const struct sw_suspender *s, const char *name, uint8_t *code)
{
    static struct chain chain;
    struct sw_walker from = walker;
    size_t same = 0, inside = 0;
    DWORD id;
    state = 0;
    const HANDLE thread = CreateThread(NULL, 0, run, code, 0, &id);
    while (state == 0)
        Sleep(0);
    (void)!sw_self_thread_stack(id, &from.stack_begin, &from.stack_end);
    from.memory.window = (struct sw_window){ 0 };
    for (unsigned i = 0; i < SAMPLES; i++) {
        struct sw_regs regs;
        if (s->suspend(s->arg, id, &regs) != SW_OK)
            continue;
        same += same_as_system(&from, &scratch, &regs, &chain);
        inside += count_in(&chain, code) != 0;
        (void)!s->resume(s->arg, id);
    }
    state = 2;
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
    printf("# %s: %zu of %d walks of the suspended thread as the system's, %zu through compiled code\n", name, same,
           SAMPLES, inside);
    row("a thread suspended in it is walked as the system does", same == SAMPLES && inside > SAMPLES / 2);
}

int main(void)
{
    static const char *const names[] = { "RtlAddFunctionTable", "RtlInstallFunctionTableCallback",
                                         "RtlAddGrowableFunctionTable" };
    struct sw_self_suspender *self;
    if (sw_images_create(NULL, &images) || sw_images_add_self(images) || sw_self_walker(&walker, NULL, images) ||
        sw_self_suspender_create(NULL, 0, 1, &self))
        return 2;
    const struct sw_suspender s = sw_self_get_suspender(self);
    walker.flags = SW_WALK_NO_ANALYSIS | SW_WALK_NO_FRAME_POINTER;
    for (unsigned way = 0; way < 3; way++) {
        jit[way] = VirtualAlloc(NULL, PAGE, MEM_COMMIT | MEM_RESERVE, PAGE_EXECUTE_READWRITE);
        if (!jit[way])
            return 2;
        compile(jit[way], entries[way]);
        const uint64_t begin = (uint64_t)(uintptr_t)jit[way], end = begin + PAGE;
        printf("# %s\n", names[way]);
        row("before the system knows of it nothing is found",
            sw_self_add_functions(images, names[way], begin, end) == SW_E_NOT_FOUND);
        if (!give(way)) {
            printf("ok - %s # SKIP this system refuses it\n", names[way]);
            continue;
        }
        ((compiled *)(void *)jit[way])(walk_here);
        row("unregistered it is walked otherwise", !seeded_same);
        row("it is found", sw_self_add_functions(images, names[way], begin, end) == SW_OK);
        ((compiled *)(void *)jit[way])(walk_here);
        row("a walk out of it is the system's own, through each frame",
            seeded_same && count_in(&seeded, jit[way]) == COUNT);
        suspended_rows(&s, names[way], jit[way]);
    }
    sw_self_suspender_destroy(self);
    sw_images_destroy(images);
    return failed != 0;
}
