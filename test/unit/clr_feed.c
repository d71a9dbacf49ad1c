/*
 * Following a runtime that is scripted here: events of methods and threads, what the runtime says of them when it is
 * asked, and snapshots of this process' threads through real code. What only the CLR itself can show is `make clr`'s.
 */
#include "rows.h"
#include "host.h"

#include <snapwalk/clr.h>
#include <snapwalk/context.h>
#include <snapwalk/profiler_info.h>
#include <snapwalk/self.h>
#include <snapwalk/sim.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define UNSAFE ((uint32_t)CORPROF_E_STACKSNAPSHOT_UNSAFE)
#define DOC    SW_FLAVOUR_DOCUMENTED
#define UNIX   SW_FLAVOUR_CORECLR_UNIX

enum { MAIN = 0x1000, OTHER = 0x2000, METHODS = 8, APART = 256, REGIONS = 3, LISTED = 4 };

/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
static const uint8_t jit_code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };

/* ---- the runtime ---- */

/* One version of a method is at starts[v]; it has one region. */
struct method {
    FunctionID id;
    UINT_PTR starts[REGIONS];
    ULONG32 count;
    bool is_unknown; /* not yet, or any more */
};

static struct runtime {
    ICorProfilerInfo15 com;
    ICorProfilerInfo15Vtbl table;
    struct method methods[METHODS];
    size_t method_count;
    DWORD event_mask;
    bool is_old; /* before ICorProfilerInfo9 */
    bool has_started;
    bool forbids_suspension;
    atomic_uint asked_for_an_address, asked_for_null;
    uint8_t *code; /* METHODS pieces */
    size_t at;     /* of an enumeration */
} runtime;

static HRESULT STDMETHODCALLTYPE query(ICorProfilerInfo15 *com, REFIID iid, void **out)
{
    const bool too_new = runtime.is_old && memcmp(iid, &IID_ICorProfilerInfo9, sizeof *iid) == 0;
    *out = too_new ? NULL : com;
    return too_new ? E_NOINTERFACE : S_OK;
}

static struct method *find_method(FunctionID id)
{
    for (size_t i = 0; i < runtime.method_count; i++)
        if (runtime.methods[i].id == id && !runtime.methods[i].is_unknown)
            return &runtime.methods[i];
    return NULL;
}

static HRESULT STDMETHODCALLTYPE get_starts(ICorProfilerInfo15 *com, FunctionID id, ReJITID rejit, ULONG32 capacity,
                                            ULONG32 *count, UINT_PTR starts[])
{
    const struct method *method = find_method(id);
    (void)com, (void)rejit;
    if (!method)
        return CORPROF_E_FUNCTION_NOT_COMPILED;
    *count = method->count;
    for (ULONG32 i = 0; i < method->count && i < capacity; i++)
        starts[i] = method->starts[i];
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE get_code4(ICorProfilerInfo15 *com, UINT_PTR start, ULONG32 capacity, ULONG32 *count,
                                           COR_PRF_CODE_INFO infos[])
{
    (void)com;
    assert_true(capacity > 0);
    *count = 1;
    infos[0] = (COR_PRF_CODE_INFO){ start, sizeof jit_code };
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE get_code2(ICorProfilerInfo15 *com, FunctionID id, ULONG32 capacity, ULONG32 *count,
                                           COR_PRF_CODE_INFO infos[])
{
    const struct method *method = find_method(id);
    return method ? get_code4(com, method->starts[0], capacity, count, infos) : CORPROF_E_FUNCTION_NOT_COMPILED;
}

static HRESULT STDMETHODCALLTYPE get_thread(ICorProfilerInfo15 *com, ThreadID thread, DWORD *os_id)
{
    (void)com;
    *os_id = (DWORD)sw_self_thread();
    return thread == MAIN ? S_OK : E_INVALIDARG;
}

static HRESULT STDMETHODCALLTYPE get_mask(ICorProfilerInfo15 *com, DWORD *mask)
{
    (void)com;
    *mask = runtime.event_mask;
    return S_OK;
}

/* Asked with bad flags only, for which the CLR does nothing else. */
static HRESULT STDMETHODCALLTYPE snapshot(ICorProfilerInfo15 *com, ThreadID thread, StackSnapshotCallback *callback,
                                          ULONG32 flags, void *data, BYTE context[], ULONG32 size)
{
    (void)com, (void)thread, (void)data, (void)context, (void)size;
    assert_null(callback);
    assert_true((flags & ~1u) != 0);
    return runtime.has_started ? E_INVALIDARG : CORPROF_E_STACKSNAPSHOT_UNSAFE;
}

/* The runtime would crash for some addresses: only null is one that it may be asked about. */
static HRESULT STDMETHODCALLTYPE from_ip(ICorProfilerInfo15 *com, LPCBYTE ip, FunctionID *function)
{
    (void)com, (void)function;
    atomic_fetch_add(ip ? &runtime.asked_for_an_address : &runtime.asked_for_null, 1);
    return runtime.forbids_suspension ? CORPROF_E_ASYNCHRONOUS_UNSAFE : E_FAIL;
}

static HRESULT STDMETHODCALLTYPE next_function(ICorProfilerFunctionEnum *com, ULONG wanted,
                                               COR_PRF_FUNCTION functions[], ULONG *got)
{
    (void)com;
    assert_int_equal(wanted, 1);
    *got = runtime.at < runtime.method_count;
    if (*got == 0)
        return S_FALSE;
    functions[0] = (COR_PRF_FUNCTION){ runtime.methods[runtime.at++].id, 0 };
    return S_OK;
}

static ULONG STDMETHODCALLTYPE release_enum(ICorProfilerFunctionEnum *com)
{
    (void)com;
    return 0;
}

static HRESULT STDMETHODCALLTYPE list_functions(ICorProfilerInfo15 *com, ICorProfilerFunctionEnum **out)
{
    static const ICorProfilerFunctionEnumVtbl functions = { .Release = release_enum, .Next = next_function };
    static ICorProfilerFunctionEnum all = { &functions };
    (void)com;
    runtime.at = 0;
    *out = &all;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE list_no_threads(ICorProfilerInfo15 *com, ICorProfilerThreadEnum **out)
{
    (void)com, (void)out;
    return E_FAIL;
}

/* ---- this process ---- */

static struct sw_clr *clr;

static int set_up(void **state)
{
    struct sw_sim *sim;
    ICorProfilerInfo2 *object;
    (void)state;
    memset(&runtime, 0, sizeof runtime);
    if (host_machine() != SW_MACHINE_X64)
        return 0;
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_X64, &sim), SW_OK);
    assert_int_equal(sw_profiler_info_create(sw_sim_engine(sim), NULL, NULL, &object), SW_OK);
    runtime.table = *((ICorProfilerInfo15 *)(void *)object)->lpVtbl; /* E_NOTIMPL nearly everywhere */
    sw_profiler_info_destroy(object);
    sw_sim_destroy(sim);
    runtime.table.QueryInterface = query;
    runtime.table.GetNativeCodeStartAddresses = get_starts;
    runtime.table.GetCodeInfo4 = get_code4;
    runtime.table.GetCodeInfo2 = get_code2;
    runtime.table.GetThreadInfo = get_thread;
    runtime.table.GetEventMask = get_mask;
    runtime.table.DoStackSnapshot = snapshot;
    runtime.table.GetFunctionFromIP = from_ip;
    runtime.table.EnumJITedFunctions = list_functions;
    runtime.table.EnumThreads = list_no_threads;
    runtime.com.lpVtbl = &runtime.table;
    runtime.event_mask = COR_PRF_ENABLE_STACK_SNAPSHOT;
    runtime.has_started = true;
    runtime.code = mmap(NULL, METHODS * APART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(runtime.code, MAP_FAILED);
    for (size_t i = 0; i < METHODS; i++)
        memcpy(runtime.code + i * APART, jit_code, sizeof jit_code);
    assert_int_equal(mprotect(runtime.code, METHODS * APART, PROT_READ | PROT_EXEC), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sw_clr_destroy(clr);
    clr = NULL;
    if (runtime.code)
        munmap(runtime.code, METHODS * APART);
    return 0;
}

static void follow(void)
{
    if (host_machine() != SW_MACHINE_X64)
        skip(); /* what is known of the runtime is known of x64 */
    assert_int_equal(sw_clr_create(NULL, (IUnknown *)(void *)&runtime.com, &clr), SW_OK);
}

static uint64_t code_of(size_t piece)
{
    return (uint64_t)(uintptr_t)(runtime.code + piece * APART);
}

static struct method *add_method(FunctionID id, size_t piece)
{
    struct method *method = &runtime.methods[runtime.method_count++];
    *method = (struct method){ .id = id, .starts = { code_of(piece) }, .count = 1 };
    return method;
}

static struct sw_clr_counts counts(void)
{
    struct sw_clr_counts now;
    sw_clr_get_counts(clr, &now);
    return now;
}

static FunctionID id_at(size_t piece)
{
    FunctionID id = 0;
    return sw_clr_function_from_ip(clr, DOC, code_of(piece) + 2, &id) == S_OK ? id : 0;
}

/* ---- methods ---- */

static void a_method_is_known_from_its_event_until_it_is_unloaded(void **state)
{
    (void)state;
    follow();
    add_method('A', 0);
    assert_int_equal(id_at(0), 0);
    sw_clr_function_compiled(clr, 'A', 0);
    assert_int_equal(id_at(0), 'A');
    assert_int_equal(counts().functions, 1);
    sw_clr_function_compiled(clr, 'A', 0); /* told of twice */
    assert_int_equal(counts().functions, 1);
    sw_clr_function_unloaded(clr, 'A');
    assert_int_equal(id_at(0), 0);
    assert_int_equal(counts().functions, 0);
    assert_int_equal(counts().failures, 0);
}

static void every_version_of_a_method_is_known(void **state)
{
    (void)state;
    follow();
    struct method *method = add_method('A', 0);
    method->starts[1] = code_of(1);
    method->starts[2] = code_of(2);
    method->count = REGIONS;
    sw_clr_function_compiled(clr, 'A', 7);
    for (size_t i = 0; i < REGIONS; i++)
        assert_int_equal(id_at(i), 'A');
    method->is_unknown = true; /* by the time of the event the runtime has forgotten it */
    sw_clr_function_unloaded(clr, 'A');
    assert_int_equal(counts().functions, 0);
}

static void an_older_runtime_is_asked_for_regions(void **state)
{
    (void)state;
    runtime.is_old = true;
    follow();
    add_method('A', 0);
    sw_clr_function_compiled(clr, 'A', 0);
    assert_int_equal(id_at(0), 'A');
    sw_clr_function_unloaded(clr, 'A');
    assert_int_equal(id_at(0), 0);
}

static void code_that_is_used_again_is_the_new_method_s(void **state)
{
    (void)state;
    follow();
    add_method('A', 0);
    sw_clr_function_compiled(clr, 'A', 0);
    runtime.method_count = 0;
    add_method('B', 0);
    sw_clr_function_compiled(clr, 'B', 0);
    assert_int_equal(id_at(0), 'B');
    assert_int_equal(counts().functions, 1);
    assert_int_equal(counts().failures, 0);
}

static void a_method_without_code_is_asked_for_again(void **state)
{
    (void)state;
    follow();
    struct method *method = add_method('A', 0);
    add_method('B', 1);
    method->is_unknown = true;
    sw_clr_function_compiled(clr, 'A', 0);
    sw_clr_refresh(clr);
    assert_int_equal(id_at(0), 0);
    method->is_unknown = false;
    sw_clr_function_compiled(clr, 'B', 0); /* the next event */
    assert_int_equal(id_at(0), 'A');
    method->is_unknown = true;
    sw_clr_function_unloaded(clr, 'A');
    sw_clr_function_compiled(clr, 'A', 0);
    method->is_unknown = false;
    sw_clr_refresh(clr); /* or when the profiler asks */
    assert_int_equal(id_at(0), 'A');
}

static void a_dynamic_method_is_hidden(void **state)
{
    FunctionID id = 0;
    (void)state;
    follow();
    add_method('D', 0);
    sw_clr_dynamic_compiled(clr, 'D');
    assert_int_equal(id_at(0), 'D');
    assert_int_equal((uint32_t)sw_clr_function_from_ip(clr, UNIX, code_of(0) + 2, &id), (uint32_t)E_FAIL);
    assert_int_equal(id, 0);
}

static void what_was_there_before_is_listed(void **state)
{
    (void)state;
    follow();
    for (size_t i = 0; i < LISTED; i++)
        add_method('A' + i, i);
    sw_clr_attached(clr);
    for (size_t i = 0; i < LISTED; i++)
        assert_int_equal(id_at(i), 'A' + i);
    assert_int_equal(counts().functions, LISTED);
    assert_int_equal(counts().failures, 1); /* threads are not listed by this runtime */
}

/* ---- snapshots ---- */

static struct {
    char said[64];
    HRESULT hr, nested;
    enum sw_flavour flavour;
    ThreadID thread;
    ULONG32 context_size;
    bool seeded, nests;
} shot;

static HRESULT SW_COM_CALL hear(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO info, ULONG32 context_size,
                                BYTE context[], void *client_data)
{
    const size_t length = strlen(shot.said);
    (void)ip, (void)info, (void)context, (void)client_data;
    if (length + 1 < sizeof shot.said)
        shot.said[length] = function ? (char)function : '0';
    shot.context_size = context_size;
    if (shot.nests) {
        shot.nests = false;
        shot.nested = sw_clr_snapshot(clr, shot.flavour, 0, hear, 0, NULL, NULL, 0);
    }
    return S_OK;
}

static void take_shot(void)
{
    BYTE seed[SW_CONTEXT_MAX_BYTES];
    struct sw_regs here;
    memset(shot.said, 0, sizeof shot.said);
    shot.context_size = 0;
    if (shot.seeded) {
        sw_self_capture(&here);
        assert_int_equal(sw_clr_find_seed(clr, &here, seed, sizeof seed), SW_OK);
    }
    shot.hr = sw_clr_snapshot(clr, shot.flavour, shot.thread, hear, 1, NULL, shot.seeded ? seed : NULL,
                              shot.seeded ? sizeof seed : 0);
}

static void call_method(size_t piece, void (*callee)(void))
{
    void (*method)(void (*callee)(void));
    const void *at = runtime.code + piece * APART;
    memcpy(&method, &at, sizeof method);
    method(callee);
    atomic_signal_fence(memory_order_seq_cst); /* not a tail call */
}

static void inside_second(void)
{
    call_method(1, take_shot);
}

/* Two methods, and this thread in the table. */
static void begin(enum sw_flavour flavour)
{
    follow();
    add_method('A', 0);
    add_method('B', 1);
    sw_clr_function_compiled(clr, 'A', 0);
    sw_clr_function_compiled(clr, 'B', 0);
    sw_clr_thread_created(clr, MAIN);
    memset(&shot, 0, sizeof shot);
    shot.flavour = flavour;
}

static void shoot(void)
{
    call_method(0, inside_second);
}

static void assert_shot(uint32_t hr, const char *said)
{
    assert_int_equal((uint32_t)shot.hr, hr);
    assert_string_equal(shot.said, said);
}

static void a_thread_walks_itself_through_its_methods(void **state)
{
    (void)state;
    begin(DOC);
    assert_int_equal(counts().threads, 1);
    shoot();
    assert_shot(S_OK, "0B0A0");
    assert_int_equal(shot.context_size, 1232);
    shot.thread = MAIN;
    shoot();
    assert_shot(S_OK, "0B0A0");
    sw_clr_thread_destroyed(clr, MAIN);
    assert_int_equal(counts().threads, 0);
    shoot();
    assert_shot((uint32_t)CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD, "");
    assert_int_equal(atomic_load(&runtime.asked_for_an_address), 0);
    assert_int_equal(atomic_load(&runtime.asked_for_null), 0); /* which the documented contract has no use for */
}

/*
 * Without the runtime's structures nothing is known of modes and records: a seed is needed, and is looked at; behind a
 * run there is nothing that the CLR would come to.
 */
static void as_the_clr_it_needs_a_seed(void **state)
{
    (void)state;
    begin(UNIX);
    shoot();
    assert_shot((uint32_t)E_FAIL, "");
    shot.seeded = true;
    shoot();
    assert_shot(S_OK, "B0");
    assert_int_equal(shot.context_size, 3232);
    shot.thread = OTHER;
    shoot();
    assert_shot((uint32_t)E_NOTIMPL, "");
    assert_int_equal(atomic_load(&runtime.asked_for_an_address), 0);
}

static void a_thread_in_a_region_that_forbids_suspension_is_not_walked(void **state)
{
    (void)state;
    begin(UNIX);
    shot.seeded = true;
    runtime.forbids_suspension = true;
    shoot();
    assert_shot(UNSAFE, "");
    shot.flavour = DOC; /* which does not ask for the calling thread */
    shot.seeded = false;
    shoot();
    assert_shot(S_OK, "0B0A0");
}

static void the_runtime_is_asked_whether_it_has_started_and_what_is_enabled(void **state)
{
    (void)state;
    runtime.has_started = false;
    begin(DOC);
    shoot();
    assert_shot(UNSAFE, "");
    runtime.has_started = true;
    runtime.event_mask = 0;
    shoot();
    assert_shot((uint32_t)CORPROF_E_INCONSISTENT_WITH_FLAGS, "");
    runtime.event_mask = COR_PRF_ENABLE_STACK_SNAPSHOT;
    runtime.has_started = false; /* once it has, it is not asked again */
    shoot();
    assert_shot(S_OK, "0B0A0");
    sw_clr_set_runtime(clr, SW_RUNTIME_DETACHING, 0);
    shoot();
    assert_shot((uint32_t)CORPROF_E_PROFILER_DETACHING, "");
    sw_clr_set_runtime(clr, 0, SW_RUNTIME_DETACHING);
    shoot();
    assert_shot(S_OK, "0B0A0");
}

static void the_frame_limit_is_the_user_s(void **state)
{
    BYTE seed[SW_CONTEXT_MAX_BYTES];
    struct sw_regs here;
    (void)state;
    begin(DOC);
    sw_clr_set_frame_limit(clr, 1, false);
    shoot();
    assert_shot((uint32_t)E_FAIL, "0");
    sw_self_capture(&here);
    assert_int_equal(sw_clr_find_seed(clr, &here, seed, sizeof seed), SW_E_LIMIT);
    sw_clr_set_frame_limit(clr, 3, true);
    shoot();
    assert_shot(S_OK, "0B0"); /* the first two and the last */
    sw_clr_set_frame_limit(clr, 0, false);
    shoot();
    assert_shot(S_OK, "0B0A0");
}

static void a_walk_inside_a_walk_of_the_same_thread_is_unsafe(void **state)
{
    (void)state;
    begin(DOC);
    shot.nests = true;
    shoot();
    assert_shot(S_OK, "0B0A0");
    assert_int_equal((uint32_t)shot.nested, UNSAFE);
    shot.nests = false;
    shoot(); /* what they had is given back */
    assert_shot(S_OK, "0B0A0");
}

/* ---- another thread ---- */

static atomic_int other_state;

static void stay(void)
{
    atomic_store(&other_state, 1);
    while (atomic_load(&other_state) == 1)
        ;
}

static void *be_other(void *arg)
{
    (void)arg;
    sw_clr_thread_created(clr, OTHER); /* the runtime does not know its OS id yet */
    sw_clr_thread_assigned(clr, OTHER, (DWORD)sw_self_thread());
    call_method(1, stay);
    sw_clr_thread_destroyed(clr, OTHER);
    return NULL;
}

static void another_thread_is_stopped_and_walked(void **state)
{
    pthread_t other;
    (void)state;
    begin(DOC);
    atomic_store(&other_state, 0);
    assert_int_equal(pthread_create(&other, NULL, be_other, NULL), 0);
    while (atomic_load(&other_state) == 0)
        ;
    shot.thread = OTHER;
    for (unsigned tries = 0; tries < 60 && (tries == 0 || shot.hr == CORPROF_E_STACKSNAPSHOT_UNSAFE); tries++)
        shoot(); /* UNSAFE: it was given no processor for a second */
    assert_shot(S_OK, "0B0");
    atomic_store(&other_state, 2);
    assert_int_equal(pthread_join(other, NULL), 0);
    shoot();
    assert_shot((uint32_t)CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_method_is_known_from_its_event_until_it_is_unloaded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_version_of_a_method_is_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_older_runtime_is_asked_for_regions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(code_that_is_used_again_is_the_new_method_s, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_method_without_code_is_asked_for_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dynamic_method_is_hidden, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_there_before_is_listed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_thread_walks_itself_through_its_methods, set_up, tear_down),
        cmocka_unit_test_setup_teardown(as_the_clr_it_needs_a_seed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_thread_in_a_region_that_forbids_suspension_is_not_walked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_runtime_is_asked_whether_it_has_started_and_what_is_enabled, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_frame_limit_is_the_user_s, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_walk_inside_a_walk_of_the_same_thread_is_unsafe, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_thread_is_stopped_and_walked, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
