/* Counting and printing: see score.h. Knows nothing of processes. */
#include "score.h"
#include "target.h"

#include <inttypes.h>

static const char *const mode_names[] = { "tables", "bounds", "without" }; /* ORDER step_mode */
static const char *const place_names[] = {
    "prologue", "epilogue", "plt", "vdso", "signal", "jit", "other"
}; /* ORDER step_place */
static const char *const verdict_names[] = { "right", "wrong place", "wrong register", "cut",
                                             "too far" }; /* ORDER step_verdict */

_Static_assert(sizeof mode_names / sizeof *mode_names == STEP_MODES, "a name for each mode");
_Static_assert(sizeof place_names / sizeof *place_names == STEP_PLACES, "a name for each place");
_Static_assert(sizeof verdict_names / sizeof *verdict_names == STEP_VERDICTS, "a name for each verdict");

const char *score_mode_name(enum step_mode mode)
{
    return mode_names[mode];
}

const char *score_verdict_name(enum step_verdict verdict)
{
    return verdict_names[verdict];
}

double score_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 100.0;
}

static void add_miss(struct step_score *score, uint64_t pc, const struct step_walk *walk)
{
    struct step_miss *misses = score->misses[walk->at != 1];
    size_t *count = &score->miss_count[walk->at != 1];
    for (size_t i = 0; i < *count; i++)
        if (misses[i].walk.from == walk->from && misses[i].walk.whole == walk->whole) {
            misses[i].times++;
            return;
        }
    if (*count < STEP_MISSES)
        misses[(*count)++] = (struct step_miss){ pc, 1, *walk };
}

void score_add(struct step_score *score, const struct step_sample *sample, enum step_mode mode)
{
    const struct step_walk *walk = &sample->walks[mode];
    if (!walk->judged)
        return;
    score->checked++;
    score->first += walk->first == STEP_RIGHT;
    score->whole += walk->whole == STEP_RIGHT;
    score->places[sample->place][walk->first == STEP_RIGHT]++;
    score->verdicts[walk->first]++;
    if (walk->complete && walk->whole == STEP_RIGHT)
        score->ends[walk->stop]++;
    for (unsigned t = 0; t < SW_TRUST_COUNT; t++)
        for (unsigned right = 0; right < 2; right++)
            score->frames[t][right] += walk->frames[t][right];
    if (walk->whole != STEP_RIGHT)
        add_miss(score, sample->pc, walk);
}

void score_merge(struct step_score *to, const struct step_score *from)
{
    to->checked += from->checked;
    to->first += from->first;
    to->whole += from->whole;
    for (unsigned right = 0; right < 2; right++) {
        for (unsigned p = 0; p < STEP_PLACES; p++)
            to->places[p][right] += from->places[p][right];
        for (unsigned t = 0; t < SW_TRUST_COUNT; t++)
            to->frames[t][right] += from->frames[t][right];
    }
    for (unsigned v = 0; v < STEP_VERDICTS; v++)
        to->verdicts[v] += from->verdicts[v];
    for (unsigned s = 0; s < SW_STOP_COUNT; s++)
        to->ends[s] += from->ends[s];
}

void score_print_tables(FILE *to, const struct step_score *score)
{
    fprintf(to, "#   first caller by place, right/all:");
    for (unsigned p = 0; p < STEP_PLACES; p++)
        if (score->places[p][0] + score->places[p][1])
            fprintf(to, " %s %" PRIu64 "/%" PRIu64, place_names[p], score->places[p][1],
                    score->places[p][0] + score->places[p][1]);
    fprintf(to, "\n#   all frames by trust, right/all:");
    for (unsigned t = 0; t < SW_TRUST_COUNT; t++)
        if (score->frames[t][0] + score->frames[t][1])
            fprintf(to, " %s %" PRIu64 "/%" PRIu64, sw_trust_name((enum sw_trust)t), score->frames[t][1],
                    score->frames[t][0] + score->frames[t][1]);
    fprintf(to, "\n#   ends of whole walks:");
    for (unsigned s = 0; s < SW_STOP_COUNT; s++)
        if (score->ends[s])
            fprintf(to, " %s %" PRIu64, sw_stop_name((enum sw_stop)s), score->ends[s]);
    fprintf(to, "\n");
}

static void print_register_misses(FILE *to, const struct step_walk *w)
{
    for (unsigned n = 0; n < target_shadow->nonvolatile; n++)
        if ((w->known >> target_shadow->number[n] & 1) && w->got.nv[n] != w->expected.nv[n])
            fprintf(to, " %s %" PRIx64 " not %" PRIx64, target_shadow->name[n], w->got.nv[n], w->expected.nv[n]);
}

static void print_miss(FILE *to, const struct step_miss *miss, const struct symbols *symbols)
{
    const struct step_walk *w = &miss->walk;
    const struct symbol *symbol = symbols_find(symbols, miss->pc);
    fprintf(to, "#   %s+0x%" PRIx64 " (%" PRIx64 ") x%" PRIu64 ": frame %u %s, %s/%s", symbols_name(symbols, symbol),
            symbol ? miss->pc - symbol->begin : 0, miss->pc, miss->times, w->at, verdict_names[w->whole],
            sw_source_name((enum sw_source)w->source), sw_trust_name((enum sw_trust)w->trust));
    if (w->whole == STEP_CUT)
        fprintf(to, ", stopped: %s, expected", sw_stop_name((enum sw_stop)w->stop));
    else
        fprintf(to, ", got pc %" PRIx64 " sp %" PRIx64 ", expected", w->got.pc, w->got.sp);
    symbol = symbols_find(symbols, w->expected.pc - 1);
    fprintf(to, " pc %" PRIx64 " (%s) sp %" PRIx64, w->expected.pc, symbols_name(symbols, symbol), w->expected.sp);
    if (w->whole == STEP_WRONG_REGISTER)
        print_register_misses(to, w);
    fprintf(to, "\n");
}

void score_print_misses(FILE *to, const struct step_score *score, const struct symbols *symbols, size_t most)
{
    for (unsigned further = 0; further < 2; further++) {
        const size_t count = score->miss_count[further];
        for (size_t i = 0; i < count && i < most; i++)
            print_miss(to, &score->misses[further][i], symbols);
        if (count > most)
            fprintf(to, "#   and at %zu more instructions\n", count - most);
    }
}
