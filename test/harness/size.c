/*
 * A tube of the size of a real program: 100,000 functions and 1,000 threads, each walked; and the smallest test there
 * is. What they take is printed, and depends on the machine; that all of them are walked does not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include <snapwalk/harness.h>

enum { FUNCTIONS = 100000, THREADS = 1000, DEPTH = 10, CALLED = 97 };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct sw_tube *open_tube(const void *simulated)
{
    const struct sw_tube_options options = { .simulated = *(const bool *)simulated };
    struct sw_tube *tube;
    assert_int_equal(sw_tube_create(&options, &tube), SW_OK);
    assert_int_equal(sw_tube_start(tube), SW_OK);
    return tube;
}

static void close_tube(struct sw_tube *tube)
{
    assert_int_equal(sw_tube_shutdown(tube), SW_OK);
    assert_string_equal(sw_tube_problem(tube), "");
    sw_tube_destroy(tube);
}

/* "P.F12 < P.F11 < ... < [native]": DEPTH calls make DEPTH frames and a run. */
static unsigned frames_in(const char *text)
{
    unsigned frames = 1;
    for (; *text; text++)
        frames += *text == '<';
    return frames;
}

static void a_large_program_is_made_and_walked(void **state)
{
    const double begun = now_ms();
    struct sw_tube *tube = open_tube(*state);
    struct sw_tube_module *module = sw_tube_module_load(tube, "Large.dll");
    static struct sw_tube_function *functions[FUNCTIONS];
    char text[1024];
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        snprintf(text, sizeof text, "F%u", i);
        functions[i] = sw_tube_function_add(module, "P", text, i % 4);
        assert_int_equal(sw_tube_compile(functions[i], NULL), SW_OK);
    }
    const double compiled = now_ms();
    for (unsigned i = 0; i < THREADS; i++) {
        snprintf(text, sizeof text, "thread %u", i);
        struct sw_tube_thread *thread = sw_tube_thread_start(tube, text);
        for (unsigned depth = 0; depth < DEPTH; depth++)
            assert_int_equal(sw_tube_call(thread, functions[(i + depth * CALLED) % FUNCTIONS]), SW_OK);
        assert_int_equal(sw_tube_stack(thread, text, sizeof text), S_OK);
        assert_int_equal(frames_in(text), DEPTH + 1);
    }
    const double walked = now_ms();
    close_tube(tube);
    print_message("# %d functions in %.0f ms, %d threads in %.0f ms, their end %.0f ms\n", FUNCTIONS, compiled - begun,
                  THREADS, walked - compiled, now_ms() - walked);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void the_smallest_test_is_a_thread_with_three_frames(void **state)
{
    enum { ROUNDS = 21 };
    double took[ROUNDS];
    for (unsigned round = 0; round < ROUNDS; round++) {
        static const char *const names[] = { "A", "B", "C" };
        const double begun = now_ms();
        char text[256];
        struct sw_tube *tube = open_tube(*state);
        struct sw_tube_module *module = sw_tube_module_load(tube, "Small.dll");
        struct sw_tube_thread *thread = sw_tube_thread_start(tube, "main");
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(sw_tube_call(thread, sw_tube_function_add(module, "P", names[i], 0)), SW_OK);
        assert_int_equal(sw_tube_stack(thread, text, sizeof text), S_OK);
        assert_string_equal(text, "P.C < P.B < P.A < [native]");
        close_tube(tube);
        took[round] = now_ms() - begun;
    }
    qsort(took, ROUNDS, sizeof *took, compare);
    print_message("# three frames: %.2f ms (median of %d), at worst %.2f\n", took[ROUNDS / 2], ROUNDS,
                  took[ROUNDS - 1]);
}

int main(void)
{
    static const bool real = false, simulated = true;
    const struct CMUnitTest tests[] = {
        { "a_large_program_is_made_and_walked (real)", a_large_program_is_made_and_walked, NULL, NULL, (void *)&real },
        { "a_large_program_is_made_and_walked (simulated)", a_large_program_is_made_and_walked, NULL, NULL,
          (void *)&simulated },
        { "the_smallest_test_is_a_thread_with_three_frames (real)", the_smallest_test_is_a_thread_with_three_frames,
          NULL, NULL, (void *)&real },
        { "the_smallest_test_is_a_thread_with_three_frames (simulated)",
          the_smallest_test_is_a_thread_with_three_frames, NULL, NULL, (void *)&simulated },
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
