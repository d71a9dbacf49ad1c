/*
 * step [-a] [-b] [-v] [-s N] [-l N] [-x COMMAND] [-n NAME -- PROGRAM ARGS... | PROGRAM...]: single-steps programs and
 * compares, at each instruction, the walk with a shadow stack of the calls that were executed. TAP on standard output,
 * one test for each program and mode; rows and misses as comments; the last line sums up.
 *
 *   -a      from the entry point to the end of the program; else from main until it returns
 *   -b      with the default budget: a walk that it cut is made again when the work left is prepared
 *   -s N    an instruction is checked the first 2 times it is met, then once in N (default 64)
 *   -l N    in other images (libc, the dynamic linker) one instruction in N is checked (default 7); 1: as in the
 * program -v      list all misses -n      one program with arguments, under a name
 *   -x      what executes the programs: a path and options, with blanks between
 */
#include "trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WARM = 2, VISITS = 1 << 16, COMMAND_WORDS = 16 };

struct options {
    bool all;
    bool verbose;
    bool is_limited;
    unsigned sample;
    unsigned library;
    const char *name;
    char *command;
};

struct run {
    struct trace trace;
    const struct options *options;
    struct visit {
        uint64_t pc, times;
    } visits[VISITS];
    uint64_t outside; /* instructions executed in other images */
    const struct sw_map *image;
    bool begun;
    size_t main_depth;
};

/* ---- what is looked at ---- */

static bool is_outside(const struct run *run, uint64_t pc)
{
    const struct sw_map *map = target_map_at(&run->trace.target, pc);
    return !map || !run->image || !sw_maps_same_file(map, run->image);
}

static bool is_due(struct trace *trace, uint64_t pc)
{
    struct run *run = trace->arg;
    struct visit *visit = &run->visits[(pc * UINT64_C(0x9e3779b97f4a7c15)) >> 48];
    const struct shadow *shadow = &trace->shadow;
    /* Two instructions of libc that matter: */
    const bool restoring = shadow->count && shadow->entries[shadow->count - 1].interrupted;
    if (run->options->library > 1 && !restoring && is_outside(run, pc))
        return run->outside++ % run->options->library == 0;
    if (visit->pc != pc)
        *visit = (struct visit){ pc, 0 };
    const uint64_t n = visit->times++;
    return n < WARM || n % run->options->sample == 0;
}

/* Whether the instruction is one to look at; begins and ends at main unless all is asked for. */
static bool in_scope(struct run *run, const struct sw_regs *regs, bool *over)
{
    const size_t depth = run->trace.shadow.count;
    if (!run->begun && (run->options->all || sw_regs_pc(regs) == run->trace.judge.main_begin)) {
        run->begun = true;
        run->main_depth = depth;
    }
    *over = run->begun && depth < run->main_depth;
    return run->begun && !*over;
}

static void step_all(struct run *run)
{
    struct sw_regs regs;
    bool over = false, more = target_regs(&run->trace.target, &regs);
    while (more && !over && !run->trace.shadow.overflow) {
        const bool look = in_scope(run, &regs, &over);
        more = !over && trace_step(&run->trace, &regs, look);
    }
    trace_flush(&run->trace);
}

/* ---- reporting ---- */

/* With tables and with bounds every caller must be right; where neither tells, one in a thousand may be missed. */
static bool is_pass(const struct step_score *score, enum step_mode mode, bool bare)
{
    if (score->checked == 0)
        return false;
    if (mode == STEP_TABLES && !bare)
        return score->whole == score->checked;
    if (mode == STEP_BOUNDS)
        return score->first == score->checked;
    return 1000 * (score->checked - score->first) <= score->checked;
}

static bool report(const struct run *run, const char *name, const struct options *options, unsigned *number)
{
    const bool bare = strstr(name, "-bare") != NULL;
    bool passed = true;
    for (unsigned m = 0; m < STEP_MODES; m++) {
        const struct step_score *s = &run->trace.scores[m];
        if (!run->trace.judge.is_mode[m])
            continue;
        const bool pass = is_pass(s, (enum step_mode)m, bare);
        printf("%s %u - step %s, %s: %" PRIu64 " steps, %" PRIu64 " checked, first %.3f %%, whole %.3f %%\n",
               pass ? "ok" : "not ok", ++*number, name, score_mode_name((enum step_mode)m), run->trace.target.steps,
               s->checked, score_percent(s->first, s->checked), score_percent(s->whole, s->checked));
        if (!pass || options->verbose) {
            score_print_tables(stdout, s);
            score_print_misses(stdout, s, &run->trace.judge.symbols, options->verbose ? STEP_MISSES : 5);
        }
        passed = passed && pass;
    }
    const struct beside *beside = &run->trace.judge.beside;
    printf("%s %u - step %s: %" PRIu64 " of %" PRIu64 " frames the same out of a rule cache\n",
           beside->otherwise ? "not ok" : "ok", ++*number, name, beside->frames - beside->otherwise, beside->frames);
    printf("%s %u - step %s: %" PRIu64 " of %" PRIu64 " walks the same by addresses and replayed\n",
           beside->walks_otherwise ? "not ok" : "ok", ++*number, name, beside->walks - beside->walks_otherwise,
           beside->walks);
    passed = passed && beside->otherwise == 0 && beside->walks_otherwise == 0;
    judge_print_budget(&run->trace.judge);
    if (run->trace.shadow.overflow)
        printf("# the shadow stack overflowed: stepped no further\n");
    (void)fflush(stdout);
    return passed;
}

static bool run_program(char *const argv[], const char *name, const struct options *options,
                        struct step_score totals[STEP_MODES], unsigned *number)
{
    const bool modes[STEP_MODES] = { !strstr(name, "-untold"), true, true }; /* ORDER step_mode */
    struct run *run = calloc(1, sizeof *run);
    bool passed = false;
    if (!run)
        return false;
    struct trace *trace = &run->trace;
    if (target_start(&trace->target, argv, NULL) && judge_open(&trace->judge, &trace->target, modes)) {
        run->options = options;
        trace->shadow.machine = target_shadow;
        trace->judge.is_limited = options->is_limited;
        trace->due = is_due;
        trace->arg = run;
        run->image = target_map_at(&trace->target, trace->judge.main_begin);
        step_all(run);
        passed = report(run, name, options, number);
        for (unsigned m = 0; m < STEP_MODES; m++)
            score_merge(&totals[m], &trace->scores[m]);
        judge_close(&trace->judge);
    } else {
        printf("not ok %u - step %s: cannot be run\n", ++*number, name);
    }
    target_end(&trace->target);
    free(run);
    return passed;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool parse(int argc, char *argv[], struct options *options)
{
    int c;
    *options = (struct options){ .sample = 64, .library = 7 };
    while ((c = getopt(argc, argv, "abvs:l:n:x:")) != -1) {
        options->all = options->all || c == 'a';
        options->verbose = options->verbose || c == 'v';
        options->is_limited = options->is_limited || c == 'b';
        if (c == 's')
            options->sample = (unsigned)strtoul(optarg, NULL, 10);
        if (c == 'l')
            options->library = (unsigned)strtoul(optarg, NULL, 10);
        if (c == 'n')
            options->name = optarg;
        if (c == 'x')
            options->command = optarg;
        if (c == '?')
            return false;
    }
    return optind < argc && options->sample != 0 && options->library != 0;
}

/* The words of the command, which is taken apart, and the program. */
static void command_line(char *command, char *program, char *argv[COMMAND_WORDS + 2])
{
    size_t count = 0;
    for (char *word = command ? strtok(command, " ") : NULL; word && count < COMMAND_WORDS; word = strtok(NULL, " "))
        argv[count++] = word;
    argv[count++] = program;
    argv[count] = NULL;
}

int main(int argc, char *argv[])
{
    static struct step_score totals[STEP_MODES];
    struct options options;
    unsigned number = 0;
    bool passed = true;
    const double begin = judge_clock();
    if (!parse(argc, argv, &options)) {
        fprintf(stderr,
                "usage: step [-a] [-b] [-v] [-s N] [-l N] [-x COMMAND] [-n NAME -- PROGRAM ARGS... | PROGRAM...]\n");
        return 2;
    }
    if (options.name)
        passed = run_program(&argv[optind], options.name, &options, totals, &number);
    for (int i = optind; i < argc && !options.name; i++) {
        char *alone[COMMAND_WORDS + 2], *command = options.command ? strdup(options.command) : NULL;
        command_line(command, argv[i], alone);
        passed = run_program(alone, base_name(argv[i]), &options, totals, &number) && passed;
        free(command);
    }
    printf("1..%u\n", number);
    for (unsigned m = 0; m < STEP_MODES; m++) {
        printf("# %s: first %.4f %%, whole %.4f %% of %" PRIu64 "\n", score_mode_name((enum step_mode)m),
               score_percent(totals[m].first, totals[m].checked), score_percent(totals[m].whole, totals[m].checked),
               totals[m].checked);
        score_print_tables(stdout, &totals[m]);
    }
    printf("# %.1f seconds\n", judge_clock() - begin);
    printf("step: %" PRIu64 " of %" PRIu64 " instructions right with tables, %" PRIu64 " of %" PRIu64
           " with bounds, %" PRIu64 " of %" PRIu64 " without\n",
           totals[STEP_TABLES].first, totals[STEP_TABLES].checked, totals[STEP_BOUNDS].first,
           totals[STEP_BOUNDS].checked, totals[STEP_WITHOUT].first, totals[STEP_WITHOUT].checked);
    return passed ? 0 : 1;
}
