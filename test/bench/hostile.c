/*
 * The worst walks: code without tables that is made, or happens, to be expensive to find a caller in. Each case is
 * walked with empty caches (cold), again and again as a sampler would (again: the worst of these), after the work that
 * was left has been prepared (warm), and without a limit; in microseconds, and in the units of the walker's budget. A
 * walk that is cut is no failure here: what counts is that none takes longer than the budget allows.
 */
#include "bench.h"
#include "figures.h"
#include "measure.h"

#include <snapwalk/analysis_cache.h>
#include <snapwalk/cache.h>
#include <snapwalk/self.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { ROUNDS = 5, AGAIN = 16, BLOCKS = 50000, ROW = 300000, CODE = 1 << 24, DEEP = 64, KEPT_BYTES = 1 << 24 };
enum { WORDS = 1 << 16, PLAUSIBLE = 4096, COROUTINE_BYTES = 1 << 16, ENTRIES = 1 << 14 };

static struct sw_images *images;
static struct sw_scratch scratch;
static uint8_t *code; /* of the case at hand */
static size_t code_size;
static uint64_t words[WORDS], seed;
static uint64_t plausible[PLAUSIBLE]; /* return addresses in the C library */

/* ---- writing code and stacks ---- */

static uint8_t *emit(const void *bytes, size_t size)
{
    must(code_size + size <= CODE, "room for code");
    uint8_t *at = memcpy(code + code_size, bytes, size);
    code_size += size;
    return at;
}

static void emit_near(const void *opcode, size_t size, const uint8_t *target)
{
    emit(opcode, size);
    const int32_t distance = (int32_t)(target - (code + code_size + 4));
    emit(&distance, sizeof distance);
}

#define EMIT(text) emit(text, sizeof text - 1)

/* A thread that is stopped at pc, its stack pointer at words[at]. */
static void stopped(struct sw_walker *walker, struct sw_regs *regs, const void *pc, size_t at)
{
    *regs = (struct sw_regs){ .machine = SW_MACHINE_X64 };
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        sw_regs_set(regs, n, 1);
    sw_regs_set(regs, SW_X64_RIP, (uint64_t)(uintptr_t)pc);
    sw_regs_set(regs, SW_X64_RSP, (uint64_t)(uintptr_t)&words[at]);
    walker->stack_begin = (uint64_t)(uintptr_t)words;
    walker->stack_end = (uint64_t)(uintptr_t)(words + WORDS);
    walker->memory.window = (struct sw_window){ walker->stack_begin, walker->stack_end, (const uint8_t *)words };
}

/* A function that calls `target` with 8 bytes of stack: the return address. */
static uint64_t caller_of(const uint8_t *target)
{
    EMIT("\x48\x83\xec\x08"); /* sub rsp, 8 */
    emit_near("\xe8", 1, target);
    const uint64_t behind = (uint64_t)(uintptr_t)(code + code_size);
    EMIT("\x48\x83\xc4\x08\xc3"); /* add rsp, 8; ret */
    return behind;
}

/* ---- the cases ---- */

/* Each block may go on with any other one. */
static uint8_t *emit_blocks(void)
{
    enum { BLOCK = 10 };
    uint8_t *begin = EMIT("\x53"); /* push rbx */
    for (unsigned i = 0; i < BLOCKS; i++) {
        EMIT("\x85\xff"); /* test edi, edi */
        emit_near("\x0f\x85", 2, begin + 1 + BLOCK * (next_random(&seed) % BLOCKS));
        EMIT("\xff\xc0"); /* inc eax */
    }
    return begin;
}

static void many_blocks(struct sw_walker *walker, struct sw_regs *regs, bool returns)
{
    uint8_t *begin = emit_blocks();
    if (returns)
        EMIT("\x5b\xc3"); /* pop rbx; ret */
    else
        emit_near("\xe9", 1, begin + 1);
    words[WORDS / 2 + 1] = caller_of(begin);
    stopped(walker, regs, begin + 1 + 10 * (BLOCKS / 2), WORDS / 2);
}

static void blocks_that_return(struct sw_walker *walker, struct sw_regs *regs)
{
    many_blocks(walker, regs, true);
}

static void blocks_that_do_not(struct sw_walker *walker, struct sw_regs *regs)
{
    many_blocks(walker, regs, false);
}

static void long_row(struct sw_walker *walker, struct sw_regs *regs)
{
    uint8_t *begin = code;
    for (unsigned i = 0; i < ROW; i++)
        EMIT("\x48\x83\xc0\x01"); /* add rax, 1 */
    EMIT("\xc3");
    words[WORDS / 2] = caller_of(begin);
    stopped(walker, regs, begin, WORDS / 2);
}

static uint8_t *emit_loop(void)
{
    uint8_t *begin = EMIT("\xff\xc0\x85\xff\x75\xfa"); /* inc eax; test edi, edi; jne back */
    emit_near("\xe9", 1, begin);
    return begin;
}

static void endless_loop(struct sw_walker *walker, struct sw_regs *regs)
{
    uint8_t *begin = emit_loop();
    words[WORDS / 2] = caller_of(begin);
    stopped(walker, regs, begin, WORDS / 2);
}

static void loop_on_a_smashed_stack(struct sw_walker *walker, struct sw_regs *regs)
{
    for (size_t i = 0; i < WORDS; i++)
        words[i] = plausible[next_random(&seed) % PLAUSIBLE];
    stopped(walker, regs, emit_loop(), 16);
}

static void smashed_stack(struct sw_walker *walker, struct sw_regs *regs)
{
    for (size_t i = 0; i < WORDS; i++)
        words[i] = plausible[next_random(&seed) % PLAUSIBLE];
    stopped(walker, regs, (const void *)(uintptr_t)plausible[0], 16);
    walker->flags = SW_WALK_NO_TABLES;
}

/* Behind _start's call, on the stack that the kernel made. */
static void caller_of_start(struct sw_walker *walker, struct sw_regs *regs)
{
    extern const uint8_t _start[];
    extern void *__libc_stack_end;
    const uint8_t *pc = _start;
    while (!(pc[0] == 0xff && pc[1] == 0x15) && pc < _start + 64)
        pc++;
    must(pc < _start + 64, "finding _start's call");
    stopped(walker, regs, pc + 6, 0);
    sw_regs_set(regs, SW_X64_RSP, (uint64_t)(uintptr_t)__libc_stack_end - 16);
    walker->stack_begin = walker->stack_end = 0;
    walker->memory.window = (struct sw_window){ 0 };
    walker->flags = SW_WALK_NO_TABLES;
}

/* 64 functions of different frames, each called by the next through a register. */
static void unregistered_jit(struct sw_walker *walker, struct sw_regs *regs)
{
    size_t at = WORDS / 2;
    const uint8_t *first = NULL;
    for (unsigned i = 0; i < DEEP; i++) {
        const uint8_t frame = (uint8_t)(8 * (2 * (next_random(&seed) % 6) + 1));
        EMIT("\x48\x83\xec"); /* sub rsp, frame */
        emit(&frame, 1);
        for (unsigned k = 0; k < 8 + next_random(&seed) % 24; k++)
            EMIT("\x85\xff\x74\x02\xff\xc0"); /* test edi, edi; je over inc eax */
        EMIT("\xff\xd0");                     /* call rax */
        first = first ? first : code + code_size;
        if (i)
            words[at - 1] = (uint64_t)(uintptr_t)(code + code_size);
        EMIT("\x85\xff\x74\x02\xff\xc0\x48\x83\xc4"); /* the same; add rsp, frame */
        emit(&frame, 1);
        EMIT("\xc3");
        at += frame / 8 + 1;
    }
    words[at - 1] = 0;
    stopped(walker, regs, first, WORDS / 2);
}

static struct sw_regs in_coroutine;
static ucontext_t outside, inside;

static void stop_here(void)
{
    sw_self_capture(&in_coroutine);
    swapcontext(&inside, &outside);
}

static void coroutine(void)
{
    stop_here();
    in_coroutine.known = 0; /* not a tail call */
}

static void in_a_coroutine(struct sw_walker *walker, struct sw_regs *regs)
{
    static uint8_t stack[COROUTINE_BYTES];
    must(getcontext(&inside) == 0, "getcontext");
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    inside.uc_link = &outside;
    makecontext(&inside, coroutine, 0);
    must(swapcontext(&outside, &inside) == 0, "swapcontext");
    *regs = in_coroutine;
    walker->stack_begin = walker->stack_end = 0;
    walker->memory.window = (struct sw_window){ 0 };
}

static void in_a_coroutine_alone(struct sw_walker *walker, struct sw_regs *regs)
{
    in_a_coroutine(walker, regs);
    walker->flags = SW_WALK_NO_TABLES;
}

static const struct hostile {
    const char *name;
    void (*make)(struct sw_walker *walker, struct sw_regs *regs);
} cases[] = {
    { "a function of 50,000 blocks that returns", blocks_that_return },
    { "a function of 50,000 blocks that does not", blocks_that_do_not },
    { "300,000 instructions in a row", long_row },
    { "a small endless loop", endless_loop },
    { "the same, stack of return addresses", loop_on_a_smashed_stack },
    { "a stack of return addresses", smashed_stack },
    { "the caller of _start", caller_of_start },
    { "64 frames of unregistered JIT code", unregistered_jit },
    { "a coroutine of makecontext", in_a_coroutine },
    { "the same without tables", in_a_coroutine_alone },
};

/* ---- measuring ---- */

enum { COLD, AGAIN_WORST, PREPARING, WARM, COLD_WORK, WARM_WORK, FRAMES, COLUMNS };
static const char *const columns[COLUMNS] = { "cold, us",    "again, us",   "preparing, us", "warm, us",
                                              "cold, units", "warm, units", "frames, warm" };

/* In processor time: the worst of some is what it is on a quiet machine. */
static double walk_us(const struct sw_walker *walker, const struct sw_regs *regs, double *units, double *frames)
{
    struct sw_walk walk;
    const double begin = cpu_ns();
    sw_walk_start(&walk, walker, &scratch, regs, true);
    while (sw_walk_next(&walk))
        continue;
    const double us = (cpu_ns() - begin) / 1000;
    *units = (double)walk.work;
    *frames = walk.depth;
    return us;
}

static double worst_us(const struct sw_walker *walker, const struct sw_regs *regs, double *units, double *frames)
{
    double worst = 0;
    for (unsigned i = 0; i < AGAIN; i++) {
        const double us = walk_us(walker, regs, units, frames);
        worst = us > worst ? us : worst;
    }
    return worst;
}

static void give_caches(struct sw_walker *walker)
{
    must(sw_cache_create(NULL, ENTRIES, &walker->cache) == SW_OK, "sw_cache_create");
    must(sw_analysis_cache_create(NULL, KEPT_BYTES, &walker->analysis_cache) == SW_OK, "sw_analysis_cache_create");
}

static void take_caches(struct sw_walker *walker)
{
    sw_cache_destroy(walker->cache);
    sw_analysis_cache_destroy(walker->analysis_cache);
}

static void take_round(struct sw_walker walker, const struct sw_regs *regs, double figures[COLUMNS])
{
    double nothing;
    give_caches(&walker);
    figures[COLD] = walk_us(&walker, regs, &figures[COLD_WORK], &nothing);
    figures[AGAIN_WORST] = worst_us(&walker, regs, &nothing, &nothing);
    const double begin = cpu_ns();
    (void)sw_walk_prepare(&walker, &scratch, SW_WALK_BUDGET_UNLIMITED);
    figures[PREPARING] = (cpu_ns() - begin) / 1000;
    (void)walk_us(&walker, regs, &nothing, &nothing);
    figures[WARM] = worst_us(&walker, regs, &figures[WARM_WORK], &figures[FRAMES]);
    take_caches(&walker);
}

/* Once: it may take seconds. */
static void walk_unlimited(struct sw_walker walker, const struct sw_regs *regs, const char *name)
{
    double units, frames;
    give_caches(&walker);
    walker.budget = SW_WALK_BUDGET_UNLIMITED;
    const double us = walk_us(&walker, regs, &units, &frames);
    take_caches(&walker);
    figure_note("hostile", name, "no limit, us", 0, us, 0);
    figure_note("hostile", name, "no limit, units", 0, units, 0);
    figure_note("hostile", name, "no limit, frames", 0, frames, 0);
}

static void measure(const struct hostile *hostile)
{
    double rounds[COLUMNS][ROUNDS];
    struct sw_walker walker;
    struct sw_regs regs;
    code_size = 0;
    seed = BENCH_SEED;
    memset(words, 0, sizeof words);
    must(sw_self_walker(&walker, NULL, images) == SW_OK, "sw_self_walker");
    hostile->make(&walker, &regs);
    for (unsigned r = 0; r < ROUNDS; r++) {
        double figures[COLUMNS];
        take_round(walker, &regs, figures);
        for (unsigned c = 0; c < COLUMNS; c++)
            rounds[c][r] = figures[c];
    }
    for (unsigned c = 0; c < COLUMNS; c++)
        figure_note("hostile", hostile->name, columns[c], 0, median(rounds[c], ROUNDS), 0);
    walk_unlimited(walker, &regs, hostile->name);
}

/* Words of code that lie behind a call, as any search of a stack would take them. */
static void find_plausible(void)
{
    const uint8_t *at = (const uint8_t *)(uintptr_t)&qsort;
    for (size_t found = 0; found < PLAUSIBLE; at++)
        if (at[0] == 0xe8 && (at[4] == 0 || at[4] == 0xff))
            plausible[found++] = (uint64_t)(uintptr_t)at + 5;
}

void bench_hostile(void)
{
    must(sw_images_create(NULL, &images) == SW_OK && sw_images_add_self(images) == SW_OK, "registering images");
    find_plausible();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        code = mmap(NULL, CODE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        must(code != MAP_FAILED, "mmap");
        measure(&cases[i]);
        must(munmap(code, CODE) == 0, "munmap");
    }
    figure_print("hostile",
                 "hostile: a walk with the default budget through code without tables; medians of 5 rounds of the "
                 "first walk, of the worst of 16, and of the worst of 16 after preparing");
    sw_images_destroy(images);
}
