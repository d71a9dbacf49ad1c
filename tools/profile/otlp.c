/*
 * OpenTelemetry's profiles: one Profile a column, one dictionary for all. Numbers of functions and locations are the
 * profile's own; texts, attributes and mappings get new ones, each kept once. Source: profile-formats.md section 2.
 */
#include "arena.h"
#include "data.h"

#include <string.h>
#include <sys/random.h>

#include "otlp.pb-c.h"

/* Attributes are rows, so that equal ones are one. */
struct attribute {
    uint32_t key, text, unit, is_number;
    int64_t number;
};

struct writing {
    const struct sw_profile *profile;
    struct sw_profile_arena arena;
    struct sw_profile_budget budget;
    struct sw_profile_texts texts;
    struct sw_profile_table attributes;
    int32_t *mappings; /* of the profile's: the number here, or 0 */
    bool failed;
};

/* `count` messages of a kind, and the list of them as protobuf-c wants it. NULL: no memory. */
static void *new_list(struct writing *w, const ProtobufCMessageDescriptor *kind, size_t count)
{
    uint8_t *messages = sw_profile_arena_take(&w->arena, count, kind->sizeof_message);
    void **list = sw_profile_arena_take(&w->arena, count + 1, sizeof *list);
    for (size_t i = 0; messages && list && i < count; i++) {
        list[i] = messages + i * kind->sizeof_message;
        protobuf_c_message_init(kind, list[i]);
    }
    return messages ? list : NULL;
}

static void *new_one(struct writing *w, const ProtobufCMessageDescriptor *kind)
{
    void **list = new_list(w, kind, 1);
    return list ? list[0] : NULL;
}

/* Lists of numbers. */
static int32_t *new_numbers(struct writing *w, size_t count)
{
    return sw_profile_arena_take(&w->arena, count, sizeof(int32_t));
}

static int32_t text_number(struct writing *w, const char *text)
{
    const uint32_t number = sw_profile_texts_add(&w->texts, text, strlen(text));
    w->failed = w->failed || number > INT32_MAX;
    return number > INT32_MAX ? 0 : (int32_t)number;
}

static int32_t text_of(struct writing *w, uint32_t number)
{
    return text_number(w, sw_profile_text(w->profile, number));
}

static int32_t attribute_number(struct writing *w, const struct attribute *row)
{
    const uint32_t number = sw_profile_table_add(&w->attributes, row);
    w->failed = w->failed || number > INT32_MAX;
    return number > INT32_MAX ? 0 : (int32_t)number;
}

static int32_t text_attribute(struct writing *w, const char *key, const char *value)
{
    const struct attribute row = { .key = (uint32_t)text_number(w, key), .text = (uint32_t)text_number(w, value) };
    return attribute_number(w, &row);
}

static int32_t number_attribute(struct writing *w, const char *key, int64_t value, const char *unit)
{
    const struct attribute row = {
        .key = (uint32_t)text_number(w, key), .unit = (uint32_t)text_number(w, unit), .is_number = 1, .number = value
    };
    return attribute_number(w, &row);
}

/* ---- the dictionary: rows as they are ---- */

static void list_functions(struct writing *w, Otlp__ProfilesDictionary *dictionary)
{
    const size_t count = sw_profile_row_count(&w->profile->functions);
    Otlp__Function **list = new_list(w, &otlp__function__descriptor, count);
    for (size_t i = 1; list && i < count; i++) {
        const struct sw_profile_function_row *row = sw_profile_row(&w->profile->functions, i);
        list[i]->name_strindex = text_of(w, row->name ? row->name : row->system_name);
        list[i]->system_name_strindex = text_of(w, row->system_name);
        list[i]->filename_strindex = text_of(w, row->file);
        list[i]->start_line = row->start_line;
    }
    dictionary->n_function_table = list ? count : 0;
    dictionary->function_table = list;
}

/* Only files that something identifies: for others the format has no mapping. */
static void list_mappings(struct writing *w, Otlp__ProfilesDictionary *dictionary)
{
    const size_t count = sw_profile_row_count(&w->profile->mappings);
    Otlp__Mapping **list = new_list(w, &otlp__mapping__descriptor, count);
    int32_t used = 1;
    w->mappings = new_numbers(w, count);
    for (size_t i = 1; list && w->mappings && i < count; i++) {
        const struct sw_profile_mapping_row *row = sw_profile_row(&w->profile->mappings, i);
        Otlp__Mapping *mapping = list[used];
        mapping->attribute_indices = row->build_id || row->htlhash ? new_numbers(w, 1) : NULL;
        if (!mapping->attribute_indices)
            continue;
        mapping->memory_start = row->start;
        mapping->memory_limit = row->limit;
        mapping->file_offset = row->file_offset;
        mapping->filename_strindex = text_of(w, row->file);
        mapping->n_attribute_indices = 1;
        mapping->attribute_indices[0] =
            text_attribute(w, row->build_id ? "process.executable.build_id.gnu" : "process.executable.build_id.htlhash",
                           sw_profile_text(w->profile, row->build_id ? row->build_id : row->htlhash));
        w->mappings[i] = used++;
    }
    dictionary->n_mapping_table = list ? (size_t)used : 0;
    dictionary->mapping_table = list;
}

static void fill_lines(struct writing *w, const struct sw_profile_location_row *row, Otlp__Location *location)
{
    size_t count = 0;
    for (uint32_t line = row->line; line && count < SW_PROFILE_LINES_MAX; count++)
        line = ((const struct sw_profile_line_row *)sw_profile_row(&w->profile->lines, line))->outer;
    location->lines = new_list(w, &otlp__line__descriptor, count);
    location->n_lines = location->lines ? count : 0;
    uint32_t at = row->line;
    for (size_t i = 0; i < location->n_lines; i++) {
        const struct sw_profile_line_row *line = sw_profile_row(&w->profile->lines, at);
        location->lines[i]->function_index = (int32_t)line->function;
        location->lines[i]->line = line->line;
        location->lines[i]->column = line->column;
        at = line->outer;
    }
}

static void list_locations(struct writing *w, Otlp__ProfilesDictionary *dictionary)
{
    const size_t count = sw_profile_row_count(&w->profile->locations);
    Otlp__Location **list = new_list(w, &otlp__location__descriptor, count);
    for (size_t i = 1; list && i < count; i++) {
        const struct sw_profile_location_row *row = sw_profile_row(&w->profile->locations, i);
        const char *kind = sw_profile_kind_words(row->kind)->otlp;
        list[i]->mapping_index = w->mappings ? w->mappings[row->mapping] : 0;
        list[i]->address = row->address;
        fill_lines(w, row, list[i]);
        list[i]->attribute_indices = *kind ? new_numbers(w, 1) : NULL;
        list[i]->n_attribute_indices = list[i]->attribute_indices ? 1 : 0;
        if (list[i]->attribute_indices)
            list[i]->attribute_indices[0] = text_attribute(w, "profile.frame.type", kind);
    }
    dictionary->n_location_table = list ? count : 0;
    dictionary->location_table = list;
}

/* Stacks that samples have, leaf first. `numbers`: of each of the profile's stacks, the number here. */
static void list_stacks(struct writing *w, Otlp__ProfilesDictionary *dictionary, int32_t *numbers)
{
    const size_t samples = sw_profile_row_count(&w->profile->samples);
    Otlp__Stack **list = new_list(w, &otlp__stack__descriptor, samples + 1);
    size_t used = 1;
    for (size_t i = 0; list && i < samples; i++) {
        const struct sw_profile_sample_row *sample = sw_profile_row(&w->profile->samples, i);
        const struct sw_profile_stack_row *row;
        if (!sample->stack || numbers[sample->stack])
            continue;
        Otlp__Stack *stack = list[used];
        for (uint32_t at = sample->stack; at; at = row->caller, stack->n_location_indices++)
            row = sw_profile_row(&w->profile->stacks, at);
        stack->location_indices = new_numbers(w, stack->n_location_indices);
        if (!stack->location_indices)
            return;
        uint32_t at = sample->stack;
        for (size_t k = 0; k < stack->n_location_indices; k++, at = row->caller) {
            row = sw_profile_row(&w->profile->stacks, at);
            stack->location_indices[k] = (int32_t)row->location;
        }
        numbers[sample->stack] = (int32_t)used++;
    }
    dictionary->n_stack_table = list ? used : 0;
    dictionary->stack_table = list;
}

/* When all texts and attributes are known. */
static void list_texts(struct writing *w, Otlp__ProfilesDictionary *dictionary)
{
    const size_t count = w->texts.rows.count, attributes = sw_profile_row_count(&w->attributes);
    char **list = sw_profile_arena_take(&w->arena, count, sizeof *list);
    Otlp__KeyValueAndUnit **rows = new_list(w, &otlp__key_value_and_unit__descriptor, attributes);
    for (uint32_t i = 0; list && i < count; i++)
        list[i] = (char *)sw_profile_texts_get(&w->texts, i);
    for (size_t i = 1; rows && list && i < attributes; i++) {
        const struct attribute *row = sw_profile_row(&w->attributes, i);
        Otlp__AnyValue *value = rows[i]->value = new_one(w, &otlp__any_value__descriptor);
        rows[i]->key_strindex = (int32_t)row->key;
        rows[i]->unit_strindex = (int32_t)row->unit;
        if (!value)
            return;
        value->value_case = row->is_number ? OTLP__ANY_VALUE__VALUE_INT_VALUE : OTLP__ANY_VALUE__VALUE_STRING_VALUE;
        if (row->is_number)
            value->int_value = row->number;
        else
            value->string_value = list[row->text];
    }
    dictionary->n_string_table = list ? count : 0;
    dictionary->string_table = list;
    dictionary->n_attribute_table = rows ? attributes : 0;
    dictionary->attribute_table = rows;
}

/* ---- samples ---- */

static const char *word(const struct writing *w, enum sw_profile_word number)
{
    return sw_profile_text(w->profile, number);
}

/* thread.id is the operating system's. */
static size_t fill_attributes(struct writing *w, const struct sw_profile_sample_row *sample, int32_t *numbers)
{
    const struct sw_profile_thread_row *thread = sw_profile_row(&w->profile->threads, sample->thread);
    size_t count = 0;
    if (thread->name)
        numbers[count++] =
            text_attribute(w, word(w, SW_PROFILE_WORD_OTLP_THREAD), sw_profile_text(w->profile, thread->name));
    if (sample->thread)
        numbers[count++] =
            number_attribute(w, word(w, SW_PROFILE_WORD_OTLP_THREAD_ID), (int64_t)(thread->id & INT64_MAX), "");
    for (uint32_t set = sample->labels; set && count < SW_PROFILE_LABELS_MAX + 2;) {
        const struct sw_profile_label_set_row *row = sw_profile_row(&w->profile->label_sets, set);
        const struct sw_profile_label_row *label = sw_profile_row(&w->profile->labels, row->label);
        const char *key = sw_profile_text(w->profile, label->key), *unit = sw_profile_text(w->profile, label->unit);
        numbers[count++] = label->is_number ? number_attribute(w, key, label->number, unit)
                                            : text_attribute(w, key, sw_profile_text(w->profile, label->text));
        set = row->others;
    }
    return count;
}

static void fill_samples(struct writing *w, size_t column, const int32_t *stacks, Otlp__Profile *profile)
{
    const size_t count = sw_profile_row_count(&w->profile->samples);
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        used += sw_profile_sums(w->profile, i)[column] != 0;
    profile->samples = new_list(w, &otlp__sample__descriptor, used);
    for (size_t i = 0; profile->samples && i < count && !w->arena.failed; i++) {
        const struct sw_profile_sample_row *row = sw_profile_row(&w->profile->samples, i);
        const int64_t *sum = sw_profile_sums(w->profile, i) + column;
        int32_t numbers[SW_PROFILE_LABELS_MAX + 2];
        if (!*sum)
            continue;
        Otlp__Sample *sample = profile->samples[profile->n_samples++];
        sample->stack_index = stacks[row->stack];
        sample->n_values = 1;
        sample->values = (int64_t *)sum;
        const size_t attributes = fill_attributes(w, row, numbers);
        sample->attribute_indices = new_numbers(w, attributes);
        sample->n_attribute_indices = sample->attribute_indices ? attributes : 0;
        if (sample->attribute_indices)
            memcpy(sample->attribute_indices, numbers, attributes * sizeof *numbers);
    }
}

/* ---- the profile ---- */

static Otlp__ValueType *value_type(struct writing *w, const struct sw_profile_column *column)
{
    Otlp__ValueType *type = new_one(w, &otlp__value_type__descriptor);
    if (type) {
        type->type_strindex = text_of(w, column->type);
        type->unit_strindex = text_of(w, column->unit);
    }
    return type;
}

/* Backends name a profile by its period: a column that is not what the period counts is one of its own, by ones. */
static void fill_profile(struct writing *w, size_t column, const int32_t *stacks, Otlp__Profile *profile)
{
    const struct sw_profile_column *type = &w->profile->columns[column], *period = &w->profile->period_type;
    const bool has_period = period->type == type->type && period->unit == type->unit;
    uint64_t begin, end;
    uint8_t *id = sw_profile_arena_take(&w->arena, 16, 1);
    sw_profile_get_span(w->profile, &begin, &end);
    profile->sample_type = value_type(w, type);
    profile->period_type = value_type(w, type);
    profile->period = has_period && w->profile->period > 0 ? w->profile->period : 1;
    profile->time_unix_nano = begin;
    profile->duration_nano = end - begin;
    if (id && getrandom(id, 16, 0) == 16)
        profile->profile_id = (ProtobufCBinaryData){ 16, id };
    fill_samples(w, column, stacks, profile);
}

static void add_resource(struct writing *w, Otlp__Resource *resource, const char *key, const char *text, int64_t number)
{
    Otlp__KeyValue *pair = resource->attributes[resource->n_attributes];
    Otlp__AnyValue *value = new_one(w, &otlp__any_value__descriptor);
    if (!value || (!*text && !number))
        return;
    value->value_case = *text ? OTLP__ANY_VALUE__VALUE_STRING_VALUE : OTLP__ANY_VALUE__VALUE_INT_VALUE;
    if (*text)
        value->string_value = (char *)text;
    else
        value->int_value = number;
    pair->key = (char *)key;
    pair->value = value;
    resource->n_attributes++;
}

static Otlp__Resource *resource(struct writing *w)
{
    const struct sw_profile *p = w->profile;
    Otlp__Resource *made = new_one(w, &otlp__resource__descriptor);
    if (!made || !(made->attributes = new_list(w, &otlp__key_value__descriptor, 4)))
        return NULL;
    add_resource(w, made, "service.name", sw_profile_text(p, p->service), 0);
    add_resource(w, made, "process.executable.path", sw_profile_text(p, p->executable_path), 0);
    add_resource(w, made, "process.runtime.name", sw_profile_text(p, p->runtime), 0);
    add_resource(w, made, "process.pid", "", (int64_t)(p->pid & INT64_MAX));
    return made;
}

/* What was lost is said once, by the first profile. */
static void add_comments(struct writing *w, Otlp__Profile *profile)
{
    char comments[SW_PROFILE_COMMENTS][SW_PROFILE_COMMENT_BYTES];
    char all[SW_PROFILE_COMMENTS * (SW_PROFILE_COMMENT_BYTES + 2)] = "";
    const size_t count = sw_profile_comments(w->profile, comments);
    for (size_t i = 0; i < count; i++) {
        strcat(all, i ? "; " : "");
        strcat(all, comments[i]);
    }
    profile->attribute_indices = count ? new_numbers(w, 1) : NULL;
    profile->n_attribute_indices = profile->attribute_indices ? 1 : 0;
    if (profile->attribute_indices)
        profile->attribute_indices[0] = text_attribute(w, "pprof.profile.comment", all);
}

static void fill_scope(struct writing *w, const int32_t *stacks, Otlp__ScopeProfiles *scope)
{
    scope->scope = new_one(w, &otlp__instrumentation_scope__descriptor);
    scope->profiles = new_list(w, &otlp__profile__descriptor, w->profile->column_count);
    if (!scope->scope || !scope->profiles)
        return;
    scope->scope->name = (char *)sw_profile_text(w->profile, w->profile->producer);
    scope->scope->version = (char *)sw_profile_text(w->profile, w->profile->producer_version);
    scope->n_profiles = w->profile->column_count;
    for (size_t column = 0; column < w->profile->column_count; column++)
        fill_profile(w, column, stacks, scope->profiles[column]);
    add_comments(w, scope->profiles[0]);
}

static Otlp__ProfilesDictionary *dictionary(struct writing *w, int32_t *stacks)
{
    Otlp__ProfilesDictionary *made = new_one(w, &otlp__profiles_dictionary__descriptor);
    if (!made)
        return NULL;
    made->link_table = new_list(w, &otlp__link__descriptor, 1);
    made->n_link_table = made->link_table ? 1 : 0;
    list_functions(w, made);
    list_mappings(w, made);
    list_locations(w, made);
    list_stacks(w, made, stacks);
    return made;
}

/* Everything, or NULL: no memory. */
static Otlp__ProfilesData *everything(struct writing *w)
{
    Otlp__ProfilesData *data = new_one(w, &otlp__profiles_data__descriptor);
    Otlp__ResourceProfiles **list = new_list(w, &otlp__resource_profiles__descriptor, 1);
    Otlp__ScopeProfiles **scopes = new_list(w, &otlp__scope_profiles__descriptor, 1);
    int32_t *stacks = new_numbers(w, sw_profile_row_count(&w->profile->stacks));
    if (!data || !list || !scopes || !stacks)
        return NULL;
    data->dictionary = dictionary(w, stacks);
    data->n_resource_profiles = 1;
    data->resource_profiles = list;
    list[0]->resource = resource(w);
    list[0]->n_scope_profiles = 1;
    list[0]->scope_profiles = scopes;
    fill_scope(w, stacks, scopes[0]);
    if (data->dictionary)
        list_texts(w, data->dictionary);
    return w->arena.failed || w->failed ? NULL : data;
}

/* ---- bytes ---- */

struct sink {
    ProtobufCBuffer base;
    FILE *file;
};

static void append(ProtobufCBuffer *buffer, size_t size, const uint8_t *bytes)
{
    fwrite(bytes, 1, size, ((struct sink *)(void *)buffer)->file);
}

enum sw_profile_status sw_profile_write_otlp(const struct sw_profile *profile, FILE *file)
{
    struct writing w = { .profile = profile, .budget = { .max = SIZE_MAX } };
    struct sink sink = { { append }, file };
    Otlp__ProfilesData *data = NULL;
    if (sw_profile_texts_init(&w.texts, &w.budget) &&
        sw_profile_table_init(&w.attributes, &w.budget, sizeof(struct attribute)))
        data = everything(&w);
    if (data)
        protobuf_c_message_pack_to_buffer(&data->base, &sink.base);
    sw_profile_arena_free(&w.arena);
    sw_profile_table_free(&w.attributes);
    sw_profile_texts_free(&w.texts);
    return data ? sw_profile_written(file) : SW_PROFILE_E_MEMORY;
}
