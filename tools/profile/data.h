/*
 * What a profile holds: rows of numbers that name each other. Writers read it; only collect.c and share.c write. Rows
 * have no padding, so that equal ones are equal bytes; number 0 is "none" in every table. A row names only rows that
 * came before it.
 */
#ifndef PROFILE_DATA_H
#define PROFILE_DATA_H

#include "profile.h"
#include "table.h"

struct sw_profile_function_row {
    uint32_t name, system_name, file, unused;
    int64_t start_line;
};

/* `outer`: the line of the function that this one is inlined into. */
struct sw_profile_line_row {
    uint32_t function, outer;
    int64_t line, column;
};

struct sw_profile_mapping_row {
    uint64_t start, limit, file_offset;
    uint32_t file, build_id, htlhash, unused;
};

/* `line`: the innermost. */
struct sw_profile_location_row {
    uint64_t address;
    uint32_t mapping, kind, line, unused;
};

struct sw_profile_thread_row {
    uint64_t id;
    uint32_t name, unused;
};

struct sw_profile_label_row {
    uint32_t key, text, unit, is_number;
    int64_t number;
};

/* A list: a label, and the set of the others. */
struct sw_profile_label_set_row {
    uint32_t label, others;
};

/* A stack: a location, and the stack of its callers; 0 is the root. */
struct sw_profile_stack_row {
    uint32_t location, caller;
};

/* Samples that are alike; their sums are at the same place in `sums`. */
struct sw_profile_sample_row {
    uint32_t stack, thread, labels;
};

/* One sample with a time; its values are at the same place in `event_values`. */
struct sw_profile_event {
    uint64_t time_ns;
    uint32_t sample, unused;
};

/* Texts that every profile has. ORDER sw_profile_word: collect.c. */
enum sw_profile_word {
    SW_PROFILE_WORD_NONE = 0,
    SW_PROFILE_WORD_BOUND,
    SW_PROFILE_WORD_CUT,
    SW_PROFILE_WORD_THREAD,
    SW_PROFILE_WORD_THREAD_ID,
    SW_PROFILE_WORD_OTLP_THREAD,
    SW_PROFILE_WORD_OTLP_THREAD_ID,
    SW_PROFILE_WORD_COUNT,
    SW_PROFILE_WORD_FIXED, /* behind it: those of the options, in collect.c */
};

/* Rows that every profile has, behind the empty ones. */
enum {
    SW_PROFILE_BOUND_LOCATION = 1,
    SW_PROFILE_CUT_LOCATION = 2,
    SW_PROFILE_BOUND_STACK = 1,
    SW_PROFILE_BOUND_SAMPLE = 1
};

enum { SW_PROFILE_COMMENTS = 8, SW_PROFILE_COMMENT_BYTES = 200 };

struct sw_profile_column {
    uint32_t type, unit;
};

struct sw_profile {
    struct sw_profile_budget budget;
    struct sw_profile_texts texts;
    struct sw_profile_table functions, lines, mappings, locations, threads, labels, label_sets, stacks, samples;
    struct sw_profile_array sums, events, event_values;
    struct sw_profile_column columns[SW_PROFILE_VALUES_MAX], period_type;
    size_t column_count, default_column;
    int64_t period;
    uint64_t time_ns, duration_ns, pid;
    uint32_t service, executable_path, runtime, producer, producer_version;
    bool keep_times;
    struct sw_profile_counts counts;
};

static inline const char *sw_profile_text(const struct sw_profile *profile, uint32_t number)
{
    return sw_profile_texts_get(&profile->texts, number);
}

static inline const void *sw_profile_row(const struct sw_profile_table *table, size_t number)
{
    return sw_profile_array_at(&table->rows, number);
}

static inline size_t sw_profile_row_count(const struct sw_profile_table *table)
{
    return table->rows.count;
}

/* The sums of a sample, a column each. */
static inline const int64_t *sw_profile_sums(const struct sw_profile *profile, size_t sample)
{
    return sw_profile_array_at(&profile->sums, sample);
}

/* The same, to be changed. */
static inline int64_t *sw_profile_sums_of(struct sw_profile *profile, size_t sample)
{
    return (int64_t *)(profile->sums.items + sample * profile->sums.item_bytes);
}

/* Every sample has a time, so that formats with an order in time can be written. */
static inline bool sw_profile_has_times(const struct sw_profile *profile)
{
    return profile->keep_times && !profile->counts.times_lost && profile->events.count;
}

/* To at least 0, at most INT64_MAX; *saturated: it would have been more. Both are 0 or more. */
static inline int64_t sw_profile_sum(int64_t a, int64_t b, bool *saturated)
{
    *saturated = a > INT64_MAX - b;
    return *saturated ? INT64_MAX : a + b;
}

/* Whether one of the values is not 0: samples of nothing are not written. */
static inline bool sw_profile_any(const int64_t *values, size_t count)
{
    int64_t any = 0;
    for (size_t i = 0; i < count; i++)
        any |= values[i];
    return any != 0;
}

/*
 * Names of kinds, for people ("managed, JIT"), for OTLP (profile.frame.type; "" where it has no word) and for
 * folded text.
 */
struct sw_profile_kind_words {
    const char *people, *otlp, *suffix;
};
const struct sw_profile_kind_words *sw_profile_kind_words(enum sw_profile_kind kind);

/* "name (id)", or what is known of that. */
void sw_profile_thread_text(const struct sw_profile *profile, uint32_t thread, char *text, size_t size);

/* The title of a view; SW_PROFILE_OK where everything written to the file has arrived. */
const char *sw_profile_title(const struct sw_profile *profile, const struct sw_profile_view *view);
enum sw_profile_status sw_profile_written(FILE *file);

/* What is said of what was lost, a sentence each; returns how many. */
size_t sw_profile_comments(const struct sw_profile *profile,
                           char comments[SW_PROFILE_COMMENTS][SW_PROFILE_COMMENT_BYTES]);

/* When it began and ended: what the options say, and wide enough for every sample's time. Half open. */
void sw_profile_get_span(const struct sw_profile *profile, uint64_t *begin, uint64_t *end);

#endif
