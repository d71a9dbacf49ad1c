/*
 * A scenario from arbitrary bytes, on simulated threads. Holds: it is played, or there is a problem that says where.
 * What would load, wait or look outside of the tube is left out.
 */
#include <snapwalk/harness.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool reaches_out(const char *text)
{
    static const char *const words[] = { "profiler", "environment", "wait", "file", "run" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(text, words[i]))
            return true;
    return false;
}

static void play(const char *text, const struct sw_tube_heading *heading)
{
    struct sw_tube_options options = heading->options;
    struct sw_tube *tube;
    options.simulated = true;
    if (sw_tube_create(&options, &tube) != SW_OK)
        abort();
    const enum sw_status status = sw_tube_play(tube, "s", text);
    const char *problem = sw_tube_problem(tube);
    if ((status == SW_OK) != (*problem == 0) || (*problem && strncmp(problem, "s:", 2) != 0))
        abort();
    sw_tube_destroy(tube);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char problem[64], *text = malloc(size + 1);
    struct sw_tube_heading heading;
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    const enum sw_status status = sw_tube_heading_read("s", text, &heading, problem, sizeof problem);
    if ((status == SW_OK) != (*problem == 0))
        abort();
    if (!reaches_out(text))
        play(text, &heading);
    free(text);
    return 0;
}
