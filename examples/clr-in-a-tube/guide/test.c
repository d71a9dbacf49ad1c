/* A scenario in C: the profiler is asked on a thread with two managed frames. */
#include <snapwalk/harness.h>

#include <dlfcn.h>
#include <stdio.h>

static int fails(const struct sw_tube *tube)
{
    struct sw_tube_violation broken[8];
    const size_t count = sw_tube_violations(tube, broken, 8);
    for (size_t i = 0; i < count && i < 8; i++)
        printf("broke %s: %s: %s\n", sw_tube_rule_name(broken[i].rule), broken[i].call, broken[i].detail);
    if (*sw_tube_problem(tube))
        printf("problem: %s\n", sw_tube_problem(tube));
    return count > 0 || *sw_tube_problem(tube);
}

int main(int count, char **words)
{
    struct sw_tube *tube;
    void *library = count > 1 ? dlopen(words[1], RTLD_NOW) : NULL;
    if (!library || sw_tube_create(NULL, &tube) != SW_OK)
        return 1;
    void (*count_frames)(void *) = (void (*)(void *))dlsym(library, "CountFrames");
    unsigned (*managed_frames)(void) = (unsigned (*)(void))dlsym(library, "ManagedFrames");

    sw_tube_load(tube, words[1], NULL);
    sw_tube_start(tube);
    struct sw_tube_module *demo = sw_tube_module_load(tube, "Demo.dll");
    struct sw_tube_function *entry = sw_tube_function_add(demo, "Demo.Program", "Main", 0);
    struct sw_tube_function *work = sw_tube_function_add(demo, "Demo.Program", "Work", SW_TUBE_SHAPE_FRAMELESS);
    struct sw_tube_thread *thread = sw_tube_thread_start(tube, "main");
    sw_tube_call(thread, entry);
    sw_tube_call(thread, work);
    sw_tube_run(thread, count_frames, NULL);
    const unsigned seen = managed_frames();
    sw_tube_shutdown(tube);

    const int failed = fails(tube) || seen != 2;
    printf("%u managed frames: %s\n", seen, failed ? "failed" : "passed");
    sw_tube_destroy(tube);
    return failed;
}
