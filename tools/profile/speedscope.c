/*
 * speedscope's JSON: one profile for each thread and column, "sampled". Where every sample has a time they stand in the
 * order of their coming, otherwise one line a stack. Source: profile-formats.md section 3.
 */
#include "json.h"
#include "tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Entries are events, or where there is no order in time samples; grouped by thread. */
struct listing {
    const struct sw_profile *profile;
    struct sw_profile_tree tree;
    struct sw_profile_array path;
    struct sw_profile_budget budget;
    FILE *file;
    uint32_t *nodes; /* of each sample */
    uint32_t *order; /* entries, by thread */
    uint32_t *begin; /* of each thread's in `order`, and the end */
    size_t entry_count, written;
    bool timed;
};

static size_t sample_of(const struct listing *l, size_t entry)
{
    const struct sw_profile_event *event = l->timed ? sw_profile_array_at(&l->profile->events, entry) : NULL;
    return event ? event->sample : entry;
}

static uint32_t thread_of(const struct listing *l, size_t entry)
{
    const struct sw_profile_sample_row *row = sw_profile_row(&l->profile->samples, sample_of(l, entry));
    return row->thread;
}

static int64_t value_of(const struct listing *l, size_t entry, size_t column)
{
    const struct sw_profile_array *values = l->timed ? &l->profile->event_values : &l->profile->sums;
    return ((const int64_t *)sw_profile_array_at(values, entry))[column];
}

/* By counting: entries of a thread keep their order. False: no memory. */
static bool group_by_thread(struct listing *l)
{
    const size_t threads = sw_profile_row_count(&l->profile->threads);
    l->order = calloc(l->entry_count + 1, sizeof *l->order);
    l->begin = calloc(threads + 2, sizeof *l->begin);
    if (!l->order || !l->begin)
        return false;
    /* Counted two places ahead, summed up, begin[t + 1] is where the next of t goes; and in the end where they end. */
    for (size_t i = 0; i < l->entry_count; i++)
        l->begin[thread_of(l, i) + 2]++;
    for (size_t t = 2; t < threads + 2; t++)
        l->begin[t] += l->begin[t - 1];
    for (size_t i = 0; i < l->entry_count; i++)
        l->order[l->begin[thread_of(l, i) + 1]++] = (uint32_t)i;
    return true;
}

static void write_frames(const struct listing *l)
{
    for (uint32_t i = 1; i < sw_profile_row_count(&l->tree.frames); i++) {
        const uint32_t file = *(const uint32_t *)sw_profile_array_at(&l->tree.files, i);
        fputs(i > 1 ? ",\n{\"name\":" : "\n{\"name\":", l->file);
        sw_profile_json_string(l->file, sw_profile_tree_name(&l->tree, i));
        if (file) {
            fputs(",\"file\":", l->file);
            sw_profile_json_string(l->file, sw_profile_texts_get(&l->tree.texts, file));
        }
        putc('}', l->file);
    }
}

/* speedscope's units; any other is none. */
static const char *unit_of(const char *unit)
{
    static const char *const units[] = { "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes" };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (!strcmp(unit, units[i]))
            return units[i];
    return "none";
}

static void write_head(const struct listing *l, uint32_t thread, size_t column, int64_t total)
{
    const struct sw_profile_column *type = &l->profile->columns[column];
    const char *unit = sw_profile_text(l->profile, type->unit);
    char text[SW_PROFILE_TEXT_BYTES + 32], name[2 * SW_PROFILE_TEXT_BYTES + 64];
    sw_profile_thread_text(l->profile, thread, text, sizeof text);
    snprintf(name, sizeof name, "%s: %s",
             thread || sw_profile_row_count(&l->profile->threads) > 1 ? text : "all threads",
             sw_profile_text(l->profile, type->type));
    fputs(l->written ? ",\n{" : "\n{", l->file);
    fputs("\"type\":\"sampled\",\"name\":", l->file);
    sw_profile_json_string(l->file, name);
    fprintf(l->file, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRId64 ",\n\"samples\":[", unit_of(unit),
            total);
}

/* The stack of an entry, root first. False: no memory. */
static bool write_stack(struct listing *l, size_t entry)
{
    if (!sw_profile_tree_path(&l->tree, l->nodes[sample_of(l, entry)], &l->path))
        return false;
    const uint32_t *path = (const uint32_t *)l->path.items;
    putc('[', l->file);
    for (size_t at = l->path.count; at-- > 0;)
        fprintf(l->file, at ? "%" PRIu32 "," : "%" PRIu32, path[at] - 1);
    putc(']', l->file);
    return true;
}

/* One profile; none where the thread has nothing in that column. False: no memory. */
static bool write_profile(struct listing *l, uint32_t thread, size_t column)
{
    const uint32_t begin = l->begin[thread], end = l->begin[thread + 1];
    int64_t total = 0;
    bool saturated, comma = false;
    for (uint32_t i = begin; i < end; i++)
        total = sw_profile_sum(total, value_of(l, l->order[i], column), &saturated);
    if (!total)
        return true;
    write_head(l, thread, column, total);
    for (uint32_t i = begin; i < end; i++) {
        if (!value_of(l, l->order[i], column))
            continue;
        fputs(comma ? ",\n" : "\n", l->file);
        comma = true;
        if (!write_stack(l, l->order[i]))
            return false;
    }
    fputs("],\n\"weights\":[", l->file);
    comma = false;
    for (uint32_t i = begin; i < end; i++) {
        const int64_t value = value_of(l, l->order[i], column);
        if (value)
            fprintf(l->file, comma ? ",%" PRId64 : "%" PRId64, value);
        comma = comma || value;
    }
    fputs("]}", l->file);
    l->written++;
    return true;
}

/* The preferred column of all threads first: speedscope shows the first profile. */
static bool write_profiles(struct listing *l)
{
    for (size_t i = 0; i < l->profile->column_count; i++) {
        const size_t column = i ? i - (i <= l->profile->default_column) : l->profile->default_column;
        for (uint32_t thread = 0; thread < sw_profile_row_count(&l->profile->threads); thread++)
            if (!write_profile(l, thread, column))
                return false;
    }
    if (!l->written) {
        write_head(l, 0, l->profile->default_column, 0);
        fputs("],\"weights\":[]}", l->file);
    }
    return true;
}

static bool write_all(struct listing *l, const struct sw_profile_view *view)
{
    size_t columns[SW_PROFILE_VALUES_MAX];
    for (size_t i = 0; i < l->profile->column_count; i++)
        columns[i] = i;
    l->nodes = calloc(sw_profile_row_count(&l->profile->samples), sizeof *l->nodes);
    if (!l->nodes || !sw_profile_tree_init(&l->tree, l->profile->column_count, false, false) ||
        !sw_profile_tree_add(&l->tree, l->profile, SW_PROFILE_NOW, columns, l->nodes) || !group_by_thread(l))
        return false;
    fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"name\":", l->file);
    sw_profile_json_foreign(l->file, sw_profile_title(l->profile, view));
    fputs(",\n\"shared\":{\"frames\":[", l->file);
    write_frames(l);
    fputs("]},\n\"profiles\":[", l->file);
    if (!write_profiles(l))
        return false;
    fputs("],\n\"exporter\":", l->file);
    return true;
}

/* The exporter, a text that people see, says also what was lost. */
static void write_exporter(const struct listing *l)
{
    char comments[SW_PROFILE_COMMENTS][SW_PROFILE_COMMENT_BYTES];
    char text[SW_PROFILE_TEXT_BYTES * 2 + SW_PROFILE_COMMENTS * SW_PROFILE_COMMENT_BYTES];
    const size_t count = sw_profile_comments(l->profile, comments);
    const char *version = sw_profile_text(l->profile, l->profile->producer_version);
    int used = snprintf(text, sizeof text, *version ? "%s@%s" : "%s", sw_profile_text(l->profile, l->profile->producer),
                        version);
    for (size_t i = 0; i < count; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "; %s", comments[i]);
    sw_profile_json_string(l->file, text);
    fputs("}\n", l->file);
}

enum sw_profile_status sw_profile_write_speedscope(const struct sw_profile *profile, const struct sw_profile_view *view,
                                                   FILE *file)
{
    struct listing listing = {
        .profile = profile, .file = file, .budget = { .max = SIZE_MAX }, .timed = sw_profile_has_times(profile)
    };
    struct listing *l = &listing;
    l->entry_count = l->timed ? profile->events.count : sw_profile_row_count(&profile->samples);
    sw_profile_array_init(&l->path, &l->budget, sizeof(uint32_t));
    const bool whole = write_all(l, view);
    if (whole)
        write_exporter(l);
    sw_profile_array_free(&l->path);
    if (l->tree.budget.max)
        sw_profile_tree_free(&l->tree);
    free(l->nodes);
    free(l->order);
    free(l->begin);
    return whole ? sw_profile_written(file) : SW_PROFILE_E_MEMORY;
}
