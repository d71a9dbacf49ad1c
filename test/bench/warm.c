/*
 * What a frame costs whose pc was met before: walks out of the rule cache, beside a chase of frame pointers,
 * libunwind's unw_step and its cached unw_backtrace, in one run on the same stacks. The code is 2 x 50,000 functions of
 * this program, half of them with frame pointers, all with call frame information; and the same as a JIT would leave
 * them: a code range each, no tables (analysis). Stacks are made up, as many as the working set asks for, and walked in
 * turn; unw_backtrace, which walks its own stack only, is called from one that is real. Every walk must reach every
 * frame.
 *
 * The chase is always that of the functions with frame pointers. Last line: ratios at depth
 * 1,000 with 16 pcs, where neither a walk's beginning and end nor the cache's size play a part.
 */
#define UNW_LOCAL_ONLY
#include <snapwalk/cache.h>
#include <snapwalk/image.h>
#include <snapwalk/kept.h>
#include <snapwalk/self.h>
#include <snapwalk/walk.h>

#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FUNCTIONS = 50000, SLOT = 32, FRAME = 32, DEEPEST = 1000, ENTRIES = 1 << 17, TURNS = 9, SLACK = 4096 };

/* Functions that call what rdi points to, and the next of them with what follows it. */
__asm__(".text\n.p2align 6\n"
        "warm_framed:\n.rept 50000\n.p2align 5\n.cfi_startproc\n"
        "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\nmov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
        "sub $16, %rsp\nadd $8, %rdi\ncall *-8(%rdi)\nleave\n.cfi_def_cfa %rsp, 8\nret\n.cfi_endproc\n.endr\n"
        ".p2align 6\n"
        "warm_plain:\n.rept 50000\n.p2align 5\n.cfi_startproc\n"
        "push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\nsub $16, %rsp\n.cfi_def_cfa_offset 32\n"
        "add $8, %rdi\ncall *-8(%rdi)\nadd $16, %rsp\n.cfi_def_cfa_offset 16\npop %rbx\n.cfi_def_cfa_offset 8\nret\n"
        ".cfi_endproc\n.endr\n");
extern const uint8_t warm_framed[], warm_plain[];

/* Functions, where in them the return address of their call points, whether each has a code range and no table. */
static const struct code {
    const char *name;
    const uint8_t *functions;
    unsigned behind_call;
    bool is_jit;
} codes[] = {
    { "frame pointers", warm_framed, 15, false },
    { "no frame pointers", warm_plain, 12, false },
    { "JIT, frame pointers", warm_framed, 15, true },
    { "JIT, none", warm_plain, 12, true },
};
enum { CODES = sizeof codes / sizeof *codes };

/* Stacks of one depth, in one block: stack s has the functions pcs * s / stacks and on, cyclically. */
struct stacks {
    unsigned depth, count, pcs;
    uint64_t *words;
    size_t bytes;
};

static struct sw_images *images;
static struct sw_codemap *codemap;
static struct sw_kept *kept;
static struct sw_scratch scratch;
static uint64_t out[2 * DEEPEST];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "warm: %s failed\n", what);
    exit(1);
}

/* ---- stacks ---- */

static unsigned function_of(const struct stacks *s, unsigned stack, unsigned frame)
{
    return (stack * s->depth + frame) * 7u % s->pcs; /* not one behind the other in memory */
}

static uint64_t pc_of(const struct stacks *s, const struct code *code, unsigned stack, unsigned frame)
{
    return (uint64_t)(uintptr_t)code->functions + SLOT * function_of(s, stack, frame) + code->behind_call;
}

static uint64_t sp_of(const struct stacks *s, unsigned stack, unsigned frame)
{
    return (uint64_t)(uintptr_t)s->words + SLACK + ((uint64_t)stack * s->depth + frame) * FRAME;
}

static void build(struct stacks *s, const struct code *code)
{
    s->bytes = SLACK + (size_t)s->count * s->depth * FRAME;
    s->words = calloc(1, s->bytes);
    must(s->words != NULL, "calloc");
    for (unsigned stack = 0; stack < s->count; stack++)
        for (unsigned frame = 0; frame + 1 < s->depth; frame++) {
            uint64_t *words = (uint64_t *)(uintptr_t)sp_of(s, stack, frame);
            words[2] = sp_of(s, stack, frame + 1) + 16; /* what was in rbp, or, as good as any, in rbx */
            words[3] = pc_of(s, code, stack, frame + 1);
        }
}

/* ---- ways to walk: each answers how many frames it reached ---- */

struct job {
    const struct stacks *stacks;
    const struct code *code;
    struct sw_walker walker;
};

static unsigned by_chase(const struct job *job, unsigned stack)
{
    const struct stacks *s = job->stacks;
    unsigned count = 0;
    const uint64_t *fp = (const uint64_t *)(uintptr_t)(sp_of(s, stack, 0) + 16);
    out[count++] = pc_of(s, job->code, stack, 0);
    while (fp[0] > (uint64_t)(uintptr_t)fp && count < DEEPEST) {
        out[count++] = fp[1];
        fp = (const uint64_t *)(uintptr_t)fp[0];
    }
    return count;
}

/* The registers at a stack's leaf; the others are the same for all. */
static void registers_of(const struct job *job, unsigned stack, struct sw_regs *regs)
{
    static const struct sw_regs all = { .machine = SW_MACHINE_X64, .known = (1u << SW_X64_COUNT) - 1 };
    *regs = all;
    regs->r[SW_X64_RSP] = sp_of(job->stacks, stack, 0);
    regs->r[SW_X64_RBP] = regs->r[SW_X64_RSP] + 16;
    regs->r[SW_X64_RIP] = pc_of(job->stacks, job->code, stack, 0);
}

static unsigned by_walk(const struct job *job, unsigned stack)
{
    struct sw_walk walk;
    struct sw_regs regs;
    unsigned count = 0;
    registers_of(job, stack, &regs);
    sw_walk_start(&walk, &job->walker, &scratch, &regs, false);
    while (sw_walk_next(&walk))
        out[count++] = sw_regs_pc(&walk.frame.regs);
    return walk.stop == SW_STOP_ROOT_ZERO ? count : 0;
}

static unsigned by_addresses(const struct job *job, unsigned stack)
{
    struct sw_regs regs;
    enum sw_stop stop;
    registers_of(job, stack, &regs);
    const size_t count = sw_walk_addresses(&job->walker, &scratch, &regs, false, out, 2 * DEEPEST, &stop);
    return stop == SW_STOP_ROOT_ZERO ? (unsigned)count : 0;
}

static unsigned by_unw_step(const struct job *job, unsigned stack)
{
    unw_context_t context;
    unw_cursor_t cursor;
    unw_word_t pc;
    unsigned count = 0;
    unw_getcontext(&context);
    context.uc_mcontext.gregs[REG_RIP] = (long long)pc_of(job->stacks, job->code, stack, 0);
    context.uc_mcontext.gregs[REG_RSP] = (long long)sp_of(job->stacks, stack, 0);
    context.uc_mcontext.gregs[REG_RBP] = (long long)sp_of(job->stacks, stack, 0) + 16;
    must(unw_init_local(&cursor, &context) == 0, "unw_init_local");
    do {
        (void)unw_get_reg(&cursor, UNW_REG_IP, &pc);
        out[count++] = pc;
    } while (count < job->stacks->depth && unw_step(&cursor) > 0);
    return count;
}

/* ---- measuring ---- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, TURNS, sizeof *values, by_value);
    return values[TURNS / 2];
}

/* ns a frame: all stacks in turn, until some 100,000 frames were reached; the last frame's pc must be the right one. */
static double measure(const struct job *job, unsigned (*way)(const struct job *job, unsigned stack), unsigned frames)
{
    const struct stacks *s = job->stacks;
    const unsigned rounds = frames / (s->count * s->depth) + 1;
    double times[TURNS];
    for (unsigned turn = 0; turn < TURNS; turn++) {
        const double begin = now();
        for (unsigned round = 0; round < rounds; round++)
            for (unsigned stack = 0; stack < s->count; stack++)
                must(way(job, stack) == s->depth && out[s->depth - 1] == pc_of(s, job->code, stack, s->depth - 1),
                     "reaching every frame");
        times[turn] = (now() - begin) / (double)rounds / s->count / s->depth;
    }
    return median(times);
}

/* unw_backtrace, at the leaf of a real stack. */
static double backtrace_ns;
static unsigned backtrace_depth;

static void at_leaf(void)
{
    static void *addresses[2 * DEEPEST];
    const unsigned rounds = 100000 / backtrace_depth;
    double times[TURNS];
    for (unsigned turn = 0; turn < TURNS; turn++) {
        const double begin = now();
        for (unsigned round = 0; round < rounds; round++)
            must((unsigned)unw_backtrace(addresses, 2 * DEEPEST) > backtrace_depth, "unw_backtrace");
        times[turn] = (now() - begin) / (double)rounds / backtrace_depth;
    }
    backtrace_ns = median(times);
}

static double measure_backtrace(const struct job *job)
{
    static uint64_t called[DEEPEST + 1];
    const struct stacks *s = job->stacks;
    if (s->count > 1 || job->code->is_jit)
        return 0;
    for (unsigned i = 0; i < s->depth; i++)
        called[i] = pc_of(s, job->code, 0, i) - job->code->behind_call;
    called[s->depth] = (uint64_t)(uintptr_t)at_leaf;
    backtrace_depth = s->depth;
    uint64_t to = called[0];
    uint64_t *rest = called + 1;
    __asm__ volatile("call *%1"
                     : "+D"(rest)
                     : "r"(to)
                     : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
                       "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
                       "memory", "cc");
    return backtrace_ns;
}

/* ---- rows ---- */

struct result {
    double chase, addresses, warm, backtrace, step;
};

static struct result row(const struct code *code, unsigned depth, unsigned pcs, struct sw_cache *cache)
{
    struct stacks s = { .depth = depth, .count = pcs > depth ? pcs / depth : 1, .pcs = pcs };
    struct job job = { &s, code, { .machine = SW_MACHINE_X64 } }, chased = { &s, &codes[0], job.walker };
    struct result r = { 0 };
    build(&s, code);
    job.walker = (struct sw_walker){ .machine = SW_MACHINE_X64,
                                     .flags = code->is_jit ? SW_WALK_NO_TABLES : 0,
                                     .memory = sw_self_memory(),
                                     .codemap = code->is_jit ? codemap : NULL,
                                     .images = images,
                                     .kept = kept,
                                     .cache = cache };
    job.walker.memory.window = (struct sw_window){ (uint64_t)(uintptr_t)s.words, (uint64_t)(uintptr_t)s.words + s.bytes,
                                                   (const uint8_t *)s.words };
    for (unsigned stack = 0; stack < s.count; stack++)
        (void)by_walk(&job, stack);
    r.warm = measure(&job, by_walk, 100000);
    r.addresses = measure(&job, by_addresses, 100000);
    r.step = code->is_jit ? 0 : measure(&job, by_unw_step, 2000);
    r.backtrace = measure_backtrace(&job);
    if (!(code->functions == codes[0].functions)) {
        free(s.words);
        build(&s, &codes[0]);
    }
    r.chase = measure(&chased, by_chase, 100000);
    free(s.words);
    printf("%-20s %6u %6u  %7.2f %9.2f %7.2f %7.2f %8.1f   %6.2f %6.2f\n", code->name, depth, pcs, r.chase, r.addresses,
           r.warm, r.backtrace, r.step, r.addresses / r.chase, r.warm / r.chase);
    return r;
}

static void register_ranges(void)
{
    must(sw_codemap_create(NULL, &codemap) == SW_OK, "sw_codemap_create");
    for (size_t i = 0; i < 2 * (size_t)FUNCTIONS; i++) {
        const uint8_t *first = i < FUNCTIONS ? warm_framed : warm_plain;
        const uint64_t begin = (uint64_t)(uintptr_t)(first + i % FUNCTIONS * SLOT);
        const struct sw_range range = {
            .begin = begin, .end = begin + SLOT, .id = begin, .kind = SW_KIND_JIT, .unwind = SW_UNWIND_ANALYSIS
        };
        must(sw_codemap_add(codemap, &range) == SW_OK, "sw_codemap_add");
    }
}

int main(void)
{
    static const unsigned depths[] = { 10, 50, 200, 1000 }, sets[] = { 5000, 50000 };
    struct result deep[CODES];
    must(sw_images_create(NULL, &images) == SW_OK && sw_images_add_self(images) == SW_OK, "registering images");
    must(sw_kept_create(NULL, 1 << 26, &kept) == SW_OK, "sw_kept_create");
    register_ranges();
    printf("ns a frame            depth    pcs    chase addresses    all  unw_bt unw_step    a/ch   all/ch\n");
    for (unsigned c = 0; c < CODES; c++) {
        struct sw_cache *cache;
        must(sw_cache_create(NULL, ENTRIES, &cache) == SW_OK, "sw_cache_create");
        for (unsigned d = 0; d < 4; d++) {
            const struct result r = row(&codes[c], depths[d], 16, cache);
            deep[c] = r;
        }
        for (unsigned d = 0; d < 4; d++)
            (void)row(&codes[c], depths[d], depths[d], cache);
        for (unsigned i = 0; i < 2; i++)
            (void)row(&codes[c], 50, sets[i], cache);
        sw_cache_destroy(cache);
    }
    printf("warm: %.2fx of the frame-pointer chase, %.2fx without frame pointers, with all registers %.2fx and %.2fx; "
           "%.1fx and %.1fx faster than unw_backtrace\n",
           deep[0].addresses / deep[0].chase, deep[1].addresses / deep[1].chase, deep[0].warm / deep[0].chase,
           deep[1].warm / deep[1].chase, deep[0].backtrace / deep[0].addresses, deep[0].backtrace / deep[0].warm);
    sw_kept_destroy(kept);
    sw_codemap_destroy(codemap);
    sw_images_destroy(images);
    return 0;
}
