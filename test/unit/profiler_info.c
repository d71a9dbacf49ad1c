/*
 * A profiler author's view: everything here calls an ICorProfilerInfo that came as IUnknown, by the names of corprof.h
 * only. sw_ names make the runtime that stands behind it.
 */
#include "rows.h"
#include <snapwalk/profiler_info.h>
#include <snapwalk/sim.h>

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "budget.h"

enum { LEAF = 42, CALLER = 43, STUB = 44, HIDDEN = 45, THREAD = 7, GC_THREAD = 8, UNSTARTED = 9, LAST_THREAD = 10 };

/* clang-format off */
static const uint8_t leaf_code[] = { 0x55, /* push rbp */ 0x48, 0x89, 0xe5, /* mov rbp, rsp */ 0x90, /* nop */
                                     0x5d, /* pop rbp */ 0xc3 /* ret */ };
static const uint8_t caller_code[] = { 0x55, 0x48, 0x89, 0xe5, 0xe8, 0xf7, 0xef, 0xff, 0xff, /* call 0x1000 */
                                       0x90, 0x5d, 0xc3 };
static const uint64_t stack_words[] = { 0x7010 /* caller's rbp */, 0x2009 /* in caller */, 0, 0 /* no caller */ };
/* clang-format on */

struct runtime {
    struct sw_sim *sim;
    ICorProfilerInfo2 *info;
};

static void add_thread(struct sw_sim *sim, uint64_t id, uint32_t flags)
{
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    sw_regs_set(&regs, SW_X64_RIP, 0x1004);
    sw_regs_set(&regs, SW_X64_RSP, 0x7000);
    sw_regs_set(&regs, SW_X64_RBP, 0x7000);
    assert_int_equal(sw_sim_thread(sim, id, &regs), SW_OK);
    const struct sw_thread thread = { .id = id, .os_id = id, .flags = flags };
    assert_int_equal(sw_threads_update(sw_sim_threads(sim), &thread), SW_OK);
}

static int start(void **state)
{
    static struct runtime runtime;
    struct sw_sim *sim;
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_X64, &sim), SW_OK);
    assert_int_equal(sw_sim_bytes(sim, 0x1000, leaf_code, sizeof leaf_code), SW_OK);
    assert_int_equal(sw_sim_bytes(sim, 0x2000, caller_code, sizeof caller_code), SW_OK);
    assert_int_equal(sw_sim_words(sim, 0x7000, stack_words, COUNT_OF(stack_words)), SW_OK);
    assert_int_equal(sw_sim_range(sim, SW_KIND_JIT, 0x1000, 0x1000 + sizeof leaf_code, LEAF), SW_OK);
    assert_int_equal(sw_sim_range(sim, SW_KIND_JIT, 0x2000, 0x2000 + sizeof caller_code, CALLER), SW_OK);
    assert_int_equal(sw_sim_range(sim, SW_KIND_STUB, 0x3000, 0x3010, STUB), SW_OK);
    const struct sw_range hidden = { 0x4000, 0x4010, HIDDEN, 0, SW_KIND_JIT, SW_UNWIND_ANALYSIS, SW_RANGE_HIDDEN };
    assert_int_equal(sw_codemap_add(sw_sim_codemap(sim), &hidden), SW_OK);
    add_thread(sim, THREAD, SW_THREAD_RAN_MANAGED);
    add_thread(sim, GC_THREAD, SW_THREAD_GC_SPECIAL);
    add_thread(sim, UNSTARTED, SW_THREAD_UNSTARTED);
    add_thread(sim, LAST_THREAD, 0);
    runtime.sim = sim;
    assert_int_equal(sw_profiler_info_create(sw_sim_engine(sim), NULL, NULL, &runtime.info), SW_OK);
    *state = &runtime;
    return 0;
}

static int stop(void **state)
{
    struct runtime *runtime = *state;
    sw_profiler_info_destroy(runtime->info);
    sw_sim_destroy(runtime->sim);
    return 0;
}

/* What Initialize of a profiler does with the pointer it is given. */
static void *interface_of(void **state, REFIID iid)
{
    struct runtime *runtime = *state;
    IUnknown *unknown = (IUnknown *)runtime->info;
    void *found = NULL;
    assert_int_equal(unknown->lpVtbl->QueryInterface(unknown, iid, &found), S_OK);
    assert_non_null(found);
    return found;
}

static ICorProfilerInfo15 *summary_of(void **state)
{
    return interface_of(state, &IID_ICorProfilerInfo15);
}

static void every_version_is_the_same_object(void **state)
{
    const IID *const iids[] = {
        &IID_IUnknown,           &IID_ICorProfilerInfo,   &IID_ICorProfilerInfo2,  &IID_ICorProfilerInfo3,
        &IID_ICorProfilerInfo4,  &IID_ICorProfilerInfo5,  &IID_ICorProfilerInfo6,  &IID_ICorProfilerInfo7,
        &IID_ICorProfilerInfo8,  &IID_ICorProfilerInfo9,  &IID_ICorProfilerInfo10, &IID_ICorProfilerInfo11,
        &IID_ICorProfilerInfo12, &IID_ICorProfilerInfo13, &IID_ICorProfilerInfo14, &IID_ICorProfilerInfo15,
    };
    for (size_t i = 0; i < COUNT_OF(iids); i++) {
        const IID copy = *iids[i]; /* compared by value, not by address */
        assert_ptr_equal(interface_of(state, &copy), ((struct runtime *)*state)->info);
    }
}

static void other_interfaces_are_not_supported(void **state)
{
    ICorProfilerInfo15 *info = summary_of(state);
    IID unknown = IID_ICorProfilerInfo15;
    unknown.Data4[7] ^= 1;
    void *found = state;
    assert_int_equal(info->lpVtbl->QueryInterface(info, &IID_ICorProfilerCallback2, &found), E_NOINTERFACE);
    assert_null(found);
    found = state;
    assert_int_equal(info->lpVtbl->QueryInterface(info, &unknown, &found), E_NOINTERFACE);
    assert_null(found);
    found = state;
    assert_int_equal(info->lpVtbl->QueryInterface(info, NULL, &found), E_NOINTERFACE);
    assert_null(found);
    assert_int_equal(info->lpVtbl->QueryInterface(info, &IID_IUnknown, NULL), E_POINTER);
}

static void references_are_not_counted(void **state)
{
    ICorProfilerInfo15 *info = summary_of(state);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(info->lpVtbl->AddRef(info), 1);
        assert_int_equal(info->lpVtbl->Release(info), 1);
        assert_int_equal(info->lpVtbl->Release(info), 1);
    }
}

struct frames {
    size_t count;
    size_t abort_at;
    struct {
        FunctionID id;
        UINT_PTR ip;
        ULONG32 context_size;
    } at[8];
};

static HRESULT STDMETHODCALLTYPE on_frame(FunctionID id, UINT_PTR ip, COR_PRF_FRAME_INFO frame, ULONG32 context_size,
                                          BYTE context[], void *client_data)
{
    struct frames *frames = client_data;
    (void)frame;
    assert_true((context_size == 0) == (context == NULL));
    assert_true(frames->count < COUNT_OF(frames->at));
    frames->at[frames->count].id = id;
    frames->at[frames->count].ip = ip;
    frames->at[frames->count].context_size = context_size;
    frames->count++;
    return frames->count == frames->abort_at ? S_FALSE : S_OK;
}

static void a_snapshot_reports_leaf_first(void **state)
{
    ICorProfilerInfo2 *info = interface_of(state, &IID_ICorProfilerInfo2);
    struct frames frames = { 0 };
    assert_int_equal(info->lpVtbl->DoStackSnapshot(info, THREAD, on_frame, COR_PRF_SNAPSHOT_DEFAULT, &frames, NULL, 0),
                     S_OK);
    assert_int_equal(frames.count, 2);
    assert_int_equal(frames.at[0].id, LEAF);
    assert_int_equal(frames.at[0].ip, 0x1004);
    assert_int_equal(frames.at[0].context_size, 0);
    assert_int_equal(frames.at[1].id, CALLER);
    assert_int_equal(frames.at[1].ip, 0x2009);
}

static void a_snapshot_hands_on_flags_and_answers(void **state)
{
    ICorProfilerInfo2 *info = interface_of(state, &IID_ICorProfilerInfo2);
    struct frames frames = { .abort_at = 1 };
    assert_int_equal(
        info->lpVtbl->DoStackSnapshot(info, THREAD, on_frame, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, &frames, NULL, 0),
        CORPROF_E_STACKSNAPSHOT_ABORTED);
    assert_int_equal(frames.count, 1);
    assert_int_equal(frames.at[0].context_size, 1232 /* sizeof(CONTEXT) */);
    assert_int_equal(info->lpVtbl->DoStackSnapshot(info, 12345, on_frame, 0, &frames, NULL, 0),
                     CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD);
    assert_int_equal(info->lpVtbl->DoStackSnapshot(info, THREAD, NULL, 0, &frames, NULL, 0), E_INVALIDARG);
    assert_int_equal(frames.count, 1);
}

static void set_event_mask_switches_snapshots(void **state)
{
    ICorProfilerInfo5 *info = interface_of(state, &IID_ICorProfilerInfo5);
    struct frames frames = { 0 };
    DWORD low = 1, high = 1;
    assert_int_equal(info->lpVtbl->SetEventMask(info, COR_PRF_MONITOR_THREADS), S_OK);
    assert_int_not_equal(info->lpVtbl->DoStackSnapshot(info, THREAD, on_frame, 0, &frames, NULL, 0), S_OK);
    assert_int_equal(frames.count, 0);
    assert_int_equal(info->lpVtbl->GetEventMask(info, &low), S_OK);
    assert_int_equal(low, COR_PRF_MONITOR_THREADS);
    assert_int_equal(
        info->lpVtbl->SetEventMask2(info, COR_PRF_ENABLE_STACK_SNAPSHOT, COR_PRF_HIGH_DISABLE_TIERED_COMPILATION),
        S_OK);
    assert_int_equal(info->lpVtbl->GetEventMask2(info, &low, &high), S_OK);
    assert_int_equal(low, COR_PRF_ENABLE_STACK_SNAPSHOT);
    assert_int_equal(high, COR_PRF_HIGH_DISABLE_TIERED_COMPILATION);
    assert_int_equal(info->lpVtbl->SetEventMask(info, COR_PRF_ENABLE_STACK_SNAPSHOT), S_OK);
    assert_int_equal(info->lpVtbl->GetEventMask2(info, &low, &high), S_OK);
    assert_int_equal(high, COR_PRF_HIGH_DISABLE_TIERED_COMPILATION);
    assert_int_equal(info->lpVtbl->DoStackSnapshot(info, THREAD, on_frame, 0, &frames, NULL, 0), S_OK);
    assert_int_equal(info->lpVtbl->GetEventMask(info, NULL), E_INVALIDARG);
    assert_int_equal(info->lpVtbl->GetEventMask2(info, NULL, &high), E_INVALIDARG);
    assert_int_equal(info->lpVtbl->GetEventMask2(info, &low, NULL), E_INVALIDARG);
}

static const struct ip_row {
    const char *name;
    uintptr_t ip;
    HRESULT plain, three; /* what GetFunctionFromIP and 2 answer, and what 3 answers */
    FunctionID id;
} ip_rows[] = {
    { "ip_at_begin_of_managed_code", 0x1000, S_OK, S_OK, LEAF },
    { "ip_at_last_byte_of_managed_code", 0x1000 + sizeof leaf_code - 1, S_OK, S_OK, LEAF },
    { "ip_in_the_padding_behind_managed_code", 0x1000 + sizeof leaf_code, S_OK, S_OK, LEAF },
    { "ip_behind_managed_code_and_its_padding", 0x1000 + sizeof leaf_code + 39, E_FAIL, E_FAIL, 0 },
    { "ip_in_stub", 0x3004, E_FAIL, E_FAIL, 0 },
    { "ip_in_hidden_managed_code_is_known_to_ip3_only", 0x4004, E_FAIL, S_OK, HIDDEN },
    { "ip_null", 0, E_FAIL, E_FAIL, 0 },
    { "ip_at_end_of_address_space", UINTPTR_MAX, E_FAIL, E_FAIL, 0 },
};

static void function_from_ip_answers(void **state)
{
    void *const row_of_test = *state;
    const struct ip_row *row = row_of_test;
    void *runtime;
    start(&runtime);
    sw_sim_engine(((struct runtime *)runtime)->sim)->flavour = SW_FLAVOUR_CORECLR_UNIX;
    ICorProfilerInfo15 *info = summary_of(&runtime);
    FunctionID id = 0;
    ReJITID rejit = 5;
    const LPCBYTE ip = (LPCBYTE)row->ip;
    assert_int_equal(info->lpVtbl->GetFunctionFromIP(info, ip, &id), row->plain);
    assert_int_equal(id, row->plain == S_OK ? row->id : 0);
    assert_int_equal(info->lpVtbl->GetFunctionFromIP(info, ip, NULL), row->plain);
    id = 0;
    assert_int_equal(info->lpVtbl->GetFunctionFromIP2(info, ip, &id, &rejit), row->plain);
    assert_int_equal(id, row->plain == S_OK ? row->id : 0);
    assert_int_equal(rejit, row->plain == S_OK ? 0 : 5);
    assert_int_equal(info->lpVtbl->GetFunctionFromIP2(info, ip, NULL, NULL), row->plain);
    id = 0;
    rejit = 5;
    assert_int_equal(info->lpVtbl->GetFunctionFromIP3(info, ip, &id, &rejit), row->three);
    assert_int_equal(id, row->id);
    assert_int_equal(rejit, row->three == S_OK ? 0 : 5);
    assert_int_equal(info->lpVtbl->GetFunctionFromIP3(info, ip, NULL, NULL), row->three);
    stop(&runtime);
}

static void no_function_is_known_before_the_heap_is_ready(void **state)
{
    struct sw_engine *engine = sw_sim_engine(((struct runtime *)*state)->sim);
    ICorProfilerInfo15 *info = summary_of(state);
    const LPCBYTE ip = (LPCBYTE)(uintptr_t)0x1004;
    FunctionID id = 5;
    engine->flavour = SW_FLAVOUR_CORECLR_WINDOWS;
    engine->runtime = SW_RUNTIME_STARTED;
    assert_int_equal(info->lpVtbl->GetFunctionFromIP(info, ip, &id), CORPROF_E_NOT_YET_AVAILABLE);
    assert_int_equal(info->lpVtbl->GetFunctionFromIP2(info, ip, &id, NULL), CORPROF_E_NOT_YET_AVAILABLE);
    assert_int_equal(info->lpVtbl->GetFunctionFromIP3(info, ip, &id, NULL), CORPROF_E_NOT_YET_AVAILABLE);
    assert_int_equal(id, 5);
}

static void code_info_gives_one_region(void **state)
{
    ICorProfilerInfo15 *info = summary_of(state);
    LPCBYTE begin = NULL;
    ULONG size = 0;
    assert_int_equal(info->lpVtbl->GetCodeInfo(info, LEAF, &begin, &size), S_OK);
    assert_int_equal((uintptr_t)begin, 0x1000);
    assert_int_equal(size, sizeof leaf_code);
    assert_int_equal(info->lpVtbl->GetCodeInfo(info, LEAF, NULL, NULL), S_OK);
    assert_int_equal(info->lpVtbl->GetCodeInfo(info, 0, &begin, &size), E_INVALIDARG);
    assert_int_equal(info->lpVtbl->GetCodeInfo(info, 999, &begin, &size), CORPROF_E_FUNCTION_NOT_COMPILED);
    assert_int_equal(info->lpVtbl->GetCodeInfo(info, STUB, &begin, &size), CORPROF_E_FUNCTION_NOT_COMPILED);
    assert_int_equal((uintptr_t)begin, 0x1000);
    assert_int_equal(size, sizeof leaf_code);
}

static void code_info_of_four_gigabytes_is_refused(void **state)
{
    struct sw_sim *sim = ((struct runtime *)*state)->sim;
    ICorProfilerInfo15 *info = summary_of(state);
    LPCBYTE begin = NULL;
    ULONG size = 0;
    const uint64_t at = UINT64_C(0x100000000);
    assert_int_equal(sw_sim_range(sim, SW_KIND_JIT, at, 2 * at - 1, 70), SW_OK);
    assert_int_equal(info->lpVtbl->GetCodeInfo(info, 70, &begin, &size), S_OK);
    assert_int_equal(size, UINT32_MAX);
    assert_int_equal(sw_sim_range(sim, SW_KIND_JIT, 2 * at, 3 * at, 71), SW_OK);
    assert_int_equal(info->lpVtbl->GetCodeInfo(info, 71, &begin, &size), E_UNEXPECTED);
}

/* Function 0x5100 has four regions, one of them at its own address: the one with the entry. */
static void code_info2_gives_every_region_entry_first(void **state)
{
    struct sw_sim *sim = ((struct runtime *)*state)->sim;
    ICorProfilerInfo15 *info = summary_of(state);
    static const struct {
        uint64_t begin, end;
    } added[] = { { 0x5300, 0x5310 }, { 0x5100, 0x5120 }, { 0x5000, 0x5040 }, { 0x5200, 0x5201 } };
    static const COR_PRF_CODE_INFO expected[] = { { 0x5100, 0x20 }, { 0x5000, 0x40 }, { 0x5200, 1 }, { 0x5300, 0x10 } };
    for (size_t i = 0; i < COUNT_OF(added); i++)
        assert_int_equal(sw_sim_range(sim, SW_KIND_NGEN, added[i].begin, added[i].end, 0x5100), SW_OK);
    for (ULONG32 room = 0; room <= 6; room++) {
        COR_PRF_CODE_INFO infos[7];
        ULONG32 count = 0;
        memset(infos, 0xa5, sizeof infos);
        assert_int_equal(info->lpVtbl->GetCodeInfo2(info, 0x5100, room, &count, room ? infos : NULL), S_OK);
        assert_int_equal(count, 4);
        const ULONG32 filled = room < 4 ? room : 4;
        assert_memory_equal(infos, expected, filled * sizeof infos[0]);
        assert_int_equal((infos[filled].startAddress & 0xff), 0xa5);
    }
    LPCBYTE begin = NULL;
    assert_int_equal(info->lpVtbl->GetCodeInfo(info, 0x5100, &begin, NULL), S_OK);
    assert_int_equal((uintptr_t)begin, 0x5100);
}

static void code_info2_without_entry_is_in_order_of_address(void **state)
{
    struct sw_sim *sim = ((struct runtime *)*state)->sim;
    ICorProfilerInfo15 *info = summary_of(state);
    COR_PRF_CODE_INFO infos[2] = { { 0, 0 } };
    ULONG32 count = 0;
    assert_int_equal(sw_sim_range(sim, SW_KIND_JIT, 0x900, 0x910, LEAF), SW_OK);
    assert_int_equal(info->lpVtbl->GetCodeInfo2(info, LEAF, 2, &count, infos), S_OK);
    assert_int_equal(count, 2);
    assert_int_equal(infos[0].startAddress, 0x900);
    assert_int_equal(infos[1].startAddress, 0x1000);
    assert_int_equal(info->lpVtbl->GetCodeInfo2(info, LEAF, 2, NULL, infos), S_OK);
}

static void code_info2_refuses_bad_arguments(void **state)
{
    ICorProfilerInfo15 *info = summary_of(state);
    COR_PRF_CODE_INFO one;
    ULONG32 count = 5;
    assert_int_equal(info->lpVtbl->GetCodeInfo2(info, 0, 1, &count, &one), E_INVALIDARG);
    assert_int_equal(info->lpVtbl->GetCodeInfo2(info, LEAF, 1, &count, NULL), E_INVALIDARG);
    assert_int_equal(info->lpVtbl->GetCodeInfo2(info, 999, 1, &count, &one), CORPROF_E_FUNCTION_NOT_COMPILED);
    assert_int_equal(count, 5);
}

static void thread_info_gives_the_os_id(void **state)
{
    ICorProfilerInfo15 *info = summary_of(state);
    DWORD os_id = 0;
    assert_int_equal(info->lpVtbl->GetThreadInfo(info, THREAD, &os_id), S_OK);
    assert_int_equal(os_id, THREAD);
    assert_int_equal(info->lpVtbl->GetThreadInfo(info, THREAD, NULL), S_OK);
    os_id = 5;
    assert_int_equal(info->lpVtbl->GetThreadInfo(info, 0, &os_id), E_INVALIDARG);
    assert_int_equal(info->lpVtbl->GetThreadInfo(info, 12345, &os_id), E_INVALIDARG);
    assert_int_equal(info->lpVtbl->GetThreadInfo(info, GC_THREAD, &os_id), E_INVALIDARG);
    assert_int_equal(os_id, 5);
}

static void current_thread_is_the_caller_or_none(void **state)
{
    struct runtime *runtime = *state;
    ICorProfilerInfo15 *info = summary_of(state);
    ThreadID id = 5;
    assert_int_equal(info->lpVtbl->GetCurrentThreadID(info, &id), CORPROF_E_NOT_MANAGED_THREAD);
    sw_sim_run_as(runtime->sim, 12345);
    assert_int_equal(info->lpVtbl->GetCurrentThreadID(info, &id), CORPROF_E_NOT_MANAGED_THREAD);
    sw_sim_run_as(runtime->sim, GC_THREAD);
    assert_int_equal(info->lpVtbl->GetCurrentThreadID(info, &id), CORPROF_E_NOT_MANAGED_THREAD);
    sw_sim_engine(runtime->sim)->suspender = NULL;
    assert_int_equal(info->lpVtbl->GetCurrentThreadID(info, &id), CORPROF_E_NOT_MANAGED_THREAD);
    assert_int_equal(id, 5);
}

static void current_thread_has_its_id(void **state)
{
    ICorProfilerInfo15 *info = summary_of(state);
    ThreadID id = 5;
    sw_sim_run_as(((struct runtime *)*state)->sim, LAST_THREAD);
    assert_int_equal(info->lpVtbl->GetCurrentThreadID(info, &id), S_OK);
    assert_int_equal(id, LAST_THREAD);
    assert_int_equal(info->lpVtbl->GetCurrentThreadID(info, NULL), S_OK);
}

static ICorProfilerThreadEnum *threads_of(void **state)
{
    ICorProfilerInfo4 *info = interface_of(state, &IID_ICorProfilerInfo4);
    ICorProfilerThreadEnum *threads = NULL;
    assert_int_equal(info->lpVtbl->EnumThreads(info, NULL), E_INVALIDARG);
    assert_int_equal(info->lpVtbl->EnumThreads(info, &threads), S_OK);
    return threads;
}

static void threads_are_those_started_and_not_special(void **state)
{
    ICorProfilerThreadEnum *threads = threads_of(state);
    ThreadID ids[8] = { 0 };
    ULONG count = 99;
    assert_int_equal(threads->lpVtbl->GetCount(threads, &count), S_OK);
    assert_int_equal(count, 2);
    assert_int_equal(threads->lpVtbl->Next(threads, 8, ids, &count), S_FALSE);
    assert_int_equal(count, 2);
    assert_int_equal(ids[0], THREAD);
    assert_int_equal(ids[1], LAST_THREAD);
    assert_int_equal(ids[2], 0);
    assert_int_equal(threads->lpVtbl->GetCount(threads, &count), S_OK);
    assert_int_equal(count, 0);
    assert_int_equal(threads->lpVtbl->Release(threads), 0);
}

static void an_enumerator_keeps_its_copy(void **state)
{
    struct runtime *runtime = *state;
    ICorProfilerThreadEnum *threads = threads_of(state);
    ThreadID ids[2] = { 0 };
    ULONG count = 0;
    assert_int_equal(sw_threads_remove(sw_sim_threads(runtime->sim), LAST_THREAD), SW_OK);
    add_thread(runtime->sim, 77, 0);
    assert_int_equal(threads->lpVtbl->Next(threads, 2, ids, &count), S_OK);
    assert_int_equal(ids[1], LAST_THREAD);
    assert_int_equal(threads->lpVtbl->Release(threads), 0);
}

static void next_skip_reset_and_count_follow_the_position(void **state)
{
    ICorProfilerThreadEnum *threads = threads_of(state);
    ThreadID id = 0;
    ULONG got = 99;
    assert_int_equal(threads->lpVtbl->Next(threads, 1, &id, NULL), S_OK);
    assert_int_equal(id, THREAD);
    assert_int_equal(threads->lpVtbl->GetCount(threads, &got), S_OK);
    assert_int_equal(got, 1);
    assert_int_equal(threads->lpVtbl->Next(threads, 0, NULL, &got), S_OK);
    assert_int_equal(got, 0);
    assert_int_equal(threads->lpVtbl->Next(threads, 0, NULL, NULL), S_OK);
    assert_int_equal(threads->lpVtbl->Skip(threads, 1), S_OK);
    assert_int_equal(threads->lpVtbl->Skip(threads, 1), S_FALSE);
    assert_int_equal(threads->lpVtbl->Skip(threads, 0), S_OK);
    assert_int_equal(threads->lpVtbl->Next(threads, 1, &id, &got), S_FALSE);
    assert_int_equal(got, 0);
    assert_int_equal(threads->lpVtbl->Reset(threads), S_OK);
    assert_int_equal(threads->lpVtbl->Reset(threads), S_OK);
    assert_int_equal(threads->lpVtbl->Skip(threads, 1), S_OK);
    assert_int_equal(threads->lpVtbl->Next(threads, 1, &id, &got), S_OK);
    assert_int_equal(id, LAST_THREAD);
    assert_int_equal(threads->lpVtbl->Reset(threads), S_OK);
    assert_int_equal(threads->lpVtbl->Skip(threads, UINT32_MAX), S_FALSE);
    assert_int_equal(threads->lpVtbl->GetCount(threads, &got), S_OK);
    assert_int_equal(got, 0);
    assert_int_equal(threads->lpVtbl->Release(threads), 0);
}

static void enumerators_refuse_bad_arguments(void **state)
{
    ICorProfilerThreadEnum *threads = threads_of(state);
    ThreadID ids[2];
    ULONG got = 5;
    void *found = ids;
    assert_int_equal(threads->lpVtbl->Next(threads, 2, ids, NULL), E_INVALIDARG);
    assert_int_equal(threads->lpVtbl->Next(threads, 1, NULL, &got), E_INVALIDARG);
    assert_int_equal(threads->lpVtbl->GetCount(threads, NULL), E_INVALIDARG);
    assert_int_equal(threads->lpVtbl->Clone(threads, NULL), E_INVALIDARG);
    assert_int_equal(threads->lpVtbl->QueryInterface(threads, &IID_IUnknown, NULL), E_POINTER);
    assert_int_equal(threads->lpVtbl->QueryInterface(threads, &IID_ICorProfilerModuleEnum, &found), E_NOINTERFACE);
    assert_null(found);
    found = ids;
    assert_int_equal(threads->lpVtbl->QueryInterface(threads, NULL, &found), E_NOINTERFACE);
    assert_null(found);
    assert_int_equal(threads->lpVtbl->GetCount(threads, &got), S_OK);
    assert_int_equal(got, 2);
    assert_int_equal(threads->lpVtbl->Release(threads), 0);
}

static void a_clone_starts_at_the_beginning(void **state)
{
    ICorProfilerThreadEnum *threads = threads_of(state);
    ICorProfilerThreadEnum *copy = NULL;
    ThreadID ids[2] = { 0 };
    ULONG got = 0;
    assert_int_equal(threads->lpVtbl->Skip(threads, 1), S_OK);
    assert_int_equal(threads->lpVtbl->Clone(threads, &copy), S_OK);
    assert_ptr_not_equal(copy, threads);
    assert_int_equal(threads->lpVtbl->Release(threads), 0);
    assert_int_equal(copy->lpVtbl->Next(copy, 2, ids, &got), S_OK);
    assert_int_equal(ids[0], THREAD);
    assert_int_equal(ids[1], LAST_THREAD);
    assert_int_equal(copy->lpVtbl->Release(copy), 0);
}

static void enumerators_count_references(void **state)
{
    ICorProfilerThreadEnum *threads = threads_of(state);
    void *same = NULL;
    assert_int_equal(threads->lpVtbl->AddRef(threads), 2);
    assert_int_equal(threads->lpVtbl->QueryInterface(threads, &IID_ICorProfilerThreadEnum, &same), S_OK);
    assert_ptr_equal(same, threads);
    assert_int_equal(threads->lpVtbl->QueryInterface(threads, &IID_IUnknown, &same), S_OK);
    assert_ptr_equal(same, threads);
    for (ULONG left = 3; left > 0; left--)
        assert_int_equal(threads->lpVtbl->Release(threads), left);
    assert_int_equal(threads->lpVtbl->Release(threads), 0);
}

static void an_enumerator_outlives_the_object(void **state)
{
    struct runtime *runtime = *state;
    ICorProfilerThreadEnum *threads = threads_of(state);
    ThreadID id = 0;
    sw_profiler_info_destroy(runtime->info);
    runtime->info = NULL; /* stop() gives back nothing then */
    assert_int_equal(threads->lpVtbl->Next(threads, 1, &id, NULL), S_OK);
    assert_int_equal(id, THREAD);
    assert_int_equal(threads->lpVtbl->Release(threads), 0);
}

static void a_runtime_without_threads_has_an_empty_enumerator(void **state)
{
    struct sw_sim *sim = ((struct runtime *)*state)->sim;
    const uint64_t all[] = { THREAD, GC_THREAD, UNSTARTED, LAST_THREAD };
    for (size_t i = 0; i < COUNT_OF(all); i++)
        assert_int_equal(sw_threads_remove(sw_sim_threads(sim), all[i]), SW_OK);
    ICorProfilerThreadEnum *threads = threads_of(state);
    ThreadID id;
    ULONG got = 9;
    assert_int_equal(threads->lpVtbl->Next(threads, 1, &id, &got), S_FALSE);
    assert_int_equal(got, 0);
    assert_int_equal(threads->lpVtbl->Release(threads), 0);
}

/* Each slot that is not served, called with its own types; `out` stands for every pointer and must stay as it is. */
/* clang-format off */
#define REFUSED_CALLS(CALL)                                                        \
    /* ICorProfilerInfo */                                                         \
    CALL(GetClassFromObject, (info, 1, out))                                       \
    CALL(GetClassFromToken, (info, 1, 1, out))                                     \
    CALL(GetFunctionFromToken, (info, 1, 1, out))                                  \
    CALL(GetHandleFromThread, (info, 1, out))                                      \
    CALL(GetObjectSize, (info, 1, out))                                            \
    CALL(IsArrayClass, (info, 1, out, out, out))                                   \
    CALL(GetClassIDInfo, (info, 1, out, out))                                      \
    CALL(GetFunctionInfo, (info, 1, out, out, out))                                \
    CALL(SetEnterLeaveFunctionHooks, (info, NULL, NULL, NULL))                     \
    CALL(SetFunctionIDMapper, (info, NULL))                                        \
    CALL(GetTokenAndMetaDataFromFunction, (info, 1, &IID_IUnknown, out, out))      \
    CALL(GetModuleInfo, (info, 1, out, 1, out, out, out))                          \
    CALL(GetModuleMetaData, (info, 1, 1, &IID_IUnknown, out))                      \
    CALL(GetILFunctionBody, (info, 1, 1, out, out))                                \
    CALL(GetILFunctionBodyAllocator, (info, 1, out))                               \
    CALL(SetILFunctionBody, (info, 1, 1, out))                                     \
    CALL(GetAppDomainInfo, (info, 1, 1, out, out, out))                            \
    CALL(GetAssemblyInfo, (info, 1, 1, out, out, out, out))                        \
    CALL(SetFunctionReJIT, (info, 1))                                              \
    CALL(ForceGC, (info))                                                          \
    CALL(SetILInstrumentedCodeMap, (info, 1, 1, 1, out))                           \
    CALL(GetInprocInspectionInterface, (info, out))                                \
    CALL(GetInprocInspectionIThisThread, (info, out))                              \
    CALL(GetThreadContext, (info, 1, out))                                         \
    CALL(BeginInprocDebugging, (info, 1, out))                                     \
    CALL(EndInprocDebugging, (info, 1))                                            \
    CALL(GetILToNativeMapping, (info, 1, 1, out, out))                             \
    /* ICorProfilerInfo2 */                                                        \
    CALL(SetEnterLeaveFunctionHooks2, (info, NULL, NULL, NULL))                    \
    CALL(GetFunctionInfo2, (info, 1, 1, out, out, out, 1, out, out))               \
    CALL(GetStringLayout, (info, out, out, out))                                   \
    CALL(GetClassLayout, (info, 1, out, 1, out, out))                              \
    CALL(GetClassIDInfo2, (info, 1, out, out, out, 1, out, out))                   \
    CALL(GetClassFromTokenAndTypeArgs, (info, 1, 1, 1, out, out))                  \
    CALL(GetFunctionFromTokenAndTypeArgs, (info, 1, 1, 1, 1, out, out))            \
    CALL(EnumModuleFrozenObjects, (info, 1, out))                                  \
    CALL(GetArrayObjectInfo, (info, 1, 1, out, out, out))                          \
    CALL(GetBoxClassLayout, (info, 1, out))                                        \
    CALL(GetThreadAppDomain, (info, 1, out))                                       \
    CALL(GetRVAStaticAddress, (info, 1, 1, out))                                   \
    CALL(GetAppDomainStaticAddress, (info, 1, 1, 1, out))                          \
    CALL(GetThreadStaticAddress, (info, 1, 1, 1, out))                             \
    CALL(GetContextStaticAddress, (info, 1, 1, 1, out))                            \
    CALL(GetStaticFieldInfo, (info, 1, 1, out))                                    \
    CALL(GetGenerationBounds, (info, 1, out, out))                                 \
    CALL(GetObjectGeneration, (info, 1, out))                                      \
    CALL(GetNotifiedExceptionClauseInfo, (info, out))                              \
    /* ICorProfilerInfo3 */                                                        \
    CALL(EnumJITedFunctions, (info, out))                                          \
    CALL(RequestProfilerDetach, (info, 1))                                         \
    CALL(SetFunctionIDMapper2, (info, NULL, out))                                  \
    CALL(GetStringLayout2, (info, out, out))                                       \
    CALL(SetEnterLeaveFunctionHooks3, (info, NULL, NULL, NULL))                    \
    CALL(SetEnterLeaveFunctionHooks3WithInfo, (info, NULL, NULL, NULL))            \
    CALL(GetFunctionEnter3Info, (info, 1, 1, out, out, out))                       \
    CALL(GetFunctionLeave3Info, (info, 1, 1, out, out))                            \
    CALL(GetFunctionTailcall3Info, (info, 1, 1, out))                              \
    CALL(EnumModules, (info, out))                                                 \
    CALL(GetRuntimeInformation, (info, out, out, out, out, out, out, 1, out, out)) \
    CALL(GetThreadStaticAddress2, (info, 1, 1, 1, 1, out))                         \
    CALL(GetAppDomainsContainingModule, (info, 1, 1, out, out))                    \
    CALL(GetModuleInfo2, (info, 1, out, 1, out, out, out, out))                    \
    /* ICorProfilerInfo4 */                                                        \
    CALL(InitializeCurrentThread, (info))                                          \
    CALL(RequestReJIT, (info, 1, out, out))                                        \
    CALL(RequestRevert, (info, 1, out, out, out))                                  \
    CALL(GetCodeInfo3, (info, 1, 1, 1, out, out))                                  \
    CALL(GetReJITIDs, (info, 1, 1, out, out))                                      \
    CALL(GetILToNativeMapping2, (info, 1, 1, 1, out, out))                         \
    CALL(EnumJITedFunctions2, (info, out))                                         \
    CALL(GetObjectSize2, (info, 1, out))                                           \
    /* ICorProfilerInfo6 */                                                        \
    CALL(EnumNgenModuleMethodsInliningThisMethod, (info, 1, 1, 1, out, out))       \
    /* ICorProfilerInfo7 */                                                        \
    CALL(ApplyMetaData, (info, 1))                                                 \
    CALL(GetInMemorySymbolsLength, (info, 1, out))                                 \
    CALL(ReadInMemorySymbols, (info, 1, 1, out, 1, out))                           \
    /* ICorProfilerInfo8 */                                                        \
    CALL(IsFunctionDynamic, (info, 1, out))                                        \
    CALL(GetDynamicFunctionInfo, (info, 1, out, out, out, 1, out, out))            \
    /* ICorProfilerInfo9 */                                                        \
    CALL(GetNativeCodeStartAddresses, (info, 1, 1, 1, out, out))                   \
    CALL(GetILToNativeMapping3, (info, 1, 1, out, out))                            \
    CALL(GetCodeInfo4, (info, 1, 1, out, out))                                     \
    /* ICorProfilerInfo10 */                                                       \
    CALL(EnumerateObjectReferences, (info, 1, NULL, out))                          \
    CALL(IsFrozenObject, (info, 1, out))                                           \
    CALL(GetLOHObjectSizeThreshold, (info, out))                                   \
    CALL(RequestReJITWithInliners, (info, 1, 1, out, out))                         \
    CALL(SuspendRuntime, (info))                                                   \
    CALL(ResumeRuntime, (info))                                                    \
    /* ICorProfilerInfo11 */                                                       \
    CALL(GetEnvironmentVariable, (info, out, 1, out, out))                         \
    CALL(SetEnvironmentVariable, (info, out, out))                                 \
    /* ICorProfilerInfo12 */                                                       \
    CALL(EventPipeStartSession, (info, 1, out, 1, out))                            \
    CALL(EventPipeAddProviderToSession, (info, 1, config))                         \
    CALL(EventPipeStopSession, (info, 1))                                          \
    CALL(EventPipeCreateProvider, (info, out, out))                                \
    CALL(EventPipeGetProviderInfo, (info, 1, 1, out, out))                         \
    CALL(EventPipeDefineEvent, (info, 1, out, 1, 1, 1, 1, 1, 1, 1, out, out))      \
    CALL(EventPipeWriteEvent, (info, 1, 1, out, out, out))                         \
    /* ICorProfilerInfo13 */                                                       \
    CALL(CreateHandle, (info, 1, COR_PRF_HANDLE_TYPE_WEAK, out))                   \
    CALL(DestroyHandle, (info, out))                                               \
    CALL(GetObjectIDFromHandle, (info, out, out))                                  \
    /* ICorProfilerInfo14 */                                                       \
    CALL(EnumerateNonGCObjects, (info, out))                                       \
    CALL(GetNonGCHeapBounds, (info, 1, out, out))                                  \
    CALL(EventPipeCreateProvider2, (info, out, NULL, out))                         \
    /* ICorProfilerInfo15 */                                                       \
    CALL(EnumerateGCHeapObjects, (info, NULL, out))
/* clang-format on */

#define CALL_SLOT(name, arguments)                                                                                     \
    static HRESULT call_##name(ICorProfilerInfo15 *info, void *out, COR_PRF_EVENTPIPE_PROVIDER_CONFIG config)          \
    {                                                                                                                  \
        (void)out;                                                                                                     \
        (void)config;                                                                                                  \
        return info->lpVtbl->name arguments;                                                                           \
    }
#define ROW_OF_SLOT(name, arguments) { #name "_answers_e_notimpl", call_##name },

REFUSED_CALLS(CALL_SLOT)

static const struct refused_row {
    const char *name;
    HRESULT (*call)(ICorProfilerInfo15 *info, void *out, COR_PRF_EVENTPIPE_PROVIDER_CONFIG config);
} refused_rows[] = { REFUSED_CALLS(ROW_OF_SLOT) };

/* With the 13 that are served and the three of IUnknown, that is the whole table. */
static_assert(COUNT_OF(refused_rows) + 13 + 3 == sizeof(ICorProfilerInfo15Vtbl) / sizeof(void *),
              "every slot is called");

static void a_slot_that_is_not_served_answers_e_notimpl(void **state)
{
    const struct refused_row *row = *state;
    void *runtime;
    uint64_t out[16], untouched[16];
    const COR_PRF_EVENTPIPE_PROVIDER_CONFIG config = { NULL, 0, 0, NULL };
    start(&runtime);
    memset(out, 0xa5, sizeof out);
    memset(untouched, 0xa5, sizeof untouched);
    assert_int_equal(row->call(summary_of(&runtime), out, config), E_NOTIMPL);
    assert_memory_equal(out, untouched, sizeof out);
    stop(&runtime);
}

static void creation_refuses_bad_arguments(void **state)
{
    struct sw_engine *engine = sw_sim_engine(((struct runtime *)*state)->sim);
    struct sw_engine no_walker = *engine, no_threads = *engine;
    const struct sw_alloc half = { .get = budget_get };
    ICorProfilerInfo2 *info = NULL;
    no_walker.walker = NULL;
    no_threads.threads = NULL;
    assert_int_equal(sw_profiler_info_create(NULL, NULL, NULL, &info), SW_E_ARGUMENT);
    assert_int_equal(sw_profiler_info_create(engine, NULL, NULL, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_profiler_info_create(&no_walker, NULL, NULL, &info), SW_E_ARGUMENT);
    assert_int_equal(sw_profiler_info_create(&no_threads, NULL, NULL, &info), SW_E_ARGUMENT);
    assert_int_equal(sw_profiler_info_create(engine, NULL, &half, &info), SW_E_ARGUMENT);
    assert_null(info);
    sw_profiler_info_destroy(NULL);
}

/* Object, scratch, the list, the enumerator, the clone: refused one after another; all given back in the end. */
static void running_out_of_memory_is_an_answer(void **state)
{
    struct sw_engine *engine = sw_sim_engine(((struct runtime *)*state)->sim);
    struct budget budget = { 0 };
    const struct sw_alloc alloc = { budget_get, budget_put, &budget };
    ICorProfilerInfo2 *info = NULL;
    for (size_t left = 0; left < 2; left++) {
        budget.left = left;
        assert_int_equal(sw_profiler_info_create(engine, NULL, &alloc, &info), SW_E_NO_MEMORY);
        assert_null(info);
        assert_int_equal(budget.blocks, 0);
    }
    budget.left = 2;
    assert_int_equal(sw_profiler_info_create(engine, NULL, &alloc, &info), SW_OK);
    ICorProfilerInfo4 *info4 = (ICorProfilerInfo4 *)info;
    ICorProfilerThreadEnum *threads = NULL, *copy = NULL;
    for (size_t left = 0; left < 2; left++) {
        budget.left = left;
        assert_int_equal(info4->lpVtbl->EnumThreads(info4, &threads), E_OUTOFMEMORY);
        assert_null(threads);
        assert_int_equal(budget.blocks, 2);
    }
    budget.left = 2;
    assert_int_equal(info4->lpVtbl->EnumThreads(info4, &threads), S_OK);
    assert_int_equal(threads->lpVtbl->Clone(threads, &copy), E_OUTOFMEMORY);
    assert_null(copy);
    assert_int_equal(threads->lpVtbl->Release(threads), 0);
    sw_profiler_info_destroy(info);
    assert_int_equal(budget.blocks, 0);
    assert_int_equal(budget.bytes, 0);
}

static void a_given_scratch_is_used(void **state)
{
    struct sw_engine *engine = sw_sim_engine(((struct runtime *)*state)->sim);
    static struct sw_scratch scratch;
    struct budget budget = { .left = 1 };
    const struct sw_alloc alloc = { budget_get, budget_put, &budget };
    ICorProfilerInfo2 *info = NULL;
    struct frames frames = { 0 };
    assert_int_equal(sw_profiler_info_create(engine, &scratch, &alloc, &info), SW_OK);
    assert_true(budget.bytes < 200);
    assert_int_equal(info->lpVtbl->DoStackSnapshot(info, THREAD, on_frame, 0, &frames, NULL, 0), S_OK);
    assert_int_equal(frames.count, 2);
    sw_profiler_info_destroy(info);
    assert_int_equal(budget.blocks, 0);
}

int main(void)
{
#define WITH_RUNTIME(function) cmocka_unit_test_setup_teardown(function, start, stop)
    const struct CMUnitTest single[] = {
        WITH_RUNTIME(every_version_is_the_same_object),
        WITH_RUNTIME(other_interfaces_are_not_supported),
        WITH_RUNTIME(references_are_not_counted),
        WITH_RUNTIME(a_snapshot_reports_leaf_first),
        WITH_RUNTIME(a_snapshot_hands_on_flags_and_answers),
        WITH_RUNTIME(set_event_mask_switches_snapshots),
        WITH_RUNTIME(no_function_is_known_before_the_heap_is_ready),
        WITH_RUNTIME(code_info_gives_one_region),
        WITH_RUNTIME(code_info_of_four_gigabytes_is_refused),
        WITH_RUNTIME(code_info2_gives_every_region_entry_first),
        WITH_RUNTIME(code_info2_without_entry_is_in_order_of_address),
        WITH_RUNTIME(code_info2_refuses_bad_arguments),
        WITH_RUNTIME(thread_info_gives_the_os_id),
        WITH_RUNTIME(current_thread_is_the_caller_or_none),
        WITH_RUNTIME(current_thread_has_its_id),
        WITH_RUNTIME(threads_are_those_started_and_not_special),
        WITH_RUNTIME(an_enumerator_keeps_its_copy),
        WITH_RUNTIME(next_skip_reset_and_count_follow_the_position),
        WITH_RUNTIME(enumerators_refuse_bad_arguments),
        WITH_RUNTIME(a_clone_starts_at_the_beginning),
        WITH_RUNTIME(enumerators_count_references),
        WITH_RUNTIME(an_enumerator_outlives_the_object),
        WITH_RUNTIME(a_runtime_without_threads_has_an_empty_enumerator),
        WITH_RUNTIME(creation_refuses_bad_arguments),
        WITH_RUNTIME(running_out_of_memory_is_an_answer),
        WITH_RUNTIME(a_given_scratch_is_used),
    };
    struct CMUnitTest tests[COUNT_OF(single) + COUNT_OF(ip_rows) + COUNT_OF(refused_rows)];
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(single); i++)
        tests[count++] = single[i];
    for (size_t i = 0; i < COUNT_OF(ip_rows); i++)
        tests[count++] = (struct CMUnitTest){ ip_rows[i].name, function_from_ip_answers, NULL, NULL,
                                              (void *)(uintptr_t)&ip_rows[i] };
    for (size_t i = 0; i < COUNT_OF(refused_rows); i++)
        tests[count++] = (struct CMUnitTest){ refused_rows[i].name, a_slot_that_is_not_served_answers_e_notimpl, NULL,
                                              NULL, (void *)(uintptr_t)&refused_rows[i] };
    return _cmocka_run_group_tests("profiler_info", tests, count, NULL, NULL);
}
