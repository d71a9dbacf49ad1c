/*
 * Reads pprof's profile.proto. Every number in it is a stranger's: texts that are not there are empty, rows that are
 * not there none. Source: profile-formats.md section 1.
 */
#include "gzip.h"
#include "profile.h"

#include <stdlib.h>
#include <string.h>

#include "pprof.pb-c.h"

typedef Perftools__Profiles__Profile profile_message;
typedef Perftools__Profiles__Label label_message;

static const size_t unpacked_max = (size_t)256 << 20;

/* What a row of the file is in the profile; by the file's id. */
struct known {
    uint64_t id;
    uint32_t number;
    enum sw_profile_kind kind;
    size_t at;
};

struct list {
    struct known *rows;
    size_t count;
};

struct reading {
    const profile_message *from;
    struct sw_profile *profile;
    struct list mappings, functions, locations;
    uint32_t *stack;
    size_t columns;
    uint64_t refused;
};

static const char *text(const struct reading *r, int64_t number)
{
    return number > 0 && (uint64_t)number < r->from->n_string_table ? r->from->string_table[number] : "";
}

/* ---- rows by id ---- */

static int by_id(const void *a, const void *b)
{
    const struct known *one = a, *other = b;
    return one->id < other->id ? -1 : one->id > other->id;
}

static bool make_list(struct list *list, size_t count)
{
    list->rows = calloc(count + 1, sizeof *list->rows);
    list->count = count;
    return list->rows != NULL;
}

static void sort(struct list *list)
{
    qsort(list->rows, list->count, sizeof *list->rows, by_id);
}

static const struct known *find(const struct list *list, uint64_t id)
{
    const struct known key = { .id = id };
    return id ? bsearch(&key, list->rows, list->count, sizeof key, by_id) : NULL;
}

/* ---- mappings, functions, locations ---- */

static bool ends_in(const char *name, const char *end)
{
    const size_t length = strlen(name), size = strlen(end);
    return length >= size && !strcmp(name + length - size, end);
}

static enum sw_profile_kind kind_of(const char *file, uint64_t start, uint64_t limit)
{
    if (!strncmp(file, "[kernel", 7))
        return SW_PROFILE_KERNEL;
    if (ends_in(file, ".dll") || ends_in(file, ".exe"))
        return SW_PROFILE_JIT;
    return limit > start ? SW_PROFILE_NATIVE : SW_PROFILE_OTHER;
}

static void add_mappings(struct reading *r)
{
    for (size_t i = 0; i < r->mappings.count; i++) {
        const Perftools__Profiles__Mapping *row = r->from->mapping[i];
        const struct sw_profile_mapping mapping = { row->memory_start,      row->memory_limit,      row->file_offset,
                                                    text(r, row->filename), text(r, row->build_id), NULL };
        r->mappings.rows[i] = (struct known){ row->id, sw_profile_mapping_add(r->profile, &mapping),
                                              kind_of(mapping.file, mapping.start, mapping.limit), i };
    }
    sort(&r->mappings);
}

static void list_functions(struct reading *r)
{
    for (size_t i = 0; i < r->functions.count; i++)
        r->functions.rows[i] = (struct known){ .id = r->from->function[i]->id, .at = i };
    sort(&r->functions);
}

static uint32_t add_location(struct reading *r, const Perftools__Profiles__Location *row)
{
    struct sw_profile_line lines[SW_PROFILE_LINES_MAX] = { 0 };
    const struct known *mapping = find(&r->mappings, row->mapping_id);
    struct sw_profile_location location = { .address = row->address,
                                            .mapping = mapping ? mapping->number : 0,
                                            .kind = mapping ? mapping->kind : SW_PROFILE_OTHER,
                                            .lines = lines };
    for (; location.line_count < row->n_line && location.line_count < SW_PROFILE_LINES_MAX; location.line_count++) {
        const Perftools__Profiles__Line *from = row->line[location.line_count];
        struct sw_profile_line *to = &lines[location.line_count];
        const struct known *found = find(&r->functions, from->function_id);
        to->line = from->line;
        to->column = from->column;
        if (!found)
            continue;
        const Perftools__Profiles__Function *function = r->from->function[found->at];
        to->function = text(r, function->name);
        to->system_name = function->system_name == function->name ? NULL : text(r, function->system_name);
        to->file = text(r, function->filename);
        to->start_line = function->start_line;
    }
    return sw_profile_location_add(r->profile, &location);
}

static void add_locations(struct reading *r)
{
    for (size_t i = 0; i < r->locations.count; i++)
        r->locations.rows[i] =
            (struct known){ .id = r->from->location[i]->id, .number = add_location(r, r->from->location[i]) };
    sort(&r->locations);
}

/* ---- samples ---- */

static bool has_key(const struct reading *r, const label_message *label, const char *key)
{
    return !strcmp(text(r, label->key), key);
}

static uint32_t thread_of(const struct reading *r, const Perftools__Profiles__Sample *sample)
{
    const char *name = "";
    uint64_t id = 0;
    for (size_t i = 0; i < sample->n_label; i++) {
        const label_message *label = sample->label[i];
        if (has_key(r, label, "thread"))
            name = text(r, label->str);
        else if (has_key(r, label, "thread_id"))
            id = label->str ? strtoull(text(r, label->str), NULL, 10) : (uint64_t)label->num;
    }
    return *name || id ? sw_profile_thread_add(r->profile, id, name) : 0;
}

static uint32_t labels_of(const struct reading *r, const Perftools__Profiles__Sample *sample)
{
    struct sw_profile_label labels[SW_PROFILE_LABELS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < sample->n_label && count < SW_PROFILE_LABELS_MAX; i++) {
        const label_message *label = sample->label[i];
        if (!has_key(r, label, "thread") && !has_key(r, label, "thread_id"))
            labels[count++] = (struct sw_profile_label){ .key = text(r, label->key),
                                                         .text = label->str ? text(r, label->str) : NULL,
                                                         .number = label->num,
                                                         .unit = label->num_unit ? text(r, label->num_unit) : NULL };
    }
    return count ? sw_profile_labels_add(r->profile, labels, count) : 0;
}

/* False: no memory. */
static bool add_sample(struct reading *r, const Perftools__Profiles__Sample *from)
{
    int64_t values[SW_PROFILE_VALUES_MAX] = { 0 };
    for (size_t i = 0; i < r->columns && i < from->n_value; i++)
        values[i] = from->value[i];
    uint32_t *stack = realloc(r->stack, (from->n_location_id + 1) * sizeof *stack);
    if (!stack)
        return false;
    r->stack = stack;
    size_t depth = 0;
    for (size_t i = 0; i < from->n_location_id; i++) {
        const struct known *found = find(&r->locations, from->location_id[i]);
        if (found && found->number)
            stack[depth++] = found->number;
    }
    const struct sw_profile_sample sample = {
        .stack = stack, .depth = depth, .values = values, .thread = thread_of(r, from), .labels = labels_of(r, from)
    };
    r->refused += sw_profile_sample_add(r->profile, &sample) == SW_PROFILE_E_ARGUMENT;
    return true;
}

/* ---- the file ---- */

static enum sw_profile_status create(struct reading *r, const struct sw_profile_options *given)
{
    struct sw_profile_value_type types[SW_PROFILE_VALUES_MAX];
    struct sw_profile_options options = { .values = types, .max_bytes = given->max_bytes };
    const profile_message *from = r->from;
    for (; r->columns < from->n_sample_type && r->columns < SW_PROFILE_VALUES_MAX; r->columns++) {
        const Perftools__Profiles__ValueType *type = from->sample_type[r->columns];
        types[r->columns] = (struct sw_profile_value_type){ text(r, type->type), text(r, type->unit) };
        if (from->default_sample_type && type->type == from->default_sample_type)
            options.default_value = r->columns;
    }
    if (!r->columns)
        return SW_PROFILE_E_FORMAT;
    options.value_count = r->columns;
    if (from->period_type)
        options.period_type =
            (struct sw_profile_value_type){ text(r, from->period_type->type), text(r, from->period_type->unit) };
    options.period = from->period;
    options.time_ns = from->time_nanos > 0 ? (uint64_t)from->time_nanos : 0;
    options.producer = given->producer;
    options.producer_version = given->producer_version;
    return sw_profile_create(&options, &r->profile);
}

static enum sw_profile_status fill(struct reading *r)
{
    const profile_message *from = r->from;
    bool good = make_list(&r->mappings, from->n_mapping) && make_list(&r->functions, from->n_function) &&
                make_list(&r->locations, from->n_location);
    if (good) {
        add_mappings(r);
        list_functions(r);
        add_locations(r);
    }
    for (size_t i = 0; good && i < from->n_sample; i++)
        good = add_sample(r, from->sample[i]);
    if (from->duration_nanos > 0)
        sw_profile_set_duration(r->profile, (uint64_t)from->duration_nanos);
    free(r->mappings.rows);
    free(r->functions.rows);
    free(r->locations.rows);
    free(r->stack);
    return good ? SW_PROFILE_OK : SW_PROFILE_E_MEMORY;
}

enum sw_profile_status sw_profile_read_pprof(const struct sw_profile_options *options, FILE *file,
                                             struct sw_profile **profile, uint64_t *refused)
{
    uint8_t *bytes;
    size_t size;
    const enum sw_profile_gzip_answer answer = sw_profile_gunzip(file, unpacked_max, &bytes, &size);
    if (answer != SW_PROFILE_GZIP_OK)
        return answer == SW_PROFILE_GZIP_MEMORY ? SW_PROFILE_E_MEMORY : SW_PROFILE_E_FORMAT;
    profile_message *from = perftools__profiles__profile__unpack(NULL, size, bytes);
    struct reading reading = { .from = from };
    free(bytes);
    enum sw_profile_status status = from ? create(&reading, options) : SW_PROFILE_E_FORMAT;
    if (status == SW_PROFILE_OK)
        status = fill(&reading);
    if (from)
        perftools__profiles__profile__free_unpacked(from, NULL);
    *refused = reading.refused;
    *profile = reading.profile;
    if (status != SW_PROFILE_OK) {
        sw_profile_destroy(reading.profile);
        *profile = NULL;
    }
    return status;
}
