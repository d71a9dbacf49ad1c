/*
 * Walks of this process' threads by src/clr, beside a runtime without code (support/runtime.h): real JIT code on real
 * stacks, the pool of leases, requests from handlers, and what the runtime's structures say at the moment of a walk.
 */
#include "rows.h"
#include "host.h"

#include "../support/runtime.h"

#if defined(__x86_64__)
#include "clr_image.h"
#include "clr_native.h"
#include "walk/scratch.h"

#include <snapwalk/context.h>
#include <snapwalk/self.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <ucontext.h>

enum { JIT = 'J', STUB = 0x4b, JIT_BYTES = 8 };

/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
static const uint8_t jit_code[JIT_BYTES] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };

static struct fake_runtime fake;
static struct sw_clr *clr;
static uint8_t *page; /* jit_code is at 0x10 and at 0x40 */
static void (*jit)(void (*callee)(void)), (*stub)(void (*callee)(void));

/* ---- for each test ---- */

static void make_page(void)
{
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    memcpy(page + 0x10, jit_code, sizeof jit_code);
    memcpy(page + 0x40, jit_code, sizeof jit_code);
    assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
    const void *const at[] = { page + 0x10, page + 0x40 };
    memcpy(&jit, &at[0], sizeof jit);
    memcpy(&stub, &at[1], sizeof stub);
}

static ThreadID self(void)
{
    return native_at(native.thread);
}

/* Zeros behind each block look like a free lease behind the last. */
static void *padded_get(void *arg, size_t size)
{
    (void)arg;
    return calloc(1, size + sizeof(struct sw_clr_lease));
}

static void padded_put(void *arg, void *block, size_t size)
{
    (void)arg, (void)size;
    free(block);
}

static int begin(void **state)
{
    static const struct sw_alloc alloc = { padded_get, padded_put, NULL };
    (void)state;
    if (!page)
        make_page();
    fake_runtime_init(&fake);
    native_begin();
    if (sw_clr_create(&alloc, (IUnknown *)(void *)&fake, &clr) != SW_OK)
        return 1;
    fake_runtime_compile(&fake, JIT, 0, native_at(page + 0x10), JIT_BYTES);
    sw_clr_function_compiled(clr, JIT, 0);
    fake_runtime_compile(&fake, STUB, 0, native_at(page + 0x40), JIT_BYTES);
    sw_clr_dynamic_compiled(clr, STUB);
    native_set(native.thread, SW_CLR_THREAD_FRAME, UINT64_MAX, 8);
    fake.threads[0] = (struct fake_thread){ self(), (DWORD)sw_self_thread() };
    fake.thread_count = 1;
    sw_clr_thread_created(clr, self());
    return 0;
}

/* All leases are free again. */
static int end(void **state)
{
    bool are_free = true;
    (void)state;
    for (unsigned i = 0; i < SW_CLR_LEASES; i++)
        are_free = are_free && clr->leases[i].inside == 0;
    sw_clr_destroy(clr);
    clr = NULL;
    return !are_free;
}

/* ---- one snapshot: what callbacks are told ---- */

static struct told {
    char text[64]; /* a letter a callback */
    HRESULT hr;
    ULONG32 context_size;
    unsigned lease; /* + 1 */
    unsigned count;
    HRESULT answer;
    void (*in_callback)(void);
} told;

static enum sw_flavour flavour;
static ULONG32 info_flags;

static HRESULT SW_COM_CALL tell(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO info, ULONG32 context_size,
                                BYTE context[], void *client_data)
{
    (void)ip, (void)info, (void)context;
    assert_ptr_equal(client_data, &told);
    if (told.count + 1 < sizeof told.text)
        told.text[told.count++] = function ? (char)function : '0';
    told.context_size = context_size;
    for (unsigned i = 0; i < SW_CLR_LEASES; i++)
        if (clr->leases[i].inside == sw_self_thread())
            told.lease = i + 1;
    if (told.in_callback)
        told.in_callback();
    return told.answer;
}

static void snapshot(void)
{
    memset(told.text, 0, sizeof told.text);
    told.lease = told.count = 0;
    told.hr = sw_clr_snapshot(clr, flavour, 0, tell, info_flags, &told, NULL, 0);
}

static void through_jit(void)
{
    jit(snapshot);
    atomic_signal_fence(memory_order_seq_cst); /* not a tail call: this frame stays */
}

static void start_over(void)
{
    memset(&told, 0, sizeof told);
    flavour = SW_FLAVOUR_DOCUMENTED;
    info_flags = 0;
}

static void a_thread_walks_itself(void **state)
{
    (void)state;
    start_over();
    jit(through_jit);
    assert_int_equal(told.hr, S_OK);
    assert_string_equal(told.text, "0J0J0");
    assert_int_equal(told.lease, 1);
}

static void a_callback_ends_it(void **state)
{
    (void)state;
    start_over();
    told.answer = S_FALSE;
    jit(snapshot);
    assert_int_equal(told.hr, CORPROF_E_STACKSNAPSHOT_ABORTED);
    assert_string_equal(told.text, "0");
}

/* As the CLR's own: 3232 bytes; documented: a Win32 CONTEXT. */
static void the_context_has_the_size_of_the_flavour(void **state)
{
    (void)state;
    start_over();
    native_follow(clr);
    info_flags = COR_PRF_SNAPSHOT_REGISTER_CONTEXT;
    jit(snapshot);
    assert_int_equal(told.context_size, SW_CONTEXT_X64_BYTES);
    assert_int_equal(clr->leases[0].engine.context_size, 0);
    flavour = SW_FLAVOUR_CORECLR_UNIX;
    jit(snapshot);
    assert_int_equal(clr->leases[0].engine.context_size, SW_CONTEXT_MAX_BYTES);
    assert_int_equal(clr->leases[0].engine.flavour, SW_FLAVOUR_CORECLR_UNIX);
    info_flags = 0;
}

static void nothing_can_be_asked(void **state)
{
    struct sw_regs regs = { 0 };
    BYTE context[SW_CONTEXT_X64_BYTES];
    FunctionID function = 0;
    (void)state;
    assert_int_equal(sw_clr_snapshot(NULL, SW_FLAVOUR_DOCUMENTED, 0, tell, 0, &told, NULL, 0), E_INVALIDARG);
    assert_int_equal(sw_clr_function_from_ip(NULL, SW_FLAVOUR_DOCUMENTED, 0, &function), E_INVALIDARG);
    assert_int_equal(sw_clr_find_seed(NULL, &regs, context, sizeof context), SW_E_ARGUMENT);
    assert_int_equal(sw_clr_find_seed(clr, NULL, context, sizeof context), SW_E_ARGUMENT);
    assert_int_equal(sw_clr_find_seed(clr, &regs, NULL, sizeof context), SW_E_ARGUMENT);
}

/* ---- what the runtime is asked for each time ---- */

static void whether_it_has_started_is_asked_until_it_has(void **state)
{
    (void)state;
    start_over();
    fake.has_started = false;
    jit(snapshot);
    jit(snapshot);
    assert_int_equal(told.hr, CORPROF_E_STACKSNAPSHOT_UNSAFE);
    assert_int_equal(fake.starts, 2);
    fake.has_started = true;
    jit(snapshot);
    assert_int_equal(told.hr, S_OK); /* this one already */
    jit(snapshot);
    assert_int_equal(told.hr, S_OK);
    assert_int_equal(fake.starts, 3);
}

static void what_the_profiler_says_is_not_asked(void **state)
{
    (void)state;
    start_over();
    fake.has_started = false;
    sw_clr_set_runtime(clr, SW_RUNTIME_READY, 0);
    jit(snapshot);
    assert_int_equal(told.hr, S_OK);
    assert_int_equal(fake.starts, 0);
    sw_clr_set_runtime(clr, SW_RUNTIME_DETACHING, 0);
    jit(snapshot);
    assert_int_equal(told.hr, CORPROF_E_PROFILER_DETACHING);
    sw_clr_set_runtime(clr, 0, SW_RUNTIME_DETACHING);
    jit(snapshot);
    assert_int_equal(told.hr, S_OK);
    sw_clr_set_runtime(clr, 0, SW_RUNTIME_READY);
    jit(snapshot);
    assert_int_equal(told.hr, CORPROF_E_STACKSNAPSHOT_UNSAFE);
}

static void which_events_are_enabled_is_asked(void **state)
{
    (void)state;
    start_over();
    fake.events = 0;
    jit(snapshot);
    assert_int_equal(told.hr, CORPROF_E_INCONSISTENT_WITH_FLAGS);
    fake.events = COR_PRF_ENABLE_STACK_SNAPSHOT;
    jit(snapshot);
    assert_int_equal(told.hr, S_OK);
    fake.events_answer = E_FAIL;
    jit(snapshot);
    assert_int_equal(told.hr, CORPROF_E_INCONSISTENT_WITH_FLAGS);
}

/* ---- leases ---- */

/* All but these are another thread's. */
static void occupy_all_but(unsigned one)
{
    for (unsigned i = 0; i < SW_CLR_LEASES; i++)
        clr->leases[i].inside = i == one ? 0 : 1;
}

static void free_all(void)
{
    for (unsigned i = 0; i < SW_CLR_LEASES; i++)
        clr->leases[i].inside = 0;
}

static void without_a_lease_there_is_no_answer(void **state)
{
    struct sw_regs start;
    BYTE context[SW_CONTEXT_X64_BYTES];
    (void)state;
    start_over();
    sw_self_capture(&start);
    occupy_all_but(SW_CLR_LEASES);
    jit(snapshot);
    assert_int_equal(told.hr, CORPROF_E_STACKSNAPSHOT_UNSAFE);
    assert_int_equal(sw_clr_find_seed(clr, &start, context, sizeof context), SW_E_BUSY);
    free_all();
    const unsigned last = (unsigned)clr->lease_count - 1;
    occupy_all_but(last);
    jit(snapshot);
    assert_int_equal(told.hr, S_OK);
    assert_int_equal(told.lease, last + 1);
    free_all();
}

/* Its own of last time; else one that was never used; else any. */
static void a_thread_takes_the_lease_that_knows_its_stack(void **state)
{
    (void)state;
    start_over();
    jit(snapshot);
    assert_int_equal(told.lease, 1);
    assert_int_equal(clr->leases[0].last, sw_self_thread());
    clr->leases[0].last = 1; /* of another */
    jit(snapshot);
    assert_int_equal(told.lease, 2);
    jit(snapshot);
    assert_int_equal(told.lease, 2);
    clr->leases[1].inside = 1; /* busy with a handler of this thread */
    jit(snapshot);
    assert_int_equal(told.lease, 3);
    clr->leases[1].inside = 0;
    for (unsigned i = 0; i < SW_CLR_LEASES; i++)
        clr->leases[i].last = 1;
    clr->leases[0].inside = 1;
    jit(snapshot);
    assert_int_equal(told.lease, 2);
    clr->leases[0].inside = 0;
}

static HRESULT nested_hr;
static ThreadID nested_thread;

static HRESULT SW_COM_CALL go_on(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO info, ULONG32 context_size,
                                 BYTE context[], void *client_data)
{
    (void)function, (void)ip, (void)info, (void)context_size, (void)context, (void)client_data;
    return S_OK;
}

static void walk_again(void)
{
    nested_hr = sw_clr_snapshot(clr, flavour, nested_thread, go_on, 0, NULL, NULL, 0);
}

/* The CLR has the lock of that thread's return address; nothing else is in the way of a nested walk. */
static void a_walk_in_a_walk_of_the_same_thread_is_refused(void **state)
{
    (void)state;
    start_over();
    told.in_callback = walk_again;
    nested_thread = 0;
    jit(snapshot);
    assert_int_equal(told.hr, S_OK);
    assert_int_equal(nested_hr, CORPROF_E_STACKSNAPSHOT_UNSAFE);
    told.in_callback = NULL;
    jit(snapshot);
    assert_int_equal(told.hr, S_OK); /* it is over */
}

static void a_walk_in_a_walk_of_another_thread_is_none_of_its_business(void **state)
{
    (void)state;
    start_over();
    sw_clr_thread_assigned(clr, 0x5000, 0);
    told.in_callback = walk_again;
    nested_thread = 0x5000; /* it has no OS thread yet */
    jit(snapshot);
    assert_int_equal(told.hr, S_OK);
    assert_int_equal(nested_hr, CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD);
}

/* As in RuntimeThreadSuspended: the CLR's flavour refuses, the documented one does not ask. */
static void a_thread_that_must_not_be_suspended_is_refused(void **state)
{
    (void)state;
    start_over();
    native_follow(clr);
    fake.is_asynchronous = true;
    jit(snapshot);
    assert_int_equal(told.hr, S_OK);
    flavour = SW_FLAVOUR_CORECLR_UNIX;
    told.hr = sw_clr_snapshot(clr, flavour, self(), tell, 0, &told, NULL, 0);
    assert_int_equal(told.hr, CORPROF_E_STACKSNAPSHOT_UNSAFE);
    fake.is_asynchronous = false;
    told.hr = sw_clr_snapshot(clr, flavour, self(), tell, 0, &told, NULL, 0);
    assert_int_not_equal(told.hr, CORPROF_E_STACKSNAPSHOT_UNSAFE);
}

/* The count of such regions in the runtime's structures; where what is there is none, the runtime is asked. */
static void the_threads_own_count_says_whether_it_must_not_be_suspended(void **state)
{
    enum { FORBID_AT = 48 };
    static const struct {
        uint64_t count;
        bool is_asynchronous, refused;
    } rows[] = { { 0, true, false },  { 1, false, true },    { 2, true, true },
                 { 0, false, false }, { 256, false, false }, { 256, true, true } };
    (void)state;
    start_over();
    native.layout.at[SW_CLR_THREAD_FORBID] = FORBID_AT;
    native_follow(clr);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        native_set(native.thread, SW_CLR_THREAD_FORBID, rows[i].count, 4);
        fake.is_asynchronous = rows[i].is_asynchronous;
        flavour = SW_FLAVOUR_CORECLR_UNIX;
        told.hr = sw_clr_snapshot(clr, flavour, self(), tell, 0, &told, NULL, 0);
        assert_int_equal(told.hr == CORPROF_E_STACKSNAPSHOT_UNSAFE, rows[i].refused);
        flavour = SW_FLAVOUR_DOCUMENTED;
        jit(snapshot);
        assert_int_equal(told.hr, S_OK);
    }
}

/* ---- limits ---- */

static void walks_end_where_the_limit_is(void **state)
{
    (void)state;
    start_over();
    sw_clr_set_frame_limit(clr, 2, false);
    jit(snapshot);
    assert_int_equal(told.hr, E_FAIL);
    assert_int_equal(clr->leases[0].walker.max_frames, 2);
    assert_int_equal(clr->leases[0].engine.options & SW_ENGINE_BOTH_ENDS, 0);
    sw_clr_set_frame_limit(clr, 4, true);
    jit(snapshot);
    assert_int_equal(clr->leases[0].engine.options, SW_ENGINE_OWN_PROCESS | SW_ENGINE_BOTH_ENDS);
    sw_clr_set_frame_limit(clr, 0, false);
    jit(snapshot);
    assert_int_equal(told.hr, S_OK);
}

/* ---- functions ---- */

static void functions_are_found_by_address(void **state)
{
    FunctionID function = 0;
    (void)state;
    assert_int_equal(sw_clr_function_from_ip(clr, SW_FLAVOUR_CORECLR_UNIX, native_at(page + 0x12), &function), S_OK);
    assert_int_equal(function, JIT);
    assert_int_equal(sw_clr_function_from_ip(clr, SW_FLAVOUR_CORECLR_UNIX, native_at(page + 0x42), &function), E_FAIL);
    assert_int_equal(sw_clr_function_from_ip(clr, SW_FLAVOUR_DOCUMENTED, native_at(page + 0x42), &function), S_OK);
    assert_int_equal(function, STUB);
    assert_int_equal(sw_clr_function_from_ip(clr, SW_FLAVOUR_DOCUMENTED, native_at(page), &function), E_FAIL);
    fake.has_started = false;
    clr->runtime = 0;
    assert_int_equal(sw_clr_function_from_ip(clr, SW_FLAVOUR_CORECLR_UNIX, native_at(page + 0x12), &function),
                     CORPROF_E_NOT_YET_AVAILABLE);
}

static void code_without_an_event_is_found_in_the_runtimes_map(void **state)
{
    FunctionID function = 0;
    (void)state;
    assert_int_equal(sw_clr_function_from_ip(clr, SW_FLAVOUR_DOCUMENTED, native_begin_of() + 4, &function), E_FAIL);
    native_follow(clr);
    assert_int_equal(sw_clr_function_from_ip(clr, SW_FLAVOUR_DOCUMENTED, native_begin_of() + 4, &function), S_OK);
    assert_true(function == native_method());
}

/* ---- handlers ---- */

static struct heard {
    ucontext_t interrupted;
    uint64_t pcs[64];
    unsigned count, most;
    enum sw_stop stop;
    uint32_t budget;
    bool is_on_lease, has_window;
    uint64_t window_begin;
    uint64_t stack_begin, stack_end;
    enum sw_source first_source, last_source;
} heard;

static struct sw_walk *walk_of(const struct sw_clr_lease *lease)
{
    return &sw_walk_scratch_of(&lease->workspace->scratch)->whole;
}

static bool hear(void *arg, const struct sw_frame *frame)
{
    struct heard *h = arg;
    const uint8_t *here = __builtin_frame_address(0);
    const struct sw_clr_lease *lease = &clr->leases[0];
    assert_ptr_equal(h, &heard);
    if (h->count == 0) {
        h->is_on_lease = here > lease->workspace->stack && here < lease->workspace->stack + SW_CLR_STACK;
        h->first_source = frame->source;
    }
    h->last_source = frame->source;
    if (h->count < COUNT_OF(h->pcs))
        h->pcs[h->count] = sw_regs_pc(&frame->regs);
    h->count++;
    if (walk_of(lease)->walker) {
        h->budget = walk_of(lease)->walker->budget;
        h->stack_begin = walk_of(lease)->walker->stack_begin;
        h->stack_end = walk_of(lease)->walker->stack_end;
        h->has_window = walk_of(lease)->walker->memory.window.bytes != NULL;
        h->window_begin = walk_of(lease)->walker->memory.window.begin;
    }
    return h->count < h->most;
}

static void hear_all(unsigned most)
{
    const ucontext_t interrupted = heard.interrupted;
    memset(&heard, 0, sizeof heard);
    heard.interrupted = interrupted;
    heard.most = most;
    heard.stop = sw_clr_walk(clr, &heard.interrupted, hear, &heard);
}

static void walk_from_here(void)
{
    getcontext(&heard.interrupted);
    hear_all(1000);
    atomic_signal_fence(memory_order_seq_cst);
}

static bool heard_of(uint64_t begin_, uint64_t end_)
{
    for (unsigned i = 0; i < heard.count && i < COUNT_OF(heard.pcs); i++)
        if (heard.pcs[i] >= begin_ && heard.pcs[i] < end_)
            return true;
    return false;
}

static void hear_on_it(void *arg)
{
    (void)arg;
    hear_all(1000);
}

/* As where a signal comes on an alternate stack. */
static void walk_on_a_small_stack(void)
{
    static _Alignas(16) uint8_t small[16384];
    getcontext(&heard.interrupted);
    sw_run_on(small + sizeof small, hear_on_it, NULL);
    atomic_signal_fence(memory_order_seq_cst);
}

/* On its own thread's stack, where there is room. */
static void a_handler_walks_every_frame_on_a_stack_with_room(void **state)
{
    const struct sw_thread *known = &clr->leases[0].thread;
    (void)state;
    jit(walk_on_a_small_stack);
    assert_true(heard.is_on_lease);
    assert_true(heard_of(native_at(page + 0x10), native_at(page + 0x18)));
    assert_int_equal(known->os_id, sw_self_thread());
    const uint64_t begin = known->stack_begin;
    clr->leases[0].thread.stack_begin = (uint64_t)(uintptr_t)__builtin_frame_address(0) - SW_CLR_STACK / 2;
    jit(walk_from_here);
    assert_true(heard.is_on_lease); /* nearly used up */
    const uint64_t end = known->stack_end;
    clr->leases[0].thread.stack_begin = begin;
    clr->leases[0].thread.stack_end = (uint64_t)(uintptr_t)__builtin_frame_address(0) - SW_CLR_STACK;
    jit(walk_from_here);
    assert_true(heard.is_on_lease); /* above the stack */
    clr->leases[0].thread.stack_end = end;
    jit(walk_from_here);
    assert_false(heard.is_on_lease);
    assert_in_range(heard.stop, SW_STOP_ROOT, SW_STOP_ROOT_BASE);
    assert_true(heard.count > 5);
    assert_true(heard_of(native_at(page + 0x10), native_at(page + 0x18)));
    assert_true(heard.has_window);
    assert_int_equal(heard.budget, SW_WALK_BUDGET_DEFAULT);
    assert_int_equal(clr->leases[0].last, 0); /* no snapshot */
    sw_clr_set_frame_limit(clr, 3, false);
    jit(walk_from_here);
    assert_int_equal(heard.stop, SW_STOP_FRAME_LIMIT);
    assert_int_equal(heard.count, 3);
}

/* ---- addresses ---- */

static uint64_t addresses[64];
static size_t address_count;
static enum sw_stop addresses_stop;

static void addresses_from_here(void)
{
    getcontext(&heard.interrupted);
    hear_all(1000);
    for (int turn = 0; turn < 3; turn++) /* what was met before is replayed */
        address_count = sw_clr_addresses(clr, &heard.interrupted, addresses, COUNT_OF(addresses), &addresses_stop);
    atomic_signal_fence(memory_order_seq_cst);
}

static void addresses_are_those_of_the_frames(void **state)
{
    (void)state;
    jit(addresses_from_here);
    assert_int_equal(addresses_stop, heard.stop);
    assert_int_equal(address_count, heard.count);
    assert_memory_equal(addresses, heard.pcs, address_count * sizeof addresses[0]);
}

static void two_addresses_from_here(void)
{
    getcontext(&heard.interrupted);
    hear_all(1000);
    address_count = sw_clr_addresses(clr, &heard.interrupted, addresses, 2, &addresses_stop);
    atomic_signal_fence(memory_order_seq_cst);
}

static void there_are_as_many_addresses_as_have_room(void **state)
{
    (void)state;
    jit(two_addresses_from_here);
    assert_int_equal(address_count, 2);
    assert_int_equal(addresses_stop, SW_STOP_NONE);
    assert_memory_equal(addresses, heard.pcs, 2 * sizeof addresses[0]);
}

static void no_handler_no_addresses(void **state)
{
    (void)state;
    getcontext(&heard.interrupted);
    assert_int_equal(sw_clr_addresses(NULL, &heard.interrupted, addresses, 2, &addresses_stop), 0);
    assert_int_equal(addresses_stop, SW_STOP_BAD_START);
    assert_int_equal(sw_clr_addresses(clr, NULL, addresses, 2, &addresses_stop), 0);
    assert_int_equal(sw_clr_addresses(clr, &heard.interrupted, NULL, 2, &addresses_stop), 0);
    assert_int_equal(sw_clr_addresses(clr, &heard.interrupted, addresses, 0, NULL), 0);
    occupy_all_but(SW_CLR_LEASES);
    assert_int_equal(sw_clr_addresses(clr, &heard.interrupted, addresses, 2, &addresses_stop), 0);
    assert_int_equal(addresses_stop, SW_STOP_BAD_START);
    free_all();
}

static void ranges_are_found(void **state)
{
    struct sw_range range;
    (void)state;
    assert_int_equal(sw_clr_find_range(clr, native_at(page + 0x12), &range), SW_OK);
    assert_int_equal(range.kind, SW_KIND_JIT);
    assert_int_equal(range.id, JIT);
    assert_int_equal(sw_clr_find_range(clr, native_at(page), &range), SW_E_NOT_FOUND);
    assert_int_equal(sw_clr_find_range(clr, (uint64_t)(uintptr_t)&ranges_are_found, &range), SW_E_NOT_FOUND);
    assert_int_equal(sw_clr_find_range(NULL, 0, &range), SW_E_ARGUMENT);
    assert_int_equal(sw_clr_find_range(clr, 0, NULL), SW_E_ARGUMENT);
}

/*
 * sp of the start, from the lowest address of the thread's stack or from its end; how far below it the window begins.
 * The caller's frame is below the stack's end, so what is between is in use; far below it only the page of sp is.
 */
static const struct window_row {
    const char *name;
    bool from_end;
    int64_t sp;
    bool has_window;
    uint64_t below;
} window_rows[] = {
    { "a_walk_from_the_lowest_address", false, 0, true, 0 },
    { "a_walk_from_the_lowest_words", false, 64, true, 64 },
    { "a_walk_from_the_lowest_page", false, 512, true, SW_LANE_BELOW },
    { "a_walk_from_the_first_words_of_a_page", false, 4096 + 64, true, 64 },
    { "a_walk_from_the_first_word_of_a_page", false, 4096, true, 0 },
    { "a_walk_from_the_middle_of_a_page", false, 4096 + 512, true, SW_LANE_BELOW },
    { "a_walk_from_below_the_stack", false, -16, false, 0 },
    { "a_walk_from_the_last_word", true, -8, true, SW_LANE_BELOW },
    { "a_walk_from_the_end", true, 0, false, 0 },
    { "a_walk_from_above", true, 16, false, 0 },
};

static void a_window_is_part_of_the_stack(void **state)
{
    const struct window_row *row = *state;
    uint64_t low, high;
    assert_int_equal(sw_self_stack(&low, &high), SW_OK);
    getcontext(&heard.interrupted);
    heard.interrupted.uc_mcontext.gregs[REG_RIP] = 0x10;
    heard.interrupted.uc_mcontext.gregs[REG_RSP] = (greg_t)((row->from_end ? high : low) + (uint64_t)row->sp);
    hear_all(1);
    assert_int_equal(heard.count, 1);
    assert_int_equal(heard.has_window, row->has_window);
    if (row->has_window)
        assert_int_equal((uint64_t)heard.interrupted.uc_mcontext.gregs[REG_RSP] - heard.window_begin, row->below);
    assert_true(heard.stack_begin == low && heard.stack_end == high);
}

static void a_handler_knows_what_the_thread_table_has_now(void **state)
{
    (void)state;
    jit(walk_from_here);
    assert_true(heard.has_window);
    sw_clr_thread_destroyed(clr, self());
    jit(walk_from_here);
    assert_false(heard.has_window);
    sw_clr_thread_created(clr, self());
    jit(walk_from_here);
    assert_true(heard.has_window);
    clr->leases[0].thread = (struct sw_thread){ .id = 1, .os_id = 1 }; /* of who had the lease before */
    jit(walk_from_here);
    assert_true(heard.has_window);
    struct sw_thread thread = clr->leases[0].thread;
    thread.stack_begin = thread.stack_end = 0;
    assert_int_equal(sw_threads_update(clr->threads, &thread), SW_OK);
    clr->leases[0].thread = thread;
    jit(walk_from_here);
    assert_false(heard.has_window);
    sw_clr_thread_assigned(clr, self(), (DWORD)sw_self_thread()); /* by itself: now its stack is known */
    jit(walk_from_here);
    assert_true(heard.has_window);
}

static void a_sink_ends_it(void **state)
{
    (void)state;
    getcontext(&heard.interrupted);
    hear_all(2);
    assert_int_equal(heard.stop, SW_STOP_ABORTED);
    assert_int_equal(heard.count, 2);
}

static void no_handler_no_walk(void **state)
{
    (void)state;
    getcontext(&heard.interrupted);
    heard.count = 0;
    assert_int_equal(sw_clr_walk(NULL, &heard.interrupted, hear, &heard), SW_STOP_BAD_START);
    assert_int_equal(sw_clr_walk(clr, NULL, hear, &heard), SW_STOP_BAD_START);
    assert_int_equal(sw_clr_walk(clr, &heard.interrupted, NULL, &heard), SW_STOP_BAD_START);
    occupy_all_but(SW_CLR_LEASES);
    assert_int_equal(sw_clr_walk(clr, &heard.interrupted, hear, &heard), SW_STOP_BAD_START);
    free_all();
    assert_int_equal(heard.count, 0);
}

/* Of such a thread the CLR says that there is nothing to do; if it is one of the runtime's, that it has no frames. */
static void a_thread_that_events_tell_of_late_has_no_frames(void **state)
{
    (void)state;
    start_over();
    sw_clr_thread_destroyed(clr, self());
    for (flavour = SW_FLAVOUR_CORECLR_WINDOWS; flavour <= SW_FLAVOUR_CORECLR_UNIX; flavour++) {
        fake.current = 0;
        snapshot();
        assert_int_equal(told.hr, S_OK);
        fake.current = self();
        snapshot();
        assert_int_equal(told.hr, E_FAIL);
        assert_int_equal(told.count, 0);
    }
}

static void a_thread_that_is_not_in_the_table_walks_too(void **state)
{
    (void)state;
    sw_clr_thread_destroyed(clr, self());
    jit(walk_from_here);
    assert_in_range(heard.stop, SW_STOP_ROOT, SW_STOP_ROOT_BASE);
    assert_true(heard_of(native_at(page + 0x10), native_at(page + 0x18)));
    assert_false(heard.has_window);
}

/* The walk starts where nothing leads on: at no code, `below` this frame. `at`: the frame that a record leads to. */
static void put_record(uint8_t *frame, uint64_t next, const struct sw_regs *at)
{
    native_put(frame, 0, TARGET_INLINED, 8);
    native_set(frame, SW_CLR_FRAME_NEXT, next, 8);
    native_set(frame, SW_CLR_INLINED_RETURN, at ? sw_regs_pc(at) : 0, 8);
    native_set(frame, SW_CLR_INLINED_SP, at ? sw_regs_sp(at) : 0, 8);
    native_set(frame, SW_CLR_INLINED_FP, at ? at->r[SW_X64_RBP] : 0, 8);
}

static struct sw_regs behind_jit;
static uint8_t *records;
static uint64_t lost_sp;
static unsigned walk_most;

/* Far enough below the frame of who asks for what it calls to lie above, and without what earlier calls left there. */
static __attribute__((no_sanitize_address)) uint64_t clear_stack_below(void)
{
    enum { NEAR = 0x1000, FAR = 0x8000, CLEARED = 0x2000 };
    uint8_t *frame = __builtin_frame_address(0);
    for (volatile uint8_t *at = frame - FAR; at < frame - NEAR; at++)
        *at = 0;
    return native_at(frame) - FAR + CLEARED;
}

/* A walk that is lost at once, and records: they lead nowhere, below the walk, to where it is, to the JIT code. */
static void walk_lost(void)
{
    _Alignas(16) uint8_t frames[4][64];
    struct sw_regs below, same;
    sw_self_capture(&below);
    behind_jit = below;
    lost_sp = clear_stack_below();
    sw_regs_set(&below, SW_X64_RIP, 0x30); /* no code */
    same = below;
    sw_regs_set(&below, SW_X64_RSP, lost_sp - 0x800);
    sw_regs_set(&same, SW_X64_RSP, lost_sp);
    put_record(frames[0], native_at(frames[1]), NULL);
    put_record(frames[1], native_at(frames[2]), &below);
    put_record(frames[2], native_at(frames[3]), &same);
    put_record(frames[3], UINT64_MAX, &behind_jit);
    native_set(native.thread, SW_CLR_THREAD_FRAME, native_at(frames), 8);
    records = frames[0];
    getcontext(&heard.interrupted);
    heard.interrupted.uc_mcontext.gregs[REG_RIP] = 0x10;
    heard.interrupted.uc_mcontext.gregs[REG_RSP] = (greg_t)lost_sp;
    heard.interrupted.uc_mcontext.gregs[REG_RBP] = 0x20;
    hear_all(walk_most);
    address_count = sw_clr_addresses(clr, &heard.interrupted, addresses, COUNT_OF(addresses), &addresses_stop);
    native_set(native.thread, SW_CLR_THREAD_FRAME, UINT64_MAX, 8);
}

static void a_walk_that_is_cut_goes_on_at_a_record(void **state)
{
    (void)state;
    native_follow(clr);
    walk_most = 1000;
    jit(walk_lost);
    assert_in_range(heard.stop, SW_STOP_ROOT, SW_STOP_ROOT_BASE);
    assert_true(heard.count > 4);
    assert_int_equal(heard.pcs[0], 0x10);
    assert_true(heard.pcs[1] == sw_regs_pc(&behind_jit));
    assert_true(heard_of(native_at(page + 0x10), native_at(page + 0x18)));
    assert_int_equal(heard.budget, SW_WALK_BUDGET_DEFAULT);
    assert_int_equal(addresses_stop, heard.stop);
    assert_int_equal(address_count, heard.count);
    assert_memory_equal(addresses, heard.pcs, address_count * sizeof addresses[0]);
}

static void a_sink_ends_what_went_on_too(void **state)
{
    (void)state;
    native_follow(clr);
    walk_most = 2;
    jit(walk_lost);
    assert_int_equal(heard.stop, SW_STOP_ABORTED);
    assert_int_equal(heard.count, 2);
    walk_most = 1;
    jit(walk_lost);
    assert_int_equal(heard.stop, SW_STOP_ABORTED);
    assert_int_equal(heard.count, 1);
}

static void a_thread_that_nobody_knows_has_no_records(void **state)
{
    (void)state;
    native_follow(clr);
    sw_clr_thread_destroyed(clr, self());
    walk_most = 1000;
    jit(walk_lost);
    assert_int_equal(heard.count, 1);
    assert_true(heard.stop != SW_STOP_ROOT && heard.stop != SW_STOP_ABORTED);
}

/* ---- seeds ---- */

static struct sought {
    BYTE context[SW_CONTEXT_X64_BYTES];
    ULONG32 size;
    enum sw_status status;
} sought;

static void seek(void)
{
    struct sw_regs start;
    sw_self_capture(&start);
    memset(sought.context, 0xa5, sizeof sought.context);
    sought.status = sw_clr_find_seed(clr, &start, sought.context, sought.size);
    atomic_signal_fence(memory_order_seq_cst);
}

static void the_first_managed_frame_is_a_seed(void **state)
{
    struct sw_regs seed;
    (void)state;
    sought.size = sizeof sought.context;
    jit(seek);
    assert_int_equal(sought.status, SW_OK);
    assert_int_equal(sw_context_load(SW_CONTEXT_WIN32, SW_MACHINE_X64, sought.context, sizeof sought.context, &seed),
                     SW_OK);
    assert_int_equal(sw_regs_pc(&seed), native_at(page + 0x16));
    assert_true(sw_regs_sp(&seed) > native_at(__builtin_frame_address(0)) - 4096);
    sought.size = 64;
    jit(seek);
    assert_int_equal(sought.status, SW_E_TRUNCATED);
    sought.size = sizeof sought.context;
    seek();
    assert_int_equal(sought.status, SW_E_NOT_FOUND);
    assert_int_equal(sought.context[0], 0xa5);
}

/* ---- what the runtime's structures say ---- */

static struct sw_thread own_thread(void)
{
    struct sw_thread thread = { 0 };
    assert_int_equal(sw_threads_find(clr->threads, self(), &thread), SW_OK);
    return thread;
}

static struct sw_thread updated(void)
{
    struct sw_thread thread = own_thread();
    thread.mode = SW_MODE_UNKNOWN;
    sw_clr_update(&clr->leases[0], &thread);
    return thread;
}

static void the_mode_is_that_of_the_moment(void **state)
{
    (void)state;
    native_set(native.thread, SW_CLR_THREAD_MODE, 1, 4);
    assert_int_equal(updated().mode, SW_MODE_UNKNOWN);
    native_follow(clr);
    assert_int_equal(updated().mode, SW_MODE_COOPERATIVE);
    native_set(native.thread, SW_CLR_THREAD_MODE, 0, 4);
    assert_int_equal(updated().mode, SW_MODE_PREEMPTIVE);
    assert_int_equal(updated().flags, SW_THREAD_RAN_MANAGED);
}

/* pass 1 and 2 of an exception; a handler was entered. */
static void put_exception(unsigned pass, bool entered, uint64_t low, uint64_t high)
{
    enum { ENTERED = 60, FLAGS = 64, LOW = 128, HIGH = 136, KIND = 184, PASS = 185 };
    memset(native.exception, 0, sizeof native.exception);
    native_put(native.exception, ENTERED, entered, 1);
    native_put(native.exception, FLAGS, pass == 2 ? 4 : 0, 4);
    native_put(native.exception, LOW, low, 8);
    native_put(native.exception, HIGH, high, 8);
    native_put(native.exception, KIND, 1, 1);
    native_put(native.exception, PASS, pass, 1);
    native_set(native.thread, SW_CLR_THREAD_EXCEPTION, native_at(native.exception), 8);
}

static bool unwound(uint64_t *low, uint64_t *high)
{
    const struct sw_thread thread = own_thread();
    uint64_t cursor = 0;
    return sw_clr_unwound(&clr->leases[0], &thread, &cursor, low, high);
}

static void an_exception_in_flight_is_seen(void **state)
{
    uint64_t low = 7, high = 7;
    (void)state;
    put_exception(2, false, 0x9000, 0xa000);
    clr->layout = native.layout;
    assert_false(unwound(&low, &high));
    assert_false(updated().flags & SW_THREAD_EXCEPTION_PASS2);
    native_follow(clr);
    assert_true(updated().flags & SW_THREAD_EXCEPTION_PASS2);
    assert_true(unwound(&low, &high));
    assert_true(low == 0x9000 && high == 0xa000);
    put_exception(2, true, 0x9000, 0xa000);
    assert_false(updated().flags & SW_THREAD_EXCEPTION_PASS2);
    assert_true(unwound(&low, &high));
    assert_true(low == 0x9000 && high == 0xa000);
    put_exception(1, false, 0x9000, 0xa000);
    assert_false(updated().flags & SW_THREAD_EXCEPTION_PASS2);
    low = high = 7;
    assert_true(unwound(&low, &high));
    assert_true(low == 0 && high == 0); /* the first pass unwinds nothing */
    native_set(native.thread, SW_CLR_THREAD_EXCEPTION, 0, 8);
    assert_false(updated().flags & SW_THREAD_EXCEPTION_PASS2);
    assert_false(unwound(&low, &high));
}

static void records_are_read_when_the_runtime_is_understood(void **state)
{
    _Alignas(16) uint8_t frame[64];
    const struct sw_thread thread = own_thread();
    struct sw_regs here;
    struct sw_transition record;
    uint64_t cursor = 0;
    (void)state;
    sw_self_capture(&here);
    put_record(frame, UINT64_MAX, &here);
    native_set(native.thread, SW_CLR_THREAD_FRAME, native_at(frame), 8);
    clr->layout = native.layout;
    assert_false(sw_clr_record(&clr->leases[0], &thread, &cursor, &record)); /* though it could be */
    native_follow(clr);
    assert_true(sw_clr_record(&clr->leases[0], &thread, &cursor, &record));
    assert_true(record.address == native_at(frame) && sw_regs_pc(&record.regs) == sw_regs_pc(&here));
    assert_false(sw_clr_record(&clr->leases[0], &thread, &cursor, &record));
}

/* The return address in a word of this stack was replaced: where, and what it was. */
static void put_hijack(const uint64_t *slot, uint64_t original)
{
    native_put(native.thread, 0x200, original, 8);
    native_put(native.thread, 0x208, native_at(slot), 8);
    native_set(native.thread, SW_CLR_THREAD_STATE, slot ? 0x80 : 0, 4);
}

static struct sw_walker noted(void)
{
    struct sw_walker walker = { .replaced = { .at = 1, .original = 1 } };
    const struct sw_thread thread = own_thread();
    const struct sw_memory object = sw_clr_object(clr, thread.id);
    sw_clr_note_hijack(clr, &object, &thread, &walker);
    return walker;
}

/* What an original may be: code in the map, in the runtime's own map; or none. */
static void a_replaced_return_address_is_noted(void **state)
{
    const uint64_t slot[2] = { 0 };
    (void)state;
    put_hijack(slot, native_at(page + 0x12));
    assert_true(noted().replaced.at == 0 && noted().replaced.original == 0);
    native_follow(clr);
    assert_true(noted().replaced.at == native_at(slot) && noted().replaced.original == native_at(page + 0x12));
    put_hijack(slot, native_begin_of() + 4);
    assert_true(noted().replaced.at == native_at(slot) && noted().replaced.original == native_begin_of() + 4);
    put_hijack(slot, native_at(page + 0x800));
    assert_true(noted().replaced.at == 0 && noted().replaced.original == 0);
    put_hijack(NULL, native_at(page + 0x12));
    assert_true(noted().replaced.at == 0 && noted().replaced.original == 0);
    put_hijack(slot, native_at(page + 0x12));
    (void)updated();
    assert_true(clr->leases[0].walker.replaced.at == native_at(slot));
    put_hijack(NULL, 0);
    (void)updated();
    assert_true(clr->leases[0].walker.replaced.at == 0);
}

/* A page of this stack that must not be loaded from. */
enum { PAGE_BYTES = 4096 };
static uint64_t forbidden;

static uint64_t up_to_forbidden(void *arg, uint64_t from, uint64_t end)
{
    (void)arg;
    if (from >= forbidden + PAGE_BYTES || end <= forbidden)
        return end;
    return from < forbidden ? forbidden : from;
}

static void walk_from_forbidden(void)
{
    getcontext(&heard.interrupted);
    heard.interrupted.uc_mcontext.gregs[REG_RIP] = (greg_t)native_at(page + 0x10);
    heard.interrupted.uc_mcontext.gregs[REG_RSP] = (greg_t)(forbidden + 64);
    hear_all(1000);
}

static void what_of_the_own_stack_cannot_be_loaded_is_left_alone(void **state)
{
    static uint8_t *volatile kept;
    uint8_t pages[3 * PAGE_BYTES];
    const struct sw_thread thread = own_thread();
    struct sw_transition record;
    uint64_t cursor = 0;
    (void)state;
    kept = pages;
    forbidden = (native_at(kept) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    native_set(native.thread, SW_CLR_THREAD_FRAME, forbidden + 64, 8);
    native_follow(clr);
    clr->loadable = up_to_forbidden;
    clr->leases[0].asked_by = 0; /* as when it is met for the first time */
    assert_int_equal(mprotect((void *)(uintptr_t)forbidden, PAGE_BYTES, PROT_NONE), 0);
    (void)updated();
    const bool has_record = sw_clr_record(&clr->leases[0], &thread, &cursor, &record);
    walk_from_forbidden();
    assert_int_equal(mprotect((void *)(uintptr_t)forbidden, PAGE_BYTES, PROT_READ | PROT_WRITE), 0);
    clr->loadable = sw_self_loadable;
    assert_false(has_record);
    assert_int_equal(heard.count, 1);
}

/* Counts the questions about the stack; cut: the answer is not all of it. */
static struct {
    unsigned count;
    bool cut;
} questions;

static uint64_t count_question(void *arg, uint64_t from, uint64_t end)
{
    (void)arg, (void)from;
    questions.count++;
    return questions.cut ? end - PAGE_BYTES : end;
}

static unsigned questions_of_updates(unsigned updates)
{
    const unsigned before = questions.count;
    for (unsigned i = 0; i < updates; i++)
        (void)updated();
    return questions.count - before;
}

static unsigned __attribute__((noinline)) questions_further_down(void)
{
    static void *volatile pages;
    pages = __builtin_alloca((size_t)2 * PAGE_BYTES);
    return questions_of_updates(2) + (pages == NULL);
}

static void pages_of_the_own_stack_are_asked_about_once(void **state)
{
    struct sw_clr_lease *lease = &clr->leases[0];
    (void)state;
    native_follow(clr);
    clr->loadable = count_question;
    lease->asked_by = 0;
    const unsigned first = questions_of_updates(3), deeper = questions_further_down(), again = questions_of_updates(1);
    lease->asked_by++;
    const unsigned of_another = questions_of_updates(2);
    questions.cut = true;
    lease->asked_by = 0;
    const unsigned not_all = questions_of_updates(3);
    clr->loadable = sw_self_loadable;
    assert_int_equal(first, 1);
    assert_int_equal(deeper, 1);
    assert_int_equal(again, 0);
    assert_int_equal(of_another, 1);
    assert_int_equal(not_all, 3);
}

static void walk_hijacked(void)
{
    uint64_t *slot = (uint64_t *)__builtin_frame_address(0) + 1;
    const uint64_t original = *slot;
    put_hijack(slot, original);
    *(volatile uint64_t *)slot = 0x10; /* nobody returns there before it is put back */
    walk_from_here();
    snapshot();
    *(volatile uint64_t *)slot = original;
    atomic_signal_fence(memory_order_seq_cst);
}

/* Both kinds of walks go through a return address that the runtime has replaced. */
static void walks_go_through_a_replaced_return_address(void **state)
{
    (void)state;
    start_over();
    native_follow(clr);
    jit(walk_hijacked);
    put_hijack(NULL, 0);
    assert_in_range(heard.stop, SW_STOP_ROOT, SW_STOP_ROOT_BASE);
    assert_true(heard_of(native_at(page + 0x10), native_at(page + 0x18)));
    assert_int_equal(told.hr, S_OK);
    assert_string_equal(told.text, "0J0");
}

/* Of precompiled methods: only those that the runtime has prepared have a FunctionID. */
static void a_prepared_method_is_in_the_runtimes_table(void **state)
{
    const struct sw_memory memory = sw_self_memory();
    const struct bin b = make_image();
    const uint64_t base = native_at(native_image()), function = base + CODE + 32; /* of 16 bytes, the third */
    struct sw_clr_lease *lease = &clr->leases[0];
    (void)state;
    memcpy(native_image(), b.bytes, FILE_AT);
    memcpy(native_image() + BASE_RVA, b.bytes + FILE_AT, SECTION_BYTES);
    assert_int_equal(sw_images_add_memory(clr->images, "corelib", base, MAPPED_BYTES, &memory), SW_OK);
    native_prepare(function, 0x7780);
    assert_int_equal(sw_clr_function(lease, function + 4), 0); /* nothing of the runtime is understood */
    native_follow(clr);
    assert_int_equal(sw_clr_function(lease, function + 4), 0x7780);
    assert_int_equal(sw_clr_function(lease, base + CODE + 4), 0); /* not prepared */
    assert_int_equal(sw_clr_function(lease, native_at(page)), 0); /* in no image */
    const uint64_t slot[2] = { 0 };
    put_hijack(slot, function + 4); /* precompiled code is what an original return address may be */
    assert_true(noted().replaced.original == function + 4);
}

/* ---- the OS id of a thread ---- */

static void *compare_ids(void *arg)
{
    *(bool *)arg = clr->suspender.current(clr->suspender.arg) == sw_self_thread();
    return NULL;
}

static void each_thread_is_known_by_its_own_id(void **state)
{
    bool same = false;
    pthread_t other;
    (void)state;
    assert_int_equal(clr->suspender.current(clr->suspender.arg), sw_self_thread());
    assert_int_equal(pthread_create(&other, NULL, compare_ids, &same), 0);
    pthread_join(other, NULL);
    assert_true(same);
}

#define WALK(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    static const struct CMUnitTest single[] = {
        WALK(a_thread_walks_itself),
        WALK(a_callback_ends_it),
        WALK(the_context_has_the_size_of_the_flavour),
        WALK(nothing_can_be_asked),
        WALK(whether_it_has_started_is_asked_until_it_has),
        WALK(what_the_profiler_says_is_not_asked),
        WALK(which_events_are_enabled_is_asked),
        WALK(without_a_lease_there_is_no_answer),
        WALK(a_thread_takes_the_lease_that_knows_its_stack),
        WALK(a_walk_in_a_walk_of_the_same_thread_is_refused),
        WALK(a_walk_in_a_walk_of_another_thread_is_none_of_its_business),
        WALK(a_thread_that_must_not_be_suspended_is_refused),
        WALK(the_threads_own_count_says_whether_it_must_not_be_suspended),
        WALK(walks_end_where_the_limit_is),
        WALK(functions_are_found_by_address),
        WALK(code_without_an_event_is_found_in_the_runtimes_map),
        WALK(a_handler_walks_every_frame_on_a_stack_with_room),
        WALK(a_handler_knows_what_the_thread_table_has_now),
        WALK(a_sink_ends_it),
        WALK(no_handler_no_walk),
        WALK(addresses_are_those_of_the_frames),
        WALK(there_are_as_many_addresses_as_have_room),
        WALK(no_handler_no_addresses),
        WALK(ranges_are_found),
        WALK(a_thread_that_events_tell_of_late_has_no_frames),
        WALK(a_thread_that_is_not_in_the_table_walks_too),
        WALK(a_walk_that_is_cut_goes_on_at_a_record),
        WALK(a_sink_ends_what_went_on_too),
        WALK(a_thread_that_nobody_knows_has_no_records),
        WALK(the_first_managed_frame_is_a_seed),
        WALK(the_mode_is_that_of_the_moment),
        WALK(an_exception_in_flight_is_seen),
        WALK(records_are_read_when_the_runtime_is_understood),
        WALK(a_replaced_return_address_is_noted),
        WALK(what_of_the_own_stack_cannot_be_loaded_is_left_alone),
        WALK(pages_of_the_own_stack_are_asked_about_once),
        WALK(walks_go_through_a_replaced_return_address),
        WALK(a_prepared_method_is_in_the_runtimes_table),
        WALK(each_thread_is_known_by_its_own_id),
    };
    enum { WINDOWS = COUNT_OF(single) };
    struct CMUnitTest tests[WINDOWS + COUNT_OF(window_rows)];
    memcpy(tests, single, sizeof single);
    FILL_ROWS(tests + WINDOWS, window_rows, a_window_is_part_of_the_stack);
    SET_UP(tests, WINDOWS, COUNT_OF(tests), begin, end);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
MAIN_THAT_NEEDS_X64
#endif
