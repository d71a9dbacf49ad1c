/*
 * What the words behind a statement mean, by the kinds that its row names: "THREAD FUNCTION", "[THREAD]", "[FLAG...]".
 * Refuses to know the statements.
 */
#include "script.h"

#include <string.h>

typedef bool reader(struct sw_script *script, const char *word, struct sw_argument *to);

static bool read_module(struct sw_script *script, const char *word, struct sw_argument *to)
{
    to->module = sw_names_find(&script->names[SW_NAMES_MODULES], script->tube, SW_NAMES_MODULES, word);
    return to->module != NULL;
}

static bool read_function(struct sw_script *script, const char *word, struct sw_argument *to)
{
    to->function = sw_names_find(&script->names[SW_NAMES_FUNCTIONS], script->tube, SW_NAMES_FUNCTIONS, word);
    return to->function != NULL;
}

static bool read_thread(struct sw_script *script, const char *word, struct sw_argument *to)
{
    to->thread = sw_names_find(&script->names[SW_NAMES_THREADS], script->tube, SW_NAMES_THREADS, word);
    return to->thread != NULL;
}

static bool read_number(struct sw_script *script, const char *word, struct sw_argument *to)
{
    (void)script;
    return sw_script_number(word, &to->low) && to->low <= UINT32_MAX;
}

/* "3", or "+3": three more than now. */
static bool read_count(struct sw_script *script, const char *word, struct sw_argument *to)
{
    to->is_relative = *word == '+';
    return read_number(script, word + to->is_relative, to);
}

static bool read_range(struct sw_script *script, const char *word, struct sw_argument *to)
{
    (void)script;
    return sw_script_range(word, &to->low, &to->high);
}

static bool read_slot(struct sw_script *script, const char *word, struct sw_argument *to)
{
    (void)script, (void)to;
    for (size_t slot = 0; slot < SW_TUBE_INFO_SLOTS; slot++)
        if (strcmp(sw_tube_slot_name(slot), word) == 0)
            return true;
    return false;
}

static bool read_callback(struct sw_script *script, const char *word, struct sw_argument *to)
{
    (void)script, (void)to;
    for (size_t slot = 0; slot < SW_TUBE_CALLBACK_SLOTS; slot++)
        if (strcmp(sw_tube_callback_name(slot), word) == 0)
            return true;
    return false;
}

static const struct {
    const char *kind;
    reader *read;
    const char *what;
} kinds[] = {
    /* clang-format off */
    { "MODULE",   read_module,   "no module of this tube" },
    { "FUNCTION", read_function, "no function of this tube" },
    { "THREAD",   read_thread,   "no thread of this tube" },
    { "NUMBER",   read_number,   "no number" },
    { "COUNT",    read_count,    "no number (3, or +3: more than now)" },
    { "RANGE",    read_range,    "no number of times (3, 3.., ..5, 3..5)" },
    { "SLOT",     read_slot,     "no method of ICorProfilerInfo" },
    { "CALLBACK", read_callback, "no method of ICorProfilerCallback" },
    /* clang-format on */
};

/* A kind as it stands in a row: "[THREAD]", "[FLAG...]". */
struct wanted {
    const char *kind;
    size_t length;
    bool is_optional, is_repeated;
};

/* The next kind of a row; false: there is none. A kind that is repeated stays. */
static bool next_wanted(const char **takes, struct wanted *wanted)
{
    const char *at = *takes + strspn(*takes, " ");
    const size_t length = strcspn(at, " ");
    if (length == 0)
        return false;
    wanted->is_optional = at[0] == '[';
    wanted->kind = at + wanted->is_optional;
    wanted->length = length - 2 * wanted->is_optional;
    wanted->is_repeated = wanted->length > 3 && memcmp(wanted->kind + wanted->length - 3, "...", 3) == 0;
    if (wanted->is_repeated)
        wanted->length -= 3;
    else
        *takes = at + length;
    return true;
}

static enum sw_status read_word(struct sw_script *script, const struct wanted *wanted, const char *word,
                                struct sw_argument *to)
{
    to->text = word;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strlen(kinds[i].kind) != wanted->length || memcmp(kinds[i].kind, wanted->kind, wanted->length) != 0)
            continue;
        if (!kinds[i].read(script, word, to))
            return sw_script_say(script, SW_E_MALFORMED, "\"%s\" is %s", word, kinds[i].what);
    }
    return SW_OK;
}

static enum sw_status misses(struct sw_script *script, const char *takes, const char *what)
{
    return sw_script_say(script, SW_E_MALFORMED, "%s; takes %s", what, *takes ? takes : "nothing");
}

enum sw_status sw_script_arguments(struct sw_script *script, const char *takes, const char *const *words, size_t count,
                                   struct sw_argument *arguments)
{
    const char *left = takes;
    struct wanted wanted;
    size_t i = 0;
    memset(arguments, 0, SW_SCRIPT_WORDS * sizeof *arguments);
    for (; i < count; i++) {
        if (!next_wanted(&left, &wanted))
            return misses(script, takes, "a word too many");
        const enum sw_status status = read_word(script, &wanted, words[i], &arguments[i]);
        if (status != SW_OK)
            return status;
    }
    if (next_wanted(&left, &wanted) && !wanted.is_optional)
        return misses(script, takes, "a word is missing");
    return SW_OK;
}
