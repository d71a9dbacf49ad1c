/* The endings of files, one table. Refuses to know how a format is written. */
#include "format.h"
#include "profile.h"

#include <string.h>

static const struct {
    const char *ending;
    enum format format;
} rows[] = {
    { ".pb.gz", FORMAT_PPROF }, { ".pprof.gz", FORMAT_PPROF },
    { ".otlp", FORMAT_OTLP },   { ".speedscope.json", FORMAT_SPEEDSCOPE },
    { ".html", FORMAT_HTML },   { ".folded", FORMAT_FOLDED },
    { ".txt", FORMAT_FOLDED },
};

enum format sw_profile_format_of(const char *name, const char **ending)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const size_t end = strlen(rows[i].ending);
        if (length < end || strcmp(name + length - end, rows[i].ending) != 0)
            continue;
        if (ending)
            *ending = name + length - end;
        return rows[i].format;
    }
    return FORMAT_NONE;
}

const char *sw_profile_format_ending(const char *name)
{
    const char *ending = NULL;
    (void)sw_profile_format_of(name, &ending);
    return ending;
}
