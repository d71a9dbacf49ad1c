/* One table: a row is a column. */
#include "columns.h"

/* ORDER sample_kind: sample.h. */
static const struct {
    unsigned mode;
    enum sample_kind kind;
    size_t value;
    struct sw_profile_value_type type;
} rows[] = {
    { MODE_CPU, SAMPLE_CPU, 0, { "cpu", "nanoseconds" } },
    { MODE_WALL, SAMPLE_WALL, 0, { "wall", "nanoseconds" } },
    { MODE_ALLOC, SAMPLE_ALLOC, 0, { "alloc_objects", "count" } },
    { MODE_ALLOC, SAMPLE_ALLOC, 1, { "alloc_space", "bytes" } },
    { MODE_EXCEPTIONS, SAMPLE_EXCEPTION, 0, { "exceptions", "count" } },
    { MODE_LOCKS, SAMPLE_LOCK, 0, { "contentions", "count" } },
    { MODE_LOCKS, SAMPLE_LOCK, 1, { "delay", "nanoseconds" } },
};

_Static_assert(1 + sizeof rows / sizeof rows[0] <= SW_PROFILE_VALUES_MAX, "all modes at once");

void columns_choose(struct columns *columns, unsigned modes)
{
    *columns = (struct columns){ .types = { { "samples", "count" } }, .count = 1 };
    enum sample_kind shown = SAMPLE_KINDS;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!(modes & rows[i].mode))
            continue;
        /* The first mode's last: bytes rather than objects, time rather than numbers. */
        if (rows[i].kind == shown || shown == SAMPLE_KINDS) {
            shown = rows[i].kind;
            columns->shown = columns->count;
        }
        columns->places[rows[i].kind][rows[i].value] = columns->count;
        columns->types[columns->count++] = rows[i].type;
    }
}

void columns_fill(const struct columns *columns, const struct sample *sample, int64_t samples,
                  int64_t values[SW_PROFILE_VALUES_MAX])
{
    for (size_t i = 0; i < columns->count; i++)
        values[i] = 0;
    values[0] = samples;
    for (size_t value = 0; value < 2; value++) {
        const size_t place = columns->places[sample->kind][value];
        if (place)
            values[place] = (int64_t)(sample->values[value] & INT64_MAX);
    }
}
