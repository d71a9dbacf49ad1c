/*
 * What a script may expect: statements that look at the tube and change nothing of it. Refuses to know how lines are
 * read.
 */
#include "script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- stacks ---- */

/* Frames of a stack as text, "A < B < [native]". */
enum { FRAMES_MAX = SW_TUBE_DEPTH * 2 };

struct frames {
    const char *begin[FRAMES_MAX];
    size_t length[FRAMES_MAX], count;
};

static void split(const char *text, struct frames *frames)
{
    frames->count = 0;
    text += strspn(text, " ");
    while (*text && frames->count < FRAMES_MAX) {
        const char *less = strstr(text, " < ");
        size_t length = less ? (size_t)(less - text) : strlen(text);
        while (length > 0 && text[length - 1] == ' ')
            length--;
        frames->begin[frames->count] = text;
        frames->length[frames->count++] = length;
        text = less ? less + 3 + strspn(less + 3, " ") : "";
    }
}

static bool is_any(const struct frames *wanted, size_t at)
{
    return at < wanted->count && wanted->length[at] == 3 && memcmp(wanted->begin[at], "...", 3) == 0;
}

static bool are_same(const struct frames *wanted, size_t at, const struct frames *there, size_t with)
{
    return at < wanted->count && wanted->length[at] == there->length[with] &&
           memcmp(wanted->begin[at], there->begin[with], there->length[with]) == 0;
}

/* "..." stands for any number of frames. *at, *with: where they differ. */
static bool fits(const struct frames *wanted, const struct frames *there, size_t *at, size_t *with)
{
    size_t any = SIZE_MAX, from = 0;
    *at = *with = 0;
    while (*with < there->count) {
        if (is_any(wanted, *at)) {
            any = (*at)++;
            from = *with;
        } else if (are_same(wanted, *at, there, *with)) {
            (*at)++;
            (*with)++;
        } else if (any != SIZE_MAX) {
            *at = any + 1;
            *with = ++from;
        } else
            return false;
    }
    while (is_any(wanted, *at))
        (*at)++;
    return *at == wanted->count;
}

static const char *frame_at(const struct frames *frames, size_t at, char *text, size_t size)
{
    if (at >= frames->count)
        return "the end";
    snprintf(text, size, "%.*s", (int)(frames->length[at] < size ? frames->length[at] : size - 1), frames->begin[at]);
    return text;
}

static enum sw_status expect_stack(struct sw_script *script, const struct sw_argument *arguments)
{
    struct frames wanted, there;
    char is[128], not [128];
    size_t at, with;
    (void)sw_tube_stack(arguments[0].thread, script->stack, sizeof script->stack);
    split(arguments[1].text, &wanted);
    split(script->stack, &there);
    if (fits(&wanted, &there, &at, &with))
        return SW_OK;
    if (strstr(arguments[1].text, "..."))
        return sw_script_say(script, SW_E_MALFORMED, "the stack is \"%s\"", script->stack);
    return sw_script_say(script, SW_E_MALFORMED, "frame %zu is %s, not %s", with, frame_at(&there, with, is, sizeof is),
                         frame_at(&wanted, at, not, sizeof not ));
}

/* ---- counts ---- */

static enum sw_status expect_count(struct sw_script *script, const struct sw_argument *name,
                                   const struct sw_argument *range, size_t count)
{
    if (count >= range->low && count <= range->high)
        return SW_OK;
    return sw_script_say(script, SW_E_MALFORMED, "%s: %zu times, not %s", name->text, count,
                         range->text ? range->text : "once or more");
}

static enum sw_status expect_raised(struct sw_script *script, const struct sw_argument *arguments)
{
    return expect_count(script, &arguments[0], &arguments[1], sw_tube_raised(script->tube, arguments[0].text));
}

static enum sw_status expect_calls(struct sw_script *script, const struct sw_argument *arguments)
{
    return expect_count(script, &arguments[0], &arguments[1], sw_tube_calls(script->tube, arguments[0].text));
}

/* ---- files ---- */

/* What a profiler has written: whether the file holds the text, somewhere in its first MiB. */
static enum sw_status expect_file(struct sw_script *script, const struct sw_argument *arguments)
{
    enum { LOOKED_AT = 1 << 20 };
    const char *path = arguments[0].text, *text = arguments[1].text;
    FILE *file = fopen(path, "re");
    char *there = file ? malloc(LOOKED_AT) : NULL;
    const size_t size = there ? fread(there, 1, LOOKED_AT, file) : 0;
    const bool holds = there && memmem(there, size, text, strlen(text)) != NULL;
    free(there);
    if (!file)
        return sw_script_say(script, SW_E_MALFORMED, "%s cannot be read", path);
    (void)fclose(file);
    return holds ? SW_OK : sw_script_say(script, SW_E_MALFORMED, "%s does not hold \"%s\"", path, text);
}

/* ---- conduct ---- */

static enum sw_status expect_no_break(struct sw_script *script)
{
    enum { LOOKED_AT = 64 };
    struct sw_tube_violation list[LOOKED_AT];
    const size_t count = sw_tube_violations(script->tube, list, LOOKED_AT);
    for (size_t i = 0; i < count && i < LOOKED_AT; i++)
        if (!list[i].expected)
            return sw_script_say(script, SW_E_MALFORMED, "%s: %s%s%s: %s", sw_tube_rule_name(list[i].rule),
                                 list[i].call, list[i].thread[0] ? " on thread " : "", list[i].thread, list[i].detail);
    return SW_OK;
}

static enum sw_status expect_conduct(struct sw_script *script, const struct sw_argument *arguments)
{
    const struct sw_argument once = { .low = 1, .high = UINT64_MAX };
    enum sw_tube_rule rule;
    if (strcmp(arguments[0].text, "none") == 0)
        return expect_no_break(script);
    if (!sw_tube_rule_named(arguments[0].text, &rule))
        return sw_script_say(script, SW_E_MALFORMED, "\"%s\" is no rule of conduct", arguments[0].text);
    return expect_count(script, &arguments[0], arguments[1].text ? &arguments[1] : &once,
                        (size_t)sw_tube_conduct_expect(script->tube, rule));
}

static enum sw_status expect_problem(struct sw_script *script, const struct sw_argument *arguments)
{
    if (strcmp(arguments[0].text, "none") != 0)
        return sw_script_say(script, SW_E_MALFORMED, "takes none; a script ends with its first problem");
    return script->tube->problem[0] ? SW_E_MALFORMED : SW_OK;
}

const struct sw_statement sw_script_expectations[] = {
    /* clang-format off */
    { "expect stack",   "THREAD STACK",   expect_stack },
    { "expect raised",  "CALLBACK RANGE", expect_raised },
    { "expect calls",   "SLOT RANGE",     expect_calls },
    { "expect conduct", "RULE [RANGE]",   expect_conduct },
    { "expect file",    "PATH TEXT",      expect_file },
    { "expect problem", "none",           expect_problem },
    /* clang-format on */
};
const size_t sw_script_expectation_count = sizeof sw_script_expectations / sizeof sw_script_expectations[0];
