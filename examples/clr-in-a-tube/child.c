/*
 * One scenario, in a process that a profiler may crash, stop or scribble on. What happens is written down before it
 * happens: on the page, and line by line into the recording.
 */
#include "runner.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct child {
    struct page *page;
    int recording;
};

static void copy(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from);
}

static void note(void *arg, const char *kind, const char *thread, const char *name)
{
    struct page *page = ((struct child *)arg)->page;
    struct entry *entry = &page->entries[atomic_fetch_add(&page->entered, 1) % ENTRIES];
    copy(entry->kind, sizeof entry->kind, kind);
    copy(entry->thread, sizeof entry->thread, thread);
    copy(entry->name, sizeof entry->name, name);
    if (strcmp(kind, "step") != 0)
        return;
    copy(page->step, sizeof page->step, name);
    atomic_fetch_add(&page->steps, 1);
}

static void record(void *arg, const char *line)
{
    char whole[4096];
    const int length = snprintf(whole, sizeof whole, "%s\n", line);
    if (length > 0 && (size_t)length < sizeof whole)
        (void)!write(((struct child *)arg)->recording, whole, (size_t)length);
}

static void list_breaks(struct page *page, const struct sw_tube *tube)
{
    struct sw_tube_violation list[BREAKS];
    const size_t count = sw_tube_violations(tube, list, BREAKS);
    for (size_t i = 0; i < count && i < BREAKS; i++) {
        struct broken *broken = &page->breaks[i];
        snprintf(broken->text, sizeof broken->text, "%s: %s%s%s: %s (%llu times); %s", sw_tube_rule_name(list[i].rule),
                 list[i].call, list[i].thread[0] ? " on thread " : "", list[i].thread, list[i].detail,
                 (unsigned long long)list[i].times, sw_tube_rule_text(list[i].rule));
        broken->expected = list[i].expected;
    }
    atomic_store(&page->broken, count);
}

static void play(const struct scenario *scenario, struct child *child)
{
    struct page *page = child->page;
    struct sw_tube_options options = scenario->heading.options;
    struct sw_tube *tube = NULL;
    options.record = record;
    options.entered = note;
    options.arg = child;
    page->status = sw_tube_create(&options, &tube);
    if (page->status != SW_OK) {
        snprintf(page->problem, sizeof page->problem, "the tube cannot be made: %s", sw_status_name(page->status));
        atomic_store(&page->progress, FREED);
        return;
    }
    atomic_store(&page->progress, PLAYING);
    page->status = sw_tube_play(tube, scenario->path, scenario->text);
    copy(page->problem, sizeof page->problem, sw_tube_problem(tube));
    (void)sw_tube_shutdown(tube); /* if the script did not: what was never released shows only now */
    list_breaks(page, tube);
    atomic_store(&page->progress, PLAYED);
    sw_tube_destroy(tube);
    atomic_store(&page->progress, FREED);
}

_Noreturn void child_play(const struct scenario *scenario, struct page *page, int recording)
{
    struct child child = { page, recording };
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    play(scenario, &child);
    exit(0);
}
