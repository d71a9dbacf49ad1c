/*
 * pprof's profile.proto, in gzip. A message is the concatenation of its parts, so parts are packed and written one
 * by one: memory does not grow with samples. Ids are row numbers, which begin at 1. Source: profile-formats.md
 * section 1.
 */
#include "data.h"
#include "gzip.h"

#include <inttypes.h>
#include <stdlib.h>

#include "pprof.pb-c.h"

typedef Perftools__Profiles__Profile profile_message;
typedef Perftools__Profiles__Label label_message;

/* Labels of a sample: thread, thread_id, and its set. */
enum { LABELS = SW_PROFILE_LABELS_MAX + 2 };

struct writing {
    const struct sw_profile *profile;
    struct sw_profile_gzip *gzip;
    uint8_t *packed; /* the last part, in packed_bytes bytes */
    size_t packed_bytes;
    uint64_t *stack; /* the locations of a stack, in stack_slots slots */
    size_t stack_slots;
    int64_t texts;      /* texts that were written so far */
    int64_t thread_ids; /* the text of thread 0's id; the others' follow */
    bool failed;        /* no memory */
};

/* Room for `count` items of `bytes` each in *items; what was there is lost. */
static bool make_room(struct writing *w, void **items, size_t *room, size_t count, size_t bytes)
{
    if (count <= *room)
        return true;
    free(*items);
    *room = count + count / 2;
    *items = calloc(*room, bytes);
    w->failed = w->failed || !*items;
    *room = *items ? *room : 0;
    return *items;
}

/* Packs some fields of the message, and writes them. */
static void put(struct writing *w, const profile_message *part)
{
    const size_t bytes = perftools__profiles__profile__get_packed_size(part);
    if (!make_room(w, (void **)&w->packed, &w->packed_bytes, bytes, 1))
        return;
    perftools__profiles__profile__pack(part, w->packed);
    sw_profile_gzip_write(w->gzip, w->packed, bytes);
}

static int64_t put_text(struct writing *w, const char *text)
{
    profile_message part = PERFTOOLS__PROFILES__PROFILE__INIT;
    char *texts[] = { (char *)text };
    part.n_string_table = 1;
    part.string_table = texts;
    put(w, &part);
    return w->texts++;
}

/* Texts by their numbers in the profile, so that rows name them as they are; then those of comments and ids. */
static void put_texts(struct writing *w)
{
    char comments[SW_PROFILE_COMMENTS][SW_PROFILE_COMMENT_BYTES];
    const size_t count = sw_profile_comments(w->profile, comments);
    for (uint32_t i = 0; i < w->profile->texts.rows.count; i++)
        put_text(w, sw_profile_text(w->profile, i));
    for (size_t i = 0; i < count; i++) {
        profile_message part = PERFTOOLS__PROFILES__PROFILE__INIT;
        int64_t number = put_text(w, comments[i]);
        part.n_comment = 1;
        part.comment = &number;
        put(w, &part);
    }
    w->thread_ids = w->texts;
    for (size_t i = 0; i < sw_profile_row_count(&w->profile->threads); i++) {
        char id[24];
        snprintf(id, sizeof id, "%" PRIu64,
                 ((const struct sw_profile_thread_row *)sw_profile_row(&w->profile->threads, i))->id);
        put_text(w, id);
    }
}

static void put_header(struct writing *w)
{
    const struct sw_profile *profile = w->profile;
    profile_message part = PERFTOOLS__PROFILES__PROFILE__INIT;
    Perftools__Profiles__ValueType types[SW_PROFILE_VALUES_MAX + 1], *list[SW_PROFILE_VALUES_MAX];
    for (size_t i = 0; i <= SW_PROFILE_VALUES_MAX; i++)
        perftools__profiles__value_type__init(&types[i]);
    for (size_t i = 0; i < profile->column_count; i++) {
        types[i].type = profile->columns[i].type;
        types[i].unit = profile->columns[i].unit;
        list[i] = &types[i];
    }
    part.n_sample_type = profile->column_count;
    part.sample_type = list;
    types[SW_PROFILE_VALUES_MAX].type = profile->period_type.type;
    types[SW_PROFILE_VALUES_MAX].unit = profile->period_type.unit;
    if (profile->period_type.type)
        part.period_type = &types[SW_PROFILE_VALUES_MAX];
    uint64_t begin, end;
    sw_profile_get_span(profile, &begin, &end);
    part.period = profile->period;
    part.time_nanos = (int64_t)begin;
    part.duration_nanos = (int64_t)(end - begin);
    part.default_sample_type = profile->columns[profile->default_column].type;
    put(w, &part);
}

/* How far places of each mapping are known: without these flags pprof looks for the file itself. */
struct known {
    bool functions, files, lines, inlined;
};

static void look_at_location(const struct sw_profile *profile, const struct sw_profile_location_row *location,
                             struct known *known)
{
    for (uint32_t line = location->line; line;) {
        const struct sw_profile_line_row *row = sw_profile_row(&profile->lines, line);
        const struct sw_profile_function_row *function = sw_profile_row(&profile->functions, row->function);
        known->functions = known->functions || function->name || function->system_name;
        known->files = known->files || function->file;
        known->lines = known->lines || row->line;
        known->inlined = known->inlined || row->outer;
        line = row->outer;
    }
}

static void put_mapping(struct writing *w, uint32_t number, const struct sw_profile_mapping_row *row,
                        const struct known *known)
{
    profile_message part = PERFTOOLS__PROFILES__PROFILE__INIT;
    Perftools__Profiles__Mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT, *list[] = { &mapping };
    mapping.id = number;
    mapping.memory_start = row->start;
    mapping.memory_limit = row->limit;
    mapping.file_offset = row->file_offset;
    mapping.filename = row->file;
    mapping.build_id = row->build_id;
    mapping.has_functions = known->functions;
    mapping.has_filenames = known->files;
    mapping.has_line_numbers = known->lines;
    mapping.has_inline_frames = known->inlined;
    part.n_mapping = 1;
    part.mapping = list;
    put(w, &part);
}

/* Where no mapping is known, one of the program's name stands for all: pprof would make up one, and complain. */
static void put_mappings(struct writing *w)
{
    const size_t count = sw_profile_row_count(&w->profile->mappings);
    struct known *known = calloc(count, sizeof *known);
    w->failed = w->failed || !known;
    if (!known)
        return;
    for (size_t i = 0; i < sw_profile_row_count(&w->profile->locations); i++) {
        const struct sw_profile_location_row *location = sw_profile_row(&w->profile->locations, i);
        look_at_location(w->profile, location, &known[location->mapping]);
    }
    for (uint32_t i = 1; i < count; i++)
        put_mapping(w, i, sw_profile_row(&w->profile->mappings, i), &known[i]);
    const struct sw_profile_mapping_row program = { .file = w->profile->executable_path ? w->profile->executable_path
                                                                                        : w->profile->service };
    known[0].functions = true;
    if (count == 1)
        put_mapping(w, 1, &program, &known[0]);
    free(known);
}

static void put_location(struct writing *w, uint32_t number)
{
    const struct sw_profile_location_row *row = sw_profile_row(&w->profile->locations, number);
    profile_message part = PERFTOOLS__PROFILES__PROFILE__INIT;
    Perftools__Profiles__Location location = PERFTOOLS__PROFILES__LOCATION__INIT, *list[] = { &location };
    Perftools__Profiles__Line lines[SW_PROFILE_LINES_MAX], *line_list[SW_PROFILE_LINES_MAX];
    for (uint32_t at = row->line; at && location.n_line < SW_PROFILE_LINES_MAX; location.n_line++) {
        const struct sw_profile_line_row *from = sw_profile_row(&w->profile->lines, at);
        Perftools__Profiles__Line *line = line_list[location.n_line] = &lines[location.n_line];
        perftools__profiles__line__init(line);
        line->function_id = from->function;
        line->line = from->line;
        line->column = from->column;
        at = from->outer;
    }
    location.id = number;
    location.mapping_id = sw_profile_row_count(&w->profile->mappings) == 1 ? 1 : row->mapping;
    location.address = row->address;
    location.line = line_list;
    part.n_location = 1;
    part.location = list;
    put(w, &part);
}

static void put_function(struct writing *w, uint32_t number)
{
    const struct sw_profile_function_row *row = sw_profile_row(&w->profile->functions, number);
    profile_message part = PERFTOOLS__PROFILES__PROFILE__INIT;
    Perftools__Profiles__Function function = PERFTOOLS__PROFILES__FUNCTION__INIT, *list[] = { &function };
    function.id = number;
    function.name = row->name ? row->name : row->system_name;
    function.system_name = row->system_name ? row->system_name : row->name;
    function.filename = row->file;
    function.start_line = row->start_line;
    part.n_function = 1;
    part.function = list;
    put(w, &part);
}

/* The id of a thread is a text, since readers drop a number that is 0. */
static size_t list_thread(const struct writing *w, uint32_t thread, label_message *labels)
{
    const struct sw_profile_thread_row *row = sw_profile_row(&w->profile->threads, thread);
    size_t count = 0;
    if (row->name) {
        labels[count].key = SW_PROFILE_WORD_THREAD;
        labels[count++].str = row->name;
    }
    if (thread) {
        labels[count].key = SW_PROFILE_WORD_THREAD_ID;
        labels[count++].str = w->thread_ids + thread;
    }
    return count;
}

static size_t list_labels(const struct writing *w, const struct sw_profile_sample_row *sample, label_message *labels)
{
    for (size_t i = 0; i < LABELS; i++)
        perftools__profiles__label__init(&labels[i]);
    size_t count = list_thread(w, sample->thread, labels);
    for (uint32_t set = sample->labels; set && count < LABELS; count++) {
        const struct sw_profile_label_set_row *row = sw_profile_row(&w->profile->label_sets, set);
        const struct sw_profile_label_row *label = sw_profile_row(&w->profile->labels, row->label);
        labels[count].key = label->key;
        labels[count].str = label->text;
        labels[count].num = label->number;
        /* A number 0 without a unit would be dropped, too. */
        labels[count].num_unit = label->is_number && !label->unit ? SW_PROFILE_WORD_COUNT : label->unit;
        set = row->others;
    }
    return count;
}

/* Leaf first, as the rows are. */
static size_t list_stack(struct writing *w, uint32_t stack)
{
    size_t depth = 0;
    for (uint32_t at = stack; at; depth++)
        at = ((const struct sw_profile_stack_row *)sw_profile_row(&w->profile->stacks, at))->caller;
    if (!make_room(w, (void **)&w->stack, &w->stack_slots, depth, sizeof *w->stack))
        return 0;
    for (size_t i = 0; i < depth; i++) {
        const struct sw_profile_stack_row *row = sw_profile_row(&w->profile->stacks, stack);
        w->stack[i] = row->location;
        stack = row->caller;
    }
    return depth;
}

static void put_sample(struct writing *w, size_t number)
{
    const struct sw_profile_sample_row *row = sw_profile_row(&w->profile->samples, number);
    const int64_t *sums = sw_profile_sums(w->profile, number);
    profile_message part = PERFTOOLS__PROFILES__PROFILE__INIT;
    Perftools__Profiles__Sample sample = PERFTOOLS__PROFILES__SAMPLE__INIT, *list[] = { &sample };
    label_message labels[LABELS], *label_list[LABELS];
    if (!sw_profile_any(sums, w->profile->column_count))
        return;
    for (size_t i = 0; i < LABELS; i++)
        label_list[i] = &labels[i];
    sample.n_label = list_labels(w, row, labels);
    sample.label = label_list;
    sample.n_location_id = list_stack(w, row->stack);
    sample.location_id = w->stack;
    sample.n_value = w->profile->column_count;
    sample.value = (int64_t *)sums;
    part.n_sample = 1;
    part.sample = list;
    put(w, &part);
}

static void put_all(struct writing *w)
{
    put_header(w);
    put_texts(w);
    put_mappings(w);
    for (uint32_t i = 1; i < sw_profile_row_count(&w->profile->functions); i++)
        put_function(w, i);
    for (uint32_t i = 1; i < sw_profile_row_count(&w->profile->locations); i++)
        put_location(w, i);
    for (size_t i = 0; i < sw_profile_row_count(&w->profile->samples) && !w->failed; i++)
        put_sample(w, i);
}

enum sw_profile_status sw_profile_write_pprof(const struct sw_profile *profile, FILE *file)
{
    struct writing w = { .profile = profile, .gzip = sw_profile_gzip_open(file) };
    if (!w.gzip)
        return SW_PROFILE_E_MEMORY;
    put_all(&w);
    const bool whole = sw_profile_gzip_close(w.gzip) && !w.failed;
    free(w.packed);
    free(w.stack);
    return whole ? sw_profile_written(file) : SW_PROFILE_E_MEMORY;
}
