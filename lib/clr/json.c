/*
 * JSON, as far as a descriptor needs it: values are skipped, not built, in one pass and without recursion. Every byte
 * is hostile. Source: RFC 8259.
 */
#include "clr/json.h"

#include <string.h>

enum { DEEPEST = 16 };

static char peek(struct sw_clr_json *t)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\n' || *t->at == '\t' || *t->at == '\r'))
        t->at++;
    return t->at < t->end ? *t->at : 0;
}

bool sw_clr_json_take(struct sw_clr_json *t, char wanted)
{
    if (peek(t) != wanted)
        return false;
    t->at++;
    return true;
}

/* Where a string ends that goes on at `at`: at a quote with no backslash before it, or the end. */
static const char *end_of_string(const char *at, const char *end)
{
    const char *quote = NULL;
    while (at < end) {
        if (!quote || quote < at)
            quote = memchr(at, '"', (size_t)(end - at));
        const char *until = quote ? quote : end, *escape = memchr(at, '\\', (size_t)(until - at));
        if (!escape)
            return until;
        at = end - escape > 1 ? escape + 2 : end;
    }
    return end;
}

struct sw_clr_json sw_clr_json_string(struct sw_clr_json *t)
{
    struct sw_clr_json inner = { t->end, t->end };
    if (!sw_clr_json_take(t, '"'))
        return inner;
    inner.at = t->at;
    t->at = end_of_string(t->at, t->end);
    inner.end = t->at;
    t->at += t->at < t->end;
    return inner;
}

/* Skips one value in brackets, counting them; strings are skipped whole. */
static bool skip_brackets(struct sw_clr_json *t)
{
    int depth = 0;
    while (t->at < t->end && *t->at != 0) {
        const char c = *t->at;
        if (c == '"') {
            (void)sw_clr_json_string(t);
            continue;
        }
        t->at++;
        if (c < '[') /* most characters: numbers, commas, colons */
            continue;
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (depth <= 0 || depth > DEEPEST)
            return depth == 0;
    }
    return false;
}

/* The content of a string between its quotes, or a number or word as it stands. */
static struct sw_clr_json word(struct sw_clr_json *t)
{
    static const char ends[] = " \n\t\r,:\"{}[]";
    if (peek(t) == '"')
        return sw_clr_json_string(t);
    struct sw_clr_json inner = *t;
    while (t->at < t->end && *t->at != 0 && !strchr(ends, *t->at))
        t->at++;
    inner.end = t->at;
    return inner;
}

/* Skips one value. False: nothing follows it. */
static bool skip(struct sw_clr_json *t)
{
    const char first = peek(t);
    if (first != '{' && first != '[')
        (void)word(t);
    else if (!skip_brackets(t))
        return false;
    return peek(t) == ',' || peek(t) == '}' || peek(t) == ']';
}

bool sw_clr_json_equals(struct sw_clr_json word, const char *name)
{
    const size_t size = strlen(name);
    return (size_t)(word.end - word.at) == size && memcmp(word.at, name, size) == 0;
}

/* Moves *t, which is inside of an object, behind the colon of that key. */
static bool find_key(struct sw_clr_json *t, const char *key)
{
    while (peek(t) == '"') {
        const struct sw_clr_json name = sw_clr_json_string(t);
        if (!sw_clr_json_take(t, ':'))
            return false;
        if (sw_clr_json_equals(name, key))
            return true;
        if (!skip(t) || !sw_clr_json_take(t, ','))
            return false;
    }
    return false;
}

bool sw_clr_json_enter(struct sw_clr_json *t, const char *key)
{
    return sw_clr_json_take(t, '{') && find_key(t, key);
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : 16;
}

bool sw_clr_json_number(struct sw_clr_json t, uint64_t *value)
{
    (void)sw_clr_json_take(&t, '[');
    struct sw_clr_json digits = word(&t);
    int base = 10;
    if (digits.end - digits.at > 2 && digits.at[0] == '0' && digits.at[1] == 'x') {
        base = 16;
        digits.at += 2;
    }
    *value = 0;
    if (digits.at == digits.end || digits.end - digits.at > 16)
        return false;
    for (; digits.at < digits.end; digits.at++) {
        if (digit(*digits.at) >= base)
            return false;
        *value = *value * (uint64_t)base + (uint64_t)digit(*digits.at);
    }
    return true;
}

bool sw_clr_json_is_whole(struct sw_clr_json text)
{
    return peek(&text) == '{' && skip_brackets(&text);
}

void sw_clr_json_keys(struct sw_clr_json object, struct sw_clr_json_keys *keys)
{
    bool has_more = sw_clr_json_take(&object, '{');
    for (keys->count = 0; has_more && keys->count < SW_JSON_KEYS && peek(&object) == '"'; keys->count++) {
        keys->names[keys->count] = sw_clr_json_string(&object);
        has_more = sw_clr_json_take(&object, ':') && skip(&object) && sw_clr_json_take(&object, ',');
    }
    keys->rest = has_more ? object : (struct sw_clr_json){ object.end, object.end };
}

bool sw_clr_json_key(const struct sw_clr_json_keys *keys, const char *key, struct sw_clr_json *value)
{
    *value = keys->rest;
    for (size_t i = 0; i < keys->count; i++) {
        if (!sw_clr_json_equals(keys->names[i], key))
            continue;
        value->at = keys->names[i].end < value->end ? keys->names[i].end + 1 : value->end;
        return sw_clr_json_take(value, ':');
    }
    return find_key(value, key);
}
