/*
 * Collects samples: rows for each part, a tree of stacks, sums. What has no room is counted under rows that every
 * profile has from its beginning. Knows no format, and no name of the operating system's.
 */
#include "data.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* ORDER sw_profile_word. */
static const char *const fixed_words[SW_PROFILE_WORD_FIXED] = {
    "", "[memory bound reached]", "[deeper frames cut]", "thread", "thread_id", "thread.name", "thread.id", "count"
};

/* The text's number; 0 where it is null. SW_PROFILE_FULL: no room. */
static uint32_t add_text(struct sw_profile *profile, const char *text)
{
    char clean[SW_PROFILE_TEXT_BYTES];
    bool cut;
    if (!text || !*text)
        return 0;
    const size_t length = sw_profile_text_clean(text, clean, sizeof clean, &cut);
    profile->counts.texts_cut += cut;
    return sw_profile_texts_add(&profile->texts, clean, length);
}

/* Adds texts one by one. False: one of them has no room. */
static bool add_texts(struct sw_profile *profile, const char *const *texts, uint32_t *const *numbers, size_t count)
{
    bool all = true;
    for (size_t i = 0; i < count; i++) {
        *numbers[i] = add_text(profile, texts[i]);
        all = all && *numbers[i] != SW_PROFILE_FULL;
    }
    return all;
}

/* Each table of the profile, with the size of its rows. */
static const struct {
    size_t table, row_bytes;
} tables[] = {
    { offsetof(struct sw_profile, functions), sizeof(struct sw_profile_function_row) },
    { offsetof(struct sw_profile, lines), sizeof(struct sw_profile_line_row) },
    { offsetof(struct sw_profile, mappings), sizeof(struct sw_profile_mapping_row) },
    { offsetof(struct sw_profile, locations), sizeof(struct sw_profile_location_row) },
    { offsetof(struct sw_profile, threads), sizeof(struct sw_profile_thread_row) },
    { offsetof(struct sw_profile, labels), sizeof(struct sw_profile_label_row) },
    { offsetof(struct sw_profile, label_sets), sizeof(struct sw_profile_label_set_row) },
    { offsetof(struct sw_profile, stacks), sizeof(struct sw_profile_stack_row) },
    { offsetof(struct sw_profile, samples), sizeof(struct sw_profile_sample_row) },
};

static struct sw_profile_table *table_of(struct sw_profile *profile, size_t number)
{
    return (struct sw_profile_table *)((char *)profile + tables[number].table);
}

static bool init_tables(struct sw_profile *profile)
{
    bool all = sw_profile_texts_init(&profile->texts, &profile->budget);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        all = sw_profile_table_init(table_of(profile, i), &profile->budget, tables[i].row_bytes) && all;
    const size_t values = profile->column_count * sizeof(int64_t);
    sw_profile_array_init(&profile->sums, &profile->budget, values);
    sw_profile_array_init(&profile->events, &profile->budget, sizeof(struct sw_profile_event));
    sw_profile_array_init(&profile->event_values, &profile->budget, values);
    return all && sw_profile_array_push(&profile->sums, 1); /* of the empty sample */
}

static bool copy_options(struct sw_profile *profile, const struct sw_profile_options *options)
{
    const char *const texts[] = { options->period_type.type, options->period_type.unit, options->service,
                                  options->executable_path,  options->runtime,          options->producer,
                                  options->producer_version };
    uint32_t *const numbers[] = { &profile->period_type.type, &profile->period_type.unit, &profile->service,
                                  &profile->executable_path,  &profile->runtime,          &profile->producer,
                                  &profile->producer_version };
    bool all = add_texts(profile, texts, numbers, sizeof texts / sizeof texts[0]);
    for (size_t i = 0; i < options->value_count; i++) {
        const char *const names[] = { options->values[i].type, options->values[i].unit };
        uint32_t *const columns[] = { &profile->columns[i].type, &profile->columns[i].unit };
        all = add_texts(profile, names, columns, 2) && all;
    }
    return all;
}

/* A location that is nothing but a name; its number. */
static uint32_t add_named_location(struct sw_profile *profile, const char *name)
{
    const struct sw_profile_line line = { .function = name };
    return sw_profile_location_add(profile, &(struct sw_profile_location){ .lines = &line, .line_count = 1 });
}

/* A sample's number, with room for its sums; SW_PROFILE_FULL: none. */
static uint32_t add_sample_row(struct sw_profile *profile, const struct sw_profile_sample_row *row)
{
    /* Room first: a row without sums must not be. */
    const bool room =
        profile->sums.count > sw_profile_row_count(&profile->samples) || sw_profile_array_push(&profile->sums, 1);
    return room ? sw_profile_table_add(&profile->samples, row) : SW_PROFILE_FULL;
}

/* What samples that have no room are counted under. */
static bool add_fixed_rows(struct sw_profile *profile)
{
    const struct sw_profile_stack_row stack = { .location = SW_PROFILE_BOUND_LOCATION };
    const struct sw_profile_sample_row sample = { .stack = SW_PROFILE_BOUND_STACK };
    return add_named_location(profile, fixed_words[SW_PROFILE_WORD_BOUND]) == SW_PROFILE_BOUND_LOCATION &&
           add_named_location(profile, fixed_words[SW_PROFILE_WORD_CUT]) == SW_PROFILE_CUT_LOCATION &&
           sw_profile_table_add(&profile->stacks, &stack) == SW_PROFILE_BOUND_STACK &&
           add_sample_row(profile, &sample) == SW_PROFILE_BOUND_SAMPLE;
}

static bool add_fixed_words(struct sw_profile *profile)
{
    for (uint32_t word = 1; word < SW_PROFILE_WORD_FIXED; word++)
        if (add_text(profile, fixed_words[word]) != word)
            return false;
    return true;
}

static bool is_allowed(const struct sw_profile_options *options)
{
    return options->values && options->value_count >= 1 && options->value_count <= SW_PROFILE_VALUES_MAX &&
           options->default_value < options->value_count && options->period >= 0 &&
           (!options->max_bytes || options->max_bytes >= SW_PROFILE_BYTES_MIN);
}

enum sw_profile_status sw_profile_create(const struct sw_profile_options *options, struct sw_profile **profile)
{
    *profile = NULL;
    if (!is_allowed(options))
        return SW_PROFILE_E_ARGUMENT;
    struct sw_profile *made = calloc(1, sizeof *made);
    if (!made)
        return SW_PROFILE_E_MEMORY;
    made->budget.max = options->max_bytes ? options->max_bytes : SW_PROFILE_BYTES_DEFAULT;
    /* Without randomness hashes can be foretold, which costs time only. */
    if (getentropy(&made->budget.seed, sizeof made->budget.seed))
        made->budget.seed = (uintptr_t)made;
    made->column_count = options->value_count;
    made->default_column = options->default_value;
    made->period = options->period;
    made->time_ns = options->time_ns;
    made->pid = options->pid;
    made->keep_times = options->keep_times;
    if (!init_tables(made) || !add_fixed_words(made) || !copy_options(made, options) || !add_fixed_rows(made)) {
        sw_profile_destroy(made);
        return SW_PROFILE_E_MEMORY;
    }
    *profile = made;
    return SW_PROFILE_OK;
}

void sw_profile_destroy(struct sw_profile *profile)
{
    if (!profile)
        return;
    sw_profile_texts_free(&profile->texts);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        sw_profile_table_free(table_of(profile, i));
    sw_profile_array_free(&profile->sums);
    sw_profile_array_free(&profile->events);
    sw_profile_array_free(&profile->event_values);
    free(profile);
}

/* A row whose texts all have numbers; `instead`, and counted, where there is no room. */
static uint32_t add_or(struct sw_profile *profile, struct sw_profile_table *table, bool texts, const void *row,
                       uint32_t instead)
{
    const uint32_t number = texts ? sw_profile_table_add(table, row) : SW_PROFILE_FULL;
    profile->counts.names_lost += number == SW_PROFILE_FULL;
    return number == SW_PROFILE_FULL ? instead : number;
}

uint32_t sw_profile_mapping_add(struct sw_profile *profile, const struct sw_profile_mapping *mapping)
{
    struct sw_profile_mapping_row row = { .start = mapping->start,
                                          .limit = mapping->limit,
                                          .file_offset = mapping->file_offset };
    const char *const texts[] = { mapping->file, mapping->build_id, mapping->htlhash };
    uint32_t *const numbers[] = { &row.file, &row.build_id, &row.htlhash };
    const bool all = add_texts(profile, texts, numbers, 3);
    if (row.limit <= row.start)
        row.start = row.limit = 0;
    return add_or(profile, &profile->mappings, all, &row, 0);
}

static int64_t not_negative(int64_t number)
{
    return number < 0 ? 0 : number;
}

/* A line, inlined into line number `outer`; SW_PROFILE_FULL: no room. */
static uint32_t add_line(struct sw_profile *profile, const struct sw_profile_line *line, uint32_t outer)
{
    struct sw_profile_function_row function = { .start_line = not_negative(line->start_line) };
    struct sw_profile_line_row row = { .outer = outer,
                                       .line = not_negative(line->line),
                                       .column = not_negative(line->column) };
    const char *const texts[] = { line->function, line->system_name, line->file };
    uint32_t *const numbers[] = { &function.name, &function.system_name, &function.file };
    if (!add_texts(profile, texts, numbers, 3))
        return SW_PROFILE_FULL;
    row.function = sw_profile_table_add(&profile->functions, &function);
    return row.function == SW_PROFILE_FULL ? SW_PROFILE_FULL : sw_profile_table_add(&profile->lines, &row);
}

/* Lines that say nothing at all are left out. */
static bool says_something(const struct sw_profile_line *line)
{
    return (line->function && *line->function) || (line->system_name && *line->system_name) ||
           (line->file && *line->file);
}

uint32_t sw_profile_location_add(struct sw_profile *profile, const struct sw_profile_location *location)
{
    struct sw_profile_location_row row = { .address = location->address };
    bool all = true;
    if (location->mapping < sw_profile_row_count(&profile->mappings))
        row.mapping = location->mapping;
    if ((unsigned)location->kind < SW_PROFILE_KINDS)
        row.kind = location->kind;
    /* Outermost first: each names the one around it. */
    const size_t more = location->line_count > SW_PROFILE_LINES_MAX ? location->line_count - SW_PROFILE_LINES_MAX : 0;
    for (size_t i = location->line_count; i-- > more && all;) {
        if (!says_something(&location->lines[i]))
            continue;
        row.line = add_line(profile, &location->lines[i], row.line);
        all = row.line != SW_PROFILE_FULL;
    }
    return add_or(profile, &profile->locations, all, &row, SW_PROFILE_BOUND_LOCATION);
}

uint32_t sw_profile_thread_add(struct sw_profile *profile, uint64_t id, const char *name)
{
    const struct sw_profile_thread_row row = { .id = id, .name = add_text(profile, name) };
    return add_or(profile, &profile->threads, row.name != SW_PROFILE_FULL, &row, 0);
}

static uint32_t add_label(struct sw_profile *profile, const struct sw_profile_label *label)
{
    struct sw_profile_label_row row = { .is_number = !label->text };
    const char *const texts[] = { label->key, label->text, label->text ? NULL : label->unit };
    uint32_t *const numbers[] = { &row.key, &row.text, &row.unit };
    if (row.is_number)
        row.number = label->number;
    return add_texts(profile, texts, numbers, 3) ? sw_profile_table_add(&profile->labels, &row) : SW_PROFILE_FULL;
}

/* Whether the key is one that a set has already, or one that threads have. */
static bool is_key_taken(const struct sw_profile *profile, uint32_t key, uint32_t set)
{
    while (set) {
        const struct sw_profile_label_set_row *row = sw_profile_row(&profile->label_sets, set);
        const struct sw_profile_label_row *label = sw_profile_row(&profile->labels, row->label);
        if (label->key == key)
            return true;
        set = row->others;
    }
    return key < SW_PROFILE_WORD_COUNT; /* the empty key, too */
}

/* The set with one label more; SW_PROFILE_FULL: no room, or not allowed. */
static uint32_t add_to_set(struct sw_profile *profile, uint32_t set, const struct sw_profile_label *label)
{
    const struct sw_profile_label_set_row row = { .label = add_label(profile, label), .others = set };
    if (row.label == SW_PROFILE_FULL)
        return SW_PROFILE_FULL;
    const struct sw_profile_label_row *added = sw_profile_row(&profile->labels, row.label);
    return is_key_taken(profile, added->key, set) ? SW_PROFILE_FULL : sw_profile_table_add(&profile->label_sets, &row);
}

uint32_t sw_profile_labels_add(struct sw_profile *profile, const struct sw_profile_label *labels, size_t count)
{
    uint32_t set = count <= SW_PROFILE_LABELS_MAX ? 0 : SW_PROFILE_FULL;
    while (count-- > 0 && set != SW_PROFILE_FULL)
        set = add_to_set(profile, set, &labels[count]);
    profile->counts.names_lost += set == SW_PROFILE_FULL;
    return set == SW_PROFILE_FULL ? 0 : set;
}

static bool is_sample(const struct sw_profile *profile, const struct sw_profile_sample *sample)
{
    for (size_t i = 0; i < profile->column_count; i++)
        if (sample->values[i] < 0)
            return false;
    for (size_t i = 0; i < sample->depth; i++)
        if (sample->stack[i] == 0 || sample->stack[i] >= sw_profile_row_count(&profile->locations))
            return false;
    return sample->thread < sw_profile_row_count(&profile->threads) &&
           sample->labels < sw_profile_row_count(&profile->label_sets);
}

/* The stack's number in the tree; SW_PROFILE_FULL: no room. */
static uint32_t add_stack(struct sw_profile *profile, const struct sw_profile_sample *sample)
{
    struct sw_profile_stack_row row = { 0 };
    size_t depth = sample->depth;
    uint32_t stack = 0;
    if (depth > SW_PROFILE_DEPTH_MAX) {
        depth = SW_PROFILE_DEPTH_MAX - 1;
        profile->counts.stacks_cut++;
        row.location = SW_PROFILE_CUT_LOCATION;
        stack = sw_profile_table_add(&profile->stacks, &row);
    }
    while (depth-- > 0 && stack != SW_PROFILE_FULL) {
        row = (struct sw_profile_stack_row){ sample->stack[depth], stack };
        stack = sw_profile_table_add(&profile->stacks, &row);
    }
    return stack;
}

static void add_values(struct sw_profile *profile, uint32_t number, const int64_t *values)
{
    int64_t *sums = sw_profile_sums_of(profile, number);
    for (size_t i = 0; i < profile->column_count; i++) {
        bool saturated;
        sums[i] = sw_profile_sum(sums[i], values[i], &saturated);
        profile->counts.saturated += saturated;
    }
}

/* One without a time ends the order in time: what was kept of it is given back. */
static void add_event(struct sw_profile *profile, uint32_t number, const struct sw_profile_sample *sample)
{
    if (!profile->keep_times)
        return;
    const bool whole = sample->time_ns && !profile->counts.times_lost;
    struct sw_profile_event *event = whole ? sw_profile_array_push(&profile->events, 1) : NULL;
    int64_t *values = event ? sw_profile_array_push(&profile->event_values, 1) : NULL;
    if (values) {
        *event = (struct sw_profile_event){ .time_ns = sample->time_ns, .sample = number };
        memcpy(values, sample->values, profile->event_values.item_bytes);
        return;
    }
    profile->counts.times_lost++;
    sw_profile_array_free(&profile->events);
    sw_profile_array_free(&profile->event_values);
}

enum sw_profile_status sw_profile_sample_add(struct sw_profile *profile, const struct sw_profile_sample *sample)
{
    if (!is_sample(profile, sample))
        return SW_PROFILE_E_ARGUMENT;
    const struct sw_profile_sample_row row = { .stack = add_stack(profile, sample),
                                               .thread = sample->thread,
                                               .labels = sample->labels };
    const uint32_t number = row.stack == SW_PROFILE_FULL ? SW_PROFILE_FULL : add_sample_row(profile, &row);
    const bool bound = number == SW_PROFILE_FULL;
    const uint32_t counted = bound ? SW_PROFILE_BOUND_SAMPLE : number;
    add_values(profile, counted, sample->values);
    add_event(profile, counted, sample);
    profile->counts.samples++;
    profile->counts.over_bound += bound;
    return bound ? SW_PROFILE_E_BOUND : SW_PROFILE_OK;
}

void sw_profile_set_duration(struct sw_profile *profile, uint64_t duration_ns)
{
    profile->duration_ns = duration_ns;
}

void sw_profile_get_counts(const struct sw_profile *profile, struct sw_profile_counts *counts)
{
    *counts = profile->counts;
    counts->stacks = sw_profile_row_count(&profile->stacks);
    counts->bytes = profile->budget.used;
}
