/*
 * Sets the library up for a stepped program as a user would, walks, and compares every frame with the shadow stack:
 * return address, stack pointer, and each nonvolatile register that the walk claims to know.
 */
#include "judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PROLOGUE_BYTES = 32, LOOSE = 2048, MOST_FRAMES = SHADOW_DEPTH + 8, KEPT_BYTES = 1 << 26 };

/* ---- set-up ---- */

/* Ranges that are in are refused, and stay. */
static void add_bounds(struct judge *j)
{
    for (size_t i = 0; i < j->symbols.count; i++) {
        const struct symbol *s = &j->symbols.rows[i];
        const struct sw_range range = { s->begin, s->end, 0, 0, SW_KIND_NATIVE, SW_UNWIND_AUTO, 0 };
        const enum sw_status status = s->cold ? SW_OK : sw_codemap_add(j->bounds, &range);
        if (status != SW_OK && status != SW_E_OVERLAP)
            fprintf(stderr, "step: no bounds for %s\n", symbols_name(&j->symbols, s));
    }
}

static bool is_new(struct judge *j, uint64_t begin)
{
    for (size_t i = 0; i < j->file_count; i++)
        if (j->files[i] == begin)
            return false;
    if (j->file_count == JUDGE_FILES)
        return false;
    j->files[j->file_count++] = begin;
    return true;
}

/* Files begin with their offset 0. */
static bool add_symbols(struct judge *j)
{
    const struct target *t = j->target;
    char path[4096];
    bool added = false;
    for (size_t i = 0; i < t->map_count; i++) {
        const struct sw_map *map = &t->maps[i];
        if (map->path_size == 6 && memcmp(map->path, "[vdso]", 6) == 0) {
            j->vdso_begin = map->begin;
            j->vdso_end = map->end;
        }
        if (!target_is_file(map) || map->offset != 0 || (i > 0 && sw_maps_same_file(map, map - 1)) ||
            !is_new(j, map->begin) || sw_maps_path(map, path, sizeof path, NULL) != SW_OK)
            continue;
        added = symbols_add(&j->symbols, path, map->begin) || added;
    }
    return added;
}

static bool runs_coreclr(const struct target *t)
{
    static const char name[] = "libcoreclr.so";
    const size_t size = sizeof name - 1;
    for (size_t i = 0; i < t->map_count; i++) {
        const struct sw_map *map = &t->maps[i];
        if (map->path_size > size && memcmp(map->path + map->path_size - size, name, size) == 0)
            return true;
    }
    return false;
}

static void read_perfmap(struct judge *j)
{
    const enum sw_perfmap_flavour flavour = runs_coreclr(j->target) ? SW_PERFMAP_CLR : SW_PERFMAP_PLAIN;
    if (!j->perfmap && sw_perfmap_create(NULL, flavour, &j->perfmap) != SW_OK)
        return;
    if (sw_perfmap_read_process(j->perfmap, (int)j->target->pid, j->jit) == SW_OK) /* most programs have none */
        (void)target_mirror(j->target, j->jit);
}

void judge_sync(struct judge *j)
{
    if (!target_images(j->target, j->images))
        fprintf(stderr, "step: images cannot be registered\n");
    if (add_symbols(j))
        symbols_sort(&j->symbols);
    if (j->is_mode[STEP_BOUNDS])
        add_bounds(j);
    read_perfmap(j);
}

bool judge_open(struct judge *j, struct target *target, const bool is_mode[STEP_MODES])
{
    memset(j, 0, sizeof *j);
    j->target = target;
    memcpy(j->is_mode, is_mode, sizeof j->is_mode);
    if (sw_images_create(NULL, &j->images) != SW_OK || sw_codemap_create(NULL, &j->bounds) != SW_OK ||
        sw_codemap_create(NULL, &j->jit) != SW_OK ||
        sw_analysis_cache_create(NULL, KEPT_BYTES, &j->analysis_cache) != SW_OK || !beside_open(&j->beside)) {
        fprintf(stderr, "step: cannot set the library up\n");
        return false;
    }
    judge_sync(j);
    for (size_t i = 0; i < j->symbols.count && !j->main_begin; i++)
        if (strcmp(symbols_name(&j->symbols, &j->symbols.rows[i]), "main") == 0)
            j->main_begin = j->symbols.rows[i].begin;
    return true;
}

void judge_close(struct judge *j)
{
    sw_perfmap_destroy(j->perfmap);
    sw_images_destroy(j->images);
    sw_codemap_destroy(j->bounds);
    sw_codemap_destroy(j->jit);
    sw_analysis_cache_destroy(j->analysis_cache);
    beside_close(&j->beside);
    symbols_free(&j->symbols);
}

/* ---- walks ---- */

static void walker_for(const struct judge *j, enum step_mode mode, struct sw_walker *walker)
{
    const struct sw_codemap *codemaps[STEP_MODES] = { j->jit, j->bounds, NULL }; /* ORDER step_mode */
    *walker = (struct sw_walker){ .machine = target_machine,
                                  .memory = j->target->memory,
                                  .images = j->images,
                                  .codemap = codemaps[mode],
                                  .analysis_cache = j->analysis_cache,
                                  .stack_begin = j->target->stack_begin,
                                  .stack_end = j->target->stack_end,
                                  .max_frames = MOST_FRAMES,
                                  .flags = mode == STEP_TABLES ? 0 : SW_WALK_NO_TABLES,
                                  .budget = j->is_limited ? SW_WALK_BUDGET_DEFAULT : SW_WALK_BUDGET_UNLIMITED };
}

/* Code that was made since the perf map was read. */
static bool is_unheard_of(const struct judge *j, const struct sw_frame *frame)
{
    const struct sw_map *map = frame->code.begin == frame->code.end ? target_map_at(j->target, frame->lookup) : NULL;
    return map && map->executable && !target_is_file(map);
}

/* A return address that was written over leads elsewhere: the end of a throw does so. Then nobody can tell the truth.
 * (On ARM64 it is not known where it lies.) */
static bool is_overwritten(const struct judge *j, const struct shadow_entry *truth)
{
    return target_shadow->pushed && !truth->interrupted && target_word(j->target, truth->slot) != truth->regs.pc;
}

/* A stack that was made by hand may end at its first function, or at what that will return to. */
static bool is_end(const struct shadow_entry *expected, enum sw_stop stop)
{
    return !expected ||
           (expected->bottom && (stop == SW_STOP_ROOT || stop == SW_STOP_ROOT_ZERO || stop == SW_STOP_ROOT_BASE));
}

/*
 * ARM64: the code being executed never had a frame, and no register holds its return address any more: the end of
 * longjmp, a switch of contexts. Then it is nowhere that a walk may look.
 */
static bool is_lost(const struct sw_regs *regs, const struct shadow_entry *caller)
{
    if (target_shadow->pushed || caller->framed || caller->interrupted || caller->assumed ||
        sw_regs_sp(regs) != caller->regs.sp)
        return false;
    for (unsigned n = 0; n <= SW_ARM64_LR; n++)
        if ((regs->r[n] & UINT64_C(0x0000ffffffffffff)) == caller->regs.pc)
            return false;
    return true;
}

/* The return address lies elsewhere by now: V8's code copies it to push arguments in front of it. */
static bool is_moved(const struct judge *j, const struct shadow_entry *truth, const struct sw_frame *frame)
{
    return truth && is_overwritten(j, truth) && sw_regs_pc(&frame->regs) == truth->regs.pc &&
           target_word(j->target, sw_regs_sp(&frame->regs) - 8) == truth->regs.pc;
}

/* One frame against the truth, null: there should be none. moved: its sp may differ. Fills in `got` and `known`. */
static enum step_verdict judge_frame(const struct judge *j, const struct sw_frame *frame,
                                     const struct shadow_entry *truth, bool moved, struct step_walk *walk)
{
    const uint8_t *order = target_shadow->number;
    const struct sw_regs *regs = &frame->regs;
    walk->got = (struct shadow_regs){ .pc = sw_regs_pc(regs), .sp = sw_regs_sp(regs) };
    walk->known = regs->known;
    walk->source = frame->source;
    walk->trust = frame->trust;
    for (unsigned n = 0; n < target_shadow->nonvolatile; n++)
        walk->got.nv[n] = regs->r[order[n]];
    if (!truth)
        return STEP_TOO_FAR;
    const uint64_t off = walk->got.sp - truth->regs.sp;
    const bool is_sp = off == 0 || ((truth->loose || moved) && off + LOOSE <= 2 * LOOSE);
    if (walk->got.pc != truth->regs.pc || !is_sp || frame->exact != truth->interrupted)
        return STEP_WRONG_PLACE;
    for (unsigned n = 0; n < target_shadow->nonvolatile && !truth->assumed; n++)
        if (sw_regs_has(regs, order[n]) && !(j->unjudged >> order[n] & 1) && walk->got.nv[n] != truth->regs.nv[n])
            return STEP_WRONG_REGISTER;
    return STEP_RIGHT;
}

static void judge_walk(struct judge *j, enum step_mode mode, const struct sw_regs *start, const struct shadow *truth,
                       struct step_walk *out)
{
    struct sw_walker walker;
    struct sw_walk walk;
    enum step_verdict verdict = STEP_RIGHT;
    size_t left = truth->count;
    if (left && truth->entries[left - 1].unknown)
        return;
    if (left && is_lost(start, &truth->entries[left - 1])) {
        j->overwritten++;
        return;
    }
    *out = (struct step_walk){ .judged = true };
    walker_for(j, mode, &walker);
    sw_walk_start(&walk, &walker, &j->scratch, start, true);
    beside_start(&j->beside, mode, &walker, start);
    bool more = sw_walk_next(&walk);
    beside_next(&j->beside, &walk, more);
    while (more && verdict == STEP_RIGHT) {
        const struct shadow_entry *expected = left ? &truth->entries[left - 1] : NULL;
        if (expected && expected->unknown)
            break;
        out->from = sw_regs_pc(&walk.frame.regs);
        more = sw_walk_next(&walk);
        beside_next(&j->beside, &walk, more);
        out->at++;
        if (expected)
            out->expected = expected->regs;
        if (more)
            verdict = judge_frame(j, &walk.frame, expected, is_moved(j, expected, &walk.frame), out);
        else
            verdict = is_end(expected, walk.stop) ? STEP_RIGHT : STEP_CUT;
        out->complete = !more;
        out->unheard_of = out->unheard_of || (more && is_unheard_of(j, &walk.frame));
        if (out->at == 1)
            out->first = (uint8_t)verdict;
        if (more)
            out->frames[walk.frame.trust][verdict == STEP_RIGHT]++;
        if (verdict == STEP_WRONG_PLACE && is_overwritten(j, expected)) {
            j->overwritten++;
            out->judged = false;
        }
        left -= left > 0;
    }
    beside_end(&j->beside, mode, &walk);
    out->whole = (uint8_t)verdict;
    out->stop = (uint8_t)walk.stop;
    j->cut_again[mode] += walk.stop == SW_STOP_BUDGET;
    j->most_work[mode] = walk.work > j->most_work[mode] ? walk.work : j->most_work[mode];
}

static enum step_place place_of(const struct judge *j, uint64_t pc, const struct shadow *truth)
{
    const struct symbol *symbol = symbols_find(&j->symbols, pc);
    const struct sw_map *map = target_map_at(j->target, pc);
    if (symbols_in_plt(&j->symbols, pc))
        return STEP_PLT;
    if (pc >= j->vdso_begin && pc < j->vdso_end)
        return STEP_VDSO;
    if (truth->count && truth->entries[truth->count - 1].interrupted)
        return STEP_SIGNAL;
    if (!map || !target_is_file(map))
        return STEP_JIT;
    return symbol && !symbol->cold && pc - symbol->begin < PROLOGUE_BYTES ? STEP_PROLOGUE : STEP_OTHER;
}

double judge_clock(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/*
 * What a user does whose walk was cut by its budget: the work that is left, then walks again; and again, where that
 * walk comes to work that nobody knew of before.
 */
static void prepare(struct judge *j, enum step_mode mode, const struct sw_regs *start)
{
    static uint64_t pcs[MOST_FRAMES];
    struct sw_walker walker;
    enum sw_stop stop;
    walker_for(j, mode, &walker);
    for (unsigned round = 0; round < JUDGE_ROUNDS; round++) {
        if (sw_walk_addresses(&walker, &j->scratch, start, true, pcs, MOST_FRAMES, &stop) == 0 ||
            stop != SW_STOP_BUDGET)
            return;
        j->cut[mode][round]++;
        j->unprepared += sw_walk_prepare(&walker, &j->scratch, SW_WALK_BUDGET_UNLIMITED) > 0;
    }
}

void judge_sample(struct judge *j, const struct sw_regs *regs, const struct shadow *truth, struct step_sample *sample)
{
    const uint64_t pc = sw_regs_pc(regs);
    sample->place = (uint8_t)place_of(j, pc, truth);
    if (sample->place == STEP_JIT && sw_codemap_find(j->jit, pc, NULL) != SW_OK)
        read_perfmap(j);
    target_look(j->target, sw_regs_sp(regs));
    double begin = judge_clock();
    for (unsigned m = 0; m < STEP_MODES; m++) {
        /* With bounds: where there are some. Code without a symbol is the third mode's. */
        if (!j->is_mode[m] ||
            (m == STEP_BOUNDS && sample->place != STEP_PLT && sw_codemap_find(j->bounds, pc, NULL) != SW_OK))
            continue;
        if (j->is_limited)
            prepare(j, (enum step_mode)m, regs);
        judge_walk(j, (enum step_mode)m, regs, truth, &sample->walks[m]);
        if (m == STEP_TABLES && sample->walks[m].unheard_of) { /* once more with what the map has got since */
            read_perfmap(j);
            judge_walk(j, STEP_TABLES, regs, truth, &sample->walks[m]);
        }
        const double end = judge_clock();
        j->spent[m] += end - begin;
        begin = end;
    }
}

void judge_print_budget(const struct judge *j)
{
    if (!j->is_limited)
        return;
    for (unsigned m = 0; m < STEP_MODES; m++)
        printf("#   budget, %s: %" PRIu64 " walks cut, %" PRIu64 " once more, %" PRIu64 " of these again; %" PRIu64
               " of the judged ones, at most %" PRIu64 " units\n",
               score_mode_name((enum step_mode)m), j->cut[m][0], j->cut[m][1], j->cut[m][2], j->cut_again[m],
               j->most_work[m]);
    printf("#   budget: work left by %" PRIu64 " preparations\n", j->unprepared);
}

/* ---- adopting ---- */

/* A frame as the entry of a call that was not seen. An interrupted one lies behind the frame that its handler returns
 * to. */
static struct shadow_entry entry_of(const struct sw_frame *frame, uint64_t callee_sp)
{
    struct shadow_entry entry = { .assumed = true,
                                  .interrupted = frame->exact,
                                  .loose = frame->trust != SW_TRUST_EXACT };
    entry.regs.pc = sw_regs_pc(&frame->regs);
    entry.regs.sp = sw_regs_sp(&frame->regs);
    entry.slot = (frame->exact ? callee_sp : entry.regs.sp) - target_shadow->pushed;
    return entry;
}

static void reverse(struct shadow *shadow)
{
    for (size_t i = 0; i < shadow->count / 2; i++) {
        const struct shadow_entry entry = shadow->entries[i];
        shadow->entries[i] = shadow->entries[shadow->count - 1 - i];
        shadow->entries[shadow->count - 1 - i] = entry;
    }
}

void judge_adopt(struct judge *j, const struct sw_regs *regs, struct shadow *shadow)
{
    struct sw_walker walker;
    struct sw_walk walk;
    uint64_t sp = sw_regs_sp(regs);
    target_look(j->target, sp);
    walker_for(j, STEP_TABLES, &walker);
    shadow->count = 0;
    sw_walk_start(&walk, &walker, &j->scratch, regs, true);
    while (shadow->count < SHADOW_DEPTH / 2 && sw_walk_next(&walk) && walk.frame.trust != SW_TRUST_GUESS) {
        if (walk.depth > 1)
            shadow->entries[shadow->count++] = entry_of(&walk.frame, sp);
        sp = sw_regs_sp(&walk.frame.regs);
    }
    if (walk.stop != SW_STOP_ROOT) /* a zero may be in the middle of a stack */
        shadow->entries[shadow->count++] = (struct shadow_entry){ .slot = UINT64_MAX, .unknown = true };
    reverse(shadow);
}
