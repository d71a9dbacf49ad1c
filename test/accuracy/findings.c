/* Groups misses by function and prints the largest groups: see findings.h. */
#include "findings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 40, BEFORE = 12, AFTER = 24, FARTHEST = 4096 };

/* The misses of one function: how many walks; the first of them. */
struct group {
    uint64_t begin;
    uint64_t times;
    size_t places;
    const struct step_miss *miss;
};

static uint64_t function_of(const struct trace *trace, uint64_t pc)
{
    const struct symbol *symbol = symbols_find(&trace->judge.symbols, pc);
    return symbol ? symbol->begin : pc & ~(uint64_t)63;
}

static size_t gather(const struct trace *trace, const struct step_score *score, struct group *groups, size_t room)
{
    size_t count = 0;
    for (unsigned further = 0; further < 2; further++)
        for (size_t i = 0; i < score->miss_count[further]; i++) {
            const struct step_miss *miss = &score->misses[further][i];
            const uint64_t begin = function_of(trace, miss->walk.from - (miss->walk.at > 1));
            size_t g = 0;
            while (g < count && groups[g].begin != begin)
                g++;
            if (g == room)
                continue;
            if (g == count)
                groups[count++] = (struct group){ begin, 0, 0, miss };
            groups[g].times += miss->times;
            groups[g].places++;
        }
    return count;
}

static int by_times(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    return x->times != y->times ? (x->times < y->times ? 1 : -1) : x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void print_place(FILE *to, struct trace *trace, uint64_t pc)
{
    const struct symbol *symbol = symbols_find(&trace->judge.symbols, pc);
    struct sw_image image;
    struct sw_range range;
    fprintf(to, "%" PRIx64 " %s", pc, symbols_name(&trace->judge.symbols, symbol));
    if (symbol)
        fprintf(to, "+0x%" PRIx64, pc - symbol->begin);
    if (sw_images_find(trace->judge.images, pc, &image) == SW_OK)
        fprintf(to, " [%s 0x%" PRIx64 "]", image.path, pc - image.bias);
    if (sw_codemap_find(trace->judge.jit, pc, &range) == SW_OK)
        fprintf(to, " [%s 0x%" PRIx64 "]", sw_kind_name((enum sw_kind)range.kind), pc - range.begin);
}

static size_t instruction(struct trace *trace, uint64_t pc, char *text, size_t size)
{
    uint8_t bytes[16];
    return instruction_text(bytes, target_read(&trace->target, pc, bytes, sizeof bytes), pc, text, size);
}

/* Where to begin so that BEFORE instructions are printed in front of pc. */
static uint64_t first_shown(struct trace *trace, uint64_t pc, uint64_t begin)
{
    char text[128];
    uint64_t last[BEFORE];
    size_t count = 0;
    if (begin > pc || pc - begin > FARTHEST)
        return pc;
    for (uint64_t at = begin; at < pc;) {
        const size_t length = instruction(trace, at, text, sizeof text);
        if (length == 0)
            return pc;
        last[count++ % BEFORE] = at;
        at += length;
    }
    return count == 0 ? pc : count < BEFORE ? begin : last[count % BEFORE];
}

static void print_code(FILE *to, struct trace *trace, uint64_t pc, uint64_t begin)
{
    char text[128];
    uint64_t at = first_shown(trace, pc, begin);
    for (size_t after = 0; after<AFTER; after += at> pc) {
        const size_t length = instruction(trace, at, text, sizeof text);
        if (length == 0)
            return;
        fprintf(to, "    %s %" PRIx64 "  %s\n", at == pc ? "=>" : "  ", at, text);
        at += length;
    }
}

static void print_group(FILE *to, struct trace *trace, const struct group *group, bool code)
{
    const struct step_walk *w = &group->miss->walk;
    fprintf(to, "%" PRIu64 " walks at %zu places: frame %u %s, %s/%s, stop %s; its callee is ", group->times,
            group->places, w->at, score_verdict_name((enum step_verdict)w->whole),
            sw_source_name((enum sw_source)w->source), sw_trust_name((enum sw_trust)w->trust),
            sw_stop_name((enum sw_stop)w->stop));
    print_place(to, trace, w->from);
    fprintf(to, "\n  expected sp %" PRIx64 " pc ", w->expected.sp);
    print_place(to, trace, w->expected.pc);
    fprintf(to, "\n  got      sp %" PRIx64 " pc ", w->got.sp);
    print_place(to, trace, w->got.pc);
    for (unsigned n = 0; n < target_shadow->nonvolatile && w->whole == STEP_WRONG_REGISTER; n++)
        if ((w->known >> target_shadow->number[n] & 1) && w->got.nv[n] != w->expected.nv[n])
            fprintf(to, "\n  %s: expected %" PRIx64 ", got %" PRIx64, target_shadow->name[n], w->expected.nv[n],
                    w->got.nv[n]);
    fprintf(to, "\n  the walk began at ");
    print_place(to, trace, group->miss->pc);
    fprintf(to, "\n");
    if (code && w->at > 1)
        print_code(to, trace, group->miss->pc, function_of(trace, group->miss->pc));
    if (code)
        print_code(to, trace, w->from, group->begin);
}

void findings_write(FILE *to, const char *name, const char *title, struct trace *trace, enum step_mode mode)
{
    static struct group groups[STEP_MISSES * 2];
    const struct step_score *score = &trace->scores[mode];
    const size_t count = gather(trace, score, groups, STEP_MISSES * 2);
    qsort(groups, count, sizeof *groups, by_times);
    if (count)
        fprintf(to, "==== %s, %s: %" PRIu64 " of %" PRIu64 " walks wrong\n", name, title, score->checked - score->whole,
                score->checked);
    for (size_t i = 0; i < count && i < GROUPS; i++)
        print_group(to, trace, &groups[i], i < GROUPS / 2);
}
