/*
 * Sets the library up for a stepped program as a user would, walks, and compares every frame with the shadow stack:
 * return address, stack pointer, and each nonvolatile register that the walk claims to know.
 */
#include "judge.h"

#include <stdio.h>
#include <string.h>

enum { STACK_LIMIT = 8 << 20, PROLOGUE_BYTES = 32, MOST_FRAMES = SHADOW_DEPTH + 8 };

/* ---- set-up ---- */

static void add_bounds(struct judge *j)
{
    for (size_t i = 0; i < j->symbols.count; i++) {
        const struct symbol *s = &j->symbols.rows[i];
        const struct sw_range range = { s->begin, s->end, 0, 0, SW_KIND_NATIVE, SW_UNWIND_AUTO, 0 };
        if (!s->cold && sw_codemap_add(j->bounds, &range) != SW_OK)
            fprintf(stderr, "step: no bounds for %s\n", symbols_name(&j->symbols, s));
    }
}

static bool add_image(struct judge *j, const struct sw_map *map)
{
    char path[4096];
    if (sw_maps_path(map, path, sizeof path, NULL) != SW_OK)
        return true;
    if (sw_images_add_file(j->images, path, map->begin) != SW_OK || !symbols_add(&j->symbols, path, map->begin)) {
        fprintf(stderr, "step: cannot use %s\n", path);
        return false;
    }
    return true;
}

static void add_vdso(struct judge *j, const struct sw_map *map)
{
    j->vdso_begin = map->begin;
    j->vdso_end = map->end;
    if (sw_images_add_memory(j->images, "[vdso]", map->begin, map->end - map->begin, &j->target->memory) != SW_OK)
        fprintf(stderr, "step: no vdso\n");
}

/* Files are position independent and begin with their offset 0: its address is the bias of their symbols. */
static bool add_images(struct judge *j)
{
    const struct target *t = j->target;
    for (size_t i = 0; i < t->map_count; i++) {
        const struct sw_map *map = &t->maps[i];
        if (map->path_size == 6 && memcmp(map->path, "[vdso]", 6) == 0)
            add_vdso(j, map);
        else if (map->inode != 0 && map->offset == 0 && !(i > 0 && sw_maps_same_file(map, map - 1)) &&
                 !add_image(j, map))
            return false;
    }
    return true;
}

bool judge_open(struct judge *j, struct target *target)
{
    memset(j, 0, sizeof *j);
    j->target = target;
    if (sw_images_create(NULL, &j->images) != SW_OK || sw_codemap_create(NULL, &j->bounds) != SW_OK || !add_images(j))
        return false;
    symbols_sort(&j->symbols);
    add_bounds(j);
    for (size_t i = 0; i < j->symbols.count && !j->main_begin; i++)
        if (strcmp(symbols_name(&j->symbols, &j->symbols.rows[i]), "main") == 0)
            j->main_begin = j->symbols.rows[i].begin;
    return true;
}

void judge_close(struct judge *j)
{
    sw_images_destroy(j->images);
    sw_codemap_destroy(j->bounds);
    symbols_free(&j->symbols);
}

/* ---- walks ---- */

static void start_regs(const struct user_regs_struct *u, struct sw_regs *regs)
{
    const uint64_t in_order[SW_X64_COUNT] = { u->rax, u->rcx, u->rdx, u->rbx, u->rsp, u->rbp, u->rsi, u->rdi, u->r8,
                                              u->r9,  u->r10, u->r11, u->r12, u->r13, u->r14, u->r15, u->rip };
    memset(regs, 0, sizeof *regs);
    regs->machine = SW_MACHINE_X64;
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        sw_regs_set(regs, n, in_order[n]);
}

static void walker_for(const struct judge *j, enum step_mode mode, struct sw_walker *walker)
{
    *walker = (struct sw_walker){ .machine = SW_MACHINE_X64,
                                  .memory = j->target->memory,
                                  .images = j->images,
                                  .codemap = mode == STEP_BOUNDS ? j->bounds : NULL,
                                  .stack_begin = j->target->stack_end - STACK_LIMIT,
                                  .stack_end = j->target->stack_end,
                                  .max_frames = MOST_FRAMES,
                                  .flags = mode == STEP_TABLES ? 0 : SW_WALK_NO_TABLES };
}

/* One frame against the truth, null: there should be none. Fills in `got` and `known`. */
static enum step_verdict judge_frame(const struct sw_frame *frame, const struct shadow_entry *truth,
                                     struct step_walk *walk)
{
    static const uint8_t order[SHADOW_NONVOLATILE] = { SW_X64_RBX, SW_X64_RBP, SW_X64_R12,
                                                       SW_X64_R13, SW_X64_R14, SW_X64_R15 };
    const struct sw_regs *regs = &frame->regs;
    walk->got = (struct shadow_regs){ sw_regs_pc(regs), sw_regs_sp(regs), { 0 } };
    walk->known = regs->known;
    walk->source = frame->source;
    walk->trust = frame->trust;
    for (unsigned n = 0; n < SHADOW_NONVOLATILE; n++)
        walk->got.nv[n] = regs->r[order[n]];
    if (!truth)
        return STEP_TOO_FAR;
    if (walk->got.pc != truth->regs.pc || walk->got.sp != truth->regs.sp || frame->exact != truth->interrupted)
        return STEP_WRONG_PLACE;
    for (unsigned n = 0; n < SHADOW_NONVOLATILE; n++)
        if (sw_regs_has(regs, order[n]) && walk->got.nv[n] != truth->regs.nv[n])
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
    *out = (struct step_walk){ .judged = true };
    walker_for(j, mode, &walker);
    sw_walk_start(&walk, &walker, &j->scratch, start, true);
    bool more = sw_walk_next(&walk);
    while (more && verdict == STEP_RIGHT) {
        const struct shadow_entry *expected = left ? &truth->entries[left - 1] : NULL;
        more = sw_walk_next(&walk);
        out->at++;
        if (expected)
            out->expected = expected->regs;
        if (more)
            verdict = judge_frame(&walk.frame, expected, out);
        else if (expected)
            verdict = STEP_CUT;
        if (out->at == 1)
            out->first = (uint8_t)verdict;
        if (more)
            out->frames[walk.frame.trust][verdict == STEP_RIGHT]++;
        left -= left > 0;
    }
    out->whole = (uint8_t)verdict;
    out->stop = (uint8_t)walk.stop;
}

static enum step_place place_of(const struct judge *j, uint64_t pc, const struct shadow *truth)
{
    const struct symbol *symbol = symbols_find(&j->symbols, pc);
    if (symbols_in_plt(&j->symbols, pc))
        return STEP_PLT;
    if (pc >= j->vdso_begin && pc < j->vdso_end)
        return STEP_VDSO;
    if (truth->count && truth->entries[truth->count - 1].interrupted)
        return STEP_SIGNAL;
    return symbol && !symbol->cold && pc - symbol->begin < PROLOGUE_BYTES ? STEP_PROLOGUE : STEP_OTHER;
}

void judge_sample(struct judge *j, const struct user_regs_struct *u, const struct shadow *truth,
                  struct step_sample *sample)
{
    struct sw_regs start;
    sample->place = (uint8_t)place_of(j, u->rip, truth);
    start_regs(u, &start);
    target_look(j->target, u->rsp);
    for (unsigned m = 0; m < STEP_MODES; m++) {
        /* With bounds: where there are some. Code without a symbol is the third mode's. */
        if (m == STEP_BOUNDS && sample->place != STEP_PLT && sw_codemap_find(j->bounds, u->rip, NULL) != SW_OK)
            continue;
        judge_walk(j, (enum step_mode)m, &start, truth, &sample->walks[m]);
    }
}
