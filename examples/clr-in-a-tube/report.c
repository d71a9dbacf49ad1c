/* What happened, for people. What is printed of the page is cut and cleaned: a profiler may have written there. */
#include "runner.h"

#include <stdio.h>
#include <string.h>

/* ORDER sw_tube_outcome. */
static const char *const outcomes[] = { "done", "crashed", "hung", "ended the process", "stopped" };

enum { LAST = 5 };

static void print_clean(const char *text, size_t size)
{
    for (size_t i = 0; i < size && text[i]; i++)
        putchar((unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i]);
}

#define PRINT(field) print_clean(field, sizeof(field))

static size_t count_breaks(const struct page *page)
{
    const size_t count = atomic_load(&page->broken);
    return count < BREAKS ? count : BREAKS;
}

/* Rules that were broken while the tube was freed, behind those on the page: lines of the recording. */
static size_t count_late_breaks(const struct page *page, const struct result *result, bool print)
{
    static const char begin[] = "{\"kind\":\"conduct\",";
    size_t seen = 0;
    for (const char *line = result->recording; line && *line;) {
        const size_t length = strcspn(line, "\n");
        const bool is_late = strncmp(line, begin, sizeof begin - 1) == 0 && ++seen > atomic_load(&page->broken);
        if (is_late && print)
            printf("    broke, at the very end: %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    return seen > atomic_load(&page->broken) ? seen - atomic_load(&page->broken) : 0;
}

static bool has_unexpected(const struct page *page)
{
    for (size_t i = 0; i < count_breaks(page); i++)
        if (!page->breaks[i].expected)
            return true;
    return false;
}

bool is_as_expected(const struct scenario *scenario, const struct page *page, const struct result *result)
{
    const struct sw_tube_heading *wanted = &scenario->heading;
    if (result->outcome != wanted->outcome)
        return false;
    if (result->outcome == SW_TUBE_DONE && (has_unexpected(page) || count_late_breaks(page, result, false) > 0))
        return false;
    if (!wanted->detail[0])
        return true;
    return result->outcome == SW_TUBE_PROBLEM ? strstr(result->detail, wanted->detail) != NULL
                                              : strcmp(result->detail, wanted->detail) == 0;
}

static void print_outcome(const struct result *result)
{
    const char *detail = result->detail;
    fputs(outcomes[result->outcome], stdout);
    if (result->outcome == SW_TUBE_CRASHED)
        printf(" with %s", detail);
    else if (result->outcome == SW_TUBE_HUNG)
        printf(" for %u s", result->seconds);
    else if (result->outcome == SW_TUBE_EXITED)
        printf(" with exit status %s", detail);
    else if (result->outcome == SW_TUBE_PROBLEM) {
        fputs(": ", stdout);
        print_clean(detail, sizeof result->detail);
    }
}

static void print_entry(const struct entry *entry, bool is_last)
{
    fputs(is_last ? "    last:   thread " : "    before: thread ", stdout);
    PRINT(entry->thread);
    fputs(": ", stdout);
    PRINT(entry->kind);
    putchar(' ');
    PRINT(entry->name);
    putchar('\n');
}

/* Where it was: for a crash, a hang, an exit. The last callbacks and calls are those of any thread. */
static void print_place(const struct page *page)
{
    const unsigned entered = atomic_load(&page->entered), first = entered > LAST ? entered - LAST : 0;
    const enum progress progress = atomic_load(&page->progress);
    if (progress == PLAYED || progress == FREED)
        puts("    after the last step");
    else if (page->step[0]) {
        fputs("    in the step ", stdout);
        PRINT(page->step);
        putchar('\n');
    } else
        puts("    before the first step");
    for (unsigned i = first; i < entered; i++) {
        const struct entry *entry = &page->entries[i % ENTRIES];
        if (strncmp(entry->kind, "step", sizeof entry->kind) != 0)
            print_entry(entry, i + 1 == entered);
    }
}

static void print_breaks(const struct page *page)
{
    for (size_t i = 0; i < count_breaks(page); i++) {
        fputs(page->breaks[i].expected ? "    expected: " : "    broke ", stdout);
        PRINT(page->breaks[i].text);
        putchar('\n');
    }
    if (atomic_load(&page->broken) > BREAKS)
        printf("    and %zu more\n", atomic_load(&page->broken) - BREAKS);
}

/* The value of a text of a line of the recording, as far as it needs no escapes. */
static void print_text_of(const char *line, size_t length, const char *key)
{
    const char *at = memmem(line, length, key, strlen(key));
    if (!at)
        return;
    for (at += strlen(key); at < line + length && *at != '"'; at++)
        putchar(*at);
}

/* Stacks that `snapshot` has put into the recording. */
static void print_stacks(const char *recording)
{
    static const char begin[] = "{\"kind\":\"stack\",";
    for (const char *line = recording; line && *line;) {
        const size_t length = strcspn(line, "\n");
        if (strncmp(line, begin, sizeof begin - 1) == 0) {
            fputs("    ", stdout);
            print_text_of(line, length, "\"name\":\"");
            fputs(": ", stdout);
            print_text_of(line, length, "\"stack\":\"");
            putchar('\n');
        }
        line += length + (line[length] == '\n');
    }
}

void report(const struct scenario *scenario, const struct page *page, const struct result *result, const char *against)
{
    const bool expected = is_as_expected(scenario, page, result) && !*against;
    printf("%s: %sas expected: ", scenario->path, expected ? "" : "not ");
    print_outcome(result);
    printf(", %u steps\n", atomic_load(&page->steps));
    print_stacks(result->recording);
    if (result->outcome != SW_TUBE_DONE && result->outcome != SW_TUBE_PROBLEM)
        print_place(page);
    print_breaks(page);
    (void)count_late_breaks(page, result, true);
    if (*against)
        printf("    differs from the earlier recording: %s\n", against);
    if (!expected && scenario->heading.outcome != SW_TUBE_DONE)
        printf("    it should have %s %s\n", outcomes[scenario->heading.outcome], scenario->heading.detail);
}
