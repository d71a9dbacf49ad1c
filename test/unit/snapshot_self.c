/*
 * The contract on real threads of this process: real JIT code on a real stack, the real suspender, a real signal
 * handler. D2, D3, D16, D17 once more, without simulation.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <snapwalk/self.h>
#include <snapwalk/snapshot.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INSTRUMENTED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define INSTRUMENTED 1
#endif
#endif
#ifndef INSTRUMENTED
#define INSTRUMENTED 0
#endif

enum { MAIN_THREAD = 10, OTHER_THREAD = 20, JIT_ID = 'J' };

#if defined(__aarch64__)
/* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret */
static const uint32_t jit_code[] = { 0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0 };
#else
/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
static const uint8_t jit_code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
#endif

static struct world {
    struct sw_codemap *codemap;
    struct sw_images *images;
    struct sw_threads *threads;
    struct sw_self_suspender *self;
    struct sw_suspender suspender;
    struct sw_walker walker;
    struct sw_engine engine;
    struct sw_scratch scratch;
    void (*jit)(void (*callee)(void));
    char said[64];
    HRESULT hr;
} world;

static HRESULT SW_COM_CALL hear(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO info, ULONG32 context_size,
                                BYTE context[], void *client_data)
{
    const size_t length = strlen(world.said);
    (void)ip;
    (void)info;
    (void)context_size;
    (void)context;
    (void)client_data;
    if (length + 1 < sizeof world.said)
        world.said[length] = function ? (char)function : '0';
    return S_OK;
}

static void add_thread(uint64_t id)
{
    struct sw_thread thread = { .id = id, .os_id = sw_self_thread() };
    assert_int_equal(sw_self_stack(&thread.stack_begin, &thread.stack_end), SW_OK);
    assert_int_equal(sw_threads_add(world.threads, &thread), SW_OK);
}

static int set_up(void **state)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const uint64_t begin = (uint64_t)(uintptr_t)page;
    const struct sw_range range = {
        .begin = begin, .end = begin + sizeof jit_code, .id = JIT_ID, .kind = SW_KIND_JIT, .unwind = SW_UNWIND_ANALYSIS
    };
    (void)state;
    assert_ptr_not_equal(page, MAP_FAILED);
    memcpy(page, jit_code, sizeof jit_code);
    __builtin___clear_cache((char *)page, (char *)page + sizeof jit_code);
    assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
    memcpy(&world.jit, &page, sizeof world.jit);
    assert_int_equal(sw_codemap_create(NULL, &world.codemap), SW_OK);
    assert_int_equal(sw_codemap_add(world.codemap, &range), SW_OK);
    assert_int_equal(sw_images_create(NULL, &world.images), SW_OK);
    assert_int_equal(sw_images_add_self(world.images), SW_OK);
    assert_int_equal(sw_threads_create(NULL, NULL, NULL, &world.threads), SW_OK);
    assert_int_equal(sw_self_suspender_create(NULL, 0, 4, &world.self), SW_OK);
    world.suspender = sw_self_get_suspender(world.self);
    assert_int_equal(sw_self_walker(&world.walker, world.codemap, world.images), SW_OK);
    world.engine = (struct sw_engine){ .walker = &world.walker,
                                       .threads = world.threads,
                                       .suspender = &world.suspender,
                                       .runtime = SW_RUNTIME_READY,
                                       .event_mask = COR_PRF_ENABLE_STACK_SNAPSHOT };
    add_thread(MAIN_THREAD);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sw_self_suspender_destroy(world.self);
    sw_threads_destroy(world.threads);
    sw_images_destroy(world.images);
    sw_codemap_destroy(world.codemap);
    return 0;
}

static void walk_thread(ThreadID thread)
{
    memset(world.said, 0, sizeof world.said);
    world.hr = sw_snapshot(&world.engine, &world.scratch, thread, hear, 1, NULL, NULL, 0);
}

static void walk_self(void)
{
    walk_thread(0);
}

static void twice_through_jit(void)
{
    world.jit(walk_self);
    atomic_signal_fence(memory_order_seq_cst); /* not a tail call: this frame stays */
}

static void d2_the_current_thread_walks_itself_through_jit_code(void **state)
{
    (void)state;
    world.jit(twice_through_jit);
    assert_int_equal((uint32_t)world.hr, S_OK);
    assert_string_equal(world.said, "0J0J0");
    assert_in_range(world.engine.stop, SW_STOP_ROOT, SW_STOP_ROOT_BASE);
}

static void on_signal(int signal)
{
    (void)signal;
    walk_thread(0);
}

static void raise_signal(void)
{
    raise(SIGUSR1);
}

static void d17_a_signal_handler_walks_the_thread_it_interrupted(void **state)
{
    struct sigaction action = { .sa_handler = on_signal };
    struct sigaction before;
    (void)state;
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    world.jit(raise_signal);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    assert_int_equal((uint32_t)world.hr, S_OK);
    assert_string_equal(world.said, "0J0");
}

static atomic_long turns;
static atomic_bool over;

static void spin(void)
{
    while (!atomic_load(&over))
        atomic_fetch_add(&turns, 1);
}

static void *run_jit(void *arg)
{
    (void)arg;
    add_thread(OTHER_THREAD);
    world.jit(spin);
    return NULL;
}

static void wait_for_a_turn(void)
{
    const long before = atomic_load(&turns);
    for (unsigned i = 0; i < 60000 && atomic_load(&turns) == before; i++)
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    assert_true(atomic_load(&turns) > before);
}

/* Once more where the thread was given no processor for as long as the suspender waits for its answer: one second. */
static void walk_running_thread(void)
{
    struct timespec begin, end;
    do {
        clock_gettime(CLOCK_MONOTONIC, &begin);
        walk_thread(OTHER_THREAD);
        clock_gettime(CLOCK_MONOTONIC, &end);
    } while (world.hr != S_OK &&
             (end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec >= 1000000000L);
}

static void d3_another_thread_is_suspended_walked_and_runs_on(void **state)
{
    pthread_t other;
    (void)state;
    assert_int_equal(pthread_create(&other, NULL, run_jit, NULL), 0);
    for (unsigned i = 0; i < 50; i++) {
        wait_for_a_turn();
        walk_running_thread();
        assert_int_equal((uint32_t)world.hr, S_OK);
        assert_string_equal(world.said, "0J0");
    }
    wait_for_a_turn();
    assert_int_equal(sw_threads_remove(world.threads, OTHER_THREAD), SW_OK);
    walk_thread(OTHER_THREAD);
    assert_int_equal((uint32_t)world.hr, (uint32_t)CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD);
    atomic_store(&over, true);
    assert_int_equal(pthread_join(other, NULL), 0);
}

/* ---- what a call takes of its stack, beside what callbacks take ---- */

enum { STACK_BYTES = 1 << 20, PAINT = 0xa5, BUDGET = 4096 };

static struct {
    uint8_t *stack;
    const uint8_t *inside;
    uint32_t options;
} painted;

static HRESULT SW_COM_CALL ignore(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO info, ULONG32 context_size,
                                  BYTE context[], void *client_data)
{
    (void)function, (void)ip, (void)info, (void)context_size, (void)context, (void)client_data;
    return S_OK;
}

static void walk_over_paint(void)
{
    enum { NEAR = 1024 };
    uint8_t here;
    painted.inside = &here;
    for (volatile uint8_t *at = painted.stack; at < (uint8_t *)__builtin_frame_address(0) - NEAR; at++)
        *at = PAINT;
    world.hr = sw_snapshot(&world.engine, &world.scratch, 0, ignore, 1, NULL, NULL, 0);
}

static void *walk_on_painted_stack(void *arg)
{
    (void)arg;
    add_thread(OTHER_THREAD + 1);
    world.engine.options = painted.options;
    world.jit(walk_over_paint);
    world.engine.options = 0;
    return NULL;
}

static void a_call_uses_less_than_4_kib_of_stack(void **state)
{
    static const uint32_t options[] = { 0, SW_ENGINE_OWN_PROCESS, SW_ENGINE_OWN_PROCESS | SW_ENGINE_BOTH_ENDS };
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        pthread_attr_t attributes;
        pthread_t thread;
        size_t untouched = 0;
        painted.options = options[i];
        world.walker.max_frames = options[i] & SW_ENGINE_BOTH_ENDS ? 2 : 0;
        painted.stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(painted.stack, MAP_FAILED);
        memset(painted.stack, PAINT, STACK_BYTES);
        assert_int_equal(pthread_attr_init(&attributes), 0);
        assert_int_equal(pthread_attr_setstack(&attributes, painted.stack, STACK_BYTES), 0);
        assert_int_equal(pthread_create(&thread, &attributes, walk_on_painted_stack, NULL), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        pthread_attr_destroy(&attributes);
        assert_int_equal(sw_threads_remove(world.threads, OTHER_THREAD + 1), SW_OK);
        assert_int_equal((uint32_t)world.hr, S_OK);
        while (painted.stack[untouched] == PAINT)
            untouched++;
        const size_t used = (size_t)(painted.inside - (painted.stack + untouched));
        print_message("# options %u: %zu bytes of stack\n", painted.options, used);
        if (!INSTRUMENTED)
            assert_in_range(used, 1, BUDGET);
        munmap(painted.stack, STACK_BYTES);
    }
    world.walker.max_frames = 0;
}

/* How far a stack may be loaded from, and what was asked for instead. */
static struct {
    uint64_t from, end;
    size_t reads;
    struct sw_memory real;
} near_by;

static uint64_t half_a_kib(void *arg, uint64_t from, uint64_t end)
{
    enum { HALF = 512 };
    assert_ptr_equal(arg, &near_by);
    near_by.from = from;
    near_by.end = end;
    return end - from > HALF ? from + HALF : end;
}

static size_t count_reads(void *arg, uint64_t address, void *to, size_t size)
{
    (void)arg;
    near_by.reads += address >= near_by.from && address < near_by.end;
    return near_by.real.read(near_by.real.arg, address, to, size);
}

static void walk_near_by(void)
{
    walk_thread(0);
}

static void beyond_what_may_be_loaded_of_a_stack_it_is_asked_for(void **state)
{
    char said[sizeof world.said];
    (void)state;
    world.engine.options = SW_ENGINE_OWN_PROCESS;
    near_by.real = world.walker.memory;
    world.walker.memory = (struct sw_memory){ .read = count_reads };
    assert_int_equal(sw_self_stack(&near_by.from, &near_by.end), SW_OK);
    world.jit(walk_near_by);
    assert_int_equal(world.hr, S_OK);
    assert_int_equal(near_by.reads, 0);
    memcpy(said, world.said, sizeof said);
    world.engine.loadable = half_a_kib;
    world.engine.loadable_arg = &near_by;
    world.jit(walk_near_by);
    assert_int_equal(world.hr, S_OK);
    assert_string_equal(world.said, said);
    assert_int_not_equal(near_by.reads, 0);
    world.engine.loadable = NULL;
    world.engine.options = 0;
    world.walker.memory = near_by.real;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(d2_the_current_thread_walks_itself_through_jit_code),
        cmocka_unit_test(d17_a_signal_handler_walks_the_thread_it_interrupted),
        cmocka_unit_test(d3_another_thread_is_suspended_walked_and_runs_on),
        cmocka_unit_test(a_call_uses_less_than_4_kib_of_stack),
        cmocka_unit_test(beyond_what_may_be_loaded_of_a_stack_it_is_asked_for),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
