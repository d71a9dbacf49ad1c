/*
 * Stacks that a tube makes: the same steps on real threads and simulated ones, of both machines, are the same frames in
 * each flavour. A shape of code that the walker could not leave, or a record at the wrong place, fails here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <snapwalk/harness.h>

enum { SHAPES = 4 };

struct scene {
    struct sw_tube *tube;
    struct sw_tube_function *shapes[SHAPES];
    struct sw_tube_thread *thread;
};

/* What is run, by row: all kinds of threads of this machine and of ARM64. */
static const struct kind {
    bool simulated;
    enum sw_machine machine;
} real_here = { false, SW_MACHINE_NONE }, simulated_x64 = { true, SW_MACHINE_X64 },
  simulated_arm64 = { true, SW_MACHINE_ARM64 };

static struct scene open_scene(const struct kind *kind, enum sw_flavour flavour)
{
    static const char *const names[SHAPES] = { "Frame", "Saves", "Frameless", "Large" };
    const struct sw_tube_options options = { .flavour = flavour,
                                             .machine = kind->machine,
                                             .simulated = kind->simulated };
    struct scene scene;
    assert_int_equal(sw_tube_create(&options, &scene.tube), SW_OK);
    assert_int_equal(sw_tube_start(scene.tube), SW_OK);
    struct sw_tube_module *module = sw_tube_module_load(scene.tube, "Demo.dll");
    for (uint32_t i = 0; i < SHAPES; i++)
        scene.shapes[i] = sw_tube_function_add(module, "P", names[i], i | (i == 1 ? SW_TUBE_CATCHES : 0));
    scene.thread = sw_tube_thread_start(scene.tube, "main");
    assert_non_null(scene.thread);
    return scene;
}

static void close_scene(struct scene *scene)
{
    assert_int_equal(sw_tube_shutdown(scene->tube), SW_OK);
    assert_string_equal(sw_tube_problem(scene->tube), "");
    sw_tube_destroy(scene->tube);
}

#define ASSERT_STACK(thread, answer, expected)                                                                         \
    do {                                                                                                               \
        char text_[1024];                                                                                              \
        const HRESULT hr_ = sw_tube_stack(thread, text_, sizeof text_);                                                \
        assert_string_equal(text_, expected);                                                                          \
        assert_int_equal(hr_, answer);                                                                                 \
    } while (0)

static void call_all(const struct scene *scene)
{
    for (unsigned i = 0; i < SHAPES; i++)
        assert_int_equal(sw_tube_call(scene->thread, scene->shapes[i]), SW_OK);
}

static void managed_frames_of_every_shape_are_walked_to_the_base(void **state)
{
    struct scene scene = open_scene(*state, SW_FLAVOUR_DOCUMENTED);
    ASSERT_STACK(scene.thread, S_OK, "[native]");
    call_all(&scene);
    ASSERT_STACK(scene.thread, S_OK, "P.Large < P.Frameless < P.Saves < P.Frame < [native]");
    assert_int_equal(sw_tube_spin(scene.thread), SW_OK);
    ASSERT_STACK(scene.thread, S_OK, "P.Large < P.Frameless < P.Saves < P.Frame < [native]");
    assert_int_equal(sw_tube_give_back(scene.thread), SW_OK);
    ASSERT_STACK(scene.thread, S_OK, "P.Frameless < P.Saves < P.Frame < [native]");
    close_scene(&scene);
}

static void native_code_on_top_is_a_run_where_the_documentation_holds_and_nothing_in_the_clr(void **state)
{
    struct scene scene = open_scene(*state, SW_FLAVOUR_DOCUMENTED);
    call_all(&scene);
    assert_int_equal(sw_tube_native(scene.thread, "poll"), SW_OK);
    ASSERT_STACK(scene.thread, S_OK, "[native] < P.Large < P.Frameless < P.Saves < P.Frame < [native]");
    close_scene(&scene);
    scene = open_scene(*state, SW_FLAVOUR_CORECLR_WINDOWS);
    call_all(&scene);
    assert_int_equal(sw_tube_native(scene.thread, "poll"), SW_OK);
    ASSERT_STACK(scene.thread, S_OK, "P.Large < P.Frameless < P.Saves < P.Frame < [native]");
    close_scene(&scene);
}

static void native_code_that_calls_back_is_a_run_between(void **state)
{
    struct scene scene = open_scene(*state, SW_FLAVOUR_CORECLR_WINDOWS);
    call_all(&scene);
    assert_int_equal(sw_tube_native(scene.thread, "qsort"), SW_OK);
    assert_int_equal(sw_tube_call(scene.thread, scene.shapes[2]), SW_OK);
    ASSERT_STACK(scene.thread, S_OK, "P.Frameless < [native] < P.Large < P.Frameless < P.Saves < P.Frame < [native]");
    assert_int_equal(sw_tube_give_back(scene.thread), SW_OK);
    assert_int_equal(sw_tube_give_back(scene.thread), SW_OK);
    ASSERT_STACK(scene.thread, S_OK, "P.Large < P.Frameless < P.Saves < P.Frame < [native]");
    close_scene(&scene);
}

static void linux_walks_another_thread_only_while_the_profiler_has_suspended_the_runtime(void **state)
{
    struct scene scene = open_scene(*state, SW_FLAVOUR_CORECLR_UNIX);
    ICorProfilerInfo10 *info = (ICorProfilerInfo10 *)(void *)sw_tube_info(scene.tube);
    call_all(&scene);
    ASSERT_STACK(scene.thread, E_NOTIMPL, "E_NOTIMPL");
    assert_int_equal(info->lpVtbl->SuspendRuntime(info), S_OK);
    ASSERT_STACK(scene.thread, S_OK, "P.Large < P.Frameless < P.Saves < P.Frame < [native]");
    assert_int_equal(info->lpVtbl->ResumeRuntime(info), S_OK);
    ASSERT_STACK(scene.thread, E_NOTIMPL, "E_NOTIMPL");
    close_scene(&scene);
}

static void look_from_inside(void *arg)
{
    const struct scene *scene = arg;
    ASSERT_STACK(scene->thread, S_OK, "P.Large < P.Frameless < P.Saves < P.Frame < [native]");
}

static void linux_walks_the_calling_thread(void **state)
{
    struct scene scene = open_scene(*state, SW_FLAVOUR_CORECLR_UNIX);
    call_all(&scene);
    assert_int_equal(sw_tube_run(scene.thread, look_from_inside, &scene), SW_OK);
    close_scene(&scene);
}

static void a_caught_exception_leaves_the_frames_up_to_the_catcher(void **state)
{
    struct scene scene = open_scene(*state, SW_FLAVOUR_CORECLR_WINDOWS);
    call_all(&scene);
    assert_int_equal(sw_tube_raise(scene.thread, "System.Exception"), SW_OK);
    ASSERT_STACK(scene.thread, S_OK, "P.Saves < P.Frame < [native]");
    assert_int_equal(sw_tube_call(scene.thread, scene.shapes[3]), SW_OK);
    ASSERT_STACK(scene.thread, S_OK, "P.Large < P.Saves < P.Frame < [native]");
    assert_int_equal(sw_tube_give_back(scene.thread), SW_OK);
    assert_int_equal(sw_tube_caught(scene.thread), SW_OK);
    ASSERT_STACK(scene.thread, S_OK, "P.Saves < P.Frame < [native]");
    close_scene(&scene);
}

static void a_stack_of_hundreds_of_frames_is_whole(void **state)
{
    struct scene scene = open_scene(*state, SW_FLAVOUR_DOCUMENTED);
    char text[8192];
    for (unsigned i = 0; i < 400; i++)
        assert_int_equal(sw_tube_call(scene.thread, scene.shapes[i % 3]), SW_OK);
    assert_int_equal(sw_tube_stack(scene.thread, text, sizeof text), S_OK);
    unsigned frames = 1;
    for (const char *c = text; *c; c++)
        frames += *c == '<';
    assert_int_equal(frames, 401);
    close_scene(&scene);
}

int main(void)
{
#define EACH(test)                                                                                                     \
    { #test " on real threads", test, NULL, NULL, (void *)&real_here },                                                \
        { #test " on simulated x64", test, NULL, NULL, (void *)&simulated_x64 },                                       \
    {                                                                                                                  \
#test " on simulated ARM64", test, NULL, NULL, (void *)&simulated_arm64                                        \
    }
    const struct CMUnitTest tests[] = {
        EACH(managed_frames_of_every_shape_are_walked_to_the_base),
        EACH(native_code_on_top_is_a_run_where_the_documentation_holds_and_nothing_in_the_clr),
        EACH(native_code_that_calls_back_is_a_run_between),
        EACH(linux_walks_another_thread_only_while_the_profiler_has_suspended_the_runtime),
        EACH(linux_walks_the_calling_thread),
        EACH(a_caught_exception_leaves_the_frames_up_to_the_catcher),
        EACH(a_stack_of_hundreds_of_frames_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
