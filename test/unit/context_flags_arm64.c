/*
 * ContextFlags of ARM64 frames. On Unix each frame behind the first managed one, which the CLR has unwound from a call,
 * says so on top of what stands there; a record with flags of its own sets them anew for its frame
 * (docs/facts/clr-arm64-observed.md, section 8).
 */
#include "rows.h"

#include <snapwalk/context.h>
#include <snapwalk/sim.h>
#include <snapwalk/snapshot.h>

#include <string.h>

#include "../support/target.h" /* last: its names are short */

enum { TARGET = 1, MOST = 8, UNWOUND = 0x20000000, SEED_FLAGS = 0x40000f, FAULT_FLAGS = 0x400007 };

/*
 * Frames from the leaf on: capital letters are managed code, others native; a walk is cut at x. record: whose registers
 * the runtime has noted, with FAULT_FLAGS; 0: no record. called: the callbacks; flags: of the first of them.
 */
static const struct unwound_row {
    const char *name;
    const char *letters, *called;
    char record;
    enum sw_flavour flavour;
    uint32_t flags[MOST];
} unwound_rows[] = {
    { "arm64_frames_that_were_unwound_say_so",
      "DCBAn",
      "DCBA0",
      0,
      SW_FLAVOUR_CORECLR_UNIX,
      { SEED_FLAGS, SEED_FLAGS | UNWOUND, SEED_FLAGS | UNWOUND, SEED_FLAGS | UNWOUND } },
    { "arm64_a_record_brings_flags_of_its_own",
      "DCxBAn",
      "DC0BA0",
      'B',
      SW_FLAVOUR_CORECLR_UNIX,
      { SEED_FLAGS, SEED_FLAGS | UNWOUND, SEED_FLAGS | UNWOUND, FAULT_FLAGS, FAULT_FLAGS | UNWOUND } },
    { "arm64_on_windows_nothing_is_said",
      "DCBAn",
      "DCBA0",
      0,
      SW_FLAVOUR_CORECLR_WINDOWS,
      { SEED_FLAGS, SEED_FLAGS, SEED_FLAGS, SEED_FLAGS } },
};

/* The registers in the n-th frame: functions at 0x1000, 0x1100, ...; frames of 32 bytes from 0x8000 on. */
static struct sw_regs regs_of(uint64_t n)
{
    struct sw_regs regs = { .machine = SW_MACHINE_ARM64 };
    sw_regs_set(&regs, SW_ARM64_PC, 0x1008 + 0x100 * n);
    sw_regs_set(&regs, SW_ARM64_SP, 0x8000 + 32 * n);
    sw_regs_set(&regs, SW_ARM64_FP, 0x8000 + 32 * n);
    return regs;
}

/* Each calls with its second instruction, and stores a frame record but for x. */
static void put_frames(const char *letters)
{
    const uint32_t code[4] = { 0, 0x94000000 };
    for (uint64_t i = 0; letters[i]; i++) {
        const bool is_last = letters[i + 1] == 0, is_managed = letters[i] <= 'Z';
        const uint64_t begin = 0x1000 + 0x100 * i, fp = 0x8000 + 32 * i;
        const uint64_t record[] = { is_last ? 0 : fp + 32, is_last ? 0 : begin + 0x108 };
        if (letters[i] != 'x')
            assert_int_equal(sw_sim_words(sim, fp, record, 2), SW_OK);
        assert_int_equal(sw_sim_bytes(sim, begin, code, sizeof code), SW_OK);
        assert_int_equal(sw_sim_range(sim, is_managed ? SW_KIND_JIT : SW_KIND_NATIVE, begin, begin + 16,
                                      is_managed ? (uint64_t)letters[i] : 0),
                         SW_OK);
    }
}

static struct seen {
    size_t count;
    char letters[MOST + 1]; /* 0 for a run of native frames */
    uint32_t flags[MOST];
} seen;

/* ContextFlags stand first in an ARM64 CONTEXT. */
static HRESULT SW_COM_CALL keep_flags(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO info, ULONG32 size,
                                      BYTE context[], void *client_data)
{
    struct seen *to = client_data;
    (void)ip, (void)info;
    assert_true(to->count < MOST && size >= 4);
    to->letters[to->count] = function ? (char)function : '0';
    memcpy(&to->flags[to->count++], context, 4); /* the machines that run this are little-endian */
    return S_OK;
}

static void unwound_frames_say_so(void **state)
{
    static struct sw_scratch scratch;
    const struct unwound_row *row = *state;
    const struct sw_regs leaf = regs_of(0);
    BYTE seed[SW_CONTEXT_ARM64_BYTES] = { 0 };
    struct sw_engine *engine = sw_sim_engine(sim);
    struct sw_transition record = { .context_flags = FAULT_FLAGS };
    struct sw_thread thread;
    engine->flavour = row->flavour;
    sw_sim_walker(sim)->flags = SW_WALK_NO_ANALYSIS;
    put_frames(row->letters);
    assert_int_equal(sw_sim_thread(sim, TARGET, &leaf), SW_OK);
    assert_int_equal(sw_threads_find(sw_sim_threads(sim), TARGET, &thread), SW_OK);
    thread.mode = SW_MODE_COOPERATIVE;
    if (row->record) {
        record.regs = regs_of((uint64_t)(strchr(row->letters, row->record) - row->letters));
        record.address = sw_regs_sp(&record.regs) - 8;
        thread.transitions = &record;
        thread.transition_count = 1;
    }
    assert_int_equal(sw_threads_update(sw_sim_threads(sim), &thread), SW_OK);
    sw_sim_run_as(sim, TARGET);
    assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, &leaf, seed, sizeof seed), SW_OK);
    seed[0] = SEED_FLAGS & 0xff;
    memset(&seen, 0, sizeof seen);
    assert_int_equal(sw_snapshot(engine, &scratch, 0, keep_flags, 1, &seen, seed, sizeof seed), S_OK);
    for (size_t i = 0; row->flags[i]; i++)
        assert_int_equal(seen.flags[i], row->flags[i]);
    assert_string_equal(seen.letters, row->called);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(unwound_rows)];
    for (size_t i = 0; i < COUNT_OF(unwound_rows); i++)
        tests[i] = (struct CMUnitTest){ unwound_rows[i].name, unwound_frames_say_so, set_up_arm64, tear_down_target,
                                        (void *)(uintptr_t)&unwound_rows[i] };
    return _cmocka_run_group_tests("context_flags_arm64", tests, COUNT_OF(tests), NULL, NULL);
}
