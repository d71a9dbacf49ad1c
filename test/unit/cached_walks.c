/*
 * Walks with a rule cache and with a replay memory, on a real stack of JIT code and C: every callback of sw_snapshot,
 * with its registers, and every address is that of the same walk without either. Cold, warm, again; ended at each
 * callback; with each limit; from a start that knows any of the registers.
 */
#include "rows.h"
#include "host.h"

#if defined(__x86_64__)
#include "code/map/tree.h"
#include "fast/cache.h"
#include "walk/batch.h"
#include "walk/scratch.h"

#include <snapwalk/analysis_cache.h>
#include <snapwalk/cache.h>
#include <snapwalk/context.h>
#include <snapwalk/replay.h>
#include <snapwalk/self.h>
#include <snapwalk/snapshot.h>
#include <snapwalk/summary.h>

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

/*
 * ---- code: functions that call each other: first, inner ones, last. They save what a batch of frames restores ----
 */

/* push rbp; mov rbp, rsp; push rbx; push r12; mov ebx, ..; mov r12d, ..; call ..; pop r12; pop rbx; pop rbp; ret */
static const uint8_t first[] = { 0x55, 0x48, 0x89, 0xe5, 0x53, 0x41, 0x54, 0xbb, 0x11, 0x11, 0x11, 0x11, 0x41, 0xbc,
                                 0x22, 0x22, 0x22, 0x22, 0xe8, 0,    0,    0,    0,    0x41, 0x5c, 0x5b, 0x5d, 0xc3 };
/* push r13; sub rsp, 16; mov r13d, ..; call ..; add rsp, 16; pop r13; ret */
static const uint8_t plain[] = { 0x41, 0x55, 0x48, 0x83, 0xec, 0x10, 0x41, 0xbd, 0x33, 0x33, 0x33, 0x33,
                                 0xe8, 0,    0,    0,    0,    0x48, 0x83, 0xc4, 0x10, 0x41, 0x5d, 0xc3 };
/* push rbp; mov rbp, rsp; call ..; pop rbp; ret */
static const uint8_t framed[] = { 0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 0, 0, 0x5d, 0xc3 };
/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
static const uint8_t last[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
enum {
    FIRST = 0x40,
    INNER = 0x80,
    INNER_BYTES = 0x20,
    LAST = 0x180,
    LEAVES = 6,
    MOST = 256,
    HOMES = 48 /* P1Home ... P6Home */
};

static struct world {
    struct sw_codemap *codemap;
    struct sw_images *images;
    struct sw_threads *threads;
    struct sw_self_suspender *self;
    struct sw_suspender suspender;
    struct sw_analysis_cache *analysis;
    struct sw_cache *cache;
    struct sw_replay *replay;
    struct sw_walker walker;
    struct sw_engine engine;
    struct sw_scratch scratch;
    void (*jit)(void (*callee)(void));
} world;

static void add_code(uint8_t *page, unsigned at, size_t size, uint64_t id, enum sw_kind kind, enum sw_unwind unwind,
                     uint16_t flags)
{
    const uint64_t begin = (uint64_t)(uintptr_t)page + at;
    const struct sw_range range = { begin, begin + size, id, 0, (uint8_t)kind, (uint8_t)unwind, flags };
    assert_int_equal(sw_codemap_add(world.codemap, &range), SW_OK);
}

/* What the inner functions are. */
static const struct kind_row {
    const char *name;
    const char *shapes; /* each plain or framed; upper case: of a range that begins elsewhere, which they share */
    uint64_t id;
    enum sw_kind kind;
    uint16_t flags;
} kind_rows[] = {
    { "jit_code", "pfp", 'b', SW_KIND_JIT, 0 },
    { "precompiled_code", "pff", 'b', SW_KIND_NGEN, 0 },
    { "hidden_code", "pp", 'b', SW_KIND_JIT, SW_RANGE_HIDDEN },
    { "dispatch", "p", 'b', SW_KIND_JIT, SW_RANGE_EH_DISPATCH },
    { "a_funclet", "fp", 'b', SW_KIND_JIT, SW_RANGE_FUNCLET },
    { "a_stub", "p", 0, SW_KIND_STUB, 0 },
    { "native_code", "ff", 0, SW_KIND_NATIVE, 0 },
    { "plain_code_of_unknown_begins", "PPPPP", 0, SW_KIND_STUB, 0 },
    { "framed_code_of_unknown_begins", "FFFFF", 0, SW_KIND_STUB, 0 },
    { "code_of_unknown_begins", "PFPPFF", 0, SW_KIND_STUB, 0 },
};

static void put_function(uint8_t *page, unsigned at, const uint8_t *code, size_t size, unsigned callee)
{
    const uint8_t *call = memchr(code, 0xe8, size);
    memcpy(page + at, code, size);
    if (call) {
        const size_t behind = at + (size_t)(call - code) + 5;
        const uint32_t distance = (uint32_t)(callee - behind);
        memcpy(page + behind - 4, &distance, sizeof distance);
    }
}

static size_t put_inner(uint8_t *page, const struct kind_row *row)
{
    const size_t count = strlen(row->shapes);
    for (unsigned i = 0; i < count; i++) {
        const bool is_plain = row->shapes[i] == 'p' || row->shapes[i] == 'P';
        const unsigned at = INNER + i * INNER_BYTES, callee = i + 1 < count ? at + INNER_BYTES : LAST;
        put_function(page, at, is_plain ? plain : framed, is_plain ? sizeof plain : sizeof framed, callee);
        if (row->shapes[i] >= 'a')
            add_code(page, at, is_plain ? sizeof plain : sizeof framed, row->id, row->kind, SW_UNWIND_ANALYSIS,
                     row->flags);
    }
    return count;
}

static uint8_t *make_code(const struct kind_row *row)
{
    uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    put_function(page, FIRST, first, sizeof first, INNER);
    const size_t count = put_inner(page, row);
    put_function(page, LAST, last, sizeof last, 0);
    assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
    add_code(page, FIRST, sizeof first, 'a', SW_KIND_JIT, SW_UNWIND_ANALYSIS, 0);
    add_code(page, LAST, sizeof last, 'c', SW_KIND_JIT, SW_UNWIND_ANALYSIS, 0);
    if (row->shapes[0] < 'a')
        add_code(page, INNER - 8, count * INNER_BYTES, row->id, row->kind, SW_UNWIND_AUTO, row->flags);
    void *entry = page + FIRST;
    memcpy(&world.jit, &entry, sizeof world.jit);
    return page;
}

static void make_world(void)
{
    struct sw_thread thread = { .id = 10, .os_id = sw_self_thread() };
    memset(&world, 0, sizeof world);
    assert_int_equal(sw_codemap_create(NULL, &world.codemap), SW_OK);
    assert_int_equal(sw_images_create(NULL, &world.images), SW_OK);
    assert_int_equal(sw_images_add_self(world.images), SW_OK);
    assert_int_equal(sw_threads_create(NULL, NULL, NULL, &world.threads), SW_OK);
    assert_int_equal(sw_self_suspender_create(NULL, 0, 4, &world.self), SW_OK);
    assert_int_equal(sw_analysis_cache_create(NULL, 1 << 20, &world.analysis), SW_OK);
    assert_int_equal(sw_cache_create(NULL, 1024, &world.cache), SW_OK);
    assert_int_equal(sw_replay_create(NULL, 256, &world.replay), SW_OK);
    world.suspender = sw_self_get_suspender(world.self);
    assert_int_equal(sw_self_walker(&world.walker, world.codemap, world.images), SW_OK);
    world.walker.memory.window = (struct sw_window){ 0 }; /* each snapshot has its own */
    world.walker.budget = SW_WALK_BUDGET_UNLIMITED;
    world.engine = (struct sw_engine){ .walker = &world.walker,
                                       .threads = world.threads,
                                       .suspender = &world.suspender,
                                       .options = SW_ENGINE_OWN_PROCESS,
                                       .runtime = SW_RUNTIME_READY,
                                       .event_mask = COR_PRF_ENABLE_STACK_SNAPSHOT };
    assert_int_equal(sw_self_stack(&thread.stack_begin, &thread.stack_end), SW_OK);
    assert_int_equal(sw_threads_add(world.threads, &thread), SW_OK);
}

static void free_world(uint8_t *page)
{
    sw_replay_destroy(world.replay);
    sw_cache_destroy(world.cache);
    sw_analysis_cache_destroy(world.analysis);
    sw_self_suspender_destroy(world.self);
    sw_threads_destroy(world.threads);
    sw_images_destroy(world.images);
    sw_codemap_destroy(world.codemap);
    munmap(page, 4096);
}

/* ---- what a walk has told ---- */

struct story {
    HRESULT hr;
    enum sw_stop stop;
    unsigned count;
    struct callback {
        FunctionID function;
        UINT_PTR ip;
        struct sw_frame_info info;
        BYTE context[SW_CONTEXT_X64_BYTES];
    } at[MOST];
};

static struct story without, with;

/* How it is asked: callbacks end it behind `end` of them; 0: never. */
static struct asked {
    struct story *to;
    ULONG32 flags;
    unsigned end;
} asked;

static HRESULT SW_COM_CALL hear(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO info, ULONG32 context_size,
                                BYTE context[], void *client_data)
{
    struct story *story = client_data;
    assert_in_range(story->count, 0, MOST - 1);
    struct callback *to = &story->at[story->count++];
    memset(to, 0, sizeof *to);
    to->function = function;
    to->ip = ip;
    assert_int_equal(sw_frame_info_read(&world.engine, info, &to->info), S_OK);
    to->info.source = 0; /* a cached walk may know better: a call in front of it confirms it */
    to->info.trust = 0;
    assert_true(context_size == (context ? sizeof to->context : 0));
    if (!context)
        return story->count == asked.end ? S_FALSE : S_OK;
    memcpy(to->context, context, sizeof to->context);
    for (size_t i = 0; i < HOMES; i++)
        assert_int_equal(context[i], 0); /* of the scratch, nothing is left in it */
    return story->count == asked.end ? S_FALSE : S_OK;
}

static __attribute__((noinline)) void snapshot(struct story *story)
{
    story->count = 0;
    memset(&world.scratch, 0xa5, sizeof world.scratch);
    story->hr = sw_snapshot(&world.engine, &world.scratch, 0, hear, asked.flags, story, NULL, 0);
    story->stop = world.engine.stop;
}

static unsigned left_to_enter;
static void (*top)(void);

static void enter(void)
{
    if (left_to_enter-- > 1)
        world.jit(enter);
    else
        world.jit(top);
    atomic_signal_fence(memory_order_seq_cst); /* not a tail call: this frame stays */
}

/* On top of the first managed frame is this test, which asks from several places. */
static void compare(void)
{
    bool below = false;
    assert_int_equal(with.hr, without.hr);
    assert_int_equal(with.stop, without.stop);
    assert_int_equal(with.count, without.count);
    for (unsigned i = 0; i < with.count; i++) {
        below = below || without.at[i].function != 0;
        if (below)
            assert_memory_equal(&with.at[i], &without.at[i], sizeof with.at[i]);
        assert_int_equal(with.at[i].function, without.at[i].function);
    }
}

/* The ways: without a cache; with one, cold and warm; with replays, three of them. */
static void ask(void)
{
    struct story *const stories[] = { &without, &with, &with, &with, &with, &with };
    for (unsigned way = 0; way < COUNT_OF(stories); way++) {
        world.walker.analysis_cache = way ? world.analysis : NULL;
        world.walker.cache = way ? world.cache : NULL;
        world.walker.replay = way > 2 ? world.replay : NULL;
        snapshot(stories[way]);
        if (way)
            compare();
    }
}

static unsigned whole;

static void snapshots_all_ways(void)
{
    for (asked.flags = 0; asked.flags <= COR_PRF_SNAPSHOT_REGISTER_CONTEXT; asked.flags++) {
        asked.end = 0;
        ask();
        assert_int_equal(with.hr, S_OK);
        assert_in_range(with.stop, SW_STOP_ROOT, SW_STOP_ROOT_BASE);
        whole = with.count;
        for (asked.end = 1; asked.end < whole; asked.end++) {
            ask();
            assert_int_equal(with.hr, CORPROF_E_STACKSNAPSHOT_ABORTED);
            assert_int_equal(with.count, asked.end);
        }
        asked.end = 0;
        for (world.walker.max_frames = 1; world.walker.max_frames < 3 * LEAVES; world.walker.max_frames++) {
            ask();
            assert_int_equal(with.hr, E_FAIL);
        }
        world.walker.max_frames = 0;
    }
    atomic_signal_fence(memory_order_seq_cst);
}

/* No walk has left its reader section open: what is removed is freed with the next change. */
static void assert_nobody_is_inside(const uint8_t *page)
{
    const struct sw_range other = { 0x1000, 0x2000, 1, 0, SW_KIND_JIT, 0, 0 };
    const uint64_t begin = (uint64_t)(uintptr_t)page;
    struct sw_range range;
    for (uint64_t at = begin; at < begin + 0x200; at += 8)
        if (sw_codemap_find(world.codemap, at, &range) == SW_OK)
            assert_int_equal(sw_codemap_remove(world.codemap, range.begin), SW_OK);
    assert_int_equal(sw_codemap_add(world.codemap, &other), SW_OK);
    assert_int_equal(sw_codemap_remove(world.codemap, other.begin), SW_OK);
    assert_int_equal(world.codemap->blocks.used, 0);
}

/* What is done at the top of the stack; what the walks share is made before, and must have been of use. */
static void run(const struct kind_row *row, uint32_t options, void (*at_the_top)(void))
{
    make_world();
    uint8_t *page = make_code(row);
    world.engine.options |= options;
    left_to_enter = LEAVES;
    top = at_the_top;
    enter();
    const struct sw_cache_counts counts = sw_cache_get_counts(world.cache);
    assert_in_range(counts.hits, 500, UINT32_MAX); /* it was of use */
    assert_nobody_is_inside(page);
    free_world(page);
}

static void a_cached_walk_tells_the_same(void **state)
{
    run(*state, 0, snapshots_all_ways);
    assert_true(whole > 2 * LEAVES);
}

static void a_cached_walk_tells_the_same_of_every_native_frame(void **state)
{
    run(*state, SW_ENGINE_EVERY_NATIVE_FRAME, snapshots_all_ways);
}

/* ---- addresses alone ---- */

static struct addresses {
    uint64_t at[MOST];
    size_t count;
    enum sw_stop stop;
} uncached, cached;

static void walk_addresses(struct addresses *a, const struct sw_walker *walker, const struct sw_regs *start, bool exact,
                           size_t most)
{
    memset(a, 0xa5, sizeof *a);
    a->count = sw_walk_addresses(walker, &world.scratch, start, exact, a->at, most, &a->stop);
}

/* With a rule cache, with a replay memory as well; each twice, so that the second finds what the first has left. */
enum { WAYS = 4 };

static void put_ways(struct sw_walker ways[WAYS], const struct sw_walker *walker)
{
    for (size_t i = 0; i < WAYS; i++) {
        ways[i] = *walker;
        ways[i].analysis_cache = world.analysis;
        ways[i].cache = world.cache;
        ways[i].replay = i < WAYS / 2 ? NULL : world.replay;
    }
}

static void compare_addresses(const struct sw_walker *walker, const struct sw_regs *start, bool exact, size_t most)
{
    struct sw_walker ways[WAYS];
    put_ways(ways, walker);
    walk_addresses(&uncached, walker, start, exact, most);
    for (size_t i = 0; i < WAYS; i++) {
        walk_addresses(&cached, &ways[i], start, exact, most);
        assert_memory_equal(&cached, &uncached, sizeof uncached); /* nothing behind them was written either */
    }
}

static bool stop_at_a_return_address(void *arg, const struct sw_frame *frame)
{
    struct sw_regs *regs = arg;
    *regs = frame->regs;
    return frame->exact || frame->code.id != 'a';
}

/* Whether a walk by the rule cache gets by without a frame that is made whole. */
static bool is_quick(const struct sw_walker *walker, const struct sw_regs *start)
{
    struct sw_walker ways[WAYS];
    struct sw_walk *slow = &sw_walk_scratch_of(&world.scratch)->whole;
    put_ways(ways, walker);
    slow->walker = NULL;
    walk_addresses(&cached, &ways[0], start, true, MOST);
    return slow->walker == NULL;
}

/* Windows that begin near the start's sp. The first frame is large, so that it is left quickly from all of them. */
static void addresses_by_windows_from_sp(const struct sw_walker *walker, const struct sw_regs *start)
{
    struct sw_walker near = *walker;
    for (unsigned words = 0; words < SW_SLOT_NEAR + 2; words++) {
        near.memory.window.begin = sw_regs_sp(start) - SW_WORD * words;
        near.memory.window.bytes = (const uint8_t *)(uintptr_t)near.memory.window.begin;
        compare_addresses(&near, start, true, MOST);
        assert_int_equal(is_quick(&near, start), is_quick(walker, start));
    }
}

static void addresses_all_ways(void)
{
    volatile uint8_t room[SW_LANE_BELOW] = { 0 };
    struct sw_regs start, inside;
    struct sw_walker walker;
    sw_self_capture(&start);
    assert_int_equal(sw_self_walker(&walker, world.codemap, world.images), SW_OK);
    walker.budget = SW_WALK_BUDGET_UNLIMITED;
    assert_int_equal(sw_walk_all(&walker, &world.scratch, &start, stop_at_a_return_address, &inside), SW_STOP_ABORTED);
    walk_addresses(&uncached, &walker, &start, true, MOST);
    assert_in_range(uncached.stop, SW_STOP_ROOT, SW_STOP_ROOT_BASE);
    const size_t all = uncached.count;
    assert_in_range(all, 4 * LEAVES, MOST - 2);
    for (size_t most = 0; most < all + 2; most++) {
        compare_addresses(&walker, &start, true, most);
        compare_addresses(&walker, &inside, false, most);
    }
    for (walker.max_frames = 1; walker.max_frames < all + 2; walker.max_frames++) {
        compare_addresses(&walker, &start, true, MOST);
        compare_addresses(&walker, &start, true, walker.max_frames);
        compare_addresses(&walker, &inside, false, walker.max_frames);
    }
    walker.max_frames = 0;
    compare_addresses(&walker, &start, false, MOST); /* as if it had been called from there */
    compare_addresses(&walker, &inside, true, MOST);
    addresses_by_windows_from_sp(&walker, &start);
    assert_int_equal(room[0], 0);
    inside.known &= ~(UINT64_C(1) << SW_X64_RBP);
    inside.r[SW_X64_RBP] = sw_regs_sp(&inside) + 64;
    compare_addresses(&walker, &inside, false, MOST);
    assert_int_equal(sw_walk_summaries(NULL, &world.scratch, &start, true, NULL, MOST, &cached.stop), 0);
    assert_int_equal(sw_walk_summaries(&walker, NULL, &start, true, NULL, MOST, &cached.stop), 0);
    assert_int_equal(sw_walk_summaries(&walker, &world.scratch, NULL, true, NULL, MOST, &cached.stop), 0);
    assert_int_equal(cached.stop, SW_STOP_BAD_START);
    assert_int_equal(sw_walk_summaries(&walker, &world.scratch, &start, true, NULL, MOST, &cached.stop), 0);
    assert_int_equal(cached.stop, SW_STOP_NONE);
    assert_int_equal(sw_walk_addresses(NULL, &world.scratch, &start, true, cached.at, MOST, &cached.stop), 0);
    assert_int_equal(sw_walk_addresses(&walker, NULL, &start, true, cached.at, MOST, &cached.stop), 0);
    assert_int_equal(cached.stop, SW_STOP_BAD_START);
    assert_int_equal(sw_walk_addresses(&walker, &world.scratch, NULL, true, cached.at, MOST, &cached.stop), 0);
    assert_int_equal(sw_walk_addresses(&walker, &world.scratch, &start, true, NULL, MOST, &cached.stop), 0);
    assert_int_equal(cached.stop, SW_STOP_NONE);
    atomic_signal_fence(memory_order_seq_cst);
}

static void cached_addresses_are_the_same(void **state)
{
    run(*state, 0, addresses_all_ways);
}

/* ---- batches ---- */

static struct frames {
    struct sw_frame at[MOST];
    size_t count;
    enum sw_stop stop;
} one_by_one, in_batches, over_a_write, from_each, by_entries, in_one_call;

static void note_frame(struct frames *frames, const struct sw_frame *frame)
{
    assert_in_range(frames->count, 0, MOST - 1);
    frames->at[frames->count++] = *frame;
}

static void note_batches(struct frames *frames, struct sw_walk *walk)
{
    static struct sw_batch batch;
    while (sw_batch_take(walk, &batch) != 0)
        for (unsigned n = 0; n < batch.count; n++) {
            sw_batch_go(walk, SW_MACHINE_X64, &batch.frames[n]);
            sw_batch_arrive(walk, &batch, n);
            note_frame(frames, &walk->frame);
        }
}

static void walk_frames(struct frames *frames, const struct sw_walker *walker, const struct sw_regs *start, bool exact)
{
    struct sw_walk walk;
    frames->count = 0;
    sw_walk_start(&walk, walker, &world.scratch, start, exact);
    struct sw_replay *replay = walker->cache ? sw_batch_use_replay(&walk, NULL) : NULL;
    while (sw_walk_next(&walk)) {
        note_frame(frames, &walk.frame);
        if (walker->cache)
            note_batches(frames, &walk);
    }
    sw_trace_close(replay);
}

static void compare_frames(const struct frames *others)
{
    assert_int_equal(others->count, one_by_one.count);
    for (size_t i = 0; i < one_by_one.count; i++) {
        const struct sw_frame *a = &one_by_one.at[i], *b = &others->at[i];
        assert_int_equal(b->regs.known, a->regs.known);
        for (unsigned n = 0; n < SW_REGS_MAX; n++)
            if (sw_regs_has(&a->regs, n))
                assert_int_equal(b->regs.r[n], a->regs.r[n]);
        assert_int_equal(b->lookup, a->lookup);
        assert_int_equal(b->exact, a->exact);
        assert_int_equal(b->code.id, a->code.id);
        assert_int_equal(b->code.kind, a->code.kind);
    }
}

/* A walk whose start knows some registers, and rax or not. What is unknown holds what is there: none may rely on it. */
static void compare_batches(const struct sw_walker *walker, const struct sw_regs *start, bool exact)
{
    struct sw_walker ways[WAYS];
    put_ways(ways, walker);
    walk_frames(&one_by_one, walker, start, exact);
    assert_in_range(one_by_one.count, 2 * LEAVES, MOST);
    for (size_t i = 0; i < WAYS; i++) {
        walk_frames(&in_batches, &ways[i], start, exact);
        compare_frames(&in_batches);
    }
}

static void batches_of_any_registers(void)
{
    static const unsigned others[] = { SW_X64_RBX, SW_X64_R12, SW_X64_R13, SW_X64_R14, SW_X64_R15, SW_X64_RAX };
    struct sw_regs start, inside;
    struct sw_walker walker;
    sw_self_capture(&start);
    assert_int_equal(sw_self_walker(&walker, world.codemap, world.images), SW_OK);
    walker.budget = SW_WALK_BUDGET_UNLIMITED;
    assert_int_equal(sw_walk_all(&walker, &world.scratch, &start, stop_at_a_return_address, &inside), SW_STOP_ABORTED);
    sw_regs_set(&start, SW_X64_RAX, 0x5a5a);
    sw_regs_set(&inside, SW_X64_RAX, 0x5a5a);
    for (unsigned subset = 0; subset < 1u << COUNT_OF(others); subset++) {
        struct sw_regs from = start, between = inside;
        for (unsigned i = 0; i < COUNT_OF(others); i++)
            if (!(subset >> i & 1)) {
                from.known &= ~(UINT64_C(1) << others[i]);
                between.known &= ~(UINT64_C(1) << others[i]);
            }
        compare_batches(&walker, &from, true);
        compare_batches(&walker, &between, false);
        compare_batches(&walker, &between, true);
    }
    /* From each frame, with a register that callers lose: whatever kind of step leads out of it. */
    walk_frames(&from_each, &walker, &start, true);
    for (size_t i = 1; i + 2 * LEAVES < from_each.count; i++) {
        sw_regs_set(&from_each.at[i].regs, SW_X64_RAX, 0x5a5a);
        compare_batches(&walker, &from_each.at[i].regs, false);
    }
    atomic_signal_fence(memory_order_seq_cst);
}

static void batches_are_the_same_whatever_is_known(void **state)
{
    run(*state, 0, batches_of_any_registers);
}

/* ---- whole walks in one call ---- */

/* What a sink is told, which ends the walk behind `most` frames, and before that lets another thread write. */
static struct hearing {
    struct frames *to;
    size_t most, write_behind;
    struct sw_cache *written;
} hearing;

static bool hear_frame(void *arg, const struct sw_frame *frame)
{
    const struct hearing *h = arg;
    note_frame(h->to, frame);
    if (h->to->count == h->write_behind)
        atomic_fetch_add(&h->written->generation, 1);
    return h->to->count < h->most;
}

static void walk_whole(struct frames *frames, const struct sw_walker *walker, const struct sw_regs *start, size_t most)
{
    hearing = (struct hearing){ frames, most, 0, NULL };
    frames->count = 0;
    frames->stop = sw_walk_all(walker, &world.scratch, start, hear_frame, &hearing);
}

/* One by one, by entries only; as far as a sink lets it. */
static void walk_by_entries(struct frames *frames, const struct sw_walker *walker, const struct sw_regs *start,
                            size_t most)
{
    struct sw_walk walk;
    frames->count = 0;
    sw_walk_start(&walk, walker, &world.scratch, start, true);
    while (frames->count < most && sw_walk_next(&walk))
        note_frame(frames, &walk.frame);
    frames->stop = frames->count < most ? walk.stop : SW_STOP_ABORTED;
}

/* In every detail as frames one by one, which know the same entries. */
static void compare_whole(const struct sw_walker *walker, const struct sw_regs *start, size_t most)
{
    walk_by_entries(&by_entries, walker, start, most);
    const uint64_t before = sw_cache_get_counts(world.cache).hits;
    walk_by_entries(&by_entries, walker, start, most);
    const uint64_t between = sw_cache_get_counts(world.cache).hits;
    walk_whole(&in_one_call, walker, start, most);
    if (by_entries.stop != SW_STOP_ABORTED) /* which sw_walk_next is not told */
        assert_int_equal(sw_cache_get_counts(world.cache).hits - between, between - before);
    assert_int_equal(in_one_call.stop, by_entries.stop);
    assert_int_equal(in_one_call.count, by_entries.count);
    for (size_t i = 0; i < by_entries.count; i++) {
        const struct sw_frame *a = &by_entries.at[i], *b = &in_one_call.at[i];
        assert_int_equal(b->source, a->source);
        assert_int_equal(b->trust, a->trust);
        assert_memory_equal(&b->code, &a->code, sizeof a->code);
    }
    memcpy(&one_by_one, &by_entries, sizeof one_by_one);
    compare_frames(&in_one_call);
}

/* The code of `last`, which called the test, has another id; all entries were gone through since then. */
static void change_last(const struct sw_walker *walker, const struct sw_regs *start)
{
    struct sw_range range;
    uint64_t begin;
    memcpy(&begin, &world.jit, sizeof begin);
    begin += LAST - FIRST;
    assert_int_equal(sw_codemap_find(world.codemap, begin, &range), SW_OK);
    range.id++;
    assert_int_equal(sw_codemap_remove(world.codemap, begin), SW_OK);
    assert_int_equal(sw_codemap_add(world.codemap, &range), SW_OK);
    do {
        struct sw_walk walk;
        sw_walk_start(&walk, walker, &world.scratch, start, true);
    } while (!sw_walk_scratch_of(&world.scratch)->lane.holds);
}

static void whole_walks_all_ways(void)
{
    static const unsigned others[] = { SW_X64_RBX, SW_X64_R12, SW_X64_R15, SW_X64_RSI, SW_X64_RAX, SW_X64_RBP };
    struct sw_regs start;
    struct sw_walker walker;
    sw_self_capture(&start);
    assert_int_equal(sw_self_walker(&walker, world.codemap, world.images), SW_OK);
    walker.budget = SW_WALK_BUDGET_UNLIMITED;
    walk_frames(&one_by_one, &walker, &start, true);
    const size_t all = one_by_one.count;
    walker.analysis_cache = world.analysis;
    walker.cache = world.cache;
    walk_whole(&in_one_call, &walker, &start, MOST);
    compare_frames(&in_one_call);
    for (size_t most = 1; most < all + 2; most++)
        compare_whole(&walker, &start, most);
    for (walker.max_frames = 1; walker.max_frames < all + 2; walker.max_frames++)
        compare_whole(&walker, &start, MOST);
    walker.max_frames = 0;
    for (unsigned subset = 0; subset < 1u << COUNT_OF(others); subset++) {
        struct sw_regs from = start;
        for (unsigned i = 0; i < COUNT_OF(others); i++) {
            sw_regs_set(&from, others[i], others[i] == SW_X64_RBP ? sw_regs_fp(&start) : 0x5a5a + i);
            from.known &= ~((uint64_t)(subset >> i & 1) << others[i]);
        }
        compare_whole(&walker, &from, MOST);
    }
    walk_by_entries(&from_each, &walker, &start, MOST);
    for (size_t i = 1; i < from_each.count; i++) /* as if it had been interrupted there */
        compare_whole(&walker, &from_each.at[i].regs, MOST);
    change_last(&walker, &start);
    walk_whole(&in_one_call, &walker, &start, MOST);
    walker.cache = NULL;
    walk_frames(&one_by_one, &walker, &start, true);
    compare_frames(&in_one_call);
    walker.cache = world.cache;
    walker.memory.window.begin = sw_regs_sp(&start);
    walker.memory.window.bytes = (const uint8_t *)(uintptr_t)sw_regs_sp(&start);
    compare_whole(&walker, &start, MOST);
    atomic_signal_fence(memory_order_seq_cst);
}

static void a_whole_walk_tells_what_frames_one_by_one_tell(void **state)
{
    run(*state, 0, whole_walks_all_ways);
}

/* ---- another thread writes entries meanwhile ---- */

/* Behind that frame, what the walk has read of entries may be of other ones: their values are as they were. */
static void walk_over_a_write(struct frames *frames, const struct sw_walker *walker, const struct sw_regs *start,
                              size_t behind)
{
    struct sw_walk walk;
    frames->count = 0;
    sw_walk_start(&walk, walker, &world.scratch, start, true);
    while (sw_walk_next(&walk)) {
        note_frame(frames, &walk.frame);
        if (frames->count == behind)
            atomic_fetch_add(&walker->cache->generation, 1);
    }
}

static void writes_behind_each_frame(void)
{
    struct sw_regs start;
    struct sw_walker walker;
    struct sw_walker ways[WAYS];
    sw_self_capture(&start);
    assert_int_equal(sw_self_walker(&walker, world.codemap, world.images), SW_OK);
    walker.budget = SW_WALK_BUDGET_UNLIMITED;
    walk_frames(&one_by_one, &walker, &start, true);
    assert_in_range(one_by_one.count, 2 * LEAVES, MOST);
    put_ways(ways, &walker);
    for (size_t i = 0; i < WAYS; i++)
        for (size_t behind = 0; behind <= one_by_one.count; behind++) {
            walk_over_a_write(&over_a_write, &ways[i], &start, behind);
            compare_frames(&over_a_write);
            hearing = (struct hearing){ &over_a_write, MOST, behind, ways[i].cache };
            over_a_write.count = 0;
            over_a_write.stop = sw_walk_all(&ways[i], &world.scratch, &start, hear_frame, &hearing);
            compare_frames(&over_a_write);
        }
    atomic_signal_fence(memory_order_seq_cst);
}

static void a_write_meanwhile_changes_no_frame(void **state)
{
    run(*state, 0, writes_behind_each_frame);
}

int main(void)
{
    enum { EVERY = COUNT_OF(kind_rows) };
    struct CMUnitTest tests[6 * EVERY];
    FILL_ROWS(tests, kind_rows, a_cached_walk_tells_the_same);
    FILL_ROWS(tests + EVERY, kind_rows, a_cached_walk_tells_the_same_of_every_native_frame);
    FILL_ROWS(tests + 2 * EVERY, kind_rows, cached_addresses_are_the_same);
    FILL_ROWS(tests + 3 * EVERY, kind_rows, batches_are_the_same_whatever_is_known);
    FILL_ROWS(tests + 4 * EVERY, kind_rows, a_write_meanwhile_changes_no_frame);
    FILL_ROWS(tests + 5 * EVERY, kind_rows, a_whole_walk_tells_what_frames_one_by_one_tell);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
MAIN_THAT_NEEDS_X64
#endif
