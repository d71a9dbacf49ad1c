/*
 * Two recordings beside each other. Knows lines, and in them the fields of flat JSON objects; refuses to know what the
 * fields mean, but for `thread`, by which lines are sorted, and `name`. A line that is no such object is compared as
 * text.
 */
#include <snapwalk/harness.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part {
    const char *begin;
    size_t length;
};

struct line {
    struct part text, thread;
    size_t number; /* from 1 */
};

struct lines {
    struct line *list;
    size_t count;
};

struct field {
    struct part key, value; /* a text's value with its quotes */
};

/* ---- a line ---- */

static bool read_text(const char **at, const char *end, struct part *text)
{
    const char *begin = *at, *now = begin + 1;
    if (begin >= end || *begin != '"')
        return false;
    while (now < end && *now != '"')
        now += *now == '\\' && now + 1 < end ? 2 : 1;
    if (now >= end)
        return false;
    *text = (struct part){ begin, (size_t)(now + 1 - begin) };
    *at = now + 1;
    return true;
}

static bool read_value(const char **at, const char *end, struct part *value)
{
    const char *begin = *at, *now = begin;
    if (begin < end && *begin == '"')
        return read_text(at, end, value);
    while (now < end && *now != ',' && *now != '}')
        now++;
    *value = (struct part){ begin, (size_t)(now - begin) };
    *at = now;
    return now > begin;
}

/* The field behind the `{` or `,` at *at. False: there is none. */
static bool next_field(const char **at, const char *end, struct field *field)
{
    if (*at >= end || (**at != '{' && **at != ','))
        return false;
    (*at)++;
    if (!read_text(at, end, &field->key) || *at >= end || **at != ':')
        return false;
    (*at)++;
    return read_value(at, end, &field->value);
}

static bool is(struct part part, const char *text)
{
    return part.length == strlen(text) && memcmp(part.begin, text, part.length) == 0;
}

static bool are_same(struct part a, struct part b)
{
    return a.length == b.length && memcmp(a.begin, b.begin, a.length) == 0;
}

/* The value of a field; an empty part: none. */
static struct part value_of(struct part line, const char *key)
{
    const char *at = line.begin, *end = line.begin + line.length;
    struct field field;
    while (next_field(&at, end, &field))
        if (is(field.key, key))
            return field.value;
    return (struct part){ line.begin, 0 };
}

/* ---- all lines ---- */

static int by_thread(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    const size_t shorter = x->thread.length < y->thread.length ? x->thread.length : y->thread.length;
    const int order = memcmp(x->thread.begin, y->thread.begin, shorter);
    if (order != 0)
        return order;
    if (x->thread.length != y->thread.length)
        return x->thread.length < y->thread.length ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static size_t count_lines(const char *text)
{
    size_t count = 1;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* The lines of a text, without empty ones, sorted. */
static bool split(const char *text, struct lines *lines)
{
    lines->list = malloc(count_lines(text) * sizeof *lines->list);
    if (!lines->list)
        return false;
    for (size_t number = 1; *text; number++) {
        const struct part part = { text, strcspn(text, "\n") };
        if (part.length > 0)
            lines->list[lines->count++] = (struct line){ part, value_of(part, "\"thread\""), number };
        text += part.length + (text[part.length] == '\n');
    }
    qsort(lines->list, lines->count, sizeof *lines->list, by_thread);
    return true;
}

/* ---- what differs ---- */

/* One of them may be null: the line is new, or gone. */
struct pair {
    const struct line *was, *is;
};

static size_t number_of(struct pair pair)
{
    return pair.is ? pair.is->number : pair.was->number;
}

static const struct line *end_of_thread(const struct line *at, const struct line *end)
{
    const struct line *next = at + 1;
    while (next < end && are_same(next->thread, at->thread))
        next++;
    return next;
}

/* The first difference within a thread that both have; both null: none. */
static struct pair differ(const struct line *was, const struct line *was_end, const struct line *is,
                          const struct line *is_end)
{
    for (; was < was_end && is < is_end; was++, is++)
        if (!are_same(was->text, is->text))
            return (struct pair){ was, is };
    return (struct pair){ was < was_end ? was : NULL, is < is_end ? is : NULL };
}

static int order_of_threads(const struct line *was, const struct line *was_end, const struct line *is,
                            const struct line *is_end)
{
    if (was == was_end || is == is_end)
        return (was == was_end) - (is == is_end);
    struct line a = *was, b = *is;
    a.number = b.number = 0;
    return by_thread(&a, &b);
}

/* The difference that comes first, of all threads. */
static struct pair first_difference(const struct lines *old, const struct lines *new)
{
    const struct line *was = old->list, *was_end = was + old->count, *is = new->list, *is_end = is + new->count;
    struct pair first = { NULL, NULL };
    while (was < was_end || is < is_end) {
        const int order = order_of_threads(was, was_end, is, is_end);
        const struct line *was_next = order <= 0 ? end_of_thread(was, was_end) : was;
        const struct line *is_next = order >= 0 ? end_of_thread(is, is_end) : is;
        const struct pair pair = differ(was, was_next, is, is_next);
        if ((pair.was || pair.is) && (!(first.was || first.is) || number_of(pair) < number_of(first)))
            first = pair;
        was = was_next;
        is = is_next;
    }
    return first;
}

/* ---- the sentence ---- */

#define SHOWN(part) (int)((part).length < 400 ? (part).length : 400), (part).begin

/* The one field in which they differ. False: they differ in more, or are no objects. */
static bool one_field(struct part was, struct part is, struct field *old, struct field *new)
{
    const char *at = was.begin, *end = at + was.length, *with = is.begin, *with_end = with + is.length;
    unsigned different = 0;
    struct field a, b;
    for (;;) {
        const bool more = next_field(&at, end, &a);
        if (next_field(&with, with_end, &b) != more || (more && !are_same(a.key, b.key)))
            return false;
        if (!more)
            return different == 1;
        if (are_same(a.value, b.value))
            continue;
        different++;
        *old = a;
        *new = b;
    }
}

static struct part unquoted(struct part text)
{
    return text.length < 2 || *text.begin != '"' ? text : (struct part){ text.begin + 1, text.length - 2 };
}

static void say_changed(struct pair pair, const char *where, char *text, size_t size)
{
    struct field old = { 0 }, new = { 0 };
    const struct part name = unquoted(value_of(pair.is->text, "\"name\""));
    if (!one_field(pair.was->text, pair.is->text, &old, &new)) {
        snprintf(text, size, "%s: was %.*s, is %.*s", where, SHOWN(pair.was->text), SHOWN(pair.is->text));
        return;
    }
    const struct part key = unquoted(old.key);
    if (is(key, "name"))
        snprintf(text, size, "%s: was %.*s, is %.*s", where, SHOWN(unquoted(old.value)), SHOWN(name));
    else
        snprintf(text, size, "%s: %.*s: %.*s was %.*s, is %.*s", where, SHOWN(name), SHOWN(key), SHOWN(old.value),
                 SHOWN(new.value));
}

static void say(struct pair pair, char *text, size_t size)
{
    char where[128];
    const struct line *line = pair.is ? pair.is : pair.was;
    const struct part thread = unquoted(line->thread);
    snprintf(where, sizeof where, "%s%.*s%sline %zu", thread.length ? "thread " : "",
             (int)(thread.length < 64 ? thread.length : 64), thread.begin, thread.length ? ", " : "", line->number);
    if (pair.was && pair.is)
        say_changed(pair, where, text, size);
    else
        snprintf(text, size, "%s: %s %.*s", where, pair.is ? "this is new:" : "this is gone:", SHOWN(line->text));
}

enum sw_status sw_tube_compare(const char *was, const char *is, char *difference, size_t size)
{
    struct lines old = { NULL, 0 }, new = { NULL, 0 };
    enum sw_status status = SW_E_NO_MEMORY;
    if (!was || !is || (!difference && size))
        return SW_E_ARGUMENT;
    if (size)
        *difference = 0;
    if (split(was, &old) && split(is, &new)) {
        const struct pair pair = first_difference(&old, &new);
        status = pair.was || pair.is ? SW_E_MALFORMED : SW_OK;
        if (status != SW_OK && size)
            say(pair, difference, size);
    }
    free(old.list);
    free(new.list);
    return status;
}
