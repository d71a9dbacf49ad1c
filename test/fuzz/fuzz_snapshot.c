/*
 * Whole calls of the contract over a random target: engine state, flags, seeds, thread ids, ranges, transition records,
 * code bytes and stack words all come from the input. Whatever it is: the call ends, its HRESULT is a known one, there
 * are no more callbacks than frames allowed, every suspend is undone, no hold is left.
 */
#include <snapwalk/context.h>
#include <snapwalk/sim.h>

#include <stdlib.h>
#include <string.h>

enum {
    CODE = 0x10000,
    CODE_BYTES = 512,
    STACK = 0x70000,
    STACK_WORDS = 96,
    MOST_FRAMES = 40,
    RANGES = 12,
    RECORDS = 5
};

struct input {
    const uint8_t *at;
    size_t left;
};

/* What the callback does and counts. */
struct watch {
    struct sw_engine *engine;
    struct sw_scratch *scratch;
    unsigned calls;
    uint8_t abort_at;
    uint8_t nest_at;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t take(struct input *in, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes && in->left > 0; i++, in->at++, in->left--)
        value |= (uint64_t)*in->at << (8 * i);
    return value;
}

static void expect(bool good)
{
    if (!good)
        abort();
}

/* An address that is likely to matter: in the code, on the stack, or anything. */
static uint64_t take_address(struct input *in)
{
    const uint64_t how = take(in, 1);
    if (how < 100)
        return CODE + take(in, 2) % CODE_BYTES;
    if (how < 200)
        return STACK + take(in, 1) % STACK_WORDS * 8;
    return how < 220 ? how - 200 : take(in, 8);
}

static struct sw_regs take_regs(struct input *in, enum sw_machine machine)
{
    struct sw_regs regs = { .machine = machine, .known = take(in, 1) < 200 ? UINT64_MAX : take(in, 8) };
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        regs.r[n] = UINT64_C(0x1111111111) * n;
    regs.known &= (UINT64_C(1) << sw_regs_count(machine)) - 1;
    regs.r[sw_regs_pc_number(machine)] = take_address(in);
    regs.r[sw_regs_sp_number(machine)] = take_address(in);
    regs.r[sw_regs_fp_number(machine)] = take_address(in);
    return regs;
}

static HRESULT SW_COM_CALL watch_callback(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO info,
                                          ULONG32 context_size, BYTE context[], void *client_data)
{
    struct watch *watch = client_data;
    struct sw_frame_info read;
    expect(++watch->calls <= MOST_FRAMES);
    expect(sw_frame_info_read(watch->engine, info, &read) == S_OK);
    expect(read.function == function && read.ip == ip);
    expect((context == NULL) == (context_size == 0));
    expect(sw_frame_info_read(watch->engine, info + 8, &read) == E_INVALIDARG);
    if (context)
        memset(context, 0xff, context_size);
    if (watch->calls == watch->nest_at) {
        const unsigned calls = watch->calls;
        const HRESULT hr = sw_snapshot(watch->engine, watch->scratch, 1, watch_callback, 0, watch, NULL, 0);
        expect((hr == S_OK || hr == CORPROF_E_STACKSNAPSHOT_UNSAFE) && watch->calls == calls); /* S_OK: a GC thread */
    }
    return watch->calls == watch->abort_at ? (HRESULT)watch->abort_at : S_OK;
}

static void put_memory(struct sw_sim *sim, struct input *in)
{
    uint8_t code[CODE_BYTES];
    uint64_t words[STACK_WORDS];
    for (size_t i = 0; i < STACK_WORDS; i++)
        words[i] = take_address(in);
    for (size_t i = 0; i < CODE_BYTES; i++)
        code[i] = (uint8_t)take(in, 1);
    expect(sw_sim_bytes(sim, CODE, code, sizeof code) == SW_OK);
    expect(sw_sim_words(sim, STACK, words, STACK_WORDS) == SW_OK);
}

static void put_ranges(struct sw_sim *sim, struct input *in)
{
    const uint64_t count = take(in, 1) % RANGES;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t begin = CODE + take(in, 2) % CODE_BYTES;
        const struct sw_range range = { .begin = begin,
                                        .end = begin + take(in, 1),
                                        .id = take(in, 1),
                                        .kind = (uint8_t)(take(in, 1) % 6),
                                        .unwind = (uint8_t)(take(in, 1) % 5),
                                        .flags = (uint16_t)(take(in, 1) % 4) };
        const enum sw_status status = sw_codemap_add(sw_sim_codemap(sim), &range);
        (void)status; /* bad ranges are refused, which is tested elsewhere */
    }
}

static void put_thread(struct sw_sim *sim, struct input *in, struct sw_transition records[RECORDS])
{
    const enum sw_machine machine = sw_sim_walker(sim)->machine;
    const struct sw_regs regs = take_regs(in, machine);
    struct sw_thread thread = { .id = 1, .os_id = 1, .transitions = records };
    thread.mode = (enum sw_mode)(take(in, 1) % 3);
    thread.flags = take(in, 1) < 128 ? 0 : (uint32_t)take(in, 1);
    thread.transition_count = take(in, 1) % (RECORDS + 1);
    if (take(in, 1) < 128) {
        thread.stack_begin = take_address(in);
        thread.stack_end = take_address(in);
    }
    for (size_t i = 0; i < thread.transition_count; i++) {
        records[i].has_method = take(in, 1) & 1;
        records[i].address = take_address(in);
        records[i].regs = take_regs(in, take(in, 1) < 250 ? machine : SW_MACHINE_NONE);
    }
    expect(sw_sim_thread(sim, 1, &regs) == SW_OK);
    expect(sw_sim_thread(sim, 2, &regs) == SW_OK);
    expect(sw_threads_update(sw_sim_threads(sim), &thread) == SW_OK);
}

static void set_engine(struct sw_sim *sim, struct input *in)
{
    static const ULONG32 sizes[] = { 0, 1232, 3104, 3232, 912, 992, 7, 1504 };
    struct sw_engine *engine = sw_sim_engine(sim);
    engine->flavour = (enum sw_flavour)(take(in, 1) % (SW_FLAVOUR_COUNT + 1));
    const uint32_t options = (uint32_t)(take(in, 1) % 8);
    engine->options = (options & 3u) | (options & 4u ? SW_ENGINE_BOTH_ENDS : 0);
    engine->runtime = take(in, 1) < 200 ? (uint32_t)SW_RUNTIME_READY : (uint32_t)take(in, 1);
    engine->event_mask = take(in, 1) < 250 ? (DWORD)COR_PRF_ENABLE_STACK_SNAPSHOT : 0;
    engine->context_size = sizes[take(in, 1) % 8];
    sw_sim_walker(sim)->max_frames = MOST_FRAMES;
    sw_sim_walker(sim)->flags = (uint32_t)(take(in, 1) % 8);
    sw_sim_run_as(sim, take(in, 1) % 4);
    sw_sim_fail_suspend(sim, take(in, 1) < 240 ? SW_OK : (enum sw_status)(take(in, 1) % SW_STATUS_COUNT));
}

static bool is_known(HRESULT hr)
{
    static const HRESULT known[] = { S_OK,
                                     E_FAIL,
                                     E_NOTIMPL,
                                     E_INVALIDARG,
                                     E_UNEXPECTED,
                                     CORPROF_E_PROFILER_DETACHING,
                                     CORPROF_E_INCONSISTENT_WITH_FLAGS,
                                     CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD,
                                     CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX,
                                     CORPROF_E_STACKSNAPSHOT_UNSAFE,
                                     CORPROF_E_STACKSNAPSHOT_ABORTED };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (hr == known[i])
            return true;
    return false;
}

/* The seed lies at the end of a block of its own, so that a read beyond it is seen. */
static HRESULT call(struct sw_sim *sim, struct sw_scratch *scratch, struct input *in)
{
    struct watch watch = { .engine = sw_sim_engine(sim), .scratch = scratch };
    const struct sw_regs regs = take_regs(in, sw_sim_walker(sim)->machine);
    const ULONG32 size = take(in, 1) < 200 ? 1232 : (ULONG32)take(in, 2) % 1300;
    const ThreadID thread = take(in, 1) < 230 ? take(in, 1) % 4 : (ThreadID)take(in, 8);
    const ULONG32 flags = take(in, 1) < 240 ? (ULONG32)(take(in, 1) % 2) : (ULONG32)take(in, 4);
    BYTE *context = take(in, 1) & 1 ? malloc(size ? size : 1) : NULL;
    BYTE whole[1232];
    expect(sw_context_store(SW_CONTEXT_WIN32, &regs, whole, sizeof whole) == SW_OK);
    if (context) {
        memset(context, 0, size);
        memcpy(context, whole, size < sizeof whole ? size : sizeof whole);
    }
    watch.abort_at = (uint8_t)take(in, 1);
    watch.nest_at = (uint8_t)take(in, 1);
    const HRESULT hr =
        sw_snapshot(watch.engine, scratch, thread, take(in, 1) ? watch_callback : NULL, flags, &watch, context, size);
    free(context);
    return hr;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sw_scratch scratch;
    struct input in = { data, size };
    struct sw_transition records[RECORDS];
    struct sw_sim *sim;
    memset(records, 0, sizeof records);
    expect(sw_sim_create(NULL, take(&in, 1) & 1 ? SW_MACHINE_ARM64 : SW_MACHINE_X64, &sim) == SW_OK);
    set_engine(sim, &in);
    put_ranges(sim, &in);
    put_thread(sim, &in, records);
    for (unsigned i = 0; i < 2; i++) {
        const HRESULT hr = call(sim, &scratch, &in);
        expect(is_known(hr));
        expect(hr == S_OK || sw_sim_engine(sim)->flavour >= SW_FLAVOUR_COUNT || sw_sim_engine(sim)->refusal.hr == hr);
        if (i == 0)
            put_memory(sim, &in);
    }
    for (uint64_t id = 1; id <= 2; id++) {
        const struct sw_sim_counts counts = sw_sim_get_counts(sim, id);
        expect(counts.outstanding == 0 && counts.suspended == counts.resumed);
        expect(sw_threads_remove(sw_sim_threads(sim), id) == SW_OK);
    }
    sw_sim_destroy(sim);
    return 0;
}
