/*
 * clr-in-a-tube: what its files share. A scenario is played in a process of its own, which leaves what it does on a
 * page that the runner can read however that process ends.
 *
 *   main.c    options, all scenarios
 *   child.c   one scenario, in its own process
 *   watch.c   that process: started, waited for, its end
 *   report.c  what happened, for people
 *   file.c    files as text
 */
#ifndef RUNNER_H
#define RUNNER_H

#include <snapwalk/harness.h>

#include <stdatomic.h>
#include <sys/types.h>

/* The last things that began, each of the size of a line on the screen. */
enum { ENTRIES = 64, BREAKS = 32, TEXT = 256 };

struct entry {
    char kind[16], thread[64], name[TEXT];
};

struct broken {
    char text[2 * TEXT];
    bool expected;
};

/* How far a scenario has come. */
enum progress { NOT_BEGUN, PLAYING, PLAYED, FREED };

/* The shared page. The child writes; a profiler may write, too, so nothing in it is believed to be well-formed. */
struct page {
    _Atomic enum progress progress;
    _Atomic unsigned steps, entered;
    char step[TEXT];
    struct entry entries[ENTRIES]; /* number n is at n % ENTRIES */
    enum sw_status status;
    char problem[2 * TEXT];
    _Atomic size_t broken;
    struct broken breaks[BREAKS];
};

/* What is asked of one scenario. */
struct scenario {
    const char *path;
    char *text;
    struct sw_tube_heading heading;
};

/* What became of it. `recording` is from malloc. */
struct result {
    enum sw_tube_outcome outcome;
    char detail[2 * TEXT]; /* SIGSEGV, 3, or the problem */
    unsigned seconds;
    char *recording;
};

/* The whole file with a terminator, from malloc; null, with the reason on the page's terms: "FILE: ...". */
char *file_read(const char *path, char *reason, size_t size);
bool file_write(const char *path, const char *text);
/* All that is in an open file, from its beginning; from malloc, or null. */
char *file_contents(int fd);

/* Plays the scenario in this process and ends it. */
_Noreturn void child_play(const struct scenario *scenario, struct page *page, int recording);

/* Plays it in another. False: that cannot be done; errno says why. */
bool watch(const struct scenario *scenario, struct page *page, struct result *result);

/* Whether it ended as its heading says. */
bool is_as_expected(const struct scenario *scenario, const struct page *page, const struct result *result);
/* Prints it; `against` is a difference from an earlier recording, or "". */
void report(const struct scenario *scenario, const struct page *page, const struct result *result, const char *against);

#endif
