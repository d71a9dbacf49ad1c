/*
 * Scripts as lines and words. Refuses to know what they say. Every byte is hostile.
 *
 * A line is words with blanks between them. A word in quotes may have blanks; in quotes \" and \\ stand for " and \. A
 * # at the beginning of a word begins a comment. A $NAME at the beginning of a word without quotes is the variable of
 * the environment.
 */
#include "script.h"
#include "json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum sw_status sw_script_say(struct sw_script *script, enum sw_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(script->reason, sizeof script->reason, format, arguments);
    va_end(arguments);
    return status;
}

bool sw_script_number(const char *word, uint64_t *number)
{
    const size_t digits = strspn(word, "0123456789");
    if (digits == 0 || digits > 18 || word[digits])
        return false;
    *number = strtoull(word, NULL, 10);
    return true;
}

bool sw_script_range(const char *word, uint64_t *low, uint64_t *high)
{
    char first[24] = "";
    const char *dots = strstr(word, "..");
    *low = 0, *high = UINT64_MAX;
    if (!dots) {
        const bool fits = sw_script_number(word, low);
        *high = *low;
        return fits;
    }
    if ((size_t)(dots - word) >= sizeof first || (dots == word && !dots[2]))
        return false;
    memcpy(first, word, (size_t)(dots - word));
    return (!*first || sw_script_number(first, low)) && (!dots[2] || sw_script_number(dots + 2, high)) && *low <= *high;
}

/* ---- lines ---- */

/* Whether a line holds what text holds: UTF-8 without control characters, but tabs. */
static enum sw_status look_at(struct sw_script *script, const char *line, size_t length)
{
    if (length >= SW_SCRIPT_LINE)
        return sw_script_say(script, SW_E_MALFORMED, "the line has more than %d bytes", SW_SCRIPT_LINE - 1);
    for (size_t at = 0; at < length;) {
        const size_t bytes = sw_utf8_length(line + at);
        const unsigned char byte = (unsigned char)line[at];
        if (bytes == 0)
            return sw_script_say(script, SW_E_MALFORMED, "byte %zu is not UTF-8", at + 1);
        if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
            return sw_script_say(script, SW_E_MALFORMED, "byte %zu is a control character", at + 1);
        at += bytes;
    }
    return SW_OK;
}

/* Copies the next line without its end; *text is moved behind it, and is null behind the last. */
static enum sw_status take_line(struct sw_script *script, const char **text)
{
    const char *line = *text;
    const size_t whole = strcspn(line, "\n");
    const size_t length = whole > 0 && line[whole - 1] == '\r' ? whole - 1 : whole;
    script->line++;
    *text = line[whole] ? line + whole + 1 : NULL;
    const enum sw_status status = look_at(script, line, length);
    if (status != SW_OK)
        return status;
    memcpy(script->text, line, length);
    script->text[length] = 0;
    memcpy(script->raw, script->text, length + 1);
    return SW_OK;
}

/* ---- words ---- */

/* The word in quotes at `at`, unescaped in place. Returns behind it, or null. */
static char *take_quoted(char *at)
{
    char *to = at;
    for (at++; *at != '"'; at++) {
        if (*at == '\\' && (at[1] == '"' || at[1] == '\\'))
            at++;
        else if (*at == 0 || *at == '\\')
            return NULL;
        *to++ = *at;
    }
    *to = 0;
    return at + 1;
}

/* A $NAME at a word's beginning is replaced, and what is behind it stays: "$BUILD/libmine.so". */
static enum sw_status take_variable(struct sw_script *script, const char **word)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    char name[64], *made = script->values + script->values_used;
    const size_t length = strspn(*word + 1, letters), room = sizeof script->values - script->values_used;
    if (length == 0 || length >= sizeof name)
        return sw_script_say(script, SW_E_MALFORMED, "$ begins no name");
    memcpy(name, *word + 1, length);
    name[length] = 0;
    const char *value = getenv(name);
    if (!value)
        return sw_script_say(script, SW_E_MALFORMED, "$%s is not set", name);
    const int needed = snprintf(made, room, "%s%s", value, *word + 1 + length);
    if (needed < 0 || (size_t)needed >= room)
        return sw_script_say(script, SW_E_MALFORMED, "$%s is too long", name);
    script->values_used += (size_t)needed + 1;
    *word = made;
    return SW_OK;
}

static enum sw_status take_word(struct sw_script *script, char **at)
{
    char *word = *at;
    if (script->count == SW_SCRIPT_WORDS)
        return sw_script_say(script, SW_E_MALFORMED, "more than %d words", SW_SCRIPT_WORDS);
    script->words[script->count] = word;
    script->begins[script->count] = (size_t)(word - script->text);
    char *end = *word == '"' ? take_quoted(word) : word + strcspn(word, " \t");
    if (!end)
        return sw_script_say(script, SW_E_MALFORMED, "a quote is not closed, or a backslash stands before a letter");
    if (*end && *end != ' ' && *end != '\t')
        return sw_script_say(script, SW_E_MALFORMED, "a blank is missing behind a quote");
    const bool is_quoted = script->raw[word - script->text] == '"';
    *at = *end ? end + 1 : end;
    *end = 0;
    script->ends[script->count] = (size_t)(end - script->text);
    const enum sw_status status =
        !is_quoted && *word == '$' ? take_variable(script, &script->words[script->count]) : SW_OK;
    script->count++;
    return status;
}

static enum sw_status take_words(struct sw_script *script)
{
    char *at = script->text;
    script->count = script->values_used = 0;
    for (at += strspn(at, " \t"); *at && *at != '#'; at += strspn(at, " \t")) {
        const enum sw_status status = take_word(script, &at);
        if (status != SW_OK)
            return status;
    }
    return SW_OK;
}

enum sw_status sw_script_next(struct sw_script *script, const char **text)
{
    script->count = 0;
    script->statement = NULL;
    script->reason[0] = 0;
    const enum sw_status status = take_line(script, text);
    return status == SW_OK ? take_words(script) : status;
}

size_t sw_script_words_of(const char *statement, const char *const *words, size_t count)
{
    const char *blank = strchr(statement, ' ');
    if (!blank)
        return strcmp(statement, words[0]) == 0;
    const size_t first = (size_t)(blank - statement);
    const bool is_it = count > 1 && strlen(words[0]) == first && memcmp(words[0], statement, first) == 0 &&
                       strcmp(words[1], blank + 1) == 0;
    return is_it ? 2 : 0;
}

void sw_script_sentence(const struct sw_script *script, const char *reason, char *text, size_t size)
{
    snprintf(text, size, "%s:%u: %s%s%s", script->name, script->line, script->statement ? script->statement : "",
             script->statement ? ": " : "", reason);
}
