/*
 * DoStackSnapshot in a tube: what a profiler's mistakes are called, what goes wrong on request, and how walks, steps
 * and suspensions wait for each other.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <snapwalk/context.h>
#include <snapwalk/harness.h>

#include "../support/listener.h"

struct scene {
    struct listener listener;
    struct sw_tube *tube;
    struct sw_tube_function *entry, *work;
    struct sw_tube_thread *thread;
    ICorProfilerInfo15 *info;
};

/* A thread in Work, called by Main, in native code; the profiler may walk. */
static void begin(struct scene *scene, const bool *simulated, enum sw_flavour flavour)
{
    const struct sw_tube_options options = { .simulated = *simulated, .flavour = flavour };
    listener_init(&scene->listener);
    scene->listener.low = COR_PRF_ENABLE_STACK_SNAPSHOT | COR_PRF_MONITOR_THREADS;
    assert_int_equal(sw_tube_create(&options, &scene->tube), SW_OK);
    assert_int_equal(sw_tube_use(scene->tube, (IUnknown *)&scene->listener.com), SW_OK);
    assert_int_equal(sw_tube_start(scene->tube), SW_OK);
    struct sw_tube_module *module = sw_tube_module_load(scene->tube, "Demo.dll");
    scene->entry = sw_tube_function_add(module, "P", "Main", 0);
    scene->work = sw_tube_function_add(module, "P", "Work", SW_TUBE_SHAPE_SAVES);
    scene->thread = sw_tube_thread_start(scene->tube, "main");
    scene->info = scene->listener.info;
    assert_int_equal(sw_tube_call(scene->thread, scene->entry), SW_OK);
    assert_int_equal(sw_tube_call(scene->thread, scene->work), SW_OK);
}

static void end(struct scene *scene)
{
    assert_string_equal(sw_tube_problem(scene->tube), "");
    sw_tube_destroy(scene->tube);
}

/* How often a rule was broken. */
static unsigned broken(const struct scene *scene, enum sw_tube_rule rule)
{
    struct sw_tube_violation list[32];
    const size_t count = sw_tube_violations(scene->tube, list, 32);
    unsigned times = 0;
    for (size_t i = 0; i < count && i < 32; i++)
        times += list[i].rule == rule;
    return times;
}

/* What a callback of a walk keeps, and does. */
struct kept {
    struct scene *scene;
    unsigned frames;
    FunctionID first;
    COR_PRF_FRAME_INFO frame_info;
    BYTE *context;
    HRESULT inner, answer;
    void (*in_frame)(struct kept *kept);
};

static HRESULT STDMETHODCALLTYPE keep(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame_info, ULONG32 size,
                                      BYTE context[], void *data)
{
    struct kept *kept = data;
    (void)ip, (void)size;
    if (kept->frames++ == 0) {
        kept->first = function;
        kept->frame_info = frame_info;
        kept->context = context;
        if (kept->in_frame)
            kept->in_frame(kept);
    }
    return kept->answer;
}

static HRESULT walk(struct scene *scene, struct kept *kept, ULONG32 flags)
{
    kept->scene = scene;
    return scene->info->lpVtbl->DoStackSnapshot(scene->info, sw_tube_thread_id(scene->thread), keep, flags, kept, NULL,
                                                0);
}

/* ---- frames die with their callback ---- */

static void use_frame_info(struct kept *kept)
{
    ICorProfilerInfo15 *info = kept->scene->info;
    kept->inner = info->lpVtbl->GetFunctionInfo2(info, kept->first, kept->frame_info, NULL, NULL, NULL, 0, NULL, NULL);
}

static void c3_a_frame_info_serves_its_callback_and_no_later_one(void **state)
{
    struct scene scene;
    struct kept kept = { .in_frame = use_frame_info, .inner = E_FAIL };
    begin(&scene, *state, SW_FLAVOUR_DOCUMENTED);
    assert_int_equal(walk(&scene, &kept, 0), S_OK);
    assert_int_equal(kept.inner, S_OK);
    assert_int_equal(broken(&scene, SW_TUBE_STALE_FRAME), 0);
    use_frame_info(&kept);
    assert_int_equal(broken(&scene, SW_TUBE_STALE_FRAME), 1);
    end(&scene);
}

static void c4_a_context_that_was_kept_is_told_when_it_is_read(void **state)
{
    struct scene scene;
    struct kept kept = { 0 };
    begin(&scene, *state, SW_FLAVOUR_DOCUMENTED);
    assert_int_equal(walk(&scene, &kept, COR_PRF_SNAPSHOT_REGISTER_CONTEXT), S_OK);
    assert_int_equal(broken(&scene, SW_TUBE_STALE_CONTEXT), 0);
    const BYTE byte = *(volatile BYTE *)(kept.context + 0x98);
    (void)byte;
    assert_int_equal(broken(&scene, SW_TUBE_STALE_CONTEXT), 1);
    end(&scene);
}

/* ---- mistakes around a walk ---- */

static void nest(struct kept *kept)
{
    struct kept inner = { 0 };
    kept->inner = walk(kept->scene, &inner, 0);
}

static void a_walk_in_its_own_callback_is_unsafe_and_told(void **state)
{
    struct scene scene;
    struct kept kept = { .in_frame = nest };
    begin(&scene, *state, SW_FLAVOUR_DOCUMENTED);
    assert_int_equal(walk(&scene, &kept, 0), S_OK);
    assert_int_equal(kept.inner, CORPROF_E_STACKSNAPSHOT_UNSAFE);
    assert_int_equal(broken(&scene, SW_TUBE_NESTED_WALK), 1);
    end(&scene);
}

static void a_walk_without_its_event_flag_is_refused_and_told(void **state)
{
    struct scene scene;
    struct kept kept = { 0 };
    begin(&scene, *state, SW_FLAVOUR_DOCUMENTED);
    assert_int_equal(scene.info->lpVtbl->SetEventMask(scene.info, 0), S_OK);
    assert_int_equal(walk(&scene, &kept, 0), CORPROF_E_INCONSISTENT_WITH_FLAGS);
    assert_int_equal(broken(&scene, SW_TUBE_NO_EVENT_MASK), 1);
    end(&scene);
}

static void linux_tells_of_a_target_that_nobody_stopped(void **state)
{
    struct scene scene;
    struct kept kept = { 0 };
    begin(&scene, *state, SW_FLAVOUR_CORECLR_UNIX);
    assert_int_equal(walk(&scene, &kept, 0), E_NOTIMPL);
    assert_int_equal(broken(&scene, SW_TUBE_RUNNING_TARGET), 1);
    assert_int_equal(scene.info->lpVtbl->SuspendRuntime(scene.info), S_OK);
    assert_int_equal(walk(&scene, &kept, 0), S_OK);
    assert_int_equal(scene.info->lpVtbl->ResumeRuntime(scene.info), S_OK);
    assert_int_equal(broken(&scene, SW_TUBE_RUNNING_TARGET), 1);
    end(&scene);
}

static void an_id_that_the_tube_never_gave_is_told(void **state)
{
    struct scene scene;
    struct kept kept = { 0 };
    begin(&scene, *state, SW_FLAVOUR_DOCUMENTED);
    assert_int_equal(scene.info->lpVtbl->DoStackSnapshot(scene.info, 0x1234560, keep, 0, &kept, NULL, 0),
                     CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD);
    assert_int_equal(broken(&scene, SW_TUBE_UNKNOWN_ID), 1);
    end(&scene);
}

/* ---- faults on request ---- */

static void faults_happen_as_often_as_was_asked_for(void **state)
{
    static const struct {
        enum sw_tube_fault fault;
        HRESULT answer;
        unsigned frames;
    } rows[] = { { SW_TUBE_FAULT_UNSAFE, CORPROF_E_STACKSNAPSHOT_UNSAFE, 0 },
                 { SW_TUBE_FAULT_MIDWAY, E_FAIL, 2 },
                 { SW_TUBE_FAULT_DIES, CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD, 0 } };
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_DOCUMENTED);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(sw_tube_fail(scene.tube, rows[i].fault, 2), SW_OK);
        for (unsigned times = 0; times < 3; times++) {
            struct kept kept = { 0 };
            assert_int_equal(walk(&scene, &kept, 0), times < 2 ? rows[i].answer : S_OK);
            assert_int_equal(kept.frames, times < 2 ? rows[i].frames : 3);
        }
    }
    assert_int_equal(sw_tube_fail(scene.tube, SW_TUBE_FAULT_SUSPEND, 1), SW_OK);
    assert_int_equal(scene.info->lpVtbl->SuspendRuntime(scene.info), CORPROF_E_SUSPENSION_IN_PROGRESS);
    assert_int_equal(scene.info->lpVtbl->SuspendRuntime(scene.info), S_OK);
    assert_int_equal(scene.info->lpVtbl->ResumeRuntime(scene.info), S_OK);
    end(&scene);
}

static void a_callback_that_refuses_is_an_abort_not_a_fault(void **state)
{
    struct scene scene;
    struct kept kept = { .answer = S_FALSE };
    begin(&scene, *state, SW_FLAVOUR_DOCUMENTED);
    assert_int_equal(walk(&scene, &kept, 0), CORPROF_E_STACKSNAPSHOT_ABORTED);
    assert_int_equal(kept.frames, 1);
    end(&scene);
}

/* ---- walks, steps and suspensions wait for each other ---- */

struct watcher {
    struct scene *scene;
    _Atomic bool suspended, step_done, was_early;
};

static void nap(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
}

static void *suspend_for_a_while(void *arg)
{
    struct watcher *watcher = arg;
    ICorProfilerInfo15 *info = watcher->scene->info;
    if (info->lpVtbl->SuspendRuntime(info) != S_OK)
        return NULL;
    atomic_store(&watcher->suspended, true);
    nap();
    atomic_store(&watcher->was_early, atomic_load(&watcher->step_done));
    (void)info->lpVtbl->ResumeRuntime(info);
    return NULL;
}

static void a_step_waits_while_the_profiler_has_the_runtime_suspended(void **state)
{
    struct scene scene;
    struct watcher watcher = { .scene = &scene };
    pthread_t thread;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_UNIX);
    assert_int_equal(pthread_create(&thread, NULL, suspend_for_a_while, &watcher), 0);
    while (!atomic_load(&watcher.suspended))
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    assert_int_equal(sw_tube_give_back(scene.thread), SW_OK);
    atomic_store(&watcher.step_done, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(atomic_load(&watcher.was_early));
    end(&scene);
}

static void a_runtime_left_suspended_is_told_at_shutdown(void **state)
{
    struct scene scene;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_UNIX);
    assert_int_equal(scene.info->lpVtbl->SuspendRuntime(scene.info), S_OK);
    assert_int_equal(sw_tube_shutdown(scene.tube), SW_OK);
    assert_int_equal(broken(&scene, SW_TUBE_LEFT_SUSPENDED), 1);
    end(&scene);
}

static _Atomic bool in_walk, let_go;

static void wait_in_frame(struct kept *kept)
{
    (void)kept;
    atomic_store(&in_walk, true);
    while (!atomic_load(&let_go))
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

static void *walk_slowly(void *arg)
{
    struct kept kept = { .in_frame = wait_in_frame };
    (void)walk(arg, &kept, 0);
    return NULL;
}

/* The walk goes on until the tube has looked: the profiler does not wait for it in ThreadDestroyed. */
static void let_go_soon(struct listener *self, const char *callback)
{
    (void)self;
    if (strcmp(callback, "ThreadDestroyed") == 0)
        nap();
}

static void *let_go_when_told(void *arg)
{
    while (broken(arg, SW_TUBE_DESTROYED_IN_WALK) == 0)
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    atomic_store(&let_go, true);
    return NULL;
}

/* The thread has no frames: with frames its steps to the end wait for the walk, and nothing can be broken. */
static void d23_a_thread_that_ends_while_it_is_walked_is_told(void **state)
{
    struct scene scene;
    pthread_t walker, watcher;
    begin(&scene, *state, SW_FLAVOUR_DOCUMENTED);
    assert_int_equal(sw_tube_give_back(scene.thread), SW_OK);
    assert_int_equal(sw_tube_give_back(scene.thread), SW_OK);
    atomic_store(&in_walk, false);
    atomic_store(&let_go, false);
    scene.listener.on = let_go_soon;
    assert_int_equal(pthread_create(&walker, NULL, walk_slowly, &scene), 0);
    while (!atomic_load(&in_walk))
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    assert_int_equal(pthread_create(&watcher, NULL, let_go_when_told, &scene), 0);
    assert_int_equal(sw_tube_end(scene.thread), SW_OK);
    assert_int_equal(pthread_join(watcher, NULL), 0);
    assert_int_equal(pthread_join(walker, NULL), 0);
    assert_int_equal(broken(&scene, SW_TUBE_DESTROYED_IN_WALK), 1);
    end(&scene);
}

/* ---- signals (clr-observed.md section 1: an interrupted thread) ---- */

static struct scene *interrupted;
static HRESULT with_seed, without_seed;
static struct kept seeded, unseeded;
static _Atomic bool handled;

static void on_signal(int number, siginfo_t *about, void *context)
{
    static BYTE seed[SW_CONTEXT_MAX_BYTES];
    ICorProfilerInfo15 *info = interrupted->info;
    const enum sw_machine machine = sw_tube_engine(interrupted->tube)->walker->machine;
    struct sw_regs regs;
    (void)number, (void)about;
    (void)!sw_context_load(SW_CONTEXT_UCONTEXT, machine, context, SW_CONTEXT_MAX_BYTES, &regs);
    (void)!sw_context_store(SW_CONTEXT_WIN32, &regs, seed, sizeof seed);
    with_seed = info->lpVtbl->DoStackSnapshot(info, 0, keep, 0, &seeded, seed, sizeof seed);
    without_seed = info->lpVtbl->DoStackSnapshot(info, 0, keep, 0, &unseeded, NULL, 0);
    atomic_store(&handled, true);
}

static void a_thread_interrupted_in_managed_code_is_walked_from_its_registers_only(void **state)
{
    struct scene scene;
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO }, before;
    begin(&scene, *state, SW_FLAVOUR_CORECLR_UNIX);
    interrupted = &scene;
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    assert_int_equal(sw_tube_spin(scene.thread), SW_OK);
    assert_int_equal(syscall(SYS_tgkill, getpid(), (pid_t)sw_tube_thread_os_id(scene.thread), SIGUSR1), 0);
    while (!atomic_load(&handled))
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    assert_int_equal(with_seed, S_OK);
    assert_int_equal(seeded.frames, 3);
    assert_int_equal(seeded.first, sw_tube_function_id(scene.work));
    assert_int_equal(without_seed, E_FAIL);
    assert_int_equal(unseeded.frames, 0);
    assert_int_equal(sw_tube_give_back(scene.thread), SW_OK);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    end(&scene);
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
        BOTH(c3_a_frame_info_serves_its_callback_and_no_later_one),
        BOTH(c4_a_context_that_was_kept_is_told_when_it_is_read),
        BOTH(a_walk_in_its_own_callback_is_unsafe_and_told),
        BOTH(a_walk_without_its_event_flag_is_refused_and_told),
        BOTH(linux_tells_of_a_target_that_nobody_stopped),
        BOTH(an_id_that_the_tube_never_gave_is_told),
        BOTH(faults_happen_as_often_as_was_asked_for),
        BOTH(a_callback_that_refuses_is_an_abort_not_a_fault),
        BOTH(a_step_waits_while_the_profiler_has_the_runtime_suspended),
        BOTH(a_runtime_left_suspended_is_told_at_shutdown),
        { "a_thread_interrupted_in_managed_code_is_walked_from_its_registers_only (real)",
          a_thread_interrupted_in_managed_code_is_walked_from_its_registers_only, NULL, NULL, (void *)&real },
        { "d23_a_thread_that_ends_while_it_is_walked_is_told (simulated)",
          d23_a_thread_that_ends_while_it_is_walked_is_told, NULL, NULL, (void *)&simulated },
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
