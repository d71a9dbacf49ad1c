/*
 * Reads folded stacks and writes a profile in the format that the output's name ends in:
 *
 *     profile-convert [--value TYPE:UNIT] IN.folded OUT...      ("-": standard input)
 *
 *     .pb.gz, .pprof.gz    pprof            .speedscope.json   speedscope
 *     .folded, .txt        folded stacks
 *
 * A line is "outer;inner 42". Suffixes of a frame are cut off: _[j] says that it is JIT code, _[k] the kernel's, _[i]
 * that it was inlined (not kept). Lines that are none are counted, and said on standard error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

/* Stacks of a file on their way into a profile; `frames` grows with the deepest. */
struct reader {
    struct sw_profile *profile;
    uint32_t *frames;
    size_t room;
    unsigned long refused;
};

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "profile-convert: %s: %s\n", which, what);
    exit(1);
}

/* The kind that a suffix says, which is cut off. */
static enum sw_profile_kind take_kind(char *name)
{
    static const struct {
        const char *suffix;
        enum sw_profile_kind kind;
    } rows[] = { { "_[j]", SW_PROFILE_JIT }, { "_[k]", SW_PROFILE_KERNEL }, { "_[i]", SW_PROFILE_OTHER } };
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const size_t suffix = strlen(rows[i].suffix);
        if (length > suffix && !strcmp(name + length - suffix, rows[i].suffix)) {
            name[length - suffix] = 0;
            return rows[i].kind;
        }
    }
    return SW_PROFILE_OTHER;
}

static uint32_t add_frame(struct sw_profile *profile, char *name)
{
    const enum sw_profile_kind kind = take_kind(name);
    const struct sw_profile_line line = { .function = *name ? name : "[no name]" };
    return sw_profile_location_add(profile,
                                   &(struct sw_profile_location){ .kind = kind, .lines = &line, .line_count = 1 });
}

/* Frames of "outer;inner", leaf first, at the end of `frames`; how many. */
static size_t read_stack(struct reader *r, char *text)
{
    size_t depth = 1;
    for (const char *at = text; *at; at++)
        depth += *at == ';';
    if (depth > r->room) {
        free(r->frames);
        r->room = depth * 2;
        r->frames = calloc(r->room, sizeof *r->frames);
        if (!r->frames)
            fail("no memory", "stack");
    }
    for (size_t i = depth; i-- > 0;) {
        char *name = text;
        text += strcspn(text, ";");
        *text++ = 0;
        r->frames[i] = add_frame(r->profile, name);
    }
    return depth;
}

/* False: it is no line of folded stacks. */
static bool read_line(struct reader *r, char *line)
{
    line[strcspn(line, "\r\n")] = 0;
    char *blank = strrchr(line, ' '), *end = NULL;
    if (!blank || blank == line || blank[1] < '0' || blank[1] > '9')
        return false;
    const long long value = strtoll(blank + 1, &end, 10);
    if (*end)
        return false;
    *blank = 0;
    const size_t depth = read_stack(r, line);
    const struct sw_profile_sample sample = { .stack = r->frames,
                                              .depth = depth,
                                              .values = (const int64_t[]){ value } };
    return sw_profile_sample_add(r->profile, &sample) != SW_PROFILE_E_ARGUMENT;
}

static void read_file(struct reader *r, const char *name)
{
    FILE *file = strcmp(name, "-") ? fopen(name, "r") : stdin;
    char *line = NULL;
    size_t room = 0;
    if (!file)
        fail("cannot be opened", name);
    while (getline(&line, &room, file) >= 0)
        r->refused += *line != '\n' && !read_line(r, line);
    if (ferror(file))
        fail("cannot be read", name);
    free(line);
    if (file != stdin)
        fclose(file);
}

static void write_file(const struct sw_profile *profile, const char *name)
{
    const struct sw_profile_view view = { 0 };
    if (!sw_profile_format_ending(name))
        fail("no known format ends so", name);
    FILE *file = fopen(name, "w");
    if (!file)
        fail("cannot be opened", name);
    const enum sw_profile_status status = sw_profile_write_as(profile, name, &view, file);
    if (fclose(file) || status == SW_PROFILE_E_WRITE)
        fail("cannot be written", name);
    if (status != SW_PROFILE_OK)
        fail("no memory", name);
}

int main(int argc, char **argv)
{
    struct sw_profile_value_type value = { "samples", "count" };
    struct reader reader = { 0 };
    if (argc > 2 && !strcmp(argv[1], "--value")) {
        value.type = strtok(argv[2], ":");
        value.unit = strtok(NULL, ":");
        argc -= 2;
        argv += 2;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: profile-convert [--value TYPE:UNIT] IN.folded OUT...\n");
        return 2;
    }
    const struct sw_profile_options options = {
        .values = &value, .value_count = 1, .producer = "profile-convert", .max_bytes = (size_t)1 << 30
    };
    if (sw_profile_create(&options, &reader.profile) != SW_PROFILE_OK)
        fail("no memory", "profile");
    read_file(&reader, argv[1]);
    for (int i = 2; i < argc; i++)
        write_file(reader.profile, argv[i]);
    if (reader.refused)
        fprintf(stderr, "profile-convert: %lu lines are no folded stacks\n", reader.refused);
    sw_profile_destroy(reader.profile);
    free(reader.frames);
    return 0;
}
