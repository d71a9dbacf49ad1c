/*
 * Words of the formats: for kinds of frames, threads, titles, and sentences about what was lost. Source: profile-
 * formats.md sections 2 and 4.
 */
#include "data.h"

#include <inttypes.h>
#include <string.h>

const struct sw_profile_kind_words *sw_profile_kind_words(enum sw_profile_kind kind)
{
    /* ORDER sw_profile_kind. OTLP's "dotnet" is of all managed frames: no other runtime's are known here. */
    static const struct sw_profile_kind_words words[SW_PROFILE_KINDS] = {
        { "other", "", "" },
        { "managed, JIT-compiled", "dotnet", "_[j]" },
        { "managed, precompiled", "dotnet", "" },
        { "native", "native", "" },
        { "kernel", "kernel", "_[k]" },
    };
    return &words[kind];
}

void sw_profile_thread_text(const struct sw_profile *profile, uint32_t thread, char *text, size_t size)
{
    const struct sw_profile_thread_row *row = sw_profile_row(&profile->threads, thread);
    const char *name = sw_profile_text(profile, row->name);
    if (*name && row->id)
        snprintf(text, size, "%s (%" PRIu64 ")", name, row->id);
    else if (*name)
        snprintf(text, size, "%s", name);
    else if (row->id)
        snprintf(text, size, "thread %" PRIu64, row->id);
    else
        snprintf(text, size, "no thread");
}

bool sw_profile_find_column(const struct sw_profile *profile, const char *type, size_t *column)
{
    *column = profile->default_column;
    for (size_t i = 0; type && i < profile->column_count; i++)
        if (!strcmp(sw_profile_text(profile, profile->columns[i].type), type)) {
            *column = i;
            return true;
        }
    return !type;
}

const char *sw_profile_title(const struct sw_profile *profile, const struct sw_profile_view *view)
{
    const char *service = sw_profile_text(profile, profile->service);
    if (view->title && *view->title)
        return view->title;
    return *service ? service : "profile";
}

enum sw_profile_status sw_profile_written(FILE *file)
{
    return fflush(file) || ferror(file) ? SW_PROFILE_E_WRITE : SW_PROFILE_OK;
}

size_t sw_profile_comments(const struct sw_profile *profile,
                           char comments[SW_PROFILE_COMMENTS][SW_PROFILE_COMMENT_BYTES])
{
    const struct sw_profile_counts *counts = &profile->counts;
    const struct {
        uint64_t count;
        const char *what;
    } rows[] = {
        { counts->over_bound, "samples are under \"[memory bound reached]\"" },
        { counts->names_lost, "frames, threads or labels have lost their names to the memory bound" },
        { counts->stacks_cut, "stacks were deeper than 65,536 frames: their outermost frames are missing" },
        { counts->texts_cut, "names were longer than 4,095 bytes and are cut" },
        { counts->saturated, "sums were larger than 64 bits hold, and stay at the largest number" },
        { counts->times_lost, "samples have no time of their own: no order in time is written" },
    };
    size_t used = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].count)
            snprintf(comments[used++], SW_PROFILE_COMMENT_BYTES, "%" PRIu64 " %s", rows[i].count, rows[i].what);
    return used;
}

void sw_profile_get_span(const struct sw_profile *profile, uint64_t *begin, uint64_t *end)
{
    *begin = profile->time_ns;
    *end = profile->duration_ns > UINT64_MAX - *begin ? UINT64_MAX : *begin + profile->duration_ns;
    for (size_t i = 0; sw_profile_has_times(profile) && i < profile->events.count; i++) {
        const struct sw_profile_event *event = sw_profile_array_at(&profile->events, i);
        if (event->time_ns < *begin || *begin == 0)
            *begin = event->time_ns;
        if (event->time_ns >= *end)
            *end = event->time_ns + (event->time_ns < UINT64_MAX);
    }
}
