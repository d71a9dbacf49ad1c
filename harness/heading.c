/*
 * The first lines of a script: what tube it wants, and how it is to end. They change nothing when it is played; who
 * makes the tube reads them before.
 */
#include "script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const sw_script_flavours[SW_FLAVOUR_COUNT] = { "documented", "coreclr-windows", "coreclr-unix" };

static const struct {
    const char *name;
    enum sw_machine machine;
} machines[] = { { "x64", SW_MACHINE_X64 }, { "arm64", SW_MACHINE_ARM64 } };

/* ORDER sw_tube_outcome. */
static const char *const outcomes[] = { "done", "crash", "hang", "exit", "problem" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *sw_script_machine(enum sw_machine machine)
{
    for (size_t i = 0; i < COUNT(machines); i++)
        if (machines[i].machine == machine)
            return machines[i].name;
    return "?";
}

static bool read_flavour(struct sw_tube_heading *heading, const struct sw_argument *arguments)
{
    for (size_t i = 0; i < SW_FLAVOUR_COUNT; i++)
        if (strcmp(sw_script_flavours[i], arguments[0].text) == 0) {
            heading->options.flavour = (enum sw_flavour)i;
            return true;
        }
    return false;
}

static bool read_machine(struct sw_tube_heading *heading, const struct sw_argument *arguments)
{
    for (size_t i = 0; i < COUNT(machines); i++)
        if (strcmp(machines[i].name, arguments[0].text) == 0) {
            heading->options.machine = machines[i].machine;
            return true;
        }
    return false;
}

static bool read_simulated(struct sw_tube_heading *heading, const struct sw_argument *arguments)
{
    (void)arguments;
    heading->options.simulated = true;
    return true;
}

static bool read_version(struct sw_tube_heading *heading, const struct sw_argument *arguments)
{
    const bool is_known = arguments[0].low >= 8 && arguments[0].low <= 10;
    if (is_known)
        heading->options.version = (unsigned)arguments[0].low;
    return is_known;
}

static bool read_limit(struct sw_tube_heading *heading, const struct sw_argument *arguments)
{
    const bool is_possible = arguments[0].low >= 1 && arguments[0].low <= 3600;
    if (is_possible)
        heading->seconds = (unsigned)arguments[0].low;
    return is_possible;
}

static bool read_outcome(struct sw_tube_heading *heading, const struct sw_argument *arguments)
{
    const char *detail = arguments[1].text ? arguments[1].text : "";
    if (strlen(detail) >= sizeof heading->detail)
        return false;
    strcpy(heading->detail, detail);
    for (size_t i = 0; i < COUNT(outcomes); i++)
        if (strcmp(outcomes[i], arguments[0].text) == 0) {
            heading->outcome = (enum sw_tube_outcome)i;
            return true;
        }
    return false;
}

static const struct {
    const char *word, *takes;
    bool (*read)(struct sw_tube_heading *heading, const struct sw_argument *arguments);
    const char *allowed;
} rows[] = {
    /* clang-format off */
    { "flavour",   "FLAVOUR",          read_flavour,   "documented, coreclr-windows or coreclr-unix" },
    { "machine",   "MACHINE",          read_machine,   "x64 or arm64" },
    { "simulated", "",                 read_simulated, "nothing" },
    { "version",   "NUMBER",           read_version,   "8, 9 or 10" },
    { "limit",     "NUMBER",           read_limit,     "1 to 3600 seconds" },
    { "outcome",   "OUTCOME [DETAIL]", read_outcome,   "done, crash, hang, exit or problem" },
    /* clang-format on */
};

enum sw_status sw_script_heading_line(struct sw_script *script, struct sw_tube_heading *heading, bool *is_heading)
{
    struct sw_tube_heading unused = { 0 };
    struct sw_argument arguments[SW_SCRIPT_WORDS];
    size_t row = 0;
    while (row < COUNT(rows) && !sw_script_words_of(rows[row].word, script->words, script->count))
        row++;
    *is_heading = row < COUNT(rows);
    if (!*is_heading)
        return SW_OK;
    script->statement = rows[row].word;
    if (script->has_begun)
        return sw_script_say(script, SW_E_MALFORMED, "stands in front of the first step");
    const enum sw_status status =
        sw_script_arguments(script, rows[row].takes, script->words + 1, script->count - 1, arguments);
    if (status != SW_OK || rows[row].read(heading ? heading : &unused, arguments))
        return status;
    return sw_script_say(script, SW_E_MALFORMED, "takes %s", rows[row].allowed);
}

enum sw_status sw_tube_heading_read(const char *name, const char *text, struct sw_tube_heading *heading, char *problem,
                                    size_t size)
{
    if (!name || !text || !heading || (!problem && size))
        return SW_E_ARGUMENT;
    struct sw_script *script = calloc(1, sizeof *script);
    enum sw_status status = script ? SW_OK : SW_E_NO_MEMORY;
    bool is_heading = true;
    *heading = (struct sw_tube_heading){ 0 };
    if (size)
        problem[0] = 0;
    if (!script)
        return status;
    script->name = name;
    while (text && is_heading && status == SW_OK) {
        status = sw_script_next(script, &text);
        if (status == SW_OK && script->count > 0)
            status = sw_script_heading_line(script, heading, &is_heading);
    }
    if (status != SW_OK && size)
        sw_script_sentence(script, script->reason, problem, size);
    free(script);
    return status;
}
