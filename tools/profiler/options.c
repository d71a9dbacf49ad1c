/* One table of names, kinds and ranges; docs/profiler.md has the same names. Knows nothing of what they do. */
#include "options.h"
#include "profile/profile.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind { NUMBER, SWITCH, TEXT, FILE_NAME, MODES };

#define OPTION(field) offsetof(struct options, field)
static const struct row {
    const char *name;
    enum kind kind;
    size_t offset;
    unsigned long min, max;
    const char *fallback;
} rows[] = {
    { "SNAPWALK_MODE", MODES, OPTION(modes), 0, 0, "cpu" },
    { "SNAPWALK_HZ", NUMBER, OPTION(hz), 1, 10000, "100" },
    { "SNAPWALK_WALL_THREADS", NUMBER, OPTION(wall_threads), 1, 1024, "8" },
    { "SNAPWALK_MEMORY_MB", NUMBER, OPTION(memory_mb), 4, 4096, "32" },
    { "SNAPWALK_INTERVAL", NUMBER, OPTION(interval_s), 0, 86400, "0" },
    { "SNAPWALK_START", SWITCH, OPTION(start), 0, 1, "1" },
    { "SNAPWALK_LINES", SWITCH, OPTION(lines), 0, 1, "1" },
    { "SNAPWALK_RAW_NAMES", SWITCH, OPTION(raw_names), 0, 1, "0" },
    { "SNAPWALK_VERBOSE", SWITCH, OPTION(verbose), 0, 1, "0" },
    { "SNAPWALK_OUT", FILE_NAME, OPTION(out), 0, 0, "" },
    { "SNAPWALK_SERVICE", TEXT, OPTION(service), 0, 0, "" },
    { "SNAPWALK_ENDPOINT", TEXT, OPTION(endpoint), 0, 0, "" },
};

enum { ROWS = sizeof rows / sizeof rows[0] };

/* ORDER modes: options.h. */
static const char *const modes[] = { "cpu", "wall", "alloc", "exceptions", "locks" };

static bool take_number(const struct row *row, const char *value, void *field)
{
    char *end;
    const unsigned long number = strtoul(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || number < row->min || number > row->max)
        return false;
    if (row->kind == SWITCH)
        *(bool *)field = number != 0;
    else
        *(unsigned long *)field = number;
    return true;
}

/* "cpu,alloc" */
static bool take_modes(const char *value, unsigned *to)
{
    unsigned taken = 0;
    for (;;) {
        const size_t length = strcspn(value, ",");
        const unsigned before = taken;
        for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
            if (strlen(modes[i]) == length && !memcmp(value, modes[i], length))
                taken |= 1U << i;
        if (taken == before)
            return false;
        if (!value[length])
            break;
        value += length + 1;
    }
    *to = taken;
    return true;
}

/* A file whose format is not known could not be written when the program ends. Empty: as if nothing was said. */
static bool may_be_file(const struct row *row, const char *value)
{
    return row->kind != FILE_NAME || !value[0] || sw_profile_format_ending(value);
}

static bool take(struct options *options, const struct row *row, const char *value)
{
    void *field = (char *)options + row->offset;
    if (row->kind == MODES)
        return take_modes(value, field);
    if (row->kind != TEXT && row->kind != FILE_NAME)
        return take_number(row, value, field);
    if (strlen(value) >= OPTIONS_TEXT || !may_be_file(row, value))
        return false;
    memcpy(field, value, strlen(value) + 1);
    return true;
}

/* Takes a value that a user gave. */
static bool take_given(struct options *options, const struct row *row, const char *value, char message[OPTIONS_MESSAGE])
{
    if (take(options, row, value))
        return true;
    if (row->kind == NUMBER || row->kind == SWITCH)
        snprintf(message, OPTIONS_MESSAGE, "%s=%.40s: not a number from %lu to %lu", row->name, value, row->min,
                 row->max);
    else if (row->kind == MODES)
        snprintf(message, OPTIONS_MESSAGE, "%s=%.40s: not a list of cpu, wall, alloc, exceptions, locks", row->name,
                 value);
    else if (strlen(value) < OPTIONS_TEXT)
        snprintf(message, OPTIONS_MESSAGE, "%s=%.40s: ends in none of .pb.gz, .otlp, .folded, .speedscope.json, .html",
                 row->name, value);
    else
        snprintf(message, OPTIONS_MESSAGE, "%s: longer than %d bytes", row->name, OPTIONS_TEXT - 1);
    return false;
}

static void set_defaults(struct options *options)
{
    *options = (struct options){ 0 };
    for (size_t i = 0; i < ROWS; i++)
        (void)take(options, &rows[i], rows[i].fallback);
}

/* A profile goes somewhere: into a file, where no receiver is named. */
static void choose_file(struct options *options)
{
    if (!options->out[0] && !options->endpoint[0])
        strcpy(options->out, "snapwalk-%p.pb.gz");
}

/* Names that are others'. */
static bool is_known(const char *name, size_t length)
{
    static const char *const others[] = { "SNAPWALK_LIBRARY", "SNAPWALK_LIB_DIR", "SNAPWALK_OVERLAY_PROFILER" };
    bool known = false;
    for (size_t i = 0; i < ROWS; i++)
        known = known || (strlen(rows[i].name) == length && !memcmp(rows[i].name, name, length));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        known = known || (strlen(others[i]) == length && !memcmp(others[i], name, length));
    return known;
}

/* A name that is misspelt would be without effect, and without a word. */
static bool check_names(char message[OPTIONS_MESSAGE])
{
    for (char **at = environ; *at; at++)
        if (!strncmp(*at, "SNAPWALK_", 9) && !is_known(*at, strcspn(*at, "="))) {
            snprintf(message, OPTIONS_MESSAGE, "%.60s: no such option", *at);
            return false;
        }
    return true;
}

bool options_from_environment(struct options *options, char message[OPTIONS_MESSAGE])
{
    set_defaults(options);
    message[0] = 0;
    bool good = check_names(message);
    for (size_t i = 0; i < ROWS; i++) {
        const char *value = getenv(rows[i].name);
        if (value && !take_given(options, &rows[i], value, message))
            good = false;
    }
    choose_file(options);
    return good;
}

static bool take_line(struct options *options, char *line, char message[OPTIONS_MESSAGE])
{
    char *equals = strchr(line, '=');
    if (equals)
        *equals = 0;
    for (size_t i = 0; equals && i < ROWS; i++)
        if (!strcmp(line, rows[i].name))
            return take_given(options, &rows[i], equals + 1, message);
    snprintf(message, OPTIONS_MESSAGE, "%.60s: no such option", line);
    return false;
}

bool options_from_text(struct options *options, const char *text, size_t size, char message[OPTIONS_MESSAGE])
{
    char line[2 * OPTIONS_TEXT];
    bool good = true;
    set_defaults(options);
    message[0] = 0;
    size = strnlen(text, size);
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t length = end ? (size_t)(end - (text + at)) : size - at;
        const size_t kept = length < sizeof line ? length : sizeof line - 1;
        memcpy(line, text + at, kept);
        line[kept] = 0;
        if (length && !take_line(options, line, message))
            good = false;
        at += length + 1;
    }
    choose_file(options);
    return good;
}

/* A path that the runtime will see need not be one here, as in a container. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat one, other;
    return !strcmp(a, b) ||
           (stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino);
}

enum main_profiler options_main_profiler(const char *own)
{
    const char *enabled = getenv("CORECLR_ENABLE_PROFILING"), *path = getenv("CORECLR_PROFILER_PATH_64");
    if (!path || !*path)
        path = getenv("CORECLR_PROFILER_PATH");
    if (!enabled || strtoul(enabled, NULL, 16) != 1 || !path || !*path)
        return MAIN_NOBODY;
    return is_same_file(path, own) ? MAIN_OWN : MAIN_OTHER;
}
