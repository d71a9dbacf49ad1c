/*
 * A small scratch is all that walks by tables use; what a walker asks for and this version does not know is refused.
 */
#include "rows.h"
#include "walk/scratch.h"

#include <snapwalk/self.h>
#include <snapwalk/sim.h>
#include <snapwalk/summary.h>

#include <string.h>
#include <sys/mman.h>

enum { MOST = 64, PATTERN = 0xa5, PAGE = 4096, JIT = 0x10000, STACK = 0x700000, THREAD = 7, JIT_ID = 1001 };

static struct sw_scratch whole;
static struct sw_images *images;
static struct sw_walker by_tables;

struct pcs {
    size_t count;
    uint64_t pc[MOST];
};

static bool note(void *arg, const struct sw_frame *frame)
{
    struct pcs *pcs = arg;
    if (pcs->count < MOST)
        pcs->pc[pcs->count++] = sw_regs_pc(&frame->regs);
    return true;
}

/* A scratch of so many bytes, behind which nothing may be touched. */
static struct sw_scratch *fenced(size_t bytes)
{
    const size_t pages = (bytes + PAGE - 1) / PAGE * PAGE;
    uint8_t *block = mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(block, MAP_FAILED);
    assert_int_equal(mprotect(block + pages, PAGE, PROT_NONE), 0);
    memset(block, PATTERN, pages);
    return (struct sw_scratch *)(void *)(block + pages - bytes);
}

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_int_equal(sw_self_walker(&by_tables, NULL, images), SW_OK);
    by_tables.flags = SW_WALK_NO_ANALYSIS;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sw_images_destroy(images);
    return 0;
}

static void a_walk_by_tables_needs_a_small_scratch_only(void **state)
{
    struct sw_scratch *small = fenced(SW_SCRATCH_TABLES_BYTES);
    const uint8_t *bytes = (const uint8_t *)small;
    struct sw_walker walker = by_tables;
    struct sw_regs here;
    struct pcs known = { 0 }, found = { 0 };
    struct sw_frame_summary frames[MOST];
    uint64_t pcs[MOST];
    enum sw_stop stop;
    (void)state;
    walker.scratch_bytes = SW_SCRATCH_TABLES_BYTES;
    sw_self_capture(&here);
    assert_int_equal(sw_walk_all(&by_tables, &whole, &here, note, &known), SW_STOP_ROOT);
    assert_true(known.count > 2);
    assert_int_equal(sw_walk_all(&walker, small, &here, note, &found), SW_STOP_ROOT);
    assert_memory_equal(&known, &found, sizeof known);
    assert_int_equal(sw_walk_addresses(&walker, small, &here, true, pcs, MOST, &stop), known.count);
    assert_memory_equal(pcs, known.pc, known.count * sizeof pcs[0]);
    assert_int_equal(sw_walk_summaries(&walker, small, &here, true, frames, MOST, &stop), known.count);
    assert_int_equal(stop, SW_STOP_ROOT);
    for (size_t i = 0; i < known.count; i++)
        assert_true(frames[i].pc == known.pc[i]);
    for (size_t i = offsetof(struct sw_walk_scratch, work.spare_rule); i < SW_SCRATCH_TABLES_BYTES; i++)
        assert_int_equal(bytes[i], PATTERN);
}

/* push rbp; mov rbp, rsp; call x; pop rbp; ret */
static const uint8_t function[] = { 0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 1, 0, 0x5d, 0xc3 };

static HRESULT SW_COM_CALL count_frames(FunctionID id, UINT_PTR ip, COR_PRF_FRAME_INFO info, ULONG32 size,
                                        BYTE context[], void *arg)
{
    (void)id, (void)ip, (void)info, (void)size, (void)context;
    ++*(unsigned *)arg;
    return S_OK;
}

static struct sw_sim *simulated(void)
{
    const uint64_t stack[] = { STACK + 16, JIT + 9, 0, 0 };
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    struct sw_sim *sim;
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_X64, &sim), SW_OK);
    assert_int_equal(sw_sim_bytes(sim, JIT, function, sizeof function), SW_OK);
    assert_int_equal(sw_sim_range(sim, SW_KIND_JIT, JIT, JIT + sizeof function, JIT_ID), SW_OK);
    assert_int_equal(sw_sim_words(sim, STACK, stack, COUNT_OF(stack)), SW_OK);
    sw_regs_set(&regs, SW_X64_RIP, JIT + 4);
    sw_regs_set(&regs, SW_X64_RSP, STACK);
    sw_regs_set(&regs, SW_X64_RBP, STACK);
    assert_int_equal(sw_sim_thread(sim, THREAD, &regs), SW_OK);
    return sim;
}

static void so_does_a_snapshot(void **state)
{
    struct sw_scratch *small = fenced(SW_SCRATCH_TABLES_BYTES);
    struct sw_sim *sim = simulated();
    struct sw_walker *walker = sw_sim_walker(sim);
    unsigned known = 0, frames = 0;
    (void)state;
    walker->flags = SW_WALK_NO_ANALYSIS;
    const HRESULT hr = sw_snapshot(sw_sim_engine(sim), &whole, THREAD, count_frames, 1, &known, NULL, 0);
    walker->scratch_bytes = SW_SCRATCH_TABLES_BYTES;
    assert_int_equal(sw_snapshot(sw_sim_engine(sim), small, THREAD, count_frames, 1, &frames, NULL, 0), hr);
    assert_int_equal(frames, known);
    assert_int_equal(frames, 2);
    sw_sim_destroy(sim);
}

static const struct row {
    const char *name;
    uint32_t scratch_bytes;
    uint32_t flags;
    uint64_t reserved;
} refused[] = {
    { "a_small_scratch_with_analysis", SW_SCRATCH_TABLES_BYTES, 0, 0 },
    { "a_scratch_that_is_too_small", SW_SCRATCH_TABLES_BYTES - 1, SW_WALK_NO_ANALYSIS, 0 },
    { "a_member_of_a_later_version", 0, 0, 1 },
};

static void it_is_refused(void **state)
{
    const struct row *row = *state;
    struct sw_sim *sim = simulated();
    struct sw_walker *walker = sw_sim_walker(sim);
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    struct sw_walk walk;
    struct sw_frame_summary summary;
    unsigned frames = 0;
    enum sw_stop stop;
    uint64_t pc;
    sw_regs_set(&regs, SW_X64_RIP, JIT + 4);
    sw_regs_set(&regs, SW_X64_RSP, STACK);
    walker->flags = row->flags;
    walker->scratch_bytes = row->scratch_bytes;
    for (size_t i = 0; i < COUNT_OF(walker->reserved); i++) {
        walker->reserved[i] = row->reserved;
        if (row->reserved == 0 && i != 0)
            continue;
        sw_walk_start(&walk, walker, &whole, &regs, true);
        assert_false(sw_walk_next(&walk));
        assert_int_equal(walk.stop, SW_STOP_BAD_START);
        assert_int_equal(walk.fault.status, SW_E_ARGUMENT);
        assert_int_equal(sw_walk_addresses(walker, &whole, &regs, true, &pc, 1, &stop), 0);
        assert_int_equal(stop, SW_STOP_BAD_START);
        assert_int_equal(sw_walk_summaries(walker, &whole, &regs, true, &summary, 1, &stop), 0);
        assert_int_equal(stop, SW_STOP_BAD_START);
        assert_int_equal(sw_snapshot(sw_sim_engine(sim), &whole, THREAD, count_frames, 1, &frames, NULL, 0),
                         E_INVALIDARG);
        walker->reserved[i] = 0;
    }
    assert_int_equal(frames, 0);
    sw_sim_destroy(sim);
}

static void an_engine_of_a_later_version_is_refused(void **state)
{
    struct sw_sim *sim = simulated();
    struct sw_engine *engine = sw_sim_engine(sim);
    unsigned frames = 0;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(engine->reserved); i++) {
        engine->reserved[i] = 1;
        assert_int_equal(sw_snapshot(engine, &whole, THREAD, count_frames, 1, &frames, NULL, 0), E_INVALIDARG);
        engine->reserved[i] = 0;
    }
    assert_int_equal(sw_snapshot(engine, &whole, THREAD, count_frames, 1, &frames, NULL, 0), S_OK);
    assert_int_equal(frames, 2);
    sw_sim_destroy(sim);
}

int main(void)
{
    struct CMUnitTest tests[3 + COUNT_OF(refused)] = {
        cmocka_unit_test(a_walk_by_tables_needs_a_small_scratch_only),
        cmocka_unit_test(so_does_a_snapshot),
        cmocka_unit_test(an_engine_of_a_later_version_is_refused),
    };
    size_t n = 3;
    ADD_ROWS(tests, n, refused, it_is_refused);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
