/*
 * What the files of scripts share: a script that is played, the table of statements, and the names that it speaks of.
 *
 *   words.c       lines and words
 *   script.c      playing
 *   heading.c     what stands before the first step
 *   steps.c       statements that do something, and what their words mean
 *   expect.c      statements that look, and change nothing
 *   names.c       modules, functions and threads by their names
 */
#ifndef SW_HARNESS_SCRIPT_H
#define SW_HARNESS_SCRIPT_H

#include "hash.h"
#include "tube.h"

enum { SW_SCRIPT_LINE = 4096, SW_SCRIPT_WORDS = 24, SW_SCRIPT_STACK = 64 * 1024 };

/* Names of one kind. All zero is empty. read: how many elements of the tube's list are in it. */
struct sw_names {
    struct sw_hash hash;
    size_t read;
};

enum sw_names_kind { SW_NAMES_MODULES, SW_NAMES_FUNCTIONS, SW_NAMES_THREADS, SW_NAMES_KINDS };

/* What a word means. */
struct sw_argument {
    const char *text; /* null: an optional word that is not there */
    struct sw_tube_module *module;
    struct sw_tube_function *function;
    struct sw_tube_thread *thread;
    uint64_t low, high; /* a number, or a range */
    bool is_relative;   /* the number is behind a + */
    HRESULT hr;
};

/*
 * A script that is read or played.
 *
 * tube     Null while its heading is read.
 * line     Counted from 1. raw: it, without its end. text: its words, each with a terminator.
 * words    Where word n begins and ends in `raw`: begins[n], ends[n]; its text: words[n], in `text` or in `values`.
 * statement  What the line says; null: nobody knows yet.
 * reason   Why the line makes no sense; "": the tube's problem says it.
 */
struct sw_script {
    struct sw_tube *tube;
    const char *name;
    struct sw_names names[SW_NAMES_KINDS];
    unsigned line;
    char raw[SW_SCRIPT_LINE], text[SW_SCRIPT_LINE], values[SW_SCRIPT_LINE];
    size_t values_used;
    const char *words[SW_SCRIPT_WORDS];
    size_t begins[SW_SCRIPT_WORDS], ends[SW_SCRIPT_WORDS], count;
    const char *statement;
    bool has_begun;
    char reason[400];
    char stack[SW_SCRIPT_STACK];
};

/*
 * One statement.
 *
 * word     Its first word, or two.
 * takes    Its arguments as a manual writes them: "THREAD FUNCTION", "[THREAD]", "FLAG...".
 * play     Makes the step. `arguments` has SW_SCRIPT_WORDS elements; those that are not there have a null text.
 */
struct sw_statement {
    const char *word, *takes;
    enum sw_status (*play)(struct sw_script *script, const struct sw_argument *arguments);
};

extern const struct sw_statement sw_script_steps[];
extern const size_t sw_script_step_count;
extern const struct sw_statement sw_script_expectations[];
extern const size_t sw_script_expectation_count;

/* Says why a line makes no sense, as printf. Returns `status`. */
enum sw_status sw_script_say(struct sw_script *script, enum sw_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The next line, as words; *text is moved behind it, and is null behind the last. */
enum sw_status sw_script_next(struct sw_script *script, const char **text);

/* How many of the words are those of a statement, one or two; 0: it is another. */
size_t sw_script_words_of(const char *statement, const char *const *words, size_t count);

/* What words mean to a statement that takes them; SW_E_MALFORMED: they do not fit. */
enum sw_status sw_script_arguments(struct sw_script *script, const char *takes, const char *const *words, size_t count,
                                   struct sw_argument *arguments);

/* Reads a line as one of the heading. *is_heading: whether it is one. heading: may be null. */
enum sw_status sw_script_heading_line(struct sw_script *script, struct sw_tube_heading *heading, bool *is_heading);

/* "script.tube:12: return: thread main has no frame" */
void sw_script_sentence(const struct sw_script *script, const char *reason, char *text, size_t size);

/* "3", "3..", "..5", "3..5" and a number. */
bool sw_script_range(const char *word, uint64_t *low, uint64_t *high);
bool sw_script_number(const char *word, uint64_t *number);

/* The newest element of that name; null: none. */
void *sw_names_find(struct sw_names *names, const struct sw_tube *tube, enum sw_names_kind kind, const char *name);
void sw_names_free(struct sw_names *names);

/* ORDER sw_flavour, ORDER sw_machine (those that a tube has). */
extern const char *const sw_script_flavours[SW_FLAVOUR_COUNT];
const char *sw_script_machine(enum sw_machine machine);

#endif
