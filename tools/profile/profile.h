/*
 * Profiles: samples of stacks, collected once in bounded memory and written in the formats that viewers read: pprof,
 * OTLP, speedscope, a page and folded text. In libsnapwalk-profile.a, which stands on nothing of this library: where
 * a stack comes from does not matter.
 *
 *     struct sw_profile *profile;
 *     const struct sw_profile_value_type values[] = { { "samples", "count" }, { "cpu", "nanoseconds" } };
 *     const struct sw_profile_options options = { .values = values, .value_count = 2, .default_value = 1 };
 *     sw_profile_create(&options, &profile);
 *     const struct sw_profile_line line = { .function = "Demo.Program.Main", .file = "Program.cs", .line = 12 };
 *     const struct sw_profile_location place = { .kind = SW_PROFILE_JIT, .lines = &line, .line_count = 1 };
 *     uint32_t frame = sw_profile_location_add(profile, &place);
 *     sw_profile_sample_add(profile, &(struct sw_profile_sample){ .stack = &frame, .depth = 1,
 *                                                                 .values = (const int64_t[]){ 1, 10000000 } });
 *     sw_profile_write_speedscope(profile, &(struct sw_profile_view){ 0 }, file);
 *     sw_profile_destroy(profile);
 *
 * What is alike is kept once: texts, functions, locations, mappings, threads, stacks (as a tree from their roots) and
 * samples of one stack, thread and set of labels, whose values are added up. Nothing is lost silently: a sample that
 * the memory bound has no room for is counted under a frame of its own, "[memory bound reached]", so that totals
 * stay true; and sw_profile_counts, which every format repeats, says how many there were.
 *
 * Texts are cleaned as they come in, once for all formats: what is no UTF-8, controls and characters that turn the
 * direction of a line become visible ("\x1b", "\u{202e}"); more than SW_PROFILE_TEXT_BYTES are cut, with "..." at
 * the end. Null texts are empty ones.
 *
 * Threads  One at a time for each profile. Signals: none of these functions may be called in a handler.
 * Memory   malloc. Tables take at most max_bytes, also while one grows; writers need more, each says how much.
 * Errors   Every function that can fail says how: an answer of enum sw_profile_status. Null profiles are not allowed.
 */
#ifndef SNAPWALK_PROFILE_H
#define SNAPWALK_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_profile;

enum {
    SW_PROFILE_VALUES_MAX = 8,
    SW_PROFILE_LABELS_MAX = 16,
    SW_PROFILE_DEPTH_MAX = 65536, /* of a deeper stack the innermost frames are kept, under "[deeper frames cut]" */
    SW_PROFILE_LINES_MAX = 256,   /* of a location; the innermost of more are left out */
    SW_PROFILE_TEXT_BYTES = 4096,
    SW_PROFILE_BYTES_DEFAULT = 64 << 20,
    SW_PROFILE_BYTES_MIN = 256 << 10,
};

enum sw_profile_status {
    SW_PROFILE_OK = 0,
    SW_PROFILE_E_ARGUMENT = -1, /* out of the ranges that are said below */
    SW_PROFILE_E_MEMORY = -2,   /* malloc failed */
    SW_PROFILE_E_BOUND = -3,    /* the memory bound is reached: counted under "[memory bound reached]" */
    SW_PROFILE_E_WRITE = -4,    /* the file did not take what was written */
    SW_PROFILE_E_FORMAT = -5,   /* what was read is no such profile, or larger than 256 MB */
};

/* What a frame's code is; writers say it in their format's words. ORDER sw_profile_kind: words.c. */
enum sw_profile_kind {
    SW_PROFILE_OTHER = 0,   /* not known */
    SW_PROFILE_JIT,         /* managed, compiled as it ran */
    SW_PROFILE_PRECOMPILED, /* managed, compiled ahead: ReadyToRun, NGen */
    SW_PROFILE_NATIVE,
    SW_PROFILE_KERNEL,
    SW_PROFILE_KINDS,
};

/* What a column of values counts: { "cpu", "nanoseconds" }, { "alloc_space", "bytes" }, { "samples", "count" }. */
struct sw_profile_value_type {
    const char *type, *unit;
};

/*
 * What a profile is of. Only values and value_count are needed; zero leaves anything else unsaid.
 *
 * values         1 to SW_PROFILE_VALUES_MAX columns, copied.
 * default_value  The column that viewers show first.
 * period_type    With `period`, what one sample stands for: { "cpu", "nanoseconds" }, 10000000. Pyroscope wants both.
 * time_ns        When it began, nanoseconds since 1970 UTC.
 * max_bytes      Bound of all tables; 0: SW_PROFILE_BYTES_DEFAULT. At least SW_PROFILE_BYTES_MIN.
 * keep_times     Keeps each sample's time and values apart, 16 + 8 * value_count bytes each: speedscope's time order.
 *                Where one sample has no time, or the bound no room, none is written.
 * service        Which program or service it is of; a title.
 */
struct sw_profile_options {
    const struct sw_profile_value_type *values;
    size_t value_count, default_value;
    struct sw_profile_value_type period_type;
    int64_t period;
    uint64_t time_ns;
    size_t max_bytes;
    bool keep_times;
    const char *service, *executable_path, *runtime;
    uint64_t pid;
    const char *producer, *producer_version;
};

/*
 * A file that code was mapped from. For code that a JIT made: its assembly, addresses 0. build_id: the GNU one, in
 * hex.
 */
struct sw_profile_mapping {
    uint64_t start, limit, file_offset;
    const char *file, *build_id;
    const char *htlhash; /* OpenTelemetry's hash of files without a build id, in hex */
};

/* Line and column begin at 1; 0: not known. `system_name` is the mangled name where it differs. */
struct sw_profile_line {
    const char *function, *system_name, *file;
    int64_t line, column, start_line;
};

/*
 * A place in code. Several lines: functions that were inlined there, innermost first; the last is the function whose
 * code it is. No line: a name is not known, the mapping's stands for it.
 *
 * address  0: not known. For callers anywhere in the call instruction: return address - 1.
 * mapping  From sw_profile_mapping_add; 0: none.
 */
struct sw_profile_location {
    uint64_t address;
    uint32_t mapping;
    enum sw_profile_kind kind;
    const struct sw_profile_line *lines;
    size_t line_count;
};

/* Something else that is known of a sample: a text, or where `text` is NULL a number with its unit (NULL: none). */
struct sw_profile_label {
    const char *key, *text;
    int64_t number;
    const char *unit;
};

/*
 * stack    Locations, leaf first. depth 0: a sample without a stack.
 * values   value_count of them, each 0 or more.
 * thread   From sw_profile_thread_add; 0: none.
 * labels   From sw_profile_labels_add; 0: none.
 * time_ns  Since 1970 UTC; 0: not known.
 */
struct sw_profile_sample {
    const uint32_t *stack;
    size_t depth;
    const int64_t *values;
    uint32_t thread, labels;
    uint64_t time_ns;
};

/* What has happened so far. `said`: any of those below that is not 0 is in the comments of what is written. */
struct sw_profile_counts {
    uint64_t samples;       /* all that were added */
    uint64_t over_bound;    /* of them, under "[memory bound reached]" */
    uint64_t names_lost;    /* locations, threads, mappings and sets of labels that had no room */
    uint64_t texts_cut;     /* longer than SW_PROFILE_TEXT_BYTES */
    uint64_t stacks_cut;    /* deeper than SW_PROFILE_DEPTH_MAX */
    uint64_t saturated;     /* sums that stay at INT64_MAX */
    uint64_t times_lost;    /* keep_times is set, and a sample had no time or no room: it and all behind it */
    uint64_t stacks, bytes; /* nodes of the tree of stacks; bytes of all tables */
};

/*
 * An empty profile of that kind.
 *
 * Returns  SW_PROFILE_OK; E_ARGUMENT (no column, too many, default_value or max_bytes out of range); E_MEMORY.
 * Threads  As the header's first lines say. Signals: never in a handler.
 */
enum sw_profile_status sw_profile_create(const struct sw_profile_options *options, struct sw_profile **profile);

/* Frees it; NULL does nothing. Threads, Signals: as sw_profile_create. */
void sw_profile_destroy(struct sw_profile *profile);

/*
 * Numbers for a sample's parts. What is alike gets the same number, so callers may keep numbers, or ask again each
 * time.
 *
 * Returns  A number, valid as long as the profile. A part that has no room is one of its kind that says so ("[memory
 *          bound reached]"), or 0: none; and is counted. sw_profile_labels_add: 0, too, for more than
 *          SW_PROFILE_LABELS_MAX, for an empty key or one of threads ("thread", "thread_id", "thread.name",
 *          "thread.id"), and where a key is there twice. A mapping that was never given is none; so is a kind.
 * Threads  As the header's first lines say. Signals: never in a handler.
 */
uint32_t sw_profile_mapping_add(struct sw_profile *profile, const struct sw_profile_mapping *mapping);
uint32_t sw_profile_location_add(struct sw_profile *profile, const struct sw_profile_location *location);
uint32_t sw_profile_thread_add(struct sw_profile *profile, uint64_t id, const char *name);
uint32_t sw_profile_labels_add(struct sw_profile *profile, const struct sw_profile_label *labels, size_t count);

/*
 * Counts a sample. Sums that do not fit stay at INT64_MAX and are counted as saturated.
 *
 * Returns  SW_PROFILE_OK; E_BOUND (counted under "[memory bound reached]": nothing is to be done); E_ARGUMENT (a
 *          negative value, a number that was never given: nothing is counted).
 * Threads  As the header's first lines say. Signals: never in a handler.
 */
enum sw_profile_status sw_profile_sample_add(struct sw_profile *profile, const struct sw_profile_sample *sample);

/*
 * Gives all samples of a thread the same value in a column: what they sum up to there, shared out by how many they
 * are. For values that say how much went by since a thread's last sample, as of processor time: which of its samples
 * it goes to is chance, and where what a thread does depends on when it began, worse. Samples without a thread, or
 * with nothing in that column, stay as they are. The order in time has the values as they came.
 *
 * column   Whose sums are shared out.
 * counted  The column that says how many samples a sum is of.
 * Returns  SW_PROFILE_OK; E_ARGUMENT (no such column); E_MEMORY: nothing is changed.
 * Memory   16 bytes for each thread.
 * Threads  As the header's first lines say. Signals: never in a handler.
 */
enum sw_profile_status sw_profile_share(struct sw_profile *profile, size_t column, size_t counted, uint64_t more);

/* How long it lasted, for the formats that say so. Threads, Signals: as sw_profile_create. */
void sw_profile_set_duration(struct sw_profile *profile, uint64_t duration_ns);

/*
 * The number of the column of that type; of the one that is shown first, where `type` is NULL. False: there is none.
 * Threads, Signals: as sw_profile_create.
 */
bool sw_profile_find_column(const struct sw_profile *profile, const char *type, size_t *column);

/* What has happened so far. Threads, Signals: as sw_profile_create. */
void sw_profile_get_counts(const struct sw_profile *profile, struct sw_profile_counts *counts);

/* How the text formats show a profile; all zero is a good choice. */
struct sw_profile_view {
    const char *title; /* NULL: the service, or "profile" */
    size_t value;      /* folded: the column, of those of the profile */
    bool threads;      /* folded, page: threads as the outermost frames */
    bool kinds;        /* folded: suffixes _[j] _[k] _[i] behind names, as flamegraph.pl --color=java wants them */
};

/*
 * Adds the folded stacks of a file to a profile of one column. Suffixes of frames are cut off: _[j] says that it is JIT
 * code, _[k] the kernel's, _[i] that it was inlined, which is not kept.
 *
 * refused  Receives how many lines are none.
 * Returns  SW_PROFILE_OK, also where the file could be read only in part: ferror says so; E_MEMORY.
 * Memory   Of the longest line, and 8 bytes for each frame of the deepest stack.
 * Threads  As the header's first lines say. Signals: never in a handler.
 * Source   profile-formats.md section 4.
 */
enum sw_profile_status sw_profile_read_folded(struct sw_profile *profile, FILE *file, uint64_t *refused);

/*
 * A profile of the columns, texts and samples of a file in pprof's format, in gzip, whoever has written it: at most
 * SW_PROFILE_VALUES_MAX columns. Labels "thread" and "thread_id" become threads. What code is, is told by its mapping's
 * name. Comments are left out.
 *
 * options  max_bytes, producer and producer_version are taken; the rest is the file's.
 * refused  Receives how many samples have a negative value, and are left out.
 * Returns  SW_PROFILE_OK; E_FORMAT; E_MEMORY. ferror says whether all was read.
 * Memory   Some 40 times what the file holds, unpacked, while it is read.
 * Threads  As the header's first lines say. Signals: never in a handler.
 * Source   profile-formats.md section 1.
 */
enum sw_profile_status sw_profile_read_pprof(const struct sw_profile_options *options, FILE *file,
                                             struct sw_profile **profile, uint64_t *refused);

/*
 * pprof's profile.proto in gzip: `go tool pprof`, Pyroscope, Parca, speedscope. Labels "thread" and "thread_id".
 *
 * Returns  SW_PROFILE_OK; E_MEMORY; E_WRITE.
 * Memory   Some 300 KB, and 8 bytes for each frame of the deepest stack: samples are written one by one.
 * Threads  As the header's first lines say. Signals: never in a handler.
 * Source   profile-formats.md section 1.
 */
enum sw_profile_status sw_profile_write_pprof(const struct sw_profile *profile, FILE *file);

/*
 * OpenTelemetry's ProfilesData (v1development, 1.10 and 1.11), which is an ExportProfilesServiceRequest, too: what an
 * OTLP receiver takes at /v1development/profiles. thread.id is the operating system's.
 *
 * Returns  SW_PROFILE_OK; E_MEMORY; E_WRITE.
 * Memory   Some 200 bytes for each sample, location and function, 4 for each frame of a stack.
 * Threads  As the header's first lines say. Signals: never in a handler.
 * Source   profile-formats.md section 2.
 */
enum sw_profile_status sw_profile_write_otlp(const struct sw_profile *profile, FILE *file);

/*
 * Text formats, by functions: places in the same function are one frame; so is a row of places without a name in one
 * file.
 * folded      One line a stack, root first; ";" within names becomes ":".
 * speedscope  JSON, one profile a thread and column; in time order where times were kept.
 *
 * Returns  SW_PROFILE_OK; E_MEMORY; E_WRITE; E_ARGUMENT (view->value out of range).
 * Memory   Some 100 bytes for each node of the tree of stacks.
 * Threads  As the header's first lines say. Signals: never in a handler.
 * Source   profile-formats.md sections 3 and 4.
 */
enum sw_profile_status sw_profile_write_folded(const struct sw_profile *profile, const struct sw_profile_view *view,
                                               FILE *file);
enum sw_profile_status sw_profile_write_speedscope(const struct sw_profile *profile, const struct sw_profile_view *view,
                                                   FILE *file);

/*
 * A page with a flame graph, complete in itself: search, zoom, a choice of columns, colours by kind.
 *
 * before  NULL, or a profile that this one is compared with, by shares of the whole: columns of the same type, and all
 *         managed code as one kind.
 *
 * Returns  SW_PROFILE_OK; E_MEMORY; E_WRITE.
 * Memory   Some 100 bytes for each node of the tree of stacks.
 * Threads  As the header's first lines say. Signals: never in a handler.
 */
enum sw_profile_status sw_profile_write_html(const struct sw_profile *profile, const struct sw_profile *before,
                                             const struct sw_profile_view *view, FILE *file);

/*
 * Writes the format that a file's name ends in: .pb.gz, .pprof.gz, .otlp, .speedscope.json, .html, .folded, .txt. And
 * where in the name that ending begins; NULL: no format ends so.
 *
 * Returns  As the format's function; E_ARGUMENT: no format ends so.
 * Memory, Threads  As the format's function.
 */
enum sw_profile_status sw_profile_write_as(const struct sw_profile *profile, const char *name,
                                           const struct sw_profile_view *view, FILE *file);
const char *sw_profile_format_ending(const char *name);

#ifdef __cplusplus
}
#endif

#endif
