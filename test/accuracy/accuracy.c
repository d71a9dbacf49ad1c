/*
 * accuracy -n NAME [options] -- PROGRAM ARGS...: single-steps a real program and compares whole walks with a shadow
 * stack: with tables (and the program's perf map, if it writes one), and with neither tables nor bounds nor symbols.
 *
 *   -s N     steps from the entry point (default 300000)
 *   -w N     windows: then, so often, the program runs freely for -g MS (default 20) and is stepped -k N times (default
 *            20000). What was called before a window began is taken from the walk with tables; returns confirm it or
 * not. -a MS    no steps from the entry point: runs freely for so long, then one thread is stepped in windows: -T NAME,
 * or the one that has used most processor time -f N     instructions of the start that are all looked at (default
 * 20000); then each one the first time it is met, -e N     and one in N (default 97) but in either way no more than
 * take a third of the time -t S     ends after so many seconds (default 30) -o FILE  appends what went wrong, by place
 * of the code, with its instructions
 *
 *   -b       with the default budget: a walk that it cut is made again when the work left is prepared
 *   -r NAMES registers that the program's language does not preserve in calls, with commas between: not judged
 *
 * Prints rows for people, and one for mk: "sum NAME steps mode checked first whole mode checked first whole
 * sure WRONG WRONG", frames that are wrong and called confirmed or exact, in either mode.
 */
#include "findings.h"
#include "trace.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { VISITS = 1 << 18 };
static const double SHARE = 3, GRACE_S = 3;

extern char **environ;

struct options {
    const char *name, *thread, *findings, *registers;
    uint64_t start, window, full, every;
    unsigned windows, gap, attach, seconds;
    bool is_limited;
};

struct run {
    struct trace trace;
    struct options options;
    double begin;
    uint64_t looked;
    uint64_t visits[VISITS];
};

/* Set by the alarm, which ends every wait for the program. */
static volatile sig_atomic_t over;

static void end_waiting(int signal)
{
    (void)signal;
    over = 1;
}

static void set_alarm(unsigned seconds)
{
    struct sigaction action = { .sa_handler = end_waiting };
    const struct itimerval often = { { 1, 0 }, { seconds, 0 } };
    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &often, NULL);
}

/* ---- stepping ---- */

static bool is_due(struct trace *trace, uint64_t pc)
{
    struct run *run = trace->arg;
    uint64_t *visit = &run->visits[(pc * UINT64_C(0x9e3779b97f4a7c15)) >> 46];
    const uint64_t n = run->looked++;
    const bool is_new = *visit != pc;
    *visit = pc;
    if (n >= run->options.full && !is_new && n % run->options.every != 0)
        return false;
    const double elapsed = judge_clock() - run->begin;
    for (unsigned m = 0; m < STEP_MODES; m++)
        trace->judge.is_mode[m] = m != STEP_BOUNDS && SHARE * trace->judge.spent[m] <= elapsed + GRACE_S;
    return trace->judge.is_mode[STEP_TABLES] || trace->judge.is_mode[STEP_WITHOUT];
}

static bool step_for(struct run *run, struct sw_regs *regs, uint64_t steps)
{
    while (steps-- > 0 && !over && !run->trace.shadow.overflow)
        if (!trace_step(&run->trace, regs, true))
            return false;
    return true;
}

static void step_windows(struct run *run)
{
    struct sw_regs regs;
    for (unsigned w = 0; w < run->options.windows && !over; w++) {
        const bool go = (w == 0 && run->options.attach) || target_run(&run->trace.target, run->options.gap);
        if (!go || !trace_adopt(&run->trace, &regs) || !step_for(run, &regs, run->options.window))
            return;
        trace_flush(&run->trace);
    }
}

static void step_all(struct run *run)
{
    struct sw_regs regs;
    bool more = target_regs(&run->trace.target, &regs);
    if (more && !run->options.attach)
        more = step_for(run, &regs, run->options.start);
    trace_flush(&run->trace);
    run->options.full = 0;
    if (more)
        step_windows(run);
    trace_flush(&run->trace);
}

/* ---- reporting ---- */

static const char *const mode_titles[STEP_MODES] = { "tables", "bounds", "analysis" }; /* ORDER step_mode */

static void print_events(const struct run *run)
{
    const struct trace_events *e = &run->trace.events;
    printf("#   shadow: jumps out of frames %" PRIu64 ", moved return addresses %" PRIu64
           ", returns used as jumps %" PRIu64 ", stack switches %" PRIu64 "; assumed calls %" PRIu64
           ", of these returned to %" PRIu64 ", refuted %" PRIu64 "\n",
           e->left, e->moved, e->pushed, e->switched, e->adopted, e->confirmed, e->refuted);
    printf("#   not judged: %" PRIu64 " instructions between frames, %" PRIu64
           " walks on the way out of frames, %" PRIu64 " by return addresses written over\n",
           e->between, e->forgiven, run->trace.judge.overwritten);
}

/* Wrong frames that walks called confirmed or exact. */
static uint64_t wrong_and_sure(const struct step_score *score)
{
    return score->frames[SW_TRUST_CONFIRMED][0] + score->frames[SW_TRUST_EXACT][0];
}

static void report(const struct run *run)
{
    const char *name = run->options.name;
    for (unsigned m = 0; m < STEP_MODES; m++) {
        const struct step_score *s = &run->trace.scores[m];
        if (m == STEP_BOUNDS)
            continue;
        printf("%-18s %-8s %8" PRIu64 " walks of %8" PRIu64 " steps: whole %8.4f %%, first caller %8.4f %%\n", name,
               mode_titles[m], s->checked, run->trace.target.steps, score_percent(s->whole, s->checked),
               score_percent(s->first, s->checked));
        score_print_tables(stdout, s);
    }
    print_events(run);
    printf("#   out of a rule cache: %" PRIu64 " frames, %" PRIu64 " otherwise\n", run->trace.judge.beside.frames,
           run->trace.judge.beside.otherwise);
    printf("#   by addresses and replayed: %" PRIu64 " walks, %" PRIu64 " otherwise\n", run->trace.judge.beside.walks,
           run->trace.judge.beside.walks_otherwise);
    judge_print_budget(&run->trace.judge);
    if (run->trace.shadow.overflow)
        printf("#   the shadow stack overflowed: stepped no further\n");
    if (run->trace.target.executed)
        printf("#   another program was executed: stepped no further\n");
    printf("#   %.1f s, of these %.1f in walks with tables, %.1f without\n", judge_clock() - run->begin,
           run->trace.judge.spent[STEP_TABLES], run->trace.judge.spent[STEP_WITHOUT]);
    printf("sum %s %" PRIu64, name, run->trace.target.steps);
    for (unsigned m = 0; m < STEP_MODES; m++)
        if (m != STEP_BOUNDS)
            printf(" %s %" PRIu64 " %" PRIu64 " %" PRIu64, mode_titles[m], run->trace.scores[m].checked,
                   run->trace.scores[m].first, run->trace.scores[m].whole);
    printf(" sure %" PRIu64 " %" PRIu64 "\n", wrong_and_sure(&run->trace.scores[STEP_TABLES]),
           wrong_and_sure(&run->trace.scores[STEP_WITHOUT]));
}

static void write_findings(struct run *run)
{
    FILE *to = run->options.findings ? fopen(run->options.findings, "a") : NULL;
    if (!to)
        return;
    for (unsigned m = 0; m < STEP_MODES; m++)
        if (m != STEP_BOUNDS)
            findings_write(to, run->options.name, mode_titles[m], &run->trace, (enum step_mode)m);
    (void)fclose(to);
}

/* ---- the command line ---- */

static bool parse(int argc, char *argv[], struct options *o)
{
    int c;
    *o = (struct options){ .start = 300000, .window = 20000, .full = 20000, .every = 97, .gap = 20, .seconds = 30 };
    while ((c = getopt(argc, argv, "+bn:s:w:k:g:a:T:f:e:t:o:r:")) != -1) {
        const struct {
            int letter;
            const char **text;
            uint64_t *large;
            unsigned *small;
        } rows[] = { { 'n', &o->name, NULL, NULL },     { 'T', &o->thread, NULL, NULL },
                     { 'o', &o->findings, NULL, NULL }, { 'r', &o->registers, NULL, NULL },
                     { 's', NULL, &o->start, NULL },    { 'k', NULL, &o->window, NULL },
                     { 'f', NULL, &o->full, NULL },     { 'e', NULL, &o->every, NULL },
                     { 'w', NULL, NULL, &o->windows },  { 'g', NULL, NULL, &o->gap },
                     { 'a', NULL, NULL, &o->attach },   { 't', NULL, NULL, &o->seconds } };
        o->is_limited = o->is_limited || c == 'b';
        size_t i = 0;
        while (c != 'b' && i < sizeof rows / sizeof *rows && rows[i].letter != c)
            i++;
        if (c == 'b')
            continue;
        if (i == sizeof rows / sizeof *rows)
            return false;
        if (rows[i].text)
            *rows[i].text = optarg;
        else if (rows[i].large)
            *rows[i].large = strtoull(optarg, NULL, 10);
        else
            *rows[i].small = (unsigned)strtoul(optarg, NULL, 10);
    }
    return o->name && optind < argc && o->every != 0;
}

/* The registers whose names are in a list. */
static uint64_t registers_of(const char *list)
{
    uint64_t mask = 0;
    for (unsigned n = 0; list && n < target_shadow->nonvolatile; n++)
        if (strstr(list, target_shadow->name[n]))
            mask |= UINT64_C(1) << target_shadow->number[n];
    return mask;
}

static bool open_run(struct run *run, char *argv[])
{
    static const bool is_mode[STEP_MODES] = { true, false, true };
    const struct options *o = &run->options;
    struct target *t = &run->trace.target;
    const bool started =
        o->attach ? target_attach(t, argv, environ, o->attach, o->thread) : target_start(t, argv, environ);
    t->over = &over;
    if (!started || !judge_open(&run->trace.judge, t, is_mode))
        return false;
    run->trace.judge.unjudged = registers_of(o->registers);
    run->trace.judge.is_limited = o->is_limited;
    return true;
}

static void remove_perfmap(pid_t pid)
{
    char path[40];
    (void)snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)pid);
    (void)unlink(path);
}

int main(int argc, char *argv[])
{
    struct run *run = calloc(1, sizeof *run);
    if (!run || !parse(argc, argv, &run->options)) {
        fprintf(stderr, "usage: accuracy -n NAME [-s N] [-w N] [-k N] [-g MS] [-a MS] [-T NAME] [-f N] [-e N] [-t S] "
                        "[-o FILE] [-r NAMES] -- PROGRAM ARGS...\n");
        return 2;
    }
    run->trace.shadow.machine = target_shadow;
    run->trace.due = is_due;
    run->trace.arg = run;
    run->begin = judge_clock();
    const bool opened = open_run(run, &argv[optind]);
    if (opened) {
        set_alarm(run->options.seconds);
        step_all(run);
        report(run);
        write_findings(run);
        judge_close(&run->trace.judge);
    } else {
        printf("%-18s cannot be run\n", run->options.name);
    }
    target_end(&run->trace.target);
    remove_perfmap(run->trace.target.pid);
    free(run);
    return opened ? 0 : 1;
}
