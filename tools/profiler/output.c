/* Knows names of files and the formats' endings; nothing of the profiler. */
#include "output.h"

#include <snapwalk/process.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct text {
    char *at;
    size_t used;
    bool fits;
};

static void add(struct text *text, const char *what, size_t length)
{
    text->fits = text->fits && length < OUTPUT_NAME - text->used;
    if (!text->fits)
        return;
    memcpy(text->at + text->used, what, length);
    text->at[text->used += length] = 0;
}

static void add_number(struct text *text, const char *before, unsigned long number)
{
    char digits[32];
    add(text, digits, (size_t)snprintf(digits, sizeof digits, "%s%lu", before, number));
}

/* True: the process id is in it. */
static bool expand(struct text *text, const char *from, const char *end, unsigned long pid, unsigned long time_s)
{
    bool has_pid = false;
    while (from < end) {
        const char next = *from == '%' && from + 1 < end ? from[1] : 0;
        if (next == 'p')
            add_number(text, "", pid);
        else if (next == 't')
            add_number(text, "", time_s);
        else
            add(text, from, 1);
        has_pid = has_pid || next == 'p';
        from += next == 'p' || next == 't' || next == '%' ? 2 : 1;
    }
    return has_pid;
}

bool output_name(const char *pattern, unsigned long pid, unsigned long time_s, unsigned long number,
                 char name[OUTPUT_NAME])
{
    struct text text = { name, 0, true };
    const char *ending = sw_profile_format_ending(pattern);
    name[0] = 0;
    if (!ending)
        return false;
    if (!expand(&text, pattern, ending, pid, time_s))
        add_number(&text, "-", pid);
    if (number > 1)
        add_number(&text, "-", number);
    add(&text, ending, strlen(ending));
    return text.fits;
}

bool output_may_write(const char *pattern)
{
    char folder[OPTIONS_TEXT] = ".";
    const char *slash = strrchr(pattern, '/');
    if (!pattern[0]) /* no file is wanted */
        return true;
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash == pattern ? 1 : slash - pattern), pattern);
    /* A folder that has the process in its name may be made later. */
    return (slash && memchr(pattern, '%', (size_t)(slash - pattern))) || access(folder, W_OK | X_OK) == 0;
}

bool output_is_own(const char *name)
{
    struct stat about;
    return stat(name, &about) == 0 && sw_process_began_by(0, about.st_mtim.tv_sec, (uint32_t)about.st_mtim.tv_nsec);
}

bool output_write(const struct sw_profile *profile, size_t shown, const char *name)
{
    const struct sw_profile_view view = { .value = shown };
    char beside[OUTPUT_NAME + 8];
    snprintf(beside, sizeof beside, "%s.part", name);
    FILE *file = fopen(beside, "we");
    if (!file)
        return false;
    const enum sw_profile_status status = sw_profile_write_as(profile, name, &view, file);
    if (status == SW_PROFILE_E_MEMORY)
        errno = ENOMEM;
    const int problem = errno;
    const bool closed = fclose(file) == 0;
    if (status == SW_PROFILE_OK && closed && rename(beside, name) == 0)
        return true;
    if (status != SW_PROFILE_OK)
        errno = problem;
    const int kept = errno;
    (void)unlink(beside);
    errno = kept;
    return false;
}
