/*
 * A process with some threads, each 50 calls deep: how long it is stopped, and what looking at it costs in all, beside
 * libunwind-ptrace and eu-stack. The others stop it for as long as they look.
 */
#include "remote.h"
#include "figures.h"
#include "rivals.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEPTH = 50, LATER = 5, MOST_LATER = TURNS * LATER };

struct target {
    pid_t pid;
    int input;
    uint64_t functions; /* where the functions of the stacks are, there */
};

static void start(struct target *target, const struct options *options, unsigned threads)
{
    int in[2], out[2];
    char program[600], count[16], depth[16], line[64] = "";
    snprintf(program, sizeof program, "%s/target", options->programs);
    snprintf(count, sizeof count, "%u", threads);
    snprintf(depth, sizeof depth, "%d", DEPTH);
    must(pipe(in) == 0 && pipe(out) == 0, "pipe");
    target->pid = fork();
    must(target->pid >= 0, "fork");
    if (target->pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(in[1]);
        execl(program, program, count, depth, (char *)NULL);
        _exit(1);
    }
    close(in[0]);
    close(out[1]);
    target->input = in[1];
    must(read(out[0], line, sizeof line - 1) > 0, "starting the target");
    must(strncmp(line, "ready ", 6) == 0, "starting the target");
    target->functions = strtoull(line + 6, NULL, 16);
    close(out[0]);
}

static void finish(const struct target *target)
{
    close(target->input);
    kill(target->pid, SIGKILL);
    waitpid(target->pid, NULL, 0);
}

/* Whether each thread's walk has the stack's pcs. */
struct check {
    const struct stacks *stacks;
    uint64_t functions;
    size_t good;
};

static void check_thread(void *arg, const uint64_t *pcs, size_t count)
{
    static uint64_t here[OUT];
    struct check *check = arg;
    for (size_t i = 0; i < count && i < OUT; i++)
        here[i] = pcs[i] - check->functions + (uint64_t)(uintptr_t)codes[1].functions;
    check->good += stack_is(check->stacks, 0, here, (unsigned)count);
}

static void check_all(struct remote *remote, const struct target *target, unsigned threads)
{
    const struct scene scene = { &codes[1], DEPTH, 16, IN_ORDER };
    struct stacks stacks;
    stacks_make(&stacks, &scene);
    struct check check = { &stacks, target->functions, 0 };
    (void)remote_sample(remote, check_thread, &check);
    must(check.good == threads, "reaching every frame of another process");
    stacks_free(&stacks);
}

/* ---- what each says of a sample ---- */

/* ns of the first sample and of later ones, turn by turn; a command has one number. */
struct seen {
    double stopped_first[TURNS], all_first[TURNS], stopped[MOST_LATER], all[MOST_LATER], command[TURNS];
    unsigned turns, later;
};

static void see_ours(struct seen *seen, const struct target *target, unsigned threads)
{
    struct remote remote;
    const double begin = wall_ns();
    remote_open(&remote, target->pid, false);
    struct sample sample = remote_sample(&remote, NULL, NULL);
    seen->all_first[seen->turns] = wall_ns() - begin;
    seen->stopped_first[seen->turns++] = sample.stopped;
    for (unsigned i = 0; i < LATER; i++) {
        sample = remote_sample(&remote, NULL, NULL);
        seen->stopped[seen->later] = sample.stopped;
        seen->all[seen->later++] = sample.all;
    }
    check_all(&remote, target, threads);
    remote_close(&remote);
}

struct lines {
    struct seen *seen;
    unsigned count;
    double frames;
};

static void read_sample(void *arg, const char *text)
{
    struct lines *lines = arg;
    struct seen *seen = lines->seen;
    double stopped, all;
    must(sscanf(text, "%lf %lf %lf", &stopped, &all, &lines->frames) == 3, text);
    if (lines->count++ == 0) {
        seen->stopped_first[seen->turns] = stopped;
        seen->all_first[seen->turns++] = all;
    } else {
        seen->stopped[seen->later] = stopped;
        seen->all[seen->later++] = all;
    }
}

static void see_libunwind(struct seen *seen, const struct options *options, const struct target *target,
                          unsigned threads)
{
    struct lines lines = { seen, 0, 0 };
    char command[700];
    snprintf(command, sizeof command, "%s/ptrace %d 3", options->programs, (int)target->pid);
    must(rival_run(command, read_sample, &lines) && lines.frames >= threads * (double)DEPTH, command);
}

static void count_frames(void *arg, const char *text)
{
    *(double *)arg += text[0] == '#' || strncmp(text, "frame ", 6) == 0;
}

/* A whole command, from its start to its end; false: it is not there. */
static bool see_command(struct seen *seen, const char *command, unsigned threads)
{
    double frames = 0;
    const double begin = wall_ns();
    if (!rival_run(command, count_frames, &frames) && frames == 0)
        return false;
    seen->command[seen->turns++] = wall_ns() - begin;
    must(frames >= threads * (double)DEPTH, command);
    return true;
}

static void note(const char *way, struct seen *seen, unsigned threads)
{
    char scene[64];
    const struct row {
        const char *what;
        double *ns;
        unsigned count;
    } rows[] = { { "us stopped, first sample", seen->stopped_first, seen->later ? seen->turns : 0 },
                 { "us stopped, later", seen->stopped, seen->later },
                 { "us in all, first sample", seen->all_first, seen->later ? seen->turns : 0 },
                 { "us in all, later", seen->all, seen->later },
                 { "us, whole command", seen->command, seen->later ? 0 : seen->turns } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(scene, sizeof scene, "%u thread%s, %s", threads, threads > 1 ? "s" : "", rows[i].what);
        if (rows[i].count)
            figure_note("remote", scene, way, threads, median(rows[i].ns, rows[i].count) / 1000, 0);
    }
}

static void measure(const struct options *options, unsigned threads, unsigned turns)
{
    static struct seen ours, libunwind, stacks, eu_stack;
    struct target target;
    char stacks_command[700], eu_command[64];
    bool has_eu = true;
    ours = libunwind = stacks = eu_stack = (struct seen){ .turns = 0 };
    start(&target, options, threads);
    snprintf(stacks_command, sizeof stacks_command, "%s/../../../tools/snapstacks/snapstacks --plain %d",
             options->programs, (int)target.pid);
    snprintf(eu_command, sizeof eu_command, "eu-stack -n 0 -p %d 2>/dev/null", (int)target.pid);
    for (unsigned turn = 0; turn < turns; turn++) {
        see_ours(&ours, &target, threads);
        see_libunwind(&libunwind, options, &target, threads);
        must(see_command(&stacks, stacks_command, threads), stacks_command);
        has_eu = has_eu && see_command(&eu_stack, eu_command, threads);
    }
    finish(&target);
    note("snapwalk", &ours, threads);
    note("libunwind", &libunwind, threads);
    note("snapwalk", &stacks, threads);
    note("eu-stack", &eu_stack, threads);
    if (!has_eu)
        figure_skip("remote", "eu-stack", "no such command (Debian package elfutils)");
}

void bench_remote(const struct options *options)
{
    measure(options, 1, TURNS);
    measure(options, 10, TURNS);
    measure(options, 1000, 3);
    figure_print("remote", "another process, each thread 50 calls deep, beside libunwind-ptrace and eu-stack");
}
