/*
 * The library's follower of a CLR (snapwalk/clr.h) beside the tube: what it is told by the tube's events and answers,
 * it walks as the tube itself does. An event that is not followed, or an answer that is misread, loses a frame here.
 */
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

#include <snapwalk/clr.h>
#include <snapwalk/context.h>
#include <snapwalk/harness.h>

#if defined(__x86_64__)

struct scene {
    struct sw_tube *tube;
    struct sw_tube_module *module;
    struct sw_tube_function *entry, *work;
    struct sw_tube_thread *thread;
    struct sw_clr *clr;
};

/* Main and Work are called; nobody has told the follower of anything. */
static int begin(void **state)
{
    static struct scene scene;
    scene = (struct scene){ 0 };
    assert_int_equal(sw_tube_create(NULL, &scene.tube), SW_OK);
    assert_int_equal(sw_tube_start(scene.tube), SW_OK);
    ICorProfilerInfo2 *info = sw_tube_info(scene.tube);
    assert_int_equal(info->lpVtbl->SetEventMask(info, COR_PRF_ENABLE_STACK_SNAPSHOT), S_OK);
    assert_int_equal(sw_clr_create(NULL, (IUnknown *)(void *)info, &scene.clr), SW_OK);
    scene.module = sw_tube_module_load(scene.tube, "Demo.dll");
    scene.entry = sw_tube_function_add(scene.module, "P", "Main", 0);
    scene.work = sw_tube_function_add(scene.module, "P", "Work", SW_TUBE_SHAPE_FRAMELESS);
    scene.thread = sw_tube_thread_start(scene.tube, "main");
    assert_int_equal(sw_tube_call(scene.thread, scene.entry), SW_OK);
    assert_int_equal(sw_tube_call(scene.thread, scene.work), SW_OK);
    *state = &scene;
    return 0;
}

static int end(void **state)
{
    struct scene *scene = *state;
    sw_clr_destroy(scene->clr);
    assert_string_equal(sw_tube_problem(scene->tube), "");
    sw_tube_destroy(scene->tube);
    return 0;
}

static void tell_of_thread(struct scene *scene)
{
    const ThreadID id = sw_tube_thread_id(scene->thread);
    sw_clr_thread_created(scene->clr, id);
    sw_clr_thread_assigned(scene->clr, id, (DWORD)sw_tube_thread_os_id(scene->thread));
}

static void tell_of_functions(struct scene *scene)
{
    sw_clr_function_compiled(scene->clr, sw_tube_function_id(scene->entry), 0);
    sw_clr_function_compiled(scene->clr, sw_tube_function_id(scene->work), 0);
}

struct frames {
    const struct scene *scene;
    char text[256];
};

static void add(struct frames *frames, FunctionID function)
{
    const struct scene *scene = frames->scene;
    const char *name = function == 0 ? "0" : "?";
    if (function && function == sw_tube_function_id(scene->entry))
        name = "Main";
    else if (function && function == sw_tube_function_id(scene->work))
        name = "Work";
    strcat(strcat(frames->text, frames->text[0] ? " " : ""), name);
}

static HRESULT STDMETHODCALLTYPE note(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame_info, ULONG32 size,
                                      BYTE context[], void *data)
{
    (void)ip, (void)frame_info, (void)size, (void)context;
    add(data, function);
    return S_OK;
}

#define ASSERT_WALK(scene_, answer, expected)                                                                          \
    do {                                                                                                               \
        struct frames frames_ = { .scene = scene_ };                                                                   \
        const HRESULT hr_ = sw_clr_snapshot((scene_)->clr, SW_FLAVOUR_DOCUMENTED, sw_tube_thread_id((scene_)->thread), \
                                            note, 0, &frames_, NULL, 0);                                               \
        assert_string_equal(frames_.text, expected);                                                                   \
        assert_int_equal(hr_, answer);                                                                                 \
    } while (0)

static void what_is_announced_is_walked(void **state)
{
    struct scene *scene = *state;
    ASSERT_WALK(scene, CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD, "");
    tell_of_thread(scene);
    sw_clr_function_compiled(scene->clr, sw_tube_function_id(scene->entry), 0);
    ASSERT_WALK(scene, S_OK, "0 Main 0"); /* Work is native as far as anyone knows */
    sw_clr_function_compiled(scene->clr, sw_tube_function_id(scene->work), 0);
    ASSERT_WALK(scene, S_OK, "0 Work Main 0");
}

static void a_second_version_of_a_function_is_known_beside_the_first(void **state)
{
    struct scene *scene = *state;
    tell_of_thread(scene);
    tell_of_functions(scene);
    assert_int_equal(sw_tube_compile(scene->work, NULL), SW_OK);
    assert_int_equal(sw_tube_call(scene->thread, scene->work), SW_OK);
    sw_clr_function_compiled(scene->clr, sw_tube_function_id(scene->work), 0);
    ASSERT_WALK(scene, S_OK, "0 Work Work Main 0");
}

static void a_profiler_that_attaches_asks_for_all_that_was_there(void **state)
{
    struct scene *scene = *state;
    sw_clr_attached(scene->clr);
    ASSERT_WALK(scene, S_OK, "0 Work Main 0");
}

static void an_unloaded_function_is_forgotten(void **state)
{
    struct scene *scene = *state;
    const COR_PRF_CODE_INFO code = sw_tube_function_code(scene->work);
    const uint64_t last = code.startAddress + code.size - 1; /* its first bytes are Main's padding when it is gone */
    FunctionID found = 0;
    tell_of_functions(scene);
    assert_int_equal(sw_clr_function_from_ip(scene->clr, SW_FLAVOUR_CORECLR_UNIX, last, &found), S_OK);
    assert_int_equal(found, sw_tube_function_id(scene->work));
    sw_clr_function_unloaded(scene->clr, sw_tube_function_id(scene->work));
    assert_int_equal(sw_clr_function_from_ip(scene->clr, SW_FLAVOUR_CORECLR_UNIX, last, &found), E_FAIL);
}

static void a_dynamic_method_is_hidden_where_the_clr_hides_it(void **state)
{
    struct scene *scene = *state;
    struct sw_tube_function *stub = sw_tube_function_add(scene->module, "P", "Stub", SW_TUBE_HIDDEN);
    FunctionID found = 0;
    assert_int_equal(sw_tube_compile(stub, NULL), SW_OK);
    const UINT_PTR at = sw_tube_function_code(stub).startAddress;
    sw_clr_dynamic_compiled(scene->clr, sw_tube_function_id(stub));
    assert_int_equal(sw_clr_function_from_ip(scene->clr, SW_FLAVOUR_CORECLR_UNIX, at, &found), E_FAIL);
    assert_int_equal(sw_clr_function_from_ip(scene->clr, SW_FLAVOUR_DOCUMENTED, at, &found), S_OK);
    assert_int_equal(found, sw_tube_function_id(stub));
}

static void a_thread_that_has_ended_is_refused(void **state)
{
    struct scene *scene = *state;
    struct sw_clr_counts counts;
    tell_of_thread(scene);
    tell_of_functions(scene);
    sw_clr_get_counts(scene->clr, &counts);
    assert_int_equal(counts.threads, 1);
    sw_clr_thread_destroyed(scene->clr, sw_tube_thread_id(scene->thread));
    ASSERT_WALK(scene, CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD, "");
    sw_clr_get_counts(scene->clr, &counts);
    assert_int_equal(counts.threads, 0);
    assert_int_equal(counts.failures, 0);
}

/* ---- in a signal handler ---- */

static struct scene *interrupted;
static struct frames from_signal;
static enum sw_stop stop;
static enum sw_status seed_status;
static uint64_t seed_pc;
static _Atomic bool handled;

static bool keep(void *arg, const struct sw_frame *frame)
{
    if (frame->code.kind == SW_KIND_JIT)
        add(arg, (FunctionID)frame->code.id);
    return true;
}

static void on_signal(int number, siginfo_t *about, void *context)
{
    BYTE seed[SW_CONTEXT_X64_BYTES];
    struct sw_regs regs, found;
    (void)number, (void)about;
    stop = sw_clr_walk(interrupted->clr, context, keep, &from_signal);
    if (sw_context_load(SW_CONTEXT_UCONTEXT, SW_MACHINE_X64, context, SW_CONTEXT_MAX_BYTES, &regs) == SW_OK)
        seed_status = sw_clr_find_seed(interrupted->clr, &regs, seed, sizeof seed);
    if (sw_context_load(SW_CONTEXT_WIN32, SW_MACHINE_X64, seed, sizeof seed, &found) == SW_OK)
        seed_pc = sw_regs_pc(&found);
    atomic_store(&handled, true);
}

static void a_thread_walks_itself_from_its_signal_handler(void **state)
{
    struct scene *scene = *state;
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO }, before;
    tell_of_thread(scene);
    tell_of_functions(scene);
    interrupted = scene;
    from_signal = (struct frames){ .scene = scene };
    seed_status = SW_E_OS;
    atomic_store(&handled, false);
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    assert_int_equal(sw_tube_spin(scene->thread), SW_OK);
    assert_int_equal(syscall(SYS_tgkill, getpid(), (pid_t)sw_tube_thread_os_id(scene->thread), SIGUSR1), 0);
    while (!atomic_load(&handled))
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    assert_string_equal(from_signal.text, "Work Main");
    assert_true(stop == SW_STOP_ROOT || stop == SW_STOP_ROOT_ZERO || stop == SW_STOP_ROOT_BASE);
    const COR_PRF_CODE_INFO code = sw_tube_function_code(scene->work);
    assert_int_equal(seed_status, SW_OK);
    assert_in_range(seed_pc, code.startAddress, code.startAddress + code.size - 1);
    assert_int_equal(sw_tube_give_back(scene->thread), SW_OK);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        EACH(what_is_announced_is_walked),
        EACH(a_second_version_of_a_function_is_known_beside_the_first),
        EACH(a_profiler_that_attaches_asks_for_all_that_was_there),
        EACH(an_unloaded_function_is_forgotten),
        EACH(a_dynamic_method_is_hidden_where_the_clr_hides_it),
        EACH(a_thread_that_has_ended_is_refused),
        EACH(a_thread_walks_itself_from_its_signal_handler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("ok - feed # SKIP snapwalk/clr.h is for x64\n");
    return 0;
}

#endif
