/* Writes the format that a file's name asks for: one table. */
#include "format.h"
#include "profile.h"

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

/* ORDER format: format.h. */
static enum sw_profile_status (*const writers[])(const struct sw_profile *, const struct sw_profile_view *, FILE *) = {
    [FORMAT_PPROF] = write_pprof,
    [FORMAT_OTLP] = write_otlp,
    [FORMAT_SPEEDSCOPE] = sw_profile_write_speedscope,
    [FORMAT_HTML] = write_html,
    [FORMAT_FOLDED] = sw_profile_write_folded,
};

enum sw_profile_status sw_profile_write_as(const struct sw_profile *profile, const char *name,
                                           const struct sw_profile_view *view, FILE *file)
{
    const enum format format = sw_profile_format_of(name, NULL);
    return format == FORMAT_NONE ? SW_PROFILE_E_ARGUMENT : writers[format](profile, view, file);
}
