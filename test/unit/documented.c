/*
 * The documented contract, statement by statement: D1-D26 and C1-C9 of contract-documented.md, in the documented
 * flavour. A name begins with the statement's number.
 */
#include "simstack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define COOP       SW_MODE_COOPERATIVE
#define PREEMPT    SW_MODE_PREEMPTIVE
#define BAD_SEED   CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX
#define NAME(text) .name = text

/* clang-format off */
static const struct situation situations[] = {
    { NAME("d1_managed_frames_reach_the_callback"), .stack = "CBM", .heard = "CBM" },
    { NAME("d2_null_thread_is_the_current_thread"), .stack = "NCMN", .heard = "0CM0", .who = SELF },
    { NAME("d3_another_thread_is_suspended_walked_and_resumed"), .stack = "NCMN", .heard = "0CM0", .who = FROM_OTHER, .suspends = 1 },
    { NAME("d3_another_thread_is_suspended_even_while_the_runtime_is"), .stack = "NCMN", .heard = "0CM0", .who = FROM_OTHER, .runtime = SW_RUNTIME_SUSPENDED, .suspends = 1 },
    { NAME("d3_it_is_resumed_when_the_callback_aborts"), .stack = "NCMN", .heard = "0", .who = FROM_OTHER, .suspends = 1, .answer = S_FALSE, .answer_at = 1, .hr = CORPROF_E_STACKSNAPSHOT_ABORTED },
    { NAME("d3_it_is_resumed_when_the_seed_is_refused"), .stack = "NCMN", .who = FROM_OTHER, .seed = 'N', .suspends = 1, .hr = BAD_SEED },
    { NAME("d4_a_thread_that_cannot_be_suspended_is_not_walked"), .stack = "NCMN", .who = FROM_OTHER, .suspend_answer = SW_E_PERMISSION, .hr = CORPROF_E_STACKSNAPSHOT_UNSAFE },
    { NAME("d5_one_callback_per_managed_frame_and_per_run"), .stack = "NNCNNNBMNN", .heard = "0C0BM0" },
    { NAME("d6_x86_optimized_is_for_x86"), .stack = "NCMN", .info_flags = COR_PRF_SNAPSHOT_X86_OPTIMIZED, .hr = E_INVALIDARG },
    { NAME("d8_a_context_seeds_the_walk"), .stack = "NCBMN", .mode = COOP, .seed = 'B', .heard = "BM0" },
    { NAME("d9_the_seed_says_where_to_begin_when_native_helper_code_is_on_top"), .stack = "NNCBMN", .mode = COOP, .seed = 'C', .heard = "CBM0" },
    { NAME("d9_the_seed_says_where_to_begin_when_stub_code_is_on_top"), .stack = "sNCBMN", .seed = 'B', .heard = "BM0" },
    { NAME("d9_the_seed_is_ignored_when_the_top_is_managed"), .stack = "DCBMN", .mode = COOP, .seed = 'B', .heard = "DCBM0" },
    { NAME("d9_the_seed_is_ignored_in_a_platform_invoke"), .stack = "NDCBMN", .mode = PREEMPT, .seed = 'B', .heard = "0DCBM0" },
    { NAME("d10_a_synchronous_walk_needs_no_seed"), .stack = "NDCMN", .records = "D", .mode = PREEMPT, .heard = "0DCM0" },
    { NAME("d10_an_asynchronous_walk_takes_one"), .stack = "NDCMN", .mode = COOP, .who = FROM_OTHER, .seed = 'D', .suspends = 1, .heard = "DCM0" },
    { NAME("d11_context_size_without_context_says_nothing"), .stack = "NDCMN", .context_size = 1, .heard = "0DCM0" },
    { NAME("d14_leaf_first_main_last"), .stack = "FEDCBAMN", .heard = "FEDCBAM0" },
    { NAME("d16_synchronous_null_thread_null_context_no_suspension"), .stack = "NNDCMN", .heard = "0DCM0", .suspends = 0 },
    { NAME("d17_asynchronous_another_thread"), .stack = "DCMN", .who = FROM_OTHER, .mode = COOP, .heard = "DCM0", .suspends = 1 },
    { NAME("d17_asynchronous_current_thread_from_a_handler_with_the_interrupted_registers"), .stack = "NNDCMN", .mode = COOP, .seed = 'D', .heard = "DCM0" },
    { NAME("d18_helper_code_on_top_without_seed_is_found_through_by_the_engine"), .stack = "sNDCMN", .mode = COOP, .who = FROM_OTHER, .heard = "0DCM0", .suspends = 1 },
    { NAME("d18_with_that_switched_off_a_seed_is_needed"), .stack = "sNDCMN", .mode = COOP, .who = FROM_OTHER, .options = SW_ENGINE_NO_AUTO_SEED, .suspends = 1, .hr = E_FAIL },
    { NAME("d18_and_given_one_the_walk_is_complete"), .stack = "sNDCMN", .mode = COOP, .who = FROM_OTHER, .options = SW_ENGINE_NO_AUTO_SEED, .seed = 'D', .heard = "DCM0", .suspends = 1 },
    { NAME("d18_a_platform_invoke_needs_none"), .stack = "NDCMN", .mode = PREEMPT, .who = FROM_OTHER, .options = SW_ENGINE_NO_AUTO_SEED, .heard = "0DCM0", .suspends = 1 },
    { NAME("d18_nor_does_managed_code_on_top"), .stack = "DCMN", .mode = COOP, .who = FROM_OTHER, .options = SW_ENGINE_NO_AUTO_SEED, .heard = "DCM0", .suspends = 1 },
    { NAME("d20_without_a_seed_managed_frames_at_the_top_are_skipped"), .stack = "sDCNBMN", .records = "B", .mode = COOP, .options = SW_ENGINE_NO_AUTO_SEED, .heard = "BM0" },
    { NAME("d20_with_a_seed_they_are_not"), .stack = "sDCNBMN", .records = "B", .mode = COOP, .options = SW_ENGINE_NO_AUTO_SEED, .seed = 'D', .heard = "DC0BM0" },
    { NAME("d20_nor_when_the_engine_seeds_itself"), .stack = "sDCNBMN", .records = "B", .mode = COOP, .heard = "0DC0BM0" },
    { NAME("d21_a_seed_in_jit_code_is_good"), .stack = "NDMN", .seed = 'D', .heard = "DM0" },
    { NAME("d21_a_seed_in_precompiled_code_is_good"), .stack = "NgMN", .seed = 'g', .heard = "gM0" },
    { NAME("d21_a_seed_in_an_il_stub_is_good"), .stack = "NiMN", .seed = 'i', .heard = "iM0" },
    { NAME("d21_a_seed_in_native_code_is_refused"), .stack = "NDMN", .seed = 'N', .hr = BAD_SEED },
    { NAME("d21_a_seed_in_stub_code_is_refused"), .stack = "NsDMN", .seed = 's', .hr = BAD_SEED },
    { NAME("d21_a_seed_in_unknown_code_is_refused"), .stack = "NDMN", .seed = '?', .hr = BAD_SEED },
    { NAME("d21_a_seed_of_zeros_is_refused"), .stack = "NDMN", .seed = '-', .hr = BAD_SEED },
    { NAME("d21_a_bad_seed_is_refused_though_the_top_is_managed"), .stack = "DNMN", .mode = COOP, .seed = 'N', .hr = BAD_SEED },
    { NAME("d21_a_bad_seed_is_refused_though_the_top_is_a_platform_invoke"), .stack = "NDMN", .mode = PREEMPT, .seed = 'N', .hr = BAD_SEED },
    { NAME("c1_zero_for_a_run_and_the_function_id_for_a_managed_frame"), .stack = "NDNMN", .heard = "0D0M0" },
    { NAME("c7_a_run_of_one_and_a_run_of_many_are_one_callback_each"), .stack = "NDNNNNNMNN", .heard = "0D0M0" },
};
/* clang-format on */

static struct simstack stack;

static void walk(const struct situation *row)
{
    arrange(&stack, row);
    assert_int_equal((uint32_t)ask(&stack, row), (uint32_t)row->hr);
    assert_string_equal(stack.said, row->heard);
}

static void d4_the_target_is_suspended_during_every_callback(void **state)
{
    const struct situation row = { .stack = "NDNMN", .heard = "0D0M0", .who = FROM_OTHER };
    (void)state;
    walk(&row);
    for (size_t i = 0; i < stack.heard_count; i++)
        assert_int_equal(stack.heard[i].outstanding, 1);
    assert_int_equal(sw_sim_get_counts(stack.sim, TARGET).outstanding, 0);
    tear_down(&stack);
}

static void d7_c5_client_data_goes_straight_through(void **state)
{
    const struct situation row = { .stack = "NDNMN", .heard = "0D0M0" };
    (void)state;
    walk(&row);
    for (size_t i = 0; i < stack.heard_count; i++)
        assert_ptr_equal(stack.heard[i].client_data, &stack);
    tear_down(&stack);
}

static void d6_info_flags_say_how_much_each_callback_gets(void **state)
{
    (void)state;
    for (ULONG32 flags = COR_PRF_SNAPSHOT_DEFAULT; flags <= COR_PRF_SNAPSHOT_REGISTER_CONTEXT; flags++) {
        const struct situation row = { .stack = "NCNMN", .info_flags = flags, .heard = "0C0M0" };
        walk(&row);
        for (size_t i = 0; i < stack.heard_count; i++) {
            const struct heard *heard = &stack.heard[i];
            assert_int_equal(heard->has_context, flags != 0);
            assert_int_equal(heard->ip, sw_regs_pc(&stack.regs[i])); /* the same with and without */
            if (flags)
                assert_int_equal(sw_regs_sp(&heard->regs), sw_regs_sp(&stack.regs[i]));
        }
        tear_down(&stack);
    }
}

/* The context ends where it is said to: what is behind it cannot be read. One byte less does not hold the registers. */
static void d11_context_size_is_the_size_of_the_context(void **state)
{
    static const ULONG32 sizes[] = { 256, 1232, 1504, 3104, 3232 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (enum sw_flavour flavour = SW_FLAVOUR_DOCUMENTED; flavour < SW_FLAVOUR_COUNT; flavour++) {
            const struct situation row = { .stack = "NDCMN", .mode = COOP, .flavour = flavour, .seed = 'D' };
            arrange(&stack, &row);
            BYTE *context = pages + page - sizes[i];
            memcpy(context, stack.context, sizes[i] < sizeof stack.context ? sizes[i] : sizeof stack.context);
            assert_int_equal(sw_snapshot(stack.engine, &stack.scratch, 0, hear, 1, &stack, context, sizes[i]), S_OK);
            assert_string_equal(stack.said, "DCM0");
            assert_int_equal(
                (uint32_t)sw_snapshot(stack.engine, &stack.scratch, 0, hear, 1, &stack, pages + page - 255, 255),
                (uint32_t)E_INVALIDARG);
            tear_down(&stack);
        }
    assert_int_equal(munmap(pages, 2 * page), 0);
}

/* Nothing is called back later, by nobody else, and not from deeper than the call. */
static struct {
    pthread_t caller;
    bool inside;
    size_t wrong;
} call;

static void note_callback(struct simstack *walked)
{
    (void)walked;
    call.wrong += !call.inside || !pthread_equal(pthread_self(), call.caller);
}

static void d12_all_callbacks_come_before_the_call_returns(void **state)
{
    const struct situation rows[] = { { .stack = "NDNCMN", .heard = "0D0CM0" },
                                      { .stack = "NDNCMN", .heard = "0D0CM0", .who = FROM_OTHER },
                                      { .stack = "NDNCMN", .heard = "0D", .answer = S_FALSE, .answer_at = 2 } };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        arrange(&stack, &rows[i]);
        stack.in_callback = note_callback;
        call.caller = pthread_self();
        call.wrong = 0;
        call.inside = true;
        (void)ask(&stack, &rows[i]);
        call.inside = false;
        assert_string_equal(stack.said, rows[i].heard);
        /* what could still come would come now */
        assert_int_equal(sw_threads_remove(sw_sim_threads(stack.sim), OTHER), SW_OK);
        nanosleep(&(struct timespec){ 0, 3000000 }, NULL);
        assert_int_equal(stack.heard_count, strlen(rows[i].heard));
        assert_int_equal(call.wrong, 0);
        tear_down(&stack);
    }
}

/* One stack, seen by its own thread and by another: the same frames, and the other one stops it. */
static void d15_a_walk_is_synchronous_or_asynchronous(void **state)
{
    const struct situation synchronous = { .stack = "NDCNMN", .mode = PREEMPT, .info_flags = 1, .heard = "0DC0M0" };
    struct situation asynchronous = synchronous;
    static struct heard before[8];
    (void)state;
    walk(&synchronous);
    for (size_t i = 0; i < stack.heard_count; i++)
        assert_int_equal(stack.heard[i].outstanding, 0);
    assert_int_equal(sw_sim_get_counts(stack.sim, TARGET).suspended, 0);
    memcpy(before, stack.heard, sizeof before);
    tear_down(&stack);
    asynchronous.who = FROM_OTHER;
    walk(&asynchronous);
    for (size_t i = 0; i < stack.heard_count; i++) {
        assert_int_equal(stack.heard[i].outstanding, 1);
        assert_int_equal(stack.heard[i].ip, before[i].ip);
        assert_memory_equal(&stack.heard[i].regs, &before[i].regs, sizeof before[i].regs);
    }
    assert_int_equal(sw_sim_get_counts(stack.sim, TARGET).suspended, 1);
    tear_down(&stack);
}

/* The CONTEXT of a run is enough to walk the run by oneself. */
static void d13_c8_a_run_can_be_walked_from_its_context(void **state)
{
    const struct situation row = { .stack = "DNNNMN", .info_flags = 1, .heard = "D0M0" };
    static struct sw_scratch scratch;
    struct sw_walk own;
    (void)state;
    walk(&row);
    sw_walk_start(&own, sw_sim_walker(stack.sim), &scratch, &stack.heard[1].regs, false);
    for (size_t frame = 1; frame <= 4; frame++) {
        assert_true(sw_walk_next(&own));
        assert_int_equal(sw_regs_pc(&own.frame.regs), sw_regs_pc(&stack.regs[frame]));
        assert_int_equal(own.frame.code.kind, frame < 4 ? SW_KIND_NATIVE : SW_KIND_JIT);
    }
    tear_down(&stack);
}

/* Suspend, take the registers, GetFunctionFromIP says 0, walk to the first managed frame, that is the seed. */
static void d19_the_way_to_a_seed_leads_to_a_good_one(void **state)
{
    const struct situation row = {
        .stack = "sNNDCMN", .who = FROM_OTHER, .mode = COOP, .options = SW_ENGINE_NO_AUTO_SEED
    };
    static struct sw_scratch scratch;
    const struct sw_suspender *suspender;
    struct sw_regs regs, seed;
    FunctionID id = 5;
    (void)state;
    arrange(&stack, &row);
    suspender = stack.engine->suspender;
    assert_int_equal(suspender->suspend(suspender->arg, TARGET, &regs), SW_OK);
    assert_int_equal((uint32_t)sw_function_from_ip(stack.engine, sw_regs_pc(&regs), &id), (uint32_t)E_FAIL);
    assert_int_equal(id, 0);
    assert_int_equal(sw_walk_find_seed(sw_sim_walker(stack.sim), &scratch, &regs, &seed, NULL), SW_OK);
    assert_int_equal(sw_function_from_ip(stack.engine, sw_regs_pc(&seed), &id), S_OK);
    assert_int_equal(id, 'D');
    assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, &seed, stack.context, SW_CONTEXT_X64_BYTES), SW_OK);
    assert_int_equal(
        sw_snapshot(stack.engine, &stack.scratch, TARGET, hear, 0, &stack, stack.context, SW_CONTEXT_X64_BYTES), S_OK);
    assert_string_equal(stack.said, "DCM0");
    assert_int_equal(sw_sim_get_counts(stack.sim, TARGET).outstanding, 1); /* the caller's own suspend still stands */
    assert_int_equal(suspender->resume(suspender->arg, TARGET), SW_OK);
    tear_down(&stack);
}

static void d22_a_suspender_that_ran_managed_code_is_reported_and_not_hindered(void **state)
{
    const struct situation row = { .stack = "NDMN", .heard = "0DM0", .who = FROM_OTHER };
    const struct sw_thread other = { .id = OTHER, .os_id = OTHER, .flags = SW_THREAD_RAN_MANAGED };
    (void)state;
    arrange(&stack, &row);
    assert_int_equal(sw_threads_update(sw_sim_threads(stack.sim), &other), SW_OK);
    assert_int_equal(ask(&stack, &row), S_OK);
    assert_string_equal(stack.said, row.heard);
    assert_int_equal(count_conduct(&stack, SW_CONDUCT_MANAGED_SUSPENDER), 1);
    tear_down(&stack);
}

static void d22_a_suspender_that_never_ran_managed_code_is_fine(void **state)
{
    const struct situation row = { .stack = "NDMN", .heard = "0DM0", .who = FROM_STRANGER, .thread = TARGET };
    (void)state;
    walk(&row);
    assert_int_equal(stack.conduct_count, 0);
    tear_down(&stack);
}

static void d22_a_suspension_that_failed_is_not_reported(void **state)
{
    const struct situation row = { .stack = "NDMN",
                                   .who = FROM_OTHER,
                                   .suspend_answer = SW_E_BUSY,
                                   .hr = CORPROF_E_STACKSNAPSHOT_UNSAFE,
                                   .heard = "" };
    const struct sw_thread other = { .id = OTHER, .os_id = OTHER, .flags = SW_THREAD_RAN_MANAGED };
    (void)state;
    arrange(&stack, &row);
    assert_int_equal(sw_threads_update(sw_sim_threads(stack.sim), &other), SW_OK);
    assert_int_equal((uint32_t)ask(&stack, &row), (uint32_t)row.hr);
    assert_int_equal(stack.conduct_count, 0);
    tear_down(&stack);
}

static void d22_walking_oneself_suspends_nobody(void **state)
{
    const struct situation row = { .stack = "NDMN", .heard = "0DM0", .thread_flags = SW_THREAD_RAN_MANAGED };
    (void)state;
    walk(&row);
    assert_int_equal(stack.conduct_count, 0);
    tear_down(&stack);
}

/* ThreadDestroyed in a real thread while the walk is in a callback. */
struct destroyer {
    pthread_t thread;
    atomic_int state; /* 1 when it has begun, 2 when it is over */
};

static struct destroyer destroyer;

static void *thread_destroyed(void *arg)
{
    struct sw_threads *threads = arg;
    atomic_store(&destroyer.state, 1);
    const enum sw_status status = sw_threads_remove(threads, TARGET);
    atomic_store(&destroyer.state, status == SW_OK ? 2 : -1);
    return NULL;
}

static void destroy_meanwhile(struct simstack *walking)
{
    struct sw_threads *threads = sw_sim_threads(walking->sim);
    if (walking->heard_count == 1) {
        assert_int_equal(pthread_create(&destroyer.thread, NULL, thread_destroyed, threads), 0);
        while (sw_threads_find(threads, TARGET, NULL) == SW_OK)
            nanosleep(&(struct timespec){ 0, 100000 }, NULL);
    }
    nanosleep(&(struct timespec){ 0, 3000000 }, NULL);
    assert_int_equal(atomic_load(&destroyer.state), 1);
}

static void d23_thread_destroyed_blocks_until_the_walk_is_complete(void **state)
{
    const struct situation row = { .stack = "NDNMN", .who = FROM_OTHER };
    (void)state;
    arrange(&stack, &row);
    atomic_store(&destroyer.state, 0);
    stack.in_callback = destroy_meanwhile;
    assert_int_equal(ask(&stack, &row), S_OK);
    assert_string_equal(stack.said, "0D0M0");
    assert_int_equal(pthread_join(destroyer.thread, NULL), 0);
    assert_int_equal(atomic_load(&destroyer.state), 2);
    assert_int_equal((uint32_t)ask(&stack, &row), (uint32_t)CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD);
    sw_sim_destroy(stack.sim);
}

/*
 * The rule is the caller's. What the engine adds: a walk takes part in no lock and no allocation, so it may be made
 * wherever a thread stands, in the middle of a change to the library's own tables too. The allocator is such a place:
 * the writer that asks it holds its turn.
 */
static struct {
    bool armed, walking;
    size_t walks, calls_in_walks;
    struct simstack *heard;
} in_allocator;

static void walk_in_allocator(void)
{
    static struct sw_scratch scratch;
    struct simstack *heard = in_allocator.heard;
    in_allocator.armed = false;
    in_allocator.walking = true;
    heard->heard_count = 0;
    memset(heard->said, 0, sizeof heard->said);
    assert_int_equal(sw_snapshot(heard->engine, &scratch, TARGET, hear, 1, heard, NULL, 0), S_OK);
    assert_string_equal(heard->said, "A");
    assert_int_equal(sw_function_from_ip(heard->engine, 0x1000, NULL), S_OK);
    assert_int_equal(sw_threads_find(sw_sim_threads(heard->sim), TARGET, NULL), SW_OK);
    in_allocator.walking = false;
    in_allocator.walks++;
}

static void *walking_get(void *arg, size_t size)
{
    (void)arg;
    in_allocator.calls_in_walks += in_allocator.walking;
    if (in_allocator.armed)
        walk_in_allocator();
    return malloc(size);
}

static void walking_put(void *arg, void *block, size_t size)
{
    (void)arg, (void)size;
    in_allocator.calls_in_walks += in_allocator.walking;
    free(block);
}

static struct sw_sim *one_frame_sim(const struct sw_alloc *alloc)
{
    const uint8_t code[] = { 0x90, 0xc3 };
    const uint64_t words[] = { 0 };
    struct sw_regs regs = garbage_regs();
    struct sw_sim *sim;
    assert_int_equal(sw_sim_create(alloc, SW_MACHINE_X64, &sim), SW_OK);
    assert_int_equal(sw_sim_bytes(sim, 0x1000, code, sizeof code), SW_OK);
    assert_int_equal(sw_sim_words(sim, 0x7000, words, 1), SW_OK);
    assert_int_equal(sw_sim_range(sim, SW_KIND_JIT, 0x1000, 0x1002, 'A'), SW_OK);
    sw_regs_set(&regs, SW_X64_RIP, 0x1000);
    sw_regs_set(&regs, SW_X64_RSP, 0x7000);
    assert_int_equal(sw_sim_thread(sim, TARGET, &regs), SW_OK);
    return sim;
}

/* Then the writer of the code map asks for it, and is inside. */
static void add_code_until_memory_is_needed(struct sw_sim *sim)
{
    for (uint64_t i = 1; i < 10000 && in_allocator.armed; i++)
        assert_int_equal(sw_sim_range(sim, SW_KIND_JIT, i << 32, (i << 32) + 0x100, 'F'), SW_OK);
}

static void d24_a_walk_neither_allocates_nor_waits_for_a_writer(void **state)
{
    const struct sw_alloc alloc = { walking_get, walking_put, NULL };
    static struct simstack heard;
    (void)state;
    memset(&in_allocator, 0, sizeof in_allocator);
    memset(&heard, 0, sizeof heard);
    heard.sim = one_frame_sim(&alloc);
    heard.engine = sw_sim_engine(heard.sim);
    in_allocator.heard = &heard;
    in_allocator.armed = true;
    add_code_until_memory_is_needed(heard.sim);
    assert_int_equal(in_allocator.walks, 1);
    in_allocator.armed = true; /* so does the 65th thread; the writer of the table is inside */
    for (uint64_t id = 1000; id < 1064; id++)
        assert_int_equal(sw_threads_add(sw_sim_threads(heard.sim), &(struct sw_thread){ .id = id, .os_id = id }),
                         SW_OK);
    assert_int_equal(in_allocator.walks, 2);
    assert_int_equal(in_allocator.calls_in_walks, 0);
    sw_sim_destroy(heard.sim);
}

/* A seed for another thread shows that its caller had stopped it before the call. */
static void d25_a_first_call_with_the_target_already_suspended_is_reported(void **state)
{
    const struct situation row = {
        .stack = "NDMN", .heard = "DM0", .who = FROM_STRANGER, .thread = TARGET, .seed = 'D'
    };
    (void)state;
    walk(&row);
    assert_int_equal(count_conduct(&stack, SW_CONDUCT_NO_FIRST_WALK), 1);
    tear_down(&stack);
}

static void d25_a_first_call_under_suspend_runtime_is_reported(void **state)
{
    const struct situation row = {
        .stack = "NDMN", .heard = "0DM0", .who = FROM_STRANGER, .thread = TARGET, .runtime = SW_RUNTIME_SUSPENDED
    };
    (void)state;
    walk(&row);
    assert_int_equal(count_conduct(&stack, SW_CONDUCT_NO_FIRST_WALK), 1);
    tear_down(&stack);
}

static void d26_after_a_first_walk_that_reported_a_frame_nothing_is_reported(void **state)
{
    const struct situation first = { .stack = "NDMN", .who = FROM_STRANGER, .thread = TARGET };
    (void)state;
    arrange(&stack, &first);
    assert_int_equal(ask(&stack, &first), S_OK);
    put_seed(&stack, 'D');
    assert_int_equal(
        sw_snapshot(stack.engine, &stack.scratch, TARGET, hear, 0, &stack, stack.context, SW_CONTEXT_X64_BYTES), S_OK);
    assert_int_equal(stack.conduct_count, 0);
    /* that thread's first walk is not another thread's */
    sw_sim_run_as(stack.sim, STRANGER + 1);
    assert_int_equal(
        sw_snapshot(stack.engine, &stack.scratch, TARGET, hear, 0, &stack, stack.context, SW_CONTEXT_X64_BYTES), S_OK);
    assert_int_equal(count_conduct(&stack, SW_CONDUCT_NO_FIRST_WALK), 1);
    tear_down(&stack);
}

static void d26_a_first_walk_that_failed_does_not_count(void **state)
{
    const struct situation first = {
        .stack = "NDMN", .who = FROM_STRANGER, .thread = TARGET, .answer = S_FALSE, .answer_at = 1
    };
    (void)state;
    arrange(&stack, &first);
    assert_int_equal((uint32_t)ask(&stack, &first), (uint32_t)CORPROF_E_STACKSNAPSHOT_ABORTED);
    stack.answer_at = 0;
    put_seed(&stack, 'D');
    assert_int_equal(
        sw_snapshot(stack.engine, &stack.scratch, TARGET, hear, 0, &stack, stack.context, SW_CONTEXT_X64_BYTES), S_OK);
    assert_int_equal(count_conduct(&stack, SW_CONDUCT_NO_FIRST_WALK), 1);
    tear_down(&stack);
}

static void d26_a_first_walk_without_a_frame_does_not_count(void **state)
{
    const struct situation first = { .stack = "NDMN",
                                     .flavour = SW_FLAVOUR_CORECLR_WINDOWS,
                                     .mode = PREEMPT,
                                     .with = PRESTUB,
                                     .who = FROM_STRANGER,
                                     .thread = TARGET,
                                     .heard = "" };
    (void)state;
    walk(&first);
    put_seed(&stack, 'D');
    assert_int_equal(
        sw_snapshot(stack.engine, &stack.scratch, TARGET, hear, 0, &stack, stack.context, SW_CONTEXT_X64_BYTES), S_OK);
    assert_int_equal(count_conduct(&stack, SW_CONDUCT_NO_FIRST_WALK), 1);
    tear_down(&stack);
}

/* It walks a separate thread: the walk of oneself initialises what is needed, but does not show that others can be. */
static void d26_a_first_walk_of_oneself_does_not_count(void **state)
{
    const struct situation row = { .stack = "NDMN", .heard = "0DM0" };
    (void)state;
    walk(&row);
    assert_int_equal(sw_sim_thread(stack.sim, OTHER, &stack.regs[1]), SW_OK);
    put_seed(&stack, 'M');
    assert_int_equal(
        sw_snapshot(stack.engine, &stack.scratch, OTHER, hear, 0, &stack, stack.context, SW_CONTEXT_X64_BYTES), S_OK);
    assert_int_equal(count_conduct(&stack, SW_CONDUCT_NO_FIRST_WALK), 1);
    /* that one was of another thread */
    assert_int_equal(
        sw_snapshot(stack.engine, &stack.scratch, OTHER, hear, 0, &stack, stack.context, SW_CONTEXT_X64_BYTES), S_OK);
    assert_int_equal(count_conduct(&stack, SW_CONDUCT_NO_FIRST_WALK), 1);
    tear_down(&stack);
}

static void c2_ip_is_the_native_instruction_pointer_in_the_frame(void **state)
{
    const struct situation row = { .stack = "NDNMN", .heard = "0D0M0" };
    (void)state;
    walk(&row);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(stack.heard[i].ip, sw_regs_pc(&stack.regs[i]));
    tear_down(&stack);
}

static void read_the_one_before(struct simstack *walking)
{
    struct sw_frame_info info;
    if (walking->heard_count < 2)
        return;
    const COR_PRF_FRAME_INFO before = walking->heard[walking->heard_count - 2].frame_info;
    assert_int_equal((uint32_t)sw_frame_info_read(walking->engine, before, &info), (uint32_t)E_INVALIDARG);
}

static void c3_frame_info_is_valid_only_during_its_callback(void **state)
{
    const struct situation row = { .stack = "NDNMN", .heard = "0D0M0" };
    struct sw_frame_info info = { .function = 77 };
    (void)state;
    arrange(&stack, &row);
    stack.in_callback = read_the_one_before;
    assert_int_equal(ask(&stack, &row), S_OK);
    assert_int_equal(count_conduct(&stack, SW_CONDUCT_STALE_FRAME), 4);
    for (size_t i = 0; i < stack.heard_count; i++) {
        assert_int_equal(stack.heard[i].info_hr, S_OK);
        assert_int_equal((uint32_t)sw_frame_info_read(stack.engine, stack.heard[i].frame_info, &info),
                         (uint32_t)E_INVALIDARG);
    }
    assert_int_equal(info.function, 77);
    assert_int_equal(count_conduct(&stack, SW_CONDUCT_STALE_FRAME), 9);
    assert_int_equal((uint32_t)sw_frame_info_read(stack.engine, 0, &info), (uint32_t)E_INVALIDARG);
    assert_int_equal((uint32_t)sw_frame_info_read(NULL, 1, &info), (uint32_t)E_INVALIDARG);
    assert_int_equal((uint32_t)sw_frame_info_read(stack.engine, 1, NULL), (uint32_t)E_INVALIDARG);
    tear_down(&stack);
}

static void c4_context_is_there_only_with_the_flag(void **state)
{
    (void)state;
    for (ULONG32 flags = 0; flags <= 1; flags++) {
        const struct situation row = { .stack = "NDNMN", .info_flags = flags, .heard = "0D0M0" };
        walk(&row);
        for (size_t i = 0; i < stack.heard_count; i++) {
            assert_int_equal(stack.heard[i].has_context, flags == 1);
            assert_int_equal(stack.heard[i].context_size, flags ? SW_CONTEXT_X64_BYTES : 0);
        }
        tear_down(&stack);
    }
}

/*
 * What a callback must not need is a lock of the target, which stands still. What the library offers for a callback
 * needs none: here the target was stopped inside the library, as the writer of the thread table and of the code map.
 */
static void ask_everything(struct simstack *walked)
{
    const struct heard *heard = &walked->heard[walked->heard_count - 1];
    struct sw_frame_info info;
    struct sw_thread thread;
    FunctionID function = 0;
    assert_int_equal(sw_sim_get_counts(walked->sim, TARGET).outstanding, 1);
    assert_int_equal(sw_sim_get_counts(walked->sim, OTHER).suspended, 0); /* who calls runs on */
    assert_int_equal(sw_frame_info_read(walked->engine, heard->frame_info, &info), S_OK);
    assert_int_equal(sw_threads_find(sw_sim_threads(walked->sim), TARGET, &thread), SW_OK);
    assert_int_equal(sw_threads_list(sw_sim_threads(walked->sim), NULL, 0), 66);
    const HRESULT hr = sw_function_from_ip(walked->engine, heard->ip, &function);
    assert_int_equal((uint32_t)hr, heard->function ? S_OK : (uint32_t)E_FAIL);
    assert_int_equal(function, heard->function);
}

static void *target_get(void *arg, size_t size)
{
    struct simstack *walked = in_allocator.heard;
    (void)arg;
    if (in_allocator.armed) {
        in_allocator.armed = false;
        sw_sim_run_as(walked->sim, OTHER);
        assert_int_equal(sw_snapshot(walked->engine, &walked->scratch, TARGET, hear, 1, walked, NULL, 0), S_OK);
        in_allocator.walks++;
    }
    return malloc(size);
}

static void c6_a_callback_needs_no_lock_that_the_stopped_target_holds(void **state)
{
    const struct sw_alloc alloc = { target_get, walking_put, NULL };
    static struct simstack heard;
    (void)state;
    memset(&in_allocator, 0, sizeof in_allocator);
    memset(&heard, 0, sizeof heard);
    heard.sim = one_frame_sim(&alloc);
    heard.engine = sw_sim_engine(heard.sim);
    heard.in_callback = ask_everything;
    in_allocator.heard = &heard;
    for (uint64_t id = OTHER; id <= OTHER + 64; id++)
        assert_int_equal(sw_threads_add(sw_sim_threads(heard.sim), &(struct sw_thread){ .id = id, .os_id = id }),
                         SW_OK);
    in_allocator.armed = true;
    add_code_until_memory_is_needed(heard.sim);
    assert_int_equal(in_allocator.walks, 1);
    assert_string_equal(heard.said, "A");
    sw_sim_destroy(heard.sim);
}

static void c8_the_context_of_a_run_is_that_of_its_most_recently_pushed_frame(void **state)
{
    const struct situation row = { .stack = "NNDNNMNN", .info_flags = 1, .heard = "0D0M0" };
    static const size_t leaf_ends[] = { 0, 3, 6 };
    (void)state;
    walk(&row);
    for (size_t run = 0; run < 3; run++) {
        const struct heard *heard = &stack.heard[run * 2];
        assert_int_equal(heard->function, 0);
        assert_int_equal(sw_regs_pc(&heard->regs), sw_regs_pc(&stack.regs[leaf_ends[run]]));
        assert_int_equal(sw_regs_sp(&heard->regs), sw_regs_sp(&stack.regs[leaf_ends[run]]));
        assert_int_equal(heard->ip, sw_regs_pc(&heard->regs));
    }
    tear_down(&stack);
}

static void c9_only_ip_sp_fp_and_nonvolatile_registers_are_claimed(void **state)
{
    const struct situation row = { .stack = "DMN", .info_flags = 1, .heard = "DM0" };
    const uint64_t all = SW_X64_NONVOLATILE | UINT64_C(1) << SW_X64_RIP | UINT64_C(1) << SW_X64_RSP;
    (void)state;
    walk(&row);
    for (size_t i = 0; i < stack.heard_count; i++) {
        assert_int_equal(stack.heard[i].info.known, all);
        for (unsigned n = 0; n < SW_X64_COUNT; n++)
            assert_int_equal(stack.heard[i].regs.r[n], all >> n & 1 ? stack.regs[i].r[n] : 0);
    }
    tear_down(&stack);
}

int main(void)
{
    const struct CMUnitTest singles[] = {
        cmocka_unit_test(d4_the_target_is_suspended_during_every_callback),
        cmocka_unit_test(d7_c5_client_data_goes_straight_through),
        cmocka_unit_test(d6_info_flags_say_how_much_each_callback_gets),
        cmocka_unit_test(d11_context_size_is_the_size_of_the_context),
        cmocka_unit_test(d12_all_callbacks_come_before_the_call_returns),
        cmocka_unit_test(d13_c8_a_run_can_be_walked_from_its_context),
        cmocka_unit_test(d15_a_walk_is_synchronous_or_asynchronous),
        cmocka_unit_test(d19_the_way_to_a_seed_leads_to_a_good_one),
        cmocka_unit_test(d22_a_suspender_that_ran_managed_code_is_reported_and_not_hindered),
        cmocka_unit_test(d22_a_suspender_that_never_ran_managed_code_is_fine),
        cmocka_unit_test(d22_a_suspension_that_failed_is_not_reported),
        cmocka_unit_test(d22_walking_oneself_suspends_nobody),
        cmocka_unit_test(d23_thread_destroyed_blocks_until_the_walk_is_complete),
        cmocka_unit_test(d24_a_walk_neither_allocates_nor_waits_for_a_writer),
        cmocka_unit_test(d25_a_first_call_with_the_target_already_suspended_is_reported),
        cmocka_unit_test(d25_a_first_call_under_suspend_runtime_is_reported),
        cmocka_unit_test(d26_after_a_first_walk_that_reported_a_frame_nothing_is_reported),
        cmocka_unit_test(d26_a_first_walk_that_failed_does_not_count),
        cmocka_unit_test(d26_a_first_walk_without_a_frame_does_not_count),
        cmocka_unit_test(d26_a_first_walk_of_oneself_does_not_count),
        cmocka_unit_test(c2_ip_is_the_native_instruction_pointer_in_the_frame),
        cmocka_unit_test(c3_frame_info_is_valid_only_during_its_callback),
        cmocka_unit_test(c4_context_is_there_only_with_the_flag),
        cmocka_unit_test(c6_a_callback_needs_no_lock_that_the_stopped_target_holds),
        cmocka_unit_test(c8_the_context_of_a_run_is_that_of_its_most_recently_pushed_frame),
        cmocka_unit_test(c9_only_ip_sp_fp_and_nonvolatile_registers_are_claimed),
    };
    struct CMUnitTest tests[COUNT_OF(situations) + COUNT_OF(singles)];
    FILL_ROWS(tests, situations, situation_is_answered);
    memcpy(tests + COUNT_OF(situations), singles, sizeof singles);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
