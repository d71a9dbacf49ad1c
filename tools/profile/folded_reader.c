/*
 * Reads folded stacks. Lines, names and depths may have any length. Source: profile-formats.md section 4.
 */
#include "profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Stacks of a file on their way into a profile; `frames` grows with the deepest. */
struct reader {
    struct sw_profile *profile;
    uint32_t *frames;
    size_t room;
    bool failed; /* no memory */
};

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

static bool make_room(struct reader *r, size_t depth)
{
    if (depth <= r->room)
        return true;
    free(r->frames);
    r->room = depth * 2;
    r->frames = calloc(r->room, sizeof *r->frames);
    r->failed = r->failed || !r->frames;
    r->room = r->frames ? r->room : 0;
    return r->frames;
}

/* Frames of "outer;inner", leaf first, in `frames`; how many, 0: no memory. */
static size_t read_stack(struct reader *r, char *text)
{
    size_t depth = 1;
    for (const char *at = text; *at; at++)
        depth += *at == ';';
    if (!make_room(r, depth))
        return 0;
    for (size_t i = depth; i-- > 0;) {
        char *name = text;
        const size_t length = strcspn(text, ";");
        text += length + (text[length] != 0);
        name[length] = 0;
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
    return depth && sw_profile_sample_add(r->profile, &sample) != SW_PROFILE_E_ARGUMENT;
}

enum sw_profile_status sw_profile_read_folded(struct sw_profile *profile, FILE *file, uint64_t *refused)
{
    struct reader reader = { .profile = profile };
    char *line = NULL;
    size_t room = 0;
    *refused = 0;
    errno = 0;
    while (!reader.failed && getline(&line, &room, file) >= 0)
        *refused += *line != '\n' && !read_line(&reader, line);
    reader.failed = reader.failed || errno == ENOMEM;
    free(line);
    free(reader.frames);
    return reader.failed ? SW_PROFILE_E_MEMORY : SW_PROFILE_OK;
}
