/*
 * Playing a scenario that is written as text: line by line, until one makes no sense. Knows how a line is chosen and
 * what is said of it; what it may say is in the tables of heading.c, steps.c and expect.c.
 */
#include "script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- conditions ---- */

static bool is_word(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
        if (strncmp(at, word, length) == 0 && (at[length] == 0 || at[length] == ','))
            return true;
    return false;
}

/* "coreclr-unix,documented": whether the tube is one of these. */
static bool is_under(const struct sw_tube *tube, const char *conditions)
{
    return is_word(conditions, sw_script_flavours[tube->options.flavour]) ||
           is_word(conditions, tube->options.simulated ? "simulated" : "real") ||
           is_word(conditions, sw_script_machine(tube->machine));
}

static bool is_condition(const char *word)
{
    for (size_t i = 0; i < SW_FLAVOUR_COUNT; i++)
        if (strcmp(word, sw_script_flavours[i]) == 0)
            return true;
    return is_word("simulated,real,x64,arm64", word) && !strchr(word, ',');
}

static bool are_conditions(const char *conditions)
{
    char word[32];
    for (const char *at = conditions; at; at = strchr(at, ','), at = at ? at + 1 : NULL) {
        const size_t length = strcspn(at, ",");
        if (length == 0 || length >= sizeof word)
            return false;
        memcpy(word, at, length);
        word[length] = 0;
        if (!is_condition(word))
            return false;
    }
    return true;
}

/* ---- a line ---- */

static const struct sw_statement *find_in(const struct sw_statement *table, size_t rows, const char *const *words,
                                          size_t count, size_t *taken)
{
    const struct sw_statement *found = NULL;
    *taken = 0;
    for (size_t row = 0; row < rows; row++) {
        const size_t of = sw_script_words_of(table[row].word, words, count);
        if (of <= *taken)
            continue;
        found = &table[row];
        *taken = of;
    }
    return found;
}

static const struct sw_statement *find(const char *const *words, size_t count, size_t *taken)
{
    const struct sw_statement *found = find_in(sw_script_steps, sw_script_step_count, words, count, taken);
    return found ? found : find_in(sw_script_expectations, sw_script_expectation_count, words, count, taken);
}

/* Writes the step down, and tells who watches: "script.tube:12: call main Demo.Program.Main". */
static void announce(struct sw_script *script, size_t arguments)
{
    char text[SW_SCRIPT_LINE + 256], with[SW_SCRIPT_LINE];
    const size_t last = script->ends[script->count - 1];
    const size_t from = arguments < script->count ? script->begins[arguments] : last;
    snprintf(text, sizeof text, "%s:%u: %.*s", script->name, script->line, (int)(last - script->begins[0]),
             script->raw + script->begins[0]);
    snprintf(with, sizeof with, "%.*s", (int)(last - from), script->raw + from);
    sw_tube_entered(script->tube, "step", text);
    sw_tube_record_begin(script->tube, "step", script->statement);
    sw_tube_record_text(script->tube, "with", with);
    sw_tube_record_end(script->tube);
}

static enum sw_status play_words(struct sw_script *script, size_t from)
{
    struct sw_argument arguments[SW_SCRIPT_WORDS];
    size_t taken;
    const struct sw_statement *statement = find(script->words + from, script->count - from, &taken);
    script->statement = statement ? statement->word : script->words[from];
    if (!statement)
        return sw_script_say(script, SW_E_MALFORMED, "there is no such statement");
    from += taken;
    const enum sw_status status =
        sw_script_arguments(script, statement->takes, script->words + from, script->count - from, arguments);
    if (status != SW_OK)
        return status;
    announce(script, from);
    return statement->play(script, arguments);
}

static enum sw_status play_line(struct sw_script *script)
{
    bool is_heading;
    enum sw_status status = sw_script_heading_line(script, NULL, &is_heading);
    if (status != SW_OK || is_heading)
        return status;
    script->has_begun = true;
    if (strcmp(script->words[0], "under") != 0)
        return play_words(script, 0);
    script->statement = "under";
    if (script->count < 3 || !are_conditions(script->words[1]))
        return sw_script_say(script, SW_E_MALFORMED,
                             "needs conditions, such as coreclr-unix,simulated,arm64, and a statement");
    return is_under(script->tube, script->words[1]) ? play_words(script, 2) : SW_OK;
}

/* ---- all lines ---- */

/* The tube's sentence begins with the step, which is said already: "return: ...", "module: ...". */
static const char *reason_of(const struct sw_script *script, enum sw_status status)
{
    const char *problem = script->tube->problem, *behind = strstr(problem, ": ");
    const size_t word = behind ? (size_t)(behind - problem) : 0;
    if (script->reason[0])
        return script->reason;
    if (!problem[0])
        return sw_status_name(status);
    const bool is_step =
        strncmp(problem, "sw_tube_", 8) == 0 || (script->statement && strncmp(problem, script->statement, word) == 0);
    return behind && is_step && !memchr(problem, ' ', word) ? behind + 2 : problem;
}

static enum sw_status report(struct sw_script *script, enum sw_status status)
{
    char sentence[sizeof script->tube->problem];
    sw_script_sentence(script, reason_of(script, status), sentence, sizeof sentence);
    script->tube->problem[0] = 0;
    return sw_tube_problem_set(script->tube, status, "%s", sentence);
}

enum sw_status sw_tube_play(struct sw_tube *tube, const char *name, const char *text)
{
    if (!tube || !name || !text)
        return SW_E_ARGUMENT;
    if (tube->problem[0])
        return SW_E_BUSY;
    struct sw_script *script = calloc(1, sizeof *script);
    enum sw_status status = SW_OK;
    if (!script)
        return sw_tube_problem_set(tube, SW_E_NO_MEMORY, "sw_tube_play: no memory");
    script->tube = tube;
    script->name = name;
    while (text && status == SW_OK) {
        status = sw_script_next(script, &text);
        if (status == SW_OK && script->count > 0)
            status = play_line(script);
        if (status == SW_OK && tube->problem[0])
            status = SW_E_MALFORMED;
    }
    if (status != SW_OK)
        status = report(script, status);
    for (size_t kind = 0; kind < SW_NAMES_KINDS; kind++)
        sw_names_free(&script->names[kind]);
    free(script);
    return status;
}
