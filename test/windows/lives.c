/*
 * Threads at what a sampler meets in programs of others: fibers, threads that come and go, stacks that grow, procedure
 * calls that are queued to them, handlers of exceptions, code without unwind data. Each is suspended at any moment and
 * walked; the walk ends, nothing faults, nobody waits for ever, and it comes to the root. And function tables that a
 * compiler frees while they are asked for.
 *
 *     lives [SAMPLES]
 */
#include <windows.h>

#include <snapwalk/snapwalk.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "row.h"
#include "wine_state.h"

enum { TABLES = 500, CROWD = 200, STACK = 1 << 20, MOST = 1024, PERMILLE = 1000, CUTS = 32 };

static struct sw_walker base;
static struct sw_scratch scratch;
static struct sw_suspender suspender;
static size_t samples = 300;
static atomic_int state;   /* 1: runs, 2: is to end */
static atomic_uint rounds; /* of what the threads do */

/* ---- what threads do ---- */

static unsigned __attribute__((noinline)) recurse(volatile unsigned *depth, unsigned most)
{
    volatile char room[200];
    room[0] = (char)++*depth;
    return *depth < most ? recurse(depth, most) + (unsigned)room[0] : *depth;
}

static unsigned __attribute__((noinline)) work(unsigned most)
{
    volatile unsigned depth = 0;
    return recurse(&depth, most);
}

static DWORD WINAPI stay(void *arg)
{
    (void)arg;
    while (state == 1) {
        (void)work(20);
        rounds++;
        Sleep(1);
    }
    return 0;
}

/* Three stacks in one thread, in turn. */
static void *fibers[3];
static void CALLBACK run_fiber(void *arg)
{
    for (unsigned n = (unsigned)(uintptr_t)arg;;) {
        (void)work(5 * n);
        SwitchToFiber(fibers[(n + 1) % 3]);
    }
}

static DWORD WINAPI switch_fibers(void *arg)
{
    (void)arg;
    fibers[0] = ConvertThreadToFiber(NULL);
    for (uintptr_t n = 1; n < 3; n++)
        fibers[n] = CreateFiber(0, run_fiber, (void *)n);
    while (state == 1) {
        (void)work(10);
        SwitchToFiber(fibers[1]);
        rounds++;
    }
    DeleteFiber(fibers[1]);
    DeleteFiber(fibers[2]);
    ConvertFiberToThread();
    return 0;
}

static DWORD WINAPI live_shortly(void *arg)
{
    return (DWORD)work((unsigned)(uintptr_t)arg);
}

/* Threads that do hardly anything, one after the other, some of them at a time. */
static DWORD WINAPI come_and_go(void *arg)
{
    HANDLE threads[4];
    (void)arg;
    while (state == 1) {
        for (uintptr_t n = 0; n < 4; n++)
            threads[n] = CreateThread(NULL, 0, live_shortly, (void *)(n * 8), 0, NULL);
        WaitForMultipleObjects(4, threads, TRUE, INFINITE);
        for (unsigned n = 0; n < 4; n++)
            CloseHandle(threads[n]);
        rounds++;
    }
    return 0;
}

/* New stacks again and again, of which each page is met at its guard page first. */
static DWORD WINAPI grow(void *arg)
{
    (void)arg;
    while (state == 1) {
        const HANDLE thread =
            CreateThread(NULL, STACK, live_shortly, (void *)(uintptr_t)2000, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
        WaitForSingleObject(thread, INFINITE);
        CloseHandle(thread);
        rounds++;
    }
    return 0;
}

static void CALLBACK called(ULONG_PTR most)
{
    (void)work((unsigned)most);
    rounds++;
}

static DWORD WINAPI be_called(void *arg)
{
    (void)arg;
    while (state == 1) {
        QueueUserAPC(called, GetCurrentThread(), 10);
        QueueUserAPC(called, GetCurrentThread(), 20);
        SleepEx(1, TRUE);
    }
    return 0;
}

enum { RAISED = 0xe0001234 };

static LONG CALLBACK handle(EXCEPTION_POINTERS *raised)
{
    if (raised->ExceptionRecord->ExceptionCode != RAISED)
        return EXCEPTION_CONTINUE_SEARCH;
    (void)work(10);
    rounds++;
    return EXCEPTION_CONTINUE_EXECUTION;
}

static DWORD WINAPI raise_many(void *arg)
{
    (void)arg;
    while (state == 1)
        RaiseException(RAISED, 0, 0, NULL);
    return 0;
}

/* In bare.dll, which has no unwind data. */
static unsigned (*bare_work)(volatile unsigned *left, unsigned seed);
static DWORD WINAPI work_bare(void *arg)
{
    (void)arg;
    for (unsigned seed = 1; state == 1; rounds++) {
        volatile unsigned left = 16;
        seed = bare_work(&left, seed);
    }
    return 0;
}

/* ---- samples ---- */

/* wines: not clean, in a state of Wine's own that Windows does not have (wine_state.h). */
struct sums {
    size_t walks, clean, wines, gone, refused;
    size_t of[64]; /* by how they ended */
};

static bool is_clean(enum sw_stop stop)
{
    return stop == SW_STOP_ROOT || stop == SW_STOP_ROOT_ZERO || stop == SW_STOP_ROOT_BASE;
}

static void sample(uint64_t id, struct sums *sums)
{
    struct sw_walker walker = base;
    struct sw_walk walk;
    struct sw_regs regs;
    uint64_t word = 0;
    const enum sw_status status = suspender.suspend(suspender.arg, id, &regs);
    sums->gone += status == SW_E_GONE;
    sums->refused += status != SW_OK && status != SW_E_GONE;
    if (status != SW_OK)
        return;
    (void)!sw_self_thread_stack(id, &walker.stack_begin, &walker.stack_end);
    walker.memory.window = sw_self_window(&regs, walker.stack_begin, walker.stack_end);
    sw_walk_start(&walk, &walker, &scratch, &regs, true);
    while (sw_walk_next(&walk))
        ;
    (void)!walker.memory.read(walker.memory.arg, sw_regs_sp(&regs), &word, sizeof word);
    (void)!suspender.resume(suspender.arg, id);
    (void)sw_walk_prepare(&base, &scratch, SW_WALK_BUDGET_UNLIMITED);
    sums->walks++;
    sums->clean += is_clean(walk.stop);
    if (!is_clean(walk.stop) && walk.stop != SW_STOP_BUDGET)
        sums->wines += wine_state_of(sw_regs_pc(&regs), word) != WINE_NONE;
    sums->of[(unsigned)walk.stop % 64]++;
}

static void sample_all(struct sums *sums)
{
    static uint64_t ids[MOST];
    size_t count = 0;
    if (sw_self_threads(ids, MOST, &count) != SW_OK)
        return;
    for (size_t i = 0; i < count && i < MOST; i++)
        if (ids[i] != GetCurrentThreadId())
            sample(ids[i], sums);
}

/* ---- function tables ---- */

enum { JIT_BYTES = 1 << 16, JIT_EACH = 64, JIT_COUNT = 500, JIT_INFO = JIT_BYTES / 2, PAGES = 2 };

/*
 * A compiler that frees its table as soon as the system does not have it any more, while somebody else asks for it.
 * Whose answer is a table that is gone finds what is there instead, or nothing, and faults nowhere.
 */
static DWORD WINAPI compile(void *code)
{
    for (; state == 1; rounds++) {
        RUNTIME_FUNCTION *table = VirtualAlloc(NULL, PAGES * 4096, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
        for (DWORD n = 0; n < JIT_COUNT; n++)
            table[n] = (RUNTIME_FUNCTION){ n * JIT_EACH, n * JIT_EACH + JIT_EACH / 2, JIT_INFO };
        if (RtlAddFunctionTable(table, JIT_COUNT, (DWORD64)(uintptr_t)code))
            RtlDeleteFunctionTable(table);
        VirtualFree(table, 0, MEM_RELEASE);
    }
    return 0;
}

static void table_rows(struct sw_images *images)
{
    uint8_t *code = VirtualAlloc(NULL, JIT_BYTES, MEM_COMMIT | MEM_RESERVE, PAGE_EXECUTE_READWRITE);
    const uint64_t begin = (uint64_t)(uintptr_t)code;
    size_t added = 0, absent = 0, others = 0;
    memcpy(code + JIT_INFO, (const uint8_t[]){ 1, 0, 0, 0 }, 4);
    state = 1;
    rounds = 0;
    const HANDLE thread = CreateThread(NULL, 0, compile, code, 0, NULL);
    for (unsigned n = 0; n < TABLES; n++) {
        const enum sw_status status = sw_self_add_functions(images, "jit", begin, begin + JIT_BYTES);
        if (status == SW_OK)
            (void)!sw_images_remove(images, begin);
        added += status == SW_OK;
        absent += status == SW_E_NOT_FOUND;
        others += status != SW_OK && status != SW_E_NOT_FOUND;
    }
    state = 2;
    const bool ended = WaitForSingleObject(thread, 60000) == WAIT_OBJECT_0;
    CloseHandle(thread);
    printf("# a table that comes and goes, %u times: found %zu times, absent %zu times, refused %zu times\n",
           (unsigned)rounds, added, absent, others);
    row("a compiler's table that is freed while it is asked for faults nowhere", ended && added + absent > 0);
}

/*
 * least: how many of 1,000 walks come to a root, or began in a state of Wine's own, or are cut by their budget, which
 * is so until that code was prepared: a few times, however many walks there are. all: every thread is looked at, and
 * not only the one that begins.
 */
static const struct kind {
    const char *name;
    LPTHREAD_START_ROUTINE run;
    unsigned threads;
    bool all;
    unsigned least;
} kinds[] = {
    { "200 threads that wait and work", stay, CROWD, true, 999 },
    { "a thread with fibers", switch_fibers, 1, false, 990 },
    { "threads that come and go", come_and_go, 2, true, 980 },
    { "stacks that grow", grow, 2, true, 980 },
    { "a thread with procedure calls queued to it", be_called, 1, false, 990 },
    { "a thread whose exceptions a vectored handler handles", raise_many, 1, false, 990 },
    { "a thread in a library without unwind data", work_bare, 1, false, 990 },
};

static void sample_kind(const struct kind *kind)
{
    static HANDLE threads[CROWD];
    struct sums sums = { 0 };
    DWORD id = 0;
    bool ended = true;
    state = 1;
    rounds = 0;
    for (unsigned n = 0; n < kind->threads; n++)
        threads[n] = CreateThread(NULL, 0, kind->run, NULL, 0, &id);
    while (rounds == 0)
        Sleep(1);
    while (sums.walks < samples && sums.gone < 100 * samples) {
        if (kind->all)
            sample_all(&sums);
        else
            sample(id, &sums);
        if (sums.walks % 16 == 0)
            Sleep(0);
    }
    state = 2;
    for (unsigned n = 0; n < kind->threads; n++) {
        ended &= WaitForSingleObject(threads[n], 60000) == WAIT_OBJECT_0;
        CloseHandle(threads[n]);
    }
    printf("# %s: %zu walks, %zu to the root, %zu in a state of Wine's own, %zu threads were gone, %zu refused, "
           "%u rounds;",
           kind->name, sums.walks, sums.clean, sums.wines, sums.gone, sums.refused, (unsigned)rounds);
    for (unsigned i = 0; i < 64; i++)
        if (sums.of[i])
            printf(" %zu %s", sums.of[i], sw_stop_name((enum sw_stop)i));
    printf("\n");
    const size_t cut = sums.of[SW_STOP_BUDGET];
    row(kind->name, ended && sums.refused == 0 && cut <= CUTS &&
                        (sums.clean + sums.wines + cut) * PERMILLE >= sums.walks * kind->least);
}

int main(int argc, char **argv)
{
    struct sw_images *images;
    struct sw_images_follower *follower;
    struct sw_self_suspender *self;
    samples = argc > 1 ? (size_t)atoll(argv[1]) : samples;
    if (sw_images_create(NULL, &images) || sw_images_follow_self(images, &follower) ||
        sw_self_walker(&base, NULL, images) || sw_cache_create(NULL, 1 << 12, &base.cache) ||
        sw_analysis_cache_create(NULL, 4 << 20, &base.analysis_cache) || sw_self_suspender_create(NULL, 0, 1, &self))
        return 2;
    const HMODULE bare = LoadLibraryA("bare.dll");
    if (!bare)
        return 3;
    bare_work = (unsigned (*)(volatile unsigned *, unsigned))(void *)GetProcAddress(bare, "bare_work");
    base.budget = SW_WALK_BUDGET_SUSPENDED;
    suspender = sw_self_get_suspender(self);
    void *handler = AddVectoredExceptionHandler(1, handle);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        sample_kind(&kinds[i]);
    RemoveVectoredExceptionHandler(handler);
    table_rows(images);
    sw_self_suspender_destroy(self);
    sw_images_unfollow(follower);
    return failed != 0;
}
