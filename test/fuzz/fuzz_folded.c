/*
 * Folded stacks from arbitrary bytes, written in every format and read once more. Holds: a bound of memory is kept, no
 * name ends a script of the page, and all that is written as folded stacks is read again.
 */
#include "written.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sw_profile *read_bytes(char *bytes, size_t size, uint64_t *refused)
{
    const struct sw_profile_value_type value = { "samples", "count" };
    const struct sw_profile_options options = { .values = &value, .value_count = 1, .max_bytes = SW_PROFILE_BYTES_MIN };
    FILE *file = size ? fmemopen(bytes, size, "r") : fopen("/dev/null", "r");
    struct sw_profile *profile;
    if (!file || sw_profile_create(&options, &profile) != SW_PROFILE_OK)
        abort();
    const enum sw_profile_status status = sw_profile_read_folded(profile, file, refused);
    if (status != SW_PROFILE_OK && status != SW_PROFILE_E_MEMORY)
        abort();
    fclose(file);
    return profile;
}

static void write_all(const struct sw_profile *profile)
{
    static const char *const names[] = { ".pb.gz", ".otlp", ".speedscope.json", ".html" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t size;
        char *bytes = write_as(profile, names[i], &size);
        /* Two scripts, and nothing in a name or a title ends one of them. */
        if (i == 3) {
            size_t ends = 0;
            for (const char *at = bytes; (at = strstr(at, "</script")) != NULL; at++)
                ends++;
            if (ends != 2)
                abort();
        }
        free(bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t refused, none;
    char *copy = malloc(size + 1);
    size_t written;
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    struct sw_profile *profile = read_bytes(copy, size, &refused);
    struct sw_profile_counts counts, again;
    sw_profile_get_counts(profile, &counts);
    if (counts.bytes > SW_PROFILE_BYTES_MIN)
        abort();
    write_all(profile);
    char *text = write_as(profile, ".folded", &written);
    struct sw_profile *second = read_bytes(text, written, &none);
    sw_profile_get_counts(second, &again);
    if (none != 0 || (!counts.over_bound && again.samples > counts.samples))
        abort();
    sw_profile_destroy(second);
    sw_profile_destroy(profile);
    free(text);
    free(copy);
    return 0;
}
