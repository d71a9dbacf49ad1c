/*
 * Reads folded stacks and writes a profile in the format that the output's name ends in:
 *
 *     profile-convert [--value TYPE:UNIT] [--before OLD.folded] IN.folded OUT...      ("-": standard input)
 *
 *     .pb.gz, .pprof.gz    pprof            .speedscope.json   speedscope
 *     .otlp                OpenTelemetry    .folded, .txt      folded stacks
 *     .html                a page with a flame graph; with --before, of what has changed
 *
 * A line is "outer;inner 42". Suffixes of a frame are cut off: _[j] says that it is JIT code, _[k] the kernel's, _[i]
 * that it was inlined (not kept). Lines that are none are counted, and said on standard error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "profile-convert: %s: %s\n", which, what);
    exit(1);
}

static struct sw_profile *read_file(const char *name, const struct sw_profile_value_type *value)
{
    const struct sw_profile_options options = {
        .values = value, .value_count = 1, .producer = "profile-convert", .max_bytes = (size_t)1 << 30
    };
    FILE *file = strcmp(name, "-") ? fopen(name, "r") : stdin;
    struct sw_profile *profile;
    uint64_t refused = 0;
    if (!file)
        fail("cannot be opened", name);
    if (sw_profile_create(&options, &profile) != SW_PROFILE_OK ||
        sw_profile_read_folded(profile, file, &refused) != SW_PROFILE_OK)
        fail("no memory", name);
    if (ferror(file))
        fail("cannot be read", name);
    if (refused)
        fprintf(stderr, "profile-convert: %llu lines are no folded stacks\n", (unsigned long long)refused);
    if (file != stdin)
        fclose(file);
    return profile;
}

static enum sw_profile_status write_as(const struct sw_profile *profile, const struct sw_profile *before,
                                       const char *name, FILE *file)
{
    const struct sw_profile_view view = { 0 };
    const char *ending = sw_profile_format_ending(name);
    if (before && !strcmp(ending, ".html"))
        return sw_profile_write_html(profile, before, &view, file);
    return sw_profile_write_as(profile, name, &view, file);
}

static void write_file(const struct sw_profile *profile, const struct sw_profile *before, const char *name)
{
    if (!sw_profile_format_ending(name))
        fail("no known format ends so", name);
    FILE *file = fopen(name, "w");
    if (!file)
        fail("cannot be opened", name);
    const enum sw_profile_status status = write_as(profile, before, name, file);
    if (fclose(file) || status == SW_PROFILE_E_WRITE)
        fail("cannot be written", name);
    if (status != SW_PROFILE_OK)
        fail("no memory", name);
}

/* The value of an option, where it comes next; NULL: it does not. */
static char *take_option(int *count, char ***words, const char *name)
{
    if (*count < 3 || strcmp((*words)[1], name) != 0)
        return NULL;
    *count -= 2;
    *words += 2;
    return **words;
}

int main(int argc, char **argv)
{
    struct sw_profile_value_type value = { "samples", "count" };
    char *type = take_option(&argc, &argv, "--value");
    const char *compared = take_option(&argc, &argv, "--before");
    if (type) {
        value.type = strtok(type, ":");
        value.unit = strtok(NULL, ":");
    }
    if (argc < 3) {
        fprintf(stderr, "usage: profile-convert [--value TYPE:UNIT] [--before OLD.folded] IN.folded OUT...\n");
        return 2;
    }
    struct sw_profile *before = compared ? read_file(compared, &value) : NULL;
    struct sw_profile *profile = read_file(argv[1], &value);
    for (int i = 2; i < argc; i++)
        write_file(profile, before, argv[i]);
    sw_profile_destroy(profile);
    sw_profile_destroy(before);
    return 0;
}
