/* Which format a file name asks for, by how it ends: one table. */
#include "profile.h"

#include <string.h>

static enum sw_profile_status write_pprof(const struct sw_profile *profile, const struct sw_profile_view *view,
                                          FILE *file)
{
    (void)view;
    return sw_profile_write_pprof(profile, file);
}

static enum sw_profile_status write_otlp(const struct sw_profile *profile, const struct sw_profile_view *view,
                                         FILE *file)
{
    (void)view;
    return sw_profile_write_otlp(profile, file);
}

static enum sw_profile_status write_html(const struct sw_profile *profile, const struct sw_profile_view *view,
                                         FILE *file)
{
    return sw_profile_write_html(profile, NULL, view, file);
}

static const struct {
    const char *ending;
    enum sw_profile_status (*write)(const struct sw_profile *, const struct sw_profile_view *, FILE *);
} rows[] = {
    { ".pb.gz", write_pprof },
    { ".pprof.gz", write_pprof },
    { ".otlp", write_otlp },
    { ".speedscope.json", sw_profile_write_speedscope },
    { ".html", write_html },
    { ".folded", sw_profile_write_folded },
    { ".txt", sw_profile_write_folded },
};

static bool ends_in(const char *name, const char *ending)
{
    const size_t length = strlen(name), end = strlen(ending);
    return length >= end && !strcmp(name + length - end, ending);
}

const char *sw_profile_format_ending(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (ends_in(name, rows[i].ending))
            return name + strlen(name) - strlen(rows[i].ending);
    return NULL;
}

enum sw_profile_status sw_profile_write_as(const struct sw_profile *profile, const char *name,
                                           const struct sw_profile_view *view, FILE *file)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (ends_in(name, rows[i].ending))
            return rows[i].write(profile, view, file);
    return SW_PROFILE_E_ARGUMENT;
}
