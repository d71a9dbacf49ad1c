/*
 * runner BUILD TABLE LOG: runs the scenarios of a table (scenarios.txt) one after the other, each with its time limit,
 * and ends whatever they leave behind. It is the reaper of all their descendants, so it knows those by their ids and
 * signals no other process. Last line: torture: N of N held.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/nap.h"

/* CANNOT: the status of a program that cannot do here what it is for. Then nothing has held. */
enum { LINE_BYTES = 512, PATH_BYTES = 512, WORDS = 32, SECONDS_IN_ALL = 600, CANNOT = 77 };

struct scenario {
    char line[LINE_BYTES];
    const char *name, *build, *program;
    double seconds;
    char *arguments[WORDS]; /* NULL behind the last */
};

struct outcome {
    bool in_time;
    int status;
    double seconds;
    unsigned left_behind; /* processes that it left, ended since */
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Takes a line apart. False: it is no scenario. */
static bool parse(struct scenario *s)
{
    char *rest = s->line;
    const char *word[4];
    size_t count = 0;
    for (char *at; (at = strtok_r(rest, " \t\n", &rest)) != NULL; count++) {
        if (count < 4)
            word[count] = at;
        else if (count - 4 < WORDS - 1)
            s->arguments[count - 4] = at;
    }
    if (count < 4)
        return false;
    s->name = word[0];
    s->build = word[1];
    s->seconds = strtod(word[2], NULL);
    s->program = word[3];
    return s->seconds > 0;
}

/* Becomes the scenario's program. Programs find the tool, and whatever else is built, by BUILD in their environment. */
static _Noreturn void become(const struct scenario *s, const char *build, const char *log)
{
    static const char *const valgrind[] = { "valgrind",         "-q", "--error-exitcode=99", "--leak-check=full",
                                            "--fair-sched=yes", NULL };
    const bool own_folder = strcmp(s->build, "gcc") != 0 && strcmp(s->build, "valgrind") != 0;
    char path[2 * PATH_BYTES + LINE_BYTES], folder[PATH_BYTES];
    char *argv[2 * WORDS];
    size_t count = 0;
    snprintf(folder, sizeof folder, "%s%s%s", build, own_folder ? "/" : "", own_folder ? s->build : "");
    snprintf(path, sizeof path, "%s/test/torture/%s", folder, s->program);
    for (size_t i = 0; strcmp(s->build, "valgrind") == 0 && valgrind[i]; i++)
        argv[count++] = (char *)(uintptr_t)valgrind[i];
    argv[count++] = path;
    for (size_t i = 0; s->arguments[i]; i++)
        argv[count++] = s->arguments[i];
    argv[count] = NULL;
    const int in = open("/dev/null", O_RDONLY), out = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
        _exit(126);
    setenv("BUILD", folder, 1);
    setsid();
    execvp(argv[0], argv);
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* The first child of this process; 0: it has none. */
static pid_t a_child(void)
{
    char path[64];
    int child = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *children = fopen(path, "r");
    if (children && fscanf(children, "%d", &child) != 1)
        child = 0;
    if (children)
        fclose(children);
    return child;
}

/* Ends all descendants: the children of one that ends become this process's. */
static unsigned end_the_rest(void)
{
    unsigned ended = 0;
    for (pid_t child; (child = a_child()) > 0; ended++) {
        kill(child, SIGKILL);
        waitpid(child, NULL, __WALL);
    }
    return ended;
}

static struct outcome run(const struct scenario *s, const char *build, const char *log)
{
    struct outcome o = { .in_time = true };
    const double begin = now();
    bool ended = false;
    const pid_t program = fork();
    if (program == 0)
        become(s, build, log);
    while (!ended && o.in_time) {
        int status;
        for (pid_t reaped; (reaped = waitpid(-1, &status, WNOHANG | __WALL)) > 0;) {
            ended |= reaped == program;
            o.status = reaped == program ? status : o.status;
        }
        o.in_time = ended || now() - begin < s->seconds;
        nap(10000);
    }
    o.left_behind = end_the_rest() - !ended;
    o.seconds = now() - begin;
    return o;
}

static void last_line(const char *log, char *line, int size)
{
    char next[LINE_BYTES];
    FILE *file = fopen(log, "r");
    line[0] = 0;
    while (file && fgets(next, sizeof next, file))
        if (next[0] != '\n')
            snprintf(line, (size_t)size, "%.*s", (int)strcspn(next, "\n"), next);
    if (file)
        fclose(file);
}

/* Reports a scenario. True: it has held. */
static bool report(const struct scenario *s, const struct outcome *o, const char *log)
{
    const bool has_ended = o->in_time && WIFEXITED(o->status);
    const bool held = has_ended && WEXITSTATUS(o->status) == 0;
    const bool cannot = has_ended && WEXITSTATUS(o->status) == CANNOT;
    char line[LINE_BYTES];
    last_line(log, line, sizeof line);
    printf("%-6s  %-24s %6.1f s  %s", held ? "held" : cannot ? "absent" : "FAILED", s->name, o->seconds, line);
    if (o->left_behind)
        printf(" (%u left behind)", o->left_behind);
    if (!o->in_time)
        printf(": not done after %.0f s", s->seconds);
    else if (WIFSIGNALED(o->status))
        printf(": ended by signal %d", WTERMSIG(o->status));
    printf("%s%s\n", held ? "" : ", see ", held ? "" : log);
    fflush(stdout);
    return held;
}

/* The limits together; negative: a line is no scenario. */
static double all_seconds(FILE *table)
{
    struct scenario s;
    double sum = 0;
    for (; memset(&s, 0, sizeof s), fgets(s.line, sizeof s.line, table); sum += s.seconds)
        if (!parse(&s))
            return -1;
    rewind(table);
    return sum;
}

int main(int argc, char **argv)
{
    FILE *table = argc == 4 ? fopen(argv[2], "r") : NULL;
    unsigned count = 0, held = 0;
    struct scenario s;
    const double sum = table ? all_seconds(table) : -1;
    if (sum < 0 || sum > (double)SECONDS_IN_ALL || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
        fprintf(stderr, "torture: no table, a row that is none, or limits of %.0f s in all, over %d\n", sum,
                SECONDS_IN_ALL);
        return 2;
    }
    for (; memset(&s, 0, sizeof s), fgets(s.line, sizeof s.line, table); count++) {
        char log[PATH_BYTES + LINE_BYTES];
        parse(&s);
        snprintf(log, sizeof log, "%s/%s", argv[3], s.name);
        const struct outcome o = run(&s, argv[1], log);
        held += report(&s, &o, log);
    }
    fclose(table);
    printf("torture: %u of %u held\n", held, count);
    return held != count || count == 0;
}
