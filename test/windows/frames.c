/*
 * Native frames at random instructions, beside RtlLookupFunctionEntry and RtlVirtualUnwind: code of gcc with recursion,
 * alloca, big frames, setjmp, qsort and, by workload.cc, exceptions. It is built at several levels of optimisation.
 * And what a sampler needs beside that: locks of a suspended thread are in nobody's way, and no walk takes long.
 *
 * A worker knows the frame that called work_forever, and every walk has to go through it, to the root. Where the
 * system's walk differs the reason is told from the code at the leaf, or it counts as unexplained.
 *
 *     frames SAMPLES LOCK_SAMPLES
 */
#include <windows.h>

#include <snapwalk/snapwalk.h>

#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "row.h"
#include "system_walk.h"
#include "wine_state.h"

enum { ENTRIES = 1 << 14, PAGE = 4096, WANTED_US = 50, MANY_ANEW = 4 };

static struct sw_images *images;
static struct sw_cache *cache;
static struct sw_analysis_cache *analysis_cache;
static struct sw_scratch scratch;
static struct chain ours, theirs;

void throw_some(unsigned seed); /* workload.cc */

static struct {
    atomic_uint rounds;
    atomic_int state; /* 1: ready, 2: end */
    uint64_t base_pc;
    DWORD id;
    HANDLE thread;
} worker;

/* ---- what the worker does ---- */

static int compare(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

static unsigned __attribute__((noinline)) recurse(unsigned depth, unsigned seed)
{
    volatile char room[128];
    room[seed % sizeof room] = (char)seed;
    return depth ? recurse(depth - 1, seed * 2654435761u) + (unsigned)room[0] : seed;
}

static unsigned __attribute__((noinline)) use_alloca(size_t size)
{
    volatile char *room = __builtin_alloca(size);
    for (size_t i = 0; i < size; i += PAGE)
        room[i] = (char)i;
    return (unsigned)room[0];
}

static unsigned __attribute__((noinline)) use_big_frame(unsigned seed)
{
    volatile char room[5 * PAGE];
    room[seed % sizeof room] = 1;
    return (unsigned)room[(seed + 1) % sizeof room] + recurse(2, seed);
}

static jmp_buf back;
static void __attribute__((noinline)) jump(unsigned depth)
{
    if (depth != 0)
        jump(depth - 1);
    else if (worker.state != 0)
        longjmp(back, 1);
    worker.rounds += depth; /* no tail call */
}

static void __attribute__((noinline)) jump_back(unsigned depth)
{
    if (setjmp(back) == 0)
        jump(depth);
}

static unsigned __attribute__((noinline)) work(unsigned seed)
{
    unsigned numbers[64];
    for (unsigned i = 0; i < 64; i++)
        numbers[i] = seed = seed * 1664525u + 1013904223u;
    qsort(numbers, 64, sizeof numbers[0], compare);
    jump_back(seed % 7);
    if (seed % 16 == 0)
        throw_some(seed);
    free(malloc(seed % 5000 + 1));
    return recurse(seed % 20, seed) + use_alloca(seed % 30000 + 16) + use_big_frame(seed) + numbers[0];
}

static void __attribute__((noinline)) work_forever(void)
{
    worker.base_pc = (uint64_t)(uintptr_t)__builtin_return_address(0);
    worker.state = 1;
    for (unsigned seed = 1; worker.state == 1; worker.rounds++)
        seed = work(seed);
}

static DWORD WINAPI thread_main(void *arg)
{
    (void)arg;
    work_forever();
    return worker.rounds; /* no tail call */
}

static void load_and_free(unsigned n)
{
    static const char *const names[] = { "version.dll", "winmm.dll" };
    const HMODULE module = LoadLibraryA(names[n % 2]);
    if (module)
        FreeLibrary(module);
}

static DWORD WINAPI lock_main(void *arg)
{
    void *blocks[16];
    worker.state = 1;
    for (unsigned n = 0; worker.state == 1; n++) {
        for (unsigned i = 0; i < 16; i++)
            blocks[i] = HeapAlloc(GetProcessHeap(), 0, 16 + n % 4096);
        for (unsigned i = 0; i < 16; i++)
            HeapFree(GetProcessHeap(), 0, blocks[i]);
        if (arg)
            load_and_free(n);
        worker.rounds++;
    }
    return 0;
}

static void start(LPTHREAD_START_ROUTINE function, void *arg)
{
    worker.state = 0;
    worker.thread = CreateThread(NULL, 0, function, arg, 0, &worker.id);
    while (worker.state == 0)
        Sleep(1);
}

static void end(void)
{
    worker.state = 2;
    WaitForSingleObject(worker.thread, INFINITE);
    CloseHandle(worker.thread);
}

/* ---- walks ---- */

static void walk(const struct sw_walker *walker, const struct sw_regs *regs, struct chain *chain)
{
    chain->count = 0;
    const enum sw_stop stop = sw_walk_all(walker, &scratch, regs, note_frame, chain);
    chain->stop = stop;
    chain->clean = is_clean(stop);
}

/* ---- samples ---- */

/*
 * What a walk beside the system's is. Up to IN_HOST ours is right, that is it goes through the frame that began to a
 * clean root; the system's is not.
 *
 * IN_PROBE      In ___chkstk_ms, which moves the stack pointer and has no entry.
 * WRONG_TAIL    In an epilogue that ends in a jump out of its function, which Wine's unwinder does not know (W16).
 * NO_CODE       The system's caller is no code: Wine's RtlCaptureContext pushes the flags and has no entry.
 * IN_HOST       In code of Wine's host.
 * HIDDEN        There, and the word at the stack pointer is no return address.
 * CONTINUED     In NtContinue, with another frame's stack pointer. See wine_state.h.
 * OVER_BUDGET   The walk's budget was used up in the leaf. The work is finished when the thread runs again.
 */
enum answer { SAME, IN_PROBE, WRONG_TAIL, NO_CODE, IN_HOST, HIDDEN, CONTINUED, OVER_BUDGET, UNEXPLAINED, ANSWERS };
static const char *const answer_names[ANSWERS] = { "the same",
                                                   "system wrong in ___chkstk_ms",
                                                   "system wrong in an epilogue that ends in a jump",
                                                   "system wrong where flags are pushed",
                                                   "system wrong in code of Wine's host",
                                                   "cut in code of Wine's host",
                                                   "cut in NtContinue",
                                                   "cut by the budget",
                                                   "not explained" };

static struct {
    size_t samples, clean, of[ANSWERS];
    LONGLONG *ticks; /* of each walk */
    LONGLONG cold;   /* see time_cold */
    size_t cold_slow;
    LONGLONG usual; /* of the last walk that was in time */
    size_t slow, slow_anew;
    LONGLONG nothing, nothing_most;
    size_t nothing_over;
} sums;

void ___chkstk_ms(void); /* of libgcc, and not longer than that */
enum { PROBE_BYTES = 64, SHOWN_BYTES = 12 };

/* Whether a walk goes through the frame that called work_forever, to a clean root. */
static bool is_right(const struct chain *chain)
{
    for (size_t i = 0; chain->clean && i < chain->count; i++)
        if (chain->pc[i] == worker.base_pc)
            return true;
    return false;
}

/* As far as Wine's unwinder does not know it. */
static bool ends_in_jump(const uint8_t *at)
{
    if (at[0] == 0x48 && (at[1] == 0x83 || at[1] == 0x81) && at[2] == 0xc4)
        at += at[1] == 0x83 ? 4 : 7;
    while ((at[0] & 0xf8) == 0x58 || (at[0] == 0x41 && (at[1] & 0xf8) == 0x58))
        at += at[0] == 0x41 ? 2 : 1;
    return at[0] == 0xe9 || at[0] == 0xeb || (at[0] == 0xff && at[1] == 0x25) || (at[0] == 0x48 && at[1] == 0xff);
}

/* at: how many frames are the same. word: what the leaf's stack pointer points to. */
static enum answer explain(size_t at, uint64_t word)
{
    const uint64_t pc = ours.pc[0];
    const enum wine_state state = wine_state_of(pc, word);
    if (is_right(&ours) && at == ours.count && at == theirs.count)
        return SAME;
    if (state == WINE_IN_HOST || state == WINE_HIDDEN)
        return is_right(&ours) ? IN_HOST : state == WINE_HIDDEN ? HIDDEN : UNEXPLAINED;
    if (is_right(&ours) && at == 1)
        return is_in(pc, (uint64_t)(uintptr_t)___chkstk_ms, PROBE_BYTES) ? IN_PROBE
               : ends_in_jump((const uint8_t *)(uintptr_t)pc)            ? WRONG_TAIL
               : !is_code(theirs.pc[1])                                  ? NO_CODE
                                                                         : UNEXPLAINED;
    if (state == WINE_CONTINUED)
        return CONTINUED;
    return ours.stop == SW_STOP_BUDGET && ours.count == 1 ? OVER_BUDGET : UNEXPLAINED;
}

static void show(size_t at)
{
    printf("# unexplained: frame %zu of %zu and %zu, stop %d, leaf", at, ours.count, theirs.count, (int)ours.stop);
    for (unsigned i = 0; is_code(ours.pc[0]) && i < SHOWN_BYTES; i++)
        printf(" %02x", ((const uint8_t *)(uintptr_t)ours.pc[0])[i]);
    printf("\n");
}

/* Its memory is touched before a thread stands: page faults of a first walk take some 40 us, of the scratch as much. */
static void walk_first(const struct sw_walker *base)
{
    struct sw_walker walker = *base;
    struct sw_regs here;
    memset(&scratch, 0, sizeof scratch);
    sw_self_capture(&here);
    walker.memory.window = sw_self_window(&here, walker.stack_begin, walker.stack_end);
    walk(&walker, &here, &ours);
}

/* When the thread runs again. */
static void judge(uint64_t word)
{
    size_t at = 0;
    while (at < ours.count && at < theirs.count && ours.pc[at] == theirs.pc[at] && ours.sp[at] == theirs.sp[at])
        at++;
    const enum answer answer = explain(at, word);
    sums.of[answer]++;
    if (answer == UNEXPLAINED)
        show(at);
}

/* Two kinds of work; the quickest of some, so that what else the machine does plays no part. */
enum { TIMES = 8, SPINS = 8192, SPINS_WANTED_US = 30 };

static LONGLONG quickest_walk(const struct sw_walker *walker, const struct sw_regs *regs)
{
    static struct chain chain;
    LONGLONG least = INT64_MAX;
    for (unsigned i = 0; i < TIMES; i++) {
        const LONGLONG from = now();
        walk(walker, regs, &chain);
        const LONGLONG took = now() - from;
        least = took < least ? took : least;
    }
    return least;
}

/* Steps that wait for each other: some 12 us in 2020, whatever lies in caches. */
static LONGLONG quickest_spin(void)
{
    LONGLONG least = INT64_MAX;
    for (unsigned i = 0; i < TIMES; i++) {
        const LONGLONG from = now();
        uint64_t x = i;
        for (unsigned n = 0; n < SPINS; n++)
            x = (x ^ n) * UINT64_C(0x9e3779b97f4a7c15);
        __asm__ volatile("" : : "r"(x));
        const LONGLONG took = now() - from;
        least = took < least ? took : least;
    }
    return least;
}

/*
 * What the same walk takes that finds no entry, and nothing that is known of the code. One that takes too long counts
 * where it does so twice, while this machine is as quick as those of 2020 at work that cannot be slow.
 */
static void time_cold(const struct sw_walker *walker, const struct sw_regs *regs)
{
    struct sw_walker bare = *walker;
    bare.cache = NULL;
    bare.analysis_cache = NULL;
    const LONGLONG took = quickest_walk(&bare, regs);
    sums.cold = took > sums.cold ? took : sums.cold;
    if (us(took) > WANTED_US && us(quickest_spin()) < SPINS_WANTED_US && us(quickest_walk(&bare, regs)) > WANTED_US)
        sums.cold_slow += us(quickest_spin()) < SPINS_WANTED_US;
}

/*
 * Waits as long as the last walk took that was in time, and touches nothing: what is over there is the machine, which
 * has as long to interrupt this as a walk.
 */
static void time_nothing(void)
{
    const LONGLONG from = now();
    LONGLONG took;
    do
        took = now() - from;
    while (took < sums.usual);
    sums.nothing += took;
    sums.nothing_most = took > sums.nothing_most ? took : sums.nothing_most;
    sums.nothing_over += us(took) > WANTED_US;
}

/* How many pcs were not in the cache, or not any more, up to now. */
static uint64_t misses(void)
{
    const struct sw_cache_counts counts = sw_cache_get_counts(cache);
    return counts.absent + counts.outdated;
}

/* anew: how many frames of it were not in the cache. */
static void note_time(LONGLONG took, uint64_t anew)
{
    const bool is_slow = us(took) > WANTED_US;
    sums.ticks[sums.samples++] = took;
    sums.usual = is_slow ? sums.usual : took;
    sums.slow += is_slow;
    sums.slow_anew += is_slow && anew > MANY_ANEW;
}

/* referee: walk it by the system too, which is safe for a thread that holds no lock of function tables. */
static void sample(const struct sw_suspender *s, const struct sw_walker *base, bool referee)
{
    struct sw_walker walker = *base;
    struct sw_regs regs;
    CONTEXT context;
    uint64_t word = 0;
    if (s->suspend(s->arg, worker.id, &regs) != SW_OK)
        return; /* then the number of samples is not as wanted */
    (void)!sw_self_thread_stack(worker.id, &walker.stack_begin, &walker.stack_end);
    walker.memory.window = sw_self_window(&regs, walker.stack_begin, walker.stack_end);
    const uint64_t before = misses();
    const LONGLONG from = now();
    walk(&walker, &regs, &ours);
    note_time(now() - from, misses() - before);
    time_nothing();
    if (referee) {
        context_of(&regs, &context);
        walk_by_system(&context, walker.stack_begin, walker.stack_end, &theirs);
        memcpy(&word, (const void *)(uintptr_t)ours.sp[0], sizeof word);
        time_cold(&walker, &regs);
    }
    (void)!s->resume(s->arg, worker.id);
    (void)sw_walk_prepare(base, &scratch, SW_WALK_BUDGET_UNLIMITED);
    sums.clean += ours.clean;
    if (referee)
        judge(word);
}

static void sample_many(const struct sw_suspender *s, const struct sw_walker *walker, size_t count, bool referee)
{
    free(sums.ticks);
    memset(&sums, 0, sizeof sums);
    sums.ticks = calloc(count + 1, sizeof sums.ticks[0]);
    if (!sums.ticks)
        abort();
    for (size_t i = 0; i < count; i++) {
        sample(s, walker, referee);
        if (i % 64 == 0)
            Sleep(0);
    }
}

static int compare_ticks(const void *a, const void *b)
{
    const LONGLONG x = *(const LONGLONG *)a, y = *(const LONGLONG *)b;
    return (x > y) - (x < y);
}

/* What walks of the suspended thread took. */
static void time_rows(void)
{
    LONGLONG sum = 0;
    const size_t n = sums.samples;
    qsort(sums.ticks, n, sizeof sums.ticks[0], compare_ticks);
    for (size_t i = 0; i < n; i++)
        sum += sums.ticks[i];
    printf("# a walk of the suspended thread: %.2f us on average, %.2f in the middle, 99 %% under %.2f, 99.9 %% under "
           "%.2f, %.2f at most; %zu over %d, %zu of them with more than %d frames anew\n",
           us(sum) / (double)n, us(sums.ticks[n / 2]), us(sums.ticks[n - 1 - n / 100]),
           us(sums.ticks[n - 1 - n / 1000]), us(sums.ticks[n - 1]), sums.slow, WANTED_US, sums.slow_anew, MANY_ANEW);
    printf("# as long without a walk, as often: %.2f us on average, %.2f at most; %zu over %d\n",
           us(sums.nothing) / (double)n, us(sums.nothing_most), sums.nothing_over, WANTED_US);
    if (sums.cold)
        printf("# without caches, the quickest of eight: %.2f us at most (%d wanted); steps of a loop, %d: %.2f us\n",
               us(sums.cold), WANTED_US, SPINS, us(quickest_spin()));
}

static void frame_rows(const struct sw_suspender *s, const struct sw_walker *walker, size_t count)
{
    start(thread_main, NULL);
    sample_many(s, walker, count, true);
    end();
    const size_t cut = sums.of[HIDDEN] + sums.of[CONTINUED] + sums.of[OVER_BUDGET];
    printf("# %zu samples:", sums.samples);
    for (unsigned i = 0; i < ANSWERS; i++)
        printf(" %zu %s%s", sums.of[i], answer_names[i], i + 1 < ANSWERS ? "," : "\n");
    time_rows();
    row("threads are sampled at random instructions", sums.samples == count);
    row("where a walk is not the system's it is known why", sums.of[UNEXPLAINED] == 0);
    row("a suspended thread's walk without caches takes under 50 us", sums.cold_slow == 0);
    row("walks go through the frame that began to the root, all but one in 200", cut * 200 <= count + 200);
}

static void lock_rows(const struct sw_suspender *s, const struct sw_walker *walker, size_t count)
{
    size_t clean = 0, samples = 0;
    for (uintptr_t loads = 0; loads < 2; loads++) {
        start(lock_main, (void *)loads);
        sample_many(s, walker, count / 2, false);
        clean += sums.clean;
        samples += sums.samples;
        end();
        printf("# in %s:\n", loads ? "HeapAlloc and LoadLibrary" : "HeapAlloc");
        time_rows();
    }
    printf("# %zu samples in HeapAlloc and LoadLibrary, %zu to the root\n", samples, clean);
    row("threads in HeapAlloc and LoadLibrary are sampled without a deadlock", samples == count / 2 * 2);
    row("to their roots, all but what stands in a module that comes or goes", clean * 1000 >= samples * 990);
}

int main(int argc, char **argv)
{
    struct sw_images_follower *follower;
    struct sw_self_suspender *self;
    struct sw_walker walker;
    const size_t samples = argc > 1 ? (size_t)atoll(argv[1]) : 1000, locks = argc > 2 ? (size_t)atoll(argv[2]) : 1000;
    if (sw_images_create(NULL, &images) || sw_images_follow_self(images, &follower) ||
        sw_self_walker(&walker, NULL, images) || sw_cache_create(NULL, ENTRIES, &cache) ||
        sw_analysis_cache_create(NULL, 4 << 20, &analysis_cache) || sw_self_suspender_create(NULL, 0, 1, &self))
        return 2;
    walker.cache = cache;
    walker.analysis_cache = analysis_cache;
    walker.budget = SW_WALK_BUDGET_SUSPENDED;
    const struct sw_suspender s = sw_self_get_suspender(self);
    walk_first(&walker);
    frame_rows(&s, &walker, samples);
    const size_t total = sums.samples, same = sums.of[SAME];
    const size_t right = same + sums.of[IN_PROBE] + sums.of[WRONG_TAIL] + sums.of[NO_CODE] + sums.of[IN_HOST];
    lock_rows(&s, &walker, locks);
    sw_self_suspender_destroy(self);
    sw_images_unfollow(follower);
    printf("windows frames: %zu of %zu walks right, %zu identical\n", right, total, same);
    return failed != 0;
}
