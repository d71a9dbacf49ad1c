/*
 * step [-a] [-v] [-s N] [-l N] [-n NAME -- PROGRAM ARGS... | PROGRAM...]: single-steps programs and compares, at each
 * instruction, the walk with a shadow stack of the calls that were executed. TAP on standard output, one test for each
 * program and mode; rows and misses as comments; the last line sums up.
 *
 *   -a      from the entry point to the end of the program; else from main until it returns
 *   -s N    an instruction is checked the first 2 times it is met, then once in N (default 64)
 *   -l N    in other images (libc, the dynamic linker) one instruction in N is checked (default 7); 1: as in the
 * program -v      list all misses -n      one program with arguments, under a name
 */
#include "judge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RECENT = 8, EPILOGUE_INSNS = 5, WARM = 2, VISITS = 1 << 16 };

struct options {
    bool all;
    bool verbose;
    unsigned sample;
    unsigned library;
    const char *name;
};

/* recent: the last samples, not counted yet; what comes next may show an epilogue, or that a jump was under way. */
struct run {
    struct target target;
    struct judge judge;
    struct shadow shadow;
    struct step_score scores[STEP_MODES];
    struct step_sample recent[RECENT];
    size_t recent_count;
    struct visit {
        uint64_t pc, times;
    } visits[VISITS];
    uint64_t between;
    uint64_t outside; /* instructions executed in other images */
    const struct sw_map *image;
    bool begun;
    size_t main_depth;
};

static struct shadow_regs watched(const struct user_regs_struct *u)
{
    return (struct shadow_regs){ u->rip, u->rsp, { u->rbx, u->rbp, u->r12, u->r13, u->r14, u->r15 } };
}

/* ---- counting ---- */

static void count_sample(struct run *run, const struct step_sample *sample)
{
    for (unsigned m = 0; m < STEP_MODES; m++)
        score_add(&run->scores[m], sample, (enum step_mode)m);
}

static void count_recent(struct run *run)
{
    for (size_t i = 0; i < run->recent_count; i++)
        count_sample(run, &run->recent[i]);
    run->recent_count = 0;
}

static struct step_sample *next_sample(struct run *run)
{
    if (run->recent_count == RECENT) {
        count_sample(run, &run->recent[0]);
        memmove(run->recent, run->recent + 1, (RECENT - 1) * sizeof run->recent[0]);
        run->recent_count--;
    }
    struct step_sample *sample = &run->recent[run->recent_count++];
    memset(sample, 0, sizeof *sample);
    return sample;
}

static void mark_epilogue(struct run *run, size_t depth)
{
    for (size_t i = run->recent_count, n = 0; i-- > 0 && n < EPILOGUE_INSNS; n++) {
        if (run->recent[i].depth != depth)
            return;
        if (run->recent[i].place == STEP_OTHER)
            run->recent[i].place = STEP_EPILOGUE;
    }
}

/*
 * A jump out of frames has happened (longjmp, the end of a throw). Just before it the unwind tables tell where it
 * leads, and rightly so: a walk that said that is right.
 */
static void forgive_leaving(struct run *run, const struct shadow_regs *after)
{
    for (size_t i = 0; i < run->recent_count; i++)
        for (unsigned m = 0; m < STEP_MODES; m++) {
            struct step_walk *w = &run->recent[i].walks[m];
            if (w->first == STEP_WRONG_PLACE && w->got.pc == after->pc && w->got.sp == after->sp)
                w->judged = false;
        }
}

/* ---- stepping ---- */

static bool is_outside(const struct run *run, uint64_t pc)
{
    const struct sw_map *map = target_map_at(&run->target, pc);
    return !map || !run->image || !sw_maps_same_file(map, run->image);
}

static bool is_due(struct run *run, uint64_t pc, const struct options *options)
{
    struct visit *visit = &run->visits[(pc * UINT64_C(0x9e3779b97f4a7c15)) >> 48];
    const size_t depth = run->shadow.count;
    const bool restoring =
        depth && run->shadow.entries[depth - 1].interrupted; /* two instructions of libc that matter */
    if (options->library > 1 && !restoring && is_outside(run, pc))
        return run->outside++ % options->library == 0;
    if (visit->pc != pc)
        *visit = (struct visit){ pc, 0 };
    const uint64_t n = visit->times++;
    return n < WARM || n % options->sample == 0;
}

/*
 * A handler may change where it returns to: what counts is the context that the kernel will take back. It lies behind
 * the restorer's address; Linux arch/x86 asm/sigcontext.h, uapi asm/ucontext.h.
 */
static void read_contexts(struct run *run)
{
    enum { RESTORER = 8, GENERAL = 40, WORD = 8 };
    static const uint8_t nv[SHADOW_NONVOLATILE] = { 11, 10, 4, 5, 6, 7 }; /* from r8 on */
    for (size_t i = 0; i < run->shadow.count; i++) {
        struct shadow_entry *entry = &run->shadow.entries[i];
        const uint64_t general = entry->slot + RESTORER + GENERAL;
        if (!entry->interrupted)
            continue;
        entry->regs.sp = target_word(&run->target, general + 15 * WORD);
        entry->regs.pc = target_word(&run->target, general + 16 * WORD);
        for (unsigned n = 0; n < SHADOW_NONVOLATILE; n++)
            entry->regs.nv[n] = target_word(&run->target, general + nv[n] * WORD);
    }
}

static void look(struct run *run, const struct user_regs_struct *u, const struct options *options)
{
    const struct shadow_regs now = watched(u);
    if (shadow_between(&run->shadow, &now)) {
        run->between++;
        return;
    }
    if (!is_due(run, u->rip, options))
        return;
    struct step_sample *sample = next_sample(run);
    sample->pc = u->rip;
    sample->depth = run->shadow.count;
    read_contexts(run);
    judge_sample(&run->judge, u, &run->shadow, sample);
}

static void record(struct run *run, enum shadow_kind kind, const struct user_regs_struct *u,
                   const struct user_regs_struct *v, bool entered)
{
    const struct shadow_regs before = watched(u), after = watched(v);
    const uint64_t top = entered || kind == SHADOW_CALL ? target_word(&run->target, after.sp) : 0;
    const size_t depth = run->shadow.count;
    if (entered) {
        shadow_signal(&run->shadow, &before, &after, top);
        return;
    }
    const enum shadow_event event = shadow_step(&run->shadow, kind, &before, &after, top);
    if (event == SHADOW_RETURNED)
        mark_epilogue(run, depth);
    if (event == SHADOW_LEFT)
        forgive_leaving(run, &after);
}

/* Whether the instruction is one to look at; begins and ends at main unless all is asked for. */
static bool in_scope(struct run *run, const struct user_regs_struct *u, const struct options *options, bool *over)
{
    if (!run->begun && (options->all || u->rip == run->judge.main_begin)) {
        run->begun = true;
        run->main_depth = run->shadow.count;
    }
    *over = run->begun && run->shadow.count < run->main_depth;
    return run->begun && !*over;
}

static void step_all(struct run *run, const struct options *options)
{
    struct user_regs_struct before, after;
    const uint8_t *bytes;
    bool entered, over = false;
    if (!target_regs(&run->target, &before))
        return;
    while (!run->shadow.overflow) {
        if (in_scope(run, &before, options, &over))
            look(run, &before, options);
        if (over)
            break;
        const size_t size = target_code(&run->target, before.rip, &bytes);
        const enum shadow_kind kind = shadow_kind_of(bytes, size);
        if (!target_step(&run->target, &entered) || !target_regs(&run->target, &after))
            break;
        record(run, kind, &before, &after, entered);
        before = after;
    }
    count_recent(run);
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
        const struct step_score *s = &run->scores[m];
        const bool pass = is_pass(s, (enum step_mode)m, bare);
        printf("%s %u - step %s, %s: %" PRIu64 " steps, %" PRIu64 " checked, first %.3f %%, whole %.3f %%\n",
               pass ? "ok" : "not ok", ++*number, name, score_mode_name((enum step_mode)m), run->target.steps,
               s->checked, score_percent(s->first, s->checked), score_percent(s->whole, s->checked));
        if (!pass || options->verbose) {
            score_print_tables(stdout, s);
            score_print_misses(stdout, s, &run->judge.symbols, options->verbose ? STEP_MISSES : 5);
        }
        passed = passed && pass;
    }
    if (run->shadow.overflow)
        printf("# the shadow stack overflowed: stepped no further\n");
    (void)fflush(stdout);
    return passed;
}

static bool run_program(char *const argv[], const char *name, const struct options *options,
                        struct step_score totals[STEP_MODES], unsigned *number)
{
    struct run *run = calloc(1, sizeof *run);
    bool passed = false;
    if (run && target_start(&run->target, argv) && judge_open(&run->judge, &run->target)) {
        run->image = target_map_at(&run->target, run->judge.main_begin);
        step_all(run, options);
        passed = report(run, name, options, number);
        for (unsigned m = 0; m < STEP_MODES; m++)
            score_merge(&totals[m], &run->scores[m]);
        judge_close(&run->judge);
    } else {
        printf("not ok %u - step %s: cannot be run\n", ++*number, name);
    }
    if (run)
        target_end(&run->target);
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
    while ((c = getopt(argc, argv, "avs:l:n:")) != -1) {
        options->all = options->all || c == 'a';
        options->verbose = options->verbose || c == 'v';
        if (c == 's')
            options->sample = (unsigned)strtoul(optarg, NULL, 10);
        if (c == 'l')
            options->library = (unsigned)strtoul(optarg, NULL, 10);
        if (c == 'n')
            options->name = optarg;
        if (c == '?')
            return false;
    }
    return optind < argc && options->sample != 0 && options->library != 0;
}

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char *argv[])
{
    static struct step_score totals[STEP_MODES];
    struct options options;
    unsigned number = 0;
    bool passed = true;
    const double begin = seconds();
    if (!parse(argc, argv, &options)) {
        fprintf(stderr, "usage: step [-a] [-v] [-s N] [-l N] [-n NAME -- PROGRAM ARGS... | PROGRAM...]\n");
        return 2;
    }
    if (options.name)
        passed = run_program(&argv[optind], options.name, &options, totals, &number);
    for (int i = optind; i < argc && !options.name; i++) {
        char *const alone[] = { argv[i], NULL };
        passed = run_program(alone, base_name(argv[i]), &options, totals, &number) && passed;
    }
    printf("1..%u\n", number);
    for (unsigned m = 0; m < STEP_MODES; m++) {
        printf("# %s: first %.4f %%, whole %.4f %% of %" PRIu64 "\n", score_mode_name((enum step_mode)m),
               score_percent(totals[m].first, totals[m].checked), score_percent(totals[m].whole, totals[m].checked),
               totals[m].checked);
        score_print_tables(stdout, &totals[m]);
    }
    printf("# %.1f seconds\n", seconds() - begin);
    printf("step: %" PRIu64 " of %" PRIu64 " instructions right with tables, %" PRIu64 " of %" PRIu64
           " with bounds, %" PRIu64 " of %" PRIu64 " without\n",
           totals[STEP_TABLES].first, totals[STEP_TABLES].checked, totals[STEP_BOUNDS].first,
           totals[STEP_BOUNDS].checked, totals[STEP_WITHOUT].first, totals[STEP_WITHOUT].checked);
    return passed ? 0 : 1;
}
