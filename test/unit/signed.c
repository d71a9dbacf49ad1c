/*
 * Signed code addresses (ARM64) in every place that a walk and the contract take addresses from, with the mask given
 * and derived, for addresses of 48 and 52 bits, of both halves of the address space, with and without tags. Simulated,
 * so that it runs on any host.
 */
#include "rows.h"

#include <snapwalk/context.h>
#include <snapwalk/profiler_info.h>
#include <snapwalk/sim.h>

#include <string.h>

enum { JIT = 'J', LEAF = 'L', THREAD = 1 };
enum { BEHIND_CALL = 0x10, AT_LEAF = 0x100, TRAMPOLINE = 0x200, HELPER = 0x300 };
enum { STACK = 0x700000, SIGNAL_FRAME = 0x6f0000, RECORDS = 2 };

/* paciasp; stp x29, x30, [sp, #-16]!; mov x29, sp; blr x8; ldp x29, x30, [sp], #16; autiasp; ret */
static const uint32_t framed[] = { 0xd503233f, 0xa9bf7bfd, 0x910003fd, 0xd63f0100, 0xa8c17bfd, 0xd50323bf, 0xd65f03c0 };
static const uint32_t leaf[] = { 0xd503201f, 0xd65f03c0 };       /* nop; ret */
static const uint32_t trampoline[] = { 0xd2801168, 0xd4000001 }; /* mov x8, #139; svc #0 */

#define SIGNATURE   UINT64_C(0x5a5a5a5a5a5a5a5a)
#define WITH_TAGS   UINT64_C(0x007f000000000000) /* where the processor ignores tags: Linux */
#define WITHOUT     UINT64_C(0xff7f000000000000) /* where it does not */
#define OF_52       UINT64_C(0x0070000000000000)
#define TAG         UINT64_C(0xff00000000000000)
#define PROGRAM     UINT64_C(0x0000aaaaaaaa0000)
#define LOW_PROGRAM UINT64_C(0x0000000000400000)
#define WIDE        UINT64_C(0x000faaaaaaaa0000)
#define KERNEL      UINT64_C(0xffff800012340000)

/* given: to the walker.  changed: the bits of code addresses that hold something else.  base: of the code. */
static const struct row {
    const char *name;
    uint64_t given;
    uint64_t changed;
    uint64_t base;
} rows[] = {
    { "given", WITH_TAGS, WITH_TAGS, PROGRAM },
    { "given_and_tagged", WITH_TAGS, WITH_TAGS | TAG, PROGRAM },
    { "given_without_tags", WITHOUT, WITHOUT, PROGRAM },
    { "given_of_52_bits", OF_52, OF_52, WIDE },
    { "given_in_the_kernel", WITH_TAGS, WITH_TAGS, KERNEL },
    { "given_with_bit_55", WITHOUT | UINT64_C(1) << 55, WITHOUT, PROGRAM },
    { "never_signed_52_bits", TAG, 0, WIDE },
    { "derived", 0, WITH_TAGS, PROGRAM },
    { "derived_low", 0, WITH_TAGS, LOW_PROGRAM },
    { "derived_and_tagged", 0, WITH_TAGS | TAG, PROGRAM },
    { "derived_where_nothing_is_signed", 0, 0, PROGRAM },
    { "derived_of_52_bits", 0, OF_52, WIDE },
    { "derived_of_52_bits_below", 0, OF_52, PROGRAM },
    { "derived_in_the_kernel", 0, WITH_TAGS, KERNEL },
    { "derived_in_the_kernel_unsigned", 0, 0, KERNEL },
};

static struct sw_scratch scratch;
static struct sw_sim *sim;
static const struct row *row;
static bool in_map;
static char heard[16];

static uint64_t plain(uint64_t offset)
{
    return row->base + offset;
}

/* As the target holds it: all that may differ does. */
static uint64_t held(uint64_t offset)
{
    const uint64_t changed = row->changed & ~(UINT64_C(1) << 55);
    return (plain(offset) & ~changed) | (SIGNATURE & changed);
}

static bool find(void *arg, uint64_t address, struct sw_range *code)
{
    (void)arg;
    assert_true(address >= plain(0) && address < plain(HELPER + 0x100));
    *code = (struct sw_range){ .begin = plain(AT_LEAF),
                               .end = plain(AT_LEAF) + sizeof leaf,
                               .id = LEAF,
                               .kind = SW_KIND_JIT,
                               .unwind = SW_UNWIND_LEAF };
    if (address < code->begin)
        *code = (struct sw_range){ .begin = plain(0), .end = plain(0) + sizeof framed, .id = JIT, .kind = SW_KIND_JIT };
    return address < code->end;
}

static void put_code(uint64_t offset, const void *bytes, size_t size)
{
    struct sw_range range;
    assert_int_equal(sw_sim_bytes(sim, plain(offset), bytes, size), SW_OK);
    if (in_map && find(NULL, plain(offset), &range))
        assert_int_equal(sw_codemap_add(sw_sim_codemap(sim), &range), SW_OK);
}

static struct sw_regs regs_at(uint64_t pc, uint64_t sp)
{
    struct sw_regs regs = { .machine = SW_MACHINE_ARM64 };
    for (unsigned n = 0; n < SW_ARM64_COUNT; n++)
        sw_regs_set(&regs, n, 0xbad00000 + n * 0x1001);
    sw_regs_set(&regs, SW_ARM64_FP, STACK);
    sw_regs_set(&regs, SW_ARM64_LR, held(BEHIND_CALL));
    sw_regs_set(&regs, SW_ARM64_SP, sp);
    sw_regs_set(&regs, SW_ARM64_PC, pc);
    return regs;
}

static void prepare(bool has_map)
{
    const uint64_t records[2 * RECORDS] = { STACK + 16, held(BEHIND_CALL), 0, 0 };
    uint64_t frame[128] = { 0 };
    const struct sw_regs interrupted = regs_at(held(AT_LEAF), STACK);
    in_map = has_map;
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_ARM64, &sim), SW_OK);
    sw_sim_walker(sim)->pac_mask = row->given;
    put_code(0, framed, sizeof framed);
    put_code(AT_LEAF, leaf, sizeof leaf);
    put_code(TRAMPOLINE, trampoline, sizeof trampoline);
    put_code(HELPER, leaf, sizeof leaf);
    assert_int_equal(sw_sim_words(sim, STACK, records, 2 * RECORDS), SW_OK);
    for (unsigned n = 0; n < SW_ARM64_COUNT; n++) /* contexts.md section 4 */
        frame[(128 + 184) / 8 + n] = interrupted.r[n];
    assert_int_equal(sw_sim_words(sim, SIGNAL_FRAME, frame, COUNT_OF(frame)), SW_OK);
}

/* The rest of every walk here: framed code twice, by its records. */
static void is_walked_on(struct sw_walk *walk)
{
    for (unsigned i = 0; i < RECORDS; i++) {
        assert_true(sw_walk_next(walk));
        assert_true(sw_regs_pc(&walk->frame.regs) == plain(BEHIND_CALL));
        assert_int_equal(walk->frame.code.id, JIT);
        assert_int_equal(sw_regs_sp(&walk->frame.regs), STACK + 16 * i);
    }
    assert_false(sw_walk_next(walk));
    assert_int_equal(walk->stop, SW_STOP_ROOT_ZERO);
}

static void link_register_and_records(void)
{
    struct sw_walk walk;
    const struct sw_regs start = regs_at(plain(AT_LEAF), STACK);
    sw_walk_start(&walk, sw_sim_walker(sim), &scratch, &start, true);
    assert_true(sw_walk_next(&walk));
    assert_int_equal(walk.frame.code.id, LEAF);
    is_walked_on(&walk);
}

static void start(void)
{
    struct sw_walk walk;
    const struct sw_regs regs = regs_at(held(BEHIND_CALL), STACK);
    sw_walk_start(&walk, sw_sim_walker(sim), &scratch, &regs, false);
    is_walked_on(&walk);
}

static void signal_frame(void)
{
    struct sw_walk walk;
    const struct sw_regs regs = regs_at(held(TRAMPOLINE), SIGNAL_FRAME);
    sw_walk_start(&walk, sw_sim_walker(sim), &scratch, &regs, false);
    assert_true(sw_walk_next(&walk));
    assert_true(sw_walk_next(&walk));
    assert_int_equal(walk.frame.source, SW_SOURCE_SIGNAL_FRAME);
    assert_true(sw_regs_pc(&walk.frame.regs) == plain(AT_LEAF));
    is_walked_on(&walk);
}

static void finder(void)
{
    const struct sw_code_finder asked = { find, NULL };
    sw_sim_walker(sim)->finder = &asked;
    link_register_and_records();
}

static void out_of_a_cache(void)
{
    struct sw_cache *cache;
    assert_int_equal(sw_cache_create(NULL, 64, &cache), SW_OK);
    sw_sim_walker(sim)->cache = cache;
    for (unsigned i = 0; i < 3; i++)
        link_register_and_records();
    /* addresses of 48 bits only are kept */
    assert_int_equal(sw_cache_get_counts(cache).hits > 0, plain(0) < UINT64_C(1) << 48);
    sw_sim_walker(sim)->cache = NULL;
    sw_cache_destroy(cache);
}

static HRESULT SW_COM_CALL hear(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO info, ULONG32 context_size,
                                BYTE context[], void *client_data)
{
    const size_t length = strlen(heard);
    struct sw_regs regs;
    (void)info, (void)client_data;
    if (length + 1 < sizeof heard)
        heard[length] = function ? (char)function : '0';
    assert_int_equal(sw_context_load(SW_CONTEXT_WIN32, SW_MACHINE_ARM64, context, context_size, &regs), SW_OK);
    assert_true(ip >= plain(0) && ip < plain(HELPER + 0x100));
    assert_true(sw_regs_pc(&regs) == ip);
    return S_OK;
}

static void snapshot_is(const struct sw_regs *seed, const char *wanted)
{
    BYTE context[SW_CONTEXT_ARM64_BYTES];
    memset(heard, 0, sizeof heard);
    if (seed)
        assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, seed, context, sizeof context), SW_OK);
    const HRESULT hr = sw_snapshot(sw_sim_engine(sim), &scratch, THREAD, hear, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, NULL,
                                   seed ? context : NULL, seed ? sizeof context : 0);
    assert_int_equal((uint32_t)hr, S_OK);
    assert_string_equal(heard, wanted);
}

static void put_thread(uint64_t pc)
{
    const struct sw_regs regs = regs_at(pc, STACK);
    assert_int_equal(sw_sim_thread(sim, THREAD, &regs), SW_OK);
}

/* Managed code is on top, which is seen only by its plain address: then a seed is ignored. */
static void stopped_thread(void)
{
    const struct sw_regs ignored = regs_at(held(BEHIND_CALL), STACK);
    put_thread(held(AT_LEAF));
    snapshot_is(&ignored, "LJJ");
}

static void own_thread(void)
{
    sw_sim_run_as(sim, THREAD);
    stopped_thread();
}

static void seed(void)
{
    const struct sw_regs regs = regs_at(held(BEHIND_CALL), STACK);
    put_thread(held(HELPER));
    snapshot_is(&regs, "JJ");
}

static void refused_seed(void)
{
    const struct sw_regs regs = regs_at(held(HELPER), STACK);
    BYTE context[SW_CONTEXT_ARM64_BYTES];
    put_thread(held(HELPER));
    assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, &regs, context, sizeof context), SW_OK);
    const HRESULT hr = sw_snapshot(sw_sim_engine(sim), &scratch, THREAD, hear, 0, NULL, context, sizeof context);
    assert_int_equal((uint32_t)hr, (uint32_t)CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX);
    assert_true(sw_sim_engine(sim)->refusal.address == plain(HELPER));
}

/*
 * The record knows neither frame pointer nor link register: the walk from the thread's own registers, one frame below,
 * has them, and is recognised by the pc.
 */
static void transition_record(void)
{
    const uint64_t below[2] = { STACK, held(BEHIND_CALL) };
    struct sw_transition record = { .address = STACK - 8, .regs = regs_at(held(BEHIND_CALL), STACK) };
    struct sw_thread thread = { .id = THREAD, .os_id = THREAD, .transitions = &record, .transition_count = 1 };
    struct sw_regs top = regs_at(held(HELPER), STACK - 16);
    record.regs.known = UINT64_C(1) << SW_ARM64_PC | UINT64_C(1) << SW_ARM64_SP;
    assert_int_equal(sw_sim_words(sim, STACK - 16, below, 2), SW_OK);
    sw_regs_set(&top, SW_ARM64_FP, STACK - 16);
    assert_int_equal(sw_sim_thread(sim, THREAD, &top), SW_OK);
    assert_int_equal(sw_threads_update(sw_sim_threads(sim), &thread), SW_OK);
    sw_sim_engine(sim)->options |= SW_ENGINE_NO_AUTO_SEED;
    snapshot_is(NULL, "JJ");
}

static void asked_ip(void)
{
    FunctionID function = 0;
    assert_int_equal((uint32_t)sw_function_from_ip(sw_sim_engine(sim), held(BEHIND_CALL), &function), S_OK);
    assert_int_equal(function, JIT);
}

/* Hidden code is found by the third form only, which asks the code map itself. */
static void asked_ip_of_hidden_code(void)
{
    ICorProfilerInfo2 *info;
    FunctionID function = 0;
    const struct sw_range hidden = { .begin = plain(HELPER),
                                     .end = plain(HELPER) + sizeof leaf,
                                     .id = HELPER,
                                     .kind = SW_KIND_JIT,
                                     .flags = SW_RANGE_HIDDEN };
    assert_int_equal(sw_codemap_add(sw_sim_codemap(sim), &hidden), SW_OK);
    sw_sim_engine(sim)->flavour = SW_FLAVOUR_CORECLR_UNIX;
    assert_int_equal(sw_profiler_info_create(sw_sim_engine(sim), &scratch, NULL, &info), SW_OK);
    ICorProfilerInfo15 *all = (ICorProfilerInfo15 *)(void *)info;
    LPCBYTE ip = (LPCBYTE)(uintptr_t)held(HELPER);
    assert_int_equal((uint32_t)all->lpVtbl->GetFunctionFromIP3(all, ip, &function, NULL), S_OK);
    assert_int_equal(function, HELPER);
    sw_profiler_info_destroy(info);
}

static const struct place {
    const char *name;
    void (*run)(void);
    bool without_map;
} places[] = {
    { "link_register_and_records", link_register_and_records, false },
    { "start", start, false },
    { "signal_frame", signal_frame, false },
    { "out_of_a_cache", out_of_a_cache, false },
    { "finder", finder, true },
    { "stopped_thread", stopped_thread, false },
    { "own_thread", own_thread, false },
    { "seed", seed, false },
    { "refused_seed", refused_seed, false },
    { "transition_record", transition_record, false },
    { "asked_ip", asked_ip, false },
    { "asked_ip_of_hidden_code", asked_ip_of_hidden_code, false },
};

static struct test {
    char name[80];
    const struct row *row;
    const struct place *place;
} made[COUNT_OF(rows) * COUNT_OF(places)];

static void address_is_plain(void **state)
{
    const struct test *test = *state;
    row = test->row;
    prepare(!test->place->without_map);
    test->place->run();
    sw_sim_destroy(sim);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(made)];
    for (size_t i = 0; i < COUNT_OF(made); i++) {
        made[i].row = &rows[i / COUNT_OF(places)];
        made[i].place = &places[i % COUNT_OF(places)];
        snprintf(made[i].name, sizeof made[i].name, "%s_mask_%s", made[i].place->name, made[i].row->name);
        tests[i] = (struct CMUnitTest){ made[i].name, address_is_plain, NULL, NULL, &made[i] };
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
