/*
 * The rows of clr-windows-observed.md sections 3 and 4 (W20 to W66), clr-observed.md section 1 and clr-contract.md
 * section 4.5 that a scenario can reach, each under its number: what .NET answered there, the tube answers. Where it
 * differs on purpose, the row says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <snapwalk/context.h>
#include <snapwalk/harness.h>

#include "../support/listener.h"

#if defined(__x86_64__)
enum { IS_X64 = 1 };
#else
enum { IS_X64 = 0 };
#endif

struct scene {
    struct listener listener;
    struct sw_tube *tube;
    struct sw_tube_function *entry, *work, *stub, *filter, *bare;
    struct sw_tube_thread *thread;
    ICorProfilerInfo15 *info;
};

/* A walk's frames as text, and how it ended. */
struct walk {
    struct scene *scene;
    char text[512];
    unsigned frames, stop_at; /* 0: never */
    HRESULT stop_with, hr;
    ULONG32 context_size;
    bool has_context;
    COR_PRF_FRAME_INFO frame_info;
    bool one_frame_info;
    BYTE first[SW_CONTEXT_MAX_BYTES], last[SW_CONTEXT_MAX_BYTES];
    void (*in_frame)(struct walk *walk);
};

static HRESULT STDMETHODCALLTYPE note(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame_info, ULONG32 size,
                                      BYTE context[], void *data)
{
    struct walk *walk = data;
    const struct scene *scene = walk->scene;
    const char *name = "?";
    const struct {
        const struct sw_tube_function *function;
        const char *name;
    } names[] = {
        { scene->entry, "Main" }, { scene->work, "Work" }, { scene->stub, "Stub" }, { scene->filter, "Filter" }
    };
    (void)ip;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (function && sw_tube_function_id(names[i].function) == function)
            name = names[i].name;
    strcat(strcat(walk->text, walk->frames ? " " : ""), function ? name : "0");
    walk->one_frame_info = walk->frames == 0 ? frame_info != 0 : walk->one_frame_info && frame_info == walk->frame_info;
    walk->frame_info = frame_info;
    walk->context_size = size;
    walk->has_context = context != NULL;
    if (context && walk->frames == 0)
        memcpy(walk->first, context, size);
    if (context)
        memcpy(walk->last, context, size);
    walk->frames++;
    if (walk->in_frame)
        walk->in_frame(walk);
    return walk->frames == walk->stop_at ? walk->stop_with : S_OK;
}

static struct walk walk_with(struct scene *scene, ThreadID thread, ULONG32 flags, const void *seed, ULONG32 size)
{
    struct walk walk = { .scene = scene };
    walk.hr = scene->info->lpVtbl->DoStackSnapshot(scene->info, thread, note, flags, &walk, (BYTE *)seed, size);
    return walk;
}

static struct walk walk_thread(struct scene *scene)
{
    return walk_with(scene, sw_tube_thread_id(scene->thread), COR_PRF_SNAPSHOT_REGISTER_CONTEXT, NULL, 0);
}

#define ASSERT_WALK(made, answer, frames_)                                                                             \
    do {                                                                                                               \
        const struct walk walk_ = (made);                                                                              \
        assert_string_equal(walk_.text, frames_);                                                                      \
        assert_int_equal(walk_.hr, answer);                                                                            \
    } while (0)

static void open_scene(struct scene *scene, const bool *simulated, enum sw_flavour flavour)
{
    const struct sw_tube_options options = { .simulated = *simulated, .flavour = flavour };
    assert_int_equal(sw_tube_create(&options, &scene->tube), SW_OK);
    assert_int_equal(sw_tube_use(scene->tube, (IUnknown *)&scene->listener.com), SW_OK);
    assert_int_equal(sw_tube_start(scene->tube), SW_OK);
    struct sw_tube_module *module = sw_tube_module_load(scene->tube, "Demo.dll");
    scene->entry = sw_tube_function_add(module, "P", "Main", SW_TUBE_CATCHES);
    scene->work = sw_tube_function_add(module, "P", "Work", SW_TUBE_SHAPE_SAVES);
    scene->stub = sw_tube_function_add(module, "P", "Stub", SW_TUBE_HIDDEN);
    scene->filter = sw_tube_function_add(module, "P", "Filter", SW_TUBE_FINALLY | SW_TUBE_FILTERS);
    scene->bare = sw_tube_function_add(module, "P", "Bare", SW_TUBE_SHAPE_FRAMELESS);
    scene->thread = sw_tube_thread_start(scene->tube, "main");
    scene->info = scene->listener.info;
}

/* Main calls Work. */
static void begin(struct scene *scene, const void *simulated, enum sw_flavour flavour)
{
    listener_init(&scene->listener);
    scene->listener.low = COR_PRF_ENABLE_STACK_SNAPSHOT;
    open_scene(scene, simulated, flavour);
    assert_int_equal(sw_tube_call(scene->thread, scene->entry), SW_OK);
    assert_int_equal(sw_tube_call(scene->thread, scene->work), SW_OK);
}

static void end(struct scene *scene)
{
    scene->listener.on = NULL;
    assert_string_equal(sw_tube_problem(scene->tube), "");
    sw_tube_destroy(scene->tube);
}

static unsigned broken(const struct scene *scene, enum sw_tube_rule rule)
{
    struct sw_tube_violation list[32];
    const size_t count = sw_tube_violations(scene->tube, list, 32);
    unsigned times = 0;
    for (size_t i = 0; i < count && i < 32; i++)
        times += list[i].rule == rule;
    return times;
}

static void run_here(struct scene *scene, void (*function)(void *arg))
{
    assert_int_equal(sw_tube_run(scene->thread, function, scene), SW_OK);
}

/* ---- seeds ---- */

static struct walk from_seed(struct scene *scene, const struct sw_regs *regs)
{
    BYTE seed[SW_CONTEXT_X64_BYTES];
    assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, regs, seed, sizeof seed), SW_OK);
    return walk_with(scene, sw_tube_thread_id(scene->thread), COR_PRF_SNAPSHOT_REGISTER_CONTEXT, seed, sizeof seed);
}

/* The registers of the n-th frame of the thread: from a walk of the tube's engine, frame by frame. */
static struct sw_regs frame_regs(struct scene *scene, unsigned n)
{
    struct sw_engine *engine = sw_tube_engine(scene->tube);
    static struct sw_scratch scratch;
    struct sw_walk walk;
    struct sw_regs regs, found = { 0 };
    const uint64_t os_id = sw_tube_thread_os_id(scene->thread);
    assert_int_equal(engine->suspender->suspend(engine->suspender->arg, os_id, &regs), SW_OK);
    sw_walk_start(&walk, engine->walker, &scratch, &regs, true);
    for (unsigned i = 0; i <= n && sw_walk_next(&walk); i++)
        found = walk.frame.regs;
    assert_int_equal(engine->suspender->resume(engine->suspender->arg, os_id), SW_OK);
    return found;
}

/* ---- clr-windows-observed.md section 3 ---- */

static HRESULT answers[4];

static void walk_in_initialize(struct listener *self, const char *callback)
{
    struct scene *scene = self->arg;
    if (strcmp(callback, "Initialize") != 0)
        return;
    scene->info = self->info;
    answers[0] = walk_with(scene, 0, 0, NULL, 0).hr;
    assert_int_equal(self->info->lpVtbl->SetEventMask(self->info, 0), S_OK);
    answers[1] = walk_with(scene, 0, 0, NULL, 0).hr;
    assert_int_equal(self->info->lpVtbl->SetEventMask(self->info, self->low), S_OK);
}

static void w20_in_initialize_it_is_unsafe_whatever_the_mask(void **state)
{
    struct scene scene;
    listener_init(&scene.listener);
    scene.listener.low = COR_PRF_ENABLE_STACK_SNAPSHOT;
    scene.listener.on = walk_in_initialize;
    scene.listener.arg = &scene;
    open_scene(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    assert_int_equal(answers[0], CORPROF_E_STACKSNAPSHOT_UNSAFE);
    assert_int_equal(answers[1], CORPROF_E_STACKSNAPSHOT_UNSAFE);
    end(&scene);
}

static void w21_without_the_event_flag_it_is_inconsistent_with_flags_good_or_bad(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    assert_int_equal(scene.info->lpVtbl->SetEventMask(scene.info, 0), S_OK);
    ASSERT_WALK(walk_thread(&scene), CORPROF_E_INCONSISTENT_WITH_FLAGS, "");
    ASSERT_WALK(walk_with(&scene, 0, 2, NULL, 0), CORPROF_E_INCONSISTENT_WITH_FLAGS, "");
    end(&scene);
}

static void w22_bad_flags_come_before_bad_threads_and_callbacks(void **state)
{
    static const ULONG32 bad[] = { 2, 3, 4, 5, 8, 0x100, 0x80000000u, 0xffffffffu };
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ASSERT_WALK(walk_with(&scene, 1, bad[i], NULL, 0), E_INVALIDARG, "");
        ASSERT_WALK(walk_with(&scene, sw_tube_thread_id(scene.thread), bad[i], NULL, 0), E_INVALIDARG, "");
        assert_int_equal(scene.info->lpVtbl->DoStackSnapshot(scene.info, 1, NULL, bad[i], NULL, NULL, 0), E_INVALIDARG);
    }
    end(&scene);
}

static void w23_a_native_thread_has_no_stack_and_no_error(void **state)
{
    struct scene scene;
    ThreadID id = 7;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    ASSERT_WALK(walk_with(&scene, 0, 0, NULL, 0), S_OK, "");
    assert_int_equal(scene.info->lpVtbl->InitializeCurrentThread(scene.info), S_OK);
    ASSERT_WALK(walk_with(&scene, 0, 0, NULL, 0), S_OK, "");
    assert_int_equal(scene.info->lpVtbl->GetCurrentThreadID(scene.info, &id), CORPROF_E_NOT_MANAGED_THREAD);
    end(&scene);
}

static void nest(struct walk *walk)
{
    if (walk->frames == 1)
        answers[0] = walk_with(walk->scene, 0, 0, NULL, 0).hr;
}

static void walk_nested(void *arg)
{
    struct scene *scene = arg;
    struct walk walk = { .scene = scene, .in_frame = nest };
    walk.hr = scene->info->lpVtbl->DoStackSnapshot(scene->info, 0, note, 0, &walk, NULL, 0);
    ASSERT_WALK(walk, S_OK, "Work Main 0");
}

static void w24_a_walk_in_a_walk_of_the_same_thread_is_unsafe_and_the_outer_one_goes_on(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    run_here(&scene, walk_nested);
    assert_int_equal(answers[0], CORPROF_E_STACKSNAPSHOT_UNSAFE);
    end(&scene);
}

/* Deviates: the CLR for Windows ends the process. */
static void w25_the_id_of_an_ended_thread_is_refused(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    struct sw_tube_thread *other = sw_tube_thread_start(scene.tube, "other");
    const ThreadID id = sw_tube_thread_id(other);
    assert_int_equal(sw_tube_end(other), SW_OK);
    ASSERT_WALK(walk_with(&scene, id, 0, NULL, 0), CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD, "");
    end(&scene);
}

static void w26_another_thread_is_stopped_walked_and_let_go(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    ASSERT_WALK(walk_thread(&scene), S_OK, "Work Main 0");
    assert_int_equal(sw_tube_spin(scene.thread), SW_OK);
    ASSERT_WALK(walk_thread(&scene), S_OK, "Work Main 0");
    assert_int_equal(sw_tube_give_back(scene.thread), SW_OK);
    ASSERT_WALK(walk_thread(&scene), S_OK, "Main 0");
    end(&scene);
}

static struct sw_regs seed_at(const struct sw_regs *from, uint64_t pc, uint64_t sp)
{
    struct sw_regs seed = *from;
    sw_regs_set(&seed, sw_regs_pc_number(seed.machine), pc);
    sw_regs_set(&seed, sw_regs_sp_number(seed.machine), sp);
    return seed;
}

static void w27_a_preemptive_target_has_its_seed_ignored_whatever_it_is(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    const struct sw_regs top = frame_regs(&scene, 0);
    const uint64_t pc = sw_regs_pc(&top), sp = sw_regs_sp(&top);
    const struct sw_regs seeds[] = { seed_at(&top, 0, sp),          seed_at(&top, 0xdeadbeef000, sp),
                                     seed_at(&top, 0, 0),           seed_at(&top, pc, sp - 0x2000),
                                     seed_at(&top, pc, sp + 0x800), frame_regs(&scene, 1) };
    assert_int_equal(sw_tube_native(scene.thread, "poll"), SW_OK);
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        ASSERT_WALK(from_seed(&scene, &seeds[i]), S_OK, "Work Main 0");
    end(&scene);
}

static void w29_a_cooperative_target_in_managed_code_begins_at_its_own_registers(void **state)
{
    struct scene scene;
    struct sw_regs first;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    const struct sw_regs top = frame_regs(&scene, 0);
    const struct walk walk = walk_thread(&scene);
    assert_int_equal(sw_context_load(SW_CONTEXT_WIN32, top.machine, walk.first, walk.context_size, &first), SW_OK);
    assert_int_equal(sw_regs_pc(&first), sw_regs_pc(&top));
    assert_int_equal(sw_regs_sp(&first), sw_regs_sp(&top));
    end(&scene);
}

static void w30_a_cooperative_target_in_native_code_is_an_unmanaged_context(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    assert_int_equal(sw_tube_helper(scene.thread, "cast"), SW_OK);
    const struct sw_regs own = frame_regs(&scene, 0);
    ASSERT_WALK(walk_thread(&scene), CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX, "");
    ASSERT_WALK(from_seed(&scene, &own), CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX, "");
    end(&scene);
}

static void w31_a_seed_outside_managed_code_is_refused_where_seeds_are_used(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    const struct sw_regs top = frame_regs(&scene, 0);
    const uint64_t sp = sw_regs_sp(&top);
    const struct sw_regs seeds[] = { seed_at(&top, 0, sp), seed_at(&top, 0xdeadbeef000, sp), seed_at(&top, 0, 0),
                                     seed_at(&top, (uint64_t)(uintptr_t)printf, sp) };
    assert_int_equal(sw_tube_helper(scene.thread, "cast"), SW_OK);
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        ASSERT_WALK(from_seed(&scene, &seeds[i]), CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX, "");
    assert_int_equal(broken(&scene, SW_TUBE_SAME_SEED), 0);
    ASSERT_WALK(from_seed(&scene, &seeds[3]), CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX, "");
    assert_int_equal(broken(&scene, SW_TUBE_SAME_SEED), 1);
    end(&scene);
}

/* D17 to D21, as the documentation has it: the profiler finds the first managed frame itself. */
static void w32_the_first_managed_frame_is_a_seed(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    assert_int_equal(sw_tube_helper(scene.thread, "cast"), SW_OK);
    for (unsigned n = 0; n < 32; n++) {
        const struct sw_regs regs = frame_regs(&scene, n);
        FunctionID function = 0;
        LPCBYTE ip = (LPCBYTE)(uintptr_t)sw_regs_pc(&regs);
        if (scene.info->lpVtbl->GetFunctionFromIP(scene.info, ip, &function) != S_OK)
            continue;
        assert_int_equal(function, sw_tube_function_id(scene.work));
        ASSERT_WALK(from_seed(&scene, &regs), S_OK, "Work Main 0");
        end(&scene);
        return;
    }
    fail_msg("no managed frame was found");
}

static void w33_an_outer_managed_frame_as_seed_begins_there(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    const struct sw_regs outer = frame_regs(&scene, 1);
    assert_int_equal(sw_tube_helper(scene.thread, "cast"), SW_OK);
    ASSERT_WALK(from_seed(&scene, &outer), S_OK, "Main 0");
    end(&scene);
}

/* Simulated only: what stands below the stack pointer of a real thread is anything. */
static void w34_a_stack_pointer_too_low_gives_the_seed_and_a_run(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    const struct sw_regs top = frame_regs(&scene, 0);
    const struct sw_regs low = seed_at(&top, sw_regs_pc(&top), sw_regs_sp(&top) - 0x2000);
    ASSERT_WALK(from_seed(&scene, &low), S_OK, "Work 0");
    end(&scene);
}

/*
 * A function without a frame pointer: what stands at its stack pointer is needed to leave it. Of x64: on ARM64 the link
 * register may do.
 */
static void w35_an_unreadable_stack_of_the_seed_is_unexpected_without_a_callback(void **state)
{
    struct scene scene;
    if (!IS_X64)
        skip();
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    assert_int_equal(sw_tube_call(scene.thread, scene.bare), SW_OK);
    const struct sw_regs top = frame_regs(&scene, 0);
    const struct sw_regs zero = seed_at(&top, sw_regs_pc(&top), 0);
    const struct sw_regs high = seed_at(&top, sw_regs_pc(&top), UINT64_C(0x700000000000));
    ASSERT_WALK(from_seed(&scene, &zero), E_UNEXPECTED, "");
    ASSERT_WALK(from_seed(&scene, &high), E_UNEXPECTED, "");
    end(&scene);
}

/* Deviates: the CLR for Windows catches its own fault, E_UNEXPECTED; on Linux the process ends. */
static void w36_a_null_callback_is_an_invalid_argument(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    assert_int_equal(
        scene.info->lpVtbl->DoStackSnapshot(scene.info, sw_tube_thread_id(scene.thread), NULL, 0, NULL, NULL, 0),
        E_INVALIDARG);
    end(&scene);
}

static void w40_a_callback_that_is_not_ok_ends_the_walk_and_its_value_is_lost(void **state)
{
    static const HRESULT values[] = { 1, 2, E_FAIL, CORPROF_E_STACKSNAPSHOT_ABORTED };
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (unsigned at = 1; at <= 3; at++) {
            struct walk walk = { .scene = &scene, .stop_at = at, .stop_with = values[i] };
            assert_int_equal(scene.info->lpVtbl->DoStackSnapshot(scene.info, sw_tube_thread_id(scene.thread), note, 0,
                                                                 &walk, NULL, 0),
                             CORPROF_E_STACKSNAPSHOT_ABORTED);
            assert_int_equal(walk.frames, at);
        }
    end(&scene);
}

static void w42_the_flags_of_a_seed_are_not_looked_at(void **state)
{
    static const uint32_t flags[] = { 0, 0x100003, 7, 0x10000b, 0xffffffff };
    BYTE seed[SW_CONTEXT_X64_BYTES];
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    const struct sw_regs top = frame_regs(&scene, 0);
    assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, &top, seed, sizeof seed), SW_OK);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        memcpy(seed + 0x30, &flags[i], 4);
        ASSERT_WALK(walk_with(&scene, sw_tube_thread_id(scene.thread), 0, seed, sizeof seed), S_OK, "Work Main 0");
    }
    end(&scene);
}

static void walk_cooperative_self(void *arg)
{
    struct scene *scene = arg;
    const struct walk walk = walk_with(scene, 0, 0, NULL, 0);
    answers[0] = walk.hr;
    answers[1] = (HRESULT)walk.frames;
}

static void w43_the_calling_thread_without_a_record_fails(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    assert_int_equal(sw_tube_helper(scene.thread, "suppressed"), SW_OK);
    run_here(&scene, walk_cooperative_self);
    assert_int_equal(answers[0], E_FAIL);
    assert_int_equal(answers[1], 0);
    end(&scene);
}

static HRESULT in_callback;
static const char *asked_in;

static void walk_in_callback(struct listener *self, const char *callback)
{
    struct scene *scene = self->arg;
    if (strcmp(callback, asked_in) == 0)
        in_callback = walk_with(scene, 0, 0, NULL, 0).hr;
}

static void ask_in(struct scene *scene, const char *callback)
{
    in_callback = 1;
    asked_in = callback;
    scene->listener.arg = scene;
    scene->listener.on = walk_in_callback;
}

static void w44_in_shutdown_it_fails(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    ask_in(&scene, "Shutdown");
    assert_int_equal(sw_tube_shutdown(scene.tube), SW_OK);
    assert_int_equal(in_callback, E_FAIL);
    end(&scene);
}

static struct scene *walked;

static void walk_other(void *arg)
{
    (void)arg;
    ASSERT_WALK(walk_thread(walked), S_OK, "Work Main 0");
}

static void w45_a_managed_thread_may_stop_another_but_it_is_told(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    struct sw_tube_thread *other = sw_tube_thread_start(scene.tube, "other");
    assert_int_equal(sw_tube_call(other, scene.entry), SW_OK);
    walked = &scene;
    assert_int_equal(sw_tube_run(other, walk_other, NULL), SW_OK);
    assert_int_equal(broken(&scene, SW_TUBE_MANAGED_SUSPENDER), 1);
    end(&scene);
}

static void w46_a_target_that_the_runtime_has_parked_fails(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    assert_int_equal(sw_tube_suspend(scene.tube, NULL, COR_PRF_SUSPEND_FOR_GC), SW_OK);
    ASSERT_WALK(walk_thread(&scene), E_FAIL, "");
    assert_int_equal(sw_tube_resume(scene.tube, NULL), SW_OK);
    ASSERT_WALK(walk_thread(&scene), S_OK, "Work Main 0");
    end(&scene);
}

static void w48_after_suspend_runtime_the_walk_is_whole_whatever_the_seed(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    assert_int_equal(scene.info->lpVtbl->SuspendRuntime(scene.info), S_OK);
    ASSERT_WALK(walk_thread(&scene), S_OK, "Work Main 0");
    assert_int_equal(scene.info->lpVtbl->ResumeRuntime(scene.info), S_OK);
    assert_int_equal(sw_tube_native(scene.thread, "poll"), SW_OK);
    const struct sw_regs native = frame_regs(&scene, 0);
    assert_int_equal(scene.info->lpVtbl->SuspendRuntime(scene.info), S_OK);
    ASSERT_WALK(walk_thread(&scene), S_OK, "Work Main 0");
    ASSERT_WALK(from_seed(&scene, &native), S_OK, "Work Main 0");
    assert_int_equal(scene.info->lpVtbl->ResumeRuntime(scene.info), S_OK);
    end(&scene);
}

/* The thread waits, so that it is not parked; the other answers of DoStackSnapshot are contract_windows.c's. */
static void w49_suspend_runtime_is_refused_while_a_collection_suspends_and_walks_answer_as_without(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    ICorProfilerInfo15 *info = scene.info;
    assert_int_equal(sw_tube_native(scene.thread, "poll"), SW_OK);
    assert_int_equal(sw_tube_suspend(scene.tube, NULL, COR_PRF_SUSPEND_FOR_GC), SW_OK);
    assert_int_equal(info->lpVtbl->SuspendRuntime(info), CORPROF_E_SUSPENSION_IN_PROGRESS);
    ASSERT_WALK(walk_thread(&scene), S_OK, "Work Main 0");
    assert_int_equal(info->lpVtbl->ResumeRuntime(info), CORPROF_E_UNSUPPORTED_CALL_SEQUENCE);
    assert_int_equal(sw_tube_resume(scene.tube, NULL), SW_OK);
    assert_int_equal(info->lpVtbl->SuspendRuntime(info), S_OK);
    assert_int_equal(info->lpVtbl->ResumeRuntime(info), S_OK);
    end(&scene);
}

static void w50_a_second_suspend_runtime_is_refused_on_windows(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    ICorProfilerInfo15 *info = scene.info;
    assert_int_equal(info->lpVtbl->SuspendRuntime(info), S_OK);
    assert_int_equal(info->lpVtbl->SuspendRuntime(info), CORPROF_E_SUSPENSION_IN_PROGRESS);
    assert_int_equal(info->lpVtbl->ResumeRuntime(info), S_OK);
    assert_int_equal(info->lpVtbl->ResumeRuntime(info), CORPROF_E_UNSUPPORTED_CALL_SEQUENCE);
    end(&scene);
}

/* ---- section 4: the sequence ---- */

static void w61_native_code_that_calls_back_is_one_run_and_stubs_are_hidden(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    assert_int_equal(sw_tube_call(scene.thread, scene.stub), SW_OK);
    assert_int_equal(sw_tube_native(scene.thread, "qsort"), SW_OK);
    assert_int_equal(sw_tube_call(scene.thread, scene.stub), SW_OK);
    assert_int_equal(sw_tube_call(scene.thread, scene.filter), SW_OK);
    ASSERT_WALK(walk_thread(&scene), S_OK, "Filter 0 Work Main 0");
    end(&scene);
}

static void w63_one_frame_info_serves_a_whole_walk(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    assert_true(walk_thread(&scene).one_frame_info);
    end(&scene);
}

/* Of ARM64: clr-arm64-observed.md. */
static void w64_the_size_of_a_context_is_the_systems(void **state)
{
    static const struct {
        enum sw_flavour flavour;
        ULONG32 size;
    } rows[] = { { SW_FLAVOUR_CORECLR_WINDOWS, IS_X64 ? 1232 : 912 },
                 { SW_FLAVOUR_CORECLR_UNIX, IS_X64 ? 3232 : 992 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene scene;
        begin(&scene, *state, rows[i].flavour);
        assert_int_equal(scene.info->lpVtbl->SuspendRuntime(scene.info), S_OK);
        struct walk walk = walk_thread(&scene);
        assert_int_equal(walk.hr, S_OK);
        assert_int_equal(walk.context_size, rows[i].size);
        walk = walk_with(&scene, sw_tube_thread_id(scene.thread), 0, NULL, 0);
        assert_int_equal(walk.context_size, 0);
        assert_false(walk.has_context);
        assert_int_equal(scene.info->lpVtbl->ResumeRuntime(scene.info), S_OK);
        end(&scene);
    }
}

enum { CONTEXT_FLAGS = 0x30, CONTEXT_RAX = 0x78 };

static uint64_t word_at(const BYTE *context, size_t offset)
{
    uint64_t word;
    memcpy(&word, context + offset, sizeof word);
    return word;
}

/* Deviates: rbx, r12 to r15 are 0 in the CLR. Where the thread's own registers are known, they are true here. */
static void w65_behind_a_platform_invoke_pc_sp_and_frame_pointer_are_the_callers(void **state)
{
    struct scene scene;
    struct sw_regs first;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    const struct sw_regs before = frame_regs(&scene, 0);
    assert_int_equal(sw_tube_native(scene.thread, "poll"), SW_OK);
    const struct walk walk = walk_thread(&scene);
    assert_int_equal((uint32_t)word_at(walk.first, CONTEXT_FLAGS), 0);
    assert_int_equal(sw_context_load(SW_CONTEXT_WIN32, before.machine, walk.first, walk.context_size, &first), SW_OK);
    assert_int_equal(sw_regs_sp(&first), sw_regs_sp(&before));
    assert_int_equal(sw_regs_fp(&first), sw_regs_fp(&before));
    assert_true(sw_regs_pc(&first) > sw_regs_pc(&before)); /* the call is behind the gate's */
    end(&scene);
}

static void w66_a_used_seeds_flags_and_volatile_registers_stay_in_all_frames(void **state)
{
    BYTE seed[SW_CONTEXT_X64_BYTES];
    const uint32_t flags = 0x10000b;
    const uint64_t volatile_register = 0x1234567890;
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_WINDOWS);
    const struct sw_regs top = frame_regs(&scene, 0);
    assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, &top, seed, sizeof seed), SW_OK);
    memcpy(seed + CONTEXT_FLAGS, &flags, sizeof flags);
    memcpy(seed + CONTEXT_RAX, &volatile_register, sizeof volatile_register);
    const struct walk walk =
        walk_with(&scene, sw_tube_thread_id(scene.thread), COR_PRF_SNAPSHOT_REGISTER_CONTEXT, seed, sizeof seed);
    assert_int_equal(walk.hr, S_OK);
    assert_int_equal((uint32_t)word_at(walk.last, CONTEXT_FLAGS), flags);
    assert_int_equal(word_at(walk.last, CONTEXT_RAX), volatile_register);
    end(&scene);
}

/* ---- in callbacks: clr-observed.md section 2, clr-windows-observed.md section 4 ---- */

static void act_throw(struct scene *scene)
{
    assert_int_equal(sw_tube_call(scene->thread, scene->filter), SW_OK);
    assert_int_equal(sw_tube_raise(scene->thread, "System.Exception"), SW_OK);
    assert_int_equal(sw_tube_caught(scene->thread), SW_OK);
}

static void act_collect(struct scene *scene)
{
    assert_int_equal(sw_tube_collect(scene->tube, scene->thread), SW_OK);
}

static void act_allocate(struct scene *scene)
{
    assert_int_equal(sw_tube_allocate(scene->thread, "System.String"), SW_OK);
}

static void act_compile(struct scene *scene)
{
    assert_int_equal(sw_tube_compile(scene->filter, scene->thread), SW_OK);
    assert_int_equal(sw_tube_compile(scene->stub, scene->thread), SW_OK);
}

static void act_native(struct scene *scene)
{
    assert_int_equal(sw_tube_native(scene->thread, "poll"), SW_OK);
}

static void act_thread(struct scene *scene)
{
    assert_int_equal(sw_tube_end(sw_tube_thread_start(scene->tube, "other")), SW_OK);
}

static void what_a_walk_of_the_calling_thread_answers_in_each_callback(void **state)
{
    static const struct {
        const char *callback;
        HRESULT answer;
        void (*act)(struct scene *scene);
    } rows[] = { { "JITCompilationStarted", S_OK, act_compile },
                 { "JITCompilationFinished", S_OK, act_compile },
                 { "DynamicMethodJITCompilationFinished", S_OK, act_compile },
                 { "ObjectAllocated", S_OK, act_allocate },
                 { "ExceptionThrown", S_OK, act_throw },
                 { "ExceptionSearchFunctionEnter", S_OK, act_throw },
                 { "ExceptionSearchCatcherFound", S_OK, act_throw },
                 { "ExceptionUnwindFunctionEnter", CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX, act_throw },
                 { "ExceptionUnwindFunctionLeave", CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX, act_throw },
                 { "ExceptionUnwindFinallyEnter", S_OK, act_throw },
                 { "ExceptionCatcherEnter", S_OK, act_throw },
                 { "ExceptionCatcherLeave", S_OK, act_throw },
                 { "ManagedToUnmanagedTransition", S_OK, act_native },
                 { "RuntimeSuspendStarted", S_OK, act_collect },
                 { "RuntimeSuspendFinished", S_OK, act_collect },
                 { "RuntimeThreadSuspended", CORPROF_E_STACKSNAPSHOT_UNSAFE, act_collect },
                 { "GarbageCollectionStarted", S_OK, act_collect },
                 { "ThreadCreated", E_FAIL, act_thread },
                 { "ThreadAssignedToOSThread", E_FAIL, act_thread },
                 { "ThreadDestroyed", E_FAIL, act_thread } };
    static const enum sw_flavour flavours[] = { SW_FLAVOUR_CORECLR_WINDOWS, SW_FLAVOUR_CORECLR_UNIX };
    for (size_t i = 0; i < sizeof rows / sizeof *rows * 2; i++) {
        struct scene scene;
        listener_init(&scene.listener);
        scene.listener.low = COR_PRF_MONITOR_ALL | COR_PRF_ENABLE_STACK_SNAPSHOT | COR_PRF_ENABLE_OBJECT_ALLOCATED;
        open_scene(&scene, *state, flavours[i % 2]);
        assert_int_equal(sw_tube_call(scene.thread, scene.entry), SW_OK);
        assert_int_equal(sw_tube_call(scene.thread, scene.work), SW_OK);
        ask_in(&scene, rows[i / 2].callback);
        rows[i / 2].act(&scene);
        if (in_callback != rows[i / 2].answer)
            print_error("%s, flavour %d\n", rows[i / 2].callback, (int)flavours[i % 2]);
        assert_int_equal(in_callback, rows[i / 2].answer);
        end(&scene);
    }
}

int main(void)
{
    static const bool real = false, simulated = true;
#define BOTH(test)                                                                                                     \
    { #test " (real)", test, NULL, NULL, (void *)&real },                                                              \
    {                                                                                                                  \
#test " (simulated)", test, NULL, NULL, (void *)&simulated                                                     \
    }
    const struct CMUnitTest tests[] = {
        BOTH(w20_in_initialize_it_is_unsafe_whatever_the_mask),
        BOTH(w21_without_the_event_flag_it_is_inconsistent_with_flags_good_or_bad),
        BOTH(w22_bad_flags_come_before_bad_threads_and_callbacks),
        BOTH(w23_a_native_thread_has_no_stack_and_no_error),
        BOTH(w24_a_walk_in_a_walk_of_the_same_thread_is_unsafe_and_the_outer_one_goes_on),
        BOTH(w25_the_id_of_an_ended_thread_is_refused),
        BOTH(w26_another_thread_is_stopped_walked_and_let_go),
        BOTH(w27_a_preemptive_target_has_its_seed_ignored_whatever_it_is),
        BOTH(w29_a_cooperative_target_in_managed_code_begins_at_its_own_registers),
        BOTH(w30_a_cooperative_target_in_native_code_is_an_unmanaged_context),
        BOTH(w31_a_seed_outside_managed_code_is_refused_where_seeds_are_used),
        BOTH(w32_the_first_managed_frame_is_a_seed),
        BOTH(w33_an_outer_managed_frame_as_seed_begins_there),
        { "w34_a_stack_pointer_too_low_gives_the_seed_and_a_run", w34_a_stack_pointer_too_low_gives_the_seed_and_a_run,
          NULL, NULL, (void *)&simulated },
        BOTH(w35_an_unreadable_stack_of_the_seed_is_unexpected_without_a_callback),
        BOTH(w36_a_null_callback_is_an_invalid_argument),
        BOTH(w40_a_callback_that_is_not_ok_ends_the_walk_and_its_value_is_lost),
        BOTH(w42_the_flags_of_a_seed_are_not_looked_at),
        BOTH(w43_the_calling_thread_without_a_record_fails),
        BOTH(w44_in_shutdown_it_fails),
        BOTH(w45_a_managed_thread_may_stop_another_but_it_is_told),
        BOTH(w46_a_target_that_the_runtime_has_parked_fails),
        BOTH(w48_after_suspend_runtime_the_walk_is_whole_whatever_the_seed),
        BOTH(w49_suspend_runtime_is_refused_while_a_collection_suspends_and_walks_answer_as_without),
        BOTH(w50_a_second_suspend_runtime_is_refused_on_windows),
        BOTH(w61_native_code_that_calls_back_is_one_run_and_stubs_are_hidden),
        BOTH(w63_one_frame_info_serves_a_whole_walk),
        BOTH(w64_the_size_of_a_context_is_the_systems),
        BOTH(w65_behind_a_platform_invoke_pc_sp_and_frame_pointer_are_the_callers),
        BOTH(w66_a_used_seeds_flags_and_volatile_registers_stay_in_all_frames),
        BOTH(what_a_walk_of_the_calling_thread_answers_in_each_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
